// How long a warp waits behind each instruction: the stall counts that ptxas writes into machine code.
//
// A core does not look whether a result of fixed latency is there: the code says when the next instruction
// may go. What ptxas 13.0 leaves between two instructions of sm_90 was read off the machine code of some 300
// kernels, as the least distance of each kind of producer from each kind of reader (docs/how/lowering.md,
// "Stalls"). A register takes 4 cycles within a pipe and 5 to another; a predicate that is an operand as
// well; but one that guards an instruction, a branch above all, 13. What the uniform datapath computes takes
// 6 cycles to a vector instruction, 9 to an address. Instructions that share a queue are kept apart, and
// branches stand for 5 cycles.
//
// The scheduler uses the same distances. Results of varying latency (memory, special functions, constants
// that are loaded) are waited for when they are read, as in the models of all programs without control bits.
#include <stdlib.h>
#include <string.h>

#include "lower/pass.h"

// The pipe of an instruction on this GPU, by the name of its unit.
uint8_t lower_pipe(const orr_gpu *g, const char *mnemonic, uint8_t tclass) {
    static const struct {
        const char *unit;
        uint8_t pipe;
    } known[] = {{"alu", PIPE_ALU},         {"fma", PIPE_FMA},         {"fmaheavy", PIPE_HEAVY},
                 {"half", PIPE_HALF},       {"fp16", PIPE_HALF},       {"fp64", PIPE_FP64},
                 {"uniform", PIPE_UNIFORM}, {"lsu", PIPE_LSU},         {"xu", PIPE_XU},
                 {"idc", PIPE_CONSTANTS},   {"usreg", PIPE_CONSTANTS}, {"branch", PIPE_BRANCH}};
    if (tclass == ORR_TC_VOTE) return PIPE_VOTE;
    const orr_gpu_op *o = orr_gpu_op_for(g, mnemonic, orr_tclass_name[tclass]);
    const char *unit = o ? g->units[o->unit_index].name : "";
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(unit, known[k].unit) == 0) return known[k].pipe;
    return PIPE_OTHER;
}

static bool fixed(uint8_t pipe) { return pipe <= PIPE_UNIFORM || pipe == PIPE_VOTE; }

// From a register's writer to its reader.
static uint32_t register_wait(const minst *from, const minst *to) {
    bool memory = to->pipe == PIPE_LSU;
    switch (from->pipe) {
    case PIPE_ALU:
        if (to->pipe == PIPE_FP64) return 6;
        return to->pipe == PIPE_FMA || to->pipe == PIPE_HEAVY || to->pipe == PIPE_HALF || memory ? 5 : 4;
    case PIPE_FMA:
        if (to->pipe == PIPE_FP64) return 6;
        return memory || to->pipe == PIPE_HALF ? 5 : 4;
    case PIPE_HEAVY:
        if (to->pipe == PIPE_FP64) return 6;
        return memory || to->pipe == PIPE_ALU || to->pipe == PIPE_HALF ? 5 : 4;
    case PIPE_HALF: return to->pipe == PIPE_HALF || to->pipe == PIPE_ALU ? 4 : 5;
    case PIPE_FP64: return to->pipe == PIPE_FP64 ? 8 : memory || to->pipe == PIPE_XU ? 7 : 10;
    case PIPE_UNIFORM:
        if (from->sass == ORR_SASS_ULDC || from->sass == ORR_SASS_UMOV) return 2;
        return to->pipe == PIPE_UNIFORM ? 4 : memory ? 9 : 6;
    default: return 4;
    }
}

static uint32_t predicate_wait(const minst *from, const minst *to, bool guards) {
    if (from->pipe == PIPE_UNIFORM) return to->pipe == PIPE_UNIFORM ? 4 : 6;
    if (from->pipe == PIPE_FP64) return guards ? 14 : 6;
    if (guards || to->pipe == PIPE_VOTE || to->pipe == PIPE_BRANCH) return 13;
    return to->pipe == PIPE_ALU ? 4 : 5;
}

// Does it take predicates as operands? What else names one runs under it.
static bool takes_predicates(const minst *m) {
    switch (m->sass) {
    case ORR_SASS_ISETP:
    case ORR_SASS_FSETP:
    case ORR_SASS_DSETP:
    case ORR_SASS_HSETP2:
    case ORR_SASS_SEL:
    case ORR_SASS_FSEL:
    case ORR_SASS_PLOP3:
    case ORR_SASS_LOP3:
    case ORR_SASS_IADD3:
    case ORR_SASS_LEA:
    case ORR_SASS_FMNMX:
    case ORR_SASS_VIMNMX:
    case ORR_SASS_IMNMX:
    case ORR_SASS_P2R: return true;
    case ORR_SASS_IMAD: return strstr(m->name, ".X") != NULL; // a carry
    default: return false;
    }
}

uint32_t lower_wait(const lower *l, const minst *from, const minst *to, int source) {
    if (!fixed(from->pipe)) return 0;
    uint8_t file = l->vregs.at[l->regs.at[to->regs + (uint32_t)source]].file;
    bool guards = source >= to->nsrc - to->guards || !takes_predicates(to);
    return file == FILE_P || file == FILE_UP ? predicate_wait(from, to, guards) : register_wait(from, to);
}

// From an instruction to the next of the same queue.
uint32_t lower_apart(uint8_t pipe) {
    switch (pipe) {
    case PIPE_LSU: return 4;
    case PIPE_XU:
    case PIPE_CONSTANTS: return 8;
    case PIPE_FP64: return 2;
    default: return 1;
    }
}

static uint32_t least(const minst *m) { // to whatever follows
    if (m->tclass == ORR_TC_BRANCH && (m->kind == ORR_TK_BRANCH || m->kind == ORR_TK_EXIT)) return 5;
    return m->kind == ORR_TK_BARRIER || m->kind == ORR_TK_FENCE ? 6 : 1;
}

typedef struct written { // a virtual register
    uint32_t by, when;   // instruction + 1, and its cycle
} written;

#define LONGEST 15 // four bits

void lower_stalls(lower *l) {
    if (!lower_counts_stalls(l)) return;
    written *last = orr_calloc(l->vregs.n + 1, sizeof *last);
    uint32_t next[PIPES] = {0}, now = 0;
    for (uint32_t i = 0; i < l->insts.n; i++) {
        minst *m = &l->insts.at[i];
        uint32_t at = now > next[m->pipe] ? now : next[m->pipe];
        for (int s = 0; s < m->nsrc; s++) {
            const written *w = &last[l->regs.at[m->regs + (uint32_t)s]];
            if (!w->by) continue;
            uint32_t ready = w->when + lower_wait(l, &l->insts.at[w->by - 1], m, s);
            if (ready > at) at = ready;
        }
        // The instructions before it wait for what it needs, the last one first.
        for (uint32_t k = i, more = at - now; k > 0 && more; k--) {
            minst *before = &l->insts.at[k - 1];
            uint32_t room = LONGEST - before->stall;
            uint32_t add = more < room ? more : room;
            before->stall = (uint8_t)(before->stall + add);
            more -= add;
            if (before->wall) break; // never across a branch
        }
        for (int d = m->nsrc; d < m->nsrc + m->ndst; d++)
            last[l->regs.at[m->regs + (uint32_t)d]] = (written){i + 1, at};
        next[m->pipe] = at + lower_apart(m->pipe);
        m->stall = (uint8_t)least(m);
        now = at + m->stall;
    }
    free(last);
}
