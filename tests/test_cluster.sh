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
# Kernels of a rank's streams run at the same time, also those that are alike and not simulated again
for more in "--alike yes" "--alike no" "--model cycle"; do
    # shellcheck disable=SC2086
    run -n 2 $more ./program "$kernels" streams 1024
    [ "$(sort got)" = "$(printf 'rank 0: beside 1, after 1\nrank 1: beside 1, after 1')" ] || { cat got err; fail "streams, $more"; }
done
# The host's own work takes no time, or what it took here times a factor: 20 ms of processor time at least 20 s
run -n 2 ./program "$kernels" host 20
[ "$(sort got)" = "$(printf 'rank 0: nothing\nrank 1: nothing')" ] || { cat got; fail "--host ignore"; }
run -n 2 --host 1000 ./program "$kernels" host 20 1000
[ "$(sort got)" = "$(printf 'rank 0: at least\nrank 1: at least')" ] || { cat got; fail "--host 1000"; }
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

# Task lists with ranks. A kernel takes what it takes by itself; GPUs work at the same time; 50 us are 50 us.
cat >one.tasks <<'T'
kernel k threads 256
    loop 100
        0: sp x 8
    end
end
launch k grid 132
T
alone=$("$orrery" run one.tasks --model partial --json -q | grep -o '"time_ns": *[0-9.]*' | head -1 | grep -o '[0-9.]*$')
cat >two.tasks <<'T'
kernel k threads 256
    loop 100
        0: sp x 8
    end
end
on gpu 0 launch k grid 132
on gpu 1 launch k grid 132
sync
host 50
T
run -n 1 two.tasks
# the second begins a launch (2.5 us) later, and the program waits for both
awk -v a="$alone" -v all="$(value elapsed_ns)" -v k="$(value kernel_ns)" \
    'BEGIN { d = all - 50000 - a; exit !(k > 1.99 * a && k < 2.01 * a && d > 0 && d < 6000) }' ||
    { cat report.json; fail "two GPUs: $alone alone"; }
# 100 MiB over links of 1 GB/s: 105 ms, and what SimGrid's model takes off bandwidth, at most 10 %
printf 'if rank == 0\n send 100M to 1 tag 3\nelse\n recv 100M from 0 tag 3\nend\n' >message.tasks
run -n 2 --per-node 1 --platform ./slow.xml message.tasks
awk -v t="$(value elapsed_ns)" 'BEGIN { exit !(t > 104.8e6 && t < 116e6) }' || fail "a message took $(value elapsed_ns)"
# Collectives by MPI among groups and by NCCL, whose time hides behind a kernel that follows
cat >many.tasks <<'T'
let bytes = 64M
kernel k threads 256
    loop 4000
        0: sp x 8
    end
end
allreduce bytes nccl
launch k grid 1320
sync
broadcast 1M from rank - rank % 4 among rank / 4
allgather 1K among rank % 4
alltoall 1K
reducescatter 1K
gather 1K to 0
scatter 1K from 0
reduce 1K to 0
barrier
copy to gpu (local + 1) % gpus, 1M
T
run -n 16 many.tasks
both=$(value elapsed_ns)
for name in Bcast Allgather Alltoall Reduce_scatter_block Gather Scatter Reduce Barrier; do
    grep -q "\"name\":\"$name\",\"times\":16" report.json || { cat report.json; fail "$name of a task list"; }
done
nccl=$(value nccl_ns)
run -n 16 many.tasks --set bytes=4
awk -v a="$both" -v b="$(value elapsed_ns)" -v n="$nccl" -v k="$(value kernel_ns)" \
    'BEGIN { less = n < k ? n : k; exit !(n > 1e5 && a - b < n - 0.9 * less + 1e4) }' || fail "NCCL does not hide: $both, $(value elapsed_ns)"
run -n 8 --set n=2048 "$source/docs/tutorials/halo.tasks"
grep -q '"name":"Isend","times":1400' report.json || { cat report.json; fail "the tutorial's halo exchange"; }
rc=0 # who waits for ever is named
printf 'host 5\nif rank == 0\n recv 4K from 1\nend\n' >stuck.tasks
"$orrery" cluster -q -n 2 stuck.tasks >got 2>err || rc=$?
[ ! -s got ] || { cat got; fail "smpirun writes among what we do"; }
[ $rc -eq 1 ] && grep -q 'rank 0 waits for ever at line 3' err || { cat err; fail "a rank that waits for ever: $rc"; }
# Each rank reads its arguments, also in what smpicc has not compiled (nvcc's objects)
cat >opts.c <<'C'
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int cuInit(unsigned);
int main(int argc, char **argv) {
    static const struct option words[] = {{"more", required_argument, NULL, 'm'}, {NULL, 0, NULL, 0}};
    int rank, c, n = 0, m = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    cuInit(0);
    while ((c = getopt_long(argc, argv, "n:", words, NULL)) != -1) {
        if (c == 'n') n = atoi(optarg);
        if (c == 'm') m = atoi(optarg);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("rank %d: %d %d\n", rank, n, m);
    MPI_Finalize();
    return 0;
}
C
"${CC:-cc}" -fPIC -I"$(dirname "$(find /usr/include /usr/local/include -path '*smpi/mpi.h' | head -1)")" -c opts.c
smpicc opts.o -o opts -L"$build/cluster" -l:libcudart.so.13
run -n 3 ./opts -n 7 --more 5
[ "$(sort got)" = "$(printf 'rank 0: 7 5\nrank 1: 7 5\nrank 2: 7 5')" ] || { cat got; fail "ranks do not read their arguments"; }
# Ctrl-C stops a list that only launches what is known and sends messages, and what is done is reported
printf 'kernel k threads 256\n 0: sp x 8\nend\nrepeat 100000000\n launch k grid 132\n allreduce 4\nend\n' >many.tasks
TMPDIR=$dir timeout 100 "$orrery" cluster -n 4 many.tasks >got 2>err &
until compgen -G "$dir/orrery-cluster-*/platform.xml" >/dev/null; do sleep 0.1; done
sleep 2
for p in $(pgrep -P $!); do kill -INT "$p"; done
rc=0
wait $! || rc=$?
[ $rc -eq 130 ] && grep -q 'bound by' err && grep -q 'stopped; this is what' err || { cat got err; fail "Ctrl-C: status $rc"; }
printf 'if rank == 1\n dance\nend\n' >bad.tasks
refused cluster -n 2 bad.tasks
grep -q 'bad.tasks:2: ' err || { cat err; fail "the line of what is wrong"; }
# A list that does nothing, a platform that lacks a way between two hosts
printf 'if rank == 5\n barrier\nend\n' >none.tasks
refused cluster -n 2 none.tasks
cat >ways.xml <<'X'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="z" routing="Full">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
    <link id="l" bandwidth="1GBps" latency="1us"/>
    <route src="a" dst="b"><link_ctn id="l"/></route>
  </zone>
</platform>
X
printf 'if rank == 0\n send 4K to 1\nelse\n if rank == 1\n  recv 4K from 0\n end\nend\n' >pair.tasks
run -n 2 --per-node 1 --platform ./ways.xml pair.tasks
refused cluster -n 3 --per-node 1 --platform ./ways.xml pair.tasks
grep -q 'ways.xml: no way from host a to host c' err || { cat err; fail "a way is missing"; }
rc=0
"$orrery" run two.tasks >out 2>err || rc=$?
[ $rc -eq 2 ] && grep -q 'two.tasks:6: this takes ranks' err || { cat err; fail "run takes ranks"; }

# A program that gives up, and one whose ranks wait for each other for ever: a line, and not status 0.
cat >ends.c <<'C'
#include <mpi.h>
#include <string.h>
int cuInit(unsigned);
int main(int argc, char **argv) {
    int rank, x;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    cuInit(0);
    if (!strcmp(argv[1], "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
    if (!strcmp(argv[1], "wait") && rank == 1) MPI_Recv(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
C
smpicc ends.c -o ends -L"$build/cluster" -l:libcudart.so.13
ended() { # STATUS WORDS HOW
    local rc=0
    timeout 60 "$orrery" cluster -q -n 2 ./ends "$3" >got 2>err || rc=$?
    [ $rc -eq "$1" ] && grep -q "$2" err || { cat got err; fail "a program that ends by $3: status $rc"; }
}
ended 3 'rank 1: MPI_Abort(3)' abort
ended 1 '2 of 2 ranks wait for ever, rank 0 in MPI_Barrier' wait

# NCCL: over nodes by their switches; and what eight launches cost a thread, 8 x 4.3 us, and 8 x 0.2 more with two
# channels (64 KiB).
NCCL_ALGO=NVLSTree run -n 16 ./program "$kernels" train 1000 2
grep -qx 'train: right' got || { cat got err; fail "train by NVLSTree"; }
smpicc -O1 "$source/bench/nccl.c" -o nccl -L"$build/cluster" -l:libcudart.so.13
timeout 60 "$orrery" cluster -q -n 1 --per-node 1 --node dgx_a100 --alike time ./nccl 8 8 65536 >got
grep -qx '8 34.400' got && grep -qx '65536 36.000' got || { cat got; fail "what launches of NCCL cost the host"; }

# Execution traces; what they take is worked out by hand.
traces=$source/tests/corpus/operators
train() { value elapsed_ns | cut -d. -f1; }
# 300 + 200 us, gradients of the second layer behind the first, those of the first alone, 100 us
run -n 4 --timeline t.json "$traces/train.et"
comm=$(grep -o '"name":"all-reduce","times":8,"bytes":[0-9]*,"time_ns":[0-9]*' report.json | grep -o '[0-9]*$')
[ "$(train)" -ge $((600000 + comm / 8 - 50)) ] && [ "$(train)" -le $((600000 + comm / 8 + 50)) ] || { cat report.json; fail "train.et"; }
grep -q '"cat":"NCCL","name":"gradients 2"' t.json && grep -q '"bound_by":"kernels"' report.json || fail "the timeline of a trace"
# Over two nodes an all-reduce of 16 ranks is a flow of 2 * 15 / 16 MiB at 8 * 50 GB/s, and latency
run -n 16 "$traces/train.et"
[ "$(train)" -gt "$((605000 + 2 * 15 * 1048576 / 16 / 400))" ] && [ "$(train)" -lt 1000000 ] || { cat report.json; fail "train.et on two nodes"; }
# A pipeline of two stages: 1000 us, 64 MiB over 1 GB/s, 500 us
run -n 2 --per-node 1 --platform ./slow.xml "$traces/stage-%r.et"
awk -v t="$(value elapsed_ns)" 'BEGIN { t -= 1500e3; exit !(t > 67.1e6 && t < 75e6) }' || fail "stages: $(value elapsed_ns)"
# PyTorch's own: kernels joined by trace_link, 2 x 400.5 us, the collective beside the second
run -n 4 "$traces/linked.json"
[ "$(value elapsed_ns)" = 801000.000 ] || { cat report.json; fail "linked.json"; }
grep -q '"name":"all-reduce","times":4,"bytes":65536' report.json || fail "a collective's bytes"
run -n 4 "$traces/host.json" # no kernels: operators by their shapes, from the model
grep -q '"name":"aten::addmm","times":4' report.json && grep -q '"name":"all-reduce","times":4,"bytes":16777216' report.json ||
    { cat report.json; fail "host.json"; }
# Kineto: 200.25 + 100 us of kernels, a copy of 10 us; with the host's time, a gap of 59.75 us
run -n 4 "$traces/kineto.json"
[ "$(value elapsed_ns)" = 310250.000 ] || { cat report.json; fail "kineto.json"; }
run -n 4 --host 1 "$traces/kineto.json"
[ "$(value elapsed_ns)" = 370000.000 ] || { cat report.json; fail "kineto.json with the host's time: $(value elapsed_ns)"; }
# Kernels' times from a report, by name and shape; what is not in it as recorded
cat >times.json <<'T'
{"launches": [{"kernel": "_Z4gemm", "demangled": "void gemm<float,128>(float const*, int)", "grid": [16, 8, 1],
 "block": [256, 1, 1], "time_ns": 1000}]}
T
run -n 4 --times times.json "$traces/kineto.json"
[ "$(value elapsed_ns)" = 111000.000 ] || { cat report.json; fail "--times FILE: $(value elapsed_ns)"; }
# From the model: 2 * 4096^3 operations are not done faster than the H200 can, 989 T a second, nor at a third of it
run -n 1 "$traces/gemm.et"
awk -v t="$(value elapsed_ns)" 'BEGIN { exit !(t > 138.9e3 && t < 417e3) }' || fail "gemm.et: $(value elapsed_ns)"
for t in old.et circle.et cut.et bad.json deep.json; do refused cluster -n 2 "$traces/$t"; done
refused cluster -n 2 --times nothing.json "$traces/train.et"
refused cluster -n 2 none.et

refused cluster ./program "$kernels" jacobi
refused cluster -n 5 --per-node 1 --platform ./slow.xml ./program "$kernels" jacobi
grep -q 'has 4 hosts' err || { cat err; fail "too few hosts"; }
refused cluster -n 2 --platform torus ./program
head -c 200 slow.xml >short.xml # what SimGrid says of a bad platform is one line
refused cluster -n 2 --per-node 1 --platform ./short.xml ./program "$kernels" jacobi
grep -q 'short.xml:[0-9]*: ' err || { cat err; fail "a platform that ends in the middle"; }
sed 's/1GBps/1Bananas/' slow.xml >unit.xml
refused cluster -n 2 --per-node 1 --platform ./unit.xml ./program "$kernels" jacobi
grep -q 'unit.xml:4: .*Bananas' err || { cat err; fail "a unit that is none"; }
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
