// What would help: an INPUT's launches, timed as they are and with one thing ideal at a time.
//
//   ideal streams   the same warps with other addresses: a line's accesses in order, without bank conflicts,
//                   what a block has loaded already near at hand (streams.c);
//   ideals          what may be made ideal on a GPU and for a kernel: keys of the description, streams
//                   (ideals.def, ideals.c);
//   lines           what each source line asks of memory, from the streams alone (lines.c);
//   explanation     which ideals are worth trying, what each is worth, which hide each other (explain.c);
//   said            as text and JSON, with advice (say.c).
//
// The launches are executed once (sweep's tape); every ideal replays the tape through the model. What an
// ideal is worth is the model's answer, never a formula.
#ifndef ORR_EXPLAIN_H
#define ORR_EXPLAIN_H

#include "report/report.h"
#include "sweep/sweep.h"

// ---- ideal streams (streams.c) --------------------------------------------------------------------
enum orr_ideal_access {
    ORR_ACCESS_AS_IS,
    ORR_ACCESS_IN_ORDER, // global: a block's lanes get the same addresses, dealt out in ascending order
    ORR_ACCESS_PACKED,   // global: the same, and without gaps between them
    ORR_ACCESS_STAGED,  // global loads: the block loads each element once, in order; the rest is near at hand
    ORR_ACCESS_ONCE,    // loads and atomics: what the block has asked for before is not asked for again
    ORR_ACCESS_BANKS,   // shared: each lane has a bank of its own
    ORR_ACCESS_QUARTER, // 4 x 4 results a thread: one of the kernel's loads in four is made
    ORR_ACCESSES
};

// How each instruction of a kernel accesses memory. Instructions of one group (a source line) are put in
// order together.
typedef struct orr_ideal_kernel {
    const orr_kernel *kernel;
    uint8_t *how;    // [ninsts] enum orr_ideal_access
    uint32_t *group; // [ninsts]
    uint32_t ninsts; // of the arrays
} orr_ideal_kernel;

typedef struct orr_ideal_stream orr_ideal_stream;
// A source of the same launch: pulls from `from`, which must outlive it. Its close frees nothing of `from`.
orr_ideal_stream *orr_ideal_stream_new(void);
orr_source *orr_ideal_stream_open(orr_ideal_stream *s, orr_source *from, const orr_ideal_kernel *k);
void orr_ideal_stream_free(orr_ideal_stream *s);

// ---- source lines (lines.c) -------------------------------------------------------------------------
// What the ideal streams can change: loads, stores and atomics of lanes.
enum orr_access_kind { ORR_ACCESS_OTHER, ORR_ACCESS_LOADS, ORR_ACCESS_STORES, ORR_ACCESS_ATOMICS };

typedef struct orr_line_use { // a line's accesses of one kind, of one memory
    const orr_kernel *kernel;
    const char *file; // NULL: `line` is one of the PTX, or an address of machine code
    uint32_t line;
    uint8_t space; // ORR_SPACE_GLOBAL or ORR_SPACE_SHARED
    enum orr_access_kind kind;
    uint32_t also; // further lines of the kernel that it stands for: all accesses of this kind and memory
    uint64_t requests, lanes, bytes;
    uint64_t sectors, ideal_sectors; // global
    uint64_t passes, phases;         // shared: passes of the banks, and how few would do
    uint64_t repeated;               // lanes that ask for what their block has asked for before
    uint64_t sectors_in_order;       // global: sectors of the same addresses in ascending order
} orr_line_use;
typedef ORR_VEC(orr_line_use) orr_line_uses;
// All lines of all kernels on the tape, in order of first instruction. False with e set: damaged streams.
bool orr_line_uses_make(const orr_tape *t, orr_line_uses *all, orr_err *e);
uint32_t orr_inst_line(const orr_kernel *k, const orr_inst *i, const char **file); // where it stands
enum orr_access_kind orr_inst_access(const orr_inst *i);
uint32_t orr_line_group(const orr_kernel *k, const orr_inst *i); // a line's accesses of one kind

// ---- ideals (ideals.c) --------------------------------------------------------------------------------
#define ORR_IDEAL_SETS 24
typedef struct orr_ideal {
    const char *name;   // "l2_latency"
    const char *title;  // "L2 answers as fast as L1"
    const char *advice; // what a programmer can do; NULL: nothing but another GPU
    const char *sets[ORR_IDEAL_SETS];
    int nsets;
    enum orr_ideal_access access; // of `use`'s line
    const orr_line_use *use;      // NULL: it is of the description alone
    double before, after;         // of `use`: sectors a request, passes a request, times a byte is asked for
} orr_ideal;

// ---- the explanation (explain.c) ----------------------------------------------------------------------
typedef struct orr_trial_line {
    const char *file; // NULL: as in orr_line_use
    uint32_t line;
    double cycles; // of the kernel, by the line's share of warp cycles
    uint64_t stalls[ORR_STALLS];
} orr_trial_line;

typedef struct orr_trial_kernel { // all launches of a kernel
    const char *name;
    const orr_kernel *kernel;
    double cycles, time_ns, overhead;
    uint64_t warp_cycles, stalls[ORR_STALLS];
    char verdict[900];
    orr_trial_line *lines; // most cycles first
    size_t nlines;
} orr_trial_kernel;

typedef struct orr_trial { // the tape through the model, once
    int first, second;     // of the ideals; -1: none
    double cycles, time_ns, seconds;
    orr_trial_kernel *kernels;
    size_t nkernels;
    bool failed, stopped; // stopped: before it was done; failed too
    char message[400];
} orr_trial;

typedef struct orr_explanation {
    const char *input, *size, *gpu, *model, *source;
    const char *const *sets; // the GPU's, for all trials
    int nsets, threads;
    const orr_model *timed_by;
    const orr_tape *tape;
    orr_line_uses uses;
    ORR_VEC(orr_ideal) ideals;
    ORR_VEC(orr_trial) trials; // the first is the run as it is; then one an ideal, in their order; then pairs
    size_t npairs;
    bool stopped; // before all of them were tried
    double seconds, execute_seconds;
    orr_progress *progress;
    orr_arena arena;
} orr_explanation;
bool orr_explain_tape(orr_explanation *x, orr_err *e);
void orr_explanation_free(orr_explanation *x);
// What a trial saves: 0.41 of the time as it is; negative: it takes longer.
double orr_trial_gain(const orr_explanation *x, const orr_trial *t);

// ---- ideals that are worth trying (ideals.c) ----------------------------------------------------------
// By what the run as it is waited for and used: `costs` are its kernels.
void orr_ideals_choose(orr_explanation *x, const orr_gpu *g, const orr_costs *costs);

// ---- said (say.c) -------------------------------------------------------------------------------------
void orr_explanation_text(const orr_explanation *x, orr_text *out);
void orr_explanation_json(const orr_explanation *x, orr_text *out);

#endif
