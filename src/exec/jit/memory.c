// Loads and stores of words in compiled code.
//
// Accesses of a block with the same rows of addresses are found together, when the first of them is made
// (orr_spot_find): where all lanes are side by side, in one row or in two of 16, or at one place, code moves
// vectors; else it calls the handler, as for every access of some lanes only. What is checked is what the
// handlers check.
#include "exec/jit/compile.h"

static bool is_access(const compiler *c, const uop *u, const lanewise_rule **rule) {
    const lanewise_rule *r = *rule = jit_rule(u);
    if (!r || (r->lane != LANE_LOAD && r->lane != LANE_STORE)) return false;
    if (c->kind & JIT_MASKED || !c->spots) return false;
    if (u->way != WAY_SHARED && u->way != WAY_PAIR) return false;
    for (int n = 0; n < r->arg; n++) {
        oper o = r->lane == LANE_LOAD ? u->all[n] : u->all[u->ndst + 1 + n];
        if (o.cls != ORR_W || o.none || (o.bank != BANK_W && (r->lane == LANE_LOAD || o.bank != BANK_CONST)))
            return false;
    }
    return true;
}

static spot_group *group_of(compiler *c, const uop *u) {
    spot_group *g = orr_arena_alloc(c->arena, sizeof *g);
    *g = (spot_group){.u = u, .least = INT64_MAX, .most = INT64_MIN};
    for (const uop *o = u; o < c->x->end; o++) {
        const lanewise_rule *r;
        bool alike = o == u || (u->shape != SHAPES && o->shape == u->shape);
        if (!alike || !is_access(c, o, &r)) continue;
        int64_t bytes = 4 * r->arg, d = o->disp;
        if (d < g->least) g->least = d;
        if (d + bytes > g->most) g->most = d + bytes;
        g->bits |= (uint32_t)d;
        if ((uint32_t)bytes - 1 > g->align) g->align = (uint32_t)bytes - 1;
    }
    return g;
}

static int slot_of(const compiler *c, const uop *u) {
    return u->shape != SHAPES && c->spot_of[u->shape] ? c->spot_of[u->shape] - 1 : SPOTS;
}

static void find(compiler *c, const uop *u) {
    assembler *a = &c->as;
    if (u->shape != SHAPES && c->spot_of[u->shape]) return;
    if (u->shape != SHAPES && c->nspots < SPOTS) c->spot_of[u->shape] = ++c->nspots;
    as_general(a, true, 0x8b, RDI, rm_reg(REG_WARP));
    as_number(a, RSI, (uint64_t)(uintptr_t)group_of(c, u));
    as_general(a, true, 0x8d, RDX, SPOT(slot_of(c, u), step));
    as_number(a, RAX, (uint64_t)(uintptr_t)orr_spot_find);
    as_call(a, RAX);
}

static rm row_at(const compiler *c, oper o, int slice) {
    return rm_mem(o.bank == BANK_CONST ? REG_CONST : REG_W, (int32_t)o.off + slice * c->lanes * 4);
}

static void note(compiler *c, const uop *u) {
    assembler *a = &c->as;
    if (!(c->kind & JIT_STREAM) || !u->traced) return;
    as_general(a, true, 0x8b, RDI, rm_reg(REG_WARP));
    as_number(a, RSI, (uint64_t)(uintptr_t)u);
    as_number(a, RAX, (uint64_t)(uintptr_t)orr_spot_note);
    as_call(a, RAX);
}

// RAX and RCX = where lanes 0 and 16 are.
static void ends(compiler *c, const uop *u) {
    as_general(&c->as, true, 0x8b, RAX, SPOT(slot_of(c, u), at));
    as_general(&c->as, true, 0x8b, RCX, SPOT(slot_of(c, u), down));
}

static void side_by_side(compiler *c, const uop *u, bool load) {
    note(c, u);
    ends(c, u);
    oper o = load ? u->all[0] : u->all[u->ndst + 1];
    for (int part = 0; part < 2; part++) // loads first, then stores
        for (int s = 0; s < c->slices; s++) {
            rm memory = rm_mem(s < c->slices / 2 ? RAX : RCX, u->disp + s % (c->slices / 2) * c->lanes * 4);
            rm row = row_at(c, o, s), from = load ? memory : row, to = load ? row : memory;
            jit_vector(c, part ? VMOVDQU_TO : VMOVDQU, s, 0, part ? to : from);
        }
}

static void one_place(compiler *c, const uop *u, const lanewise_rule *r) {
    note(c, u);
    ends(c, u);
    for (int half = 0; half < 2; half++)
        for (int n = 0; n < r->arg; n++) {
            rm at = rm_mem(half ? RCX : RAX, u->disp + 4 * n);
            if (r->lane == LANE_LOAD) {
                jit_vector(c, VPBROADCASTD, 0, 0, at);
                for (int s = 0; s < c->slices / 2; s++)
                    jit_vector(c, VMOVDQU_TO, 0, 0, row_at(c, u->all[n], s + half * c->slices / 2));
            } else { // the last lane's
                rm last = row_at(c, u->all[u->ndst + 1 + n], half * c->slices / 2);
                last.disp += 15 * 4;
                as_general(&c->as, false, 0x8b, RDX, last);
                as_general(&c->as, false, 0x89, RDX, at);
            }
        }
}

// Where all lanes are active: at a spot, else by the handler.
static void access(compiler *c, const uop *u, const lanewise_rule *r) {
    assembler *a = &c->as;
    uint8_t *done[2] = {NULL, NULL}, *other;
    as_general(a, true, 0x8b, RAX, SPOT(slot_of(c, u), step));
    if (r->arg == 1) {
        as_group(a, true, 7, RAX, 4);
        other = as_jump(a, JUMP_UNEQUAL);
        side_by_side(c, u, r->lane == LANE_LOAD);
        done[0] = as_jump(a, JUMP_ALWAYS);
        as_here(a, other);
    }
    as_general(a, true, 0x85, RAX, rm_reg(RAX));
    other = as_jump(a, JUMP_UNEQUAL);
    one_place(c, u, r);
    done[1] = as_jump(a, JUMP_ALWAYS);
    as_here(a, other);
    jit_call(c, u);
    for (int n = 0; n < 2; n++)
        if (done[n]) as_here(a, done[n]);
}

bool jit_access(compiler *c, const uop *u) {
    const lanewise_rule *r;
    if (!is_access(c, u, &r)) return false;
    bool shared = u->shape != SHAPES && (c->spot_of[u->shape] || c->nspots < SPOTS);
    if (shared || u->guard < 0) find(c, u); // others may count on it
    if (u->guard < 0) {
        access(c, u, r);
        return true;
    }
    uint8_t *nobody = jit_guard(c, u), *parts = jit_guard_parts(c);
    if (!shared) find(c, u);
    access(c, u, r);
    uint8_t *done = as_jump(&c->as, JUMP_ALWAYS);
    as_here(&c->as, parts);
    if (c->kind & JIT_STREAM && u->traced) as_here(&c->as, nobody); // an access of nobody is told, too
    jit_call(c, u);
    as_here(&c->as, done);
    if (!(c->kind & JIT_STREAM && u->traced)) as_here(&c->as, nobody);
    return true;
}
