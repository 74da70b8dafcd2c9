// Kernels and their arguments.
#include "opencl/functions.h"

#include <stdlib.h>
#include <string.h>

#define SET_ERROR(p, v)                                                                                      \
    do {                                                                                                     \
        if (p) *(p) = (v);                                                                                   \
    } while (0)

static const orr_clc_kernel *info_of(const struct _cl_program *p, const char *name) {
    for (uint32_t i = 0; i < p->object.kernels.n; i++)
        if (!strcmp(p->object.kernels.at[i].name, name)) return &p->object.kernels.at[i];
    return NULL;
}

static cl_kernel new_kernel(cl_program p, const orr_clc_kernel *info, cl_int *error) {
    int failed = E_OK;
    app_function *f = app_function_named(p->module, info->name, &failed);
    if (failed || f->kernel->nparams != info->nargs) {
        SET_ERROR(error, CL_INVALID_KERNEL_DEFINITION);
        return NULL;
    }
    f->dynamic_limit = UINT32_MAX;
    cl_kernel k = cl_new(sizeof *k, KIND_KERNEL);
    k->program = p;
    k->info = info;
    k->function = f;
    k->args = orr_calloc(info->nargs + 1, sizeof *k->args);
    for (uint32_t i = 0; i < info->nargs; i++)
        k->args[i].value = orr_calloc(1, f->kernel->params[i].bytes + 1);
    p->head.refs++;
    p->nkernels++;
    SET_ERROR(error, CL_SUCCESS);
    return k;
}

cl_kernel cl_clCreateKernel(cl_program p, const char *name, cl_int *error) {
    cl_int bad = !cl_is(p, KIND_PROGRAM)                       ? CL_INVALID_PROGRAM
                 : !name                                       ? CL_INVALID_VALUE
                 : !p->module || p->status != CL_BUILD_SUCCESS ? CL_INVALID_PROGRAM_EXECUTABLE
                                                               : CL_SUCCESS;
    const orr_clc_kernel *info = bad ? NULL : info_of(p, name);
    if (!bad && !info) bad = CL_INVALID_KERNEL_NAME;
    SET_ERROR(error, bad);
    if (bad) return NULL;
    cl_lock();
    cl_kernel k = new_kernel(p, info, error);
    cl_unlock();
    return k;
}

cl_int cl_clCreateKernelsInProgram(cl_program p, cl_uint room, cl_kernel *kernels, cl_uint *n) {
    if (!cl_is(p, KIND_PROGRAM)) return CL_INVALID_PROGRAM;
    if (!p->module || p->status != CL_BUILD_SUCCESS) return CL_INVALID_PROGRAM_EXECUTABLE;
    if (kernels && room < p->object.kernels.n) return CL_INVALID_VALUE;
    if (n) *n = p->object.kernels.n;
    cl_int error = CL_SUCCESS;
    cl_lock();
    for (uint32_t i = 0; kernels && i < p->object.kernels.n && !error; i++)
        kernels[i] = new_kernel(p, &p->object.kernels.at[i], &error);
    cl_unlock();
    return error;
}

cl_int cl_clRetainKernel(cl_kernel k) {
    if (!cl_is(k, KIND_KERNEL)) return CL_INVALID_KERNEL;
    cl_lock();
    k->head.refs++;
    cl_unlock();
    return CL_SUCCESS;
}

static void forget(argument *a) {
    if (a->mem) cl_drop_mem(a->mem);
    if (a->sampler) cl_drop_sampler(a->sampler);
    a->mem = NULL;
    a->sampler = NULL;
}

cl_int cl_clReleaseKernel(cl_kernel k) {
    if (!cl_is(k, KIND_KERNEL)) return CL_INVALID_KERNEL;
    cl_lock();
    if (!--k->head.refs) {
        for (uint32_t i = 0; i < k->info->nargs; i++) {
            forget(&k->args[i]);
            free(k->args[i].value);
        }
        free(k->args);
        k->program->nkernels--;
        cl_drop_program(k->program);
        k->head.kind = 0;
        free(k);
    }
    cl_unlock();
    return CL_SUCCESS;
}

// ---- arguments --------------------------------------------------------------------------------------
static bool right_image(const orr_clc_arg *g, const struct _cl_mem *m) {
    static const struct {
        const char *type;
        cl_mem_object_type is;
    } types[] = {{"image1d_t", CL_MEM_OBJECT_IMAGE1D},
                 {"image1d_buffer_t", CL_MEM_OBJECT_IMAGE1D_BUFFER},
                 {"image1d_array_t", CL_MEM_OBJECT_IMAGE1D_ARRAY},
                 {"image2d_t", CL_MEM_OBJECT_IMAGE2D},
                 {"image2d_array_t", CL_MEM_OBJECT_IMAGE2D_ARRAY},
                 {"image3d_t", CL_MEM_OBJECT_IMAGE3D}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(g->base, types[i].type)) return m->type == types[i].is;
    return false;
}

static cl_int set_mem(argument *a, const orr_clc_arg *g, size_t n, const void *value) {
    cl_mem m = value ? *(const cl_mem *)value : NULL;
    if (n != sizeof(cl_mem)) return CL_INVALID_ARG_SIZE;
    if (m && !cl_is(m, KIND_MEM)) return CL_INVALID_MEM_OBJECT;
    if (g->image && (!m || !right_image(g, m))) return CL_INVALID_MEM_OBJECT;
    if (!g->image && m && m->image) return CL_INVALID_MEM_OBJECT;
    if (g->image && ((g->access == ORR_CLC_READ_ONLY && (m->flags & CL_MEM_WRITE_ONLY)) ||
                     (g->access == ORR_CLC_WRITE_ONLY && (m->flags & CL_MEM_READ_ONLY))))
        return CL_INVALID_ARG_VALUE;
    forget(a);
    a->mem = m;
    if (m) m->head.refs++;
    uint64_t at = !m ? 0 : g->image ? (uint64_t)(uintptr_t)m->image : (uint64_t)(uintptr_t)m->data;
    memcpy(a->value, &at, 8);
    return CL_SUCCESS;
}

static cl_int set_sampler(argument *a, size_t n, const void *value) {
    if (n != sizeof(cl_sampler)) return CL_INVALID_ARG_SIZE;
    cl_sampler s = value ? *(const cl_sampler *)value : NULL;
    if (!cl_is(s, KIND_SAMPLER)) return CL_INVALID_SAMPLER;
    forget(a);
    a->sampler = s;
    s->head.refs++;
    uint64_t bits = cl_sampler_bits(s);
    memcpy(a->value, &bits, 8);
    return CL_SUCCESS;
}

static cl_int set_argument(cl_kernel k, cl_uint i, size_t n, const void *value) {
    argument *a = &k->args[i];
    const orr_clc_arg *g = &k->info->args[i];
    const orr_param *p = &k->function->kernel->params[i];
    if (g->sampler) return set_sampler(a, n, value);
    if (g->image || g->space == ORR_CLC_GLOBAL || g->space == ORR_CLC_CONSTANT)
        return set_mem(a, g, n, value);
    if (g->space == ORR_CLC_LOCAL) {
        if (value) return CL_INVALID_ARG_VALUE;
        if (!n) return CL_INVALID_ARG_SIZE;
        a->bytes = n;
        return CL_SUCCESS;
    }
    if (!value) return CL_INVALID_ARG_VALUE;
    if (n != p->bytes) return CL_INVALID_ARG_SIZE;
    memcpy(a->value, value, n);
    return CL_SUCCESS;
}

cl_int cl_clSetKernelArg(cl_kernel k, cl_uint i, size_t n, const void *value) {
    if (!cl_is(k, KIND_KERNEL)) return CL_INVALID_KERNEL;
    if (i >= k->info->nargs) return CL_INVALID_ARG_INDEX;
    cl_lock();
    cl_int error = set_argument(k, i, n, value);
    if (!error) k->args[i].set = true;
    cl_unlock();
    return error;
}

cl_kernel cl_clCloneKernel(cl_kernel from, cl_int *error) {
    SET_ERROR(error, CL_INVALID_KERNEL);
    if (!cl_is(from, KIND_KERNEL)) return NULL;
    cl_lock();
    cl_kernel k = new_kernel(from->program, from->info, error);
    for (uint32_t i = 0; k && i < k->info->nargs; i++) {
        argument *a = &k->args[i];
        const argument *f = &from->args[i];
        memcpy(a->value, f->value, k->function->kernel->params[i].bytes);
        a->set = f->set;
        a->bytes = f->bytes;
        a->mem = f->mem;
        a->sampler = f->sampler;
        if (a->mem) a->mem->head.refs++;
        if (a->sampler) a->sampler->head.refs++;
    }
    cl_unlock();
    return k;
}

// ---- asking -----------------------------------------------------------------------------------------
cl_int cl_clGetKernelInfo(cl_kernel k, cl_kernel_info what, size_t room, void *value, size_t *size) {
    if (!cl_is(k, KIND_KERNEL)) return CL_INVALID_KERNEL;
    switch (what) {
    case CL_KERNEL_FUNCTION_NAME: return cl_answer_text(k->info->name, room, value, size);
    case CL_KERNEL_NUM_ARGS: ANSWER(cl_uint, k->info->nargs);
    case CL_KERNEL_REFERENCE_COUNT: ANSWER(cl_uint, k->head.refs);
    case CL_KERNEL_CONTEXT: ANSWER(cl_context, k->program->context);
    case CL_KERNEL_PROGRAM: ANSWER(cl_program, k->program);
    case CL_KERNEL_ATTRIBUTES: return cl_answer_text(k->info->attributes, room, value, size);
    default: return CL_INVALID_VALUE;
    }
}

cl_int cl_clGetKernelArgInfo(cl_kernel k, cl_uint i, cl_kernel_arg_info what, size_t room, void *value,
                             size_t *size) {
    if (!cl_is(k, KIND_KERNEL)) return CL_INVALID_KERNEL;
    if (i >= k->info->nargs) return CL_INVALID_ARG_INDEX;
    if (!k->program->lists_info) return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
    const orr_clc_arg *g = &k->info->args[i];
    static const cl_kernel_arg_address_qualifier spaces[] = {
        CL_KERNEL_ARG_ADDRESS_PRIVATE, CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ADDRESS_CONSTANT,
        CL_KERNEL_ARG_ADDRESS_LOCAL};
    static const cl_kernel_arg_access_qualifier accesses[] = {
        CL_KERNEL_ARG_ACCESS_NONE, CL_KERNEL_ARG_ACCESS_READ_ONLY, CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
        CL_KERNEL_ARG_ACCESS_READ_WRITE};
    switch (what) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER: ANSWER(cl_kernel_arg_address_qualifier, spaces[g->space]);
    case CL_KERNEL_ARG_ACCESS_QUALIFIER: ANSWER(cl_kernel_arg_access_qualifier, accesses[g->access]);
    case CL_KERNEL_ARG_TYPE_NAME: return cl_answer_text(g->type, room, value, size);
    case CL_KERNEL_ARG_NAME: return cl_answer_text(g->name, room, value, size);
    case CL_KERNEL_ARG_TYPE_QUALIFIER:
        ANSWER(cl_kernel_arg_type_qualifier, (g->is_const ? CL_KERNEL_ARG_TYPE_CONST : 0u) |
                                                 (g->is_restrict ? CL_KERNEL_ARG_TYPE_RESTRICT : 0u) |
                                                 (g->is_volatile ? CL_KERNEL_ARG_TYPE_VOLATILE : 0u));
    default: return CL_INVALID_VALUE;
    }
}

// The largest thread block of the kernel that an SM can hold.
static size_t most_threads(const orr_kernel *k) {
    const orr_gpu *g = the_app.gpu;
    orr_occupancy_result fit;
    int n = g->limit_block_threads;
    while (n > 32 &&
           (!orr_occupancy(g, n, (int)k->regs, k->shared_bytes, (int)k->barriers, &fit) || !fit.blocks))
        n -= 32;
    return (size_t)n;
}

cl_int cl_clGetKernelWorkGroupInfo(cl_kernel k, cl_device_id d, cl_kernel_work_group_info what, size_t room,
                                   void *value, size_t *size) {
    if (!cl_is(k, KIND_KERNEL)) return CL_INVALID_KERNEL;
    if (d && d != &cl_device) return CL_INVALID_DEVICE;
    const orr_kernel *code = k->function->kernel;
    cl_ulong local = code->shared_bytes;
    size_t required[3] = {k->info->required[0], k->info->required[1], k->info->required[2]};
    for (uint32_t i = 0; i < k->info->nargs; i++) local += k->args[i].bytes;
    switch (what) {
    case CL_KERNEL_WORK_GROUP_SIZE: ANSWER(size_t, most_threads(code));
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: return cl_answer(required, sizeof required, room, value, size);
    case CL_KERNEL_LOCAL_MEM_SIZE: ANSWER(cl_ulong, local);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: ANSWER(size_t, 32);
    case CL_KERNEL_PRIVATE_MEM_SIZE: ANSWER(cl_ulong, code->stack_bytes);
    default: return CL_INVALID_VALUE;
    }
}

cl_int cl_clGetKernelSubGroupInfo(cl_kernel k, cl_device_id d, cl_kernel_sub_group_info what, size_t nin,
                                  const void *in, size_t room, void *value, size_t *size) {
    if (!cl_is(k, KIND_KERNEL)) return CL_INVALID_KERNEL;
    if (d && d != &cl_device) return CL_INVALID_DEVICE;
    const size_t *sizes = in;
    size_t items = 1, most = most_threads(k->function->kernel);
    for (size_t i = 0; sizes && i < nin / sizeof(size_t) && i < 3; i++) items *= sizes[i];
    switch (what) {
    case CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE: ANSWER(size_t, items < 32 ? items : 32);
    case CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE: ANSWER(size_t, (items + 31) / 32);
    case CL_KERNEL_MAX_NUM_SUB_GROUPS: ANSWER(size_t, (most + 31) / 32);
    case CL_KERNEL_COMPILE_NUM_SUB_GROUPS: ANSWER(size_t, 0);
    case CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT: {
        size_t want = sizes && nin >= sizeof(size_t) ? sizes[0] : 0;
        bool fits = want && want <= most / 32;
        size_t answer[3] = {fits ? want * 32 : 0, fits, fits}; // no size does: 0 in each dimension
        return cl_answer(answer, room && room < sizeof answer ? room : sizeof answer, room, value, size);
    }
    default: return CL_INVALID_VALUE;
    }
}
