// An OpenCL platform of one simulated GPU: a driver that the ICD loader finds (liborrery-opencl.so).
//
//   platform.c  the platform and its device, and what both say of themselves
//   table.c     the table of functions by which the loader calls us, and those that are not here
//   context.c   contexts, command queues, samplers
//   event.c     commands: what they wait for, when they run, what time they took; events; callbacks
//   memory.c    buffers and sub-buffers; image.c: images
//   copy.c      commands on memory: read, write, copy, fill, map
//   program.c   programs: compiled, linked, as binaries (src/clc)
//   kernel.c    kernels and their arguments; ndrange.c: launches
//
// Below it is the machinery that runs CUDA programs (src/app): the GPU and its memory, launches and their
// models, simulated time, report, timeline, record. Device memory lies at the same addresses for host and
// kernels.
//
// A command runs as soon as what it waits for is done, in the thread that makes it so: when it is enqueued,
// or when a user event is set. One lock guards everything; callbacks are called without it.
#ifndef ORR_OPENCL_CL_H
#define ORR_OPENCL_CL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_icd.h>

#include "app/app.h"
#include "clc/clc.h"

// ---- objects ----------------------------------------------------------------------------------------
// Each begins with the loader's table, then what it is: a handle of another kind, or of nothing, is found
// out.
enum {
    KIND_PLATFORM = 0x4f52,
    KIND_DEVICE,
    KIND_CONTEXT,
    KIND_QUEUE,
    KIND_MEM,
    KIND_SAMPLER,
    KIND_PROGRAM,
    KIND_KERNEL,
    KIND_EVENT
};
typedef struct head {
    const cl_icd_dispatch *table;
    uint32_t kind;
    cl_uint refs;
} head;

struct _cl_platform_id {
    head head;
};
struct _cl_device_id {
    head head;
};

typedef struct callback { // called when its object is destroyed, last one first
    void(CL_CALLBACK *destroyed)(void *object, void *user);
    void *user;
    struct callback *next;
} callback;

struct _cl_context {
    head head;
    cl_context_properties *properties;
    size_t nproperties; // with the 0 at the end, 0: none were given
    void(CL_CALLBACK *notify)(const char *text, const void *info, size_t n, void *user);
    void *user;
    callback *callbacks;
};

struct _cl_command_queue {
    head head;
    cl_context context;
    cl_command_queue_properties properties;
    cl_queue_properties *list; // as they were given
    size_t nlist;
    app_stream stream;
    cl_event last;                // in order: the command before. Out of order: the last barrier
    struct command *first, **end; // those that have not run yet
};

struct _cl_sampler {
    head head;
    cl_context context;
    cl_bool normalized;
    cl_addressing_mode addressing;
    cl_filter_mode filter;
    cl_sampler_properties *list;
    size_t nlist;
};

// What device.cl knows of an image.
typedef struct image_description {
    uint64_t data;
    int32_t width, height, depth, layers;
    uint32_t row, slice, order, type, bytes, dims;
} image_description;

typedef struct mapping {
    void *pointer;
    cl_map_flags flags;
    size_t offset, bytes;        // of a buffer
    size_t origin[3], region[3]; // of an image
    struct mapping *next;
} mapping;

struct _cl_mem {
    head head;
    cl_context context;
    cl_mem_object_type type;
    cl_mem_flags flags;
    size_t bytes;
    char *data; // in device memory
    void *host; // CL_MEM_USE_HOST_PTR, ...
    cl_mem parent;
    size_t offset; // in the parent
    cl_image_format format;
    cl_image_desc desc;
    image_description *image; // in device memory
    mapping *maps;
    cl_uint nmaps;
    cl_mem_properties *list;
    size_t nlist;
    callback *callbacks;
};

struct _cl_program {
    head head;
    cl_context context;
    char *source;
    size_t nsource;
    void *il;        // SPIR-V, of which it was made
    uint32_t *words; // the same in this host's order, with the values that were set for its constants
    size_t nil;      // bytes of either
    bool from_binary;
    orr_clc_object object; // compiled: bitcode
    char *ir;              // its text, of which the kernels were read
    size_t nir;
    cl_program_binary_type type;
    cl_build_status status;
    char *options, *log;
    app_module *module; // linked
    cl_uint nkernels;   // kernel objects that exist
    bool lists_info;    // names of arguments may be asked for
    callback *callbacks;
};

typedef struct argument {
    bool set;
    uint8_t *value; // of its parameter's size
    size_t bytes;   // of local memory
    cl_mem mem;     // kept alive
    cl_sampler sampler;
} argument;

struct _cl_kernel {
    head head;
    cl_program program;
    const orr_clc_kernel *info;
    app_function *function;
    argument *args; // info->nargs
};

typedef struct notice { // clSetEventCallback
    cl_int status;
    void(CL_CALLBACK *call)(cl_event event, cl_int status, void *user);
    void *user;
    struct notice *next;
} notice;

struct _cl_event {
    head head;
    cl_context context;
    cl_command_queue queue; // NULL: a user event
    cl_command_type type;
    cl_int status;
    double queued, start, end; // ns, simulated
    notice *notices;
};

// ---- commands (event.c) -----------------------------------------------------------------------------
typedef struct command {
    cl_event event;
    cl_event *waits;
    cl_uint nwaits;
    cl_int (*run)(struct command *c); // CL_SUCCESS, or why not
    void (*done)(struct command *c);  // frees what it holds; NULL: nothing
    cl_mem mem[2];                    // kept alive
    void *data;                       // of `run`, freed
    struct command *next;
} command;

typedef struct request { // what every function that enqueues a command is given
    cl_command_queue queue;
    cl_command_type type;
    bool blocking;
    cl_uint n; // events that it waits for
    const cl_event *waits;
    cl_event *event; // NULL: nobody asks
} request;
// Takes c (malloc'd, run, mem and data set). Blocking: returns when it is done, with its error.
cl_int cl_enqueue(const request *r, command *c);
cl_int cl_check_waits(cl_command_queue q, cl_uint n, const cl_event *waits);
// What a command did took so long: bytes over a bus, or nothing (engine ENGINE_NONE).
void cl_took(command *c, int engine, const char *name, uint64_t bytes, const void *device);
void cl_event_drop(cl_event e); // a reference less
cl_int cl_wait(cl_event e);     // until it is done; its error

// ---- everything -------------------------------------------------------------------------------------
extern struct _cl_platform_id cl_platform;
extern struct _cl_device_id cl_device;
extern const cl_icd_dispatch cl_table;
bool cl_lock(void); // false: there is no device
void cl_unlock(void);
void *cl_new(size_t bytes, uint32_t kind);
bool cl_is(const void *object, uint32_t kind);
cl_int cl_answer(const void *v, size_t n, size_t room, void *value, size_t *size);
cl_int cl_answer_text(const char *s, size_t room, void *value, size_t *size);
cl_int cl_error(int app_error); // of src/app, to OpenCL's
void cl_drop_context(cl_context c);
void cl_drop_mem(cl_mem m);
void cl_drop_program(cl_program p);
void cl_drop_sampler(cl_sampler s);
void cl_call_destroyed(callback *list, void *object);
uint32_t cl_sampler_bits(const struct _cl_sampler *s);       // as device.cl has them
bool cl_same_device(cl_uint n, const cl_device_id *devices); // a list of devices that is none or ours
size_t cl_pixel_bytes(const cl_image_format *f);             // 0: no such format
size_t cl_zero_list(const uint64_t *list, uint64_t **copy); // a copy of a list that ends in 0, and its length

#define ANSWER(T, v)                                                                                         \
    do {                                                                                                     \
        T answer_ = (v);                                                                                     \
        return cl_answer(&answer_, sizeof answer_, room, value, size);                                       \
    } while (0)

#endif
