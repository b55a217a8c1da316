#!/usr/bin/env python3
"""overlap_save.py [RESULTS] - the figures of the paper on overlap-save in shared memory, from the records of
measure_figures_gpu.sh and figures/measure_cpu.sh: RESULTS/figures/ols_*.csv become RESULTS/figures/ols_*.png. RESULTS:
tests/bench/results."""
from common import BLUE, GOLD, GREEN, GREY, PALE, RED, curve, end, finish, folders, plt, save, shape, table

MACHINE = "one NVIDIA H200, data on the device; "
KINDS = (("c2c", "complex"), ("r2r", "real"))
RIVALS = (("cuFFT overlap-save", ("cuFFT_ms", "cuFFT_callbacks_ms"), RED), ("cuFFTDx", ("cuFFTDx_ms",), GOLD))


def cases(out):
    """{(precision, kind, n, M, F): row}"""
    return {shape(row["case"]): row for row in table(out, "ols_cases.csv") if shape(row["case"])}


def rival(row, columns):
    times = [row[name] for name in columns if isinstance(row.get(name), float) and row[name] > 0]
    return min(times) if times else None


def against(axes, chosen, xlabel, title):
    """Draw the cases {x: row}: time on the left axes, speed-up on the right."""
    time, speed = axes
    curve(time, [(x, row["single_ms"]) for x, row in chosen.items()], "lapwing", BLUE)
    for name, columns, colour in RIVALS:
        curve(time, [(x, rival(row, columns)) for x, row in chosen.items()], name, colour, "s")
        ratios = [(x, rival(row, columns) / row["single_ms"]) for x, row in chosen.items() if rival(row, columns)]
        curve(speed, ratios, f"{name} / lapwing", colour, "s")
    finish(time, title, xlabel, "ms")
    finish(speed, title, xlabel, "times as fast", y="linear")
    speed.set_ylim(bottom=0)


def draw_segments(out):
    """Fig. 9"""
    rows, best = table(out, "ols_segments.csv"), cases(out)
    figure, axes = plt.subplots(2, 2, figsize=(11, 8))
    for column, (kind, word) in enumerate(KINDS):
        lengths = {}
        for row in rows:
            case = shape(row["case"])
            n = int(str(row["kernel"]).split("/")[0]) if "/" in str(row["kernel"]) else None
            if n and case and case[1] == kind:
                times = lengths.setdefault(n, {})
                times[case[3]] = min(row["single_ms"], times.get(case[3], 1e30))
        chosen = {case[3]: row for case, row in best.items() if case[:3] == ("single", kind, 2 ** 21) and case[4] == 8}
        for n in sorted(lengths):
            curve(axes[0, column], lengths[n].items(), f"N = {n}")
            ratios = [(m, rival(chosen[m], RIVALS[0][1]) / ms) for m, ms in lengths[n].items() if m in chosen]
            curve(axes[1, column], ratios, f"N = {n}")
        curve(axes[0, column], [(m, rival(row, RIVALS[0][1])) for m, row in chosen.items()], RIVALS[0][0], RED, "s", "--")
        curve(axes[0, column], [(m, row["single_ms"]) for m, row in chosen.items()], "as lapwing chooses", GREY, "", ":")
        finish(axes[0, column], f"{word}, n = 2^21, F = 8", "taps M", "ms")
        finish(axes[1, column], f"{word}, n = 2^21, F = 8", "taps M", "cuFFT overlap-save / lapwing", y="linear")
    save(figure, out, "ols_segments.png", MACHINE + "ols_segments.csv, ols_cases.csv; the best kernel of each segment length")


def draw_filters(out):
    """Fig. 6, 7, 10, 11"""
    figure, axes = plt.subplots(2, 4, figsize=(18, 8))
    rows = cases(out)
    for i, (kind, word) in enumerate(KINDS):
        for j, n_taps in enumerate((257, 1025)):
            chosen = {case[4]: row for case, row in rows.items()
                      if case[:3] == ("single", kind, 2 ** 21) and case[3] == n_taps}
            against(axes[i, 2 * j:2 * j + 2], chosen, "filters F", f"{word}, n = 2^21, M = {n_taps}")
    save(figure, out, "ols_filters.png", MACHINE + "ols_cases.csv")


def draw_lengths(out):
    """Fig. 8, 12"""
    figure, axes = plt.subplots(2, 4, figsize=(18, 8))
    rows = cases(out)
    for i, (kind, word) in enumerate(KINDS):
        for j, n_taps in enumerate((257, 1025)):
            chosen = {case[2]: row for case, row in rows.items() if case[:2] == ("single", kind) and case[3:] == (n_taps, 8)}
            against(axes[i, 2 * j:2 * j + 2], chosen, "samples n", f"{word}, M = {n_taps}, F = 8")
    save(figure, out, "ols_lengths.png", MACHINE + "ols_cases.csv")


def whole(out, precision, kind, **wanted):
    return [row for row in table(out, "ols_whole.csv") if row["precision"] == precision and row["case"] == kind and
            all(row[key] == value for key, value in wanted.items())]


def draw_whole(out):
    """Fig. 3"""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    for panel, (kind, word) in zip(axes, KINDS):
        rows = whole(out, "single", kind, n=2 ** 21)
        curve(panel, [(row["taps"], row["fft_ms"]) for row in rows], "cuFFT, one FFT of the whole signal", GREEN, "^")
        chosen = {case[3]: row for case, row in cases(out).items() if case[:3] == ("single", kind, 2 ** 21) and case[4] == 8}
        curve(panel, [(m, rival(row, RIVALS[0][1])) for m, row in chosen.items()], RIVALS[0][0], RED, "s")
        curve(panel, [(row["taps"], row["ms"]) for row in rows], "lapwing", BLUE)
        finish(panel, f"{word}, n = 2^21, F = 8", "taps M", "ms")
    save(figure, out, "ols_whole.png", MACHINE + "ols_whole.csv, ols_cases.csv")


def draw_errors(out):
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    for panel, (kind, word) in zip(axes, KINDS):
        for precision, style in (("single", "-"), ("double", "--")):
            rows = whole(out, precision, kind, n=2 ** 21)
            curve(panel, [(row["taps"], row["error"]) for row in rows], f"lapwing, {precision}", BLUE, "o", style)
            points = [(row["taps"], row["fft_error"]) for row in rows]
            curve(panel, points, f"one FFT through cuFFT, {precision}", GREEN, "^", style)
        finish(panel, f"{word}, n = 2^21, F = 8", "taps M", "relative L2 error")
    save(figure, out, "ols_errors.png", MACHINE + "ols_whole.csv; against the sum by definition in double")


def draw_errors_cpu(out):
    rows = table(out, "ols_errors_cpu.csv", "figures/measure_cpu.sh")
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    looks = (("cpu", "error", "lapwing, CPU engine", BLUE, "o"), ("cpu", "fft_error", "one FFT through scipy", GREEN, "^"),
             ("cuda, emulated", "error", "lapwing, CUDA kernels emulated", GOLD, "D"))
    for panel, (kind, word) in zip(axes, KINDS):
        for precision, style in (("single", "-"), ("double", "--")):
            for engine, column, name, colour, marker in looks:
                points = [(row["taps"], row[column]) for row in rows
                          if (row["engine"], row["precision"], row["case"]) == (engine, precision, kind)]
                curve(panel, points, f"{name}, {precision}", colour, marker, style)
        finish(panel, f"{word}, one filter", "taps M", "relative L2 error")
    save(figure, out, "ols_errors_cpu.png", "computed on a CPU; ols_errors_cpu.csv; against the sum in extended precision")


def draw_memory(out):
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    for panel, (kind, word) in zip(axes, KINDS):
        for precision, style in (("single", "-"), ("double", "--")):
            rows = whole(out, precision, kind, taps=257)
            curve(panel, [(row["n"], row["extra_bytes"] / 2 ** 20) for row in rows], f"lapwing, {precision}", BLUE, "o", style)
            curve(panel, [(row["n"], row["fft_extra_bytes"] / 2 ** 20) for row in rows], f"one FFT through cuFFT, {precision}",
                  GREEN, "^", style)
        finish(panel, f"{word}, M = 257, F = 8", "samples n", "MiB beyond signal and outputs")
    save(figure, out, "ols_memory.png", MACHINE + "ols_whole.csv")


def draw_cudnn(out):
    """Fig. 4, 5"""
    rows, ours = table(out, "ols_cudnn.csv"), cases(out)
    figure, axes = plt.subplots(1, 3, figsize=(16, 4.5))
    panels = (("taps", "taps M", "n = 2^21, F = 8", lambda n, m, f: n == 2 ** 21 and f == 8),
              ("filters", "filters F", "n = 2^21, M = 257", lambda n, m, f: n == 2 ** 21 and m == 257),
              ("n", "samples n", "M = 257, F = 8", lambda n, m, f: m == 257 and f == 8))
    for panel, (x, xlabel, title, fits) in zip(axes, panels):
        for products, colour in (("float32", RED), ("tf32", GOLD)):
            points = [(row[x], row["ms"]) for row in rows
                      if row["products"] == products and fits(row["n"], row["taps"], row["filters"])]
            curve(panel, points, f"cuDNN, {products}", colour, "s")
        place = {"n": 2, "taps": 3, "filters": 4}[x]
        points = [(case[place], row["single_ms"]) for case, row in ours.items()
                  if case[:2] == ("single", "r2r") and fits(*case[2:])]
        curve(panel, points, "lapwing, float32", BLUE)
        finish(panel, f"real, {title}", xlabel, "ms")
    save(figure, out, "ols_cudnn.png", MACHINE + "ols_cudnn.csv, ols_cases.csv")


def draw_post(out):
    """Fig. 13"""
    rows = table(out, "ols_post.csv")
    figure, axes = plt.subplots(2, 2, figsize=(11, 8))
    for i, (kind, word) in enumerate(KINDS):
        for j, n in enumerate((2 ** 21, 2 ** 24)):
            chosen = [row for row in rows if row["case"] == kind and row["n"] == n]
            for place, row in enumerate(chosen):
                for offset, name, colour in ((-0.25, "none", PALE), (0, "fused", BLUE), (0.25, "separate", RED)):
                    label = {"none": "stored as it is", "fused": "fused", "separate": "by a pass of its own"}[name]
                    axes[i, j].bar(place + offset, row[name + "_ms"], 0.25, color=colour, label=label if place == 0 else None)
            names = [f"{row['post']}, M = {row['taps']:.0f}" for row in chosen]
            axes[i, j].set_xticks(range(len(chosen)), names, rotation=75, fontsize=7)
            finish(axes[i, j], f"{word}, n = 2^{n.bit_length() - 1}, F = 8", "", "ms", x="linear", y="linear")
    save(figure, out, "ols_post.png", MACHINE + "ols_post.csv")


if __name__ == "__main__":
    _, where = folders(__doc__)
    for draw in (draw_segments, draw_filters, draw_lengths, draw_whole, draw_errors, draw_errors_cpu, draw_memory, draw_cudnn,
                 draw_post):
        draw(where)
    end()
