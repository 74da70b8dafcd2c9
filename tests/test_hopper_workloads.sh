#!/usr/bin/env bash
# The workloads for Hopper alone (workloads/hopper), size small: they are listed, leave the buffers that their references
# expect, from PTX and from machine code, with the same result to the last digit on one host thread and on three, and the
# number of instructions is an H200's.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
source=${SOURCE:?the source tree}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
complain() {
    echo "FAILED: $1"
    failed=1
}

"$orrery" list >"$dir/list" || complain "list"
ran=0
for name in $(sed -n 's/^W(\(.*\))$/hopper\/\1/p' "$source/workloads/hopper/list.def"); do
    grep -q "^$name " "$dir/list" || complain "$name is not listed"
    for how in "sass 1" "sass 3" "ptx 1"; do
        read -r from threads <<<"$how"
        "$orrery" run "$name" --source "$from" --size small --threads "$threads" --json >"$dir/$from$threads" 2>"$dir/err" ||
            complain "$name from $from: $(head -1 "$dir/err")"
        grep -qE '"buffers_checked": [1-9]' "$dir/$from$threads" || complain "$name from $from: no buffer was checked"
        sed -i '/^  "host":/d' "$dir/$from$threads"
    done
    cmp -s "$dir/sass1" "$dir/sass3" || complain "$name: the result depends on the number of host threads"
    ran=$((ran + 1))
done
[ $ran -ge 16 ] || complain "only $ran workloads"

# As many accesses of other blocks' shared memory from machine code as from PTX.
for name in reduce_cluster scan_cluster histogram_cluster; do
    for from in sass ptx; do
        "$orrery" run "hopper/$name" --source $from --size small --gpu h200 --model cycle --json 2>"$dir/err" |
            sed -n 's/.*"orrery__cluster_shared_accesses.sum": *//p' >"$dir/far.$from"
    done
    [ -s "$dir/far.sass" ] && cmp -s "$dir/far.sass" "$dir/far.ptx" || complain "$name: accesses of other blocks: $(cat "$dir"/far.*)"
done

# Kernels of other kinds that the models were not made with (docs/how/hopper.md): they leave what plain C does.
for name in $(sed -n 's/^W(\(.*\))$/\1/p' "$source/tests/hopper/new/list.def"); do
    for from in sass ptx; do
        "$orrery" run "$source/tests/hopper/new/$name.launch" --source "$from" --size small --threads 1 --counts-only --json >"$dir/new" 2>"$dir/err" ||
            complain "new/$name from $from: $(head -1 "$dir/err")"
        grep -qE '"buffers_checked": [1-9]' "$dir/new" || complain "new/$name from $from: no buffer was checked"
    done
done

# Exact where an H200 repeats its own count. In the others warps ask for registers (setmaxnreg) until somebody has given his
# back, which takes as many tries as it takes time: the functional model has one. hopper_counts.csv has them measured again.
"$orrery" correlate "$source/hardware/h200/hopper.csv" --csv "$dir/counts" -q -- --gpu h200 --model functional --size small \
    >/dev/null 2>"$dir/err" || complain "correlate: $(head -1 "$dir/err")"
awk -F, 'FNR == 1 { file++; for (i = 1; i <= NF; i++) if ($i == "smsp__inst_executed.sum") at = i; next }
file < 3 && $2 == "small" && $at != "" { # what was measured, of each kernel
    if (!($6 in least) || $at < least[$6]) least[$6] = $at
    if ($at > most[$6]) most[$6] = $at
    runs[$6]++
    next
}
file == 3 && $1 == "kernel" && $10 == "smsp__inst_executed.sum" {
    n++
    exact += $15 == 0
    if ($15 == 0) next
    printf "%s: %d instructions without tries, %+.1f %%; an H200 has %d to %d in %d runs\n", $5, $14, $15, least[$5], most[$5], runs[$5]
    if ($15 == "" || $15 > 0 || $15 < -3.2 || least[$5] == most[$5]) { print "FAILED: " $5 ": instructions " $15 " % off"; bad = 1 }
} END { if (n != 18 || exact < 12) { print "FAILED: " exact + 0 " of " n + 0 " kernels exact"; bad = 1 } exit bad }' \
    "$source/hardware/h200/hopper.csv" "$source/hardware/h200/hopper_counts.csv" "$dir/counts" || failed=1

# Through CUDA's driver: clusters as a launch attribute, tensor maps made by the program.
build=${BUILD:?the build folder}
if [ -e "$build/cuda/liborrery-cuda.so" ]; then
    "$orrery" app -q "$orrery" hw run hopper/histogram_cluster hopper/gemm_persistent hopper/conv_im2col --size small >"$dir/out" 2>&1 &&
        grep -q '^3 of 3 scripts right' "$dir/out" || { cat "$dir/out"; complain "through the driver"; }
    "${CC:-cc}" -O1 "$source/tests/app/tensor.c" -o "$dir/tensor" -L"$build/cuda" -l:libcuda.so.1 || complain "cc"
    "$orrery" app -q "$dir/tensor" "$source/workloads/hopper/tma_copy/tma_copy.cubin" >"$dir/out" 2>&1 || complain "tensor maps of a program"
    printf '%s\n' "wrong: 0" "im2col: 0" "corner: 1" "address: 1" "pitch: 1" "swizzle: 1" "box: 1" "map: 0" | diff - "$dir/out" || failed=1
fi
exit $failed
