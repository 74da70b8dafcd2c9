#!/usr/bin/env bash
# Programs that use what the workloads do not: each checks itself, from PTX and from machine code, on one host thread and
# on three, with streams and without; and programs that must fail, with what they must say.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
features=${SOURCE:?the source tree}/tests/features
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
ran=0
complain() {
    echo "FAILED: $1"
    failed=1
}

sources="ptx sass"
"$orrery" show "$features/data.cubin" >/dev/null 2>"$dir/err" || ! grep -q 'no libelf' "$dir/err" || sources=ptx
for script in "$features"/*.launch; do
    name=$(basename "$script" .launch)
    for source in $sources; do
        for way in "--threads 1" "--threads 3" "--threads 3 --counts-only"; do
            way="--source $source $way"
            # shellcheck disable=SC2086
            "$orrery" run "$script" $way --max-insts 100M --json >"$dir/out" 2>"$dir/err" ||
                complain "$name $way: $(head -1 "$dir/err")"
            grep -qE '"buffers_checked": [1-9]' "$dir/out" || complain "$name $way: no buffer was checked"
            # with --json, what kernels print goes to standard error
            [ "$name" != print ] || cmp -s "$dir/err" "$features/print.txt" ||
                complain "print $way: $(diff "$dir/err" "$features/print.txt" | head -3)"
            grep -q "\"source\": \"$source\"" "$dir/out" || complain "$name $way: another source"
        done
    done
    ran=$((ran + 1))
done
[ $ran -ge 15 ] || complain "only $ran programs"

fails() { # what it must say, then the arguments of run
    local says=$1
    shift
    "$orrery" run "$@" --counts-only >"$dir/out" 2>"$dir/err"
    local status=$?
    [ $status = 1 ] || complain "$*: exit status $status, not 1"
    grep -q -- "$says" "$dir/err" || complain "$*: said '$(head -1 "$dir/err")', not '$says'"
}
for source in $sources; do
    case $source in
    ptx) end=ptx place='[0-9]*' ;;
    sass) end=cubin place='0x[0-9a-f]*' ;;
    esac
    fails "assertion.$end:$place: assertion 'in\[t\] < 100' failed at assertion.cu:6.*block (1,0,0), thread (5,0,0)" \
        "$features/assertion.fails" --source "$source"
    for kernel in mma ldmatrix stmatrix movmatrix; do
        block=32
        [ $kernel = stmatrix ] && block=16
        fails "parted.$end:$place: '$kernel' by [0-9]* of the 32 lanes" "$features/parted.$end" --kernel $kernel --grid 1 \
            --block $block --arg buf:i32:32:zero
    done
    fails "parted.$end:$place: trap; kernel 'traps', block (0,0,0), thread (7,0,0)" "$features/parted.$end" --kernel traps \
        --grid 1 --block 32 --arg buf:i32:32:zero
done

# Warp instructions as an H200 counted them, of kernels that neither wait nor race. Three that call themselves or save a
# convergence barrier are known to differ, one that waits for other warps, and one in which two groups meet by chance.
if [[ $sources == *sass* ]]; then
    (cd "$SOURCE" && "$orrery" correlate hardware/h200/features.csv --csv "$dir/counts" -- --gpu h200 --source sass --model functional) \
        >"$dir/out" 2>"$dir/err" || complain "correlate: $(tail -1 "$dir/err")"
    awk -F, '$1 == "kernel" && $10 == "smsp__inst_executed.sum" && $2 ~ /(asm|control|cub|data|floating|groups|integer|mma|warp)[.]launch$/ {
        n++
        if ($11 != $14 && $5 !~ /^(tables|recursion|virtuals|large_tiles|sync)$/) print $2, $5 ": " $14 " warp instructions, not " $11
    } END { if (n < 60) print n + 0, "kernels counted" }' "$dir/counts" >"$dir/differ"
    [ ! -s "$dir/differ" ] || complain "$(<"$dir/differ")"
fi
echo "$ran programs"
exit $failed
