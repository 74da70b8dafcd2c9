#!/usr/bin/env bash
# Accel-Sim end to end: a configuration is imported, workloads are recorded as traces and run again from them, results
# come under the names that its scripts look for, and a folder is there whole or not at all.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
source=${SOURCE:?the source tree}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

wrong() {
    echo "FAILED: $*"
    failed=1
}

# ---- a configuration
sed '/^%%$/,$d' "$source/tests/corpus/import/volta.config" >"$dir/gpgpusim.config"
sed '1,/^%%$/d' "$source/tests/corpus/import/volta.config" >"$dir/trace.config"
"$orrery" gpu import "$dir/gpgpusim.config" "$dir/trace.config" -o "$dir/my.conf" 2>"$dir/notes" || wrong "gpu import"
grep -q "gpgpusim.config:[0-9]*: -visualizer_enabled 0: not used" "$dir/notes" || wrong "no note about an option"
"$orrery" gpu show "$dir/my.conf" | grep '193' >/dev/null || wrong "the imported description does not show"
[ "$(grep -c ' # ' "$dir/my.conf")" -gt 100 ] || wrong "the description does not say where its values come from"
[ -z "$("$orrery" gpu import "$dir/gpgpusim.config" -q -o "$dir/quiet.conf" 2>&1)" ] || wrong "gpu import -q speaks"
"$orrery" gpu import "$dir/gpgpusim.config" -o "$dir/gpgpusim.config" 2>/dev/null && wrong "gpu import writes over its input"
"$orrery" gpu import "$dir/notes" 2>"$dir/err" && wrong "gpu import takes anything"
grep -q "expected an option" "$dir/err" || wrong "no word about what is wrong with it"

# The network's file lies beside the configuration: 40 bytes a cycle, 8 of them a packet's head.
printf -- '-network_mode 1\n-icnt_flit_size 32\n-inter_config_file net.icnt\n' | cat "$dir/gpgpusim.config" - >"$dir/booksim.config"
"$orrery" gpu import "$dir/booksim.config" -q -o "$dir/narrow.conf" || wrong "gpu import without the network's file"
grep -q '^xbar.reply *= 20 ' "$dir/narrow.conf" || wrong "a flit of 32 bytes: two for a sector and its head"
printf '// the network\nflit_size = 40;\n' >"$dir/net.icnt"
"$orrery" gpu import "$dir/booksim.config" -o "$dir/wide.conf" 2>"$dir/err" || wrong "gpu import with the network's file"
grep -q '^xbar.reply *= 40 .*flit_size 40' "$dir/wide.conf" || wrong "the network's file is not read"
grep -q 'net.icnt.*flit_size is used' "$dir/err" || wrong "no word about the network's file"

# ---- traces
insts() { sed -n 's/.*"warp_insts": \([0-9]*\).*/\1/p' "$1" | sed -n 1p; }
for name in saxpy reduce bfs sgemm_tiled; do
    "$orrery" record "$name" --size small --gpu v100 --format accel-sim -o "$dir/$name" || wrong "$name: record"
    "$orrery" run "$name" --size small --gpu v100 --model cycle --json >"$dir/direct" || wrong "$name: run"
    "$orrery" run "$dir/$name/kernelslist.g" --gpu v100 --model cycle --json >"$dir/replayed" || wrong "$name: replay"
    [ "$(insts "$dir/direct")" = "$(insts "$dir/replayed")" ] || wrong "$name: the trace has other instructions"
done
# ---- machine code: a trace of it loses nothing that costs time
cycles() { sed -n 's/.*"cycles": \([0-9]*\),.*"warp_insts".*/\1/p' "$1" | tr '\n' ' '; }
for name in saxpy atax backprop dgemm mandelbrot reduce; do
    "$orrery" record "$name" --size small --gpu h200 --format accel-sim-plain -q -o "$dir/sass" || wrong "$name: record"
    "$orrery" run "$name" --size small --gpu h200 --model cycle --json >"$dir/direct" || wrong "$name: run"
    "$orrery" run "$dir/sass/kernelslist.g" --gpu h200 --model cycle --json >"$dir/replayed" || wrong "$name: replay"
    [ -n "$(cycles "$dir/direct")" ] || wrong "$name: no cycles"
    [ "$(cycles "$dir/direct")" = "$(cycles "$dir/replayed")" ] ||
        wrong "$name: $(cycles "$dir/direct") from machine code, $(cycles "$dir/replayed") from its trace"
    # IMAD.WIDE names its addend of 64 bits by the first register: none has two that follow each other.
    awk '/ IMAD\.WIDE/ && $6 == 3 { a = substr($8, 2); if (a % 2 == 0 && substr($9, 2) == a + 1) found = 1 }
        END { exit !found }' "$dir/sass/kernel-1.traceg" &&
        wrong "$name: both halves of an addend of 64 bits are in the trace"
done
"$orrery" record histogram --size small --gpu h200 --format accel-sim-plain -q -o "$dir/sass" || wrong "histogram: record"
grep -q ' 1 R255 ATOMS' "$dir"/sass/kernel-*.traceg || wrong "no atomics on shared memory that write to RZ"
grep -q ' 0 ATOMS' "$dir"/sass/kernel-*.traceg && wrong "atomics on shared memory that Accel-Sim does not count"
"$orrery" record saxpy --size small --gpu v100 --format accel-sim-plain --threads 1 -o "$dir/one" || wrong "plain"
"$orrery" record saxpy --size small --gpu v100 --format accel-sim-plain --threads 4 -o "$dir/four" || wrong "plain"
diff -r "$dir/one" "$dir/four" >/dev/null || wrong "the trace depends on the number of host threads"
"$orrery" record saxpy --size small --gpu h200 --format accel-sim-plain -o "$dir/one" 2>"$dir/err" || wrong "an older trace is not replaced"
[ ! -s "$dir/err" ] && grep -q "^-binary version = 90" "$dir/one/kernel-1.traceg" || wrong "sm_90 is not written as such"
"$orrery" record saxpy --size small --gpu rtx4090 --format accel-sim-plain -o "$dir/one" 2>"$dir/err" || wrong "record for rtx4090"
grep -q "binary version 86" "$dir/err" || wrong "no word about the binary version"
cp "$dir/saxpy/kernelslist.g" "$dir/saxpy/my.list" && sed -i '1i # made by hand' "$dir/saxpy/my.list"
"$orrery" run "$dir/saxpy/my.list" --gpu v100 -q >"$dir/listed" || wrong "a list of kernels under another name"
grep -q 'from trace' "$dir/listed" || wrong "a list of kernels under another name is no trace"
"$orrery" record saxpy --size small --format accelsim -o "$dir/x" 2>/dev/null && wrong "a format that does not exist"

# ---- as long as Accel-Sim takes (dev 73f9fac with gpgpu-sim 667834c, SM7_QV100, which bench/qv100.conf is; cycles behind
# the 5000 of the launch). BLOCKS blocks of WARPS warps, each of which executes the lines; {w} is 128 times the warp.
check_cycles() { # NAME BLOCKS WARPS ACCEL-SIM'S LINE...
    local name=$1 blocks=$2 warps=$3 wanted=$4 b w n line
    shift 4
    mkdir -p "$dir/$name"
    {
        printf -- '-kernel name = %s\n-kernel id = 1\n-grid dim = (%d,1,1)\n-block dim = (%d,1,1)\n-shmem = 1024\n' \
            "$name" "$blocks" $((warps * 32))
        printf -- '-nregs = 32\n-binary version = 70\n-cuda stream id = 0\n-accelsim tracer version = 5\n-enable lineinfo = 0\n\n'
        for ((b = 0; b < blocks; b++)); do
            printf '#BEGIN_TB\n\nthread block = %d,0,0\n\n' "$b"
            for ((w = 0; w < warps; w++)); do
                n=0
                printf 'warp = %d\ninsts = %d\n' "$w" $(($# + 1))
                for line in "$@"; do
                    printf '%04x ffffffff %s\n' "$n" "${line//\{w\}/$(printf 0x%x $((0x700000000000 + 128 * w)))}"
                    n=$((n + 16))
                done
                printf '%04x ffffffff 0 EXIT 0 0 0\n\n' "$n"
            done
            printf '#END_TB\n\n'
        done
    } >"$dir/$name/kernel-1.traceg"
    echo kernel-1.traceg >"$dir/$name/kernelslist.g"
    "$orrery" run "$dir/$name/kernelslist.g" --gpu "$source/bench/qv100.conf" --model cycle --json -q >"$dir/json" || wrong "$name"
    read -r n _ <<<"$(cycles "$dir/json")"
    n=$((${n:-0} - 5000))
    [ $((100 * n)) -ge $((92 * wanted)) ] && [ $((100 * n)) -le $((108 * wanted)) ] ||
        wrong "$name: $n cycles, $wanted in Accel-Sim"
}
load='1 R1 LDG.E 1 R6 4 1 {w} 4 0' add='0 RED.E.ADD 2 R4 R1 4 1 {w} 4 0' use='1 R9 IADD3 1 R1 0 0'
count='1 R255 ATOMS.POPC.INC.32 1 R5 4 1 0x0 4 0'
check_cycles load 1 1 349 "$load" "$use"
check_cycles add 1 1 325 "$add"
check_cycles load_add 1 1 521 "$load" "$use" "$add"
check_cycles count4 1 1 107 "$count" "$count" "$count" "$count" # a warp waits for each: 25 cycles
check_cycles add_same 8 1 697 "$add"                            # four wait for a sector, the fifth blocks the slice:
check_cycles load_same 8 8 1347 "$load" "$use"                  # 533 where any number can

# ---- the folder
mkdir "$dir/full" && touch "$dir/full/thesis.tex"
"$orrery" record saxpy --size small --format accel-sim -o "$dir/full" 2>/dev/null && wrong "it writes into somebody's folder"
[ "$(ls "$dir/full")" = thesis.tex ] || wrong "somebody's folder has changed"
mkdir "$dir/empty"
# A shell's background jobs ignore SIGINT; env undoes that.
env --default-signal=INT "$orrery" record mandelbrot --size large --gpu v100 --format accel-sim -o "$dir/empty/x" 2>/dev/null &
pid=$!
for _ in $(seq 100); do
    [ -n "$(ls "$dir/empty")" ] && break
    sleep 0.05
done
kill -INT $pid
wait $pid && wrong "a record that was interrupted has ended well"
[ -z "$(ls "$dir/empty")" ] || wrong "an interrupted record leaves $(ls "$dir/empty")"

# ---- names
"$orrery" run "$dir/bfs/kernelslist.g" --gpu "$dir/my.conf" --model cycle --stats accel-sim >"$dir/stats" || wrong "--stats accel-sim"
n='[0-9]+' x='[0-9]+\.[0-9]+'
while read -r pattern; do
    grep -qE "$pattern" "$dir/stats" || wrong "no line like $pattern"
done <<PATTERNS
^gpu_sim_cycle = $n\$
^gpu_sim_insn = $n\$
^gpu_ipc = +$x\$
^gpu_tot_sim_cycle = $n\$
^gpu_tot_sim_insn = $n\$
^gpu_tot_ipc = +$x\$
^gpu_occupancy = $x% \$
^L2_BW  = +$x GB/Sec\$
^gpgpu_n_tot_w_icount = $n\$
^gpgpu_n_shmem_bkconflict = $n\$
^gpgpu_n_l1cache_bkconflict = $n\$
^total dram reads = $n\$
^total dram writes = $n\$
^kernel_name = .+
^kernel_launch_uid = 1 \$
^gpgpu_simulation_time = .*\($n sec\)\$
^gpgpu_simulation_rate = $n \(inst/sec\)\$
^gpgpu_simulation_rate = $n \(cycle/sec\)\$
^gpgpu_silicon_slowdown = ${n}x\$
GPGPU-Sim.*\[build .+\]
^GPGPU-Sim: \*\*\* exit detected \*\*\*\$
PATTERNS
for cache in L2 Total_core; do
    for state in HIT MISS MSHR_HIT TOTAL_ACCESS; do
        for type in GLOBAL_ACC_R GLOBAL_ACC_W; do
            grep -qE "^[[:space:]]+${cache}_cache_stats_breakdown\[$type\]\[$state\] = $n\$" "$dir/stats" ||
                wrong "no $cache $type $state"
        done
    done
done
# Totals are the kernels' added up, and count on.
sum=$(awk '/^gpu_sim_cycle/ { s += $3 } END { print s }' "$dir/stats")
[ "$sum" = "$(sed -n 's/^gpu_tot_sim_cycle = //p' "$dir/stats" | tail -1)" ] || wrong "gpu_tot_sim_cycle is not the sum"
# Reservations fail where L1 has no room for another miss: with room for two lines in most cycles, else in fewer.
fails() { awk '/Total_core_cache_stats_breakdown\[GLOBAL_ACC_R\]\[RESERVATION_FAIL\]/ { n = $3 } END { print n + 0 }' "$1"; }
"$orrery" run "$dir/bfs/kernelslist.g" --gpu "$dir/my.conf" --set l1.mshrs=2 --model cycle --stats accel-sim >"$dir/few" || wrong "few MSHRs"
[ "$(fails "$dir/few")" -gt "$(fails "$dir/stats")" ] || wrong "two MSHRs: $(fails "$dir/few") reservations fail, $(fails "$dir/stats") with all"
"$orrery" run saxpy --size small --stats accel-sim 2>/dev/null && wrong "--stats without a model that counts cycles"
[ $failed -eq 0 ] && echo "all well"
exit $failed
