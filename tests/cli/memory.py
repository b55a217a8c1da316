"""The peak memory of every rank stays within the figure of `lapwing plan`, for every job.

    memory.py LAPWING MPIEXEC

The program prints its peak at the end (the kernel's count VmHWM); the plan predicts it."""

import re
import subprocess
import sys
import tempfile

UNITS = {"B": 1, "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}
ROUNDED = 1.006                 # the plan and the peak are printed with three digits


def run(ranks, *arguments):
    return subprocess.run([MPIEXEC, "-np", str(ranks), LAPWING, *arguments], cwd=WORK, capture_output=True, text=True, timeout=100)


def said(text, pattern):
    found = re.search(pattern + r" *([0-9.]+) (\w+)", text, re.MULTILINE)
    return float(found[1]) * UNITS[found[2]] if found else float("nan")


def check(name, ranks, arguments, memory):
    """Compare plan and peak of one run. @return whether the peak is within the plan"""
    arguments = [*arguments, *(["--memory", memory] if memory else [])]
    planned = run(ranks, "plan", *arguments)
    done = run(ranks, *arguments, "--output", "out.h5", "--overwrite", "--verbose")
    plan, peak = said(planned.stdout, "^host memory"), said(done.stderr, "peak memory of a rank:")
    limit = said(planned.stdout, r"^host memory .* a rank, of")
    decoded = re.search(r"each decoded ([0-9.]+) times", planned.stdout)     # the line exists for compressed input
    good = planned.returncode == done.returncode == 0 and peak <= plan * ROUNDED and plan <= limit * ROUNDED
    good = good and (not decoded or float(decoded[1]) <= 3)     # at most as often as the largest number of ranks
    print(f"{'ok' if good else 'FAILED'}: {name}, {ranks} ranks, --memory {memory}: plan {plan / 2 ** 20:.1f} MiB, "
          f"peak {peak / 2 ** 20:.1f} MiB{', decoded ' + decoded[1] if decoded else ''} {'' if good else planned.stderr + done.stderr}", flush=True)
    return good


def refused(name, ranks, arguments, memory):
    """Too little memory is an error of configuration, for the plan and for the run."""
    arguments = [*arguments, "--memory", memory]
    codes = [run(ranks, "plan", *arguments).returncode, run(ranks, *arguments, "--output", "out.h5", "--overwrite").returncode]
    good = codes == [78, 78]
    print(f"{'ok' if good else 'FAILED'}: {name}, --memory {memory} is refused: {codes}", flush=True)
    return good


def synth(job, file, *options):
    done = run(1, "synth", job, "--output", file, "--overwrite", "--quiet", *options)
    assert done.returncode == 0, f"{file}: {done.returncode} {done.stderr}"


def make_inputs(_):
    synth("ols", "fast.h5", "--samples", "5M", "--channels", "3", "--type", "int16", "--taps", "2049", "--n-filters", "1")
    synth("ols", "slow.h5", "--samples", "300k", "--channels", "48", "--type", "int16", "--layout", "time-slow", "--n-filters", "2")
    synth("conv2d", "sky.h5", "--rows", "2500", "--columns", "2500")
    synth("sfft", "tones.h5", "--samples", "2^22", "--tones", "50")
    synth("sfft", "odd.h5", "--samples", "1000003", "--tones", "20")
    synth("sfft", "noise.h5", "--samples", "2^17", "--channels", "40", "--tones", "5", "--snr", "-20")


def ols(file, *more):
    return ["ols", "--input", f"{file}:/signal", "--filters", f"{file}:/filters", *more]


def sfft(file, sparsity, *more):
    return ["sfft", "--input", f"{file}:/signal", "--sparsity", sparsity, *more]


def cases():
    return [
        ("time fast", 1, ols("fast.h5"), "128M"),
        ("time fast", 2, ols("fast.h5"), None),
        ("time fast, channels", 2, ols("fast.h5", "--mode", "full", "--split", "channels"), "100M"),
        ("time slow", 2, ols("slow.h5"), "100M"),
        ("time slow, checksums", 2, ols("slow.h5", "--checksum"), "100M"),
        ("every third channel", 2, ols("slow.h5", "--channels", "0:48:3"), "150M"),
        ("image, noise map", 2, ["conv2d", "--input", "sky.h5:/image", "--kernel", "sky.h5:/psf", "--noise-map", "sky.h5:/image"], "120M"),
        ("image, checksums", 2, ["conv2d", "--input", "sky.h5:/image", "--kernel", "sky.h5:/psf", "--checksum"], "120M"),
        ("sparse", 2, sfft("tones.h5", "50"), "150M"),
        ("many lines", 2, sfft("tones.h5", "5000"), None),
        ("dense", 1, sfft("tones.h5", "1000", "--algorithm", "dense"), "180M"),
        ("dense, a large prime factor", 1, sfft("odd.h5", "100k", "--algorithm", "dense"), "250M"),
        ("dense, many lines", 1, sfft("noise.h5", "60k"), "150M"),
        ("sparse, then dense", 2, sfft("noise.h5", "500"), None),
        ("sfft2", 2, sfft("tones.h5", "20", "--algorithm", "sfft2", "--fallback", "partial"), "200M"),
    ]


def test():
    results = [check(*case) for case in cases()]
    results.append(refused("dense", 1, sfft("tones.h5", "1000", "--algorithm", "dense"), "100M"))
    results.append(refused("dense, many lines", 1, sfft("noise.h5", "60k"), "100M"))
    return all(results)


def main(test, make):
    """Make the inputs in a temporary folder, and run the test there."""
    global LAPWING, MPIEXEC, WORK
    LAPWING, MPIEXEC = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as WORK:
        make(WORK)
        return 0 if test() else 1


if __name__ == "__main__":
    sys.exit(main(test, make_inputs))
