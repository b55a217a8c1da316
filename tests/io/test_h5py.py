#!/usr/bin/env python3
"""Files made by h5py and read by lapwing, and results made by lapwing and read by h5py.

test_h5py.py IO_TOOL"""
import os
import subprocess
import sys
import tempfile

from h5py_tests import check, finish, h5py, np

tool = sys.argv[1]
folder = tempfile.TemporaryDirectory()


def run(*arguments, code=0):
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    check(done.returncode == code, f"{arguments}: code {done.returncode}: {done.stderr}")
    return done.stdout


def show(*paths):
    """The facts that lapwing prints of each dataset: {path: {key: value}}."""
    found = {}
    for line in run("show", *paths).splitlines():
        key, value = line.split(" ", 1) if " " in line else (line, "")
        if key == "name":
            found[value] = {}
        else:
            found[list(found)[-1]][key] = value
    return found


def expect(file, wanted):
    """Compare the facts of a file's datasets with {dataset: {key: value}}."""
    found = show(*(f"{file}:/{name}" for name in wanted))
    for name, values in wanted.items():
        shown = found.get(f"{file}:/{name}", {})
        for key, value in values.items():
            said = shown.get(key)
            same = said is not None and float(said) == value if isinstance(value, float) else said == value
            check(same, f"{name}: {key} '{said}', not '{value}'")


def read(path, axis, channels, dtype):
    out = os.path.join(folder.name, "samples")
    run("read", path, axis, channels.start, channels.stop, channels.step or 1, out)
    return np.fromfile(out, dtype)


# ---- storage that h5py users choose -------------------------------------------------------------------------------------
def storages():
    name = os.path.join(folder.name, "storage.h5")
    data = (np.arange(300 * 40) * 7919 % 65521).astype("<i2").reshape(300, 40)
    with h5py.File(name, "w") as file:
        file.create_dataset("gzip", data=data, compression="gzip", shuffle=True, chunks=(64, 7))
        file.create_dataset("sums", data=data, fletcher32=True, chunks=True)
        file.create_dataset("chunked", data=data, chunks=(37, 11), maxshape=(None, 40))
        file.create_dataset("plain", data=data)
        file.create_dataset("holes", shape=(300, 40), dtype="<i2", chunks=(10, 10), fillvalue=5)
        file["holes"][100:200] = data[100:200]
        layout = h5py.VirtualLayout(shape=(600, 40), dtype="<i2")
        layout[:300] = h5py.VirtualSource(name, "plain", shape=(300, 40))
        layout[300:] = h5py.VirtualSource(name, "gzip", shape=(300, 40))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("external", data=data, external=[(os.path.join(folder.name, "raw"), 0, h5py.h5f.UNLIMITED)])
        expected = {key: file[key][()] for key in file}
    for key, whole in expected.items():
        for axis, channels in (0, slice(0, 40)), (0, slice(3, 38, 5)), (1, slice(1, 290, 17)):
            wanted = whole[:, channels] if axis == 0 else whole[channels]
            found = read(f"{name}:/{key}", axis, channels, "<i2")
            check(np.array_equal(found, wanted.ravel()), f"{key}, axis {axis}, channels {channels}")


def complexes():
    name = os.path.join(folder.name, "complex.h5")
    rng = np.random.default_rng(1)
    with h5py.File(name, "w") as file:
        for dtype in ("<c8", ">c8", "<c16", ">c16"):
            data = (rng.normal(size=(5, 9)) + 1j * rng.normal(size=(5, 9))).astype(dtype)
            file[dtype] = data
        matlab = np.zeros(7, dtype=[("real", "<f8"), ("imag", "<f8")])
        matlab["real"], matlab["imag"] = rng.normal(size=(2, 7))
        file["matlab"] = matlab
        expected = {key: file[key][()] for key in file}
    for dtype in ("<c8", ">c8", "<c16", ">c16"):
        found = read(f"{name}:/{dtype}", 1, slice(1, 5, 2), dtype)
        check(np.array_equal(found, expected[dtype][1:5:2].ravel()), f"complex {dtype}")
    found = read(f"{name}:/matlab", 0, slice(0, 1), "<c16")
    check(np.array_equal(found, expected["matlab"]["real"] + 1j * expected["matlab"]["imag"]),
          "MATLAB's complex numbers are read wrongly")


# ---- small datasets -----------------------------------------------------------------------------------------------------
def small(path):
    lines = run("small", path).splitlines()
    return [int(n) for n in lines[0].split()[1:]], np.array([float(line) for line in lines[1:]])


def smalls():
    name = os.path.join(folder.name, "small.h5")
    data = np.arange(-6, 6).reshape(3, 4)
    types = ["<i1", "<i2", ">i4", "<i8", ">i8", "<f2", "<f4", ">f8"]
    with h5py.File(name, "w") as file:
        for dtype in types:
            file[dtype] = data.astype(dtype)
        file["u8"] = np.array([0, 2**63], "<u8")
        file["c8"] = (data + 0.5j).astype(">c8")
        file["z"] = file["<f4"][()]
        file.create_dataset("gzip", data=data[0], compression="gzip")
    for dtype in types:
        shape, values = small(f"{name}:/{dtype}")
        check(shape == [3, 4] and np.array_equal(values, data.ravel()), f"small {dtype}")
    check(np.array_equal(small(f"{name}:/u8")[1], [0, 2.0**63]), "a small uint64 dataset is read wrongly")
    check(np.array_equal(small(f"{name}:/gzip")[1], data[0]), "a small compressed dataset is read wrongly")
    shape, values = small(f"{name}:/c8")
    check(shape == [3, 4] and np.array_equal(values.view("c16"), data.ravel() + 0.5j), "a small complex dataset is read wrongly")


# ---- sampling -----------------------------------------------------------------------------------------------------------
def scaled(file, name, time, units=None, axis=0, scale_name="time"):
    shape = [3, 3]
    shape[axis] = len(time)
    file[name] = np.zeros(shape, "f4")
    file[name + "_time"] = time
    if units is not None:
        file[name + "_time"].attrs["units"] = units
    file[name + "_time"].make_scale(scale_name)
    file[name].dims[axis].attach_scale(file[name + "_time"])


def attributed(file, name, **attributes):
    file[name] = np.zeros(8, "f4")
    file[name].attrs.update(attributes)


def samplings():
    name = os.path.join(folder.name, "sampling.h5")
    steps = np.arange(1000)
    with h5py.File(name, "w") as file:
        attributed(file, "gwosc", Xspacing=0.000244140625, Xstart=1126259446, Xunits="second", Xlabel="GPS time",
                   Yunits="strain")
        attributed(file, "milli", Xspacing=2.0, Xunits="ms")
        attributed(file, "metres", Xspacing=2.0, Xunits="m")
        attributed(file, "own", sample_rate_hz=500.25, start_time=-3.5, start_unit="s since 2020-01-01", unit="m/s")
        attributed(file, "text", fs="1e3")
        attributed(file, "bytes", fs=np.bytes_("250 "))
        attributed(file, "array", sample_rate=np.array([44100]))
        attributed(file, "dt", dt=0.004)
        attributed(file, "iso", sample_rate=np.float32(2), start_time="2023-09-22T19:29:26+01:00")
        attributed(file, "bad", sample_rate=float("nan"), fs=-1, dt=0, Xspacing="fast")
        attributed(file, "none")
        group = file.create_group("Acquisition/Raw[0]")
        group.attrs["OutputDataRate"] = 200.0
        attributed(group, "RawData")
        file["labels"] = np.zeros((3, 4), "i2")
        file["labels"].dims[1].label = "time"
        scaled(file, "seconds", 10 + steps / 512, "s")
        scaled(file, "unitless", steps * 0.001)
        scaled(file, "int_ns", steps * 2_000_000, "ns", axis=1)
        scaled(file, "cf", steps / 4, "hours since 1970-01-01", scale_name="t")
        scaled(file, "float32", (np.arange(20000) * 0.002).astype("f4"), "s")
        jitter = steps / 512.0
        jitter[500] += 0.001
        scaled(file, "irregular", jitter, "s")
        scaled(file, "distance", steps * 2.0, "m", scale_name="x")
        scaled(file, "backwards", -steps * 1.0, "s")
    expect(name, {
        "gwosc": dict(rate=4096.0, start=1126259446.0, start_unit="GPS second", unit="strain", axis="-1"),
        "milli": dict(rate=500.0),
        "metres": dict(rate=0.0),
        "own": dict(rate=500.25, start=-3.5, start_unit="s since 2020-01-01", unit="m/s"),
        "text": dict(rate=1000.0),
        "bytes": dict(rate=250.0),
        "array": dict(rate=44100.0, source="attribute sample_rate"),
        "dt": dict(rate=250.0),
        "iso": dict(rate=2.0, start=0.0, start_unit="s since 2023-09-22T19:29:26+01:00"),
        "bad": dict(rate=0.0),
        "none": dict(rate=0.0, start=None),
        "Acquisition/Raw[0]/RawData": dict(rate=200.0, source="attribute OutputDataRate of /Acquisition/Raw[0]"),
        "labels": dict(axis="1", rate=0.0),
        "seconds": dict(axis="0", rate=512.0, start=10.0, start_unit="s"),
        "unitless": dict(axis="0", rate=1000.0, start=0.0, start_unit="second"),
        "int_ns": dict(axis="1", rate=500.0),
        "cf": dict(axis="0", rate=4 / 3600, start_unit="hours since 1970-01-01"),
        "float32": dict(axis="0", rate=500.0),
        "irregular": dict(axis="0", rate=0.0, start=None),
        "distance": dict(axis="-1", rate=0.0),
        "backwards": dict(axis="0", rate=0.0),
    })


# ---- a result of lapwing ------------------------------------------------------------------------------------------------
def results():
    name = os.path.join(folder.name, "result.h5")
    run("write", name, 1000, 3, 0)
    with h5py.File(name, "r") as file:
        attributes = dict(file.attrs)
        check(attributes["lapwing_complete"] == 1 and isinstance(attributes["lapwing_complete"], np.int64),
              "the result is not marked as complete")
        check(attributes["program"] == "lapwing \N{MICRO SIGN}" and attributes["nothing"] == "",
              "text attributes are not str, or differ")
        check(attributes["end_time_utc"] == b"2026-02-03T04:05:06Z", "end_time_utc, which is set at the end, differs")
        check(attributes["samples_not_finite"] == 12, "samples_not_finite, which is set at the end, differs")
        filtered = file["filtered"]
        check(filtered.dtype == np.complex64 and filtered.shape == (2, 1000), "/filtered has another shape or type")
        check([d.label for d in filtered.dims] == ["filter", "time"], "/filtered has other labels of dimensions")
        check(filtered.attrs["sample_rate_hz"] == 4096.0 and filtered.attrs["start_time"] == 1126259446.1,
              "an attribute that is a real number differs")
        check(filtered.attrs["filters"] == -2**63 and filtered.attrs["unit"] == "strain", "an integer or text attribute differs")
        check(filtered.chunks is None and filtered.id.get_offset() is not None, "/filtered is not contiguous")
        check(np.array_equal(filtered[0], np.arange(1000) + 0j) and np.array_equal(filtered[1].imag, -np.ones(1000)),
              "/filtered has other samples")
    expect(name, {"filtered": dict(axis="1", rate=4096.0, start=1126259446.1, start_unit="GPS second", unit="strain",
                                   type="complex float32")})


def tables():
    rows = 600_000          # more rows than are kept in memory
    name = os.path.join(folder.name, "tables.h5")
    run("grow", name, 1000, rows)
    with h5py.File(name, "r") as file:
        check(file.attrs["lapwing_complete"] == 1 and sorted(file) == ["filter", "filtered", "none", "peaks", "time"], f"{sorted(file)}")
        for key, n in ("peaks", rows), ("none", 0):
            table, index = file[key][()], np.arange(n)
            check(table.shape == (n,) and table.dtype == np.dtype([("index", "<i8"), ("snr", "<f8")]), f"{key}: {table.dtype}")
            check(np.array_equal(table["index"], 3 * index) and np.array_equal(table["snr"], 8 + index / 2), f"{key}: rows")
            check(file[key].dims[0].label == "peak" and file[key].attrs["threshold"] == 8.0, f"{key}: label, attribute")
            check(file[key].chunks is None, f"{key}: contiguous")
        check(np.array_equal(file["filtered"][0], np.arange(1000) + 0j), "a result with tables has other samples")
    check(not [left for left in os.listdir(folder.name) if "lapwing" in left], "a temporary file is left")


def busy():
    name = os.path.join(folder.name, "busy.h5")
    with h5py.File(name, "w") as file:
        file["x"] = np.zeros(3, "f4")
        file.flush()
        done = subprocess.run([tool, "show", name + ":/x"], capture_output=True, text=True, timeout=60)
        check(done.returncode == 74 and "another program writes it" in done.stderr, f"{done.returncode} {done.stderr}")


for part in (storages, complexes, smalls, samplings, results, tables, busy):
    part()
finish("h5py")
