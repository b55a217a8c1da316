"""The job sfft on the gravitational-wave strain of GW150914, against numpy.fft in double precision.

    sfft_strain.py LAPWING MPIEXEC [FOLDER]

Whitened by `lapwing ols` and cut to the band from 30 to 350 Hz, the strain holds four lines: three of the calibration (35.9, 36.7
and 331.9 Hz) and the mains (60 Hz). 30 s are whole periods of all of them, so that each line is one coefficient. Each is five
times as strong as anything else, and together they have 91% of the energy; sfft must find them in a part of the samples. Above
350 Hz are the modes of the suspension, which lie between the coefficients. The raw strain falls off so steeply that its 100
strongest coefficients hold 94.5% of the energy and are no lines. sfft must report that both are not sparse.

The file must be in FOLDER, or in the folder that LAPWING_DATA names; otherwise the test is skipped."""

import os
import tempfile

from tested import check, finish, lapwing, real_data

import h5py
import numpy as np

STRAIN, = real_data("gw150914-h1.hdf5")
RATE, TAPS = 4096, 8193         # 131072 samples: 122880, or 30 s, are left in mode valid
LINES_HZ = [35.9, 36.7, 60.0, 331.9]


def quiet(ranks, *arguments, code=0):
    return lapwing(ranks, *arguments, "--overwrite", "--quiet", code=code).stderr


def sfft(work, ranks, signal, k, *options):
    output = os.path.join(work, "lines.h5")
    quiet(ranks, "sfft", "--input", signal, "--output", output, "--sparsity", str(k), "--precision", "double", *options)
    with h5py.File(output) as file:
        return file["spectrum"][()], dict(file["spectrum"].attrs)


def noise_floor(x):
    """Root of the power at 0, 1/4, 1/2 .. 2048 Hz: the median over pieces of 4 s, then over 8 Hz, which lines do not lift."""
    size = 4 * RATE
    pieces = [x[i:i + size] * np.hanning(size) for i in range(0, len(x) - size + 1, size // 2)]
    power = np.median(np.abs(np.fft.rfft(pieces)) ** 2, axis=0)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(power, 16, mode="edge"), 33)
    return np.sqrt(np.median(around, axis=1))


def whitening(x, top_hz):
    """Taps whose gain is one over the noise floor, from 30 Hz to `top_hz`."""
    coarse, fine = np.arange(2 * RATE + 1) / 4, np.fft.rfftfreq(TAPS - 1, 1 / RATE)
    gain = np.interp(fine, coarse, np.where((coarse >= 30) & (coarse <= top_hz), 1 / noise_floor(x), 0))
    centred = np.roll(np.fft.irfft(gain), (TAPS - 1) // 2)
    return np.append(centred, centred[0]) * np.hanning(TAPS) * 1e-3


def whiten(work, x, top_hz):
    taps, output = os.path.join(work, "taps.h5"), os.path.join(work, f"white{top_hz}.h5")
    with h5py.File(taps, "w") as file:
        file["taps"] = whitening(x, top_hz)
    quiet(2, "ols", "--input", STRAIN + ":/strain/Strain", "--filters", taps + ":/taps", "--mode", "valid", "--precision",
            "double", "--output", output)
    with h5py.File(output) as file:
        return output + ":/filtered", file["filtered"][()].ravel()


def sparse_band(work, x):
    signal, y = whiten(work, x, 350)
    spectrum = np.fft.rfft(y)
    strongest = np.argsort(-np.abs(spectrum))
    energy = np.abs(spectrum) ** 2
    check(len(y) == 122880, f"{len(y)} samples are left")
    check(energy[strongest[:4]].sum() > 0.9 * energy.sum() and energy[strongest[3]] > 25 * energy[strongest[4]],
          "the band has other lines than it used to")
    first = None
    for ranks in (1, 3):
        rows, about = sfft(work, ranks, signal, 4, "--fallback", "error")
        check(rows["index"].tolist() == sorted(strongest[:4].tolist()), f"other lines than numpy's: {rows['index']}")
        check(np.allclose(rows["frequency"], LINES_HZ, rtol=1e-12), f"lines at {rows['frequency']} Hz")
        error = np.abs(rows["re"] + 1j * rows["im"] - spectrum[rows["index"]]) / np.abs(spectrum[rows["index"]])
        check(error.max() < 0.1, f"amplitudes are wrong by up to {error.max()}")
        check(about["algorithm"] == "sparse" and about["is_explained"] == 1 and about["samples_touched"] <= len(y) / 4,
              f"{about}")
        exact = 1 - energy[strongest[:4]].sum() / energy.sum()
        check(abs(about["residual"] - exact) < 0.05, f"residual {about['residual']}, not {exact}")
        first = rows if first is None else first
        check(np.array_equal(rows, first), f"other bits on {ranks} ranks")


def not_sparse(work, signal, y, k, residual):
    """Three messages report that the signal is not sparse; the dense transform that follows has numpy's coefficients."""
    said = quiet(2, "sfft", "--input", signal, "--output", os.path.join(work, "none.h5"), "--sparsity", str(k), "--fallback",
                   "error", code=65)
    check("not sparse" in said and not os.path.exists(os.path.join(work, "none.h5")), said)
    _, about = sfft(work, 2, signal, k, "--fallback", "partial")
    check(about["is_explained"] == 0 and about["channels_not_explained"] == 1, f"partial: {about}")
    rows, about = sfft(work, 2, signal, k)
    spectrum = np.fft.rfft(y)
    strongest = np.sort(np.argsort(-np.abs(spectrum))[:k])
    check(about["algorithm"] == "dense" and abs(about["residual"] - residual) < 0.005, f"dense: {about}")
    check(rows["index"].tolist() == strongest.tolist(), "dense: other coefficients than numpy's")
    error = np.abs(rows["re"] + 1j * rows["im"] - spectrum[strongest]).max() / np.abs(spectrum[strongest]).max()
    check(error < 1e-9, f"dense: coefficients differ by {error}")


with h5py.File(STRAIN) as strain:
    samples = strain["strain/Strain"][()]
with tempfile.TemporaryDirectory() as folder:
    sparse_band(folder, samples)
    white, filtered = whiten(folder, samples, 2048)
    # the share of energy that the 20 and the 100 strongest pairs leave, by numpy
    not_sparse(folder, white, filtered, 20, 0.287)
    not_sparse(folder, STRAIN + ":/strain/Strain", samples, 100, 0.055)
finish()
