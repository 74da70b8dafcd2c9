// Private to clc/: the programs it stands on.
#ifndef ORR_CLC_TOOLS_H
#define ORR_CLC_TOOLS_H

#include "base/base.h"

typedef struct clc_tools {
    const char *clang;  // a command
    const char *libclc; // nvptx64--nvidiacl.bc
} clc_tools;
bool clc_find_tools(orr_arena *a, clc_tools *t, orr_err *e);
// A folder for the files of one build; clc_end_work removes it with all that is in it.
const char *clc_begin_work(orr_arena *a, orr_err *e);
void clc_end_work(const char *folder);
bool clc_write(const char *path, const void *data, size_t n, orr_err *e);
// Runs a command, words up to a NULL. Its output and errors in `log`. -1: it could not be started.
int clc_run(const char *const *words, orr_text *log, orr_err *e);
// device.cl as bitcode: the path of a file that stays, made when it is first asked for. `work` is where it is
// put when nothing can be kept.
const char *clc_device_library(orr_arena *a, const clc_tools *t, const char *work, orr_err *e);
// What every call of clang has, for a GPU of architecture sm; appends to words.
typedef ORR_VEC(const char *) clc_words;
void clc_common(orr_arena *a, clc_words *w, const clc_tools *t, unsigned sm);

// LLVM's text for SPIR to that for NVPTX (spirv.c). malloc'd.
char *clc_from_spir(const char *text, size_t n, size_t *bytes);
// A line that calls printf, the number-th: to `out` as a call of a function of its own, which `functions`
// gets. False, and nothing is added: it calls none, or with what printf does not print (spirv_printf.c).
bool clc_spirv_printf(const char *line, size_t n, unsigned number, orr_text *out, orr_text *functions);
// The command that reads SPIR-V; NULL: none is here.
const char *clc_find_spirv(orr_arena *a);

extern const unsigned char clc_prelude[], clc_device[]; // prelude.h and device.cl, ending in 0

#endif
