"""The K-th call of CUDA or cuFFT fails, alone or with all later calls, in one rank. Every run ends in time, with a documented
code and one message, and leaves no result; or it survives, and the result is right. The same command then continues or starts
over.

    calls.py FAULTY_LAPWING MPIEXEC [emulated] [all]     all: every K of all jobs, instead of a few of each"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "cli"))
from tested import LAPWING, MPIEXEC, as_typed, check, finish, h5py, np, random  # noqa: E402

IS_EMULATED, TRIES_ALL = "emulated" in sys.argv[3:], "all" in sys.argv[3:]
FEW, END_S, CODES = 3 if IS_EMULATED else 5, 60, {71, 78}
AT_A_TIME = max(1, (os.cpu_count() or 2) // 2)


def make_input(path):
    with h5py.File(path, "w") as file:
        file["signal"] = random.standard_normal((3, 30000)).astype("f4")
        file["taps"], file["long"] = random.standard_normal((2, 65)), random.standard_normal((1, 9001))
        file["image"] = random.standard_normal((300, 200)).astype("f4")
        file["kernel"], file["wide"] = random.standard_normal((5, 5)), random.standard_normal((90, 90))
        turns = np.arange(1 << 14) / (1 << 14)
        file["tones"] = np.array([sum(np.cos(2 * np.pi * (frequency + c) * turns) for frequency in (5, 500, 1234)) for c in range(2)])


def jobs(path):
    ols, conv2d = ["ols", "--input", path + ":/signal", "--axis", "1"], ["conv2d", "--input", path + ":/image"]
    sfft = ["sfft", "--input", path + ":/tones", "--axis", "1", "--sparsity", "3"]
    found = {
        "ols": [*ols, "--filters", path + ":/taps"],
        "peaks": [*ols, "--filters", path + ":/taps", "--products", "peaks,best", "--threshold", "3", "--cluster", "40"],
        "conv2d": [*conv2d, "--kernel", path + ":/kernel"],
        "sfft": sfft,
    }
    if not IS_EMULATED:
        found.update({
            "long": [*ols, "--filters", path + ":/long"],
            "wide": [*conv2d, "--kernel", path + ":/wide"],
            "padded": [*conv2d, "--kernel", path + ":/wide", "--algorithm", "padded"],
            "dense": [*sfft, "--algorithm", "dense"],
            "sfft2": [*sfft, "--algorithm", "sfft2"],
        })
    return found


class Trial:
    def __init__(self, folder, name, arguments, ranks):
        self.name, self.arguments, self.ranks, self.folder = f"{name}{ranks}", arguments, ranks, folder
        self.expected, self.calls = None, 0

    def run(self, fault, out, count=None):
        """@return the exit code, None if the run does not end; the log"""
        setting = {"LW_FAULT_CUDA": fault, "LW_FAULT_RANK": str(self.ranks - 1), **({"LW_FAULT_COUNT": count} if count else {})}
        launcher = [MPIEXEC, "--oversubscribe", "-np", str(self.ranks)] if self.ranks > 1 else []
        command = [*launcher, LAPWING, *as_typed(self.arguments)[0], "--engine", "cuda,share-gpu", "--output", out, "--quiet", "--checkpoint", "0"]
        try:
            done = subprocess.run(command, env={**os.environ, **setting}, capture_output=True, text=True, timeout=END_S, check=False)
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stderr

    def content(self, out):
        with h5py.File(out, "r") as file:
            names = []
            file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
            return {name: file[name][()].tobytes() for name in names if file[name].dtype.kind != "O"}

    def prepare(self):
        out, count = os.path.join(self.folder, self.name + ".h5"), os.path.join(self.folder, self.name + ".count")
        code, said = self.run("0", out, count)
        if check(code == 0, f"{self.name}: ends with {code}: {said}"):
            self.expected, self.calls = self.content(out), int(open(count).read())
            os.remove(out)

    def try_one(self, fault):
        """@return the exit code"""
        out = os.path.join(self.folder, f"{self.name}.{fault.replace('+', 'on')}.h5")
        what = f"{self.name}, call {fault} of {self.calls}"
        code, said = self.run(fault, out)
        check(code is not None, f"{what}: does not end in {END_S} s")
        if code == 0:
            check(self.content(out) == self.expected, f"{what}: another result")
        else:
            check(code in CODES, f"{what}: ends with {code}: {said[-500:]}")
            lines = [line for line in said.splitlines() if line.startswith("lapwing: ") and "warning" not in line]
            check(len(lines) == 1, f"{what}: {len(lines)} messages: {said[-500:]}")
            check(not os.path.exists(out), f"{what}: there is a result")
            again, said = self.run("0", out)
            check(again == 0 and self.content(out) == self.expected, f"{what}: then {again}: {said[-500:]}")
        for left in os.listdir(self.folder):
            if left.startswith(os.path.basename(out)):
                check(left == os.path.basename(out), f"{what}: {left} is left")
                os.remove(os.path.join(self.folder, left))
        return code


def faults_of(trial):
    """All K, or a few from the first to the last; each alone, and with all later calls."""
    few = {round(k) for k in np.linspace(1, trial.calls, FEW)}
    return [f"{k}{ending}" for k in (range(1, trial.calls + 1) if TRIES_ALL else sorted(few)) for ending in ("", "+")]


said = subprocess.run([LAPWING, "info"], capture_output=True, text=True, check=True).stdout
if "engine cuda not usable" in said:
    print(f"skipped: no GPU: {said}")
    sys.exit(77)

with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
    path = os.path.join(folder, "in.h5")
    make_input(path)
    total, codes = 0, {}
    for name, arguments in jobs(path).items():
        for ranks in (2,) if name == "ols" else (1, 2) if name == "sfft" and not IS_EMULATED else (1,):
            trial = Trial(folder, name, arguments, ranks)
            trial.prepare()
            with ThreadPoolExecutor(AT_A_TIME) as pool:
                for code in pool.map(trial.try_one, faults_of(trial)):
                    total, codes[code] = total + 1, codes.get(code, 0) + 1
            print(f"{name} on {ranks} ranks: {trial.calls} calls; all runs so far: {codes}", flush=True)
    print(f"{total} runs: " + ", ".join(f"{n} end with {code}" for code, n in sorted(codes.items(), key=str)))
finish()
