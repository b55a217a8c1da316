#!/bin/sh
# lapwing info: about the build, about a file, and about a file of no known format.
. "$(dirname "$0")/check.sh"

says() {
    grep -Eq -- "$1" out
    verdict $? "standard output lacks '$1': $(cat out)"
}
for ranks in 0 3; do
    ok $ranks info
    says '^version +lapwing [0-9.]+ \(commit '
    says '^compiler +(GCC|Clang) [0-9]'
    says '^MPI +[A-Z].* [0-9]'
    says '^HDF5 +HDF5 1\.[0-9.]+, parallel'
    says '^engine cpu +[0-9]+ thread'
    says '^engine cuda +.'
    says '^cores +[1-9]'
    says '^memory +[0-9.]+ .iB .*\(.+\)'
    says "^ranks +$((ranks + (ranks == 0))) of this run"
    [ "$(grep -c '^version' out)" -eq 1 ]
    verdict $? "$ranks ranks print $(grep -c '^version' out) times"
done
for ranks in 0 2; do
    ok $ranks info odd.h5
    says '^/signal +\[1000\] +float32 +3\.9 KiB +contiguous'
    says '^/channels +\[4 x 250\] +float32'
    says '^/group/deeper/taps +\[9\]'
    says '^/null +no data'
    [ "$(wc -l <out)" -eq "$(sort out | uniq | wc -l)" ]
    verdict $? "lapwing info prints lines twice"
done

# ---- a table: its strongest rows
ok 0 synth sfft --samples 4096 --tones 30 --range 40 --output tones.h5
for ranks in 0 2; do
    ok $ranks info tones.h5:/tones
    says '^tones\.h5:/tones: 30 rows, the strongest 20'
    says '^channel +index +frequency +re +im +magnitude$'
    [ "$(wc -l <out)" -eq 22 ]
    verdict $? "30 rows are shown as $(cat out)"
    tail -n +3 out | awk 'NR > 1 && $6 > last { exit 1 } { last = $6 }'
    verdict $? "the strongest row is not the first: $(cat out)"
done

printf 'text' >text.txt
everywhere 74 'nosuch\.h5' info nosuch.h5
everywhere 65 'text\.txt.* not .*HDF5' info text.txt
mkdir empty
ok 0 info empty
grep -q 'empty contains no unfinished result of lapwing' out
verdict $? "info of an empty folder: $(cat out)"
refuse 3 74 "cannot read" info nosuchfolder/

finish
