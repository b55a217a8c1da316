"""A signal arrives while the program starts, before it has read its options: the run ends like any other, with 75 and a message.

    early.py LAPWING MPIEXEC FAULT_LIBRARY"""

import os
import tempfile

from trials import run_with
from tested import check, finish, h5py, np

os.environ.pop("OMP_WAIT_POLICY", None)     # without this variable the program starts itself once more
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with h5py.File("in.h5", "w") as file:
        file["x"], file["taps"] = np.ones(1000, "f4"), np.ones(5)
    for ranks in (1, 2):
        arguments = ["ols", "--input", "in.h5:/x", "--filters", "in.h5:/taps", "--output", "out.h5"]
        code, said = run_with({"FAULT": "start:1", "FAULT_RANK": ranks - 1}, ranks, arguments)
        check(code == 75 and said.count("SIGTERM has come") == 1, f"{ranks} ranks: code {code}: {said}")
        check(not [name for name in os.listdir() if name.startswith("out.h5")], f"{ranks} ranks: {os.listdir()}")
        code, said = run_with({"FAULT": "start:0"}, ranks, arguments)
        check(code == 0 and os.path.exists("out.h5"), f"{ranks} ranks, undisturbed: code {code}: {said}")
        os.remove("out.h5")
    os.chdir("/")
finish()
