#!/usr/bin/env bash
# The analytic model from the command line: the same digits on one host thread and on two, and from a recorded stream; as many
# instructions as the cycle model issues; never below its own optimistic bound; what bounds a kernel, where that is known by
# construction.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

wrong() {
    echo "FAILED: $*"
    failed=1
}

run() { # INPUT GPU MODEL [options]: JSON on stdout
    local input=$1 gpu=$2 model=$3
    shift 3
    "$orrery" run "$input" --model "$model" --gpu "$gpu" --size small --json --no-check "$@" 2>"$dir/err" ||
        wrong "$input on $gpu: $(head -1 "$dir/err")"
}

# The launches and what bounds them, without what the host took.
launches() { grep -E '"kernel":|"limits":' | sed 's/"host".*//'; }

for w in saxpy bfs sgemm_tiled histogram mergesort nqueens; do
    for gpu in h200 gtx480; do
        run "$w" "$gpu" analytic --threads 1 | launches >"$dir/one"
        run "$w" "$gpu" analytic --threads 2 | launches >"$dir/two"
        [ -s "$dir/one" ] || wrong "$w on $gpu: no launches"
        cmp -s "$dir/one" "$dir/two" || wrong "$w on $gpu: two threads give another result than one"
        paste <(grep -o '"cycles": [0-9]*' "$dir/one") <(grep -o '"optimistic": [0-9.]*' "$dir/one") |
            awk '$2 + 1 < $4 { bad = 1 } END { exit bad }' || wrong "$w on $gpu: less than its optimistic bound"
    done
done

# Divergence is counted as it happens: every instruction that the cycle model issues, and no other. (Not of bfs: its threads
# race, so that what they do is a matter of time.)
for w in btree mandelbrot sgemm_tiled spmv_csr; do
    for gpu in h200 gtx480; do
        for model in cycle analytic; do
            run "$w" "$gpu" "$model" --threads 1 | grep '"index":' | grep -o '"warp_insts": [0-9]*, "thread_insts": [0-9]*' >"$dir/$model"
        done
        cmp -s "$dir/cycle" "$dir/analytic" || wrong "$w on $gpu: other instructions than the cycle model's"
    done
done

# A recorded stream is the same launch.
for w in saxpy sgemm_tiled; do
    "$orrery" record "$w" --size small --source ptx -o "$dir/$w.stream" >/dev/null 2>"$dir/err" || wrong "record $w: $(head -1 "$dir/err")"
    run "$w" h200 analytic --source ptx --threads 1 | grep '"index":' | grep -o '"cycles": [0-9]*' >"$dir/one"
    "$orrery" run "$dir/$w.stream" --gpu h200 --model analytic --json 2>"$dir/err" | grep '"index":' | grep -o '"cycles": [0-9]*' >"$dir/two"
    cmp -s "$dir/one" "$dir/two" || wrong "$w: from its stream $(cat "$dir/two"), executed $(cat "$dir/one")"
done

# One warp's chain is bound by latency. A kernel that does nothing but stream memory, by memory. In words, too.
grep -q ' latency:' <<<"$("$orrery" run nw --gpu gtx480 --set sm.count=1 --model analytic --size small 2>"$dir/err")" ||
    wrong "nw is not bound by latency"
grep -q ' dram:' <<<"$("$orrery" run triad --gpu h200 --set dram.bandwidth=100 --set l2.flush=yes --model analytic --size medium 2>"$dir/err")" ||
    wrong "triad with little bandwidth is not bound by memory"

exit $failed
