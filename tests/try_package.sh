#!/usr/bin/env bash
# Tries a Debian package as it was unpacked: try_package.sh FILE.deb SYMBOLS.deb. The tests of the command and of its examples run with
# what is in it, and so do the library, the Python package and the man page. As root, where a private root can be made of
# the machine's own (unshare and overlayfs), the package is installed there with dpkg, used from /usr and removed again.
set -euo pipefail
deb=$(readlink -f "${1:?the package}")
symbols=$(readlink -f "${2:?the package of its debug symbols}")
source=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset ORRERY_DATA
die() {
    echo "package: $*" >&2
    exit 1
}

# What it says of itself.
version=$(sed -n 's/^#define ORR_VERSION "\(.*\)"/\1/p' "$source/include/orrery.h")
[ "$(dpkg-deb -f "$deb" Package)" = orrery ] || die "is not called orrery"
[ "$(dpkg-deb -f "$deb" Version)" = "$version" ] || die "has version $(dpkg-deb -f "$deb" Version), not $version"
[ "$(dpkg-deb -f "$deb" Architecture)" = "$(dpkg --print-architecture)" ] || die "is for another architecture"
[[ "$(dpkg-deb -f "$deb" Depends)" == *libc6* ]] || die "does not say which libraries it needs"

# What is in it, unpacked into an empty folder.
dpkg-deb -x "$deb" "$dir/root"
root=$dir/root/usr
for file in bin/orrery include/orrery.h share/man/man1/orrery.1 share/bash-completion/completions/orrery \
    share/orrery/gpus/h200.conf share/orrery/workloads/saxpy/saxpy.launch lib/python3/dist-packages/orrery/__init__.py; do
    [ -e "$root/$file" ] || die "does not have $file"
done
kib=$(du -sk "$root" | cut -f 1) # the package says more: CPack counts links as what they point to
[ "$kib" -lt 65536 ] || die "takes $kib KiB when installed: are there debug symbols in it?"
find "$root" -type f \( -perm -100 -o -name '*.so*' -o -name '*.a' \) | while read -r file; do
    ! readelf -S "$file" 2>/dev/null | grep -q '[.]debug_info' || die "has debug symbols in $file"
done
cmp -s "$source/workloads/saxpy/saxpy.cubin" "$root/share/orrery/workloads/saxpy/saxpy.cubin" || die "has changed machine code"
dpkg-deb -x "$symbols" "$dir/symbols"
id=$(LC_ALL=C readelf -n "$root/bin/orrery" | sed -n 's/.*Build ID: //p')
[ -n "$id" ] && readelf -S "$dir/symbols/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" 2>/dev/null | grep -q '[.]debug_info' ||
    die "has no debug symbols for the command"
! grep -rlI "$source" "$root" || die "names the folder it was built in"
[ "$("$root/bin/orrery" --version)" = "orrery $version" ] || die "is another version"
"$root/bin/orrery" list --json >"$dir/list.json"
grep -q "$root/share/orrery/workloads/saxpy" "$dir/list.json" || die "does not use its own data"
ORRERY=$root/bin/orrery SOURCE=$source bash "$source/tests/test_cli.sh"
ORRERY=$root/bin/orrery SOURCE=$source bash "$source/tests/test_examples.sh"
PYTHONPATH=$root/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 python3 -c '
import orrery, sys
assert orrery._c.library()._name.startswith(sys.argv[1]), orrery._c.library()._name
assert orrery.run("saxpy", model="analytic").cycles > 0' "$root" || die "its Python package does not work"

# Installed, where that harms nobody: in a root of its own, whose changes are in memory and gone afterwards.
try_installed() {
    mount -t tmpfs tmpfs "$dir/changes" && mkdir "$dir/changes/upper" "$dir/changes/work" || return 77
    mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/changes/upper,workdir=$dir/changes/work" "$dir/merged" || return 77
    mount --bind /proc "$dir/merged/proc" && mount --bind /dev "$dir/merged/dev" || return 77
    cp "$deb" "$dir/merged/root/orrery.deb"
    chroot "$dir/merged" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -e -c '
        dpkg --force-depends -i /root/orrery.deb >/dev/null
        cd /tmp
        [ "$(command -v orrery)" = /usr/bin/orrery ]
        orrery run saxpy --model cycle >/dev/null
        ! command -v python3 >/dev/null || python3 -c "import orrery; assert orrery.run(\"saxpy\", model=\"analytic\").cycles > 0"
        ! command -v man >/dev/null || man -l /usr/share/man/man1/orrery.1 >/dev/null
        dpkg -r orrery >/dev/null 2>&1
        [ ! -e /usr/bin/orrery ] && [ ! -e /usr/share/orrery ]'
}
mkdir "$dir/changes" "$dir/merged"
export -f try_installed
export dir deb
status=77
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    status=0
    unshare -m bash -c try_installed || status=$?
fi
case $status in
0) echo "package: installed with dpkg, used and removed in a root of its own" ;;
77) echo "package: not installed with dpkg: no root of its own can be made here" ;;
*) die "cannot be installed, used and removed" ;;
esac
echo "package: unpacked and tried"
