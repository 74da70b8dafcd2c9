#!/usr/bin/env bash
# bench/many: commands over processes. What is finished stays, whoever is killed; the same command does the rest.
set -euo pipefail
many=${SOURCE:?the source tree}/bench/many
export ORRERY=${ORRERY:?the command}
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "$*"; exit 1; }
seq 1 20 | sed 's/.*/echo &; echo & >>ran; sleep 0.02/' >commands
expect=$(seq 1 20)
all() { [ "$("$many" -o "$1" --show)" = "$expect" ] || { "$many" -o "$1" --show; fail "$1: not every command once, in order"; }; }
"$many" -o a --workers 3 commands >out || { cat out; fail "three workers"; }
all a
[ "$(sort -n ran)" = "$expect" ] || fail "a command ran twice"
"$many" -o a --workers 3 commands >out
grep -q '20 of 20 done, 0 of them now' out && [ "$(wc -l <ran)" = 20 ] || { cat out; fail "what is done is done again"; }
# Killed in the middle, with all that it had started
setsid "$many" -o b --workers 2 commands >out 2>&1 &
for _ in $(seq 300); do # until something is finished, however busy the machine is
    [ -z "$(find b -name '*.out' 2>/dev/null)" ] || break
    sleep 0.1
done
kill -9 -- -$! 2>/dev/null || true
wait 2>/dev/null || true
n=$(find b -name '*.out' | wc -l)
"$many" -o b --workers 2 commands >out || { cat out; fail "going on"; }
all b
grep -q "20 of 20 done, $((20 - n)) of them now" out || { cat out; fail "going on from $n"; }
# A disk that is full: what does not fit is not done, what was before is
seq 1 4 | sed '3s/.*/head -c 100000 \/dev\/zero/' | sed '/^[0-9]/s/.*/echo &/' >large
rc=0
(ulimit -f 16; "$many" -o c --workers 1 large >out 2>err) || rc=$?
[ $rc -eq 1 ] && grep -q '3 of 4 done' out && grep -q 'command 3 failed' err && [ ! -e c/000002.out ] || { cat out err; fail "a full disk: $rc"; }
"$many" -o c --workers 1 large >out || fail "when there is room again"
grep -q '4 of 4 done, 1 of them now' out || { cat out; fail "when there is room again"; }
# Ranks that are started as MPI starts them; a folder of other commands; mistakes
for rank in 1 2 0; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=3 MANY_RUN=one timeout 60 "$many" --mpi -o d commands >out.$rank 2>&1 &
done
wait
all d
if command -v mpirun >/dev/null; then
    timeout 60 mpirun --allow-run-as-root --oversubscribe -n 2 "$many" --mpi -o e commands >out 2>&1 || { cat out; fail "mpirun"; }
    all e
fi
if "$many" -o a large >out 2>&1; then fail "a folder of other commands"; fi
grep -q 'has other commands' out || { cat out; fail "a folder of other commands"; }
if "$many" -o f nothing >out 2>&1; then fail "no file"; fi
# Correlations: a row a point, as one command has them
grep -E '^(script|(saxpy|vecadd|triad),small),' "$SOURCE/hardware/h200/workloads.csv" >few.csv
"$ORRERY" correlate few.csv -q --csv one.csv -- --size small --model analytic saxpy vecadd >/dev/null
"$many" -o g --workers 2 correlate few.csv -- --size small --model analytic >out 2>&1 || { cat out; fail "correlations"; }
for k in saxpy vecadd; do
    grep "^[^#]*$k" one.csv | cut -d, -f1-6 >want
    grep "^[^#]*$k" g/all.csv | cut -d, -f1-6 >got
    [ -s want ] && cmp -s want got || { diff want got || true; fail "correlations: $k"; }
done
# Slurm's sbatch, as far as it is used
mkdir bin
cat >bin/sbatch <<'X'
#!/usr/bin/env bash
n=1
for w in "$@"; do
    [[ $w == --array=1-* ]] && n=${w#--array=1-}
    script=$w
done
for ((k = 1; k <= n; k++)); do SLURM_ARRAY_JOB_ID=$$ SLURM_ARRAY_TASK_ID=$k bash "$script" >>job.log 2>&1; done
echo "$*" >>sbatch.log
echo 41
X
chmod +x bin/sbatch
PATH=$PWD/bin:$PATH "$many" --slurm '--partition debug' --workers 2 -o h commands >out || { cat out job.log; fail "Slurm"; }
grep -q -- '--array=1-2 --partition debug' sbatch.log && grep -q -- '--dependency=afterany:41' sbatch.log || { cat sbatch.log; fail "what sbatch was told"; }
all h
echo "all right"
