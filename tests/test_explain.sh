#!/usr/bin/env bash
# `orrery explain` and `orrery diff`: on bundled pairs the advice for the first is what the second does, and the predicted
# gain is near the real one, as the cycle model has both; the same digits on one thread and on two; what a difference adds up to; exit statuses.
set -u
: "${ORRERY:?the orrery command}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work" || exit 1
fail() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}
if ! command -v python3 >/dev/null; then
    echo "python3 is not there: skipped"
    exit 77
fi

# ---- pairs ----------------------------------------------------------------------------------------
shape="--set width=256 --set height=192 --no-check -q"
# shellcheck disable=SC2086
"$ORRERY" explain transpose_naive $shape --threads 2 --json > naive.json || fail "explain transpose_naive"
# shellcheck disable=SC2086
"$ORRERY" run transpose_tiled $shape --gpu h200 --model cycle --json > tiled.json || fail "run transpose_tiled"
"$ORRERY" explain "$SOURCE/tests/explain/histogram_global.launch" -q --json > global.json || fail "explain histogram_global"
"$ORRERY" run histogram --gpu h200 --model cycle -q --json > private.json || fail "run histogram"
"$ORRERY" explain sgemm_naive --set n=64 --no-check -q --json > untiled.json || fail "explain sgemm_naive"
"$ORRERY" run sgemm_tiled --set n=64 --no-check -q --gpu h200 --model cycle --json > tiles.json || fail "run sgemm_tiled"
# An H200 of eight SMs, so that a product of 192 x 192 has blocks enough for tiles of 64 x 64.
few="--set n=192 --set sm.count=8 --set tpc.count=4 --set gpc.count=1 --no-check -q"
# shellcheck disable=SC2086
"$ORRERY" explain sgemm_tiled $few --json > oneeach.json || fail "explain sgemm_tiled"
# shellcheck disable=SC2086
"$ORRERY" run sgemm_regblock $few --gpu h200 --model cycle --json > sixteen.json || fail "run sgemm_regblock"
# The same GPU starts blocks the slower, so that small blocks of a small grid wait for their start as those of a large grid do.
starts="--set n=50 --set sm.count=8 --set tpc.count=4 --set gpc.count=1 --set launch.block_interval=19.6 --no-check -q"
# shellcheck disable=SC2086
"$ORRERY" explain stencil3d_naive $starts --json > onecell.json || fail "explain stencil3d_naive"
# shellcheck disable=SC2086
"$ORRERY" run "$SOURCE/tests/explain/stencil3d_tile.launch" $starts --gpu h200 --model cycle --json > fourcells.json || fail "run stencil3d_tile"
"$ORRERY" run "$SOURCE/tests/explain/stencil3d_tile.launch" -q > /dev/null || fail "the tiled stencil is not the stencil"
"$ORRERY" explain sgemm_tiled --set n=64 --no-check -q --json > small.json || fail "explain a small product"
"$ORRERY" explain reduce --no-check -q --threads 1 --json > reduce.json || fail "explain reduce"
"$ORRERY" explain reduce --no-check -q --threads 2 --json > reduce2.json || fail "explain reduce on two threads"
"$ORRERY" explain reduce --no-check -q > reduce.txt || fail "explain reduce, as text"
python3 - <<'E' || fail "what explain says"
import json
naive, tiled = json.load(open("naive.json")), json.load(open("tiled.json"))
first = naive["advice"][0]
ideal = naive["ideals"][first["ideal"]]
assert ideal["name"] == "coalesced" and ideal["access"] == "stores" and ideal["line"] == 6, first
assert ideal["before"] > 30 and ideal["after"] < 4.5, ideal  # 32 lanes, a sector each; 128 bytes are four
assert "sectors a request where" in first["text"] and "shared memory" in first["do"], first
real = tiled["totals"]["time_ns"]
assert abs(ideal["time_ns"] - real) < 0.2 * real, (ideal["time_ns"], real)
# Counting in global memory: the advice is private copies, and the bundled histogram has them.
slow, private = json.load(open("global.json")), json.load(open("private.json"))
first = slow["advice"][0]
ideal = slow["ideals"][first["ideal"]]
assert ideal["name"] == "once" and ideal["access"] == "atomics" and "private copies" in first["do"], first
real = private["totals"]["time_ns"]
assert abs(ideal["time_ns"] - real) < 0.2 * real and slow["time_ns"] > 2 * real, (slow["time_ns"], ideal["time_ns"], real)
# A product straight from global memory: the advice is a tile in shared memory, worth what it gives.
slow, tiles = json.load(open("untiled.json")), json.load(open("tiles.json"))
first = slow["advice"][0]
ideal = slow["ideals"][first["ideal"]]
assert ideal["name"] == "reused" and ideal["line"] == 10 and "shared memory" in first["do"], first
gain = 100 * (1 - tiles["totals"]["time_ns"] / slow["time_ns"])
assert gain > 20 and abs(ideal["saves_percent"] - gain) < 0.2 * gain, (ideal["saves_percent"], gain)
# A product of tiles with a result a thread: the advice is 4 x 4 of them in registers, worth what they give; not where that
# leaves most SMs without a block.
slow, blocked = json.load(open("oneeach.json")), json.load(open("sixteen.json"))
first = slow["advice"][0]
ideal = slow["ideals"][first["ideal"]]
assert ideal["name"] == "quarter" and ideal["line"] == 18 and "in registers" in first["do"], first
gain = 100 * (1 - blocked["totals"]["time_ns"] / slow["time_ns"])
assert gain > 20 and abs(ideal["saves_percent"] - gain) < 0.2 * gain, (ideal["saves_percent"], gain)
# A stencil of a cell a thread: blocks end as fast as others start; the advice is more work a block, worth what four cells a
# thread give.
slow, four = json.load(open("onecell.json")), json.load(open("fourcells.json"))
first = slow["advice"][0]
ideal = slow["ideals"][first["ideal"]]
assert ideal["name"] == "block_start" and "more to do" in first["do"], first
gain = 100 * (1 - four["totals"]["time_ns"] / slow["time_ns"])
assert gain > 20 and abs(ideal["saves_percent"] - gain) < 0.2 * gain, (ideal["saves_percent"], gain)
assert "start of thread blocks" in slow["kernels"][0]["verdict"], slow["kernels"][0]
assert "quarter" not in [i["name"] for i in json.load(open("small.json"))["ideals"]]
one, two = json.load(open("reduce.json")), json.load(open("reduce2.json"))
one.pop("host"), two.pop("host")
assert one == two
for x in (naive, one):
    for i in x["ideals"]:
        assert "message" in i or abs(100 * (1 - i["time_ns"] / x["time_ns"]) - i["saves_percent"]) < 1e-6, i
    for k in x["kernels"]:  # lines share what the kernel took after it was launched
        assert sum(l["cycles"] for l in k["lines"]) <= k["cycles"] * 1.000001
assert "launch" in [i["name"] for i in one["ideals"]]  # two launches where one would do
E
grep -q "what to do" reduce.txt || fail "advice as text"

# ---- differences ------------------------------------------------------------------------------------
"$ORRERY" run saxpy --model cycle --lines --json -q -o kept.json || fail "a kept report"
"$ORRERY" diff kept.json saxpy --second set=sm.count=2 --json --html page.html -q > diff.json || fail "diff"
python3 - <<'E' || fail "what diff says"
import json
d = json.load(open("diff.json"))
assert d["percent"] > 0
for side in "ab":  # causes add up to the time
    assert abs(sum(c[side + "_ns"] for c in d["causes"]) - d[side]["time_ns"]) < 1e-6 * d[side]["time_ns"]
assert any(l["a"] and l["b"] and l["a"]["line"] == l["b"]["line"] for l in d["lines"])
E
grep -q "saxpy" page.html || fail "a page of both"
"$ORRERY" diff kept.json saxpy --second set=sm.count=2 --fail-if "slower 5%" -q >/dev/null 2>said
[ $? -eq 4 ] || fail "status 4 of --fail-if"
grep -q "takes .* longer" said || fail "why --fail-if failed"
"$ORRERY" diff kept.json saxpy --fail-if "slower 5%" -q >/dev/null || fail "nothing is slower"
"$ORRERY" diff saxpy saxpy --fail-if "faster" -q >/dev/null 2>said
[ $? -eq 2 ] || fail "--fail-if that cannot be"
"$ORRERY" diff saxpy -q >/dev/null 2>&1
[ $? -eq 2 ] || fail "diff of one"
echo '{"launches": 3' > broken.json
"$ORRERY" diff broken.json saxpy -q >/dev/null 2>&1
[ $? -eq 2 ] || fail "a report that is none"
"$ORRERY" explain saxpy --set l2.latency=abc -q >/dev/null 2>&1
[ $? -eq 2 ] || fail "a value that is none"
exit $((failures > 0))
