"""Bar charts of percentages: a row for each case, with a bar for each series. Plain SVG, no packages needed."""
from xml.sax.saxutils import escape

LEFT, WIDTH, ROW, BARS = 370, 560, 22, 18


def bars(rows, series):
    step = BARS // len(series)
    for i, (title, parts) in enumerate(rows):
        top = 40 + i * ROW
        yield f'<text x="{LEFT - 8}" y="{top + 13}" text-anchor="end">{escape(title)}</text>'
        for j, (part, (_, colour)) in enumerate(zip(parts, series)):
            if part is not None:
                yield f'<rect x="{LEFT}" y="{top + step * j}" width="{part * WIDTH:.1f}" height="{step - 1}" fill="{colour}"/>'


def grid(height, series):
    for percent in range(0, 101, 20):
        x = LEFT + percent / 100 * WIDTH
        yield f'<line x1="{x}" y1="32" x2="{x}" y2="{height - 8}" stroke="#ccc"/>'
        yield f'<text x="{x}" y="28" text-anchor="middle">{percent}%</text>'
    for i, (name, colour) in enumerate(series):
        yield f'<text x="{LEFT + 160 * i}" y="13" fill="{colour}">{name}</text>'


def write(path, rows, series):
    """Write a chart. @param rows (title, fractions of 1, one for each series; None: no bar)
    @param series (name, colour)"""
    height = 48 + ROW * len(rows)
    with open(path, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{height}" '
                   'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>\n')
        file.write("\n".join([*grid(height, series), *bars(rows, series)]) + "\n</svg>\n")
