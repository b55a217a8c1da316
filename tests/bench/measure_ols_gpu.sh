#!/bin/sh
# measure_ols_gpu.sh BENCH TEST_KERNELS OUT [quick] - everything that a table of tests/bench/results needs, on the first GPU:
#   checks (every kernel against the sum in double), compute-sanitizer on the kernels' test, the table with cuFFT beside it,
#   all segment lengths for tuning, and the profiler's view of the kernels that the table's rows take. About 6 minutes.
# BENCH, TEST_KERNELS: bench_ols_gpu and test_gpu_kernels; OUT: a folder for logs and CSV.
set -u
bench=$1 kernels=$2 out=$3
mkdir -p "$out"
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader | tee "$out/device.txt"

LW_REQUIRE_GPU=1 timeout 120 "$kernels" 2>&1 | tee "$out/kernels.txt"
timeout 120 "$bench" check 2>&1 | tee "$out/check.txt"
[ "${4:-}" = quick ] && exit 0

timeout 300 "$bench" table "$out/ols_gpu.csv" 2>&1 | tee "$out/ols_gpu.txt"
for length in 'c2c 2^26' 'r2r 2^26' 'c2c 2^21' 'r2r 2^21' double; do
    timeout 60 "$bench" segments "$out/segments_$(echo "$length" | tr ' ^' '__').csv" "$length"
done > "$out/segments.txt" 2>&1

metrics=sm__throughput.avg.pct_of_peak_sustained_elapsed,sm__inst_issued.avg.pct_of_peak_sustained_active
metrics=$metrics,sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active,sm__warps_active.avg.pct_of_peak_sustained_active
metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed
metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,l1tex__t_sector_hit_rate.pct
metrics=$metrics,dram__throughput.avg.pct_of_peak_sustained_elapsed,lts__t_sectors_op_write.sum
for case in 'c2c 2^26 M=257 F=8' 'r2r 2^26 M=257 F=1' 'c2c 2^26 M=1025 F=8' 'c2c 2^26 M=2049 F=8' 'r2r 2^26 M=16 F=8' \
            'uint8 [2^20 x 832] time slow M=257 F=1' 'double c2c 2^24 M=257 F=8'; do
    timeout 60 ncu --clock-control none --launch-skip 3 --launch-count 1 --kernel-name 'regex:ols_segments|direct_' \
        --metrics "$metrics" "$bench" one "$case" 0 5
done > "$out/profile.txt" 2>&1

for tool in memcheck racecheck initcheck; do
    LW_REQUIRE_GPU=1 timeout 90 compute-sanitizer --tool $tool "$kernels" 2>&1 | tail -3
done | tee "$out/sanitizer.txt"
