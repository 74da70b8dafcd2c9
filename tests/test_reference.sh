#!/usr/bin/env bash
# The bundled workloads are complete and in order: each folder is in list.def and has all its files, the PTX names no
# path of the machine it was made on, each size is there, and the expectations are what the references make today.
set -uo pipefail
: "${ORRERY:?the orrery command}"
workloads=$(cd "$(dirname "$0")/../workloads" && pwd)
bad=0
complain() {
    echo "$1"
    bad=1
}

names=$(sed -n 's/^W(\([a-z0-9_]*\))$/\1/p' "$workloads/list.def")
count=0
for n in $names; do
    count=$((count + 1))
    for f in "$n.cu" "$n.ptx" "$n.launch" "$n.expect" ref.c; do
        [ -s "$workloads/$n/$f" ] || complain "$n: no $f"
    done
    grep -q '^// SPDX-License-Identifier: Apache-2.0$' "$workloads/$n/$n.cu" || complain "$n: no licence line"
    grep -q "^| $n |" "$workloads/README.md" || complain "$n: not in README.md"
    if grep -nE '^[[:space:]]*\.file.*"/' "$workloads/$n/$n.ptx"; then complain "$n: a path of some machine in the PTX"; fi
    for size in small medium large; do
        grep -q "^size $size " "$workloads/$n/$n.launch" || complain "$n: no size $size"
        grep -q " size $size " "$workloads/$n/$n.expect" || complain "$n: nothing expected of size $size"
    done
done
for d in "$workloads"/*/; do
    n=$(basename "$d")
    grep -q "^W($n)$" "$workloads/list.def" || complain "$n: a folder that list.def does not name"
done
[ "$count" -ge 45 ] || complain "only $count workloads"

"$(dirname "$ORRERY")/reference" --check --size small --root "$workloads" --all >/dev/null || complain "references differ"
exit $bad
