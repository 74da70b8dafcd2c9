#!/usr/bin/env bash
# OpenCL C as an input, and OpenCL programs on the simulated GPU, with PoCL beside it as a second opinion.
set -euo pipefail
orrery=${ORRERY:?the command}
source=${SOURCE:?the source tree}
build=${BUILD:?the build folder}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "$*"; exit 1; }

# ---- without a compiler: what is missing is named ---------------------------------------------------
echo '__kernel void k(__global int *a) { a[0] = 1; }' >k.cl
status=0
ORRERY_CLANG=$dir/none "$orrery" run k.cl --kernel k --global 1 --local 1 --arg buf:i32:1 >out 2>&1 || status=$?
[ $status -eq 2 ] && grep -q ORRERY_CLANG out || fail "a clang that is not there is not named: $(cat out)"
command -v clang-16 >/dev/null || command -v clang-17 >/dev/null || { echo "skipped: no clang-16"; exit 77; }
status=0
ORRERY_LIBCLC=$dir/none "$orrery" run k.cl --kernel k --global 1 --local 1 --arg buf:i32:1 >out 2>&1 || status=$?
[ $status -eq 2 ] && grep -q "libclc" out || fail "a libclc that is not there is not named: $(cat out)"
[ -e /usr/lib/clc/nvptx64--nvidiacl.bc ] || { echo "skipped: no libclc"; exit 77; }

# ---- a file of OpenCL C ----------------------------------------------------------------------------
cat >scale.cl <<'X'
#ifndef BY
#error "say -D BY=..."
#endif
// Each group reverses its part and multiplies it.
__kernel void scale(__global const float *a, __global float *b, __local float *part, float4 v) {
    int l = get_local_id(0), n = get_local_size(0);
    part[l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[get_global_id(0)] = part[n - 1 - l] * BY + v.w;
}
X
cat >scale.launch <<'X'
module "scale.cl" build "-D BY=3"
buffer a f32[256] iota
buffer b f32[256] zero
launch "scale" grid 4 block 64 args a, b, local:256, {f32:0, f32:0, f32:0, f32:0.5}
expect b expr ((i - i % 64) + 63 - i % 64) * 3 + 0.5
X
"$orrery" run -q scale.launch >out || fail "a script with OpenCL C: $(cat out)"
"$orrery" run -q scale.launch --gpu h200 --model cycle --lines >out || fail "OpenCL C in time: $(cat out)"
grep -q "scale.cl:7 " out || fail "no lines of the .cl file: $(cat out)"
"$orrery" run -q scale.launch --gpu gtx480 --model analytic >out || fail "OpenCL C, analytic: $(cat out)"
"$orrery" run -q scale.cl --kernel scale --global 256 --local 64 --build "-D BY=2" --arg buf:f32:256:iota \
    --arg buf:f32:256:print --arg local:256 --arg '{f32:0,f32:0,f32:0,f32:1}' >out 2>err || fail "a .cl file: $(cat err)"
grep -q "^arg1: 127 125 123" err || fail "a .cl file computes: $(cat err)"
# Work-group functions over groups that are no whole number of sub-groups, dimensions that there are not, and
# kernels that call kernels.
cat >group.cl <<'X'
__kernel void add(__global int *a, int v) { a[get_global_id(0)] += v; }
__kernel void group(__global int *a, __global int *b, __global long *c) {
    int i = get_global_id(0);
    a[i] = work_group_reduce_add((int)get_local_id(0)) + 10000 * work_group_broadcast(i, 5);
    b[i] = work_group_scan_exclusive_add(2) + (work_group_any(i == 3) ? 1000 : 0) + 10000 * work_group_all(i >= 0);
    c[i] = work_group_scan_inclusive_max((long)-i) + get_global_size(5) + get_num_groups(3) + get_local_size(9);
    add(a, 100000000);
}
X
cat >group.launch <<'X'
module "group.cl" build "-cl-std=CL2.0"
buffer a i32[150] zero
buffer b i32[150] zero
buffer c i64[150] zero
launch "group" grid 2 block 75 args a, b, c
expect a expr 75 * 74 / 2 + 10000 * (i - i % 75 + 5) + 100000000
expect b expr i % 75 * 2 + (i < 75 ? 1000 : 0) + 10000
expect c expr 3 - (i - i % 75)
X
"$orrery" run -q group.launch >out 2>&1 || fail "work-group functions: $(cat out)"
sed 's/CL2.0/CL3.0/' group.launch >group3.launch
"$orrery" run -q group3.launch >out 2>&1 || fail "work-group functions of OpenCL C 3.0: $(cat out)"
# Atomics of 64 bits and of OpenCL C 2.0, 32 work-items.
cat >atomics.cl <<'X'
__kernel void at(__global long *a, __global ulong *b, __global atomic_long *c, __global atomic_int *d) {
    long i = get_global_id(0);
    int was = 5;
    atom_add(&a[0], i), atom_min(&a[1], -i), atom_dec(&a[2]), atom_cmpxchg(&a[3], i - 1, i);
    atom_max(&b[0], (ulong)i + 0x8000000000000000ul), atom_xor(&b[1], (ulong)1 << i);
    atomic_fetch_add(&c[0], i), atomic_fetch_max_explicit(&c[1], i, memory_order_relaxed, memory_scope_device);
    atomic_fetch_sub(&d[0], 2);
    if (i == 0) atomic_store(&d[1], atomic_compare_exchange_strong(&d[2], &was, 9) ? 1 : 100 + was);
}
X
"$orrery" run -q atomics.cl --kernel at --build -cl-std=CL2.0 --global 32 --local 32 --arg buf:i64:4:print \
    --arg buf:u64:2:print --arg buf:i64:2:print --arg buf:i32:3:print >out 2>err || fail "atomics: $(cat err)"
printf '%s\n' "arg0: 496 -31 -32 31" "arg1: 9223372036854775839 4294967295" "arg2: 496 31" "arg3: -64 100 0" |
    diff - <(grep '^arg' err) || fail "atomics of 64 bits or OpenCL C 2.0"
# fma of halves rounds once: 3/2 * 683/1024 is in the middle between 1 and the next half, and the addend is above it.
cat >half.cl <<'X'
__kernel void h(__global half *a, __global half4 *b) {
    half x = 1.5h + (int)a[0], y = 0.6669921875h, z = 5.9604644775390625e-08h;
    a[0] = fma(x, y, z);
    b[0] = fma((half4)x, (half4)(y, y, 2, 4), (half4)(z, 0, 1, 2));
}
X
"$orrery" run -q half.cl --kernel h --global 1 --local 1 --arg buf:f16:1:print --arg buf:f16:4:print >out 2>err ||
    fail "halves: $(cat err)"
grep -qx "arg1: 1.00097656 1 4 8" err || fail "fma of halves: $(cat err)"
# Arguments in local memory lie behind the kernel's own, at multiples of their elements' sizes, as machine code too.
cat >places.cl <<'X'
__kernel void places(__local float4 *a, __local long16 *w, __global int *out) {
    __local int own[64];
    int l = get_local_id(0);
    own[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 8; i++) a[i * 64 + l] = (float4)(-1.0f);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[l] = own[63 - l] + 1000 * (int)((ulong)w & 127) + 1000000 * (int)((ulong)a & 15);
}
X
for as in ptx sass; do
    [ $as = ptx ] || [ -x /usr/local/cuda/bin/ptxas ] || command -v ptxas >/dev/null || continue
    "$orrery" run -q places.cl --source $as --kernel places --global 64 --local 64 --arg local:8208 --arg local:128 \
        --arg buf:i32:64:print >out 2>err || fail "local arguments, $as: $(cat err)"
    grep -q "^arg2: 63 62 61 60 59" err || fail "local arguments overlap or are not aligned, $as: $(cat err)"
done
# Copies of work-groups, of vectors of three and of halves: element i is 4i, 4i+1, 4i+2, and half 2i is added.
cat >async.cl <<'X'
__kernel void c(__global int3 *a, __global int3 *b, __local int3 *t, __global half *h, __local half *u) {
    event_t e = async_work_group_copy(t, (const __global int3 *)a, get_local_size(0), 0);
    prefetch(a, 4);
    e = async_work_group_strided_copy(u, (const __global half *)h, get_local_size(0), 2, e);
    wait_group_events(1, &e);
    t[get_local_id(0)] += (int)u[get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    e = async_work_group_copy(b, (const __local int3 *)t, get_local_size(0), 0);
    wait_group_events(1, &e);
}
X
"$orrery" run -q async.cl --kernel c --global 8 --local 8 --arg buf:i32:32:iota --arg buf:i32:32:print --arg local:128 \
    --arg buf:f16:16:iota --arg local:16 >out 2>err || fail "copies of work-groups: $(cat err)"
grep -q "^arg1: 0 1 2 0 6 7 8 0 12 13 14 0 18 19 20 0" err || fail "copies of work-groups: $(cat err)"
# wrong WORDS... : bad input, status 2, a message with the word
wrong() {
    local word=$1 status=0
    shift
    "$orrery" run -q "$@" >out 2>err || status=$?
    [ $status -eq 2 ] || fail "$*: status $status: $(cat err)"
    grep -q "$word" err || fail "$*: says $(cat err)"
    [ "$(wc -l <err)" -le 2 ] || fail "$*: says more than a line: $(cat err)"
}
"$orrery" cl --source elf true >out 2>err && fail "a source that there is not is taken"
grep -q 'ptx or sass, not "elf"' err || fail "a source that there is not: $(cat err)"
wrong "scale.cl:2: " scale.cl --kernel scale --global 256 --local 64
wrong "does not divide" scale.cl --kernel scale --global 250 --local 64
wrong "not a build option" scale.cl --kernel scale --global 256 --local 64 --build "-fplugin=x.so"
wrong "takes 4 arguments" scale.cl --kernel scale --global 256 --local 64 --build "-DBY=1" --arg i32:1
wrong "there is no such file" nothing.cl --kernel scale --global 256 --local 64
wrong "no module has a kernel" scale.cl --kernel skale --global 256 --local 64 --build "-DBY=1"
# Outside of a buffer: the line of the .cl file, and none of the PTX that was made of it.
printf '%s\n' '__kernel void far(__global int *a, int n) {' '    int i = get_global_id(0);' '    a[i + n] = i;' '}' >far.cl
"$orrery" run -q far.cl --kernel far --global 64 --local 64 --arg buf:i32:64 --arg i32:64 --model functional >out 2>err && fail "outside: passes"
grep -q "^orrery: far.cl:3: store of 4 bytes at .* thread (0,0,0)$" err || fail "outside is not named: $(cat err)"

# ---- the platform ----------------------------------------------------------------------------------
[ -e "$build/opencl/liborrery-opencl.so" ] || { echo "skipped: no OpenCL library"; exit 77; }
if ! "${CC:-cc}" -O1 -w "$source/tests/opencl/platform.c" -o platform -lOpenCL -lm 2>out; then
    echo "skipped: no libOpenCL"
    exit 77
fi
"$orrery" cl -q --gpu h200 ./platform >got 2>err || { cat got err; fail "the platform's test failed"; }
diff "$source/tests/opencl/platform.expect" got || { cat err; fail "the platform: not as expected"; }
if ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1; then
    POCL_CACHE_DIR=$dir/pocl OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd | head -1) ./platform >second 2>err || { cat second err; fail "PoCL"; }
    diff <(grep -v ' error' second) got || fail "PoCL is of another opinion"
else
    echo "no PoCL: no second opinion"
fi
# As machine code, where there is ptxas.
if [ -x /usr/local/cuda/bin/ptxas ] || command -v ptxas >/dev/null; then
    "$orrery" cl -q --gpu h200 --source sass ./platform >sass 2>err || { cat sass err; fail "the platform with machine code"; }
    diff got sass || fail "machine code is of another opinion"
else
    echo "no ptxas: OpenCL is not looked at as machine code"
fi
ORRERY_PTXAS=$dir/none "$orrery" cl -q --gpu h200 --source sass ./platform ids >sass 2>err && fail "no ptxas, and nobody says so"
grep -q "ptxas" sass err || fail "a ptxas that is not there is not named: $(cat sass err)"
# SPIR-V, where there is a command that reads it.
"${CC:-cc}" -O1 -w "$source/tests/opencl/spirv.c" -o spirv -lOpenCL
ORRERY_LLVM_SPIRV=$dir/none "$orrery" cl -q --gpu h200 ./spirv >got 2>err || fail "without llvm-spirv: $(cat got err)"
grep -qx "none: error -59" got || fail "without llvm-spirv: $(cat got)"
if command -v llvm-spirv-14 >/dev/null || command -v llvm-spirv >/dev/null; then
    "$orrery" cl -q --gpu h200 ./spirv >got 2>err || fail "SPIR-V: $(cat got err)"
    printf '%s\n' "not SPIR-V: error -30" "cut short: error -11" "build: error 0, 1 bytes of IL" "run: error 0, 0 wrong" |
        diff - got || fail "SPIR-V: $(cat err)"
    "${CC:-cc}" -O1 -w "$source/tests/opencl/special.c" -o special -lOpenCL
    "$orrery" cl -q --gpu h200 ./special >got 2>err || fail "printf in SPIR-V: $(cat got err)"
    printf '%s\n' "1 2 3 4 5 6.5 7.25 ab|1,2,3,200|1,4" "errors: 0 0 0 0 0 0 0 -71 -30 -30 -44" \
        "2 -2 300 -40 5000000000 0.5 -1e+300 ab|1,2,3,200|2,-40" "1 2 3 -40 5 6.5 7.25 ab|1,2,3,200|1,-40" |
        diff - got || fail "printf or constants in SPIR-V: $(cat err)"
else
    echo "no llvm-spirv: SPIR-V is not looked at"
fi
# Outside its buffer: an error, a line that names work-item and source line; what follows in its queue fails, too.
"${CC:-cc}" -O1 -w "$source/tests/opencl/wrong.c" -o wrong -lOpenCL
"$orrery" cl -q --gpu h200 --model functional ./wrong >got 2>err || fail "outside: $(cat got err)"
printf '%s\n' "a function that is nowhere: -11" "from 100: error -5, status 1, then -14, a[5] is 7" \
    "from 0: error 0, status 0, then 0, a[5] is 5" |
    diff - got || fail "outside: $(cat err)"
[ "$(wc -l <err)" -eq 1 ] && grep -q "^orrery: program [0-9]*:3: store of 4 bytes" err && ! grep -q "program.cl" err || fail "what is outside is not named in a line: $(cat err)"
"$orrery" cl -q --gpu h200 --model functional --bounds gpu ./wrong >got 2>err || fail "--bounds gpu: $(cat got err)"
grep -qx "from 100: error 0, status 0, then 0, a\[5\] is 7" got || fail "--bounds gpu: $(cat got err)"
# Times are those of the model: an event takes what the report says.
"$orrery" cl --gpu h200 --model cycle --json -o out.json ./platform local >got 2>err || fail "in time: $(cat err)"
grep -q '"kernel": "reverse"' out.json && grep -q '"source": "ptx"' out.json || fail "no report"
"$orrery" cl --gpu a100 --model analytic --timeline time.json -q ./platform memory >got || fail "timeline"
grep -q '"write buffer"' time.json || fail "the timeline has no writes"
"$orrery" cl -q --gpu h200 --record streams ./platform ids >got && "$orrery" run -q streams --model cycle >out || fail "record"
grep -q "kernel ids" out || fail "what was recorded cannot be run"

# ---- source-level simulation ------------------------------------------------------------------------
cat >branches.cl <<'X'
float half_of(float x) { if (x > 2) return x / 2; return x; }
__kernel void branches(__global const float *a, __global float *b, int n) {
    int i = get_global_id(0);
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k <= i % 8; k++) {
        if (k == 3) continue;
        s += half_of(a[k * n + i]);
    }
    b[i] = s;
}
X
"$orrery" cl annotate branches.cl -o annotated.cl || fail "annotate"
grep -q "orr_counts" annotated.cl || fail "no counters: $(cat annotated.cl)"
# The annotated source is OpenCL C: it compiles again, and computes what the plain one does.
for file in branches.cl annotated.cl; do
    more=()
    [ $file = branches.cl ] || more=(--arg buf:u32:2048:print)
    "$orrery" run -q $file --kernel branches --global 256 --local 64 --arg buf:f32:1792:iota --arg buf:f32:256:print \
        --arg i32:224 "${more[@]}" >out 2>$file.err || fail "$file: $(cat $file.err)"
done
diff <(grep arg1 branches.cl.err) <(grep arg1 annotated.cl.err) || fail "the annotated kernel computes something else"
printf '__kernel void k(__global int *a) { l: if (a[0]++ < 3) goto l; }' >goto.cl
status=0
"$orrery" cl annotate goto.cl >out 2>err || status=$?
[ $status -eq 2 ] && grep -q "goto.cl: line 1: there is a goto" err || fail "a goto is not refused: $(cat err)"
if ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1; then
    OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd | head -1)
    export OCL_ICD_VENDORS POCL_CACHE_DIR=$dir/pocl
    ./platform local branch events >native 2>err || fail "PoCL: $(cat err)"
    "$orrery" cl --annotate --gpu gtx480 --set memory=perfect --json -o counted.json timeout 60 ./platform local branch events >got 2>err ||
        fail "--annotate: $(cat err)"
    diff native got || fail "--annotate changes what a program prints"
    "$orrery" cl --annotate --gpu gtx480 --lines -o counted.txt ./platform local >got 2>err || fail "--annotate --lines: $(cat err)"
    grep -Eq "program.cl:[0-9]+ .* barrier\(" counted.txt || fail "no results by line: $(cat counted.txt)"
    # What was counted natively is what executing counts, within a few percent: blocks of code are matched with
    # parts of the source.
    unset OCL_ICD_VENDORS
    "$orrery" cl -q --gpu gtx480 --set memory=perfect --model analytic --json -o executed.json ./platform local >got
    for f in counted executed; do
        grep -o '"warp_insts": [0-9]*' $f.json | head -3 >$f.insts
    done
    paste counted.insts executed.insts | awk '{ r = $2 / $4; if (r < 0.9 || r > 1.1) { print "counted " $2 ", executed " $4; bad = 1 } } END { exit bad }' ||
        fail "counts are not those of executing"
fi
echo "all right"
