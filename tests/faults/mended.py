"""Troubles of a run that writes, and their remedies: a full disk, a limit of file sizes, a file system that becomes read-only, an
input that is cut, replaced, changed or removed, an output folder that is moved or removed. The run ends with the documented code
and one message. After the remedy the same command makes the right result, and leaves no file beside it.

    mended.py LAPWING MPIEXEC FAULT_LIBRARY [all]     all: 20 sizes of a full disk instead of 3

When the first journal exists, the run is held at the second one, and all ranks are stopped (SIGSTOP), until the trouble has been
made. On a disk whose syncs may last as long as the run, no second journal is certain: there the run is held at its second sync.
Disks of the test's own need root and mount; a disk that cannot be mounted here is reported and left out. Not every kernel has
quotas of a file system: a limit of file sizes (RLIMIT_FSIZE) replaces them."""

import contextlib
import glob
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

from trials import LIBRARY, data_of, end_session, held_at, wait_until_held
from tested import LAPWING, MPIEXEC, check, finish, h5py, lapwing, needed_memory, random

RANKS, MOST_S, SIZES = 2, 60, 20 if "all" in sys.argv[4:] else 3
JOURNAL, PART = ".lapwing-journal", ".lapwing-part"
JOURNALS, SYNCS = ("rename:2", JOURNAL), ("sync:2", PART)
outcomes = {}


def ranks_of(leader):
    """Processes of the program in a session."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            name, rest = open(f"/proc/{pid}/stat").read().split("(", 1)[1].rsplit(")", 1)
            if name == os.path.basename(LAPWING)[:15] and int(rest.split()[3]) == leader:
                found.append(int(pid))
    return found


def send(leader, number):
    for pid in ranks_of(leader):
        with contextlib.suppress(OSError):
            os.kill(pid, number)


class Stage:
    def __init__(self, folder):
        self.folder, self.input, self.memory = folder, os.path.join(folder, "in.h5"), None
        with h5py.File(self.input, "w") as file:
            file["signal"] = random.standard_normal((4, 400000)).astype("f4")
        self.taps = os.path.join(folder, "taps.h5")
        with h5py.File(self.taps, "w") as file:
            file["taps"] = random.standard_normal((2, 65))
        self.memory = needed_memory(lapwing(RANKS, *self.arguments(folder), "--memory", "1M", code=78).stderr)
        lapwing(RANKS, *self.arguments(folder))
        self.reference = data_of(self.out(folder))
        self.bytes = os.path.getsize(self.out(folder))
        self.times = os.stat(self.input)

    @staticmethod
    def out(folder):
        return os.path.join(folder, "out.h5")

    def arguments(self, folder):
        memory = ["--memory", self.memory] if self.memory else []
        return ["ols", "--input", self.input + ":/signal", "--filters", self.taps + ":/taps", "--axis", "1", "--products", "filtered,peaks",
                "--threshold", "3.5", "--checkpoint", "0", "--threads", "1", "--output", self.out(folder), *memory]

    def run(self, folder, trouble=None, limit=None, at=JOURNALS):
        """A run that meets a trouble when it is held at this call for this file. @return code, message"""
        def prepare():
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        held = os.path.join(self.folder, "held")
        setting = held_at(at[0], self.out(folder) + at[1], held, FAULT_RANK=0) if trouble else {}
        command = [MPIEXEC, "-np", str(RANKS), "env", *[f"{key}={value}" for key, value in setting.items()], LAPWING,
                   *self.arguments(folder), "--quiet"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   preexec_fn=prepare)
        if trouble and wait_until_held(process, held):
            send(process.pid, signal.SIGSTOP)
            trouble()
            os.remove(held)
            send(process.pid, signal.SIGCONT)
        elif trouble:
            trouble()
        try:
            said = process.communicate(timeout=MOST_S)[1]
            return process.returncode, said
        except subprocess.TimeoutExpired:
            end_session(process.pid)
            process.communicate()
            return "no end", ""

    @staticmethod
    def clear(folder):
        for path in glob.glob(os.path.join(folder, "out.h5*")):
            os.remove(path)

    def judge(self, what, folder, codes, trouble=None, mend=None, limit=None, at=JOURNALS):
        for _ in range(5):              # repeat if the run ended before the trouble
            code, said = self.run(folder, trouble, limit, at)
            if code != 0 or 0 in codes:
                break
            (mend or (lambda: None))()
            self.clear(folder)
        check(code in codes, f"{what}: code {code}: {said[:500]}")
        check(code == 0 or said.count("lapwing: ") - said.count("lapwing: warning") == 1, f"{what}: not one message: {said[:900]}")
        check(code == 0 or not os.path.exists(self.out(folder)), f"{what}: a result, code {code}")
        if mend:
            mend()
        kept = os.path.exists(self.out(folder) + JOURNAL)
        if code != 0:
            again, said = self.run(folder)
            check(again == 0, f"{what}: {code}, then {again}: {said[:500]}")
        if check(os.path.exists(self.out(folder)), f"{what}: {code}, then no result"):
            check(data_of(self.out(folder)) == self.reference, f"{what}: {code}, then another result")
        left = [name for name in os.listdir(folder) if name.startswith("out.h5.")]
        check(not left, f"{what}: {code}, then {left} is left")
        self.clear(folder)
        outcome = f"{what.split(',')[0]}: {code}{', gone on with' if code != 0 and kept else ', started over' if code != 0 else ''}"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1


# ---- disks -------------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def mounted(folder, *how):
    """Yield the folder of a disk, or None if it cannot be mounted."""
    os.makedirs(folder, exist_ok=True)
    if os.geteuid() != 0 or subprocess.run(["mount", *how, folder], capture_output=True).returncode:
        print(f"left out, since it cannot be mounted here: {' '.join(how)}")
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def fill_up(disk, left):
    """Another program takes all but `left` bytes."""
    room = os.statvfs(disk)
    take = room.f_bavail * room.f_frsize - left
    with open(os.path.join(disk, "filler"), "wb") as file:
        if take > 0:
            os.posix_fallocate(file.fileno(), 0, take)


def full_disk(stage, disk):
    filler = os.path.join(disk, "filler")
    for i in range(SIZES):
        left = stage.bytes * i // SIZES
        stage.judge(f"full disk, {left} bytes are left", disk, {0, 74}, lambda: fill_up(disk, left), lambda: os.remove(filler))
    fill_up(disk, stage.bytes // 2)
    stage.judge("too small a disk, from the start", disk, {74}, None, lambda: os.remove(filler))


def file_sizes(stage, folder):
    for part in (2, 3):         # with less than some MiB Open MPI itself does not start, or does not end
        stage.judge("file sizes, limited", folder, {74}, limit=stage.bytes * part // 4)


def read_only(stage, work):
    """A file system detects damage, and refuses further writes."""
    image, folder = os.path.join(work, "image"), os.path.join(work, "ext4")
    with open(image, "wb") as file:
        file.truncate(4 * stage.bytes + (16 << 20))
    if not shutil.which("mkfs.ext4") or subprocess.run(["mkfs.ext4", "-q", "-F", image], capture_output=True).returncode:
        print("left out: there is no mkfs.ext4")
        return
    with mounted(folder, "-o", "loop,errors=remount-ro", image) as disk:
        if not disk:
            return
        loop = [line.split()[0] for line in open("/proc/mounts") if f" {disk} " in line][0]
        trigger = f"/sys/fs/ext4/{os.path.basename(loop)}/trigger_fs_error"
        if not os.path.exists(trigger):
            print(f"left out: the kernel has no {trigger}")
            return

        def damage():
            with open(trigger, "w") as file:
                file.write("test")

        def repair():
            subprocess.run(["umount", disk], check=True)
            subprocess.run(["e2fsck", "-p", "-f", image], capture_output=True, check=False)
            subprocess.run(["mount", "-o", "loop,errors=remount-ro", image, disk], check=True)
        stage.judge("read-only, by an error", disk, {74}, damage, repair, at=SYNCS)


# ---- inputs, folders ------------------------------------------------------------------------------------------------------------

def inputs(stage, folder):
    copy = stage.input + ".copy"

    def back():
        shutil.copyfile(copy, stage.input + ".new")
        os.rename(stage.input + ".new", stage.input)
        os.utime(stage.input, ns=(stage.times.st_atime_ns, stage.times.st_mtime_ns))

    def cut():
        os.truncate(stage.input, stage.times.st_size // 8)

    def replace():
        with h5py.File(stage.input + ".new", "w") as file:
            file["signal"] = random.standard_normal((4, 400000)).astype("f4")
        os.rename(stage.input + ".new", stage.input)

    def change():
        with open(stage.input, "r+b") as file:      # in place, in spite of any lock
            file.seek(stage.times.st_size // 2)
            file.write(bytes(stage.times.st_size // 2))
    shutil.copyfile(stage.input, copy)
    for name, trouble in (("cut", cut), ("replaced", replace), ("changed", change), ("gone", lambda: os.remove(stage.input))):
        stage.judge(f"input, {name}", folder, {65}, trouble, back)


def folders(stage, folder):
    out, away = os.path.join(folder, "results"), os.path.join(folder, "away")
    os.mkdir(out)
    stage.judge("folder, moved away", out, {74}, lambda: os.rename(out, away), lambda: os.rename(away, out))
    stage.judge("folder, removed", out, {74}, lambda: shutil.rmtree(out), lambda: os.mkdir(out))


def lost_sync(stage, folder):
    """A failed sync reports lost data only once: the journal must not list data written before it, even after a later sync
    succeeds."""
    setting = {"LD_PRELOAD": LIBRARY, "FAULT": "sync:1", "FAULT_RANK": RANKS - 1, "FAULT_FILE": "out.h5" + PART}
    done = subprocess.run([MPIEXEC, "-np", str(RANKS), "env", *[f"{key}={value}" for key, value in setting.items()], LAPWING,
                           *stage.arguments(folder), "--quiet"], capture_output=True, text=True, timeout=MOST_S, check=False)
    check(done.returncode == 74, f"a sync that fails: code {done.returncode}: {done.stderr}")
    check(not glob.glob(os.path.join(folder, "out.h5*")), f"a sync that fails: {os.listdir(folder)} is left")


def opens(part):
    try:
        with h5py.File(part, locking=False) as file:        # the run holds a lock
            return file.attrs["lapwing_complete"] == 0 and len(file["filtered"][:, :, -1]) == 2
    except (OSError, RuntimeError, KeyError):
        return False


def looked_at(stage, folder):
    """The run is held at each write to the temporary file. Other programs can open this file after its first journal, until its
    tables are written; from then on an undo file exists."""
    part, held, n_opened = stage.out(folder) + PART, os.path.join(stage.folder, "held"), 0
    setting, arguments = held_at("write:1+", part, held), [*stage.arguments(folder)[:-1], "1M", "--io", "collective"]
    needed = needed_memory(lapwing(RANKS, *arguments, code=78).stderr)
    arguments[-3] = f"{int(needed[:-1]) + 2}M"         # some 30 rounds
    process = subprocess.Popen([MPIEXEC, "-np", str(RANKS), "env", *[f"{key}={value}" for key, value in setting.items()], LAPWING,
                                *arguments, "--quiet"], start_new_session=True)
    while wait_until_held(process, held):
        if os.path.exists(stage.out(folder) + JOURNAL) and not os.path.exists(stage.out(folder) + ".lapwing-undo"):
            n_opened += check(opens(part), f"the part of a run, after {n_opened} writes that it opened behind")
        os.remove(held)
    check(process.wait(MOST_S) == 0 and n_opened > 2, f"the part of a run: code {process.returncode}, opened {n_opened} times")
    stage.clear(folder)


with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as work:
    stage = Stage(work)
    os.remove(stage.out(work))
    os.mkdir(os.path.join(work, "out"))
    lost_sync(stage, os.path.join(work, "out"))
    looked_at(stage, os.path.join(work, "out"))
    inputs(stage, os.path.join(work, "out"))
    folders(stage, work)
    file_sizes(stage, os.path.join(work, "out"))
    with mounted(os.path.join(work, "disk"), "-t", "tmpfs", "-o", f"size={4 * stage.bytes}", "tmpfs") as disk:
        if disk:
            full_disk(stage, disk)
    read_only(stage, work)
print("\n".join(f"{name}: {n}" for name, n in sorted(outcomes.items())))
finish()
