// Sampling of an INPUT's launches: what `run --sample` and `sample study` share (sampled.c).
#ifndef ORR_SAMPLE_SAMPLED_H
#define ORR_SAMPLE_SAMPLED_H

#include "input/input.h"
#include "sample/sample.h"

typedef struct orr_sampled {
    orr_sampling_profile profile;
    uint64_t expected; // digest of the INPUT; 0: whatever
    orr_plan plan;
    orr_sample_options o;
    bool *warm;             // by launch: it is executed and leaves its lines in L2
    size_t at;              // launches so far
    orr_sample_result *out; // in the result's arena
    double profile_seconds, plan_seconds;
} orr_sampled;

// A "model" that fills a profile: result.state is an orr_sampled.
extern const orr_model orr_profiling;

// How --warm and --precision were given (NULL: they were not); false: they make no sense.
bool orr_sampled_options(const char *warm, const char *precision, const orr_gpu *gpu, orr_sample_options *s,
                         orr_err *e);
// What an INPUT with these options is, so that a profile of something else is not used.
uint64_t orr_input_digest(const orr_input_options *o, const char *input);
// The profile is there: which launches.
void orr_sampled_plan(orr_sampled *s);
// The next launch: simulated, in part, or executed.
bool orr_sampled_launch(orr_sampled *s, const orr_model *m, const orr_gpu *gpu, const orr_work *w,
                        orr_result *r, orr_err *e);
// All have run: those that others stand for get their cycles, and r->sample says how.
bool orr_sampled_end(orr_sampled *s, const orr_gpu *gpu, orr_result *r, orr_err *e);
void orr_sampled_free(orr_sampled *s);

#endif
