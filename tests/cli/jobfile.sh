#!/bin/sh
# Job files: every way to write one, every error with its line, options that override, and a result's own configuration as a job
# file.
examples=$(cd "$(dirname "$0")/../../jobs" && pwd)
. "$(dirname "$0")/check.sh"
needs h5dump

# wrong LINE PATTERN TEXT: the file is refused with its name, the line and the reason.
wrong() {
    printf "$3" >job.ini
    refuse 0 78 "job\.ini:$1: $2" run job.ini
}
wrong 1 'the file has no options; a job file has a section such as \[ols\]' ''
wrong 2 'the file has no options' '# only\n; comments\n'
wrong 1 'the file has no options' '[ols]\n'
wrong 1 'an option before the section that names the job \(one of: ols' 'input = a\n[ols]\n'
wrong 2 '\[nosuch\] is no job; the jobs are: ols' '\n[nosuch]\ninput = a\n'
wrong 3 'this is a second section' '[ols]\ninput = a\n[ols]\n'
wrong 2 "the line is neither \[section\] nor 'option = value' nor a comment" '[ols]\ninput a\n'
wrong 1 "the section's name does not end with \]" '[ols\ninput = a\n'
wrong 3 "the line is neither \[section\]" '[ols]\ninput = a\noverwrite\n'
wrong 3 'segmet: no such option; did you mean segment\?$' '[ols]\ninput = a\nsegmet = 3\n'
wrong 2 "count: 'x' is neither a whole number" '[ols]\ncount = x\n'
wrong 2 "overwrite: 'maybe' is neither yes nor no" '[ols]\noverwrite = maybe\n'
wrong 2 'input: the value is empty; give FILE:/dataset' '[ols]\ninput =\n'
wrong 4 'input: already set in line 2' '[ols]\ninput = a\nmode = full\ninput = c\n'
wrong 2 'the line is longer than 196 characters' "[ols]\ninput = $(printf 'x%.0s' $(seq 190))\n"
wrong 4 "mode: 'sane'" '[ols]\ninput = a\\\n  b\nmode = sane\nsegment = x\n'
wrong 3 "a # behind a value begins no comment: write ' ;' before the comment, or put it on its own line" \
    '[ols]\ninput = a\nmode = full # both ends\nsegmet = 3\n'
wrong 2 'a # behind a value begins no comment' '[ols]\ninput = a\t#b\n'
wrong 2 'a # behind a value begins no comment' '[ols]\ninput = # none ; yet\n'
wrong 5 'a # behind a value begins no comment' '[ols]\ninput = a\\\n# a line of its own\n  mode = x\\\n y #z\n'
printf '[ols]\ninput = a\0b\n' >job.ini
refuse 0 78 'job\.ini: not a job file: it holds null bytes' run job.ini
truncate -s 65M job.ini
refuse 0 78 'longer than 64 MiB' run job.ini
refuse 0 74 'nosuch\.ini: cannot read the job file: No such file' run nosuch.ini
refuse 0 74 'cannot read the job file: it is a folder' run .
printf '[ols]\ninput = odd.h5:/signal\nfilters = odd.h5:/filters\n' >job.ini
refuse 0 2 '--output is missing' run job.ini
refuse 0 2 '--segmet: no such option; did you mean --segment\?' run job.ini --output x --segmet 9
printf '[ols]\nsegmet = 9\n' >bad.ini
refuse 3 78 'bad\.ini:2: segmet: no such option; did you mean segment\?' run bad.ini
refuse 3 74 'nosuch\.ini: cannot read' run nosuch.ini

# ---- the example job files are accepted, and the one with all options has them all
for example in "$examples"/*.ini "$examples"/examples/*.ini; do
    refuse 0 74 'No such file|no file matches' run "$example"
done
ok 0 ols --help --all
for option in $(grep -oE '^  --[a-z-]+' out | tr -d ' ' | sed 's/^--//'); do
    grep -Eq "^(# )?$option +=" "$examples/ols.ini"
    verdict $? "ols.ini lacks the option $option"
done

# ---- the same job from the command line, from a file, from a file in free form, and from the result's configuration
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

# ---- numbers as people write them
ok 0 ols --input odd.h5:/channels --axis 1 --filters odd.h5:/filters --channels 3:4 --start 10 --count 200 --output numbers.h5
printf '[ols]\ninput = odd.h5:/channels\naxis = 1\nfilters = odd.h5:/filters\nchannels = 3\nstart = 1e1\ncount = 0.2k\nmemory = 1 GB\n' >numbers.ini
ok 0 run numbers.ini --output numbers2.h5
same_bits numbers.h5 numbers2.h5

# ---- the plan of a job file, as it is and with options that override it; the output may be left out
of_job() {
    grep -E '^(job|input|algorithm|ranks|rounds|slice|halo|reads|writes| )' out | grep -v '[KM]iB [ar]'
}
ok 0 plan ols --input odd.h5:/signal --filters odd.h5:/filters --mode full --correlate
of_job >typed
ok 2 plan ols --input odd.h5:/signal --filters odd.h5:/filters --mode full --correlate
of_job >typed2
sed '/^ *output/d' job.ini >plan.ini
ok 0 plan plan.ini --mode full --correlate
of_job | cmp -s - typed
verdict $? "the plan of a job file differs from that of its options: $(cat out typed)"
ok 2 plan ./plan.ini --mode full --correlate
of_job | cmp -s - typed2
verdict $? "on two ranks the plan of a job file differs from that of its options: $(cat out typed2)"
ok 0 plan job.ini
grep -q 'mode valid' out
verdict $? "the plan does not take the job file's own mode: $(cat out)"
ok 0 plan job.ini --measure
refuse 0 2 '--output is missing' plan plan.ini --measure
refuse 0 78 'bad\.ini:2: segmet: no such option' plan bad.ini
refuse 0 2 '--measure: no such option' run job.ini --measure

# ---- comment signs in names of files: without a blank before them, escaped, and as the program itself writes them
cp odd.h5 'a#b;c.h5'
cp odd.h5 'a #b ;c.h5'
cp odd.h5 '#d\#e \;f.h5'
printf '\357\273\277# first # line\n[ols] # section\ninput = a#b;c.h5:/signal ; # the signal\nfilters = a \\#b \\;c.h5:/filters\n' >job.ini
ok 0 run job.ini --mode full --correlate --output signs.h5
same_bits plain.h5 signs.h5
ok 0 ols --input '#d\#e \;f.h5:/signal' --filters 'a #b ;c.h5:/filters' --mode full --correlate --output typed.h5
same_bits plain.h5 typed.h5
ok 0 info --job typed.h5
cp out again.ini
ok 0 run again.ini --output typed2.h5
same_bits plain.h5 typed2.h5

# ---- variables and the home folder, in every value and of rank 0's environment; errors name line and variable
mkdir data home
cp odd.h5 data/odd.h5
cp odd.h5 'data/${literal}.h5'
cp odd.h5 home/odd.h5
# shellcheck disable=SC2016  # the job files and lapwing expand these, not this shell
{
    printf '[ols]\ninput = ${LW_DATA}/od\\\n  d.h5:/signal\nfilters = ~/odd.h5:/filters\ncorrelate = ${LW_CORRELATE:-yes}\n' >vars.ini
    printf 'mode = full\noutput = part-${SLURM_ARRAY_TASK_ID:-0}.h5\n' >>vars.ini
    export LW_DATA="$work/data" HOME="$work/home"
    ok 0 run vars.ini
    same_bits plain.h5 part-0.h5
    export SLURM_ARRAY_TASK_ID=7 LW_CORRELATE=''
    ok 2 run vars.ini
    same_bits plain.h5 part-7.h5
    export LW_CORRELATE=perhaps
    refuse 0 78 "vars\.ini:5: correlate: 'perhaps' is neither yes nor no" run vars.ini
    unset LW_CORRELATE
    export HOME=''
    refuse 0 78 'vars\.ini:4: filters: ~/odd.*HOME is not set' run vars.ini
    export HOME="$work/home"
    timeout 120 "$mpiexec" -np 1 "$lapwing" run vars.ini --output first.h5 : \
        -np 1 env -u LW_DATA SLURM_ARRAY_TASK_ID=8 "$lapwing" run vars.ini --output first.h5 2>err
    verdict $? "rank 0's variables are not those of all ranks: $(cat err)"
    same_bits plain.h5 first.h5
    timeout 120 "$mpiexec" -np 1 "$lapwing" run vars.ini --output differ.h5 : \
        -np 1 env HOME=/elsewhere "$lapwing" run vars.ini --output differ.h5 2>err
    [ $? -eq 78 ] && grep -q '^lapwing: .*the configuration differs' err
    verdict $? "ranks with different home folders: $(cat err)"
    wrong 2 'input: the variable LW_NONE is not set: set it .*-x LW_NONE.*or write \$\{LW_NONE:-default\}' \
        '[ols]\ninput = ${LW_NONE}/a\n'
    wrong 3 'mode: .\$\{LW DATA\}. is neither \$\{NAME\} nor' '[ols]\ninput = ${LW_DATA}\nmode = ${LW DATA}\n'
    wrong 2 'input: a \$\{ has no \}' '[ols]\ninput = ${LW_DATA\n'
    printf '[ols]\ninput = data/\\${literal}.h5:/signal\nfilters = odd.h5:/filters\nmode = full\ncorrelate = yes\n' >literal.ini
    ok 0 run literal.ini --output literal.h5
    same_bits plain.h5 literal.h5
    ok 0 info --job literal.h5
    cp out literal.ini
    ok 0 run literal.ini --output literal2.h5
    same_bits plain.h5 literal2.h5
    printf '[ols]\nfilters = odd.h5:/filters\ninput = data/odd.h5:/signal ~/odd.h5:/signal\n' >homes.ini
    ok 0 plan homes.ini --output homes.h5
    grep -q '^input .*home/odd.h5:/signal (and 1 more file)' out
    verdict $? "a home folder in the second name: $(cat out)"
    ok 0 ols '--input=~/odd.h5:/signal' --filters '~/odd.h5:/filters' --mode full --correlate '--output=~/result.h5'
    same_bits plain.h5 home/result.h5
    refuse 0 74 "~nobody/odd\.h5.*No such file" ols '--input=~nobody/odd.h5:/signal' --filters x:/y --output y
}

# ---- old job files: options that are now part of another one, removed options, and a removed choice
ok 0 ols --input odd.h5:/channels --axis 1 --filters odd.h5:/filters --products peaks --threshold 3,max-peaks=1M --noise energy \
    --cluster 5,filters --output within.h5
{
    printf '[ols]\ninput = odd.h5:/channels\naxis = 1\nfilters = odd.h5:/filters\nproducts = peaks\nthreshold = 3\nnoise = energy\ncluster = 5\n'
    printf 'cluster-filters = yes\nmax-peaks = 1000000\nshare-gpu = no\nallow-mixed = yes\ngaps = nan\ncores = given\nio-threads = 3\noutput-format = auto\n'
} >before.ini
ok 2 run before.ini --output before.h5
h5diff -q before.h5 within.h5 /peaks
verdict $? "a job file of an earlier version makes other peaks"
ok 0 info --job before.h5
for line in 'threshold = 3,max-peaks=1000000' 'cluster = 5,filters' 'gaps = split' 'engine = auto,allow-mixed'; do
    grep -qx "$line" out
    verdict $? "the configuration lacks '$line': $(cat out)"
done
! grep -Eq '^(cores|io-threads|output-format|cluster-filters|max-peaks|share-gpu) ' out
verdict $? "the configuration has an option of an earlier version: $(cat out)"
ok 0 run before.ini --cluster 5 --output apart.h5
ok 0 info --job apart.h5
grep -qx 'cluster = 5' out
verdict $? "an option on the command line does not replace the whole value: $(cat out)"
printf '[sfft]\nvotes = 3\ncomb-loops = 1\nfetch = direct\nbinning = serial\ncutoff = sort\nalgorithm = sfft2\nsparsity = 3\noutput = x.h5\n' >before.ini
refuse 0 2 '--input is missing' run before.ini

ok 0 info override.h5
sed -n '/^# made by lapwing/,$p' out | sed 1d >shown.ini
ok 2 info --job override.h5
cp out again.ini
cmp -s shown.ini again.ini
verdict $? "lapwing info and lapwing info --job print different job files: $(cat again.ini)"
ok 2 run again.ini --output again.h5
same_bits plain.h5 again.h5
ok 0 info again.h5 --job
sed 's/^output = again.h5/output = override.h5/' out | cmp -s - again.ini
verdict $? "the configuration of a result is another job file than the one that made it: $(cat out)"
everywhere 65 'odd\.h5. is no result of a job of lapwing' info --job odd.h5
ok 0 filters boxcar --widths 3 --output bank.h5
refuse 0 65 'bank\.h5. is no result of a job' info --job bank.h5
everywhere 74 'nosuch\.h5' info --job nosuch.h5
refuse 0 2 'info --job: name the result' info --job
refuse 0 2 "'again.h5' is neither an option" info override.h5 again.h5
refuse 0 2 '--jobs: no such option; did you mean --job' info --jobs override.h5
name=$(printf 'latin\344.h5')
cp odd.h5 "$name"
ok 0 ols --input "$name:/signal" --filters odd.h5:/filters --output latin.h5
refuse 0 65 'cannot be printed: it holds bytes that are no UTF-8 text' info --job latin.h5

# ---- any number of names: the configuration of a result of 500 files, 80 kB, is shown, verified and run again
folder=$(printf 'long%.0s' $(seq 36))
mkdir "$folder"
head -c 2000 odd.h5 | split -b 4 -d -a 4 - "$folder/"
ok 0 ols --input "$folder"/* --format raw=int8 --filters odd.h5:/filters --output many.h5
ok 0 conv2d --input "$folder"/* --format raw=int8,4 --kernel odd.h5:/filters --output many.fits
for ending in h5 fits; do
    ok 0 info --job "many.$ending"
    cp out many.ini
    [ "$(grep -c . many.ini)" -gt 500 ]
    verdict $? "the job file of many.$ending has $(grep -c . many.ini) lines"
    ok 2 verify "many.$ending"
    ok 0 info "many.$ending"
    grep -q /0499 out
    verdict $? "info of many.$ending lacks the last name"
done
ok 0 info --job many.h5
cp out many.ini
ok 2 run many.ini --output many2.h5
same_bits many.h5 many2.h5

finish
