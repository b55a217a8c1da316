#!/usr/bin/env python3
"""plot_ols_gpu.py TABLE.csv OUT.svg - percent of the memory floor, case by case: ours (single launch, sustained) and the best
rival's in the same table.

Reads what `bench_ols_gpu table TABLE.csv` wrote; writes plain SVG, no packages needed."""
import csv
import sys

LEFT, WIDTH, ROW = 330, 560, 22
SERIES = (("single", "#2b6cb0"), ("sustained", "#90cdf4"), ("best rival", "#c05621"))


def percents(row):
    single, ratio = float(row["single_percent"]), float(row["ratio"] or 0)
    return (single, float(row["sustained_percent"]), single / ratio if ratio else 0)


def bars(rows):
    for i, row in enumerate(rows):
        top = 40 + i * ROW
        yield f'<text x="{LEFT - 8}" y="{top + 13}" text-anchor="end">{row["case"]} ({row["kernel"]})</text>'
        for j, (value, (_, colour)) in enumerate(zip(percents(row), SERIES)):
            yield f'<rect x="{LEFT}" y="{top + 6 * j}" width="{value / 100 * WIDTH:.1f}" height="5" fill="{colour}"/>'


def grid(height):
    for percent in range(0, 101, 20):
        x = LEFT + percent / 100 * WIDTH
        yield f'<line x1="{x}" y1="32" x2="{x}" y2="{height - 8}" stroke="#ccc"/>'
        yield f'<text x="{x}" y="28" text-anchor="middle">{percent}%</text>'
    for i, (name, colour) in enumerate(SERIES):
        yield f'<text x="{LEFT + 160 * i}" y="13" fill="{colour}">{name}</text>'


def main(table, out):
    with open(table, newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    height = 48 + ROW * len(rows)
    with open(out, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{height}" '
                   'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>\n')
        file.write("\n".join([*grid(height), *bars(rows)]) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
