"""What the tests with h5py share: h5py itself, from where it is, and checks that are counted. Without it the test is skipped here."""
import os
import sys

try:
    import h5py
    import numpy as np
except ImportError:
    system = "/usr/bin/python3"         # where Debian's packages are, if CMake has found another one
    if os.path.realpath(sys.executable) != os.path.realpath(system) and os.path.exists(system):
        os.execv(system, [system] + sys.argv)
    print("skipped: no h5py")
    sys.exit(77)

checks = failed = 0


def check(condition, text):
    global checks, failed
    checks += 1
    if not condition:
        failed += 1
        print("failed:", text, file=sys.stderr)


def finish(name):
    print(f"{name}: {checks} checks, {failed} failed")
    sys.exit(failed > 0)
