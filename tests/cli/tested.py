"""Shared functions of the tests in Python: their requirements, counted checks, the program on several ranks, a signal beyond its
ends. A test is called as TEST LAPWING MPIEXEC [FOLDER with real data]."""

import itertools
import math
import os
import re
import subprocess
import sys

import h5py     # noqa: F401  (whoever imports this module may rely on it)
import numpy as np

LAPWING, MPIEXEC = sys.argv[1:3]
ALL = bool(os.environ.get("LW_TEST_ALL"))       # also the cases that take paths of others (tests/README.md)
random = np.random.default_rng(1)
cuts = itertools.cycle([1, 2, 3, 4, 5, 8] if ALL else [3, 0, 2, 0, 0])      # 0: none
n_checks = n_failed = 0


def check(good, text):
    global n_checks, n_failed
    n_checks += 1
    if not good:
        n_failed += 1
        if n_failed <= 20:
            print("failed:", text, file=sys.stderr)
    return bool(good)


def finish():
    print(f"{os.path.basename(sys.argv[0])}: {n_checks} checks, {n_failed} failed")
    sys.exit(1 if n_failed or not n_checks else 0)


# Options that are part of another option's value, and their names there.
WITHIN = {"cluster-filters": ("cluster", "filters"), "cluster-trials": ("cluster", "trials="), "cluster-kernels": ("cluster", "kernels"), "noise-every": ("noise", "every="), "whiten-band": ("whiten", "band="),
          "part": ("each", "part="), "raw": ("format", "raw="), "output-scale": ("output-type", "scale="),
          "good-data": ("mask", "good-data="), "baseline": ("boxcar", "baseline="), "max-peaks": ("threshold", "max-peaks="),
          "allow-mixed": ("engine", "allow-mixed"), "share-gpu": ("engine", "share-gpu")}


def as_typed(words):
    """The command line and the environment for tests that give such options by themselves: --cluster 5 --cluster-filters becomes
    --cluster 5,filters. --io-threads becomes the environment variable for tests."""
    rest, typed, parts, environment = [str(word) for word in words], [], {}, dict(os.environ)
    while rest:
        word = rest.pop(0)
        if word.startswith("--") and "=" in word and (word[2:].split("=")[0] in WITHIN or word.startswith("--io-threads=")):
            word, value = word.split("=", 1)
            rest.insert(0, value)
        if word == "--io-threads":
            environment["LAPWING_IO_THREADS"] = rest.pop(0)
        elif word.startswith("--") and word[2:] in WITHIN and typed[:1] != ["filters"]:
            owner, part = WITHIN[word[2:]]
            parts.setdefault(f"--{owner}", []).append(part + (rest.pop(0) if part.endswith("=") else ""))
        else:
            typed.append(word)
    for owner, those in parts.items():
        at = max((i for i, word in enumerate(typed) if word == owner or word.startswith(f"{owner}=")), default=-1)
        if at < 0:
            typed += [owner, ",".join(those)]
        else:
            at += typed[at] == owner
            typed[at] = ",".join([typed[at], *those])
    return typed, environment


def numbers_of_ranks(*numbers, few=(1, 1, 2, 1, 3)):
    """Numbers of ranks by turns: these with LW_TEST_ALL, and otherwise `few`, mostly one, since to start ranks takes most of a
    test's time."""
    return itertools.cycle(numbers if ALL else few)


def further_cuts(thorough, ways):
    """Ways to cut a job's work, (ranks, split), by which the result must be the same; without LW_TEST_ALL some of them.
    @param thorough whether that is tried in all ways, or by one number of ranks"""
    if thorough:
        return ways if ALL else ways[1::3]
    number = next(cuts)
    return [(number, "axis")] if number else []


def lapwing(ranks, *arguments, code=0):
    """Run the program, which must end with `code`. A single rank needs no mpirun."""
    typed, environment = as_typed(arguments)
    command = [*([MPIEXEC, "-np", str(ranks)] if ranks > 1 else []), LAPWING, *typed]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    check(done.returncode == code, f"{' '.join(command)} ends with {done.returncode}, not {code}: {done.stderr}")
    check(all(int(share) <= 100 for share in re.findall(r"for (\d+)% of it", done.stderr)), f"busy longer than it ran: {done.stderr}")
    return done


def needed_memory(said):
    """The least --memory, from the message that refuses less."""
    needed = re.search(r"needs (\d+)[.\d]* MiB", said)
    check(needed, f"memory: the message does not name the needed memory: {said}")
    return f"{int(needed.group(1)) + 3 if needed else 1000}M"


def as_arguments(options):
    """{"nan": "zero", "output_type": "input", "correlate": True} as words of the command line."""
    return [word for key, value in options.items()
            for word in [f"--{key.replace('_', '-')}"] + ([] if value is True else [value])]


def data_path(name):
    """Path of a file in the folder that LAPWING_DATA names, or else in FOLDER; the file may not exist."""
    return os.path.join(os.environ.get("LAPWING_DATA") or (sys.argv[3] if len(sys.argv) > 3 else ""), name)


def real_data(*names):
    """Paths of these files; the test is skipped if one is missing."""
    paths = [data_path(name) for name in names]
    absent = [name for name, path in zip(names, paths) if not os.path.isfile(path)]
    if absent:
        print(f"skipped: no real data: {', '.join(absent)} not found; LAPWING_DATA names their folder")
        sys.exit(77)
    return paths


def noise(shape, dtype):
    """Samples that use most of a type's range; unsigned ones lie around its middle."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        middle = 0 if dtype.kind == "i" else 2 ** (8 * dtype.itemsize - 1)
        scale = 2.0 ** (8 * dtype.itemsize - 4)
        return np.clip(middle + scale * random.standard_normal(shape), np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
    x = random.standard_normal(shape)
    return (x + 1j * random.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def from_halves(name, found):
    """A float16 result in double precision; h5py has no complex numbers of two halves."""
    halves = [found[part] for part in found.dtype.names] if found.dtype.names else [found]
    check(all(half.dtype == np.dtype("<f2") for half in halves), f"{name}: {found.dtype} is not float16")
    check(found.dtype.names in (None, ("re", "im")), f"{name}: the parts are {found.dtype.names}")
    wide = np.empty(found.shape, complex if len(halves) == 2 else float)
    wide.real = halves[0]
    if len(halves) == 2:
        wide.imag = halves[1]
    return wide


def beyond(boundary, n, width):
    """The indices of the samples at -width .. n + width - 1 of a signal of n samples continued beyond its ends; -1: outside."""
    i = np.arange(-width, n + width)
    if boundary == "edge":
        return np.clip(i, 0, n - 1)
    if boundary == "wrap":
        return i % n
    if boundary == "reflect":
        i = i % (2 * n)
        return np.where(i < n, i, 2 * n - 1 - i)
    return np.where((i >= 0) & (i < n), i, -1)


def pad(x, width, boundary):
    """numpy.pad of one axis. Before numpy 1.25 it does not wrap correctly by more than the signal's length."""
    index = beyond(boundary, len(x), width)
    padded = np.where(index < 0, 0, x[index])
    if width <= len(x):
        mode = {"zero": "constant", "reflect": "symmetric"}.get(boundary, boundary)
        assert np.array_equal(padded, np.pad(x, width, mode=mode), equal_nan=True)
    return padded


def convolve(x, h, mode, boundary):
    """One channel with one filter."""
    taps = len(h)
    full = np.convolve(pad(x, taps - 1, boundary), h, "valid") if taps > 1 else x * h[0]
    assert len(full) == len(x) + taps - 1
    if mode == "same":
        return full[(taps - 1) // 2:][:len(x)]
    return full if mode == "full" else full[taps - 1:len(x)]


def read_products(file):
    """The data of a result by name, without coordinates and without the columns of tables."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and item.attrs.get("CLASS") != b"DIMENSION_SCALE" and "_columns/" not in name:
            found[name] = item[()]
    file.visititems(visit)
    return found


def same(a, b):
    """Whether two results, with their arrays in `data`, are equal bit by bit."""
    return set(a.data) == set(b.data) and all(a.data[k].tobytes() == b.data[k].tobytes() for k in a.data)


def clipped(y):
    """The noise of the values by the definition of --noise measured, which ignores sign and phase."""
    sizes, power = np.abs(y).ravel(), np.iscomplexobj(y)
    unit = np.sqrt(1 - 4 / np.expm1(4)) if power else np.sqrt(1 - 4 * np.exp(-2) / np.sqrt(2 * np.pi) / math.erf(np.sqrt(2)))
    sigma = np.median(sizes) / (np.sqrt(np.log(2)) if power else 0.6744897501960817)
    for _ in range(60):
        sigma = np.sqrt(np.mean(sizes[sizes < 2 * sigma] ** 2)) / unit
    return sigma


def quiet_threshold(snr, part):
    """A threshold that about this part of the outputs reach, in the middle of a gap."""
    values = np.sort(snr[np.isfinite(snr)].ravel())[::-1]
    if len(values) == 1:
        return 0.9 * float(values[0]), 1.0
    at = max(1, int(part * len(values)))
    last = min(len(values) - 1, at + 200)
    gaps = values[at - 1:last] / values[at:last + 1] if last > at - 1 else np.array([2.0])
    best = at - 1 + int(np.argmax(gaps))
    return float(np.sqrt(values[best] * values[min(best + 1, len(values) - 1)])), float(gaps.max() - 1)


def friends(crossings, width, channels, filters):
    """The clusters of crossings (index, channel, filter, ...), each a list of them. Chains of neighbours are a cluster: crossings within
    `width` outputs and `channels` channels, of one filter or, if `filters`, of any."""
    rows, clusters = sorted(crossings), {}
    parent = list(range(len(rows)))

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i
    for i, (index, channel, f, *_) in enumerate(rows):
        k = i - 1
        while k >= 0 and index - rows[k][0] <= width:
            if abs(rows[k][1] - channel) <= channels and (filters or rows[k][2] == f) and root(k) != root(i):
                parent[root(i)] = root(k)
            k -= 1
    for i, row in enumerate(rows):
        clusters.setdefault(root(i), []).append(row)
    return list(clusters.values())
