"""lapwing conv2d against numpy and astropy, end to end through files.

    conv2d_oracle.py LAPWING MPIEXEC [FOLDER]

Each case makes an input file as h5py writes it, runs the program on 1 to 4 ranks in turn (mostly on one, without
LW_TEST_ALL, and the same bits are looked for in fewer ways) and compares /convolved with a product of numpy's transforms of the
padded image in double precision. The rms error may be 5e-8 log2(2N) rms(x) |h| in single
precision and 1e-16 log2(2N) rms(x) |h| in double (N = 2^20 bounds the points of a tile), plus the rounding of the stored result.
If astropy is installed, it checks the interpolation of pixels that are not finite. FOLDER, or the folder that LAPWING_DATA names,
may hold M51.fits."""

import itertools
import os
import re
import sys
import tempfile
import warnings

from tested import (ALL, as_arguments, beyond, check, data_path, finish, from_halves, lapwing, noise, numbers_of_ranks, random,
                    read_products)

import h5py
import numpy as np

try:
    from astropy.convolution import convolve
except ImportError:
    convolve = None

BOUNDARIES = "zero", "constant=7.5", "edge", "wrap", "reflect"
ranks = numbers_of_ranks(1, 2, 3, 4, few=(1, 1, 2, 1, 1, 1, 1, 3, 1, 1, 1))
noise_bank = noise((5, 13, 11), "f4")


def fftconvolve(x, h, mode):
    """The convolution of x with a smaller h; "valid": only where h covers samples of x."""
    shape = tuple(np.add(x.shape, h.shape) - 1)
    full = np.fft.ifft2(np.fft.fft2(x, shape) * np.fft.fft2(h, shape))
    full = full if np.iscomplexobj(x) or np.iscomplexobj(h) else full.real
    return full[h.shape[0] - 1:x.shape[0], h.shape[1] - 1:x.shape[1]] if mode == "valid" else full


def pad(x, rows, columns, boundary):
    down, right = beyond(boundary, x.shape[0], rows), beyond(boundary, x.shape[1], columns)
    value = 7.5 if boundary.startswith("constant") else 0
    return np.where((down[:, None] < 0) | (right < 0), value, x[np.ix_(down, right)])


def expected(x, h, mode="same", boundary="zero", origin=None, correlate=False, normalize="none", decimate=1, **_):
    """The expected result of one image."""
    return convolved(x, h, mode, boundary, origin, correlate, normalize)[::decimate, ::decimate]


def convolved(x, h, mode, boundary, origin, correlate, normalize):
    if normalize == "sum":
        h = h / h.sum()
    if correlate:
        h = np.conj(h[::-1, ::-1])
    rows, columns = h.shape
    full = fftconvolve(pad(x, rows - 1, columns - 1, boundary), h, "valid")
    if mode == "full":
        return full
    if mode == "valid":
        return full[rows - 1:x.shape[0], columns - 1:x.shape[1]]
    first = [int(part) for part in origin.split(",")] if origin else [(rows - 1) // 2, (columns - 1) // 2]
    return full[first[0]:first[0] + x.shape[0], first[1]:first[1] + x.shape[1]]


def run(work, name, image, kernel, n_ranks=None, **options):
    files = [os.path.join(work, base) for base in ("in.h5", "out.h5")]
    with h5py.File(files[0], "w") as file:
        file["image"] = image
        file["kernel"] = kernel
    if lapwing(n_ranks or next(ranks), "conv2d", "--input", files[0] + ":/image", "--kernel", files[0] + ":/kernel",
               "--output", files[1], "--overwrite", "--quiet", *as_arguments(options)).returncode:
        return None
    with h5py.File(files[1]) as file:
        return file["convolved"][()], dict(file["convolved"].attrs), dict(file.attrs)


def rms(x):
    return np.sqrt(np.mean(np.abs(x) ** 2))


def compare(name, found, wanted, x, h, precision="single", narrow=0.0):
    """@param narrow the rounding error of the stored type, relative to a number"""
    check(found.shape == wanted.shape, f"{name}: shape {found.shape}, expected {wanted.shape}")
    if found.shape != wanted.shape:
        return
    check(np.iscomplexobj(found) == np.iscomplexobj(wanted), f"{name}: type {found.dtype}")
    check(np.array_equal(np.isnan(found), np.isnan(wanted)),
          f"{name}: {np.isnan(found).sum()} are not a number, expected {np.isnan(wanted).sum()}")
    good = np.isfinite(found) & np.isfinite(wanted)
    unit, rounding = (1e-16, 2.0 ** -54) if precision == "double" else (5e-8, 2.0 ** -25)
    bound = unit * 21 * max(rms(x[np.isfinite(x)]), 7.5) * np.sqrt(np.sum(np.abs(h) ** 2)) + rounding * rms(wanted[good])
    if precision == "double":
        bound += 1e-15 * rms(wanted[good])      # the error of the oracle's own transform
    bound += narrow * rms(wanted[good])
    error = rms((found - wanted)[good])
    check(error <= bound, f"{name}: rms error {error:.3g}, allowed {bound:.3g}")


def try_one(work, name, x, h, **options):
    result = run(work, name, x, h, **options)
    if result is None:
        return
    about = f"{name} {options}"
    wide = x.astype(complex if np.iscomplexobj(x) else float)
    stack = wide if wide.ndim == 3 else wide[None]
    wanted = np.stack([expected(image, h, **options) for image in stack])
    found, narrow = result[0], 0
    if options.get("output_type") == "float16":
        found, narrow = from_halves(about, found) * options.get("output_scale", 1), 2.0 ** -11
        check(result[1].get("scale_factor") == options.get("output_scale"), f"{about}: attributes {result[1]}")
    compare(about, found, wanted if wide.ndim == 3 else wanted[0], wide, h, options.get("precision", "single"), narrow)


def options_and_shapes(work):
    x, kinds = noise((61, 47), "f4"), itertools.cycle([[{}], [{"mode": "full", "correlate": True}]])
    for kernel, boundary in itertools.product([(1, 1), (5, 4), (8, 31), (70, 9), (90, 80)], BOUNDARIES):
        h = noise(kernel, "f8")
        for options in ({}, {"mode": "full", "correlate": True}) if ALL else next(kinds):
            try_one(work, "shapes", x, h, boundary=boundary, **options)
    for mode in ("full", "same", "valid"):
        for algorithm in ("direct", "tiles", "full", "auto"):
            try_one(work, "modes", x, noise((12, 17), "f4"), mode=mode, algorithm=algorithm)
    for origin in ("0,0", "3,6", "1,2"):
        try_one(work, "origin", x, noise((4, 7), "f4"), origin=origin, boundary="edge")
    try_one(work, "normalize", x, noise((6, 5), "f8") + 1, normalize="sum", precision="double")
    separable = np.outer(np.hanning(15), np.hanning(9))
    try_one(work, "separable", x, separable, algorithm="separable", boundary="reflect")
    try_one(work, "separable", x, separable, precision="double", boundary="wrap")


def types_and_stacks(work):
    for dtype in ("i1", "u1", "<i2", ">i2", "u2", "i4", "f4", ">f4", "f8", "c8", "c16"):
        try_one(work, f"type {dtype}", noise((40, 33), dtype), noise((7, 6), "f8"))
        try_one(work, f"type {dtype}", noise((3, 19, 33), dtype), noise((9, 4), "c16"), precision="double", boundary="reflect")
    try_one(work, "halves", noise((40, 33), "i2"), noise((7, 6), "f8"), output_type="float16", output_scale=10)
    try_one(work, "halves", noise((2, 40, 33), "c8"), noise((7, 6), "f8"), output_type="float16", boundary="wrap")
    x = noise((5, 30, 20), "f4")
    result = run(work, "images", x, noise((3, 3), "f4"), channels="1:5:2", start=4, count=11)
    check(result is not None and result[0].shape == (2, 11, 20), "images: the result is not two images of 11 rows")
    h = noise((3, 3), "f4")
    result = run(work, "images", x, h, channels="1:5:2", start=4, count=11, split="channels", n_ranks=2)
    if result:
        wanted = np.stack([expected(image.astype(float), h)[4:15] for image in x[1:5:2]])
        compare("images", result[0], wanted, x, h)
        check(result[1]["first_image"] == 1 and result[1]["image_step"] == 2 and
              result[1]["first_input_row"] == 4, f"images: attributes {result[1]}")


def decimation(work):
    """Every D-th row and column: a D that divides no side, a D larger than the image, slices that keep no row."""
    x = noise((3, 61, 47), "f4")
    smooth = np.outer(np.hanning(23), np.hanning(19))
    modes = itertools.product((2, 5, 16, 100), ("full", "same", "valid"))
    for (every, mode), n_ranks in zip(modes, numbers_of_ranks(4, few=(1, 4, 1, 1, 1))):
        try_one(work, "decimation", x, noise((8, 7), "f4"), decimate=every, mode=mode, split="axis", n_ranks=n_ranks)
    for algorithm in ("direct", "tiles", "full", "separable"):
        try_one(work, "decimation", x[0], smooth, decimate=3, algorithm=algorithm, boundary="reflect")
        try_one(work, "decimation", noise((61, 47), "c8"), smooth, decimate=7, algorithm=algorithm, split="axis")
    narrow(work)
    described(work)


def narrow(work):
    """The kept pixels as integers, and the number of those that integers cannot hold."""
    x = noise((50, 60), "f4")
    x[20, 31] = np.nan
    h = np.abs(noise((5, 4), "f8"))
    h /= h.sum()
    clean = expected(np.where(np.isnan(x), 0, x).astype(float), h, decimate=3)
    touched = expected(np.isnan(x).astype(float), np.ones(h.shape), decimate=3) > 0.5
    unit = np.abs(clean).max() / 100
    result = run(work, "narrow", x, h, decimate=3, output_type="int8", output_scale=unit)
    if result:
        found, about, whole = result
        check(found.dtype == np.int8 and found.shape == clean.shape, f"narrow: {found.dtype} {found.shape}")
        check(not found[touched].any(), "narrow: NaN is not stored as 0")
        error = np.abs(found * unit - clean)[~touched].max()
        check(error <= 0.501 * unit, f"narrow: error {error:.3g}, half a unit is {unit / 2:.3g}")
        check(about["scale_factor"] == unit and about["decimate"] == 3, f"narrow: attributes {about}")
        check(whole["samples_nan_stored_as_zero"] == touched.sum() > 0 and whole["samples_saturated"] == 0, f"narrow: {whole}")


def described(work):
    """A smoothing kernel gives no warning; a narrow kernel gives one, which names the direction."""
    x = noise((40, 50), "f4")
    wide = np.hanning(33)
    for kernel, said in ((np.outer(wide, wide), None), (np.outer(wide, [1.0]), "row to row and 7\\d"),
                         (np.outer([1.0], wide), "^7\\d.* row to row")):
        with h5py.File(os.path.join(work, "in.h5"), "w") as file:
            file["image"], file["kernel"] = x, kernel
        done = lapwing(1, "conv2d", "--input", f"{work}/in.h5:/image", "--kernel", f"{work}/in.h5:/kernel", "--output",
                       f"{work}/out.h5", "--overwrite", "--decimate", 4)
        warned = re.search("warning: the kernel has (.*) from column to column", done.stderr)
        check(bool(warned) == bool(said) and (not said or re.search(said, warned.group(1))), f"aliasing: {done.stderr}")


def same_bits(work):
    """The same bits for any number of ranks, threads and rounds, also for slabs thinner than the halo."""
    x = noise((2, 333, 210), "f4")
    x[0, 100, 60] = np.nan
    for algorithm, h in (("tiles", noise((40, 31), "f4")), ("full", noise((40, 31), "f4")), ("direct", noise((9, 8), "f4")),
                         ("separable", np.outer(np.hanning(41), np.hanning(33))), ("auto", noise((150, 20), "f4"))):
        first, ways = None, [(4, {"split": "axis", "threads": 1}), (2, {"threads": 3, "split": "channels"}),
                             (3, {"split": "axis", "decimate": 7})]
        for n_ranks, extra in [(1, {}), *(ways if ALL else ways[:1] if algorithm in ("tiles", "direct", "auto") else ways[1:])]:
            result = run(work, "bits", x, h, n_ranks=n_ranks, algorithm=algorithm, boundary="wrap", **extra)
            if result is None:
                continue
            first = result[0] if first is None else first
            every = extra.get("decimate", 1)
            check(first[:, ::every, ::every].tobytes() == result[0].tobytes(),
                  f"bits: {algorithm}, {n_ranks} ranks, {extra}: other bits")


def spoiled(shape):
    x = noise(shape, "f8")
    x[random.random(shape) < 0.03] = np.nan
    x[10:20, 12:26] = np.inf
    return x


def not_finite(work):
    x = spoiled((50, 60))
    h = np.abs(noise((5, 7), "f8"))
    clean = np.where(np.isfinite(x), x, 0)
    bad = fftconvolve((~np.isfinite(x)).astype(float), np.ones(h.shape), "full")[2:52, 3:63] > 0.5
    for algorithm in ("direct", "tiles"):
        for precision in ("single", "double"):
            common = dict(algorithm=algorithm, precision=precision)
            wanted = expected(clean, h)
            result = run(work, "nan zero", x, h, nan="zero", **common)
            if result:
                compare("nan zero", result[0], wanted, x, h, precision)
            result = run(work, "nan propagate", x, h, **common)
            if result:
                compare("nan propagate", result[0], np.where(bad, np.nan, wanted), x, h, precision)
                check(result[2]["samples_not_finite"] == (~np.isfinite(x)).sum(),
                      f"nan propagate: {result[2]['samples_not_finite']} not finite, expected {(~np.isfinite(x)).sum()}")
    if convolve is None:
        print("astropy is not there: interpolation is judged by tests/engine only")
        return
    warnings.simplefilter("ignore")             # a warning of astropy about the hole that is larger than the kernel
    x[~np.isfinite(x)] = np.nan
    for astropy_boundary, boundary, value in (("fill", "zero", 0), ("fill", "constant=7.5", 7.5), ("extend", "edge", 0),
                                              ("wrap", "wrap", 0)):
        for normalizes in (True, False):
            wanted = convolve(x, h, boundary=astropy_boundary, fill_value=value, nan_treatment="interpolate",
                              normalize_kernel=normalizes)
            wanted[covered(x, h, boundary) == 0] = np.nan
            result = run(work, "astropy", x, h, nan="interpolate", boundary=boundary, precision="double",
                         normalize="sum" if normalizes else "none")
            if result:
                compare(f"astropy {boundary} {normalizes}", result[0], wanted, x, h / (h.sum() if normalizes else 1), "double")


def covered(x, h, boundary):
    """Number of finite pixels that the kernel covers, with pixels beyond the sides as the boundary makes them."""
    finite = pad(np.isfinite(x).astype(float), h.shape[0] - 1, h.shape[1] - 1, "zero" if boundary[0] in "zc" else boundary)
    if boundary[0] in "zc":
        rows, columns = beyond("zero", x.shape[0], h.shape[0] - 1), beyond("zero", x.shape[1], h.shape[1] - 1)
        finite[(rows[:, None] < 0) | (columns < 0)] = 1
    count = np.rint(fftconvolve(finite, np.ones(h.shape), "valid"))
    first = (h.shape[0] - 1) // 2, (h.shape[1] - 1) // 2
    return count[first[0]:first[0] + x.shape[0], first[1]:first[1] + x.shape[1]]


def read_fits(path):
    """The image of a FITS file of one header with BITPIX 16."""
    with open(path, "rb") as file:
        content = file.read()
    end = content.index(b"END" + 77 * b" ") // 2880 * 2880 + 2880
    header = content[:end].decode("ascii")
    side = {key: int(header[header.index(key):][10:30]) for key in ("NAXIS1  ", "NAXIS2  ", "BITPIX  ")}
    assert side["BITPIX  "] == 16
    return np.frombuffer(content, ">i2", side["NAXIS1  "] * side["NAXIS2  "], end).reshape(side["NAXIS2  "], side["NAXIS1  "])


def run_bank(work, x, files, n_ranks=None, output="out.h5", code=0, **options):
    """Run with the kernels of several datasets. @return  the datasets of the result and their attributes"""
    with h5py.File(f"{work}/in.h5", "w") as file:
        file["image"] = x
        for i, kernels in enumerate(files):
            file[f"k{i}"] = kernels
    done = lapwing(n_ranks or next(ranks), "conv2d", "--input", f"{work}/in.h5:/image", "--kernel",
                   *(f"{work}/in.h5:/k{i}" for i in range(len(files))), "--output", f"{work}/{output}", "--overwrite",
                   *as_arguments(options), code=code)
    if code or done.returncode or not output.endswith(".h5"):
        return done, {}
    with h5py.File(f"{work}/{output}") as file:
        return read_products(file), {name: dict(file[name].attrs) for name in ("convolved", "noise", "best/value") if name in file}


def verified(work, name):
    """lapwing verify finds all values of the result, which it sums by the definition, as they should be."""
    done = lapwing(1, "verify", f"{work}/{name}", "--sample", 400)
    check(re.search(r"/\w+ +[1-9]\d* +0 ", done.stdout), f"verify of a bank: {done.stdout}{done.stderr}")


def banks(work):
    """Each plane of /convolved is what its kernel gives alone; smaller kernels have zeros around them, their middles agree."""
    cases = (
        (noise((2, 40, 33), "i2"), [noise((4, 6, 5), "c16")], {"mode": "full"}),
        (noise((3, 50, 37), "c8"), [noise((2, 9, 4), "f8")], {"boundary": "reflect", "precision": "double", "decimate": 3}),
        (noise((70, 90), "f4"), [noise((5, 6), "f8"), noise((2, 11, 3), "f4"), noise((4, 4), "c8")], {"boundary": "edge"}),
        (noise((70, 90), "f4"), [noise((5, 6), "f8") + 1, noise((3, 13), "f8") + 1], {"correlate": True, "normalize": "sum"}),
        (noise((64, 90), "f4"), [noise((1, 7, 7), "f8")], {"mode": "valid", "algorithm": "direct"}),
        (noise((60, 50), "f4"), [noise((3, 30, 20), "f4")], {"algorithm": "padded", "boundary": "constant=7.5"}),
        (noise((60, 50), "f4"), [np.array([np.outer(np.hanning(9), np.hanning(n)) for n in (9, 7, 9)][::2])], {"algorithm": "separable"}))
    for x, files, options in cases:
        found, attributes = run_bank(work, x, files, checksum=True, **options)
        if not attributes:
            continue
        kernels = [h for those in files for h in (those if those.ndim == 3 else [those])]
        stack = x if x.ndim == 3 else x[None]
        wide_x = x.astype(complex if np.iscomplexobj(x) else float)
        parted = any(np.iscomplexobj(h) for h in kernels)
        y = found["convolved"]
        check(y.ndim == x.ndim + 1 and len(y) == len(kernels), f"a bank of {len(kernels)}: {y.shape}")
        for k, h in enumerate(kernels):
            wide = [expected(image.astype(complex if parted or np.iscomplexobj(x) else float), h, **options) for image in stack]
            if options.get("mode") in ("full", "valid") and len(files) > 1:
                continue
            scale = h.sum() if options.get("normalize") == "sum" else 1
            compare(f"kernel {k}, {options}", y[k] if x.ndim == 3 else y[k][None], np.array(wide), wide_x, h / scale,
                    options.get("precision", "single"))
        check(list(attributes["convolved"]["DIMENSION_LABELS"])[:1] == ["kernel"] and "k0" in attributes["convolved"]["kernels"],
              f"attributes of a bank: {attributes}")
        if options.get("mode") or len(files) > 1:
            verified(work, "out.h5")
    x, several = spoiled((50, 60)), [np.abs(noise((2, 5, 7), "f8")), np.abs(noise((3, 4), "f8"))]
    for nan in ("interpolate", "propagate"):
        found, _ = run_bank(work, x, several, nan=nan, precision="double")
        for k, h in enumerate([*several[0], several[1]] if found else []):
            full = np.zeros((5, 7))
            full[(5 - h.shape[0]) // 2:, (7 - h.shape[1] + 1) // 2:][:h.shape[0], :h.shape[1]] = h
            wanted = run(work, "one of a bank", x, full, nan=nan, precision="double")[0]
            same_nan = np.array_equal(np.isnan(found["convolved"][k]), np.isnan(wanted))
            check(same_nan and np.nanmax(np.abs(found["convolved"][k] - wanted)) < 1e-12 * np.nanmax(np.abs(wanted)), f"{nan}: kernel {k}")
    run_bank(work, x, several, nan="zero")
    os.rename(f"{work}/in.h5", f"{work}/moved in.h5")
    said = lapwing(1, "verify", f"{work}/out.h5", code=74).stderr
    check("name them with --input, --filters" in said, f"moved kernels: {said}")
    moved = [f"{work}/moved in.h5:/{name}" for name in ("image", "k0", "k1")]
    lapwing(1, "verify", f"{work}/out.h5", "--input", moved[0], "--filters", *moved[1:])
    os.rename(f"{work}/moved in.h5", f"{work}/in.h5")
    x = noise((50, 60), "f4")
    with h5py.File(f"{work}/in.h5", "w") as file:
        file["image"] = x
    lapwing(2, "conv2d", "--input", f"{work}/in.h5:/image", "--gaussian", "2,5.5,3", "--output", f"{work}/out.h5", "--overwrite")
    with h5py.File(f"{work}/in.h5") as image, h5py.File(f"{work}/out.h5") as file:
        side = file["kernels"].shape[1]
        check(file["kernels"].shape == (3, side, side) and list(file["convolved"].attrs["fwhm_pixels"]) == [2, 5.5, 3], "Gaussians")
        for k, width in enumerate((2, 5.5, 3)):
            compare("a bank of Gaussians", file["convolved"][k], expected(image["image"][()].astype(float), file["kernels"][k]),
                    image["image"][()], file["kernels"][k])
            sigma, t = width / np.sqrt(8 * np.log(2)), np.arange(side) - side // 2
            h = np.where(np.abs(t) <= np.ceil(5 * sigma), np.exp(-t ** 2 / (2 * sigma ** 2)), 0)
            check(np.allclose(file["kernels"][k], np.outer(h, h) / h.sum() ** 2, rtol=0, atol=1e-13), f"a Gaussian of {width}")
    for files, code, text in (([noise((2, 3, 3), "f8"), noise(3, "f8")], 65, "one dimension"),
                              ([np.where(np.eye(3), np.nan, noise((2, 3, 3), "f8"))], 65, "must be finite"),
                              ([np.array([np.eye(3), np.eye(3) - 1 / 3])], 78, "zero but for rounding"),
                              ([noise((2, 2), "f4")] * 9, 2, "more than 8 files")):
        done, _ = run_bank(work, x, files, code=code, normalize="sum")
        check(text in done.stderr, f"{text}: {done.stderr}")


def bank_bits(work):
    """All products of a bank are the same on 1 to 8 ranks, for rows and images that are split."""
    x = noise((2, 260, 150), "f4")
    x[1, 100, 60] = np.nan
    first = None
    ways = [(1, {}), (3, {"split": "channels"}), (5, {"split": "axis", "memory": "1G", "threads": 1})]
    for n_ranks, extra in ways + ([(2, {"threads": 3}), (8, {"split": "axis"})] if ALL else []):
        found, _ = run_bank(work, x, [noise_bank], n_ranks=n_ranks, products="convolved,peaks,best", threshold=3.5,
                            cluster="4,kernels", boundary="reflect", **extra)
        first = first or found
        check(set(found) == set(first) and all(found[k].tobytes() == first[k].tobytes() for k in first),
              f"a bank on {n_ranks} ranks, {extra}: other bits")


def bank_as_fits(work):
    """A bank becomes a cube, whose planes have the sky's coordinates of the image, as those of /best have."""
    try:
        from astropy.io import fits
        from astropy.wcs import WCS
    except ImportError:
        print("astropy is not there: no FITS cube")
        return
    x, kernels = noise((50, 60), "f4"), noise((3, 5, 5), "f4")
    header = fits.Header({"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 202.5, "CRVAL2": 47.2, "CRPIX1": 30, "CRPIX2": 20,
                          "CDELT1": -1e-3, "CDELT2": 1e-3})
    fits.writeto(f"{work}/sky.fits", x, header, overwrite=True)
    fits.writeto(f"{work}/bank.fits", kernels, overwrite=True)
    lapwing(2, "conv2d", "--input", f"{work}/sky.fits", "--kernel", f"{work}/bank.fits", "--output", f"{work}/out.fits", "--overwrite",
            "--products", "convolved,best", "--noise", "energy", "--start", 7)
    with fits.open(f"{work}/out.fits") as file:
        cube, best, number = (file[name] for name in ("CONVOLVED", "BEST_VALUE", "BEST_KERNEL"))
        check(cube.data.shape == (3, 43, 60) and number.data.dtype.kind == "i", f"cube: {cube.data.shape}")
        for k in range(3):
            compare("cube", cube.data[k], expected(x.astype(float), kernels[k].astype(float))[7:], x, kernels[k])
        for unit in (cube, best, number):
            at = WCS(unit.header).celestial.pixel_to_world_values(12, 10)
            check(np.allclose(at, WCS(header).pixel_to_world_values(12, 17), rtol=0, atol=1e-9), f"{unit.name}: {at}")
    verified(work, "out.fits")


def galaxy(work):
    path = data_path("M51.fits")
    if not os.path.isfile(path):
        print(f"{path} is not there: without M51")
        return
    x = read_fits(path)
    check(x.shape == (512, 512) and x.max() == 19936, f"M51: read as {x.shape}, largest {x.max()}")
    down, right = np.mgrid[-12:13, -12:13]
    gauss = np.exp(-(down ** 2 + right ** 2) / (2 * 3.0 ** 2))
    slanted = np.exp(-(down ** 2 + down * right + right ** 2) / (2 * 3.0 ** 2))
    for h, boundary in ((gauss, "zero"), (gauss, "edge"), (slanted, "reflect")):
        try_one(work, "M51", x, h / h.sum(), boundary=boundary)
        try_one(work, "M51", x, h, boundary=boundary, normalize="sum", precision="double")


with tempfile.TemporaryDirectory() as folder:
    os.environ["TMPDIR"] = folder
    options_and_shapes(folder)
    types_and_stacks(folder)
    decimation(folder)
    same_bits(folder)
    not_finite(folder)
    banks(folder)
    bank_bits(folder)
    bank_as_fits(folder)
    galaxy(folder)
finish()
