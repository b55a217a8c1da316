#!/usr/bin/env python3
"""readme.py [--check] - writes the figures of performance in the documents from the records in tests/bench/results.

Each of DOCUMENTS is a section of a document, and a text below results for it. In the text each figure is a place {{FILE;
COLUMN=VALUE; ...; EXPRESSION; FORMAT}}. FILE has one row whose columns have these values; the figure is EXPRESSION over the
columns of that row, in one of Python's formats. FILE is a CSV below results, or a .txt whose lines are names and values, of which
the first that fits counts. least(...) is the smallest of its arguments that exist and are not 0. An expression that begins with ?
may lack a record, and is then "-". A line {{NAME = FILE; COLUMN=VALUE; ...}} names the beginning of places; places, and further
such lines, may begin with NAME. Paragraphs that are not tables are filled anew.

Without --check the sections are replaced. With --check nothing is written; the exit code is 1 if a line differs from the records,
or if these documents or the texts have a figure of performance outside a place."""
import csv
import difflib
import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, "tests", "bench", "results")
DOCUMENTS = [("README.md", "speed.md", "## Speed\n", "## Words\n"),
             ("tests/bench/README.md", "performance.md", "## Figures\n", "## Records\n")]
WIDTH = 132
NAMED = re.compile(r"^\{\{(\w+) = (.*)\}\}\n", re.MULTILINE)
PLACE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
FIGURE = re.compile(r"\d[\d.]* ?(?:[GMT]samples/s|[GM]pixel/s|GB/s|MB/s|ms\b|times as fast|times faster)")


def least(*values):
    return min(value for value in values if value)


class Columns(dict):
    """The numbers of a row by column name; None for a column that the file does not have, and for an empty cell."""

    def __missing__(self, name):
        return least if name == "least" else None


def number(text):
    try:
        return float(text) if text else None
    except ValueError:
        return text


def rows_of(name, files={}):
    """The rows of the file as dictionaries of texts."""
    path = os.path.join(RESULTS, name)
    if name not in files and not os.path.isfile(path):
        files[name] = []
    if name not in files:
        with open(path, newline="") as file:
            lines = [line for line in file if not line.startswith("#")]
        if name.endswith(".csv"):
            files[name] = list(csv.DictReader(lines))
        else:
            words = [line.split() for line in lines]
            files[name] = [dict(zip(row[::2], row[1::2])) for row in words]
    return files[name]


def figure(place, names):
    """The text that replaces a place."""
    beginning, rest = place.split(";", 1)
    while beginning in names:
        beginning, *more = names[beginning].split(";", 1)
        rest = ";".join([*more, rest])
    name, *conditions, expression, form = (part.strip() for part in [beginning, *re.sub(r"\s+", " ", rest).split(";")])
    wanted = dict(condition.split("=", 1) for condition in conditions)
    rows = [row for row in rows_of(name) if all(row.get(key) == value for key, value in wanted.items())]
    is_optional = expression.startswith("?")
    if not rows and is_optional:
        return "-"
    if not rows or (len(rows) > 1 and name.endswith(".csv")):
        sys.exit(f"{len(rows)} rows of {name} fit {{{{{place}}}}}: one should")
    columns = Columns({key: number(value) for key, value in rows[0].items() if key})
    value = eval(expression.lstrip("?"), {}, columns)
    if value is None and is_optional:
        return "-"
    if value is None:
        sys.exit(f"there is no value for {{{{{place}}}}}")
    return format(value, form)


def filled(text):
    """The text with its paragraphs, except tables, in lines of at most WIDTH characters."""
    fill = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False).fill
    return "\n\n".join(block if block.startswith(("|", "#")) else fill(block) for block in text.strip("\n").split("\n\n")) + "\n"


def generated(text):
    """The content of the document's section that the text gives."""
    names = dict(NAMED.findall(text))
    return filled(PLACE.sub(lambda place: figure(place.group(1), names), NAMED.sub("", text)))


def typed(text, what):
    """Complaints about figures of performance, in prose and tables, that are typed by hand."""
    without_code = re.sub(r"^```.*?^```|`[^`]*`", lambda c: "\n" * c.group().count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    return [f"{what}, line {i}: '{found.group()}' is typed by hand; record it, and give it a place in a text of DOCUMENTS"
            for i, line in enumerate(without_code.split("\n"), 1) for found in FIGURE.finditer(line)]


def differences(document, first, is_now, should_be):
    """Complaints about each line of a section that differs from the generated text; `first` is the number of the section's first
    line."""
    is_now, should_be = is_now.split("\n"), should_be.split("\n")
    for tag, begin, end, other, other_end in difflib.SequenceMatcher(None, is_now, should_be, autojunk=False).get_opcodes():
        if tag != "equal":
            is_text, should_text = "\n".join(is_now[begin:end]), "\n".join(should_be[other:other_end])
            yield f"{document}, line {first + begin}: not what the records say\n  is:     {is_text}\n  should: {should_text}"


def renew(document, template, begin, end, is_check):
    """Replace the document's section, or return complaints about it."""
    path = os.path.join(ROOT, document)
    with open(path) as file:
        before, rest = file.read().split(begin, 1)
    section, after = rest.split(end, 1)
    with open(os.path.join(RESULTS, template)) as file:
        text = file.read()
    made = "\n" + generated(text) + "\n"
    if not is_check:
        with open(path, "w") as file:
            file.write(before + begin + made + end + after)
        return []
    complaints = typed(PLACE.sub(lambda place: "\n" * place.group().count("\n"), text), template)
    complaints += typed(before + "\n" * (section.count("\n") + 2) + after, document)
    return [*complaints, *differences(document, before.count("\n") + 2, section, made)]


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    complaints = [complaint for document in DOCUMENTS for complaint in renew(*document, bool(arguments))]
    for complaint in complaints:
        print(complaint)
    if complaints:
        print("tests/bench/readme.py without --check writes the sections from the records")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
