"""The lines and costs of the job sfft for spectra that are not made for it: lines in noise of unknown level, lines of many
strengths, tones between the frequencies of the transform. The script prints samples and attempts, and the errors of refined
tones, but no times, so that it may run on a busy machine.

    sfft_spectra.py LAPWING [OTHER]     OTHER: a program to compare attempts with, without --refine"""

import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

random = np.random.default_rng(1)
work = tempfile.mkdtemp()
x_name, y_name = os.path.join(work, "x.h5"), os.path.join(work, "y.h5")


def make(n, places, sizes, snr, is_real):
    values = sizes * np.exp(2j * np.pi * random.random(len(places)))
    spectrum = np.zeros(n, complex)
    spectrum[np.asarray(places, int)] = values      # lines between the frequencies are added below
    offsets = places - np.asarray(places, int)
    spectrum[np.asarray(places, int)[offsets != 0]] = 0
    x = np.fft.ifft(spectrum) * n
    t = np.arange(n)
    for place, value in zip(places[offsets != 0], values[offsets != 0]):
        x += value * np.exp(2j * np.pi * (int(place) * t % n + (place - int(place)) * t) / n)
    x = 2 * x.real if is_real else x
    noise = random.standard_normal(n) if is_real else (random.standard_normal(n) + 1j * random.standard_normal(n)) / np.sqrt(2)
    with h5py.File(x_name, "w") as file:
        file["x"] = x + noise * np.sqrt(np.mean(np.abs(x) ** 2) * 10 ** (-snr / 10))


def run(program, k, *options):
    subprocess.run([program, "sfft", "--input", x_name + ":/x", "--output", y_name, "--overwrite", "--quiet", "--sparsity", str(k),
                    "--precision", "double", "--fallback", "partial", *options], check=True, stderr=subprocess.DEVNULL)
    with h5py.File(y_name) as file:
        return file["spectrum"][()], file["channels"][0]


def ending(channel):
    return f"{channel['attempts']} attempt{'s' if channel['attempts'] > 1 else ''}, {channel['samples']}" + (
        "" if channel["explained"] else ", not explained")


def in_noise(programs, n):
    print(f"\n## Lines on frequencies of the transform, n = {n}, 100 lines of complex double samples: attempts, samples\n")
    names = ["this program", "the other one"][:len(programs)]
    print("| noise | range of the lines |" + "".join(f" {name} |" for name in names) + " with --snr |")
    print("|---|---|" + "---|" * (len(programs) + 1))
    for snr in (10, 20, 40, 300):
        for range_db in (0, 20, 40, 60):
            places = random.choice(n, 100, False)
            make(n, places, 10 ** (-range_db / 20 * random.random(100)), snr, False)
            cells = [ending(run(program, 100)[1]) for program in programs]
            told = ending(run(programs[0], 100, "--snr", str(snr))[1]) if snr < 300 else ""
            print(f"| {'none' if snr == 300 else f'{snr} dB'} | {range_db} dB | " + " | ".join(cells) + f" | {told} |", flush=True)


def between(program, n, trials):
    print(f"\n## Tones between frequencies, n = {n}, --refine, {trials} trials each: largest and rms error, bins\n")
    print("| tones | noise | complex: largest, rms, samples, all found | real |")
    print("|---|---|---|---|")
    for k in (1, 2, 10):
        for snr in (20, 40, 60):
            cells = []
            for is_real in (False, True):
                errors, samples, found = [], 0, 0
                for _ in range(trials):
                    places = np.sort(random.uniform(10, n / 2 - 10, k))
                    if k > 1 and np.diff(places).min() < 3:
                        continue
                    make(n, places, np.ones(k), snr, is_real)
                    rows, channel = run(program, k, "--refine")
                    mine = np.sort(rows["fractional_index"])
                    found += len(mine) == k and bool(channel["explained"])
                    errors += list(np.abs(mine - places)) if len(mine) == k else []
                    samples = max(samples, int(channel["samples"]))
                cells.append(f"{np.max(errors):.1e}, {np.sqrt(np.mean(np.square(errors))):.1e}, {samples}, {found} of {trials}")
            print(f"| {k} | {snr} dB | " + " | ".join(cells) + " |", flush=True)


programs = sys.argv[1:3]
if not programs:
    sys.exit(__doc__)
versions = [subprocess.run([p, "--version"], capture_output=True, text=True).stdout.strip().splitlines()[0] for p in programs]
print("# Sparse transforms of spectra as they are\n")
print("`tests/bench/sfft_spectra.py LAPWING OTHER`: " + "; the other one: ".join(versions))
in_noise(programs, 1 << 22)
between(programs[0], 1 << 20, 4)
