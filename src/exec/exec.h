// The executor: runs a kernel on the CPU, a warp at a time, 32 lanes as vectors.
//
// It knows nothing of time. It delivers what a launch does to memory and, when asked, the streams.
#ifndef ORR_EXEC_H
#define ORR_EXEC_H

#include "isa/isa.h"
#include "stream/stream.h"

// ---- device memory --------------------------------------------------------------------------
// One reserved range of the host's address space stands for the GPU's, so that a device address is
// turned into a host pointer by one addition. Device addresses are the same on every host and run.
//
// Generic addresses: global and const memory as they are; shared and local memory, and the kernel's
// parameters, through windows outside the range (isa/isa.h).
#define ORR_GLOBAL_BASE  0x0000700000000000ull
#define ORR_GLOBAL_LIMIT (1ull << 38) // 256 GiB of addresses, reserved and not touched

typedef struct orr_mem orr_mem;
typedef struct orr_texture orr_texture; // exec/texture.h
orr_mem *orr_mem_new(orr_err *e);
void orr_mem_delete(orr_mem *m);
// Memory for what was captured on a real GPU: at the addresses that it had there, [lo, lo + bytes).
// Allocations are what orr_mem_layout says, sorted and apart from each other; those before are no more, and
// what is in memory stays. It is never orr_mem_shared.
typedef struct orr_mem_range {
    uint64_t addr, bytes;
} orr_mem_range;
orr_mem *orr_mem_new_at(uint64_t lo, uint64_t bytes, orr_err *e);
void orr_mem_layout(orr_mem *m, const orr_mem_range *at, uint32_t n);
// A zeroed allocation, 512-byte aligned, with a gap after it so that overruns are caught. `name` is
// for messages. 0 on error (out of memory, with e set).
// Memory of several processes: the file through which others see these bytes, at their distance from the
// beginning of device memory; -1: that cannot be. It stays the memory's own.
int orr_mem_share(orr_mem *m, uint64_t addr, uint64_t bytes);
// Another process's bytes, as an allocation here: where they are. 0 on error.
uint64_t orr_mem_attach(orr_mem *m, int file, uint64_t offset, uint64_t bytes, const char *name, orr_err *e);
bool orr_mem_detach(orr_mem *m,
                    uint64_t addr); // the allocation that addr is in is no more; the bytes stay the other's
uint64_t orr_mem_alloc(orr_mem *m, uint64_t bytes, const char *name, orr_err *e);
bool orr_mem_free(orr_mem *m, uint64_t addr);
// Host pointer to [addr, addr + bytes), or NULL when that is not inside one allocation.
void *orr_mem_host(orr_mem *m, uint64_t addr, uint64_t bytes);
// What an access outside all allocations does. Strict, the default: it ends the kernel. As a GPU has it: one
// to a page of 2 MB that holds a part of an allocation passes and is counted.
void orr_mem_as_gpu(orr_mem *m, bool on);
typedef struct orr_strays { // accesses that passed so
    uint64_t n, lowest;     // lowest: the first of their addresses
} orr_strays;
orr_strays orr_mem_strays(orr_mem *m); // since it was asked last
// Textures and surfaces, by the handle that kernels are given; handles are small numbers, as a GPU's are.
uint64_t orr_mem_texture_new(orr_mem *m, const orr_texture *t);
bool orr_mem_texture_put(orr_mem *m, uint64_t handle,
                         const orr_texture *t);                        // at a given one; false: too large
const orr_texture *orr_mem_texture(const orr_mem *m, uint64_t handle); // NULL: none
bool orr_mem_texture_free(orr_mem *m, uint64_t handle);
uint64_t orr_mem_used(const orr_mem *m);
uint64_t orr_mem_end(const orr_mem *m); // of the last allocation: behind it there is nothing
// Where addr lies, in words: "4 bytes past the end of 'x', which has 64".
const char *orr_mem_describe(const orr_mem *m, uint64_t addr, char buf[160]);
// A device address is a host pointer as it is: the first one of a process, unless something else lies there.
bool orr_mem_shared(const orr_mem *m);

// ---- a module in memory ---------------------------------------------------------------------
typedef struct orr_image { // a module's variables, placed and initialised
    orr_module *module;
    uint64_t *var_addr;
    const struct orr_moved *moved; // parts of variables that lie elsewhere; NULL: none
    uint32_t nmoved;
} orr_image;
typedef struct orr_moved { // a driver places each name of a section of variables by itself
    uint32_t var;
    uint64_t offset, bytes, addr;
} orr_moved;
uint64_t orr_image_address(const orr_image *image, uint32_t var, uint64_t offset);
orr_image *orr_image_load(orr_mem *m, orr_module *mod, orr_err *e);
void orr_image_free(orr_mem *m, orr_image *image); // frees its allocations too
// With variables where they are already, addr[v]; 0: the variable is placed and initialised anew, but for the
// parts in `moved`, which must live as long as the image.
orr_image *orr_image_at(orr_mem *m, orr_module *mod, const uint64_t *addr, const orr_moved *moved,
                        uint32_t nmoved, orr_err *e);
void orr_image_forget(orr_image *image); // leaves memory alone
// The variable that an address lies in; false: it lies in none.
bool orr_image_around(const orr_image *image, uint64_t at, uint64_t *addr, uint64_t *bytes);
// The variable's address and size, false when there is none of that name.
bool orr_image_symbol(const orr_image *image, const char *name, uint64_t *addr, uint64_t *bytes);

// ---- a launch -------------------------------------------------------------------------------
typedef struct orr_elsewhere orr_elsewhere;

// What a kernel asks for while it runs: launches, copies and fills of memory, and values of conditional nodes
// of graphs, in the order in which its threads ask. Whoever started the kernel does them when it has ended.
enum { ORR_CHILD_KERNEL, ORR_CHILD_COPY, ORR_CHILD_FILL, ORR_CHILD_CONDITION };
enum { ORR_CHILD_TAIL = 3, ORR_CHILD_FORGET = 4 }; // streams that a kernel has from the beginning
typedef struct orr_child {
    uint8_t what;
    uint64_t block, stream; // the thread block that asks, and in which of its streams
    const orr_kernel *kernel;
    uint32_t grid[3], dim[3], dynamic_shared;
    uint8_t *params;          // malloc'd
    uint64_t to, from, bytes; // of a copy or a fill; `to` is the handle of a condition, `from` a value
} orr_child;
typedef struct orr_children {
    ORR_VEC(orr_child) at;
    ORR_VEC(orr_child) open;   // their parameters are being written; params is NULL
    ORR_VEC(uint64_t) buffers; // where to, in device memory: chunks,
    uint64_t used;             // bytes of the last one that are taken
    uint64_t handles;          // streams and events made so far
    int error;                 // the last one, a number of cudaError
    int device;                // what cudaGetDevice says
} orr_children;
void orr_children_free(orr_children *c, orr_mem *mem);

typedef struct orr_launch {
    const orr_kernel *kernel;
    const orr_image *image;
    orr_mem *mem;
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; // thread blocks of a cluster; 0: 1
    uint32_t dynamic_shared;
    uint8_t *params; // kernel->param_bytes
    uint32_t index;
    uint32_t sm_count;              // what %nsmid reads; 0: 1
    uint32_t resident;              // thread blocks that may be unfinished at once; 0: 4096
    uint64_t max_insts;             // instructions one warp may execute; 0: no limit
    FILE *print;                    // where the kernel's printf goes; NULL: stdout
    const orr_elsewhere *elsewhere; // who executes it instead of us; NULL: nobody
    uint64_t
        workspace;     // of a cooperative launch: 8 bytes whose upper 4 are the grid's barrier; 0: it is none
    const char *range; // orr_launch_info.range
    int *fault;        // when the kernel fails, its ORR_FAULT_* is left here; NULL: nobody asks
    orr_children *children; // what the kernel asks for; NULL: it is an error to ask
    // It runs beside others, which it may wait for. Called by the thread that runs it whenever its thread
    // blocks have gone round once (ns < 0), or, where it is executed as it is timed, when so much time has
    // passed since it began; it returns when the launch may go on, false: it is to end. NULL: it is alone.
    bool (*turn)(double ns);
    uint8_t jit; // ORR_JIT_*: are blocks of code compiled for the host?
} orr_launch;
// Those that are hot, all, none, all without AVX-512. Results are the same.
enum { ORR_JIT_AUTO, ORR_JIT_ON, ORR_JIT_OFF, ORR_JIT_AVX2 };
#define ORR_BESIDE_FAILED "kernel '%s' ends, for one that runs beside it has failed"

// What kind of failure of a kernel e->text tells of.
enum {
    ORR_FAULT_NONE,
    ORR_FAULT_OTHER,   // what a program must not do, and has no error of its own on a GPU
    ORR_FAULT_ADDRESS, // outside every allocation
    ORR_FAULT_ALIGN,
    ORR_FAULT_ASSERT,
    ORR_FAULT_TRAP,
    ORR_FAULT_HANG, // deadlock, or more instructions than max_insts
};

orr_launch_info orr_info_of(const orr_launch *l); // as models see it

typedef struct orr_exec_counts { // what an execution did, in total
    uint64_t warp_insts, thread_insts, blocks;
} orr_exec_counts;

// Do its threads race through plain loads and stores: does a warp load what another one has stored, or the
// other way round, with no barrier between? It is executed to see, and memory is as before.
bool orr_launch_races(const orr_launch *l);

// Run the whole launch on `threads` host threads. For a visitor streams are made, and it is called once for
// each finished thread block, on the worker that ran it (0 <= worker < threads); NULL: nobody wants them. A
// kernel whose blocks may see each other (isa/effects.c) runs its blocks on one thread, in order, so that
// results do not depend on the host; a block that waits for another is put aside and continued later.
//
// On a fault: false; e->status 1 and e->text names kernel, block, thread, PTX line and address.
typedef bool orr_visit(void *arg, int worker, const orr_tb *tb, orr_err *e);
typedef struct orr_visitor {
    orr_visit *visit;
    void *arg;
    bool in_order; // in grid order, one call at a time
} orr_visitor;
bool orr_exec_run(const orr_launch *l, int threads, const orr_visitor *v, orr_exec_counts *counts,
                  orr_err *e);

// ---- counting instead of streams --------------------------------------------------------------
// Costs nearly nothing beside execution: for every block of code a warp enters, one count and one addition to
// the warp's clock, both by the block it came from (in the order of its stream, so that divergence is counted
// as it happens). A barrier sets the clocks of the warps it releases to the latest of them: the latest clock
// of a thread block is the longest path through it, in whatever the weights are.
#define ORR_TALLY_FROM 3
typedef struct orr_tally_block {
    uint32_t from[ORR_TALLY_FROM]; // blocks it is entered from; UINT32_MAX: fewer
    uint32_t
        weight[ORR_TALLY_FROM + 1]; // of entering it from each; last: from anywhere else, or first of all
} orr_tally_block;
typedef struct orr_tally_count {
    uint64_t runs[ORR_TALLY_FROM + 1]; // times a warp entered it, as the weights are
    uint64_t lanes;                    // active, summed over the runs
} orr_tally_count;
typedef struct orr_tally_tb { // a finished thread block
    uint64_t index;
    uint64_t longest, sum; // the latest of its warps' clocks; their weights summed, without what they waited
    const orr_tb *streams; // NULL: it is not one of `sampled`
} orr_tally_tb;
typedef bool orr_tally_visit(void *arg, int worker, const orr_tally_tb *t, orr_err *e);
typedef struct orr_tally {
    const orr_tally_block *blocks; // [nblocks of the kernel]
    orr_tally_count *counts;       // [threads][nblocks], added to
    const uint64_t *sampled;       // thread blocks whose streams are made too, ascending
    uint32_t nsampled;
    size_t stream_bytes; // a warp's stream ends with the block of code that takes it past this
    orr_tally_visit *visit;
    void *arg;
} orr_tally;
// Which of the ways into a block of code it was entered by: an index of orr_tally_block.weight.
static inline int orr_tally_way(const orr_tally_block *b, uint32_t from) {
    return from == b->from[0] ? 0 : from == b->from[1] ? 1 : from == b->from[2] ? 2 : ORR_TALLY_FROM;
}
// As orr_exec_run without `in_order`; blocks of code are counted, thread blocks visited.
bool orr_exec_tally(const orr_launch *l, int threads, const orr_tally *t, orr_exec_counts *counts,
                    orr_err *e);

// A launch as a source that a model pulls from: thread blocks are executed when asked for. The source is
// freed by its close. counts (may be NULL) is complete when next has returned 0.
orr_source *orr_exec_source(const orr_launch *l, orr_exec_counts *counts, orr_err *e);
// A source of some thread blocks only: `blocks` holds n of their numbers, ascending, and lives as long as the
// source. The others are not executed: memory is then not as the kernel would leave it. A kernel whose blocks
// wait for each other may never end so.
orr_source *orr_exec_source_of(const orr_launch *l, const uint64_t *blocks, uint64_t n,
                               orr_exec_counts *counts, orr_err *e);

// ---- somebody else --------------------------------------------------------------------------
// A launch that is executed elsewhere, on a real GPU: all of the above then asks there (hw/native.c).
typedef struct orr_tb_sums {
    uint64_t insts, threads; // instructions of warps, of threads
    uint64_t requests;       // lines of 128 bytes of global and local memory that its warps asked for
} orr_tb_sums;
struct orr_elsewhere {
    void *self;
    // As orr_exec_source_of; blocks NULL: all, and those not pulled when it is closed are executed then.
    orr_source *(*source)(void *self, const orr_launch *l, const uint64_t *blocks, uint64_t n,
                          orr_exec_counts *counts, orr_err *e);
    // Unobserved, or counted as a whole when counts is not NULL.
    bool (*run)(void *self, const orr_launch *l, orr_exec_counts *counts, orr_err *e);
    bool (*tally)(void *self, const orr_launch *l, const orr_tally *t, orr_exec_counts *counts, orr_err *e);
    // Nothing but sums: of every thread block, tbs[its number], and how often each block of code was entered
    // by a warp, runs[nblocks of the kernel], added to.
    bool (*sums)(void *self, const orr_launch *l, orr_tb_sums *tbs, uint64_t *runs, orr_err *e);
};

// What a launch may look like: checks sizes against the kernel and the CUDA limits (1024 threads,
// grid dimensions, shared memory given by `shared_limit`, parameters). For every front end.
bool orr_launch_check(const orr_launch *l, uint32_t shared_limit, orr_err *e);

#endif
