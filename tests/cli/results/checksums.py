"""--checksum: the sums in a result are those of its bytes. They are the same for any number of ranks, memory and way of writing,
and for a run that was interrupted and resumed. `lapwing verify` finds the block in which one byte has changed.

    checksums.py LAPWING MPIEXEC [FOLDER with real data]

python3-xxhash computes the sums again from the elements that h5py reads, by the attributes that define a block."""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import as_arguments, check, finish, lapwing, needed_memory, noise, random      # noqa: E402

import h5py             # noqa: E402
import numpy as np      # noqa: E402
import xxhash           # noqa: E402

work = tempfile.mkdtemp()
os.chdir(work)
if not any(line.split() == ["checksums", "xxHash"] for line in lapwing(1, "info").stdout.splitlines()):
    sys.exit("lapwing is built without xxHash")


def make(job, ranks, output, code=0, **options):
    options = {"input": "in.h5:/x", "output": output, "overwrite": True, "checksum": True, **options}
    return lapwing(ranks, job, *as_arguments(options), code=code)


def datasets(file):
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and item.attrs.get("CLASS") != b"DIMENSION_SCALE":
            found[name] = item
    file.visititems(visit)
    return found


def contents(path):
    """The bytes of all datasets, and the checksums of tables."""
    with h5py.File(path) as file:
        return {name: (item[()].tobytes(), bytes(item.attrs.get("checksum", b""))) for name, item in datasets(file).items()}


def block(sums, index, array):
    """The elements of a block as the attributes of its sums define it: channel after channel, along the axis."""
    about, labels = sums.attrs, [dim.label for dim in sums.dims]
    unit, channels, rate, every = (int(about[name]) for name in ("block_outputs", "block_channels", "elements_per_output",
                                                                 "outputs_per_element"))
    axis = labels.index("block")
    where = list(index)
    where[axis] = slice(-(-index[axis] * unit // every) * rate, -(-(index[axis] + 1) * unit // every) * rate)
    if "channel_block" not in labels:
        return array[tuple(where)].tobytes()
    at, parts = labels.index("channel_block"), []
    for channel in range(index[at] * channels, min((index[at] + 1) * channels, array.shape[at])):
        where[at] = channel
        parts.append(array[tuple(where)].tobytes())
    return b"".join(parts)


def check_sums(what, path):
    """@return number of sums"""
    n = 0
    with h5py.File(path) as file:
        for name, item in datasets(file).items():
            if name.startswith("checksums/"):
                array, sums = file[item.attrs["checksum_of"]][()], item[()]
                check(sums.dtype == np.uint64 and item.attrs["algorithm"] == "XXH3, 64 bits", f"{what}: {name}: {sums.dtype}")
                n += sums.size
                wrong = [i for i in np.ndindex(*sums.shape)
                         if xxhash.xxh3_64_intdigest(block(item, i, array)) != int(sums[i])]
                check(not wrong, f"{what}: {name}: {len(wrong)} of {sums.size} are wrong, such as {wrong[:1]}")
            elif "checksum" in item.attrs:
                n += 1
                sum_of = xxhash.xxh3_64_hexdigest(item[()].tobytes())
                check(sum_of == item.attrs["checksum"].decode(), f"{what}: {name}")
    return n


def flip(path, name, at):
    with h5py.File(path) as file:
        offset = file[name].id.get_offset() + at
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def check_flips(what, path, n):
    """One bit of each dataset with sums is flipped anywhere: verify names the dataset and the block."""
    right = lapwing(1, "verify", path, "--sample", 0)
    rows = [line.split() for line in right.stdout.splitlines()[1:]]
    counted = sum(int(row[1]) for row in rows)
    check(rows and counted == n and all(row[2] == "0" for row in rows), f"{what}: {n} sums: {right.stdout}")
    for name in (row[0] for row in rows):
        with h5py.File(path) as file:
            item, sums = file[name], file.get("checksums" + name)
            at = int(random.integers(item.size * item.dtype.itemsize))
            place = np.unravel_index(at // item.dtype.itemsize, item.shape)
            labels = [dim.label for dim in sums.dims] if sums is not None else []
            about = dict(sums.attrs) if sums is not None else {}
        flip(path, name, at)
        said = lapwing(1, "verify", path, "--sample", 0, code=65).stderr
        flip(path, name, at)
        check(f"checksums of {name} differ" in said and " 1 of " in said, f"{what}: {name}: {said}")
        if labels:
            first, last = (int(number) for number in said.split("index ")[1].split(";")[0].split(".."))
            check(first <= place[labels.index("block")] <= last, f"{what}: {name}: byte {at}, {place}: {said}")
        if "channel_block" in labels:
            wanted = int(place[labels.index("channel_block")]) // int(about["block_channels"]) * int(about["block_channels"])
            check(f"channel {wanted}," in said or f"channel {wanted}.." in said, f"{what}: {name}: byte {at}, {place}: {said}")


def check_runs(what, job, **options):
    make(job, 1, "r.h5", **options)
    n = check_sums(what, "r.h5")
    check(n > 0, f"{what}: there are no sums")
    one = contents("r.h5")
    least = needed_memory(make(job, 2, "few.h5", code=78, **{**options, "memory": "1M"}).stderr)
    for ranks, others in ((2, {"memory": least}), (3, {"io": "collective"})):
        make(job, ranks, "s.h5", **{**options, **others})
        check(contents("s.h5") == one, f"{what}: {ranks} ranks {others} give other bytes")
    check_flips(what, "r.h5", n)
    without = {name: data for name, data in one.items() if not name.startswith("checksums/")}
    lapwing(1, job, *as_arguments({"input": "in.h5:/x", "output": "s.h5", "overwrite": True, **options}))
    found = contents("s.h5")
    check({k: v[0] for k, v in found.items()} == {k: v[0] for k, v in without.items()}, f"{what}: the data differ with --checksum")


def write(**arrays):
    with h5py.File("in.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array


def series():
    taps = random.standard_normal((2, 33))
    write(x=noise((3, 30000), "int16"), h=taps)
    check_runs("time fast", "ols", filters="in.h5:/h", axis=1)
    check_runs("interpolated", "ols", filters="in.h5:/h", axis=1, interpolate=3, output_type="float16")
    check_runs("searched", "ols", filters="in.h5:/h", axis=1, products="filtered,peaks,best,blocks", threshold=3.5, cluster=20,
               blocks="100:max,rms", decimate=7)
    write(x=noise((9000, 37), "float32"), h=taps)
    check_runs("time slow", "ols", filters="in.h5:/h", axis=0, decimate=2)
    write(x=noise((20000, 2), "complex128"), h=taps[0, :3])
    check_runs("direct, complex", "ols", filters="in.h5:/h", axis=0, precision="double")


def images():
    write(x=noise((2, 300, 200), "float32"), k=np.ones((5, 5)))
    check_runs("images", "conv2d", kernel="in.h5:/k", products="convolved,peaks", threshold=3, cluster=3)
    said = make("conv2d", 1, "r.fits", kernel="in.h5:/k", code=2).stderr
    check("HDF5 results only" in said, f"FITS: {said}")


def spectra():
    lapwing(1, "synth", "sfft", "--output", "in.h5", "--samples", 2**15, "--channels", 3, "--tones", 5, "--overwrite")
    options = {"input": "in.h5:/signal", "sparsity": 5}
    make("sfft", 1, "r.h5", **options)
    make("sfft", 2, "s.h5", **options)
    check(check_sums("lines", "r.h5") == 2, "lines: there are not two tables with a checksum each")
    check(contents("r.h5") == contents("s.h5"), "lines: 2 ranks give other bytes")
    check_flips("lines", "r.h5", 2)


def gone_on():
    """A run that is interrupted after its first round, and the same command again."""
    write(x=noise((4, 200000), "float32"), h=random.standard_normal((4, 129)))
    options = {"filters": "in.h5:/h", "axis": 1}
    make("ols", 1, "r.h5", **options)
    least = needed_memory(make("ols", 2, "gone-on.h5", code=78, **{**options, "memory": "1M"}).stderr)
    arguments = as_arguments({"input": "in.h5:/x", "output": "gone-on.h5", "checksum": True, "memory": least, **options})
    lapwing(1, "ols", *arguments, "--time-limit", "0.001", code=75)
    lapwing(2, "ols", *arguments)
    check(contents("gone-on.h5") == contents("r.h5"), "a resumed run gives other bytes")


for part in (series, images, spectra, gone_on):
    part()
shutil.rmtree(work)
finish()
