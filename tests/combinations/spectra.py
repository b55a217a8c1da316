"""Random runs of the job `sfft`. `verify` checks the lines by summing the samples for each; this test checks the bits and the
refusals."""

import numpy as np

from inputs import pick, write_input


class Sfft:
    name, arrays = "sfft", ("spectrum",)

    def __init__(self, rng, folder):
        n = int(rng.integers(8, 3000) if rng.random() < 0.3 else pick(rng, 1 << int(rng.integers(11, 18)), int(rng.integers(3000, 100000))))
        channels, lines = int(pick(rng, 1, 1, 2, 3, 7)), int(pick(rng, 1, 2, 5, 12, 40))
        x, lines = self.draw(rng, channels, n, lines)
        is_alone = channels == 1 and rng.random() < 0.5
        axis = 0 if is_alone else pick(rng, 0, 1)
        self.kind = pick(rng, "h5", "h5", "npy", "raw", "joined", "gaps")
        x = x[0] if is_alone else x.T.copy() if axis == 0 else x
        names, self.x, self.options = write_input(rng, folder, x, axis, 1000.0, self.kind)
        self.arguments = ["sfft", "--input", *names, "--sparsity", str(lines)]
        if self.x.ndim == 2 and self.kind != "raw":
            self.options["axis"] = axis
        self.make_options(rng, n, channels if self.x.ndim == 2 else 1)

    @staticmethod
    def draw(rng, channels, n, lines):
        is_complex, level = rng.random() < 0.5, pick(rng, 0, 1e-4, 1e-2, 0.3)
        bins = n if is_complex else n // 2 + 1
        lines, turns = min(bins, lines), np.arange(n) / n
        x = level * (rng.standard_normal((channels, n)) + 1j * rng.standard_normal((channels, n)))
        for row in x:
            for f in rng.choice(bins, lines, False):
                f = f + (rng.uniform(-0.4, 0.4) if rng.random() < 0.2 else 0)
                row += pick(rng, 1, 1, 2, 0.3) * np.exp(2j * np.pi * (f * turns + rng.random()))
        if is_complex:
            x = x.astype(pick(rng, "c8", "c16"))
        else:
            x = np.rint(x.real * 300).astype("i2") if rng.random() < 0.2 else x.real.astype(pick(rng, "f4", "f8"))
        if rng.random() < 0.1 and x.dtype.kind in "fc":
            x.reshape(-1)[int(rng.integers(x.size))] = np.nan
        return x, lines

    def make_options(self, rng, n, channels):
        o = self.options
        o["precision"], o["algorithm"] = pick(rng, "single", "double"), pick(rng, "auto", "auto", "dense", "sparse", "sfft2")
        if rng.random() < 0.3:
            o["seed"] = int(rng.integers(0, 1000))
        if rng.random() < 0.3:
            o["window"] = int(rng.integers(1, n + 1))
            if rng.random() < 0.6:
                o["hop"] = max(int(rng.integers(1, o["window"] + 5)), n // 200 + 1)
        if rng.random() < 0.25 and o["algorithm"] != "sfft2":
            o["refine"] = True
        if rng.random() < 0.2:
            o["snr"] = pick(rng, 20, 40, 3)
        if rng.random() < 0.2:
            o["min-magnitude"] = n / 4
        if rng.random() < 0.3:
            o["start"] = int(rng.integers(0, n))
        if channels > 1 and rng.random() < 0.3:
            o["channels"] = f"{rng.integers(0, channels)}::2"
        o["fallback"], o["nan"] = pick(rng, "dense", "dense", "partial", "error"), pick(rng, "propagate", "zero", "error")

    def check(self, path):
        del path
        return []
