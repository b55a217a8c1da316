"""star-field.py - simulate a field of stars for `lapwing conv2d`, and judge the table of sources that it finds.

    python3 star-field.py make [COUNT [FILE]]       by default 3000 stars, in field.h5
    python3 star-field.py judge FILE RESULT         compares the stars of FILE with the sources in RESULT

FILE holds /image [1500 x 1500], with keywords of sky coordinates; /psf, the shape of a star; and /stars, where the stars are. The sky
has a gradient, and its noise grows towards one side. Half of all stars have less than twice the least signal-to-noise ratio, 4."""

import sys

import h5py
import numpy

SIDE, FWHM, LEAST = 1500, 3.0, 4.0
SKY = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 283.4, "CRVAL2": 33.03, "CRPIX1": SIDE / 2, "CRPIX2": SIDE / 2,
       "CDELT1": -0.4 / 3600, "CDELT2": 0.4 / 3600, "CUNIT1": "deg", "CUNIT2": "deg", "RADESYS": "ICRS", "BUNIT": "electron"}


def star(size, down=0.0, right=0.0):
    """A Gaussian with the sum 1, off the middle of size x size pixels."""
    bell = [numpy.exp(-4 * numpy.log(2) * ((numpy.arange(size) - size // 2 - off) / FWHM) ** 2) for off in (down, right)]
    return numpy.outer(bell[0] / bell[0].sum(), bell[1] / bell[1].sum())


def make(count=3000, file="field.h5"):
    random = numpy.random.default_rng(1)
    row, column = numpy.mgrid[:SIDE, :SIDE] / SIDE
    sigma = 4 + 4 * column
    image = 200 + 80 * row + 40 * column + sigma * random.standard_normal((SIDE, SIDE))
    stars = numpy.empty(int(count), [(name, "f8") for name in ("row", "column", "flux", "snr")])
    stars["row"], stars["column"] = random.uniform(10, SIDE - 11, (2, len(stars)))
    stars["snr"] = LEAST / random.uniform(1e-3, 1, len(stars))
    for one in stars:
        i, j = round(one["row"]), round(one["column"])
        one["flux"] = one["snr"] * sigma[i, j] / numpy.sqrt((star(19) ** 2).sum())
        image[i - 9:i + 10, j - 9:j + 10] += one["flux"] * star(19, one["row"] - i, one["column"] - j)
    with h5py.File(file, "w") as output:
        output["image"] = image.astype("f4")
        output["image"].attrs.update(SKY)
        output["psf"] = star(19)
        output["stars"] = stars


def judge(file, result):
    with h5py.File(file) as inputs, h5py.File(result) as found:
        stars, table = inputs["stars"][()], found["peaks"][()]
        threshold = found["peaks"].attrs["threshold"]
    far = numpy.hypot(*(table[axis][:, None] - 1 - stars[name] for axis, name in (("y", "row"), ("x", "column"))))
    hits, bright = far.min(axis=0) < 2, stars["snr"] >= threshold
    print(f"{len(table)} sources; of {bright.sum()} stars with a ratio from {threshold:g} on, {(hits & bright).sum()} are found")
    print(f"{(far.min(axis=1) > 3).sum()} sources are no stars")
    near = table[far.argmin(axis=0)]
    alone = numpy.partition(numpy.hypot(*(stars[n][:, None] - stars[n] for n in ("row", "column"))), 1, axis=0)[1] > 12
    for low, high in ((5, 10), (10, 15), (15, 25), (25, 50), (50, 4000)):
        some = hits & alone & (stars["snr"] >= low) & (stars["snr"] < high)
        off = numpy.concatenate([near["y"] - 1 - stars["row"], near["x"] - 1 - stars["column"]])[numpy.tile(some, 2)]
        print(f"ratio {low} to {high}: {some.sum()} stars alone, places off by {numpy.sqrt((off ** 2).mean()):.3f} pixels rms, "
              f"fluxes by {100 * numpy.median(near['flux'][some] / stars['flux'][some] - 1):+.1f}%")


if sys.argv[1:2] == ["make"]:
    make(*sys.argv[2:])
elif sys.argv[1:2] == ["judge"] and len(sys.argv) == 4:
    judge(*sys.argv[2:])
else:
    sys.exit(__doc__)
