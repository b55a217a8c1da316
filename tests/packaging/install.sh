#!/bin/sh
# The files that `cmake --install` installs, and that they work at their places. Arguments: LAPWING MPIEXEC CMAKE BUILD_FOLDER
cmake=$3
build=$4
set -- "$1" "$2"
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/../cli/check.sh"

# A build of the tests alone has neither man page nor completion.
for file in lapwing.1 lapwing.bash lapwing.zsh; do
    [ -e "$build/$file" ] || { echo "$build/$file is not built"; exit 1; }
done
"$cmake" --install "$build" --prefix "$work/usr" >installed
verdict $? "cmake --install: $(cat installed)"
lapwing=$work/usr/bin/lapwing
share=$work/usr/share

for page in lapwing lapwing-ols lapwing-conv2d lapwing-sfft lapwing-accel lapwing-filters lapwing-plan lapwing-synth lapwing-run lapwing-info \
    lapwing-plot lapwing-verify; do
    word=${page#lapwing}
    ok 0 help --man ${word#-}
    cmp -s out "$share/man/man1/$page.1"
    verdict $? "$page.1 is not the program's"
done
ok 0 help --completion
cmp -s out "$share/bash-completion/completions/lapwing"
verdict $? "the completion for bash installed is not the program's"
ok 0 help --completion zsh
cmp -s out "$share/zsh/site-functions/_lapwing"
verdict $? "the completion for zsh installed is not the program's"
for page in formats results jobfile; do
    [ "$(head -n 1 "$share/man/man5/lapwing-$page.5" | cut -c1-4)" = '.TH ' ] && [ "$(wc -l <"$share/man/man5/lapwing-$page.5")" -lt 300 ]
    verdict $? "lapwing-$page.5 is no manual page of less than 300 lines"
done
for file in README.md io/README.md jobs/README.md jobs/packaging/README.md slurm/README.md src/README.md gpu/README.md tests/README.md \
    tests/bench/README.md LICENSE; do
    cmp -s "$source/$file" "$share/doc/lapwing/$file"
    verdict $? "share/doc/lapwing/$file is not that of the source"
done

if command -v python3 >/dev/null; then
    python3 "$source/tests/documents/words.py" "$share/doc/lapwing" >links
    verdict $? "links between the documents that are installed: $(cat links)"
fi

# ---- every example is installed, and no source; the program accepts the examples
[ "$(cd "$share/lapwing" && find . -type f ! -name '*.ini' ! -name '*.m' ! -path './jobs/examples/*.py' ! -name '*.sh' ! -name '*.lua')" = '' ]
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

# ---- no file that belongs to the Debian package only
[ -z "$(find "$work/usr" -name '*.gz' -o -name copyright -o -name vendor-completions)" ]
verdict $? "installed are files of the Debian package: $(find "$work/usr" -name '*.gz' -o -name copyright)"

# ---- Lmod loads the module file, and unloads it without a trace
lmod=/usr/share/lmod/lmod/libexec/lmod
if [ -x "$lmod" ]; then
    cat >module.sh <<'SH'
lmod=$1
eval "$("$lmod" bash load lapwing)"
echo "program $(command -v lapwing)"
echo "manual $(man -w lapwing 2>/dev/null || echo "${MANPATH%%:*}/man1/lapwing.1")"
echo "share $LAPWING_SHARE"
eval "$("$lmod" bash unload lapwing)"
case $PATH:$MANPATH:${LAPWING_SHARE-} in *"$2"*) ;; *) echo unloaded ;; esac
SH
    MODULEPATH=$share/lapwing/modulefiles bash --norc module.sh "$lmod" "$work/usr" >loaded 2>&1
    printf '%s\n' "program $lapwing" "manual $share/man/man1/lapwing.1" "share $share/lapwing" unloaded >expected
    cmp -s loaded expected
    verdict $? "Lmod: $(diff expected loaded)"
    MODULEPATH=$share/lapwing/modulefiles "$lmod" bash whatis lapwing 2>whatis >/dev/null
    grep -qF "Version: $("$lapwing" --version | sed -n 's/^lapwing \([0-9.]*\) .*/\1/p')" whatis
    verdict $? "the module file prints: $(cat whatis)"
else
    echo "not checked: the module file, for want of Lmod"
fi

finish
