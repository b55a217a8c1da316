#!/bin/sh
# The result's data do not depend on ranks, threads, memory or split: every run of one job gives the same bits.
. "$(dirname "$0")/check.sh"
needs h5dump

# all NAME MEMORY argument ...: one job in all ways; with MEMORY there are several rounds.
all() {
    name=$1
    memory=$2
    shift 2
    ok 0 ols "$@" --threads 1 --output plain.h5 --overwrite
    [ -n "$(bits plain.h5)" ]
    verdict $? "$name: no result"
    for ranks in 1 2 3 4; do
        for way in '--threads 1' '--threads 2 --split axis' "--threads 1 --memory $memory" \
                   "--threads 2 --memory $memory --split channels"; do
            # shellcheck disable=SC2086  # options
            ok $ranks ols "$@" $way --output other.h5 --overwrite
            same_bits plain.h5 other.h5
        done
    done
}
synth() {
    ok 2 synth ols --overwrite "$@"
}

synth --output fast.h5 --samples 100003 --channels 5 --type int16 --taps 257 --n-filters 3
all 'time fast' "$LAPWING_SMALL" --input fast.h5:/signal --filters fast.h5:/filters --mode full
synth --output slow.h5 --samples 50021 --channels 6 --type uint8 --layout time-slow --taps 64 --n-filters 2
all 'time slow' "$LAPWING_SMALL" --input slow.h5:/signal --filters slow.h5:/filters --boundary wrap --nan zero
synth --output one.h5 --samples 500009 --channels 1 --complex --taps 1000 --n-filters 1
all 'one complex channel' "$LAPWING_SMALL" --input one.h5:/signal --filters one.h5:/filters --mode valid --precision double
synth --output long.h5 --samples 3000 --channels 2 --taps 5000 --n-filters 2
all 'filters longer than the signal' "$LAPWING_SMALL" --input long.h5:/signal --filters long.h5:/filters --boundary reflect

finish
