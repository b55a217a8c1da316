/* spectrum.cuh - the spectrum of a kernel by the definition, in double precision, once per operation:
 *
 *     D[m][kx] = sum_n h[m][n] exp(-2 pi i (n + delay) kx / C)
 *     K[i] = sum_m D[m][kx] exp(-2 pi i m (ky + q / 4) / R) / (R C),    (ky, kx) the bin at place i
 *
 * One thread computes one value; the threads of a warp read the same taps, or values side by side. */
#pragma once

#include "gpu/device/fft.cuh"
#include "gpu/host/arena.h"

/* The sums' parameters, and the arrays in the set-up memory. */
struct KernelSpectrum {
    const double *taps;             /* [kernel_rows][kernel_columns] (x 2 if complex) */
    bool is_complex;
    int64_t kernel_rows, kernel_columns;
    int rows, columns;              /* R, C */
    int delay;                      /* columns of zeros before the kernel's first */
    int quarters;                   /* q: 0, or 3 for the right-angle transform of R complex points, 2 R real rows */
    double2 *row_roots, *column_roots;      /* exp(-2 pi i k / (4 R)), k < 4 R; exp(-2 pi i k / C), k < C */
    double2 *transformed;           /* D */
};

/* Row and column of a bin. */
struct Bin2d {
    int row, column;
};

static __global__ void conv2d_roots(double2 *roots, int n)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n)
        return;
    double s, c;
    sincospi(-2.0 * k / n, &s, &c);
    roots[k] = {c, s};
}

/* (i + k) mod n, for i, k < n. */
LW_DEVICE int next_root(int i, int k, int n) { return i + k < n ? i + k : i + k - n; }

static __global__ void conv2d_transform_rows(const KernelSpectrum s)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, m = i / s.columns, k = i % s.columns;
    if (m >= s.kernel_rows)
        return;
    double2 sum = {0, 0};
    int root = (int)(s.delay * k % s.columns);      /* (n + delay) k mod C */
    for (int64_t n = 0; n < s.kernel_columns; ++n, root = next_root(root, (int)k, s.columns)) {
        const int64_t at = m * s.kernel_columns + n;
        const double2 h = s.is_complex ? ((const double2 *)s.taps)[at] : double2{s.taps[at], 0};
        const double2 p = product(h, s.column_roots[root]);
        sum = {sum.x + p.x, sum.y + p.y};
    }
    s.transformed[i] = sum;
}

/* order.bin(i) is the bin at place i. */
template <class Order, class C>
__global__ void conv2d_transform_columns(const KernelSpectrum s, const Order order, C *spectrum)
{
    using Real = decltype(C::x);
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (int64_t)s.rows * s.columns)
        return;
    const Bin2d bin = order.bin(i);
    double2 sum = {0, 0};
    const int step = 4 * bin.row + s.quarters;
    int root = 0;                   /* m step mod 4 R */
    for (int64_t m = 0; m < s.kernel_rows; ++m, root = next_root(root, step, 4 * s.rows)) {
        const double2 p = product(s.transformed[m * s.columns + bin.column], s.row_roots[root]);
        sum = {sum.x + p.x, sum.y + p.y};
    }
    const double scale = 1.0 / s.rows / s.columns;
    spectrum[i] = {(Real)(sum.x * scale), (Real)(sum.y * scale)};
}

/* Set the arrays in the set-up memory; return its bytes. */
static inline int64_t lay_out_spectrum(KernelSpectrum &s, void *setup)
{
    struct lw_arena arena = {static_cast<char *>(setup), 0};
    s.row_roots = static_cast<double2 *>(lw_arena_take(&arena, 4 * s.rows * (int64_t)sizeof(double2)));
    s.column_roots = static_cast<double2 *>(lw_arena_take(&arena, s.columns * (int64_t)sizeof(double2)));
    s.transformed = static_cast<double2 *>(lw_arena_take(&arena, s.kernel_rows * s.columns * (int64_t)sizeof(double2)));
    return arena.used;
}

template <class Order, class C>
static cudaError_t fill_spectrum(const KernelSpectrum &s, const Order &order, C *spectrum, cudaStream_t stream)
{
    const int threads = 128;
    const auto blocks = [=](int64_t n) { return static_cast<unsigned>((n + threads - 1) / threads); };
    conv2d_roots<<<blocks(4 * s.rows), threads, 0, stream>>>(s.row_roots, 4 * s.rows);
    conv2d_roots<<<blocks(s.columns), threads, 0, stream>>>(s.column_roots, s.columns);
    conv2d_transform_rows<<<blocks(s.kernel_rows * s.columns), threads, 0, stream>>>(s);
    conv2d_transform_columns<Order, C><<<blocks((int64_t)s.rows * s.columns), threads, 0, stream>>>(s, order, spectrum);
    return cudaGetLastError();
}
