#!/usr/bin/env bash
# orrery disasm on what nvcc 13.0 made of tests/corpus/cubin/tiny.cu. The expected instructions are nvdisasm's.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
source=${SOURCE:?the path of the source tree}
files=$source/tests/corpus/cubin
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
wrong() {
    echo "FAILED: $*"
    failed=1
}
has() { grep -qF -- "$1" "$dir/out" || wrong "not there: $1"; }
status() { # WANT COMMAND...
    local want=$1 got=0
    shift
    "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ "$got" -eq "$want" ] || wrong "exit status $got, not $want: $*: $(head -2 "$dir/err")"
}

status 0 "$orrery" disasm "$files/tiny90.cubin"
if grep -q 'no libelf' "$dir/err"; then
    echo "built without libelf: skipped"
    exit 0
fi
[ -s "$dir/err" ] && wrong "a whole cubin gives no complaints: $(head -2 "$dir/err")"
has '// kernel mix, sm_90:'
has '24 bytes of parameters at c[0x0][0x210]: 8 at 0x210, 4 at 0x218, 2 at 0x21c, 8 at 0x220'
has '/*0090*/  [B------:R-:W2:-:S01]  LDG.E R0, desc[UR6][R4.64] ;'
has '/*0130*/  [B--2---:R0:W-:-:S01]  STS [R9+UR4], R0 ;'
has 'BAR.SYNC.DEFER_BLOCKING 0x0 ;'
has '@P0 BRA 0x230 ;'
has '//## File "/src/tiny.cu", line 9'
grep -q 'INVALID\|\.inst' "$dir/out" && wrong "an instruction was not decoded: $(grep -m1 'INVALID\|\.inst' "$dir/out")"

status 0 "$orrery" disasm "$files/tiny75.cubin" --kernel divide
grep -q 'kernel mix' "$dir/out" && wrong "--kernel shows the others too"
has 'MUFU.RCP'
has 'CALL.REL.NOINC'
has '$__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath:'

status 0 "$orrery" disasm "$files/tiny_zstd.fatbin"
cp "$dir/out" "$dir/zstd"
has 'sm_80'
status 0 "$orrery" disasm "$files/tiny_lz4.fatbin"
cmp -s "$dir/out" "$dir/zstd" || wrong "packed otherwise, the same code reads otherwise"
status 0 "$orrery" disasm "$files/tiny_lz4.fatbin" --arch sm_90
grep -q 'sm_80' "$dir/out" && wrong "--arch sm_90 shows sm_80"
status 0 "$orrery" disasm "$files/tiny.elf"
has '// kernel mix, sm_86:'

status 0 "$orrery" disasm "$files/tiny90.cubin" --kernel mix --json
has '"name": "mix", "kernel": true, "sm": 90'
has '"params": [{"offset": 0, "bytes": 8}, {"offset": 8, "bytes": 4}, {"offset": 12, "bytes": 2}, {"offset": 16, "bytes": 8}]'
has '{"address": 144, "text": "LDG.E R0, desc[UR6][R4.64]", "opcode": "LDG"'
has '"write_barrier": 2, "read_barrier": null, "wait": 0'
if command -v python3 >/dev/null; then
    python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert len(d)==1 and len(d[0]["code"])>40' "$dir/out" ||
        wrong "not JSON"
fi

# code by itself: the same instructions, at the same addresses
status 0 "$orrery" disasm "$files/tiny_zstd.fatbin" --dump "$dir/code"
has '00001.sm_90.bin kernel '
has '.sm_80.bin kernel mix'
has '.sm_90.bin kernel mix'
[ "$(ls "$dir/code" | wc -l)" -eq "$(wc -l <"$dir/out")" ] || wrong "--dump names what it has not written"
code=$dir/code/$(sed -n 's/\(.*\.sm_90\.bin\) kernel mix$/\1/p' "$dir/out")
status 0 "$orrery" disasm --raw --arch sm_90 "$code"
grep '/\*[0-9a-f]*\*/' "$dir/out" >"$dir/raw"
status 0 "$orrery" disasm "$files/tiny_zstd.fatbin" --arch sm_90 --kernel mix
grep '/\*[0-9a-f]*\*/' "$dir/out" | sed 's, *// R_CUDA.*,,' >"$dir/listed"
[ -s "$dir/raw" ] && cmp -s "$dir/raw" "$dir/listed" || wrong "code by itself reads otherwise"
status 0 "$orrery" disasm "$files/tiny_zstd.fatbin" --dump "$dir/code" # again: replaced
status 0 "$orrery" disasm "$files/tiny_zstd.fatbin" --images 1 --dump "$dir/code"
has 'sm_80'
has 'sm_90'
touch "$dir/code/other"
status 2 "$orrery" disasm "$files/tiny_zstd.fatbin" --dump "$dir/code"
[ -e "$dir/code/other" ] || wrong "--dump has removed a file that is not its own"
status 2 "$orrery" disasm --raw "$code"
status 2 "$orrery" disasm --raw --arch sm_70 "$files/tiny90.cubin"
printf 'seventeen bytes..' >"$dir/odd"
status 2 "$orrery" disasm --raw --arch sm_90 "$dir/odd"
status 2 "$orrery" disasm --raw --arch sm_90 "$dir/none"
status 2 "$orrery" disasm --json --dump "$dir/c" "$files/tiny90.cubin"

status 2 "$orrery" disasm "$files/tiny90.cubin" --arch sm_75
grep -q 'no code for sm_75; it has sm_90' "$dir/err" || wrong "does not say what it has: $(cat "$dir/err")"
status 2 "$orrery" disasm "$files/tiny90.cubin" --kernel nothing
status 2 "$orrery" disasm "$files/tiny90.cubin" --arch hopper
status 2 "$orrery" disasm "$dir/none"
status 2 "$orrery" disasm
status 2 "$orrery" disasm "$orrery" # an ELF file without code for a GPU
grep -q 'without code for a GPU' "$dir/err" || wrong "says of itself: $(cat "$dir/err")"
head -c 3000 "$files/tiny90.cubin" >"$dir/cut"
status 2 "$orrery" disasm "$dir/cut"

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
