#!/usr/bin/env bash
# Accel-Sim's traces from the command line: what they hold, which launches are taken, what is said of bad ones.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

wrong() {
    echo "FAILED: $*"
    failed=1
}

# expect STATUS TEXT NAME COMMAND...: the status, and TEXT somewhere in what it prints.
expect() {
    local status=$1 text=$2 name=$3 got=0
    shift 3
    "$@" >"$dir/out" 2>&1 || got=$?
    [ $got -eq "$status" ] || wrong "$name: status $got instead of $status: $(head -3 "$dir/out")"
    grep -qF -- "$text" "$dir/out" || wrong "$name: no \"$text\" in: $(head -5 "$dir/out")"
}

# trace NAME BLOCKS: 64 threads each; by warp a load, a multiply-add with half of the lanes, a store, an untaken exit
# and an exit: 5 warp instructions, 32 + 16 + 32 + 0 + 32 = 112 thread instructions.
trace() {
    cat <<END
-kernel name = $1
-kernel id = 1
-grid dim = ($2,1,1)
-block dim = (64,1,1)
-shmem = 1024
-nregs = 32
-binary version = 80
-cuda stream id = 0
-shmem base_addr = 0x00007f59dd000000
-local mem base_addr = 0x00007f59db000000
-nvbit version = 1.7.6
-accelsim tracer version = 5
-enable lineinfo = 0

#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses] immediate

END
    local b w
    for ((b = 0; b < $2; b++)); do
        printf '#BEGIN_TB\n\nthread block = %d,0,0\n' "$b"
        for w in 0 1; do
            printf '\nwarp = %d\ninsts = 5\n' $w
            printf '0000 ffffffff 1 R2 LDG.E.64 1 R4 8 1 0x%x 8 0 \n' $((0x7f5800000000 + (b * 64 + w * 32) * 8))
            printf '0010 0000ffff 1 R3 FFMA 3 R2 R3 R255 0 0 \n'
            printf '0020 ffffffff 0 STG.E 2 R6 R3 4 1 0x%x 4 0 \n' $((0x7f5900000000 + (b * 64 + w * 32) * 4))
            printf '0030 00000000 0 EXIT 0 0 0 \n0040 ffffffff 0 EXIT 0 0 0 \n'
        done
        printf '\n#END_TB\n\n'
    done
}

trace first 3 >"$dir/kernel-1.traceg"
trace second 2 >"$dir/kernel-2.traceg"
trace first 1 >"$dir/kernel-3.traceg"
printf 'MemcpyHtoD,0x00007f5800000000,1536\nkernel-1.traceg\nkernel-2.traceg\nMemcpyDtoH,0x1,2\nkernel-3.traceg\n' \
    >"$dir/kernelslist.g"

# what there is
expect 0 "copy of 1,536 bytes to 0x7f5800000000" "info shows copies" "$orrery" info "$dir/kernelslist.g"
expect 0 "second" "info shows kernels" "$orrery" info -q "$dir/kernelslist.g"
expect 0 "sm_80" "info shows the code's version" "$orrery" info -q "$dir/kernel-2.traceg"
expect 0 '"grid": [2, 1, 1], "block": [64, 1, 1], "registers": 32, "shared": 1024' "info as JSON" \
    "$orrery" info -q --json "$dir/kernelslist.g"

# counts: 6 blocks of 2 warps
expect 0 "3 launches, 60 warp instructions, 1,344 thread instructions" "counts of all" \
    "$orrery" run --model functional -q "$dir/kernelslist.g"
expect 0 '"source": "trace"' "where it comes from" "$orrery" run --model functional -q --json "$dir/kernelslist.g"
# 12 warps load 256 bytes and store 128: 8 and 4 sectors of 32 bytes each
expect 0 '"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 48' "sectors of the first launch" \
    "$orrery" run --model functional -q --json "$dir/kernelslist.g"
grep -q "are left out" "$dir/out" && wrong "--quiet is not quiet"
expect 0 "kernelslist.g:4: lines that are neither" "a note about other lines" \
    "$orrery" run --model functional "$dir/kernelslist.g"
(cd "$dir" && "$orrery" run --model functional -q kernelslist.g >out 2>&1) || wrong "a list without a folder in its name"
expect 0 "1 launch, 30 warp instructions" "one trace by itself" "$orrery" run --model functional "$dir/kernel-1.traceg"

# some of them
expect 0 "1 launch, 20 warp instructions" "by name" "$orrery" run --model functional -q --kernels 's*' "$dir/kernelslist.g"
expect 0 "2 launches, 40 warp instructions" "by name, twice" \
    "$orrery" run --model functional -q --kernels 'first' "$dir/kernelslist.g"
expect 0 "2 launches, 30 warp instructions" "by number" "$orrery" run --model functional -q --launches 1- "$dir/kernelslist.g"
expect 0 "2 launches, 40 warp instructions" "by numbers" \
    "$orrery" run --model functional -q --launches 0,2 "$dir/kernelslist.g"
expect 0 "1 launch, 10 warp instructions" "by both" \
    "$orrery" run --model functional -q --launches 1-2 --kernels 'f*' "$dir/kernelslist.g"
expect 2 "there are 3, numbered from 0" "none" "$orrery" run --model functional -q --launches 3 "$dir/kernelslist.g"
expect 2 "--launches takes numbers" "no list" "$orrery" run --model functional -q --launches x "$dir/kernelslist.g"
expect 2 "--launches takes numbers" "a range backwards" "$orrery" run -q --launches 2-1 "$dir/kernelslist.g"
expect 2 "is replayed as it is" "an option for scripts" "$orrery" run -q --size small "$dir/kernelslist.g"
# A script's launches: bfs goes on after what is not modelled, and its buffers are right.
all=$("$orrery" run bfs -q --model functional --json | grep -c '"index"')
some=$("$orrery" run bfs -q --model functional --launches 1,3 --json | grep -c '"index"')
if [ "$some" -ne 2 ] || [ "$all" -le 2 ]; then wrong "launches of a script: $some of $all"; fi

# xz
if command -v xz >/dev/null; then
    xz -1 -k "$dir/kernel-1.traceg"
    expect 0 "1 launch, 30 warp instructions" "an .xz" "$orrery" run --model functional -q "$dir/kernel-1.traceg.xz"
    head -c 300 "$dir/kernel-1.traceg.xz" >"$dir/cut.traceg.xz"
    expect 2 "cannot decompress: the file is cut off" "half an .xz" "$orrery" run -q "$dir/cut.traceg.xz"
fi

# bad ones: status 2, file and line, and nothing on standard output
head -30 "$dir/kernel-1.traceg" >"$dir/half.traceg"
expect 2 "half.traceg:31: 5 more instructions of this warp expected" "half a trace" \
    "$orrery" run --model functional "$dir/half.traceg"
sed 's/FFMA/FNEW/' "$dir/kernel-2.traceg" >"$dir/new.traceg"
expect 0 'new.traceg:24: no instruction FNEW is known; timed as "fp32"' "an unknown opcode" \
    "$orrery" run --model functional "$dir/new.traceg"
[ "$(grep -c FNEW.is "$dir/out")" -le 1 ] || wrong "more than one warning"
sed 's/0000ffff/0000ffffe/' "$dir/kernel-2.traceg" >"$dir/mask.traceg"
expect 2 "mask.traceg:24: expected an instruction" "a bad mask" "$orrery" run --model functional "$dir/mask.traceg"
printf 'kernel-9.traceg\n' >"$dir/none.g"
mv "$dir/none.g" "$dir/kernelslist-9.g"
expect 2 "kernel-9.traceg: cannot open" "no such kernel" "$orrery" run --model functional "$dir/kernelslist-9.g"
cp "$dir/kernel-1.traceg" "$dir/kernel-1.trace"
expect 2 "a raw trace" "a raw trace" "$orrery" run --model functional "$dir/kernel-1.trace"

[ $failed -eq 0 ] && echo "traces: as they should be"
exit $failed
