"""The job sfft on tones between the frequencies of the transform, end to end: --refine, of the sparse and of the dense transform,
against a dense least-squares fit of all samples in double precision. The tones lie in noise of 0 to 60 dB, have many strengths,
are alone, many, or a few bins apart, real and complex, in several channels. The test runs on any number of ranks and with
`lapwing verify`, checks the messages about such tones without --refine, and uses both engines if there are two.

    refine.py LAPWING MPIEXEC [ENGINE]"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import check, finish, lapwing       # noqa: E402

import h5py             # noqa: E402
import numpy as np      # noqa: E402

ENGINE = sys.argv[3] if sys.argv[3:4] == ["cuda"] else "cpu"
OFFER = "--refine finds the tones' own frequencies"
random = np.random.default_rng(5)
os.chdir(tempfile.mkdtemp())


def waves(n, places):
    """exp(2 pi i f t / n) for each place f, [tones x n]; the phase is reduced before it loses digits. That of t = 512 a + b is a
    product of two."""
    def wave(f, t):
        return np.exp(2j * np.pi * ((int(f) * t % n) / n + (f - int(f)) * t / n))
    return np.array([np.outer(wave(f, np.arange(0, n, 512)), wave(f, np.arange(512))).ravel()[:n] for f in places]).reshape(len(places), n)


def make(n, places, sizes, snr, is_real):
    """Tones in white noise, and their amplitudes at the first sample."""
    amplitudes = np.asarray(sizes) * np.exp(2j * np.pi * random.random(len(places)))
    x = amplitudes @ waves(n, places)
    x = 2 * x.real if is_real else x
    noise = random.standard_normal(n) if is_real else (random.standard_normal(n) + 1j * random.standard_normal(n)) / np.sqrt(2)
    return x + noise * np.sqrt(np.mean(np.abs(x) ** 2) * 10 ** (-snr / 10)), amplitudes


def dense_fit(x, places, is_real):
    """Gauss-Newton over all samples, starting from the true places: the least-squares places and amplitudes."""
    n, k = len(x), len(places)
    places = np.array(places, float)
    t = np.arange(n) / n
    for _ in range(4):
        e = waves(n, places)
        columns = np.concatenate((e, 1j * e))
        columns = 2 * columns.real if is_real else columns
        rows = columns if is_real else np.concatenate((columns.real, columns.imag), axis=1)
        data = x if is_real else np.concatenate((x.real, x.imag))
        a = np.linalg.solve(rows @ rows.T, rows @ data)
        amplitudes = a[:k] + 1j * a[k:]
        slopes = 2j * np.pi * t * amplitudes[:, None] * e
        slopes = 2 * slopes.real if is_real else np.concatenate((slopes.real, slopes.imag), axis=1)
        both = np.concatenate((rows, slopes))
        step = np.linalg.solve(both @ both.T, both @ (data - a @ rows))
        places += step[2 * k:]
        if np.abs(step[2 * k:]).max() < 1e-6:       # the next step is its square
            break
    return places, amplitudes + step[:k] + 1j * step[k:2 * k]


def run(name, *options, ranks=1, code=0):
    said = lapwing(ranks, "sfft", "--input", f"{name}:/x", "--output", "y.h5", "--overwrite", "--engine", ENGINE, "--share-gpu",
                   "--precision", "double", *options, code=code).stderr
    if code:
        return said
    with h5py.File("y.h5") as file:
        return file["spectrum"][()], dict(file["spectrum"].attrs), file["channels"][()], said


def write(x):
    with h5py.File("x.h5", "w") as file:
        file["x"] = x


def compare(what, rows, x, places, is_real, most):
    """Places are within `most` bins of the dense fit, and values within ten times that. The expected deviation is half of
    `most`."""
    n = len(x)
    expected, amplitudes = dense_fit(x, places, is_real)
    rows = np.sort(rows, order="fractional_index")
    if not check(len(rows) == len(places), f"{what}: {len(rows)} tones of {len(places)}"):
        return
    off = np.abs(rows["fractional_index"] - expected)
    check(off.max() <= most, f"{what}: off by {off.max():.2g} bins")
    values = (rows["re"] + 1j * rows["im"]) / n
    check(np.all(np.abs(values - amplitudes) <= 10 * most * np.abs(amplitudes).max()), f"{what}: values {values}, not {amplitudes}")
    check(np.all(np.abs(rows["fractional_index"] - rows["index"]) <= 0.5), f"{what}: indices {rows}")
    turns = rows["fractional_index"] if is_real else (rows["fractional_index"] + n / 2) % n - n / 2
    check(np.allclose(rows["frequency"], turns / n, rtol=1e-12), f"{what}: frequencies {rows}")


def refining():
    n = 1 << 17
    several = 100 + np.sort(random.uniform(0, n / 2 - 200, 10))
    cases = (("one", n, [12345.5], 40, 1e-3), ("on a bin", n, [12345], 40, 1e-3), ("two", n, [1000.3, 40000.75], 40, 1e-3),
             ("ten", n, several, 40, 2e-3), ("close", n, [1000.3, 1003.4, 1006.1], 40, 2e-3),
             ("odd", 120011, [777.25, 5000.5], 40, 1e-3),
             ("exact", n, several, 300, 1e-9), ("60 dB", n, several[:4], 60, 1e-4), ("20 dB", n, several[:3], 20, 1e-2),
             ("0 dB", n, several[:1], 0.001, 5e-2))
    for what, length, places, snr, most in cases:
        for is_real in (False, True):
            x, _ = make(length, places, np.ones(len(places)), snr, is_real)
            write(x)
            rows, about, channels, said = run("x.h5", "--sparsity", str(len(places)), "--refine", "--fallback", "partial")
            compare(f"{what}, {'real' if is_real else 'complex'}", rows, x, places, is_real, most)
            check(about["is_explained"] == 1 and about["is_refined"] == 1 and OFFER not in said, f"{what}: {about}")
            check(channels["residual"][0] < 3 * 10 ** (-snr / 10) + 1e-15, f"{what}: {channels}")
            if snr in (40, 300):
                lapwing(1, "verify", "y.h5")


def strengths():
    """Tones 40 dB apart: those above the detection limit are found at their places."""
    n, places = 1 << 18, [5000.3, 20000.6, 20004.2, 77777.5, 90000.1]
    x, _ = make(n, places, [1, 0.3, 0.1, 0.03, 0.01], 50, False)
    write(x)
    rows, about, channels, _ = run("x.h5", "--sparsity", "5", "--refine", "--fallback", "partial")
    check(about["is_explained"] == 1, f"strengths: {about}")
    for place, size in zip(places, [1, 0.3, 0.1, 0.03, 0.01]):
        off = np.abs(rows["fractional_index"] - place).min()
        check(size * n < channels["detection_limit"][0] or off < 1e-3 / size, f"the tone of {size} at {place} is off by {off}")
    with h5py.File("y.h5", "r+") as file:
        rows["fractional_index"][0] += 0.2
        file["spectrum"][...] = rows
    lapwing(1, "verify", "y.h5", code=65)


def many_channels():
    """Any number of ranks gives the same bits; one channel has no tone."""
    n, first = 100003, None
    x = np.array([make(n, [1000.4 + 7 * c, 30000.2 + c], [1, 0.5], 40, True)[0] for c in range(3)] + [np.zeros(n)])
    write(x)
    for ranks in (1, 3):
        rows, about, channels, _ = run("x.h5", "--sparsity", "2", "--refine", "--axis", "1", ranks=ranks)
        bits = rows.tobytes()
        first = first or bits
        check(bits == first and about["is_explained"] == 1, f"channels on {ranks} ranks: {about}")
        check(channels["lines"].tolist() == [2, 2, 2, 0] and channels["off_grid"].tolist() == [2, 2, 2, 0], f"channels: {channels}")
    for c in range(3):
        compare(f"channel {c}", rows[rows["channel"] == c], x[c], [1000.4 + 7 * c, 30000.2 + c], True, 2e-3)


def pieces():
    """A tone that drifts, piece by piece, on any number of ranks."""
    n, places = 100003, [5000.2, 5003.7, 5007.1]
    x = np.concatenate([make(n, [place], [1], 40, True)[0] for place in places])
    write(x)
    first = None
    for ranks in (1, 2):
        rows, about, channels, _ = run("x.h5", "--sparsity", "1", "--refine", "--window", str(n), ranks=ranks)
        first = first or rows.tobytes()
        check(rows.tobytes() == first and rows["piece"].tolist() == [0, 1, 2], f"pieces on {ranks} ranks: {rows}")
    check(np.abs(rows["fractional_index"] - places).max() < 1e-3, f"pieces: {rows}")
    check(channels["off_grid"].tolist() == [1, 1, 1], f"pieces: {channels}")
    lapwing(1, "verify", "y.h5")


def saying():
    """Tones between the frequencies are reported without --refine; lines in noise are not."""
    n = 1 << 17
    x, _ = make(n, 100.37 + 5003.21 * np.arange(10), np.ones(10), 40, False)
    write(x)
    rows, about, channels, said = run("x.h5", "--sparsity", "10", "--fallback", "partial")
    check(OFFER in said and about["channels_off_grid"] == 1 and channels["off_grid"][0] > 0, f"ten between: {said} {about}")
    check(np.array_equal(rows["fractional_index"], rows["index"]) and about["is_refined"] == 0, f"ten between: {rows}")
    write(np.exp(2j * np.pi * 1234.5 * np.arange(n) / n))
    said = run("x.h5", "--sparsity", "4", "--fallback", "error", code=65)
    check("which --refine finds" in said and "not sparse" in said, said)
    x, _ = make(n, [100, 2000, 30000], [1, 1, 1], 10, False)
    write(x)
    _, about, channels, said = run("x.h5", "--sparsity", "3")
    check(OFFER not in said and about["channels_off_grid"] == 0 and channels["off_grid"][0] == 0, f"noise: {said}")
    check("leave one" in run("x.h5", "--sparsity", "3", "--refine", "--algorithm", "sfft2", code=2),
          "--refine with sfft2 is not refused")
    said = run("x.h5", "--sparsity", "30000", "--refine", "--algorithm", "sparse", code=78)
    check("four times as many" in said and "reads them all" in said, said)


def dense():
    """Tones of the dense transform, against numpy's fit: on request, and where the sparse transform gives up."""
    n = 1 << 17
    several = 100 + np.sort(random.uniform(0, n / 2 - 200, 10))
    sizes = 10 ** np.linspace(0, -1.5, 10)
    cases = (("one", n, [12345.5], [1], 40, 1e-3), ("ten", n, several, np.ones(10), 40, 1e-3),
             ("of many strengths", n, several, sizes, 60, 1e-3), ("close", n, [1000.3, 1003.4, 1006.1], np.ones(3), 40, 1e-3),
             ("odd", 120011, [777.25, 5000.5], np.ones(2), 40, 1e-3), ("exact", n, several, sizes, 300, 1e-9),
             ("short", 5000, [3.3, 700.75, 2490.6], np.ones(3), 50, 2e-3), ("0 dB", n, several[:1], [1], 0.001, 1e-2))
    for what, length, places, strengths, snr, most in cases:
        for is_real in (False, True):
            what = f"dense, {what}, {'real' if is_real else 'complex'}"
            x, _ = make(length, places, strengths, snr, is_real)
            write(x)
            rows, about, channels, said = run("x.h5", "--sparsity", str(len(places)), "--refine", "--algorithm", "dense")
            compare(what, rows, x, places, is_real, most)
            check(channels["dense"][0] == channels["refined"][0] == about["is_refined"] == 1 and "are fitted" in said, f"{what}: {about}")
            energy = np.sum(np.abs(x) ** 2)
            t = (rows["re"] + 1j * rows["im"]) / length @ waves(length, rows["fractional_index"])
            left = np.sum(np.abs(x - (2 * t.real if is_real else t)) ** 2) / energy
            check(abs(channels["residual"][0] - left) <= 1e-3 * left + 1e-12, f"{what}: residual {channels['residual'][0]}, not {left}")
            lapwing(1, "verify", "y.h5")
    with h5py.File("y.h5", "r+") as file:
        file["spectrum"][...] = np.array([tuple(r)[:-1] + (r["fractional_index"] + 0.3,) for r in rows], rows.dtype)
    lapwing(1, "verify", "y.h5", code=65)


def fallen_back():
    """The sparse transform gives up if there are many more tones than requested; the dense transform finds the strongest, on any
    number of ranks."""
    n, places = 1 << 16, np.array([3000.3, 9000.6, 20000.45])
    others, sizes = 73.5 + 160 * np.arange(200), np.full(200, 0.2)
    x = [make(n, np.append(places + c, others), np.append(np.ones(3), sizes), 40, True)[0] for c in range(3)]
    write(np.array(x + [10 * random.standard_normal(n)]))
    first = None
    for ranks in (1, 3):
        rows, about, channels, said = run("x.h5", "--sparsity", "3", "--refine", "--axis", "1", ranks=ranks)
        first = first or rows.tobytes()
        check(rows.tobytes() == first and "falling back" in said, f"fallen back on {ranks} ranks: {about}")
        check(channels["dense"].tolist() == [1] * 4 and channels["refined"].tolist() == [1, 1, 1, 0], f"fallen back: {channels}")
        check(about["channels_refined"] == 3 and about["is_refined"] == 0 and "keep the lines" in said, f"fallen back: {said} {about}")
    for c in range(3):
        mine = rows[rows["channel"] == c]
        check(len(mine) == 3 and np.abs(mine["fractional_index"] - places - c).max() < 2e-3, f"fallen back, channel {c}: {mine}")
    lapwing(1, "verify", "y.h5")
    write(random.standard_normal(1 << 14))
    rows, about, channels, said = run("x.h5", "--sparsity", "5000", "--refine")
    check(np.array_equal(rows["fractional_index"], rows["index"]) and about["is_refined"] == channels["refined"][0] == 0 and
          "whole indices" in said, f"too many: {said} {about}")


for part in (refining, strengths, many_channels, pieces, saying, dense, fallen_back):
    part()
finish()
