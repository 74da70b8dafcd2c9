// A launch that is captured: everything before it is waited for, the memory that it can reach is written, the
// launch goes its way, it is waited for, and what it changed is written.
#include "hook/hook.h"
#include "isa/isa.h"
#include "nvtx/nvtx.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2 }; // CU_LAUNCH_PARAM_*
#define MAX_PARAMS 65536u

// ---- parameters ---------------------------------------------------------------------------------
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

// ---- what it was --------------------------------------------------------------------------------
typedef struct launched { // the launch between hook_before and hook_after
    uint8_t params[MAX_PARAMS];
    size_t n;
    hook_module *module;
    bool have_params;
    char incomplete[120]; // why it cannot be replayed; "": it can
} launched;
static launched now;

static void describe(const hook_launch *l, orr_text *t) {
    const hook *h = &the_hook;
    const char *range = orr_nvtx_path();
    orr_text_add(t, "number %u\nkernel %s\nindex %u\nmodule %016" PRIx64 "\n", h->captured, l->kernel,
                 h->seen - 1, now.module ? now.module->hash : 0);
    orr_text_add(t, "grid %u %u %u\nblock %u %u %u\ncluster %u %u %u\n", l->grid[0], l->grid[1], l->grid[2],
                 l->block[0], l->block[1], l->block[2], l->cluster[0], l->cluster[1], l->cluster[2]);
    orr_text_add(t, "shared %u\ncooperative %d\n", l->shared, l->cooperative);
    if (range) orr_text_add(t, "range %s\n", range);
}

static void put_texture(orr_text *t, const hook_texture *x) {
    uint32_t n[ORR_TEX_NUMBERS];
    if (x->unknown) return;
    orr_tex_to_numbers(&x->t, n);
    orr_text_add(t, "texture %" PRIx64 " %" PRIx64, x->handle, x->t.at);
    for (int i = 0; i < ORR_TEX_NUMBERS; i++) orr_text_add(t, " %" PRIu32, n[i]);
    orr_text_add(t, "\n");
}

// What is known when memory has been looked at.
static void put_regions(void) {
    const hook *h = &the_hook;
    orr_text t = {0};
    orr_text_addn(&t, "", 0);
    if (*now.incomplete) orr_text_add(&t, "incomplete %s\n", now.incomplete);
    for (size_t i = 0; i < h->regions.n; i++) {
        const hook_region *r = &h->regions.at[i];
        if (!r->reached) continue;
        if (r->symbol && now.module && h->modules.at[r->module].hash == now.module->hash)
            orr_text_add(&t, "symbol %" PRIx64 " %" PRIu64 " %s\n", r->addr, r->bytes, r->symbol);
        else
            orr_text_add(&t, "region %" PRIx64 " %" PRIu64 "\n", r->addr, r->bytes);
    }
    for (size_t i = 0; i < h->textures.n && h->reads_textures && !*now.incomplete; i++)
        put_texture(&t, &h->textures.at[i]);
    orr_capture_put(h->writer, CHUNK_REGIONS, t.s, t.n);
    free(t.s);
}

static void give_up(const char *why) {
    hook_say("%s; nothing is captured from here on", why);
    the_hook.error = "gave up";
}

// ---- which --------------------------------------------------------------------------------------
static void name_gpu(int device) {
    const hook *h = &the_hook;
    char about[400], name[128] = "unknown";
    orr_err e = {0};
    if (h->cu.cuDeviceGetName && h->cu.cuDeviceGetName(name, sizeof name, device) != 0)
        snprintf(name, sizeof name, "unknown");
    snprintf(about, sizeof about, "gpu %s\nprogram %.200s\n", name, h->program ? h->program : "unknown");
    if (!orr_capture_about(h->writer, about, &e)) hook_say("%s", e.text);
}

// Does the process have a context on another GPU than this?
static bool uses_others(int gpu) {
    const hook_driver *d = &the_hook.cu;
    int n = 0, active = 0;
    unsigned flags;
    if (!d->cuDeviceGetCount || !d->cuDevicePrimaryCtxGetState || d->cuDeviceGetCount(&n) != 0) return false;
    for (int i = 0; i < n && !active; i++)
        if (i != gpu && d->cuDevicePrimaryCtxGetState(i, &flags, &active) != 0) active = 0;
    return active;
}

bool hook_on_this_gpu(const char *kernel) {
    hook *h = &the_hook;
    int gpu = 0;
    if (!h->cu.cuCtxGetDevice || h->cu.cuCtxGetDevice(&gpu) != 0) return true;
    if (!h->gpu) h->gpu = gpu + 1;
    bool waits = kernel && !strncmp(kernel, "nccl", 4) && uses_others(gpu);
    if (h->gpu == gpu + 1 && !waits) return true;
    if (!h->other_gpus)
        hook_say(
            "%s GPU %d %s; only launches on GPU %d, the first that was used, are captured, and none that "
            "wait for other GPUs",
            waits ? "a kernel on" : "a kernel is launched on", gpu, waits ? "waits for others" : "too",
            h->gpu - 1);
    h->other_gpus = true;
    return false;
}

bool hook_chosen(const char *kernel, uint32_t index) {
    const hook *h = &the_hook;
    if (h->kernels && !orr_name_matches(h->kernels, kernel)) return false;
    if (h->range) {
        const char *path = orr_nvtx_path();
        if (!path || !orr_range_matches(h->range, path)) return false;
    }
    return !h->launches || orr_in_list(h->launches, index) > 0;
}

static bool is_capturing(void *stream) {
    int status = 0;
    hook *h = &the_hook;
    return h->cu.cuStreamIsCapturing && h->cu.cuStreamIsCapturing(stream, &status) == 0 && status != 0;
}

// With --sample: the first launch of this kernel with this shape that was captured with its memory; 0: this
// one.
static uint32_t same_kind(const hook_launch *l) {
    hook *h = &the_hook;
    if (!h->sample) return 0;
    uint32_t shape[8] = {l->grid[0],  l->grid[1],  l->grid[2], l->block[0],
                         l->block[1], l->block[2], l->shared};
    uint64_t key = orr_hash64(l->kernel, strlen(l->kernel), now.module ? now.module->hash : 0);
    key = orr_hash64(shape, sizeof shape, key);
    const uint64_t *first = orr_numbers_get(&h->kinds, key);
    if (first) return (uint32_t)*first;
    orr_numbers_put(&h->kinds, key, h->seen);
    return 0;
}

// Whether replay will surely leave what the GPU leaves: the executor knows its instructions, and sums of
// floating-point numbers do not depend on an order.
static bool can_be_recomputed(const char *kernel) {
    hook_module *m = now.module;
    orr_err e = {0};
    const orr_kernel *k = hook_parse(m) ? m->parsed->load(m->parsed, kernel, &e) : NULL;
    if (!k) return false;
    for (uint32_t i = 0; i < k->ninsts; i++) {
        const orr_inst *x = &k->insts[i];
        if ((orr_ops[x->op].flags & ORR_F_ATOMIC) && orr_types[x->type].is_float) return false;
    }
    return true;
}

// ---- the clock ----------------------------------------------------------------------------------
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

// ---- before and after ---------------------------------------------------------------------------
// Parameters and module of the launch.
static void find(const hook_launch *l) {
    hook *h = &the_hook;
    void *function = l->function, *handle = NULL, *inner = NULL; // a CUkernel can be launched as it is
    memset(now.params, 0, sizeof now.params);
    now.n = 0;
    *now.incomplete = 0;
    if (h->cu.cuFuncGetModule && h->cu.cuFuncGetModule(&handle, function) != 0 && h->cu.cuKernelGetFunction &&
        h->cu.cuKernelGetFunction(&inner, function) == 0 && inner) {
        function = inner;
        h->cu.cuFuncGetModule(&handle, function);
    }
    now.have_params = l->params || !l->extra ? pointed_to(function, l->params, now.params, &now.n)
                                             : packed(l->extra, now.params, &now.n);
    now.module = hook_module_of(l->kernel, handle);
    if (now.module) hook_add_symbols((uint32_t)(now.module - h->modules.at));
    if (!now.module) snprintf(now.incomplete, sizeof now.incomplete, "its machine code was not seen");
    if (!now.have_params) snprintf(now.incomplete, sizeof now.incomplete, "its parameters could not be read");
    h->reads_textures = hook_uses_textures(now.module, l->kernel);
    for (size_t i = 0; i < h->textures.n && h->reads_textures; i++)
        if (h->textures.at[i].unknown)
            snprintf(now.incomplete, sizeof now.incomplete, "it may read %s", h->textures.at[i].unknown);
}

static bool write_module(orr_err *e) {
    hook_module *m = now.module;
    if (!m || m->written) return true;
    m->written = true;
    return orr_capture_module(the_hook.writer, m->hash, m->code, m->n, e);
}

bool hook_save_for(const hook_launch *l) {
    uint64_t bytes;
    find(l);
    return now.have_params && hook_reach(now.params, now.n, now.module, false, &bytes);
}

const uint8_t *hook_params(size_t *n) {
    *n = now.have_params ? now.n : 0;
    return now.params;
}

// Memory before it, as far as the launch can be replayed.
static void write_before(const hook_launch *l) {
    hook *h = &the_hook;
    uint32_t like = same_kind(l);
    uint64_t bytes = 0;
    orr_capture_inputs_only(h->writer, h->inputs_only && now.module && can_be_recomputed(l->kernel));
    for (size_t i = 0; i < h->regions.n; i++) h->regions.at[i].reached = false;
    if (like) {
        h->alike++;
        snprintf(now.incomplete, sizeof now.incomplete, "like %u", like - 1);
    } else if (!*now.incomplete && !hook_reach(now.params, now.n, now.module, true, &bytes)) {
        if (bytes <= h->limit) give_up("memory could not be read");
        snprintf(now.incomplete, sizeof now.incomplete,
                 "it reaches %" PRIu64 " MB of memory or more, over --memory", bytes >> 20);
    }
    if (*now.incomplete && !like) h->incomplete++;
}

bool hook_before(const hook_launch *l) {
    hook *h = &the_hook;
    if (h->error || !l->kernel) return false;
    if (is_capturing(l->stream)) return false; // it becomes a node of a graph
    if (!hook_chosen(l->kernel, h->seen++)) return false;
    orr_err e = {0};
    if (!h->captured) name_gpu(h->gpu ? h->gpu - 1 : 0);
    find(l);
    if (!write_module(&e)) return give_up(e.text), false;
    if (h->cu.cuCtxSynchronize() != 0) return give_up("the program's GPU has failed"), false;
    if (!orr_capture_begin(h->writer, h->seen - 1, &e)) return give_up(e.text), false;
    orr_text meta = {0};
    describe(l, &meta);
    orr_capture_put(h->writer, CHUNK_META, meta.s, meta.n);
    orr_capture_put(h->writer, CHUNK_PARAMS, now.params, now.n);
    free(meta.s);
    h->captured++;
    write_before(l);
    if (h->measure) start_clock(l->stream);
    return true;
}

void hook_after(const hook_launch *l) {
    hook *h = &the_hook;
    orr_err e = {0};
    if (h->measure && h->event[1]) h->cu.cuEventRecord(h->event[1], l->stream);
    if (h->cu.cuCtxSynchronize() != 0 || (!*now.incomplete && !hook_write_after()))
        give_up("the program's GPU has failed");
    if (h->measure && !stop_clock(l, &e)) give_up(e.text);
    put_regions();
    if (!orr_capture_end(h->writer, &e)) give_up(e.text);
}
