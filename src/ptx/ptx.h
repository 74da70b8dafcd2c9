// PTX in: text to module, and, on demand, to kernels.
#ifndef ORR_PTX_H
#define ORR_PTX_H

#include "isa/isa.h"

// Parse a module. The text need not end in 0. A syntax error: NULL, "path:line: ...".
// An instruction that is not supported is only an error for the kernel that reaches it, when that is
// loaded with module->load(module, name, e).
orr_module *orr_ptx_parse(const char *path, const char *text, size_t n, orr_err *e);
orr_module *orr_ptx_open(const char *path, orr_err *e);

#endif
