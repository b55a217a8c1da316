"""Functions that make and read FITS files for tests, byte by byte."""

import gzip
import itertools

import numpy as np

BITPIX = {"u1": 8, "i2": 16, "i4": 32, "i8": 64, "f4": -32, "f8": -64}


def card(keyword, value):
    if isinstance(value, bool):
        text = f"{'T' if value else 'F':>20}"
    elif isinstance(value, str):
        text = "'" + value.replace("'", "''").ljust(8) + "'"
    else:
        text = f"{value!r:>20}".upper()
    return f"{keyword:<8}= {text}".ljust(80)[:80]


def block(content, fill=b"\0"):
    return content + fill * (-len(content) % 2880)


def header(cards):
    return block("".join([card(*one) if isinstance(one, tuple) else one.ljust(80) for one in cards] + ["END".ljust(80)]).encode(), b" ")


def axes(prefix, shape):
    return [(prefix, len(shape))] + [(f"{prefix}{a + 1}", n) for a, n in enumerate(reversed(shape))]


def image_unit(x, extension=False, **keywords):
    """Make a unit of an image x, of one of FITS' types, big endian; None: no data."""
    first = [("XTENSION", "IMAGE")] if extension else [("SIMPLE", True)]
    bitpix = 8 if x is None else BITPIX[x.dtype.str[1:]]
    last = [("PCOUNT", 0), ("GCOUNT", 1)] if extension else []
    cards = first + [("BITPIX", bitpix)] + axes("NAXIS", () if x is None else x.shape) + last + list(keywords.items())
    assert x is None or x.dtype.itemsize == 1 or x.dtype.str[0] == ">"
    return header(cards) + (b"" if x is None else block(np.ascontiguousarray(x).tobytes()))


def rice(x, block=32):
    """Pack integers in Rice's code: blocks of equal pixels, of noise too wide for the code, and others (FITS Standard 4.0,
    section 10.4.1)."""
    width = 8 * x.dtype.itemsize
    fs_bits, fs_raw = {8: (3, 6), 16: (4, 14), 32: (5, 25)}[width]
    pixels = [int(p) for p in x.ravel()]
    bits = [f"{pixels[0] % 2 ** width:0{width}b}"]
    folded = []
    for p, before in zip(pixels, pixels[:1] + pixels):
        d = (p - before + 2 ** (width - 1)) % 2 ** width - 2 ** (width - 1)
        folded.append(2 * d if d >= 0 else -2 * d - 1)
    for at in range(0, len(folded), block):
        part = folded[at:at + block]
        fs = max(0, int(np.log2(np.mean(part) / 2 + 1)))
        if not any(part):
            bits.append("0" * fs_bits)
        elif fs >= fs_raw:
            bits.append(f"{fs_raw + 1:0{fs_bits}b}" + "".join(f"{d:0{width}b}" for d in part))
        else:
            bits.append(f"{fs + 1:0{fs_bits}b}")
            bits += ["0" * (d >> fs) + "1" + (f"{d % 2 ** fs:0{fs}b}" if fs else "") for d in part]
    text = "".join(bits)
    return int(text + "0" * (-len(text) % 8), 2).to_bytes(-(-len(text) // 8), "big")


def plio(x):
    """Pack values as IRAF's line lists (section 10.4.3), big-endian words: zeros, runs, single values, values of more than 12
    bits."""
    words, value, at = [], 1, 0
    x = [int(v) for v in x.ravel()]
    while at < len(x):
        end = at
        while end < len(x) and x[end] == x[at] and end - at < 4095:
            end += 1
        if x[at] == 0:
            words.append(end - at)
        else:
            step = x[at] - value
            if abs(step) > 4095:
                words += [1 << 12 | x[at] & 4095, x[at] >> 12]
            elif step and end == at + 1:
                words.append((6 if step > 0 else 7) << 12 | abs(step))
            elif step:
                words.append((2 if step > 0 else 3) << 12 | abs(step))
            if end > at + 1 or not step or abs(step) > 4095:
                words.append((5 if end == at + 1 else 4) << 12 | end - at)
            value = x[at]
        at = end
    n = len(words) + 7
    return np.array([0, 7, -100 & 0xffff, n & 32767, n >> 15, 0, 0] + words, ">u2").tobytes()


def h_transform(x):
    """White's transform: of every four neighbours the sum, and the differences along rows, columns and both; repeated on the
    sums."""
    a = x.astype(object)
    rows, columns = a.shape
    halved, power = 0, 0
    toward = lambda h, bits: h if bits == 0 else (h + (1 << bits - 1) - (h < 0)) >> bits << bits
    for _ in range((max(a.shape) - 1).bit_length()):
        for i in range(0, rows, 2):
            for j in range(0, columns, 2):
                down, right = i + 1 < rows, j + 1 < columns
                p = [int(a[i + u, j + v]) if i + u < rows and j + v < columns else 0 for u in (0, 1) for v in (0, 1)]
                double = (1 - down) + (1 - right)           # a missing value counts like the existing one beside it
                scaled = lambda h: h << double >> halved if double >= halved else h >> halved - double
                a[i, j] = toward(scaled(sum(p)), power + 2)
                if right:
                    a[i, j + 1] = toward(scaled(p[3] - p[2] + p[1] - p[0]), power + 1)
                if down:
                    a[i + 1, j] = toward(scaled(p[3] + p[2] - p[1] - p[0]), power + 1)
                if down and right:
                    a[i + 1, j + 1] = p[3] - p[2] - p[1] + p[0] >> halved
        for axis, n in ((0, rows), (1, columns)):
            order = list(range(0, n, 2)) + list(range(1, n, 2))
            part = a[:rows, :columns]
            a[:rows, :columns] = part[order] if axis == 0 else part[:, order]
        rows, columns, halved, power = (rows + 1) // 2, (columns + 1) // 2, 1, power + 1
    return a


QUADS = {1 << b: f"{b:03b}" for b in range(4)} | {3: "1000", 5: "1001", 10: "1010", 12: "1011", 15: "1100", 6: "11010", 7: "11011", 9: "11100",
                                                  11: "11101", 13: "11110", 0: "111110", 14: "111111"}


def quads_of(bits):
    """Combine [rows x columns] of 0 and 1 into numbers of 4 bits."""
    even = np.zeros([n + n % 2 for n in bits.shape], int)
    even[:bits.shape[0], :bits.shape[1]] = bits
    return even[::2, ::2] * 8 + even[::2, 1::2] * 4 + even[1::2, ::2] * 2 + even[1::2, 1::2]


def hcompress(x):
    """Pack by the H-transform without loss; its bit planes are stored as trees and directly, in turn (section 10.4.4)."""
    a = h_transform(x)
    rows, columns = a.shape
    total, a[0, 0] = int(a[0, 0]), 0
    size = np.array([[abs(int(v)) for v in row] for row in a], object)
    up, left = (rows + 1) // 2, (columns + 1) // 2
    parts = size[:up, :left], size[:up, left:], size[up:, :left], size[up:, left:]
    bits_of = lambda *some: max([int(v).bit_length() for part in some for v in part.ravel()], default=0)
    planes = bits_of(parts[0]), bits_of(parts[1], parts[2]), bits_of(parts[3])
    text = ""
    for part, n_planes in zip(parts, (planes[0], planes[1], planes[1], planes[2])):
        for plane in reversed(range(n_planes)):
            levels = [quads_of(np.array([[int(v) >> plane & 1 for v in row] for row in part], int).reshape(part.shape))]
            if plane % 2 or not part.size:
                text += "0000" + "".join(f"{q:04b}" for q in levels[0].ravel())
                continue
            while levels[-1].size > 1:
                levels.append(quads_of(levels[-1] != 0))
            text += "1111" + QUADS[int(levels[-1].ravel()[0])]
            for level in reversed(levels[:-1]):
                text += "".join(QUADS[q] for q in level.ravel()[::-1].tolist() if q)
    text += "0000"
    text += "0" * (-len(text) % 8)
    text += "".join("1" if v < 0 else "0" for v in a.ravel() if v != 0)
    text += "0" * (-len(text) % 8)
    head = b"\xdd\x99" + np.array([rows, columns, 0], ">i4").tobytes() + np.array([total], ">i8").tobytes() + bytes(planes)
    return head + int("1" + text, 2).to_bytes(len(text) // 8 + 1, "big")[1:]


def shuffled(x):
    return np.ascontiguousarray(x).view("u1").reshape(-1, x.dtype.itemsize).T.tobytes()


CODES = {"GZIP_1": lambda x: gzip.compress(x.tobytes()), "GZIP_2": lambda x: gzip.compress(shuffled(x)), "RICE_1": rice,
         "NOCOMPRESS": lambda x: x.tobytes(), "PLIO_1": plio, "HCOMPRESS_1": hcompress}


def tiled_unit(x, tile, rows=None, code="GZIP_1", scales=None, **keywords):
    """Make a unit compressed by tiles (FITS Standard 4.0, section 10). Floats are stored without loss, or as integers with
    (ZSCALE, ZZERO) of each tile."""
    starts = itertools.product(*(range(0, n, t) for n, t in zip(x.shape, tile)))
    packed = [CODES[code](np.ascontiguousarray(x[tuple(slice(a, a + t) for a, t in zip(at, tile))])) for at in starts]
    places = np.cumsum([0] + [len(p) for p in packed])
    kind, width = ("I", 2) if code == "PLIO_1" else ("B", 1)
    table = [np.array([len(p) // width, at], ">i4").tobytes() for p, at in zip(packed, places)]
    if scales:
        table = [row + np.array(scale, ">f8").tobytes() for row, scale in zip(table, scales)]
    bitpix = -32 if scales else BITPIX[x.dtype.str[1:]]
    cards = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", len(table[0])), ("NAXIS2", rows or len(packed)),
             ("PCOUNT", int(places[-1])), ("GCOUNT", 1), ("TFIELDS", 3 if scales else 1), ("TTYPE1", "COMPRESSED_DATA"),
             ("TFORM1", f"1P{kind}({max(map(len, packed)) // width})"), ("ZIMAGE", True), ("ZBITPIX", bitpix)]
    if scales:
        cards += [("TTYPE2", "ZSCALE"), ("TFORM2", "1D"), ("TTYPE3", "ZZERO"), ("TFORM3", "1D")]
    cards += axes("ZNAXIS", x.shape) + [(f"ZTILE{a + 1}", t) for a, t in enumerate(reversed(tile))] + [("ZCMPTYPE", code)]
    cards += [("ZNAME1", "BLOCKSIZE"), ("ZVAL1", 32), ("ZNAME2", "BYTEPIX"), ("ZVAL2", x.dtype.itemsize)]
    if bitpix < 0 and not scales:
        cards += [("ZQUANTIZ", "NONE")]
    return header(cards + list(keywords.items())) + block(b"".join(table + packed))


def write_units(path, *units):
    with open(path, "wb") as file:
        file.write(b"".join(units))


def parse_value(text):
    text = text.strip()
    if text.startswith("'"):
        end = 1
        while text[end] != "'" or text[end:end + 2] == "''":
            end += 2 if text[end] == "'" else 1
        return text[1:end].replace("''", "'").rstrip()
    text = text.split("/")[0].strip()
    if text in ("T", "F"):
        return text == "T"
    try:
        return int(text)
    except ValueError:
        return float(text.replace("D", "E"))


def read_units(path):
    """[(cards {keyword: value}, data, [lines of HISTORY])]. Data are arrays: of images, or structured arrays for tables with
    columns of 8 bytes."""
    with open(path, "rb") as file:
        content = file.read()
    assert len(content) % 2880 in (0, len(content) % 2880)
    units, at = [], 0
    while at < len(content) and (content[at:at + 9] == b"SIMPLE  =" if at == 0 else content[at:at + 9] == b"XTENSION="):
        cards, history = {}, []
        while content[at:at + 8] != b"END     ":
            line = content[at:at + 80].decode("ascii")
            if line[:8] == "HISTORY ":
                history.append(line[8:].rstrip())
            elif line[:9] == "HIERARCH ":
                keyword, value = line[9:].split("=", 1)
                cards[keyword.strip()] = parse_value(value)
            elif line[8:10] == "= " and line[10:].strip():
                cards[line[:8].rstrip()] = parse_value(line[10:])
            elif line[:8] == "CONTINUE":
                last = list(cards)[-1]
                cards[last] = cards[last][:-1] + parse_value(line[10:])
            at += 80
        at += 2880 - at % 2880
        shape = [cards[f"NAXIS{a + 1}"] for a in reversed(range(cards["NAXIS"]))]
        size = int(np.prod(shape)) if shape else 0
        if cards.get("XTENSION") == "BINTABLE":
            fields = [(cards[f"TTYPE{c + 1}"], {"1K": ">i8", "1D": ">f8"}[cards[f"TFORM{c + 1}"]]) for c in range(cards["TFIELDS"])]
            data = np.frombuffer(content, fields, shape[0], at)
            units.append((cards, data, history))
            at += -(-size // 2880) * 2880
            continue
        kind = ">" + {v: k for k, v in BITPIX.items()}[cards["BITPIX"]]
        data = np.frombuffer(content, kind, size, at).reshape(shape) if size else None
        units.append((cards, data, history))
        at += -(-size * np.dtype(kind).itemsize // 2880) * 2880
    return units
