"""The cpu engine's 2-D convolution beside scipy.signal.oaconvolve, both on one core, in turn.

    conv2d_scipy.py BENCH_CONV2D_CPU [SIZE]

Prints a table of Mpixel/s by kernel and precision: processor time of the best of several runs of each, since other work on
the machine would disturb the time on the clock. The kernel is noise, so that no method can make use of its shape."""

import subprocess
import sys
import time

import numpy as np
from scipy.signal import oaconvolve

bench, size = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4096
KERNELS = (7, 15, 31, 63, 127, 255)
RUNS = 5
random = np.random.default_rng(1)


def scipy_seconds(image, taps):
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        oaconvolve(image, taps, mode="same")
        best = min(best, time.process_time() - start)
    return best


def lapwing_seconds(precision):
    """By kernel, what --algorithm auto takes."""
    lines = subprocess.run([bench, str(size), precision], check=True, capture_output=True, text=True).stdout.splitlines()
    fields = [line.split() for line in lines if not line.startswith("#")]
    return lines[0], {int(field[0]): float(field[2]) for field in fields if field[1] == "auto"}


print(f"| {size} x {size}, one core, Mpixel/s | " + " | ".join(f"{k} x {k}" for k in KERNELS) + " |")
print("|---" * (len(KERNELS) + 1) + "|")
for precision, dtype in (("single", np.float32), ("double", np.float64)):
    about, ours = lapwing_seconds(precision)
    image = random.standard_normal((size, size)).astype(dtype)
    theirs = {k: scipy_seconds(image, random.standard_normal((k, k)).astype(dtype)) for k in KERNELS}
    rate = {name: [size * size / seconds[k] / 1e6 for k in KERNELS] for name, seconds in (("ours", ours), ("theirs", theirs))}
    print(f"| lapwing, {precision} | " + " | ".join(f"{value:.0f}" for value in rate["ours"]) + " |")
    print(f"| oaconvolve, {precision} | " + " | ".join(f"{value:.0f}" for value in rate["theirs"]) + " |")
    print("| ratio | " + " | ".join(f"{a / b:.1f}" for a, b in zip(rate["ours"], rate["theirs"])) + " |")
    print(about, file=sys.stderr)
