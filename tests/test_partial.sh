#!/usr/bin/env bash
# The partial model from the command line: what it says when blocks are not executed, task lists, their mistakes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_partial: $*" >&2 && exit 1; }
run() { "$ORRERY" run "$@" --model partial --threads 1 -q; }

# A grid of 900 blocks on 15 SMs of which each holds 16 and more: some are not executed, and nothing is compared.
out=$(run "$SOURCE/ppt/stencil.launch" --size n64 --gpu k40)
grep -q '^not checked: the partial model executes [0-9]* of 3,844 blocks' <<<"$out" || fail "does not say what was not executed"
grep -q 'as expected' <<<"$out" && fail "compares buffers that were not written"
# --check executes all of them.
out=$(run "$SOURCE/ppt/stencil.launch" --size n64 --gpu k40 --check)
grep -q '1 buffer as expected' <<<"$out" || fail "--check compares nothing"
grep -q 'not checked' <<<"$out" && fail "--check says not checked"
# The time is the same: what is simulated does not depend on what else is executed.
cycles() { sed -n 's/.*"cycles": \([0-9]*\).*/\1/p' | sed -n 1p; }
a=$(run "$SOURCE/ppt/stencil.launch" --size n64 --gpu k40 --json | cycles)
b=$(run "$SOURCE/ppt/stencil.launch" --size n64 --gpu k40 --json --check | cycles)
c=$("$ORRERY" run "$SOURCE/ppt/stencil.launch" --size n64 --gpu k40 --json --model partial --threads 2 -q | cycles)
[ "$a" = "$b" ] && [ "$a" = "$c" ] || fail "cycles differ: $a, with --check $b, with two threads $c"

# A grid four times as large: as many blocks are executed.
executed() { sed -n 's/.*"blocks_executed": \([0-9]*\).*/\1/p'; }
a=$(run saxpy --size medium --gpu k40 --json --set n=4096000 | executed)
b=$(run saxpy --size medium --gpu k40 --json --set n=1024000 | executed)
[ "$a" = "$b" ] && [ "$a" -lt 100 ] || fail "$a and $b blocks executed"
# Where SMs have sub-cores: seven waves of 80 SMs with eight blocks each, those that fill L2 (6 MB, 2 to 3 KB a block) three times,
# and some spread over the grid. Cycles grow as the grid does.
run saxpy --size medium --gpu v100 --json --set n=6144000 >"$work/once.json"
run saxpy --size medium --gpu v100 --json --set n=12288000 >"$work/twice.json"
a=$(executed <"$work/once.json")
b=$(executed <"$work/twice.json")
[ $((a > b ? a - b : b - a)) -le 100 ] && [ "$a" -lt 16000 ] || fail "v100: $a and $b blocks executed"
a=$(cycles <"$work/once.json")
b=$(cycles <"$work/twice.json")
[ "$b" -gt $((a * 19 / 10)) ] && [ "$b" -lt $((a * 21 / 10)) ] || fail "twice the work: $a and $b cycles"
# Every block, or those that are needed: the same time.
b=$("$ORRERY" run saxpy --size medium --gpu v100 --json --model partial --set n=6144000 --check -q --threads 2 | cycles)
[ "$a" = "$b" ] || fail "v100: $a cycles, with --check $b"

# A loop that what kernels write ends: everything is executed, and compared.
grep -q 'as expected' <<<"$(run bfs --size small --gpu h200)" || fail "bfs is not compared"

# Task lists: the application's time is that of its parts. 12,000,000,000 bytes at 12 GB/s are a second (k40: 16 GB/s).
cat >"$work/a.tasks" <<'T'
kernel k threads 32
    sp
end
copy to 16000000000
repeat 100
    launch k grid 1
end
T
json=$(run "$work/a.tasks" --gpu k40 --json)
grep -q '"copy_ns": 1000000000[,.}]' <<<"$json" || fail "a copy does not take a second"
grep -q '"gap_ns": 500000[,.}]' <<<"$json" || fail "100 launches are not 5 us apart"
grep -q '"launches": 100' <<<"$json" || fail "100 launches are not counted"
"$ORRERY" run "$work/a.tasks" --gpu k40 --model cycle --threads 1 -q >/dev/null || fail "the cycle model does not take it"

# Memory by windows (dram.window): a warp alone makes 8 loads. With room for 8 that all take 400 cycles they end together, the last issued
# a few cycles after the first (answers are let through at once: xbar.reply); with room for 4 the other 4 begin when the first is answered, 400 cycles later; with room for
# 8 that take 400 to 1200 the last takes 400 + 7 / 8 x 800, so 700 more.
printf 'kernel k threads 32\n 0: load global 4 x 8\n 1: sp after 0\nend\nlaunch k grid 1\n' >"$work/window.tasks"
window() { run "$work/window.tasks" --gpu k40 --json --set dram.latency=400 --set dram.window="$1" --set dram.window_free="$2" --set dram.window_latency="$3" --set xbar.reply=4096 | cycles; }
a=$(window 8 8 400)
b=$(($(window 4 4 400) - a))
c=$(($(window 8 0 1200) - a))
[ "$b" -ge 370 ] && [ "$b" -le 400 ] || fail "half a window: $b cycles more"
[ "$c" -ge 698 ] && [ "$c" -le 702 ] || fail "a window that fills: $c cycles more"

# Long blocks: one workload is simulated, of other blocks than two would be.
printf 'kernel k threads 128\n loop 40000\n 0: load global 4\n 1: sp x 4 after 0\n end\nend\nlaunch k grid 4096\n' >"$work/long.tasks"
run "$work/long.tasks" --gpu k6000 --set dram.latency=400 >/dev/null || fail "a task list of long blocks fails"

# A thread block that waits for one which is not simulated does not look for it for ever: an H200 executes 7,544 instructions, with its rounds
# of waiting.
waits=$(run scan_chained --size small --source sass --gpu h200 --json | grep -o '"warp_insts": [0-9]*' | head -1 | grep -o '[0-9]*$')
[ "$waits" -gt 0 ] && [ "$waits" -le 7544 ] || fail "scan_chained: $waits instructions"

# Mistakes have a place.
printf 'kernel k threads 32\n  dance\nend\n' >"$work/bad.tasks"
if message=$(run "$work/bad.tasks" --gpu k40 2>&1); then fail "accepts a task nobody knows"; fi
[ "$message" = "orrery: $work/bad.tasks:2: there is no task \"dance\"" ] || fail "says: $message"
if message=$(run "$work/a.tasks" --gpu k40 --set m=5 2>&1); then fail "takes a name that the file does not have"; fi
[ "$message" = "orrery: --set m=5: $work/a.tasks has no such name; let m = ... would make one" ] || fail "says: $message"
if message=$(run "$work/a.tasks" --gpu k40 --size small 2>&1); then fail "takes --size"; fi
grep -q 'a task list takes --set' <<<"$message" || fail "says: $message"

# A kernel as a task list takes what the kernel takes, from machine code and from PTX; other lists are further off
# (docs/how/partial.md). In percent.
cycles() { run "$@" --json | grep -o '"cycles": [0-9.]*' | awk '{ n += $2 } END { print n }'; }
list() { # WORKLOAD SOURCE PERCENT
    "$ORRERY" show "$1" --size small --source "$2" --tasks -q >"$work/list.tasks" || fail "show $1 --tasks"
    itself=$(cycles "$1" --size small --source "$2") listed=$(cycles "$work/list.tasks")
    awk -v a="$itself" -v b="$listed" -v p="$3" 'BEGIN { d = 100 * (b - a) / a; exit !(a > 0 && d < p && d > -p) }' ||
        fail "$1 ($2) takes $itself cycles, its list $listed"
}
for w in saxpy histogram sgemm_tiled scan fft btree gesummv lavamd; do list $w sass 15; done
list softmax ptx 15
"$ORRERY" show softmax --size small --tasks -q >"$work/soft.tasks"
grep -q '^launch softmax grid' "$work/soft.tasks" || fail "a list launches"
# What a list cannot have is said in it: locks, and blocks that differ
grep -q '^ *#.*wait for each other' "$work/soft.tasks" && fail "nobody waits in softmax"
grep -q '^ *#.*wait for each other' <<<"$("$ORRERY" show bucket_lock --size small --tasks -q)" || fail "a lock is not said"
grep -q 'loop .* to .* blocks' <<<"$("$ORRERY" show gridding --size small --tasks -q)" || fail "blocks of gridding do not differ"
# Of a grid's blocks some go round once and some twice: as many instructions as with one round and a half
rounds() { # LOOP
    printf 'kernel k threads 64\n loop %s\n 0: sp\n sync\n end\nend\nlaunch k grid 100\n' "$1" >"$work/rounds.tasks"
    "$ORRERY" run "$work/rounds.tasks" --gpu k40 --model functional -q --json | grep -o '"warp_insts": [0-9]*' | head -1 | awk '{ print $2 }'
}
one=$(rounds 1) two=$(rounds 2) some=$(rounds '1 to 2 blocks')
[ $((2 * some)) = $((one + two)) ] || fail "blocks differ: $one, $two, $some"
if message=$("$ORRERY" show softmax --tasks --ptx 2>&1); then fail "takes --tasks with --ptx"; fi
