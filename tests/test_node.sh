#!/usr/bin/env bash
# Programs on a node of several simulated GPUs: app/node.c, which is written as nvcc writes host code.
set -euo pipefail
orrery=${ORRERY:?the command}
source=${SOURCE:?the source tree}
build=${BUILD:?the build folder}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fatbin=$source/tests/app/kernels.fatbin
[ -e "$build/cuda/liborrery-cuda.so" ] || { echo "skipped: no library"; exit 0; }
"${CC:-cc}" -O1 "$source/tests/app/node.c" -o program -L"$build/cuda" -l:libcudart.so.13 -l:libnccl.so.2 -lpthread

body=''
fail() { echo "$*"; exit 1; }
# is TEST OPTIONS... : the program's output must be what is on standard input
is() {
    local test=$1
    shift
    cat >want
    timeout 100 "$orrery" app -q "$@" ./program "$fatbin" "$test" >got 2>err || { cat got err; fail "$test failed"; }
    cmp -s got want || { diff want got || true; cat err; fail "$test: not as expected"; }
}

# A library that was built with NCCL 2.28 is loaded: none of its functions is missing. Without --node it has its own.
for name in ncclAllGather ncclAllReduce ncclAlltoAll ncclBcast ncclBroadcast ncclCommAbort ncclCommCount ncclCommCuDevice \
    ncclCommDeregister ncclCommDestroy ncclCommFinalize ncclCommGetAsyncError ncclCommInitAll ncclCommInitRank \
    ncclCommInitRankConfig ncclCommInitRankScalable ncclCommRegister ncclCommRevoke ncclCommShrink ncclCommSplit \
    ncclCommUserRank ncclCommWindowDeregister ncclCommWindowRegister ncclDevCommCreate ncclDevCommDestroy \
    ncclGather ncclGetErrorString ncclGetLastError ncclGetUniqueId ncclGetVersion ncclGinBarrierCreateRequirement \
    ncclGroupEnd ncclGroupSimulateEnd ncclGroupStart ncclLLA2ACalcSlots ncclLLA2ACreateRequirement \
    ncclLsaBarrierCreateRequirement ncclMemAlloc ncclMemFree ncclRecv ncclRedOpCreatePreMulSum ncclRedOpDestroy \
    ncclReduce ncclReduceScatter ncclResetDebugInit ncclScatter ncclSend ncclTeamLsa ncclTeamRail \
    ncclTeamRankToLsa ncclTeamRankToWorld ncclTeamWorld; do
    echo "int $name(void);"
    body+=" + (long)$name"
done >nccl.c
echo "long all(void) { return 0$body; }" >>nccl.c
"${CC:-cc}" -w -fno-builtin -shared -fPIC nccl.c -o libuser.so -L"$build/cuda" -l:libnccl.so.2 -Wl,--no-undefined || fail "NCCL's functions"
"$orrery" app sh -c 'echo "$LD_PRELOAD"' 2>err | grep -q nccl && fail "NCCL is put in front without --node"
"$orrery" app --node dgx_h200 sh -c 'echo "$LD_PRELOAD"' 2>err | grep -q nccl || fail "NCCL is not put in front with --node"

# 32 threads add 5 on device 1 alone
is devices --node dgx_h200 --model functional <<'X'
devices: 8
no such device: cudaErrorInvalidDevice
device 1: 1048576 less is free on device 0
launch in a stream of another device: cudaErrorInvalidResourceHandle
counters: 0 160
peer: 1
enable: cudaSuccess
again: cudaErrorPeerAccessAlreadyEnabled
X
is devices --node pcie_4090 --model functional <<'X'
devices: 4
no such device: cudaErrorInvalidDevice
device 1: 1048576 less is free on device 0
launch in a stream of another device: cudaErrorInvalidResourceHandle
counters: 0 160
peer: 0
X
# 450 GB/s x 0.84: 67,108,864 bytes take 177.5 us, and 2 us until the first; the same way out is shared
is copies --node dgx_h200 --model functional <<'X'
179.5 us
357.1 us
179.5 us
X
# Peer access is not enabled: 63 GB/s x 0.87: 1,224.4 us, and twice 1.5 us; the same way out is shared, and so is the
# uplink of the switch above GPU 0 and 1, but 0 to 1 and 2 to 3 meet nowhere
is staged --node dgx_h200 --model functional <<'X'
1227.4 us
2451.8 us
1227.4 us
X
# 31.5 GB/s x 0.8: 2,663.05 us, staged: twice 1.8 us
is copies --node pcie_4090 --model functional <<'X'
2666.7 us
5329.7 us
2666.7 us
X
is kernel --node dgx_h200 --model partial <<'X'
wrong: 0, at least what 400000 bytes take: 1
X
is managed --node dgx_h200 --model partial <<'X'
wrong: 0, from GPU to GPU: 1
a quarter: 1
the rest: 1
X
NCCL_ALGO=Ring is train --node dgx_h200 --model functional <<'X'
group: 0
group: 0
group: 0
group: 0
group: 0
train: right
X
NCCL_ALGO=Tree is train --node dgx_a100 --model functional <<'X'
group: 0
group: 0
group: 0
group: 0
group: 0
train: right
X
# Two processes: memory of one used by the other's kernels, from another GPU, behind an event
is processes --node dgx_h200 --model functional <<'X'
memory's handle: cudaSuccess
an event of one process: cudaErrorInvalidResourceHandle
event's handle: cudaSuccess
its own memory: cudaErrorInvalidResourceHandle
memory: cudaSuccess
memory: cudaSuccess
small memory: cudaSuccess
event: cudaSuccess
wait: cudaSuccess
launch: cudaSuccess
small: 22, y[1]: 4
free: cudaErrorInvalidValue
close: cudaSuccess
close again: cudaErrorInvalidValue
no handle: cudaErrorInvalidResourceHandle
wrong: 0, around it: 11 33
free: cudaSuccess
child: 0
X
NCCL_ALGO=Ring is nccl --node dgx_h200 --model functional <<'X'
init: 0
rank 3 of 8
group: 0
all-reduce: 0 wrong
group: 0
reduce-scatter: 0 wrong
group: 0
all-gather: 0 wrong
group: 0
group: 0
reduce, broadcast: 0 wrong
group: 0
ring of messages: 0 wrong
group: 0
split: rank 2 of 4
not memory of a GPU: 4
no such type: 4
X
NCCL_ALGO=Ring is threads --node dgx_h200 --model functional <<'X'
wrong: 0
X
is turns --node dgx_h200 --model functional <<'X'
turns: 21
X
# DGX A100, ring, LL128: 14 + 14 x 1.9 us, and 2 x 7/8 x 4 MiB over 0.92 x 235 GB/s: 40.6 + 33.95 us;
# one thread launches 24 channels on eight GPUs, the last 7 x (4.3 + 23 x 0.2) us after the first
NCCL_ALGO=Ring NCCL_PROTO=LL128 is time --node dgx_a100 --model functional <<'X'
group: 0
136.9 us
X
is factors --node dgx_h200 --model functional <<'X'
00000000
group: 0
wrong: 0
X
is clock --clock simulated --node dgx_h200 --model functional <<'X'
simulated: 1, the day: 1
waited
X
is clock --node dgx_h200 --model functional <<'X'
simulated: 0, the day: 1
waited
X
"$orrery" app -q --node dgx_h200 --model functional --timeline t.json ./program "$fatbin" nccl >/dev/null
grep -q '"name":"GPU 7"' t.json && grep -q '"cat":"NCCL","name":"AllReduce"' t.json || fail "timeline of several GPUs"

# Mistakes: one line, status 2.
refused() {
    local rc=0
    "$orrery" "$@" >out 2>err || rc=$?
    [ $rc -eq 2 ] && [ "$(wc -l <err)" = 1 ] || { cat out err; fail "$*: status $rc"; }
}
refused app --node dgx_h20 ./program "$fatbin" devices
grep -q "did you mean 'dgx_h200'" err || { cat err; fail "a near name"; }
printf 'product = "x"\ngpu = "h200"\ngpus = 99999\n' >bad.conf
refused app --node ./bad.conf ./program "$fatbin" devices
grep -q 'bad.conf:3: gpus' err || { cat err; fail "line of a bad value"; }
refused node show ./bad.conf
# A node like another one, and one that inherits from itself
printf 'inherit = "dgx_h200"\ngpus = 2\npcie.switch_gpus = 1\n' >two.conf
"$orrery" node show ./two.conf >shown
grep -q '^  gpus  *2 GPUs ' shown && grep -q '^  nvlink.bandwidth  *450 GB/s ' shown && grep -q '^  nccl.ring_ll_base ' shown || { cat shown; fail "what a node inherits"; }
printf 'inherit = "self"\n' >self.conf
refused node show ./self.conf
grep -q 'self.conf:1: ./self.conf inherits from itself' err || { cat err; fail "a node that inherits from itself"; }
refused node show
refused cl --node dgx_h200 ./program
refused app --clock mine ./program "$fatbin" clock
for node in $(cd "$source/nodes" && ls ./*.conf); do # every value has evidence
    "$orrery" node show "$source/nodes/$node" >shown
    grep -E '^  [a-z]' shown | grep -vE '(published|measured|chosen|assumed|inherited)(:| |$)' && fail "$node: a value without evidence"
    true
done
"$orrery" node list | grep -q '^dgx_h200 *8 x h200' || fail "node list"
"$orrery" node keys >keys
while IFS= read -r line; do grep -qxF "$line" "$source/docs/guides/nodes.md" || fail "docs/guides/nodes.md lacks: $line"; done <keys
echo "all right"
