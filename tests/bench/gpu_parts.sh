# gpu_parts.sh - for measure_*_gpu.sh, which source it: a measurement in parts that do not need each other. Part X is the function
# part_X of the script; its exit code says whether it went well. What it prints goes to OUT/X.txt, and when it has ended well
# there is OUT/X.done: it is then left out the next time. A part that fails or runs out of its time says so, and the next
# one begins.
#
#     parts_begin SCRIPT OUT              sets source, build and out; without OUT prints the comment that SCRIPT begins with
#     parts_run 'PART...' [WANTED...]     those wanted, of all, in that order; limit_of PART, a function of the script,
#                                         prints the seconds that it may take
#
# Environment: BUILD, the build folder (build); SECONDS_IN_ALL, after which no part begins (540).
# shellcheck shell=sh
set -u
export LW_REQUIRE_GPU=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_base_warn_component_unused=0

parts_begin() {
    script=$1
    [ $# -ge 2 ] || { sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$script"; exit 2; }
    source=$(cd "$(dirname "$script")/../.." && pwd)
    mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
    build=$(cd "${BUILD:-$source/build}" && pwd) || exit 1
}

# The part in a shell of its own, so that it can be stopped with everything it started.
run_part() {
    LAPWING_PART=$1 BUILD=$build timeout --kill-after=5 "$2" sh "$script" "$out" >"$out/$1.txt" 2>&1
    code=$?
    case $code in
    0) : >"$out/$1.done"; verdict="done" ;;
    124 | 137) verdict="stopped after its time" ;;
    *) verdict="FAILED with $code" ;;
    esac
}

parts_run() {
    all=$1
    shift
    if [ "${LAPWING_PART:-}" ]; then
        "part_$LAPWING_PART"
        exit
    fi
    for part in "$@"; do
        case " $all " in *" $part "*) ;; *) echo "no part '$part'; there are: $all" >&2; exit 2 ;; esac
    done
    end=$(($(date +%s) + ${SECONDS_IN_ALL:-540}))
    nvidia-smi --query-gpu=name,uuid,driver_version,clocks.max.sm,power.limit --format=csv,noheader | tee "$out/device.txt"
    "$build/lapwing" --version | tee -a "$out/device.txt"
    # shellcheck disable=SC2048  # words without spaces
    for part in ${*:-$all}; do
        [ ! -e "$out/$part.done" ] || { echo "$part: done before"; continue; }
        started=$(date +%s)
        left=$((end - started))
        [ "$left" -ge 20 ] || { echo "$part: not begun, the time is over"; continue; }
        limit=$(limit_of "$part")
        run_part "$part" $((limit < left ? limit : left))
        echo "== $part: $verdict, $(($(date +%s) - started)) s"
        tail -n 12 "$out/$part.txt" | cut -c 1-200
    done
}

# sanitize TOOL command...; calls that fail are no finding, since tests take more memory than there is on purpose
sanitize() {
    tool=$1
    shift
    compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 "$@"
}

# profile_kernels KERNELS METRICS command...: the fourth to sixth launch of kernels whose names match, at the card's own clock
profile_kernels() {
    kernels=$1 metrics=$2
    shift 2
    ncu --clock-control none --launch-skip 3 --launch-count 3 --kernel-name "regex:$kernels" --metrics "$metrics" "$@"
}
