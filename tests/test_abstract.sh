#!/usr/bin/env bash
# The abstract model from the command line: beside the cycle model, the same with any number of threads, from machine
# code, PTX and a stream file, with a file of latencies, and what it refuses.
set -u
orrery=$ORRERY
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
wrong() {
    echo "test_abstract: $*" >&2
    failed=1
}
cycles() { sed -n 's/^  "totals":.*"cycles": \([0-9]*\).*/\1/p' "$1"; }
run() { # OUT ARGUMENTS...
    local out=$1
    shift
    "$orrery" run "$@" --json --quiet >"$out" 2>"$dir/err" || wrong "run $*: $(head -1 "$dir/err")"
}

# What the paper reached with perfect memory: at most 10 % off (section III, figure 4).
for name in saxpy reduce scan bfs bucket_lock; do
    for schedulers in 1 2; do
        set -- "$name" --size small --gpu gtx480 --set memory=perfect --set core.schedulers=$schedulers
        run "$dir/cycle" "$@" --model cycle
        run "$dir/abstract" "$@" --model abstract
        awk -v a="$(cycles "$dir/abstract")" -v c="$(cycles "$dir/cycle")" 'BEGIN { exit !(c > 0 && a > 0.9 * c && a < 1.1 * c) }' ||
            wrong "$name with $schedulers schedulers: $(cycles "$dir/abstract") cycles, the cycle model says $(cycles "$dir/cycle")"
    done
done

# Lines and sectors follow from the addresses alone, so both models count the same: lanes in rows and masked rows (hotspot),
# without a pattern (spmv_csr), far apart (transpose_naive), in a row.
counts() { grep -oE '"l1tex__t_(sectors|set_accesses).sum": [0-9]+' "$1"; }
for name in hotspot spmv_csr transpose_naive saxpy; do
    run "$dir/cycle" "$name" --size small --gpu h200 --model cycle
    run "$dir/abstract" "$name" --size small --gpu h200 --model abstract
    launches=$(counts "$dir/abstract" | head -n "$((2 * $(grep -c '"index":' "$dir/abstract")))")
    case "$(counts "$dir/cycle")" in # launch by launch; totals are behind them
    "$launches"*) [ -n "$launches" ] || wrong "$name: no lines and sectors" ;;
    *) wrong "$name: other lines and sectors than the cycle model's" ;;
    esac
done

# A lock is held from where it is taken until it is given back, with what its fences wait for in between: additions and fences of a block, a lock that 8 and
# 64 blocks take in turn. Without that the lock goes round four times as fast.
cat >"$dir/locks.ptx" <<'X'
.version 7.0
.target sm_70
.address_size 64
.visible .entry additions(.param .u64 p, .param .u32 rounds) {
    .reg .pred %q;
    .reg .b32 %r<8>;
    .reg .b64 %a<4>;
    ld.param.u64 %a1, [p];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r3, 0;
again:
    atom.global.add.u32 %r4, [%a1], 1;
    membar.gl;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %q, %r3, %r1;
    @%q bra again;
    st.global.u32 [%a1+256], %r4;
    ret;
}
.visible .entry locks(.param .u64 p, .param .u32 rounds) {
    .reg .pred %q;
    .reg .b32 %r<8>;
    .reg .b64 %a<4>;
    ld.param.u64 %a1, [p];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r3, 0;
again:
    atom.global.cas.b32 %r4, [%a1], 0, 1;
    setp.ne.u32 %q, %r4, 0;
    @%q bra again;
    membar.gl;
    ld.volatile.global.u32 %r5, [%a1+128];
    add.u32 %r5, %r5, 1;
    st.volatile.global.u32 [%a1+128], %r5;
    membar.gl;
    atom.global.exch.b32 %r4, [%a1], 0;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %q, %r3, %r1;
    @%q bra again;
    ret;
}
X
cat >"$dir/locks.launch" <<'X'
module "locks"
buffer p u32[256] zero
buffer q u32[256] zero
launch additions grid 1 block 1 args p, 65
launch additions grid 1 block 512 args p, 17
launch locks grid 8 block 1 args q, 8
launch locks grid 64 block 1 args q, 8
X
each() { grep -o '"dynamic_shared": [0-9]*, "cycles": [0-9]*' "$1" | grep -o '[0-9]*$'; }
run "$dir/cycle" "$dir/locks.launch" --gpu h200 --model cycle
run "$dir/abstract" "$dir/locks.launch" --gpu h200 --model abstract
paste <(each "$dir/cycle") <(each "$dir/abstract") | awk '{ n++; if ($2 < 0.8 * $1 || $2 > 1.2 * $1) bad = 1 } END { exit bad || n != 4 }' ||
    wrong "fences and locks: $(each "$dir/abstract" | tr '\n' ' ') cycles, the cycle model says $(each "$dir/cycle" | tr '\n' ' ')"

# Threads, files: the same digits.
run "$dir/one" reduce --size small --gpu h200 --model abstract --threads 1
run "$dir/two" reduce --size small --gpu h200 --model abstract --threads 3
diff <(grep -v '"host"' "$dir/one") <(grep -v '"host"' "$dir/two") >/dev/null || wrong "three threads differ from one"
"$orrery" record reduce --size small --source ptx -o "$dir/streams" --quiet 2>"$dir/err" || wrong "record: $(head -1 "$dir/err")"
run "$dir/file" "$dir/streams" --gpu h200 --model abstract
run "$dir/ptx" reduce --size small --source ptx --gpu h200 --model abstract
[ "$(cycles "$dir/file")" = "$(cycles "$dir/ptx")" ] || wrong "a stream file: $(cycles "$dir/file"), not $(cycles "$dir/ptx")"

# Latencies are written once and used again, on other machines too.
run "$dir/a" scan --size small --gpu gtx480 --model abstract --latencies "$dir/lat"
cp "$dir/lat" "$dir/before" || wrong "no file of latencies"
run "$dir/b" scan --size small --gpu gtx480 --model abstract --latencies "$dir/lat"
run "$dir/c" scan --size small --gpu gtx480 --model abstract --latencies "$dir/lat" --set sm.count=4 --set core.schedulers=1
cmp -s "$dir/lat" "$dir/before" || wrong "latencies were written again"
[ "$(cycles "$dir/a")" = "$(cycles "$dir/b")" ] || wrong "latencies from a file make a difference"
echo "no latencies" >"$dir/bad"
"$orrery" run scan --size small --gpu gtx480 --model abstract --latencies "$dir/bad" >/dev/null 2>"$dir/err"
[ $? = 2 ] && grep -q "bad:1: " "$dir/err" || wrong "a damaged file: $(head -1 "$dir/err")"

"$orrery" run saxpy --size small --gpu h200 --model abstract --timeline "$dir/t" >/dev/null 2>"$dir/err"
[ $? = 2 ] && grep -q timeline "$dir/err" || wrong "--timeline is not refused"
"$orrery" run saxpy --size small --gpu h200 --model abstract >"$dir/out" 2>"$dir/err" || wrong "text: $(head -1 "$dir/err")"
grep -q cycles "$dir/out" || wrong "the report does not tell cycles"
exit $failed
