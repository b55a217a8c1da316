#!/usr/bin/env python3
"""overlap_save.py [RESULTS] - the figures of the paper on overlap-save in shared memory, from the records of
measure_figures_gpu.sh and figures/measure_cpu.sh: RESULTS/figures/ols/*.csv become RESULTS/figures/ols/*.png. RESULTS:
tests/bench/results."""
import os

from common import BLUE, GOLD, GREEN, GREY, PALE, PURPLE, RED, curve, device, end, finish, folders, plt, save, shape, table

KINDS = (("c2c", "complex"), ("r2r", "real"))
FOUR = {65: BLUE, 257: GREEN, 1025: GOLD, 4097: RED}        # the filter lengths of a figure, with their colours
LENGTHS = {256: "#9ecae1", 512: "#6baed6", 1024: "#2171b5", 2048: "#08306b", 4096: GREEN, 8192: GOLD, 12288: RED, 16384: PURPLE,
           24576: "#000000"}


def cases(out, name):
    """{(precision, kind, n, M, F): row}"""
    return {shape(row["case"]): row for row in table(out, name) if shape(row["case"])}


def where(out, name):
    return device(out, name) + ", data on the device, float32; "


def positive(row, *columns):
    """The least of the columns that are there; None if there is none."""
    return min((row[name] for name in columns if isinstance(row.get(name), float) and row[name] > 0), default=None)


def cufft(row):
    return positive(row, "cuFFT_ms", "cuFFT_callbacks_ms")


def faster(row, rival):
    return rival and rival / row["single_ms"]


def rate(case, ms):
    """Thousand millions of outputs in a second."""
    return ms and case[2] * case[4] / ms * 1e-6


def pick(rows, x, **fixed):
    """[(x, case, row)] of the single-precision cases with these n, M, F and kind; x: the name of the free one"""
    names = ("precision", "kind", "n", "M", "F")
    wanted = {"precision": "single", **fixed}
    return [(case[names.index(x)], case, row) for case, row in rows.items()
            if all(case[names.index(name)] == value for name, value in wanted.items())]


def power(n):
    return f"$2^{{{n.bit_length() - 1}}}$"


# ---- beside cuFFT: 6 to 12 -------------------------------------------------------------------------------------------------------

def draw_segments(out):
    """Fig. 9"""
    rows = table(out, "segments.csv")
    best = cases(out, "grid.csv")
    figure, axes = plt.subplots(2, 2, figsize=(12, 9))
    for column, (kind, word) in enumerate(KINDS):
        lengths = {}
        for row in rows:
            case = shape(row["case"])
            n = int(str(row["kernel"]).split("/")[0]) if "/" in str(row["kernel"]) else None
            if n and case and case[1] == kind:
                times = lengths.setdefault(n, {})
                times[case[3]] = min(row["single_ms"], times.get(case[3], 1e30))
        chosen = {m: row for m, _, row in pick(best, "M", kind=kind, n=2 ** 21, F=8)}
        for n in sorted(lengths):
            curve(axes[0, column], lengths[n].items(), f"N = {n}", LENGTHS.get(n))
            ratios = [(m, cufft(chosen[m]) / ms) for m, ms in lengths[n].items() if m in chosen]
            curve(axes[1, column], ratios, f"N = {n}", LENGTHS.get(n))
        curve(axes[0, column], [(m, cufft(row)) for m, row in chosen.items()], "cuFFT overlap-save", GREY, "s", "--")
        finish(axes[0, column], f"{word}, n = {power(2 ** 21)}, F = 8", "taps M", "ms")
        finish(axes[1, column], f"{word}, n = {power(2 ** 21)}, F = 8", "taps M", "times as fast as cuFFT overlap-save", y="ratio")
    save(figure, out, "segments.png",
         where(out, "segments.csv") + "segments.csv, grid.csv; the best kernel of each length")


def draw_rates(out):
    """Fig. 6, 10"""
    rows = cases(out, "grid.csv")
    figure, axes = plt.subplots(2, 2, figsize=(12, 9))
    for i, (kind, word) in enumerate(KINDS):
        for n_taps, colour in FOUR.items():
            for panel, x, fixed in ((axes[i, 0], "n", {"F": 8}), (axes[i, 1], "F", {"n": 2 ** 21})):
                chosen = pick(rows, x, kind=kind, M=n_taps, **fixed)
                curve(panel, [(at, rate(case, row["single_ms"])) for at, case, row in chosen], f"lapwing, M = {n_taps}", colour)
                curve(panel, [(at, rate(case, cufft(row))) for at, case, row in chosen], f"cuFFT overlap-save, M = {n_taps}",
                      colour, "s", (0, (4, 2)))
        finish(axes[i, 0], f"{word}, F = 8", "samples n", "outputs per second, 10⁹", y="log")
        finish(axes[i, 1], f"{word}, n = {power(2 ** 21)}", "filters F", "outputs per second, 10⁹", y="log")
    save(figure, out, "rates.png", where(out, "grid.csv") + "grid.csv")


def draw_speed_up(out):
    """Fig. 7, 8, 11, 12"""
    rows = cases(out, "grid.csv")
    figure, axes = plt.subplots(2, 4, figsize=(15, 8))
    for i, (kind, word) in enumerate(KINDS):
        panels = [("n", "samples n", f"{word}, F = 8", {"F": 8})]
        panels += [("F", "filters F", f"{word}, n = {power(n)}", {"n": n}) for n in (2 ** 18, 2 ** 21, 2 ** 23)]
        for panel, (x, xlabel, title, fixed) in zip(axes[i], panels):
            for n_taps, colour in FOUR.items():
                chosen = pick(rows, x, kind=kind, M=n_taps, **fixed)
                if len(chosen) > 1:
                    curve(panel, [(at, faster(row, cufft(row))) for at, _, row in chosen], f"M = {n_taps}", colour)
            finish(panel, title, xlabel, "times as fast as cuFFT overlap-save" if panel is axes[i, 0] else "", y="ratio")
    save(figure, out, "speed_up.png", where(out, "grid.csv") + "grid.csv")


def draw_rivals(out):
    """The same beside cuFFTDx"""
    rows = cases(out, "cases.csv")
    figure, axes = plt.subplots(2, 3, figsize=(12, 8))
    panels = (("M", "taps M", {"n": 2 ** 21, "F": 8}), ("F", "filters F", {"n": 2 ** 21, "M": 257}),
              ("n", "samples n", {"M": 257, "F": 8}))
    for i, (kind, word) in enumerate(KINDS):
        for panel, (x, xlabel, fixed) in zip(axes[i], panels):
            chosen = pick(rows, x, kind=kind, **fixed)
            for label, columns, colour in (("cuFFT overlap-save", ("cuFFT_ms",), RED),
                                           ("cuFFT with callbacks", ("cuFFT_callbacks_ms",), GREY),
                                           ("cuFFTDx", ("cuFFTDx_ms",), GOLD)):
                curve(panel, [(at, faster(row, positive(row, *columns))) for at, _, row in chosen], label, colour, "s")
            fixed_text = ", ".join(f"{key} = {power(value) if key == 'n' else value}" for key, value in fixed.items())
            finish(panel, f"{word}, {fixed_text}", xlabel, "lapwing is so many times as fast" if panel is axes[i, 0] else "",
                   y="ratio")
    save(figure, out, "rivals.png", where(out, "cases.csv") + "cases.csv")


# ---- without overlap-save: 3, errors, memory -------------------------------------------------------------------------------------

def whole(out, precision, kind, **wanted):
    return [row for row in table(out, "whole.csv") if row["precision"] == precision and row["case"] == kind and
            all(row[key] == value for key, value in wanted.items())]


def draw_whole(out):
    """Fig. 3"""
    figure, axes = plt.subplots(2, 2, figsize=(12, 8.5))
    best = cases(out, "grid.csv")
    for i, (kind, word) in enumerate(KINDS):
        for panel, x, column, fixed, title, xlabel in (
                (axes[i, 0], "M", "taps", {"n": 2 ** 21}, f"n = {power(2 ** 21)}", "taps M"),
                (axes[i, 1], "n", "n", {"taps": 257}, "M = 257", "samples n")):
            rows = {row[column]: row for row in whole(out, "single", kind, **fixed)}.values()        # one case is in two rows
            curve(panel, [(row[column], row["fft_ms"]) for row in rows], "cuFFT, one FFT of the whole signal", GREEN, "^")
            chosen = pick(best, x, kind=kind, F=8, **{{"taps": "M"}.get(key, key): value for key, value in fixed.items()})
            curve(panel, [(at, cufft(row)) for at, _, row in chosen], "cuFFT overlap-save", RED, "s")
            curve(panel, [(row[column], row["ms"]) for row in rows], "lapwing", BLUE)
            finish(panel, f"{word}, {title}, F = 8", xlabel, "ms")
    save(figure, out, "whole.png", where(out, "whole.csv") + "whole.csv, grid.csv")


def draw_errors(out):
    figure, axes = plt.subplots(1, 2, figsize=(12, 5))
    for panel, (kind, word) in zip(axes, KINDS):
        for precision, style in (("single", "-"), ("double", "--")):
            rows = whole(out, precision, kind, n=2 ** 21)
            curve(panel, [(row["taps"], row["error"]) for row in rows], f"lapwing, {precision}", BLUE, "o", style)
            points = [(row["taps"], row["fft_error"]) for row in rows]
            curve(panel, points, f"one FFT through cuFFT, {precision}", GREEN, "^", style)
        finish(panel, f"{word}, n = {power(2 ** 21)}, F = 8", "taps M", "relative L2 error")
    save(figure, out, "errors.png", where(out, "whole.csv").replace(", float32", "") +
         "whole.csv; against the sum by definition in double")


def draw_errors_cpu(out):
    rows = table(out, "errors_cpu.csv", "figures/measure_cpu.sh")
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.2))
    looks = (("cpu", "error", "lapwing, CPU engine", BLUE, "o"), ("cpu", "fft_error", "one FFT through scipy", GREEN, "^"),
             ("cuda, emulated", "error", "lapwing, CUDA kernels emulated", GOLD, "D"))
    for panel, (kind, word) in zip(axes, KINDS):
        for engine, column, name, colour, marker in looks:
            for precision, style in (("single", "-"), ("double", "--")):
                points = [(row["taps"], row[column]) for row in rows
                          if (row["engine"], row["precision"], row["case"]) == (engine, precision, kind)]
                curve(panel, points, f"{name}, {precision}", colour, marker, style)
        finish(panel, f"{word}, one filter", "taps M", "relative L2 error")
    save(figure, out, "errors_cpu.png", "computed on a CPU; errors_cpu.csv; against the sum in extended precision")


def draw_memory(out):
    figure, axes = plt.subplots(1, 2, figsize=(12, 5))
    for panel, (kind, word) in zip(axes, KINDS):
        for precision, style in (("single", "-"), ("double", "--")):
            rows = whole(out, precision, kind, taps=257)
            curve(panel, [(row["n"], row["extra_bytes"] / 2 ** 20) for row in rows], f"lapwing, {precision}", BLUE, "o", style)
            curve(panel, [(row["n"], row["fft_extra_bytes"] / 2 ** 20) for row in rows], f"one FFT through cuFFT, {precision}",
                  GREEN, "^", style)
        finish(panel, f"{word}, M = 257, F = 8", "samples n", "MiB beyond signal and outputs")
    save(figure, out, "memory.png", where(out, "whole.csv").replace(", float32", "") + "whole.csv")


# ---- beside cuDNN: 4, 5 ----------------------------------------------------------------------------------------------------------

def draw_cudnn(out):
    """Fig. 4, 5"""
    rows, ours = table(out, "cudnn.csv"), cases(out, "grid.csv")
    figure, axes = plt.subplots(2, 3, figsize=(12, 8))
    panels = (("M", "taps", "taps M", f"F = 8, n = {power(2 ** 21)}", {"n": 2 ** 21, "F": 8}),
              ("F", "filters", "filters F", f"M = 257, n = {power(2 ** 21)}", {"n": 2 ** 21, "M": 257}),
              ("n", "n", "samples n", "M = 257, F = 8", {"M": 257, "F": 8}))
    columns = {"n": "n", "M": "taps", "F": "filters"}
    for i, (x, column, xlabel, title, fixed) in enumerate(panels):
        chosen = {at: (case, row["single_ms"]) for at, case, row in pick(ours, x, kind="r2r", **fixed)}
        curve(axes[0, i], [(at, rate(*best)) for at, best in chosen.items()], "lapwing, float32", BLUE)
        for products, colour in (("float32", RED), ("tf32", GOLD)):
            theirs = [row for row in rows if row["products"] == products and
                      all(row[columns[key]] == value for key, value in fixed.items())]
            points = [(row[column], row["n"] * row["filters"] / row["ms"] * 1e-6) for row in theirs]
            curve(axes[0, i], points, f"cuDNN, {products}", colour, "s")
            curve(axes[1, i], [(row[column], row["ms"] / chosen[row[column]][1]) for row in theirs if row[column] in chosen],
                  f"cuDNN, {products}", colour, "s")
        finish(axes[0, i], f"real, {title}", xlabel, "outputs per second, 10⁹")
        finish(axes[1, i], f"real, {title}", xlabel, "times as fast as cuDNN", y="ratio")
    save(figure, out, "cudnn.png", where(out, "cudnn.csv") + "cudnn.csv, grid.csv")


# ---- the kernels as published ----------------------------------------------------------------------------------------------------

def draw_stockham(out):
    """Real samples as half as many complex ones, in pairs of segments, and the engine's registers"""
    rows = cases(out, "stockham.csv")
    figure, axes = plt.subplots(2, 2, figsize=(12, 8.5))
    looks = {"c2c": (("Stockham_complex_ms", "published: all stages through shared memory", GREY, "^"),),
             "r2r": (("Stockham_halves_ms", "published: a transform of half the size, untangled", RED, "s"),
                     ("Stockham_pairs_ms", "two segments as one, all stages through shared memory", GOLD, "D"))}
    for j, n in enumerate((2 ** 21, 2 ** 24)):
        for i, (kind, word) in enumerate(KINDS):
            chosen = pick(rows, "M", kind=kind, n=n, F=8)
            for column, label, colour, marker in looks[kind]:
                curve(axes[i, j], [(m, faster(row, positive(row, column))) for m, _, row in chosen], label, colour, marker)
            finish(axes[i, j], f"{word}, n = {power(n)}, F = 8", "taps M", "lapwing is so many times as fast", y="ratio")
    save(figure, out, "stockham.png", where(out, "stockham.csv") + "stockham.csv")


# ---- post-processing: 13 ---------------------------------------------------------------------------------------------------------

def draw_bars(panel, chosen, bars):
    """Draw bars for each row, and a line between rows of different taps. bars: (value of a row, label, colour)"""
    width = 0.8 / len(bars)
    for place, row in enumerate(chosen):
        for i, (value, label, colour) in enumerate(bars):
            if value(row):
                panel.bar(place + (i - (len(bars) - 1) / 2) * width, value(row), width, color=colour,
                          label=label if place == 0 else None)
    panel.set_xticks(range(len(chosen)), [row["post"] for row in chosen], rotation=90)
    panel.set_xlim(-0.6, len(chosen) - 0.4)
    for taps in dict.fromkeys(row["taps"] for row in chosen):
        places = [place for place, row in enumerate(chosen) if row["taps"] == taps]
        panel.text(sum(places) / len(places), 0.985, f"M = {taps:.0f}", ha="center", va="top", fontsize=9,
                   transform=panel.get_xaxis_transform())
        if places[0] > 0:
            panel.axvline(places[0] - 0.5, color=GREY, linewidth=0.8)


def draw_post(out):
    """Fig. 13"""
    rows = table(out, "post.csv")
    figure, axes = plt.subplots(2, 2, figsize=(14, 10))
    bars = [(lambda row, name=name: row.get(name), label, colour) for name, label, colour in
            (("none_ms", "stored as it is", PALE), ("fused_ms", "fused", BLUE), ("separate_ms", "by a pass of its own", RED))]
    for i, (kind, word) in enumerate(KINDS):
        for j, n in enumerate((2 ** 21, 2 ** 24)):
            draw_bars(axes[i, j], [row for row in rows if row["case"] == kind and row["n"] == n], bars)
            finish(axes[i, j], f"{word}, n = {power(n)}, F = 8", "", "ms", x="linear", y="linear")
    save(figure, out, "post.png", where(out, "post.csv") + "post.csv")


def draw_post_speed_up(out):
    """Fig. 13"""
    rows = [row for row in table(out, "post.csv") if positive(row, "cuFFT_pass_ms")]
    figure, axes = plt.subplots(2, 2, figsize=(14, 10))
    bars = [(lambda row, name=name: row[name] / row["fused_ms"], label, colour) for name, label, colour in
            (("cuFFT_pass_ms", "cuFFT overlap-save, then a pass of its own", RED),
             ("cuFFT_crop_ms", "cuFFT overlap-save, post-processed where segments are cropped", GOLD),
             ("separate_ms", "lapwing's series, then a pass of its own", PALE))]
    for i, (kind, word) in enumerate(KINDS):
        for j, n in enumerate((2 ** 21, 2 ** 24)):
            chosen = [row for row in rows if row["case"] == kind and row["n"] == n]
            draw_bars(axes[i, j], chosen, bars)
            finish(axes[i, j], f"{word}, n = {power(n)}, F = 8", "", "fused is so many times as fast", x="linear",
                   y="ratio" if chosen else "linear")
    save(figure, out, "post_speed_up.png", where(out, "post.csv") + "post.csv")


if __name__ == "__main__":
    pictures = os.path.join(folders(__doc__)[1], "ols")
    for draw in (draw_segments, draw_rates, draw_speed_up, draw_rivals, draw_whole, draw_errors, draw_errors_cpu, draw_memory,
                 draw_cudnn, draw_stockham, draw_post, draw_post_speed_up):
        draw(pictures)
    end()
