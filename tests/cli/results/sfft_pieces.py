"""The job sfft with --window and --hop: the lines of each piece of a record, against numpy.fft of the piece and against runs on
that piece alone. The test covers all layouts and ways to read, 1 to 4 ranks, resumed runs and refused options. LW_TEST_ALL tries
all ways to read with real and complex samples.

    sfft_pieces.py LAPWING MPIEXEC"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tested import ALL, check, finish, lapwing      # noqa: E402

import h5py             # noqa: E402
import numpy as np      # noqa: E402

random = np.random.default_rng(17)
COLUMNS = ("channel", "index", "frequency", "re", "im", "magnitude")
RATE = 512.0


def call(ranks, *arguments, code=0):
    return lapwing(ranks, *arguments, "--quiet", code=code).stderr


def run(ranks, source, output, *options):
    call(ranks, "sfft", "--input", source, "--output", output, "--overwrite", "--engine", "cpu", *options)
    with h5py.File(output) as file:
        return file["spectrum"][()], file["channels"][()], dict(file["spectrum"].attrs)


def record(n, window, k, is_complex):
    """Tones on the grid of the window, some of which begin or end at a multiple of the half window, and a little noise."""
    t, half = np.arange(n), window // 2
    x = 1e-3 * (random.standard_normal(n) + 1j * random.standard_normal(n))
    for f in random.choice(window // 2 - 2, k, False) + 1:
        begin, end = np.sort(random.choice(n // half + 1, 2, False)) * half if f % 2 else (0, n)
        x[begin:end] += np.exp(2j * np.pi * (f * t[begin:end] % window / window + random.random()))
    return x if is_complex else 2 * x.real


def check_piece(what, rows, channels, x, k):
    """All coefficients above the noise have numpy's values. A piece that lines do not explain is transformed densely."""
    spectrum = np.fft.rfft(x) if np.isrealobj(x) else np.fft.fft(x)
    largest = np.abs(spectrum).max()
    expected = np.flatnonzero(np.abs(spectrum) > 0.2 * largest)
    check(channels["explained"] == 1 and channels["lines"] == len(rows), f"{what}: {channels}")
    check(len(expected) > k or set(expected) <= set(rows["index"].tolist()), f"{what}: lines are missing")
    for row in rows:
        error = abs(complex(row["re"], row["im"]) - spectrum[row["index"]])
        check(error < max(1e-6 * largest, channels["detection_limit"]), f"{what}: X[{row['index']}], wrong by {error}")


def layouts(work):
    """Every piece has numpy's values and the bits of a run on it alone, for any way of reading and number of ranks; some pieces
    are sparse and some are not."""
    n, window, hop, k = 400000, 65536, 32768, 8
    name, output = os.path.join(work, "x.h5"), os.path.join(work, "y.h5")
    n_pieces = (n - window) // hop + 1
    for is_complex in (True, False):
        x = np.array([record(n, window, k, is_complex) for _ in range(3)])
        with h5py.File(name, "w") as file:
            file["fast"], file["slow"], file["one"] = x, x.T.copy(), x[1]
            file.create_dataset("packed", data=x, chunks=(2, 50000), compression="gzip", compression_opts=1)
            for dataset in file.values():
                dataset.attrs["sample_rate_hz"] = RATE
        options = ("--sparsity", str(k), "--precision", "double", "--axis")
        pieces = ("--window", str(window), "--hop", f"{hop / RATE}s")
        first = None
        ways = [("fast", 1, 1, ()), ("fast", 1, 3, ("--io-threads", "2")), ("slow", 0, 2, ()), ("slow", 0, 4, ("--memory", "200M")),
                ("packed", 1, 2, ()), ("fast", 1, 2, ("--io", "collective"))]
        for dataset, axis, ranks, more in ways if ALL else ways[::2] if is_complex else ways[1::2]:
            what = f"{'complex' if is_complex else 'real'} {dataset} on {ranks} ranks"
            rows, channels, about = run(ranks, f"{name}:/{dataset}", output, *options, str(axis), *pieces, *more)
            first = first if first is not None else rows
            check(rows.tobytes() == first.tobytes(), f"{what}: other bits")
            check(about["n_pieces"] == n_pieces and about["hop"] == hop and about["n_samples"] == window, f"{what}: {about}")
            check(channels["piece"].tolist() == [p for p in range(n_pieces) for _ in range(3)] and
                  channels["channel"].tolist() == [0, 1, 2] * n_pieces, f"{what}: {channels}")
            check(np.all(np.diff(rows["piece"]) >= 0), f"{what}: not sorted by piece")
        check(0 < channels["dense"].sum() < len(channels), f"not both sparse and dense: {channels['dense']}")
        for piece in range(n_pieces):
            for channel in range(3):
                own = first[(first["piece"] == piece) & (first["channel"] == channel)]
                begin = piece * hop
                check_piece(f"piece {piece} of channel {channel}", own, channels[3 * piece + channel], x[channel, begin:begin + window], k)
            if piece % 4 == 1 and (ALL or is_complex == (piece == 1)):
                alone, _, _ = run(1, f"{name}:/fast", output, *options, "1", "--start", str(piece * hop), "--count", str(window))
                own = first[first["piece"] == piece]
                check(all(own[column].tobytes() == alone[column].tobytes() for column in COLUMNS), f"piece {piece}: other bits alone")


def seams(work):
    """Fewer pieces than ranks, one piece, hops beyond the window and of one sample, tails in no piece, pieces of one sample."""
    name, output = os.path.join(work, "x.h5"), os.path.join(work, "y.h5")
    x = record(100003, 50000, 3, True)
    with h5py.File(name, "w") as file:
        file["x"] = x
        file["short"] = x[:7]
    for window, hop, ranks in ((50000, None, 4), (100003, None, 2), (40000, 50001, 1), (99999, 1, 3), (30000, 70003, 1)):
        step = hop or window
        options = ("--sparsity", "2", "--precision", "double", "--window", str(window), *(("--hop", str(hop)) if hop else ()))
        rows, channels, _ = run(ranks, f"{name}:/x", output, *options)
        one = run(1, f"{name}:/x", output, *options)[0] if ranks > 1 else rows
        n_pieces = (len(x) - window) // step + 1
        check(rows.tobytes() == one.tobytes() and channels["piece"].tolist() == list(range(n_pieces)), f"{options}: {channels}")
        for piece in (0, n_pieces - 1):
            spectrum = np.fft.fft(x[piece * step:][:window])
            for row in rows[rows["piece"] == piece]:
                error, limit = abs(complex(row["re"], row["im"]) - spectrum[row["index"]]), channels["detection_limit"][piece]
                check(error < max(1e-6 * np.abs(spectrum).max(), limit), f"{options}: {row}, wrong by {error}")
    rows, channels, _ = run(1, f"{name}:/short", output, "--sparsity", "5", "--window", "1", "--precision", "double")
    check(rows["piece"].tolist() == list(range(7)) and np.allclose(rows["re"] + 1j * rows["im"], x[:7], rtol=1e-12), f"one sample: {rows}")
    said = lapwing(1, "sfft", "--input", f"{name}:/short", "--output", output, "--overwrite", "--sparsity", "1", "--window", "3").stderr
    check("2 pieces (one per 3 samples)" in said and "the last 1 " in said, said)


def voting(work):
    """The published transform works on pieces, too."""
    name, output = os.path.join(work, "x.h5"), os.path.join(work, "y.h5")
    x = record(3 * 32768, 32768, 4, True)
    with h5py.File(name, "w") as file:
        file["x"] = x
    options = ("--sparsity", "4", "--algorithm", "sfft2", "--window", "32768")
    rows, channels, _ = run(2, f"{name}:/x", output, *options)
    for piece in range(3):
        check_piece(f"sfft2, piece {piece}", rows[rows["piece"] == piece], channels[piece], x[piece * 32768:][:32768], 4)


def verified(work):
    """lapwing verify sums the input's pieces for each line of the table, and finds a wrong line."""
    name, output = os.path.join(work, "x.h5"), os.path.join(work, "y.h5")
    with h5py.File(name, "w") as file:
        file["x"] = np.array([record(200000, 20000, 3, False) for _ in range(2)])
    run(2, f"{name}:/x", output, "--sparsity", "3", "--axis", "1", "--window", "20000", "--hop", "15000")
    call(1, "verify", output)
    with h5py.File(output, "r+") as file:
        rows = file["spectrum"][()]
        rows["re"][rows["piece"] == 5] *= 1.1
        file["spectrum"][()] = rows
    said = lapwing(1, "verify", output, code=65)
    check("piece 5" in said.stdout + said.stderr, said.stdout + said.stderr)


def refusals(work):
    name, output = os.path.join(work, "x.h5"), os.path.join(work, "none.h5")
    with h5py.File(name, "w") as file:
        file["x"] = np.zeros(1000)
    for code, what, options in ((2, "--hop goes with --window", ("--hop", "10")), (78, "--window 1001", ("--window", "1001")),
                                (78, "--sample-rate", ("--window", "1s")), (2, "--window: 0 is not allowed", ("--window", "0")),
                                (78, "--hop 1ms is less than a sample", ("--window", "10", "--hop", "1ms", "--sample-rate", "100")),
                                (2, "--window: 'gaussian' is neither", ("--window", "gaussian"))):
        said = call(1 + (what == "--window 1001"), "sfft", "--input", f"{name}:/x", "--output", output, "--sparsity", "1", *options, code=code)
        check(what in said and not os.path.exists(output), f"{options}: {said}")
    planned = lapwing(2, "plan", "sfft", "--input", f"{name}:/x", "--output", output, "--sparsity", "1", "--window", "100", "--measure").stdout
    check("pieces of channels" in planned and "(of 10, " in planned, planned)


with tempfile.TemporaryDirectory() as work:
    for part in (layouts, seams, voting, verified, refusals):
        part(work)
finish()
