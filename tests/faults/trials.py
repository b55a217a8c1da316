"""Shared functions of the tests in which single calls fail: the program under the library of fault.c with a time limit, results,
and the selection of calls."""

import os
import signal
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "cli"))
from tested import LAPWING, MPIEXEC, h5py, random  # noqa: E402

LIBRARY, MOST_S = os.path.abspath(sys.argv[3]), 60


def run_with(setting, ranks, arguments):
    """@return the exit code, or "no end" after the time limit, and the log"""
    faults = ["env", "LD_PRELOAD=" + LIBRARY, *[f"{key}={value}" for key, value in setting.items()]] if setting else []
    command = [MPIEXEC, "-np", str(ranks), *faults, LAPWING, *arguments]
    # a session of its own, since a rank that hangs outlives its mpirun
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        _, said = process.communicate(timeout=MOST_S)
        return process.returncode, said
    except subprocess.TimeoutExpired:
        end_session(process.pid)
        process.communicate()
        return "no end", ""


def held_at(call, file, held, **more):
    """The environment in which a run waits at this call: it makes the file `held`, and goes on when the file is removed."""
    return {"LD_PRELOAD": LIBRARY, "FAULT": "held-" + call, "FAULT_FILE": file, "FAULT_HELD": held, **more}


def wait_until_held(process, held):
    """@return whether the run waits; otherwise it has ended, or takes too long"""
    end = time.monotonic() + MOST_S
    while not os.path.exists(held) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    return os.path.exists(held)


def end_session(leader):
    """Kill all processes of a session, since ranks have process groups of their own."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            session = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[3]
            if int(session) == leader:
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass


def counted(path):
    """The largest number of calls of any rank."""
    with open(path) as file:
        return max(map(int, file), default=0)


def chosen(total, most):
    """The first, the last and some between."""
    if total <= most:
        return range(1, total + 1)
    return sorted({1, total, *random.integers(2, total, most - 2).tolist()})


def data_of(path):
    """The bytes of each dataset of a result."""
    with h5py.File(path) as file:
        found = {}
        file.visititems(lambda name, item: found.update({name: item[()].tobytes()}) if isinstance(item, h5py.Dataset) else None)
        return found
