#!/bin/sh
# The result's data do not depend on ranks, threads, memory or split: every run of one job gives the same bits.
. "$(dirname "$0")/check.sh"
needs h5dump

# smallest RANKS argument ...: the least sufficient memory in MiB, from the message that refuses less
smallest() {
    smallest_ranks=$1
    shift
    lap "$smallest_ranks" ols "$@" --memory 1M --output never.h5
    sed -n 's/.*needs \([0-9]*\)[0-9.]* MiB.*/\1/p' err
}

# all NAME argument ...: run one job in some ways, by the first call on three ranks and then on two; in all with LW_TEST_ALL. The
# smallest memory makes many rounds. $succeeds is the check of each run's end.
succeeds=ok
numbers=${LW_TEST_ALL:+1 4 }3
all() {
    name=$1
    shift
    $succeeds 0 ols "$@" --threads 1 --output plain.h5 --overwrite
    [ -n "$(bits plain.h5)" ]
    verdict $? "$name: no result"
    for ranks in $numbers; do
        least=$(smallest $ranks "$@")
        [ -n "$least" ]
        verdict $? "$name: --memory 1M is not refused with the memory needed: $(cat err)"
        for way in "--threads 1 --split axis --memory $((least + 3))M" "--threads 2 --split channels --memory $((least + 3))M" \
                   ${LW_TEST_ALL:+"--threads 2" "--threads 1 --split channels --memory $((least + 10))M"}; do
            # shellcheck disable=SC2086  # options
            $succeeds $ranks ols "$@" $way --output other.h5 --overwrite --verbose
            same_bits plain.h5 other.h5
            grep -Eo '[0-9]+ rounds' err >>rounds
        done
    done
    [ -n "${LW_TEST_ALL:-}" ] || numbers=2
}
synth() {
    ok 2 synth ols --overwrite "$@"
}

synth --output fast.h5 --samples 300007 --channels 5 --type int16 --taps 257 --n-filters 3
all 'time fast' --input fast.h5:/signal --filters fast.h5:/filters --mode full
synth --output slow.h5 --samples 50021 --channels 6 --type uint8 --layout time-slow --taps 64 --n-filters 2
all 'time slow' --input slow.h5:/signal --filters slow.h5:/filters --boundary wrap --nan zero
synth --output one.h5 --samples 500009 --channels 1 --complex --taps 1000 --n-filters 1
all 'one complex channel' --input one.h5:/signal --filters one.h5:/filters --mode valid --precision double
synth --output long.h5 --samples 3000 --channels 2 --taps 5000 --n-filters 2
with_a_warning() { ranks_of=$1; shift; warned "$ranks_of" 'the filters are 5000 long' "$@"; }
succeeds=with_a_warning
all 'filters longer than the signal' --input long.h5:/signal --filters long.h5:/filters --boundary reflect
[ "$(sort -u rounds | wc -l)" -ge 4 ]
verdict $? "all runs took the same number of rounds: $(sort -u rounds | tr '\n' ' ')"

finish
