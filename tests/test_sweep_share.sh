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
    [ -z "$(ls "$1".part-* 2>/dev/null)" ] || fail "$2: parts are left over"
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
