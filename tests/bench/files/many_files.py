"""many_files.py FOLDER N SAMPLES CHANNELS: makes N consecutive files part000000.h5, ... of int16 noise at 1000 Hz, and one.h5
with all of their samples."""
import sys
import h5py
import numpy as np

folder, n, samples, channels = sys.argv[1], *map(int, sys.argv[2:])
block = np.random.default_rng(1).integers(-999, 999, (samples, channels), dtype="int16")


def describe(data, first):
    data.attrs["sample_rate_hz"] = 1000.0
    data.attrs["start_time"] = first / 1000
    data.attrs["start_unit"] = "s"


with h5py.File(f"{folder}/one.h5", "w") as one:
    whole = one.create_dataset("data", (n * samples, channels), "int16")
    describe(whole, 0)
    for i in range(n):
        with h5py.File(f"{folder}/part{i:06}.h5", "w") as part:
            describe(part.create_dataset("data", data=block), i * samples)
        whole[i * samples:(i + 1) * samples] = block
