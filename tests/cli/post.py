"""Derived series (--interpolate, --decimate, --post) against numpy in double precision, end to end through files.

    post.py LAPWING MPIEXEC

The oracle is the definition: numpy.convolve on numpy.pad, y[::D], Lagrange's polynomial through the four samples around a
position (at the ends the nearest four), numpy.gradient. Tolerances, for an rms error of the filtered series of e = 5e-8 log2(2N)
rms(x) |h| (1e-16 in double), N = 65536:
    interpolation   1.7 e: the weights of a cubic through four samples have magnitudes with a sum of at most 1.7
    amplitude       1.1 e
    power           2 |y| e and the rounding of the result
    derivative      e with the derivative's filter h * [1/2, 0, -1/2] in place of h; after interpolation 1.7 e
Single precision adds 6e-8 of the result for its rounding. Results must have the same bits on 1 to 4 ranks, with the axis or the
channels split, and with the least possible memory (LW_TEST_ALL: every result and more cases; otherwise some)."""

import itertools
import os
import re
import tempfile

from tested import ALL, as_arguments, check, convolve, finish, further_cuts, lapwing

import h5py
import numpy as np

random = np.random.default_rng(2)
turns = itertools.cycle([0, 1])


# ---- the oracle -------------------------------------------------------------------------------------------------------------

def interpolate(y, rate):
    if rate == 1:
        return y
    n = len(y)
    order = min(n, 4)
    j = np.arange(rate * (n - 1) + 1)
    begin = np.clip(j // rate - 1, 0, n - order)        # j on a sample: weight 1 there, 0 elsewhere
    weights = [np.prod([(j - (begin + o) * rate) / ((k - o) * rate) for o in range(order) if o != k], axis=0) for k in range(order)]
    out = sum(weights[k] * y[begin + k] for k in range(order))
    out[::rate] = y         # exact also if samples beside one are NaN
    return out


def made(y, post, rate, every):
    y = interpolate(y, rate)[::every]
    if post == "power":
        return np.abs(y) ** 2
    if post == "amplitude":
        return np.abs(y)
    return np.gradient(y) if post == "derivative" else y


def expected(x, filters, axis, options):
    def one(h):
        return np.apply_along_axis(lambda row: made(convolve(row, h, options.get("mode", "same"), options.get("boundary", "zero")),
                                                    options.get("post", "none"), options.get("interpolate", 1), options.get("decimate", 1)),
                                   axis, x)
    return np.stack([one(h) for h in filters])


def bound(wanted, x, h, options):
    """Bound on the rms error of one filter's outputs."""
    post, rate = options.get("post", "none"), options.get("interpolate", 1)
    double = options.get("precision") == "double"
    if post == "derivative" and rate == 1:
        none = np.zeros(options.get("decimate", 1) - 1)
        h = np.convolve(h, [0.5, *none, 0, *none, -0.5])
    error = (1e-16 if double else 5e-8) * np.log2(2 * 65536) * np.sqrt(np.nanmean(np.abs(x) ** 2)) * np.linalg.norm(h)
    size = np.sqrt(np.nanmean(np.abs(wanted) ** 2))
    error *= (1.7 if rate > 1 else 1) * (1.1 if post == "amplitude" else 1)
    if post == "power":
        error *= 2 * np.sqrt(np.nanmean(np.abs(wanted)))
    return error + (2e-16 if double else 6e-8) * size


# ---- running ----------------------------------------------------------------------------------------------------------------

def run(work, n_ranks, options, expect=0):
    output = os.path.join(work, "out.h5")
    done = lapwing(n_ranks, "ols", "--input", f"{work}/in.h5:/x", "--filters", f"{work}/in.h5:/h", "--output", output,
                   "--overwrite", *as_arguments(options), code=expect)
    if done.returncode:
        return None, {}, done.stderr
    with h5py.File(output) as file:
        return file["filtered"][()], {**file.attrs, **file["filtered"].attrs}, done.stderr


def noise(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return random.integers(0, 100, shape).astype(dtype)
    x = random.standard_normal(shape)
    return (x + 1j * random.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def least_memory(work, n_ranks, options):
    """The least --memory in MiB, from the message that refuses less."""
    _, _, said = run(work, n_ranks, {**options, "memory": "1M"}, expect=78)
    needed = re.search(r"needs (\d+)[.\d]* MiB", said)
    check(needed, f"memory: the refusal of 1M does not name the needed memory: {said}")
    return int(needed.group(1)) + 3 if needed else 1000


def same_bits(work, name, found, options, thorough):
    turn = next(turns)
    ways = further_cuts(thorough, list(itertools.product((2, 3, 4), ("axis", "channels")))) if ALL or thorough or turn else []
    for n_ranks, split in ways if ALL or not thorough else [ways[turn]]:
        way = {"split": split, "threads": 1 + n_ranks % 2}
        tight = f"{least_memory(work, n_ranks, {**options, **way})}M" if thorough and n_ranks < 4 else "1G"
        other, _, _ = run(work, n_ranks, {**options, **way, "memory": tight})
        same = other is not None and found.tobytes() == other.tobytes()
        check(same, f"{name}: other bits on {n_ranks} ranks with {way} and {tight}")


def case(name, shape=(1000,), dtype="f4", taps=(2, 33), taps_dtype="f8", axis=0, scale=1.0, spoil=None, thorough=False,
         **options):
    x, filters = (noise(shape, dtype) * np.dtype(dtype).type(scale)), noise(taps, taps_dtype)
    if spoil is not None:
        x[spoil] = np.nan
    with tempfile.TemporaryDirectory() as work:
        with h5py.File(f"{work}/in.h5", "w") as file:
            file["x"], file["h"] = x, filters
        if len(shape) == 2:
            options["axis"] = axis
        found, about, said = run(work, 1, {**options, "threads": 1})
        if found is None:
            return {}, ""
        wide = x.astype(complex if np.iscomplexobj(x) else float)
        wanted = expected(wide, filters, axis, options)
        check(found.shape == wanted.shape, f"{name}: shape {found.shape}, expected {wanted.shape}")
        check(np.iscomplexobj(found) == np.iscomplexobj(wanted), f"{name}: type {found.dtype}")
        if found.shape == wanted.shape:
            for f, h in enumerate(filters):
                wrong = np.flatnonzero(np.isnan(found[f]) != np.isnan(wanted[f]))
                check(len(wrong) == 0, f"{name}: not-a-number in other places: {wrong[:9]}")
                error = np.sqrt(np.nanmean(np.abs(found[f].astype(complex) - wanted[f]) ** 2))
                most = bound(wanted[f], wide, h, options)
                check(error <= most, f"{name}: filter {f}: rms error {error:.3g} is above {most:.3g}")
        same_bits(work, name, found, options, thorough)
        return about, said


# ---- cases ------------------------------------------------------------------------------------------------------------------

def kinds():
    for post, rate in itertools.product(("none", "power", "amplitude", "derivative"), (1, 2, 5)):
        options = {"post": post, "interpolate": rate}
        case(f"complex, time slow {options}", (600, 3), "c8", **options, boundary="wrap", segment=128)
        if post != "none" and rate != 2:
            case(f"complex taps, double {options}", (3, 500), "f8", taps_dtype="c16", axis=1, **options, precision="double",
                 mode="valid")
        if rate == 2:
            case(f"real {options}", (700,), **options, mode="full")
    case("many phases", (300,), interpolate=64, post="derivative")
    for number, (post, every) in enumerate(itertools.product(("none", "power", "amplitude", "derivative"), (2, 7, 96))):
        options = {"post": post, "decimate": every}
        if ALL or number % 2 == 0:
            case(f"complex, time slow {options}", (600, 3), "c8", **options, boundary="wrap", segment=512)
        if ALL or number % 2:
            case(f"real {options}", (3, 701), axis=1, **options, mode="full", output_type="float64" if every == 7 else "float32")
    case("one output", (500,), decimate=10000)
    case("single to float64", (3000,), decimate=5, output_type="float64")


def short():
    for n, (rate, post) in itertools.product((1, 2, 3, 4), ((1, "derivative"), (3, "none"), (3, "derivative"))):
        if n > 1 or post != "derivative":
            case(f"n {n}, rate {rate}, {post}", (n,), taps=(2, 2 + n // 2), interpolate=rate, post=post)
    case("M > n", (40,), taps=(2, 61), post="derivative", mode="full")
    case("M > n, interpolated", (40,), taps=(2, 61), interpolate=4)
    case("M = 1", (500,), taps=(1, 1), post="derivative", interpolate=2)


def types():
    for dtype in ("i1", "u2"):
        case(f"{dtype}", (3, 400), dtype, axis=1, post="power", precision="double")
        case(f"{dtype}, time slow", (400, 20), dtype, post="derivative")
        case(f"{dtype}, interpolated", (400, 5), dtype, interpolate=3)


def not_finite():
    """A non-finite sample makes NaN of exactly the outputs that are NaN in numpy for a series with NaN there. The middle sample
    of a derivative counts, too, which matters to a single tap only."""
    for number, options in enumerate(({"post": "power"}, {"post": "derivative"}, {"interpolate": 3}, {"interpolate": 4, "post": "derivative"},
                                      {"decimate": 9}, {"decimate": 64, "post": "power"})):
        if ALL or number % 3 != 0:
            case(f"NaN {options}", (3000,), taps=(2, 65), spoil=[0, 191, 192, 193, 1500, 2999], segment=256, **options)
        if ALL or number % 3 != 1:
            case(f"NaN at the ends {options}", (300,), taps=(2, 20), spoil=[11, 288], boundary="wrap", **options)
        if ALL or number % 3 != 2:
            case(f"NaN, time slow {options}", (900, 4), "c8", taps=(2, 30), spoil=np.s_[::400, 1], mode="full", **options)


def tiny():
    """Squares of strain data near 1e-21 are outside float32, but no information is lost: amplitudes are exact, powers are stored
    in float64, and powers in float32 bring a warning and an attribute."""
    for dtype in ("f4", "c8"):
        case(f"tiny amplitude {dtype}", (500,), dtype, scale=1e-21, post="amplitude")
        about, said = case(f"tiny power in float64 {dtype}", (500,), dtype, scale=1e-21, post="power", output_type="float64")
        check(about.get("powers_out_of_range") == 0 and "warning" not in said, f"tiny: an unnecessary warning: {said}")
        case(f"tiny double {dtype}", (500,), "f8" if dtype == "f4" else "c16", scale=1e-21, post="power", precision="double")
    with tempfile.TemporaryDirectory() as work:
        with h5py.File(f"{work}/in.h5", "w") as file:
            file["x"], file["h"] = noise((500,), "f4") * np.float32(1e-21), noise((1, 9), "f8")
        _, about, said = run(work, 1, {"post": "power"})
        check(about.get("powers_out_of_range") == 1, "tiny: the attribute powers_out_of_range is not 1")
        check("--output-type float64" in said, f"tiny: powers beyond float32 bring no warning: {said}")


def bits():
    """Every cut of the work gives the same bits."""
    for options in ({"post": "derivative"}, {"interpolate": 3, "post": "power"}, {"decimate": 6}, {"decimate": 3, "post": "derivative"}):
        case(f"bits {options}", (5, 60000), "f4", taps=(2, 129), axis=1, spoil=np.s_[2, ::9000], thorough=True, **options)


def description():
    """The result has the right shape, sampling and unit."""
    with tempfile.TemporaryDirectory() as work:
        with h5py.File(f"{work}/in.h5", "w") as file:
            file["x"], file["h"] = noise((400,), "f4"), noise((2, 11), "f8")
            for key, value in (("sample_rate", 500.0), ("start_time", 1126259446), ("start_unit", "GPS second"), ("unit", "V")):
                file["x"].attrs[key] = value
        found, about, _ = run(work, 3, {"mode": "valid", "interpolate": 4, "post": "power"})
        check(found is not None and found.shape == (2, 4 * 389 + 1), f"description: shape {found.shape}")
        for key, value in (("sample_rate_hz", 2000), ("start_time", 1126259446 + 5 / 500), ("post", "power"), ("interpolate", 4),
                           ("unit", "(V)^2")):
            text = about.get(key)
            text = text.decode() if isinstance(text, bytes) else text
            check(text == value, f"description: {key} is {text}, expected {value}")
        _, about, said = run(work, 1, {"mode": "valid", "decimate": 8, "output_type": "int16", "output_scale": 0.01})
        for key, value in (("sample_rate_hz", 62.5), ("start_time", 1126259446 + 5 / 500), ("decimate", 8), ("scale_factor", 0.01)):
            check(about.get(key) == value, f"description: {key} is {about.get(key)}, expected {value}")
        check(re.search(r"warning: filter \d+ has \d+(\.\d+)?% of its energy beyond half the new sampling rate", said), f"aliasing: {said}")
        _, _, said = run(work, 2, {"interpolate": 2, "decimate": 2}, expect=2)
        check("exclude" in said, f"description: both rates: {said}")
        _, _, said = run(work, 1, {"interpolate": 65}, expect=2)
        check("65" in said and "64" in said, f"description: the message names no limits: {said}")
        with h5py.File(f"{work}/in.h5", "w") as file:
            file["x"], file["h"] = noise((1,), "f4"), noise((2, 1), "f8")
        _, _, said = run(work, 1, {"post": "derivative"}, expect=78)
        check("derivative" in said and "2" in said, f"description: a derivative of one sample: {said}")


for part in (kinds, short, types, not_finite, tiny, bits, description):
    part()
finish()
