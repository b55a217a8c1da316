"""Windows of an archive: outputs of --start, --count, --from, --to and rows of images are those of a run over the whole archive,
since samples beyond the window are read; boundaries apply at the ends of the data only. --isolated treats the window as all of
the data. LW_TEST_ALL tries every window with all options; otherwise some by turns.

    windows.py LAPWING MPIEXEC"""

import itertools
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import ALL, as_arguments, check, finish, h5py, lapwing, np, numbers_of_ranks, random

folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
N, CHANNELS, TAPS, RATE = 3000, 4, 65, 500
ranks = numbers_of_ranks(1, 1, 1, 3, few=(1, 1, 1, 1, 3, 1, 1, 1))


def write(name, samples, first=0):
    with h5py.File(name, "w") as file:
        data = file.create_dataset("x", data=samples)
        data.dims[0].label = "time"
        data.attrs.update(sample_rate_hz=float(RATE), start_time=first / RATE, start_unit="s since 2023-01-01T00:00:00")


x = random.standard_normal((N, CHANNELS))
image = random.standard_normal((120, 50))
write("all.h5", x)
for i, (first, last) in enumerate(((0, 900), (900, 1000), (1000, 2200), (2200, N))):
    write(f"part{i}.h5", x[first:last], first)
with h5py.File("in.h5", "w") as file:
    file["image"], file["taps"], file["kernel"] = image, random.standard_normal((2, TAPS)), random.standard_normal((14, 9))


def run(job="ols", code=0, **options):
    given = {"precision": "double", "output": "o.h5", "overwrite": True, **options}
    if job == "ols":
        given = {"input": "all.h5", "filters": "in.h5:/taps", **given}
    else:
        given = {"input": "in.h5:/image", "kernel": "in.h5:/kernel", **given}
    return lapwing(next(ranks), job, *as_arguments(given), code=code)


def read(path, name="o.h5"):
    with h5py.File(name) as file:
        return file[path][()], dict(file[path].attrs)


def same(name, path, axis, found, whole):
    """Compare the rows of a window with those of the whole run at the same places. @return number of rows"""
    y, about = found
    all_y, all_about = whole
    first = "first_input_sample" if "first_input_sample" in about else "first_input_row"
    lag = about[first] - all_about[first]
    part = np.take(all_y, np.arange(lag, lag + y.shape[axis]), axis, mode="clip")
    error = np.nanmax(np.abs(y - part)) if y.size else 0
    check(np.array_equal(np.isnan(y), np.isnan(part)) and error < 1e-12, f"{name}: {path} is off by {error}, {lag} behind")
    return y.shape[axis]


def some(windows, number):
    """Windows by turns: so many of them are tried with the next options."""
    turns = itertools.cycle(windows)
    while True:
        yield windows if ALL else list(itertools.islice(turns, number))


def series():
    windows = some([("all.h5", 1000, 700), ("part?.h5", 890, 120), ("all.h5", 0, 50), ("part?.h5", N - 40, 40), ("all.h5", 10, N - 20)], 3)
    for options in ({"mode": "same"}, {"mode": "full"}, {"mode": "valid"}, {"boundary": "edge"}, {"boundary": "wrap"}, {"boundary": "reflect"},
                    {"reference": "first"}, {"reference": "last", "correlate": True}):
        run(**options)
        whole = read("filtered")
        mode, lag = options.get("mode", "same"), {"first": 32, "last": 32}.get(options.get("reference"), 0)
        for files, start, count in next(windows):
            run(input=files, start=start, count=count, **options)
            found = read("filtered")
            name = f"{options}, {count} samples of {files} from {start} on"
            n = same(name, "/filtered", 1, found, whole)
            if not lag:
                before, after = ((start == 0) * 32, (start + count == N) * 32) if mode == "full" else \
                    (-max(0, 32 - start), -max(0, 32 - (N - start - count))) if mode == "valid" else (0, 0)
                check(n == count + before + after and found[1]["first_input_sample"] == start - before, f"{name}: {n} outputs")
    run()
    whole = read("filtered")
    run(**{"from": "2023-01-01T00:00:02", "to": "2023-01-01T00:00:04"})
    check(same("by time", "/filtered", 1, read("filtered"), whole) == 1000, "a window of 2 s by time has other rows")
    with h5py.File("o.h5") as file:
        check(abs(file["time"][0] - 2) < 1e-9, f"they begin at {file['time'][0]}")
    verify("a window")


def verify(name):
    done = lapwing(1, "verify", "o.h5", "--sample", 5000)
    check(" 0  0.0" in done.stdout, f"{name}: {done.stdout}")


def isolated():
    """The window counts as all of the data. That was so before the option existed, and results of that time are verified so."""
    for options in ({"mode": "full"}, {"boundary": "reflect"}, {"mode": "valid"}):
        write("alone.h5", x[1000:1700])
        run(start=1000, count=700, isolated=True, **options)
        y, about = read("filtered")
        run(input="alone.h5", output="p.h5", **options)
        wanted, its = read("filtered", "p.h5")
        check(np.array_equal(y, wanted) and about["first_input_sample"] == its["first_input_sample"] + 1000, f"isolated: {options}")
    with h5py.File("o.h5", "r+") as file:
        text = file.attrs["configuration"]
        check("isolated = yes\n" in text, f"the configuration: {text}")
        file.attrs["configuration"] = text.replace("isolated = yes\n", "")
    verify("of an earlier version")
    run(start=1000, count=700)
    with h5py.File("o.h5", "r+") as file:
        file.attrs["configuration"] = file.attrs["configuration"].replace("isolated = no\n", "isolated = yes\n")
    lapwing(1, "verify", "o.h5", code=65)
    run(mode="valid", isolated=True, count=50, code=78)
    check("the filters have 65 taps and the signal only 50 samples" in run(mode="valid", isolated=True, count=50, code=78).stderr,
          "a window shorter than the filter is not refused")
    check("no output has its time in samples 0..20" in run(mode="valid", count=21, code=78).stderr,
          "a window without outputs is not refused")


def products():
    """Noise is measured in the window, and the spectrum is that of the window; peaks are those of the whole run there."""
    run(start=1000, count=700, products="filtered,peaks,best,blocks", threshold=2.5, noise="energy", blocks="100:max")
    (rows, _), (best, _), (most, _) = (read(path) for path in ("peaks", "best/value", "blocks/max"))
    run(products="filtered,peaks,best,blocks", threshold=2.5, noise="energy", blocks="100:max")
    (all_rows, _), (all_best, _), (all_most, _) = (read(path) for path in ("peaks", "best/value", "blocks/max"))
    inside = all_rows[(all_rows["index"] >= 1000) & (all_rows["index"] < 1700)]
    check(len(rows) > 3 and np.array_equal(rows["index"] + 1000, inside["index"]) and np.allclose(rows["re"], inside["re"]) and
          np.allclose(rows["time"], inside["time"]), f"peaks: {rows}, expected {inside}")
    windows = some(list(itertools.product(("all.h5", "part?.h5"), ((1000, 700), (0, 100), (N - 200, 200)))), 4)
    for options in ({"cluster": 150}, {"cluster": 30, "cluster_filters": True}, {"cluster": 10 ** 6}):
        given = {"products": "peaks", "threshold": 1.5, "noise": "energy", **options}
        run(**given)
        whole = read("peaks")[0]
        for files, (start, count) in next(windows):
            run(input=files, start=start, count=count, **given)
            rows = read("peaks")[0]
            inside = whole[(whole["index"] >= start) & (whole["index"] < start + count)]
            same = [rows["index"] + start, *(rows[c] for c in ("channel", "filter", "cluster_size"))]
            check(all(np.array_equal(a, inside[c]) for a, c in zip(same, ("index", "channel", "filter", "cluster_size"))) and
                  np.allclose(rows["time"], inside["time"]), f"peaks near the ends, {options} {start}: {len(rows)}, expected {len(inside)}")
    run(start=1000, count=700, products="peaks", threshold=1.5, noise="energy", cluster=40)
    verify("peaks of a window")
    check(np.allclose(best, all_best[1000:1700]) and np.allclose(most, all_most[:, 10:17]),
          "/best or /blocks differ from those of the whole run")
    run(channels=1, start=500, count=2000, whiten="0.2", products="filtered")
    psd, _ = read("psd")
    run(channels=1, start=500, count=2000, whiten="0.2", isolated=True)
    check(np.array_equal(psd, read("psd")[0]), "the spectrum is not that of the window")


def images():
    windows = some([(30, 40), (0, 9), (110, 10)], 2)
    for options in ({}, {"mode": "full"}, {"mode": "valid"}, {"boundary": "constant=3"}, {"boundary": "wrap"}, {"origin": "0,8"}):
        run("conv2d", **options)
        whole = read("convolved")
        for start, count in next(windows):
            run("conv2d", start=start, count=count, **options)
            n = same(f"{options}, {count} rows from {start} on", "/convolved", 0, read("convolved"), whole)
            check(n > 0 and (n == count or options.get("mode")), f"{n} rows of {count}")
    run("conv2d", start=30, count=40, isolated=True)
    alone = read("convolved")[0]
    with h5py.File("in.h5", "r+") as file:
        file["part"] = image[30:70]
    run("conv2d", input="in.h5:/part")
    check(np.array_equal(alone, read("convolved")[0]), "--isolated rows differ from those of an image of these rows")
    run("conv2d", start=30, count=40, products="convolved,peaks", threshold=3, noise="energy")
    verify("rows")
    given = {"products": "peaks", "threshold": 1.5, "noise": "energy", "cluster": 8}
    run("conv2d", **given)
    whole = read("peaks")[0]
    run("conv2d", start=30, count=40, **given)
    rows, inside = read("peaks")[0], whole[(whole["row"] >= 30) & (whole["row"] < 70)]
    check(len(rows) > 2 and np.array_equal(rows["row"] + 30, inside["row"]) and np.array_equal(rows["column"], inside["column"]),
          "the sources of a window differ from those of the whole image")
    verify("sources of rows")


def each():
    """Results of single files are pieces of the result of all files, up to gaps. The order of their names differs from the order
    of times."""
    pieces = {"z": (0, 900), "c": (900, 1000), "m": (1000, 2200), "b": (2200, 2210), "a": (2210, N), "gone": (N + 5, N + 400)}
    longer = np.concatenate([x, random.standard_normal((400, CHANNELS))])
    for name, (first, last) in pieces.items():
        write(f"f-{name}.h5", longer[first:last], first)
    with h5py.File("f-other.h5", "w") as file:                  # this file begins where another one ends, but has other channels
        file["x"] = x[:50, :2]
        file["x"].attrs.update(sample_rate_hz=float(RATE), start_time=(N + 400) / RATE, start_unit="s since 2023-01-01T00:00:00")
        file["x"].dims[0].label = "time"
    with h5py.File("in.h5", "r+") as file:
        file["long"] = random.standard_normal(211)              # the filter is longer than two of the files
    run(filters="in.h5:/long", boundary="edge")
    whole = read("filtered")[0]
    given = {"input": "f-*.h5", "filters": "in.h5:/long", "boundary": "edge", "each": "file", "output": "made/{}.h5"}
    os.mkdir("made")
    run(**given)
    for name, (first, last) in pieces.items():
        y, about = read("filtered", f"made/f-{name}.h5")
        if name != "gone":
            check(y.shape == (last - first, CHANNELS) and np.abs(y - whole[first:last]).max() < 1e-12, f"{name}: off by "
                  f"{np.abs(y - whole[first:last]).max()}")
        check(about["first_input_sample"] == 0 and abs(about["start_time"] - first / RATE) < 1e-9, f"{name}: {about}")
    run(input="f-gone.h5", filters="in.h5:/long", boundary="edge")
    check(np.array_equal(read("filtered")[0], read("filtered", "made/f-gone.h5")[0]),
          "a file after a gap gives another result than alone")
    for name in ("c", "a", "gone"):
        done = lapwing(1, "verify", f"made/f-{name}.h5", "--sample", 5000)
        check(" 0  0.0" in done.stdout, f"{name}: {done.stdout}")
    with h5py.File("made/f-c.h5") as file, open("again.ini", "w") as job:
        job.write("[ols]\n" + file.attrs["configuration"])
        check(file.attrs["input"] == "f-c.h5:/x" or file.attrs["input"] == "f-c.h5", f"the input is {file.attrs['input']}")
    lapwing(2, "run", "again.ini", "--output", "again.h5")
    check(np.array_equal(read("filtered", "again.h5")[0], read("filtered", "made/f-c.h5")[0]),
          "the configuration of a result makes another result")
    os.mkdir("one")
    run(**{**given, "output": "one/{}.h5", "part": "0/7"})
    check(os.listdir("one") == ["f-a.h5"] and np.array_equal(read("filtered", "one/f-a.h5")[0], read("filtered", "made/f-a.h5")[0]),
          "a part of the files gives other results")
    os.mkdir("alone")
    run(**{**given, "output": "alone/{}.h5", "isolated": True})
    run(input="f-m.h5", filters="in.h5:/long", boundary="edge")
    check(np.array_equal(read("filtered", "alone/f-m.h5")[0], read("filtered")[0]),
          "--isolated with --each gives another result than the file alone")
    check("--beside goes without --each" in run(**{**given, "beside": "f-a.h5", "code": 2}).stderr,
          "--beside without --each is not refused")


def long_filters():
    """A filter longer than the samples that are read is reported."""
    for options, is_said in (({"count": 50, "isolated": True}, True), ({"count": 50}, False), ({}, False)):
        done = run(**options)
        check(("the filters are 65 long, and only 50 samples are read" in done.stderr) == is_said, f"{options}: {done.stderr}")
    done = run("conv2d", count=5, isolated=True)
    check("the kernel's columns are 14 long, and only 5 rows are read" in done.stderr, f"rows: {done.stderr}")


for part in (series, isolated, products, images, each, long_filters):
    part()
finish()
