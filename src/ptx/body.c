// Function bodies: statements, labels, guards and operands.
//
// The grammar of operands is the same for every instruction; which of them make sense is for the
// lowering to say, so that an instruction nobody here has heard of still parses.
#include <stdlib.h>
#include <string.h>

#include "ptx/ast.h"
#include "ptx/opcode.h"

// Move what is on the stack above `mark` to the module's operands. Unknown names may be labels.
static uint32_t keep(ptx_parser *p, size_t mark, uint32_t *n) {
    uint32_t first = (uint32_t)p->f->opds.n;
    *n = (uint32_t)(p->stack.n - mark);
    for (size_t i = mark; i < p->stack.n; i++) {
        if (p->stack.at[i].kind == O_NAME) *ORR_PUSH(&p->refs) = (uint32_t)p->f->opds.n;
        *ORR_PUSH(&p->f->opds) = p->stack.at[i];
    }
    p->stack.n = mark;
    return first;
}

static ptx_opd operand(ptx_parser *p, bool labels);

static ptx_opd group(ptx_parser *p, uint8_t kind, char close, bool labels) {
    ptx_opd o = {.kind = kind};
    size_t mark = p->stack.n;
    ptx_enter(p);
    if (!ptx_is(p, close)) {
        do {
            ptx_opd kid = operand(p, labels);
            *ORR_PUSH(&p->stack) = kid;
        } while (ptx_accept(p, ','));
    }
    ptx_expect(p, close);
    p->depth--;
    o.value = keep(p, mark, &o.n);
    return o;
}

// .x .y .z .w, .r .g .b .a of a vector register; .b0 .h1 .b3210 for the video instructions.
static void element(ptx_parser *p, ptx_opd *o, const token *t) {
    static const char xyzw[] = "xyzwrgba";
    if (t->n == 1 && o->n > 1) {
        const char *hit = strchr(xyzw, t->s[0]);
        uint32_t k = hit ? (uint32_t)(hit - xyzw) % 4 : 4;
        if (k >= o->n) ptx_error(p, t->line, "this register has no element '.%c'", t->s[0]);
        o->value += k;
        o->n = 1;
        return;
    }
    bool ok = o->n == 1 && t->n >= 2 && t->n <= 5 && (t->s[0] == 'b' || t->s[0] == 'h');
    uint16_t sel = 0;
    for (uint32_t i = 1; ok && i < t->n; i++) {
        ok = t->s[i] >= '0' && t->s[i] <= '7';
        sel = (uint16_t)(sel << 3 | (t->s[i] - '0'));
    }
    if (!ok) ptx_error(p, t->line, "'.%.*s' selects nothing", t->n > 60 ? 60 : (int)t->n, t->s);
    o->sel = (uint16_t)(sel | (t->n - 1) << 12 | (t->s[0] == 'h') << 15);
}

static ptx_opd named(ptx_parser *p, bool labels) {
    token t = p->t;
    ptx_next(p);
    ptx_opd o = {.kind = O_NAME, .n = t.n, .name = t.s};
    if (labels) return o;
    ptx_entry *e = ptx_lookup(p, t.s, t.n);
    if (e) {
        o = (ptx_opd){.kind = e->kind, .n = e->count, .value = e->value};
        if (e->kind == O_VAR) o.var = e->var;
        if (e->kind == O_REG && p->t.kind == T_DOT) {
            token dot = p->t;
            ptx_next(p);
            element(p, &o, &dot);
        }
        return o;
    }
    if (t.s[0] == '%') {
        char name[48];
        size_t n = t.n < 40 ? t.n : 40;
        memcpy(name, t.s, n);
        if (p->t.kind == T_DOT && p->t.n == 1) {
            name[n++] = '.';
            name[n++] = p->t.s[0];
        }
        int sreg = ptx_sreg_find(name, n);
        if (sreg >= 0) {
            if (n != t.n && p->t.kind == T_DOT) ptx_next(p);
            return (ptx_opd){
                .kind = O_SREG, .n = 1, .value = (uint64_t)sreg, .sel = ptx_sreg_number(name, n)};
        }
        // %tid alone is a vector of four; %tid.w is always zero
        if (n == t.n) memcpy(name + n, ".x", 2), n += 2;
        bool w = name[n - 1] == 'w';
        if (w) name[n - 1] = 'x';
        sreg = ptx_sreg_find(name, n);
        if (sreg >= 0 && w) {
            ptx_next(p);
            return (ptx_opd){.kind = O_INT};
        }
        if (sreg >= 0 && n == t.n + 2u && !(p->t.kind == T_DOT))
            return (ptx_opd){.kind = O_SREG, .n = 4, .value = (uint64_t)sreg};
        return o;
    }
    ptx_global *g = ptx_global_named(p->f, t.s, t.n, false);
    if (g && g->var) return (ptx_opd){.kind = O_VAR, .var = g->var};
    if (g && g->func) return (ptx_opd){.kind = O_FUNC, .func = g->func};
    return o;
}

static ptx_opd constant(ptx_parser *p) {
    ptx_value v = ptx_expression(p);
    return (ptx_opd){.kind = v.kind, .value = v.bits};
}

static ptx_opd operand(ptx_parser *p, bool labels) {
    ptx_opd o;
    uint8_t neg = 0;
    ptx_enter(p);
    if (ptx_is(p, '!')) {
        if (ptx_peek(p)->kind == T_NAME) {
            ptx_next(p);
            neg = NEG_NOT;
        }
    } else if (ptx_is(p, '-')) {
        const token *next = ptx_peek(p);
        if (next->kind == T_NAME && !(next->n == 7 && memcmp(next->s, "WARP_SZ", 7) == 0)) {
            ptx_next(p);
            neg = NEG_MINUS;
        }
    }
    if (ptx_accept(p, '{')) {
        o = group(p, O_VEC, '}', labels);
    } else if (ptx_accept(p, '[')) {
        o = group(p, O_ADDR, ']', labels);
    } else if (p->t.kind == T_NAME && !ptx_is_name(p, "WARP_SZ")) {
        if (ptx_is_name(p, "_")) {
            ptx_next(p);
            o = (ptx_opd){.kind = O_SINK};
        } else {
            o = named(p, labels);
        }
        o.neg = neg;
        if (o.kind == O_VAR && ptx_accept(p, '[')) { // a[3]
            uint64_t k = ptx_integer(p, MAX_VAR_BYTES, "an index");
            ptx_expect(p, ']');
            size_t mark = p->stack.n;
            o.addend = (int64_t)(k * o.var->elem);
            *ORR_PUSH(&p->stack) = o;
            o = (ptx_opd){.kind = O_ADDR};
            o.value = keep(p, mark, &o.n);
        } else {
            o.addend = ptx_offset(p);
        }
    } else {
        o = constant(p);
    }
    if (ptx_accept(p, '|')) { // p|q
        size_t mark = p->stack.n;
        *ORR_PUSH(&p->stack) = o;
        ptx_opd second = operand(p, labels);
        *ORR_PUSH(&p->stack) = second;
        o = (ptx_opd){.kind = O_PAIR};
        o.value = keep(p, mark, &o.n);
    }
    p->depth--;
    return o;
}

// ---- opcodes ------------------------------------------------------------------------------------
static ptx_opcode *opcode(ptx_parser *p) { // the current token is the mnemonic
    const char *s = p->t.s, *end = s + p->t.n;
    orr_text *apart = &p->spelling; // the spelling when blanks or comments stand between the parts
    apart->n = 0;
    uint32_t line = p->t.line;
    ptx_next(p);
    while (p->t.kind == T_DOT) {
        if (p->t.s - 1 != end && !apart->n) orr_text_addn(apart, s, (size_t)(end - s));
        if (apart->n) {
            orr_text_addn(apart, ".", 1);
            orr_text_addn(apart, p->t.s, p->t.n);
        }
        end = p->t.s + p->t.n;
        if ((apart->n ? apart->n : (size_t)(end - s)) > MAX_OPCODE)
            ptx_error(p, line, "this opcode is longer than %d characters", MAX_OPCODE);
        ptx_next(p);
    }
    const char *key = apart->n ? apart->s : s;
    size_t n = apart->n ? apart->n : (size_t)(end - s);
    ptx_opcode *op = orr_map_getn(&p->f->opcodes, key, n);
    if (!op) {
        op = orr_arena_alloc(&p->m->arena, sizeof *op);
        op->text = orr_arena_strndup(&p->m->arena, key, n);
        orr_map_putn(&p->f->opcodes, key, n, op);
    }
    return op;
}

static bool starts(const char *text, const char *root) {
    size_t n = strlen(root);
    return strncmp(text, root, n) == 0 && (text[n] == 0 || text[n] == '.');
}

static void instruction(ptx_parser *p, int32_t guard, bool guard_neg) {
    ptx_stmt s = {.guard = guard,
                  .guard_neg = guard_neg,
                  .line = p->t.line,
                  .file = p->loc.file,
                  .srcline = p->loc.line};
    s.op = opcode(p);
    bool call = starts(s.op->text, "call"), labels = starts(s.op->text, "bra"), target = false;
    size_t mark = p->stack.n;
    bool more = !ptx_is(p, ';');
    while (more) {
        ptx_opd o;
        if (call && ptx_accept(p, '(')) {
            o = group(p, O_LIST, ')', false);
        } else {
            o = operand(p, labels);
            if (call && !target && (o.kind == O_FUNC || o.kind == O_NAME)) o.sel = 1;
            target = true;
        }
        *ORR_PUSH(&p->stack) = o;
        more = ptx_accept(p, ',');
    }
    if (!ptx_is(p, ';')) ptx_unexpected(p, "',' or ';'");
    ptx_next(p);
    s.first = keep(p, mark, &s.n);
    *ORR_PUSH(&p->f->stmts) = s;
}

// ---- labels and what may follow them ------------------------------------------------------------
static void prototype(ptx_parser *p) { // (.param .b32 _) _ (.param .b64 _)
    for (int part = 0; part < 2; part++) {
        if (ptx_accept(p, '(')) {
            while (!ptx_is(p, ')')) {
                ptx_parameter(p, false);
                if (!ptx_accept(p, ',')) break;
            }
            ptx_expect(p, ')');
        }
        if (part == 0) ptx_expect_name(p, "'_'");
    }
    while (p->t.kind == T_DOT) { // .noreturn, .abi_preserve 4
        ptx_next(p);
        if (p->t.kind == T_INT) ptx_next(p);
    }
    ptx_expect(p, ';');
}

static void list(ptx_parser *p, bool labels, ptx_table *out) {
    size_t mark = p->stack.n;
    do {
        ptx_opd o = operand(p, labels);
        o.sel = 1;
        *ORR_PUSH(&p->stack) = o;
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';');
    out->first = keep(p, mark, &out->n);
}

static void label(ptx_parser *p) {
    token name = p->t;
    ptx_next(p);
    ptx_next(p); // the colon
    if (ptx_accept_dot(p, "callprototype")) {
        ptx_declare(p, name, O_PROTO)->value = ++p->f->protos;
        const char *from = ptx_start(&p->t);
        ptx_note *note = ptx_note_here(p, N_PROTO);
        note->first = p->f->protos;
        size_t at = p->f->notes.n - 1;
        prototype(p);
        p->f->notes.at[at].text = ptx_since(p, from); // with its semicolon
    } else if (ptx_is_dot(p, "branchtargets") || ptx_is_dot(p, "calltargets")) {
        bool labels = ptx_is_dot(p, "branchtargets");
        ptx_next(p);
        ptx_entry *e = ptx_declare(p, name, O_TABLE);
        e->value = p->f->tables.n;
        ptx_table t = {.calls = !labels};
        ptx_note_here(p, N_TABLE)->first = (uint32_t)p->f->tables.n;
        list(p, labels, &t);
        *ORR_PUSH(&p->f->tables) = t;
    } else {
        ptx_entry *e = ptx_declare(p, name, O_LABEL);
        e->value = p->f->stmts.n - p->fn->first;
        *ORR_PUSH(&p->labels) = 0;
        e->count = (uint32_t)p->labels.n;
        ptx_note_here(p, N_LABEL)->first = e->count;
    }
}

static uint32_t loc_number(ptx_parser *p) {
    if (p->t.kind != T_INT) ptx_unexpected(p, "a number");
    uint64_t v = p->t.value;
    ptx_next(p);
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static void loc(ptx_parser *p) { // .loc 1 23 5, function_name $L, inlined_at 1 40 3
    p->loc.file = loc_number(p);
    p->loc.line = loc_number(p);
    if (p->t.kind == T_INT) ptx_next(p);
    while (ptx_accept(p, ',')) {
        if (ptx_is_name(p, "function_name")) {
            ptx_next(p);
            if (p->t.kind == T_NAME || p->t.kind == T_DOT)
                ptx_next(p);
            else
                ptx_unexpected(p, "a label");
            if (ptx_accept(p, '+')) loc_number(p);
        } else if (ptx_is_name(p, "inlined_at")) {
            ptx_next(p);
            for (int i = 0; i < 3; i++) loc_number(p);
        } else {
            ptx_unexpected(p, "'function_name' or 'inlined_at'");
        }
    }
    ptx_accept(p, ';');
}

static void guarded(ptx_parser *p) {
    bool neg = ptx_accept(p, '!');
    token name = ptx_expect_name(p, "a predicate");
    ptx_entry *e = ptx_lookup(p, name.s, name.n);
    if (!e || e->kind != O_REG || e->type != ORR_T_PRED || e->count != 1)
        ptx_error(p, name.line, "'%.*s' is not a predicate register", name.n > 200 ? 200 : (int)name.n,
                  name.s);
    if (p->t.kind != T_NAME) ptx_unexpected(p, "an instruction");
    instruction(p, (int32_t)e->value, neg);
}

static void statement(ptx_parser *p) {
    if (p->t.kind == T_NAME) {
        const token *next = ptx_peek(p);
        if (next->kind == T_PUNCT && next->first == ':' && next->n == 1)
            label(p);
        else
            instruction(p, -1, false);
    } else if (ptx_accept(p, '@')) {
        guarded(p);
    } else if (ptx_accept(p, '{')) {
        ptx_scope_open(p);
        p->scopes[p->scope].note = (uint32_t)p->f->notes.n;
        ptx_note_here(p, N_OPEN);
    } else if (ptx_accept(p, '}')) {
        // What else is declared gets a name of its own when it is printed, and needs no scope.
        if (p->scopes[p->scope].declares)
            ptx_note_here(p, N_CLOSE);
        else
            p->f->notes.at[p->scopes[p->scope].note].kind = N_NONE;
        ptx_scope_close(p);
    } else if (ptx_accept(p, ';')) {
        return;
    } else if (ptx_accept_dot(p, "reg")) {
        ptx_registers(p);
    } else if (ptx_accept_dot(p, "loc")) {
        loc(p);
    } else if (ptx_is_space(p)) {
        ptx_variables(p, 0);
    } else if (ptx_is_dot(p, "extern") || ptx_is_dot(p, "visible") || ptx_is_dot(p, "weak")) {
        uint8_t linkage = ptx_is_dot(p, "extern") ? LINK_EXTERN
                          : ptx_is_dot(p, "weak") ? LINK_WEAK
                                                  : LINK_VISIBLE;
        ptx_next(p);
        if (!ptx_is_space(p)) ptx_unexpected(p, "a variable");
        ptx_variables(p, linkage);
    } else if (ptx_is_dot(p, "pragma")) {
        const char *from = ptx_start(&p->t);
        ptx_next(p);
        do {
            if (p->t.kind != T_STRING) ptx_unexpected(p, "a string");
            ptx_next(p);
        } while (ptx_accept(p, ','));
        ptx_expect(p, ';');
        ptx_note_here(p, N_PRAGMA)->text = ptx_since(p, from);
    } else {
        ptx_unexpected(p, "an instruction or a declaration");
    }
}

void ptx_body(ptx_parser *p) { // behind the opening brace
    uint32_t outside = p->scope;
    ptx_scope_open(p);
    p->loc.file = p->loc.line = 0;
    while (p->scope > outside) {
        if (p->t.kind == T_EOF) ptx_error(p, p->fn->line, "the body of '%.200s' has no end", p->fn->name);
        if (p->scope == outside + 1 && ptx_is(p, '}')) { // leave the token behind it unread for the caller
            p->fn->text.end = p->t.s + 1;
            ptx_scope_close(p);
            ptx_next(p);
            return;
        }
        statement(p);
    }
}
