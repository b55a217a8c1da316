"""Pictures: the data for gnuplot against numpy, names that must not become commands, the size of pictures, and every message.

    plot.py LAPWING MPIEXEC [FOLDER]"""

import html
import itertools
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from tested import LAPWING, MPIEXEC, check, data_path, finish, lapwing

import h5py
import numpy as np

random = np.random.default_rng(5)
RATE = 1000.0
numbers = itertools.count()


def start(arguments, env=None):
    """Run `lapwing plot` without mpirun."""
    command = [LAPWING, "plot", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env={**os.environ, **(env or {})})


def judge(arguments, done, code=0, says="", env=None):
    said = done.stderr
    command = ["lapwing", "plot", *map(str, arguments)]
    messages = [line for line in said.splitlines() if line.startswith("lapwing: ") and not line.startswith("lapwing: warning: ")]
    check(done.returncode == code, f"{' '.join(command)} ends with {done.returncode}, not {code}: {said}")
    check(len(messages) == (1 if code else 0), f"{len(messages)} messages: {said}")
    check(re.search(says, said), f"the log lacks '{says}': {said}")
    return said


def plot(*arguments, code=0, says="", env=None):
    """Run `lapwing plot` and check its end. @return the log"""
    return judge(arguments, start(arguments, env), code, says)


class Together:
    """Independent plots, which run side by side when the block ends."""
    def __enter__(self):
        self.cases = []
        return self

    def plot(self, *arguments, **wanted):
        self.cases.append((arguments, wanted))

    def __exit__(self, *failure):
        if failure[0]:
            return
        with ThreadPoolExecutor(6) as pool:
            done = pool.map(lambda case: start(case[0], case[1].get("env")), self.cases)
            for (arguments, wanted), one in zip(self.cases, done):
                judge(arguments, one, **wanted)


def text(*arguments):
    """gnuplot's commands, and its blocks of data: lists of rows, with None for an empty row."""
    name = f"text{next(numbers)}.gp"
    plot(*arguments, "--output", name)
    with open(name, encoding="utf-8") as file:
        script = file.read()
    os.remove(name)
    blocks = [[[float(word) for word in line.split()] or None for line in block.splitlines()]
              for block in re.findall(r"^\$data\d+ << EOD\n(.*?)^EOD$", script, re.M | re.S)]
    return script, blocks


def save(name, x, **attributes):
    labels = attributes.pop("labels", ())
    options = attributes.pop("options", {})
    with h5py.File(name, "w") as file:
        data = file.create_dataset("x", data=x, **options)
        for key, value in attributes.items():
            data.attrs[key] = value
        for d, label in enumerate(labels):
            data.dims[d].label = label


def edges(n, columns):
    return np.arange(columns + 1) * n // columns


def envelope(x, columns):
    cuts = edges(len(x), columns)
    return [(np.nanmin(x[a:b]), np.nanmax(x[a:b])) if np.isfinite(x[a:b]).any() else None for a, b in zip(cuts, cuts[1:])]


def same_envelope(block, x, begin=0, what=""):
    wanted = envelope(x, len(block))
    cuts = begin + edges(len(x), len(block))
    good = all((row is None) == (pair is None) for row, pair in zip(block, wanted))
    if check(good and len(block) > 100, f"{what}: {len(block)} columns, gaps {[r is None for r in block].count(True)}"):
        pairs = [(row, pair, (a + b - 1) / 2 / RATE) for row, pair, a, b in zip(block, wanted, cuts, cuts[1:]) if pair]
        off = max(max(abs(row[1] - pair[0]), abs(row[2] - pair[1])) for row, pair, _ in pairs)
        late = max(abs(row[0] - at) for row, _, at in pairs)
        check(off <= 1e-7 and late < 1e-6, f"{what}: values {off}, times {late} off")


# ---- series ----

def series():
    n = 150001
    x = random.standard_normal(n)
    x[70000:71000] = np.nan
    x[5] = np.inf
    save("s.h5", x, sample_rate_hz=RATE)
    clean = np.where(np.isfinite(x), x, np.nan)
    _, (block,) = text("s.h5")
    same_envelope(block, clean, what="all")
    _, (block,) = text("s.h5:/x", "--from", "10", "--to", "40000ms")
    same_envelope(block, clean[10000:40000], 10000, "a part")
    script, (block,) = text("s.h5:/x", "--start", 100, "--count", 300)
    times = np.array([row[0] for row in block])
    check(np.allclose([row[1] for row in block], x[100:400], atol=1e-8), "single samples: wrong values")
    check(np.allclose(times, np.arange(100, 400), atol=1e-9), f"single samples stand at {times[:3]} ms")
    check('set xlabel "time (ms)"' in script, "a short piece: the time axis is not in ms")
    _, (block,) = text("s.h5:/x", "--start", 100, "--count", 300, "--log")
    check(np.allclose([row[2] for row in block], abs(x[100:400]), rtol=1e-7), "logarithmic: wrong magnitudes")
    script, _ = text("s.h5", "--size", "321x234", "--title", "a title")
    check("size 321,234 " in script and '"a title"' in script, "--size or --title is ignored")


def storage():
    """Every storage, order and type gives the same picture."""
    n = 60000
    x = random.integers(-100, 100, (3, n))
    ways = {
        "contiguous": (x.astype("i2"), {}), "packed": (x.astype("i2"), {"chunks": (2, 777), "compression": "gzip"}),
        "chunks": (x.astype("i2"), {"chunks": (3, 5000)}), "big endian": (x.astype(">i2"), {}), "int64": (x.astype("i8"), {}),
        "float16": (x.astype("f2"), {}), "double": (x.astype("f8"), {"chunks": (1, n)}), "int8": (x.astype("i1"), {}),
    }
    for turned in (False, True):
        wanted = None
        for name, (samples, options) in ways.items():
            labels = ("time", "channel") if turned else ("channel", "time")
            if turned:
                options = {key: value[::-1] if key == "chunks" else value for key, value in options.items()}
            save("ways.h5", samples.T if turned else samples, sample_rate_hz=RATE, labels=labels, options=options)
            _, blocks = text("ways.h5:/x", "--start", 1000, "--count", 50000)
            wanted = wanted or blocks
            check(len(blocks) == 3 and blocks == wanted, f"{name}, turned {turned}: another picture")
            if not turned and name == "contiguous":
                same_envelope(blocks[1], x[1, 1000:51000].astype(float), 1000, "channel 1")
    z = random.standard_normal(n) + 1j * random.standard_normal(n)
    save("z.h5", z, sample_rate_hz=RATE)
    same_envelope(text("z.h5:/x")[1][0], abs(z), what="complex")
    save("scaled.h5", x[0].astype("i2"), sample_rate_hz=RATE, scale_factor=0.5, add_offset=3.0)
    same_envelope(text("scaled.h5:/x")[1][0], x[0] * 0.5 + 3, what="scaled")


DAY = "2021-03-04T05:06:07"
UTC = 1614834367        # the same time, in seconds since 1970
GPS = UTC - 315964800 + 18


def archives():
    """Several files are one axis with its gaps; times, places and formats are given as for the jobs."""
    n = 60000
    x = random.integers(-1000, 1000, (n, 3)).astype("i2")
    chunked = {"chunks": (700, 2), "compression": "gzip"}
    for name, begin, end, options in (("day-2", 20000, 30000, {}), ("day-1", 0, 20500, chunked), ("day-10", 31000, n, {})):
        save(name + ".h5", x[begin:end], sample_rate_hz=RATE, start_time=UTC + begin / RATE, start_unit="s since 1970-01-01",
             labels=("time", "channel"), options=options)
    with open("days.txt", "w", encoding="utf-8") as file:
        file.write("# all\nday-*.h5:/x\n")
    wanted = x.astype(float)
    wanted[30000:31000] = np.nan
    drawn = [text(*names)[1] for names in (("day-*.h5:/x",), ("day-10.h5:/x", "day-1.h5", "day-2.h5"), ("@days.txt",))]
    check(drawn[0] == drawn[1] == drawn[2] and len(drawn[0]) == 3, "names, a pattern and a list differ")
    for channel, block in enumerate(drawn[0]):
        same_envelope([row and [row[0] - UTC, *row[1:]] if row and row[0] > 1e6 else row for row in block], wanted[:, channel],
                      what=f"files, channel {channel}")
    script, (block,) = text("day-*.h5:/x", "--channels", 1, "--start", 29990, "--count", 1020)
    check([r is None for r in block] == [10 <= i < 1010 for i in range(1020)],
          "a gap of 1000 samples is not drawn as 1000 empty rows")
    check('"day-1.h5:/x and 2 more files"' in script, "the title does not count the further files")
    _, blocks = text("day-*.h5:/x", "--size", "2000x600", "--read", "1M")
    check(all(b == d for b, d in zip(blocks, text("day-*.h5:/x", "--size", "2000x600")[1])),
          "reading whole and thinned gives different pictures")
    parts = [("--start", 10000, "--count", 5000), ("--from", 10, "--to", "15s"), ("--from", GPS + 10, "--to", GPS + 15),
             ("--from", "2021-03-04T05:06:17", "--to", "2021-03-04T05:06:22Z")]
    first, *others = [text("day-*.h5:/x", *part)[1] for part in parts]
    check(len(first) == 3 and all(first == other for other in others), "samples, seconds, GPS and UTC choose other parts")
    save("plain.h5", x[:, :1], labels=("time", "channel"))
    _, (block,) = text("plain.h5", "--sample-rate", "1kHz", "--start-time", GPS, "--from", GPS + 10, "--to", GPS + 15)
    check(block == first[0], "--sample-rate and --start-time give another picture")
    x.tofile("x.bin")
    raw = "--format", "raw=int16,3,time-slow", "--sample-rate", "1kHz"
    check(text("x.bin", *raw, "--start", 10000, "--count", 5000)[1] == first, "raw numbers give another picture")
    script, (block,) = text("x.bin", *raw, "--channel-spacing", 2, "--distance", "2m:3m", "--start", 10000, "--count", 5000)
    check(block == first[1], "a channel by its distance: wrong values")
    save("waves.h5", np.repeat(np.arange(40), 100).reshape(40, 100), sample_rate_hz=RATE, labels=("channel", "time"))
    script, (block,) = text("waves.h5", "--channel-spacing", 0.5, "--distance", "5:10")
    check([row[0] for row in block] == list(range(10, 21)) and 'ylabel "distance (m)"' in script,
          "channels by their distance: wrong channels or axis")
    save("box.h5", np.ones(2))
    lapwing(1, "ols", "--input", "day-2.h5", "--filters", "box.h5:/x", "--products", "peaks", "--threshold", 2, "--output",
            "events.h5", "--quiet")
    first, *others = [text("events.h5", "--from", a, "--to", b)[1] for a, b in
                      ((2, "4s"), (GPS + 22, GPS + 24), ("2021-03-04T05:06:29", "2021-03-04T05:06:31"))]
    check(first[0] and all(first == other for other in others), "peaks in seconds, GPS and UTC differ")
    for arguments, code, said in ((("day-*.h5:/x", "--axis", 1), 65, "not one axis: the length of dimension 0"),
                                  (("day-1.h5", "plain.h5"), 65, "are not one axis"), (("nothing-*.h5",), 74, "nothing-"),
                                  (("@none.txt",), 74, "none.txt"),
                                  (("waves.h5", "--frequency", "1:2"), 78, "no regular frequency"),
                                  (("day-1.h5", "--from", "2021-03-05"), 78, "is outside of"),
                                  (("plain.h5", "--format", "SIGPROC"), 65, "plain.h5"), (("x.bin",), 65, "x.bin")):
        plot(*arguments, "--output", "t.png", code=code, says=said)


def thinned():
    """Each column of a ramp shows values of its own samples; each row of many channels shows its own channels."""
    n = 8 << 20
    save("ramp.h5", np.arange(n, dtype="i4"), sample_rate_hz=RATE)
    script, (block,) = text("ramp.h5:/x", "--read", "1M")
    cuts = edges(n, len(block))
    check(all(row and a <= row[1] <= row[2] < b for row, a, b in zip(block, cuts, cuts[1:])),
          "a thinned ramp: a column has values of other samples")
    check(re.search('"drawn from 3.1% of the samples, evenly spread"', script), "the picture does not note that it is thinned")
    script, (block,) = text("ramp.h5:/x", "--read", "64M")
    check("drawn from" not in script and block[-1][2] == n - 1, "the whole ramp is not drawn, or noted as thinned")
    channels = np.arange(5000, dtype="i4")
    for fast in (True, False):
        x = np.repeat(channels[:, None], 2000, axis=1)
        save("many.h5", x if fast else x.T.copy(), sample_rate_hz=RATE, labels=("channel", "time") if fast else ("time", "channel"))
        script, (block,) = text("many.h5:/x", "--read", "2M")
        cuts = edges(5000, len(block))
        good = all(row and all(a <= v < b for v in row) for row, a, b in zip(block, cuts, cuts[1:]))
        check(good and "drawn from" in script and len(block) >= 64, f"channels, thinned, time fast: {fast}")
    # a lattice: each cell shows a value of its own rows and columns
    x = (np.arange(6000)[:, None] * 10000 + np.arange(6000)).astype("i4")
    for ways in ({}, {"chunks": (100, 150)}):
        save("lattice.h5", x, sample_rate_hz=RATE, labels=("channel", "time"), options=ways)
        script, (block,) = text("lattice.h5:/x", "--read", "4M")
        rows, columns, shown = edges(6000, len(block)), edges(6000, len(block[0])), np.array(block)
        low = rows[:-1, None] * 10000.0 + columns[:-1]
        high = (rows[1:, None] - 1) * 10000.0 + columns[1:]
        good = (shown >= low * 0.9999 - 1) & (shown <= high * 1.0001 + 1)
        part = float((re.search("drawn from (.*)% of", script) or [0, 0])[1])
        check(good.all() and min(shown.shape) >= (13 if ways else 64) and 1 < part < 12,
              f"a lattice {shown.shape}, {ways}: {part}%")


# ---- colours ----

def waterfalls():
    signed = random.standard_normal((40, 300))
    save("w.h5", signed, sample_rate_hz=RATE, labels=("channel", "time"))
    script, (block,) = text("w.h5:/x")
    check(np.allclose(block, signed, rtol=1e-4), "a waterfall of single samples: wrong values")
    low, high = map(float, re.search(r"set cbrange \[(.*):(.*)\]", script).groups())
    size = np.max(np.abs(np.percentile(signed, [1, 99])))
    check(low == -high and abs(high - size) < 0.02 * size, f"colours from {low} to {high}, percentiles {size}")
    whole = random.standard_normal((40, 300000))
    save("w.h5", whole, sample_rate_hz=RATE, labels=("channel", "time"))
    _, (block,) = text("w.h5:/x")
    cuts = edges(300000, len(block[0]))
    rms = np.sqrt(np.add.reduceat(whole**2, cuts[:-1], axis=1) / np.diff(cuts))
    check(np.allclose(block, rms, rtol=1e-4), "a waterfall of rms values: wrong values")
    positive = random.integers(0, 255, (300, 40), dtype="u1")
    save("w.h5", positive, sample_rate_hz=RATE, labels=("time", "channel"))
    script, (block,) = text("w.h5:/x", "--channels", "5:35:3")
    check(np.allclose(block, positive.T[5:35:3], rtol=1e-4), "chosen channels: wrong values")
    check("'#440154'" in script, "values of one sign have the palette of both")
    image = random.uniform(1, 2, (1500, 1200))
    save("i.h5", image, labels=("row", "column"))
    script, (block,) = text("i.h5:/x")
    rows, columns = edges(1500, len(block)), edges(1200, len(block[0]))
    sums = np.add.reduceat(np.add.reduceat(image, rows[:-1], axis=0), columns[:-1], axis=1)
    means = sums / np.outer(np.diff(rows), np.diff(columns))
    check(np.allclose(block, means, rtol=1e-4), "an image of means: wrong values")
    check("set yrange [1499.5:-0.5]" in script, "the rows of an image do not go downwards")
    for name, x, attributes in (("pixel", np.full((1, 1), 7.0), {"labels": ("row", "column")}),
                                ("same", np.full((20, 50), 3.5), {}), ("dark", np.full((30, 40), np.nan), {}),
                                ("many", np.ones((100000, 3), "u1"), {"sample_rate_hz": 1.0})):
        save(name + ".h5", x, **attributes)
        script, (block,) = text(name + ".h5:/x", *(("--axis", 1) if name == "many" else ()))
        check(np.array_equal(np.array(block, float)[0], x[0], equal_nan=True), f"{name}: {block[0]}")
    m51 = data_path("M51.fits")
    if os.path.exists(m51):
        script, (block,) = text(m51)
        check("set yrange [-0.5:511.5]" in script and 'set ylabel "row (pixels)"' in script,
              "a FITS image does not have row 0 at the bottom")
        save("psf.h5", np.ones((1, 1)))
        lapwing(1, "conv2d", "--input", m51, "--kernel", "psf.h5:/x", "--output", "m51.h5", "--quiet")
        script, (before, after) = text("m51.h5")
        check("set yrange [-0.5:511.5]" in script and before == after,
              "the picture of the result differs from that of the FITS image")


def scales():
    """Colours: their quantity, their limits, and magnitudes on a logarithmic scale. A square image fills a square picture."""
    image = random.uniform(-1, 1, (40, 40))
    save("i.h5", image, labels=("row", "column"), unit="m/s")
    script, (block,) = text("i.h5:/x", "--size", "600x600")
    check('set label 4 "x (m/s)"' in script, "the bar lacks its quantity")
    left, right = (float(re.search(f"set {side}margin at screen ([0-9.]+)", script).group(1)) for side in "lr")
    check(600 * (right - left) > 420, f"the image has {600 * (right - left)} of 600 pixels")
    script, (block,) = text("i.h5:/x", "--log")
    low, high = map(float, re.search(r"set cbrange \[(.*):(.*)\]", script).groups())
    check(0 < low < 0.05 and 0.9 < high <= 1 and '"magnitude of x (m/s)"' in script, f"logarithmic colours from {low} to {high}")
    check(np.allclose(block, np.maximum(np.abs(image), low), rtol=1e-4), "the magnitudes of negative values are wrong")
    for limits, wanted in (("-2:3", "[-2:3]"), (":0.5", ":0.5]"), ("0.25:", "[0.25:"), ("-1e3:1e3", "[-1000:1000]")):
        script, _ = text("i.h5:/x", f"--limits={limits}")
        found = re.search("set cbrange (.*)", script).group(1)
        check(wanted in found, f"--limits {limits}: {found}")
        check(("'#053061'" in script) == (limits in ("-1e3:1e3",)) or ":" in (limits[0], limits[-1]), f"--limits {limits}: the palette")
    for limits, says in (("3:2", "LOW is not below HIGH"), ("2", "is not LOW:HIGH"), ("a:b", "is not LOW:HIGH")):
        plot("i.h5:/x", f"--limits={limits}", "--output", "t.png", code=2, says=says)
    plot("i.h5:/x", "--limits", "0:2", "--log", "--output", "t.png", code=2, says="must be above 0")


def found_by():
    """Peaks are drawn at the properties of their filters, over times since a known start; the spectrum of --whiten has two
    logarithmic axes."""
    x = random.standard_normal(20000)
    x[5000:5004] += 9
    x[9000:9016] += 5
    save("pulses.h5", x, sample_rate_hz=RATE, start_time="2023-09-22T18:29:26.158")
    common = "ols", "--input", "pulses.h5:/x", "--products", "peaks", "--threshold", 3, "--output", "p.h5", "--overwrite", "--quiet"
    lapwing(1, *common, "--boxcar", "1,4,16", "--baseline", 64)
    script, _ = text("p.h5:/peaks")
    check('set ytics ("1" 0, "4" 1, "16" 2)' in script and 'set ylabel "width (samples)"' in script,
          "the axis of filters does not show their widths")
    check('since 2023-09-22T18:29:26.158 UTC"' in script, "the axis of times does not show their start")
    lapwing(1, *common, "--bandpass", "10:100,100:300")
    check('set ytics ("10-100" 0, "100-300" 1)' in text("p.h5:/peaks")[0], "the axis of filters does not show their bands")
    lapwing(1, "filters", "ricker", "--rate", RATE, "--frequency", "20,50", "--output", "bank.h5", "--overwrite")
    lapwing(1, *common, "--filters", "bank.h5:/taps", "--whiten", "0.5s")
    script, _ = text("p.h5:/peaks")
    check('set ytics ("20" 0, "50" 1)' in script and 'set ylabel "frequency (Hz)"' in script,
          "the axis of whitened filters does not show their frequencies")
    script, (block,) = text("p.h5:/psd")
    with h5py.File("p.h5") as file:
        psd = file["psd"][()]
    check("set logscale x\nset logscale y" in script, "the axes of a power spectrum are not logarithmic")
    check(len(block) == len(psd) - 1 and np.allclose([row[2] for row in block], psd[1:], rtol=1e-6) and block[0][0] > 0,
          f"{len(block)} of {len(psd)} frequencies")


def trials():
    """Peaks of beams are drawn over time and the beams' coordinate, with its name and unit; --channels chooses beams."""
    x = random.standard_normal((4, 8000))
    x[:, 3000:3004] += 9
    save("array.h5", x, sample_rate_hz=RATE)
    for name, unit, label in (("slowness", "s/km", "slowness (s/km)"), ("trial", None, "trial")):
        with h5py.File("beams.h5", "w") as file:
            file["delays"] = np.arange(-2, 5)[:, None] * np.arange(4)
            file[name] = 0.05 * np.arange(-2, 5) + 0.001
            if unit:
                file[name].attrs["units"] = unit
            file[name].make_scale(name)
            file["delays"].dims[0].attach_scale(file[name])
        lapwing(1, "ols", "--input", "array.h5:/x", "--axis", 1, "--beams", "beams.h5:/delays", "--boxcar", "1,4", "--products", "peaks",
                "--threshold", 3.5, "--cluster", "20,filters", "--output", "beams-p.h5", "--overwrite", "--quiet")
        script, (block,) = text("beams-p.h5:/peaks")
        with h5py.File("beams-p.h5") as file:
            peaks = file["peaks"][()]
        check(f'set ylabel "{label}"' in script and "set ytics 1" not in script, f"the axis of beams is not labelled {label}")
        wanted = np.array([[p["time"] * 1e3 if "(ms)" in script else p["time"], p[name], p["snr"]] for p in peaks])
        unknown = [row for row in block if not np.any(np.all(np.abs(wanted - row[:3]) < 1e-4 * np.maximum(1, wanted), axis=1))]
        check(len(block) > 20 and not unknown and {round(row[1], 3) for row in block} == {round(t, 3) for t in peaks[name]},
              f"{len(unknown)} of {len(block)} peaks of beams are not in the table: {unknown[:3]}")
        strongest = max(block, key=lambda row: row[2])
        check(abs(strongest[1] - 0.001) < 1e-9 and strongest is block[-1] and strongest[3] == 2.7, f"the largest disc is {strongest}")
        _, (block,) = text("beams-p.h5", "--channels", "3")
        check({round(row[1], 3) for row in block} == {0.051}, "other beams than the chosen one are drawn")


# ---- results ----

def results():
    n = 50000
    x = random.standard_normal((2, n))
    with h5py.File("in.h5", "w") as file:
        file["x"] = x
        file["x"].attrs.update({"sample_rate_hz": RATE, "start_time": 0.0, "start_unit": "second"})
        file["taps"] = np.ones((2, 5)) / 5
    lapwing(1, "ols", "--input", "in.h5:/x", "--axis", 1, "--filters", "in.h5:/taps", "--start", 2000, "--count", 40000,
            "--mode", "same", "--decimate", 4, "--output", "r.h5", "--overwrite", "--quiet")
    with h5py.File("r.h5") as file:
        y = file["filtered"][()].astype(float)
    script, blocks = text("r.h5")
    check(len(blocks) == 6, f"two channels of two filters and their input make {len(blocks)} panels")
    inputs = x[1, 2000:42000]
    wanted = envelope(inputs, len(blocks[3]))
    check(np.allclose([row[1:] for row in blocks[3]], wanted, atol=1e-7), "the input's part is drawn with wrong values")
    begin, end = blocks[3][0][0], blocks[3][-1][0]
    check(abs(begin) < 0.03 and abs(end - 40) < 0.03, f"the input from {begin} to {end} s")
    wanted = envelope(y[1, 1], len(blocks[5]))
    check(np.allclose([row[1:] for row in blocks[5]], wanted, rtol=1e-6, atol=1e-9),
          "filter 1 of channel 1 is drawn with wrong values")
    check(len(text("r.h5", "--with-input=no")[1]) == 4, "--with-input=no draws other panels")
    check(len(text("r.h5", "--channels", "1:2", "--filters", "0:1")[1]) == 2, "one channel and one filter give other panels")
    os.mkdir("elsewhere")
    shutil.copy("in.h5", "elsewhere")
    shutil.copy("r.h5", "elsewhere/r2.h5")
    os.rename("in.h5", "gone.h5")
    check(len(text("elsewhere/r2.h5")[1]) == 6, "an input beside its moved result is not found")
    check(len(text("r.h5")[1]) == 4, "a missing input is drawn")
    plot("r.h5", "--with-input", "--output", "t.png", code=74, says="in.h5:/x, the input of .* cannot be found")
    save("in.h5", x[0])
    check(len(text("r.h5")[1]) == 4, "another input is drawn")
    plot("r.h5", "--with-input", "--output", "t.png", code=65, says="has changed since")
    plot("gone.h5:/x", "--with-input", "--output", "t.png", code=65, says="does not name its input")
    lapwing(1, "ols", "--input", "gone.h5:/x", "--axis", 1, "--filters", "gone.h5:/taps", "--products", "peaks", "--threshold", 3,
            "--output", "p.h5", "--overwrite", "--quiet")
    with h5py.File("p.h5") as file:
        peaks = file["peaks"][()]
    script, (block,) = text("p.h5")
    check('set xlabel "time (s)"' in script, "the axis of peaks has no unit of time")
    table = np.array([[p["time"], p["filter"], p["snr"]] for p in peaks])
    unknown = [row for row in block if not np.any(np.all(np.abs(table - row[:3]) < 1e-4, axis=1))]
    check(len(block) > 20 and not unknown, f"{len(unknown)} of {len(block)} peaks are not in the table: {unknown[:3]}")
    strongest = max(row[2] for row in block)
    check(abs(strongest - peaks["snr"].max()) < 1e-4 and block[-1][3] == 2.7,
          "the strongest peak is not the largest disc and the last")
    _, (block,) = text("p.h5", "--channels", "1:", "--from", 10, "--to", "20s")
    chosen = peaks[(peaks["channel"] == 1) & (peaks["time"] >= 10) & (peaks["time"] < 20)]
    check(block and {round(row[0] * 1e3) for row in block} <= {round(t * 1e3) for t in chosen["time"]},
          "other peaks than the chosen ones are drawn")
    plot("p.h5", "--from", 1000, "--output", "t.png", code=65, says="has no peaks in the part that is chosen")


def spectra():
    n = 1 << 16
    t = np.arange(n)
    tones = {100: 1.0, 5000: 2.0, 20000: 0.5}
    save("tones.h5", sum(a * np.cos(2 * np.pi * k * t / n) for k, a in tones.items()), sample_rate_hz=65536.0)
    lapwing(1, "sfft", "--input", "tones.h5:/x", "--sparsity", 3, "--output", "spectrum.h5", "--quiet")
    script, (block,) = text("spectrum.h5")
    found = {round(row[0] * 1000): row[1] / n * 2 for row in block}
    check(found.keys() == tones.keys() and all(abs(found[k] - a) < 1e-4 for k, a in tones.items()), f"lines: {found}")
    check('set xlabel "frequency (kHz)"' in script and "set xrange [0:32.768]" in script,
          "the axis of frequencies has a wrong unit or range")
    _, (block,) = text("spectrum.h5", "--from", "1kHz", "--to", "6kHz")
    check([round(row[0]) for row in block] == [5], f"a part: {block}")
    plot("spectrum.h5", "--channels", "3:", "--output", "t.png", code=65, says="has no lines of these --channels")
    plot("spectrum.h5", "--kind", "peaks", "--output", "t.png", code=78, says="is a table of lines")
    plot("spectrum.h5:/channels", "--output", "t.png", code=65, says="is a table with neither the columns of lines")


def filters():
    lapwing(1, "filters", "lowpass", "--rate", 1000, "--to", 100, "--taps", 33, "--output", "bank.h5", "--quiet")
    with h5py.File("bank.h5") as file:
        h = file["taps"][()]
    script, (taps, response) = text("bank.h5")
    check(np.allclose([row[1] for row in taps], h) and np.allclose([row[0] for row in taps], np.arange(33)),
          "the taps are drawn wrongly, or not over ms")
    f, db = np.array(response).T
    wanted = 20 * np.log10(abs(np.exp(-2j * np.pi * np.outer(f / 1000, np.arange(33))) @ h))
    near = wanted > -80
    check(np.allclose(db[near], wanted[near], atol=1e-3) and f[0] == 0 and f[-1] == 500,
          "the response is drawn wrongly, or not in dB over Hz")
    save("pair.h5", np.array([h, h]) * (1 + 1j))
    script, blocks = text("pair.h5:/x", "--kind", "filters")
    check(len(blocks) == 4 and "cycles per sample" in script and blocks[3][0][0] == -0.5,
          "a complex bank without a rate: wrong panels or unit")
    check(len(text("pair.h5:/x", "--kind", "filters", "--filters", "1:")[1]) == 2, "--filters 1: draws other panels")


# ---- names ----

def names():
    """No name becomes a command."""
    nasty = ["it's `touch pwned`", 'quo"te$(touch pwned)', "'; system('touch pwned'); '",
             "line\nset output 'pwned'\nsystem 'touch pwned'",
             "|touch pwned", "{-Bold x}_y^z@", "back\\slash\\", "\u00ff\x01end"]
    with Together() as together:
        for i, name in enumerate(nasty):
            with h5py.File(f"{name}.h5", "w") as file:
                file[name] = np.arange(10.0)
                file[name].attrs["unit"] = name
            output = f"nasty{i}.svg" if any(ord(c) < 32 for c in name) else f"nasty {name}.svg"
            together.plot(f"{name}.h5:/{name}", "--title", re.sub("[\n\x01]", " ", name), "--output", output)
            together.plot(f"{name}.h5:/{name}", "--output", f"plain{i}.gp")
    check(not [f for f in os.listdir(".") if f.startswith("pwned")], "a name has become a command")
    check(len([f for f in os.listdir(".") if f.startswith("nasty") and os.path.getsize(f) > 300]) == 8, "a picture is missing")


def every_sign():
    """The given text is drawn, to the last character."""
    title = "".join(map(chr, range(33, 127))) + "\u00e4\u00b5\u20ac"
    plot("s.h5:/x", "--title", title, "--output", "signs.svg", "--size", "1200x300")
    with open("signs.svg", encoding="utf-8") as file:
        drawn = html.unescape(re.sub(r"<[^>]*>", "", file.read()))
    check(title in drawn, f"the title is not drawn as {title}")


# ---- pictures ----

def size_of(name):
    with open(name, "rb") as file:
        content = file.read()
    if name.endswith(".png"):
        check(content[:8] == b"\x89PNG\r\n\x1a\n", f"{name} is no PNG")
        return struct.unpack(">II", content[16:24])
    if name.endswith(".pdf"):
        box = re.search(rb"MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", content)
        return tuple(round(float(v) / 72 * 100) for v in box.groups()) if box else None
    box = re.search(rb'<svg[^>]*width="(\d+)" height="(\d+)"', content)
    return tuple(int(v) for v in box.groups()) if box else None


def pictures():
    sources = ("s.h5:/x", "w.h5:/x", "i.h5:/x", "p.h5", "spectrum.h5", "bank.h5")
    endings = (".png", ".pdf", ".svg")
    with Together() as together:
        for i, source in enumerate(sources):
            for ending in endings[i % 3:i % 3 + 1] if i < 3 else (".png",):
                together.plot(source, "--output", f"size{i}{ending}", "--size", "640x480")
        together.plot("s.h5:/x", "--log", says=r"^s\.x\.png shows s\.h5:/x")
        together.plot("p.h5", "--log", says=r"^p\.peaks\.png shows")
        for i, source in enumerate(("w.h5:/x", "bank.h5", "spectrum.h5", "i.h5:/x")):
            together.plot(source, "--log", "--output", f"log{i}.png")
    for i, source in enumerate(sources):
        ending = endings[i] if i < 3 else ".png"
        size = size_of(f"size{i}{ending}")        # the size of a PDF is cut to whole points
        check(size and abs(size[0] - 640) <= 1 and abs(size[1] - 480) <= 1 and (ending == ".pdf" or size == (640, 480)),
              f"{source}{ending} has size {size}")
    check(size_of("s.x.png") == (1200, 500), "the default picture has another size")
    mode = stat.S_IMODE(os.stat("s.x.png").st_mode)
    mask = os.umask(0)
    os.umask(mask)
    check(mode == 0o666 & ~mask, f"the picture has mode {mode:o}")
    with open("one.gp", "w", encoding="utf-8"):
        pass
    lapwing(3, "plot", "s.h5:/x", "--output", "one.gp", "--overwrite")
    plot("s.h5:/x", "--output", "two.gp")
    with open("one.gp", "rb") as one, open("two.gp", "rb") as two:
        check(one.read() == two.read(), "three ranks draw another picture")
    drawn = subprocess.run(["gnuplot", "two.gp"], capture_output=True, timeout=60)
    with open("two.png", "wb") as file:
        file.write(drawn.stdout)
    check(drawn.returncode == 0 and size_of("two.png") == (1200, 500), f"gnuplot two.gp: {drawn.stderr}")


# ---- errors ----

def without_gnuplot():
    os.mkdir("bin")
    only = {"PATH": os.path.abspath("bin")}
    plot("s.h5:/x", "--output", "none.png", code=71, env=only,
         says=r"gnuplot.* is not installed: apt-get install gnuplot-nox; .*\.gp")
    plot("s.h5:/x", "--output", "none.gp", env=only)
    for body, said in (("[ $1 = --version ] && exit\necho 'line 7: no such thing' >&2\nexit 3\n", "code 3.*: line 7: no such thing"),
                       ("[ $1 = --version ] && exit\nkill -9 $$\n", "ended by signal 9"),
                       ("exit 0\n", "has drawn nothing: .*pngcairo")):
        with open("bin/gnuplot", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + body)
        os.chmod("bin/gnuplot", 0o755)
        plot("s.h5:/x", "--output", "none.png", code=71, says=said, env=only)
    check(not os.path.exists("none.png"), "a failed picture was left")


def errors():
    out = "--output", "e.png"
    with open("exists.png", "w", encoding="utf-8") as file:
        file.write("mine")
    os.symlink("exists.png", "link.png")
    save("cube.h5", np.zeros((2, 3, 4, 5)))
    with h5py.File("odd.h5", "w") as file:
        file["text"] = np.array([b"a", b"b"])
        file["empty"] = np.zeros((0, 5))
        file["table"] = np.zeros(5, dtype=[("a", "f8"), ("b", "i4"), ("c", "f4")])
        file.create_dataset("peaks", shape=(0,), dtype=[(c, "f8") for c in ("channel", "filter", "index", "time", "snr")])
        file["nothing"] = np.full(100, np.nan)
        file["one"] = np.array([3.0])
        file["empty sky"] = np.full((30, 40), np.nan)
    with h5py.File("r.h5") as file:
        content = file["filtered"].id.get_offset()
    with open("r.h5", "rb") as file, open("cut.h5", "wb") as cut:
        cut.write(file.read()[:content + 1000])
    with Together() as together:
        together.plot("s.h5:/x", "--output", "exists.png", code=74, says="exists.png' exists already: --overwrite")
        together.plot("s.h5:/x", "--output", "exists.jpg", code=2, says=r"must end with \.png, \.pdf, \.svg, or \.gp")
        together.plot("s.h5:/x", "--output", "png", code=2, says="must end with")
        together.plot("s.h5:/x", "--output", "nosuch/e.png", code=74, says="nosuch/e.png.*No such file")
        together.plot("s.h5:/x", "--output", "link.png", "--overwrite", code=74, says="is not a regular file")
        together.plot(code=2, says="the file comes first")
        together.plot("--output", "e.png", code=2, says="the file comes first")
        together.plot("s.h5:/x", "--title", "a", "more", *out, code=2, says="'more' is neither an option")
        together.plot("s.h5:/x", "more", *out, code=65, says="no dataset '/x more'")
        together.plot("s.h5:/x", "--size", "big", *out, code=2, says="--size: 'big'")
        together.plot("s.h5:/x", "--kind", "pie", *out, code=2, says="'pie' is none of")
        together.plot("s.h5:/x", "--from", "soon", *out, code=2, says="--from soon is neither a time in UTC")
        together.plot("s.h5:/x", "--from", 1, "--start", 1, *out, code=2, says="one pair or the other")
        together.plot("s.h5:/x", "--from", 5, "--to", 4, *out, code=78, says="no sample of .* lies from --from 5 to --to 4")
        together.plot("s.h5:/x", "--from", 500, *out, code=78, says="--from 500 is outside of .*, which lasts 150.001 s")
        together.plot("s.h5:/x", "--start", 150001, *out, code=78, says=r"--start 150001 is not in 0\.\.150000")
        together.plot("s.h5:/x", "--channels", "1:2", *out, code=78, says="--channels 1:2 selects no channel, or one beyond the 1")
        together.plot("s.h5:/x", "--filters", ":3", *out, code=78, says="--filters :3")
        together.plot("s.h5:/x", "--axis", 1, *out, code=78, says="has dimensions 0 to 0")
        together.plot("s.h5:/x", "--kind", "peaks", *out, code=78, says="no table")
        together.plot("i.h5:/x", "--from", 1, *out, code=78, says="have no sampling rate: give --sample-rate")
        together.plot("nosuch.h5", *out, code=74, says="nosuch.h5.*No such file")
        together.plot("exists.png:/x", *out, code=65, says="is not")
        together.plot("s.h5:/y", *out, code=65, says="no dataset '/y'.*/x")
        together.plot("cube.h5:/x", *out, code=65, says="up to 3 that are longer than 1")
        together.plot("odd.h5:/text", *out, code=65, says="not numbers")
        together.plot("odd.h5:/empty", *out, code=65, says="is empty")
        together.plot("odd.h5:/table", *out, code=65, says="is a table with neither")
        together.plot("odd.h5:/peaks", *out, code=65, says="has no peaks: there is nothing to draw")
        together.plot("odd.h5:/peaks", "--kind", "series", *out, code=78, says="table of peaks")
        together.plot("cut.h5", *out, code=65, says="cut.h5")
        together.plot("s.h5:/x", "--output", "/proc/e.png", code=74, says="cannot write '/proc/e.png': .*--output")
        for name in ("nothing", "one", "empty sky"):
            together.plot(f"odd.h5:/{name}", "--output", f"{name}.png", *(["--log"] if name == "nothing" else []))
        together.plot("odd.h5:/empty sky", "--output", "log sky.png", "--log")
        for name in ("pixel", "same", "many"):
            together.plot(f"{name}.h5:/x", "--output", f"{name}.png", *(("--axis", 1) if name == "many" else ()))
    check(not os.path.exists("e.png"), "an error left a picture")
    with open("exists.png", encoding="utf-8") as file:
        check(file.read() == "mine", "a refused picture has changed a file")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with ThreadPoolExecutor(4) as sections:
        running = [sections.submit(one) for one in (archives, storage, results, thinned, waterfalls, series, spectra, filters)]
    for one in running:
        one.result()
    if shutil.which("gnuplot"):
        scales()
        found_by()
        trials()
        names()
        every_sign()
        pictures()
        without_gnuplot()
        errors()
    else:
        print("there is no gnuplot: no picture was drawn")
    acoustic = data_path("das-silixa.hdf5")
    if os.path.exists(acoustic):
        with h5py.File(acoustic) as real:
            samples = real["Acoustic"][()]
        script, (block,) = text(acoustic + ":/Acoustic", "--axis", 0, "--channels", "1000:1400")
        check(np.array_equal(np.array(block), samples.T[1000:1400].astype(float)), "the DAS record is drawn with wrong values")
    left = [name for name in os.listdir(".") if re.search(r"\.(png|gp|svg|pdf)\.", name)]
    check(not left, f"left behind: {left}")
    os.chdir("/")
finish()
