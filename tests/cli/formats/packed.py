"""Packed samples: results equal those from a copy that numpy has unpacked, bit for bit.

    packed.py LAPWING MPIEXEC

Attributes of the CF conventions in every type and storage, several files, results of the program itself, masks, filters, the
sparse transform, FITS, OptoDAS; --as-stored; the output of `info` and `verify`."""

import itertools
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from fits import image_unit, write_units
from said import expect, filtered
from tested import check, finish, lapwing, random, read_products

import h5py
import numpy as np

runs = itertools.cycle([(1, "auto"), (3, "collective"), (2, "auto"), (1, "collective")])
half = np.dtype([("re", "f2"), ("im", "f2")])


def write(path, x, storage=None, **attributes):
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", data=x, **(storage or {}))
        for name, value in attributes.items():
            data.attrs[name] = value
    return f"{path}:/x"


def unpack(x, attributes):
    """Unpack by the definition, in double precision. h5py does not know complex halves, so they are unpacked here."""
    number = np.empty(x.shape, complex) if x.dtype == half else x.astype("c16" if x.dtype.kind == "c" else "f8")
    if x.dtype == half:
        number.real, number.imag = x["re"], x["im"]
    flips = x.dtype.kind in "iu" and attributes.get("_Unsigned") == {"i": "true", "u": "false"}[x.dtype.kind]
    as_is = lambda value: np.asarray(value).astype(x.dtype.newbyteorder("="))   # noqa: E731
    if flips:
        other = np.dtype(("u" if x.dtype.kind == "i" else "i") + str(x.dtype.itemsize))
        number = x.astype(x.dtype.newbyteorder("=")).view(other).astype("f8")
        as_is = lambda value: np.asarray(value, x.dtype.newbyteorder("=")).view(other)      # noqa: E731
    bad = np.zeros(x.shape, bool)
    for name in "_FillValue", "missing_value":
        for value in np.atleast_1d(attributes.get(name, [])):
            bad |= number == as_is(value) if x.dtype.kind in "iu" and np.isfinite(value) else number == value
    low, high = attributes.get("valid_range", (attributes.get("valid_min", -np.inf), attributes.get("valid_max", np.inf)))
    values = number * float(attributes.get("scale_factor", 1)) + float(attributes.get("add_offset", 0))
    if x.dtype.kind != "c" and x.dtype != half:
        about = values if isinstance(low, float) and np.isfinite(low) and x.dtype.kind in "iu" else number
        bad |= (about < low) | (about > high)
    values[bad] = np.nan * (1 + 1j) if values.dtype.kind == "c" else np.nan
    return values


def same(name, found, wanted):
    check(found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes(),
          f"{name}: {found.dtype} {found.shape}, {wanted.dtype} {wanted.shape}, other samples")


def agree(work, name, source, values, *options, precision="single", own=()):
    """Compare the results from a file and from a copy of its values. `own` are options that only the file needs."""
    kind = {"single": {"f": "f4", "c": "c8"}, "double": {"f": "f8", "c": "c16"}}[precision][values.dtype.kind]
    with np.errstate(invalid="ignore"):
        copy = write(f"{work}/copy.h5", values.astype(kind))
    ranks, io = next(runs)
    found, about = filtered(work, source, "--axis", "0", "--precision", precision, "--io", io, *options, *own, ranks=ranks)
    wanted, _ = filtered(work, copy, "--axis", "0", "--precision", precision, *options)
    same(f"{name} {precision}", found, wanted)
    return about


# ---- attributes -----------------------------------------------------------------------------------------------------------

CASES = [
    ("i2", dict(scale_factor=0.5)),
    (">i2", dict(scale_factor=np.float32(0.01), add_offset=np.float32(273.15))),
    ("i2", dict(_FillValue=np.int16(-7), missing_value=np.array([5, 6], "i2"), scale_factor=np.array([0.1]), add_offset=1e4)),
    ("i2", dict(valid_range=np.array([-50, 60], "i2"), scale_factor=-2)),
    ("i2", dict(valid_range=np.array([-50.1, 60.3]), scale_factor=0.1)),
    ("u2", dict(valid_min=np.uint16(20), _FillValue=np.uint16(65535))),
    ("i1", dict(_Unsigned="true", _FillValue=np.int8(-1), scale_factor=0.25)),
    ("u1", dict(_Unsigned="false", add_offset=-3.5)),
    ("i4", dict(scale_factor=1e-5, add_offset=1.0)),
    ("f4", dict(_FillValue=-9.0, valid_max=np.float32(90))),
    (">f8", dict(scale_factor=1e-3, add_offset=1.0, missing_value=7.0)),
    ("c8", dict(scale_factor=3.0, add_offset=1.0, _FillValue=5.0)),
    ("f2", dict()),
    (">f2", dict(scale_factor=0.001, _FillValue=np.float16(8))),
    (half, dict(scale_factor=1 / 3)),
    ("?", dict(scale_factor=2.0)),
]


def numbers(dtype, shape):
    x = random.integers(-100, 100, shape)
    if dtype == half:
        pairs = np.empty(shape, half)
        pairs["re"], pairs["im"] = x, random.integers(-100, 100, shape)
        return pairs
    return (x > 0) if dtype == "?" else x.astype("u1").astype(dtype) if dtype[-2] == "u" else x.astype(dtype)


def attributes(work):
    storages = itertools.cycle([{}, dict(chunks=(64, 2), compression="gzip", shuffle=True), dict(chunks=(50, 5))])
    for number, (dtype, said) in enumerate(CASES):
        x = numbers(dtype, (701, 5))
        source = write(f"{work}/packed.h5", x, next(storages), **said)
        name, options = f"{dtype} {said}", ("--channels", "1:5:2", "--start", "33", "--count", "600") if number % 3 == 1 else ()
        for precision in ("single", "double") if number == 1 else ("single", "double")[number % 2:][:1]:
            about = agree(work, name, source, unpack(x, said), *options, precision=precision)
        check("scale_factor" not in about and "_Unsigned" not in about, f"{name}: the result has {sorted(about)}")
        if number % 4 == 0:
            agree(work, f"{name} as stored", source, x.astype("c16" if dtype == "c8" else "f8"), *options, own=("--as-stored",))
    x = numbers("i2", (701, 5))         # attributes that change no possible value have no effect
    source = write(f"{work}/packed.h5", x, scale_factor=1.0, add_offset=0, _FillValue=1e20, valid_range=np.array([-32768, 32767], "i2"))
    found, _ = filtered(work, source, "--axis", "0", "--output-type", "input")
    wanted, _ = filtered(work, write(f"{work}/copy.h5", x), "--axis", "0", "--output-type", "input")
    same("nothing to do", found, wanted)
    check(found.dtype == "i2", f"nothing to do: {found.dtype}")


def said_badly(work):
    x = numbers("i2", (50,))
    for said in dict(scale_factor="half"), dict(add_offset=np.nan), dict(scale_factor=[1.0, 2.0]), dict(valid_range=3), dict(missing_value=[1, 2, 3, 4]):
        source, name = write(f"{work}/bad.h5", x, **said), next(iter(said))
        done = lapwing(1, "ols", "--input", source, "--filters", f"{work}/taps.h5:/taps", "--output", f"{work}/none.h5", code=65)
        check(name in done.stderr and "--as-stored" in done.stderr, f"{said}: {done.stderr}")
        filtered(work, source, "--as-stored")
    expect(write(f"{work}/good.h5", x, missing_value="none"), values=None)
    expect(write(f"{work}/good.h5", x, scale_factor=0.1, add_offset=-3, _FillValue=-7, valid_max=90), type="int16 ",
           values="stored x 0.1 - 3; not a number: -7, numbers outside -inf..90 ", storage="contiguous, packed")


def several_files(work):
    """Each file has a scale of its own, with a gap between two. Samples that two files share were rounded to two scales."""
    def part(number, start, x, scale, offset):
        write(f"{work}/part{number}.h5", x, scale_factor=scale, add_offset=offset, sample_rate_hz=100.0,
              start_time=f"2024-01-01T00:00:{start}")
        return x * scale + offset
    x = numbers("i2", (400, 3))
    values = [part(0, "00", x, 0.5, 3.0), part(1, "04", numbers("i2", (400, 3)), 0.25, 0.0), np.full((100, 3), np.nan),
              part(2, "09", numbers("i2", (400, 3)), 1.0, 0.0)]
    agree(work, "several files", f"{work}/part*.h5:/x", np.concatenate(values))
    shared = np.rint(values[0][300:] / 0.3).astype("i2")
    more = np.concatenate([shared, numbers("i2", (300, 3))])
    values[1] = part(1, "03", more, 0.3, 0.0)[100:]
    agree(work, "shared samples", f"{work}/part[01].h5:/x", np.concatenate(values[:2]))
    part(1, "03", more + 2, 0.3, 0.0)
    done = lapwing(1, "ols", "--input", f"{work}/part[01].h5:/x", "--axis", "0", "--filters", f"{work}/taps.h5:/taps", "--output",
                   f"{work}/none.h5", code=65)
    check("--overlap" in done.stderr, f"shared samples: {done.stderr}")
    values[1] = part(1, "04", numbers("i2", (400, 3)), 0.25, 0.0)
    agree(work, "several files", f"{work}/part*.h5:/x", np.nan_to_num(np.concatenate(values)), precision="double", own=("--gaps", "zero"))


# ---- other readers of packed samples ----------------------------------------------------------------------------------------

def run(work, output, job, *options, ranks=1):
    path = f"{work}/{output}.h5"
    lapwing(ranks, job, *options, "--output", path, "--overwrite", "--quiet")
    with h5py.File(path) as file:
        return read_products(file)


def own_results(work):
    """Results stored in few bits are read as their values, up to rounding, also through several runs."""
    one = write(f"{work}/one.h5", np.array([1.0]))
    real, pairs = 100 * random.standard_normal((4000, 2)), random.standard_normal((4000, 2, 2)) @ [1, 1j]
    for x, kind, error in (real, "int16", 0.2501), (real, "int8", 64.1), (real, "float16", 0.2501), (pairs, "float16", 0.004):
        source, scale = write(f"{work}/real.h5", x.astype("c8" if x.dtype.kind == "c" else "f4")), "128" if kind == "int8" else "0.5"
        run(work, "stored", "ols", "--input", source, "--axis", "0", "--filters", one, "--output-type", kind, "--output-scale", scale)
        back = run(work, "back", "ols", "--input", f"{work}/stored.h5", "--axis", "0", "--filters", one)["filtered"]
        check(np.abs(back - x).max() <= error, f"{kind}: read back off by {np.abs(back - x).max()}, rms {back.std()} of {x.std()}")
        lapwing(1, "verify", f"{work}/back.h5")
        lapwing(1, "verify", f"{work}/stored.h5")


def other_readers(work):
    scale, offset = 0.125, -2.0
    taps, image = numbers("i2", (2, 9)), numbers("i2", (90, 40))
    with h5py.File(f"{work}/many.h5", "w") as file:
        for name, x in ("taps", taps), ("image", image), ("marks", (numbers("i2", (500,)) > 80) - np.int16(1)), ("x", numbers("i2", (500, 2))):
            data = file.create_dataset(name, data=x)
            data.attrs.update(scale_factor=scale, add_offset=offset)
            file[f"plain_{name}"] = (x * scale + offset).astype("f4" if name != "taps" else "f8")
        file["marks"].attrs.update(scale_factor=1.0, add_offset=1.0)    # the stored -1 is 0, which is no mark
        file["plain_marks"][...] = file["marks"][...] + 1
    name = f"{work}/many.h5:/"
    for job, options in (("conv2d", lambda p: ("--input", name + p + "image", "--kernel", name + p + "taps")),
                         ("ols", lambda p: ("--input", name + p + "x", "--axis", "0", "--filters", name + p + "taps", "--mask", name + p +
                                            "marks", "--products", "filtered,peaks", "--threshold", "2.5"))):
        found, wanted = run(work, "found", job, *options(""), ranks=2), run(work, "wanted", job, *options("plain_"))
        check(found.keys() == wanted.keys() and all(found[k].tobytes() == wanted[k].tobytes() for k in found), f"{job}: other results")
        lapwing(2, "verify", f"{work}/found.h5")
    with h5py.File(f"{work}/found.h5") as file:
        check(file.attrs["input_packing"] == "stored x 0.125 - 2" and len(file["peaks"]) > 0, f"{file.attrs['input_packing']}")


def tones(work):
    """The sparse transform reads single samples, as raw bytes or by the library."""
    n = 1 << 16
    x = np.rint(3000 * (np.cos(2 * np.pi * 777 * np.arange(n) / n) + np.cos(2 * np.pi * 9001 * np.arange(n) / n))).astype("i2")
    source, copy = write(f"{work}/tones.h5", x, scale_factor=0.01), write(f"{work}/plain.h5", (x * 0.01).astype("f4"))
    options = ("--sparsity", "4", "--algorithm", "sfft2", "--snr", "30")
    found = [run(work, f"found{io}", "sfft", "--input", name, *options, "--io", io)["spectrum"]
             for name in (source, copy) for io in ("auto", "collective")]
    check(len(found[0]) >= 2 and all(lines.tobytes() == found[0].tobytes() for lines in found), f"tones: {found}")


def fits(work):
    """BSCALE, BZERO and BLANK, and numbers around the middle of their range."""
    x = numbers("i2", (40, 30))
    for cards, values in (dict(BSCALE=0.5, BZERO=3.0, BLANK=7), np.where(x == 7, np.nan, x * 0.5 + 3)), (dict(BZERO=32768.0), x + 32768.0):
        write_units(f"{work}/image.fits", image_unit(x.astype(">i2"), **cards))
        agree(work, f"FITS {cards}", f"{work}/image.fits", values)
        agree(work, f"FITS {cards} as stored", f"{work}/image.fits", x.astype("f8"), own=("--as-stored",))


def optodas(work):
    x = numbers("i2", (300, 4))
    with h5py.File(f"{work}/optodas.h5", "w") as file:
        file["data"], file["fileVersion"] = x, 8
        file["header/dt"], file["header/time"], file["header/channels"], file["header/dx"] = 0.01, 1.7e9, np.arange(4), 2.0
        file["header/dataScale"], file["header/unit"] = 1.5e-9, b"rad/(s*m)"
    expect(f"{work}/optodas.h5", unit="rad/(s*m) ", values="stored x 1.5e-09 ")
    about = agree(work, "OptoDAS", f"{work}/optodas.h5", x * 1.5e-9)
    check(about["unit"] == "rad/(s*m)", f"OptoDAS: {about['unit']}")
    about = agree(work, "OptoDAS as stored", f"{work}/optodas.h5", x.astype("f8"), own=("--as-stored",))
    check(about["unit"] == "1.5e-09 rad/(s*m)", f"OptoDAS as stored: {about['unit']}")


def earlier_versions(work):
    """Earlier versions took packed samples as stored, without an attribute for it. Their results are verified accordingly."""
    source = write(f"{work}/packed.h5", numbers("i2", (900, 2)), scale_factor=0.5)
    filtered(work, source, "--axis", "0", "--as-stored")
    with h5py.File(f"{work}/out.h5", "r+") as file:
        text = file.attrs["configuration"]
        check("as-stored = yes" in text, f"the configuration: {text}")
        file.attrs["configuration"] = text.replace("as-stored = yes", "as-stored = no")
        check("input_packing" not in file.attrs, "--as-stored: the result has the attribute input_packing")
    lapwing(1, "verify", f"{work}/out.h5")
    filtered(work, source, "--axis", "0")
    lapwing(1, "verify", f"{work}/out.h5")
    with h5py.File(f"{work}/out.h5", "r+") as file:
        del file.attrs["input_packing"]
    lapwing(1, "verify", f"{work}/out.h5", code=65)
    image = write(f"{work}/image.h5", numbers("i2", (60, 50)), scale_factor=0.5)
    kernel = write(f"{work}/kernel.h5", numbers("f8", (5, 5)))
    lapwing(1, "conv2d", "--input", image, "--kernel", kernel, "--as-stored", "--output", f"{work}/out.fits")
    with open(f"{work}/out.fits", "rb") as file:
        said = file.read()
    check(b"HISTORY   as-stored = yes" in said, "HISTORY lacks the option as-stored")
    with open(f"{work}/out.fits", "wb") as file:
        file.write(said.replace(b"as-stored = yes", b"as-stored = no "))
    lapwing(1, "verify", f"{work}/out.fits")
    mask = write(f"{work}/mask.h5", np.zeros(900, "i2"), add_offset=1.0)
    filtered(work, source, "--axis", "0", "--mask", mask)
    with h5py.File(f"{work}/out.h5", "r+") as file:
        del file.attrs["mask_packing"]
    check("earlier version, which read" in lapwing(1, "verify", f"{work}/out.h5", code=65).stderr,
          "verify does not report a mask that an earlier version took as stored")


with tempfile.TemporaryDirectory() as folder:
    for part in attributes, said_badly, several_files, own_results, other_readers, tones, fits, optodas, earlier_versions:
        part(folder)
finish()
