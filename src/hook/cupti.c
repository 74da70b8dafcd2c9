// Listening to the driver through CUPTI's callbacks (docs.nvidia.com/cupti, "CUPTI Callback API"). Types and
// numbers are those of its public headers; no header is needed to build.
#include "hook/hook.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DOMAIN_DRIVER = 1, DOMAIN_RESOURCE = 3, RESOURCE_MODULE_LOADED = 6, SITE_ENTER = 0, SITE_EXIT = 1 };

typedef struct { // CUpti_CallbackData
    int site;
    const char *function;
    const void *params;
    const int *result;
    const char *symbol;
} api_call;
typedef struct { // CUpti_ResourceData
    void *context, *stream;
    const void *what;
} resource;
typedef struct { // CUpti_ModuleResourceData
    uint32_t id;
    size_t n;
    const char *code;
} loaded_module;

hook the_hook;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool inside; // what the driver does for us is of no interest
static _Thread_local bool capturing;

void hook_say(const char *fmt, ...) {
    char text[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "orrery: %s\n", text);
}

// ---- launches -----------------------------------------------------------------------------------
typedef struct { // cuLaunchKernel_params; that of cuLaunchCooperativeKernel has no `extra`
    void *function;
    uint32_t grid[3], block[3], shared;
    void *stream, **params, **extra;
} launch_params;
typedef struct { // CUlaunchAttribute
    int id;
    char pad[4];
    union {
        uint32_t three[3];
        int value;
        char room[64];
    } u;
} launch_attribute;
typedef struct { // CUlaunchConfig
    uint32_t grid[3], block[3], shared;
    void *stream;
    const launch_attribute *attributes;
    uint32_t nattributes;
} launch_config;
typedef struct { // cuLaunchKernelEx_params
    const launch_config *config;
    void *function, **params, **extra;
} launch_ex_params;
enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };

static hook_launch plain_launch(const api_call *c, bool cooperative) {
    const launch_params *p = c->params;
    hook_launch l = {.function = p->function, .stream = p->stream, .shared = p->shared, .params = p->params};
    memcpy(l.grid, p->grid, sizeof l.grid);
    memcpy(l.block, p->block, sizeof l.block);
    l.extra = cooperative ? NULL : p->extra;
    l.cooperative = cooperative;
    l.kernel = c->symbol;
    return l;
}

static hook_launch ex_launch(const api_call *c) {
    const launch_ex_params *p = c->params;
    const launch_config *g = p->config;
    hook_launch l = {.function = p->function, .params = p->params, .extra = p->extra, .kernel = c->symbol};
    if (!g) return (hook_launch){0};
    l.stream = g->stream;
    l.shared = g->shared;
    memcpy(l.grid, g->grid, sizeof l.grid);
    memcpy(l.block, g->block, sizeof l.block);
    for (uint32_t i = 0; i < g->nattributes && g->attributes; i++) {
        if (g->attributes[i].id == ATTRIBUTE_COOPERATIVE) l.cooperative = g->attributes[i].u.value != 0;
        if (g->attributes[i].id == ATTRIBUTE_CLUSTER)
            memcpy(l.cluster, g->attributes[i].u.three, sizeof l.cluster);
    }
    return l;
}

static void on_launch(const api_call *c, hook_launch l) {
    inside = true;
    if (c->site == SITE_ENTER && hook_on_this_gpu(l.kernel)) {
        pthread_mutex_lock(&lock); // until the launch is done: nobody else's comes between
        capturing = hook_before(&l);
        if (!capturing) pthread_mutex_unlock(&lock);
    } else if (c->site == SITE_EXIT && capturing) {
        hook_after(&l);
        capturing = false;
        pthread_mutex_unlock(&lock);
    }
    inside = false;
}

// ---- allocations --------------------------------------------------------------------------------
// Parameters of the driver's functions: pointer to the address, and bytes; or the address alone.
typedef struct {
    uint64_t *addr;
    size_t bytes;
} alloc_params;
typedef struct {
    uint64_t *addr;
    size_t *pitch, width, height;
} pitch_params;
typedef struct {
    uint64_t addr;
    size_t bytes;
} place_params;

typedef struct {
    uint64_t *handle;
    const void *resource, *how, *view;
} texture_params;
typedef struct {
    uint64_t *handle;
    const void *resource;
} surface_params;

typedef enum action {
    PASS,
    ALLOC,
    ALLOC_HOST,
    ALLOC_PITCH,
    PLACE,
    PLACE_HOST,
    FREE,
    TEXTURE,
    SURFACE,
    GONE
} action;

static void on_memory(const api_call *c, action what) {
    const alloc_params *a = c->params;
    const pitch_params *p = c->params;
    const place_params *at = c->params;
    const texture_params *t = c->params;
    const surface_params *s = c->params;
    bool frees = what == FREE || what == GONE;
    if (c->site != (frees ? SITE_ENTER : SITE_EXIT) || (!frees && c->result && *c->result != 0)) return;
    pthread_mutex_lock(&lock);
    if (what == ALLOC || what == ALLOC_HOST) hook_add(*a->addr, a->bytes, what == ALLOC_HOST);
    if (what == ALLOC_PITCH) hook_add(*p->addr, *p->pitch * p->height, false);
    if (what == PLACE || what == PLACE_HOST) hook_add(at->addr, at->bytes, what == PLACE_HOST);
    if (what == FREE) hook_remove(at->addr);
    inside = true; // the driver is asked about arrays
    if (what == TEXTURE) hook_texture_made(*t->handle, t->resource, t->how, t->view);
    if (what == SURFACE) hook_texture_made(*s->handle, s->resource, NULL, NULL);
    if (what == GONE) hook_texture_gone(at->addr);
    inside = false;
    pthread_mutex_unlock(&lock);
}

// ---- graphs -------------------------------------------------------------------------------------
typedef struct { // of cuGraphInstantiate and its other forms
    void **exec, *graph;
} made_params;
typedef struct { // of what changes an executable graph
    void *exec, *graph_or_node;
    const void *params;
} changed_params;

typedef struct { // of cuGraphAddNode_v2; the older one has no edges
    void **node, *graph;
    const void *after, *edges;
    size_t n;
    const void *params;
} node_made_params;
typedef struct { // of cuGraphAddNode
    void **node, *graph;
    const void *after;
    size_t n;
    const void *params;
} node_made_before_params;
typedef struct { // of cuGraphConditionalHandleCreate
    uint64_t *handle;
    void *graph, *context;
    unsigned first, flags;
} condition_params;

typedef enum graph_action {
    GRAPH_MADE,
    GRAPH_UPDATED,
    GRAPH_KERNEL,
    GRAPH_MEMCPY,
    GRAPH_MEMSET,
    GRAPH_OTHER,
    GRAPH_GONE,
    GRAPH_LAUNCHED,
    GRAPH_CONDITION,
    GRAPH_NODE,
    GRAPH_NODE_BEFORE
} graph_action;

static void on_graph(const api_call *c, graph_action what) {
    const made_params *m = c->params;
    const changed_params *x = c->params;
    const condition_params *v = c->params;
    const node_made_params *made = c->params;
    const node_made_before_params *was = c->params;
    static const enum hook_node kinds[] = {[GRAPH_KERNEL] = NODE_KERNEL,
                                           [GRAPH_MEMCPY] = NODE_MEMCPY,
                                           [GRAPH_MEMSET] = NODE_MEMSET,
                                           [GRAPH_OTHER] = NODE_OTHER};
    bool before = what == GRAPH_GONE || what == GRAPH_LAUNCHED;
    if (c->site != (before ? SITE_ENTER : SITE_EXIT) || (!before && c->result && *c->result != 0)) return;
    inside = true;
    if (what == GRAPH_LAUNCHED && !hook_on_this_gpu(NULL)) {
        inside = false;
        return;
    }
    pthread_mutex_lock(&lock);
    switch (what) {
    case GRAPH_MADE: hook_graph_made(*m->exec, m->graph); break;
    case GRAPH_UPDATED: hook_graph_made(x->exec, x->graph_or_node); break;
    case GRAPH_GONE: hook_graph_gone(x->exec); break;
    case GRAPH_LAUNCHED: hook_graph(x->exec, x->graph_or_node); break; // the second is its stream
    case GRAPH_CONDITION: hook_condition_new(*v->handle, v->first, v->flags); break;
    case GRAPH_NODE: hook_condition_node(*made->node, made->params); break;
    case GRAPH_NODE_BEFORE: hook_condition_node(*was->node, was->params); break;
    default: hook_graph_node(x->exec, x->graph_or_node, kinds[what], x->params);
    }
    pthread_mutex_unlock(&lock);
    inside = false;
}

// ---- CUPTI --------------------------------------------------------------------------------------
enum launch_kind { NO_LAUNCH, LAUNCH, LAUNCH_EX, LAUNCH_COOPERATIVE };
static const struct {
    uint32_t id; // CUPTI_DRIVER_TRACE_CBID_*
    enum launch_kind launch;
    action memory;
} calls[] = {
    {307, LAUNCH, PASS},             // cuLaunchKernel
    {442, LAUNCH, PASS},             // cuLaunchKernel_ptsz
    {652, LAUNCH_EX, PASS},          // cuLaunchKernelEx
    {653, LAUNCH_EX, PASS},          // cuLaunchKernelEx_ptsz
    {477, LAUNCH_COOPERATIVE, PASS}, // cuLaunchCooperativeKernel
    {478, LAUNCH_COOPERATIVE, PASS}, // cuLaunchCooperativeKernel_ptsz
    {243, NO_LAUNCH, ALLOC},         // cuMemAlloc_v2
    {371, NO_LAUNCH, ALLOC},         // cuMemAllocManaged
    {598, NO_LAUNCH, ALLOC},         // cuMemAllocAsync
    {599, NO_LAUNCH, ALLOC},         // cuMemAllocAsync_ptsz
    {611, NO_LAUNCH, ALLOC},         // cuMemAllocFromPoolAsync
    {612, NO_LAUNCH, ALLOC},         // cuMemAllocFromPoolAsync_ptsz
    {244, NO_LAUNCH, ALLOC_PITCH},   // cuMemAllocPitch_v2
    {294, NO_LAUNCH, ALLOC_HOST},    // cuMemAllocHost_v2
    {39, NO_LAUNCH, ALLOC_HOST},     // cuMemHostAlloc
    {271, NO_LAUNCH, ALLOC_HOST},    // cuMemHostAlloc_v2
    {379, NO_LAUNCH, PLACE_HOST},    // cuMemHostRegister_v2
    {553, NO_LAUNCH, PLACE},         // cuMemSetAccess: of what cuMemMap has mapped, from now on readable
    {245, NO_LAUNCH, FREE},          // cuMemFree_v2
    {600, NO_LAUNCH, FREE},          // cuMemFreeAsync
    {601, NO_LAUNCH, FREE},          // cuMemFreeAsync_ptsz
    {38, NO_LAUNCH, FREE},           // cuMemFreeHost
    {302, NO_LAUNCH, FREE},          // cuMemHostUnregister
    {552, NO_LAUNCH, FREE},          // cuMemUnmap
    {339, NO_LAUNCH, TEXTURE},       // cuTexObjectCreate
    {340, NO_LAUNCH, GONE},          // cuTexObjectDestroy
    {343, NO_LAUNCH, SURFACE},       // cuSurfObjectCreate
    {344, NO_LAUNCH, GONE},          // cuSurfObjectDestroy
};

static const struct {
    uint32_t id;
    graph_action what;
} graph_calls[] = {
    {513, GRAPH_MADE},      {578, GRAPH_MADE},       // cuGraphInstantiate, _v2
    {643, GRAPH_MADE},                               // cuGraphInstantiateWithFlags
    {656, GRAPH_MADE},      {657, GRAPH_MADE},       // cuGraphInstantiateWithParams, _ptsz
    {561, GRAPH_UPDATED},   {696, GRAPH_UPDATED},    // cuGraphExecUpdate, _v2
    {692, GRAPH_KERNEL},                             // cuGraphExecKernelNodeSetParams_v2
    {538, GRAPH_OTHER},                              // cuGraphExecKernelNodeSetParams, of CUDA 11
    {562, GRAPH_MEMCPY},    {563, GRAPH_MEMSET},     // cuGraphExecMemcpyNodeSetParams, Memset
    {564, GRAPH_OTHER},     {586, GRAPH_OTHER},      // cuGraphExecHostNodeSetParams, ChildGraph
    {714, GRAPH_OTHER},     {650, GRAPH_OTHER},      // cuGraphExecNodeSetParams, cuGraphNodeSetEnabled
    {516, GRAPH_GONE},                               // cuGraphExecDestroy
    {514, GRAPH_LAUNCHED},  {515, GRAPH_LAUNCHED},   // cuGraphLaunch, _ptsz
    {722, GRAPH_CONDITION},                          // cuGraphConditionalHandleCreate
    {723, GRAPH_NODE},      {712, GRAPH_NODE_BEFORE} // cuGraphAddNode_v2, cuGraphAddNode
};

static void on_api(uint32_t id, const api_call *c) {
    for (size_t i = 0; i < sizeof graph_calls / sizeof *graph_calls; i++)
        if (graph_calls[i].id == id) on_graph(c, graph_calls[i].what);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].id != id) continue;
        if (calls[i].launch == LAUNCH) on_launch(c, plain_launch(c, false));
        if (calls[i].launch == LAUNCH_COOPERATIVE) on_launch(c, plain_launch(c, true));
        if (calls[i].launch == LAUNCH_EX) on_launch(c, ex_launch(c));
        if (calls[i].memory != PASS) on_memory(c, calls[i].memory);
        return;
    }
}

// A module may be loaded by what we ask of the driver ourselves, or by the launch that is being captured:
// then the lock is ours already.
static void on_event(void *user, int domain, uint32_t id, const void *data) {
    (void)user;
    if (domain == DOMAIN_DRIVER && !inside) on_api(id, data);
    if (domain != DOMAIN_RESOURCE || id != RESOURCE_MODULE_LOADED) return;
    const resource *r = data;
    const loaded_module *m = r->what;
    bool ours = inside || capturing;
    if (!ours) pthread_mutex_lock(&lock);
    if (m) hook_add_module(m->code, m->n);
    if (!ours) pthread_mutex_unlock(&lock);
}

// ---- the beginning and the end ------------------------------------------------------------------
static const char *option(const char *name) {
    char key[64];
    snprintf(key, sizeof key, "ORRERY_CAPTURE_%s", name);
    const char *v = getenv(key);
    return v && *v ? v : NULL;
}

static void *open_cupti(void) {
    static const char *const names[] = {"libcupti.so.13",
                                        "libcupti.so.12",
                                        "libcupti.so.11.8",
                                        "libcupti.so",
                                        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                        "/usr/local/cuda/lib64/libcupti.so"};
    const char *own = getenv("ORRERY_CUPTI");
    void *p = own && *own ? dlopen(own, RTLD_NOW) : NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !p; i++) p = dlopen(names[i], RTLD_NOW);
    return p;
}

static bool find_driver(hook_driver *d) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!cuda) cuda = RTLD_DEFAULT;
    void *at; // a pointer to data and one to a function are alike where there is dlsym
#define F(name, args)                                                                                        \
    at = dlsym(cuda, #name);                                                                                 \
    memcpy(&d->name, &at, sizeof at);
    DRIVER(F)
#undef F
    return d->cuCtxSynchronize && d->cuMemcpyDtoH_v2 && d->cuMemAllocHost_v2 && d->cuFuncGetParamInfo;
}

static bool subscribe(void *cupti) {
    union {
        void *p;
        int (*sub)(void **, void (*)(void *, int, uint32_t, const void *), void *);
        int (*domain)(uint32_t, void *, int);
        int (*callback)(uint32_t, void *, int, uint32_t);
    } s = {dlsym(cupti, "cuptiSubscribe")}, d = {dlsym(cupti, "cuptiEnableDomain")},
      c = {dlsym(cupti, "cuptiEnableCallback")};
    void *who = NULL;
    bool ok = s.p && d.p && c.p && s.sub(&who, on_event, NULL) == 0 && d.domain(1, who, DOMAIN_RESOURCE) == 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls && ok; i++)
        c.callback(1, who, DOMAIN_DRIVER, calls[i].id);
    for (size_t i = 0; i < sizeof graph_calls / sizeof *graph_calls && ok; i++)
        c.callback(1, who, DOMAIN_DRIVER, graph_calls[i].id);
    return ok;
}

// The first process has the folder; others, children of it, have one of their own in it.
static bool open_folder(hook *h, orr_err *e) {
    char about[400], own[4200];
    h->program = option("PROGRAM");
    snprintf(about, sizeof about, "program %.200s\n", h->program ? h->program : "unknown");
    h->writer = orr_capture_create(h->folder, about, e);
    if (h->writer || !orr_capture_probe(h->folder)) return h->writer != NULL;
    *e = (orr_err){0};
    snprintf(own, sizeof own, "%s/process-%d", h->folder, (int)getpid());
    h->writer = orr_capture_create(own, about, e);
    return h->writer != NULL;
}

__attribute__((visibility("default"))) int InitializeInjection(void) {
    hook *h = &the_hook;
    orr_err e = {0};
    h->folder = option("FOLDER");
    if (!h->folder || h->writer) return 1;
    h->kernels = option("KERNELS");
    h->launches = option("LAUNCHES");
    h->range = option("RANGE");
    h->measure = option("MEASURE") != NULL;
    h->everything = option("ALL_MEMORY") != NULL;
    h->inputs_only = option("INPUTS_ONLY") != NULL;
    h->sample = option("SAMPLE") != NULL;
    h->limit = option("MEMORY") ? strtoull(option("MEMORY"), NULL, 10) : (uint64_t)4 << 30;
    inside = true;
    void *cupti = open_cupti();
    if (!cupti)
        hook_say("CUPTI is not there (libcupti.so); nothing is captured. ORRERY_CUPTI can name the file");
    else if (!find_driver(&h->cu))
        hook_say("this CUDA driver is older than 12.4 and does not tell of parameters; nothing is captured");
    else if (!open_folder(h, &e))
        hook_say("%s; nothing is captured", e.text);
    else if (!subscribe(cupti))
        hook_say("CUPTI refuses to be listened to (another profiler?); nothing is captured");
    inside = false;
    return 1;
}

__attribute__((destructor)) static void end(void) {
    hook *h = &the_hook;
    char bytes[32];
    if (!h->writer) return;
    orr_out_abort_all();
    hook_say("%u of %u launches were captured, %sB in %s", h->captured, h->seen,
             orr_si(bytes, (double)orr_capture_bytes(h->writer)), h->folder);
    if (h->alike) hook_say("%u of them without memory, because they are like others (--sample)", h->alike);
    if (h->incomplete) hook_say("%u of them without memory, so that they cannot be replayed", h->incomplete);
    if (h->in_graphs) hook_say("launches of graphs whose kernels are not captured: %u", h->in_graphs);
}
