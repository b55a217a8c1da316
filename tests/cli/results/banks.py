"""Banks of filters that a rank does not hold at once: the same bytes for any memory, any number of ranks and any way to share the work.
By default most cases run on one number of ranks, with LW_TEST_ALL on all.

    banks.py LAPWING MPIEXEC [FOLDER [ENGINE CASE...]]      one engine, the named ones of the cases only"""

import functools
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tested import ALL, LAPWING, MPIEXEC, as_typed, check, finish, h5py, np, random  # noqa: E402

ENGINE = sys.argv[4] if len(sys.argv) > 4 else "cpu"
WANTED = sys.argv[5:]
LIMIT = "--memory" if ENGINE == "cpu" else "--gpu-memory"
F, M, N = (34, 801, 16000) if ENGINE == "cpu" else (33, 9001, 12000)      # device memory comes in pages of 2 MiB


def make(path):
    with h5py.File(path, "w") as file:
        signal = random.standard_normal((3, N)).astype("f4")
        signal[1, 11000:11010] = signal[2, 2] = np.nan
        file["signal"], file["slow"] = signal, np.ascontiguousarray(signal.T)
        file["int16"] = np.round(1000 * random.standard_normal((2, N))).astype("i2")
        file["bank"] = random.standard_normal((F, M)).astype("f4")
        file["bad"] = np.where(np.arange(F * M).reshape(F, M) == 20 * M + 7, np.inf, 1).astype("f4")
        file.create_dataset("packed_bank", data=random.standard_normal((F, M)).astype(">f8"), chunks=(4, 500), compression="gzip")
        file["complex"] = (random.standard_normal((F, M)) + 1j * random.standard_normal((F, M))).astype("c8")
        file["brief"] = (random.standard_normal((F, 301)) + 1j * random.standard_normal((F, 301))).astype("c8")
        file["cube"] = random.standard_normal((F, 3, 301)).astype("f4")
        file["delays"] = random.integers(-40, 90, (F, 3)).astype("i4")
        file["mask"] = (np.arange(N) % 1500 < 300).astype("u1")
        file["series"] = random.standard_normal(N)
        file["series"].attrs["sample_rate_hz"] = 4096.0


def cases(path):
    def ols(signal, bank, axis, *more):
        return ["ols", "--input", f"{path}:/{signal}", "--axis", axis, "--filters", f"{path}:/{bank}", "--threads", "1", *more]
    search = ["--threshold", "3.5", "--cluster", "30"]
    clusters = ["--noise", "energy", "--threshold", "2.2", "--cluster-filters"]
    return {
        "all": ols("signal", "bank", 1, "--products", "filtered,peaks,blocks,best", "--noise", "energy", *search, "--blocks", "100", "--checksum"),
        "measured": ols("int16", "bank", 1, "--products", "peaks,best", "--noise", "measured", *search, "--correlate"),
        "clusters": ols("int16", "complex", 1, *clusters, "--products", "peaks", "--cluster", "25"),
        "near": ols("slow", "packed_bank", 0, *clusters, "--split", "filters", "--products", "peaks,blocks", "--blocks", "1000:max", "--cluster", "2000"),
        "rms": ols("int16", "packed_bank", 1, "--products", "peaks", "--noise", "rms", *search, "--split", "filters"),
        "slow": ols("slow", "packed_bank", 0, "--products", "filtered,peaks", "--noise", "energy", *search, "--precision", "double"),
        "complex": ols("int16", "complex", 1, "--products", "filtered,best", "--mode", "full", "--sign", "both", "--checksum"),
        "best": ols("slow", "bank", 0, "--products", "best,blocks", "--noise", "energy", "--blocks", "1000:max", "--split", "filters", "--sign", "negative",
                    "--checksum"),
        "strongest": ols("int16", "complex", 1, "--products", "best,peaks", "--noise", "measured", *search, "--split", "filters", "--precision", "double"),
        "joined": ols("int16", "brief", 1, "--products", "best,peaks", "--noise", "energy", *search, "--split", "filters",
                      "--segment", "8192"),
        "stacked": ols("signal", "cube", 1, "--delays", f"{path}:/delays", "--stack", "sum", "--products", "best,peaks", "--noise", "energy", *search,
                       "--segment", "8192"),
        "aligned": ols("slow", "cube", 0, "--delays", f"{path}:/delays", "--stack", "mean", "--normalize", "demeaned", "--products", "best,blocks",
                       "--blocks", "100", "--noise", "given", "--segment", "4096"),
        "thinned": ols("signal", "bank", 1, "--decimate", "16", "--post", "power", "--boundary", "wrap"),
        "whitened": ols("series", "bank", 0, "--whiten", "0.5", "--products", "peaks,filtered", "--noise", "measured", *search),
        "masked": ols("int16", "bank", 1, "--products", "peaks", *search, "--mask", f"{path}:/mask", "--masked-fraction", "0.4"),
        "shared": ols("int16", "bank", 1, "--products", "filtered,peaks,blocks", "--noise", "energy", *search, "--blocks", "1000", "--split",
                      "filters", "--boundary", "reflect"),
    }


def run(ranks, arguments, out, *more):
    launcher = [MPIEXEC, "--oversubscribe", "-np", str(ranks)] if ranks > 1 else []
    words, environment = as_typed([*arguments, "--overwrite", "--output", out, "--engine", ENGINE, *more])
    return subprocess.run([*launcher, LAPWING, *words], capture_output=True, text=True, timeout=300, env=environment)


def data_of(path):
    found = {}
    with h5py.File(path) as file:
        found["samples_not_finite"] = file.attrs["samples_not_finite"]
        file.visititems(lambda name, item: found.update({name: item[()].tobytes()}) if isinstance(item, h5py.Dataset) else None)
    return found


@functools.cache
def expected_of(name, path, out):
    """The data of a run on one rank that holds all filters."""
    limit = os.environ.pop("LAPWING_BANK_BYTES", None)
    done = run(1, cases(path)[name], out)
    if limit:
        os.environ["LAPWING_BANK_BYTES"] = limit
    return data_of(out) if check(done.returncode == 0 and "filters at a time" not in done.stderr, f"{name}: {done.stderr}") else None


@functools.cache
def least_memory(name, ranks, path, out):
    """The bytes of the smallest round, as the message about too little memory names them."""
    arguments = cases(path)[name]
    said = run(ranks, arguments, out, LIMIT, "1M").stderr
    least = re.search(r"the smallest round needs ([0-9.]+) MiB", said)
    check(least, f"no message about memory: {said}")
    return float(least.group(1)) if least else 100.0


def check_case(name, path, out, seen, ways):
    """`ways` has for each number of ranks the memory, as multiples of the least, or 0: no limit."""
    arguments, expected = cases(path)[name], expected_of(name, path, out)
    if expected is None:
        return
    for ranks, tries in ways.items():
        least = least_memory(name, ranks, path, out) if any(tries) else 0
        for more in tries:
            limit = [LIMIT, f"{least * more + 1:.0f}M"] if more else []
            done = run(ranks, arguments, out, *limit)
            if done.returncode == 78 and more:      # what a process takes at its start varies by 1 MiB under a sanitizer
                limit[1] = f"{least * more + 3:.0f}M"
                done = run(ranks, arguments, out, *limit)
            what = f"{name} on {ranks} ranks, {limit}"
            if not check(done.returncode == 0, f"{what}: {done.stderr}"):
                continue
            held = re.search(r"(\d+) filters at a time", done.stderr)
            seen.add(int(held.group(1)) if held else F)
            found = data_of(out)
            other = [key for key in expected if found.get(key) != expected[key]]
            check(not other and found.keys() == expected.keys(), f"{what}: {other} differ")


def check_resumed(name, path, out):
    """A run in groups of filters that ends early, perhaps more than once, goes on to the same bytes."""
    arguments = [1, cases(path)[name], out, LIMIT, f"{least_memory(name, 1, path, out) * 1.02 + 1:.0f}M", "--checkpoint", "0"]
    expected, begin, runs, code = expected_of(name, path, out), time.monotonic(), 0, 75
    check("filters at a time" in run(*arguments).stderr, f"{name}: holds all filters")
    whole = time.monotonic() - begin
    while code == 75 and runs < 20:
        runs += 1
        done = run(*arguments, "--time-limit", f"{runs * whole / 2:.3f}s")
        code = done.returncode
    check(runs > 1 and "continuing the interrupted run" in done.stderr, f"{name}: {runs} runs, not one of which is resumed: {done.stderr}")
    if check(code == 0, f"{name}, resumed: {done.stderr}"):
        check(data_of(out) == expected, f"{name}: a resumed run gives other bytes")


def check_read(path, out, seen):
    """Banks that the ranks do not hold as they are stored: the groups are read as they are needed. A tap that is not finite is found."""
    os.environ["LAPWING_BANK_BYTES"] = "1000"
    for ranks, name in zip(itertools.cycle([3, 1]), ("shared", "near", "thinned", "measured", "rms", "masked", "whitened")):
        check_case(name, path, out, seen, {1: (1.1,), 3: (1.1,)} if ALL else {ranks: (1.1,)})
    for ranks in (1, 2) if ALL else (2,):
        done = run(ranks, ["ols", "--input", path + ":/int16", "--axis", "1", "--filters", path + ":/bad", "--threads", "1"], out)
        check(done.returncode == 65 and "tap 7 of filter 20 in" in done.stderr, f"a bad tap: {done.returncode} {done.stderr}")
    del os.environ["LAPWING_BANK_BYTES"]


def check_refused(path, out):
    done = run(2, ["ols", "--input", path + ":/int16", "--axis", "1", "--filters", path + ":/series", "--split", "filters"], out)
    check(done.returncode == 78 and "there is only one filter" in done.stderr, f"a single filter: {done.returncode} {done.stderr}")


def check_clusters(path, out):
    """Peaks of all filters where every output crosses the threshold, more than are compared at a time; and the bounds on crossings."""
    bank, signal = random.standard_normal((3, 5)), random.standard_normal(150000)
    with h5py.File(path, "a") as file:
        file["short"], file["long"] = bank / np.sqrt((bank ** 2).sum(axis=1, keepdims=True)), signal

    def search(ranks, cluster, threshold="1e-12", *more):
        return run(ranks, ["ols", "--input", path + ":/long", "--filters", path + ":/short", "--products", "peaks,filtered", "--precision", "double",
                           "--noise", "given", "--threshold", threshold, "--cluster", cluster + ",filters"], out, *more)
    width = 40
    done = search(2, str(width), "1e-12", "--split", "filters")
    if check(done.returncode == 0, done.stderr):
        with h5py.File(out) as file:
            size, found = abs(file["filtered"][:]), file["peaks"][:]
        strongest = np.pad(size.max(axis=0), width, constant_values=-1)
        peaks = np.flatnonzero(np.lib.stride_tricks.sliding_window_view(strongest, 2 * width + 1).max(axis=1) == size.max(axis=0))
        near = np.minimum(peaks + width, size.shape[1] - 1) - np.maximum(peaks - width, 0) + 1
        check(np.array_equal(found["index"], peaks) and np.array_equal(found["filter"], size[:, peaks].argmax(axis=0)), "peaks of all filters")
        check(np.array_equal(found["cluster_size"], 3 * near), "clusters of all filters")
    for cluster, threshold, text in (("100000", "1e-12", "131072 neighbouring outputs of channel 0"), ("3", "2,max-peaks=200", "lets 16 times as many wait")):
        done = search(1, cluster, threshold)
        check(done.returncode == 65 and text in done.stderr, f"--cluster {cluster},filters: {done.returncode} {done.stderr}")


def check_auto(path, out):
    """Ranks share a bank that is long beside the signal."""
    words = ["ols", "--input", path + ":/int16", "--axis", "1", "--filters", path + ":/bank"]
    done = subprocess.run([MPIEXEC, "--oversubscribe", "-np", "2", LAPWING, "plan", *words, "--output", out], capture_output=True, text=True,
                          timeout=100)
    check("2, sharing the filters" in done.stdout, f"plan: {done.stdout} {done.stderr}")


MANY = {1: (1.02,), 2: (1.2,), 3: (1.05,), 8: (0,)} if ALL else {1: (1.02,), 3: (1.05,), 5: (0,)}
ON_THREE = ("measured", "rms", "complex", "best", "strongest", "joined", "stacked", "masked")     # also where filters are not shared
with tempfile.TemporaryDirectory() as folder:
    path, out, seen = os.path.join(folder, "in.h5"), os.path.join(folder, "out.h5"), set()
    make(path)
    for name in WANTED or cases(path):
        few = {3: (1.1,)} if name in ON_THREE else {1: (1.02,)}
        if WANTED:
            few = {1: (0, 1.02), 3: (0,)} if ALL else {1: (1.02,), 3: (0,)}
        elif ALL:
            few = {1: (1.02,), 3: (1.1,)}
        check_case(name, path, out, seen, MANY if name in ("all", "near") else few)
        if WANTED and name in ("joined", "stacked"):
            check_resumed(name, path, out)
    check(1 in seen and len(seen) > (2 if WANTED else 4), f"filters at a time: {seen}")
    if not WANTED:
        check_read(path, out, seen)
        check_refused(path, out)
        check_clusters(path, out)
        check_auto(path, out)
finish()
