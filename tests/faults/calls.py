"""The K-th call of one kind fails in one rank of two. Every run ends in time, with the documented code and one message, and
leaves neither result nor temporary file; or it survives, and the result is right.

    calls.py LAPWING MPIEXEC FAULT_LIBRARY [all] [KIND ...]  all: every K instead of a selection (about ten minutes);
                                                             kinds: only these

Of the first, a middle and the last call two are tried, by turns. LW_TEST_ALL and `all` take three ranks; LW_TEST_ALL tries all
three calls, and more kinds on both the first and the last rank."""

import os
import sys
import tempfile

from trials import chosen, counted, data_of, run_with
from tested import ALL, check, finish, h5py, np, random

TRIES_ALL, KINDS = "all" in sys.argv[4:], set(sys.argv[4:]) - {"all"}
THOROUGH, SOME = ALL or TRIES_ALL, 3    # SOME: calls of each kind and job without `all`
RAM_DISK = "/dev/shm"
RANKS = 3 if THOROUGH else 2
LAST = RANKS - 1
undisturbed = {}        # calls and result of each run without a fault
CODES = {"memory": {71}, "thread": {71}, "process": {71}, "map": {71, 74}, "read": {65, 74}, "short-read": {65, 74}}   # others: 74
FILES = {"open": "in.h5", "read": "in.h5", "short-read": "in.h5"}       # all other kinds: the output


def make_input(path):
    with h5py.File(path, "w") as file:
        file["signal"] = random.standard_normal((3, 20000)).astype("f4")
        file.create_dataset("packed", data=random.standard_normal((3, 20000)).astype("f4"), chunks=(2, 3000), compression="gzip")
        file["taps"] = random.standard_normal((2, 65))
        file["mask"] = random.random(20000) < 0.001
        file["image"], file["kernel"] = random.standard_normal((60, 50)), random.standard_normal((5, 5))
        turns = np.arange(1 << 14) / (1 << 14)
        file["tones"] = sum(np.cos(2 * np.pi * frequency * turns) for frequency in (5, 500, 1234))


def jobs(path):
    return {
        "ols": ["ols", "--input", path + ":/signal", "--filters", path + ":/taps", "--axis", "1"],
        "packed": ["ols", "--input", path + ":/packed", "--filters", path + ":/taps", "--axis", "1", "--boundary", "wrap"],
        "peaks": ["ols", "--input", path + ":/signal", "--filters", path + ":/taps", "--axis", "1", "--mask", path + ":/mask", "--products",
                  "peaks,best", "--threshold", "1.5", "--cluster", "40"],
        "collective": ["ols", "--input", path + ":/signal", "--filters", path + ":/taps", "--axis", "1", "--io", "collective"],
        "conv2d": ["conv2d", "--input", path + ":/image", "--kernel", path + ":/kernel"],
        "sfft": ["sfft", "--input", path + ":/tones", "--sparsity", "3"],
    }


class Trial:
    def __init__(self, folder, job, kind, rank):
        self.folder, self.job, self.kind, self.rank = folder, job, kind, rank
        self.path, self.out, self.count = (os.path.join(folder, name) for name in ("in.h5", "out.h5", "count"))
        self.arguments = [*jobs(self.path)[job], "--output", self.out, "--overwrite", "--quiet", "--threads", "1"]
        self.name = f"{job}, {kind} on rank {rank}"

    def run(self, k):
        for name in (self.out, self.out + ".lapwing-part", self.count):
            if os.path.exists(name):
                os.remove(name)
        setting = {"FAULT": f"{self.kind}:{k}", "FAULT_RANK": self.rank, "FAULT_COUNT": self.count,
                   "FAULT_FILE": os.path.join(self.folder, FILES.get(self.kind, "out.h5")), "OMP_WAIT_POLICY": "passive"}
        return run_with(setting, RANKS, self.arguments)

    def judge(self, k, reference):
        code, said = self.run(k)
        what = f"{self.name}, call {k}: code {code}, {said[:300]}"
        is_kept = self.kind == "rename"     # the one failure after which the complete file stays
        check(os.path.exists(self.out + ".lapwing-part") == is_kept, "the temporary file: " + what)
        if code == 0:
            check(data_of(self.out) == reference, "another result: " + what)
        else:
            check(code in CODES.get(self.kind, {74}), what)
            check("lapwing: " in said, "no message: " + what)
            check(not os.path.exists(self.out), "a result: " + what)
        if is_kept:
            with h5py.File(self.out + ".lapwing-part") as file:
                check(file.attrs["lapwing_complete"] == 1 and "it stays as" in said, "it is whole, and the message says so: " + what)

    def count_calls(self):
        """@return the number of calls, and the right result. As many transfers can be short as can fail."""
        key = self.folder, self.job, self.kind.replace("short-", ""), self.rank
        if key not in undisturbed:
            code, said = self.run(0)
            good = check(code == 0, f"{self.name}, undisturbed: code {code}, {said}")
            undisturbed[key] = (counted(self.count), data_of(self.out)) if good else (0, None)
        return undisturbed[key]

    def all(self, turn):
        total, reference = self.count_calls()
        tries = list(range(1, total + 1) if TRIES_ALL else chosen(total, SOME))
        if not THOROUGH and len(tries) == SOME:
            del tries[turn % SOME]
        for k in tries:
            self.judge(k, reference)
        return total


def main():
    calls = {}
    plan = [("ols", kind, rank) for kind in ("open", "write", "short-write", "sync") for rank in (0, LAST)]
    plan += [("ols", "rename", 0), ("conv2d", "open", 1), ("sfft", "write", 0), ("sfft", "open", LAST), ("peaks", "write", 0)]
    plan += [(job, kind, 1) for job in ("ols", "packed", "sfft", "peaks") for kind in ("read", "short-read")]
    plan += [("ols", "reserve", 0), ("ols", "thread", LAST), ("ols", "process", LAST)]
    plan += [("collective", "mpi-read", 0), ("collective", "mpi-write", LAST)]
    plan += [("ols", "thread", 0), ("ols", "process", 0), ("collective", "mpi-read", LAST), ("collective", "mpi-write", 0)] if THOROUGH else []
    plan += [("packed", "thread", 1), ("peaks", "process", 0), ("peaks", "reserve", 0), ("sfft", "thread", 1)]
    plan += [("ols", "map", rank) for rank in (0, 1)] if os.path.isdir(RAM_DISK) else []
    plan += [(job, "memory", 1) for job in ("ols", "packed", "conv2d", "sfft", "peaks")]
    # only results on a RAM disk are written through a mapping
    with tempfile.TemporaryDirectory() as disk, tempfile.TemporaryDirectory(dir=RAM_DISK if os.path.isdir(RAM_DISK) else None) as ram:
        for folder in (disk, ram):
            make_input(os.path.join(folder, "in.h5"))
        for turn, (job, kind, rank) in enumerate(plan):
            if KINDS and kind not in KINDS:
                continue
            total = Trial(ram if kind == "map" else disk, job, kind, rank).all(turn)
            calls[kind] = calls.get(kind, 0) + total
            print(f"{job}, {kind} on rank {rank}: {total} calls")
    for kind, total in calls.items():
        check(total > 0, f"no call of kind {kind} was counted")
    finish()


main()
