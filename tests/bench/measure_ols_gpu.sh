#!/bin/sh
# measure_ols_gpu.sh OUT [PART...] - every check and measurement of overlap-save on a GPU, in parts (gpu_parts.sh); builds
# nothing. By default all parts:
#
#   checks     the engine's tests on the GPU, every kernel in the benchmark against sums in double, and the program's result
#              beside that of its kernels emulated on the CPU
#   ranks      one rank, three ranks that share a GPU, one rank on each of two GPUs: the same bits; the peak of GW150914
#   memcheck racecheck initcheck      compute-sanitizer on a fifth of the kernels' trials, on long filters and on the slots
#   rivals     builds the rivals of the engine in OUT/rivals (rivals/build.sh): cuFFT with callbacks, cuFFTDx
#   c2c r2r small other               the table, with cuFFT, those rivals that are built, plain FFT convolution and one FFT over the
#              signal in the same run
#   long       the same for long filters behind signals of 2^21 and 2^24 samples, in both precisions
#   choice     every segment length and second design, for the tables in gpu/ols/kernels/choose.cu
#   link       the engine from and to pinned memory beside copies alone, on 1, 2, 4 .. GPUs
#   files      whole runs from file to file on a RAM disk, on 1, 2, 4 .. ranks
#   profile    the profiler on each family of kernels
#
# Environment: BUILD, the build folder (build); RACE_BUILD, one for racecheck, configured with
# -DCMAKE_CUDA_FLAGS=-DLW_EACH_THREAD_ARRIVES (the reason is in gpu/ols/kernels/decoupled.cuh); SECONDS_IN_ALL, after which no part
# begins (540); DATA, the folder with gw150914-h1.hdf5 and gw150914-bank.h5; RIVALS, the folder of the rivals (OUT/rivals); MATHDX, as
# for rivals/build.sh; RAM, a folder on a RAM disk (/dev/shm).
. "$(dirname "$0")/gpu_parts.sh"
parts_begin "$0" "$@"
shift
data=${DATA:-$source/../shared/data}
bench=$build/tests/bench/bench_ols_gpu
lapwing=$build/lapwing
result=$build/tests/bench/ols_result
rivals=${RIVALS:-$out/rivals}
n_gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')

# ranks P command...: P ranks, not bound to cores
ranks() {
    n=$1
    shift
    mpirun --bind-to none -np "$n" "$@"
}

survey() {
    "$lapwing" synth ols --output "$out/survey.h5" --samples 4000037 --channels 3 --type int16 --taps 257 --n-filters 2 \
        --overwrite --quiet
}

part_checks() {
    code=0
    for test in gpu_device gpu_slots gpu_long gpu_kernels; do
        "$build/tests/gpu/test_$test" || code=1
    done
    for suite in ols accuracy; do
        "$build/tests/engine/test_suites" $suite cuda || code=1
    done
    "$bench" check || code=1
    emulated=$build/tests/gpu/emulation/emulated_lapwing
    "$lapwing" synth ols --output "$out/little.h5" --samples 60013 --channels 3 --taps 257 --n-filters 2 --overwrite --quiet
    for program in "$lapwing" "$emulated"; do
        "$program" ols --engine cuda --input "$out/little.h5:/signal" --filters "$out/little.h5:/filters" --overwrite --quiet \
            --output "$out/$(basename "$program").h5" || code=1
    done
    echo "kernels on the GPU and emulated (compilers choose other products to fuse, so that last bits may differ):"
    "$result" same "$out/lapwing.h5" "$out/emulated_lapwing.h5"
    rm -f "$out"/*.h5
    return $code
}

part_ranks() {
    code=0
    survey
    job="--input $out/survey.h5:/signal --filters $out/survey.h5:/filters --overwrite --engine cuda"
    # shellcheck disable=SC2086  # a list of options, here and below
    {
        ranks 1 "$lapwing" ols $job --output "$out/one.h5" || code=1
        ranks 3 "$lapwing" ols $job,share-gpu --output "$out/three.h5" --gpu-memory 256M || code=1
        "$result" same "$out/one.h5" "$out/three.h5" || code=1
        if [ "$n_gpus" -ge 2 ]; then
            ranks 2 "$lapwing" ols $job --output "$out/two.h5" || code=1
            "$result" same "$out/one.h5" "$out/two.h5" || code=1
        else
            echo "one GPU: no run on two"
        fi
    }
    if [ -f "$data/gw150914-h1.hdf5" ]; then
        for precision in single double; do
            "$lapwing" ols --engine cuda --input "$data/gw150914-h1.hdf5:/strain/Strain" --filters "$data/gw150914-bank.h5:/taps" \
                --precision $precision --output "$out/gw.h5" --overwrite --quiet || code=1
            echo "$precision, expected 19.176641 at sample 67272:"
            "$result" peak "$out/gw.h5" 8192 122880 | tee "$out/peak"
            grep -q 'peak of 19.17[67].* at sample 67272$' "$out/peak" || code=1
        done
    else
        echo "no gw150914-h1.hdf5 in DATA=$data"
    fi
    rm -f "$out"/*.h5 "$out/peak"
    return $code
}

# sanitize_kernels TOOL [SAMPLES]: the tests of kernels, and of long filters on signals of at most SAMPLES samples
sanitize_kernels() {
    sanitize "$1" "$build/tests/gpu/test_gpu_kernels" 5 && sanitize "$1" "$build/tests/gpu/test_gpu_long" ${2:+"$2"}
}
part_memcheck() { sanitize_kernels memcheck && sanitize memcheck "$build/tests/gpu/test_gpu_slots"; }
part_racecheck() (
    build=${RACE_BUILD:-$build}
    sanitize racecheck "$build/tests/gpu/test_gpu_slots" && sanitize_kernels racecheck 150000
)
# The slots are left out: their test counts device memory, and this tool takes some of it.
part_initcheck() { sanitize_kernels initcheck; }

part_rivals() { sh "$source/tests/bench/rivals/build.sh" "$rivals"; }
table() { "$bench" table "$out/$1.csv" "$2" "$rivals"/ols_*.so; }
part_c2c() { table c2c 'c2c 2^26'; }
part_r2r() { table r2r 'r2r 2^26'; }
part_small() { table small_c2c 'c2c 2^21' && table small_r2r 'r2r 2^21' && table least 2^18; }
part_other() { table double double && table channels time; }

part_long() {
    cases='c2c 2^21 M=16385 F=8,c2c 2^21 M=65537 F=8,r2r 2^21 M=16385 F=8,r2r 2^21 M=65537 F=8'
    cases="$cases,c2c 2^24 M=16385 F=8,c2c 2^24 M=65537 F=8,r2r 2^24 M=65537 F=8"
    for length in 21 24; do
        cases="$cases,double c2c 2^$length M=65537 F=8,double r2r 2^$length M=65537 F=8"
    done
    table long "$cases,r2r 2^26 M=65537 F=8"
}

part_choice() {
    code=0
    for cases in 'c2c 2^26' 'r2r 2^26' 'c2c 2^21' 'r2r 2^21' double time; do
        "$bench" segments "$out/choice_$(echo "$cases" | tr ' ^' '__').csv" "$cases" || code=1
    done
    return $code
}

# powers N: the powers of two 1, 2, 4 .. up to N
powers() { for p in 1 2 4 8; do [ "$p" -gt "$1" ] || echo "$p"; done; }

part_link() {
    for p in $(powers "$n_gpus"); do
        ranks "$p" "$build/tests/bench/bench_ols_link" || return 1
    done
}

part_files() {
    ram=$(mktemp -d "${RAM:-/dev/shm}/lapwing.XXXXXX") || return 1
    code=0
    OMP_WAIT_POLICY=passive
    export OMP_WAIT_POLICY
    for filters in 1 8; do
        [ $filters -eq 1 ] && samples=256M || samples=32M      # some seconds, for the GPU's start takes a quarter of one
        "$lapwing" synth ols --output "$ram/survey.h5" --samples "$samples" --channels 4 --type int16 --taps 257 --n-filters $filters \
            --overwrite --quiet || code=1
        for p in $(powers 4); do
            echo "== $filters filters, $p ranks"
            ranks "$p" "$build/tests/bench/bench_file_to_file" "$ram/survey.h5:/signal" "$ram/survey.h5:/filters" "$ram" \
                --engine "cuda$([ "$p" -le "$n_gpus" ] || echo ,share-gpu)" || code=1
        done
    done
    rm -rf "$ram"
    return $code
}

part_profile() {
    code=0
    metrics=sm__throughput.avg.pct_of_peak_sustained_elapsed,sm__inst_issued.avg.pct_of_peak_sustained_active
    metrics=$metrics,sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active
    metrics=$metrics,sm__warps_active.avg.pct_of_peak_sustained_active
    metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,l1tex__t_sector_hit_rate.pct
    metrics=$metrics,dram__throughput.avg.pct_of_peak_sustained_elapsed,lts__t_sectors_op_write.sum
    metrics=$metrics,smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio
    metrics=$metrics,smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio
    metrics=$metrics,smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio
    metrics=$metrics,smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio
    metrics=$metrics,smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio
    for case in 'c2c 2^26 M=257 F=8' 'r2r 2^26 M=257 F=1' 'c2c 2^26 M=513 F=8' 'c2c 2^26 M=1025 F=8' 'c2c 2^26 M=2049 F=8' \
                'r2r 2^26 M=16 F=8' 'uint8 [2^20 x 832] time slow M=257 F=1' 'double c2c 2^24 M=257 F=8' 'c2c 2^26 M=16385 F=8'; do
        echo "== $case"
        profile_kernels 'ols_time|ols_pipelined|ols_decoupled|ols_interleaved|ols_abreast|direct_|cluster_segments|gather|filter_rows|scatter' "$metrics" "$bench" one "$case" 0 5 || code=1
    done
    return $code
}

limit_of() {
    case $1 in
    checks) echo 150 ;;
    c2c | r2r) echo 280 ;;
    choice | long) echo 150 ;;
    rivals) echo 400 ;;
    files) echo 180 ;;
    racecheck) echo 300 ;;
    profile) echo 100 ;;
    *) echo 75 ;;
    esac
}

parts_run 'checks ranks rivals c2c r2r small other long link files memcheck racecheck initcheck choice profile' "$@"
