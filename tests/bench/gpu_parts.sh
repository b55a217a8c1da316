# gpu_parts.sh - runs a measurement in independent parts; measure_*_gpu.sh source this file. Part X is the function part_X of the
# script, whose exit code is its verdict. Its output goes to OUT/X.txt, and OUT/X.done is made when it has succeeded, so that the
# next run leaves it out. A part that fails or exceeds its time is reported, and the next one begins.
#
#     parts_begin SCRIPT OUT              sets source, build and out; without OUT prints the first comment of SCRIPT
#     parts_run 'PART...' [WANTED...]     runs the wanted ones of all parts, in that order; limit_of PART, a function of the script,
#                                         prints the part's time limit in seconds
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

# The part runs in a shell of its own, so that it can be stopped with everything it started.
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

# sanitize TOOL command...: failing calls are no finding, since tests request more memory than there is on purpose
sanitize() {
    tool=$1
    shift
    compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 "$@"
}

# profile_kernels KERNELS METRICS command...: profile launches 4 to 6 of the kernels whose names match, at the card's own clock
profile_kernels() {
    kernels=$1 metrics=$2
    shift 2
    ncu --clock-control none --launch-skip 3 --launch-count 3 --kernel-name "regex:$kernels" --metrics "$metrics" "$@"
}
