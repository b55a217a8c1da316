"""Several files as one signal: the result is that of one file with all samples, bit for bit, and gaps are NaN. Names, patterns,
lists; a result for each file or stretch; pieces by time and channels by coordinate. LW_SEARCH_OPTIONS holds further options of
the runs whose results are compared. LW_TEST_ALL adds ways to treat gaps for each storage, and more ranks."""

import fcntl
import os
import tempfile

from tested import ALL, check, finish, h5py, lapwing, needed_memory, np, numbers_of_ranks, random

folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
RATE = 500
N, CHANNELS = 6000, 5
ranks = numbers_of_ranks(2, few=(1, 1, 1, 2))
further = os.environ.get("LW_SEARCH_OPTIONS", "").split()


def write(name, samples, first, layout="slow", start=True, **options):
    """Write samples [first, first + n) of a signal's axis: 1-D, time slow, or time fast."""
    with h5py.File(name, "w") as file:
        data = file.create_dataset("data", data=samples.T if layout == "fast" else samples, **options)
        data.dims[1 if layout == "fast" else 0].label = "time"
        data.attrs["sample_rate_hz"] = float(RATE)
        if start:
            data.attrs["start_time"] = first / RATE
            data.attrs["start_unit"] = "s since 2023-01-01T00:00:00"


def parts(prefix, signal, pieces, **options):
    for i, (first, last) in enumerate(pieces):
        write(f"{prefix}{i}.h5", signal[first:last], first, **options)


def result(name, path="filtered"):
    with h5py.File(name, "r") as file:
        return file[path][...]


def run(ranks, output, *arguments, code=0, job="ols", filters=("--filters", "taps.h5:/taps")):
    return lapwing(ranks, job, *arguments, *filters, "--output", output, "--overwrite", "--quiet", *further, code=code)


references = {}


def single(signal, layout="slow", more=()):
    """The result of one file with all samples; it is made once."""
    key = signal.tobytes(), layout, more
    if key not in references:
        write("one.h5", signal, 0, layout=layout)
        run(1, "p.h5", "--input", "one.h5:/data", *more)
        references[key] = result("p.h5")
    return references[key]


with h5py.File("taps.h5", "w") as file:
    file["taps"] = np.stack([np.hanning(65), random.standard_normal(65)])
    file["one"] = np.ones(1)
    file["kernel"] = random.standard_normal((5, 3))
signals = {
    "int16": random.integers(-30000, 30000, (N, CHANNELS)).astype("<i2"),
    "swapped": random.integers(-30000, 30000, (N, CHANNELS)).astype(">i2"),
    "int32": random.integers(-2**30, 2**30, (N, CHANNELS)).astype("<i4"),
    "float": random.standard_normal((N, CHANNELS)).astype("f4"),
    "complex": (random.standard_normal((N, CHANNELS)) + 1j * random.standard_normal((N, CHANNELS))).astype("c8"),
    "one": random.integers(-128, 127, N).astype("i1"),
}
WHOLE = [(0, 1000), (1000, 1001), (1001, 2500), (2300, 4000), (3000, 3500), (4000, N)]      # an overlap, one inside another
GAPS = [(0, 1000), (1100, 1101), (1400, 4000), (4001, N)]


def same(ranks, kind, storage, ways, more=()):
    """Contiguous files (E), and files whose gaps are split (S) or zero (Z), against one file."""
    signal = signals[kind]
    layout = storage.get("layout", "slow")
    options = {key: value for key, value in storage.items() if key != "layout"}
    for way in "ESZ" if ALL else ways:
        given, gaps = {"E": ("w", "error"), "S": ("g", "split"), "Z": ("g", "zero")}[way]
        parts(given, signal, WHOLE if way == "E" else GAPS, layout=layout, **options)
        wanted = signal.astype({"i4": "f8", "f4": "f4", "c8": "c8"}.get(signal.dtype.str[1:], "f4")) if way == "S" else signal.copy()
        for (_, begin), (end, _) in zip(GAPS, GAPS[1:]) if way != "E" else ():
            wanted[begin:end] = 0 if way == "Z" else np.nan * (1 + 1j) if np.iscomplexobj(wanted) else np.nan
        run(ranks, "o.h5", "--input", f"{given}?.h5:/data", "--gaps", gaps, *more)
        text = f"{given}, {gaps}: {kind}, {storage}, {ranks} ranks {more}"
        check(np.array_equal(result("o.h5"), single(wanted, layout, more), equal_nan=True), text)
        check(way == "S" or not np.isnan(result("o.h5")).any(), f"no NaN: {text}")


fast, chunks = dict(layout="fast"), dict(chunks=(130, 3), maxshape=(None, CHANNELS), compression="gzip", shuffle=True)
for case in ((3, "int16", {}, "S"), (1, "int16", {}, "EZ"), (1, "int16", fast, "ESZ"), (1, "float", {}, "S"), (1, "one", {}, "ES"),
             (1, "int16", chunks, "SZ"), (3, "int16", chunks, "E"), (1, "swapped", {}, "EZ"), (1, "int32", {}, "S"), (1, "complex", {}, "SZ"),
             (1, "int16", {}, "EZ", ("--io", "collective")), (2, "int16", chunks, "S", ("--io", "collective")),
             (3, "int16", {}, "S", ("--mode", "valid", "--channels", "0:5:2", "--start", "1050", "--count", "400"))):
    same(*case)
small = ("--channels", "1:5:2", "--start", "900", "--count", "3500", "--segment", "256", "--threads", "1")
limit = needed_memory(run(2, "o.h5", "--input", "g?.h5:/data", *small, "--memory", "20M", code=78).stderr)
same(2, "int16", fast, "Z", (*small, "--memory", limit))

# ---- names: in any order, as a list, with blanks; in the order of names if no file has a start time ----
parts("w", signals["int16"], WHOLE)
write("one.h5", signals["int16"], 0)
run(1, "p.h5", "--input", "one.h5:/data")
wanted = result("p.h5")
os.rename("w2.h5", "w 2.h5")
files = ["w4.h5:/data", "w 2.h5:/data", "w0.h5:/data", "w5.h5:/data", "w3.h5:/data", "w1.h5:/data"]
run(2, "o.h5", "--input", *files)
check(np.array_equal(result("o.h5"), wanted), "names in any order, one with a blank: another result")
with h5py.File("w 2.h5", "a") as file:
    file["a dataset\\ b"] = file["data"][...]
run(1, "o.h5", "--input", "w 2.h5:/a dataset\\ b", "--axis", "0")
run(1, "p.h5", "--input", "w 2.h5:/data")
check(np.array_equal(result("o.h5"), result("p.h5")), "a dataset's name with blanks and a backslash: another result")
with open("list", "w") as file:
    file.write("# a list\n\n" + "\n".join(files[:3]) + "\n  w[135].h5:/data  \n")
run(next(ranks), "o.h5", "--input", "@list")
check(np.array_equal(result("o.h5"), wanted), "a list of files: another result")
with open("job.ini", "w") as file:
    file.write("[ols]\ninput = w\\ 2.h5:/data w[013-5].h5:/data\nfilters = taps.h5:/taps\noutput = o.h5\noverwrite = yes\n")
lapwing(2, "run", "job.ini", "--quiet", *further)
check(np.array_equal(result("o.h5"), wanted), "names in a job file: another result")
with h5py.File("o.h5", "r") as file:
    with open("again.ini", "w") as again:
        again.write("[ols]\n" + file.attrs["configuration"])
lapwing(1, "run", "again.ini", "--quiet", "--overwrite", *further)
check(np.array_equal(result("o.h5"), wanted), "the configuration of a result makes another result")
parts("u", signals["int16"], [(0, 2000), (2000, 2001), (2001, N)], start=False)
os.rename("u2.h5", "u10.h5")
run(next(ranks), "o.h5", "--input", "u*.h5:/data")
check(np.array_equal(result("o.h5"), wanted), "files without times are not in the order of names")
run(1, "o.h5", "--input", "u*.h5:/data", "--sample-rate", "250Hz", "--from", "2s", "--to", "3s")
with h5py.File("o.h5", "r") as file:
    check(file["filtered"].shape == (2, 250, CHANNELS) and file["filtered"].attrs["first_input_sample"] == 500 and
          file["filtered"].attrs["sample_rate_hz"] == 250, "a piece by time with --sample-rate: wrong shape or attributes")

# ---- pieces by time ----
for times, first, n in ((("--from", "2023-01-01T00:00:02", "--to", "2023-01-01T00:00:04.001"), 1000, 1001),
                        (("--from", "3s"), 1500, N - 1500), (("--to", "0.05min"), 0, 1500)):
    run(next(ranks), "o.h5", "--input", *files, *times)
    run(1, "p.h5", "--input", "one.h5:/data", "--start", first, "--count", n)
    check(np.array_equal(result("o.h5"), result("p.h5")), f"{times}")
for times, code in ((("--from", "2022-12-31T23:59:59"), 78), (("--to", "13s"), 78), (("--from", "noon"), 2), (("--from", "4s", "--to", "3s"), 78),
                    (("--from", "3s", "--count", "7"), 2)):
    check(times[0] in run(next(ranks), "o.h5", "--input", *files, *times, code=code).stderr, f"{times} is named")
run(next(ranks), "o.h5", "--input", *files, "--start", "3s", "--count", "0.05min")
run(1, "p.h5", "--input", "one.h5:/data", "--start", 1500, "--count", 1500)
check(np.array_equal(result("o.h5"), result("p.h5")), "--start and --count in seconds: another result")
for times, says in ((("--count", "12.1s"), "--count 12.1s: only 6000 of 6000"), (("--start", "12s"), "--start 12s is not in 0..5999"),
                    (("--count", "1us"), "--count 1us is less than a sample at 500 Hz")):
    check(says in run(next(ranks), "o.h5", "--input", *files, *times, code=78).stderr, f"{times}: {says}")
check("w0.h5:/data (and 5 more files)" in run(next(ranks), "o.h5", "--input", *files, "--to", "13s", code=78).stderr,
      "the message does not name the files")
run(1, "o.h5", "--input", "w0.h5:/data", "w1.h5:/data")
with h5py.File("o.h5", "r") as file:
    check(file.attrs["input"] == "w0.h5:/data (and 1 more file)", f"the attribute input is {file.attrs['input']}")

# ---- channels by coordinate ----
for coordinates, wanted_channels in ((("--distance", "4:7"), "2:4"), (("--distance", ":2"), "0:2"), (("--distance", "0.005km:"), "3:5")):
    run(1, "o.h5", "--input", "one.h5:/data", "--channel-spacing", "2", *coordinates)
    run(1, "p.h5", "--input", "one.h5:/data", "--channels", wanted_channels)
    check(np.array_equal(result("o.h5"), result("p.h5")), f"{coordinates}")
run(1, "o.h5", "--input", "one.h5:/data", "--channel-spacing", "2", "--distance", "100:200", code=78)
run(1, "o.h5", "--input", "one.h5:/data", "--frequency", "100:200", code=78)
run(1, "o.h5", "--input", "one.h5:/data", "--channel-spacing", "2", "--distance", "3", code=2)

# ---- each ----
parts("g", signals["int16"], GAPS)
lapwing(2, "ols", "--input", "g?.h5:/data", "--filters", "taps.h5:/taps", "--output", "each", "--each", "stretch", "--quiet", *further)
check(sorted(os.listdir("each")) == ["g0.h5", "g1.h5", "g2.h5", "g3.h5"], f"{os.listdir('each')}")
parts("w", signals["int16"], WHOLE)
os.rename("w 2.h5", "x.h5")
lapwing(next(ranks), "ols", "--input", "w[0-25].h5:/data", "--filters", "taps.h5:/taps", "--output", "stretches", "--each", "stretch", "--quiet", *further)
check(sorted(os.listdir("stretches")) == ["w0.h5", "w5.h5"], f"{os.listdir('stretches')}")
run(1, "o.h5", "--input", "w0.h5:/data", "w1.h5:/data", "w2.h5:/data")
check(np.array_equal(result("stretches/w0.h5"), result("o.h5")), "the result of a stretch is not that of its files alone")
with open("gbad.h5", "w") as file:
    file.write("no archive")
for part, made in (("0/2", ["g0.h5", "g1.h5"]), ("1/2", ["g0.h5", "g1.h5", "g2.h5", "g3.h5"])):
    said = lapwing(1, "ols", "--input", "g*.h5:/data", "--filters", "taps.h5:/taps", "--output", "files/{}.h5".replace("files/", "f-"),
                   "--each", "file", "--part", part, "--quiet", *further, code=0 if part == "0/2" else 65)
    there = sorted(name[2:] for name in os.listdir(".") if name.startswith("f-"))
    check(there == made, f"part {part}: {there}")
check("gbad.h5" in said.stderr and "1 of 3" in said.stderr, f"the bad file is not named: {said.stderr}")
said = lapwing(1, "plan", "ols", "--input", "g[0-3].h5:/data", "--filters", "taps.h5:/taps", "--output", "f", "--each", "file", "--part", "1/2")
check("4, of which 2 in this part" in said.stdout and "f/g2.h5" in said.stdout, f"the plan of a part: {said.stdout[:300]}")
before = os.stat("f-g0.h5").st_mtime_ns
os.remove("f-g1.h5")
os.remove("gbad.h5")
lapwing(next(ranks), "ols", "--input", "g*.h5:/data", "--filters", "taps.h5:/taps", "--output", "f-{}.h5", "--each", "file", "--quiet", *further)
check(os.stat("f-g0.h5").st_mtime_ns == before and os.path.exists("f-g1.h5"),
      "an existing result was made again, or the missing one was not made")
run(1, "o.h5", "--input", "g1.h5:/data")
check(np.array_equal(result("f-g1.h5"), result("o.h5")), "the result of a single file differs")
os.remove("f-g1.h5")        # another run seems to write it: see the lock below
with open("f-g1.h5.lapwing-part", "w") as held:
    fcntl.flock(held, fcntl.LOCK_EX)
    said = lapwing(2, "ols", "--input", "g*.h5:/data", "--filters", "taps.h5:/taps", "--output", "f-{}.h5", "--each", "file", *further)
    check("f-g1.h5: another run is writing it: left to it" in said.stderr, f"a result of another run: {said.stderr}")
os.remove("f-g1.h5.lapwing-part")
lengths = {}
for name in ("g0", "g1", "g2", "g3"):
    with h5py.File(f"{name}.h5") as file:
        lengths[name] = max(file["data"].shape)
with h5py.File("long.h5", "w") as file:
    file["taps"] = np.ones(sorted(lengths.values())[1], "f4")
said = lapwing(2, "ols", "--input", "g*.h5:/data", "--filters", "long.h5:/taps", "--output", "valid", "--each", "file", "--mode", "valid",
               *further, code=78)
fitting = sorted(f"{name}.h5" for name in lengths if lengths[name] >= sorted(lengths.values())[1])
check(sorted(os.listdir("valid")) == fitting and f"{4 - len(fitting)} of 4 results could not be made" in said.stderr,
      f"inputs that are too short: {os.listdir('valid')}, {said.stderr}")
for name in ("all.h5", "all.fits"):
    said = lapwing(1, "ols", "--input", "g*.h5:/data", "--filters", "taps.h5:/taps", "--output", name, "--each", "file", code=2)
    check("names a folder" in said.stderr and not os.path.exists(name), f"a file's name for a folder: {said.stderr}")
said = lapwing(1, "ols", "--input", "g0.h5:/data", "--filters", "taps.h5:/taps", "--output", "picture.png", *further, code=2)
check("name it picture.h5" in said.stderr and not os.path.exists("picture.png"), f"a picture's name: {said.stderr}")
os.mkdir("other")
os.rename("g1.h5", "other/g0.h5")
said = lapwing(1, "ols", "--input", "g0.h5:/data", "other/g0.h5:/data", "--filters", "taps.h5:/taps", "--output", "twice", "--each", "file",
               code=2)
check("twice/g0.h5" in said.stderr, f"two results of one name: {said.stderr}")
for part in ("2/2", "-1/2", "1", "0/0", "x"):
    run(1, "z", "--input", "g0.h5:/data", "--each", "file", "--part", part, code=2)
run(1, "z", "--input", "g0.h5:/data", "--part", "0/2", code=2)

# ---- the plan of each ----
def rows(text):
    """The rows of a plan by name: those of the largest result, and those of all results."""
    return [{line[:16].strip(): line[16:] for line in part.splitlines()} for part in text.split("all results")]


def bytes_of(row):
    value, unit = row.split(",")[0].split(" ")[:2]
    return float(value) * 1024 ** ("B", "KiB", "MiB").index(unit)


lengths = [400 + 50 * (7 * i % 40) for i in range(40)]      # more files than are planned one by one, with as many sizes
for i, length in enumerate(lengths):
    write(f"m{i:02}.h5", signals["int16"][:length], 0, start=False)
every = ("--input", "m??.h5:/data", "--filters", "taps.h5:/taps", "--output", "new", "--each", "file")
largest = f"new/m{np.argmax(lengths):02}.h5"
for n_ranks, part, of in ((1, slice(0, 40), ()), (2, slice(30, 40), ("--part", "3/4")), (1, slice(0, 40), ("--measure",))):
    plan, total = rows(lapwing(n_ranks, "plan", "ols", *every, *of, "--quiet").stdout)
    n = sum(lengths[part]) * CHANNELS
    check(abs(bytes_of(total["reads"]) / (2 * n) - 1) < 0.01, f"{of}: {total['reads']} of {2 * n} are read")
    check(abs(bytes_of(total["writes"]) / (8 * n) - 1) < 0.01, f"{of}: {total['writes']} of {8 * n} are written")
    check(bytes_of(total["host memory"]) >= bytes_of(plan["host memory"]), f"{of}: memory {total['host memory']}")
    check("part" in of or len(of) > 1 or plan["plan of"] == largest, f"{of}: the largest is {plan['plan of']}")
    check(("measured" if "--measure" in of else "time") in total and "Slurm" in total and "Slurm" not in plan, f"{of}: {total}")
    check(not os.path.exists("new"), f"{of}: a plan leaves nothing")
parts("k", signals["int16"], GAPS)
stretches = ("k?.h5:/data", *every[2:5], "k-{}.h5", "--each", "stretch", "--quiet")
plan, total = rows(lapwing(1, "plan", "ols", "--input", *stretches).stdout)
check(plan["plan of"] == "k-k2.h5" and "4" in total, f"the largest stretch: {plan}, {total}")
said = lapwing(1, "plan", "ols", "--input", *stretches, "--part", "0/9").stdout
check(said == "results         4, of which 0 in this part, one after the other\n", f"a part without results: {said}")
plan, total = rows(lapwing(next(ranks), "plan", "sfft", *every[:2], *every[4:], "--sparsity", "3", "--quiet").stdout)
run(1, "o.h5", "--input", "m00.h5:/data", "--sparsity", "3", job="sfft", filters=())
with h5py.File("o.h5", "r") as file:
    n = len(lengths) * CHANNELS * (3 * file["spectrum"].dtype.itemsize + file["channels"].dtype.itemsize)
check(abs(bytes_of(total["writes"]) / n - 1) < 0.01 and "at most" in total["writes"], f"the most lines and channels: {total['writes']} of {n}")
os.rename("m07.h5", "m07.data")
with open("m07.h5", "w") as file:
    file.write("no archive")
said = lapwing(next(ranks), "plan", "ols", *every, "--quiet", code=65)
check("m07.h5" in said.stderr and "1 of 40 results could not be planned" in said.stderr, f"a damaged input: {said.stderr}")
check(abs(bytes_of(rows(said.stdout)[1]["reads"]) / (2 * CHANNELS * (sum(lengths) - lengths[7])) - 1) < 0.01, f"the others: {said.stdout}")
with h5py.File("long.h5", "w") as file:
    file["taps"] = np.ones(600, "f4")
os.replace("m07.data", "m07.h5")
said = lapwing(1, "plan", "ols", *every[:3], "long.h5:/taps", *every[4:], "--mode", "valid", "--quiet", code=78)
check("4 of 40 results could not be planned" in said.stderr, f"the shortest are too short: {said.stderr}")

# ---- images along their rows, and the sparse transform ----
sky = random.standard_normal((300, 40)).astype("f4")
for name, first, last in (("i0", 0, 100), ("i1", 100, 170), ("i2", 170, 300)):
    write(f"{name}.h5", sky[first:last], first, start=False)
write("sky.h5", sky, 0, start=False)
run(1, "p.h5", "--input", "sky.h5:/data", job="conv2d", filters=("--kernel", "taps.h5:/kernel"))
for n_ranks in (1, 3) if ALL else (3,):
    run(n_ranks, "o.h5", "--input", "i?.h5:/data", job="conv2d", filters=("--kernel", "taps.h5:/kernel"))
    check(np.array_equal(result("o.h5", "convolved"), result("p.h5", "convolved")), f"rows of images, {n_ranks} ranks")
os.mkdir("skies")
lapwing(1, "conv2d", "--input", "i[01].h5:/data", "--kernel", "taps.h5:/kernel", "--output", "skies/{}.fits", "--each", "file", "--quiet")
check(sorted(os.listdir("skies")) == ["i0.fits", "i1.fits"], f"images in FITS: {os.listdir('skies')}")
tone = (1000 * np.cos(2 * np.pi * 1234 * np.arange(1 << 14) / (1 << 14))).astype("f4")
for i in range(4):
    write(f"s{i}.h5", tone[i << 12:(i + 1) << 12], i << 12)
write("tone.h5", tone, 0)
run(1, "p.h5", "--input", "tone.h5:/data", "--sparsity", 2, job="sfft", filters=())
for n_ranks, io in ((1, "auto"), (2, "collective"), (2, "auto"), (1, "collective"))[:None if ALL else 2]:
    run(n_ranks, "o.h5", "--input", "s?.h5:/data", "--sparsity", 2, "--io", io, job="sfft", filters=())
    check(np.array_equal(result("o.h5", "spectrum"), result("p.h5", "spectrum")), f"sfft, {n_ranks} ranks, {io}")
os.remove("s2.h5")
said = run(next(ranks), "o.h5", "--input", "s?.h5:/data", "--sparsity", 2, job="sfft", filters=(), code=65)
check("--gaps zero" in said.stderr, said.stderr)
run(next(ranks), "o.h5", "--input", "s?.h5:/data", "--sparsity", 2, "--gaps", "zero", job="sfft", filters=())

# ---- files that do not belong together ----
write("a.h5", signals["int16"][:100], 0)
write("b.h5", signals["int16"][100:200, :3], 100)
write("c.h5", signals["float"][100:200], 100)
for other, word in (("b", "dimension 1"), ("c", "the type")):
    said = run(next(ranks), "o.h5", "--input", "a.h5:/data", f"{other}.h5:/data", code=65)
    check(word in said.stderr and "a.h5" in said.stderr and f"{other}.h5" in said.stderr, said.stderr)
said = run(next(ranks), "o.h5", "--input", "g0.h5:/data", "g2.h5:/data", "--gaps", "error", code=65)
check("400 samples" in said.stderr and "2023-01-01T00:00:02 to 2023-01-01T00:00:02.8" in said.stderr, said.stderr)
check("no file matches" in run(next(ranks), "o.h5", "--input", "nothing*.h5:/data", code=74).stderr,
      "a pattern without files: the message does not say so")
check("no-list" in run(next(ranks), "o.h5", "--input", "@no-list", code=74).stderr, "a missing list: the message does not name it")
check("also the input" in run(1, "g2.h5", "--input", "g0.h5:/data", "g2.h5:/data", code=2).stderr,
      "an output that is also an input is not refused")
run(next(ranks), "o.h5", "--input", "g0.h5:/data", "missing.h5:/data", code=74)
run(next(ranks), "o.h5", "--input", "g0.h5:/data", "g2.h5:/nothing", code=65)


# ---- files of different detectors, and samples that several files have ----
def strain(name, detector, first):
    with h5py.File(name, "w") as file:
        data = file.create_dataset("strain/Strain", data=signals["float"][first:first + 1000, 0])
        data.attrs.update(Xstart=1126259446 + first / RATE, Xspacing=1 / RATE, Xunits="second", Xlabel="GPS time")
        file["meta/GPSstart"] = 1126259446
        if detector:
            file["meta/Detector"] = detector


for name, detector, first in ("h.h5", "H1", 0), ("l.h5", "L1", 0), ("h2.h5", "H1", 1000), ("x.h5", None, 2000):
    strain(name, detector, first)
said = run(next(ranks), "o.h5", "--input", "h.h5", "l.h5", code=65).stderr
check("'h.h5' and 'l.h5' are not one axis: the detector is H1 in the first and L1 in the second" in said, said)
run(next(ranks), "o.h5", "--input", "h.h5", "h2.h5", "x.h5")
check("recorded by  detector H1" in lapwing(1, "info", "h.h5").stdout, "info does not name the detector")
for name in "hl":
    run(1, f"{name}-out.h5", "--input", f"{name}.h5", "--filters", "taps.h5:/one", filters=())
said = run(1, "o.h5", "--input", "h-out.h5:/filtered", "l-out.h5:/filtered", code=65).stderr
check("the detector is H1 in the first and L1 in the second" in said, f"the detector of a result is not checked: {said}")


def overlapping(changed, layout):
    """Three files: the second shares 200 samples with the first, the third lies within the first. The samples `changed` differ."""
    for at, value in changed:
        others[at] = value
    options = chunks if layout == "chunked" else {"layout": layout}
    write("v0.h5", there, 0, **options)
    write("v1.h5", others[1800:4000], 1800, **options)
    write("v2.h5", others[500:700], 500, **options)


for n_ranks, layout, at, file in (3, "slow", 1900, "v1.h5"), (1, "fast", 600, "v2.h5"), (2, "chunked", 1900, "v1.h5"):
    there, others = signals["float"][:2000].copy(), signals["float"][:4000].copy()
    there[1850, 1] = others[1850, 1] = np.nan
    overlapping([], layout)
    same_layout = "fast" if layout == "fast" else "slow"
    first = np.concatenate([there, others[2000:]])
    run(3 if ALL else n_ranks, "o.h5", "--input", "v2.h5:/data", "v0.h5:/data", "v1.h5:/data")
    check(np.array_equal(result("o.h5"), single(first, same_layout), equal_nan=True), f"{layout}: the same samples")
    others = signals["float"][:4000].copy()
    others[1850, 1] = np.nan
    overlapping([((at, 3), 7), ((at + 50, 0), 8)], layout)
    for n_ranks in (1, 2) if ALL else (next(ranks),):
        said = run(n_ranks, "o.h5", "--input", "v?.h5:/data", code=65).stderr
        check("'v0.h5'" in said and f"'{file}'" in said and f"sample {at} of channel 3" in said and f"{there[at, 3]:.9g} in the first, 7" in
              said and "--overlap first or last" in said, f"{layout}, {n_ranks} ranks: {said}")
    last = others.copy()
    last[:500], last[700:1800] = there[:500], there[700:1800]
    for choice, wanted in ("first", np.concatenate([there, others[2000:]])), ("last", last):
        run(next(ranks), "o.h5", "--input", "v?.h5:/data", "--overlap", choice)
        check(np.array_equal(result("o.h5"), single(wanted, same_layout), equal_nan=True), f"{layout}: --overlap {choice}")
    os.remove("v2.h5")
    lapwing(next(ranks), "ols", "--input", "v?.h5:/data", "--filters", "taps.h5:/taps", "--output", "v", "--each", "stretch", "--overlap", "last",
            "--overwrite", "--quiet")
    check(sorted(os.listdir("v")) == ["v0.h5"], "overlapping files are not one stretch")
finish()
