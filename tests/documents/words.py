"""words.py [FOLDER] - checks the length, the sentences and the links of the documents.

- README.md has at most 200 lines.
- No sentence has more than 30 words, and all sentences together 17 on average. Tables, code and headings do not count.
- Each link leads to an existing file, and to a heading of it. A source that is named exists.

FOLDER is the folder of README.md: the sources, or the place where `cmake --install` has put the documents. There only links
between documents are checked."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENTS = ["README.md", "io/README.md", "jobs/README.md", "jobs/packaging/README.md", "slurm/README.md", "src/README.md",
             "gpu/README.md", "tests/README.md", "tests/bench/README.md"]
LINES, WORDS, MEAN = 200, 30, 17

complaints = []


def without_code(text):
    return re.sub(r"^```.*?^```$|^    \S.*?$", "", text, flags=re.MULTILINE | re.DOTALL)


def paragraphs(text):
    """Running text: paragraphs and items of lists, each on a line."""
    for block in without_code(text).split("\n\n"):
        if block.strip() and not block.lstrip().startswith(("|", "#", "![", "[1]")):
            yield from (" ".join(item.split()) for item in re.split(r"^ *[-*] ", block, flags=re.MULTILINE) if item.strip())


def sentences(text):
    """Sentences end with . ! or ? before a space; code, quotes and brackets count as one word or a few."""
    for paragraph in paragraphs(text):
        plain = re.sub(r"`[^`]*`", "CODE", paragraph)
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", plain)
        yield from (sentence for sentence in re.split(r"(?<=[.!?])\*{0,2} +", plain) if len(sentence.split()) > 1)


def anchors(text):
    """GitHub's anchors of the headings."""
    headings = re.findall(r"^#+ +(.*)$", without_code(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_links(folder, document, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if target.startswith(("http:", "https:")):
            continue
        name, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(folder, os.path.dirname(document), name)) if name else os.path.join(folder, document)
        if folder != ROOT and os.path.relpath(path, folder) not in DOCUMENTS:
            continue
        if not os.path.exists(path):
            complaints.append(f"{document}: there is no {target}")
        elif anchor and anchor not in anchors(read(path)):
            complaints.append(f"{document}: {name or 'it'} has no heading for #{anchor}")


def check_sources(document, text, sources):
    for name in re.findall(r"`([\w./-]+\.(?:c|h|cu|cuh|py|sh))`", text):
        if os.path.basename(name) != "NAME.c" and not any(f"/{source}".endswith(f"/{name}") for source in sources):
            complaints.append(f"{document}: there is no {name}")


def main(folder):
    sources = [os.path.relpath(os.path.join(place, name), ROOT) for top in ("src", "gpu", "io", "jobs", "slurm", "tests")
               for place, _, names in os.walk(os.path.join(ROOT, top)) for name in names]
    lengths = []
    for document in DOCUMENTS:
        text = read(os.path.join(folder, document))
        check_links(folder, document, text)
        check_sources(document, text, sources)
        for sentence in sentences(text):
            lengths.append(len(sentence.split()))
            if lengths[-1] > WORDS:
                complaints.append(f"{document}: a sentence of {lengths[-1]} words, at most {WORDS} can be read at once: {sentence}")
    n_lines = read(os.path.join(folder, "README.md")).count("\n")
    if n_lines > LINES:
        complaints.append(f"README.md: {n_lines} lines, at most {LINES}")
    mean = sum(lengths) / len(lengths)
    if mean > MEAN:
        complaints.append(f"sentences have {mean:.1f} words on average, at most {MEAN}")
    print("".join(complaint + "\n" for complaint in complaints), end="")
    print(f"{len(DOCUMENTS)} documents, README.md {n_lines} lines, {len(lengths)} sentences of {mean:.1f} words, the longest of {max(lengths)}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
