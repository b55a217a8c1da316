#!/usr/bin/env python3
"""ols_errors.py OUT.csv LAPWING [EMULATED_LAPWING] - the error of filters in both precisions, on the CPU engine. With the program
of tests/gpu/emulation it is also that of the CUDA engine's kernels, computed on the CPU.

One channel of noise, complex or real, goes through one filter of noise, by `lapwing ols --mode valid` from file to file; samples
and taps are exact in float32. error: relative L2 over 2048 random outputs, against sums by definition in extended precision (64
bits). fft_error: the same for one FFT over the whole signal in the same precision, by scipy. No times are measured."""
import csv
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import scipy.fft

TAPS = (5, 17, 33, 65, 129, 257, 513, 1025, 2049, 4097, 8193, 16385, 65537)
ENGINES = ("cpu", "cuda, emulated")
N_OUTPUTS, N_CHECKED = 2 ** 18, 2048


def noise(random, n, is_complex):
    """Noise as float32 or complex64."""
    values = random.uniform(-1, 1, (n, 2)).astype(np.float32)
    return values.view(np.complex64)[:, 0] if is_complex else values[:, 0].copy()


def convolved(program, engine, precision, x, taps):
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "in.h5"), os.path.join(folder, "out.h5")
        with h5py.File(source, "w") as file:
            file["signal"], file["filters"] = x, taps[np.newaxis]
        subprocess.run([program, "ols", "--engine", engine, "--input", f"{source}:/signal", "--filters", f"{source}:/filters",
                        "--mode", "valid", "--precision", precision, "--output", out, "--quiet"], check=True)
        with h5py.File(out) as file:
            return file["filtered"][...].reshape(-1)


def by_one_fft(precision, x, taps):
    wide = {"single": (np.float32, np.complex64), "double": (np.float64, np.complex128)}[precision][int(np.iscomplexobj(x))]
    n = scipy.fft.next_fast_len(len(x), real=not np.iscomplexobj(x))
    forward, inverse = (scipy.fft.fft, scipy.fft.ifft) if np.iscomplexobj(x) else (scipy.fft.rfft, scipy.fft.irfft)
    return inverse(forward(x.astype(wide), n) * forward(taps.astype(wide), n), n)[len(taps) - 1:len(x)]


def error(y, at, true):
    return float(np.sqrt((np.abs(y[at] - true) ** 2).sum() / (np.abs(true) ** 2).sum()))


def rows(name, program):
    """The rows of one engine."""
    random, n = np.random.default_rng(1), N_OUTPUTS
    for kind in ("c2c", "r2r"):
        for n_taps in TAPS:
            x, taps = noise(random, n + n_taps - 1, kind == "c2c"), noise(random, n_taps, kind == "c2c")
            wide = np.clongdouble if kind == "c2c" else np.longdouble
            at, turned = random.integers(0, n, N_CHECKED), taps[::-1].astype(wide)
            true = np.array([(x[i:i + n_taps].astype(wide) * turned).sum() for i in at])
            for precision in ("single", "double"):
                y = convolved(program, name.split(",")[0], precision, x, taps)
                yield [name, precision, kind, n, n_taps, f"{error(y, at, true):.3g}",
                       f"{error(by_one_fft(precision, x, taps), at, true):.3g}"]


def version(program):
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split("\n")[0]


def main(out, *programs):
    with open(out, "w", newline="") as file:
        for name, program in zip(ENGINES, programs):
            file.write(f"# {name}: {version(program)}\n")
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["engine", "precision", "case", "n", "taps", "error", "fft_error"])
        for name, program in zip(ENGINES, programs):
            for row in rows(name, program):
                table.writerow(row)
                file.flush()
    print(out)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
