#!/usr/bin/env python3
"""engine_choice.py LAPWING FOLDER OUT.csv [SECONDS] - what --engine auto chooses, beside what either engine takes.

`lapwing synth` makes the inputs in FOLDER, which needs 12 GB. Each time is the median of three whole processes without mpirun, in
seconds; the engines take turns. The modelled times are those in the log of auto; `>` stands before that of a GPU which was not
asked. `loss` is auto's time over the faster engine's. No case begins after SECONDS."""
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from whole_runs import engines, seconds

RUNS = 3


def jobs():
    """(name, job, options of synth, options of the run), the most telling ones first"""
    def series(samples, taps, filters, options=()):
        name = f"4 x {samples} int16, {filters} filters of {taps} taps" + (", peaks" if options else "")
        return (name, "ols", ["--type", "int16", "--channels", "4", "--samples", samples, "--taps", str(taps), "--n-filters",
                              str(filters)], ["--input", "{in}:/signal", "--filters", "{in}:/filters", *options])

    def image(side, psf):
        return (f"{side} x {side} float32, {psf} x {psf}", "conv2d",
                ["--rows", str(side), "--columns", str(side), "--psf-size", str(psf)], ["--input", "{in}:/image", "--kernel", "{in}:/psf"])

    def lines(log2_n, sparsity, *options):
        return (f"2^{log2_n} complex float64, sparsity {sparsity}" + "".join(options[1:]), "sfft",
                ["--samples", f"2^{log2_n}", "--complex", "--tones", "20"],
                ["--input", "{in}:/signal", "--sparsity", str(sparsity), *options])

    peaks = ("--products", "peaks", "--noise", "given", "--threshold", "1e6")
    return [series("256M", 257, 1), series("64M", 257, 64, peaks), series("64M", 257, 8), series("16M", 257, 8), image(16384, 31),
            lines(26, 1000), series("16M", 257, 64, peaks), series("4M", 1025, 512, peaks), image(16384, 127),
            series("16M", 257, 1), image(4096, 31), series("64M", 4097, 16, peaks), series("1M", 257, 1), image(8192, 255),
            series("1M", 4097, 64, peaks), lines(24, 1000, "--algorithm", "sfft2")]


def modelled(command):
    """Times of both engines, and the engine that was taken, from auto's log"""
    log = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    times = re.search(r"modelled times: cpu ([0-9.e+-]+) s, cuda (at least )?([0-9.e+-]+) s", log)
    return [times[1], (">" if times[2] else "") + times[3]] if times else ["", ""], re.search(r"^(\w+) engine: ", log, re.MULTILINE)[1]


def main(lapwing, folder, out, limit):
    os.environ["OMP_WAIT_POLICY"] = "passive"
    which = [*engines(lapwing), "auto"]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder) as work, open(out, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["job", "case", "cores", "modelled_cpu", "modelled_cuda", "chosen", *which, "loss"])
        for name, job, make, options in jobs():
            if time.monotonic() - begun > limit:
                break
            source, result = os.path.join(work, "in.h5"), os.path.join(work, "out.h5")
            subprocess.run(["mpirun", "--bind-to", "none", "--oversubscribe", "-np", str(os.cpu_count()), lapwing, "synth", job,
                            "--output", source, "--overwrite", "--quiet", *make], check=True)
            run = [lapwing, job, *(option.replace("{in}", source) for option in options), "--output", result]
            times, chosen = modelled(run)
            os.remove(result)
            runs = {engine: [] for engine in which}
            for _ in range(RUNS):
                for engine in which:
                    runs[engine].append(seconds([*run, "--engine", engine, "--quiet"], result)[0])
            medians = [statistics.median(runs[engine]) for engine in which]
            row = [job, name, os.cpu_count(), *times, chosen, *(f"{median:.3f}" for median in medians),
                   f"{medians[-1] / min(medians[:-1]):.2f}"]
            table.writerow(row)
            file.flush()
            print(*row, flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:4], float(sys.argv[4]) if len(sys.argv) == 5 else 1e9)
