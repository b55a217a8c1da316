"""Seeds for the fuzz targets: small files of each kind, as valid as possible, in a folder for each target.

    seeds.py FOLDER [FOLDER with real data]"""

import os
import struct
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = sys.argv[1]
DATA = sys.argv[2] if len(sys.argv) > 2 else None
MOST_BYTES = 1 << 16


def seed(target, name, content):
    os.makedirs(f"{FOLDER}/{target}", exist_ok=True)
    with open(f"{FOLDER}/{target}/{name}", "wb") as file:
        file.write(content)


def real(target, name, path=b""):
    """The beginning of a real file, if it exists."""
    if DATA and os.path.exists(f"{DATA}/{name}"):
        with open(f"{DATA}/{name}", "rb") as file:
            seed(target, f"real-{name}", path + b"\n" + file.read(MOST_BYTES - 300))


# ---- texts ------------------------------------------------------------------------------------------------------------------

def texts():
    kinds = ["-3", "2^20", "1.5M", "2.5e3", "1.5GiB", "512M", "0.1s", "20 ms", "3d", "1.2 MHz", "5mHz", "10s", "1:200:3", ":5",
             "full", "treshold", "1e-300"]
    instants = ["2015-09-14T09:50:45.39", "2015-09-14 09:50:45Z", "2015-09-14", "20150914T095045", 
                "1969-12-31T23:59:59.999999999999999999", "2016-12-31T23:59:60+02:00", "1980-01-06T00:00:00-00:30"]
    words = ["a.h5:/data b.h5:/x", "a\\ b.h5:/x\\\\y", "~/x ${HOME}/y ${NONE:-z}", "\\${A} \\# \\;", "@~/list.txt"]
    for kind, several in ((0, kinds), (1, instants), (3, words)):
        for i, text in enumerate(several):
            seed("texts", f"{kind}-{i}", bytes([kind]) + text.encode())
    for i, numbers in enumerate([struct.pack("<d", 58543.25), struct.pack("<d", 0.000256), struct.pack("<d", 1126259462.4),
                                 struct.pack("<qq", 1, 4096), struct.pack("<qq", 3 << 60, 5 << 59)]):
        seed("texts", f"2-{i}", b"\2" + numbers)


def job_files():
    folder = os.path.join(HERE, "../../jobs")
    for path in (folder, f"{folder}/examples"):
        for name in sorted(os.listdir(path)):
            if name.endswith(".ini"):
                with open(f"{path}/{name}", "rb") as file:
                    seed("jobfile", name, file.read())
    seed("jobfile", "odd", b"\xef\xbb\xbf[ols] ; c\n  input = ${HOME}/a \\\n  b.h5 ; c\nsegment=2^14\n[x\n")
    seed("list", "list", b"\1# names\na.h5:/data\n\n  b\\ c.h5 \n{a,b}.h5:/x\r\n")
    seed("list", "line", b"\0a.h5:/data b\\ c.h5:/x /dev/null:/y")


# ---- files beside results
# -------------------------------------------------------------------------------------------------------

def fnv(content):
    total = 0xcbf29ce484222325
    for byte in content:
        total = ((total ^ byte) * 0x100000001b3) % (1 << 64)
    return total


def left():
    """Journals, undo files, and answers of squeue."""
    lines = b"""version = 0.1.0 3af1073b496f
job = ols
processor or GPU = cpu x86-64 AVX-512, fftw-3.3.10-sse2-avx
algorithm = overlap-save, N = 1024, hop 960, real segments as half as many complex points
input = in.h5:/signal\\x0a, 3203088 bytes, modified 1795420584.961455712
--filters = in.h5:/taps
--bandpass = 
--threshold = 3.5
time = 2026-11-23T07:59:01Z
runs = 1
done = 20000 of 60000
left = %s
rows = 1316
flaws = 4 1000 900001 0 0 0 0
"""
    for i, stripes in enumerate((b"9980 0 2,0 2 4", b"0 0 6", b"10 0 2,20 2 2,30 4 2", b"0 0 7", b"-10 0 2")):
        seed("journal", f"lines-{i}", lines % stripes)
    whole = b"lapwing journal 1\n" + lines % b"9980 0 2,0 2 4"
    seed("journal", "whole", whole + b"checksum = %016x\n" % fnv(whole))
    for i, (length, ranges) in enumerate(((4096, [(0, 40), (100, 300), (4000, 4096)]), (2000, [(0, 2000)]), (6000, []), (4096, [(9, 8)]))):
        kept = bytes(range(1, 251)) * 10
        head = struct.pack("<16sqq", b"lapwing undo 1\n", length, len(ranges)) + b"".join(struct.pack("<qq", *pair) for pair in ranges)
        content = head.ljust(1056, b"\0") + kept[:sum(max(0, end - begin) for begin, end in ranges)]
        seed("undo", str(i), b"\0" + content + struct.pack("<Q", fnv(content)))
        seed("undo", f"summed-{i}", b"\1" + content + bytes(8))
    for i, text in enumerate(("1-02:03:04\n", "3:04\n", "59", "UNLIMITED\n", "INVALID", "NOT_SET", "nan", "1e308-1e308:0")):
        seed("grant", str(i), text.encode())


# ---- radio telescopes -------------------------------------------------------------------------------------------------------

def sigproc():
    def text(words):
        return struct.pack("<i", len(words)) + words.encode()

    def header(**values):
        kinds = {int: lambda v: struct.pack("<i", v), float: lambda v: struct.pack("<d", v), str: text}
        return text("HEADER_START") + b"".join(text(n) + kinds[type(v)](v) for n, v in values.items()) + text("HEADER_END")

    for bits, ifs in ((1, 1), (2, 1), (4, 2), (8, 4), (16, 2), (32, 1)):
        made = header(source_name="J0534+2200", telescope_id=4, machine_id=6, data_type=1, src_raj=53431.9,
                      src_dej=220052.0, nbits=bits, nifs=ifs, nchans=8, fch1=1500.0, foff=-0.5, tstart=58543.25, tsamp=0.000256, barycentric=0,
                      nbeams=1)
        for path in (b"", b"/I", b"/IF1"):
            seed("sigproc", f"{bits}-{len(path)}", path + b"\n" + made + bytes(range(256))[:8 * ifs * bits])
    series = header(nbits=32, nifs=1, nchans=1, tsamp=0.001, tstart=58000.0, refdm=10.0, nsamples=16, period=0.5,
                    rawdatafile="x.fil")
    seed("sigproc", "series", b"\n" + series + bytes(64))


def card(keyword, value):
    if isinstance(value, bool):
        value = "T" if value else "F"
    text = f"'{value:8}'" if isinstance(value, str) and value not in "TF" else f"{value:>20}"
    return f"{keyword:8}= {text}".ljust(80).encode()


def header(**cards):
    made = b"".join(card(k.replace("__", "-"), v) for k, v in cards.items()) + b"END".ljust(80)
    return made + b" " * (-len(made) % 2880)


def block(data):
    return data + bytes(-len(data) % 2880)


def psrfits():
    primary = header(SIMPLE=True, BITPIX=8, NAXIS=0, EXTEND=True, FITSTYPE="PSRFITS", TELESCOP="Parkes", OBSFREQ=1400.25, OBS_MODE="SEARCH",
                     STT_IMJD=58543, STT_SMJD=21600, STT_OFFS=0.75)
    for bits, pols, kind in ((1, 1, "AA+BB"), (4, 1, "AA+BB"), (8, 4, "AABBCRCI"), (16, 2, "AABB"), (32, 1, "INTEN")):
        channels, per_row, rows = 8, 4, 2
        data = bits * pols * channels * per_row // 8
        row = 8 + 12 * channels + 8 * channels * pols + data
        columns = [("OFFS_SUB", "1D"), ("DAT_FREQ", f"{channels}D"), ("DAT_WTS", f"{channels}E"), ("DAT_OFFS", f"{channels * pols}E"),
                   ("DAT_SCL", f"{channels * pols}E"), ("DATA", {8: f"{data}B", 16: f"{data // 2}I", 32: f"{data // 4}E"}[max(8, bits)])]
        named = {f"T{what}{i + 1}": column[k] for i, column in enumerate(columns) for k, what in enumerate(("TYPE", "FORM"))}
        table = header(XTENSION="BINTABLE", BITPIX=8, NAXIS=2, NAXIS1=row, NAXIS2=rows, PCOUNT=0, GCOUNT=1, TFIELDS=6, EXTNAME="SUBINT",
                       **named, NBITS=bits, NPOL=pols, NCHAN=channels, NSBLK=per_row, TBIN=0.0005, CHAN_BW=-0.5, POL_TYPE=kind,
                       ZERO_OFF=0.5, SIGNINT=0, NSUBOFFS="*")
        body = b""
        for r in range(rows):
            body += struct.pack(">d", 0.001 + 0.002 * r) + struct.pack(f">{channels}d", *(1500 - 0.5 * c for c in range(channels)))
            body += struct.pack(f">{channels}f", *[1] * channels) + struct.pack(f">{channels * pols}f", *[0] * channels * pols)
            body += struct.pack(f">{channels * pols}f", *[1] * channels * pols) + bytes(i * 7 % 256 for i in range(data))
        for path in (b"", b"/AA+BB"):
            seed("psrfits", f"{bits}-{len(path)}", path + b"\n" + primary + table + block(body))


# ---- images and arrays ----------------------------------------------------------------------------------------------------

def fits():
    wcs = dict(CTYPE1="FREQ", CRVAL1=1.4e9, CDELT1=1e6, CRPIX1=1.0, CTYPE2="TIME", CDELT2=0.5)
    empty = header(SIMPLE=True, BITPIX=8, NAXIS=0, EXTEND=True)
    for bits in (8, 16, 32, 64, -32, -64):
        image = header(SIMPLE=True, BITPIX=bits, NAXIS=2, NAXIS1=8, NAXIS2=6, BSCALE=0.25, BZERO=-3.0, BLANK=-1, OBJECT="It''s &",
                       BUNIT="Jy/beam", DATE__OBS="2015-09-14T09:50:45", EXTEND=True, **wcs)
        seed("fits", f"image{bits}", b"\n" + image + block(bytes(range(48)) * (abs(bits) // 8)))
    extension = header(XTENSION="IMAGE", BITPIX=-32, NAXIS=3, NAXIS1=5, NAXIS2=7, NAXIS3=3, PCOUNT=0, GCOUNT=1, EXTNAME="SCI", EXTVER=2,
                       INHERIT=True)
    seed("fits", "extension", b"/SCI,2\n" + empty + extension + block(bytes(420)))
    packer = zlib.compressobj(wbits=31)
    seed("fits", "gzip", b"\n" + packer.compress(image + block(bytes(range(48)) * 8)) + packer.flush())
    for name, values in (("RICE_1", dict(ZNAME1="BYTEPIX", ZVAL1=2, ZNAME2="BLOCKSIZE", ZVAL2=16)), ("GZIP_1", {}), ("GZIP_2", {}),
                         ("NOCOMPRESS", {}), ("PLIO_1", {}), ("HCOMPRESS_1", {})):
        for quantized in (False, True):
            tile = bytes((i * 37 | 0x88) % 256 for i in range(120))
            if name.startswith("GZIP"):
                packer = zlib.compressobj(wbits=31)
                tile = packer.compress(bytes(i % 7 for i in range(60))) + packer.flush()
            if name == "PLIO_1":        # zeros, two runs, a value of more than 12 bits, a single value
                tile = struct.pack(">13H", 0, 7, 0xff9c, 13, 0, 0, 0, 0x0005, 0x2010, 0x4007, 0x1001, 0x0002, 0x6003)
            if name == "HCOMPRESS_1":   # planes of four quadrants, stored directly
                tile = struct.pack(">HiiiqBBB", 0xdd99, 3, 10, 0, 777, 2, 1, 1) + bytes([0x01, 0x23, 0x45, 0x60, 0x78, 0x90, 0x01, 0x11, 0x02]) + bytes(40)
            said = dict(values, ZQUANTIZ="SUBTRACTIVE_DITHER_1", ZDITHER0=3) if quantized else values
            table = header(XTENSION="BINTABLE", BITPIX=8, NAXIS=2, NAXIS1=24, NAXIS2=2, PCOUNT=2 * len(tile), GCOUNT=1, TFIELDS=3,
                           TTYPE1="COMPRESSED_DATA", TFORM1="1PB(400)", TTYPE2="ZSCALE", TFORM2="1D", TTYPE3="ZZERO", TFORM3="1D",
                           ZIMAGE=True, ZBITPIX=-32 if quantized else 16, ZNAXIS=2, ZNAXIS1=10, ZNAXIS2=5, ZTILE1=10, ZTILE2=3,
                           ZCMPTYPE=name, **said)
            rows = b"".join(struct.pack(">iidd", len(tile), i * len(tile), 0.5, 1.0) for i in range(2))
            seed("fits", f"{name}-{quantized}", b"\n" + empty + table + block(rows + tile + tile))


def npy():
    for version, descr, order, shape in ((1, ">u4", True, "(3, 4, 2)"), (1, "<f8", False, "(24,)"), (2, "|i1", False, "(4, 6)"),
                                         (3, "<c8", False, "(2, 12)"), (1, "<f2", False, "(24, 1)"), (1, "<i8", False, "(24,)")):
        text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
        size = struct.pack("<H" if version == 1 else "<I", 118)
        seed("npy", f"{version}{descr[1:]}", b"\n\x93NUMPY" + bytes([version, 0]) + size + text.ljust(117).encode() + b"\n" + bytes(192))


def raw():
    for i, said in enumerate(["int16be,4,time-slow,512", "float32", "complex-float64le,2,time-fast", "float16,3", "uint64,,,8"]):
        seed("raw", str(i), f"{said}\n2015-09-14T09:50:45\n4kHz\n2.5\n".encode() + bytes(range(256)) * 3)


# ---- seismology -------------------------------------------------------------------------------------------------------------

def segy():
    for code, size, revision, order in ((1, 4, 0, ">"), (2, 4, 1, ">"), (3, 2, 1, ">"), (5, 4, 1, ">"), (5, 4, 2, "<"), (6, 8, 2, "<"),
                                        (8, 1, 1, ">")):
        samples, traces, text = 20, 3, bytearray(b"\x40" * 3200)
        text[:10] = b"\xc3\x40\xf1\x40\xc1\x40\xd3\xc9\xd5\xc5"
        binary = bytearray(400)

        def put(into, at, value, kind="h"):
            struct.pack_into(order + kind, into, at, value)

        for at, value in ((16, 500), (20, samples), (24, code), (54, 1)):
            put(binary, at, value)
        binary[300] = revision
        put(binary, 302, 1 if revision else 0)
        if revision == 2:
            put(binary, 96, 0x01020304, "i")
        body = b""
        for t in range(traces):
            trace = bytearray(240)
            put(trace, 36, 100 + 25 * t, "i")
            for at, value in ((114, samples), (116, 500), (156, 2023), (158, 300), (160, 1), (162, 2), (164, 3)):
                put(trace, at, value)
            body += bytes(trace) + bytes(i * 3 % 100 for i in range(samples * size))
        seed("segy", f"{code}-{revision}", b"\n" + bytes(text) + bytes(binary) + body)
    real("segy", "small.sgy")


def mseed():
    def record(name, encoding, number, order=">", samples=20):
        made = bytearray(256)
        made[0:8] = f"{number:06}D ".encode()
        made[8:20] = name
        struct.pack_into(order + "HHBBBBHHhhBBBBiHH", made, 20, 2024, 60, 12, 0, 0, 0, number * samples * 100 % 10000, samples, 100, 1, 0,
                         0, 0, 2, 0, 64, 48)
        struct.pack_into(order + "HHBBBB", made, 48, 1000, 56, encoding, order == ">", 8, 0)
        struct.pack_into(order + "HHBBBB", made, 56, 1001, 0, 0, 0, 0, 0)
        if encoding >= 10:
            nibbles = sum((3 if encoding == 10 else 2) << (30 - 2 * w) for w in range(3, 16))
            words = [nibbles, 0, 0] + [0 if encoding == 10 else 1 << 30] * 13
            struct.pack_into(order + "16I", made, 64, *words)
            struct.pack_into(order + "H", made, 30, 13)
        return bytes(made)

    for encoding in (0, 1, 3, 4, 5, 10, 11):
        for order in "><":
            seed("mseed", f"{encoding}{'bl'[order == '<']}", b"\n" + b"".join(record(b"ABC    HHZXY", encoding, n, order) for n in range(3)))
    two = record(b"ABC    HHZXY", 3, 0) + record(b"DEF    HHZXY", 3, 0)
    seed("mseed", "two", b"\n" + two)
    seed("mseed", "named", b"/XY.ABC..HHZ\n" + two)
    real("mseed", "etna.mseed")


# ---- filters of HDF5 ------------------------------------------------------------------------------------------------------

def codecs():
    plain = bytes(i % 8 for i in range(64))
    lz4 = b"\x8f" + plain[:8] + b"\x08\x00" + bytes([32]) + b"\x50" + plain[-5:]
    zstd = b"\x28\xb5\x2f\xfd\x20\x40" + (64 << 3 | 1).to_bytes(3, "little") + plain
    lzf = b"\x1f" + plain[:32] + b"\x1f" + plain[32:]
    blosc = struct.pack("<BBBBIII", 2, 1, 0x02, 4, 64, 64, 80) + plain
    inner = struct.pack("<i", len(lz4)) + lz4
    blosc_lz4 = struct.pack("<BBBBIIII", 2, 1, 0x31, 4, 64, 64, 20 + len(inner), 20) + inner
    whole = dict(deflate=zlib.compress(plain), lz4=lz4, zstd=zstd, lzf=lzf, blosc=blosc)
    for codec, (name, data) in enumerate(whole.items()):
        seed("codecs", name, bytes([0, 3 + 6 * codec, 3, 0, 3]) + data)
        seed("codecs", f"shuffle-{name}", bytes([1, 1, 3, 0, 3 + 6 * codec, 3, 0, 3]) + data)
    seed("codecs", "blosc-lz4", bytes([0, 3 + 24, 3, 0, 3]) + blosc_lz4)
    for stored in (lz4, plain):
        blocks = struct.pack(">QII", 64, 64, len(stored)) + stored
        seed("codecs", f"blocks-{len(stored)}", bytes([0, 4 + 6, 3, 63, 3]) + blocks)
        seed("codecs", f"bitshuffle-lz4-{len(stored)}", bytes([0, 5 + 6, 3, 1, 3]) + blocks)
    seed("codecs", "bitshuffle-zstd", bytes([0, 5, 3, 1, 3]) + struct.pack(">QII", 64, 64, len(zstd)) + zstd)
    seed("codecs", "bitshuffle", bytes([0, 2, 3, 1, 3]) + plain)
    seed("codecs", "fletcher", bytes([0, 0, 0, 0, 3]) + bytes(64) + bytes(4))


# ---- HDF5 -----------------------------------------------------------------------------------------------------------------

def hdf5():
    os.makedirs(f"{FOLDER}/hdf5", exist_ok=True)
    sys.argv[1:3] = ["", ""]            # arguments of the tests whose functions make these files
    for folder in ("cli", "cli/formats"):
        sys.path.insert(0, os.path.join(HERE, "..", folder))
    try:
        import h5py
    except ImportError:
        return
    from layouts import MADE
    for name, (make, _) in MADE.items():
        path = f"{FOLDER}/made.h5"
        with h5py.File(path, "w", libver="earliest") as file:
            make(file)
        with open(path, "rb") as file:
            content = file.read()
        os.remove(path)
        if len(content) < MOST_BYTES - 300:
            seed("hdf5", name, b"\n" + content)


for make in (texts, job_files, left, sigproc, psrfits, fits, npy, raw, segy, mseed, codecs, hdf5):
    make()
