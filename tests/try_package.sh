#!/usr/bin/env bash
# Tries a Debian package as it was unpacked: try_package.sh FILE.deb. The tests of the command and of its examples run with
# what is in it, and so do the library, the Python package and the man page. As root, where a private root can be made of
# the machine's own (unshare and overlayfs), the package is installed there with dpkg, used from /usr and removed again.
set -euo pipefail
deb=$(readlink -f "${1:?the package}")
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
dpkg-deb -f "$deb" Depends | grep -q libc6 || die "does not say which libraries it needs"

# What is in it, unpacked into an empty folder.
dpkg-deb -x "$deb" "$dir/root"
root=$dir/root/usr
for file in bin/orrery include/orrery.h share/man/man1/orrery.1 share/bash-completion/completions/orrery \
    share/orrery/gpus/h200.conf share/orrery/workloads/saxpy/saxpy.launch lib/python3/dist-packages/orrery/__init__.py; do
    [ -e "$root/$file" ] || die "does not have $file"
done
! grep -rlI "$source" "$root" | head -3 | grep . || die "names the folder it was built in"
[ "$("$root/bin/orrery" --version)" = "orrery $version" ] || die "is another version"
"$root/bin/orrery" list --json | grep -q "$root/share/orrery/workloads/saxpy" || die "does not use its own data"
ORRERY=$root/bin/orrery SOURCE=$source bash "$source/tests/test_cli.sh"
ORRERY=$root/bin/orrery SOURCE=$source bash "$source/tests/test_examples.sh"
PYTHONPATH=$root/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 python3 -c '
import orrery, sys
assert orrery._c.library()._name.startswith(sys.argv[1]), orrery._c.library()._name
assert orrery.run("saxpy", model="analytic").cycles > 0' "$root" || die "its Python package does not work"

# Installed, where that harms nobody.
inside() {
    mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$dir/merged"
    mount --bind /proc "$dir/merged/proc"
    mount --bind /dev "$dir/merged/dev"
    cp "$deb" "$dir/merged/root/orrery.deb"
    chroot "$dir/merged" sh -e -c '
        dpkg --force-depends -i /root/orrery.deb >/dev/null
        cd /tmp
        [ "$(command -v orrery)" = /usr/bin/orrery ]
        orrery run saxpy --model cycle >/dev/null
        orrery app true 2>/dev/null || true
        PYTHONPATH= python3 -c "import orrery; assert orrery.run(\"saxpy\", model=\"analytic\").cycles > 0"
        ! command -v man >/dev/null || [ ! -e /usr/share/man/man1/orrery.1 ] || man -l /usr/share/man/man1/orrery.1 >/dev/null 2>&1
        dpkg -r orrery >/dev/null 2>&1
        [ ! -e /usr/bin/orrery ] && [ ! -e /usr/share/orrery ]'
}
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir "$dir/upper" "$dir/work" "$dir/merged" "$dir/tmpfs"
    export -f inside die
    export dir deb
    if unshare -m bash -c 'mount -t tmpfs tmpfs "$dir/tmpfs" && mkdir "$dir/tmpfs/upper" "$dir/tmpfs/work" &&
        mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/tmpfs/upper,workdir=$dir/tmpfs/work" "$dir/merged"' 2>/dev/null; then
        unshare -m bash -e -c 'mount -t tmpfs tmpfs "$dir/tmpfs"; mkdir "$dir/tmpfs/upper" "$dir/tmpfs/work"
            rmdir "$dir/upper" "$dir/work"; ln -s "$dir/tmpfs/upper" "$dir/upper"; ln -s "$dir/tmpfs/work" "$dir/work"; inside' ||
            die "cannot be installed, used and removed"
        echo "package: installed with dpkg, used and removed in a root of its own"
    else
        echo "package: not installed with dpkg: no root of its own can be made here"
    fi
fi
echo "package: unpacked and tried"
