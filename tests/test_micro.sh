#!/usr/bin/env bash
# `orrery hw micro` against a CUDA driver of our own (fake_cuda.c), the statement `measure`, the bundled microbenchmarks on the CPU, and
# `orrery tune` on findings made here.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work" || exit 1

${CC:-cc} -std=gnu17 -O1 -shared -fPIC -o fake.so "$SOURCE/tests/fake_cuda.c" || exit 1
export ORRERY_LIBCUDA="$work/fake.so"
cp "$SOURCE/workloads/vecadd/vecadd.ptx" . || exit 1

# check WHAT STATUS PATTERN... -- COMMAND: its exit status, and lines that its output must have
check() {
    local what=$1 want=$2 patterns=()
    shift 2
    while [ "$1" != -- ]; do patterns+=("$1"); shift; done
    shift
    "$@" > out 2>&1
    local got=$? ok=1
    [ $got = "$want" ] || { ok=0; echo "$what: exit $got, should be $want"; }
    for p in "${patterns[@]}"; do
        grep -Eq -- "$p" out || { ok=0; echo "$what: no line matches: $p"; }
    done
    if [ $ok = 0 ]; then sed 's/^/    /' out; failures=$((failures + 1)); fi
}
micro() { "$ORRERY" hw micro "$@"; }
tune() { "$ORRERY" tune "$@"; }

# ---- measure ------------------------------------------------------------------------------------
# c = a + b with a = 0 1 2 ... and b = 2: element k is k + 2. `full` is the size that hw micro takes.
cat > add.launch <<'END'
module "vecadd.ptx"
size quick n = 100
size full n = 1000
buffer a f32[n] iota
buffer b f32[n] value 2
buffer c f32[n]
launch vecadd grid ceildiv(n, 256) block 256 args n, a, b, c
let k = 7
let half = 0.5
measure "sum" "things" c[k] * 10 at k, half
measure "n" "elements" n
expect c expr i + 2
END
check "measured" 0 "^benchmark,size,metric,point,unit,value,low,high,repeats,gpu,driver,date$" \
    "^device,,device.sms,,SMs,132,132,132,1,Fake 7,12.4," "^device,,device.memory,,B,[0-9]+," \
    "^add,full,sum,k=7 half=0.5,things,90,90,90,3,Fake 7,12.4,20[0-9-]+$" "^add,full,n,,elements,1000,1000,1000,3," -- micro add.launch --repeat 3
check "another size" 0 "^add,quick,n,,elements,100," -- micro add.launch --size quick
check "to a file" 0 -- micro add.launch -o found.csv
grep -q "^add,full,sum" found.csv || { echo "to a file: no row"; failures=$((failures + 1)); }
check "nothing to hear" 0 -- "$ORRERY" run add.launch -q
FAKE_CUDA=wrong check "wrong results" 1 "hw micro: .*add.launch:12" "^device,,device.sms" -- micro add.launch
FAKE_CUDA=fault check "a fault" 1 "CUDA_ERROR_ILLEGAL_ADDRESS" "hw micro: after that fault the driver takes no more work" -- micro add.launch add.launch
check "no such script" 2 "hw micro: gone.launch: there is no such file" "^add,full,n" -- micro gone.launch add.launch
check "not for it" 2 "hw micro: --json" -- micro add.launch --json
for bad in 'measure n "u" 1|the name of what is measured in quotes' 'measure "m" 1|its unit in quotes' 'measure "m" "u"|a number' \
    'measure "m" "u" 1 at|a variable' 'measure "m" "u" 1 at a|is not a variable' 'measure "m" "u" 1 at zz|is not a variable'; do
    { head -n 4 add.launch; echo "${bad%|*}"; } > bad.launch
    check "${bad%|*}" 2 "^orrery: bad.launch:5: .*${bad#*|}" -- "$ORRERY" run bad.launch -q
done

# ---- the bundled ones ------------------------------------------------------------------------------
# Every script runs on the CPU, which finds accesses outside of buffers, from PTX and from machine code where that can be executed.
n=0
for f in "$SOURCE"/micro/*.launch; do
    name=micro/$(basename "$f" .launch)
    n=$((n + 1))
    check "$name" 0 -- "$ORRERY" run "$name" --size quick --source ptx --counts-only -q
done
[ $n -ge 15 ] || { echo "only $n microbenchmarks"; failures=$((failures + 1)); }
kernels=$(grep -h '\.visible \.entry' "$SOURCE"/micro/*.ptx | wc -l)
[ "$kernels" -ge 40 ] || { echo "only $kernels kernels"; failures=$((failures + 1)); }

# ---- tune ---------------------------------------------------------------------------------------
{
    echo "metric,point,value,gpu"
    for r in "device.cc_major,,8" "device.cc_minor,,0" "device.sms,,108" "device.clock,,1410000" "device.memory_clock,,1215000" \
        "device.memory_bus,,5120" "device.memory,,42949672960" "device.l2_size,,41943040" "clock.sm,,1410" "l1.latency,,38.1" \
        "l2.read,foot=4,4000" "l2.from_sm,sm=0,200" "l2.size,mb=256,480"; do echo "$r,Some A100"; done
} > a.csv
check "tuned" 0 '^inherit = "family/ampere"' '^product += "Some A100"' "^sm.count += 108 SMs +# measured: device.sms = 108" \
    "^l1.latency += 38 cycles +# measured: l1.latency = 38.1" "^dram.bandwidth += 1555 GB/s" "^# Without a reading.* shared.latency" -- tune a.csv
check "written" 0 -- tune a.csv -o a.conf
check "and it runs" 0 "Some A100|a.conf" -- "$ORRERY" gpu show ./a.conf
check "and simulates" 0 "vecadd" -- "$ORRERY" run vecadd --size small --gpu ./a.conf --model cycle -q
# How long code and parameters take when a kernel starts is found again where a simulated GPU has been measured.
sed 's/cc_major,,8/cc_major,,9/; s/sms,,108/sms,,132/' a.csv > h.csv
"$ORRERY" tune h.csv -q -o h.conf
"$ORRERY" run micro/start --size quick --gpu ./h.conf --model cycle --flush --set launch.code_latency=150 --set launch.gpc_code=4 \
    --set launch.gpc_constants=2 --json -q -o start.json
python3 - > start.csv <<'END'
import json
names = ["gpc__cycles_elapsed.max"] + [f"smsp__warps_issue_stalled_{k}.sum" for k in ("no_instruction", "imc_miss")]
print("script,size,cache,launch,repeat,kernel,grid,block,gpu," + ",".join(names))
for l in json.load(open("start.json"))["launches"]:
    shape = ["x".join(map(str, l[k])) for k in ("grid", "block")]
    counts = [str(l["counters"][n]) for n in names]
    print(",".join(["micro/start,quick,flushed", str(l["index"]), "0", l["kernel"], *shape, "Some H100", *counts]))
END
check "how a kernel starts" 0 "^launch.code_latency += (149|150|151)[.0-9]* cycles" "^launch.gpc_code += (3.9|4)[.0-9]* cycles" \
    "^launch.gpc_constants += (1.9|2)[.0-9]* cycles" -- tune h.csv start.csv
# What was measured on an H200 gives a description of it, without a GPU.
check "an H200" 0 '^inherit = "family/hopper"' "^sm.count += 132 SMs" "^op.fp32.latency += 4 cycles" "^op.fp64.latency += 8 cycles" "^unit.alu.lanes += 16 lanes" \
    "^l1.latency += 3[0-9] cycles" "^l2.size += 60 MB" "^const.size += 2048 B" "^core.policy += gty" -- tune "$SOURCE/hardware/h200/micro.csv"
check "no findings" 2 "tune: name the file" -- tune
check "no file" 2 "none.csv: " -- tune none.csv
check "other file" 2 "add.launch: there is no column metric" -- tune add.launch
check "over its input" 2 "a.csv" -- tune a.csv -o a.csv
# With cycles of launches: what a launch costs. Nothing else was measured, so that nothing is searched for.
{
    echo "script,size,cache,launch,kernel,grid,block,gpc__cycles_elapsed.max"
    echo "micro/blocks,quick,flushed,5,empty,1x1x1,32x1x1,3000"
    echo "micro/blocks,quick,flushed,8,empty,132x1x1,32x1x1,3100"
    echo "micro/blocks,quick,flushed,11,empty,4224x1x1,32x1x1,7192"
} > launches.csv
check "launches" 0 "^profiler.overhead += [0-9]+ cycles +# measured: an empty kernel of one block: 3000 cycles measured" "^launch.block_interval += 1.00 cycles" -- tune a.csv launches.csv --log tried.txt

if [ $failures -gt 0 ]; then
    echo "$failures of the checks of microbenchmarks failed"
    exit 1
fi
echo "microbenchmarks and tune: all right"
