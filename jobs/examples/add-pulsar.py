"""add-pulsar.py IN.fil OUT.fil [DM [PERIOD [ACCELERATION [HEIGHT [DURATION]]]]] - makes an observation of a pulsar in a binary system.

Its noise are the spectra of a SIGPROC filterbank file of 8 bits, in a random order, as many as DURATION seconds take. The pulsar has
a period of PERIOD seconds in the middle of the observation. There it is accelerated towards the observer by ACCELERATION m/s^2, on a
circular orbit of 20 DURATION. Its pulses last 5% of a turn, and are HEIGHT standard deviations of a channel high. Defaults: a
dispersion measure of 150 pc cm-3, 25 ms, 500000 m/s^2, which the short time needs, a twentieth of a standard deviation, 16 s."""

import struct
import sys

import numpy as np

source, target, *rest = sys.argv[1:]
dm, period, acceleration, height, duration = [*map(float, rest), *(150, 0.025, 500000, 0.05, 16)[len(rest):]]
with open(source, "rb") as file:
    data = file.read()
begin = data.index(b"HEADER_END") + len("HEADER_END")


def keyword(name, kind):
    return struct.unpack_from("<" + kind, data, data.index(name.encode(), 0, begin) + len(name))[0]


def turns(t):
    """The pulsar's phase: the integral of its frequency, which its velocity changes."""
    rate = 2 * np.pi / (20 * duration)
    away = t - duration / 2
    return (away + acceleration / 299792458 / rate ** 2 * (1 - np.cos(rate * away))) / period


n_channels, first, step, interval = keyword("nchans", "i"), keyword("fch1", "d"), keyword("foff", "d"), keyword("tsamp", "d")
random = np.random.default_rng(1)
x = np.frombuffer(data[begin:], np.uint8).reshape(-1, n_channels)
heights = height * x.std(axis=0)
t = interval * np.arange(int(duration / interval))
x = x[random.integers(0, len(x), len(t))]
for c in range(n_channels):
    phase = turns(t - 4148.808 * dm * ((first + step * c) ** -2 - first ** -2))
    pulse = np.exp(-4 * np.log(2) * ((phase - np.rint(phase)) / 0.05) ** 2)
    x[:, c] = np.clip(x[:, c] + heights[c] * pulse + random.random(len(t)), 0, 255)     # rounds up or down by chance
with open(target, "wb") as file:
    file.write(data[:begin] + x.tobytes())
