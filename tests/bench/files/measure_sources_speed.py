"""Sources in a survey's image on one core, beside sep and photutils, from files to a table.

    measure_sources_speed.py LAPWING [SIDE] [REPEATS] [CORE]

The image has SIDE x SIDE pixels (4096), float32, in a FITS file: a sky with a gradient, noise whose sigma changes over the image, and
stars. Its extension ERR holds sigma. All take a background mesh of cells of 64 pixels and a matched filter of 31 x 31 pixels with the
map of sigma, and list what stands out 5 sigma.

lapwing   the whole program, started anew: reads the file, writes the table of peaks
sep       reads the arrays (not timed), sep.Background, sep.extract with err and filter_kernel; without deblending or cleaning, which
          lapwing does not do
photutils the same background by sep, then DAOStarFinder of the same width, whose own kernel has fewer pixels

Everything runs on core CORE (1) with one thread, one after the other, REPEATS (3) times. The table has medians of the time that
passed and of the processor's time, which other programs on the machine change little."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

LAPWING, SIDE, REPEATS, CORE = sys.argv[1], *(int(word) for word in (sys.argv[2:] + ["4096", "3", "1"][len(sys.argv) - 2:])[:3])
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.sched_setaffinity(0, {CORE})

import h5py
import numpy as np
import sep
from astropy.io import fits
from photutils.detection import DAOStarFinder

WIDTH, SIZE = 8.0, 31        # full width at half maximum and side of the kernel, pixels


def make(folder):
    rng = np.random.default_rng(1)
    row, column = np.mgrid[:SIDE, :SIDE].astype("f4") / SIDE
    sigma = (3 + 2 * np.sin(5 * row) * np.cos(4 * column)).astype("f4")
    x = (1000 + 80 * row + 40 * column**2 + sigma * rng.standard_normal((SIDE, SIDE), dtype="f4")).astype("f4")
    near = np.arange(SIZE) - SIZE // 2
    star = np.exp(-4 * np.log(2) * (near[:, None]**2 + near**2) / WIDTH**2)
    for i, j in rng.integers(0, SIDE - SIZE, (SIDE * SIDE // 5600, 2)):
        x[i:i + SIZE, j:j + SIZE] += (star * 10 ** rng.uniform(0, 2)).astype("f4")
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(x, name="SCI"), fits.ImageHDU(sigma, name="ERR")]).writeto(f"{folder}/sky.fits")
    np.save(f"{folder}/kernel.npy", star)
    return x, sigma, star.astype("f4")


def processor_seconds():
    return sum(part for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) for part in resource.getrusage(who)[:2])


def timed(work):
    start = time.perf_counter(), processor_seconds()
    result = work()
    return (time.perf_counter() - start[0], processor_seconds() - start[1]), result


def with_sep(x, sigma, kernel):
    background = sep.Background(x)
    return sep.extract(x - background.back(), 5.0, err=sigma, filter_kernel=kernel, filter_type="matched", minarea=1, deblend_cont=1.0,
                       clean=False)


def with_photutils(x, sigma):
    background = sep.Background(x)
    return DAOStarFinder(threshold=5 * float(np.median(sigma)), fwhm=WIDTH)(x - background.back())


def with_lapwing(folder, *more):
    words = [LAPWING, "conv2d", "--input", f"{folder}/sky.fits:/SCI", "--weight-map", "auto", "--kernel", f"{folder}/kernel.npy",
             "--background", "mesh", "--products", "peaks", "--no-maps", "--threshold", "5", "--cluster", "4", "--threads", "1",
             "--engine", "cpu", "--output", f"{folder}/out.h5", "--overwrite", *more]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stderr


def main():
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        x, sigma, kernel = make(folder)
        ways = {"lapwing": lambda: with_lapwing(folder), "photutils": lambda: with_photutils(x, sigma),
                "sep": lambda: with_sep(x, sigma, kernel)}
        seconds, found = {way: [] for way in ways}, {}
        for _ in range(REPEATS):
            for way, work in ways.items():
                its, found[way] = timed(work)
                seconds[way].append(its)
        with h5py.File(f"{folder}/out.h5") as file:
            found["lapwing"] = file["peaks"][()]
    print("| program | seconds | times lapwing's | processor's seconds | times lapwing's | sources |\n|---|---|---|---|---|---|")
    medians = {way: [statistics.median(kind) for kind in zip(*its)] for way, its in seconds.items()}
    for way, its in medians.items():
        ratios = [mine / other for mine, other in zip(its, medians["lapwing"])]
        print(f"| {way} | {its[0]:.3f} | {ratios[0]:.3g} | {its[1]:.3f} | {ratios[1]:.3g} | {len(found[way])} |")


main()
