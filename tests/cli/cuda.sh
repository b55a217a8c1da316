#!/bin/sh
# The cuda engine from file to file: the same bits for any number of ranks, of rounds and of bytes of device memory; which rank
# gets which device; and the messages for too few devices or too little memory. With LW_EMULATED=1 the program's kernels run on
# the CPU and its devices are those that LW_EMULATION_... describe, so that the test runs on any machine.
. "$(dirname "$0")/check.sh"
needs h5dump
if ! "$lapwing" info | grep -q '^engine cuda *[0-9]* CUDA device'; then
    echo "skipped: no GPU: $("$lapwing" info | grep '^engine cuda')"
    [ "${LW_REQUIRE_GPU:-0}" = 1 ] && exit 1
    exit 77
fi
unset SLURM_GPUS_PER_TASK SLURM_TRES_PER_TASK
length=${LW_EMULATED:+30007}
length=${length:-3000017}

job_name=ols
dataset=/filtered

# gpu RANKS argument ...: run the job on the cuda engine, with ranks sharing devices
gpu() {
    gpu_ranks=$1
    shift
    ok "$gpu_ranks" $job_name --engine cuda,share-gpu --overwrite "$@"
}

# smallest argument ...: the least sufficient device memory in MiB, from the message that refuses less
smallest() {
    lap 0 $job_name --engine cuda "$@" --gpu-memory 1M --output never.h5
    sed -n 's/.*needs \([0-9]*\)[0-9.]* MiB of GPU memory on each rank, the limit is 1.0 MiB (--gpu-memory): .*/\1/p' err
}

# all NAME argument ...: run one job in all ways
all() {
    name=$1
    shift
    gpu 0 "$@" --output plain.h5
    [ -n "$(bits plain.h5 $dataset)" ]
    verdict $? "$name: no result"
    gpu 2 "$@" --output other.h5
    same_bits plain.h5 other.h5 $dataset
    least=$(smallest "$@")
    [ -n "$least" ]
    verdict $? "$name: --gpu-memory 1M is not refused with the memory needed: $(cat err)"
    gpu 3 "$@" --output other.h5 --gpu-memory "$((least + 2))M" --split axis
    same_bits plain.h5 other.h5 $dataset
    grep -Eo '[0-9]+ rounds?' err >>rounds
}

ok 0 synth ols --output fast.h5 --samples "$length" --channels 3 --type int16 --taps 65 --n-filters 2
all 'time fast' --input fast.h5:/signal --filters fast.h5:/filters --mode full
ok 0 synth ols --output slow.h5 --samples $((length / 4)) --channels 6 --type uint8 --layout time-slow --taps 257 --n-filters 1
all 'time slow' --input slow.h5:/signal --filters slow.h5:/filters --boundary wrap
ok 0 filters beams --for slow.h5:/signal --sample-rate 500 --channel-spacing 20 --slowness -3:3:0.5 --output beams.h5
all 'beams' --input slow.h5:/signal --sample-rate 500 --beams beams.h5:/delays --boxcar 1,norm=gain
ok 0 ols --engine cpu --input slow.h5:/signal --sample-rate 500 --beams beams.h5:/delays --boxcar 1,norm=gain --output other.h5 \
    --overwrite
same_bits plain.h5 other.h5 $dataset
ok 0 synth ols --output one.h5 --samples "$length" --channels 1 --complex --taps 3000 --n-filters 1
all 'one complex channel' --input one.h5:/signal --filters one.h5:/filters --mode valid

ok 0 synth ols --output many.h5 --samples $((16 * length)) --channels 1 --taps 65 --n-filters 3
all 'many rounds' --input many.h5:/signal --filters many.h5:/filters
[ "$(tail -n 1 rounds)" != '1 round' ]
verdict $? "--gpu-memory leaves one round"

# one job of each family of kernels: direct sums, tiles in shared memory, large tiles, two passes
job_name=conv2d
dataset=/convolved
rows=${LW_EMULATED:+301}
rows=${rows:-2003}
for psf in 'direct 7' 'tiles 31' 'full 40' 'auto 9'; do
    ok 0 synth conv2d --overwrite --output sky.h5 --rows "$rows" --columns 403 --images 2 --psf-size "${psf#* }"
    all "conv2d, $psf" --input sky.h5:/image --kernel sky.h5:/psf --algorithm "${psf% *}" --boundary reflect
done
job_name=ols
dataset=/filtered

rest='--input fast.h5:/signal --filters fast.h5:/filters'
job="ols --engine cuda $rest"
shared="ols --engine cuda,share-gpu $rest"
# shellcheck disable=SC2086  # a list of words, here and below
lap 0 plan $job --gpu-memory 1G
grep -Eq '^device memory +[0-9.]+ MiB a rank, of 1.0 GiB \(--gpu-memory\)' out
verdict $? "the plan does not name the limit of --gpu-memory: $(grep '^device' out)"
# shellcheck disable=SC2086
lap 2 plan $shared
grep -Eq '^device memory +[0-9.]+ MiB a rank, of .* \(free on the GPU' out
verdict $? "the plan does not name the device's free memory: $(grep '^device' out)"
[ "$(grep -Ec '^rank [01] \(.*\): .*, GPU-[0-9a-f-]{36}, ' err)" -eq 2 ]
verdict $? "the log does not name both ranks' devices: $(cat err)"

[ -n "${LW_EMULATED:-}" ] || finish
never="$job --output never.h5"
ok 0 synth ols --output wide.h5 --samples 1000000 --channels 3 --type int16 --taps 65 --n-filters 4096
much='ols --input wide.h5:/signal --filters wide.h5:/filters --output never.h5 --threads 1'
# shellcheck disable=SC2086
{
    refuse 2 78 '2 ranks on this node and 1 CUDA device visible: .*--engine auto,share-gpu' $never
    export SLURM_GPUS_PER_TASK=1        # the launcher shows each rank one device, always the same
    refuse 2 78 'ranks 0 and 1 \(.*\) were both given GPU-[0-9a-f-]{36}: .*--gpus-per-task=1.*--engine auto,share-gpu' $never
    unset SLURM_GPUS_PER_TASK
    export LW_EMULATION_DEVICES=2
    ok 2 $job --output apart.h5
    [ "$(grep -Eo 'GPU-[0-9a-f-]{36}' err | sort -u | wc -l)" -eq 2 ]
    verdict $? "two ranks and two devices, but not one each: $(cat err)"
    unset LW_EMULATION_DEVICES
    export LW_EMULATION_MEMORY_MIB=4    # too little for any slot
    refuse 0 78 'needs .* of GPU memory on each rank, the limit is 3.8 MiB \(free on the GPU\): allow more' $never
    export LW_EMULATION_MEMORY_MIB=16   # enough for several slots, but not for as many as the plan would otherwise make
    ok 0 $job --mode full --output little.h5
    refuse 3 78 'limit is 5.1 MiB \(free on the GPU, 3 ranks share it\): .*let fewer ranks share it' $shared --output never.h5
    unset LW_EMULATION_MEMORY_MIB
    export LW_EMULATION_PINNED_MIB=0    # other threads find this while the first block is read
    refuse 0 71 'no pinned memory for the buffers of a block: .* needed; lower --memory' $never
    refuse 2 71 'no pinned memory for the buffers of a block: .* needed; lower --memory' $shared --output never.h5
    unset LW_EMULATION_PINNED_MIB
    export LW_EMULATION_DEVICES=0       # this is found while MPI starts, and reported when the engine is opened
    refuse 0 71 'no CUDA device is visible: use --engine cpu' $never
    refuse 2 71 'no CUDA device is visible: use --engine cpu' $never
    lap 2 plan $much
    grep -q '^cpu engine: .*no CUDA device is visible' err
    verdict $? "--engine auto does not say why it takes the cpu: $(cat err)"
    unset LW_EMULATION_DEVICES
}

# --engine auto: a run that is shorter than the start of a device goes to the CPU, which the log says with both times; so does the
# plan. A run that goes on with an interrupted one has its engine.
times='modelled times: cpu [0-9.e-]+ s, cuda'
# shellcheck disable=SC2086
{
    lap 0 ols $rest --output auto.h5
    grep -Eq "^cpu engine: $times at least 0.3 s \\(start 0.3 s\\)" err
    verdict $? "--engine auto does not take the cpu for a short run, or does not say both times: $(cat err)"
    lap 0 plan $much
    grep -Eq "^cuda engine: .*; $times [0-9.]+ s \\(start 0.3 s\\)" err && grep -Eq "^ +$times [0-9.]+ s" out
    verdict $? "--engine auto does not take the device for a long run, or does not say both times: $(cat err out)"
    lap 0 ols --each file --input fast.h5:/signal one.h5:/signal --filters one.h5:/filters --output each
    grep -Eq "^cpu engine: $times at least 0.15 s" err && grep -q '^cpu engine: as for the results before' err
    verdict $? "--each: results do not share one start, or one engine: $(cat err)"
    lap 0 plan $much --engine cpu
    grep -q '^cpu engine: requested' err
    verdict $? "--engine cpu is not obeyed: $(cat err)"
    lap 0 sfft --input one.h5:/signal --sparsity 5 --fallback partial --output auto.h5 --overwrite
    grep -Eq "^cpu engine: $times at least 0.3 s" err
    verdict $? "--engine auto does not take the cpu for a short sparse run: $(cat err)"
    lap 0 plan sfft --input wide.h5:/signal --window 65536 --hop 2048 --algorithm sfft2 --sparsity 20 --output never.h5 --threads 1
    grep -Eq "^cuda engine: .*; $times [0-9.]+ s" err
    verdict $? "--engine auto does not take the device for a long sparse run: $(cat err)"
}

# interrupt argument ...: begin a run on the device, and end it after its first checkpoint; on a slow machine, where it may end
# before, again
interrupt() {
    for _ in 1 2 3 4 5; do
        rm -f later.h5
        "$lapwing" ols --engine cuda "$@" --checkpoint 0 --quiet 2>err &
        begun=$!
        while [ ! -e later.h5.lapwing-journal ] && kill -0 $begun 2>/dev/null; do sleep 0.01; done
        kill -TERM $begun 2>/dev/null
        wait $begun
        code=$?
        [ "$code" -eq 0 ] || return "$code"
    done
    return 0
}
later="--input many.h5:/signal --filters many.h5:/filters --output later.h5"
# shellcheck disable=SC2086
{
    interrupt $later --gpu-memory 12M
    code=$?
    if [ "$code" -eq 75 ]; then
        ok 2 ols --engine auto,share-gpu $later
        grep -q '^cuda engine: the interrupted run began with it' err
        verdict $? "--engine auto does not go on with the engine of the interrupted run: $(cat err)"
        gpu 0 --input many.h5:/signal --filters many.h5:/filters --output plain.h5
        same_bits plain.h5 later.h5
    else
        verdict "$code" "an interrupted run ends with $code: $(cat err)"
    fi
}
gpu 0 --input fast.h5:/signal --filters fast.h5:/filters --mode full --output plain.h5
same_bits plain.h5 little.h5
finish
