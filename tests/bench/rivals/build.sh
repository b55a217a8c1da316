#!/bin/sh
# build.sh OUT - builds the rivals of the GPU benchmarks as shared libraries in OUT, for measure_*_gpu.sh; no part of the build:
#
#    ols_callbacks.so conv2d_callbacks.so    cuFFT with callbacks, if CUDA has its static library
#    ols_cufftdx.so conv2d_cufftdx.so        NVIDIA's device library; some minutes, less with many cores
#    conv2d_npp.so                           NVIDIA's image operations; the library stays where it is found
#
# A library that cannot be built is reported and left out. A library that is newer than its sources is kept.
# Environment: MATHDX, the folder `include` of nvidia-mathdx, and NPP, a folder with include and lib/libnppif.so.13 (otherwise pip
# fetches nvidia-mathdx, nvidia-npp into OUT); NVCC (nvcc); JOBS.
set -u
[ $# -ge 1 ] || { sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
mkdir -p "$1/units" && out=$(cd "$1" && pwd) || exit 1
nvcc=${NVCC:-nvcc}
jobs=${JOBS:-$(nproc)}
flags="-std=c++17 -O3 -arch=sm_90 -Xcompiler -fPIC -I$root -I$root/src"
code=0

is_new() { [ -e "$1" ] && [ -z "$(find "$here" "$here/.." -maxdepth 1 -name '*.c*' -newer "$1" 2>/dev/null | head -n 1)" ]; }

# with_callbacks NAME: links cuFFT in and hides its symbols, since the benchmark has the shared cuFFT
with_callbacks() {
    is_new "$out/$1.so" && return
    # shellcheck disable=SC2086  # a list of options, here and below
    "$nvcc" $flags -rdc=true -shared -o "$out/$1.so" "$here/$1.cu" -lcufft_static -lculibos -Xlinker --exclude-libs,ALL \
        -Xlinker -Bsymbolic >"$out/$1.log" 2>&1 || { echo "no $1: $(grep -m 1 -iE 'error|cannot find' "$out/$1.log")"; }
}

fetch_mathdx() {
    [ -z "${MATHDX:-}" ] || { mathdx=$MATHDX; return; }
    mathdx=$out/mathdx/nvidia/mathdx/include
    [ -d "$mathdx" ] && return
    python3 -m pip download -q --no-deps -d "$out" nvidia-mathdx==25.6.0 >"$out/mathdx.log" 2>&1 &&
        python3 -m zipfile -e "$out"/nvidia_mathdx-25.6.0-*.whl "$out/mathdx" && return
    echo "no cuFFTDx: its headers cannot be fetched; set MATHDX"
    return 1
}

fetch_npp() {
    [ -z "${NPP:-}" ] || { npp=$NPP; return; }
    npp=$out/npp/nvidia/cu13
    [ -d "$npp" ] && return
    python3 -m pip download -q --no-deps -d "$out" nvidia-npp==13.2.0.93 >"$out/npp.log" 2>&1 &&
        python3 -m zipfile -e "$out"/nvidia_npp-13.2.0.93-*.whl "$out/npp" && return
    echo "no NPP: it cannot be fetched; set NPP"
    return 1
}

with_npp() {
    is_new "$out/conv2d_npp.so" && return
    fetch_npp || return
    # shellcheck disable=SC2086
    "$nvcc" $flags "-I$npp/include" -shared -o "$out/conv2d_npp.so" "$here/conv2d_npp.cu" -Xlinker "$npp/lib/libnppif.so.13" \
        -Xlinker -rpath -Xlinker "$npp/lib" >"$out/conv2d_npp.log" 2>&1 ||
        { echo "no conv2d_npp: $(grep -m 1 -iE 'error|cannot find|No such' "$out/conv2d_npp.log")"; }
}

# units: the compilations of one unit: SOURCE OBJECT definitions...
units() {
    for exchange in 1 2; do
        for n in 16384 8192 4096 2048 1024 512; do
            for kind in 0 1 2; do
                [ "$kind$n" = 216384 ] ||       # longer transforms exceed a block's memory
                    echo "ols_cufftdx_kernels ols_${kind}_${n}_$exchange -DDX_KIND=$kind -DDX_N=$n -DDX_EXCHANGE=$exchange"
            done
        done
        for part in 1 2 3; do
            echo "conv2d_cufftdx_kernels conv2d_${part}_$exchange -DDX_PART=$part -DDX_EXCHANGE=$exchange"
        done
    done
}

# xargs runs this: `unit SOURCE OBJECT definitions...`
compile_unit() {
    source=$1 object=$2
    shift 2
    # shellcheck disable=SC2086
    "$nvcc" $flags "-I$mathdx" "$@" -c "$here/$source.cu" -o "$out/units/$object.o"
}

with_cufftdx() {
    is_new "$out/ols_cufftdx.so" && is_new "$out/conv2d_cufftdx.so" && return
    fetch_mathdx || return
    units | xargs -P "$jobs" -L 1 env RIVAL_MATHDX="$mathdx" sh "$here/build.sh" "$out" unit >"$out/units.log" 2>&1 ||
        { echo "no cuFFTDx: $(grep -m 1 error "$out/units.log")"; return; }
    for kind in ols conv2d; do
        # shellcheck disable=SC2086
        "$nvcc" $flags -shared -o "$out/${kind}_cufftdx.so" "$here/${kind}_cufftdx.cu" "$out/units/${kind}"_*.o -lcufft \
            >"$out/${kind}_cufftdx.log" 2>&1 || { echo "no ${kind}_cufftdx: see $out/${kind}_cufftdx.log"; }
    done
}

if [ "${2:-}" = unit ]; then
    mathdx=$RIVAL_MATHDX
    shift 2
    compile_unit "$@"
    exit
fi
with_callbacks ols_callbacks &
with_callbacks conv2d_callbacks &
with_npp &
with_cufftdx
wait
for library in ols_callbacks ols_cufftdx conv2d_callbacks conv2d_cufftdx conv2d_npp; do
    [ -e "$out/$library.so" ] || code=1         # the libraries that exist are measured all the same
done
exit $code
