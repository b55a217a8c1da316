"""Inputs stored in chunks: memory stays within the plan, chunks are decoded about once even with little memory, and the result is
that of the same samples without chunks. Thinned results keep the number of small writes low.

    chunks.py LAPWING MPIEXEC"""

import os
import sys

import h5py
import numpy as np

import memory

N, CHANNELS = 400_000, 48


def make_inputs(work):
    """The same samples in chunks as tall as the axis, in small chunks, and contiguous."""
    noise = np.random.default_rng(1).normal(0, 300, (N, CHANNELS)).astype("i2")
    with h5py.File(os.path.join(work, "chunks.h5"), "w") as file:
        file.create_dataset("signal", data=noise)
        file.create_dataset("tall", data=noise, chunks=(N, 8), compression="gzip", compression_opts=1, shuffle=True)
        file.create_dataset("small", data=noise, chunks=(1000, 16), compression="gzip", compression_opts=1)
        file.create_dataset("plain", data=noise, chunks=(N, 8))
        file.create_dataset("image", data=noise[:4000].astype("f4"), chunks=(2000, 24), compression="gzip", compression_opts=1)
        file["filters"] = np.ones((2, 65), "f4") / 65
        file["psf"] = np.ones((9, 9), "f4") / 81


def ols(name, *more):
    return ["ols", "--input", f"chunks.h5:/{name}", "--filters", "chunks.h5:/filters", "--axis", "0", *more]


def result(work):
    with h5py.File(os.path.join(work, "out.h5")) as file:
        return file["filtered"][()]


def cases():
    """By the options that change the result."""
    return {(): [
        ("tall compressed chunks", 1, ols("tall"), "200M"),
        ("small compressed chunks", 2, ols("small"), "100M"),
        ("tall chunks", 2, ols("plain"), "120M"),
    ], ("--decimate", "8"): [
        ("tall compressed chunks, little memory", 1, ols("tall"), "100M"),
        ("tall compressed chunks, channels split", 3, ols("tall", "--split", "channels"), "140M"),
    ]}


def test():
    results = []
    for options, those in cases().items():
        results.append(memory.check("no chunks", 1, ols("signal", *options), "150M"))
        expected = result(memory.WORK)
        for name, ranks, arguments, limit in those:
            results += [memory.check(name, ranks, [*arguments, *options], limit), np.array_equal(result(memory.WORK), expected)]
            print(f"{'ok' if results[-1] else 'FAILED'}: {name}: the same result", flush=True)
    results += [
        memory.check("every third channel", 2, ols("tall", "--channels", "0:48:3"), "140M"),
        memory.check("image", 2, ["conv2d", "--input", "chunks.h5:/image", "--kernel", "chunks.h5:/psf"], "100M"),
        memory.check("sfft", 2, ["sfft", "--input", "chunks.h5:/tall", "--axis", "0", "--sparsity", "20", "--channels", "0:8",
                                 "--fallback", "partial"], "150M"),
    ]
    return all(results)


if __name__ == "__main__":
    sys.exit(memory.main(test, make_inputs))
