#!/usr/bin/env bash
# Every bundled workload at small and medium size leaves the buffers that its independent reference expects; small also
# with all statistics, on one host thread and on three, with the same result to the last digit.
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
while read -r name; do
    for threads in 1 3; do
        "$orrery" run "$name" --size small --threads $threads --json >"$dir/$threads" 2>"$dir/err" ||
            complain "$name small: $(head -1 "$dir/err")"
        sed -i '/^  "host":/d' "$dir/$threads"
    done
    cmp -s "$dir/1" "$dir/3" || complain "$name small: the result depends on the number of host threads"
    grep -qE '"buffers_checked": [1-9]' "$dir/1" || complain "$name small: no buffer was checked"
    "$orrery" run "$name" --size medium --counts-only --json >"$dir/medium" 2>"$dir/err" ||
        complain "$name medium: $(head -1 "$dir/err")"
    ran=$((ran + 1))
done <"$dir/names"
[ $ran -ge 30 ] || complain "only $ran workloads"
echo "$ran workloads"
exit $failed
