"""SEG-Y and miniSEED, end to end: the result from a file equals that from an HDF5 copy of its samples, bit by bit, on any number
of ranks and by either way of reading, which LW_TEST_ALL tries for each part of a file; its times and distances are those of the
file's headers.

    seismic.py LAPWING MPIEXEC [FOLDER with real data]

The files are made here, with samples in every encoding; segyio reads the files of this test, too."""

import itertools
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import ALL, check, data_path, finish, lapwing, numbers_of_ranks, random

import h5py
import numpy as np
import segyio

few_or_three = numbers_of_ranks(3)
turns = itertools.cycle([slice(None)] if ALL else [slice(i, i + 1) for i in range(3)])      # of three ways to read


# ---- SEG-Y ------------------------------------------------------------------------------------------------------------------

def ibm(values):
    """float64 to words of IBM's hexadecimal format, rounded down."""
    words = np.zeros(values.shape, np.uint32)
    for at, value in np.ndenumerate(values):
        if value != 0:
            fraction, exponent = np.frexp(abs(value))
            shift = -exponent % 4
            sixteens = (exponent + shift) // 4 + 64
            words[at] = (value < 0) << 31 | sixteens << 24 | int(fraction * 2.0 ** (24 - shift))
    return words


def from_ibm(words):
    exponent = (words >> 24 & 0x7f).astype(int) - 64
    return np.where(words >> 31, -1.0, 1.0) * (words & 0xffffff) * 2.0 ** (4 * exponent - 24)


def write_segy(path, code, stored, order=">", revision=1, interval_us=500, date=(2021, 32, 4, 5, 6)):
    """@param stored [trace, sample], words as they are stored, in native byte order"""
    traces, samples = stored.shape
    numbers = bytearray(400)
    struct.pack_into(order + "H", numbers, 16, interval_us)
    struct.pack_into(order + "HH", numbers, 20, samples, samples)
    struct.pack_into(order + "h", numbers, 24, code)
    struct.pack_into(order + "h", numbers, 54, 1)
    struct.pack_into(order + "HH", numbers, 300, revision << 8, 1)
    with open(path, "wb") as file:
        file.write("".join(f"C{line + 1:2} A LINE OF TEXT".ljust(80) for line in range(40)).encode("cp037"))
        file.write(numbers)
        for t in range(traces):
            header = bytearray(240)
            struct.pack_into(order + "i", header, 36, 300 + 5 * t)
            struct.pack_into(order + "HH", header, 114, samples, interval_us)
            struct.pack_into(order + "5h", header, 156, *date)
            file.write(header + stored[t].astype(stored.dtype.newbyteorder(order)).tobytes())


def contradictions(work):
    """Headers that contradict each other: the message names both values, and an option of the user decides."""
    path = f"{work}/line.sgy"
    samples = random.standard_normal((4, 300)).astype("f4")
    write_segy(path, 5, samples)
    with open(path, "r+b") as file:
        file.seek(3600 + 2 * (240 + 1200) + 114)
        file.write(struct.pack(">HH", 299, 505))
    said = lapwing(2, "ols", "--input", path, "--filters", f"{work}/taps.h5:/taps", "--output", f"{work}/no.h5", code=65).stderr
    check("300 samples by its binary header" in said and "299 by the header of trace 2" in said, said)
    said = lapwing(1, "ols", "--input", path, "--filters", f"{work}/taps.h5:/taps", "--output", f"{work}/no.h5", "--format", "segy",
                   code=65).stderr
    check("500 us apart by its binary header" in said and "505 us by the header of trace 2" in said, said)
    y, about = run(work, 2, path, "--format", "segy", "--sample-rate", "2kHz")
    write_segy(path, 5, samples)
    z, _ = run(work, 1, path)
    check(y.tobytes() == z.tobytes() and about["sample_rate_hz"] == 2000,
          "a file with contradicting headers: wrong samples or rate")


# ---- miniSEED ---------------------------------------------------------------------------------------------------------------

WIDTHS = {10: ((4, 8), (2, 16), (1, 32)), 11: ((7, 4), (6, 5), (5, 6), (4, 8), (3, 10), (2, 15), (1, 30))}
CODES = {(10, 4): (1, None), (10, 2): (2, None), (10, 1): (3, None), (11, 7): (3, 2), (11, 6): (3, 1), (11, 5): (3, 0),
         (11, 4): (1, None), (11, 3): (2, 3), (11, 2): (2, 2), (11, 1): (2, 1)}


def pack_word(encoding, differences, order):
    """The next word: of the widths that hold the coming differences, the one with most differences in a word. Bytes and short
    integers that fill a word are each in the file's byte order; narrower parts belong to a number of 32 bits. @return code, word,
    number of differences"""
    for n, bits in WIDTHS[encoding]:
        some = [int(d) for d in differences[:n]]
        if len(some) == n and all(-(1 << bits - 1) <= d < 1 << bits - 1 for d in some):
            code, upper = CODES[encoding, n]
            if upper is None:
                return code, struct.pack(order + {8: "4b", 16: "2h", 32: "i"}[bits], *some), n
            word = upper << 30
            for i, d in enumerate(some):
                word |= (d & ((1 << bits) - 1)) << bits * (n - 1 - i)
            return code, struct.pack(order + "I", word), n
    raise ValueError("no width holds the difference")


def steim(encoding, samples, most_frames, order):
    """Pack as many samples as fit the frames. @return bytes, number of samples"""
    differences = np.diff(samples, prepend=samples[:1])
    frames, done = [], 0
    while len(frames) < most_frames and done < len(samples):
        codes, words = 0, [bytes(4)] * 16
        for w in range(1 if frames else 3, 16):
            if done == len(samples):
                break
            code, words[w], n = pack_word(encoding, differences[done:done + 7], order)
            codes |= code << 30 - 2 * w
            done += n
        words[0] = struct.pack(order + "I", codes)
        frames.append(words)
    frames[0][1:3] = struct.pack(order + "i", samples[0]), struct.pack(order + "i", samples[done - 1])
    return b"".join(b"".join(words) for words in frames), done


def records(channel, encoding, samples, rate, order=">", length=512, start=(2020, 366, 23, 59, 58)):
    """All records of a channel, one after the other, beginning two seconds before the end of a leap year."""
    station, location, name, network = channel
    done = 0
    while done < len(samples):
        seconds = start[4] + done / rate
        if encoding >= 10:
            data, n = steim(encoding, samples[done:], (length - 64) // 64, order)
        else:
            n = min(len(samples) - done, (length - 64) // samples.itemsize)
            data = samples[done:done + n].astype(samples.dtype.newbyteorder(order)).tobytes()
        whole = int(seconds + 1e-9)
        year, day = (start[0], start[1]) if whole < 60 else (start[0] + 1, 1)
        hour, minute, second = (start[2], start[3], whole) if whole < 60 else (0, (whole - 60) // 60, (whole - 60) % 60)
        header = f"{1:06}D {station:5}{location:2}{name:3}{network:2}".encode()
        header += struct.pack(order + "HHBBBBHHhhBBBBiHH", year, day, hour, minute, second, 0, round((seconds - whole) * 10000),
                              n, rate, 1, 0, 0, 0, 1, 0, 64, 48)
        header += struct.pack(order + "HHBBBB", 1000, 0, encoding, order == ">", length.bit_length() - 1, 0)
        yield (header.ljust(64, b"\0") + data).ljust(length, b"\0")
        done += n


def write_mseed(path, channels):
    """Write the records of the channels in turn."""
    rows = [list(channel) for channel in channels]
    with open(path, "wb") as file:
        for r in range(max(map(len, rows))):
            file.write(b"".join(row[r] for row in rows if r < len(row)))


# ---- comparison with HDF5 ----------------------------------------------------------------------------------------------------

def run(work, ranks, source, *options, filters="taps"):
    output = os.path.join(work, "out.h5")
    lapwing(ranks, "ols", "--input", source, "--filters", f"{work}/taps.h5:/{filters}", "--output", output, "--overwrite",
            "--quiet", *options)
    with h5py.File(output) as file:
        return file["filtered"][()], dict(file["filtered"].attrs)


def compare(work, source, samples, rate, start, thorough=False):
    """@param samples the file's samples, in the type in which the program reads them
    @param thorough also compare parts of the file, on one rank and by calls of the format"""
    with h5py.File(f"{work}/copy.h5", "w") as file:
        file["x"] = samples
        file["x"].attrs["sample_rate_hz"] = float(rate)
    n = samples.shape[-1]
    cases, ways = [[]], [(3 if thorough else next(few_or_three), "auto")]
    if thorough:
        cases += [["--start", n // 7, "--count", n // 2]]
        ways += [(1, "auto"), (3, "collective")]
    if thorough and samples.ndim == 2:
        cases += [["--channels", "1:3"], ["--channels", f"0:{len(samples)}:2", "--start", 5]]
    for options in cases:
        expected, _ = run(work, 1, f"{work}/copy.h5:/x", "--axis", samples.ndim - 1, *options)
        for ranks, io in ways[next(turns)] if thorough else ways:
            found, about = run(work, ranks, source, "--io", io, *options)
            name = f"{os.path.basename(source)} {options}, {ranks} ranks, --io {io}"
            check(found.dtype == expected.dtype and found.tobytes() == expected.tobytes(), f"{name}: not what the copy gives")
            check(about["sample_rate_hz"] == rate, f"{name}: {about['sample_rate_hz']} Hz, not {rate}")
        if not options:
            check(about["start_unit"] == f"s since {start}" and about["start_time"] == 0,
                  f"{source}: from {about['start_time']} {about['start_unit']}, not {start}")


def segy(work):
    walk = np.round(random.standard_normal((5, 3001)).cumsum(1) * 50)
    words = ibm(walk * 0.37)
    kinds = [(1, words, from_ibm(words).astype(np.float32)), (2, walk.astype("i4"), None), (3, walk.astype("i2"), None),
             (5, (walk * 0.1).astype("f4"), None), (6, walk * 0.1, None), (8, (walk % 100).astype("i1"), None)]
    for code, stored, given in kinds:
        for order in ">", "<":
            path = f"{work}/line{code}.sgy"
            write_segy(path, code, stored, order)
            compare_as = given if given is not None else stored.astype(stored.dtype.newbyteorder(order))
            compare(work, path, compare_as, 2000, "2021-02-01T04:05:06", thorough=(code, order) in ((1, ">"), (3, "<")))
            if code in (1, 2, 3, 5):
                with segyio.open(path, ignore_geometry=True, endian="big" if order == ">" else "little") as file:
                    check(np.array_equal(file.trace.raw[:], compare_as.astype(file.dtype)), f"segyio reads format {code}, {order}")
    listed = lapwing(1, "info", path).stdout
    wanted = "5 distance x 3001 time", "int8", "2000 Hz, every 500 us", "2021-02-01T04:05:06 ", "300 to 320 m, every 5 m"
    check(all(fact in listed for fact in wanted), f"the facts of info are {listed}")


def mseed(work):
    n = 6001
    walk = random.standard_normal((3, n)).cumsum(1)
    spread = (walk + random.standard_normal((3, n)) * np.exp(12 * np.sin(np.arange(n) / 300))).astype("i4")     # all widths
    names = [("ABC", "", "HHE", "XY"), ("ABC", "", "HHN", "XY"), ("ABC", "", "HHZ", "XY")]
    kinds = [(1, (walk * 100).astype("i2")), (3, spread), (4, walk.astype("f4")), (5, walk), (10, spread), (11, spread)]
    for encoding, samples in kinds:
        for order in ">", "<":
            path = f"{work}/day{encoding}.mseed"
            write_mseed(path, [records(name, encoding, row, 100, order) for name, row in zip(names, samples)])
            compare(work, path, samples, 100, "2020-12-31T23:59:58", thorough=(encoding, order) == (11, ">"))
    compare(work, path + ":/XY.ABC..HHN", samples[1], 100, "2020-12-31T23:59:58", thorough=True)
    said = lapwing(1, "ols", "--input", path + ":/XY.ABC..HHX", "--filters", f"{work}/taps.h5:/taps", "--output", f"{work}/no.h5",
                   code=65).stderr
    check("/XY.ABC..HHE, /XY.ABC..HHN, /XY.ABC..HHZ" in said, f"the message does not list the channels: {said}")


def gaps(work):
    """A file with gaps gives the same as files cut at the gaps, and as HDF5 with NaN in the gaps; a window between two gaps needs
    nothing else. The samples of overlapping records are compared."""
    name, rate, n = ("ABC", "", "HHZ", "XY"), 100, 5500
    samples = random.standard_normal(n).cumsum()
    samples = (samples * 1000).astype("i4")
    pieces = (0, 1000), (1100, 2500), (2507, n)
    start = (2020, 366, 23, 58, 0)

    def write(path, cuts, values=samples):
        rows = [list(records(name, 11, values[a:b], rate, start=(*start[:4], start[4] + a / rate))) for a, b in cuts]
        write_mseed(path, [sum(rows, [])])

    write(f"{work}/broken.mseed", pieces)
    for i, piece in enumerate(pieces):
        write(f"{work}/piece{i}.mseed", [piece])
    gone = samples.astype("f8")
    for (_, a), (b, _) in zip(pieces, pieces[1:]):
        gone[a:b] = np.nan
    with h5py.File(f"{work}/gone.h5", "w") as file:
        file["x"], file["zero"] = gone, np.nan_to_num(gone).astype("i4")
        file["x"].attrs["sample_rate_hz"] = file["zero"].attrs["sample_rate_hz"] = 100.0
    broken = f"{work}/broken.mseed"
    for options, path in ((), "x"), (("--gaps", "zero"), "zero"), (("--start", "1200", "--count", "1000"), "x"):
        z, _ = run(work, 1, f"{work}/gone.h5:/{path}", *(options if path == "x" else ()))
        for ranks, io in [(1, "auto"), (3, "auto"), (2, "collective")][next(turns)]:
            y, about = run(work, ranks, broken, "--io", io, *options)
            check(y.dtype == z.dtype and np.array_equal(y, z, equal_nan=True), f"gaps in a file: {ranks} ranks, {io}, {options}")
    y, about = run(work, 1, broken)
    z, _ = run(work, 1, f"{work}/piece?.mseed")
    check(np.array_equal(y, z, equal_nan=True) and about["start_unit"] == "s since 2020-12-31T23:58:00",
          "gaps between files and gaps in a file give different results")
    said = lapwing(1, "info", broken).stdout
    check("stretches    3, between which 107 samples are missing" in said and "2020-12-31T23:58:54.99 " in said, f"info: {said}")
    for arguments, code in (("--start", 1200, "--count", 1024), 0), ((), 65), (("--gaps", "zero"), 0):
        said = lapwing(2 if code else 1, "sfft", "--input", broken, "--sparsity", 1, "--output", f"{work}/sfft.h5", "--overwrite", "--quiet", *arguments,
                       code=code).stderr
        check(code == 0 or "2 gaps in the chosen part" in said, said)
    check("gaps" in lapwing(1, "ols", "--input", broken, "--gaps", "error", "--filters", f"{work}/taps.h5:/one", "--output",
                            f"{work}/no.h5", code=65).stderr, "--gaps error: the message does not name the gaps")
    lapwing(2, "ols", "--input", broken, "--filters", f"{work}/taps.h5:/taps", "--each", "stretch", "--output", f"{work}/each", "--quiet")
    check(sorted(os.listdir(f"{work}/each")) == [f"broken-{i}.h5" for i in range(3)], f"{os.listdir(f'{work}/each')}")
    for i in range(3):
        y, _ = run(work, 1, f"{work}/piece{i}.mseed")
        with h5py.File(f"{work}/each/broken-{i}.h5") as file:
            check(np.array_equal(file["filtered"][()], y), f"--each stretch: number {i}")
    run(work, 1, f"{broken}:/XY.ABC..HHZ#1")
    lapwing(1, "plot", broken, "--output", f"{work}/plot.gp")
    write(f"{work}/broken.mseed", [(0, 1000), (900, 2000)])
    y, _ = run(work, 2, broken)
    z, _ = run(work, 1, f"{work}/gone.h5:/zero", "--count", "1000")
    check(np.array_equal(y[:900], z[:900]) and y.shape == (2000,), "overlapping records: wrong samples")
    other = samples.copy()
    other[950:] += 1
    rows = [list(records(name, 11, v, rate, start=(*start[:4], start[4] + a / rate))) for v, a in ((samples[:1000], 0), (other[900:2000], 900))]
    write_mseed(broken, [sum(rows, [])])
    said = lapwing(2, "ols", "--input", broken, "--filters", f"{work}/taps.h5:/taps", "--output", f"{work}/no.h5", code=65).stderr
    check("differ, first in sample 950" in said and "2020-12-31T23:58:09.5" in said, said)
    y, _ = run(work, 1, broken, "--overlap", "last")
    z = other.copy()
    z[:900] = samples[:900]
    with h5py.File(f"{work}/gone.h5", "a") as file:
        file["last"] = z[:2000]
    check(np.array_equal(y, run(work, 1, f"{work}/gone.h5:/last")[0]), "--overlap last: wrong samples")


def stations(work):
    """Two stations are not one signal, and two lines of SEG-Y are not, either."""
    for name, station, start in ("a", "ABC", (2020, 10, 1, 2, 3)), ("b", "ABD", (2020, 10, 1, 2, 13)):
        write_mseed(f"{work}/{name}.mseed", [records((station, "", "HHZ", "XY"), 4, np.ones(1000, "f4"), 100, start=start)])
    said = lapwing(1, "ols", "--input", f"{work}/a.mseed", f"{work}/b.mseed", "--filters", f"{work}/taps.h5:/taps", "--output",
                   f"{work}/no.h5", code=65).stderr
    check("the channel is /XY.ABC..HHZ in the first and /XY.ABD..HHZ in the second" in said, said)


# ---- real data ---------------------------------------------------------------------------------------------------------------

def real(work):
    etna, small = data_path("etna.mseed"), data_path("small.sgy")
    if not os.path.isfile(etna) or not os.path.isfile(small):
        print("etna.mseed and small.sgy not found; LAPWING_DATA names their folder")
        return
    y, about = run(work, 2, etna, filters="one")
    check(y.shape == (3, 13556) and list(y[:, 0]) == [1696, 567, -323] and list(y[0, 1:5]) == [81, -89, -80, 107],
          f"etna: {y.shape}, {y[:, :5]}")
    check(about["sample_rate_hz"] == 1000 and about["start_unit"] == "s since 2018-08-31T07:01:08.896", f"etna: {about}")
    y, _ = run(work, 2, f"{etna}:/9N.00066..HSF", filters="one")
    check(y.shape == (13735,), f"etna: {y.shape}")
    y, about = run(work, 2, small, filters="one")
    check(y.shape == (10, 20) and about["sample_rate_hz"] == 250 and about["start_unit"] == "s since 2017-09-18T00:00:00",
          f"small: {y.shape}, {about}")
    words = np.array([np.frombuffer(open(small, "rb").read()[3600 + 320 * t + 240:3600 + 320 * t + 320], ">u4") for t in range(10)])
    check(np.array_equal(y, from_ibm(words.astype(np.uint32)).astype(np.float32)), "small: other samples than the file's")


with tempfile.TemporaryDirectory() as folder:
    with h5py.File(f"{folder}/taps.h5", "w") as taps:
        taps["taps"], taps["one"] = random.standard_normal(17), np.ones(1)
    segy(folder)
    contradictions(folder)
    mseed(folder)
    gaps(folder)
    stations(folder)
    real(folder)
finish()
