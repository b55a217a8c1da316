#!/bin/sh
# measure_sfft_gpu.sh OUT [PART...] - every check and measurement of the sparse transform on a GPU, in parts (gpu_parts.sh); builds
# nothing. By default all parts:
#
#   checks       the kernels against plain sums, conformance with the dense transform, the program from file to file
#   table        every row with cuFFT Z2Z and C2C beside it; OUT/sfft_gpu.csv
#   statistics   how often all lines are found, over seeds, without and with noise
#   memcheck racecheck initcheck      compute-sanitizer on the kernels' test
#   sfft2 sfft2_memcheck sfft2_racecheck      the published transform: conformance, time of each step in all ways; compute-sanitizer
#   profile      the profiler on the kernels, n = 2^27, k = 1000 and 5000
#
# Environment: BUILD, the build folder (build); SECONDS_IN_ALL, after which no part begins (540); PYTHON (python3), with
# numpy and h5py, for the program's test.
. "$(dirname "$0")/gpu_parts.sh"
parts_begin "$0" "$@"
shift
bench=$build/tests/bench/bench_sfft_gpu
kernels=$build/tests/gpu/test_gpu_sfft
suites=$build/tests/engine/test_suites

part_checks() {
    code=0
    "$kernels" || code=1
    "$suites" sfft cuda || code=1
    "${PYTHON:-python3}" "$source/tests/cli/sfft_cuda.py" "$build/lapwing" mpirun || code=1
    return $code
}

part_table() { "$bench" table "$out/sfft_gpu.csv"; }
part_statistics() { "$bench" statistics; }
part_memcheck() { sanitize memcheck "$kernels"; }
part_racecheck() { sanitize racecheck "$kernels"; }
part_initcheck() { sanitize initcheck "$kernels"; }

part_sfft2() {
    code=0
    "$suites" published cuda || code=1
    "$build/tests/bench/bench_published_gpu" - 5 20:1000 22:1000 24:1000 27:1000 27:100 || code=1
    return $code
}

part_sfft2_memcheck() { sanitize memcheck "$suites" published cuda 1000; }
part_sfft2_racecheck() { sanitize racecheck "$suites" published cuda 1000; }

part_profile() {
    code=0
    metrics=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,launch__registers_per_thread
    metrics=$metrics,smsp__average_warp_latency_issue_stalled_no_instruction.ratio,smsp__inst_executed.sum
    metrics=$metrics,dram__bytes_read.sum,lts__t_sectors_op_atom.sum,lts__t_sectors_op_red.sum
    for k in 1000 5000; do
        profile_kernels 'fold|transform|recover|find_largest' "$metrics" "$bench" one 27 $k 4 || code=1
    done
    return $code
}

limit_of() {
    case $1 in
    sfft2) echo 120 ;;
    statistics) echo 90 ;;
    checks | table) echo 80 ;;
    *) echo 60 ;;
    esac
}

parts_run 'checks table statistics memcheck racecheck initcheck sfft2 sfft2_memcheck sfft2_racecheck profile' "$@"
