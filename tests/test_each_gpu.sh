#!/usr/bin/env bash
# Every GPU that is described runs workloads that stream, that meet in shared memory and that follow pointers: buffers are
# what they should be, and no launch takes less time than its instructions need to issue or its sectors to come from
# memory, nor a hundred times both. All models say so of saxpy.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/bounds.py" <<'P'
import json
import sys

gpu, *runs = [json.load(open(f)) for f in sys.argv[1:]]
keys = {k: v["value"] for group in gpu.values() if isinstance(group, dict) for k, v in group.items() if "value" in v}
issue = keys["sm.count"] * keys["core.subcores"] * max(1, keys["core.schedulers"]) * keys["core.issue"]
per_ns = issue / keys["core.issue_interval"] * keys["clock.sm"] / 1e3


def least(launch):
    """Nanoseconds that a launch takes at least: to issue, to read memory."""
    sectors = launch["counters"]["dram__sectors_read.sum"]
    return launch["warp_insts"] / per_ns, 32 * sectors / keys["dram.bandwidth"]


def check(who, ns, bounds):
    if not max(bounds) <= ns <= 100 * sum(bounds) + 1e5:
        sys.exit(f"{who}: {ns} ns, where issuing takes {bounds[0]:.0f} ns and memory {bounds[1]:.0f} ns")


for run in runs:
    if "launches" in run:
        if not run["buffers_checked"]:
            sys.exit(f"{run['input']}: no buffer was checked")
        bounds = [least(launch) for launch in run["launches"]]
        for launch, least_ns in zip(run["launches"], bounds):
            check(f"{run['input']}, launch {launch['index']}", launch["time_ns"], least_ns)
        instructions = bounds[0][0]
    else:  # of all models, behind the run of the same workload
        models = run["inputs"][0]["kernels"][0]["models"]
        if len(models) < 4:
            sys.exit(f"only {len(models)} models")
        for m in models:
            check(m["model"], m["time_ns"], (instructions, 0))
P
failed=0
complain() {
    echo "FAILED: $1"
    failed=1
}
n=0
for gpu in $("$orrery" gpu list --names); do
    "$orrery" gpu show "$gpu" --json >"$dir/gpu" || complain "$gpu: not shown"
    good=1
    for name in reduce bfs saxpy; do
        "$orrery" run $name --size small --gpu "$gpu" --model cycle --flush --quiet --json >"$dir/$name" 2>"$dir/err" || {
            complain "$gpu, $name: $(head -1 "$dir/err")"
            good=0
        }
    done
    "$orrery" compare saxpy --size small --gpu "$gpu" --quiet --json >"$dir/models" 2>"$dir/err" || {
        complain "$gpu, all models: $(head -1 "$dir/err")"
        good=0
    }
    [ $good = 0 ] || why=$(python3 "$dir/bounds.py" "$dir/gpu" "$dir/reduce" "$dir/bfs" "$dir/saxpy" "$dir/models" 2>&1) ||
        complain "$gpu: $why"
    n=$((n + 1))
done
[ $n -ge 27 ] || complain "only $n GPUs"
exit $failed
