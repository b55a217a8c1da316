"""A separate process lists the attributes of an input that are copied to a result. If HDF5 crashes on them, every rank ends with
65 and one message names the file, for any format of the result. A separate process also inspects a file that --each may leave
alone as an existing result; if HDF5 crashes on it, the file counts as being in the way.

    attributes.py LAPWING MPIEXEC FAULT_LIBRARY"""

import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "cli"))
from tested import LAPWING, MPIEXEC, check, finish, h5py, np, random  # noqa: E402

LIBRARY = os.path.abspath(sys.argv[3])


def run(output, fault, *more, kind="attributes"):
    setting = ("env", f"LD_PRELOAD={LIBRARY}", f"FAULT={kind}:{fault}", "FAULT_RANK=0")
    arguments = ("conv2d", "--input", "in.h5:/image", "--kernel", "in.h5:/kernel", "--output", output, "--quiet", *more)
    return subprocess.run([MPIEXEC, "-np", "2", *setting, LAPWING, *arguments], capture_output=True, text=True, timeout=60)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with h5py.File("in.h5", "w") as file:
        file["image"], file["kernel"] = random.standard_normal((60, 50)).astype("f4"), np.ones((3, 3))
        file["image"].attrs["OBSERVER"] = "Herschel"
    for output in ("out.h5", "out.fits"):
        done = run(output, 0)
        check(done.returncode == 0, f"{output}, undisturbed: {done.returncode} {done.stderr}")
        with open(output, "rb") as file:
            check(b"Herschel" in file.read(), f"{output} does not keep an attribute")
        os.remove(output)
        done = run(output, 1)
        check(done.returncode == 65 and done.stderr.count("lapwing: ") == 1 and "in.h5:/image" in done.stderr and "crash" in done.stderr,
              f"{output}: {done.returncode} {done.stderr}")
        check(sorted(os.listdir()) == ["in.h5"], f"{output}: {os.listdir()} are left")
    done = run("results", 0, "--each", "file")
    check(done.returncode == 0, f"--each, undisturbed: {done.returncode} {done.stderr}")
    done = run("results", 1, "--each", "file", kind="attribute")
    check(done.returncode == 74 and "results/in.h5" in done.stderr, f"a file under a result's name: {done.returncode} {done.stderr}")
finish()
