#!/bin/sh
# measure_many_files.sh - many files as one signal, beside one file of the same samples: how long opening takes, and the rate of
# the run after that, relative to the run on one file.
#
#    measure_many_files.sh BUILD FOLDER [FILES [REPETITIONS [SAMPLES]]]     2000 files, 5, 25000 samples (5 MB) a file
#
# Environment: ENGINE=cuda, RANKS="1 2".
#
# FOLDER, best on a RAM disk, gets both inputs (10 GB each, or as asked). `lapwing plan` does everything that a run does before it
# reads, so its time is the cost of opening. The rest of a run, which band-passes and keeps one sample of five, is reading,
# computing and writing.
set -eu
lapwing=$1/lapwing folder=$2 files=${3:-2000} repetitions=${4:-5} samples=${5:-25000} engine=${ENGINE:-cpu}
here=$(cd "$(dirname "$0")" && pwd)

[ -e "$folder/one.h5" ] || python3 "$here/many_files.py" "$folder" "$files" "$samples" 100

# seconds COMMAND...: elapsed
seconds() {
    start=$(date +%s.%N)
    "$@" > "$folder/said" 2>&1 || { cat "$folder/said" >&2; exit 1; }
    end=$(date +%s.%N)
    awk -v a="$start" -v b="$end" 'BEGIN { print b - a }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for ranks in ${RANKS:-1 2}; do
    for i in $(seq "$repetitions"); do
        for input in "$folder/part*.h5" "$folder/one.h5"; do
            name=$(basename "$input" .h5)
            set -- --engine "$engine,share-gpu" --axis 0 --bandpass 10:100 --taps 129 --decimate 5 --output-type int16 --input "$input" \
                --output "$folder/out.h5" --overwrite
            seconds mpirun --oversubscribe --bind-to none -np "$ranks" "$lapwing" plan ols "$@" >> "$folder/plan.$ranks.$name"
            seconds mpirun --oversubscribe --bind-to none -np "$ranks" "$lapwing" ols "$@" --quiet >> "$folder/run.$ranks.$name"
        done
    done
    plan_many=$(median < "$folder/plan.$ranks.part*") plan_one=$(median < "$folder/plan.$ranks.one")
    run_many=$(median < "$folder/run.$ranks.part*") run_one=$(median < "$folder/run.$ranks.one")
    awk -v r="$ranks" -v n="$files" -v pm="$plan_many" -v po="$plan_one" -v rm="$run_many" -v ro="$run_one" 'BEGIN {
        printf "%d ranks: %d files planned in %.2f s, one in %.2f: opening %.2f s; run %.2f s and %.2f s: at %.0f%% of the rate of one\n",
               r, n, pm, po, pm - po, rm, ro, 100 * (ro - po) / (rm - pm) }'
    rm -f "$folder"/plan.* "$folder"/run.*
done
