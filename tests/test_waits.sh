#!/usr/bin/env bash
# GPUs that wait for each other while one thread asks them one after the other: app/waits.c.
set -euo pipefail
orrery=${ORRERY:?the command}
source=${SOURCE:?the source tree}
build=${BUILD:?the build folder}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "$*"; exit 1; }
[ -e "$build/cuda/liborrery-cuda.so" ] || { echo "skipped: no library"; exit 0; }
"${CC:-cc}" -O1 "$source/tests/app/waits.c" -o program -L"$build/cuda" -l:libcudart.so.13 -l:libnccl.so.2
is() { # TEST OPTIONS... : what the program prints is on standard input
    local test=$1
    shift
    cat >want
    timeout 100 "$orrery" app -q --node dgx_h200 "$@" ./program "$test" >got 2>err || { cat got err; fail "$test $*"; }
    cmp -s got want || { diff want got || true; cat err; fail "$test $*: not as expected"; }
}

for model in functional analytic partial abstract cycle; do
    is talk --model $model <<'X'
synchronised: cudaSuccess
synchronised: cudaSuccess
said: 40 40
X
    is behind --model $model <<'X'
not yet: cudaErrorNotReady
copied: 40
X
done
# In simulated time they run side by side: a kernel alone would wait for ever, and 40 words that go to and fro
# through L2, which takes 250 ns at least, take 10 us. Both are over when the last word has come.
is talk --model cycle --timeline t.json --json -o report.json <<'X'
synchronised: cudaSuccess
synchronised: cudaSuccess
said: 40 40
X
grep -o '"ts":[0-9.]*,"dur":[0-9.]*,"cat":"kernel"' t.json | tr -c '0-9.\n' ' ' >spans
awk '{ from[NR] = $1; to[NR] = $1 + $2; long[NR] = $2 }
    END { apart = to[1] - to[2]; exit !(NR == 2 && long[1] > 10 && long[2] > 10 && long[1] < 400 && apart * apart < 9) }' spans ||
    { cat spans; fail "two kernels that wait for each other are not side by side"; }
is host <<'X'
not yet: cudaErrorNotReady
now: cudaSuccess
said: 1
X
rc=0
timeout 60 "$orrery" app -q --node dgx_h200 ./program fails >got 2>err || rc=$?
grep -q 'synchronised: cudaErrorIllegalAddress' got && grep -q "kernel 'fails'" err || { cat got err; fail "one fails: $rc"; }
[ "$(grep -c '^orrery: ' err)" = 1 ] || { cat err; fail "one fails, and more is said"; }
is graph --model functional <<'X'
device 0: 1000
device 1: 1000
device 2: 1000
device 3: 1000
X
is graph --timeline t.json <<'X'
device 0: 1000
device 1: 1000
device 2: 1000
device 3: 1000
X
[ "$(grep -o '"cat":"NCCL","name":"AllReduce"' t.json | wc -l)" = 8 ] || fail "NCCL of graphs in the timeline"
