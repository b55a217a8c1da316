"""The mesh of background and noise beside sep: equal maps, simulated noise, galaxies, and time.

    measure_mesh.py LAPWING FOLDER

FOLDER may hold M51.fits. Needs sep, photutils and astropy. Times are those of one
processor in user mode, files in RAM."""

import os
import resource
import subprocess
import sys
import tempfile
import time

import astropy
import h5py
import numpy as np
import sep

from astropy.io import fits
from photutils.datasets import make_100gaussians_image

LAPWING, FOLDER = sys.argv[1:3]
random = np.random.default_rng(1)
MESH = "--background", "mesh", "--noise", "mesh"


def lapwing(x, *options):
    """The maps, and the user time of the run."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as work:
        np.save(f"{work}/in.npy", x)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([LAPWING, "conv2d", "--threads", "1", "--input", f"{work}/in.npy", "--gaussian", "2", "--boundary", "edge",
                        "--output", f"{work}/out.h5", "--quiet", *options], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        with h5py.File(f"{work}/out.h5") as file:
            maps = [file[k][()] for k in ("background", "noise") if k in file]
        return maps, used


def equal():
    m13 = os.path.join(os.path.dirname(astropy.__file__), "io/fits/hdu/compressed/tests/data/m13.fits")
    images = {"M13 (astropy)": fits.getdata(m13), "100 Gaussians (photutils)": make_100gaussians_image()}
    if os.path.isfile(f"{FOLDER}/M51.fits"):
        images["M51"] = fits.getdata(f"{FOLDER}/M51.fits")
    for name, x in images.items():
        x = np.ascontiguousarray(x, "f4")
        for cell in (16, 32, 50, 64, 128):
            for masked in (False, True):
                mask = (random.random(x.shape) < 0.2) & masked
                mask[100:200, 50:150] = masked
                (background, noise), _ = lapwing(np.where(mask, np.float32(np.nan), x), *MESH, "--mesh", str(cell))
                its = sep.Background(x, mask=mask, bw=cell, bh=cell)
                raised = noise > its.rms() + 1e-5 * its.globalrms       # by the floor, which sep lacks
                off = [np.abs(background - its.back()).max(), np.abs(noise - its.rms())[~raised].max()] / np.float64(its.globalrms)
                print(f"| {name} | {cell} | {'yes' if masked else 'no'} | {off[0]:.1e} | {off[1]:.1e} | {100 * raised.mean():.2f}% |",
                      flush=True)


def simulated():
    i, j = np.mgrid[:1024, :1024]
    truth = 5 * (1 + 0.3 * np.sin(j / 300) + 0.2 * np.cos(i / 200))
    r = np.arange(-25, 26)
    for stars in (200, 1000):
        for width in (3, 5):
            x = 100 + 20 * j / 1024 + 10 * np.sin(i / 150) + truth * random.standard_normal(i.shape)
            for flux in 100 * 1000 ** random.random(stars):
                a, b = random.integers(25, 999, 2)
                s = width / 2.3548
                x[a - 25:a + 26, b - 25:b + 26] += flux / (2 * np.pi * s * s) * np.exp(-(r[:, None] ** 2 + r ** 2) / (2 * s * s))
            x = x.astype("f4")
            noises = lapwing(x, *MESH)[0][1], sep.Background(x).rms()
            print(f"| {stars} | {width} | " + " | ".join(f"{100 * np.median(np.abs(n / truth - 1)):.2f}%" for n in noises) + " |", flush=True)


def galaxies():
    """Discs with two arms: rows of the share of pixels with less than half their true noise."""
    for side, scale, peak, arms, center in ((512, 60, 2000, 0.3, (256, 256)), (512, 30, 20000, 0.3, (256, 256)),
                                            (768, 40, 50000, 0, (300, 420)), (512, 80, 500, 0.5, (200, 300))):
        y, x = np.mgrid[:side, :side] - np.reshape(center, (2, 1, 1))
        r = np.hypot(y, x)
        disc = peak * np.exp(-r / scale) * (1 + arms * np.cos(2 * np.arctan2(y, x) - 3 * np.log(r + 5)))
        truth = np.sqrt(1 + disc / 4)       # a gain of 4
        image = (10 + disc + truth * random.standard_normal(r.shape)).astype("f4")
        for cell in (64, 32):
            noises = lapwing(image, *MESH, "--mesh", str(cell))[0][1], sep.Background(image, bw=cell, bh=cell).rms()
            print(f"| {peak} | {scale} | {arms} | {cell} | " +
                  " | ".join(f"{100 * (n < truth / 2).mean():.2f}% | {(n / truth).min():.2g}" for n in noises) + " |", flush=True)


def times():
    x = random.normal(100, 5, (4096, 4096)).astype("f4")
    rows = []
    for _ in range(5):
        start = time.process_time()
        its = sep.Background(x)
        nodes = time.process_time()
        its.back(), its.rms()
        maps = time.process_time()
        rows.append([lapwing(x)[1], lapwing(x, "--background", "mesh", "--no-maps")[1], nodes - start, maps - nodes])
    without, with_mesh, nodes, maps = np.min(rows, axis=0)
    print("| lapwing: mesh, and its background taken off | sep.Background | its two maps |\n|---|---|---|")
    print(f"| {with_mesh - without:.3f} s | {nodes:.3f} s | {maps:.3f} s |")


print("| image | cell | masked | background | noise | raised |\n|---|---|---|---|---|---|")
equal()
print("\n| stars | full width | lapwing | sep |\n|---|---|---|---|")
simulated()
print("\n| peak | scale | arms | cell | lapwing | its least | sep | its least |\n|---|---|---|---|---|---|---|---|")
galaxies()
print()
times()
