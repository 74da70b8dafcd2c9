// A module printed back as PTX with each of its kernels four times, for a real GPU to run
// (docs/guides/on-gpu.md):
//
//   orr_run_NAME   as it is, but for its grid: a launch of n blocks in a row stands for blocks FIRST to
//                  FIRST + n - 1 of the whole grid, whatever its shape, so that a grid can be run in slices
//   orr_rec_NAME   the same, and lanes write down what they do (isa/events.h)
//   orr_cnt_NAME   the same, and it is only counted
//   orr_tal_NAME   the same, and it is counted with clocks, for the analytic model
//
// Shared memory and a function's variables in local memory become one array each, laid out as our own
// lowering lays them out, so that the offsets that come back are ours. What is inserted stands before a
// statement and touches no register of the kernel's: blocks begin before their first statement, and a memory
// instruction's address is worked out from its own operands.
#include "ptx/instrument.h"

#include <stdlib.h>
#include <string.h>

#include "isa/events.h"
#include "ptx/inserts.h"
#include "ptx/lower.h"
#include "ptx/print.h"

// ---- one copy of a kernel -------------------------------------------------------------------------
typedef struct copy {
    orr_module *m;
    ptx_front *f;
    const orr_kernel *k;
    int mode;             // ORR_COPY_*
    const char **names;   // of the functions it reaches, by their number in the kernel
    const ptx_var *local; // the variable in local memory of the function being printed, NULL: none
    bool grid;            // that function reads its place in the grid
} copy;

static const orr_func *lowered(const copy *c, const ptx_func *fn) { return &c->k->funcs[fn->reached.index]; }

static const char *name_of(void *arg, const ptx_func *fn) {
    const copy *c = arg;
    fn = ptx_func_real(c->f, (ptx_func *)(uintptr_t)fn);
    if (!fn->defined || fn->reached.stamp != c->f->stamp) return NULL;
    return c->names[fn->reached.index];
}

// Shared variables are parts of one array, which begins with those of known size.
static bool var_of(void *arg, const ptx_func *fn, const ptx_var *v, orr_text *out) {
    const copy *c = arg;
    (void)fn;
    if (v->where != V_SHARED && v->where != V_DYNAMIC) return false;
    orr_text_add(out, "orr_shared+%llu",
                 (unsigned long long)(v->where == V_SHARED ? v->offset : c->k->shared_bytes));
    return true;
}

static const char *grid_register(uint8_t sreg) {
    switch (sreg) {
    case ORR_SREG_CTAID_X: return "%orr_cx";
    case ORR_SREG_CTAID_Y: return "%orr_cy";
    case ORR_SREG_CTAID_Z: return "%orr_cz";
    case ORR_SREG_NCTAID_X: return "%orr_gx";
    case ORR_SREG_NCTAID_Y: return "%orr_gy";
    case ORR_SREG_NCTAID_Z: return "%orr_gz";
    case ORR_SREG_DYNAMIC_SMEM: return "%orr_dynamic";
    default: return NULL;
    }
}

static bool sreg_of(void *arg, const ptx_func *fn, uint32_t index, orr_text *out) {
    (void)arg;
    (void)fn;
    const char *name = grid_register(ptx_sregs[index].sreg);
    if (name) orr_text_add(out, "%s", name);
    return name != NULL;
}

static bool starts_with(const ptx_stmt *s, const char *word) {
    return !strncmp(s->op->text, word, strlen(word));
}

// What of the function has to be known before it is printed.
static void look_through(copy *c, const ptx_func *fn) {
    c->local = NULL;
    c->grid = false;
    for (uint32_t n = 0; n < fn->operands.n; n++) {
        const ptx_opd *o = &c->f->opds.at[fn->operands.first + n];
        if (o->kind == O_SREG && grid_register(ptx_sregs[o->value].sreg)) c->grid = true;
    }
    for (uint32_t n = 0; n < fn->n && !c->local; n++) {
        const ptx_stmt *s = &c->f->stmts.at[fn->first + n];
        if (!starts_with(s, "mov") && !starts_with(s, "cvta") && !strstr(s->op->text, ".local")) continue;
        for (uint32_t i = 0; i < s->n; i++) {
            const ptx_opd *o = &c->f->opds.at[s->first + i];
            if (o->kind == O_ADDR && o->n) o = &c->f->opds.at[o->value];
            if (o->kind == O_VAR && o->var->where == V_FRAME) c->local = o->var;
        }
    }
}

// Of what counts: where the counts of this SM are, words for each block of code, and the thread block's own.
static void open_counts(const copy *c, uint32_t words, uint32_t tb_words, orr_text *out) {
    orr_text_add(out,
                 "  .reg .b64 %%orr_counts, %%orr_tb, %%orr_a, %%orr_b, %%orr_no;\n"
                 "  .reg .b32 %%orr_t;\n"
                 "  .reg .pred %%orr_p;\n"
                 "  mov.u32 %%orr_t, %%smid;\n"
                 "  and.b32 %%orr_t, %%orr_t, %d;\n"
                 "  mul.wide.u32 %%orr_a, %%orr_t, %u;\n"
                 "  ld.global.b64 %%orr_counts, [orr_control+%d];\n"
                 "  add.u64 %%orr_counts, %%orr_counts, %%orr_a;\n"
                 "  mov.u32 %%orr_t, %%ctaid.x;\n"
                 "  mul.wide.u32 %%orr_a, %%orr_t, %u;\n"
                 "  ld.global.b64 %%orr_tb, [orr_control+%d];\n"
                 "  add.u64 %%orr_tb, %%orr_tb, %%orr_a;\n",
                 ORR_COUNT_COPIES - 1, c->k->nblocks * words * 8, ORR_CONTROL_COUNTS * 8, tb_words * 8,
                 ORR_CONTROL_BLOCKS * 8);
    ptx_insert(ptx_ins_nowhere, 0, 0, out);
}

static void open_tally(orr_text *out) {
    orr_text_add(out,
                 "  .reg .b64 %%orr_table, %%orr_cell, %%orr_phase;\n"
                 "  .reg .b32 %%orr_warp;\n"
                 "  ld.global.b64 %%orr_table, [orr_control+%d];\n"
                 "  mov.b64 %%orr_phase, 0;\n",
                 ORR_CONTROL_TABLE * 8);
    ptx_insert(ptx_ins_which, 0, 0, out);
    orr_text_add(out,
                 "  mul.wide.u32 %%orr_cell, %%orr_warp, %d;\n"
                 "  ld.global.b64 %%orr_a, [orr_control+%d];\n"
                 "  add.u64 %%orr_cell, %%orr_cell, %%orr_a;\n",
                 ORR_CELL_WORDS * 8, ORR_CONTROL_CELLS * 8);
}

static void open_body(void *arg, const ptx_func *fn, orr_text *out) {
    const copy *c = arg;
    (void)fn;
    if (c->grid)
        orr_text_add(
            out,
            "  .reg .b32 %%orr_cx, %%orr_cy, %%orr_cz, %%orr_gx, %%orr_gy, %%orr_gz, %%orr_dynamic;\n"
            "  {\n"
            "  .reg .b64 %%n, %%d, %%q, %%r;\n"
            "  .reg .b32 %%t;\n"
            "  ld.global.b64 %%n, [orr_control+%d];\n"
            "  mov.u32 %%t, %%ctaid.x;\n"
            "  cvt.u64.u32 %%q, %%t;\n"
            "  add.u64 %%n, %%n, %%q;\n"
            "  ld.global.b64 %%d, [orr_control+%d];\n"
            "  cvt.u32.u64 %%orr_gx, %%d;\n"
            "  div.u64 %%q, %%n, %%d;\n"
            "  mul.lo.u64 %%r, %%q, %%d;\n"
            "  sub.u64 %%r, %%n, %%r;\n"
            "  cvt.u32.u64 %%orr_cx, %%r;\n"
            "  ld.global.b64 %%d, [orr_control+%d];\n"
            "  cvt.u32.u64 %%orr_gy, %%d;\n"
            "  div.u64 %%n, %%q, %%d;\n"
            "  mul.lo.u64 %%r, %%n, %%d;\n"
            "  sub.u64 %%r, %%q, %%r;\n"
            "  cvt.u32.u64 %%orr_cy, %%r;\n"
            "  cvt.u32.u64 %%orr_cz, %%n;\n"
            "  ld.global.b64 %%d, [orr_control+%d];\n"
            "  cvt.u32.u64 %%orr_gz, %%d;\n"
            "  ld.global.b64 %%d, [orr_control+%d];\n"
            "  cvt.u32.u64 %%orr_dynamic, %%d;\n"
            "  }\n",
            ORR_CONTROL_FIRST * 8, ORR_CONTROL_GRID_X * 8, ORR_CONTROL_GRID_Y * 8, ORR_CONTROL_GRID_Z * 8,
            ORR_CONTROL_DYNAMIC * 8);
    if (c->mode == ORR_COPY_RECORD) {
        ptx_insert(ptx_ins_opening, 0, 0, out);
        ptx_insert(ptx_ins_which, 0, 0, out);
        ptx_insert(ptx_ins_nowhere, 0, 0, out);
    }
    if (c->mode == ORR_COPY_COUNT) open_counts(c, ORR_COUNT_WORDS, ORR_COUNT_TB_WORDS, out);
    if (c->mode == ORR_COPY_TALLY) {
        open_counts(c, ORR_TALLY_COUNTS, ORR_TALLY_TB_WORDS, out);
        open_tally(out);
    }
}

// ---- before a statement ---------------------------------------------------------------------------
static void put_enter(const copy *c, uint32_t block, orr_text *out) {
    const orr_block *b = &c->k->blocks[block];
    if (c->mode == ORR_COPY_RECORD) {
        ptx_insert(ptx_ins_enter, block, 0, out);
    } else if (c->mode == ORR_COPY_TALLY) {
        orr_text_add(out,
                     "  add.u64 %%orr_a, %%orr_counts, %llu;\n"
                     "  add.u64 %%orr_b, %%orr_table, %llu;\n",
                     (unsigned long long)block * ORR_TALLY_COUNTS * 8,
                     (unsigned long long)block * ORR_TALLY_ROW * 4);
        ptx_insert(ptx_ins_tally, block, 0, out);
    } else {
        orr_text_add(out, "  add.u64 %%orr_a, %%orr_counts, %llu;\n",
                     (unsigned long long)block * ORR_COUNT_WORDS * 8);
        ptx_insert(ptx_ins_count, b->count, 0, out);
    }
}

// What is in %orr_a, as an access by instruction `inst` under the statement's guard.
// A copy that reads no byte (the size of its source is 0, or the predicate says so) is no access.
static void put_reads_none(const ptx_func *fn, const ptx_opd *size, orr_text *out) {
    if (size->kind != O_REG) return;
    bool pred = ptx_type_class(fn->reg_type[size->value]) == ORR_P;
    orr_text_add(out, pred ? "  @" : "  {\n  .reg .pred %%none;\n  setp.eq.u32 %%none, ");
    ptx_print_reg(fn, (uint32_t)size->value, out);
    orr_text_add(out, pred ? " mov.b32 %%orr_t, 0;\n" : ", 0;\n  @%%none mov.b32 %%orr_t, 0;\n  }\n");
}

static void put_access(const copy *c, const ptx_func *fn, const ptx_stmt *s, uint32_t inst, orr_text *out) {
    const orr_inst *i = &c->k->insts[inst];
    if (s->guard >= 0) {
        orr_text_add(out, "  selp.b32 %%orr_t, %s, ", s->guard_neg ? "0, 1" : "1, 0");
        ptx_print_reg(fn, (uint32_t)s->guard, out);
        orr_text_add(out, ";\n");
    } else {
        orr_text_add(out, "  mov.b32 %%orr_t, 1;\n");
    }
    if (i->op == ORR_OP_CPASYNC && s->n > 3) put_reads_none(fn, &c->f->opds.at[s->first + 3], out);
    if (c->mode == ORR_COPY_RECORD) {
        ptx_insert(ptx_ins_access, inst, 0, out);
    } else if (orr_traced_space(i) == ORR_SPACE_LOCAL) { // words of 32 lanes side by side make a line
        unsigned words = (unsigned)(i->width * i->vec + 3) / 4;
        ptx_insert(ptx_ins_lines, 2, words ? words : 1, out);
    } else {
        ptx_insert(ptx_ins_lines, 7, 1, out);
    }
}

static bool is_wide(const ptx_func *fn, const ptx_opd *o) {
    return ptx_type_class(fn->reg_type[o->value]) == ORR_D;
}

// %orr_a = the value of a register, widened, plus an addend.
static void put_register(const ptx_func *fn, const ptx_opd *o, orr_text *out) {
    orr_text_add(out, is_wide(fn, o) ? "  add.s64 %%orr_a, " : "  cvt.u64.u32 %%orr_a, ");
    ptx_print_reg(fn, (uint32_t)o->value, out);
    if (is_wide(fn, o))
        orr_text_add(out, ", %lld;\n", (long long)o->addend);
    else
        orr_text_add(out, ";\n  add.s64 %%orr_a, %%orr_a, %lld;\n", (long long)o->addend);
}

// %orr_a is an address in local memory: what is told of it.
static void put_in_frame(const copy *c, orr_text *out) {
    if (c->mode == ORR_COPY_COUNT) return; // distances are all that counts
    const ptx_var *v = c->local;
    orr_text_add(out,
                 "  {\n"
                 "  .reg .b64 %%own, %%bytes, %%offset;\n"
                 "  mov.b64 %%own, %s;\n"
                 "  mov.b64 %%bytes, %llu;\n"
                 "  mov.b64 %%offset, %llu;\n",
                 v ? v->name : "0", (unsigned long long)(v ? v->bytes : 0),
                 (unsigned long long)(v ? v->offset : 0));
    ptx_insert(ptx_ins_in_frame, 0, 0, out);
    orr_text_add(out, "  }\n");
}

// %orr_a = the address that the brackets name, as it is in its own space.
static bool put_address(const copy *c, const ptx_print_hooks *h, const ptx_func *fn, const ptx_opd *o,
                        uint8_t space, orr_text *out) {
    const ptx_opd *base = &c->f->opds.at[o->value];
    if (o->kind != O_ADDR || o->n != 1) return false;
    if (base->kind == O_REG) {
        put_register(fn, base, out);
    } else if (base->kind == O_VAR || base->kind == O_INT) {
        orr_text_add(out, "  mov.b64 %%orr_a, ");
        ptx_print_operand(c->f, h, fn, base, out);
        orr_text_add(out, ";\n");
    } else {
        return false;
    }
    switch (space) {
    case ORR_SPACE_SHARED:
        orr_text_add(out, "  cvt.u32.u64 %%orr_t, %%orr_a;\n"
                          "  cvt.u64.u32 %%orr_a, %%orr_t;\n"
                          "  mov.b64 %%orr_b, orr_shared;\n"
                          "  sub.u64 %%orr_a, %%orr_a, %%orr_b;\n");
        break;
    case ORR_SPACE_CONST: orr_text_add(out, "  cvta.const.u64 %%orr_a, %%orr_a;\n"); break;
    case ORR_SPACE_LOCAL: put_in_frame(c, out); break;
    case ORR_SPACE_GENERIC:
        orr_text_add(out,
                     "  isspacep.shared %%orr_p, %%orr_a;\n"
                     "  cvta.shared.u64 %%orr_b, orr_shared;\n"
                     "  sub.u64 %%orr_b, %%orr_a, %%orr_b;\n"
                     "  add.u64 %%orr_b, %%orr_b, 0x%llx;\n"
                     "  selp.b64 %%orr_b, %%orr_b, %%orr_a, %%orr_p;\n"
                     "  isspacep.local %%orr_p, %%orr_a;\n"
                     "  cvta.to.local.u64 %%orr_a, %%orr_a;\n",
                     ORR_SHARED_WINDOW);
        put_in_frame(c, out);
        orr_text_add(out,
                     "  add.u64 %%orr_a, %%orr_a, 0x%llx;\n"
                     "  selp.b64 %%orr_a, %%orr_a, %%orr_b, %%orr_p;\n",
                     ORR_LOCAL_WINDOW);
        break;
    default: break;
    }
    return true;
}

static const ptx_opd *bracket(const copy *c, const ptx_stmt *s, int which) {
    for (uint32_t n = 0; n < s->n; n++) {
        const ptx_opd *o = &c->f->opds.at[s->first + n];
        if (o->kind == O_ADDR && which-- == 0) return o;
    }
    return NULL;
}

static void put_traced(const copy *c, const ptx_print_hooks *h, const ptx_func *fn, const ptx_stmt *s,
                       uint32_t inst, orr_text *out) {
    const orr_inst *i = &c->k->insts[inst];
    uint8_t space = orr_traced_space(i);
    bool counts = c->mode == ORR_COPY_COUNT;
    if (counts && space != ORR_SPACE_GLOBAL && space != ORR_SPACE_LOCAL && space != ORR_SPACE_GENERIC) return;
    if (orr_traced_address(c->k, i)->kind == ORR_K_NONE) { // in its own frame: where is known
        if (i->guard < 0 && !counts) return;
        orr_text_add(out, "  mov.b64 %%orr_a, %d;\n", i->disp);
        put_access(c, fn, s, inst, out);
        return;
    }
    const ptx_opd *o = bracket(c, s, i->op == ORR_OP_CPASYNC), *to = bracket(c, s, 0);
    // A copy past L1 says where it lands, as the executor's cp_async does.
    bool past = orr_inst_lands(i) && !counts;
    if (past && !(to && put_address(c, h, fn, to, ORR_SPACE_SHARED, out))) return;
    if (past)
        orr_text_add(out, "  shr.u64 %%orr_b, %%orr_a, 4;\n"
                          "  and.b64 %%orr_b, %%orr_b, 7;\n"
                          "  or.b64 %%orr_b, %%orr_b, 8;\n");
    if (!o || !put_address(c, h, fn, o, space, out)) return;
    if (past) orr_text_add(out, "  or.b64 %%orr_a, %%orr_a, %%orr_b;\n");
    put_access(c, fn, s, inst, out);
}

// The lanes that an operation waits for are its last operand.
static void put_members(const copy *c, const ptx_func *fn, const ptx_stmt *s, uint32_t inst, orr_text *out) {
    const ptx_opd *o = &c->f->opds.at[s->first + s->n - 1];
    if (!s->n || o->kind != O_REG) return;
    ptx_opd plain = *o;
    plain.addend = 0;
    put_register(fn, &plain, out);
    put_access(c, fn, s, inst, out);
}

// A barrier: its number, and the threads it is for in the upper half. As operands they are the same kinds as
// in the instruction; the barrier's destination, if it reduces, comes first.
static void put_barrier(const copy *c, const ptx_print_hooks *h, const ptx_func *fn, const ptx_stmt *s,
                        uint32_t inst, orr_text *out) {
    const orr_inst *i = &c->k->insts[inst];
    bool red = i->sub >= ORR_BAR_RED_POPC;
    uint32_t at = s->first + red, end = s->first + s->n - red; // behind: what is reduced
    const char *to[2] = {"%orr_a", "%orr_b"};
    for (int n = 0; n < 2; n++, at++) {
        if (at >= end) {
            orr_text_add(out, "  mov.b64 %s, 0;\n", to[n]);
            continue;
        }
        orr_text_add(out, c->f->opds.at[at].kind == O_REG ? "  cvt.u64.u32 %s, " : "  mov.b64 %s, ", to[n]);
        ptx_print_operand(c->f, h, fn, &c->f->opds.at[at], out);
        orr_text_add(out, ";\n");
    }
    orr_text_add(out, "  shl.b64 %%orr_b, %%orr_b, 32;\n"
                      "  or.b64 %%orr_a, %%orr_a, %%orr_b;\n");
    put_access(c, fn, s, inst, out);
}

// One that all threads of the block come to.
static bool plain_barrier(const orr_kernel *k, const orr_inst *i) {
    return i->op == ORR_OP_BAR && i->guard < 0 && i->sub != ORR_BAR_ARRIVE &&
           orr_src(k, i, 0)->kind == ORR_K_IMM && orr_src(k, i, 1)->kind == ORR_K_NONE;
}

typedef struct printing { // what hooks get: the copy first
    copy c;
    ptx_print_hooks hooks;
} printing;

// Everything about instructions [from, to) of the kernel, which statement s became (or a part of it).
static void put_range(const printing *p, const ptx_func *fn, const ptx_stmt *s, uint32_t from, uint32_t to,
                      orr_text *out) {
    const copy *c = &p->c;
    const ptx_print_hooks *h = &p->hooks;
    const orr_func *lf = lowered(c, fn);
    uint32_t b = lf->first_block, end = b + lf->nblocks;
    while (b < end && c->k->blocks[b].first < from) b++; // few enough; a search would not pay
    for (uint32_t i = from; i < to; i++) {
        const orr_inst *in = &c->k->insts[i];
        if (b < end && c->k->blocks[b].first == i) {
            put_enter(c, b++, out);
            if (c->mode == ORR_COPY_RECORD && s && orr_members_told(c->k, in)) put_members(c, fn, s, i, out);
        }
        if (!s) continue;
        if (c->mode == ORR_COPY_TALLY) {
            if (plain_barrier(c->k, in)) ptx_insert(ptx_ins_arrive, 0, 0, out);
            continue;
        }
        if (orr_inst_traced(in)) put_traced(c, h, fn, s, i, out);
        if (c->mode == ORR_COPY_RECORD && orr_barrier_told(c->k, in)) put_barrier(c, h, fn, s, i, out);
    }
}

static uint32_t range_of(const copy *c, const ptx_func *fn, uint32_t stmt, uint32_t *to) {
    const orr_func *lf = lowered(c, fn);
    *to = stmt < fn->n ? lf->first_inst + fn->starts[stmt + 1] : lf->first_inst + lf->ninsts;
    return stmt ? lf->first_inst + fn->starts[stmt] : lf->first_inst;
}

static uint32_t behind_call(const copy *c, uint32_t from,
                            uint32_t to) { // of the range; `to`: no call is in it
    for (uint32_t i = from; i < to; i++)
        if (c->k->insts[i].op == ORR_OP_CALL) return i + 1;
    return to;
}

// Between a call and the loads of its results nothing may stand: what belongs there comes behind the last of
// them. The call that statement `stmt` is, or whose result it loads; -1: none.
static int64_t call_before(const copy *c, const ptx_func *fn, uint32_t stmt) {
    const ptx_stmt *at = &c->f->stmts.at[fn->first];
    while (stmt && starts_with(&at[stmt], "ld.param")) stmt--;
    return starts_with(&at[stmt], "call") ? (int64_t)stmt : -1;
}

// Where the kernel's frame begins. Not in open_body: its variables are not declared there yet.
static void put_frame(const copy *c, const ptx_func *fn, orr_text *out) {
    if (c->mode != ORR_COPY_RECORD || !fn->entry || !c->local) return;
    orr_text_add(out,
                 "  mov.b64 %%orr_a, %s;\n"
                 "  sub.u64 %%orr_a, %%orr_a, %llu;\n"
                 "  st.global.b64 [orr_local], %%orr_a;\n",
                 c->local->name, (unsigned long long)c->local->offset);
}

static void before(void *arg, const ptx_func *fn, uint32_t stmt, orr_text *out) {
    const printing *p = arg;
    uint32_t to, from = range_of(&p->c, fn, stmt, &to);
    const ptx_stmt *s = stmt < fn->n ? &p->c.f->stmts.at[fn->first + stmt] : NULL;
    if (stmt == 0) put_frame(&p->c, fn, out);
    if (s && starts_with(s, "ld.param") && call_before(&p->c, fn, stmt) >= 0)
        return; // behind the last of them
    put_range(p, fn, s, from, behind_call(&p->c, from, to), out);
}

static void after(void *arg, const ptx_func *fn, uint32_t stmt, orr_text *out) {
    const printing *p = arg;
    const ptx_stmt *at = &p->c.f->stmts.at[fn->first];
    int64_t call = call_before(&p->c, fn, stmt);
    uint32_t last, at_first = range_of(&p->c, fn, stmt, &last);
    for (uint32_t i = at_first; p->c.mode == ORR_COPY_TALLY && i < last; i++)
        if (plain_barrier(p->c.k, &p->c.k->insts[i])) ptx_insert(ptx_ins_leave, 0, 0, out);
    if (call < 0 || (stmt + 1 < fn->n && starts_with(&at[stmt + 1], "ld.param"))) return;
    uint32_t to, from = range_of(&p->c, fn, (uint32_t)call, &to);
    put_range(p, fn, &at[call], behind_call(&p->c, from, to), to, out);
    for (uint32_t n = (uint32_t)call + 1; n <= stmt; n++) {
        from = range_of(&p->c, fn, n, &to);
        put_range(p, fn, &at[n], from, to, out);
    }
}

// ---- the module -----------------------------------------------------------------------------------
static const char *const prefix[] = {
    [ORR_COPY_PLAIN] = "run", [ORR_COPY_RECORD] = "rec", [ORR_COPY_COUNT] = "cnt", [ORR_COPY_TALLY] = "tal"};

static bool not_shared(void *arg, const ptx_var *v) {
    (void)arg;
    return v->where != V_SHARED && v->where != V_DYNAMIC;
}

static void print_copy(orr_module *m, const orr_kernel *k, ptx_func *const *order, int mode, orr_text *out) {
    ptx_front *f = m->front;
    orr_arena names = {0};
    printing p = {.c = {.m = m, .f = f, .k = k, .mode = mode}};
    p.c.names = orr_arena_alloc(&names, k->nfuncs * sizeof *p.c.names);
    for (uint32_t n = 0; n < k->nfuncs; n++)
        p.c.names[n] = n ? orr_arena_printf(&names, "orr_%s_%s$%s", prefix[mode], k->name, order[n]->name)
                         : orr_arena_printf(&names, "orr_%s_%s", prefix[mode], k->name);
    p.hooks = (ptx_print_hooks){.arg = &p,
                                .open = open_body,
                                .sreg = sreg_of,
                                .var = var_of,
                                .declare = not_shared,
                                .name = name_of,
                                .entry_directives = ".maxntid 1024, 1, 1",
                                .no_tuning = true};
    if (mode != ORR_COPY_PLAIN) {
        p.hooks.before = before;
        p.hooks.after = after;
    }
    orr_text bodies = {0};
    for (uint32_t n = k->nfuncs; n-- > 0;) {
        size_t from = bodies.n;
        look_through(&p.c, order[n]);
        ptx_print_func(m, &p.hooks, order[n], &bodies);
        const char *brace = bodies.s ? strchr(bodies.s + from, '{') : NULL;
        if (n && brace) { // may be called before it is defined
            orr_text_addn(out, bodies.s + from, (size_t)(brace - bodies.s) - from);
            orr_text_add(out, ";\n");
        }
    }
    if (bodies.n) orr_text_addn(out, bodies.s, bodies.n);
    free(bodies.s);
    orr_arena_free(&names);
}

static bool no_function(void *arg, const ptx_func *fn) {
    (void)arg;
    (void)fn;
    return false;
}

static void put_variables(void *arg, orr_text *out) {
    (void)arg;
    ptx_insert(ptx_ins_variables, 0, 0, out);
}

// What cannot be recorded, and why; NULL: it can.
static const char *obstacle(const orr_kernel *k, uint32_t *line) {
    for (uint32_t n = 0; n < k->ninsts; n++) {
        const orr_inst *i = &k->insts[n];
        *line = i->line;
        if (i->op == ORR_OP_CALL && i->target < 0) return "calls through a pointer";
        if (i->op == ORR_OP_ALLOCA) return "memory taken from the stack";
        if (i->op == ORR_OP_WMMALOAD || i->op == ORR_OP_WMMASTORE) return "matrix loads and stores of wmma";
    }
    *line = k->ninsts ? k->insts[0].line : 0;
    return k->recursive ? "recursion" : NULL; // of calls through a pointer, the pointer was named above
}

// ptxas 13.0 gives the policy of a hinted copy and the base of shared memory one uniform register when what
// is inserted stands before it: the copy then is an illegal instruction on an H200.
static bool hinted_copy(const orr_kernel *k, uint32_t *line) {
    ptx_front *f = k->module->front;
    orr_arena a = {0};
    ptx_func **order = ptx_reach(k->module, k->name, &a);
    bool found = false;
    for (uint32_t n = 0; order && n < k->nfuncs && !found; n++)
        for (uint32_t i = 0; i < order[n]->n && !found; i++) {
            const ptx_stmt *s = &f->stmts.at[order[n]->first + i];
            found = starts_with(s, "cp.async") && strstr(s->op->text, "cache_hint");
            *line = s->line;
        }
    orr_arena_free(&a);
    return found;
}

bool orr_ptx_recordable(const orr_kernel *k, orr_err *e) {
    uint32_t line;
    const char *what = obstacle(k, &line);
    if (!what && hinted_copy(k, &line)) what = "asynchronous copies with a cache policy";
    if (!what) return true;
    return orr_fail(e, ORR_BAD_INPUT,
                    "%s:%u: kernel '%s': %s cannot be recorded on a GPU; run it with --on cpu",
                    k->module->path, line, k->name, what);
}

// What is inserted needs PTX 6.3 and sm_75; older modules are said to be that.
static void raise_head(const orr_module *m, orr_text *out) {
    const char *target = out->s ? strstr(out->s, ".target sm_") : NULL;
    if (!target || (m->version >= 63 && m->target >= 75)) return;
    const char *behind = target + strcspn(target, ",\n");
    orr_text raised = {0};
    orr_text_add(&raised, ".version %u.%u\n.target sm_%u%s", (m->version > 63 ? m->version : 63) / 10,
                 (m->version > 63 ? m->version : 63) % 10, m->target > 75 ? m->target : 75, behind);
    free(out->s);
    *out = raised;
}

bool orr_ptx_instrument(orr_module *m, orr_text *out, orr_err *e) {
    ptx_print_hooks h = {.head = put_variables, .wants = no_function, .declare = not_shared};
    if (!ptx_print(m, &h, out, e)) return false;
    raise_head(m, out);
    for (uint32_t n = 0; n < m->nkernels; n++) {
        orr_err why = {0}; // a kernel that we cannot execute is not there; whoever launches it hears why
        uint32_t line;
        const orr_kernel *k = m->load(m, m->kernel_names[n], &why);
        if (!k || obstacle(k, &line) || hinted_copy(k, &line)) continue;
        orr_arena a = {0};
        ptx_func **order = ptx_reach(m, k->name, &a);
        for (int mode = 0; order && mode < ORR_COPIES; mode++) print_copy(m, k, order, mode, out);
        orr_arena_free(&a);
    }
    return true;
}
