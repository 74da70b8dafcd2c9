// A folder of one's own for files that nobody keeps: it goes at its end, or with a signal that ends us
// (orr_out_abort_all).
#ifndef ORR_TEMP_H
#define ORR_TEMP_H

#include "base/base.h"

bool orr_temp_folder(char path[4096], const char *what, orr_err *e); // in $TMPDIR or /tmp
void orr_temp_folder_end(const char *path);

#endif
