#!/bin/sh
# Completion by zsh: a real zsh, at a terminal of its own, prints the words that it would offer. completion.sh compares the offers
# of bash with --help; zsh must offer the same.
. "$(dirname "$0")/check.sh"
needs zsh bash

ok 0 help --completion zsh
mkdir functions
cp out functions/_lapwing
zsh -n functions/_lapwing
verdict $? "zsh does not understand the script"

# Its key TAB prints, in << >>, the words that it would offer.
cat >.zshrc <<'ZSH'
PS1= PS2=
stty -echo
fpath=($ZDOTDIR/functions $fpath)
autoload -Uz compinit
compinit -u -d $ZDOTDIR/dump
zstyle ':completion:*' completer _complete
compadd() {     # a call with -O, -A or -D offers nothing
    local -a kept
    [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] || { builtin compadd -A kept "$@"; all_offered+=($kept) }
    builtin compadd "$@"
}
offer() {
    typeset -ga all_offered=()
    _main_complete
    print -r -- "<<${(j:,:)${(@ou)all_offered}}>>"
    compstate[insert]= compstate[list]=
}
zle -C offer complete-word offer
bindkey '^I' offer
cd $ZDOTDIR/folder
ZSH

# Print each line of the input, then a bar and the words offered after it.
cat >offer.zsh <<'ZSH'
zmodload zsh/zpty
zpty shell "ZDOTDIR=$PWD zsh -d -i"
while IFS= read -r line; do
    zpty -w -n shell "$line"$'\t'
    zpty -r shell answer '*<<*>>*'
    answer=${answer##*<<}
    print -r -- "$line|${answer%%>>*}"
    zpty -w -n shell $'\C-u'
done
zpty -d shell
ZSH

mkdir folder
touch folder/survey.h5 folder/plan.ini
printf '# sfft\n  [sfft]\nsparsity = 3\n' >folder/job.ini

# ---- lines and the words to be offered after them: first by hand
cat >expected <<'LINES'
lapwing |--help,--version,accel,conv2d,filters,help,info,ols,plan,plot,run,sfft,synth,verify
lapwing c|conv2d
lapwing banana |
lapwing banana --|
lapwing plan |accel,conv2d,job.ini,ols,plan.ini,sfft,survey.h5
lapwing run p|plan.ini
lapwing synth |accel,conv2d,ols,sfft
lapwing synth ols s|
lapwing filters b|bandpass,beams,boxcar
lapwing filters bandpass --rate 3 --ou|--output
lapwing plot s|survey.h5
lapwing plot survey.h5 j|job.ini
lapwing plot survey.h5 --kind w|waterfall
lapwing verify s|survey.h5
lapwing verify survey.h5 --sa|--sample
lapwing info s|survey.h5
lapwing info --j|--job
lapwing help filters ch|chirp
lapwing help --m|--man
lapwing help --completion |bash,zsh
lapwing ols --mode |full,same,valid
lapwing ols --mode=s|same
lapwing ols --overwrite --mode s|same
lapwing ols --overwrite --overw|
lapwing ols --input s|survey.h5
lapwing ols --input=s|survey.h5
lapwing ols --input survey.h5 p|plan.ini
lapwing ols --input survey.h5 --mod|--mode
lapwing ols --count |
lapwing run job.ini --spa|--sparsity
lapwing plan job.ini --fallback |dense,error,partial
lapwing run plan.ini --spa|
LINES

# ---- then every option, as bash offers it
ok 0 help --completion bash
cat >options.bash <<'BASH'
source ./out
for words in ols conv2d sfft 'plan ols' 'synth sfft' 'filters chirp' 'filters inspiral' info plot verify; do
    echo "lapwing $words --|$(_lapwing_options "$words" | tr ' ' '\n' | LC_ALL=C sort -u | paste -sd,)"
done
BASH
bash options.bash >>expected

sed 's/|.*//' expected | LC_ALL=C timeout 60 zsh -f offer.zsh >offered 2>&1
while IFS= read -r line; do
    grep -qxF -e "$line" offered
    verdict $? "$line is expected, not |$(grep -F -e "${line%%|*}|" offered | head -n 1 | cut -d '|' -f 2)"
done <expected
[ "$(grep -c 'lapwing .*--|--.*,--.*,--' expected)" -ge 8 ]
verdict $? "bash has no options to compare with"

# ---- the text beside an option is the first sentence of its help
grep -qxF "            '--overwrite[Replace the output if it exists]'" functions/_lapwing
verdict $? "the script does not describe --overwrite"

# ---- a sourced script does the same
cat >>.zshrc <<'ZSH'
compdef -d lapwing
unfunction _lapwing
source $ZDOTDIR/functions/_lapwing
ZSH
[ "$(echo 'lapwing c' | timeout 60 zsh -f offer.zsh)" = 'lapwing c|conv2d' ]
verdict $? "sourced by zsh, the script offers nothing"

finish
