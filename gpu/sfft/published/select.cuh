/* select.cuh - finds the value of a rank among many by radix selection, with a block of 1024 threads.
 *
 * Numbers that are not negative order like their bits; among equal ones the first counts as larger. A pass builds a histogram of
 * the leading bits (exponent and five bits) in shared memory. Each thread has four bins; all together reach 128 octaves down from
 * the largest value. A scan over the block, from the top, finds the bin of the wanted rank. If too many values are in that bin,
 * the next passes take the next 12 bits, and finally the place. The few values left are listed and compared with each other.
 * Values are read from global memory once if they fit into shared memory; if not, each pass waits for the L2, so that a thread
 * loads twice as many at a time. Loops are short rather than unrolled: a block runs through most code once, and waits for
 * instructions as long as for values. */
#pragma once

#include "gpu/device/fft.cuh"

#include <cstdint>

constexpr int SELECT_THREADS = 1024;
constexpr int DIGIT = 12, DIGITS = 1 << DIGIT, BINS = DIGITS / SELECT_THREADS;
constexpr int NEAR_PARTNERS = 4, MOST_NEAR = SELECT_THREADS / NEAR_PARTNERS;
constexpr int BEGIN = 47;           /* bits of a value below its leading bits */

LW_DEVICE unsigned long long bits_of(double value) { return (unsigned long long)__double_as_longlong(value); }

LW_DEVICE int sum_of_warp(int value)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, other);
    return value;
}

/* Raise a number >= 0 in shared memory to the warp's largest. */
LW_DEVICE void raise(int *largest, int mine)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        mine = max(mine, __shfl_xor_sync(0xffffffffu, mine, other));
    if (threadIdx.x % 32 == 0)
        atomicMax(largest, mine);
}

/* Return the sum of the values of this thread and of lower lanes. */
LW_DEVICE int scan_warp(int value)
{
    const int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
        const int below = __shfl_sync(0xffffffffu, value, lane >= offset ? lane - offset : lane);
        value += lane >= offset ? below : 0;
    }
    return value;
}

/* Return the sum over this thread and all before it in the block. All threads take part; two calls need a barrier between them. */
LW_DEVICE int scan(int value)
{
    __shared__ int of_warp[SELECT_THREADS / 32];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    value = scan_warp(value);
    if (lane == 31)
        of_warp[warp] = value;
    __syncthreads();
    return value + sum_of_warp(lane < warp ? of_warp[lane] : 0);
}

/* The leading bits of a value: its exponent and five more bits. */
LW_DEVICE int begin_of(unsigned long long bits) { return (int)(bits >> BEGIN); }

/* The values that a block selects from. Thread t has values t, t + THREADS, ... If it HAS_ROOM, they are in shared memory, padded
 * with zeros to a multiple of PART; the zeros are never among the largest. */
template <bool HAS_ROOM> struct Values {
    static constexpr int LOADS = HAS_ROOM ? 4 : 8, PART = LOADS * SELECT_THREADS;
    using Loaded = unsigned long long[LOADS];
    const double *values;
    int count, top;                     /* top: leading bits of the thread's largest value */

    /* @param room  select_bytes of shared memory */
    LW_DEVICE Values(const double *from, int64_t count_, double *room) : values(from), count((int)count_), top(0)
    {
#pragma unroll 8
        for (int i = (int)threadIdx.x; i < count; i += SELECT_THREADS) {
            const double value = from[i];
            top = max(top, begin_of(bits_of(value)));
            if (HAS_ROOM)
                room[i] = value;
        }
        if constexpr (HAS_ROOM) {
            values = room;              /* a thread reads only values that it wrote */
            for (int i = (int)threadIdx.x; i < size(); i += SELECT_THREADS)
                if (i >= count)
                    room[i] = 0;
        }
    }

    LW_DEVICE int size() const { return (count + PART - 1) / PART * PART; }
    LW_DEVICE bool has(int place) const { return HAS_ROOM || place < count; }

    /* Call use(bits, place) for LOADS values, THREADS apart from `place` on; all threads make equally many calls. */
    template <class Use> LW_DEVICE void each_part(Use use) const
    {
        const int end = size();
#pragma unroll 1
        for (int place = (int)threadIdx.x; place < end; place += PART) {
            Loaded bits;
#pragma unroll
            for (int j = 0; j < LOADS; ++j)
                bits[j] = has(place + j * SELECT_THREADS) ? bits_of(values[place + j * SELECT_THREADS]) : 0;
            use(bits, place);
        }
    }

    /* Call take(bits, place) for every value. */
    template <class Take> LW_DEVICE void each(Take take) const
    {
        each_part([&](const Loaded &bits, int place) {
#pragma unroll
            for (int j = 0; j < LOADS; ++j)
                if (has(place + j * SELECT_THREADS))
                    take(bits[j], place + j * SELECT_THREADS);
        });
    }
};

/* A digit of a value's bits, or of its place; lower places count as larger. */
struct Digit {
    bool is_of_place;
    int shift;
    unsigned mask;

    LW_DEVICE int of(unsigned long long bits, int place) const
    {
        return (int)((is_of_place ? ~(unsigned)place >> shift : (unsigned)(bits >> shift)) & mask);
    }
};

/* The digits after the leading bits, most significant first: BEGIN bits of the value, then 32 of the place. */
LW_DEVICE Digit digit_of_number(int number)
{
    constexpr unsigned whole = DIGITS - 1;
    switch (number) {
    case 3: return {false, 0, (1u << (BEGIN - 3 * DIGIT)) - 1};
    case 4: return {true, 20, whole};
    case 5: return {true, 8, whole};
    case 6: return {true, 0, 255};
    default: return {false, BEGIN - DIGIT * (number + 1), whole};
    }
}

/* The prefix of the cut: values above it are among the largest, and so are `rest` of the `level` values that have it. */
struct Cut {
    unsigned long long known, mask;             /* prefix and mask of the bits */
    unsigned known_place, place_mask;           /* prefix and mask of ~place */
    int rest, level;

    LW_DEVICE bool is_level(unsigned long long bits, int place) const
    {
        return (bits & mask) == known && (~(unsigned)place & place_mask) == known_place;
    }
    LW_DEVICE bool is_above(unsigned long long bits, int place) const
    {
        const unsigned long long begin = bits & mask;
        return begin > known || (begin == known && (~(unsigned)place & place_mask) > known_place);
    }
};

/* The bin of a histogram that holds the wanted rank. */
struct Bin {
    int number, rest, level;    /* `rest` of the `level` values in the bin are among the largest */
};

/* The histogram of a block. */
struct Histogram {
    int seen[DIGITS];
    Bin found;
    int top;

    /* Index of bin i of this thread's BINS, counted from the top. */
    LW_DEVICE int own(int i) const { return DIGITS - 1 - BINS * (int)threadIdx.x - i; }
    LW_DEVICE void clear()
    {
        for (int i = 0; i < BINS; ++i)
            seen[own(i)] = 0;
    }

    /* Return the bin of the last of the `most` largest, counted from the top. Call it after a barrier; it ends with one. */
    LW_DEVICE Bin find(int most)
    {
        int sum = 0;
        for (int i = 0; i < BINS; ++i)
            sum += seen[own(i)];
        int before = scan(sum) - sum;
        for (int i = 0; i < BINS; ++i) {
            const int here = seen[own(i)];
            if (before < most && before + here >= most)
                found = {own(i), most - before, here};
            before += here;
        }
        clear();
        __syncthreads();
        return found;
    }
};

/* Find the leading bits of the last of the `most` largest. A histogram covers the DIGITS highest of them; if the rank is below
 * these, the next DIGITS follow. */
template <bool HAS_ROOM> LW_DEVICE Cut find_begin(const Values<HAS_ROOM> &values, int most, Histogram &histogram)
{
    raise(&histogram.top, values.top);
    __syncthreads();
    int top = histogram.top;
    Bin bin = {0, most, 0};
    for (;; top -= DIGITS - 1) {
        values.each([&](unsigned long long bits, int) {
            if (begin_of(bits) <= top)
                atomicAdd(&histogram.seen[max(begin_of(bits) - top + DIGITS - 1, 0)], 1);
        });
        __syncthreads();
        bin = histogram.find(bin.rest);
        if (bin.number > 0 || top < DIGITS)         /* if top < DIGITS, bin 0 is a single prefix, too */
            break;
    }
    const int begin = top - DIGITS + 1 + bin.number;
    return {(unsigned long long)begin << BEGIN, ~0ull << BEGIN, 0, 0, bin.rest, bin.level};
}

/* Find the cut for the `most` largest values; its level is at most MOST_NEAR. */
template <bool HAS_ROOM> LW_DEVICE Cut find_cut(const Values<HAS_ROOM> &values, int most)
{
    __shared__ Histogram histogram;
    histogram.clear();
    if (threadIdx.x == 0)
        histogram.top = 0;
    __syncthreads();
    Cut cut = find_begin(values, most, histogram);
#pragma unroll 1
    for (int number = 0; cut.level > MOST_NEAR; ++number) {
        const Digit digit = digit_of_number(number);
        values.each([&](unsigned long long bits, int place) {
            if (cut.is_level(bits, place))
                atomicAdd(&histogram.seen[digit.of(bits, place)], 1);
        });
        __syncthreads();
        const Bin bin = histogram.find(cut.rest);
        if (digit.is_of_place) {
            cut.known_place |= (unsigned)bin.number << digit.shift;
            cut.place_mask |= digit.mask << digit.shift;
        } else {
            cut.known |= (unsigned long long)bin.number << digit.shift;
            cut.mask |= (unsigned long long)digit.mask << digit.shift;
        }
        cut.rest = bin.rest;
        cut.level = bin.level;
    }
    return cut;
}

/* The values that have the prefix of the cut, in any order. */
struct Near {
    int count;
    int places[MOST_NEAR];
    unsigned long long bits[MOST_NEAR];

    /* Number of them that are larger than this thread's entry. NEAR_PARTNERS neighbouring threads share an entry. */
    LW_DEVICE int rank() const
    {
        const int own = min(entry(), count - 1), place = places[own], end = entry() < count ? count : 0;
        const unsigned long long value = bits[own];
        int rank = 0;
#pragma unroll 1
        for (int i = (int)threadIdx.x % NEAR_PARTNERS; i < end; i += NEAR_PARTNERS)
            rank += bits[i] > value || (bits[i] == value && places[i] < place) ? 1 : 0;
#pragma unroll
        for (int other = NEAR_PARTNERS / 2; other > 0; other /= 2)
            rank += __shfl_xor_sync(0xffffffffu, rank, other);
        return rank;
    }

    LW_DEVICE int entry() const { return (int)threadIdx.x / NEAR_PARTNERS; }
    /* Return whether this thread acts for its entry. */
    LW_DEVICE bool is_speaker() const { return entry() < count && threadIdx.x % NEAR_PARTNERS == 0; }
};

/* List the values at the cut, and call take(marks, place) for each part of each thread. Bit j of `marks` is set if the value at
 * place + j THREADS is above the cut. All threads of the block take part. */
template <bool HAS_ROOM, class Take>
LW_DEVICE void split(const Values<HAS_ROOM> &values, const Cut &cut, Near &near, Take take)
{
    if (threadIdx.x == 0)
        near.count = 0;
    __syncthreads();
    values.each_part([&](const typename Values<HAS_ROOM>::Loaded &bits, int place) {
        unsigned marks = 0;
#pragma unroll
        for (int j = 0; j < values.LOADS; ++j) {
            const int i = place + j * SELECT_THREADS;
            if (values.has(i) && cut.is_level(bits[j], i)) {
                const int entry = atomicAdd(&near.count, 1);
                near.places[entry] = i;
                near.bits[entry] = bits[j];
            }
            marks |= values.has(i) && cut.is_above(bits[j], i) ? 1u << j : 0;
        }
        take(marks, place);
    });
    __syncthreads();
}

/* Set *value to the value that exactly `rank` others are larger than; one thread writes it. */
template <bool HAS_ROOM> LW_DEVICE void find_value(const Values<HAS_ROOM> &values, int rank, double *value)
{
    __shared__ Near near;
    const Cut cut = find_cut(values, rank + 1);
    split(values, cut, near, [](unsigned, int) {});
    const bool is_it = near.rank() == cut.rest - 1;
    if (is_it && near.is_speaker())
        *value = __longlong_as_double((long long)near.bits[near.entry()]);
}

/* Bytes of dynamic shared memory for `count` values; 0: they do not fit. */
static inline int64_t select_bytes(int64_t count, int64_t most_shared_bytes)
{
    constexpr int64_t BESIDE = 24 << 10;        /* static shared memory */
    constexpr int64_t PART = Values<true>::PART;
    const int64_t bytes = (count + PART - 1) / PART * PART * (int64_t)sizeof(double);
    return bytes + BESIDE <= most_shared_bytes ? bytes : 0;
}
