#!/bin/sh
# Help, version and misspelt words: text, exit code, nearest name; at once and without MPI, and once under mpirun.
. "$(dirname "$0")/check.sh"

# says PATTERN: standard output of the last run matches the pattern
says() {
    grep -Eq -- "$1" out
    verdict $? "standard output lacks '$1': $(head -c 300 out)"
}

# ---- help and version
ok 0 --version
says '^lapwing [0-9]+\.[0-9]+\.[0-9]+ \(commit .+\)$'
says 'BSD 3-Clause licence'
grep -qF "version = {$(sed -n 's/^lapwing //p' out)}," out
verdict $? "the citation does not name the version: $(cat out)"
ok 0 --help
cp out overview
says '^  ols '
for word in plan synth filters run info verify help; do
    says "^  $word"
done
for code in 0 2 65 71 74 75 78; do
    says "^  $code  "
done
formats=$(sed -n '/^Formats of input/,/^$/s/^  \([A-Za-z0-9-]*\) .*/\1/p' overview)
[ "$(echo "$formats" | wc -l)" -ge 8 ]
verdict $? "lapwing help lists the formats '$formats'"
ok 0 help ols --all
tr -s ' \n' ' ' <out >flat
for format in $formats; do
    grep -q -- "--format NAME[^ ]* [^.]*\. [^.]*[ :]$format[ ,.]" flat
    verdict $? "the help of --format lacks $format"
done
for form in help -h; do
    ok 0 $form
    cmp -s out overview
    verdict $? "lapwing $form differs from lapwing --help"
done
for command in ols conv2d plan synth filters run info verify help 'plan ols' 'synth ols' 'synth conv2d' 'filters bandpass' 'filters chirp'; do
    ok 0 $command --help
    cp out long
    says "^lapwing $command - "
    says '^Usage$'
    ok 0 help $command
    cmp -s out long
    verdict $? "lapwing help $command differs from lapwing $command --help"
    ok 0 $command -h
    [ "$(awk 'length > 80' out | wc -l)" -eq 0 ]
    verdict $? "lapwing help $command has lines of more than 80 columns: $(awk 'length > 80' out)"
done
ok 0 help plan ols
grep -q 'lapwing plan ols' out
verdict $? "lapwing help plan ols has no example"
ok 0 help plan conv2d
! grep -q 'lapwing plan ols' out
verdict $? "lapwing help plan conv2d has an example of another job"
# The words of help may come in any order, and help may follow a command.
same_help() {
    ok 0 $1
    cp out first
    ok 0 $2
    cmp -s first out
    verdict $? "lapwing $1 and lapwing $2 say different things"
}
same_help 'help plan ols' 'help ols plan'
same_help 'help synth conv2d' 'help conv2d synth'
same_help 'help filters chirp' 'help chirp filters'
same_help 'help filters chirp' 'help chirp'
same_help 'help run ols' 'help ols run'
same_help 'help run ols' 'run ols --help'
same_help 'help ols' 'ols help'
same_help 'help plan' 'plan help'
same_help 'help plan' 'plan any.ini --segment 3 --help'
same_help 'help plan ols' 'plan help ols'
same_help 'help plan ols' 'plan ols help'
same_help 'help filters chirp' 'filters chirp help'
ok 0 help run ols
says '^    lapwing run JOB.ini \[options\]$'
says '^  --cluster W '
! grep -q -- '--measure' out
verdict $? "the help of run has an option of plan"
ok 0 ols --input x --bogus --help
says '^Options of ols$'

# ---- the manual pages have every option of --help, and groff accepts them
for command in ols conv2d sfft accel 'synth ols' 'synth conv2d' 'filters bandpass' 'filters lowpass' 'filters highpass' 'filters boxcar' \
    'filters gaussian' 'filters ricker' 'filters chirp' plan run info plot verify help; do
    ok 0 help --man ${command%% *}
    cp out man
    ok 0 $command --help --all
    for option in $(grep -oE '^  --[a-z-]+( |$)' out); do
        grep -q -- "^\.B $(echo "$option" | sed 's/-/\\\\-/g')\( \|$\)" man
        verdict $? "$option of $command is not in its manual page"
    done
    if command -v groff >/dev/null; then
        warnings=$(groff -man -Tutf8 -ww man 2>&1 >/dev/null)
        [ -z "$warnings" ]
        verdict $? "groff warns of $command: $warnings"
    fi
done
refuse 0 2 'nonsense' help --man nonsense
refuse 0 2 'one word too many' help --man ols conv2d

# ---- words that are no command or option
refuse 0 2 'name a command' 
refuse 0 2 "'olss' is no command; did you mean ols\?" olss
refuse 0 2 "'banana' is no command; 'lapwing help' lists them" banana
refuse 0 2 'the command comes first' --input x
refuse 0 2 "plan: name the job first \(one of: ols" plan
refuse 0 2 "synth: 'nosuch' is no job; the jobs are: ols" synth nosuch
refuse 0 2 'run: the job file is missing' run
refuse 0 2 'the file comes first' run --input x
refuse 0 2 "'second' is neither an option" info first second
refuse 0 2 "'nope' is no command" help nope
refuse 0 2 "'conv2d' is one word too many" help ols conv2d
refuse 0 2 "'chirp' is one word too many" help ols chirp
refuse 0 2 "'ols' is one word too many" help plan ols ols
refuse 0 2 "'ols' is one word too many" help info ols
refuse 0 2 "'synth' is one word too many" help plan synth
refuse 0 2 "'chirp' is one word too many" help synth chirp
refuse 0 2 "'job\.ini' is no command; a job file is run by 'lapwing run job\.ini'" job.ini --segment 3
refuse 0 2 "synth: 'job\.ini' is no job; the jobs are: ols.*; a job file goes with" synth job.ini
refuse 0 2 "plan: 'nosuch' is no job" plan nosuch
refuse 0 74 "nosuch\.ini: cannot read the job file" plan nosuch.ini
refuse 0 2 '--segmet: no such option; did you mean --segment\?' ols --segmet 4096
refuse 0 2 '--banana: no such option$' ols --banana 1
refuse 0 2 '-i: no such option; options begin with two dashes' ols -i x
refuse 0 2 '--input: the value is missing; give --input FILE:/dataset' ols --input
refuse 0 2 '--input: the value is missing' ols --input --output x
refuse 0 2 "'x' is neither an option nor the value of one" ols x
refuse 0 2 '--output is missing: give --output FILE' synth ols
refuse 0 2 '--quiet and --verbose exclude each other' ols --input a:/b --output c --filters d:/e --quiet --verbose

# ---- values, one for each kind of option
value() {
    refuse 0 2 "$1" ols --input a:/b --output c --filters d:/e "$2" "$3"
}
value "--mode: 'sane' is none of full\|same\|valid; did you mean same\?" --mode sane
value "--threads: 0 is not in 1..4096" --threads 0
value "--threads: 'two' is not a whole number" --threads two
value "--count: -5 is not allowed; the least is 1" --count -5
value "--start: 99999999999999999999 is not allowed" --start 99999999999999999999
value "--count: '1e-3' is neither a whole number" --count 1e-3
value "--memory: '4Gb' is not a number of bytes such as 512M, 4GB" --memory 4Gb
value "--memory: '4 gigs' is not a number of bytes such as 512M" --memory '4 gigs'
value "--memory: 1000 is too little; the least is 1.0 MiB" --memory 1000
value "--channels: '-3' is not a range A:B.* A alone selects one" --channels -3
value "--channels: 4:4 selects nothing" --channels 4:4
value "--axis: '2' is none of 0\|1" --axis 2
value "--output-type: 'float8' is none of .*did you mean float16\?" --output-type float8
value "--output-type, scale: 0 is not allowed; the least is 1e-300" --output-type int8,scale=0
value "--output-type, scale: 'half' is not a" --output-type scale=half
value "--output-type: 'int8,scael=2' is none of " --output-type int8,scael=2
ok 0 help ols
[ "$(grep -cE '^  --[a-z-]+( |$)' out)" -le 49 ]
verdict $? "the plain help of ols has more than 49 options"
grep -q "'lapwing help ols --all' explains these options in full, and has 21 more" out
verdict $? "the plain help does not mention --all"
ok 0 ols --help --all
cp out all
ok 0 help --all ols
cmp -s out all && [ "$(grep -cE '^  --[a-z-]+( |$)' out)" -le 70 ]
verdict $? "help with --all differs behind and before the job, or has more than 70 options"
value "--cluster, filters: 'x' is neither yes nor no" --cluster 5,filters=x
value "--cluster, trials: 0 is not in 1..1048576" --cluster 5,trials=0
value '--cluster-filters is now part of another option: give it as --cluster \.\.\.,filters$' --cluster-filters --quiet
value '--noise-every is now part of another option: give it as --noise \.\.\.,every=TIME$' --noise-every 1h
value '--cores is no longer an option: a rank with a GPU keeps to the cores beside it' --cores given
value '--io-threads is no longer an option: they are as many as the rank has cores' --io-threads 3
value '--output-format is no longer an option: the name of --output decides' --output-format FITS
value '--gaps nan is no longer a choice: leave it out, split is the same' --gaps nan
refuse 0 2 '--output-type: no such option' sfft --input a:/b --output c --sparsity 3 --output-type int16
refuse 0 2 "help --completion: 'fish' is no shell that lapwing knows; it knows bash and zsh" help --completion fish
refuse 0 2 "help: 'now' is one word too many" help --completion zsh now
refuse 0 2 '--sample-rate: .nan. is not a frequency such as' synth ols --output x --sample-rate nan
refuse 0 2 "--overwrite: 'maybe' is neither yes nor no" synth ols --output x --overwrite=maybe
refuse 0 2 '--complex goes with --type float32 or float64' synth ols --output x --complex --type int8
[ ! -e x ]
verdict $? "a refused command made a file"

# ---- the same under mpirun: one message, and the same code
refuse 3 2 '--segmet: no such option; did you mean --segment\?' ols --segmet 4096
ok 3 --version
[ "$(grep -c '^lapwing ' out)" -eq 1 ]
verdict $? "three ranks print the version $(grep -c '^lapwing ' out) times"
ok 3 help ols
[ "$(grep -c '^Usage$' out)" -eq 1 ]
verdict $? "three ranks print help $(grep -c '^Usage$' out) times"

finish
