// Statements of a launch script: text to a list of statements (docs/reference/launch-scripts.md has the
// language). A name must be defined in the text above its use, so that a misspelt one is found
// before anything runs. Words such as `grid` or `seed` mean something only where they are expected
// and can be names of variables elsewhere.
#include "launch/parse.h"

#include <stdlib.h>
#include <string.h>

void orr_script_error(const orr_script *s, orr_err *e, int status, int line, const char *fmt, va_list ap) {
    char text[700];
    vsnprintf(text, sizeof text, fmt, ap);
    if (s->plain || line <= 0)
        orr_fail(e, status, "%s: %s", s->path, text);
    else
        orr_fail(e, status, "%s:%d: %s", s->path, line, text);
}

void orr_parse_bad(parser *p, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    orr_script_error(p->s, p->e, ORR_BAD_INPUT, line, fmt, ap);
    va_end(ap);
    longjmp(p->out, 1);
}

const char *orr_script_resolve(orr_script *s, const char *file) {
    return file[0] == '/' ? file : orr_arena_printf(&s->arena, "%s%s", s->dir, file);
}

static stmt *new_stmt(parser *p, int kind, int line) {
    stmt *st = orr_arena_alloc(&p->s->arena, sizeof *st);
    st->kind = kind;
    st->line = line;
    st->slot = st->slot2 = -1;
    return st;
}

static token need_name(parser *p, const char *what) {
    char buf[48];
    token t = p->t;
    if (t.kind != T_NAME) bad(p, t.line, "%s is needed, not %s", what, orr_lex_text(&t, buf));
    orr_lex(p);
    return t;
}

static const char *need_string(parser *p, const char *what) {
    char buf[48];
    token t = p->t;
    if (t.kind != T_STRING) bad(p, t.line, "%s in quotes is needed, not %s", what, orr_lex_text(&t, buf));
    if (!t.n) bad(p, t.line, "%s is empty", what);
    orr_lex(p);
    return t.s;
}

static int define(parser *p, token t, bool buffer, int type) {
    orr_script *s = p->s;
    int slot = orr_name_find(p, t.s, t.n);
    if (slot >= 0) {
        const name *old = &s->names.at[slot];
        if (old->buffer != buffer) {
            bad(p, t.line, "'%s' is a %s already; choose another name", old->text,
                old->buffer ? "buffer" : "variable");
        }
        if (buffer && old->type != type)
            bad(p, t.line, "'%s' has the type %s above", old->text, orr_elem_name(old->type));
        return slot;
    }
    if (s->names.n >= MAX_NAMES) bad(p, t.line, "more than %d names", MAX_NAMES);
    name *n = ORR_PUSH(&s->names);
    n->text = orr_arena_strndup(&s->arena, t.s, t.n);
    n->buffer = buffer;
    n->type = type;
    orr_map_putn(&s->names_by_text, t.s, t.n, (void *)(intptr_t)s->names.n);
    return (int)s->names.n - 1;
}

static int need_buffer(parser *p) {
    char buf[48];
    token t = need_name(p, "a buffer's name");
    int slot = orr_name_find(p, t.s, t.n);
    if (slot < 0 || !p->s->names.at[slot].buffer) {
        bad(p, t.line, "%s is not a buffer made above", orr_lex_text(&t, buf));
    }
    return slot;
}

static int need_type(parser *p) {
    char buf[48];
    token t = need_name(p, "an element type");
    int type = orr_elem_type(t.s, t.n);
    if (type == ORR_T_NONE) {
        bad(p, t.line, "%s is not a type; there are u8 s8 u16 s16 f16 bf16 u32 s32 f32 u64 s64 f64",
            orr_lex_text(&t, buf));
    }
    return type;
}

// ---- fills ----------------------------------------------------------------------------------
// The array doubles in the arena, which an error leaves to be freed with the script.
static void parse_list(parser *p, fill *f) {
    uint32_t cap = 0;
    do {
        if (f->nlist >= MAX_LIST) bad(p, p->t.line, "a list of more than %d values; use a file", MAX_LIST);
        if (f->nlist == cap) {
            cap = cap ? cap * 2 : 16;
            expr **more = orr_arena_alloc(&p->s->arena, cap * sizeof *more);
            if (f->nlist) memcpy(more, f->list, f->nlist * sizeof *more);
            f->list = more;
        }
        f->list[f->nlist++] = orr_expr(p);
    } while (orr_lex_take(p, ','));
}

static bool at_end(const parser *p) { return p->t.kind == T_EOL || p->t.kind == T_EOF; }

// False when what is next is no fill.
static bool parse_fill(parser *p, fill *f) {
    f->line = p->t.line;
    if (orr_lex_take_word(p, "zero")) {
        f->kind = FILL_ZERO;
    } else if (orr_lex_take_word(p, "value")) {
        f->kind = FILL_VALUE;
        f->a = orr_expr(p);
    } else if (orr_lex_take_word(p, "random")) {
        f->kind = FILL_RANDOM;
        if (!at_end(p) && !orr_lex_word(p, "seed")) {
            f->a = orr_expr_operand(p);
            orr_lex_take(p, ',');
            f->b = orr_expr_operand(p);
        }
        if (orr_lex_take_word(p, "seed")) f->seed = orr_expr(p);
    } else if (orr_lex_take_word(p, "iota")) {
        f->kind = FILL_IOTA;
        bool tolerance = orr_lex_word(p, "rtol") || orr_lex_word(p, "atol");
        if (!at_end(p) && !tolerance) {
            f->a = orr_expr_operand(p);
            orr_lex_take(p, ',');
            tolerance = orr_lex_word(p, "rtol") || orr_lex_word(p, "atol");
            if (!at_end(p) && !tolerance) f->b = orr_expr_operand(p);
        }
    } else if (orr_lex_take_word(p, "file")) {
        f->kind = FILL_FILE;
        f->file = orr_script_resolve(p->s, need_string(p, "a file's name"));
    } else if (orr_lex_take_word(p, "list")) {
        f->kind = FILL_LIST;
        parse_list(p, f);
    } else if (orr_lex_take_word(p, "expr")) {
        f->kind = FILL_EXPR;
        p->in_fill = true;
        f->a = orr_expr(p);
        p->in_fill = false;
    } else {
        return false;
    }
    return true;
}

// buffer NAME T[e] FILL, symbol NAME T[e] FILL. `T[]` takes its length from a list.
static stmt *parse_buffer(parser *p, int kind, int line) {
    char buf[48];
    stmt *st = new_stmt(p, kind, line);
    token n = need_name(p, "a name");
    int type = need_type(p);
    orr_lex_need(p, '[', "'['");
    if (p->t.kind != ']') st->a = orr_expr(p);
    orr_lex_need(p, ']', "']'");
    st->fill = orr_arena_alloc(&p->s->arena, sizeof *st->fill);
    st->fill->kind = kind == S_BUFFER ? FILL_ZERO : FILL_KEEP;
    if (!at_end(p) && !parse_fill(p, st->fill)) {
        bad(p, p->t.line, "%s is not a fill; there are zero, value, random, iota, file, list and expr",
            orr_lex_text(&p->t, buf));
    }
    if (!st->a && st->fill->kind != FILL_LIST)
        bad(p, line, "only a buffer with a list may leave its length out");
    st->slot = define(p, n, true, type);
    return st;
}

// ---- launches -------------------------------------------------------------------------------
static void parse_dims(parser *p, expr **d) {
    d[0] = orr_expr(p);
    for (int k = 1; k < 3 && orr_lex_take(p, ','); k++) d[k] = orr_expr(p);
}

// One token is looked ahead by remembering where we were.
static void go_back(parser *p, const parser *before) {
    p->t = before->t;
    p->at = before->at;
    p->line = before->line;
}

// TYPE ':' at the front of an argument.
static int parse_arg_type(parser *p) {
    int type = p->t.kind == T_NAME ? orr_elem_type(p->t.s, p->t.n) : ORR_T_NONE;
    if (type == ORR_T_NONE) return ORR_T_NONE;
    parser before = *p;
    orr_lex(p);
    if (orr_lex_take(p, ':')) return type;
    go_back(p, &before);
    return ORR_T_NONE;
}

// An option of tensor() and texture() that stands once: a word with an expression behind it, or a word alone.
typedef struct option {
    const char *word;
    expr **value; // NULL: it stands alone
    bool *given;
} option;

static bool take_option(parser *p, const option *of, size_t n) {
    for (const option *o = of; o < of + n; o++) {
        if ((o->value ? *o->value != NULL : *o->given) || !orr_lex_take_word(p, o->word)) continue;
        if (o->value)
            *o->value = orr_expr(p);
        else
            *o->given = true;
        return true;
    }
    return false;
}

// tensor(BUFFER dims e, ... box e, ... [strides e, ...] [steps e, ...] [swizzle e] [interleave e] [nan]),
// of im2col
// lower e, ... upper e, ... channels e pixels e instead of the box
static tensor *parse_tensor(parser *p) {
    static const char *const lists[TENSOR_LISTS] = {"dims", "strides", "box", "steps", "lower", "upper"};
    tensor *t = orr_arena_alloc(&p->s->arena, sizeof *t);
    char buf[48];
    *t = (tensor){.line = p->t.line};
    const option options[] = {{"swizzle", &t->swizzle, NULL},
                              {"interleave", &t->interleave, NULL},
                              {"channels", &t->channels, NULL},
                              {"pixels", &t->pixels, NULL},
                              {"nan", NULL, &t->nan}};
    orr_lex_need(p, '(', "'('");
    t->buffer = orr_expr(p);
    while (!orr_lex_take(p, ')')) {
        int which = 0;
        while (which < TENSOR_LISTS && (t->n[which] || !orr_lex_take_word(p, lists[which]))) which++;
        if (which < TENSOR_LISTS) {
            do t->list[which][t->n[which]++] = orr_expr(p);
            while (t->n[which] < 5 && orr_lex_take(p, ','));
        } else if (!take_option(p, options, sizeof options / sizeof options[0])) {
            bad(p, p->t.line,
                "dims, box, strides, steps, swizzle, interleave, nan, lower, upper, channels or pixels is "
                "expected, each once, not %s",
                orr_lex_text(&p->t, buf));
        }
    }
    if (!t->n[TENSOR_DIMS]) bad(p, t->line, "a tensor needs its dims");
    return t;
}

// texture(BUFFER dims w[, h] [channels e] [linear] [wrap | clamp | mirror | border] [normalized] [unit])
static texture *parse_texture(parser *p) {
    static const char *const addresses[] = {"wrap", "clamp", "mirror", "border"};
    texture *t = orr_arena_alloc(&p->s->arena, sizeof *t);
    char buf[48];
    bool addressed = false;
    *t = (texture){.line = p->t.line, .address = 1};
    const option options[] = {{"channels", &t->channels, NULL},
                              {"linear", NULL, &t->linear},
                              {"normalized", NULL, &t->normalized},
                              {"unit", NULL, &t->unit}};
    orr_lex_need(p, '(', "'('");
    t->buffer = orr_expr(p);
    while (!orr_lex_take(p, ')')) {
        int which = 0;
        while (which < 4 && (addressed || !orr_lex_take_word(p, addresses[which]))) which++;
        if (which < 4) {
            t->address = (uint8_t)which;
            addressed = true;
        } else if (!t->dims[0] && orr_lex_take_word(p, "dims")) {
            t->dims[0] = orr_expr(p);
            if (orr_lex_take(p, ',')) t->dims[1] = orr_expr(p);
        } else if (!take_option(p, options, sizeof options / sizeof options[0])) {
            bad(p, p->t.line,
                "dims, channels, linear, wrap, clamp, mirror, border, normalized or unit is expected, each "
                "once, not %s",
                orr_lex_text(&p->t, buf));
        }
    }
    if (!t->dims[0]) bad(p, t->line, "a texture needs its dims");
    return t;
}

// `tensor` or `texture` followed by a parenthesis; a variable may be called so.
static bool at_object(parser *p, const char *word) {
    if (!orr_lex_word(p, word)) return false;
    parser before = *p;
    orr_lex(p);
    if (p->t.kind == '(') return true;
    go_back(p, &before);
    return false;
}

// "local:" in front of a number of bytes; `local` alone is a name like others.
static bool take_local(parser *p) {
    if (!orr_lex_word(p, "local")) return false;
    parser before = *p;
    orr_lex(p);
    if (orr_lex_take(p, ':')) return true;
    go_back(p, &before);
    return false;
}

static uint32_t parse_args(parser *p, arg **out, bool field);

static void parse_arg(parser *p, arg *a, bool field) {
    int line = p->t.line;
    if (!field && orr_lex_take(p, '{')) {
        a->nfields = parse_args(p, &a->fields, true);
        orr_lex_need(p, '}', "'}'");
        return;
    }
    if (!field && at_object(p, "tensor")) {
        a->tensor = parse_tensor(p);
        return;
    }
    if (!field && at_object(p, "texture")) {
        a->texture = parse_texture(p);
        return;
    }
    a->local = !field && take_local(p);
    a->type = a->local ? ORR_T_NONE : parse_arg_type(p);
    a->e = orr_expr(p);
    if (field && a->type == ORR_T_NONE && a->e->op == X_CONST) {
        bad(p, line, "a number in { } needs its type, as in {f32:1.5, s32:2}");
    }
}

static uint32_t parse_args(parser *p, arg **out, bool field) {
    arg *args = NULL; // as the list
    uint32_t n = 0, cap = 0;
    do {
        if (n >= MAX_ARGS) bad(p, p->t.line, "more than %d arguments", MAX_ARGS);
        if (n == cap) {
            cap = cap ? cap * 2 : 8;
            arg *more = orr_arena_alloc(&p->s->arena, cap * sizeof *more);
            if (n) memcpy(more, args, n * sizeof *more);
            args = more;
        }
        parse_arg(p, &args[n++], field);
    } while (orr_lex_take(p, ','));
    *out = args;
    return n;
}

static stmt *parse_launch(parser *p, int line) {
    char buf[48];
    stmt *st = new_stmt(p, S_LAUNCH, line);
    call *c = st->call = orr_arena_alloc(&p->s->arena, sizeof *c);
    if (p->t.kind == T_STRING) {
        c->kernel = p->t.s;
        orr_lex(p);
    } else {
        token t = need_name(p, "a kernel's name");
        c->kernel = orr_arena_strndup(&p->s->arena, t.s, t.n);
    }
    while (!at_end(p)) {
        if (!c->grid[0] && orr_lex_take_word(p, "grid")) {
            parse_dims(p, c->grid);
        } else if (!c->block[0] && orr_lex_take_word(p, "block")) {
            parse_dims(p, c->block);
        } else if (!c->cluster[0] && orr_lex_take_word(p, "cluster")) {
            parse_dims(p, c->cluster);
        } else if (!c->shared && orr_lex_take_word(p, "shared")) {
            c->shared = orr_expr(p);
        } else if (!c->args && orr_lex_take_word(p, "args")) {
            if (!at_end(p)) c->nargs = parse_args(p, &c->args, false);
        } else {
            bad(p, p->t.line, "grid, block, cluster, shared or args is expected, each once, not %s",
                orr_lex_text(&p->t, buf));
        }
    }
    if (!c->grid[0] || !c->block[0]) bad(p, line, "a launch needs its %s", c->grid[0] ? "block" : "grid");
    return st;
}

// ---- measurements ---------------------------------------------------------------------------
// measure "NAME" "UNIT" e [at k, k2 ...]
static stmt *parse_measure(parser *p, int line) {
    char buf[48];
    stmt *st = new_stmt(p, S_MEASURE, line);
    measuring *m = st->measuring = orr_arena_alloc(&p->s->arena, sizeof *m);
    int vars[MAX_POINT];
    *m = (measuring){.name = need_string(p, "the name of what is measured")};
    m->unit = need_string(p, "its unit");
    st->a = orr_expr(p);
    if (!orr_lex_take_word(p, "at")) return st;
    do {
        token t = need_name(p, "a variable's name");
        int slot = orr_name_find(p, t.s, t.n);
        if (slot < 0 || p->s->names.at[slot].buffer)
            bad(p, t.line, "%s is not a variable made above", orr_lex_text(&t, buf));
        if (m->nvars == MAX_POINT) bad(p, t.line, "a measure names at most %d variables", MAX_POINT);
        vars[m->nvars++] = slot;
    } while (orr_lex_take(p, ','));
    m->vars = orr_arena_alloc(&p->s->arena, m->nvars * sizeof *vars);
    memcpy(m->vars, vars, m->nvars * sizeof *vars);
    return st;
}

// ---- expectations ---------------------------------------------------------------------------
static stmt *parse_expect(parser *p, int line) {
    char buf[48];
    stmt *st = new_stmt(p, S_EXPECT, line);
    check *c = st->check = orr_arena_alloc(&p->s->arena, sizeof *c);
    st->slot = need_buffer(p);
    c->fill.line = line;
    if (orr_lex_take(p, '[')) {
        c->kind = CHECK_ELEMENT;
        c->index = orr_expr(p);
        orr_lex_need(p, ']', "']'");
        orr_lex_need(p, T_EQ, "'=='");
        c->v = orr_expr(p);
    } else if (orr_lex_take_word(p, "all")) {
        c->fill.kind = FILL_VALUE;
        c->fill.a = orr_expr(p);
    } else if (orr_lex_take_word(p, "equal")) {
        c->kind = CHECK_EQUAL;
        c->other = need_buffer(p);
    } else if (orr_lex_take_word(p, "sorted")) {
        c->kind = CHECK_SORTED;
        c->descending = orr_lex_take_word(p, "descending");
    } else if (orr_lex_take_word(p, "from")) {
        c->kind = CHECK_FROM;
        c->file = orr_script_resolve(p->s, need_string(p, "a file's name"));
    } else if (!parse_fill(p, &c->fill)) {
        bad(p, p->t.line, "%s is not a check; there are all, [e] ==, list, expr, equal, sorted and from",
            orr_lex_text(&p->t, buf));
    }
    while (orr_lex_word(p, "rtol") || orr_lex_word(p, "atol")) {
        expr **tol = orr_lex_word(p, "rtol") ? &c->rtol : &c->atol;
        orr_lex(p);
        *tol = orr_expr(p);
    }
    return st;
}

// ---- everything else ------------------------------------------------------------------------
static stmt *parse_block(parser *p);

static void end_line(parser *p) {
    char buf[48];
    if (!at_end(p)) bad(p, p->t.line, "the line should end before %s", orr_lex_text(&p->t, buf));
    if (p->t.kind == T_EOL) orr_lex(p);
}

static stmt *nested(parser *p, int line) {
    if (++p->nesting > MAX_NESTING) bad(p, line, "statements are nested more than %d deep", MAX_NESTING);
    end_line(p);
    stmt *body = parse_block(p);
    p->nesting--;
    return body;
}

static void close_with(parser *p, const char *word, const char *what, int line) {
    char buf[48];
    if (!orr_lex_take_word(p, word)) {
        bad(p, p->t.line, "'%s' is needed, not %s, to close the '%s' of line %d", word,
            orr_lex_text(&p->t, buf), what, line);
    }
}

static stmt *parse_for(parser *p, int line) {
    stmt *st = new_stmt(p, S_FOR, line);
    token t = need_name(p, "a variable");
    orr_lex_need(p, '=', "'='");
    st->a = orr_expr(p);
    if (!orr_lex_take_word(p, "to"))
        bad(p, line, "'to' and the last value are needed: for %.*s = 0 to 9", (int)t.n, t.s);
    st->b = orr_expr(p);
    if (orr_lex_take_word(p, "step")) st->c = orr_expr(p);
    st->slot = define(p, t, false, 0);
    st->body = nested(p, line);
    close_with(p, "end", "for", line);
    return st;
}

static stmt *parse_repeat(parser *p, int line) {
    stmt *st = new_stmt(p, S_REPEAT, line);
    p->s->decides = true;
    if (!orr_lex_take_word(p, "max")) bad(p, line, "'repeat max N' says how many rounds are too many");
    st->a = orr_expr(p);
    st->body = nested(p, line);
    close_with(p, "until", "repeat", line);
    st->b = orr_expr(p);
    return st;
}

static stmt *parse_if(parser *p, int line) {
    stmt *st = new_stmt(p, S_IF, line);
    st->a = orr_expr(p);
    st->body = nested(p, line);
    if (orr_lex_take_word(p, "else")) {
        if (orr_lex_word(p, "if")) { // else if: one `end` closes the whole chain
            int at = p->t.line;
            orr_lex(p);
            if (++p->nesting > MAX_NESTING)
                bad(p, at, "statements are nested more than %d deep", MAX_NESTING);
            st->other = parse_if(p, at);
            p->nesting--;
            return st;
        }
        st->other = nested(p, line);
    }
    close_with(p, "end", "if", line);
    return st;
}

// size NAME k = e, k2 = e2: one statement for each constant.
static stmt *parse_size(parser *p, int line) {
    orr_script *s = p->s;
    if (p->nesting) bad(p, line, "a size cannot stand inside for, repeat or if");
    token t = need_name(p, "a size's name");
    size_t k = 0;
    while (k < s->sizes.n && (strlen(s->sizes.at[k]) != t.n || memcmp(s->sizes.at[k], t.s, t.n))) k++;
    if (k == s->sizes.n) {
        if (k >= MAX_SIZES) bad(p, line, "more than %d sizes", MAX_SIZES);
        *ORR_PUSH(&s->sizes) = orr_arena_strndup(&s->arena, t.s, t.n);
    }
    stmt *first = NULL, **link = &first;
    if (at_end(p)) return NULL;
    do {
        stmt *st = new_stmt(p, S_SIZE, p->t.line);
        token n = need_name(p, "a constant's name");
        orr_lex_need(p, '=', "'='");
        st->a = orr_expr(p);
        st->slot = define(p, n, false, 0);
        s->names.at[st->slot].constant = true;
        st->size = (int)k;
        *link = st;
        link = &st->next;
    } while (orr_lex_take(p, ','));
    return first;
}

static stmt *parse_set(parser *p, int line) {
    stmt *st = new_stmt(p, S_SET, line);
    st->slot = need_buffer(p);
    if (orr_lex_take(p, '[')) {
        st->b = orr_expr(p);
        orr_lex_need(p, ']', "']'");
    }
    orr_lex_need(p, '=', "'='");
    st->a = orr_expr(p);
    return st;
}

static stmt *parse_stmt(parser *p) {
    char buf[48];
    stmt *st = NULL;
    token t = p->t;
    if (t.kind != T_NAME) bad(p, t.line, "a statement cannot start with %s", orr_lex_text(&t, buf));
    if (orr_lex_take_word(p, "module")) {
        if (p->nesting) bad(p, t.line, "a module cannot stand inside for, repeat or if");
        if (p->s->modules.n >= MAX_MODULES) bad(p, t.line, "more than %d modules", MAX_MODULES);
        const char *path = orr_script_resolve(p->s, need_string(p, "the module's file"));
        const char *build = orr_lex_take_word(p, "build") ? need_string(p, "build options") : NULL;
        *ORR_PUSH(&p->s->modules) = (module_ref){.path = path, .build = build, .line = t.line};
    } else if (orr_lex_take_word(p, "size")) {
        st = parse_size(p, t.line);
    } else if (orr_lex_take_word(p, "let")) {
        st = new_stmt(p, S_LET, t.line);
        token n = need_name(p, "a variable's name");
        orr_lex_need(p, '=', "'='");
        st->a = orr_expr(p);
        st->slot = define(p, n, false, 0);
    } else if (orr_lex_take_word(p, "buffer")) {
        st = parse_buffer(p, S_BUFFER, t.line);
    } else if (orr_lex_take_word(p, "symbol")) {
        st = parse_buffer(p, S_SYMBOL, t.line);
    } else if (orr_lex_take_word(p, "launch")) {
        st = parse_launch(p, t.line);
    } else if (orr_lex_take_word(p, "for")) {
        st = parse_for(p, t.line);
    } else if (orr_lex_take_word(p, "repeat")) {
        st = parse_repeat(p, t.line);
    } else if (orr_lex_take_word(p, "if")) {
        st = parse_if(p, t.line);
    } else if (orr_lex_take_word(p, "set")) {
        st = parse_set(p, t.line);
    } else if (orr_lex_word(p, "copy") || orr_lex_word(p, "swap")) {
        st = new_stmt(p, orr_lex_word(p, "copy") ? S_COPY : S_SWAP, t.line);
        orr_lex(p);
        st->slot = need_buffer(p);
        orr_lex_take(p, ',');
        st->slot2 = need_buffer(p);
    } else if (orr_lex_take_word(p, "expect")) {
        st = parse_expect(p, t.line);
    } else if (orr_lex_take_word(p, "print")) {
        st = new_stmt(p, S_PRINT, t.line);
        st->slot = need_buffer(p);
        if (!at_end(p)) st->a = orr_expr(p);
    } else if (orr_lex_take_word(p, "measure")) {
        st = parse_measure(p, t.line);
    } else {
        bad(p, t.line,
            "there is no statement %s; there are module size let buffer symbol launch for repeat if set copy "
            "swap expect print measure",
            orr_lex_text(&t, buf));
    }
    end_line(p);
    return st;
}

static stmt *parse_block(parser *p) {
    stmt *first = NULL, **link = &first;
    for (;;) {
        while (orr_lex_take(p, T_EOL)) {}
        if (p->t.kind == T_EOF) return first;
        if (p->nesting && (orr_lex_word(p, "end") || orr_lex_word(p, "else") || orr_lex_word(p, "until")))
            return first;
        *link = parse_stmt(p);
        while (*link) link = &(*link)->next;
    }
}

// A parser at the start of a text. The token before the first is a line's end.
static void start(parser *p, orr_script *s, const char *text, size_t n, orr_err *e) {
    *p = (parser){.s = s, .e = e, .at = text, .end = text + n, .line = 1, .t.kind = T_EOL};
}

static bool parse_text(orr_script *s, const char *text, size_t n, orr_err *e) {
    if (n > MAX_SCRIPT_BYTES)
        return orr_fail(e, ORR_BAD_INPUT, "%s: a launch script may have 1 MiB", s->path);
    parser *p = orr_arena_alloc(&s->arena, sizeof *p);
    start(p, s, text, n, e);
    if (setjmp(p->out)) return false;
    orr_lex(p);
    s->stmts = parse_block(p);
    return true;
}

static bool choose_size(orr_script *s, const char *size, orr_err *e) {
    s->size = s->sizes.n ? 0 : -1;
    if (!size || !s->sizes.n) return true;
    orr_text known = {0};
    for (size_t k = 0; k < s->sizes.n; k++) {
        if (!strcmp(s->sizes.at[k], size)) {
            s->size = (int)k;
            free(known.s);
            return true;
        }
        orr_text_add(&known, " %s", s->sizes.at[k]);
    }
    orr_fail(e, ORR_BAD_INPUT, "%s: there is no size '%s'; there are%s", s->path, size, known.s);
    free(known.s);
    return false;
}

// --set n=4096 replaces a constant of the sizes.
static bool replace(orr_script *s, const char *set, orr_err *e) {
    const char *eq = strchr(set, '=');
    if (!eq) return orr_fail(e, ORR_BAD_INPUT, "--set %s: it should be NAME=NUMBER", set);
    parser *p = orr_arena_alloc(&s->arena, sizeof *p);
    start(p, s, eq + 1, strlen(eq + 1), e);
    int slot = orr_name_find(p, set, (size_t)(eq - set));
    if (slot < 0 || !s->names.at[slot].constant) {
        orr_text known = {0};
        for (size_t k = 0; k < s->names.n; k++) {
            if (s->names.at[k].constant) orr_text_add(&known, " %s", s->names.at[k].text);
        }
        orr_fail(e, ORR_BAD_INPUT, "--set %s: %s has no such size constant; it has:%s", set, s->path,
                 known.s ? known.s : " none");
        free(known.s);
        return false;
    }
    orr_err why = {0};
    p->e = &why;
    if (setjmp(p->out)) return orr_fail(e, ORR_BAD_INPUT, "--set %s: it should be NAME=NUMBER", set);
    orr_lex(p);
    expr *x = orr_expr(p);
    if (x->op != X_CONST || p->t.kind != T_EOF)
        return orr_fail(e, ORR_BAD_INPUT, "--set %s: it should be NAME=NUMBER", set);
    s->names.at[slot].replaced = true;
    s->names.at[slot].given = x->v;
    s->replaced = true;
    return true;
}

orr_script *orr_script_parse(const orr_script_text *t, orr_err *e) {
    orr_script *s = orr_calloc(1, sizeof *s);
    s->plain = t->plain;
    s->path = orr_arena_strdup(&s->arena, t->path);
    const char *slash = strrchr(s->path, '/');
    s->dir = slash ? orr_arena_strndup(&s->arena, s->path, (size_t)(slash - s->path) + 1) : "";
    s->max_steps = MAX_STEPS;
    s->max_bytes = MAX_BUFFER_BYTES;
    bool ok = parse_text(s, t->text, t->n, e) && choose_size(s, t->size, e);
    for (int k = 0; ok && k < t->nsets; k++) ok = replace(s, t->sets[k], e);
    if (ok) return s;
    orr_script_free(s);
    return NULL;
}

orr_script *orr_script_load(const char *path, const char *size, const char *const *sets, int nsets,
                            orr_err *e) {
    size_t n;
    char *text = orr_read_file(path, MAX_SCRIPT_BYTES, &n, e);
    if (!text) return NULL;
    orr_script *s = orr_script_parse(
        &(orr_script_text){.path = path, .text = text, .n = n, .size = size, .sets = sets, .nsets = nsets},
        e);
    free(text);
    if (s && !s->stmts) {
        orr_fail(e, ORR_BAD_INPUT, "%s: there is nothing in this launch script", path);
        orr_script_free(s);
        s = NULL;
    }
    return s;
}

void orr_script_free(orr_script *s) {
    if (!s) return;
    for (size_t k = 0; k < s->modules.n; k++) {
        orr_module *m = s->modules.at[k].module;
        if (m) m->free(m);
    }
    free(s->names.at);
    free(s->sizes.at);
    free(s->modules.at);
    orr_map_free(&s->names_by_text);
    orr_arena_free(&s->arena);
    free(s);
}

const char *orr_script_path(const orr_script *s) { return s->path; }
const char *orr_script_size(const orr_script *s) { return s->size < 0 ? "" : s->sizes.at[s->size]; }

int orr_script_sizes(const orr_script *s, const char *const **names) {
    *names = s->sizes.at;
    return (int)s->sizes.n;
}

void orr_script_opener(orr_script *s, orr_module_opener *open) { s->open = open; }
