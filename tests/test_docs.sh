#!/usr/bin/env bash
# The documentation: links and anchors lead somewhere, pages are found, lines are short; the HTML too where mkdocs is. Every
# figure is what the kept results give, tables of the program are the program's, and README carries no figure by hand.
set -u
source=${SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
failed=0

export PYTHONDONTWRITEBYTECODE=1
python3 "$source/tests/check_docs.py" "$source" || failed=1
python3 "$source/bench/figures" --check || failed=1
# What the check of figures lets pass, and what it does not.
python3 - "$source" <<'E' || failed=1
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("figures", sys.argv[1] + "/bench/figures")
figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
loader.exec_module(figures)
dated = "*Measured at 1b8e604, 2026-11-17.*"
cases = [  # a page, and the lines whose figures are carried by hand
    ("# A\n\nIt is 4 % off.\n", [3]),
    (f"# A\n\n{dated}\n\nIt is 4 % off.\n\n## B\n\n40x faster.\n", [9]),
    (f"# A\n\n## B\n\n{dated}\n\nIt is 4 % off.\n\n### C\n\n5 % here.\n\n## D\n\n6 % there.\n", [15]),
    ("# A\n\n<!-- rule -->\nAt most 5 %.\n\nIt is 4 % off.\n", [6]),
    ("# A\n\n| 5 % |\n\n    orrery run --fail-if 5 %\n\n`7 %`\n", [3]),
]
for page, wanted in cases:
    found = [line for line, _ in figures.by_hand("docs/a.md", page)]
    assert found == wanted, (page, found, wanted)
E
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
