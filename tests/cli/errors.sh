#!/bin/sh
# Errors of files and data: the documented exit code and one message with the value and the remedy, on one rank and, some of them,
# on three. No run hangs or leaves a file under the output's name.
. "$(dirname "$0")/check.sh"

# ols CODE PATTERN INPUT FILTERS [option ...]: the run is refused
ols() {
    ols_code=$1
    ols_message=$2
    ols_input=$3
    ols_filters=$4
    shift 4
    everywhere "$ols_code" "$ols_message" ols --input "$ols_input" --filters "$ols_filters" --output out.h5 "$@"
    [ -z "$(find . -name 'out.h5*')" ]
    verdict $? "a refused run left $(find . -name 'out.h5*')"
    rm -f out.h5*
}
signal=odd.h5:/signal
filters=odd.h5:/filters

# ---- files
printf 'this is no HDF5 file, but long enough to be looked at\n' >text.txt
head -c 3000 odd.h5 >cut.h5
: >nothing.h5
ols 74 'nosuch\.h5.*No such file' nosuch.h5:/signal $filters
ols 74 'nosuch\.h5.*No such file' $signal nosuch.h5:/filters
ols 65 'text\.txt.* not .*HDF5' text.txt:/signal $filters
ols 65 'nothing\.h5.* not .*HDF5' nothing.h5:/signal $filters
ols 65 'cut\.h5' cut.h5:/signal $filters
ols 65 'text\.txt.* not .*HDF5' $signal text.txt:/filters
ols 74 'it is a folder' .:/signal $filters

# ---- datasets
ols 2 'name a dataset of the file, as in .odd\.h5:/path.; the file has [0-9]+ datasets' odd.h5 $filters
ols 65 'odd\.h5.*/signl.*/signal' odd.h5:/signl $filters
ols 65 '/group' odd.h5:/group $filters
ols 65 '/filtres.*/filters' $signal odd.h5:/filtres
ols 65 '/scalar' odd.h5:/scalar $filters
ols 65 '/cube.*3 dimensions' odd.h5:/cube $filters
ols 65 '/five.*5' odd.h5:/five $filters
ols 65 '/empty.*empty' odd.h5:/empty $filters
ols 65 '/empty_channels.*empty' odd.h5:/empty_channels $filters
ols 65 '/null.*empty' odd.h5:/null $filters
ols 65 '/text' odd.h5:/text $filters
ols 65 '/pair' odd.h5:/pair $filters
ols 65 '/uint64' odd.h5:/uint64 $filters
ols 65 '/cube' $signal odd.h5:/cube
ols 65 '/text' $signal odd.h5:/text
ols 65 '/empty' $signal odd.h5:/empty
ols 65 'tap 1 .*nan.* finite' $signal odd.h5:/nan_taps
ols 65 'tap 1 of filter 1.*-inf.* finite' $signal odd.h5:/inf_taps

# ---- options that do not fit the data
everywhere 2 '--filters is missing: give --filters FILE:/dataset, or .*--bandpass' ols --input $signal --output out.h5
ols 2 '--axis 1.*1 dimension' $signal $filters --axis 1
ols 2 '\[4 x 250\]: choose the time dimension with --axis 0 or --axis 1' odd.h5:/channels $filters
ols 78 '--start 1000 is not in 0\.\.999' $signal $filters --start 1000
ols 78 '--count 1001.*1000' $signal $filters --count 1001
ols 78 '--count 999: only 998' $signal $filters --count 999 --start 2
ols 2 "--count: 'ten' is neither a whole number of samples .* nor a time" $signal $filters --count ten
ols 78 '--count 2s: the metadata of odd\.h5:/signal have no sampling rate: give --sample-rate' $signal $filters --count 2s
ols 2 '--start: 0s is not allowed; a time must be above 0' $signal $filters --start 0s
ols 78 '--channels 0:5.*4' odd.h5:/channels $filters --axis 1 --channels 0:5
ols 78 '--channels 4:.*4' odd.h5:/channels $filters --axis 1 --channels 4:
ols 2 '--boundary edge goes with --mode same' $signal $filters --mode full --boundary edge
ols 2 'the scale of --output-type is for results of integers or float16, not for float32' $signal $filters --output-type scale=0.5
ols 78 '--mode valid.*1000 taps.*9 samples' odd.h5:/signal odd.h5:/long_taps --mode valid --count 9 --isolated
ols 78 'segment.*8.*9' $signal $filters --segment 8
ols 78 '--memory|memory' $signal $filters --memory 1M
ols 65 'channel 0.*sample 500|sample 500' odd.h5:/nan_signal $filters --nan error
ols 65 'sample 500' odd.h5:/inf_signal $filters --nan error

# ---- output
everywhere 74 'nosuch.*(No such file|does not exist)' ols --input $signal --filters $filters --output nosuch/out.h5
ok 0 ols --input $signal --filters $filters --output done.h5
before=$(cksum <done.h5)
everywhere 74 'done\.h5.*exists.*--overwrite' ols --input $signal --filters $filters --output done.h5
[ "$before" = "$(cksum <done.h5)" ]
verdict $? "a refused run changed the existing output"
everywhere 2 'odd\.h5.*input' ols --input $signal --filters $filters --output odd.h5 --overwrite
ln odd.h5 alias.h5
everywhere 2 'alias\.h5.*input' ols --input $signal --filters $filters --output alias.h5 --overwrite
rm alias.h5
ok 2 ols --input $signal --filters $filters --output done.h5 --overwrite
everywhere 74 'done\.h5.*exists.*--overwrite' synth ols --output done.h5 --samples 1k
everywhere 74 'folder' ols --input $signal --filters $filters --output . --overwrite
mkdir locked
chmod a-w locked
if ! touch locked/probe 2>/dev/null; then
    everywhere 74 'locked.*Permission denied' ols --input $signal --filters $filters --output locked/out.h5
fi

# ---- a full disk: a file-size limit of the ranks and, where it can be mounted, a small file system
cat >limited <<LIMITED
#!/bin/sh
ulimit -f 20000
exec "$lapwing" "\$@"
LIMITED
chmod +x limited
unlimited=$lapwing
lapwing=./limited
refuse 1 74 'big\.h5' synth ols --output big.h5 --samples 4M
refuse 3 74 'big\.h5' synth ols --output big.h5 --samples 4M
lapwing=$unlimited
[ -z "$(find . -name 'big.h5*')" ]
verdict $? "a survey that did not fit left $(find . -name 'big.h5*')"
mkdir small
if mount -t tmpfs -o size=2m tmpfs small 2>/dev/null; then
    trap 'umount "$work/small"; rm -rf "$work"' EXIT
    everywhere 74 'small/big\.h5.*(room|space)' synth ols --output small/big.h5 --samples 4M
    ok 0 synth ols --output long.h5 --samples 1M --channels 1 --quiet
    everywhere 74 'small/out\.h5.*(room|space)' ols --input long.h5:/signal --filters long.h5:/filters --output small/out.h5
    [ -z "$(ls small)" ]
    verdict $? "a full disk keeps $(ls small)"
fi

# ---- standard streams: files and sockets must not take the numbers of closed streams, and a failed print is an error
# streams CODE PATTERN SHELL-COMMAND, in which `run` is an ols
streams() {
    rm -f streams.h5
    lapwing=$lapwing timeout 120 sh -c "run() { \"\$lapwing\" ols --input $signal --filters $filters --output streams.h5; }; $3" >out 2>err
    code=$?
    [ "$code" -eq "$1" ]
    verdict $? "exit code $code, expected $1: $3: $(cat err)"
    [ -z "$2" ] || grep -Eq -- "^lapwing: $2" err
    verdict $? "the message does not match '$2': $3: $(cat err)"
}
for closed in '<&-' '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    streams 0 '' "run $closed"
    same_bits streams.h5 done.h5
done
for words in --version 'help ols' info 'info odd.h5' "plan ols --input $signal --filters $filters" 'verify done.h5'; do
    streams 74 'cannot write to standard output: No space left on device' "\"\$lapwing\" $words >/dev/full"
    streams 74 'cannot write to standard output: Bad file descriptor' "\"\$lapwing\" $words >&-"
done
streams 0 '' 'run >/dev/full'

# ---- ranks that a launcher has started and MPI does not join: each of them would do the whole job
for launcher in 'PMI_SIZE=3 PMI_RANK' 'SLURM_STEP_NUM_TASKS=3 SLURM_PROCID' 'OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK'; do
    streams 71 "MPI joins only 1 of the 3 processes that were started \(${launcher%%=*}\)" "$launcher=0 run"
    streams 71 '' "$launcher=1 run"
    [ ! -s err ] && [ ! -e streams.h5 ]
    verdict $? "the second of three ranks prints a message, or makes a result: $launcher: $(cat err)"
    streams 0 '' "$(echo "$launcher" | sed 's/=3/=1/')=0 run"
done
for tasks in 1 4; do        # tasks of a step in which mpirun is started
    export SLURM_STEP_NUM_TASKS=$tasks
    ok 2 ols --input $signal --filters $filters --output legal.h5
    rm legal.h5
done
unset SLURM_STEP_NUM_TASKS

# ---- unusual options that are legal
warned 3 'the filters are 1000 long, and only 9 samples are read' ols --input $signal --filters odd.h5:/long_taps --output legal.h5 --count 9 \
    --isolated
warned 3 'long, and only 1 samples are read' ols --input odd.h5:/row --filters odd.h5:/group/deeper/taps --output legal.h5 --count 1 \
    --mode full --overwrite --isolated
lap 0 ols --input odd.h5:/nan_signal --filters $filters --nan zero --output legal.h5 --overwrite --quiet
verdict $? "--nan zero: $(cat err)"
grep -q '^lapwing: warning: .*not finite' err
verdict $? "--nan zero does not warn: $(cat err)"
for ranks in 0 3; do
    lap $ranks ols --input odd.h5:/nan_signal --filters $filters --start 3 --output legal.h5 --overwrite --quiet
    grep -qx 'lapwing: warning: 1 sample was not finite: sample 500' err
    verdict $? "the message does not name the place of the first sample that is not finite: $(cat err)"
done
warned 0 'the filters are .* long' ols --input odd.h5:/channels --filters $filters --axis 0 --output ./legal.h5 --overwrite --channels ::3
lap 0 synth ols --output record.h5 --samples 5000 --channels 2
ok 0 ols --input record.h5:/signal --filters record.h5:/filters --channels 0 --output legal.h5 --overwrite
warned 0 '--filters record.h5:/signal looks like a record .*: it has a time axis; it is taken as 2 filters of 5000 taps' \
    ols --input record.h5:/signal --filters record.h5:/signal --channels 0 --output legal.h5 --overwrite

# ---- results of an integer type that the input does not have
ok 0 ols --input odd.h5:/signal --filters $filters --output integers.h5 --output-type int16,scale=0.01
h5dump -H -d /filtered integers.h5 | grep -q 'DATATYPE *H5T_STD_I16LE'
verdict $? "the result of float32 samples is not int16: $(h5dump -H -d /filtered integers.h5)"

# ---- a dataset that does not exist: the message lists the others, each on a line of its own
for ranks in 0 3; do
    refuse $ranks 65 "'odd\.h5' has no dataset '/signl'; the file has [0-9]+ datasets; did you mean /signal\?" \
        ols --input odd.h5:/signl --filters odd.h5:/filters --output x.h5
    [ "$(grep -c '^  /' err)" -gt 10 ] && grep -A 1 '^lapwing: ' err | grep -qx '  /signal float32 \[1000\]'
    verdict $? "the datasets are not listed line by line: $(cat err)"
done

finish
