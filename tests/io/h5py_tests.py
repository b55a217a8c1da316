"""Shared functions of the tests with h5py: counted checks."""
import sys

import h5py             # noqa: F401  (whoever imports this module may rely on it)
import numpy as np      # noqa: F401

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
