#!/bin/sh
# measure_banks_cpu.sh OUT [PART...] - measures banks of long templates on one core: OUT/PART.csv for each part. Builds nothing.
#
#   transforms   transforms of 2^13 to 2^21 points, beside FFTW's patient plans
#   model        what plans promise, beside what is measured, for 256 to 2^19 taps and 1 to 1000 filters
#   pycbc        the whole program beside PyCBC's loop, which PYTHON must have
#
# Environment: BUILD, the build folder (build); PYTHON (python3); FOLDER, a folder on a RAM disk (/dev/shm).
set -u
[ $# -ge 1 ] || { sed -n '2,9p' "$0"; exit 2; }
source=$(cd "$(dirname "$0")/../../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) && shift || exit 1
build=$(cd "${BUILD:-$source/build}" && pwd) || exit 1
bench=$build/tests/bench/bench_ols_cpu
[ -x "$bench" ] || { echo "$bench is not built" >&2; exit 1; }
export OMP_WAIT_POLICY=passive

transforms() { "$bench" 41 transforms; }
model() { "$bench" 3 model; }
pycbc() { "${PYTHON:-python3}" "$source/tests/bench/rivals/banks_pycbc.py" "$build/lapwing" "${FOLDER:-/dev/shm}" 5; }

[ $# -gt 0 ] || set -- transforms model pycbc
for part in "$@"; do
    "$part" > "$out/$part.csv"
done
