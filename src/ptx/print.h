// Private to ptx/: a parsed module as PTX text again, with places where a pass may put text of its own.
//
// Names the printer gives: registers %r12, %rd3, %p1 ... (and %r_12 for those that were declared one by
// one), labels $L_1, tables $T_1, prototypes $P_1. Everything else keeps the name it had.
#ifndef ORR_PTX_PRINT_H
#define ORR_PTX_PRINT_H

#include "ptx/ast.h"

typedef struct ptx_print_hooks { // any may be NULL
    void *arg;
    // behind .version, .target and .address_size, before all declarations
    void (*head)(void *arg, orr_text *out);
    // print this function's definition? Declarations of functions without a body always are. One that is
    // not printed is 0 in initialisers.
    bool (*wants)(void *arg, const ptx_func *fn);
    // in the body, behind the declarations of its registers, before the first statement
    void (*open)(void *arg, const ptx_func *fn, orr_text *out);
    // behind statement stmt's label and before the statement, on lines of its own; fn->n: at the body's end
    void (*before)(void *arg, const ptx_func *fn, uint32_t stmt, orr_text *out);
    // behind statement stmt, on lines of its own
    void (*after)(void *arg, const ptx_func *fn, uint32_t stmt, orr_text *out);
    // another spelling where an operand reads ptx_sregs[index]; false: as it is
    bool (*sreg)(void *arg, const ptx_func *fn, uint32_t index, orr_text *out);
    // another name for a variable in operands, as "other+64" (behind which "+4" may follow); false: its own
    bool (*var)(void *arg, const ptx_func *fn, const ptx_var *v, orr_text *out);
    // print this variable's declaration?
    bool (*declare)(void *arg, const ptx_var *v);
    // another name for the function, where it is declared, called and its address taken; NULL: its own
    const char *(*name)(void *arg, const ptx_func *fn);
    // for kernels that state neither .maxntid nor .reqntid, as ".maxntid 256, 1, 1"
    const char *entry_directives;
    bool no_tuning; // leave out .maxnreg and .minnctapersm
} ptx_print_hooks;

// The whole module. h may be NULL, here and below.
bool ptx_print(orr_module *m, const ptx_print_hooks *h, orr_text *out, orr_err *e);

// One function with its body. With another h->name a kernel can be printed several times.
void ptx_print_func(const orr_module *m, const ptx_print_hooks *h, const ptx_func *fn, orr_text *out);

// One statement without its label: guard, opcode, operands, ";", no end of line.
void ptx_print_stmt(const ptx_front *f, const ptx_print_hooks *h, const ptx_func *fn, const ptx_stmt *s,
                    orr_text *out);
void ptx_print_operand(const ptx_front *f, const ptx_print_hooks *h, const ptx_func *fn, const ptx_opd *o,
                       orr_text *out);
void ptx_print_reg(const ptx_func *fn, uint32_t reg, orr_text *out); // "%r12", "%v_3.x"

#endif
