"""Helpers of the tests of formats: the output of `lapwing info` for a dataset, and the result of `ols` on it."""

import os
import subprocess

from tested import LAPWING, check, lapwing

import h5py
import numpy as np


def facts_of(name, code=0):
    """The facts that `lapwing info` prints before the table."""
    done = subprocess.run([LAPWING, "info", name], capture_output=True, text=True, timeout=100)
    check(done.returncode == code, f"info {name} ends with {done.returncode}: {done.stderr}")
    lines = done.stdout.split("\n\n")[0].splitlines()
    return {line[:12].strip(): line[13:] for line in lines}, done.stderr


def expect(name, **wanted):
    """Check the beginning of each fact; None: the fact must be absent."""
    found, _ = facts_of(name)
    for key, value in wanted.items():
        fact = found.get(key)
        good = fact is None if value is None else fact is not None and (fact + " ").startswith(value)
        check(good, f"{os.path.basename(name)}: {key} is '{fact}', not '{value}'")


def filtered(work, source, *options, ranks=1):
    output = os.path.join(work, "out.h5")
    taps = os.path.join(work, "taps.h5")
    if not os.path.exists(taps):
        with h5py.File(taps, "w") as file:
            file["taps"] = np.hanning(17)
    lapwing(ranks, "ols", "--input", source, "--filters", f"{taps}:/taps", "--output", output, "--overwrite", "--quiet", *options)
    with h5py.File(output) as file:
        return file["filtered"][()], dict(file["filtered"].attrs)
