"""A day of 24 channels against 15,000 templates on a GPU: make the files, run lapwing, print its times.

    stacks_day.py LAPWING FOLDER [FILTERS]      in a folder on a RAM disk, with 1.7 GB of room"""
import os
import re
import subprocess
import sys
import time

import h5py
import numpy

lapwing, folder, n_filters = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 15000
n_channels, n_samples, n_taps = 24, 8640000, 600
random = numpy.random.default_rng(1)
path = os.path.join(folder, "day.h5")
if not os.path.exists(path):
    with h5py.File(path, "w") as file:
        file["x"] = random.standard_normal((n_channels, n_samples), dtype=numpy.float32)
        file["h"] = random.standard_normal((n_filters, n_channels, n_taps), dtype=numpy.float32)
        file["delays"] = random.integers(0, 3001, (n_filters, n_channels), dtype=numpy.int32)
KINDS = {"demeaned": ["--normalize", "demeaned", "--noise", "given", "--threshold", "1.6"],       # of coefficients' sums, +-24
         "energy": ["--normalize", "energy", "--noise", "given", "--threshold", "1.6"],
         "plain": ["--noise", "energy", "--threshold", "6"]}
for kind in os.environ.get("KINDS", "demeaned plain").split():
    command = [lapwing, "ols", "--input", path + ":/x", "--axis", "1", "--filters", path + ":/h", "--delays", path + ":/delays",
               "--stack", "sum", "--correlate", "--products", "peaks", "--cluster", "200", *KINDS[kind], "--engine", "cuda",
               "--overwrite", "--output", os.path.join(folder, "peaks.h5"), *os.environ.get("OPTIONS", "").split()]
    begin = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.time() - begin
    said = "; ".join(line.strip() for line in (done.stdout + done.stderr).splitlines()
                     if re.search(r"N = |rounds|first block|compute|filters  |read  |peaks;|lapwing:", line))
    print(f"{kind}: {seconds:.2f} s, {n_filters * n_channels * n_samples / seconds * 1e-9:.0f} G correlations/s, exit code "
          f"{done.returncode}: {said}", flush=True)
