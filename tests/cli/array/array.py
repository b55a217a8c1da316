"""Arrays of channels: stacks, beams, filters of their own for each channel, normalized outputs, against numpy in double precision,
end to end through files.

    array.py LAPWING MPIEXEC [FOLDER with real data]

The oracle is the definition: each channel is continued beyond its ends by tested.pad, convolved by numpy.convolve, and the
correlation coefficients are those of each window by itself. Every result must be the same, bit by bit, with other numbers of
ranks, with the axis, the filters or the beams split, and with little memory; each kind by some of these ways, by turns, and by
all of them with LW_TEST_ALL.

LW_ARRAY_PART names a single function to run, LW_ARRAY_TRIALS the number of drawn jobs (a campaign has hundreds)."""

import itertools
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tested import ALL, as_arguments, check, clipped, finish, friends, h5py, lapwing, needed_memory, noise, np, pad, random, read_products  # noqa: E402


# ---- the oracle -------------------------------------------------------------------------------------------------------------

def coefficients(x, h, normalize):
    """The outputs of all windows of M samples of x, with numpy's order of the taps h."""
    if not normalize:
        return np.convolve(x, h, "valid")
    windows, template = np.lib.stride_tricks.sliding_window_view(x, len(h)), h[::-1]
    if normalize == "demeaned":
        windows = windows - windows.mean(axis=1, keepdims=True)
        template = template - template.mean()
    energy = (windows ** 2).sum(axis=1)
    r = windows @ template / np.sqrt(np.maximum(energy, 1e-300) * (template ** 2).sum())
    return np.where(energy < 1e-10 * np.median(energy), 0, r)


class Job:
    """Signals x [C, n], taps h [F, C, M] as convolved, delays and weights [sums, C]; kind None, "stack" or "beams"."""

    def __init__(self, x, h, delays=None, weights=None, kind=None, mode="same", boundary="zero", normalize=None):
        self.x, self.h, self.kind, self.mode, self.boundary, self.normalize = x, h, kind, mode, boundary, normalize
        n_sums = 1 if kind is None else len(h) if delays is None else len(delays)
        self.delays = np.zeros((n_sums, len(x)), int) if delays is None else np.asarray(delays)
        self.weights = np.ones((n_sums, len(x))) if weights is None else np.asarray(weights, float)
        counts = self.delays[self.weights != 0] if kind else np.zeros(1, int)
        self.before, self.after = max(0, -int(counts.min())), max(0, int(counts.max()))

    def shape(self):
        """Outputs on the axis; and the newest sample of output 0 in a channel of delay 0."""
        n, taps = self.x.shape[1], self.h.shape[2]
        all_taps = taps + self.before + self.after
        ahead = {"full": 0, "same": (taps - 1) // 2 + self.after, "valid": all_taps - 1}[self.mode]
        return {"full": n + all_taps - 1, "same": n, "valid": n - all_taps + 1}[self.mode], ahead - self.after

    def window(self, c, delay):
        """The samples under all outputs in a channel at a delay."""
        count, newest = self.shape()
        taps, width = self.h.shape[2], self.h.shape[2] - 1 + self.before + self.after
        x = pad(self.x[c], width, self.boundary)
        first = newest + delay - (taps - 1) + width
        return x[first:first + count + taps - 1]

    def channel(self, f, c, delay):
        """Outputs of a filter in a channel at a delay."""
        taps, part = self.h.shape[2], self.window(c, delay)
        bad = ~np.isfinite(part)
        y = coefficients(np.where(bad, 0, part), self.h[f, c], self.normalize)
        return np.where(np.convolve(bad, np.ones(taps), "valid") > 0.5, np.nan, y) if bad.any() else y

    def sum(self, f, s):
        if self.kind == "beams" and self.normalize:              # the coefficients are those of the beam
            beam = sum(self.weights[s, c] * self.window(c, int(self.delays[s, c])) for c in range(len(self.x)) if self.weights[s, c] != 0)
            return coefficients(beam, self.h[f, 0], self.normalize)
        return sum(self.weights[s, c] * self.channel(f, c, int(self.delays[s, c]))
                   for c in range(len(self.x)) if self.weights[s, c] != 0)

    def outputs(self):
        """[F, n], [F, D, n] or [F, C, n]."""
        filters = range(len(self.h))
        if self.kind == "stack":
            return np.stack([self.sum(f, f) for f in filters])
        if self.kind == "beams":
            return np.stack([[self.sum(f, d) for d in range(len(self.delays))] for f in filters])
        return np.stack([[self.channel(f, c, 0) for c in range(len(self.x))] for f in filters])

    def tolerance(self, y, precision="single"):
        """Of normalized outputs that of the issue's promise for each channel; else that of single precision."""
        unit = 1 if precision == "single" else 1e-8
        if self.normalize:
            return 2e-6 * unit * (np.abs(self.weights).sum(axis=1).max() if self.kind == "stack" else 1)
        scale = np.sqrt(np.nanmean(np.abs(self.x[np.isfinite(self.x)]) ** 2)) * np.sqrt((self.h ** 2).sum(axis=2).max())
        return 2e-5 * unit * scale * (np.abs(self.weights).sum(axis=1).max() if self.kind else 1)


# ---- runs -------------------------------------------------------------------------------------------------------------------

def write(path, **data):
    with h5py.File(path, "w") as file:
        for name, values in data.items():
            file[name] = values


def run(folder, options, ranks=1, name="result.h5", code=0, memory=None, data="data.h5"):
    """Run the job; return its datasets by name, and what it said."""
    path = f"{folder}/{name}"
    words = [word if not isinstance(word, str) else word.replace("DATA", f"{folder}/{data}") for word in as_arguments(options)]
    done = lapwing(ranks, "ols", "--output", path, "--overwrite", *words, *(["--memory", memory] if memory else []), code=code)
    if code or done.returncode:
        return {}, done.stderr
    with h5py.File(path) as file:
        return read_products(file), done.stderr


def compare(job, found, text, precision="single"):
    wanted = job.outputs()
    if not check(found.shape == wanted.shape, f"{text}: {found.shape} instead of {wanted.shape}"):
        return
    check(np.array_equal(np.isnan(found), np.isnan(wanted)), f"{text}: {np.isnan(found).sum()} NaN instead of "
          f"{np.isnan(wanted).sum()}")
    worst = np.nanmax(np.abs(found - wanted)) if np.isfinite(wanted).any() else 0
    check(worst <= job.tolerance(wanted, precision), f"{text}: off by {worst:.3g}, allowed {job.tolerance(wanted, precision):.3g}")


def same_everywhere(folder, options, text, wanted, variants):
    for ranks, more, memory in variants:
        found, _ = run(folder, {**options, **more}, ranks, "other.h5", memory=memory)
        check(found and all(found[k].tobytes() == wanted[k].tobytes() for k in wanted if k != "noise" or k in found),
              f"{text}: other bits on {ranks} ranks with {more} {memory}")


def draw(kind, n, n_channels, n_filters, n_taps, own, reach, normalize=None, dtype="<f4"):
    x = noise((n_channels, n), dtype)
    h = random.standard_normal((n_filters, n_channels if own else 1, n_taps)).astype("<f4")
    sums = n_filters if kind == "stack" else 7
    delays = random.integers(-reach, reach + 1, (sums, n_channels)) if kind else None
    weights = random.standard_normal((sums, n_channels)).astype("<f4") * (random.random((sums, n_channels)) < 0.8) if kind else None
    if kind:
        weights[:, 0] = 1
    return x, h, delays, weights


def options_of(kind, own, x_name, axis, mode, boundary, normalize):
    options = {"input": f"DATA:/{x_name}", "axis": axis, "filters": "DATA:/own" if own else "DATA:/h", "mode": mode,
               "boundary": boundary, "correlate": True}
    if kind == "stack":
        options.update(stack="sum", delays="DATA:/delays", weights="DATA:/weights")
    if kind == "beams":
        options.update(beams="DATA:/delays", beam_weights="DATA:/weights")
    if normalize:
        options["normalize"] = normalize
    return options


def prepare(folder, kind, own, normalize, mode, boundary, layout, dtype="<f4", n=3000, n_channels=5, n_filters=3, n_taps=33, reach=60,
            change=None):
    """Write a drawn job. @return its options and its oracle"""
    x, h, delays, weights = draw(kind, n, n_channels, n_filters, n_taps, own, reach, normalize, dtype)
    if change:
        change(x)
    data = {"x": x, "xs": np.ascontiguousarray(x.T), "own" if own else "h": h if own else h[:, 0]}
    if kind:
        data.update(delays=delays, weights=weights)
    write(f"{folder}/data.h5", **data)
    options = options_of(kind, own, "xs" if layout == "slow" else "x", 0 if layout == "slow" else 1, mode, boundary, normalize)
    taps = np.repeat(h, n_channels, axis=1) if not own else h
    return options, Job(x.astype(float), taps[:, :, ::-1].astype(float), delays, weights, kind, mode, boundary, normalize)


def trial(folder, kind, own, normalize, mode, boundary, layout, dtype="<f4", ranks=1, precision="single", more=None, **sizes):
    """Run a drawn job with `more` options and compare its series. @return the options, the oracle, all that was found"""
    options, job = prepare(folder, kind, own, normalize, mode, boundary, layout, dtype, **sizes)
    options.update(more or {}, precision=precision)
    found, _ = run(folder, options, ranks)
    text = f"{kind} own {own} normalize {normalize} {mode} {boundary} {layout} {dtype} {sizes} ranks {ranks}"
    if not check("filtered" in found, f"{text}: no result"):
        return options, job, found
    y = found["filtered"]
    if kind is None and layout == "slow":
        y = np.moveaxis(y, 1, 2)
    compare(job, y, text, precision)
    return options, job, found


# ---- parts ------------------------------------------------------------------------------------------------------------------

KINDS = [("beams", False, None), ("stack", False, None), ("stack", True, None), (None, True, None), ("stack", True, "demeaned"),
         ("stack", False, "energy"), (None, True, "energy"), (None, False, "demeaned"),
         ("beams", False, "demeaned"), ("beams", False, "energy")]


def outputs(folder):
    """Modes, boundaries, layouts, stored types, lengths of filters and delays, ranks."""
    modes = itertools.cycle(["same", "full", "valid", "same"])
    boundaries = itertools.cycle(["zero", "edge", "wrap", "reflect", "zero"])
    layouts, dtypes = itertools.cycle(["fast", "slow", "slow"]), itertools.cycle(["<f4", "<i2", "<f8", "<u1"])
    shapes = itertools.cycle([(3000, 33, 60), (700, 2, 900), (5000, 256, 300), (2000, 64, 0)])
    for kind, own, normalize in KINDS:
        mode, (n, n_taps, reach) = next(modes), next(shapes)
        if mode == "valid" and n <= 2 * reach + n_taps:
            reach = 20
        trial(folder, kind, own, normalize, mode, next(boundaries) if mode == "same" else "zero", next(layouts), next(dtypes), n=n,
              n_taps=n_taps if n_taps > 2 or not normalize else 16, reach=reach)
    for kind, own, normalize in KINDS[:1] + KINDS[4:5]:
        trial(folder, kind, own, normalize, "same", "edge", "fast", "<f8", precision="double")
    trial(folder, "stack", True, None, "same", "zero", "fast", n=200000, n_taps=100, reach=70000, ranks=3)
    trial(folder, "beams", False, None, "full", "zero", "slow", n=100000, n_taps=10, reach=30000, ranks=2)
    for _ in range(int(os.environ.get("LW_ARRAY_TRIALS", "0"))):
        kind, own, normalize = KINDS[random.integers(len(KINDS))]
        mode = ["same", "full", "valid"][random.integers(3)]
        reach, n_taps = int(2 ** random.uniform(0, 12)), int(2 ** random.uniform(3, 9))
        n = n_taps + 2 * reach + int(2 ** random.uniform(1, 15))
        trial(folder, kind, own, normalize, mode, ["zero", "edge", "wrap", "reflect"][random.integers(4)] if mode == "same" else
              "zero", ["fast", "slow"][random.integers(2)], ["<f4", "<i2", "<f8", "<u1"][random.integers(4)], n=n, n_taps=n_taps,
              n_channels=int(random.integers(2, 9)), reach=reach, ranks=int(random.integers(1, 4)))


def levels(folder):
    """Normalized outputs of signals with a large mean, steps in level and a stretch without signal."""
    def change(x):
        x += 1000
        x[:, 1000:1700] *= 50
        x[0, 2000:2300] = 0
    options, _, _ = trial(folder, "stack", True, "demeaned", "same", "edge", "fast", change=change)
    for more, ranks in (({}, 2), ({"split": "filters"}, 2)):
        _, said = run(folder, {**options, **more}, ranks)
        with h5py.File(f"{folder}/result.h5") as file:           # 300 zeros hold 268 whole windows of 33 samples
            quiet = file.attrs["windows_quiet"]
        check(quiet == 268 and "268 windows" in said, f"{quiet} quiet windows on {ranks} ranks with {more}: {said}")
    trial(folder, None, True, "energy", "same", "edge", "slow", change=change)


def not_a_number(folder):
    """NaN in one channel: what needs it, and with --nan zero nothing; with --nan error the channel is named."""
    def change(x):
        x[2, 1500] = np.nan
        x[0, 0] = np.inf
    layouts = itertools.cycle(["fast", "slow"])
    for kind, own, normalize in (("stack", True, None), ("beams", False, None), (None, True, "demeaned")):
        options, job, _ = trial(folder, kind, own, normalize, "same", "zero", next(layouts), change=change)
        job.x = np.where(np.isfinite(job.x), job.x, 0)
        found, _ = run(folder, {**options, "nan": "zero"})
        y = found.get("filtered", np.zeros(0))
        compare(job, np.moveaxis(y, 1, 2) if kind is None and options["axis"] == 0 else y, f"{kind} {normalize} with --nan zero")
        _, said = run(folder, {**options, "nan": "error"}, code=65)
        check("of channel 0" in said or "first" in said, f"--nan error does not name the channel: {said}")


def bits(folder):
    """Equal bits on any ranks, with any split and memory, for a window of the signal, and for a run that goes on."""
    turns = itertools.cycle([slice(0, 2)] if ALL else [slice(0, 1), slice(1, 2)])
    for kind, own, normalize in (("stack", True, None), ("stack", True, "demeaned"), (None, True, "energy"), ("beams", False, None)):
        options, job, wanted = trial(
            folder, kind, own, normalize, "same", "edge", "fast", "<i2", n=30000, n_taps=64, reach=1200, n_filters=5,
            more={"products": "filtered,peaks", "threshold": "3.5", "cluster": "20", "noise": "measured"})
        for ranks, more in [(3, {}), (2, {"split": "filters" if kind == "stack" else "channels"})][next(turns)]:
            least = needed_memory(run(folder, {**options, **more}, ranks, code=78, memory="1M")[1])
            os.environ["LAPWING_BANK_BYTES"] = "1000"            # the ranks read some filters at a time
            same_everywhere(folder, options, f"{kind} {normalize}", wanted, [(ranks, more, least)])
            del os.environ["LAPWING_BANK_BYTES"]
        said = lapwing(1, "verify", f"{folder}/result.h5", "--sample", "30").stdout
        check(re.search(r"/filtered +[3-9]\d +0 ", said) and re.search(r"/peaks +[1-9]\d* +0 ", said), f"{kind} {normalize}: {said}")
        if kind == "stack" and normalize is None:
            path = f"{folder}/gone-on.h5"
            words = [word.replace("DATA", f"{folder}/data.h5") if isinstance(word, str) else word for word in as_arguments(options)]
            again = ["ols", *words, "--output", path, "--memory", least]
            lapwing(1, *again, "--time-limit", "0.001", code=75)
            lapwing(2, *again)
            with h5py.File(path) as file:
                gone_on = read_products(file)
            check(all(gone_on[k].tobytes() == wanted[k].tobytes() for k in wanted), f"{kind}: a run that goes on gives other bits")
        y = wanted["filtered"]
        part, _ = run(folder, {**{k: v for k, v in options.items() if k not in ("products", "threshold", "cluster", "noise")},
                               "start": "20000", "count": "3000"})
        tolerance = job.tolerance(y)
        check("filtered" in part and np.abs(part["filtered"] - y[..., 20000:23000]).max() <= 2 * tolerance,
              f"{kind} {normalize}: a window has other outputs than the whole run")


def search(folder):
    """Peaks of stacks have channel -1, those of beams the number of the trial; noise from energies, measured, and in MAD."""
    for kind, own in (("stack", True), ("stack", False), ("beams", False)):
        options, job = prepare(folder, kind, own, None, "same", "zero", "slow", n=20000)
        y, h = job.outputs(), job.h
        energy = (h ** 2).sum(axis=2)
        if kind == "stack":
            sigma = np.sqrt((job.weights ** 2 * energy).sum(axis=1))[:, None]
        else:
            sigma = np.sqrt((job.weights ** 2).sum(axis=1)[None, :] * energy[:, :1])[:, :, None]
        snr = np.abs(y) / sigma
        threshold = float(np.sort(snr.ravel())[-50:-48].mean())
        found, _ = run(folder, {**options, "products": "filtered,peaks", "noise": "energy", "threshold": repr(threshold)})
        compare(job, found["filtered"], f"search {kind} own {own}")
        rows = sorted(tuple(int(row[k]) for k in ("channel", "filter", "index")) for row in found["peaks"])
        if kind == "stack":
            wanted = sorted((-1, int(f), int(i)) for f, i in np.argwhere(snr >= threshold))
        else:
            wanted = sorted((int(d), int(f), int(i)) for f, d, i in np.argwhere(snr >= threshold))
        check(rows == wanted, f"{kind} own {own}: {len(rows)} peaks instead of {len(wanted)}")
        found, _ = run(folder, {**options, "products": "peaks,best,blocks", "blocks": "100:max", "threshold": "6", "noise-unit": "mad"})
        measured = np.array([[clipped(y[f] if kind == "stack" else y[f, d]) for f in range(len(h))]
                             for d in range(1 if kind == "stack" else y.shape[1])])
        check(np.allclose(found["noise"], measured, rtol=0.02), f"{kind}: the noise is off by "
              f"{np.abs(found['noise'] / measured - 1).max()}")
        noise_of = found["noise"][0][:, None] if kind == "stack" else found["noise"].T[:, :, None]
        n = (np.abs(y) / noise_of >= 6 * 0.67449).sum()
        check(abs(len(found["peaks"]) - n) <= 1 and n > 0, f"{kind}: {len(found['peaks'])} peaks of 6 MAD instead of {n}")
        best = found["best/filter"]
        wanted_best = (np.abs(y) / noise_of).argmax(axis=0)
        check(best.shape == wanted_best.shape and (best != wanted_best).mean() < 1e-3, f"{kind}: other best filters")
        most = np.abs(y)[..., :y.shape[-1] // 100 * 100].reshape(*y.shape[:-1], -1, 100).max(axis=-1)
        check(np.allclose(found["blocks/max"], most, rtol=1e-3), f"{kind}: other /blocks/max")


def strongest(table, width, trials, filters):
    """Rows (index, channel, filter, number of crossings) of the strongest in each cluster of a table of crossings."""
    rows = zip(*(table[k].tolist() for k in ("index", "channel", "filter", "snr")))
    return sorted((*min(those, key=lambda r: (-r[3], r[2], r[1], r[0]))[:3], len(those)) for those in friends(rows, width, trials, filters))


def clusters(folder):
    """Clusters over trials and channels are those of friends of friends among all crossings: the same table on any ranks, with any
    split and memory, where filters are not held, and for a run that goes on."""
    for kind, layout, ways in (("beams", "slow", ("channels",)), (None, "fast", ("axis", "filters"))):
        options, _ = prepare(folder, kind, kind is None, None, "same", "edge", layout, "<i2", n=12000, n_taps=16, n_filters=4)
        options.update(products="peaks", threshold="3", noise="measured", mode="same")
        crossings, _ = run(folder, options)
        crossings = crossings["peaks"]
        for width, trials, filters in ((5, 1, True), (40, 2, False), (0, 7, True)):
            given = {**options, "cluster": str(width), "cluster-trials": str(trials), **({"cluster-filters": True} if filters else {})}
            found, _ = run(folder, given)
            rows = [tuple(map(int, (r["index"], r["channel"], r["filter"], r["cluster_size"]))) for r in found["peaks"]]
            wanted = strongest(crossings, width, trials, filters)
            check(rows == wanted and len(crossings) > len(wanted) > 20, f"clusters {kind} {width} {trials} {filters}: {len(rows)} rows, "
                  f"expected {len(wanted)} of {len(crossings)} crossings; {next((p for p in zip(rows, wanted) if p[0] != p[1]), None)}")
            values = {(r["index"], r["channel"], r["filter"]): (r["re"], r["snr"]) for r in crossings}
            check(all(values.get((r["index"], r["channel"], r["filter"])) == (r["re"], r["snr"]) for r in found["peaks"]),
                  f"clusters {kind}: other values")
        os.environ["LAPWING_BANK_BYTES"] = "200"
        least = needed_memory(run(folder, given, ranks=3, code=78, memory="1M")[1])
        for split in ways + (("filters",) if ALL and kind else ()):
            way = (5, {"split": split, "threads": 1}, None) if split == "filters" else (3, {"split": split}, least)
            same_everywhere(folder, given, f"clusters {kind}", found, [way])
        path = f"{folder}/gone-on.h5"
        words = [word.replace("DATA", f"{folder}/data.h5") if isinstance(word, str) else word for word in as_arguments(given)]
        again = ["ols", *words, "--output", path, "--overwrite", "--memory", least]
        lapwing(1, *again, "--time-limit", "0.001", code=75)
        lapwing(2 if kind or ALL else 1, *again)
        del os.environ["LAPWING_BANK_BYTES"]
        with h5py.File(path) as file:
            check(read_products(file)["peaks"].tobytes() == found["peaks"].tobytes(), f"clusters {kind}: a run that goes on differs")
        said = lapwing(1, "verify", f"{folder}/other.h5", "--sample", "10").stdout
        check(re.search(r"/peaks +[1-9]\d* +0 ", said), f"clusters {kind}: {said}")
        if kind == "beams":                                     # chains are followed through W outputs around a window
            given = {**options, "cluster": "40", "cluster-trials": "2"}
            all_of, _ = run(folder, {**options, "noise": "energy", "threshold": "1500"})
            threshold = np.sort(all_of["peaks"]["snr"])[-600:-598].mean()
            part, _ = run(folder, {**given, "start": "4000", "count": "5000", "noise": "energy", "threshold": repr(float(threshold))})
            near = all_of["peaks"][all_of["peaks"]["snr"] >= threshold]
            near = near[(near["index"] >= 3960) & (near["index"] < 9040)]
            wanted = [(i - 4000, *rest) for i, *rest in strongest(near, 40, 2, False) if 4000 <= i < 9000]
            rows = [tuple(map(int, (r["index"], r["channel"], r["filter"], r["cluster_size"]))) for r in part["peaks"]]
            check(rows == wanted and len(rows) > 5, f"clusters in a window: {len(rows)} rows, expected {len(wanted)} of {len(near)} crossings")


def masks(folder):
    """Masked samples count as zeros, and an output by the part of the energy of all its channels that is masked."""
    for kind in ("stack", "beams"):
        options, job = prepare(folder, kind, kind == "stack", None, "same", "zero", "slow", n=20000)
        mask = random.random((20000, 5)) < 0.002
        with h5py.File(f"{folder}/data.h5", "a") as file:
            file["mask"] = mask.astype("u1")
            file["whole"] = np.array([0, 1, 0, 0, 0], "u1")
        job.x = np.where(mask.T, 0, job.x)
        y = job.outputs()
        met = []                                                 # the part of the energy of each output that is masked
        for s in range(len(job.delays)):
            squares = Job(mask.T.astype(float), job.h ** 2, job.delays, job.weights ** 2, kind)
            of_filters = [s] if kind == "stack" else range(len(job.h))
            whole = (job.weights[s] ** 2 * (job.h[of_filters] ** 2).sum(axis=2)).sum(axis=1)
            met.append(np.stack([squares.sum(f, s) for f in of_filters]) / whole[:, None])
        met = np.concatenate(met) if kind == "stack" else np.stack(met, axis=1)
        for fraction in (0, 0.03):
            found, _ = run(folder, {**options, "products": "filtered,peaks", "noise": "given", "mask": "DATA:/mask",
                                    "masked-fraction": repr(fraction), "threshold": repr(float(np.quantile(np.abs(y), 0.995)))})
            compare(job, found["filtered"], f"{kind} with a mask")
            threshold = float(np.quantile(np.abs(y), 0.995))
            sure = (np.abs(met - fraction) > 1e-6) & (np.abs(np.abs(y) - threshold) > 1e-4 * threshold)
            wanted = (np.abs(y) >= threshold) & (met <= fraction + 1e-9)
            got = np.zeros(y.shape, bool)
            rows = found["peaks"]
            got[(rows["filter"], rows["index"]) if kind == "stack" else (rows["filter"], rows["channel"], rows["index"])] = True
            check(wanted.any() and (got == wanted)[sure].all(), f"{kind}: {(got != wanted)[sure].sum()} of {wanted.sum()} peaks "
                  f"differ with a mask and masked-fraction {fraction}")
        found, _ = run(folder, {**options, "products": "peaks", "mask": "DATA:/whole", "threshold": "3"})
        check(len(found["peaks"]) > 10, f"{kind}: a masked channel leaves {len(found['peaks'])} peaks")


def gaps(folder):
    """Outputs that touch a gap between files do not count for the noise; with --masked-fraction some of their samples may."""
    ranks = itertools.cycle((2, 1, 1))
    for kind in ("stack", "beams"):
        options, job = prepare(folder, kind, kind == "stack", None, "same", "wrap", "slow", n=20000)
        for name, begin, end in (("g0.h5", 0, 9000), ("g1.h5", 14000, 20000)):
            write(f"{folder}/{name}", xs=job.x.T[begin:end].astype("<f4"))
            with h5py.File(f"{folder}/{name}", "a") as file:
                file["xs"].attrs.update(sample_rate_hz=100.0, start_time=begin / 100, start_unit="s since 2023-01-01T00:00:00")
        job.x[:, 9000:14000] = 0
        y, touched = job.outputs(), job.h.shape[2] + job.before + job.after
        oldest = job.shape()[1] + 1 - job.h.shape[2] - job.before + np.arange(20000)        # of all that an output touches
        met = np.clip(np.minimum(oldest + touched, 14000) - np.maximum(oldest, 9000), 0, None) / touched
        for fraction in (0, 0.6):
            found, _ = run(folder, {**options, "input": f"{folder}/g?.h5:/xs", "gaps": "zero", "products": "filtered,peaks",
                                    "threshold": "4", "masked-fraction": repr(fraction)}, 2 if ALL else next(ranks))
            compare(job, found["filtered"], f"{kind} with a gap")
            wanted = [[clipped(series[met <= fraction]) for series in (y if kind == "stack" else y[:, d])]
                      for d in range(1 if kind == "stack" else y.shape[1])]
            check(np.allclose(found["noise"], wanted, rtol=0.02), f"{kind} with a gap, masked-fraction {fraction}: the noise is off by "
                  f"{np.abs(found['noise'] / wanted - 1).max()}")


def groups(folder):
    """The best filters of a stack are the same where memory holds some filters at a time."""
    options, _ = prepare(folder, "stack", True, "energy", "same", "zero", "fast", n_filters=120, n_taps=200, reach=300)
    options.update(products="best,peaks", noise="given", threshold="2", cluster="20,filters")
    wanted, _ = run(folder, options)
    least = needed_memory(run(folder, options, code=78, memory="1M")[1])
    same_everywhere(folder, options, "best of stacks", wanted, [(2, {"split": "filters"}, None)])
    found, said = run(folder, options, memory=least)
    check(found and all(found[k].tobytes() == wanted[k].tobytes() for k in wanted), "best of stacks: other bits with little memory")
    check("filters at a time" in said, f"all filters are held at once: {said}")


def refusals(folder):
    """What does not fit is refused by one message that names the remedy."""
    write(f"{folder}/data.h5", x=noise((4, 1000), "<f4"), h=random.standard_normal((3, 8)), own=random.standard_normal((3, 4, 8)),
          wrong=random.standard_normal((3, 5, 8)), d=np.ones((3, 4), int), half=np.full((3, 4), 0.5), nan=np.full(4, np.nan),
          none=np.zeros((3, 4)), far=np.full((3, 4), 1000), complex=np.ones((3, 4), complex))
    for options, code, words in (
            ({"delays": "DATA:/d"}, 2, "goes with --stack"), ({"weights": "DATA:/d"}, 2, "goes with --stack"),
            ({"stack": True, "beams": "DATA:/d"}, 2, "exclude each other"), ({"beam-weights": "DATA:/d"}, 2, "goes with --beams"),
            ({"stack": True, "delays": "DATA:/half"}, 65, "whole samples, or seconds"),
            ({"stack": True, "delays": "DATA:/half", "delay-unit": "s"}, 2, "--sample-rate"),
            ({"stack": True, "delays": "DATA:/nan"}, 65, "is nan"), ({"stack": True, "weights": "DATA:/nan"}, 65, "finite"),
            ({"stack": True, "weights": "DATA:/none"}, 65, "are all 0"), ({"stack": True, "delays": "DATA:/own"}, 65, "dimensions"),
            ({"stack": True, "delays": "DATA:/complex"}, 65, "real numbers"), ({"stack": True, "delays": "DATA:/h"}, 65, "3 x 4"),
            ({"beams": "DATA:/d", "filters": "DATA:/own"}, 78, "before the filters"),
            ({"filters": "DATA:/wrong"}, 65, "for 5 channels, but the input has 4"),
            ({"stack": True, "mode": "valid", "delays": "DATA:/far"}, 78, "delays"),
            ({"normalize": "energy", "products": "peaks", "threshold": "1", "noise": "energy"}, 2, "not for --normalize"),
            ({"stack": True, "whiten": "1s", "sample-rate": "100"}, 2, "--whiten"), ({"delay-unit": "s"}, 2, "goes with"),
            ({"stack": True, "split": "channels"}, 2, "one channel"), ({"noise-unit": "mad"}, 2, "--products peaks"),
            ({"cluster": "0,trials=2"}, 2, "--cluster W,trials=K goes with --products peaks only")):
        _, said = run(folder, {"input": "DATA:/x", "axis": "1", "filters": "DATA:/h", **options}, code=code)
        check(words in said, f"{options}: the message does not have '{words}': {said[-300:]}")
    options = {"input": "DATA:/x", "axis": "1", "filters": "DATA:/h", "stack": True, "delays": "DATA:/half", "delay-unit": "s"}
    found, _ = run(folder, {**options, "sample-rate": "5"})              # 2.5 samples: to the even number
    with h5py.File(f"{folder}/data.h5", "a") as file:
        file["two"] = np.full((3, 4), 2)
    wanted, _ = run(folder, {**options, "delays": "DATA:/two", "delay-unit": "samples"})
    check(found and wanted and np.array_equal(found["filtered"], wanted["filtered"]), "delays of 2.5 samples are not rounded to 2")


def chosen(folder):
    """Chosen channels choose the rows of taps, delays and weights."""
    x, h, delays, weights = draw("stack", 2000, 6, 3, 16, True, 40)
    weights[weights == 0] = 0.5                                  # a row without any channel is refused
    write(f"{folder}/data.h5", x=x, own=h, delays=delays, weights=weights)
    for channels, those in (("1:5", slice(1, 5)), ("0:6:2", slice(0, 6, 2)), ("3", slice(3, 4))):
        part = Job(x[those].astype(float), h[:, those, ::-1].astype(float), delays[:, those], weights[:, those], "stack")
        found, _ = run(folder, {"input": "DATA:/x", "axis": 1, "filters": "DATA:/own", "correlate": True, "stack": "sum",
                                "delays": "DATA:/delays", "weights": "DATA:/weights", "channels": channels})
        compare(part, found.get("filtered", np.zeros(0)), f"channels {channels}")


PARTS = (outputs, levels, not_a_number, bits, search, clusters, masks, gaps, groups, refusals, chosen)
with tempfile.TemporaryDirectory() as work:
    for part in PARTS:
        if os.environ.get("LW_ARRAY_PART", part.__name__) == part.__name__:
            part(work)
finish()
