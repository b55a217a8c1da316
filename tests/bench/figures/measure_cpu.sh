#!/bin/sh
# measure_cpu.sh OUT [PART...] - the numbers of the figures that need no GPU, beside those of ../measure_sfft_cpu.sh; builds
# nothing. By default both parts run:
#
#    errors     overlap-save: its error in both precisions: OUT/ols/errors_cpu.csv; no times
#    crossover  2-D: direct sums and transforms against the kernel's side: OUT/conv2d_crossover_cpu.csv
#
# Environment: BUILD, the build folder (build); EMULATED, tests/gpu/emulation/emulated_lapwing of a build with CUDA, for the
# errors of the CUDA engine's kernels, too; PYTHON (python3), with h5py and scipy for errors.
set -u
[ $# -ge 1 ] || { sed -n '2,9p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/ols" && out=$(cd "$1" && pwd) && shift || exit 1
build=$(cd "${BUILD:-$here/../../../build}" && pwd) || exit 1
python=${PYTHON:-python3}

errors() { "$python" "$here/ols_errors.py" "$out/ols/errors_cpu.csv" "$build/lapwing" ${EMULATED:+"$EMULATED"}; }
crossover() { "$python" "$here/crossover_cpu.py" "$out/conv2d_crossover_cpu.csv" "$build/tests/bench/bench_conv2d_cpu"; }

[ $# -gt 0 ] || set -- errors crossover
for part in "$@"; do
    case $part in
    errors | crossover) $part || exit 1 ;;
    *) echo "no part '$part'" >&2; exit 2 ;;
    esac
done
