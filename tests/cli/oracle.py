"""The program against an independent oracle: numpy.pad and numpy.convolve in double precision, end to end through files.

    oracle.py LAPWING MPIEXEC

Each case makes an input file as h5py writes it, runs the program, mostly on one rank (LW_TEST_ALL: 1 to 4 in turn, and all
cases), and compares /filtered. The tolerance is the first term of the bound that jobs/README.md guarantees, since the taps
have random signs. For each filter the rms error is at most 5e-8 log2(2N) rms(x) |h| in single precision and 1e-16 log2(2N)
rms(x) |h| in double. N is the segment length, or 65536 if the case does not set it. Integer results may differ by one where
rounding differs, and only in few places. Results of float16 lose another 2^-11 of each number; numpy gives the same for all
float16 numbers and for numbers between them."""

import os
import tempfile

from tested import ALL, as_arguments, check, convolve, finish, from_halves, lapwing, noise, numbers_of_ranks

import h5py
import numpy as np

ranks = numbers_of_ranks(1, 2, 3, 4, few=(1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 3))


def expected(x, filters, axis, mode, boundary, correlate):
    """The expected result: [filter,] and the input's shape."""
    def one(h):
        return np.apply_along_axis(convolve, axis, x, np.conj(h[::-1]) if correlate else h, mode, boundary)
    return one(filters) if filters.ndim == 1 else np.stack([one(h) for h in filters])


def run(work, name, input_name, filters_name, options):
    output = os.path.join(work, "out.h5")
    if lapwing(next(ranks), "ols", "--input", input_name, "--filters", filters_name, "--output", output, "--overwrite",
               "--quiet", *as_arguments(options)).returncode:
        return None
    with h5py.File(output) as file:
        return file["filtered"][()], dict(file["filtered"].attrs), dict(file.attrs)


def compare(name, found, wanted, x, filters, options):
    if options.get("output_type") == "float16":
        found = from_halves(name, found) * options.get("output_scale", 1)
    check(found.shape == wanted.shape, f"{name}: shape {found.shape}, expected {wanted.shape}")
    check(np.iscomplexobj(found) == np.iscomplexobj(wanted), f"{name}: type {found.dtype}")
    if found.shape != wanted.shape:
        return
    if found.dtype.kind in "iu":
        limits = np.iinfo(found.dtype)
        rounded = np.clip(np.rint(wanted / options.get("output_scale", 1)), limits.min, limits.max)
        off = np.abs(found.astype(float) - rounded)
        check(off.max() <= 1 and np.mean(off) < 1e-3, f"{name}: integers are off by {off.max()}, {np.mean(off)} on average")
        return
    unit = 1e-16 if options.get("precision") == "double" else 5e-8
    length = options.get("segment", 65536)
    rms_x = np.sqrt(np.mean(np.abs(x.astype(complex)) ** 2))
    for f, h in enumerate(np.atleast_2d(filters)):
        planes = (found, wanted) if filters.ndim == 1 else (found[f], wanted[f])
        same_nan = np.array_equal(np.isnan(planes[0]), np.isnan(planes[1]))
        check(same_nan, f"{name}: filter {f}: not-a-number in other places: {np.isnan(planes[0]).sum()}, "
                              f"expected {np.isnan(planes[1]).sum()}")
        error = np.sqrt(np.nanmean(np.abs(planes[0].astype(complex) - planes[1]) ** 2))
        bound = unit * np.log2(2 * length) * rms_x * np.linalg.norm(h)
        if options.get("output_type") == "float16":
            bound += 2 ** -11 * np.sqrt(np.nanmean(np.abs(planes[1]) ** 2))
        if found.dtype.itemsize // (2 if np.iscomplexobj(found) else 1) == 4:       # stored as float32
            bound += 6e-8 * np.sqrt(np.nanmean(np.abs(planes[1]) ** 2))
        check(error <= bound, f"{name}: filter {f}: rms error {error:.3g} is above {bound:.3g}")


def write(path, name, data, storage):
    """Store with the given dtype (byte order), chunks and compression, or names of the fields of a complex compound."""
    with h5py.File(path, "a") as file:
        if "fields" in storage:
            part = np.dtype("f8" if data.dtype.itemsize == 16 else "f4")
            compound = np.empty(data.shape, [(field, part) for field in storage["fields"]])
            compound[storage["fields"][0]], compound[storage["fields"][1]] = data.real, data.imag
            data = compound
        if "order" in storage:
            data = data.astype(data.dtype.newbyteorder(storage["order"]))
        extra = {key: storage[key] for key in ("chunks", "compression", "shuffle") if key in storage}
        file.create_dataset(name, data=data, **extra)


def case(name, shape=(1000,), dtype="f4", taps=(3, 33), taps_dtype="f8", axis=0, storage=None, spoil=None, select=None,
         **options):
    """@param spoil samples that become NaN @param select the samples that --start, --count and --channels select"""
    x, filters = noise(shape, dtype), noise(taps, taps_dtype)
    if spoil is not None:
        x[spoil] = np.nan
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "in.h5")
        write(path, "deep/signal", x, storage or {})
        write(path, "taps", filters, {})
        if len(shape) == 2 and 1 not in shape:
            options["axis"] = axis
        result = run(work, name, f"{path}:/deep/signal", f"{path}:/taps", options)
    if result is None:
        return
    if "output_scale" in options:
        packing = [result[1].get(name) for name in ("scale_factor", "add_offset")]
        check(packing == [options["output_scale"], 0], f"{name}: scale_factor and add_offset are {packing}")
    wide = x.astype(complex if np.iscomplexobj(x) else float)
    wide = wide[select] if select is not None else wide
    if options.get("nan") == "zero":
        wide = np.nan_to_num(wide, nan=0.0)
    wanted = expected(wide, filters, axis, options.get("mode", "same"), options.get("boundary", "zero"),
                      options.get("correlate", False))
    compare(name, result[0], wanted, np.nan_to_num(wide), filters, options)


def modes_and_boundaries():
    boundaries = ("zero", "edge", "wrap", "reflect")
    for n, m, its in ((1000, 33, boundaries), (1000, 64, boundaries[::2]), (40, 61, boundaries[1::2]), (7, 40, boundaries)):
        case(f"full {n} {m}", (n,), taps=(2, m), mode="full")
        for boundary in boundaries if ALL else its:
            case(f"same {boundary} {n} {m}", (n,), taps=(2, m), mode="same", boundary=boundary)
    for n, m in ((1000, 33), (1000, 64), (64, 64)):
        case(f"valid {n} {m}", (n,), taps=(2, m), mode="valid")
    for n, m in ((1, 1), (1, 5), (2, 1), (3, 2)):
        case(f"full {n} {m}", (n,), taps=(m,), mode="full")
        case(f"same {n} {m}", (n,), taps=(m,), mode="same", boundary="reflect")


def real_and_complex():
    for number, (signal, filters) in enumerate((("f4", "c16"), ("c8", "f8"), ("c16", "c16"), ("c8", "c8"))):
        for correlate in (False, True) if ALL else (number % 2 == 1,):
            options = {"correlate": True} if correlate else {}
            case(f"{signal} with {filters} {options}", (700,), signal, (2, 40), filters, mode="full", precision="double",
                 **options)
    case("real correlation", (700,), "f8", (40,), mode="same", correlate=True)


def types_and_storage():
    for number, dtype in enumerate(("i1", "u1", "i2", "u2", "i4", "f4", "f8")):
        if ALL or number < 3 or number == 5:
            case(f"{dtype} [channel x time]", (3, 500), dtype, axis=1)
        if ALL or number > 2:
            case(f"{dtype} big endian [time x channel]", (500, 5), dtype, storage={"order": ">"})
    case("complex {re, im}", (600,), "c8", storage={"fields": ("re", "im")})
    case("complex {real, imag}", (600,), "c16", storage={"fields": ("real", "imag")}, precision="double")
    case("big-endian complex", (600, 2), "c16", storage={"order": ">"}, precision="double")
    case("compressed", (3, 5000), "i2", axis=1, storage={"chunks": (2, 700), "compression": "gzip", "shuffle": True})
    case("chunked, time slow", (5000, 3), "u1", storage={"chunks": (640, 2)})
    case("row", (1, 800), "f4", axis=1)
    case("column", (800, 1), "f4", axis=0)


def outputs():
    case("double", (2, 900), "f4", axis=1, precision="double")
    case("double to float32", (900,), "f8", precision="double", output_type="float32")
    case("single to float64", (900,), "f4", output_type="float64")
    case("int16 saturated", (900, 2), "i2", taps=(2, 9), output_type="input")
    case("uint8 saturated", (900, 2), "u1", taps=(2, 9), output_type="uint8", mode="full")
    case("int8 scaled", (900, 2), "f4", taps=(2, 9), output_type="int8", output_scale=0.05)
    case("int16 scaled", (3, 900), "i2", axis=1, output_type="int16", output_scale=37.5, mode="valid")
    case("float16", (900, 2), "f4", taps=(2, 9), output_type="float16", spoil=np.s_[::400, 1])
    case("complex float16", (900,), "c8", taps=(2, 40), output_type="float16", output_scale=1e-3, mode="full", spoil=[77])
    case("float16 of channels", (3, 900), "f8", axis=1, output_type="float16", precision="double")


def nearest_halves(x):
    with np.errstate(over="ignore"):
        return np.clip(x.astype("f2"), np.float16(-65504), np.float16(65504))


def halves():
    """All float16 numbers, the midpoints between neighbours, and the numbers next to the midpoints: numpy rounds alike. Beyond
    the largest number lapwing stores the largest and counts it; numbers that are not finite become NaN."""
    steps = np.append(np.arange(0x7c00, dtype="u2").view("f2").astype(float), 65536)
    middle = (steps[:-1] + steps[1:]) / 2
    for dtype, options in (("f4", {}), ("f8", {"precision": "double"}), ("c8", {"output_scale": 2.0 ** -60})):
        part = np.dtype(dtype.replace("c8", "f4")).type
        beside = [np.nextafter(middle.astype(part), part(limit)).astype(float) for limit in (0, np.inf)]
        x = np.concatenate([steps[:-1], middle, *beside, [65520, 1e6, np.inf, np.nan]])
        x = np.concatenate([x, -x])
        signal = np.empty(len(x), dtype)
        signal.real = x * options.get("output_scale", 1)
        parts = [x]
        if signal.dtype.kind == "c":
            signal.imag = signal.real[::-1]
            parts = [x, x[::-1]]
        good = np.isfinite(signal)
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "in.h5")
            with h5py.File(path, "w") as file:
                file["x"], file["one"] = signal, np.ones(1)
            result = run(work, "halves", f"{path}:/x", f"{path}:/one", {"output_type": "float16", **options})
        if result is None:
            continue
        found = from_halves(f"halves {dtype}", result[0])
        for got, value in zip((found.real, found.imag), parts):
            wanted = np.where(good, nearest_halves(value), np.nan)
            wrong = np.flatnonzero((got != wanted) & ~(np.isnan(got) & np.isnan(wanted)))
            check(len(wrong) == 0, f"halves {dtype}: {len(wrong)} differ from numpy's: {value[wrong[:5]]} became {got[wrong[:5]]}")
        n_beyond = sum(int((np.abs(value[good]) >= 65520).sum()) for value in parts)
        about = result[2]
        n_said = about.get("samples_saturated")
        check(n_said == n_beyond, f"halves {dtype}: {n_said} of {n_beyond} saturated")
        check("samples_nan_stored_as_zero" not in about, f"halves {dtype}: an attribute reports NaN stored as zero")


def pieces():
    case("piece", (3, 5000), "f4", axis=1, select=np.s_[:, 100:3100], start=100, count=3000, mode="full", isolated=True)
    case("channels", (9, 600), "f4", axis=1, select=np.s_[1:8:3, :], channels="1:8:3")
    case("channels, time slow", (600, 9), "i2", select=np.s_[7:, ::2], channels="0:9:2", start=7, isolated=True)
    case("split channels", (9, 600), "f4", axis=1, split="channels")
    case("split channels, time slow", (600, 9), "f4", split="channels", boundary="wrap")
    case("split axis", (9, 600), "f4", axis=1, split="axis", segment=128)
    case("segment", (20000,), "f4", taps=(2, 100), segment=256)
    case("long segments", (20000,), "f4", taps=(2, 3000), segment=16384, boundary="wrap")
    case("many filters", (3000,), "f4", taps=(37, 20))


def not_finite():
    case("NaN", (4000,), "f4", taps=(2, 65), spoil=[0, 1000, 1001, 2500, 3999], segment=256)
    case("NaN, paired channels", (4, 1500), "f4", taps=(65,), axis=1, spoil=np.s_[1, ::400], mode="full")
    case("NaN, complex", (2000,), "c8", taps=(2, 30), taps_dtype="c16", spoil=[77, 1500], mode="valid")
    case("NaN reflected", (300,), "f8", taps=(65,), spoil=[3, 299], boundary="reflect", precision="double")
    case("NaN as zero", (2000,), "f4", taps=(2, 30), spoil=[77, 1500], nan="zero")


def description():
    """Sampling is carried over, and the result describes itself."""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "in.h5")
        with h5py.File(path, "w") as file:
            file["x"] = noise((400, 3), "f4")
            file["x"].dims[0].label, file["x"].dims[1].label = "time", "channel"
            file["x"].attrs["sample_rate"] = 500.0
            file["x"].attrs["start_time"] = 1126259446
            file["x"].attrs["start_unit"] = "GPS second"
            file["taps"] = noise((11,), "f8")
        result = run(work, "description", f"{path}:/x", f"{path}:/taps", {"mode": "valid", "start": 100})
    if result is None:
        return
    _, about, root = result
    for key, value in (("sample_rate_hz", 500), ("start_time", 1126259446 + 100 / 500), ("start_unit", "GPS second"),
                       ("mode", "valid")):
        found = about.get(key)
        found = found.decode() if isinstance(found, bytes) else found
        check(found == value, f"description: {key} is {found}, expected {value}")
    for key in ("version", "commit", "command_line", "configuration", "mpi", "hdf5", "ranks", "start_time_utc", "end_time_utc"):
        check(key in root, f"description: the file lacks the attribute {key}")


for part in (modes_and_boundaries, real_and_complex, types_and_storage, outputs, halves, pieces, not_finite, description):
    part()
finish()
