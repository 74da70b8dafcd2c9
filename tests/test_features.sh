#!/usr/bin/env bash
# Programs that use what the workloads do not: each checks itself, on one host thread and on three, with streams and
# without; and programs that must fail, with what they must say.
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

for script in "$features"/*.launch; do
    name=$(basename "$script" .launch)
    for way in "--threads 1" "--threads 3" "--threads 3 --counts-only"; do
        # shellcheck disable=SC2086
        "$orrery" run "$script" $way --max-insts 100M --json >"$dir/out" 2>"$dir/err" ||
            complain "$name $way: $(head -1 "$dir/err")"
        grep -qE '"buffers_checked": [1-9]' "$dir/out" || complain "$name $way: no buffer was checked"
        # with --json, what kernels print goes to standard error
        [ "$name" != print ] || cmp -s "$dir/err" "$features/print.txt" ||
            complain "print $way: $(diff "$dir/err" "$features/print.txt" | head -3)"
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
fails "assertion.ptx:[0-9]*: assertion 'in\[t\] < 100' failed at assertion.cu:6.*block (1,0,0), thread (5,0,0)" \
    "$features/assertion.fails"
for kernel in mma ldmatrix stmatrix movmatrix; do
    block=32
    [ $kernel = stmatrix ] && block=16
    fails "parted.ptx:[0-9]*: '$kernel' by [0-9]* of the 32 lanes" "$features/parted.ptx" --kernel $kernel --grid 1 \
        --block $block --arg buf:i32:32:zero
done
fails "parted.ptx:[0-9]*: trap; kernel 'traps', block (0,0,0), thread (7,0,0)" "$features/parted.ptx" --kernel traps \
    --grid 1 --block 32 --arg buf:i32:32:zero
echo "$ran programs"
exit $failed
