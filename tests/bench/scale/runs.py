"""runs.py - whole runs under mpirun: their seconds, what their logs say of the stages, and a digest of their results. Other
scripts of this folder import it."""
import concurrent.futures
import hashlib
import itertools
import os
import re
import subprocess
import time

import h5py

BLOCK_BYTES = 2 ** 25
STAGE = re.compile(r"^(read|filters|halo|combine|share|compute|search|refine|write) .* ([0-9.e+-]+) s +"
                   r"\(minimum, median, maximum over ranks\)", re.MULTILINE)
START = re.compile(r"^first block submitted after ([0-9.]+) s", re.MULTILINE)
WHOLE = re.compile(r"^[0-9.e+]+ .* in ([0-9.]+) s", re.MULTILINE)
LIMIT = re.compile(r"^(?:(\w+) limits this run|no stage limits this run: the longest, (\w+)|the run was too (short))", re.MULTILINE)
TIMES = ["seconds", "start", "work", "read", "halo", "compute", "write"]


def blocks(item):
    """The numbers of a dataset in pieces along its longest axis."""
    if item.ndim == 0 or item.size == 0:
        return
    axis = max(range(item.ndim), key=lambda i: item.shape[i])
    step = max(1, BLOCK_BYTES // max(1, item.size // item.shape[axis] * item.dtype.itemsize))
    for first in range(0, item.shape[axis], step):
        yield item[(slice(None),) * axis + (slice(first, first + step),)]


def digest(path):
    """A digest of all numbers of a result; the blocks are hashed on all cores."""
    total = hashlib.sha256()
    with h5py.File(path, "r") as file, concurrent.futures.ThreadPoolExecutor() as pool:

        def add(name, item):
            if not isinstance(item, h5py.Dataset):
                return
            total.update(f"{name} {item.shape} {item.dtype}".encode())
            rest = blocks(item)
            while some := list(itertools.islice(rest, os.cpu_count())):
                for one in pool.map(lambda block: hashlib.sha256(block).digest(), some):
                    total.update(one)

        file.visititems(add)
    return total.hexdigest()


def told(line, said):
    """The seconds in a line of the log; 0 if the job has no such line."""
    found = line.search(said)
    return float(found.group(1)) if found else 0


def run(command, result, digested):
    """Seconds of the whole run and of each stage's slowest rank; the result's digest if it is requested."""
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    elapsed = time.monotonic() - started
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    said = done.stdout + done.stderr
    stages = {name: float(value) for name, value in STAGE.findall(said)}
    found = digest(result) if digested else None
    os.remove(result)
    limit = LIMIT.search(said)
    return {"seconds": elapsed, "start": told(START, said), "work": told(WHOLE, said), "digest": found,
            "limit": next(filter(None, limit.groups()), "") if limit else "",
            "halo": stages.get("halo", stages.get("combine", stages.get("share", 0))),
            "compute": stages.get("compute", stages.get("search", 0) + stages.get("refine", 0)),
            **{name: stages.get(name, 0) for name in ("read", "filters", "write")}}


def launch(ranks):
    return ["mpirun", "--bind-to", "none", "--oversubscribe", "-np", str(ranks)]


def count_gpus():
    try:
        return len(subprocess.run(["nvidia-smi", "-L"], check=True, capture_output=True, text=True).stdout.split("GPU ")) - 1
    except (OSError, subprocess.CalledProcessError):
        return 0


ROW = re.compile(r"^ +(\d+) +([0-9.e+-]+) +(\d+)% +([0-9.e+-]+)  (\w+) +(\w+) +(.*)$", re.MULTILINE)


def plan(lapwing, words, machine):
    """What `lapwing plan --for` says: its text, and the rows of its table as (nodes, seconds, efficiency, node-hours, limit)"""
    given = ",".join(f"{name}={value}" for name, value in machine.items())
    done = subprocess.run([lapwing, "plan", *words, "--quiet", "--for", given], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"lapwing plan {' '.join(words)} --for {given}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    rows = [(int(n), float(s), int(e), float(h), limit) for n, s, e, h, limit, _, _ in ROW.findall(done.stdout)]
    return done.stdout, rows
