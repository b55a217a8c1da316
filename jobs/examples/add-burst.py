"""add-burst.py IN.fil OUT.fil [DM [TIME [WIDTH [HEIGHT]]]] - adds a dispersed burst to a SIGPROC filterbank file of 8 bits.

The burst reaches the first channel's frequency TIME seconds after the first sample, and lasts WIDTH seconds. In each channel it is
HEIGHT standard deviations of that channel high. Within a channel it is smeared, as a burst in the sky is. Defaults: a dispersion
measure of 475 pc cm-3, 0.6 s, 2 ms, half a standard deviation."""

import struct
import sys

import numpy as np

PARTS = 16              # parts of a channel, each with a delay of its own
source, target, *rest = sys.argv[1:]
dm, time, width, height = [*map(float, rest), *(475, 0.6, 0.002, 0.5)[len(rest):]]
with open(source, "rb") as file:
    data = file.read()
begin = data.index(b"HEADER_END") + len("HEADER_END")


def keyword(name, kind):
    return struct.unpack_from("<" + kind, data, data.index(name.encode(), 0, begin) + len(name))[0]


n_channels, first, step, interval = keyword("nchans", "i"), keyword("fch1", "d"), keyword("foff", "d"), keyword("tsamp", "d")
x = np.frombuffer(data[begin:], np.uint8).reshape(-1, n_channels).astype(float)
edges = interval * np.arange(len(x) + 1)
for c in range(n_channels):
    frequencies = first + step * (c + (np.arange(PARTS) + 0.5) / PARTS - 0.5)
    arrivals = time + 4148.808 * dm * (frequencies ** -2 - first ** -2)
    lit = sum(np.diff(np.clip(edges - arrival, 0, width)) for arrival in arrivals) / PARTS / interval
    x[:, c] += height * x[:, c].std() * lit
x += np.random.default_rng(1).random(x.shape)           # rounds up or down by chance: heights below 1 are not lost
with open(target, "wb") as file:
    file.write(data[:begin] + np.clip(np.floor(x), 0, 255).astype(np.uint8).tobytes())
