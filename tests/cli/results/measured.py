"""Measured columns of the table of sources: place, flux, brightest light, flags and place on the sky, against numpy and astropy.

    measured.py LAPWING MPIEXEC

Stars of known places lie in white noise. Places must be SExtractor's windowed centroids, which numpy iterates here by their
definition, and about as exact as the noise allows (the Cramer-Rao bound). Tables are the same, bit by bit, on 1 to 8 ranks.
LW_SEARCH_OPTIONS holds further options of every run."""

import itertools
import os
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))

from fits import image_unit, write_units
from tested import as_arguments, check, finish, lapwing, random

import h5py
import numpy as np

from astropy import units
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.table import Table
from astropy.wcs import WCS, FITSFixedWarning

warnings.simplefilter("ignore", FITSFixedWarning)
SIGMA, SIZE = 1.3, 17
EDGE, MASKED, SATURATED, NO_CENTRE = 1, 2, 4, 8


def profile(size, down=0.0, right=0.0):
    """A Gaussian with the sum 1, off the middle of size x size pixels, each the mean over 9 x 9 places in it."""
    fine = (np.arange(9 * size) - (9 * size - 1) / 2) / 9
    bells = [np.exp(-(fine - off) ** 2 / (2 * SIGMA ** 2)).reshape(size, 9).sum(1) / (9 * SIGMA * np.sqrt(2 * np.pi)) for off in (down, right)]
    return np.outer(*bells)


KERNEL = profile(SIZE)
ENERGY = (KERNEL ** 2).sum()
WIDTH = np.sqrt((KERNEL ** 2 * sum((axis - SIZE // 2) ** 2 for axis in np.mgrid[:SIZE, :SIZE])).sum() / ENERGY)     # that of the window


def field(flux, shape, step, dtype="f4"):
    """An image of noise of variance 1, and the places of its stars (row, column): one in each square of `step` pixels."""
    image = random.standard_normal(shape)
    half = 15
    places = []
    for i, j in itertools.product(*(range(half, n - half, step) for n in shape)):
        down, right = random.uniform(-0.5, 0.5, 2)
        image[i - half:i + half + 1, j - half:j + half + 1] += flux * profile(2 * half + 1, down, right)
        places.append((i + down, j + right))
    return image.astype(dtype), np.array(places)


def windowed(image, start):
    """The windowed centroid by its definition, with all pixels within 6 sigma."""
    place = np.array(start, float)
    top, left = (max(0, int(round(p)) - 8) for p in start)
    pixels = image[top:int(round(start[0])) + 9, left:int(round(start[1])) + 9].astype(float)
    rows, columns = np.mgrid[top:top + pixels.shape[0], left:left + pixels.shape[1]]
    for _ in range(100):
        w = np.exp(-((rows - place[0]) ** 2 + (columns - place[1]) ** 2) / (2 * WIDTH ** 2)) * pixels
        place += 2 * np.array([(w * (rows - place[0])).sum(), (w * (columns - place[1])).sum()]) / w.sum()
    return place


def search(work, source, output="out.h5", ranks=1, kernel="kernel.h5:/k", **options):
    given = {"products": "peaks", "threshold": 6, "cluster": 5, "noise": "energy", **options}
    given = {key: value for key, value in given.items() if value is not None}
    done = lapwing(ranks, "conv2d", "--input", source, *(["--kernel", f"{work}/{kernel}"] if kernel else []), "--output",
                   f"{work}/{output}", "--overwrite", *as_arguments(given), *os.environ.get("LW_SEARCH_OPTIONS", "").split())
    if output.endswith(".h5") and done.returncode == 0:
        with h5py.File(f"{work}/{output}") as file:
            return file["peaks"][()]
    return done


def match(table, places):
    """Rows of the table nearest to the places."""
    off = np.hypot(table["y"][:, None] - 1 - places[:, 0], table["x"][:, None] - 1 - places[:, 1])
    check(len(table) >= len(places) and off.min(0).max() < 1.5, f"stars are not found: {off.min(0).max()}")
    return table[off.argmin(0)]


def stars(work):
    """Exactness, errors, fluxes; cuts change nothing."""
    for snr, flags in ((20, 0), (100, 0)):
        flux = snr / np.sqrt(ENERGY)
        image, places = field(flux, (480, 400), 20)
        np.save(f"{work}/x.npy", image)
        table = search(work, f"{work}/x.npy")
        rows = match(table, places)
        off = np.concatenate([rows["y"] - 1 - places[:, 0], rows["x"] - 1 - places[:, 1]])
        slope = flux * (profile(31, 5e-4) - profile(31, -5e-4)) / 1e-3
        bound = 1 / np.sqrt((slope ** 2).sum())
        rms = np.sqrt((off ** 2).mean())
        check(bound * 0.9 < rms < 1.2 * bound, f"SNR {snr}: places are off by {rms}, the bound is {bound}")
        check(snr != 20 or rms < 0.1, f"SNR {snr}: places are off by {rms}")
        check((rows["flags"] == flags).all(), f"SNR {snr}: flags {np.unique(rows['flags'])}")
        oracle = np.array([windowed(image, (row, column)) for row, column in zip(rows["row"], rows["column"])])
        far = np.abs(np.stack([rows["y"], rows["x"]], 1) - 1 - oracle).max()
        check(far < 2e-3, f"SNR {snr}: the centroid differs from its definition by {far} pixels")
        check(np.allclose(rows["flux"], rows["re"] * KERNEL.sum() / ENERGY, rtol=1e-12), "flux")
        check(np.allclose(rows["flux_error"], KERNEL.sum() / np.sqrt(ENERGY), rtol=1e-5), f"error {rows['flux_error'][0]}")
        at_pixel = [flux * (KERNEL * profile(SIZE, *(p - np.round(p)))).sum() / ENERGY for p in places]
        pulls = (rows["flux"] - at_pixel) / rows["flux_error"]
        check(abs(pulls.std() - 1) < 0.15 and abs(pulls.mean()) < 0.3, f"SNR {snr}: flux is off by {pulls.mean()} +- {pulls.std()} errors")
        check((rows["peak"] == image[rows["row"], rows["column"]]).all(), "the pixel of the peak")
        for ranks in (2, 5, 8):
            again = search(work, f"{work}/x.npy", ranks=ranks, threads=1, memory="200M" if ranks == 2 else "1G")
            check(again.tobytes() == table.tobytes(), f"SNR {snr}: another table on {ranks} ranks")
    part = search(work, f"{work}/x.npy", start=60, count=200, mode="valid")
    inside = table[np.isin(table["y"], part["y"]) & np.isin(table["x"], part["x"])]
    check(len(part) > 100 and np.array_equal(inside["flux"], part["flux"]), "a part of the image has other sources")
    uneven = profile(SIZE + 3)[:, 2:-1]      # even sides, the middle off the centre, reversed by --correlate
    with h5py.File(f"{work}/uneven.h5", "w") as file:
        file["k"] = uneven
    for options in ({}, {"correlate": True}, {"origin": "3,5"}, {"mode": "full"}):
        rows = match(search(work, f"{work}/x.npy", kernel="uneven.h5:/k", **options), places)
        far = np.hypot(rows["y"] - 1 - places[:, 0], rows["x"] - 1 - places[:, 1])
        check(np.sqrt((far ** 2).mean()) < 1.5 * bound, f"{options}: an uneven kernel's places are off by {far.max()}")


def backgrounds(work):
    """A kernel that takes the background away needs no other; fluxes are those of the Gaussian."""
    flux = 40 / np.sqrt(ENERGY)
    image, places = field(flux, (240, 300), 30)
    np.save(f"{work}/x.npy", image + 1000)
    fwhm = SIGMA * np.sqrt(8 * np.log(2))
    rows = match(search(work, f"{work}/x.npy", kernel=None, gaussian=repr(fwhm), background=15, boundary="edge"), places)
    off = np.hypot(rows["y"] - 1 - places[:, 0], rows["x"] - 1 - places[:, 1])
    check(np.sqrt((off ** 2).mean() / 2) < 0.06 and not rows["flags"].any(), f"places are off by {np.sqrt((off ** 2).mean() / 2)}")
    found = np.median(rows["flux"]) / flux      # stars between two pixels lose up to a tenth, since the kernel's middle is a pixel
    check(0.93 < found < 1, f"flux {found} of the true one")
    pixels = image[rows["row"], rows["column"]]
    check(np.abs(rows["peak"] - pixels).max() < 1.2 and abs((rows["peak"] - pixels).mean()) < 0.2, "the pixel of the peak above 1000")


def weighted(work):
    """Fluxes and errors of weighted images are those of the weighted least squares; pixels without weight are left out."""
    flux = 60 / np.sqrt(ENERGY)
    image, places = field(flux, (240, 300), 30, "f8")
    sigma = 1 + np.mgrid[:240, :300].sum(0) / 300
    image += (sigma - 1) * random.standard_normal(sigma.shape)
    sigma[:, 150:153] = 0
    image[100:103] = np.nan
    np.save(f"{work}/x.npy", image.astype("f4"))
    np.save(f"{work}/sigma.npy", sigma)
    table = search(work, f"{work}/x.npy", noise_map=f"{work}/sigma.npy", noise=None)
    rows = match(table, places[(np.abs(places[:, 1] - 151) > 5) & (np.abs(places[:, 0] - 101) > 5)])
    with np.errstate(divide="ignore"):
        weight = np.where(np.isfinite(image) & (sigma > 0), 1 / sigma ** 2, 0)
    half = SIZE // 2
    for row in rows:
        top, left = row["row"] - half, row["column"] - half
        at = np.s_[max(0, top):top + SIZE, max(0, left):left + SIZE]
        k = KERNEL[max(0, -top):, max(0, -left):][:weight[at].shape[0], :weight[at].shape[1]]
        b = (weight[at] * k ** 2).sum()
        a = (weight[at] * k * np.where(weight[at] > 0, image[at], 0)).sum()
        check(abs(row["flux"] / (a / b * KERNEL.sum()) - 1) < 1e-4 and abs(row["flux_error"] * np.sqrt(b) / KERNEL.sum() - 1) < 1e-4,
              f"flux {row['flux']} +- {row['flux_error']}, not {a / b} +- {1 / np.sqrt(b)}")
        reach = 6           # the window: 4 sigma
        window = weight[max(0, row["row"] - reach):row["row"] + reach + 1, max(0, row["column"] - reach):row["column"] + reach + 1]
        check(row["flags"] == (MASKED if (window == 0).any() else 0), f"flags {row['flags']} at {row['row']}, {row['column']}")
    off = np.hypot(rows["y"] - 1 - places[:, None, 0], rows["x"] - 1 - places[:, None, 1]).min(0)
    check(np.sqrt((off ** 2).mean()) < 0.15 and len(rows) > 50, f"{len(rows)} places are off by {np.sqrt((off ** 2).mean())}")
    again = search(work, f"{work}/x.npy", noise_map=f"{work}/sigma.npy", noise=None, ranks=3, threads=1)
    check(again.tobytes() == table.tobytes(), "weighted: another table on 3 ranks")
    level = 300 + np.mgrid[:240, :300][0] / 4
    np.save(f"{work}/x.npy", np.where(np.isfinite(image), image + level, np.nan).astype("f4"))
    table = search(work, f"{work}/x.npy", background="mesh", mesh=60, noise="mesh", threshold=8)
    bright = match(table, places[(np.abs(places[:, 0] - 101) > 8) & (places.sum(1) < 200)])
    far = np.hypot(bright["y"] - 1 - places[:, None, 0], bright["x"] - 1 - places[:, None, 1]).min(0)
    check(len(bright) > 8 and far.max() < 0.3, f"places above a mesh's background are off by {far.max()}")
    with h5py.File(f"{work}/out.h5") as file:
        back = file["background"][()]
    pixels = (image + level)[table["row"], table["column"]].astype("f4") - back[table["row"], table["column"]]
    check(np.abs(table["peak"] - pixels).max() < 1e-2, f"peak above the mesh: off by {np.abs(table['peak'] - pixels).max()}")


def flags(work):
    flux = 300.0
    image = random.standard_normal((2, 90, 110)).astype("f4")
    centres = {"plain": (40, 30), "side": (1, 60), "masked": (40, 80), "saturated": (70, 50)}
    for i, j in centres.values():
        at = np.s_[max(0, i - 8):i + 9, max(0, j - 8):j + 9]
        image[1][at] += flux * KERNEL[max(0, 8 - i):, max(0, 8 - j):]
    image[1, 43, 82] = np.inf
    image[1, 70, 51] = 1000
    np.save(f"{work}/x.npy", image)
    table = search(work, f"{work}/x.npy", nan="interpolate", saturate=900, threshold=15)
    table = table[table["image"] == 1]
    wanted = {"plain": 0, "side": EDGE, "masked": MASKED, "saturated": SATURATED}
    for name, (i, j) in centres.items():
        near = np.argmin(np.hypot(table["row"] - i, table["column"] - j))
        row = table[near]
        check(row["flags"] & ~NO_CENTRE == wanted[name], f"{name}: flags {row['flags']}")
        if name != "saturated":
            check(row["flags"] == wanted[name] and np.hypot(row["y"] - 1 - i, row["x"] - 1 - j) < 0.15, f"{name}: {row}")
    dark = search(work, f"{work}/x.npy", nan="interpolate", threshold=15, sign="both")
    np.save(f"{work}/x.npy", -image)
    light = search(work, f"{work}/x.npy", nan="interpolate", threshold=15, sign="both")
    check(np.array_equal(dark["x"], light["x"]) and np.array_equal(dark["flux"], -light["flux"]), "dark sources are not as light ones")
    np.save(f"{work}/x.npy", np.nan_to_num(image[1], posinf=0) * np.complex64(1j))
    table = search(work, f"{work}/x.npy", nan="zero", threshold=15)
    check(len(table) and np.isnan(table["x"]).all() and np.isnan(table["flux"]).all() and (table["flags"] == NO_CENTRE).all(),
          f"complex pixels: {table[:1]}")
    done = lapwing(1, "conv2d", "--input", f"{work}/x.npy", "--kernel", f"{work}/kernel.h5:/k", "--output", f"{work}/no.h5", "--saturate", 3,
                   code=2)
    check("--products peaks" in done.stderr, done.stderr)


def skies():
    """(name, keywords): an image of 180 x 200 pixels of an arcsecond."""
    base = {"CRVAL1": 202.47, "CRVAL2": 47.195, "CRPIX1": 90.5, "CRPIX2": 85.0, "CD1_1": -2e-4, "CD1_2": 9e-5, "CD2_1": 1e-4, "CD2_2": 2.5e-4}

    def of(kind, first="RA---", second="DEC--", **more):
        return {"CTYPE1": first + kind, "CTYPE2": second + kind, **base, **more}
    sip = {"A_ORDER": 2, "B_ORDER": 2, "A_2_0": 2e-5, "A_0_2": -3e-5, "A_1_1": 1e-5, "B_2_0": -1e-5, "B_1_1": 4e-5}
    plate = [67.2, 0.01, -1.2, 1e-5, 2e-5, -3e-5, 0.0, 1e-6, 0.0, 2e-6] + 10 * [0.0]
    for kind in ("TAN", "SIN", "ZEA", "ARC", "STG"):
        yield kind, of(kind, RADESYS="ICRS")
    yield "SIP", of("TAN-SIP", RADESYS="FK5", EQUINOX=2000.0, **sip)
    yield "TPV", of("TPV", RADESYS="ICRS", PV1_1=1.0, PV1_4=2e-3, PV1_7=3e-2, PV2_1=1.0, PV2_6=1e-3)
    yield "declination first", {**of("TAN", "DEC--", "RA---"), "CRVAL1": 47.195, "CRVAL2": 202.47}
    yield "galactic", of("CAR", "GLON-", "GLAT-", LONPOLE=0.0)
    yield "ecliptic", of("TAN", "ELON-", "ELAT-")
    yield "a cube", {**of("TAN"), "CTYPE3": "FREQ", "CRVAL3": 1.4e9, "CRPIX3": 1.0, "CDELT3": 1e6, "CUNIT3": "Hz"}
    yield "a plate", {"PLTRAH": 13, "PLTRAM": 30, "PLTRAS": 10.5, "PLTDECSN": "+", "PLTDECD": 47, "PLTDECM": 12, "PLTDECS": 3.0, "EQUINOX": 2000.0,
                      "XPIXELSZ": 25.28445, "YPIXELSZ": 25.3, "PLTSCALE": 67.2, "CNPIX1": 7000, "CNPIX2": 7000,
                      **{f"PPO{i + 1}": v for i, v in enumerate([0.0, 0.0, 177500.0, 0.0, 0.0, 177500.0])},
                      **{f"AMDX{i + 1}": v for i, v in enumerate(plate)}, **{f"AMDY{i + 1}": v for i, v in enumerate([67.1, *plate[1:]])}}


def sky(work):
    """Places on the sky are those of x and y by astropy, to 0.001 pixels; the FITS table has the same rows, with units."""
    image, _ = field(60 / np.sqrt(ENERGY), (180, 200), 30, ">f4")
    for name, keywords in skies():
        write_units(f"{work}/in.fits", image_unit(image[None].repeat(2, 0) if name == "a cube" else image, BUNIT="Jy/beam", **keywords))
        options = {"mode": "full", "start": 10, "channels": "1:2"} if name == "a cube" else {}
        table = search(work, f"{work}/in.fits", **options)
        wcs = WCS(fits.getheader(f"{work}/in.fits"), naxis=2)
        world = wcs.all_pix2world(table["x"], table["y"], 1)
        ra, dec = world[::-1] if name == "declination first" else world
        if name == "galactic":
            turned = SkyCoord(l=ra * units.deg, b=dec * units.deg, frame="galactic").fk5
            ra, dec = turned.ra.deg, turned.dec.deg
        if name == "ecliptic":
            check(np.isnan(table["ra"]).all() and np.isnan(table["dec"]).all(), "ecliptic places pass for right ascensions")
            continue
        pixel = np.sqrt(abs(np.linalg.det(wcs.pixel_scale_matrix))) if name != "a plate" else 4.7e-4
        far = np.hypot((table["ra"] - ra) * np.cos(np.radians(dec)), table["dec"] - dec).max() / pixel
        check(len(table) > 10 and far < 1e-3, f"{name}: {far} pixels from astropy's places")
        with h5py.File(f"{work}/out.h5") as file:
            wanted = "FK5" if name == "galactic" else keywords.get("RADESYS", "FK5" if "EQUINOX" in keywords else "ICRS")
            said = file["peaks"].attrs.get("RADESYS")
            check(said == wanted, f"{name}: the frame is {said}")
        if name in ("SIP", "TAN"):
            products = "peaks" if name == "SIP" else "convolved,peaks"
            search(work, f"{work}/in.fits", "out.fits", 3, products=products)
            same = Table.read(f"{work}/out.fits", hdu="PEAKS")
            check(all(np.array_equal(np.asarray(same[c]), table[c]) for c in table.dtype.names), f"{products}: another table in FITS")
            check(same["ra"].unit == units.deg and same["x"].unit == units.pixel and same["flux"].unit == units.Unit("Jy/beam"),
                  f"{products}: units {same['ra'].unit}, {same['x'].unit}, {same['flux'].unit}")
            header = fits.getheader(f"{work}/out.fits", "PEAKS")
            check(header["RADESYS"] == wanted and "pos.eq.ra;meta.main" in header.values(), f"{products}: {header!r}")
            told = lapwing(1, "info", f"{work}/out.h5:/peaks").stdout.splitlines()
            check(told[0].endswith(f"sky: {wanted}") and told[1].split()[-8:] == list(table.dtype.names[-8:]), f"info: {told[:2]}")
    write_units(f"{work}/in.fits", image_unit(image, **{**dict(skies())["TAN"], "CD1_1": 0.0, "CD1_2": 0.0}))
    done = search(work, f"{work}/in.fits", "out.fits")
    check("lacks places on the sky: WCSLIB reports" in done.stderr, f"singular: {done.stderr}")
    np.save(f"{work}/x.npy", image.astype("f4"))
    search(work, f"{work}/x.npy")
    told = lapwing(1, "info", f"{work}/out.h5:/peaks").stdout
    check(" ra" not in told and " flux_error" in told, f"info without places on the sky: {told[:300]}")


with tempfile.TemporaryDirectory() as folder:
    with h5py.File(os.path.join(folder, "kernel.h5"), "w") as kernel_file:
        kernel_file["k"] = KERNEL
    stars(folder)
    backgrounds(folder)
    weighted(folder)
    flags(folder)
    sky(folder)
finish()
