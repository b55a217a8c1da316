"""Shared functions of the tests of the batch scripts: jobs on the cluster that the script `cluster` has made, and how they end.

A test is called as cluster NODES CPUS PYTHON TEST LAPWING MPIEXEC. It works in a folder of its own, which all nodes share."""

import os
import re
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, "..", "cli"))
from tested import LAPWING, check, finish, h5py, np, random, read_products  # noqa: E402, F401

LAUNCHERS = ("srun", "mpirun")
LIMIT_S = 90
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"}
SCRIPTS = os.path.join(here, "..", "..", "slurm")
os.chdir(tempfile.mkdtemp())

# The jobs must not depend on the environment of this suite. They get a path, a home, and two settings of Open MPI for this
# cluster: root is permitted, and waiting ranks yield, because all nodes share one machine's cores.
ENVIRONMENT = {"PATH": os.path.dirname(LAPWING) + ":/usr/bin:/bin", "HOME": os.getcwd(), "SLURM_CONF": os.environ["SLURM_CONF"],
               "TMPDIR": os.environ.get("TMPDIR", "/tmp"), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1"}


def said_by(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=30).stdout


def wait_for(condition, seconds=LIMIT_S):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


class Job:
    """A submitted job. `nodes` are their names, or their number; `options` are those of sbatch.

    With Slurm 22.05 one of some 700 starts fails inside Open MPI: a rank leaves MPI_Init while another, on another node, still
    waits in its first fence, which then crashes on the first message. Such a job is submitted once more."""

    def __init__(self, name, script, *arguments, launcher="srun", nodes=1, options=(), **variables):
        self.name, self.log = name, name + ".log"
        places = [f"--nodes={nodes}"] if isinstance(nodes, int) else [f"--nodes={len(nodes.split(','))}", f"--nodelist={nodes}"]
        sbatch = ["sbatch", "--parsable", f"--output={self.log}", *places, *options]
        path = script if os.path.isfile(script) else os.path.join(SCRIPTS, script)
        self.command = [*sbatch, path, *map(str, arguments)]
        self.environment = {**ENVIRONMENT, "LAPWING_LAUNCHER": launcher, **variables}
        self.turns = 0
        self.submit()

    def submit(self):
        self.turns += 1
        done = subprocess.run(self.command, capture_output=True, text=True, timeout=30, env=self.environment)
        check(done.returncode == 0, f"{self.name}: sbatch: {done.stderr}")
        self.id = done.stdout.strip()

    def has_failed_to_start(self):
        """Whether a rank has jumped to address 0: Open MPI's message names no function of lapwing then, as it does elsewhere."""
        return re.search(r"Failing at address: \(nil\)\n\S* \[ 0\] \S*libc\S*\n\S* \*\*\* End of error", self.said()) is not None

    def said(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log) as file:
            return file.read()

    def states(self):
        """The states of all jobs of an array."""
        return set(said_by("squeue", "--noheader", "--states=all", f"--jobs={self.id}", "--format=%T").split())

    def shown(self, key):
        found = re.search(rf"\b{key}=(\S+)", said_by("scontrol", "show", "job", self.id))
        return found.group(1) if found else ""

    def expect_text(self, text, seconds=LIMIT_S):
        check(wait_for(lambda: text in self.said(), seconds), f"{self.name}: '{text}' is not in the log: {self.said()}")

    def expect(self, state, code=0, restarts=0, seconds=LIMIT_S):
        """Expect the end of the job, its exit code (None: any), and how often it was queued again."""
        wait_for(lambda: self.states() <= ENDED or self.states() == {state}, seconds)
        if self.turns == 1 and self.has_failed_to_start():
            print(f"{self.name}: a rank crashed in MPI_Init, submitted again: {self.said()}")
            os.remove(self.log)
            self.submit()
            return self.expect(state, code, restarts, seconds)
        found = (self.states(), self.shown("ExitCode"), self.shown("Restarts"))
        wanted = ({state}, found[1] if code is None else f"{code}:0", str(restarts))
        return check(found == wanted, f"{self.name}: {found}, not {wanted}: {self.said()}")


def data_of(path):
    if not os.path.exists(path):
        return None
    with h5py.File(path) as file:
        return {name: (data.dtype, data.shape, data.tobytes()) for name, data in read_products(file).items()}


def plain(output, *arguments):
    """Run the same without Slurm; return the data of the result."""
    done = subprocess.run([LAPWING, *arguments, "--output", output], capture_output=True, text=True, timeout=4 * LIMIT_S)
    check(done.returncode == 0, f"{arguments} without Slurm: {done.stderr}")
    return data_of(output)


def expect_data(job, output, expected):
    check(expected and data_of(output) == expected, f"{job.name}: the data is not that of a run without Slurm: {job.said()}")
