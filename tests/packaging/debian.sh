#!/bin/sh
# The Debian package: cpack makes it of this build, it lists its dependencies, and the unpacked files work.
# Arguments: LAPWING MPIEXEC CPACK BUILD_FOLDER
cpack=$3
build=$4
set -- "$1" "$2"
. "$(dirname "$0")/../cli/check.sh"
needs dpkg-deb dpkg-shlibdeps file md5sum

# A build of the tests alone has nothing to pack.
[ -e "$build/lapwing.1.gz" ] || { echo "$build/lapwing.1.gz is not built"; exit 1; }

# CPack would first build everything that is not up to date, while other tests use it; with the generator Ninja it does not.
(cd "$build" && "$cpack" -G DEB -D CPACK_CMAKE_GENERATOR=Ninja -B "$work/packed") >packed.log 2>&1
verdict $? "cpack: $(cat packed.log)"
version=$("$lapwing" --version | sed -n 's/^lapwing \([0-9.]*\) .*/\1/p')
architecture=$(dpkg --print-architecture)
package=$work/packed/lapwing_${version}_$architecture.deb
[ -f "$package" ]
verdict $? "there is no $package"

# ---- control fields
field() {
    dpkg-deb -f "$package" "$1"
}
is() {
    [ "$(field "$1")" = "$2" ]
    verdict $? "$1 is '$(field "$1")', not '$2'"
}
is Package lapwing
is Version "$version"
is Architecture "$architecture"
is Section science
is Priority optional
for name in Maintainer Installed-Size Description; do
    [ -n "$(field $name)" ]
    verdict $? "there is no $name"
done

# ---- it depends on the package of every library that it is linked with; only NVIDIA's libraries have no package
tree=$work/tree
dpkg-deb -x "$package" "$tree"
field Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//' >depends
grep -qx openmpi-bin depends
verdict $? "it does not depend on openmpi-bin, but on $(cat depends)"
ldd "$tree/usr/bin/lapwing" | sed -n 's/.* => \(.*\) (.*/\1/p' | sed 'p; s,^/usr,,; t; s,^,/usr,' >paths
# shellcheck disable=SC2046  # a list of paths, with and without /usr
dpkg-query -S $(cat paths) 2>/dev/null | sed 's/:.*\// /' >owners
libraries=0
for name in $(objdump -p "$tree/usr/bin/lapwing" | sed -n 's/^ *NEEDED *//p'); do
    owner=$(awk -v name="$name" '$2 == name { print $1; exit }' owners)
    case $name,$owner in
        ld-linux*) continue ;;
        libcufft.*,) owner=$(grep '^libcufft-' depends || echo libcufft) ;;
    esac
    libraries=$((libraries + 1))
    grep -qx "${owner:-?}" depends
    verdict $? "it needs $name of the package '$owner', but depends on $(paste -sd' ' depends)"
done
[ "$libraries" -ge 8 ]
verdict $? "it needs $libraries libraries"

# ---- files: in Debian's places, owned by root, complete
for file in bin/lapwing share/man/man1/lapwing.1.gz share/man/man5/lapwing-formats.5.gz share/doc/lapwing/copyright share/doc/lapwing/changelog.gz \
    share/bash-completion/completions/lapwing share/zsh/vendor-completions/_lapwing share/lapwing/jobs/ols.ini \
    share/lapwing/slurm/lapwing.sh; do
    [ -s "$tree/usr/$file" ]
    verdict $? "it lacks /usr/$file"
done
[ "$(ls "$tree")" = usr ] && [ ! -e "$tree/usr/share/man/man1/lapwing.1" ] && [ ! -e "$tree/usr/share/doc/lapwing/LICENSE" ]
verdict $? "it holds files that do not belong there: $(cd "$tree" && find . -type f)"
[ -z "$(dpkg-deb -c "$package" | grep -vE '^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--) root/root ')" ]
verdict $? "owner or mode: $(dpkg-deb -c "$package" | grep -vE '^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--) root/root ')"
dpkg-deb -e "$package" control && (cd "$tree" && md5sum --quiet -c ../control/md5sums) >sums 2>&1
verdict $? "md5sums: $(cat sums)"
"$lapwing" help --man >page
gzip -dc "$tree/usr/share/man/man1/lapwing.1.gz" | cmp -s - page
verdict $? "the man page is not the program's"
grep -q 'Redistribution and use' "$tree/usr/share/doc/lapwing/copyright"
verdict $? "the copyright has no licence"
if command -v lintian >/dev/null; then      # only the builder of the package knows its maintainer
    lintian --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog,custom-library-search-path,embedded-library \
        --fail-on error,warning "$package" >lint 2>/dev/null
    verdict $? "lintian: $(cat lint)"
fi

# ---- a job from the unpacked tree, on two ranks, has the bits of this build
ok 0 synth ols --samples 20000 --channels 2 --output survey.h5
ok 2 ols --input survey.h5:/signal --filters survey.h5:/filters --output expected.h5
lapwing=$tree/usr/bin/lapwing
ok 0 --version
"$build/lapwing" --version | cmp -s - out
verdict $? "the unpacked program prints the version $(head -n 1 out)"
ok 2 ols --input survey.h5:/signal --filters survey.h5:/filters --output result.h5
same_bits expected.h5 result.h5

finish
