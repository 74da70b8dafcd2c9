#!/usr/bin/env bash
# Kernels whose threads see each other are executed as they are timed (exec/step.h): the clock that they read is simulated time, their races come out the
# same with any number of host threads, and what they leave in memory is what the kernel's arithmetic says.
#
# Independent figures: micro/chase follows pointers and divides the clock's difference by the links; hardware/h200/micro.csv has what an H200 reads.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() { echo "$*"; failures=$((failures + 1)); }

# ---- the clock: 1024 links of a ring that L1 holds, and of one past L1; within 5 %
reading() { awk -F, -v name="$1" '$3 == name && $4 == "" {print $6; exit}' "$SOURCE/hardware/h200/micro.csv"; }
chase() { # KERNEL ARGS...: cycles
    cat > clock.launch <<X
module "$SOURCE/micro/chase"
buffer out u64[2]
buffer p u64[2048]
launch link grid 1 block 128 args p, 128, 128, 1
launch $1 grid 1 block 1 args out, p, 256, 1024
print out 1
X
    "$ORRERY" run clock.launch --gpu h200 --model cycle --source sass -q 2>&1 > /dev/null | grep -o '[0-9][0-9]*' | tail -1
}
near() { # WHAT CYCLES MEASURED
    awk -v n="${2:-0}" -v hw="${3:-0}" 'BEGIN {e = hw > 0 ? n / 1024 / hw - 1 : 1; exit !(e < 0.05 && e > -0.05)}' ||
        fail "$1: ${2:-no} cycles for 1024 links, an H200 has ${3:-no} a link"
}
near "through L1" "$(chase chase_ca)" "$(reading l1.latency)"

# ---- threads that race for the places of a hash table, hand a sum on from block to block, take locks: what they leave, the scripts know (their references
# are plain C). Machine code in the memory that serves it, PTX at issue, and the abstract model: the same digits with any number of host threads.
same() { # WORKLOAD SOURCE MODEL
    local first='' threads out now
    for threads in 1 2 3; do
        out=$("$ORRERY" run "$1" --gpu h200 --model "$3" --source "$2" --threads $threads --size small --json -q 2> err) || fail "$1 $2 $3: $(cat err)"
        grep -q '"events": "in time"' <<< "$out" || fail "$1 $2 $3: the result does not say that it was executed as it was timed"
        now=$(sed '/"host"/,$d' <<< "$out")
        [ "${first:=$now}" = "$now" ] || fail "$1 $2 $3: another result with $threads host threads"
    done
}
for workload in hashtable scan_chained bucket_lock; do
    same $workload sass cycle
    same $workload ptx cycle
    same $workload sass abstract
    same $workload ptx abstract
done

# ---- a stream is one order of events, be its threads apart or not; it says so, and so does a model that replays it, as JSON and as text
one_order() { # INPUT MODEL
    grep -q '"events": "one order"' <("$ORRERY" run "$1" --gpu h200 --model "$2" --json -q 2> err) ||
        fail "$1: replayed in one order, and the JSON of $2 does not say so: $(cat err)"
    grep -q '^ *events  *one order' <("$ORRERY" run "$1" --gpu h200 --model "$2" -q 2> err) ||
        fail "$1: replayed in one order, and the report of $2 does not say so: $(cat err)"
}
"$ORRERY" record hashtable --source sass --size small -q -o table.orrs 2> err || fail "record: $(cat err)"
"$ORRERY" record saxpy --size small -q -o saxpy.orrs 2> err || fail "record: $(cat err)"
"$ORRERY" record saxpy --size small --gpu h200 --format accel-sim-plain -q -o traces 2> err || fail "record: $(cat err)"
for model in cycle abstract partial analytic; do
    one_order table.orrs $model
    one_order saxpy.orrs $model
done
one_order traces/kernelslist.g cycle
one_order "$SOURCE/workloads/hopper/tma_copy/tma_copy.launch" cycle # waits at mbarriers are counted as they were when it was executed
for file in table.orrs saxpy.orrs; do
    grep -q 'one order of events' <("$ORRERY" info $file) || fail "$file does not say that it is one order of events"
    grep -q '"events": "one order"' <("$ORRERY" info $file --json) || fail "$file does not say that it is one order of events (JSON)"
done
"$ORRERY" run saxpy --gpu h200 --model cycle --size small --json -q 2> err | grep -q '"events"' && fail "saxpy: its threads are apart, whatever the order"

# ---- who sleeps for 10,000 nanoseconds is 19,800 cycles of 1.98 GHz later than who sleeps for none
cat > sleep.ptx <<'X'
.version 7.0
.target sm_70
.address_size 64
.visible .entry nap(.param .u32 ns) {
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [ns];
    nanosleep.u32 %r1;
    ret;
}
X
printf 'module "sleep"\nlaunch nap grid 1 block 32 args 0\nlaunch nap grid 1 block 32 args 10000\n' > sleep.launch
for model in cycle abstract; do
    mapfile -t c < <("$ORRERY" run sleep.launch --gpu h200 --model $model --json -q | grep -o '"dynamic_shared": [0-9]*, "cycles": [0-9]*' | grep -o '[0-9]*$')
    later=$((${c[1]:-0} - ${c[0]:-0}))
    [ $later -ge 19700 ] && [ $later -le 19900 ] || fail "$model: a nap of 10,000 ns took $later cycles"
done

# ---- 8 warps draw 128 pieces of 200 dependent multiply-adds (4 cycles each) from a counter in shared memory. Together that is 16 rounds of 800 cycles, and
# twice as many with what is between them at most; if the first warp drew all it would be 128 rounds, 102,400 cycles.
printf 'module "%s/micro/draw"\nbuffer out f32[256]\nlaunch draw_shared grid 1 block 256 args 128, 200, 0, out\n' "$SOURCE" > draw.launch
took=$("$ORRERY" run draw.launch --gpu h200 --model cycle --json -q | grep -o '"dynamic_shared": [0-9]*, "cycles": [0-9]*' | grep -o '[0-9]*$')
[ "${took:-0}" -ge 12800 ] && [ "$took" -lt 40000 ] || fail "pieces drawn from shared memory: ${took:-no} cycles"

# ---- kernels that take memory of the heap are executed first: two host threads would take it at once
for _ in 1 2 3; do
    "$ORRERY" run "$SOURCE/tests/features/heap.launch" --gpu h200 --model cycle --source sass --threads 2 -q > out 2>&1 || fail "heap: $(grep orrery: out)"
done
exit $((failures > 0))
