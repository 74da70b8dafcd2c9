// Sampling: simulate a few thread blocks and predict the launch, a few launches and predict the program.
//
// The method is TBPoint's (J.-C. Huang, L. Nai, H. Kim, H.-H. S. Lee, "TBPoint: Reducing Simulation Time for
// Large-Scale GPGPU Kernels", IPDPS 2014): a profile that knows no hardware says which launches are alike and
// where in a launch neighbouring thread blocks are; of each group of launches one is simulated, of each
// stretch of alike thread blocks as many as it takes until the IPC is steady. docs/how/sampling.md says what
// differs.
#ifndef ORR_SAMPLE_H
#define ORR_SAMPLE_H

#include "model/model.h"

// ---- lines of memory (lines.c) ------------------------------------------------------------------
typedef struct orr_line_row { // 64 lines of 128 bytes that follow each other
    uint64_t group, lines;    // its number; one bit for each line in the set, 0: the slot is free
} orr_line_row;
typedef struct orr_line_set {
    orr_line_row *at;
    size_t n, room; // groups; slots, a power of two
} orr_line_set;
void orr_line_set_add(orr_line_set *s, uint64_t line);
uint64_t orr_line_set_merge(orr_line_set *s, const orr_line_set *from); // how many were not in s yet
void orr_line_set_free(orr_line_set *s);

// ---- the profile (profile.c, profile_file.c) ----------------------------------------------------
typedef struct orr_sp_run { // thread blocks that follow each other and did equally much
    uint64_t count;
    uint64_t insts, requests; // of each: warp instructions; lines of global and local memory asked for
} orr_sp_run;

typedef struct orr_sp_launch {
    uint32_t kernel; // index in kernels
    uint64_t blocks;
    uint64_t thread_insts, warp_insts, requests;
    uint64_t first;   // lines of global memory that no launch before has touched
    double cov;       // coefficient of variation of the thread blocks' thread instructions
    orr_sp_run *runs; // of all blocks, in grid order
    uint32_t nruns;
    uint64_t *vector; // [kernels[kernel].ncode] warp instructions by basic block
} orr_sp_launch;

typedef struct orr_sp_kernel {
    const char *name;
    uint32_t ncode; // basic blocks
} orr_sp_kernel;

typedef struct orr_sampling_profile {
    uint64_t digest; // of what was profiled: code, shapes and data
    ORR_VEC(orr_sp_kernel) kernels;
    ORR_VEC(orr_sp_launch) launches;
    orr_line_set touched; // by the launches that were executed for it; not in its file
    orr_arena arena;
} orr_sampling_profile;

void orr_sp_free(orr_sampling_profile *p);
// Executes a launch and adds it. `w` has either a launch or a source.
bool orr_sp_add(orr_sampling_profile *p, const orr_work *w, orr_err *e);
bool orr_sp_write(const orr_sampling_profile *p, const char *path, orr_err *e);
// All of a file is checked. *p must be zero; it is filled.
bool orr_sp_read(orr_sampling_profile *p, const char *path, orr_err *e);
bool orr_sp_parse(orr_sampling_profile *p, const uint8_t *bytes, size_t n, const char *name, orr_err *e);
// The blocks of a launch one by one: insts and requests have room for l->blocks.
void orr_sp_expand(const orr_sp_launch *l, uint64_t *insts, uint64_t *requests);

// ---- clusters (cluster.c) -----------------------------------------------------------------------
// Hierarchical clustering with complete linkage: no two points of a cluster are further apart (Euclid) than
// `threshold`. Points are n rows of `dims`. Fills cluster[n], numbered from 0 by their first point; returns
// how many there are.
uint32_t orr_cluster(const double *points, size_t n, int dims, double threshold, uint32_t *cluster);

// ---- which launches (plan.c) --------------------------------------------------------------------
#define ORR_SP_INTER     0.1  // section V: distance threshold between launches,
#define ORR_SP_INTRA     0.2  // between epochs,
#define ORR_SP_VARIATION 0.3  // variation factor of an epoch,
#define ORR_SP_STEADY    0.1  // section IV-B2: difference of two sampling units
#define ORR_SP_PRECISION 0.05 // not TBPoint's: half the width of the confidence interval of a region's IPC,
#define ORR_SP_TOTAL     (ORR_SP_PRECISION / 1.96) // and so of the cycles of all launches: standard deviation

typedef struct orr_plan_part {
    uint32_t launch; // simulated
    double weight;
} orr_plan_part;
typedef struct orr_plan_launch {
    uint32_t cluster;
    uint32_t by;          // the simulated launch that weighs most; itself: it is simulated
    uint32_t nparts;      // its cycles less the launch's overhead: the weighted sum of theirs
    orr_plan_part *parts; // in the plan's arena
} orr_plan_launch;
typedef struct orr_plan {
    orr_plan_launch *launches; // as many as the profile has
    uint32_t nclusters;
    uint32_t nsimulated;
    double variance; // of the sum, as a share of it, by what features leave open,
    double *kernels; // and of each kernel's own sum, as a share of that; in the arena
    orr_arena arena;
} orr_plan;
// target: standard deviation of the sum; 0: one launch of each cluster.
orr_plan orr_plan_make(const orr_sampling_profile *p, double threshold, double target);
void orr_plan_free(orr_plan *p);

// ---- launches from others (krige.c) -------------------------------------------------------------
#define ORR_SP_FEATURES 8
#define ORR_SP_ALIKE    0.02 // what launches of a kernel differ by for no reason that the profile shows,
#define ORR_SP_UNEVEN   0.05 // the same where their blocks are unequal
typedef struct orr_krige {   // a kernel
    uint32_t n;              // points: launches, each with others like it
    const double *x;         // [n][ORR_SP_FEATURES]; not copied
    double *c;               // covariances given what is chosen; after _end the triangle of those chosen
    double *with_sum;        // [n] covariance with the sum over all
    double variance;         // of that sum
    uint32_t *chosen, nchosen;
    double noise; // what launches of the same features differ by: ORR_SP_ALIKE unless it is set
    bool *taken;  // [n]
} orr_krige;
// count: launches at each point; weight: of the kernel among all.
void orr_krige_begin(orr_krige *f, const double *x, const double *count, uint32_t n, double weight);
// Chooses of all kernels until the standard deviation of the sum is below the target, of each one at least.
void orr_krige_choose(orr_krige *fields, uint32_t n, double target);
void orr_krige_end(orr_krige *f);                                       // before the first _weights
void orr_krige_weights(const orr_krige *f, const double *x, double *w); // w: [nchosen]
void orr_krige_free(orr_krige *f);

// ---- which thread blocks (regions.c) ------------------------------------------------------------
typedef struct orr_region { // of alike thread blocks
    uint64_t first, end;
    uint32_t id; // its cluster
} orr_region;
// Homogeneous regions of a launch; free() what is returned. Stretches
// of one epoch are not in it: there would be nothing to leave out.
typedef struct orr_region_rule {
    uint64_t occupancy; // blocks that run at a time
    double threshold;   // epochs that are so far apart at most are of one cluster
    double variation;   // of the blocks of an epoch, at most
    bool mixed;         // a region of blocks that vary, but evenly
} orr_region_rule;
orr_region *orr_regions(const uint64_t *insts, const uint64_t *requests, uint64_t blocks,
                        orr_region_rule rule, uint32_t *n);

// ---- at simulation time (control.c) -------------------------------------------------------------
typedef struct orr_region_result {
    uint64_t first, end;           // thread blocks
    uint64_t skipped;              // of them not simulated
    uint64_t insts, skipped_insts; // warp instructions of the profile
    uint32_t units, used;          // sampling units until it was steady; of them at the end that were used
    double ipc;                    // of those
    double deviation;              // between the last two, relative
    double width;  // half of the 95 % confidence interval of the mean of those used, relative; NAN
    double cycles; // predicted for what was skipped
} orr_region_result;

typedef struct orr_launch_sample { // what became of a launch
    uint32_t cluster, by, nparts;  // as in the plan
    orr_plan_part *parts;
    bool simulated;
    uint64_t insts, simulated_insts; // warp instructions of the profile
    uint64_t blocks, simulated_blocks;
    double cycles;           // predicted, of all of it
    double simulated_cycles; // of the part that was simulated
    orr_region_result *regions;
    uint32_t nregions;
} orr_launch_sample;

typedef struct orr_sample_options {
    double inter, intra, variation, steady, precision;
    double total;      // 0: one launch of each cluster, as TBPoint
    bool warm;         // blocks and launches that are left out leave their lines in L2
    uint64_t l2_bytes; // of the GPU: no more than the last so many bytes are worth it
} orr_sample_options;
orr_sample_options orr_sample_defaults(void);

double orr_student(uint32_t df); // Student's t: 95 %, two-sided, of so many degrees of freedom

typedef struct orr_control orr_control;
orr_control *orr_control_new(const orr_sp_launch *l, const orr_sample_options *o);
orr_sampler *orr_control_sampler(orr_control *c);
// When the launch has run: fills simulated_*, regions (in `a`) and the cycles to add.
double orr_control_end(orr_control *c, orr_launch_sample *s, orr_arena *a);
void orr_control_free(orr_control *c);

// ---- the whole --------------------------------------------------------------------------------
// How much is to be believed of a sum of predictions.
typedef struct orr_sample_result {
    orr_launch_sample *launches; // as many as result launches
    size_t n;
    uint64_t insts, simulated_insts, skipped_inter, skipped_intra; // warp instructions of the profile
    uint32_t clusters, simulated;
    double cycles;
    double bound,
        confidence; // the true sum is within cycles * (1 +- bound), at this confidence; NAN: unknown
    double profile_seconds, plan_seconds;
    bool warm;
} orr_sample_result;

// ---- the model behind it (markov.c) -------------------------------------------------------------
// IPC of `n` warps, each of which stalls with probability p an instruction and then for M[x] cycles on the
// average (eq. 3): the stationary state of the chain of 2^n states, by iteration, or where all warps stall,
// which is all that is asked for, as a product.
#define ORR_MARKOV_CHAIN_MAX 16
double orr_markov_chain(double p, const double *m, int n);
double orr_markov_product(double p, const double *m, int n);
typedef struct orr_markov_study {
    double p, mean;
    int n;
    double ipc;     // average
    double within;  // share of the draws within 10 % of it
    double spread;  // 95 % of the draws are within this share of it
    double cdf[41]; // share of the draws within k / 200 of it
} orr_markov_study;
// Eq. 3 for `draws` draws of M ~ N(mean, (0.1 mean / 1.96)^2), one for each warp.
void orr_markov_draw(orr_markov_study *s, int draws, uint64_t seed);

// ---- what it is compared with (simpoint.c) ------------------------------------------------------
typedef struct orr_estimate {
    double cycles;       // predicted
    double sample;       // share of instructions that had to be simulated
    uint32_t points, of; // pieces
} orr_estimate;
// Pieces of a full simulation: kernel_of[launch] says whose blocks a piece's vector counts.
orr_estimate orr_random_estimate(const orr_pieces *p, double share, uint64_t seed);
orr_estimate orr_simpoint_estimate(const orr_pieces *p, const uint32_t *kernel_of, const uint32_t *first_dim,
                                   uint32_t dims, uint32_t max_k, uint64_t seed);

// A sequence of random numbers: the same on every host.
static inline uint64_t orr_random_next(uint64_t *state) { // splitmix64
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}
static inline double orr_random_unit(uint64_t *state) { // in [0, 1)
    return (double)(orr_random_next(state) >> 11) * 0x1p-53;
}

#endif
