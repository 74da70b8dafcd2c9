#!/usr/bin/env bash
# A folder never includes one to its right (docs/how/design.md). Each file of src/FOLDER is checked; src/exec itself,
# whose headers its three parts share, includes none of them. And no function or struct is larger than people read
# (check_shape.py), no key of a description that nobody reads (check_keys.py).
set -euo pipefail
cd "$(dirname "$0")/.."
order="base isa ptx sass clc stream capture exec exec/ops exec/sass exec/jit exec/run gpu node lower program memory core accel tasks operators launch hw model input sample report lab sweep explain nvtx app mpi hook opencl api cli"

bad=0
seen=""
for folder in $order; do
    seen="$seen $folder"
    files="src/$folder"
    [ "$folder" != exec ] || files=$(echo src/exec/*.[ch])
    while IFS=: read -r file line text; do
        [ -n "$file" ] || continue
        to=${text#*\"}
        to=${to%/*}
        [[ " $order " == *" $to "* ]] || to=${to%%/*}
        if [[ " $order " == *" $to "* && " $seen " != *" $to "* ]]; then
            echo "$file:$line: src/$folder must not include from src/$to"
            bad=1
        fi
    done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[a-z]+/' $files 2>/dev/null || true)
done
python3 tests/check_shape.py --self-test
python3 tests/check_shape.py || bad=1
python3 tests/check_keys.py --self-test
python3 tests/check_keys.py || bad=1
exit $bad
