// The device runtime as kernels call it: launches of kernels, copies and fills, streams and events, and
// values of conditional nodes (isa/syscalls.def). Nothing is done at once: it is put into the launch's list,
// and whoever started the kernel does it when the kernel has ended, which is one of the orders that CUDA
// allows, since a kernel cannot wait for what it launches.
//
// A kernel asks for a buffer, writes parameters into it, and launches. Buffers are parts of chunks of device
// memory; 16 bytes before each say which of the open launches it is.
#include <stdlib.h>
#include <string.h>

#include "exec/block.h"

enum { ERROR_VALUE = 1, ERROR_MEMORY = 2, ERROR_CONFIGURATION = 9, ERROR_FUNCTION = 98, ERROR_PENDING = 69 };
enum { CHUNK = 1 << 20, ALIGN = 64, MOST_BYTES = 32764 };
#define MOST_CHILDREN (1u << 22)

static uint64_t pair(const uint32_t *arg) { return (uint64_t)arg[1] << 32 | arg[0]; }

void orr_children_free(orr_children *c, orr_mem *mem) {
    for (size_t i = 0; i < c->at.n; i++) free(c->at.at[i].params);
    for (size_t i = 0; i < c->buffers.n; i++) orr_mem_free(mem, c->buffers.at[i]);
    free(c->at.at);
    free(c->open.at);
    free(c->buffers.at);
    memset(c, 0, sizeof *c);
}

static uint64_t failed(orr_children *c, int error) {
    c->error = error;
    return 0;
}

// Room for parameters; 0: there is none.
static uint64_t buffer(const warp *w, orr_children *c, uint64_t bytes) {
    orr_err none = {0};
    uint64_t need = 16 + (bytes + ALIGN - 1) / ALIGN * ALIGN + ALIGN;
    if (bytes > MOST_BYTES || c->open.n >= MOST_CHILDREN) return failed(c, ERROR_PENDING);
    if (!c->buffers.n || c->used + need > CHUNK) {
        uint64_t chunk = orr_mem_alloc(w->worker->mem, CHUNK, "parameters of launches from kernels", &none);
        if (!chunk) return failed(c, ERROR_MEMORY);
        *ORR_PUSH(&c->buffers) = chunk;
        c->used = 0;
        memset(w->worker->range, 0, (w->tb->prog->nmem + 1) * sizeof *w->worker->range);
    }
    uint64_t at = (c->buffers.at[c->buffers.n - 1] + c->used + 16 + ALIGN - 1) / ALIGN * ALIGN;
    c->used = at + bytes - c->buffers.at[c->buffers.n - 1];
    uint64_t index = c->open.n;
    void *head = orr_mem_host(w->worker->mem, at - 16, 8);
    if (!head) return failed(c, ERROR_MEMORY);
    memcpy(head, &index, 8);
    return at;
}

static const orr_kernel *kernel_of(warp *w, const uop *u, int lane, uint64_t function) {
    orr_module *m = w->tb->prog->kernel->module;
    const char *name = m && m->kernel_at ? m->kernel_at(m, function) : NULL;
    orr_err e = {0};
    const orr_kernel *k = name ? m->load(m, name, &e) : NULL;
    if (name && !k) orr_fault(w, u, lane, "launches '%s': %s", name, e.text);
    return k;
}

static bool fits(const orr_child *c) {
    uint64_t threads = (uint64_t)c->dim[0] * c->dim[1] * c->dim[2];
    uint64_t blocks = (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];
    return threads && threads <= 1024 && c->dim[2] <= 64 && blocks && c->grid[0] <= 0x7fffffff &&
           c->grid[1] <= 65535 && c->grid[2] <= 65535;
}

// grid, block and dynamic shared memory from their words.
static void take_shape(orr_child *c, const uint32_t *arg) {
    memcpy(c->grid, arg, sizeof c->grid);
    memcpy(c->dim, arg + 3, sizeof c->dim);
    c->dynamic_shared = arg[6];
}

static uint64_t new_parameters(warp *w, orr_children *c, const orr_kernel *k, orr_child shape,
                               uint64_t bytes) {
    uint64_t at = buffer(w, c, bytes);
    if (!at) return 0;
    shape.kernel = k;
    shape.to = at;
    shape.bytes = bytes;
    *ORR_PUSH(&c->open) = shape;
    return at;
}

// The open launch that has a buffer, NULL: none.
static orr_child *open_at(const warp *w, orr_children *c, uint64_t at) {
    uint64_t index = 0;
    const void *head = at >= 16 ? orr_mem_host(w->worker->mem, at - 16, 8) : NULL;
    if (head) memcpy(&index, head, 8);
    return head && index < c->open.n && c->open.at[index].to == at ? &c->open.at[index] : NULL;
}

static uint64_t launch(warp *w, orr_children *c, const orr_child *open, uint64_t stream) {
    orr_child child = *open;
    if (!fits(&child)) return (uint64_t)(c->error = ERROR_CONFIGURATION);
    if (c->at.n >= MOST_CHILDREN) return (uint64_t)(c->error = ERROR_PENDING);
    uint32_t bytes = child.kernel->param_bytes;
    const void *from = orr_mem_host(w->worker->mem, child.to, child.bytes);
    if (!from && child.bytes) return (uint64_t)(c->error = ERROR_VALUE);
    child.what = ORR_CHILD_KERNEL;
    child.block = w->tb->index;
    child.stream = stream;
    child.params = orr_calloc(1, (size_t)bytes + 1);
    if (from) memcpy(child.params, from, child.bytes < bytes ? child.bytes : bytes);
    *ORR_PUSH(&c->at) = child;
    return 0;
}

static uint64_t move(const warp *w, orr_children *c, orr_child child) {
    if (c->at.n >= MOST_CHILDREN) return (uint64_t)(c->error = ERROR_PENDING);
    child.block = w->tb->index;
    *ORR_PUSH(&c->at) = child;
    return 0;
}

static uint64_t put(const warp *w, int lane, uint64_t addr, const void *value, uint64_t bytes) {
    uint8_t *at = orr_bytes_at(w, lane, addr, bytes);
    if (!at) return ERROR_VALUE;
    memcpy(at, value, bytes);
    return 0;
}

static uint64_t cuda_malloc(const warp *w, int lane, const uint32_t *arg) {
    orr_err none = {0};
    uint64_t at = orr_mem_alloc(w->worker->mem, pair(arg + 2), "cudaMalloc of a kernel", &none);
    return at ? put(w, lane, pair(arg), &at, 8) : ERROR_MEMORY;
}

static uint64_t cuda_free(const warp *w, const uint32_t *arg) {
    if (pair(arg) && !orr_mem_free(w->worker->mem, pair(arg))) return ERROR_VALUE;
    memset(w->worker->range, 0, (w->tb->prog->nmem + 1) * sizeof *w->worker->range);
    return 0;
}

// Once asks for a kernel and once launches it.
static uint64_t kernel_call(warp *w, const uop *u, int lane, unsigned which, const uint32_t *arg) {
    orr_children *c = w->tb->prog->launch->children;
    orr_child shape = {0};
    orr_child *open;
    switch (which) {
    case ORR_SYS_PARAMETERS_2: {
        const orr_kernel *k = kernel_of(w, u, lane, pair(arg));
        take_shape(&shape, arg + 2);
        if (!k || !fits(&shape)) return failed(c, k ? ERROR_CONFIGURATION : ERROR_FUNCTION);
        return new_parameters(w, c, k, shape, k->param_bytes);
    }
    case ORR_SYS_PARAMETERS: return new_parameters(w, c, NULL, shape, pair(arg + 2));
    case ORR_SYS_LAUNCH_2:
        open = open_at(w, c, pair(arg));
        return open && open->kernel ? launch(w, c, open, pair(arg + 2)) : (uint64_t)(c->error = ERROR_VALUE);
    default: // ORR_SYS_LAUNCH
        open = open_at(w, c, pair(arg + 2));
        if (!open) return (uint64_t)(c->error = ERROR_VALUE);
        open->kernel = kernel_of(w, u, lane, pair(arg));
        if (!open->kernel) return (uint64_t)(c->error = ERROR_FUNCTION);
        take_shape(open, arg + 4);
        return launch(w, c, open, pair(arg + 12));
    }
}

uint64_t orr_device_call(warp *w, const uop *u, int lane, unsigned which,
                         const uint32_t arg[ORR_SYSCALL_WORDS]) {
    orr_children *c = w->tb->prog->launch->children;
    if (!c) {
        orr_fault(w, u, lane,
                  "a kernel that launches kernels, or sets a graph's condition, runs in a program "
                  "(orrery app) or from a capture only");
        return 0;
    }
    uint64_t handle, error;
    switch (which) {
    case ORR_SYS_LAST_ERROR:
        error = (uint64_t)c->error;
        c->error = 0;
        return error;
    case ORR_SYS_PEEK_ERROR: return (uint64_t)c->error;
    case ORR_SYS_HANDLE_NEW: handle = 0x10 + c->handles++; return put(w, lane, pair(arg), &handle, 8);
    case ORR_SYS_HANDLE_END:
    case ORR_SYS_ORDERED: return 0;
    case ORR_SYS_COPY:
        return move(w, c,
                    (orr_child){.what = ORR_CHILD_COPY,
                                .to = pair(arg),
                                .from = pair(arg + 2),
                                .bytes = pair(arg + 4),
                                .stream = pair(arg + 8)});
    case ORR_SYS_FILL:
        return move(w, c,
                    (orr_child){.what = ORR_CHILD_FILL,
                                .to = pair(arg),
                                .from = arg[2],
                                .bytes = pair(arg + 4),
                                .stream = pair(arg + 6)});
    case ORR_SYS_CONDITION:
        return move(w, c, (orr_child){.what = ORR_CHILD_CONDITION, .to = pair(arg), .from = arg[2]});
    case ORR_SYS_CUDA_MALLOC: return cuda_malloc(w, lane, arg);
    case ORR_SYS_CUDA_FREE: return cuda_free(w, arg);
    case ORR_SYS_DEVICE: return put(w, lane, pair(arg), &c->device, 4);
    default: return kernel_call(w, u, lane, which, arg);
    }
}
