"""`lapwing verify`: right results of every job and product pass. A copy with one wrong value is refused with 65 and the place;
incomplete results and results of another input are refused, too.

    verify.py LAPWING MPIEXEC [FOLDER with real data]

The inputs are so small that --sample covers every value of a result several times: a changed value is found. It is found at its
place, since nothing else is wrong."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import LAPWING, as_arguments, check, finish, lapwing, noise, random      # noqa: E402

import h5py             # noqa: E402
import numpy as np      # noqa: E402

work = tempfile.mkdtemp()
os.chdir(work)


def verify(*options, code=0, sample=20000):
    return lapwing(1, "verify", "r.h5", "--sample", sample, *options, code=code)


def make(job, ranks=1, output="r.h5", **options):
    lapwing(ranks, job, *as_arguments({"input": "in.h5:/x", "output": output, "overwrite": True, **options}))


def table(done):
    """{dataset: (checked, wrong)}"""
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    return {row[0]: (int(row[1]), int(row[2])) for row in rows}


def check_right(what, *options, products=("/filtered",), **others):
    found = table(verify(*options, **others))
    for product in products:
        check(product in found and found[product][0] > 0 and found[product][1] == 0, f"{what}: {product} of {found}")


def broken(path, place, change):
    """Change one element of a dataset in place."""
    with h5py.File("r.h5", "r+") as file:
        value = file[path][place]
        file[path][place] = change(value)


def check_wrong(what, path, place, change, where, **options):
    """One value is wrong. If it is an output, it is the only one: all others are right."""
    shutil.copy("r.h5", "kept.h5")
    broken(path, place, change)
    done = verify(code=65, **options)
    check(path.rsplit("/", 1)[0] in done.stderr and where in done.stderr, f"{what}: the message lacks '{where}': {done.stderr}")
    n_wrong = sum(wrong for _, wrong in table(done).values())
    check(n_wrong == 1 if path in ("/filtered", "/convolved") else n_wrong > 0, f"{what}: {done.stdout}")
    shutil.move("kept.h5", "r.h5")


def with_column(name, change):
    def changed(value):
        value[name] = change(value[name])
        return value
    return changed


def write(**arrays):
    with h5py.File("in.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array


# ---- series ----------------------------------------------------------------------------------------------------------

def series():
    taps = {False: random.standard_normal((2, 21)), True: random.standard_normal((2, 21)) + 1j * random.standard_normal((2, 21))}
    choices = [
        ("int16", 1, False, {}), ("float32", 0, False, {"mode": "full", "boundary": "zero"}),
        ("complex64", 1, True, {"boundary": "wrap"}), ("float32", 1, True, {"post": "amplitude", "boundary": "edge"}),
        ("float64", 1, False, {"precision": "double", "mode": "valid"}),
        ("float32", 1, False, {"post": "power", "boundary": "reflect"}), ("float32", 0, False, {"post": "derivative"}),
        ("uint8", 1, False, {"interpolate": 3, "post": "derivative"}), ("float32", 1, False, {"decimate": 4}),
        ("float32", 1, False, {"output_type": "int16", "output_scale": 0.001}), ("complex64", 0, False, {"output_type": "float16"}),
        ("float32", 1, False, {"decimate": 3, "post": "derivative", "correlate": True}),
    ]
    for number, (dtype, axis, is_complex, options) in enumerate(choices):
        x = noise((3, 400), dtype)
        if dtype == "float32":
            x[1, 200] = np.nan
        write(x=x if axis == 1 else x.T, h=taps[is_complex])
        make("ols", filters="in.h5:/h", axis=axis, segment=64, **options)
        place = [1, 2, 2]
        place[1 if axis == 0 else 2], place[2 if axis == 0 else 1] = 5, 2
        bump = {"/f2": lambda v: (np.float16(v["re"] + 1), v["im"]), "/i2": lambda v: v + 2}
        kind = "/f2" if options.get("output_type") == "float16" else "/i2" if options.get("output_type") == "int16" else ""
        check_wrong(f"series {number} {options}", "/filtered", tuple(place), bump.get(kind, lambda v: v * 1.001 + 0.001),
                    "filter 1, channel 2, index 5")
    check_wrong("a number that should be none", "/filtered", (0, 1, 66), lambda v: 0, "filter 0, channel 1, index 66")


def ends():
    """Outputs next to both ends, of filters longer than the signal, are checked for any --sample."""
    write(x=noise(50, "float32"), h=random.standard_normal(120))
    make("ols", filters="in.h5:/h", boundary="wrap")
    check_wrong("first", "/filtered", 0, lambda v: v + 1, "index 0", sample=2)
    check_wrong("last", "/filtered", 49, lambda v: v + 1, "index 49", sample=2)


def pieces():
    """An axis of several pieces, which begin anywhere between two outputs of the series."""
    write(x=noise((2, 5000), "complex64"), h=random.standard_normal(9))
    make("ols", filters="in.h5:/h", axis=1, interpolate=4, boundary="reflect")
    check_right("pieces")
    make("ols", filters="in.h5:/h", axis=1, interpolate=4, post="derivative")
    check_right("pieces of a derivative")


# ---- searches --------------------------------------------------------------------------------------------------------

def searches():
    x = noise((2, 400), "float32")
    x[0, 250] = np.nan
    mask = np.zeros(400, "uint8")
    mask[150:160] = 1
    write(x=x, h=random.standard_normal((3, 17)), mask=mask)
    options = {"products": "filtered,peaks,best,blocks", "threshold": 2, "cluster": 9, "blocks": "50:max,mean,rms", "segment": 64,
               "axis": 1, "nan": "zero", "mask": "in.h5:/mask", "masked_fraction": 0.1}
    make("ols", filters="in.h5:/h", **options)
    everything = ("/filtered", "/peaks", "/best", "/blocks/max", "/blocks/mean", "/blocks/rms")
    check_right("searches", products=everything)
    with h5py.File("r.h5") as file:
        row = len(file["peaks"]) // 2
        peak, best = file["peaks"][row], file["best/filter"][1, 77]
    where = f"filter {peak['filter']}, channel {peak['channel']}, index {peak['index']}"
    check_wrong("value of a peak", "/peaks", row, with_column("re", lambda v: v * 1.01), where)
    check_wrong("SNR of a peak", "/peaks", row, with_column("snr", lambda v: v * 1.01), where)
    check_wrong("size of a cluster", "/peaks", row, with_column("cluster_size", lambda v: v + 1), where)
    check_wrong("place of a peak", "/peaks", row, with_column("index", lambda v: v + 1), f"index {peak['index'] + 1}")
    check_wrong("best filter", "/best/filter", (1, 77), lambda v: (best + 1) % 3, "channel 1, index 77")
    check_wrong("best value", "/best/value", (1, 77), lambda v: v * 1.01, "channel 1, index 77")
    check_wrong("blocks", "/blocks/rms", (2, 1, 7), lambda v: v * 1.01, "filter 2, channel 1, index 7")
    options.update(cluster_filters=True, nan="propagate", noise="energy", products="peaks,best")
    make("ols", ranks=2, filters="in.h5:/h", **{k: v for k, v in options.items() if k not in ("blocks", "mask", "masked_fraction")})
    check_right("searches in all filters", products=("/peaks", "/best"))


def configuration(change):
    with h5py.File("r.h5", "r+") as file:
        file.attrs["configuration"] = change(file.attrs["configuration"])


def signs():
    """Each sign passes, and a result of another sign does not. Results of versions without the option have both signs."""
    x = noise((2, 400), "float32")
    write(x=x, h=random.standard_normal((3, 17)), one=np.ones(5), image=noise((60, 50), "float32"), k=np.ones((3, 3)))
    series = {"filters": "in.h5:/h", "axis": 1, "products": "peaks,best", "threshold": 1.5, "cluster": 9, "segment": 64}
    image = {"input": "in.h5:/image", "kernel": "in.h5:/k", "products": "peaks", "threshold": 1.5, "cluster": 2}
    for job, options, products in (("ols", series, ("/peaks", "/best")), ("conv2d", image, ("/peaks",))):
        for sign in ("positive", "negative", "both"):
            make(job, sign=sign, **options)
            check_right(f"{job}, {sign}", products=products)
            with h5py.File("r.h5") as file:
                re = file["peaks"]["re"]
            has = ((re > 0).any(), (re < 0).any())
            check(has == (sign != "negative", sign != "positive"), f"{job}, {sign}: the rows are positive, negative: {has}")
        configuration(lambda text: text.replace("sign = both\n", ""))
        check_right(f"{job}, of an earlier version", products=products)
        check("sign = both" in lapwing(1, "info", "--job", "r.h5").stdout, f"{job}: the job file of an earlier result")
        make(job, sign="both", **{**options, "cluster": 0})         # without neighbours only the rows themselves are wrong
        configuration(lambda text: text.replace("sign = both", "sign = positive"))
        done = verify(code=65)
        check("is no peak by --sign positive" in done.stderr, f"{job}, of another sign: {done.stderr}")
        make(job, **options)
        with h5py.File("r.h5") as file:
            said, kept = file["peaks"].attrs["sign"], file.attrs["configuration"]
        wanted = "both" if job == "ols" else "positive"
        check(said == wanted and f"sign = {wanted}\n" in kept, f"{job}: the default is {said}, and in the configuration: {kept}")
        check_right(f"{job}, by default", products=products)
    make("ols", output="power.h5", filters="in.h5:/one", axis=1, post="power")
    make("ols", **{**series, "input": "power.h5:/filtered"})
    with h5py.File("r.h5") as file:
        check(file["peaks"].attrs["sign"] == file["best/value"].attrs["sign"] == "positive",
              "the default sign for an input of powers is not positive")
    make("ols", filters="in.h5:/h", axis=1, products="best")
    with h5py.File("r.h5") as file:
        kept = file.attrs["configuration"]
    configuration(lambda text: text.replace("sign = both", "sign = negative"))
    check("sign = both\n" in kept and "/best" in verify(code=65).stderr, "a best filter of another sign is not found")


# ---- filters that the job makes --------------------------------------------------------------------------------------

def earlier_versions():
    """Earlier versions had no --overlap, --isolated and --sign, and had --noise rms. They took samples that two files share from
    the first file."""
    write(h=random.standard_normal((2, 17)))
    for part, start in enumerate((0, 8)):
        with h5py.File(f"part{part}.h5", "w") as file:
            file["x"] = noise(1000, "float32")
            file["x"].attrs.update({"sample_rate": 100.0, "start_time": start, "start_unit": "s since 2023-01-01T00:00:00"})
    make("ols", input="part?.h5", filters="in.h5:/h", overlap="first", isolated=True, start=300, count=1000, products="filtered,peaks",
         threshold=2.5, noise="rms")
    added = ["isolated = yes", "noise = rms", "overlap = first", "sign = both"]
    configuration(lambda text: "".join(line for line in text.splitlines(True) if line.strip() not in added))
    check_right("files that overlap, of an earlier version", products=("/filtered", "/peaks"))
    for options in ((), ("--job",)):
        said = lapwing(1, "info", *options, "r.h5").stdout.splitlines()
        check(sorted(said[-4:]) == added, f"info {options} of a result of an earlier version: {said}")
    write(x=noise(4000, "float32"), h=random.standard_normal((2, 17)))
    make("ols", filters="in.h5:/h", products="peaks", threshold=2.5, noise="energy", cluster=40, cluster_filters=True, max_peaks=9000)
    own = {"cluster = 40,filters\n": "cluster = 40\ncluster-filters = yes\n", "threshold = 2.5,max-peaks=9000\n": "threshold = 2.5\nmax-peaks = 9000\n",
           "gaps = split\n": "gaps = nan\n", "io = auto\n": "io = auto\nio-threads = 3\ncores = given\noutput-format = HDF5\n"}
    with h5py.File("r.h5") as file:
        check(all(line in file.attrs["configuration"] for line in own), f"the configuration: {file.attrs['configuration']}")
    for line, before in own.items():
        configuration(lambda text, line=line, before=before: text.replace(line, before))
    check_right("options of an earlier version", products=("/peaks",))


def made_filters():
    lapwing(1, "synth", "ols", "--output", "in.h5", "--overwrite", "--samples", "20000", "--channels", "1", "--sample-rate", "500")
    lapwing(1, "ols", "--input", "in.h5:/signal", "--bandpass", "20:50", "--transition", "20", "--output", "r.h5", "--overwrite")
    check_right("band-pass", products=("/filtered", "/filters"))
    lapwing(1, "ols", "--input", "in.h5:/signal", "--filters", "in.h5:/filters", "--whiten", "1s", "--output", "r.h5",
            "--overwrite", "--products", "peaks", "--threshold", "4", "--cluster", "20")
    check_right("whitened", products=("/peaks", "/filters"), sample=200)
    check_wrong("taps", "/filters", (0, 1200), lambda v: v * 1.01 + 1e-3, "tap 1200", sample=10000)


# ---- images ----------------------------------------------------------------------------------------------------------

def images():
    kernel = random.standard_normal((5, 7))
    for dtype, options in (("float32", {}), ("uint16", {"mode": "full", "boundary": "constant=3"}), ("float32", {"decimate": 3}),
                           ("float32", {"nan": "interpolate", "boundary": "reflect", "output_type": "int16"}),
                           ("float64", {"precision": "double", "boundary": "wrap", "origin": "0,6"})):
        x = noise((2, 40, 30), dtype)
        if dtype == "float32":
            x[1, 20, 20] = np.nan
        write(x=x, k=np.abs(kernel) if "nan" in options else kernel)
        make("conv2d", kernel="in.h5:/k", **options)
        check_wrong(f"image {options}", "/convolved", (1, 3, 4), lambda v: v * 1.01 + 1, "image 1, row 3, column 4")
    write(x=noise((60, 50), "float32"), k=np.ones((3, 3)))
    make("conv2d", kernel="in.h5:/k")
    check_wrong("a number that became none", "/convolved", (7, 8), lambda v: np.nan, "row 7, column 8")
    make("conv2d", kernel="in.h5:/k", products="peaks", threshold=2, cluster=2, start=13, count=30, boundary="reflect", mode="full", ranks=3)
    check_right("sources of a part", products=("/peaks",))
    make("conv2d", kernel="in.h5:/k", products="convolved,peaks", threshold=2, cluster=2)
    check_right("sources", products=("/convolved", "/peaks"))
    with h5py.File("r.h5") as file:
        row = int(np.argmax(file["peaks"]["flags"] == 0))
        where = "row {row}, column {column}".format(**{name: file["peaks"][row][name] for name in ("row", "column")})
    for name in ("x", "y", "flux", "flux_error", "peak", "flags"):
        check_wrong(f"measured {name}", "/peaks", row, with_column(name, lambda v: v + 1), f"{where}: {name} ")
    make("conv2d", kernel="in.h5:/k", output="r.fits")
    done = lapwing(1, "verify", "r.fits", "--sample", "3000")
    check(table(done)["/convolved"][0] >= 3000 and table(done)["/convolved"][1] == 0, f"FITS: {done.stdout}")
    with open("r.fits", "r+b") as file:
        data = bytearray(file.read())
        with h5py.File("r.h5") as result:
            at = bytes(data).find(result["convolved"][()].astype(">f4").tobytes())
        check(at > 0, "FITS: the samples are not where they are looked for")
        data[at + 4 * (50 * 7 + 8)] ^= 0x40
        file.seek(0)
        file.write(data)
    done = lapwing(1, "verify", "r.fits", "--sample", "30000", code=65)
    check("row 7, column 8" in done.stderr, f"FITS: {done.stderr}")


# ---- sparse spectra --------------------------------------------------------------------------------------------------

def wide_kernels():
    """A kernel much wider than the image meets its columns many times over, also in transforms."""
    for boundary, algorithm in (("wrap", "tiles"), ("edge", "full")):
        write(x=np.random.default_rng(5).standard_normal((3, 1)), h=np.abs(np.random.default_rng(6).standard_normal((1, 700))))
        make("conv2d", kernel="in.h5:/h", algorithm=algorithm, mode="full", boundary=boundary, precision="double")
        check_wrong(f"a wide kernel, {boundary}", "/convolved", (2, 300), lambda x: x * (1 + 1e-12), "row 2, column 300")


def spectra():
    for options, methods in (({"samples": 2**16, "tones": 10}, ({}, {"algorithm": "dense"})),
                             ({"samples": 2**14, "tones": 5, "type": "float32"}, ({}, {"precision": "double"}))):
        lapwing(1, "synth", "sfft", "--output", "in.h5", "--overwrite", *as_arguments(options))
        for more in methods:
            make("sfft", **{"input": "in.h5:/signal", "sparsity": 10, **more})
            check_right(f"lines {options} {more}", products=("/spectrum",))
    with h5py.File("r.h5") as file:
        line = file["spectrum"][1]

    def larger(value):
        value["re"] += 0.01 * value["magnitude"]
        return value
    check_wrong("a line", "/spectrum", 1, larger, f"channel {line['channel']}, index {line['index']}")


# ---- power of a sample ------------------------------------------------------------------------------------------------

def samples():
    """No value is taken twice: a sample of all values finds one wrong value once. A smaller sample reports what it can find."""
    write(x=noise((5, 101), "float32"), h=random.standard_normal((5, 9)))
    make("ols", filters="in.h5:/h", axis=1)
    broken("/filtered", (3, 2, 77), lambda v: v + 1)
    for sample in (2525, 100000):
        done = verify(code=65, sample=sample)
        check(table(done)["/filtered"] == (2525, 1) and "all there are" in done.stdout, f"--sample {sample}: {done.stdout}")
        check(": 1 of the checked values" in done.stderr and "filter 3, channel 2, index 77" in done.stderr, f"{done.stderr}")
    found = []
    for seed in range(6):
        done = subprocess.run([LAPWING, "verify", "r.h5", "--seed", str(seed)], capture_output=True, text=True)
        checked, wrong = table(done)["/filtered"]
        check(990 <= checked <= 1000 and wrong == (done.returncode != 0), f"seed {seed}: {done.stdout}")
        check("of 2525: 95% sure to find 6 or more wrong ones" in done.stdout, f"what the sample can find: {done.stdout}")
        found.append(wrong)
    check(0 < sum(found) < 6, f"found by {found} of six samples")
    if "checksum" in lapwing(1, "help", "ols").stdout:
        make("ols", filters="in.h5:/h", axis=1, checksum=True)
        broken("/filtered", (3, 2, 77), lambda v: v + 1)
        done = lapwing(1, "verify", "r.h5", code=65)
        check("filter 3, channel 2" in done.stderr, f"by checksums: {done.stderr}")


def several():
    """Results, patterns and lists: all are checked, whatever is found; the exit code is that of the worst."""
    write(x=noise(300, "float32"), h=random.standard_normal(9))
    for name in ("d 1.h5", "d2.h5", "d3.h5"):
        make("ols", filters="in.h5:/h", output=name)
    done = lapwing(2, "verify", "d*.h5", "--sample", "50")
    check([line.split()[0] for line in done.stdout.splitlines()] ==
          [word for name in ("d", "d2.h5", "d3.h5") for word in (name, "dataset", "/filtered")], f"three: {done.stdout}")
    with h5py.File("d2.h5", "r+") as file:
        file["filtered"][150] += 1
    with open("list.txt", "w") as file:
        file.write("d2.h5\nd3.h5\n")
    done = lapwing(1, "verify", "nowhere.h5", "d 1.h5", "@list.txt", "--sample", 1000, code=65)
    check("2 of 4 results are wrong or could not be checked" in done.stderr and "nowhere.h5" in done.stderr and
          "'d2.h5' is not what" in done.stderr and done.stdout.count("/filtered") == 3, f"four: {done.stdout} {done.stderr}")
    check("result is missing" in lapwing(1, "verify", "--sample", 3, code=2).stderr, "verify without a name is not refused")
    check("no file matches" in lapwing(1, "verify", "no*.h5", code=74).stderr, "a pattern without files is not refused")


# ---- files that are no results, or results of another input ----------------------------------------------------------

def others():
    write(x=noise(1000, "float32"), h=random.standard_normal(9))
    make("ols", filters="in.h5:/h")
    os.mkdir("elsewhere")
    shutil.copy("in.h5", "elsewhere/in.h5")
    done = verify()
    check(verify("--seed", "1").stdout == done.stdout, "the same seed checks other values")
    check(table(lapwing(2, "verify", "r.h5"))["/filtered"][1] == 0, "two ranks find errors in a right result")
    os.rename("in.h5", "moved.h5")
    check("--input" in verify(code=74).stderr, "a missing input: the message lacks the remedy")
    check_right("moved", "--input", "moved.h5:/x", "--filters", "moved.h5:/h")
    write(x=noise(1001, "float32"), h=random.standard_normal(9))
    check("bytes, and had" in verify(code=65).stderr, "an input of another size is not found")
    write(x=noise(1000, "float32"), h=random.standard_normal(9))
    check("not what its input" in verify(code=65).stderr, "an input with other samples is not found")
    check("no result" in lapwing(1, "verify", "moved.h5", code=65).stderr, "a file that is no result is not refused")
    check("result is missing" in lapwing(1, "verify", code=2).stderr, "verify without a name is not refused")
    lapwing(1, "verify", "nowhere.h5", code=74)
    os.rename("r.h5", "r.h5.lapwing-part")
    for name in ("r.h5", "r.h5.lapwing-part"):
        check("run the same command again" in lapwing(1, "verify", name, code=65).stderr, f"incomplete: {name}")


for part in (series, ends, pieces, searches, signs, earlier_versions, made_filters, images, wide_kernels, spectra, samples, several, others):
    part()
shutil.rmtree(work)
finish()
