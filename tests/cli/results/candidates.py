"""Numbers of `lapwing accel` against the definition of src/accel/accel.h, in numpy and double precision.

    candidates.py LAPWING MPIEXEC

The oracle computes the whole plane in the time domain: the series that the normalized spectrum stands for is demodulated with each z and
w, and transformed with zeros behind it, for half bins. Sums over harmonics and significance follow from the plane. Powers agree to 0.5%, since
the program leaves out bins far from a signal. Lists for PRESTO are read as its sifting.py reads them."""

import itertools
import math
import os
import re
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir))
from tested import check, finish, lapwing, random

import h5py
import numpy as np

STEP = {"r": 0.5, "z": 2.0, "w": 20.0}
SLACK = 2.0     # templates leave out 1% of a response's power: noise in their place moves a sum of 13 by 0.5 (one standard deviation)


# ---- the oracle -------------------------------------------------------------------------------------------------------------

def turns(n, z, w):
    u = np.arange(n) / n
    return z * (u * u - u) / 2 + w * (u ** 3 / 6 - u * u / 4 + u / 12)


def series_of(spectrum, n):
    """The complex series of which the spectrum's bins are the coefficients."""
    return n * np.fft.ifft(np.concatenate([[0], spectrum[1:], np.zeros(n - len(spectrum))]))


def plane(x, zs, ws):
    """Powers [w, z, r], r in half bins."""
    n = len(x)
    return np.array([[abs(np.fft.fft(x * np.exp(-2j * np.pi * turns(n, z, w)), 2 * n)[:n] / n) ** 2 for z in zs] for w in ws])


def power(x, r, z, w):
    n = len(x)
    return abs(np.mean(x * np.exp(-2j * np.pi * (r * np.arange(n) / n + turns(n, z, w))))) ** 2


def nearest(d, k, H):
    """The point next to d k / H; halves are rounded away from 0."""
    return np.sign(d) * ((2 * np.abs(d) * k + H) // (2 * H))


def sums(powers, H):
    """Sums over H harmonics at each point of the highest one."""
    n_w, n_z, n_r = powers.shape
    w, z, r = np.arange(n_w) - n_w // 2, np.arange(n_z) - n_z // 2, np.arange(n_r)
    total = np.zeros(powers.shape)
    for k in range(1, H + 1):
        total += powers[np.ix_(nearest(w, k, H) + n_w // 2, nearest(z, k, H) + n_z // 2, (2 * r * k + H) // (2 * H))]
    return total


def variances(level):
    """The relative variance of each bin's level, 1.5 / (N log(2)^2) where N bins of neighbouring blocks have the level, and at most that
    of the nearest level to the left that is no higher."""
    n, begin, blocks = len(level), 0, []
    while begin < n:
        width = min(max(begin // 16, 16), 4096)
        end = n if n - begin < width + width // 2 else begin + width
        blocks.append((begin, end, np.median(level[max(begin, 1):end])))
        begin = end
    first, found = 0, np.zeros(n)
    for i, (_, end, here) in enumerate(blocks):
        if i + 1 == len(blocks) or abs(blocks[i + 1][2] / here - 1) > 1e-4:
            found[first:end] = 1.5 / (end - first) / math.log(2) ** 2
            first = end
    for i, (begin, end, here) in enumerate(blocks):
        lower = [left for left in blocks[max(0, i - 64):i] if left[2] <= here * (1 + 1e-4)]
        if lower:
            found[begin:end] = min(found[begin], found[lower[-1][0]])
    return found


def variance(of_bins, r, powers):
    """That of a sum of harmonics: those of one level vary together."""
    each = [of_bins[int((k + 1) * r + 0.5)] for k in range(len(powers))]
    return sum(v * sum(p for _, p in group) ** 2 for v, group in itertools.groupby(zip(each, powers), lambda pair: pair[0])) / sum(powers) ** 2


def sigma(m, s, n, v):
    """Significance of a sum of m powers among n, divided by a level of variance v: the tail of I(b / (b + s); b, m), b = 1 / v, as a
    binomial series, and the normal variable of the same tail."""
    b = 1 / v
    log_q = -b * math.log1p(s / b) + math.log(sum(math.prod((b + i) / (b + s) * s / (i + 1) for i in range(k)) for k in range(m)))
    log_none = n * math.log1p(-math.exp(log_q))         # the logarithm of 1 - p
    p = -math.expm1(log_none)
    return statistics.NormalDist().inv_cdf(math.exp(log_none)) if p > 0.5 else -statistics.NormalDist().inv_cdf(p)


# ---- the tables --------------------------------------------------------------------------------------------------------------

def steps(a, b, H):
    """Distance of two signals in steps of the grid, at their harmonic H."""
    return max(abs(a[key] - b[key]) * H / STEP[key] for key in STEP)


def explains(row, top, H, point):
    """Whether a row's signal reaches a point of r, z and w: one of the row's harmonics lies near the point's, as far as the response reaches."""
    for h in range(1, 17):
        for k in range(1, H + 1):
            a = {key: h * row[key] for key in STEP}
            b = {key: k * point[key] / H for key in STEP}
            if abs(a["r"] - b["r"]) <= 3 + abs(a["z"] - b["z"]) + abs(a["w"] - b["w"]) / 6 and h <= 2 * top:
                return True
    return False


def numbers(row, H, seconds):
    f = (row["r"] - row["w"] / 24) / seconds
    return {"frequency": f, "period": 1 / f, "frequency_derivative": row["z"] / seconds ** 2,
            "acceleration": 299792458.0 * row["z"] / seconds ** 2 / f}


def compare(name, table, spectrum, raw, truth):
    """One channel's rows with the definition."""
    notes = dict(table.attrs)
    rows = [dict(zip(table.dtype.names, row)) for row in table[()] if row["channel"] == truth["channel"]]
    n, seconds = int(notes["transform_samples"]), float(notes["seconds"])
    trials, least = np.atleast_1d(notes["trials"]), np.atleast_1d(notes["least_power"])
    zs = np.arange(-(int(notes["z_max"]) // 2), int(notes["z_max"]) // 2 + 1) * STEP["z"]
    ws = np.arange(-(int(notes["w_max"]) // 20), int(notes["w_max"]) // 20 + 1) * STEP["w"]
    x = series_of(spectrum, n)
    powers = plane(x, zs, ws)

    level = abs(raw[1:len(spectrum)]) ** 2 / np.maximum(abs(spectrum[1:]), 1e-30) ** 2
    of_bins = variances(np.concatenate([[np.nan], level]))
    check(np.allclose(np.angle(raw[1:len(spectrum)] / spectrum[1:]), 0, atol=1e-2), f"{name}: the normalized spectrum has other phases")
    edges = np.flatnonzero(np.abs(np.diff(level)) > 1e-3 * level[:-1])
    check(len(edges) < 120, f"{name}: the level has {len(edges)} steps")
    quiet = np.median(abs(spectrum[len(spectrum) // 2:]) ** 2) / math.log(2)
    check(abs(quiet - 1) < 0.1, f"{name}: noise has a power of {quiet}")

    for row in rows:
        H = int(row["harmonics"])
        each = [power(x, h * row["r"], h * row["z"], h * row["w"]) for h in range(1, H + 1)]
        exact = sum(each)
        check(abs(row["power"] / exact - 1) < 5e-3, f"{name}: power {exact}, not that of {row}")
        stage = H.bit_length() - 1
        expected = sigma(H, row["power"], trials[stage], variance(of_bins, row["r"], each))
        check(abs(expected - row["sigma"]) < 1e-2 * max(1, abs(row["sigma"])), f"{name}: sigma {expected}: {row}")
        for key, value in numbers(row, H, seconds).items():
            check(math.isclose(row[key], value, rel_tol=1e-9, abs_tol=1e-15), f"{name}: {key} {value}: {row}")
        for key in ("r", "z"):
            for sign in (-1, 1):
                aside = dict(row, **{key: row[key] + sign * 0.3 * STEP[key] / H})
                beside = sum(power(x, h * aside["r"], h * aside["z"], h * aside["w"]) for h in range(1, H + 1))
                check(beside <= exact * 1.005 or row["r_error"] * H >= 0.49, f"{name}: {key} is no maximum, {beside} at {aside}: {row}")
        if row["related"] >= 0:
            other = table[row["related"]]
            ratio = row["numerator"] / row["denominator"]
            check(other["sigma"] >= row["sigma"] and abs(row["r"] - other["r"] * ratio) <= 1 + abs(row["z"]), f"{name}: not related: {row}")

    first, end = math.ceil(2 * notes["r_low"]), min(2 * len(spectrum), math.floor(2 * notes["r_high"]) + 1)
    n_points, best = 0, (-math.inf, None, 0)
    for stage, (m, limit) in enumerate(zip(trials, least)):
        H = 1 << stage
        total = sums(powers, H)
        total[:, :, :first] = total[:, :, end:] = 0
        w, z, r = np.unravel_index(np.argmax(total), total.shape)
        strength = sigma(H, total[w, z, r], m, variance(of_bins, r / 2 / H, np.ones(H)))
        if strength > best[0]:
            best = strength, {"r": r / 2, "z": zs[z], "w": ws[w]}, H
        for w, z, r in np.argwhere(total >= limit + SLACK)[:300]:
            point = {"r": r / 2, "z": zs[z], "w": ws[w]}
            n_points += 1
            each = [power(x, h * point["r"] / H, h * point["z"] / H, h * point["w"] / H) for h in range(1, H + 1)]
            exact = max(sum(each), limit)
            least = sigma(H, exact - SLACK, m, variance(of_bins, point["r"] / H, each)) < notes["least_sigma"]
            check(exact < limit + SLACK or least or any(explains(row, int(row["harmonics"]), H, point) for row in rows),
                  f"{name}: no row explains {total[w, z, r]} (limit {limit}) of {H} harmonics at {point}")
        for row in rows:
            if int(row["harmonics"]) == H:
                at = [np.arange(round(row[key] * H / step) - 2, round(row[key] * H / step) + 3) for key, step in STEP.items()]
                near = total[np.ix_(*(np.clip(a, 0, size - 1) for a, size in zip((at[2] + len(ws) // 2, at[1] + len(zs) // 2, at[0]), total.shape)))]
                check(near.max() >= limit - SLACK, f"{name}: no sum near {row} reaches {limit}: {near.max()}")
    if best[0] > 4:
        check(rows and steps(rows[0], {key: best[1][key] / best[2] for key in STEP}, best[2]) <= 1.001 or
              rows[0]["sigma"] >= best[0], f"{name}: the best point is {best}, the best row {rows[:1]}")
    if truth["harmonics"]:
        check(rows and steps(rows[0], truth, truth["harmonics"]) <= 1 and rows[0]["sigma"] > 8 and
              int(rows[0]["harmonics"]) in (truth["harmonics"], 2 * truth["harmonics"]), f"{name}: {truth} is not found: {rows[:1]}")
    return n_points


def synthetic(n, n_fft, truth, is_red):
    x = random.standard_normal(n)
    if is_red:
        x = np.fft.irfft(np.fft.rfft(x) * np.sqrt(1 + (60 / np.maximum(1, np.arange(n // 2 + 1))) ** 2), n)
    cycles = truth["r"] * np.arange(n_fft) / n_fft + turns(n_fft, truth["z"], truth["w"])
    for h in range(1, truth["harmonics"] + 1):
        x += truth["amplitude"] * np.cos(2 * np.pi * h * cycles[:n] + 0.4)
    return x + 300


def searched(n, truths, options, n_fft):
    rows = [synthetic(n, n_fft, truth, i % 2) for i, truth in enumerate(truths)]
    with h5py.File("in.h5", "w") as file:
        file["x"] = np.asarray(rows, "<f4")
        file["x"].attrs["sample_rate_hz"] = 1000.0
        file["dm"] = 10.5 + np.arange(len(rows))
        file["dm"].attrs["units"] = "pc cm-3"
        file["dm"].make_scale("dm")
        file["x"].dims[1].label = "time"
        file["x"].dims[0].attach_scale(file["dm"])
    lapwing(2, "accel", "--input", "in.h5:/x", "--axis", "1", "--keep-spectrum", "--output", "out.h5", "--overwrite", *options)
    n_points = 0
    with h5py.File("out.h5") as file:
        table = file["candidates"]
        check(all(row["dm"] == 10.5 + row["channel"] for row in table[()]), f"dispersion measures: {table[()]}")
        check(np.all(np.diff(table["sigma"]) <= 0), "the table is not sorted")
        check(table["sigma"].min() >= table.attrs["least_sigma"], f"a candidate of sigma {table['sigma'].min()}")
        check(int(table.attrs["transform_samples"]) == n_fft, f"the transform has {table.attrs['transform_samples']} samples")
        for i, truth in enumerate(truths):
            x = np.asarray(rows[i], "<f4").astype(float)
            raw = np.fft.rfft(x - x.mean(), n_fft)
            n_points += compare(f"{n} samples, channel {i}", table, file["spectrum_normalised"][i], raw, dict(truth, channel=i))
    return n_points


# ---- lists for PRESTO --------------------------------------------------------------------------------------------------------

def read_list(name):
    """Candidates of a list, as candlist_from_candfile of PRESTO's sifting.py splits its lines."""
    found, current = {}, None
    with open(name) as file:
        for line in file:
            words = line.split()
            if re.match(r"^\d", line):
                found[int(words[0])] = {"sigma": float(words[1]), "power": float(words[2]), "harmonics": int(words[4]),
                                        "r": float(words[7].split("(")[0]), "z": float(words[9].split("(")[0]), "powers": []}
            elif re.match(r"^ \d", line):
                current = found[int(words[0])]
                current["powers"].append(float(words[3].split("(")[0]))
            elif current and len(current["powers"]) < current["harmonics"]:
                current["powers"].append(float(words[2].split("(")[0]))
            elif line.startswith((" Number of bins in the time series", " Width of each time series bin (sec)")):
                found[line.split()[0]] = float(words[-1])
    return found


def lists():
    said = lapwing(1, "info", "out.h5:/candidates").stdout
    for fact in ("Cand  Sigma   Summed", "FFT 'z'", "FFT 'w'", "Channel  DM"):
        check(fact in said, f"info lacks {fact}: {said}")
    lapwing(1, "info", "out.h5:/candidates", "--write-accel", "list")
    lapwing(1, "info", "out.h5:/candidates", "--write-accel", "list", code=74)
    lapwing(1, "info", "--write-accel", "list", code=2)
    lapwing(1, "info", "in.h5:/x", "--write-accel", "none", code=2)
    with h5py.File("out.h5") as file:
        table = file["candidates"][()]
        n_fft = int(file["candidates"].attrs["transform_samples"])
    for channel in set(table["channel"]):
        own = [row["related"] < 0 or (row["numerator"] == row["denominator"] and table["channel"][row["related"]] != channel) for row in table]
        rows = table[(table["channel"] == channel) & own]
        found = read_list(f"list_DM{10.5 + channel:.2f}_ACCEL_{20}")
        check(found["Number"] == n_fft and math.isclose(found["Width"], 1e-3), f"T: {found['Number']}, {found['Width']}")
        check(len(found) == len(rows) + 2, f"{len(found) - 2} candidates in the list of {len(rows)}")
        for number, row in enumerate(rows, 1):
            one = found[number]
            check(one["harmonics"] == row["harmonics"] == len(one["powers"]) and abs(one["sigma"] - row["sigma"]) < 0.006 and
                  abs(one["r"] - row["r"]) <= 0.1 * row["r_error"] and abs(one["z"] - row["z"]) <= 0.1 * max(row["z_error"], 1e-9) and
                  abs(sum(one["powers"]) / row["power"] - 1) < 0.02, f"the list has {one} for {row}")
    lapwing(1, "accel", "--input", "in.h5:/x", "--axis", "1", "--output", "bare.h5", "--zmax", "20")
    check("--keep-spectrum" in lapwing(1, "info", "bare.h5:/candidates", "--write-accel", "bare", code=2).stderr, "no word of --keep-spectrum")


def main():
    none = {"harmonics": 0, "amplitude": 0, "r": 0, "z": 0, "w": 0}
    n_points = searched(9973, [{"harmonics": 4, "amplitude": 0.13, "r": 512.3, "z": -4.2, "w": 0},
                               {"harmonics": 1, "amplitude": 0.2, "r": 1800.7, "z": 15.3, "w": 0}, none, none],
                        ["--zmax", "20", "--numharm", "4", "--sigma", "0.5"], 10000)
    n_points += searched(4096, [{"harmonics": 2, "amplitude": 0.25, "r": 310.2, "z": 3.1, "w": 21.0}, none],
                         ["--zmax", "20", "--wmax", "60", "--numharm", "2", "--sigma", "0.5"], 4096)
    check(n_points > 50, f"only {n_points} points of the plane are above the limits")
    lists()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
finish()
