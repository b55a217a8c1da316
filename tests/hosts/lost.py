"""A rank is killed, a host dies, or a host's link is cut, in the middle of a run. mpirun reports this once and ends in time with
an exit code of its own. No rank is left on any host, and no file has the final name.

    hosts 4 PYTHON lost.py LAPWING MPIEXEC"""

import os
import signal
import subprocess
import tempfile
import time

from cluster import HOSTS, check, command, finish, first_process, h5py, np, random, ranks_on

LIMIT_S = 60
LOST = "ORTE has lost communication with a remote daemon"
# mpirun's detection of a lost host as in slurm/README.md, with shorter times: here after 5 + 5 x 1 seconds of silence.
SETTINGS = [("oob_tcp_keepalive_time", 5), ("oob_tcp_keepalive_intvl", 1), ("oob_tcp_keepalive_probes", 5)]


def wait_for(condition, seconds=LIMIT_S):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def in_its_midst(name):
    with open(name + ".log") as log:
        return " rounds, slices of " in log.read()


def start(**hosts):
    """Start long runs of many rounds on the hosts of each name; return when they compute."""
    runs = []
    for name, places in hosts.items():
        line = command(places, ["ols", "--input", "in.h5:/x", "--filters", "in.h5:/taps", "--products", "peaks,blocks", "--blocks",
                                50, "--noise", "energy", "--threshold", 5, "--threads", 1, "--output", name + ".h5"], SETTINGS)
        with open(name + ".log", "w") as log:
            # Each run has a folder of its own for Open MPI's session: two runs that start at once would make the same one.
            own = {**os.environ, "TMPDIR": tempfile.mkdtemp()}
            runs.append((name, subprocess.Popen(line, stdout=log, stderr=log, env=own)))
    check(wait_for(lambda: all(in_its_midst(name) for name in hosts)), f"{list(hosts)} do not start")
    time.sleep(0.5)
    for name, run in runs:
        check(run.poll() is None, f"{name} has ended already")
    return runs


def expect_end(name, run, code, text):
    try:
        run.wait(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        run.kill()
    with open(name + ".log") as log:
        said = log.read()
    check(run.returncode == code and said.count(text) == 1, f"{name}: code {run.returncode}, not {code} with '{text}': {said}")
    check("\nlapwing: " not in said, f"{name}: lapwing repeats the message of mpirun: {said}")
    check(not os.path.exists(name + ".h5"), f"{name}: there is a result")


def expect(runs, code, text):
    """Expect the end of runs after an incident. @param text mpirun's message, which must appear once"""
    begin = time.monotonic()
    for name, run in runs:
        expect_end(name, run, code, text)
    check(wait_for(lambda: not any(ranks_on(host) for host in HOSTS)), f"ranks are left: {[ranks_on(host) for host in HOSTS]}")
    print(f"{', '.join(name for name, _ in runs)}: all has ended after {time.monotonic() - begin:.1f} s")


def kill_ranks():
    """One rank of each of two runs is killed: one run computes, and the other has long waited for this rank."""
    runs = start(killed=HOSTS, awaited=HOSTS)
    killed, awaited = (rank for name, _ in runs for rank in ranks_on("h3", name + ".h5"))
    os.kill(awaited, signal.SIGSTOP)
    os.kill(killed, signal.SIGKILL)
    time.sleep(2)
    os.kill(awaited, signal.SIGKILL)
    expect(runs, 137, "on node h3 exited on signal 9")


def cut_link():
    """The cut host has rank 2 of one run, and rank 0 of another."""
    runs = start(cut=HOSTS, first_cut=[*HOSTS[2:], *HOSTS[:2]])
    subprocess.run(["ip", "link", "set", "h3", "down"], check=True)
    expect(runs, 205, LOST)


def end_host():
    """All processes of a host end at once, mpirun's daemon there included. (h3 is still without its link.)"""
    runs = start(ended=["h1", "h1", "h2", "h4"])
    os.kill(first_process("h2"), signal.SIGKILL)
    expect(runs, 205, LOST)


with h5py.File("in.h5", "w") as made:
    made["x"], made["taps"] = random.standard_normal(6_000_000).astype("f4"), random.standard_normal((300, 1025)).astype("f4")
kill_ranks()
cut_link()
end_host()
finish()
