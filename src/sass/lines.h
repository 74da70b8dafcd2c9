// Line tables of a cubin.
#ifndef ORR_SASS_LINES_H
#define ORR_SASS_LINES_H

#include "sass/cubin.h"
#include "sass/elf.h"

void sass_read_lines(orr_cubin *c, sass_elf *elf); // damaged tables are left out

#endif
