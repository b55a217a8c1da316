"""pulses.py LAPWING FILE.fil MASK.h5:/dataset - single pulses and false alarms of `lapwing ols --beams` beside the method of PRESTO's
single_pulse_search, written here in numpy. The present folder gets a picture of what is found beyond 5 sigma, bursts.png.

The file is one of 8 bits whose noise is real, and of which channels 0:632 are taken. Its copies, with each channel turned by a
random time, follow each other: noise of the telescope without any pulse (`shuffled`). Bursts are added to it (`bursts`). The file
with its channels in reverse order keeps what all channels have in common, and undoes the dispersion of what is in the sky (`reversed`)."""

import os
import subprocess
import sys
import tempfile
from math import erfc, sqrt

import h5py
import numpy as np

LAPWING, NAME, MASK = sys.argv[1:4]
COPIES, USED, WIDTHS, PARTS = 30, 632, [1, 2, 4, 8, 16, 32], 8
random = np.random.default_rng(5)

with open(NAME, "rb") as file:
    raw = file.read()
end = raw.index(b"HEADER_END") + 10
number = {k: np.frombuffer(raw, t, 1, raw.index(k.encode(), 0, end) + len(k))[0]
          for k, t in (("nchans", "<i4"), ("fch1", "<f8"), ("foff", "<f8"), ("tsamp", "<f8"))}
n, first, step, dt = (number[k] for k in ("nchans", "fch1", "foff", "tsamp"))
x = np.frombuffer(raw[end:], np.uint8).reshape(-1, n)
with h5py.File(MASK.split(":")[0]) as file:
    masked = file[MASK.split(":")[1]][()] != 0
frequencies = first + step * np.arange(n)


def write(name, samples):
    with open(name, "wb") as out:
        out.write(raw[:end] + samples.tobytes())


def lapwing(*words):
    subprocess.run([LAPWING, *map(str, words), "--overwrite"], check=True, capture_output=True)


def search(name, channels, mask, dms, threshold, *more):
    """The table of lapwing, and the delays and dispersion measures of the trials."""
    with h5py.File("mask.h5", "w") as out:
        out["mask"] = mask.astype("u1")
    lapwing("filters", "dispersion", "--for", name, "--channels", channels, "--dm", dms, "--dm-tolerance", 1.25, "--output", "dm.h5")
    lapwing("ols", "--input", name, "--channels", channels, "--mask", "mask.h5:/mask", "--beams", "dm.h5:/delays", "--boxcar",
            ",".join(map(str, WIDTHS)) + ",baseline=512", "--boundary", "reflect", "--products", "peaks", "--threshold", threshold,
            *more, "--output", "out.h5")
    with h5py.File("dm.h5") as d, h5py.File("out.h5") as out:
        return out["peaks"][()], d["delays"][()], d["dm"][()]


def series(samples, delays):
    """The sum of a trial, less a line in each piece of 1000 samples, in units of the scatter of the pieces' middle 95%."""
    count = len(samples) - delays.max()
    y = sum(samples[d:d + count, c].astype(np.int64) for c, d in enumerate(delays))[:count // 1000 * 1000].reshape(-1, 1000)
    i = np.arange(1000) - 499.5
    y = y - y.mean(axis=1, keepdims=True)
    y = y - i * ((y @ i) / (i @ i))[:, None]
    middle = np.sort(y, axis=1)[:, 25:-25]
    return (y / (1.148 * np.sqrt((middle ** 2).sum(axis=1) / 950))[:, None]).ravel()


def usual(samples, delays, threshold):
    """Crossings (index, trial, width, ratio) of all widths, each divided by its root."""
    found = []
    for trial, row in enumerate(delays):
        sums = np.concatenate([[0], np.cumsum(series(samples, row))])
        for w in WIDTHS:
            snr = (sums[w:] - sums[:-w]) / np.sqrt(w)
            found += [(int(j) + (w - 1) // 2, trial, w, snr[j]) for j in np.flatnonzero(snr >= threshold)]
    return sorted(found), len(sums) - 1


def strongest(crossings, reach, trials):
    """The strongest of each cluster of friends of friends."""
    parent, last, best = list(range(len(crossings))), {}, {}

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i
    for i, (index, trial, _, _) in enumerate(crossings):
        for k in range(trial - trials, trial + trials + 1):
            if k in last and index - crossings[last[k]][0] <= reach:
                parent[root(i)] = root(last[k])
        last[trial] = i
    for i, one in enumerate(crossings):
        best[root(i)] = max(best.get(root(i), one), one, key=lambda c: c[3])
    return sorted(best.values())


def add_bursts(samples):
    y, planted = samples.astype(np.float32), []
    scatter = y.std(axis=0)
    for k in range(24):
        at, dm = (k + 0.5 + random.uniform(-0.2, 0.2)) * len(y) * dt / 25, random.uniform(320, 580)
        width, height = 10 ** random.uniform(-3, -1.8), random.uniform(0.2, 0.8)
        height /= np.sqrt(width / dt)
        for c in range(USED):
            arrivals = at + 4148.808 * dm * ((frequencies[c] + step * ((np.arange(PARTS) + 0.5) / PARTS - 0.5)) ** -2 - first ** -2)
            begin, stop = int(arrivals.min() / dt) - 1, min(len(y), int((arrivals.max() + width) / dt) + 2)
            edges = dt * np.arange(begin, stop + 1)
            if stop > begin:
                y[begin:stop, c] += height * scatter[c] * sum(np.diff(np.clip(edges - a, 0, width)) for a in arrivals) / PARTS / dt
        planted.append((at, dm, width))
    return np.clip(np.floor(y + random.random(y.shape, dtype=np.float32)), 0, 255).astype(np.uint8), planted


def compare_pulses(samples):
    y, planted = add_bursts(samples)
    write("bursts.fil", y)
    channels = f"0:{USED}"
    apart = len(search("bursts.fil", channels, masked, "300:600", 6, "--cluster", "64,filters")[0])
    table, delays, dms = search("bursts.fil", channels, masked, "300:600", 6, "--cluster", "64,filters,trials=8")
    others = strongest(usual(np.where(masked, 0, y)[:, :USED], delays, 6)[0], 64, 8)
    print(f"rows without trials=8: {apart}; with it: {len(table)}; PRESTO's method, joined over trials: {len(others)}\n")
    print("| s, DM, width (ms) of a burst | lapwing: ratio, DM, width (samples) | PRESTO's method |\n|---|---|---|")
    for at, dm, width in planted:
        ours = [f"{r['snr']:.2f}, {r['dm']:.1f}, {WIDTHS[r['filter']]}" for r in table if abs(r["index"] * dt - at) < 0.05]
        theirs = [f"{s:.2f}, {dms[t]:.1f}, {w}" for i, t, w, s in others if abs(i * dt - at) < 0.05]
        if ours or theirs:
            print(f"| {at:.3f}, {dm:.1f}, {1e3 * width:.1f} | {'; '.join(ours)} | {'; '.join(theirs)} |")
    search("bursts.fil", channels, masked, "300:600", 5, "--cluster", "64,filters,trials=8")
    lapwing("plot", "out.h5:/peaks", "--size", "800x400", "--title", "24 bursts, threshold 5", "--output", "../bursts.png")


def count_alarms(name, samples, channels, mask, dms):
    table, delays, _ = search(name, channels, mask, dms, 4)
    cut = slice(*map(int, channels.split(":")))
    others, count = usual(np.where(mask, 0, samples)[:, cut], delays, 4)
    print(f"\n| {name}: {len(delays)} trials of {len(samples)} samples | sigma | widths {', '.join(map(str, WIDTHS))} | Gaussian, each |\n|---|---|---|---|")
    for threshold in (4, 4.5, 5, 5.5, 6):
        part = 0.5 * erfc(threshold / sqrt(2))
        ours = [int(((table["filter"] == f) & (table["snr"] >= threshold)).sum()) for f in range(len(WIDTHS))]
        theirs = [sum(w == v and s >= threshold for _, _, v, s in others) for w in WIDTHS]
        print(f"| lapwing | {threshold} | {', '.join(map(str, ours))} | {len(samples) * len(delays) * part:.2f} |")
        print(f"| PRESTO's method | {threshold} | {', '.join(map(str, theirs))} | {count * len(delays) * part:.2f} |")


with tempfile.TemporaryDirectory(dir=".") as folder:
    MASK = os.path.abspath(MASK.split(":")[0])
    os.chdir(folder)
    copies = np.concatenate([np.stack([np.roll(x[:, c], random.integers(len(x))) for c in range(n)], axis=1) for _ in range(COPIES)])
    compare_pulses(copies)
    write("shuffled.fil", copies)
    count_alarms("shuffled.fil", copies, f"0:{USED}", masked, "300:600")
    write("reversed.fil", x[:, ::-1])
    count_alarms("reversed.fil", x[:, ::-1], f"{n - USED}:{n}", masked[::-1], "0:150")
    os.chdir("..")
