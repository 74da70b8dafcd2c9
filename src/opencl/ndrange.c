// Launches: a range of work-items becomes a grid of thread blocks.
#include "opencl/functions.h"

#include <stdlib.h>
#include <string.h>

typedef struct launch {
    app_call call;
    cl_kernel kernel;
    uint32_t dims;
    uint64_t offset[3];
    argument *held; // memory and samplers that the arguments name
} launch;

typedef struct range { // of work-items
    cl_uint dims;
    const size_t *offset, *global, *local;
} range;

// ---- sizes ------------------------------------------------------------------------------------------
// A work-group's size when the program leaves it to us: at most 256, a divisor in each dimension.
static void choose(cl_uint dims, const size_t *global, const struct _cl_kernel *k, size_t local[3]) {
    size_t left = 256;
    for (cl_uint i = 0; i < dims; i++) {
        size_t most = i == 2 && left > 64 ? 64 : left, n = most < global[i] ? most : global[i];
        while (n > 1 && global[i] % n) n--;
        local[i] = n ? n : 1;
        left /= local[i];
    }
    if (k->info->required[0])
        for (int i = 0; i < 3; i++) local[i] = k->info->required[i];
}

static cl_int check_sizes(cl_kernel k, const range *of, launch *l) {
    cl_uint dims = of->dims;
    const size_t *offset = of->offset, *global = of->global, *local = of->local;
    size_t group[3] = {1, 1, 1};
    const orr_gpu *g = the_app.gpu;
    if (dims < 1 || dims > 3) return CL_INVALID_WORK_DIMENSION;
    if (!global) return CL_INVALID_GLOBAL_WORK_SIZE;
    if (local)
        memcpy(group, local, dims * sizeof *local);
    else
        choose(dims, global, k, group);
    size_t items = 1, limit[3] = {(size_t)g->limit_block_threads, (size_t)g->limit_block_threads, 64};
    uint32_t *grid[3] = {&l->call.grid.x, &l->call.grid.y, &l->call.grid.z},
             *block[3] = {&l->call.block.x, &l->call.block.y, &l->call.block.z};
    for (cl_uint i = 0; i < 3; i++) {
        size_t n = i < dims ? global[i] : 1;
        if (!group[i] || n % group[i]) return CL_INVALID_WORK_GROUP_SIZE;
        if (k->info->required[0] && group[i] != k->info->required[i]) return CL_INVALID_WORK_GROUP_SIZE;
        if (group[i] > limit[i])
            return i < dims && local ? CL_INVALID_WORK_ITEM_SIZE : CL_INVALID_WORK_GROUP_SIZE;
        if (n / group[i] > (i ? 65535 : 0x7fffffff)) return CL_INVALID_GLOBAL_WORK_SIZE;
        *grid[i] = (uint32_t)(n / group[i]);
        *block[i] = (uint32_t)group[i];
        items *= group[i];
        l->offset[i] = offset && i < dims ? offset[i] : 0;
        if (offset && i < dims && offset[i] + n < n) return CL_INVALID_GLOBAL_OFFSET;
    }
    l->dims = dims;
    return items > (size_t)g->limit_block_threads ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS;
}

// ---- arguments --------------------------------------------------------------------------------------
// A pointer to local memory is an offset: what the kernel has itself comes first, then the arguments'.
static cl_int pack(cl_kernel k, launch *l) {
    const orr_kernel *code = k->function->kernel;
    uint64_t base = (code->shared_base + code->shared_bytes + 15) & ~15u, local = base;
    l->call.nparams = code->param_bytes;
    l->call.params = orr_calloc(1, (size_t)code->param_bytes + 8);
    for (uint32_t i = 0; i < k->info->nargs; i++) {
        const argument *a = &k->args[i];
        const orr_param *p = &code->params[i];
        if (!a->set) return CL_INVALID_KERNEL_ARGS;
        memcpy(l->call.params + p->offset, a->value, p->bytes);
        if (k->info->args[i].space != ORR_CLC_LOCAL || k->info->args[i].image) continue;
        local = orr_clc_local_begin(local, a->bytes);
        memcpy(l->call.params + p->offset, &local, p->bytes < 8 ? p->bytes : 8);
        local += a->bytes;
        if (local > (uint64_t)the_app.gpu->shared_per_block) return CL_OUT_OF_RESOURCES;
    }
    l->call.dynamic_shared = (uint32_t)(local - base);
    return CL_SUCCESS;
}

// ---- running ----------------------------------------------------------------------------------------
// What get_work_dim and get_global_offset say (device.cl).
static void tell(const launch *l) {
    uint64_t at, bytes, env[4] = {l->dims, l->offset[0], l->offset[1], l->offset[2]};
    if (!orr_image_symbol(l->kernel->program->module->images[0], "__orrery_env", &at, &bytes) ||
        bytes < sizeof env)
        return;
    void *p = orr_mem_host(the_app.mem, at, sizeof env);
    if (p) memcpy(p, env, sizeof env);
}

static cl_int run_launch(command *c) {
    launch *l = c->data;
    app_stream *s = &c->event->queue->stream;
    tell(l);
    double start = app_clock_start(s, ENGINE_KERNELS);
    int error = app_do(s, &l->call);
    the_app.sticky = E_OK;
    c->event->start = start;
    c->event->end = error ? start : app_clock_end(s);
    return cl_error(error);
}

static void done(command *c) {
    launch *l = c->data;
    for (uint32_t i = 0; i < l->kernel->info->nargs; i++) {
        if (l->held[i].mem) cl_drop_mem(l->held[i].mem);
        if (l->held[i].sampler) cl_drop_sampler(l->held[i].sampler);
    }
    free(l->held);
    free(l->call.params);
    cl_clReleaseKernel(l->kernel);
}

static cl_int launch_kernel(const request *r, cl_kernel k, const range *of) {
    if (!cl_is(r->queue, KIND_QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    if (!cl_is(k, KIND_KERNEL)) return CL_INVALID_KERNEL;
    if (k->program->context != r->queue->context) return CL_INVALID_CONTEXT;
    cl_int error = cl_check_waits(r->queue, r->n, r->waits);
    cl_uint dims = of->dims;
    const size_t *global = of->global;
    bool nothing = dims >= 1 && dims <= 3 &&
                   (!global || !global[0] || (dims > 1 && !global[1]) || (dims > 2 && !global[2]));
    launch l = {.call = {.what = DO_KERNEL, .function = k->function}, .kernel = k};
    cl_lock();
    if (!error && !nothing) error = check_sizes(k, of, &l);
    if (!error) error = pack(k, &l);
    if (error) {
        free(l.call.params);
        cl_unlock();
        return error;
    }
    command *c = orr_calloc(1, sizeof *c);
    launch *copy = orr_calloc(1, sizeof *copy);
    l.held = orr_calloc(k->info->nargs + 1, sizeof *l.held);
    for (uint32_t i = 0; i < k->info->nargs; i++) {
        l.held[i].mem = k->args[i].mem;
        l.held[i].sampler = k->args[i].sampler;
        if (l.held[i].mem) l.held[i].mem->head.refs++;
        if (l.held[i].sampler) l.held[i].sampler->head.refs++;
    }
    k->head.refs++;
    *copy = l;
    c->data = copy;
    c->run = nothing ? NULL : run_launch; // OpenCL 2.1: a range of nothing is done at once
    c->done = done;
    return cl_enqueue(r, c);
}

cl_int cl_clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                 cl_event *event) {
    return launch_kernel(&(request){q, CL_COMMAND_NDRANGE_KERNEL, false, n, waits, event}, k,
                         &(range){dims, offset, global, local});
}

cl_int cl_clEnqueueTask(cl_command_queue q, cl_kernel k, cl_uint n, const cl_event *waits, cl_event *event) {
    static const size_t one = 1;
    return launch_kernel(&(request){q, CL_COMMAND_TASK, false, n, waits, event}, k,
                         &(range){1, NULL, &one, &one});
}

cl_int cl_clEnqueueNativeKernel(cl_command_queue q, void(CL_CALLBACK *f)(void *), void *args, size_t bytes,
                                cl_uint nmems, const cl_mem *mems, const void **at, cl_uint n,
                                const cl_event *waits, cl_event *event) {
    (void)f, (void)args, (void)bytes, (void)nmems, (void)mems, (void)at, (void)n, (void)waits, (void)event;
    return cl_is(q, KIND_QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}
