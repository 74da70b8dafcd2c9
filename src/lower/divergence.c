// Which blocks of PTX may be run by a part of a warp.
//
// A shuffle, a vote or a product of matrices waits for the lanes that it names. Where lanes cannot have
// parted that is nothing, and ptxas schedules it as any other instruction; elsewhere it puts a test for
// parted lanes (BRA.DIV) or a WARPSYNC in front, which ends the block (docs/how/lowering.md, "Lanes that work
// together"). What ptxas knows of lanes that part is this: what depends on the thread's index, on atomics, on
// other lanes or on memory at such a place differs, and what is computed under a branch that depends on it. A
// load from a place that is the same for all is the same for all. Lanes that have ended are not waited for.
// The same knowledge says which atomics all lanes aim at one word (elect.c).
#include <stdlib.h>
#include <string.h>

#include "lower/rewrite.h"

bool orr_inst_differs(const orr_inst *i) {
    switch (i->op) {
    case ORR_OP_SREG: // of a thread, a warp, a moment
        return i->imm <= ORR_SREG_TID_Z || (i->imm >= ORR_SREG_LANEID && i->imm <= ORR_SREG_WARPID) ||
               (i->imm >= ORR_SREG_LANEMASK_EQ && i->imm <= ORR_SREG_LANEMASK_GT) || i->imm >= ORR_SREG_CLOCK;
    case ORR_OP_LD: // of one place: the same
        return i->space == ORR_SPACE_LOCAL || i->space == ORR_SPACE_GENERIC || (i->mods & ORR_M_VOLATILE);
    case ORR_OP_LOCALADDR:
    case ORR_OP_ALLOCA:
    case ORR_OP_STACKSAVE:
    case ORR_OP_SHFL:
    case ORR_OP_MATCH:
    case ORR_OP_ELECT:
    case ORR_OP_ACTIVEMASK:
    case ORR_OP_VOTE:
    case ORR_OP_REDUX:
    case ORR_OP_CALL:
    case ORR_OP_SYSCALL: return true;
    default: return orr_ops[i->op].flags & (ORR_F_MEMORY | ORR_F_BARRIER);
    }
}

typedef struct spread {
    const orr_kernel *k;
    const orr_func *f;
    uint32_t base[ORR_CLASSES + 1];
    uint8_t *differs; // per register, as far as the block is looked at
    uint8_t *at;      // per block and register: when it begins
    uint8_t *parted;  // per block of the kernel
    uint8_t *alike;   // per instruction of the kernel: ALIKE_*, of atomics; or NULL
    uint8_t *part_at; // per block of the function: lanes part at its end
    uint32_t *list;
    uint8_t *seen;
    bool changed;
} spread;

static bool differs(const spread *s, const orr_operand *o) {
    return o->kind == ORR_K_REG && s->differs[s->base[o->cls] + o->reg];
}

static bool only_ends(const orr_kernel *k, uint32_t b) {
    const orr_inst *i = &k->insts[k->blocks[b].first];
    return k->blocks[b].count == 1 && i->guard < 0 && (i->op == ORR_OP_RET || i->op == ORR_OP_EXIT);
}

// From the end of block b until its lanes meet.
static void part(spread *s, uint32_t b) {
    const orr_block *blk = &s->k->blocks[b];
    int ns = orr_succ_count(s->k, blk), ways = 0;
    for (int t = 0; t < ns; t++) ways += !only_ends(s->k, orr_succ(s->k, blk, t));
    if (ways < 2) return; // the others are gone
    uint32_t first = s->f->first_block, n = 0;
    s->list[n++] = b;
    for (uint32_t done = 0; done < n; done++) {
        const orr_block *x = &s->k->blocks[s->list[done]];
        ns = orr_succ_count(s->k, x);
        for (int t = 0; t < ns; t++) {
            uint32_t to = orr_succ(s->k, x, t);
            if ((int32_t)to == blk->ipdom || to - first >= s->f->nblocks || s->seen[to - first]) continue;
            s->seen[to - first] = 1;
            s->list[n++] = to;
            s->changed |= !s->parted[to];
            s->parted[to] = 1;
        }
    }
    for (uint32_t x = 1; x < n; x++) s->seen[s->list[x] - first] = 0;
}

static void look_at(spread *s, uint32_t b) {
    const orr_block *blk = &s->k->blocks[b];
    uint32_t first = s->f->first_block, nregs = s->base[ORR_CLASSES];
    memcpy(s->differs, s->at + (size_t)(b - first) * nregs, nregs);
    for (uint32_t n = blk->first; n < blk->first + blk->count; n++) {
        const orr_inst *i = &s->k->insts[n];
        bool differ = orr_inst_differs(i) || s->parted[b];
        for (int o = 0; o < i->nsrc; o++) differ |= differs(s, orr_src(s->k, i, o));
        if (i->guard >= 0) differ |= s->differs[s->base[ORR_P] + (uint32_t)i->guard];
        if (s->alike && (i->op == ORR_OP_ATOM || i->op == ORR_OP_RED) && i->nsrc >= 2) {
            bool place = differs(s, orr_src(s->k, i, 0)), what = differs(s, orr_src(s->k, i, 1));
            s->alike[n] = (uint8_t)((place ? 0 : ALIKE_PLACE) | (what ? 0 : ALIKE_OPERAND));
        }
        for (int d = 0; d < i->ndst; d++) {
            const orr_operand *o = orr_dst(s->k, i, d);
            if (o->kind != ORR_K_REG) continue;
            uint8_t *reg = &s->differs[s->base[o->cls] + o->reg];
            *reg = differ || (i->guard >= 0 && *reg);
        }
        bool branch = (i->op == ORR_OP_BRA && i->guard >= 0) || i->op == ORR_OP_BRX;
        if (!differ || !branch || (i->mods & ORR_M_UNI) || s->part_at[b - first]) continue;
        s->part_at[b - first] = 1;
        part(s, b);
    }
    int ns = orr_succ_count(s->k, blk);
    for (int t = 0; t < ns; t++) {
        uint32_t to = orr_succ(s->k, blk, t) - first;
        uint8_t *at = s->at + (size_t)to * nregs;
        for (uint32_t r = 0; r < nregs && to < s->f->nblocks; r++) {
            s->changed |= s->differs[r] && !at[r];
            at[r] |= s->differs[r];
        }
    }
}

#define MOST_CELLS (1u << 24) // blocks times registers; in a larger function lanes may part anywhere

void lower_divergence(const orr_kernel *k, const orr_func *f, uint8_t *parted, uint8_t *alike) {
    spread s = {.k = k, .f = f, .parted = parted, .alike = alike};
    for (int c = 0; c < ORR_CLASSES; c++) s.base[c + 1] = s.base[c] + f->nregs[c];
    size_t cells = (size_t)s.base[ORR_CLASSES] * f->nblocks;
    if (cells > MOST_CELLS) {
        memset(parted + f->first_block, 1, f->nblocks);
        return;
    }
    s.at = orr_calloc(cells + 1, 1);
    s.differs = orr_calloc(s.base[ORR_CLASSES] + 1, 1);
    s.part_at = orr_calloc(f->nblocks + 1, 1);
    s.seen = orr_calloc(f->nblocks + 1, 1);
    s.list = orr_calloc(f->nblocks + 1, sizeof *s.list);
    do {
        s.changed = false;
        for (uint32_t b = 0; b < f->nblocks; b++) look_at(&s, f->first_block + b);
    } while (s.changed);
    free(s.at);
    free(s.differs);
    free(s.part_at);
    free(s.seen);
    free(s.list);
}
