"""Processor time of `lapwing accel` beside PRESTO's accelsearch, one core, in one run.

    speed.py LAPWING ACCELSEARCH [--folder FOLDER] [--samples 4194304] [--repeats 3] [--core 0] [--jerk]

Both read the same series, a NAME.dat of PRESTO: noise with the two signals of one sinusoid and one train of eight harmonics. accelsearch
also reads its transform NAME.fft where REALFFT is given, which must have been made by realfft; then the transform is not in its time.
The programs take turns, and medians are printed."""

import argparse
import os
import statistics
import subprocess
import tempfile

import numpy as np

from common import accelsearch, lapwing, noise, phase, write_presto

DT = 128e-6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lapwing")
    parser.add_argument("accelsearch")
    parser.add_argument("--realfft")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--samples", type=int, default=1 << 22)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--jerk", action="store_true")
    given = parser.parse_args()
    random, n = np.random.default_rng(1), given.samples
    x = noise(random, n, 0) + 0.03 * np.cos(2 * np.pi * (phase(n, n, 66300.585, 41.3, 0) + 0.05))
    for h in range(1, 9):
        x += 0.012 * np.cos(2 * np.pi * (h * phase(n, n, 17015.008, -7.6, 0) % 1))
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        stem, out = os.path.join(folder, "psr"), os.path.join(folder, "out.h5")
        write_presto(stem, x, DT)
        if given.realfft:
            subprocess.run([given.realfft, stem + ".dat"], check=True, stdout=subprocess.DEVNULL)
        ending = ".fft" if given.realfft else ".dat"
        print("| search | program | user s | system s | rows |")
        print("|---|---|---|---|---|")
        for harmonics, w_max in ((1, 0), (8, 0), *(((1, 200),) if given.jerk else ())):
            options = ["-zmax", "200", "-numharm", str(harmonics)] + (["-wmax", str(w_max)] if w_max else [])
            words = ["--zmax", 200, "--numharm", harmonics, "--threads", 1, "--engine", "cpu"] + (["--wmax", w_max] if w_max else [])
            ways = {
                "lapwing": lambda: lapwing(given.lapwing, stem + ".dat", words, out, given.core),
                "accelsearch": lambda: accelsearch(given.accelsearch, stem, options, given.core, ending),
                "accelsearch -inmem": lambda: accelsearch(given.accelsearch, stem, options + ["-inmem"], given.core, ending),
            }
            if w_max:
                del ways["accelsearch -inmem"]          # it takes no jerks
            taken = {name: [] for name in ways}
            for _ in range(given.repeats):
                for name, way in ways.items():
                    times, rows = way()[:2]
                    taken[name].append((*times, len(rows)))
            for name, those in taken.items():
                user, system, rows = (statistics.median(column) for column in zip(*those))
                print(f"| numharm {harmonics}{f', wmax {w_max}' if w_max else ''} | {name} | {user:.2f} | {system:.2f} | {rows} |", flush=True)


main()
