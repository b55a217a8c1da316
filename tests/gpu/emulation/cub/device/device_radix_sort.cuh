/* device_radix_sort.cuh - CUB's sort of pairs for the emulation: one thread sorts them all. */
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

namespace cub {

struct DeviceRadixSort {
    /* Sort by falling keys, equal keys in their order. If `work` is NULL, only set its bytes. */
    template <class Key, class Value>
    static cudaError_t SortPairsDescending(void *work, size_t &bytes, const Key *keys, Key *keys_out, const Value *values,
                                           Value *values_out, int count, int = 0, int = 8 * sizeof(Key), cudaStream_t = nullptr)
    {
        bytes = 1;
        if (!work)
            return cudaSuccess;
        return emulation::run(nullptr, dim3(1), dim3(1), 0, [=] {
            std::vector<int> order((size_t)count);
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [=](int a, int b) { return keys[a] > keys[b]; });
            for (int i = 0; i < count; i++) {
                keys_out[i] = keys[order[(size_t)i]];
                values_out[i] = values[order[(size_t)i]];
            }
        });
    }
};

}  // namespace cub
