"""The cpu engine's 2-D convolution beside tiles through FFTW, scipy.signal.oaconvolve and OpenCV's filter2D, all on one core, in
turn.

    conv2d_rivals.py BENCH_CONV2D_CPU [SIZE]        needs Debian's python3-scipy and python3-opencv

Prints Mpixel/s by kernel and precision as CSV. The time is the processor time of the fastest of several runs of each, since other
work on the machine disturbs elapsed time. The kernel is noise, so that no method can make use of its shape. Pixels beyond the
image are zero, and there are as many outputs as pixels."""

import subprocess
import sys
import time

import cv2
import numpy as np
import scipy
from scipy.signal import oaconvolve

bench, size = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4096
KERNELS = (7, 15, 31, 63, 127, 255)
RUNS = 5
random = np.random.default_rng(1)


def by_opencv(image, taps):
    """filter2D correlates; for kernels larger than 11 x 11 it uses transforms itself."""
    return cv2.filter2D(image, -1, taps[::-1, ::-1].copy(), borderType=cv2.BORDER_CONSTANT)


def by_scipy(image, taps):
    return oaconvolve(image, taps, mode="same")


def seconds_of(convolve, image, taps):
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        convolve(image, taps)
        best = min(best, time.process_time() - start)
    return best


def bench_seconds(precision):
    """Seconds by kernel: of --algorithm auto, and of FFTW."""
    lines = subprocess.run([bench, str(size), precision], check=True, capture_output=True, text=True).stdout.splitlines()
    fields = [line.split() for line in lines if not line.startswith("#")]
    return lines[0], [{int(field[0]): float(field[2]) for field in fields if field[1] == name} for name in ("auto", "fftw")]


def check_the_same():
    image, taps = random.standard_normal((99, 120)), random.standard_normal((7, 7))
    assert np.allclose(by_scipy(image, taps), by_opencv(image, taps), atol=1e-10), "not the same convolution"


def main():
    cv2.setNumThreads(1)
    check_the_same()
    print("program,precision,kernel,mpixel_s")
    for precision, dtype in (("single", np.float32), ("double", np.float64)):
        about, (ours, fftw) = bench_seconds(precision)
        image = random.standard_normal((size, size)).astype(dtype)
        kernels = {k: random.standard_normal((k, k)).astype(dtype) for k in KERNELS}
        taken = {"lapwing": ours, "FFTW": fftw}
        for name, convolve in (("oaconvolve", by_scipy), ("filter2D", by_opencv)):
            taken[name] = {k: seconds_of(convolve, image, kernels[k]) for k in KERNELS}
        for name, seconds in taken.items():
            for k in KERNELS:
                print(f"{name},{precision},{k} x {k},{size * size / seconds[k] / 1e6:.0f}")
        print(about, f"scipy {scipy.__version__}, OpenCV {cv2.__version__}", file=sys.stderr)


main()
