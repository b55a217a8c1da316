#!/bin/sh
# measure_sfft_gpu.sh OUT [PART...] - all that is to be known of the sparse transform on a GPU, in about four minutes; builds
# nothing. Each part writes OUT/PART.txt and, when it has ended well, OUT/PART.done: parts that are done are left out the next
# time. A part that runs out of its time, or fails, says so, and the next one begins.
#
#   checks       the kernels against plain sums, conformance with the dense transform, the program from file to file
#   table        every row with cuFFT Z2Z and C2C beside it; OUT/sfft_gpu.csv
#   statistics   how often all lines are found, over seeds, without and with noise
#   memcheck racecheck initcheck      compute-sanitizer on the kernels' test
#   sfft2 sfft2-memcheck      the published transform: conformance, time of each step in all ways; compute-sanitizer
#   profile      what the profiler says of the three kernels, n = 2^27, k = 1000 and 5000
#
# Environment: BUILD, the build folder (build); PYTHON (python3), with numpy and h5py, for the program's test.
set -u
[ $# -ge 1 ] || { sed -n '2,14p' "$0"; exit 2; }
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) && shift || exit 1
build=$(cd "${BUILD:-$source/build}" && pwd) || exit 1
export LW_REQUIRE_GPU=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_base_warn_component_unused=0
bench=$build/tests/bench/bench_sfft_gpu
kernels=$build/tests/gpu/test_gpu_sfft

checks() {
    code=0
    "$kernels" || code=1
    "$build/tests/engine/test_sfft_conformance_cuda" || code=1
    "${PYTHON:-python3}" "$source/tests/cli/sfft_cuda.py" "$build/lapwing" mpirun || code=1
    return $code
}

profile() {
    metrics=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,launch__registers_per_thread
    metrics=$metrics,smsp__average_warp_latency_issue_stalled_no_instruction.ratio,smsp__inst_executed.sum
    metrics=$metrics,dram__bytes_read.sum,lts__t_sectors_op_atom.sum,lts__t_sectors_op_red.sum
    for k in 1000 5000; do
        ncu --clock-control none --launch-skip 6 --launch-count 6 --kernel-name 'regex:fold|transform|recover|find_largest' \
            --metrics "$metrics" "$bench" one 27 $k 4
    done
}

sfft2() {
    code=0
    "$build/tests/engine/test_sfft2_conformance_cuda" || code=1
    for shape in "20 1000" "22 1000" "24 1000" "27 1000" "27 100"; do
        # shellcheck disable=SC2086  # two words
        "$build/tests/bench/bench_sfft2_gpu" $shape 5 || code=1
    done
    return $code
}

sanitizer() {
    compute-sanitizer --tool "$1" --error-exitcode 1 "$kernels"
}

# part NAME SECONDS command...
part() {
    name=$1 limit=$2
    shift 2
    [ -e "$out/$name.done" ] && return
    start=$(date +%s)
    "$@" >"$out/$name.txt" 2>&1 &
    job=$!
    (sleep "$limit"; kill $job 2>/dev/null) &
    guard=$!
    wait $job
    code=$?
    kill $guard 2>/dev/null
    [ $code -eq 0 ] && touch "$out/$name.done"
    echo "$name: exit code $code after $(($(date +%s) - start)) s; $(tail -n 1 "$out/$name.txt")"
}

nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader | tee "$out/device.txt"
[ $# -gt 0 ] || set -- all
for wanted in "$@"; do
    case $wanted in all | checks) part checks 80 checks ;; esac
    case $wanted in all | table) part table 80 "$bench" table "$out/sfft_gpu.csv" ;; esac
    case $wanted in all | statistics) part statistics 90 "$bench" statistics ;; esac
    for tool in memcheck racecheck initcheck; do
        case $wanted in all | "$tool") part $tool 60 sanitizer $tool ;; esac
    done
    case $wanted in all | sfft2) part sfft2 120 sfft2 ;; esac
    case $wanted in all | sfft2-memcheck)
        part sfft2-memcheck 60 compute-sanitizer --tool memcheck --error-exitcode 1 \
            "$build/tests/engine/test_sfft2_conformance_cuda" 1000 ;;
    esac
    case $wanted in all | profile) part profile 60 profile ;; esac
done
