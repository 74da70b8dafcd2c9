#!/usr/bin/env bash
# MPI programs with CUDA on a simulated cluster: cluster/program.c, whose results check themselves.
set -euo pipefail
orrery=${ORRERY:?the command}
source=${SOURCE:?the source tree}
build=${BUILD:?the build folder}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "$*"; exit 1; }
refused() { # one line, status 2
    local rc=0
    "$orrery" "$@" >out 2>err || rc=$?
    [ $rc -eq 2 ] && [ "$(wc -l <err)" = 1 ] || { cat out err; fail "$*: status $rc"; }
}
rc=0
env PATH=/nowhere "$orrery" cluster -n 2 "$BASH" 2>err || rc=$?
[ $rc -eq 2 ] || fail "without SimGrid: status $rc"
grep -q 'libsimgrid-dev' err || { cat err; fail "without SimGrid: not what to install"; }
if ! command -v smpicc >/dev/null || ! command -v smpirun >/dev/null; then
    echo "skipped: SimGrid is not there (Debian: libsimgrid-dev)"
    exit 0
fi
[ -e "$build/cluster/liborrery-cluster.so" ] || { echo "skipped: no library"; exit 0; }
smpicc -O1 "$source/tests/cluster/program.c" -o program -L"$build/cluster" -l:libcudart.so.13 -lm
kernels=$source/tests/cluster/kernels.ptx
run() { timeout 100 "$orrery" cluster -q --json -o report.json "$@" >got 2>err || { cat got err; fail "$*"; }; }
value() { grep -o "\"$1\":[0-9.]*" report.json | head -1 | cut -d: -f2; }

for n in 1 4 16; do # two nodes for 16
    run -n $n ./program "$kernels" jacobi 64 3
    grep -qx 'jacobi: right' got || { cat got err; fail "jacobi on $n"; }
done
# 16 ranks: three sweeps each, of one shape, simulated once for one buffer and once for the other at most
[ "$(value launches)" = 48 ] && [ "$(value alike)" -ge 46 ] || { cat report.json; fail "launches that are alike"; }
[ "$(value nodes)" = 2 ] || fail "nodes"
# 15 pairs of neighbours, three steps, two messages of 512 bytes
[ "$(grep -o '"messages":[0-9]*' report.json | cut -d: -f2 | awk '{ n += $1 } END { print n }')" = 90 ] || fail "messages"
grep -q '"name":"Sendrecv","times":96' report.json || { cat report.json; fail "calls of MPI"; }
run -n 4 --alike no --timeline t.json ./program "$kernels" jacobi 64 3
first=$(value elapsed_ns)
[ "$(value alike)" = 0 ] || fail "--alike no"
grep -q '"name":"rank 3, node 0"' t.json && grep -q '"cat":"MPI","name":"Sendrecv"' t.json && grep -q '"cat":"kernel"' t.json || fail "timeline"
run -n 4 --alike no ./program "$kernels" jacobi 64 3
[ "$(value elapsed_ns)" = "$first" ] || fail "the same run takes another time"
run -n 4 ./program "$kernels" summa 64
grep -qx 'summa: right' got || { cat got err; fail "summa"; }
for n in 1 4 16; do
    run -n $n ./program "$kernels" fft 16
    grep -qx 'fft: right' got || { cat got err; fail "a Fourier transform on $n"; }
done
grep -q '"name":"Alltoall","times":16' report.json || { cat report.json; fail "the all-to-all"; }
run -n 4 ./program "$kernels" train 1000 3
grep -qx 'train: right' got || { cat got err; fail "training by NCCL"; }
run -n 9 --per-node 3 --platform dragonfly ./program "$kernels" train 1000 3 mpi
grep -qx 'train: right' got || { cat got err; fail "training by MPI"; }
[ "$(value nodes)" = 3 ] || fail "--per-node"
# A slower network makes it longer; what a rank sends is the same.
cat >slow.xml <<'X'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="h" suffix=".x" radical="0-1,4-5" speed="1Gf" bw="1GBps" lat="100us"/>
</platform>
X
run -n 4 --per-node 1 --platform crossbar ./program "$kernels" train 100000 2 mpi
fast=$(value elapsed_ns)
run -n 4 --per-node 1 --platform ./slow.xml ./program "$kernels" train 100000 2 mpi
awk -v a="$fast" -v b="$(value elapsed_ns)" 'BEGIN { exit !(b > 2 * a) }' || fail "a slow network takes $(value elapsed_ns), a fast one $fast"
run -n 64 --alike time ./program "$kernels" jacobi 128 2 # what is alike is not executed: wrong, and fast
[ "$(value ranks)" = 64 ] || fail "--alike time"

refused cluster ./program "$kernels" jacobi
refused cluster -n 5 --per-node 1 --platform ./slow.xml ./program "$kernels" jacobi
grep -q 'has 4 hosts' err || { cat err; fail "too few hosts"; }
refused cluster -n 2 --platform torus ./program
refused cluster -n 2 --alike maybe ./program
refused cluster -n 2 --host fast ./program
refused cluster -n 2 --node nothing ./program
refused cluster -n 16 --node pcie_4090 ./program
grep -q 'has no network' err || { cat err; fail "a node without a network"; }
refused cluster -n 2 ./nothing
rc=0 # the program's own failure is its status
"$orrery" cluster -q -n 2 ./program nothing.ptx jacobi >got 2>err || rc=$?
[ $rc -eq 7 ] || { cat got err; fail "a program that fails: $rc"; }
echo "all right"
