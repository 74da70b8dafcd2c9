# One result of `orrery run --model cycle --json` to one line of tab-separated figures:
#   cycles warp_insts thread_insts seconds execute_seconds peak_bytes buffer_bytes launches
# It relies on the layout that src/report/json.c writes: totals and host on a line each.
function value(name,   at) {
    at = index($0, "\"" name "\": ")
    return at ? substr($0, at + length(name) + 4) + 0 : 0
}
/"buffer_bytes":/ { buffers = value("buffer_bytes") }
/^  "totals":/ { launches = value("launches"); cycles = value("cycles"); warp = value("warp_insts"); thread = value("thread_insts") }
/^  "host":/ { seconds = value("seconds"); execute = value("execute_seconds"); peak = value("peak_rss_bytes") }
END { printf "%.0f\t%.0f\t%.0f\t%.6f\t%.6f\t%.0f\t%.0f\t%d\n", cycles, warp, thread, seconds, execute, peak, buffers, launches }
