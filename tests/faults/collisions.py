"""Files that other programs create, change or remove while a run reads and writes, and ranks that were started differently. The
run is refused or ends with the documented code, and no file of another program is touched.

    collisions.py LAPWING MPIEXEC FAULT_LIBRARY"""

import fcntl
import os
import subprocess
import tempfile

from trials import held_at, wait_until_held
from tested import LAPWING, MPIEXEC, check, finish, h5py, np, random

os.chdir(tempfile.mkdtemp())        # below the folder that tests/alone removes
PART, HELD = ".lapwing-part", os.path.abspath("held")


def job(out, source="in.h5", filters="in.h5"):
    return ["ols", "--input", source + ":/signal", "--axis", "1", "--filters", filters + ":/taps", "--output", out, "--quiet"]


def run(arguments, *setting):
    return subprocess.run(["env", *setting, LAPWING, *arguments], capture_output=True, text=True, timeout=60)


def expect(done, code, text, what):
    check(done.returncode == code and text in done.stderr, f"{what}: code {done.returncode}, not {code} with '{text}': {done.stderr}")


def start_held(call, file, arguments):
    """Start a run that waits at the call; return when it waits."""
    setting = held_at(call, os.path.abspath(file), HELD, OMP_WAIT_POLICY="passive")
    process = subprocess.Popen([LAPWING, *arguments], stderr=subprocess.PIPE, text=True, env={**os.environ, **setting})
    check(wait_until_held(process, HELD), f"the run waits at {call}")
    return process


def end(process):
    if os.path.exists(HELD):
        os.remove(HELD)
    _, said = process.communicate(timeout=60)
    return subprocess.CompletedProcess([], process.returncode, "", said)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def input_is_the_temporary_file():
    os.link("in.h5", "a.h5" + PART)
    before = content("in.h5")
    expect(run(job("a.h5", source="a.h5" + PART)), 2, "is the file in which --output a.h5 grows", "the input")
    expect(run(job("a.h5", filters="a.h5" + PART)), 2, "is the file in which --output a.h5 grows", "the filters")
    expect(run(["sfft", "--input", "a.h5" + PART + ":/signal", "--axis", "1", "--sparsity", "2", "--output", "a.h5"]), 2, "grows", "sfft")
    expect(run(job("a.h5")), 2, "grows", "the input under another name")
    check(content("in.h5") == before, "the input has changed")


def temporary_name_is_taken():
    write("precious", "precious")
    os.symlink("precious", "b.h5" + PART)
    expect(run(job("b.h5")), 74, "it is a symbolic link", "a link")
    os.link("precious", "c.h5" + PART)
    expect(run(job("c.h5")), 74, "hard link", "a hard link")
    check(content("precious") == b"precious", "the file behind a link has changed")
    os.mkfifo("d.h5" + PART)
    expect(run(job("d.h5")), 74, "no plain file", "a pipe")
    os.mkdir("e.h5" + PART)
    expect(run(job("e.h5")), 74, "directory", "a folder")
    if os.geteuid() == 0:
        write("f.h5" + PART, "somebody's")
        os.chown("f.h5" + PART, 65534, 65534)
        expect(run(job("f.h5")), 74, "belongs to another user", "another user's file")
        check(content("f.h5" + PART) == b"somebody's", "another program's temporary file has changed")
    with open("g.h5" + PART, "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        expect(run(job("g.h5")), 74, "another run is writing", "another run's file")
    expect(run(job("g.h5")), 0, "", "what a killed run has left")


def name_is_taken():
    os.symlink("nowhere", "h.h5")
    for arguments in (job("h.h5"), ["sfft", "--input", "in.h5:/signal", "--axis", "1", "--sparsity", "2", "--output", "h.h5"]):
        expect(run(arguments), 74, "exists, as a link", "a link to nothing")
        arguments[arguments.index("h.h5")] = "nofolder/o.h5"
        expect(run(arguments), 74, "No such file or directory", "no such folder")
    check(not os.path.exists("h.h5" + PART), "a temporary file was made")
    os.symlink("loop.h5", "loop.h5")
    expect(run([*job("loop.h5"), "--overwrite"]), 74, "Too many levels of symbolic links", "a link to itself")
    expect(run(job("x" * 242)), 0, "", "the longest name")
    expect(run(job("x" * 243)), 74, "File name too long", "a name whose temporary name is too long")
    process = start_held("sync:2", "i.h5" + PART, job("i.h5"))
    write("i.h5", "another's")
    expect(end(process), 74, f"it stays as 'i.h5{PART}'", "a name that is taken meanwhile")
    check(content("i.h5") == b"another's", "another program's file has changed")
    with h5py.File("i.h5" + PART) as file:
        check(file.attrs["lapwing_complete"] == 1, "the finished result is not complete")


def another_run_finishes_first():
    write("j.h5" + PART, "the first run's")
    process = start_held("lock:1", "j.h5" + PART, job("j.h5"))
    os.rename("j.h5" + PART, "j.h5")
    expect(end(process), 74, "exists: give --overwrite", "a run that comes second")
    check(content("j.h5") == b"the first run's" and not os.path.exists("j.h5" + PART), "the first run's result has changed")


def temporary_file_is_replaced():
    process = start_held("sync:2", "k.h5" + PART, job("k.h5"))
    os.remove("k.h5" + PART)
    write("k.h5" + PART, "another's")
    expect(end(process), 74, "deleted or replaced", "a temporary file that is replaced")
    check(content("k.h5" + PART) == b"another's" and not os.path.exists("k.h5"),
          "another program's file became the result or was removed")


def input_changes():
    for what, change in (("cut", lambda: os.truncate("l.h5", 100000)), ("written", lambda: os.utime("l.h5")), ("deleted", lambda: os.remove("l.h5"))):
        write("l.h5", "")
        with open("l.h5", "wb") as file:
            file.write(content("in.h5"))
        process = start_held("sync:1", "m.h5" + PART, job("m.h5", source="l.h5"))
        change()                        # too late: everything has been read and compared
        expect(end(process), 0, "", f"an input that is {what} afterwards")
        os.remove("m.h5")
        if not os.path.exists("l.h5") or os.path.getsize("l.h5") < 200000:
            with open("l.h5", "wb") as file:
                file.write(content("in.h5"))
        process = start_held("lock:1", "m.h5" + PART, job("m.h5", source="l.h5"))
        change()                        # opened and described, not yet read
        done = end(process)
        check(done.returncode in (65, 74) and "l.h5" in done.stderr, f"an input that is {what}: {done.returncode}, {done.stderr}")
        check(not os.path.exists("m.h5") and not os.path.exists("m.h5" + PART), f"an input that is {what}: nothing is left")


def stale_semaphore():
    """A semaphore as Open MPI's shared file pointers leave it: taken, with the file's name."""
    import ctypes
    libc = ctypes.CDLL(None)
    name = f"/OMPIO_n{os.getpid()}.h5{PART}".encode()
    libc.sem_open(name, os.O_CREAT, 0o666, 0)
    try:
        for setting in ((), ("OMPI_MCA_io=ompio",)):
            expect(run([*job(f"n{os.getpid()}.h5"), "--overwrite"], *setting), 0, "", "a semaphore of that name")
    finally:
        libc.sem_unlink(name)


def locks_of_hdf5():
    """The result has one lock for any of the user's settings of HDF5's locks. An input that is being written is refused unless
    locks are off."""
    for value in ("TRUE", "1", "BEST_EFFORT", "FALSE", "0"):
        expect(run([*job("p.h5"), "--overwrite"], "HDF5_USE_FILE_LOCKING=" + value), 0, "", f"HDF5's locks: {value}")
    with open("in.h5") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        for setting in ("NOTHING=", "HDF5_USE_FILE_LOCKING=TRUE"):
            expect(run([*job("p.h5"), "--overwrite"], setting), 74, "another program writes it", f"a locked input, {setting}")
        expect(run([*job("p.h5"), "--overwrite"], "HDF5_USE_FILE_LOCKING=FALSE"), 0, "", "a locked input, without locks")


def ranks_differ():
    def both(first, second):
        return subprocess.run([MPIEXEC, "-np", "1", LAPWING, *first, ":", "-np", "1", LAPWING, *second], capture_output=True, text=True, timeout=60)
    expect(both(job("o.h5"), [*job("o.h5"), "--nosuch", "1"]), 2, "--nosuch: no such option", "one rank's misspelt option")
    expect(both([*job("o.h5"), "--mode", "same"], [*job("o.h5"), "--mode", "full"]), 78, "the command line differs", "other options")
    expect(both(job("o.h5"), ["info"]), 78, "the command line differs", "another command")
    check(not os.path.exists("o.h5") and not os.path.exists("o.h5" + PART), "a result or a temporary file is left")


with h5py.File("in.h5", "w") as signal:
    signal["signal"], signal["taps"] = random.standard_normal((3, 30000)).astype("f4"), np.ones(65)
for case in (input_is_the_temporary_file, temporary_name_is_taken, name_is_taken, another_run_finishes_first, temporary_file_is_replaced,
             input_changes, stale_semaphore, locks_of_hdf5, ranks_differ):
    case()
finish()
