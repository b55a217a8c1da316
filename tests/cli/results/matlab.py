"""The examples for users of MATLAB and Octave: moving-average.m and two-tones.m of jobs/examples.

    matlab.py LAPWING MPIEXEC

The command of each script runs on files as h5write of MATLAB and save of Octave make them, and the result is compared with numpy
and scipy, file to file. Where Octave is installed, the scripts run as they stand, with their pictures."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tested import LAPWING, check, finish, h5py, lapwing, np  # noqa: E402

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "jobs", "examples")
NARROWED = "the input is float64, the result by default float32: --output-type float64"


def command_of(script):
    """The words behind `lapwing` of the command that a script runs."""
    with open(os.path.join(EXAMPLES, script)) as file:
        words = re.search(r"^command = \[(.*?)\];", file.read(), re.M | re.S).group(1)
    command = "".join(re.findall(r"'([^']*)'", words)).split()
    check(command[0] == "lapwing", f"{script}: {command}")
    return command[1:]


def write(name, x, writer):
    """Write /signal as one of the two programs does; their columns are rows here."""
    with h5py.File(name, "w") as file:
        if writer == "h5write":
            file["signal"] = x[None]
        else:
            file["signal/type"], file["signal/value"] = np.bytes_("matrix"), x[None]
            file["signal"].attrs["OCTAVE_NEW_FORMAT"] = np.uint8(1)


def filtered(name="smooth.h5"):
    with h5py.File(name) as file:
        return file["filtered"][()].ravel()


def two_tones():
    time = np.arange(2 * 44100) / 44100
    for writer in ("h5write", "save -hdf5"):
        write("two-tones.h5", np.sin(2 * np.pi * 50 * time) + np.sin(2 * np.pi * 7000 * time), writer)
        lapwing(1, *command_of("two-tones.m"))
        y = filtered("low-pass.h5")
        check(np.abs(y - np.sin(2 * np.pi * 50 * time))[1000:-1000].max() < 2e-3, f"{writer}: 50 Hz stays and 7000 Hz goes")


def moving_average():
    """conv(signal, ones(10, 1) / 10) of 10000 samples at 16 kHz: 10009 float64 outputs."""
    time, taps = np.arange(10000) / 16000, np.ones(10) / 10
    x = np.sin(2 * np.pi * 200 * time) + 0.5 * np.sin(2 * np.pi * 1600 * time)
    expected = np.convolve(x, taps)
    for writer in ("h5write", "save -hdf5"):
        write("noisy.h5", x, writer)
        done = lapwing(1, *command_of("moving-average.m"))
        y = filtered()
        check(y.dtype == np.float64 and y.shape == (10009,), f"{writer}: {y.dtype} {y.shape}")
        check(np.abs(y - expected).max() < 1e-15, f"{writer}: off by {np.abs(y - expected).max()}")
        check(NARROWED not in done.stderr, f"{writer}: {done.stderr}")
    with_scipy(x, taps, y)
    with h5py.File("smooth.h5") as file:
        check(np.array_equal(file["filters"], taps), f"the taps are not ones(10) / 10: {file['filters'][()]}")
        check(np.allclose(file["time"], (np.arange(10009) - 4) / 16000, rtol=0, atol=1e-12), f"times from {file['time'][0]}")
    lapwing(1, "verify", "smooth.h5")
    plotted(x, expected)
    other_ways(x, taps, expected)


def with_scipy(x, taps, y):
    """conv is scipy.signal.convolve, and filter(b, 1, x), lfilter in scipy, is its first n outputs."""
    try:
        from scipy import signal
    except ImportError:
        print("not tried: scipy is not installed")
        return
    for name, wanted in ("convolve", signal.convolve(x, taps, method="direct")), ("lfilter", signal.lfilter(taps, 1, x)):
        check(np.abs(y[:wanted.size] - wanted).max() < 1e-15, f"scipy.signal.{name}: {np.abs(y[:wanted.size] - wanted).max()}")


def plotted(x, expected):
    """The picture has the input above the result: 20 ms from the first output on, which lies 4 samples before the input."""
    lapwing(1, "plot", "smooth.h5", "--to", "20ms", "--output", "smooth.gp")
    with open("smooth.gp") as file:
        blocks = [np.array([line.split()[:2] for line in block.splitlines()], float)
                  for block in re.findall(r"(?s)^\$data\d+ << EOD\n(.*?)^EOD$", file.read(), re.M)]
    check(len(blocks) == 2, f"{len(blocks)} blocks of data are drawn, not input and result")
    for name, block, wanted, first in zip(("input", "result"), blocks, (x, expected), (0.25, 0)):
        check(len(block) > 300 and np.allclose(block[:, 1], wanted[:len(block)], rtol=1e-8, atol=1e-12) and block[0, 0] == first,
              f"the picture's {name}: {block[:5]}")


def other_ways(x, taps, expected):
    """Taps of a file, another mode, and what is without --precision double."""
    with h5py.File("noisy.h5", "a") as file:
        file["taps"], file["plain"] = taps, x
    ways = [("full", ["--filters", "noisy.h5:/taps"], 1), ("same", ["--boxcar", "10,norm=gain"], 1),
            ("valid", ["--boxcar", "10,norm=gain"], 1), ("full", ["--boxcar", "10"], 10 ** 0.5),
            ("full", ["--boxcar", "10,norm=energy"], 10 ** 0.5)]
    for mode, words, factor in ways:
        done = lapwing(2, "ols", "--input", "noisy.h5:/plain", *words, "--mode", mode, "--output", "other.h5", "--overwrite")
        y, wanted = filtered("other.h5"), factor * np.convolve(x, taps, mode)
        wanted = wanted if mode != "same" else factor * expected[4:10004]
        check(y.dtype == np.float32 and y.shape == wanted.shape and np.abs(y - wanted).max() < 1e-6, f"{mode} {words}")
        check(done.stderr.count(NARROWED) == 1, f"{words}: not once '{NARROWED}': {done.stderr}")
    for words in (["--output-type", "float64"], ["--output-type", "float32"], ["--precision", "double"]):
        done = lapwing(1, "ols", "--input", "noisy.h5:/plain", "--boxcar", "10,norm=gain", *words, "--output", "other.h5",
                       "--overwrite")
        check(NARROWED not in done.stderr, f"{words}: {done.stderr}")
    lapwing(1, "filters", "boxcar", "--widths", "3,10", "--norm", "gain", "--output", "bank.h5")
    lapwing(1, "ols", "--input", "noisy.h5:/plain", "--boxcar", "3,10,norm=gain", "--output", "other.h5", "--overwrite")
    with h5py.File("bank.h5") as bank, h5py.File("other.h5") as file:
        check(np.array_equal(bank["taps"], file["filters"]), "--boxcar 3,10,norm=gain makes other taps than lapwing filters")


def refused():
    """What conv and filter refuse, or answer with an empty result, ends with a code and its reason."""
    with h5py.File("wrong.h5", "w") as file:
        file["x"], file["short"], file["empty"], file["cube"] = np.ones(100), np.ones(5), np.zeros(0), np.ones((2, 3, 4))
        file["taps"], file["text"] = np.ones(10) / 10, "words"
    cases = [
        (78, "the filters have 10 taps and the signal only 5 samples", "short", ["--filters", "wrong.h5:/taps", "--mode", "valid"]),
        (65, "wrong.h5:/empty is empty", "empty", ["--filters", "wrong.h5:/taps"]),
        (65, "wrong.h5:/empty is empty", "x", ["--filters", "wrong.h5:/empty"]),
        (65, "wrong.h5:/cube has 3 dimensions", "cube", ["--filters", "wrong.h5:/taps"]),
        (65, "wrong.h5:/cube are for 3 channels, but the input has 1", "x", ["--filters", "wrong.h5:/cube"]),
        (65, "wrong.h5:/text has 0 dimensions", "x", ["--filters", "wrong.h5:/text"]),
        (2, "--filters is missing", "x", []),
        (2, "'central' is none of full|same|valid", "x", ["--filters", "wrong.h5:/taps", "--mode", "central"]),
        (2, "--boxcar: 0 is 0 samples", "x", ["--boxcar", "0,norm=gain"]),
        (2, "'unit' is none of gain|energy", "x", ["--boxcar", "10,norm=unit"]),
        (2, "give it as --boxcar ...,norm=gain|energy", "x", ["--filters", "wrong.h5:/taps", "--norm", "gain"]),
        (2, "norm gain is the gain at 0 Hz", "x", ["--boxcar", "10,norm=gain,baseline=50"]),
    ]
    for code, text, dataset, words in cases:
        done = lapwing(2 if code == 78 else 1, "ols", "--input", f"wrong.h5:/{dataset}", *words, "--output", "never.h5", code=code)
        check(text in done.stderr and not os.path.exists("never.h5"), f"{words}: not '{text}': {done.stderr}")
    with open("wrong.ini", "w") as file:
        file.write("[ols]\ninput = wrong.h5:/x\nfilters = wrong.h5:/taps\nnorm = gain\noutput = never.h5\n")
    done = lapwing(1, "run", "wrong.ini", code=2)
    check("norm= goes with widths of --boxcar, not with --filters" in done.stderr, done.stderr)


def octave(script):
    path = f"{os.path.dirname(LAPWING)}:{os.environ['PATH']}"
    done = subprocess.run(["octave-cli", "--quiet", "--norc", os.path.join(EXAMPLES, script)], capture_output=True, text=True,
                          timeout=100, env={**os.environ, "PATH": path})
    check(done.returncode == 0, f"octave {script}: {done.stderr}")
    return done.stdout.splitlines()


def with_octave():
    """Octave draws axes only with the font FreeSans, which Debian's package recommends."""
    if not shutil.which("octave-cli"):
        print("not tried: Octave is not installed")
        return
    if not glob.glob("/usr/share/fonts/**/FreeSans.otf", recursive=True):
        print("not tried: there is no font FreeSans for Octave's pictures (Debian: fonts-freefont-otf)")
        return
    rows = {line.split()[0]: [float(word) for word in line.split()[1:]] for line in octave("two-tones.m")[-2:]}
    check(np.allclose(rows["before"], [1, 1], atol=1e-3) and abs(rows["after"][0] - 1) < 2e-3 and rows["after"][1] < 1e-3,
          f"octave: {rows}")
    with open("two-tones.svg") as file:
        picture = file.read()
    check(all(text in picture for text in ("before: 50 Hz + 7000 Hz", "after lapwing ols --lowpass 1kHz", "time (s)")),
          "two-tones.svg has not its titles")
    n = len(re.findall(r"[\d.]+,[\d.]+", picture))
    check(picture.rstrip().endswith("</svg>") and n > 2 * 2646, f"two-tones.svg has {n} points, not those of two curves")
    if shutil.which("gnuplot"):
        said = octave("moving-average.m")
        check(said[-1] == "10009 outputs, conv has 10009; 0 of them differ by more than 1e-14", f"octave: {said}")
        with open("smooth.png", "rb") as file:
            check(file.read(8) == b"\x89PNG\r\n\x1a\n", "smooth.png is no picture")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    two_tones()
    moving_average()
    refused()
    with_octave()
    os.chdir("/")
finish()
