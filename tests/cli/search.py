"""Products of a search in the filtered series (--products peaks, best, blocks) against numpy in double precision, end to end
through files.

    search.py LAPWING MPIEXEC [FOLDER with real data]

The oracle is the definition: numpy.convolve on numpy.pad; sigma by its definition; each output compared with all within +- W.
Thresholds lie where no output is near them, and trials whose oracle has two neighbours of nearly the same strength are drawn
again. So the table must be identical: the same rows in the same order, with the same sizes of clusters. Values agree to 10 times
the rms error of the filtered series (see post.py), since single outputs are compared here.

LW_SEARCH_PART names a single function to run, LW_SEARCH_OPTIONS further options of every run.

Every table must be the same, bit by bit, on 1 to 8 ranks, with the axis or the channels split (LW_TEST_ALL: each table; otherwise
some). So must it be with the least possible memory, and with thresholds so low that blocks are searched in parts."""

import bisect
import itertools
import os
import re
import tempfile

from tested import (ALL, as_arguments, check, clipped, convolve, data_path, finish, further_cuts, lapwing, needed_memory, noise,
                    numbers_of_ranks, quiet_threshold, random, read_products, same)

import h5py
import numpy as np

ranks = numbers_of_ranks(1, 2, 3, 4, 5, 8, few=(1, 1, 2, 1, 1, 1, 3))
turns = itertools.cycle((True, ALL))            # whether a case is also cut otherwise
WAYS = list(itertools.product((6, 2, 3, 5, 8) if ALL else (6, 2, 3), ("axis", "channels")))


# ---- the oracle -------------------------------------------------------------------------------------------------------------

def filtered(x, filters, options):
    """[filter, channel, index] of x [channel, sample]."""
    mode, boundary = options.get("mode", "same"), options.get("boundary", "zero")
    return np.stack([[convolve(row, h, mode, boundary) for row in x] for h in filters])


def energies(filters, n_channels):
    return np.repeat(np.linalg.norm(filters, axis=1)[None, :], n_channels, axis=0)


def rms_of_pieces(y, unit):
    """The noise [channel, filter] as src/stream/search/noise_rms.c defines it; only small jobs, of which one segment in 16 is
    measured."""
    n = y.shape[2]
    whole, run = n // unit, 8 if n // unit >= 1024 else 1
    picked = range(8, whole // run, 16) if whole > 8 else [whole // 2]
    picked = [run * k + i for k in picked for i in range(run)]
    rms = [np.sqrt(np.mean(np.abs(y[:, :, k * unit:(k + 1) * unit]) ** 2, axis=2)) for k in picked]
    return np.median(rms, axis=0).T


def measured(y, n, n_taps, options):
    """The noise [channel, filter] for n samples; only small jobs, all of whose outputs are measured. Outputs that reach beyond
    the ends do not count if they are more than one in 16 and less than half."""
    mode, outputs = options.get("mode", "same"), y.shape[2]
    ahead = {"full": 0, "same": (n_taps - 1) // 2, "valid": n_taps - 1}[mode]
    first, end = max(0, n_taps - 1 - ahead), min(outputs, n - ahead)
    if options.get("boundary") != "wrap" and outputs / 2 <= end - first < outputs * 15 / 16:
        y = y[:, :, first:end]
    return np.array([[clipped(y[f, c]) for f in range(y.shape[0])] for c in range(y.shape[1])])


def signed(y, sign):
    """The number by which outputs are compared, times sigma."""
    return np.abs(y) if sign == "both" else -y if sign == "negative" else y


def is_stronger(a, b):
    """Compare two (snr, filter, index)."""
    return a[0] > b[0] or (a[0] == b[0] and a[1:] < b[1:])


def peaks(snr, threshold, width, clusters_filters):
    """Rows (index, channel, filter, cluster size) of snr [filter, channel, index], and the margin of the closest decision."""
    rows, margin = [], np.inf
    for channel in range(snr.shape[1]):
        found = sorted((i, f, snr[f, channel, i]) for f, i in np.argwhere(snr[:, channel] >= threshold))
        places = [i for i, _, _ in found]
        for i, f, its in found:
            window = found[bisect.bisect_left(places, i - width):bisect.bisect_right(places, i + width)]
            near = [(j, g, other) for j, g, other in window if clusters_filters or g == f]
            rivals = [abs(other / its - 1) for j, g, other in near if (j, g) != (i, f)]
            margin = min([margin, *rivals])
            if not any(is_stronger((other, g, j), (its, f, i)) for j, g, other in near):
                rows.append((i, channel, f, len(near)))
    return sorted(rows), margin


def blocks(y, length):
    """{name: [filter, channel, block]}"""
    cuts = range(0, y.shape[2], length)
    parts = [y[:, :, cut:cut + length] for cut in cuts]
    return {"max": np.stack([np.abs(p).max(axis=2) for p in parts], axis=2),
            "mean": np.stack([p.mean(axis=2) for p in parts], axis=2),
            "rms": np.stack([np.sqrt(np.mean(np.abs(p) ** 2, axis=2)) for p in parts], axis=2)}


# ---- running ----------------------------------------------------------------------------------------------------------------

class Found:
    """The products of a run; arrays as [filter, channel, index] or [channel, index]."""

    def __init__(self, path, axis, said):
        self.said = said
        with h5py.File(path) as file:
            self.data = read_products(file)
            self.about = {name: dict(file[name].attrs) for name in self.data}
        for name, array in self.data.items():
            if name not in ("peaks", "noise"):
                array = np.expand_dims(array, -2) if axis is None else array
                self.data[name] = np.moveaxis(array, -1, -2) if axis == 0 else array
        self.table = self.data.get("peaks")

    def rows(self):
        t = self.table
        return list(zip(*(t[k].tolist() for k in ("index", "channel", "filter", "cluster_size"))))


def run(work, n_ranks, options, axis, expect=0):
    output = os.path.join(work, "out.h5")
    done = lapwing(n_ranks, "ols", "--input", f"{work}/in.h5:/x", "--filters", f"{work}/in.h5:/h", "--output", output,
                   "--overwrite", *as_arguments(options), *os.environ.get("LW_SEARCH_OPTIONS", "").split(), code=expect)
    return Found(output, axis, done.stderr) if done.returncode == 0 else done.stderr


def write(work, x, filters, axis, **others):
    with h5py.File(f"{work}/in.h5", "w") as file:
        file["x"] = x[0] if axis is None else x if axis == 1 else x.T
        file["h"] = filters
        for name, array in others.items():
            file[name] = array


def least_memory(work, n_ranks, options):
    return needed_memory(run(work, n_ranks, {**options, "memory": "1M"}, None, expect=78))


def every_cut(work, name, found, options, axis, thorough):
    for n_ranks, split in further_cuts(thorough, WAYS) if thorough or next(turns) else []:
        way = {"split": split, "threads": 1 + n_ranks % 2}
        tight = least_memory(work, n_ranks, {**options, **way}) if thorough and n_ranks < 4 else "1G"
        other = run(work, n_ranks, {**options, **way, "memory": tight}, axis)
        check(same(found, other), f"{name}: not the same on {n_ranks} ranks with {way} and {tight}")


def tolerance(x, filters, double):
    """Tolerance of single outputs, [filter]."""
    error = (1e-16 if double else 5e-8) * 17 * np.sqrt(np.mean(np.abs(x) ** 2)) * np.linalg.norm(filters, axis=1)
    return 10 * error


def compare_peaks(name, found, wanted, y, sigma, within):
    if not check(found.rows() == wanted, f"{name}: {len(found.rows())} peaks, expected {len(wanted)}; first differing "
                 f"{next(((a, b) for a, b in itertools.zip_longest(found.rows(), wanted) if a != b), None)}"):
        return
    for row, (i, c, f, _) in zip(found.table, wanted):
        value = row["re"] + 1j * row["im"]
        check(abs(value - y[f, c, i]) <= within[f] + 1e-6 * abs(value), f"{name}: peak at {i}: {value}, expected {y[f, c, i]}")
        check(abs(row["snr"] * sigma[c, f] / abs(value) - 1) < 1e-12, f"{name}: peak at {i}: snr {row['snr']}")


def compare_best(name, found, y, sigma, within, sign="both"):
    snr = signed(y, sign) / np.where(sigma.T > 0, sigma.T, np.inf)[:, :, None]
    number, value = found.data["best/filter"], found.data["best/value"]
    best = snr.max(axis=0)
    if not check(number.shape == best.shape, f"{name}: best has the shape {number.shape}, expected {best.shape}"):
        return
    taken = np.take_along_axis(y, number[None].astype(int), 0)[0]
    loss = best - np.take_along_axis(snr, number[None].astype(int), 0)[0]
    check(loss.max() <= 2 * (within[:, None] / np.where(sigma.T > 0, sigma.T, np.inf)).max() + 1e-6 * np.abs(best).max(),
          f"{name}: best filter is not the strongest by {loss.max()}")
    check(np.abs(taken - value).max() <= within.max() + 1e-6 * np.abs(y).max(), f"{name}: best values differ")


def compare_blocks(name, found, y, length, values, within):
    for key, wanted in blocks(y, length).items():
        got = found.data.get(f"blocks/{key}")
        if not check((got is not None) == (key in values), f"{name}: blocks/{key} is there: {got is not None}") or got is None:
            continue
        if check(got.shape == wanted.shape, f"{name}: blocks/{key} has the shape {got.shape}, expected {wanted.shape}"):
            off = np.abs(got - wanted).max(axis=(1, 2))
            check(np.all(off <= within + 1e-6 * np.abs(wanted).max()), f"{name}: blocks/{key} is off by {off}")


def draw(shape, dtype, taps, taps_dtype):
    """Noise with planted signals: the filters themselves, some at both ends and near each other."""
    x, filters = noise(shape, "c8" if np.dtype(dtype).kind == "c" else "f4"), noise(taps, taps_dtype)
    for at in {at for at in (0, 3, shape[1] // 3, shape[1] // 2, shape[1] // 2 + 5, shape[1] - 2) if 0 <= at < shape[1]}:
        event = (6 * filters[at % len(filters)] / np.linalg.norm(filters[at % len(filters)]))[::-1]
        event = event if x.dtype.kind == "c" else event.real
        end = min(shape[1], at + len(event))
        x[at % shape[0], at:end] += event[:end - at].astype(x.dtype)
    if np.dtype(dtype).kind in "iu":
        return np.clip(np.rint(x * 20) + (128 if np.dtype(dtype).kind == "u" else 0), np.iinfo(dtype).min,
                       np.iinfo(dtype).max).astype(dtype), filters
    return x.astype(dtype), filters


def case(name, shape=(1, 3000), dtype="f4", taps=(3, 17), taps_dtype="f8", axis=None, part=0.01, length=100, thorough=False,
         values=("max", "mean", "rms"), products=("peaks", "best", "blocks"), **options):
    double = options.get("precision") == "double"
    for attempt in range(20):
        x, filters = draw(shape, dtype, taps, taps_dtype)
        y = filtered(x.astype(complex if np.iscomplexobj(x) else float), filters, options)
        within = tolerance(x, filters, double)
        sigma = energies(filters, shape[0]) if options.get("noise") == "energy" else np.ones((shape[0], taps[0]))
        if options.get("noise", "measured") in ("measured", "rms") and products != ("blocks",):
            sigma = None
        known = sigma if sigma is not None else energies(filters, shape[0])
        sign = options.get("sign", "both")
        snr = signed(y, sign) / known.T[:, :, None]
        threshold, gap = quiet_threshold(snr[snr > 0], part)
        wanted, margin = peaks(snr, threshold, options.get("cluster", 0), options.get("cluster_filters", False))
        if sigma is None or min(margin, gap) > 1e-9 + 4 * (within[:, None] / known.T).max() / threshold:
            break
    else:
        check(False, f"{name}: no trial without near decisions was found")
        return
    with tempfile.TemporaryDirectory() as work:
        write(work, x, filters, axis)
        given = {**options, "products": ",".join(products), "threads": 1}
        if axis is not None:
            given["axis"] = axis
        if "peaks" in products:
            given["threshold"] = repr(threshold)
        if "blocks" in products:
            given["blocks"] = f"{length}:{','.join(values)}"
        found = run(work, 1, given, axis)
        if isinstance(found, str):
            return
        if sigma is None:
            if options.get("noise") == "rms":
                sigma = rms_of_pieces(y, int(re.search(r"segments? of (\d+) outputs", found.said).group(1)))
            else:
                sigma = measured(y, shape[1], taps[1], options)
            off, allowed = np.abs(found.data["noise"] / sigma - 1).max(), 1e-5 if options.get("noise") == "rms" else 0.01 + 60 / shape[1]
            check(off < allowed, f"{name}: the noise is off by {off}")
            snr = signed(y, sign) / found.data["noise"].T[:, :, None]
            near = np.abs(snr / threshold - 1).min()
            wanted, margin = peaks(snr, threshold, options.get("cluster", 0), options.get("cluster_filters", False))
            if min(near, margin) < 1e-5:
                wanted = found.rows() if "peaks" in products else wanted
            sigma = found.data["noise"]
        if "peaks" in products:
            compare_peaks(name, found, wanted, y, sigma, within)
        if "best" in products:
            compare_best(name, found, y, sigma, within, sign)
        if "blocks" in products:
            compare_blocks(name, found, y, length, values, within)
        check(("filtered" in found.data) == ("filtered" in products), f"{name}: there is {list(found.data)}")
        every_cut(work, name, found, given, axis, thorough)


# ---- cases ------------------------------------------------------------------------------------------------------------------

def kinds():
    for width, clusters in ((0, False), (1, False), (7, True), (100, False), (5000, True)):
        options = {"cluster": width, **({"cluster_filters": True} if clusters else {})}
        case(f"real {options}", **options, noise="energy", length=1 + width)
        case(f"complex, time slow {options}", (4, 900), "c8", (2, 33), "c16", axis=0, **options, noise="given", boundary="wrap",
             segment=128, length=77)
        case(f"integers, double {options}", (3, 1100), "i2", (4, 9), axis=1, **options, noise="measured", precision="double",
             mode="full", segment=64, length=5000)
    for sign, axis in itertools.product(("positive", "negative"), (0, 1)):
        case(f"{sign} {axis}", (3, 1500), axis=axis, noise="energy", sign=sign, cluster=20, cluster_filters=True, segment=128)
    case("series beside", (2, 1000), axis=1, products=("filtered", "peaks", "best", "blocks"), noise="energy", mode="valid")
    case("blocks alone", (2, 1000), axis=0, products=("blocks",), values=("rms",), length=33)
    case("best alone, measured", (2, 40000), axis=1, products=("best",), segment=256)
    case("measured, time slow", (19, 3000), "c8", axis=0, products=("best",), precision="double")
    case("rms", (3, 1100), "i2", (4, 9), axis=1, noise="rms", precision="double", segment=64)
    case("rms in runs", (2, 150000), "i2", (2, 17), axis=1, noise="rms", products=("peaks",), part=0.0001, segment=64)
    case("rms in runs, time slow", (3, 150000), taps=(2, 17), axis=0, noise="rms", products=("best",), segment=64)
    case("one filter", (1, 500), taps=(1, 1), products=("peaks", "blocks"), noise="given", length=1)


def short():
    for n in (1, 2, 5):
        case(f"{n} samples", (1, n), taps=(2, 3), noise="given", part=0.5, cluster=2, length=2, mode="full")


def bits():
    case("bits", (5, 30000), "f4", (2, 65), axis=1, cluster=50, noise="energy", thorough=True, length=777, segment=256)
    case("bits, time slow, dense", (6, 20000), "i2", (3, 33), axis=0, cluster=3, noise="measured", part=0.3, thorough=True, length=4000,
         segment=128, cluster_filters=True)


def plateaus():
    """Direct sums of one tap of 1 are exact: among equal neighbours the lower filter and the lower index win."""
    x = np.zeros((1, 200), "f4")
    x[0, 50:60] = x[0, 62] = x[0, 199] = x[0, 0] = 3
    filters = np.array([[1.0, 0.0], [1.0, 0.0]])
    with tempfile.TemporaryDirectory() as work:
        write(work, x, filters, None)
        for width, clusters in itertools.product((0, 1, 4, 400), (False, True)):
            y = filtered(x.astype(float), filters, {})
            wanted, _ = peaks(np.abs(y), 3, width, clusters)
            found = run(work, next(ranks), {"products": "peaks,best", "threshold": 3, "noise": "given", "cluster": width,
                                            **({"cluster_filters": True} if clusters else {})}, None)
            check(found.rows() == wanted, f"plateau {width} {clusters}: {found.rows()}, expected {wanted}")
            check(not found.data["best/filter"].any(), "plateau: best is not the lower filter")


def not_finite():
    """Outputs that touch a non-finite sample are no peaks, unless only little of the filter meets it; the others are unaffected."""
    x, filters = draw((2, 2000), "f4", (2, 21), "f8")
    x[0, 700], x[1, 100], x[1, 1999] = np.nan, np.inf, np.nan
    clean = np.where(np.isfinite(x), x, 0).astype(float)
    y, bad = filtered(clean, filters, {}), ~np.isfinite(x)
    met = filtered(bad.astype(float), filters ** 2, {}) / np.sum(filters ** 2, axis=1)[:, None, None]
    threshold, _ = quiet_threshold(np.abs(y), 0.05)
    with tempfile.TemporaryDirectory() as work:
        write(work, x, filters, 1, mask=bad.astype("u1"))
        write_clean = {"products": "peaks", "threshold": repr(threshold), "noise": "given", "cluster": 3, "axis": 1}
        for way, allowed in (({"nan": "propagate"}, 0), ({"nan": "zero"}, 0), ({"nan": "zero", "masked_fraction": 0.1}, 0.1),
                             ({"nan": "zero", "masked_fraction": 1}, 1)):
            wanted, _ = peaks(np.where(met > max(allowed, 1e-12), 0, np.abs(y)), threshold, 3, False)
            found = run(work, next(ranks), {**write_clean, **way}, 1)
            check(found.rows() == wanted, f"not finite {way}: {len(found.rows())} peaks, expected {len(wanted)}")


def masked():
    """Masks by sample, by channel and by both: masked samples are zeros, and outputs that touch them are no peaks."""
    for axis, dtype in ((0, "i2"), (1, "f4")):
        x, filters = draw((3, 2500), dtype, (2, 15), "f8")
        by_sample, by_channel = np.zeros(2500, "u1"), np.array([0, 1, 0], "i4")
        by_sample[[0, 5, 1200, 1201, 2499]] = 1
        by_sample[800:850] = 7
        by_both = (random.random((3, 2500)) < 0.002)
        for name, mask, marks in (("sample", by_sample, np.broadcast_to(by_sample != 0, x.shape)),
                                  ("channel", by_channel, np.broadcast_to((by_channel != 0)[:, None], x.shape)),
                                  ("both", (by_both if axis == 1 else by_both.T), by_both)):
            y = filtered(np.where(marks, 0, x).astype(float), filters, {"boundary": "reflect"})
            reached = np.stack([[convolve(row, np.ones(15), "same", "reflect") for row in marks.astype(float)]] * 2) > 0.5
            threshold, _ = quiet_threshold(np.where(reached, 0, np.abs(y)), 0.01)
            wanted, _ = peaks(np.where(reached, 0, np.abs(y)), threshold, 9, False)
            with tempfile.TemporaryDirectory() as work:
                write(work, x, filters, axis, mask=mask, packed=np.packbits(mask != 0, axis=-1))
                options = {"products": "peaks,best", "threshold": repr(threshold), "noise": "given", "cluster": 9, "axis": axis,
                           "boundary": "reflect"}
                found = run(work, next(ranks), {**options, "mask": f"{work}/in.h5:/mask"}, axis)
                check(found.rows() == wanted, f"mask by {name}: {len(found.rows())} peaks, expected {len(wanted)}")
                compare_best(f"mask by {name}", found, y, np.ones((3, 2)), tolerance(x, filters, False))
                if not ALL and name == ("channel", "sample")[axis]:
                    continue
                packed = run(work, next(ranks), {**options, "mask": f"{work}/in.h5:/packed"}, axis)
                check(same(found, packed), f"mask by {name}: another result with bits")
                piece = {**options, "start": 701, "count": 900, "channels": "1:3", "boundary": "wrap"}
                parts = [run(work, next(ranks), {**piece, "mask": f"{work}/in.h5:/{kind}"}, axis) for kind in ("mask", "packed")]
                check(same(*parts), f"mask by {name}: another result with bits of a piece")


def masked_at_the_start():
    """Masked samples do not count, also those before the first slice, which are read for the neighbours of its outputs."""
    x, filters = draw((1, 20000), "f4", (1, 9), "f8")
    mask = np.zeros(20000, "u1")
    x[0, 500], mask[500] = np.nan, 1
    with tempfile.TemporaryDirectory() as work:
        write(work, x, filters, None, mask=mask)
        found = run(work, 2, {"products": "peaks", "threshold": 4, "noise": "energy", "cluster": 5, "nan": "error",
                              "mask": f"{work}/in.h5:/mask"}, None)
        check(not isinstance(found, str) and "finite" not in found.said, f"masked at the start: {found}")


def many():
    """Too many peaks end the run. The message has the threshold that keeps as many as are allowed."""
    x, filters = draw((1, 20000), "f4", (1, 1), "f8")
    filters[:] = 1
    with tempfile.TemporaryDirectory() as work:
        write(work, x, filters, None)
        options = {"products": "peaks", "noise": "given", "max_peaks": 100, "cluster": 2}
        said = run(work, 3, {**options, "threshold": 0.1}, None, expect=65)
        typical = re.search(r"are beyond --threshold 0.1, half of them beyond ([\d.]+)\. By this part, --threshold ([\d.]+) would have kept", said)
        check(typical and abs(float(typical.group(1)) - np.median(np.abs(x)[np.abs(x) >= 0.1])) < 0.05 and 2 < float(typical.group(2)) < 3,
              f"many: the message lacks the typical size of outputs: {said}")
        said = run(work, 1, {**options, "threshold": 1.8}, None, expect=65)
        kept = re.search(r"in the first 100% of the data.* --threshold ([\d.e+-]+) would", said)
        check(kept, f"many: the message lacks the threshold for the searched part: {said}")
        said = run(work, 1, {**options, "threshold": 2.5 if not kept else 0.97 * float(kept.group(1))}, None, expect=65)
        check(not os.path.exists(f"{work}/out.h5"), "many: there is a result")
        kept = re.search(r"--threshold ([\d.e+-]+) would have kept", said)
        if check(kept, f"many: no threshold in {said}"):
            found = run(work, 1, {**options, "threshold": kept.group(1)}, None)
            check(80 <= len(found.rows()) <= 100, f"many: {len(found.rows())} peaks at {kept.group(1)}")
        found = run(work, 2, {**options, "threshold": 1000}, None)
        check(len(found.rows()) == 0 and found.table.dtype.names[0] == "channel",
              "many: a search without peaks does not give an empty table")


def too_many_by_the_rate():
    """The run ends before it has found all of the too many peaks."""
    x, filters = draw((1, 3 << 20), "f4", (1, 1), "f8")
    filters[:] = 1
    with tempfile.TemporaryDirectory() as work:
        write(work, x, filters, None)
        options = {"products": "peaks", "noise": "given", "max_peaks": 1000, "threshold": 3}
        least = needed_memory(run(work, 2, {**options, "memory": "1M"}, None, expect=78))
        said = run(work, 2, {**options, "memory": least}, None, expect=65)
        part = re.search(r"peaks in the first ([\d.]+)% of the data; .* --threshold ([\d.]+) would", said)
        check(part and float(part.group(1)) < 30 and 3.2 < float(part.group(2)) < 3.9, f"by the rate: {said}")


def beyond_the_axis():
    """There are no neighbours and blocks beyond the ends of the axis: they change nothing and take no memory."""
    x, filters = draw((2, 3000), "f4", (2, 9), "f8")
    with tempfile.TemporaryDirectory() as work:
        write(work, x, filters, 1)
        options = {"products": "peaks,blocks", "noise": "energy", "threshold": 2}
        near = run(work, 1, {**options, "cluster": 3000, "blocks": 3000, "axis": 1}, 1)
        for far, n_ranks in ((10**6, 1), (10**9, 2)):
            found = run(work, n_ranks, {**options, "cluster": far, "blocks": far, "axis": 1}, 1)
            check(same(near, found), f"a cluster and blocks of {far}: another result")


def errors():
    x, filters = draw((1, 300), "f4", (2, 5), "f8")
    with tempfile.TemporaryDirectory() as work:
        write(work, x, filters, None, mask=np.zeros(17))
        peaks_of = {"products": "peaks", "threshold": 3}
        for options, word, code in (
                ({"sign": "both"}, "--products peaks or best", 2), ({"products": "peaks"}, "--threshold", 2),
                ({"products": "peak"}, "filtered, peaks, best, blocks", 2),
                ({"products": "blocks"}, "--blocks", 2), ({"products": "blocks", "blocks": "0:max"}, "0:max", 2),
                ({"products": "blocks", "blocks": "10:least"}, "10:least", 2), ({"blocks": "10"}, "--products blocks", 2),
                ({"threshold": 3}, "--products peaks", 2), ({"cluster": 3}, "--products peaks", 2),
                ({"cluster_filters": True}, "--products peaks", 2), ({**peaks_of, "post": "power"}, "--post power", 2),
                ({**peaks_of, "interpolate": 2}, "--interpolate 2", 2), ({**peaks_of, "decimate": 2}, "--decimate 2", 2),
                ({**peaks_of, "output_type": "float64"}, "--output-type", 2), ({**peaks_of, "threshold": -1}, "-1", 2),
                ({**peaks_of, "mask": f"{work}/in.h5:/mask"}, "300 samples", 65), ({**peaks_of, "mask": f"{work}/in.h5:/no"}, "/no", 65)):
            said = run(work, 2 if code == 65 else 1, options, None, expect=code)
            check(isinstance(said, str) and word in said, f"errors {options}: {said}")


def gravitational_wave():
    """The event GW150914 by a complex bank of both phases."""
    strain, bank = data_path("gw150914-h1.hdf5"), data_path("gw150914-bank.h5")
    if not os.path.isfile(strain):
        print("gravitational_wave: no data, not run")
        return
    with tempfile.TemporaryDirectory() as work:
        with h5py.File(bank) as file, h5py.File(f"{work}/bank.h5", "w") as copy:
            taps = file["taps"][()]
            copy["taps"] = taps[0] + 1j * taps[1]
        for n_ranks, options in ((1, ()), (4, ("--precision", "double")), (3, ("--memory", "600M"))):
            output = f"{work}/out.h5"
            lapwing(n_ranks, "ols", "--input", strain + ":/strain/Strain", "--filters", f"{work}/bank.h5:/taps", "--products", "peaks",
                    "--noise", "given", "--threshold", 8, "--cluster", 64, "--output", output, "--overwrite", *options,
                    *os.environ.get("LW_SEARCH_OPTIONS", "").split())
            with h5py.File(output) as file:
                table = file["peaks"][()]
            inside = table[(table["index"] >= 8192) & (table["index"] <= 122879)]
            if check(len(inside) == 1, f"GW150914: {len(inside)} peaks"):
                row = inside[0]
                check(row["index"] == 67272 and abs(row["snr"] - 19.176641) < 1e-3, f"GW150914: {row}")
                check(abs(row["time"] - 1126259462.424) < 1e-3 and row["cluster_size"] == 27, f"GW150914: {row}")


def pulsar():
    """A search of the Crab's field for single pulses, by boxcars."""
    source = data_path("parkes_8bit_1.fil")
    if not os.path.isfile(source):
        print("pulsar: no data, not run")
        return
    spectra = np.fromfile(source, "u1", offset=351).reshape(4096, 832)
    x = (spectra[:, 100:108].astype("f4") - spectra[:, 100:108].mean(axis=0)).T
    filters = np.zeros((7, 64))
    for i in range(7):
        filters[i, :2 ** i] = 2 ** (-i / 2)
    with tempfile.TemporaryDirectory() as work:
        write(work, x, filters, 0)
        options = {"products": "peaks", "noise": "measured", "threshold": 4, "cluster": 32, "cluster_filters": True, "axis": 0,
                   "precision": "double"}
        found = run(work, 1, options, 0)
        snr = np.abs(filtered(x.astype(float), filters, {})) / found.data["noise"].T[:, :, None]
        wanted, _ = peaks(snr, 4, 32, True)
        check(found.rows() == wanted and len(wanted) > 0, f"pulsar: {len(found.rows())} peaks, expected {len(wanted)}")
        every_cut(work, "pulsar", found, options, 0, True)


for part in (kinds, short, bits, plateaus, not_finite, masked, masked_at_the_start, many, too_many_by_the_rate, beyond_the_axis, errors,
             gravitational_wave, pulsar):
    if os.environ.get("LW_SEARCH_PART", part.__name__) == part.__name__:
        part()
finish()
