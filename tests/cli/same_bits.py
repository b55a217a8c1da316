"""The same bits, run by run: over all jobs, types, layouts, modes, methods, precisions and cuts.

    same_bits.py LAPWING MPIEXEC                     some of the runs, on several ranks against one rank (LW_TEST_ALL: more)
    same_bits.py LAPWING MPIEXEC DATA all            all runs
    same_bits.py LAPWING MPIEXEC DATA against OTHER  all runs, this program against another one, on one and on several ranks

LW_SAME_BITS_OPTIONS holds options for every run, such as --engine=cuda; LW_SAME_BITS_PART=2/6 takes the second sixth of the runs,
so that several parts can run side by side."""

import itertools
import os
import subprocess
import sys
import tempfile
import zlib

from tested import ALL as MORE, LAPWING, MPIEXEC, as_typed, check, finish, h5py, np, random

ALL = sys.argv[4:5] in (["all"], ["against"])
OTHER = sys.argv[5] if sys.argv[4:5] == ["against"] else None
OPTIONS = os.environ.get("LW_SAME_BITS_OPTIONS", "").split()
PART, PARTS = map(int, os.environ.get("LW_SAME_BITS_PART", "1/1").split("/"))
TYPES = ("i1", "u1", "i2", "u2", "i4", "f4", "f8", "c8", "c16")


def samples(shape, dtype):
    dtype = np.dtype(dtype)
    x = random.standard_normal(shape)
    if dtype.kind in "iu":
        middle = 0 if dtype.kind == "i" else 2.0 ** (8 * dtype.itemsize - 1)
        limits = np.iinfo(dtype)
        return np.clip(middle + x * 2.0 ** (8 * dtype.itemsize - 4), limits.min, limits.max).astype(dtype)
    return (x + 1j * random.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def make_input(path):
    """Signals /fast/TYPE [channel x time], /slow/TYPE [time x channel], /one/TYPE; images, filters, kernels and tones."""
    with h5py.File(path, "w") as file:
        for dtype in TYPES:
            file[f"fast/{dtype}"], file[f"slow/{dtype}"] = samples((3, 9001), dtype), samples((7003, 5), dtype)
            file[f"one/{dtype}"], file[f"image/{dtype}"] = samples(20011, dtype), samples((2, 301, 203), dtype)
        big = file["fast/f4"][()].astype(">f4")
        file["fast/big_endian"] = big
        file.create_dataset("fast/packed", data=samples((3, 9001), "f4"), chunks=(2, 700), compression="gzip", shuffle=True)
        file.create_dataset("slow/chunked", data=samples((7003, 5), "u1"), chunks=(512, 2))
        broken = samples((3, 9001), "f4")
        broken[0, [5, 4000, 9000]], broken[2, 4503] = np.nan, np.inf
        file["fast/broken"] = broken
        for taps in (1, 2, 33, 64, 257, 1025, 3000):
            file[f"taps/{taps}"], file[f"taps/complex{taps}"] = random.standard_normal(taps), samples(taps, "c16")
            file[f"bank/{taps}"] = random.standard_normal((3, taps))
        for rows, columns in ((1, 1), (3, 3), (4, 7), (15, 15), (31, 31), (64, 40)):
            file[f"kernel/{rows}x{columns}"] = random.standard_normal((rows, columns))
        file["kernel/complex"] = samples((9, 9), "c16")
        file["kernel/separable"] = np.outer(random.standard_normal(21), random.standard_normal(17))
        n = 1 << 15
        lines = np.zeros(n, complex)
        lines[random.choice(n, 20, replace=False)] = n * np.exp(2j * np.pi * random.random(20))
        tones = np.fft.ifft(lines)
        file["tones/complex"], file["tones/real"] = tones, tones.real
        file["tones/noisy"] = np.stack([tones + 0.05 * samples(n, "c16") for _ in range(3)])


def ols(source, taps, *more):
    return "filtered", ["ols", "--input", f"in.h5:/{source}", "--axis", "0" if source.startswith(("slow", "one")) else "1", "--filters",
                        f"in.h5:/{taps}", *more]


def conv2d(dtype, kernel, *more):
    return "convolved", ["conv2d", "--input", f"in.h5:/image/{dtype}", "--kernel", f"in.h5:/kernel/{kernel}", *more]


def sfft(source, *more):
    axis = ["--axis", "1"] if source == "noisy" else []
    return "spectrum", ["sfft", "--input", f"in.h5:/tones/{source}", *axis, "--sparsity", "20", *more]


def runs():
    for dtype, (layout, taps) in itertools.product(TYPES, (("fast", "bank/257"), ("slow", "taps/64"), ("one", "taps/1025"), ("one", "bank/33"))):
        yield ols(f"{layout}/{dtype}", taps)
        yield ols(f"{layout}/{dtype}", taps, "--precision", "double", "--mode", "full")
    for mode, taps in itertools.product(("full", "same", "valid"), (1, 2, 33, 257, 3000)):
        yield ols("fast/f4", f"taps/{taps}", "--mode", mode)
        yield ols("slow/i2", f"bank/{taps}", "--mode", mode)
    for boundary, taps in itertools.product(("edge", "wrap", "reflect"), ("taps/64", "taps/3000", "taps/complex257")):
        yield ols("one/f4", taps, "--boundary", boundary)
        yield ols("slow/u1", taps, "--boundary", boundary, "--correlate")
    for nan, boundary in itertools.product(("propagate", "zero"), ("zero", "wrap")):
        yield ols("fast/broken", "bank/257", "--nan", nan, "--boundary", boundary)
    for post, rate in itertools.product(("none", "power", "amplitude", "derivative"), (1, 3)):
        for source, taps in (("fast/f4", "bank/64"), ("slow/i2", "taps/257"), ("one/c8", "taps/complex33")):
            yield ols(source, taps, "--post", post, "--interpolate", str(rate))
    for every in (3, 8, 5000):
        for source, taps in (("fast/f4", "bank/64"), ("slow/i2", "taps/257"), ("one/c8", "taps/complex33")):
            yield ols(source, taps, "--decimate", str(every))
    for segment in (256, 512, 1024, 4096, 8192, 300, 777):
        yield ols("fast/f4", "taps/64", "--segment", str(segment))
        yield ols("one/c16", "bank/33", "--segment", str(segment), "--precision", "double")
    for source in ("fast/big_endian", "fast/packed", "slow/chunked"):
        yield ols(source, "bank/257", "--start", "17", "--count", "6001")
        yield ols(source, "taps/33", "--channels", "0::2")
    for dtype, kind in itertools.product(("i1", "u1", "i2", "u2", "i4"), ("input", "float64")):
        yield ols(f"fast/{dtype}", "taps/33", "--output-type", kind)
    for source, taps in (("fast/f4", "bank/64"), ("slow/i2", "taps/257"), ("one/c8", "taps/complex33")):
        yield ols(source, taps, "--output-type", "float16", "--output-scale", "0.01")
    for dtype, kernel in itertools.product(TYPES, ("3x3", "15x15", "31x31")):
        yield conv2d(dtype, kernel)
    for mode, kernel in itertools.product(("full", "same", "valid"), ("1x1", "4x7", "31x31", "64x40", "complex")):
        yield conv2d("f4", kernel, "--mode", mode)
    for boundary, algorithm in itertools.product(("edge", "wrap", "reflect", "constant=2"), ("direct", "tiles", "full", "padded")):
        yield conv2d("f4", "15x15", "--boundary", boundary, "--algorithm", algorithm)
        yield conv2d("f4", "15x15", "--boundary", boundary, "--algorithm", algorithm, "--decimate", "6")
    for precision, nan in itertools.product(("single", "double"), ("propagate", "zero", "interpolate")):
        yield conv2d("f8", "separable", "--algorithm", "separable", "--precision", precision)
        yield conv2d("f4", "15x15", "--nan", nan, "--precision", precision)
    for source, algorithm in itertools.product(("complex", "real", "noisy"), ("auto", "sparse", "dense", "sfft2")):
        yield sfft(source, "--algorithm", algorithm)
        yield sfft(source, "--algorithm", algorithm, "--seed", "7")
    for more in (("--comb", "1024"), ("--flat-window", "gaussian")):
        yield sfft("complex", "--algorithm", "sfft2", *more)


def io_options(number):
    """Options that vary the way to read and write, and the number of I/O threads, from run to run."""
    return ["--io", ("collective", "direct")[number // 3 % 2], "--io-threads", str((1, 3, 16)[number // 2 % 3])]


def run(program, ranks, threads, arguments, dataset):
    """The checksum of the result's data, or the message of a failed run."""
    start = [MPIEXEC, "-np", str(ranks)] if ranks > 1 else []
    arguments = [*arguments, *OPTIONS, "--threads", str(threads), "--output", "out.h5", "--overwrite", "--quiet"]
    typed, environment = as_typed(arguments) if program == LAPWING else (arguments, None)
    done = subprocess.run([*start, program, *typed], capture_output=True, text=True, timeout=300, env=environment)
    if done.returncode:
        return f"code {done.returncode}: {done.stderr.splitlines()[:1]}"
    with h5py.File("out.h5") as file:
        data = file[dataset][()]
    return f"{data.dtype} {data.shape} {zlib.crc32(data.tobytes()):08x}"


def compare(number, dataset, arguments):
    ranks = (2, 3, 4)[number % 3]
    expected = run(OTHER or LAPWING, 1, 1, arguments, dataset)
    check(not expected.startswith("code"), f"{' '.join(arguments)}: {expected}")
    ways = [(LAPWING, ranks, 1 + number % 2)] + ([(LAPWING, 1, 2), (OTHER, ranks, 1)] if OTHER else [])
    for program, n_ranks, threads in ways:
        how = io_options(number) if program == LAPWING else []
        found = run(program, n_ranks, threads, arguments + how, dataset)
        check(found == expected, f"{program}, {n_ranks} ranks, {threads} threads: {' '.join(arguments)}: {found}, not {expected}")


def main():
    os.chdir(tempfile.mkdtemp())        # below the folder that tests/alone removes
    make_input("in.h5")
    chosen = list(enumerate(runs()))
    check(len(chosen) >= 200, f"{len(chosen)} runs")
    for number, (dataset, arguments) in (chosen if ALL else chosen[::7 if MORE else 13])[PART - 1::PARTS]:
        compare(number, dataset, arguments)
    finish()


main()
