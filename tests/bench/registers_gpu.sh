#!/bin/bash
# registers_gpu.sh OUT ARCHITECTURE... - writes the compiler's figures for every kernel in gpu/ and each architecture (80 86 ...)
# as CSV:
#    architecture,file,kernel,registers,stack bytes,spill store bytes,spill load bytes,static shared bytes
# The processor seconds of compiling each file go to standard output. No GPU is needed. NVCC names another compiler, FILES a
# pattern of file names without .cu (*).
set -eu
out=$1
shift
gpu=$(cd "$(dirname "$0")/../../gpu" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -s "$out" ] || echo "architecture,file,kernel,registers,stack,spill_stores,spill_loads,shared" >"$out"
for architecture in "$@"; do
    for source in "$gpu"/${FILES:-*}.cu; do
        name=$(basename "$source" .cu)
        { time -p "${NVCC:-nvcc}" -O3 -std=c++17 -arch="sm_$architecture" -Xptxas -v -c -o "$work/object" "$source" 2>"$work/log"
        } 2>"$work/time"
        echo "sm_$architecture $name $(awk '/^(user|sys)/ { s += $2 } END { print s }' "$work/time") s"
        c++filt <"$work/log" | awk -v arch="$architecture" -v file="$name" '
            /Compiling entry function/ { kernel = $0; sub(/^[^\047]*\047/, "", kernel); sub(/\047 for .*/, "", kernel)
                                         gsub(/"/, "", kernel) }
            /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
            /Used [0-9]+ registers/ {
                registers = $0; sub(/.*Used /, "", registers); sub(/ registers.*/, "", registers)
                shared = 0
                if (match($0, /[0-9]+ bytes smem/)) { shared = substr($0, RSTART, RLENGTH); sub(/ .*/, "", shared) }
                printf "%s,%s,\"%s\",%s,%s,%s,%s,%s\n", arch, file, kernel, registers, stack, stores, loads, shared }' >>"$out"
    done
done
