# One result of `orrery run --json` to one line of tab-separated figures:
#   kernels launches thread_insts active_percent sectors_per_request execute_seconds peak_bytes buffer_bytes checked
# It relies on the layout that src/report/json.c writes: totals, host and each memory row on a line each.
function value(name,   at, rest) {
    at = index($0, "\"" name "\": ")
    if (!at) return 0
    rest = substr($0, at + length(name) + 4)
    return rest + 0
}
/"buffers_checked":/ { checked = value("buffers_checked") }
/"buffer_bytes":/ { buffers = value("buffer_bytes") }
/^    \{"kernel": .*"registers":/ { kernels++ }
/^ *\{"space": "global"/ { requests += value("requests"); sectors += value("sectors") }
/^  "totals":/ { launches = value("launches"); warp = value("warp_insts"); thread = value("thread_insts") }
/^  "host":/ { seconds = value("execute_seconds"); peak = value("peak_rss_bytes") }
END {
    printf "%d\t%d\t%.0f\t%.1f\t%.2f\t%.6f\t%.0f\t%.0f\t%d\n", kernels, launches, thread,
        warp ? 100 * thread / (32 * warp) : 0, requests ? sectors / requests : 0, seconds, peak, buffers, checked
}
