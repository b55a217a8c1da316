#!/usr/bin/env python3
"""bars.py [RESULTS] - bars of percentages, a group for each case. RESULTS/ols_gpu/c2c.csv and r2r.csv, which measure_ols_gpu.sh
wrote, become ols_gpu.png beside them: the part of the memory's rate that the engine reaches, and the best rival of the same table.
RESULTS/scaling/two_gpus.csv, which ../scale/scaling.py wrote, becomes two_gpus.png: the efficiency of the most ranks. RESULTS:
tests/bench/results."""
import os

from common import BLUE, PALE, RED, device, end, folders, plt, save, shape, table


def draw(panel, rows, series, title):
    """Draw groups of horizontal bars, the first on top. rows: (name, percentages); series: (name, colour)"""
    width = 0.8 / len(series)
    for i, (name, colour) in enumerate(series):
        bars = [(place + i * width, parts[i]) for place, (_, parts) in enumerate(rows) if parts[i] is not None]
        if bars:
            panel.barh(*zip(*bars), height=0.9 * width, align="edge", color=colour, label=name)
    panel.set_yticks([place + 0.4 for place in range(len(rows))], [name for name, _ in rows])
    panel.set(ylim=(len(rows), -0.2), xlim=(0, 100), xlabel="%", title=title)
    panel.grid(axis="x", alpha=0.3)


def draw_floor(results):
    folder = os.path.join(results, "ols_gpu")
    kinds = (("c2c.csv", "complex"), ("r2r.csv", "real"))
    panels = [(word, sorted((row for row in table(folder, name, "measure_ols_gpu.sh") if row["ratio"]),
                            key=lambda row: shape(row["case"])[::-1])) for name, word in kinds]
    figure, axes = plt.subplots(1, 2, figsize=(14, 9))
    for panel, (word, rows) in zip(axes, panels):
        parts = [(f"{row['case'][4:]} ({row['kernel']})",
                  (row["single_percent"], row["sustained_percent"], row["single_percent"] / row["ratio"])) for row in rows]
        series = (("single launches", BLUE), ("back to back", PALE), ("best rival", RED))
        draw(panel, parts, series, f"{word}, % of the memory's rate")
    save(figure, folder, "ols_gpu.png", f"{device(folder, 'c2c.csv')}; c2c.csv, r2r.csv")


def last(rows):
    """The row with the most ranks for each case and call."""
    found = {(row["call"], row["part"], row["growth"], row["case"]): row for row in rows}
    return [row for row in found.values() if row["ranks"] > 1]


def draw_scaling(results):
    folder = os.path.join(results, "scaling")
    rows = last(table(folder, "two_gpus.csv", "scaling.py"))
    parts = [(f"call {row['call']:.0f}, {row['part']}, {row['growth']}: {row['case']}",
              [100 * row[name] if isinstance(row[name], float) else None for name in ("efficiency", "of work")]) for row in rows]
    figure, panel = plt.subplots(figsize=(12, 9))
    draw(panel, parts, (("of elapsed time", BLUE), ("of the work, without the start", PALE)), "efficiency of 2 GPUs")
    save(figure, folder, "two_gpus.png", "two NVIDIA H100 of one host; two_gpus.csv")


if __name__ == "__main__":
    given, _ = folders(__doc__)
    draw_floor(given)
    draw_scaling(given)
    end()
