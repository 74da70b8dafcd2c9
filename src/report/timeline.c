// --timeline: a trace in Chrome's event format (JSON), which ui.perfetto.dev and chrome://tracing open.
//
// One process, the GPU. Its first thread has the launches, one after another in time as they ran; then one
// thread for each place an SM has for a block, with the blocks that were there; and counters over time:
// warps, IPC, bandwidth of L1, L2 and DRAM, and the shares of what warps did. Times are microseconds since
// the first launch; launches follow each other at once, what the host does between them is not modelled.
//
// Times are kept in picoseconds as integers, so that a block that starts when another ends does so to the
// last digit. The file is bounded: MAX_BLOCKS blocks and MAX_SAMPLES samples, what is left out is said in
// `otherData` and in an event.
#include "report/report.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCKS = 1000000, MAX_SAMPLES = 100000, LAUNCH_TRACK = 1, FIRST_SLOT = 2 };

typedef struct writer {
    FILE *f;
    const orr_gpu *gpu;
    bool any;       // an event was written
    uint32_t slots; // places for blocks of an SM
    uint64_t start; // of the launch, ps
    uint64_t blocks, samples, blocks_left_out, samples_left_out;
    orr_text text; // one event
} writer;

static uint64_t ps(const writer *w, uint64_t cycles) {
    return (uint64_t)((double)cycles * 1e6 / w->gpu->clock_sm);
}

// An event: its fields are in w->text.
static void put_event(writer *w) {
    fprintf(w->f, "%s\n{", w->any ? "," : "");
    fwrite(w->text.s, 1, w->text.n, w->f);
    fputs("}", w->f);
    w->any = true;
    w->text.n = 0;
}

static void add_time(writer *w, const char *name, uint64_t v) {
    orr_text_add(&w->text, ",\"%s\":%llu.%06llu", name, (unsigned long long)(v / 1000000),
                 (unsigned long long)(v % 1000000));
}

static void begin(writer *w, const char *phase, uint64_t tid, const char *name) {
    orr_text_add(&w->text, "\"ph\":\"%s\",\"pid\":1,\"tid\":%llu,\"name\":", phase, (unsigned long long)tid);
    orr_text_json(&w->text, name);
}

static void name_thread(writer *w, uint64_t tid, const char *name) {
    begin(w, "M", tid, "thread_name");
    orr_text_add(&w->text, ",\"args\":{\"name\":");
    orr_text_json(&w->text, name);
    orr_text_add(&w->text, "}");
    put_event(w);
    begin(w, "M", tid, "thread_sort_index");
    orr_text_add(&w->text, ",\"args\":{\"sort_index\":%llu}", (unsigned long long)tid);
    put_event(w);
}

// ---- tracks ---------------------------------------------------------------------------------------
// Only places that some block was in get a name, and with it a track.
static void name_tracks(writer *w, const orr_result *r) {
    uint32_t slots = 1, sms = (uint32_t)w->gpu->sm_count;
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_timing *t = r->launches.at[i].timing;
        for (uint64_t s = 0; t && s < t->nspans; s++)
            if (t->spans[s].sm < sms && t->spans[s].slot >= slots) slots = t->spans[s].slot + 1;
    }
    w->slots = slots;
    begin(w, "M", LAUNCH_TRACK, "process_name");
    orr_text_add(&w->text, ",\"args\":{\"name\":");
    orr_text_json(&w->text, w->gpu->product && *w->gpu->product ? w->gpu->product : w->gpu->name);
    orr_text_add(&w->text, "}");
    put_event(w);
    name_thread(w, LAUNCH_TRACK, "launches");
    uint8_t *used = orr_calloc((size_t)sms * slots, 1);
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_timing *t = r->launches.at[i].timing;
        for (uint64_t s = 0; t && s < t->nspans; s++)
            if (t->spans[s].sm < sms) used[(size_t)t->spans[s].sm * slots + t->spans[s].slot] = 1;
    }
    for (uint32_t sm = 0; sm < sms; sm++)
        for (uint32_t slot = 0; slot < slots; slot++) {
            if (!used[(size_t)sm * slots + slot]) continue;
            char name[60];
            snprintf(name, sizeof name, "SM %u place %u", sm, slot);
            name_thread(w, FIRST_SLOT + (uint64_t)sm * slots + slot, name);
        }
    free(used);
}

static void launch_event(writer *w, const orr_launch_result *l) {
    orr_verdict v;
    orr_judge(w->gpu, l, &v);
    begin(w, "X", LAUNCH_TRACK, l->kernel->name);
    add_time(w, "ts", w->start);
    add_time(w, "dur", ps(w, l->timing->cycles));
    orr_text_add(
        &w->text,
        ",\"args\":{\"launch\":%u,\"grid\":\"%u x %u x %u\",\"block\":\"%u x %u x %u\",\"cycles\":%llu,"
        "\"warp_insts\":%llu,\"bound\":",
        l->index, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
        (unsigned long long)l->timing->cycles, (unsigned long long)l->warp_insts);
    orr_text_json(&w->text, v.text);
    orr_text_add(&w->text, "}");
    put_event(w);
}

static void block_events(writer *w, const orr_launch_result *l) {
    const orr_timing *t = l->timing;
    w->blocks_left_out += t->spans_left_out;
    for (uint64_t s = 0; s < t->nspans; s++) {
        const orr_span *x = &t->spans[s];
        if (w->blocks >= MAX_BLOCKS || x->sm >= (uint32_t)w->gpu->sm_count || x->end < x->start) {
            w->blocks_left_out++;
            continue;
        }
        w->blocks++;
        uint64_t from = w->start + ps(w, x->start), to = w->start + ps(w, x->end);
        begin(w, "X", FIRST_SLOT + (uint64_t)x->sm * w->slots + x->slot, l->kernel->name);
        add_time(w, "ts", from);
        add_time(w, "dur", to - from);
        orr_text_add(&w->text, ",\"args\":{\"block\":%llu,\"launch\":%u,\"cycles\":%llu}",
                     (unsigned long long)x->block, l->index, (unsigned long long)(x->end - x->start));
        put_event(w);
    }
}

// ---- counters -------------------------------------------------------------------------------------
static void counter(writer *w, uint64_t at, const char *name, const char *series, double v) {
    begin(w, "C", 0, name);
    add_time(w, "ts", at);
    orr_text_add(&w->text, ",\"args\":{\"%s\":%.5g}", series, v);
    put_event(w);
}

static void sample_events(writer *w, uint64_t at, const orr_sample *s, double cycles) {
    const double sms = w->gpu->sm_count, gbs = 32e-9 * w->gpu->clock_sm * 1e6 / cycles;
    counter(w, at, "warps per SM", "warps", (double)s->warps / (cycles * sms));
    counter(w, at, "blocks per SM", "blocks", (double)s->blocks / (cycles * sms));
    counter(w, at, "IPC per SM", "IPC", (double)s->insts / (cycles * sms));
    counter(w, at, "L1 GB/s", "GB/s", (double)s->l1_sectors * gbs);
    counter(w, at, "L2 GB/s", "GB/s", (double)s->l2_sectors * gbs);
    counter(w, at, "DRAM GB/s", "GB/s", (double)s->dram_sectors * gbs);
    begin(w, "C", 0, "warps by what they do, %");
    add_time(w, "ts", at);
    orr_text_add(&w->text, ",\"args\":{");
    for (int i = 0; i < ORR_STALLS; i++)
        orr_text_add(&w->text, "%s\"%s\":%.4g", i ? "," : "", orr_stalls[i].name,
                     s->warps ? 100 * (double)s->stalls[i] / (double)s->warps : 0);
    orr_text_add(&w->text, "}");
    put_event(w);
}

static void counter_events(writer *w, const orr_launch_result *l) {
    const orr_timing *t = l->timing;
    const orr_sample nothing = {0};
    if (!t->nsamples || !t->sample_cycles) return;
    uint64_t room = MAX_SAMPLES > w->samples ? MAX_SAMPLES - w->samples : 0;
    uint64_t n = t->nsamples < room ? t->nsamples : room;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t from = i * t->sample_cycles;
        if (from < t->cycles)
            sample_events(w, w->start + ps(w, from), &t->samples[i], (double)t->sample_cycles);
    }
    if (n) sample_events(w, w->start + ps(w, t->cycles), &nothing, (double)t->sample_cycles);
    w->samples += n;
    w->samples_left_out += t->nsamples - n;
}

// ---- the file -------------------------------------------------------------------------------------
static void left_out(writer *w) {
    if (!w->blocks_left_out && !w->samples_left_out) return;
    begin(w, "M", LAUNCH_TRACK, "process_labels");
    orr_text_add(&w->text, ",\"args\":{\"labels\":\"%llu blocks and %llu samples are left out\"}",
                 (unsigned long long)w->blocks_left_out, (unsigned long long)w->samples_left_out);
    put_event(w);
}

bool orr_result_timeline(const orr_result *r, const char *path, orr_err *e) {
    writer w = {.gpu = orr_result_gpu(r)};
    if (!w.gpu)
        return orr_fail(e, ORR_BAD_INPUT, "%s: no launch has a timeline; it takes --model cycle", path);
    orr_out out;
    if (!orr_out_open(&out, path, e)) return false;
    w.f = out.f;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", w.f);
    name_tracks(&w, r);
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        if (!l->timing) continue;
        launch_event(&w, l);
        block_events(&w, l);
        counter_events(&w, l);
        w.start += ps(&w, l->timing->cycles);
    }
    left_out(&w);
    fprintf(w.f, "\n],\"otherData\":{\"blocks_left_out\":%llu,\"samples_left_out\":%llu,\"input\":",
            (unsigned long long)w.blocks_left_out, (unsigned long long)w.samples_left_out);
    orr_text_json(&w.text, r->input ? r->input : "");
    orr_text_add(&w.text, ",\"gpu\":");
    orr_text_json(&w.text, r->gpu ? r->gpu : "");
    fwrite(w.text.s, 1, w.text.n, w.f);
    fputs("}}\n", w.f);
    free(w.text.s);
    return orr_out_commit(&out, e);
}
