"""Random combinations of all options of a job. Results have numpy's numbers within the guaranteed bound; 'lapwing verify' accepts
them and finds a changed byte. Every dataset has the same bytes on 1 to 5 ranks, for any split and any memory. Runs end with 0 or
with a documented refusal.

    combinations.py LAPWING MPIEXEC JOB [SECONDS] [SEED [NUMBER]]

LW_COMBINATIONS_OPTIONS are added to each run, such as --engine cuda,share-gpu. If no seed is given, a new one is drawn and
printed; with a number only that configuration is tried."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "cli"))
from tested import LAPWING, MPIEXEC, as_typed, h5py, np  # noqa: E402

from images import Conv2d  # noqa: E402
from inputs import pick  # noqa: E402
from series import Ols  # noqa: E402
from spectra import Sfft  # noqa: E402

JOBS = {"ols": Ols, "conv2d": Conv2d, "sfft": Sfft}
REFUSALS = {2, 65, 78}          # exit codes for options that exclude each other, for data, and for unmet requests
OPTIONS = os.environ.get("LW_COMBINATIONS_OPTIONS", "").split()
N_VARIANTS = 2

# Attributes that describe the run, not the data. Attributes whose names end in _s are durations.
OF_A_RUN = {"command_line", "configuration", "start_time_utc", "end_time_utc", "ranks", "host", "engine_runs_on", "runs", "written", "slurm_job_id",
            "DIMENSION_LIST", "REFERENCE_LIST"}


class Trial:
    """One configuration. `wrong` lists the mistakes that were found."""

    def __init__(self, name, seed, number, folder):
        self.rng = np.random.default_rng([seed, list(JOBS).index(name), number])
        self.folder, self.wrong, self.n_runs, self.said = folder, [], 0, ""
        self.job = JOBS[name](self.rng, folder)
        self.options = {**self.job.options, **({"checksum": True} if self.rng.random() < 0.4 else {})}

    def words(self):
        return [*self.job.arguments, *(f"--{k}" if v is True else f"--{k}={v}" for k, v in self.options.items()), *OPTIONS]

    def call(self, ranks, *arguments):
        """@return exit code (none if the run hangs), and the log"""
        command = [*([MPIEXEC, "--oversubscribe", "-np", str(ranks)] if ranks else []), LAPWING, *as_typed(arguments)[0]]
        self.n_runs += 1
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=100, check=False)
            code, said = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, said = None, "it hangs"
        if code not in {0, *REFUSALS} or "exited on signal" in said or (code and "lapwing: " not in said):
            self.wrong.append(f"ends with {code}: {shlex.join(command)}\n{said[-1500:]}")
        return code, said

    def run(self, ranks, name, *more):
        path = os.path.join(self.folder, name)
        code, said = self.call(ranks, *self.words(), *more, "--quiet", "--overwrite", "--output", path)
        return code, path, said

    def go(self):
        code, path, self.said = self.run(0, "out.h5", "--threads", "1")
        whole = None
        if code == 0:
            whole = contents(path)
            self.wrong += [f"numbers: {one}" for one in self.job.check(path)]
            verified, said = self.call(0, "verify", path, "--sample", "200", "--seed", "1")
            if verified != 0:
                self.wrong.append(f"verify ends with {verified}: {said[-900:]}")
            if self.options.get("checksum"):
                self.change_a_byte(path)
        for _ in range(N_VARIANTS):
            self.vary(code, whole)
        return code

    def vary(self, expected, whole):
        """Run once more, in another way; this run may have too little memory."""
        rng, ranks = self.rng, int(self.rng.integers(1, 6))
        more = ["--threads", rng.integers(1, 4)]
        if rng.random() < 0.4 and self.job.name != "sfft":
            more += ["--split", pick(rng, "axis", "channels")]
        if rng.random() < 0.25:
            more += ["--io", pick(rng, "collective", "direct")]
        if rng.random() < 0.3:
            more += ["--checkpoint", "0"]
        if rng.random() < 0.5:
            needed = re.search(r"needs ([0-9.]+) (KiB|MiB|GiB) of memory", self.run(ranks, "other.h5", *more, "--memory", "1M")[2])
            if needed:
                least = float(needed[1]) * {"KiB": 1, "MiB": 1 << 10, "GiB": 1 << 20}[needed[2]]
                more += ["--memory", f"{int(least) + int(rng.integers(100, 1500))}k"]
        code, path, said = self.run(ranks, "other.h5", *more)
        if code == 78 and "--memory" in more and "--memory" in said:
            return
        how = f"on {ranks} ranks with {' '.join(map(str, more))}"
        if code != expected:
            self.wrong.append(f"ends with {code}, not {expected}, {how}: {said[-900:]}")
        elif whole is not None:
            found = contents(path)
            differ = [key for key in sorted(set(whole) | set(found)) if whole.get(key) != found.get(key)]
            if differ:
                self.wrong.append(f"other bits of {differ[:5]} {how}")

    def change_a_byte(self, path):
        places = []

        def see(name, item):
            is_data = isinstance(item, h5py.Dataset) and name.split("/")[0] in self.job.arrays and "_columns" not in name
            if is_data and item.attrs.get("CLASS") != b"DIMENSION_SCALE" and item.id.get_offset() and item.id.get_storage_size():
                places.append((name, item.id.get_offset(), item.id.get_storage_size()))
        with h5py.File(path) as file:
            file.visititems(see)
        if not places:
            return
        name, offset, size = places[int(self.rng.integers(len(places)))]
        copy, at = path + ".changed.h5", offset + int(self.rng.integers(size))
        shutil.copy(path, copy)
        with open(copy, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 0x10]))
        code, said = self.call(0, "verify", copy, "--sample", "0")
        if code != 65:
            self.wrong.append(f"verify ends with {code} though byte {at - offset} of {name} has changed: {said[-300:]}")


def contents(path):
    """{dataset or attribute: content}, without the attributes that describe the run."""
    found = {}

    def attributes(name, item):
        for key, value in item.attrs.items():
            if key not in OF_A_RUN and not key.endswith("_s") and not isinstance(value, h5py.Reference):
                found[f"{name}@{key}"] = repr(value)

    def see(name, item):
        attributes(name, item)
        if isinstance(item, h5py.Dataset):
            data = np.asarray(item[()])
            if data.dtype.names:
                data = data[[field for field in data.dtype.names if not field.endswith("_s") and "seconds" not in field]]
            found[name] = (str(data.dtype), data.shape, data.tobytes())
    with h5py.File(path) as file:
        attributes("", file)
        file.visititems(see)
    return found


def main():
    name, seconds = sys.argv[3], float(sys.argv[4]) if len(sys.argv) > 4 else 20
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else int.from_bytes(os.urandom(4), "little")
    only = int(sys.argv[6]) if len(sys.argv) > 6 else None
    end, number, n_runs, ends, failed = time.monotonic() + seconds, only or 0, 0, {}, 0
    print(f"combinations of {name}: seed {seed}", flush=True)
    while number == (only or 0) or (only is None and time.monotonic() < end):
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(name, seed, number, folder)
            code = trial.go()
            ends[code] = ends.get(code, 0) + 1
            n_runs += trial.n_runs
            for what in trial.wrong:
                failed += 1
                print(f"failed: {name}, seed {seed}, number {number}: {what}\n  {shlex.join(map(str, trial.words()))}", file=sys.stderr)
            if only is not None:
                print(code, shlex.join(map(str, trial.words())), trial.job.x.dtype, trial.job.x.shape, trial.said)
        number += 1
    print(f"{sum(ends.values())} configurations in {n_runs} runs: " + ", ".join(f"{count} end with {code}" for code, count in ends.items()))
    all_refused = 0 not in ends and sum(ends.values()) > 30         # options have changed, and this program has not
    sys.exit(1 if failed or all_refused else 0)


main()
