#!/usr/bin/env python3
"""cudnn.py OUT.csv [images] - filters on a GPU by cuDNN, through torch's conv1d, or images through conv2d: float32, one channel,
zeros beyond an image's sides, all on the device.

cuDNN chooses its fastest algorithm by trial (cudnn.benchmark), once in float32 throughout and once with products in TF32, which
have 10 bits. Milliseconds are the median of calls between events; error is the relative L2 difference from an FFT convolution in
double."""
import csv
import statistics
import sys

import torch

LEAST_SECONDS = 0.05


def milliseconds(call):
    for _ in range(3):
        call()
    times = []
    while len(times) < 5 or (sum(times) < 1e3 * LEAST_SECONDS and len(times) < 25):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def error(y, x, taps):
    """Error against y[f][o] = sum_k taps[f][k] x[o + k]."""
    n = 1 << (x.numel() - 1).bit_length()
    spectrum = torch.fft.rfft(x.double(), n)
    differences = norms = 0.0
    for f in range(min(2, len(taps))):
        true = torch.fft.irfft(spectrum * torch.fft.rfft(taps[f].double(), n).conj(), n)[: y.shape[-1]]
        differences += float(((y[0, f] - true) ** 2).sum())
        norms += float((true ** 2).sum())
    return (differences / norms) ** 0.5


def row(bits, n_taps, n_filters, is_tf32):
    torch.backends.cudnn.allow_tf32 = is_tf32
    torch.manual_seed(1)
    x = torch.rand((1, 1, (1 << bits) + n_taps - 1), device="cuda") * 2 - 1
    taps = torch.rand((n_filters, 1, n_taps), device="cuda") * 2 - 1
    convolve = lambda: torch.nn.functional.conv1d(x, taps)  # noqa: E731
    return [1 << bits, n_taps, n_filters, "tf32" if is_tf32 else "float32", f"{milliseconds(convolve):.5f}",
            f"{error(convolve(), x[0, 0], taps[:, 0]):.2e}"]


def image_error(y, x, taps):
    """Error against y[i][j] = sum_mn taps[m][n] x[i + m - side / 2][j + n - side / 2]."""
    side = taps.shape[0]
    n = [length + side - 1 for length in x.shape]
    true = torch.fft.irfft2(torch.fft.rfft2(x.double(), n) * torch.fft.rfft2(taps.double().flip(0, 1), n), n)
    true = true[side // 2 : side // 2 + x.shape[0], side // 2 : side // 2 + x.shape[1]]
    return float(((y - true) ** 2).sum() / (true ** 2).sum()) ** 0.5


def image_row(size, side, is_tf32):
    torch.backends.cudnn.allow_tf32 = is_tf32
    torch.manual_seed(1)
    x = torch.rand((1, 1, size, size), device="cuda") * 2 - 1
    taps = torch.rand((1, 1, side, side), device="cuda") * 2 - 1
    convolve = lambda: torch.nn.functional.conv2d(x, taps, padding=side // 2)  # noqa: E731
    ms = milliseconds(convolve)
    return [size, side, "tf32" if is_tf32 else "float32", f"{ms:.5f}", f"{size * size / ms * 1e-6:.1f}",
            f"{image_error(convolve()[0, 0], x[0, 0], taps[0, 0]):.2e}"]


def image_shapes():
    for size in (1024, 4096, 16384):
        for side in (3, 5, 7, 9, 15, 31):
            yield size, side


def shapes():
    """Shapes (log2 of the samples, taps, filters) that vary the taps, the filters and the samples, each shape once."""
    for n_taps in (3, 5, 9, 17, 33, 65, 129, 257, 513, 1025, 2049):
        yield 21, n_taps, 8
    for n_filters in (1, 2, 4, 16, 32, 64):
        yield 21, 257, n_filters
    for bits in (18, 19, 20, 22, 23):
        yield bits, 257, 8


SIGNALS = (["n", "taps", "filters", "products", "ms", "error"], row, shapes)
IMAGES = (["size", "side", "products", "ms", "gpixel_s", "error"], image_row, image_shapes)


def main(out, head, measure, all_shapes):
    torch.backends.cudnn.benchmark = True
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "cuDNN", torch.backends.cudnn.version())
    with open(out, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(head)
        for is_tf32 in (False, True):
            for shape in all_shapes():
                values = measure(*shape, is_tf32)
                table.writerow(values)
                file.flush()
                print(*values, flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["images"]):
        sys.exit(__doc__)
    main(sys.argv[1], *(IMAGES if len(sys.argv) == 3 else SIGNALS))
