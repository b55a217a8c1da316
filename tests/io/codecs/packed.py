"""Makes chunks with registered filters, independently of the program: bits are shuffled by numpy, compression is by the Python
packages of LZ4, Zstandard and Blosc, and LZF by h5py. HDF5 stores the chunks unchanged, so it needs no plugin."""
import itertools
import os
import struct
import sys
import zlib

os.environ["HDF5_PLUGIN_PRELOAD"] = "::"      # HDF5 must load no plugins that may be installed: they would change the values
import blosc                # noqa: E402
import h5py                 # noqa: E402
import lz4.block            # noqa: E402
import numpy as np          # noqa: E402
import zstandard            # noqa: E402

SHUFFLE, DEFLATE, LZF, BLOSC, LZ4, BITSHUFFLE, ZSTANDARD = 2, 1, 32000, 32001, 32004, 32008, 32015


def lz4_block(raw):
    return lz4.block.compress(raw, store_size=False)


def zstandard_block(raw):
    return zstandard.ZstdCompressor(level=3).compress(raw)


def transpose_bits(raw, size):
    """Transpose the bits of elements of `size` bytes; the number of elements is a multiple of eight."""
    bits = np.unpackbits(np.frombuffer(raw, "u1").reshape(-1, size), axis=1, bitorder="little")
    return np.packbits(bits.T, axis=1, bitorder="little").tobytes()


def default_block(size):
    return max(8192 // size // 8 * 8, 128)


def bitshuffle(raw, size, block, pack=None):
    """Shuffle in blocks of so many elements. With `pack`, blocks are stored as lengths and bytes, behind the sizes of data and
    block."""
    assert len(raw) % size == 0
    block = block or default_block(size)
    end = len(raw) // size // 8 * 8 * size
    out = struct.pack(">QI", len(raw), block * size) if pack else b""
    for at in range(0, end, block * size):
        bits = transpose_bits(raw[at:min(end, at + block * size)], size)
        packed = pack(bits) if pack else bits
        out += (struct.pack(">I", len(packed)) if pack else b"") + packed
    return out + raw[end:]


def lz4_blocks(raw, block):
    block = min(block or 1 << 30, len(raw))
    out = struct.pack(">QI", len(raw), block)
    for at in range(0, len(raw), block):
        part = raw[at:at + block]
        packed = lz4_block(part)
        packed = packed if len(packed) < len(part) else part
        out += struct.pack(">I", len(packed)) + packed
    return out


def shuffle(raw, size):
    end = len(raw) // size * size
    return np.frombuffer(raw[:end], "u1").reshape(-1, size).T.tobytes() + raw[end:]


def lzf(raw):
    """Compress one chunk as h5py does; None: it would not become shorter."""
    with h5py.File("lzf", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset("x", data=np.frombuffer(raw, "u1"), chunks=(len(raw),), compression="lzf")
        mask, packed = dataset.id.read_direct_chunk((0,))
    return None if mask else packed


def blosc_chunk(raw, size, name, kind):
    return blosc.compress(raw, typesize=size, cname=name, shuffle=kind)


def streamed(raw):
    """Zstandard without the length of the uncompressed data."""
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return packer.compress(raw) + packer.flush()


def filters(name, size, block=0):
    """[(number of the filter, its values, its function)] for names such as "shuffle+LZ4", for elements of so many bytes."""
    one = {
        "shuffle": (SHUFFLE, (size,), lambda raw: shuffle(raw, size)),
        "deflate": (DEFLATE, (4,), lambda raw: zlib.compress(raw, 4)),
        "bitshuffle": (BITSHUFFLE, (0, 5, size, block, 0), lambda raw: bitshuffle(raw, size, block)),
        "bitshuffle-old": (BITSHUFFLE, (0, 2, size), lambda raw: bitshuffle(raw, size, 0)),
        "bitshuffle-LZ4": (BITSHUFFLE, (0, 5, size, block, 2), lambda raw: bitshuffle(raw, size, block, lz4_block)),
        "bitshuffle-Zstandard": (BITSHUFFLE, (0, 5, size, block, 3, 3), lambda raw: bitshuffle(raw, size, block, zstandard_block)),
        "LZ4": (LZ4, (block,) if block else (), lambda raw: lz4_blocks(raw, block)),
        "Zstandard": (ZSTANDARD, (3,), zstandard_block),
        "Zstandard-streamed": (ZSTANDARD, (), streamed),
        "LZF": (LZF, (4, 261, 0), lzf),
    }
    for codec, kind in itertools.product(("blosclz", "lz4", "zlib", "zstd"), (0, 1, 2)):
        one[f"Blosc-{codec}-{kind}"] = (BLOSC, (2, 2, size, 0, 5, kind), lambda raw, c=codec, k=kind: blosc_chunk(raw, size, c, k))
    return [one[part] for part in name.split("+")]


def pack(raw, steps):
    """Apply filters to a chunk. @return the chunk, and the mask of filters left out"""
    mask = 0
    for number, (_, _, function) in enumerate(steps):
        packed = function(raw)
        mask |= (packed is None) << number
        raw = raw if packed is None else packed
    return raw, mask


def write(file, name, data, chunks, steps, left_out=()):
    """Write a dataset chunk by chunk; chunks at the edges are filled up with zeros. Chunks with numbers in left_out skip the last
    filter."""
    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    create.set_chunk(chunks)
    for number, values, _ in steps:
        create.set_filter(number, h5py.h5z.FLAG_OPTIONAL, values)
    space = h5py.h5s.create_simple(data.shape)
    stored = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(data.dtype, logical=True), space, create)
    for number, at in enumerate(itertools.product(*(range(0, n, step) for n, step in zip(data.shape, chunks)))):
        whole = np.zeros(chunks, data.dtype)
        part = data[tuple(slice(i, i + step) for i, step in zip(at, chunks))]
        whole[tuple(slice(0, n) for n in part.shape)] = part
        skips = number in left_out
        raw, mask = pack(whole.tobytes(), steps[:-1] if skips else steps)
        stored.write_direct_chunk(at, raw, mask | (skips << (len(steps) - 1)))
