#!/usr/bin/env python3
"""plot_scaling.py TABLE.csv OUT.svg - efficiency of the most ranks relative to the fewest, case by case.

Reads the table that `scaling.py` wrote."""
import csv
import sys

import plot_bars

SERIES = (("efficiency", "#2b6cb0"), ("of work", "#90cdf4"))


def title(row):
    call = f"call {row['call']}, " if "call" in row else ""
    return f"{call}{row['part']}, {row['growth']}, {row['ranks']} GPUs: {row['case']}"


def last(rows):
    """The row with the most ranks for each case and call."""
    found = {}
    for row in rows:
        found[row.get("call"), row["part"], row["growth"], row["case"]] = row
    return [row for row in found.values() if int(row["ranks"]) > 1]


def main(table, out):
    with open(table, newline="") as file:
        rows = last(csv.DictReader(line for line in file if not line.startswith("#")))
    parts = [[float(row[name]) if row[name] else None for name, _ in SERIES] for row in rows]
    plot_bars.write(out, list(zip(map(title, rows), parts)), SERIES)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
