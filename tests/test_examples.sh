#!/usr/bin/env bash
# Examples of --help work when they are pasted in the source tree. Those behind a line that ends in a colon need something
# else ("with files of yours:", "on a machine with a GPU:", "a minute:") and are not pasted.
set -u
orrery=${ORRERY:?the path of the command}
source=${SOURCE:?the path of the source tree}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0 pasted=0

# The source tree, as far as examples name it, and a place to write to.
for name in hardware workloads gpus micro; do ln -s "$source/$name" "$dir/$name"; done
mkdir "$dir/bin"
ln -s "$orrery" "$dir/bin/orrery"
PATH=$dir/bin:$PATH
cd "$dir" || exit 1

for sub in $(orrery help | sed -n '/^subcommands:/,/^  help /p' | awk '/^  / && $1 != "help" { print $1 }'); do
    orrery help "$sub" | sed -n '/^examples:/,$p' | sed 1d | sed '/:$/,$d' >"$dir/lines"
    orrery help "$sub" | grep -q '^examples:' || {
        echo "FAILED: $sub has no examples"
        failed=1
    }
    sed -i -e ':join' -e '/\\$/{N;s/\\\n//;b join}' "$dir/lines"
    while IFS= read -r line; do
        pasted=$((pasted + 1))
        if ! timeout 300 bash -c "$line" >"$dir/out" 2>"$dir/err" </dev/null; then
            echo "FAILED: $line"
            head -5 "$dir/err"
            failed=1
        fi
    done <"$dir/lines"
done
if [ "$pasted" -lt 30 ]; then
    echo "FAILED: only $pasted examples were found"
    failed=1
fi
echo "$pasted examples"
exit $failed
