#!/usr/bin/env bash
# The cycle model from the command line: all bundled workloads on an H200 and, in turn, on two older GPUs, with the same result on one host thread and two, and
# every warp cycle accounted for; what bounds a kernel, where that is known by construction; which launches are taken; copies that
# warm L2.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

wrong() {
    echo "FAILED: $*"
    failed=1
}

run() { # INPUT GPU [options]: JSON on stdout
    local input=$1 gpu=$2
    shift 2
    "$orrery" run "$input" --model cycle --gpu "$gpu" --json "$@" 2>"$dir/err" || wrong "$input on $gpu: $(head -1 "$dir/err")"
}

# The whole number behind "NAME": in the first line that has it.
value() { sed -n "s/.*\"$1\": \([0-9][0-9]*\).*/\1/p" | sed -n 1p; }

# Lines with stalls: the numbers in the braces are warp_cycles.
adds_up() {
    awk '/"stalls": \{"issued"/ {
        split($0, part, /\}, "warp_cycles": /)
        all = part[2] + 0
        sub(/.*"stalls": \{/, "", part[1])
        n = split(part[1], reason, /, /)
        sum = 0
        for (i = 1; i <= n; i++) {
            split(reason[i], pair, /: /)
            sum += pair[2]
        }
        if (sum != all || all == 0) bad++
        seen++
    }
    END { exit bad || !seen }' "$1"
}

# ---- all of them ------------------------------------------------------------------------------
ran=0
older=v100
for name in $("$orrery" list --names); do
    [ $older = v100 ] && older=gtx480 || older=v100
    for gpu in h200 $older; do
        for threads in 1 2; do
            run "$name" $gpu --size small --threads $threads >"$dir/all" || continue
            sed '/^  "host":/d' "$dir/all" >"$dir/$threads"
        done
        cmp -s "$dir/1" "$dir/2" || wrong "$name on $gpu: the result depends on the number of host threads"
        adds_up "$dir/1" || wrong "$name on $gpu: stalls do not add up to warp cycles"
        grep -qE '"buffers_checked": [1-9]' "$dir/1" || wrong "$name on $gpu: no buffer was checked"
        ran=$((ran + 1))
    done
done
[ $ran -ge 100 ] || wrong "only $ran runs"

# ---- what bounds them ---------------------------------------------------------------------------
bound() { # WANTED INPUT GPU [options]
    local want=$1 input=$2 gpu=$3 got
    shift 3
    got=$(run "$input" "$gpu" "$@" | sed -n 's/^ *"bound": "\([a-z0-9]*\)".*/\1/p' | sed -n 1p)
    [ "$got" = "$want" ] || wrong "$input on $gpu is bound by ${got:-nothing}, not by $want"
}

# Each warp follows a chain: the next address is known when the load before has come. One warp a block.
cat >"$dir/chase.ptx" <<'END'
.version 7.0
.target sm_70
.address_size 64
.visible .entry chase(.param .u64 p, .param .u32 n) {
  .reg .u64 %a, %o;
  .reg .u32 %i, %m, %t, %b;
  .reg .pred %q;
  ld.param.u64 %a, [p];
  ld.param.u32 %m, [n];
  cvta.to.global.u64 %a, %a;
  mov.u32 %b, %ctaid.x;
  mul.wide.u32 %o, %b, 16384;
  add.u64 %a, %a, %o;
  mov.u32 %i, 0;
L:
  ld.global.u32 %t, [%a];
  cvt.u64.u32 %o, %t;
  add.u64 %a, %a, %o;
  add.u64 %a, %a, 128;
  add.u32 %i, %i, 1;
  setp.lt.u32 %q, %i, %m;
  @%q bra L;
  st.global.u32 [%a], %i;
  ret;
}
END
for gpu in v100 gtx480; do
    bound dram vecadd $gpu --size medium      # 12 bytes for each addition
    bound compute montecarlo $gpu --size medium # random numbers, and one result a thread; 132 blocks are few on an H200
done
for gpu in h200 v100 gtx480; do
    bound latency "$dir/chase.ptx" $gpu --kernel chase --grid 132 --block 32 --arg buf:u32:1048576 --arg i32:64
    bound parallelism sgemm_regblock $gpu --size small # one block
done

# 64 warps whose loads from shared memory wait for each other, 16 loads a round: shared memory answers one a cycle, and an H200
# needs 65.7 cycles for one of each warp (hardware/h200/pairs.csv, large_small). All warps are in line, so none starves.
{
    cat <<'END'
.version 7.8
.target sm_90
.address_size 64
.visible .entry chain(.param .u64 out, .param .u32 n) {
  .shared .align 4 .b8 table[1024];
  .reg .pred %p;
  .reg .b32 %at, %i, %n, %base, %x;
  .reg .b64 %o;
  mov.u32 %at, %tid.x;
  mov.u32 %base, table;
  shl.b32 %x, %at, 2;
  add.u32 %x, %x, %base;
  st.shared.u32 [%x], %at;
  ld.param.u32 %n, [n];
  mov.u32 %i, 0;
  bar.sync 0;
again:
END
    for ((k = 0; k < 16; k++)); do printf '  shl.b32 %%x, %%at, 2;\n  add.u32 %%x, %%x, %%base;\n  ld.volatile.shared.u32 %%at, [%%x];\n'; done
    cat <<'END'
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %n;
  @%p bra again;
  ld.param.u64 %o, [out];
  setp.ne.u32 %p, %at, 4096;
  @%p bra end;
  st.global.u32 [%o], %at;
end:
  ret;
}
END
} >"$dir/chain.ptx"
chain() { # ROUNDS: cycles
    run "$dir/chain.ptx" h200 --kernel chain --grid 8 --block 256 --arg buf:u32:64:zero --arg i32:"$1" --set sm.count=1 --set gpc.count=1 | value cycles
}
ten=$(($(chain 20) - $(chain 10)))
[ $ten -ge $((160 * 64)) ] && [ $ten -le $((160 * 66)) ] || wrong "160 loads of each of 64 warps take $ten cycles"

# ---- which launches --------------------------------------------------------------------------------
all=$(run bicg h200 --size small | grep -c '^    {"kernel"')
[ "$all" -eq 4 ] || wrong "bicg: $all kernels and launches, not two of each"
one=$(run bicg h200 --size small --launches 1 | grep '^    {"kernel"' | sed -n 1p)
case $one in
*'"index": 1,'*) ;;
*) wrong "--launches 1: $one" ;;
esac
first=$(run bicg h200 --size small | sed -n 's/^    {"kernel": "\([^"]*\)", "index": 0.*/\1/p')
run bicg h200 --size small --kernels "$first" >"$dir/chosen"
grep -q '"index": 0,' "$dir/chosen" || wrong "--kernels $first: launch 0 is not there"
grep -q '"index": 1,' "$dir/chosen" && wrong "--kernels $first: launch 1 is there"
grep -qE '"buffers_checked": [1-9]' "$dir/chosen" || wrong "--kernels: what was not chosen was not executed"

# ---- the same launch from a file ---------------------------------------------------------------------
for gpu in v100 h200; do # PTX; machine code
    "$orrery" record hotspot --gpu $gpu --size small -o "$dir/hotspot.orr" 2>"$dir/err" || wrong "record: $(head -1 "$dir/err")"
    direct=$(run hotspot $gpu --size small | value cycles)
    replayed=$(run "$dir/hotspot.orr" $gpu | value cycles)
    [ "$direct" = "$replayed" ] || wrong "hotspot on $gpu: $direct cycles executed, $replayed replayed"
done

# ---- memory ------------------------------------------------------------------------------------------
# One load of one sector from a trace: from memory, from L2 when a copy came before, and when every access hits in L1. The
# difference is that of the latencies (H200: 625, 280, 33), whatever the rest of the kernel takes.
cat >"$dir/kernel-1.traceg" <<'END'
-kernel name = one
-kernel id = 1
-grid dim = (1,1,1)
-block dim = (32,1,1)
-shmem = 0
-nregs = 16
-binary version = 90
-cuda stream id = 0
-shmem base_addr = 0x00007f0000000000
-local mem base_addr = 0x00007e0000000000
-nvbit version = 1.7.6
-accelsim tracer version = 5
-enable lineinfo = 0

#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses] immediate

#BEGIN_TB

thread block = 0,0,0

warp = 0
insts = 3
0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x10000000 0 0
0010 ffffffff 1 R3 FFMA 3 R2 R3 R5 0 0
0020 ffffffff 0 EXIT 0 0 0

#END_TB
END
echo kernel-1.traceg >"$dir/cold.g"
printf 'MemcpyHtoD,0x10000000,4096\nkernel-1.traceg\n' >"$dir/warm.g"
cp "$dir/cold.g" "$dir/kernelslist.g"
plain=(--set l2.sector=32 --set l2.replicate=no --set l2.far_latency=0 --set l2.hash=shuffle --set l2.spread=0 --set launch.drain=0 --set dram.trfc=0) # one sector from memory, no refresh, one L2, all of it as far
cold=$(run "$dir/kernelslist.g" h200 "${plain[@]}" | value cycles)
perfect=$(run "$dir/kernelslist.g" h200 --set memory=perfect --set launch.drain=0 | value cycles)
cp "$dir/warm.g" "$dir/kernelslist.g"
warm=$(run "$dir/kernelslist.g" h200 "${plain[@]}" | value cycles)
flushed=$(run "$dir/kernelslist.g" h200 "${plain[@]}" --set l2.flush=yes | value cycles)
latency() { "$orrery" gpu show h200 | awk -v key="$1.latency" '$1 == key { print $2 }'; }
[ $((cold - warm)) -eq $(($(latency dram) - $(latency l2))) ] || wrong "a copy from the host: $cold cycles without, $warm with"
[ "$flushed" = "$cold" ] || wrong "l2.flush: $flushed cycles, not $cold"
[ $((warm - perfect)) -eq $(($(latency l2) - $(latency l1))) ] || wrong "memory=perfect: $perfect cycles, with L2 $warm"

# Blocks that wait for each other poll as often as an H200's: 7,544 instructions (hardware/h200/workloads.csv), within 2 %.
looks=$(run scan_chained h200 --size small | value warp_insts)
[ "$looks" -ge 7394 ] && [ "$looks" -le 7694 ] || wrong "scan_chained: $looks instructions, an H200 has 7544"

# A stack of 80 lines that has just been written is in L1, all of it: 200 rows of ack's frames are read, and no sector misses.
printf 'module "race"\nbuffer out u32[1024]\nlaunch ack grid 1 block 32 args out, 3, 4\n' >"$dir/ack.launch"
ln -s "$(cd "$(dirname "$0")/.." && pwd)/micro/race.cubin" "$dir/race.cubin"
run "$dir/ack.launch" h200 >"$dir/ack"
local_loads=l1tex__t_sectors_pipe_lsu_mem_local_op_ld
[ "$(value "$local_loads.sum" <"$dir/ack")" -eq 660 ] || wrong "ack: $(value "$local_loads.sum" <"$dir/ack") sectors of its stack"
[ "$(value "${local_loads}_lookup_hit.sum" <"$dir/ack")" -eq 660 ] || wrong "ack: $(value "${local_loads}_lookup_hit.sum" <"$dir/ack") of 660 sectors hit"

# Words stored to rows by both halves: a slice's two ports are busy at the same time, the slice never for longer than the kernel runs.
printf 'module "transpose_naive"\nbuffer in f32[524288] random -1 1\nbuffer out f32[524288] zero\nlaunch transpose_naive grid 32, 64 block 32, 8 args 1024, 512, in, out\n' >"$dir/transpose.launch"
ln -s "$(cd "$(dirname "$0")/.." && pwd)/workloads/transpose_naive/transpose_naive.cubin" "$dir/transpose_naive.cubin"
run "$dir/transpose.launch" h200 --no-check >"$dir/transpose"
slices=$("$orrery" gpu show h200 | awk '$1 == "l2.slices" { print $2 }')
busy=$(value orrery__l2_slice_busy_cycles.sum <"$dir/transpose" | cut -d. -f1)
[ "$busy" -gt 0 ] && [ "$busy" -le $((slices * $(value cycles <"$dir/transpose"))) ] || wrong "transpose_naive: $slices slices are busy for $busy cycles of $(value cycles <"$dir/transpose")"

echo "$ran runs"
exit $failed
