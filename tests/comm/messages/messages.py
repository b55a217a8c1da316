#!/usr/bin/env python3
"""messages.py LAPWING MPIEXEC LIBRARY [--ranks 1,2,3,8] [--jobs TEXT,...] [--record FILE.csv] - what runs send is what the
program says.

LIBRARY is pmpi.c of this folder, which counts through MPI's profiling interface. Each job runs on each number of ranks, by
default on two or three of them by turns (LW_TEST_ALL: on 1, 2, 3 and 8), and

  rounds   agreements, collectives, messages, their bytes and the longest chain are those that the program planned
  start    agreements, collectives, messages and their bytes are those that the program counted
  end      agreements, collectives and their bytes are the same on 2 ranks and more
  all      every rank makes the same calls; where the rounds of a run are as many, so are the calls of each rank and round

Rows of peaks, which a plan cannot know, are counted apart: at most two messages from each rank in a round, and log2(ranks) from
each to learn who has some. They lengthen a chain by at most their number."""
import argparse
import concurrent.futures
import csv
import itertools
import os
import re
import subprocess
import sys
import tempfile

import h5py
import numpy as np

NUMBERS = r"(\d+) agreements, (\d+) collectives of (\d+) bytes in all, (\d+) messages of (\d+) bytes in all"
PMPI = (r"^pmpi {} agreements (\d+) collectives (\d+) bytes (\d+) messages (\d+) bytes (\d+) rows (\d+) bytes (\d+) chain (\d+) "
        r"teams (\d+) files (\d+) spread (\d+)$")
HEAD = ["job", "ranks", "rounds", "phase", "agreements", "collectives", "collective bytes", "messages", "message bytes", "rows",
        "row bytes", "chain", "calls of teams", "calls of HDF5"]

SYNTH = {
    "series": ["ols", "--samples", "200000", "--channels", "1", "--taps", "33", "--n-filters", "4"],
    "long": ["ols", "--samples", "4000000", "--channels", "2", "--taps", "33", "--n-filters", "1"],
    "wide": ["ols", "--samples", "4000", "--channels", "96", "--taps", "33", "--n-filters", "1", "--layout", "time-slow"],
    "bank": ["ols", "--samples", "20000", "--channels", "1", "--taps", "65", "--n-filters", "128"],
    "image": ["conv2d", "--rows", "1500", "--columns", "200", "--psf-size", "9"],
    "lines": ["sfft", "--samples", "65536", "--complex", "--tones", "20"],
    "many lines": ["sfft", "--samples", "16384", "--complex", "--tones", "10", "--channels", "7"],
    "drift": ["accel", "--samples", "16384", "--channels", "24"],
}
OLS = ["ols", "--input", "{in}:/signal", "--filters", "{in}:/filters"]
JOBS = {
    "ols": ("series", OLS),
    "ols in rounds": ("long", OLS),
    "peaks": ("series", [*OLS, "--products", "peaks", "--threshold", "6"]),
    "no peaks": ("long", [*OLS, "--products", "peaks", "--threshold", "1000"]),
    "best": ("bank", [*OLS, "--products", "best", "--split", "filters"]),
    "blocks": ("series", [*OLS, "--products", "blocks", "--blocks", "64:max,mean"]),
    "channels": ("wide", OLS),
    "split channels": ("wide", [*OLS, "--split", "channels"]),
    "many files": ("files", ["ols", "--input", "{in}", "--boxcar", "16"]),
    "sfft": ("lines", ["sfft", "--input", "{in}:/signal", "--sparsity", "20"]),
    "sfft channels": ("many lines", ["sfft", "--input", "{in}:/signal", "--sparsity", "10"]),
    "accel": ("drift", ["accel", "--input", "{in}:/signal", "--zmax", "4"]),
    "conv2d": ("image", ["conv2d", "--input", "{in}:/image", "--kernel", "{in}:/psf"]),
}
TURNS = ["1,2,3,8"] if os.environ.get("LW_TEST_ALL") else ["2,3", "1,2,3", "3,8", "2,5"]
failures = []


def check(is_right, text):
    if not is_right:
        failures.append(text)
        print("wrong:", text, flush=True)


def launch(given, ranks, arguments, library=None, expected=0):
    env = dict(os.environ, OMP_NUM_THREADS="1", OMPI_MCA_mpi_yield_when_idle="1", CUDA_VISIBLE_DEVICES="")
    preload = ["env", f"LD_PRELOAD={library}"] if library else []
    start = [*([given.mpiexec, "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []), *preload]
    run = subprocess.run([*start, given.lapwing, *arguments], env=env, capture_output=True, text=True)
    if run.returncode != expected:
        sys.exit(f"{arguments} on {ranks} ranks ends with {run.returncode}:\n{run.stdout}{run.stderr}")
    return run.stdout + run.stderr


def numbers(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return [int(n) for n in found.groups()] if found else None


def make(given, folder, name):
    path = os.path.join(folder, name)
    if name == "files":
        os.makedirs(path)
        for i in range(40):
            with h5py.File(os.path.join(path, f"{i:03}.h5"), "w") as part:
                data = part.create_dataset("data", data=np.zeros(1000, "float32"))
                data.attrs["sample_rate_hz"], data.attrs["start_time"], data.attrs["start_unit"] = 1000.0, float(i), "s"
        return os.path.join(path, "*.h5")
    launch(given, 1, ["synth", SYNTH[name][0], "--output", path, *SYNTH[name][1:]])
    return path


def bound(given, ranks, arguments):
    """The least memory, which makes several rounds."""
    run = launch(given, ranks, [*arguments, "--memory", "1M"], expected=78)
    return f"{int(re.search(r'needs ([0-9]+)[.0-9]* MiB', run).group(1)) + 3}M"


def examine(given, job, ranks, arguments, writer):
    text = launch(given, ranks, arguments, given.library)
    counted = {phase: numbers(PMPI.format(phase), text) for phase in ("start", "rounds", "end")}
    said = {phase: numbers(f"messages of the {phase}: {NUMBERS}", text) for phase in ("start", "rounds")}
    planned, chain = numbers(f"messages planned: {NUMBERS}", text), numbers(r"messages planned: .*; (\d+) of them one after", text)
    rounds = numbers(r"(\d+) rounds?, slices of", text)
    where = f"{job} on {ranks} ranks"
    for phase, found in counted.items():
        check(found[10] == 0, f"{where}: ranks make different calls in {phase}: {found}")
        if writer:
            writer.writerow([job, ranks, rounds[0] if rounds else "", phase, *found[:10]])
    first = 1 if ranks == 1 else 0     # a single rank agrees without messages
    for phase, its in said.items():
        own, rows = counted[phase][:5], counted[phase][5:7]
        check(its[first:] == [*own[first:3], own[3] + rows[0], own[4] + rows[1]],
              f"{where}: the program counted {its} in {phase}, MPI {own} and {rows} of rows")
    found = counted["rounds"]
    if planned:
        check(planned[first:] == found[first:5], f"{where}: planned {planned}, sent {found}")
        planned_chain = (chain or [0])[0]
        rows = found[5] if job in ("peaks", "accel") else 0         # messages of rows: all in one chain at worst
        check(found[5] == rows, f"{where}: {found[5]} messages of rows")
        check(planned_chain <= found[7] <= planned_chain + rows, f"{where}: planned a chain of {chain}, sent {found}")
        if rounds:
            check(found[1] % rounds[0] == 0 and found[2] % rounds[0] == 0, f"{where}: rounds differ: {found}, {rounds}")
    steps = max(ranks - 1, 0).bit_length()
    if planned and rounds:
        check(found[5] <= rounds[0] * ranks * (2 + steps), f"{where}: {found[5]} messages of rows in {rounds[0]} rounds")
    print(f"{where}: {rounds}, planned {planned} {chain}; rounds {found}", flush=True)
    return rounds, found, counted["end"]


def compare(given, job, all_ranks, folder, inputs, writer):
    """Run one job on each number of ranks, and compare its calls among them."""
    name, options = JOBS[job]
    arguments = [o.replace("{in}", inputs[name]) for o in options]
    each, ends = set(), set()
    for ranks in map(int, all_ranks.split(",")):
        its = [*arguments, "--verbose", "--overwrite", "--output", os.path.join(folder, f"{job}.h5")]
        its += ["--memory", bound(given, ranks, its)] if name in ("long", "bank") else []
        rounds, found, end = examine(given, job, ranks, its, writer)
        if ranks > 1:
            ends.add(tuple(end[:3]))
        if rounds and ranks > 1:
            each.add((found[0] / rounds[0], found[1] / rounds[0], found[2] / rounds[0]))
    check(len(each) <= 1, f"{job}: the calls of a rank and round depend on the ranks: {each}")
    check(len(ends) <= 1, f"{job}: the agreements, collectives and bytes of a rank's end depend on the ranks: {ends}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("lapwing", "mpiexec", "library"):
        parser.add_argument(name)
    parser.add_argument("--ranks")
    parser.add_argument("--jobs")
    parser.add_argument("--record")
    given = parser.parse_args()
    record = open(given.record, "w", newline="") if given.record else None
    writer = csv.writer(record) if record else None
    if writer:
        writer.writerow(HEAD)
    jobs = given.jobs.split(",") if given.jobs else list(JOBS)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:     # starts of MPI mostly wait
        names = list(dict.fromkeys(JOBS[job][0] for job in jobs))
        inputs = dict(zip(names, pool.map(lambda name: make(given, folder, name), names)))
        ranks = itertools.cycle([given.ranks] if given.ranks else TURNS)
        list(pool.map(lambda job, its: compare(given, job, its, folder, inputs, writer), jobs, ranks))
    if record:
        record.close()
    sys.exit(f"{len(failures)} wrong" if failures else 0)


main()
