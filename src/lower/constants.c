// Constants in registers, and what turned out not to be needed.
//
// Instructions say which constants they want in which register file (lower_hold). When all blocks are
// written, each constant is loaded in front of the loops that read it, and not again where a block that has
// loaded it dominates; a predicated body's are loaded with the block it hangs on. Hopper has no operands in
// the constant bank: what is needed in a vector register somewhere is not loaded into a uniform one too, and
// neighbours are loaded in pairs.
#include <stdlib.h>
#include <string.h>

#include "lower/pass.h"

static const char *hold_key(char key[16], uint8_t kind, uint64_t v, uint8_t file, uint8_t parts) {
    memset(key, 0, 16);
    memcpy(key, &v, sizeof v);
    key[8] = (char)kind;
    key[9] = (char)file;
    key[10] = (char)parts;
    return key;
}

static uint32_t find_held(const lower *l, uint8_t kind, uint64_t v, uint8_t file, uint8_t parts) { // + 1
    char key[16];
    return (uint32_t)(uintptr_t)orr_map_getn(&l->constants.holds, hold_key(key, kind, v, file, parts),
                                             sizeof key);
}

static void simple(lower *l, const char *name, uint32_t dst) {
    lower_begin(l, name);
    lower_dst(l, dst);
    lower_done(l);
}

// Is the instruction at hand under a predicate? Its value; NONE: it is not.
static uint32_t predicate_of(const lower *l) {
    if (l->at.inst >= l->k->ninsts || l->constants.placing || (l->select.todo[l->at.inst] & DO_UNIFORM))
        return NONE;
    if (l->under[l->at.inst] != NONE) return l->under[l->at.inst];
    uint32_t whole = l->at.block < l->flow.nblocks ? l->branch.predicated[l->at.block] : NONE;
    if (whole != NONE) return l->guard[whole];
    return l->k->insts[l->at.inst].op == ORR_OP_BRA ? NONE : l->guard[l->at.inst];
}

// ---- parameters that are read without a predicate --------------------------------------------------
static const char *read_key(char key[16], uint32_t run, uint64_t v) {
    memset(key, 0, 16);
    memcpy(key, &v, sizeof v);
    memcpy(key + 8, &run, sizeof run);
    return key;
}

// The parameter that r is, through copies; NULL: none.
static const orr_inst *parameter(const lower *l, ref r) {
    for (int depth = 0; depth < 4 && r.kind == ORR_K_REG && r.value != NONE; depth++) {
        uint32_t def = l->values.at[r.value].def;
        if (def == NONE || !(l->select.todo[def] & DO_VIEW)) break;
        const orr_inst *i = &l->k->insts[def];
        if (i->op == ORR_OP_LD) return i->space == ORR_SPACE_PARAM && i->ndst == 1 ? i : NULL;
        if ((i->op != ORR_OP_MOV && i->op != ORR_OP_CVTA) || i->nsrc != 1 || i->ndst != 1) break;
        r = lower_ref(l, def, 0);
    }
    return NULL;
}

void lower_find_reads(lower *l) {
    orr_map_free(&l->constants.reads);
    l->constants.reads = (orr_map){0};
    if (l->cc < 90) return;
    const flow *f = &l->flow;
    l->branch.run = orr_arena_alloc(&l->arena, (f->nblocks + 1) * sizeof *l->branch.run);
    for (uint32_t b = 0; b < f->nblocks; b++) { // blocks that only follow each other: a barrier ends one, too
        uint32_t p = f->pred_first[b + 1] - f->pred_first[b] == 1 ? f->preds[f->pred_first[b]] : b;
        bool follows = p < b && orr_succ_count(l->k, &l->k->blocks[f->first_block + p]) == 1;
        l->branch.run[b] = follows ? l->branch.run[p] : b;
    }
    for (uint32_t b = 0; b < f->nblocks; b++) {
        const orr_block *x = &l->k->blocks[f->first_block + b];
        if (l->branch.predicated[b] != NONE) continue;
        for (uint32_t n = x->first; n < x->first + x->count; n++) {
            if ((l->select.todo[n] & (DO_SKIP | DO_VIEW | DO_UNIFORM | DO_LATER)) || l->under[n] != NONE ||
                l->guard[n] != NONE)
                continue;
            for (int s = 0; s < lower_nsrc(l, n); s++) {
                const orr_inst *i = parameter(l, lower_ref(l, n, s));
                if (!i) continue;
                ref place = lower_ref(l, (uint32_t)(i - l->k->insts), 0);
                uint64_t v =
                    ARGUMENTS +
                    (((place.kind == ORR_K_IMM ? place.imm : 0) + (uint64_t)(int64_t)i->disp) & 0xffff);
                char key[16];
                orr_map_putn(&l->constants.reads, read_key(key, l->branch.run[b], v), sizeof key, l);
            }
        }
    }
}

static bool read_plainly(const lower *l, uint8_t kind, uint64_t v) {
    char key[16];
    return kind == LEAF_CONST && l->at.block < l->flow.nblocks && l->cc >= 90 &&
           orr_map_getn(&l->constants.reads, read_key(key, l->branch.run[l->at.block], v), sizeof key);
}

// Has a block that comes before loaded it for good?
static bool is_there(const lower *l, uint8_t kind, uint64_t v, uint8_t parts) {
    for (int file = 0; file < 2; file++) {
        uint32_t h = find_held(l, kind, v, file ? FILE_U : FILE_R, parts);
        if (h && l->constants.held.at[h - 1].block != NONE &&
            lower_dominates(&l->flow, l->constants.held.at[h - 1].block, l->at.block))
            return true;
    }
    return false;
}

// What only bodies of branches read is loaded where it is read, under the branch's predicate, as ptxas
// leaves it: by LDC, the uniform datapath knows no predicates of lanes.
static uint32_t hold_under(lower *l, uint8_t kind, uint64_t v, uint8_t parts, uint32_t predicate) {
    for (size_t c = 0; c < l->constants.bodies.n; c++) {
        const body_held *x = &l->constants.bodies.at[c];
        if (x->block == l->at.block && x->predicate == predicate && x->kind == kind && x->v == v &&
            x->parts == parts)
            return x->vreg;
    }
    lower_pending saved = l->next;
    uint32_t vr = lower_temp(l, FILE_R, parts);
    if (kind == LEAF_SHARED) {
        uint32_t rank = lower_temp(l, FILE_R, 1), at = lower_temp(l, FILE_R, 1);
        simple(l, "S2R", rank);
        simple(l, "MOV", at);
        lower_begin(l, "LEA");
        lower_src(l, rank);
        lower_src(l, at);
        lower_dst(l, vr);
        lower_done(l);
    } else {
        lower_begin(l, parts > 1 ? "LDC.64" : "LDC");
        for (uint8_t p = 0; p < parts; p++) lower_dst(l, vr + p);
        lower_done(l)->constant = lower_constant_line(l, v);
    }
    l->next = saved;
    *ORR_PUSH(&l->constants.bodies) = (body_held){l->at.block, predicate, kind, parts, v, vr};
    return vr;
}

uint32_t lower_hold(lower *l, uint8_t kind, uint64_t v, uint8_t file, uint8_t parts) {
    uint32_t predicate = l->cc >= 90 && (kind == LEAF_SHARED || (kind == LEAF_CONST && v != DESCRIPTOR))
                             ? predicate_of(l)
                             : NONE;
    if (predicate != NONE && !is_there(l, kind, v, parts) && !read_plainly(l, kind, v)) {
        if (kind == LEAF_SHARED && v == SHARED_RANK) return NONE; // comes with the window
        return hold_under(l, kind, v, parts, predicate);
    }
    uint32_t h = find_held(l, kind, v, file, parts);
    if (!h) {
        char key[16];
        uint32_t vr = lower_temp(l, file, parts);
        *ORR_PUSH(&l->constants.held) =
            (held){.kind = kind, .file = file, .parts = parts, .v = v, .vreg = vr, .block = NONE};
        h = (uint32_t)l->constants.held.n;
        orr_map_putn(&l->constants.holds, hold_key(key, kind, v, file, parts), sizeof key,
                     (void *)(uintptr_t)h);
    }
    held *x = &l->constants.held.at[h - 1];
    // Descriptors and windows stay where they are, and so does what the uniform datapath computes with.
    if (file == FILE_U &&
        (kind != LEAF_CONST || v == DESCRIPTOR || (l->select.todo[l->at.inst] & DO_UNIFORM)))
        x->pinned = true;
    if (x->block != l->at.block)
        *ORR_PUSH(&l->constants.wanted) = (wanted){.held = h - 1, .block = l->at.block, .inst = l->at.inst};
    x->block = l->at.block;
    return x->vreg;
}

// ---- loading --------------------------------------------------------------------------------------
// The line of 64 bytes that a constant is in, as orr_inst.encoding.constant has it: bank and place. Launch
// parameters such as ntid are at the beginning of bank 0, arguments behind what the driver puts there.
uint32_t lower_constant_line(const lower *l, uint64_t v) {
    uint32_t bank = v & BANK4 ? 4 : v & BANK3 ? 3 : 0, at = (uint32_t)v & 0xffff;
    if (!bank && v >= ARGUMENTS)
        at = (uint32_t)(v - ARGUMENTS) + (l->cc >= 90 ? 0x210 : l->cc >= 70 ? 0x160 : 0x140);
    else if (!bank && v != DESCRIPTOR)
        at = 0;
    // variables of bank 3 lie behind each other, wherever: their number stands for their place
    if (bank == 3) at += ((uint32_t)v >> 16 & 0xff) << 8;
    return (bank << 16 | (at / 64 & 0xffff)) + 1;
}

static void load_constant(lower *l, const held *h, const held *second) {
    bool wide = h->parts > 1 || second;
    if (h->kind == LEAF_CONST && (l->cc >= 90 || h->file == FILE_U)) {
        lower_begin(l, h->file == FILE_U ? (wide ? "ULDC.64" : "ULDC") : wide ? "LDC.64" : "LDC");
        for (uint8_t p = 0; p < h->parts; p++) lower_dst(l, h->vreg + p);
        if (second) lower_dst(l, second->vreg);
        minst *m = lower_done(l);
        m->constant = lower_constant_line(l, h->v);
        return;
    }
    if (h->kind == LEAF_SHARED) { // Hopper: a block's window in the shared memory of its cluster
        if (h->v == SHARED_RANK) {
            simple(l, "S2UR", h->vreg);
            return;
        }
        uint32_t rank = find_held(l, LEAF_SHARED, SHARED_RANK, FILE_U, 1), at = lower_temp(l, FILE_U, 1);
        simple(l, "UMOV", at);
        lower_begin(l, "ULEA");
        if (rank) lower_src(l, l->constants.held.at[rank - 1].vreg);
        lower_src(l, at);
        lower_dst(l, h->vreg);
        lower_done(l);
        return;
    }
    for (uint8_t p = 0; p < h->parts; p++)
        simple(l,
               h->file == FILE_U               ? "UMOV"
               : l->cc >= 70 && (h->v + p) % 2 ? "IMAD.MOV.U32"
                                               : "MOV",
               h->vreg + p);
}

// ---- where ------------------------------------------------------------------------------------------
// A constant that is wanted in both files is loaded once, into a vector register.
static void prefer_vector(lower *l) {
    if (l->cc < 90) return;
    uint32_t *to = orr_malloc((l->vregs.n + 1) * sizeof *to),
             *other = orr_malloc((l->constants.held.n + 1) * sizeof *other);
    for (uint32_t v = 0; v < l->vregs.n; v++) to[v] = v;
    bool any = false;
    for (uint32_t h = 0; h < l->constants.held.n; h++) {
        const held *x = &l->constants.held.at[h];
        other[h] = h;
        if (x->file != FILE_U || x->kind != LEAF_CONST || x->pinned) continue;
        uint32_t r = find_held(l, LEAF_CONST, x->v, FILE_R, x->parts);
        if (!r) continue;
        for (uint8_t p = 0; p < x->parts; p++) to[x->vreg + p] = l->constants.held.at[r - 1].vreg + p;
        other[h] = r - 1;
        any = true;
    }
    for (size_t r = 0; r < l->regs.n && any; r++) l->regs.at[r] = to[l->regs.at[r]];
    for (size_t w = 0; w < l->constants.wanted.n && any; w++)
        l->constants.wanted.at[w].held = other[l->constants.wanted.at[w].held];
    free(to);
    free(other);
}

static uint32_t home_of(const lower *l, uint32_t b) {
    const flow *f = &l->flow;
    for (;;) {
        uint32_t out = NONE;
        if (l->branch.predicated[b] != NONE) // nothing branches around it
            out = l->block_of[l->branch.predicated[b] - l->first_inst];
        else if (f->loop[b] != NONE) // constants do not change
            out = f->idom[f->loop[b]];
        if (out == NONE || out == b) return b;
        b = out;
    }
}

// Wanted by one or two blocks that nothing dominates: windows and descriptors are had once and for all.
static void common_homes(lower *l) {
    uint32_t *home = orr_malloc((l->constants.held.n + 1) * sizeof *home);
    for (uint32_t h = 0; h < l->constants.held.n; h++) home[h] = NONE;
    for (int pass = 0; pass < 2; pass++)
        for (size_t w = 0; w < l->constants.wanted.n; w++) {
            wanted *x = &l->constants.wanted.at[w];
            const held *h = &l->constants.held.at[x->held];
            if (h->kind != LEAF_SHARED && (h->kind != LEAF_CONST || h->v != DESCRIPTOR)) continue;
            uint32_t *at = &home[x->held];
            if (pass) {
                if (*at != NONE) x->block = home_of(l, *at);
            } else {
                uint32_t both = *at == NONE ? x->block : lower_meet(&l->flow, *at, x->block);
                if (both != NONE) *at = both;
            }
        }
    free(home);
}

// Wants in reverse postorder of their blocks, so that a dominator comes first.
static uint32_t *in_order(const lower *l) {
    const flow *f = &l->flow;
    uint32_t *first = orr_calloc(f->nblocks + 2, sizeof *first);
    uint32_t *list = orr_calloc(l->constants.wanted.n + 1, sizeof *list);
    for (size_t w = 0; w < l->constants.wanted.n; w++)
        first[f->number[l->constants.wanted.at[w].block] + 1]++;
    for (uint32_t b = 0; b < f->nblocks; b++) first[b + 1] += first[b];
    for (size_t w = 0; w < l->constants.wanted.n; w++)
        list[first[f->number[l->constants.wanted.at[w].block]]++] = (uint32_t)w;
    free(first);
    return list;
}

void lower_place_constants(lower *l) {
    flow *f = &l->flow;
    prefer_vector(l);
    size_t nw = l->constants.wanted.n;
    for (size_t w = 0; w < nw; w++)
        l->constants.wanted.at[w].block = home_of(l, l->constants.wanted.at[w].block);
    common_homes(l);
    uint32_t *list = in_order(l), *placed = orr_malloc((l->constants.held.n + 1) * sizeof *placed);
    uint32_t *by_block = orr_malloc((f->nblocks + 1) * sizeof *by_block), *next = orr_malloc((nw + 1) * 4);
    uint8_t *drop = orr_calloc(nw + 1, 1);
    for (size_t h = 0; h < l->constants.held.n; h++) placed[h] = NONE;
    for (uint32_t b = 0; b < f->nblocks; b++) by_block[b] = NONE;
    for (size_t x = 0; x < nw; x++) {
        const wanted *w = &l->constants.wanted.at[list[x]];
        uint32_t p = placed[w->held];
        if (p != NONE && lower_dominates(f, p, w->block))
            drop[list[x]] = 1;
        else
            placed[w->held] = w->block;
    }
    for (size_t w = nw; w-- > 0;) {
        if (drop[w]) continue;
        next[w] = by_block[l->constants.wanted.at[w].block];
        by_block[l->constants.wanted.at[w].block] = (uint32_t)w;
    }
    // the new instructions stand at the start of their blocks
    size_t old = l->insts.n;
    minst *body = orr_malloc((old + 1) * sizeof *body);
    memcpy(body, l->insts.at, old * sizeof *body);
    uint32_t *start = orr_malloc((f->nblocks + 1) * sizeof *start),
             *here = orr_malloc((l->constants.held.n + 1) * 4);
    memcpy(start, l->block_first.at, (f->nblocks + 1) * sizeof *start);
    for (size_t h = 0; h < l->constants.held.n; h++) here[h] = NONE;
    l->insts.n = 0;
    l->constants.placing = true;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        l->block_first.at[b] = (uint32_t)l->insts.n;
        for (uint32_t w = by_block[b]; w != NONE; w = next[w]) here[l->constants.wanted.at[w].held] = b;
        for (uint32_t w = by_block[b]; w != NONE; w = next[w]) {
            uint32_t h = l->constants.wanted.at[w].held;
            if (here[h] != b) continue; // came with its neighbour
            here[h] = NONE;
            const held *x = &l->constants.held.at[h], *second = NULL;
            bool pairs = x->kind == LEAF_CONST && x->parts == 1 && (l->cc >= 90 || x->file == FILE_U);
            uint32_t n = pairs ? find_held(l, LEAF_CONST, x->v ^ 4, x->file, 1) : 0;
            if (n && here[n - 1] == b) {
                second = &l->constants.held.at[n - 1];
                here[n - 1] = NONE;
            }
            l->at.inst = l->constants.wanted.at[w].inst;
            load_constant(l, x, second);
        }
        for (uint32_t i = start[b]; i < start[b + 1]; i++) *ORR_PUSH(&l->insts) = body[i];
    }
    l->block_first.at[f->nblocks] = (uint32_t)l->insts.n;
    l->constants.placing = false;
    free(list);
    free(placed);
    free(drop);
    free(body);
    free(start);
    free(here);
    free(by_block);
    free(next);
}

// ---- what nobody needs --------------------------------------------------------------------------------
// Upper halves of addresses in 32-bit windows, for instance: rules write both halves, and only one is read.
static bool may_go(const minst *m) {
    return m->kind == ORR_TK_ALU && m->ndst && !m->wall && !m->last && !m->memory && !m->keep;
}

void lower_drop_dead(lower *l) {
    uint32_t *reads = orr_calloc(l->vregs.n + 1, sizeof *reads);
    for (size_t i = 0; i < l->insts.n; i++)
        for (int r = 0; r < l->insts.at[i].nsrc; r++) reads[l->regs.at[l->insts.at[i].regs + (uint32_t)r]]++;
    for (bool changed = true; changed;) { // what is dead hangs on what is dead behind it
        changed = false;
        for (size_t i = l->insts.n; i-- > 0;) {
            minst *m = &l->insts.at[i];
            bool needed = !may_go(m);
            for (int r = m->nsrc; r < m->nsrc + m->ndst && !needed; r++)
                needed = reads[l->regs.at[m->regs + (uint32_t)r]] != 0;
            if (needed) continue;
            for (int r = 0; r < m->nsrc; r++) reads[l->regs.at[m->regs + (uint32_t)r]]--;
            m->ndst = m->nsrc = 0;
            m->name = NULL;
            changed = true;
        }
    }
    uint32_t to = 0, b = 0;
    for (uint32_t i = 0; i <= l->insts.n; i++) {
        while (b <= l->flow.nblocks && l->block_first.at[b] == i) l->block_first.at[b++] = to;
        if (i < l->insts.n && l->insts.at[i].name) l->insts.at[to++] = l->insts.at[i];
    }
    l->insts.n = to;
    free(reads);
}
