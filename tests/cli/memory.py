"""The resident memory of every rank stays within the plan's figure plus 10%, on a signal many times as large.

    memory.py LAPWING MPIEXEC              the test
    memory.py --measure FILE LAPWING ...   run the program and write its peak memory to FILE.PID: what mpirun starts"""

import os
import re
import resource
import subprocess
import sys
import tempfile

UNITS = {"KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}


def measure(file, command):
    code = subprocess.run(command).returncode
    with open(f"{file}.{os.getpid()}", "w") as out:
        out.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024))
    return code


def planned(text):
    """Bytes in the line "host memory     93.5 MiB a rank, of ..." of lapwing plan."""
    number, unit = re.search(r"^host memory +([0-9.]+) (\w+) a rank", text, re.MULTILINE).groups()
    return float(number) * UNITS[unit]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=200).stdout


def check(work, ranks, memory, *options):
    """Peaks and plan of one run; True if all is well."""
    survey = os.path.join(work, "survey.h5")
    arguments = ["--input", f"{survey}:/signal", "--filters", f"{survey}:/filters", "--memory", memory, "--overwrite", "--quiet",
                 "--output", os.path.join(work, "out.h5"), *options]
    start = [MPIEXEC, "-np", str(ranks)]
    limit = planned(run(*start, LAPWING, "plan", "ols", *arguments))
    peaks = os.path.join(work, f"peak-{ranks}-{memory}")
    run(*start, sys.executable, os.path.abspath(__file__), "--measure", peaks, LAPWING, "ols", *arguments)
    found = [int(open(os.path.join(work, name)).read()) for name in os.listdir(work)
             if name.startswith(os.path.basename(peaks) + ".")]
    good = len(found) == ranks and max(found) <= 1.1 * limit
    print(f"{'ok' if good else 'failed'}: {ranks} ranks, --memory {memory} {' '.join(options)}: plan {limit / 2 ** 20:.1f} MiB, "
          f"peaks {', '.join(f'{peak / 2 ** 20:.1f}' for peak in found)} MiB")
    return good


def main():
    with tempfile.TemporaryDirectory() as work:
        run(MPIEXEC, "-np", "2", LAPWING, "synth", "ols", "--output", os.path.join(work, "survey.h5"), "--samples", "25M",
            "--channels", "3", "--type", "int16", "--taps", "2049", "--n-filters", "1", "--quiet")
        results = [check(work, 1, "128M"), check(work, 2, "256M"),
                   check(work, 2, "128M", "--mode", "full", "--split", "channels")]
    return 0 if all(results) else 1


if sys.argv[1] == "--measure":
    sys.exit(measure(sys.argv[2], sys.argv[3:]))
LAPWING, MPIEXEC = sys.argv[1:3]
sys.exit(main())
