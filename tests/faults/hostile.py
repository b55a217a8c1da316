"""Files, options and job files that no sensible user gives: the documented code, one message, no crash, no wait, and no control
characters on the terminal.

    hostile.py LAPWING MPIEXEC [FOLDER with real data]"""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from tested import LAPWING, MPIEXEC, as_typed, check, finish

import h5py
import numpy as np

USAGE, DATA, IO, CONFIG = 2, 65, 74, 78
os.environ["OMPI_MCA_ess_singleton_isolated"] = "1"     # without mpirun, Open MPI then starts no daemon, which halves the time


def run(*arguments, code=0, says="", ranks=0):
    """Run the program, without mpirun if `ranks` is 0. @return its standard output"""
    command = ([MPIEXEC, "-np", str(ranks)] if ranks else []) + [LAPWING, *as_typed(arguments)[0]]
    try:
        done = subprocess.run(command, capture_output=True, timeout=40, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        check(False, f"{command} hangs")
        return ""
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    check(done.returncode == code, f"{command} ends with {done.returncode}, not {code}: {err}")
    check(says in out + err, f"{command} lacks '{says}': {out + err}")
    check(code == 0 or err.count("lapwing: ") == 1, f"{command} has not one message: {err}")
    raw = [c for c in out + err if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160]
    check(not raw, f"{command} prints {raw}")
    return out + err


def ols(source, filters, *more, **expected):
    return run("ols", "--input", source, "--filters", filters, "--output", "out.h5", "--overwrite", "--quiet", *more, **expected)


def result(name="/filtered"):
    with h5py.File("out.h5") as file:
        return file[name][()], {**file.attrs, **file[name].attrs}


# ---- attributes -----------------------------------------------------------------------------------------------------------

def dimension_labels_and_lists():
    with h5py.File("labels.h5", "w") as file:
        file["h"], file["t"] = np.ones(5), np.arange(200.0) / 50
        file["t"].make_scale("time")
        odd = {"fixed": np.array([b"channel", b"time"]), "numbers": np.arange(2), "one": np.array([b"time"]),
               "many": np.array([b"time"] * 40), "single": "time", "empty": h5py.Empty("S4")}
        for name, labels in odd.items():
            file[name] = np.ones((3, 200))
            file[name].attrs["DIMENSION_LABELS"] = labels
        references = [np.array([file["t"].ref], h5py.ref_dtype)] * 3
        for name, count in (("list1", 1), ("list3", 3), ("list2", 2)):
            lists = np.empty(count, object)
            lists[:] = references[:count]
            file[name] = np.ones((3, 200))
            file[name].attrs.create("DIMENSION_LIST", lists, dtype=h5py.vlen_dtype(h5py.ref_dtype))
        file["list_text"] = np.ones((3, 200))
        file["list_text"].attrs["DIMENSION_LIST"] = np.array([b"t", b"t"])
        file["list_numbers"] = np.ones((3, 200))
        numbers = np.empty(2, object)
        numbers[:] = [np.arange(3, dtype="i4")] * 2
        file["list_numbers"].attrs.create("DIMENSION_LIST", numbers, dtype=h5py.vlen_dtype("i4"))
        named = [name for name in file if file[name].ndim == 2]
    for name in named:
        ols(f"labels.h5:/{name}", "labels.h5:/h", "--axis", "0" if name == "list2" else "1")
    run("plan", "ols", "--input", "labels.h5:/fixed", "--filters", "labels.h5:/h", says="200 samples x 3 channels")
    listed = run("info", "labels.h5")
    check(all("/" + name in listed for name in named), f"info lists {listed}")


def unreadable_attribute():
    """A text attribute in a damaged global heap."""
    with h5py.File("heap.h5", "w") as file:
        file["x"], file["h"] = np.ones(50), np.ones(5)
        file["x"].attrs["unit"] = "m/s"
    with open("heap.h5", "rb") as file:
        data = file.read()
    check(data.count(b"GCOL") == 1, "the file does not have one global heap")
    with open("heap.h5", "wb") as file:
        file.write(data.replace(b"GCOL", b"GC\0L"))
    ols("heap.h5:/x", "heap.h5:/h", code=DATA, says="attribute unit cannot be read")
    run("info", "heap.h5", says="attribute unit cannot be read")


def rate_of_a_group():
    """The rate of a group belongs to its time series, not to its spectra and coordinates."""
    with h5py.File("group.h5", "w") as file:
        file["g/PSD"], file["g/time"], file["g/series"], file["g/one"] = np.ones((1, 30, 4)), np.arange(9.0), np.ones(9), np.ones(1)
        file["g"].attrs["SamplingRate"] = 500
    rows = {line.split()[0]: line for line in run("info", "group.h5").splitlines()}
    check("500 Hz" in rows["/g/series"], rows["/g/series"])
    check(not any("Hz" in rows["/g/" + name] for name in ("PSD", "time", "one")), f"{rows}")


# ---- files ----------------------------------------------------------------------------------------------------------------

def incomplete_files():
    for ranks in (0, 2):
        with h5py.File("incomplete.h5", "w") as file:
            file["x"], file["h"], file["k"] = np.ones((20, 30)), np.ones(5), np.ones((3, 3))
            file.attrs["lapwing_complete"] = 0
        with h5py.File("complete.h5", "w") as file:
            file["x"], file["h"] = np.ones((20, 30)), np.ones(5)
            file.attrs["lapwing_complete"] = 1
        ols("incomplete.h5:/x", "complete.h5:/h", "--axis", "0", code=DATA, says="is incomplete", ranks=ranks)
        ols("complete.h5:/x", "incomplete.h5:/h", "--axis", "0", code=DATA, says="is incomplete", ranks=ranks)
    run("conv2d", "--input", "complete.h5:/x", "--kernel", "incomplete.h5:/k", "--output", "out.h5", code=DATA,
        says="is incomplete")
    run("sfft", "--input", "incomplete.h5:/h", "--sparsity", "1", "--output", "out.h5", code=DATA, says="is incomplete")
    run("info", "incomplete.h5", says="# incomplete")
    check("incomplete:" not in run("info", "complete.h5"), "complete.h5 counts as incomplete")
    ols("complete.h5:/x", "complete.h5:/h", "--axis", "0")


def pipes_and_devices():
    os.mkfifo("pipe")
    with h5py.File("good.h5", "w") as file:
        file["x"], file["h"], file["image"] = np.ones(50), np.ones(5), np.ones((5, 6))
    for name in ("pipe", "/dev/zero"):
        ols(f"{name}:/x", "good.h5:/h", code=IO, says="it is a device or pipe")
        ols("good.h5:/x", f"{name}:/h", code=IO, says="it is a device or pipe")
        run("info", name, code=IO, says="it is a device or pipe")
        run("run", name, code=IO, says="it is a device or pipe")
    run("conv2d", "--input", "good.h5:/image", "--kernel", "pipe:/k", "--output", "out.h5", code=IO, says="device or pipe")
    ols("pipe:/x", "good.h5:/h", code=IO, says="it is a device or pipe", ranks=2)
    run("run", ".", code=IO, says="it is a folder")
    # the message must not call a regular file that cannot be read a "file of another kind"
    ols("/proc/self/mem:/x", "good.h5:/h", code=IO, says="cannot read '/proc/self/mem'")


def virtual_datasets():
    def add(file, name, source, path, shape):
        layout = h5py.VirtualLayout(shape, "f4")
        layout[...] = h5py.VirtualSource(source, path, shape)
        file.create_virtual_dataset(name, layout)
    with h5py.File("one.h5", "w") as one, h5py.File("two.h5", "w") as two:
        one["x"], one["h"] = np.arange(50, dtype="f4"), np.ones(1)
        add(one, "good", "two.h5", "back", (50,))
        add(two, "back", "one.h5", "x", (50,))
        add(one, "self", os.path.abspath("one.h5"), "self", (50,))
        add(one, "dot", ".", "dot", (50,))
        add(one, "there", "two.h5", "and_back", (50,))
        add(two, "and_back", "one.h5", "there", (50,))
        add(one, "absent", "nowhere.h5", "x", (50,))
    for name in ("self", "dot", "there"):
        ols(f"one.h5:/{name}", "one.h5:/h", code=DATA, says="made of itself")
        ols("one.h5:/x", f"one.h5:/{name}", code=DATA, says="made of itself")
    ols("one.h5:/good", "one.h5:/h")
    check(np.array_equal(result()[0], np.arange(50)), "a virtual dataset of a virtual dataset gives other samples")
    ols("one.h5:/absent", "one.h5:/h")
    check(not result()[0].any(), "a virtual dataset without its source is not zero")


def damaged_metadata():
    """HDF5 1.10.8 aborts on a damaged heap of links, and reads beyond its memory if a text is longer than its heap."""
    with h5py.File("whole.h5", "w", libver="latest") as file:
        file["x"], file["h"] = np.ones((3, 200), "f4"), np.ones((2, 5))
        file["x"].dims[0].label, file["x"].dims[1].label = "channel", "time"
        for i in range(20):
            file[f"dataset{i}"] = np.ones(4)
    with open("whole.h5", "rb") as file:
        whole = file.read()
    links, label = whole.index(b"FHDB") + 0x40, whole.rindex(b"channel\0") - 6
    for at in (links, label):
        with open("damaged.h5", "wb") as file:
            file.write(whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1:])
        ols("damaged.h5:/x", "whole.h5:/h", code=DATA)
        run("info", "damaged.h5", code=DATA, says="amaged")
        if at == links:
            ols("whole.h5:/x", "damaged.h5:/h", "--axis", "1", code=DATA, says="amaged", ranks=2)
    # samples in the object's header, fewer than the shape requires: sizes before and at the layout message's data
    with h5py.File("compact.h5", "w") as file:
        space, compact = h5py.h5s.create_simple((50,)), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F64LE, space, compact).write(h5py.h5s.ALL, h5py.h5s.ALL, np.full(50, 1 / 3))
        file["h"] = np.ones(5)
    ols("compact.h5:/x", "compact.h5:/h")
    with open("compact.h5", "rb") as file:
        data = file.read()
    at = data.index(np.full(50, 1 / 3).tobytes()) - 2
    check(data[at:at + 2] == (400).to_bytes(2, "little"), "the file has no compact data of 400 bytes")
    with open("compact.h5", "wb") as file:
        file.write(data[:at] + (8).to_bytes(2, "little") + data[at + 2:])
    ols("compact.h5:/x", "whole.h5:/h", code=DATA, says="fewer than its shape")
    ols("whole.h5:/x", "compact.h5:/x", "--axis", "1", code=DATA, says="fewer than its shape")


# ---- names, options, job files ---------------------------------------------------------------------------------------------

def control_characters():
    escape = "\x1b]0;title\x07\x1b[31mred"
    with h5py.File("names.h5", "w") as file:
        file[escape], file["two\nlines\x9b"], file["h"] = np.ones(5), np.ones(5), np.ones(5)
        file["größe ☃"] = np.ones(5)
        file["größe ☃"].attrs["start_time"], file["größe ☃"].attrs["start_unit"] = 1.0, "s\x1b[2J"
    listed = run("info", "names.h5", says="größe ☃")
    check("\\x1b[31mred" in listed and len(listed.splitlines()) == 4, f"info prints {listed!r}")
    ols("names.h5:/nosuch", "names.h5:/h", code=DATA, says="größe ☃")
    run("ols", f"--start={escape}", code=USAGE, says="\\x1b[31mred")
    run("ols", f"--{escape}", code=USAGE, says="\\x1b[31mred")
    run(escape, code=USAGE, says="\\x1b[31mred")
    run("info", escape, code=IO, says="\\x1b[31mred")
    for text in (f"[{escape}]\n", f"[ols]\n{escape} = 1\n", f"[ols]\nmode = {escape}\n"):
        with open("job.ini", "w") as file:
            file.write(text)
        run("run", "job.ini", code=CONFIG)


def options_given_twice():
    with h5py.File("twice.h5", "w") as file:
        file["x"], file["h"] = np.arange(50.0), np.ones(3)
    ols("twice.h5:/x", "twice.h5:/h", "--mode", "full", "--mode=same", code=USAGE, says="--mode is given twice")
    ols("twice.h5:/x", "twice.h5:/h", "--overwrite", code=USAGE, says="--overwrite is given twice")
    job = "[ols]\ninput = twice.h5:/x\nfilters = twice.h5:/h\noutput = out.h5\noverwrite = yes\nquiet = yes\nmode = full\n"
    for more, code, says in (("", 0, ""), ("mode = same\n", CONFIG, "already set in line"), ("= same\n", CONFIG, "the name of an option is missing"),
                             ("=\n", CONFIG, "the name of an option is missing")):
        with open("job.ini", "w") as file:
            file.write(job + more)
        run("run", "job.ini", code=code, says=says)
    with open("job.ini", "w") as file:
        file.write(job)
    run("run", "job.ini", "--mode", "same")
    check(result()[0].shape == (50,), "the command line does not override the job file")
    run("run", "job.ini", "--mode", "same", "--mode", "full", code=USAGE, says="--mode is given twice")


def sizes_beyond_counting():
    with h5py.File("sizes.h5", "w") as file:
        for name, kind, shape in (("bytes", "f8", (2, 2**61)), ("output", "u1", (2**40, 2**21)), ("row", "f4", (5, 2**29)),
                                  ("elements", "f8", (2**40, 2**40)), ("signal", "u1", (3, 2**59))):
            file.create_dataset(name, shape, kind, chunks=(1, 1024))
        file["k"], file["h"], file["x"] = np.ones((3, 3)), np.ones((5, 9)), np.ones(50)
    for name, code, says in (("bytes", DATA, "64 bits can count"), ("output", CONFIG, "than can be counted"),
                             ("row", CONFIG, "the smallest round needs")):
        run("plan", "conv2d", "--input", f"sizes.h5:/{name}", "--kernel", "sizes.h5:/k", "--memory", "4G", code=code, says=says)
    run("plan", "ols", "--input", "sizes.h5:/signal", "--axis", "1", "--filters", "sizes.h5:/h", code=CONFIG)
    ols("sizes.h5:/x", "sizes.h5:/elements", code=DATA, says="more than any memory holds")


# ---- filters and results ---------------------------------------------------------------------------------------------------

def filters_in_a_column():
    rng = np.random.default_rng(2)
    with h5py.File("column.h5", "w") as file:
        file["x"], file["h"] = rng.standard_normal(500), rng.standard_normal(7)
        file["column"], file["row"] = file["h"][()][:, None], file["h"][()][None]
    found = {}
    for name in ("h", "column", "row"):
        ols("column.h5:/x", f"column.h5:/{name}")
        found[name] = result()[0]
    check(found["h"].shape == (500,) and found["column"].shape == found["row"].shape == (1, 500),
          "results for [M], [M x 1] and [1 x M] have wrong shapes")
    check(all(np.array_equal(y.ravel(), found["h"]) for y in found.values()), "[M], [M x 1] and [1 x M] are not the same filter")


def rates_of_filters():
    with h5py.File("rates.h5", "w") as file:
        for name, attribute, value in (("x", "sample_rate_hz", 500.0), ("dt", "dt", np.float32(0.002)), ("unknown", "note", 1),
                                       ("h100", "sample_rate_hz", 100), ("h500", "sample_rate_hz", 500), ("h", "note", 1)):
            file[name] = np.ones(50)
            file[name].attrs[attribute] = value
    for name in ("x", "dt"):
        ols(f"rates.h5:/{name}", "rates.h5:/h100", code=DATA, says="--allow-rate-mismatch")
        ols(f"rates.h5:/{name}", "rates.h5:/h100", "--allow-rate-mismatch")
        ols(f"rates.h5:/{name}", "rates.h5:/h500")
        ols(f"rates.h5:/{name}", "rates.h5:/h")
    ols("rates.h5:/unknown", "rates.h5:/h100")
    ols("rates.h5:/x", "rates.h5:/h100", code=DATA, says="are for a rate of 100 Hz", ranks=2)


def what_integers_cannot_hold():
    x = np.arange(-500, 500, dtype="i2")
    with h5py.File("loss.h5", "w") as file:
        file["x"], file["image"], file["h"], file["k"] = x, x.reshape(20, 50), np.ones(1), np.ones((1, 1))
        file["nan"] = np.where(np.arange(1000) % 10 == 0, np.nan, 300.0)
    for ranks in (0, 3):
        ols("loss.h5:/x", "loss.h5:/h", "--output-type", "int8", says="744 of the outputs are beyond", ranks=ranks)
        y, about = result()
        check(about["samples_saturated"] == 744 and about["samples_nan_stored_as_zero"] == 0, f"{about}")
        check(np.array_equal(y, np.clip(x, -128, 127)), "saturated values differ from clipped ones")
    ols("loss.h5:/nan", "loss.h5:/h", "--output-type", "int8", says="100 of the outputs are not numbers", ranks=2)
    _, about = result()
    check(about["samples_saturated"] == 900 and about["samples_nan_stored_as_zero"] == 100, f"{about}")
    run("conv2d", "--input", "loss.h5:/image", "--kernel", "loss.h5:/k", "--output", "out.h5", "--overwrite", "--quiet",
        "--output-type", "uint8", says="744 of the outputs", ranks=2)
    check(result("/convolved")[1]["samples_saturated"] == 744, "an image: the number of saturated samples is wrong")
    check("beyond" not in ols("loss.h5:/x", "loss.h5:/h", "--output-type", "input"), "a warning although int16 holds all samples")
    check(result()[1]["samples_saturated"] == 0, "int16: saturated samples are counted although there are none")
    ols("loss.h5:/x", "loss.h5:/h")
    check("samples_saturated" not in result()[1], "a float32 result counts saturated samples")
    ols("loss.h5:/x", "loss.h5:/h", "--output-type", "float16", "--output-scale", "0.001",
        says="869 of the outputs are beyond the range of float16", ranks=2)
    check(result()[1]["samples_saturated"] == 869 and result()[0].dtype == "<f2",
          "float16: the number of saturated samples or the type is wrong")
    check("not numbers" not in ols("loss.h5:/nan", "loss.h5:/h", "--output-type", "float16"),
          "a warning although float16 holds NaN")
    check(np.isnan(result()[0]).sum() == 100 and "samples_nan_stored_as_zero" not in result()[1],
          "float16: NaN are missing, or counted as stored zeros")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for case in (dimension_labels_and_lists, unreadable_attribute, rate_of_a_group, incomplete_files, pipes_and_devices,
                 virtual_datasets, damaged_metadata, control_characters, options_given_twice, sizes_beyond_counting,
                 filters_in_a_column, rates_of_filters, what_integers_cannot_hold):
        case()
    os.chdir("/")
finish()
