"""More than 2^31 samples: a sparse file of int8 zeros with a few marks around 2^31 and at the ends. A filter delays it by one
sample, whole and in a piece, and every mark must arrive at its place.

    long.py LAPWING MPIEXEC"""

import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

LENGTH = 2 ** 31 + 4321
MARKS = [0, 1, 2 ** 30, 2 ** 31 - 2, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, LENGTH - 2, LENGTH - 1]
NEEDED = 5 * 2 ** 30


def make(path):
    with h5py.File(path, "w") as file:
        signal = file.create_dataset("signal", (LENGTH,), dtype="i1")
        for i, position in enumerate(MARKS):
            signal[position] = i + 1
        file["delay"] = np.array([0.0, 1.0, 0.0])


def run(program, mpiexec, work, *options):
    output = os.path.join(work, "out.h5")
    command = [mpiexec, "-np", "2", program, "ols", "--input", f"{work}/in.h5:/signal", "--filters", f"{work}/in.h5:/delay",
               "--output", output, "--overwrite", "--output-type", "input", "--quiet", *options]
    subprocess.run(command, check=True, timeout=500)
    return h5py.File(output)["filtered"]


def check(what, found, wanted):
    if not np.array_equal(found, wanted):
        sys.exit(f"{what}: {found} instead of {wanted}")
    print(f"ok: {what}")


def count_others(filtered, expected, block=2 ** 26):
    """Number of samples that are not zero, except the expected ones."""
    n = sum(int(np.count_nonzero(filtered[i:i + block])) for i in range(0, filtered.shape[0], block))
    return n - len(expected)


def main():
    program, mpiexec = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as work:
        if shutil.disk_usage(work).free < NEEDED:
            sys.exit(f"less than {NEEDED >> 30} GiB free for temporary files")
        make(os.path.join(work, "in.h5"))

        filtered = run(program, mpiexec, work, "--mode", "full")
        check("length of the full result", filtered.shape[0], LENGTH + 2)
        for i, position in enumerate(MARKS):
            check(f"mark at {position}", filtered[position + 1], i + 1)
        check("other samples that are not zero", count_others(filtered, MARKS), 0)

        start, count = 2 ** 31 - 100, 200
        piece = run(program, mpiexec, work, "--mode", "same", "--start", str(start), "--count", str(count))
        wanted = np.zeros(count, dtype="i1")
        for i, position in enumerate(MARKS):
            if start <= position < start + count:
                wanted[position - start] = i + 1
        check("piece around 2^31", piece[...], wanted)


main()
