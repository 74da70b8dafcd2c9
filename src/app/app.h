// A CUDA program on a simulated GPU: the library that takes the place of NVIDIA's under an unmodified
// program.
//
//   rt_*.c            the functions that programs call (cudaMalloc), with the versions of libcudart that know
//                     them: they check their arguments and turn them into the few operations below
//   driver.c, dr_*.c  the driver's (cuMemAlloc), most of them the runtime's under other names
//   library.c         code that programs load themselves, for both; link.c: the driver's linker
//   missing*.def      those that are not here: each says so by its name
//   open.c            bytes that are code, to a module
//   module.c          fat binaries to modules; kernels by the address of their host stub, variables likewise;
//                     rt_register.c has what nvcc's code calls to name them
//   run.c             what is put into a stream: kernels, copies, fills, host functions; done at once, in the
//                     order the program asks, and timed (or kept for later when the stream is being captured)
//   children.c        what kernels launch
//   pending.c         streams that wait for what is asked for later: kernels that poll, NCCL in graphs
//   queue.c           launches of several streams that run at the same time
//   record.c          launches that are kept (--record)
//   clock.c           simulated time: when each of them would have started and ended
//   devices.c         the GPUs of a node (--node): which one a thread uses, who may reach whose memory,
//                     copies between them on the node's links
//   rank.c            a program of several ranks in one process (orrery cluster): whose turn it is
//   nccl*.c           libnccl.so.2: collectives between the node's GPUs
//   nvml.c            libnvidia-ml.so.1: what monitors ask
//   graph.c           captured and hand-made graphs: lists of such operations
//   device.c          the GPU, its memory, options from the environment, the report when it ends
//
// The program's host code runs as it is; only what it asks of the GPU is simulated. Device memory lies at the
// same addresses for host and kernels (exec/run/memory.c), so managed and pinned memory are nothing special.
//
// One lock guards everything: the functions that programs call take it (app_enter), the others expect it.
#ifndef ORR_APP_H
#define ORR_APP_H

#include "app/abi.h"
#include "exec/exec.h"
#include "gpu/gpu.h"
#include "hw/hw.h"
#include "model/model.h"
#include "node/node.h"
#include "stream/stream.h"

// ---- code -------------------------------------------------------------------------------------------
typedef struct app_module {
    orr_module *module;
    orr_image **images;       // its variables on each device, placed when they are first used there
    bool shared;              // `module` is that of another app_module with the same bytes
    uint64_t digest;          // of those, in a cluster
    const void *data;         // the fatbin it comes from, until it is opened
    const void *const *parts; // nvcc -rdc=true: the fatbins it was linked of, up to a NULL; NULL: it was not
    const char *name;         // for messages
    int failed;               // why it cannot be opened, E_*,
    const char *why;          // and in words, or NULL
    void *handle[2];          // what programs hold on to: its address
    struct app_module *next;
} app_module;

typedef struct app_function {
    app_module *module;
    const void *host; // address of the stub in the program; NULL: loaded by name
    const char *name;
    const orr_kernel *kernel; // when it has been used
    int failed;               // E_*
    uint32_t dynamic_limit;   // of shared memory, as the program asked for; 0: it did not
    bool nonportable;         // clusters may have more blocks than every GPU with clusters can hold
    int carveout;
    struct app_function *next;
} app_function;

typedef struct app_variable {
    app_module *module;
    const void *host;
    const char *name;
    size_t bytes;
    void **managed; // where the program keeps its address, NULL: it is not managed
    struct app_variable *next;
} app_variable;

app_module *app_module_new(const void *data, const char *name); // opened when first used
app_module *app_module_open(const void *image, size_t n, const char *name, int *error); // cubin, fatbin, PTX
unsigned app_architecture(void);                                                        // of the GPU: 90
void app_module_close(app_module *m);            // its functions and variables are no more
int app_module_ready(app_module *m);             // opens it; E_*
int app_function_ready(app_function *f);         // loads its kernel; E_*
app_function *app_function_of(const void *host); // by stub, or one's own handle
app_function *app_function_named(app_module *m, const char *name, int *error);
app_variable *app_variable_of(const void *host);
int app_variable_place(app_variable *v, uint64_t *addr, uint64_t *bytes);
bool app_variable_around(uint64_t p, uint64_t *addr, uint64_t *bytes); // of any module; false: none is there

// ---- time ---------------------------------------------------------------------------------------------
enum { STREAM_ATTRIBUTES = 10 };
typedef struct app_op_ref { // an operation that has not been timed (queue.c)
    uint64_t list;          // 0: none
    size_t at;
} app_op_ref;
typedef struct app_stream {
    char attributes[STREAM_ATTRIBUTES][64]; // cudaStreamAttrValue
    uint64_t id;
    int device;
    unsigned flags; // 1: does not wait for the legacy default stream
    int priority;
    double end;                         // ns: when what is in it is done, of what has been timed
    app_op_ref last;                    // what has not been
    struct app_graph *capture, *joined; // being captured; joined: another stream's capture it takes part in
    ORR_VEC(struct app_node *) tail;    // of it: what the next node waits for
    uint64_t asked, done;               // operations that were kept for later (pending.c), and of them done
    struct app_stream *next;
} app_stream;

typedef struct app_shared_event { // of several processes, in memory that they share
    uint64_t recorded;            // how often
    double when;                  // ns
} app_shared_event;

typedef struct app_event {
    unsigned flags; // 2: no timing
    bool recorded;
    double when;                     // ns, when it has been timed
    app_op_ref at;                   // what it waits for, of what has not been
    struct app_graph *capture;       // recorded in a stream that was being captured,
    ORR_VEC(struct app_node *) tail; // behind these nodes
    app_shared_event *shared;        // of several processes; NULL: of this one
    const app_stream *asked_of;      // it will be recorded by this stream, as its
    uint64_t asked;                  // operation of that number (pending.c); NULL: it has been
} app_event;
void app_event_look(app_event *ev); // at what another process has recorded
void app_event_tell(app_event *ev); // the others that it is recorded

enum { // what works on something at a time, of each device
    ENGINE_NONE,
    ENGINE_KERNELS,
    ENGINE_IN,
    ENGINE_OUT,
    ENGINE_WITHIN,
    ENGINE_PEER, // copies between devices: what keeps them apart are the links
    ENGINE_NCCL,
    ENGINE_MPI, // the host's
    ENGINES
};
typedef struct app_span { // of the timeline
    const char *name;
    uint64_t stream;
    int device, rank;
    uint8_t engine;
    double from, to; // ns
    uint64_t bytes;
    uint32_t launch; // index in the result, of kernels
} app_span;

double app_clock_start(app_stream *s, int engine); // the earliest that something can begin in s
// What `span` says (name, times, bytes, launch) is done in s, and kept its engine busy.
void app_clock_done(app_stream *s, int engine, app_span span);
// A line of the timeline that keeps nobody waiting.
void app_clock_note(const app_stream *s, int engine, const char *name, double from, double to,
                    uint64_t bytes);
void app_clock_put(app_span span);           // the same, of any rank, device and stream
void app_clock_wait(double until);           // the host waits
double app_clock_known(const app_stream *s); // when something can begin in s, for all that has been timed
double app_clock_end(app_stream *s);         // when what is in it is done
void app_clock_span(const app_stream *s, int engine, app_span span); // a line of the timeline, of span.rank
double app_clock_device(int index);                                  // when everything on it is done
double app_clock_all(void);                                          // on all of them

// ---- what has not been timed (queue.c) ----------------------------------------------------------------
bool app_queue_on(void);                   // operations of streams are timed later
bool app_queue_takes(const orr_launch *l); // this one too
bool app_queue_groups(void);               // the model simulates what runs at the same time
// early: it may start before the kernel ahead of it in the stream has ended.
bool app_queue_launch(app_stream *s, const orr_launch *l, bool early, orr_err *e); // executes it
void app_queue_timed(app_stream *s, const orr_launch *l, bool early, size_t result);
void app_queue_add(app_stream *s, int engine, const char *name, double ns, uint64_t bytes);
void app_queue_record(app_stream *s, app_event *ev);
void app_queue_wait(app_stream *s, const app_event *ev);
// What comes next in the stream waits for these, and for nothing else that is in it.
app_op_ref app_queue_fork(app_stream *s, const app_op_ref *needs, size_t n);
void app_queue_flush(void);          // all of it is timed now
void app_queue_flush_of(int device); // an index in the_app.devices
void app_queue_flush_all(void);      // of all ranks

// ---- what is kept (record.c) ----------------------------------------------------------------------------
struct app;
// `format` is Accel-Sim's (orr_accel_format); NULL: streams. A path of NULL: nothing is kept.
bool app_record_open(struct app *a, const char *path, const char *format, orr_err *e);
bool app_record_launch(struct app *a, const orr_launch *l, orr_work w, orr_err *e); // runs it, too
void app_record_copy(struct app *a, uint64_t to, uint64_t bytes);                   // from the host
void app_record_close(struct app *a, orr_err *e);                                   // e->status: thrown away

// ---- what streams do ------------------------------------------------------------------------------------
enum {
    DO_KERNEL,
    DO_COPY,
    DO_FILL,
    DO_HOST,
    DO_RECORD,
    DO_WAIT,
    DO_NOTHING,
    DO_GRAPH,
    DO_FREE,
    DO_ALLOC,
    DO_CONDITION,
    DO_NCCL
};
typedef struct app_array app_array; // array.h
typedef struct app_call {
    uint8_t what;
    app_function *function; // DO_KERNEL
    dim3 grid, block;
    dim3 cluster; // thread blocks; 0: what the kernel asks for
    uint32_t dynamic_shared;
    bool cooperative;
    bool early;           // it may start before the kernel ahead of it has ended (programmatic launch)
    uint8_t *params;      // DO_KERNEL; DO_NCCL: an array of nccl_op
    uint32_t nparams;     // bytes
    pitched_ptr dst, src; // DO_COPY; DO_FILL: dst
    extent size;          // width in bytes
    app_array *to, *from; // DO_COPY: arrays in their place
    position to_at, from_at;
    int kind;
    uint32_t value, element;                                     // DO_FILL
    void (*fn)(void *);                                          // DO_HOST
    int (*nccl)(struct app_stream *s, const struct app_call *c); // DO_NCCL
    void *user;
    app_event *event;
    struct app_graph *graph;
    struct app_conditional *conditional;
} app_call;

int app_submit(app_stream *s, const app_call *c); // now, or into the graph that is being captured; copies *c
int app_do(app_stream *s, const app_call *c);     // now
int app_do_kernel(app_stream *s, const app_call *c, orr_children *children); // without what it launches
int app_children_run(app_stream *s, app_module *m, orr_children *first);     // what a kernel asked for
int app_kernel_params(app_function *f, void *const *args, app_call *c); // packs them: c->params, malloc'd
enum { PLACE_HOST, PLACE_PINNED, PLACE_DEVICE, PLACE_MANAGED };
int app_place(const void *p); // PLACE_*

// ---- graphs -----------------------------------------------------------------------------------------------
typedef struct app_node {
    app_call call;
    struct app_graph *graph;
    struct app_node **needs; // nodes that come before it
    size_t nneeds;
    bool off;
    uint32_t index;
    struct app_node *origin; // of a clone
    void **args;             // what cudaGraphKernelNodeGetParams has handed out
} app_node;
typedef struct app_graph {
    ORR_VEC(app_node *) nodes;
    app_stream *stream; // while it is being captured
    app_node *last;     // captured so far
    bool broken;
    const struct app_graph *origin; // that it is a copy of
} app_graph;
enum { COND_IF, COND_WHILE, COND_SWITCH };
typedef struct app_condition { // condition.c
    const app_graph *graph;
    unsigned value, first;
    bool assigned; // each launch of the graph begins with `first`
} app_condition;
typedef struct app_conditional { // a node
    app_condition *condition;
    int type; // COND_*
    unsigned n;
    app_graph **bodies;
} app_conditional;
uint64_t app_condition_new(const app_graph *g, unsigned value, bool assigned); // its handle
app_condition *app_condition_of(uint64_t handle);                              // NULL: none
void app_conditions_begin(app_graph *g);
app_conditional *app_conditional_copy(const app_conditional *from);
void app_conditional_free(app_conditional *c);
int app_conditional_run(const app_conditional *c, app_stream *s);
app_graph *app_graph_new(void);
void app_condition_set(uint64_t handle, unsigned value); // of a conditional node
void app_node_free(app_node *n);
void app_graph_free(app_graph *g);
app_graph *app_graph_copy(const app_graph *g);
app_node *app_graph_add(app_graph *g, const app_call *c, app_node *const *needs, size_t n);
int app_graph_run(app_graph *g, app_stream *s);

// ---- the GPU -----------------------------------------------------------------------------------
typedef struct app_block { // memory the program has asked for
    uint64_t addr, bytes;
    int owner;     // the device that it was allocated on
    int device;    // where it is
    int *pages;    // of managed memory: where each of its pages is, -1: the host; NULL: all on `device`
    bool *touched; // of managed memory: the pages that a launch touches; NULL: nobody looks
    uint8_t place; // PLACE_*
    bool kept;     // of a graph: it stays when it is freed
    bool foreign;  // another process's (rt_ipc.c)
} app_block;

typedef struct app_registered { // memory of the program's own that kernels may use (cudaHostRegister)
    char *host;
    size_t bytes;
    char *device; // what kernels see of it, NULL: nobody has asked for its address
} app_registered;

typedef struct app_device {
    app_stream legacy, per_thread;
    double engine[ENGINES]; // ns: when it is free
    uint64_t used, peak;    // bytes
    uint64_t peers;         // devices of its node whose memory its kernels may use, as bits
    void *state;            // orr_result.state of launches that run beside others (pending.c)
    void (*state_free)(void *);
    double kernel_ns; // of all its launches
    uint32_t launches;
} app_device;

typedef struct app_rank { // of a cluster; of a program alone there is one
    int device, error, node;
    uint32_t launches;
    uint64_t copies, copy_bytes;
    double kernel_ns, copy_ns, nccl_ns;
    double wait_ns;          // for its GPU, in functions of CUDA
    double mpi_ns, end_ns;   // in functions of MPI; when it last did anything
    uint64_t messages, sent; // to another rank, and their bytes
    const char *inside;      // the function that it is in, where others must come to something too; NULL
} app_rank;

typedef struct app_mpi_total { // of a function of MPI, or of what a rank sends another
    const char *name;
    uint64_t calls, bytes;
    double ns;
} app_mpi_total;

typedef struct app_asked { // what the command line asks for
    const char *program, *kernels, *launches, *source;
    const char *output, *timeline;
    const char *forms; // a folder for the report as text and as JSON; the caller of orr_app_run reads them
    int threads;
    uint64_t max_insts;
    bool on_gpu; // kernels are executed by a real GPU
    bool json, quiet, lines;
    bool counts_only;
    bool host_clock;       // --clock simulated (host_clock.c)
    bool alike, only_time; // --alike; what is alike is not even executed
} app_asked;

typedef struct app_counts {
    uint32_t nlaunches, skipped; // all; of them not simulated
    uint32_t nalike;             // as one that was simulated before
    uint64_t strays;             // accesses outside all allocations that passed, as on a GPU
    uint64_t nccl_calls;
    double nccl_ns; // of collectives
    double exec_seconds;
} app_counts;

typedef struct app_streams {
    app_stream *first; // of those with a handle, of all devices
    bool overlap;      // kernels may run at the same time: there are streams, or some start early (queue.c)
    uint64_t next_id;
} app_streams;

typedef struct app_timeline { // --timeline
    ORR_VEC(app_span) spans;
    uint64_t left_out; // beyond MAX_TIMELINE
} app_timeline;

typedef struct app_device_settings { // what the program has set of a device
    unsigned limits[16];             // cudaDeviceSetLimit
    unsigned flags;                  // cudaSetDeviceFlags
} app_device_settings;

typedef struct app {
    app_asked asked;
    app_counts counts;
    // the machine
    orr_gpu *gpu;   // each device is one of these
    orr_node *node; // NULL: one GPU, and nothing is known of its machine
    app_device *devices;
    int ndevices;  // of all nodes
    double *links; // ns: when each link of each node is free
    const orr_model *model;
    orr_mem *mem;
    orr_native *native; // asked.on_gpu: when the first kernel has been executed
    // the program's things
    app_module *modules;
    app_function *functions;
    app_variable *variables;
    app_streams streams;
    ORR_VEC(app_block) blocks; // sorted by address
    ORR_VEC(app_registered) registered;
    uint64_t workspace; // of cooperative launches
    app_device_settings settings;
    // what becomes of it
    bool open, closed;
    int failed;
    int sticky;      // the error that ended the context, E_*
    bool told;       // that no time is simulated
    orr_map missing; // functions that were called and are not there
    orr_result result;
    struct app_record *record; // of --record; NULL: nothing is recorded
    orr_progress progress;
    app_timeline timeline;
    double host; // ns
    orr_app times;
} app;
extern app the_app;

int app_enter(void);       // takes the lock, opens the device; E_* when that fails or the context is dead
int app_leave(int error);  // gives the lock back; remembers the error for cudaGetLastError
void app_let_others(void); // other threads that wait for their turn have it
int app_leave_driver(int error); // gives the lock back; errors of the driver's functions are not remembered
int app_remember(int error);     // for cudaGetLastError
void app_driver_begin(void);     // until app_driver_end no error is remembered
int app_driver_end(int error);
void app_no_time(void);   // says once that the times which the program asks for have not been simulated
int app_last(bool reset); // cudaGetLastError, cudaPeekAtLastError
enum { APP_NODE_DEVICES = 64 };
int app_block_device(const app_block *b); // as the program counts them
// ---- several devices (devices.c, rank.c) ------------------------------------------------------
bool app_devices_open(app *a, int nodes, orr_err *e);
int app_device_count(void);            // that this rank sees: those of its node
int app_device_now(void);              // of this thread, as the program counts them
bool app_device_use(int device);       // false: there is none of that number
app_device *app_device_at(int device); // as the program counts them; NULL: there is none
int app_device_index(int device);      // in the_app.devices
// Times a copy between devices; staged: by host memory.
void app_device_peer(app_stream *s, int from, int to, bool staged, uint64_t bytes);
// Managed memory from `p` on to a device by its index, -1: to the host.
void app_managed_move(app_stream *s, app_block *b, int to, uint64_t p, uint64_t bytes);
bool app_managed_far(int device,
                     const app_call *c); // a launch is given some that is elsewhere: it is watched
void app_managed_here(app_stream *s, const app_call *c); // what it has touched comes to it
void app_copy_on_links(app_stream *s, int engine, const char *name, int gpu, uint64_t bytes);
orr_image *app_module_image(app_module *m, int device); // its variables there; NULL: there is no room
bool app_in_cluster(void);                              // the program's ranks are SimGrid's
void app_cluster_abort(int rank, int status);           // reports, and ends all ranks
void app_cluster_stops(void); // who started the ranks wants no more of them: reports, and does not return
// Runs it with its accesses to other devices counted; *ns is what those take on the links.
bool app_peer_run(const orr_launch *l, orr_work *w, int device, double *ns, orr_err *e);
void app_rank_network(double *bandwidth, double *latency); // from node to node: GB/s, us; 0: not known
void app_rank_change(void);                                // something has that other ranks may wait for
uint64_t app_rank_changes(void);                           // how often
void app_rank_park(uint64_t seen); // waits for another change than the last; no lock is held
void app_rank_tell(void);          // those who wait look again; no lock is held
app_rank *app_rank_self(void);
void app_mpi_count(int rank, const char *name, double seconds, uint64_t bytes, bool message);
double app_mpi_begin(const char *name); // s
void app_mpi_end(const char *name, double from, uint64_t bytes, int to);
size_t app_mpi_totals(const app_mpi_total **all);
size_t app_rank_all(const app_rank **ranks);
app_rank *app_rank_of(int rank); // NULL: it has done nothing yet
uint64_t app_alike_key(const app_call *c, const orr_kernel *k);
typedef struct app_kernel_total {
    const orr_kernel *kernel;
    uint64_t launches;
    double ns;
} app_kernel_total;
void app_kernel_count(const orr_kernel *k, double ns);
size_t app_kernel_totals(const app_kernel_total **all);
bool app_alike_find(uint64_t key, double *ns, size_t *result); // what one alike took, and its launch's result
void app_alike_add(uint64_t key, double ns, size_t result);
int *app_rank_device(void); // of this rank
int *app_rank_error(void);
int app_rank_now(void);             // 0 where there is one
int app_rank_node(void);            // the node that this rank is on
void app_rank_pause(void);          // host code is no longer measured; no lock is held
void app_rank_enter(void);          // the host's clock is this rank's
double app_rank_leave(void);        // seconds that the rank has to wait before it goes on
void app_rank_wait(double seconds); // with no lock held
int *app_last_error_of(void);

int app_alloc(uint64_t bytes, int place, const char *name, void **p);
int app_alloc_kept(uint64_t bytes, const char *name, void **p);
int app_free(void *p);
app_block *app_block_of(uint64_t addr);
app_block *app_block_add(uint64_t addr, uint64_t bytes, int device,
                         int place); // sorted in; device: index in the_app.devices
void app_block_remove(app_block *b);
app_stream *app_stream_of(void *handle);
void app_say(const char *fmt, ...) __attribute__((format(printf, 1, 2))); // to stderr, "orrery: ..."
int app_missing(const char *function);                                    // names it, E_NOT_SUPPORTED
bool app_timeline_write(const char *path, orr_err *e);

#endif
