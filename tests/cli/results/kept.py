"""Facts of an input stay with the result: attributes of its dataset and group, or keywords of a header, in their own names. Facts
that would be wrong in the result are left out; none replaces the result's own attributes, and there are no more than fit.

    kept.py LAPWING MPIEXEC"""

import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import check, finish, h5py, lapwing, np, random

folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
SAMPLES = random.standard_normal(400).astype("f4")


def attributes_of(name, ranks=1, *arguments, product="filtered", job="ols"):
    lapwing(ranks, job, "--input", name, *(arguments or ("--filters", "in.h5:/taps")), "--output", "out.h5", "--overwrite", "--quiet")
    with h5py.File("out.h5") as file:
        return dict(file[product].attrs)


def own_attributes():
    with h5py.File("in.h5", "w") as file:
        file["plain"], file["taps"], file["image"] = SAMPLES, random.standard_normal(9), SAMPLES.reshape(20, 20)
    return set(attributes_of("in.h5:/plain"))


def make_input():
    with h5py.File("in.h5", "a") as file:
        file.attrs["title"] = "not of the dataset's group"
        data = file.create_dataset("site/signal", data=SAMPLES)
        kept = {"gauge_length": 10.2, "count_of_things": np.int32(-7), "operator": "Ωmega", "ids": np.arange(5, dtype="i2"),
                "huge": np.uint64(2 ** 63 + 2048), "single": np.array([3.5])}
        data.attrs.update(kept)
        data.attrs["fixed"] = np.bytes_("of fixed length")
        lost = {"mode": "of the input", "sample_rate_hz": 500.0, "scale_factor": 2.0, "Count": 400, "_NCProperties": "x", "unit": "m",
                "long_text": "x" * 2000, "long_array": np.zeros(100), "is_enumerated": True, "strings": np.array(["a", "b"], "S1")}
        data.attrs.update(lost)
        file["site"].attrs.update(station="KRAU", gauge_length=99.0)
        many = file.create_dataset("many/signal", data=SAMPLES)
        many.attrs.update({f"number_{i:03}": i for i in range(200)})
        wide = file.create_dataset("wide/signal", data=SAMPLES)
        wide.attrs.update({f"text_{i:02}": "x" * 1000 for i in range(30)})
        wide.attrs.update({f"reals_{i:02}": np.full(64, float(i)) for i in range(20)})
    return kept, lost


def same_value(found, wanted):
    return np.array_equal(np.ravel(found), np.ravel(wanted)) if not isinstance(wanted, str) else found == wanted


def hdf5(own):
    kept, lost = make_input()
    kept.update(station="KRAU", fixed="of fixed length")
    for ranks in (1, 3):
        found = attributes_of("in.h5:/site/signal", ranks)
        for name, value in kept.items():
            check(name in found and same_value(found[name], value), f"{name}: {found.get(name)}, not {value}")
        check(found["mode"] == "same" and found["sample_rate_hz"] == 500, "the result's own attributes are overwritten")
        extra = set(found) - own - set(kept) - {"sample_rate_hz", "unit", "units"}
        check(not extra, f"kept, too: {extra}")
        check(found.get("unit") == "m", "the unit is not kept")
    check("title" not in found, "an attribute of the root is kept for a dataset of another group")
    check(attributes_of("in.h5:/plain").get("title") == "not of the dataset's group",
          "an attribute of the root is not kept for a dataset of the root")
    peaks = attributes_of("in.h5:/site/signal", 3, "--filters", "in.h5:/taps", "--products", "peaks", "--threshold", "2", "--noise",
                          "measured", product="peaks")
    check(peaks.get("operator") == "Ωmega", "the first product, a table, lacks the input's attributes")
    check(attributes_of("in.h5:/image", 2, "--kernel", "in.h5:/image", product="convolved", job="conv2d").get("title"),
          "conv2d: the result lacks the input's attributes")
    check(attributes_of("in.h5:/plain", 2, "--sparsity", "3", product="spectrum", job="sfft").get("title"),
          "sfft: the result lacks the input's attributes")


def bounds(own):
    found = attributes_of("in.h5:/many/signal")
    numbers = [name for name in found if name.startswith("number_")]
    check(len(numbers) == 64 and all(found[n] == int(n[7:]) for n in numbers), f"{len(numbers)} of 200 numbers")
    found = attributes_of("in.h5:/wide/signal")
    texts, reals = ([n for n in found if n.startswith(start)] for start in ("text_", "reals_"))
    check(len(texts) == 16 and len(reals) == 16, f"{len(texts)} long texts and {len(reals)} arrays")
    check(all(np.array_equal(found[n], np.full(64, float(n[6:]))) for n in reals), "arrays among the attributes have changed")


def again():
    """The root of a result describes the run that made it, not the run of its input."""
    attributes_of("in.h5:/site/signal")
    os.rename("out.h5", "first.h5")
    found = attributes_of("first.h5:/filtered")
    check(found.get("operator") == "Ωmega" and "command_line" not in found and "configuration" not in found, f"again: {list(found)}")


def keyword(name, value):
    text = struct.pack("<i", len(name)) + name.encode()
    if isinstance(value, str):
        return text + struct.pack("<i", len(value)) + value.encode()
    return text + struct.pack("<i" if isinstance(value, int) else "<d", value)


def filterbank():
    header = {"source_name": "J0332+5434", "telescope_id": 6, "data_type": 1, "fch1": 1500.0, "foff": -1.0, "nchans": 4, "nbits": 8,
              "nifs": 1, "tsamp": 0.001, "tstart": 58000.0}
    with open("in.fil", "wb") as file:
        file.write(struct.pack("<i", 12) + b"HEADER_START" + b"".join(keyword(*item) for item in header.items()) +
                   struct.pack("<i", 10) + b"HEADER_END" + random.integers(0, 255, 400, dtype="u1").tobytes())
    lapwing(2, "ols", "--input", "in.fil", "--filters", "in.h5:/taps", "--channels", "1:4:2", "--output", "out.h5", "--overwrite", "--quiet")
    with h5py.File("out.h5") as file:
        data = file["filtered"]
        check(data.attrs.get("source_name") == "J0332+5434" and data.attrs.get("telescope_id") == 6,
              "the header's keywords are not kept")
        check("tsamp" not in data.attrs and "tstart" not in data.attrs, "the sampling of the input is kept in the result")
        check(data.dims[1].label == "frequency" and np.array_equal(file["frequency"][()], [1499.0, 1497.0]),
              "the frequencies are not kept")
        check(file["frequency"].attrs["units"] == "MHz" and data.dims[1][0] == file["frequency"],
              "the scale of frequencies is wrong")
        check(file["time"].attrs["units"] == "seconds since 2017-09-04T00:00:00" and file["time"][1] == 0.001,
              "the scale of times is wrong")


own = own_attributes()
hdf5(own)
bounds(own)
again()
filterbank()
finish()
