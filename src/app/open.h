// Private to app/: the code that a program carries in its memory.
#ifndef ORR_APP_OPEN_H
#define ORR_APP_OPEN_H

#include "isa/isa.h"

bool app_image_is_text(const void *image);     // PTX; else a fatbin or a cubin
size_t app_image_bytes(const void *image);     // as its own header says: nobody else knows
const void *app_image_of(const void *wrapper); // what nvcc's wrapper of a fatbin holds; NULL: it is none
const void *const *app_image_parts(const void *wrapper); // the fatbins it was linked of; NULL: it was not
// A kernel's parameters, packed as its code expects them, from pointers to them; `to` has k->param_bytes.
// False: one is missing, or the file says that it lies elsewhere.
bool app_pack_params(const orr_kernel *k, void *const *args, uint8_t *to);
// For a GPU of architecture `sm` (90); source: "ptx", "sass", or NULL for the better of the two.
orr_module *app_image_open(const void *image, size_t n, const char *name, unsigned sm, const char *source,
                           orr_err *e);
// The PTX that is in it for such a GPU: free() it.
char *app_image_ptx(const void *image, size_t n, const char *name, unsigned sm, size_t *size, orr_err *e);
// The PTX of several fatbins, up to a NULL, as one module.
orr_module *app_image_link(const void *const *parts, const char *name, unsigned sm, orr_err *e);

#endif
