"""Whole runs of `lapwing accel` over many trials, from a file on a RAM disk to the table of candidates.

    trials.py LAPWING [--folder /dev/shm] [--trials 1000] [--samples 4194304] [--repeats 3] [OPTION ...]

Each trial is uniform noise in bytes; every fiftieth has a train of narrow pulses that drifts. OPTIONs go to `lapwing accel`."""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

import h5py
import numpy as np


def write(name, n_trials, n):
    random, u = np.random.default_rng(5), np.arange(n) / n
    with h5py.File(name, "w") as file:
        trials = file.create_dataset("x", (n_trials, n), np.uint8)
        trials.attrs["sample_rate_hz"] = 1 / 64e-6
        for c in range(n_trials):
            x = np.frombuffer(random.bytes(n), np.uint8)
            if c % 50 == 7:
                r, z = 20000.3 + 97 * c, (c % 21) * 2 - 20.0
                phase = r * u + z * (u * u - u) / 2
                x = np.clip(x + 12 * np.exp(-0.5 * ((phase - np.rint(phase)) / 0.04) ** 2), 0, 255).astype(np.uint8)
            trials[c] = x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lapwing")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=1 << 22)
    parser.add_argument("--repeats", type=int, default=3)
    given, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        name, out = os.path.join(folder, "trials.h5"), os.path.join(folder, "out.h5")
        write(name, given.trials, given.samples)
        command = [given.lapwing, "accel", "--input", name + ":/x", "--axis", "1", "--sigma", "4", "--output", out, "--overwrite", *options]
        seconds = []
        for _ in range(given.repeats):
            start = time.monotonic()
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            seconds.append(time.monotonic() - start)
        with h5py.File(out) as file:
            table = file["candidates"][()]
    own = table[table["related"] < 0]
    print(f"{given.trials} trials of {given.samples} samples: {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f}); "
          f"{len(table)} candidates, {len(own)} of their own, {(own['sigma'] > 6).sum()} of these above sigma 6")


main()
