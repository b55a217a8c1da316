"""gw-masses.py - a table of masses and spins of black holes, for `lapwing filters inspiral --bank FILE:/table`.

    python3 gw-masses.py [COUNT [FILE]]         by default 1000 and masses.h5

The templates are spread evenly, each count beginning with those of a smaller one. Programs that place templates by their match are
part of PyCBC; lapwing reads the HDF5 files of pycbc_geom_aligned_bank and the like as they are (--bank FILE)."""

import sys

import h5py
import numpy

count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
file = sys.argv[2] if len(sys.argv) > 2 else "masses.h5"

step = 1.2207440846057596 ** -numpy.arange(1, 4)       # the R3 sequence: the root of x^4 = x + 1
first, second, third = (numpy.outer(step, numpy.arange(count)) + 0.5) % 1

table = numpy.empty(count, [(name, "f8") for name in ("mass_1", "mass_2", "spin_1", "spin_2")])
table["mass_1"] = 30 + 30 * first
table["mass_2"] = 20 + (table["mass_1"] - 20) * second
table["spin_1"] = table["spin_2"] = 0.9 * third
with h5py.File(file, "w") as output:
    output["table"] = table
