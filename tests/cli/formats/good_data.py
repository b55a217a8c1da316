"""--mask good-data=TESTS: the quality that GWOSC's files store for their own samples masks like a dataset of marks.

    good_data.py LAPWING MPIEXEC"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tested import check, finish, lapwing, random
from said import filtered

import h5py
import numpy as np


def gwosc(path, strain, start, data_quality, injections):
    rate, seconds = 64, len(data_quality)
    with h5py.File(path, "w") as file:
        file["strain/Strain"] = strain
        file["strain/Strain"].attrs.update({"Xstart": start, "Xspacing": 1 / rate, "Xunits": "second", "Xlabel": "GPS time"})
        file["meta/GPSstart"] = start
        for name, names, values, tests in (
                ("quality/simple/DQmask", "quality/simple/DQShortnames", data_quality, [b"DATA", b"CBC_CAT1", b"CBC_CAT2"]),
                ("quality/injections/Injmask", "quality/injections/InjShortnames", injections, [b"NO_CBC_HW_INJ", b"NO_CW"])):
            file[name], file[names] = np.array(values, "u4"), tests
            file[name].attrs.update({"Xstart": start, "Xspacing": 1.0, "Xunits": "second", "Xlabel": "GPS time"})
        check(len(strain) == rate * seconds, "the number of samples is not rate x seconds")


def good_data(work):
    """The tests in the files mask like a dataset of marks: by names, by bits, over two files, and over a gap between them."""
    start, seconds = 1126259446, 30
    quality, injections = random.integers(0, 8, (2, seconds)) | 1, random.integers(0, 4, (2, seconds)) | 1
    strain = random.normal(size=(2, 64 * seconds))
    paths = [os.path.join(work, f"H-{i}.hdf5") for i in range(2)]
    for i, path in enumerate(paths):
        gwosc(path, strain[i], start + seconds * i, quality[i], injections[i])
    both, masks = os.path.join(work, "both.h5"), os.path.join(work, "masks.h5")
    ols = ("--products", "filtered,peaks", "--threshold", "3", "--noise", "given", "--nan", "zero")

    def run(ranks, *arguments):
        found, _ = filtered(work, *arguments, *ols, ranks=ranks)
        with h5py.File(os.path.join(work, "out.h5")) as file:
            return found, file["peaks"][()]

    for tests, bad in (("CBC_CAT1", quality & 2 == 0), ("DATA,CBC_CAT2,NO_CW", (quality & 5 != 5) | (injections & 2 == 0)),
                       ("0x6", quality & 6 != 6), ("1", quality & 1 == 0)):
        with h5py.File(both, "w") as file:
            file["strain"] = strain.ravel()
            file["strain"].attrs.update({"sample_rate_hz": 64.0, "start_time": float(start), "start_unit": "GPS second"})
        with h5py.File(masks, "w") as file:
            file["both"], file["first"] = np.repeat(bad.ravel(), 64).astype("u1"), np.repeat(bad[0], 64).astype("u1")
        for ranks, own, other in ((1, (paths[0],), (paths[0], "--mask", f"{masks}:/first")),
                                  (3, (f"{work}/H-*.hdf5",), (f"{both}:/strain", "--mask", f"{masks}:/both"))):
            by_tests, found = run(ranks, *own, "--good-data", tests)
            by_mask, wanted = run(ranks, *other)
            check(by_tests.tobytes() == by_mask.tobytes(), f"--good-data {tests}: other samples than with --mask")
            same = all(np.array_equal(found[key], wanted[key]) for key in ("index", "snr", "filter"))
            check(same and (len(found) > 0 or bad.all()), f"--good-data {tests}: {len(found)} and {len(wanted)} peaks")
        unmasked, _ = run(1, paths[0])
        check(np.array_equal(unmasked, run(1, paths[0], "--good-data", tests)[0]) == (not bad[0].any()),
              f"{tests}: masked although no sample fails, or not masked")
    taps = "--filters", f"{work}/taps.h5:/taps", "--output", f"{work}/none.h5"
    for tests, code, word in (("CAT9", 2, "CBC_CAT1"), ("", 2, "TESTS"), ("0", 2, "CBC_CAT1"), ("DATA,", 2, "no test ''"),
                              ("-1", 2, "NO_CW")):
        done = lapwing(2, "ols", "--input", paths[0], *taps, "--good-data", tests, code=code)
        check(word in done.stderr, f"--good-data '{tests}': {done.stderr}")
    done = lapwing(1, "ols", "--input", f"{both}:/strain", *taps, "--good-data", "DATA", code=65)
    check("DQmask" in done.stderr and "--mask" in done.stderr, f"no quality: {done.stderr}")
    done = lapwing(1, "ols", "--input", paths[0], *taps, "--good-data", "DATA", "--mask", f"{masks}:/first", code=2)
    check("good-data" in done.stderr, f"two masks: {done.stderr}")
    with h5py.File(paths[0], "r+") as file:
        del file["quality/simple/DQmask"].attrs["Xspacing"]
    done = lapwing(1, "ols", "--input", paths[0], *taps, "--good-data", "DATA", code=65)
    check("DQmask" in done.stderr, f"no spacing: {done.stderr}")


with tempfile.TemporaryDirectory() as folder:
    good_data(folder)
finish()
