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

# ---- threads that race for the places of a hash table: what it holds afterwards, the script knows (its reference is plain C)
first=
for threads in 1 2 5; do
    out=$("$ORRERY" run hashtable --gpu h200 --model cycle --source sass --threads $threads --json -q 2> err) || fail "hashtable: $(cat err)"
    grep -q '"events": "in time"' <<< "$out" || fail "hashtable: the result does not say that it was executed as it was timed"
    now=$(sed '/"host"/,$d' <<< "$out")
    [ "${first:=$now}" = "$now" ] || fail "hashtable: another result with $threads host threads"
done
grep -q '"events": "one order"' <("$ORRERY" run hashtable --gpu h200 --model cycle --source ptx --json -q 2> /dev/null) ||
    fail "hashtable: streams of PTX are of one order, and the result does not say so"
exit $((failures > 0))
