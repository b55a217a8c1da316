/* instances.cuh - the overlap-save kernels that are compiled, in groups.
 *
 * CMake makes a source of each group, which defines LW_INSTANCES_<group> and includes this file, so that the groups compile
 * side by side. A new group also needs its name in CMakeLists.txt, launch.h and gpu/ols/choose.cu. */
#include "gpu/ols/kernels/instance.cuh"

#define LW_OLS_GROUP(name, ...)                       \
    static const OlsKernel list[] = {__VA_ARGS__};    \
    const OlsKernels lw_ols_##name = {list, (int)(sizeof(list) / sizeof(list[0]))}

#if defined(LW_INSTANCES_f256)        /* single precision, 256 points: two segments a warp */
LW_OLS_GROUP(f256,
    LW_OLS_TIME_FAST(float, 16, 1, 20, -1));

#elif defined(LW_INSTANCES_f512)        /* single precision, 512 points: a warp a segment */
LW_OLS_GROUP(f512,
    LW_OLS_TIME_FAST(float, 16, 2, 20, -1));

#elif defined(LW_INSTANCES_f1024)        /* single precision, 1024 points: a warp a segment, two where there are few */
LW_OLS_GROUP(f1024,
    LW_OLS_TIME_FAST(float, 32, 1, 12, 64),
    LW_OLS_TIME_FAST(float, 32, 1, 12, 128),
    LW_OLS_FINDING(float, 32, 1, 12, 256),
    LW_OLS_FINDING(float, 32, 1, 12, -1),
    LW_OLS_TIME_FAST(float, 16, 4, 8, 256),
    LW_OLS_TIME_FAST(float, 16, 4, 8, -1),
    LW_OLS_PIPELINED(32, 16, 64),
    LW_OLS_PIPELINED(32, 16, 256),
    LW_OLS_PIPELINED(32, 16, -1));

#elif defined(LW_INSTANCES_f2048)        /* single precision, 2048 points: two warps a segment, four where there are few */
LW_OLS_GROUP(f2048,
    LW_OLS_TIME_FAST(float, 32, 2, 6, 256),
    LW_OLS_TIME_FAST(float, 32, 2, 6, 512),
    LW_OLS_FINDING(float, 32, 2, 6, -1),
    LW_OLS_TIME_FAST(float, 16, 8, 4, -1));

#elif defined(LW_INSTANCES_f4096)        /* single precision, 4096 points: four warps a segment */
LW_OLS_GROUP(f4096,
    LW_OLS_TIME_FAST(float, 32, 4, 3, 512),
    LW_OLS_TIME_FAST(float, 32, 4, 3, 1024),
    LW_OLS_FINDING(float, 32, 4, 3, -1));

#elif defined(LW_INSTANCES_f8192)        /* single precision, 8192 points: eight warps a segment */
LW_OLS_GROUP(f8192,
    LW_OLS_TIME_FAST(float, 32, 8, 1, 2048),
    LW_OLS_TIME_FAST(float, 32, 8, 1, 4096),
    LW_OLS_FINDING(float, 32, 8, 1, -1));

#elif defined(LW_INSTANCES_f12288)        /* single precision, 12288 points: twelve warps a segment */
LW_OLS_GROUP(f12288,
    LW_OLS_DECOUPLED(1, 2048),
    LW_OLS_DECOUPLED(1, 4096),
    LW_OLS_DECOUPLED(1, -1));

#elif defined(LW_INSTANCES_f24576)        /* single precision, 24576 points: twelve warps in each of two blocks a segment */
LW_OLS_GROUP(f24576,
    LW_OLS_DECOUPLED(2, 8192),
    LW_OLS_DECOUPLED(2, -1));

#elif defined(LW_INSTANCES_d256)        /* double precision, 256 points */
LW_OLS_GROUP(d256,
    LW_OLS_TIME_FAST(double, 16, 1, 8, -1));

#elif defined(LW_INSTANCES_d512)        /* double precision, 512 points */
LW_OLS_GROUP(d512,
    LW_OLS_TIME_FAST(double, 16, 2, 8, -1));

#elif defined(LW_INSTANCES_d1024)        /* double precision, 1024 points */
LW_OLS_GROUP(d1024,
    LW_OLS_FINDING(double, 16, 4, 4, -1));

#elif defined(LW_INSTANCES_d2048)        /* double precision, 2048 points */
LW_OLS_GROUP(d2048,
    LW_OLS_TIME_FAST(double, 16, 8, 2, -1));

#elif defined(LW_INSTANCES_d4096)        /* double precision, 4096 points */
LW_OLS_GROUP(d4096,
    LW_OLS_FINDING(double, 16, 16, 1, -1));

#elif defined(LW_INSTANCES_time_slow_f)        /* time slow, single precision */
LW_OLS_GROUP(time_slow_f,
    LW_OLS_FINDING_CHANNELS(float, 32, 1, 4, 3),
    LW_OLS_TIME_SLOW(float, 32, 1, 8, 2, false),
    ols_interleaved_kernel<32, 16, 1, 256, false>(),
    ols_interleaved_kernel<32, 16, 1, -1, false>(),
    ols_interleaved_kernel<32, 8, 2, 256, false>(),
    ols_interleaved_kernel<32, 8, 2, -1, false>(),
    LW_OLS_ABREAST(1, 16, false, 256),
    LW_OLS_ABREAST(1, 16, false, -1),
    LW_OLS_ABREAST(1, 16, true, 256),
    LW_OLS_ABREAST(1, 16, true, -1),
    LW_OLS_ABREAST(2, 8, false, 1024),
    LW_OLS_ABREAST(2, 8, false, -1),
    LW_OLS_ABREAST(2, 8, true, 1024),
    LW_OLS_ABREAST(2, 8, true, -1),
    LW_OLS_FINDING_CHANNELS(float, 32, 4, 2, 1),
    LW_OLS_FINDING_CHANNELS(float, 32, 8, 1, 1));

#elif defined(LW_INSTANCES_time_slow_d)        /* time slow, double precision */
LW_OLS_GROUP(time_slow_d,
    LW_OLS_FINDING_CHANNELS(double, 16, 4, 2, 2),
    LW_OLS_FINDING_CHANNELS(double, 16, 16, 1, 1));

#elif defined(LW_INSTANCES_post_f)        /* something made of the series, single precision, time fast */
LW_OLS_GROUP(post_f,
    LW_OLS_TIME_FAST_POST(float, 32, 1, 12),
    LW_OLS_TIME_FAST_POST(float, 32, 2, 6),
    LW_OLS_TIME_FAST_POST(float, 32, 4, 3));

#elif defined(LW_INSTANCES_post_f8192)        /* something made of the series, single precision, time fast, 8192 points */
LW_OLS_GROUP(post_f8192,
    LW_OLS_TIME_FAST_POST(float, 32, 8, 1));

#elif defined(LW_INSTANCES_post_d)        /* something made of the series, double precision, time fast */
LW_OLS_GROUP(post_d,
    LW_OLS_TIME_FAST_POST(double, 16, 4, 4),
    LW_OLS_TIME_FAST_POST(double, 16, 16, 1));

#elif defined(LW_INSTANCES_post_time_slow_f)        /* something made of the series, single precision, time slow */
LW_OLS_GROUP(post_time_slow_f,
    LW_OLS_TIME_SLOW_POST(float, 32, 1, 4, 2),
    LW_OLS_TIME_SLOW_POST(float, 32, 4, 2, 1),
    LW_OLS_TIME_SLOW_POST(float, 32, 8, 1, 1));

#elif defined(LW_INSTANCES_post_time_slow_d)        /* something made of the series, double precision, time slow */
LW_OLS_GROUP(post_time_slow_d,
    LW_OLS_TIME_SLOW_POST(double, 16, 4, 2, 2),
    LW_OLS_TIME_SLOW_POST(double, 16, 16, 1, 1));

#elif defined(LW_INSTANCES_thinned_f)        /* decimation, single precision, time fast */
LW_OLS_GROUP(thinned_f,
    LW_OLS_THINNED(float, 32, 1, 12),
    LW_OLS_THINNED(float, 32, 2, 6),
    LW_OLS_THINNED(float, 32, 4, 3),
    LW_OLS_THINNED(float, 32, 8, 1));

#elif defined(LW_INSTANCES_thinned_d)        /* the same, double precision */
LW_OLS_GROUP(thinned_d,
    LW_OLS_THINNED(double, 16, 4, 4),
    LW_OLS_THINNED(double, 16, 8, 2),
    LW_OLS_THINNED(double, 16, 16, 1));

#elif defined(LW_INSTANCES_thinned_time_slow_f)        /* decimation, single precision, time slow */
LW_OLS_GROUP(thinned_time_slow_f,
    LW_OLS_THINNED_CHANNELS(float, 32, 1, 4, 3, true),
    LW_OLS_THINNED_CHANNELS(float, 32, 1, 8, 2, false),
    ols_interleaved_kernel<32, 16, 1, -1, true>(),
    ols_interleaved_kernel<32, 8, 2, -1, true>(),
    LW_OLS_THINNED_CHANNELS(float, 32, 4, 2, 1, true),
    LW_OLS_THINNED_CHANNELS(float, 32, 8, 1, 1, true));

#elif defined(LW_INSTANCES_thinned_time_slow_d)        /* the same, double precision */
LW_OLS_GROUP(thinned_time_slow_d,
    LW_OLS_THINNED_CHANNELS(double, 16, 4, 2, 2, true),
    LW_OLS_THINNED_CHANNELS(double, 16, 16, 1, 1, true));

#elif defined(LW_INSTANCES_folded_f)        /* decimation by folding, single precision, time fast */
LW_OLS_GROUP(folded_f,
    LW_OLS_FOLDED(1, 2, 16, false),
    LW_OLS_FOLDED(1, 4, 16, false),
    LW_OLS_FOLDED(1, 2, 12, true),
    LW_OLS_FOLDED(1, 4, 12, true),
    LW_OLS_FOLDED(2, 2, 8, false),
    LW_OLS_FOLDED(2, 4, 8, false),
    LW_OLS_FOLDED(2, 8, 8, false),
    LW_OLS_FOLDED(2, 2, 6, true),
    LW_OLS_FOLDED(2, 4, 6, true),
    LW_OLS_FOLDED(2, 8, 6, true));

#elif defined(LW_INSTANCES_folded_f4096)        /* the same, 4096 points and more */
LW_OLS_GROUP(folded_f4096,
    LW_OLS_FOLDED(4, 2, 3, true),
    LW_OLS_FOLDED(4, 4, 3, true),
    LW_OLS_FOLDED(4, 8, 3, true),
    LW_OLS_FOLDED(8, 2, 1, true),
    LW_OLS_FOLDED(8, 4, 1, true),
    LW_OLS_FOLDED(8, 8, 1, true));

#else
#error "no group of kernels is chosen: define LW_INSTANCES_<group>"
#endif
