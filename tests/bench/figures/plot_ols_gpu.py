#!/usr/bin/env python3
"""plot_ols_gpu.py TABLE.csv OUT.svg - percentage of the memory floor for each case: lapwing's (single launch, sustained) and that
of the best rival in the same table.

Reads the table that `bench_ols_gpu table TABLE.csv` wrote."""
import csv
import sys

import plot_bars

SERIES = (("single", "#2b6cb0"), ("sustained", "#90cdf4"), ("best rival", "#c05621"))


def parts(row):
    single, ratio = float(row["single_percent"]) / 100, float(row["ratio"] or 0)
    return single, float(row["sustained_percent"]) / 100, single / ratio if ratio else 0


def main(table, out):
    with open(table, newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    plot_bars.write(out, [(f"{row['case']} ({row['kernel']})", parts(row)) for row in rows], SERIES)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
