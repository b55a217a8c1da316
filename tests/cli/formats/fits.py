"""FITS files for tests, made and read byte by byte."""

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
    """x: of one of FITS' types, big endian; None: no data."""
    first = [("XTENSION", "IMAGE")] if extension else [("SIMPLE", True)]
    bitpix = 8 if x is None else BITPIX[x.dtype.str[1:]]
    last = [("PCOUNT", 0), ("GCOUNT", 1)] if extension else []
    cards = first + [("BITPIX", bitpix)] + axes("NAXIS", () if x is None else x.shape) + last + list(keywords.items())
    assert x is None or x.dtype.itemsize == 1 or x.dtype.str[0] == ">"
    return header(cards) + (b"" if x is None else block(np.ascontiguousarray(x).tobytes()))


def rice(x, block=32):
    """Integers in Rice's code: blocks of equal pixels, of noise too wide for it, and others (FITS Standard 4.0, section 10.4.1)."""
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


def shuffled(x):
    return np.ascontiguousarray(x).view("u1").reshape(-1, x.dtype.itemsize).T.tobytes()


CODES = {"GZIP_1": lambda x: gzip.compress(x.tobytes()), "GZIP_2": lambda x: gzip.compress(shuffled(x)), "RICE_1": rice,
         "NOCOMPRESS": lambda x: x.tobytes()}


def tiled_unit(x, tile, rows=None, code="GZIP_1", scales=None, **keywords):
    """Compressed by tiles (FITS Standard 4.0, section 10); floats without loss, or integers with (ZSCALE, ZZERO) of each tile."""
    starts = itertools.product(*(range(0, n, t) for n, t in zip(x.shape, tile)))
    packed = [CODES[code](np.ascontiguousarray(x[tuple(slice(a, a + t) for a, t in zip(at, tile))])) for at in starts]
    places = np.cumsum([0] + [len(p) for p in packed])
    table = [np.array([len(p), at], ">i4").tobytes() for p, at in zip(packed, places)]
    if scales:
        table = [row + np.array(scale, ">f8").tobytes() for row, scale in zip(table, scales)]
    bitpix = -32 if scales else BITPIX[x.dtype.str[1:]]
    cards = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", len(table[0])), ("NAXIS2", rows or len(packed)),
             ("PCOUNT", int(places[-1])), ("GCOUNT", 1), ("TFIELDS", 3 if scales else 1), ("TTYPE1", "COMPRESSED_DATA"),
             ("TFORM1", f"1PB({max(map(len, packed))})"), ("ZIMAGE", True), ("ZBITPIX", bitpix)]
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
    """[(cards {keyword: value}, data, [lines of HISTORY])]: arrays of images, of tables with columns of 8 bytes structured ones."""
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
