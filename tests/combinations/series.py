"""Random runs of the job `ols`."""

import re

import h5py
import numpy as np

from inputs import (as_number, noise, not_finite, numbers_of, pick, random_output_type, random_window, rms, saturated,
                    signed, spoil, write_input, write_operand)
from tested import beyond, friends


def convolve_one(x, bad, h, mode, boundary):
    """@return values; which of them meet bad samples; the part of the taps' energy that meets bad samples; the largest rms that a
    tap meets"""
    n, m = len(x), len(h)
    index = beyond(boundary, n, m - 1)
    padded, touched = np.where(index < 0, 0, x[index]), np.where(index < 0, False, bad[index])
    full = np.convolve(padded, h)[m - 1:n + 2 * m - 2]
    sums = np.concatenate([[0], np.cumsum(touched)])
    lost = np.convolve(touched.astype(float), np.abs(h) ** 2)[m - 1:n + 2 * m - 2] / max(float(np.sum(np.abs(h) ** 2)), 1e-300)
    first, length = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]
    cut = slice(first, first + length)
    power = np.concatenate([[0], np.cumsum(np.abs(padded) ** 2)])
    begin = first + np.arange(m)
    strongest = float(np.sqrt(np.max((power[begin + length] - power[begin]) / max(length, 1))))
    return full[cut], ((sums[m:] - sums[:-m]) > 0)[cut], lost[cut], max(strongest, rms(x))


def interpolated(y, mask, rate):
    """Interpolate by the Lagrange polynomial through four neighbours."""
    n, order = len(y), min(4, len(y))
    j = np.arange(rate * (n - 1) + 1)
    begin = np.clip(j // rate - 1, 0, n - order)
    out, out_mask = np.zeros(len(j), y.dtype), np.zeros(len(j), bool)
    for k in range(order):
        weight = np.ones(len(j))
        for other in range(order):
            if other != k:
                weight *= (j - (begin + other) * rate) / ((k - other) * rate)
        out += weight * y[begin + k]
        out_mask |= mask[begin + k]
    own = j % rate == 0
    out[own], out_mask[own] = y[j[own] // rate], mask[j[own] // rate]
    return out, out_mask


def finished(y, mask, post):
    if post == "power":
        return np.abs(y) ** 2, mask
    if post == "amplitude":
        return np.abs(y), mask
    if post == "derivative":
        out_mask = np.zeros(len(y), bool)
        out_mask[1:-1] = mask[2:] | mask[:-2]
        out_mask[0], out_mask[-1] = mask[0] | mask[1], mask[-1] | mask[-2]
        return np.gradient(y), out_mask
    return y, mask


class Ols:
    name, arrays = "ols", ("filtered", "best", "blocks", "peaks")

    def __init__(self, rng, folder):
        self.options = {}
        self.make_input(rng, folder)
        self.make_filters(rng, folder)
        self.make_shape(rng)
        self.make_products(rng)
        self.make_mask(rng, folder)
        taps = self.taps
        self.options["nan"] = pick(rng, "propagate", "propagate", "zero", "error")
        if rng.random() < 0.3:
            self.options["segment"] = int(pick(rng, taps + 3, 2 * taps + 7, 1 << int(2 * taps).bit_length(), 4096 + taps))

    def make_input(self, rng, folder):
        chance = rng.random()
        n = int(rng.integers(1, 60) if chance < 0.1 else rng.integers(60, 800) if chance < 0.35 else rng.integers(800, 20000))
        dims = pick(rng, 1, 2, 2)
        channels = 1 if dims == 1 else int(pick(rng, 2, 3, 5, 9))
        axis = 0 if dims == 1 else pick(rng, 0, 1)
        x = noise(rng, (n,) if dims == 1 else (n, channels) if axis == 0 else (channels, n),
                  pick(rng, "i1", "u1", "i2", "u2", "i4", "f4", "f4", "f4", "f8", "c8", "c16"))
        if x.dtype.kind in "fc" and rng.random() < 0.3:
            spoil(rng, x)
        self.rate = float(pick(rng, 100, 500, 4096, 1000))
        self.kind = pick(rng, "h5", "h5", "npy", "raw", "joined", "gaps") if n > 20 else "h5"
        names, self.x, more = write_input(rng, folder, x, axis, self.rate, self.kind)
        self.axis, self.n, self.options = axis, n, {**more}
        if dims == 2 and self.kind != "raw":
            self.options["axis"] = axis
        if self.kind in ("npy", "raw"):
            self.options["sample-rate"] = f"{self.rate}Hz"
        self.arguments = ["ols", "--input", *names]

    def make_filters(self, rng, folder):
        """Choose filters. self.h becomes the filters of a file, [taps] or [filters, taps], or None if options define the
        filters."""
        chance, o, self.h = rng.random() if self.n > 200 else 1.0, self.options, None
        low = self.rate * float(rng.uniform(0.02, 0.2))
        if chance < 0.28:
            self.taps = int(rng.integers(5, 100)) | 1
            if chance < 0.2:
                band = f"{low:.6g}:{2 * low:.6g}"
                o.update(pick(rng, {"bandpass": band}, {"bandpass": f"{band},{low:.6g}:{3 * low:.6g}"}, {"lowpass": f"{low:.6g}"},
                              {"highpass": f"{low:.6g}"}), taps=self.taps)
                return
            o["boxcar"] = ",".join(map(str, sorted(rng.choice(np.arange(1, 40), int(rng.integers(1, 4)), False))))
            self.taps = max(map(int, o["boxcar"].split(",")))
            if rng.random() < 0.5:
                o["baseline"] = self.taps = int(rng.integers(41, 90))
            return
        chance = rng.random()
        self.taps = int(rng.integers(1, 9) if chance < 0.25 else rng.integers(9, 130) if chance < 0.8 else rng.integers(130, 1200)
                        if chance < 0.95 or self.n > 3000 else self.n + rng.integers(1, 30))
        filters = pick(rng, None, 1, 2, 3, 5, 17)
        self.taps = max(self.taps, 2) if filters and filters > 1 else self.taps         # [F x 1] would be read as one filter
        self.h = noise(rng, (self.taps,) if filters is None else (filters, self.taps), pick(rng, "f4", "f8", "f8", "c8", "c16", "i2"))
        if rng.random() < 0.1 and filters:
            self.h[-1] = 0
        self.arguments += ["--filters", write_operand(folder, "taps", self.h)]

    def make_shape(self, rng):
        o, channels = self.options, 1 if self.x.ndim == 1 else self.x.shape[1 - self.axis]
        self.select = [slice(None)] * self.x.ndim
        if channels > 1 and rng.random() < 0.35:
            first, step = int(rng.integers(0, channels)), int(rng.integers(1, 4))
            end = int(rng.integers(first + 1, channels + 1))
            o["channels"] = f"{first}:{end}:{step}"
            self.select[1 - self.axis] = slice(first, end, step)
        if rng.random() < 0.35:
            window, self.select[self.axis] = random_window(rng, self.n)
            o.update(window)
            self.n = window["count"]
        o["mode"] = pick(rng, "full", "same", "same", "same", "valid")
        if o["mode"] == "valid" and self.taps > self.n:
            o["mode"] = "same"
        if o["mode"] == "same":
            o["boundary"] = pick(rng, "zero", "edge", "wrap", "reflect")
        if rng.random() < 0.2:
            o["correlate"] = True
        o["precision"] = pick(rng, "single", "single", "double")

    def make_products(self, rng):
        o = self.options
        self.products = ["filtered"] if rng.random() < 0.35 else [p for p in self.arrays if rng.random() < 0.55] or ["peaks"]
        o["products"] = ",".join(self.products)
        if "filtered" in self.products:
            self.make_series(rng)
        if "peaks" in self.products:
            o["threshold"], o["cluster"] = round(float(rng.uniform(1.2, 3.5)), 3), int(pick(rng, 0, 0, 1, 5, 40, 300, 5000, 10**6))
            if rng.random() < 0.4:
                o["cluster-filters"] = True
            if rng.random() < 0.2:
                o["cluster-trials"] = int(pick(rng, 1, 2, 5, 1000))
            if rng.random() < 0.15:
                o["masked-fraction"] = round(float(rng.random()), 3)
        if "peaks" in self.products or "best" in self.products:
            o["noise"] = pick(rng, "energy", "measured", "measured")
        if "blocks" in self.products:
            values = [value for value in ("max", "mean", "rms") if rng.random() < 0.6]
            o["blocks"] = str(int(pick(rng, 1, 2, 7, 64, 1000, 10**6))) + (":" + ",".join(values) if values else "")

    def make_series(self, rng):
        o, alone = self.options, self.products == ["filtered"]
        chance = rng.random()
        if chance < 0.3 and self.n < 15000 and alone:
            o["interpolate"] = int(pick(rng, 2, 3, 4, 7, 64 if self.n < 300 else 5))
        elif chance < 0.5:
            o["decimate"] = int(pick(rng, 2, 3, 8, 16, 100, 999, self.n, self.n + 5))
        if rng.random() < 0.5 and alone:
            o["post"] = pick(rng, "power", "amplitude", "derivative")
        is_complex = self.x.dtype.kind == "c" or (self.h is not None and self.h.dtype.kind == "c")
        o.update(random_output_type(rng, self.x, o.get("post") in ("power", "amplitude") or not is_complex))

    def make_mask(self, rng, folder):
        shape = self.x.shape
        self.mask = None
        if rng.random() > 0.2:
            return
        kind = pick(rng, "time", "both", "channels") if len(shape) == 2 and shape[0] != shape[1] else "time"
        if kind == "both":
            marks = self.mask = rng.random(shape) < pick(rng, 0.001, 0.01)
        else:
            along = self.axis if kind == "time" else 1 - self.axis
            marks = rng.random(shape[along]) < (pick(rng, 0.001, 0.01, 0.1) if kind == "time" else 0.4)
            self.mask = np.broadcast_to(marks[:, None] if along == 0 and len(shape) == 2 else marks, shape)
        self.options["mask"] = write_operand(folder, "mask", marks if rng.random() < 0.6 else marks.astype(pick(rng, "u1", "f4", "i4")))

    # ---- the oracle

    def rows(self, array):
        """The array as [channel, sample], with the selected channels only."""
        array = array[tuple(self.select)]
        return array[None] if array.ndim == 1 else array.T if self.axis == 0 else array

    def planes(self, found):
        """A product as [filter, channel, index]."""
        found = found if self.has_filters else found[None]
        return found[:, None] if self.x.ndim == 1 else found.transpose(0, 2, 1) if self.axis == 0 else found

    def truth(self, file):
        o = self.options
        x = as_number(self.rows(self.x))
        masked = np.zeros(x.shape, bool) if self.mask is None else self.rows(self.mask)
        bad = not_finite(x, o["precision"]) & ~masked
        x = np.where(bad | masked, 0, x)
        self.has_filters = np.ndim(self.h) == 2 if self.h is not None else file["filters"].ndim == 2
        h = as_number(np.atleast_2d(file["filters"][()] if "filters" in file else self.h))
        if o.get("correlate") and "filters" not in file:
            h = np.conj(h[:, ::-1])
        shape = o["mode"], o.get("boundary", "zero")
        out = masked | (bad if o["nan"] == "zero" else False)
        made = [[convolve_one(row, spoilt, taps, *shape) for row, spoilt in zip(x, bad)] for taps in h]
        lost = [[convolve_one(row, dropped, taps, *shape) for row, dropped in zip(x, out)] for taps in h]
        named = re.search(r"N = ([0-9]+)", str(file.attrs.get("algorithm", "")))
        segment = max(int(named[1]) if named else 0, h.shape[1])
        unit = 5e-8 if o["precision"] == "single" else 1e-16
        self.y = np.array([[one[0] for one in row] for row in made])
        self.nan = np.array([[one[1] for one in row] for row in made]) & (o["nan"] != "zero")
        self.excluded = np.array([[one[1] for one in row] for row in lost])
        self.lost = np.array([[one[2] for one in row] for row in lost])
        level = np.array([[one[3] for one in row] for row in made])
        if not np.iscomplexobj(x):      # neighbours may share a transform: the stronger one's rounding is in both
            paired = np.minimum(np.arange(level.shape[1]) ^ 1, level.shape[1] - 1)
            level = np.maximum(level, level[:, paired])
        self.bound = level * np.array([[unit * (np.log2(2 * segment) * np.linalg.norm(taps) + 10 * np.sum(np.abs(taps)))] for taps in h])
        sigma = np.linalg.norm(h, axis=1)[:, None] * np.ones(len(x))
        if "noise" in file:
            sigma = np.atleast_1d(file["noise"][()]).reshape(len(x), len(h)).T
        self.sigma = sigma[:, :, None]
        self.tolerance = 12 * self.bound[:, :, None]
        over = np.where(self.sigma > 0, self.sigma, 1)
        self.snr = np.where(self.sigma > 0, np.abs(self.y) / over, 0)
        self.snr_tolerance = np.where(self.sigma > 0, self.tolerance / over, 0) + 1e-7 * self.snr

    def check(self, path):
        with h5py.File(path) as file:
            self.truth(file)
            found = []
            for product in self.products:
                found += getattr(self, "check_" + product)(file)
        return found

    def finish(self, filter_, channel):
        """One series of /filtered: values, which of them are NaN, the bound on their rms error."""
        o, rate, every = self.options, self.options.get("interpolate", 1), self.options.get("decimate", 1)
        y, nan, bound = self.y[filter_, channel], self.nan[filter_, channel], self.bound[filter_, channel]
        y, nan = interpolated(y, nan, rate) if rate > 1 else (y[::every], nan[::every])
        bound *= 3 if rate > 1 else 1
        largest = float(np.max(np.abs(y), initial=0))
        bound = {"power": 2 * largest * bound + bound * bound, "derivative": 2 * bound}.get(o.get("post"), bound)
        return (*finished(y, nan, o.get("post")), bound)

    def check_filtered(self, file):
        scale = self.options.get("output-scale", 1.0)
        made = [[self.finish(f, c) for c in range(self.y.shape[1])] for f in range(self.y.shape[0])]
        values, nan = (np.array([[one[i] for one in row] for row in made]) for i in (0, 1))
        bound = np.array([[one[2] for one in row] for row in made])[:, :, None] / scale
        found, kind = numbers_of(file["filtered"])
        found = self.planes(found)
        if found.shape != values.shape or np.iscomplexobj(found) != np.iscomplexobj(values):
            return [f"filtered: {found.shape} {found.dtype}, expected {values.shape} {values.dtype}"]
        if kind.kind == "f" and not np.array_equal(np.isnan(found), nan):
            return [f"filtered: NaN {np.isnan(found).sum()}, expected {nan.sum()}; first {np.argwhere(np.isnan(found) != nan)[0].tolist()}"]
        with np.errstate(all="ignore"):
            wanted = np.where(nan, 0, saturated(values, scale, kind))
            error = np.abs(np.where(nan & (kind.kind == "f"), 0, found) - wanted)
            if kind.kind in "iu" or kind.itemsize == 2:
                rounding = 0.5001 + 1e-6 * np.abs(wanted) if kind.kind in "iu" else 2.0 ** -10.9 * np.abs(wanted) + 9e-8
                off = error - 36 * bound - rounding
                return [f"filtered: {kind} off by {off.max()} over tolerance at {np.argwhere(off == off.max())[0].tolist()}"] \
                    if off.max(initial=0) > 0 else []
            if kind.itemsize == 4 and np.max(np.abs(wanted), initial=0) > 3e38:
                return []
            own = (6e-8 if kind.itemsize == 4 else 4e-16) * np.sqrt(np.mean(np.abs(wanted) ** 2, axis=2))
            ratio = np.sqrt(np.mean(error ** 2, axis=2)) / (bound[:, :, 0] + own + 1e-44)
            if np.any(ratio > 1):
                return [f"filtered: rms error {ratio.max():.3g} times the allowed"]
            worst = error - 40 * bound - 3e-7 * np.abs(wanted) - 1e-44
            return [f"filtered: single value off by {error.max():.3g}"] if worst.max(initial=0) > 0 else []

    def check_best(self, file):
        if not signed(self.y, file["best/value"]).all():        # where both signs do not count, rounding decides about outputs near 0
            return []
        value, number = (self.planes(file["best/" + name][()][None] if self.has_filters else file["best/" + name][()])[0]
                         for name in ("value", "filter"))
        snr = np.where(self.nan | ~(self.sigma > 0), -1, self.snr)
        none = (snr < 0).all(axis=0)
        if value.shape != none.shape or not np.array_equal(none, number == -1) or not np.array_equal(np.isnan(value), none):
            return [f"best: {value.shape}, {np.sum(number == -1)} without a filter, expected {none.shape}, {none.sum()}"]
        at = np.where(number < 0, 0, number).astype(int)[None]
        mine, its = np.take_along_axis(snr, at, 0)[0], np.take_along_axis(self.y, at, 0)[0]
        slack = np.take_along_axis(self.snr_tolerance, at, 0)[0] + np.max(self.snr_tolerance, axis=0)
        own = np.take_along_axis(np.broadcast_to(self.tolerance, self.y.shape), at, 0)[0]
        found = ["best: another filter is stronger"] if np.any((snr.max(axis=0) - mine > slack) & ~none) else []
        off = np.where(none, 0, np.abs(np.where(none, 0, value) - its)) - own - 2e-7 * np.abs(its) - 1e-44
        return found + ([f"best: value off by {off.max()}"] if np.any((off > 0) & ~none) else [])

    def check_blocks(self, file):
        every, _, names = self.options["blocks"].partition(":")
        y, found = np.where(self.nan, np.nan, self.y), []
        parts = [y[:, :, cut:cut + int(every)] for cut in range(0, y.shape[2], int(every))]
        of_part = {"max": lambda p: np.abs(p).max(axis=2), "mean": lambda p: p.mean(axis=2),
                   "rms": lambda p: np.sqrt(np.mean(np.abs(p) ** 2, axis=2))}
        with np.errstate(all="ignore"):
            for name in names.split(",") if names else of_part:
                stored, wanted = self.planes(file["blocks/" + name][()]), np.stack([of_part[name](p) for p in parts], axis=2)
                if stored.shape != wanted.shape or not np.array_equal(np.isnan(stored), np.isnan(wanted)):
                    found.append(f"blocks/{name}: {stored.shape}, expected {wanted.shape}, or NaN elsewhere")
                    continue
                off = np.abs(stored - wanted) - self.tolerance - 3e-7 * np.abs(wanted) - 1e-44
                if np.nanmax(off, initial=-1) > 0:
                    found.append(f"blocks/{name}: off by {np.nanmax(off)}")
        return found

    def check_peaks(self, file):
        o, table, (n_filters, n_channels, n) = self.options, file["peaks"][()], self.y.shape
        reach, threshold, fraction = o["cluster"], o["threshold"], o.get("masked-fraction", 0)
        counts = signed(self.y, file["peaks"])
        excluded = self.excluded & (self.lost > fraction + 1e-9) if fraction > 0 else self.excluded
        unsure = self.excluded & (np.abs(self.lost - fraction) < 1e-9) if fraction > 0 else np.zeros(self.nan.shape, bool)
        low = np.where(self.nan | excluded | unsure | ~counts, -1, self.snr - self.snr_tolerance)
        high = np.where((self.nan | excluded) & ~unsure | ~counts, -1, self.snr + self.snr_tolerance)

        def near(f, c, i):
            return (slice(None) if o.get("cluster-filters") else slice(f, f + 1), c, slice(max(0, i - reach), min(n, i + reach + 1)))
        keys = [tuple(row) for row in zip(table["index"], table["channel"], table["filter"])]
        found = [] if keys == sorted(set(keys)) else ["peaks: not sorted, or twice"]
        for row in table[::max(1, len(table) // 300)]:
            i, c, f = int(row["index"]), int(row["channel"]), int(row["filter"])
            if not (0 <= i < n and 0 <= c < n_channels and 0 <= f < n_filters):
                return found + [f"peaks: there is no {(f, c, i)}"]
            value, around = row["re"] + 1j * row["im"], near(f, c, i)
            if not abs(value - self.y[f, c, i]) <= self.tolerance[f, c, 0] + 1e-6 * abs(value):
                found.append(f"peaks: {value} at {(f, c, i)}, expected {self.y[f, c, i]}")
            if high[f, c, i] < threshold or low[around].max() > high[f, c, i]:
                found.append(f"peaks: none at {(f, c, i)}, snr {self.snr[f, c, i]}")
            most = np.inf if "cluster-trials" in o else (high[around] >= threshold).sum()
            if not (low[around] >= threshold).sum() <= row["cluster_size"] <= most:
                found.append(f"peaks: cluster_size {row['cluster_size']} at {(f, c, i)}")
        rows = {(int(f), int(c), int(i)) for i, c, f in keys}
        sure = np.argwhere(low >= threshold)
        if "cluster-trials" in o and len(sure) == (high >= threshold).sum() <= 2000:        # else rounding decides, or it takes long
            sizes = {key: int(size) for key, size in zip(keys, table["cluster_size"])}
            for those in friends([(i, c, f) for f, c, i in sure.tolist()], reach, o["cluster-trials"], o.get("cluster-filters")):
                its = [(i, c, f) for i, c, f in those if (i, c, f) in sizes]
                best = max(low[f, c, i] for i, c, f in those)
                if len(its) != 1 or sizes[its[0]] != len(those) or high[its[0][2], its[0][1], its[0][0]] < best:
                    found.append(f"peaks: {len(its)} for a cluster of {len(those)} at {those[0]}")
        if "cluster-trials" in o:
            return found[:4]
        for f, c, i in sure[::max(1, len(sure) // 2000)].tolist():
            others = high[near(f, c, i)].copy()
            others[f if o.get("cluster-filters") else 0, i - max(0, i - reach)] = -1
            if others.max(initial=-1) < low[f, c, i] and (f, c, i) not in rows:
                found.append(f"peaks: {(f, c, i)} with snr {self.snr[f, c, i]} is missing")
        return found[:4]
