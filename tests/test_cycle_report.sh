#!/usr/bin/env bash
# The cycle model's report: a third of the bundled workloads, each on one of three GPUs, where the reasons must add up; kernels whose bottleneck
# is known by construction; the timeline. $ORRERY is the command, $SOURCE the tree.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
source=${SOURCE:?the path of the source tree}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

# ---- what warps did adds up, kernel by kernel -----------------------------------------------------
adds_up() { # FILE: the rows of each table are the sum that its last row states
    awk '{ gsub(",", "") }
         $1 == "what" && $2 == "warps" { on = 1; sum = 0; next }
         on && $1 == "all" { on = 0; tables++; if (sum != $2 || ($2 > 0 && $3 != "100.0")) bad = 1; next }
         on { sum += $2 }
         END { exit bad || !tables }' "$1"
}
gpus=(h200 v100 gtx480)
n=0
for workload in $("$orrery" list --names); do
    n=$((n + 1))
    [ $((n % 3)) = 0 ] || continue
    gpu=${gpus[n / 3 % 3]}
    # 128 threads of 86 registers: no such block on an SM of 63 registers a thread and no tensor cores
    [ "$gpu $workload" = "gtx480 hgemm_tensor" ] && gpu=h200
    if ! "$orrery" run "$workload" --gpu $gpu --model cycle --size small >"$dir/out" 2>"$dir/err"; then
        fail "$workload on $gpu: $(head -1 "$dir/err")"
    elif ! adds_up "$dir/out"; then
        fail "$workload on $gpu: what warps did does not add up"
    elif ! grep -q '^  bound by [a-zA-Z0-9]' "$dir/out"; then
        fail "$workload on $gpu: no verdict"
    fi
done
[ $n -ge 50 ] || fail "only $n workloads"

# ---- verdicts that are known by construction -------------------------------------------------------
# bound WHAT GPU KERNEL GRID BLOCK ARGS...
bound() {
    local what=$1 gpu=$2 kernel=$3 grid=$4 block=$5
    shift 5
    if ! "$orrery" run "$source/tests/data/ptx/bounds.ptx" --kernel "$kernel" --grid "$grid" --block "$block" \
        --gpu "$gpu" --model cycle --json -o "$dir/out" "$@" 2>"$dir/err"; then
        fail "$kernel on $gpu: $(head -1 "$dir/err")"
    elif ! grep -q "\"bound\": \"$what\"" "$dir/out"; then
        fail "$kernel on $gpu is not bound by $what: $(grep -m1 -o '"text": "[^"]*"' "$dir/out")"
    fi
}
small="buf:u32:1024:zero"
for gpu in h200 v100 gtx480; do
    sms=$("$orrery" gpu show $gpu --json | grep -A3 '"sm.count"' | grep -oE '[0-9]+' | sed -n 1p)
    narrow=() # half the memory of an H200, whose L2 is not much faster than it
    even=()   # and lines that fall on its slices evenly: 512 KB in 96 of them by chance keep one busy and others waiting
    [ "$gpu" = h200 ] && narrow=(--set dram.bandwidth=2400GB/s) even=(--set l2.hash=shuffle)
    # long enough that starting and ending do not count
    bound compute $gpu fma_chains $((sms * 4)) 256 --arg $small --arg u32:200
    bound compute $gpu sfu $((sms * 4)) 256 --arg $small --arg u32:60
    bound latency $gpu chase "$sms" 32 --arg buf:u32:4194304:zero --arg $small --arg u32:400
    bound dram $gpu copy 8192 128 --arg buf:u32:4194304:zero --arg buf:u32:4194304:zero --set l2.size=4MB "${narrow[@]}"
    bound l2 $gpu from_l2 $((sms * 4)) 256 --arg buf:u32:131072:zero --arg $small --arg u32:40 "${even[@]}"
    bound l1 $gpu from_l1 $((sms * 4)) 256 --arg buf:u32:1024:zero --arg $small --arg u32:200
    bound shared $gpu shared_conflicts $((sms * 4)) 256 --arg $small --arg u32:150
    bound barrier $gpu barriers "$sms" 256 --arg $small --arg u32:150
    bound parallelism $gpu fma_chains 1 256 --arg $small --arg u32:100
    bound launch $gpu empty 1 32
done

# ---- the timeline ------------------------------------------------------------------------------------
tl="$dir/timeline.json"
if ! "$orrery" run reduce --model cycle --size small --timeline "$tl" >"$dir/out" 2>"$dir/err"; then
    fail "--timeline: $(head -1 "$dir/err")"
else
    blocks=$(grep -c '"ph":"X".*"block":[0-9]' "$tl")
    want=$("$orrery" run reduce --model cycle --size small --json | grep -oE '"grid": \[[0-9]+' | grep -oE '[0-9]+$' |
        awk '{ n += $1 } END { print n }')
    [ "$blocks" = "$want" ] || fail "the timeline has $blocks blocks, the grids $want"
    grep -q '"name":"DRAM GB/s"' "$tl" || fail "the timeline has no bandwidths"
fi
refused() { # a sensible message, status 2, and no file
    local says=$1 got=0
    shift
    rm -f "$tl"
    "$orrery" "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ $got -eq 2 ] && grep -q -- "$says" "$dir/err" && [ ! -e "$tl" ] || fail "$*: status $got, $(head -1 "$dir/err")"
}
refused 'needs a model that predicts time' run saxpy --timeline "$tl"
refused 'takes one INPUT' run saxpy vecadd --model cycle --timeline "$tl"
refused 'name the same file' run saxpy --model cycle --timeline "$tl" -o "$tl"
refused 'nowhere' run saxpy --model cycle --timeline "$dir/nowhere/x.json"

exit $failed
