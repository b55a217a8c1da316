#!/usr/bin/env python3
"""A pool's threads read the same as HDF5 from files made by h5py, whole and damaged.

test_compare.py IO_COMPARE [short] short: for fewer numbers of threads"""
import itertools
import os
import shutil
import subprocess
import sys
import tempfile

from h5py_tests import check, finish, h5py, np

tool = sys.argv[1]
random = np.random.default_rng(7)


def compare(names, threads, seed=1):
    """{name: (reader, "same" or another verdict)} of datasets FILE:/path"""
    done = subprocess.run([tool, str(seed), str(threads), *names], capture_output=True, text=True, timeout=150)
    check(done.returncode == 0, f"code {done.returncode}: {done.stderr}")
    rows = [line.split(" ", 2) for line in done.stdout.splitlines()]
    check([row[0] for row in rows] == names, f"a line for each: {done.stderr}")
    return {row[0]: row[1:] for row in rows}


def expect(file, paths, who, threads, seed=1):
    for name, said in compare([f"{file}:{path}" for path in paths], threads, seed).items():
        check(said == [who, "same"], f"{name}, {threads} threads: {said}, not {who}")


# ---- datasets ---------------------------------------------------------------------------------------------------------
SHAPES = {      # shapes, and chunks that are not full at the edges
    "vector": ((5003,), (512,)),
    "wide": ((7, 3001), (3, 400)),
    "tall": ((3001, 7), (400, 3)),
    "flat": ((40, 60), (40, 60)),
    "images": ((5, 33, 21), (2, 10, 8)),
}
TYPES = ["<i2", ">i2", "u1", "i1", "<f4", ">f8", "<i4", "<c8", ">c16"]
FILTERS = [dict(compression="gzip", compression_opts=level, shuffle=shuffle, fletcher32=sum)
           for level, shuffle, sum in itertools.product((1, 4, 9), (False, True), (False, True))]
FILTERS += [dict(shuffle=True), dict(fletcher32=True), dict(shuffle=True, fletcher32=True)]


def samples(shape, dtype):
    steps = np.cumsum(random.integers(-3, 4, np.prod(shape)))
    return (steps + (1j * steps[::-1] if "c" in dtype else 0)).reshape(shape).astype(dtype)


def make_shapes(path):
    filters = itertools.cycle(FILTERS)
    with h5py.File(path, "w") as file:
        data = np.full((5000, 9), 0xff, "u1")           # odd lengths; sums of zeros, and of ones' complement zeros
        data[:1000], data[2000:3000] = 0, random.integers(0, 256, (1000, 9))
        file.create_dataset("filters/sums", data=data, chunks=(999, 9), fletcher32=True)
        for (shape, (dims, chunks)), dtype in itertools.product(SHAPES.items(), TYPES):
            data = samples(dims, dtype)
            file[f"plain/{shape}/{dtype}"] = data
            file.create_dataset(f"chunks/{shape}/{dtype}", data=data, chunks=chunks)
            file.create_dataset(f"packed/{shape}/{dtype}", data=data, chunks=chunks, **next(filters))
        for number, how in enumerate(FILTERS):
            file.create_dataset(f"filters/{number}", data=samples((3000, 5), "<i4"), chunks=(1501 + number, 3), **how)
        return [f"/{kind}/{shape}/{dtype}" for kind in ("plain", "chunks", "packed") for shape in SHAPES for dtype in TYPES] + \
            [f"/filters/{number}" for number in range(len(FILTERS))] + ["/filters/sums"]


def make_special(path, userblock=0, libver="earliest"):
    """Datasets with unusual storage."""
    data = samples((2000, 6), "<i2")
    with h5py.File(path, "w", userblock_size=userblock, libver=libver) as file:
        file["odd"] = np.zeros(3, "u1")         # the next dataset is not aligned
        file["plain"] = data
        file.create_dataset("packed", data=data, chunks=(300, 4), compression="gzip", shuffle=True)
        file.create_dataset("growing", data=data, chunks=(300, 4), compression="gzip", maxshape=(None, 6))
        file.create_dataset("both", data=data, chunks=(300, 4), maxshape=(None, None), shuffle=True)
        file.create_dataset("one", data=data, chunks=(2000, 6), compression="gzip")
        file.create_dataset("early", shape=(2000, 6), dtype="<i2", chunks=(300, 6))
        file["early"][300:600] = 7
        for name, how in ("holes", {}), ("holes-packed", dict(compression="gzip", fletcher32=True)):
            file.create_dataset(name, shape=(2000, 6), dtype="<i2", chunks=(100, 3), fillvalue=-77, **how)
            file[name][500:900, 2:5] = data[500:900, 2:5]
        file.create_dataset("never-packed", shape=(2000, 6), dtype=">c16", chunks=(100, 3), fillvalue=2 - 3j, compression="gzip")
        noise = file.create_dataset("noise", data=random.integers(0, 256, (1200, 8), "u1"), chunks=(300, 4), compression="gzip")
        check(noise.id.get_storage_size() > 1200 * 8, "noise did not grow when it was compressed")
        masked = file.create_dataset("masked", data=data, chunks=(500, 6), compression="gzip", shuffle=True, fletcher32=True)
        raw = np.ascontiguousarray(data[:500])
        masked.id.write_direct_chunk((0, 0), raw.tobytes(), 0b111)
        shuffled = raw.view("u1").reshape(-1, 2).T.tobytes()
        masked.id.write_direct_chunk((500, 0), shuffled, 0b110)
        names = ["/plain", "/packed", "/growing", "/both", "/one", "/early", "/holes", "/holes-packed", "/never-packed", "/noise",
                 "/masked"]
        for name in names[:5]:
            check(np.array_equal(file[name][()], data), f"{name} is written")
    return names


def make_library(path):
    """Datasets that only HDF5 can read."""
    data = samples((900, 6), "<i2")
    folder = os.path.dirname(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("never", shape=(900, 6), dtype="<i2", fillvalue=3)
        file.create_dataset("scaled", data=data, chunks=(100, 6), scaleoffset=0)
        file.create_dataset("scaled-gzip", data=data, chunks=(100, 6), scaleoffset=0, compression="gzip")
        file.create_dataset("external", data=data, external=[(os.path.join(folder, "raw"), 0, h5py.h5f.UNLIMITED)])
        file["source"] = data
        layout = h5py.VirtualLayout(shape=(900, 6), dtype="<i2")
        layout[:] = h5py.VirtualSource(path, "source", shape=(900, 6))
        file.create_virtual_dataset("virtual", layout)
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_layout(h5py.h5d.COMPACT)
        compact = h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I16LE, h5py.h5s.create_simple((900, 6)), create)
        compact.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    return ["/never", "/scaled", "/scaled-gzip", "/external", "/virtual", "/compact"]


def whole(folder):
    path = os.path.join(folder, "shapes.h5")
    names = make_shapes(path)
    for threads in (4,) if sys.argv[2:] == ["short"] else (2, 16) if os.environ.get("LW_TEST_ALL") else (16,):
        expect(path, names, "threads", threads, seed=threads)
    for userblock, libver in (0, "earliest"), (1024, "earliest"), (0, "v110"), (4096, "v110"):
        path = os.path.join(folder, f"special-{userblock}-{libver}.h5")
        expect(path, make_special(path, userblock, libver), "threads", 3)
    path = os.path.join(folder, "library.h5")
    expect(path, make_library(path), "library", 2)


# ---- damage -----------------------------------------------------------------------------------------------------------
def make_one(path, how):
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", data=samples((600, 4), "<i2"), chunks=(100, 4), **how)
        places = [dataset.id.get_chunk_info(i) for i in range(dataset.id.get_num_chunks())]
        return [(place.byte_offset, place.size) for place in places]


def judge(names):
    """The pool reads a damaged file as HDF5 does: the same bytes, or a failure. The pool alone fails if HDF5 accepts bytes that
    are too short for a chunk."""
    seen = set()
    for name, (_, said) in compare(names, 4).items():
        words = said.split()
        good = said == "same" or (words[0] == "failed" and words[1] in ("0", "65", "74") and words[2] in ("65", "74"))
        seen.add(said)
        check(good, f"damaged {name}: {said}")
    return seen


def damaged(folder):
    seen = set()
    for number, how in enumerate([dict(compression="gzip", shuffle=True, fletcher32=True), dict(compression="gzip"),
                                  dict(fletcher32=True), {}]):
        path, names = os.path.join(folder, f"one{number}.h5"), []
        places = make_one(path, how)
        with open(path, "rb") as file:
            data = file.read()
        (chunk, size), tree = places[2], data.rfind(b"TREE")       # only HDF5 reads the header
        parts = [*(tree + random.integers(0, 24 + 3 * 40, 24)), *(chunk + random.integers(0, size, 12))]
        for at in sorted({chunk, chunk + 1, chunk + size - 5, chunk + size - 1, *parts}):
            names.append(f"{folder}/damaged-{number}-{at}.h5")
            with open(names[-1], "wb") as file:
                file.write(data[:at] + bytes([data[at] ^ random.integers(1, 256)]) + data[at + 1:])
        seen |= judge([f"{name}:/x" for name in names])
    check("failed 65 65" in seen, f"damaged chunks are bad data: {seen}")


def cut(folder):
    """A file that is cut while it is open: HDF5 would read zeros."""
    path = os.path.join(folder, "cut.h5")
    places = make_one(path, dict(compression="gzip"))
    shutil.copy(path, path + ".short")
    os.truncate(path + ".short", places[-1][0] + 3)
    check(judge([path + ".short:/x"]) <= {"failed 65 65", "failed 74 74"}, "a short file is not refused alike by both")


with tempfile.TemporaryDirectory() as work:
    for part in (whole, damaged, cut):
        part(work)
finish("compare")
