// orr_info: what is in a stream file. The file is read to its end and every trace is decoded, so a file
// that info accepts can be replayed. Of an Accel-Sim trace, which may be very large, only the headers are
// read.
#include "api/api.h"
#include "api/info_capture.h"
#include "capture/capture.h"
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>

typedef struct launch_row {
    orr_launch_info info;
    orr_stream_totals totals;
} launch_row;

typedef struct contents {
    orr_stream_stats stats;
    ORR_VEC(launch_row) launches;
    orr_progress progress;
    uint64_t warp_insts, thread_insts, trace_bytes;
} contents;

// Decodes a launch and compares its totals with those the file states.
static bool read_launch(const char *path, orr_stream_file *f, orr_source *s, contents *c, orr_err *e) {
    launch_row *row = ORR_PUSH(&c->launches);
    row->info = s->info;
    const orr_kernel *k = s->info.kernel;
    uint64_t warp = 0, thread = 0;
    orr_tb tb;
    int more;
    orr_progress_parts(&c->progress, (uint64_t)s->info.grid[0] * s->info.grid[1] * s->info.grid[2]);
    while ((more = s->next(s, &tb, e)) > 0) {
        orr_progress_part(&c->progress, 1);
        if (!orr_progress_go(&c->progress, e)) return false;
        for (uint32_t w = 0; w < tb.nwarps; w++) {
            orr_trace t = orr_trace_open(tb.warps[w]);
            uint32_t block, mask;
            orr_access a;
            int r;
            bool ok = true;
            while (ok && (r = orr_trace_block(&t, k->nblocks, &block, &mask)) > 0) {
                warp += k->blocks[block].count;
                thread += (uint64_t)k->blocks[block].count * (uint64_t)orr_popc(mask);
                for (uint32_t n = k->blocks[block].nmem; n && ok; n--) ok = orr_trace_access(&t, &a);
            }
            if (!ok || r < 0)
                return orr_fail(e, ORR_BAD_INPUT,
                                "%s: launch %u: the stream of thread block %llu, warp %u is damaged; "
                                "record it again",
                                path, s->info.index, (unsigned long long)tb.index, w);
        }
    }
    if (more < 0) return false;
    orr_progress_step(&c->progress, c->launches.n);
    orr_stream_launch_totals(f, &row->totals);
    if (warp != row->totals.warp_insts || thread != row->totals.thread_insts)
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: launch %u holds other instructions than it says; record it again", path,
                        s->info.index);
    c->warp_insts += warp;
    c->thread_insts += thread;
    c->trace_bytes += row->totals.trace_bytes;
    return true;
}

static double ratio(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

static void print_text(const char *path, const contents *c, orr_text *t) {
    char a[32], b[32], d[32];
    const orr_stream_stats *s = &c->stats;
    orr_text_add(t, "%s: %s bytes, %s before compression (%.1f to 1), %u sections, all checksums right\n",
                 path, orr_commas(a, s->file_bytes), orr_commas(b, s->raw_bytes),
                 ratio(s->raw_bytes, s->file_bytes), s->sections);
    orr_text_add(t, "%u kernel%s, %u launch%s, %s thread blocks, %s warp instructions, ", s->kernels,
                 s->kernels == 1 ? "" : "s", s->launches, s->launches == 1 ? "" : "es",
                 orr_commas(a, s->blocks), orr_commas(b, c->warp_insts));
    orr_text_add(t, "%s thread instructions, %.3f bytes a warp instruction; one order of events\n",
                 orr_commas(d, c->thread_insts), ratio(s->file_bytes, c->warp_insts));
    const orr_kernel *last = NULL;
    orr_text_add(t, "\n%6s  %-32s %-22s %-16s %16s %18s\n", "launch", "kernel", "grid", "block", "warp insts",
                 "thread insts");
    for (size_t i = 0; i < c->launches.n; i++) {
        const launch_row *l = &c->launches.at[i];
        char grid[48], block[48];
        snprintf(grid, sizeof grid, "%u x %u x %u", l->info.grid[0], l->info.grid[1], l->info.grid[2]);
        snprintf(block, sizeof block, "%u x %u x %u", l->info.block[0], l->info.block[1], l->info.block[2]);
        orr_text_add(t, "%6u  %-32s %-22s %-16s %16s %18s\n", l->info.index, l->info.kernel->name, grid,
                     block, orr_commas(a, l->totals.warp_insts), orr_commas(b, l->totals.thread_insts));
    }
    orr_text_add(t, "\n%-32s %9s %10s %8s %8s  %s\n", "kernel", "registers", "shared", "insts", "blocks",
                 "module");
    for (size_t i = 0; i < c->launches.n; i++) {
        const orr_kernel *k = c->launches.at[i].info.kernel;
        bool seen = k == last;
        for (size_t j = 0; j < i && !seen; j++) seen = c->launches.at[j].info.kernel == k;
        last = k;
        if (!seen)
            orr_text_add(t, "%-32s %9u %8u B %8u %8u  %s\n", k->name, k->regs, k->shared_bytes, k->ninsts,
                         k->nblocks, k->module->path);
    }
}

static void print_json(const char *path, const contents *c, orr_text *t) {
    const orr_stream_stats *s = &c->stats;
    orr_text_add(t, "{\n  \"file\": ");
    orr_text_json(t, path);
    orr_text_add(t, ", \"bytes\": %llu, \"raw_bytes\": %llu, \"sections\": %u, \"frames\": %u,\n",
                 (unsigned long long)s->file_bytes, (unsigned long long)s->raw_bytes, s->sections, s->frames);
    orr_text_add(
        t, "  \"kernels\": %u, \"thread_blocks\": %llu, \"warp_insts\": %llu, \"thread_insts\": %llu,\n",
        s->kernels, (unsigned long long)s->blocks, (unsigned long long)c->warp_insts,
        (unsigned long long)c->thread_insts);
    orr_text_add(t, "  \"events\": \"one order\",\n  \"launches\": [");
    for (size_t i = 0; i < c->launches.n; i++) {
        const launch_row *l = &c->launches.at[i];
        orr_text_add(t, "%s\n    {\"kernel\": ", i ? "," : "");
        orr_text_json(t, l->info.kernel->name);
        orr_text_add(
            t, ", \"index\": %u, \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"dynamic_shared\": %u, ",
            l->info.index, l->info.grid[0], l->info.grid[1], l->info.grid[2], l->info.block[0],
            l->info.block[1], l->info.block[2], l->info.dynamic_shared);
        orr_text_add(t, "\"warp_insts\": %llu, \"thread_insts\": %llu, \"trace_bytes\": %llu}",
                     (unsigned long long)l->totals.warp_insts, (unsigned long long)l->totals.thread_insts,
                     (unsigned long long)l->totals.trace_bytes);
    }
    orr_text_add(t, "%s]\n}\n", c->launches.n ? "\n  " : "");
}

static bool inform(const orr_options *o, const char *path, orr_text *text, orr_text *json, orr_err *e) {
    orr_stream_file *f = orr_stream_open(path, e);
    if (!f) return false;
    contents c;
    memset(&c, 0, sizeof c);
    orr_source *s;
    bool ok = true;
    orr_progress_start(&c.progress, o->watcher, path, "launches", "blocks", 0);
    while (ok && (s = orr_stream_next_launch(f, e))) ok = read_launch(path, f, s, &c, e);
    orr_progress_end(&c.progress);
    bool stopped = e->status == ORR_STOPPED && c.launches.n; // the launches until then
    if (!e->status) orr_stream_read_stats(f, &c.stats);
    if (!e->status || stopped) {
        print_json(path, &c, json);
        print_text(path, &c, text);
        if (stopped) orr_text_add(text, "stopped: there is more in the file\n");
    }
    free(c.launches.at);
    orr_stream_close(f);
    return !e->status || stopped;
}

// ---- Accel-Sim's traces ---------------------------------------------------------------------------
static const char *dims(char buf[48], const uint32_t d[3]) {
    snprintf(buf, 48, "%u x %u x %u", d[0], d[1], d[2]);
    return buf;
}

static void trace_text(const orr_accel_item *i, orr_text *t) {
    char a[48], b[48], c[32];
    if (i->kind == ORR_ACCEL_COPY) {
        orr_text_add(t, "%6s  copy of %s bytes to 0x%llx\n", "", orr_commas(c, i->bytes),
                     (unsigned long long)i->addr);
        return;
    }
    const orr_launch_info *l = &i->source->info;
    char version[16] = "-";
    if (i->version >= 0) snprintf(version, sizeof version, "%d", i->version);
    orr_text_add(t, "%6u  %-32s %-20s %-16s %9u %8u B  sm_%-4u %6s %6llu  %s\n", l->index, l->kernel->name,
                 dims(a, l->grid), dims(b, l->block), l->kernel->regs, l->kernel->shared_bytes, i->binary,
                 version, (unsigned long long)i->stream, i->file);
}

static void trace_json(const orr_accel_item *i, orr_text *t) {
    if (i->kind == ORR_ACCEL_COPY) {
        orr_text_add(t, "    {\"copy\": {\"address\": %llu, \"bytes\": %llu}}", (unsigned long long)i->addr,
                     (unsigned long long)i->bytes);
        return;
    }
    const orr_launch_info *l = &i->source->info;
    orr_text_add(t, "    {\"kernel\": ");
    orr_text_json(t, l->kernel->name);
    orr_text_add(t, ", \"file\": ");
    orr_text_json(t, i->file);
    orr_text_add(t, ", \"index\": %u, \"id\": %u, \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], ",
                 l->index, i->id, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2]);
    orr_text_add(t, "\"registers\": %u, \"shared\": %u, \"binary\": %u, \"tracer\": ", l->kernel->regs,
                 l->kernel->shared_bytes, i->binary);
    if (i->version >= 0)
        orr_text_add(t, "%d", i->version);
    else
        orr_text_add(t, "null");
    orr_text_add(t, ", \"stream\": %llu, \"lineinfo\": %s}", (unsigned long long)i->stream,
                 i->lineinfo ? "true" : "false");
}

static bool inform_trace(const orr_options *o, const char *path, orr_text *text, orr_text *json, orr_err *e) {
    orr_accel_file *f = orr_accel_open(path, e);
    if (!f) return false;
    orr_accel_notes(f, o->notes);
    orr_text_add(json, "{\n  \"file\": ");
    orr_text_json(json, path);
    orr_text_add(json, ",\n  \"commands\": [");
    orr_text_add(text, "%s: an Accel-Sim trace\n\n%6s  %-32s %-20s %-16s %9s %10s  %-7s %6s %6s  %s\n", path,
                 "launch", "kernel", "grid", "block", "registers", "shared", "code", "tracer", "stream",
                 "file");
    orr_accel_item i;
    bool ok, any = false;
    while ((ok = orr_accel_next(f, &i, e)) && i.kind != ORR_ACCEL_END) {
        orr_text_add(json, "%s\n", any ? "," : "");
        trace_json(&i, json);
        trace_text(&i, text);
        any = true;
    }
    orr_text_add(json, "%s]\n}\n", any ? "\n  " : "");
    orr_accel_close(f);
    return ok;
}

orr_report *orr_info(const char *file, const orr_options *o, orr_err *e) {
    if (e->status || !orr_input_file(file, e)) return NULL;
    orr_text text = {0}, json = {0};
    o = orr_asked(o);
    bool captured = orr_capture_probe(file), stream = orr_stream_probe(file) || !orr_accel_probe(file);
    bool ok = captured ? orr_inform_capture(file, &text, &json, e)
              : stream ? inform(o, file, &text, &json, e)
                       : inform_trace(o, file, &text, &json, e);
    if (ok) return orr_report_of(text, json);
    free(text.s);
    free(json.s);
    return NULL;
}
