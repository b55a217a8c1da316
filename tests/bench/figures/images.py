#!/usr/bin/env python3
"""images.py [RESULTS] - figures of 2-D convolution, and of sums by the definition, from the records of measure_figures_gpu.sh and
figures/measure_cpu.sh: RESULTS/figures/conv2d_*.csv and ols/steps.csv become PNGs of the same names. RESULTS:
tests/bench/results."""
import os
import re

from common import BLUE, GOLD, GREEN, GREY, PURPLE, RED, curve, end, finish, folders, plt, save, shape, table

H200 = "one NVIDIA H200, float32, data on the device; "


def case(row):
    """Side of the image, rows and columns of the kernel."""
    return tuple(int(value) for value in re.fullmatch(r"(\d+)\^2 (\d+)x(\d+)", row["case"]).groups())


def draw_sizes(out):
    """The sizes of Podlozhnyuk, FFT-based 2D convolution (2007)."""
    rows = table(out, "conv2d_sizes.csv")
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    for panel, kernel in zip(axes, ((7, 6), (31, 31))):
        chosen = [(case(row)[0], row) for row in rows if case(row)[1:] == kernel]
        for name, column, colour, marker in (("lapwing", "gpixel_s", BLUE, "o"), ("cuFFT, tiles", "cuFFT_tiles_gpixel_s", RED, "s"),
                                             ("cuFFT with callbacks", "cuFFT_callbacks_gpixel_s", RED, "x"),
                                             ("cuFFT, whole image", "cuFFT_whole_image_gpixel_s", GREEN, "^"),
                                             ("cuFFTDx", "cuFFTDx_gpixel_s", GOLD, "D"), ("NPP", "NPP_gpixel_s", GREY, "v")):
            curve(panel, [(side, row.get(column)) for side, row in chosen], name, colour, marker)
        finish(panel, f"kernel of {kernel[0]} x {kernel[1]}", "image's side", "Gpixel/s")
    save(figure, out, "conv2d_sizes.png", H200 + "conv2d_sizes.csv")


def draw_crossover(out, name, machine, measured_by):
    rows = table(out, name + ".csv", measured_by)
    sides = sorted({case(row)[0] for row in rows})
    figure, axes = plt.subplots(1, max(len(sides), 1), figsize=(11, 4.5), squeeze=False)
    looks = (("direct", RED, "s"), ("tiles", GREEN, "^"), ("full", GOLD, "D"), ("separable", GREY, "x"), ("padded", PURPLE, "v"),
             ("auto", BLUE, "o"))
    for panel, side in zip(axes[0], sides):
        for algorithm, colour, marker in looks:
            points = [(case(row)[1], row["gpixel_s"]) for row in rows if case(row)[0] == side and row["algorithm"] == algorithm]
            curve(panel, points, algorithm, colour, marker, "--" if algorithm == "auto" else "-")
        finish(panel, f"image of {side} x {side}", "kernel's side", "Gpixel/s", x="linear")
    save(figure, out, name + ".png", f"{machine}{name}.csv; separable: a kernel that is")


def draw_steps(out):
    """The textbook's steps towards a direct kernel (direct_steps.cuh)."""
    rows = [(shape(row["case"]), row) for row in table(out, "steps.csv")]
    filters = sorted({found[4] for found, _ in rows if found})
    figure, axes = plt.subplots(1, max(len(filters), 1), figsize=(11, 4.5), squeeze=False)
    looks = (("naive", "plain", GREY, "x"), ("constant", "taps in constant memory", GOLD, "D"),
             ("ghost cells", "shared memory with ghost cells", GREEN, "^"),
             ("cached ghost cells", "ghost cells through the caches", RED, "s"), ("direct", "lapwing", BLUE, "o"))
    for panel, count in zip(axes[0], filters):
        for step, name, colour, marker in looks:
            curve(panel, [(found[3], found[2] * count / row["single_ms"] * 1e-6) for found, row in rows
                          if found and found[4] == count and row["kernel"] == step], name, colour, marker)
        finish(panel, f"{count} filter{'s' if count > 1 else ''}", "taps", "Gsamples/s", y="linear")
        panel.set_ylim(bottom=0)
    save(figure, out, "steps.png", H200.replace("data", "2^26 real samples") + "ols/steps.csv")


if __name__ == "__main__":
    _, where = folders(__doc__)
    draw_sizes(where)
    draw_steps(os.path.join(where, "ols"))
    draw_crossover(where, "conv2d_crossover", H200, "measure_figures_gpu.sh")
    draw_crossover(where, "conv2d_crossover_cpu", "one core, float32, processor time; ", "figures/measure_cpu.sh")
    end()
