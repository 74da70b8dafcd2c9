// orr_info of a capture (orrery capture): its launches, without replaying any. Names come from the program
// that was captured and are made harmless to a terminal.
#include "api/info_capture.h"
#include "capture/capture.h"

#include <string.h>

static const char *harmless(const char *name, char *to, size_t n) {
    size_t i = 0;
    for (; name && name[i] && i + 1 < n; i++)
        to[i] = (unsigned char)name[i] < 32 || name[i] == 127 ? '?' : name[i];
    to[i] = 0;
    return to;
}

static uint64_t reached(const orr_captured *c) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->regions.n; i++) bytes += c->regions.at[i].bytes;
    return bytes;
}

static void one_text(const orr_captured *c, orr_text *t) {
    char grid[48], block[48], bytes[32], name[64], why[160];
    snprintf(grid, sizeof grid, "%u x %u x %u", c->grid[0], c->grid[1], c->grid[2]);
    snprintf(block, sizeof block, "%u x %u x %u", c->block[0], c->block[1], c->block[2]);
    orr_text_add(t, "%6u  %-48.48s %-20s %-16s %9sB  %s\n", c->index, harmless(c->kernel, name, sizeof name),
                 grid, block, orr_si(bytes, (double)reached(c)),
                 harmless(c->incomplete ? c->incomplete
                          : c->range    ? c->range
                                        : "",
                          why, sizeof why));
}

static void or_null(orr_text *t, const char *s) {
    if (s)
        orr_text_json(t, s);
    else
        orr_text_add(t, "null");
}

static void one_json(const orr_captured *c, orr_text *t) {
    orr_text_add(t, "    {\"kernel\": ");
    orr_text_json(t, c->kernel);
    orr_text_add(
        t, ", \"index\": %u, \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"dynamic_shared\": %u, ",
        c->index, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared);
    orr_text_add(t, "\"module\": \"%016llx\", \"memory_bytes\": %llu, \"file_bytes\": %zu, \"range\": ",
                 (unsigned long long)c->module, (unsigned long long)reached(c), c->n);
    or_null(t, c->range);
    orr_text_add(t, ", \"incomplete\": ");
    or_null(t, c->incomplete);
    orr_text_add(t, "}");
}

bool orr_inform_capture(const char *path, orr_text *text, orr_text *json, orr_err *e) {
    orr_capture *f = orr_capture_open(path, e);
    if (!f) return false;
    size_t n = orr_capture_launches(f);
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) bytes += orr_capture_launch(f, i)->n;
    char size[32];
    orr_text_add(text, "%s: a capture, %zu launch%s in %sB, machine code not counted%s\n", path, n,
                 n == 1 ? "" : "es", orr_si(size, (double)bytes),
                 orr_capture_inputs(f) ? "; without what kernels leave" : "");
    orr_text_add(text, "\n%6s  %-48s %-20s %-16s %10s  %s\n", "launch", "kernel", "grid", "block", "memory",
                 "range, or why it cannot be replayed");
    orr_text_add(json, "{\n  \"file\": ");
    orr_text_json(json, path);
    orr_text_add(json, ", \"inputs_only\": %s,\n  \"launches\": [", orr_capture_inputs(f) ? "true" : "false");
    for (size_t i = 0; i < n; i++) {
        orr_text_add(json, "%s\n", i ? "," : "");
        one_text(orr_capture_launch(f, i), text);
        one_json(orr_capture_launch(f, i), json);
    }
    orr_text_add(json, "\n  ]\n}\n");
    orr_capture_free(f);
    return true;
}
