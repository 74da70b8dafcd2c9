#!/usr/bin/env bash
# `orrery hw profile` with a profiler and a CUDA driver of our own (fake_ncu.sh, fake_cuda.c), `orrery correlate` on what it wrote, and what
# both say when something is wrong.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

${CC:-cc} -std=gnu17 -O1 -shared -fPIC -o "$work/fake.so" "$SOURCE/tests/fake_cuda.c" || exit 1
cp "$SOURCE/tests/fake_ncu.sh" "$work/ncu" && chmod +x "$work/ncu" || exit 1
export ORRERY_LIBCUDA="$work/fake.so" ORRERY_NCU="$work/ncu" TMPDIR="$work/tmp"
mkdir "$work/tmp"
cp "$SOURCE/workloads/vecadd/vecadd.ptx" "$work/" || exit 1
cat > "$work/add.launch" <<'END'
module "vecadd.ptx"
size small n = 1000
size large n = 100000
buffer a f32[n] iota
buffer b f32[n] value 2
buffer c f32[n] value 77
for k = 1 to 2
  launch vecadd grid ceildiv(n, 256) block 256 args n, a, b, c
end
expect c expr i + 2
END
cd "$work" || exit 1

# check WHAT STATUS PATTERN... -- COMMAND: its exit status, and lines that its output must have
check() {
    local what=$1 want=$2 patterns=()
    shift 2
    while [ "$1" != -- ]; do patterns+=("$1"); shift; done
    shift
    "$@" > "$work/out" 2>&1
    local got=$? ok=1
    [ $got = "$want" ] || { ok=0; echo "$what: exit $got, should be $want"; }
    for p in "${patterns[@]}"; do
        grep -Eq -- "$p" "$work/out" || { ok=0; echo "$what: no line matches: $p"; }
    done
    if [ $ok = 0 ]; then sed 's/^/    /' "$work/out" | cut -c1-300; failures=$((failures + 1)); fi
}
has() { # WHAT FILE PATTERN...
    local what=$1 file=$2
    shift 2
    for p in "$@"; do grep -Eq -- "$p" "$file" || { echo "$what: no line matches: $p"; cut -c1-300 "$file"; failures=$((failures + 1)); }; done
}
profile() { "$ORRERY" hw profile "$@"; }
correlate() { "$ORRERY" correlate "$@"; }

# ---- hw run --log -----------------------------------------------------------------------------
check "hw run --log" 0 -- "$ORRERY" hw run add.launch --repeat 2 --log log.csv
has "hw run --log" log.csv "^script,size,round,launch,kernel,grid,block,registers,shared,time_us,right$" \
    "^add.launch,small,0,0,vecadd,4x1x1,256x1x1,16,0,500\.000,yes$" "^add.launch,small,1,1,vecadd,.*,yes$"
check "hw run takes no --warm" 2 "are for .orrery hw profile" -- "$ORRERY" hw run add.launch --warm

# ---- hw profile -------------------------------------------------------------------------------
# Launch N took 1000 * (N + 1) + 7 cycles, half as many ns; the second of the later rounds 100 cycles more.
export FAKE_NCU_SAW="$work/saw"
check "profile" 0 -- profile add.launch --repeat 3 -o a.csv
has "profile" a.csv "^script,size,cache,launch,repeat,kernel,grid,block,registers,shared,gpu,driver,date,.*gpc__cycles_elapsed.max" \
    "^add.launch,small,flushed,0,0,vecadd,4x1x1,256x1x1,24,1024,Fake 7,[0-9.]*,[0-9]{4}-[0-9]{2}-[0-9]{2},1007,,1980000000,.*,503,$" \
    "^add.launch,small,flushed,1,1,.*,2007,,1980000000,.*,1003,$" "^add.launch,small,flushed,1,2,.*,2107,,1980000000,.*,1053,$"
[ "$(wc -l < a.csv)" = 7 ] || { echo "profile: a.csv should have 7 lines"; failures=$((failures + 1)); }
# All that is known first, without what only the table of counters has; then the time alone.
has "profile's metrics" saw "^all .*,smsp__inst_executed.sum" "^all gpc__cycles_elapsed.max,gpu__time_duration.sum,sm__cycles_active.avg,gpc__cycles_elapsed.avg.per_second$"
grep -q "dram__\|orrery__" saw && { echo "profile: a metric that the profiler does not know"; failures=$((failures + 1)); }
rm saw
check "profile, warm, other metrics" 0 -- profile add.launch --size large --warm --metrics gpc__cycles_elapsed.max,foo__bar.sum -o w.csv
has "profile, warm" w.csv "date,gpc__cycles_elapsed.max,foo__bar.sum$" "^add.launch,large,warm,0,0,vecadd,391x1x1,.*,1007,$"
has "profile, warm" saw "^none gpc__cycles_elapsed.max,foo__bar.sum$"
FAKE_NCU=units check "units" 0 -- profile add.launch -o u.csv
has "units" u.csv "^add.launch,small,flushed,1,0,.*,2007,,1980000000,.*,1000,$"
[ -z "$(ls tmp)" ] || { echo "profile: it leaves something in TMPDIR: $(ls tmp)"; failures=$((failures + 1)); }

# Ctrl-C in the first of three rounds: that round is kept.
FAKE_NCU=stop check "stopped" 130 "stopping; what is there follows" -- profile add.launch --repeat 3 -o stopped.csv
has "stopped" stopped.csv "^add.launch,small,flushed,0,0,vecadd," "^add.launch,small,flushed,1,0,vecadd,"
[ "$(grep -c '^add.launch' stopped.csv)" = 2 ] || { echo "stopped: not the two launches of one round"; failures=$((failures + 1)); }
[ -z "$(ls "$work/tmp")" ] || { echo "stopped: files are left"; failures=$((failures + 1)); }
FAKE_NCU=permission check "no permission" 2 "has no results: ERR_NVGPUCTRPERM - The user does not have permission" -- profile add.launch -o n.csv
FAKE_NCU=other check "another kernel" 2 "ncu.csv:5: the profiler saw kernel another, .* where add.launch launched vecadd" -- profile add.launch -o n.csv
FAKE_NCU=lost check "a kernel less" 2 "the profiler saw fewer kernels than were launched; the first without is vecadd of add.launch" -- profile add.launch -o n.csv
FAKE_NCU=extra check "a kernel more" 2 "ncu.csv:7: the profiler saw more kernels" -- profile add.launch -o n.csv
[ ! -e n.csv ] || { echo "profile: a file in spite of an error"; failures=$((failures + 1)); }
FAKE_CUDA=wrong check "wrong results" 1 "1 of 1 scripts are not in n.csv, they launched nothing or left wrong results: add.launch" -- profile add.launch -o n.csv
ORRERY_NCU=$work/none check "no such ncu" 2 "ORRERY_NCU names .*none, which cannot be run" -- profile add.launch -o n.csv
if ! ls /usr/local/cuda*/bin/ncu /opt/nvidia/nsight-compute/*/ncu > /dev/null 2>&1; then
    check "no ncu" 2 "needs Nsight Compute's ncu" -- env ORRERY_NCU= PATH=/nowhere "$ORRERY" hw profile add.launch -o n.csv
fi
check "no output" 2 "name the file to write with -o" -- profile add.launch
check "no input" 2 "an INPUT is needed" -- profile -o n.csv

# ---- correlate --------------------------------------------------------------------------------
check "correlate" 0 "^Fake 7.* against h200, model cycle, from PTX$" "^scripts: 1, kernels: 1, launches: 2; repeats differ by 6\.6 % on average$" \
    "^add.launch/vecadd small +flushed +2 +3,014 +[0-9,]+ +[+-][0-9.]+ %" "^gpc__cycles_elapsed.max +1 " "^cycles by kernel, 1: MAPE " \
    "^cycles by launch, 2: " "measured on Fake 7, simulated on h200" -- correlate a.csv --csv p.csv --html p.html
has "points" p.csv "^kernel,add.launch,small,flushed,vecadd,,2,4x1x1,256x1x1,gpc__cycles_elapsed.max,3014,3014,3214,[0-9]+,[-0-9.]+,1$" \
    "^launch,add.launch,small,flushed,vecadd,1,1,4x1x1,256x1x1,gpc__cycles_elapsed.max,2007,2007,2107,"
has "page" p.html '^<!doctype html>' '"script":"add.launch"' 'id="scatter"' 'id="over_size"'
# It opens offline: nothing is fetched.
if grep -Eiq 'https?:|<link|src=|url\([^#]|@import|fetch\(|XMLHttp' p.html; then echo "page: it names something outside"; failures=$((failures + 1)); fi
check "json" 0 '^ "cycles": .*"points": 1, .*"mape": [0-9.]+, "wmape": [0-9.]+, .*"pearson": null' '"smsp__inst_executed.sum"|"gpu__time_duration.sum": ' \
    -- correlate a.csv --json -q
cp out one.json
check "json, other threads" 0 -- correlate a.csv --json -q -- --threads 1
if ! diff <(sed 's/"seconds": [0-9.]*//' one.json) <(sed 's/"seconds": [0-9.]*//' out) > /dev/null; then echo "json: depends on the number of threads"; failures=$((failures + 1)); fi
check "two files" 0 "^scripts: 1, kernels: 2, launches: 4" "add.launch/vecadd large +warm" -- correlate a.csv w.csv -q
check "a size" 0 "^scripts: 1, kernels: 1, launches: 2" -- correlate a.csv w.csv -q -- --size large
check "a script and a kernel" 0 "^scripts: 1," -- correlate a.csv -q -- add.launch --kernels 'vec*'
# A larger launch overhead is seen: options reach the simulation.
check "options of run" 0 -- correlate a.csv --json -q -- --set launch.overhead=50000
cmp -s out one.json && { echo "options of run: no difference"; failures=$((failures + 1)); }
check "functional" 0 "model functional" "vecadd .* 3,014 +- +- " -- correlate a.csv -q -- --model functional

# Counts that do not depend on time are those of an H200 to the last instruction, from machine code (isa/sass.def), in both models.
same=()
for c in smsp__inst_executed.sum sm__inst_executed_pipe_{alu,fma,xu,lsu,cbu,tensor,uniform}.sum smsp__inst_executed_op_{branch,shared_ld,shared_st}.sum \
    l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st}.sum; do same+=("^$c +[0-9]+ +0\\.0 % +0\\.0 % +[+-]?0\\.0 % "); done
for model in functional cycle; do
    check "an H200's counts, $model" 0 "from machine code" "${same[@]}" -- \
        correlate "$SOURCE/hardware/h200/workloads.csv" -q -- --gpu h200 --model $model --size small blackscholes bitonic softmax sgemm_tiled kmeans
done

sed 's/^add.launch/gone.launch/' a.csv | tail -n 2 > gone.rows
(cat a.csv gone.rows) > gone.csv
check "a script that is gone" 1 "^gone.launch/vecadd .* no prediction: gone.launch: there is no such file" "^without a prediction .*: 1 kernels" \
    "^orrery: correlate: one script has no prediction: gone.launch" "^cycles by kernel, 1:" -- correlate gone.csv -q
check "no cycles" 2 "gpc__cycles_elapsed.max was not measured" -- bash -c 'cut -d, -f1-13 a.csv > few.csv; "$1" correlate few.csv' - "$ORRERY"
check "not a CSV" 2 "add.launch:1: there is no column script" -- correlate add.launch
check "no file" 2 "nothing.csv: " -- correlate nothing.csv
check "no argument" 2 "name a file of measurements" -- correlate
check "not measured" 2 "none of the 6 measurements" -- correlate a.csv -- saxpy
check "script's constants" 2 "would change a script" -- correlate a.csv -- --set n=5
check "no such option of run" 2 "run: unknown option --frobnicate" -- correlate a.csv -- --frobnicate
check "one of run's that means nothing here" 2 "after -- it takes" -- correlate a.csv -- --timeline t.json
check "output over input" 2 "a.csv: is the INPUT" -- correlate a.csv --csv a.csv
check "one file for two" 2 "x.out is named for two outputs" -- correlate a.csv --csv x.out --html x.out

# ---- regular kernels: of these three saxpy's, whose accesses do not depend on data ----------------------
check "regular" 0 '^counter .* < 5 % .*regular MAPE' '^1 kernels are regular' '^l1tex__t_sectors.sum .* 0.0 %  100.0 %$' -- \
    correlate "$SOURCE/hardware/h200/workloads.csv" --csv regular.csv -- --gpu h200 --size small saxpy gridding
has "regular" regular.csv '^kernel,saxpy,.*,1$' '^kernel,gridding,.*,gridding_place,.*,0$'

[ $failures = 0 ] && echo "profile and correlate: all right"
exit $((failures > 0))
