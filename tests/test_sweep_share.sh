#!/usr/bin/env bash
# A sweep that several processes share: parts of its points, started by hand, by MPI's launcher or by Slurm.
set -euo pipefail
orrery=${ORRERY:?the command}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "$*"; exit 1; }
"$orrery" sweep saxpy --size small --vary sm.count=66,132 -o probe.sqlite >/dev/null 2>err || { grep -q 'built without SQLite' err && { echo "skipped: no SQLite"; exit 0; }; cat err; fail "a sweep"; }
sweep=("$orrery" sweep saxpy --size small --model analytic --threads 1 --vary "sm.count=66,99,132" --vary "clock.sm=1500,1980")
figures() { cut -d, -f1-6 "$1"; } # without what the host took
"${sweep[@]}" -o plain.sqlite >/dev/null
same() { # FILE: as the sweep that nobody shared, and nothing is left over
    cmp -s <(figures plain.csv) <(figures "${1%.sqlite}.csv") || { diff plain.csv "${1%.sqlite}.csv" || true; fail "$2: other figures"; }
    [ -z "$(ls -d "$1".part-* "$1".share 2>/dev/null)" ] || fail "$2: parts are left over"
}

"${sweep[@]}" --shard 1/2 -o a.sqlite >/dev/null
"${sweep[@]}" --shard 2/2 -o a.sqlite >/dev/null
"${sweep[@]}" --merge -o a.sqlite >out
same a.sqlite "two parts"
grep -q '6 done (6 of the points were in the file)' out || { cat out; fail "what was done is simulated again"; }
# A part that was killed before it had finished, and one that never began: what is done is kept, the rest is simulated.
"${sweep[@]}" --shard 3/3 -o b.sqlite >/dev/null
rm -f b.sqlite.part-3.done
"${sweep[@]}" --merge -o b.sqlite >/dev/null
same b.sqlite "a part that is missing"
# As MPI's launcher starts them; the first of them merges.
for rank in 1 2 0; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=3 timeout 60 "${sweep[@]}" --mpi -o c.sqlite >out.$rank 2>&1 &
done
wait
same c.sqlite "ranks"
# Processes of one run take what is free: each point is simulated once, whoever is faster. Both models that start from
# streams, and code that reads what earlier launches wrote.
rank() { # RANK SIZE RUN COMMAND...
    env OMPI_COMM_WORLD_RANK="$1" OMPI_COMM_WORLD_SIZE="$2" PMIX_NAMESPACE="$3" timeout 100 "${@:4}"
}
for model in abstract cycle; do
    busy=("$orrery" sweep bfs --size small --model "$model" --threads 1 --vary "sm.count=66,132" --vary "l2.size=10 MB,20 MB,50 MB")
    "${busy[@]}" -o busy.sqlite >/dev/null
    for rank in 1 2 0; do
        rank $rank 3 one "${busy[@]}" --mpi -o run.sqlite >out.$rank 2>&1 &
    done
    wait
    cmp -s <(figures busy.csv) <(figures run.csv) || { cat out.?; diff busy.csv run.csv || true; fail "a run of three: other figures"; }
    [ -z "$(ls -d run.sqlite.* 2>/dev/null)" ] || fail "a run of three: parts are left over"
    rm -f busy.* run.*
done
# The streams are made by one of them: the other does not look at the input any more.
cp "$SOURCE/workloads/vecadd/vecadd.ptx" .
cat >add.launch <<'X'
module "vecadd.ptx"
buffer a f32[9000] iota
buffer b f32[9000] value 2
buffer c f32[9000] value 77
launch vecadd grid 36 block 256 args 9000, a, b, c
X
add=("$orrery" sweep add.launch --model cycle --threads 1 --vary "sm.count=2:40:2")
"${add[@]}" -o add.sqlite >/dev/null
rank 1 2 two "${add[@]}" --mpi -o once.sqlite >out
grep -q '^process 2 of 2: 20 of 20 points, 20 done in all$' out || { cat out; fail "one that is alone takes all"; }
rm vecadd.ptx
rank 0 2 two "${add[@]}" --mpi -o once.sqlite >out 2>&1 || { cat out; fail "streams of another process"; }
cmp -s <(figures add.csv) <(figures once.csv) || fail "streams of another process: other figures"
cp "$SOURCE/workloads/vecadd/vecadd.ptx" .

# A process that is killed: what it finished is kept, what it was at is simulated by the first one, which gives it up.
slow=("$orrery" sweep sgemm_tiled --size small --model cycle --threads 1 --vary "sm.count=66:132:6")
"${slow[@]}" -o slow.sqlite >/dev/null
killed() { # FILE RUN: process 2 of 2, until it has finished a point
    rank 1 2 "$2" "${slow[@]}" --mpi -o "$1" >out 2>&1 &
    for ((k = 0; k < 600; k++)); do
        [ -z "$(ls "$1".share/*.done 2>/dev/null)" ] || break
        sleep 0.05
    done
    kill -9 "$(cat "$1".share/1.alive | cut -d. -f1)"
    wait
}
killed k.sqlite three
before=$(ls k.sqlite.share/*.done | wc -l)
ORRERY_PATIENCE=1 rank 0 2 three "${slow[@]}" --mpi -o k.sqlite >out 2>err || { cat out err; fail "the other was killed"; }
grep -q 'nothing is heard of process 2 of 2' err || { cat err; fail "who was given up is not said"; }
cmp -s <(figures slow.csv) <(figures k.csv) || fail "the other was killed: other figures"
# All of them: the same command, in another run, goes on from there, and says when it will be done.
killed l.sqlite four
before=$(ls l.sqlite.share/*.done | wc -l)
rank 1 2 five "${slow[@]}" --mpi -o l.sqlite >out
# (It may have been killed between writing a point and saying so.)
grep -qE "^process 2 of 2: ($((12 - before))|$((11 - before))) of 12 points, 12 done in all$" out || { cat out; fail "going on from $before"; }
rank 0 2 five "${slow[@]}" --mpi -o l.sqlite >out
cmp -s <(figures slow.csv) <(figures l.csv) || fail "going on: other figures"
ORRERY_PATIENCE=0.1 rank 0 1 six "${slow[@]}" --mpi -o m.sqlite >out 2>err
grep -q ' of 12 points are done, about [0-9]* s more$' err || { cat out err; fail "no estimate"; }
# A full disk: one line, and what was finished before is kept.
many=("$orrery" sweep saxpy --size small --model analytic --threads 1 --vary "sm.count=2:121")
"${many[@]}" -o many.sqlite >/dev/null
rc=0
(trap '' XFSZ; ulimit -f 48; rank 0 1 seven "${many[@]}" --mpi -o n.sqlite >out 2>err) || rc=$?
[ $rc -eq 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'n.sqlite.part-1: ' err || { cat out err; fail "a full disk: $rc"; }
before=$(ls n.sqlite.share/*.done | wc -l)
[ "$before" -gt 0 ] && [ "$before" -lt 120 ] || fail "a full disk: $before points are done"
rank 0 1 eight "${many[@]}" --mpi -o n.sqlite >out || { cat out; fail "when there is room again"; }
cmp -s <(figures many.csv) <(figures n.csv) || fail "when there is room again: other figures"
if command -v mpirun >/dev/null; then
    timeout 60 mpirun --allow-run-as-root --oversubscribe -n 2 "${sweep[@]}" --mpi -o d.sqlite >out 2>&1 || { cat out; fail "mpirun"; }
    same d.sqlite mpirun
else
    echo "mpirun is not there (Debian: openmpi-bin): its variables were set by hand"
fi
# Slurm's sbatch, as far as it is used: an array of jobs, and one that waits for it.
mkdir bin
cat >bin/sbatch <<'X'
#!/usr/bin/env bash
echo "$*" >>sbatch.log
for w in "$@"; do
    [[ $w == --array=1-* ]] && n=${w#--array=1-}
    script=$w
done
for ((k = 1; k <= ${n:-1}; k++)); do SLURM_ARRAY_TASK_ID=$k bash "$script" >>job.log 2>&1; done
echo "${n:+41}${n:-42}"
X
chmod +x bin/sbatch
PATH=$PWD/bin:$PATH "${sweep[@]}" --slurm '--partition debug' --workers 3 -o e.sqlite >out || { cat out job.log; fail "Slurm"; }
grep -q -- '--array=1-3 --partition debug' sbatch.log && grep -q -- '--dependency=afterany:413 --partition debug' sbatch.log || { cat sbatch.log; fail "what sbatch was told"; }
same e.sqlite Slurm

# Slurm itself: a controller and a node on this machine, with an authentication of their own.
slurm_up() {
    mkdir -p slurm/state slurm/spool slurm/munge
    local s=$dir/slurm port=$((20000 + $$ % 20000)) host
    host=$(hostname -s)
    chmod 700 slurm/munge
    head -c 1024 /dev/urandom >slurm/munge/key
    chmod 400 slurm/munge/key
    munged --foreground --force --socket="$s/munge/socket" --key-file="$s/munge/key" --pid-file="$s/munge/pid" \
        --log-file="$s/munge/log" --seed-file="$s/munge/seed" >slurm/munge.out 2>&1 &
    daemons+=($!)
    cat >slurm/slurm.conf <<X
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$s/munge/socket
CredType=cred/munge
StateSaveLocation=$s/state
SlurmdSpoolDir=$s/spool
SlurmctldPidFile=$s/slurmctld.pid
SlurmdPidFile=$s/slurmd.pid
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
X
    export SLURM_CONF=$s/slurm.conf
    slurmctld -D >slurm/controller.out 2>&1 &
    daemons+=($!)
    slurmd -D -N "$host" >slurm/node.out 2>&1 &
    daemons+=($!)
    for ((k = 0; k < 60; k++)); do
        sinfo -h -o %T 2>/dev/null | grep -q idle && return 0
        sleep 0.5
    done
    return 1
}
if [ "$(id -u)" != 0 ] || ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null || ! command -v munged >/dev/null; then
    echo "left out: Slurm's daemons (Debian: slurm-wlm, munge; as root): a stand-in for sbatch was used"
else
    daemons=()
    trap 'kill "${daemons[@]}" 2>/dev/null; wait; rm -rf "$dir"' EXIT
    slurm_up && works=1 || works=0
fi
if [ "${works:-}" = 0 ]; then
    tail -n 3 slurm/*.out
    echo "left out: slurmctld and slurmd do not start on this machine: a stand-in for sbatch was used"
elif [ "${works:-}" = 1 ]; then
    timeout 60 "${sweep[@]}" --slurm '--partition debug --time 5' --workers 2 -o s.sqlite >out 2>&1 || { cat out; fail "sbatch"; }
    for ((k = 0; k < 120; k++)); do
        [ -n "$(squeue -h)" ] || break
        sleep 0.5
    done
    [ -e s.csv ] || { cat out slurm/*.out; fail "Slurm's jobs left no study"; }
    same s.sqlite "Slurm's daemons"
    # A job that is cancelled before it has begun is submitted again by the last one.
    scontrol update PartitionName=debug State=DOWN
    timeout 60 "${sweep[@]}" --slurm '--partition debug --time 5' --workers 3 -o t.sqlite >out 2>&1 || { cat out; fail "sbatch"; }
    scancel "$(grep -o '^3 jobs ([0-9]*' out | grep -o '[0-9]*$')_2"
    scontrol update PartitionName=debug State=UP
    for ((k = 0; k < 120; k++)); do
        [ -n "$(squeue -h)" ] || break
        sleep 0.5
    done
    grep -q '^jobs 2 of 3 have not finished: they are submitted again' slurm-*.out || { cat out slurm-*.out; fail "a job that was cancelled"; }
    same t.sqlite "a job that was cancelled"
fi

refused() {
    local rc=0
    "$@" >out 2>err || rc=$?
    [ $rc -eq 2 ] && [ "$(wc -l <err)" = 1 ] || { cat out err; fail "$*: status $rc"; }
}
refused "${sweep[@]}" --shard 3/2 -o f.sqlite
refused "${sweep[@]}" --shard x -o f.sqlite
refused env -u OMPI_COMM_WORLD_RANK -u PMI_RANK -u SLURM_PROCID "${sweep[@]}" --mpi -o f.sqlite
refused "${sweep[@]}" --slurm '' --workers 0 -o f.sqlite
echo "all right"
