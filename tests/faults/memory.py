"""Each allocation of the program fails in turn, until the filters are read: 71 and one message, never a crash.

    memory.py LAPWING MPIEXEC FAULT_LIBRARY"""

import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "cli"))
from tested import LAPWING, check, finish, h5py, np, random  # noqa: E402

LIBRARY = os.path.abspath(sys.argv[3])
MOST = 100

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with h5py.File("in.h5", "w") as file:
        file["signal"], file["taps"] = random.standard_normal(5000).astype("f4"), np.ones(9)
    environment = {**os.environ, "LD_PRELOAD": LIBRARY, "OMPI_MCA_ess_singleton_isolated": "1"}
    said = []
    while len(said) < MOST and not (said and "in.h5:/taps" in said[-1]):
        done = subprocess.run([LAPWING, "plan", "ols", "--input", "in.h5:/signal", "--filters", "in.h5:/taps", "--output", "out.h5"],
                              env={**environment, "FAULT": f"memory:{len(said) + 1}"}, capture_output=True, text=True, timeout=60)
        said.append(done.stderr)
        if not check(done.returncode == 71 and done.stderr.count("no memory for") == 1, f"{len(said)}: {done.returncode} {done.stderr}"):
            break
    for what in ("an option", "the reader", "the open files", "in.h5:/taps"):
        check(any(f"no memory for {what}" in text for text in said), f"no allocation of {what}: {said}")
finish()
