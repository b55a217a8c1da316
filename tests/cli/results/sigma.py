"""--noise measured is the noise in the presence of signals, masked samples and gaps, non-finite samples, and parts without a
recording. The true value is that of the simulation, or of the filtered noise alone.

    sigma.py LAPWING MPIEXEC

Bounds: 2, 4 and 7% with 200, 400 and 1000 stars on 1024 x 1024 pixels, 1% with pulses of 8 sigma in 18% of the samples, 0.3% for
noise alone (the statistical error for so many samples is 0.2%)."""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import as_arguments, check, finish, h5py, lapwing, needed_memory, np, random      # noqa: E402

folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)


def write(**arrays):
    with h5py.File("in.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array


def run(job="ols", *more, ranks=1, threshold=1000, code=0, **options):
    """Run the job. @return noise, peaks, log"""
    taps = ("--filters", "in.h5:/h") if job == "ols" else ("--kernel", "in.h5:/h")
    given = {"input": "in.h5:/x", "products": "peaks", "threshold": threshold, **options}
    words = [word for key, value in given.items() for word in (f"--{key.replace('_', '-')}", value)]
    done = lapwing(ranks, job, *words, *taps, "--output", "out.h5", "--overwrite", *more, code=code)
    if code:
        return done.stderr
    with h5py.File("out.h5") as file:
        return file["noise"][()], file["peaks"][()], done.stderr


def near(name, noise, true, within):
    off = np.abs(noise / true - 1).max()
    check(off < within, f"{name}: the noise is {noise}, not {true}: off by {off}")


# ---- signals -----------------------------------------------------------------------------------------------------------------

def stars():
    rng = np.random.default_rng(3)
    y, x = np.mgrid[-12:13, -12:13]
    star = np.exp(-(x ** 2 + y ** 2) / (2 * 1.7 ** 2))
    kernel = star[5:20, 5:20] - star[5:20, 5:20].mean()
    kernel /= np.linalg.norm(kernel)
    for number, within in ((0, 0.005), (200, 0.02), (400, 0.04), (1000, 0.07)):
        image = rng.standard_normal((1024, 1024))
        for i, j in rng.integers(20, 1004, (number, 2)):
            image[i - 12:i + 13, j - 12:j + 13] += star * 10 ** rng.uniform(0.5, 3.5)
        write(x=image.astype("f4"), h=kernel)
        noise, _, _ = run("conv2d")
        near(f"{number} stars", noise, 1, within)
    noise, _, _ = run("conv2d", noise="rms")
    check(noise > 10, f"--noise rms of 1000 stars is {noise}")


def pulses():
    t, filters = np.random.default_rng(5).standard_normal(2 ** 20), np.ones((1, 1))
    for part, height, within in ((0, 0, 0.003), (0.18, 8, 0.01), (0.05, 3, 0.03)):
        for power in (False, True):
            y = t + (1j * random.standard_normal(len(t)) if power else 0) + height * (np.arange(len(t)) % 5000 < part * 5000)
            write(x=y.astype("c8" if power else "f4"), h=filters)
            noise, _, _ = run()
            near(f"pulses of {height} in {part}", noise, np.sqrt(2) if power else 1, within)
    period, wide = 4000, 720            # all periods of a pulsar, with a filter as wide as its pulse
    write(x=(t + (np.arange(len(t)) % period < wide)).astype("f4"), h=np.full((1, wide), wide ** -0.5))
    noise, peaks, _ = run(threshold=15, cluster=period // 2)
    near("wide pulses", noise, 1, 0.1)
    check(len(peaks) == -(-len(t) // period), f"{len(peaks)} of {len(t) // period} periods")


def varies():
    """A quiet part of a signal or of an image lowers sigma by no more than the part's size."""
    level = np.where(np.arange(2 ** 19) % 2 ** 17 < 2 ** 15 * 1.2, 0.1, 1)
    write(x=(random.standard_normal(2 ** 19) * level).astype("f4"), h=np.ones((1, 1)))
    near("noise of 0.1 and 1", run()[0], 1, 0.02)
    image = random.standard_normal((700, 700))
    image[:, :280] *= 0.05
    write(x=image, h=np.ones((3, 3)) / 3)
    near("an image's noise of 0.05 and 1", run("conv2d")[0], 1, 0.1)


# ---- samples that do not count
# --------------------------------------------------------------------------------------------------

def masked():
    n, filters = 200000, np.stack([np.full(16, 0.25), np.hanning(16) / np.linalg.norm(np.hanning(16))])
    x = random.standard_normal((n, 3)).astype("f4")
    for begin, end in ((150000, 150016), (90000, 90016)):
        x[begin:end] += 3
    write(x=x, h=filters)
    clean, peaks, _ = run(axis=0, threshold=7, cluster=50)
    check(len(peaks) == 12, f"{len(peaks)} peaks without a mask")
    for part in (0.9, 0.48, 0.67):
        mask = np.arange(n) % 2000 < part * 2000
        for at in (150000, 90000):
            mask[at - 100:at + 100] = False
        bad = np.where(mask[:, None], np.nan, x).astype("f4")
        for name, samples, more in (("mask", x, {"mask": "in.h5:/mask"}), ("zero", bad, {"nan": "zero"}), ("nan", bad, {})):
            write(x=samples, h=filters, mask=mask.astype("u1"))
            noise, found, _ = run(axis=0, threshold=7, cluster=50, **more)
            near(f"{part} masked by {name}", noise, clean, 0.05 if part < 0.9 else 0.1)
            check(found["index"].tolist() == peaks["index"].tolist(), f"{part} masked by {name}: {len(found)} peaks")
            lapwing(1, "verify", "out.h5")
    partly, _, _ = run(axis=0, nan="zero", mask="in.h5:/mask", masked_fraction=0.9)
    check(np.all(partly < noise - 0.005), f"with --masked-fraction outputs that a mask touches do not count: {partly}, {noise}")
    write(x=np.where(mask[:, None], 0, x), h=filters)
    near("nothing recorded", run(axis=0)[0], clean, 0.05)
    image = random.standard_normal((400, 600)).astype("f4")
    image[40:60, 50:70] += 3
    for kind in (0, np.nan):
        image[:, 240:] = kind
        write(x=image, h=np.ones((5, 5)) / 5)
        noise, found, _ = run("conv2d", threshold=7, cluster=30, nan="zero")
        near("an image's sides", noise, 1, 0.05)
        check(len(found) == 1, f"{len(found)} sources beside what is {kind}")


def gaps():
    x, filters = random.integers(-900, 900, 100000).astype("i2"), np.hanning(33)
    write(x=x, h=filters)
    clean, _, _ = run()
    for i in range(0, len(x), 10000):
        with h5py.File(f"part{i:06}.h5", "w") as file:
            data = file.create_dataset("x", data=x[i:i + 4000])
            data.attrs["sample_rate_hz"], data.attrs["start_time"], data.attrs["start_unit"] = 500.0, i / 500, "s since 2023-01-01T00:00:00"
    noise, _, _ = run(ranks=2, input="part*.h5:/x", gaps="zero")
    near("gaps", noise, clean, 0.03)


def none():
    """A noise of 0 is reported; the other channels have their own noise."""
    x = random.standard_normal((4, 20000)).astype("f4")
    x[1, 10000] = np.nan
    x[2] = 7
    x[3, ::2] = np.nan
    write(x=x, h=np.full((2, 16), 0.25))
    noise, _, said = run("ols", "--quiet", axis=1)
    near("one NaN", noise[:2], 1, 0.05)
    check(not noise[2:].any(), f"noise of nothing is {noise[2:]}")
    check("the noise of channel 2 behind filter 0 is 0 (none of its outputs" in said and "3 others" in said, said)
    noise, _, said = run("ols", "--quiet", channels="0:2", axis=1)
    check("the noise of" not in said, said)
    x = np.zeros(1000, "f4")
    x[::3] = 1 + np.arange(334)
    write(x=x, h=np.ones((1, 1)))
    noise, _, said = run("ols", "--quiet")
    check(noise == 0 and "more than half of its outputs are 0" in said, said)


# ---- bits --------------------------------------------------------------------------------------------------------------------

def bits():
    """Only a part of a long signal is measured: the same on any ranks and with any memory."""
    write(x=np.round(100 * random.standard_normal((1500000, 3))).astype("i2"), h=random.standard_normal((5, 33)))
    first, _, said = run(axis=0)
    check("measured from 10" in said, said)
    near("a part", first, np.linalg.norm(h5py.File("in.h5")["h"][()], axis=1) * 100, 0.01)
    for ranks, more in ((2, {}), (3, {"split": "channels"}), (1, {"io": "collective"})):
        noise, _, _ = run(axis=0, ranks=ranks, threads=1, **more)
        check(np.array_equal(noise, first), f"another noise on {ranks} ranks {more}: {noise - first}")
    tight = needed_memory(run(axis=0, memory="1M", code=78))
    noise, _, _ = run(axis=0, memory=tight)
    check(np.array_equal(noise, first), f"another noise with {tight}: {noise - first}")


STRETCH, RATE, PULSES = 2 ** 16, 1000.0, [(2 ** 18 - 20, 0), (2 ** 18 + 20, 1)]
EVERY = {"axis": 0, "sample_rate": RATE, "threshold": 6.5, "cluster": 100, "products": "peaks,best", "noise_every": f"{STRETCH / RATE}s"}


def growing():
    """Two channels whose noise grows tenfold where stretch 4 begins, with a pulse of 8 sigma just before and just after that, and
    two filters of norm 1. The last part is less than half a stretch."""
    n, change = 8 * STRETCH + 25000, 4 * STRETCH
    x = random.standard_normal((n, 2)) * np.where(np.arange(n) < change, 1, 10)[:, None]
    x[change - 5:change + 5] = 0
    for at, channel in PULSES:
        x[at - 5:at + 5, channel] = 0
        x[at, channel] = 8 * (1 if at < change else 10) / 0.8
    write(x=x.astype("f4"), h=np.stack([[0.6, 0.8, 0], [0, 0.8, -0.6]]))


def places(found, first=0):
    return [(row["index"] + first, row["channel"]) for row in found]


def stretches():
    """The noise of --noise measured,every=TIME is that of the stretch, to the output, and so are the peaks and the best
    filter."""
    growing()
    one, _, _ = run("ols", **{**EVERY, "noise_every": "10h", "threshold": 60})
    check(one.shape == (1, 2, 2) and not (np.abs(one - 1) < 0.02).any(), f"one noise is {one}")
    noise, found, said = run("ols", "--cluster-filters", **EVERY)
    with h5py.File("out.h5") as file:
        scale, attributes = file["noise"].dims[0][0][()], dict(file["noise"].attrs)
        best, filters = file["best/value"][()], file["best/filter"][()]
    check(attributes["stretch_length"] == STRETCH and attributes["stretch_s"] == STRETCH / RATE and attributes["first_output"] == 0, attributes)
    check("in each of 8 stretches of 65536 outputs (65.536 s)" in said, said)
    check(np.array_equal(scale, np.arange(8) * STRETCH / RATE), f"stretches begin at {scale}")
    if check(noise.shape == (8, 2, 2), f"noise of shape {noise.shape}"):
        near("before it grows", noise[:4], 1, 0.02)
        near("after it grew", noise[4:], 10, 0.02)
    check(places(found) == PULSES, f"peaks {found}")
    of_row = found["index"] // STRETCH
    check(np.allclose(found["snr"], np.abs(found["re"]) / noise[of_row, found["channel"], found["filter"]]), f"of another noise: {found}")
    x, h = (h5py.File("in.h5")[name][()].astype("f8") for name in "xh")
    y = np.array([[np.convolve(x[:, c], taps, "same") for c in range(2)] for taps in h])
    snr = np.abs(y) / np.repeat(noise, STRETCH, 0)[np.minimum(np.arange(len(x)), 8 * STRETCH - 1)].transpose(2, 1, 0)
    is_clear = np.abs(snr[0] - snr[1]) > 1e-4 * (snr[0] + snr[1])
    check(np.array_equal(filters.T[is_clear], snr.argmax(0)[is_clear]), "another best filter")
    check(np.abs(best.T - np.take_along_axis(y, filters.T[None], 0)[0]).max() < 1e-4,
          "/best/value is not the output of /best/filter")
    lapwing(1, "verify", "out.h5")
    with h5py.File("out.h5", "r+") as file:
        file["noise"][4] *= 1.5
    lapwing(1, "verify", "out.h5", code=65)


def stretches_again():
    """The bits are the same on any ranks, with any memory and for a resumed run. A window has the stretches of the whole signal."""
    growing()
    noise, found, _ = run("ols", "--cluster-filters", **EVERY)
    tight = needed_memory(run("ols", "--cluster-filters", **EVERY, memory="1M", code=78))
    for ranks, more in ((3, {"split": "axis"}), (2, {"split": "channels"}), (1, {"memory": tight}), (1, {"time_limit": 0.001})):
        if "time_limit" in more:
            run("ols", "--cluster-filters", **EVERY, **more, code=75)
            more = {}
        again, others, _ = run("ols", "--cluster-filters", ranks=ranks, threads=1, **EVERY, **more)
        check(np.array_equal(again, noise) and np.array_equal(others, found), f"other bits on {ranks} ranks {more}")
    first, count = STRETCH + STRETCH // 3, 4 * STRETCH
    windowed, cut, _ = run("ols", "--cluster-filters", **EVERY, start=first, count=count)
    with h5py.File("out.h5") as file:
        scale, begin = file["noise"].dims[0][0][()], file["noise"].attrs["first_output"]
    check(np.array_equal(scale, np.arange(1, 5) * STRETCH / RATE), f"a window's stretches begin at {scale}")
    check(begin == STRETCH - first, f"the first stretch begins at output {begin}")
    check(len(windowed) == 4 and np.allclose(windowed[1:], noise[2:5], rtol=1e-5), f"a window's noise is {windowed}, not {noise[1:5]}")
    near("a stretch that a window cuts", windowed[0], 1, 0.02)
    check(places(cut, first) == places(found) and np.allclose(cut["snr"], found["snr"], rtol=1e-5), f"a window's peaks {cut}")
    lapwing(1, "verify", "out.h5")


def no_stretches():
    write(x=random.standard_normal((2 ** 16, 2)).astype("f4"), h=np.ones((1, 3)))
    short, _, _ = run("ols", **{**EVERY, "noise_every": 4096}, segment=256)
    near("the shortest stretches", np.median(short, axis=0), np.sqrt(3), 0.02)
    check(len(short) == 16, f"{len(short)} of the shortest stretches")
    with h5py.File("in.h5", "r+") as file:
        file.create_dataset("long", (2 ** 42,), "i1", chunks=(2 ** 20,))
    for more, words, code in (({"noise_every": 4095}, "is 4095 samples", 78), ({"noise_every": "0.0001s"}, "is 0 samples", 78),
                              ({"noise_every": 5000, "input": "in.h5:/long", "axis": None}, "a time 7 times as long", 78),
                              ({"noise": "rms"}, "--noise measured only", 2),
                              ({"products": "blocks", "blocks": 10, "threshold": None}, "peaks or best", 2)):
        options = {key: value for key, value in {"input": "in.h5:/x", **EVERY, "cluster": None, **more}.items() if value is not None}
        said = lapwing(1, "ols", "--filters", "in.h5:/h", "--output", "none.h5", *as_arguments(options), code=code).stderr
        check(words in said, said)


def device():
    """A device counts outputs, by marks, in stretches, with pieces of images: the noise is that of the cpu engine, whose outputs differ by
    rounding, and has the same bits for any ranks and memory."""
    x = random.standard_normal((6, 1 << 14)).astype("f4")
    x[2, 1000:1500], x[3, 5000:9000] = np.nan, 0
    picture = random.standard_normal((1, 200, 300)).astype("f4")
    picture[0, 100:130, 50:90] = np.nan
    own = {"filters": "in.h5:/own", "stack": "sum", "normalize": "demeaned", "nan": "zero"}
    for name, job, options in (("channels", "ols", {"axis": 1}), ("slow", "ols", {"input": "in.h5:/slow", "axis": 0, "nan": "zero"}),
                               ("stretches", "ols", {"axis": 1, "noise_every": 5000}), ("stack", "ols", {"axis": 1, **own}),
                               ("image", "conv2d", {"input": "in.h5:/picture", "nan": "zero"})):
        write(x=x, slow=x.T, picture=picture, h=random.standard_normal((4, 11) if job == "ols" else (5, 5)),
              own=random.standard_normal((40, 6, 21)))
        given = {"input": "in.h5:/x", "products": "peaks", "threshold": 1000, "noise": "measured",
                 "filters" if job == "ols" else "kernel": "in.h5:/h", **options}
        found = []
        for engine, ranks, more in (("cpu", 1, ()), ("cuda,share-gpu", 1, ()), ("cuda,share-gpu", 2, ()),
                                    ("cuda,share-gpu", 1, ("--gpu-memory", "16M"))):
            lapwing(ranks, job, *as_arguments(given), "--engine", engine, *more, "--output", "out.h5", "--overwrite")
            with h5py.File("out.h5") as file:
                found.append(file["noise"][()])
        near(f"{name} on a device", found[1], found[0], 2e-5)
        check(np.array_equal(found[1], found[2]) and np.array_equal(found[1], found[3]), f"{name}: ranks or memory change the noise")


for part in (stars, pulses, varies, stretches, stretches_again, no_stretches, masked, gaps, none, bits, device):
    if os.environ.get("LW_SIGMA_PART", part.__name__ if part != device else "") == part.__name__:
        part()
finish()
