"""Whole runs of a single-pulse search on a GPU, from a filterbank to a table of peaks: 8-bit samples of 64 us in 1024 channels,
trials of dispersion measures, boxcars 1 to 64. Prints seconds of each run, and the times that the observation is as long.

    python pulses_gpu.py LAPWING FOLDER [SAMPLES [TRIALS [REPEATS [ENGINE]]]]

Delays are those of each channel rounded alone (`lapwing filters dispersion`), and by 32 sub-bands as prepsubband of PRESTO makes
them. Noise is uniform, so that its sigma is known; a pulse of DM 475 and 8 samples must be the strongest peak.
"""
import os
import struct
import subprocess
import sys
import time

import h5py
import numpy

CHANNELS, HIGH, WIDTH, SAMPLE = 1024, 1530.0, 300.0, 64e-6
DM, PULSE, AMPLITUDE = 475.0, 8, 10
SIGMA = (64 ** 2 / 12) ** 0.5
CONSTANT = 4148.808

lapwing, folder = sys.argv[1:3]
n_samples, n_trials, repeats = [*map(int, sys.argv[3:6]), *(1 << 21, 2000, 3)[len(sys.argv[3:6]):]]
engine = sys.argv[6] if len(sys.argv) > 6 else "cuda"
step = 1000 / n_trials
frequencies = HIGH - WIDTH / CHANNELS * (numpy.arange(CHANNELS) + 0.5)
inverse = frequencies ** -2 - frequencies[0] ** -2


def path(name):
    return os.path.join(folder, name)


def write_data():
    def text(word):
        return struct.pack("<i", len(word)) + word.encode()

    values = {"nbits": 8, "nifs": 1, "nchans": CHANNELS, "data_type": 1, "fch1": frequencies[0], "foff": -WIDTH / CHANNELS,
              "tsamp": SAMPLE, "tstart": 60000.0}
    rng = numpy.random.default_rng(1)
    rows = 1 << 16
    delays = numpy.rint(CONSTANT * DM * inverse / SAMPLE).astype(int) + n_samples // 3
    with open(path("data.fil"), "wb") as file:
        file.write(text("HEADER_START"))
        for name, value in values.items():
            file.write(text(name) + struct.pack("<i" if isinstance(value, int) else "<d", value))
        file.write(text("HEADER_END"))
        for first in range(0, n_samples, rows):
            n = min(rows, n_samples - first)
            x = numpy.frombuffer(rng.bytes(n * CHANNELS), numpy.uint8).reshape(n, CHANNELS) // 4 + 96
            for i in range(PULSE):
                at = delays + i - first
                inside = (at >= 0) & (at < n)
                x[at[inside], numpy.nonzero(inside)[0]] += AMPLITUDE
            file.write(x)


def write_delays():
    last = numpy.arange(CHANNELS) // 32 * 32
    measures = numpy.arange(n_trials) * step
    middle = measures[n_trials // 2]
    by_band = numpy.rint(CONSTANT * measures[:, None] * inverse[last] / SAMPLE)
    within = numpy.rint(CONSTANT * middle * (inverse - inverse[last]) / SAMPLE)
    with h5py.File(path("subbands.h5"), "w") as file:
        file["delays"] = (by_band + within).astype(numpy.int32)
        file["dm"] = measures
        file["dm"].make_scale("dm")
        file["delays"].dims[0].attach_scale(file["dm"])
    subprocess.run([lapwing, "filters", "dispersion", "--for", path("data.fil"), "--dm", f"0:{1000 - step}:{step}", "--output",
                    path("alone.h5"), "--overwrite"], check=True, stdout=subprocess.DEVNULL)


def run(name, delays, *options):
    """Run the search; print the median of the times, and the strongest peak. Lines of the last run go to stderr, with the seconds
    at which they come."""
    result = path("peaks.h5")
    command = [lapwing, "ols", "--engine", engine, "--input", path("data.fil"), "--beams", path(delays) + ":/delays", "--products",
               "peaks", *options, "--output", result, "--overwrite", "--boundary", "edge"]
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            lines = [f"    {time.perf_counter() - begin:.3f} {line}" for line in process.stdout]
        times.append(time.perf_counter() - begin)
        if process.returncode:
            print(f"{name}: exit {process.returncode}\n{''.join(lines)}")
            return
    with h5py.File(result) as file:
        peaks = file["peaks"][...]
    best = peaks[numpy.argmax(peaks["snr"])] if len(peaks) else None
    found = ""
    if best is not None:
        found = f"DM {best['dm']:.1f}, {best['time']:.4f} s, boxcar {2 ** best['filter']}, snr {best['snr']:.1f}"
    median = sorted(times)[len(times) // 2]
    print(f"{name:44} {median:7.3f} s ({min(times):.3f} to {max(times):.3f}) {n_samples * SAMPLE / median:7.1f} x {len(peaks):7} "
          f"peaks; strongest {found}", flush=True)
    print(f"{name}: {times[-1]:.3f} s\n{''.join(lines)}", file=sys.stderr, flush=True)


begin = time.perf_counter()
if not os.path.exists(path("alone.h5")):
    write_data()
    write_delays()
print(f"{n_samples} samples, {n_samples * SAMPLE:.1f} s of observation, {n_trials} trials; made in "
      f"{time.perf_counter() - begin:.1f} s; the pulse begins at {n_samples // 3 * SAMPLE:.4f} s", flush=True)
widths = "1,2,4,8,16,32,64"
known = ("--noise", "energy", "--threshold", f"{8 * SIGMA:.6g}")
for delays in ("subbands.h5", "alone.h5"):
    run(f"{delays} one tap", delays, "--boxcar", "1", "--noise", "given", "--threshold", "1e9")
    run(f"{delays} boxcars", delays, "--boxcar", widths, "--noise", "given", "--threshold", "1e9")
    run(f"{delays} boxcars less baseline", delays, "--boxcar", widths + ",baseline=1024", "--cluster", "64", *known)
    if "measured" in sys.argv[7:]:
        run(f"{delays} the same, noise measured", delays, "--boxcar", widths + ",baseline=1024", "--cluster", "64", "--threshold",
            "8")
