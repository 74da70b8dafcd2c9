// The evidence behind a value, as its comment says it. Private to gpu/.
#ifndef ORR_GPU_EVIDENCE_H
#define ORR_GPU_EVIDENCE_H

#include "gpu/value.h"

typedef struct gpu_evidence {
    int kind;           // enum orr_evidence
    const char *source; // what stands behind the word, "" when nothing does
    const char *chip;   // `inherited from NAME`: that name; else NULL
} gpu_evidence;

// The evidence in a comment s[0..n), ORR_NO_EVIDENCE when it begins with none of the words.
gpu_evidence gpu_evidence_read(const char *s, size_t n, orr_arena *a);

#endif
