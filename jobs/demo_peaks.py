#!/usr/bin/python3
"""Compares a result of `lapwing ols --mode same` with the signals that `lapwing synth ols` hid in the survey.

usage: demo_peaks.py SURVEY RESULT

The output of a matched filter must have its peak in the channel and near the sample of the hidden chirp. The output of a band-pass
must have its largest rms in the channel of the hidden tone. If the result has only /peaks, its rows and the chirps must agree one
to one. Exit code 1 if any of this fails.
"""

import re
import sys

import h5py
import numpy

NEAR = 8        # most samples that noise may move a peak by


def strongest(filtered, measure):
    """Return the channel with the largest measure, and the measures of all; only one channel is in memory at a time."""
    measures = [measure(filtered[channel]) for channel in range(filtered.shape[0])]
    return int(numpy.argmax(measures)), measures


def show_chirp(filtered, hidden):
    """Print the strongest output; return whether it is where the survey's attribute puts the chirp's peak."""
    channel, _ = strongest(filtered, lambda y: numpy.max(numpy.abs(y)))
    sample = int(numpy.argmax(numpy.abs(filtered[channel])))
    print(f"  found:  channel {channel}: peak of {filtered[channel, sample]:.3f} at sample {sample}")
    expected = re.match(r"channel (\d+): chirp .* peaks near sample (\d+)", hidden)
    return channel == int(expected.group(1)) and abs(sample - int(expected.group(2))) <= NEAR


def show_tone(filtered, hidden):
    """Print the largest rms, and the amplitude of a tone that causes it in noise as in the other channels; return whether it is in
    the tone's channel."""
    channel, rms = strongest(filtered, lambda y: numpy.sqrt(numpy.mean(numpy.abs(y) ** 2)))
    noise = max((r for c, r in enumerate(rms) if c != channel), default=0)
    amplitude = numpy.sqrt(2 * (rms[channel] ** 2 - noise ** 2))
    print(f"  found:  channel {channel}: rms of {rms[channel]:.3f}, at most {noise:.3f} in the others: a tone of amplitude"
          f" {amplitude:.3f}")
    return channel == int(re.match(r"channel (\d+): tone", hidden).group(1))


def text_of(value):
    return value.decode() if isinstance(value, bytes) else value


def show_table(survey, table):
    """Print the rows of /peaks; return whether they are the hidden chirps."""
    hidden = [text_of(value) for name, value in sorted(survey["signal"].attrs.items()) if name.startswith("hidden_")]
    chirps = [re.match(r"channel (\d+): chirp .* for filter (\d+); .* peaks near sample (\d+)", text) for text in hidden]
    expected = [tuple(int(number) for number in chirp.groups()) for chirp in chirps if chirp]
    print("channel filter    sample      time     snr  outputs above the threshold")
    for row in table:
        print(f"{row['channel']:7} {row['filter']:6} {row['index']:9} {row['time']:8.3f} s {row['snr']:7.3f} {row['cluster_size']:5}")
    return len(table) == len(expected) and all(
        any((row["channel"], row["filter"]) == (channel, filter) and abs(row["index"] - sample) <= NEAR for row in table)
        for channel, filter, sample in expected)


def show_series(survey, result):
    """Print what each filter found beside what was hidden for it; return whether all agree."""
    good = True
    shape = " x ".join(str(n) for n in result["filtered"].shape)
    print(f"{sys.argv[2]}: /filtered, {shape} (filter x channel x time), {result['filtered'].dtype}")
    for number, filtered in enumerate(result["filtered"]):
        name, hidden = text_of(survey["filters"].attrs[f"filter_{number}"]), text_of(survey["signal"].attrs[f"hidden_{number}"])
        print(f"filter {number}: {name}\n  hidden: {hidden}")
        as_hidden = show_chirp(filtered, hidden) if "chirp" in name else show_tone(filtered, hidden)
        good = good and as_hidden
    return good


def main():
    with h5py.File(sys.argv[1]) as survey, h5py.File(sys.argv[2]) as result:
        good = show_series(survey, result) if "filtered" in result else show_table(survey, result["peaks"])
    print("Everything was found where it was hidden." if good else "Not everything was found where it was hidden.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
