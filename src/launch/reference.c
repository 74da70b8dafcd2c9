// For workloads/reference: a script whose launches are replaced by a C function. Memory is the
// host's, modules are not opened, and the function works on the buffers where they lie.
#include "launch/script.h"

#include <stdlib.h>
#include <string.h>

typedef struct host { // a backend of plain memory
    ORR_VEC(void *) blocks;
} host;

struct orr_ref {
    run *r;
};

static bool host_load(void *self, int module, orr_module *m, orr_err *e) {
    (void)self, (void)module, (void)m, (void)e;
    return true;
}

static uint64_t host_alloc(void *self, const char *name, uint64_t bytes, orr_err *e) {
    host *h = self;
    void *p = calloc(1, bytes);
    if (!p) {
        orr_fail(e, ORR_BAD_INPUT, "no memory for buffer '%s'; choose a smaller size", name);
        return 0;
    }
    *ORR_PUSH(&h->blocks) = p;
    return (uint64_t)(uintptr_t)p;
}

static bool host_write(void *self, uint64_t addr, const void *data, uint64_t bytes, orr_err *e) {
    (void)self, (void)e;
    memcpy((void *)(uintptr_t)addr, data, bytes);
    return true;
}

static bool host_read(void *self, uint64_t addr, void *data, uint64_t bytes, orr_err *e) {
    (void)self, (void)e;
    memcpy(data, (const void *)(uintptr_t)addr, bytes);
    return true;
}

static bool host_symbol(void *self, int module, const char *name, uint64_t *addr, uint64_t *bytes,
                        orr_err *e) {
    (void)self, (void)module, (void)addr, (void)bytes;
    return orr_fail(e, ORR_BAD_INPUT, "no variable '%s'", name); // modules are not open, so not called
}

static bool host_launch(void *self, const orr_call *c, orr_err *e) {
    (void)self, (void)c, (void)e;
    return true; // replaced by the reference, so not called
}

static int find(orr_ref *ref, const char *text, bool want_buffer) {
    int slot = (int)(intptr_t)orr_map_get(&ref->r->s->names_by_text, text) - 1;
    if (slot < 0 || ref->r->s->names.at[slot].buffer != want_buffer) {
        stop(ref->r, ORR_BAD_INPUT, 0, "the reference asks for %s '%s', which the script does not have",
             want_buffer ? "buffer" : "variable", text);
    }
    return slot;
}

void *orr_ref_buffer(orr_ref *ref, const char *text, uint64_t *count) {
    run *r = ref->r;
    int slot = find(ref, text, true);
    if (!r->bufs[slot].made)
        stop(r, ORR_BAD_INPUT, 0, "buffer '%s' is made after the first launch; make it before", text);
    if (count) *count = r->bufs[slot].count;
    return (void *)(uintptr_t)r->bufs[slot].addr;
}

static value variable(orr_ref *ref, const char *text) {
    value v = ref->r->vars[find(ref, text, false)];
    if (v.kind == V_NONE)
        stop(ref->r, ORR_BAD_INPUT, 0, "variable '%s' has no value before the first launch", text);
    return v;
}

int64_t orr_ref_int(orr_ref *ref, const char *text) {
    value v = variable(ref, text);
    if (v.kind == V_INT) return v.i;
    if (!(v.f >= -0x1p53 && v.f <= 0x1p53) || (double)(int64_t)v.f != v.f) {
        stop(ref->r, ORR_BAD_INPUT, 0, "variable '%s' is %.17g and the reference wants a whole number", text,
             v.f);
    }
    return (int64_t)v.f;
}

double orr_ref_float(orr_ref *ref, const char *text) {
    value v = variable(ref, text);
    return v.kind == V_INT ? (double)v.i : v.f;
}

bool orr_script_reference(orr_script *s, void (*reference)(orr_ref *r), bool write, orr_err *e) {
    host h = {0};
    orr_backend b = {.self = &h,
                     .load = host_load,
                     .alloc = host_alloc,
                     .write = host_write,
                     .read = host_read,
                     .symbol = host_symbol,
                     .launch = host_launch};
    run *r = orr_calloc(1, sizeof *r);
    orr_ref ref = {.r = r};
    r->b = &b;
    r->e = e;
    r->check = true;
    r->reference = reference;
    r->ref = &ref;
    r->write = write;
    bool ok = orr_script_run_with(s, r, NULL);
    for (size_t k = 0; k < h.blocks.n; k++) free(h.blocks.at[k]);
    free(h.blocks.at);
    free(r);
    return ok;
}
