"""The job sfft on the cuda engine against itself on any number of ranks, against the cpu engine and against numpy.fft, from file
to file; its fall-back; and its message if the GPU's memory is too small. With kernels emulated on the CPU (the program built for
that) no GPU is needed.

    sfft_cuda.py LAPWING MPIEXEC"""

import os
import sys
import tempfile

from tested import check, finish, lapwing

import h5py
import numpy as np

random = np.random.default_rng(11)


def run(ranks, engine, name, output, *options):
    lapwing(ranks, "sfft", "--engine", engine, "--share-gpu", "--input", name, "--output", output, "--overwrite", "--quiet",
         *options)
    with h5py.File(output) as file:
        return file["spectrum"][()], dict(file["spectrum"].attrs)


def bits(rows):
    return b"".join(rows[column].tobytes() for column in ("channel", "index", "re", "im"))


def agree(what, rows, expected, tolerance):
    check(np.array_equal(rows[["channel", "index"]], expected[["channel", "index"]]), f"{what}: other lines")
    if len(rows) == len(expected):
        error = np.hypot(rows["re"] - expected["re"], rows["im"] - expected["im"])
        check(np.all(error <= tolerance * expected["magnitude"].max()), f"{what}: values differ by {error.max()}")


def make_file(name, n, k):
    with h5py.File(name, "w") as file:
        for key, is_complex in (("complex", True), ("real", False)):
            spectrum = np.zeros((2, n), complex)
            for channel in spectrum:
                channel[random.choice(n // 2 - 1, k, False) + 1] = np.exp(2j * np.pi * random.random(k))
            x = np.fft.ifft(spectrum, axis=1) * n
            x = x if is_complex else x.real
            file[key] = (x + 0.01 * random.standard_normal(x.shape)).astype("<c8" if is_complex else "<f4")
        file["between"] = np.exp(2j * np.pi * 1234.5 * np.arange(n) / n)


def engines(name, output, k):
    """The bits are the same on any number of ranks, and the lines are the cpu engine's, by the sparse and by the dense
    transform."""
    for key in ("complex", "real"):
        options = (f"{name}:/{key}", output, "--axis", "1", "--sparsity", str(k), "--precision", "double")
        expected, _ = run(1, "cpu", *options)
        first = None
        for ranks in (1, 3):
            rows, about = run(ranks, "cuda", *options)
            first = first or bits(rows)
            check(bits(rows) == first, f"{key}: other bits on {ranks} ranks")
            check(about["algorithm"] == "sparse" and about["is_explained"] == 1, f"{key}: {about}")
        # Both engines end their fits when the remaining error is small beside the noise: with 4173 samples, seen through windows,
        # amplitudes of 60000 and (real) 30000 have a standard deviation of 27.
        agree(key, rows, expected, 3e-4)
        dense, about = run(2, "cuda", *options, "--algorithm", "dense")
        agree(f"{key}, dense", dense, run(1, "cpu", *options, "--algorithm", "dense")[0], 1e-12)
        check(about["algorithm"] == "dense" and 0 < about["residual"] < 0.01, f"{key}, dense: {about}")


def voting(name, output, k):
    """--algorithm sfft2: the same bits on any number of ranks, and the cpu engine's lines."""
    for key in ("complex", "real"):
        options = (f"{name}:/{key}", output, "--axis", "1", "--sparsity", str(k), "--algorithm", "sfft2")
        expected, _ = run(1, "cpu", *options)
        first = None
        for ranks in (1, 2):
            rows, about = run(ranks, "cuda", *options)
            first = first or bits(rows)
            check(bits(rows) == first, f"sfft2 {key}: other bits on {ranks} ranks")
            check(about["algorithm"] == "sfft2" and about["is_explained"] == 1, f"sfft2 {key}: {about}")
        agree(f"sfft2 {key}", rows, expected, 1e-12)
    source = ("sfft", "--engine", "cuda", "--input", f"{name}:/between", "--output", output, "--overwrite", "--sparsity", "4",
              "--algorithm", "sfft2")
    check("--gpu-memory" in lapwing(1, *source, "--gpu-memory", "1M", code=78).stderr, "sfft2 takes more GPU memory than it may")


def fall_back(name, output):
    """A tone between two bins is not sparse: all samples are transformed, or the run ends with an error."""
    rows, about = run(2, "cuda", f"{name}:/between", output, "--sparsity", "4", "--precision", "double")
    check(about["algorithm"] == "dense" and rows["index"].tolist() == [1233, 1234, 1235, 1236], f"between: {rows}, {about}")
    said = lapwing(1, "sfft", "--engine", "cuda", "--input", f"{name}:/between", "--output", output, "--overwrite", "--sparsity", "4",
                "--fallback", "error", code=65).stderr
    check("not sparse" in said, said)


def memory(name, output):
    """The required GPU memory is known before anything is computed."""
    source = ("--engine", "cuda", "--input", f"{name}:/between", "--output", output, "--overwrite", "--sparsity", "4")
    said = lapwing(1, "sfft", *source, "--gpu-memory", "1M", code=78).stderr
    check("--gpu-memory" in said and "GPU memory on each rank" in said, said)
    planned = lapwing(1, "plan", "sfft", *source).stdout
    check("device memory" in planned and "3 stages of" in planned, planned)


found = lapwing(1, "info").stdout
if not any(line.split()[:2] == ["engine", "cuda"] and "CUDA device" in line and "no CUDA" not in line
           for line in found.splitlines()):
    print("skipped: no GPU")
    sys.exit(1 if os.environ.get("LW_REQUIRE_GPU") == "1" else 77)
with tempfile.TemporaryDirectory() as work:
    name, output = os.path.join(work, "x.h5"), os.path.join(work, "y.h5")
    make_file(name, 60000, 10)
    engines(name, output, 10)
    voting(name, output, 10)
    fall_back(name, output)
    memory(name, output)
finish()
