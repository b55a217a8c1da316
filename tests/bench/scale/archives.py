#!/usr/bin/env python3
"""archives.py BUILD FOLDER - `lapwing plan --for` for three archives: a petabyte of an optical fibre's strain, an all-sky
radio survey, a year of three detectors of gravitational waves. BUILD has CUDA; no GPU is needed.

The inputs have the archives' shapes and no samples: HDF5 and sparse files store nothing for what was never written. FOLDER gets
them and the plans' texts. ../results/scale/scale.md names the sources of the numbers."""
import os
import struct
import subprocess
import sys

import h5py

from runs import plan

NODE = {"ranks-per-node": 4, "cores": 64, "memory": "500GiB", "gpu": os.environ.get("GPU", "H100"), "network": "50GB/s"}


def show(name, lapwing, words, machine):
    text, _ = plan(lapwing, words, {**machine, **NODE})
    with open(f"{name}.txt", "w") as file:
        file.write(text)
    print(f"## {name}\n{text}", flush=True)


def fibre(lapwing):
    """PoroTomo's array, 8721 channels at 1 kHz, for 331 days: a petabyte of float32. A band, kept at a tenth of the rate."""
    with h5py.File("fibre.h5", "w") as file:
        data = file.create_dataset("strain_rate", (8721, 331 * 86400 * 1000), "float32")
        data.attrs["sample_rate_hz"] = 1000.0
    words = "ols --input fibre.h5:/strain_rate --axis 1 --bandpass 0.5:20 --transition 0.5 --decimate 10 --output band.h5"
    show("fibre", lapwing, words.split(), {"nodes": 64, "read": "200GB/s", "write": "100GB/s"})


def filterbank(path, seconds):
    """A SIGPROC file of a beam of HTRU South: 1024 channels of 400 MHz down from 1582 MHz, 64 us, 2 bits."""

    def word(text):
        return struct.pack("<i", len(text)) + text.encode()

    n = round(seconds / 64e-6)
    with open(path, "wb") as file:
        file.write(word("HEADER_START") + word("source_name") + word("beam"))
        for name, form, value in (("telescope_id", "i", 4), ("machine_id", "i", 10), ("data_type", "i", 1), ("nbits", "i", 2),
                                  ("nchans", "i", 1024), ("nifs", "i", 1), ("fch1", "d", 1581.8046875), ("foff", "d", -0.390625),
                                  ("tsamp", "d", 64e-6), ("tstart", "d", 55000.0)):
            file.write(word(name) + struct.pack("<" + form, value))
        file.write(word("HEADER_END"))
        file.truncate(file.tell() + n * 1024 // 4)


def survey(lapwing):
    """One beam of the survey's low, mid and high latitudes. Dispersion measures up to 1000, then the search for binaries."""
    for name, seconds in (("low", 4200), ("mid", 540), ("high", 270)):
        filterbank(f"{name}.fil", seconds)
        subprocess.run([lapwing, "filters", "dispersion", "--for", f"{name}.fil", "--dm", "0:1000", "--dm-tolerance", "1.25",
                        "--output", f"{name}-dm.h5", "--overwrite", "--quiet"], check=True)
        with h5py.File(f"{name}-dm.h5") as file:
            n_trials = file["delays"].shape[0]
        words = f"ols --input {name}.fil --beams {name}-dm.h5:/delays --boxcar 1 --mode valid --output trials.h5"
        machine = {"nodes": 1, "read": "10GB/s", "write": "10GB/s"}
        show(f"dedispersion-{name}", lapwing, words.split(), machine)
        n = round(seconds / 64e-6)
        with h5py.File(f"{name}-trials.h5", "w") as file:
            data = file.create_dataset("filtered", (n_trials, n), "float32")
            data.attrs["sample_rate_hz"] = 15625.0
        words = f"accel --input {name}-trials.h5:/filtered --axis 1 --zmax 50 --output binaries.h5"
        show(f"binaries-{name}", lapwing, words.split(), machine)


def detectors(lapwing):
    """O3a and O3b of three detectors at 4096 Hz, and 10^5 templates of 16 s, whose peaks are kept."""
    with h5py.File("strain.h5", "w") as file:
        data = file.create_dataset("strain", (3, 28519200 * 4096), "float64")
        data.attrs["sample_rate_hz"] = 4096.0
    with h5py.File("templates.h5", "w") as file:
        file.create_dataset("taps", (100000, 65536), "complex64")
    words = ("ols --input strain.h5:/strain --axis 1 --filters templates.h5:/taps --products peaks --threshold 5 --cluster 4096 "
             "--noise given --allow-rate-mismatch --output triggers.h5")
    show("detectors", lapwing, words.split(), {"nodes": 64, "read": "200GB/s", "write": "100GB/s"})


def main():
    lapwing = os.path.abspath(os.path.join(sys.argv[1], "lapwing"))
    os.makedirs(sys.argv[2], exist_ok=True)
    os.chdir(sys.argv[2])
    for example in (fibre, survey, detectors):
        try:
            example(lapwing)
        except SystemExit as reason:        # the other examples are shown
            print(f"{example.__name__}: {reason}", flush=True)


if __name__ == "__main__":
    main()
