"""Sources in convolved images (conv2d --products peaks) against numpy in double precision, end to end through files.

    sources.py LAPWING MPIEXEC

The oracle is the definition: sums over the kernel of the padded image; each pixel compared with all within +- W rows and columns.
Thresholds lie where no pixel is near them, and trials whose oracle has two neighbours of nearly the same strength are drawn
again. So the table must be identical: the same rows in the same order, with the same sizes of clusters.

LW_SEARCH_OPTIONS holds further options of every run. Every table must be the same, bit by bit, on 1 to 5 ranks, with rows or
images split, and with little memory (LW_TEST_ALL: every table in more ways, and more cases)."""

import itertools
import os
import re
import tempfile

from tested import (ALL, as_arguments, beyond, check, clipped, finish, further_cuts, lapwing, needed_memory, noise, numbers_of_ranks,
                    quiet_threshold, read_products, same)

import h5py
import numpy as np

ranks = numbers_of_ranks(1, 2, 3, 4, 5)


# ---- the oracle -------------------------------------------------------------------------------------------------------------

def convolved(x, h, mode="same", boundary="zero"):
    """[image, row, column]"""
    a, b = h.shape
    down, right = beyond(boundary, x.shape[1], a - 1), beyond(boundary, x.shape[2], b - 1)
    padded = np.where((down[:, None] < 0) | (right < 0), 0, x[:, down[:, None], right[None, :]])
    rows, columns = padded.shape[1] - a + 1, padded.shape[2] - b + 1
    full = sum(h[i, j] * padded[:, a - 1 - i:a - 1 - i + rows, b - 1 - j:b - 1 - j + columns] for i in range(a) for j in range(b))
    if mode == "full":
        return full
    if mode == "valid":
        return full[:, a - 1:x.shape[1], b - 1:x.shape[2]]
    i, j = (a - 1) // 2, (b - 1) // 2
    return full[:, i:i + x.shape[1], j:j + x.shape[2]]


def rms_of_pieces(y, unit):
    """The noise [image] as src/stream/search/noise_rms.c defines it, for pieces of 64 columns, or of all columns if there are
    fewer."""
    width = min(64, y.shape[2])
    whole = y.shape[1] // unit
    picked = range(8, whole, 16) if whole > 8 else [whole // 2]
    rms = [np.sqrt(np.mean(np.abs(y[:, k * unit:(k + 1) * unit, c:c + width]) ** 2, axis=(1, 2)))
           for k in picked for c in range(0, y.shape[2] - width + 1, width)]
    return np.median(rms, axis=0)


def measured(y, shape, kernel, area):
    """The noise [image] of images with less than 16 squares of 64 pixels, all of whose pixels are measured. Pixels that reach
    beyond the sides do not count if they are more than one in 16 and less than half."""
    inside = []
    for n, taps, outputs in zip(shape[1:], kernel, y.shape[1:]):
        ahead = {"full": 0, "same": (taps - 1) // 2, "valid": taps - 1}[area.get("mode", "same")]
        inside.append(slice(max(0, taps - 1 - ahead), min(outputs, n - ahead)))
    some = y[:, inside[0], inside[1]]
    if area.get("boundary") != "wrap" and y.size / 2 <= some.size < y.size * 15 / 16:
        y = some
    return np.array([clipped(image) for image in y])


def sizes(y, sign):
    """|y| of the pixels that count, 0 for the others."""
    return np.abs(y) if sign == "both" or np.iscomplexobj(y) else np.maximum(-y if sign == "negative" else y, 0)


def peaks(snr, threshold, width):
    """Rows (row, image, column, cluster size) of snr [image, row, column], and the margin of the closest decision."""
    rows, margin = [], np.inf
    for image in range(len(snr)):
        places = np.argwhere(snr[image] >= threshold)
        for i, j in places:
            its = snr[image, i, j]
            near = places[np.abs(places - (i, j)).max(axis=1) <= width]
            others = [(snr[image, k, m], k, m) for k, m in near if (k, m) != (i, j)]
            margin = min([margin, *(abs(other / its - 1) for other, _, _ in others)])
            if not any(other > its or (other == its and (k, m) < (i, j)) for other, k, m in others):
                rows.append((int(i), image, int(j), len(near)))
    return sorted(rows), margin


# ---- running ----------------------------------------------------------------------------------------------------------------

class Found:
    def __init__(self, path, said):
        self.said = said
        with h5py.File(path) as file:
            self.data = read_products(file)
        self.table = self.data.get("peaks")

    def rows(self):
        return list(zip(*(self.table[k].tolist() for k in ("row", "image", "column", "cluster_size"))))


def write(work, x, kernel):
    with h5py.File(f"{work}/in.h5", "w") as file:
        file["x"] = x[0] if len(x) == 1 else x
        file["h"] = kernel


def run(work, n_ranks, options, expect=0):
    output = os.path.join(work, "out.h5")
    done = lapwing(n_ranks, "conv2d", "--input", f"{work}/in.h5:/x", "--kernel", f"{work}/in.h5:/h", "--output", output,
                   "--overwrite", *as_arguments(options), *os.environ.get("LW_SEARCH_OPTIONS", "").split(), code=expect)
    return Found(output, done.stderr) if done.returncode == 0 else done.stderr


def every_cut(work, name, found, options, thorough, one_way=slice(None)):
    """@param one_way the ways that are tried without LW_TEST_ALL"""
    for n_ranks, split in further_cuts(thorough, list(itertools.product((2, 3, 5), ("axis", "channels"))))[slice(None) if ALL else one_way]:
        way = {**options, "split": split, "threads": 1 + n_ranks % 2}
        tight = needed_memory(run(work, n_ranks, {**way, "memory": "1M"}, expect=78)) if thorough else "1G"
        other = run(work, n_ranks, {**way, "memory": tight})
        check(not isinstance(other, str) and same(found, other), f"{name}: not the same on {n_ranks} ranks, {split} split")


def draw(shape, dtype, kernel):
    """Noise with sources of the kernel's shape, near each other and at the sides."""
    x, h = noise(shape, "c8" if np.dtype(dtype).kind == "c" else "f4"), noise(kernel, "c16" if np.dtype(dtype).kind == "c" else "f8")
    shapes = np.conj(h[::-1, ::-1]) * 7 / np.linalg.norm(h)
    for at in ((0, 0), (shape[1] // 2, shape[2] // 2), (shape[1] // 2 + 2, shape[2] // 2 + 3), (shape[1] - 2, 1), (3, shape[2] - 1)):
        rows, columns = min(kernel[0], shape[1] - at[0]), min(kernel[1], shape[2] - at[1])
        if min(at) >= 0 and rows > 0 and columns > 0:
            x[at[0] % shape[0], at[0]:at[0] + rows, at[1]:at[1] + columns] += shapes[:rows, :columns].astype(x.dtype)
    if np.dtype(dtype).kind in "iu":
        middle = 128 if np.dtype(dtype).kind == "u" else 0
        return np.clip(np.rint(x * 20) + middle, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype), h
    return x.astype(dtype), h


def dense(shape, dtype, kernel, options, one_way):
    """Too many neighbours for the oracle: blocks that are searched in parts give the same as whole blocks."""
    with tempfile.TemporaryDirectory() as work:
        write(work, *draw(shape, dtype, kernel))
        given = {**options, "products": "peaks"}
        found = run(work, 1, given)
        check(len(found.rows()) > 500, f"dense: {len(found.rows())} peaks")
        every_cut(work, f"dense {options}", found, given, True, one_way)


def case(name, shape=(1, 90, 150), dtype="f4", kernel=(5, 7), part=0.01, thorough=False, products="peaks", **options):
    double = options.get("precision") == "double"
    area = {key: options[key] for key in ("mode", "boundary") if key in options}
    for attempt in range(20):
        x, h = draw(shape, dtype, kernel)
        y = convolved(x.astype(complex if np.iscomplexobj(x) else float), h, **area)
        within = 10 * (1e-16 if double else 5e-8) * 17 * np.sqrt(np.mean(np.abs(x.astype(complex)) ** 2)) * np.linalg.norm(h)
        sigma = np.full(shape[0], np.linalg.norm(h) if options.get("noise") == "energy" else 1.0)
        if options.get("noise", "measured") in ("measured", "rms"):
            sigma = np.sqrt(np.mean(np.abs(y) ** 2, axis=(1, 2)))
        size = sizes(y, options.get("sign", "positive"))
        snr = size / sigma[:, None, None]
        threshold, gap = quiet_threshold(snr[snr > 0], part)
        wanted, margin = peaks(snr, threshold, options.get("cluster", 0))
        if min(margin, gap) > 1e-9 + 4 * within / sigma.min() / threshold:
            break
    else:
        check(False, f"{name}: no trial without near decisions was found")
        return
    with tempfile.TemporaryDirectory() as work:
        write(work, x, h)
        given = {**options, "products": products, "threshold": repr(threshold), "threads": 1}
        found = run(work, 1, given)
        if isinstance(found, str):
            return
        check(("noise" in found.data) == (options.get("noise") != "given"), f"{name}: the noise is there")
        if options.get("noise", "measured") in ("measured", "rms"):
            sigma = found.data["noise"]
            if options.get("noise") == "rms":
                true = rms_of_pieces(y, int(re.search(r"segments? of (\d+) outputs", found.said).group(1)))
            else:
                true = measured(y, shape, kernel, area)
            off, allowed = np.abs(sigma / true - 1).max(), 1e-5 if options.get("noise") == "rms" else 0.02
            check(sigma.shape == (shape[0],) and off < allowed, f"{name}: the noise is off by {off}")
            snr = size / sigma[:, None, None]
            wanted, margin = peaks(snr, threshold, options.get("cluster", 0))
            if min(np.abs(snr / threshold - 1).min(), margin) < 1e-5:       # the threshold was chosen for another noise
                wanted = found.rows()
        if check(found.rows() == wanted and len(wanted) > 0, f"{name}: {len(found.rows())} peaks, expected {len(wanted)}"):
            for row, (i, image, j, _) in zip(found.table, wanted):
                value = row["re"] + 1j * row["im"]
                check(abs(value - y[image, i, j]) <= within + 1e-6 * abs(value), f"{name}: {value} at {i}, {j}, expected {y[image, i, j]}")
                check(abs(row["snr"] * sigma[image] / abs(value) - 1) < 1e-12, f"{name}: snr {row['snr']}")
        check(("convolved" in found.data) == ("convolved" in products), f"{name}: there is {list(found.data)}")
        every_cut(work, name, found, given, thorough)


# ---- cases ------------------------------------------------------------------------------------------------------------------

def kinds():
    for width in (0, 1, 4, 30, 200) if ALL else (0, 4, 200):
        case(f"energy, {width}", cluster=width, noise="energy")
        case(f"complex, {width}", (2, 50, 64), "c8", (4, 9), cluster=width, noise="given", boundary="wrap", algorithm="tiles")
        case(f"integers, {width}", (3, 70, 140), "i2", (6, 3), cluster=width, precision="double", mode="full")
    case("beside the image", products="convolved,peaks", noise="given", mode="valid", boundary="zero")
    case("beside a thinned image", products="convolved,peaks", noise="energy", decimate=3)
    case("rms", (2, 200, 160), "i2", (6, 3), noise="rms", precision="double", algorithm="tiles")
    for algorithm in ("direct", "tiles", "full", "padded"):
        case(algorithm, (2, 200, 160), "u1", (9, 9), algorithm=algorithm, cluster=2, boundary="reflect", sign="both")
    for sign in ("both", "positive", "negative"):
        case(sign, (2, 100, 130), cluster=5, noise="given", sign=sign, precision="double")
    case("one row", (1, 1, 300), kernel=(1, 5), noise="given", part=0.05, cluster=3)
    case("one column", (1, 300, 1), kernel=(5, 1), part=0.05, cluster=3)
    case("one pixel", (1, 1, 1), kernel=(1, 1), part=1, noise="given")
    case("many of them", (1, 90, 40), part=0.5, cluster=1, algorithm="direct", precision="double")


def bits():
    case("bits", (2, 300, 200), "f4", (11, 11), part=0.001, cluster=20, thorough=True, boundary="edge")
    dense((3, 700, 500), "f4", (11, 11), {"threshold": 1, "cluster": 20, "boundary": "edge"}, slice(1, 2))
    dense((2, 600, 300), "i2", (15, 3), {"threshold": 0.3, "cluster": 1, "noise": "energy", "algorithm": "tiles"}, slice(0, 1))


def plateaus():
    """Direct sums of one element of 1 are exact: among equal pixels the upper one wins, then the left one."""
    x = np.zeros((1, 40, 60), "f4")
    x[0, 10:14, 20:26] = x[0, 16, 29] = x[0, 0, 0] = x[0, 39, 59] = x[0, 12, 0] = x[0, 12, 59] = 3
    kernel = np.array([[1.0]])
    with tempfile.TemporaryDirectory() as work:
        write(work, x, kernel)
        for width in (0, 1, 2, 5, 100):
            wanted, _ = peaks(np.abs(x.astype(float)), 3, width)
            found = run(work, next(ranks), {"products": "peaks", "threshold": 3, "noise": "given", "cluster": width,
                                            "algorithm": "direct"})
            check(found.rows() == wanted, f"plateau {width}: {found.rows()}, expected {wanted}")


def not_finite():
    """Pixels that touch a non-finite pixel are no sources, unless it is filled in; the others are unaffected."""
    for boundary in ("zero", "wrap", "reflect"):
        x, h = draw((2, 120, 130), "f4", (7, 5))
        x[0, 60, 70], x[1, 5, 1], x[1, 119, 129] = np.nan, np.inf, np.nan
        bad = ~np.isfinite(x)
        y = convolved(np.where(bad, 0, x).astype(float), h, boundary=boundary)
        met = convolved(bad.astype(float), np.ones_like(h), boundary=boundary) > 0.5
        known = np.where(met, 0, sizes(y, "positive"))
        threshold, _ = quiet_threshold(known[known > 0], 0.05)
        wanted, _ = peaks(known, threshold, 3)
        with tempfile.TemporaryDirectory() as work:
            write(work, x, h)
            for nan in ("propagate", "zero"):
                found = run(work, next(ranks), {"products": "peaks", "threshold": repr(threshold), "noise": "given", "cluster": 3,
                                                "nan": nan, "boundary": boundary})
                check(found.rows() == wanted, f"not finite {nan} {boundary}: {len(found.rows())} peaks, expected {len(wanted)}")


def bank_peaks(snr, threshold, width, together):
    """Rows (row, image, kernel, column, cluster size) of snr [kernel, image, row, column], and the margin of the closest decision.
    Peaks of all kernels compete if they are `together`."""
    rows, margin = [], np.inf
    for image in range(snr.shape[1]):
        places = np.argwhere(snr[:, image] >= threshold)
        for f, i, j in places:
            its = snr[f, image, i, j]
            near = places[(np.abs(places[:, 1:] - (i, j)).max(axis=1) <= width) & (together | (places[:, 0] == f))]
            others = [(snr[g, image, k, m], g, k, m) for g, k, m in near if (g, k, m) != (f, i, j)]
            margin = min([margin, *(abs(other / its - 1) for other, *_ in others)])
            if not any(other > its or (other == its and (g, k, m) < (f, i, j)) for other, g, k, m in others):
                rows.append((int(i), image, int(f), int(j), len(near)))
    return sorted(rows), margin


def banks():
    """Several kernels: peaks of each or of all together, the best kernel of each pixel, a noise for each image and kernel."""
    for noise_kind, options in (("energy", {"cluster": 4, "algorithm": "tiles"}), ("measured", {"cluster": "5,kernels"}),
                                ("given", {"cluster": "3,kernels", "sign": "both", "algorithm": "direct"}),
                                ("rms", {"cluster": 0, "boundary": "wrap", "algorithm": "tiles"})):
        together, width = "kernels" in str(options["cluster"]), int(str(options["cluster"]).split(",")[0])
        sign, area = options.get("sign", "positive"), {"boundary": options.get("boundary", "zero")}
        for attempt in range(20):
            x, first = draw((2, 130, 140), "f4", (9, 7))
            h = np.stack([first, noise((9, 7), "f8"), 2 * np.roll(first, 2, axis=1), noise((9, 7), "f8")])
            y = np.stack([convolved(x.astype(float), kernel, **area) for kernel in h])
            sigma = np.stack([{"energy": np.full(2, np.linalg.norm(kernel)), "given": np.ones(2)}.get(
                noise_kind, measured(plane, x.shape, (9, 7), area)) for kernel, plane in zip(h, y)], axis=1)
            snr = sizes(y, sign) / sigma.T[:, :, None, None]
            threshold, gap = quiet_threshold(snr[snr > 0], 0.004)
            wanted, margin = bank_peaks(snr, threshold, width, together)
            if min(margin, gap) > 1e-5:
                break
        with tempfile.TemporaryDirectory() as work:
            write(work, x, h)
            given = {**options, "noise": noise_kind, "products": "convolved,peaks,best", "threshold": repr(threshold)}
            found = run(work, 1, given)
            if isinstance(found, str):
                continue
            name = f"a bank, {given}"
            if noise_kind != "given":
                if noise_kind == "rms":
                    unit = int(re.search(r"segments? of (\d+) outputs", found.said).group(1))
                    sigma = np.stack([rms_of_pieces(plane, unit) for plane in y], axis=1)
                said = found.data["noise"]
                off = np.abs(said / sigma - 1).max() if said.shape == sigma.shape else np.inf
                check(off < {"energy": 1e-12, "rms": 1e-5}.get(noise_kind, 0.02), f"{name}: the noise {said.shape} is off by {off}")
                snr = sizes(y, sign) / said.T[:, :, None, None]
            if noise_kind in ("energy", "given") or np.abs(snr / threshold - 1).min() > 1e-5:
                wanted, margin = bank_peaks(snr, threshold, width, together)
                rows = list(zip(*(found.table[k].tolist() for k in ("row", "image", "kernel", "column", "cluster_size"))))
                check(margin < 1e-5 or (rows == wanted and len(wanted) > 20), f"{name}: {len(rows)} peaks, expected {len(wanted)}")
            ranked, kernel, value = np.sort(snr, axis=0), found.data["best/kernel"], found.data["best/value"]
            if sign == "positive":
                ranked = np.sort(y / found.data["noise"].T[:, :, None, None], axis=0)
            clear = ranked[-1] - ranked[-2] > 1e-4
            strength = y / found.data["noise"].T[:, :, None, None] if sign == "positive" else snr
            check(clear.mean() > 0.9 and (kernel == strength.argmax(axis=0))[clear].all(), f"{name}: another kernel is the best")
            check(np.abs(value - np.take_along_axis(y, kernel[None], axis=0)[0]).max() < 1e-4 * np.abs(y).max(), f"{name}: best value")
            for n_ranks, split in ((3, "axis"), (2, "channels"))[:2 if ALL else 1 + (noise_kind == "measured")]:
                other = run(work, n_ranks, {**given, "split": split})
                check(not isinstance(other, str) and same(found, other), f"{name}: not the same on {n_ranks} ranks")
            done = lapwing(1, "verify", f"{work}/out.h5", "--sample", 100)
            check(re.search(r"/best +100 +0 ", done.stdout), f"{name}: {done.stdout}")
    x = np.zeros((1, 20, 30), "f4")
    x[0, 5, 6] = x[0, 15, 20] = 3
    with tempfile.TemporaryDirectory() as work:     # of equal outputs the lower kernel counts, then the upper pixel
        write(work, x, np.array([[[0.5]], [[1.0]], [[1.0]]]))
        found = run(work, 2, {"products": "peaks,best", "threshold": 1, "noise": "given", "cluster": "50,kernels", "algorithm": "direct"})
        check([(row["row"], row["kernel"], row["cluster_size"]) for row in found.table] == [(5, 1, 6)], f"equal kernels: {found.table}")
        check(found.data["best/kernel"][5, 6] == 1 and found.data["best/kernel"][0, 0] == 0, "equal kernels: the best one")


def errors():
    x, h = draw((1, 200, 100), "f4", (3, 3))
    with tempfile.TemporaryDirectory() as work:
        write(work, x, h)
        sought = {"products": "peaks", "threshold": 3}
        for options, word, code in (
                ({"products": "peaks"}, "--threshold", 2), ({"products": "filtered"}, "convolved, peaks, best", 2),
                ({"threshold": 3}, "--products peaks", 2), ({"sign": "both"}, "--products peaks", 2), ({"cluster": 3}, "--products peaks", 2),
                ({"products": "best", "cluster": "3,kernels"}, "--products peaks", 2),
                ({**sought, "decimate": 2}, "--decimate 2", 2), ({**sought, "output_type": "float64"}, "--output-type", 2),
                ({**sought, "threshold": 0.5, "noise": "energy", "max_peaks": 200}, "would have kept about max-peaks=200", 65)):
            said = run(work, 2 if code == 65 or ALL else 1, options, expect=code)
            check(isinstance(said, str) and word in said, f"errors {options}: {said}")
        check(not os.path.exists(f"{work}/out.h5"), "errors: there is a result")
        near, far = (run(work, 1, {**sought, "threshold": 1, "cluster": reach}) for reach in (200, 10**9))
        check(same(near, far), "a cluster beyond the image: another result")
        write(work, x.astype("c8"), h)
        said = run(work, 1, {**sought, "sign": "negative"}, expect=2)
        check("--sign negative" in said and "complex" in said, f"errors: a sign of complex pixels: {said}")
        write(work, x, h)
        found = run(work, next(ranks), {**sought, "threshold": 1000})
        check(found.rows() == [] and found.table.dtype.names[0] == "image", "a search without sources does not give an empty table")


for part in (kinds, bits, plateaus, not_finite, banks, errors):
    if os.environ.get("LW_SEARCH_PART", part.__name__) == part.__name__:
        part()
finish()
