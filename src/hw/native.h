// Private to hw/: a real GPU as the functional model.
//
//   native.c   memory, modules, one launch of a copy; the backends
//   slices.c   streams: a launch in slices, what they wrote down, replayed
//   counts.c   sums instead of streams
#ifndef ORR_HW_NATIVE_H
#define ORR_HW_NATIVE_H

#include "exec/replay.h"
#include "hw/driver.h"

#define LOG_BYTES  (256ull << 20) // on the GPU, and at most as much on the host
#define MOST_WARPS (8u << 20)     // of a slice

typedef struct buffer {      // an allocation or a module's variable
    cu_address at, saved[2]; // copies of it; 0: there is none yet
    uint64_t bytes, ours;
    bool fixed; // kernels cannot change it
} buffer;

typedef struct module {
    orr_module *module;
    orr_image *image;
    cu_module loaded;
} module;

struct orr_native {
    orr_hw *h;
    orr_mem *mem; // where things would be
    orr_on_launch *on_launch;
    void *arg;
    ORR_VEC(module) modules;
    ORR_VEC(int) script; // the script's modules: which of them
    ORR_VEC(buffer) buffers;
    ORR_VEC(orr_move) moves; // of the buffers, by address
    cu_address log, used, nowhere, counts, tbs, cells, table;
    uint64_t counts_bytes, tbs_bytes, cells_bytes, table_bytes;
    bool shared;      // memory is the host's own
    uint64_t told;    // up to where the driver knows of it
    uint8_t *kept[2]; // copies of it
    orr_elsewhere there;
    orr_native_stats stats;
};

static inline uint64_t blocks_of(const orr_launch *l) {
    return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}
static inline uint32_t warps_of(const orr_launch *l) {
    return (l->block[0] * l->block[1] * l->block[2] + 31) / 32;
}

// native.c
bool orr_native_allocate(orr_native *v, cu_address *a, uint64_t bytes, const char *what, orr_err *e); // once
void orr_native_make_moves(orr_native *v);
// Keeps what kernels may change as it is now, or puts it back: as it is before a slice, or before the launch.
enum { BEFORE_SLICE, BEFORE_LAUNCH };
bool orr_native_save(orr_native *v, int which, bool back, orr_err *e);
// Can it run there? And this thread is the one that asks the driver now.
bool orr_native_ready(orr_native *v, const orr_launch *l, orr_err *e);
// Thread blocks [first, first + n), as one of the kernel's copies: "run", "rec", "cnt", "tal".
bool orr_native_launch(orr_native *v, const orr_launch *l, const char *copy, uint64_t first, uint64_t n,
                       orr_err *e);
bool orr_native_run(orr_native *v, const orr_launch *l, uint64_t first, uint64_t to,
                    orr_err *e); // unobserved

// slices.c
orr_source *orr_native_source(void *self, const orr_launch *l, const uint64_t *blocks, uint64_t n,
                              orr_exec_counts *counts, orr_err *e);
bool orr_native_pull(orr_native *v, const orr_launch *l, const orr_tally *t,
                     orr_err *e); // those that t samples

// counts.c
bool orr_native_sums(void *self, const orr_launch *l, orr_tb_sums *tbs, uint64_t *runs, orr_err *e);
bool orr_native_run_counted(void *self, const orr_launch *l, orr_exec_counts *counts, orr_err *e);
bool orr_native_tally(void *self, const orr_launch *l, const orr_tally *t, orr_exec_counts *counts,
                      orr_err *e);

#endif
