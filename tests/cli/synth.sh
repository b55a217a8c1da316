#!/bin/sh
# The synthetic survey: the same data on any number of ranks, every shape and type, and the hidden chirps at the documented places
# of the filtered survey.
. "$(dirname "$0")/check.sh"
needs h5dump

# shape DATASET TEXT: `lapwing info` prints this for the dataset
shape() {
    lap 0 info "$1" || verdict 1 "info $1: $(cat err)"
    grep -Eq -- "^$2 +$3" out
    verdict $? "$1 does not hold $2 $3: $(cat out)"
}

for options in '' '--type int16 --layout time-slow --channels 7' '--complex --channels 1' '--type uint8 --channels 2 --seed 5'; do
    for ranks in 0 1 2 3 4; do
        ok $ranks synth ols --output s$ranks.h5 --samples 150001 $options --overwrite
        [ $ranks -eq 0 ] || same_bits s0.h5 s$ranks.h5 /signal
        [ $ranks -eq 0 ] || same_bits s0.h5 s$ranks.h5 /filters
    done
    ok 0 synth ols --output other.h5 --samples 150001 ${options%--seed 5} --seed 77 --overwrite
    [ "$(bits s0.h5 /signal)" != "$(bits other.h5 /signal)" ]
    verdict $? "another seed gives the same signal ($options)"
done
ok 0 synth ols --output a.h5 --samples 1k
shape a.h5 /signal '\[4 x 1000\] +float32'
shape a.h5 /filters '\[4 x 513\] +float64'
ok 0 synth ols --output b.h5 --samples 2^10 --layout time-slow --type int32 --channels 3 --taps 1 --n-filters 1
shape b.h5 /signal '\[1024 x 3\] +int32'
shape b.h5 /filters '\[1 x 1\] +float64'
ok 0 synth ols --output c.h5 --samples 1 --channels 1 --complex --type float64 --n-filters 70
shape c.h5 /signal '\[1\] +complex float64'
shape c.h5 /filters '\[70 x 513\] +complex float64'
ok 3 synth ols --output d.h5 --samples 2 --channels 4096 --type int8
shape d.h5 /signal '\[4096 x 2\] +int8'

# peak FILE FILTER CHANNEL SAMPLE VALUE: the filtered survey has its largest value near that sample and of that size
peak() {
    h5dump -y -w 0 -d /filtered -s "$2,$3,0" -c "1,1,$5" "$1" |
        awk '/^ *DATA \{/ { on = 1; next } on && /\}/ { exit } on' | tr -d ' ' | tr ',' '\n' | grep . >values
    [ "$(wc -l <values)" -eq "$5" ]
    verdict $? "$(wc -l <values) values in $1, expected $5"
    awk -v sample="$4" -v value="$6" '
        { size = $1 < 0 ? -$1 : $1; if (size > best) { best = size; at = NR - 1 } }
        END { exit !(at >= sample - 3 && at <= sample + 3 && best > 0.6 * value && best < 1.4 * value) }' values
    verdict $? "filter $2, channel $3: the largest value is not near sample $4 with $6"
}
ok 2 synth ols --output survey.h5 --samples 60000 --channels 3
ok 2 ols --input survey.h5:/signal --filters survey.h5:/filters --output filtered.h5 --mode same
for filter in 0 2; do
    sample=$(h5dump -a /signal/hidden_$filter survey.h5 | grep -oE 'peaks near sample [0-9]+' | grep -oE '[0-9]+')
    peak filtered.h5 $filter $((filter % 3)) "$sample" 60000 12
done

finish
