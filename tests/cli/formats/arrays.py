"""FITS images, NumPy's arrays and raw numbers as input: the result equals that of an HDF5 copy of the same numbers, bit for bit. Most
runs are on one rank; with LW_TEST_ALL half of them are on three.

    arrays.py LAPWING MPIEXEC [FOLDER]

The files are made here, byte by byte. FOLDER, or the folder that LAPWING_DATA names, may hold M51.fits."""

import gzip
import itertools
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from fits import image_unit, read_units, tiled_unit, write_units
from tested import ALL, LAPWING, check, data_path, finish, lapwing, noise

import h5py
import numpy as np

orders = itertools.cycle("CF")
runs = itertools.cycle([(1, "auto"), (3, "collective"), (3, "auto"), (1, "collective")] if ALL else
                       [*4 * [(1, "auto"), (1, "collective")], (3, "collective"), *2 * [(1, "auto"), (1, "collective")], (2, "auto")])
results_of_copies = {}


def convolved(work, source, job, *options, alone=False):
    output = os.path.join(work, "out.h5")
    arguments = (job, "--input", source, "--kernel" if job == "conv2d" else "--filters", f"{work}/kernel.h5:/kernel", "--output", output,
                 "--overwrite", "--quiet", *options)
    if alone:
        done = subprocess.run([LAPWING, *map(str, arguments)], capture_output=True, text=True)
        check(done.returncode == 0, f"{' '.join(map(str, arguments))}: {done.stderr}")
    else:
        ranks, io = next(runs)
        done = lapwing(ranks, *arguments, "--io", io)
    if done.returncode:
        return None
    with h5py.File(output) as file:
        return file["convolved" if job == "conv2d" else "filtered"][()]


def copied(work, x):
    """Make the HDF5 copy of the expected samples."""
    with h5py.File(os.path.join(work, "copy.h5"), "w") as file:
        file["x"] = x
    return f"{work}/copy.h5:/x"


def agree(work, name, source, x, job="conv2d", options=(), own=()):
    """The result from a file equals that from the copy; `own` are options that only the file needs."""
    found = convolved(work, source, job, *options, *own)
    key = (x.tobytes(), x.dtype.str, x.shape, job, options)
    if key not in results_of_copies:
        results_of_copies[key] = convolved(work, copied(work, x), job, *options, alone=True)
    wanted = results_of_copies[key]
    if found is None or wanted is None:
        return
    check(found.dtype == wanted.dtype and found.shape == wanted.shape, f"{name}: {found.dtype} {found.shape}, not {wanted.dtype} {wanted.shape}")
    check(found.tobytes() == wanted.tobytes(), f"{name}: other samples")


def refuse(source, code, says, job="conv2d", work="", options=()):
    done = lapwing(1, job, "--input", source, "--kernel" if job == "conv2d" else "--filters", f"{work}/kernel.h5:/kernel", "--output",
                   f"{work}/refused.h5", "--quiet", *options, code=code)
    check(re.search(says, done.stderr), f"'{done.stderr}' lacks '{says}'")


# ---- NumPy ------------------------------------------------------------------------------------------------------------------

def as_samples(x):
    """The numbers in the type to which the program converts them."""
    kinds = {"bool": "u1", "float16": "f4", "uint32": "f8", "int64": "f8", "uint64": "f8"}
    return x.astype(kinds.get(x.dtype.name, x.dtype))


def numpy_files(work):
    path = os.path.join(work, "x.npy")
    types = ("b1", "i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">u4", "<u4", ">i8", "<u8", "<f2", ">f2", ">f4", "<f4", "<f8", ">f8",
             ">c8", "<c16")
    for kind in types:
        x = noise((53, 17), "f8") if kind[-2:] in ("f2", "b1") else noise((53, 17), np.dtype(kind).newbyteorder("="))
        x = (x > 0 if kind == "b1" else x).astype(kind)
        order = next(orders)
        np.save(path, np.array(x, order=order))
        agree(work, f"npy {kind} {order}", path, as_samples(x))
    for shape in ((1, 40), (40, 1), (3, 20, 30), (1, 1)):
        x = noise(shape, "f4")
        for order in "CF":
            np.save(path, np.array(x, order=order))
            agree(work, f"npy {shape} {order} part", path, x, options=("--start", 0, "--count", 1))
    large = noise((700, 1100), ">i2")
    for order in "CF":
        np.save(path, np.array(large, order=order))
        agree(work, f"npy large {order}", path, large.astype("i2"), options=("--start", 33, "--count", 600))
        for axis in (0, 1):
            agree(work, f"npy channels {order} {axis}", path, large.astype("i2"), "ols",
                  ("--axis", axis, "--start", 5, "--count", 500, "--channels", "3:600:7"))
    stack = noise((9, 20, 30), "u4")
    np.save(path, np.asfortranarray(stack))
    agree(work, "npy stack", path, stack.astype("f8"), options=("--channels", "1:9:3", "--start", 2))
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(path, "wb") as file:
            np.lib.format.write_array(file, large, version=version)
        agree(work, f"npy version {version}", path, large.astype("i2"))
    np.save(os.path.join(work, "kernel.npy"), np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    np.save(path, large)
    with h5py.File(f"{work}/other.h5", "w") as file:
        file["kernel"] = np.arange(6.0).reshape(2, 3)
    results = []
    for kernel in (f"{work}/kernel.npy", f"{work}/other.h5:/kernel"):
        lapwing(2, "conv2d", "--input", path, "--kernel", kernel, "--output", f"{work}/out.h5", "--overwrite", "--quiet")
        with h5py.File(f"{work}/out.h5") as file:
            results.append(file["convolved"][()].tobytes())
    check(results[0] == results[1], "a kernel from a NumPy file gives another result than from HDF5")


def numpy_refused(work):
    path = os.path.join(work, "bad.npy")
    for x, says in ((np.zeros((2, 2), "U3"), "NumPy's type '<U3'"), (np.zeros(3, [("a", "f4")]), "type \\["), (np.float32(1), "single value"),
                    (np.zeros((0, 4)), "no data"), (np.zeros((1, 1, 1, 1, 1)), "up to 4 dimensions"), (np.zeros((2, 2), "g"), "NumPy's type")):
        np.save(path, x)
        refuse(path, 65, says, work=work)
    np.save(path, np.zeros((20, 20)))
    refuse(path, 2, f" {path} is \\[20 x 20\\]: choose the time dimension with --axis", "ols", work)
    refuse(path + ":/x", 65, "leave out ':/x'", work=work)
    with open(path, "r+b") as file:
        file.truncate(1000)
    refuse(path, 65, "cut short: by its header 3200 bytes .*has 1000", work=work)


# ---- raw ----------------------------------------------------------------------------------------------------------------------

def raw_files(work):
    path = os.path.join(work, "x.raw")
    for kind, order, offset in (("int16be", "time-slow", 512), ("int8", "time-fast", 0), ("float32le", "time-slow", 3), ("uint64", "time-fast", 8),
                                ("float16", "time-slow", 1), ("uint32be", "time-fast", 7), ("complex-float32", "time-slow", 0),
                                ("complex-int16be", "time-slow", 10), ("complex-uint8", "time-fast", 0), ("complex-int32", "time-slow", 0)):
        parts = 2 if kind.startswith("complex-") else 1
        dtype = np.dtype(kind.replace("complex-", "").replace("be", "").replace("le", "")).newbyteorder(">" if "be" in kind else "<")
        x = np.clip(noise((900, 6 * parts), "f4") * 50, 0 if dtype.kind == "u" else -120, 120).astype(dtype)
        samples = as_samples(x.astype(dtype.newbyteorder("=")))
        if parts == 2:
            wide = "c16" if dtype.kind in "iu" and dtype.itemsize >= 4 else "c8"
            samples = (x[:, 0::2].astype("f8") + 1j * x[:, 1::2].astype("f8")).astype(wide)
        stored = x if order == "time-slow" else x.reshape(900, 6, parts).transpose(1, 0, 2)
        with open(path, "wb") as file:
            file.write(bytes(offset) + np.ascontiguousarray(stored).tobytes() + b"\1" * (dtype.itemsize * parts - 1))
        samples = samples if order == "time-slow" else samples.T
        agree(work, f"raw {kind}", path, np.ascontiguousarray(samples), "ols", ("--channels", "1:6:2", "--start", 11, "--count", 800)
              + ("--axis", "0" if order == "time-slow" else "1"), ("--raw", f"{kind},6,{order},{offset}"))
    noise(5000, "i2").tofile(path)
    done = lapwing(2, "ols", "--input", path, "--raw", "int16", "--filters", f"{work}/kernel.h5:/kernel", "--output", f"{work}/out.h5",
                   "--overwrite", "--quiet", "--sample-rate", "250", "--start-time", "2015-09-14T09:50:45.39")
    with h5py.File(f"{work}/out.h5") as file:
        about = file["filtered"].attrs
        check(file["filtered"].shape[-1] == 5000 and about["sample_rate_hz"] == 250, f"raw: {dict(about)} {done.stderr}")
        check(file.attrs["input"] == path, f"the attribute input is '{file.attrs['input']}'")
    planned = lapwing(1, "plan", "ols", "--input", path, "--raw", "int16", "--filters", f"{work}/kernel.h5:/kernel", "--output", "o.h5").stdout
    check(re.search(f"^input +{path}, int16, 5000 samples", planned, re.M), f"plan: {planned}")
    for raw, code, says in (("int16,0", 2, "--format raw=int16,0 is not understood"), ("int12", 2, "not understood"), ("int16,3,sideways", 2, "time-slow"),
                            ("int16,1,time-slow,0,5", 2, "not understood"), ("int16,3,time-slow,-4", 2, "not understood"),
                            ("float64,2000", 65, "too few for one number of each channel"), ("int16,1,,20000", 65, "too few")):
        refuse(path, code, says, "ols", work, ("--raw", raw))
    refuse(path, 2, "their type is not given", "ols", work, ("--format", "raw"))
    refuse(path, 2, "does not go with another format", "ols", work, ("--format", "FITS", "--raw", "int16"))
    refuse(path, 2, "--format GIF is unknown: give one of HDF5, .*raw", "ols", work, ("--format", "GIF"))
    refuse(path, 65, "is not an HDF5 file, .*, a FITS file, a NumPy file", "ols", work)


# ---- FITS -----------------------------------------------------------------------------------------------------------------------

def fits_files(work):
    path = os.path.join(work, "x.fits")
    for kind in (">u1", ">i2", ">i4", ">i8", ">f4", ">f8"):
        x = noise((61, 47), kind)
        write_units(path, image_unit(x))
        agree(work, f"FITS {kind}", path, as_samples(x.astype(x.dtype.newbyteorder("="))))
        scaled = (x[:, ::-1].astype("f8") * 0.37 + 5).astype("f4" if np.dtype(kind).itemsize < 4 or kind == ">f4" else "f8")
        write_units(path, image_unit(x[:, ::-1], BSCALE=0.37, BZERO=5.0))
        agree(work, f"FITS {kind} scaled", path, scaled)
    x = noise((4, 61, 47), "u2")
    write_units(path, image_unit((x ^ 0x8000).view("i2").astype(">i2"), BSCALE=1.0, BZERO=32768))
    agree(work, "FITS uint16", path, x, options=("--channels", "0:4:3", "--start", 7, "--count", 40))
    x = noise((61, 47), "i1")
    write_units(path, image_unit((x.view("u1") ^ 0x80), BZERO=-128))
    agree(work, "FITS int8", path, x)
    x = noise((61, 47), "i2")
    x[5, 7] = x[60, 46] = -77
    blank = np.where(x == -77, np.nan, x.astype("f4")).astype("f4")
    write_units(path, image_unit(x.astype(">i2"), BLANK=-77))
    agree(work, "FITS blank", path, blank)
    units(work, path)
    tiles(work, path)


def units(work, path):
    """The path selects the image."""
    first, second, third = noise((31, 20), ">i2"), noise((2, 21, 30), ">f4"), noise((40, 1), ">f8")
    write_units(path, image_unit(None), image_unit(first, extension=True, EXTNAME="SCI"),
                image_unit(second, extension=True, EXTNAME="SCI", EXTVER=2), image_unit(third, extension=True))
    for name, x in (("", first), (":/1", first), (":/SCI", first), (":/sci,2", second), (":/2", second), (":/3", third)):
        agree(work, f"FITS unit {name}", path + name, x.astype(x.dtype.newbyteorder("=")))
    listed = lapwing(1, "info", path).stdout
    check(re.search(r"/SCI .*\[31 x 20\].*int16.*/SCI,2 .*\[2 x 21 x 30\].*float32.*/3 .*\[40 x 1\]", listed, re.S), f"info: {listed}")
    refuse(path + ":/7", 65, "no unit '/7'; there are /0 \\(no image\\), /SCI, /SCI,2, /3", work=work)
    refuse(path + ":/0", 65, "holds no image", work=work)
    write_units(path, image_unit(None))
    refuse(path, 65, "holds no image", work=work)
    long = noise((1, 1, 1, 1, 30, 40), ">f4")
    write_units(path, image_unit(long))
    agree(work, "FITS axes of length 1", path, long[0, 0, 0, 0].astype("f4"))
    write_units(path, image_unit(noise((2, 2, 2, 2, 3), ">f4")))
    refuse(path, 65, "has 5 axes", work=work)
    write_units(path, image_unit(first))
    with open(path, "r+b") as file:
        file.truncate(2880 + first.nbytes - 1)
    refuse(path, 65, "cut short: by its header 1240 bytes", work=work)
    with open(path, "r+b") as file:
        file.truncate(2879)
    refuse(path, 65, "header 0 of the FITS file is cut short", work=work)


def tiles(work, path):
    """Compressed images, in codes that Python can write, too."""
    for kind, shape, tile, code in ((">i2", (61, 47), (1, 47), "GZIP_1"), (">i2", (61, 47), (8, 10), "RICE_1"), (">i4", (3, 20, 30), (1, 7, 30), "RICE_1"),
                                    (">u1", (50, 70), (50, 70), "RICE_1"), (">f4", (33, 40), (1, 40), "GZIP_2"), (">f8", (33, 40), (5, 40), "GZIP_1"),
                                    (">i4", (61, 47), (61, 40), "GZIP_2"), (">i2", (300, 700), (300, 700), "RICE_1"),
                                    (">i2", (33, 40), (4, 4), "NOCOMPRESS"), (">i2", (61, 47), (8, 47), "PLIO_1"),
                                    (">i4", (61, 47), (16, 47), "HCOMPRESS_1"), (">i2", (33, 29), (33, 29), "HCOMPRESS_1")):
        x = noise(shape, kind)
        if code == "PLIO_1":
            x = np.where(x > 9000, x, np.where(x < -9000, 77, 0)).astype(kind)
            x[20:22] = 30000
        if code == "RICE_1":
            x = np.where(np.arange(shape[-1]) % 100 < 40, x // 3 ** 4, x).astype(kind)
            x[..., :5, :] = 17
        write_units(path, image_unit(None), tiled_unit(x, tile, code=code, EXTNAME="TILED"))
        check(f"tiles [{' x '.join(map(str, tile))}], {code}" in lapwing(1, "info", path).stdout, f"info: tiles, {code}")
        agree(work, f"tiles {kind} {tile} {code}", path, x.astype(x.dtype.newbyteorder("=")),
              options=("--start", 3, "--count", 15) + (("--channels", "0:3:2") if len(shape) == 3 else ()))
    x = noise((61, 47), "u2")
    write_units(path, image_unit(None), tiled_unit((x ^ 0x8000).view("i2").astype(">i2"), (4, 47), code="RICE_1", BZERO=32768, BSCALE=1))
    agree(work, "tiles uint16", path, x)
    quantized(work, path)
    x = noise((40, 30), ">i2")
    write_units(path, image_unit(None), tiled_unit(x, (1, 30), rows=39))
    refuse(path, 65, "one row of its table for each tile", work=work)
    write_units(path, image_unit(None), tiled_unit(x, (1, 30)).replace(b"GZIP_1  ", b"BZIP_1  "))
    refuse(path, 65, "compressed by 'BZIP_1', not by RICE_1, GZIP_1, GZIP_2, PLIO_1 or HCOMPRESS_1: expand it with funpack", work=work)
    for code, at in ("PLIO_1", 11), ("HCOMPRESS_1", 30):
        unit = bytearray(tiled_unit(np.abs(x), (10, 30), code=code))
        begin = len(header_of(bytes(unit))) + 4 * 8 + at        # in the code of the first tile, which follows a row for each tile
        unit[begin:begin + 60] = b"\xff" * 60
        write_units(path, image_unit(None), bytes(unit))
        refuse(path, 65, "tile 1 is damaged", work=work)
    content = tiled_unit(x, (1, 30), code="RICE_1")
    write_units(path, image_unit(None), content[:-2880 - len(content) % 2880])
    refuse(path, 65, "is cut short: unit 1 has", work=work)
    write_units(path, image_unit(None), content)
    with open(path, "r+b") as file:
        file.seek(2880 + len(header_of(content)) + 4)
        file.write((2 ** 30).to_bytes(4, "big"))
    refuse(path, 65, "tile 1 claims a code that is too long or not in the heap", work=work)


def header_of(unit):
    return unit[:(unit.index(b"END" + 77 * b" ") // 2880 + 1) * 2880]


def quantized(work, path):
    """Floats stored as integers with a scale and subtracted dither, by Park and Miller's random numbers (section 10.2, appendix
    I)."""
    seed, numbers = 1, []
    for _ in range(10000):
        seed = 16807 * seed % 2147483647
        numbers.append(np.float32(seed / 2147483647))
    check(seed == 1043618065, "the test's generator is not Park and Miller's")
    q = noise((30, 700), "i2").astype(">i4")
    q[3, :9], q[4, :9] = -2147483648, -2147483646
    scales = [(0.25 + 0.01 * row, 3.5 - row) for row in range(30)]
    for dither in ("NO_DITHER", "SUBTRACTIVE_DITHER_1", "SUBTRACTIVE_DITHER_2"):
        x = np.empty(q.shape)
        for row, (scale, zero) in enumerate(scales):
            start = (row + 77 - 1) % 10000
            at = int(numbers[start] * 500)
            for column in range(700):
                shift = 0 if dither == "NO_DITHER" else 0.5 - float(numbers[at])
                x[row, column] = (int(q[row, column]) + shift) * scale + zero
                at += 1
                if at == 10000:
                    start = (start + 1) % 10000
                    at = int(numbers[start] * 500)
        x[q == -2147483648] = np.nan
        if dither == "SUBTRACTIVE_DITHER_2":
            x[q == -2147483646] = 0
        code = "RICE_1" if dither[-1] == "1" else "GZIP_2"
        unit = tiled_unit(q, (1, 700), code=code, scales=scales, ZQUANTIZ=dither, ZDITHER0=77, ZBLANK=-2147483648)
        write_units(path, image_unit(None), unit)
        agree(work, f"tiles {dither}", path, x.astype("f4"))


def gzipped(work):
    """Whole files compressed by gzip: at all levels, in several members, with bytes after the end, also with tiles. Damaged ones
    are refused, and the memory for the unpacked bytes is counted."""
    path = os.path.join(work, "x.fits.gz")
    x = noise((300, 211), ">i2")
    plain = image_unit(None) + image_unit(x, extension=True, EXTNAME="SCI")
    member = gzip.compress(plain[:5760]) + gzip.compress(plain[5760:])
    packings = [gzip.compress(plain, level) for level in (0, 1, 9)] + [member, member + b"more"]
    packings.append(gzip.compress(image_unit(None) + tiled_unit(x, (1, 211), code="RICE_1", EXTNAME="SCI")))
    for n, packed in enumerate(packings):
        write_units(path, packed)
        agree(work, f"gzip {n}", path + (":/SCI" if n % 2 else ""), x.astype("i2"), options=("--start", 7, "--count", 250))
    check("300 x 211" in lapwing(1, "info", path).stdout, "info does not show the shape of a gzipped file")
    good = gzip.compress(plain)
    for bad, says in ((good[:-5000], "cannot be unpacked"), (good[:5000] + b"\x00" * 9 + good[5009:], "cannot be unpacked"),
                      (good[:-8] + b"abcd" + good[-4:], "another checksum"), (gzip.compress(b"no FITS" * 999), "is not "),
                      (gzip.compress(plain[:-5760]), "is cut short")):
        write_units(path, bad)
        refuse(path, 65, says, work=work)
    needed = {}
    large = image_unit(noise((2000, 2000), ">f4"))
    for name, content in ("large.fits", large), ("large.fits.gz", gzip.compress(large, 1)):
        write_units(f"{work}/{name}", content)
        said = lapwing(1, "conv2d", "--input", f"{work}/{name}", "--kernel", f"{work}/kernel.h5:/kernel", "--output", f"{work}/no.h5",
                       "--memory", "1M", code=78).stderr
        needed[name] = float(re.search(r"needs ([.\d]+) MiB", said)[1])
    check(15 <= needed["large.fits.gz"] - needed["large.fits"] <= 17, f"memory: {needed}")
    os.remove(f"{work}/large.fits")
    os.remove(f"{work}/large.fits.gz")


def galaxy(work):
    path = data_path("M51.fits")
    if not os.path.isfile(path):
        print(f"{path} is not there: without M51")
        return
    x = read_units(path)[0][1]
    check((x.shape, x.min(), x.max()) == ((512, 512), -1, 19936) and abs(x.mean() - 108.3154) < 1e-4, "M51.fits has other pixels")
    agree(work, "M51", path, x.astype("i2"))
    agree(work, "M51 part", path + ":/0", x.astype("i2"), options=("--start", 100, "--count", 300, "--boundary", "edge"))


with tempfile.TemporaryDirectory() as folder:
    with h5py.File(os.path.join(folder, "kernel.h5"), "w") as kernel_file:
        kernel_file["kernel"] = noise((3, 5), "f4")
    numpy_files(folder)
    numpy_refused(folder)
    raw_files(folder)
    fits_files(folder)
    gzipped(folder)
    galaxy(folder)
finish()
