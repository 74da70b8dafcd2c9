#!/usr/bin/env bash
# Bundled workloads as ordinary CUDA programs (app/host.c), compiled by nvcc; skipped where there is none.
# NAMES="saxpy bfs ..." are those that are compiled, a few by default: nvcc takes seconds for each.
set -euo pipefail
orrery=${ORRERY:?the command}
source=${SOURCE:?the source tree}
build=${BUILD:?the build folder}
read -ra names <<<"${NAMES:-saxpy bfs convsep}"
command -v nvcc >/dev/null || { echo "skipped: no nvcc"; exit 77; }
[ -e "$build/cuda/liborrery-cuda.so" ] && [ -e "$build/liborrery.a" ] || { echo "skipped: no library"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# A .cu of each workload's, with what the host knows of it: its kernels and variables by name. Helper functions
# of the same name in several of them stay apart because each is a file of its own.
kernels='' variables='' externs=''
for n in "${names[@]}"; do
    cu=$source/workloads/$n/$n.cu
    { echo "#include \"$cu\""; echo 'extern "C" {'; } >"$n.cu"
    for k in $(tr '\n' ' ' <"$cu" | sed -E 's/__launch_bounds__\([^)]*\)//g' | grep -oE '__global__ +void +[A-Za-z_0-9]+' | grep -oE '[A-Za-z_0-9]+$'); do
        echo "extern const void *const at_$k = (const void *)$k;" >>"$n.cu"
        externs+="extern \"C\" const void *const at_$k;"$'\n'
        kernels+="{\"$k\", at_$k}, "
    done
    for v in $(grep -E '^(extern "C" )?__(constant|device)__ [a-z ]+ [A-Za-z_0-9]+(\[|;)' "$cu" | grep -oE '[A-Za-z_0-9]+(\[|;)' | sed -n 1p | tr -d '[;'); do
        echo "extern const void *const var_$v = (const void *)&$v;" >>"$n.cu"
        externs+="extern \"C\" const void *const var_$v;"$'\n'
        variables+="{\"$v\", var_$v}, "
    done
    echo '}' >>"$n.cu"
done
cat >table.cu <<EOF
struct entry { const char *name; const void *at; };
$externs
extern "C" { extern const entry kernels[] = {${kernels}{0, 0}}, variables[] = {${variables}{0, 0}}; }
EOF
cc=${CC:-cc}
"$cc" -D_GNU_SOURCE -O1 -I"$source/src" -c "$source/tests/app/host.c" -o host.o
libs=$(sed -n 's/^Libs.private: *//p' "$build/orrery.pc")
# shellcheck disable=SC2086 # several libraries
nvcc -cudart shared -arch=sm_90 -O2 -t 2 ./*.cu host.o "$build/liborrery.a" $libs -lpthread -lm -o host

for source_of in sass ptx; do
    "$orrery" app -q --source $source_of ./host small "${names[@]}" >out || { cat out; echo "wrong ($source_of)"; exit 1; }
    [ "$(grep -c ': right$' out)" = "${#names[@]}" ] || { cat out; exit 1; }
done
# Timed: as many launches in the report as the program makes.
"$orrery" app --model cycle --json -o r.json ./host small "${names[0]}" >out
grep -q '"cycles": *[1-9]' r.json || { echo "no cycles in the report"; exit 1; }
# Launches from kernels, conditional nodes: linked device code.
nvcc -cudart shared -arch=sm_90 -rdc=true "$source/tests/app/children.cu" -lcudadevrt -o children
for model in functional cycle; do
    "$orrery" app -q --model "$model" ./children >out || { cat out; exit 1; }
    grep -q 'launches and conditions: right' out || { cat out; exit 1; }
done
# The same from PTX, as nvcc's default architecture has it.
nvcc -cudart shared -gencode arch=compute_75,code=compute_75 -rdc=true "$source/tests/app/children.cu" -lcudadevrt -o children
"$orrery" app -q --model functional ./children >out || { cat out; exit 1; }
grep -q 'launches and conditions: right' out || { cat out; exit 1; }
# Two files with kernels, of which there is only PTX for this GPU.
nvcc -rdc=true -gencode arch=compute_75,code=compute_75 -dc "$source/tests/app/parts.cu" -o first.o
nvcc -rdc=true -gencode arch=compute_75,code=compute_75 -DSECOND -dc "$source/tests/app/parts.cu" -o second.o
nvcc -cudart shared -gencode arch=compute_75,code=compute_75 first.o second.o -o parts
"$orrery" app -q --model functional ./parts >out || { cat out; exit 1; }
grep -qx 'parts, wrong: 0, calls: 74' out || { cat out; exit 1; }
echo "all right: ${names[*]} children parts"
# Textures' rarer forms leave what an H200 left, but for one coordinate at the edge of a cube's face, and levels that slopes
# make, which it computes with fewer bits (mip-).
cuda=$(dirname "$(command -v nvcc)")/..
g++ -O1 -w "$source/micro/hopper/textures.cc" -I"$cuda/include" -L"$build/cuda" -l:libcuda.so.1 -o textures
for part in "plain 1556" "slopes 508"; do
    read -r part lines <<<"$part"
    python3 "$source/micro/hopper/textures.py" "$part" >part.ptx
    ptxas -arch=sm_90a part.ptx -o part.cubin
    grep -o 'entry [a-z0-9_]*' part.ptx | cut -c7- >part.names
    for module in part.ptx part.cubin; do
        "$orrery" app -q --model functional ./textures $module part.names /dev/null >out || { tail -1 out; exit 1; }
        awk -v lines="$lines" 'NR == FNR { if (!/^#/) want[$1 " " $2] = $3; next }
            $3 != "begins" { n++; if (want[$2 " " $3] != $4 && !($2 ~ /slope/ && /mip-/)) { wrong++; if (!/cube.*u8n/) odd = 1 } }
            END { exit n != lines || wrong > 6 || odd }' "$source/hardware/h200/textures.txt" out || { echo "$part, $module: not what an H200 left"; exit 1; }
    done
done
