"""Random runs of the job `conv2d`."""

import os

import h5py
import numpy as np

from inputs import (as_number, noise, not_finite, numbers_of, pick, random_output_type, random_window, rms, saturated, signed, spoil,
                    write_dataset, write_npy, write_operand)
from tested import beyond


def convolve(a, b):
    """The outputs for which every tap of b meets an element of a."""
    shape = [1 << int(u + v).bit_length() for u, v in zip(a.shape, b.shape)]
    full = np.fft.ifft2(np.fft.fft2(a, shape) * np.fft.fft2(b, shape))[b.shape[0] - 1:a.shape[0], b.shape[1] - 1:a.shape[1]]
    return full if np.iscomplexobj(a) or np.iscomplexobj(b) else full.real


class Conv2d:
    name, arrays = "conv2d", ("convolved", "peaks")

    def __init__(self, rng, folder):
        self.options = {}
        self.make_input(rng, folder)
        self.make_kernel(rng, folder)
        self.make_shape(rng)
        self.make_products(rng)
        self.options["nan"] = pick(rng, "propagate", "propagate", "zero", "error", "interpolate")

    def make_input(self, rng, folder):
        rows, columns = (int(rng.integers(1, 20) if rng.random() < 0.2 else rng.integers(20, 200)) for _ in range(2))
        self.stack = int(pick(rng, 0, 0, 1, 2, 3, 6))
        dtype = pick(rng, "i1", "u1", "i2", "u2", "i4", "f4", "f4", "f8", "c8", "c16")
        x = noise(rng, (self.stack, rows, columns) if self.stack else (rows, columns), dtype)
        if x.dtype.kind in "fc" and rng.random() < 0.4:
            spoil(rng, x)
        self.kind = pick(rng, "h5", "h5", "npy", "files")
        parts = [x]
        if self.kind == "npy":
            names, x, _ = write_npy(rng, folder, x)
        else:
            if self.kind == "files" and not self.stack:
                parts += [noise(rng, (int(rng.integers(1, 60)), columns), dtype) for _ in range(int(rng.integers(1, 4)))]
            names = [os.path.join(folder, f"image{i}.h5") for i in range(len(parts))]
            for name, part in zip(names, parts):
                with h5py.File(name, "w") as file:
                    write_dataset(rng, file, part, 10)
            names = [name + ":/x" for name in names]
        self.x = np.concatenate(parts) if len(parts) > 1 else x
        self.arguments = ["conv2d", "--input", *names]

    def make_kernel(self, rng, folder):
        o, rows, columns = self.options, *self.x.shape[-2:]
        algorithm = pick(rng, None, None, None, "direct", "tiles", "full", "separable", "padded")
        self.h = None
        if rng.random() < 0.15 and self.x.dtype.kind != "c":
            o["gaussian"] = round(float(rng.uniform(0.6, 8)), 2)
            if rng.random() < 0.4:
                o["background"] = int(2 * o["gaussian"] + 3) | 1
        else:
            shape = [int(rng.integers(1, 6) if rng.random() < 0.5 else rng.integers(1, 40)) for _ in range(2)]
            if rng.random() < 0.05:
                shape = [rows + int(rng.integers(0, 4)), columns + int(rng.integers(0, 4))]
            self.h = noise(rng, shape, pick(rng, "f4", "f8", "f8", "c16", "i2"))
            if algorithm == "separable" or rng.random() < 0.1:
                self.h = np.outer(noise(rng, shape[0], "f8"), noise(rng, shape[1], "f8"))
            if rng.random() < 0.3:
                self.h = np.stack([self.h, self.h[::-1], self.h[:, ::-1]])[:int(rng.integers(1, 4))]
            self.arguments += ["--kernel", write_operand(folder, "kernel", self.h)]
        size = 1 if self.h is None else self.h.size
        if algorithm and not (algorithm == "direct" and size > 900) and not (algorithm == "separable" and "background" in o):
            o["algorithm"] = algorithm

    def make_shape(self, rng):
        o, (rows, columns) = self.options, self.x.shape[-2:]
        self.select = [slice(None)] * self.x.ndim
        if self.stack > 1 and rng.random() < 0.4:
            first, step = int(rng.integers(0, self.stack)), int(rng.integers(1, 3))
            o["channels"], self.select[0] = f"{first}::{step}", slice(first, None, step)
        if rng.random() < 0.35:
            window, self.select[-2] = random_window(rng, rows)
            o.update(window)
            rows = window["count"]
        o["mode"] = pick(rng, "full", "same", "same", "valid")
        if o["mode"] == "valid" and (self.h is None or self.h.shape[-2] > rows or self.h.shape[-1] > columns):
            o["mode"] = "same"
        if o["mode"] != "valid":
            o["boundary"] = pick(rng, "zero", "edge", "wrap", "reflect", "constant=2.5")
        if o["mode"] == "same" and rng.random() < 0.2 and self.h is not None:
            o["origin"] = ",".join(str(rng.integers(0, side)) for side in self.h.shape[-2:])
        if rng.random() < 0.2:
            o["correlate"] = True
        if rng.random() < 0.15 and self.h is not None:
            o["normalize"] = "sum"
        o["precision"] = pick(rng, "single", "single", "double")

    def make_products(self, rng):
        o = self.options
        self.products = pick(rng, ["convolved"], ["convolved"], ["peaks"], ["convolved", "peaks"], ["convolved", "peaks", "best"])
        o["products"] = ",".join(self.products)
        if "convolved" in self.products:
            if rng.random() < 0.3:
                o["decimate"] = int(pick(rng, 2, 3, 7, 100))
            o.update(random_output_type(rng, self.x, self.x.dtype.kind != "c" and (self.h is None or self.h.dtype.kind != "c")))
        if "peaks" in self.products:
            o["threshold"], o["cluster"] = round(float(rng.uniform(1.2, 3.5)), 3), int(pick(rng, 0, 1, 3, 20, 700, 10**6))
            o["noise"] = pick(rng, "energy", "measured", "measured")

    # ---- the oracle

    def kernels(self, file):
        made = self.h is None
        h = as_number(file["kernel"][()] if made else self.h)
        h = h if h.ndim == 3 else h[None]
        if self.options.get("normalize") and not made:
            h = h / h.sum(axis=(1, 2), keepdims=True)
        return np.conj(h[:, ::-1, ::-1]) if self.options.get("correlate") and not made else h

    def check(self, path):
        """Check a result; `verify` checks weighted outputs."""
        found = []
        with h5py.File(path) as file:
            kernels, x = self.kernels(file), self.x[tuple(self.select)]
            x = as_number(x if self.stack else x[None])
            bad = not_finite(x, self.options["precision"])
            if self.options["nan"] == "interpolate" and bad.any():
                return []
            convolved, kind = numbers_of(file["convolved"]) if "convolved" in self.products else (None, None)
            if convolved is not None:
                if convolved.ndim != (self.stack > 0) + (np.ndim(self.h) == 3) + 2:
                    return [f"convolved: {convolved.shape}"]
                convolved = convolved.reshape(len(kernels), len(x), *convolved.shape[-2:])
            noises = file["noise"][()].reshape(len(x), -1) if "noise" in file else np.tile([np.linalg.norm(h) for h in kernels], (len(x), 1))
            for k, number in np.ndindex(len(kernels), len(x)):
                self.truth(x[number], bad[number], kernels[k])
                if convolved is not None:
                    found += self.check_image(convolved[k, number], kind)
                if "peaks" in self.products:
                    table = file["peaks"][()]
                    self.no_peak = self.no_peak | ~signed(self.y, file["peaks"])
                    found += self.check_peaks(table[(table["image"] == number) & (table["kernel"] == k)], float(noises[number, k]))
        return found

    def truth(self, x, bad, h):
        """Outputs, which of them are NaN, which cannot be peaks, and the bound on their errors."""
        o, (rows, columns), sides = self.options, x.shape, h.shape
        boundary, _, constant = o.get("boundary", "zero").partition("=")
        down, right = (beyond(boundary, n, side - 1) for n, side in zip(x.shape, sides))
        outside = (down[:, None] < 0) | (right < 0)
        padded = np.where(outside, float(constant or 0), np.where(bad, 0, x)[np.ix_(down, right)])
        y = convolve(padded, h)
        touched = np.zeros(y.shape, bool)
        if bad.any():
            touched = convolve(np.where(outside, 0.0, bad[np.ix_(down, right)]), np.ones(sides)).real > 0.5
        origin = [int(v) for v in o["origin"].split(",")] if "origin" in o else [(side - 1) // 2 for side in sides]
        part = {"valid": np.s_[sides[0] - 1:rows, sides[1] - 1:columns], "full": np.s_[:, :],
                "same": np.s_[origin[0]:origin[0] + rows, origin[1]:origin[1] + columns]}[o["mode"]]
        self.y, self.no_peak = y[part], touched[part]
        self.nan = self.no_peak & (o["nan"] != "zero")
        unit, norm = 5e-8 if o["precision"] == "single" else 2e-16, np.linalg.norm(h)
        self.bound = rms(padded) * (2 * unit * (21 * norm + 2 * np.sum(np.abs(h))) + 1e-14 * norm)

    def check_image(self, found, kind):
        every, scale = self.options.get("decimate", 1), self.options.get("output-scale", 1.0)
        y, nan = self.y[::every, ::every], self.nan[::every, ::every]
        if found.shape != y.shape or np.iscomplexobj(found) != np.iscomplexobj(y):
            return [f"convolved: {found.shape} {found.dtype}, expected {y.shape} {y.dtype}"]
        if kind.kind == "f" and not np.array_equal(np.isnan(found), nan):
            return [f"convolved: NaN {np.isnan(found).sum()}, expected {nan.sum()}"]
        wanted = np.where(nan, 0, saturated(y, scale, kind))
        error = np.abs(np.where(nan & (kind.kind == "f"), 0, found) - wanted)
        relative, least = (1e-6, 0.5001) if kind.kind in "iu" else {2: (2.0 ** -10.9, 9e-8), 4: (3e-7, 1e-44), 8: (1e-15, 0)}[kind.itemsize]
        off = error - 20 * self.bound / scale - relative * np.abs(wanted) - least
        return [f"convolved: {kind} off by {off.max()} over tolerance"] if off.max(initial=0) > 0 else []

    def check_peaks(self, table, sigma):
        if sigma == 0:
            return ["peaks without noise"] if len(table) else []
        threshold, reach, found = self.options["threshold"], self.options["cluster"], []
        snr = np.abs(self.y) / sigma
        slack = 12 * self.bound / sigma + 1e-7 * snr
        low, high = np.where(self.no_peak, -1, snr - slack), np.where(self.no_peak, -1, snr + slack)

        def near(i, j):
            return np.s_[max(0, i - reach):i + reach + 1, max(0, j - reach):j + reach + 1]
        for row in table[::max(1, len(table) // 100)]:
            i, j = int(row["row"]), int(row["column"])
            if not (0 <= i < snr.shape[0] and 0 <= j < snr.shape[1]):
                return found + [f"peaks: there is no {(i, j)}"]
            value, around = row["re"] + 1j * row["im"], near(i, j)
            if abs(value - self.y[i, j]) > 12 * self.bound + 1e-6 * abs(value):
                found.append(f"peaks: {value} at {(i, j)}, expected {self.y[i, j]}")
            if low[around].max() > high[i, j] or high[i, j] < threshold:
                found.append(f"peaks: none at {(i, j)}")
            if not (low[around] >= threshold).sum() <= row["cluster_size"] <= (high[around] >= threshold).sum():
                found.append(f"peaks: cluster_size {row['cluster_size']} at {(i, j)}")
        have = {(int(row["row"]), int(row["column"])) for row in table}
        sure = np.argwhere(low >= threshold)
        for i, j in sure[::max(1, len(sure) // 500)].tolist():
            others = high[near(i, j)].copy()
            others[i - max(0, i - reach), j - max(0, j - reach)] = -1
            if others.max() < low[i, j] and (i, j) not in have:
                found.append(f"peaks: {(i, j)} is missing")
        return found[:4]
