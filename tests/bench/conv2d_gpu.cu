/* conv2d_gpu.cu - benchmark of 2-D convolution on the CUDA engine, on data in device memory: float32, zeros beyond the sides,
 * output of the image's size.
 *
 *   bench_conv2d_gpu table [csv] [text] [rival.so...]   the recorded table: the engine, cuFFT on the whole image and on tiles, and
 *                             the rivals, each in its fastest way. The cases are those whose name contains text; a text with commas
 *                             is a list of cases: '4096^2 5x5,1000^2 31x31,'
 *   bench_conv2d_gpu methods [csv] [text]   every algorithm of the engine for those cases, to tune the choice
 *   bench_conv2d_gpu padded [csv] [text]    the padded image, as the engine transforms it, beside the same by plain cuFFT; text
 *                             is a list of cases as above, or empty: large kernels
 *   bench_conv2d_gpu lengths [csv]          the padded image by plain cuFFT with each length of 2^a 3^b 5^c 7^d from 22384 to
 *                             24576, to tune lw_padded_length
 *   bench_conv2d_gpu strips [csv] [text]    separable kernels: what the engine chooses, passes, tiles, and strips of various
 *                             lengths, beside the time of the cost model; text is a list of cases, or empty: 512^2 to 8192^2
 *   bench_conv2d_gpu batches [csv] [text]   large tiles with work areas of various sizes, which may or may not stay in the L2 cache
 *   bench_conv2d_gpu check    every algorithm against the sum by definition, on awkward sizes
 *   bench_conv2d_gpu one CASE ALGORITHM N   N launches of one case, for a profiler; ALGORITHM as in --algorithm
 *
 * Images rotate over a working set of more than 4 times the L2 cache. Every row is checked at random pixels against the sum in
 * double. */
#include "cufft_image.cuh"
#include "gpu/conv2d/prepared.h"
#include "rivals/library.h"
#include "rivals/search.cuh"

#include <cmath>
#include <cstring>
#include <sstream>
#include <string>

static const double WORKING_SET = 512.0 * (1 << 20), BUDGET_MS = 120;
static const char *const algorithms[] = {"auto", "direct", "tiles", "full", "separable", "padded"};

struct Case {
    std::string name;
    RivalImage image;
};

static int64_t n_pixels(const Case &c) { return c.image.rows * c.image.columns; }
static int64_t input_rows(const Case &c) { return c.image.rows + c.image.kernel_rows - 1; }

static Case square(int64_t side, int kernel_rows, int kernel_columns)
{
    char name[64];
    snprintf(name, sizeof name, "%lld^2 %dx%d", (long long)side, kernel_rows, kernel_columns);
    return {name, {side, side, kernel_rows, kernel_columns, (kernel_rows - 1) / 2, (kernel_columns - 1) / 2}};
}

/* The grid of PEERS, then the sizes of Podlozhnyuk, "FFT-based 2D convolution" (2007), with the kernel of its program. */
static std::vector<Case> all_cases()
{
    std::vector<Case> cases;
    for (const int64_t side : {4096, 16384, 32768})
        for (const int kernel : {7, 15, 31, 63, 127, 255})
            cases.push_back(square(side, kernel, kernel));
    for (const int64_t side : {256, 512, 1024, 1536, 2048, 2560, 3072, 3584})
        cases.push_back(square(side, 7, 6));
    return cases;
}

/* The cases whose name contains the text; for a text with commas, the listed images and kernels. */
static std::vector<Case> wanted_cases(const char *text)
{
    std::vector<Case> cases;
    if (!strchr(text, ',')) {
        for (const Case &c : all_cases())
            if (c.name.find(text) != std::string::npos)
                cases.push_back(c);
        return cases;
    }
    std::istringstream names(text);
    for (std::string name; std::getline(names, name, ',');) {
        long long side;
        int rows, columns;
        if (sscanf(name.c_str(), "%lld^2 %dx%d", &side, &rows, &columns) != 3 || side < 1 || rows < 1 || columns < 1) {
            fprintf(stderr, "'%s' is no case such as '4096^2 31x31'\n", name.c_str());
            exit(2);
        }
        cases.push_back(square(side, rows, columns));
    }
    return cases;
}

/* ---- data ------------------------------------------------------------------------------------------------------------------- */

/* Images in device memory, each with the rows above and below it that a block has. */
struct Pool {
    float *x, *y;                   /* [n][input_rows][columns], [n][rows][columns] */
    int n;
    unsigned *flag;
    double *taps;                   /* device: [kernel_rows][kernel_columns] */
    std::vector<double> host_taps;
    cudaStream_t stream;
};

/* Make the taps: a smooth bump, or its product with noise, which is not separable. */
static std::vector<double> make_taps(const RivalImage &c, bool separable)
{
    std::vector<double> taps((size_t)c.kernel_rows * c.kernel_columns);
    double sum = 0;
    for (int m = 0; m < c.kernel_rows; ++m)
        for (int n = 0; n < c.kernel_columns; ++n) {
            const double u = (m - c.ahead_rows) / (0.3 * c.kernel_rows);
            const double v = (n - c.ahead_columns) / (0.3 * c.kernel_columns);
            const double noise = separable ? 1 : 0.5 + hash24((uint64_t)m * c.kernel_columns + n, 9) / 16777216.0;
            sum += taps[(size_t)m * c.kernel_columns + n] = exp(-u * u - v * v) * noise;
        }
    for (double &tap : taps)
        tap = (double)(float)(tap / sum);
    return taps;
}

static void upload_taps(Pool *p, const RivalImage &c, bool separable)
{
    p->host_taps = make_taps(c, separable);
    CHECK_CUDA(cudaMemcpyAsync(p->taps, p->host_taps.data(), p->host_taps.size() * sizeof(double),
                               cudaMemcpyHostToDevice, p->stream));
    CHECK_CUDA(cudaStreamSynchronize(p->stream));
}

static Pool make_pool(const Case &c)
{
    Pool p = {};
    const int64_t in = input_rows(c) * c.image.columns, out = n_pixels(c);
    p.n = (int)std::max(1.0, std::ceil(WORKING_SET / (4.0 * (in + out))));
    CHECK_CUDA(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMalloc(&p.x, 4 * in * p.n));
    CHECK_CUDA(cudaMalloc(&p.y, 4 * out * p.n));
    CHECK_CUDA(cudaMalloc(&p.flag, sizeof *p.flag));
    CHECK_CUDA(cudaMalloc(&p.taps, sizeof(double) * c.image.kernel_rows * c.image.kernel_columns));
    CHECK_CUDA(cudaMemsetAsync(p.flag, 0, sizeof *p.flag, p.stream));
    fill_random<<<4096, 256, 0, p.stream>>>(p.x, in * p.n, 1);
    const int64_t above = c.image.kernel_rows - 1 - c.image.ahead_rows;
    for (int i = 0; i < p.n; ++i) {
        CHECK_CUDA(cudaMemsetAsync(p.x + i * in, 0, 4 * above * c.image.columns, p.stream));
        CHECK_CUDA(cudaMemsetAsync(p.x + i * in + (above + c.image.rows) * c.image.columns, 0,
                                   4 * c.image.ahead_rows * c.image.columns, p.stream));
    }
    upload_taps(&p, c.image, false);
    return p;
}

static void release_pool(Pool *p)
{
    CHECK_CUDA(cudaStreamDestroy(p->stream));
    for (void *const memory : {(void *)p->x, (void *)p->y, (void *)p->flag, (void *)p->taps})
        CHECK_CUDA(cudaFree(memory));
}

/* Address of image i, behind the rows above it. */
static const float *image_of(const Case &c, const Pool &p, int i)
{
    const int64_t above = c.image.kernel_rows - 1 - c.image.ahead_rows;
    return p.x + (i % p.n * input_rows(c) + above) * c.image.columns;
}

static float *output_of(const Case &c, const Pool &p, int i) { return p.y + i % p.n * n_pixels(c); }

/* ---- check ------------------------------------------------------------------------------------------------------------ */

/* Pixel s of the checked ones: the corners, then random pixels. */
__host__ __device__ static int64_t sampled(const RivalImage &c, int s)
{
    if (s < 4)
        return s % 2 * (c.columns - 1) + s / 2 * (c.rows - 1) * c.columns;
    return (int64_t)(((uint64_t)hash24(s, 3) << 24 | hash24(s, 4)) % (uint64_t)(c.rows * c.columns));
}

/* Add the squares of the differences to sums[0] and those of the truth to sums[1]. One block computes one pixel. */
static __global__ void compare(const RivalImage c, const float *image, const float *output, const double *taps,
                               double *sums)
{
    __shared__ double parts[128];
    const int64_t at = sampled(c, blockIdx.x), row = at / c.columns, column = at % c.columns;
    double sum = 0;
    for (int i = threadIdx.x; i < c.kernel_rows * c.kernel_columns; i += 128) {
        const int64_t y = row + c.ahead_rows - i / c.kernel_columns;
        const int64_t x = column + c.ahead_columns - i % c.kernel_columns;
        if (y >= 0 && y < c.rows && x >= 0 && x < c.columns)
            sum += taps[i] * image[y * c.columns + x];
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int i = 1; i < 128; ++i)
        sum += parts[i];
    atomicAdd(&sums[0], (output[at] - sum) * (output[at] - sum));
    atomicAdd(&sums[1], sum * sum);
}

/* Relative L2 error of output 0 at the checked pixels. */
static double error_of(const Case &c, const Pool &p)
{
    double *sums, host[2];
    CHECK_CUDA(cudaMalloc(&sums, sizeof host));
    CHECK_CUDA(cudaMemsetAsync(sums, 0, sizeof host, p.stream));
    compare<<<2048, 128, 0, p.stream>>>(c.image, image_of(c, p, 0), output_of(c, p, 0), p.taps, sums);
    CHECK_CUDA(cudaMemcpyAsync(host, sums, sizeof host, cudaMemcpyDeviceToHost, p.stream));
    CHECK_CUDA(cudaStreamSynchronize(p.stream));
    CHECK_CUDA(cudaFree(sums));
    return sqrt(host[0] / host[1]);
}

static const double TOLERANCE = 3e-6;

/* ---- ours ------------------------------------------------------------------------------------------------------------------ */

/* The choices that differ from the plan of the engine; all zero: none. */
struct Way {
    int batch;                      /* transforms in the work area of large tiles, at most */
    int side, rows;                 /* sums in strips of so many rows, with this side of the padded kernel */
    bool in_passes;                 /* a separable kernel in passes */
};

struct Ours {
    struct lw_op_spec spec;
    struct lw_conv2d_prepared prepared;
    Way way;
    void *memory;
    char text[160];
};

static struct lw_op_spec spec_of(const Case &c, const Pool &p, int algorithm)
{
    struct lw_op_spec s = {};
    s.kind = LW_OP_CONV2D;
    s.input.scalar = s.output.scalar = LW_FLOAT32;
    s.layout = LW_TIME_FAST;
    s.n_channels = 1;
    s.n_outputs = c.image.rows;
    s.conv2d.kernel = p.host_taps.data();
    s.conv2d.n_kernels = 1;
    s.conv2d.kernel_rows = c.image.kernel_rows;
    s.conv2d.kernel_columns = c.image.kernel_columns;
    s.conv2d.rows = c.image.rows;
    s.conv2d.columns = s.conv2d.output_columns = c.image.columns;
    s.conv2d.look_ahead_rows = c.image.ahead_rows;
    s.conv2d.look_ahead_columns = c.image.ahead_columns;
    s.conv2d.boundary = LW_BOUNDARY_ZERO;
    s.conv2d.algorithm = (enum lw_conv2d_algorithm)algorithm;
    return s;
}

/* Prepare an algorithm. False: it does not suit the case; any other failure ends the program. */
static bool prepare(const Case &c, const Pool &p, int algorithm, Ours *ours, const Way &way = {})
{
    const struct lw_engine_spec first = {0, 0, 1, false};
    static struct lw_device device;
    struct lw_conv2d_plan plan;
    struct lw_error err = {};
    void *setup;
    if (device.shared_bytes == 0 && lw_device_open(&first, &device, &err)) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    ours->spec = spec_of(c, p, algorithm);
    if (lw_conv2d_choose(&device, &ours->spec, &plan, &err))
        return false;
    if (way.batch > 0)
        plan.batch = std::min<int64_t>(way.batch, plan.batch);
    if (way.rows > 0)
        plan = {LW_CONV2D_PRODUCT, way.side};
    if (way.in_passes)
        plan = {LW_CONV2D_PASSES};
    ours->way = way;
    lw_conv2d_describe(&plan, &ours->spec, ours->text, sizeof ours->text);
    CHECK_CUDA(cudaMalloc(&ours->memory, lw_conv2d_prepared_bytes(&ours->spec, &plan) + 1));
    CHECK_CUDA(cudaMalloc(&setup, lw_conv2d_setup_bytes(&ours->spec, &plan) + 1));
    if (lw_conv2d_prepare(&ours->spec, &plan, ours->memory, setup, p.stream, &ours->prepared, &err)) {
        fprintf(stderr, "%s: %s\n", c.name.c_str(), err.message);
        exit(1);
    }
    CHECK_CUDA(cudaStreamSynchronize(p.stream));
    CHECK_CUDA(cudaFree(setup));
    return true;
}

static void release(Ours *ours)
{
    lw_conv2d_release(&ours->prepared);
    CHECK_CUDA(cudaFree(ours->memory));
}

static void convolve(const Case &c, const Ours &ours, const Pool &p, int i)
{
    struct lw_conv2d_block block = lw_conv2d_block_of(&ours.spec, 0, c.image.rows, 1);
    struct lw_error err = {};
    block.input = p.x + i % p.n * input_rows(c) * c.image.columns;
    block.output = output_of(c, p, i);
    block.not_finite = p.flag;
    const struct lw_conv2d_kernel &kernel = ours.prepared.kernels[0];
    block.exponent = kernel.exponent;
    if (ours.way.rows > 0) {
        CHECK_CUDA(lw_conv2d_in_strips(&block, ours.way.side, ours.way.rows, kernel.unrolled, p.stream));
        return;
    }
    if (lw_conv2d_run(&ours.prepared, 0, 1, &block, nullptr, p.stream, &err)) {
        fprintf(stderr, "%s: %s\n", c.name.c_str(), err.message);
        exit(1);
    }
}

struct Result {
    Timing time;
    double error, planned_ms;
    char text[160];
};

static bool measure(const Case &c, Pool *p, int algorithm, Result *r, const Way &way = {}, double budget_ms = BUDGET_MS)
{
    Ours ours;
    if (algorithm == LW_CONV2D_ALGORITHM_SEPARABLE)
        upload_taps(p, c.image, true);
    const bool suits = prepare(c, *p, algorithm, &ours, way);
    if (suits) {
        CHECK_CUDA(cudaMemsetAsync(p->y, 0xff, 4 * n_pixels(c), p->stream));
        convolve(c, ours, *p, 0);
        r->error = error_of(c, *p);
        r->time = time_run([&](int i) { convolve(c, ours, *p, i); }, p->stream, budget_ms);
        r->planned_ms = 1e3 * ours.prepared.plan.seconds * (double)n_pixels(c);
        snprintf(r->text, sizeof r->text, "%s", ours.text);
        release(&ours);
    }
    if (algorithm == LW_CONV2D_ALGORITHM_SEPARABLE)
        upload_taps(p, c.image, false);
    return suits;
}

/* ---- rivals ------------------------------------------------------------------------------------------------------------------ */

static std::vector<const ImageRival *> rivals = {&cufft_whole_image, &cufft_tiles};

static bool is_right(const Case &c, const Pool &p, const ImageRival *rival, void *open, const char *text)
{
    CHECK_CUDA(cudaMemsetAsync(p.y, 0xff, 4 * n_pixels(c), p.stream));
    rival->run(open, image_of(c, p, 0), output_of(c, p, 0), p.stream);
    const double error = error_of(c, p);
    if (error < TOLERANCE)
        return true;
    printf("  %s (%s): error %.2g: WRONG\n", rival->name, text, error);
    return false;
}

static RivalReached measure_rival(const Case &c, const Pool &p, const ImageRival *rival, bool *failed)
{
    const auto calls = [&](void *open) {
        return [&c, &p, rival, open](int i) { rival->run(open, image_of(c, p, i), output_of(c, p, i), p.stream); };
    };
    return rival_measure(rival, c.image, p.taps, p.stream, BUDGET_MS / 2, &Timing::sustained, calls,
                         [&](void *open, const char *text) { return is_right(c, p, rival, open, text); }, failed);
}

/* ---- modes ------------------------------------------------------------------------------------------------------------ */

static double rate(const Case &c, double ms) { return ms > 0 ? (double)n_pixels(c) / ms * 1e-6 : 0; }

static void print_head(FILE *to)
{
    fprintf(to, "case,ms,ms_single,gpixel_s,ratio,error,method");
    for (const ImageRival *rival : rivals)
        fprintf(to, ",%s,%s", rival_column(rival->name, "gpixel_s").c_str(), rival_column(rival->name).c_str());
    fprintf(to, "\n");
}

/* ratio: time of the fastest rival divided by the engine's */
static void print_row(FILE *to, const Case &c, const Result &r, const std::vector<RivalReached> &reached)
{
    double best = 0;
    for (const RivalReached &one : reached)
        best = one.ms > 0 && (best == 0 || one.ms < best) ? one.ms : best;
    fprintf(to, "%s,%.4f,%.4f,%.1f,%.2f,%.2g,\"%s\"", c.name.c_str(), r.time.sustained, r.time.single, rate(c, r.time.sustained),
            best / r.time.sustained, r.error, r.text);
    for (const RivalReached &one : reached)
        fprintf(to, one.ms > 0 ? ",%.1f,\"%s\"" : ",,", rate(c, one.ms), one.text);
    fprintf(to, "\n");
    fflush(to);
}

static int run_table(FILE *csv, const char *text)
{
    int wrong = 0;
    for (FILE *const to : {stdout, csv})
        if (to)
            print_head(to);
    for (const Case &c : wanted_cases(text)) {
        Pool p = make_pool(c);
        Result r;
        bool failed = false;
        std::vector<RivalReached> reached;
        measure(c, &p, LW_CONV2D_ALGORITHM_AUTO, &r);
        for (const ImageRival *rival : rivals)
            reached.push_back(measure_rival(c, p, rival, &failed));
        for (FILE *const to : {stdout, csv})
            if (to)
                print_row(to, c, r, reached);
        wrong += failed || !(r.error < TOLERANCE);
        release_pool(&p);
    }
    return wrong > 0;
}

static int run_methods(FILE *csv, const char *text)
{
    int failed = 0;
    for (FILE *const to : {stdout, csv})
        if (to)
            fprintf(to, "case,algorithm,ms,gpixel_s,error,method\n");
    for (const Case &c : wanted_cases(text)) {
        Pool p = make_pool(c);
        for (int a = LW_CONV2D_ALGORITHM_AUTO; a <= LW_CONV2D_ALGORITHM_PADDED; ++a) {
            Result r;
            const bool is_slow = a == LW_CONV2D_ALGORITHM_DIRECT && c.image.kernel_rows > 31;
            if (is_slow || !measure(c, &p, a, &r))
                continue;
            for (FILE *const to : {stdout, csv})
                if (to)
                    fprintf(to, "%s,%s,%.4f,%.1f,%.2g,\"%s\"\n", c.name.c_str(), algorithms[a], r.time.sustained,
                            rate(c, r.time.sustained), r.error, r.text);
            failed += !(r.error < TOLERANCE);
        }
        release_pool(&p);
    }
    return failed > 0;
}

/* The padded image, as the engine transforms it and by plain cuFFT, whose fastest size counts. */
static int run_padded(FILE *csv, const char *text)
{
    int wrong = 0;
    for (FILE *const to : {stdout, csv})
        if (to)
            fprintf(to, "case,ms,ms_single,cufft_ms,ratio,error,bytes,method,cufft\n");
    for (const Case &c : wanted_cases(text[0] ? text : "1024^2 7x6,4096^2 2000x2000,8192^2 4000x4000,16384^2 6000x6000,")) {
        Pool p = make_pool(c);
        Ours ours;
        Result r;
        bool failed = false;
        if (!measure(c, &p, LW_CONV2D_ALGORITHM_PADDED, &r) || !prepare(c, p, LW_CONV2D_ALGORITHM_PADDED, &ours))
            return 1;
        const long long bytes = (long long)lw_conv2d_prepared_bytes(&ours.spec, &ours.prepared.plan);
        release(&ours);
        const RivalReached plain = measure_rival(c, p, &cufft_whole_image, &failed);
        for (FILE *const to : {stdout, csv})
            if (to) {
                fprintf(to, "%s,%.4f,%.4f,%.4f,%.3f,%.2g,%lld,\"%s\",\"%s\"\n", c.name.c_str(), r.time.sustained, r.time.single,
                        plain.ms, r.time.sustained / plain.ms, r.error, bytes, r.text, plain.text);
                fflush(to);
            }
        wrong += failed || !(r.error < TOLERANCE);
        release_pool(&p);
    }
    return wrong > 0;
}

/* Plain cuFFT's time for a 16384^2 image whose rows or columns are padded to one length after the other. */
static int run_lengths(FILE *csv)
{
    const Case c = square(16384, 6000, 6000);
    Pool p = make_pool(c);
    const int least = (int)(c.image.rows + c.image.kernel_rows - 1), common = 22400;
    const auto ms_of = [&](int rows, int columns) {
        CufftImage *const f = cufft_image_create(image_cut(c.image, rows, columns, 1), p.taps, p.stream);
        const double ms =
            f ? rival_glance([&](int i) { cufft_image_run(f, image_of(c, p, i), output_of(c, p, i), p.stream); }, p.stream) : 0;
        if (f)
            cufft_image_close(f);
        return ms;
    };
    for (FILE *const to : {stdout, csv})
        if (to)
            fprintf(to, "length,rows_ms,columns_ms\n");
    for (int length = image_size(least, 2); length <= 24576; length = image_size(length + 2, 2)) {
        const double rows = ms_of(length, common), columns = ms_of(common, length);
        for (FILE *const to : {stdout, csv})
            if (to) {
                fprintf(to, "%d,%.3f,%.3f\n", length, rows, columns);
                fflush(to);
            }
    }
    release_pool(&p);
    return 0;
}

/* The cases of `strips`: images and kernels on both sides of each choice between strips, passes and tiles. */
static std::string separable_cases()
{
    std::string text;
    for (const int side : {512, 1024, 1536, 2048, 3072, 4096, 8192})
        for (const int kernel : {3, 9, 15, 17, 23, 25, 31, 35, 47, 63}) {
            const std::string shape = std::to_string(kernel);
            text += std::to_string(side) + "^2 " + shape + "x" + shape + ",";
        }
    return text;
}

static int run_strips(FILE *csv, const char *text)
{
    const double budget_ms = 25;
    int failed = 0;
    for (FILE *const to : {stdout, csv})
        if (to)
            fprintf(to, "case,way,rows,ms,planned_ms,error,method\n");
    for (const Case &c : wanted_cases(text[0] ? text : separable_cases().c_str())) {
        Pool p = make_pool(c);
        const auto print = [&](const char *way, int algorithm, const Way &forced) {
            Result r;
            if (!measure(c, &p, algorithm, &r, forced, budget_ms))
                return;
            for (FILE *const to : {stdout, csv})
                if (to) {
                    fprintf(to, "%s,%s,%d,%.5f,%.5f,%.2g,\"%s\"\n", c.name.c_str(), way, forced.rows, r.time.sustained,
                            r.planned_ms, r.error, r.text);
                    fflush(to);
                }
            failed += !(r.error < TOLERANCE);
        };
        print("chosen", LW_CONV2D_ALGORITHM_SEPARABLE, {});
        print("passes", LW_CONV2D_ALGORITHM_SEPARABLE, {0, 0, 0, true});
        print("tiles", LW_CONV2D_ALGORITHM_TILES, {});
        for (const int side : {15, 23, 31})             /* a smaller kernel is padded, so that its strips take as long */
            for (const int rows : {2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128})
                if (c.image.kernel_rows == side && rows < c.image.rows / 2)
                    print("strips", LW_CONV2D_ALGORITHM_SEPARABLE, {0, side, rows, false});
        release_pool(&p);
    }
    return failed > 0;
}

static int run_batches(FILE *csv, const char *text)
{
    for (const Case &c : wanted_cases(text)) {
        if (c.image.kernel_rows < 63)
            continue;
        Pool p = make_pool(c);
        for (const int batch : {1, 2, 3, 4, 6, 8, 16, 1000}) {
            Result r;
            measure(c, &p, LW_CONV2D_ALGORITHM_FULL, &r, {batch});
            for (FILE *const to : {stdout, csv})
                if (to)
                    fprintf(to, "%s,batch %d,%.4f,%.1f,%.2g,\"%s\"\n", c.name.c_str(), batch, r.time.sustained,
                            rate(c, r.time.sustained), r.error, r.text);
        }
        release_pool(&p);
    }
    return 0;
}

static int run_check()
{
    int failed = 0, n = 0;
    for (const auto &kernel : {std::pair<int, int>{1, 1}, {7, 7}, {4, 9}, {11, 3}, {31, 30}, {63, 64}, {255, 100},
                               {300, 301}, {1000, 9}}) {
        Case c = square(1000, kernel.first, kernel.second);
        c.image.columns = 1501;
        Pool p = make_pool(c);
        for (int a = LW_CONV2D_ALGORITHM_AUTO; a <= LW_CONV2D_ALGORITHM_PADDED; ++a) {
            Result r;
            if (!measure(c, &p, a, &r))
                continue;
            const bool good = r.error < TOLERANCE;
            printf("%s %dx%d %s: error %.2g%s\n", algorithms[a], kernel.first, kernel.second, r.text, r.error,
                   good ? "" : "   WRONG");
            failed += !good;
            ++n;
        }
        release_pool(&p);
    }
    printf("%d checks, %d failed\n", n, failed);
    return failed > 0;
}

static int run_one(const char *name, const char *algorithm, int n)
{
    int chosen = 0;
    while (chosen < 5 && strcmp(algorithms[chosen], algorithm) != 0)
        ++chosen;
    for (const Case &c : all_cases()) {
        if (c.name != name)
            continue;
        Pool p = make_pool(c);
        Ours ours;
        if (!prepare(c, p, chosen, &ours))
            return 1;
        for (int i = 0; i < n; ++i)
            convolve(c, ours, p, i);
        CHECK_CUDA(cudaStreamSynchronize(p.stream));
        printf("%s: %s\n", name, ours.text);
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "check")
        return run_check();
    if (mode == "one" && argc == 5)
        return run_one(argv[2], argv[3], atoi(argv[4]));
    if (mode != "table" && mode != "methods" && mode != "batches" && mode != "padded" && mode != "lengths" && mode != "strips") {
        fprintf(stderr, "usage: bench_conv2d_gpu table|methods|batches|padded|lengths|strips [csv] [text] [rival.so...] | check | "
                        "one CASE ALGORITHM N\n");
        return 2;
    }
    FILE *const csv = argc > 2 && argv[2][0] ? fopen(argv[2], "w") : nullptr;
    const char *const text = argc > 3 ? argv[3] : "";
    if (argc > 4)
        rivals = rival_libraries(rivals, argc - 4, argv + 4);
    const int failed = mode == "table"     ? run_table(csv, text)
                       : mode == "methods" ? run_methods(csv, text)
                       : mode == "padded"  ? run_padded(csv, text)
                       : mode == "strips"  ? run_strips(csv, text)
                       : mode == "lengths" ? run_lengths(csv)
                                           : run_batches(csv, text);
    if (csv)
        fclose(csv);
    return failed;
}
