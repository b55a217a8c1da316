"""Inputs whose chunks were compressed by registered filters give the same result as the same samples uncompressed. They are read
by threads and by collective calls, on one rank and on three. Damaged chunks end the run with 65.

    compressed.py LAPWING MPIEXEC"""

import os
import sys
import tempfile

folder = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(folder, "..", "..", "cli"))
from tested import check, finish, h5py, lapwing, np, random  # noqa: E402
import packed  # noqa: E402

KINDS = ["bitshuffle", "bitshuffle-LZ4", "bitshuffle-Zstandard", "LZ4", "shuffle+LZF", "Zstandard", "Blosc-lz4-2"]
os.chdir(tempfile.mkdtemp())        # below the folder that tests/alone removes


def drop_lacking():
    """Keep the kinds that this build decodes."""
    built_in = next(line for line in lapwing(1, "info").stdout.splitlines() if line.startswith("decoders")).split(None, 1)[1].split(", ")
    for name in ("LZ4", "Zstandard", "LZF", "Blosc"):
        if name not in built_in:
            KINDS[:] = [kind for kind in KINDS if name not in kind]
    if "bitshuffle-LZ4" not in KINDS:
        sys.exit("this build has no LZ4")


def make_input():
    """A filterbank of 8 bits, time slow; one of 16 bits, time fast; and filters; all compressed in several ways."""
    bank = np.clip(random.normal(128, 6, (7001, 20)), 0, 255).astype("u1")
    series = random.normal(0, 500, (6, 9001)).astype("<i2")
    taps = random.standard_normal((2, 65))
    with h5py.File("in.h5", "w") as file:
        file["bank"], file["series"], file["taps"] = bank, series, taps
        for kind in KINDS:
            packed.write(file, f"bank-{kind}", bank, (512, 8), packed.filters(kind, 1))
            packed.write(file, f"series-{kind}", series, (4, 1000), packed.filters(kind, 2, 48))
            packed.write(file, f"taps-{kind}", taps, (2, 65), packed.filters(kind, 8))
        number, values, function = packed.filters("bitshuffle-LZ4", 1)[0]
        packed.write(file, "damaged", bank, (512, 20), [(number, values, lambda raw: function(raw)[:-9])])


def ols(ranks, name, axis, taps, how, code=0):
    done = lapwing(ranks, "ols", "--input", f"in.h5:/{name}", "--axis", axis, "--filters", f"in.h5:/{taps}", "--output", "out.h5",
                   "--overwrite", "--io", how, "--memory", "120M", code=code)
    if code:
        return done.stderr
    with h5py.File("out.h5") as file:
        return file["filtered"][()].tobytes()


def main():
    drop_lacking()
    make_input()
    for data, axis in ("bank", 0), ("series", 1):
        expected = ols(1, data, axis, "taps", "auto")
        for number, kind in enumerate(KINDS):
            for how, ranks in (("auto", 3), ("collective", 1)) if number % 2 else (("auto", 1), ("collective", 3)):
                found = ols(ranks, f"{data}-{kind}", axis, f"taps-{kind}", how)
                check(found == expected, f"{data}, {kind}, --io {how}, {ranks} ranks: another result")
    for how, ranks in ("auto", 1), ("collective", 3):
        said = ols(ranks, "damaged", 0, "taps", how, code=65)
        check("cannot read samples " in said and "in.h5:/damaged: a compressed block reaches beyond its chunk" in said, said)
        check(not os.path.exists("out.h5.lapwing-part"), f"a part is left: {said}")
    shown = lapwing(1, "info", "in.h5").stdout
    for kind in KINDS:
        check(f", {kind.replace('-lz4-2', '').replace('-', ' + ').replace('+LZF', ' + LZF')}\n" in shown, f"info names {kind}: {shown}")
    finish()


main()
