#!/bin/sh
# The job conv2d from the command line: synthetic skies, the plan, job files, the same bits for any number of ranks and any
# memory, and errors, each with its exit code and one message.
. "$(dirname "$0")/check.sh"
needs h5dump

# says PATTERN: standard output of the last run matches the pattern
says() {
    grep -Eq -- "$1" out
    verdict $? "standard output lacks '$1': $(head -c 600 out)"
}

# ---- synthetic skies: the same on any number of ranks
size='--rows 301 --columns 203'
for options in "$size" "$size --images 3 --type int16 --psf-size 8" '--rows 1 --columns 700 --type float64' \
    "$size --type uint16 --sources 0"; do
    for ranks in 0 2 3; do
        ok $ranks synth conv2d --output s$ranks.h5 $options --overwrite
        [ $ranks -eq 0 ] || same_bits s0.h5 s$ranks.h5 /image
        [ $ranks -eq 0 ] || same_bits s0.h5 s$ranks.h5 /psf
    done
done
ok 0 synth conv2d --output sky.h5 --rows 1001 --columns 803 --images 2
ok 0 info sky.h5
says '/image +\[2 x 1001 x 803\] +float32'
says '/psf +\[31 x 31\] +float64'

# ---- the plan
conv2d="conv2d --input sky.h5:/image --kernel sky.h5:/psf"
ok 0 plan $conv2d
says '1001 rows x 2 images, 803 pixels a row'
says 'overlap-save on tiles of'
says 'halo +30 rows'
ok 3 plan $conv2d --algorithm direct
says 'direct sum of 31 x 31 taps'
ok 2 plan $conv2d --algorithm full
says 'full-width bands'
ok 2 plan $conv2d --algorithm padded
says 'padded to 1[01][0-9]+ x 8[0-9]+, one transform by [a-zA-Z]+ for 1001 rows'
ok 2 plan $conv2d --algorithm padded --padding paper --band 300
says 'padded to 512 x 1024, one transform by [a-zA-Z]+ for 251 rows'
says 'cut at multiples of 251'
ok 4 plan $conv2d --count 40 --split axis
says 'only [123] of them have work'

# ---- the same bits; the job file in a result repeats the job
for algorithm in auto full 'padded --band 200'; do
    ok 1 $conv2d --output one.h5 --overwrite --algorithm $algorithm --threads 1 --boundary reflect
    for ranks in 2 4; do
        ok $ranks $conv2d --output more.h5 --overwrite --algorithm $algorithm --boundary reflect
        same_bits one.h5 more.h5 /convolved
    done
    lap 2 plan $conv2d --algorithm $algorithm --memory 1M
    least=$(sed -n 's/.*the smallest round needs \([0-9]*\).* MiB of memory.*/\1/p' err)
    ok 2 $conv2d --output more.h5 --overwrite --algorithm $algorithm --boundary reflect --memory $((least + 4))M
    same_bits one.h5 more.h5 /convolved
done
ok 0 info one.h5
sed -n '/^\[conv2d\]/,$p' out >again.ini
ok 2 run again.ini --output again.h5
same_bits one.h5 again.h5 /convolved
ok 1 $conv2d --output point.h5 --correlate --boundary constant=-2 --origin 0,30 --channels 1: --start 7 --count 100
ok 0 info point.h5
says '/convolved +\[1 x 100 x 803\] +float32'
refuse 2 0 'warning: the kernel has .* of its energy beyond half the new' $conv2d --output thin.h5 --decimate 300
ok 0 info thin.h5
says '/convolved +\[2 x 4 x 3\] +float32'
refuse 0 0 'warning: the kernel has .* of its energy beyond half the new' plan $conv2d --decimate 300
says 'decimated by 300'

# ---- errors
# wrong CODE PATTERN option ...: the run is refused, and no file has the output's name
wrong() {
    wrong_code=$1
    wrong_pattern=$2
    shift 2
    everywhere "$wrong_code" "$wrong_pattern" $conv2d --output out.h5 "$@"
    [ -z "$(find . -name 'out.h5*')" ]
    verdict $? "a refused run left $(find . -name 'out.h5*')"
    rm -f out.h5*
}
wrong 2 '--axis: no such option' --axis 1
wrong 2 '--boundary mirror is none of zero, edge, wrap, reflect and constant=V' --boundary mirror
wrong 2 '--boundary constant=x is none of' --boundary constant=x
wrong 2 '--boundary edge goes with --mode same and full' --boundary edge --mode valid
wrong 78 '--boundary constant=1e300 does not fit single precision' --boundary constant=1e300
wrong 2 '--band goes with --algorithm padded' --band 100
wrong 2 '--padding goes with --algorithm padded' --padding paper --algorithm full
wrong 2 '--origin 3 is not of the form ROW,COLUMN' --origin 3
wrong 78 '--origin 3,31 is not in the kernel: rows are 0\.\.30, columns 0\.\.30' --origin 3,31
wrong 78 '--origin -1,3 is not in the kernel' --origin=-1,3
wrong 2 '--origin goes with --mode same only, not with --mode full' --origin 3,3 --mode full
wrong 2 '--decimate: 0 is not in 1\.\.' --decimate 0
wrong 78 '--algorithm separable: the kernel is not the product' --algorithm separable
wrong 78 '--start 1001 is not in 0\.\.1000' --start 1001
wrong 78 '--channels 1:3.*2' --channels 1:3
wrong 78 'the smallest round needs .* --algorithm tiles, direct, or padded with a small --band' --memory 1M
refuse 0 78 '--mode valid: the kernel has 31 x 31 elements and the image only 20 x 803' $conv2d --output out.h5 --mode valid \
    --count 20 --isolated
refuse 0 2 '--kernel is missing' conv2d --input sky.h5:/image --output out.h5
refuse 3 2 '--kernel and --gaussian exclude each other' conv2d --input sky.h5:/image --kernel sky.h5:/psf --gaussian 4 --output out.h5
refuse 0 2 '--background 9 goes with --gaussian' conv2d --input sky.h5:/image --kernel sky.h5:/psf --background 9 --output out.h5
refuse 0 2 '--background 10 is even' conv2d --input sky.h5:/image --gaussian 4 --background 10 --output out.h5
refuse 3 2 '--background 7 is less than twice --gaussian 4' conv2d --input sky.h5:/image --gaussian 4 --background 7 --output out.h5
refuse 0 78 'the kernel of --gaussian sum up to .*zero but for rounding' conv2d --input sky.h5:/image --gaussian 4 --background 15 \
    --normalize sum --output out.h5
refuse 0 65 '/five.*5 dimensions|/five.*dimension' conv2d --input odd.h5:/five --kernel sky.h5:/psf --output out.h5
refuse 0 65 '/signal has 1 dimension: conv2d takes 2' conv2d --input odd.h5:/signal --kernel sky.h5:/psf --output out.h5
refuse 0 65 '/signal has one dimension: a kernel has two' conv2d --input sky.h5:/image --kernel odd.h5:/signal --output out.h5
refuse 0 65 'element \(.*\) of the kernel in odd\.h5:/inf_taps is -inf' conv2d --input sky.h5:/image \
    --kernel odd.h5:/inf_taps --output out.h5
warned 1 "the kernel's columns are 31 long" conv2d --input odd.h5:/cube --kernel sky.h5:/psf --output cube.h5

finish
