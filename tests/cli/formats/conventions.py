"""Conventions of HDF5 files: the output of `lapwing info` for files of real data and for small files in each layout. `ols`
without a path must take the same samples.

    conventions.py LAPWING MPIEXEC [FOLDER]

Times and coordinates of the real files were read with DASCore 0.1.24."""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tested import check, data_path, finish, lapwing, random
from layouts import MADE, UNIX, beside, dasdae, febus, prodml
from said import expect, facts_of, filtered

import h5py
import numpy as np


# ---- real data ------------------------------------------------------------------------------------------------------------

REAL = {
    "das-silixa.hdf5": dict(
        format="HDF5, Silixa ", dataset="/Acoustic ", shape="100 time x 3840 distance ", type="int16 ", rate="500 Hz, every 2 ms ",
        start="2023-09-22T18:29:26.158 (GPS 1379442584.158)", end="2023-09-22T18:29:26.356 ",
        distance="8082.91136 to 15921.780816 m, every 2.041904 m "),
    "das-terra15.hdf5": dict(
        format="HDF5, Terra15 5 ", shape="2060 time x 43 distance ", type="float32 ", rate="3217.803463 Hz, every 310771 ns ",
        start="2022-08-23T23:09:54.373836288 ", end="2022-08-23T23:09:55.013713777 ",
        distance="30.2201905626 to 98.8281907588 m, every 1.63352381419 m ", unit="m/s "),
    "das-optodas.hdf5": dict(
        format="HDF5, OptoDAS 8 ", shape="5000 time x 51 distance ", rate="500 Hz, every 2 ms ",
        start="2023-10-27T14:23:37.02 ", end="2023-10-27T14:23:47.018 ",
        distance="33192.2562002 to 35745.5066771 m, every 51.0650095387 m ", unit="strain/s "),
    "das-febus.h5": dict(
        format="HDF5, FEBUS ", shape="1049 time x 101 distance, joined from 1 x 3001 ", rate="1049.9999475 Hz, every 952381 ns ",
        start="2025-09-23T11:40:14.014478397 ", end="2025-09-23T11:40:15.012573685 ", distance="101 to 141 m, every 0.4 m "),
    "das-gdr.h5": dict(
        format="HDF5, GDR ", shape="10000 time x 10 distance ", rate="1000 Hz, every 1 ms ",
        start="2016-03-08T17:40:30.195 ", end="2016-03-08T17:40:40.194 ", distance="0 to 9.189 m, every 1.021 m "),
    "das-xdas.nc": dict(
        format="HDF5, xdas ", dataset="/__values__ ", shape="300 time x 401 distance ", type="float64 ",
        rate="50 Hz, every 20 ms ", start="2023-01-01T00:00:00 ", end="2023-01-01T00:00:05.98 ",
        distance="0 to 10000 m, every 25 m "),
    "das-simple.h5": dict(
        format="HDF5, H5Simple ", dataset="/raw ", shape="200 time x 100 channel ",
        rate="250.003250042 Hz, every 3999948 ns ", start="2023-09-04T20:05:06.884208128 ",
        end="2023-09-04T20:05:07.68019778 ", channel="0 to 99, every 1 "),
    "das-dasdae.hdf5": dict(
        format="HDF5, DASDAE ", shape="900 time x 225 distance ", rate="1999.97600029 Hz, every 500006 ns ",
        start="2022-06-04T15:27:44.800325476 ", end="2022-06-04T15:27:45.24983087 ",
        distance="2403.63866925 to 3684.32133958 m, every 5.71733334968 m ", unit="m / s "),
    "das-prodml-2.1.h5": dict(
        format="HDF5, PRODML 2.1 ", dataset="/Acquisition/Raw[0]/RawData ", shape="1000 time x 1152 distance ", type="int16 ",
        rate="1000 Hz, every 1 ms ", start="2019-05-31T08:38:50.626928 ", end="2019-05-31T08:38:51.625928 ",
        distance="-120.472334385 to 1054.64340186 m, every 1.02095198631 m ", unit="(nm/m)/s * Hz/m "),
    "gw150914-h1.hdf5": dict(
        format="HDF5, GWOSC ", dataset="/strain/Strain ", shape="131072 time ", type="float64 ", rate="4096 Hz ",
        start="2015-09-14T09:50:29 (GPS 1126259446)", end="2015-09-14T09:51:00.999755859375 ", unit="strain "),
}


def samples_of(path):
    """The samples of a file, by h5py."""
    with h5py.File(path) as file:
        if "febus" not in path:
            largest = []
            file.visititems(lambda _, item: largest.append(item) if isinstance(item, h5py.Dataset) and item.ndim else None)
            return max(largest, key=lambda item: item.size)[()]
        return file["fa1-24090193/Source1/Zone1/PSD [dB re 1 nStrain|sqrt(Hz)]"][0, 976:2025]


def real_files(work):
    there = [name for name in REAL if os.path.isfile(data_path(name))]
    for name in there:
        expect(data_path(name), **REAL[name])
    if not there:
        print("real data: skipped, there is none; LAPWING_DATA names their folder")
    for name in [name for name in ("das-febus.h5", "das-optodas.hdf5", "das-prodml-2.1.h5", "das-xdas.nc") if name in there]:
        copy = os.path.join(work, "copy.h5")
        with h5py.File(copy, "w") as file:
            file["data"] = samples_of(data_path(name))
        for ranks, options in (3, ("--channels", "3:40:4", "--io", "collective")), (2, ("--start", "7", "--count", "200")):
            own, about = filtered(work, data_path(name), *options, ranks=ranks)
            other, _ = filtered(work, f"{copy}:/data", "--axis", "0", *options, ranks=ranks)
            check(own.shape == other.shape and own.tobytes() == other.tobytes(), f"{name} {options}: other samples")
        check(about.get("sample_rate_hz", 0) > 0, f"{name}: the result has no sampling rate")


# ---- made files ------------------------------------------------------------------------------------------------------------

def made_files(work):
    for name, (make, wanted) in MADE.items():
        path = os.path.join(work, f"{name}.h5")
        with h5py.File(path, "w") as file:
            make(file)
        expect(path, **wanted)


def patch_of(work, name, *options):
    """The patch for DASCore in a result: its attributes, and the units of its coordinates."""
    filtered(work, name, *options)
    with h5py.File(os.path.join(work, "out.h5")) as file:
        group = file["waveforms/filtered"]
        units = {key[7:]: item.attrs.get("units") for key, item in group.items() if key.startswith("_coord_")}
        return {key[7:]: value for key, value in group.attrs.items() if key.startswith("_attrs_")}, units


def patches(work):
    """Units, gauge length and category are kept through two runs; plain files without distances have patches, too."""
    path, again = os.path.join(work, "das.h5"), os.path.join(work, "again.h5")
    das = {"data_category": "DAS", "gauge_length": 5.0, "gauge_length_units": "m"}
    with h5py.File(path, "w") as file:
        febus(file)
    wanted = ({**das, "data_units": "nanostrain/s"}, {"time": "s", "distance": "m"})
    found = patch_of(work, path)
    check(found == wanted, f"FEBUS: {found}")
    for name in "filtered", "waveforms/filtered/data":
        os.replace(os.path.join(work, "out.h5"), again)
        found = patch_of(work, f"{again}:/{name}")
        check(found == wanted, f"FEBUS, again, {name}: {found}")
    for about, kept in ({"GaugeLength": 5.0}, das), ({"GaugeLength": 5.0, "GaugeLength.uom": "ft"}, {"data_category": "DAS"}), ({}, {"data_category": "DAS", "data_units": "nϵ / s"}):
        with h5py.File(path, "w") as file:
            prodml(file)
            file["Acquisition"].attrs.update(about)
            file["Acquisition/Raw[0]"].attrs["RawDataUnit"] = "furlong" if about else "nϵ / s"      # DASCore does not know furlongs
        found, units = patch_of(work, path)
        check(found == kept and units == {"time": "s", "distance": "m"}, f"PRODML {about}: {found}, {units}")
    with h5py.File(path, "w") as file:
        file["raw"], file["timestamp"] = np.ones((80, 6), "f4"), UNIX + np.arange(80) / 4
    found, units = patch_of(work, path)
    check(not found and units == {"time": "s", "channel": None}, f"a plain file: {found}, {units}")


def beside_data(work):
    """Times of every kind beside the data, and rates that belong to other datasets."""
    path = os.path.join(work, "beside.h5")
    data, i = f"{path}:/group/samples", np.arange(64)
    start = "2023-11-14T22:13:20 "
    for times, rate, begins in ((UNIX + i / 64, "64 Hz", start), (UNIX * 10**9 + i * 7, "142857142.857 Hz, every 7 ns", start),
                                (UNIX * 1000 + 20 * i, "50 Hz", start), ((UNIX * 10**6 + 250 * i).astype("u8"), "4000 Hz", start),
                                (i / 4096, "4096 Hz", "0 s"), (UNIX + 10 * i, "0.1 Hz", start), (i[::-1] + UNIX, None, None),
                                (np.where(i < 40, i, i + 8) + UNIX, None, start), (np.full(64, np.nan), None, None),
                                (np.array([b"x"] * 64), None, None), (i[:-1] + UNIX, None, None)):
        with h5py.File(path, "w") as file:
            beside(file, times)
        expect(data, rate=rate, start=begins, shape="64 time x 3 " if begins else "64 x 3 ")
    for said, code in (64, 0), (64.0003, 0), (64.2, 65), (128, 65):
        with h5py.File(path, "w") as file:
            beside(file, UNIX + i / 64, sample_rate=said)
        _, message = facts_of(data, code)
        check(code == 0 or (f"{said:.12g} Hz" in message and "64 Hz" in message and "--sample-rate" in message and
                            "utc_time" in message), f"rate {said}: {message}")
    with h5py.File(path, "w") as file:
        prodml(file, said=250.0)
    _, message = facts_of(f"{path}:/Acquisition/Raw[0]/RawData", 65)
    check("250 Hz" in message and "200 Hz" in message, f"rates: {message}")


def only_dataset(work):
    """No path is needed if a file has one dataset of numbers, or one with its coordinates. Otherwise the message names the
    datasets."""
    path = os.path.join(work, "only.h5")
    for others, chosen in (({}, "/signal "), ({"note": "text", "rate": 5.0}, "/signal "), ({"x": np.zeros(3)}, "/signal "),
                           ({"x": np.zeros(2)}, None), ({"second": np.zeros((9, 3))}, None)):
        with h5py.File(path, "w") as file:
            file["signal"] = random.normal(size=(30, 3))
            for name, value in others.items():
                file[name] = value
        expect(path, dataset=chosen)
        done = lapwing(1, "ols", "--input", path, "--axis", "0", "--filters", f"{path}:/signal", "--output", "none.h5",
                       code=2) if chosen is None else None
        check(done is None or "name a dataset" in done.stderr, "several datasets: the message does not ask for a dataset")
    with h5py.File(path, "w") as file:
        dasdae(file, 3)
    done = lapwing(1, "ols", "--input", path, "--filters", f"{path}:/x", "--output", "none.h5", code=2)
    check("/waveforms/DAS1/data" in done.stderr, f"three patches: {done.stderr}")
    expect(f"{path}:/waveforms/DAS2/data", rate="250 Hz", shape="5 distance x 70 time ")


def blocks(work):
    """Blocks with each kind of overlap are joined correctly, in pieces that begin anywhere."""
    path, copy = os.path.join(work, "blocks.h5"), os.path.join(work, "joined.h5")
    for number, made in enumerate((dict(), dict(rows=100, overlap=0.0), dict(rows=120, extent=50), dict(n=1), dict(rows=200, overlap=100.0))):
        with h5py.File(path, "w") as file:
            wanted = febus(file, **made)
        with h5py.File(copy, "w") as file:
            file["data"] = wanted
        choices = (1, ()), (3, ("--channels", "0:3:2")), (2, ("--start", "33", "--count", "61")), (1, ("--io", "collective"))
        for ranks, options in choices if number == 0 else choices[2:3]:
            own, _ = filtered(work, path, *options, ranks=ranks)
            other, _ = filtered(work, f"{copy}:/data", "--axis", "0", *options, ranks=ranks)
            check(own.shape == other.shape and own.tobytes() == other.tobytes(), f"blocks {made} {options}: {own.shape}, {other.shape}")
    with h5py.File(path, "w") as file:
        febus(file, late=(2, 3))
    _, message = facts_of(f"{path}:/dev/Source1/Zone1/StrainRate", 65)
    check("some are missing" in message, f"blocks that are missing: {message}")
    with h5py.File(path, "w") as file:
        febus(file, n=4, time_shape=(2, 2))
    _, message = facts_of(f"{path}:/dev/Source1/Zone1/StrainRate", 65)
    check("'time' of their source" in message, f"times of two dimensions: {message}")


def logger(work):
    """A file that a logger has open, and a file that a logger never closed."""
    path, killed = os.path.join(work, "swmr.h5"), os.path.join(work, "killed.h5")
    with h5py.File(path, "w", libver="v110") as file:
        data = file.create_dataset("signal", (500, 2), "f4", maxshape=(None, 2), chunks=(100, 2))
        file.swmr_mode = True
        data[:] = random.normal(size=(500, 2))
        data.flush()
        expect(path, dataset="/signal ", shape="500 x 2 ")
        open_result, _ = filtered(work, path, "--axis", "0", ranks=2)
        with open(path, "rb") as source, open(killed, "wb") as target:
            target.write(source.read())
    expect(killed, dataset="/signal ", shape="500 x 2 ")
    killed_result, _ = filtered(work, killed, "--axis", "0")
    closed_result, _ = filtered(work, path, "--axis", "0")
    check(np.array_equal(open_result, closed_result) and np.array_equal(killed_result, closed_result),
          "a file that a logger has open, or did not close, gives other samples")


with tempfile.TemporaryDirectory() as folder:
    made_files(folder)
    patches(folder)
    beside_data(folder)
    only_dataset(folder)
    blocks(folder)
    logger(folder)
    real_files(folder)
finish()
