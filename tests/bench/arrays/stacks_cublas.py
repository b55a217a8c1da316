"""Time the sums of spectra of bench_stacks_gpu as products of matrices by cuBLAS (through CuPy), a matrix for each bin.

    stacks_cublas.py [FILTERS [CHANNELS [TILES [BINS]]]]    by default 512 filters, 24 channels, 82 tiles, 8192 bins

Bins come first in memory, as cuBLAS wants. Transposing the spectra, which transforms write bin after bin, is not counted."""
import sys

import cupy

n_filters, n_channels, n_tiles, n_bins = [int(a) for a in sys.argv[1:]] + [512, 24, 82, 8192][len(sys.argv) - 1:]
random = cupy.random.default_rng(1)


def matrices(*shape):
    return random.standard_normal((n_bins, *shape, 2), dtype=cupy.float32).view(cupy.complex64)[..., 0]


filters, tiles = matrices(n_filters, n_channels), matrices(n_channels, n_tiles)
sums = cupy.empty((n_bins, n_filters, n_tiles), cupy.complex64)
times = []
for _ in range(5):
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    cupy.matmul(filters, tiles, out=sums)
    end.record()
    end.synchronize()
    times.append(cupy.cuda.get_elapsed_time(begin, end))
n = n_bins * n_filters * n_channels * n_tiles
print(f"cuBLAS: {n_bins} products [{n_filters} x {n_channels}] [{n_channels} x {n_tiles}]: {min(times[1:]):.3f} ms, "
      f"{8e-9 * n / min(times[1:]):.1f} TFLOP/s")
