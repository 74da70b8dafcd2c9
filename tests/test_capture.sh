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
"$cc" -D_GNU_SOURCE -O1 -shared -fPIC "$source/tests/fake_cupti.c" -Wl,-soname,libcuda.so.1 -o libcuda.so.1 -ldl -lm
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
"$orrery" compare all --gpu h200 --model analytic,abstract >out 2>err || fail "compare"
# What is captured of a program that is killed stays.
rc=0
FAKE_CUDA=killed "$orrery" capture -o killed ./program "$cubin" >out 2>err || rc=$?
[ $rc -eq 137 ] && "$orrery" run killed >out 2>err && grep -q '1 of 1 launches were replayed; 1 left' err || fail "killed: $rc"
# Memory in places that are 80 TiB and more apart, as cudaMalloc's and a pool's.
FAKE_CUDA=apart "$orrery" capture -o apart ./program "$cubin" >out 2>err
"$orrery" run apart --model cycle >out 2>err && grep -q '3 of 3 launches were replayed; 3 left' err || fail "memory in two places"
# A region where another one has been: what that one held is not what this one begins with.
FAKE_CUDA=again "$orrery" capture -o again ./program "$cubin" 0 again >out 2>err
"$orrery" run again >out 2>err && grep -q '3 of 3 launches were replayed; 3 left' err || fail "memory that was somebody else's"
# Of several GPUs the first that is used is captured, with one line.
FAKE_CUDA=second "$orrery" capture -o gpus ./program "$cubin" >out 2>err
grep -q '1 of 1 launches were captured' err && [ "$(grep -c 'launched on GPU 1 too; only launches on GPU 0' err)" = 1 ] || fail "two GPUs"
grep -qx 'gpu Fake' gpus/capture.txt || fail "no name of the GPU"
"$orrery" run gpus >out 2>err || fail "the first GPU's launches"
# A GPU that computes something else is found out.
FAKE_CUDA=wrong "$orrery" capture --launches 1-2 -o wrong ./program "$cubin" >out 2>err
rc=0
"$orrery" run wrong >out 2>err || rc=$?
[ $rc -eq 1 ] && grep -q 'model functional' out && grep -q "launch 1, kernel 'saxpy': memory is not as the GPU left it in 1 pieces" err && grep -q '2 of 2 launches left other memory' err || fail "wrong: $rc"
"$orrery" run wrong --no-check >out 2>err || fail "not compared"
# Times, a limit of memory, kernels by name.
"$orrery" capture --kernels 'nothing*' -o none ./program "$cubin" >out 2>err
grep -q '0 of 3 launches were captured' err || fail "--kernels"
refused "without launches" "$orrery" run none
"$orrery" capture --memory 30k -o small ./program "$cubin" >out 2>err
grep -q '3 of them without memory' err || fail "--memory"
refused "without memory" "$orrery" run small -q

# Kernels of graphs, node by node, and ranges of NVTX; what a kernel cannot reach is not there.
"$cc" -O1 "$source/tests/capture_graph.c" -o graph -L. -l:libcuda.so.1 -Wl,-rpath,"$dir"
"$orrery" capture -o graphs ./graph "$cubin" >out 2>err
[ "$(cat out)" = 14059684.1 ] && grep -q '6 of 6 launches were captured' err || fail "graphs: $(cat out)"
"$orrery" run graphs --model cycle --json >r.json 2>err || fail "graphs replayed"
grep -q '6 of 6 launches were replayed; 6 left memory bit for bit' err || fail "not what the graph left"
[ "$(grep -c '"range": "graphs"' r.json)" = 5 ] && grep -q '"range": "alone/inner"' r.json &&
    grep -q '"range": "alone/backward/InnerBackward/InnerBackward"' r.json || fail "ranges"
"$orrery" run graphs 2>err | grep -Eq '^  inner +1 ' || fail "a table of ranges"
[ "$(grep -aoE 'region [0-9a-f]+ [0-9]+' graphs/0000000.launch | wc -l)" = 3 ] || fail "x, y and what x points to, and nothing else"
"$orrery" capture --all-memory -o whole ./graph "$cubin" >out 2>err
[ "$(grep -aoE 'region [0-9a-f]+ [0-9]+' whole/0000000.launch | wc -l)" = 4 ] || fail "--all-memory"
"$orrery" capture --range 'inn*' -o inner ./graph "$cubin" >out 2>err
grep -q '1 of 6 launches were captured' err && "$orrery" run inner >out 2>err || fail "--range"
FAKE_CUDA=host "$orrery" capture -o hosts ./graph "$cubin" >out 2>err
grep -q 'because it has a host function' err && grep -q '2 of 2 launches were captured' err || fail "a host function"
"$orrery" run graphs --range alone >out 2>err && grep -q '2 of 6 launches were replayed' err || fail "run --range"
refused "a range of a script" "$orrery" run saxpy --range x
"$orrery" info graphs >out 2>err && grep -Eq '^ +4  saxpy .* alone/inner$' out || fail "info"
"$orrery" info graphs --json | grep -q '"range": "alone/inner", "incomplete": null' || fail "info --json"
# Conditional nodes: a loop of five rounds, then of four, and a kernel after each.
"$cc" -O1 "$source/tests/capture_rounds.c" -o rounds -L. -l:libcuda.so.1 -Wl,-rpath,"$dir"
"$orrery" capture -o loops ./rounds "$source/tests/app/rounds.cubin" >out 2>err
[ "$(cat out)" = "-2 33 14" ] && grep -q '11 of 11 launches were captured' err || fail "conditions: $(cat out)"
"$orrery" run loops >out 2>err && grep -q '11 of 11 launches were replayed; 11 left memory bit' err || fail "rounds replayed"
# Without what kernels leave: each launch finds what the one before left here.
"$orrery" capture --inputs-only -o inputs ./graph "$cubin" >out 2>err
"$orrery" run inputs --launches 4 --json >r.json 2>err || fail "--inputs-only"
grep -q '6 left memory bit for bit' err && [ "$(grep -c '"index": 4' r.json)" = 1 ] || fail "all are executed for one"
[ "$(cat inputs/*.launch | wc -c)" -lt "$(cat graphs/*.launch | wc -c)" ] || fail "it is no smaller"
# One launch of a kind stands for the others.
"$orrery" capture --sample -o sampled ./graph "$cubin" >out 2>err
grep -q '5 of them without memory, because they are like others' err || fail "--sample"
"$orrery" run sampled --model cycle --json >r.json 2>err || fail "a sampled capture"
[ "$(grep -c '"kernel": *"saxpy", "index"' r.json)" = 6 ] && grep -q '"index": 5' r.json || fail "launches like others"
refused "not measured" "$orrery" correlate graphs
# What was measured of them all is compared with what is predicted of the first.
{
    echo 'script,size,cache,launch,repeat,kernel,grid,block,registers,shared,gpu,driver,date,gpc__cycles_elapsed.max'
    for n in 0 1 2 3 4 5; do echo "sampled,,flushed,$n,0,saxpy,20x1x1,256x1x1,16,0,NVIDIA H200,0,2026-01-01,$((4000 + n))"; done
} >sampled/measured.csv
"$orrery" correlate sampled --json -o c.json -- --gpu h200 2>err || fail "correlate of a sampled capture"
grep -q '"by_launch": {"cycles": {"points": 6, "missing": 0' c.json || fail "launches like others have no prediction"
# Textures and surfaces: texels of arrays, before and after.
"$cc" -O1 "$source/tests/capture_texture.c" -o textures -L. -l:libcuda.so.1 -Wl,-rpath,"$dir"
"$orrery" capture -o painted ./textures "$source/tests/app/paint.cubin" >out 2>err
[ "$(cat out)" = 2610498.0 ] && grep -q '3 of 3 launches were captured' err || fail "textures: $(cat out)"
[ "$(grep -ac '^texture ' painted/0000000.launch)" = 4 ] || fail "four handles"
for model in functional cycle; do
    "$orrery" run painted --model $model >out 2>err || fail "textures replayed"
    grep -q '3 of 3 launches were replayed; 3 left memory bit for bit' err || fail "other texels"
done
"$orrery" run painted --launches 2 >out 2>err && grep -q '1 of 3 launches were replayed; 1 left' err || fail "the third alone"
"$orrery" capture --sample -o alike ./textures "$source/tests/app/paint.cubin" >out 2>err
"$orrery" run alike --model cycle >out 2>err && grep -q '1 of 3 launches were replayed; 1 left' err || fail "textures, one for all"
sed 's/^\(texture [0-9a-f]* [0-9a-f]* 1 0 7 1 0 1 37\) 11 /\1 99 /' <painted/0000000.launch >damaged
cmp -s damaged painted/0000000.launch && fail "no texture to damage"
cp damaged painted/0000000.launch
refused "a texture larger than its memory" "$orrery" run painted

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
