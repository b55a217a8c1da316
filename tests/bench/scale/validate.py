#!/usr/bin/env python3
"""validate.py BUILD FOLDER OUT.csv [--ranks 1,2] [--engine cpu|cuda] [--cases TEXT,...] [--small] - predictions of `lapwing plan
--for` beside the runs that they predict, of jobs of different shapes, from file to file in FOLDER, a disk or a RAM disk.

The machine is measured first, as a user would do it. None of these four numbers is fitted to the jobs that are predicted.

  read, write   bytes per second of one file for each core (16 at most), read and written at once; write waits for the disk
  start         seconds of a run of a few samples on the CPU, mpirun included, on each number of ranks
  slowdown      the computing time of a filter bank on all cores beside its time by the models, which hold for a quick core alone

Each job runs three times on each number of ranks, in turn; the median counts, mpirun included. Results must have the same bits on
any number of ranks. For sparse transforms `lapwing plan` measures iops on the file. The ratio is the predicted time divided by the
measured one. --small takes a 64th of the samples, to try the script."""
import argparse
import concurrent.futures
import csv
import os
import re
import statistics
import subprocess
import tempfile
import time
import zlib

import h5py
import numpy as np

from runs import count_gpus, launch, plan, run

RUNS = 3
MIB = 2 ** 20
HEAD = ["case", "engine", "ranks", "predicted", "measured", "ratio", "plan says", "run says", "least", "most", "start", "read",
        "halo", "compute", "write"]
SIGNAL = ["--input", "{in}:/signal", "--filters", "{in}:/filters"]


def synth(lapwing, job, path, *words):
    words = [*launch(min(16, os.cpu_count())), lapwing, "synth", job, "--output", path, "--overwrite", "--quiet", *map(str, words)]
    subprocess.run(words, check=True)


def series(n_filters, n_samples):
    return lambda lapwing, path: synth(lapwing, "ols", path, "--samples", n_samples, "--type", "int16", "--channels", 1, "--taps",
                                       257, "--n-filters", n_filters)


def many_files(n_samples):
    """1000 files of a series, in a folder that is named as the one file would be."""

    def make(_, path):
        block = np.random.default_rng(1).integers(-999, 999, n_samples // 1000, dtype="int16")
        os.mkdir(path)
        for i in range(1000):
            with h5py.File(f"{path}/part{i:03}.h5", "w") as file:
                data = file.create_dataset("data", data=block)
                data.attrs.update({"sample_rate_hz": 1000.0, "start_time": i * len(block) / 1000, "start_unit": "s"})

    return make


def compressed(n_samples):
    """Four channels of gzip chunks. All have the same numbers: they are packed once."""

    def make(_, path):
        chunk = np.random.default_rng(1).integers(-999, 999, 2 ** 18, dtype="int16")
        packed = zlib.compress(chunk.tobytes(), 1)
        with h5py.File(path, "w") as file:
            data = file.create_dataset("signal", (4, n_samples // 4), "int16", chunks=(1, len(chunk)), compression="gzip")
            data.attrs["sample_rate_hz"] = 1000.0
            for channel in range(4):
                for first in range(0, data.shape[1], len(chunk)):
                    data.id.write_direct_chunk((channel, first), packed)

    return make


def cases(small, engine):
    """(name, job, function that makes the input, options of the run). GPUs and many cores have larger inputs, so that starts do not
    dominate."""
    times = 16 if engine == "cuda" else 4 if os.cpu_count() >= 8 else 1
    size = (lambda n: n // 64) if small else (lambda n: n * times)
    side = 1024 if small else int(8192 * times ** 0.5)
    image = ["--input", "{in}:/image", "--kernel", "{in}:/psf"]

    def sky(kernel):
        return lambda lapwing, path: synth(lapwing, "conv2d", path, "--rows", side, "--columns", side, "--psf-size", kernel)

    yield "filter", "ols", series(1, size(2 ** 27)), SIGNAL
    yield "bank of 8", "ols", series(8, size(2 ** 25)), SIGNAL
    yield "bank of 64, peaks", "ols", series(64, size(2 ** 26)), [*SIGNAL, "--products", "peaks", "--threshold", "7"]
    yield "bank of 64, best filter", "ols", series(64, size(2 ** 25)), [*SIGNAL, "--products", "best"]
    for taps in (31, 63, 127, 255):
        yield f"image, kernel {taps} x {taps}", "conv2d", sky(taps), image
    tones = ["--samples", size(2 ** 26) // min(4, times), "--complex", "--tones", 1000]
    yield ("sparse transform", "sfft", lambda lapwing, path: synth(lapwing, "sfft", path, *tones),
           ["--input", "{in}:/signal", "--sparsity", "1000"])
    yield "1000 files", "ols", many_files(size(128000000)), ["--input", "{in}/part*.h5:/data", "--lowpass", "50", "--taps", "257"]
    if engine == "cpu":
        yield ("gzip chunks", "ols", compressed(size(2 ** 27)),
               ["--input", "{in}:/signal", "--axis", "1", "--lowpass", "50", "--taps", "257"])
    yield ("drifting periodic signals", "accel", lambda lapwing, path: synth(
        lapwing, "accel", path, "--samples", 2 ** 20, "--channels", max(2, size(16))), ["--input", "{in}:/signal", "--zmax", "50"])
    yield "filter, small", "ols", series(1, 2 ** 20), SIGNAL


def rates(folder, cores, small):
    """Bytes per second that `cores` threads read and write, each with a file of its own."""
    block, n_blocks = memoryview(os.urandom(8 * MIB)), 4 if small else 64
    paths = [os.path.join(folder, f"rate{i}") for i in range(min(16, cores))]

    def write(path):
        with open(path, "wb", buffering=0) as file:
            for i in range(n_blocks):
                os.pwrite(file.fileno(), block, i * len(block))
            os.fsync(file.fileno())

    def read(path):
        room = bytearray(len(block))
        with open(path, "rb", buffering=0) as file:
            for i in range(n_blocks):
                os.preadv(file.fileno(), [room], i * len(block))

    found = []
    with concurrent.futures.ThreadPoolExecutor(len(paths)) as pool:
        for work in (write, read):
            started = time.monotonic()
            list(pool.map(work, paths))
            found.append(len(paths) * n_blocks * len(block) / (time.monotonic() - started))
    for path in paths:
        os.remove(path)
    return {"read": found[1], "write": found[0]}


def measure(lapwing, work, ranks, small):
    """The machine in the words of --for, for each number of ranks."""
    cores, source, result = len(os.sched_getaffinity(0)), os.path.join(work, "in.h5"), os.path.join(work, "out.h5")
    words = ["ols", "--input", f"{source}:/signal", "--filters", f"{source}:/filters", "--engine", "cpu", "--output", result]
    machine = {"nodes": 1, "cores": cores, **{name: f"{value:.0f}" for name, value in rates(work, cores, small).items()}}
    series(32, 2 ** (18 if small else 24) * max(1, cores // 4))(lapwing, source)
    bank = [*words, "--products", "blocks", "--blocks", "4096:rms"]
    text, _ = plan(lapwing, bank, {**machine, "slowdown": 1})
    modelled = float(re.search(r"computing ([0-9.e+-]+) s", text).group(1))
    found = statistics.median(run([*launch(1), lapwing, *bank, "--verbose"], result, False)["compute"] for _ in range(RUNS))
    machine["slowdown"] = f"{max(1, found / modelled):.3g}"
    series(1, 2 ** 12)(lapwing, source)
    starts = {n: statistics.median(run([*launch(n), lapwing, *words], result, False)["seconds"] for _ in range(5)) for n in ranks}
    return {n: {**machine, "ranks-per-node": n, "start": f"{starts[n]:.3g}s"} for n in ranks}


def predict(lapwing, words, machine, engine):
    machine = dict(machine)
    if words[0] == "sfft":
        said = subprocess.run([lapwing, "plan", *words], capture_output=True, text=True, check=True).stdout
        number, unit = re.search(r"([0-9.]+) (thousand|million) reads a second", said).groups()
        machine["iops"] = round(float(number) * {"thousand": 1e3, "million": 1e6}[unit])
    if engine == "cuda":
        name = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True).stdout
        machine["gpu"] = "H200" if "H200" in name else "H100"
    return plan(lapwing, [*words, *(["--engine", "cuda"] if engine == "cuda" else [])], machine)[1][0]


def validate(lapwing, work, options, table, file):
    ranks = [int(text) for text in options.ranks.split(",")]
    share = ",share-gpu" if options.engine == "cuda" and count_gpus() < max(ranks) else ""
    machines = measure(lapwing, work, ranks, options.small)
    for n in ranks:
        said = ",".join(f"{name}={value}" for name, value in machines[n].items())
        print(f"# {said}", file=file, flush=True)
        print(said, flush=True)
    for i, (case, job, make, given) in enumerate(cases(options.small, options.engine)):
        if not any(re.search(text, case) for text in options.cases.split(",")):
            continue
        source, result = os.path.join(work, f"{i}.h5"), os.path.join(work, "out.h5")
        make(lapwing, source)
        words = [job, *(word.replace("{in}", source) for word in given), "--output", result]
        done = {n: [] for n in ranks}
        print(time.strftime("%T"), case, flush=True)
        for turn in range(RUNS):
            for n in ranks:
                done[n].append(run([*launch(n), lapwing, *words, "--engine", options.engine + share, "--verbose"], result,
                                   turn == 0 and len(ranks) > 1))
        if len({runs[0]["digest"] for runs in done.values()}) > 1:
            raise SystemExit(f"{case}: other bits on other numbers of ranks")
        for n in ranks:
            _, predicted, _, _, limit = predict(lapwing, words, machines[n], options.engine)
            seconds = [one["seconds"] for one in done[n]]
            middle = statistics.median(seconds)
            row = [case, options.engine, n, f"{predicted:.3g}", f"{middle:.3g}", f"{predicted / middle:.2f}", limit,
                   done[n][-1]["limit"], f"{min(seconds):.3g}", f"{max(seconds):.3g}",
                   *(f"{statistics.median(one[name] for one in done[n]):.3g}" for name in HEAD[10:])]
            table.writerow(row)
            file.flush()
            print(*row, sep="  ", flush=True)
        subprocess.run(["rm", "-r", source], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--engine", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--cases", default="", help="those in whose name one of these patterns is found, between commas")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    with open(options.out, "w", newline="") as file, tempfile.TemporaryDirectory(dir=options.folder) as work:
        print(f"# validate.py in {options.folder}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", file=file)
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEAD)
        validate(os.path.join(options.build, "lapwing"), work, options, table, file)


if __name__ == "__main__":
    main()
