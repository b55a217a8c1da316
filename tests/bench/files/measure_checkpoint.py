"""Measures the cost of checkpoints, and how soon a resumed run has its first block: paired runs of one command.

    measure_checkpoint.py LAPWING RANKS EVERY PAIRS JOB [options, --output and all]

EVERY: the time between two checkpoints, as for --checkpoint, so short that a run makes several. The cost of one checkpoint is the
time of a run with them minus that of a run without, divided by their number; a run with the default makes one in 30 s."""

import os
import re
import signal
import statistics
import subprocess
import sys
import time

lapwing, ranks, every, pairs = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
job = sys.argv[5:]
out = job[job.index("--output") + 1]
launcher = ["mpirun", "--bind-to", "none", "--oversubscribe", "-np", str(ranks)] if ranks > 1 else []


def clear():
    for ending in ("", ".lapwing-part", ".lapwing-journal", ".lapwing-rows", ".lapwing-undo"):
        if os.path.exists(out + ending):
            os.remove(out + ending)


def run(*options, sync=True):
    """@return  seconds, number of checkpoints, seconds to the first block"""
    if sync:
        os.sync()
    start = time.monotonic()
    done = subprocess.run([*launcher, lapwing, *job, "--verbose", *options], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(done.stderr)
    return seconds, done.stderr.count("checkpoint written"), float(re.search(r"first block submitted after ([\d.]+) s", done.stderr).group(1))


def stop_late():
    """Interrupt a run near its end, and leave its partial result."""
    process = subprocess.Popen([*launcher, lapwing, *job, "--checkpoint", "0"], stderr=subprocess.DEVNULL)
    time.sleep(0.6 * without[0])
    for pid in [process.pid] if ranks == 1 else subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True,
                                                             check=False).stdout.split():
        os.kill(int(pid), signal.SIGTERM)
    return process.wait() == 75


costs, ratios, counts, starts, without = [], [], [], [], []
for pair in range(pairs):
    clear()
    alone, _, first = run("--checkpoint", "1e9")
    clear()
    seconds, n, _ = run("--checkpoint", every)
    clear()
    without.append(alone)
    counts.append(n)
    ratios.append(seconds / alone)
    costs.append((seconds - alone) / max(n, 1))
    if stop_late():
        starts.append(run("--checkpoint", "1e9", "--resume", "require", sync=False)[2] - first)
    clear()
median = statistics.median
print(f"without {median(without):.3f} s; with {median(counts):g} checkpoints {median(ratios):.4f} of it ({min(ratios):.4f} to {max(ratios):.4f}); "
      f"one costs {1000 * median(costs):.1f} ms ({1000 * min(costs):.1f} to {1000 * max(costs):.1f}): {100 * median(costs) / 30:.2f}% of 30 s")
if starts:
    print(f"first block of a run that goes on: {median(starts):+.3f} s ({min(starts):+.3f} to {max(starts):+.3f}) beside a run that begins, "
          f"{len(starts)} times")
