"""Four hosts give the same bits as one, for all jobs, with one rank on each or two on each of two, written directly and
collectively, on a pretended Lustre, too. Folders that only seem to be shared are detected.

    hosts 4 PYTHON same.py LAPWING MPIEXEC LUSTRE"""

import itertools
import os
import re
import subprocess

from cluster import HOSTS, check, finish, first_process, h5py, needed_memory, np, random, read_products, run

SPREAD, PAIRS = HOSTS, ["h1", "h1", "h2", "h2"]
layouts = itertools.cycle((SPREAD, PAIRS))


def make_files():
    """A signal in four files and its filters, an image with its kernel, tones."""
    signal = random.standard_normal((3, 400_000)).astype("f4")
    for i, part in enumerate(np.split(signal, 4, axis=1)):
        with h5py.File(f"part{i}.h5", "w") as file:
            data = file.create_dataset("data", data=part)
            data.dims[1].label = "time"
            data.attrs["sample_rate_hz"] = 500.0
            data.attrs["start_time"], data.attrs["start_unit"] = i * 200.0, "s since 2023-01-01T00:00:00"
    lines = np.zeros(1 << 20, complex)
    lines[random.choice(len(lines), 50, replace=False)] = len(lines) * np.exp(2j * np.pi * random.random(50))
    with h5py.File("in.h5", "w") as file:
        file["taps"], file["kernel"] = random.standard_normal((2, 257)), random.standard_normal((15, 15))
        file["image"], file["tones"] = random.standard_normal((900, 700)).astype("f4"), np.fft.ifft(lines)


def data_of(path):
    with h5py.File(path) as file:
        return {name: (data.dtype, data.shape, data.tobytes()) for name, data in read_products(file).items()}


def compare(wanted, *arguments, limits=()):
    """Two runs on the hosts, within limits, against one on the head alone. @param wanted the expected products, with their least
    lengths"""
    run([], *arguments, "--output", "head.h5", "--overwrite", "--quiet")
    expected = data_of("head.h5")
    for name, length in wanted.items():
        check(name in expected and expected[name][1][0] >= length, f"{arguments[0]}: no {name}, or a short one: {list(expected)}")
    for way in ("direct", "collective"):
        hosts = next(layouts)
        run(hosts, *arguments, *limits, "--io", way, "--output", "hosts.h5", "--overwrite")
        found = data_of("hosts.h5")
        check(found == expected, f"{arguments[0]} on {hosts}, {way}: {[k for k in expected if found.get(k) != expected[k]]} differ")
    next(layouts)       # the next job uses the other layout with each way


def check_lustre(*arguments):
    """Two hosts write through a rank on each, as the log and the result say, and the result has the bits of direct writing."""
    run([], *arguments, "--output", "head.h5", "--overwrite", "--quiet")
    said = run(PAIRS, *arguments, "--io", "collective", "--output", "hosts.h5", "--overwrite",
               more=["-x", "LD_PRELOAD=/mnt/liblustre.so"])
    check(data_of("hosts.h5") == data_of("head.h5"), "other bits on a pretended Lustre")
    with h5py.File("hosts.h5") as file:
        check(file.attrs["written"] == b"collective, aggregators: 2", f"written: {file.attrs['written']}")
        check(file["filtered"].id.get_offset() % (1 << 20) == 0, f"the data begin at {file['filtered'].id.get_offset()}")
    check("by collective calls (Lustre, 2 stripes of 1.0 MiB; ranks: 4, aggregators: 2)" in said.stderr, f"Lustre: {said.stderr}")


def check_nodes():
    """The number of ranks that the program sees, and the number on its node."""
    for hosts, here in ((SPREAD, 1), (PAIRS, 2)):
        said = run(hosts, "info").stdout
        check(re.search(rf"ranks +4 of this run, {here} on this node \(h1\)", said), f"info on {hosts}: {said}")


def on_host(host, words):
    subprocess.run(["nsenter", "--target", str(first_process(host)), "--mount", "sh", "-c", words], check=True)


def check_error(text, *arguments):
    """A run on h1 and h2 with a folder that is not shared: both ranks end alike, with one message, and write no file."""
    done = run(["h1", "h2"], "ols", *arguments, code=74)
    said = [line for line in done.stderr.splitlines() if line.startswith("lapwing: ")]
    check(len(said) == 1 and said[0].startswith("lapwing: rank 1 (h2): ") and text in said[0], f"{arguments}: {done.stderr}")


def check_folders():
    """Folders of the same name that hosts do not share: the result's folder, with no file on the other host and with another file
    there, and the input's folder."""
    source, filters, away = ["--input", "part?.h5:/data"], ["--filters", "in.h5:/taps"], ["--output", "/tmp/away.h5"]
    check_error("all ranks need it", *source, *filters, *away)
    on_host("h2", "cp /mnt/head.h5 /tmp/away.h5.lapwing-part")
    check_error("'/tmp/away.h5.lapwing-part' is another file here", *source, *filters, *away)
    on_host("h1", "cp /mnt/part?.h5 /tmp && ! ls /tmp | grep away")
    check_error("cannot read '/tmp/part1.h5': No such file", "--input", "/tmp/part?.h5:/data", *filters, "--output", "none.h5")
    check(not any(name.startswith("none") for name in os.listdir(".")), "a run without input left a result")


make_files()
check_nodes()
search = ["ols", "--input", "part?.h5:/data", "--filters", "in.h5:/taps", "--products", "filtered,peaks,best", "--noise", "energy",
          "--threshold", "3.5", "--cluster", "20"]
limit = needed_memory(run(SPREAD, *search, "--io", "collective", "--memory", "20M", "--output", "none.h5", code=78).stderr)
compare({"filtered": 1, "peaks": 100, "best/value": 1}, *search, limits=["--memory", limit])
check_lustre("ols", "--input", "part?.h5:/data", "--filters", "in.h5:/taps")
compare({"convolved": 1, "peaks": 100}, "conv2d", "--input", "in.h5:/image", "--kernel", "in.h5:/kernel", "--products",
        "convolved,peaks", "--noise", "measured", "--threshold", "3")
compare({"spectrum": 50}, "sfft", "--input", "in.h5:/tones", "--sparsity", "50")
check_folders()
finish()
