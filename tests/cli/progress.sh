#!/bin/sh
# Progress: one rewritten line if standard error is a terminal, also under mpirun; separate lines in a log; silence with --quiet.
. "$(dirname "$0")/check.sh"
needs script

# terminal COMMAND: run it on a terminal of its own; `shown` gets the output, with a line for each rewriting
terminal() {
    script -qec "$*" typescript >/dev/null 2>&1
    code=$?
    tr '\r' '\n' <typescript >shown
    verdict $code "exit code $code: $*: $(cat shown)"
}
for start in '' "$mpiexec -np 2"; do
    terminal "$start" "$lapwing" synth ols --output survey.h5 --samples 300k --overwrite
    grep -Eq '^100\.0 %  [0-9.]+ [kMG]?samples/s  [0-9.]+ [kMG]?B/s  0 s left' shown
    verdict $? "no progress on the terminal: $(cat shown)"
    terminal "$start" "$lapwing" synth ols --output survey.h5 --samples 300k --overwrite --quiet
    ! grep -q '%' shown
    verdict $? "--quiet shows progress: $(cat shown)"
    terminal "$start" "$lapwing" synth ols --output survey.h5 --samples 300k --overwrite '2>log'
    ! grep -q '%' log
    verdict $? "a log file gets a terminal's progress: $(cat log)"
done
# ---- the first lines of a log, unless it is quiet
begins() {
    first="^lapwing [0-9.]+ \(commit .*\), [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2} UTC$1: [^ ]*lapwing $2\$"
    sed -n 1p err | grep -Eq "$first" && sed -n 2p err | grep -Eqx "ols: input survey\.h5:/signal, output $3"
    verdict $? "the log does not begin with $first and names: $(head -n 2 err)"
}
unset SLURM_JOB_ID
options='--input survey.h5:/signal --filters survey.h5:/filters --output'
# shellcheck disable=SC2086  # a list of words
ok 0 ols $options out.h5
begins '' "ols $options out\.h5" 'out\.h5'
printf '[ols]\ninput = survey.h5:/signal\nfilters = survey.h5:/filters\noutput = ${LW_TASK:-0}.h5\n' >job.ini
export LW_TASK=7 SLURM_JOB_ID=4711
lap 2 run job.ini
verdict $? "run job.ini: $(cat err)"
begins ', Slurm job 4711' 'run job\.ini' '7\.h5'
unset SLURM_JOB_ID
ok 0 run job.ini --overwrite --quiet
[ ! -s err ]
verdict $? "--quiet prints a message: $(cat err)"

ok 2 synth ols --output survey.h5 --samples 300k --overwrite --quiet
[ ! -s err ] && [ ! -s out ]
verdict $? "--quiet prints: $(cat out err)"

# ---- a message of every rank is printed once, with the number of ranks
lap 3 sfft --input survey.h5:/signal --sparsity 1 --fallback partial --output partial.h5 --overwrite
[ "$(grep -c 'are not sparse' err)" -eq 1 ]
verdict $? "every rank prints the message on channels that are not sparse: $(cat err)"
OMP_NUM_THREADS=4000 lap 3 ols --input survey.h5:/signal --filters survey.h5:/filters --output threads.h5 --overwrite
[ "$(grep -c 'warning: OMP_NUM_THREADS = 4000, .*(3 of 3 ranks, first rank 0 on' err)" -eq 1 ] && [ "$(grep -c OMP_NUM_THREADS err)" -eq 1 ]
verdict $? "a warning of three ranks: $(cat err)"
OMP_NUM_THREADS=4000 lap 0 ols --input survey.h5:/signal --filters survey.h5:/filters --output threads.h5 --overwrite
grep -q '^lapwing: warning: OMP_NUM_THREADS = 4000, .*PE=4000)$' err
verdict $? "a warning of one rank: $(cat err)"

finish
