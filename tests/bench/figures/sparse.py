#!/usr/bin/env python3
"""sparse.py [RESULTS] - the figures of the papers on the sparse transform. RESULTS/sfft_cpu/*.txt, which measure_sfft_cpu.sh
wrote, and RESULTS/figures/sfft_*, which measure_figures_gpu.sh wrote, become RESULTS/figures/sfft_*.png. RESULTS:
tests/bench/results."""
import os

from common import BLUE, GOLD, GREEN, GREY, PALE, PURPLE, RED, curve, device, end, finish, folders, plt, records, save, table

STEPS = {"comb": GOLD, "bin": BLUE, "transform": GREEN, "cutoff": RED, "vote": "#805ad5", "estimate": PALE, "check": GREY}
CPU = "two cores of an AMD EPYC, sfft_cpu/"
H200 = "one NVIDIA H200, its host's cores: "
PUBLISHED = "sfft_published.csv"        # bench_published_gpu's
# The ways of published_ways.h, in cusFFT's words.
WAYS = {"partition:sort": (GREY, "o", "baseline: loop partition, sort and select"),
        "chunks:sort": (GOLD, "v", "data layout transformation"),
        "partition:threshold": (GREEN, "^", "fast selection"),
        "chunks:threshold": (RED, "s", "data layout transformation and fast selection"),
        "rows:threshold": (PURPLE, "x", "the same, layout by whole loops on two streams"),
        "partition:select": (PALE, "P", "loop partition, exact selection"),
        "engine": (BLUE, "D", "the engine")}
OTHERS = {"cufft": (GREEN, "v", "cuFFT Z2Z"), "fftw": ("#805ad5", "^", "FFTW, all cores"), "cpu": (GOLD, "P", "sfft2, all cores")}
BASES = {"partition:sort": "the baseline", "cufft": "cuFFT", "fftw": "FFTW on all cores", "cpu": "sfft2 on all cores"}
LOOKS = {"sparse": (BLUE, "o", "lapwing"), "sfft2": (RED, "s", "sfft2"), "comb": (GOLD, "D", "sfft2 with a comb"),
         "fftw": (GREY, "^", "FFTW")}


def host_records(results, *names):
    """Lines that measure_sfft_cpu.sh wrote."""
    return [row for name in names for row in records(os.path.join(results, "sfft_cpu"), name, "measure_sfft_cpu.sh")]


def published_rows(out, algorithm=None, snr="none"):
    """The rows of the published transform on a GPU: of an algorithm, or of all."""
    return [row for row in table(out, PUBLISHED) if row["snr"] == snr and algorithm in (None, row["algorithm"])]


def where_published(out):
    return f"{device(out, PUBLISHED)}: {PUBLISHED}"


def power(n):
    return f"2^{int(n).bit_length() - 1}"


# ---- time of each step: 2a, 2b -----------------------------------------------------------------------------------------------

def draw_shares(panel, rows, x, name, title):
    rows = sorted(rows, key=lambda row: row[x])
    below = [0.0] * len(rows)
    for step, colour in STEPS.items():
        share = [100 * row[step] / sum(row[other] for other in STEPS) for row in rows]
        panel.bar([name(row[x]) for row in rows], share, bottom=below, color=colour)
        below = [a + b for a, b in zip(below, share)]
    finish(panel, title, x, "% of its time", x="linear", y="linear")
    panel.set_ylim(0, 100)


def draw_times_of_steps(panel, rows, x, title):
    for step, colour in STEPS.items():
        curve(panel, [(row[x], row[step]) for row in rows], "begin, comb" if step == "comb" else step, colour)
    finish(panel, title, x, "ms", base=2 if x == "n" else 10)


def draw_steps(results, out):
    host = [row for row in host_records(results, "lengths.txt", "lines.txt") if row["algorithm"] == "sfft2" and row["threads"] == 1]
    for rows, fixed, where, file in ((host, 2 ** 22, CPU + "lengths.txt, lines.txt, one core", "sfft_steps_cpu.png"),
                                     (published_rows(out, "engine"), 2 ** 27, where_published(out) + ", the engine's way", "sfft_steps_gpu.png")):
        figure, axes = plt.subplots(2, 2, figsize=(11, 8))
        by_n = list({row["n"]: row for row in rows if row["k"] == 1000}.values())
        by_k = list({row["k"]: row for row in rows if row["n"] == fixed}.values())
        draw_shares(axes[0, 0], by_n, "n", power, "sfft2, k = 1000")
        draw_shares(axes[0, 1], by_k, "k", lambda k: f"{k:.0f}", f"sfft2, n = {power(fixed)}")
        draw_times_of_steps(axes[1, 0], by_n, "n", "k = 1000")
        draw_times_of_steps(axes[1, 1], by_k, "k", f"n = {power(fixed)}")
        save(figure, out, file, where + "; no noise")


# ---- time against n and k: 5a to 5e --------------------------------------------------------------------------------------------

def draw_host(panel, rows, x, threads):
    for algorithm, (colour, marker, name) in LOOKS.items():
        for count, style in zip(threads, ("-", "--")):
            points = [(row[x], row["wall_median"]) for row in rows if row["algorithm"] == algorithm and row["threads"] == count]
            curve(panel, points, f"{name}, {count:.0f} core{'s' * (count > 1)}", colour, marker, style)


def draw_cpu_times(results, out):
    by_n, by_k = host_records(results, "lengths.txt"), host_records(results, "lines.txt")
    figure, axes = plt.subplots(1, 3, figsize=(16, 4.5))
    draw_host(axes[0], by_n, "n", (1, 2))
    finish(axes[0], "k = 1000, no noise", "n", "ms, median")
    for panel, n in zip(axes[1:], (2 ** 22, 2 ** 27)):
        draw_host(panel, [row for row in by_k if row["n"] == n], "k", (1, 2))
        finish(panel, f"n = {power(n)}, no noise", "k", "ms, median", base=10)
    save(figure, out, "sfft_times_cpu.png", CPU + "lengths.txt, lines.txt")


def draw_gpu_times(out):
    own, host, published = table(out, "sfft_rows.csv"), records(out, "sfft_host.txt"), published_rows(out, "engine")
    figure, axes = plt.subplots(2, 2, figsize=(12, 9))
    most = max((row["threads"] for row in host), default=1)
    panels = ((axes[0, 0], "n", 1000, None), (axes[0, 1], "k", None, 2 ** 22), (axes[1, 0], "k", None, 2 ** 24),
              (axes[1, 1], "k", None, 2 ** 27))
    for panel, x, k, n in panels:
        fits = lambda row: (k is None or row["k"] == k) and (n is None or row["n"] == n)  # noqa: E731
        rows = [row for row in ({**row, "n": 2 ** int(row["log2_n"])} for row in own) if fits(row)]
        curve(panel, [(row[x], row["ms_single"]) for row in rows], "lapwing, H200", PURPLE, "D")
        steps = [(row[x], row["wall_median"]) for row in published if fits(row)]
        curve(panel, steps, "sfft2, H200", PALE, "s")
        curve(panel, [(row[x], row["z2z_ms"]) for row in rows], "cuFFT Z2Z, H200", GREEN, "v")
        curve(panel, [(row[x], row["c2c_ms"]) for row in rows], "cuFFT C2C (single precision), H200", GREEN, "v", ":")
        draw_host(panel, [row for row in host if fits(row)], x, (1, most) if most > 1 else (1,))
        finish(panel, f"{'k = 1000' if x == 'n' else 'n = ' + power(n)}, no noise", x, "ms", base=2 if x == "n" else 10)
    save(figure, out, "sfft_times_gpu.png", H200 + "sfft_rows.csv, sfft_host.txt; " + PUBLISHED)


# ---- cusFFT's comparison: 5a to 5e -----------------------------------------------------------------------------------------------

def times(rows, algorithm, x):
    return {row[x]: row["wall_median"] for row in rows if row["algorithm"] == algorithm}


def at_every_k(points, rows, x):
    """The points of a transform of all samples: against k, its time is the same everywhere."""
    return {row["k"]: time for time in points.values() for row in rows} if x == "k" else points


def draw_times(panel, rows, whole, x, title, ways, others):
    """The times of some algorithms; whole: the rows of the transforms of all samples."""
    for algorithm in ways:
        colour, marker, name = WAYS[algorithm]
        curve(panel, times(rows, algorithm, x).items(), name, colour, marker)
    for algorithm in others:
        colour, marker, name = OTHERS[algorithm]
        points = times(rows, algorithm, x) or at_every_k(times(whole, algorithm, x), rows, x)
        curve(panel, points.items(), name, colour, marker, ":")
    finish(panel, title, x, "ms, median", x="log" if x == "n" else "linear")


def draw_ratios(panel, rows, whole, x, base, title, ways):
    """How many times as fast the ways are as `base`."""
    ground = times(rows, base, x) or at_every_k(times(whole, base, x), rows, x)
    for algorithm in ways:
        colour, marker, name = WAYS[algorithm]
        points = [(at, ground[at] / time) for at, time in times(rows, algorithm, x).items() if at in ground and algorithm != base]
        curve(panel, points, name, colour, marker)
    finish(panel, title, x, "times as fast", x="log" if x == "n" else "linear", y="ratio")


def draw_comparison(out):
    for ways, bases, file, size in ((list(WAYS), ("partition:sort",), "sfft_published.png", (12, 9.5)),
                                    (("partition:sort", "chunks:threshold", "engine"), ("cufft", "fftw", "cpu"), "sfft_speed_up.png", (16, 8.5))):
        rows = published_rows(out)
        whole, figure, axes = [row for row in rows if not row["k"]], *plt.subplots(2, 1 + len(bases), figsize=size)
        for panels, x, title in ((axes[0], "n", "k = 1000"), (axes[1], "k", "n = 2^27")):
            shapes = [row for row in rows if row["k"] == 1000 or (x == "k" and row["k"])]
            shapes = [row for row in shapes if x == "n" or row["n"] == 2 ** 27]
            there = [row for row in whole if x == "n" or row["n"] == 2 ** 27]
            draw_times(panels[0], shapes, there, x, title, ways, [name for name in OTHERS if name == "cufft" or name in bases])
            for panel, base in zip(panels[1:], bases):
                draw_ratios(panel, shapes, there, x, base, f"{title}: against {BASES[base]}", ways)
        save(figure, out, file, where_published(out) + "; no noise")


# ---- the L1 error: 5f ----------------------------------------------------------------------------------------------------------

def draw_errors(results, out):
    host = host_records(results, "errors.txt", "errors_noiseless.txt")
    own = table(out, "sfft_rows.csv")
    figure, axes = plt.subplots(1, 3, figsize=(16, 4.5))
    for panel, n in zip(axes, (2 ** 22, 2 ** 24, 2 ** 27)):
        for algorithm in ("sparse", "sfft2"):
            colour, marker, name = LOOKS[algorithm]
            for snr, style, noise in (("none", "-", "no noise"), (20, "--", "20 dB")):
                points = [(row["k"], row["l1"]) for row in host if (row["n"], row["algorithm"], row["snr"]) == (n, algorithm, snr)]
                curve(panel, points, f"{name}, CPU, {noise}", colour, marker, style)
        points = [(row["k"], row["l1"]) for row in own if 2 ** int(row["log2_n"]) == n]
        curve(panel, points, "lapwing, H200, no noise, the worst run", GREEN, "v")
        for snr, style, noise in (("none", "-", "no noise"), (20, "--", "20 dB")):
            points = [(row["k"], row["l1"]) for row in published_rows(out, "engine", snr) if row["n"] == n]
            curve(panel, points, f"sfft2, GPU, {noise}", PURPLE, "x", style)
        finish(panel, f"n = {power(n)}", "k", "(1/k) sum |error| over all coefficients", base=10)
    save(figure, out, "sfft_errors.png", "sfft_cpu/errors.txt, errors_noiseless.txt; sfft_rows.csv, " + PUBLISHED +
         "; large coefficients of magnitude 1")


if __name__ == "__main__":
    given, where = folders(__doc__)
    draw_steps(given, where)
    draw_cpu_times(given, where)
    draw_gpu_times(where)
    draw_comparison(where)
    draw_errors(given, where)
    end()
