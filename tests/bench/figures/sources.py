#!/usr/bin/env python3
"""sources.py [RESULTS] - checks that each figure was drawn from the records that are there. RESULTS: tests/bench/results.

A PNG that common.py saved has a text `Source`: the paths of its records, seen from the PNG's folder, and the first 16 digits of
their SHA-256. This needs no package beyond Python's own. The exit code is 1 if a figure says nothing, if a record is another one
now, or if figures.md names other figures or other records."""
import hashlib
import os
import re
import struct
import sys

FOLDERS = ("figures", "ols_gpu", "scaling")         # those with drawn figures
HERE = os.path.dirname(os.path.abspath(__file__))


def checksum(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def texts_of(path):
    """The texts in a PNG by keyword."""
    with open(path, "rb") as file:
        data = file.read()
    texts, at = {}, 8
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"tEXt":
            keyword, text = data[at + 8:at + 8 + length].split(b"\0", 1)
            texts[keyword.decode("latin-1")] = text.decode("latin-1")
        at += 12 + length
    return texts


def sources_of(path):
    """{path of a record: its checksum when the figure was drawn}"""
    text = texts_of(path).get("Source", "")
    folder = os.path.dirname(path)
    return {os.path.normpath(os.path.join(folder, name)): digest for name, digest in re.findall(r"(\S+) ([0-9a-f]{16})", text)}


def check_figure(path):
    """The complaints about a figure."""
    name, sources = os.path.basename(path), sources_of(path)
    if not sources:
        yield f"{name} does not say which records it was drawn from: draw it with a script of tests/bench/figures"
    for record, digest in sources.items():
        if not os.path.isfile(record):
            yield f"{name} was drawn from {os.path.basename(record)}, which is gone: draw it from the record that took its place"
        elif checksum(record) != digest:
            yield f"{name} was drawn from another {os.path.basename(record)}: draw it again with its script in tests/bench/figures"


def pictures_below(folder):
    """The paths of its pictures, seen from the folder."""
    for place, _, names in os.walk(folder):
        yield from (os.path.relpath(os.path.join(place, name), folder) for name in names if name.endswith(".png"))


def check_list(folder):
    """The complaints about figures.md, whose rows name figures and their records."""
    listed = set()
    with open(os.path.join(folder, "figures.md")) as file:
        rows = [line.split("|") for line in file if line.startswith("| `")]
    for row in rows:
        figures, records = (re.findall(r"`([\w./]+)`", row[place]) for place in (1, 3))
        listed.update(figures)
        for figure in figures:
            path = os.path.join(folder, figure)
            if not os.path.isfile(path):
                yield f"figures.md names {figure}, which is not there: draw it, or take it out of the list"
                continue
            used = set(map(os.path.basename, sources_of(path)))
            for record in sorted(set(map(os.path.basename, records)) - used):
                yield f"{figure} is not drawn from {record}, as figures.md says: name in its row what it is drawn from"
    for name in sorted(set(pictures_below(folder)) - listed):
        yield f"figures.md does not name {name}: add a row"


def main(results):
    figures = [os.path.join(results, folder, name) for folder in FOLDERS for name in pictures_below(os.path.join(results, folder))]
    complaints = [complaint for figure in sorted(figures) for complaint in check_figure(figure)]
    complaints += check_list(os.path.join(results, "figures"))
    print("\n".join(complaints))
    print(f"{len(figures)} figures, {len(complaints)} complaints")
    return 1 if complaints or not figures else 0


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else os.path.join(os.path.dirname(HERE), "results")))
