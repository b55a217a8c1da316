"""Files of each convention whose metadata are wrong, missing or damaged: the program prints facts, a table or a message, and
never crashes or hangs. LAPWING_DAMAGES is the number of files of each convention (by default 4, with LW_TEST_ALL 8).

    damaged.py LAPWING MPIEXEC"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import subprocess

from tested import ALL, LAPWING, check, finish, random
from layouts import MADE
from said import facts_of

import h5py
import numpy as np

ODD = [np.float64("nan"), -1.0, 1e300, 0, 2**63 - 1, "", "x" * 5000, np.zeros(3), np.zeros((2, 2)), h5py.Empty("f8"),
       np.array([b"a", b"b"]), True, np.array([1 + 1j]), "2023-99-99T00:00:00", np.arange(4000.0)]


def spoil(file):
    """Change or remove an attribute or a small dataset."""
    places = []
    file.visititems(lambda name, item: places.extend([(name, key) for key in item.attrs]) or
                    places.append((name, None)) if isinstance(item, (h5py.Dataset, h5py.Group)) else None)
    places += [("/", key) for key in file.attrs]
    if not places:
        return
    name, key = places[random.integers(len(places))]
    value = ODD[random.integers(len(ODD))]
    if key in ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS") or (key is None and isinstance(file[name], h5py.Group)):
        return
    if key is not None:
        del file[name].attrs[key]
        if random.integers(4):
            file[name].attrs[key] = value
    elif (file[name].size or 0) < 10000:
        del file[name]
        if random.integers(4):
            file.create_dataset(name, data=value)


def flip(path):
    """Change bytes of the file itself."""
    with open(path, "r+b") as file:
        length = file.seek(0, os.SEEK_END)
        for _ in range(random.integers(1, 5)):
            file.seek(int(random.integers(length)))
            file.write(bytes([int(random.integers(256))]))


def look(name, what, may_crash):
    """Inspect a file. A child process looks first: if it crashes, the program reports bad data. A crash counts as a mistake of
    the program unless the file itself is damaged."""
    done = subprocess.run([LAPWING, "info", name], capture_output=True, text=True, errors="replace", timeout=100)
    check(done.returncode in (0, 65, 74), f"{what}: ends with {done.returncode}: {done.stderr[-300:]}")
    check(may_crash or ("crash" not in done.stderr and "Sanitizer" not in done.stderr and "runtime error" not in done.stderr),
          f"{what}: {done.stderr[-2000:]}")


def damage(work):
    """The program ends regularly, whatever the file holds and however it is damaged."""
    path = os.path.join(work, "damaged.h5")
    rounds = int(os.environ.get("LAPWING_DAMAGES", "8" if ALL else "4"))
    for key, (make, _) in MADE.items():
        with h5py.File(path, "w") as file:
            make(file)
        data = facts_of(path)[0].get("dataset", "")
        for number in range(rounds):
            with h5py.File(path, "w") as file:
                make(file)
                for _ in range(int(random.integers(1, 4))):
                    spoil(file)
            is_flipped = number % 4 == 3
            if is_flipped:
                flip(path)
            for name in (path, f"{path}:{data}")[number % 2:]:
                look(name, f"{key} {number}", is_flipped)


with tempfile.TemporaryDirectory() as folder:
    damage(folder)
finish()
