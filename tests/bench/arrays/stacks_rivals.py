"""EQcorrscan's and fast_matched_filter's stacked correlations on one core, in the case of stacks_cpu.c, beside the whole program.

    python stacks_rivals.py LAPWING [SAMPLES [TEMPLATES [CHANNELS [TAPS]]]]

Rates are correlations per second of processor time: templates x channels x samples. A rival that cannot be imported is left out. Of
the program it is the whole of a run, from file to file, with the stacks as its product.
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
import h5py
import numpy

REPEATS = 3


def timed(work):
    """Return the median of the processor seconds of some calls, and the last result."""
    times = []
    for _ in range(REPEATS):
        before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        result = work()
        after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        times.append(sum(b.ru_utime - a.ru_utime + b.ru_stime - a.ru_stime for a, b in zip(before, after)))
    return sorted(times)[REPEATS // 2], result


def eqcorrscan(samples, templates, delays):
    from eqcorrscan.utils.correlate import fftw_multi_normxcorr
    names = [str(c) for c in range(len(samples))]
    streams, arrays = dict(zip(names, samples)), {name: templates[:, c].copy() for c, name in enumerate(names)}
    pads = {name: list(delays[:, c]) for c, name in enumerate(names)}
    return lambda: fftw_multi_normxcorr(template_array=arrays, stream_array=streams, pad_array=pads, seed_ids=names, cores_inner=1,
                                        cores_outer=1)[0]


def fast_matched_filter(samples, templates, delays):
    from fast_matched_filter import matched_filter
    weights = numpy.ones(delays.shape, "f4")
    return lambda: matched_filter(templates, delays.astype("i4"), weights, samples, 1, arch="cpu", check_zeros=False)


def program(lapwing, folder, samples, templates, delays, normalize):
    """Return a function that runs the program, and one that reads its stacks."""
    data, result = f"{folder}/data.h5", f"{folder}/{normalize}.h5"
    with h5py.File(data, "w") as file:
        file["x"], file["h"], file["d"] = samples, templates, delays
    command = [lapwing, "ols", "--input", f"{data}:/x", "--axis", "1", "--filters", f"{data}:/h", "--delays", f"{data}:/d", "--stack",
               "sum", "--normalize", normalize, "--correlate", "--mode", "valid", "--threads", "1", "--overwrite", "--output", result]

    def run():
        subprocess.run(command, check=True, capture_output=True)
        with h5py.File(result) as file:
            return file["filtered"][()]
    return run


def main():
    lapwing = sys.argv[1]
    n_samples, n_templates, n_channels, n_taps = [*map(int, sys.argv[2:]), *(1 << 19, 100, 24, 600)[len(sys.argv) - 2:]]
    random = numpy.random.default_rng(1)
    samples = random.normal(size=(n_channels, n_samples)).astype("f4")
    templates = random.normal(size=(n_templates, n_channels, n_taps)).astype("f4")
    delays = numpy.array([[((t * n_channels + c) * 7919 + 13) % 3000 for c in range(n_channels)] for t in range(n_templates)])
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for rival, normalize in ((eqcorrscan, "demeaned"), (fast_matched_filter, "energy")):
            mine, ours = timed(program(lapwing, folder, samples, templates, delays, normalize))
            print(f"lapwing, {normalize:24s} {mine:8.2f} s  {1e-6 * n_samples * n_templates * n_channels / mine:7.1f} M/s")
            try:
                taken, theirs = timed(rival(samples, templates, delays))
            except ImportError as error:
                print(f"{rival.__name__} is left out: {error}")
                continue
            n = min(ours.shape[1], theirs.shape[1])
            differences = numpy.abs(ours[:, :n] - theirs[:, :n])
            print(f"{rival.__name__:33s} {taken:8.2f} s  {1e-6 * n_samples * n_templates * n_channels / taken:7.1f} M/s; ratio "
                  f"{taken / mine:.1f}; differences: median {numpy.median(differences):.1e}, most {differences.max():.1e}")


main()
