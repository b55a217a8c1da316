"""The K-th call of one kind fails in a run that keeps a journal: in a new run, in one that continues an interrupted run, and in
one that continues with a complete result that could not be renamed. Every run ends in time, with the documented code and a
message. The same command without a fault then makes the right result, and leaves no file beside it.

    journals.py LAPWING MPIEXEC FAULT_LIBRARY [all] [KIND ...]  all: every K instead of a selection (hours);
                                                                kinds: only these

Of the first and the last call one is tried, by turns; LW_TEST_ALL tries both."""

import itertools
import os
import shutil
import sys
import tempfile

from trials import chosen, counted, data_of, run_with
from tested import ALL, LAPWING, check, finish, h5py, lapwing, needed_memory, np, random

TRIES_ALL, KINDS = "all" in sys.argv[4:], set(sys.argv[4:]) - {"all"}
RANKS, SOME = 2, 2
CODES = {"memory": {71}, "thread": {71}, "process": {71}, "map": {71, 74}, "read": {65, 74}, "short-read": {65, 74},
         "open": {65, 74}}      # all others: 74. HDF5 does not report whether it cannot open a file or the file is damaged
ON_DISK = ["write", "short-write", "reserve"]     # on a RAM disk samples are written through mappings, and nothing is reserved
ON_RAM_DISK = ["rename", "truncate", "lock", "process", "thread", "sync", "open", "map", "unlink", "read", "short-read", "memory"]
RAM_DISK = "/dev/shm"
PART, JOURNAL = ".lapwing-part", ".lapwing-journal"
counts, outcomes = {}, {}


def make_input(path):
    turns = np.arange(1 << 12) / (1 << 12)
    with h5py.File(path, "w") as file:
        file["signal"], file["taps"] = random.standard_normal((4, 200000)).astype("f4"), random.standard_normal((2, 65))
        file["tones"] = np.array([sum(np.cos(2 * np.pi * (frequency + c) * turns) for frequency in (5, 500, 1234)) for c in range(6)])


def jobs(path):
    search = ["ols", "--input", path + ":/signal", "--filters", path + ":/taps", "--axis", "1", "--products", "filtered,peaks",
              "--threshold", "3.5", "--threads", "1"]
    needed = needed_memory(lapwing(RANKS, *search, "--output", path + ".out", "--memory", "1M", code=78).stderr)
    return {"ols": [*search, "--memory", f"{int(needed[:-1]) + 4}M"],
            "sfft": ["sfft", "--input", path + ":/tones", "--axis", "1", "--sparsity", "3", "--threads", "1"]}


class Stage:
    """A job, its result, and the partial results of earlier runs."""

    def __init__(self, folder, arguments):
        self.folder, self.out, self.count = folder, os.path.join(folder, "out.h5"), os.path.join(folder, "count")
        self.arguments = [*arguments, "--output", self.out, "--overwrite", "--checkpoint", "0", "--quiet"]

    def beside(self):
        return sorted(name for name in os.listdir(self.folder) if name.startswith("out.h5") and name != "out.h5")

    def clear(self):
        for name in [*self.beside(), "out.h5", "count"]:
            if os.path.exists(os.path.join(self.folder, name)):
                os.remove(os.path.join(self.folder, name))

    def put(self, state):
        self.clear()
        for name in os.listdir(state) if state else []:
            shutil.copy(os.path.join(state, name), self.folder)

    def run(self, kind, k, rank, file=None):
        setting = {"FAULT": f"{kind}:{k}", "FAULT_COUNT": self.count, "FAULT_FILE": file or self.out, "OMP_WAIT_POLICY": "passive"}
        if rank != "all":
            setting["FAULT_RANK"] = rank
        return run_with(setting, RANKS, self.arguments)

    def keep(self, name, kind, file):
        """Keep the partial result of a run whose last call of this kind fails. @return a folder with it"""
        for _ in range(5):              # rounds depend on the free memory and checkpoints on the disk: not always the same
            self.clear()
            self.run(kind, 0, 0, file)
            last = counted(self.count)
            self.clear()
            code, said = self.run(kind, last, 0, file)
            if code != 0 and "out.h5" + JOURNAL in self.beside():
                break
        state = os.path.join(self.folder, name)
        os.mkdir(state)
        for left in self.beside():
            shutil.copy(os.path.join(self.folder, left), state)
        self.clear()
        check(code == 74 and {"out.h5" + PART, "out.h5" + JOURNAL} <= set(os.listdir(state)), f"{name}: {code}, {os.listdir(state)}: {said}")
        return state

    def judge(self, what, codes, reference):
        """Judge a run with a fault."""
        code, said = self.code, self.said
        check(code == 0 or code in codes, f"{what}: code {code}, {said[:400]}")
        if code == 0:
            check(data_of(self.out) == reference, f"{what}: another result")
        else:
            check("lapwing: " in said, f"{what}: no message")
            check(not os.path.exists(self.out), f"{what}: a result, code {code}")
        left = self.beside()
        check("out.h5" + PART in left or "out.h5" + JOURNAL not in left or "unlink" in what, f"{what}: a journal without a file: {left}")
        outcome = "the result" if code == 0 else f"{code}, begun" if "out.h5" + JOURNAL in left else f"{code}"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        again, said = run_with({}, RANKS, self.arguments)
        if check(again == 0, f"{what}: {code}, then {again}, {said[:400]}"):
            check(data_of(self.out) == reference, f"{what}: {code}, then another result")
        check(not self.beside(), f"{what}: {code}, then {self.beside()} is left")

    def count_calls(self, name, state, kind, rank, file, reference):
        self.put(state)
        code, said = self.run(kind, 0, rank, file)
        good = check(code == 0 and data_of(self.out) == reference, f"{name}, undisturbed: code {code}, {said}")
        return counted(self.count) if good else 0

    def try_all(self, name, state, kind, rank, file, reference, takes_first):
        """@param takes_first whether only the first call fails, for which no run counts them"""
        total = 1 if takes_first else self.count_calls(name, state, kind, rank, file, reference)
        for k in range(1, total + 1) if TRIES_ALL else chosen(total, SOME) if ALL else range(max(1, total), total + 1):
            self.put(state)
            self.code, self.said = self.run(kind, k, rank, file)
            check(self.code != 0 or counted(self.count) > 0, f"{name}: no call of kind {kind}")
            counts[kind] = counts.get(kind, 0) + 1
            self.judge(f"{name}, {kind} {k} of {total} on rank {rank}", CODES.get(kind, {74}), reference)
        print(f"{name}, {kind} on rank {rank}: {total} calls", flush=True)


def some(name, kinds):
    """Each kind with one job and one state."""
    places = [((ON_RAM_DISK + ON_DISK).index(kind), kind) for kind in kinds]
    return [(kind, ("new", "begun", "complete")[place % 3], 0) for place, kind in places if place % 2 == (name == "sfft")]


def states_of(stage):
    return {"new": None, "begun": stage.keep("begun", "write", stage.out + ".lapwing-rows"),
            "complete": stage.keep("complete", "rename", stage.out + PART)}


def try_job(name, arguments, ram, disk):
    """The partial results of earlier runs are made on the RAM disk, and used on both disks."""
    first = Stage(ram, arguments)
    code, said = run_with({}, RANKS, first.arguments)
    check(code == 0, f"{name}: {said}")
    reference = data_of(first.out)
    states = states_of(first)
    for folder, its_kinds in ((ram, ON_RAM_DISK), (disk, ON_DISK)):
        stage, kinds = Stage(folder, arguments), [kind for kind in its_kinds if not KINDS or kind in KINDS]
        for turn, (kind, state, rank) in enumerate(itertools.product(kinds, states, (0, 1, "all")) if TRIES_ALL else some(name, kinds)):
            stage.try_all(f"{name}, {state}", states[state], kind, rank, folder if kind == "sync" else None, reference,
                          not (TRIES_ALL or ALL or turn % 2))


def main():
    with tempfile.TemporaryDirectory(dir=RAM_DISK if os.path.isdir(RAM_DISK) else None) as ram, tempfile.TemporaryDirectory() as disk:
        path = os.path.join(ram, "in.h5")
        make_input(path)
        for name, arguments in jobs(path).items():
            folders = [os.path.join(work, name) for work in (ram, disk)]
            for folder in folders:
                os.mkdir(folder)
            try_job(name, arguments, *folders)
    print("calls that failed:", ", ".join(f"{kind} {n}" for kind, n in counts.items()))
    print("outcomes:", ", ".join(f"{outcome}: {n}" for outcome, n in sorted(outcomes.items())))
    finish()


main()
