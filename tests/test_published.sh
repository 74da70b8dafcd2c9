#!/usr/bin/env bash
# Descriptions held against what others measured (hardware/published.csv): micro/published is simulated on some of them, and
# each reading must be as near as the file says. A description with L2 twice as far must fail it.
set -u
cd "$SOURCE" || exit 1
export ORRERY
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

bench/published --part quick --check v100 t4 a100 l40s rtx5090 > "$work/out" || { cat "$work/out"; failures=1; }
[ "$(wc -l < "$work/out")" -ge 15 ] || { echo "few figures were compared:"; cat "$work/out"; failures=1; }
"$ORRERY" run micro/published --gpu v100 --set l2.latency=430 --model cycle --json -o "$work/far.json" --quiet || failures=1
python3 - "$work/far.json" <<'END' || { echo "L2 twice as far is not read off"; failures=1; }
import json, sys
readings = {r["metric"]: r["value"] for r in json.load(open(sys.argv[1]))["readings"]}
sys.exit(not (400 < readings["l2.latency"] < 470 and abs(readings["ffma.latency"] - 4) < 0.2))
END
# Only models that execute a kernel as they time it have a clock to read.
"$ORRERY" run micro/published --gpu v100 --model analytic --json -o "$work/none.json" --quiet || failures=1
grep -q '"readings"' "$work/none.json" && { echo "the analytic model has readings"; failures=1; }
# Every figure names a description that there is, and where it was printed.
tail -n +2 < <(grep -v '^#' hardware/published.csv) | while IFS=, read -r gpu rest; do
    [ -f "gpus/$gpu.conf" ] && [ "$(awk -F, '{print NF}' <<<"$rest")" -ge 8 ] || echo "hardware/published.csv: $gpu,$rest"
done > "$work/bad"
[ -s "$work/bad" ] && { cat "$work/bad"; failures=1; }
exit $failures
