#!/usr/bin/python3
"""Shows what `lapwing ols --mode same` brought out of a survey that `lapwing synth ols` made, beside what was hidden there.

usage: demo_peaks.py SURVEY RESULT

A chirp must peak, in the output of its matched filter, in the channel and at the sample where it was hidden; a tone must
give the output of its band-pass filter the largest rms in the channel where it was hidden. Exit code 1 where one does not.
"""

import re
import sys

import h5py
import numpy


def strongest(filtered, measure):
    """Channel with the largest measure, and all channels' measures; one channel in memory at a time."""
    measures = [measure(filtered[channel]) for channel in range(filtered.shape[0])]
    return int(numpy.argmax(measures)), measures


def show_chirp(filtered, hidden):
    """Strongest output, compared with where the survey says the chirp peaks."""
    channel, _ = strongest(filtered, lambda y: numpy.max(numpy.abs(y)))
    sample = int(numpy.argmax(numpy.abs(filtered[channel])))
    print(f"  found:  channel {channel}: peak of {filtered[channel, sample]:.3f} at sample {sample}")
    expected = re.match(r"channel (\d+): chirp .* peaks at sample (\d+)", hidden)
    return (channel, sample) == tuple(int(number) for number in expected.groups())


def show_tone(filtered, hidden):
    """Largest rms, as the amplitude of a tone that has it."""
    channel, rms = strongest(filtered, lambda y: numpy.sqrt(numpy.mean(numpy.abs(y) ** 2)))
    others = max((r for c, r in enumerate(rms) if c != channel), default=0)
    print(f"  found:  channel {channel}: rms of {rms[channel]:.3f}, a tone of amplitude {numpy.sqrt(2) * rms[channel]:.3f};"
          f" at most {others:.3f} in the others")
    return channel == int(re.match(r"channel (\d+): tone", hidden).group(1))


def main():
    with h5py.File(sys.argv[1]) as survey, h5py.File(sys.argv[2]) as result:
        good = True
        for number, filtered in enumerate(result["filtered"]):
            name, hidden = survey["filters"].attrs[f"filter_{number}"], survey["signal"].attrs[f"hidden_{number}"]
            name, hidden = (text.decode() if isinstance(text, bytes) else text for text in (name, hidden))
            print(f"filter {number}, {name}\n  hidden: {hidden}")
            as_hidden = show_chirp(filtered, hidden) if "chirp" in name else show_tone(filtered, hidden)
            print("  as it was hidden" if as_hidden else "  NOT as it was hidden")
            good = good and as_hidden
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
