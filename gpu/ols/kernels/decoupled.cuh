/* decoupled.cuh - the overlap-save kernel for long segments and several filters, time fast: 12288 = 12 x 1024 points in one block,
 * whose warps hardly ever wait for each other.
 *
 * Each of twelve warps has a transform of 1024 points and a twelfth of 1024 radix-12 butterflies, between which values go from warp
 * to warp through an exchange set in shared memory. There are two sets, and what fills one (`put`) runs an exchange ahead of what
 * empties it (`take`):
 *
 *     put           forward: samples, radix 12           filter f: product, 1024 points back
 *     take          forward: 1024 points, the spectrum   filter f: radix 12, outputs
 *     in turn       .. put f + 1, take f, put f + 2, take f + 1 .. put forward of the next segment, take the last filter ..
 *
 * A warp waits twice an exchange: before it fills a set, until all have emptied it, for which they had the time of a product and a
 * radix 32, and before it empties one, until all have filled it, for which they had the time of a whole exchange.
 *
 * Thread t holds the spectrum's bins 12 (t mod 32) + t / 32 + 384 m in registers, as Transform of 12 groups would (see
 * gpu/device/fft.cuh). A radix-12 butterfly is for the samples, or outputs, n + 1024 j, j < 12. Neighbouring lanes have
 * neighbouring butterflies, a warp 32 of them a turn; in the last of three turns only eight warps have any, two of each scheduler.
 * Rows of 1024 outputs are dropped whole.
 *
 * Shared memory: the sets, 12 regions of 8704 bytes each, in which a warp also turns its 32 x 32 points; the twiddles of these;
 * w and w^2, w = exp(-2 pi i n / 12288), of each butterfly; four counters; which exchange brought samples that are not finite;
 * where each warp is. Registers are for the spectrum, what is in work, and a half of the next filter, which is asked for an
 * exchange ahead. */
#ifndef LW_GPU_OLS_KERNELS_DECOUPLED_CUH
#define LW_GPU_OLS_KERNELS_DECOUPLED_CUH

#include "gpu/device/fft_twelve.cuh"
#include "gpu/ols/kernels/interleaved.cuh"

struct Decoupled {
    using Real = float;
    using C = float2;
    static constexpr int E = 32, P = 12, T = E * P, ROW = E * E, N = P * ROW, TURNS = (E + P - 1) / P;
    static constexpr int PITCH = E + 2, REGION = E * PITCH, SET = P * REGION;
    static constexpr int TWIDDLES = 2 * SET * (int)sizeof(C), WEIGHTS = TWIDDLES + E * E / 2 * (int)sizeof(C);
    static constexpr int COUNTERS = WEIGHTS + ROW * (int)sizeof(float4), STEPS = COUNTERS + 5 * 8, STEPS_BYTES = 64;
    static constexpr int SHARED_BYTES = STEPS + P * STEPS_BYTES;
};

/* The sets, and what a thread needs of them. An exchange's number counts on through all of a block's segments. */
struct DecoupledSets {
    using D = Decoupled;
    unsigned char *memory;
    int warp, lane, put, taken;         /* exchanges that this warp has begun to fill, and emptied */

    LW_DEVICE explicit DecoupledSets(unsigned char *memory_)
        : memory(memory_), warp((int)threadIdx.x / D::E), lane((int)threadIdx.x % D::E), put(0), taken(0)
    {
    }
    LW_DEVICE float2 *set(int exchange) const { return (float2 *)memory + (exchange & 1) * D::SET; }
    LW_DEVICE void *filled(int exchange) const { return memory + D::COUNTERS + (exchange & 1) * 8; }
    LW_DEVICE void *emptied(int exchange) const { return memory + D::COUNTERS + 16 + (exchange & 1) * 8; }
    LW_DEVICE int &spoilt() const { return *(int *)(memory + D::COUNTERS + 32); }
    LW_DEVICE const float4 *weights() const { return (const float4 *)(memory + D::WEIGHTS); }
    LW_DEVICE TwiddleTable twiddles() const { return {(const float4 *)(memory + D::TWIDDLES) + lane, D::E, {}}; }

    /* One thread arrives for its warp. compute-sanitizer's racecheck does not see what __syncwarp puts in front of that: for it,
     * LW_EACH_THREAD_ARRIVES makes kernels in which every thread does (4% slower). */
#ifdef LW_EACH_THREAD_ARRIVES
    static constexpr int ARRIVALS = D::T;
    LW_DEVICE void arrive(void *counter) const { arrive_at_counter(counter); }
#else
    static constexpr int ARRIVALS = D::P;
    LW_DEVICE void arrive(void *counter) const
    {
        __syncwarp();
        if (lane == 0)
            arrive_at_counter(counter);
    }
#endif

    LW_DEVICE void begin_put() const { wait_for_counter(emptied(put), (put >> 1 & 1) ^ 1); }
    LW_DEVICE void end_put()
    {
        arrive(filled(put));
        ++put;
    }
    LW_DEVICE void begin_take() const { wait_for_counter(filled(taken), taken >> 1 & 1); }
    LW_DEVICE void end_take()
    {
        arrive(emptied(taken));
        ++taken;
    }
};

/* 32 x 32 points of a warp in its region: exchange and second radix 32. Before: nobody else reads the region. */
LW_DEVICE void turn_square(float2 (&v)[32], float2 *region, const DecoupledSets &sets)
{
    float2 *const row = region + sets.lane * Decoupled::PITCH;
#pragma unroll
    for (int j = 0; j < 32; j += 2)
        *(float4 *)(row + j) = make_float4(v[j].x, v[j].y, v[j + 1].x, v[j + 1].y);
    __syncwarp();
#pragma unroll
    for (int m = 0; m < 32; ++m)
        v[m] = region[m * Decoupled::PITCH + sets.lane];
    dft<32, true>(v, sets.twiddles());
}

/* The tables and counters; a barrier. */
LW_DEVICE void fill_tables(const DecoupledSets &sets, const float2 *bank)
{
    using D = Decoupled;
    float4 *const weights = (float4 *)(sets.memory + D::WEIGHTS);
    const float2 *const powers = bank + log2_of(D::E) * D::T;
    twiddle_table<D>((float4 *)(sets.memory + D::TWIDDLES), bank, threadIdx.x, threadIdx.x < D::E);
    for (int n = threadIdx.x; n < D::ROW; n += D::T) {
        const float2 w = __ldg(powers + n), w2 = __ldg(powers + D::ROW + n);
        weights[n] = make_float4(w.x, w.y, w2.x, w2.y);
    }
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; ++i) {
            begin_counter(sets.filled(i), DecoupledSets::ARRIVALS);
            begin_counter(sets.emptied(i), DecoupledSets::ARRIVALS);
        }
        sets.spoilt() = -1;
    }
    __syncthreads();
}

/* v[turn][j]: sample n + 1024 j of the turn's butterflies; see load_segment. */
template <class Stored, bool PAIRED, bool COMPLEX, bool CHECKED, int LEAD>
LW_DEVICE bool load_rows(float2 (&v)[Decoupled::TURNS][12], const OlsArgs &a, const OlsPlace &p)
{
    using D = Decoupled;
    const Stored *x = (const Stored *)a.input + (p.input + threadIdx.x) * (COMPLEX ? 2 : 1);
    const Stored *second = x + a.input_second;
    opaque(x);
    opaque(second);
    int lead = a.lead, have[2] = {p.have[0], p.have[1]};
    if (CHECKED) {
        opaque(lead);
        opaque(have[0]);
        opaque(have[1]);
    }
    bool met = false;
#pragma unroll
    for (int turn = 0; turn < D::TURNS; ++turn)
#pragma unroll
        for (int j = 0; j < 12; ++j) {
            const int k = D::ROW * j + D::T * turn, i = k + (int)threadIdx.x;
            float2 &value = v[turn][j];
            value = {0, 0};
            const bool exists = turn < D::TURNS - 1 || D::T * turn + (int)threadIdx.x < D::ROW;
            const bool led = exists && (D::ROW * j >= LEAD || i >= lead);
            if constexpr (PAIRED) {
                if (led && (!CHECKED || i < have[0]))
                    value.x = converted<float>(__ldg(x + k));
                if (led && (!CHECKED || i < have[1]))
                    value.y = converted<float>(__ldg(second + k));
            } else if (led && (!CHECKED || i < have[0]))
                value = stored_pair<float, Stored, COMPLEX>(x, k);
            if (CHECKED) {
                value.x = finite_or_zero(value.x, met);
                value.y = finite_or_zero(value.y, met);
            }
        }
    return met;
}

template <bool PAIRED, bool CHECKED, int LEAD>
LW_DEVICE bool load_rows(float2 (&v)[Decoupled::TURNS][12], const OlsArgs &a, const OlsPlace &p)
{
    return with_sample<!PAIRED>(a.input_scalar, a.input_complex, [&](auto stored, auto is_complex) {
        return load_rows<decltype(stored), PAIRED, decltype(is_complex)::value, CHECKED, LEAD>(v, a, p);
    });
}

template <bool PAIRED, int LEAD> LW_DEVICE void put_samples(DecoupledSets &sets, const OlsArgs &a, int segment, bool checked)
{
    using D = Decoupled;
    const OlsPlace p = place_of<D::N, PAIRED>(a, segment);
    float2 v[D::TURNS][12];
    if (checked || min(p.have[0], p.have[1]) < D::N) {
        if (load_rows<PAIRED, true, LEAD>(v, a, p))
            *a.not_finite = 1;
    } else
        load_rows<PAIRED, false, LEAD>(v, a, p);
    sets.begin_put();
    float2 *const set = sets.set(sets.put);
    bool spoilt = false;
#pragma unroll
    for (int turn = 0; turn < D::TURNS; ++turn) {
        const int n = D::T * turn + (int)threadIdx.x;
        if (turn == D::TURNS - 1 && n >= D::ROW)
            continue;
        const float4 w = sets.weights()[n];
        split_twelve(v[turn], {w.x, w.y}, {w.z, w.w});
        spoilt = spoilt || !isfinite(v[turn][0].x) || !isfinite(v[turn][0].y);
#pragma unroll
        for (int r = 0; r < 12; ++r)
            set[r * D::REGION + n] = v[turn][r];
    }
    if (spoilt && !checked)
        sets.spoilt() = sets.put;
    sets.end_put();
}

/* @return  whether the spectrum has been spoilt by samples that are not finite */
LW_DEVICE bool take_spectrum(float2 (&v)[32], DecoupledSets &sets)
{
    sets.begin_take();
    float2 *const region = sets.set(sets.taken) + sets.warp * Decoupled::REGION;
    const bool spoilt = sets.spoilt() == sets.taken;
#pragma unroll
    for (int m = 0; m < 32; ++m)
        v[m] = region[32 * m + sets.lane];
    dft<32, false>(v, (const float2 *)nullptr);
    __syncwarp();
    turn_square(v, region, sets);
    sets.end_take();
    return spoilt;
}

/* Half of a filter's values, asked for before they are needed: in quarters 0 and 2 of a thread's, as multiply_pair takes them. */
struct FilterAhead {
    static constexpr int PAIRS = 4;
    float4 low[PAIRS], high[PAIRS];

    LW_DEVICE void load(const float2 *filter)
    {
        const float4 *const h = (const float4 *)filter + threadIdx.x;
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            low[i] = load_now(h + i * Decoupled::T);
            high[i] = load_now(h + (i + 8) * Decoupled::T);
        }
    }
};

/* v = X H, as `multiply` makes it. */
LW_DEVICE void multiply_ahead(float2 (&v)[32], const float2 (&x)[32], const float2 *filter, const FilterAhead &ahead)
{
    const float4 *const h = (const float4 *)filter + threadIdx.x;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int m = 2 * i, k = i % FilterAhead::PAIRS;
        const float4 low = i < FilterAhead::PAIRS ? ahead.low[k] : __ldg(h + i * Decoupled::T);
        const float4 high = i < FilterAhead::PAIRS ? ahead.high[k] : __ldg(h + (i + 8) * Decoupled::T);
        multiply_pair(v[m], v[m + 16], x[m], {low.x, low.y}, x[m + 16], {high.x, high.y});
        multiply_pair(v[m + 1], v[m + 17], x[m + 1], {low.z, low.w}, x[m + 17], {high.z, high.w});
    }
}

LW_DEVICE void put_product(const float2 (&spectrum)[32], const float2 *filter, const FilterAhead &ahead, DecoupledSets &sets)
{
    float2 v[32];
    multiply_ahead(v, spectrum, filter, ahead);
    dft<32, false, true>(v, (const float2 *)nullptr);
    unsigned mix = 0;           /* four results need three quarters of the butterflies: else the compiler computes all of them */
#pragma unroll                  /* behind the wait, for which there is no time left then */
    for (int m = 0; m < 4; ++m)
        mix ^= __float_as_uint(v[m].x);
    need(mix);
    sets.begin_put();
    float2 *const region = sets.set(sets.put) + sets.warp * Decoupled::REGION;
    turn_square(v, region, sets);
    __syncwarp();
#pragma unroll
    for (int m = 0; m < 32; ++m)
        region[32 * m + sets.lane] = v[m];
    sets.end_put();
}

/* Where a warp is, in shared memory, since the filter loop has no registers for it: the segment whose filters go by, and the step
 * after it. */
struct DecoupledSteps {
    int64_t output;             /* place of the segment's first output of filter 0 */
    int segment;
    bool whole;                 /* all its outputs are wanted */
    bool more, checked;         /* there is a next step; its samples have been met before, and are not all finite */
    OlsStep next;
    OlsWalk walk;
};
static_assert(sizeof(DecoupledSteps) <= Decoupled::STEPS_BYTES, "one for each warp");

/* On from this segment, which has been taken up, to the step after it. */
template <bool PAIRED> LW_DEVICE void move_on(DecoupledSteps *steps, const OlsArgs &a, int lane)
{
    DecoupledSteps s = *steps;
    const OlsPlace p = place_of<Decoupled::N, PAIRED>(a, s.next.segment);
    s.output = p.output;
    s.segment = s.next.segment;
    s.whole = min(p.want[0], p.want[1]) == a.hop;
    s.checked = false;
    s.more = s.walk.next(a, blockIdx.x, s.next);
    __syncwarp();
    if (lane == 0)
        *steps = s;
    __syncwarp();
}

/* Radix 12, and outputs n + 1024 j of each turn's butterflies n, stored. output: place of the segment's first. */
template <int DISCARD, bool PAIRED, bool WHOLE>
LW_DEVICE void store_turns(const float2 *set, const float4 *weights, const OlsArgs &a, int64_t output, const OlsPlace &p)
{
    using D = Decoupled;
    const int discard = DISCARD >= 0 ? DISCARD : a.discard;
    float *y = (float *)a.output + (output + (int)threadIdx.x - discard) * (PAIRED ? 1 : 2), *second = y + a.output_second;
    opaque(y);
    opaque(second);
#pragma unroll
    for (int turn = 0; turn < D::TURNS; ++turn) {
        const int n = D::T * turn + (int)threadIdx.x;
        if (turn == D::TURNS - 1 && n >= D::ROW)
            break;
        const float4 w = weights[n];
        float2 v[12];
#pragma unroll
        for (int r = 0; r < 12; ++r)
            v[r] = set[r * D::REGION + n];
        join_twelve(v, {w.x, w.y}, {w.z, w.w});
#pragma unroll
        for (int j = 0; j < 12; ++j)
            if (D::ROW * j >= discard) {
                const int at = D::ROW * j + D::T * turn;
                put_output<PAIRED, WHOLE>(y, second, at, p, at + (int)threadIdx.x - discard, float2{v[j].y, v[j].x});
            }
    }
}

template <int DISCARD, bool PAIRED>
LW_DEVICE void take_outputs(DecoupledSets &sets, const OlsArgs &a, const DecoupledSteps *steps, int f)
{
    sets.begin_take();
    const float2 *const set = sets.set(sets.taken);
    const int64_t output = steps->output + f * a.plane;
    if (steps->whole)
        store_turns<DISCARD, PAIRED, true>(set, sets.weights(), a, output, OlsPlace());
    else
        store_turns<DISCARD, PAIRED, false>(set, sets.weights(), a, output, place_of<Decoupled::N, PAIRED>(a, steps->segment));
    sets.end_take();
}

/* Ask for a segment's samples: one line of L2 a thread. */
template <bool PAIRED> LW_DEVICE void fetch(const OlsArgs &a, int segment)
{
    const OlsPlace p = place_of<Decoupled::N, PAIRED>(a, segment);
    const int sample_bytes = a.sample_bytes, line = 128;
    for (int at = threadIdx.x * line; at < p.have[0] * sample_bytes; at += Decoupled::T * line) {
        if (at < a.lead * sample_bytes)
            continue;
        prefetch((const char *)a.input + p.input * sample_bytes + at);
        if (PAIRED && at < p.have[1] * sample_bytes)
            prefetch((const char *)a.input + (p.input + a.input_second) * sample_bytes + at);
    }
}

template <int DISCARD, bool PAIRED> __global__ void __launch_bounds__(Decoupled::T, 1) ols_decoupled(const OlsArgs a)
{
    using D = Decoupled;
    static_assert(DISCARD < 0 || DISCARD % D::ROW == 0, "rows are dropped whole");
    constexpr int LEAD = DISCARD < 0 ? D::ROW : DISCARD;
    extern __shared__ __align__(128) unsigned char memory[];

    wait_for_predecessor();
    DecoupledSets sets(memory);
    fill_tables(sets, (const float2 *)a.bank);
    DecoupledSteps *const steps = (DecoupledSteps *)(memory + D::STEPS + sets.warp * D::STEPS_BYTES);
    if (sets.lane == 0) {
        OlsWalk walk;
        walk.start(a, blockIdx.x);
        steps->checked = false;
        steps->more = walk.next(a, blockIdx.x, steps->next);
        steps->walk = walk;
    }
    __syncwarp();
    float2 spectrum[D::E];
    FilterAhead ahead;
    for (int f = -1, begin = 0, end = 0;;) {        /* no filter at first */
#pragma unroll 1
        for (; f < end; ++f) {
            if (f + 1 < end) {
                put_product(spectrum, spectra_of<D>(a, f + 1), ahead, sets);
                ahead.load(spectra_of<D>(a, min(f + 2, end - 1)));
            } else if (steps->more) {
                put_samples<PAIRED, LEAD>(sets, a, steps->next.segment, steps->checked);
                ahead.load(spectra_of<D>(a, steps->next.begin));
#pragma unroll
                for (int m = 0; m < D::E; ++m)      /* else its registers would not be free for the samples */
                    spectrum[m] = {0, 0};
            }
            if (f >= begin)
                take_outputs<DISCARD, PAIRED>(sets, a, steps, f);
        }
        if (!steps->more)
            return;
        begin = steps->next.begin;
        if (take_spectrum(spectrum, sets)) {        /* once more, with them replaced by zero */
            if (sets.lane == 0)
                steps->checked = true;
            __syncwarp();
            begin = end = 0;
        } else {
            end = steps->next.end;
            move_on<PAIRED>(steps, a, sets.lane);
            if (steps->more)
                fetch<PAIRED>(a, steps->next.segment);
        }
        f = begin - 1;
    }
}

#endif
