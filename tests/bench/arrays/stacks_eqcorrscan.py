"""EQcorrscan's correlations by FFTW on one core, stacked, in the case of stacks_cpu.c: correlations per second of processor time.

    python stacks_eqcorrscan.py [SAMPLES [TEMPLATES [CHANNELS [TAPS]]]]
"""
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import numpy
from eqcorrscan.utils.correlate import fftw_multi_normxcorr

REPEATS = 3


def main():
    n_samples, n_templates, n_channels, n_taps = [*map(int, sys.argv[1:]), *(1 << 19, 100, 24, 600)[len(sys.argv) - 1:]]
    random = numpy.random.default_rng(1)
    names = [str(c) for c in range(n_channels)]
    samples = {name: random.normal(size=n_samples).astype(numpy.float32) for name in names}
    templates = {name: random.normal(size=(n_templates, n_taps)).astype(numpy.float32) for name in names}
    delays = {name: [((t * n_channels + c) * 7919 + 13) % 3000 for t in range(n_templates)] for c, name in enumerate(names)}
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        fftw_multi_normxcorr(template_array=templates, stream_array=samples, pad_array=delays, seed_ids=names, cores_inner=1,
                             cores_outer=1)
        times.append(time.process_time() - begin)
    taken = sorted(times)[REPEATS // 2]
    print(f"EQcorrscan, fftw, less means {taken:14.3f} s  {1e-6 * n_samples * n_templates * n_channels / taken:7.1f} M/s")


main()
