#!/usr/bin/env python3
"""recorded.py BUILD [RECORD] - the recorded scaling over two GPUs (../results/scaling/two_gpus.csv) beside `lapwing plan --for`,
from rates of one GPU. BUILD has CUDA; no GPU is needed.

The machine is that of the record. Its rates are the largest at which a run on one GPU read and wrote, and its start is that of the
shortest run on one GPU, without the models' start of a device. Inputs have the shapes of the record and no samples: HDF5 stores
nothing for what was never written. The table shows seconds and efficiencies, recorded and predicted."""
import csv
import os
import subprocess
import sys
import tempfile

import h5py

from runs import plan
from scaling import STRONG_PIECES, cases

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINE = {"nodes": 1, "cores": 32, "memory": "251GiB", "gpu": os.environ.get("GPU", "H100")}
DEVICE_START = 0.15         # seconds of the models that a GPU adds to the start


def stretch(path, name, length):
    """Give a dataset another length along its first axis, without samples."""
    with h5py.File(path, "a") as file:
        old = file[name]
        shape, kind, attributes = (length, *old.shape[1:]), old.dtype, dict(old.attrs)
        del file[name]
        file.create_dataset(name, shape, kind).attrs.update(attributes)


def sketch(lapwing, path, job, make, length):
    """A file as synth makes it, but with that many samples or rows, which are not stored."""
    words = list(make)
    if job != "sfft":
        words[words.index("--samples" if job == "ols" else "--rows") + 1] = "4096"
    subprocess.run([lapwing, "synth", job, "--output", path, "--overwrite", "--quiet", *words], check=True)
    if job != "sfft":
        stretch(path, "signal" if job == "ols" else "image", length)


def record(path):
    with open(path, newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(row["growth"], row["case"], int(row["ranks"])): row
                for row in rows if row["part"] == "files" and row["call"] == "1"}


def length_of(make):
    return int(make[make.index("--samples" if "--samples" in make else "--rows") + 1])


def moved(case, make):
    """Bytes that a case reads and writes."""
    n = length_of(make)
    if "conv2d" in case:
        return 4 * n * int(make[make.index("--columns") + 1]), 4 * n * int(make[make.index("--columns") + 1])
    filters = int(make[make.index("--n-filters") + 1]) if "--n-filters" in make else 0
    return (2 * n, 4 * n * filters * ("peaks" not in case)) if filters else (0, 0)


def machine_of(rows):
    """The record's machine, with the rates of its runs on one GPU."""
    rates = {"read": 0, "write": 0}
    for (growth, case, ranks), row in rows.items():
        make = next(one[2] for one in cases(STRONG_PIECES if growth == "strong" else 1, False) if one[0] == case)
        for name, count in zip(rates, moved(case, make)):
            if ranks == 1 and float(row[name]) >= 0.05:
                rates[name] = max(rates[name], count / float(row[name]))
    start = min(float(row["seconds"]) for (_, _, ranks), row in rows.items() if ranks == 1) - DEVICE_START
    return {**MACHINE, **{name: f"{rate:.0f}" for name, rate in rates.items()}, "start": f"{start:.3g}s"}


def main():
    lapwing = os.path.join(sys.argv[1], "lapwing")
    rows = record(sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "../results/scaling/two_gpus.csv"))
    machine = machine_of(rows)
    print(",".join(f"{name}={value}" for name, value in machine.items()))
    with tempfile.TemporaryDirectory() as work:
        for growth, pieces in (("weak", (1, 2)), ("strong", (STRONG_PIECES,) * 2)):
            for which, (case, job, _, given) in enumerate(cases(1, False)):
                seconds = []
                for ranks in (1, 2):
                    make, path = list(cases(pieces[ranks - 1], False))[which][2], os.path.join(work, "in.h5")
                    if job == "sfft":          # a plan of it looks at the samples
                        continue
                    # 64 filters had an eighth of the samples in that call
                    sketch(lapwing, path, job, make, length_of(make) // (8 if "F=64" in case else 1))
                    words = [job, *(word.replace("{in}", path) for word in given), "--output", os.path.join(work, "out.h5")]
                    table = plan(lapwing, [*words, "--engine", "cuda"], {**machine, "ranks-per-node": ranks})[1]
                    seconds.append((float(rows[growth, case, ranks]["seconds"]), table[0][1], table[0][4]))
                if not seconds:
                    continue
                (one, planned_one, _), (two, planned_two, limit) = seconds
                share = 2 if growth == "strong" else 1
                print(f"| {growth} | {case} | {one:.2f} | {planned_one:.2f} | {two:.2f} | {planned_two:.2f} | "
                      f"{100 * one / two / share:.0f}% | {100 * planned_one / planned_two / share:.0f}% | {limit} |", flush=True)


if __name__ == "__main__":
    main()
