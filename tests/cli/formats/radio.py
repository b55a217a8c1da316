"""Files of radio telescopes, SIGPROC and PSRFITS: results equal, bit for bit, those from an HDF5 copy made by an independent
decoder. Data of the Parkes telescope are used if they are found.

    radio.py LAPWING MPIEXEC [FOLDER]"""

import itertools
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import ALL, LAPWING, check, data_path, finish, lapwing, read_products

import h5py
import numpy as np

random = np.random.default_rng(5)
CHANNELS, SPECTRA = 52, 3000
OFFSET = 58543.25
thirds = itertools.cycle([0, 1, 2])


# ---- SIGPROC --------------------------------------------------------------------------------------------------------------

def text(words):
    return struct.pack("<i", len(words)) + words.encode()


def header(**values):
    """A header of keywords with int, float or str values."""
    packed = text("HEADER_START")
    for name, value in values.items():
        kinds = {int: lambda v: struct.pack("<i", v), float: lambda v: struct.pack("<d", v), str: text}
        packed += text(name) + kinds[type(value)](value)
    return packed + text("HEADER_END")


def pack_low_first(samples, bits):
    """Pack samples of fewer than 8 bits, the first in the lowest bits."""
    places = (samples.ravel()[:, None] >> np.arange(bits)) & 1
    return np.packbits(places.ravel().astype(np.uint8), bitorder="little").tobytes()


def write_fil(name, samples, bits, step=-0.5, start=OFFSET, **more):
    """Write samples [time x IF x channel]."""
    n_ifs, n_channels = samples.shape[1:]
    values = dict(source_name="J0534+2200", telescope_id=4, src_raj=53431.9, nbits=bits, nifs=n_ifs, nchans=n_channels, fch1=1500.0,
                  foff=step, tstart=start, tsamp=0.000256)
    values.update(more)
    with open(name, "wb") as file:
        file.write(header(**values) + (pack_low_first(samples, bits) if bits < 8 else samples.tobytes()))


def made(bits, n_ifs):
    shape = SPECTRA, n_ifs, CHANNELS
    if bits == 32:
        return random.standard_normal(shape).astype("<f4")
    samples = random.integers(0, 2 ** bits, shape)
    return samples.astype("<u2" if bits == 16 else "u1")


# ---- PSRFITS ----------------------------------------------------------------------------------------------------------------

def cards(data):
    """Headers of a FITS file as dictionaries of texts, and the offset of the data of each; only tables of bytes."""
    headers, at = [], 0
    while at < len(data):
        found = {}
        while True:
            block = data[at:at + 2880].decode("latin1")
            at += 2880
            lines = [block[i:i + 80] for i in range(0, 2880, 80)]
            for line in lines:
                if line[8:10] == "= ":
                    found[line[:8].strip()] = line[10:].split(" /")[0].strip().strip("'").strip()
            if any(line.startswith("END ") for line in lines):
                break
        headers.append((found, at))
        size = 1 if int(found["NAXIS"]) else 0
        for axis in range(int(found["NAXIS"])):
            size *= int(found[f"NAXIS{axis + 1}"])
        at += -(-size // 2880) * 2880
        if at >= len(data) or data[at:at + 8] != b"XTENSION":
            break
    return headers


def decode_psrfits(name):
    """Values [time x polarisation x channel] in double precision, from samples of 4 bits."""
    with open(name, "rb") as file:
        data = file.read()
    table, at = next(pair for pair in cards(data) if pair[0].get("EXTNAME") == "SUBINT")
    numpy_types = {"D": ">f8", "E": ">f4", "B": "u1"}
    columns = [(table[f"TTYPE{c + 1}"], numpy_types[table[f"TFORM{c + 1}"][-1]], (int(table[f"TFORM{c + 1}"][:-1]),))
               for c in range(int(table["TFIELDS"]))]
    rows = np.frombuffer(data, np.dtype(columns), int(table["NAXIS2"]), at)
    shape = len(rows), int(table["NSBLK"]), int(table["NPOL"]), int(table["NCHAN"])
    packed = rows["DATA"]
    stored = np.stack([packed >> 4, packed & 15], -1).reshape(shape).astype(float)
    scale, offset = (rows[column].astype(float).reshape(shape[0], 1, *shape[2:]) for column in ("DAT_SCL", "DAT_OFFS"))
    weight = rows["DAT_WTS"].astype(float)[:, None, None, :]
    values = ((stored - float(table["ZERO_OFF"])) * scale + offset) * weight
    return values.reshape(-1, *shape[2:])


# ---- comparing --------------------------------------------------------------------------------------------------------------

def boxcars(*widths):
    """Boxcars of the given widths minus the mean of 65 samples, since powers have a mean."""
    bank = np.zeros((len(widths), 65))
    for taps, width in zip(bank, widths):
        taps[32:32 + width] = 1
        taps -= taps.mean()
    return bank / np.linalg.norm(bank, axis=1)[:, None]


def copy(samples):
    """Write samples to copy.h5, with the times of the files that are made here."""
    with h5py.File("copy.h5", "w") as file:
        file["x"] = samples
        file["x"].attrs.update(sample_rate_hz=3906.25, start_time=0.0, start_unit="s since 2019-03-01T06:00:00")
        file["h"], file["bank"] = random.standard_normal(33), boxcars(2, 3)
        file["k"] = random.standard_normal((5, 7))


def result(ranks, job, source, *options):
    output = "out.h5"
    lapwing(ranks, job, "--input", source, *options, "--output", output, "--overwrite", "--quiet")
    with h5py.File(output) as file:
        found = {name: data.tobytes() for name, data in read_products(file).items() if not name.startswith("waveforms/")}     # the copy alone
        return found, dict(file["filtered"].attrs) if "filtered" in file else {}


def compare(name, source):
    """Compare the file with copy.h5:/x, for several parts and ways to read: without LW_TEST_ALL by turns for one or two of them."""
    ways = [(1, [], []), (3, [], ["--io", "collective"]), (3, ["--channels", "5:50:7", "--start", "130", "--count", "2000"], []),
            (1, ["--channels", "3:20", "--start", "7"], ["--io", "collective"]), (2, ["--channels", "1:52:3"], ["--io-threads", "3"])]
    for ranks, part, how in ways if ALL else ways[next(thirds)::3]:
        want, _ = result(1, "ols", "copy.h5:/x", "--filters", "copy.h5:/h", "--axis", "0", *part)
        got, about = result(ranks, "ols", source, "--filters", "copy.h5:/h", *part, *how)
        check(got == want, f"{name}, {ranks} ranks, {part}, {how}: another result than that of the copy")
    return about


def filterbanks():
    for bits in (1, 2, 4, 8, 16, 32):
        samples = made(bits, 1)
        write_fil("x.fil", samples, bits, step=0.5 if bits == 4 else -0.5)
        copy(samples[:, 0])
        about = compare(f"{bits} bits", "x.fil")
        check(about["sample_rate_hz"] == 3906.25 and "2019-03-01T06:00:00" in about["start_unit"], f"{bits} bits: {about}")
    samples = made(8, 2)
    write_fil("x.fil", samples, 8)
    for path, wanted in (("/if/1", samples[:, 1]), ("/if/0+1", samples.sum(1, dtype="u2"))):
        copy(wanted)
        compare(path, "x.fil:" + path)
    said = lapwing(1, "ols", "--input", "x.fil", "--filters", "copy.h5:/h", "--output", "out.h5", "--overwrite", code=2).stderr
    check("choose one, as in 'x.fil:/if/0', or the sum of two" in said, said)
    listed = subprocess.run([LAPWING, "info", "x.fil"], capture_output=True, text=True).stdout
    check(all(path in listed for path in ("/if/0 ", "/if/1 ", "/if/0+1 ")) and "3906.25 Hz from 2019-03-01T06:00:00" in listed,
          listed)
    series = made(8, 1)[:, :, :1]
    write_fil("x.tim", series, 8, data_type=2, refdm=56.7)
    copy(series[:, 0, 0])
    want, _ = result(1, "ols", "copy.h5:/x", "--filters", "copy.h5:/bank")
    check(result(3, "ols", "x.tim", "--filters", "copy.h5:/bank")[0] == want, "a time series gives another result than the copy")


def other_jobs():
    for bits, ranks in (2, 3), (8, 3 if ALL else 1):
        samples = made(bits, 1)
        write_fil("x.fil", samples, bits)
        copy(samples[:, 0])
        want, _ = result(1, "conv2d", "copy.h5:/x", "--kernel", "copy.h5:/k")
        check(result(ranks, "conv2d", "x.fil", "--kernel", "copy.h5:/k")[0] == want, f"{bits} bits: conv2d")
        sparse = "--sparsity", "3", "--channels", "2:9"
        want, _ = result(1, "sfft", "copy.h5:/x", "--axis", "0", *sparse)
        check(result(ranks, "sfft", "x.fil", *sparse)[0]["spectrum"] == want["spectrum"], f"{bits} bits: sfft")
        peaks = "--filters", "copy.h5:/bank", "--products", "peaks", "--threshold", "3", "--cluster", "20"
        want, _ = result(1, "ols", "copy.h5:/x", "--axis", "0", *peaks)
        got, _ = result(ranks, "ols", "x.fil", *peaks)
        check(len(want["peaks"]) > 0 and got == want, f"{bits} bits: peaks")


def several_files():
    """Two consecutive observations, and two with a gap between."""
    samples = made(4, 1)
    copy(samples[:, 0])
    want, _ = result(1, "ols", "copy.h5:/x", "--filters", "copy.h5:/h", "--axis", "0")
    write_fil("1.fil", samples[:1200], 4)
    write_fil("0.fil", samples[1200:], 4, start=OFFSET + 1200 * 0.000256 / 86400)
    check(result(2, "ols", "[01].fil", "--filters", "copy.h5:/h")[0] == want,
          "two consecutive files give another result than the copy")
    for other, says in (dict(telescope_id=5), "the telescope is 5 in the first and 4 in the second"), (dict(ibeam=3), None), (dict(src_raj=53433.9), "the pointing is"):
        write_fil("0.fil", samples[1200:], 4, start=OFFSET + 1200 * 0.000256 / 86400, **other)
        said = lapwing(1, "ols", "--input", "[01].fil", "--filters", "copy.h5:/h", "--output", "no.h5", "--overwrite",
                       code=65 if says else 0).stderr
        check(not says or ("'0.fil' and '1.fil'" in said and says in said), f"{other}: {said}")


INF = """ Data file name without suffix          =  series
 Telescope used                         =  Parkes
 Instrument used                        =  Multibeam
 Object being observed                  =  J0534+2200
 J2000 Right Ascension (hh:mm:ss.ssss)  =  05:34:31.9730
 J2000 Declination     (dd:mm:ss.ssss)  =  -22:00:52.0600
 Data observed by                       =  Unknown
 Epoch of observation (MJD)             =  {mjd}
 Barycentered?           (1 yes, 0 no)  =  {bary}
 Number of bins in the time series      =  {n:<11}
 Width of each time series bin (sec)    =  0.000256
 Any breaks in the data? (1 yes, 0 no)  =  0
 Type of observation (EM band)          =  Radio
 Beam diameter (arcsec)                 =  860
 Dispersion measure (cm-3 pc)           =  {dm}
 Central freq of low channel (MHz)      =  1230.25
 Total bandwidth (MHz)                  =  288
 Number of channels                     =  96
 Channel bandwidth (MHz)                =  3
 Data analyzed by                       =  me
 Any additional notes:
    none
"""


def presto():
    """Time series of PRESTO: float32, with a text beside it whose epoch has more digits than float64."""
    samples = random.standard_normal(5000).astype("f4")
    about = dict(mjd="58543.250000000000116", bary=0, n=4999, dm=56.77)

    def write(name, values, **more):
        values.tofile(f"{name}.dat")
        with open(f"{name}.inf", "w") as file:
            file.write(INF.format(**{**about, **more}))

    write("series", samples)
    copy(samples[:4999])
    want, _ = result(1, "ols", "copy.h5:/x", "--filters", "copy.h5:/h")
    check(result(1, "ols", "series.dat", "--filters", "copy.h5:/h")[0] == want,
          "a PRESTO series gives another result than the copy")
    said = lapwing(1, "info", "series.dat").stdout
    for fact in ("PRESTO", "4999 time", "3906.25 Hz, every 256 us (.inf file)", "2019-03-01T06:00:00.0000000100224 ",
                 "telescope Parkes, instrument Multibeam, dispersion measure 56.77, pointing 83.633221 -22.014461 degrees"):
        check(fact in said, f"{fact}: {said}")
    write("series", samples, bary=1)
    check("58543.25 barycentric MJD" in lapwing(1, "info", "series.dat").stdout, "info lacks the barycentric epoch")
    def write_spectrum(n):
        write("spectrum", samples, n=n)
        sums = np.fft.rfft(samples[:n].astype(float))
        packed = np.concatenate([sums[:1].real, sums[-1:].real, sums[1:(n + 1) // 2].view("f8")])
        packed.astype("f4").tofile("spectrum.fft")

    write_spectrum(5000)
    lapwing(1, "ols", "--input", "spectrum.dat", "--filters", "copy.h5:/h", "--output", "series.h5", "--overwrite")
    lapwing(2, "ols", "--input", "spectrum.fft", "--filters", "copy.h5:/h", "--output", "inverse.h5", "--overwrite")
    with h5py.File("series.h5") as one, h5py.File("inverse.h5") as other:
        check(np.allclose(one["filtered"], other["filtered"], atol=1e-4), "the inverse of a spectrum gives another result than its series")
    write_spectrum(4999)
    check("has an even number" in lapwing(1, "info", "spectrum.fft", code=65).stderr, "an odd number of bins is not refused")
    write("next", samples, mjd="58543.26", dm=60)
    write("series", samples)
    said = lapwing(1, "ols", "--input", "series.dat", "next.dat", "--filters", "copy.h5:/h", "--output", "no.h5", code=65).stderr
    check("the dispersion measure is 56.77 in the first and 60 in the second" in said, said)
    for change, says in (dict(n=5001), "gives 5001 bins, and 5000 are there"), (dict(n="many"), "lacks the number of bins"):
        write("series", samples, **change)
        said = lapwing(1, "ols", "--input", "series.dat", "--filters", "copy.h5:/h", "--output", "no.h5", code=65).stderr
        check(says in said, said)
    with open("series.inf", "wb") as file:
        file.write(INF.format(**about)[:300].encode() + bytes(range(256)) * 300)
    lapwing(1, "info", "series.dat", code=65)
    samples.tofile("other.dat")
    check("is not" in lapwing(1, "info", "other.dat", code=65).stderr, "a series without its text file is not refused")
    said = lapwing(1, "info", "other.dat", "--raw", "float32", "--sample-rate", "2kHz", "--start-time", "2020-01-01").stdout
    for fact in "format       raw", "5000 time", "2000 Hz, every 500 us", "2020-01-01T00:00:02.4995 ":
        check(fact in said, f"{fact}: {said}")


def damaged():
    samples = made(8, 1)
    write_fil("x.fil", samples, 8, nsamples=SPECTRA + 1)
    said = lapwing(2, "ols", "--input", "x.fil", "--filters", "copy.h5:/h", "--output", "out.h5", "--overwrite", code=65).stderr
    check(f"it holds {SPECTRA + 1} spectra (nsamples), and only {SPECTRA} are there" in said, said)
    write_fil("x.fil", samples, 8)
    with open("x.fil", "ab") as file:
        file.write(b"\1" * (CHANNELS - 1))
    copy(samples[:, 0])
    compare("part of a spectrum behind the last", "x.fil")


# ---- Parkes -----------------------------------------------------------------------------------------------------------------

def parkes_filterbanks():
    facts = (("parkes_8bit_1.fil", 436194585, [113, 136, 142, 92, 146, 148, 129, 151]),
             ("parkes_2bit.fil", 5150964, [1, 2, 2, 0, 2, 2, 2, 3]),
             ("parkes_1bit.fil", 1707422, [0, 1, 1, 0, 1, 1, 1, 1]))
    with h5py.File("one.h5", "w") as file:
        file["h"] = np.ones(1)
    for name, total, first in facts:
        if not os.path.isfile(data_path(name)):
            print(f"skipped: no {name}")
            continue
        for ranks, io in ((1, "auto"), (3, "collective")):
            lapwing(ranks, "ols", "--input", data_path(name), "--filters", "one.h5:/h", "--io", io, "--output", "out.h5",
                    "--overwrite", "--quiet")
            with h5py.File("out.h5") as file:
                y, about = file["filtered"][()], dict(file["filtered"].attrs)
            check(y.shape == (4096, 832) and y.sum(dtype=float) == total and list(y[0, :8]) == first,
                  f"{name}: {y.shape}, {y.sum(dtype=float)}")
            check(about["sample_rate_hz"] == 1953.125 and "2019-03-01T07:55:45.457652208" in about["start_unit"],
                  f"{name}: {about}")


def parkes_search():
    """Search for single pulses, with a mask of channels."""
    source, mask = data_path("parkes_8bit_1.fil"), data_path("parkes_8bit_1_mask.h5")
    if not (os.path.isfile(source) and os.path.isfile(mask)):
        print("skipped: no parkes_8bit_1.fil with its mask")
        return
    with h5py.File("boxcars.h5", "w") as file:
        file["taps"] = boxcars(1, 2, 4, 8)
    with open(source, "rb") as file:
        samples = np.frombuffer(file.read()[351:], "u1").reshape(4096, 832)
    copy(samples)
    search = ("--filters", "boxcars.h5:/taps", "--products", "peaks", "--threshold", "5", "--cluster", "8", "--mask",
              mask + ":/chan_mask")
    tables = []
    for ranks, given in ((1, ["copy.h5:/x", "--axis", "0"]), (3, [source])):
        lapwing(ranks, "ols", "--input", *given, *search, "--output", "out.h5", "--overwrite", "--quiet")
        with h5py.File("out.h5") as file:
            tables.append(file["peaks"][()])
    fields = [field for field in tables[0].dtype.names if field != "time"]
    check(len(tables[0]) > 0 and all(np.array_equal(tables[0][f], tables[1][f]) for f in fields),
          "peaks differ from those of the copy")
    with h5py.File(mask) as file:
        masked = np.flatnonzero(file["chan_mask"][()])
    check(len(masked) > 0 and not np.isin(tables[1]["channel"], masked).any(), "masked channels have peaks")


def parkes_psrfits():
    source = data_path("parkes_4bit.sf")
    if not os.path.isfile(source):
        print("skipped: no parkes_4bit.sf")
        return
    values = decode_psrfits(source)
    for path, wanted in (("", values[:, 0] + values[:, 1]), (":/CI", values[:, 3]), (":/BB+CR", values[:, 1] + values[:, 2])):
        copy(wanted.astype("f4"))
        about = compare(path or "AA+BB", source + path)
    check(about["sample_rate_hz"] == 1953.125 and "2019-03-01T07:55:43.3605" in about["start_unit"], f"{about}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    filterbanks()
    other_jobs()
    several_files()
    presto()
    damaged()
    parkes_filterbanks()
    parkes_search()
    parkes_psrfits()
finish()
