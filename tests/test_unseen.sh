#!/usr/bin/env bash
# The kernels that the models are checked with and were not made for (docs/how/unseen.md): the small size of each, from PTX and from
# machine code, leaves what the plain C references say.
set -uo pipefail
orrery=${ORRERY:?the path of the command}
unseen=${SOURCE:?the source tree}/tests/unseen
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
ran=0
complain() {
    echo "FAILED: $1"
    failed=1
}

sources="ptx sass"
"$orrery" show "$unseen/life.cubin" >/dev/null 2>"$dir/err" || ! grep -q 'no libelf' "$dir/err" || sources=ptx
for script in "$unseen"/*.launch; do
    name=$(basename "$script" .launch)
    for source in $sources; do
        "$orrery" run "$script" --size small --source "$source" --threads 2 --counts-only --max-insts 10M --json >"$dir/out" 2>"$dir/err" ||
            complain "$name from $source: $(sed -n 1p "$dir/err")"
        grep -qE '"buffers_checked": [1-9]' "$dir/out" || complain "$name from $source: no buffer was checked"
        grep -q "\"source\": \"$source\"" "$dir/out" || complain "$name from $source: another source"
    done
    ran=$((ran + 1))
done
[ $ran -ge 35 ] || complain "only $ran scripts"

# The check can fail: the same game of life, one generation less.
mkdir "$dir/short" && cp "$unseen"/life.* "$dir/short" && sed -i 's/t = 1 to 2/t = 1 to 1/' "$dir/short/life.launch"
"$orrery" run "$dir/short/life.launch" --size small --source ptx --counts-only >"$dir/out" 2>"$dir/err"
[ $? = 1 ] || complain "one generation passed for two"
grep -q 'buffer a' "$dir/err" || complain "one generation: said '$(sed -n 1p "$dir/err")'"
exit $failed
