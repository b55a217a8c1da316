# check.sh - sourced by the tests of this folder with: LAPWING MPIEXEC [MAKE_FILES]. They run the real program in a folder of
# their own and check its exit code, its messages and its results; a failed check is reported and counted, the test goes on.
set -u
lapwing=$1
mpiexec=$2
make_files=${3:-}
[ -x "$lapwing" ] || { echo "there is no $lapwing"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1
export TMPDIR="$work"       # Open MPI keeps its session there, so that simultaneous tests have separate sessions
[ -z "$make_files" ] || "$make_files" . || exit 1
checks=0
failures=0

# lap RANKS argument ...: run the program, with standard output in `out` and standard error in `err`. 0 ranks: without mpirun.
lap() {
    ranks=$1
    shift
    if [ "$ranks" -eq 0 ]; then
        timeout 120 "$lapwing" "$@" >out 2>err
    else
        timeout 120 "$mpiexec" -np "$ranks" "$lapwing" "$@" >out 2>err
    fi
}

# verdict STATUS TEXT: count a check.
verdict() {
    checks=$((checks + 1))
    [ "$1" -eq 0 ] && return
    failures=$((failures + 1))
    echo "failed: $2"
}

# ok RANKS argument ...: the run must succeed without a warning or an error.
ok() {
    lap "$@"
    code=$?
    [ "$code" -eq 0 ] && ! grep -q '^lapwing: ' err
    verdict $? "exit code $code, expected 0 without a message: $* : $(cat err)"
}

# warned RANKS PATTERN argument ...: the run must succeed with exactly one warning, which matches the pattern.
warned() {
    warned_ranks=$1
    pattern=$2
    shift 2
    lap "$warned_ranks" "$@"
    code=$?
    [ "$code" -eq 0 ] && [ "$(grep -c '^lapwing: ' err)" -eq 1 ] && grep '^lapwing: warning: ' err | grep -Eq -- "$pattern"
    verdict $? "exit code $code, expected 0 and one warning like '$pattern': $* : $(cat err)"
}

# refuse RANKS CODE PATTERN argument ...: the run must end with that code and exactly one message, which matches the pattern (an
# extended regular expression).
refuse() {
    refuse_ranks=$1
    expected=$2
    pattern=$3
    shift 3
    lap "$refuse_ranks" "$@"
    code=$?
    [ "$code" -eq "$expected" ]
    verdict $? "exit code $code, expected $expected: $refuse_ranks ranks: $*: $(cat err)"
    messages=$(grep -c '^lapwing: ' err)
    [ "$messages" -eq 1 ]
    verdict $? "$messages messages, expected 1: $refuse_ranks ranks: $*: $(cat err)"
    grep '^lapwing: ' err | grep -Eq -- "$pattern"
    verdict $? "the message does not match '$pattern': $refuse_ranks ranks: $*: $(cat err)"
}

# everywhere CODE PATTERN argument ...: refuse on one rank and, of three cases without LW_TEST_ALL one, on three.
everywhere_at=0
everywhere() {
    refuse 0 "$@"
    everywhere_at=$((everywhere_at + 1))
    [ -z "${LW_TEST_ALL:-}" ] && [ $((everywhere_at % 3)) -ne 1 ] || refuse 3 "$@"
}

# bits FILE [DATASET]: a checksum of the bytes of the result's data.
bits() {
    h5dump -d "${2:-/filtered}" -b NATIVE -o "$1.bits" "$1" >/dev/null || return 1
    cksum <"$1.bits"
    rm -f "$1.bits"
}

# same_bits FILE FILE [DATASET]: whether both have the same data
same_bits() {
    first=$(bits "$1" "${3:-/filtered}") && second=$(bits "$2" "${3:-/filtered}") && [ "$first" = "$second" ]
    verdict $? "the data of $1 and $2 differ"
}

needs() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { echo "there is no $tool"; exit 1; }
    done
}

finish() {
    echo "$(basename "$0"): $checks checks, $failures failed"
    [ "$failures" -eq 0 ] && [ "$checks" -gt 0 ]
    exit $?
}
