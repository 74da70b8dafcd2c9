// What a verdict rests on: the keys of the description that a resource's peak comes from, or the latency that
// warps wait for, where nobody measured or published their values for this GPU. A prediction is no better
// than they are, so the report names them.
#include "report/report.h"

#include <string.h>

enum { KEYS = 4 };
typedef struct behind {
    const char *resource;
    const char *key[KEYS];
} behind;

static const behind resources[] = {
    {"issue", {"core.schedulers", "core.issue", "core.issue_interval"}},
    {"shared", {"shared.banks", "shared.bank_bytes"}},
    {"L1", {"l1.bandwidth", "l1.banks", "l1.word_banks"}},
    {"crossbar", {"xbar.request", "xbar.reply", "xbar.gpc_reply"}},
    {"L2", {"l2.bandwidth", "l2.write_bandwidth", "l2.slices", "clock.l2"}},
    {"L2 slice", {"l2.slices", "l2.hash", "l2.bandwidth", "clock.l2"}},
    {"L2 atomics", {"l2.atomic", "l2.atomic_words", "l2.atomic_float", "clock.l2"}},
    {"DRAM", {"dram.bandwidth", "dram.efficiency"}},
    {"DRAM rows", {"dram.trrd", "dram.trc", "dram.banks"}},
    {"launch", {"launch.overhead", "profiler.overhead"}},
    {"block starts", {"launch.block_interval"}},
};

static const char *const *latencies(int stall) {
    static const char *const loads[KEYS] = {"l1.latency", "l2.latency", "l2.far_latency", "dram.latency"};
    static const char *const near[KEYS] = {"shared.latency", "op.shfl.latency", "op.sfu.latency"};
    static const char *const code[KEYS] = {"icache.l0", "icache.l1", "icache.l1_latency",
                                           "icache.l2_latency"};
    static const char *const constants[KEYS] = {"const.latency", "const.l15_latency"};
    static const char *const fences[KEYS] = {"core.fence_block", "core.fence_gpu"};
    static const char *const barriers[KEYS] = {"op.barrier.latency"};
    static const char *const branches[KEYS] = {"op.branch.latency", "core.branch_wait"};
    static const char *const arithmetic[KEYS] = {"op.int.latency", "op.fp32.latency", "op.fp64.latency"};
    static const char *const nothing[KEYS] = {NULL};
    static const char *const products[KEYS] = {"tensor.group_columns", "tensor.group_latency"};
    switch (stall) {
    case ORR_STALL_GMMA: return products;
    case ORR_STALL_LONG: return loads;
    case ORR_STALL_SHORT: return near;
    case ORR_STALL_FETCH: return code;
    case ORR_STALL_CONSTANT: return constants;
    case ORR_STALL_MEMBAR: return fences;
    case ORR_STALL_BARRIER: return barriers;
    case ORR_STALL_BRANCH: return branches;
    case ORR_STALL_WAIT: return arithmetic;
    default: return nothing;
    }
}

static void add(const orr_gpu *g, const char *key, char *to, size_t n) {
    const orr_gpu_origin *o = key ? orr_gpu_origin_of(g, key) : NULL;
    enum orr_evidence kind = o ? orr_evidence_of(g, o) : ORR_NO_EVIDENCE;
    if (kind != ORR_ASSUMED && kind != ORR_INHERITED) return;
    size_t at = strlen(to);
    snprintf(to + at, n - at, "%s%s (%s%s%s)", at ? ", " : "", key, orr_evidence_name[kind],
             kind == ORR_INHERITED && o->chip ? " from " : "",
             kind == ORR_INHERITED && o->chip ? o->chip : "");
}

void orr_rests_on(const orr_gpu *g, const char *resource, int stall, char *to, size_t n) {
    to[0] = 0;
    const char *const *keys = NULL;
    for (size_t i = 0; resource && i < sizeof resources / sizeof resources[0]; i++)
        if (strcmp(resources[i].resource, resource) == 0) keys = resources[i].key;
    if (!resource) keys = latencies(stall);
    for (int k = 0; keys && k < KEYS; k++) add(g, keys[k], to, n);
    if (keys || !resource) return;
    char key[ORR_GPU_NAME_MAX + 20]; // a unit
    snprintf(key, sizeof key, "unit.%s.count", resource);
    add(g, key, to, n);
    snprintf(key, sizeof key, "unit.%s.lanes", resource);
    add(g, key, to, n);
}
