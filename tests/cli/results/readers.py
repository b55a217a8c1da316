"""Results in other programs: DASCore, xarray and Octave open them without options, and find the samples at their places and
times."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tested import as_arguments, check, finish, h5py, lapwing, np  # noqa: E402

import dascore  # noqa: E402
import xarray  # noqa: E402


def filtered(ranks, **options):
    """The filtered series of a run into out.h5."""
    lapwing(ranks, "ols", *as_arguments(options), "--output", "out.h5", "--overwrite", "--quiet")
    with h5py.File("out.h5") as file:
        return file["filtered"][()]


def make_input():
    """@return the patch that DASCore wrote: 2000 samples of 300 channels, 250 Hz, beginning 2017-09-18"""
    patch = dascore.get_example_patch("random_das", shape=(300, 2000))
    patch = patch.update_attrs(data_units="nanostrain/s", gauge_length=12.5, data_category="DAS")
    patch.io.write("in.h5", "dasdae")
    return patch


def with_dascore(patch):
    """A patch comes out with the dates and the places with which it went in, also if channels and a third of the samples are
    selected."""
    y = filtered(1, input="in.h5", lowpass=20, taps=33)
    times, places = patch.get_array("time"), patch.get_array("distance")
    found = dascore.read("out.h5")
    check(len(found) == 1 and found[0].dims == patch.dims, f"DASCore: {found}")
    check(np.array_equal(found[0].data, y), "DASCore: other samples")
    check(np.array_equal(found[0].get_array("time"), times), f"DASCore: times {found[0].get_array('time')}")
    check(np.array_equal(found[0].get_array("distance"), places), f"DASCore: distances {found[0].get_array('distance')}")
    for name, wanted in ("data_units", patch.attrs.data_units), ("gauge_length", 12.5), ("data_category", "DAS"):
        check(getattr(found[0].attrs, name) == wanted, f"DASCore: {name} is {getattr(found[0].attrs, name)}, not {wanted}")
    check([found[0].coords.coord_map[d].units for d in patch.dims] == [patch.coords.coord_map[d].units for d in patch.dims],
          "DASCore: the coordinates have other units")
    check(found[0].select(distance=(10, 19)).shape == (10, 2000), "DASCore: a selection of channels has another shape")

    y = filtered(2, input="in.h5", lowpass=20, taps=33, decimate=3, channels="5:100:10", count=1000, output_type="float64")
    found = dascore.spool("out.h5")
    check(len(found) == 1 and np.array_equal(found[0].data, y), "DASCore: the spool has other samples")
    check(np.array_equal(found[0].get_array("time"), times[:1000:3]), f"DASCore: every third time {found[0].get_array('time')}")
    check(np.array_equal(found[0].get_array("distance"), places[5:100:10]), f"DASCore: {found[0].get_array('distance')}")


def with_xarray(patch):
    y = filtered(1, input="in.h5", lowpass=20, taps=33)
    at = patch.get_array("time")[1234]
    for engine in ("netcdf4", "h5netcdf"):
        with xarray.open_dataset("out.h5", engine=engine) as dataset:
            found = dataset.filtered.sel(time=at)
            check(np.array_equal(found.values, y[:, 1234]), f"xarray, {engine}: another sample")
            check(found.time.values == at and np.array_equal(found.distance.values, patch.get_array("distance")),
                  f"xarray, {engine}: {found.coords}")


def octave(script):
    done = subprocess.run(["octave-cli", "--quiet", "--norc", script], capture_output=True, text=True, timeout=100)
    check(done.returncode == 0, f"octave {script}: {done.stderr}")
    return done.stdout


def with_octave():
    """Octave's `load`; matlab.py runs the examples for its users."""
    if not shutil.which("octave-cli"):
        print("not tried: Octave is not installed")
        return
    y = filtered(1, input="in.h5", lowpass=20, taps=33)
    with open("look.m", "w") as file:
        file.write("r = load('out.h5'); printf('%.9g %d %d %.17g', r.filtered(1235, 8), size(r.filtered), r.time(end));")
    value, rows, columns, last = octave("look.m").split()
    check(float(value) == float(f"{y[7, 1234]:.9g}") and (rows, columns) == ("2000", "300"), f"octave: {value} {rows} {columns}")
    with h5py.File("out.h5") as file:
        check(float(last) == file["time"][-1], f"octave: the last time {last}")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    example = make_input()
    with_dascore(example)
    with_xarray(example)
    with_octave()
    os.chdir("/")
finish()
