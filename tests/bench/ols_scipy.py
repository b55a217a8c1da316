"""scipy.signal.oaconvolve on one core: prints median wall and processor nanoseconds per sample.

    ols_scipy.py SAMPLES TAPS REPEATS
"""
import statistics
import sys
import time

import numpy as np
from scipy.signal import oaconvolve

n, taps, repeats = (int(text) for text in sys.argv[1:4])
random = np.random.default_rng(1)
x = random.standard_normal(n).astype(np.float32)
h = random.standard_normal(taps).astype(np.float32)
wall, cpu = [], []
for _ in range(repeats):
    wall_start, cpu_start = time.perf_counter(), time.process_time()
    y = oaconvolve(x, h, mode="full")
    wall.append(time.perf_counter() - wall_start)
    cpu.append(time.process_time() - cpu_start)
assert y.dtype == np.float32
print(1e9 * statistics.median(wall) / n, 1e9 * statistics.median(cpu) / n)
