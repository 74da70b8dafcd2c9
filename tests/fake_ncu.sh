#!/usr/bin/env bash
# Nsight Compute without a GPU, for tests/test_correlate.sh: runs the program that it is to profile and prints a table as
# `ncu --csv --page raw` does: quoted, thousands separated, lines of its own before and behind. It saw what the program's
# log says was launched, and before that the kernel that hw run has for it. Launch N took 1,000 * (N + 1) + 7 cycles, 100 more in each later round. $FAKE_NCU chooses what goes wrong:
#   permission   no counters for this user      lost    the last kernel was not seen
#   other        the first kernel has another name         extra   there is one kernel more
#   units        times in microseconds, clocks in GHz
#   stop         Ctrl-C comes while it runs, to who has started it
set -u
if [ "${1:-}" = --query-metrics ]; then
    printf '%s\n' "Device Fake 7 (GH100)" "---------- ----------" "Metric Name      Metric Type    Metric Unit" \
        "gpc__cycles_elapsed            Counter   cycle   # of cycles" "gpu__time_duration   Counter  nsecond  time" \
        "sm__cycles_active   Counter   cycle   # of cycles" "smsp__inst_executed  Counter  inst  # of instructions"
    exit
fi
out="" metrics="" cache="" log="" previous=""
while [ $# -gt 0 ]; do
    case $1 in
    --csv) shift ;;
    --log-file) out=$2; shift 2 ;;
    --metrics) metrics=$2; shift 2 ;;
    --cache-control) cache=$2; shift 2 ;;
    --clock-control | --page | --print-units | --print-kernel-base | --kernel-name) shift 2 ;;
    --*) echo "fake ncu: unknown option $1" >&2; exit 9 ;;
    *) break ;;
    esac
done
[ -n "${FAKE_NCU_SAW:-}" ] && echo "$cache $metrics" >> "$FAKE_NCU_SAW"
if [ "${FAKE_NCU:-}" = permission ]; then
    echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters" > "$out"
    exit 1
fi
"$@"
status=$?
if [ "${FAKE_NCU:-}" = stop ]; then
    kill -INT $PPID
    while [ ! -e "$ORRERY_STOP" ]; do sleep 0.01; done
fi
for word in "$@"; do
    [ "$previous" = --log ] && log=$word
    previous=$word
done
[ -f "$log" ] || exit $status
awk -F, -v mode="${FAKE_NCU:-}" '
function thousands(v) { v = sprintf("%d", v); while (match(v, /^[0-9]+[0-9][0-9][0-9]/)) v = substr(v, 1, RLENGTH - 3) "," substr(v, RLENGTH - 2); return v }
function shape(s) { gsub(/x/, ", ", s); return "(" s ")" }
function row(k, b, g, n, round,   cycles) {
    cycles = 1000 * (n + 1) + 7 + 100 * round
    printf "\"%d\",\"77\",\"%s\",\"%s\",\"%s\",\"Fake 7\",\"24\",\"0\",\"%d\",\"%s\",\"%s\",\"%s\",\"n/a\"\n", id++, k, shape(b), shape(g),
        1024, thousands(cycles), mode == "units" ? sprintf("%.2f", cycles / 2000) : thousands(cycles / 2), mode == "units" ? "1.98" : "1,980,000,000"
}
BEGIN {
    print "==PROF== Connected to process 77"
    print "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"device__attribute_display_name\",\"launch__registers_per_thread\",\"launch__shared_mem_per_block_static\",\"launch__shared_mem_per_block_dynamic\",\"gpc__cycles_elapsed.max\",\"gpu__time_duration.sum\",\"gpc__cycles_elapsed.avg.per_second\",\"smsp__inst_executed.sum\""
    print "\"\",\"\",\"\",\"block\",\"\",\"\",\"register/thread\",\"byte/block\",\"byte/block\",\"cycle\",\"" (mode == "units" ? "us" : "ns") "\",\"" (mode == "units" ? "Ghz" : "hz") "\",\"inst\""
}
NR > 1 { k[++n] = $5; b[n] = $7; g[n] = $6; launch[n] = $4; round[n] = $3 }
END {
    row("orr_first", "1x1x1", "1x1x1", 41, 0) # hw run launches it, for some kernel must be the first
    for (i = 1; i <= n - (mode == "lost"); i++) row(mode == "other" && i == 1 ? "another" : k[i], b[i], g[i], launch[i], round[i])
    if (mode == "extra") row(k[n], b[n], g[n], 9, 0)
    print "==PROF== Disconnected from process 77"
}' "$log" > "$out"
exit $status
