"""Two users of arrays, from their file to what they look for: a seismic network's repeating events, found by templates, and waves
along a cable of distributed acoustic sensing, found by beams. Python only hides the signals in real noise and checks the findings.

    network.py LAPWING MPIEXEC [FOLDER with real data]

Without the folder the noise is made here. If EQcorrscan is installed, it must find the same events."""

import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tested import LAPWING, check, data_path, finish, h5py, lapwing, np, random  # noqa: E402

try:
    from eqcorrscan.utils.correlate import fftw_multi_normxcorr
    from eqcorrscan.utils.findpeaks import find_peaks2_short
except ImportError:
    fftw_multi_normxcorr = None

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "jobs", "examples")


def samples_of(name):
    """The samples of a file of any format, by a filter of one tap, and the attributes of their copy."""
    with h5py.File("one.h5", "w") as file:
        file["taps"] = np.ones((1, 1))
    lapwing(1, "ols", "--input", name, "--filters", "one.h5:/taps", "--output", "copy.h5", "--overwrite", "--quiet")
    with h5py.File("copy.h5") as file:
        return file["filtered"][0].astype(float), dict(file["filtered"].attrs)


# ---- a network --------------------------------------------------------------------------------------------------------------

RATE, SECOND = 1000, 10                # the record begins at second 10 of its minute


def write_mseed(name, x):
    """Write channels of whole numbers as miniSEED, in records of 512 bytes without compression."""
    with open(name, "wb") as file:
        for c, channel in enumerate(x.astype(">i4")):
            for first in range(0, len(channel), 112):
                part, begin = channel[first:first + 112], 10000 * SECOND + 10 * first
                file.write(f"000001D {'NET' + str(c):5}  HHZXX".encode() +
                           struct.pack(">HHBBBBHHhhBBBBiHH", 2018, 243, 7, 1, begin // 10000, 0, begin % 10000, len(part), RATE, 1, 0,
                                       0, 0, 1, 0, 64, 48) + struct.pack(">HHBBBB", 1000, 0, 3, 1, 9, 0))
                file.write((b"\0" * 8 + part.tobytes()).ljust(456, b"\0"))


def hide_events(x):
    """Add events of two places to the noise. @return their arrivals in channel 0, of each the place and the size; delays"""
    delays = np.array([[0, 310, 720], [180, 0, 95]])
    t = np.arange(500) / RATE
    shapes = [[np.exp(-t / 0.12) * np.sin(2 * np.pi * (f * t + 9 * t ** 2)) * (t > 0) for f in fs] for fs in ((9, 14, 19), (23, 12, 7))]
    hidden = {1500: (0, 8), 3600: (1, 8), 5200: (0, 1.5), 6900: (1, 1.2), 8800: (0, 1), 10900: (1, 2), 12000: (0, 1.8)}
    deviations = x.std(axis=1)
    for at, (place, size) in hidden.items():
        for c in range(3):
            begin = at + delays[place, c]
            x[c, begin:begin + 500] += 2 * size * deviations[c] * shapes[place][c]
    return hidden, delays


def peer(x, taps, delays):
    """EQcorrscan's sums, and rows (sample, template, sum) of its detections by 8 median absolute deviations."""
    names = [str(c) for c in range(3)]
    sums, _ = fftw_multi_normxcorr(
        template_array={name: taps[:, c].astype(np.float32) for c, name in enumerate(names)},
        stream_array={name: x[c].astype(np.float32) for c, name in enumerate(names)},
        pad_array={name: delays[:, c].tolist() for c, name in enumerate(names)}, seed_ids=names, cores_inner=1, cores_outer=1)
    rows = [(float(value), int(at) + 100, place) for place, y in enumerate(sums)
            for value, at in find_peaks2_short(y, 8 * np.median(np.abs(y)), 400) if value > 0]
    found = []                          # the strongest of any template within 0.4 s, as its Party.decluster keeps it
    for value, at, place in sorted(rows, reverse=True):
        if all(abs(at - other) > 400 for other, _, _ in found):
            found.append((at, place, value))
    return sums, sorted(found)


def network():
    """Two commands, as in the head of template-matching.ini, and a picture of a detection."""
    path = data_path("etna.mseed")
    x = samples_of(path)[0] if os.path.isfile(path) else random.normal(0, 300, (3, 13556))
    x -= x.mean(axis=1, keepdims=True)
    hidden, delays = hide_events(x)
    x = np.rint(x)
    write_mseed("network.mseed", x)
    if subprocess.run([LAPWING, "info", "network.mseed"], capture_output=True).returncode != 0:
        print("this build has no miniSEED: the record is HDF5")
        with h5py.File("network.mseed", "w") as file:
            file["x"] = x.astype("<i4")
            file["x"].attrs.update(sample_rate_hz=float(RATE), start_time=0.0, start_unit="s since 2018-08-31T07:01:10")
            file["x"].dims[1].label = "time"
    with h5py.File("arrivals.h5", "w") as file:
        file["delays"] = delays / RATE
    with open("times.txt", "w") as file:
        file.write("2018-08-31T07:01:11.5\n3.6s\n")
    with open(os.path.join(EXAMPLES, "template-matching.ini")) as file:
        cut = re.search(r"^# +lapwing (filters .*)$", file.read(), re.M).group(1)
    lapwing(2, *cut.split())
    with h5py.File("templates.h5") as file:
        taps = file["taps"][()]
    for place, at in ((0, 1500), (1, 3600)):
        same = [np.array_equal(taps[place, c], x[c, at + d - 100:at + d + 600]) for c, d in enumerate(delays[place])]
        check(all(same), f"template {place} is not cut at its channels' arrivals: {same}")
    lapwing(2, "run", os.path.join(EXAMPLES, "template-matching.ini"), "--products", "filtered,peaks")
    with h5py.File("detections.h5") as file:
        table, y, first = file["peaks"][()], file["filtered"][()], int(file["filtered"].attrs["first_input_sample"])
    wanted = [(at, place) for at, (place, _) in sorted(hidden.items())]
    found = [(int(row["index"]) + first, int(row["filter"])) for row in table]
    near = len(found) == len(wanted) and all(abs(a[0] - b[0]) <= 4 and a[1] == b[1] for a, b in zip(found, wanted))
    check(near and found[:2] == wanted[:2] and (table["channel"] == -1).all(), f"events: {found}, hidden {wanted}")
    check(np.abs(table["time"] - [at / RATE for at, _ in found]).max() < 1e-9, f"times of the events: {table['time']}")
    check(table["re"][:2].min() > 2.9999, f"the templates do not find themselves: {table['re']}")
    if fftw_multi_normxcorr:
        n, begin = x.shape[1] - delays.max() - taps.shape[2] + 1, 100 - first
        sums, theirs = peer(x, taps, delays)
        off = max(np.abs(a[:n] - b[begin:begin + n]).max() for a, b in zip(sums, y))
        check(off < 1e-5, f"the sums differ from EQcorrscan's by {off}")
        check([row[:2] for row in theirs] == found, f"EQcorrscan finds {theirs}")
        print(f"EQcorrscan: sums within {off:.2g}, {len(theirs)} detections")
    aligned(x, found, delays[1], taps.shape[2], range(3))
    lapwing(1, "run", os.path.join(EXAMPLES, "template-matching.ini"), "--channels", "0:3:2", "--overwrite")
    aligned(x, found, delays[1], taps.shape[2], range(0, 3, 2))


def aligned(x, found, delays, reach, channels):
    """Check a picture of the event behind second 6: each channel around its arrival, divided by its largest sample, and their mean
    on top."""
    lapwing(1, "plot", "detections.h5:/peaks", "--kind", "detection", "--from", "6s", "--to", "8s", "--output", "event.gp", "--overwrite")
    at = next((at for at, _ in found if 6000 <= at < 8000), 0)
    with open("event.gp", encoding="utf-8") as file:
        script = file.read()
    blocks = [np.array([line.split() for line in block.split("\n")[:-1]], float)
              for block in re.findall(r"^\$data\d+ << EOD\n(.*?)^EOD$", script, re.M | re.S)]
    windows = np.stack([x[c, at + delays[c] - reach:at + delays[c] + reach + 1] for c in channels])
    windows /= np.abs(windows).max(axis=1, keepdims=True)
    mean = windows.sum(axis=0)
    wanted = [c + 0.48 * channels.step * w for c, w in zip(channels, windows)]
    wanted += [channels[-1] + channels.step * (1.6 + 0.9 * mean / np.abs(mean).max())]
    check(len(blocks) == len(channels) + 1 and all(
        np.allclose(b[:, 0], np.arange(-reach, reach + 1) / RATE, atol=1e-9) and np.allclose(b[:, 1], w, atol=2e-5)
        for b, w in zip(blocks, wanted)), f"the picture's {len(blocks)} traces are not the channels {channels} around their arrivals")
    title = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), script)
    check(f"filter 1, 2018-08-31T07:01:16.{at - 6000}" in title and f"sample {at}," in title, f"the title: {title[:1500]}")


# ---- a cable ----------------------------------------------------------------------------------------------------------------

CHANNELS, SAMPLES, HZ = 51, 5000, 500
WAVES = ((1900, 0.352), (3400, -0.603))         # sample at channel 0, slowness in s/km


def cable_of(name):
    """A real record to hide waves in, or a file as Silixa's interrogators write it. @return  dataset, metres between channels"""
    real = data_path("das-optodas.hdf5")
    if os.path.isfile(real):
        with open(real, "rb") as source, open(name, "wb") as copy:
            copy.write(source.read())
        return "data", 51.0650095387
    with h5py.File(name, "w") as file:
        slow = random.normal(0, 100, (SAMPLES, CHANNELS)).cumsum(axis=0)
        file["Acoustic"] = (slow + random.normal(0, 300, slow.shape)).astype("<i2")
        file["Acoustic"].attrs.update({
            "SamplingFrequency[Hz]": str(HZ), "SpatialResolution[m]": "50", "StartPosition[m]": "0", "MeasureLength[m]": "0",
            "GPSTimeStamp": "22/09/2023 18:29:26.158 (UTC)"})
    return "Acoustic", 50.0


def cable():
    """Two commands, as in the head of das-beams.ini. Waves that are no stronger than peaks of the noise in each channel are found
    with their slowness and time."""
    dataset, spacing = cable_of("cable.hdf5")
    t = (np.arange(60) - 30) / HZ
    ricker = (1 - 2 * (np.pi * 65 * t) ** 2) * np.exp(-(np.pi * 65 * t) ** 2)
    with h5py.File("cable.hdf5", "a") as file:
        x = file[dataset][()].astype(float)
        hz = np.fft.rfftfreq(SAMPLES, 1 / HZ)
        band = np.fft.irfft(np.fft.rfft(x, axis=0) * ((hz > 40) & (hz < 100))[:, None], SAMPLES, axis=0)
        for at, slowness in WAVES:
            for c in range(CHANNELS):
                middle = at + round(slowness * c * spacing * 1e-3 * HZ)
                x[middle - 30:middle + 30, c] += 3.2 * np.median(band.std(axis=0)) * ricker
        file[dataset][...] = np.rint(x) if file[dataset].dtype.kind == "i" else x
    with open(os.path.join(EXAMPLES, "das-beams.ini")) as file:
        make = re.search(r"^# +lapwing (filters .*)$", file.read(), re.M).group(1)
    lapwing(1, *make.split())
    lapwing(3, "run", os.path.join(EXAMPLES, "das-beams.ini"))
    with h5py.File("waves.h5") as file:
        table, shape = np.sort(file["peaks"][()], order="snr")[::-1], file["filtered"].shape
        slowness = file["slowness"][()]
    for at, wanted in WAVES:
        row = next((row for row in table if abs(row["index"] - at) <= 5), None)
        check(row is not None and abs(row["slowness"] - wanted) <= 0.005 and row["slowness"] == slowness[row["channel"]] and
              abs(row["time"] - row["index"] / HZ) < 1e-6, f"the wave at sample {at}, {wanted} s/km: {row}")
    check(sorted(shape) == [401, SAMPLES] and np.allclose(slowness, np.linspace(-1, 1, 401)), f"beams {shape} of {slowness}")
    lapwing(1, "plot", "waves.h5:/filtered", "--from", "3s", "--to", "5s", "--output", "beams.gp")
    with open("beams.gp") as file:
        script = file.read()
    check("slowness" in script and "distance" in script, "the picture of the beams has no axes of slowness and, above, distance")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        network()
        cable()
        os.chdir("/")
    finish()
