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

# Mistakes have a place.
printf 'kernel k threads 32\n  dance\nend\n' >"$work/bad.tasks"
if message=$(run "$work/bad.tasks" --gpu k40 2>&1); then fail "accepts a task nobody knows"; fi
[ "$message" = "orrery: $work/bad.tasks:2: there is no task \"dance\"" ] || fail "says: $message"
if message=$(run "$work/a.tasks" --gpu k40 --set m=5 2>&1); then fail "takes a name that the file does not have"; fi
[ "$message" = "orrery: --set m=5: $work/a.tasks has no such name; let m = ... would make one" ] || fail "says: $message"
if message=$(run "$work/a.tasks" --gpu k40 --size small 2>&1); then fail "takes --size"; fi
grep -q 'a task list takes --set' <<<"$message" || fail "says: $message"
