"""Another program fills the disk while a run writes, on a RAM disk: there the result is written through mappings, whose writes
return no error, and no space can be reserved. The run ends on all ranks with code 74 and the reason; no file is left.

    full_disk.py LAPWING MPIEXEC FAULT_LIBRARY     needs root for a RAM disk of its own; otherwise it is skipped"""

import os
import subprocess
import sys
import tempfile

from trials import held_at, wait_until_held
from tested import LAPWING, MPIEXEC, check, finish, h5py, np, random

DISK_MIB, RANKS = 48, 3


def fill(disk):
    """Fill the disk except for a few pages."""
    with open(os.path.join(disk, "filler"), "wb") as file:
        room = os.statvfs(disk)
        os.posix_fallocate(file.fileno(), 0, (room.f_bavail - 64) * room.f_frsize)


def run_on_full(folder, disk, way):
    """The last rank opens the file when the disk is full: after the free space was checked, before the first sample is written."""
    out, held = os.path.join(disk, "out.h5"), os.path.join(folder, "held")
    setting = held_at("open:1", "out.h5.lapwing-part", held, FAULT_RANK=RANKS - 1)
    command = [MPIEXEC, "-np", str(RANKS), "env", *[f"{key}={value}" for key, value in setting.items()], LAPWING, "ols", "--input",
               os.path.join(folder, "in.h5:/signal"), "--filters", os.path.join(folder, "in.h5:/taps"), "--axis", "1", "--output", out,
               "--quiet", "--threads", "1", "--io", way]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    if check(wait_until_held(process, held), f"{way}: the last rank opens the file"):
        fill(disk)
        os.remove(held)
    try:
        _, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        check(False, f"{way}: the run hangs")
        return
    check(process.returncode == 74, f"{way}: code {process.returncode}: {said}")
    check("lapwing: " in said and "out.h5.lapwing-part" in said and "No space left on device" in said, f"{way}: {said}")
    check(os.listdir(disk) == ["filler"], f"{way}: left are {os.listdir(disk)}")
    os.remove(os.path.join(disk, "filler"))


with tempfile.TemporaryDirectory() as work:
    mount = os.path.join(work, "disk")
    os.mkdir(mount)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", mount], capture_output=True).returncode:
        print("skipped: mounts are not permitted: tmpfs")
        sys.exit(77)
    try:
        with h5py.File(os.path.join(work, "in.h5"), "w") as signal:
            signal["signal"], signal["taps"] = random.standard_normal((2, 3000000)).astype("f4"), np.ones(65)
        run_on_full(work, mount, "auto")
    finally:
        subprocess.run(["umount", mount], check=True)
finish()
