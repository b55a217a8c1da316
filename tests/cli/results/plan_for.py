"""plan --for: plans for machines that are not here, on one process. Such a plan is that of as many ranks as the machine has; its errors
name what is wrong; a file means what the same values mean; the table follows from the machine.
LW_TEST_ALL compares with more numbers of ranks."""

import math
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tested import ALL, check, finish, lapwing     # noqa: E402

import h5py     # noqa: E402

os.environ.update(LAPWING_IO_THREADS="4", OMPI_MCA_rmaps_base_oversubscribe="1")
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
BIG = "ols --input archive.h5:/strain --axis 1 --lowpass 100".split()
PART = [*BIG, "--count", str(2**33)]    # few nodes take many rounds, which a plan goes through


def plan(words, machine, code=0):
    done = lapwing(1, "plan", *words, "--quiet", "--for", machine, code=code)
    return done.stdout if code == 0 else done.stderr


def table(text):
    """Rows of the table: nodes, seconds, efficiency in percent, node-hours, what limits."""
    rows = re.findall(r"^ +(\d+) +([\d.e+-]+) +(\d+)% +([\d.e+-]+)  (\w+)", text, re.M)
    return [(int(n), float(s), float(e), float(h), limit) for n, s, e, h, limit in rows]


def limit_of(machine, words=BIG):
    return table(plan(words, machine))[-1][4]


# An archive without data: HDF5 stores no chunk or byte that was never written. 4 PB of it take some kB.
with h5py.File("archive.h5", "w") as f:
    data = f.create_dataset("strain", (4096, 1 << 38), "float32")
    data.attrs["sample_rate_hz"] = 1000.0
check(os.path.getsize("archive.h5") < 1 << 20, "the archive without data is large")

lapwing(1, "synth", "ols", "--output", "survey.h5")
lapwing(1, "synth", "conv2d", "--output", "sky.h5")
lapwing(1, "synth", "sfft", "--output", "tones.h5")
lapwing(1, "synth", "accel", "--output", "binary.h5")

# The same plan as on as many ranks: all rows but those of the machine, of memory that a process has already, and of assumed rates.
# --noise clip, --find-peaks, many filters and --split plan passes before the rounds, tables and groups.
jobs = [
    "ols --input survey.h5:/signal --filters survey.h5:/filters",
    "ols --input survey.h5:/signal --filters survey.h5:/filters --split channels --products filtered,peaks --threshold 8",
    "conv2d --input sky.h5:/image --kernel sky.h5:/psf",
    "sfft --input tones.h5:/signal --sparsity 20 --snr 20",
    "sfft --input tones.h5:/signal --sparsity 20 --algorithm sfft2",
    "accel --input binary.h5:/signal",
]
# Where it runs, a sparse transform measures small reads, which decide what is read and combined.
measured = re.compile(r"^combines .*\n| of \d+ bytes in all", re.M)
other = re.compile(r"^((machine|  base|host memory|time|Slurm|submit|storage) .*|reads .* in \d+ reads.*)\n", re.M)
for words in jobs:
    for ranks in (1, 2, 4) if ALL else (3,):
        common = [*words.split(), "--engine", "cpu", "--threads", "2", "--memory", "1G"]
        theirs = lapwing(ranks, "plan", *common, "--quiet").stdout
        ours = plan(common, f"nodes=1,ranks-per-node={ranks},cores={2 * ranks}").split("\n\n")[0] + "\n"
        wanted, found = other.sub("", theirs), other.sub("", ours)
        if "--snr" in words:
            wanted, found = measured.sub("", wanted), measured.sub("", found)
        check(len(wanted) > 300 and found.strip() == wanted.strip(), f"{words} on {ranks} ranks:\n{wanted}\nbut --for:\n{found}")

# A file means what the values mean, and values behind its name override it.
with open("cluster.ini", "w") as f:
    f.write("; a cluster\n[machine]\nnodes = 64\nranks-per-node = 4\ncores = 64\nmemory = 256GiB\nread = 200GB/s\nwrite = 100GB/s\n"
            "network = 25GB/s\nlatency = 1us\n")
values = "nodes=64,ranks-per-node=4,cores=64,memory=256GiB,read=200GB/s,write=100GB/s,network=25GB/s,latency=1us"
steady = re.compile(r"^(host memory|  base) .*\n|\S+ MiB$", re.M)       # a process's own memory differs by a few KiB
check(steady.sub("", plan(BIG, "cluster.ini")) == steady.sub("", plan(BIG, values)), "a file means something else")
check([row[0] for row in table(plan(BIG, "cluster.ini,nodes=12"))] == [1, 2, 4, 8, 12], "nodes behind a file's name")

# The table: nodes double, times fall, efficiency falls, node-hours are nodes times seconds.
text = plan(BIG, values)
rows = table(text)
check([row[0] for row in rows] == [1, 2, 4, 8, 16, 32, 64], f"rows {rows}")
for before, row in zip(rows, rows[1:]):
    check(row[1] <= before[1] * 1.001 and row[2] <= before[2] + 1, f"{row} behind {before}")
for n, seconds, efficiency, hours, _ in rows:
    check(math.isclose(hours, n * seconds / 3600, rel_tol=2e-3), f"{hours} node-hours, {n} nodes, {seconds} s")
    check(abs(efficiency - 100 * rows[0][1] / (n * seconds)) < 0.6, f"efficiency {efficiency} of {n} nodes")
good = max(row[0] for row in rows if row[2] >= 80)
check(f"up to {good} with at least 80% efficiency" in text, f"not up to {good} nodes:\n{text}")
minutes = int(2 * rows[-1][1] / 60) + 2
check(f"sbatch --nodes=64 --ntasks-per-node=4 --time={minutes} slurm/lapwing.sh JOB.ini" in text, f"another line to submit:\n{text}")

# All bytes at the rate of the files, if nothing else counts.
quick = "nodes=1000,cores=128,network=1TB/s,latency=0,memory=1T"
seconds = table(plan(BIG, quick + ",read=100GB/s,write=1000TB/s"))[-1][1]
check(math.isclose(seconds, 4096 * 2**38 * 4 / 100e9, rel_tol=0.01), f"reading takes {seconds} s")
# What limits extreme machines.
fast = ",read=1000TB/s,write=1000TB/s"
check(limit_of(quick + ",read=1GB/s,write=1TB/s") == "reading", "slow reading does not limit")
check(limit_of(quick + ",read=1TB/s,write=1GB/s") == "writing", "slow writing does not limit")
check(limit_of("nodes=1000,cores=1,memory=1T,network=1TB/s,latency=0" + fast) == "computing", "one core does not limit")
check(limit_of("nodes=1000,cores=128,memory=1T,network=1000TB/s,latency=1h" + fast) == "messages", "a slow network does not limit")
check(limit_of("nodes=1000,cores=128,memory=1T,network=1MB/s,latency=0" + fast) in ("reading", "writing"),
      "files faster than the nodes' network")
# The files of a single node may be its own: only two nodes read no faster than over the assumed networks of 12.5 GB/s each.
for nodes, wanted in ((1, 4096 * 2**33 * 4 * (1 / 25e9 - 1 / 50e9)), (2, 0)):
    low, high = (table(plan(PART, f"nodes={nodes},cores=128,memory=1T,read={rate}GB/s,write=1000TB/s"))[-1][1] for rate in (25, 50))
    check(math.isclose(low - high, wanted, rel_tol=0.01, abs_tol=1), f"{nodes} nodes: {low} s at 25 GB/s, {high} s at 50")
tiny = "ols --input survey.h5:/signal --filters survey.h5:/filters".split()
check(limit_of("nodes=2,cores=64,read=1TB/s,write=1TB/s", tiny) == "start", "the start of a small run does not limit")
# The launcher's start and the slowness of busy cores count as they are given.
starts = [table(plan(tiny, f"nodes=2,cores=64,start={seconds}s"))[-1][1] for seconds in (1, 11)]
check(math.isclose(starts[1] - starts[0], 10, rel_tol=0.01), f"starts of 1 and 11 s: {starts}")
slow = [table(plan(PART, f"nodes=1,cores=1,slowdown={factor}" + fast))[-1][1] for factor in (3, 30)]
check(math.isclose(slow[1] / slow[0], 10, rel_tol=0.01), f"cores slower by 3 and 30: {slow}")
# Small reads: more of them per second make a sparse transform skip more and take less time. Ranks of a node share them.
reads = [re.search(r"(\S+ \S+) reads a second .*: about (\S+) s", plan(jobs[3].split(), f"nodes=1,cores=64,{machine}")).groups()
         for machine in ("iops=1000000", "iops=1000", "iops=4000,ranks-per-node=4")]
check(float(reads[0][1]) < float(reads[1][1]) and reads[1][0] == reads[2][0], f"small reads: {reads}")
for words in jobs[2:]:
    check(len(table(plan(words.split(), "nodes=3"))) == 3, f"{words}: no table")

# Fewer nodes whose memory is too small: the row says so, and efficiency counts from the first that fits.
text = plan("accel --input binary.h5:/signal".split(), "nodes=2,memory=1GiB")
check(len(table(text)) == 2, f"accel in 1 GiB:\n{text}")

# GPUs, none of which is here. A build without CUDA refuses them.
done = lapwing(1, "info")
has_cuda = "built without CUDA" not in done.stdout
for words in jobs if has_cuda else jobs[:1]:
    if not has_cuda:
        said = plan(words.split(), "nodes=2,gpu=H100", 78)
        check("H100" in said and "built with CUDA" in said, f"without CUDA: {said}")
        continue
    for gpu, times in (("H100", "measured times"), ("A100", "derived")):
        text = plan([*words.split(), "--engine", "cuda"], f"nodes=2,ranks-per-node=4,cores=64,memory=256G,gpu={gpu}")
        check(gpu in text and times in text and "device memory" in text, f"{words} on {gpu}:\n{text}")
        check(len(table(text)) == 2 and "--gpus-per-node=4" in text and "GPUs            pay" in text, f"{words} on {gpu}:\n{text}")

# Errors.
for machine, words, code in [
    ("cores=4", "nodes=N", 2), ("nodez=4", "nodez.*nodes, ranks-per-node", 2), ("nodes=0", "nodes: 0 is not in", 2),
    ("nodes=2,gpu=H99", "gpu: 'H99' is none of .*H100", 2), ("nodes=2,read=3", "", 0),
    ("nodes=2,read=3parsec", "read: '3parsec' is not a rate such as", 2), ("nodes=2,latency=1lightyear", "is not a time", 2),
    ("nodes=2,memory=few", "memory: 'few' is not a number of bytes", 2), ("nodes", "neither a value", 2),
    ("nodes=2,cores=1,ranks-per-node=2", "2 ranks do not share 1 core", 2), ("nodes=1000000,ranks-per-node=64,cores=64", "ranks", 2),
    ("nosuch.ini", "nosuch.ini", 74), ("nodes=4,cores", "is not NAME=VALUE", 2),
]:
    said = plan(tiny, machine, code)
    check(re.search(words, said), f"--for {machine}: {said}")
for wrong, words in [("[machine]\nnodez = 3\n", "nodez"), ("[ols]\nnodes = 3\n", r"\[machine\]"), ("[machine]\nnodes = x\n", "'x' is not")]:
    with open("wrong.ini", "w") as f:
        f.write(wrong)
    said = plan(tiny, "wrong.ini", 78)
    check(re.search(r"wrong.ini:\d+: .*" + words, said), f"{wrong}: {said}")
said = lapwing(2, "plan", *tiny, "--for", "nodes=2", code=2).stderr
check("one process" in said, f"on two ranks: {said}")
said = lapwing(1, "plan", *tiny, "--for", "nodes=2", "--measure", "--output", "x.h5", code=2).stderr
check("leave --measure out" in said, f"with --measure: {said}")
finish()
