#!/bin/sh
# measure_conv2d_gpu.sh BUILD OUT [quick|profile] - checks, the table, tuning and compute-sanitizer of 2-D convolution, on the
# first GPU; under 5 minutes. BUILD: the build folder with bench_conv2d_gpu, test_gpu_conv2d and
# test_conv2d_conformance_cuda; OUT: a folder for logs and CSV. quick: only the checks, a minute. profile: only the
# profiler's view of the kernels, 2 minutes.
set -u
build=$1 out=$2 what=${3:-all}
bench=$build/tests/bench/bench_conv2d_gpu
lengths=$build/tests/gpu/test_gpu_conv2d conformance=$build/tests/engine/test_conv2d_conformance_cuda
mkdir -p "$out"
export LW_REQUIRE_GPU=1

check() {
    nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader
    timeout 40 "$lengths" 2>&1
    timeout 40 "$bench" check 2>&1
    timeout 60 "$conformance" 2>&1
}

# Every step has a limit; what it wrote until then is kept.
measure() {
    timeout 120 "$bench" table "$out/conv2d_gpu.csv" 2>&1 | tee "$out/conv2d_gpu.txt"
    timeout 30 "$bench" methods "$out/conv2d_methods.csv" 16384 2>&1 | tee "$out/conv2d_methods.txt"
    timeout 15 "$bench" batches "$out/conv2d_batches.csv" '16384^2 255x255' 2>&1 | tee "$out/conv2d_batches.txt"
    for tool in memcheck racecheck; do
        timeout 30 compute-sanitizer --tool $tool "$lengths" 2>&1 | tail -3
    done | tee "$out/conv2d_sanitizer.txt"
}

profile() {
    kernels='regex:conv2d_tile|conv2d_rows|conv2d_columns|conv2d_back|direct_|separable'
    metrics=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,sm__inst_issued.avg.pct_of_peak_sustained_active,sm__warps_active.avg.pct_of_peak_sustained_active
    metrics=$metrics,sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active
    metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,lts__t_sectors_op_read.sum
    metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,dram__throughput.avg.pct_of_peak_sustained_elapsed
    for one in 7x7:direct 31x31:separable 15x15:tiles 31x31:tiles 127x127:full 255x255:full; do
        echo "== $one"
        timeout 20 ncu --clock-control none --launch-skip 6 --launch-count 3 --kernel-name "$kernels" \
            --metrics "$metrics" "$bench" one "16384^2 ${one%:*}" "${one#*:}" 9
    done
}

[ "$what" = profile ] && { profile > "$out/conv2d_profile.txt" 2>&1; exit 0; }
check | tee "$out/conv2d_check.txt"
[ "$what" = quick ] || measure
