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
if command -v pkg-config >/dev/null; then
    # Everything that the header declares, by a program that sees nothing else; a driver of our own is the GPU.
    "${CC:-cc}" -std=gnu17 -O1 -shared -fPIC -o fake.so "$source/tests/fake_cuda.c"
    "${CC:-cc}" -O1 "$source/tests/app/program.c" -o program -L"$(dirname "$library")/orrery/cuda" -l:libcudart.so.13
    mkdir work
    sed '/^%%$/,$d' "$source/tests/corpus/import/volta.config" >work/gpgpusim.config
    sed '1,/^%%$/d' "$source/tests/corpus/import/volta.config" >work/trace.config
    cp "$source/workloads/vecadd/vecadd.ptx" work/
    printf '%s\n' 'module "vecadd.ptx"' 'size small n = 1000' 'buffer a f32[n] iota' 'buffer b f32[n] value 2' \
        'buffer c f32[n] value 77' 'launch vecadd grid ceildiv(n, 256) block 256 args n, a, b, c' \
        'expect c expr i + 2' >work/add.launch
    # shellcheck disable=SC2046
    "${CC:-cc}" -std=gnu17 -Wall -Wextra -Werror "$source/tests/library/everything.c" \
        $(pkg-config --cflags --libs orrery) -lm -o everything
    ORRERY_DATA=$dir/moved/share/orrery LD_LIBRARY_PATH=$(dirname "$library") ORRERY_LIBCUDA=$dir/fake.so \
        ./everything "$source" work ./program "$source/tests/app/kernels.fatbin" >everything.txt 2>&1 || {
        cat everything.txt
        exit 1
    }
    # The examples of the page are programs.
    # shellcheck disable=SC2016
    sed -n '/^```c$/,/^```$/p' "$source/docs/guides/library.md" | sed '1d;$d' >example.c
    # shellcheck disable=SC2046
    "${CC:-cc}" -std=gnu17 -Wall -Wextra -Werror example.c $(pkg-config --cflags --libs orrery) -o example
    ORRERY_DATA=$dir/moved/share/orrery LD_LIBRARY_PATH=$(dirname "$library") ./example >example.txt
    grep -qE '^saxpy: [0-9]+ cycles$' example.txt || {
        echo "the example of docs/guides/library.md says: $(cat example.txt)"
        exit 1
    }
    if command -v python3 >/dev/null; then
        # shellcheck disable=SC2016
        sed -n '/^```python$/,/^```$/p' "$source/docs/guides/library.md" | sed '1d;$d' >example.py
        ORRERY_DATA=$dir/moved/share/orrery LD_LIBRARY_PATH=$(dirname "$library") python3 example.py >example.txt
        grep -q "'cycles': [1-9]" example.txt || {
            echo "the Python of docs/guides/library.md says: $(cat example.txt)"
            exit 1
        }
        # The package finds the library and the data of the tree that it is in.
        PYTHONPATH=$dir/moved/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 env -u ORRERY_DATA -u ORRERY_LIBRARY python3 -c \
            'import orrery; print(orrery._c.library()._name); print(orrery.run("saxpy", model="analytic").cycles)' >example.txt
        grep -q "^$dir/moved/" example.txt && grep -qE '^[0-9]+' example.txt || {
            echo "the Python package that was installed says: $(cat example.txt)"
            exit 1
        }
    fi
    # Each function is used by it: what the program needs of the library is what the header declares.
    nm -D --undefined-only everything | awk '$2 ~ /^orr_/ { print $2 }' | sort >used
    grep -oE '\borr_[a-z0-9_]+\(' "$source/include/orrery.h" | tr -d '(' | sort -u >declared
    if ! diff used declared; then
        echo "tests/library/everything.c does not use what orrery.h declares (right)"
        exit 1
    fi
    if command -v c++ >/dev/null; then # the header is C++ too
        echo '#include <orrery.h>
int main() { return orr_version()[0] == 0; }' >client.cc
        # shellcheck disable=SC2046
        c++ -Wall -Wextra -Werror client.cc $(pkg-config --cflags --libs orrery) -o client_cc
        LD_LIBRARY_PATH=$(dirname "$library") ./client_cc
    fi
fi

nm -D --defined-only "$library" | awk '$2 ~ /[TDBRVW]/ { print $3 }' | sort >exported
grep -oE '\borr_[a-z0-9_]+\(' "$source/include/orrery.h" | tr -d '(' | sort -u >declared
# The example at the top of the header calls functions too, but only ones that exist.
if ! diff exported declared; then
    echo "the shared library's symbols (left) are not those of orrery.h (right)"
    exit 1
fi
echo "installed, moved and used"
