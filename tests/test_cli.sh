#!/usr/bin/env bash
# The command as people and scripts meet it: exit status, streams, help, files that are whole or not there.
# $ORRERY is the command, $SOURCE the tree.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
source=${SOURCE:?the path of the source tree}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# expect STATUS NAME COMMAND...: runs it; its output is in $dir/out and $dir/err
expect() {
    local want=$1 name=$2 got=0
    shift 2
    "$@" >"$dir/out" 2>"$dir/err" || got=$?
    if [ "$got" -ne "$want" ]; then
        echo "FAILED: $name: exit status $got, not $want: $*"
        head -5 "$dir/err"
        failed=1
    fi
}
says() { # FILE PATTERN: what the last command wrote there
    if ! grep -qE -- "$2" "$dir/$1"; then
        echo "FAILED: std$1 does not say \"$2\":"
        head -5 "$dir/$1"
        failed=1
    fi
}
silent() {
    if [ -s "$dir/$1" ]; then
        echo "FAILED: std$1 should be empty:"
        head -5 "$dir/$1"
        failed=1
    fi
}

# ---- help and usage -------------------------------------------------------------------------
expect 0 version "$orrery" --version
says out '^orrery [0-9]+\.[0-9]+\.[0-9]+$'
expect 0 help "$orrery" help
silent err
expect 0 --help "$orrery" --help
sed 's/\\-/-/g' "$source/docs/orrery.1" >"$dir/man"
for sub in run record info gpu hw correlate sample sweep compare list show disasm; do
    expect 0 "$sub --help" "$orrery" "$sub" --help
    says out "^usage: orrery $sub"
    says out '^examples:'
    expect 0 "help $sub" "$orrery" help "$sub"
    says out "^usage: orrery $sub"
    if ! grep -q "$sub" "$source/docs/orrery.1"; then
        echo "FAILED: the man page does not name $sub"
        failed=1
    fi
    # Every option that --help names is in the man page.
    for option in $(grep -oE '^  (-[a-z], )?--[a-z-]+' "$dir/out" | grep -oE -- '--[a-z-]+'); do
        if ! grep -q -- "$option" "$dir/man"; then
            echo "FAILED: the man page does not name $option of $sub"
            failed=1
        fi
    done
done
expect 2 "no subcommand" "$orrery"
says err '^orrery: '
silent out
expect 2 "unknown subcommand" "$orrery" rum saxpy
says err '^orrery: unknown subcommand "rum"; did you mean `orrery run`'
# The most exact model that fits into a time.
expect 0 "a long budget" "$orrery" run saxpy --gpu h200 --budget 10m
says out 'model cycle'
says err 'budget: the cycle model, expected to take'
expect 0 "a short budget" "$orrery" run saxpy --gpu h200 --budget 0.000001s
says out 'model analytic'
says err 'budget: .* too short'
expect 2 "a budget that is no time" "$orrery" run saxpy --gpu h200 --budget soon
says err "budget: 'soon' is no time"
expect 2 "a budget and a model" "$orrery" run saxpy --gpu h200 --budget 10s --model cycle
says err 'budget chooses the model'
expect 2 "unknown option" "$orrery" run saxpy --thread 2
says err 'did you mean --threads'
expect 2 "option of another subcommand" "$orrery" info --grid 3 x
says err 'takes no option --grid'
expect 2 "missing value" "$orrery" run saxpy --size
says err 'needs a value'
expect 2 "bad number" "$orrery" run saxpy --threads -1
expect 2 "no input" "$orrery" run
expect 2 "a folder" "$orrery" run "$dir"
says err ': is a folder;'
: >"$dir/empty.launch"
expect 2 "an empty script" "$orrery" run "$dir/empty.launch"
says err 'empty.launch: there is nothing in this launch script'
expect 2 "a name that is nearly right" "$orrery" run saxpi
says err "did you mean 'saxpy'"
expect 2 "no such input" "$orrery" run no_such_workload
says err '^orrery: .*no_such_workload'
expect 2 "no such file" "$orrery" run "$dir/none.launch"
expect 2 "no such size" "$orrery" run saxpy --size enormous
expect 2 "no such GPU" "$orrery" run saxpy --gpu riva128
expect 2 "no such model" "$orrery" run saxpy --model crystal_ball

# ---- running --------------------------------------------------------------------------------
expect 0 "list" "$orrery" list
says out '^saxpy '
expect 0 "list --names" "$orrery" list --names
says out '^saxpy$'
expect 0 "run" "$orrery" run saxpy --size small
says out 'saxpy'
silent err
expect 0 "run --json" "$orrery" run saxpy --size small --json
says out '"thread_insts": [0-9]+'
says out '"buffers_checked": 1'
abstract() { "$orrery" run reduce --size small --model abstract "$@" | grep -v ' threads, '; }
abstract --flush >"$dir/flush"
abstract --set l2.flush=yes | cmp -s - "$dir/flush" || { echo "FAILED: --flush is not l2.flush=yes"; failed=1; }
abstract | cmp -s - "$dir/flush" && { echo "FAILED: --flush changes nothing"; failed=1; }
expect 0 "run --counts-only" "$orrery" run saxpy --size small --counts-only
expect 2 "lines without counting" "$orrery" run saxpy --size small --counts-only --lines
expect 0 "lines of a model that has none" "$orrery" run saxpy --size small --model analytic --lines
says err "the analytic model does not tell lines apart"
expect 0 "equals signs" "$orrery" run --size=small --threads=1 --json saxpy
expect 0 "another size by --set" "$orrery" run saxpy --set n=1000 --no-check

# Results are the same with any number of host threads.
for threads in 1 3; do
    "$orrery" run bfs --size small --json --threads $threads | sed '/^  "host"/d' >"$dir/threads$threads"
done
if ! cmp -s "$dir/threads1" "$dir/threads3"; then
    echo "FAILED: bfs depends on the number of host threads"
    failed=1
fi

# Without a script; 1000 threads of 1024 go through.
cat >"$dir/scale.ptx" <<'EOF'
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u32 n, .param .f32 a, .param .u64 x)
{
  .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %d<4>;
  ld.param.u32 %r1, [n]; ld.param.f32 %f1, [a]; ld.param.u64 %d1, [x];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %p, %r5, %r1; @%p bra done;
  mul.wide.u32 %d2, %r5, 4; add.u64 %d3, %d1, %d2;
  ld.global.f32 %f2, [%d3]; mul.f32 %f3, %f2, %f1; st.global.f32 [%d3], %f3;
done: ret;
}
.visible .entry stuck() { loop: bra loop; }
.visible .entry broken() { trap; ret; }
EOF
direct=("$orrery" run "$dir/scale.ptx" --kernel scale --block 256)
expect 0 "direct" "${direct[@]}" --grid 4 --arg u32:1000 --arg f32:0.5 --arg buf:f32:1000:random --json
says out '"thread_insts": 15240'
expect 1 "past the buffer" "${direct[@]}" --grid 4 --arg u32:1024 --arg f32:0.5 --arg buf:f32:1000:random
says err '^orrery: .*scale'
says err 'scale.ptx:11'
silent out
expect 2 "too few arguments" "${direct[@]}" --grid 4 --arg u32:1000
expect 2 "no such kernel" "$orrery" run "$dir/scale.ptx" --kernel none --grid 1 --block 1
expect 2 "block too large" "$orrery" run "$dir/scale.ptx" --kernel broken --grid 1 --block 2048
expect 1 "trap" "$orrery" run "$dir/scale.ptx" --kernel broken --grid 1 --block 1
says err 'scale.ptx:15'
expect 1 "endless loop" "$orrery" run "$dir/scale.ptx" --kernel stuck --grid 1 --block 32 --max-insts 100k
says err 'scale.ptx:14|max-insts'
printf '.version 7.0\n.target sm_70\n.visible .entry k( {\n' >"$dir/bad.ptx"
expect 2 "bad PTX" "$orrery" run "$dir/bad.ptx" --kernel k --grid 1 --block 1
says err '^orrery: .*bad.ptx:3'
expect 0 show "$orrery" show "$dir/scale.ptx"
says out '^scale '
expect 0 "show --kernel" "$orrery" show "$dir/scale.ptx" --kernel scale

# ---- machine code and PTX ---------------------------------------------------------------------
cubin=$source/workloads/saxpy/saxpy.cubin
saxpy=(--kernel saxpy --grid 2 --block 32 --arg i32:64 --arg f32:2.5 --arg buf:f32:64:value:2 --arg buf:f32:64:value:1:print)
expect 2 "a source there is not" "$orrery" run saxpy --source asm
says err 'ptx or sass'
expect 2 "machine code of one's own script that is not there" "$orrery" run "$dir/scale.ptx" --source sass --kernel scale --grid 1 --block 1
says err 'nvcc -cubin'
expect 0 "PTX by choice" "$orrery" run saxpy --source ptx --json
says out '"source": "ptx"'
if "$orrery" show "$cubin" >"$dir/out" 2>"$dir/err" || ! grep -q 'no libelf' "$dir/err"; then
    expect 0 "machine code by default" "$orrery" run saxpy --json
    says out '"source": "sass"'
    expect 0 "PTX for a GPU that could not run it" "$orrery" run saxpy --gpu v100 --json
    says out '"source": "ptx"'
    expect 2 "machine code for that GPU" "$orrery" run saxpy --gpu v100 --source sass
    says err 'no machine code for sm_70'
    expect 0 "a cubin by itself" "$orrery" run "$cubin" "${saxpy[@]}" # 2.5 * 2 + 1
    says err '^arg3: 6 6 6'
    expect 0 "a cubin with PTX beside it" "$orrery" run "$cubin" "${saxpy[@]}" --source ptx --json
    says out '"source": "ptx"'
    expect 0 "show a cubin" "$orrery" show "$cubin" --kernel saxpy
    says out 'FFMA R[0-9]+ <- '
    expect 2 "an ELF file without code for a GPU" "$orrery" run "$orrery" --grid 1 --block 1
    says err 'without code for a GPU'
fi

# What a kernel prints goes to stdout, except where the result there is JSON.
cat >"$dir/hello.ptx" <<'EOF'
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[10] = {104, 101, 108, 108, 111, 32, 37, 100, 10, 0};
.visible .entry hello()
{
  .local .align 8 .b8 args[8]; .reg .b64 %d<5>; .reg .b32 %r<3>;
  mov.u64 %d1, args; cvta.local.u64 %d2, %d1; mov.u32 %r1, %tid.x; st.local.u32 [%d1], %r1;
  mov.u64 %d3, text; cvta.global.u64 %d4, %d3;
  { .param .b64 p0; .param .b64 p1; .param .b32 rv; st.param.b64 [p0], %d4; st.param.b64 [p1], %d2;
    call.uni (rv), vprintf, (p0, p1); ld.param.b32 %r2, [rv]; }
  ret;
}
.visible .entry typed(.param .u64 t)
{
  .reg .b64 %d<2>; .reg .b32 %r<2>;
  ld.param.u64 %d1, [t];
  txq.channel_order.b32 %r1, [%d1]; ret;
}
EOF
hello=("$orrery" run "$dir/hello.ptx" --kernel hello --grid 2 --block 2)
expect 0 "printf" "${hello[@]}"
if [ "$(head -4 "$dir/out" | tr '\n' ' ')" != "hello 0 hello 1 hello 0 hello 1 " ]; then
    echo "FAILED: printf's lines are not first and in order"
    head -5 "$dir/out"
    failed=1
fi
expect 0 "printf with --json" "${hello[@]}" --json
says err '^hello 1$'
if [ "$(head -c 1 "$dir/out")" != "{" ] || grep -q '^hello' "$dir/out"; then
    echo "FAILED: printf's lines are in the JSON"
    failed=1
fi
expect 2 "a kernel that cannot be loaded" "$orrery" run "$dir/hello.ptx" --kernel typed --grid 1 --block 1 --arg u64:0
says err 'hello.ptx:19: .*not supported'
expect 0 "the kernels of a module, with the reason for one" "$orrery" show "$dir/hello.ptx"
says out '^typed .*hello.ptx:19'

# A script whose expectation does not hold.
cat >"$dir/wrong.launch" <<'EOF'
module "scale.ptx"
buffer x f32[64] value 2
launch scale grid 1 block 64 args 64, 0.5, x
expect x all 3
EOF
expect 1 "buffer not as expected" "$orrery" run "$dir/wrong.launch"
says err 'x'
expect 0 "--no-check" "$orrery" run "$dir/wrong.launch" --no-check
sed -i 's/all 3/all 1/' "$dir/wrong.launch"
expect 0 "buffer as expected" "$orrery" run "$dir/wrong.launch"

# Textures of buffers: halfway between neighbours in a row, and past the last column the border's zero; beside
# it an element of a line.
cat >"$dir/look.ptx" <<'EOF'
.version 8.0
.target sm_80
.address_size 64
.visible .entry look(.param .u64 t, .param .u64 line, .param .u64 out, .param .u32 w)
{
    .reg .f32 %f<14>;
    .reg .b32 %r<5>;
    .reg .b64 %d<7>;
    ld.param.u64 %d1, [t];
    ld.param.u64 %d2, [line];
    ld.param.u64 %d3, [out];
    ld.param.u32 %r1, [w];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    cvt.rn.f32.s32 %f1, %r2;
    add.f32 %f2, %f1, 0f3F800000;
    cvt.rn.f32.s32 %f3, %r3;
    add.f32 %f4, %f3, 0f3F000000;
    tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d1, {%f2, %f4}];
    tex.1d.v4.f32.s32 {%f9, %f10, %f11, %f12}, [%d2, {%r2}];
    add.f32 %f13, %f5, %f9;
    mad.lo.s32 %r4, %r3, %r1, %r2;
    mul.wide.s32 %d5, %r4, 4;
    add.s64 %d6, %d3, %d5;
    st.global.f32 [%d6], %f13;
    ret;
}
EOF
cat >"$dir/look.launch" <<'EOF'
module "look.ptx"
let w = 16
let h = 4
buffer image f32[w*h] expr i
buffer line f32[w] expr 100*i
buffer out f32[w*h]
for again = 1 to 3
    launch look grid h block w args texture(image dims w, h linear border), texture(line dims w), out, w
end
expect out expr i % w == w-1 ? i / 2.0 + 1500 : i + 0.5 + 100*(i % w)
EOF
expect 0 "textures of a script" "$orrery" run "$dir/look.launch"
expect 0 "textures of a script, timed" "$orrery" run "$dir/look.launch" --model cycle
sed -i 's/image dims w, h/image dims w, h+1/' "$dir/look.launch"
expect 2 "a texture larger than its buffer" "$orrery" run "$dir/look.launch"
says err 'look.launch:8: .*larger than its buffer'
sed -i 's/linear border/linear sideways/' "$dir/look.launch"
expect 2 "no such word" "$orrery" run "$dir/look.launch"

# ---- GPUs -----------------------------------------------------------------------------------
expect 0 "gpu list" "$orrery" gpu list
says out 'h200'
expect 2 "gpu list with a wrong key" "$orrery" gpu list --set nonsense=1
silent out
expect 0 "gpu list --names" "$orrery" gpu list --names
says out '^h200$'
expect 0 "gpu show" "$orrery" gpu show h200
expect 0 "gpu keys --json" "$orrery" gpu keys --json
says out '"key": "sm.count"'
expect 0 "gpu occupancy" "$orrery" gpu occupancy h200 --block 256 --regs 64 --json
says out '"blocks_per_sm": 4'

# ---- files ----------------------------------------------------------------------------------
expect 0 record "$orrery" record saxpy --size small -o "$dir/s.orr"
expect 0 info "$orrery" info "$dir/s.orr"
says out 'saxpy'
expect 0 replay "$orrery" run "$dir/s.orr" --json
says out '"source": "trace"'
expect 2 "a constant for a recording" "$orrery" run "$dir/s.orr" --set n=3
expect 0 "a GPU for a recording" "$orrery" run "$dir/s.orr" --set sm.count=3
expect 2 "recording a recording" "$orrery" record "$dir/s.orr" -o "$dir/t.orr"
says err 's.orr: is a recorded stream already'
cp "$dir/s.orr" "$dir/same.orr"
cp "$dir/scale.ptx" "$dir/same.ptx"
ln "$dir/same.ptx" "$dir/also.ptx"
expect 2 "a result over its input" "$orrery" run "$dir/same.orr" -o "$dir/same.orr"
says err 'same.orr: is the INPUT'
expect 2 "a recording over its module" "$orrery" record "$dir/same.ptx" --kernel broken --grid 1 --block 1 -o "$dir/also.ptx"
says err 'also.ptx: is the INPUT'
if ! cmp -s "$dir/same.orr" "$dir/s.orr" || ! cmp -s "$dir/same.ptx" "$dir/scale.ptx"; then
    echo "FAILED: an input was written over"
    failed=1
fi
expect 0 "record over an older recording" "$orrery" record saxpy --size small -o "$dir/same.orr"
expect 1 "record what fails" "$orrery" record "$dir/scale.ptx" --kernel broken --grid 1 --block 1 -o "$dir/same.orr"
if ! cmp -s "$dir/same.orr" "$dir/s.orr" || compgen -G "$dir/same.orr.*" >/dev/null; then
    echo "FAILED: a recording that failed has touched the older one, or left something beside it"
    failed=1
fi
size=$(stat -c %s "$dir/s.orr")
head -c $((size - 7)) "$dir/s.orr" >"$dir/cut.orr"
expect 2 "cut file" "$orrery" info "$dir/cut.orr"
says err '^orrery: .*cut.orr'
cat >"$dir/long.launch" <<'EOF'
module "scale.ptx"
launch stuck grid 1 block 32
EOF
# Several GPUs, one table; with --json an array of what each run prints.
expect 0 "several GPUs" "$orrery" run saxpy --size small --gpu k40,v100,h200 -q
says out '^kernel +k40 +v100 +h200 *$'
says out '^saxpy( +[0-9.]+ [um]s +[0-9.]+x [A-Za-z0-9_]+ *){3}$'
expect 0 "several GPUs, JSON" "$orrery" run saxpy --size small --gpu v100,h200 --json -q
[ "$(grep -c '"gpu": "\(v100\|h200\)"' "$dir/out")" -eq 2 ] && [ "$(head -c 1 "$dir/out")" = '[' ] || { echo "FAILED: no array of two runs"; failed=1; }
cp "$dir/out" "$dir/both"
expect 0 "one of them" "$orrery" run saxpy --size small --gpu v100 --model cycle --json -q
cycles=$(grep -o '"cycles": [0-9]*' "$dir/out" | sed -n 1p)
[ "$(grep -o '"cycles": [0-9]*' "$dir/both" | sed -n 1p)" = "$cycles" ] || { echo "FAILED: alone it is $cycles"; failed=1; }
expect 0 "compare on several GPUs" "$orrery" compare saxpy --size small --gpu v100,h200 --model cycle,analytic -q
says out '^saxpy +cycle( +[0-9.]+ us +[0-9.]+x){2}$'
says out '^saxpy +analytic( +[0-9.]+ us +[0-9.]+x){2}$'
for mistake in "--gpu v100,," "--gpu v100,nothing" "--gpu v100,h200 --model functional" "--gpu v100,h200 --model cycle --timeline $dir/t.json"; do
    expect 2 "$mistake" "$orrery" run saxpy --size small -q $mistake
done

# A name that is no file is told at once: --json takes no name, and what follows it is an INPUT.
mkfifo "$dir/pipe"
for name in /dev/stdout /dev/null "$dir/pipe"; do
    for command in run record info sweep; do
        more=()
        [ $command = record ] && more=(-o "$dir/x.orr")
        [ $command = sweep ] && more=(--vary "sm.count=1,2" -o "$dir/x.sqlite")
        expect 2 "$command $name" timeout 20 "$orrery" $command "$name" "${more[@]}" </dev/null
        says err 'an INPUT is read, more than once'
    done
done
expect 2 "--json with a name" bash -c 'timeout 20 "$1" run saxpy --size small --json /dev/stdout 2>&1 >/dev/null | cat >&2; exit ${PIPESTATUS[0]}' - "$orrery"
says err 'json takes no name'
expect 0 "-o /dev/stdout" bash -c '"$1" run saxpy --size small -q -o /dev/stdout | grep -q saxpy' - "$orrery"
printf 'int main() {}\n' >"$dir/x.cu"
expect 2 "CUDA source" "$orrery" run "$dir/x.cu"
says err 'nvcc .*-cubin .*orrery app ./x'
expect 2 "an output that cannot be written, before the run" timeout 20 "$orrery" run "$dir/long.launch" -o "$dir/no/such/out"
says err 'no/such/out: cannot write'
expect 2 "unwritable output" "$orrery" record saxpy -o "$dir/no/such/folder/s.orr"
if [ -e /dev/full ]; then
    expect 2 "full disk" bash -c '"$1" run saxpy --size small >/dev/full' - "$orrery"
    says err 'cannot write to standard output'
    expect 2 "full disk, help" bash -c '"$1" run --help >/dev/full' - "$orrery"
    expect 2 "full disk, -o" "$orrery" record saxpy --size small -o /dev/full
    says err '^orrery: /dev/full: cannot write'
fi

# A signal ends the command as it always does, and no temporary stays behind.
for signal in INT TERM; do
    # A shell's background jobs ignore SIGINT; env undoes that.
    env --default-signal=$signal "$orrery" record "$dir/long.launch" -o "$dir/long.orr" >/dev/null 2>"$dir/err" &
    pid=$!
    for _ in $(seq 100); do
        compgen -G "$dir/long.orr*" >/dev/null && break
        sleep 0.1
    done
    kill -s $signal $pid
    got=0
    wait $pid || got=$?
    want=$((128 + $(kill -l $signal)))
    if [ $got -ne $want ]; then
        echo "FAILED: SIG$signal gave exit status $got, not $want"
        head -5 "$dir/err"
        failed=1
    fi
    if compgen -G "$dir/long.orr*" >/dev/null; then
        echo "FAILED: SIG$signal left a file behind"
        failed=1
    fi
done

# Ctrl-C stops a job of many parts, and what is done is reported.
env --default-signal=INT "$orrery" correlate "$source/hardware/h200/workloads.csv" -- --gpu h200 --size small >"$dir/out" 2>"$dir/err" &
pid=$!
sleep 1
kill -s INT $pid
got=0
wait $pid || got=$?
if [ $got -ne 130 ]; then
    echo "FAILED: Ctrl-C gave exit status $got, not 130"
    failed=1
fi
says out '^scripts: [0-9]+, kernels: [0-9]+'
says err '^orrery: correlate: stopped$'

[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
