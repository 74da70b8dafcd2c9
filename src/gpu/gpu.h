// GPU descriptions and occupancy.
//
// A description is a text file, gpus/NAME.conf: lines of `key = value unit  # source`. A file may
// start with `inherit = "family/hopper"` and says then only what is different. params.def lists
// every key; docs/reference/gpus.md tells the format. A model reads its numbers here and hard-codes none.
#ifndef ORR_GPU_H
#define ORR_GPU_H

#include "base/base.h"

// Choices of the ENUM parameters, in the order params.def lists their names.
enum { ORR_REGS_PER_WARP, ORR_REGS_PER_BLOCK };
enum { ORR_CORE_MODERN, ORR_CORE_COLLECTOR };
enum { ORR_SCHED_LRR, ORR_SCHED_GTO, ORR_SCHED_GTY, ORR_SCHED_GTB, ORR_SCHED_OLDEST, ORR_SCHED_TWO_LEVEL };
enum { ORR_WRITE_THROUGH, ORR_WRITE_BACK, ORR_WRITE_LOCAL, ORR_WRITE_EVICT };
enum { ORR_L1_VALIDATE, ORR_L1_FETCH, ORR_L1_LAZY };
enum { ORR_HASH_IPOLY, ORR_HASH_XOR, ORR_HASH_MODULO, ORR_HASH_SHUFFLE, ORR_HASH_FOLD };
enum { ORR_L2_VALIDATE, ORR_L2_FETCH };
enum { ORR_PROFILER_ON, ORR_PROFILER_OFF };
enum { ORR_MEMORY_REAL, ORR_MEMORY_PERFECT };
enum { ORR_LAUNCH_SPREAD, ORR_LAUNCH_TPC, ORR_LAUNCH_GPC };
enum {
    ORR_DRAM_GDDR5,
    ORR_DRAM_GDDR5X,
    ORR_DRAM_GDDR6,
    ORR_DRAM_GDDR6X,
    ORR_DRAM_GDDR7,
    ORR_DRAM_HBM2,
    ORR_DRAM_HBM2E,
    ORR_DRAM_HBM3,
    ORR_DRAM_HBM3E,
};
enum { ORR_DRAM_FR_FCFS, ORR_DRAM_FCFS };

#define ORR_GPU_LIST_MAX 24
#define ORR_L1_TAG_BITS  3 // masks of l1.tag_hash: up to eight banks of tags
typedef struct orr_gpu_array {
    int n;
    int64_t at[ORR_GPU_LIST_MAX];
} orr_gpu_array;

// Why a value is what it is (evidence.c tells how a description says it).
enum orr_evidence {
    ORR_NO_EVIDENCE, // nothing is said, or the value was given by --set
    ORR_PUBLISHED,   // somebody else has printed it: where
    ORR_MEASURED,    // by a microbenchmark that is in micro/ and whose result is in hardware/
    ORR_CHOSEN,      // among several, because it does best: by what, among which
    ORR_ASSUMED,     // nobody knows: why this one
    ORR_INHERITED,   // measured or chosen on another GPU
    ORR_EVIDENCE_KINDS
};
extern const char *const orr_evidence_name[ORR_EVIDENCE_KINDS]; // "none", "published", ...

// Where a value came from, and what the file says about it.
typedef struct orr_gpu_origin {
    const char *file; // NULL: the default of params.def. "--set" for overrides.
    int line;
    const char *note;   // the comment after the value, "" when there is none
    int evidence;       // enum orr_evidence, as the file has it
    const char *source; // what the evidence is, "" when there is none
    const char *like;   // the instruction class that gave the value (op.CLASS.like), NULL: none did
    const char *chip;   // the description whose GPU a measured or chosen value is of; NULL: that of the file
} orr_gpu_origin;

// The C types of the kinds in params.def.
typedef int orr_gpu_INT;
typedef int64_t orr_gpu_SIZE;
typedef double orr_gpu_REAL;
typedef bool orr_gpu_BOOL;
typedef int orr_gpu_ENUM;
typedef const char *orr_gpu_TEXT;
typedef orr_gpu_array orr_gpu_LIST;
typedef orr_gpu_array orr_gpu_ROW;

#define ORR_GPU_FIELD(kind, key, field, unit, lo, hi, def, meaning) orr_gpu_##kind field;
#define ORR_GPU_ONE(kind, key, field, unit, lo, hi, def, meaning)   +1
#define ORR_GPU_NONE(...)

enum { // how many parameters there are of each sort
#define PARAM      ORR_GPU_ONE
#define UNIT_PARAM ORR_GPU_NONE
#define OP_PARAM   ORR_GPU_NONE
    ORR_GPU_PARAMS = 0
#include "gpu/params.def"
    ,
#undef PARAM
#undef UNIT_PARAM
#define PARAM      ORR_GPU_NONE
#define UNIT_PARAM ORR_GPU_ONE
    ORR_GPU_UNIT_PARAMS = 0
#include "gpu/params.def"
    ,
#undef UNIT_PARAM
#undef OP_PARAM
#define UNIT_PARAM ORR_GPU_NONE
#define OP_PARAM   ORR_GPU_ONE
    ORR_GPU_OP_PARAMS = 0
#include "gpu/params.def"
#undef PARAM
#undef UNIT_PARAM
#undef OP_PARAM
};

#define ORR_GPU_NAME_MAX 24
typedef struct orr_gpu_unit { // an execution unit: unit.NAME.*
    char name[ORR_GPU_NAME_MAX];
#define PARAM      ORR_GPU_NONE
#define UNIT_PARAM ORR_GPU_FIELD
#define OP_PARAM   ORR_GPU_NONE
#include "gpu/params.def"
#undef UNIT_PARAM
#undef OP_PARAM
    orr_gpu_origin origin[ORR_GPU_UNIT_PARAMS];
} orr_gpu_unit;

typedef struct orr_gpu_op { // a class of instructions: op.CLASS.*
    char name[ORR_GPU_NAME_MAX];
#define UNIT_PARAM ORR_GPU_NONE
#define OP_PARAM   ORR_GPU_FIELD
#include "gpu/params.def"
#undef PARAM
#undef UNIT_PARAM
#undef OP_PARAM
    int unit_index; // of `unit` in orr_gpu.units
    orr_gpu_origin origin[ORR_GPU_OP_PARAMS];
} orr_gpu_op;

#define ORR_GPU_UNITS_MAX 32
#define ORR_GPU_OPS_MAX   128
#define ORR_GPU_NOTES_MAX 64
typedef struct orr_gpu {
    const char *name; // "h200": the file's name without folder and .conf
    const char *path; // the file
#define PARAM      ORR_GPU_FIELD
#define UNIT_PARAM ORR_GPU_NONE
#define OP_PARAM   ORR_GPU_NONE
#include "gpu/params.def"
#undef PARAM
#undef UNIT_PARAM
#undef OP_PARAM
    orr_gpu_unit units[ORR_GPU_UNITS_MAX];
    int nunits;
    orr_gpu_op ops[ORR_GPU_OPS_MAX];
    int nops;
    // Made of the parameters when all of them are known:
    int l2_dirty_lines, l2_partial_lines, l2_completed_lines; // of all of L2 (l2.dirty_ways and so on)
    bool l1_folded;                                           // tags are in banks (l1.tag_hash)
    bool icache_warm;       // profiler.warm_code, unless there is no profiler
    double launch_overhead; // launch.overhead and profiler.overhead
    orr_gpu_origin origin[ORR_GPU_PARAMS];
    const char
        *notes[ORR_GPU_NOTES_MAX]; // what a reader of the description should know: keys under old names
    int nnotes;
    orr_arena arena;
} orr_gpu;

// A description by name, or by path when it has a slash or ends in .conf, with `key=value`
// overrides. Names are looked for in $ORRERY_DATA/gpus, the source tree's gpus/ and the installed one.
orr_gpu *orr_gpu_load(const char *name_or_file, const char *const *sets, int nsets, orr_err *e);
// The same from text; `path` is for messages and for what it inherits. The text need not end in 0.
orr_gpu *orr_gpu_parse(const char *path, const char *text, size_t n, const char *const *sets, int nsets,
                       orr_err *e);
void orr_gpu_free(orr_gpu *g);

// Names of all descriptions that can be found, sorted; free with orr_gpu_list_free.
char **orr_gpu_list(int *n);
void orr_gpu_list_free(char **names, int n);

// A value that a description or --set gives.
typedef struct orr_gpu_value {
    char key[96];
    const orr_gpu_origin *origin;
    enum orr_evidence evidence;    // for this description: what was measured on another GPU is inherited
    const struct gpu_param *param; // for gpu/ itself: how to print it
    const void *base;
} orr_gpu_value;
typedef ORR_VEC(orr_gpu_value) orr_gpu_values;
void orr_gpu_all_values(const orr_gpu *g, orr_gpu_values *all); // free(all->at)
enum orr_evidence orr_evidence_of(const orr_gpu *g, const orr_gpu_origin *o);
// Where the value of a key was said, also of `unit.NAME.KEY` and `op.CLASS.KEY`; NULL: nowhere.
const orr_gpu_origin *orr_gpu_origin_of(const orr_gpu *g, const char *key);

// The table of values and their evidence with its counts, for people and for programs.
// `seen` is the GPU that mechanisms were looked for on, or NULL: what was found there and is said nowhere of
// `g` is listed as not known of it, and is off.
void orr_gpu_print_evidence(const orr_gpu *g, const orr_gpu *seen, orr_text *out);
void orr_gpu_json_evidence(const orr_gpu *g, const orr_gpu *seen, orr_text *out);
// Text for people and JSON for programs: each parameter, its unit, where it was set, the comment.
void orr_gpu_print(const orr_gpu *g, orr_text *out);
void orr_gpu_json(const orr_gpu *g, orr_text *out);
// `orrery gpu list`: an aligned table, or a JSON array.
void orr_gpu_print_list(orr_gpu *const *g, int n, orr_text *out);
void orr_gpu_json_list(orr_gpu *const *g, int n, orr_text *out);
// Every key there is, as a Markdown table (the one in docs/reference/gpus.md).
void orr_gpu_print_keys(orr_text *out);
void orr_gpu_json_keys(orr_text *out);

// The class itself, or with its last `.part`s left out, or NULL.
const orr_gpu_op *orr_gpu_find_op(const orr_gpu *g, const char *name);
// A machine instruction's: by its mnemonic, where the description has one of that name; else by its class.
const orr_gpu_op *orr_gpu_op_for(const orr_gpu *g, const char *mnemonic, const char *op_class);
double orr_gpu_op_interval(const orr_gpu *g, const orr_gpu_op *op);
double orr_gpu_peak_gflops(const orr_gpu *g, const char *op); // two per lane and cycle: multiply-add

// ---- occupancy --------------------------------------------------------------------------------
enum orr_limiter {
    ORR_LIMIT_WARPS,
    ORR_LIMIT_BLOCKS,
    ORR_LIMIT_REGISTERS,
    ORR_LIMIT_SHARED,
    ORR_LIMIT_BARRIERS,
    ORR_LIMITERS
};
extern const char *const orr_limiter_name[ORR_LIMITERS]; // "warps", "blocks", ...
#define ORR_UNLIMITED INT32_MAX

typedef struct orr_occupancy_result {
    int blocks;              // per SM; 0: the kernel cannot be launched so
    int warps;               // per SM
    double percent;          // of the warps an SM can hold
    int limiter;             // enum orr_limiter: the first that allows no more
    int limit[ORR_LIMITERS]; // blocks each would allow alone; ORR_UNLIMITED: any number
    int warps_per_block;
    int64_t registers_per_block; // allocated, after rounding
    int64_t shared_per_block;    // allocated, after rounding and with what the system reserves
    int64_t shared_carveout;     // what shared memory takes of the storage it shares with L1
    int64_t l1_bytes;            // what that leaves for L1
    int64_t
        shared_least; // the smallest carve-out with which as many blocks fit as warps and block slots allow
} orr_occupancy_result;

// How many blocks of a kernel an SM holds. `shared_bytes` is static and dynamic shared memory
// together; `barriers` the named barriers the kernel uses. False when an argument makes no sense.
bool orr_occupancy(const orr_gpu *g, int threads_per_block, int regs_per_thread, int64_t shared_bytes,
                   int barriers, orr_occupancy_result *out);
void orr_occupancy_print(const orr_gpu *g, const orr_occupancy_result *r, orr_text *out);
void orr_occupancy_json(const orr_occupancy_result *r, orr_text *out);

#endif
