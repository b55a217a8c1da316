"""How exact places of sources are, how many are found and how many are false, beside sep, on simulated and on real images.

    measure_sources.py LAPWING [FOLDER [PARTS [OUT]]]

PARTS are some of places,found,real,lists (the first three). FOLDER may hold images: M51.fits and others in FITS, and JPEGs, whose colours are three images. Needs numpy, scipy, astropy, sep, and
pillow for JPEGs. The tables are those of tests/bench/results/images/images.md.

places    Stars of one brightness, one in each 40 x 40 pixels. `lapwing` and sep.winpos, which starts from lapwing's peak, against the
          truth and the Cramer-Rao bound of a star of known shape and unknown place and flux.
found     Stars whose numbers grow towards faint ones as 1 / flux, on a sky with a gradient. Both programs make a mesh of 64 pixels of
          the background and of the noise, filter with the star's shape, and keep what stands out 5 sigma. "sep" finds the most: sources
          of one pixel on, no cleaning, deblending without a least contrast. A star counts from a true
          signal-to-noise ratio of 5 on, and is found if a source lies within 2 pixels. A source is false if no star of a ratio of 2
          or more lies within 3 pixels.
real      Of a real image nobody knows the truth. 100 stars of ratios from 5 to 20 are added at random places in each of three copies
          for `found`; `false` are the sources of the negative image, where only noise and faults of the background can stand out.
lists     Writes OUT/sources_m51.csv and OUT/sources_field.csv (results/figures): the sources in M51.fits by both programs, and those in
          the field of jobs/examples/star-field.py, which are drawn by figures/star_fields.py."""

import os
import subprocess
import sys
import tempfile
import warnings

import h5py
import numpy as np
import sep
from astropy.io import fits
from astropy.wcs import WCS
from scipy.spatial import cKDTree

warnings.simplefilter("ignore")
LAPWING, FOLDER = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
random = np.random.default_rng(11)
THRESHOLD = 5.0
FIELD = "--background mesh --noise mesh --products peaks --threshold 5 --cluster 3".split()     # as in jobs/README.md


def profile(fwhm, size, down=0.0, right=0.0, beta=None):
    """A star's light in size x size pixels, each the mean over 11 x 11 places in it: a Gaussian, or a Moffat profile."""
    fine = (np.arange(11 * size) - (11 * size - 1) / 2) / 11
    square = (fine[:, None] - down) ** 2 + (fine - right) ** 2
    scale = fwhm / 2 / np.sqrt(2 ** (1 / beta) - 1) if beta else fwhm / np.sqrt(8 * np.log(2))
    light = (1 + square / scale ** 2) ** -beta if beta else np.exp(-square / (2 * scale ** 2))
    light = light.reshape(size, 11, size, 11).mean((1, 3))
    full = np.pi * scale ** 2 / (beta - 1) if beta else 2 * np.pi * scale ** 2
    return light / full


def lapwing(image, kernel, *options):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", image.astype("f4"))
        np.save(f"{folder}/k.npy", kernel)
        subprocess.run([LAPWING, "conv2d", "--input", f"{folder}/x.npy", "--kernel", f"{folder}/k.npy", "--correlate", "--output",
                        f"{folder}/out.h5", "--products", "peaks", "--threshold", str(THRESHOLD), "--quiet", *map(str, options)], check=True)
        with h5py.File(f"{folder}/out.h5") as file:
            return file["peaks"][()]


def ours(image, kernel, fwhm):
    """Row and column of what lapwing finds."""
    table = lapwing(image, kernel, "--background", "mesh", "--noise", "mesh", "--cluster", max(1, round(fwhm)), "--boundary", "edge")
    return np.stack([table["y"] - 1, table["x"] - 1], 1)


def theirs(image, kernel, **options):
    """Row and column of what sep finds: matched filter with its own maps of background and noise."""
    image = np.ascontiguousarray(image, "f4")
    bad = ~np.isfinite(image)
    image[bad] = 0
    background = sep.Background(image, mask=bad, bw=64, bh=64)
    sep.set_extract_pixstack(image.size)
    sep.set_sub_object_limit(100000)
    sources = sep.extract(image - background.back(), THRESHOLD, err=background.rms(), mask=bad, filter_kernel=kernel.astype("f4"),
                          filter_type="matched", **options)
    return np.stack([sources["y"], sources["x"]], 1)


PROGRAMS = {"lapwing": ours, "sep": lambda i, k, w: theirs(i, k, minarea=1, clean=False, deblend_cont=0.0),
            "sep, its defaults": lambda i, k, w: theirs(i, k)}


def add(image, fwhm, beta, place, flux, half=20):
    i, j = np.round(place).astype(int)
    star = flux * profile(fwhm, 2 * half + 1, *(place - (i, j)), beta)
    top, left = max(0, i - half), max(0, j - half)
    bottom, right = min(image.shape[0], i + half + 1), min(image.shape[1], j + half + 1)
    image[top:bottom, left:right] += star[top - i + half:bottom - i + half, left - j + half:right - j + half]


def places():
    print("| star | SNR | bound | lapwing | of the bound | sep.winpos | of the bound | not found |\n|---|---|---|---|---|---|---|---|")
    for beta, fwhm in ((None, 2), (None, 3), (None, 4), (3.0, 3)):
        for snr in (10, 20, 100):
            kernel, n, step = profile(fwhm, 25, beta=beta), 30, 40
            flux = snr / np.sqrt((kernel ** 2).sum())
            image = random.standard_normal((n * step, n * step))
            truth = np.array([(i + 20, j + 20) for i in range(0, n * step, step) for j in range(0, n * step, step)], float)
            truth += random.uniform(-0.5, 0.5, truth.shape)
            for place in truth:
                add(image, fwhm, beta, place, flux, 15)
            image = image.astype("f4")
            table = lapwing(image, kernel, "--noise", "energy", "--cluster", 6)
            found = np.stack([table["y"], table["x"]], 1) - 1
            far, near = cKDTree(found).query(truth)
            good = far < 2
            x, y, _ = sep.winpos(image, table["column"][near].astype(float), table["row"][near].astype(float), fwhm / np.sqrt(8 * np.log(2)))
            slope = flux * (profile(fwhm, 31, 5e-4, 0, beta) - profile(fwhm, 31, -5e-4, 0, beta)) / 1e-3
            bound = 1 / np.sqrt((slope ** 2).sum())
            own, other = (np.sqrt(((p - truth)[good] ** 2).mean()) for p in (found[near], np.stack([y, x], 1)))
            print(f"| {'Moffat' if beta else 'Gaussian'}, {fwhm} pixels | {snr} | {bound:.4f} | {own:.4f} | {own / bound:.3f} | {other:.4f} | "
                  f"{other / bound:.3f} | {np.sum(~good)} |", flush=True)


def judge(sources, truth, ratios):
    """The stars found, those that count, and the false sources."""
    if len(sources) == 0:
        return 0, int((ratios >= THRESHOLD).sum()), 0
    far, _ = cKDTree(sources).query(truth)
    bright = cKDTree(truth[ratios >= 2])
    return int((far[ratios >= THRESHOLD] < 2).sum()), int((ratios >= THRESHOLD).sum()), int((bright.query(sources)[0] > 3).sum())


def found():
    print("| stars | program | stars of 5 sigma | found | part | false |\n|---|---|---|---|---|---|")
    for n in (200, 1000, 3000):
        fwhm, sums = 3.0, {name: np.zeros(3, int) for name in PROGRAMS}
        kernel = profile(fwhm, 15)
        for _ in range(3):
            row, column = np.mgrid[:1024, :1024] / 1024
            image = 500 + 60 * row + 30 * column ** 2 + random.standard_normal((1024, 1024)) * 5
            ratios = 3 / random.uniform(1 / 300, 1, n)
            truth = random.uniform(0, 1023, (n, 2))
            for place, ratio in zip(truth, ratios):
                add(image, fwhm, None, place, 5 * ratio / np.sqrt((kernel ** 2).sum()))
            for name, program in PROGRAMS.items():
                sums[name] += judge(program(image.astype("f4"), kernel, fwhm), truth, ratios)
        for name, (hits, all_, false) in sums.items():
            print(f"| 3 x {n} | {name} | {all_} | {hits} | {hits / all_:.4f} | {false} |", flush=True)


def images():
    """(name, image, full width at half maximum of its stars)"""
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith((".fits", ".fits.gz")):
            with fits.open(f"{FOLDER}/{name}") as units:
                for unit in units:
                    if unit.data is not None and unit.data.ndim == 2 and min(unit.data.shape) > 200:
                        yield name.split(".")[0], unit.data.astype("f8"), {"M6707HH": 6.0, "sep_image": 4.0}.get(name.split(".")[0], 3.0)
                        break
        elif name.endswith(".jpg"):
            from PIL import Image
            colours = np.asarray(Image.open(f"{FOLDER}/{name}"), "f8")
            for c, colour in enumerate(("red", "green", "blue")):
                yield f"{name.split('.')[0]}, {colour}", colours[..., c], 3.0


def real():
    print("| image | pixels | program | added, found | part | sources | of the negative image |\n|---|---|---|---|---|---|---|")
    for title, image, fwhm in images():
        kernel = profile(fwhm, 2 * int(2.5 * fwhm) + 1)
        flat = np.where(np.isfinite(image), image, np.nanmedian(image)).astype("f4")
        noise = sep.Background(flat, bw=64, bh=64).rms()
        counts = {name: [0, 0] for name in PROGRAMS}
        for _ in range(3):
            copy = image.copy()
            truth = np.stack([random.uniform(20, n - 20, 100) for n in image.shape], 1)
            ratios = 5 / random.uniform(0.25, 1, 100)
            for place, ratio in zip(truth, ratios):
                add(copy, fwhm, None, place, ratio * noise[tuple(np.round(place).astype(int))] / np.sqrt((kernel ** 2).sum()))
            for name, program in PROGRAMS.items():
                sources = program(copy.astype("f4"), kernel, fwhm)
                counts[name][0] += int((cKDTree(sources).query(truth)[0] < 2).sum()) if len(sources) else 0
                counts[name][1] += 100
        for name, program in PROGRAMS.items():
            whole, negative = (len(program((sign * image).astype("f4"), kernel, fwhm)) for sign in (1, -1))
            hits, all_ = counts[name]
            print(f"| {title} | {image.shape[0]} x {image.shape[1]} | {name} | {hits} of {all_} | {hits / all_:.3f} | {whole} | {negative} |",
                  flush=True)


def lists():
    out, here = sys.argv[4], os.path.dirname(os.path.abspath(__file__))
    head = f"# {os.path.basename(__file__)} LAPWING FOLDER lists OUT; sep {sep.__version__}\n"
    image, kernel = fits.getdata(f"{FOLDER}/M51.fits").astype("f4"), profile(4.0, 15)
    with open(f"{out}/sources_m51.csv", "w") as file:
        file.write(head + "program,x,y\n")
        for name in ("lapwing", "sep"):
            file.writelines(f"{name},{x + 1:.3f},{y + 1:.3f}\n" for y, x in PROGRAMS[name](image, kernel, 4.0))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, f"{here}/../../../jobs/examples/star-field.py", "make", "3000", f"{folder}/field.h5"], check=True)
        subprocess.run([LAPWING, "conv2d", "--input", f"{folder}/field.h5:/image", "--kernel", f"{folder}/field.h5:/psf", *FIELD, "--output",
                        f"{folder}/out.h5", "--quiet"], check=True)
        with h5py.File(f"{folder}/field.h5") as field, h5py.File(f"{folder}/out.h5") as result:
            stars, table, keywords = field["stars"][()], result["peaks"][()], dict(field["image"].attrs)
    truth = np.stack([stars["row"], stars["column"]], 1)
    found = np.stack([table["y"], table["x"]], 1) - 1
    ra, dec = WCS(fits.Header(keywords)).all_pix2world(truth[:, 1], truth[:, 0], 0)
    hit = cKDTree(found).query(truth)[0] < 2
    no_star = cKDTree(truth).query(found)[0] > 3
    with open(f"{out}/sources_field.csv", "w") as file:
        file.write(head + "kind,ra,dec,snr\n")
        file.writelines(f"{'found' if h else 'missed'},{a:.6f},{d:.6f},{s:.2f}\n" for h, a, d, s in zip(hit, ra, dec, stars["snr"]))
        file.writelines(f"no star,{t['ra']:.6f},{t['dec']:.6f},{t['snr']:.2f}\n" for t in table[no_star])


if __name__ == "__main__":
    for part in sys.argv[3].split(",") if len(sys.argv) > 3 else ["places", "found", "real"]:
        if part != "real" or FOLDER:
            print(f"\n{part}\n")
            globals()[part]()
