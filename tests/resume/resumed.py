"""Runs that are interrupted, refuse to resume, or resume: signals, --time-limit, --resume, and the output of 'lapwing info' for a
partial result.

    resumed.py LAPWING MPIEXEC"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from jobs import MEMORY, check_same, describe, jobs, left_beside, make_input
from tested import LAPWING, MPIEXEC, as_typed, check, finish, h5py, lapwing, random


class Stage:
    """A job, its input and its result."""

    def __init__(self, folder):
        self.folder, self.path, self.out = folder, os.path.join(folder, "in.h5"), os.path.join(folder, "out.h5")
        make_input(self.path, 3)

    def arguments(self, name, *more):
        return [*jobs(self.path)[name], "--output", self.out, "--checkpoint", "0", "--threads", "1", "--share-gpu", *more]

    def clear(self):
        for left in ["", *left_beside(self.out)]:
            if os.path.exists(self.out + left):
                os.remove(self.out + left)

    def expect(self, name):
        """The result of a run that is not interrupted."""
        lapwing(1, *self.arguments(name, "--quiet"))
        expected = describe(self.out)
        check(not left_beside(self.out), f"{name}: {left_beside(self.out)} is left")
        self.clear()
        return expected

    def stop(self, name, ranks, number):
        """Interrupt a run by a signal after its first checkpoint; on a slow machine, where the run may end first, try again."""
        for _ in range(5):
            code, said = self.signal(name, ranks, number)
            if code != 0:
                break
            self.clear()
        return code, said

    def signal(self, name, ranks, number):
        launcher = [MPIEXEC, "--oversubscribe", "-np", str(ranks)] if ranks > 1 else []
        process = subprocess.Popen([*launcher, LAPWING, *as_typed(self.arguments(name))[0]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        end = time.monotonic() + 60
        while not os.path.exists(self.out + ".lapwing-journal") and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        if process.poll() is None:
            listed = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False).stdout.split()
            with contextlib.suppress(ProcessLookupError, IndexError):       # the run may have ended
                os.kill(process.pid if ranks == 1 else int(listed[-1]), number)
        said = process.communicate(timeout=60)[1]
        return process.returncode, said


def check_signals(stage):
    """Any of three signals, to one rank: all ranks end with 75, and any other run resumes."""
    for name, ranks, number, others in (("searched", 1, signal.SIGTERM, 2), ("filtered", 3, signal.SIGUSR1, 1),
                                        ("image", 2, signal.SIGINT, 3), ("dense", 2, signal.SIGTERM, 1)):
        expected = stage.expect(name)
        code, said = stage.stop(name, ranks, number)
        what = f"{name} on {ranks} ranks, {number.name}"
        if code == 0:
            print(f"{what}: five runs ended before the signal")
            continue
        check(code == 75, f"{what}: ends with {code}: {said}")
        check(re.search(f"interrupted before the end .*: {number.name} has come; the same command goes on from here", said), f"{what}: {said}")
        check(not os.path.exists(stage.out), f"{what}: there is a result")
        said = lapwing(1, "info", stage.folder).stdout
        check(re.search(r"out\.h5\.lapwing-part\n +done: \d+ of \d+( channels)?, at 20..-.*Z: a run goes on from there\n +\S*lapwing\S* ", said),
              f"{what}: info prints {said}")
        said = lapwing(1, "verify", stage.out, code=65).stderr
        check(re.search(r"is incomplete \(\d+ of \d+( channels)? are done\)", said), f"{what}: verify prints {said}")
        went_on = lapwing(others, *stage.arguments(name, "--resume", "require"))
        check("continuing the interrupted run" in went_on.stderr, f"{what}: {went_on.stderr}")
        check(not left_beside(stage.out), f"{what}: {left_beside(stage.out)} is left")
        check_same(expected, stage.out, what)
        stage.clear()


def check_other_version(stage):
    """Another version's partial result is refused, and both commands report this. The journal ends with a checksum (FNV-1a)."""
    journal = stage.out + ".lapwing-journal"
    with open(journal, "rb") as file:
        kept = file.read()
    text, total = re.sub(rb"(?m)^version = .*$", b"version = 0.0.1 abc", kept[:kept.rindex(b"checksum = ")]), 0xcbf29ce484222325
    for byte in text:
        total = (total ^ byte) * 0x100000001b3 % 2 ** 64
    with open(journal, "wb") as file:
        file.write(text + b"checksum = %016x\n" % total)
    said = lapwing(1, "info", stage.folder).stdout
    check("Z: a run of lapwing 0.0.1 abc, and no other, goes on from there\n" in said, f"another version: info prints {said}")
    said = lapwing(2, *stage.arguments("searched"), code=78).stderr
    check(re.search("begun by another run: version was 0.0.1 abc, now it is .*--resume never", said), f"another version: {said}")
    with open(journal, "wb") as file:
        file.write(kept)


def check_refusals(stage):
    """The message names the options that differ; a refusal loses nothing."""
    expected = stage.expect("searched")
    code, said = stage.stop("searched", 1, signal.SIGTERM)
    if not check(code == 75, f"searched: ends with {code}: {said}"):
        return
    for key, was, given, *more in (("--mode", "same", "full", "--mode", "full"), ("--correlate", "not given", "yes", "--correlate"),
                                   ("--threshold", "3.5", "9", "--threshold", "9")):
        arguments = stage.arguments("searched", *more)
        if key == "--threshold":
            arguments = [word for i, word in enumerate(arguments) if word != "3.5" and not (word == key and arguments[i + 1] == "3.5")]
        said = lapwing(2, *arguments, code=78).stderr
        check(re.search(f"begun by another run: {key} was {was}, now it is {given}; .*--resume never", said), f"{key}: {said}")
    check_other_version(stage)
    neutral = ["--io", "collective", "--io-threads", "2", "--verbose"]
    shutil.copytree(stage.folder, stage.folder + ".copy")
    lapwing(2, *stage.arguments("searched", *neutral))
    check_same(expected, stage.out, "options that change no bit")
    stage.clear()
    for name in os.listdir(stage.folder + ".copy"):
        if "out.h5." in name:
            shutil.move(os.path.join(stage.folder + ".copy", name), stage.folder)
    shutil.rmtree(stage.folder + ".copy")
    times = os.stat(stage.path)
    os.utime(stage.path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    said = lapwing(1, *stage.arguments("searched"), code=78).stderr
    check(re.search("input was .*modified .*, now it is .*modified .*; use the former", said), f"another input: {said}")
    os.utime(stage.path, ns=(times.st_atime_ns, times.st_mtime_ns))
    lapwing(1, *stage.arguments("searched", "--resume", "never"))
    check(not left_beside(stage.out), f"never: {left_beside(stage.out)} is left")
    check_same(expected, stage.out, "never")
    stage.clear()
    said = lapwing(1, *stage.arguments("searched", "--resume", "require"), code=78).stderr
    check("--resume require: no run has left" in said, f"require: {said}")


def check_damage(stage):
    """A damaged file beside the result is refused; the message describes how to start over."""
    for ending in (".lapwing-journal", ".lapwing-rows", ".lapwing-part"):
        code, said = stage.stop("searched", 1, signal.SIGTERM)
        if not check(code == 75, f"searched: ends with {code}: {said}"):
            return
        with open(stage.out + ending, "r+b") as file:
            file.truncate(8 if ending == ".lapwing-rows" else 40)
        said = lapwing(2, *stage.arguments("searched"), code=65).stderr
        check(ending == ".lapwing-part" or "--resume never" in said, f"{ending}: {said}")
        lapwing(1, *stage.arguments("searched", "--resume", "never", "--quiet"))
        stage.clear()


def check_time_limit(stage):
    """A run that ends itself in time, resumed as often as needed."""
    expected = stage.expect("filtered")
    runs, code = 0, 75
    while code == 75 and runs < 50:
        runs += 1
        done = subprocess.run([LAPWING, *as_typed(stage.arguments("filtered", "--time-limit", f"{30 * runs}ms"))[0]], capture_output=True, text=True,
                              timeout=100, check=False)
        code = done.returncode
        check(code in (0, 75), f"--time-limit: {done.stderr}")
        # A busy machine may not end the round under way in time: the run then ends at once, with the same code.
        check(code == 0 or "the time limit is near" in done.stderr or "ended at once" in done.stderr, f"--time-limit: {done.stderr}")
    check(runs > 1, "--time-limit 30ms does not interrupt a run")
    check_same(expected, stage.out, f"{runs} runs with --time-limit")
    stage.clear()


def check_long_round(folder):
    """A round of minutes is left before its end: for a signal to a rank of one or two, and at the end of the time; all at once
    here."""
    path, runs = os.path.join(folder, "long.h5"), []
    with h5py.File(path, "w") as file:
        file["x"], file["h"] = random.standard_normal(1 << 22).astype("f4"), random.standard_normal((20000, 64)).astype("f4")
    for ranks, limit in ((1, []), (2, []), (2, ["--time-limit", "3s"])):
        launcher = [MPIEXEC, "--oversubscribe", "-np", str(ranks)] if ranks > 1 else []
        runs.append(subprocess.Popen([*launcher, LAPWING, "ols", "--input", path + ":/x", "--filters", path + ":/h", "--products",
                                      "best", "--noise", "given", "--segment", "256", "--threads", "1", "--output",
                                      os.path.join(folder, f"long{len(runs)}.h5"), *limit],
                                     # Open MPI's session lies there; two runs that start at once would make the same one.
                                     env={**os.environ, "TMPDIR": tempfile.mkdtemp()},
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True))
    beginnings = []
    for run, why in zip(runs, ("SIGTERM has come", "SIGTERM has come", "the time limit is near")):
        said = ""
        while "overlap-save, N = 256" not in said and (line := run.stderr.readline()):
            said += line
        beginnings.append(said)
        if "limit" not in why:
            listed = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True, check=False).stdout.split()
            os.kill(int(listed[-1]) if len(listed) > 1 else run.pid, signal.SIGTERM)
    for run, why, said in zip(runs, ("SIGTERM has come", "SIGTERM has come", "the time limit is near"), beginnings):
        try:
            said += run.communicate(timeout=100)[1]
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            said += "nothing for 100 s"
        check(run.returncode == 75 and f"interrupted within a round: {why}; the same command starts over" in said,
              f"a long round, {why}: {run.returncode}, {said}")


def check_each(stage):
    """--each resumes the begun result and leaves finished results alone."""
    folder = os.path.join(stage.folder, "results")
    for copy in ("a", "b"):
        shutil.copy(stage.path, os.path.join(stage.folder, copy + ".h5"))
    inputs = [os.path.join(stage.folder, copy + ".h5:/signal") for copy in ("a", "b")]
    arguments = ["ols", "--input", *inputs, "--filters", stage.path + ":/taps", "--axis", "1", "--each", "file", *MEMORY, "--output",
                 folder, "--checkpoint", "0"]
    process = subprocess.Popen([LAPWING, *arguments], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not os.path.exists(os.path.join(folder, "b.h5.lapwing-journal")) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    check(process.returncode in (0, 75), f"--each: {said}")
    said = lapwing(1, *arguments).stderr
    check("a.h5 is there: left alone" in said, f"--each: {said}")
    check(sorted(os.listdir(folder)) == ["a.h5", "b.h5"], f"--each: {os.listdir(folder)}")


with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
    os.mkdir(os.path.join(folder, "stage"))
    stage = Stage(os.path.join(folder, "stage"))
    check_signals(stage)
    check_refusals(stage)
    check_damage(stage)
    check_time_limit(stage)
    check_each(stage)
    if MEMORY:          # a GPU would be done too soon
        check_long_round(folder)
finish()
