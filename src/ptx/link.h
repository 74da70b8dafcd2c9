// Several PTX files to one, as nvlink joins files that nvcc compiled with -rdc=true.
#ifndef ORR_PTX_LINK_H
#define ORR_PTX_LINK_H

#include "ptx/ptx.h"

typedef struct orr_ptx_file {
    const char *name; // for messages
    const char *text; // need not end in 0
    size_t n;
} orr_ptx_file;

// One text that reads to a module with everything in them. False: one of them is no PTX, or two define the
// same name.
bool orr_ptx_link(const orr_ptx_file *files, size_t n, orr_text *out, orr_err *e);

#endif
