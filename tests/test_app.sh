#!/usr/bin/env bash
# Programs on the simulated CUDA: app/program.c, which is written as nvcc writes host code, with a fat binary.
set -euo pipefail
orrery=${ORRERY:?the command}
source=${SOURCE:?the source tree}
build=${BUILD:?the build folder}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fatbin=$source/tests/app/kernels.fatbin
[ -e "$build/cuda/liborrery-cuda.so" ] || { echo "skipped: no library"; exit 0; }
"${CC:-cc}" -O1 "$source/tests/app/program.c" -o program -L"$build/cuda" -l:libcudart.so.13

fail() { echo "$*"; exit 1; }
# is TEST OPTIONS... : the program's output must be what is on standard input
is() {
    local test=$1
    shift
    cat >want
    "$orrery" app -q --model functional "$@" ./program "$fatbin" "$test" >got 2>err || { cat got err; fail "$test failed"; }
    cmp -s got want || { diff want got || true; cat err; fail "$test: not as expected"; }
}

for source_of in sass ptx; do
    is axpy --source $source_of <<'X'
launch: cudaSuccess
copy: cudaSuccess
wrong: 0
X
    # 100 + 2 blocks x 64 threads x 2; 10 times the factors 1, 2, 3, 4
    is symbols --source $source_of <<'X'
counter: 356
managed: 10 20 30 40
too far: cudaErrorInvalidValue
X
done
# A program of CUDA 11 and of 12: linked with a library of that name and version, which has no functions.
for v in 11.0 12; do
    "${CC:-cc}" -O1 -DCUDA=${v%.0} -c "$source/tests/app/older.c" -o older.o
    nm -u older.o | grep -oE '(__)?cuda.*' | sed 's/.*/int &(void) { return 999; }/' >stub.c
    echo "libcudart.so.$v { global: *; };" >stub.map
    "${CC:-cc}" -w -shared -fPIC stub.c -Wl,-soname,libcudart.so.$v -Wl,--version-script=stub.map -o libcudart.so.$v
    "${CC:-cc}" older.o -L. -l:libcudart.so.$v -o older
    rm libcudart.so.$v
    "$orrery" app -q --gpu h200 --model functional ./older "$fatbin" >got 2>err || { cat got err; fail "CUDA $v"; }
    [ "$(grep -c ': right$' got)" = 13 ] && ! grep -q wrong got || { cat got err; fail "CUDA $v"; }
done
# Textures and surfaces; one that has been destroyed is an illegal address.
"${CC:-cc}" -O1 "$source/tests/app/texture.c" -o texture -L"$build/cuda" -l:libcudart.so.13 -l:libcuda.so.1
for model in functional cycle; do
    "$orrery" app -q --gpu h200 --model $model ./texture >got 2>err || { cat got err; fail "texture failed"; }
    diff - got <<'X' || { cat err; fail "texture ($model): not as expected"; }
sampled, wrong: 0
painted, wrong: 0
one more, wrong: 0
driver: 1, last: 0
no such resource: 1
twice: 1
gone: 700
X
    grep -q "is no texture or surface object" err || fail "a texture that is gone is not named"
done
# The driver's virtual memory, graphs, fills of rows, pools, contexts.
"${CC:-cc}" -O1 "$source/tests/app/driver.c" -o driver -L"$build/cuda" -l:libcuda.so.1
"$orrery" app -q --gpu h200 --model functional ./driver "$fatbin" >got 2>err || { cat got err; fail "driver failed"; }
diff - got <<'X' || { cat err; fail "driver: not as expected"; }
pushed: 1 1 1
granularity 2097152, taken 4194304
across: 11223344 11223344
where something is: 1
moved: 11223344 11223344
in use: 1
left: 0
rows: 7 7 0 102 7 0 102
graph: 4 edges, 4 nodes, type 0
reversed: 9 9 7 7
linked: 10 7 2 100
twice: CUDA_ERROR_INVALID_PTX third.ptx:5: 'total' is defined in second.ptx too; link only one of them
pool: 2 0
X
# A kernel's versions are those of the code that runs: sm_90's on an H200, its PTX's on a B200.
[ "$("$orrery" app -q --gpu h200 ./driver "$fatbin" versions)" = "PTX 90, binary 90, 0 of 16 bytes" ] || fail "versions of machine code"
[ "$("$orrery" app -q --gpu b200 ./driver "$fatbin" versions)" = "PTX 90, binary 100, 0 of 16 bytes" ] || fail "versions of PTX"
"$orrery" app -q --model functional -- ./program "$fatbin" axpy >got 2>err && grep -q '^wrong: 0' got || fail "-- before the program"
# 227 KB an SM hold two blocks of 101 KB; a block may have 48 KB unless its kernel asks for more
is limits <<'X'
too much shared memory: cudaErrorInvalidValue
attribute: cudaSuccess
now: cudaSuccess
reversed: 255 0
blocks: 2, SMs: 132, devices: 1
too many threads: cudaErrorInvalidConfiguration
peek: cudaErrorInvalidConfiguration
last: cudaErrorInvalidConfiguration
after: cudaSuccess
no such device: cudaErrorInvalidDevice
not there: cudaErrorNotSupported
X
grep -q "cudaDestroyExternalMemory: not among" err || fail "a function that is not there is not named"
# 64 MiB at 32 GB/s: 2.097 ms, both ways at the same time
is time --gpu a100 <<'X'
elapsed: cudaSuccess
ms: 2.097 2.097
X
# Kernels of two streams, and of two branches of a graph, share the GPU; a program's results are the same.
for model in cycle partial; do
    "$orrery" app -q --gpu h200 --model $model --json -o beside.json ./program "$fatbin" beside >got 2>err || { cat got err; fail "beside"; }
    [ "$(tr '\n' ' ' <got)" = "streams: at the same time graph: at the same time wrong: 0 " ] || { cat got err; fail "$model: two streams"; }
    grep -q '"overlap_ns": [1-9]' beside.json || fail "$model: no overlap in the report"
done
# 3 launches x 32 threads x (3 + 5)
is graph <<'X'
begin: cudaSuccess
end: cudaSuccess
captured: 0 0
instantiate: cudaSuccess
replayed: 768 3
X
is fault <<'X'
launch: cudaSuccess
wait: cudaErrorIllegalAddress
malloc: cudaErrorIllegalAddress
last: cudaErrorIllegalAddress
sticky: cudaErrorIllegalAddress
reset: cudaSuccess
copy: cudaSuccess
outside: cudaErrorInvalidValue
X
grep -q "store of 4 bytes.*kernel 'wild', block (0,0,0), thread (0,0,0)" err || { cat err; fail "the fault is not named"; }
# 4,000 bytes behind an allocation is still its page of 2 MB: a GPU lets it pass.
is near <<'X'
wait: cudaSuccess
X
[ "$(grep -c "kernel 'wild': 1 accesses outside all allocations" err)" = 1 ] || { cat err; fail "not told once"; }
"$orrery" app -o report ./program "$fatbin" near >got 2>err
grep -q '^2 accesses were outside' report || { cat report; fail "not counted"; }
is near --bounds strict <<'X'
wait: cudaErrorIllegalAddress
X
is print <<'X'
hello from kernel 0
hello from kernel 1
X
is driver <<'X'
init: cudaSuccess
load: cudaSuccess
function: cudaSuccess
none: cudaErrorSymbolNotFound
large: cudaErrorMemoryAllocation
kept: cudaSuccess
launch: cudaSuccess
reversed: 9 7
X
is many <<'X'
counter: 320000
X
is pitch <<'X'
pitch: cudaSuccess
rows: aaaaaaaaaa bbbbbbbbbb aaaaaaaaaz
free: cudaSuccess
twice: cudaErrorInvalidValue
X
is registered <<'X'
none: cudaErrorInvalidValue
register: cudaSuccess
twice: cudaErrorHostMemoryAlreadyRegistered
pointer: cudaSuccess
reversed: 100 0
unregister: cudaSuccess
again: cudaErrorHostMemoryNotRegistered
X
is versions <<'X'
11: 0, 132 SMs, 0 behind
12: 0, 132 SMs, 0 behind
13: 0, 132 SMs, 0 behind
malloc 11: cudaSuccess
malloc 12: cudaSuccess
attributes 12: cudaSuccess
type 2, behind ee
X
# The line of the PTX in the message; --max-insts ends a kernel that hangs.
"$orrery" app -q --source ptx ./program "$fatbin" fault >got 2>err || fail "fault from PTX"
grep -qE "program:[0-9]+: store of 4 bytes.*kernel 'wild', block \(0,0,0\), thread \(0,0,0\)" err || { cat err; fail "no line"; }
"$orrery" app -q --max-insts 10000 ./program "$fatbin" hang >got 2>err || fail "hang"
grep -q '^wait: cudaErrorLaunchTimeout$' got || { cat got err; fail "a kernel that hangs"; }

# The report, the timeline, the recorded launches; the program's own exit status.
rc=0
"$orrery" app --model cycle --json -o r.json --timeline t.json --record rec ./program "$fatbin" axpy 7 >out || rc=$?
[ $rc -eq 7 ] || fail "exit status $rc instead of the program's 7"
grep -q '"kernel": *"axpy"' r.json && grep -q '"cycles": *[1-9]' r.json || fail "the report has no cycles"
# two arrays of 4,000 bytes in, one out
grep -q '"application": {"time_ns": [1-9].*"launches": 1, "copies": 3, "copy_bytes": 12000}' r.json || fail "no totals of the program"
"$orrery" app -q --model cycle --html page.html ./program "$fatbin" axpy 7 >out2 || rc=$?
[ $rc = 7 ] && cmp -s out out2 && grep -q '"kernel": *"axpy"' page.html || fail "the page of a program"
grep -q '"name":"axpy"' t.json && [ "$(grep -c '"cat":"host to device"' t.json)" = 2 ] || fail "timeline"
if command -v python3 >/dev/null; then # Chrome's format: complete events with times, in tracks that have names
    python3 - t.json <<'X' || fail "the timeline is not as Perfetto reads it"
import json, sys
d = json.load(open(sys.argv[1]))
e = d["traceEvents"]
named = {x["tid"] for x in e if x["ph"] == "M" and x["name"] == "thread_name"}
spans = [x for x in e if x["ph"] == "X"]
assert len(spans) == 4 and all(x["tid"] in named and x["dur"] > 0 and x["ts"] >= 0 and x["pid"] == 1 for x in spans)
spans.sort(key=lambda x: x["ts"]) # two copies in, the kernel, a copy out: one after the other
assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-3 for a, b in zip(spans, spans[1:]))
X
fi
# Replayed it does the same; cycles differ, because what the program copied is in L2 when its kernel starts.
"$orrery" run rec --model cycle --json >again.json
insts() { grep -o '"warp_insts": *[0-9]*' "$1" | sed -n 1p | tr -dc 0-9; }
[ -n "$(insts r.json)" ] && [ "$(insts r.json)" = "$(insts again.json)" ] || fail "replayed: $(insts again.json) instructions, not $(insts r.json)"
# As Accel-Sim's traces, what was copied among them, the whole program takes the same cycles; so do traces of the streams
# as the streams, within what their header's machine code tells.
all() { grep -o '"cycles": *[0-9]*' "$1" | tr -dc '0-9\n' | tr '\n' ' '; }
"$orrery" app -q --model cycle --record traces --format accel-sim-plain ./program "$fatbin" axpy >out || fail "recorded as traces"
[ "$(sed 's/,0x.*,/ /' traces/kernelslist.g | tr '\n' ' ')" = "MemcpyHtoD 4000 MemcpyHtoD 4000 kernel-1.traceg " ] || fail "the list of traces"
"$orrery" run traces/kernelslist.g --model cycle --json >traced.json
[ -n "$(all r.json)" ] && [ "$(all r.json)" = "$(all traced.json)" ] || fail "from traces: $(all traced.json)cycles, not $(all r.json)"
"$orrery" record rec --gpu h200 --format accel-sim-plain -o traces || fail "traces of streams"
"$orrery" run traces/kernelslist.g --model functional --json >traced.json
[ "$(insts r.json)" = "$(insts traced.json)" ] || fail "traces of streams: $(insts traced.json) instructions"
for wrong in "record rec -o x.orr" "app --format accel-sim ./program" "app --record x --format cuda ./program" \
    "app --record x --format accel-sim --sample ./program"; do
    rc=0
    "$orrery" $wrong >out2 2>err || rc=$?
    [ $rc = 2 ] && grep -q -e --format err || { cat err; fail "orrery $wrong: status $rc"; }
done
grep -q 'wrong: 0' <<<"$("$orrery" app --kernels 'nothing*' --json -o none.json ./program "$fatbin" axpy)" ||
    fail "launches that are not chosen must still be executed"
grep -q '"axpy"' none.json && fail "--kernels chose what it should not"
# A folder of several: one kernel, six launches, in their order.
"$orrery" app -q --record many ./program "$fatbin" graph >out
"$orrery" info many >info
grep -q '^1 kernel, 6 launches' info && [ "$(awk '$2 == "count" && $3 == 1 {print $1}' info | tr -d '\n')" = 012345 ] || { cat info; fail "a folder of streams"; }
printf x >>many/0000003-count.orr
"$orrery" info many >info 2>err && fail "a damaged file in a folder"
grep -q 'many/0000003-count.orr: goes on after its end' err || { cat err; fail "which file is damaged"; }
# Sampled: six launches that are alike but for the first, whose code is cold; two are simulated; exit status and output are the program's.
rc=0
"$orrery" app --model cycle --sample --json -o s.json ./program "$fatbin" graph 7 >out || rc=$?
[ $rc -eq 7 ] && grep -q '^replayed: 768 3$' out || fail "sampled: status $rc"
grep -q '"simulated_launches": *2\b' s.json && [ "$(grep -c '"kernel": "count", "index"' s.json)" = 6 ] || fail "sampled: not the first, whose code and data are cold, and one of five"

# All bundled workloads through CUDA's driver, from their cubins: the command itself is the CUDA program.
"$orrery" app -q --model functional "$orrery" hw run --all --size small >all 2>err || { cat all err; fail "workloads through the driver"; }
n=$("$orrery" list --names | wc -l)
grep -q "^$n of $n scripts right" all || { tail -3 all; fail "not all workloads are right"; }

# A library that says itself where its CUDA lies gets ours all the same.
mkdir own
echo 'int cudaGetDeviceCount(int *n) { *n = 77; return 0; }' >own.c
"${CC:-cc}" -shared -fPIC own.c -Wl,-soname,libcudart.so.13 -o own/libcudart.so.13
echo 'int cudaGetDeviceCount(int *); int devices(void) { int n = 0; cudaGetDeviceCount(&n); return n; }' >user.c
"${CC:-cc}" -shared -fPIC user.c -Wl,--disable-new-dtags,-rpath,"$dir/own" -Lown -l:libcudart.so.13 -o libuser.so
printf '#include <stdio.h>\nint devices(void); int main(void) { printf("%%d\\n", devices()); return 0; }' >main.c
"${CC:-cc}" main.c -L. -l:libuser.so "-Wl,-rpath,$dir,-rpath-link,$dir/own" -o main
[ "$(./main)" = 77 ] && [ "$("$orrery" app -q ./main)" = 1 ] || fail "DT_RPATH"

# PyTorch takes its own attention where cuDNN cannot run, unless it is told otherwise.
[ "$("$orrery" app sh -c 'echo $TORCH_CUDNN_SDPA_DEPRIORITIZED' 2>err)" = 1 ] &&
    [ "$(TORCH_CUDNN_SDPA_DEPRIORITIZED=0 "$orrery" app sh -c 'echo $TORCH_CUDNN_SDPA_DEPRIORITIZED' 2>err)" = 0 ] || fail "attention"

# A program with the runtime in it cannot be run: one line says so.
printf 'const char *text = "no CUDA-capable device is detected"; int main(void) { return text[0]; }' >static.c
"${CC:-cc}" static.c -o static
rc=0
"$orrery" app ./static 2>err || rc=$?
[ $rc -eq 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q "insists on NVIDIA's driver.*-cudart shared" err || { cat err; fail "a static runtime: $rc"; }

# NVIDIA's management library, as monitors load it.
cat >nvml.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#define F(name) int (*name)() = (int (*)())dlsym(so, #name)
int main(void) {
    void *so = dlopen("libnvidia-ml.so.1", RTLD_NOW), *gpu = NULL, *same = NULL;
    if (!so) return 1;
    F(nvmlInit_v2);
    F(nvmlDeviceGetCount_v2);
    F(nvmlDeviceGetHandleByIndex_v2);
    F(nvmlDeviceGetName);
    F(nvmlDeviceGetUUID);
    F(nvmlDeviceGetHandleByUUID);
    F(nvmlDeviceGetMemoryInfo);
    F(nvmlDeviceGetTemperature);
    unsigned n = 0, degrees;
    char name[96], id[96], shorter[8];
    unsigned long long memory[3];
    if (nvmlInit_v2() || nvmlDeviceGetCount_v2(&n) || n != 1) return 2;
    if (nvmlDeviceGetHandleByIndex_v2(0, &gpu) || nvmlDeviceGetHandleByIndex_v2(1, &same) != 6) return 3;
    if (nvmlDeviceGetName(gpu, name, 96) || !strstr(name, "H200") || nvmlDeviceGetName(gpu, shorter, 8) != 7) return 4;
    if (nvmlDeviceGetUUID(gpu, id, 96) || nvmlDeviceGetHandleByUUID(id, &same) || same != gpu) return 5;
    if (nvmlDeviceGetMemoryInfo(gpu, memory) || memory[0] != memory[1] + memory[2] || memory[2]) return 6;
    if (nvmlDeviceGetTemperature(gpu, 0, &degrees) != 3 || nvmlDeviceGetName((void *)99, name, 96) != 2) return 7;
    return 0;
}
C
"${CC:-cc}" -w nvml.c -o nvml -ldl
rc=0
"$orrery" app -q --gpu h200 ./nvml 2>err || rc=$?
[ $rc -eq 0 ] || fail "NVML: $rc"

# JSON alone on standard output, times without --model, statistics by line; what the program prints is beside it.
"$orrery" app --json --lines ./program "$fatbin" axpy >j.json 2>err || fail "--json"
head -c 1 j.json | grep -q '{' && grep -q '"cycles": *[1-9]' j.json && grep -q '"lines": *\[' j.json || fail "--json without -o: no report with cycles and lines"
grep -q 'wrong: 0' j.json && fail "the program's output is among the JSON"
grep -q 'wrong: 0' err || fail "the program's output is gone"
if command -v python3 >/dev/null; then python3 -c 'import json; json.load(open("j.json"))' || fail "not JSON alone"; fi
# Times that nobody simulated: said once.
"$orrery" app --model functional ./program "$fatbin" time >out 2>err || fail "time"
[ "$(grep -c 'simulates no time of kernels' err)" = 1 ] || { cat err; fail "no word, or several, about times that were not simulated"; }
"$orrery" app ./program "$fatbin" time >out 2>err || fail "time"
grep -q 'simulates no time of kernels' err && fail "the cycle model simulates time"
# A program that asks nothing of the GPU; an output that cannot be written is found before the program runs.
"$orrery" app /bin/ls / >out 2>err || fail "ls: its exit status is its own"
grep -q 'made no CUDA call' err && grep -q bin out || fail "no word that no CUDA call was made"
for option in -o --timeline --record; do
    rc=0
    "$orrery" app $option /nowhere/at/all ./program "$fatbin" axpy >out 2>err || rc=$?
    [ $rc -eq 2 ] && [ ! -s out ] && grep -q '/nowhere/at/all' err || fail "$option: status $rc, or the program has run"
done
# A signal ends the program too and leaves nothing behind.
mkdir tmp
TMPDIR=$PWD/tmp "$orrery" app -q --record rec2 --model functional ./program "$fatbin" hang >out 2>err &
pid=$!
for _ in $(seq 100); do
    child=$(pgrep -P $pid || true)
    [ -n "$child" ] && [ -n "$(ls -d rec2* 2>/dev/null)" ] && break
    sleep 0.1
done
[ -n "$child" ] || fail "no child"
kill -TERM $pid
wait $pid && fail "a program that was ended has ended well"
! kill -0 "$child" 2>/dev/null || fail "the program goes on after SIGTERM"
[ -z "$(ls tmp)" ] && [ -z "$(ls -d rec2* 2>/dev/null)" ] || fail "left behind: $(ls tmp) $(ls -d rec2*)"

# Mistakes
rc=0
"$orrery" app --bounds none ./program "$fatbin" axpy 2>err || rc=$?
[ $rc -eq 2 ] || fail "bounds that there are not: $rc"
rc=0
"$orrery" app 2>err || rc=$?
[ $rc -eq 2 ] || fail "no program: $rc"
rc=0
"$orrery" app ./nothing 2>err || rc=$?
[ $rc -eq 2 ] && grep -q "orrery: ./nothing" err || fail "a program that is not there: $rc"
rc=0
"$orrery" app --gpu nothing ./program "$fatbin" axpy 2>err || rc=$?
[ $rc -eq 2 ] || fail "a GPU that is not there: $rc"
echo "all right"
