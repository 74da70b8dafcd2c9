// How many thread blocks of a kernel an SM holds at once, by NVIDIA's rules.
//
// The rules are those of the CUDA occupancy calculator (the spreadsheet of the CUDA toolkits up to 11
// and the header that replaced it); every number in them is a parameter of the GPU:
//
//   warps      an SM has so many warp slots; a block takes ceil(threads / 32) of them.
//   blocks     an SM has so many block slots.
//   registers  are allocated to warps. A warp takes regs x 32, rounded up to the allocation unit.
//              The register file is in limit.warp_unit equal partitions and a warp lives in one, so
//              an SM holds floor(partition / warp) warps in each. A launch is refused when the
//              block's warps, rounded up to a multiple of the partitions, need more than a block may
//              have. Compute capability 2.x has a wider unit for some register counts; before 2.0
//              registers were allocated to whole blocks.
//   shared     static + dynamic + what the system reserves, rounded up to the allocation unit.
//   barriers   where they are counted (compute capability 9.0 on): named barriers of the SM over
//              those of the block.
#include "gpu/gpu.h"

const char *const orr_limiter_name[ORR_LIMITERS] = {"warps", "blocks", "registers", "shared memory",
                                                    "barriers"};

static int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }
static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

// The smallest carve-out that holds `bytes`. A GPU without any has shared.per_sm and nothing else.
static int64_t carveout_for(const orr_gpu *g, int64_t bytes) {
    for (int i = 0; i < g->shared_carveouts.n; i++)
        if (g->shared_carveouts.at[i] >= bytes) return min64(g->shared_carveouts.at[i], g->shared_per_sm);
    return g->shared_per_sm;
}

// The smallest carve-out that holds `fit` blocks of `block` bytes, or as many as can be held.
static int64_t least_carveout(const orr_gpu *g, int64_t block, int64_t fit) {
    return carveout_for(g, min64(fit, block ? g->shared_per_sm / block : 0) * block);
}

// What the driver takes for blocks of `block` bytes of which `fit` have room for their warps. Besides those
// it makes room for others up to shared.carveout_spare: twice as many, four times as many where they use no
// shared memory themselves, but not for blocks of the largest size. Registers do not count (H200: 117 kernels
// of 32 to 1024 threads with 0 to 100 KB under the profiler, launch__shared_mem_config_size; all of them as
// here).
static int64_t driver_carveout(const orr_gpu *g, int threads, int64_t shared, int64_t block, int64_t fit) {
    int64_t least = least_carveout(g, block, fit);
    int64_t times = threads >= g->limit_block_threads ? 1 : shared ? 2 : 4;
    int64_t ample =
        min64(carveout_for(g, min64(fit * times, g->limit_sm_blocks) * block), g->shared_carveout_spare);
    return ample > least ? ample : least;
}

static int64_t register_limit(const orr_gpu *g, int warps, int regs, orr_occupancy_result *r) {
    int64_t unit = g->limit_register_unit, group = g->limit_warp_unit;
    for (int i = 0; i < g->limit_register_odd.n; i++)
        if (g->limit_register_odd.at[i] == regs) unit = g->limit_register_unit_odd;
    if (g->limit_register_granularity == ORR_REGS_PER_BLOCK) {
        int64_t block = round_up((int64_t)regs * g->limit_warp * round_up(warps, group), unit);
        r->registers_per_block = block;
        return block ? g->limit_sm_registers / block : ORR_UNLIMITED;
    }
    int64_t warp = round_up((int64_t)regs * g->limit_warp, unit);
    r->registers_per_block = warp * warps;
    if (regs > g->limit_thread_registers || warp * round_up(warps, group) > g->limit_block_registers)
        return 0;
    return warp ? g->limit_sm_registers / group / warp * group / warps : ORR_UNLIMITED;
}

static int64_t shared_limit(const orr_gpu *g, int64_t bytes, orr_occupancy_result *r) {
    int64_t block = round_up(bytes + g->shared_reserved, g->shared_unit);
    r->shared_per_block = block;
    int64_t sm = g->shared_per_sm;
    r->shared_carveout = sm;
    if (block > g->shared_per_block_optin + g->shared_reserved) return 0;
    if (g->shared_prefer >= 0) {
        // A preference too small for one block is overruled: from Volta on by the next carve-out that
        // is large enough, before by the largest.
        int64_t wish = carveout_for(g, g->shared_prefer * g->shared_per_sm / 100);
        if (wish >= block)
            sm = wish;
        else if (g->cc_major >= 7)
            sm = carveout_for(g, block);
    }
    r->shared_carveout = sm;
    return block ? sm / block : ORR_UNLIMITED;
}

bool orr_occupancy(const orr_gpu *g, int threads, int regs, int64_t shared, int barriers,
                   orr_occupancy_result *out) {
    orr_occupancy_result r = {0};
    *out = r;
    if (threads < 1 || regs < 0 || shared < 0 || barriers < 0) return false;
    if (threads > 1 << 20 || regs > 1 << 16 || shared > (int64_t)1 << 40) return false;

    int slots = (int)min64(g->limit_sm_warps, g->limit_sm_threads / g->limit_warp);
    int warps = (threads + g->limit_warp - 1) / g->limit_warp;
    int64_t limit[ORR_LIMITERS];
    // Where registers go to blocks (before 2.0), so do warp slots: rounded up to the granularity.
    int64_t taken =
        g->limit_register_granularity == ORR_REGS_PER_BLOCK ? round_up(warps, g->limit_warp_unit) : warps;
    limit[ORR_LIMIT_WARPS] = threads > g->limit_block_threads ? 0 : slots / taken;
    limit[ORR_LIMIT_BLOCKS] = g->limit_sm_blocks;
    limit[ORR_LIMIT_REGISTERS] = register_limit(g, warps, regs, &r);
    limit[ORR_LIMIT_SHARED] = shared_limit(g, shared, &r);
    limit[ORR_LIMIT_BARRIERS] = barriers > g->limit_block_barriers     ? 0
                                : barriers && g->limit_sm_barriers > 0 ? g->limit_sm_barriers / barriers
                                                                       : ORR_UNLIMITED;
    r.limiter = ORR_LIMIT_WARPS;
    for (int i = 0; i < ORR_LIMITERS; i++) {
        r.limit[i] = (int)min64(limit[i], ORR_UNLIMITED);
        if (r.limit[i] < r.limit[r.limiter]) r.limiter = i;
    }
    r.blocks = r.limit[r.limiter];
    r.warps_per_block = warps;
    r.warps = r.blocks * warps;
    r.percent = slots ? 100.0 * r.warps / slots : 0;
    // Without a preference the driver gives L1 what the blocks leave; before Volta it gave it the least.
    if (g->shared_prefer < 0 && g->cc_major >= 7)
        r.shared_carveout = g->shared_carveout_spare && r.blocks
                                ? driver_carveout(g, threads, shared, r.shared_per_block,
                                                  min64(limit[ORR_LIMIT_WARPS], limit[ORR_LIMIT_BLOCKS]))
                                : carveout_for(g, r.blocks * r.shared_per_block);
    r.shared_least =
        least_carveout(g, r.shared_per_block, min64(limit[ORR_LIMIT_WARPS], limit[ORR_LIMIT_BLOCKS]));
    r.l1_bytes = g->shared_carveouts.n ? g->l1_size - r.shared_carveout : g->l1_size;
    if (r.l1_bytes < 0) r.l1_bytes = 0;
    *out = r;
    return true;
}

static const char *const too_many[ORR_LIMITERS] = {"threads", "blocks", "registers", "bytes of shared memory",
                                                   "barriers"};
static const char *const json_name[ORR_LIMITERS] = {"warps", "blocks", "registers", "shared_memory",
                                                    "barriers"};

void orr_occupancy_print(const orr_gpu *g, const orr_occupancy_result *r, orr_text *out) {
    if (r->blocks == 0)
        orr_text_add(out, "cannot be launched: one block has too many %s\n", too_many[r->limiter]);
    else
        orr_text_add(out, "%d blocks, %d of %d warps per SM: %.4g %% occupancy, limited by %s\n", r->blocks,
                     r->warps, (int)min64(g->limit_sm_warps, g->limit_sm_threads / g->limit_warp), r->percent,
                     orr_limiter_name[r->limiter]);
    for (int i = 0; i < ORR_LIMITERS; i++) {
        if (r->limit[i] == ORR_UNLIMITED)
            orr_text_add(out, "  %-14s  any number of blocks", orr_limiter_name[i]);
        else
            orr_text_add(out, "  %-14s  %3d blocks", orr_limiter_name[i], r->limit[i]);
        if (i == ORR_LIMIT_WARPS) orr_text_add(out, " (%d warps each)", r->warps_per_block);
        if (i == ORR_LIMIT_REGISTERS)
            orr_text_add(out, " (%lld registers each)", (long long)r->registers_per_block);
        if (i == ORR_LIMIT_SHARED) orr_text_add(out, " (%lld bytes each)", (long long)r->shared_per_block);
        orr_text_add(out, "\n");
    }
    if (g->shared_carveouts.n)
        orr_text_add(out, "  shared memory takes %lld KB of an SM's storage and leaves %lld KB to L1\n",
                     (long long)(r->shared_carveout / 1024), (long long)(r->l1_bytes / 1024));
}

void orr_occupancy_json(const orr_occupancy_result *r, orr_text *out) {
    orr_text_add(out,
                 "{\"blocks_per_sm\": %d, \"warps_per_sm\": %d, \"percent\": %.15g, \"limiter\": \"%s\", ",
                 r->blocks, r->warps, r->percent, json_name[r->limiter]);
    orr_text_add(out, "\"limits\": {");
    for (int i = 0; i < ORR_LIMITERS; i++) {
        orr_text_add(out, "%s\"%s\": ", i ? ", " : "", json_name[i]);
        if (r->limit[i] == ORR_UNLIMITED)
            orr_text_add(out, "null");
        else
            orr_text_add(out, "%d", r->limit[i]);
    }
    orr_text_add(
        out, "}, \"warps_per_block\": %d, \"registers_per_block\": %lld, \"shared_bytes_per_block\": %lld, ",
        r->warps_per_block, (long long)r->registers_per_block, (long long)r->shared_per_block);
    orr_text_add(out, "\"shared_carveout_bytes\": %lld, \"l1_bytes\": %lld}\n", (long long)r->shared_carveout,
                 (long long)r->l1_bytes);
}
