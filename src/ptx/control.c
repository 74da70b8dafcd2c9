// Lowering: branches, calls, returns, barriers.
#include <string.h>

#include "ptx/lower.h"

static uint32_t label(lowering *l, const ptx_opd *o) {
    if (o->kind == O_NAME) ptx_refuse(l, "there is no label '%.*s'", o->n > 200 ? 200 : (int)o->n, o->name);
    if (o->kind != O_LABEL) ptx_refuse(l, "the target must be a label");
    return (uint32_t)o->value;
}

void ptx_l_bra(lowering *l) {
    ptx_need(l, 1, 1);
    uint32_t to = label(l, &l->o[0]);
    ptx_begin(l);
    *ORR_PUSH(&l->fixups) = (ptx_fixup){.at = (uint32_t)l->insts.n, .stmt = to};
    ptx_end(l);
}

void ptx_l_brx(lowering *l) { // brx.idx index, table;
    ptx_need(l, 2, 2);
    ptx_begin(l);
    ptx_src(l, &l->o[0], ORR_W, ORR_T_U32);
    const ptx_opd *o = &l->o[1];
    if (o->kind != O_TABLE) ptx_refuse(l, "the targets must be a '.branchtargets' label");
    ptx_table *t = &l->f->tables.at[o->value];
    if (t->n == 0) ptx_refuse(l, "the table of targets is empty");
    if (t->stamp != l->f->stamp) { // once for all branches that use it
        t->stamp = l->f->stamp;
        t->at = (uint32_t)l->tables.n;
        for (uint32_t i = 0; i < t->n; i++) {
            uint32_t to = label(l, &l->f->opds.at[t->first + i]);
            *ORR_PUSH(&l->fixups) = (ptx_fixup){.at = (uint32_t)l->tables.n, .stmt = to, .table = true};
            *ORR_PUSH(&l->tables) = 0;
        }
    }
    l->edges += t->n;
    if (l->edges > MAX_EDGES) ptx_refuse(l, "the kernel has too many branch targets");
    l->in.target = (int32_t)t->at;
    l->in.imm = t->n;
    ptx_end(l);
}

// ---- calls --------------------------------------------------------------------------------------
// Arguments and results travel through the frames: the call copies the caller's .param variables into
// the callee's and its results back. A register or constant gets a place in the frame for the copy.
typedef struct slot {
    uint64_t offset, bytes;
} slot;

static slot place(lowering *l, uint64_t bytes) {
    uint64_t at = (l->frame + bytes - 1) / bytes * bytes;
    l->frame = at + bytes;
    if (l->frame > l->fn->frame) l->fn->frame = l->frame;
    return (slot){at, bytes};
}

// The type in which a value that is not in memory is passed.
static uint8_t passed_type(lowering *l, const ptx_opd *o, const ptx_var *param) {
    if (param) {
        if (param->bytes != ptx_type_bytes(param->type))
            ptx_refuse(l, "'%.200s' needs a .param variable", param->name);
        return param->type;
    }
    if (o->kind == O_REG) return ptx_natural(ptx_reg_class(l, o));
    ptx_refuse(l, "a constant needs a function whose parameters are known");
}

static slot argument(lowering *l, const ptx_opd *o, const ptx_var *param) {
    if (o->kind == O_VAR && o->var->where == V_FRAME && !o->addend)
        return (slot){o->var->offset, o->var->bytes};
    uint8_t type = passed_type(l, o, param);
    if (type == ORR_T_PRED) ptx_refuse(l, "a predicate cannot be passed");
    slot s = place(l, ptx_type_bytes(type));
    uint8_t cls = o->kind == O_REG ? ptx_reg_class(l, o) : ptx_type_class(type);
    ptx_frame_access(l, true, type, ptx_read(l, o, cls, type), s.offset, false);
    return s;
}

static void copies(lowering *l, slot s) {
    if (s.offset > UINT32_MAX || s.bytes > UINT32_MAX) ptx_refuse(l, "an argument is too large");
    ptx_src_operand(l, ptx_imm(ORR_D, s.offset << 32 | s.bytes));
}

static void check(lowering *l, const char *callee, const char *what, uint32_t i, uint64_t have,
                  uint64_t want) {
    if (have != want)
        ptx_refuse(l, "%s %u of '%.200s' is %llu bytes, not %llu", what, i + 1, callee,
                   (unsigned long long)want, (unsigned long long)have);
}

// A result's place: a variable of the frame, or one that is made for it.
static slot result_of(lowering *l, const ptx_opd *o, const ptx_var *param) {
    if (o->kind == O_VAR && o->var->where == V_FRAME) return (slot){o->var->offset, o->var->bytes};
    uint8_t type = o->kind == O_SINK && param ? param->type : passed_type(l, o, param);
    if (type == ORR_T_PRED) ptx_refuse(l, "a predicate cannot be returned");
    return place(l, ptx_type_bytes(type));
}

void ptx_l_call(lowering *l) {
    const ptx_opd *target = NULL, *results = NULL, *args = NULL;
    for (uint32_t i = 0; i < l->n; i++) {
        const ptx_opd *o = &l->o[i];
        if (o->kind == O_LIST && !target)
            results = o;
        else if (o->kind == O_LIST && !args)
            args = o;
        else if (!target)
            target = o;
    }
    if (!target) ptx_refuse(l, "a function is needed");
    uint32_t nargs = args ? args->n : 0, nresults = results ? results->n : 0;
    if (nargs + nresults + 1 > MAX_INST_OPERANDS) ptx_refuse(l, "too many arguments");
    if (target->kind == O_NAME)
        ptx_refuse(l, "there is no function '%.*s'", target->n > 200 ? 200 : (int)target->n, target->name);
    ptx_func *callee = target->kind == O_FUNC ? ptx_func_real(l->f, target->func) : NULL;
    const orr_syscall *sys = callee ? ptx_provided(callee) : NULL;
    if (callee && !callee->defined && !sys)
        ptx_unsupported(l, "'%.200s' has no body in this module: link it in, or avoid it", callee->name);
    if (callee && callee->entry) ptx_unsupported(l, "a kernel cannot be called");
    if (callee && callee->variadic)
        ptx_unsupported(l, "'%.200s' has a parameter of unknown size", callee->name);
    if (!callee && (target->kind != O_REG || ptx_reg_class(l, target) != ORR_D))
        ptx_refuse(l, "the function must be a name or a 64-bit register");
    if (callee) {
        uint32_t want = sys ? sys->nargs : callee->nparams, give = sys ? sys->result != 0 : callee->nresults;
        if (nargs != want) ptx_refuse(l, "'%.200s' takes %u arguments, not %u", callee->name, want, nargs);
        if (nresults != give && !(sys && nresults == 0))
            ptx_refuse(l, "'%.200s' has %u results, not %u", callee->name, give, nresults);
    }
    uint64_t frame = l->frame;
    slot arg[MAX_INST_OPERANDS], result[MAX_INST_OPERANDS];
    for (uint32_t i = 0; i < nargs; i++) {
        const ptx_var *param = callee && i < callee->nparams ? callee->params[i] : NULL;
        arg[i] = argument(l, &ptx_kids(l, args)[i], param);
        if (sys)
            check(l, callee->name, "argument", i, arg[i].bytes, sys->bytes[i]);
        else if (callee)
            check(l, callee->name, "argument", i, arg[i].bytes, param->bytes);
    }
    for (uint32_t i = 0; i < nresults; i++) {
        const ptx_var *param = callee && i < callee->nresults ? callee->results[i] : NULL;
        result[i] = result_of(l, &ptx_kids(l, results)[i], param);
        if (sys)
            check(l, callee->name, "result", i, result[i].bytes, sys->result);
        else if (callee)
            check(l, callee->name, "result", i, result[i].bytes, param->bytes);
    }
    ptx_begin(l);
    l->in.imm = nargs;
    l->in.vec = (uint8_t)nresults;
    if (sys) {
        l->in.op = ORR_OP_SYSCALL;
        l->in.sub = sys->sys;
    } else if (callee) {
        l->in.target = (int32_t)callee->index;
    } else {
        ptx_src(l, target, ORR_D, ORR_T_U64);
    }
    for (uint32_t i = 0; i < nargs; i++) copies(l, arg[i]);
    for (uint32_t i = 0; i < nresults; i++) copies(l, result[i]);
    ptx_end(l);
    for (uint32_t i = 0; i < nresults; i++) { // results wanted in registers
        const ptx_opd *o = &ptx_kids(l, results)[i];
        if (o->kind != O_REG) continue;
        uint8_t type = passed_type(l, o, callee && i < callee->nresults ? callee->results[i] : NULL);
        ptx_frame_access(l, false, type, ptx_write(l, o, ptx_reg_class(l, o)), result[i].offset, true);
    }
    l->frame = frame;
}

void ptx_call_with(lowering *l, const ptx_func *fn, const orr_operand *args, uint8_t type) {
    uint64_t frame = l->frame;
    slot s[8], result = place(l, ptx_type_bytes(type));
    for (uint32_t i = 0; i < fn->nparams; i++) {
        s[i] = place(l, ptx_type_bytes(type));
        ptx_frame_access(l, true, type, args[i], s[i].offset, false);
    }
    l->in = (orr_inst){.op = ORR_OP_CALL,
                       .mods = ORR_M_UNI,
                       .vec = 1,
                       .imm = fn->nparams,
                       .guard = -1,
                       .target = (int32_t)fn->index};
    for (uint32_t i = 0; i < fn->nparams; i++) copies(l, s[i]);
    copies(l, result);
    ptx_end(l);
    l->frame = frame;
}

static void reg_parameters(lowering *l, ptx_var **list, uint32_t n, bool store) {
    for (uint32_t i = 0; i < n; i++) {
        const ptx_var *v = list[i];
        if (v->where != V_REG || strcmp(v->name, "_") == 0) continue;
        uint32_t bytes = ptx_type_bytes(v->type);
        for (uint32_t k = 0; k < v->elem / bytes; k++) {
            uint8_t cls = ptx_type_class(v->type);
            orr_operand r = {.kind = ORR_K_REG, .cls = cls, .reg = l->reg[v->index + k]};
            ptx_frame_access(l, store, v->type, r, v->offset + k * bytes, false);
        }
    }
}

void ptx_enter_function(lowering *l) { reg_parameters(l, l->fn->params, l->fn->nparams, false); }

void ptx_l_ret(lowering *l) {
    ptx_need(l, 0, 0);
    if (!l->fn->entry) reg_parameters(l, l->fn->results, l->fn->nresults, true);
    ptx_begin(l);
    if (l->fn->entry) l->in.op = ORR_OP_EXIT;
    ptx_end(l);
}

// ---- barriers -----------------------------------------------------------------------------------
void ptx_l_bar(lowering *l) { // sources: id, threads or none, and the predicate of a reduction
    bool red = ptx_has(l->op, "red"), arrive = ptx_has(l->op, "arrive");
    ptx_begin(l);
    uint32_t at = 0;
    if (red) {
        ptx_need(l, 3, 4);
        bool popc = ptx_has(l->op, "popc");
        l->in.sub = popc ? ORR_BAR_RED_POPC : ptx_has(l->op, "and") ? ORR_BAR_RED_AND : ORR_BAR_RED_OR;
        ptx_dst(l, &l->o[at++], popc ? ORR_W : ORR_P);
    } else {
        ptx_need(l, arrive ? 2 : 0, 2);
        l->in.sub = arrive ? ORR_BAR_ARRIVE : ORR_BAR_SYNC;
    }
    if (at < l->n) {
        const ptx_opd *id = &l->o[at++];
        if (id->kind == O_INT && id->value > 15) ptx_refuse(l, "barriers are numbered 0 to 15");
        ptx_src(l, id, ORR_W, ORR_T_U32);
    } else {
        ptx_src_operand(l, ptx_imm(ORR_W, 0));
    }
    if (at + (red ? 1 : 0) < l->n)
        ptx_src(l, &l->o[at++], ORR_W, ORR_T_U32);
    else
        ptx_src_none(l);
    if (red) ptx_src_pred(l, &l->o[at]);
    ptx_end(l);
}
