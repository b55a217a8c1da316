"""Images with weights of their pixels (conv2d --noise-map, --weight-map) against numpy in double precision, end to end.

    maps.py LAPWING MPIEXEC

The oracle is the definition, in sums: w = 1 / sigma^2 or the weight, 0 for pixels that are not finite, whose number in the map is
not finite or not above 0, and beyond the sides; A = conv(w x, k), B = conv(w, k^2); outputs are A / sqrt(B), and NaN where the
kernel covers no pixel of weight above 0. If sep is installed, the pixels above a threshold must be those of its matched filter."""

import itertools
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import as_arguments, check, finish, lapwing, needed_memory, random, read_products

import h5py
import numpy as np
from astropy.io import fits

try:
    import sep
except ImportError:
    sep = None

ranks = itertools.cycle([1, 2, 1, 3, 1, 4])


# ---- the oracle -------------------------------------------------------------------------------------------------------------

def part_of(full, shape, kernel, mode):
    rows, columns = kernel
    if mode == "full":
        return full
    if mode == "valid":
        return full[rows - 1:shape[0], columns - 1:shape[1]]
    return full[(rows - 1) // 2:, (columns - 1) // 2:][:shape[0], :shape[1]]


def weights_of(x, kind, numbers):
    """@param kind  sigma, inverse, variance or mask"""
    numbers = numbers.astype(float)
    with np.errstate(all="ignore"):
        w = {"sigma": numbers**-2.0, "inverse": numbers, "variance": 1 / numbers, "mask": (numbers == 0) + 0.0}[kind]
        good = np.isfinite(x) & np.isfinite(w) & ((numbers > 0) | (kind == "mask"))
    return np.where(good, w, 0)


def weighted(x, w, h, mode="same", correlate=False):
    """(SNR, error of the flux) of one image. Sums over the kernel, so that errors do not spread."""
    h = h[::-1, ::-1] if correlate else h
    shape = [n + m - 1 for n, m in zip(x.shape, h.shape)]
    a, b, met = np.zeros(shape), np.zeros(shape), np.zeros(shape, int)
    wx = np.where(w > 0, w * np.where(np.isfinite(x), x, 0), 0)
    for i, j in np.ndindex(h.shape):
        place = np.s_[i:i + x.shape[0], j:j + x.shape[1]]
        a[place] += h[i, j] * wx
        b[place] += h[i, j]**2 * w
        met[place] += w > 0
    with np.errstate(all="ignore"):
        y, error = np.where(met > 0, a / np.sqrt(b), np.nan), b**-0.5
    return tuple(part_of(full, x.shape, h.shape, mode) for full in (y, error))


def draw(shape, dtype="f4"):
    """Noise of changing sigma with a few sources; the map of sigma with flaws; pixels that are not finite."""
    sigma = 0.5 + 1.5 * random.random(shape)
    x = random.standard_normal(shape) * sigma
    for _ in range(5):
        x[..., random.integers(shape[-2]), random.integers(shape[-1])] += 60
    flat = sigma.reshape(-1)
    for bad in (0, -1, np.nan, np.inf):
        flat[random.integers(0, flat.size, max(1, flat.size // 400))] = bad
    if np.dtype(dtype).kind == "f":
        x.reshape(-1)[random.integers(0, x.size, max(1, x.size // 500))] = np.nan
        return x.astype(dtype), sigma
    return np.rint(x * 20).astype(dtype), sigma


# ---- running ----------------------------------------------------------------------------------------------------------------

def run(work, *words, n_ranks=None, code=0, output="out.h5", **options):
    done = lapwing(n_ranks or next(ranks), "conv2d", *words, "--kernel", f"{work}/h.h5:/h", "--output", f"{work}/{output}",
                   "--overwrite", *as_arguments(options), code=code)
    if done.returncode:
        return done.stderr
    with h5py.File(f"{work}/{output}") as file:
        return read_products(file), dict(file.attrs), done.stderr


def write_kernel(work, shape):
    h = np.exp(-0.5 * sum((np.arange(n).reshape(s) - n / 2.3)**2 / (n / 5)**2 for n, s in zip(shape, ((-1, 1), (1, -1)))))
    h += 0.05 * random.standard_normal(shape)
    with h5py.File(f"{work}/h.h5", "w") as file:
        file["h"] = h
    return h


def compare(name, found, x, w, h, precision="single", **area):
    """Compare images with the oracle; the error is that of both sums relative to the largest weights."""
    stack = x if x.ndim == 3 else x[None]
    weights = w if w.ndim == 3 else np.broadcast_to(w, stack.shape)
    found = found if x.ndim == 3 else found[None]
    for image, (one, its) in enumerate(zip(stack, weights)):
        its = np.where(np.isfinite(one), its, 0)
        wanted, error = weighted(one.astype(float), its, h, **area)
        if not check(found[image].shape == wanted.shape, f"{name}: shape {found[image].shape}, expected {wanted.shape}"):
            return
        nan = np.isnan(wanted)
        check(np.array_equal(np.isnan(found[image]), nan), f"{name}: {np.isnan(found[image]).sum()} NaN, expected {nan.sum()}")
        e = (1e-16 if precision == "double" else 5e-8) * 17 * 6
        rms = np.sqrt(np.mean(np.where(its > 0, its * np.nan_to_num(one.astype(float)), 0)**2)), np.sqrt(np.mean(its**2))
        allowed = e * (rms[0] * np.linalg.norm(h) * error + np.abs(wanted) * rms[1] * np.linalg.norm(h**2) * error**2 / 2)
        allowed += (1e-15 if precision == "double" else 3e-7) * np.abs(wanted)
        off = np.abs(found[image] - wanted)[~nan] / allowed[~nan]
        check(off.size == 0 or off.max() <= 1, f"{name}: off by {off.max() if off.size else 0:.3g} times what is allowed")


def case(name, shape=(90, 120), dtype="f4", kernel=(7, 9), kind="sigma", map_dtype="f4", map_shape=None, **options):
    x, sigma = draw(shape, dtype)
    numbers = sigma if map_shape is None else draw(map_shape)[1]
    with np.errstate(all="ignore"):
        numbers = {"sigma": numbers, "inverse": numbers**-2, "variance": numbers**2, "mask": (numbers > 1.8) + 0.0}[kind]
        numbers = (np.nan_to_num(10 * numbers, posinf=0) if np.dtype(map_dtype).kind in "iu" and kind != "mask" else numbers).astype(map_dtype)
    names = {"sigma": "sigma_map", "inverse": "inverse_map", "variance": "variance", "mask": "mask"}
    option = "--noise-map" if kind == "sigma" else "--weight-map"
    with tempfile.TemporaryDirectory() as work:
        h = write_kernel(work, kernel)
        with h5py.File(f"{work}/in.h5", "w") as file:
            file["x"], file[names[kind]] = x, numbers
        found = run(work, "--input", f"{work}/in.h5:/x", option, f"{work}/in.h5:/{names[kind]}", **options)
        if isinstance(found, str):
            return
        w = weights_of(0.0, kind, numbers)
        compare(name, found[0]["convolved"], x, w[0] if w.ndim == 3 and len(w) == 1 else w, h,
                **{key: options[key] for key in ("mode", "correlate", "precision") if key in options})
        check(found[1]["map"] == f"{work}/in.h5:/{names[kind]}".encode() or found[1]["map"] == f"{work}/in.h5:/{names[kind]}",
              f"{name}: the origin's map is {found[1].get('map')}")


# ---- cases ------------------------------------------------------------------------------------------------------------------

def kinds():
    case("sigma", n_ranks=1)
    case("double", precision="double", map_dtype="f8", correlate=True)
    case("weights", (70, 131), kind="inverse", mode="full", map_dtype=">f4")
    case("variance", (64, 64), kind="variance", mode="valid")
    case("mask", (64, 90), kind="mask", map_dtype="u1", kernel=(3, 3))
    case("integers", (80, 60), "i2", kind="sigma", map_dtype="i2", algorithm="direct")
    case("integer weights", (80, 60), ">i4", kind="inverse", map_dtype="u2", algorithm="tiles")
    case("a stack", (5, 40, 50), kernel=(5, 5), boundary="edge")
    case("a stack with one map", (5, 40, 50), map_shape=(40, 50), split="channels", n_ranks=3)
    case("a stack with a map of one image", (3, 60, 30), map_shape=(1, 60, 30), kernel=(9, 3))
    case("a kernel larger than the image", (9, 11), kernel=(15, 13))
    case("a large kernel", (150, 170), kernel=(41, 37), algorithm="tiles")


def empty():
    """Whole areas without weights: NaN exactly where the kernel covers none of the others."""
    x, sigma = draw((120, 100))
    sigma[20:70, 30:80], sigma[0, 0], sigma[:, 95:] = 0, np.nan, -1
    with tempfile.TemporaryDirectory() as work:
        h = write_kernel(work, (11, 11))
        with h5py.File(f"{work}/in.h5", "w") as file:
            file["x"], file["s"] = x, sigma.astype("f4")
        for algorithm in ("direct", "tiles"):
            found, *_ = run(work, "--input", f"{work}/in.h5:/x", "--noise-map", f"{work}/in.h5:/s", algorithm=algorithm)
            check(np.isnan(found["convolved"]).sum() > 1000, "empty: few outputs are NaN")
            compare(f"empty, {algorithm}", found["convolved"], x, weights_of(0.0, "sigma", sigma.astype("f4")), h)


def bits():
    """The same bits for any ranks and memory, windows included, and the same as the window of the whole run."""
    x, sigma = draw((3, 260, 90))
    with tempfile.TemporaryDirectory() as work:
        write_kernel(work, (9, 9))
        with h5py.File(f"{work}/in.h5", "w") as file:
            file["x"] = x
            file.create_dataset("s", data=sigma.astype("f4"), chunks=(1, 32, 50), compression="gzip")
        words = ["--input", f"{work}/in.h5:/x", "--noise-map", f"{work}/in.h5:/s"]
        sought = {"products": "convolved,peaks", "threshold": 4, "cluster": 3}
        whole = run(work, *words, n_ranks=1, **sought)[0]
        for n_ranks in (2, 3, 8):
            tight = needed_memory(run(work, *words, n_ranks=n_ranks, memory="1M", code=78, **sought))
            found = run(work, *words, n_ranks=n_ranks, memory=tight, **sought)[0]
            check(all(found[key].tobytes() == whole[key].tobytes() for key in whole), f"bits: other bits on {n_ranks} ranks")
        found = run(work, *words, n_ranks=3, start=101, count=77, channels="1:3")[0]["convolved"]
        check(found.tobytes() == whole["convolved"][1:3, 101:178].tobytes(), "bits: a window differs from the whole")
        check(len(whole["peaks"]) > 5, f"bits: {len(whole['peaks'])} peaks")


def peaks():
    """Peaks: re is the SNR, im the error of the flux; their product is the flux."""
    x, sigma = draw((200, 150))
    with tempfile.TemporaryDirectory() as work:
        h = write_kernel(work, (9, 9))
        with h5py.File(f"{work}/in.h5", "w") as file:
            file["x"], file["s"] = x, sigma.astype("f4")
        words = ["--input", f"{work}/in.h5:/x", "--noise-map", f"{work}/in.h5:/s"]
        y, error = weighted(x.astype(float), np.where(np.isfinite(x), weights_of(0.0, "sigma", sigma.astype("f4")), 0), h)
        for sign in ("positive", "both"):
            table = run(work, *words, products="peaks", threshold=4.5, sign=sign, noise="given")[0]["peaks"]
            size = np.abs(y) if sign == "both" else np.nan_to_num(y)
            n = (size >= 4.5).sum()
            check(abs(len(table) - n) <= (np.abs(size - 4.5) < 1e-4).sum() and n > 5, f"peaks, {sign}: {len(table)}, expected {n}")
            for row in table:
                its, sure = y[row["row"], row["column"]], error[row["row"], row["column"]]
                check(abs(row["re"] / its - 1) < 2e-5 and abs(row["im"] / sure - 1) < 2e-5, f"peaks: {row}, expected {its}, {sure}")
                check(abs(row["snr"] / abs(row["re"]) - 1) < 1e-12, f"peaks: SNR {row['snr']} of {row['re']}")
        found = run(work, *words, products="peaks", threshold=5, noise="measured")[0]
        check(abs(found["noise"][0] - 1) < 0.05, f"peaks: measured noise {found['noise']} of SNRs")
        with h5py.File(f"{work}/in.h5", "a") as file:        # relative weights, as exposure times are
            file["w"] = (100 * weights_of(0.0, "sigma", sigma)).astype("f4")
        relative = run(work, "--input", f"{work}/in.h5:/x", "--weight-map", f"{work}/in.h5:/w", products="peaks", threshold=5, noise="measured")[0]
        check(abs(relative["noise"][0] / found["noise"][0] - 10) < 0.05, f"peaks: noise {relative['noise']} with relative weights")
        same = [set(zip(t["row"], t["column"])) for t in (relative["peaks"], found["peaks"])]
        check(len(same[0] ^ same[1]) <= 1 and len(same[0]) > 4, "peaks: others with relative weights")


def names():
    """--weight-map auto: the name of a dataset beside the image tells what it holds."""
    x, sigma = draw((40, 50))
    sigma = sigma.astype("f4")
    sets = {"ERR": ("sigma", sigma), "IVAR": ("inverse", weights_of(0.0, "sigma", sigma).astype("f4")),
            "VAR": ("variance", sigma**2), "WHT": ("inverse", np.full_like(sigma, 2)), "DQ": ("mask", (sigma > 1.5).astype("i4"))}
    order = ["IVAR", "ERR", "VAR", "WHT", "DQ"]
    with tempfile.TemporaryDirectory() as work:
        h = write_kernel(work, (5, 5))
        for first in range(len(order)):
            units = [fits.PrimaryHDU()]
            for version, some in ((1, order[first:]), (2, order[:1])):
                units += [fits.ImageHDU(x, name="SCI", ver=version), *(fits.ImageHDU(sets[n][1], name=n, ver=version) for n in some[::-1])]
            fits.HDUList(units).writeto(f"{work}/in.fits", overwrite=True)
            found = run(work, "--input", f"{work}/in.fits:/SCI", "--weight-map", "auto")
            check(f"/{order[first]} holds" in found[2], f"names: {order[first]} is not taken: {found[2]}")
            compare(order[first], found[0]["convolved"], x, weights_of(0.0, *sets[order[first]]), h)
        check("/IVAR,2 holds" in run(work, "--input", f"{work}/in.fits:/SCI,2", "--weight-map", "auto")[2], "names: EXTVER")
        with h5py.File(f"{work}/in.h5", "w") as file:
            file["other/mask"], file["these/image"], file["these/rms"] = x, x, sigma
        found = run(work, "--input", f"{work}/in.h5:/these/image", "--weight-map", "auto")
        compare("names in HDF5", found[0]["convolved"], x, weights_of(0.0, "sigma", sigma), h)


def files():
    """Formats of maps, and files joined along the rows."""
    x, sigma = draw((90, 40))
    sigma = sigma.astype("f4")
    w = weights_of(0.0, "sigma", sigma)
    with tempfile.TemporaryDirectory() as work:
        h = write_kernel(work, (7, 5))
        np.save(f"{work}/s.npy", sigma)
        fits.writeto(f"{work}/s.fits", sigma)
        fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(np.where(np.isfinite(sigma), sigma, 0), quantize_level=0,
                                                           compression_type="GZIP_1")]).writeto(f"{work}/s.fits.fz")
        sigma.tofile(f"{work}/s.raw")
        x.tofile(f"{work}/x.raw")
        np.save(f"{work}/x.npy", x)
        for name in ("s.npy", "s.fits", "s.fits.fz"):
            compare(name, run(work, "--input", f"{work}/x.npy", "--noise-map", f"{work}/{name}")[0]["convolved"], x, w, h)
        compare("raw", run(work, "--input", f"{work}/x.raw", "--noise-map", f"{work}/s.raw", "--format", "raw=float32,40")[0]["convolved"], x, w, h)
        for part in range(3):
            with h5py.File(f"{work}/part{part}.h5", "w") as file:
                file["x"], file["err"] = x[30 * part:30 * part + 30], sigma[30 * part:30 * part + 30]
        parts = [f"{work}/part{part}.h5" for part in range(3)]
        inputs = ["--input", *(f"{name}:/x" for name in parts)]
        for given in (["--noise-map", f"{work}/s.npy"], ["--noise-map", *(f"{name}:/err" for name in parts)], ["--weight-map", "auto"]):
            compare(f"joined, {given}", run(work, *inputs, *given)[0]["convolved"], x, w, h)
        lapwing(2, "conv2d", *inputs, "--weight-map", "auto", "--kernel", f"{work}/h.h5:/h", "--each", "file", "--output", f"{work}/all")
        for part in range(3):
            with h5py.File(f"{work}/all/part{part}.h5") as file:
                compare("each", file["convolved"][()], x[30 * part:30 * part + 30], w[30 * part:30 * part + 30], h)


def again():
    """Provenance, verify, and a map that changes."""
    x, sigma = draw((200, 90))
    with tempfile.TemporaryDirectory() as work:
        write_kernel(work, (9, 9))
        for name, data in (("x", x), ("s", sigma)):
            np.save(f"{work}/{name}.npy", data)
        words = ["--input", f"{work}/x.npy", "--noise-map", f"{work}/s.npy"]
        attributes = run(work, *words, products="convolved,peaks", threshold=4)[1]
        check(int(attributes["map_file_bytes"]) == os.path.getsize(f"{work}/s.npy"), "again: the size of the map")
        lapwing(1, "verify", f"{work}/out.h5")
        with h5py.File(f"{work}/out.h5", "a") as file:
            file["convolved"][:, 40:] += 0.01
        check("wrong" in lapwing(1, "verify", f"{work}/out.h5", code=65).stdout, "again: wrong values are not found")
        run(work, *words)
        np.save(f"{work}/s.npy", sigma[:100])
        check("[100 x 90]" in lapwing(1, "verify", f"{work}/out.h5", code=65).stderr, "again: a map of another shape")
        np.save(f"{work}/moved.npy", sigma)
        lapwing(1, "verify", f"{work}/out.h5", "--map", f"{work}/moved.npy")


def errors():
    x, sigma = draw((60, 40))
    with tempfile.TemporaryDirectory() as work:
        write_kernel(work, (5, 5))
        with h5py.File(f"{work}/in.h5", "w") as file:
            file["x"], file["s"], file["other"], file["complex"], file["err"] = x, sigma, sigma[:, :39], sigma + 1j, sigma
            file["stack"], file["var"] = np.stack([x, x, x]), np.ones((60, 40), "i4")
            file["two"] = np.stack([sigma, sigma])
        name = f"{work}/in.h5:/"
        for given, word, code in (
                ({"noise_map": name + "other"}, "[60 x 39]", 65), ({"noise_map": name + "complex"}, "complex", 65),
                ({"noise_map": name + "two"}, "[2 x 60 x 40]", 65), ({"noise_map": name + "none"}, "none", 65),
                ({"noise_map": name + "s", "weight_map": "auto"}, "exclude", 2), ({"noise_map": name + "s", "nan": "zero"}, "--nan zero", 2),
                ({"weight_map": name + "err"}, "--noise-map", 2), ({"weight_map": name + "var"}, "integers", 65),
                ({"noise_map": name + "s", "noise": "energy", "products": "peaks", "threshold": 3}, "weighted", 2)):
            said = run(work, "--input", name + "x", code=code, **given)
            check(isinstance(said, str) and word in said, f"errors {given}: {said}")
        said = run(work, "--input", name + "stack", "--noise-map", name + "two", code=65)
        check("[3 x 60 x 40]" in said, f"errors, a stack: {said}")
        with h5py.File(f"{work}/alone.h5", "w") as file:
            file["x"] = x
        said = run(work, "--input", f"{work}/alone.h5:/x", "--weight-map", "auto", code=65)
        check("IVAR" in said, f"errors, auto: {said}")
        said = run(work, "--input", name + "complex", "--noise-map", name + "s", code=78)
        check("real" in said, f"errors, complex: {said}")


def mesh():
    """The mesh of the background leaves out pixels of weight 0, as it leaves out pixels that are not a number."""
    for shape, dtype, map_dtype in (((300, 200), ">f4", "f4"), ((3, 200, 150), "i2", "u1"), ((3, 200, 150), "f8", ">f8")):
        x, sigma = draw(shape, dtype)
        sigma[..., 10:40, 20:70] = 0
        w = (np.nan_to_num(10 * sigma, posinf=0).clip(0) if map_dtype == "u1" else sigma).astype(map_dtype)
        shared = w[0] if len(shape) == 3 and map_dtype == "u1" else w
        with np.errstate(invalid="ignore"), tempfile.TemporaryDirectory() as work:
            write_kernel(work, (5, 5))
            with h5py.File(f"{work}/in.h5", "w") as file:
                file["x"], file["w"] = x, shared
                file["left"] = np.where(np.isfinite(shared) & (shared > 0), x, np.nan).astype("f8" if dtype == "f8" else "f4")
            names, sought = [f"{work}/in.h5:/{name}" for name in ("x", "w", "left")], {"background": "mesh", "mesh": 32}
            found = run(work, "--input", names[0], "--weight-map", names[1], n_ranks=3, **sought)[0]["background"]
            wanted = run(work, "--input", names[2], **sought)[0]["background"]
            whole = run(work, "--input", names[0], **sought)[0]["background"]
            check(found.tobytes() == wanted.tobytes(), f"mesh, {dtype}: off by {np.abs(found - wanted).max()}")
            check(np.abs(found - whole).max() > 0, f"mesh, {dtype}: the map changes nothing")


def peers():
    """The pixels above the threshold are those of sep's matched filter."""
    if not sep:
        return
    h = np.exp(-0.5 * (np.arange(-7, 8)[:, None]**2 + np.arange(-7, 8)**2) / 2.5**2)
    sigma = (0.5 + 1.5 * random.random((400, 300))).astype("f4")
    x = (random.standard_normal(sigma.shape) * sigma).astype("f4")
    for _ in range(60):
        i, j = random.integers(0, 385), random.integers(0, 285)
        x[i:i + 15, j:j + 15] += (30 * h * random.random()).astype("f4")
    with tempfile.TemporaryDirectory() as work:
        np.save(f"{work}/x.npy", x)
        np.save(f"{work}/s.npy", sigma)
        with h5py.File(f"{work}/h.h5", "w") as file:
            file["h"] = h
        y = run(work, "--input", f"{work}/x.npy", "--noise-map", f"{work}/s.npy")[0]["convolved"]
    _, marked = sep.extract(x, 4.0, err=sigma, filter_kernel=h.astype("f4"), filter_type="matched", minarea=1, deblend_cont=1.0,
                            clean=False, segmentation_map=True)
    differ = ((marked > 0) != (y > 4)) & (np.abs(y - 4) > 1e-4)
    check(not differ.any() and (y > 4).sum() > 500, f"sep: {differ.sum()} of {(y > 4).sum()} pixels above the threshold differ")


for part in (kinds, empty, bits, peaks, names, files, again, errors, mesh, peers):
    if os.environ.get("LW_MAPS_PART", part.__name__) == part.__name__:
        part()
finish()
