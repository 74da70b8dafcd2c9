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
# Reports that were kept: several runs in one file, and other jobs'.
"$orrery" run saxpy vecadd --model cycle --quiet --json -o "$work/array.json"
"$orrery" page "$work/array.json" "$work/run.json" -o "$work/array.html"
"$orrery" compare saxpy --model analytic,abstract --quiet --json -o "$work/compare.json"
"$orrery" explain saxpy --set n=4096 --quiet --json -o "$work/explain.json"
"$orrery" sample profile bfs --quiet --json -o "$work/sample.json"
"$orrery" sweep saxpy --vary sm.count=66,132 --model analytic --quiet --json -o "$work/s.sqlite" >"$work/sweep.json"
for job in compare explain sample sweep; do
    "$orrery" page "$work/$job.json" -o "$work/jobs/kept_$job.html"
    grep -q '"kind": "'$job "$work/jobs/kept_$job.html" || fail "a kept report of $job is not shown as one"
done
# A thousand launches are less than 2 MB, made at once or of the JSON, and all of them are there.
printf 'module "%s"\nsize small n = 4096\nbuffer x f32[n]\nbuffer y f32[n]\nfor i = 1 to 1000\n%s\nend\n' \
    "$PWD/workloads/saxpy/saxpy.cubin" 'launch saxpy grid 16 block 256 args n, f32:2.5, x, y' >"$work/many.launch"
"$orrery" run "$work/many.launch" --model cycle --quiet --lines --json -o "$work/many.json" --html "$work/many.html"
"$orrery" page "$work/many.json" -o "$work/many_kept.html"
for page in many many_kept; do
    [ "$(stat -c %s "$work/$page.html")" -lt 2000000 ] || fail "$page: $(stat -c %s "$work/$page.html") bytes"
    [ "$(grep -o '"index": *[0-9]' "$work/$page.html" | wc -l)" = 1000 ] || fail "$page: not a thousand launches"
done

for page in "$work"/*.html "$work"/jobs/*.html; do
    grep -qE '(src|href)="?(https?:)?//' "$page" && fail "$page names something outside itself"
    [ "$(grep -c '/\*DATA\*/' "$page")" = 0 ] || fail "$page has no data"
done
cycles=$(sed -nE 's/.*"totals": \{"launches": 2, "cycles": ([0-9]+).*/\1/p' "$work/run.json")
[ -n "$cycles" ] || fail "no total of cycles in the JSON"
grep -q "\"cycles\": $cycles" "$work/run.html" || fail "the page's data lack the total of cycles, $cycles"
grep -q '"text": "FADD' "$work/run.json" || fail "an instruction of machine code has no text"

# What is no report is one line and exit 2, and leaves no page.
echo '{"launches": 3, "totals": {"launches": 3}}' >"$work/bad.json"
echo '[]' >"$work/empty.json"
for bad in /dev/null tests/test_page.sh "$work/text" "$work/bad.json" "$work/empty.json" "$work/compare.json $work/run.json"; do
    status=0
    # shellcheck disable=SC2086
    "$orrery" page $bad -o "$work/bad.html" 2>"$work/err" || status=$?
    [ $status = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] && [ ! -e "$work/bad.html" ] || fail "page $bad: exit $status, $(cat "$work/err")"
done

browser=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$browser" ]; then
    echo "test_page: no chromium here, so the pages were not opened (./run browser installs it and does)"
    exit 0
fi
dom() { # what the page looks like when its script has run; its console goes to $work/console
    timeout 300 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
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
# Clicks and keys do what they say: a script behind the page's own uses it, and says what it found.
used() { # PAGE; on standard input the lines of a script, which fail by `must`
    {
        sed 's|</html>||' "$1"
        echo '<script>
"use strict";
let said = "as it should";
const must = (ok, what) => { if (!ok) throw what; };
const all = s => [...document.querySelectorAll(s)];
const press = (e, key) => e.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
try {'
        cat
        echo '} catch (e) { said = String(e); }
document.body.dataset.said = said;
</script></html>'
    } >"$work/used.html"
    dom "$work/used.html" >"$work/dom"
    grep -q 'data-said="as it should"' "$work/dom" || fail "$1: $(grep -o 'data-said="[^"]*"' "$work/dom")"
}
used "$work/two.html" <<'E'
must(all("#kernels tr").length === 1 && all(".pair.both").length > 4, "two runs are next to each other");
must(all(".runname").some(x => x.textContent.includes("transpose_tiled")), "the second run is named");
const second = document.getElementById("runB");
second.value = -1;
second.onchange();
must(all(".pair.both").length === 0, "one run alone");
E
used "$work/array.html" <<'E'
const run = document.getElementById("runA"), name = () => document.getElementById("title").textContent;
must(name() === "saxpy" && run.options.length === 3, "three runs");
run.value = 2;
run.onchange();
must(name() === "reduce", "the third run is shown when it is chosen");
E
"$orrery" run mergesort --gpu h200 --model cycle --size small --quiet --html "$work/several.html" -o "$work/text8"
used "$work/several.html" <<'E'
const rows = () => all("#kernels tr"), names = () => rows().map(r => r.dataset.kernel);
const shown = () => all("#kernel h2")[0].textContent;
must(rows().length >= 2 && rows()[0].className === "on", "the first kernel is chosen");
rows()[1].click();
must(rows()[1].className === "on" && shown().startsWith(names()[1]), "a click chooses a kernel");
press(document.body, "k");
must(rows()[0].className === "on" && shown().startsWith(names()[0]), "k goes back");
press(document.body, "j");
must(rows()[1].className === "on", "j goes on");
press(rows()[0], "Enter");
must(rows()[0].className === "on", "Enter chooses the kernel that has the focus");
const head = () => all("#khead th")[0];
head().click();
must(String(names()) === String([...names()].sort().reverse()), "a heading sorts");
press(head(), "Enter");
must(String(names()) === String([...names()].sort()), "and again the other way round");
const find = document.getElementById("find");
find.value = names()[1];
find.oninput();
must(rows().length >= 1 && names().every(n => n.includes(find.value)), "what is typed filters");
find.value = "";
find.oninput();
press(document.body, "/");
must(document.activeElement === find, "/ goes to the search");
find.blur();
const [source, code] = all(".code tbody"), lit = b => [...b.children].filter(r => r.className === "on");
const has = (b, r) => [...b.children].some(x => x.dataset.place === r.dataset.place);
const line = [...source.children].find(r => r.tabIndex === 0 && has(code, r));
line.click();
const live = r => Math.max(...[...code.children].filter(i => i.dataset.place === r.dataset.place).map(i => +i.children[4].textContent));
must(+line.children[3].textContent === live(line), "live registers of a line are the most of its instructions");
must(lit(code).length && lit(code).every(r => r.dataset.place === line.dataset.place), "a line shows its instructions");
const other = [...code.children].find(r => r.dataset.place !== line.dataset.place && has(source, r));
press(other, "Enter");
must(lit(source).length === 1 && lit(source)[0].dataset.place === other.dataset.place, "an instruction shows its line");
all("button").find(b => b.textContent === "by cost").click();
const cost = [...source.children].map(r => parseFloat(r.children[1].textContent));
must(cost.length && cost.every((c, i) => !i || c <= cost[i - 1] + .5), "lines by cost");
const codeCost = [...code.children].map(r => parseFloat(r.children[1].textContent));
must(codeCost.length && codeCost.every((c, i) => !i || c <= codeCost[i - 1] + .5), "instructions by cost");
const launches = all("#launches rect"), said = () => document.getElementById("launch").textContent;
const inReport = runs[0].launches;
must(launches.length === inReport.length && launches.length > 2, "launches over time");
must(launches.filter(x => x.getAttribute("tabindex") === "0").length === 1 && launches[0].getAttribute("tabindex") === "0", "one launch in the tab order");
launches[0].focus();
must(document.activeElement === launches[0] && said().startsWith("launch 0: "), "a launch has the focus and is named");
press(launches[0], "ArrowRight");
press(launches[1], "ArrowRight");
must(document.activeElement === launches[2] && launches[2].getAttribute("aria-label") === said(), "arrow keys go on");
must(said().startsWith("launch 2: " + inReport[2].kernel), "it is the report's third launch");
press(launches[2], "ArrowLeft");
must(document.activeElement === launches[1], "and back");
press(launches[1], "End");
must(document.activeElement === launches[launches.length - 1], "End goes to the last");
press(document.activeElement, "Home");
const unlike = launches.find(x => x.dataset.kernel !== shown());
unlike.focus();
press(unlike, "Enter");
must(shown().startsWith(unlike.dataset.kernel) && unlike.getAttribute("aria-selected") === "true", "Enter shows the launch's kernel");
must(launches.some(x => x.getAttribute("aria-selected") === "false" && x.getAttribute("opacity") === "0.35"), "others stand back");
E
# A report kept as JSON has its source beside the machine code, also one that was kept without its sources.
grep -q '"sources"' "$work/run.json" || fail "a kept report has no sources"
sed '/^  "sources": {/,/},$/d' "$work/run.json" >"$work/old.json"
grep -q '"sources"' "$work/old.json" && fail "an old report still has its sources"
"$orrery" page "$work/old.json" -o "$work/old.html"
for page in kept old; do
    used "$work/$page.html" <<'E'
const text = all(".code td.src").map(x => x.textContent);
must(text.some(x => x.includes("blockIdx")), "CUDA's source");
must(text.some(x => x.includes("LDG")), "machine code");
E
done
used "$work/jobs/kept_compare.html" <<'E'
const head = all("th").find(h => h.textContent === "cycles"), at = all("th").indexOf(head);
const cycles = () => all("tbody tr").map(r => parseFloat(r.children[at].textContent.replace(/,/g, "")));
head.click();
must(cycles().length > 1 && cycles().every((v, i) => !i || v <= cycles()[i - 1]), "sorted by cycles");
press(head, "Enter");
must(cycles().every((v, i) => !i || v >= cycles()[i - 1]), "and the other way round");
E
# It prints.
timeout 300 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir="$work/profile" \
    --print-to-pdf="$work/page.pdf" "file://$work/run.html" 2>/dev/null
[ "$(stat -c %s "$work/page.pdf")" -gt 20000 ] || fail "the page is not printed"
exit 0
