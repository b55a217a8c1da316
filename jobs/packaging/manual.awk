# manual.awk - make a manual page (roff) from sections of a Markdown document, as far as these documents use Markdown.
#
#   awk -v name=lapwing-formats -v section=5 -v title='what it is' -v first='Heading' -v last='Heading' -f manual.awk io/README.md
#
# The page has the sections from `first` up to, but without, `last`; without `last`, up to the end. A row of a table becomes an
# item: its first cell that is not empty is the term, the others are the text.

function inline(text) {
    gsub(/\\\|/, "|", text)
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    while (match(text, /\[[^]]*\]\([^)]*\)/)) {         # [text](target): text
        link = substr(text, RSTART + 1, RLENGTH - 2)
        sub(/\]\(.*/, "", link)
        text = substr(text, 1, RSTART - 1) link substr(text, RSTART + RLENGTH)
    }
    while (match(text, /`[^`]*`/))
        text = substr(text, 1, RSTART - 1) "\\fB" substr(text, RSTART + 1, RLENGTH - 2) "\\fR" substr(text, RSTART + RLENGTH)
    while (match(text, /\*\*[^*]+\*\*/))
        text = substr(text, 1, RSTART - 1) "\\fB" substr(text, RSTART + 2, RLENGTH - 4) "\\fR" substr(text, RSTART + RLENGTH)
    while (match(text, /\*[A-Za-z`\\][^*]*\*/))
        text = substr(text, 1, RSTART - 1) "\\fI" substr(text, RSTART + 1, RLENGTH - 2) "\\fR" substr(text, RSTART + RLENGTH)
    return text
}

# Print a line of text. A dot or quote at its beginning is escaped, as roff would take it for a request.
function say(text) {
    text = inline(text)
    if (text ~ /^[.']/)
        text = "\\&" text
    print text
}

function row(line,    cells, n, i, term, text) {
    gsub(/\\\|/, "\001", line)
    n = split(line, cells, / *\| */)
    for (i = 2; i < n; i++) {
        gsub(/\001/, "|", cells[i])
        if (cells[i] == "")
            continue
        if (term == "")
            term = cells[i]
        else
            text = text (text == "" ? "" : "; ") cells[i]
    }
    print ".TP"
    say(term)
    say(text == "" ? "\\&" : text)
}

# Print the paragraph or item whose lines have been joined so far.
function flush() {
    if (paragraph != "") {
        print request
        say(paragraph)
    }
    paragraph = ""
    request = ".PP"
}

BEGIN {
    request = ".PP"
    printf ".TH %s %s \"\" \"lapwing\"\n.SH NAME\n%s \\- %s\n", toupper(name), section, name, title
}
/^## / {
    inside = $0 == "## " first || (inside && (last == "" || $0 != "## " last))
}
!inside || /^!\[/ { next }
/^```/ {
    flush()
    in_code = !in_code
    print in_code ? ".PP\n.nf\n.RS 4" : ".RE\n.fi"
    next
}
in_code {
    gsub(/\\/, "\\e")
    gsub(/-/, "\\-")
    print ($0 ~ /^[.']/ ? "\\&" : "") $0
    next
}
/^##+ / {
    flush()
    sub(/^##+ /, "")
    print ".SH \"" toupper($0) "\""
    next
}
/^\|/ {
    flush()
    if (++n_rows > 2)           # not the heading of the table and the line below it
        row($0)
    next
}
/^$/ {
    flush()
    n_rows = 0
    next
}
/^- / {
    flush()
    request = ".IP \\(bu 2"
    sub(/^- /, "")
}
{
    sub(/^ +/, "")
    paragraph = paragraph (paragraph == "" ? "" : " ") $0
}
END {
    flush()
}
