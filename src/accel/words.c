// Machine code in a trace's header.
//
// A line of a trace names vector registers and nothing else. What it leaves out, an instruction's predicates,
// uniform registers, constants and control bits, is all in the 16 bytes of the instruction itself. Where
// Orrery writes a trace of machine code it puts those bytes into the header, under a key that Accel-Sim does
// not know and passes over ("-orrery code = SM PC WORD ..."); reading them back makes the kernel what it was.
// What was executed, with which lanes and addresses, still comes from the lines.
#include "accel/reader.h"
#include "sass/module.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 1 << 22 }; // instructions of a kernel, as sass/lift.c has it

// A number behind blanks, in base 10 or 16: what follows it, NULL when there is none.
static const char *number(const char *s, const char *end, unsigned base, uint64_t *v) {
    while (s < end && is_blank(*s)) s++;
    const char *first = s;
    for (*v = 0; s < end && !is_blank(*s); s++) {
        unsigned digit = *s >= '0' && *s <= '9'   ? (unsigned)(*s - '0')
                         : *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a') + 10
                                                  : 16;
        if (digit >= base || s - first == 16) return NULL;
        *v = *v * base + digit;
    }
    return s > first ? s : NULL;
}

bool words_add(words *w, const char *s, size_t n) {
    const char *end = s + n;
    uint64_t sm, pc, word[2];
    if (!(s = number(s, end, 10, &sm)) || !(s = number(s, end, 16, &pc))) return false;
    if (sm > 1000 || !orr_sass_supported((unsigned)sm) || pc != 16 * (uint64_t)w->n) return false;
    if (w->n && sm != w->sm) return false;
    w->sm = (unsigned)sm;
    for (;;) {
        while (s < end && is_blank(*s)) s++;
        if (s == end) return true;
        if (!(s = number(s, end, 16, &word[0])) || !(s = number(s, end, 16, &word[1]))) return false;
        if (w->n == WORDS_MAX) return false;
        if (w->n == w->cap) {
            w->cap = w->cap ? 2 * w->cap : 64;
            w->at = orr_realloc(w->at, 2 * w->cap * sizeof *w->at);
        }
        memcpy(w->at + 2 * (size_t)w->n++, word, sizeof word);
    }
}

bool words_same(const words *a, const words *b) {
    return a->n == b->n && (!a->n || (a->sm == b->sm && memcmp(a->at, b->at, 16 * (size_t)a->n) == 0));
}

// What an instruction waits for that has no control bits among those that have: everything.
static uint32_t cautious(void) { return 1u | 1u << 4 | 7u << 5 | 7u << 8 | 63u << 11; }

void words_inst(const words *w, orr_kernel *k, uint32_t *operands_cap, orr_inst *inst, uint32_t pc) {
    if (!w->n) return;
    inst->encoding.ctrl = cautious();
    orr_code c;
    orr_inst i;
    orr_operand operands[ORR_INST_OPERANDS];
    if (pc % 16 || pc / 16 >= w->n || !orr_sass_decode(&c, w->sm, w->at + pc / 8, pc)) return;
    orr_sass_inst(&i, &c, operands);
    bool traced = orr_inst_traced(inst);
    if (traced && !orr_inst_traced(&i)) return; // another instruction
    if (traced) {
        i.space = inst->space;        // of a generic access the line says where it went
    } else if (orr_inst_traced(&i)) { // its addresses are not in the trace
        i.op = ORR_OP_NOP;
        i.tkind = inst->tkind;
        i.tclass = inst->tclass;
        i.unit = inst->unit;
    }
    if (i.op == ORR_OP_BRX || i.op == ORR_OP_CALL) i.target = inst->target;
    i.first = k->noperands;
    for (int n = 0; n < i.ndst + i.nsrc; n++) {
        if (k->noperands == *operands_cap) {
            *operands_cap = *operands_cap ? 2 * *operands_cap : 256;
            k->operands = orr_realloc(k->operands, *operands_cap * sizeof *k->operands);
        }
        k->operands[k->noperands++] = operands[n];
    }
    *inst = i;
}
