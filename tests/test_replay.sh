#!/usr/bin/env bash
# Every bundled workload, small: the result is the same with one host thread and with four, so is the
# recorded file, and replaying it gives every counter of the direct run.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

wrong() {
    echo "FAILED: $*"
    failed=1
}

# Without what depends on the host and what a file does not know.
counts() { sed -E '/^  "(host|input|gpu)"/d' "$1"; }

for name in $("$orrery" list --names); do
    for threads in 1 4; do
        "$orrery" run "$name" --size small --json --lines --threads $threads >"$dir/run$threads" ||
            wrong "$name does not run with $threads threads"
        "$orrery" record "$name" --size small --threads $threads -o "$dir/$threads.orr" ||
            wrong "$name cannot be recorded with $threads threads"
    done
    cmp -s <(sed '/^  "host"/d' "$dir/run1") <(sed '/^  "host"/d' "$dir/run4") ||
        wrong "$name: the result depends on the number of host threads"
    cmp -s "$dir/1.orr" "$dir/4.orr" || wrong "$name: the recorded file depends on the number of host threads"
    "$orrery" info "$dir/1.orr" >/dev/null || wrong "$name: info refuses its recording"
    "$orrery" run "$dir/1.orr" --json --lines >"$dir/replay" || wrong "$name cannot be replayed"
    diff <(counts "$dir/run1") <(counts "$dir/replay") >"$dir/diff" || {
        wrong "$name: its recording counts otherwise"
        head -5 "$dir/diff"
    }
done
# Divisions that take the long way (docs/how/lowering.md): their streams have it, and who counts PTX does not.
quotients="$(dirname "$0")/data/ptx/quotients.ptx --kernel quotients --grid 4 --block 64 --arg buf:f32:64:zero"
"$orrery" record $quotients -o "$dir/q.orr" -q || wrong "quotients cannot be recorded"
for model in functional cycle abstract; do
    "$orrery" run $quotients --model $model --gpu h200 --json --lines -q >"$dir/run" || wrong "quotients: $model"
    "$orrery" run "$dir/q.orr" --model $model --gpu h200 --json --lines -q >"$dir/replay" || wrong "replayed: $model"
    plain='/^  "(host|input)"/d; s/"source": "[a-z]*"//; s/, "events": "one order"//; /buffer_bytes/d'
    diff <(sed -E "$plain" "$dir/run") <(sed -E "$plain" "$dir/replay") >"$dir/diff" || {
        wrong "quotients by $model: the recording says otherwise"
        head -5 "$dir/diff"
    }
done
[ $failed -eq 0 ] && echo "all the same"
exit $failed
