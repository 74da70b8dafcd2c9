// A parameter's description, and its value between text and the struct. Private to gpu/.
#ifndef ORR_GPU_VALUE_H
#define ORR_GPU_VALUE_H

#include "gpu/gpu.h"

enum gpu_kind { GPU_INT, GPU_SIZE, GPU_REAL, GPU_BOOL, GPU_ENUM, GPU_TEXT, GPU_LIST, GPU_ROW };

typedef struct gpu_param { // a line of params.def
    const char *key;
    enum gpu_kind kind;
    const char *unit;
    double lo, hi;
    const char *def; // NULL: required
    const char *meaning;
    size_t offset; // of the field in its struct
} gpu_param;

// Parameters of a description that belong together: the GPU's own (the first group), those of a unit, of a
// class.
typedef struct gpu_group {
    const char *lead, *name; // what their keys begin with: "unit.", NAME; "", "" of the GPU's own
    const gpu_param *param;
    int n;
    const void *base;             // the struct that they are in
    const orr_gpu_origin *origin; // [n]
} gpu_group;
int gpu_groups(const orr_gpu *g); // how many there are
gpu_group gpu_group_at(const orr_gpu *g, int i);
void gpu_group_key(const gpu_group *x, int i, orr_text *out); // of its parameter i

extern const gpu_param gpu_params[ORR_GPU_PARAMS];
extern const gpu_param gpu_unit_params[ORR_GPU_UNIT_PARAMS];
extern const gpu_param gpu_op_params[ORR_GPU_OP_PARAMS];

// Reads s[0..n) into p's field of the struct at `base`. When it cannot, says in `why` what is wrong.
bool gpu_value_read(const gpu_param *p, void *base, const char *s, size_t n, orr_arena *a, char why[256]);
// The value as a description would have it, with its unit; and as JSON, in the parameter's own unit.
void gpu_value_text(const gpu_param *p, const void *base, orr_text *out);
void gpu_value_json(const gpu_param *p, const void *base, orr_text *out);
// The part of a path that tells a description: after the last "gpus/", else all of it.
const char *gpu_label(const char *path);

#endif
