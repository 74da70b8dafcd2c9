// Contexts, command queues and samplers: what programs make first.
#include "opencl/cl.h"
#include "opencl/functions.h"

#include <stdlib.h>
#include <string.h>

#define SET_ERROR(p, v)                                                                                      \
    do {                                                                                                     \
        if (p) *(p) = (v);                                                                                   \
    } while (0)

void cl_call_destroyed(callback *list, void *object) {
    while (list) {
        callback *next = list->next;
        list->destroyed(object, list->user);
        free(list);
        list = next;
    }
}

// ---- contexts ---------------------------------------------------------------------------------------
static cl_int check_properties(const cl_context_properties *p) {
    bool platform = false, sync = false;
    for (; p && p[0]; p += 2) {
        bool *seen = p[0] == CL_CONTEXT_PLATFORM ? &platform : &sync;
        if ((seen == &sync && p[0] != CL_CONTEXT_INTEROP_USER_SYNC) || *seen) return CL_INVALID_PROPERTY;
        *seen = true;
        if (seen == &platform && p[1] && (cl_platform_id)p[1] != &cl_platform) return CL_INVALID_PLATFORM;
        if (seen == &sync && p[1] != CL_TRUE && p[1] != CL_FALSE) return CL_INVALID_PROPERTY;
    }
    return CL_SUCCESS;
}

cl_context cl_clCreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
                              void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                              void *user, cl_int *error) {
    cl_int bad = check_properties(properties);
    if (!bad && (!n || !devices || (!notify && user))) bad = CL_INVALID_VALUE;
    if (!bad && !cl_same_device(n, devices)) bad = CL_INVALID_DEVICE;
    if (!bad) {
        if (!cl_lock()) bad = CL_DEVICE_NOT_AVAILABLE;
        cl_unlock();
    }
    SET_ERROR(error, bad);
    if (bad) return NULL;
    cl_context c = cl_new(sizeof *c, KIND_CONTEXT);
    c->nproperties = cl_zero_list((const uint64_t *)properties, (uint64_t **)&c->properties);
    c->notify = notify;
    c->user = user;
    return c;
}

cl_context cl_clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
                                      void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                      void *user, cl_int *error) {
    cl_device_id d;
    cl_int bad = cl_clGetDeviceIDs(&cl_platform, type, 1, &d, NULL);
    SET_ERROR(error, bad);
    return bad ? NULL : cl_clCreateContext(properties, 1, &d, notify, user, error);
}

cl_int cl_clRetainContext(cl_context c) {
    if (!cl_is(c, KIND_CONTEXT)) return CL_INVALID_CONTEXT;
    cl_lock();
    c->head.refs++;
    cl_unlock();
    return CL_SUCCESS;
}

void cl_drop_context(cl_context c) {
    if (--c->head.refs) return;
    cl_call_destroyed(c->callbacks, c);
    free(c->properties);
    c->head.kind = 0;
    free(c);
}

cl_int cl_clReleaseContext(cl_context c) {
    if (!cl_is(c, KIND_CONTEXT)) return CL_INVALID_CONTEXT;
    cl_lock();
    cl_drop_context(c);
    cl_unlock();
    return CL_SUCCESS;
}

cl_int cl_clGetContextInfo(cl_context c, cl_context_info what, size_t room, void *value, size_t *size) {
    if (!cl_is(c, KIND_CONTEXT)) return CL_INVALID_CONTEXT;
    switch (what) {
    case CL_CONTEXT_REFERENCE_COUNT: ANSWER(cl_uint, c->head.refs);
    case CL_CONTEXT_NUM_DEVICES: ANSWER(cl_uint, 1);
    case CL_CONTEXT_DEVICES: ANSWER(cl_device_id, &cl_device);
    case CL_CONTEXT_PROPERTIES:
        return cl_answer(c->properties, c->nproperties * sizeof *c->properties, room, value, size);
    default: return CL_INVALID_VALUE;
    }
}

cl_int cl_clSetContextDestructorCallback(cl_context c, void(CL_CALLBACK *call)(cl_context, void *),
                                         void *user) {
    if (!cl_is(c, KIND_CONTEXT)) return CL_INVALID_CONTEXT;
    if (!call) return CL_INVALID_VALUE;
    callback *b = orr_calloc(1, sizeof *b);
    *b = (callback){(void(CL_CALLBACK *)(void *, void *))call, user, c->callbacks};
    c->callbacks = b;
    return CL_SUCCESS;
}

// ---- queues -----------------------------------------------------------------------------------------
static cl_command_queue new_queue(cl_context c, cl_device_id d, cl_command_queue_properties p,
                                  cl_int *error) {
    cl_int bad = !cl_is(c, KIND_CONTEXT) ? CL_INVALID_CONTEXT
                 : d != &cl_device       ? CL_INVALID_DEVICE
                 : p & ~(cl_command_queue_properties)(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE |
                                                      CL_QUEUE_PROFILING_ENABLE)
                     ? (p & ~(cl_command_queue_properties)15 ? CL_INVALID_VALUE : CL_INVALID_QUEUE_PROPERTIES)
                     : CL_SUCCESS;
    SET_ERROR(error, bad);
    if (bad) return NULL;
    cl_lock();
    cl_command_queue q = cl_new(sizeof *q, KIND_QUEUE);
    q->context = c;
    q->properties = p;
    q->end = &q->first;
    c->head.refs++;
    q->stream =
        (app_stream){.id = the_app.streams.next_id++, .flags = 1, .end = 0, .next = the_app.streams.first};
    the_app.streams.first = &q->stream;
    cl_unlock();
    return q;
}

cl_command_queue cl_clCreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties p,
                                         cl_int *error) {
    return new_queue(c, d, p, error);
}

cl_command_queue cl_clCreateCommandQueueWithProperties(cl_context c, cl_device_id d,
                                                       const cl_queue_properties *list, cl_int *error) {
    cl_command_queue_properties p = 0;
    cl_int bad = CL_SUCCESS;
    for (const cl_queue_properties *l = list; l && l[0] && !bad; l += 2) {
        if (l[0] == CL_QUEUE_PROPERTIES)
            p = l[1];
        else
            bad = l[0] == CL_QUEUE_SIZE ? CL_INVALID_QUEUE_PROPERTIES : CL_INVALID_VALUE;
    }
    SET_ERROR(error, bad);
    cl_command_queue q = bad ? NULL : new_queue(c, d, p, error);
    if (q) q->nlist = cl_zero_list(list, &q->list);
    return q;
}

cl_int cl_clRetainCommandQueue(cl_command_queue q) {
    if (!cl_is(q, KIND_QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    cl_lock();
    q->head.refs++;
    cl_unlock();
    return CL_SUCCESS;
}

cl_int cl_clReleaseCommandQueue(cl_command_queue q) {
    if (!cl_is(q, KIND_QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    cl_lock();
    if (!--q->head.refs) { // commands that wait hold a reference: there is none left
        app_stream **s = &the_app.streams.first;
        while (*s && *s != &q->stream) s = &(*s)->next;
        if (*s) *s = q->stream.next;
        app_stream *legacy = &the_app.devices[0].legacy;
        if (q->stream.end > legacy->end) legacy->end = q->stream.end; // for the time of it all
        if (q->last) cl_event_drop(q->last);
        cl_drop_context(q->context);
        free(q->list);
        q->head.kind = 0;
        free(q);
    }
    cl_unlock();
    return CL_SUCCESS;
}

cl_int cl_clGetCommandQueueInfo(cl_command_queue q, cl_command_queue_info what, size_t room, void *value,
                                size_t *size) {
    if (!cl_is(q, KIND_QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    switch (what) {
    case CL_QUEUE_CONTEXT: ANSWER(cl_context, q->context);
    case CL_QUEUE_DEVICE: ANSWER(cl_device_id, &cl_device);
    case CL_QUEUE_REFERENCE_COUNT: ANSWER(cl_uint, q->head.refs);
    case CL_QUEUE_PROPERTIES: ANSWER(cl_command_queue_properties, q->properties);
    case CL_QUEUE_PROPERTIES_ARRAY: return cl_answer(q->list, q->nlist * sizeof *q->list, room, value, size);
    case CL_QUEUE_DEVICE_DEFAULT: ANSWER(cl_command_queue, NULL);
    case CL_QUEUE_SIZE: return CL_INVALID_COMMAND_QUEUE;
    default: return CL_INVALID_VALUE;
    }
}

cl_int cl_clSetCommandQueueProperty(cl_command_queue q, cl_command_queue_properties p, cl_bool on,
                                    cl_command_queue_properties *old) {
    if (!cl_is(q, KIND_QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    if (old) *old = q->properties;
    q->properties = on ? q->properties | p : q->properties & ~p;
    return CL_SUCCESS;
}

// ---- samplers ---------------------------------------------------------------------------------------
static cl_sampler new_sampler(cl_context c, cl_bool normalized, cl_addressing_mode a, cl_filter_mode f,
                              cl_int *error) {
    cl_int bad = !cl_is(c, KIND_CONTEXT) ? CL_INVALID_CONTEXT
                 : a < CL_ADDRESS_NONE || a > CL_ADDRESS_MIRRORED_REPEAT || f < CL_FILTER_NEAREST ||
                         f > CL_FILTER_LINEAR || normalized > 1
                     ? CL_INVALID_VALUE
                     : CL_SUCCESS;
    SET_ERROR(error, bad);
    if (bad) return NULL;
    cl_lock();
    cl_sampler s = cl_new(sizeof *s, KIND_SAMPLER);
    s->context = c;
    s->normalized = normalized;
    s->addressing = a;
    s->filter = f;
    c->head.refs++;
    cl_unlock();
    return s;
}

cl_sampler cl_clCreateSampler(cl_context c, cl_bool normalized, cl_addressing_mode a, cl_filter_mode f,
                              cl_int *error) {
    return new_sampler(c, normalized, a, f, error);
}

cl_sampler cl_clCreateSamplerWithProperties(cl_context c, const cl_sampler_properties *list, cl_int *error) {
    cl_bool normalized = CL_TRUE;
    cl_addressing_mode a = CL_ADDRESS_CLAMP;
    cl_filter_mode f = CL_FILTER_NEAREST;
    cl_int bad = CL_SUCCESS;
    for (const cl_sampler_properties *l = list; l && l[0] && !bad; l += 2) {
        switch (l[0]) {
        case CL_SAMPLER_NORMALIZED_COORDS: normalized = (cl_bool)l[1]; break;
        case CL_SAMPLER_ADDRESSING_MODE: a = (cl_addressing_mode)l[1]; break;
        case CL_SAMPLER_FILTER_MODE: f = (cl_filter_mode)l[1]; break;
        default: bad = CL_INVALID_VALUE; break;
        }
    }
    SET_ERROR(error, bad);
    cl_sampler s = bad ? NULL : new_sampler(c, normalized, a, f, error);
    if (s) s->nlist = cl_zero_list(list, &s->list);
    return s;
}

uint32_t cl_sampler_bits(const struct _cl_sampler *s) {
    static const uint32_t modes[] = {0, 2, 4, 6, 8}; // none, to edge, clamp, repeat, mirrored
    return (s->normalized ? 1u : 0u) | modes[s->addressing - CL_ADDRESS_NONE] |
           (s->filter == CL_FILTER_LINEAR ? 0x20u : 0x10u);
}

cl_int cl_clRetainSampler(cl_sampler s) {
    if (!cl_is(s, KIND_SAMPLER)) return CL_INVALID_SAMPLER;
    cl_lock();
    s->head.refs++;
    cl_unlock();
    return CL_SUCCESS;
}

void cl_drop_sampler(cl_sampler s) {
    if (--s->head.refs) return;
    cl_drop_context(s->context);
    free(s->list);
    s->head.kind = 0;
    free(s);
}

cl_int cl_clReleaseSampler(cl_sampler s) {
    if (!cl_is(s, KIND_SAMPLER)) return CL_INVALID_SAMPLER;
    cl_lock();
    cl_drop_sampler(s);
    cl_unlock();
    return CL_SUCCESS;
}

cl_int cl_clGetSamplerInfo(cl_sampler s, cl_sampler_info what, size_t room, void *value, size_t *size) {
    if (!cl_is(s, KIND_SAMPLER)) return CL_INVALID_SAMPLER;
    switch (what) {
    case CL_SAMPLER_REFERENCE_COUNT: ANSWER(cl_uint, s->head.refs);
    case CL_SAMPLER_CONTEXT: ANSWER(cl_context, s->context);
    case CL_SAMPLER_NORMALIZED_COORDS: ANSWER(cl_bool, s->normalized);
    case CL_SAMPLER_ADDRESSING_MODE: ANSWER(cl_addressing_mode, s->addressing);
    case CL_SAMPLER_FILTER_MODE: ANSWER(cl_filter_mode, s->filter);
    case CL_SAMPLER_PROPERTIES: return cl_answer(s->list, s->nlist * sizeof *s->list, room, value, size);
    default: return CL_INVALID_VALUE;
    }
}
