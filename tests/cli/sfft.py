"""The job sfft against numpy.fft, end to end through files, on 1 to 4 ranks: layouts, types, retries, fall-backs, and refused
options. LW_TEST_ALL adds numbers of ranks and signals.

    sfft.py LAPWING MPIEXEC"""

import os
import re
import subprocess
import tempfile

from tested import ALL, LAPWING, MPIEXEC, check, finish, lapwing

import h5py
import numpy as np

random = np.random.default_rng(7)


def call(ranks, *arguments, code=0):
    return lapwing(ranks, *arguments, "--quiet", code=code).stderr


def run(ranks, name, output, *options):
    call(ranks, "sfft", "--input", name, "--output", output, "--overwrite", *options)
    with h5py.File(output) as file:
        return file["spectrum"][()], dict(file["spectrum"].attrs), file["channels"][()]


def oracle(x, k):
    """The k largest coefficients in numpy's order of frequencies, as {index: value}."""
    spectrum = np.fft.rfft(x) if np.isrealobj(x) else np.fft.fft(x)
    return {int(f): spectrum[f] for f in np.argsort(-np.abs(spectrum), kind="stable")[:k]}


def tones(n, frequencies, amplitudes, is_complex):
    spectrum = np.zeros(n, complex)
    for f, a in zip(frequencies, amplitudes):
        spectrum[f] += a
        if not is_complex and f % n:
            spectrum[-f % n] += np.conj(a)
    x = np.fft.ifft(spectrum) * n
    return x if is_complex else x.real


def compare(what, rows, channel, x, k, tolerance, rate=1.0):
    expected = oracle(np.asarray(x, complex if np.iscomplexobj(x) else float), k)
    mine = rows[rows["channel"] == channel]
    check(set(mine["index"].tolist()) == set(expected), f"{what}: other lines than numpy's")
    largest = max(map(abs, expected.values()), default=0)
    for row in mine:
        value = expected.get(int(row["index"]), 0)
        check(abs(complex(row["re"], row["im"]) - value) <= tolerance * largest, f"{what}: X[{row['index']}]")
        check(np.isclose(row["magnitude"], np.hypot(row["re"], row["im"]), rtol=1e-14), f"{what}: magnitude")
    frequencies = (np.fft.rfftfreq if np.isrealobj(x) else np.fft.fftfreq)(len(x))
    # rfftfreq and fftfreq differ in the sign of n/2 only
    check(np.allclose(mine["frequency"], frequencies[mine["index"]] * rate, rtol=1e-12), f"{what}: frequencies")
    check(np.all(np.diff(mine["frequency"]) > 0), f"{what}: not sorted by frequency")


def shapes(work):
    """One and two dimensions, both layouts, real and complex, integer and big-endian; the same bits on any number of ranks."""
    n, k = 100003, 12
    for number, (is_complex, store) in enumerate(((True, "<c16"), (False, "<f8"), (False, "<i2"), (False, ">f4"), (True, "<c8"))):
        scale = 1000 if store == "<i2" else 1
        x = [tones(n, random.choice((n - 1) // 2, k, False) + 1, scale * np.exp(2j * np.pi * random.random(k)), is_complex)
             for _ in range(3)]
        noise = [0.01 * scale * random.standard_normal(n) for _ in x]
        stored = np.array([a + b for a, b in zip(x, noise)])
        stored = (np.round(stored) if store == "<i2" else stored).astype(store)
        name = os.path.join(work, "x.h5")
        with h5py.File(name, "w") as file:
            file["fast"], file["slow"], file["one"] = stored, stored.T.copy(), stored[0]
            file["fast"].attrs["sample_rate_hz"] = 4096.0
        first = None
        for dataset, axis, all_ranks in (("fast", 1, (1, 2, 4) if ALL else (1 + number % 2 * 3,)), ("slow", 0, (3,) if ALL else (2 - number % 2,))):
            for ranks in all_ranks:
                rows, about, channels = run(ranks, f"{name}:/{dataset}", os.path.join(work, "y.h5"), "--axis", str(axis),
                                            "--sparsity", str(k), "--precision", "double", "--engine", "cpu")
                bits = b"".join(rows[column].tobytes() for column in ("channel", "index", "re", "im"))
                first = first or bits
                check(bits == first, f"{store} {dataset}: other bits on {ranks} ranks")
            rate = about.get("sample_rate_hz", 1.0)
            check(rate == (4096 if dataset == "fast" else 1), f"{store} {dataset}: sample rate {rate}")
            for c in range(3):
                compare(f"{store} {dataset} {c}", rows, c, stored[c].astype(complex if is_complex else float), k, 2e-3, rate)
            check(about["is_explained"] == 1 and about["algorithm"] == "sparse" and about["samples_touched"] < n / 4,
                  f"{store} {dataset}: {about}")
            check(len(channels) == 3 and np.all(channels["lines"] == k), f"{store} {dataset}: {channels}")
        if number % 2 and not ALL:
            continue
        rows, _, _ = run(1, f"{name}:/fast", os.path.join(work, "y.h5"), "--axis", "1", "--channels", "1:3", "--start", "1000",
                         "--count", "90001", "--sparsity", "5", "--algorithm", "dense")
        for c in (1, 2):
            compare(f"{store} piece", rows, c, stored[c, 1000:91001].astype(complex if is_complex else float), 5, 1e-9,
                    4096 / 1)


def accuracy(work):
    """Signals without noise: exact to the tolerance of each precision."""
    n, k = 1 << 18, 60
    x = tones(n, random.choice(n, k, False), np.exp(2j * np.pi * random.random(k)), True)
    name = os.path.join(work, "x.h5")
    with h5py.File(name, "w") as file:
        file["x"] = x
    for precision, tolerance in (("double", 1e-6), ("single", 1e-3)):
        rows, about, _ = run(1, f"{name}:/x", os.path.join(work, "y.h5"), "--sparsity", str(k), "--precision", precision)
        compare(precision, rows, 0, x, k, tolerance)
        check(about["algorithm"] == "sparse" and about["residual"] < tolerance ** 2 * 100, f"{precision}: {about}")


def edges(work):
    """Signals that hardly are signals."""
    name = os.path.join(work, "x.h5")
    noise = random.standard_normal(40000) + 1j * random.standard_normal(40000)
    cases = {"zero": np.zeros(100000), "constant": np.full(100000, 2.5), "noise": noise, "one": np.array([3 - 4j]),
             "two": np.array([1.0, 2.0]), "short": random.standard_normal(37)}
    with h5py.File(name, "w") as file:
        for key, x in cases.items():
            file[key] = x
    for key, x in cases.items():
        k = 1000 if len(x) < 100 else 3
        rows, about, _ = run(1 + (key in ("noise", "one")), f"{name}:/{key}", os.path.join(work, "y.h5"), "--sparsity", str(k), "--precision", "double")
        present = np.abs(np.fft.rfft(x) if np.isrealobj(x) else np.fft.fft(x))
        count = min(k, int(np.sum(present > 1e-9 * (present.max() or 1))))
        compare(key, rows, 0, x, count, 1e-9)
        check(about["algorithm"] == ("sparse" if key in ("zero", "constant") else "dense"), f"{key}: {about}")


def reading(work):
    """Any way of reading gives the same table: contiguous and in chunks, raw bytes or by the library, on any number of ranks and
    I/O threads. The plan and the log describe the reads, and whether the storage's pace was measured."""
    n, k = 1 << 20, 20
    name, output = os.path.join(work, "x.h5"), os.path.join(work, "y.h5")
    x = tones(n, random.choice(n, k, False), np.exp(2j * np.pi * random.random(k)), True)
    x[::100] = np.nan
    with h5py.File(name, "w") as file:
        file["x"] = x
        file.create_dataset("packed", data=x, chunks=(1 << 16,), compression="gzip", compression_opts=1)
    base = ("--sparsity", str(k), "--nan", "zero", "--fallback", "partial")
    first = None
    for dataset, ranks, options in (
            ("x", 1, ("--io-threads", "1")), ("x", 1, ("--io", "direct", "--io-threads", "16")), ("x", 2, ("--io", "collective")),
            ("x", 4, ("--io-threads", "3")), ("packed", 1, ("--io", "direct")), ("packed", 2, ("--io", "collective"))):
        rows, about, _ = run(ranks, f"{name}:/{dataset}", output, *base, *options)
        with h5py.File(output) as file:
            flaws = file.attrs["samples_not_finite"]
        bits = (rows.tobytes(), about["samples_touched"], about["retries"], flaws)
        first = first or bits
        check(bits == first and flaws > 0, f"reading {dataset} on {ranks} ranks with {options}: {bits[1:]}, not {first[1:]}")
    call(2, "sfft", "--input", f"{name}:/x", "--output", output, "--overwrite", "--sparsity", str(k), code=65)
    said = lapwing(1, "sfft", "--input", f"{name}:/x", "--output", output, "--overwrite", *base).stderr
    check("instead of all 16.0 MiB" in said and "reads a second" in said and "(measured)" in said, said)
    for dataset, word in (("x", "(measured)"), ("packed", "(assumed)")):
        planned = lapwing(1 + (dataset == "x"), "plan", "sfft", "--input", f"{name}:/{dataset}", "--output", "none.h5", *base).stdout
        check(f"{word}{' by each rank' if dataset == 'x' else ''}" in planned, planned)


def honesty(work):
    """A signal that is not sparse is not reported as sparse: each way of falling back."""
    n = 1 << 17
    t = np.arange(n)
    name = os.path.join(work, "x.h5")
    with h5py.File(name, "w") as file:
        file["between"] = np.exp(2j * np.pi * 1234.5 * t / n)
        bad = np.cos(2 * np.pi * 50 * t / n)
        bad[::7] = np.nan
        file["bad"] = bad
    output = os.path.join(work, "y.h5")
    source = f"{name}:/between"
    rows, about, _ = run(2, source, output, "--sparsity", "4", "--precision", "double")
    compare("between", rows, 0, np.exp(2j * np.pi * 1234.5 * t / n), 4, 1e-9)
    check(about["algorithm"] == "dense" and 0.05 < about["residual"] < 0.2, f"between: {about}")
    rows, about, _ = run(1, source, output, "--sparsity", "4", "--fallback", "partial")
    check(about["is_explained"] == 0 and 0.05 < about["residual"] < 0.5, f"partial: {about}")
    check({1234, 1235} <= set(rows["index"].tolist()) or len(rows) < 4, f"partial: {rows['index']}")
    said = call(2, "sfft", "--input", source, "--output", output, "--overwrite", "--sparsity", "4", "--fallback", "error",
                code=65)
    check("not sparse" in said, said)
    said = call(1, "sfft", "--input", f"{name}:/bad", "--output", output, "--overwrite", "--sparsity", "4", code=65)
    check("--nan zero" in said, said)
    rows, about, _ = run(1, f"{name}:/bad", output, "--nan", "zero", "--algorithm", "dense", "--sparsity", "1")
    check(rows["index"].tolist() == [50], f"bad: {rows}")
    said = call(1, "sfft", "--input", source, "--output", output, "--sparsity", "4", code=74)
    check("--overwrite" in said, said)
    said = call(1, "sfft", "--input", source, "--output", name, "--overwrite", "--sparsity", "4", code=2)
    check("a file of its own" in said, said)
    said = call(1, "sfft", "--input", source, "--output", output, "--sparsity", "0", code=2)
    said = call(1, "sfft", "--input", source, "--output", output, "--overwrite", "--sparsity", "50000", "--algorithm",
                "sparse", code=78)
    check("a quarter" in said, said)


def memory(work):
    """Too little memory is refused, also for the plan that the noise requires; any other memory gives the same lines."""
    n, k = 30000, 40
    name, output = os.path.join(work, "m.h5"), os.path.join(work, "n.h5")
    t = np.arange(n)
    x = [sum(np.exp(2j * np.pi * (f * t / n + random.random())) for f in random.choice(n, k, False)) for _ in range(7)]
    with h5py.File(name, "w") as file:
        file["x"] = (x + random.standard_normal((7, n)) + 1j * random.standard_normal((7, n))).astype("c8")
    base = (name + ":/x", output, "--axis", "1", "--sparsity", str(k), "--fallback", "partial", "--engine", "cpu", "--threads", "1")
    whole = run(1, *base)[0].tobytes()
    n_refused = 0
    for ranks in (1, 3):
        said = lapwing(ranks, "sfft", "--input", *base[:1], "--output", output, "--overwrite", *base[2:], "--memory", "1M", code=78).stderr
        least = float(re.search(r"needs ([\d.]+) MiB of memory", said).group(1))
        for more in range(0, 2000, 500) if ranks == 1 or ALL else (0, 1500):
            done = subprocess.run([*([MPIEXEC, "-np", str(ranks)] if ranks > 1 else []), LAPWING, "sfft", "--input", base[0], "--output",
                                   output, "--overwrite", *base[2:], "--memory", f"{int(1024 * least) + more}k"],
                                  capture_output=True, text=True, timeout=100, check=False)
            n_refused += done.returncode == 78
            if done.returncode == 78:
                check("of memory on each rank, the limit is" in done.stderr, f"memory: {done.stderr}")
            elif check(done.returncode == 0, f"memory: {done.stderr}"):
                with h5py.File(output) as file:
                    check(file["spectrum"][()].tobytes() == whole, f"memory: {more} KiB more than {least} MiB on {ranks}: other lines")
    check(0 < n_refused < 6, f"memory: {n_refused} are refused")


def missing(work):
    """Samples that a sparse transform does not read may be missing; 'lapwing verify' allows for them, and for no more."""
    n, k = 146144, 5
    parts, output = [os.path.join(work, f"part{i}.h5") for i in range(2)], os.path.join(work, "o.h5")
    t = np.arange(n)
    x = sum(np.exp(2j * np.pi * (f * t / n + random.random())) for f in random.choice(n, k, False)).astype("c16")

    def write(name, begin, end):
        with h5py.File(name, "w") as file:
            file["x"] = x[begin:end]
            file["x"].attrs.update({"sample_rate_hz": 1000.0, "start_time": begin / 1000, "start_unit": "s since 2023-01-01T00:00:00"})
    base = ("--sparsity", str(k), "--precision", "double", "--fallback", "error")
    for place in range(1000, 9000, 1001):
        x[place], kept = np.nan, x[place]
        write(parts[0], 0, n)
        code = subprocess.run([LAPWING, "sfft", "--input", parts[0] + ":/x", "--output", output, "--overwrite", *base, "--algorithm", "sparse",
                               "--nan", "error"], capture_output=True, timeout=100, check=False).returncode
        check(code in (0, 65), f"missing: ends with {code}")
        x[place] = kept
        if code == 0:
            break
    if check(code == 0, "missing: the run refuses missing samples that it need not read"):
        call(1, "verify", output)
    write(parts[0], 0, 70615)
    write(parts[1], 70629, n)
    call(1, "sfft", "--input", *[part + ":/x" for part in parts], "--gaps", "zero", "--output", output, "--overwrite", *base[:-2],
         "--algorithm", "sfft2", "--snr", "3")
    call(1, "verify", output)
    with h5py.File(output, "r+") as file:
        rows = file["spectrum"][()]
        rows["re"][2] += 300
        file["spectrum"][...] = rows
    call(1, "verify", output, code=65)


def synth(work):
    """The survey's own table of tones is found again; the signal is the same on any number of ranks."""
    one, two = os.path.join(work, "s1.h5"), os.path.join(work, "s2.h5")
    for options in (("--complex",), ("--channels", "3", "--layout", "time-slow", "--type", "float32")):
        for ranks, name in ((1, one), (2, two)):
            call(ranks, "synth", "sfft", "--output", name, "--overwrite", "--samples", "2^18", "--tones", "20", "--snr", "30",
                 *options)
        with h5py.File(one) as a, h5py.File(two) as b:
            check(np.array_equal(a["signal"][()], b["signal"][()]), f"{options}: the survey depends on the ranks")
            expected = np.sort(a["tones"][()], order=["channel", "frequency"])
        rows, about, _ = run(1, one + ":/signal", os.path.join(work, "y.h5"), "--sparsity", "20", "--axis",
                             "1" if len(options) == 0 else "0")
        check(rows["index"].tolist() == expected["index"].tolist(), f"{options}: other lines than the survey's")
        check(np.allclose(rows["frequency"], expected["frequency"], rtol=1e-12), f"{options}: frequencies")
        error = np.hypot(rows["re"] - expected["re"], rows["im"] - expected["im"]) / expected["magnitude"]
        check(error.max() < 0.05, f"{options}: values differ by {error.max()}")
        planned = lapwing(1, "plan", "sfft", "--input", one + ":/signal", "--sparsity", "20", "--output", "none.h5", "--axis",
                          "0").stdout
        check("3 stages of" in planned and not os.path.exists("none.h5"), planned)


def voting(work):
    """--algorithm sfft2: numpy's lines, and the same bits on any number of ranks and in all ways to compute it. Its profile is
    checked, and signals that it refuses or leaves to the dense transform."""
    n, k = 98304, 12
    name, output = os.path.join(work, "x.h5"), os.path.join(work, "y.h5")
    with h5py.File(name, "w") as file:
        for key, is_complex in (("complex", True), ("real", False)):
            x = np.array([tones(n, random.choice(n // 2 - 1, k, False) + 1, np.exp(2j * np.pi * random.random(k)), is_complex)
                          for _ in range(3)])
            file[key] = x + 0.01 * random.standard_normal(x.shape)
            file[key + "_slow"] = file[key][()].T.copy()
        file["between"] = np.exp(2j * np.pi * 1234.5 * np.arange(n) / n)
    base = ("--sparsity", str(k), "--algorithm", "sfft2", "--engine", "cpu")
    for key in ("complex", "real"):
        with h5py.File(name) as file:
            x = file[key][()]
        first = None
        ways = ((1, key, 1, ("--threads", "3")), (3, key + "_slow", 0, ()), (4 if key == "real" else 2, key, 1, ()))
        for ranks, dataset, axis, options in ways if ALL else ways[::2] if key == "real" else ways[:2]:
            rows, about, channels = run(ranks, f"{name}:/{dataset}", output, "--axis", str(axis), *base, *options)
            bits = b"".join(rows[column].tobytes() for column in ("channel", "index", "re", "im"))
            first = first or bits
            check(bits == first, f"sfft2 {dataset}: other bits on {ranks} ranks with {options}")
            check(about["algorithm"] == "sfft2" and about["is_explained"] == 1 and about["retries"] == 0, f"sfft2: {about}")
            check(about["sfft2_bin_s"] > 0 and about["sfft2_vote_s"] > 0 and about["sfft2_comb_s"] < about["sfft2_bin_s"],
                  f"sfft2: profile {about}")
            check(np.all(channels["samples"] == about["samples_touched"]), f"sfft2: {channels}")
        for c in range(3):
            compare(f"sfft2 {key}", rows, c, x[c], k, 1e-3)
        for options in (("--flat-window", "gaussian", "--comb", "1536"), ("--buckets", "1024", "--location-loops",
                        "5,votes=4,estimation-loops=8", "--precision", "double", "--seed", "9")):
            rows, about, _ = run(1, f"{name}:/{key}", output, "--axis", "1", *base, *options)
            for c in range(3):
                compare(f"sfft2 {key} {options}", rows, c, x[c], k, 1e-3)
    said = lapwing(1, "sfft", "--input", name + ":/complex", "--axis", "1", "--output", output, "--overwrite", *base,
                   "--verbose").stderr
    for step in ("comb", "bin", "transform", "cutoff", "vote", "estimate", "check"):
        check(f"sfft2 {step} " in said, f"no time of {step}: {said}")
    between = ("sfft", "--input", name + ":/between", "--output", output, "--overwrite", *base)
    said = call(1, *between, "--fallback", "error", code=65)
    check(re.search(r"not sparse: the \d+ lines found leave up to", said), said)
    rows, about, _ = run(2, name + ":/between", output, *base, "--fallback", "partial")
    check(about["is_explained"] == 0 and about["algorithm"] == "sfft2" and about["retries"] == 1, f"between: {about}")
    rows, about, _ = run(1, name + ":/between", output, *base)
    compare("sfft2 between", rows, 0, np.exp(2j * np.pi * 1234.5 * np.arange(n) / n), k, 1e-9)
    check(about["algorithm"] == "dense" and about["residual"] > 0.01, f"between: {about}")
    for code, what, options in ((78, "votes=5", "--location-loops 4,votes=5"), (78, "divisor", "--comb 1000"),
                                (78, "--memory", "--memory 50M"), (78, "--buckets 11 are fewer", "--buckets 11")):
        said = call(1, *between, *options.split(), code=code)
        check(what in said, f"{options}: {said}")
    plain = ("sfft", "--input", name + ":/between", "--output", output, "--overwrite", "--engine", "cpu")
    for code, what, options in ((78, "--algorithm dense", "--algorithm sfft2 --sparsity 20000"),
                                (2, "sfft2 only", "--algorithm sparse --sparsity 12 --location-loops votes=2")):
        said = call(1, *plain, *options.split(), code=code)
        check(what in said, f"{options}: {said}")
    for buckets, warns in (("12", True), ("41", True), ("48", False)):
        said = call(1, *between, "--buckets", buckets, "--fallback", "partial")
        check(("chance elects" in said and "give 48 or more" in said) == warns, f"--buckets {buckets}: {said}")
    planned = lapwing(1, "plan", "sfft", "--input", name + ":/between", *base).stdout
    check("a line needs" in planned and "all samples of a channel" in planned, planned)


with tempfile.TemporaryDirectory() as work:
    for part in (shapes, accuracy, edges, reading, honesty, memory, missing, synth, voting):
        part(work)
finish()
