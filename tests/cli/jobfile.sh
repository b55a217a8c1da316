#!/bin/sh
# Job files: every way to write one, every error with its line, options that override, and a result's own configuration
# run again.
examples=$(cd "$(dirname "$0")/../../jobs" && pwd)
. "$(dirname "$0")/check.sh"
needs h5dump

# wrong LINE PATTERN TEXT: the file is refused with its name, the line and the reason.
wrong() {
    printf "$3" >job.ini
    refuse 0 78 "job\.ini:$1: $2" run job.ini
}
wrong 1 'no options; a job file holds a section such as \[ols\]' ''
wrong 2 'no options' '# only\n; comments\n'
wrong 1 'no options' '[ols]\n'
wrong 1 'an option before the section that names the job \(one of: ols' 'input = a\n[ols]\n'
wrong 2 '\[nosuch\] is no job; the jobs are: ols' '\n[nosuch]\ninput = a\n'
wrong 3 'a second section' '[ols]\ninput = a\n[ols]\n'
wrong 2 "neither \[section\] nor 'option = value' nor a comment" '[ols]\ninput a\n'
wrong 1 "the section's name does not end with \]" '[ols\ninput = a\n'
wrong 3 "neither \[section\]" '[ols]\ninput = a\noverwrite\n'
wrong 3 'segmet: no such option; did you mean segment\?$' '[ols]\ninput = a\nsegmet = 3\n'
wrong 2 "count: 'x' is not a whole number" '[ols]\ncount = x\n'
wrong 2 "overwrite: 'maybe' is neither yes nor no" '[ols]\noverwrite = maybe\n'
wrong 2 'input: the value is empty; give FILE:/dataset' '[ols]\ninput =\n'
wrong 4 'input: already set in line 2' '[ols]\ninput = a\nmode = full\ninput = c\n'
wrong 2 'the line is longer than 196 characters' "[ols]\ninput = $(printf 'x%.0s' $(seq 190))\n"
wrong 4 "mode: 'sane'" '[ols]\ninput = a\\\n  b\nmode = sane\nsegment = x\n'
printf '[ols]\ninput = a\0b\n' >job.ini
refuse 0 78 'job\.ini: not a job file: it holds null bytes' run job.ini
head -c 2000000 /dev/zero | tr '\0' '#' >job.ini
refuse 0 78 'longer than 1 MiB' run job.ini
refuse 0 74 'nosuch\.ini: cannot read the job file: No such file' run nosuch.ini
refuse 0 74 'cannot read the job file: it is a folder' run .
printf '[ols]\ninput = odd.h5:/signal\nfilters = odd.h5:/filters\n' >job.ini
refuse 0 2 '--output is missing' run job.ini
refuse 0 2 '--segmet: no such option; did you mean --segment\?' run job.ini --output x --segmet 9
printf '[ols]\nsegmet = 9\n' >bad.ini
refuse 3 78 'bad\.ini:2: segmet: no such option; did you mean segment\?' run bad.ini
refuse 3 74 'nosuch\.ini: cannot read' run nosuch.ini

# ---- the example job files: they are understood, and the one with all options has them all
for example in "$examples"/*.ini; do
    refuse 0 74 'No such file' run "$example"
done
ok 0 ols --help
for option in $(grep -oE '^  --[a-z-]+' out | tr -d ' ' | sed 's/^--//'); do
    grep -Eq "^(# )?$option +=" "$examples/ols.ini"
    verdict $? "ols.ini lacks the option $option"
done

# ---- the same job from the command line, from a file, from a file with every liberty, and from the result's configuration
ok 0 ols --input odd.h5:/signal --filters odd.h5:/filters --mode full --correlate --output plain.h5
printf '\357\273\277[ols]\r\ninput = odd.h5:/signal\r\nfilters=odd.h5:/filters\r\nmode: full\r\ncorrelate = yes\r\noutput = file.h5\r\n' >job.ini
ok 2 run job.ini
same_bits plain.h5 file.h5
cat >job.ini <<'JOB'
# A comment with a backslash at its end \
[ols]
    input   = odd.h5\
              :/sig\
              nal          ; the signal
; another comment
	filters = odd.h5:/filters
mode = valid
correlate = no
    output = never.h5
JOB
ok 0 run job.ini --mode full --correlate --output=override.h5
same_bits plain.h5 override.h5
[ ! -e never.h5 ]
verdict $? "the job file's output was made although the command line names another"

ok 0 info override.h5
sed -n '/^# made by lapwing/,$p' out >again.ini
ok 2 run again.ini --output again.h5
same_bits plain.h5 again.h5

finish
