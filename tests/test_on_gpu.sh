#!/usr/bin/env bash
# Kernels executed on a GPU that writes down what they do (--on gpu). There is none here: the simulated CUDA driver of
# src/app takes its place and executes the instrumented kernels as they are printed. What comes back must be what the
# CPU executor makes of the same PTX, which knows nothing of instrumentation, logs and slices.
set -euo pipefail
orrery=${ORRERY:?the command}
source=${SOURCE:?the source tree}
build=${BUILD:?the build folder}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export ORRERY_LIBCUDA=$build/cuda/libcuda.so.1 ORRERY_APP_QUIET=1
[ -e "$ORRERY_LIBCUDA" ] || { echo "skipped: no library"; exit 0; }

fail() { echo "$*"; exit 1; }
# Without what the host took.
result() { sed '/^  "host"/d' "$1"; }

# same INPUT: the recorded files are equal, byte by byte
same() {
    "$orrery" record "$1" --on gpu -q -o gpu.orr >got 2>err || { cat got err; fail "$1: cannot be recorded on the GPU"; }
    [ ! -s got ] && [ ! -s err ] || { cat got err; fail "$1: record -q says something"; }
    "$orrery" record "$1" --source ptx -q -o cpu.orr || fail "$1: cannot be recorded on the CPU"
    cmp -s cpu.orr gpu.orr || fail "$1: the GPU's streams are not the CPU's"
    rm -f cpu.orr gpu.orr
}

# counted INPUT: it divides, and the long way is only in the CPU's streams; what PTX does is the same (but the estimate of
# registers, which has them)
counted() {
    "$orrery" record "$1" --on gpu -q -o gpu.orr && "$orrery" record "$1" --source ptx -q -o cpu.orr || fail "$1: cannot be recorded"
    for on in cpu gpu; do
        "$orrery" run $on.orr --model functional --json -q | sed -E '/^  "(host|input)"/d; s/"registers": [0-9]+//' >$on.json
    done
    cmp -s cpu.json gpu.json || { diff cpu.json gpu.json || true; fail "$1: the GPU's streams count otherwise than the CPU's"; }
    rm -f cpu.orr gpu.orr
}

# Straight; shuffles, shared memory and atomics; matrices; recursion made a loop, lanes far apart; barriers; constants by
# index; loops of lanes' own lengths; a hundred launches, or as many as the result asks for.
for name in saxpy reduce_shfl hgemm_tensor nqueens transpose_tiled convsep spmv_csr montecarlo btree histogram; do
    same "$name"
done
counted kmeans
# Guards, shared and local memory by generic addresses, functions, barriers with numbers, mma, atomics of cub.
for name in barriers warp integer cub; do same "$source/tests/features/$name.launch"; done

# A grid of three dimensions in two slices: 41 x 43 x 40 = 70,520 blocks of one warp; while nothing is known, a slice has
# 256 MiB / 4 KiB = 65,536 warps. Each block stores its number where it belongs, which the script checks as well.
cat >mark.ptx <<'P'
.version 7.0
.target sm_75
.address_size 64
.visible .entry mark(.param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ctaid.y;
  mov.u32 %r2, %ctaid.z;
  mov.u32 %r3, %nctaid.x;
  mov.u32 %r4, %nctaid.y;
  mad.lo.u32 %r5, %r2, %r4, %r1;
  mad.lo.u32 %r5, %r5, %r3, %r0;
  mul.wide.u32 %d1, %r5, 4;
  add.u64 %d2, %d0, %d1;
  st.global.u32 [%d2], %r5;
  ret;
}
.visible .entry wild()
{
  .reg .b64 %d;
  mov.u64 %d, 64;
  st.global.u32 [%d], 1;
  ret;
}
.func helper(.param .u32 x)
{
  ret;
}
.visible .entry pointer()
{
  .reg .b64 %d;
  mov.u64 %d, helper;
  {
  .param .u32 p;
  st.param.u32 [p], 1;
  call %d, (p), proto;
  proto: .callprototype _ (.param .u32 _);
  }
  ret;
}
P
cat >mark.launch <<'P'
module "mark.ptx"
buffer out u32[41*43*40] zero
launch mark grid 41, 43, 40 block 1 args out
expect out iota
P
same mark.launch
"$orrery" record mark.launch --on gpu -o gpu.orr 2>err || fail "mark again"
grep -q 'on the GPU: 2 slices (0 again' err || { cat err; fail "not two slices"; }
# 12 instructions a thread, as they are written above; 41 x 43 x 40 threads
"$orrery" run mark.launch --on gpu --counts-only --json -q >got
grep -q '"thread_insts": 846240\b' got || { grep thread_insts got; fail "not 12 instructions for each of 70,520 threads"; }

# Counts only, a model of time, a profile for sampling: as from the CPU.
for name in spmv_csr nqueens kmeans; do
    "$orrery" run "$name" --on gpu --counts-only --json -q >gpu.json
    "$orrery" run "$name" --source ptx --counts-only --json -q >cpu.json
    cmp -s <(result cpu.json) <(result gpu.json) || { diff cpu.json gpu.json || true; fail "$name: counts"; }
done
"$orrery" run reduce_shfl --on gpu --model cycle --json -q >gpu.json
"$orrery" run reduce_shfl --source ptx --model cycle --json -q >cpu.json
grep -q '"cycles": [1-9]' gpu.json || fail "no cycles"
cmp -s <(result cpu.json) <(result gpu.json) || { diff cpu.json gpu.json || true; fail "the cycle model's result differs"; }
for name in reduce scan; do # with barriers; no divisions, whose long way only the CPU has
    "$orrery" run "$name" --on gpu --model analytic --json -q >gpu.json
    "$orrery" run "$name" --source ptx --model analytic --json -q >cpu.json
    grep -q '"cycles": [1-9]' gpu.json || fail "no cycles"
    cmp -s <(result cpu.json) <(result gpu.json) || { diff cpu.json gpu.json || true; fail "$name: the analytic model"; }
done
"$orrery" sample profile fdtd2d --on gpu -q >gpu.txt
"$orrery" sample profile fdtd2d --source ptx -q >cpu.txt
grep -q fdtd_hz gpu.txt && cmp -s cpu.txt gpu.txt || { diff cpu.txt gpu.txt || true; fail "the profile differs"; }
# Profiled there, then simulated there: the driver is opened twice in one process. Counting there does not tell which lines no
# launch before has touched, so that weights of launches differ a little.
"$orrery" run fdtd2d --on gpu --model cycle --sample --json -q >gpu.json
"$orrery" run fdtd2d --source ptx --model cycle --sample --json -q >cpu.json
total() { grep '"totals"' "$1" | grep -o '"cycles": [0-9.]*' | sed 's/.*: //'; }
awk -v a="$(total cpu.json)" -v b="$(total gpu.json)" 'BEGIN { exit !(a > 0 && b > a * 0.99 && b < a * 1.01) }' ||
    fail "sampled: $(total cpu.json) cycles by the profile made here, $(total gpu.json) by the one counted there"
# A line for each model: its name and the cycles.
"$orrery" compare saxpy --on gpu -q | awk '/abstract|partial|cycle/ { print $1, $2, $3 }' >gpu.txt
"$orrery" compare saxpy --source ptx -q | awk '/abstract|partial|cycle/ { print $1, $2, $3 }' >cpu.txt
grep -q abstract gpu.txt && cmp -s cpu.txt gpu.txt || { diff cpu.txt gpu.txt || true; fail "compare differs"; }
# A sweep executes once and replays; --on cpu is what is meant without --on.
for on in cpu gpu; do
    "$orrery" sweep saxpy --source ptx --on $on --model abstract --vary sm.count=66,132 --csv $on.csv -o $on.sqlite -q >/dev/null
done
columns() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^(sm.count|cycles|thread_insts)$/) use[i] = 1 }
    { for (i = 1; i <= NF; i++) if (i in use) printf "%s ", $i; print "" }' "$1"; }
[ "$(columns gpu.csv | wc -l)" -ge 3 ] && cmp -s <(columns cpu.csv) <(columns gpu.csv) || { cat cpu.csv gpu.csv; fail "the sweep differs"; }

# Mistakes: wrong STATUS PATTERN COMMAND...; nothing is left behind
wrong() {
    local status=$1 pattern=$2 rc=0
    shift 2
    "$orrery" "$@" >got 2>err || rc=$?
    [ $rc -eq "$status" ] || { cat err; fail "$*: status $rc instead of $status"; }
    grep -q -- "$pattern" err || { cat err; fail "$*: does not say '$pattern'"; }
    [ ! -e x.orr ] || fail "$*: left a file"
}
cat >wild.launch <<'P'
module "mark.ptx"
launch wild grid 1 block 1
P
sed s/wild/pointer/ wild.launch >pointer.launch
wrong 2 "cpu or gpu, not 'moon'" record saxpy --on moon -o x.orr
wrong 2 'leave out --source sass' record saxpy --on gpu --source sass -o x.orr
wrong 2 "mark.ptx:[0-9]*: kernel 'pointer': calls through a pointer cannot be recorded on a GPU" record pointer.launch --on gpu -o x.orr
wrong 2 "matrix loads and stores of wmma cannot be recorded" run "$source/tests/features/wmma.launch" --on gpu
wrong 1 "kernel wild (launch 0).*700" record wild.launch --on gpu -o x.orr
ORRERY_LIBCUDA=$dir/none wrong 2 'the CUDA driver cannot be loaded' run saxpy --on gpu
echo "all right"
