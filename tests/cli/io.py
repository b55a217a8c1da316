"""The way of reading and writing changes no bit: every storage of the input, read and written directly by some threads and by
calls of the libraries, on 1 to 8 ranks (by turns; LW_TEST_ALL: every storage on each). The messages about it are checked, and
`plan --measure` must leave no file.

    io.py LAPWING MPIEXEC"""

import itertools
import os
import re
import tempfile

from tested import ALL, check, finish, lapwing, noise

import h5py
import numpy as np

SAMPLES, CHANNELS, TAPS = 30011, 6, 65


def make_input(folder):
    """The same samples in every storage, with an offset that is aligned to nothing; and filters."""
    x = noise((CHANNELS, SAMPLES), "i2")
    with h5py.File("in.h5", "w", userblock_size=512) as file:
        file["odd"] = np.arange(3, dtype="u1")
        file["contiguous"] = x
        file.create_dataset("chunked", data=x, chunks=(4, 1000))
        file.create_dataset("packed", data=x, chunks=(4, 1000), compression="gzip", shuffle=True, fletcher32=True)
        file.create_dataset("scaled", data=x, chunks=(4, 1000), scaleoffset=0)
        file["complex"] = x[0::2] + 1j * x[1::2]
        file["turned"] = np.ascontiguousarray(x.T)
        file["taps"] = noise((2, TAPS), "f8")
        layout = h5py.VirtualLayout(shape=x.shape, dtype=x.dtype)
        layout[:3] = h5py.VirtualSource("in.h5", "contiguous", shape=x.shape)[:3]
        layout[3:] = h5py.VirtualSource("in.h5", "packed", shape=x.shape)[3:]
        file.create_virtual_dataset("virtual", layout)
        with open("raw", "wb") as raw:
            raw.write(b"head" + x.tobytes())
        file.create_dataset("external", shape=x.shape, dtype=x.dtype, external=[(os.path.join(folder, "raw"), 4, x.nbytes)])


def run(ranks, name, *options, code=0):
    """The samples of the result, and the log."""
    done = lapwing(ranks, "ols", "--input", "in.h5:/" + name, "--filters", "in.h5:/taps", "--axis", 0 if name == "turned" else 1,
                   "--mode", "same", "--boundary", "reflect", "--output", "out.h5", "--overwrite", "--threads", 1, *options, code=code)
    if done.returncode:
        return None, done.stderr
    with h5py.File("out.h5") as file:
        return file["filtered"][()], done.stderr


def same_bits():
    """The least memory that suffices makes many rounds."""
    wanted, _ = run(1, "contiguous", "--io", "collective")
    ways = [(3, ("--io-threads", 1)), (8, ("--io-threads", 2, "--split", "axis")), (2, ("--io", "collective"))]
    turns = itertools.cycle([*ways, ways[2]])
    for name in ("contiguous", "chunked", "packed", "scaled", "virtual", "external", "turned", "complex"):
        if name == "complex":
            wanted, _ = run(1, name, "--io", "collective")
        _, said = run(1, name, "--memory", "1M", code=78)
        least = int(re.search(r"needs (\d+)[.\d]* MiB", said).group(1)) + 2
        for ranks, options in ((1, ()), *(ways if ALL else [next(turns)])):
            found, said = run(ranks, name, *options, "--memory", f"{least if ranks == 1 else 200}M")
            found = found.transpose(0, 2, 1) if name == "turned" and found is not None else found
            check(found is not None and np.array_equal(found, wanted), f"{name}: other bits on {ranks} ranks with {options}: {said}")


def way():
    with h5py.File("out.h5") as file:
        return file.attrs["written"].decode()


def what_is_said():
    _, said = run(2, "contiguous", "--io", "direct", "--io-threads", 3)
    check(way() == "direct", f"written: {way()}")
    check("written directly by 3 threads a rank" in said, f"direct: {said}")
    check(re.search(r"(limits this run|no stage limits|too short to name a limit)", said), f"the log does not name a limit: {said}")
    _, said = run(2, "contiguous", "--io", "collective")
    check("directly" not in said, f"collective: {said}")
    check(re.search(r"written by collective calls \(\S+; ranks: 2, each its own part\)", said), f"collective: {said}")
    check(way() == "collective", f"written: {way()}")


def where_not_finite():
    """The log names the first and the last sample that is not finite, with their times if the file has times."""
    x = noise((3, 20000), "f4")
    x[1, 5000:5100] = np.nan
    x[2, 12345] = np.inf
    with h5py.File("in.h5", "r+") as file:
        for name, data in (("gap", x), ("gap_slow", np.ascontiguousarray(x.T)), ("gap_rate", x), ("gap_time", x)):
            file[name] = data
        file["gap_rate"].attrs["sample_rate_hz"] = 1000.0
        file["gap_time"].attrs.update({"sample_rate_hz": 1000.0, "start_time": 1126259446.0, "start_unit": "GPS second"})
    places = {
        "gap": ("sample 5000", "sample 12345"), "gap_slow": ("sample 5000", "sample 12345"),
        "gap_rate": (r"sample 5000 \(5 s\)", r"sample 12345 \(12\.345 s\)"),
        "gap_time": (r"sample 5000 \(2015-09-14T09:50:34 UTC\)", r"sample 12345 \(2015-09-14T09:50:41\.345 UTC\)"),
    }
    for name, (first, last) in places.items():
        for ranks in (1, 4) if ALL else (4,) if name == "gap_slow" else (1,):
            done = lapwing(ranks, "ols", "--input", "in.h5:/" + name, "--filters", "in.h5:/taps", "--axis", int(name != "gap_slow"),
                           "--output", "out.h5", "--overwrite", "--boundary", "wrap")
            said = f"101 samples were not finite: the first is {first}, the last {last}$"
            check(re.search(said, done.stderr, re.M), f"{name} on {ranks} ranks: no '{said}' in {done.stderr}")


def measured():
    """A measured plan reads, computes and writes, and leaves no file; a plan without measurement needs no output."""
    arguments = ["plan", "ols", "--input", "in.h5:/packed", "--filters", "in.h5:/taps", "--axis", 1]
    for ranks in (1, 3) if ALL else (2,):
        done = lapwing(ranks, *arguments, "--measure", "--output", "out.h5")
        found = re.search(r"^measured +about ([\d.e+-]+) s: start [\d.e+-]+ s, rounds [\d.e+-]+ s \(of (\d+), (\d+) were measured\)", done.stdout, re.M)
        check(found and 0 < float(found.group(1)) < 60 and found.group(2) == found.group(3), f"measured: {done.stdout}")
        check(not [name for name in os.listdir() if name.startswith("out")], f"left: {os.listdir()}")
    for ranks in (1, 2) if ALL else (2,):
        done = lapwing(ranks, "plan", "sfft", "--input", "in.h5:/contiguous", "--axis", 1, "--sparsity", 3, "--measure", "--output", "out.h5")
        check(re.search(rf"^measured +about .*, channels .* \(of {CHANNELS}, \d were measured\)", done.stdout, re.M), f"measured: {done.stdout}")
    lapwing(1, *arguments)
    check("--output is missing" in lapwing(1, *arguments, "--measure", code=2).stderr, "--measure without --output is not refused")
    check("No such file" in lapwing(2, *arguments, "--measure", "--output", "no/out.h5", code=74).stderr,
          "--measure with a missing folder is not refused")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    make_input(work)
    measured()
    same_bits()
    what_is_said()
    where_not_finite()
    os.chdir("/")
finish()
