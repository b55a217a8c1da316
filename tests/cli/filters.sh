#!/bin/sh
# Banks from the command line: the log and the result of `lapwing filters`, each message for wrong options, and that ols accepts a
# bank for its signal's rate and for no other.
. "$(dirname "$0")/check.sh"
needs h5dump

band='--rate 500 --from 2 --to 20'

# says PATTERN: standard error of the last run matches the pattern
says() {
    grep -Eq -- "$1" err
    verdict $? "standard error lacks '$1': $(cat err)"
}

# refused PATTERN KIND option ...: the options are a usage error and no file is left; every tenth call runs on three ranks, too
n_refused=0
refused() {
    pattern=$1
    shift
    refuse 0 2 "$pattern" filters "$@" --output refused.h5
    n_refused=$((n_refused + 1))
    [ $((n_refused % 10)) -ne 1 ] || refuse 3 2 "$pattern" filters "$@" --output refused.h5
    [ -z "$(find . -name 'refused.h5*')" ]
    verdict $? "a refused bank left $(find . -name 'refused.h5*')"
}

# ---- the log; the numbers are those of tests/cli/filters_oracle.py
# shellcheck disable=SC2086  # lists of words, here and below
ok 0 filters bandpass $band --transition 2 --output bank.h5
says '^filter 0: bandpass, [0-9]+ real taps, gain 1 at 11 Hz, energy 0\.0[67][0-9]*, ripple 0\.0[0-9]+ dB, attenuation 60\.[0-9] dB, within 3 dB from 2\.[0-9]+ to 19\.[0-9]+ Hz, delay [0-9]+ samples \(0\.[0-9]+ s\)$'
says '^Next: lapwing ols --input FILE:/dataset --filters bank\.h5:/taps'
ok 0 filters boxcar --widths 1,2,4 --output boxes.h5
[ "$(grep -c '^filter [0-2]: boxcar [124] wide, 4 real taps' err)" -eq 3 ]
verdict $? "the log does not describe three boxcars: $(cat err)"
ok 0 filters boxcar --widths 1,2,4 --output boxes.h5 --overwrite --quiet
[ ! -s err ]
verdict $? "--quiet prints: $(cat err)"
ok 0 filters boxcar --widths "$(seq -s , 1 100)" --output boxes.h5 --overwrite
says '^and 36 more'
lap 0 filters bandpass --rate 500 --from 1 --to 20 --taps 513 --output short.h5
verdict $? "too few taps: $(cat err)"
says '^lapwing: warning: 513 taps make transitions of 3\.5.* below 2 Hz'
lap 0 filters lowpass --rate 500 --to 20 --transition 1 --attenuation 180 --type float32 --output single.h5
says '^lapwing: warning: the attenuation is 1[0-9.]+ dB.*--type float64'
lap 0 filters ricker --rate 500 --frequency 200 --output coarse.h5
says '^lapwing: warning: --frequency 200: at half of --rate 500'

# ---- other units give the same bank
same_bank() {
    ok 0 filters $1 --output plain.h5 --overwrite
    ok 0 filters $2 --output units.h5 --overwrite
    same_bits plain.h5 units.h5 /taps
}
same_bank "bandpass $band --transition 2" 'bandpass --rate 0.5kHz --from 2000mHz --to 0.02kHz --transition 2Hz'
same_bank 'boxcar --rate 500 --durations 0.1,0.02' 'boxcar --rate 500Hz --durations 100ms,20000us'
same_bank 'gaussian --rate 500 --sigma 0.1,6' 'gaussian --rate 500 --sigma 0.1s,0.1min'
same_bank 'ricker --rate 15000 --frequency 10,1500' 'ricker --rate 15e3 --frequency 10Hz,1.5kHz'
same_bank 'chirp --rate 500 --from 2 --to 20 --duration 0.5' 'chirp --rate .5kHz --from 2 --to .02kHz --duration 500ms'

# ---- any number of ranks gives the same file
ok 3 filters bandpass $band --transition 2 --output three.h5
[ "$(grep -c '^filter 0' err)" -eq 1 ]
verdict $? "three ranks print: $(cat err)"
same_bits bank.h5 three.h5 /taps
everywhere 74 'bank\.h5.*exists.*--overwrite' filters bandpass $band --transition 2 --output bank.h5
everywhere 74 'nosuch.*(No such file|does not exist)' filters bandpass $band --transition 2 --output nosuch/bank.h5

# ---- the command
refuse 0 2 'filters: name the kind first \(one of: bandpass, lowpass' filters
refuse 0 2 "'bandpas' is no kind of filters; did you mean bandpass\?" filters bandpas --rate 1
refuse 0 2 "'banana' is no kind of filters; the kinds are: bandpass, .*chirp" filters banana
refuse 0 2 "'filter' is no command; did you mean filters\?" filter bandpass
refuse 0 2 "--output is missing: give --output FILE; 'lapwing filters boxcar --help'" filters boxcar --widths 1
refuse 0 2 'one word too many' help filters bandpass lowpass

# ---- missing options, options that exclude each other, unknown options
refused '--rate is missing: give --rate HZ' bandpass --from 2 --to 20 --taps 513
refused '--to is missing' bandpass --rate 500 --from 2 --taps 513
refused '--from: no such option' lowpass --rate 500 --to 20 --from 2 --taps 513
refused '--taps is missing: give --taps M, or --transition HZ' bandpass $band
refused '--taps and --transition exclude each other' bandpass $band --taps 513 --transition 1
refused '--widths is missing: give --widths or --durations' boxcar
refused '--widths and --durations exclude each other' boxcar --rate 500 --widths 1 --durations 1
refused '--durations needs --rate' boxcar --durations 1
refused '--baseline: 1s is a time and needs --rate' boxcar --widths 1 --baseline 1s
refused 'baseline: 8 samples are not more than the widest boxcar, 8' boxcar --widths 1,8 --baseline 8
refused 'norm gain is the gain at 0 Hz, which is 0 for filters with a baseline' boxcar --widths 1 --baseline 8 --norm gain
refused '--sigma is missing: give --sigma or --fwhm' gaussian --rate 500
refused '--sigma and --fwhm exclude each other' gaussian --rate 500 --sigma 1 --fwhm 1
refused '--quiet and --verbose exclude' bandpass $band --transition 1 --quiet --verbose

# ---- frequencies
refused '--rate: 0 is not allowed' bandpass --rate 0 --from 2 --to 20 --taps 513
refused '--rate: .nan. is not a frequency such as' bandpass --rate nan --from 2 --to 20 --taps 513
refused '--from: -2 is not allowed; the least is 0' bandpass --rate 500 --from -2 --to 20 --taps 513
refused '--to 300 Hz is beyond 250 Hz, half of --rate 500' bandpass --rate 500 --from 2 --to 300 --taps 513
refused '--from 300 Hz is beyond 250 Hz' highpass --rate 500 --from 300 --taps 513
refused '--from 0: .*lowpass' bandpass --rate 500 --from 0 --to 20 --taps 513
refused '--to 250: .*highpass' bandpass --rate 500 --from 2 --to 250 --taps 513
refused '--from 20 is not below --to 2:' bandpass --rate 500 --from 20 --to 2 --taps 513
refused '--from 20 is not below --to 20:' bandpass --rate 500 --from 20 --to 20 --taps 513
refused '--frequency: 250\.5 is not in .*250 Hz' ricker --rate 500 --frequency 10,250.5
refused '--to 300 Hz is beyond 250' chirp --rate 500 --from 2 --to 300 --duration 1

# ---- lengths
refused '--taps: 2 is not in 3\.\.1048576' bandpass $band --taps 2
refused '--taps: 2000000 is not in 3\.\.1048576' bandpass $band --taps 2000000
refused '--taps 512 is even.*511 or 513' highpass --rate 500 --from 2 --taps 512
refused '--taps 512 is even.*511 or 513' gaussian --rate 500 --sigma 1 --taps 512
refused '--taps 2 is even' ricker --rate 500 --frequency 10 --taps 2
refused '--transition 4 Hz is too wide: it must be below 4 Hz' bandpass $band --transition 4
refused '--transition 18 Hz is too wide: it must be below 4 Hz' bandpass $band --transition 18
refused '--transition 2 Hz is too wide: it must be below 1 Hz' bandpass --rate 500 --from 19 --to 20 --transition 2
refused '--transition 1e-05 Hz|would have [0-9]+ taps, but at most 1048576.*--transition' lowpass --rate 500 --to 20 --transition 0.00001
refused '--transition: 0 is not allowed' lowpass --rate 500 --to 20 --transition 0
refused '--attenuation: 20 is not in 21\.\.200' lowpass --rate 500 --to 20 --taps 51 --attenuation 20
refused 'would have [0-9]+ taps, but at most 1048576' gaussian --rate 500 --sigma 1000
refused 'would have [0-9]+ taps, but at most 1048576' chirp --rate 500 --from 2 --to 20 --duration 1e6
refused '--duration 0\.001 s is less than two samples' chirp --rate 500 --from 2 --to 20 --duration 0.001
refused '100 filters of 1000000 taps are 100000000 taps in all, but a bank has at most 67108864' boxcar --widths "$(seq -s , 999901 1000000)"

# ---- masses
inspiral='inspiral --rate 4096 --from 20'
refused '--mass-2 is missing: give --bank FILE:/table, or --mass-1 and --mass-2' $inspiral --mass-1 30
refused 'there are 2 numbers of mass_1 and 1 of mass_2: give one' $inspiral --mass-1 30,20 --mass-2 30
refused 'there are 1 numbers of mass_1 and 2 of spin_2: give one' $inspiral --mass-1 30 --mass-2 30 --spin-2 0,0
refused '--mass-1: 0 is not in 0\.001\.\.1000000 solar masses' $inspiral --mass-1 0 --mass-2 30
refused '--spin-1: 1\.5 is not in -1\.\.1' $inspiral --mass-1 30 --mass-2 30 --spin-1 1.5
refused '--bank and --spin-1 exclude each other' $inspiral --bank bank.h5 --spin-1 0
refused '--from 100 Hz is not below 73\.2.* Hz, the frequency of the last stable orbit' inspiral --rate 4096 --mass-1 30 --mass-2 30 --from 100
refused '--from 100 Hz is not below 50 Hz, --to' inspiral --rate 4096 --mass-1 30 --mass-2 30 --from 100 --to 50
refused '--to 3000 Hz is beyond 2048 Hz' $inspiral --mass-1 30 --mass-2 30 --to 3000
refused '--to 1200 Hz is beyond 1077\.08 Hz.*speed of light' $inspiral --mass-1 30 --mass-2 30 --to 1200
refused 'would have [0-9]+ taps, but at most 1048576.*give a higher --from' inspiral --rate 4096 --mass-1 1.4 --mass-2 1.4 --from 5
refused '--taps 9 are fewer than the longest wave needs, [0-9]+:' $inspiral --mass-1 30 --mass-2 30 --taps 9
everywhere 65 "bank\.h5' has no dataset '/mass1'" filters $inspiral --bank bank.h5 --output refused.h5
everywhere 65 'boxes\.h5:/taps must have one|has no dataset' filters $inspiral --bank boxes.h5:/taps --output refused.h5
everywhere 74 'nosuch\.h5' filters $inspiral --bank nosuch.h5:/table --output refused.h5
ok 0 filters inspiral --rate 4096 --from 40 --mass-1 30,25,20 --mass-2 30,20,10 --spin-1 0,0.25,-1 --output one.h5
ok 3 filters inspiral --rate 4096 --from 40 --bank one.h5:/templates --output three.h5 --overwrite
same_bits one.h5 three.h5 /taps
same_bits one.h5 three.h5 /templates
[ "$(grep -c 'complex taps' err)" -eq 1 ]
verdict $? "three ranks print: $(cat err)"

# ---- lists
refused "--widths: the value is empty" boxcar --widths ''
refused "--widths: an item of '1,,4' is empty" boxcar --widths 1,,4
refused "--widths: an item of '1,' is empty" boxcar --widths 1,
refused "--widths: 0 is not in 1\.\.1048576 samples" boxcar --widths 1,0,4
refused "--widths: '1\.5' is not a whole number" boxcar --widths 1.5
refused "--widths: 'two' is not a whole number" boxcar --widths 1,two
refused "--widths: 5000 numbers are too many, a bank has at most 4096 filters" boxcar --widths "$(seq -s , 1 5000)"
refused "--durations: 0\.0001 is not in 0\.001\.\..* seconds" boxcar --rate 500 --durations 0.0001
refused "--sigma: 0 is not in" gaussian --rate 500 --sigma 0
refused "--fwhm: 'inf' is not a time such as" gaussian --rate 500 --fwhm 1,inf
refused "--sigma: '1Hz' is not a time such as" gaussian --rate 500 --sigma 1Hz
refused "--frequency: '1s' is not a frequency such as" ricker --rate 500 --frequency 10,1s
refused "--duration: '2 weeks' is not a time such as" chirp --rate 500 --from 2 --to 20 --duration '2 weeks'
refused '--to 300 Hz is beyond 250 Hz' bandpass --rate 0.5kHz --from 2Hz --to 0.3kHz --taps 513
refused "--norm: 'peak' is none of gain\|energy" gaussian --rate 500 --sigma 1 --norm peak

# ---- ols accepts a bank exactly if its rate is the signal's
rate() {
    ok 0 filters lowpass --rate "$1" --to 100 --taps 513 --output rate.h5 --overwrite
}
filter='ols --input survey.h5:/signal --filters rate.h5:/taps --output out.h5 --overwrite'
ok 0 synth ols --output survey.h5 --samples 4k --channels 1 --sample-rate 4096
rate 4096
ok 2 $filter
rate 4096.000001        # a relative difference of 2.4e-10
ok 0 $filter
rate 4096.00001         # a relative difference of 2.4e-9
rm out.h5
everywhere 65 'the filters in .*rate\.h5:/taps are for a rate of 4096\.00001 Hz .*survey\.h5:/signal have 4096 Hz.*--allow-rate-mismatch' $filter
rate 500
everywhere 65 'are for a rate of 500 Hz' $filter
[ ! -e out.h5 ]
verdict $? "a refused run made a result"
ok 0 $filter --allow-rate-mismatch
ok 0 ols --input survey.h5:/signal --filters boxes.h5:/taps --output out.h5 --overwrite

# ---- lapwing info shows a bank's rate and its dataset
ok 0 info bank.h5
grep -q '^rate  *500 Hz' out && grep -q '^dataset  */taps$' out
verdict $? "lapwing info prints: $(cat out)"

finish
