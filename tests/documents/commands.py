"""commands.py LAPWING MPIEXEC [FOLDER with real data] - runs every command of the documents as it is written.

The commands of a document run one block after the other in one folder, and each must end with 0. If a block of text follows a
block of commands, each of its lines must be among the lines that the commands print, with numbers equal to 1e-4. Two kinds of
blocks are left out: those with a command of ELSEWHERE, which names the test that runs it, and those whose real data are missing."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(HERE)
from words import DOCUMENTS, read

ELSEWHERE = {"git clone": "ci", "jobs/packages": "ci", "tests/run": "ci", "sbatch": "tests/slurm", "scancel": "tests/slurm",
             "cpack": "tests/packaging", "apptainer": "tests/packaging", "mpirun --host": "tests/hosts", "octave": "tests/cli/results/matlab.py",
             "python3 examples/gw-masses.py": "tests/cli/results/stories.py",
             "lapwing filters cut --for network.mseed": "tests/cli/array/network.py",
             "lapwing filters beams --for cable.hdf5": "tests/cli/array/network.py"}
# Names in the documents, and the files in the folder with real data that replace them.
REAL = {"strain.hdf5": "gw150914-h1.hdf5", "crab.fil": "parkes_8bit_1.fil", "crab_mask.h5": "parkes_8bit_1_mask.h5", "M51.fits": "M51.fits"}
TOLERANCE = 1e-4        # processors round differently


def blocks(text):
    """(line number, language, content) of each block of code."""
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        yield text[:found.start()].count("\n") + 1, found.group(1), found.group(2)


def missing(commands, data):
    """The reason why a block cannot run here, or None."""
    for command, test in ELSEWHERE.items():
        if re.search(rf"(^|[ (]){re.escape(command)}\b", commands, flags=re.MULTILINE):
            return f"{command}: {test} runs it"
    for name, real in REAL.items():
        if name in commands and not os.path.isfile(os.path.join(data, real)):
            return f"no real data: {real}"
    return None


def prepare(folder, program, mpiexec, data):
    """Make a folder with `lapwing` and `mpirun` in its path, the job files, and the real data that exist."""
    os.makedirs(os.path.join(folder, "bin"))
    os.symlink(os.path.abspath(program), os.path.join(folder, "bin", "lapwing"))
    os.symlink(shutil.which(mpiexec) or mpiexec, os.path.join(folder, "bin", "mpirun"))
    os.symlink(sys.executable, os.path.join(folder, "bin", "python3"))
    for name in ("ols.ini", "conv2d.ini", "sfft.ini", "accel.ini"):
        shutil.copy(os.path.join(ROOT, "jobs", name), folder)
    shutil.copytree(os.path.join(ROOT, "jobs", "examples"), os.path.join(folder, "examples"))
    os.symlink(os.path.join(ROOT, "jobs"), os.path.join(folder, "jobs"))
    for name, real in REAL.items():
        if os.path.isfile(os.path.join(data, real)):
            os.symlink(os.path.abspath(os.path.join(data, real)), os.path.join(folder, name))
    return {**os.environ, "PATH": os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"], "HOME": folder}


def same_word(one, other):
    try:
        return abs(float(one.strip(",()")) - float(other.strip(",()"))) <= TOLERANCE * abs(float(one.strip(",()")))
    except ValueError:
        return one == other


def same_line(one, other):
    one, other = one.split(), other.split()
    return len(one) == len(other) and all(map(same_word, one, other))


def run(document, program, mpiexec, data):
    """Complaints about the commands of one document, and the number of blocks that ran."""
    complaints, n_run, said = [], 0, None
    with tempfile.TemporaryDirectory() as folder:
        environment = prepare(folder, program, mpiexec, data)
        for line, language, content in blocks(read(os.path.join(ROOT, document))):
            if not language and said is not None:
                absent = [text for text in content.splitlines() if not any(same_line(text, line) for line in said.splitlines())]
                complaints += [f"{document}, line {line}: the commands above it do not print: {text}\nbut\n{said}" for text in absent]
            said = None
            if language != "sh":
                continue
            reason = missing(content, data)
            if reason:
                print(f"{document}, line {line}: left out ({reason})")
                continue
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", content], cwd=folder, env=environment, text=True, timeout=200,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            n_run, said = n_run + 1, done.stdout
            if done.returncode != 0:
                complaints.append(f"{document}, line {line}: ends with {done.returncode}\n{content}\n{done.stdout}")
    return complaints, n_run


def main(program, mpiexec, data=""):
    failures = 0
    for document in DOCUMENTS:
        complaints, n_run = run(document, program, mpiexec, os.environ.get("LAPWING_DATA") or data)
        print(f"{document}: {n_run} blocks of commands ran")
        print("".join(complaint + "\n" for complaint in complaints), end="")
        failures += len(complaints)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
