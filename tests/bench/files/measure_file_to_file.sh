#!/bin/sh
# Whole runs, from file to file, beside the rates that the storage allows: on a GPU if there is one, and on the CPU. This takes
# some minutes, and 30 GB in FOLDER. Run it with a folder on a RAM disk, and with one on a local disk.
#
#    measure_file_to_file.sh BUILD_FOLDER FOLDER [small]     small: a sixteenth of the samples, for machines with few cores
set -eu
build=${1:?usage: measure_file_to_file.sh BUILD_FOLDER FOLDER [small]} folder=${2:?usage: see above} scale=${3-}
lapwing=$build/lapwing bench=$build/tests/bench/files
million=1048576 side=16384 tones=27
[ "$scale" != small ] || { million=65536 side=4096 tones=23; }
engine=cpu
! "$lapwing" info | grep -q '^cuda' || engine=cuda
work=$(mktemp -d "$folder/lapwing.XXXXXX")
trap 'rm -rf "$work"' EXIT
cores=$(nproc)
OMP_WAIT_POLICY=passive     # as the program sets it: threads that wait must not take the cores from those that read and write
export OMP_WAIT_POLICY
run() {
    mpirun --bind-to none --oversubscribe -np "$@"
}
quietly() {
    "$@" >/dev/null 2>"$work/said" || { cat "$work/said" >&2; exit 1; }
}

quietly run "$cores" "$lapwing" synth ols --output "$work/one.h5" --samples $((256 * million)) --channels 4 --type int16 --taps 257 --n-filters 1
quietly run "$cores" "$lapwing" synth ols --output "$work/eight.h5" --samples $((64 * million)) --channels 4 --type int16 --taps 257 --n-filters 8
quietly run "$cores" "$lapwing" synth conv2d --output "$work/image.h5" --rows $side --columns $side --psf-size 31
quietly run "$cores" "$lapwing" synth sfft --output "$work/tones.h5" --samples 2^$tones --complex --tones 20

echo "== storage"
"$bench/bench_storage" "$work"
for which in $engine $([ $engine = cpu ] || echo cpu); do
    for ranks in 1 2 4; do
        echo "== ols, one filter, $which, $ranks ranks"
        run $ranks "$bench/bench_file_to_file" "$work" ols --input "$work/one.h5:/signal" --filters "$work/one.h5:/filters" \
            --engine "$which,share-gpu"
    done
    echo "== ols, eight filters, $which"
    run 1 "$bench/bench_file_to_file" "$work" ols --input "$work/eight.h5:/signal" --filters "$work/eight.h5:/filters" --engine "$which"
    echo "== conv2d, $which"
    run 1 "$bench/bench_file_to_file" "$work" conv2d --input "$work/image.h5:/image" --kernel "$work/image.h5:/psf" --engine "$which"
done
echo "== sfft: reading"
"$bench/bench_sfft_read" "$work/tones.h5:/signal" "$work/lines.h5" --sparsity 1000 --overwrite
