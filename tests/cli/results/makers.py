"""Delays and templates that `lapwing filters` makes for given data, against numpy: trials of dispersion and their plans, plane waves
along a line, templates around given times; the same on one rank and on three.

    makers.py LAPWING MPIEXEC

Plans of steps are those that DDplan.py of PRESTO (May 2025, -k 1024) printed for the same band; lists by tolerance those that
dedisp's dedisp_generate_dm_list gave, in float32."""

import itertools
import os
import re
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import check, finish, lapwing

import h5py
import numpy as np

random = np.random.default_rng(43)
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
ranks = itertools.cycle([3] + 9 * [1])
RATE, N, CHANNELS, START = 250.0, 4000, 6, "2023-01-01T00:00:00"


def rounded(x):
    """Whole numbers, halves away from 0."""
    return (np.sign(x) * np.floor(np.abs(x) + 0.5)).astype(np.int32)


def make(kind, *options, code=0, n_ranks=None):
    return lapwing(n_ranks or next(ranks), "filters", kind, *options, "--output", "made.h5", "--overwrite", code=code)


def refused(code, pattern, kind, *options):
    """The options are refused, on one rank or on three, and no file is left."""
    if os.path.exists("made.h5"):
        os.remove("made.h5")
    done = make(kind, *options, code=code)
    messages = [line for line in done.stderr.split("\n") if line.startswith("lapwing: ")]
    check(len(messages) == 1 and re.search(pattern, messages[0]), f"{kind} {options}: {done.stderr}, not {pattern}")
    check(not [name for name in os.listdir() if name.startswith("made.h5")], f"{kind} {options} left a file")


def write_fil(name, fch1, foff, n_channels, interval, n=64):
    def text(words):
        return struct.pack("<i", len(words)) + words.encode()

    values = dict(nbits=8, nifs=1, nchans=n_channels, fch1=float(fch1), foff=float(foff), tstart=58543.25, tsamp=float(interval))
    with open(name, "wb") as file:
        file.write(text("HEADER_START"))
        for key, value in values.items():
            file.write(text(key) + struct.pack("<d" if isinstance(value, float) else "<i", value))
        file.write(text("HEADER_END") + random.integers(0, 256, (n, n_channels), dtype=np.uint8).tobytes())


def write_hdf5(name, samples, first=0, distance=None, start=True):
    """Samples [time x channel], or [time], from sample `first` of a survey on; distance = (first, step) in km."""
    with h5py.File(name, "w") as file:
        data = file.create_dataset("data", data=samples)
        data.dims[0].label = "time"
        data.attrs["sample_rate_hz"] = RATE
        if start:
            data.attrs["start_time"], data.attrs["start_unit"] = first / RATE, f"s since {START}"
        if distance:
            scale = file.create_dataset("distance", data=distance[0] + distance[1] * np.arange(samples.shape[1]))
            scale.attrs["units"] = "km"
            scale.make_scale("distance")
            data.dims[1].attach_scale(scale)
            data.dims[1].label = "distance"


def delays():
    """The delays, trials and coordinates of the channels in made.h5, and the attributes of the delays."""
    with h5py.File("made.h5") as file:
        check(file.attrs["lapwing_complete"] == 1 and "filters" in file.attrs["command_line"], f"provenance {dict(file.attrs)}")
        data = file["delays"]
        check(data.dtype == np.dtype("<i4"), f"delays have the type {data.dtype}")
        return data[...], data.dims[0][0][...], data.dims[1][0][...], dict(data.attrs)


# ---- dispersion -----------------------------------------------------------------------------------------------------------

def dispersed(name, options, dms, frequencies, interval, decimate=1, constant=4148.808):
    found, trials, coordinate, attributes = delays()
    check(len(trials) == len(dms) and np.allclose(trials, dms, rtol=1e-6, atol=1e-12), f"{name} {options}: trials {trials}, not {dms}")
    check(np.allclose(coordinate, frequencies, rtol=1e-12), f"{name} {options}: frequencies {coordinate}")
    exact = constant * trials[:, None] * (frequencies ** -2.0 - frequencies.max() ** -2.0) / (interval * decimate)
    check(found.shape == exact.shape and np.abs(found - exact).max() <= 0.5 + 1e-9 and (found[:, frequencies.argmax()] == 0).all() and
          found.min() == 0, f"{name} {options}: delays are off by {np.abs(found - exact).max()} samples")
    check(attributes["decimate"] == decimate and np.isclose(attributes["sample_rate_hz"], 1 / interval / decimate, rtol=1e-12) and
          attributes["dispersion_constant"] == constant, f"{name} {options}: {attributes}")


def dispersion():
    """Lists of trials, their delays in data with falling and rising frequencies, and in a part of the channels."""
    for name, fch1, foff, lists in (("falling.fil", 1500, -2, ((0, 1000, 12.5), (0, 1, 0.1))), ("rising.fil", 1200, 3, ((475, 475, 1),))):
        write_fil(name, fch1, foff, 64, 256e-6)
        frequencies = fch1 + foff * np.arange(64.0)
        for low, high, step in (*lists, (10, 20, 3)):
            make("dispersion", "--for", name, "--dm", f"{low}:{high}:{step}")
            dispersed(name, (low, high, step), np.arange(low, high + step * 1e-6, step), frequencies, 256e-6)
    make("dispersion", "--for", "falling.fil", "--dm", "0:100:10", "--decimate", "3")
    dispersed("falling.fil", "decimate", np.arange(0, 101, 10), 1500 - 2 * np.arange(64.0), 256e-6, 3)
    make("dispersion", "--for", "falling.fil", "--dm", "0:100:10", "--channels", "5:50:3", "--constant", "4149.377593361")
    dispersed("falling.fil", "channels", np.arange(0, 101, 10), 1500 - 2 * np.arange(5.0, 50, 3), 256e-6, constant=4149.377593361)
    done = make("dispersion", "--for", "falling.fil", "--dm", "0:100:10", "--frequency", "1.4GHz:1.45GHz", n_ranks=3)
    dispersed("falling.fil", "frequency", np.arange(0, 101, 10), np.arange(1450.0, 1399, -2), 256e-6)
    check(done.stderr.count("11 trials") == 1, f"three ranks print {done.stderr}")


def tolerance():
    """Levin's list, for the band of pydedisp's test, and by its definition for others."""
    write_fil("dedisp.fil", 920, -200 / 1024, 1024, 64e-6, n=2)
    make("dispersion", "--for", "dedisp.fil", "--dm", "500:510", "--dm-tolerance", "1.25")
    wanted = [500, 501.45917, 502.92258, 504.39023, 505.86215, 507.33838, 508.81888, 510.3037]
    dispersed("dedisp.fil", "tolerance", np.float32(wanted).astype(float), 920 - 200 / 1024 * np.arange(1024), 64e-6)
    for more, pulse in (("", 40e-6), (",width=2ms", 2e-3)):
        make("dispersion", "--for", "falling.fil", "--dm", "0:1000", "--dm-tolerance", f"1.1{more}")
        trials = delays()[1]
        channel = 8.3e-6 * 2 / 1.437 ** 3       # s per DM: 2 MHz at the band's middle
        fixed = 256e-6 ** 2 + pulse ** 2
        width = np.sqrt(fixed + (channel * trials) ** 2)
        beside = np.sqrt(fixed + (channel * trials[1:]) ** 2 + (64 / 4 * channel * np.diff(trials)) ** 2)
        check(trials[0] == 0 and trials[-2] < 1000 <= trials[-1] and np.allclose(beside / width[:-1], 1.1, rtol=1e-6),
              f"tolerance 1.1{more}: {beside / width[:-1]}, trials {trials}")


def plans():
    """(file, options, rows of DDplan: low DM, step, number, down-sampling)."""
    write_fil("gbt.fil", 1400 + 149.8535, -300 / 1024, 1024, 64e-6, n=2)        # centre 1400 MHz, band 300 MHz
    write_fil("pmps.fil", 1374 + 142.5, -3, 96, 250e-6, n=2)
    cases = [("gbt.fil", (50, 600), (), [(50, 0.1, 1797, 1), (229.7, 0.3, 737, 2), (450.8, 0.5, 299, 4)]),
             ("pmps.fil", (0, 1500), (), [(0, 0.5, 178, 1), (89, 1, 64, 2), (153, 2, 69, 4), (291, 5, 71, 8), (646, 10, 65, 16),
                                          (1296, 20, 11, 32)]),
             ("pmps.fil", (0, 500), ("--resolution", "2ms"), [(0, 2, 146, 4), (292, 5, 42, 8)])]
    for name, (low, high), options, rows in cases:
        n, interval = (1024, 64e-6) if name == "gbt.fil" else (96, 250e-6)
        frequencies = 1549.8535 - 300 / 1024 * np.arange(n) if n == 1024 else 1516.5 - 3.0 * np.arange(n)
        for start, step, number, decimate in (rows[0], rows[-1]):
            which = () if decimate == rows[0][3] else ("--decimate", decimate)
            done = make("dispersion", "--for", name, "--dm", f"{low}:{high}", *options, *which)
            said = [tuple(map(float, line.split())) for line in done.stderr.split("\n") if re.match(r"^ +\d+\.\d{3} ", line)]
            check(len(said) == len(rows) and np.allclose([(row[0], *row[2:]) for row in said], [(r[0], r[1], r[3], r[2]) for r in rows]),
                  f"{name} {low}..{high}: the log has {said}, DDplan {rows}")
            dispersed(name, options, start + step * np.arange(number), frequencies, interval, decimate)


def wrong_dispersion():
    write_hdf5("line.h5", np.zeros((100, CHANNELS), "f4"), distance=(1, 0.01))
    write_fil("zero.fil", 10, -10, 4, 256e-6)
    many = "--for", "falling.fil", "--dm"
    refused(2, r"--dm is missing", "dispersion", "--for", "falling.fil")
    refused(2, r"--for is missing", "dispersion", "--dm", "0:1:1")
    for text in ("5", "5:4:1", "0:1:0", "-1:1:1", "0:1:1:1", "0:1x", "0:inf:1"):
        refused(2, r"--dm .*is not LOW:HIGH:STEP or LOW:HIGH with 0 <= LOW", "dispersion", *many[:2], f"--dm={text}")
    refused(2, r"a STEP of --dm, --dm-tolerance and --resolution each choose", "dispersion", *many, "0:1:1", "--dm-tolerance", "1.2")
    refused(2, r"a STEP of --dm, --dm-tolerance and --resolution each choose", "dispersion", *many, "0:1", "--dm-tolerance", "1.2",
            "--resolution", "1ms")
    refused(2, r"--decimate 64: the plan has no such line, but 1 to 1", "dispersion", *many, "0:100", "--decimate", "64")
    refused(2, r"--dm-tolerance: 1 is not in", "dispersion", *many, "0:1", "--dm-tolerance", "1")
    refused(2, r"there would be 1000000001 trials, but at most", "dispersion", *many, "0:1000:0.000001")
    refused(2, r"--dm-tolerance 1.000001 makes more than", "dispersion", *many, "0:100000", "--dm-tolerance", "1.000001")
    refused(2, r"--dm: the longest delay would be .* at most 2\^31 - 1", "dispersion", *many, "2e9:2e9:1")
    refused(2, r"--type: no such option", "dispersion", *many, "0:1:1", "--type", "float32")
    refused(78, r"--channels 70:80 selects no channel", "dispersion", *many, "0:1:1", "--channels", "70:80")
    refused(65, r"line\.h5:/data have no regular frequency", "dispersion", "--for", "line.h5", "--dm", "0:1:1")
    refused(65, r"frequencies above 0", "dispersion", "--for", "zero.fil", "--dm", "0:1:1")
    refused(74, r"nosuch\.fil", "dispersion", "--for", "nosuch.fil", "--dm", "0:1:1")
    done = lapwing(1, "filters", "dispersion", *many, "0:1:1", "--output", "falling.fil", "--overwrite", code=2)
    check("is a file of --for" in done.stderr and os.path.getsize("falling.fil") > 4000, f"the data are replaced: {done.stderr}")


# ---- plane waves ----------------------------------------------------------------------------------------------------------

def beams():
    """Delays of both signs, from a coordinate in km or --channel-spacing; the first chosen channel has none."""
    write_hdf5("back.h5", np.zeros((100, 9), "i2"), distance=(2, -0.05))
    write_hdf5("plain.h5", np.zeros((100, 9), "i2"))
    ranges = (-2, 2, 0.1), (0.5, 0.5, 1), (-1, 1, 0.3)
    for name, options, spacing, channels, some in (("line.h5", (), 0.01, range(CHANNELS), ranges), ("back.h5", (), -0.05, range(9), ranges[:1]),
                                                   ("back.h5", ("--channels", "2:9:3"), -0.05, range(2, 9, 3), ranges[2:]),
                                                   ("back.h5", ("--distance", "1.7:1.9"), -0.05, range(2, 7), ranges[:1]),
                                                   ("plain.h5", ("--channel-spacing", "20"), 0.02, range(9), ranges[2:])):
        for low, high, step in some:
            make("beams", "--for", name, *options, "--slowness", f"{low}:{high}:{step}")
            found, trials, _, attributes = delays()
            wanted = low + step * np.arange(int(np.floor((high - low) / step + 1e-6)) + 1)
            exact = RATE * trials[:, None] * spacing * (np.array(channels) - channels[0])
            check(np.allclose(trials, wanted, atol=1e-12) and (low != -2 or 0.0 in trials), f"{name}: slownesses {trials}, not {wanted}")
            check(found.shape == exact.shape and np.abs(found - exact).max() <= 0.5 + 1e-9 and (found[:, 0] == 0).all(),
                  f"{name} {options} {low}:{high}:{step}: {found}, not {exact}")
            clear = np.abs(np.abs(exact) % 1 - 0.5) > 1e-6      # halves may fall to either side of a rounded product
            check((found == rounded(exact))[clear].all(), f"{name} {options}: {found} is not rounded from {exact}")
            check(attributes["sample_rate_hz"] == RATE and "decimate" not in attributes, f"{name}: {attributes}")
    refused(2, r"--slowness 0:1 is not LOW:HIGH:STEP with LOW <= HIGH", "beams", "--for", "line.h5", "--slowness", "0:1")
    refused(65, r"plain\.h5:/data have no regular distance .*--channel-spacing", "beams", "--for", "plain.h5", "--slowness", "0:1:1")


# ---- templates ------------------------------------------------------------------------------------------------------------

def cut(name, samples, times, before, after, *options, channels=slice(None), table=None):
    """Cut templates and compare them with slices of the samples [time x channel]. @return the samples' numbers"""
    make("cut", "--for", *name.split(), "--at", *times, "--before", before, "--after", after, *options)
    n_before, n_after = (round(float(t[:-1]) * RATE) if t[-1] == "s" else int(t) for t in (before, after))
    with h5py.File("made.h5") as file:
        taps, rows, attributes = file["taps"][...], file["templates"][...], dict(file["taps"].attrs)
    wanted = np.array([samples[s - n_before:s + n_after, ..., channels].T if samples.ndim > 1 else samples[s - n_before:s + n_after]
                       for s in table])
    kind = np.complex64 if np.iscomplexobj(samples) else np.float32
    check(taps.dtype == kind and np.array_equal(taps, wanted.astype(kind)), f"{name} {times} {options}: templates differ")
    check(list(rows["sample"]) == table and attributes["reference_tap"] == n_before and attributes["sample_rate_hz"] == RATE,
          f"{name} {times}: {rows}, {attributes}; wanted {table}")
    return rows


def templates():
    """Templates of one channel and several, of each way to give times, in one file and over joints."""
    x = random.integers(-3000, 3000, (N, CHANNELS)).astype("i2")
    z = (random.standard_normal(N) + 1j * random.standard_normal(N)).astype("c8")
    write_hdf5("all.h5", x, distance=(1, 0.01))
    write_hdf5("unknown.h5", x, start=False)
    write_hdf5("complex.h5", z)
    for i, (first, last) in enumerate(((0, 1500), (1500, 2500), (2500, N))):
        write_hdf5(f"part{i}.h5", x[first:last], first, distance=(1, 0.01))
    with open("times.txt", "w") as file:
        file.write("# arrivals\n2023-01-01T00:00:08.5\n\n  1000\n")
    with h5py.File("lists.h5", "w") as file:
        file["times"] = np.array([2.0, 3.5004, 7.9961])
        file["rows"] = np.array([(1, 700), (2, 900)], dtype=[("channel", "i8"), ("sample", "i8")])
    cut("all.h5", x, ["100", "2023-01-01T00:00:04.001", "5s", "12.4", "1k"], "20", "30", table=[100, 1000, 1250, 3100, 1000])
    cut("all.h5", x, ["@times.txt"], "0.1s", "0.4s", table=[2125, 1000])
    cut("all.h5", x, ["lists.h5:/times", "lists.h5:/rows"], "0", "1", table=[500, 875, 1999, 700, 900])
    cut("all.h5", x, ["0", str(N - 1)], "0", "1", "--channels", "1:5:2", channels=slice(1, 5, 2), table=[0, N - 1])
    cut("all.h5", x, ["700"], "30", "1", "--distance", "1.02:1.03", channels=slice(2, 4), table=[700])
    cut("part0.h5 part1.h5 part2.h5", x, ["1500", "2000", "7s"], "400", "1200", table=[1500, 2000, 1750])
    cut("unknown.h5", x, ["3s", "4"], "2", "3", table=[750, 4])
    cut("complex.h5", z, ["3s", "4"], "2", "3", table=[750, 4])
    check(h5py.File("made.h5")["taps"].shape == (2, 5), "templates of one channel have two dimensions")
    fast = x.T.copy()
    with h5py.File("fast.h5", "w") as file:
        file["data"] = fast
        file["data"].dims[1].label = "time"
        file["data"].attrs["sample_rate_hz"] = RATE
    cut("fast.h5", x, ["3s", "4"], "2", "300", table=[750, 4])


def found_again():
    """A template finds the time it was cut at, and those of a table of peaks are templates again."""
    y = random.standard_normal(N).astype("f4")
    write_hdf5("noise.h5", y)
    make("cut", "--for", "noise.h5", "--at", "1200", "9s", "--before", "40", "--after", "30")
    os.rename("made.h5", "templates.h5")
    lapwing(2, "ols", "--input", "noise.h5", "--filters", "templates.h5:/taps", "--correlate", "--products", "peaks", "--threshold", "7",
            "--noise", "energy", "--output", "peaks.h5")
    with h5py.File("peaks.h5") as file:
        peaks = file["peaks"][...]
    check([(row["filter"], round(row["time"] * RATE)) for row in peaks] == [(0, 1200), (1, 2250)], f"peaks {peaks}")
    rows = cut("noise.h5", y, ["peaks.h5:/peaks"], "40", "30", table=[1200, 2250])
    cut("noise.h5", y, ["templates.h5:/templates"], "40", "30", table=[1200, 2250])
    check(np.allclose(rows["time"], [4.8, 9.0]), f"times of templates {rows}")


def wrong_templates():
    x = np.zeros((N, 3), "f4")
    x[2000, 1] = np.nan
    write_hdf5("holes.h5", x)
    write_hdf5("after.h5", x[:100], N + 50)
    cut_at = "--for", "holes.h5", "--before", "10", "--after", "20", "--at"
    refused(65, r"template 1: sample 2000, 2023-01-01T00:00:08 of channel 1 of holes\.h5:/data is missing or not a number", "cut", *cut_at,
            "100", "1990")
    make("cut", *cut_at, "1980", "2011")
    done = make("cut", "--for", "holes.h5", "after.h5", "--at", "3990", "--before", "10", "--after", "20", code=65)
    check("template 0: sample 4000, 2023-01-01T00:00:16 of channel 0 of holes.h5:/data" in done.stderr, f"a gap: {done.stderr}")
    refused(78, r"template 1, at sample 9, would leave holes\.h5:/data, which has 4000 samples", "cut", *cut_at, "10", "9")
    refused(78, r"template 0, at sample 3981, would leave", "cut", *cut_at, "3981")
    refused(78, r"template 0, at sample -?\d+, would leave", "cut", *cut_at, "2022-01-01")
    refused(2, r"--at noon is neither a time", "cut", *cut_at, "noon")
    refused(2, r"--after is missing", "cut", *cut_at[:2], "--at", "5")
    refused(78, r"must have 1 to 4000", "cut", *cut_at[:2], "--at", "5", "--after", "9000")
    refused(78, r"must have 1 to 4000", "cut", *cut_at[:2], "--at", "5", "--after", "1ms")
    refused(65, r"lists\.h5:/names has no column time or sample", "cut", *cut_at, "lists.h5:/names")
    refused(65, r"nan, number 1 of a dataset, is no time", "cut", *cut_at, "lists.h5:/nan")
    refused(74, r"nosuch", "cut", *cut_at, "@nosuch.txt")
    refused(65, r"--delays: the delay of row 0, channel 1, is 3\.5004: give whole samples", "cut", *cut_at, "500", "--delays", "lists.h5:/times")
    refused(65, r"--delays all\.h5:/data is \[\d+ x \d+\]: give real numbers \[1 x 3\]", "cut", *cut_at, "500", "--delays", "all.h5:/data")
    refused(74, r"nosuch", "cut", *cut_at, "nosuch.h5:/peaks")


# ---- what ols makes of them -----------------------------------------------------------------------------------------------

def used():
    """A burst is found at its dispersion measure and time; a wave adds up in the beam of its slowness; rates must agree."""
    write_fil("burst.fil", 1500, -2, 64, 256e-6, n=3000)
    with open("burst.fil", "rb") as file:
        raw = file.read()
    x = np.frombuffer(raw[-64 * 3000:], np.uint8).reshape(3000, 64) // 4
    delay = rounded(4148.808 * 300 * ((1500 - 2 * np.arange(64.0)) ** -2 - 1500.0 ** -2) / 256e-6)
    for c in range(64):
        x[1000 + delay[c]:1004 + delay[c], c] += 40
    with open("burst.fil", "wb") as file:
        file.write(raw[:-64 * 3000] + x.tobytes())
    make("dispersion", "--for", "burst.fil", "--dm", "0:600:20")
    found, trials = delays()[:2]
    lapwing(2, "ols", "--input", "burst.fil", "--beams", "made.h5:/delays", "--boxcar", "1,norm=gain", "--output", "beams.h5")
    with h5py.File("beams.h5") as file:
        y, scale = file["filtered"][...], file["filtered"].dims[0][0]
        check(np.array_equal(scale[...], trials) and scale.name == "/dm", f"trials of the beams: {scale.name} {scale[...]}")
    sums = np.array([sum(np.pad(x[d:, c].astype(float), (0, d)) for c, d in enumerate(row)) for row in found])
    check(np.array_equal(y, sums), f"beams are off by {np.abs(y - sums).max()}")
    best = np.unravel_index(np.argmax(sums), sums.shape)
    check(trials[best[0]] == 300 and 1000 <= best[1] < 1004, f"the burst is found at {trials[best[0]]}, {best[1]}")
    make("dispersion", "--for", "burst.fil", "--dm", "0:600:20", "--decimate", "2")
    done = lapwing(1, "ols", "--input", "burst.fil", "--beams", "made.h5:/delays", "--boxcar", "1", "--output", "no.h5", code=65)
    check("the delays in made.h5:/delays are for a rate of 1953.125 Hz" in done.stderr, f"another rate: {done.stderr}")
    wave = random.standard_normal((500, 9))
    for c in range(9):
        wave[100 + 5 * c, c] += 50      # 20 m between channels, 5 samples of 4 ms: 1 s/km
    write_hdf5("wave.h5", wave)
    make("beams", "--for", "wave.h5", "--channel-spacing", "20", "--slowness", "-2:2:0.25")
    lapwing(1, "ols", "--input", "wave.h5", "--beams", "made.h5:/delays", "--boxcar", "1", "--output", "wave-beams.h5")
    with h5py.File("wave-beams.h5") as file:
        best = np.unravel_index(np.argmax(file["filtered"][...]), file["filtered"].shape)
        check(file["slowness"][best[0]] == 1 and best[1] == 100, f"the wave is found at {file['slowness'][best[0]]} s/km, {best[1]}")


dispersion()
tolerance()
plans()
wrong_dispersion()
beams()
templates()
with h5py.File("lists.h5", "a") as lists:
    lists["names"] = np.array([(1, 2, 3)], dtype=[("a", "f8"), ("b", "f8"), ("c", "f8")])
    lists["nan"] = np.array([1.0, np.nan])
found_again()
wrong_templates()
used()
finish()
