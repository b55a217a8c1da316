/* cufftdx.hpp - the part of NVIDIA's device library cuFFTDx that the rivals use, for the emulation: transforms of a block, by FFTW
 * in double. Thread t holds points t + i T. A value lies in shared memory between two barriers, as with the library. */
#ifndef CUFFTDX_HPP
#define CUFFTDX_HPP

#include <fftw3.h>

namespace cufftdx {

enum class fft_type { c2c, r2c, c2r };
enum class fft_direction { forward, inverse };
enum class complex_layout { natural, packed };
enum class real_mode { normal, folded };

template <int N, int POINTS, int FFTS, fft_type TYPE, fft_direction DIRECTION, complex_layout LAYOUT> struct Transform {
    static constexpr bool IS_REAL = TYPE != fft_type::c2c, IS_NATURAL = IS_REAL && LAYOUT == complex_layout::natural;
    static constexpr int LENGTH = IS_REAL ? N / 2 : N, EACH = IS_REAL ? POINTS / 2 : POINTS, T = LENGTH / (EACH > 0 ? EACH : 1);
    static constexpr int stride = T, storage_size = EACH + IS_NATURAL;
    static constexpr int input_ept = EACH + (IS_NATURAL && TYPE == fft_type::c2r);
    static constexpr int output_ept = EACH + (IS_NATURAL && TYPE == fft_type::r2c);
    static constexpr int shared_memory_size = 16 * ((LENGTH * 8 * FFTS + 8 * FFTS + 15) / 16);

    /* z[k] = conj(z[N - k]) above the middle, from what is held of a real signal's spectrum */
    static void transform(float2 *held)
    {
        static fftw_complex z[N];
        const auto bin = [&](int k) { return k == LENGTH ? (IS_NATURAL ? held[LENGTH] : float2{held[0].y, 0}) : held[k]; };
        const auto part = [&](int i) -> float & { return i % 2 ? held[i / 2].y : held[i / 2].x; };
        for (int i = 0; i < N; ++i) {
            z[i][0] = TYPE == fft_type::c2c ? held[i].x : TYPE == fft_type::r2c ? part(i) : i <= LENGTH ? bin(i).x : bin(N - i).x;
            z[i][1] = TYPE == fft_type::c2c ? held[i].y : TYPE == fft_type::r2c ? 0 : i <= LENGTH ? bin(i).y : -bin(N - i).y;
            if (TYPE == fft_type::c2r && i % LENGTH == 0)
                z[i][1] = 0;
        }
        const bool forward = TYPE == fft_type::r2c || (TYPE == fft_type::c2c && DIRECTION == fft_direction::forward);
        static const fftw_plan plan = fftw_plan_dft_1d(N, z, z, forward ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE);
        fftw_execute(plan);
        for (int i = 0; i < (TYPE == fft_type::c2r ? N : LENGTH); ++i)
            if (TYPE == fft_type::c2r)
                part(i) = (float)z[i][0];
            else
                held[i] = {(float)z[i][0], (float)z[i][1]};
        if (TYPE == fft_type::r2c && IS_NATURAL)
            held[LENGTH] = {(float)z[LENGTH][0], 0};
        else if (TYPE == fft_type::r2c)
            held[0].y = (float)z[LENGTH][0];
    }

    void execute(float2 *d, void *shared) const
    {
        float2 *const held = (float2 *)shared + threadIdx.y * (LENGTH + 1);
        const int t = (int)threadIdx.x;
        __syncthreads();
        for (int i = 0; i < EACH; ++i)
            held[t + i * T] = d[i];
        if (IS_NATURAL && TYPE == fft_type::c2r && t == 0)
            held[LENGTH] = d[EACH];
        __syncthreads();
        if (t == 0)
            transform(held);
        __syncthreads();
        for (int i = 0; i < EACH; ++i)
            d[i] = held[t + i * T];
        if (IS_NATURAL && TYPE == fft_type::r2c && t == 0)
            d[EACH] = held[LENGTH];
        __syncthreads();
    }
};

/* What describes a transform, added up. */
template <int N, int POINTS, int FFTS, fft_type TYPE, fft_direction DIRECTION, complex_layout LAYOUT>
using Sum = Transform<N, POINTS, FFTS, TYPE, DIRECTION, LAYOUT>;
template <class> struct Precision {};
template <int> struct SM {};
struct Block {};
template <int> struct FFTsPerBlock {};
template <int> struct Size {};
template <fft_type> struct Type {};
template <int> struct ElementsPerThread {};
template <fft_direction> struct Direction {};
template <complex_layout, real_mode> struct RealFFTOptions {};

using Nothing = Sum<2, 2, 1, fft_type::c2c, fft_direction::forward, complex_layout::packed>;
#define TRANSFORM_ template <int N, int P, int F, fft_type T, fft_direction D, complex_layout L
template <class R, int A> Nothing operator+(Precision<R>, SM<A>);
TRANSFORM_> Sum<N, P, F, T, D, L> operator+(Sum<N, P, F, T, D, L>, Block);
TRANSFORM_, int X> Sum<N, P, X, T, D, L> operator+(Sum<N, P, F, T, D, L>, FFTsPerBlock<X>);
TRANSFORM_, int X> Sum<X, P, F, T, D, L> operator+(Sum<N, P, F, T, D, L>, Size<X>);
TRANSFORM_, fft_type X> Sum<N, P, F, X, D, L> operator+(Sum<N, P, F, T, D, L>, Type<X>);
TRANSFORM_, int X> Sum<N, X, F, T, D, L> operator+(Sum<N, P, F, T, D, L>, ElementsPerThread<X>);
TRANSFORM_, fft_direction X> Sum<N, P, F, T, X, L> operator+(Sum<N, P, F, T, D, L>, Direction<X>);
TRANSFORM_, complex_layout X, real_mode M> Sum<N, P, F, T, D, X> operator+(Sum<N, P, F, T, D, L>, RealFFTOptions<X, M>);
#undef TRANSFORM_

}  // namespace cufftdx

#endif
