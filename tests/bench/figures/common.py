"""Functions of the scripts that draw figures: records, and a common look.

A figure says which records it was made from: its PNG has a text `Source`, with the checksum of each. sources.py checks them."""
import csv
import math
import os
import re
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("this needs matplotlib (Debian: python3-matplotlib)")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend has to be chosen first)
from matplotlib import ticker  # noqa: E402

from sources import checksum  # noqa: E402

missing = {}            # records that were needed and do not exist: the script that measures them
used = []               # paths of the records that have been read since the last figure was begun
is_saved = False        # whether a figure has been made of them: the next record begins another

BLUE, PALE, RED, GOLD, GREEN, GREY = "#2b6cb0", "#90cdf4", "#c05621", "#d69e2e", "#2f855a", "#555555"
PURPLE = "#553c9a"
SMALL = 8               # points of the smallest text

plt.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.labelsize": 9, "xtick.labelsize": SMALL, "ytick.labelsize": SMALL,
                     "legend.fontsize": 9, "lines.linewidth": 1.6, "axes.xmargin": 0.04, "axes.ymargin": 0.08,
                     "axes.axisbelow": True})


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def lines_of(folder, name, made_by):
    """The lines of the file without comments. If there is no such file, the list is empty, and end() reports it. All records of a
    figure are read between the figure before it and its save()."""
    global is_saved
    if is_saved:
        used.clear()
        is_saved = False
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        missing[os.path.relpath(path)] = made_by
        return []
    used.append(path)
    with open(path, newline="") as file:
        return [line for line in file if not line.startswith("#")]


def table(folder, name, made_by="measure_figures_gpu.sh"):
    """The rows of a CSV, with numbers as numbers."""
    return [{key: number(value) for key, value in row.items()} for row in csv.DictReader(lines_of(folder, name, made_by))]


def records(folder, name, made_by="measure_figures_gpu.sh"):
    """The lines of names and values that bench_sfft_cpu prints."""
    rows = [line.split() for line in lines_of(folder, name, made_by)]
    return [{key: number(value) for key, value in zip(words[::2], words[1::2])} for words in rows]


def device(folder, name):
    """'one NVIDIA H200' from the comments of a record."""
    path = os.path.join(folder, name)
    text = open(path).read() if os.path.isfile(path) else ""
    found = re.search(r"^#.*\b(one NVIDIA [^,]+)", text, re.MULTILINE)
    return found[1] if found else "one GPU"


def shape(case):
    """'double c2c 2^21 M=257 F=8' as (precision, kind, n, M, F)."""
    found = re.fullmatch(r"(double )?([cr]2[cr]) 2\^(\d+) M=(\d+) F=(\d+)", case)
    return ("double" if found[1] else "single", found[2], 2 ** int(found[3]), int(found[4]), int(found[5])) if found else None


def curve(axes, points, label, colour=None, marker="o", style="-"):
    """Draw points (x, y), given in any order; without points nothing is drawn."""
    points = sorted(point for point in points if point[1])
    if points:
        axes.plot(*zip(*points), linestyle=style, color=colour, marker=marker, markersize=4.5, label=label, clip_on=False, zorder=3)


def plain(value, _=None):
    """A number without an exponent where it is short, otherwise a power of ten."""
    if value <= 0 or 1e-3 <= value < 1e5:
        return f"{value:.10g}"
    power = math.floor(math.log10(value) + 1e-9)
    digit = round(value / 10 ** power)
    return f"$10^{{{power}}}$" if digit == 1 else f"${digit}\\cdot10^{{{power}}}$"


def label_powers_of_two(axis, least, most):
    """Label each power of two, or every second or third one of many; large ones as powers."""
    first, last = (round(math.log2(value)) for value in (least, most))
    step = 1 + (last - first) // 9
    axis.set_major_locator(ticker.FixedLocator([2.0 ** k for k in range(first, last + 1, step)]))
    axis.set_major_formatter(ticker.FuncFormatter(
        lambda value, _: f"$2^{{{round(math.log2(value))}}}$" if last > 16 else f"{value:g}"))
    axis.set_minor_locator(ticker.NullLocator())


def label_decades(axis, least, most):
    """Label so many numbers between powers of ten that at least three labels are there."""
    decades = math.log10(most / least)
    digits = (1,) if decades > 3 else (1, 3) if decades > 2 else (1, 2, 5) if decades > 0.7 else (1, 1.5, 2, 3, 4, 5, 6, 7, 8)
    axis.set_major_locator(ticker.LogLocator(10, digits, numticks=20))
    axis.set_major_formatter(ticker.FuncFormatter(plain))
    axis.set_minor_formatter(ticker.NullFormatter())


def label_logarithms(axes):
    """Label the logarithmic axes of a panel by the range of its data."""
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() != "log":
            continue
        is_x = axis is axes.xaxis
        values = [float(value) for line in axes.lines if line.get_label()[0] != "_"
                  for value in (line.get_xdata() if is_x else line.get_ydata())]
        if values and axis.get_transform().base == 2:
            label_powers_of_two(axis, min(values), max(values))
        elif values:
            label_decades(axis, *limits)


def finish(axes, title, xlabel, ylabel, x="log", y="log", base=2):
    """Name the axes. x, y: "log", "linear"; y: also "ratio", an axis from 0 with a line at 1."""
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if x == "log":
        axes.set_xscale("log", base=base)
    if y == "log":
        axes.set_yscale("log")
    if y == "ratio" and axes.has_data():
        axes.axhline(1, color=GREY, linewidth=0.8)
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def legend(figure):
    """Draw one legend for all panels, below them, where no curve is, in as few rows as the width allows. @return its height as a
    part of the figure's"""
    entries = {label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels())}
    if not entries:
        return 0
    for rows in range(1, len(entries) + 1):
        columns = -(-len(entries) // rows)
        drawn = figure.legend(entries.values(), entries.keys(), loc="lower center", ncol=columns, handlelength=3.6, frameon=False,
                              bbox_to_anchor=(0.5, 0.2 / figure.get_figheight()))
        if columns == 1 or drawn.get_window_extent(figure.canvas.get_renderer()).width <= figure.bbox.width:
            break
        drawn.remove()
    return (0.2 * rows + 0.15) / figure.get_figheight()


def save(figure, out, name, source):
    """Save the figure without the panels that have no data; if no panel has data, save nothing. source: the records and the
    hardware, in small print."""
    global is_saved
    is_saved = True
    for axes in figure.axes:
        if not axes.has_data():
            axes.remove()
        else:
            label_logarithms(axes)
    if figure.axes:
        figure.text(0.005, 0.05 / figure.get_figheight(), source, fontsize=SMALL, color=GREY)
        figure.tight_layout(rect=(0, 0.25 / figure.get_figheight() + legend(figure), 1, 1))
        path = os.path.join(out, name)
        made_of = ", ".join(f"{os.path.relpath(record, out)} {checksum(record)}" for record in dict.fromkeys(used))
        figure.savefig(path, dpi=100, metadata={"Software": None, "Source": made_of})       # the same records give the same files
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
