#!/bin/sh
# measure_conv2d_gpu.sh BUILD OUT [quick] - checks, compute-sanitizer and the table of 2-D convolution, on the first GPU.
# BUILD: the build folder, in which bench_conv2d_gpu, test_gpu_conv2d and test_conv2d_conformance_cuda were built; OUT: a folder for
# logs and CSV. Under 5 minutes; with `quick` only the checks.
set -u
build=$1 out=$2
bench=$build/tests/bench/bench_conv2d_gpu
lengths=$build/tests/gpu/test_gpu_conv2d conformance=$build/tests/engine/test_conv2d_conformance_cuda
mkdir -p "$out"
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader | tee "$out/conv2d_device.txt"
export LW_REQUIRE_GPU=1

timeout 60 "$lengths" 2>&1 | tee "$out/conv2d_lengths.txt"
timeout 60 "$bench" check 2>&1 | tee "$out/conv2d_check.txt"
timeout 90 "$conformance" 2>&1 | tee "$out/conv2d_conformance.txt"
[ "${3:-}" = quick ] && exit 0

timeout 120 "$bench" table "$out/conv2d_gpu.csv" 2>&1 | tee "$out/conv2d_gpu.txt"
timeout 40 "$bench" methods "$out/conv2d_methods_16384.csv" 16384 2>&1 | tee "$out/conv2d_methods.txt"
timeout 30 "$bench" methods "$out/conv2d_methods_4096.csv" 4096 2>&1 | tee -a "$out/conv2d_methods.txt"
timeout 30 "$bench" batches "$out/conv2d_batches.csv" '16384^2 255x255' 2>&1 | tee "$out/conv2d_batches.txt"
for tool in memcheck racecheck; do
    timeout 60 compute-sanitizer --tool $tool "$lengths" 2>&1 | tail -3
done | tee "$out/conv2d_sanitizer.txt"

metrics=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed
metrics=$metrics,sm__inst_issued.avg.pct_of_peak_sustained_active,sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active
metrics=$metrics,sm__warps_active.avg.pct_of_peak_sustained_active,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum
metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed
metrics=$metrics,lts__t_sectors_op_read.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
for kernel in 7x7:direct 7x7:separable 15x15:tiles 31x31:tiles 31x31:separable 63x63:tiles 127x127:full 255x255:full; do
    echo "== $kernel"
    timeout 30 ncu --clock-control none --launch-skip 6 --launch-count 3 --kernel-name 'regex:conv2d_tile|conv2d_rows|conv2d_columns$|conv2d_back|direct_|separable' \
        --metrics "$metrics" "$bench" one "16384^2 ${kernel%:*}" "${kernel#*:}" 9
done > "$out/conv2d_profile.txt" 2>&1
