#!/usr/bin/env python3
"""Compressed chunks of other writers, read by lapwing: by HDF5 with lapwing's decoders and by a pool's threads; also damaged
chunks.

test_packed.py IO_TOOL IO_COMPARE CODECS_DAMAGE [CODEC ...] the codecs of the build: LZ4 ZSTD LZF BLOSC"""
import itertools
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from h5py_tests import check, finish, h5py, np  # noqa: E402
import packed  # noqa: E402

tool, compare, damage = sys.argv[1:4]
built_in = sys.argv[4:]
random = np.random.default_rng(11)
folder = tempfile.TemporaryDirectory()

NEEDED = {"LZ4": "LZ4", "Zstandard": "ZSTD", "LZF": "LZF", "Blosc": "BLOSC"}
KINDS = ["bitshuffle", "bitshuffle-old", "bitshuffle-LZ4", "bitshuffle-Zstandard", "LZ4", "Zstandard", "Zstandard-streamed", "LZF",
         "shuffle+LZ4", "shuffle+Zstandard", "shuffle+LZF", "bitshuffle+deflate", "shuffle+LZ4+deflate"]
BLOSC = [f"Blosc-{codec}-{kind}" for codec, kind in itertools.product(("blosclz", "lz4", "zlib", "zstd"), (0, 1, 2))]
TYPES = ["u1", "<i2", ">i2", "<f4", ">f8", "<c8", "<c16"]
SHAPES = {      # shapes, and chunks that are not full at the edges
    "one": ((1,), (1,)), "seven": ((7,), (7,)), "vector": ((5003,), (512,)), "odd": ((3000,), (777,)), "wide": ((7, 901), (3, 400)),
    "tall": ((3001, 7), (401, 3)), "images": ((5, 33, 21), (2, 10, 8)),
}
BLOCKS = [8, 24, 128, 1000, 65536]


def is_built_in(kind):
    return all(codec in built_in for name, codec in NEEDED.items() if name in kind)


def run(*arguments, code=0):
    done = subprocess.run([*map(str, arguments)], capture_output=True, text=True, timeout=200)
    check(done.returncode == code, f"{arguments[:4]}: code {done.returncode}: {done.stderr}")
    return done


def samples(shape, dtype):
    """Samples that compress a little, and samples that do not or very well: noise, or one value."""
    n = int(np.prod(shape))
    steps = np.cumsum(random.integers(-3, 4, n))
    kind = random.integers(0, 8)
    if kind == 0:
        steps = np.full(n, 5)
    if kind == 1:
        steps = random.integers(-2**31, 2**31, n)
    return (steps + (1j * steps[::-1] if "c" in dtype else 0)).reshape(shape).astype(dtype)


# ---- undamaged chunks -----------------------------------------------------------------------------------------------------
def make(path):
    """{name: samples} of datasets with every filter; types, shapes and sizes of blocks vary."""
    made = {}
    blocks, shapes, types = itertools.cycle([0, *BLOCKS]), itertools.cycle(SHAPES.items()), itertools.cycle(TYPES)
    plan = [(kind, dtype, next(shapes), next(blocks)) for kind in KINDS for dtype in TYPES]
    plan += [(kind, next(types), shape, next(blocks)) for kind in KINDS[2:9] + BLOSC for shape in SHAPES.items()]
    plan += [(kind, dtype, next(shapes), block) for kind in KINDS[2:5] for dtype in TYPES[1::2] for block in BLOCKS]
    with h5py.File(path, "w") as file:
        for kind, dtype, (shape, (dims, chunks)), block in plan:
            block = max(8, block // np.dtype(dtype).itemsize // 8 * 8) if block == BLOCKS[-1] else block
            name = f"{kind}_{dtype}_{shape}_{block}"
            if is_built_in(kind) and name not in made:
                made[name] = samples(dims, dtype)
                packed.write(file, name, made[name], chunks, packed.filters(kind, np.dtype(dtype).itemsize, block))
    return made


def read(path, data):
    """All of a dataset, by HDF5."""
    out = os.path.join(folder.name, "samples")
    channels = 1 if data.ndim == 1 else data.shape[0] if data.ndim == 3 else data.shape[1]
    run(tool, "read", path, 1 if data.ndim == 3 else 0, 0, channels, 1, out)
    with open(out, "rb") as file:
        return file.read()


def whole():
    path = os.path.join(folder.name, "whole.h5")
    made = make(path)
    names = list(made)
    check(len(names) > 100 or len(built_in) < 4, f"{len(names)} datasets")
    for name in names[::11]:
        if made[name].ndim < 3:
            check(read(f"{path}:/{name}", made[name]) == made[name].tobytes(), f"{name}: read by HDF5")
    said = run(compare, 1, 3, *[f"{path}:/{name}" for name in names]).stdout
    for name in names:
        check(f"{path}:/{name} threads same\n" in said, f"{name}: threads do not read what HDF5 does")


def left_out():
    """Chunks to which a filter was not applied."""
    path = os.path.join(folder.name, "left-out.h5")
    data = samples((4000, 3), "<i2")
    kinds = [kind for kind in KINDS if is_built_in(kind)]
    with h5py.File(path, "w") as file:
        for kind in kinds:
            packed.write(file, kind, data, (500, 3), packed.filters(kind, 2), left_out=(1, 4, 7))
    said = run(compare, 5, 3, *[f"{path}:/{kind}" for kind in kinds]).stdout
    for kind in kinds:
        check(read(f"{path}:/{kind}", data) == data.tobytes(), f"{kind}: left out for some chunks")
        check(f"{path}:/{kind} threads same\n" in said, f"{kind}: left out for some chunks, by threads")


def other_blocks():
    """Blocks of another size than the dataset's attributes give: the size in the chunk counts, also if it exceeds one decoding
    step."""
    if "LZ4" not in built_in:
        return
    path = os.path.join(folder.name, "blocks.h5")
    data = samples((150_000,), "<f4")
    with h5py.File(path, "w") as file:
        for block in (8, 4096, 16384, 40_000, 200_000):
            number, values, _ = packed.filters("bitshuffle-LZ4", 4, 0)[0]
            steps = [(number, values, lambda raw, block=block: packed.bitshuffle(raw, 4, block, packed.lz4_block))]
            packed.write(file, f"{block}", data, (120_000,), steps)
    for block in (8, 4096, 16384, 40_000, 200_000):
        check(read(f"{path}:/{block}", data) == data.tobytes(), f"blocks of {block} elements")
        check("threads same" in run(compare, 1, 2, f"{path}:/{block}").stdout, f"blocks of {block} elements, by threads")


# ---- damaged ------------------------------------------------------------------------------------------------------------
def damaged():
    path = os.path.join(folder.name, "damaged.h5")
    kinds = [kind for kind in [*KINDS, *BLOSC] if is_built_in(kind)]
    data = samples((700,), "<i2") + (np.arange(700) % 5).astype("<i2")
    with h5py.File(path, "w") as file:
        for kind, block in itertools.product(kinds, (0, 40)):
            packed.write(file, f"{kind}_{block}", data, (347,), packed.filters(kind, 2, block))
        if "LZ4" in built_in:
            packed.write(file, "long", samples((30_000,), "<f4") // 64, (30_000,), packed.filters("bitshuffle-LZ4", 4, 24_000))
    with h5py.File(path) as file:
        names = list(file)
    rows = [line.split("|") for line in run(damage, *[f"{path}:/{name}" for name in names]).stdout.splitlines()]
    check([row[0] for row in rows] == ["/" + name for name in names], "there is not one line for each dataset")
    for name, whole_one, n_cut, n_changed in rows:
        check(whole_one == "good", f"{name} decodes")
        check(n_cut == "0", f"{name}: {n_cut} cut chunks decode")
        checks_sums = "deflate" in name
        check(n_changed == "0" or not checks_sums, f"{name}: {n_changed} changed chunks decode")


def messages():
    """A run on damaged chunks, and filters with invalid values."""
    path = os.path.join(folder.name, "messages.h5")
    data = samples((400,), "<i2")
    nonsense = {"few": (0, 5), "empty": (0, 5, 0, 0, 2), "uneven": (0, 5, 2, 12, 2), "unknown": (0, 5, 2, 0, 9)}
    with h5py.File(path, "w") as file:
        for name, values in nonsense.items():
            packed.write(file, name, data, (400,), [(packed.BITSHUFFLE, values, lambda raw: raw)])
        if "LZ4" in built_in:
            packed.write(file, "LZ4", data, (400,), [(packed.LZ4, (), lambda raw: packed.lz4_blocks(raw, 0)[:-1])])
            packed.write(file, "nothing", data, (400,), [(packed.LZ4, (), lambda raw: bytes(11) + b"\1" + raw)])
        for name, number in ("zfp", 32013), ("blosc2", 32026), ("bzip2", 307):
            packed.write(file, name, data, (400,), [(number, (), lambda raw: raw)])
        packed.write(file, "vbz", data, (400,), [(32020, (), lambda raw: raw)])
        packed.write(file, "nobody", data, (400,), [(40000, (), lambda raw: raw)])
    for name in nonsense:
        said = run(tool, "show", f"{path}:/{name}", code=65).stderr
        check("filter 32008 (bitshuffle) has settings that make no sense" in said, said)
    for name, text in ("zfp", "ZFP (filter 32013)"), ("blosc2", "Blosc2 (filter 32026)"), ("bzip2", "bzip2 (filter 307)"):
        said = run(tool, "show", f"{path}:/{name}", code=65).stderr
        check(text in said and "pip install hdf5plugin" in said and "HDF5_PLUGIN_PATH=$(" in said and "h5repack" not in said, said)
    for name, text in ("vbz", "VBZ (filter 32020)"), ("nobody", "an unnamed filter (filter 40000)"):
        said = run(tool, "show", f"{path}:/{name}", code=65).stderr
        check(text in said and "HDF5_PLUGIN_PATH" in said and "pip install" not in said, said)
    if "LZ4" in built_in:
        out = os.path.join(folder.name, "samples")
        for name, text in ("LZ4", "a compressed block reaches beyond its chunk"), ("nothing", "compressed from nothing"):
            said = run(tool, "read", f"{path}:/{name}", 0, 0, 1, 1, out, code=65).stderr
            check("cannot read samples 0..399" in said and text in said, said)


def lacking():
    """A missing library of the build is named in the message, with the way to get it."""
    path = os.path.join(folder.name, "lacking.h5")
    kinds = [kind for kind in KINDS[:8] + BLOSC[:1] if not is_built_in(kind)]
    with h5py.File(path, "w") as file:
        for kind in kinds:
            packed.write(file, kind, samples((400,), "<i2"), (400,), packed.filters(kind, 2))
    for kind in kinds:
        said = run(tool, "show", f"{path}:/{kind}", code=65).stderr
        check("this lapwing was built without: install lib" in said, said)


def listed():
    path = os.path.join(folder.name, "whole.h5")
    shown = {line.split("|")[0].split("_<i2_")[0]: line.split("|")[3] for line in run(tool, "list", path).stdout.splitlines()
             if "_<i2_" in line}
    for kind in filter(is_built_in, KINDS):
        text = kind.replace("-old", "").replace("-streamed", "").replace("-", "+").replace("+", " + ")
        check(shown.get("/" + kind, "").endswith("], " + text), f"{kind} is listed as {shown.get('/' + kind)}")


for part in (whole, listed, left_out, other_blocks, damaged, messages, lacking):
    part()
finish("packed")
