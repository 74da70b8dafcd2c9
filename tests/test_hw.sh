#!/usr/bin/env bash
# `orrery hw run` against a CUDA driver of our own (fake_cuda.c): what it prints, and what it says when
# the driver, the module, a launch or a result fails.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

${CC:-cc} -std=gnu17 -O1 -shared -fPIC -o "$work/fake.so" "$SOURCE/tests/fake_cuda.c" || exit 1
export ORRERY_LIBCUDA="$work/fake.so"
cp "$SOURCE/workloads/vecadd/vecadd.ptx" "$work/" || exit 1
cat > "$work/add.launch" <<'END'
module "vecadd.ptx"
size small n = 1000
size large n = 100000
buffer a f32[n] iota
buffer b f32[n] value 2
buffer c f32[n] value 77
for k = 1 to 2
  launch vecadd grid ceildiv(n, 256) block 256 args n, a, b, c
end
expect c expr i + 2
END

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
    if [ $ok = 0 ]; then sed 's/^/    /' "$work/out"; failures=$((failures + 1)); fi
}

hw() { "$ORRERY" hw run "$@"; }

check "one script" 0 "^Fake 7, compute capability 9\.0, 132 SMs, CUDA driver 12\.4$" \
    "^ +0  vecadd +4 +256 +16 +0 +500\.00$" "^ +1  vecadd" "^ +total +1000\.00$" "^right: 1 expectations hold$" \
    "released, 0 buffers and 0 modules left" -- hw "$work/add.launch"
check "the least of three rounds" 0 "^ +0  vecadd .* 250\.00$" "^ +total +500\.00$" -- hw "$work/add.launch" --repeat 3
check "another size" 0 "add.launch, size large" "vecadd +391 " -- hw "$work/add.launch" --size large
check "several" 0 "^script +size +launches" "add.launch +small +2 +1000\.00 +1  right$" "^2 of 2 scripts right$" \
    -- hw "$work/add.launch" "$work/add.launch"
check "json" 0 '"gpu": "Fake 7", "model": "hardware"' '"time_ns": 500000\.0' '"right": 1, "of": 1' -- hw "$work/add.launch" --json
check "arguments instead of a script" 0 "vecadd +4 +256 " -- hw "$work/vecadd.ptx" --kernel vecadd --grid 4 --block 256 \
    --arg i32:1000 --arg buf:f32:1000:random --arg buf:f32:1000:random --arg buf:f32:1000

FAKE_CUDA=wrong check "a wrong sum" 1 "add.launch:10: buffer c, element 500: it holds 503 .* should hold 502 " -- hw "$work/add.launch"
FAKE_CUDA=wrong check "its launches all the same" 1 "^ +1  vecadd" "^ +total +1000\.00$" -- hw "$work/add.launch"
FAKE_CUDA=wrong check "wrong sums" 1 "^0 of 2 scripts right$" -- hw "$work/add.launch" "$work/add.launch"
FAKE_CUDA=wrong check "a wrong sum, not checked" 0 "^not checked$" -- hw "$work/add.launch" --no-check
FAKE_CUDA=fault check "a fault" 1 "kernel vecadd \(launch 0\): cuEventSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS \(700\): fake reason" \
    -- hw "$work/add.launch"
FAKE_CUDA=fault check "after a fault" 1 "small +0 +0\.00 +0  kernel vecadd \(launch 0\)" "not run: after the fault above" \
    "^0 of 2 scripts right$" "released, 0 buffers and 0 modules left" -- hw "$work/add.launch" "$work/add.launch"
FAKE_CUDA=jit check "a module that does not compile" 2 "vecadd.ptx: cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX \(218\)" \
    "line 9; error: fake" -- hw "$work/add.launch"
FAKE_CUDA=nomemory check "no memory" 2 "add.launch:4: buffer a: cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY \(2\)" -- hw "$work/add.launch"
FAKE_CUDA=nodevice check "no device" 2 "orrery: the CUDA driver finds no GPU" -- hw "$work/add.launch"
ORRERY_LIBCUDA=$work/none.so check "no driver" 2 "orrery: the CUDA driver cannot be loaded" -- hw "$work/add.launch"
check "no input" 2 "an INPUT is needed" -- hw
check "no such script" 2 "no such file and no such workload" -- hw nothing
check "no such subcommand" 2 "it should be .orrery hw run" -- "$ORRERY" hw walk

[ $failures = 0 ] && echo "hw run: all right"
exit $((failures > 0))
