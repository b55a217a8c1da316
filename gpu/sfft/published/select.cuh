/* select.cuh - the value of a rank among many, by selection; a block of 1024 threads does it.
 *
 * Numbers that are not negative are in the order of their bits; of equal ones the first counts as the largest. A pass counts, in
 * shared memory, how many of the values begin with the same exponent and five more bits; four bins a thread, which reach 128
 * octaves down from the largest value, and a scan over the block from the top finds where the value looked for is. Unless few
 * enough begin like it, the next digit is looked at likewise, 12 bits of the value, and in the end of the place. Then these few are
 * listed and compared with each other. Values are read from memory once where a block's shared memory holds them all. Loops are
 * short rather than unrolled: a block runs through most of this once, and waits for instructions as long as for values. */
#pragma once

#include "gpu/device/fft.cuh"

#include <cstdint>

constexpr int SELECT_THREADS = 1024, SELECT_LOADS = 4, SELECT_PART = SELECT_LOADS * SELECT_THREADS;
constexpr int DIGIT = 12, DIGITS = 1 << DIGIT, BINS = DIGITS / SELECT_THREADS;
constexpr int NEAR_PARTNERS = 4, MOST_NEAR = SELECT_THREADS / NEAR_PARTNERS;
constexpr int BEGIN = 47;           /* bits of a value after its beginning */

LW_DEVICE unsigned long long bits_of(double value) { return (unsigned long long)__double_as_longlong(value); }

LW_DEVICE int sum_of_warp(int value)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, other);
    return value;
}

/* Raise a number in shared memory, which is not negative, to the warp's largest. */
LW_DEVICE void raise(int *largest, int mine)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        mine = max(mine, __shfl_xor_sync(0xffffffffu, mine, other));
    if (threadIdx.x % 32 == 0)
        atomicMax(largest, mine);
}

/* Sum of the values of this thread and those before it in its warp. */
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

/* The same over the block, all of whose threads take part; between two calls there is a barrier. */
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

/* The beginning of a value: its exponent and five bits more. */
LW_DEVICE int begin_of(unsigned long long bits) { return (int)(bits >> BEGIN); }

/* Values that a block selects from: thread t has t, t + THREADS, ...; in shared memory if it HAS_ROOM, with zeros after them up to
 * a whole number of SELECT_PART, which are never among the largest. */
template <bool HAS_ROOM> struct Values {
    const double *values;
    int count, top;                     /* top: the beginning of the thread's largest */

    /* @param room  as many bytes as select_bytes says */
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
            values = room;              /* a thread reads its own ones only */
            for (int i = (int)threadIdx.x; i < size(); i += SELECT_THREADS)
                if (i >= count)
                    room[i] = 0;
        }
    }

    LW_DEVICE int size() const { return (count + SELECT_PART - 1) / SELECT_PART * SELECT_PART; }
    LW_DEVICE bool has(int place) const { return HAS_ROOM || place < count; }

    /* Call use(bits, place of the first) with SELECT_LOADS values after others, THREADS apart; all threads equally often. */
    template <class Use> LW_DEVICE void each_part(Use use) const
    {
        const int end = size();
#pragma unroll 1
        for (int place = (int)threadIdx.x; place < end; place += SELECT_PART) {
            unsigned long long bits[SELECT_LOADS];
#pragma unroll
            for (int j = 0; j < SELECT_LOADS; ++j)
                bits[j] = has(place + j * SELECT_THREADS) ? bits_of(values[place + j * SELECT_THREADS]) : 0;
            use(bits, place);
        }
    }

    /* Call take(bits, place) for all. */
    template <class Take> LW_DEVICE void each(Take take) const
    {
        each_part([&](const unsigned long long (&bits)[SELECT_LOADS], int place) {
#pragma unroll
            for (int j = 0; j < SELECT_LOADS; ++j)
                if (has(place + j * SELECT_THREADS))
                    take(bits[j], place + j * SELECT_THREADS);
        });
    }
};

/* A digit of the bits, or of a place, lower ones of which count as larger. */
struct Digit {
    bool is_of_place;
    int shift;
    unsigned mask;

    LW_DEVICE int of(unsigned long long bits, int place) const
    {
        return (int)((is_of_place ? ~(unsigned)place >> shift : (unsigned)(bits >> shift)) & mask);
    }
};

/* Those after the beginning, from the most significant on: BEGIN bits, then 32. */
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

/* What the largest values begin with: those that are beyond it are among them, and `rest` of the `level` ones that begin so. */
struct Cut {
    unsigned long long known, mask;             /* of the bits */
    unsigned known_place, place_mask;           /* of ~place */
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

/* Where to find the value of a rank, as bins of a histogram say it. */
struct Bin {
    int number, rest, level;    /* `rest` of the `level` values in the bin are among the largest */
};

/* Counts of a block. */
struct Histogram {
    int seen[DIGITS];
    Bin found;
    int top;

    /* BINS of a thread, from the top. */
    LW_DEVICE int own(int i) const { return DIGITS - 1 - BINS * (int)threadIdx.x - i; }
    LW_DEVICE void clear()
    {
        for (int i = 0; i < BINS; ++i)
            seen[own(i)] = 0;
    }

    /* The bin of the last of the `most` largest, counted from the top; after a barrier, with one at its end. */
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

/* Find the beginning of the last of the `most` largest, among as many of those below the largest one as there are bins, if need be
 * among the next as many. */
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
        if (bin.number > 0 || top < DIGITS)         /* then bin 0 is of one beginning, too */
            break;
    }
    const int begin = top - DIGITS + 1 + bin.number;
    return {(unsigned long long)begin << BEGIN, ~0ull << BEGIN, 0, 0, bin.rest, bin.level};
}

/* Of the `most` largest; level is at most MOST_NEAR. */
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

/* The values at the cut, in any order. */
struct Near {
    int count;
    int places[MOST_NEAR];
    unsigned long long bits[MOST_NEAR];

    /* How many of them are larger than the entry that this thread and its partners, NEAR_PARTNERS side by side, have. */
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
    /* Whether this is the thread to say what is said once of an entry. */
    LW_DEVICE bool is_speaker() const { return entry() < count && threadIdx.x % NEAR_PARTNERS == 0; }
};

/* List the values at the cut, and call take(marks, place of the first) for each thread's parts: bit j of `marks` says whether the
 * value at that place + j THREADS is beyond the cut. All threads of the block take part. */
template <bool HAS_ROOM, class Take>
LW_DEVICE void split(const Values<HAS_ROOM> &values, const Cut &cut, Near &near, Take take)
{
    if (threadIdx.x == 0)
        near.count = 0;
    __syncthreads();
    values.each_part([&](const unsigned long long (&bits)[SELECT_LOADS], int place) {
        unsigned marks = 0;
#pragma unroll
        for (int j = 0; j < SELECT_LOADS; ++j) {
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

/* *value = that which `rank` others are larger than; one thread writes it. */
template <bool HAS_ROOM> LW_DEVICE void find_value(const Values<HAS_ROOM> &values, int rank, double *value)
{
    __shared__ Near near;
    const Cut cut = find_cut(values, rank + 1);
    split(values, cut, near, [](unsigned, int) {});
    const bool is_it = near.rank() == cut.rest - 1;
    if (is_it && near.is_speaker())
        *value = __longlong_as_double((long long)near.bits[near.entry()]);
}

/* Of the room that a block has for values; 0: it is not enough. */
static inline int64_t select_bytes(int64_t count, int64_t most_shared_bytes)
{
    constexpr int64_t BESIDE = 24 << 10;        /* what is static */
    const int64_t bytes = (count + SELECT_PART - 1) / SELECT_PART * SELECT_PART * (int64_t)sizeof(double);
    return bytes + BESIDE <= most_shared_bytes ? bytes : 0;
}
