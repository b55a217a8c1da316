#!/bin/sh
# measure_figures_gpu.sh OUT [PART...] - the numbers of the figures that take a GPU, in parts (gpu_parts.sh); builds nothing. The
# scripts in figures/ draw them, once they lie in results/figures. By default all parts:
#
#   segments   overlap-save against the taps, for each segment length: OUT/ols/segments.csv
#   grid       against taps, filters and samples, four filter lengths, beside cuFFT's overlap-save: OUT/ols/grid.csv
#   stockham   the kernels as published, with real samples in both ways: OUT/ols/stockham.csv
#   cases      a part of the grid beside the overlap-save of RIVALS, too, in both precisions: OUT/ols/cases.csv
#   whole      without overlap-save, by one FFT through cuFFT; error and memory of both: OUT/ols/whole.csv
#   post       power, derivative, interpolation: fused and by a pass of their own, and through cuFFT: OUT/ols/post.csv
#   cudnn      the same filters by cuDNN, and images: OUT/ols/cudnn.csv, OUT/conv2d_cudnn.csv
#   sizes      2-D: the sizes of Podlozhnyuk's table with 7 x 6 and 31 x 31: OUT/conv2d_sizes.csv
#   direct     the textbook's steps towards the direct kernel: OUT/ols/steps.csv
#   crossover  2-D: each method against the kernel's side: OUT/conv2d_crossover.csv
#   sparse     the sparse transform against n and k, beside cuFFT, with its L1 error: OUT/sfft_rows.csv
#   published  the published one in all ways, against n and k, beside cuFFT, FFTW and the CPU engine on all cores:
#              OUT/sfft_published.csv
#   runs       whole runs of the three jobs from file to file, on both engines, on a RAM disk: OUT/whole_runs.csv
#   host       both transforms on the cores of the same machine, beside FFTW, on one and on all: OUT/sfft_host.txt
#
# Environment: BUILD, the build folder (build); SECONDS_IN_ALL, after which no part begins (400); RIVALS, the folder in which
# rivals/build.sh has built cuFFT with callbacks, cuFFTDx and NPP (none: cases and sizes go without them);
# PYTHON (python3), with torch, for cudnn; RAM, a folder on a RAM disk (/dev/shm), 20 GB for runs. Built must be lapwing,
# bench_ols_gpu, bench_whole_gpu, bench_post_gpu, bench_conv2d_gpu, bench_sfft_gpu, bench_published_gpu and bench_sfft_cpu.
SECONDS_IN_ALL=${SECONDS_IN_ALL:-400}
. "$(dirname "$0")/gpu_parts.sh"
parts_begin "$0" "$@"
shift
bench=$build/tests/bench
mkdir -p "$out/ols"
rivals=${RIVALS:-}
TAPS='17 33 65 129 257 513 1025 2049 4097 8193'
FOUR='65 257 1025 4097'

# those JOB: the job's rivals that are built
those() { [ -z "$rivals" ] || find "$rivals" -name "$1_*.so" | sort; }

# names KINDS BITS TAPS FILTERS: the cases of bench_ols_gpu, with commas
names() {
    for kind in $1; do
        for bits in $2; do
            for taps in $3; do
                for filters in $4; do
                    printf '%s 2^%s M=%s F=%s,' "$(echo "$kind" | tr _ ' ')" "$bits" "$taps" "$filters"
                done
            done
        done
    done
}

part_segments() { "$bench/bench_ols_gpu" segments "$out/ols/segments.csv" "$(names 'c2c r2r' 21 "$TAPS" 8)"; }

part_grid() {
    "$bench/bench_ols_gpu" table "$out/ols/grid.csv" "$(
        names 'c2c r2r' 21 "$TAPS" 8
        names 'c2c r2r' 21 "$FOUR" '1 2 4 16 32 64'
        names 'c2c r2r' '18 19 20 22 23' "$FOUR" 8
        names 'c2c r2r' '18 23' "$FOUR" '1 4 16 64')"
}

part_stockham() {
    "$bench/bench_ols_gpu" stockham "$out/ols/stockham.csv" "$(names 'c2c r2r' '21 24' '65 129 257 513 1025 2049' 8)"
}

# shellcheck disable=SC2046  # paths without spaces
part_cases() {
    "$bench/bench_ols_gpu" table "$out/ols/cases.csv" "$(
        names 'c2c r2r' 21 "$TAPS" 8
        names 'c2c r2r' 21 '257 1025' '1 2 4 16 32 64'
        names 'c2c r2r' '18 19 20 22 23' '257 1025' 8
        names 'double_c2c double_r2r' 21 '65 257 1025 4097' 8)" $(those ols)
}

part_whole() { "$bench/figures/bench_whole_gpu" "$out/ols/whole.csv"; }
part_post() { "$bench/figures/bench_post_gpu" "$out/ols/post.csv"; }
part_cudnn() {
    "${PYTHON:-python3}" "$source/tests/bench/figures/cudnn.py" "$out/ols/cudnn.csv" &&
        "${PYTHON:-python3}" "$source/tests/bench/figures/cudnn.py" "$out/conv2d_cudnn.csv" images
}

part_direct() { "$bench/bench_ols_gpu" table "$out/ols/steps.csv" "$(names r2r 26 '3 4 5 8 12 16' '1 8')"; }

# shellcheck disable=SC2046  # paths without spaces
part_sizes() {
    "$bench/bench_conv2d_gpu" table "$out/conv2d_sizes.csv" "$(
        for kernel in 7x6 31x31; do
            for side in 256 512 1024 1536 2048 2560 3072 3584; do
                printf '%s^2 %s,' $side $kernel
            done
        done)" $(those conv2d)
}

part_crossover() {
    "$bench/bench_conv2d_gpu" methods "$out/conv2d_crossover.csv" "$(
        for side in 1024 4096; do
            for kernel in 3 5 7 9 11 13 15 17 21 25 31; do
                printf '%s^2 %sx%s,' $side $kernel $kernel
            done
        done)"
}

part_sparse() {
    "$bench/bench_sfft_gpu" rows "$out/sfft_rows.csv" 20:1000 22:1000 24:1000 26:1000 27:1000 28:1000 30:1000 \
        27:10 27:100 27:300 27:3000 27:5000 22:10 22:100 22:300 22:2000
}

part_published() {
    "$bench/bench_published_gpu" "$out/sfft_published.csv" 7 19:1000 20:1000 21:1000 22:1000 22:100 22:300 22:1000:20 23:1000 \
        24:1000 24:100 24:300 24:1000:20 25:1000 26:1000 27:1000 27:100 27:200 27:300 27:400 27:500 27:600 27:700 27:800 27:900 \
        27:100:20 27:300:20 27:1000:20
}

part_runs() { python3 "$source/tests/bench/figures/whole_runs.py" "$build/lapwing" "${RAM:-/dev/shm}" "$out/whole_runs.csv"; }

part_host() {
    {
        echo "# $(grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'), $(nproc) cores"
        for shape in '18 1000' '20 1000' '22 1000' '24 1000' '26 1000' '27 1000' '24 10' '24 100' '24 300' '24 3000'; do
            # shellcheck disable=SC2086  # two words
            "$bench/bench_sfft_cpu" $shape 3 none sparse,sfft2,comb,fftw "$(nproc)" || return 1
        done
    } >"$out/sfft_host.txt"
    wc -l "$out/sfft_host.txt"
}

limit_of() {
    case $1 in
    cases) [ "$rivals" ] && echo 330 || echo 110 ;;
    grid) echo 300 ;;
    post) echo 120 ;;
    sizes) [ "$rivals" ] && echo 200 || echo 60 ;;
    sparse | host) echo 110 ;;
    whole | runs) echo 90 ;;
    cudnn) echo 200 ;;
    published) echo 300 ;;
    *) echo 60 ;;
    esac
}

parts_run 'segments post stockham grid runs whole cases cudnn sizes direct crossover sparse published host' "$@"
