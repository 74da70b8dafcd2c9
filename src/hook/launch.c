// A launch that is captured: everything before it is waited for, memory is written, the launch goes its way,
// it is waited for, and what it changed is written.
#include "hook/hook.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2 }; // CU_LAUNCH_PARAM_*
#define MAX_PARAMS 65536u

// ---- parameters
// ----------------------------------------------------------------------------------------------
static bool packed(void **extra, uint8_t *to, size_t *n) {
    const void *buffer = NULL;
    for (int i = 0; i < 8 && extra[i] != (void *)EXTRA_END; i += 2) {
        if (extra[i] == (void *)EXTRA_BUFFER) buffer = extra[i + 1];
        if (extra[i] == (void *)EXTRA_SIZE) *n = *(const size_t *)extra[i + 1];
    }
    if (!buffer || *n > MAX_PARAMS) return false;
    memcpy(to, buffer, *n);
    return true;
}

static bool pointed_to(void *function, void **params, uint8_t *to, size_t *n) {
    size_t offset, size;
    for (size_t i = 0; the_hook.cu.cuFuncGetParamInfo(function, i, &offset, &size) == 0; i++) {
        if (!params || !params[i] || offset > MAX_PARAMS || size > MAX_PARAMS - offset) return false;
        memcpy(to + offset, params[i], size);
        if (offset + size > *n) *n = offset + size;
    }
    return true;
}

// ---- what it was
// ---------------------------------------------------------------------------------------------
static void describe(const hook_launch *l, const hook_module *m, const char *incomplete, orr_text *t) {
    const hook *h = &the_hook;
    orr_text_add(t, "number %u\nkernel %s\nindex %u\nmodule %016" PRIx64 "\n", h->captured, l->kernel,
                 h->seen - 1, m ? m->hash : 0);
    orr_text_add(t, "grid %u %u %u\nblock %u %u %u\ncluster %u %u %u\n", l->grid[0], l->grid[1], l->grid[2],
                 l->block[0], l->block[1], l->block[2], l->cluster[0], l->cluster[1], l->cluster[2]);
    orr_text_add(t, "shared %u\ncooperative %d\n", l->shared, l->cooperative);
    if (incomplete) orr_text_add(t, "incomplete %s\n", incomplete);
    for (size_t i = 0; i < h->regions.n && !incomplete; i++) {
        const hook_region *r = &h->regions.at[i];
        if (r->symbol && m && h->modules.at[r->module].hash == m->hash)
            orr_text_add(t, "symbol %" PRIx64 " %" PRIu64 " %s\n", r->addr, r->bytes, r->symbol);
        else
            orr_text_add(t, "region %" PRIx64 " %" PRIu64 "\n", r->addr, r->bytes);
    }
}

static void give_up(const char *why) {
    hook_say("%s; nothing is captured from here on", why);
    the_hook.error = "gave up";
}

// ---- before and after
// ------------------------------------------------------------------------------------------
static bool chosen(const hook_launch *l, uint32_t index) {
    const hook *h = &the_hook;
    if (h->kernels && !orr_name_matches(h->kernels, l->kernel)) return false;
    return !h->launches || orr_in_list(h->launches, index) > 0;
}

static bool is_capturing(void *stream) {
    int status = 0;
    hook *h = &the_hook;
    return h->cu.cuStreamIsCapturing && h->cu.cuStreamIsCapturing(stream, &status) == 0 && status != 0;
}

static const char *why_incomplete(const hook_module *m, bool params) {
    static char text[100];
    if (!m) return "its machine code was not seen";
    if (!params) return "its parameters could not be read";
    if (hook_memory() <= the_hook.limit) return NULL;
    snprintf(text, sizeof text, "the program has %" PRIu64 " MB of memory, more than --memory",
             hook_memory() >> 20);
    return text;
}

static void start_clock(void *stream) {
    hook *h = &the_hook;
    for (int i = 0; i < 2; i++)
        if (!h->event[i] && h->cu.cuEventCreate && h->cu.cuEventCreate(&h->event[i], 0) != 0)
            h->event[i] = NULL;
    if (h->event[0]) h->cu.cuEventRecord(h->event[0], stream);
}

static bool stop_clock(const hook_launch *l, orr_err *e) {
    hook *h = &the_hook;
    float ms = 0;
    if (!h->event[0] || !h->event[1] || h->cu.cuEventElapsedTime(&ms, h->event[0], h->event[1]) != 0)
        return true;
    return orr_capture_time(h->writer, h->seen - 1, l->kernel, (double)ms * 1e3, e);
}

bool hook_before(const hook_launch *l) {
    hook *h = &the_hook;
    if (h->error || !l->kernel) return false;
    if (is_capturing(l->stream)) {
        h->in_graphs++;
        return false;
    }
    if (!chosen(l, h->seen++)) return false;
    static uint8_t params[MAX_PARAMS];
    orr_err e = {0};
    size_t n = 0;
    void *function = l->function, *handle = NULL;
    void *inner = NULL; // a CUkernel can be launched as it is
    memset(params, 0, sizeof params);
    if (h->cu.cuFuncGetModule && h->cu.cuFuncGetModule(&handle, function) != 0 && h->cu.cuKernelGetFunction &&
        h->cu.cuKernelGetFunction(&inner, function) == 0 && inner) {
        function = inner;
        h->cu.cuFuncGetModule(&handle, function);
    }
    bool have =
        l->params || !l->extra ? pointed_to(function, l->params, params, &n) : packed(l->extra, params, &n);
    hook_module *m = hook_module_of(l->kernel, handle);
    if (m) hook_add_symbols((uint32_t)(m - h->modules.at));
    const char *incomplete = why_incomplete(m, have);
    if (m && !m->written && !orr_capture_module(h->writer, m->hash, m->code, m->n, &e))
        return give_up(e.text), false;
    if (m) m->written = true;
    if (!h->buffer && h->cu.cuMemAllocHost_v2((void **)&h->buffer, HOOK_BUFFER) != 0)
        return give_up("no host memory for copies"), false;
    orr_text meta = {0};
    describe(l, m, incomplete, &meta);
    bool ok = h->cu.cuCtxSynchronize() == 0 && orr_capture_begin(h->writer, h->seen - 1, &e);
    if (!ok) give_up(e.status ? e.text : "the program's GPU has failed");
    if (ok) {
        orr_capture_put(h->writer, CHUNK_META, meta.s, meta.n);
        orr_capture_put(h->writer, CHUNK_PARAMS, params, n);
        h->captured++;
        h->incomplete += incomplete != NULL;
        if (!incomplete && !hook_write_memory(CHUNK_BEFORE)) give_up("memory could not be read");
    }
    free(meta.s);
    if (ok && !incomplete && h->measure) start_clock(l->stream);
    if (ok && (incomplete || h->error)) {
        orr_capture_end(h->writer, &e);
        return false;
    }
    return ok;
}

void hook_after(const hook_launch *l) {
    hook *h = &the_hook;
    orr_err e = {0};
    if (h->measure && h->event[1]) h->cu.cuEventRecord(h->event[1], l->stream);
    if (h->cu.cuCtxSynchronize() != 0 || !hook_write_memory(CHUNK_AFTER))
        give_up("the program's GPU has failed");
    if (h->measure && !stop_clock(l, &e)) give_up(e.text);
    if (!orr_capture_end(h->writer, &e)) give_up(e.text);
}
