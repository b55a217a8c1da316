#!/bin/sh
# Progress: one rewritten line where standard error is a terminal, under mpirun too; lines of a log elsewhere; silence.
. "$(dirname "$0")/check.sh"
needs script

# terminal COMMAND: run it on a terminal of its own; what it shows goes to `shown`, a line for each rewriting
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
ok 2 synth ols --output survey.h5 --samples 300k --overwrite --quiet
[ ! -s err ] && [ ! -s out ]
verdict $? "--quiet prints: $(cat out err)"

finish
