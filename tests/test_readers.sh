#!/usr/bin/env bash
# Thread blocks that keep apart are executed ahead by several threads, each with pieces of the grid: large launches have
# the same digits and the same fault with any number of threads.
set -u
orrery=$ORRERY
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
wrong() {
    echo "test_readers: $*" >&2
    failed=1
}

# 20,000 warps, and a last piece that is not whole.
for model in cycle abstract; do
    for threads in 1 4 9; do
        "$orrery" run saxpy --set n=640001 --gpu h200 --model $model --threads $threads --json --quiet >"$dir/out" 2>"$dir/err" ||
            wrong "$model, $threads threads: $(head -1 "$dir/err")"
        grep -v '"host"' "$dir/out" >"$dir/$model.$threads"
        [ -s "$dir/$model.1" ] && cmp -s "$dir/$model.1" "$dir/$model.$threads" || wrong "$model: $threads threads differ from one"
    done
done

# Blocks from the middle of the grid on store outside: the first of them is named, whoever comes to one first.
workload=${ORRERY_DATA:-$(cd "$(dirname "$0")/.." && pwd)}/workloads/saxpy
cp "$workload"/saxpy.cubin "$workload"/saxpy.ptx "$dir" || wrong "no saxpy in $workload"
sed -e 's/^buffer y f32\[n\]/buffer y f32[n\/2]/' -e '/^expect/d' "$workload/saxpy.launch" >"$dir/saxpy.launch"
for threads in 1 4 9; do
    "$orrery" run "$dir/saxpy.launch" --set n=640000 --gpu h200 --model cycle --threads $threads --json --quiet >"$dir/out" 2>"$dir/$threads"
    [ $? = 1 ] || wrong "a store outside with $threads threads does not end with 1"
    # 320,000 elements, 256 a block: the first block outside is number 1250
    grep -q '1250' "$dir/$threads" || wrong "$threads threads: $(head -1 "$dir/$threads")"
    cmp -s "$dir/1" "$dir/$threads" || wrong "$threads threads fail otherwise than one: $(head -1 "$dir/$threads")"
done
exit $failed
