#!/usr/bin/env bash
# Warps that want one lock, or one word by compare and swap, in simulated time: they have it one after the other, whichever block they are of, and the same
# with any number of host threads.
#
# To hand a lock on, what gives it back has to reach L2, and a look that finds it free has to get there and back: at least 281 cycles of an H200 (l2.latency).
# What is done with the lock in hand has a load in it, another 281. A compare and swap that succeeds after another warp's needs a look after that one: 281.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

cat > locks.launch <<X
module "$SOURCE/micro/contention"
buffer t u64[1024]
buffer p u64[4096]
launch lock_warp grid 1 block 32 args t, p, 4
launch lock_warp grid 1 block 128 args t, p, 4
launch lock_warp grid 4 block 32 args t, p, 4
launch swap_add grid 1 block 32 args t, p + 1024, 1, 0, 8
launch swap_add grid 1 block 128 args t, p + 1024, 1, 0, 8
launch swap_add grid 4 block 32 args t, p + 1024, 1, 0, 8
X
cycles() { "$ORRERY" run locks.launch --gpu h200 --model cycle --json -q "$@" | grep -o '"dynamic_shared": [0-9]*, "cycles": [0-9]*' | grep -o '[0-9]*$'; }

at_least() { # WHAT MORE LEAST
    [ "$2" -ge "$3" ] || { echo "$1: $2 cycles, should be $3 at least"; failures=$((failures + 1)); }
}

for source in sass ptx; do
    mapfile -t c < <(cycles --source $source --threads 1)
    [ ${#c[@]} = 6 ] || { echo "$source: ${#c[@]} launches, should be 6"; exit 1; }
    # 16 times instead of 4: 12 more.
    at_least "$source: a lock, four warps" $((c[1] - c[0])) $((12 * 562))
    at_least "$source: a lock, four blocks" $((c[2] - c[0])) $((12 * 562))
    # 32 swaps of each word one after the other, after launch.overhead. (A warp alone also loads before each of its 8, so the difference to it is less than 24 times that.)
    if [ $source = sass ]; then
        at_least "$source: swaps, four warps" "${c[4]}" $((2620 + 32 * 281))
        at_least "$source: swaps, four blocks" "${c[5]}" $((2620 + 32 * 281))
    fi
    mapfile -t d < <(cycles --source $source --threads 2)
    [ "${c[*]}" = "${d[*]}" ] || { echo "$source: two threads give ${d[*]}, one ${c[*]}"; failures=$((failures + 1)); }
done
[ $failures = 0 ] && echo "locks: all as they should be"
exit $((failures != 0))
