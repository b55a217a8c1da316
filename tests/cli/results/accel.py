"""The job accel, end to end through files: the same table on any ranks, layouts, types and memory; interrupted runs; samples that are
missing; frequencies that are zapped; what is refused. LW_TEST_ALL adds ranks and layouts.

    accel.py LAPWING MPIEXEC"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import ALL, LAPWING, MPIEXEC, check, finish, lapwing, needed_memory, random    # noqa: E402

import h5py             # noqa: E402
import numpy as np      # noqa: E402

N, RATE = 20011, 1000.0         # a length that is padded
OPTIONS = ("--zmax", "20", "--numharm", "4")
C = 299792458.0


def search(ranks, name, output, *options, code=0):
    done = lapwing(ranks, "accel", "--input", name, "--output", output, "--overwrite", *OPTIONS, *options, code=code)
    if code:
        return done.stderr
    with h5py.File(output) as file:
        return file["candidates"][()], dict(file["candidates"].attrs)


def pulsed(n, r, z, w, amplitude, width=0.05):
    u = np.arange(n) / n
    turns = r * u + z * (u * u - u) / 2 + w * (u ** 3 / 6 - u * u / 4 + u / 12)
    return amplitude * np.exp(-0.5 * ((turns - np.rint(turns)) / width) ** 2)


def make_input(name):
    """Five channels: a strong signal in two of them, one of another frequency, noise."""
    x = random.standard_normal((5, N)).astype("f4")
    x[1] += pulsed(N, 700.3, 4.2, 0, 0.9).astype("f4")
    x[2] += pulsed(N, 700.3, 4.2, 0, 0.6).astype("f4")
    x[4] += pulsed(N, 1233.0, -4.5, 0, 0.9).astype("f4")
    with h5py.File(name, "w") as file:
        holes = x.copy()
        holes[1, 5000:5300] = np.nan
        holes[4, 17] = np.inf
        for key, data, extra in (("fast", x, {}), ("slow", x.T.copy(), {}), ("wide", x.astype("f8") + 1e9, {}), ("holes", holes, {}),
                                 ("whole", np.round(1000 * x).astype("<i2"), {}), ("wider", np.round(1000 * x).astype("<i4") + 2 ** 30, {}),
                                 ("packed", x, {"chunks": (2, 3000), "compression": "gzip"}), ("complex", x.astype("c8"), {}),
                                 ("silent", np.zeros_like(x), {})):
            file.create_dataset(key, data=data, **extra).attrs["sample_rate_hz"] = RATE
        file["trials"] = file["fast"][()]
        file["trials"].attrs["sample_rate_hz"] = RATE
        file["dm"] = np.array([1.5, 2.5, 7.0, 7.5, 100.0])
        file["dm"].make_scale("dm")
        file["trials"].dims[0].attach_scale(file["dm"])
        file["trials"].dims[0].label, file["trials"].dims[1].label = "dm", "time"
        file["unknown"] = x
    return x


def tables(work, name):
    """The same rows on any number of ranks, for one channel and for several, in any layout; the columns fit together."""
    output = os.path.join(work, "y.h5")
    for channels, all_ranks in (("1", (1, 4)), ("0:3", (1, 2)), ("0:5", (1, 3, 7))) if ALL else (("1", (1, 3)), ("0:5", (1, 3, 7))):
        first = None
        for ranks in all_ranks:
            rows, about = search(ranks, f"{name}:/fast", output, "--axis", "1", "--channels", channels)
            first = rows if first is None else first
            check(rows.tobytes() == first.tobytes(), f"channels {channels}: other rows on {ranks} ranks")
    for dataset, axis, some in (("slow", 0, (3,)), ("packed", 1, (1,))):
        for ranks in (1, 3) if ALL else some:
            rows, _ = search(ranks, f"{name}:/{dataset}", output, "--axis", str(axis))
            check(rows.tobytes() == first.tobytes(), f"{dataset}: other rows on {ranks} ranks")
    rows, about = search(1, f"{name}:/trials", output)
    check(np.array_equal(rows["dm"], np.array([1.5, 2.5, 7.0, 7.5, 100.0])[rows["channel"]]), "dispersion measures of the rows")
    check(np.all(np.isnan(first["dm"])), "a channel without a dispersion measure has one")
    t = about["transform_samples"] / RATE
    check(about["samples"] == N and about["transform_samples"] >= N and abs(about["seconds"] - t) < 1e-9, f"attributes: {about}")
    check(np.all(np.diff(rows["sigma"]) <= 0) and len(rows) >= 3, "rows are not sorted by sigma")
    check(np.allclose(rows["frequency"], (rows["r"] - rows["w"] / 24) / t, rtol=1e-12), "frequencies")
    check(np.allclose(rows["frequency_derivative"], rows["z"] / t ** 2, rtol=1e-12), "derivatives")
    check(np.allclose(rows["period"] * rows["frequency"], 1, rtol=1e-12), "periods")
    check(np.allclose(rows["acceleration"], C * rows["z"] / t ** 2 / rows["frequency"], rtol=1e-12), "accelerations")
    has = rows["related"] >= 0
    check(np.all(rows["related"] < np.arange(len(rows))) and np.all((rows["numerator"] > 0) == has), "relations")
    scale = about["transform_samples"] / N
    for channel, r, z in ((1, 700.3, 4.2), (4, 1233.0, -4.5)):
        mine = rows[rows["channel"] == channel][0]
        check(abs(mine["r"] - r * scale) < 1 and abs(mine["z"] - z * scale ** 2) < 2, f"channel {channel}: r {mine['r']}, z {mine['z']}")
    weaker = np.flatnonzero(rows["channel"] == 2)[0]
    check(rows["related"][weaker] >= 0 and rows["channel"][rows["related"][weaker]] == 1, "a weaker trial is not related to a stronger")
    return first


def types(work, name, first):
    """Types with large means keep their digits; integers of 16 and 32 bits are the same series."""
    output = os.path.join(work, "y.h5")
    wide, _ = search(1, f"{name}:/wide", output, "--axis", "1")
    strong = first["sigma"] > 10
    check(np.allclose(wide["sigma"][:3], first["sigma"][:3], rtol=1e-3) and strong[0], "a large mean changes the significance")
    whole, _ = search(1, f"{name}:/whole", output, "--axis", "1")
    wider, _ = search(1, f"{name}:/wider", output, "--axis", "1")
    check(whole.tobytes() == wider.tobytes(), "int16 and int32 with another mean differ")
    silent, _ = search(2, f"{name}:/silent", output, "--axis", "1")
    check(len(silent) == 0, "zeros have candidates")


def options(work, name, first):
    """Frequencies, zapped bins, spectra that are kept, and less memory."""
    output, birds = os.path.join(work, "y.h5"), os.path.join(work, "birds.txt")
    t = search(1, f"{name}:/fast", output, "--axis", "1")[1]["seconds"]
    with open(birds, "w") as file:
        file.write(f"# frequency width harmonics grows\nB{700.3 / t / 2} 0\n{700.3 / t * 1.0057:.6f}\t{20 / t:.6f}  40 1\n")
    rows, about = search(2, f"{name}:/fast", output, "--axis", "1", "--zap", birds, "--keep-spectrum")
    check(not np.any((np.abs(rows["r"] - 700.3 * 1.0057) < 5)) and about["zapped_ranges"] > 10, "a zapped signal is there")
    with h5py.File(output) as file:
        spectrum = file["spectrum_normalised"][()]
    check(spectrum.shape == (5, about["transform_samples"] // 2) and np.all(spectrum[:, 704] == 0), "the spectrum is not zapped")
    check(0.8 < np.mean(np.abs(spectrum[3, 16:]) ** 2) < 1.2, "the spectrum is not normalized")
    rows, about = search(3, f"{name}:/fast", output, "--axis", "1", "--fmin", "100", "--fmax", "100.1", "--channels", "0")
    alone, _ = search(1, f"{name}:/fast", output, "--axis", "1", "--fmin", "100", "--fmax", "100.1", "--channels", "0")
    check(rows.tobytes() == alone.tobytes(), "more ranks than cells")
    least = needed_memory(search(1, f"{name}:/slow", output, "--axis", "0", "--memory", "30M", code=78))
    rows, _ = search(1, f"{name}:/slow", output, "--axis", "0", "--memory", least)
    check(rows.tobytes() == first.tobytes(), "other rows with little memory")
    said = lapwing(1, "plan", "accel", "--input", f"{name}:/fast", "--axis", "1", "--output", output, "--measure").stdout
    check(all(f"\n{row}" in said for row in ("algorithm", "time", "host memory", "measured", "Slurm")), f"plan: {said}")


def missing(work, name):
    """NaN is refused by name, or gets the running mean; a gap between files, too."""
    output = os.path.join(work, "y.h5")
    said = search(2, f"{name}:/holes", output, "--axis", "1", code=65)
    check(re.search(r"channel [14], sample (5000|17) of", said), f"the sample is not named: {said}")
    rows, _ = search(1, f"{name}:/holes", output, "--axis", "1", "--nan", "zero")
    other, _ = search(3, f"{name}:/holes", output, "--axis", "1", "--nan", "zero")
    check(rows.tobytes() == other.tobytes() and rows["sigma"][0] > 10, "samples that are not finite")
    with h5py.File(output) as file:
        check(file.attrs["samples_not_finite"] == 301, "the count of samples that are not finite")
    with h5py.File(name) as file:
        x = file["fast"][1]
    for number, (begin, end) in enumerate(((0, 9000), (9500, N))):
        with h5py.File(os.path.join(work, f"part{number}.h5"), "w") as file:
            file["x"] = x[begin:end] + 1e4
            file["x"].attrs.update(sample_rate_hz=RATE, start_time=1e9 + begin / RATE, start_unit="GPS second")
    parts = os.path.join(work, "part*.h5:/x")
    search(1, parts, output, code=65)
    rows, _ = search(2, parts, output, "--gaps", "zero")
    check(rows["sigma"][0] > 8 and abs(rows["r"][0] - 700.3 * 20160 / N) < 1, f"a gap hides the signal: {rows[:1]}")


def masked(work, name):
    """A mask hides samples, not finite ones too, in every form that a mask has; what they hold does not matter."""
    output = os.path.join(work, "y.h5")
    bad, seen = np.zeros((5, N), bool), {}
    bad[:, 5000:5300] = bad[:, 17] = True
    with h5py.File(name, "a") as file:
        file["by_sample"], file["by_both"], file["by_both_slow"] = bad[0].astype("f8"), bad.astype("u1"), bad.T.astype("i4")
        file["packed_sample"], file["packed_both"] = np.packbits(bad[0]), np.packbits(bad, axis=1)
        file["by_channel"] = np.array([0, 1, 0, 0, 1], "i4")
        file["holes_slow"], file["one"] = file["holes"][()].T.copy(), np.zeros(N + 1)
        file["holes_slow"].attrs["sample_rate_hz"] = RATE
    for mask, dataset, ranks in (("by_sample", "holes", 1), ("by_sample", "holes", 3), ("by_both", "holes", 1), ("packed_sample", "holes", 1),
                                 ("packed_both", "holes", 2), ("by_both_slow", "holes_slow", 1), ("by_sample", "holes_slow", 1)):
        rows, _ = search(ranks, f"{name}:/{dataset}", output, "--axis", "01"[dataset == "holes"], "--mask", f"{name}:/{mask}")
        seen[mask, dataset] = rows.tobytes()
        with h5py.File(output) as file:
            check(file.attrs["samples_not_finite"] == 0 and file.attrs["mask"].endswith(mask), f"{mask}: attributes")
    check(len(set(seen.values())) == 1 and rows["sigma"][0] > 10, "forms of a mask differ")
    rows, _ = search(1, f"{name}:/holes", output, "--axis", "1", "--mask", f"{name}:/by_channel")
    check(not np.any(np.isin(rows["channel"], (1, 4))), "a masked channel has candidates")
    said = search(1, f"{name}:/holes", output, "--axis", "1", "--mask", f"{name}:/one", code=65)
    check("give a mask with" in said, f"a mask of another shape: {said}")


def verified(work, name):
    """`lapwing verify` finds the powers of the rows right, with zapped and masked samples, too, and finds wrong ones."""
    output, birds = os.path.join(work, "y.h5"), os.path.join(work, "zap.txt")
    with open(birds, "w") as file:
        file.write("60 1 3\n")
    for ranks, *extra in ((1, "--mask", f"{name}:/by_both"), (1, "--nan", "zero", "--zap", birds)):
        search(1, f"{name}:/holes", output, "--axis", "1", *extra)
        said = lapwing(ranks, "verify", output, "--sample", "5").stdout
        check(re.search(r"/candidates +[1-9]\d* +0 ", said), f"verify {extra}: {said}")
    with h5py.File(output, "a") as file:
        rows = file["candidates"][()]
        rows["power"] *= 1.02
        file["candidates"][...] = rows
    lapwing(1, "verify", output, "--sample", "5", code=65)


def interrupted(work, source, ranks, said_of_rest, *arguments):
    """A run that a signal ends after its first checkpoint goes on, on other ranks, to the same table and spectra (of the whole run
    that is made with ranks 1)."""
    whole, output = os.path.join(work, "whole.h5"), os.path.join(work, "cut.h5")
    command = ("accel", "--input", source, "--axis", "1", "--keep-spectrum", *arguments, "--overwrite", "--output")
    if ranks == 1:
        lapwing(1, *command, whole)
    command = (*command, output)
    launch = [MPIEXEC, "-np", str(ranks)] if ranks > 1 else []
    process = subprocess.Popen([*launch, LAPWING, *command, "--checkpoint", "0", "--threads", "1", "--quiet"],
                               stderr=subprocess.DEVNULL)
    while not os.path.exists(output + ".lapwing-journal") and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGUSR1)
    check(process.wait() == 75, "a signal does not interrupt the run")
    said = lapwing(4 - ranks, *command, "--resume", "require").stderr
    check(re.search(said_of_rest, said), f"the run does not go on: {said}")
    with h5py.File(whole) as a, h5py.File(output) as b:
        rows = a["candidates"][()]
        check(len(rows) > 0 and b["candidates"][()].tobytes() == rows.tobytes(), "other rows after an interruption")
        check(np.array_equal(a["spectrum_normalised"][()], b["spectrum_normalised"][()]), "other spectra after an interruption")
        check(b.attrs["runs"] == 2, "the number of runs")


def interruptions(work, name):
    """Runs over many channels, and one channel that is searched in parts, alone or by several ranks."""
    with h5py.File(name, "a") as file:
        for key, data in (("many", np.tile(file["fast"][()], (24, 1))),
                          ("long", [(pulsed(3 * N, 300.3, 12, 8, 0.9) + random.standard_normal(3 * N)).astype("f4")])):
            file.create_dataset(key, data=data).attrs["sample_rate_hz"] = RATE
    interrupted(work, f"{name}:/many", 1, r"[1-9]\d* of 120 channels are done", *OPTIONS)
    for ranks in (1, 3):
        interrupted(work, f"{name}:/long", ranks, "0 of 1 channels are done, 1 in part", "--zmax", "100", "--wmax", "100")


def refused(work, name):
    output, bad = os.path.join(work, "y.h5"), os.path.join(work, "bad.txt")
    with open(bad, "w") as file:
        file.write("60 0.1\nsixty\n")
    for code, message, dataset, *extra in (
            (65, "takes 4096 to", "fast", "--count", "4095"), (65, "takes real series", "complex"),
            (78, "give --sample-rate", "unknown"), (78, "no frequency lies from", "fast", "--fmin", "501"),
            (2, "--pad 20010 is neither", "fast", "--pad", "20010"), (2, "--pad few is neither", "fast", "--pad", "few"),
            (2, "leave the option out", "fast", "--precision", "double"), (65, "line 2: 'sixty'", "fast", "--zap", bad),
            (74, "No such file", "fast", "--zap", bad + ".no"), (2, "numharm", "fast", "--numharm", "3")):
        for ranks in (1, 2) if code == 65 and (ALL or "--count" in extra) else (1,):
            said = search(ranks, f"{name}:/{dataset}", output, "--axis", "1", *extra, code=code)
            check(message in said, f"{dataset} {extra}: {said}")


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.h5")
    make_input(path)
    rows_of_all = tables(folder, path)
    types(folder, path, rows_of_all)
    options(folder, path, rows_of_all)
    missing(folder, path)
    masked(folder, path)
    verified(folder, path)
    interruptions(folder, path)
    refused(folder, path)
finish()
