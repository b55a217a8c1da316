"""Small HDF5 files in the layouts of instrument makers and archives, by their documentation. Each function fills an open file;
MADE pairs it with the expected output of `lapwing info`."""

from tested import random

import h5py
import numpy as np

UNIX = 1700000000       # 2023-11-14T22:13:20


def prodml(file, swapped=False, dimensions="time,locus", rate=200.0, said=None, version="2.0"):
    acquisition = file.create_group("Acquisition")
    acquisition.attrs.update({"schemaVersion": version, "SpatialSamplingInterval": 2.5, "SpatialSamplingIntervalUnit": "m",
                              "StartLocusIndex": 4, "NumberOfLoci": 6, "PulseRate": 2 * rate, "PulseWidth": 10.0})
    raw = acquisition.create_group("Raw[0]")
    raw.attrs.update({"RawDataUnit": "rad", "NumberOfLoci": 6})
    if said != 0:
        raw.attrs["OutputDataRate"] = said or rate
    data = random.normal(size=(300, 6)).astype("f4")
    stored = raw.create_dataset("RawData", data=data.T if swapped else data)
    stored.attrs["PartStartTime"] = "2023-11-14T23:13:20.5+01:00"
    if dimensions:
        stored.attrs["Dimensions"] = dimensions
    times = raw.create_dataset("RawDataTime", data=UNIX * 10**6 + 500000 + np.rint(np.arange(300) / rate * 1e6).astype("i8"))
    times.attrs["Uom"] = "us"


def apsensing(file):
    file["DAS"] = np.ones((50, 8), "i2")
    file["ProcessingServer/DataRate"] = [250.0]
    file["ProcessingServer/SpatialSampling"] = [1.25]
    file["DAQ/PositionStart"] = [10.0]
    file["DAQ/PositionStart"].attrs["Unit"] = "m"
    file["DAQ/PositionEnd"] = [21.0]
    file["Metadata/Timestamp"] = [b"2023-11-14T22:13:20.123456Z"]
    file["Metadata/Timezone"] = [b"UTC"]
    file["Metadata/TraceCount"] = [50]


def neubrex(file):
    file["Acoustic"] = np.ones((50, 8), "f4")
    file["Acoustic"].attrs.update({
        "NEUBRESCOPE.DAS.Model": "NBX-S4000", "StartPosition": 12.5, "StopPosition": 20.0, "SpatialSamplingInterval": 0.5,
        "StartStopPositionUnit": "m", "GPSTimeStamp(UTC)": "", "CPUTimeStamp(UTC)": "2023-11-14T22:13:20.25",
        "TimeSamplingInterval(seconds)": 0.0001, "DataPhysicalUnit": "micro-strain"})


def neubrex_shift(file):
    file["data"] = np.ones((40, 9), "f4")
    file["data"].attrs.update({"DataUnitLabel": "micro-strain", "StartDateTime": "x", "EndDateTime": "y"})
    file["depth"] = 100 + 0.2 * np.arange(9)
    file["stamps_unix"] = (UNIX + 30.0 * np.arange(40)) * 1e6
    file["stamps"] = np.array([b"2023"] * 40)


def terra15_v4(file):
    file.attrs.update({"file_version": 4, "data_product": "velocity", "data_product_units": "m/s", "sensing_range_start": 5.0,
                       "dx": 1.5, "nx": 4})
    file["velocity/data"] = np.ones((100, 4), "f4")
    times = UNIX + np.arange(100) / 128
    times[90:] = 0                      # rows that were never written
    file["velocity/gps_time"] = times


def febus(file, n=5, rows=120, overlap=20.0, extent=0, late=(), time_shape=(-1,)):
    source = file.create_group("dev/Source1")
    zone = source.create_group("Zone1")
    zone.attrs.update({"Extent": np.array([10, 12, extent, extent + rows - 1, 0, 0], "i4"), "Spacing": [2.0, 10.0, 1.0],
                       "Origin": [1.0, -200.0, 0.0], "BlockOverlap": [overlap], "GaugeLength": [5.0], "Version": b"2.1",
                       "SamplingRate": [100]})
    if extent:
        zone.attrs["BlockRate"] = [1000]
    period = 100                        # rows from block to block
    series = np.arange(n * period + rows, dtype="f4")
    data = np.stack([series[b * period:b * period + rows] for b in range(n)])
    zone["StrainRate"] = data[:, :, None] + np.array([0, 0.25, 0.5], "f4")
    times = UNIX + np.arange(n, dtype="f8") + sum((np.arange(n) >= b for b in late), np.zeros(n))
    source["time"] = times.reshape(time_shape)
    lead = (rows - period) // 2
    return series[lead:lead + n * period, None] + np.array([0, 0.25, 0.5], "f4")


def dasdae(file, n=1):
    file.attrs["__DASDAE_version__"] = "1"
    for patch in range(n):
        group = file.create_group(f"waveforms/DAS{patch}")
        group.attrs.update({"_dims": "distance,time", "_attrs_data_units": "rad"})
        group["data"] = np.ones((5, 70))
        group["_coord_time"] = UNIX * 10**9 + 4000000 * np.arange(70)
        group["_coord_time"].attrs["is_datetime64"] = np.uint8(1)
        group["_coord_distance"] = 2.0 * np.arange(5)


def xdas(file, n=100, gap=0):
    file["strain"] = np.ones((n, 4), "f4")
    for name, length in ("time", n), ("distance", 4):
        file[name] = np.zeros(length, ">f4")
        file[name].make_scale(f"This is a netCDF dimension but not a netCDF variable.{length:10d}")
        file["strain"].dims[name == "distance"].attach_scale(file[name])
    file["strain"].attrs["coordinate_interpolation"] = "time: t_i t_v distance: d_i d_v"
    file["t_i"], file["t_v"] = [0, 49, 50, n - 1], np.array([0, 49, 50 + gap, n - 1 + gap]) * 2500 + 7
    file["t_v"].attrs["units"] = "microseconds since 2023-11-14 22:13:20"
    file["d_i"], file["d_v"] = [0, 3], [100.0, 130.0]


def netcdf(file):
    """CF: int64 nanoseconds, of which float64 can represent only every 256th."""
    file["das"] = np.ones((4, 60), "f4")
    file["das"].attrs["units"] = "rad"
    file["time"] = UNIX * 10**9 + 3 + 1000001 * np.arange(60)
    file["time"].attrs["units"] = "nanoseconds since 1970-01-01"
    file["x"] = 50 + 2.5 * np.arange(4)
    file["x"].attrs["units"] = "m"
    for d, name in enumerate(("x", "time")):
        file[name].make_scale(name)
        file["das"].dims[d].attach_scale(file[name])


def fbh5(file, barycentric=0):
    """One IF; tstart is 58543.25, as SIGPROC writes it."""
    file.attrs.update({"CLASS": np.bytes_("FILTERBANK"), "VERSION": np.bytes_("1.0")})
    file["data"] = np.ones((40, 1, 16), "f4")
    file["mask"] = np.zeros((40, 1, 16), "u1")
    file["data"].attrs.update(fch1=1500.0, foff=-0.5, tsamp=0.000256, tstart=58543.25, nchans=16, nifs=1, nbits=32,
                              source_name="Voyager1", barycentric=barycentric)


def gwpy(file, t0=1126259446.25, xunit="s", dims=1):
    """The layout of TimeSeries.write, Spectrogram.write and FrequencySeries.write of GWpy 4.1."""
    data = file.create_dataset("H1:STRAIN", data=np.ones((64, 9)[:dims]), chunks=True, compression="gzip")
    data.attrs.update(channel="H1:GDS-CALIB_STRAIN", name="GW-H1", unit="m", x0=t0, dx=1 / 4096, xunit=xunit)
    if dims == 2:
        data.attrs.update(y0=10.0, dy=2.5, yunit="Hz")


def pycbc(file, t0=1126259446.25):
    """The layout of TimeSeries.save of PyCBC 2.11."""
    file["H1/strain"] = np.ones(64)
    file["H1/strain"].attrs.update(start_time=t0, delta_t=1 / 4096)


def beside(file, times, **attributes):
    file["group/samples"] = np.ones((64, 3), "f4")
    file["group/samples"].attrs.update(attributes)
    file["group/utc_time"] = times
    file["other"] = np.ones((2, 2))     # a second dataset makes a path necessary


def optasense(file):
    prodml(file, swapped=True, dimensions="time,locus")


MADE = {
    "prodml": (prodml, dict(
        format="HDF5, PRODML 2.0 ", shape="300 time x 6 distance ", rate="200 Hz, every 5 ms (attribute OutputDataRate)",
        start="2023-11-14T22:13:20.5 ", distance="10 to 22.5 m, every 2.5 m ", unit="rad ")),
    "fbh5": (fbh5, dict(
        format="HDF5, FBH5 ", dataset="/data ", shape="40 time x 1 IF x 16 frequency ", rate="3906.25 Hz, every 256 us ",
        start="2019-03-01T06:00:00 ", frequency="1500 to 1492.5 MHz, every -0.5 MHz ")),
    "fbh5-barycentric": (lambda file: fbh5(file, 1), dict(format="HDF5, FBH5 ", start="58543.25 barycentric MJD ")),
    "optasense": (optasense, dict(shape="6 distance x 300 time ", rate="200 Hz", start="2023-11-14T22:13:20.5 ")),
    "thirds": (lambda file: prodml(file, rate=30.0, said=0), dict(rate="30 Hz ", start="2023-11-14T22:13:20.5 ")),
    "apsensing": (apsensing, dict(
        format="HDF5, AP Sensing ", shape="50 time x 8 distance ", rate="250 Hz, every 4 ms ",
        start="2023-11-14T22:13:20.123456 ", distance="10 to 18.75 m, every 1.25 m ")),
    "neubrex": (neubrex, dict(
        format="HDF5, Neubrex ", rate="10000 Hz, every 100 us ", start="2023-11-14T22:13:20.25 ",
        distance="12.5 to 16 m, every 0.5 m ", unit="micro-strain ")),
    "neubrex-shift": (neubrex_shift, dict(
        format="HDF5, Neubrex RFS ", dataset="/data ", rate="0.0333333333333 Hz, every 30 s ", start="2023-11-14T22:13:20 ",
        distance="100 to 101.6 m, every 0.2 m ")),
    "terra15-4": (terra15_v4, dict(
        format="HDF5, Terra15 4 ", dataset="/velocity/data ", rate="128 Hz, every 7812500 ns ", start="2023-11-14T22:13:20 ",
        distance="5 to 9.5 m, every 1.5 m ", unit="m/s ")),
    "febus": (febus, dict(
        format="HDF5, FEBUS ", shape="500 time x 3 distance, joined from 5 x 120 ", rate="100 Hz, every 10 ms ",
        start="2023-11-14T22:13:19.89999974", distance="21 to 25 m, every 2 m ", unit="nanostrain/s ")),
    "febus-row": (lambda file: febus(file, time_shape=(1, -1)), dict(
        shape="500 time x 3 distance, joined from 5 x 120 ", rate="100 Hz, every 10 ms ", start="2023-11-14T22:13:19.89999974")),
    "dasdae": (dasdae, dict(shape="5 distance x 70 time ", rate="250 Hz, every 4 ms ", start="2023-11-14T22:13:20 ",
                            distance="0 to 8 m, every 2 m ", unit="rad ")),
    "xdas": (xdas, dict(format="HDF5, xdas ", dataset="/strain ", shape="100 time x 4 distance ", rate="400 Hz, every 2500 us ",
                        start="2023-11-14T22:13:20.000007 ", distance="100 to 130 m, every 10 m ")),
    "xdas-gap": (lambda file: xdas(file, gap=9), dict(rate=None, start="2023-11-14T22:13:20.000007 ")),
    "gwpy": (gwpy, dict(
        format="HDF5, GWpy ", dataset="/H1:STRAIN ", shape="64 time ", rate="4096 Hz ", unit="m ",
        start="2015-09-14T09:50:29.25 (GPS 1126259446.25) ", end="2015-09-14T09:50:29.265380859375 ")),
    "gwpy-spectrogram": (lambda file: gwpy(file, dims=2), dict(
        shape="64 time x 9 frequency ", rate="4096 Hz ", start="2015-09-14T09:50:29.25 ", frequency="10 to 30 Hz, every 2.5 Hz ")),
    "gwpy-0": (lambda file: gwpy(file, t0=0.0), dict(rate="4096 Hz ", start="0 second ")),
    "gwpy-frequency": (lambda file: gwpy(file, t0=0.0, xunit="Hz"), dict(format="HDF5, GWpy ", rate=None, start=None, unit="m ")),
    "pycbc": (pycbc, dict(
        format="HDF5 ", dataset="/H1/strain ", rate="4096 Hz ", start="2015-09-14T09:50:29.25 (GPS 1126259446.25) ")),
    "pycbc-0": (lambda file: pycbc(file, 0.0), dict(rate="4096 Hz ", start="0 second ")),
    "netcdf": (netcdf, dict(
        format="HDF5 ", dataset="/das ", shape="4 x x 60 time ", rate="999.999000001 Hz, every 1000001 ns ",
        start="2023-11-14T22:13:20.000000003 ", x="50 to 57.5 m, every 2.5 m ", unit="rad ")),
}
