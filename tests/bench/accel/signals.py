"""A hundred synthetic signals, searched by `lapwing accel` and by PRESTO's accelsearch.

    signals.py LAPWING ACCELSEARCH [--folder FOLDER] [--signals 100] [--samples 131072] [--seed 1] [--sigma 6]

Each series has noise, white or red, and one signal of 1 to 16 harmonics. Its highest harmonic drifts by |z| up to 195 bins; every
third signal has a jerk, too (|w| up to 195), in a series of an eighth of the samples, and at most 8 harmonics. What accelsearch lists
above --sigma, or refines that to, must be in lapwing's table within a step of its grid (1/2 bin in r, 2 in z, 20 in w, at the highest
harmonic), or be a harmonic or a side lobe of a row of the table that is no weaker. Powers of the table (20 rows a series) must be
within 1% of the sum over harmonics by its definition in the time domain, in double precision, of the series that the normalized
spectrum stands for."""

import argparse
import os
import sys
import tempfile

import h5py
import numpy as np

from common import accelsearch, lapwing, noise, noise_level, phase, power, write_h5, write_presto

DT, KNEE_HZ = 1e-3, 3.0


def draw(random, n, most, is_jerk, is_red):
    """A series and the truth of its signal."""
    seconds = n * DT
    harmonics = int(random.choice([h for h in (1, 1, 2, 3, 4, 6, 8, 11, 16) if h <= most]))
    stage = 1 << int(np.ceil(np.log2(harmonics)))
    knee = KNEE_HZ * seconds if is_red else 0
    r = random.uniform(max(4 * seconds, 300 / stage), (450 / harmonics) * seconds)
    z, w = random.uniform(-195, 195) / stage, random.uniform(-195, 195) / stage if is_jerk else 0.0
    total = random.uniform(45, 150) + 3 * harmonics
    x, turns = noise(random, n, knee), phase(n, n, r, z, w)
    for h in range(1, harmonics + 1):
        amplitude = np.sqrt(4 * total / harmonics / n * noise_level(h * r, knee))
        x += amplitude * np.cos(2 * np.pi * (h * turns % 1))
    return x, {"harmonics": harmonics, "r": r, "z": z, "w": w, "red": is_red}


def distance(a, b, scale):
    """Steps between two signals, at a harmonic `scale` of both."""
    return max(abs(a["r"] - b["r"]) / 0.5, abs(a["z"] - b["z"]) / 2, abs(a["w"] - b["w"]) / 20) * scale


def times(signal, factor):
    return {key: signal[key] * factor for key in ("r", "z", "w")}


def explain(theirs, ours):
    """How a candidate of accelsearch is in the table: "found", "found refined", "harmonic", "side lobe", or "missing"."""
    top = theirs["harmonics"]
    for how, point in (("found", theirs), ("found refined", theirs["refined"])):
        if any(distance(point, row, top) <= 1.001 for row in ours):
            return how
    strong = [row for row in ours if row["sigma"] >= theirs["sigma"] - 0.5]
    for row in strong:
        for h in range(1, top + 1):
            for k in range(1, 17):
                if distance(times(theirs, h), times(row, k), 1) <= 1.001 + 2 * h / top:
                    return "harmonic"
    for row in strong:          # the response of a strong signal is wide in r and z at once
        for h in range(1, top + 1):
            for k in range(1, int(row["harmonics"]) + 1):
                a, b = times(theirs, h), times(row, k)
                reach = 2 + abs(a["z"] - b["z"]) / 2 + abs(a["w"] - b["w"]) / 12
                if abs(a["r"] - b["r"]) <= reach and abs(a["z"] - b["z"]) <= 60:
                    return "side lobe"
    return "missing"


def exact(whitened, row):
    """The sum over harmonics by definition, of the complex series that the normalized spectrum stands for."""
    n, total = len(whitened), 0.0
    for h in range(1, int(row["harmonics"]) + 1):
        total += power(whitened, n, h * row["r"], h * row["z"], h * row["w"]) / n ** 2
    return total


def search(given, random, folder, n, count, w_max, tally):
    numharm = 8 if w_max else 16
    words = ["--zmax", 200, "--numharm", numharm, "--keep-spectrum"] + (["--wmax", w_max] if w_max else [])
    series, truth = zip(*(draw(random, n, numharm, w_max > 0, bool(i % 2)) for i in range(count)))
    write_h5(os.path.join(folder, "x.h5"), series, DT)
    out = os.path.join(folder, "out.h5")
    _, table, notes = lapwing(given.lapwing, os.path.join(folder, "x.h5:/x"), words, out)
    n_fft = int(notes["transform_samples"])
    for i in range(count):
        ours = table[table["channel"] == i]
        stem = os.path.join(folder, "s")
        write_presto(stem, series[i], DT)
        options = ["-zmax", "200", "-numharm", str(numharm)] + (["-wmax", str(w_max)] if w_max else [])
        _, theirs = accelsearch(given.accelsearch, stem, options)
        for name in os.listdir(folder):
            if name.startswith("s_ACCEL"):
                os.remove(os.path.join(folder, name))
        for row in theirs:
            if row["sigma"] >= given.sigma:
                how = explain(row, ours)
                tally[how] = tally.get(how, 0) + 1
                if how == "missing":
                    print(f"missing: series {i}, {truth[i]}: accelsearch {row}; strongest {ours[:1]}", flush=True)
        tally["signals"] += 1
        if tally["signals"] % 10 == 0:
            print(tally, flush=True)
        near = [row for row in ours if distance(truth[i], row, truth[i]["harmonics"]) <= 1.5]
        tally["signals found by lapwing"] += bool(near)
        tally["signals found by accelsearch"] += any(distance(truth[i], row, truth[i]["harmonics"]) <= 1.5 for row in theirs)
        with h5py.File(out) as file:
            normalised = file["spectrum_normalised"][i]
        normalised = normalised["r"] + 1j * normalised["i"] if normalised.dtype.names else normalised
        whitened = n_fft * np.fft.ifft(np.concatenate([[0], normalised[1:], np.zeros(n_fft - len(normalised))]))
        for row in ours[ours["sigma"] >= given.sigma][:20]:
            error = row["power"] / exact(whitened, row) - 1
            tally["rows"] += 1
            tally["largest error"] = max(tally["largest error"], abs(error))
            if abs(error) > 0.01:
                tally["powers off by more than 1%"] += 1
                print(f"power: series {i}, {truth[i]}: {row}: {100 * error:.2f}%", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lapwing")
    parser.add_argument("accelsearch")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--signals", type=int, default=100)
    parser.add_argument("--samples", type=int, default=1 << 17)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sigma", type=float, default=6)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    tally = {"signals": 0, "signals found by lapwing": 0, "signals found by accelsearch": 0, "rows": 0, "largest error": 0.0,
             "powers off by more than 1%": 0, "found": 0, "missing": 0}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        jerks = given.signals // 3
        search(given, random, folder, given.samples, given.signals - jerks, 0, tally)
        search(given, random, folder, given.samples // 8, jerks, 200, tally)
    for key, value in tally.items():
        print(f"{key}: {value}")
    sys.exit(1 if tally["missing"] or tally["powers off by more than 1%"] else 0)


main()
