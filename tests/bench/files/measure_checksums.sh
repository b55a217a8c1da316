#!/bin/sh
# The cost of --checksum: whole runs of ols from file to file, with it and without, in turn; and the cost of comparing them
# ('lapwing verify --sample 0').
#
#    measure_checksums.sh [LAPWING [FOLDER]]      FOLDER: /dev/shm, with room for 2.5 GiB
#
# Prints the medians of elapsed and of processor seconds over 5 runs.
set -eu
lapwing=${1:-build/lapwing}
folder=$(mktemp -d "${2:-/dev/shm}/checksums.XXXXXX")
trap 'rm -rf "$folder"' EXIT

# seconds COMMAND...: "elapsed processor" on standard output
seconds() {
    python3 - "$@" <<'PYTHON'
import os, subprocess, sys, time
start, before = time.time(), os.times()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
after = os.times()
processor = after.children_user + after.children_system - before.children_user - before.children_system
print(f"{time.time() - start:.3f} {processor:.3f}")
PYTHON
}

median() { sort -n "$1" | sed -n 3p; }
medians() {
    cut -d ' ' -f 1 "$1" >"$1.elapsed"
    cut -d ' ' -f 2 "$1" >"$1.processor"
    echo "$2: $(median "$1.elapsed") s elapsed, $(median "$1.processor") s of the processor"
}

for layout in time-fast time-slow; do
    "$lapwing" synth ols --output "$folder/in.h5" --overwrite --samples 16M --channels 16 --type int16 --layout $layout \
        >"$folder/said" 2>&1
    for i in 1 2 3 4 5; do
        for option in '' --checksum; do
            # shellcheck disable=SC2086  # an option or none
            seconds "$lapwing" ols --input "$folder/in.h5:/signal" --boxcar 257 --output "$folder/out$option.h5" --overwrite \
                $option >>"$folder/$layout$option"
        done
        seconds "$lapwing" verify "$folder/out--checksum.h5" --sample 0 >>"$folder/$layout-verify"
    done
    medians "$folder/$layout" "$layout, 16 x 16M int16 to float32, 257 taps"
    medians "$folder/$layout--checksum" "$layout, the same with --checksum"
    medians "$folder/$layout-verify" "$layout, verify --sample 0 of 1 GiB"
done
