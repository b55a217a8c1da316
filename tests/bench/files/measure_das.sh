#!/bin/sh
# measure_das.sh - a DAS record from file to file on CPUs, by lapwing and scipy in turn, in one call; prints seconds and their
# ratio.
#
#    measure_das.sh BUILD FOLDER [CHANNELS [REPETITIONS]]      3840 channels of 2^18 int16 samples, 5
#
# Both use all cores: lapwing as one rank with a thread for each core, scipy as a process for each core. FOLDER, best on a RAM
# disk, gets the record (2 GiB) and both results. Their largest difference is printed: 1 where roundings differ.
set -eu
lapwing=$1/lapwing folder=$2 channels=${3:-3840} repetitions=${4:-5}
here=$(cd "$(dirname "$0")" && pwd)
cores=$(nproc)

"$lapwing" synth ols --output "$folder/das.h5" --overwrite --samples 2^18 --channels "$channels" --type int16 --sample-rate 500 --quiet
"$lapwing" filters bandpass --rate 500 --from 1 --to 20 --taps 513 --output "$folder/band.h5" --overwrite > /dev/null
for i in $(seq "$repetitions"); do
    start=$(date +%s.%N)
    "$lapwing" ols --engine cpu --threads "$cores" --input "$folder/das.h5:/signal" --filters "$folder/band.h5:/taps" --mode same \
        --decimate 8 --output-type int16 --output "$folder/lapwing.h5" --overwrite --quiet
    end=$(date +%s.%N)
    other=$(python3 "$here/das_scipy.py" "$folder/das.h5:/signal" "$folder/band.h5:/taps" "$folder/scipy.h5" "$cores")
    awk -v a="$start" -v b="$end" -v s="$other" 'BEGIN { printf "lapwing %.3f s, scipy %.3f s, ratio %.2f\n", b - a, s, s / (b - a) }'
done
python3 - "$folder" << 'END'
import sys, h5py, numpy as np
a, b = (h5py.File(f"{sys.argv[1]}/{name}.h5")["filtered"][:64].astype(int) for name in ("lapwing", "scipy"))
print(f"largest difference of 64 channels: {np.abs(a - b).max()}")
END
