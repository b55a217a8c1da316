"""False candidates of `lapwing accel` in noise, against the expectation.

    false_alarms.py LAPWING [--folder FOLDER] [--spectra 10000] [--samples 8192] [--zmax 20] [--numharm 8] [--knee 0]
                    [--accelsearch PROGRAM]

Significance counts trials as PRESTO does: in noise, a spectrum would have a candidate of H harmonics above sigma s with the probability
p(s) of a normal variable's upper tail. PRESTO counts points of a grid, though, and a candidate is a maximum between them. The number
of maxima above a power is known: that of the Euler characteristic of a chi-squared field (K. J. Worsley: Local maxima and the
expected Euler characteristic of excursion sets of chi^2, F and t fields. Adv. Appl. Prob. 26, 13 (1994)). Its roughness follows from the
phase 2 pi (r u + z (u^2 - u) / 2): the variances of its derivatives are 4 pi^2 / 12 and 4 pi^2 / 720, and for a sum over harmonics
their means with k^2. Both expectations are printed. With --knee the noise is red below that bin. With --accelsearch it searches the first 300 spectra, too."""

import argparse
import math
import os
import tempfile

import numpy as np

from common import accelsearch, lapwing, noise, write_h5, write_presto

SIGMAS = (1, 2, 3, 4, 5, 6)


def tail(sigma):
    return 0.5 * math.erfc(sigma / math.sqrt(2))


def log_excess(m, s):
    """The logarithm of the probability that a sum of m powers exceeds s."""
    return -s + math.log(sum(math.exp(k * math.log(s) - math.lgamma(k + 1)) for k in range(m)))


def power_of(sigma, m, trials):
    """The sum of m powers that has a significance among `trials`."""
    wanted = math.log(-math.expm1(math.log1p(-tail(sigma)) / trials))
    low, high = 1e-3, 1000.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if log_excess(m, middle) > wanted else (low, middle)
    return low


def maxima(m, s, bins, z_range):
    """Expected maxima above s of a sum of m powers, over ranges of the highest harmonic."""
    rough = (m + 1) * (2 * m + 1) / 6 / m ** 2          # the mean of k^2 / m^2
    in_r, in_z = bins * math.sqrt(rough * 4 * math.pi ** 2 / 12), z_range * math.sqrt(rough * 4 * math.pi ** 2 / 720)
    density = math.exp((m - 1) * math.log(s) - s - math.lgamma(m))
    flat = in_r * in_z / (2 * math.pi) * (2 * s - 2 * m + 1) * density
    return flat + (in_r + in_z) * math.sqrt(s / math.pi) * density


def report(name, table, spectra, stages, notes):
    """@param table  [(channel, sigma)] @param stages  numbers of harmonics that are searched"""
    channels, sigmas = np.array([row[0] for row in table]), np.array([row[1] for row in table])
    bins, z_range = float(notes["r_high"] - notes["r_low"]), 2 * float(notes["z_max"])
    trials = {1 << i: float(t) for i, t in enumerate(np.atleast_1d(notes["trials"]))}
    print(f"\n{name}, {spectra} spectra\n")
    print("| sigma above | candidates | spectra with one | by trials as PRESTO counts | ratio | expected maxima | ratio |")
    print("|---|---|---|---|---|---|---|")
    for s in SIGMAS:
        rows = int((sigmas >= s).sum())
        which = len(np.unique(channels[sigmas >= s]))
        counted = spectra * (1 - (1 - tail(s)) ** len(stages))
        expected = spectra * sum(maxima(m, power_of(s, m, trials[m]), bins, z_range) for m in stages)
        print(f"| {s} | {rows} | {which} | {counted:.3g} | {which / counted:.3g} | {expected:.3g} | {rows / expected:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lapwing")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--spectra", type=int, default=10000)
    parser.add_argument("--samples", type=int, default=8192)
    parser.add_argument("--zmax", type=int, default=20)
    parser.add_argument("--numharm", type=int, default=8)
    parser.add_argument("--knee", type=float, default=0)
    parser.add_argument("--sigma", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--accelsearch")
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    x = random.standard_normal((given.spectra, given.samples), dtype=np.float32)
    if given.knee:
        x = np.array([noise(random, given.samples, given.knee) for _ in x], np.float32)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        name, out, stem = (os.path.join(folder, word) for word in ("x.h5", "out.h5", "s"))
        write_h5(name, x, 1e-3)
        for harmonics in sorted({1, given.numharm}):
            stages = [1 << i for i in range(harmonics.bit_length())]
            options = ["--zmax", given.zmax, "--numharm", harmonics, "--sigma", given.sigma]
            _, table, notes = lapwing(given.lapwing, name + ":/x", options, out)
            report(f"lapwing, up to {harmonics} harmonics, zmax {given.zmax}, {given.samples} samples",
                   table[["channel", "sigma"]], given.spectra, stages, notes)
            for h in stages if harmonics > 1 else []:
                report(f"of these, sums of {h}", table[table["harmonics"] == h][["channel", "sigma"]], given.spectra, [h], notes)
            if not given.accelsearch:
                continue
            found, few = [], min(300, given.spectra)
            for i in range(few):
                write_presto(stem, x[i], 1e-3)
                if os.path.exists(f"{stem}_ACCEL_{given.zmax}"):
                    os.remove(f"{stem}_ACCEL_{given.zmax}")
                options = ["-zmax", str(given.zmax), "-numharm", str(harmonics), "-sigma", str(max(1, given.sigma))]
                found += [(i, row["sigma"]) for row in accelsearch(given.accelsearch, stem, options)[1]]
            report("accelsearch", found, few, stages, notes)


main()
