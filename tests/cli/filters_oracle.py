"""Banks from the command line (`lapwing filters`) against numpy and, if it is installed, scipy: the taps, their attributes, and
what `ols` computes with them.

    filters_oracle.py LAPWING MPIEXEC

Taps are compared with the formulas, and band filters also with scipy.signal.firwin, within 1e-12 of the largest tap, since both
are in double precision. Responses are computed on a much finer grid than the program's, by numpy.fft, and at the edges of the
bands by direct sums. Attenuations agree to 0.03 dB and ripples to 3%, since the program interpolates between its points. `ols`
computes in double precision here."""

import os
import re
import tempfile

from tested import check, convolve, finish, lapwing, numbers_of_ranks

import h5py
import numpy as np

try:
    from scipy import signal
except ImportError:
    print("without scipy: compared with numpy alone")
    signal = None

ranks = numbers_of_ranks(1, 2, 3)
random = np.random.default_rng(3)


def make(kind, **options):
    """Make a bank. @return the taps as [F x M], and the attributes"""
    arguments = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)]
    done = lapwing(next(ranks), "filters", kind, *arguments, "--output", "bank.h5", "--overwrite")
    with h5py.File("bank.h5") as file:
        taps, attributes = file["taps"][...], dict(file["taps"].attrs)
        check(file.attrs["program"] == "lapwing" and f"filters {kind}" in file.attrs["command_line"] and
              "output = bank.h5" in file.attrs["configuration"] and file.attrs["lapwing_complete"] == 1,
              f"provenance of {kind}: {dict(file.attrs)}")
    check(attributes["kind"] == kind, f"kind {attributes['kind']}")
    check(done.stderr.count("\nfilter ") + done.stderr.startswith("filter ") == (1 if taps.ndim == 1 else len(taps)),
          f"lines of the log on {kind}: {done.stderr}")
    return np.atleast_2d(taps), attributes


def close(got, wanted, text, tolerance=1e-12):
    scale = np.abs(wanted).max()
    check(got.shape == np.shape(wanted) and np.abs(got - wanted).max() <= tolerance * scale,
          f"{text}: {got.shape}, {np.shape(wanted)}, off by "
          f"{np.abs(got - wanted).max() / scale if got.shape == np.shape(wanted) else ''}")


def response(h, hz, rate):
    """Magnitudes of the response, by definition."""
    return np.abs(np.exp(-2j * np.pi * np.outer(np.atleast_1d(hz) / rate, np.arange(len(h)))) @ h)


def spectrum(h, rate, edges=()):
    """Frequencies from 0 to half the rate, and the magnitudes there."""
    points = 2 ** 19
    hz = np.concatenate([np.fft.rfftfreq(points, 1 / rate), edges])
    return hz, np.concatenate([np.abs(np.fft.rfft(h, points)), response(h, edges, rate) if len(edges) else []])


def norms(h, attributes, gain_at, rate, norm, f=None):
    """Check that the chosen norm is 1 and that both norms agree with the attributes; `f` is the filter's number in a bank."""
    gain, energy = response(h, gain_at, rate)[0], np.sum(np.abs(h) ** 2)
    check(abs({"gain": gain, "energy": energy}[norm] - 1) < 1e-12, f"{attributes['kind']}: {norm} is {gain}, {energy}")
    said = [attributes[name] if f is None else attributes[name][f] for name in ("gain", "energy")]
    check(np.allclose(said, [gain, energy], rtol=1e-10), f"gain and energy {gain}, {energy}; the attributes are {said}")
    check(attributes["norm"] == norm, f"norm {attributes['norm']}")


# ---- bands ------------------------------------------------------------------------------------------------------------------

def ideal(low, high, n):
    """The ideal band filter from low to high, in cycles per sample."""
    t = np.arange(n) - (n - 1) / 2
    return 2 * high * np.sinc(2 * high * t) - 2 * low * np.sinc(2 * low * t)


def band(kind, rate, low, high, attenuation=60, norm="gain", **length):
    edges = {**({"from": low} if low else {}), **({"to": high} if high else {})}
    (h,), attributes = make(kind, rate=rate, **edges, attenuation=attenuation, norm=norm, **length)
    n = len(h)
    beta, transition = attributes["kaiser_beta"], attributes["transition_hz"]
    lowest, highest = low or 0, high or rate / 2
    reference = 0 if not low else rate / 2 if not high else (low + high) / 2
    text = f"{kind} {low}..{high} of {rate}, {n} taps"

    wanted = ideal(lowest / rate, highest / rate, n) * np.kaiser(n, beta)
    wanted /= response(wanted, reference, rate)[0] if norm == "gain" else np.sqrt(np.sum(wanted ** 2))
    close(h, wanted, text)
    if signal and norm == "gain":
        cut = [edge for edge in (low, high) if edge]
        close(h, signal.firwin(n, cut, window=("kaiser", beta), pass_zero=not low, fs=rate), f"{text}, firwin")
    norms(h, attributes, reference, rate, norm)
    if "taps" in length:
        check(n == length["taps"], f"{text}: {length}")
    else:
        check(n % 2 == 1 and transition == length["transition"], f"{text}: transition {transition}, wanted {length}")
    check(np.abs(h - h[::-1]).max() <= 1e-15 * np.abs(h).max(), f"{text} is not symmetric")
    check(attributes["group_delay_samples"] == (n - 1) / 2, f"{text}: delay {attributes['group_delay_samples']}")

    edges = [edge + side * transition / 2 for edge in (low, high) if edge for side in (-1, 1)]
    hz, gain = spectrum(h, rate, [edge for edge in edges if 0 <= edge <= rate / 2])
    gain /= response(h, reference, rate)[0]
    stop = np.concatenate([gain[hz <= low - transition / 2] if low else [], gain[hz >= high + transition / 2] if high else []])
    if len(stop):
        reached = -20 * np.log10(stop.max())
        check(reached >= attenuation - 0.03, f"{text}: attenuation {reached}, wanted {attenuation}")
        check(abs(reached - attributes["attenuation_db"]) <= 0.03,
              f"{text}: {reached}; the attribute is {attributes['attenuation_db']}")
    flat = gain[(hz >= (low + transition / 2 if low else 0)) & (hz <= (high - transition / 2 if high else rate / 2))]
    if len(flat):
        ripple = np.abs(20 * np.log10(flat)).max()
        check(abs(ripple - attributes["ripple_db"]) <= 0.03 * attributes["ripple_db"] + 1e-9,
              f"{text}: ripple {ripple}; the attribute is {attributes['ripple_db']}")
    for name, edge, beside in (("low_edge_hz", low, 0), ("high_edge_hz", high, rate / 2)):
        here = response(h, attributes[name], rate)[0] / response(h, reference, rate)[0] / gain.max()
        check(abs(here - np.sqrt(0.5)) < 2e-3 if edge else attributes[name] == beside, f"{text}: {name} {attributes[name]}, {here}")
    return n, attributes


def bands():
    band("bandpass", 500, 1, 20, taps=513)                      # without a lower stop band: a warning
    n, _ = band("bandpass", 500, 2, 20, transition=2)
    check(n < 1100, f"{n} taps for a transition of 2 Hz at 500 Hz")
    band("bandpass", 500, 2, 20, transition=1.5, attenuation=80, norm="energy")
    band("bandpass", 4096, 35, 350, taps=1000)                  # an even number of taps
    band("bandpass", 1e6, 1e5, 1.1e5, transition=5e3, attenuation=40)
    band("lowpass", 500, None, 20, taps=513)
    band("lowpass", 1, None, 0.05, transition=0.01, attenuation=100)
    band("lowpass", 8, None, 1, taps=64, attenuation=30, norm="energy")
    band("highpass", 500, 1, None, taps=2049)
    band("highpass", 500, 200, None, transition=10, attenuation=70)
    band("highpass", 500, 200, None, transition=10, attenuation=21)
    double, _ = make("lowpass", rate=500, to=20, taps=101)
    single, attributes = make("lowpass", rate=500, to=20, taps=101, type="float32")
    check(single.dtype == np.float32 and np.array_equal(single, double.astype(np.float32)),
          "float32 taps are not the rounded float64 taps")
    check(abs(attributes["energy"] - np.sum(single.astype(float) ** 2)) < 1e-14,
          "the energy is not that of the stored float32 taps")


# ---- pulses -----------------------------------------------------------------------------------------------------------------

def boxcars():
    for widths in ([1], [7], [1, 2, 4, 8], [64, 1, 3, 17], [5, 4, 3]):
        for norm in ("gain", "energy"):
            taps, attributes = make("boxcar", widths=",".join(map(str, widths)), norm=norm)
            check("sample_rate_hz" not in attributes, "an attribute sample_rate_hz without --rate")
            check(np.array_equal(np.atleast_1d(attributes["width_samples"]), widths), f"widths {attributes['width_samples']}")
            check(taps.shape == (len(widths), max(widths)), f"boxcars {widths}: {taps.shape}")
            for f, (h, width) in enumerate(zip(taps, widths)):
                alone = np.full(width, 1 / (width if norm == "gain" else np.sqrt(width)))
                begin = (max(widths) - 1) // 2 - (width - 1) // 2
                close(h, np.pad(alone, (begin, max(widths) - width - begin)), f"boxcar {width} of {widths}", 1e-15)
                delays = np.atleast_1d(attributes["group_delay_samples"])
                check(delays[f] == begin + (width - 1) / 2, f"boxcar {width} of {widths}: delay {delays[f]}")
                norms(h, attributes, 0, 1, norm, None if len(widths) == 1 else f)
    for baseline, samples in (("40", 40), ("41", 41), ("20ms", 20)):
        taps, attributes = make("boxcar", rate=1000, widths="1,2,5,16", baseline=baseline)
        check(taps.shape == (4, samples), f"baseline {baseline}: {taps.shape}")
        for f, (h, width) in enumerate(zip(taps, (1, 2, 5, 16))):
            begin = (samples - 1) // 2 - (width - 1) // 2
            box = ((np.arange(samples) >= begin) & (np.arange(samples) < begin + width)) - width / samples
            close(h, box / np.linalg.norm(box), f"boxcar {width} less the mean over {samples}", 1e-15)
            check(attributes["group_delay_samples"][f] == begin + (width - 1) / 2, f"baseline {baseline}, boxcar {width}: delay")
    taps, attributes = make("boxcar", rate=1000, durations="0.001,0.0156,0.04")
    check(list(attributes["width_samples"]) == [1, 16, 40], f"durations: {attributes['width_samples']}")
    check(attributes["sample_rate_hz"] == 1000, "the attribute sample_rate_hz is missing")


def shapes():
    rate, t = 500, None
    for options, sigma in (({"sigma": "0.01,0.05"}, [0.01, 0.05]),
                           ({"fwhm": "0.1"}, [0.1 / np.sqrt(8 * np.log(2))]),
                           ({"sigma": "0.02", "taps": 31, "norm": "energy"}, [0.02])):
        taps, attributes = make("gaussian", rate=rate, **options)
        n = options.get("taps", 2 * int(np.ceil(5 * max(sigma) * rate)) + 1)
        t = (np.arange(n) - n // 2) / rate
        for f, (h, s) in enumerate(zip(taps, sigma)):
            wanted = np.exp(-t ** 2 / (2 * s ** 2))
            wanted /= wanted.sum() if "norm" not in options else np.sqrt(np.sum(wanted ** 2))
            close(h, wanted, f"Gaussian {options}")
            norms(h, attributes, 0, rate, options.get("norm", "gain"), f if len(sigma) > 1 else None)
        check(np.allclose(attributes["sigma_s"], sigma, rtol=1e-14), f"sigma {attributes['sigma_s']}")
        check(np.all(attributes["group_delay_samples"] == n // 2), "Gaussians: wrong group delay")
    for options, peaks in (({"frequency": "10,20,40"}, [10, 20, 40]), ({"frequency": "25", "norm": "gain", "taps": 201}, [25])):
        taps, attributes = make("ricker", rate=rate, **options)
        n = options.get("taps", 2 * int(np.ceil(1.4 * rate / min(peaks))) + 1)
        t = (np.arange(n) - n // 2) / rate
        for f, (h, peak) in enumerate(zip(taps, peaks)):
            a = (np.pi * peak * t) ** 2
            wanted = (1 - 2 * a) * np.exp(-a)
            wanted /= response(wanted, peak, rate)[0] if "norm" in options else np.sqrt(np.sum(wanted ** 2))
            close(h, wanted, f"Ricker {peak}")
            norms(h, attributes, peak, rate, options.get("norm", "energy"), f if len(peaks) > 1 else None)
            hz, gain = spectrum(h, rate)
            strongest = hz[gain.argmax()]
            check(abs(strongest - peak) < 0.2, f"Ricker {peak} is strongest at {strongest}")
        check(np.allclose(attributes["frequency_hz"], peaks), f"peaks {attributes['frequency_hz']}")


def chirps():
    for rate, low, high, duration, window, norm in ((4096, 50, 300, 0.25, "rectangular", "energy"),
                                                    (4096, 300, 50, 0.1, "hann", "gain"), (1000, 100, 100, 0.0996, "hann", "energy")):
        (h,), attributes = make("chirp", rate=rate, **{"from": low, "to": high}, duration=duration, window=window, norm=norm)
        n = round(duration * rate)
        t, T = np.arange(n) / rate, n / rate
        s = np.exp(2j * np.pi * (low * t + (high - low) * t ** 2 / (2 * T)))
        if signal:
            close(s.real, signal.chirp(t, low, T, high), "our chirp and scipy's", 1e-9)
        s *= np.sin(np.pi * (np.arange(n) + 0.5) / n) ** 2 if window == "hann" else 1
        wanted = np.conj(s[::-1])
        middle = (low + high) / 2
        wanted /= response(wanted, middle, rate)[0] if norm == "gain" else np.sqrt(np.sum(np.abs(s) ** 2))
        close(h, wanted, f"chirp {low}..{high}", 1e-11)
        norms(h, attributes, middle, rate, norm)
        check(attributes["duration_s"] == n / rate, f"duration {attributes['duration_s']}")


# ---- inspirals --------------------------------------------------------------------------------------------------------------

SUN = 1.3271244e20 / 299792458.0 ** 3           # seconds


def expand(mass_1, mass_2, chi_1, chi_2, has_squares):
    """Energy and flux of the orbit as series in v, and the factor of ln v in the flux, relative to leading order. Without spins:
    Buonanno et al., Phys. Rev. D 80, 084043 (2009), eqs. 3.1 and 3.2; spin-orbit: Bohe et al., Class. Quantum Grav. 30, 135009
    (2013), eqs. 3.15 and 3.16; spin-spin, for black holes: Bohe et al., Class. Quantum Grav. 32, 195010 (2015), eqs. 3.33 and 4.14."""
    a, b = mass_1 / (mass_1 + mass_2), mass_2 / (mass_1 + mass_2)
    n, d, pi = a * b, a - b, np.pi
    s, q = a * a * chi_1 + b * b * chi_2, b * chi_2 - a * chi_1
    ss, sq, qq, dq = s * s * has_squares, s * q * has_squares, q * q * has_squares, d * q
    energy = [1, 0, -3 / 4 - n / 12, 14 / 3 * s + 2 * dq,
              -27 / 8 + 19 / 8 * n - n ** 2 / 24 - 4 * ss - 4 * d * sq - (1 - 4 * n) * qq,
              (11 - 61 / 9 * n) * s + (3 - 10 / 3 * n) * dq,
              -675 / 64 + (34445 / 576 - 205 / 96 * pi ** 2) * n - 155 / 96 * n ** 2 - 35 / 5184 * n ** 3 +
              ss * (-25 / 9 + 10 / 3 * n) + sq * d * (10 / 3 + 10 / 3 * n) + qq * (5 / 2 - 15 / 2 * n - 10 / 3 * n ** 2),
              (135 / 4 - 367 / 4 * n + 29 / 12 * n ** 2) * s + (27 / 4 - 39 * n + 5 / 12 * n ** 2) * dq]
    logarithm = -1712 / 105
    flux = [1, 0, -1247 / 336 - 35 / 12 * n, 4 * pi - 4 * s - 5 / 4 * dq,
            -44711 / 9072 + 9271 / 504 * n + 65 / 18 * n ** 2 + 8 * ss + 8 * d * sq + (33 / 16 - 8 * n) * qq,
            pi * (-8191 / 672 - 583 / 24 * n) + (-9 / 2 + 272 / 9 * n) * s + (-13 / 16 + 43 / 4 * n) * dq,
            6643739519 / 69854400 + 16 / 3 * pi ** 2 + logarithm * (np.euler_gamma + np.log(4)) +
            (-134543 / 7776 + 41 / 48 * pi ** 2) * n - 94403 / 3024 * n ** 2 - 775 / 324 * n ** 3 - 16 * pi * s - 31 / 6 * pi * dq +
            ss * (-3839 / 252 - 43 * n) + sq * d * (-1375 / 56 - 43 * n) + qq * (-227 / 28 + 3481 / 168 * n + 43 * n ** 2),
            pi * (-16285 / 504 + 214745 / 1728 * n + 193385 / 3024 * n ** 2) +
            (476645 / 6804 + 6172 / 189 * n - 2810 / 27 * n ** 2) * s + (9535 / 336 + 1849 / 126 * n - 1501 / 36 * n ** 2) * dq]
    return energy, flux, logarithm


def phase(hz, mass_1, mass_2, chi_1, chi_2):
    """The phase of the stationary phase approximation: 2 pi f t(v) - 2 phi(v), integrated term by term over the series of dt/dv =
    -(dE/dv) / F. Terms of third degree in the spins do not count: those at v^7 are products with squares of spins."""
    ratios = []
    for has_squares in (0, 1):
        energy, flux, logarithm = expand(mass_1, mass_2, chi_1, chi_2, has_squares)
        ratio = []
        for k in range(8):
            ratio.append((k + 2) / 2 * energy[k] - sum(flux[j] * ratio[k - j] for j in range(1, k + 1)))
        ratios.append(ratio)
    ratio = ratios[1][:7] + ratios[0][7:]
    v = np.cbrt(np.pi * (mass_1 + mass_2) * SUN * hz)
    psi = 0
    for k, c in enumerate(ratio):       # integral of (v^3 - u^3) u^(k - 9) du from v on
        psi = psi + c * (-(1 / 3 + np.log(v)) if k == 5 else 3 / ((k - 8) * (k - 5)) * v ** (k - 5))
    psi = psi - logarithm * (3 / 4 - 3 / 2 * np.log(v)) * v         # the term u^6 ln u
    return 40 / 3 * psi * 3 / (128 * mass_1 * mass_2 / (mass_1 + mass_2) ** 2)


def wave(n, reference, rate, low, high, *binary):
    """The matched filter by definition: a transform of many points, of which the taps are kept."""
    points = 8 * n
    hz = np.fft.fftfreq(points, 1 / rate)
    inside = (hz >= low) & (hz <= high)
    spectrum = np.zeros(points, complex)
    spectrum[inside] = hz[inside] ** (-7 / 6) * np.exp(-1j * (phase(hz[inside], *binary) - np.pi / 4))
    s = np.fft.ifft(spectrum)
    h = np.conj(s[(reference - np.arange(n)) % points])
    energy = np.sum(np.abs(h) ** 2)
    return h / np.sqrt(energy), energy / np.sum(np.abs(s) ** 2)


def inspirals():
    """Taps and /templates against the definition, from lists and from tables of either kind, on any number of ranks. The
    program's transform is shorter than that of the definition: its frequencies meet the band's edges less closely, and a little of
    the edges' ringing comes in again from the other side. So the match is 0.9995 at least."""
    binaries = np.array([(1.4, 1.3, 0, 0), (9, 4, 0.9, -0.4), (30, 25, -0.8, 0.6), (45, 5, 0.9, 0.9)])
    columns = ("mass_1", "mass_2", "spin_1", "spin_2")
    with h5py.File("masses.h5", "w") as file:
        file["table"] = np.array([tuple(row) for row in binaries], [(name, "f8") for name in columns])
        file["few"] = np.array([(3, 30, 25)], [("number", "i4"), ("mass1", "f4"), ("mass2", "i2")])
        for name, values in zip(("mass1", "mass2", "spin1z", "spin2z"), binaries.T):
            file[f"group/{name}"] = values
    lists = {name: ",".join(map(str, values)) for name, values in zip(columns, binaries.T)}
    made = {}
    for place, high, options in (("lists", None, lists), ("masses.h5:/table", None, {"type": "float32"}), ("masses.h5:/group", None, {}),
                                 ("masses.h5:/group/", 60, {"taps": 40001}), ("masses.h5:/few", None, {})):
        options = {"rate": 1000, "from": 38, **options, **({"to": high} if high else {}),
                   **({"bank": place} if place != "lists" else {})}
        arguments = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)]
        done = lapwing(next(ranks), "filters", "inspiral", *arguments, "--output", "bank.h5", "--overwrite")
        with h5py.File("bank.h5") as file:
            taps, table, attributes = np.atleast_2d(file["taps"][()]), file["templates"][()], dict(file["taps"].attrs)
        made[place] = taps
        r = attributes["reference_tap"]
        check(attributes["sample_rate_hz"] == 1000 and attributes["kind"] == "inspiral" and "NaN" not in done.stderr.upper() and
              f"the merger is at tap {r}" in done.stderr, f"{place}: {attributes} {done.stderr}")
        check(len(taps) == len(table) and ("taps" not in options or taps.shape[1] == 40001), f"{place}: {taps.shape}")
        for h, row in zip(taps, table):
            binary = [row[name] for name in columns]
            total = binary[0] + binary[1]
            last = min(high or 1 / (6 ** 1.5 * np.pi * total * SUN), 500)
            wanted, kept = wave(len(h), r, 1000, 38, last, *binary)
            match = np.vdot(wanted, h)
            check(match.real > 0.9995 and abs(match.imag) < 0.02 and abs(np.sum(np.abs(h) ** 2) - 1) < 1e-6, f"{place}, {binary}: match {match}")
            check(kept > 0.9985 and abs(row["energy_kept"] - kept) < 5e-4, f"{place}, {binary}: energy {row}, {kept}")
            chirp = (binary[0] * binary[1]) ** 0.6 / total ** 0.2
            left = -(phase(38.01, *binary) - phase(37.99, *binary)) / 0.02 / (2 * np.pi)
            check(np.isclose(row["chirp_mass"], chirp) and np.isclose(row["to_hz"], last) and
                  np.isclose(row["duration_s"], left, rtol=1e-4, atol=1e-4), f"{place}: {row}, {chirp}, {last}, {left}")
    check(np.array_equal(made["lists"], made["masses.h5:/group"]) and
          np.array_equal(made["lists"].astype(np.complex64), made["masses.h5:/table"]), "taps depend on where the masses are")
    check(np.array_equal(table["mass_1"], [30]) and np.array_equal(table["spin_2"], [0]), f"a table without spins: {table}")
    h, middle = made["masses.h5:/few"][0], made["masses.h5:/few"].shape[1]
    strain = np.zeros(3 * middle)                   # the signal's peak must be found where the masses meet
    strain[middle + 77:][:middle] = np.real(np.conj(h[::-1]) * np.exp(0.7j))
    y = np.abs(convolve(strain, h, "full", "zero"))
    check(y.argmax() == 2 * middle - 1 + 77 and abs(y.max() - 0.5) < 0.02, f"the wave peaks at {y.argmax()} with {y.max()}")


# ---- through ols ------------------------------------------------------------------------------------------------------------

def filtered(x, rate, *options):
    with h5py.File("signal.h5", "w") as file:
        file["x"] = x
        file["x"].attrs["sample_rate_hz"] = rate
    lapwing(next(ranks), "ols", "--input", "signal.h5:/x", "--filters", "bank.h5:/taps", "--output", "out.h5", "--overwrite",
            "--precision", "double", *options)
    with h5py.File("out.h5") as file:
        return file["filtered"][...]


def through_ols():
    rate, n = 500, 6000
    x = random.standard_normal(n)
    taps, _ = make("boxcar", widths="1,2,5,16")
    y = filtered(x, rate)
    for f, width in enumerate((1, 2, 5, 16)):       # each filter as it is alone, and as the documented sum
        close(y[f], convolve(x, np.full(width, width ** -0.5), "same", "zero"), f"ols with a boxcar of {width}", 1e-10)
        sums = np.convolve(x, np.ones(width))[width - 1 - width // 2:][:n] / np.sqrt(width)
        close(y[f], sums, f"sums of {width} samples", 1e-10)

    (h,), _ = make("bandpass", rate=rate, **{"from": 2, "to": 20}, transition=2)
    t = np.arange(n) / rate
    inside, outside = np.cos(2 * np.pi * 10 * t + 1), 100 * np.cos(2 * np.pi * 60 * t)
    y = filtered(inside + outside, rate)
    middle = slice(len(h), n - len(h))
    check(np.abs(y - inside)[middle].max() < 0.12, "the band filter changes the tone inside the band, or passes the one outside")

    begin, phase = 2001, 2.1                        # a chirp of any phase must peak at the documented sample
    (h,), _ = make("chirp", rate=rate, **{"from": 20, "to": 120}, duration=0.5)
    s = np.conj(h[::-1])
    x = 0.01 * random.standard_normal(n)
    x[begin:begin + len(s)] += np.real(s * np.exp(1j * phase))
    for mode, delay in (("same", len(s) // 2), ("full", len(s) - 1)):
        y = np.abs(filtered(x, rate, "--mode", mode))
        check(abs(int(y.argmax()) - (begin + delay)) <= 1 and abs(y.max() - 0.5) < 0.05,
              f"mode {mode}: the chirp peaks at {y.argmax()} with {y.max()}, not at {begin + delay} with 0.5")


def turned_about():
    """Filters that `ols` makes for --correlate are stored as it convolves with them, and their attributes describe the stored
    filters."""
    widths = 1, 2, 5, 16
    made = {}
    for correlate in ((), ("--correlate",)):
        done = lapwing(next(ranks), "ols", "--input", "signal.h5:/x", "--boxcar", ",".join(map(str, widths)), "--output", "out.h5", "--overwrite",
                       *correlate)
        with h5py.File("out.h5") as file:
            h, delays = file["filters"][...], file["filters"].attrs["group_delay_samples"]
        made[correlate] = h
        for f, width in enumerate(widths):
            ones = np.flatnonzero(h[f])
            check(len(ones) == width and delays[f] == ones.mean(), f"{correlate}: delay {delays[f]} of ones at {ones}")
            check(re.search(f"filter {f}: boxcar .* delay {ones.mean():g} samples", done.stderr), f"{correlate}: {done.stderr}")
    check(np.array_equal(made["--correlate",], made[()][:, ::-1]) and not np.array_equal(*made.values()),
          "--correlate: the stored filters are not the reversed ones")


def like_data():
    """A dataset with more filters than taps may be a record instead of a bank, and brings a warning; with fewer it does not."""
    with h5py.File("signal.h5", "a") as file:
        file["many"], file["few"] = random.standard_normal((9, 5)), random.standard_normal((5, 9))
    for name in ("many", "few"):
        done = lapwing(1, "ols", "--input", "signal.h5:/x", "--filters", f"signal.h5:/{name}", "--output", "out.h5", "--overwrite", "--quiet")
        wanted = "looks like a record rather than a bank of filters: it has more rows than columns; it is taken as 9 filters of 5 taps"
        check((wanted in done.stderr) == (name == "many"), f"{name}: {done.stderr}")


# ---- kernels of images ------------------------------------------------------------------------------------------------------

def make_kernel(kind, *words, n_ranks=None):
    lapwing(n_ranks or next(ranks), "filters", kind, *words, "--output", "kernel.h5", "--overwrite")
    with h5py.File("kernel.h5") as file:
        return file["kernel"][...], dict(file["kernel"].attrs)


def grid(side):
    t = np.arange(side) - (side - 1) / 2
    return t[:, None], t[None, :]


def gaussians_2d():
    got, attributes = make_kernel("gaussian2d", "--fwhm", "3,7,5", "--ratio", "0.4,1,0.7", "--angle", "30,0,-100")
    side = 2 * int(np.ceil(5 * 7 / np.sqrt(8 * np.log(2)))) + 1
    wanted = []
    for fwhm, ratio, angle in (3, 0.4, 30), (7, 1, 0), (5, 0.7, -100):
        (down, right), sigma, a = grid(side), fwhm / np.sqrt(8 * np.log(2)), np.radians(angle)
        u, v = right * np.cos(a) + down * np.sin(a), down * np.cos(a) - right * np.sin(a)
        h = np.exp(-(u ** 2 + (v / ratio) ** 2) / (2 * sigma ** 2))
        wanted.append(h / h.sum())
    close(got, np.array(wanted), "gaussian2d")
    check(list(attributes["fwhm_pixels"]) == [3, 7, 5] and list(attributes["angle_deg"]) == [30, 0, -100] and
          np.allclose(attributes["energy"], (got ** 2).sum((1, 2))), f"attributes of gaussian2d: {attributes}")
    check(got[0, side // 2 + 1, side // 2 + 2] > got[0, side // 2 - 1, side // 2 + 2], "30 degrees turn towards growing rows")
    with h5py.File("signal2d.h5", "w") as file:
        file["x"] = random.standard_normal((40, 30))
    lapwing(1, "conv2d", "--input", "signal2d.h5:/x", "--gaussian", "4", "--output", "out.h5", "--overwrite", "--precision", "double")
    got, _ = make_kernel("gaussian2d", "--fwhm", "4")
    with h5py.File("out.h5") as file:
        close(got, file["kernel"][...], "a round kernel is that of --gaussian")
    got, _ = make_kernel("gaussian2d", "--fwhm", "4", "--size", "9", "--norm", "energy", "--type", "float32")
    check(got.shape == (9, 9) and got.dtype == np.float32 and abs((got.astype(float) ** 2).sum() - 1) < 1e-6, "size, norm and type")
    for words, text in ((["--fwhm", "4,5", "--ratio", "1,0.5,0.2"], "one for all kernels, or one for each"),
                        (["--fwhm", "4", "--size", "8"], "is even"), (["--fwhm", "0"], "not in 0.1..1000")):
        done = lapwing(next(ranks), "filters", "gaussian2d", *words, "--output", "none.h5", code=2)
        check(text in done.stderr, f"{words}: {done.stderr}")


def mexican_hats():
    """The hat is the Laplacian of a Gaussian; with its norm a source of width t answers most to the scale sqrt(3) t."""
    scales = np.array([1, 1.5, 2, 3, 3.464, 4, 5])
    got, attributes = make_kernel("mexican-hat", "--scales", ",".join(map(str, scales)))
    down, right = grid(got.shape[1])
    for h, s in zip(got, scales):
        r2 = (down ** 2 + right ** 2) / s ** 2
        wanted = (2 - r2) * np.exp(-r2 / 2)
        close(h, wanted / np.sqrt((wanted ** 2).sum()), f"mexican-hat {s}", 1e-4 if s < 1.5 else 1e-6)
        check(abs(h.sum()) < 1e-13 and abs((h ** 2).sum() - 1) < 1e-12, f"mexican-hat {s}: sum {h.sum()}, energy {(h ** 2).sum()}")
    source = np.exp(-(down ** 2 + right ** 2) / (2 * 2 ** 2))
    check(scales[np.argmax((got * source).sum((1, 2)))] == 3.464, "the scale of the strongest response")
    check(attributes["norm"] == "energy" and list(attributes["scale_pixels"]) == list(scales), f"attributes: {attributes}")


def star_field(positions, shape, fwhm, noise):
    y, x = np.mgrid[:shape[0], :shape[1]]
    sigma, image = fwhm / np.sqrt(8 * np.log(2)), noise * random.standard_normal(shape) + 100
    for (at_x, at_y), flux in zip(positions, np.geomspace(2000, 20000, len(positions))):
        rows, columns = slice(max(0, int(at_y) - 25), int(at_y) + 26), slice(max(0, int(at_x) - 25), int(at_x) + 26)
        r2 = (x[rows, columns] - at_x) ** 2 + (y[rows, columns] - at_y) ** 2
        image[rows, columns] += flux / (2 * np.pi * sigma ** 2) * np.exp(-r2 / (2 * sigma ** 2))
    return image


def point_spread_functions():
    """Stars with sub-pixel places on a background give the profile that was put in, sampled with its middle on a pixel."""
    at = np.array([(40 + 55 * i, 38 + 52 * j) for i in range(8) for j in range(8)]) + random.uniform(-0.5, 0.5, (64, 2))
    image = star_field(at, (480, 500), 3.5, 0.3)
    image[:, 440:] = np.nan         # the last stars touch pixels that are not finite
    image[98, 97] = 3000            # a flaw beside a star: clipped
    with h5py.File("field.h5", "w") as file:
        file["image"], file["stack"] = image, image[None]
        table = np.zeros(64, [("image", int), ("kernel", int), ("row", int), ("column", int), ("snr", float)])
        table["row"], table["column"] = np.rint(at[:, 1]) - 7, np.rint(at[:, 0]) + 3
        file["peaks"] = table
        file["peaks"].attrs["first_input_row"], file["peaks"].attrs["first_input_column"] = 7, -3
    for name, first in ("fits.txt", 1), ("numpy.txt", 0):
        with open(name, "w") as file:
            file.write("# x y\n\n" + "".join(f" {x + first:.3f}, {y + first:.3f} 17.5\n" for x, y in [*at, (3, 200)]))
    down, right = grid(25)
    sigma = 3.5 / np.sqrt(8 * np.log(2))
    wanted = np.exp(-(down ** 2 + right ** 2) / (2 * sigma ** 2))
    wanted /= wanted.sum()
    usable = int((np.rint(at[:, 0]) + 17 < 440).sum())
    made = {}
    for at_name, image_name, more in (("fits.txt", "image", []), ("numpy.txt", "stack", ["--first-pixel", "0"]),
                                      ("field.h5:/peaks", "image", []), ("fits.txt", "image", ["--combine", "median"])):
        got, attributes = make_kernel("psf", "--input", f"field.h5:/{image_name}", "--at", at_name, *more, n_ranks=2)
        made.setdefault(at_name, got)
        off = np.abs(got - wanted).max() / wanted.max()
        check(got.shape == (25, 25) and off < 0.01, f"psf of {at_name} {more}: off by {off:.4f} of its peak")
        check(abs(got.sum() - 1) < 1e-12 and attributes["stars"] == usable, f"{attributes}, {usable} stars")
    close(made["numpy.txt"], made["fits.txt"], "counting from 0 and from 1", 1e-3)
    with open("bad.txt", "w") as file:
        file.write("12 13\nstar 4\n")
    with open("far.txt", "w") as file:
        file.write("1e9 -5\n")
    for words, code, text in ((["bad.txt"], 65, "line 2: 'star 4' is no position"), (["far.txt"], 65, "has a star"),
                              (["none.txt"], 74, "No such file"), (["field.h5:/image"], 65, "columns"),
                              (["fits.txt", "--size", "24"], 2, "is even")):
        done = lapwing(2, "filters", "psf", "--input", "field.h5:/image", "--at", *words, "--output", "none.h5", code=code)
        check(text in done.stderr, f"{words}: {done.stderr}")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    bands()
    boxcars()
    shapes()
    chirps()
    inspirals()
    gaussians_2d()
    mexican_hats()
    point_spread_functions()
    through_ols()
    turned_about()
    like_data()
    os.chdir("/")
finish()
