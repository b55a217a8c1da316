"""banks_pycbc.py LAPWING FOLDER [REPEATS] - a bank of long templates on one core: the whole program `lapwing ols` beside PyCBC's
loop, in turn, in one run. Prints a table in CSV.

PyCBC's loop is what pycbc_inspiral runs for each template and segment: MatchedFilterControl.matched_filter_and_cluster (correlate,
inverse transform, threshold and cluster), through FFTW with measured plans. Its templates are in the frequency domain and in memory
already, and its data transformed: neither is counted. Its segments have the fastest of several lengths. Both programs count outputs
that no end of the data touches, and both are bound to one core.

lapwing's time is that of the whole program: start, signal and taps read from a file in FOLDER (on a RAM disk), the taps' transforms,
filtering, result. It is measured twice, the second time with --memory 512M, where it holds fewer spectra at a time. "filtering" is
the elapsed time of its stage `compute` alone. Ratios are of processor time, which other work on the machine changes least.

Needs: pycbc, h5py, numpy.
"""
import os
import re
import statistics
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import h5py                                                             # noqa: E402
import numpy as np                                                      # noqa: E402
import pycbc.fft                                                        # noqa: E402
import pycbc.fft.backend_cpu                                            # noqa: E402
import pycbc.fft.fftw                                                   # noqa: E402
from pycbc.filter.matchedfilter import MatchedFilterControl             # noqa: E402
from pycbc.types import FrequencySeries, zeros                          # noqa: E402

RATE = 4096
THRESHOLD = 5.5                 # in PyCBC's unit, the standard deviation of one part of the complex output
WINDOW = RATE                   # clusters of one second
CASES = [                       # seconds of data, taps, templates
    (256, 1 << 17, 128),
    (256, 1 << 18, 128),
    (4096, 1 << 18, 16),
]


def make_data(path, seconds, taps, templates):
    """Write a signal and a bank of unit norm, of noise: the times depend on neither. Return both."""
    random = np.random.default_rng(1)
    signal = random.standard_normal(seconds * RATE, dtype=np.float32)
    bank = np.empty((templates, taps), np.complex64)
    for taps_of_one in bank:
        taps_of_one.real = random.standard_normal(taps, dtype=np.float32)
        taps_of_one.imag = random.standard_normal(taps, dtype=np.float32)
        taps_of_one /= np.linalg.norm(taps_of_one)
    with h5py.File(path, "w") as file:
        file["signal"] = signal
        file["bank"] = bank
    return signal, bank


class Loop:
    """PyCBC's loop over the segments of a signal, of `length` points each, behind templates of `taps` taps."""

    def __init__(self, signal, taps, length):
        self.taps, self.length = taps, length
        hop = length - taps + 1
        self.valid = len(signal) - taps + 1
        delta_f = RATE / length
        segments = []
        for begin in range(0, self.valid, hop):
            part = np.zeros(length, np.float32)
            piece = signal[begin:begin + length]
            part[:len(piece)] = piece
            segment = FrequencySeries(np.fft.rfft(part).astype(np.complex64), delta_f=delta_f)
            segment.analyze = slice(0, min(hop, self.valid - begin))    # outputs of a correlation that no end touches
            segments.append(segment)
        self.template = zeros(length // 2 + 1, dtype=np.complex64)
        self.control = MatchedFilterControl(None, None, THRESHOLD, length, delta_f, np.complex64, segments, self.template, True)
        self.norm = (4 * delta_f) ** 2                                  # so that the threshold is in units of the raw output

    def set_template(self, taps):
        """Take the positive frequencies of a template, as PyCBC does, scaled so that outputs are those of lapwing, times sqrt 2."""
        spectrum = np.fft.fft(taps, self.length)[:self.length // 2 + 1]
        self.template.data[:] = (spectrum * (2 ** 0.5 / self.length)).astype(np.complex64)

    def run(self):
        """Filter all segments. Return the elapsed seconds, and those of the processor."""
        begin, used = time.perf_counter(), time.process_time()
        for number in range(len(self.control.segments)):
            self.control.matched_filter_and_cluster(number, self.norm, WINDOW)
        return time.perf_counter() - begin, time.process_time() - used


def fastest_loop(signal, bank):
    """Return the loop of the segment length that takes least."""
    taps = bank.shape[1]
    best, best_seconds = None, float("inf")
    length = 2 * taps
    while length <= min(2 * len(signal), 1 << 22):
        loop = Loop(signal, taps, length)
        loop.set_template(bank[0])
        seconds = min(loop.run()[1] for _ in range(5))
        if seconds < best_seconds:
            best, best_seconds = loop, seconds
        length *= 2
    return best


def check_loop(loop, signal, bank):
    """The loop's outputs are correlations: compare the first with sums."""
    loop.set_template(bank[0])
    loop.run()
    spectrum = np.fft.fft(signal[:loop.length].astype(np.float64), loop.length)
    product = spectrum.conj() * np.fft.fft(bank[0].astype(np.complex128), loop.length)
    product[0] = 0                                                      # PyCBC drops these, and negative frequencies
    product[loop.length // 2:] = 0
    loop.control.correlators[0].correlate()
    loop.control.ifft.execute()
    expected = np.fft.ifft(product.conj())[:8] * 2 ** 0.5
    found = loop.control.snr_mem.data[:8]
    assert np.allclose(found, expected, rtol=1e-3, atol=1e-3), (found, expected)


def run_lapwing(program, path, *options):
    """Run the whole program. Return the elapsed seconds, those of the processor, those of filtering, and the segment."""
    command = [program, "ols", "--input", f"{path}:/signal", "--filters", f"{path}:/bank", "--correlate", "--mode", "valid",
               "--products", "peaks", "--noise", "given", "--threshold", str(THRESHOLD / 2 ** 0.5), "--cluster", str(WINDOW),
               "--threads", "1", "--engine", "cpu", "--output", f"{path}.out", "--overwrite", "--verbose", *options]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if status != 0:
        sys.exit(f"banks_pycbc.py: {' '.join(command)}: {said}")
    stages = {name: float(value) for name, value in re.findall(r"^(\w+) +([0-9.]+) s ", said, re.M)}
    plan = re.search(r"N = (\d+)", said)
    return seconds, usage.ru_utime + usage.ru_stime, stages.get("compute", 0), int(plan.group(1)) if plan else 0


def compare(program, folder, repeats, seconds, taps, templates):
    path = os.path.join(folder, "banks_pycbc.h5")
    signal, bank = make_data(path, seconds, taps, templates)
    loop = fastest_loop(signal, bank)
    check_loop(loop, signal, bank)
    whole, small, theirs = [], [], []
    for _ in range(repeats):
        whole.append(run_lapwing(program, path))
        small.append(run_lapwing(program, path, "--memory", "512M"))
        theirs += [loop.run() for _ in range(max(5, templates // len(loop.control.segments) // 2))]
    for name in (path, f"{path}.out"):
        os.remove(name)

    def of_template(runs, number):
        return 1e3 * statistics.median(run[number] for run in runs) / templates

    elapsed, processor = (1e3 * statistics.median(run[i] for run in theirs) for i in range(2))
    return [seconds, taps, templates, loop.valid, loop.length, elapsed, processor, whole[0][3], of_template(whole, 0),
            of_template(whole, 1), of_template(small, 0), of_template(small, 1), of_template(small, 2),
            processor / of_template(whole, 1), processor / of_template(small, 1), elapsed / of_template(small, 2)]


def main():
    program, folder = sys.argv[1:3]
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pycbc.fft.backend_cpu.set_backend(["fftw"])
    pycbc.fft.fftw.set_measure_level(1)
    print("seconds,taps,templates,valid_outputs,pycbc_segment,pycbc_ms,pycbc_processor_ms,lapwing_segment,whole_ms,"
          "whole_processor_ms,whole_512M_ms,whole_512M_processor_ms,filtering_512M_ms,whole_to_pycbc,whole_512M_to_pycbc,"
          "filtering_512M_to_pycbc")
    for case in CASES:
        row = compare(program, folder, repeats, *case)
        print(",".join(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row), flush=True)


if __name__ == "__main__":
    main()
