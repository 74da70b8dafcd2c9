#!/usr/bin/env bash
# bench/record: what it keeps, and what it says of two files that differ in known ways.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_record: $*" >&2 && exit 1; }
if ! command -v python3 >/dev/null; then echo "no python3: not tested" && exit 0; fi
export ORRERY

"$SOURCE/bench/record" --json "$work/a.json" --models functional,analytic saxpy vecadd 2>/dev/null
grep -q '"size": "small"' "$work/a.json" || fail "does not say its size"
# The median of what the H200 measured, and what the model says, as `orrery run` does.
want=$("$ORRERY" run saxpy --model analytic --gpu h200 --set l2.flush=yes --json -q | grep -o '"cycles": [0-9]*' | head -1 | grep -o '[0-9]*')
python3 - "$work" "$want" <<'P' || fail "does not keep what was run"
import json, sys
work, want = sys.argv[1], int(sys.argv[2])
a = json.load(open(f"{work}/a.json"))
rows = {(r["workload"], r["model"]): r for r in a["rows"]}
assert len(rows) == 4 and rows["saxpy", "functional"]["kernels"] == {}
measured, predicted = rows["saxpy", "analytic"]["kernels"]["saxpy"]
assert predicted == want and 3000 < measured < 6000
# Files that differ in known ways: vecadd takes twice the seconds and is right, saxpy is further off.
b = json.loads(json.dumps(a))
for r in a["rows"]: r["seconds"] = 1.0
for r in b["rows"]:
    r["seconds"] = 2.0 if r["workload"] == "vecadd" else 1.0
    for k, (m, p) in r["kernels"].items(): r["kernels"][k] = [m, m if k == "vecadd" else 2 * m]
json.dump(a, open(f"{work}/a.json", "w"))
json.dump(b, open(f"{work}/b.json", "w"))
P
out=$("$SOURCE/bench/record" --against "$work/a.json" --now "$work/b.json")
grep -Eq '^vecadd +analytic +1.00 +2.00 +2.00 .* 0.0  SLOWER, nearer$' <<<"$out" || fail "vecadd: $out"
grep -Eq '^saxpy +analytic +1.00 +1.00 +1.00 .* 100.0  FURTHER$' <<<"$out" || fail "saxpy: $out"
grep -Eq '^analytic +2 workloads: 1.41 times the seconds' <<<"$out" || fail "no mean: $out"
out=$("$SOURCE/bench/record" --against "$work/a.json" --now "$work/a.json")
grep -Eq 'faster|SLOWER|nearer|FURTHER' <<<"$out" && fail "a file differs from itself: $out"
exit 0
