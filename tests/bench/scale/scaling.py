#!/usr/bin/env python3
"""scaling.py BUILD FOLDER OUT.csv [--ranks 1,2,4,8] [--parts link,resident,files] [--cases TEXT,...] [--small] - how runs scale
with the number of ranks.

Each rank has a GPU of its own. On machines without GPUs the ranks compute on the host's cores, and link and resident are left
out.

  files      whole runs of all jobs from file to file in FOLDER, a RAM disk: weak (each rank adds a piece of the input) and strong
             (the input of four ranks); results of the same input must have the same bits on any number of ranks
  link       int16 in, float32 out, through pinned memory (bench_ols_link): all ranks at once, beside plain copies
  resident   the kernels alone: the benchmark of one GPU on each of them at once

Seconds are medians of three runs in turn, mpirun included. start is the time from main to the first block. work is the time in
the run's log: from making the result, when MPI, the input and the engine are ready, to closing it (sfft's log has neither).
Efficiency is computed from the seconds and from the work. Weak: time of the fewest ranks divided by the time of this many;
strong: the same with both times multiplied by their ranks. --small takes a 256th of the samples, to try the script."""
import argparse
import csv
import os
import statistics
import subprocess
import tempfile

from runs import TIMES, count_gpus, launch, run

RUNS = 3
STRONG_PIECES = 4           # the input of strong scaling, in pieces of one rank
HEAD = ["part", "growth", "case", "ranks", "cores", *TIMES, "efficiency", "of work"]


def cases(pieces, small):
    """(name, job, options of synth for so many pieces, options of the run)"""
    series, side = 2 ** (20 if small else 28) * pieces, 1024 if small else 16384
    filters = ["--input", "{in}:/signal", "--filters", "{in}:/filters"]
    for n_filters, more in ((1, []), (8, []), (64, ["--products", "peaks", "--threshold", "7"])):
        yield (f"ols int16 257 taps F={n_filters}{' peaks' if more else ''}", "ols",
               ["--samples", str(series), "--type", "int16", "--channels", "1", "--taps", "257", "--n-filters", str(n_filters)],
               filters + more)
    for kernel in (31, 255):
        yield (f"conv2d float32 {kernel}x{kernel}", "conv2d",
               ["--rows", str(side * pieces), "--columns", str(side), "--psf-size", str(kernel)],
               ["--input", "{in}:/image", "--kernel", "{in}:/psf"])
    yield ("sfft complex k=1000", "sfft", ["--samples", str(2 ** (19 if small else 27) * pieces), "--complex", "--tones", "1000"],
           ["--input", "{in}:/signal", "--sparsity", "1000"])


class Table:
    """A table that is written row by row, and the times of the fewest ranks for each case."""

    def __init__(self, file):
        self.file, self.rows, self.alone = file, csv.writer(file, lineterminator="\n"), {}
        self.rows.writerow(HEAD)

    def efficiency(self, key, spent):
        return f"{self.alone.setdefault(key, spent) / spent:.3f}" if spent > 0 else ""

    def add(self, part, growth, case, ranks, cores, values):
        work = ranks if growth == "strong" else 1
        shares = [self.efficiency((part, growth, case, cores, name), values.get(name, 0) * work) for name in ("seconds", "work")]
        row = [part, growth, case, ranks, cores, *(f"{values[name]:.4g}" if name in values else "" for name in TIMES), *shares]
        self.rows.writerow(row)
        self.file.flush()
        print(*row, flush=True)


def repeat(command, result):
    """Runs of a command; only the first one's result is hashed."""
    return [run(command, result, i == 0) for i in range(RUNS)]


def part_files(table, build, folder, counts, options, gpus):
    lapwing = os.path.join(build, "lapwing")
    engine = ["--engine", "cuda" + (",share-gpu" if gpus < max(counts) else "")] if gpus > 0 else []
    with tempfile.TemporaryDirectory(dir=folder) as work:
        source, result = os.path.join(work, "in.h5"), os.path.join(work, "out.h5")
        for pieces in sorted({*counts, STRONG_PIECES}):
            taking = {ranks for ranks in counts if ranks == pieces or pieces == STRONG_PIECES}
            for case, job, make, given in cases(pieces, options.small):
                if not any(text in case for text in options.cases.split(",")):
                    continue
                subprocess.run([*launch(os.cpu_count()), lapwing, "synth", job, "--output", source, "--overwrite", "--quiet",
                                *make], check=True)
                seen = set()
                for ranks in sorted(taking):
                    runs = repeat([*launch(ranks), lapwing, job, *(option.replace("{in}", source) for option in given),
                                   "--output", result, "--verbose", *engine], result)
                    seen.add(runs[0]["digest"])
                    if len(seen) > 1:
                        raise SystemExit(f"{case}, {pieces} pieces, {ranks} ranks: other bits")
                    middle = {name: statistics.median(one[name] for one in runs) for name in TIMES}
                    for growth in ["weak"] * (ranks == pieces) + ["strong"] * (pieces == STRONG_PIECES):
                        table.add("files", growth, case, ranks, "near", middle)


def part_link(table, build, counts):
    for ranks in counts:
        said = subprocess.run([*launch(ranks), os.path.join(build, "tests/bench/bench_ols_link")], check=True, capture_output=True,
                              text=True).stdout
        print(f"link, {ranks} ranks:\n{said}", flush=True)
        table.file.write("".join(f"# link, {ranks} ranks: {line}\n" for line in said.splitlines()))
        table.file.flush()


def milliseconds(path):
    """The longest single run in a benchmark's table, in milliseconds."""
    with open(path, newline="") as file:
        return max(float(next(row[name] for name in ("single_ms", "ms_single", "ms") if name in row))
                   for row in csv.DictReader(file))


def at_once(command, ranks):
    """Seconds of the slowest of several GPUs, each with a process of its own."""
    with tempfile.TemporaryDirectory() as work:
        outs = [os.path.join(work, f"{i}.csv") for i in range(ranks)]
        running = [
            subprocess.Popen([part.replace("{out}", out) for part in command], stdout=subprocess.DEVNULL,
                             env={**os.environ, "CUDA_VISIBLE_DEVICES": str(i)}) for i, out in enumerate(outs)]
        if any([one.wait() for one in running]):
            raise SystemExit(f"{' '.join(command)} on {ranks} GPUs failed")
        return max(milliseconds(out) for out in outs) * 1e-3


def part_resident(table, build, counts):
    bench = os.path.join(build, "tests/bench")
    programs = [
        ("bench_ols_gpu", "table", "c2c 2^26 M=257 F=1,"), ("bench_ols_gpu", "table", "c2c 2^26 M=257 F=8,"),
        ("bench_conv2d_gpu", "table", "16384^2 31x31,"), ("bench_conv2d_gpu", "table", "16384^2 255x255,"),
        ("bench_sfft_gpu", "rows", "27:1000"),
    ]
    for program, mode, case in programs:
        for ranks in counts:
            seconds = at_once([os.path.join(bench, program), mode, "{out}", case], ranks)
            table.add("resident", "weak", f"{program} {case.rstrip(',')}", ranks, "given", {"seconds": seconds})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--ranks", default="1,2,4,8")
    parser.add_argument("--parts", default="link,resident,files")
    parser.add_argument("--cases", default="", help="of files: those whose name contains one of these, between commas")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    counts, gpus = [int(text) for text in options.ranks.split(",")], count_gpus()
    with open(options.out, "w", newline="") as file:
        table = Table(file)
        for part in options.parts.split(","):
            if part == "files":
                part_files(table, options.build, options.folder, counts, options, gpus)
            elif part == "link" and gpus:
                part_link(table, options.build, [n for n in counts if n <= gpus])
            elif part == "resident" and gpus:
                part_resident(table, options.build, [n for n in counts if n <= gpus])


if __name__ == "__main__":
    main()
