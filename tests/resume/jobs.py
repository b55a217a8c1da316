"""Shared functions of the tests of interrupted runs: an input, jobs of every kind on it, results compared byte by byte."""

import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "cli"))
from tested import LAPWING, check, h5py, np, random  # noqa: E402

# Attributes that describe when, where and how often a result was made.
OF_A_RUN = {"command_line", "configuration", "start_time_utc", "end_time_utc", "ranks", "host", "engine_runs_on", "runs", "written", "slurm_job_id"}


def make_input(path, size=1):
    """Make an input of several rounds with the least memory; `size` times as long for more rounds, or for a GPU."""
    size = size if MEMORY else 8 * size
    n = size << 20
    with h5py.File(path, "w") as file:
        signal = random.standard_normal((3, n)).astype("f4")
        signal[0, 1000:1003] = np.nan
        signal[2, 900000] = np.inf
        file["signal"] = signal
        file["slow"] = np.ascontiguousarray(signal[:, :n // 4].T)
        file.create_dataset("packed", data=np.round(100 * signal[:, :n // 2]).astype("f4"), chunks=(1, 30000), compression="gzip",
                            compression_opts=1)
        file["many"] = random.standard_normal((60, n // 50)).astype("f4")
        file["taps"] = random.standard_normal((2, 65))
        file["bank"] = random.standard_normal((150, 2001)).astype("f4")     # the least memory holds some of them at a time
        file["image"], file["kernel"] = random.standard_normal((8000 * size, 400)).astype("f4"), random.standard_normal((9, 9))
        file["sigma"] = 0.5 + random.random((300, 200))
        file["turned"] = random.standard_normal((2, 5, 7))
        file["stack"] = random.standard_normal((6 * size, 300, 200)).astype("f4")
        turns = np.arange(1 << 16) / (1 << 16)
        file["tones"] = np.array([sum(np.cos(2 * np.pi * (frequency + 7 * c) * turns) for frequency in (5, 500, 1234))
                                  + 0.01 * random.standard_normal(1 << 16) for c in range(24 * min(size, 8))])


def least_memory():
    """Options for many rounds. On a GPU, whose driver makes the program larger, the default memory gives eight rounds or more."""
    said = subprocess.run([LAPWING, "info"], capture_output=True, text=True, check=True).stdout
    return ["--memory", "120M"] if "engine cuda not usable" in said else []


MEMORY = least_memory()


def jobs(path):
    """(name, arguments without --output)"""
    ols = ["ols", "--filters", path + ":/taps", "--axis", "1", *MEMORY]
    conv2d = ["conv2d", "--kernel", path + ":/kernel", *MEMORY]
    sfft = ["sfft", "--input", path + ":/tones", "--axis", "1", "--sparsity", "3"]
    search, clusters = ["--threshold", "3.5", "--cluster", "40"], ["--threshold", "3", "--cluster", "40,filters"]
    bank = ["ols", "--input", path + ":/many", "--channels", "0:2", "--filters", path + ":/bank", "--axis", "1", *MEMORY]
    return {
        "filtered": [*ols, "--input", path + ":/signal"],
        "wrapped": [*ols, "--input", path + ":/signal", "--boundary", "wrap", "--io", "collective"],
        "slow": ["ols", "--filters", path + ":/taps", "--axis", "0", "--input", path + ":/slow", *MEMORY],
        "packed": [*ols, "--input", path + ":/packed", "--output-type", "int16", "--output-scale", "0.05"],
        "searched": [*ols, "--input", path + ":/signal", "--products", "filtered,peaks,best", *search],
        "peaks": [*ols, "--input", path + ":/signal", "--products", "peaks,blocks", "--blocks", "64:max,rms", *search],
        "decimated": [*ols, "--input", path + ":/packed", "--decimate", "16", "--post", "power"],
        "channels": [*ols, "--input", path + ":/many", "--split", "channels"],
        "bank": [*bank, "--products", "filtered,peaks,best,blocks", "--blocks", "100", "--noise", "energy", *search],
        "shared": [*bank, "--products", "peaks,blocks", "--blocks", "100", "--noise", "energy", *clusters, "--split", "filters"],
        "image": [*conv2d, "--input", path + ":/image", "--products", "convolved,peaks", *search],
        "fits": [*conv2d, "--input", path + ":/image", "--products", "convolved,peaks", *search],
        "stack": [*conv2d[:3], path + ":/turned", *conv2d[3:], "--input", path + ":/stack", "--boundary", "reflect", "--products",
                  "convolved,peaks,best", "--noise", "energy", "--threshold", "4", "--cluster", "5,kernels"],
        "weighted": [*conv2d, "--input", path + ":/stack", "--noise-map", path + ":/sigma", "--products", "convolved,peaks", *search],
        "sparse": sfft,
        "dense": [*sfft, "--algorithm", "dense"],
        "pieces": [*sfft, "--window", "16k", "--hop", "5000", "--fallback", "partial"],
        "sfft2": [*sfft, "--algorithm", "sfft2"],
        "candidates": ["accel", "--input", path + ":/tones", "--axis", "1", "--sample-rate", "1000", "--zmax", "20", "--keep-spectrum"],
    }


def describe(path):
    """The content of a result, without the facts that differ from run to run."""
    said = {}
    if open(path, "rb").read(6) == b"SIMPLE":
        return fits_parts(path)
    with h5py.File(path, "r") as file:
        def visit(name, item):
            for key, value in item.attrs.items():
                if key not in OF_A_RUN and not key.endswith("_s") and not isinstance(value, h5py.Reference) and key != "DIMENSION_LIST" \
                        and key != "REFERENCE_LIST":
                    said[f"{name}@{key}"] = str(value)
            if isinstance(item, h5py.Dataset):
                said[name] = (item.shape, str(item.dtype), item[()].tobytes() if item.dtype.kind != "O" else str(item[()]))
        visit("/", file)
        file.visititems(visit)
    return said


def fits_parts(path):
    """The cards that do not describe the run, and all bytes outside headers."""
    content, said, at, unit = open(path, "rb").read(), {}, 0, 0
    while at < len(content):
        cards = []
        while not (cards and cards[-1].startswith(b"END ")):
            cards.append(content[at:at + 80])
            at += 80
        at = (at + 2879) // 2880 * 2880
        keys = {card[:8].strip().decode(): card[10:30].split(b"/")[0].strip() for card in cards}
        size = abs(int(keys["BITPIX"])) // 8
        for d in range(int(keys["NAXIS"])):
            size *= int(keys[f"NAXIS{d + 1}"])
        size = 0 if int(keys["NAXIS"]) == 0 else size
        said[f"cards of {unit}"] = [card for card in cards if not card.startswith((b"HISTORY", b"DATE"))]
        said[f"data of {unit}"] = content[at:at + size]
        at, unit = (at + size + 2879) // 2880 * 2880, unit + 1
    return said


def check_same(expected, path, what):
    """Check that a result equals that of a run that was not interrupted."""
    if not check(os.path.exists(path), f"{what}: there is no result"):
        return False
    found = describe(path)
    other = [key for key in sorted(set(expected) | set(found)) if expected.get(key) != found.get(key)]
    return check(not other, f"{what}: other are {', '.join(other)}: "
                 + "; ".join(f"{str(expected.get(key))[:80]} / {str(found.get(key))[:80]}" for key in other[:3]))


def left_beside(out):
    """The files beside a result, by their endings."""
    folder, name = os.path.split(out)
    return sorted(other[len(name):] for other in os.listdir(folder) if other.startswith(name) and other != name)
