// Buffers and sub-buffers. Their bytes are in device memory, which the host sees at the same addresses;
// memory of the program's own (CL_MEM_USE_HOST_PTR) has a double there, exchanged when it is mapped and
// unmapped.
#include "opencl/functions.h"

#include <stdlib.h>
#include <string.h>

#define SET_ERROR(p, v)                                                                                      \
    do {                                                                                                     \
        if (p) *(p) = (v);                                                                                   \
    } while (0)

static cl_int check_flags(cl_mem_flags f, const void *host) {
    const cl_mem_flags device = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY,
                       hosts = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS,
                       pointer = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    if (f & ~(device | hosts | pointer | CL_MEM_ALLOC_HOST_PTR | CL_MEM_KERNEL_READ_AND_WRITE))
        return CL_INVALID_VALUE;
    if (orr_popc64(f & device) > 1 || orr_popc64(f & hosts) > 1) return CL_INVALID_VALUE;
    if ((f & CL_MEM_USE_HOST_PTR) && (f & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
        return CL_INVALID_VALUE;
    if (!host != !(f & pointer)) return CL_INVALID_HOST_PTR;
    return CL_SUCCESS;
}

cl_mem cl_clCreateBuffer(cl_context c, cl_mem_flags flags, size_t bytes, void *host, cl_int *error) {
    cl_int bad = !cl_is(c, KIND_CONTEXT) ? CL_INVALID_CONTEXT : check_flags(flags, host);
    if (!bad && (!bytes || bytes > (size_t)the_app.gpu->dram_size / 4)) bad = CL_INVALID_BUFFER_SIZE;
    SET_ERROR(error, bad);
    if (bad) return NULL;
    cl_lock();
    void *p;
    bad = cl_error(app_alloc(bytes, PLACE_DEVICE, "buffer", &p));
    cl_mem m = NULL;
    if (!bad) {
        m = cl_new(sizeof *m, KIND_MEM);
        m->context = c;
        m->type = CL_MEM_OBJECT_BUFFER;
        m->flags = flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY)
                       ? flags
                       : flags | CL_MEM_READ_WRITE;
        m->bytes = bytes;
        m->data = p;
        m->host = flags & CL_MEM_USE_HOST_PTR ? host : NULL;
        if (host) memcpy(m->data, host, bytes);
        c->head.refs++;
    }
    cl_unlock();
    SET_ERROR(error, bad);
    return m;
}

cl_mem cl_clCreateBufferWithProperties(cl_context c, const cl_mem_properties *list, cl_mem_flags flags,
                                       size_t bytes, void *host, cl_int *error) {
    SET_ERROR(error, CL_INVALID_PROPERTY);
    if (list && *list) return NULL;
    cl_mem m = cl_clCreateBuffer(c, flags, bytes, host, error);
    if (m) m->nlist = cl_zero_list(list, &m->list);
    return m;
}

cl_mem cl_clCreateSubBuffer(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
                            cl_int *error) {
    const cl_buffer_region *r = info;
    const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY,
                       hosts = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    cl_int bad = CL_SUCCESS;
    if (!cl_is(parent, KIND_MEM) || parent->type != CL_MEM_OBJECT_BUFFER || parent->parent)
        bad = CL_INVALID_MEM_OBJECT;
    else if (type != CL_BUFFER_CREATE_TYPE_REGION || !r || (flags & ~(access | hosts)) ||
             orr_popc64(flags & access) > 1 || orr_popc64(flags & hosts) > 1)
        bad = CL_INVALID_VALUE;
    else if (((parent->flags & CL_MEM_WRITE_ONLY) && (flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY))) ||
             ((parent->flags & CL_MEM_READ_ONLY) && (flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY))))
        bad = CL_INVALID_VALUE;
    else if (!r->size)
        bad = CL_INVALID_BUFFER_SIZE;
    else if (r->origin > parent->bytes || r->size > parent->bytes - r->origin)
        bad = CL_INVALID_VALUE;
    else if (r->origin % 512)
        bad = CL_MISALIGNED_SUB_BUFFER_OFFSET;
    SET_ERROR(error, bad);
    if (bad) return NULL;
    cl_lock();
    cl_mem m = cl_new(sizeof *m, KIND_MEM);
    m->context = parent->context;
    m->type = CL_MEM_OBJECT_BUFFER;
    m->flags = flags & access ? flags : flags | (parent->flags & access);
    if (!(flags & hosts)) m->flags |= parent->flags & hosts;
    m->flags |= parent->flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR);
    m->bytes = r->size;
    m->offset = r->origin;
    m->data = parent->data + r->origin;
    m->host = parent->host ? (char *)parent->host + r->origin : NULL;
    m->parent = parent;
    parent->head.refs++;
    m->context->head.refs++;
    cl_unlock();
    return m;
}

void cl_drop_mem(cl_mem m) {
    if (--m->head.refs) return;
    cl_call_destroyed(m->callbacks, m);
    for (mapping *x = m->maps; x;) {
        mapping *next = x->next;
        free(x);
        x = next;
    }
    if (m->image) app_free(m->image);
    if (m->parent)
        cl_drop_mem(m->parent);
    else
        app_free(m->data);
    cl_drop_context(m->context);
    free(m->list);
    m->head.kind = 0;
    free(m);
}

cl_int cl_clRetainMemObject(cl_mem m) {
    if (!cl_is(m, KIND_MEM)) return CL_INVALID_MEM_OBJECT;
    cl_lock();
    m->head.refs++;
    cl_unlock();
    return CL_SUCCESS;
}

cl_int cl_clReleaseMemObject(cl_mem m) {
    if (!cl_is(m, KIND_MEM)) return CL_INVALID_MEM_OBJECT;
    cl_lock();
    cl_drop_mem(m);
    cl_unlock();
    return CL_SUCCESS;
}

cl_int cl_clSetMemObjectDestructorCallback(cl_mem m, void(CL_CALLBACK *call)(cl_mem, void *), void *user) {
    if (!cl_is(m, KIND_MEM)) return CL_INVALID_MEM_OBJECT;
    if (!call) return CL_INVALID_VALUE;
    cl_lock();
    callback *b = orr_calloc(1, sizeof *b);
    *b = (callback){(void(CL_CALLBACK *)(void *, void *))call, user, m->callbacks};
    m->callbacks = b;
    cl_unlock();
    return CL_SUCCESS;
}

cl_int cl_clGetMemObjectInfo(cl_mem m, cl_mem_info what, size_t room, void *value, size_t *size) {
    if (!cl_is(m, KIND_MEM)) return CL_INVALID_MEM_OBJECT;
    switch (what) {
    case CL_MEM_TYPE: ANSWER(cl_mem_object_type, m->type);
    case CL_MEM_FLAGS: ANSWER(cl_mem_flags, m->flags);
    case CL_MEM_SIZE: ANSWER(size_t, m->bytes);
    case CL_MEM_HOST_PTR: ANSWER(void *, m->host);
    case CL_MEM_MAP_COUNT: ANSWER(cl_uint, m->nmaps);
    case CL_MEM_REFERENCE_COUNT: ANSWER(cl_uint, m->head.refs);
    case CL_MEM_CONTEXT: ANSWER(cl_context, m->context);
    case CL_MEM_ASSOCIATED_MEMOBJECT: ANSWER(cl_mem, m->parent);
    case CL_MEM_OFFSET: ANSWER(size_t, m->offset);
    case CL_MEM_USES_SVM_POINTER: ANSWER(cl_bool, CL_FALSE);
    case CL_MEM_PROPERTIES: return cl_answer(m->list, m->nlist * sizeof *m->list, room, value, size);
    default: return CL_INVALID_VALUE;
    }
}
