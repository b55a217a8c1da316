"""Lines of right ascension and declination over images: each lies where astropy.wcs has it, none is missing, none crosses the
picture by mistake.

    sky.py LAPWING MPIEXEC"""

import html
import os
import re
import shutil
import sys
import tempfile
import warnings

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from tested import check, finish, lapwing

import h5py
import numpy as np

from astropy.io import fits
from astropy.wcs import WCS

warnings.simplefilter("ignore")
random = np.random.default_rng(3)


def tilted(kind, place, scale, shape, turn=0, axes=("RA---", "DEC--"), **more):
    """Keywords of an image whose middle is at `place`, in degrees; `scale` in degrees per pixel, turned by `turn` degrees."""
    c, s = scale * np.cos(np.radians(turn)), scale * np.sin(np.radians(turn))
    return {"CTYPE1": axes[0] + kind, "CTYPE2": axes[1] + kind, "CRVAL1": place[0], "CRVAL2": place[1], "CRPIX1": shape[1] / 2 + 0.7,
            "CRPIX2": shape[0] / 2 - 0.4, "CUNIT1": "deg", "CUNIT2": "deg", "CD1_1": -c, "CD1_2": s, "CD2_1": s, "CD2_2": c, **more}


SHAPE = 200, 260
SIP = {"A_ORDER": 2, "B_ORDER": 2, "A_2_0": 2e-4, "A_0_2": -1e-4, "A_1_1": 1e-4, "B_2_0": -1e-4, "B_1_1": 2e-4}
SKIES = {
    "tan": tilted("TAN", (202.47, 47.195), 1 / 3600, SHAPE, 17, RADESYS="ICRS"),
    "sin": tilted("SIN", (359.9, -30), 0.02, SHAPE, -100),
    "zea at the pole": tilted("ZEA", (20, 90), 0.1, SHAPE, 30),
    "tan beside the pole": tilted("TAN", (40, -89.995), 1e-4, SHAPE, 40),
    "one half of the sky": tilted("SIN", (83, 22), 0.6, SHAPE),
    "the whole sky": tilted("AIT", (0, 0), 1.35, SHAPE, axes=("GLON-", "GLAT-")),
    "around the whole sky": tilted("CAR", (180, 0), 1.3, (130, 270)),
    "sky in pieces": tilted("HPX", (0, 0), 1.35, SHAPE),
    "sip": tilted("TAN-SIP", (10, -72), 0.01, SHAPE, 5, **SIP),
    "tpv": tilted("TPV", (10, 20), 0.01, SHAPE, 5, PV1_1=1.0, PV1_7=3e-3, PV2_1=1.0, PV2_7=-2e-3),
    "milliarcseconds": tilted("TAN", (187.70593, 12.39112), 1e-4 / 3600, SHAPE, 70),
    "declination first": {"CTYPE1": "DEC--TAN", "CTYPE2": "RA---TAN", "CRVAL1": 20.0, "CRVAL2": 30.0, "CRPIX1": 125.0, "CRPIX2": 100.0,
                          "CDELT1": 0.01, "CDELT2": 0.02},
}


def write(name, sky, shape=SHAPE):
    header = fits.Header()
    for key, value in sky.items():
        header[key] = value
    image = random.standard_normal(shape).astype("f4")
    fits.PrimaryHDU(image, header).writeto(name, overwrite=True)
    return header


def astropy(header):
    """The transformation from pixels to the sky. Points on the sky's very edge may be beyond it by rounding; a neighbour then
    replaces them."""
    wcs = WCS(header)

    def to_world(points):
        world = wcs.all_pix2world(points, 0)
        for direction in np.arange(8) * np.pi / 4:
            bad = ~np.isfinite(world).all(axis=1)
            world[bad] = wcs.all_pix2world(points[bad] + 1e-3 * np.array([np.cos(direction), np.sin(direction)]), 0) if bad.any() else 0
        return world[:, ::-1] if wcs.wcs.lng else world
    return to_world


# ---- the drawn lines ----

def axes_of(script):
    """The last panel's ranges, (x low, x high), (y low, y high)."""
    return [tuple(map(float, re.findall(rf"set {a}range \[(.*):(.*)\]", script)[-1])) for a in "xy"]


def drawn(*arguments, says=""):
    """The pieces of lines and the labels (text, x, y) of each panel, on the panel's axes; and gnuplot's commands."""
    done = lapwing(1, "plot", *arguments, "--output", "t.gp", "--overwrite")
    check(re.search(says, done.stderr), f"{arguments}: the log lacks '{says}': {done.stderr}")
    with open("t.gp", encoding="utf-8") as file:
        script = file.read()
    blocks = dict(re.findall(r"^\$data(\d+) << EOD\n(.*?)^EOD$", script, re.M | re.S))
    panels = []
    for panel in re.split(r"^plot ", script, flags=re.M)[:-1]:
        panels.append([[], [(text, float(x), float(y)) for text, x, y in
                            re.findall(r'^set label "([^"]*)" at ([-\d.e+]+),([-\d.e+]+) ', panel.split("unset label\n")[-1], re.M)]])
    for panel, line in zip(panels, re.findall(r"^plot (.*)$", script, re.M)):
        for data, a, b, c, d in re.findall(r"\$data(\d+) using \((.*?)\+(.*?)\*\$1\):\((.*?)\+(.*?)\*\$2\) with lines", line)[:1]:
            for piece in blocks[data].strip().split("\n\n") if blocks[data].strip() else ():
                points = np.array([[float(word) for word in row.split()] for row in piece.splitlines()])
                panel[0].append(points * [float(b), float(d)] + [float(a), float(c)])
    return panels, script


def value_of(text):
    """Axis and degrees of a label. The axis of 13h29m52.5s is 0, that of +47°11′40″ is 1; a longitude in degrees has no sign."""
    match = re.fullmatch(r"([+-]?)(\d\d+)([h°])(?:(\d\d)[m′](?:(\d\d(?:\.\d+)?)[s″])?)?", text)
    if not check(match, f"a label '{text}'"):
        return 0, 0
    sign, whole, kind, minutes, seconds = match.groups()
    value = int(whole) + int(minutes or 0) / 60 + float(seconds or 0) / 3600
    return (1 if sign else 0), value * (15 if kind == "h" else 1) * (-1 if sign == "-" else 1)


def off(world, axis, value):
    """Distance of places from such a line, in degrees on the sky."""
    if axis == 1:
        return np.abs(world[:, 1] - value)
    return np.abs((world[:, 0] - value + 180) % 360 - 180) * np.cos(np.radians(world[:, 1]))


def judge(name, panel, to_world, axes, scale, slack=1):
    """Check the lines and labels of a panel. `to_world` maps points on the panel's axes, `scale` is degrees per unit of the axes.
    Vertices lie within 0.01, midpoints between them and labels within 0.2, times `slack`."""
    pieces, labels = panel
    values = [sorted({value for axis, value in (value_of(text) for text, _, _ in labels) if axis == which}) for which in (0, 1)]
    if not check(pieces and all(len(of_axis) > 1 for of_axis in values), f"{name}: {len(pieces)} lines, labels {labels}"):
        return
    steps = [min(np.diff(of_axis)) for of_axis in values]
    for text, x, y in labels:
        axis, value = value_of(text)
        far = off(to_world(np.array([[x, y]])), axis, value)[0] / scale
        check(far < 0.2 * slack, f"{name}: label {text} is {far} pixels beside its line")
        check(all(low - 1.1 <= v <= high + 1.1 for v, (low, high) in zip((x, y), map(sorted, axes))), f"{name}: label {text} at {x}, {y}")
    vertices = [np.empty((0, 2))] * 2
    for points in pieces:
        world = to_world(points)
        if np.ptp(world[:, 0]) > 180:
            world[:, 0] = (world[:, 0] + 180) % 360 - 180       # a meridian near 0 is in one piece
        nearest = [of_axis[0] + np.round((np.median(world[:, a]) - of_axis[0]) / steps[a]) * steps[a] for a, of_axis in enumerate(values)]
        far, axis = min((off(world, a, nearest[a]).max() / scale, a) for a in (0, 1))
        value = nearest[axis]
        middles = off(to_world((points[1:] + points[:-1]) / 2), axis, value) / scale
        check(far < 0.01 * slack, f"{name}: a line of {('longitude', 'latitude')[axis]} {value} is {far} pixels beside it")
        check(np.nanmax(middles) < 0.3 * slack, f"{name}: between its points the line {value} is {np.nanmax(middles)} pixels beside it")
        vertices[axis] = np.concatenate([vertices[axis], points])
    complete(name, to_world, axes, [of_axis[0] for of_axis in values], steps, vertices)


def complete(name, to_world, axes, first, steps, vertices):
    """A vertex is near each place where astropy has a line between neighbours of a lattice."""
    n = 60
    x, y = np.meshgrid(*[np.linspace(low, high, n) for low, high in axes])
    world = to_world(np.column_stack([x.ravel(), y.ravel()])).reshape(n, n, 2)
    reach = 2.5 * max(abs(axes[0][1] - axes[0][0]), abs(axes[1][1] - axes[1][0])) / n
    for axis in (0, 1):
        places = []
        for along in (0, 1):
            jump = np.abs(np.diff(world[..., axis], axis=along))
            crossed = (np.diff(np.floor((world[..., axis] - first[axis]) / steps[axis]), axis=along) != 0) & np.isfinite(jump)
            crossed &= ((jump < steps[axis]) | (jump > 360 - steps[axis])) & (np.abs(world[1 - along:, along:, 1]) < 90 - steps[1] / 2)
            rows, columns = np.nonzero(crossed)
            places += list(zip(x[rows, columns], y[rows, columns]))
        if not check(len(places) > 10 and len(vertices[axis]), f"{name}: {len(places)} places on lines, {len(vertices[axis])} points"):
            continue
        places = np.array(places)
        nearest = np.min(np.hypot(*(places[:, None] - vertices[axis][None]).transpose(2, 0, 1)), axis=1)
        check(nearest.max() < reach, f"{name}: no line of axis {axis} at {places[nearest.argmax()]}")


# ---- tests ----

def skies():
    for name, sky in SKIES.items():
        header = write(f"{name}.fits", sky)
        (panel,), script = drawn(f"{name}.fits", says="lines: (RA and DEC|GLON and GLAT)")
        scale = abs(sky.get("CD2_2", 0)) + abs(sky.get("CD2_1", 0)) or 0.01
        judge(name, panel, astropy(header), axes_of(script), scale)
        hours = any("h" in text for text, _, _ in panel[1])
        check(hours == sky["CTYPE1"].startswith(("RA", "DEC")), f"{name}: hours or not: {panel[1]}")
        check(not hours or f" and DEC ({WCS(header).wcs.radesys})" in script, f"{name}: the system of the coordinates")
    check(sum("°" in text for text, _, _ in drawn("zea at the pole.fits")[0][0][1]) > 2, "circles around the pole lack labels")


def views():
    """Parts of images, results in FITS and HDF5 with and without their input, and images in HDF5 whose rows go downwards."""
    sip, tan, sin = (astropy(SKIES[name]) for name in ("sip", "tan", "sin"))
    (panel,), script = drawn("sip.fits", "--start", 30, "--count", 150, "--channels", "20:171:3")
    check(axes_of(script) == [(29.5, 179.5), (18.5, 171.5)], f"a part: {axes_of(script)}")
    judge("a part", panel, sip, axes_of(script), 0.01)
    options = "--input", "sip.fits", "--gaussian", 9, "--mode", "valid", "--decimate", 3, "--overwrite", "--quiet"
    for output in ("r.fits", "r.h5"):
        lapwing(2, "conv2d", *options, "--output", output)
    (panel,), script = drawn("r.fits")
    judge("a result in FITS", panel, astropy(fits.getheader("r.fits")), axes_of(script), 0.03)
    for more, n in (((), 2), (("--with-input=no",), 1)):        # the axes count the input's rows and columns
        panels, script = drawn("r.h5", *more)
        check(len(panels) == n, f"a result in HDF5: {len(panels)} panels")
        for panel in panels:
            judge(f"a result in HDF5 {more}", panel, sip, axes_of(script), 0.01)
    os.rename("sip.fits", "away.fits")
    (panel,), script = drawn("r.h5")
    check(not panel[0] and "lines:" not in script, "a missing input's coordinates are drawn")
    with h5py.File("down.h5", "w") as file:
        data = file.create_dataset("x", data=random.standard_normal(SHAPE))
        data.dims[0].label, data.dims[1].label = "row", "column"
        for key, value in SKIES["tan"].items():
            data.attrs[key] = value
    (panel,), script = drawn("down.h5:/x")
    judge("downwards", panel, tan, axes_of(script), 1 / 3600)
    tops = [y for text, _, y in panel[1] if y == -0.5]
    check(axes_of(script)[1] == (199.5, -0.5) and len(tops) > 2, f"labels at the top: {panel[1]}")
    cube = {**SKIES["sin"], "CTYPE3": "FREQ", "CRPIX3": 1, "CRVAL3": 1.4e9, "CDELT3": 1e6, "WCSAXES": 3}
    write("cube.fits", cube, (2, *SHAPE))
    for panel in (shown := drawn("cube.fits"))[0]:
        judge("a cube", panel, sin, axes_of(shown[1]), 0.02)


SOURCES = (14, 15), (70, 246), (100, 130), (104, 40), (150, 200), (185, 14), (184, 244)       # row, column


def sources_of(sky, name, result, *options, kernel=("--gaussian", 4), chosen=SOURCES):
    """The discs of a run's table have the same places among the lines as on the sky, and `lapwing info` prints these places."""
    to_world = astropy(sky)
    known = to_world(np.array(chosen, float)[:, ::-1])
    lapwing(2, "conv2d", *options, *kernel, "--threshold", 50, "--cluster", 15, "--output", result, "--overwrite",
            "--quiet")
    (panel,), script = drawn(f"{result}:/peaks", says="lines: RA and DEC")
    discs = np.array([[float(word) for word in line.split()] for line in
                      re.search(r"^\$data0 << EOD\n(.*?)^EOD$", script, re.M | re.S)[1].splitlines()])[:, :2]
    discs = discs[np.lexsort((discs[:, 0], discs[:, 1]))]
    if not check(len(discs) == len(chosen), f"{name}: {len(discs)} sources in place of {len(chosen)}"):
        return
    first = np.array(sorted(chosen))[:, ::-1] - discs        # the pixel of the first row and column, from the sources themselves
    check((first == first[0]).all(), f"{name}: the sources are not where they were put: {first}")
    judge(name, panel, lambda points: to_world(points + first[0]), axes_of(script), 1 / 3600)
    told = lapwing(1, "info", f"{result}:/peaks").stdout.splitlines()
    names, rows = told[1].split(), np.array([line.split() for line in told[2:]], float)
    if check(names[-2:] == ["ra", "dec"] and told[0].endswith("; sky: ICRS"), f"{name}: told {told[:2]}"):
        for place in known:             # a pixel is an arcsecond; the other origin's kernel is cut near its middle
            far = np.hypot(off(rows[:, -2:], 0, place[0]), rows[:, -1] - place[1]).min() * 3600
            check(far < (0.1 if "origin" in name else 0.02), f"{name}: info lists no source at {place}; the nearest is {far} arcseconds away")
        x, y = rows[:, names.index("x")], rows[:, names.index("y")]
        far = np.abs(to_world(np.stack([x, y], 1) - 1) - rows[:, -2:]).max() * 3600
        check(far < 1e-3, f"{name}: ra and dec are {far} arcseconds from those of x and y by astropy")


def sources():
    """Tables of sources of all modes, parts and decimated runs: of a FITS image, of an image of a stack, and of one whose rows go
    downwards."""
    sky = {**SKIES["tan"], "CTYPE1": "RA---TAN-SIP", "CTYPE2": "DEC--TAN-SIP", **SIP}
    row, column = np.mgrid[:SHAPE[0], :SHAPE[1]]
    image = random.standard_normal(SHAPE) + sum(
        (500 + 50 * s) * np.exp(-((row - i) ** 2 + (column - j) ** 2) / 6) for s, (i, j) in enumerate(SOURCES))
    header = write("s.fits", sky)
    fits.PrimaryHDU(image.astype("f4"), header).writeto("s.fits", overwrite=True)
    fits.PrimaryHDU(np.stack([image[::-1], image]).astype("f4"), header).writeto("stack.fits", overwrite=True)
    with h5py.File("s.h5", "w") as file:
        file["x"] = image
        for key, value in sky.items():
            file["x"].attrs[key] = value
        file["h"] = np.exp(-((np.arange(9)[:, None] - 2) ** 2 + (np.arange(6) - 4) ** 2) / 6)
    run = "--input", "s.fits", "--products"
    for mode in ("same", "full", "valid"):
        for products in ("peaks", "convolved,peaks"):
            sources_of(header, f"{products}, {mode}", "p.h5", *run, products, "--mode", mode)
    sources_of(header, "sources, decimated", "b.h5", *run, "convolved,peaks", "--decimate", 3, "--mode", "full")
    sources_of(header, "sources of a part", "p.h5", *run, "peaks", "--start", 60, "--count", 100, "--mode", "valid", chosen=SOURCES[1:5])
    sources_of(header, "sources by another origin", "b.h5", *run, "convolved,peaks", kernel=("--kernel", "s.h5:/h", "--origin", "2,4"))
    sources_of(header, "sources, downwards", "p.h5", "--input", "s.h5:/x", "--products", "peaks")
    check((axes := axes_of(drawn("p.h5")[1]))[1][0] > axes[1][1], f"sources, downwards: {axes}")
    sources_of(header, "sources of a stack", "b.h5", "--input", "stack.fits", "--products", "convolved,peaks", "--channels", "1:2")
    lapwing(1, "verify", "b.h5")
    with h5py.File("b.h5", "r+") as file:                # as earlier versions made it
        del file["peaks"].attrs["first_input_row"], file["peaks"].attrs["first_input_column"]
    os.rename("s.h5", "away.h5")
    for result in ("b.h5:/peaks", "p.h5:/peaks"):
        (panel,), script = drawn(result)
        told = lapwing(1, "info", result)
        check(not panel[0] and not panel[1] and "lines:" not in script and not told.stderr,
              f"{result} has lines without coordinates: {told}")


def none():
    """Images without sky coordinates, or with invalid ones, are drawn without lines."""
    bad = {"of no projection": {**SKIES["tan"], "CTYPE1": "RA---XYZ", "CTYPE2": "DEC--XYZ"}, "singular": {**SKIES["tan"], "CD1_1": 0.0, "CD1_2": 0.0},
           "of a table": {**SKIES["tan"], "CPDIS1": "LOOKUP", "CPDIS2": "LOOKUP", "DP1": "EXTVER: 1", "DP2": "EXTVER: 1"}}
    good = {"plain": {}, "linear": {"CTYPE1": "LINEAR", "CTYPE2": "DEC", "CDELT1": 1.0}, "of one axis": {"CTYPE1": "FREQ"},
            "of another axis": {"CTYPE1": "FREQ", "CTYPE2": "RA---TAN", "CTYPE3": "DEC--TAN"},
            "of many axes": {"WCSAXES": 2000000000, "CTYPE1": "FREQ"}}
    for name, sky in {**bad, **good}.items():
        write("none.fits", sky)
        (panel,), script = drawn("none.fits", says="coordinates of the sky are not drawn: WCSLIB reports" if name in bad else "")
        check(not panel[0] and not panel[1] and "lines:" not in script, f"{name}: {panel[1]}")
    write("none.fits", {**SKIES["the whole sky"], "CRPIX1": 5000.0})
    check(not drawn("none.fits")[0][0][1], "an image beside the sky has labels")
    lapwing(1, "plot", "none.fits", "--output", "none.svg")


def pictures():
    """The picture itself has the lines, too."""
    lapwing(1, "plot", "tan.fits", "--output", "tan.png")
    lapwing(1, "plot", "tan.fits", "--output", "tan.svg")
    with open("tan.svg", encoding="utf-8") as file:
        picture = html.unescape(file.read())
    box = re.search(r"d='M([\d.]+),([\d.]+) L\1,([\d.]+) L([\d.]+),\3 M", picture)
    left, top, bottom, right = map(float, box.groups())

    def place(x, y):
        return -0.5 + (x - left) / (right - left) * SHAPE[1], -0.5 + (bottom - y) / (bottom - top) * SHAPE[0]

    pieces = [np.array([place(float(x), float(y)) for x, y in re.findall(r"([-\d.]+),([-\d.]+)", piece)])
              for path in re.findall(r"<path stroke='rgb\(255, 255, 255\)'[^>]* d='M([^']*)'", picture) for piece in path.split("M")]
    labels = []
    for x, y, text in re.findall(r'translate\(([\d.]+),([\d.]+)\)"[^>]*font-size="8.00"[^>]*>\s*<text>([^<]*[s′″])</text>', picture):
        x, y = float(x), float(y)
        labels.append((text, *(place(x, top) if y < top else place(right, y - 3) if x > right else place(x, y - 3))))
    judge("SVG", (pieces, labels), astropy(SKIES["tan"]), [(-0.5, 259.5), (-0.5, 199.5)], 1 / 3600, slack=5)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    skies()
    if shutil.which("gnuplot"):
        pictures()
    views()
    sources()
    none()
    os.chdir("/")
finish()
