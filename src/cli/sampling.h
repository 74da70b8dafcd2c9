// Sampling of an INPUT's launches: what `run --sample` and `sample study` share (sampling.c).
#ifndef ORR_CLI_SAMPLING_H
#define ORR_CLI_SAMPLING_H

#include "cli/input.h"
#include "sample/sample.h"

typedef struct cli_sampling {
    orr_sampling_profile profile;
    uint64_t expected; // digest of the INPUT; 0: whatever
    orr_plan plan;
    orr_sample_options o;
    bool *warm;             // by launch: it is executed and leaves its lines in L2
    size_t at;              // launches so far
    orr_sample_result *out; // in the result's arena
    double profile_seconds, plan_seconds;
} cli_sampling;

// An INPUT's launches through a model, and what came out to `done` while the kernels are still there (run.c).
typedef struct cli_pass {
    const cli_options *o;
    const orr_gpu *gpu;
    const orr_model *model;
    cli_sampling *sampling; // NULL: everything is simulated
    orr_pieces *pieces;
    void (*done)(void *arg, orr_result *r);
    void *arg;
} cli_pass;
bool cli_pass_run(const cli_pass *p, const cli_sets *sets, const char *input, orr_err *e);

// A "model" that fills a profile: result.state is a cli_sampling.
extern const orr_model cli_profiling;

// --sample, --warm, --profile as they were given; false: they make no sense.
bool cli_sampling_options(const cli_options *o, const orr_gpu *gpu, orr_sample_options *s, orr_err *e);
// What an INPUT with these options is, so that a profile of something else is not used.
uint64_t cli_input_digest(const cli_options *o, const char *input, const char *source);
// The profile is there: which launches.
void cli_sampling_plan(cli_sampling *s);
// The next launch: simulated, in part, or executed.
bool cli_sampling_launch(cli_sampling *s, const orr_model *m, const orr_gpu *gpu, const orr_work *w,
                         orr_result *r, orr_err *e);
// All have run: those that others stand for get their cycles, and r->sample says how.
bool cli_sampling_end(cli_sampling *s, const orr_gpu *gpu, orr_result *r, orr_err *e);
void cli_sampling_free(cli_sampling *s);

#endif
