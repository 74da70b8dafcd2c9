#!/usr/bin/env bash
# Installs into an empty folder, moves it, and uses what is there: the command finds its data, a program
# compiled with pkg-config runs, and the shared library exports what orrery.h declares and nothing else.
set -euo pipefail
unset ORRERY_DATA # it would be used instead of what is installed
build=${BUILD:?the build folder}
source=${SOURCE:?the source tree}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cmake --install "$build" --prefix "$dir/first" >"$dir/log" 2>&1 || {
    cat "$dir/log"
    exit 1
}
mv "$dir/first" "$dir/moved"
for file in bin/orrery include/orrery.h share/man/man1/orrery.1 share/bash-completion/completions/orrery \
    share/orrery/gpus/h200.conf share/orrery/workloads/saxpy/saxpy.ptx share/orrery/workloads/saxpy/saxpy.cubin \
    share/orrery/workloads/saxpy/saxpy.launch share/orrery/hardware/h200/workloads.csv; do
    [ -e "$dir/moved/$file" ] || {
        echo "not installed: $file"
        exit 1
    }
done
cd "$dir"
moved/bin/orrery run saxpy --size small --json >out.json
moved/bin/orrery list --json >list.json
grep -q "$dir/moved/share/orrery/workloads/saxpy" list.json || {
    echo "the installed command does not use the installed data"
    exit 1
}

library=$(find moved -name 'liborrery.so')
PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
export PKG_CONFIG_PATH
cat >client.c <<'EOF'
#include <orrery.h>
#include <string.h>
int main(void) {
    orr_err e = {0};
    char *json = orr_run("saxpy", &(orr_run_options){.size = "small"}, ORR_JSON, &e);
    if (!json) puts(e.text);
    return !json || strcmp(orr_version(), ORR_VERSION) != 0;
}
EOF
if command -v pkg-config >/dev/null; then
    # shellcheck disable=SC2046
    "${CC:-cc}" -std=c17 -Wall -Wextra -Werror client.c $(pkg-config --cflags --libs orrery) -o client
    ORRERY_DATA=$dir/moved/share/orrery LD_LIBRARY_PATH=$(dirname "$library") ./client
    if command -v c++ >/dev/null; then # the header is C++ too
        echo '#include <orrery.h>
int main() { return orr_version()[0] == 0; }' >client.cc
        # shellcheck disable=SC2046
        c++ -Wall -Wextra -Werror client.cc $(pkg-config --cflags --libs orrery) -o client_cc
        LD_LIBRARY_PATH=$(dirname "$library") ./client_cc
    fi
fi

nm -D --defined-only "$library" | awk '$2 ~ /[TDBRVW]/ { print $3 }' | sort >exported
grep -oE '\borr_[a-z_]+\(' "$source/include/orrery.h" | tr -d '(' | sort -u >declared
# The example at the top of the header calls functions too, but only ones that exist.
if ! diff exported declared; then
    echo "the shared library's symbols (left) are not those of orrery.h (right)"
    exit 1
fi
echo "installed, moved and used"
