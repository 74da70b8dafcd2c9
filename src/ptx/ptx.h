// PTX in: text to module, and, on demand, to kernels.
#ifndef ORR_PTX_H
#define ORR_PTX_H

#include "isa/isa.h"

// Parse a module. The text need not end in 0. A syntax error: NULL, "path:line: ...".
// An instruction that is not supported is only an error for the kernel that reaches it, when that is
// loaded with module->load(module, name, e).
orr_module *orr_ptx_parse(const char *path, const char *text, size_t n, orr_err *e);
orr_module *orr_ptx_open(const char *path, orr_err *e);
// Kernels that are loaded from now on have the long way of quotients and roots (longways.h). For those that
// are executed here; a module of something else than PTX stays as it is.
void orr_ptx_long_ways(orr_module *m);

// PTX out: the text of a module that came from PTX. What it reads to is the same module; names of registers
// and labels are new, debug sections are gone.
bool orr_ptx_print(orr_module *m, orr_text *out, orr_err *e);

#endif
