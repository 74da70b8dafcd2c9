#!/usr/bin/env bash
# Examples of --help work when they are pasted in the source tree, and so do those of README, tutorials and guides, page by
# page. Examples of --help behind a line that ends in a colon need something else ("with files of yours:", "on a machine with
# a GPU:", "a minute:") and are not pasted; nor is a block of a page behind `<!-- not pasted: WHY -->`.
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

# Pastes each line of a file, as one who reads it would; what the lines before left lies in the folder.
paste() { # FILE WHERE
    sed -i -e ':join' -e '/\\$/{N;s/\\\n *//;b join}' "$1"
    while IFS= read -r line; do
        pasted=$((pasted + 1))
        if ! timeout 300 bash -c "$line" >"$dir/out" 2>"$dir/err" </dev/null; then
            echo "FAILED: $2: $line"
            head -5 "$dir/err"
            failed=1
        fi
    done <"$1"
}

for sub in $(orrery help | sed -n '/^subcommands:/,/^  help /p' | awk '/^  / && $1 != "help" { print $1 }'); do
    orrery help "$sub" | sed -n '/^examples:/,$p' | sed 1d | sed '/:$/,$d' >"$dir/lines"
    orrery help "$sub" | grep -q '^examples:' || {
        echo "FAILED: $sub has no examples"
        failed=1
    }
    paste "$dir/lines" "orrery help $sub"
done
if [ "$pasted" -lt 30 ]; then
    echo "FAILED: only $pasted examples of --help were found"
    failed=1
fi
echo "$pasted examples of --help"

# The blocks of a page that are commands of ours: four spaces in front, or between fences.
commands() {
    awk '/^<!-- not pasted: .+ -->$/ { skip = 1; next }
        /^```/ { fence = !fence; if (!fence) skip = 0; next }
        fence { code = $0 }
        !fence && /^    / { code = substr($0, 5); block = 1 }
        !fence && !/^    / { code = ""; if (block && NF) { block = skip = 0 } }
        !skip && (code ~ /^orrery / || more) { print code }
        { more = !skip && (code ~ /^orrery / || more) && code ~ /\\$/; code = "" }' "$1"
}
# What pages speak of as the reader'"'"'s own.
pages() {
    pasted=0
    local page
    for page in "$source/README.md" "$source"/docs/tutorials/*.md "$source"/docs/guides/*.md; do
        commands "$page" >"$dir/lines"
        paste "$dir/lines" "${page#"$source/"}"
    done
    if [ "$pasted" -lt 20 ]; then
        echo "FAILED: only $pasted commands of pages were found"
        failed=1
    fi
    echo "$pasted commands of pages"
}
for name in docs tests bench; do ln -s "$source/$name" "$dir/$name"; done
cp /bin/true "$dir/program"
ln -s "$source/hardware/h200/micro.csv" "$dir/findings.csv"
printf 'inherit = "h200"\nsm.count = 66 SMs\nproduct = "half an H200"\n' >"$dir/half.conf"
cp "$source/nodes/dgx_h200.conf" "$dir/next_year.conf"
pages
exit $failed
