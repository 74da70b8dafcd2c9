#!/usr/bin/env bash
# The bundled workloads, those for Hopper alone (hopper/) too, are complete and in order: each folder is in list.def and has all its files, the PTX names no
# path of the machine it was made on, each size is there, and the expectations are what the references make today.
set -uo pipefail
: "${ORRERY:?the orrery command}"
workloads=$(cd "$(dirname "$0")/../workloads" && pwd)
bad=0
complain() {
    echo "$1"
    bad=1
}

count=0
check() { # NAME: the folder, within workloads/
    local n=${1##*/} at=$workloads/$1
    count=$((count + 1))
    for f in "$n.cu" "$n.ptx" "$n.cubin" "$n.launch" "$n.expect" ref.c; do
        [ -s "$at/$f" ] || complain "$1: no $f"
    done
    grep -q '^// SPDX-License-Identifier: Apache-2.0$' "$at/$n.cu" || complain "$1: no licence line"
    grep -q "^| $1 |" "$workloads/README.md" || complain "$1: not in README.md"
    if grep -nE '^[[:space:]]*\.file.*"/' "$at/$n.ptx"; then complain "$1: a path of some machine in the PTX"; fi
    for size in small medium large; do
        grep -q "^size $size " "$at/$n.launch" || complain "$1: no size $size"
        grep -q " size $size " "$at/$n.expect" || complain "$1: nothing expected of size $size"
    done
}
for set in "" hopper/; do
    for n in $(sed -n 's/^W(\([a-z0-9_]*\))$/\1/p' "$workloads/${set}list.def"); do check "$set$n"; done
    for d in "$workloads/$set"*/; do
        n=$(basename "$d")
        [ "$set$n" = hopper ] && continue
        grep -q "^W($n)$" "$workloads/${set}list.def" || complain "$set$n: a folder that list.def does not name"
    done
done
[ "$count" -ge 60 ] || complain "only $count workloads"

"$(dirname "$ORRERY")/reference" --check --size small --root "$workloads" --all >/dev/null || complain "references differ"
exit $bad
