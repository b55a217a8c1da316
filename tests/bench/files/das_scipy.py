"""A DAS record by scipy, from file to file, for comparison with lapwing: band-pass, every eighth sample, int16.

    das_scipy.py INPUT.h5:/dataset FILTERS.h5:/dataset OUTPUT.h5 WORKERS

The record is [channel x time], int16. Each of WORKERS processes takes an equal share of the channels, some at a time, so that its
arrays stay small. It reads them from the file, converts them to float32 and filters them by scipy.signal.oaconvolve in single
precision, whose segments scipy chooses. It keeps every eighth sample, rounds, saturates and writes int16 to its place in the
output, which is contiguous and mapped, so that processes need no lock. Prints the seconds from start to end."""
import multiprocessing
import sys
import time

import h5py
import numpy as np
from scipy.signal import oaconvolve

EVERY, AT_A_TIME = 8, 16


def split(name):
    return name.split(":")


def place(path, dataset):
    with h5py.File(path) as file:
        return file[dataset].id.get_offset(), file[dataset].shape


def work(source, filters, output, first, end):
    with h5py.File(split(filters)[0]) as file:
        taps = np.ravel(file[split(filters)[1]][()]).astype(np.float32)
    offset, shape = place(*split(source))
    x = np.memmap(split(source)[0], np.int16, "r", offset, shape)
    offset, shape = place(output, "filtered")
    y = np.memmap(output, np.int16, "r+", offset, shape)
    limits = np.iinfo(np.int16)
    for channel in range(first, end, AT_A_TIME):
        rows = slice(channel, min(end, channel + AT_A_TIME))
        filtered = oaconvolve(x[rows].astype(np.float32), taps[None, :], mode="same", axes=1)[:, ::EVERY]
        y[rows] = np.clip(np.rint(filtered), limits.min, limits.max)


def main():
    source, filters, output, workers = sys.argv[1:4] + [int(sys.argv[4])]
    start = time.perf_counter()
    _, (channels, samples) = place(*split(source))
    with h5py.File(output, "w") as file:
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        create.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((channels, -(-samples // EVERY)))
        h5py.h5d.create(file.id, b"filtered", h5py.h5t.STD_I16LE, space, create)
    bounds = [channels * i // workers for i in range(workers + 1)]
    shares = [multiprocessing.Process(target=work, args=(source, filters, output, a, b)) for a, b in zip(bounds, bounds[1:])]
    for share in shares:
        share.start()
    for share in shares:
        share.join()
    assert all(share.exitcode == 0 for share in shares)
    print(f"{time.perf_counter() - start:.3f}")


main()
