#!/usr/bin/env python3
"""crossover_cpu.py OUT.csv BENCH_CONV2D_CPU - 2-D convolution by direct sums and by transforms against the kernel's side, one
core.

The benchmark runs five times, each time with all kernels and algorithms, so that other work on the machine affects all of them
alike. ms is the median over the runs of the processor time of the fastest of three calls."""
import csv
import re
import statistics
import subprocess
import sys

RUNS, SIZES = 5, (2048, 4096)
KERNELS = (3, 5, 7, 9, 11, 13, 15, 17, 21, 25, 31)
LINE = re.compile(r"(\d+) (\w+) ([\d.]+) s .*\(model [^)]*\)  (.*)")


def measure(bench, size):
    """Return {(kernel, algorithm): seconds of the runs}, the texts of the plans, and the machine."""
    seconds, texts, about = {}, {}, ""
    for _ in range(RUNS):
        said = subprocess.run([bench, str(size), "single", *map(str, KERNELS)], check=True, capture_output=True, text=True).stdout
        about = said.split("\n")[0]
        for line in said.splitlines():
            found = LINE.fullmatch(line)
            if found:
                key = int(found[1]), found[2]
                seconds.setdefault(key, []).append(float(found[3]))
                texts[key] = found[4]
    return seconds, texts, about


def main(out, bench):
    with open(out, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["case", "algorithm", "ms", "gpixel_s", "method"])
        for size in SIZES:
            seconds, texts, about = measure(bench, size)
            file.write(about + "\n")
            for (kernel, algorithm), values in seconds.items():
                median = statistics.median(values)
                rate = size * size / median / 1e9
                table.writerow([f"{size}^2 {kernel}x{kernel}", algorithm, f"{1e3 * median:.3f}", f"{rate:.4f}",
                                texts[kernel, algorithm]])
            file.flush()
    print(out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
