"""The work of six users, from their file to what they look for, by the commands and the job files of jobs/examples. Python only
makes data and checks the findings.

    stories.py LAPWING MPIEXEC [FOLDER with real data]

Without the folder, signals that are made here replace the files of the archives, and the gravitational wave is left out."""

import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tested import check, clipped, convolve, data_path, finish, h5py, lapwing, np, random

try:
    from scipy import ndimage
except ImportError:
    ndimage = None

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "jobs", "examples")


def example(name, *overrides, ranks=2):
    return lapwing(ranks, "run", os.path.join(EXAMPLES, name), *overrides)


def has(name):
    if os.path.isfile(data_path(name)):
        return True
    print(f"without {name}: that part is left out")
    return False


def shown_rows(name):
    """The numbers that `lapwing info FILE:/table` prints."""
    title, head, *rows = lapwing(1, "info", name).stdout.splitlines()
    columns = head.split()
    return title, [dict(zip(columns, map(float, row.split()))) for row in rows]


def drawn(name):
    """Check that `lapwing plot` writes gnuplot's commands for a picture, for which gnuplot is not needed."""
    lapwing(1, "plot", name, "--output", "picture.gp", "--overwrite")
    with open("picture.gp") as file:
        return check("plot" in file.read(), f"the picture of {name}")


# ---- gravitational waves ----------------------------------------------------------------------------------------------------

def gravitational_waves():
    """Two commands, as in the head of gw-search.ini, with 20 of its templates. The event is published: 1126259462.4 GPS seconds,
    masses near 40 and 30 Suns."""
    if not has("gw150914-h1.hdf5"):
        return
    with open(os.path.join(EXAMPLES, "gw-search.ini")) as file:
        first = re.search(r"^# +lapwing (filters .*)$", file.read(), re.M).group(1)
    subprocess.run([sys.executable, os.path.join(EXAMPLES, "gw-masses.py"), "20"], check=True)
    lapwing(2, *first.split())
    example("gw-search.ini", "--input", data_path("gw150914-h1.hdf5"))
    title, rows = shown_rows("gw-events.h5:/peaks")
    with h5py.File("gw-events.h5") as file:
        table = file["peaks"][()]
    check(len(table) == 1 and abs(table["time"][0] - 1126259462.4541) < 1e-3 and table["filter"][0] == 11 and
          abs(table["snr"][0] - 19.39) < 0.01, f"the event: {table}")
    check(title.startswith("gw-events.h5:/peaks: 1 row; time: GPS"), f"info: {title}")
    check(len(rows) == 1 and abs(rows[0]["time"] - table["time"][0]) < 1e-6 and rows[0]["index"] == table["index"][0], f"info: {rows}")
    drawn("gw-events.h5")
    example("gw-search.ini", "--input", data_path("gw150914-h1.hdf5"), "--mode", "same", "--output", "gw-same.h5")
    title, rows = shown_rows("gw-same.h5:/peaks")
    check(len(rows) > 1 and title.startswith(f"gw-same.h5:/peaks: {len(rows)} rows, the strongest first; time: GPS"), f"info: {title}")
    check([row["snr"] for row in rows] == sorted((row["snr"] for row in rows), reverse=True),
          "info does not show the strongest peaks first")
    check(any(abs(row["time"] - table["time"][0]) < 1e-6 for row in rows), f"the event with mode same: {rows}")


# ---- a fibre ----------------------------------------------------------------------------------------------------------------

def fibre():
    """One command for a folder of files as Silixa's interrogators write them; one file is missing."""
    rate, n, pieces, step = 500, 1000, 9, 10.0
    x = random.normal(0, 300, (pieces * n, 40)).cumsum(axis=0)
    x = np.rint(x / np.abs(x).max() * 30000).astype(np.int16)
    os.mkdir("day")
    for k in random.permutation(pieces):
        with h5py.File(f"day/part-{(k * 7) % pieces}.h5", "w") as file:     # the order of names is not that of times
            file["Acoustic"] = x[k * n:(k + 1) * n]
            file["Acoustic"].attrs.update({
                "SamplingFrequency[Hz]": "500", "SpatialResolution[m]": str(step), "StartPosition[m]": "0", "MeasureLength[m]": "0",
                "GPSTimeStamp": f"22/09/2023 18:29:{26 + 2 * k:02}.158 (UTC)"})
        if k == 6:
            os.remove(f"day/part-{(k * 7) % pieces}.h5")
    done = example("das-band-pass.ini", "--distance", "100:345", ranks=3)
    check("2023-09-22T18:29:38.158" in done.stderr, f"the gap is not named: {done.stderr}")
    with h5py.File("day-band.h5") as file:
        y, taps, about = file["filtered"][()], file["filters"][()], dict(file["filtered"].attrs)
        distance, channel_dim = file["distance"][()], file["filtered"].shape.index(25)
    y = y if channel_dim == 1 else y.T
    hz, response = np.fft.rfftfreq(1 << 16, 1 / rate), np.abs(np.fft.rfft(taps, 1 << 16))
    check(np.abs(response[(hz > 1.75) & (hz < 19.25)] - 1).max() < 2e-3 and response[(hz < 0.25) | (hz > 20.75)].max() < 2e-3,
          "the filter's response is wrong inside or outside the band")
    known = x[:, 10:35].astype(float)
    gap = np.zeros(len(x), bool)
    gap[6 * n:7 * n] = True
    touched = np.convolve(gap, np.ones(len(taps)), "same") > 0.5
    wanted = np.stack([convolve(np.where(gap, 0, c), taps, "same", "edge") for c in known.T], axis=1)
    wanted[touched] = np.nan
    wanted = wanted[::8]
    check(y.shape == wanted.shape and np.array_equal(np.isnan(y), np.isnan(wanted)), f"shape {y.shape}, or what the gap takes")
    check(np.isfinite(wanted).any() and np.nanmax(np.abs(y - wanted)) < 1e-6 * np.abs(known).max() * 10,
          "the filtered record differs from numpy's")
    check(about["sample_rate_hz"] == rate / 8 and np.allclose(distance, np.arange(10, 35) * step), f"coordinates: {about}")
    drawn("day-band.h5")


# ---- radio ------------------------------------------------------------------------------------------------------------------

def boxcar(width, baseline):
    begin = (baseline - 1) // 2 - (width - 1) // 2
    h = ((np.arange(baseline) >= begin) & (np.arange(baseline) < begin + width)) - width / baseline
    return h / np.linalg.norm(h)


def write_fil(name, samples):
    def keyword(name, *value):
        return struct.pack("<i", len(name)) + name.encode() + (struct.pack(*value) if value else b"")
    with open(name, "wb") as file:
        file.write(keyword("HEADER_START") + keyword("nbits", "<i", 8) + keyword("nifs", "<i", 1) +
                   keyword("nchans", "<i", samples.shape[1]) + keyword("fch1", "<d", 1500.0) + keyword("foff", "<d", -1.0) +
                   keyword("tstart", "<d", 58543.25) + keyword("tsamp", "<d", 0.0005) + keyword("HEADER_END"))
        file.write(samples.tobytes())


def pulses():
    """Two commands: search, and look at a peak."""
    n, hidden = 20000, {(3, 5000): (1, 11), (7, 200): (8, 5), (7, 12345): (16, 4), (11, 19700): (16, 5)}     # width, height
    x = random.normal(100 + 10 * np.sin(np.arange(n) / 3000)[:, None], 5, (n, 12))
    for (channel, at), (width, sigmas) in hidden.items():
        x[at:at + width, channel] += 5 * sigmas
    x[9000:9008, 5] -= 5 * 5        # no pulse: a negative deviation, while pulses add to the mean around them
    x = np.clip(np.rint(x), 0, 255).astype(np.uint8)
    write_fil("crab.fil", x)
    example("single-pulses.ini")
    drawn("pulses.h5")
    title, rows = shown_rows("pulses.h5:/peaks")
    check(len(rows) == len(hidden), f"{len(hidden)} pulses are hidden, found: {rows}")
    for (channel, at), (width, _) in hidden.items():
        near = [row for row in rows if row["channel"] == channel and abs(row["index"] - at - width / 2) <= width / 4 + 1]
        check(len(near) == 1 and abs(np.log2(width) - near[0]["filter"]) <= 1, f"pulse at {channel}, {at}: {rows}")
        if near:
            check(abs(near[0]["time"] - near[0]["index"] * 0.0005) < 1e-6, f"its time: {near}")
            with h5py.File("pulses.h5") as file:
                row = next(row for row in file["peaks"][()] if row["channel"] == channel and row["index"] == near[0]["index"])
            y = convolve(x[:, channel].astype(float), boxcar(2 ** row["filter"], 256), "same", "reflect")[row["index"]]
            check(abs(row["re"] / y - 1) < 1e-5, f"the output there: {row}, expected {y}")


def telescope():
    """The same on a telescope's file; a mask names the channels with interference."""
    if not has("parkes_8bit_1.fil") or not has("parkes_8bit_1_mask.h5"):
        return
    name, mask = data_path("parkes_8bit_1.fil"), data_path("parkes_8bit_1_mask.h5") + ":/chan_mask"
    example("single-pulses.ini", "--input", name, "--mask", mask, "--threshold", 5, "--output", "parkes.h5")
    with open(name, "rb") as file:
        x = np.frombuffer(file.read()[351:], np.uint8).reshape(4096, 832).astype(float)
    with h5py.File(mask.split(":")[0]) as file, h5py.File("parkes.h5") as found:
        bad, table, sigma = file["chan_mask"][()], found["peaks"][()], found["noise"][()]
    check(len(table) > 0 and not bad[table["channel"]].any(), f"{len(table)} pulses, {bad[table['channel']].sum()} in masked channels")
    for c in np.unique(table["channel"])[:4]:
        snr = np.stack([convolve(x[:, c], boxcar(2 ** f, 256), "same", "reflect") / sigma[c, f] for f in range(6)])
        best = snr.max(axis=0)
        wanted = [i for i in np.flatnonzero(best >= 5) if best[i] == best[max(0, i - 64):i + 65].max()]
        rows = table[table["channel"] == c]
        check(rows["index"].tolist() == wanted and np.allclose(rows["snr"], best[wanted], rtol=1e-5) and
              rows["filter"].tolist() == snr[:, wanted].argmax(axis=0).tolist(), f"channel {c}: {rows}, expected {wanted}")


# ---- radio, dispersed ------------------------------------------------------------------------------------------------------

def searched(series, widths):
    """The strongest pulse of a series, (signal-to-noise ratio, width, middle), as PRESTO's single_pulse_search finds it: pieces of 1000
    samples less a line, in units of the scatter of their middle 95%, summed over each width and divided by its root."""
    whole = []
    for piece in np.array_split(series, max(1, len(series) // 1000)):
        i = np.arange(len(piece))
        piece = piece - np.polyval(np.polyfit(i, piece, 1), i)
        middle = np.sort(piece)[len(piece) // 40:-(len(piece) // 40)]
        whole.append(piece / (1.148 * np.sqrt((middle ** 2).sum() / (0.95 * len(piece)))))
    sums = np.concatenate([[0], np.cumsum(np.concatenate(whole))])
    snr = [(sums[w:] - sums[:-w]) / np.sqrt(w) for w in widths]
    return max((s.max(), w, int(s.argmax()) + (w - 1) // 2) for s, w in zip(snr, widths))


def bursts():
    """Four commands, as in the head of dispersed-pulses.ini. A burst of a dispersion measure of 475 in the noise of a telescope, or of
    numpy, is one row, where PRESTO's method finds it, too; without it there is no row."""
    real = has("parkes_8bit_1.fil") and has("parkes_8bit_1_mask.h5")
    if real:
        name, n, more = data_path("parkes_8bit_1.fil"), 832, ("--mask", data_path("parkes_8bit_1_mask.h5") + ":/chan_mask")
        chosen = ("--frequency", "1.5GHz:4.1GHz")
    else:
        name, n, more, chosen = "quiet.fil", 256, (), ()
        write_fil(name, np.clip(np.rint(random.normal(128, 20, (4096, n))), 0, 255).astype(np.uint8))
    command = [sys.executable, os.path.join(EXAMPLES, "add-burst.py"), name, "burst.fil", "475", "0.6", "0.002", "0.5" if real else "0.8"]
    subprocess.run(command, check=True)
    lapwing(1, "filters", "dispersion", "--for", "burst.fil", *chosen, "--dm", "300:600", "--dm-tolerance", "1.25", "--output", "dm.h5")
    example("dispersed-pulses.ini", "--input", name, *more, *chosen, "--output", "none.h5")
    example("dispersed-pulses.ini", *more, *chosen)
    example("dispersed-pulses.ini", *more, *chosen, "--cluster", "64,filters", "--output", "apart.h5", ranks=1)
    _, rows = shown_rows("bursts.h5:/peaks")
    with h5py.File("dm.h5") as file, h5py.File("none.h5") as none, h5py.File("apart.h5") as apart:
        delays, dms = file["delays"][()], file["dm"][()]
        check(len(none["peaks"]) == 0 and len(apart["peaks"]) > 5, f"{len(none['peaks'])} rows without a burst, {len(apart['peaks'])} trials")
    if not check(len(rows) == 1 and abs(rows[0]["dm"] - 475) < 6 and rows[0]["cluster_size"] > 100, f"the burst: {rows}"):
        return
    row, widths = rows[0], [1, 2, 4, 8, 16, 32]
    check(abs(row["time"] - 0.601) < 0.003 and widths[int(row["filter"])] in (4, 8), f"its time and width: {row}")
    with open("burst.fil", "rb") as file:
        x = np.frombuffer(file.read()[-4096 * n:], np.uint8).reshape(4096, n)[:, :delays.shape[1]].astype(float)
    if real:
        with h5py.File(data_path("parkes_8bit_1_mask.h5")) as file:
            x[:, file["chan_mask"][:delays.shape[1]] != 0] = 0
    usual = []
    for t in range(int(row["channel"]) - 3, int(row["channel"]) + 4):
        series = sum(x[d:4096 - delays[t].max() + d, c] for c, d in enumerate(delays[t]))
        usual.append((*searched(series, widths), t))
    snr, width, index, t = max(usual)
    check(abs(t - row["channel"]) <= 1 and width == widths[int(row["filter"])] and abs(index - row["index"]) <= 1 and
          abs(snr / row["snr"] - 1) < 0.1, f"PRESTO's method finds {snr} at trial {t}, {index}, width {width}; lapwing {row}")
    said = lapwing(1, "verify", "bursts.h5").stdout
    check(re.search(r"/peaks +1 +0 .*neighbours were compared for 1 of them, in fewer trials", said), f"verify: {said}")
    drawn("bursts.h5")
    with open("picture.gp") as file:
        script = file.read()
    shown = [list(map(float, line.split())) for line in re.search(r"^\$data0 << EOD\n(.*?)^EOD$", script, re.M | re.S).group(1).splitlines()]
    check('set ylabel "dm (pc cm-3)"' in script and len(shown) == 1 and abs(shown[0][1] / row["dm"] - 1) < 1e-6 and
          abs(shown[0][2] / row["snr"] - 1) < 1e-4, f"the picture shows {shown}, not {row}")


def crab():
    """The field's other files, around the Crab's dispersion measure of 56.77: no pulse, and the noise is what numpy finds."""
    for name, bits in (("parkes_2bit.fil", 2), ("parkes_1bit.fil", 1), ("parkes_4bit.sf", 0)):
        if not has(name):
            continue
        lapwing(1, "filters", "dispersion", "--for", data_path(name), "--dm", "56:58:0.385", "--output", "crab-dm.h5", "--overwrite")
        example("dispersed-pulses.ini", "--input", data_path(name), "--beams", "crab-dm.h5:/delays", "--output", f"{name}.h5", ranks=1)
        with h5py.File(f"{name}.h5") as file, h5py.File("crab-dm.h5") as trials:
            table, sigma, delays, dms = file["peaks"][()], file["noise"][()], trials["delays"][()], trials["dm"][()]
        check(len(table) == 0 and len(dms) == 6 and sigma.shape == (6, 6) and abs(dms[2] - 56.77) < 1e-9, f"{name}: {table}, {dms}")
        if bits == 0:
            continue
        with open(data_path(name), "rb") as file:
            packed = np.frombuffer(file.read()[-4096 * 832 * bits // 8:], np.uint8)
        x = (packed[:, None] >> np.arange(0, 8, bits) & ((1 << bits) - 1)).reshape(4096, 832).astype(float)
        series = sum(x[d:4096 - delays[2].max() + d, c] for c, d in enumerate(delays[2]))
        wanted = [clipped(convolve(series, boxcar(w, 256), "valid", "zero")) for w in (1, 2, 4, 8)]
        check(np.allclose(sigma[2, :4], wanted, rtol=0.1), f"{name}: noise {sigma[2, :4]}, numpy {wanted}")


def binary_pulsar():
    """Three commands, as in the head of binary-pulsars.ini: a pulsar in a binary in the noise of a telescope, or of numpy. Its frequency
    and drift are those of the phase that add-pulsar.py gives it, and all else above 6 sigma is related to it."""
    name, height = data_path("parkes_8bit_1.fil"), 0.05
    if not has("parkes_8bit_1.fil"):
        name, height = "still.fil", 0.1
        write_fil(name, np.clip(np.rint(random.normal(128, 20, (4096, 256))), 0, 255).astype(np.uint8))
    subprocess.run([sys.executable, os.path.join(EXAMPLES, "add-pulsar.py"), name, "survey.fil", "150", "0.025", "500000", str(height)],
                   check=True)
    lapwing(1, "filters", "dispersion", "--for", "survey.fil", "--dm", "145:155", "--dm-tolerance", "1.25", "--output", "survey-dm.h5")
    lapwing(2, "ols", "--input", "survey.fil", "--beams", "survey-dm.h5:/delays", "--boxcar", 1, "--mode", "valid", "--output", "trials.h5")
    example("binary-pulsars.ini")
    with h5py.File("trials.h5") as file, h5py.File("pulsars.h5") as found:
        rate, n, table = file["filtered"].attrs["sample_rate_hz"], file["filtered"].shape[1], found["candidates"][()]
        seconds = found["candidates"].attrs["seconds"]
    middle, turn = 8 - seconds / 2, 2 * np.pi / 320         # the observation's middle lies so many seconds behind that of the series
    wanted = 40 * (1 - 500000 / 299792458 / turn * np.sin(turn * middle))
    row = table[0]
    check(n / rate > 13 and abs(row["dm"] - 150) < 1.5 and row["harmonics"] == 8, f"the pulsar: {row}")
    check(abs(row["frequency"] - wanted) < 0.02 / seconds and abs(row["acceleration"] / 500000 - 1) < 0.01, f"frequency {row['frequency']}, "
          f"not {wanted}, or acceleration {row['acceleration']}")
    others = [other for other in table[1:] if other["sigma"] > 6 and other["related"] != 0]
    check(row["related"] == -1 and not others, f"what is not the pulsar: {others}")
    for name in ("frequency_derivative", "period"):
        wanted = {"frequency_derivative": row["z"] / seconds ** 2, "period": 1 / row["frequency"]}[name]
        check(abs(row[name] / wanted - 1) < 1e-9, f"{name} {row[name]}, not {wanted}")
    drawn("pulsars.h5:/candidates")
    with open("picture.gp") as file:
        blocks = re.findall(r"^\$data\d+ << EOD\n(.*?)^EOD$", file.read(), re.M | re.S)
    profile = np.array([line.split() for line in blocks[0].splitlines()], float)[:64, 1]
    power = np.array([line.split() for line in blocks[2].splitlines()], float)
    check(len(blocks) == 3 and (profile > profile.max() / 2).sum() in range(2, 8), f"the folded profile: {profile}")
    check(power.shape == (61, 61) and np.hypot(*(np.array(np.unravel_index(power.argmax(), power.shape)) - 30)) < 3,
          "the map of powers does not have its maximum in the middle")


# ---- an image ---------------------------------------------------------------------------------------------------------------

def gaussian(fwhm, size):
    r = np.arange(size) - size // 2
    return np.exp(-4 * np.log(2) * (r[:, None] ** 2 + r ** 2) / fwhm ** 2)


def stars():
    """One command. A star on a slope has its own place, flux and height in the table; a kernel without a background smooths."""
    size, places = 256, [(20, 30, 500.0), (100, 60, 900.0), (150, 190, 700.0)]
    image = np.add.outer(0.3 * np.arange(size), 0.2 * np.arange(size)) + random.normal(0, 5, (size, size))
    for row, column, height in places:
        image[row - 7:row + 8, max(0, column - 7):column + 8] += height * gaussian(4, 15)[:, :size - column + 7]
    np.save("stars.npy", image)
    example("image-sources.ini", "--input", "stars.npy", "--threshold", 20)
    _, rows = shown_rows("sources.h5:/peaks")
    found = sorted((row["y"] - 1, row["x"] - 1, row["peak"], row["flux"]) for row in rows)
    wanted = [(*place, place[2] * gaussian(4, 25).sum()) for place in places]
    check(len(found) == 3 and all(np.allclose(a, b, rtol=0, atol=(0.1, 0.1, 20, 300)) for a, b in zip(found, wanted)), f"stars: {found}")
    drawn("sources.h5:/peaks")
    lapwing(1, "conv2d", "--input", "stars.npy", "--gaussian", 3.3, "--boundary", "reflect", "--output", "smooth.h5")
    with h5py.File("smooth.h5") as file:
        kernel = gaussian(3.3, file["kernel"].shape[0])
        check(np.allclose(file["kernel"], kernel / kernel.sum(), rtol=1e-12, atol=0) and kernel.min() < 4e-6,
              "the smoothing kernel differs from its definition")
        check(file["kernel"].attrs["fwhm_pixels"] == 3.3 and "background_pixels" not in file["kernel"].attrs,
              "the smoothing kernel has wrong attributes")


def galaxy():
    if not has("M51.fits"):
        return
    example("image-sources.ini", "--input", data_path("M51.fits"), "--output", "m51.h5")
    with open(data_path("M51.fits"), "rb") as file:
        data = file.read()
    end = data.index(b"END" + b" " * 77)
    x = np.frombuffer(data, ">i2", 512 * 512, -(-(end + 80) // 2880) * 2880).reshape(512, 512).astype(float)
    lapwing(2, "verify", "m51.h5")
    with h5py.File("m51.h5") as file:
        snr, table = file["convolved"][()], file["peaks"][()]
    if ndimage:
        highest = (snr == ndimage.maximum_filter(snr, 9)) & (snr >= 10)
        check(len(table) > 100 and np.array_equal(np.argwhere(highest), np.stack([table["row"], table["column"]], axis=1)),
              f"the sources in M51: {len(table)}, expected {highest.sum()}")
    kernel = gaussian(4, 15) - gaussian(4, 15).mean()
    kernel /= (kernel ** 2).sum()
    lapwing(2, "conv2d", "--input", data_path("M51.fits"), "--gaussian", 4, "--background", 15, "--boundary", "reflect", "--products",
            "convolved,peaks", "--threshold", 10, "--cluster", 7, "--output", "m51.h5", "--overwrite")
    with h5py.File("m51.h5") as file:
        y, table, sigma = file["convolved"][()], file["peaks"][()], file["noise"][0]
        check(np.allclose(file["kernel"], kernel, rtol=1e-9, atol=1e-15) and file["kernel"].attrs["background_pixels"] == 15,
              "the kernel minus its background differs from its definition")
    if ndimage:
        wanted = ndimage.convolve(x, kernel, mode="reflect")
        check(np.abs(y - wanted).max() < 1e-6 * np.abs(x).max(), f"M51, off by {np.abs(y - wanted).max()}")
        highest = (wanted == ndimage.maximum_filter(wanted, 15)) & (wanted >= 10 * sigma)
        check(len(table) > 10 and np.array_equal(np.argwhere(highest), np.stack([table["row"], table["column"]], axis=1)),
              f"the sources in M51: {len(table)}, expected {highest.sum()}")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    gravitational_waves()
    fibre()
    pulses()
    telescope()
    bursts()
    crab()
    binary_pulsar()
    stars()
    galaxy()
    os.chdir("/")
finish()
