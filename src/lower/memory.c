// The lowering of what a rule cannot say: memory, synchronisation, control, matrices.
//
// An instruction that touches memory names its access: the place among its block's accesses in the stream. An
// access of 32 bytes a lane takes two instructions of 16.
#include <string.h>

#include "isa/fence.h"
#include "lower/pass.h"

// ---- addresses -----------------------------------------------------------------------------------
static bool is_global(uint8_t space) {
    return space == ORR_SPACE_GLOBAL || space == ORR_SPACE_GENERIC || space == ORR_SPACE_NONE;
}

// The registers of an address. A shared one may be in a uniform register (Turing and later), or be a constant
// that is all displacement; on Hopper it is then based on the block's window.
static void address(lower *l, int at, uint8_t space) {
    ref r = lower_ref(l, l->at.inst, at);
    source s = lower_source(l, r);
    if (is_global(space)) {
        lower_vector(l, &s);
        if (l->cc >= 80) {
            uint32_t u = lower_hold(l, LEAF_CONST, DESCRIPTOR, FILE_U, 2);
            lower_src(l, u);
            lower_src(l, u + 1);
        }
        return;
    }
    if (!s.n) return;
    leaf f = s.leaf[0]; // windows other than global ones are of 32 bits
    bool uniform = f.kind == LEAF_REG && l->vregs.at[f.v].file == FILE_U && l->cc >= 75;
    if (space == ORR_SPACE_SHARED && (f.kind == LEAF_SHARED || f.kind == LEAF_IMM)) {
        if (l->cc >= 90) lower_src(l, lower_window(l, f.kind == LEAF_IMM ? 0 : f.v));
        return;
    }
    if (f.kind == LEAF_IMM || f.kind == LEAF_SHARED) return;
    if (uniform) {
        lower_src(l, f.v);
        return;
    }
    source low = {.n = 1, .leaf = {f}};
    lower_vector(l, &low);
}

// ---- what memory instructions share --------------------------------------------------------------
// What is added to an access's base.
static int64_t place(const lower *l, uint32_t n) {
    ref base = lower_ref(l, n, l->k->insts[n].op == ORR_OP_CPASYNC);
    return l->k->insts[n].disp + (l->select.of[n] ? l->select.all.at[l->select.of[n] - 1].disp : 0) +
           (base.kind == ORR_K_IMM ? (int64_t)(base.imm & 0xffffffff) : 0);
}

static minst *finish(lower *l, const orr_inst *i, uint32_t bytes, uint32_t offset, uint16_t flags) {
    minst *m = lower_done(l);
    m->kind = ORR_TK_MEM;
    m->space = i->space;
    m->bytes = (uint8_t)(bytes < 1 ? 1 : bytes > 32 ? 32 : bytes);
    m->offset = (uint8_t)offset;
    m->access = l->at.access < ORR_NO_ACCESS ? (uint16_t)l->at.access : ORR_NO_ACCESS;
    if (m->access == ORR_NO_ACCESS) m->kind = ORR_TK_ALU; // a block of more than 65534 accesses
    m->flags |= flags;
    m->memory = true;
    m->store = flags & (ORR_TF_STORE | ORR_TF_ATOMIC);
    ref base = lower_ref(l, l->at.inst, i->op == ORR_OP_CPASYNC);
    m->base = base.kind == ORR_K_REG ? base.value : base.kind == ORR_K_IMM ? NONE - 1 : NONE;
    m->disp = place(l, l->at.inst) + (int64_t)offset;
    if (i->op == ORR_OP_LDMATRIX || i->op == ORR_OP_STMATRIX || i->op == ORR_OP_CPASYNC)
        m->base = NONE; // others' too
    if (i->op == ORR_OP_WMMALOAD || i->op == ORR_OP_WMMASTORE) m->base = NONE;
    if (i->cache == ORR_CACHE_CG || i->cache == ORR_CACHE_CV || (i->mods & ORR_M_VOLATILE))
        m->flags |= ORR_TF_BYPASS;
    if (i->cache == ORR_CACHE_CS || i->cache == ORR_CACHE_LU) m->flags |= ORR_TF_STREAM;
    if (i->mods & ORR_M_VOLATILE) {
        m->flags |= ORR_TF_ORDERED;
        m->wall = true;
    }
    return m;
}

static const char *suffixed(lower *l, const char *root, uint32_t bytes, const orr_inst *i, bool load) {
    const char *s = "";
    if (bytes == 1) s = load && orr_types[i->type].is_signed ? ".S8" : ".U8";
    if (bytes == 2)
        s = load && orr_types[i->type].is_signed && !orr_types[i->type].is_float ? ".S16" : ".U16";
    if (bytes == 8) s = ".64";
    if (bytes >= 16) s = ".128";
    return orr_arena_printf(&l->arena, "%s%s", root, s);
}

static const char *load_root(const lower *l, uint8_t space) {
    switch (space) {
    case ORR_SPACE_GLOBAL: return l->cc >= 50 ? "LDG.E" : "LD.E";
    case ORR_SPACE_SHARED: return "LDS";
    case ORR_SPACE_LOCAL: return "LDL";
    case ORR_SPACE_CONST: return "LDC";
    default: return "LD.E";
    }
}

static const char *store_root(const lower *l, uint8_t space) {
    switch (space) {
    case ORR_SPACE_GLOBAL: return l->cc >= 50 ? "STG.E" : "ST.E";
    case ORR_SPACE_SHARED: return "STS";
    case ORR_SPACE_LOCAL: return "STL";
    default: return "ST.E";
    }
}

static void plain(lower *l, const char *name) {
    lower_begin(l, name);
    lower_done(l);
}

static void drop_l1(lower *l) {
    lower_begin(l, "CCTL.IVALL");
    lower_done(l)->imm = 1;
}

static void plain_to(lower *l, const char *name, uint32_t dst) {
    lower_begin(l, name);
    lower_dst(l, dst);
    lower_done(l);
}

static void fence(lower *l, int scope, const char *name) {
    lower_begin(l, name);
    minst *m = lower_done(l);
    m->imm = (uint8_t)scope;
    m->wall = true;
    if (l->cc < 70 || scope == 0) return;
    plain(l, "ERRBAR");
    if (l->cc >= 90) plain(l, "CGAERRBAR");
}

// fence.proxy.async, fence.mbarrier_init.
static void fence_of_proxy(lower *l, const orr_inst *i) {
    if (i->cmp == ORR_FENCE_PROXY) {
        lower_begin(l, i->sub ? "MEMBAR.ALL.GPU" : "MEMBAR.ALL.CTA");
        minst *m = lower_done(l);
        m->imm = i->sub;
        m->wall = true;
    }
    if (i->cmp == ORR_FENCE_NONE) return;
    if (i->cmp == ORR_FENCE_MAPS) {
        lower_begin(l, "UTMACCTL.IV");
        lower_done(l)->wall = true;
        return;
    }
    lower_begin(l, "FENCE.VIEW.ASYNC");
    lower_done(l)->wall = true;
}

static void write_results_of(lower *l, uint32_t inst, int from, int to) {
    const orr_inst *i = &l->k->insts[inst];
    for (int d = from; d < to && d < i->ndst; d++) {
        if (orr_dst(l->k, i, d)->kind != ORR_K_REG) continue;
        uint32_t v = l->of[i->first + (uint32_t)d];
        if (v == NONE) continue;
        static const uint8_t parts[ORR_CLASSES] = {1, 1, 1, 2, 4};
        uint32_t r = lower_vreg(l, v);
        for (uint32_t p = 0; p < parts[l->values.at[v].cls]; p++) lower_dst(l, r + p);
    }
}

// The registers of a vector lie side by side, if nothing else has placed them yet.
static void place_side_by_side(lower *l, const uint32_t *values, int n) {
    uint32_t parts = 0;
    for (int v = 0; v < n; v++) {
        if (values[v] == NONE || l->vreg_of[lower_web(l, values[v])]) return;
        uint8_t cls = l->values.at[values[v]].cls;
        if (cls != ORR_W && cls != ORR_D) return;
        for (int w = 0; w < v; w++)
            if (lower_web(l, values[v]) == lower_web(l, values[w])) return;
        parts += cls == ORR_D ? 2 : 1;
    }
    if (parts != 2 && parts != 4) return;
    uint32_t at = lower_temp(l, FILE_R, (uint8_t)parts);
    for (int v = 0; v < n; v++) {
        l->vreg_of[lower_web(l, values[v])] = at + 1;
        at += l->values.at[values[v]].cls == ORR_D ? 2 : 1;
    }
}

static void write_results(lower *l, int from, int to) { write_results_of(l, l->at.inst, from, to); }

static void read_results(lower *l, int from, int to) { // what was written a moment ago
    const orr_inst *i = &l->k->insts[l->at.inst];
    for (int d = from; d < to && d < i->ndst; d++) {
        uint32_t v = orr_dst(l->k, i, d)->kind == ORR_K_REG ? l->of[i->first + (uint32_t)d] : NONE;
        if (v != NONE) lower_src(l, lower_vreg(l, v));
    }
}

static void read_values_of(lower *l, uint32_t inst, int from, int to) {
    for (int s = from; s < to; s++) {
        source v = lower_source(l, lower_ref(l, inst, s));
        lower_vector(l, &v);
    }
}

static void read_values(lower *l, int from, int to) { read_values_of(l, l->at.inst, from, to); }

// ---- loads and stores ----------------------------------------------------------------------------
// Several accesses that became one: emitted where the one stands that was chosen for all of them.
static bool merged(lower *l, const orr_inst *i, bool st) {
    uint32_t n = l->at.inst;
    if (!l->merged.into[n]) return false;
    if (l->merged.into[n] - 1 != n) return true;
    uint32_t bytes = 0, lowest = l->merged.first[n] - 1;
    for (uint32_t x = lowest + 1; x; x = l->merged.next[x - 1])
        bytes += (uint32_t)i->width * (i->vec ? i->vec : 1);
    lower_begin(l, suffixed(l, st ? store_root(l, i->space) : load_root(l, i->space), bytes, i, !st));
    address(l, 0, i->space);
    uint32_t values[4] = {NONE, NONE, NONE, NONE};
    int nvalues = 0;
    for (uint32_t x = lowest + 1; x && !st; x = l->merged.next[x - 1])
        for (int d = 0; d < l->k->insts[x - 1].ndst && nvalues < 4; d++)
            values[nvalues++] = l->of[l->k->insts[x - 1].first + (uint32_t)d];
    if (!st) place_side_by_side(l, values, nvalues);
    for (uint32_t x = lowest + 1; x; x = l->merged.next[x - 1]) {
        if (st)
            read_values_of(l, x - 1, 1, lower_nsrc(l, x - 1));
        else
            write_results_of(l, x - 1, 0, l->k->insts[x - 1].ndst);
    }
    minst *m = finish(l, i, bytes, 0, st ? ORR_TF_STORE : ORR_TF_LOAD);
    uint32_t access = l->ordinal[lowest - l->first_inst];
    if (access < ORR_NO_ACCESS) m->access = (uint16_t)access;
    m->disp = place(l, lowest);
    return true;
}

// Vectors of bytes, or of 16-bit integers (halves are picked by who computes with them): words that are taken
// apart and put together by PRMT.
static bool is_packed(const lower *l, const orr_inst *i) {
    uint32_t bytes = (uint32_t)i->width * i->vec;
    return l->cc >= 70 && i->vec > 1 && bytes <= 16 &&
           (i->width == 1 || (i->width == 2 && (i->type == ORR_T_U16 || i->type == ORR_T_S16)));
}

static void load_packed(lower *l, const orr_inst *i) {
    uint32_t bytes = (uint32_t)i->width * i->vec, words = bytes > 4 ? bytes / 4 : 1;
    uint32_t t = lower_temp(l, FILE_R, (uint8_t)words);
    lower_begin(l, suffixed(l, load_root(l, i->space), bytes, i, true));
    const char *name = l->next.name;
    address(l, 0, i->space);
    l->next.name = name;
    for (uint32_t w = 0; w < words; w++) lower_dst(l, t + w);
    finish(l, i, bytes, 0, ORR_TF_LOAD);
    for (int d = 0; d < i->ndst; d++) {
        if (orr_dst(l->k, i, d)->kind != ORR_K_REG) continue;
        lower_begin(l, "PRMT");
        lower_src(l, t + (uint32_t)d * i->width / 4);
        write_results(l, d, d + 1);
        lower_done(l);
    }
}

static void store_packed(lower *l, const orr_inst *i) {
    uint32_t bytes = (uint32_t)i->width * i->vec, words = bytes > 4 ? bytes / 4 : 1, each = i->vec / words;
    uint32_t t = lower_temp(l, FILE_R, (uint8_t)words);
    for (uint32_t v = 0; v < i->vec; v++) {
        if (v % each == 0) continue; // the first two of a word are put together
        lower_begin(l, "PRMT");
        if (v % each == 1)
            read_values(l, (int)v, (int)v + 1);
        else
            lower_src(l, t + v / each);
        read_values(l, 1 + (int)v, 2 + (int)v);
        l->next.name = "PRMT"; // something may have been copied first
        lower_dst(l, t + v / each);
        lower_done(l);
    }
    lower_begin(l, suffixed(l, store_root(l, i->space), bytes, i, false));
    const char *name = l->next.name;
    address(l, 0, i->space);
    l->next.name = name;
    for (uint32_t w = 0; w < words; w++) lower_src(l, t + w);
    finish(l, i, bytes, 0, ORR_TF_STORE);
}

static void load(lower *l, const orr_inst *i) {
    if (merged(l, i, false)) return;
    if (is_packed(l, i) && i->ndst == i->vec && i->space != ORR_SPACE_CONST) {
        load_packed(l, i);
        return;
    }
    uint32_t vec = i->vec ? i->vec : 1, bytes = (uint32_t)i->width * vec;
    int halves = bytes > 16 ? 2 : 1;
    for (int h = 0; h < halves; h++) {
        lower_begin(l, suffixed(l, load_root(l, i->space), bytes / (uint32_t)halves, i, true));
        const char *name = l->next.name;
        address(l, 0, i->space);
        l->next.name = name;
        if (vec > 1 && i->ndst == vec && vec <= 8 && i->width >= 4)
            place_side_by_side(l, &l->of[i->first + (uint32_t)(h * i->ndst / halves)], i->ndst / halves);
        write_results(l, h * i->ndst / halves, (h + 1) * i->ndst / halves);
        finish(l, i, bytes / (uint32_t)halves, (uint32_t)h * 16, ORR_TF_LOAD);
    }
    if ((i->mods & ORR_M_ACQREL) && l->cc >= 70) drop_l1(l);
}

static void store(lower *l, const orr_inst *i) {
    if (merged(l, i, true)) return;
    if (is_packed(l, i) && lower_nsrc(l, l->at.inst) == i->vec + 1 && !(i->mods & ORR_M_ACQREL)) {
        store_packed(l, i);
        return;
    }
    uint32_t vec = i->vec ? i->vec : 1, bytes = (uint32_t)i->width * vec;
    int halves = bytes > 16 ? 2 : 1, nsrc = lower_nsrc(l, l->at.inst), values = nsrc > 1 ? nsrc - 1 : 0;
    if ((i->mods & ORR_M_ACQREL) && l->cc >= 70) fence(l, 2, "MEMBAR.ALL.GPU");
    for (int h = 0; h < halves; h++) {
        lower_begin(l, suffixed(l, store_root(l, i->space), bytes / (uint32_t)halves, i, false));
        address(l, 0, i->space);
        read_values(l, 1 + h * values / halves, 1 + (h + 1) * values / halves);
        finish(l, i, bytes / (uint32_t)halves, (uint32_t)h * 16, ORR_TF_STORE);
    }
}

// An atomic's name, as machine code has it: the models tell a compare and swap by it, and sums of floats.
static const char *atomic_name(lower *l, const char *root, const orr_inst *i, uint32_t bytes) {
    static const char *const what[] = {
        [ORR_ATOM_ADD] = "ADD",   [ORR_ATOM_MIN] = "MIN", [ORR_ATOM_MAX] = "MAX", [ORR_ATOM_INC] = "INC",
        [ORR_ATOM_DEC] = "DEC",   [ORR_ATOM_AND] = "AND", [ORR_ATOM_OR] = "OR",   [ORR_ATOM_XOR] = "XOR",
        [ORR_ATOM_EXCH] = "EXCH", [ORR_ATOM_CAS] = "CAS"};
    const char *type = bytes >= 16 ? ".128" : bytes == 8 ? ".64" : "";
    bool compared = i->sub == ORR_ATOM_MIN || i->sub == ORR_ATOM_MAX;
    switch (i->type) {
    case ORR_T_F32: type = ".F32.FTZ.RN"; break;
    case ORR_T_F64: type = ".F64.RN"; break;
    case ORR_T_F16:
    case ORR_T_F16X2: type = ".F16x2.RN"; break;
    case ORR_T_BF16:
    case ORR_T_BF16X2: type = ".BF16x2.RN"; break;
    case ORR_T_S32: type = compared ? ".S32" : type; break;
    case ORR_T_S64: type = compared ? ".S64" : type; break;
    default: break;
    }
    const char *name = i->sub <= ORR_ATOM_CAS ? what[i->sub] : "ADD";
    return orr_arena_printf(&l->arena, "%s.%s%s", root, name, type);
}

// Shared memory adds no floats and nothing of 64 bits by itself: a loop of compare and swap.
static void atomic(lower *l, const orr_inst *i) {
    uint32_t bytes = (uint32_t)i->width * (i->vec ? i->vec : 1);
    // Hopper has no reduction by a generic address: ATOM, whose result nobody reads.
    bool shared = i->space == ORR_SPACE_SHARED;
    bool red = i->op == ORR_OP_RED && !(l->cc >= 90 && i->space == ORR_SPACE_GENERIC);
    bool swap = i->sub == ORR_ATOM_CAS || i->sub == ORR_ATOM_EXCH;
    bool loop = shared && !swap && (i->width == 8 || orr_types[i->type].is_float);
    bool release = (i->mods & ORR_M_ACQREL) && l->cc >= 70;
    if (release) fence(l, 2, "MEMBAR.ALL.GPU");
    if (loop) {
        uint32_t t = lower_temp(l, FILE_R, i->width == 8 ? 2 : 1);
        if (l->cc >= 70) plain(l, "BSSY");
        lower_begin(l, i->width == 8 ? "LDS.64" : "LDS");
        address(l, 0, i->space);
        lower_dst(l, t);
        minst *first = lower_done(l);
        first->memory = true;
        first->base = NONE;
        first->space = i->space;
        lower_begin(l, "MOV");
        lower_src(l, t);
        lower_dst(l, t);
        lower_done(l);
        lower_begin(l, i->type == ORR_T_F64 ? "DADD" : i->type == ORR_T_F32 ? "FADD" : "IADD3");
        lower_src(l, t);
        read_values(l, 1, lower_nsrc(l, l->at.inst));
        lower_dst(l, t);
        lower_done(l);
    }
    const char *root = shared ? (loop ? "ATOMS.CAST.SPIN" : "ATOMS")
                       : red  ? (l->cc >= 90 ? "REDG.E" : "RED.E")
                              : (l->cc >= 70 && i->space == ORR_SPACE_GLOBAL ? "ATOMG.E" : "ATOM.E");
    bool counts = i->mods & ORR_M_COUNTS;
    elect e = lower_elect(l, i);
    lower_begin(l, counts ? "ATOMS.POPC.INC.32"
                   : loop ? suffixed(l, root, bytes >= 8 ? bytes : 4, i, false)
                          : atomic_name(l, root, i, bytes));
    address(l, 0, i->space);
    if (e.how) {
        lower_elect_operands(l, &e, i);
    } else if (!counts) {
        read_values(l, 1, lower_nsrc(l, l->at.inst));
        write_results(l, 0, i->ndst);
    }
    minst *m = finish(l, i, bytes, 0, ORR_TF_ATOMIC | ORR_TF_BYPASS | (red ? 0 : ORR_TF_LOAD));
    if (counts) m->flags |= ORR_TF_COUNTS;
    if (shared) m->flags &= (uint16_t)~ORR_TF_BYPASS;
    if (e.how) {
        lower_elect_flags(&e, m);
        lower_share(l, &e, i);
    }
    if (loop) {
        uint32_t p = lower_temp(l, FILE_P, 1);
        lower_begin(l, "ISETP.EQ.U32.AND");
        write_results(l, 0, i->ndst);
        for (int d = 0; d < l->next.ndst; d++) lower_src(l, l->next.dst[d]);
        l->next.ndst = 0;
        lower_dst(l, p);
        lower_done(l);
        lower_begin(l, "BRA");
        lower_src(l, p);
        lower_done(l)->wall = true;
        if (l->cc >= 70) plain(l, "BSYNC");
    }
    if (release && !red) drop_l1(l);
}

// In front of the first of a block ptxas has three loads of no lane.
static bool first_copy(const lower *l) {
    for (uint32_t n = l->k->blocks[l->flow.first_block + l->at.block].first; n < l->at.inst; n++)
        if (l->k->insts[n].op == ORR_OP_CPASYNC) return false;
    return true;
}

static void copy_async(lower *l, const orr_inst *i) {
    for (int n = 0; n < 3 && l->cc >= 90 && first_copy(l); n++) {
        lower_begin(l, "LDS");
        minst *m = lower_done(l);
        m->memory = m->store = m->keep = true;
        m->space = ORR_SPACE_SHARED;
        m->base = NONE;
    }
    lower_begin(l, suffixed(l, i->cache == ORR_CACHE_CG ? "LDGSTS.E.BYPASS" : "LDGSTS.E", i->width, i, true));
    address(l, 0, ORR_SPACE_SHARED);
    address(l, 1, ORR_SPACE_GLOBAL);
    if (i->nsrc > 2) read_values(l, 2, 3);
    minst *m = finish(l, i, i->width, 0, ORR_TF_LOAD | ORR_TF_ASYNC);
    m->space = ORR_SPACE_GLOBAL;
    m->base = NONE;
}

static void matrix_access(lower *l, const orr_inst *i) {
    bool st = i->op == ORR_OP_STMATRIX;
    static const char *const load_names[] = {"LDSM.16.M88", "LDSM.16.M88.2", "LDSM.16.M88.4"};
    static const char *const store_names[] = {"STSM.16.M88", "STSM.16.M88.2", "STSM.16.M88.4"};
    int which = i->imm >= 4 ? 2 : i->imm == 2;
    lower_begin(l, st ? store_names[which] : load_names[which]);
    address(l, 0, ORR_SPACE_SHARED);
    if (st) read_values(l, 1, lower_nsrc(l, l->at.inst));
    write_results(l, 0, i->ndst);
    minst *m = finish(l, i, 16, 0, (uint16_t)(ORR_TF_MATRIX | (st ? ORR_TF_STORE : ORR_TF_LOAD)));
    m->imm = (uint8_t)(i->imm > 4 ? 4 : i->imm);
}

// A lane's place in a matrix is computed once for all of a block that begin at the same place.
static bool first_there(const lower *l, uint32_t from) {
    ref base = lower_ref(l, from, 0);
    for (uint32_t n = l->k->blocks[l->flow.first_block + l->at.block].first; n < from; n++) {
        const orr_inst *i = &l->k->insts[n];
        if (i->op != ORR_OP_WMMALOAD && i->op != ORR_OP_WMMASTORE) continue;
        if (base.kind == ORR_K_REG && base.value != NONE && lower_ref(l, n, 0).value == base.value)
            return false;
    }
    return true;
}

// A matrix that machine code takes four accesses for: as many instructions here (ifconvert.c), the last of
// which has the registers of all. With another layout than the tensor cores' MOVM turns it.
static void fragment_part(lower *l, const orr_inst *i) {
    bool st = i->op == ORR_OP_WMMASTORE;
    int part = (int)(i->imm >> 24), which = part ? part - 1 : MATRIX_ACCESSES - 1;
    uint32_t whole = l->at.inst + (part ? (uint32_t)(MATRIX_ACCESSES - part) : 0),
             bytes = orr_matrix_bits(i->type) == 16 ? 4 : 8;
    const orr_inst *w = &l->k->insts[whole];
    int data = st ? lower_nsrc(l, whole) - 2 : w->ndst, from = which * data / MATRIX_ACCESSES,
        to = (which + 1) * data / MATRIX_ACCESSES;
    if (part == 1 && first_there(l, l->at.inst)) {
        size_t before = l->insts.n;
        lower_template(l, "IADD3 t p=a0; IMAD.X u=a1 p; IMAD.WIDE.U32 T=b0 t u");
        for (size_t n = before; n < l->insts.n; n++) l->insts.at[n].keep = true;
    }
    lower_begin(l, suffixed(l, st ? store_root(l, i->space) : load_root(l, i->space), bytes, i, !st));
    const char *name = l->next.name;
    address(l, 0, i->space);
    l->next.name = name;
    if (st)
        read_values_of(l, whole, 2 + from, 2 + to);
    else
        write_results_of(l, whole, from, to);
    finish(l, i, bytes, 0, st ? ORR_TF_STORE : ORR_TF_LOAD);
    bool turned = !st && i->sub < 2 && ((i->mods & ORR_M_A_COL) != 0) != (i->sub == 1);
    for (int d = 0; d < MATRIX_ACCESSES && !part && turned; d++) {
        lower_begin(l, "MOVM.16.MT88");
        read_results(l, d * i->ndst / MATRIX_ACCESSES, (d + 1) * i->ndst / MATRIX_ACCESSES);
        write_results(l, d * i->ndst / MATRIX_ACCESSES, (d + 1) * i->ndst / MATRIX_ACCESSES);
        lower_done(l);
    }
}

// A fragment of a matrix: the stream has the first 16 bytes of what a lane's share is.
static void fragment(lower *l, const orr_inst *i) {
    if (i->imm >> 24 || (l->at.inst && l->k->insts[l->at.inst - 1].imm >> 24 == MATRIX_ACCESSES - 1 &&
                         rewrite_accesses(i) > 1)) {
        fragment_part(l, i);
        return;
    }
    bool st = i->op == ORR_OP_WMMASTORE;
    uint32_t m = i->imm & 255, n = i->imm >> 8 & 255, k = i->imm >> 16 & 255;
    uint32_t cells = i->sub == 0 && !st ? m * k : i->sub == 1 && !st ? k * n : m * n;
    uint32_t piece = cells * (uint32_t)orr_matrix_bits(i->type) / 8 / ORR_WARP;
    int halves = piece > 16 ? 2 : 1, nsrc = lower_nsrc(l, l->at.inst);
    lower_template(
        l, "S2R t; SHF.R.U32.HI u=t; LOP3.LUT t=t; IMAD.WIDE.U32 T=u b0 t"); // a lane's row and column
    for (int h = 0; h < halves; h++) {
        lower_begin(l, suffixed(l, st ? store_root(l, i->space) : load_root(l, i->space),
                                piece > 16 ? 16 : piece, i, !st));
        address(l, 0, i->space);
        if (st && nsrc > 2) read_values(l, 2 + h * (nsrc - 2) / halves, 2 + (h + 1) * (nsrc - 2) / halves);
        if (!st) write_results(l, h * i->ndst / halves, (h + 1) * i->ndst / halves);
        finish(l, i, piece > 16 ? 16 : piece, (uint32_t)h * 16, st ? ORR_TF_STORE : ORR_TF_LOAD);
    }
}

static void barrier_in_memory(lower *l, const orr_inst *i) { // mbarrier
    if (!orr_inst_traced(i)) {
        lower_template(l, "SHF.R.U64 t=a0 a1; LOP3.LUT d=t");
        return;
    }
    static const char *const names[] = {
        [ORR_MBAR_INIT] = "SYNCS.EXCH.64",
        [ORR_MBAR_INVAL] = "SYNCS.CCTL.IV",
        [ORR_MBAR_TEST_WAIT] = "SYNCS.PHASECHK.TRANS64",
        [ORR_MBAR_TRY_WAIT] = "SYNCS.PHASECHK.TRANS64.TRYWAIT",
        [ORR_MBAR_PENDING_COUNT] = "SYNCS",
    };
    const char *name = i->sub <= ORR_MBAR_PENDING_COUNT ? names[i->sub] : NULL;
    bool waits = i->sub == ORR_MBAR_TEST_WAIT || i->sub == ORR_MBAR_TRY_WAIT;
    if (i->boolop && !waits) fence(l, 2, "MEMBAR.ALL.GPU"); // .release.cluster
    lower_begin(l, name ? name : "SYNCS.ARRIVE.TRANS64");
    address(l, 0, ORR_SPACE_SHARED);
    read_values(l, 1, lower_nsrc(l, l->at.inst));
    write_results(l, 0, i->ndst);
    minst *m = finish(l, i, 8, 0, ORR_TF_ATOMIC | ORR_TF_LOAD | ORR_TF_ORDERED);
    m->wall = true;
    m->imm = i->sub;
    m->syncs = true;
    if (i->boolop && waits) drop_l1(l); // .acquire.cluster
}

// The thread's copies arrive when they are there. What is expected grows by them before, unless it is said
// that it has them already.
static void copies_arrive(lower *l, const orr_inst *i) {
    if (!(i->mods & ORR_M_NOINC)) plain(l, "SYNCS.ARRIVE.TRANS64.RED.A0T1");
    lower_begin(l, "ARRIVES.LDGSTSBAR.64");
    address(l, 0, ORR_SPACE_SHARED);
    if (!orr_inst_traced(i)) { // of an older stream
        lower_done(l)->wall = true;
        return;
    }
    minst *m = finish(l, i, 8, 0, ORR_TF_ATOMIC | ORR_TF_ORDERED);
    m->wall = true;
    m->imm = i->sub;
    m->syncs = true;
}

// ---- synchronisation and control -----------------------------------------------------------------
static void barrier(lower *l, const orr_inst *i) {
    bool red = i->sub >= ORR_BAR_RED_POPC, arrive = i->sub == ORR_BAR_ARRIVE;
    ref id = lower_ref(l, l->at.inst, 0);
    source threads =
        lower_source(l, lower_ref(l, l->at.inst, 1)); // often a register that a constant was moved to
    lower_begin(l, red ? "BAR.RED.DEFER_BLOCKING" : arrive ? "BAR.ARV" : "BAR.SYNC.DEFER_BLOCKING");
    for (int s = 0; s < 3; s++) {
        source v = lower_source(l, lower_ref(l, l->at.inst, s));
        if (v.n && v.leaf[0].kind == LEAF_REG) lower_vector(l, &v);
    }
    minst *m = lower_done(l);
    m->imm = id.kind == ORR_K_IMM ? (uint8_t)(id.imm & 15) : id.kind == ORR_K_NONE ? 0 : 0xff;
    if (threads.n && threads.leaf[0].kind == LEAF_IMM && threads.leaf[0].v <= 1024)
        m->warps = (uint16_t)((threads.leaf[0].v + 31) / 32);
    if (arrive) m->flags |= ORR_TF_ARRIVE;
    m->wall = true;
    if (red) lower_template(l, "B2R.RESULT d");
}

static void end_block(lower *l, const char *name) {
    lower_begin(l, name);
    const orr_inst *i = &l->k->insts[l->at.inst];
    if (i->op == ORR_OP_CALL || i->op == ORR_OP_RET) lower_read_arguments(l);
    if (i->op == ORR_OP_CALL) lower_write_results(l, i);
    for (int s = 0; s < lower_nsrc(l, l->at.inst) && l->k->insts[l->at.inst].op == ORR_OP_BRX; s++)
        read_values(l, s, s + 1);
    minst *m = lower_done(l);
    m->last = m->wall = true;
    bool returns = i->op == ORR_OP_RET && m->sass == ORR_SASS_RET;
    if (l->cc >= 70 && (returns || i->op == ORR_OP_BRX || (i->op == ORR_OP_CALL && i->target < 0)))
        m->flags |= ORR_TF_INDIRECT; // to where a register says
}

// A block that is only a jump, which the branch before it skips: that branch is turned round and jumps
// instead.
static bool skipped_over(const lower *l, uint32_t b) {
    const orr_block *blk = &l->k->blocks[l->flow.first_block + b];
    if (!b || blk->count != 1) return false;
    const orr_inst *before = blk->first ? &l->k->insts[blk->first - 1] : NULL;
    return before && before->op == ORR_OP_BRA && before->guard >= 0 &&
           (uint32_t)before->target == l->flow.first_block + b + 1;
}

static void branch(lower *l, const orr_inst *i) {
    uint32_t b = l->at.block;
    if (i->guard < 0 && (uint32_t)i->target == l->flow.first_block + b + 1) return; // what follows anyway
    if (i->guard < 0 && skipped_over(l, b)) return;
    end_block(l, l->branch.exits[b] ? "EXIT" : "BRA");
}

// ---- matrices ------------------------------------------------------------------------------------
// The largest
// m x n x k one machine instruction does, by what it multiplies and on which GPU; from NVIDIA's instruction
// lists. Older tensor cores take several instructions for a shape of newer ones.
static uint32_t largest(const lower *l, const orr_inst *i, const char **name) {
    uint8_t a = i->stype;
    *name = "HMMA";
    switch (orr_matrix_bits(a)) {
    case 64: *name = "DMMA"; return l->cc >= 90 ? 16 * 8 * 16 : 8 * 8 * 4;
    case 32: return 16 * 8 * 8;
    case 16: return l->cc >= 80 ? 16 * 8 * 16 : l->cc >= 75 ? 16 * 8 * 8 : 256;
    case 8:
        if (orr_types[a].is_float) { // FP8: by way of halves before Ada, and again on Hopper
            if (l->cc == 89 || l->cc >= 100) *name = "QMMA";
            return l->cc == 89 || l->cc >= 100 ? 16 * 8 * 32 : 16 * 8 * 16;
        }
        *name = "IMMA";
        return l->cc >= 80 ? 16 * 8 * 32 : 8 * 8 * 16;
    case 4: *name = "IMMA"; return l->cc >= 90 ? 16 * 8 * 32 : l->cc >= 80 ? 16 * 8 * 64 : 8 * 8 * 32;
    case 1: *name = "BMMA"; return l->cc >= 80 ? 16 * 8 * 256 : 8 * 8 * 128;
    default: return 16 * 8 * 16;
    }
}

static void multiply(lower *l, const orr_inst *i) {
    const char *name;
    uint32_t m = i->imm & 255, n = i->imm >> 8 & 255, k = i->imm >> 16 & 255, most = largest(l, i, &name);
    if (!k) k = 256; // m16n8k256 does not fit a byte
    uint32_t count = (m * n * k + most - 1) / most;
    if (count < 1) count = 1;
    if (count > 64) count = 64;
    if (orr_types[i->stype].is_float && orr_matrix_bits(i->stype) == 8 && l->cc >= 90 && l->cc < 100)
        lower_template(l, "F2FP t=a; {11 F2FP t=a}");
    for (uint32_t c = 0; c < count; c++) {
        lower_begin(l, name);
        read_values(l, 0, lower_nsrc(l, l->at.inst));
        uint32_t nd = i->ndst;
        if (count <= nd)
            write_results(l, (int)(c * nd / count), (int)((c + 1) * nd / count));
        else
            write_results(l, 0, (int)nd);
        lower_done(l);
    }
}

// ---- lanes that work together --------------------------------------------------------------------
// Where lanes may have parted those that an operation names are asked for: shuffles test whether anybody is
// missing (the way of those that find somebody is not taken here), others wait.
void lower_gather(lower *l) {
    const orr_inst *i = &l->k->insts[l->at.inst];
    const orr_operand *who = orr_inst_waits_for(l->k, i);
    if (!who || l->cc < 90) return;
    if (i->op == ORR_OP_SHFL || i->op == ORR_OP_WARPSYNC) {
        uint32_t u = lower_temp(l, FILE_U, 1);
        plain_to(l, "UMOV", u);
        lower_begin(l, "BRA.DIV");
        lower_src(l, u);
    } else {
        lower_begin(l, "WARPSYNC.ALL");
    }
    lower_done(l)->wall = true;
}

// ---- the door ------------------------------------------------------------------------------------
// Groups of asynchronous copies, fences, and what nothing moves across.
// ---- Hopper's own ---------------------------------------------------------------------------------
static void group_product(lower *l, const orr_inst *i) {
    bool floats = orr_types[i->stype].is_float;
    const char *root = i->stype == ORR_T_B1             ? "BGMMA"
                       : !floats                        ? "IGMMA"
                       : orr_matrix_bits(i->stype) == 8 ? "QGMMA"
                                                        : "HGMMA";
    lower_begin(l, orr_arena_printf(&l->arena, "%s.64x%ux%u", root, i->imm & 0xffff, i->imm >> 16));
    read_values(l, 0, lower_nsrc(l, l->at.inst));
    write_results(l, 0, i->ndst);
    minst *m = lower_done(l);
    m->wall = true;
    m->imm = i->boolop == 1 ? ORR_PRODUCT_REGISTERS : 0;
}

// The last product before it ends the group; where there is none in the block of code, an empty one does.
static void end_products(lower *l) {
    minst *last = l->insts.n ? &l->insts.at[l->insts.n - 1] : NULL;
    if (!last || !orr_sass_group_product(last->sass)) {
        lower_begin(l, "HGMMA.64x8x16.F16");
        last = lower_done(l);
        last->wall = true;
    }
    last->imm |= ORR_PRODUCT_SIGNALS;
}

static void bulk_copy(lower *l, const orr_inst *i) {
    static const char *const tensors[] = {"UTMALDG",  "UTMASTG",     "UBLKCP.S.S",
                                          "UTMAREDG", "UBLKRED.S.S", "UTMAPF.L2"};
    static const char *const plains[] = {"UBLKCP.S.G",  "UBLKCP.G.S",  "UBLKCP.S.S",
                                         "UBLKRED.G.S", "UBLKRED.S.S", "UBLKPF.L2"};
    lower_begin(l, (i->vec ? tensors : plains)[i->sub < 6 ? i->sub : 0]);
    read_values(l, 0, lower_nsrc(l, l->at.inst));
    minst *m = finish(l, i, 16, 0, ORR_TF_ORDERED);
    m->base = NONE;
    m->wall = true;
    m->imm = ORR_MBAR_BULK;
    m->bytes = i->sub;
    m->syncs = true;
}

// ---- textures and surfaces ------------------------------------------------------------------------
// Coordinates that the shape has, and the level where it is not the first, as ptxas has it always.
static bool texture(lower *l, const orr_inst *i) {
    static const char *const reads[] = {"TEX.LL", "TXD", "TLD4.R"};
    const char *name = i->op == ORR_OP_SULD        ? "SULD.D.BA.2D.STRONG.SM"
                       : i->op == ORR_OP_SUST      ? "SUST.D.BA.2D.STRONG.SM"
                       : i->op == ORR_OP_SURED     ? "SURED.D.BA.2D.ADD.STRONG.SYS"
                       : i->imm & ORR_TEX_INTEGERS ? "TLD.LZ"
                                                   : reads[i->sub < 3 ? i->sub : 0];
    lower_begin(l, name);
    read_values(l, 0, lower_nsrc(l, l->at.inst));
    write_results(l, 0, i->ndst);
    uint16_t flags = i->op == ORR_OP_SUST    ? ORR_TF_STORE
                     : i->op == ORR_OP_SURED ? ORR_TF_ATOMIC
                                             : ORR_TF_LOAD;
    minst *m = finish(l, i, 1, 0, flags);
    m->base = NONE;
    if (i->op == ORR_OP_SUST || i->op == ORR_OP_SURED) m->wall = true;
    return true;
}

static void walled(lower *l, const char *name) {
    lower_begin(l, name);
    lower_done(l)->wall = true;
}

static bool hopper(lower *l, const orr_inst *i) {
    switch (i->op) {
    case ORR_OP_WGMMA: group_product(l, i); return true;
    case ORR_OP_WGSYNC:
        if (i->sub == ORR_WG_COMMIT) {
            end_products(l);
            return true;
        }
        walled(l, i->sub == ORR_WG_WAIT ? "WARPGROUP.DEPBAR.LE" : "WARPGROUP.ARRIVE");
        if (i->sub == ORR_WG_WAIT)
            l->insts.at[l->insts.n - 1].imm =
                (uint8_t)(ORR_PRODUCT_WAITS | (i->imm < ORR_PRODUCT_WAITS ? i->imm : ORR_PRODUCT_WAITS - 1));
        return true;
    case ORR_OP_BULK: bulk_copy(l, i); return true;
    case ORR_OP_BULKSYNC:
        walled(l, i->sub ? "DEPBAR.LE" : "UTMACMDFLUSH");
        if (i->sub) {
            minst *m = &l->insts.at[l->insts.n - 1];
            m->kind = ORR_TK_WAIT_GROUP;
            m->imm = (uint8_t)(i->imm < 255 ? i->imm : 255);
        }
        return true;
    case ORR_OP_CLBAR:
        if (i->sub == ORR_BAR_ARRIVE && i->cmp) fence(l, 2, "MEMBAR.ALL.GPU");
        walled(l, i->sub == ORR_BAR_ARRIVE ? "UCGABAR_ARV" : "UCGABAR_WAIT");
        if (i->sub != ORR_BAR_ARRIVE && i->cmp) drop_l1(l);
        return true;
    case ORR_OP_MAPA: lower_template(l, "PRMT d=a0"); return true;
    case ORR_OP_CTARANK: lower_template(l, "SHF.R.U32.HI d=a0"); return true;
    case ORR_OP_STASYNC:
    case ORR_OP_REDASYNC: {
        lower_begin(l, i->op == ORR_OP_STASYNC ? "STAS" : "REDAS.ADD");
        address(l, 0, ORR_SPACE_SHARED);
        read_values(l, 1, lower_nsrc(l, l->at.inst));
        finish(l, i, i->width * i->vec, 0, ORR_TF_STORE | ORR_TF_ORDERED)->wall = true;
        return true;
    }
    default: return false;
    }
}

static bool order(lower *l, const orr_inst *i) {
    if (hopper(l, i)) return true;
    switch (i->op) {
    case ORR_OP_CPCOMMIT:
        lower_begin(l, "LDGDEPBAR");
        lower_done(l)->wall = true;
        return true;
    case ORR_OP_CPWAIT: {
        if (i->sub) {
            lower_begin(l, "LDGDEPBAR");
            lower_done(l)->wall = true;
        }
        lower_begin(l, "DEPBAR.LE");
        minst *m = lower_done(l);
        m->imm = (uint8_t)(i->sub ? 0 : i->imm > 255 ? 255 : i->imm);
        m->wall = true;
        return true;
    }
    case ORR_OP_MEMBAR:
        if (i->cmp != ORR_FENCE_PLAIN && l->cc >= 90) {
            fence_of_proxy(l, i);
            return true;
        }
        fence(l, i->sub == 1 ? 2 : i->sub,
              i->sub == 0   ? "MEMBAR.SC.CTA"
              : i->sub == 3 ? "MEMBAR.SC.SYS"
                            : "MEMBAR.SC.GPU");
        if (i->sub && l->cc >= 70) drop_l1(l);
        return true;
    case ORR_OP_NOP:
        if (!i->sub) return false;
        walled(l, i->sub == ORR_GRID_WAIT ? "ACQBULK" : "PREEXIT");
        return true;
    case ORR_OP_WARPSYNC: // nothing is left of it but that nobody moves across
        if (l->cc < 90) return false;
        lower_begin(l, "NOP");
        lower_done(l)->wall = true;
        return true;
    default: return false;
    }
}

bool lower_special(lower *l) {
    const orr_inst *i = &l->k->insts[l->at.inst];
    switch (i->op) {
    case ORR_OP_LD:
        if (lower_argument(l, i)) return true;
        if (!orr_inst_traced(i)) { // a parameter at a place that is computed
            lower_template(l, "LDC d=a0");
            return true;
        }
        load(l, i);
        return true;
    case ORR_OP_ST:
        if (!orr_inst_traced(i) || lower_argument(l, i)) return true;
        store(l, i);
        return true;
    case ORR_OP_ATOM:
    case ORR_OP_RED: atomic(l, i); return true;
    case ORR_OP_CPASYNC: copy_async(l, i); return true;
    case ORR_OP_LDMATRIX:
    case ORR_OP_STMATRIX: matrix_access(l, i); return true;
    case ORR_OP_WMMALOAD:
    case ORR_OP_WMMASTORE: fragment(l, i); return true;
    case ORR_OP_MBARRIER: barrier_in_memory(l, i); return true;
    case ORR_OP_CPMBAR: copies_arrive(l, i); return true;
    case ORR_OP_TEX:
    case ORR_OP_SULD:
    case ORR_OP_SUST:
    case ORR_OP_SURED: return texture(l, i);
    case ORR_OP_TXQ: lower_template(l, "TXQ d=a0"); return true;
    case ORR_OP_PREFETCH:
        lower_begin(l, "CCTL.E.PF2");
        address(l, 0, i->space);
        lower_done(l);
        return true;
    case ORR_OP_DISCARD: plain(l, "CCTL"); return true;
    case ORR_OP_BAR: barrier(l, i); return true;
    case ORR_OP_BRA: branch(l, i); return true;
    case ORR_OP_BRX:
        lower_template(l, "IMAD.SHL.U32 t=a; LDC u=t");
        end_block(l, "BRX");
        return true;
    case ORR_OP_CALL:
        if (l->cc >= 70) plain(l, "MOV");
        end_block(l, l->cc >= 70 ? "CALL.REL.NOINC" : "CAL");
        return true;
    case ORR_OP_SYSCALL: {
        lower_template(l, "MOV t; MOV u; LDC v; MOV w; MOV x");
        lower_begin(l, l->cc >= 70 ? "CALL.ABS.NOINC" : "CAL");
        lower_done(l)->wall = true;
        return true;
    }
    case ORR_OP_RET:
        end_block(l, l->k->blocks[l->flow.first_block + l->at.block].func == 0 ? "EXIT"
                     : l->cc >= 70                                             ? "RET.REL.NODEC"
                                                                               : "RET");
        return true;
    case ORR_OP_EXIT: end_block(l, "EXIT"); return true;
    case ORR_OP_TRAP: end_block(l, "BPT.TRAP"); return true;
    case ORR_OP_MMA:
    case ORR_OP_WMMA: multiply(l, i); return true;
    default: return order(l, i);
    }
}
