// Machine code as a module (isa.h): the variables and kernels of a cubin, or of the best one that a fatbin,
// a program or a library has.
//
// Addresses of code. A module's functions are given places one after the other, from ORR_CODE_BASE on, in
// the order of the file: orr_func.address. Function pointers, return addresses and absolute calls hold such
// addresses. Functions that the file does not have, because the driver or the device runtime provides them,
// have addresses below.
//
// Variables. Each section of variables is one orr_var, .nv.global, .nv.global.init, and each constant bank
// but bank 0; orr_symbol names the objects in them. A kernel's own banks are variables too
// (.nv.constant2.NAME).
#ifndef ORR_SASS_MODULE_H
#define ORR_SASS_MODULE_H

#include "sass/sass.h"

#define ORR_CODE_SYSTEM(n) (0x100ull + 16 * (uint64_t)(n)) // vprintf, malloc, ...: n is ORR_SYS_*
#define ORR_CODE_MISSING   0x300ull                        // and up: functions nobody has
#define ORR_CODE_BASE      0x1000ull

// Is it a file that machine code comes in (ELF, or a fatbin)?
bool orr_sass_probe(const char *path);
// `sm`: the architecture it is for (90), of which the code is taken, else of the nearest older one; 0: the
// newest code there is.
orr_module *orr_sass_open(const char *path, unsigned sm, orr_err *e);
orr_module *orr_sass_read(const void *bytes, size_t n, const char *path, unsigned sm, orr_err *e);
// The cubin itself, for who gives it to a driver.
const void *orr_sass_image(const orr_module *m, size_t *n);
// The name of the function at an address below ORR_CODE_BASE, NULL: none there.
const char *orr_sass_missing(const orr_module *m, uint64_t address);
// Instruction n of a kernel as it is when the module's variables are at var_addr: k->codes[n], or where it
// holds part of such an address a copy in *buf.
const orr_code *orr_code_placed(const orr_kernel *k, uint32_t n, const uint64_t *var_addr, orr_code *buf);
// The same in two steps: what of instruction n is part of an address, NULL: nothing; and the instruction with
// it.
const orr_fix *orr_code_fix(const orr_kernel *k, uint32_t n);
const orr_code *orr_code_at(const orr_code *c, const orr_fix *f, uint64_t address, orr_code *buf);

// One instruction as everyone but the executor reads it, without its name and source line: sets all of *i but
// `first`, and ndst + nsrc operands, destinations first.
#define ORR_INST_OPERANDS 500
void orr_sass_inst(orr_inst *i, const orr_code *c, orr_operand operands[ORR_INST_OPERANDS]);

#endif
