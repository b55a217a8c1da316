#!/bin/sh
# measure_sfft_cpu.sh OUT [PART...] - measures the sparse transforms on the CPU: OUT/PART.txt for each part, as bench_sfft_cpu
# prints it. Builds nothing. figures/sparse.py draws all parts.
#
#   statistics   noise-free, 20 dB and 0 dB over many seeds at 2^22 and 2^27: no times, so it may run on a busy machine
#   errors       the L1 error against k, and against the noise: no times, either
#   errors_noiseless     the L1 error against k at 2^22 and 2^27
#   lengths      time against n for k = 1000, on one core and on two, with FFTW: needs a quiet machine
#   lines        time against k for n = 2^22 and 2^27: needs a quiet machine, too
#
# Environment: BUILD, the build folder (build).
set -u
[ $# -ge 1 ] || { sed -n '2,13p' "$0"; exit 2; }
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) && shift || exit 1
build=$(cd "${BUILD:-$source/build}" && pwd) || exit 1
bench=$build/tests/bench/bench_sfft_cpu
[ -x "$bench" ] || { echo "$bench is not built" >&2; exit 1; }

statistics() {
    "$bench" 20 1000 1000 none sparse 1
    "$bench" 22 100 100 none sfft2 1
    "$bench" 27 1000 100 none sparse 1
    "$bench" 27 1000 3 none sfft2 1
    for bits in 22 27; do
        "$bench" $bits 100 100 20 sparse 1
        "$bench" $bits 1000 100 20 sparse 1
        "$bench" $bits 1000 3 20 sfft2 1
    done
    "$bench" 27 1000 100 0 sparse 1
}
errors() {
    for k in 10 30 100 300 1000 3000; do
        "$bench" 24 $k 10 none sparse,sfft2 1
        "$bench" 24 $k 10 20 sparse,sfft2 1
    done
}
errors_noiseless() {
    for k in 100 300 1000 3000; do
        "$bench" 27 $k 3 none sparse,sfft2 1
    done
    for k in 10 30 100 300 1000 2000; do
        "$bench" 22 $k 3 none sparse,sfft2 1
    done
}
lengths() {
    for bits in 18 19 20 21 22 23 24 25 26 27; do
        "$bench" $bits 1000 10
    done
}
lines() {
    for bits in 22 27; do
        for k in 10 30 100 300 1000 3000; do
            "$bench" $bits $k 5
        done
    done
}

[ $# -gt 0 ] || set -- statistics errors errors_noiseless lengths lines
for part in "$@"; do
    case $part in
    statistics | errors | errors_noiseless | lengths | lines) ;;
    *) echo "no part '$part'" >&2; exit 2 ;;
    esac
    {
        echo "# $(grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'), load before: $(cut -d' ' -f1 /proc/loadavg)"
        echo "# $("$build/lapwing" --version | head -n 1)"
        $part
    } >"$out/$part.txt.part" && mv "$out/$part.txt.part" "$out/$part.txt" || exit 1
    echo "$out/$part.txt"
done
