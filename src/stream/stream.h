// Streams: what each warp of a launch did, in order (docs/how/design.md).
//
// A warp's trace is a byte string: for each basic block it ran, the block and the active mask; then,
// for each traced memory instruction of that block (orr_inst_traced) in program order, the lanes that
// took part and their addresses. exec/ writes traces with the inline functions in trace.h; models
// read them with orr_trace_next. Files hold the same bytes, compressed.
//
// Addresses are in the instruction's own space: shared addresses are offsets in the block's shared
// memory, local ones offsets in the thread's local memory, global, const and generic ones device
// addresses (generic windows: isa/isa.h).
#ifndef ORR_STREAM_H
#define ORR_STREAM_H

#include "isa/isa.h"

// One thread block's streams.
typedef struct orr_warp_trace {
    const uint8_t *bytes;
    size_t n;
} orr_warp_trace;

typedef struct orr_tb {
    uint64_t index; // x + y * grid.x + z * grid.x * grid.y
    uint32_t nwarps;
    const orr_warp_trace *warps;
} orr_tb;

// ---- reading a warp's trace -----------------------------------------------------------------
typedef struct orr_trace {
    const uint8_t *at, *end;
    uint32_t mask; // of the current block
} orr_trace;

typedef struct orr_access { // one memory instruction of one warp
    uint32_t mask;          // lanes that took part: active and not predicated off; may be 0
    bool versioned;         // the stream says what it found
    bool fields;            // what looks like lanes are fields of one operation (ORR_BULK_LANES)
    uint64_t addr[32];      // valid where mask is set
    uint32_t version[32];   // the same, if versioned: ordered writes to the word so far (orr_inst_order)
} orr_access;

// The lanes among `left` that have the address of the first of them; *version: the latest that any of them
// found, 0: the stream does not say.
static inline uint32_t orr_access_alike(const orr_access *a, uint32_t left, uint32_t *version) {
    uint64_t at = a->addr[orr_ffs(left)];
    uint32_t same = 0;
    *version = 0;
    for (uint32_t m = left; m; m &= m - 1) {
        int lane = orr_ffs(m);
        if (a->addr[lane] != at) continue;
        same |= m & -m;
        if (a->versioned && a->version[lane] > *version) *version = a->version[lane];
    }
    return same;
}

static inline orr_trace orr_trace_open(orr_warp_trace w) { return (orr_trace){w.bytes, w.bytes + w.n, 0}; }
// The next basic block: 1 and *block, *mask; 0 at the end; -1 if the bytes are damaged (a block number
// is checked against nblocks). The mask may be 0: machine code that a warp executes with no lane taking part.
// After a block, call orr_trace_access nmem times before the next one.
int orr_trace_block(orr_trace *t, uint32_t nblocks, uint32_t *block, uint32_t *mask);
bool orr_trace_access(orr_trace *t, orr_access *a); // false: damaged
bool orr_trace_skip(orr_trace *t); // past one access without looking at its lanes; false: damaged

// ---- where a model gets its thread blocks ---------------------------------------------------
// A launch as models see it: the kernel and its shape, without memory or arguments.
typedef struct orr_launch_info {
    const orr_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared;
    uint32_t index;  // of the launch in its script or file
    uint64_t memory; // bytes of device memory that were allocated; 0: not known
    const char
        *range; // what the program called the part that launched it (NVTX), "step/layer 3"; NULL: nothing
} orr_launch_info;

// Pull thread blocks in grid order. The executor, a file and a real GPU each make one.
typedef struct orr_source {
    orr_launch_info info;
    // 1 and *tb (valid until the next call), 0 at the end, -1 error in e
    int (*next)(struct orr_source *s, orr_tb *tb, orr_err *e);
    // The next one is to be this one, or the first after it, also one that was there before; NULL: all have
    // to be pulled.
    void (*seek)(struct orr_source *s, uint64_t index);
    void (*close)(struct orr_source *s);
    // Past the thread blocks before `to`, unobserved; false: error in e. NULL: they must be pulled.
    bool (*skip)(struct orr_source *s, uint64_t to, orr_err *e);
    // Another source, of `n` of the thread blocks, rising, that may be pulled beside others by another
    // thread; it is closed before this one, of which nothing has been pulled then. NULL: there is no such
    // thing.
    struct orr_source *(*part)(struct orr_source *s, const uint64_t *blocks, uint64_t n);
} orr_source;

// ---- stream files ---------------------------------------------------------------------------
// Written by `orrery record`, one file a script: a header, a kernel section for every distinct
// kernel (the static code that models need, so that no PTX is needed to replay), then launches, each
// a list of frames of consecutive thread blocks. Every section is zstd-compressed and checksummed.
typedef struct orr_stream_writer orr_stream_writer;
orr_stream_writer *orr_stream_create(const char *path, orr_err *e);
bool orr_stream_begin(orr_stream_writer *w, const orr_launch_info *launch, orr_err *e);
bool orr_stream_block(orr_stream_writer *w, const orr_tb *tb, orr_err *e); // in grid order
bool orr_stream_end(orr_stream_writer *w, orr_err *e);
// Leaves out the launch that has begun and not ended: how many whole ones there are. 0: nothing is worth
// keeping.
uint32_t orr_stream_whole(orr_stream_writer *w);
bool orr_stream_commit(orr_stream_writer *w, orr_err *e); // closes and renames; frees
void orr_stream_discard(orr_stream_writer *w);            // removes the temporary; frees

typedef struct orr_stream_file orr_stream_file;
orr_stream_file *orr_stream_open(const char *path, orr_err *e); // or a folder of such files (*.orr), as one
orr_stream_file *orr_stream_from(FILE *file, const char *name, orr_err *e); // takes the file over
// Is this file one of ours, by its first bytes?
bool orr_stream_probe(const char *path);
// The next launch, or NULL at the end (e->status 0) or on error. Valid until the next call.
orr_source *orr_stream_next_launch(orr_stream_file *f, orr_err *e);
void orr_stream_close(orr_stream_file *f);

// What has been read so far: complete after orr_stream_next_launch has returned NULL without error.
typedef struct orr_stream_stats {
    uint64_t file_bytes, raw_bytes; // of the file; of its sections before compression
    uint32_t sections, frames, kernels, launches;
    uint64_t blocks;
} orr_stream_stats;
void orr_stream_read_stats(const orr_stream_file *f, orr_stream_stats *s);
// What the file says of the launch that was read last; complete when its source's next has returned 0.
typedef struct orr_stream_totals {
    uint64_t blocks, warp_insts, thread_insts, trace_bytes;
} orr_stream_totals;
void orr_stream_launch_totals(const orr_stream_file *f, orr_stream_totals *t);

#endif
