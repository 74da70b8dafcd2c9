#!/usr/bin/env bash
# Every bundled workload at small and medium size leaves the buffers that its independent reference expects, from PTX and
# from machine code, which is taken by default; small also with all statistics, on one host thread and on three, with the
# same result to the last digit.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
ran=0
complain() {
    echo "FAILED: $1"
    failed=1
}

"$orrery" list --names >"$dir/names" || complain "list"
sources="ptx sass"
"$orrery" run saxpy --source sass >/dev/null 2>"$dir/err" || ! grep -q 'no libelf' "$dir/err" || sources=ptx
usual=${sources##* }
while read -r name; do
    for source in $sources; do
        for threads in 1 3; do
            export ORRERY_JIT=off
            [ $threads = 1 ] || ORRERY_JIT=on
            "$orrery" run "$name" --source "$source" --size small --threads $threads --json >"$dir/$threads" 2>"$dir/err" ||
                complain "$name small, $source: $(head -1 "$dir/err")"
            sed -i '/^  "host":/d' "$dir/$threads"
        done
        unset ORRERY_JIT
        cmp -s "$dir/1" "$dir/3" ||
            complain "$name small, $source: the result depends on the number of host threads, or on ORRERY_JIT"
        grep -qE '"buffers_checked": [1-9]' "$dir/1" || complain "$name small, $source: no buffer was checked"
        grep -q "\"source\": \"$source\"" "$dir/1" || complain "$name small: not from $source"
        "$orrery" run "$name" --source "$source" --size medium --counts-only --json >"$dir/medium" 2>"$dir/err" ||
            complain "$name medium, $source: $(head -1 "$dir/err")"
    done
    "$orrery" run "$name" --size small --counts-only --json 2>"$dir/err" >"$dir/usual" ||
        complain "$name: $(head -1 "$dir/err")"
    grep -q "\"source\": \"$usual\"" "$dir/usual" || complain "$name: not from $usual, which is usual"
    ran=$((ran + 1))
done <"$dir/names"
[ $ran -ge 30 ] || complain "only $ran workloads"
echo "$ran workloads"
exit $failed
