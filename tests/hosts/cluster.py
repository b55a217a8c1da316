"""Shared functions of the tests on several hosts: the program on the hosts that the script `hosts` has made, by mpirun and TCP
only.

A test is called as hosts 4 PYTHON TEST LAPWING MPIEXEC LUSTRE, with the library of lustre.c. It works in the folder that the hosts share."""

import os
import shutil
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, "..", "cli"))
from tested import LAPWING, MPIEXEC, check, finish, h5py, needed_memory, np, random, read_products  # noqa: E402, F401

AGENT = "/mnt/agent"
HOSTS = ["h1", "h2", "h3", "h4"]
os.chdir("/mnt")
for program in (LAPWING, os.path.join(here, "agent"), *sys.argv[3:]):      # these folders may lie in /tmp, which each host has for itself
    shutil.copy(program, "/mnt")


def command(hosts, arguments, settings=(), more=()):
    """The mpirun command with a rank for each name in `hosts`; settings are pairs of a parameter of Open MPI and its value,
    and `more` are options of mpirun."""
    slots = ",".join(f"{name}:{hosts.count(name)}" for name in dict.fromkeys(hosts))
    ours = [("plm_rsh_agent", AGENT), ("pml", "ob1"), ("btl", "tcp,self"), *settings]
    return [MPIEXEC, "--host", slots, "-np", str(len(hosts)), *(str(word) for pair in ours for word in ("--mca", *pair)),
            *more, "/mnt/lapwing", *map(str, arguments)]


def run(hosts, *arguments, code=0, more=()):
    """Run the program with a rank for each name in `hosts`; without names, on the head and without mpirun."""
    line = command(hosts, arguments, more=more) if hosts else ["/mnt/lapwing", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=100)
    check(done.returncode == code, f"{hosts}: {' '.join(line)} ends with {done.returncode}, not {code}: {done.stderr}")
    return done


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


def first_process(host):
    """The id of a host's first process, as the head knows it; the host's processes end with the first."""
    return int(read(os.environ["LW_HOSTS"], host + ".pid"))


def is_rank(pid):
    """Whether the daemon of mpirun on some host has started this process."""
    parent = read("/proc", pid, "stat").rsplit(")", 1)[1].split()[1]
    return (read("/proc", pid, "comm"), read("/proc", parent, "comm")) == ("lapwing\n", "orted\n")


def ranks_on(host, argument=""):
    """The ids of the ranks on a host, as the head knows them, of those runs that have this word on their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if is_rank(pid) and argument in read("/proc", pid, "cmdline") and \
                    os.path.samefile(f"/proc/{pid}/ns/uts", f"/proc/{first_process(host)}/ns/uts"):
                found.append(int(pid))
        except OSError:     # the process has ended meanwhile
            continue
    return found
