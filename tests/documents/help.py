"""help.py LAPWING - the program's own words: its help, its manual pages, and the comments of its sources.

- The help of a job fits two screens of 50 lines, 80 columns wide. A manual page has at most 300 lines;
  that of filters, with the options of fourteen kinds, 560.
- No sentence of the help has more than 30 words, and all together have 17 on average.
- Neither has a word that src/README.md lists as one not to use.
- `lapwing --version`, the manual pages and README.md cite the papers of the methods.
- No comment of the sources begins with a bare preposition: what a comment is about stands first."""

import os
import re
import subprocess
import sys
import unicodedata

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JOBS = ["ols", "conv2d", "sfft", "accel"]
COMMANDS = JOBS + ["plan", "synth", "synth ols", "synth conv2d", "synth sfft", "synth accel", "filters", "filters bandpass", "filters lowpass",
                   "filters highpass", "filters boxcar", "filters gaussian", "filters ricker", "filters chirp",
                   "filters inspiral", "filters gaussian2d", "filters mexican-hat", "filters psf", "filters dispersion",
                   "filters beams", "filters cut", "run", "info", "plot", "verify", "help"]
PAGES = JOBS + ["plan", "synth", "filters", "run", "info", "plot", "verify", ""]
SCREENS, COLUMNS, PAGE, WORDS, MEAN = 104, 80, {"filters": 560}, 30, 17

# Words that src/README.md lists as not to be used, if they have no other meaning in help; and words that give a file or an option
# a voice.
SHUNNED = ["recording", "data stream", "filter sets?", "triggers?", "aborted", "cancelled", "says?", "said",
           "told"]
PREPOSITIONS = {"of", "in", "on", "at", "to", "for", "from", "by", "with", "as", "into", "over", "under", "between", "before", "after",
                "without", "within", "per", "than", "until", "about", "against", "through", "like"}

complaints = []


def ask(lapwing, *words):
    return subprocess.run([lapwing, "help", *words], check=True, capture_output=True, text=True).stdout


def sentences(text):
    """Descriptions are indented by two columns, the texts of options by 26; a blank line or a term ends a text."""
    texts, running = [], False
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        body = line[26:] if indent == 2 and (line[2:4] == "--" or "  " in line[2:26].strip() + line[24:26]) else line
        starts = body is not line or not line.strip() or indent not in (2, 26)
        if starts or not running:
            texts.append("")
        running = bool(line.strip())
        if indent in (2, 26) or body is not line:
            texts[-1] += " " + body.strip()
    for paragraph in texts:
        yield from (part for part in re.split(r"(?<=[.!?:;])\)? +", paragraph.strip()) if len(part.split()) > 2)


def check_help(lapwing):
    lengths = []
    for command in COMMANDS:
        brief, whole = ask(lapwing, *command.split()), ask(lapwing, "--all", *command.split())
        n_lines = brief.count("\n")
        if command in JOBS and n_lines > SCREENS:
            complaints.append(f"help {command}: {n_lines} lines, at most {SCREENS}")
        for line in brief.split("\n") + whole.split("\n"):
            if len(line) > COLUMNS and " " in line.strip():
                complaints.append(f"help {command}: a line of {len(line)} columns, at most {COLUMNS}: {line}")
        for word in SHUNNED:
            for found in re.findall(rf".*\b{word}\b.*", whole):
                complaints.append(f"help {command}: src/README.md has another word for this: {found.strip()}")
        for sentence in sentences(whole):
            lengths.append(len(sentence.split()))
            if lengths[-1] > WORDS:
                complaints.append(f"help {command}: a sentence of {lengths[-1]} words, at most {WORDS}: {sentence}")
    mean = sum(lengths) / len(lengths)
    if mean > MEAN:
        complaints.append(f"sentences of the help have {mean:.1f} words on average, at most {MEAN}")
    print(f"help: {len(lengths)} sentences of {mean:.1f} words, the longest of {max(lengths)}")


def check_pages(lapwing):
    lengths = []
    for page in PAGES:
        lengths.append(ask(lapwing, "--man", *page.split()).count("\n"))
        if lengths[-1] > PAGE.get(page, 300):
            complaints.append(f"manual page of {page or 'lapwing'}: {lengths[-1]} lines, at most {PAGE.get(page, 300)}")
    print(f"{len(PAGES)} manual pages, the longest of {max(lengths)} lines")


def plain(text):
    """Text without accents, line breaks and roff's backslashes, for comparison."""
    letters = unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode()
    return " ".join(letters.replace("\\", "").split())


def check_papers(lapwing):
    """Each job's own page has its paper; the other places have those of all jobs."""
    version = plain(subprocess.run([lapwing, "--version"], check=True, capture_output=True, text=True).stdout)
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = plain(file.read())
    overview = plain(ask(lapwing, "--man"))
    for job in JOBS:
        page = re.search(r'\.SH "PAPER OF THE METHOD"\s+\.PP\s+(.*)', ask(lapwing, "--man", job))
        paper = plain(page.group(1)) if page else f"a paper of {job}"
        for place, text in (("lapwing --version", version), ("lapwing(1)", overview), ("README.md", readme)):
            if paper not in text:
                complaints.append(f"{place} does not cite: {paper}")


def comments(path):
    """Line and text of each comment; // comments of lines that follow each other are one."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    token = r'/\*.*?\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    for found in re.finditer(token, text, flags=re.DOTALL):
        if found.group()[0] == "/":
            yield text.count("\n", 0, found.start()) + 1, found.group().strip("/*<! \t\n")


def check_comments():
    n = 0
    for top in ("src", "io", "gpu", "jobs", "tests"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if not name.endswith((".c", ".h", ".cu", ".cuh")):
                    continue
                path = os.path.join(folder, name)
                for line, text in comments(path):
                    n += 1
                    first = re.match(r"[A-Za-z]+", text)
                    if first and first.group().lower() in PREPOSITIONS:
                        complaints.append(f"{os.path.relpath(path, ROOT)}:{line}: a comment begins with '{first.group()}', "
                                          f"not with what it is about: {text[:80]!r}")
    print(f"{n} comments")


if __name__ == "__main__":
    check_help(sys.argv[1])
    check_pages(sys.argv[1])
    check_papers(sys.argv[1])
    check_comments()
    print("".join(complaint + "\n" for complaint in complaints), end="")
    sys.exit(1 if complaints else 0)
