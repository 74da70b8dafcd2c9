// The layer: what the ICD loader puts between a program and its driver (OPENCL_LAYERS). Programs are built
// twice, as they are and with counters; of kernels that have a double, the double runs.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include "clc/clc.h"
#include "opencl/layer/layer.h"
#include "ptx/ptx.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const cl_icd_dispatch *below;
static cl_icd_dispatch table;
static noted_program *programs;
static noted_kernel *kernels;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool open_gpu(void) {
    static bool first = true;
    if (first) {
        app_enter();
        app_leave(E_OK);
        if (!the_app.failed && strcmp(the_app.model->name, "analytic") != 0) {
            app_say("--annotate predicts with --model analytic, not %s", the_app.model->name);
            the_app.failed = E_NO_DEVICE;
        }
    }
    first = false;
    return !the_app.failed;
}

static noted_kernel *kernel_of(cl_kernel k) {
    for (noted_kernel *x = kernels; x; x = x->next)
        if (x->kernel == k) return x;
    return NULL;
}

// ---- where they count -------------------------------------------------------------------------------
// One buffer for all kernels of a context: each launch is waited for before the next. Touching memory for the
// first time costs as much as counting, so where the device is a CPU it has large pages.
static struct {
    cl_context context;
    cl_mem mem; // NULL: there is none
    void *host; // its memory, ours; NULL: the device's
    uint64_t bytes;
} counts;

static void drop_counts(void) {
    if (counts.mem) below->clReleaseMemObject(counts.mem);
    free(counts.host);
    memset(&counts, 0, sizeof counts);
}

static bool make_room(cl_command_queue q, uint64_t bytes) {
    enum { PAGE = 2 << 20 };
    cl_context c;
    cl_device_id d;
    cl_device_type type = 0;
    cl_int error;
    if (bytes > (uint64_t)2 << 30) return false;
    if (below->clGetCommandQueueInfo(q, CL_QUEUE_CONTEXT, sizeof c, &c, NULL)) return false;
    if (counts.context == c && counts.bytes >= bytes) return true;
    drop_counts();
    if (!below->clGetCommandQueueInfo(q, CL_QUEUE_DEVICE, sizeof d, &d, NULL))
        below->clGetDeviceInfo(d, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (type & CL_DEVICE_TYPE_CPU && bytes >= PAGE) {
        bytes = (bytes + PAGE - 1) / PAGE * PAGE;
        counts.host = aligned_alloc(PAGE, bytes);
        if (counts.host) madvise(counts.host, bytes, MADV_HUGEPAGE);
    }
    counts.mem = below->clCreateBuffer(c, CL_MEM_READ_WRITE | (counts.host ? CL_MEM_USE_HOST_PTR : 0), bytes,
                                       counts.host, &error);
    counts.context = c;
    counts.bytes = bytes;
    if (error) drop_counts();
    return !error;
}

// ---- programs ---------------------------------------------------------------------------------------
static char *source_of(cl_program p, size_t *n) {
    if (below->clGetProgramInfo(p, CL_PROGRAM_SOURCE, 0, NULL, n) || *n < 2) return NULL;
    char *text = orr_calloc(1, *n + 1);
    if (below->clGetProgramInfo(p, CL_PROGRAM_SOURCE, *n, text, NULL)) *n = 0;
    *n = strlen(text);
    return text;
}

static cl_program build_twin(cl_program p, const orr_annotated *a, const char *options) {
    cl_context c;
    cl_int error;
    if (below->clGetProgramInfo(p, CL_PROGRAM_CONTEXT, sizeof c, &c, NULL)) return NULL;
    const char *text = a->text;
    cl_program twin = below->clCreateProgramWithSource(c, 1, &text, &a->n, &error);
    if (!error && below->clBuildProgram(twin, 0, NULL, options, NULL, NULL) == CL_SUCCESS) return twin;
    if (twin) {
        char log[2000] = "";
        cl_device_id d;
        below->clGetProgramInfo(p, CL_PROGRAM_DEVICES, sizeof d, &d, NULL);
        below->clGetProgramBuildInfo(twin, d, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        app_say("the annotated program does not build on this device: %.300s", log);
        below->clReleaseProgram(twin);
    }
    return NULL;
}

static orr_module *code_of(const orr_annotated *a, const char *text, size_t n, const char *options,
                           orr_clc_object *o, orr_err *e) {
    unsigned sm = (unsigned)(the_app.gpu->cc_major * 10 + the_app.gpu->cc_minor);
    orr_clc_source s = {.text = text, .n = n, .options = options, .sm = sm};
    size_t bytes;
    char *ptx = NULL;
    if (orr_clc_compile(&s, o, e)) ptx = orr_clc_link(&(orr_clc_bitcode){o->bitcode, o->n}, 1, sm, &bytes, e);
    if (!ptx) return NULL;
    orr_place_lines(a, &ptx, &bytes);
    orr_module *m = orr_ptx_parse("program", ptx, bytes, e);
    if (m) orr_ptx_long_ways(m);
    if (m) orr_clc_keep_text(m, text, n);
    free(ptx);
    return m;
}

static void annotate(cl_program p, const char *options) {
    size_t n;
    char *text = source_of(p, &n);
    if (!text) return;
    orr_err e = {0};
    noted_program *x = orr_calloc(1, sizeof *x);
    x->program = p;
    const orr_clc_source source = {.text = text, .n = n, .options = options};
    if (orr_clc_annotate(&source, &x->source, &e) &&
        (x->code = code_of(&x->source, text, n, options, &x->object, &e)))
        x->twin = build_twin(p, &x->source, options);
    if (e.status) app_say("%s: this program runs as it is, and is not predicted", e.text);
    free(text);
    if (x->twin) {
        x->next = programs;
        programs = x;
    } else {
        orr_annotated_free(&x->source);
        orr_clc_object_free(&x->object);
        free(x);
    }
}

static cl_int layer_clBuildProgram(cl_program p, cl_uint n, const cl_device_id *devices, const char *options,
                                   void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    cl_int error = below->clBuildProgram(p, n, devices, options, NULL, NULL);
    pthread_mutex_lock(&lock);
    if (!error && open_gpu()) annotate(p, options);
    pthread_mutex_unlock(&lock);
    if (notify) notify(p, user);
    return error;
}

// ---- kernels ----------------------------------------------------------------------------------------
static void note_kernel(cl_program p, cl_kernel k, const char *name) {
    for (noted_program *x = programs; x; x = x->next) {
        if (x->program != p) continue;
        cl_int error;
        orr_err e = {0};
        noted_kernel *n = orr_calloc(1, sizeof *n);
        n->kernel = k;
        n->of = x;
        n->twin = below->clCreateKernel(x->twin, name, &error);
        cl_uint args = 0;
        below->clGetKernelInfo(k, CL_KERNEL_NUM_ARGS, sizeof args, &args, NULL);
        n->nargs = args;
        if (!error && args < 64 && predict_prepare(n, name, &e)) {
            n->next = kernels;
            kernels = n;
        } else {
            app_say("kernel '%s' runs as it is, and is not predicted: %s", name,
                    e.status ? e.text : "it has no double");
            if (n->twin) below->clReleaseKernel(n->twin);
            free(n);
        }
        return;
    }
}

static cl_kernel layer_clCreateKernel(cl_program p, const char *name, cl_int *error) {
    cl_int own;
    cl_kernel k = below->clCreateKernel(p, name, &own);
    if (error) *error = own;
    pthread_mutex_lock(&lock);
    if (k) note_kernel(p, k, name);
    pthread_mutex_unlock(&lock);
    return k;
}

static cl_int layer_clCreateKernelsInProgram(cl_program p, cl_uint room, cl_kernel *out, cl_uint *n) {
    cl_uint got = 0;
    cl_int error = below->clCreateKernelsInProgram(p, room, out, &got);
    if (n) *n = got;
    pthread_mutex_lock(&lock);
    for (cl_uint i = 0; !error && out && i < got; i++) {
        char name[1000];
        if (!below->clGetKernelInfo(out[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL))
            note_kernel(p, out[i], name);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

static cl_int layer_clSetKernelArg(cl_kernel k, cl_uint i, size_t n, const void *value) {
    cl_int error = below->clSetKernelArg(k, i, n, value);
    pthread_mutex_lock(&lock);
    noted_kernel *x = kernel_of(k);
    if (!error && x) {
        below->clSetKernelArg(x->twin, i, n, value);
        if (i < 64) {
            x->args[i].local = value ? 0 : n;
            x->args[i].bytes = n;
            if (value && n <= sizeof x->args[i].value) memcpy(x->args[i].value, value, n);
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

static cl_int layer_clReleaseKernel(cl_kernel k) {
    cl_uint refs = 0;
    pthread_mutex_lock(&lock);
    below->clGetKernelInfo(k, CL_KERNEL_REFERENCE_COUNT, sizeof refs, &refs, NULL);
    for (noted_kernel **x = &kernels; *x && refs == 1; x = &(*x)->next)
        if ((*x)->kernel == k) {
            below->clReleaseKernel((*x)->twin);
            *x = (*x)->next; // what the result names stays
            break;
        }
    if (!kernels) drop_counts();
    pthread_mutex_unlock(&lock);
    return below->clReleaseKernel(k);
}

// ---- launches ---------------------------------------------------------------------------------------
// The size of a group when the program leaves it to the device: at most 256, a divisor in each dimension.
static void choose(cl_uint dims, const size_t *global, size_t local[3]) {
    size_t left = 256;
    for (cl_uint i = 0; i < dims; i++) {
        size_t n = left < global[i] ? left : global[i];
        while (n > 1 && global[i] % n) n--;
        local[i] = n ? n : 1;
        left /= local[i];
    }
}

// The contents of a kernel's buffers before it runs, copied to where our own executor sees them.
static bool copy_buffers(noted_kernel *k, cl_command_queue q) {
    enum { MOST = 512 << 20 };
    for (uint32_t i = 0; k->info && i < k->info->nargs && i < 64; i++) {
        const orr_clc_arg *g = &k->info->args[i];
        noted_arg *a = &k->args[i];
        if (g->image || g->sampler) return false;
        if (g->space != ORR_CLC_GLOBAL && g->space != ORR_CLC_CONSTANT) continue;
        cl_mem m;
        size_t bytes = 0;
        memcpy(&m, a->value, sizeof m);
        if (!m) continue;
        orr_err e = {0};
        if (below->clGetMemObjectInfo(m, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) || bytes > MOST)
            return false;
        if (a->room != bytes) {
            if (a->copy) orr_mem_free(the_app.mem, a->copy);
            a->copy = orr_mem_alloc(the_app.mem, bytes, "copy", &e);
            a->room = a->copy ? bytes : 0;
        }
        void *to = a->copy ? orr_mem_host(the_app.mem, a->copy, bytes) : NULL;
        if (!to || below->clEnqueueReadBuffer(q, m, CL_TRUE, 0, bytes, to, 0, NULL, NULL)) return false;
    }
    return k->info != NULL;
}

// The grid, and the size of its groups in `own`. False: it cannot be counted.
static bool shape(cl_uint dims, const size_t *global, const size_t *local, size_t own[3], noted_launch *l) {
    *l = (noted_launch){.grid = {1, 1, 1}, .block = {1, 1, 1}, .items = 1};
    if (local)
        memcpy(own, local, dims * sizeof *local);
    else
        choose(dims, global, own);
    for (cl_uint i = 0; i < dims; i++) {
        if (!own[i] || global[i] % own[i]) return false;
        l->grid[i] = (uint32_t)(global[i] / own[i]);
        l->block[i] = (uint32_t)own[i];
        l->items *= global[i];
    }
    return l->items != 0;
}

static cl_int predict(noted_kernel *k, cl_command_queue q, noted_launch *l, uint64_t bytes) {
    cl_int error = CL_SUCCESS;
    orr_err e = {0};
    void *mapped =
        below->clEnqueueMapBuffer(q, counts.mem, CL_TRUE, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &error);
    if (error) return error;
    l->counts = mapped;
    if (!predict_launch(k, l, &e)) app_say("%s", e.text);
    error = below->clEnqueueUnmapMemObject(q, counts.mem, mapped, 0, NULL, NULL);
    if (!error) error = below->clFinish(q);
    return error;
}

// What a program asks of a launch.
typedef struct asked {
    cl_uint dims;
    const size_t *offset, *global, *local;
    cl_uint nwaits;
    const cl_event *waits;
    cl_event *event;
} asked;
enum { NOT_COUNTED = 1 }; // no error has this number

static cl_int launch_twin(noted_kernel *k, cl_command_queue q, const asked *a) {
    size_t own[3] = {1, 1, 1};
    noted_launch l;
    if (!shape(a->dims, a->global, a->local, own, &l)) return NOT_COUNTED;
    uint64_t counters = k->function->ncounters, bytes = (counters ? counters : 1) * l.items * 4;
    if (!make_room(q, bytes)) return NOT_COUNTED;
    cl_mem m = counts.mem;
    cl_event done;
    below->clSetKernelArg(k->twin, k->nargs, sizeof m, &m);
    below->clFinish(q); // so that what is timed is the kernel
    k->launches++;      // the first, the second, the fourth, ...: the model remembers between
    l.sample = (k->launches & (k->launches - 1)) == 0 && copy_buffers(k, q);
    double start = orr_seconds();
    cl_int error = below->clEnqueueNDRangeKernel(q, k->twin, a->dims, a->offset, a->global, own, a->nwaits,
                                                 a->waits, &done);
    if (!error) error = below->clWaitForEvents(1, &done);
    l.native = orr_seconds() - start;
    if (!error) error = predict(k, q, &l, bytes);
    if (!error && a->event)
        *a->event = done;
    else if (!error)
        below->clReleaseEvent(done);
    return error;
}

// ---- user events ------------------------------------------------------------------------------------
// What waits for the program to set one cannot be waited for here: as long as there is one that is not set,
// kernels run as they are.
static int unset_events;

static cl_event layer_clCreateUserEvent(cl_context c, cl_int *error) {
    cl_event e = below->clCreateUserEvent(c, error);
    pthread_mutex_lock(&lock);
    unset_events += e != NULL;
    pthread_mutex_unlock(&lock);
    return e;
}

static cl_int layer_clSetUserEventStatus(cl_event e, cl_int status) {
    cl_int error = below->clSetUserEventStatus(e, status);
    pthread_mutex_lock(&lock);
    unset_events -= error == CL_SUCCESS;
    pthread_mutex_unlock(&lock);
    return error;
}

static bool may_wait(void) {
    static bool told;
    if (!unset_events) return true;
    if (!told)
        app_say("a kernel is put into a queue while a user event is not set: it runs as it is, and is not "
                "predicted");
    told = true;
    return false;
}

static cl_int layer_clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims,
                                           const size_t *offset, const size_t *global, const size_t *local,
                                           cl_uint n, const cl_event *waits, cl_event *event) {
    cl_int error = NOT_COUNTED;
    const asked a = {dims, offset, global, local, n, waits, event};
    pthread_mutex_lock(&lock);
    noted_kernel *x = kernel_of(k);
    if (x && dims >= 1 && dims <= 3 && global && may_wait()) error = launch_twin(x, q, &a);
    pthread_mutex_unlock(&lock);
    return error == NOT_COUNTED
               ? below->clEnqueueNDRangeKernel(q, k, dims, offset, global, local, n, waits, event)
               : error;
}

// ---- what the loader calls --------------------------------------------------------------------------
#define EXPORT __attribute__((visibility("default")))

EXPORT cl_int clGetLayerInfo(cl_layer_info what, size_t room, void *value, size_t *size) {
    static const char name[] = "Orrery, source-level simulation";
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *v = what == CL_LAYER_API_VERSION ? (const void *)&version
                    : what == CL_LAYER_NAME      ? name
                                                 : NULL;
    size_t n = what == CL_LAYER_API_VERSION ? sizeof version : sizeof name;
    if (!v || (value && room < n)) return CL_INVALID_VALUE;
    if (value) memcpy(value, v, n);
    if (size) *size = n;
    return CL_SUCCESS;
}

EXPORT cl_int clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *own,
                          const cl_icd_dispatch **layer) {
    if (!target || !own || !layer || n < sizeof table / sizeof(void *)) return CL_INVALID_VALUE;
    below = target;
    table = *target;
    table.clBuildProgram = layer_clBuildProgram;
    table.clCreateKernel = layer_clCreateKernel;
    table.clCreateKernelsInProgram = layer_clCreateKernelsInProgram;
    table.clSetKernelArg = layer_clSetKernelArg;
    table.clReleaseKernel = layer_clReleaseKernel;
    table.clEnqueueNDRangeKernel = layer_clEnqueueNDRangeKernel;
    table.clCreateUserEvent = layer_clCreateUserEvent;
    table.clSetUserEventStatus = layer_clSetUserEventStatus;
    *own = sizeof table / sizeof(void *);
    *layer = &table;
    return CL_SUCCESS;
}
