#!/usr/bin/env bash
# orrery capture, and what it writes replayed: capture_program.c on a GPU that is none (fake_cupti.c).
set -euo pipefail
orrery=${ORRERY:?the command}
source=${SOURCE:?the source tree}
build=${BUILD:?the build folder}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
[ -e "$build/capture/liborrery-capture.so" ] || { echo "skipped: no library"; exit 77; }
cc=${CC:-cc}
"$cc" -O1 -shared -fPIC "$source/tests/fake_cupti.c" -Wl,-soname,libcuda.so.1 -o libcuda.so.1 -ldl
cp libcuda.so.1 none.so
"$cc" -O1 "$source/tests/capture_program.c" -o program -L. -l:libcuda.so.1 -Wl,-rpath,"$dir"
export ORRERY_LIBCUDA=$dir/libcuda.so.1 ORRERY_CUPTI=$dir/libcuda.so.1
cubin=$source/workloads/saxpy/saxpy.cubin
fail() { echo "$*"; cat err 2>/dev/null; exit 1; }
# refused WHAT COMMAND...: exit status 2, and one line
refused() {
    local what=$1 rc=0
    shift
    "$@" >out 2>err || rc=$?
    [ $rc -eq 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^orrery: ' err || fail "$what: status $rc"
}

# The program prints what it does without, and has its own exit status.
rc=0
"$orrery" capture -o all ./program "$cubin" 7 >out 2>err || rc=$?
[ $rc -eq 7 ] && [ "$(cat out)" = 10935312.5 ] || fail "the program under capture: status $rc, $(cat out)"
grep -q '3 of 3 launches were captured' err || fail "not three launches"
[ "$(find all -type f | wc -l)" = 5 ] && [ "$(find all -name '*.launch' | wc -l)" = 3 ] || { ls all; fail "files"; }
cmp -s all/*.cubin "$cubin" || fail "the machine code"
"$orrery" run all --json >r.json 2>err || fail "replay"
grep -q '3 of 3 launches were replayed; 3 left memory bit for bit as the GPU did' err || fail "not the same memory"
[ "$(grep -c '"kernel": *"saxpy", "index"' r.json)" = 3 ] || fail "three launches in the report"
"$orrery" run all --model cycle --launches 1 --json >r.json 2>err || fail "one of them, timed"
grep -q '1 of 3 launches were replayed; 1 left' err && grep -q '"cycles": *[1-9]' r.json || fail "the second alone"
"$orrery" sweep all --model analytic --vary sm.count=66,132 -o s.db >out 2>err || fail "sweep"
# What is captured of a program that is killed stays.
rc=0
FAKE_CUDA=killed "$orrery" capture -o killed ./program "$cubin" >out 2>err || rc=$?
[ $rc -eq 137 ] && "$orrery" run killed >out 2>err && grep -q '1 of 1 launches were replayed; 1 left' err || fail "killed: $rc"
# A GPU that computes something else is found out.
FAKE_CUDA=wrong "$orrery" capture --launches 1-2 -o wrong ./program "$cubin" >out 2>err
rc=0
"$orrery" run wrong >out 2>err || rc=$?
[ $rc -eq 1 ] && grep -q "launch 1, kernel 'saxpy': memory is not as the GPU left it in 1 pieces" err && grep -q '2 of 2 launches left other memory' err || fail "wrong: $rc"
"$orrery" run wrong --no-check >out 2>err || fail "not compared"
# Times, a limit of memory, kernels by name.
"$orrery" capture --kernels 'nothing*' -o none ./program "$cubin" >out 2>err
grep -q '0 of 3 launches were captured' err || fail "--kernels"
refused "without launches" "$orrery" run none
"$orrery" capture --memory 30k -o small ./program "$cubin" >out 2>err
grep -q '3 of them without memory' err || fail "--memory"
refused "without memory" "$orrery" run small -q

# Mistakes, and folders that are not as they should be
refused "no program" "$orrery" capture -o x
refused "no folder" "$orrery" capture ./program
"$orrery" capture -o all ./program "$cubin" >out 2>err
compgen -G "all/process-*" >/dev/null || fail "another process has a folder of its own"
rm -r all/process-*
broken() { rm -rf bad && cp -r all bad; }
broken && rm bad/*.cubin && refused "no module" "$orrery" run bad -q
broken && rm bad/0000000.launch && refused "the first is missing" "$orrery" run bad
broken && mv bad/0000000.launch bad/0000009.launch && refused "reordered" "$orrery" run bad
broken && truncate -s -1 bad/0000001.launch && refused "truncated" "$orrery" run bad
broken && printf x >>bad/0000001.launch && refused "longer" "$orrery" run bad
broken && : >bad/0000001.launch && refused "empty" "$orrery" run bad
broken && ln -sf /etc/passwd bad/0000001.launch && refused "a link" "$orrery" run bad
broken && echo 'orrery capture 9' >bad/capture.txt && refused "another version" "$orrery" run bad
for at in 0 4 8 45 60 500 2000; do # a byte changed here and there: refused, or other memory, never a crash
    broken
    printf '\377' | dd of=bad/0000000.launch bs=1 seek=$at conv=notrunc status=none
    rc=0
    "$orrery" run bad >out 2>err || rc=$?
    [ $rc -eq 2 ] || [ $rc -eq 1 ] || fail "byte $at changed: status $rc"
done
echo "all right"
