#!/bin/sh
# What `cmake --install` puts where, and that it works from there. Arguments: LAPWING MPIEXEC CMAKE BUILD_FOLDER
cmake=$3
build=$4
set -- "$1" "$2"
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/check.sh"

# A build of the tests alone has neither man page nor completion.
for file in lapwing.1 lapwing.bash; do
    [ -e "$build/$file" ] || { echo "skipped: $build/$file is not built"; exit 77; }
done
"$cmake" --install "$build" --prefix "$work/usr" >installed
verdict $? "cmake --install: $(cat installed)"
lapwing=$work/usr/bin/lapwing
share=$work/usr/share

ok 0 help --man
cmp -s out "$share/man/man1/lapwing.1"
verdict $? "the man page installed is not the program's"
ok 0 help --completion
cmp -s out "$share/bash-completion/completions/lapwing"
verdict $? "the completion installed is not the program's"
for file in README.md LICENSE; do
    cmp -s "$source/$file" "$share/doc/lapwing/$file"
    verdict $? "share/doc/lapwing/$file is not that of the source"
done

# ---- every example, and no source; the program takes them
[ "$(cd "$share/lapwing" && find . -type f ! -name '*.ini' ! -name '*.m' ! -name '*.sh')" = '' ]
verdict $? "share/lapwing holds $(cd "$share/lapwing" && find . -type f)"
[ -z "$(cd "$share/lapwing" && find . -type d -empty)" ]
verdict $? "share/lapwing has empty folders: $(cd "$share/lapwing" && find . -type d)"
for example in "$source"/jobs/*.ini "$source"/jobs/examples/*.ini; do
    refuse 0 74 'No such file|no file matches' plan "$share/lapwing/jobs/${example#"$source"/jobs/}"
done
cmp -s "$source/jobs/examples/two-tones.m" "$share/lapwing/jobs/examples/two-tones.m"
verdict $? 'share/lapwing/jobs/examples lacks two-tones.m'
for script in "$source"/slurm/*.sh; do
    [ -x "$share/lapwing/slurm/$(basename "$script")" ] && cmp -s "$script" "$share/lapwing/slurm/$(basename "$script")"
    verdict $? "share/lapwing/slurm lacks $(basename "$script")"
done

finish
