#!/usr/bin/env bash
# Hopper's own instructions, from PTX and from machine code: products of groups of warps and boxes of tensors leave the
# bits that an H200 left (tests/hopper/wgmma, tensor), clusters what their kernels say; and what is wrong is said.
set -euo pipefail
cd "$(dirname "$0")/hopper"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for source in ptx sass; do
    for script in wgmma/wgmma tensor/tensor tensor/interleave cluster/cluster gemm/gemm rest/rest closed/closed; do
        "$ORRERY" run "$script.launch" --source $source -q >/dev/null || { echo "$script from $source"; exit 1; }
    done
    for model in cycle abstract partial analytic; do
        "$ORRERY" run gemm/gemm.launch --source $source --model $model -q >/dev/null || { echo "$model model from $source"; exit 1; }
    done
done

# usage: fails STATUS "WORDS" < script
fails() {
    { printf 'module "%s"\nbuffer x f32[4096]\nbuffer out u8[4096]\n' "$PWD/tensor/tensor.ptx"; cat; } >"$tmp/bad.launch"
    rc=0
    "$ORRERY" run "$tmp/bad.launch" -q >/dev/null 2>"$tmp/err" || rc=$?
    [ $rc = "$1" ] && grep -q "$2" "$tmp/err" || { echo "status $rc, not $1 with '$2':"; cat "$tmp/err"; exit 1; }
}
at='{s32:%d, s32:0, s32:0, s32:0, s32:0, s32:0, s32:0, s32:0}'
box() { # coordinate, tensor
    printf 'launch tile2 grid 1 block 128 args tensor(%s), out, 2048, 2048, '"$at"'\n' "$2" "$1"
}
box 0 "x dims 64, 64 box 32, 16 swizzle 64" | fails 2 "more than the swizzle's bytes"
box 0 "x dims 64, 64 strides 62 box 32, 16" | fails 2 "multiple of 16"
box 0 "x dims 64, 64 box 32, 257" | fails 2 "not 1 to 256"
printf 'launch im2col3 grid 1 block 128 args tensor(x dims 16, 8, 8 lower -1 upper 0 channels 16 pixels 16), out, 1024, 1024, {s32:0, s32:-2, s32:0, s32:0, s32:0, s32:0, s32:0, s32:0}\n' |
    fails 1 "first pixel is outside of the bounding box.*kernel 'im2col3', block (0,0,0), thread (0,0,0)"
box 3 "x dims 64, 64 box 32, 16" | fails 1 "first coordinate.*kernel 'tile2', block (0,0,0), thread (0,0,0)"
box 0 "x dims 64, 64, 1 box 32, 16, 1" | fails 1 "has 2 dimensions and its tensor map 3"
box 0 "x dims 64, 128 box 32, 256" | fails 1 "out of bounds"
echo 'launch places grid 3, 4 block 32 args out' | sed "1i module \"$PWD/cluster/cluster.ptx\"" | fails 2 "not a multiple of the cluster's 2"

# Barriers whose number is in a register, of two groups of warps that hand something on: 1 + threadIdx.x / 128, and
# that of the other group.
attention=$PWD/../../workloads/hopper/attention_forward/attention_forward.cubin
"$ORRERY" show --timed --gpu h200 "$attention" >"$tmp/timed" || { echo "show --timed"; exit 1; }
grep -q 'BAR.SYNC.*barrier 1 + 1 \* (warp >> 2) modulo 16' "$tmp/timed" && grep -q 'BAR.ARV.*barrier 4 + 15 \* (warp >> 2) modulo 16' "$tmp/timed" ||
    { echo "barriers of attention_forward:"; grep BAR "$tmp/timed"; exit 1; }

# Nobody waits for ever for an mbarrier.
cat >"$tmp/never.ptx" <<'EOF'
.version 9.0
.target sm_90a
.address_size 64
.shared .align 8 .b64 bar;
.visible .entry never() { .reg .b32 %r; .reg .pred %p; mov.u32 %r, bar; mbarrier.init.shared::cta.b64 [%r], 2;
again: mbarrier.try_wait.parity.shared::cta.b64 %p, [%r], 0; @!%p bra again; ret; }
EOF
rc=0
"$ORRERY" run "$tmp/never.ptx" --grid 1 --block 32 -q >/dev/null 2>"$tmp/err" || rc=$?
[ $rc = 1 ] && grep -q "deadlock: it waits for an mbarrier.*kernel 'never', block (0,0,0), thread (0,0,0)" "$tmp/err" ||
    { echo "an mbarrier that nobody completes: status $rc"; cat "$tmp/err"; exit 1; }

# What a kernel does wrong is said with kernel, block and thread, from PTX and from machine code (faults/faults.ptx).
wrong() { # WORDS LAUNCH
    for module in ptx cubin; do
        printf 'module "%s"\nbuffer x f32[4096]\nlaunch %s\n' "$PWD/faults/faults.$module" "$2" >"$tmp/bad.launch"
        rc=0
        "$ORRERY" run "$tmp/bad.launch" -q >/dev/null 2>"$tmp/err" || rc=$?
        [ $rc = 1 ] && grep -q "$1.*; kernel '${2%% *}', block (0,0,0), thread ([0-9]*,0,0)" "$tmp/err" || { echo "$2: status $rc, not 1 with '$1':"; cat "$tmp/err"; exit 1; }
    done
}
map() { local w="u64:$1"; shift; for _ in 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do w+=", u64:${1:-0}"; shift || true; done; echo "{$w}"; }
wrong "of a bulk copy is not a multiple of 16" "bulk grid 1 block 1 args x, 8, 64, 512, 1"
wrong "of a bulk copy is not a multiple of 16" "bulk grid 1 block 1 args x + 1, 0, 64, 512, 1"
wrong "bulk copy of 64 bytes .* out of bounds" "bulk grid 1 block 1 args x + 4088, 0, 64, 512, 1"
wrong "not a multiple of 8" "bulk grid 1 block 1 args x, 0, 64, 516, 1"
wrong "the mbarrier is not initialised" "bulk grid 1 block 1 args x, 0, 64, 512, 0"
wrong "the tensor map .* is not one: the box's first size" "tile grid 1 block 1 args $(map 0), 0"
wrong "these 128 bytes are no tensor map" "tile grid 1 block 1 args $(map 0xfffffffffffffff0 0x123456789abcdef 7), 0"
wrong "of a bulk copy is not a multiple of 128" "tile grid 1 block 1 args tensor(x dims 64, 64 box 16, 16), 64"
wrong "in global memory is out of bounds: 128 bytes past the end of 'x'" "tile grid 1 block 1 args tensor(x + 4000 dims 64, 16 box 16, 16), 0"
wrong "a coordinate of a store is negative" "back grid 1 block 1 args tensor(x dims 64, 64 box 16, 16), 0, -1"
wrong "a coordinate of a store is negative" "back grid 1 block 1 args tensor(x dims 64, 64 box 16, 16), -16, 1"
wrong "the descriptor of A leads to .* in shared memory" "product grid 1 block 128 args u64:(1 << 62) + 0x3fff, u64:1 << 62, x"
wrong "the descriptor of B leads to .* in shared memory" "product grid 1 block 128 args u64:0x40, u64:0x3fff, x"
wrong "the descriptor of B leads to .* in shared memory, where nothing has been written since" "arrives grid 1 block 128 args x, 0"
wrong "a race: the descriptor of B leads to .*, where a bulk copy is under way: nobody has waited" "arrives grid 1 block 128 args x, 1"
wrong "a race: the bulk copy reads .* in shared memory, where another one is under way" "arrives grid 1 block 128 args x, 5"
wrong "a race: the tensor map .* has changed since the thread block used it" "changed grid 1 block 1 args tensor(x dims 64, 64 box 16, 16), x, 0"
race="a race: it reads 0x[0-9a-f]* in shared memory, where a bulk copy is under way: nobody has waited for its mbarrier"
wrong "$race" "touches grid 1 block 128 args x, 0"
wrong "$race" "touches grid 1 block 128 args x, 16"
wrong "${race/reads/writes}" "touches grid 1 block 128 args x, 2"
wrong "${race/reads/writes}" "touches grid 1 block 128 args x, 8"
race="a race: the bulk copy writes 0x[0-9a-f]* in shared memory, which a product of warps 0 to 3 still reads"
wrong "$race" "overwrites grid 1 block 128 args x, 2"
wrong "$race" "overwrites grid 1 block 128 args x, 4"
wrong "$race" "overwrites grid 1 block 128 args x, 5"
for module in ptx cubin; do
    for launch in "touches grid 1 block 128 args x, "{1,3,4,6,9,12,17} "overwrites grid 1 block 128 args x, "{0,1,3} "arrives grid 1 block 128 args x, 3" "changed grid 1 block 1 args tensor(x dims 64, 64 box 16, 16), x, 1"; do
        printf 'module "%s"\nbuffer x f32[4096]\nlaunch %s\n' "$PWD/faults/faults.$module" "$launch" >"$tmp/good.launch"
        "$ORRERY" run "$tmp/good.launch" -q >/dev/null || { echo "nothing is wrong: $module, $launch"; exit 1; }
    done
done

# In every model of time who waits for a copy, a product or another block waits as long as the description says: the
# figure is set to 10,000 cycles, and each script has a warp that waits for it.
cycles() { "$ORRERY" run "$@" --gpu h200 --json 2>"$tmp/err" | sed -n 's/^ *"totals": {"launches": [0-9]*, "cycles": \([0-9]*\).*/\1/p' | grep . || echo 0; }
waits() { # SCRIPT KEYS MODELS
    for model in $3; do
        local set=() before after
        for key in $2; do set+=(--set "$key=10000"); done
        before=$(cycles "$1" --model "$model") after=$(cycles "$1" --model "$model" "${set[@]}")
        [ "$before" -gt 0 ] && [ $((after - before)) -ge 7500 ] || { echo "$1, $2, $model: $before and $after cycles"; cat "$tmp/err"; exit 1; }
    done
}
waits hopper/tma_copy tma.latency "cycle abstract partial analytic"
waits hopper/gemm_tf32 tensor.group_latency "cycle abstract"
waits hopper/gemm_bf16 registers.release "cycle abstract"
waits cluster/cluster.launch "cluster.load cluster.load_near" "cycle abstract partial analytic"
waits cluster/cluster.launch cluster.barrier "cycle abstract partial"
echo ok
