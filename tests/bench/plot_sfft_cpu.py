#!/usr/bin/env python3
"""plot_sfft_cpu.py FOLDER OUT.(svg|png|pdf) - the figures of the papers, from what measure_sfft_cpu.sh wrote to FOLDER: time
against n and against k beside FFTW, the time of each step of sfft2 against n, and the L1 error per line against k."""
import glob
import os
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot_sfft_cpu.py needs matplotlib (Debian: python3-matplotlib)")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend has to be chosen first)

STEPS = ("bin", "transform", "cutoff", "vote", "estimate", "check")
LOOKS = {"sparse": ("#2b6cb0", "o", "default (sparse)"), "sfft2": ("#c05621", "s", "sfft2"),
         "comb": ("#d69e2e", "D", "sfft2 with a comb"), "fftw": ("#555555", "^", "FFTW")}


def records(folder, part):
    """Lines of names and values as dictionaries: numbers where they are such."""
    path = os.path.join(folder, part + ".txt")
    if not os.path.isfile(path):
        return []
    with open(path) as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    rows = [dict(zip(words[::2], words[1::2])) for words in lines]
    return [{key: value if key in ("algorithm", "snr") else float(value) for key, value in row.items()} for row in rows]


def curve(axes, rows, x, y, label=None, **wanted):
    """One algorithm's y against x, for the rows that have the wanted values."""
    chosen = sorted((row[x], row[y]) for row in rows if all(row[key] == value for key, value in wanted.items()) and y in row)
    if not chosen:
        return
    colour, marker, name = LOOKS[wanted["algorithm"]]
    style = "--" if wanted.get("threads", 1) > 1 or wanted.get("snr", "none") != "none" else "-"
    axes.loglog(*zip(*chosen), style, color=colour, marker=marker, markersize=4, label=label or name)


def against_n(axes, folder):
    rows = records(folder, "lengths")
    threads = sorted({row["threads"] for row in rows})
    for algorithm in LOOKS:
        for count in threads:
            curve(axes, rows, "n", "wall", f"{LOOKS[algorithm][2]}, {count:.0f} thread{'s' * (count > 1)}", algorithm=algorithm,
                  threads=count)
    axes.set(title="k = 1000, no noise", xlabel="n", ylabel="wall time, ms")


def against_k(axes, folder):
    rows = [row for row in records(folder, "lines") if row["n"] == 2 ** 27] or records(folder, "lines")
    for algorithm in LOOKS:
        curve(axes, rows, "k", "wall", algorithm=algorithm, threads=1)
    axes.set(title=f"n = 2^{rows[0]['n'].hex().split('p+')[1] if rows else '?'}, one thread", xlabel="k", ylabel="wall time, ms")


def steps(axes, folder):
    rows = sorted((row for row in records(folder, "lengths") if row["algorithm"] == "sfft2" and row["threads"] == 1),
                  key=lambda row: row["n"])
    names = [f"2^{row['n'].hex().split('p+')[1]}" for row in rows]
    below = [0.0] * len(rows)
    for step in STEPS:
        total = [sum(row[other] for other in STEPS) for row in rows]
        share = [100 * row[step] / all_steps for row, all_steps in zip(rows, total)]
        axes.bar(names, share, bottom=below, label=step)
        below = [a + b for a, b in zip(below, share)]
    axes.set(title="steps of sfft2, k = 1000", xlabel="n", ylabel="% of its time")


def errors(axes, folder):
    rows = records(folder, "errors")
    for snr in sorted({row["snr"] for row in rows}, reverse=True):
        for algorithm in ("sparse", "sfft2"):
            name = "no noise" if snr == "none" else f"{snr} dB"
            curve(axes, rows, "k", "l1", f"{LOOKS[algorithm][2]}, {name}", algorithm=algorithm, snr=snr)
    axes.set(title="n = 2^24", xlabel="k", ylabel="L1 error per line, of its magnitude")


def main(folder, out):
    if not glob.glob(os.path.join(folder, "*.txt")):
        sys.exit(f"{folder} holds no .txt of measure_sfft_cpu.sh")
    figure, panels = plt.subplots(2, 2, figsize=(11, 8))
    for axes, draw in zip(panels.flat, (against_n, against_k, steps, errors)):
        draw(axes, folder)
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
