#!/usr/bin/env bash
# `orrery sweep` and `orrery compare` from the command line: what they write, what they say when something is wrong, a sweep that is
# stopped and goes on.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
export TMPDIR="$work/tmp"
mkdir "$work/tmp"
cp "$SOURCE/workloads/vecadd/vecadd.ptx" "$work/" || exit 1
cat > "$work/add.launch" <<'END'
module "vecadd.ptx"
size small n = 1000
size large n = 20000
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
fail() { echo "$*"; failures=$((failures + 1)); }
# The results without what the host took.
results() { sed 's/,[0-9.]*,\([^,]*\)$/,\1/' "$1"; }
cycles() { "$ORRERY" run "$@" --json --quiet | sed -n 's/.*"totals": {"launches": [0-9]*, "cycles": \([0-9]*\).*/\1/p'; } # of all launches
sweep() { "$ORRERY" sweep "$@" --quiet; }

# ---- files, by default beside each other ------------------------------------------------------------
check "sweep" 0 "^add.launch, small on h200, model cycle, ptx: 4 points" "^ +2 +gto +[0-9,]+ +[0-9.]+ us" "^best +sm.count = " \
    "^points +4 done$" "^written +add.sweep.sqlite \(view sweep_1\), add.sweep.csv, add.sweep.svg$" -- \
    sweep add.launch --vary sm.count=1,2 --vary core.policy=gto,lrr --model cycle --threads 1
for f in add.sweep.sqlite add.sweep.csv; do [ -s $f ] || fail "sweep: no $f"; done
if command -v gnuplot > /dev/null; then
    grep -q "</svg>" add.sweep.svg || fail "sweep: the plot is no SVG"
    [ ! -e add.sweep.svg.gp ] || fail "sweep: the plot's program is left"
fi
results add.sweep.csv > one.csv
head -1 one.csv | grep -q "^number,sm.count,core.policy,state,cycles,time_ns,warp_insts,thread_insts," || fail "sweep: the CSV's first line"

# A point is what `orrery run` says of the same description: both launches together.
for sms in 1 2; do
    want=$(cycles add.launch --model cycle --set sm.count=$sms --set core.policy=lrr)
    got=$(awk -F, -v s=$sms '$2 == s && $3 == "lrr" { print $5 }' add.sweep.csv)
    [ -n "$got" ] && [ "$want" = "$got" ] || fail "sweep: $sms SMs take $got cycles, run says $want"
done

# Two threads, another file: the same digits. The same again: nothing is simulated.
sweep add.launch --vary sm.count=1,2 --vary core.policy=gto,lrr --model cycle --threads 2 -o two.sqlite > /dev/null || fail "two threads: failed"
results two.csv | cmp -s - one.csv || fail "two threads: another result"
check "again" 0 "4 done \(4 of the points were in the file\)" -- \
    sweep add.launch --vary sm.count=1,2 --vary core.policy=gto,lrr --model cycle -o two.sqlite
results two.csv | cmp -s - one.csv || fail "again: another result"
check "larger" 0 "6 done \(4 of the points were in the file\)" "view sweep_2" -- \
    sweep add.launch --vary sm.count=1,2,3 --vary core.policy=gto,lrr --model cycle -o two.sqlite
check "another size" 0 "4 done$" -- sweep add.launch --size large --vary sm.count=1,2 --vary core.policy=gto,lrr --model cycle -o two.sqlite
check "another description" 0 "4 done$" -- \
    sweep add.launch --set l2.latency=500 --vary sm.count=1,2 --vary core.policy=gto,lrr --model cycle -o two.sqlite

# Stopped at any moment, it goes on.
timeout -s INT 0.3 "$ORRERY" sweep saxpy --vary sm.count=2:24:2 --model cycle --threads 1 -o killed.sqlite > /dev/null 2>&1
sweep saxpy --vary sm.count=2:24:2 --model cycle -o killed.sqlite > /dev/null || fail "stopped: does not go on"
sweep saxpy --vary sm.count=2:24:2 --model cycle -o whole.sqlite > /dev/null || fail "stopped: the whole one fails"
results killed.csv > a.csv
results whole.csv | cmp -s - a.csv || fail "stopped: another result than uninterrupted"
[ -z "$(ls "$TMPDIR")" ] || fail "files are left in TMPDIR: $(ls "$TMPDIR")"

# ---- other inputs, other models ---------------------------------------------------------------------
check "a constant of the script" 0 "^ *1000 +4 +[0-9,]+" "^ *20000 +8 +[0-9,]+" "points +4 done" -- \
    sweep add.launch --vary sm.count=4,8 --vary n=1000,20000 --model cycle -o n.sqlite
check "functional" 0 "warp insts" -- sweep add.launch --vary sm.count=4,8 --model functional -o f.sqlite
check "json" 0 '"set": \{"sm.count": 4\}, "state": "done"' '"best": [01]' -- sweep add.launch --vary sm.count=4,8 --json -o j.sqlite
"$ORRERY" record add.launch -o add.orr --quiet || fail "record"
check "a recorded stream" 0 "model cycle, trace: 2 points" -- sweep add.orr --vary sm.count=1,2 --model cycle -o r.sqlite
"$ORRERY" record add.launch --format accel-sim-plain -o traces --quiet || fail "record traces"
check "constants are not in a recorded stream" 2 "only the GPU's keys can be varied" -- sweep add.orr --vary n=1,2
check "a trace" 0 "model cycle, trace: 2 points" -- sweep traces/kernelslist.g --vary sm.count=1,2 --model cycle -o t.sqlite
cat > app.tasks <<'END'
let n = 64
kernel k threads 128 registers 32
    0: load global 4
    1: sp x n after 0
    2: store global 4 after 1
end
repeat 10
    launch k grid 40
end
END
check "a task list" 0 "model partial, tasks: 4 points" "^ *64 +2 +[0-9,]+0 " -- sweep app.tasks --vary sm.count=2,4 --vary n=64,128 --model partial -o l.sqlite
want=$("$ORRERY" run app.tasks --model partial --set sm.count=4 --set n=128 --json --quiet | sed -n 's/.*"kernel": "k".*"cycles": \([0-9]*\).*/\1/p' | sed -n 1p)
got=$(awk -F, '$2 == 128 && $3 == 4 { print $5 }' l.csv)
[ -n "$want" ] && [ "$got" = $((10 * want)) ] || fail "a task list: $got cycles, ten times $want should be"
check "all models on a task list" 0 "^k +1 +cycle" "a task list" -- "$ORRERY" compare app.tasks --set sm.count=2 --quiet
for model in $("$ORRERY" run add.launch --model none 2>&1 | sed 's/.*there is: //;s/,//g'); do
    [ "$model" = functional ] && continue
    sweep add.launch --size large --vary sm.count=2,5 --model "$model" -o "m-$model.sqlite" > /dev/null || fail "$model: failed"
    want=$(cycles add.launch --size large --model "$model" --set sm.count=5 --no-check)
    got=$(awk -F, '$2 == 5 { print $4 }' "m-$model.csv")
    [ -n "$got" ] && [ "$want" = "$got" ] || fail "$model: replayed $got cycles, run says $want"
done

# An L2 that has room for all buffers (240 KB, and copies of them in the other half): one that is larger still gives the same, and is
# not simulated. One that has not is. What each point has is what a run of its own has.
check "large enough an L2" 0 "points +4 done \(2 are as those with a smaller L2" -- \
    sweep add.launch --size large --vary "l2.size=12 MB,192 KB,3 MB,24 MB" --model abstract --threads 1 -o room.sqlite
for l2 in "192 KB" "3 MB" "12 MB" "24 MB"; do
    want=$(cycles add.launch --size large --model abstract --set "l2.size=$l2" --no-check)
    got=$(awk -F, -v l="$l2" '$2 == l { print $4 }' room.csv)
    [ -n "$got" ] && [ "$want" = "$got" ] || fail "an L2 of $l2: $got cycles, run says $want"
done

# ---- what goes wrong ----------------------------------------------------------------------------------
check "a point that fails" 1 "^ +1 KB +failed: .*shared memory" "^ +48 KB +[0-9,]+" "points +1 done, 1 failed" "1 of 2 points failed" -- \
    sweep sgemm_tiled --vary "shared.per_block+shared.per_block_optin=1 KB,48 KB" --set sm.count=4 --model cycle -o s.sqlite
check "it is kept" 1 "1 done \(2 of the points were in the file\), 1 failed" -- \
    sweep sgemm_tiled --vary "shared.per_block+shared.per_block_optin=1 KB,48 KB" --set sm.count=4 --model cycle -o s.sqlite
check "no --vary" 2 "say what to vary" -- sweep saxpy
check "no INPUT" 2 "name one INPUT" -- sweep --vary sm.count=1,2
check "a key that is near" 2 "there is no parameter 'sm.schedulers'; did you mean 'core.schedulers'" -- sweep saxpy --vary sm.schedulers=1,2
check "a bad value" 2 "sm.count.*'x' is not a number" -- sweep saxpy --vary sm.count=1,x
check "a bad enum" 2 "'best' is none of" -- sweep saxpy --vary core.policy=gto,best
check "a bad range" 2 "ends before it begins" -- sweep saxpy --vary sm.count=8:2
check "no such constant" 2 "^orrery: --vary m=1: add.launch has no such size constant; it has: n" -- sweep add.launch --vary m=1,2
check "no such model" 2 "there is no model \"fast\"" -- sweep saxpy --vary sm.count=1,2 --model fast
check "two outputs in one file" 2 "named for two outputs" -- sweep saxpy --vary sm.count=1,2 -o x.csv
check "the INPUT is no output" 2 "is the INPUT" -- sweep add.launch --vary sm.count=1,2 -o add.launch
echo text > text.sqlite
check "no database" 2 "text.sqlite: .*not a database" -- sweep add.launch --vary sm.count=1,2 -o text.sqlite
check "a kernel that is not there" 2 "choose none of its launches" -- sweep add.launch --vary sm.count=1,2 --kernels x
mkdir bin
check "without gnuplot" 0 "gnuplot is not there; the plot is in g.svg.gp" -- \
    env PATH="$work/bin" "$ORRERY" sweep add.launch --vary sm.count=1,2 --model cycle -o g.sqlite
grep -q '^plot \$line0' g.svg.gp || fail "without gnuplot: no program for it"

# ---- compare --------------------------------------------------------------------------------------------
check "compare" 0 "^saxpy, small on h200, machine code; hardware: NVIDIA H200, caches flushed" "^saxpy +1  hardware +[0-9,]+" \
    "^ +cycle +[0-9,]+ +[+-][0-9.]+ % +[0-9.]+ +1\.0$" "execution" -- "$ORRERY" compare saxpy --quiet --hardware "$SOURCE/hardware/h200/workloads.csv" --csv models.csv
head -1 models.csv | grep -q "^input,size,kernel,launches,model,cycles,time_ns,cycle_error_pct,hardware_cycles,hardware_error_pct,seconds,speedup,failure$" ||
    fail "compare: the CSV's first line"
# What the file of measurements says, and what run says with L2 emptied before the kernel.
want=$(awk -F, '$1 == "saxpy" && $2 == "small" && $4 == 0 { print $14 }' "$SOURCE/hardware/h200/workloads.csv" | sort -n |
    awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }')
got=$(awk -F, '$5 == "cycle" { print $9 }' models.csv)
[ -n "$want" ] && [ "$want" = "$got" ] || fail "compare: hardware $got, the file says $want"
want=$(cycles saxpy --model cycle --set l2.flush=yes)
got=$(awk -F, '$5 == "cycle" { print $6 }' models.csv)
[ "$want" = "$got" ] || fail "compare: cycle $got, run says $want"
awk -F, '$5 == "cycle" { e = 100 * ($6 - $9) / $9; if (e - $10 > 0.001 || $10 - e > 0.001) exit 1 }' models.csv || fail "compare: the error is not that"
check "averages" 0 "^average +kernels" "^cycle +2 " -- "$ORRERY" compare saxpy add.launch --model cycle --quiet
check "measurements that come with it" 0 "hardware: NVIDIA H200" -- "$ORRERY" compare saxpy --model cycle --quiet
check "compare json" 0 '"hardware_cycles": [0-9]' '"model": "cycle"' '"averages": \[' -- "$ORRERY" compare saxpy --json --quiet
check "another GPU was not measured" 0 "^saxpy, small on v100, PTX$" -- "$ORRERY" compare saxpy --gpu v100 --model cycle --quiet
check "no model of time" 2 "predicts no time" -- "$ORRERY" compare saxpy --model functional
check "nothing to compare" 2 "name an INPUT" -- "$ORRERY" compare
check "no such workload" 2 "no such workload" -- "$ORRERY" compare saxpi --quiet

[ $failures = 0 ] && echo "all as expected"
exit $((failures > 0))
