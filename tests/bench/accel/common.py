"""Shared functions of the measurements of `lapwing accel` beside PRESTO's accelsearch: series, both programs, powers by definition."""

import os
import re
import subprocess

import h5py
import numpy as np

INF = """ Data file name without suffix          =  {name}
 Telescope used                         =  Parkes
 Instrument used                        =  Synthetic
 Object being observed                  =  Noise
 J2000 Right Ascension (hh:mm:ss.ssss)  =  00:00:00.0000
 J2000 Declination     (dd:mm:ss.ssss)  =  00:00:00.0000
 Data observed by                       =  Nobody
 Epoch of observation (MJD)             =  55000.000000000000000
 Barycentered?           (1 yes, 0 no)  =  1
 Number of bins in the time series      =  {n}
 Width of each time series bin (sec)    =  {dt!r}
 Any breaks in the data? (1 yes, 0 no)  =  0
 Type of observation (EM band)          =  Radio
 Beam diameter (arcsec)                 =  3600
 Dispersion measure (cm-3 pc)           =  {dm}
 Central freq of low channel (MHz)      =  1400
 Total bandwidth (MHz)                  =  256
 Number of channels                     =  256
 Channel bandwidth (MHz)                =  1
 Data analyzed by                       =  Nobody
 Any additional notes:
    none
"""


def phase(n_fft, n, r, z, w):
    """Turns of a drifting signal at n samples, as src/accel/accel.h defines r, z and w."""
    u = np.arange(n) / n_fft
    return r * u + z * (u * u - u) / 2 + w * (u ** 3 / 6 - u * u / 4 + u / 12)


def power(x, n_fft, r, z, w):
    """|sum over the samples|^2 in the time domain, in double precision, not normalized."""
    return abs(np.exp(-2j * np.pi * (phase(n_fft, len(x), r, z, w) % 1)) @ x) ** 2


def noise_level(r, knee):
    """Mean power of the noise at bins r beside white noise: red below the bin `knee`."""
    return 1 + (knee / np.maximum(np.asarray(r, float), 1)) ** 2


def noise(random, n, knee):
    x = random.standard_normal(n)
    if knee:
        x = np.fft.irfft(np.fft.rfft(x) * np.sqrt(noise_level(np.arange(n // 2 + 1), knee)), n)
    return x


def write_presto(stem, x, dt, dm=0.0):
    x.astype("<f4").tofile(stem + ".dat")
    with open(stem + ".inf", "w") as file:
        file.write(INF.format(name=os.path.basename(stem), n=len(x), dt=dt, dm=dm))


def write_h5(name, rows, dt):
    with h5py.File(name, "w") as file:
        file["x"] = np.asarray(rows, "<f4")
        file["x"].dims[1].label = "time"
        file["x"].attrs["sample_rate_hz"] = 1 / dt


def run(command, core=None):
    """Run a program. Returns its processor time, user, in seconds, and that of the system."""
    command = [str(word) for word in command]
    if core is not None:
        command = ["taskset", "-c", str(core), *command]
    with open(os.devnull, "w") as nowhere:
        child = subprocess.Popen(command, stdout=nowhere, stderr=subprocess.PIPE, text=True)
        said = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed: {said}")
    return usage.ru_utime, usage.ru_stime


def accelsearch(program, stem, options, core=None, ending=".dat"):
    """Run accelsearch. Returns its times and candidates."""
    times = run([program, *options, stem + ending], core)
    z_max, w_max = (int(options[options.index(o) + 1]) if o in options else 0 for o in ("-zmax", "-wmax"))
    listed = f"{stem}_ACCEL_{z_max}" + (f"_JERK_{w_max}" if w_max else "")
    return times, read_accel(listed)


def numbers_of(line):
    """The first numbers of a row of accelsearch's tables, without the errors in brackets."""
    return [float(word.split("x")[0]) for word in re.sub(r"\(.*?\)?(?= |$)", "", line).split()[:11]
            if re.fullmatch(r"-?[\d.]+(x10\^?-?\d*)?", word)]


def read_accel(name):
    """Candidates of a file of accelsearch as dictionaries. The list has the points of its grid; "refined" is the fundamental of its
    second table, which lists the harmonics after they are refined together."""
    found = []
    if not os.path.exists(name):
        return found
    with open(name) as file:
        lines = file.read().splitlines()
    has_w = "FFT 'w'" in lines[0]
    n = next(i for i, line in enumerate(lines[3:]) if not re.match(r"\d", line))
    for line in lines[3:3 + n]:
        row = numbers_of(line)
        found.append({"sigma": row[1], "power": row[2], "harmonics": int(row[4]), "r": row[7], "z": row[9],
                      "w": row[10] if has_w else 0.0})
    for line in lines[3 + n:]:
        if re.match(r" ?\d+ +1 ", line):
            row = numbers_of(line)
            found[int(row[0]) - 1]["refined"] = {"r": row[5], "z": row[7], "w": row[9] if has_w else 0.0}
    return found


def lapwing(program, name, options, out, core=None):
    """Run lapwing accel. Returns its times, candidates, and attributes of their table."""
    times = run([program, "accel", "--input", name, "--output", out, "--overwrite", *options], core)
    with h5py.File(out) as file:
        return times, file["candidates"][()], dict(file["candidates"].attrs)
