// All models on the same kernels, side by side: what each says, how far it is from the cycle model and from
// what was measured, and what it costs (said by models.c).
#ifndef ORR_LAB_MODELS_H
#define ORR_LAB_MODELS_H

#include "model/model.h"

#define ORR_SIDE_MODELS 8

typedef struct orr_side {   // what one model says of a kernel; all launches of it together
    double cycles, time_ns; // NAN: no prediction
    double measured;        // of the cycles, those of launches that were measured
    double seconds;         // of the host, execution included
    uint32_t launches;
    const char *failure; // NULL: none
} orr_side;

typedef struct orr_side_kernel {
    const char *name;
    uint32_t launches;
    uint32_t measured_launches;
    double hardware; // cycles, of the launches that were measured; NAN: none was
    double execute;  // seconds of plain execution; NAN: it came from a file
    orr_side models[ORR_SIDE_MODELS];
} orr_side_kernel;

typedef struct orr_side_input {
    const char *input, *size, *source; // source: ptx, sass, trace
    const char *cache;                 // "flushed", "warm", "": nothing was measured
    ORR_VEC(orr_side_kernel) kernels;
    const char *failure; // it could not be executed at all; NULL: it could
} orr_side_input;

typedef struct orr_sides {
    const char *gpu, *hw_gpu; // hw_gpu "": nothing was measured
    int threads;
    const orr_model *models[ORR_SIDE_MODELS];
    int nmodels;
    int cycle; // which of them is the cycle model; -1: it was not asked for
    ORR_VEC(orr_side_input) inputs;
    orr_arena arena;
} orr_sides;

typedef struct orr_side_average { // of one model over all kernels
    size_t kernels, failed;
    size_t cycle_errors, hardware_errors; // kernels that have one
    double cycle_error, cycle_worst;      // mean and largest of |error| in percent, against the cycle model
    double hardware_error, hardware_worst;
    double hardware_within_10; // share of kernels with |error| < 10, in percent
    double seconds;
    double speedup; // all seconds of the cycle model over all of this; NAN
} orr_side_average;

double orr_side_error(double predicted, double reference); // signed, in percent; NAN: cannot be said
void orr_sides_average(const orr_sides *s, int model, orr_side_average *a);
void orr_sides_text(const orr_sides *s, orr_text *out);
void orr_sides_csv(const orr_sides *s, orr_text *out);
void orr_sides_json(const orr_sides *s, orr_text *out);
void orr_sides_free(orr_sides *s);

#endif
