#!/bin/sh
# measure_conv2d_gpu.sh OUT [PART...] - every check and measurement of 2-D convolution on a GPU, in parts (gpu_parts.sh); builds
# nothing. By default all parts:
#
#   checks     every transform length and the benchmark's cases against sums in double, conformance
#   rivals     builds the rivals of the engine in OUT/rivals (rivals/build.sh): cuFFT with callbacks, cuFFTDx, NPP
#   table      every row with cuFFT and those rivals that are built beside it; OUT/conv2d_gpu.csv
#   methods    each method at 16384^2, for the model in gpu/conv2d/choose.c; OUT/conv2d_methods.csv
#   batches    sizes of the work area of large kernels; OUT/conv2d_batches.csv
#   memcheck racecheck initcheck      compute-sanitizer on every transform length
#   profile    the profiler on each family of kernels
#
# Environment: BUILD, the build folder (build); RIVALS, the folder of the rivals (OUT/rivals); MATHDX and NPP, as for
# rivals/build.sh; SECONDS_IN_ALL, after which no part begins (540).
. "$(dirname "$0")/gpu_parts.sh"
parts_begin "$0" "$@"
shift
bench=$build/tests/bench/bench_conv2d_gpu
lengths=$build/tests/gpu/test_gpu_conv2d
rivals=${RIVALS:-$out/rivals}

part_checks() {
    code=0
    "$lengths" || code=1
    "$bench" check || code=1
    "$build/tests/engine/test_suites" conv2d cuda || code=1
    return $code
}

part_rivals() { sh "$source/tests/bench/rivals/build.sh" "$rivals"; }
part_table() { "$bench" table "$out/conv2d_gpu.csv" '' "$rivals"/conv2d_*.so; }
part_methods() { "$bench" methods "$out/conv2d_methods.csv" 16384; }
part_batches() { "$bench" batches "$out/conv2d_batches.csv" '16384^2 255x255'; }
part_memcheck() { sanitize memcheck "$lengths"; }
part_racecheck() { sanitize racecheck "$lengths" 7; }
part_initcheck() { sanitize initcheck "$lengths"; }

part_profile() {
    code=0
    metrics=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,sm__inst_issued.avg.pct_of_peak_sustained_active,sm__warps_active.avg.pct_of_peak_sustained_active
    metrics=$metrics,sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active
    metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,lts__t_sectors_op_read.sum
    metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,dram__throughput.avg.pct_of_peak_sustained_elapsed
    for one in 7x7:direct 31x31:separable 15x15:tiles 31x31:tiles 127x127:full 255x255:full; do
        echo "== $one"
        profile_kernels 'conv2d_tile|conv2d_rows|conv2d_columns|conv2d_back|direct_|separable' "$metrics" \
            "$bench" one "16384^2 ${one%:*}" "${one#*:}" 9 || code=1
    done
    return $code
}

limit_of() {
    case $1 in
    checks) echo 140 ;;
    table) echo 490 ;;
    rivals) echo 400 ;;
    profile) echo 100 ;;
    *) echo 40 ;;
    esac
}

parts_run 'checks rivals table methods batches memcheck racecheck initcheck profile' "$@"
