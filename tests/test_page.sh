#!/usr/bin/env bash
# The page of a run: it is one file without references to others, its data are the JSON's, and in a browser (Debian's
# chromium, where it is installed) it shows the JSON's numbers without an error.
set -euo pipefail
cd "$(dirname "$0")/.."
orrery=${ORRERY:-build/orrery}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "test_page: $*" >&2
    exit 1
}

"$orrery" run reduce --gpu h200 --model cycle --quiet --lines --json -o "$work/run.json"
"$orrery" run reduce --gpu h200 --model cycle --quiet --html "$work/run.html" -o "$work/text"
"$orrery" run transpose_naive transpose_tiled --gpu h200 --model cycle --quiet --html "$work/two.html" -o "$work/text2"
"$orrery" run bfs --quiet --html "$work/functional.html" -o "$work/text3"
"$orrery" page "$work/run.json" "$work/run.json" -o "$work/kept.html"
# Pages of other jobs: a table each, and what goes with it.
mkdir "$work/jobs"
"$orrery" compare saxpy --model analytic,abstract --quiet --html "$work/jobs/compare.html" -o "$work/text4"
"$orrery" sweep saxpy --vary sm.count=66,132 --model analytic --quiet --html "$work/jobs/sweep.html" --csv "$work/s.csv" \
    --plot "$work/s.svg" -o "$work/s.sqlite" >"$work/text5"
"$orrery" explain saxpy --set n=4096 --quiet --html "$work/jobs/explain.html" -o "$work/text6"
"$orrery" sample profile bfs --quiet --html "$work/jobs/sample.html" -o "$work/text7"

for page in "$work"/*.html "$work"/jobs/*.html; do
    grep -qE '(src|href)="?(https?:)?//' "$page" && fail "$page names something outside itself"
    [ "$(grep -c '/\*DATA\*/' "$page")" = 0 ] || fail "$page has no data"
done
cycles=$(sed -nE 's/.*"totals": \{"launches": 2, "cycles": ([0-9]+).*/\1/p' "$work/run.json")
[ -n "$cycles" ] || fail "no total of cycles in the JSON"
grep -q "\"cycles\": $cycles" "$work/run.html" || fail "the page's data lack the total of cycles, $cycles"
grep -q '"text": "FADD' "$work/run.json" || fail "an instruction of machine code has no text"

# What is no report is one line and exit 2, and leaves no page.
for bad in /dev/null tests/test_page.sh "$work/text"; do
    status=0
    "$orrery" page "$bad" -o "$work/bad.html" 2>"$work/err" || status=$?
    [ $status = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] && [ ! -e "$work/bad.html" ] || fail "page $bad: exit $status, $(cat "$work/err")"
done

browser=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$browser" ]; then
    echo "test_page: no chromium here, so the pages were not opened (./run browser installs it and does)"
    exit 0
fi
dom() { # what the page looks like when its script has run; its console goes to $work/console
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --user-data-dir="$work/profile" --enable-logging=stderr --dump-dom "file://$1" 2>"$work/console"
}
digits=$(echo "$cycles" | sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta')
dom "$work/run.html" >"$work/dom"
grep -q "<b>$digits</b>" "$work/dom" || fail "the page does not show $digits cycles"
grep -q 'aria-label="roofline"' "$work/dom" || fail "the page has no roofline"
grep -q 'LDG' "$work/dom" || fail "the page shows no machine code"
for page in "$work"/*.html; do
    dom "$page" >"$work/dom"
    grep -E 'CONSOLE|Uncaught' "$work/console" && fail "$page has an error"
    grep -q 'class="on"' "$work/dom" || fail "$page shows no kernel"
done
for page in "$work"/jobs/*.html; do
    dom "$page" >"$work/dom"
    grep -E 'CONSOLE|Uncaught' "$work/console" && fail "$page has an error"
    grep -q '<td' "$work/dom" || fail "$page shows no table"
done
dom "$work/jobs/sweep.html" >"$work/dom"
[ "$(grep -o '<circle' "$work/dom" | wc -l)" = 2 ] || fail "the page of a sweep does not show its two points"
exit 0
