#!/usr/bin/env python3
"""whole_runs.py LAPWING FOLDER OUT.csv [small] - whole runs of the three jobs from file to file, on every engine of this machine.

`lapwing synth` makes the inputs in FOLDER, which needs 20 GB (small: a sixteenth of the samples). Each row is the median of five
runs of `lapwing JOB`, one process without mpirun. The time is that of the whole process, the start of MPI and of the GPU's driver
included; the engines take turns. Each run writes a new file; the inputs are in the page cache, or on a RAM disk."""
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 5


def jobs(scale):
    """(name, job, options of synth, options of the run)"""
    million, side, log2_n = 2 ** 20 // scale, 16384 // round(scale ** 0.5), 27 if scale == 1 else 23
    series = ["--type", "int16", "--channels", "4", "--taps", "257"]
    filtered = ["--input", "{in}:/signal", "--filters", "{in}:/filters"]
    return [
        (f"4 x {256 * million // 2 ** 20}M int16, 257 taps, one filter", "ols",
         ["--samples", str(256 * million), *series, "--n-filters", "1"], filtered),
        (f"4 x {64 * million // 2 ** 20}M int16, 257 taps, eight filters", "ols",
         ["--samples", str(64 * million), *series, "--n-filters", "8"], filtered),
        (f"{side} x {side} float32, 31 x 31", "conv2d",
         ["--rows", str(side), "--columns", str(side), "--psf-size", "31"], ["--input", "{in}:/image", "--kernel", "{in}:/psf"]),
        (f"2^{log2_n} complex float64, 20 tones in noise of 20 dB, sparsity 1000", "sfft",
         ["--samples", f"2^{log2_n}", "--complex", "--tones", "20"], ["--input", "{in}:/signal", "--sparsity", "1000"]),
    ]


def seconds(command, output):
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    elapsed = time.monotonic() - started
    size = os.path.getsize(output)
    os.remove(output)
    return elapsed, size


def engines(lapwing):
    """The CPU engine, and CUDA if `lapwing info` finds a device."""
    text = subprocess.run([lapwing, "info"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"^engine cuda +(.*)", text, re.MULTILINE)
    print(found.group())
    return ["cpu"] + ["cuda"] * (not found.group(1).startswith("not usable"))


def main(lapwing, folder, out, scale):
    os.environ["OMP_WAIT_POLICY"] = "passive"
    which = engines(lapwing)
    with tempfile.TemporaryDirectory(dir=folder) as work, open(out, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["job", "case", "engine", "cores", "seconds", "least", "most", "bytes_in", "bytes_out"])
        for name, job, make, options in jobs(scale):
            source, result = os.path.join(work, "in.h5"), os.path.join(work, "out.h5")
            subprocess.run(["mpirun", "--bind-to", "none", "--oversubscribe", "-np", str(os.cpu_count()), lapwing, "synth", job,
                            "--output", source, "--overwrite", "--quiet", *make], check=True)
            commands = {engine: [lapwing, job, *(option.replace("{in}", source) for option in options), "--output", result,
                                 "--engine", engine, "--quiet"] for engine in which}
            runs = {engine: [] for engine in which}
            for _ in range(RUNS):
                for engine in which:
                    runs[engine].append(seconds(commands[engine], result))
            for engine in which:
                times = [elapsed for elapsed, _ in runs[engine]]
                spread = [f"{value:.3f}" for value in (statistics.median(times), min(times), max(times))]
                row = [job, name, engine, os.cpu_count(), *spread, os.path.getsize(source), runs[engine][0][1]]
                table.writerow(row)
                file.flush()
                print(*row, flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[4:] not in ([], ["small"]):
        sys.exit(__doc__)
    main(*sys.argv[1:4], 16 if len(sys.argv) == 5 else 1)
