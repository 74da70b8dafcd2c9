#!/usr/bin/env bash
# The documentation: links and anchors lead somewhere, pages are found, lines are short; the HTML too where mkdocs is. Every
# figure is what the kept results give, tables of the program are the program's, and README carries no figure by hand.
set -u
source=${SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
failed=0

export PYTHONDONTWRITEBYTECODE=1
python3 "$source/tests/check_docs.py" "$source" || failed=1
python3 "$source/bench/figures" --check || failed=1
lines=$(wc -l <"$source/README.md")
if [ "$lines" -gt 150 ]; then
    echo "README.md has $lines lines; 150 at most"
    failed=1
fi

if command -v mkdocs >/dev/null 2>&1; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    if mkdocs build -q --strict -f "$source/mkdocs.yml" -d "$site/html" >"$site/log" 2>&1; then
        python3 "$source/tests/check_docs.py" --site "$site/html" || failed=1
    else
        cat "$site/log"
        failed=1
    fi
fi
exit $failed
