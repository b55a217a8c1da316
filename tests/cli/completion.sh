#!/bin/sh
# Completion by bash: the script offers exactly the words that the program accepts, and the installed script is the one that the
# program prints.
. "$(dirname "$0")/check.sh"
needs bash

ok 0 help --completion
cp out lapwing.bash
bash -n lapwing.bash
verdict $? "bash does not understand the script"
if command -v shellcheck >/dev/null; then
    shellcheck -s bash lapwing.bash >notes
    verdict $? "shellcheck: $(cat notes)"
fi

# This imitates bash: it divides the line, calls the function, and prints the words in COMPREPLY.
cat >offer.bash <<'BASH'
source ../lapwing.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_lapwing
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
BASH

offered() {
    (cd folder && bash ../offer.bash lapwing "$@") 2>&1 | LC_ALL=C sort -u
}

# offers 'ITEM,ITEM,..' word ...: exactly these items are offered
offers() {
    expected=$(printf %s "$1" | tr ',' '\n' | LC_ALL=C sort -u)
    shift
    found=$(offered "$@")
    [ "$found" = "$expected" ]
    verdict $? "lapwing $*: offered are $found, not $expected"
}
mkdir -p folder/inner
touch folder/survey.h5 'folder/two words.h5' folder/plan.ini
printf '# sfft\n  [sfft]\nsparsity = 3\n' >folder/job.ini

# ---- words
offers 'ols,conv2d,sfft,accel,plan,synth,filters,run,info,plot,verify,help,--help,--version' ''
offers 'conv2d' c
offers 'plan,plot' pl
offers 'survey.h5' plot s
offers 'waterfall' plot survey.h5 --kind w
offers '' banana
offers '--help,--version' --
offers 'ols,conv2d,sfft,accel' synth ''
offers 'plan.ini' plan pl
offers 'inner,job.ini,plan.ini,survey.h5,two words.h5' run ''
offers 'survey.h5' info s
offers '--job' info --j
offers 'chirp' help filters ch
offers '--man' help --m
offers 'bash,zsh' help --completion ''
offers 'bandpass,beams,boxcar' filters b
offers '' ols ''

# ---- values
offers 'full,same,valid' ols --mode ''
offers 'same' ols --overwrite --mode s
offers 'full' plan ols --mode = f
offers 'full,same,valid' ols --mode =
offers 'survey.h5' ols --input s
offers 'survey.h5' ols --input = s
offers 'two words.h5' filters chirp --output tw
offers '' ols --count 4
offers '' ols --input survey.h5 : /
offers '--overwrite' ols --overwrite --overw

# ---- the options of a job are offered after its job file
offers '--sparsity' run job.ini --spa
offers '--sparsity,--split' plan job.ini --sp
offers 'dense,error,partial' run job.ini --fallback ''
offers '--measure,--memory' plan job.ini --me
offers '--memory' run job.ini --me
offers '' run nosuch.ini --sp

# ---- every option of --help is offered, and no other; and each choice
same_options() {
    ok 0 "$@" --help --all
    offers "--help$(grep -oE '^  --[a-z0-9-]+' out | tr -d ' ' | sed 's/^/,/' | tr -d '\n')" "$@" --
    grep -oE '^  --[a-z0-9-]+ [a-z0-9|-]+[|][a-z0-9|-]+( |$)' out >choices
    while read -r option choice; do
        [ "$option" != --boundary ] || [ "$1" != conv2d ] || continue       # its value is a text
        offers "$(echo "$choice" | tr '|' ',')" "$@" "$option" ''
    done <choices
    [ -s choices ]
    verdict $? "no choices among the options of $*"
}
for words in ols conv2d sfft accel 'plan ols' 'plan conv2d' 'plan sfft' 'synth ols' 'synth conv2d' 'synth sfft' 'filters bandpass' \
    'filters boxcar' 'filters chirp' 'filters ricker' 'filters gaussian' 'filters lowpass' 'filters highpass' plot; do
    # shellcheck disable=SC2086  # a list of words
    same_options $words
done

finish
