/* vote.cu - finds the frequencies that fall into chosen buckets of enough loops, and makes lines of them.
 *
 * No votes are counted in memory. A frequency with `needed` votes of L loops has a vote of some loop 0 .. L - needed. So a thread
 * takes a frequency of a bucket that such a loop chose, and asks the other loops in order whether they chose its bucket. Most
 * frequencies are out after two misses. Only the first loop that chose a frequency elects it, so none is listed twice. A loop's
 * choice is one bit per bucket, in shared memory if it fits. Grid: (pieces of buckets, loops 0 .. L - needed).
 *
 * A loop maps the permuted frequency p of another loop to ratio p mod n, ratio being its sigma times the other's inverse sigma. So
 * a frequency itself is computed only once it is elected. A block lists elected frequencies in shared memory. It makes lines of
 * them (estimate.cuh) at the end, or earlier if the list might overflow. */
#include "gpu/device/launch.cuh"
#include "gpu/sfft/published/estimate.cuh"

namespace {

constexpr int THREADS = ESTIMATE_THREADS, MOST_BLOCKS = 198;            /* x dimension: with two loops, three blocks per
                                                                           multiprocessor of an H200 */
constexpr int ROUND = 4;                                /* pieces of buckets between two barriers */
constexpr int64_t MOST_SHARED = 32 << 10;               /* largest size of the bits in shared memory, beside static memory */

/* Data that the threads of a block share. */
struct Ballot {
    const unsigned *chosen;                         /* bits of chosen buckets, laid out as in the device's data */
    const int64_t *ratios;                          /* [location_loops] */
    unsigned n_words;
    int own;                                        /* the loop whose buckets this block goes through */
};

/* A permuted frequency of the block's own loop, one per thread, and its buckets in other loops. */
template <bool IS_POWER> struct Permuted {
    int64_t at;

    /* Return the first permuted frequency of bucket b, ceil((2 b - 1) n / (2 B)), which is negative for b = 0. The quotient may be
     * off by one; the remainder is exact modulo 2^64, and small, so it corrects the quotient. */
    LW_DEVICE static int64_t first_of(const lw_published_device &device, int64_t b)
    {
        const double part = (double)device.n / (2 * (double)device.n_buckets);
        const int64_t twice = 2 * device.n_buckets, edge = 2 * b - 1, first = (int64_t)((double)edge * part);
        const int64_t rest = (int64_t)((uint64_t)edge * (uint64_t)device.n - (uint64_t)first * (uint64_t)twice);
        return first + (rest > 0 ? 1 : rest <= -twice ? -1 : 0);
    }

    /* Take frequency number `offset` of bucket b; return whether the bucket has one. */
    LW_DEVICE bool set(const lw_published_device &device, int64_t b, int64_t offset)
    {
        const int64_t permuted = first_of(device, b) + offset;
        at = mod_wrap(permuted, device.n);
        return permuted < first_of(device, b + 1);
    }

    /* Return its bucket in another loop: floor((2 B permuted + n) / (2 n)), with B wrapping to 0; exact by the same correction. */
    LW_DEVICE int64_t bucket_by(const lw_published_device &device, int64_t ratio) const
    {
        const int64_t permuted = multiply_in<false>(device, ratio, at);
        int64_t b = (int64_t)((double)permuted * device.inverse_n * (double)device.n_buckets + 0.5);
        const int64_t rest = (int64_t)(2 * (uint64_t)device.n_buckets * (uint64_t)permuted + (uint64_t)device.n -
                                       2 * (uint64_t)device.n * (uint64_t)b);
        b += rest < 0 ? -1 : rest >= 2 * device.n ? 1 : 0;
        return b == device.n_buckets ? 0 : b;
    }

    LW_DEVICE int64_t frequency(const lw_published_device &device, int64_t sigma_inverse) const
    {
        return multiply_in<false>(device, sigma_inverse, at);
    }
};

/* The same for powers of two, in turns with n scaled to 2^64: multiples of n overflow and vanish. */
template <> struct Permuted<true> {
    uint64_t turns;

    LW_DEVICE static int shift(const lw_published_device &device) { return 64 - device.bucket_bits - device.width_bits; }

    LW_DEVICE bool set(const lw_published_device &device, int64_t b, int64_t offset)
    {
        const int64_t width = 1ll << device.width_bits;
        turns = (uint64_t)((b << device.width_bits) - width / 2 + offset) << shift(device);
        return offset < width;
    }

    LW_DEVICE int64_t bucket_by(const lw_published_device &device, int64_t ratio) const
    {
        const uint64_t half = (1ull << device.width_bits) / 2 << shift(device);
        return (int64_t)(((uint64_t)ratio * turns + half) >> (64 - device.bucket_bits));
    }

    LW_DEVICE int64_t frequency(const lw_published_device &device, int64_t sigma_inverse) const
    {
        return (int64_t)((uint64_t)sigma_inverse * turns >> shift(device));
    }
};

template <bool IS_POWER>
LW_DEVICE bool is_chosen(const lw_published_device &device, const Ballot &ballot, int loop, const Permuted<IS_POWER> &permuted)
{
    const unsigned b = (unsigned)permuted.bucket_by(device, ballot.ratios[loop]);
    return (ballot.chosen[(unsigned)loop * ballot.n_words + b / 32] >> b % 32 & 1) != 0;
}

/* Return whether enough loops, from the own one on, chose the frequency, and no loop before. */
template <bool IS_POWER>
LW_DEVICE bool is_elected(const lw_published_device &device, const Ballot &ballot, const Permuted<IS_POWER> &permuted)
{
    int misses_left = device.location_loops - device.votes_needed - ballot.own;
#pragma unroll 1
    for (int loop = ballot.own + 1; loop < device.location_loops && misses_left >= 0; ++loop)
        misses_left -= is_chosen(device, ballot, loop, permuted) ? 0 : 1;
    bool is_first = misses_left >= 0;
#pragma unroll 1
    for (int loop = 0; loop < ballot.own && is_first; ++loop)
        is_first = !is_chosen(device, ballot, loop, permuted);
    return is_first;
}

/* A part of a chosen bucket's frequencies, one per thread of a block. A bucket has `pieces` such parts. */
struct Piece {
    unsigned place, places_on;                      /* number of the bucket among those chosen; its step to the next piece */
    unsigned number, pieces_on, pieces;

    LW_DEVICE explicit Piece(unsigned pieces_)
        : place(blockIdx.x / pieces_), places_on(gridDim.x / pieces_), number(blockIdx.x % pieces_), pieces_on(gridDim.x % pieces_),
          pieces(pieces_)
    {
    }

    LW_DEVICE void advance()
    {
        place += places_on;
        number += pieces_on;
        place += number >= pieces ? 1 : 0;
        number -= number >= pieces ? pieces : 0;
    }
};

/* Return the bucket of a piece; -1: there are no more. */
LW_DEVICE int bucket_of_piece(const lw_published_device &device, const Ballot &ballot, const Piece &piece)
{
    return piece.place < (unsigned)device.n_selected ? device.places[ballot.own * device.n_selected + piece.place] : -1;
}

template <bool IS_POWER>
LW_DEVICE void vote(const lw_published_device &device, const Ballot &ballot, Piece &piece, Candidates &candidates)
{
    int bucket = bucket_of_piece(device, ballot, piece);
#pragma unroll 1
    for (int i = 0; i < ROUND && bucket >= 0; ++i) {
        Permuted<IS_POWER> permuted;
        const bool is_there = permuted.set(device, bucket, (int64_t)piece.number * THREADS + threadIdx.x);
        piece.advance();
        bucket = bucket_of_piece(device, ballot, piece);        /* its load is in flight during the vote */
        if (!is_there || !is_elected(device, ballot, permuted))
            continue;
        const int64_t f = permuted.frequency(device, candidates.loops[ballot.own].sigma_inverse);
        if (f < device.n_frequencies && (device.comb == 0 || device.approved[f % device.comb]))
            candidates.elected[atomicAdd(&candidates.n_elected, 1)] = f;
    }
    if (bucket < 0)                                             /* a list may end early with -1 */
        piece.place = (unsigned)device.n_selected;
}

/* Make lines of the listed frequencies, and empty the list. There must be a barrier before; the call ends with one. */
template <bool IS_POWER> LW_DEVICE void make_lines(const lw_published_device &device, const Bar &bar, Candidates &candidates)
{
    find_strong<IS_POWER>(device, bar, candidates);
    __syncthreads();
    if (threadIdx.x == 0 && candidates.n_elected > 0)
        atomicAdd(&device.control->n_elected, candidates.n_elected);
    estimate_strong<IS_POWER>(device, bar, candidates);
    __syncthreads();
    if (threadIdx.x == 0)
        candidates.n_elected = candidates.n_strong = 0;
    __syncthreads();
}

template <bool IS_POWER, bool IS_SHARED>
__global__ void __launch_bounds__(THREADS, IS_POWER ? 3 : 2) find_lines(lw_published_device device, unsigned pieces)
{
    extern __shared__ unsigned bits[];
    __shared__ Candidates candidates;
    __shared__ int64_t ratios[LW_PUBLISHED_LOOPS];
    const int t = (int)threadIdx.x;
    const Ballot ballot = {IS_SHARED ? bits : device.chosen, ratios, (unsigned)device.n_words, (int)blockIdx.y};
#pragma unroll 1
    for (int i = t; i < device.n_estimates; i += THREADS)
        candidates.loops[i] = device.loops[i];
#pragma unroll 1
    for (int i = t; i < device.location_loops; i += THREADS)
        ratios[i] = multiply_in<IS_POWER>(device, device.loops[i].sigma, device.loops[ballot.own].sigma_inverse);
    if (t == 0)
        candidates.n_elected = candidates.n_strong = 0;
#pragma unroll 2
    for (int i = t; IS_SHARED && i < device.location_loops * (int)device.n_words; i += THREADS)
        bits[i] = device.chosen[i];
    const Bar bar = bar_of(device);
    Piece piece(pieces);
    __syncthreads();
    while (piece.place < (unsigned)device.n_selected) {
        vote<IS_POWER>(device, ballot, piece, candidates);
        __syncthreads();
        const int count = candidates.n_elected;
        __syncthreads();
        if (count > MOST_CANDIDATES - ROUND * THREADS || piece.place >= (unsigned)device.n_selected)
            make_lines<IS_POWER>(device, bar, candidates);
    }
}

}  // namespace

cudaError_t lw_published_find_lines(const lw_published_device *device, cudaStream_t stream)
{
    const int64_t width = (device->n + device->n_buckets - 1) / device->n_buckets, pieces = (width + THREADS - 1) / THREADS;
    const int64_t items = device->n_selected * pieces, bytes = device->location_loops * device->n_words * (int64_t)sizeof(unsigned);
    const dim3 grid((unsigned)(items < MOST_BLOCKS ? items : MOST_BLOCKS),
                    (unsigned)(device->location_loops - device->votes_needed + 1));
    const bool is_shared = bytes <= MOST_SHARED;
    const Launch launch = {grid, THREADS, is_shared ? bytes : 0, stream};
    if (device->is_power)
        return allow_and_launch(launch, is_shared ? find_lines<true, true> : find_lines<true, false>, *device, (unsigned)pieces);
    return allow_and_launch(launch, is_shared ? find_lines<false, true> : find_lines<false, false>, *device, (unsigned)pieces);
}
