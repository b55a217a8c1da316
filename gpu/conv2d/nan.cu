/* nan.cu - treats outputs that touch pixels that are not finite, in three steps. In each a warp takes 32 neighbours of a row,
 * whose bits make one word:
 *
 *   note    mark the pixels in the window of every input row that are not finite
 *   touch   mark the output columns with a noted pixel among their kernel_columns
 *   treat   treat the outputs with a touched row among their kernel_rows
 *
 * The kernels return at once if the flag is not raised; otherwise the cost per output is of the order of the kernel's sides. */
#include "gpu/conv2d/window.cuh"

#include <math_constants.h>

static constexpr int block_threads = 256, warp = 32;
static constexpr int64_t most_blocks = 4096;

/* Columns of the window of all outputs of a row; words of a row's bits; rows of all windows. */
__host__ __device__ static inline int64_t window_columns(const lw_conv2d_block &b)
{
    return b.output_columns + b.kernel_columns - 1;
}

__host__ __device__ static inline int64_t words_of(int64_t bits) { return (bits + warp - 1) / warp; }
__host__ __device__ static inline int64_t lines_of(const lw_conv2d_block &b)
{
    return b.n_channels * (b.kernel_rows - 1 + b.count);
}

/* Call `each(line, word, lane)` for words [0, n_words) of lines [0, n_lines); a whole warp takes each word. */
template <class Each> LW_DEVICE void for_words(int64_t n_lines, int64_t n_words, Each each)
{
    const int64_t warps = (int64_t)gridDim.x * (block_threads / warp);
    for (int64_t i = ((int64_t)blockIdx.x * block_threads + threadIdx.x) / warp; i < n_lines * n_words; i += warps)
        each(i / n_words, i % n_words, (int)(threadIdx.x % warp));
}

template <class Pixel, class Stored> __global__ void note_bad(const lw_conv2d_block b, const lw_conv2d_flaws flaws)
{
    if (flaws.report->flag == 0)
        return;
    const int64_t n = window_columns(b), n_words = words_of(n);
    for_words(lines_of(b), n_words, [&](int64_t line, int64_t word, int lane) {
        const int64_t x = word * warp + lane;
        const Window<Pixel, Stored> window = {b, line / input_rows(b), line % input_rows(b), b.first_column};
        bool bad = false;
        if (x < n)
            window.at(0, x, bad);
        const unsigned bits = __ballot_sync(~0u, bad);
        if (lane == 0)
            flaws.bad[line * n_words + word] = bits;
        if (bad)
            report_own(b, flaws.report, line / input_rows(b), line % input_rows(b), b.first_column + x);
    });
}

/* Word `word` of a line, with the bits outside [begin, end) cleared. */
LW_DEVICE unsigned bits_within(const uint32_t *line, int64_t word, int64_t begin, int64_t end)
{
    const int64_t first = word * warp;
    unsigned bits = line[word];
    if (begin > first)
        bits &= ~0u << (begin - first);
    if (end < first + warp)
        bits &= ~(~0u << (end - first));
    return bits;
}

static __global__ void touch_rows(const lw_conv2d_block b, const lw_conv2d_flaws flaws)
{
    if (flaws.report->flag == 0)
        return;
    const int64_t n_words = words_of(b.output_columns), bad_words = words_of(window_columns(b));
    for_words(lines_of(b), n_words, [&](int64_t line, int64_t word, int lane) {
        const int64_t begin = word * warp + lane, end = begin + b.kernel_columns;
        unsigned met = 0;
        for (int64_t w = begin / warp; begin < b.output_columns && w * warp < end && !met; ++w)
            met = bits_within(flaws.bad + line * bad_words, w, begin, end);
        const unsigned bits = __ballot_sync(~0u, met != 0);
        if (lane == 0)
            flaws.touched[line * n_words + word] = bits;
    });
}

/* Sum of a kernel row's taps that meet bad pixels, for the output whose pixels begin at bit `begin`. */
LW_DEVICE double lost_in_row(const uint32_t *line, const double *sums, int64_t begin, int64_t n)
{
    double lost = 0;
    for (int64_t w = begin / warp; w * warp < begin + n; ++w) {
        unsigned bits = bits_within(line, w, begin, begin + n);
        while (bits) {
            const int first = __ffs((int)bits) - 1;
            const unsigned above = ~(bits >> first);            /* the lowest 0 bit is the end of the run */
            const int length = above ? __ffs((int)above) - 1 : warp - first;
            const int64_t at = w * warp + first - begin;
            lost += sums[at + length] - sums[at];
            bits &= first + length < warp ? ~0u << (first + length) : 0;
        }
    }
    return lost;
}

/* The factor that an output is multiplied by. */
LW_DEVICE double weight_of(const lw_conv2d_block &b, const lw_conv2d_flaws &flaws, int64_t line, int64_t column)
{
    const int64_t bad_words = words_of(window_columns(b));
    double lost = 0;
    for (int64_t m = 0; m < b.kernel_rows; ++m)
        lost += lost_in_row(flaws.bad + (line + m) * bad_words, flaws.sums + m * (b.kernel_columns + 1), column, b.kernel_columns);
    const double least = 1e-6, valid = (flaws.sum - lost) / flaws.sum;
    return valid < least ? CUDART_NAN : 1 / valid;
}

template <class Real> __global__ void treat_touched(const lw_conv2d_block b, const lw_conv2d_flaws flaws)
{
    if (flaws.report->flag == 0)
        return;
    const int parts = b.output_complex ? 2 : 1;
    const int64_t n_words = words_of(b.output_columns);
    for_words(b.n_channels * b.count, n_words, [&](int64_t output_line, int64_t word, int lane) {
        const int64_t channel = output_line / b.count, line = channel * input_rows(b) + output_line % b.count;
        unsigned met = 0;
        for (int64_t m = 0; m < b.kernel_rows && met != ~0u; ++m)
            met |= flaws.touched[(line + m) * n_words + word];
        if (!(met >> lane & 1))
            return;
        const int64_t column = word * warp + lane;
        const bool is_weighed = flaws.nan == LW_NAN_INTERPOLATE;
        const double weight = is_weighed ? weight_of(b, flaws, line, column) : 0;
        Real *const at = (Real *)b.output + parts * (output_line * b.output_columns + column);
        for (int part = 0; part < parts; ++part)
            at[part] = is_weighed ? (Real)(at[part] * weight) : (Real)CUDART_NAN;
    });
}

static bool treats(const lw_conv2d_flaws &flaws) { return flaws.nan == LW_NAN_PROPAGATE || flaws.nan == LW_NAN_INTERPOLATE; }

static unsigned blocks_for(int64_t words) { return blocks_for(words * warp, block_threads, most_blocks); }

template <class Real>
static cudaError_t note_as(const lw_conv2d_block &b, const lw_conv2d_flaws &flaws, cudaStream_t stream)
{
    const unsigned note_blocks = blocks_for(lines_of(b) * words_of(window_columns(b)));
    with_stored(b.scalar, [&](auto stored) {
        using Stored = decltype(stored);
        if constexpr (std::is_floating_point<Stored>::value) {
            if (b.input_complex)
                note_bad<Complex<Real>, Stored><<<note_blocks, block_threads, 0, stream>>>(b, flaws);
            else
                note_bad<Real, Stored><<<note_blocks, block_threads, 0, stream>>>(b, flaws);
        }
    });
    const unsigned touch_blocks = blocks_for(lines_of(b) * words_of(b.output_columns));
    if (treats(flaws))
        touch_rows<<<touch_blocks, block_threads, 0, stream>>>(b, flaws);
    return cudaGetLastError();
}

template <class Real>
static cudaError_t treat_as(const lw_conv2d_block &b, const lw_conv2d_flaws &flaws, cudaStream_t stream)
{
    const unsigned treat_blocks = blocks_for(b.n_channels * b.count * words_of(b.output_columns));
    if (treats(flaws))
        treat_touched<Real><<<treat_blocks, block_threads, 0, stream>>>(b, flaws);
    return cudaGetLastError();
}

/* A thread makes NaN the rows of the table whose output is touched. */
static __global__ void spoil_crossings(const lw_conv2d_block b, const lw_conv2d_flaws flaws, const lw_conv2d_search s)
{
    const int64_t n = *s.n_rows < (unsigned long long)s.most_rows ? (int64_t)*s.n_rows : s.most_rows;
    const int64_t n_words = words_of(b.output_columns);
    if (flaws.report->flag == 0)
        return;
    for (int64_t i = (int64_t)blockIdx.x * block_threads + threadIdx.x; i < n; i += (int64_t)gridDim.x * block_threads) {
        lw_crossing &c = s.rows[i];
        const int64_t line = (c.channel - s.channel) * input_rows(b) + c.index - s.first_row;
        unsigned met = 0;
        for (int64_t m = 0; m < b.kernel_rows; ++m)
            met |= flaws.touched[(line + m) * n_words + c.column / warp];
        if (met >> c.column % warp & 1)
            c.re = CUDART_NAN;
    }
}

static bool has_flaws(const lw_conv2d_block &b) { return !lw_scalar_is_integer(b.scalar); }

static bool has_outputs(const lw_conv2d_block &b) { return b.count > 0 && b.n_channels > 0; }

int64_t lw_conv2d_flaws_bytes(const struct lw_conv2d_block *block)
{
    const int64_t words = words_of(window_columns(*block)) + words_of(block->output_columns);
    return has_flaws(*block) ? lines_of(*block) * words * (int64_t)sizeof(uint32_t) : 0;
}

void lw_conv2d_flaws_place(const struct lw_conv2d_block *block, void *memory, struct lw_conv2d_flaws *flaws)
{
    flaws->bad = static_cast<uint32_t *>(memory);
    flaws->touched = flaws->bad + lines_of(*block) * words_of(window_columns(*block));
}

cudaError_t lw_conv2d_note_flaws(const struct lw_conv2d_block *block, const struct lw_conv2d_flaws *flaws, cudaStream_t stream)
{
    if (!has_outputs(*block) || !has_flaws(*block))
        return cudaSuccess;
    return flaws->precision == LW_SINGLE ? note_as<float>(*block, *flaws, stream) : note_as<double>(*block, *flaws, stream);
}

cudaError_t lw_conv2d_treat_flaws(const struct lw_conv2d_block *block, const struct lw_conv2d_flaws *flaws, cudaStream_t stream)
{
    if (!has_outputs(*block) || !has_flaws(*block))
        return cudaSuccess;
    return flaws->precision == LW_SINGLE ? treat_as<float>(*block, *flaws, stream) : treat_as<double>(*block, *flaws, stream);
}

cudaError_t lw_conv2d_spoil_crossings(const struct lw_conv2d_block *block, const struct lw_conv2d_flaws *flaws,
                                      const struct lw_conv2d_search *search, cudaStream_t stream)
{
    if (!has_outputs(*block) || !has_flaws(*block) || !treats(*flaws))
        return cudaSuccess;
    spoil_crossings<<<1024, block_threads, 0, stream>>>(*block, *flaws, *search);
    return cudaGetLastError();
}
