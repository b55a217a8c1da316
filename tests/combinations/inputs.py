"""Random input files of any kind, and shared functions of the random jobs.

Each job is a class: `arguments` and `options` of the command line, the samples `x` as the program sees them, and the `kind` of
input. check(path) lists the errors of a result, by numpy."""

import os

import h5py
import numpy as np

RAW_NAMES = {"i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32", "f4": "float32", "f8": "float64",
             "c8": "complex-float32", "c16": "complex-float64"}


def pick(rng, *values):
    return values[rng.integers(len(values))]


def noise(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        middle = 0 if dtype.kind == "i" else 2.0 ** (8 * dtype.itemsize - 1)
        x = middle + 2.0 ** (8 * dtype.itemsize - 4) * rng.standard_normal(shape)
        return np.clip(np.rint(x), limits.min, limits.max).astype(dtype)
    scale = 10.0 ** pick(rng, 0, 0, 0, 0, -12, 6)
    x = scale * (rng.standard_normal(shape) + pick(rng, 0, 0, 0, 3))
    return (x + 1j * scale * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def spoil(rng, x):
    """Make some samples not finite."""
    flat = x.reshape(-1)
    for i in rng.choice(flat.size, min(flat.size, int(pick(rng, 1, 2, 9))), False):
        flat[i] = pick(rng, np.nan, np.inf, -np.inf)


def as_number(x):
    return x.astype(complex if x.dtype.kind == "c" else float)


def not_finite(x, precision):
    """Which samples are not finite, those included that the computing precision cannot represent."""
    with np.errstate(all="ignore"):
        return ~np.isfinite(x.astype("c8" if np.iscomplexobj(x) else "f4") if precision == "single" else x)


def rms(x):
    return float(np.sqrt(np.mean(np.abs(x) ** 2))) if np.size(x) else 0.0


def numbers_of(dataset):
    """A result's numbers, complex numbers of halves included, and the type of their parts."""
    found = dataset[()]
    if not found.dtype.names:
        return found, np.dtype(found.real.dtype)
    wide = np.empty(found.shape, complex)
    wide.real, wide.imag = (found[part] for part in found.dtype.names)
    return wide, found.dtype[0]


def saturated(values, scale, kind):
    """The values as integers or halves store them."""
    values = values / scale
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return np.clip(values.real, limits.min, limits.max)
    if kind.itemsize > 2:
        return values
    parts = np.clip(values.real, -65504, 65504)
    return parts + 1j * np.clip(values.imag, -65504, 65504) if np.iscomplexobj(values) else parts


def random_output_type(rng, x, is_real):
    """Options of the output type; complex halves are stored as pairs, integers only hold real numbers."""
    scale = float(10.0 ** rng.uniform(-4, 5)) * (1e4 if x.dtype.kind in "iu" else 1)
    chance = rng.random()
    if chance < 0.15:
        return {"output-type": pick(rng, "float32", "float64")}
    if chance < 0.4 and is_real:
        return {"output-type": pick(rng, "int8", "uint8", "int16", "uint16", "int32", "float16"), "output-scale": scale}
    return {"output-type": "float16", "output-scale": scale} if chance < 0.45 else {}


def random_chunks(rng, shape, parts):
    return tuple(int(rng.integers(max(1, length // parts), length + 1)) for length in shape)


def write_dataset(rng, file, x, parts=40):
    """Write a dataset in one of HDF5's layouts."""
    how = pick(rng, "contiguous", "chunked", "gzip", "shuffle", "lzf", "virtual")
    if how == "contiguous":
        file["x"] = x.astype(x.dtype.newbyteorder(">")) if rng.random() < 0.2 else x
    elif how == "virtual":
        file["source"] = x
        layout = h5py.VirtualLayout(x.shape, x.dtype)
        layout[...] = h5py.VirtualSource(file["source"])
        file.create_virtual_dataset("x", layout)
    else:
        filters = {"gzip": {"compression": "gzip"}, "shuffle": {"compression": "gzip", "shuffle": True}, "lzf": {"compression": "lzf"}}
        file.create_dataset("x", data=x, chunks=random_chunks(rng, x.shape, parts), fletcher32=bool(rng.random() < 0.3),
                            **filters.get(how, {}))


def write_npy(rng, folder, x):
    path = os.path.join(folder, "in.npy")
    np.save(path, np.asfortranarray(x) if rng.random() < 0.5 else x)
    return [path], x, {}


def write_raw(rng, folder, x, axis):
    path, is_big, offset = os.path.join(folder, "in.raw"), rng.random() < 0.4, int(pick(rng, 0, 1, 7, 512))
    with open(path, "wb") as file:
        file.write(b"\xff" * offset + x.astype(x.dtype.newbyteorder(">" if is_big else "<")).tobytes())
    channels = 1 if x.ndim == 1 else x.shape[1 - axis]
    order = "time-fast" if x.ndim == 1 or axis == 1 else "time-slow"
    name = RAW_NAMES[x.dtype.str[1:]] + ("be" if is_big else "")
    return [path], x if channels > 1 else x.reshape(-1), {"raw": f"{name},{channels},{order},{offset}"}


def write_joined(rng, folder, x, axis, rate, has_gaps):
    """Write several files that overlap and have gaps between them, in any order."""
    n = x.shape[axis]
    cuts = sorted({0, n, *rng.integers(1, max(n, 2), int(rng.integers(1, 6))).tolist()})
    have, names = np.zeros(n, bool), []
    for number, (begin, end) in enumerate(zip(cuts[:-1], cuts[1:])):
        begin = max(0, begin - int(rng.integers(0, 20))) if rng.random() < 0.3 and begin > 0 else begin
        if has_gaps and end != n and rng.random() < 0.6:
            end = max(begin + 1, end - int(rng.integers(0, 30)))
        have[begin:end] = True
        path = os.path.join(folder, f"part{number}.h5")
        names.append(path + ":/x")
        with h5py.File(path, "w") as file:
            write_dataset(rng, file, np.take(x, np.arange(begin, end), axis))
            file["x"].attrs.update({"sample_rate_hz": float(rate), "start_time": begin / rate,
                                    "start_unit": "s since 2023-01-01T00:00:00"})
    rng.shuffle(names)
    if have.all():
        return names, x, {}
    gaps = pick(rng, "split", "zero")
    if gaps != "zero":
        x = x.astype({"i4": "f8", "f8": "f8", "c8": "c8", "c16": "c16"}.get(x.dtype.str[1:], "f4"))
    x = x.copy()
    x[~have if axis == 0 else np.s_[:, ~have]] = 0 if gaps == "zero" else np.nan * (1 + 1j) if x.dtype.kind == "c" else np.nan
    return names, x, {"gaps": gaps}


def write_input(rng, folder, x, axis, rate, kind):
    """Write files for a series x, time along `axis`. @return names, x as the program sees it, and options for these files"""
    if kind == "npy":
        return write_npy(rng, folder, x)
    if kind == "raw":
        return write_raw(rng, folder, x, axis)
    if kind != "h5":
        return write_joined(rng, folder, x, axis, rate, kind == "gaps")
    path = os.path.join(folder, "in.h5")
    with h5py.File(path, "w") as file:
        write_dataset(rng, file, x)
        file["x"].attrs["sample_rate_hz"] = float(rate)
    return [path + ":/x"], x, {}


def random_window(rng, n):
    """Options for a part of n samples that is convolved by itself, and the part."""
    first = int(rng.integers(0, n))
    count = int(rng.integers(1, n - first + 1)) if rng.random() < 0.7 else n - first
    return {"start": first, "count": count, "isolated": True}, slice(first, first + count)


def signed(y, dataset):
    """Which outputs may be peaks of a result, by their sign."""
    sign = dataset.attrs.get("sign", "both")
    return {"positive": y.real > 0, "negative": y.real < 0}.get(sign.decode() if isinstance(sign, bytes) else sign, np.ones(y.shape, bool))


def write_operand(folder, name, values):
    """Write filters or a kernel. @return the name to give to the program"""
    path = os.path.join(folder, name + ".h5")
    with h5py.File(path, "w") as file:
        file[name] = values
    return f"{path}:/{name}"
