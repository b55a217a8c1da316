"""Runs that are killed at any moment, and resumed on other ranks: the file opens, and the result is that of a run that was not
interrupted.

    killed.py LAPWING MPIEXEC [KILLS [SEED]]  default: 20 kills"""

import os
import signal
import subprocess
import sys
import tempfile
import time

from jobs import check_same, describe, jobs, left_beside, make_input
from tested import LAPWING, MPIEXEC, as_typed, check, finish, h5py, np

KILLS, SEED = (int(text) for text in (sys.argv[3:] + ["20", "1"][len(sys.argv) - 3:]))
MOST_RANKS, END_S = 4, 30
random = np.random.default_rng(SEED)


def command(ranks, arguments, out):
    launcher = [MPIEXEC, "--oversubscribe", "-np", str(ranks)] if ranks > 1 else []
    return [*launcher, LAPWING, *as_typed([*arguments, "--output", out, "--checkpoint", "0", "--quiet", "--threads", "1", "--share-gpu"])[0]]


def run(ranks, arguments, out):
    start = time.monotonic()
    done = subprocess.run(command(ranks, arguments, out), capture_output=True, text=True, timeout=200)
    return done, time.monotonic() - start


def ranks_of(process):
    """The living processes of the ranks, and of their helpers that inspect files: all of the session with the program's name."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            name, rest = open(f"/proc/{pid}/stat").read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        state, _, _, session = rest.split()[:4]
        if name == os.path.basename(LAPWING)[:15] and int(session) == process.pid and (state not in "ZX" or has_threads(pid)):
            found.append(int(pid))
    return found


def has_threads(pid):
    """Whether a thread besides the first lives, which keeps the process's files and their locks."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def wait_for_ranks(process, killed):
    """Wait until no rank lives. @return seconds; None: not in time"""
    while time.monotonic() - killed < END_S:
        if not ranks_of(process):
            return time.monotonic() - killed
        time.sleep(0.02)
    return None


def wait_for_journal(process, out):
    while process.poll() is None and not os.path.exists(out + ".lapwing-journal"):
        time.sleep(0.001)


def start_and_kill(ranks, arguments, out, delay, is_late):
    """Kill one process of a run, after a delay from its start or, if is_late, from its first checkpoint. @return how long the
    others lived on (None: too long), and the exit code. None: the launcher hangs, as Open MPI's sometimes does when a process is
    killed while MPI starts."""
    process = subprocess.Popen(command(ranks, arguments, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    if is_late:
        wait_for_journal(process, out)
    time.sleep(delay)
    found = ranks_of(process)
    if process.poll() is None and found:
        try:
            os.kill(int(random.choice(found)), signal.SIGKILL)
        except ProcessLookupError:
            pass
    lived = wait_for_ranks(process, time.monotonic())
    try:
        code = process.wait(5)
    except subprocess.TimeoutExpired:
        code = None
    for pid in [*ranks_of(process), process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
    return lived, code


def opens(part):
    try:
        if open(part, "rb").read(6) == b"SIMPLE":
            return True
        with h5py.File(part, "r") as file:
            return file.attrs["lapwing_complete"] == 0
    except (OSError, KeyError):
        return False


with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
    path = os.path.join(folder, "in.h5")
    outputs = {name: os.path.join(folder, "out.fits" if name == "fits" else "out") for name in jobs(path)}
    make_input(path, 1 if KILLS < 100 else 4)
    expected, seconds = {}, {}
    for name, arguments in jobs(path).items():
        out = outputs[name]
        done, seconds[name, 1] = run(1, arguments, out)
        check(done.returncode == 0, f"{name}: {done.stderr}")
        expected[name] = describe(out)
        os.remove(out)
    names, n_killed, n_early, n_opened, n_same, longest = list(expected), 0, 0, 0, 0, 0.0
    n_in_time = n_hung = 0
    while n_killed < KILLS:
        name = names[n_killed % len(names)]
        arguments, out, ranks = jobs(path)[name], outputs[name], int(random.integers(1, MOST_RANKS + 1))
        if (name, ranks) not in seconds:
            done, seconds[name, ranks] = run(ranks, arguments, out)
            check(done.returncode == 0, f"{name} on {ranks} ranks: {done.stderr}")
            check_same(expected[name], out, f"{name} on {ranks} ranks")
            os.remove(out)
        what = f"{name} on {ranks} ranks, kill {n_killed}"
        is_late = random.random() < 0.75
        lived, code = start_and_kill(ranks, arguments, out, seconds[name, ranks] * random.uniform(0, 0.12 if is_late else 1.05), is_late)
        check(lived is not None, f"{what}: the other ranks did not end within {END_S} s")
        longest = max(longest, lived or END_S)
        n_hung += code is None
        if code == 0:
            n_in_time += 1          # the run was not killed
            os.remove(out)
            continue
        n_killed += 1
        part = out + ".lapwing-part"
        if os.path.exists(out):     # the run was killed after its end
            n_opened += 1
            n_same += check_same(expected[name], out, what)
            os.remove(out)
            for left in left_beside(out):
                os.remove(out + left)
            continue
        if os.path.exists(out + ".lapwing-journal"):
            n_opened += check(os.path.exists(part) and opens(part), f"{what}: the partial result does not open")
        else:
            n_early += 1
        if random.random() < 0.5:   # kill a second time
            start_and_kill(int(random.integers(1, MOST_RANKS + 1)), arguments, out, seconds[name, 1] * random.uniform(0.3, 1.1), False)
        if not os.path.exists(out):
            others = int(random.choice([r for r in range(1, MOST_RANKS + 1) if r != ranks]))
            done, _ = run(others, arguments, out)
            if not check(done.returncode == 0, f"{what}, then {others}: code {done.returncode}, {done.stderr}"):
                for left in ["", *left_beside(out)]:
                    if os.path.exists(out + left):
                        os.remove(out + left)
                continue
            check(not left_beside(out), f"{what}: {left_beside(out)} is left beside the result")
        n_same += check_same(expected[name], out, f"{what}, gone on with")
        for left in ["", *left_beside(out)]:
            os.remove(out + left)
        if n_killed % 50 == 0:
            print(f"{n_killed} runs killed, {n_same} results the same", flush=True)
    print(f"{n_killed} runs killed ({n_early} before their first checkpoint): {n_opened} of the others' files opened, {n_same} results are those "
          f"of runs that were not interrupted; other ranks ended within {longest:.1f} s; {n_in_time} runs more came to their end first; {n_hung} times the launcher hung after all ranks had "
          "ended")
finish()
