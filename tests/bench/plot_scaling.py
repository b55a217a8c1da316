#!/usr/bin/env python3
"""plot_scaling.py TABLE.csv OUT.svg - what the most ranks keep of the speed of the fewest, case by case.

Reads what `scaling.py` wrote; writes plain SVG, no packages needed."""
import csv
import sys
from xml.sax.saxutils import escape

LEFT, WIDTH, ROW = 370, 560, 22
SERIES = (("efficiency", "seconds", "#2b6cb0"), ("of work", "work", "#90cdf4"))


def bars(rows):
    for i, row in enumerate(rows):
        top = 40 + i * ROW
        call = f"call {row['call']}, " if "call" in row else ""
        title = escape(f"{call}{row['part']}, {row['growth']}, {row['ranks']} GPUs: {row['case']}")
        yield f'<text x="{LEFT - 8}" y="{top + 13}" text-anchor="end">{title}</text>'
        for j, (name, _, colour) in enumerate(SERIES):
            if row[name]:
                yield f'<rect x="{LEFT}" y="{top + 9 * j}" width="{float(row[name]) * WIDTH:.1f}" height="8" fill="{colour}"/>'


def grid(height):
    for percent in range(0, 101, 20):
        x = LEFT + percent / 100 * WIDTH
        yield f'<line x1="{x}" y1="32" x2="{x}" y2="{height - 8}" stroke="#ccc"/>'
        yield f'<text x="{x}" y="28" text-anchor="middle">{percent}%</text>'
    for i, (_, of, colour) in enumerate(SERIES):
        yield f'<text x="{LEFT + 160 * i}" y="13" fill="{colour}">of the {of}</text>'


def last(rows):
    """Of each case and call the row of the most ranks."""
    found = {}
    for row in rows:
        found[row.get("call"), row["part"], row["growth"], row["case"]] = row
    return [row for row in found.values() if int(row["ranks"]) > 1]


def main(table, out):
    with open(table, newline="") as file:
        rows = last(csv.DictReader(line for line in file if not line.startswith("#")))
    height = 48 + ROW * len(rows)
    with open(out, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{height}" '
                   'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="#fff"/>\n')
        file.write("\n".join([*grid(height), *bars(rows)]) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
