"""Results of conv2d in FITS: the numbers are those of the HDF5 result, bit for bit, and pass `lapwing verify`; each pixel has its
sky coordinates.

    fits_result.py LAPWING MPIEXEC [FOLDER]

This test reads the files byte by byte; astropy checks the coordinates and the file, too. FOLDER, or the folder that LAPWING_DATA
names, may hold M51.fits. LW_TEST_ALL takes all cuts with all kinds of coordinates, and more ranks."""

import itertools
import os
import re
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from fits import block, header, image_unit, read_units, write_units
from tested import ALL, check, data_path, finish, lapwing, noise, read_products

import h5py
import numpy as np

from astropy.io import fits as astropy_fits
from astropy.wcs import WCS, FITSFixedWarning

warnings.simplefilter("ignore", FITSFixedWarning)
runs = itertools.cycle([(1, "auto"), (3, "collective"), *([(3, "auto")] if ALL else [(1, "collective")]), (2, "direct"), (1, "direct")])
SKY = dict(CTYPE1="RA---TAN", CTYPE2="DEC--TAN", CRVAL1=202.47, CRVAL2=47.195, CRPIX1=20.5, CRPIX2=31, CUNIT1="deg", CUNIT2="deg",
           OBJECT="It's M51", EXPTIME=600, AIRMASS=1.08015632629395, BUNIT="Jy/beam", FILTERED=True)


def both(work, source, *options, kernel="kernel.h5:/kernel"):
    """Run both. @return the units of the FITS result, the datasets of the HDF5 result and their attributes"""
    common = "conv2d", "--input", source, "--kernel", f"{work}/{kernel}", "--overwrite", "--quiet", *options
    ranks, io = next(runs)
    done = lapwing(ranks, *common, "--output", f"{work}/out.fits", "--io", io)
    lapwing(2 if ALL else 1, *common, "--output", f"{work}/out.h5")
    check(not os.path.exists(f"{work}/out.fits.lapwing-part"), "a temporary file is left")
    if done.returncode:
        return None
    with h5py.File(f"{work}/out.h5") as file:
        wanted = read_products(file)
    size = os.path.getsize(f"{work}/out.fits")
    check(size % 2880 == 0, f"{size} bytes are no whole blocks")
    with astropy_fits.open(f"{work}/out.fits") as units:
        units.verify("exception")
    return read_units(f"{work}/out.fits"), wanted


def same_image(name, unit, wanted):
    cards, data, _ = unit
    middle = {"int8": -128, "uint16": 32768}.get(wanted.dtype.name, 0)
    check(cards.get("BZERO", 0) == middle * cards.get("BSCALE", 1), f"{name}: BZERO is {cards.get('BZERO')}")
    found = (data.astype("i8") + middle).astype(wanted.dtype) if middle else data.astype(wanted.dtype)
    check(data is not None and found.shape == wanted.shape, f"{name}: shape")
    check(found.tobytes() == wanted.tobytes(), f"{name}: other numbers")


def numbers(work):
    """Types, stacks, peaks and noise."""
    image = noise((3, 90, 71), ">f4")
    write_units(f"{work}/in.fits", image_unit(image, **SKY))
    for options in ((), ("--precision", "double"), ("--output-type", "int16", "--output-scale", "0.25"), ("--output-type", "int8"),
                    ("--output-type", "uint16", "--output-scale", "0.001"), ("--output-type", "uint8"), ("--output-type", "int32"),
                    ("--mode", "full"), ("--mode", "valid", "--decimate", 3), ("--channels", "0:3:2", "--start", 11, "--count", 50)):
        result = both(work, f"{work}/in.fits", *options)
        if not result:
            continue
        units, wanted = result
        same_image(f"{options}", units[0], wanted["convolved"])
        lapwing(1, "verify", f"{work}/out.fits")
        cards, _, history = units[0]
        check(cards["SIMPLE"] is True and cards["LAPWDONE"] is True and cards["EXTNAME"] == "CONVOLVED" and len(units) == 1, f"{cards}")
        for key in ("OBJECT", "EXPTIME", "AIRMASS", "BUNIT", "CTYPE1", "CUNIT2", "CRVAL1"):
            check(cards.get(key) == SKY[key], f"{key} is {cards.get(key)}")
        check("program = lapwing" in history and any(line.startswith("end_time_utc = 20") for line in history), f"{history}")
        check(any(re.fullmatch("samples_not_finite = 0", line) for line in history),
              "HISTORY lacks the number of samples that were not finite")
    for products in ("peaks", "convolved,peaks"):
        units, wanted = both(work, f"{work}/in.fits", "--products", products, "--threshold", 2, "--cluster", 2)
        names = [cards.get("EXTNAME") for cards, _, _ in units]
        check(names == ([None] if products == "peaks" else ["CONVOLVED"]) + ["NOISE", "PEAKS"], f"{products}: units {names}")
        check(len(wanted["peaks"]) > 50, "there are at most 50 peaks")
        table = units[-1][1]
        check(table.dtype.names == wanted["peaks"].dtype.names and len(table) == len(wanted["peaks"]) and
              all((table[c] == wanted["peaks"][c]).all() for c in table.dtype.names), f"{products}: another table")
        same_image("noise", units[-2], wanted["noise"])
        if products != "peaks":
            same_image("convolved", units[0], wanted["convolved"])
    lapwing(1, "conv2d", "--input", f"{work}/out.fits", "--kernel", f"{work}/kernel.h5:/kernel", "--output", f"{work}/again.h5", "--overwrite",
            "--quiet")


def large(work):
    """Many rounds and pieces, and rows longer than a buffer."""
    image = noise((300, 70001), ">i2")
    write_units(f"{work}/in.fits", image_unit(image))
    units, wanted = both(work, f"{work}/in.fits", "--memory", "400M", "--decimate", 2)
    same_image("large", units[0], wanted["convolved"])


def place(cards, row, column):
    """Position of a pixel before any projection: intermediate world coordinates."""
    pixel = np.array([column + 1 - cards["CRPIX1"], row + 1 - cards["CRPIX2"]])
    if "CD1_1" in cards:
        return np.array([[cards.get(f"CD{i}_{j}", 0) for j in (1, 2)] for i in (1, 2)]) @ pixel
    pc = np.array([[cards.get(f"PC{i}_{j}", float(i == j)) for j in (1, 2)] for i in (1, 2)])
    return [cards.get("CDELT1", 1), cards.get("CDELT2", 1)] * (pc @ pixel)


def coordinates(work):
    """A pixel of the result has the coordinates of its pixel in the input."""
    kernel = 4, 7                       # rows and columns: one even, one odd
    increments = (dict(CDELT1=-0.001, CDELT2=0.002), dict(CD1_1=-0.001, CD1_2=0.0002, CD2_1=0.0003, CD2_2=0.002),
                  dict(CDELT1=-0.001, CDELT2=0.002, PC1_1=0.9, PC1_2=-0.3, PC2_1=0.2, PC2_2=0.8), {})
    cuts = [cut for cut in itertools.product(("same", "full", "valid"), (1, 3), (0, 9)) if not (cut[2] and cut[0] == "full")]
    for number, (increment, (mode, every, start)) in enumerate(itertools.product(increments, cuts)):
        if not ALL and number % 3:
            continue
        keywords = {**SKY, **increment}
        write_units(f"{work}/in.fits", image_unit(noise((60, 50), ">f4"), **keywords))
        lapwing(1, "conv2d", "--input", f"{work}/in.fits", "--kernel", f"{work}/kernel.h5:/kernel", "--output", f"{work}/out.fits", "--overwrite",
                "--quiet", "--mode", mode, "--decimate", every, "--start", start)
        cards = read_units(f"{work}/out.fits")[0][0]
        shift = [0 if mode == "same" else -((n - 1) // 2) if mode == "full" else n - 1 - (n - 1) // 2 for n in kernel]
        for row, column in ((0, 0), (5, 3), (13, 11)):
            before = (max(start, shift[0]) if start else shift[0]) + every * row, shift[1] + every * column
            check(np.allclose(place(cards, row, column), place(keywords, *before), rtol=1e-12, atol=1e-14),
                  f"{increment} {mode} {every} {start}: {place(cards, row, column)}, not {place(keywords, *before)}")
            if increment:
                wcs = WCS({**cards}, naxis=2), WCS({**keywords}, naxis=2)
                found, wanted = wcs[0].all_pix2world([[column, row]], 0), wcs[1].all_pix2world([before[::-1]], 0)
                check(np.allclose(found, wanted, rtol=1e-11), f"astropy: {found}, not {wanted}")
    sip = dict(CTYPE1="RA---TAN-SIP", CTYPE2="DEC--TAN-SIP", A_ORDER=2, B_ORDER=2, A_2_0=1e-4, A_0_2=3e-4, A_1_1=-2e-4, B_2_0=5e-5, LTV1=4.0,
               LTM1_1=0.5, A_DMAX=1.5)
    write_units(f"{work}/in.fits", image_unit(noise((60, 50), ">f4"), **{**SKY, **increments[1], **sip}))
    lapwing(1, "conv2d", "--input", f"{work}/in.fits", "--kernel", f"{work}/kernel.h5:/kernel", "--output", f"{work}/out.fits", "--overwrite",
            "--quiet", "--decimate", 4)
    cards = read_units(f"{work}/out.fits")[0][0]
    found = [cards[key] for key in ("A_ORDER", "A_2_0", "A_1_1", "B_2_0", "LTV1", "LTM1_1")]
    check(np.allclose(found, [2, 4e-4, -8e-4, 2e-4, 1.75, 0.125], rtol=1e-14), f"SIP and LTM: {found}")


# ---- families of keywords that a cut or a decimation changes
# ---------------------------------------------------------------------

CELESTIAL = {**SKY, "CD1_1": -0.001, "CD1_2": 0.0002, "CD2_1": 0.0003, "CD2_2": 0.0011}
SHAPE, KERNEL = (2, 60, 50), (4, 7)     # images, rows, columns; rows and columns


def numbered(root, numbers):
    return {f"{root}{i + 1}": value for i, value in enumerate(numbers)}


def without(keywords, *roots):
    return {key: value for key, value in keywords.items() if not key.startswith(roots)}


def plate():
    """Keywords of the Digitized Sky Survey: a polynomial of the plate, in millimetres, and no CTYPE."""
    constants = [67.2, 0.01, -1.2, 1e-5, 2e-5, -3e-5, 0, 1e-6, 0, 2e-6] + 10 * [0.0]
    return {"PLTRAH": 13, "PLTRAM": 30, "PLTRAS": 10.5, "PLTDECSN": "+", "PLTDECD": 47, "PLTDECM": 12, "PLTDECS": 3.0, "EQUINOX": 2000.0,
            "XPIXELSZ": 25.28445, "YPIXELSZ": 25.3, "PLTSCALE": 67.2, "CNPIX1": 7000, "CNPIX2": 9000,
            **numbered("PPO", [0.0, 0.0, 177500.0, 0.0, 0.0, 177500.0]), **numbered("AMDX", constants),
            **numbered("AMDY", [67.1, *constants[1:]])}


def families():
    """(name, keywords, names of descriptions, keywords that are left out): the result describes the image as without the last
    ones."""
    sip = {"A_ORDER": 3, "B_ORDER": 2, "A_2_0": 1e-4, "A_0_2": 3e-4, "A_1_1": -2e-4, "A_3_0": 1e-6, "B_2_0": 5e-5, "AP_ORDER": 2,
           "AP_2_0": -1e-4, "BP_ORDER": 2, "BP_0_2": -3e-5, "CTYPE1": "RA---TAN-SIP", "CTYPE2": "DEC--TAN-SIP"}
    velocity = {"CTYPE3": "FREQ", "CRVAL3": 1.4e9, "CRPIX3": 3.0, "CDELT3": 1e6, "CUNIT3": "Hz"}
    tabular = {"CTYPE3": "FREQ-TAB", "CUNIT3": "Hz", "CRVAL3": 1.0, "CD3_3": 1.0, "PS3_0": "TABLE", "PS3_1": "COORDS"}
    scaled = {"CDELT1": -0.001, "CDELT2": 0.002}
    other = {"CTYPE1A": "GLON-CAR", "CTYPE2A": "GLAT-CAR", "CRVAL1A": 100.0, "CRVAL2A": 10.0, "CDELT1A": -0.002}
    lookup = {"CPDIS1": "Lookup", "DP1": "EXTVER: 1", "CPERR1": 0.1, "D2IMDIS2": "Lookup", "D2IM2": "EXTVER: 1", "D2IMERR2": 0.2,
              "D2IMEXT": "x.fits", "AXISCORR": 1, "CQDIS2": "Polynomial", "DQ2": "NAXES: 2"}
    no_matrix = without(CELESTIAL, "CD")
    yield "CD", CELESTIAL, ""
    yield "CDELT and CROTA", {**no_matrix, **scaled, "CROTA2": 30.0}, ""
    yield "CDELT by default, CRPIX too", without(no_matrix, "CRPIX"), ""
    yield "PC", {**no_matrix, **scaled, "PC1_1": 0.9, "PC1_2": -0.3, "PC2_1": 0.2, "PC2_2": 0.8}, ""
    yield "PC, old", {**no_matrix, **scaled, "PC001001": 0.9, "PC001002": -0.3, "PC002001": 0.2, "PC002002": 0.8}, ""
    yield "CD, turned", {**no_matrix, "CD1_2": 0.001, "CD2_1": 0.001}, ""
    yield "SIP", {**CELESTIAL, **sip}, ""
    yield "TPV", {**CELESTIAL, "CTYPE1": "RA---TPV", "CTYPE2": "DEC--TPV", "PV1_1": 1.01, "PV1_4": 0.1, "PV2_1": 0.99, "PV2_6": 0.2}, ""
    yield "ZPN", {**CELESTIAL, "CTYPE1": "RA---ZPN", "CTYPE2": "DEC--ZPN", "PV2_1": 1.0, "PV2_3": 40.0}, ""
    yield "two descriptions", {**CELESTIAL, **other}, " A"
    yield "a cube", {**CELESTIAL, **without(velocity, "CDELT"), "CD3_3": 1e6}, ""
    yield "the plates of the DSS", plate(), ""
    yield "DSS beside CD", {**CELESTIAL, **plate()}, ""
    yield "tables of distortions", {**CELESTIAL, **lookup}, "", *lookup
    yield "a table of coordinates", {**CELESTIAL, **tabular}, "", *tabular


def compare_wcs(name, before, after, options):
    """Compare pixels of the result with the input's pixels at the same places."""
    mode, every, start, channels = options
    shift = [0 if mode == "same" else -((n - 1) // 2) if mode == "full" else n - 1 - (n - 1) // 2 for n in KERNEL]
    pixels = np.array([(column, row, image) for image in (0, 1)[:1 if channels else 2] for row in (0, 5, 9) for column in (0, 4, 11)])
    there = pixels * (every, every, 1) + (shift[1], max(start, shift[0]) if start else shift[0], channels)
    n = before.naxis
    found, wanted = after.all_pix2world(pixels[:, :n], 0), before.all_pix2world(there[:, :n], 0)
    check(np.isfinite(wanted).all() and np.allclose(found, wanted, rtol=3e-13, atol=1e-11),
          f"{name}, {options}: off by {np.abs(found - wanted).max()}")


def sky(work):
    """All pixels of a result have, by astropy, the sky coordinates of the input's pixels at the same places."""
    cuts = itertools.cycle([("full", 3, 0, 0), ("same", 1, 0, 1)])
    for name, keywords, letters, *left_out in families():
        shape = SHAPE if "cube" in name or "coordinates" in name else SHAPE[1:]
        write_units(f"{work}/in.fits", image_unit(noise(shape, ">f4"), **keywords))
        kept = {key: value for key, value in keywords.items() if key not in left_out}
        write_units(f"{work}/kept.fits", image_unit(noise(shape, ">f4"), **kept))
        for options in [("valid", 4, 7, 0), *(next(cuts) for _ in range(2 if ALL else 1))]:
            mode, every, start, channels = options
            channels = channels if len(shape) == 3 else 0
            done = lapwing(1, "conv2d", "--input", f"{work}/in.fits", "--kernel", f"{work}/kernel.h5:/kernel", "--output", f"{work}/out.fits",
                           "--overwrite", "--quiet", "--mode", mode, "--decimate", every, "--start", start,
                           *(["--channels", f"{channels}:"] if channels else []))
            said = re.search("keywords of the input are left out: (.*); they need tables", done.stderr)
            check((said.group(1).split(", ") if said else []) == left_out, f"{name}: the list of left-out keywords: {done.stderr}")
            with astropy_fits.open(f"{work}/kept.fits") as before, astropy_fits.open(f"{work}/out.fits") as after:
                missing = [key for key in left_out if key in after[0].header]
                check(not missing, f"{name}: the result has {missing}")
                for letter in letters if letters else " ":
                    compare_wcs(f"{name} '{letter}'", WCS(before[0].header, key=letter), WCS(after[0].header, key=letter),
                                (mode, every, start, channels))


def places(work):
    """Physical coordinates and sizes are adjusted; sections that do not describe the result are left out."""
    keywords = {"LTV1": 4.0, "LTM1_1": 0.5, "LTV2": -20.0, "A_DMAX": 1.5, "SECPIX": 0.25, "PIXSCAL2": 0.5, "XPIXSZ": 9.0, "YPIXSZ": 18.0,
                "DATASEC": "[1:50,1:60]", "CCDSEC": "[101:150,1:60]", "PIXSCALE": "0.25 arcsec", "GAIN": 2.5}
    write_units(f"{work}/in.fits", image_unit(noise((60, 50), ">f4"), **keywords))
    common = "conv2d", "--input", f"{work}/in.fits", "--kernel", f"{work}/kernel.h5:/kernel", "--overwrite", "--quiet"
    done = lapwing(1, *common, "--output", f"{work}/out.fits")
    cards = read_units(f"{work}/out.fits")[0][0]
    check(all(cards.get(key) == value for key, value in keywords.items()) and not done.stderr, f"as it was: {cards}, {done.stderr}")
    check(cards.get("LTM2_2", 1) == 1, f"the default of LTM2_2 is {cards.get('LTM2_2')}")
    done = lapwing(1, *common, "--output", f"{work}/out.fits", "--decimate", 4, "--start", 8)
    cards = read_units(f"{work}/out.fits")[0][0]
    wanted = {"LTV1": 1.75, "LTM1_1": 0.125, "LTV2": (-20 - 9) / 4 + 1, "LTM2_2": 0.25, "A_DMAX": 0.375, "SECPIX": 1.0, "PIXSCAL2": 2.0,
              "XPIXSZ": 36.0, "YPIXSZ": 72.0, "GAIN": 2.5, "DATASEC": None, "CCDSEC": None, "PIXSCALE": None}
    found = {key: cards.get(key) for key in wanted}
    check(found == wanted, f"{found}, not {wanted}")
    check("left out: DATASEC, CCDSEC, PIXSCALE; they refer to the input's pixels" in done.stderr, f"the warning: {done.stderr}")
    lapwing(1, *common, "--output", f"{work}/out.h5")
    with h5py.File(f"{work}/out.h5") as file:
        kept = set(keywords) & set(file["convolved"].attrs)
    check(kept == {"GAIN", "A_DMAX", "XPIXSZ", "YPIXSZ"}, f"HDF5 keeps {kept}")


def texts(work):
    """Long texts, HIERARCH keywords, and the job file in HISTORY."""
    long = "it's " * 60 + "end"
    pieces = [long[i:i + 40] for i in range(0, len(long), 40)]
    cards = [("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 40), ("NAXIS2", 30)]
    cards += ["LONG    = '" + pieces[0].replace("'", "''") + "&'"]
    cards += ["CONTINUE  '" + piece.replace("'", "''") + ("&'" if piece != pieces[-1] else "'") for piece in pieces[1:]]
    cards += ["HIERARCH ESO DET OUT1 GAIN = 1.25 / e-/ADU", "HIERARCH ESO INS NAME = 'UVES'", "LAMBDA  =              6.563D-7 / m"]
    write_units(f"{work}/in.fits", header(cards) + block(bytes(1200)))
    name = f"{work}/a-result-with-a-rather-long-name-so-that-lines-of-its-history-are-cut.fit"
    lapwing(1, "conv2d", "--input", f"{work}/in.fits", "--kernel", f"{work}/kernel.h5:/kernel", "--output", name, "--quiet")
    units = read_units(name)
    check(units[0][0]["LONG"] == long, f"LONG is {units[0][0].get('LONG')}")
    check(units[0][0]["ESO DET OUT1 GAIN"] == 1.25 and units[0][0]["ESO INS NAME"] == "UVES" and units[0][0]["LAMBDA"] == 6.563e-7,
          f"{units[0][0]}")
    said = lapwing(1, "info", name).stdout
    with open(f"{work}/again.ini", "w") as file:
        file.write(said[said.index("[conv2d]"):])
    check(f"output = {name}\n" in re.sub(r"\\\n\s*", "", said), f"info: {said}")
    with open(name, "rb") as file:
        before = file.read()
    lapwing(2, "run", f"{work}/again.ini", "--overwrite", "--quiet")
    with open(name, "rb") as file:
        check(file.read()[-2880:] == before[-2880:], "the job file of a result makes a different result")


def refused(work):
    write_units(f"{work}/in.fits", image_unit(noise((60, 50), ">f4")))
    common = "--input", f"{work}/in.fits", "--quiet"

    def refuse(code, says, *arguments, ranks=1):
        done = lapwing(ranks, *arguments, *([] if "--input" in arguments else common), code=code)
        check(re.search(says, done.stderr), f"'{done.stderr}' lacks '{says}'")
        check(not os.path.exists(f"{work}/no.fits") and not os.path.exists(f"{work}/no.fits.lapwing-part"), "a file is left")

    kernel = "--kernel", f"{work}/kernel.h5:/kernel", "--output", f"{work}/no.fits"
    refuse(78, "would have type float16, which FITS images lack", "conv2d", *kernel, "--output-type", "float16")
    refuse(78, "would have type complex float32", "conv2d", "--kernel", f"{work}/kernel.h5:/complex", *kernel[2:], ranks=2)
    refuse(2, "FITS is for results of images, which ols does not make", "ols", "--filters", f"{work}/kernel.h5:/kernel", "--axis", 0, *kernel[2:])
    lapwing(1, "conv2d", *kernel[:2], *common, "--output", f"{work}/image.fts")
    check(read_units(f"{work}/image.fts")[0][1].shape == (60, 50), "a FITS file with the ending .fts has another shape")
    with open(f"{work}/image.fts", "r+b") as file:
        content = file.read(2880 * 4)
        file.seek(content.index(b"LAPWDONE=") + 29)
        file.write(b"F")
    refuse(65, "is incomplete: the run of lapwing", "conv2d", *kernel[:2], "--input", f"{work}/image.fts", "--output", f"{work}/x.h5")


def galaxy(work):
    path = data_path("M51.fits")
    if not os.path.isfile(path):
        print(f"{path} is not there: without M51")
        return
    units, wanted = both(work, path, "--boundary", "edge", kernel="gauss.npy")
    same_image("M51", units[0], wanted["convolved"])
    check(units[0][0]["OBJECT"] == "m51  B  600s" and abs(units[0][1].mean() - 108.3154) < 0.5, f"M51: {units[0][0]}, mean {units[0][1].mean()}")


with tempfile.TemporaryDirectory() as folder:
    with h5py.File(os.path.join(folder, "kernel.h5"), "w") as kernel_file:
        kernel_file["kernel"] = noise((4, 7), "f4")
        kernel_file["complex"] = noise((4, 7), "c8")
    bell = np.exp(-np.arange(-8, 9) ** 2 / 18)
    np.save(os.path.join(folder, "gauss.npy"), np.outer(bell, bell) / bell.sum() ** 2)
    numbers(folder)
    large(folder)
    coordinates(folder)
    sky(folder)
    places(folder)
    texts(folder)
    refused(folder)
    galaxy(folder)
finish()
