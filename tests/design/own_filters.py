"""Filters that `ols` makes itself, in Hz (--bandpass, --lowpass, --highpass, --boxcar), and whitened filters (--whiten), end to
end against numpy and scipy in double precision.

    own_filters.py LAPWING MPIEXEC [FOLDER with real data]

In Hz: /filters of the result holds the taps and the attributes of the bank that `lapwing filters` makes, which
tests/cli/filters_oracle.py compares with scipy. The result equals that of this bank, bit by bit.

Whitened: /psd is scipy.signal.welch with the median, within 1e-10 at each frequency, if no sample is missing; otherwise it is
computed here by definition. /filters is what src/design/whiten.h defines, by numpy.convolve in time where the program multiplies
in frequency, within 1e-9 of the largest tap. In noise the outputs have a standard deviation near 1. Results do not depend on
ranks, on threads or on the way to read, bit by bit. Only LW_TEST_ALL loads scipy without real data, and takes more ranks."""

import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from tested import ALL, as_arguments, check, data_path, finish, lapwing, numbers_of_ranks, random

import h5py
import numpy as np

STRAIN = data_path("gw150914-h1.hdf5")
try:
    signal = None
    if ALL or os.path.isfile(STRAIN):       # the import takes longer than the few spectra
        from scipy import signal
except ImportError:
    print("without scipy: compared with numpy alone")
ranks = numbers_of_ranks(1, 2, 3)
axes = {}       # options for files with several channels


def write(name, x, rate, **attributes):
    axes[name] = {"axis": 1} if np.ndim(x) == 2 else {}
    with h5py.File(name, "w") as file:
        file["x"] = x
        if rate:
            file["x"].attrs["sample_rate_hz"] = rate
        for key, value in attributes.items():
            file["x"].attrs[key] = value


def ols(name, n_ranks=None, code=0, **options):
    """The content of the result, {dataset: (array, attributes)}; or the message."""
    options = {**axes[name], **options}
    done = lapwing(n_ranks or next(ranks), "ols", "--input", f"{name}:/x", *as_arguments(options), "--output", "out.h5",
                   "--overwrite", code=code)
    if code:
        check(done.stderr.count("lapwing: ") == 1, f"one message: {done.stderr}")
        return done.stderr
    with h5py.File("out.h5") as file:
        names = [key for key in ("filtered", "filters", "psd", "peaks", "noise") if key in file]
        found = {key: (file[key][()], dict(file[key].attrs)) for key in names}
    check("lapwing: " not in done.stderr, f"{options}: {done.stderr}")
    return found


def refused(name, pattern, code=2, n_ranks=1, **options):
    said = ols(name, n_ranks=n_ranks, code=code, **options)
    check(pattern in said, f"{options}: the message lacks '{pattern}': {said}")


# ---- in Hz ------------------------------------------------------------------------------------------------------------------

def bank(kind, **options):
    lapwing(1, "filters", kind, *as_arguments(options), "--output", "bank.h5", "--overwrite")
    with h5py.File("bank.h5") as file:
        return file["taps"][()], dict(file["taps"].attrs)


def equal_attributes(a, b):
    """Whether attributes are equal, except those for coordinates, which hold references to places in a file."""
    coordinates = {"DIMENSION_LIST", "_FillValue", "coordinates"}
    a, b = ({key: value for key, value in said.items() if key not in coordinates} for said in (a, b))
    return set(a) == set(b) and all(np.array_equal(a[key], b[key]) for key in a)


def as_bank(name, ways, kind, **options):
    """A filter made by one option equals that of the bank, and so does the result."""
    taps, about = bank(kind, rate=500, **options)
    made = ols(name, **ways)
    check(np.array_equal(made["filters"][0], taps), f"{ways}: the taps differ from those of the bank")
    check(equal_attributes(made["filters"][1], about), f"{ways}: {made['filters'][1]}, {about}")
    read = ols(name, filters="bank.h5:/taps", **{key: ways[key] for key in ways if key in ("sample_rate", "boundary")})
    check("filters" not in read, "a bank that was read is copied into the result")
    check(made["filtered"][0].tobytes() == read["filtered"][0].tobytes(), f"{ways}: the result differs from that of the bank")
    check(equal_attributes(made["filtered"][1], read["filtered"][1]), f"{ways}: the result's attributes")
    return taps, about


def in_hertz():
    x = random.standard_normal((3, 5000))
    write("das.h5", x, 500)
    write("none.h5", x, None)
    as_bank("das.h5", dict(bandpass="2:20", transition=1.5), "bandpass", **{"from": 2, "to": 20}, transition=1.5)
    as_bank("das.h5", dict(bandpass="2Hz:0.02kHz", taps=301, attenuation=40), "bandpass",
            **{"from": 2, "to": 20}, taps=301, attenuation=40)
    as_bank("das.h5", dict(lowpass="50", transition="10"), "lowpass", to=50, transition=10)
    as_bank("das.h5", dict(highpass="1e-3kHz", taps=1001), "highpass", **{"from": 1}, taps=1001)
    as_bank("das.h5", dict(bandpass="2:20"), "bandpass", **{"from": 2, "to": 20}, transition=1)      # a quarter of 4 Hz
    as_bank("das.h5", dict(lowpass="245"), "lowpass", to=245, transition=2.5)
    as_bank("das.h5", dict(boxcar="1,2,5,16"), "boxcar", widths="1,2,5,16")
    as_bank("das.h5", dict(boxcar="2ms,16 ms,0.1s"), "boxcar", durations="0.002,0.016,0.1")
    as_bank("none.h5", dict(boxcar="1,8ms", sample_rate="500Hz"), "boxcar", durations="0.002,0.008")
    as_bank("das.h5", dict(boxcar="1,16", baseline="0.1s", boundary="reflect"), "boxcar", widths="1,16", baseline="50")

    # several filters: each has the taps that it has alone, in the middle of the longest
    made = ols("das.h5", bandpass="2:5,5:10,20:100", transition="1.2", attenuation="70")
    taps, about = made["filters"]
    check(made["filtered"][0].shape == (3, 3, 5000) and taps.shape[0] == 3, f"three bands: {taps.shape}")
    for f, (low, high) in enumerate(((2, 5), (5, 10), (20, 100))):
        alone, its = bank("bandpass", rate=500, **{"from": low, "to": high}, transition=1.2, attenuation=70)
        pad = (taps.shape[1] - len(alone)) // 2
        close(taps[f], np.pad(alone, pad), 1e-13, f"band {low}..{high} and the one that is made alone")
        check(about["from_hz"][f] == low and about["to_hz"][f] == high and about["kaiser_beta"][f] == its["kaiser_beta"] and
              abs(about["attenuation_db"][f] - its["attenuation_db"]) < 0.02 and
              about["group_delay_samples"][f] == (taps.shape[1] - 1) / 2, f"attributes of band {low}..{high}: {about}")
    check(ols("das.h5", lowpass="20,50,100")["filters"][0].shape[0] == 3, "three frequencies do not give three low-passes")

    # a filter in Hz fits any rate of the input; widths in samples need no rate
    write("other.h5", x, 1000)
    taps, about = ols("other.h5", lowpass="50", transition="10")["filters"]
    check(about["sample_rate_hz"] == 1000 and not np.array_equal(taps, bank("lowpass", rate=500, to=50, transition=10)[0]),
          "the low-pass is not for the input's rate of 1000 Hz")
    check("sample_rate_hz" not in ols("none.h5", boxcar="1,2,4")["filters"][1], "boxcars have a rate although the input has none")

    for n_ranks in (1, 3) if ALL else (1,):
        refused("das.h5", "--filters is missing", n_ranks=n_ranks)
        refused("none.h5", "--lowpass needs the sampling rate of none.h5:/x", lowpass="3", n_ranks=n_ranks)
        refused("das.h5", "--bandpass 2:300: 300 Hz is beyond 250 Hz", bandpass="1:4,2:300", n_ranks=n_ranks)
    refused("das.h5", "--bandpass and --lowpass exclude each other", bandpass="1:2", lowpass="3")
    refused("das.h5", "--filters and --boxcar exclude each other", filters="bank.h5:/taps", boxcar="3")
    refused("none.h5", "give --sample-rate", boxcar="3ms")
    refused("das.h5", "--bandpass 20:2: the lower edge is not below the upper one", bandpass="20:2")
    refused("das.h5", "--transition 9 Hz is too wide: it must be below 4 Hz", bandpass="20:100,2:50", transition=9)
    refused("das.h5", "--bandpass: '20' is no band LOW:HIGH", bandpass="20")
    refused("das.h5", "--bandpass: '' is no band", bandpass="1:2,")
    refused("das.h5", "--bandpass: '1:2:3' is no band", bandpass="1:2:3")
    refused("das.h5", "--lowpass: '5x' is no frequency", lowpass="5x")
    refused("das.h5", "--lowpass: '1:5' is no frequency", lowpass="1:5")
    refused("das.h5", "is too long", lowpass="5" * 60)
    refused("das.h5", "--lowpass: 'nan' is no frequency", lowpass="nan")
    refused("das.h5", "--highpass -3: -3 Hz is below 0", highpass="-3")
    refused("das.h5", "--lowpass 0: the upper edge must lie between 0 and 250 Hz", lowpass="0")
    refused("das.h5", "--highpass 250: the lower edge", highpass="250")
    refused("das.h5", "--taps 512 is even", highpass="2", taps=512)
    refused("das.h5", "--taps and --transition exclude", highpass="2", taps=511, transition=1)
    refused("das.h5", "--taps goes with --bandpass", boxcar="2", taps=511)
    refused("das.h5", "--transition goes with --bandpass", filters="bank.h5:/taps", transition=2)
    refused("das.h5", "would have", lowpass="1e-4", transition=1e-5)
    refused("das.h5", "--boxcar: '' is no width", boxcar="2ms,,3")
    refused("das.h5", "baseline: 16 samples are not more than the widest boxcar, 16", boxcar="1,16", baseline="32ms")
    refused("das.h5", "--baseline: '1.5' is no width such as 16", boxcar="1", baseline="1.5")
    refused("das.h5", "baseline= goes with widths of --boxcar, not with --lowpass", lowpass="9", baseline="99")
    refused("none.h5", "give --sample-rate", boxcar="3", baseline="2s", n_ranks=3)
    refused("das.h5", "--boxcar: 0.1ms is 0.05 samples", boxcar="0.1ms")
    refused("das.h5", "--boxcar: '1.5' is no width such as 16", boxcar="1.5")
    refused("das.h5", "4097 numbers", boxcar=",".join(["2"] * 4097))


# ---- whitened ---------------------------------------------------------------------------------------------------------------

def coloured(n, rate):
    """Noise that is strong at low frequencies, with a line."""
    x = np.convolve(random.standard_normal(n + 400), 0.97 ** np.arange(400), "valid")[:n]
    return x + np.cos(2 * np.pi * 0.21 * np.arange(n)) + 0.01 * random.standard_normal(n)


def median_spectrum(x, rate, n, counts=None):
    """The median spectrum of the segments that count: those with finite samples only."""
    window = np.sin(np.pi * np.arange(n) / n) ** 2
    starts = np.arange(0, len(x) - n + 1, n // 2)
    if counts is not None:
        starts = starts[counts]
    segments = np.lib.stride_tricks.sliding_window_view(x, n)[starts]
    if x.dtype.kind == "f":
        segments = segments[np.isfinite(segments).all(axis=1)]
    powers = np.abs(np.fft.rfft(segments * window, axis=1)) ** 2 / (rate * np.sum(window ** 2))
    powers[:, 1:-1] *= 2
    m = len(powers)
    bias = np.sum((-1.0) ** np.arange(m if m % 2 else m - 1) / np.arange(1, (m if m % 2 else m - 1) + 1))
    return np.median(powers, axis=0) / bias, m


def whiten(h, spectrum, n, rate, band=None):
    """Whiten a filter by the definition, in time."""
    hz = np.arange(n // 2 + 1) * rate / n
    inverse = np.zeros(n // 2 + 1)
    passed = slice(1, n // 2)
    inverse[passed] = 1 / np.sqrt(spectrum[passed])
    if band:
        inverse[(hz < band[0]) | (hz > band[1])] = 0
    t = np.arange(-(n // 2 - 1), n // 2)
    q = np.fft.irfft(inverse, n)[t % n] * np.cos(np.pi * t / n) ** 2
    long = np.convolve(h, np.convolve(q, q))
    two_sided = np.concatenate([spectrum[:1], spectrum[1:-1] / 2, spectrum[-1:], spectrum[-2:0:-1] / 2])
    response = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(len(long))) / n) @ long if n <= 512 else \
        np.fft.fft(np.pad(long, (0, -len(long) % n)).reshape(-1, n).sum(axis=0))
    power = np.sum(two_sided * np.abs(response) ** 2) * rate / n
    return long / np.sqrt(power / (2 if np.iscomplexobj(h) else 1))


def close(got, wanted, tolerance, text):
    off = np.abs(got - wanted).max() / np.abs(wanted).max() if np.shape(got) == np.shape(wanted) else None
    check(off is not None and off <= tolerance, f"{text}: {np.shape(got)}, {np.shape(wanted)}, off by {off}")


def put_filters(h):
    with h5py.File("templates.h5", "w") as file:
        file["taps"] = h


def whitened():
    rate, n = 1000, 60000
    x = coloured(n, rate)
    write("noise.h5", x, rate, unit="m")
    templates = np.stack([np.sin(np.linspace(0, 40, 200) ** 1.5), np.hanning(200)])
    for h, options, segment, band in (
            (templates, dict(whiten=0.5), 500, None),
            (templates[0], dict(whiten=0.256), 256, None),
            (templates[0] + 1j * templates[0][::-1], dict(whiten=1, whiten_band="10:0.4kHz"), 1000, (10, 400)),
            (np.array([1.0]), dict(whiten=0.5, mode="valid"), 500, None)):
        put_filters(h)
        text = f"{np.shape(h)}, {options}"
        found = ols("noise.h5", filters="templates.h5:/taps", precision="double", **options)
        spectrum, m = median_spectrum(x, rate, segment)
        psd, about = found["psd"]
        check(np.allclose(psd, spectrum, rtol=1e-10, atol=0), f"{text}: the spectrum")
        if signal:
            scipys = signal.welch(x, rate, "hann", segment, detrend=False, average="median")[1]
            check(np.allclose(psd, scipys, rtol=1e-10, atol=0), f"{text}: scipy's spectrum, {np.abs(psd / scipys - 1).max()}")
        check(about["segments"] == m and about["segment_samples"] == segment and about["frequency_step_hz"] == rate / segment and
              about["unit"] == "(m)^2/Hz", f"{text}: attributes of the spectrum {about}")
        taps, about = found["filters"]
        rows = np.atleast_2d(h)
        wanted = np.stack([whiten(row, spectrum, segment, rate, band) for row in rows])
        close(np.atleast_2d(taps), wanted, 1e-9, f"{text}: the filters")
        check(taps.shape[-1] == rows.shape[1] + 2 * segment - 4 and about["taps_before"] == rows.shape[1], f"{text}: {about}")
        check(about["sample_rate_hz"] == rate and about["whitened_to_hz"] == (band[1] if band else rate / 2), f"{text}: {about}")
        y, about = found["filtered"]
        length, delay = taps.shape[-1], (taps.shape[-1] - 1) // 2
        for row, its in zip(wanted, np.reshape(y, (len(rows), -1))):
            full = np.convolve(x, row)
            close(its, full[length - 1:n] if "mode" in options else full[delay:delay + n], 1e-9, f"{text}: the outputs")
            inner = its if "mode" in options else its[delay:-delay]
            check(abs(inner.real.std() - 1) < 0.1 and (not np.iscomplexobj(h) or abs(inner.imag.std() - 1) < 0.1),
                  f"{text}: noise of {inner.real.std()}, {inner.imag.std()}")
        check(about["unit"] == "1" and about["whitened_by_segments_s"] == segment / rate, f"{text}: {about}")


def keeps_times():
    """A pulse in noise peaks with --mode same at the same output as without whitening, with the optimal signal-to-noise ratio."""
    rate, n, at = 1000, 40000, 23456
    x = coloured(n, rate)
    pulse = np.sin(2 * np.pi * 0.12 * np.arange(101)) * np.hanning(101)
    spectrum, _ = median_spectrum(x, rate, 500)
    optimal = 12
    strength = np.sqrt(2 * np.sum(np.abs(np.fft.rfft(pulse, 500)) ** 2 / spectrum / rate ** 2) * 2 * rate / 500)
    x[at:at + 101] += optimal / strength * pulse
    write("pulse.h5", x, rate, start_time=77.0, start_unit="second")
    put_filters(pulse[::-1])
    found = ols("pulse.h5", filters="templates.h5:/taps", whiten=0.5, products="peaks", threshold=8, cluster=100)
    check("noise" not in found, "the result has /noise although it is 1")
    peaks, about = found["peaks"]
    inner = [row for row in peaks if 1000 < row["index"] < n - 1000]
    check(len(inner) == 1 and inner[0]["index"] == at + 50 and abs(inner[0]["snr"] - optimal) < 3 and
          abs(inner[0]["time"] - 77 - (at + 50) / rate) < 1e-9, f"the pulse: {peaks}")
    check(about["noise"] == "given", f"noise {about['noise']}")
    found = ols("pulse.h5", filters="templates.h5:/taps", whiten=0.5, products="peaks", threshold=8, cluster=100, noise="measured")
    check(abs(found["noise"][0][0, 0] - 1) < 0.1, f"noise measured as {found['noise'][0]}")
    found = ols("pulse.h5", bandpass="50:200", transition=20, whiten=0.5)       # with filters that ols makes itself
    check(abs(found["filtered"][0][1000:-1000].std() - 1) < 0.1, "the outputs of a whitened band do not have sigma 1")
    done = lapwing(1, "ols", "--input", "pulse.h5:/x", "--bandpass", "50:200", "--transition", 20, "--whiten", 0.5, "--decimate", 4,
                   "--output", "out.h5", "--overwrite")
    check(done.stderr.count("of its energy beyond half the new sampling rate (125 Hz)") == 1, f"aliasing: {done.stderr}")


def types_and_gaps():
    """Integers, one chosen channel of a few, gaps, masks, pieces."""
    rate, n = 500, 20000
    x = np.clip(1000 + 100 * coloured(n, rate), 0, 65535).astype(">u2")
    both = np.stack([x[::-1], x, x // 2], axis=1)
    write("counts.h5", both, rate)
    put_filters(np.hanning(31))
    found = ols("counts.h5", axis=0, channels="1:2", start=100, count=15000, filters="templates.h5:/taps", whiten=0.4)
    spectrum, m = median_spectrum(x[100:15100].astype(float), rate, 200)
    check(np.allclose(found["psd"][0], spectrum, rtol=1e-10, atol=0) and found["psd"][1]["segments"] == m,
          "the spectrum of a piece of a channel differs")
    close(found["filters"][0], whiten(np.hanning(31), spectrum, 200, rate), 1e-9, "filters of a piece")

    gaps = x.astype(float)
    gaps[[3000, 3050, 9999]] = np.nan
    gaps[15000:16000] = np.inf
    write("gaps.h5", gaps, rate)
    masked = np.zeros(n, np.uint8)
    masked[12345:12400] = 1
    with h5py.File("mask.h5", "w") as file:
        file["mask"] = masked
    for mask in (None, masked):
        done = lapwing(next(ranks), "ols", "--input", "gaps.h5:/x", "--filters", "templates.h5:/taps", "--whiten", 0.4,
                       "--products", "peaks", "--threshold", 50, "--output", "out.h5", "--overwrite",
                       *([] if mask is None else ["--mask", "mask.h5:/mask"]))
        spectrum, m = median_spectrum(gaps if mask is None else np.where(masked, np.nan, gaps), rate, 200)
        with h5py.File("out.h5") as file:
            check(np.allclose(file["psd"][()], spectrum, rtol=1e-10, atol=0) and file["psd"].attrs["segments"] == m,
                  f"gaps, mask {mask is not None}: {file['psd'].attrs['segments']} segments of {m}; {done.stderr}")


def thinned():
    """More segments than fit into memory: blocks of 8192 segments are measured, evenly spaced."""
    rate, n, segment = 100, 3 << 20, 64
    x = np.repeat(random.integers(-100, 100, n // 4), 4).astype(np.int16) + random.integers(-9, 9, n).astype(np.int16)
    write("long.h5", x, rate)
    put_filters(np.ones(3))
    found = ols("long.h5", n_ranks=1, filters="templates.h5:/taps", whiten=0.64, products="peaks", threshold=1000)
    spectrum, m = median_spectrum(x, rate, segment)
    check(m == found["psd"][1]["segments"] and np.allclose(found["psd"][0], spectrum, rtol=1e-9, atol=0),
          "the spectrum of all segments of a long signal differs")
    segment, n_all = 16, (n - 16) // 8 + 1
    run, most = (1 << 18) // 8, (1 << 25) // 9
    blocks = -(-n_all // run)
    step = -(-blocks // max(1, most // run))
    check(step == 1, "the test's signal has too many segments to be measured whole")
    big = np.tile(x, 10)
    write("longer.h5", big, rate)
    n_all = (len(big) - 16) // 8 + 1
    blocks = -(-n_all // run)
    step = -(-blocks // max(1, most // run))
    check(step > 1, "the test's signal has too few segments to be thinned")
    picked = np.concatenate([np.arange(b * run, min((b + 1) * run, n_all)) for b in range(0, blocks, step)])
    found = ols("longer.h5", n_ranks=2, filters="templates.h5:/taps", whiten=0.16, products="peaks", threshold=1000)
    spectrum, m = median_spectrum(big, rate, segment, picked)
    check(m == found["psd"][1]["segments"] and np.allclose(found["psd"][0], spectrum, rtol=1e-9, atol=0),
          f"some segments of a longer signal: {found['psd'][1]['segments']}, {m}")


def same_bits():
    rate, n = 1000, 700001
    write("bits.h5", coloured(n, rate).astype(np.float32), rate)
    with h5py.File("bits.h5", "a") as file:
        file.move("x", "plain")
        file.create_dataset("x", data=file["plain"][()], chunks=(10000,), compression="gzip", shuffle=True)
        file["x"].attrs["sample_rate_hz"] = rate
    put_filters(np.stack([np.hanning(100), np.sin(np.arange(100.0))]) + 0j)
    first = None
    more = ((1, dict(io="collective", threads=2)), (2, dict(threads=1)), (3, dict(io="collective")), (3, dict(threads=3)), (5, {}))
    for n_ranks, options in ((1, {}), *(more if ALL else ((2, dict(io="collective", threads=2)), (3, dict(threads=3))))):
        found = ols("bits.h5", n_ranks=n_ranks, filters="templates.h5:/taps", whiten=2, products="filtered,peaks", threshold=4.5,
                    cluster=300, **options)
        bits = {key: value[0].tobytes() for key, value in found.items()}
        first = first or bits
        check(len(found["peaks"][0]) > 0 and set(bits) == {"filtered", "filters", "psd", "peaks"}, f"what is found: {list(bits)}")
        for key in first:
            check(bits[key] == first[key], f"{n_ranks} ranks, {options}: {key} differs")
    done = lapwing(1, "plan", "ols", "--input", "bits.h5:/x", "--filters", "templates.h5:/taps", "--whiten", 2,
                   "--output", "p.h5", "--measure")
    check("whitened by segments of 2 s" in done.stdout and "measured" in done.stdout, f"plan: {done.stdout}")
    check(not os.path.exists("p.h5"), "a plan makes a result")
    job = lapwing(1, "info", "out.h5").stdout
    check("whiten = 2" in job, f"the job file lacks --whiten: {job}")


def refusals():
    rate = 1000
    x = random.standard_normal(5000)
    write("plain.h5", x, rate)
    write("complex.h5", x + 1j, rate)
    write("none.h5", x, None)
    write("nan.h5", np.where(np.arange(5000) % 40 == 0, np.nan, x), rate)
    write("zero.h5", np.zeros(5000), rate)
    write("many.h5", np.stack([x, x]), rate)
    put_filters(np.hanning(31))
    bank = dict(filters="templates.h5:/taps")
    refused("complex.h5", "--whiten takes real samples; complex.h5:/x has complex float64", 78, whiten=0.1, **bank)
    refused("many.h5", "--whiten takes a single channel, not 2", 78, whiten=0.1, **bank)
    refused("none.h5", "--whiten needs the sampling rate of none.h5:/x", 2, whiten=0.1, **bank)
    refused("plain.h5", "but the input has only 5000", 78, whiten=6, **bank)
    refused("plain.h5", "a segment must have 16 to", 78, whiten=0.01, **bank)
    refused("plain.h5", "--memory", 78, whiten=0.1, memory="1M", **bank)
    for n_ranks in (1, 3) if ALL else (1,):
        refused("nan.h5", "each segment of 100 samples of nan.h5:/x has some that are not finite", 65, 4 - n_ranks, whiten=0.1, **bank)
        refused("zero.h5", "the power spectrum is 0 at 10 Hz", 65, n_ranks, whiten=0.1, **bank)
    refused("plain.h5", "--whiten band= needs the length of the segments before it", whiten_band="1:2", **bank)
    refused("plain.h5", "--whiten, band 300:200: the lower edge is not below", whiten=0.1, whiten_band="300:200", **bank)
    refused("plain.h5", "--whiten band=1:600 is not within 0 and 500 Hz", whiten=0.1, whiten_band="1:600", **bank)
    refused("plain.h5", "--whiten band=11:12 holds none of the spectrum's frequencies, which are 10 Hz apart", whiten=0.1,
            whiten_band="11:12", **bank)
    refused("plain.h5", "--noise energy is for white noise", whiten=0.1, noise="energy", **bank)
    put_filters(np.zeros(31))
    refused("plain.h5", "filter 0 passes no frequency", 65, whiten=0.1, **bank)
    check(not [name for name in os.listdir(".") if "lapwing-part" in name], "refused runs leave files")


# ---- the event GW150914, from the strain alone ------------------------------------------------------------------------------

def gravitational_wave():
    """The event by two commands (tests/cli/results/stories.py uses the job file for them); the oracle uses the masses and scipy."""
    if not os.path.isfile(STRAIN):
        print("without gw150914-h1.hdf5: the event is not looked for")
        return
    lapwing(2, "filters", "inspiral", "--rate", 4096, "--mass-1", 45, "--mass-2", 45, "--spin-1", 0.5, "--spin-2", 0.5, "--from", 25,
            "--to", 400, "--output", "chirp.h5")
    done = lapwing(2, "ols", "--input", f"{STRAIN}:/strain/Strain", "--filters", "chirp.h5:/taps", "--whiten", 4, "--whiten-band",
                   "15:1700", "--products", "filtered,peaks", "--threshold", 8, "--cluster", 512, "--output", "event.h5")
    with h5py.File("event.h5") as file, h5py.File(STRAIN) as archive, h5py.File("chirp.h5") as templates:
        peaks, y, psd = file["peaks"][()], file["filtered"][()], file["psd"][()]
        x, h, taps = archive["strain/Strain"][()], templates["taps"][()], file["filters"][()]
    edge = len(taps) // 2
    inner = peaks[(peaks["index"] >= edge) & (peaks["index"] < len(x) - edge)]
    largest = inner[inner["snr"].argmax()]
    check(abs(largest["time"] - 1126259462.424) < 0.04, f"the event is found at {largest}: {done.stderr}")
    check(abs(largest["snr"] - 19.702) < 0.005 and len(inner) == 1, f"signal-to-noise: {inner}")
    spectrum, _ = median_spectrum(x, 4096, 16384)
    check(np.allclose(psd, spectrum, rtol=1e-9, atol=0), "the spectrum of the strain differs from scipy's")
    if signal:
        hz = np.arange(8193) / 4
        inverse = np.where((hz >= 15) & (hz <= 1700), 1 / np.sqrt(spectrum), 0)
        t = np.arange(-8191, 8192)
        q = np.fft.irfft(inverse, 16384)[t % 16384] * np.cos(np.pi * t / 16384) ** 2
        long = signal.fftconvolve(h, signal.fftconvolve(q, q))
        close(taps / np.abs(taps).max(), long / np.abs(long).max(), 1e-7, "the filter")
        z = signal.fftconvolve(x, taps)[(len(taps) - 1) // 2:][:len(x)]
        off = np.abs(y - z)[edge:-edge].max()
        check(off < 2e-3, f"the outputs, off by {off}")
        check(abs(z[30000:60000].real.std() - 1) < 0.1 and abs(z[30000:60000].imag.std() - 1) < 0.1,
              "the whitened strain does not have sigma 1")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    in_hertz()
    whitened()
    keeps_times()
    types_and_gaps()
    thinned()
    same_bits()
    refusals()
    gravitational_wave()
    os.chdir("/")
finish()
