// The backend that executes on the CPU: buffers in the executor's device memory, launches handed to
// the caller's function, which runs them as it likes.
#include "exec/texture.h"
#include "launch/launch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The most dynamic and static shared memory that any supported GPU gives a thread block (227 KiB,
// compute capability 9.0 and 10.0). A front end that knows its GPU checks against that one's own.
#define MOST_SHARED (227u << 10)

struct orr_cpu {
    orr_mem *mem;
    uint64_t left;               // of the host's memory
    ORR_VEC(orr_image *) images; // by module
    orr_on_launch *on_launch;
    orr_on_measure *on_measure; // NULL: nobody listens
    void *arg;
    ORR_VEC(uint64_t) textures; // their handles
};
enum { MOST_TEXTURES = 4096 };

orr_cpu *orr_cpu_new(orr_on_launch *on_launch, void *arg, orr_err *e) {
    orr_mem *mem = orr_mem_new(e);
    if (!mem) return NULL;
    orr_cpu *c = orr_calloc(1, sizeof *c);
    c->mem = mem;
    c->left = orr_host_memory();
    c->on_launch = on_launch;
    c->arg = arg;
    return c;
}

void orr_cpu_delete(orr_cpu *c) {
    if (!c) return;
    for (size_t k = 0; k < c->images.n; k++) {
        if (c->images.at[k]) orr_image_free(c->mem, c->images.at[k]);
    }
    free(c->images.at);
    free(c->textures.at);
    orr_mem_delete(c->mem);
    free(c);
}

static bool cpu_load(void *self, int module, orr_module *m, orr_err *e) {
    orr_cpu *c = self;
    while (c->images.n <= (size_t)module) *ORR_PUSH(&c->images) = NULL;
    if (c->images.at[module]) orr_image_free(c->mem, c->images.at[module]);
    c->images.at[module] = orr_image_load(c->mem, m, e);
    return c->images.at[module] != NULL;
}

static uint64_t cpu_alloc(void *self, const char *name, uint64_t bytes, orr_err *e) {
    orr_cpu *c = self;
    if (bytes > c->left) { // the system would give it, and end the process when it is written to
        char a[32], b[32];
        orr_fail(e, ORR_BAD_INPUT,
                 "'%s' has %sB; of this machine's memory %sB are left; choose a smaller size", name,
                 orr_si(a, (double)bytes), orr_si(b, (double)c->left));
        return 0;
    }
    c->left -= bytes;
    return orr_mem_alloc(c->mem, bytes, name, e);
}

static bool cpu_write(void *self, uint64_t addr, const void *data, uint64_t bytes, orr_err *e) {
    void *p = orr_mem_host(((orr_cpu *)self)->mem, addr, bytes);
    if (!p) return orr_fail(e, ORR_BAD_INPUT, "0x%" PRIx64 " is not in device memory", addr);
    memcpy(p, data, bytes);
    return true;
}

static bool cpu_read(void *self, uint64_t addr, void *data, uint64_t bytes, orr_err *e) {
    const void *p = orr_mem_host(((orr_cpu *)self)->mem, addr, bytes);
    if (!p) return orr_fail(e, ORR_BAD_INPUT, "0x%" PRIx64 " is not in device memory", addr);
    memcpy(data, p, bytes);
    return true;
}

static bool cpu_symbol(void *self, int module, const char *name, uint64_t *addr, uint64_t *bytes,
                       orr_err *e) {
    orr_cpu *c = self;
    if (orr_image_symbol(c->images.at[module], name, addr, bytes)) return true;
    return orr_fail(e, ORR_BAD_INPUT, "the module has no variable '%s'", name);
}

static bool cpu_launch(void *self, const orr_call *call, orr_err *e) {
    orr_cpu *c = self;
    size_t bytes = call->kernel->param_bytes;
    orr_launch l = {.kernel = call->kernel,
                    .image = c->images.at[call->module],
                    .mem = c->mem,
                    .index = call->index,
                    .dynamic_shared = call->dynamic_shared};
    memcpy(l.grid, call->grid, sizeof l.grid);
    memcpy(l.block, call->block, sizeof l.block);
    memcpy(l.cluster, call->cluster, sizeof l.cluster);
    l.params = orr_malloc(bytes + 1);
    if (bytes) memcpy(l.params, call->params, bytes);
    bool ok = orr_launch_check(&l, MOST_SHARED, e) && c->on_launch(c->arg, &l, call, e);
    free(l.params);
    return ok;
}

// Launches in a loop ask for the same textures again.
static uint64_t cpu_texture(void *self, const orr_texture *t, orr_err *e) {
    orr_cpu *c = self;
    for (size_t i = c->textures.n; i-- > 0;) {
        const orr_texture *is = orr_mem_texture(c->mem, c->textures.at[i]);
        if (is && memcmp(is, t, sizeof *t) == 0) return c->textures.at[i];
    }
    uint64_t handle = c->textures.n < MOST_TEXTURES ? orr_mem_texture_new(c->mem, t) : 0;
    if (handle)
        *ORR_PUSH(&c->textures) = handle;
    else
        orr_fail(e, ORR_BAD_INPUT, "a script may have %d textures", MOST_TEXTURES);
    return handle;
}

static void cpu_measure(void *self, const orr_reading *m) {
    orr_cpu *c = self;
    c->on_measure(c->arg, m);
}

void orr_cpu_listen(orr_cpu *c, orr_on_measure *on_measure) { c->on_measure = on_measure; }

orr_backend orr_cpu_backend(orr_cpu *c) {
    return (orr_backend){.self = c,
                         .load = cpu_load,
                         .alloc = cpu_alloc,
                         .write = cpu_write,
                         .read = cpu_read,
                         .symbol = cpu_symbol,
                         .launch = cpu_launch,
                         .texture = cpu_texture,
                         .measure = c->on_measure ? cpu_measure : NULL};
}
