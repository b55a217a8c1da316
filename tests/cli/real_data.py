"""Real survey data, end to end: the event GW150914 in LIGO's strain, and a band of a DAS record in both axis orders.

    real_data.py LAPWING MPIEXEC [FOLDER]

The files must be in FOLDER, or in the folder that the environment variable LAPWING_DATA names; otherwise the test is skipped. The
expected numbers were computed with scipy in double precision."""

import os
import tempfile

from tested import check, finish, lapwing, real_data

import h5py
import numpy as np

STRAIN, BANK, ACOUSTIC = real_data("gw150914-h1.hdf5", "gw150914-bank.h5", "das-silixa.hdf5")


def run(work, ranks, *options):
    output = os.path.join(work, "out.h5")
    lapwing(ranks, "ols", *options, "--output", output, "--overwrite", "--quiet")
    with h5py.File(output) as file:
        return file["filtered"][()], dict(file["filtered"].attrs)


def gravitational_wave(work):
    source = "--input", STRAIN + ":/strain/Strain", "--filters", BANK + ":/taps"
    for precision, tolerance in (("double", 1e-6), ("single", 1e-3)):
        y, about = run(work, 4, *source, "--mode", "same", "--precision", precision)
        check(y.shape == (2, 131072), f"shape {y.shape}")
        snr = np.sqrt(y[0].astype(float) ** 2 + y[1].astype(float) ** 2)[8192:122880]
        at = 8192 + int(np.argmax(snr))
        check(at == 67272, f"{precision}: the peak is at sample {at}, expected 67272")
        check(abs(snr.max() - 19.176641) <= tolerance, f"{precision}: the peak is {snr.max()}, expected 19.176641")
        rate, start = about.get("sample_rate_hz"), about.get("start_time")
        check(rate == 4096 and start == 1126259446, f"{precision}: sampled with {rate} Hz from {start}")
        check(rate and abs(start + at / rate - 1126259462.424) < 1e-3, f"{precision}: the event's time")
    job_file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "jobs", "examples", "gw-matched-filter.ini")
    lapwing(2, "run", job_file, *source, "--output", os.path.join(work, "out.h5"), "--overwrite", "--quiet")
    with h5py.File(os.path.join(work, "out.h5")) as file:
        y, about = file["filtered"][()], file["filtered"].attrs
        at = 8192 + int(np.argmax(np.hypot(*y)[8192:-8192]))
        seconds = about["start_time"] + at / about["sample_rate_hz"]
    check(abs(seconds - 1126259462.424) < 1e-3, f"the job file puts the event at {seconds}")
    y, about = run(work, 3, *source, "--mode", "valid")
    at = int(np.argmax(y[0].astype(float) ** 2 + y[1].astype(float) ** 2))
    check(at == 63176, f"valid: the peak is at sample {at}, expected 63176")
    seconds = about["start_time"] + at / about["sample_rate_hz"]
    check(abs(seconds - 1126259462.424) < 1e-3, f"valid: the event is at {seconds}")


def acoustic_sensing(work):
    other, taps = os.path.join(work, "transposed.h5"), os.path.join(work, "taps.h5")
    with h5py.File(ACOUSTIC) as file, h5py.File(other, "w") as copy:
        copy["Acoustic"] = file["Acoustic"][()].T
    with h5py.File(taps, "w") as file:
        file["taps"] = low_pass(33, 50, 500)
    slow, _ = run(work, 3, "--input", f"{ACOUSTIC}:/Acoustic", "--filters", f"{taps}:/taps", "--axis", "0")
    fast, _ = run(work, 2, "--input", f"{other}:/Acoustic", "--filters", f"{taps}:/taps", "--axis", "1")
    check(slow.shape == (100, 3840) and fast.shape == (3840, 100), f"shapes {slow.shape}, {fast.shape}")
    for name, y in (("time slow", slow), ("time fast", fast.T)):
        check(abs(y[50, 1000] + 54.909470) < 1e-3, f"{name}: sample [50, 1000] is {y[50, 1000]}, expected -54.909470")
        check(abs(y.astype(float).std() - 874.952847) < 1e-3, f"{name}: deviation {y.std()}, expected 874.952847")


def low_pass(n_taps, cutoff, rate):
    """scipy.signal.firwin(n_taps, cutoff, fs=rate): a Hamming-windowed sinc with gain 1 for a constant."""
    m = np.arange(n_taps) - (n_taps - 1) / 2
    h = np.sinc(2 * cutoff / rate * m) * np.hamming(n_taps)
    return h / h.sum()


with tempfile.TemporaryDirectory() as folder:
    gravitational_wave(folder)
    acoustic_sensing(folder)
finish()
