#!/usr/bin/env python3
"""star_fields.py [RESULTS] - a figure of the sources in M51 by lapwing and by sep, and of those in a simulated field with sky axes, from
the records of files/measure_sources.py: RESULTS/figures/star_fields.png. RESULTS: tests/bench/results."""
from common import BLUE, GREY, RED, end, finish, folders, plt, save, table

MEASURE = "files/measure_sources.py LAPWING FOLDER lists"


def main():
    _, out = folders(__doc__)
    galaxy, field = table(out, "sources_m51.csv", MEASURE), table(out, "sources_field.csv", MEASURE)
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 6.2))
    for program, colour, marker, size in (("sep", RED, "o", 60), ("lapwing", BLUE, "+", 40)):
        rows = [row for row in galaxy if row["program"] == program]
        left.scatter([row["x"] for row in rows], [row["y"] for row in rows], size, colour if marker == "+" else "none",
                     marker=marker, edgecolors=None if marker == "+" else colour, linewidths=1, label=f"M51: {program}, {len(rows)} sources")
    finish(left, "sources in M51 (512 x 512 pixels, KPNO)", "x, pixels", "y, pixels", "linear", "linear")
    for kind, colour, marker in (("missed", GREY, "x"), ("found", BLUE, "o"), ("no star", RED, "^")):
        rows = [row for row in field if row["kind"] == kind and (kind != "missed" or row["snr"] >= 5)]
        label = {"missed": "star of SNR 5 or more that is not found", "found": "star that is found", "no star": "source that is no star"}
        right.scatter([row["ra"] for row in rows], [row["dec"] for row in rows], [min(60, 4 + row["snr"] / 4) for row in rows], colour,
                      marker=marker, label=f"{label[kind]}, {len(rows)}", linewidths=0.8)
    finish(right, "a simulated field of 3000 stars", "right ascension, degrees", "declination, degrees", "linear", "linear")
    right.invert_xaxis()
    right.ticklabel_format(useOffset=False)
    save(figure, out, "star_fields.png", "mesh of 64 pixels for background and noise, 5 sigma; sources_m51.csv, sources_field.csv")
    end()


if __name__ == "__main__":
    main()
