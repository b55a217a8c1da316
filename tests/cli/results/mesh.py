"""Background and noise of images in the cells of a mesh (conv2d --background mesh, --noise mesh) against numpy, end to end.

    mesh.py LAPWING MPIEXEC

The oracle is the definition in src/signal/mesh_cells.h and mesh.h. Its numbers are those of sep 1.4.1, of which
tests/signal/test_mesh_cells.c has a table."""

import itertools
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import check, finish, lapwing, random, read_products

import h5py
import numpy as np

from astropy.io import fits

ranks = itertools.cycle([1, 3, 1, 2, 1, 5])


# ---- the oracle -------------------------------------------------------------------------------------------------------------

def measure_cell(x):
    """Background and noise of a cell's pixels; NaN if more than half are not finite."""
    good = x[np.isfinite(x)].astype(float)
    if 2 * len(good) < x.size:
        return np.nan, np.nan
    near = good[np.abs(good - good.mean()) <= 2 * good.std()]
    mean, sigma, n = near.mean(), near.std(), int(min(4096, np.sqrt(2 / np.pi) * 5 / 4 * len(near) + 1))
    width, zero = (10 * sigma / n if sigma > 0 else 1), mean - 5 * sigma
    level = (good - zero) / width + 0.499999
    counts = np.bincount(level[(level > -1) & (level < n)].astype(int), minlength=n)
    low, high, last, middle, median, k = 0, n - 1, 1, 0, 0, np.arange(n)
    sigma = 10.0 * high
    while sigma >= 0.1 and abs(sigma / last - 1) > 1e-4:
        c, at, last = counts[low:high + 1], k[low:high + 1], sigma
        below = np.concatenate([[0], np.cumsum(c)])
        m = int(np.argmax(2 * below[1:] >= c.sum()))
        meeting = m + 1 if below[m] < c.sum() - below[m + 1] else m
        edge = low + meeting
        larger = max(counts[edge] if edge < n else 0, counts[edge - 1])
        median = edge - 0.5 + (c.sum() - 2 * below[meeting]) / (2 * larger)
        middle = np.average(at, weights=c)
        sigma = np.sqrt(np.average((at - middle) ** 2, weights=c))
        low, high = max(0, int(np.floor(median - 3 * sigma + 0.5))), min(n - 1, int(np.floor(median + 3 * sigma + 0.5)))
    mode = 2.5 * median - 1.5 * middle if abs(middle - median) < 0.3 * sigma else median if sigma > 0 else middle
    return zero + mode * width, sigma * width


def smooth(nodes, none):
    """Fill nodes that are NaN, then take medians of 3 x 3."""
    good, filled = np.argwhere(np.isfinite(nodes)), np.where(np.isfinite(nodes), nodes, none)
    for i, j in np.argwhere(np.isnan(nodes)) if len(good) else []:
        distance = ((good - (i, j)) ** 2).sum(1)
        filled[i, j] = np.mean([nodes[tuple(g)] for g in good[distance == distance.min()]])
    found = filled.copy()
    for i, j in np.ndindex(nodes.shape):
        a, b = min(i, nodes.shape[0] - 1 - i, 1), min(j, nodes.shape[1] - 1 - j, 1)
        found[i, j] = np.median(filled[i - a:i + a + 1, j - b:j + b + 1])
    return found


def spline(places, n, is_linear):
    """The matrix that makes values at places of n nodes."""
    if n == 1:
        return np.ones((len(places), 1))
    d, p = np.zeros((n, n)), np.zeros(n)
    for i in range(1, n - 1):
        p[i] = -1 / (p[i - 1] + 4)
        d[i] = p[i] * d[i - 1]
        d[i, i - 1:i + 2] -= p[i] * np.array([6, -12, 6])
    for i in range(n - 2, 0, -1):
        d[i] = (p[i] * d[i + 1] + d[i]) / 6
    k = np.clip(np.floor(places), 0, n - 2).astype(int)
    t, v = places - k, np.eye(n)
    s, w = 1 - t, 0 if is_linear else 1
    return (s * v[k].T + t * v[k + 1].T + w * ((s ** 3 - s) * d[k].T + (t ** 3 - t) * d[k + 1].T)).T


def make_maps(x, cell):
    """The maps of an image's background and noise."""
    shape = -(-x.shape[0] // cell), -(-x.shape[1] // cell)
    nodes = np.array([[measure_cell(x[i * cell:(i + 1) * cell, j * cell:(j + 1) * cell]) for j in range(shape[1])]
                      for i in range(shape[0])])
    rows = spline(np.arange(x.shape[0]) / cell - 0.5, shape[0], False)
    columns = spline((np.arange(x.shape[1]) + 0.5) / cell - 0.5, shape[1], shape[0] == 1)
    background, noise = (smooth(nodes[:, :, m], m) for m in (0, 1))
    around = np.clip(np.floor(np.arange(x.shape[0]) / cell - 0.5), 0, max(shape[0] - 2, 0)).astype(int)
    beside = np.clip(np.floor((np.arange(x.shape[1]) + 0.5) / cell - 0.5), 0, max(shape[1] - 2, 0)).astype(int)
    least = np.min([noise[np.ix_(np.minimum(around + a, shape[0] - 1), np.minimum(beside + b, shape[1] - 1))] for a in (0, 1) for b in (0, 1)], 0)
    return rows @ background @ columns.T, np.maximum(rows @ noise @ columns.T, least / 2)


# ---- images and runs --------------------------------------------------------------------------------------------------------

def draw(shape, kind="f4", bad=0.0):
    """Images [image, row, column] with a sky, a noise that varies, and stars."""
    i, j = np.arange(shape[1])[:, None], np.arange(shape[2])
    sky = 200 + 30 * np.sin(i / 60) + 20 * np.cos(j / 45)
    x = sky + (8 + 3 * np.sin(j / 80)) * random.standard_normal(shape) + 300 * (random.random(shape) < 0.02) * random.random(shape)
    if np.dtype(kind).kind == "i":
        return np.round(10 * x).astype(kind)
    x[random.random(shape) < bad] = np.nan
    if bad:
        x[:, :shape[1] // 2, shape[2] // 3:] = np.inf
    return x.astype(kind)


def run(work, *options, source="in.h5:/image", count=None, output="out.h5", code=0):
    done = lapwing(count or next(ranks), "conv2d", "--input", f"{work}/{source}", "--gaussian", 2, "--boundary", "edge", "--overwrite",
                   "--quiet", "--output", f"{work}/{output}", *options, code=code)
    if done.returncode or code:
        return done.stderr
    with h5py.File(f"{work}/{output}") as file:
        return read_products(file)


def write(work, x):
    with h5py.File(f"{work}/in.h5", "w") as file:
        file["image"] = x


def compare(name, found, wanted, noise):
    """A pixel near the edge of a level may count in the next one, which moves a node by a part of a level."""
    error = np.abs(found - wanted) / np.median(noise)
    check(found.dtype == np.float32 and np.median(error) < 1e-5 and error.max() < 0.02,
          f"{name}: off by up to {error.max():.2g} of the noise, in the median {np.median(error):.2g}")


# ---- the tests --------------------------------------------------------------------------------------------------------------

def values():
    for shape, cell, kind, bad in (((1, 150, 170), 32, "f4", 0), ((3, 70, 45), 16, "f8", 0.2), ((2, 90, 300), 64, "i2", 0),
                                   ((1, 40, 50), 64, ">f4", 0.3), ((5, 33, 31), 10, "i4", 0), ((1, 64, 200), 64, "f4", 0)):
        x = draw(shape, kind, bad)
        with tempfile.TemporaryDirectory() as work:
            write(work, x if shape[0] > 1 else x[0])
            found = run(work, "--background", "mesh", "--noise", "mesh", "--mesh", cell)
            for image in range(shape[0]):
                wanted, noise = make_maps(x[image], cell)
                compare(f"{shape} {kind} in {cell}", np.reshape(found["background"], shape)[image], wanted, noise)
                compare(f"noise of {shape} {kind} in {cell}", np.reshape(found["noise"], shape)[image], noise, noise)
            done = lapwing(1, "verify", f"{work}/out.h5", "--sample", 300)
            check("/background" in done.stdout and "/noise" in done.stdout, f"{shape}: verify does not know the maps: {done.stdout}")


def galaxy():
    """Beside a bright galaxy the spline of the noise swings below 0; its floor keeps the weights of pixels finite."""
    i, j = np.mgrid[:200, :180]
    x = (100 + 2000 * np.exp(-np.hypot(i - 110, j - 80) / 12) + random.standard_normal(i.shape)).astype("f4")
    with tempfile.TemporaryDirectory() as work:
        write(work, x)
        found = run(work, "--noise", "mesh", "--background", "mesh", "--mesh", 32)
        wanted, noise = make_maps(x, 32)
        compare("a galaxy", found["background"], wanted, noise)
        compare("noise beside a galaxy", found["noise"], noise, noise)
        check(found["noise"].min() > 0.4 and np.isfinite(found["convolved"]).all(), f"noise of {found['noise'].min()} beside a galaxy")


def bits():
    x = draw((4, 130, 140), ">i2")
    with tempfile.TemporaryDirectory() as work:
        fits.writeto(f"{work}/in.fits", x)
        options, noise = ("--background", "mesh", "--mesh", 20), ("--noise", "mesh")
        first = run(work, *options, *noise, source="in.fits", count=1)
        for n, more in ((8, []), (3, ["--io", "collective"]), (2, ["--split", "channels", "--threads", 2])):
            other = run(work, *options, *noise, *more, source="in.fits", count=n)
            check(all(first[k].tobytes() == other[k].tobytes() for k in ("background", "noise", "convolved")), f"{n} {more}: other bits")
        lapwing(3, "conv2d", "--input", f"{work}/in.fits", "--gaussian", 2, "--boundary", "edge", *options, *noise, "--quiet", "--output",
                f"{work}/out.fits")
        with fits.open(f"{work}/out.fits") as units:
            check(all(np.array_equal(units[k].data, first[k.lower()]) for k in ("BACKGROUND", "NOISE")), "FITS: other maps")
        first = run(work, *options, source="in.fits", count=1)
        write(work, x - first["background"])
        plain = run(work)["convolved"]
        check(np.abs(plain - first["convolved"]).max() < 1e-4 * np.abs(plain).max(), "the background is not subtracted")
        none = run(work, *options, "--no-maps", source="in.fits")
        check("background" not in none and np.array_equal(none["convolved"], first["convolved"]), "--no-maps: another result")


def windows():
    x = draw((2, 200, 90))
    with tempfile.TemporaryDirectory() as work:
        write(work, x)
        options = "--background", "mesh", "--mesh", 25
        whole, part = run(work, *options), run(work, *options, "--start", 63, "--count", 80, "--channels", "1:2")
        check(all(np.array_equal(part[k][0], whole[k][1, 63:143]) for k in ("background", "convolved")), "a window differs")
        alone = run(work, *options, "--start", 63, "--count", 80, "--isolated")
        write(work, x[:, 63:143])
        check(all(np.array_equal(alone[k], run(work, *options)[k]) for k in ("background", "convolved")), "--isolated differs")


def weights():
    """Pixels without weight do not count; a map of one image serves all."""
    x = draw((3, 100, 110), "i4")
    bad = np.zeros(x.shape[1:], bool)
    bad[30:70, 20:80] = True
    bad |= random.random(bad.shape) < 0.1
    with tempfile.TemporaryDirectory() as work:
        for shared in (True, False):
            kept = np.where(bad if shared else [bad, bad[::-1], False & bad], np.nan, x)
            with h5py.File(f"{work}/in.h5", "w") as file:
                file["image"] = x
                file["VARIANCE"] = np.where(np.isnan(kept[0] if shared else kept), 0, 4.0)
            found = run(work, "--background", "mesh", "--mesh", 16, "--weight-map", f"{work}/in.h5:/VARIANCE")
            for image in range(3):
                wanted, noise = make_maps(kept[image], 16)
                compare(f"weights, shared {shared}, image {image}", found["background"][image], wanted, noise)
            check("/background" in lapwing(1, "verify", f"{work}/out.h5", "--sample", 200).stdout, "verify does not know the map")


def errors():
    with tempfile.TemporaryDirectory() as work:
        write(work, draw((1, 40, 40)))
        for options, words, code in ((["--mesh", 20], "--mesh goes with --background mesh", 2), (["--no-maps"], "--no-maps goes with", 2),
                                     (["--background", "meshes"], "neither mesh nor", 2), (["--background", "4"], "is even", 2),
                                     (["--noise", "mesh", "--nan", "zero"], "weight 0", 2),
                                     (["--noise", "mesh", "--noise-map", f"{work}/in.h5:/image"], "exclude each other", 2)):
            said = run(work, *options, count=1, code=code)
            check(words in said, f"{options}: {said}")
        write(work, draw((1, 40, 40)).astype("c8"))
        check("real images" in run(work, "--background", "mesh", count=2, code=78), "a complex image has a background")


for part in (values, galaxy, bits, windows, weights, errors):
    part()
finish()
