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

# 128 tiles that each look back at those before, one after the other, until one knows the sum of all up to it. In a row, each behind the one before, they would
# take 127 looks (281 cycles each). All at once the first knows it from the start, of the others each after k looks that is at most k before one that knew after
# k - 1: number k (k + 1) / 2, so the last of them after 16.
cat > back.launch <<X
module "$SOURCE/micro/back"
buffer e u32[32768]
buffer in u32[32768] iota
buffer out u32[32768]
launch back_each grid 128 block 256 args e, out, in, 1
X
back() { "$ORRERY" run back.launch --gpu h200 --model cycle --source sass --json -q "$@" | grep -o '"dynamic_shared": [0-9]*, "cycles": [0-9]*' | grep -o '[0-9]*$'; }
one=$(back --threads 1)
at_least "tiles that look back" "$one" $((2620 + 16 * 281))
[ "$one" -lt $((127 * 281)) ] || { echo "tiles that look back: $one cycles, as if in a row"; failures=$((failures + 1)); }
two=$(back --threads 2)
[ "$one" = "$two" ] || { echo "tiles that look back: two threads give $two, one $one"; failures=$((failures + 1)); }

# Lanes that have found a place in a table, leave the loop and come to a BSYNC do not wait for those that have yielded in it: instructions of one warp and of its
# threads, as an H200 counts them (smsp__inst_executed.sum, smsp__thread_inst_executed.sum of micro/tables).
cat > tables.launch <<X
module "$SOURCE/micro/tables"
buffer key u32[1 << 18] random 0 1000000000
buffer few u32[1 << 18] random 0 100000
buffer table u32[256]
buffer wide u64[256]
buffer count u32[256]
for k = 0 to 3
    set table = -1
    launch put_break grid 1 block 32 args k < 3 ? key : few, table, count, k == 0 ? 255 : k == 2 ? 31 : 63
end
for k = 0 to 2
    set wide = -1
    launch put_return grid 1 block 32 args k < 2 ? key : few, wide, count, k == 1 ? 31 : 63
end
X
counts=$("$ORRERY" run tables.launch --source sass --model functional --json -q | grep -o '"warp_insts": [0-9]*, "thread_insts": [0-9]*' | grep -o '[0-9]*' | head -14 | tr '\n' ' ')
should="66 1184 119 1320 324 1912 128 1344 96 1178 326 1942 116 1200 "
[ "$counts" = "$should" ] || { echo "tables: instructions $counts, should be $should"; failures=$((failures + 1)); }
[ $failures = 0 ] && echo "locks: all as they should be"
exit $((failures != 0))
