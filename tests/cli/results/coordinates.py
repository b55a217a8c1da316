"""The coordinates of results: dimension scales attached as HDF5 and netCDF-4 require. Exact arithmetic here checks them to the
last bit, for modes, decimation, interpolation, blocks, pieces and chosen channels, on 1 or 3 ranks (with LW_TEST_ALL
on both); with CF attributes, and with ncdump if it is installed.

    coordinates.py LAPWING MPIEXEC"""

import os
import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction
from itertools import cycle, product

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import ALL, as_arguments, check, finish, h5py, lapwing, np, random

folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
N, CHANNELS, TAPS = 5000, 6, 17
DATE = "2023-09-22T18:29:26.158"
EMPTY = "This is a netCDF dimension but not a netCDF variable."


def make_inputs():
    with h5py.File("in.h5", "w") as file:
        data = file.create_dataset("signal", data=random.standard_normal((N, CHANNELS)).astype("f4"))
        data.dims[0].label = "time"
        data.attrs.update(sample_rate_hz=1000.0, start_time=0.0, start_unit=f"s since {DATE}", unit="m")
        data = file.create_dataset("strain", data=random.standard_normal(N))
        data.attrs.update(Xspacing=1 / 4096, Xstart=1126259446, Xunits="second", Xlabel="GPS time")
        data = file.create_dataset("fine", data=random.standard_normal(N).astype("f4"))
        data.attrs.update(sample_rate_hz=1 / 3e-7, start_time=0.0, start_unit="s since 2020-02-29T23:59:59.1234567")
        data = file.create_dataset("rate_only", data=random.standard_normal(N).astype("f4"))
        data.attrs["sample_rate_hz"] = 44100.0
        file["plain"] = (random.standard_normal(N) + 1j * random.standard_normal(N)).astype("c8")
        file["long"] = random.standard_normal(300_000).astype("f4")
        file["long"].attrs["sample_rate_hz"] = 44100.0
        file["stack"] = random.standard_normal((4, 30, 41)).astype("f4")
        file["kernel"] = random.standard_normal((5, 8))
        file["known"] = random.standard_normal((3, TAPS))
        file["known"].attrs["reference_tap"] = 3
        file["taps"], file["one"] = random.standard_normal((3, TAPS)), random.standard_normal(TAPS)


# ---- scales that must exist -----------------------------------------------------------------------------------------------


def scale_of(name, data, d):
    """The one scale of a dimension, which must have the dimension's name and lie beside the dataset."""
    if not check(len(data.dims[d]) == 1, f"{name}: dimension {d} of {data.name} has {len(data.dims[d])} scales"):
        return None
    scale, label = data.dims[d][0], data.dims[d].label
    check(scale.name == os.path.join(os.path.dirname(data.name), label), f"{name}: {data.name}'s '{label}' has the scale {scale.name}")
    check(scale.shape == (data.shape[d],), f"{name}: the scale {scale.name} has shape {scale.shape}")
    return scale


def compare(name, data, d, wanted, units, ulps=0):
    """@param ulps allowed error of a value, in units in the last place"""
    scale = scale_of(name, data, d)
    if scale is None:
        return
    check(scale.attrs["NAME"] == os.path.basename(scale.name).encode(), f"{name}: {scale.name} has the NAME {scale.attrs['NAME']}")
    check(np.all(np.abs(scale[()] - wanted) <= ulps * np.spacing(np.abs(wanted))), f"{name}: {scale.name} is {scale[:3]}, expected {wanted[:3]}")
    check(scale.attrs.get("units") == units, f"{name}: {scale.name} is in '{scale.attrs.get('units')}', expected '{units}'")


def times(n, first, every, rate, period, start=Fraction(0)):
    """Times computed exactly and rounded once."""
    return np.array([float(start + Fraction(first * rate + i * every, rate) * period) for i in range(n)])


def check_cf(name, data):
    kind = data.dtype.kind
    if kind == "f":
        fill = data.attrs.get("_FillValue")
        check(fill is not None and fill.dtype == data.dtype and np.isnan(fill).all(), f"{name}: _FillValue of {data.name} is {fill}")
    else:
        check("_FillValue" not in data.attrs, f"{name}: {data.name} of type {data.dtype} has a _FillValue")
    check(data.attrs.get("units") == data.attrs.get("unit"), f"{name}: units of {data.name}")
    check(data.file.attrs["Conventions"] == "CF-1.8", f"{name}: Conventions")


def check_time_attributes(name, scale):
    wanted = {"axis": "T", "standard_name": "time", "calendar": "standard", "long_name": "time"}
    found = {key: scale.attrs.get(key) for key in wanted}
    check(found == wanted, f"{name}: {scale.name} has {found}")


# ---- ols -----------------------------------------------------------------------------------------------------------------


def run(ranks, job, **options):
    lapwing(ranks, job, "--output", "out.h5", "--overwrite", "--quiet", *as_arguments(options))
    return h5py.File("out.h5")


SAMPLINGS = {
    "signal": (Fraction(1, 1000), Fraction(0), f"seconds since {DATE}"),
    "strain": (Fraction(1, 4096), Fraction(0), "seconds since 2015-09-14T09:50:29"),
    "fine": (Fraction(3, 10 ** 7), Fraction(7, 10 ** 7), "seconds since 2020-02-29T23:59:59.123456"),
    "rate_only": (Fraction(1, 44100), Fraction(0), "s"),
    "plain": (Fraction(1), Fraction(0), "1"),
}


def first_of(mode, taps):
    """The output of mode full that is the first output of a mode."""
    return {"full": 0, "same": (taps - 1) // 2, "valid": taps - 1}[mode]


def series(ranks, dataset, mode="same", rate=1, every=1, start=0, taps="taps", tap=(TAPS - 1) // 2, **options):
    """@param tap the reference tap, in the order in which the taps are convolved"""
    name = f"{dataset} {mode} {rate}/{every} from {start} on {ranks} {options}"
    period, origin, units = SAMPLINGS[dataset]
    if rate > 1 or every > 1:
        options.update(interpolate=rate, decimate=every)
    with run(ranks, "ols", input=f"in.h5:/{dataset}", filters=f"in.h5:/{taps}", mode=mode, start=start, **options) as file:
        data = file["filtered"]
        axis = data.dims[0].label == "filter"
        earliest = first_of(mode, TAPS) - tap
        first = max(start, earliest) if start else earliest
        check(data.attrs["first_input_sample"] == first and data.attrs["group_delay_removed_samples"] == tap and
              data.attrs["filter_taps"] == TAPS, f"{name}: {dict(data.attrs)}")
        compare(name, data, int(axis), times(data.shape[axis], first, every, rate, period, origin), units, ulps=1 if origin else 0)
        if axis:
            compare(name, data, 0, np.arange(3), "1")
        if "since" in units:
            check_time_attributes(name, file["time"])
        check_cf(name, data)
        return [int(text) for text in options.get("channels", "0:1:1").split(":")], [d.label for d in data.dims], \
            [scale_of(name, data, d)[()] for d in range(data.ndim)]


def all_series():
    turns = cycle([(1, 3)] if ALL else [(1,), (1,), (1,), (3,)])
    for mode, dataset in product(("full", "same", "valid"), SAMPLINGS):
        for ranks in next(turns):
            series(ranks, dataset, mode)
    for ranks in (1, 3) if ALL else (1,):
        series(ranks, "strain", "valid", rate=3, start=7, taps="one")
        series(ranks, "strain", "same", every=5)
        series(ranks, "fine", "valid", every=4, start=1000)
        series(ranks, "plain", "same", rate=2, taps="one")
        (begin, end, step), labels, scales = series(ranks, "signal", "valid", every=4, channels="1:6:2")
        check(labels == ["filter", "time", "channel"], f"labels {labels}")
        check(scales[2].tolist() == list(range(begin, end, step)), f"channels {scales[2]}")


def references():
    """--reference, and the bank's own reference tap, whose number counts taps as they are stored."""
    for mode, (tap, options) in product(("full", "same", "valid"), (
            (0, {"reference": "first"}), (16, {"reference": "last"}), (8, {"reference": "middle"}), (5, {"reference": 5}),
            (11, {"reference": 5, "correlate": True}), (3, {"taps": "known"}), (13, {"taps": "known", "correlate": True}),
            (8, {"taps": "known", "reference": "middle"}))):
        series(1, "signal", mode, tap=tap, **options)
    series(1, "rate_only", "full", every=4, tap=16, reference="last")
    series(1, "strain", "valid", rate=2, start=7, taps="one", tap=3, reference=3)


def check_columns(name, file, least=1):
    """Each column of a table is also a dataset, with the table's scale."""
    table, columns = file[name], file[name + "_columns"]
    check(set(columns) == set(table.dtype.names), f"{name}: the columns are {list(columns)}")
    check(len(table) >= least, f"{name}: {len(table)} rows")
    for column in set(columns) & set(table.dtype.names):
        data = columns[column]
        check(data.dtype == table.dtype[column] and np.array_equal(data[()], table[column], equal_nan=True), f"{name}: column {column}")
        check(data.dims[0][0] == table.dims[0][0], f"{name}: the scale of column {column}")


def products():
    """Products of a group share the scales of the group."""
    for ranks in (1, 3) if ALL else (3,):
        with run(ranks, "ols", input="in.h5:/signal", filters="in.h5:/taps", mode="valid", decimate=2, noise="measured", threshold=4,
                 products="filtered,peaks,best,blocks", blocks="100:max,mean,rms", channels="2:5") as file:
            period, channels = Fraction(1, 1000), np.arange(2, 5)
            units = f"seconds since {DATE}"
            for path, every in (("filtered", 2), ("best/value", 1), ("best/filter", 1), ("blocks/max", 100), ("blocks/rms", 100),
                                ("blocks/mean", 100)):
                data = file[path]
                d = data.ndim - 2
                compare(path, data, d, times(data.shape[d], 8, every, 1, period), units)
                compare(path, data, d + 1, channels, "1")
                check_cf(path, data)
            compare("noise", file["noise"], 0, channels, "1")
            compare("noise", file["noise"], 1, np.arange(3), "1")
            check(file["filtered"].dims[2][0] == file["noise"].dims[0][0],
                  "/filtered and /noise do not share the scale of channels")
            peak = scale_of("peaks", file["peaks"], 0)
            check_columns("peaks", file)
            check(peak.attrs["NAME"].decode().startswith(EMPTY), "the scale of /peaks has values")


def one_time():
    """A pulse that a filter delays has its own time in every mode and product, also after whitened filters."""
    at, tap, rate = 3000, 5, 4096
    with h5py.File("pulse.h5", "w") as file:
        x, taps = random.normal(0, 0.01, N), np.zeros((2, 30))
        x[at] = 10
        taps[:, tap], taps[:, 20] = 1, 0.5
        file["signal"], file["bank"] = x, taps
        file["signal"].attrs.update(Xspacing=1 / rate, Xstart=1126259446, Xunits="second", Xlabel="GPS time")
        file["bank"].attrs["reference_tap"] = tap
        file["few"], file["two"] = taps, taps
        file["few"].attrs["reference_tap"], file["two"].attrs["reference_tap"] = 30, [1, 2]
    wanted = 1126259446 + at / rate
    for mode, whiten in product(("full", "same", "valid"), ({}, {"whiten": "0.125"})):
        name = f"a pulse, {mode} {whiten}"
        with run(2 if ALL else 1, "ols", input="pulse.h5:/signal", filters="pulse.h5:/bank", mode=mode, products="filtered,peaks,best,blocks", threshold=5,
                 noise="given", cluster=4000, blocks="1:max", **whiten) as file:
            rows = file["peaks"][()]
            check(len(rows) == 2 and np.allclose(rows["time"], wanted, rtol=0, atol=1e-6), f"{name}: peaks {rows}, expected at {wanted}")
            for path in ("filtered", "best/value", "blocks/max"):
                data = file[path]
                y = np.abs(data[()] if data.ndim == 1 else data[0])
                its = data.attrs["start_time"] + y.argmax() / data.attrs["sample_rate_hz"]
                check(abs(its - wanted) < 1e-6, f"{name}: {path} has it at {its}, expected {wanted}")
            if whiten:
                check(file["filters"].attrs["reference_tap"] == tap + 510, f"{name}: {dict(file['filters'].attrs)}")
    options = ("--output", "out.h5", "--overwrite", "--input", "pulse.h5:/signal", "--filters")
    for code, said, *more in ((65, "reference_tap of pulse.h5:/few must be a single number, the index of a tap from 0 to 29", "pulse.h5:/few"),
                              (65, "reference_tap of pulse.h5:/two", "pulse.h5:/two"),
                              (78, "--reference 30: the filters have taps 0 to 29", "pulse.h5:/bank", "--reference", 30),
                              (2, "--reference half", "pulse.h5:/bank", "--reference", "half")):
        done = lapwing(1, "ols", *options, *more, code=code)
        check(said in done.stderr, f"{more}: {done.stderr}")
    done = lapwing(1, "ols", *options, "pulse.h5:/bank")
    check("reference tap 5\n" in done.stderr, f"the log: {done.stderr}")


def long_axis():
    """An axis too long for a variable: the dimension has none, and attributes hold the positions of the samples."""
    with run(1, "ols", input="in.h5:/long", filters="in.h5:/one") as file:
        scale = scale_of("long", file["filtered"], 0)
        check(scale.attrs["NAME"].decode() == f"{EMPTY} {300_000:10}", f"long: the NAME is {scale.attrs['NAME']}")
        check(scale.id.get_storage_size() == 0 and np.isnan(scale[[0, -1]]).all(), "long: the scale has values")
        check(file["filtered"].attrs["sample_rate_hz"] == 44100, "long: the attribute sample_rate_hz is wrong")
    check_again("long", 300_000, 44100)
    with run(1, "ols", input="in.h5:/long", filters="in.h5:/one", interpolate=2, count=100_000) as file:
        compare("chunked", file["filtered"], 0, times(200_000 - 1, 0, 1, 2, Fraction(1, 44100)), "s")


# ---- images, spectra -----------------------------------------------------------------------------------------------------


def images():
    for ranks in (1, 3) if ALL else (3,):
        with run(ranks, "conv2d", input="in.h5:/stack", kernel="in.h5:/kernel", mode="valid", decimate=3, start=6, channels="1:4:2",
                 products="convolved,peaks", threshold=3) as file:
            data = file["convolved"]
            compare("image", data, 0, np.array([1, 3]), "1")
            compare("image", data, 1, 6 + 3 * np.arange(data.shape[1]), "1")
            compare("image", data, 2, 4 + 3 * np.arange(data.shape[2]), "1")
            check_cf("image", data)
            scale_of("sources", file["peaks"], 0)
            check_columns("peaks", file)
    for ranks, io in ((1, "direct"), (3, "auto"), (3, "collective")) if ALL else ((1, "direct"), (2, "collective")):
        with run(ranks, "sfft", input="in.h5:/plain", sparsity=4, io=io) as file:
            for name in ("spectrum", "channels"):
                scale_of(name, file[name], 0)
                check_columns(name, file)


def whitened():
    with run(2, "ols", input="in.h5:/strain", filters="in.h5:/taps", whiten="0.125") as file:
        compare("psd", file["psd"], 0, 8.0 * np.arange(257), "Hz")
        compare("taps", file["filters"], 0, np.arange(3), "1")
        compare("taps", file["filters"], 1, np.arange(file["filters"].shape[1]), "1")
        check_cf("psd", file["psd"])


def tables():
    """Tables of more rows than are copied at a time, and of no rows."""
    for ranks, threshold, least in ((2, 0.5, 9000), (1, 1e9, 0)):
        with run(ranks, "ols", input="in.h5:/signal", filters="in.h5:/taps", products="peaks", noise="measured", threshold=threshold) as file:
            check_columns("peaks", file, least)


# ---- readers -------------------------------------------------------------------------------------------------------------


def check_again(name, n, rate):
    """The program reads its own result."""
    lapwing(1, "ols", "--input", "out.h5", "--filters", "in.h5:/one", "--output", "again.h5", "--overwrite", "--quiet")
    with h5py.File("again.h5") as file:
        check(file["filtered"].shape[0] == n, f"{name}: shape {file['filtered'].shape} the second time")
        check(file["filtered"].attrs["sample_rate_hz"] == rate, f"{name}: rate {file['filtered'].attrs['sample_rate_hz']} then")


def own_results():
    with run(1, "ols", input="in.h5:/strain", filters="in.h5:/one", mode="valid", decimate=2) as file:
        n, start = file["filtered"].shape[0], file["filtered"].attrs["start_time"]
    check_again("own", n, 2048)
    with h5py.File("again.h5") as file:
        check(file["filtered"].attrs["start_time"] == start and file["filtered"].attrs["start_unit"] == "GPS second",
              "own: the start time of the result's result differs")
        rest = Fraction(repr(float(start))) % 1 - Fraction(1953, 10 ** 6)      # a start in binary counts as its shortest decimal
        wanted = times(n, 0, 1, 1, Fraction(1, 2048), rest)
        compare("own", file["filtered"], 0, wanted, "seconds since 2015-09-14T09:50:29.001953", ulps=1)


def channels_again():
    """The numbers of channels are those of the first input."""
    run(1, "ols", input="in.h5:/signal", filters="in.h5:/one", channels="1:6:2").close()
    said = lapwing(1, "info", "out.h5").stdout
    check("channel      1 to 5, every 2\n" in said, f"info: {said}")
    check_again("channels", N, 1000)
    with h5py.File("again.h5") as file:
        check(file["channel"][()].tolist() == [1, 3, 5], f"channels then: {file['channel'][()]}")


def odd_names():
    """Dimensions of the input whose names cannot be names of datasets."""
    for name in ("distance/m", ".", "/"):
        with h5py.File("odd.h5", "w") as file:
            data, places = file.create_dataset("data", data=np.ones((50, 4), "f4")), file.create_dataset("places", data=np.arange(4) * 2.5)
            places.make_scale(name)
            data.dims[1].attach_scale(places)
            data.dims[1].label = name
        with run(1, "ols", input="odd.h5:/data", filters="in.h5:/one", axis="0") as file:
            check(file["channel"][()].tolist() == [0, 2.5, 5, 7.5], f"{name}: {dict(file)}")


def netcdf():
    if not shutil.which("ncdump"):
        print("not tried: ncdump is not installed")
        return
    run(1, "ols", input="in.h5:/signal", filters="in.h5:/taps", products="filtered,best,peaks", noise="measured", threshold=4).close()
    said = subprocess.run(["ncdump", "-h", "out.h5"], capture_output=True, text=True)
    check(said.returncode == 0, f"ncdump: {said.stderr}")
    for line in ("float filtered(filter, time, channel)", "double time(time)", "filtered:_FillValue = NaNf",
                 f'time:units = "seconds since {DATE}"', "float value(time, channel)"):
        check(line in said.stdout, f"ncdump does not say '{line}'")


make_inputs()
all_series()
references()
products()
one_time()
long_axis()
images()
tables()
whitened()
own_results()
channels_again()
odd_names()
netcdf()
finish()
