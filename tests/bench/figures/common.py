"""Functions of the scripts that draw figures: records, and a common look."""
import csv
import os
import re
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("this needs matplotlib (Debian: python3-matplotlib)")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend has to be chosen first)

missing = {}            # records that were needed and do not exist: the script that measures them

BLUE, PALE, RED, GOLD, GREEN, GREY = "#2b6cb0", "#90cdf4", "#c05621", "#d69e2e", "#2f855a", "#555555"
PURPLE = "#553c9a"


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def lines_of(folder, name, made_by):
    """The lines of the file without comments. If there is no such file, the list is empty, and end() reports it."""
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        missing[os.path.relpath(path)] = made_by
        return []
    with open(path, newline="") as file:
        return [line for line in file if not line.startswith("#")]


def table(folder, name, made_by="measure_figures_gpu.sh"):
    """The rows of a CSV, with numbers as numbers."""
    return [{key: number(value) for key, value in row.items()} for row in csv.DictReader(lines_of(folder, name, made_by))]


def records(folder, name, made_by="measure_figures_gpu.sh"):
    """The lines of names and values that bench_sfft_cpu and bench_published_gpu print."""
    rows = [line.split() for line in lines_of(folder, name, made_by)]
    return [{key: number(value) for key, value in zip(words[::2], words[1::2])} for words in rows]


def shape(case):
    """'double c2c 2^21 M=257 F=8' as (precision, kind, n, M, F)."""
    found = re.fullmatch(r"(double )?([cr]2[cr]) 2\^(\d+) M=(\d+) F=(\d+)", case)
    return ("double" if found[1] else "single", found[2], 2 ** int(found[3]), int(found[4]), int(found[5])) if found else None


def curve(axes, points, label, colour=None, marker="o", style="-"):
    """Draw points (x, y), given in any order; without points nothing is drawn."""
    points = sorted(point for point in points if point[1])
    if points:
        axes.plot(*zip(*points), style, color=colour, marker=marker, markersize=4, label=label)


def finish(axes, title, xlabel, ylabel, x="log", y="log", base=2):
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if x == "log":
        axes.set_xscale("log", base=base)
    if y == "log":
        axes.set_yscale("log")
    axes.grid(alpha=0.3)


def legend(figure):
    """One legend for all panels, below them, where no curve is. @return its height as a part of the figure's"""
    entries = {label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels())}
    if not entries:
        return 0
    columns = max(1, min(len(entries), int(figure.get_figwidth() / 2.4)))
    figure.legend(entries.values(), entries.keys(), loc="lower center", bbox_to_anchor=(0.5, 0.015), ncol=columns, fontsize=7,
                  frameon=False)
    return (0.17 * -(-len(entries) // columns) + 0.1) / figure.get_figheight()


def save(figure, out, name, source):
    """Save the figure without the panels that have no data; if no panel has data, save nothing. source: the records and the
    hardware, in small print."""
    for axes in figure.axes:
        if not axes.has_data():
            axes.remove()
    if figure.axes:
        figure.text(0.005, 0.003, source, fontsize=6, color=GREY)
        figure.tight_layout(rect=(0, 0.015 + legend(figure), 1, 1))
        path = os.path.join(out, name)
        figure.savefig(path, dpi=85, metadata={"Software": None})     # the same records give the same files
        print(path)
    plt.close(figure)


def end():
    """Print which records are missing."""
    for path, made_by in missing.items():
        print(f"{path} does not exist ({made_by} measures it): figures that need it are not drawn")


def folders(usage):
    """The folders of the results and of the pictures, from the command line."""
    here = os.path.dirname(os.path.abspath(__file__))
    results = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(here), "results")
    if len(sys.argv) > 2 or not os.path.isdir(results):
        sys.exit(usage)
    out = os.path.join(results, "figures")
    os.makedirs(out, exist_ok=True)
    return results, out
