#!/usr/bin/env bash
# A folder never includes one to its right (docs/design.md). Each file of src/FOLDER is checked.
set -euo pipefail
cd "$(dirname "$0")/.."
order="base isa ptx sass stream exec gpu memory timed core accel tasks launch model sample report lab sweep hw app cli"

bad=0
seen=""
for folder in $order; do
    seen="$seen $folder"
    while IFS=: read -r file line text; do
        [ -n "$file" ] || continue
        to=${text#*\"}
        to=${to%%/*}
        if [[ " $order " == *" $to "* && " $seen " != *" $to "* ]]; then
            echo "$file:$line: src/$folder must not include from src/$to"
            bad=1
        fi
    done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[a-z]+/' "src/$folder" 2>/dev/null || true)
done
exit $bad
