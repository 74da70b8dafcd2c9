#!/usr/bin/env bash
# Numbers that cannot be, and numbers that GPUs of one family must have in common: of every model that predicts time, on a spread
# of workloads and GPUs, nothing is above its own maximum and parts add up to the whole; a GPU that has more of everything is
# not slower; atomics on words side by side are done together; a stream reaches what memory has.
set -euo pipefail
orrery=$ORRERY
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "test_numbers: $*" >&2
    exit 1
}

# ---- invariants ---------------------------------------------------------------------------------
fields() { tr '{},' '\n\n\n' | sed 's/^ *//'; }
invariants() { # WORKLOAD GPU MODEL
    "$orrery" run "$1" --size small --gpu "$2" --model "$3" --json -q >"$work/one.json" || fail "$1 $2 $3 fails"
    fields <"$work/one.json" | awk -F': *' -v name="$1 $2 $3" -f "$SOURCE/tests/invariants.awk" >"$work/said" || fail "$(head -3 "$work/said")"
}
for gpu in h200 b200 a100 v100 rtx5090 k40; do
    for model in abstract partial analytic; do
        for input in vecadd histogram transpose_naive reduce; do invariants $input $gpu $model; done
    done
done
for gpu in h100 v100 k40; do for input in vecadd histogram transpose_naive; do invariants $input $gpu cycle; done; done

# ---- a GPU that has more is not slower ------------------------------------------------------------
cat >"$work/k.ptx" <<'PTX'
.version 6.0
.target sm_35
.address_size 64
.visible .entry add(.param .u64 p, .param .u32 n) {
    .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .f32 %f<2>; .reg .pred %p;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n]; setp.ge.s32 %p, %r4, %r5; @%p bra end;
    ld.param.u64 %d1, [p]; mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2;
    mov.f32 %f1, 0f3f800000;
    red.global.add.f32 [%d3], %f1;
end: ret;
}
.visible .entry meet(.param .u64 p, .param .u32 n) {
    .reg .b64 %d<2>; .reg .f32 %f<2>;
    ld.param.u64 %d1, [p]; mov.f32 %f1, 0f3f800000;
    red.global.add.f32 [%d1], %f1;
    ret;
}
.visible .entry read(.param .u64 p, .param .u64 q, .param .u32 n) {
    .reg .b32 %r<8>; .reg .b64 %d<5>; .reg .f32 %f<5>; .reg .pred %p;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n]; setp.ge.s32 %p, %r4, %r5; @%p bra end;
    ld.param.u64 %d1, [p]; mul.wide.s32 %d2, %r4, 16; add.s64 %d3, %d1, %d2;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d3];
    setp.neu.f32 %p, %f1, %f1; @!%p bra end;
    ld.param.u64 %d4, [q]; st.global.f32 [%d4], %f2;
end: ret;
}
PTX
printf 'module "k.ptx"\nsize s n = 131072\nbuffer a f32[n] zero\nlaunch add grid n / 256 block 256 args a, n\n' >"$work/add.launch"
printf 'module "k.ptx"\nsize s n = 8192\nbuffer a f32[n] zero\nlaunch meet grid n / 256 block 256 args a, n\n' >"$work/meet.launch"
printf 'module "k.ptx"\nsize s n = 12582912\nbuffer a f32[4 * n] zero\nbuffer b f32[4] zero\nlaunch read grid n / 256 block 256 args a, b, n\n' >"$work/read.launch"
value() { # SCRIPT GPU MODEL FIELD
    "$orrery" run "$work/$1.launch" --gpu "$2" --model "$3" --json -q | fields | awk -F': *' -v f="\"$4\"" '$1 == f && !n++ { print $2 }'
}
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }
# Lanes on words side by side are one pass of a slice, on every GPU since Volta: far less than a cycle for each lane.
for gpu in h200 h100 b200 a100 v100 rtx2060 rtx4090 rtx5090; do
    less "$(value add $gpu abstract cycles)" 16384 || fail "$gpu: coalesced atomics are done lane by lane"
done
less "$(value add h200 cycle time_ns)" "$(value add v100 cycle time_ns)" || fail "atomics: a V100 is faster than an H200"
for model in abstract partial; do
    less "$(value meet h200 $model time_ns)" "$(value meet v100 $model time_ns)" || fail "$model: one word, a V100 is faster"
done
# A stream of 201 MB that nothing holds up: nine tenths of what memory has, and newer GPUs first.
for gpu in h200:4800 h100:3352 a100:1555 v100:898; do
    ns=$(value read "${gpu%:*}" partial time_ns)
    awk -v ns="$ns" -v peak="${gpu#*:}" 'BEGIN { exit !(201.3e6 / (ns - 2500) > 0.85 * peak) }' || fail "partial: ${gpu%:*} streams 201 MB in $ns ns"
    [ -z "${before:-}" ] || less "$before" "$ns" || fail "partial: ${gpu%:*} is faster than a newer one"
    before=$ns
done
# More of everything: half an H200 is not faster than one.
half=(--set sm.count=66 --set tpc.count=33 --set l2.slices=48 --set dram.channels=48 --set dram.bandwidth=2400 --set l2.bandwidth=3035 --set l2.hash=ipoly)
for model in cycle abstract partial analytic; do
    for input in vecadd transpose_naive; do
        a=$("$orrery" run $input --size small --gpu h200 --set l2.hash=ipoly --model $model --json -q | fields | awk -F': *' '$1 == "\"time_ns\"" && !n++ { print $2 }')
        b=$("$orrery" run $input --size small --gpu h200 "${half[@]}" --model $model --json -q | fields | awk -F': *' '$1 == "\"time_ns\"" && !n++ { print $2 }')
        awk -v a="$a" -v b="$b" 'BEGIN { exit !(a <= b * 1.02) }' || fail "$model, $input: $a ns, half a GPU $b"
    done
done

# ---- what is said of them -----------------------------------------------------------------------------
"$orrery" run "$work/meet.launch" --gpu h200 --model cycle --lines >"$work/text"
grep -q "bound by atomics that meet in few words" "$work/text" || fail "contended atomics: $(grep "bound by" "$work/text")"
sed -n '/^  address/,$p' "$work/text" | sed -n 2p | grep -q "RED" || fail "contended atomics are charged to $(sed -n '/^  address/,$p' "$work/text" | sed -n 2p)"
grep -q "rests on" "$work/text" && fail "an H200's atomics were measured"
"$orrery" run "$work/meet.launch" --gpu a100 --model cycle | grep -q "rests on l2.atomic_words (assumed)" || fail "an A100's atomics are assumed"
# Thread blocks on SMs over time are no more than fit, and there while they run.
"$orrery" run vecadd --size small --gpu h200 --model cycle --json -q >"$work/one.json"
sed -n 's/.*"block_cycles": \[\([^]]*\)\].*/\1/p' "$work/one.json" | tr ',' '\n' |
    awk -v most=$((132 * 8 * $(fields <"$work/one.json" | awk -F': *' '$1 == "\"sample_cycles\"" && !n++ { print $2 }'))) '
        $1 > most { exit 1 } $1 > 0 { n++ } END { exit !(n >= 2) }' || fail "blocks per SM over time: $(grep block_cycles "$work/one.json")"
# A model without time says so of an application; counts that were not counted are called estimated.
printf 'kernel k threads 64\n 0: load global 4\nend\nrepeat 10\n launch k grid 8\nend\n' >"$work/a.tasks"
"$orrery" run "$work/a.tasks" --gpu h200 >"$work/text"
grep -q "nan" "$work/text" && fail "an application takes nan"
grep -q "10 launches" "$work/text" || fail "an application's launches are not told"
"$orrery" run "$work/read.launch" --gpu h200 --model partial --json -q >"$work/one.json"
grep -q '"estimated": true' "$work/one.json" || fail "partial: counts look as if counted"
grep -o '"registers": [0-9]*' "$work/one.json" | awk '{ exit !($2 >= 16) }' || fail "fewer registers than a thread has"
# The abstract model tells what it knows.
for counter in dram__bytes.sum.per_second lts__t_sectors_lookup_miss.sum l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum; do
    "$orrery" run vecadd --size small --gpu h200 --model abstract --json -q | fields | awk -F': *' -v f="\"$counter\"" '$1 == f && $2 != "null" { n++ } END { exit !n }' || fail "abstract: no $counter"
done
