// The source with counters: a walk over the syntax tree that finds segments and writes down what to insert.
#include "clc/annotate.h"
#include "clc/ast.h"
#include "clc/tools.h"

#include <stdlib.h>
#include <string.h>

typedef struct edit {
    uint32_t at, remove, order;
    const char *text;
} edit;
typedef struct call {
    const char *callee;
    int32_t segment;
    const clc_node *node;
} call;
typedef ORR_VEC(int32_t) list;

typedef struct walk {
    orr_annotated *a;
    const char *text;
    ORR_VEC(orr_segment) segments;
    ORR_VEC(orr_source_loop) loops;
    ORR_VEC(orr_source_function) functions;
    ORR_VEC(edit) edits;
    ORR_VEC(call) calls;
    list returns, breaks, continues; // segments that end so, of what is being walked
    uint32_t function;
    int32_t loop;
    uint32_t depth, counters; // counters so far: of functions, or of the kernel
    int nesting;
    orr_err *e;
} walk;

static bool is(const clc_node *n, const char *kind) { return n && n->kind && !strcmp(n->kind, kind); }

static uint32_t line_of(const orr_annotated *a, uint32_t at) {
    uint32_t lo = 0, hi = a->nlines;
    while (lo + 1 < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (a->line_at[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo + 1;
}

static void refuse(walk *w, const clc_node *n, const char *what) {
    orr_fail(w->e, ORR_BAD_INPUT, "line %u: %s, which cannot be annotated", line_of(w->a, n->begin), what);
}

static void insert(walk *w, uint32_t at, const char *text) {
    *ORR_PUSH(&w->edits) = (edit){at, 0, (uint32_t)w->edits.n, text};
}

static void paint(walk *w, const clc_node *n, int32_t s) {
    if (!n || !n->kind || !n->nearby) return;
    for (uint32_t i = n->begin; i < n->end && i < w->a->bytes; i++) w->a->of_byte[i] = (uint16_t)(s + 1);
}

// ---- segments ---------------------------------------------------------------------------------------
static int32_t segment(walk *w, const clc_node *n, int32_t parent, bool counted) {
    if (w->segments.n >= 60000) {
        orr_fail(w->e, ORR_BAD_INPUT, "the program has too many branches to annotate");
        return 0;
    }
    *ORR_PUSH(&w->segments) = (orr_segment){.counter = counted ? (int32_t)w->counters++ : -1,
                                            .function = w->function,
                                            .depth = w->depth,
                                            .loop = w->loop,
                                            .parent = parent,
                                            .line = n ? line_of(w->a, n->begin) : 0};
    return (int32_t)w->segments.n - 1;
}

static void term(walk *w, int32_t s, int32_t other, bool plus) {
    orr_segment *x = &w->segments.at[s];
    if (x->nterms < ORR_SEGMENT_TERMS)
        x->term[x->nterms++] = plus ? other + 1 : -(other + 1);
    else
        orr_fail(w->e, ORR_BAD_INPUT, "line %u: more than %d ways lead here; it cannot be annotated", x->line,
                 ORR_SEGMENT_TERMS);
}

static const char *count_of(walk *w, int32_t s, const char *before, const char *after) {
    return orr_arena_printf(&w->a->arena, "%sorr_c[%d]++; %s", before, w->segments.at[s].counter, after);
}

// ---- where statements end ---------------------------------------------------------------------------
// An expression's tree ends before its semicolon.
static uint32_t semicolon(const walk *w, uint32_t at) {
    while (at < w->a->bytes && w->text[at] != ';') at++;
    return at < w->a->bytes ? at + 1 : at;
}

static uint32_t statement_end(const walk *w, const clc_node *n) {
    const clc_node *last = n->ninner ? n->inner[n->ninner - 1] : NULL;
    if (is(n, "CompoundStmt")) return n->end;
    if ((is(n, "IfStmt") || is(n, "ForStmt") || is(n, "WhileStmt") || is(n, "SwitchStmt") ||
         is(n, "CaseStmt") || is(n, "DefaultStmt") || is(n, "AttributedStmt")) &&
        last && last->kind)
        return statement_end(w, last);
    if (is(n, "DeclStmt") || is(n, "NullStmt")) return n->end; // with their semicolon
    return semicolon(w, n->end);
}

// A counter in front of a body; braces where it has none.
static void count_body(walk *w, const clc_node *of, const clc_node *body, int32_t s) {
    bool apart = body->nearby && body->begin > of->begin; // not a macro that has both
    if (is(body, "CompoundStmt") ? !body->here : !apart) {
        refuse(w, body, "a branch comes out of a macro");
    } else if (is(body, "CompoundStmt")) {
        insert(w, body->begin + 1, count_of(w, s, " ", ""));
    } else {
        insert(w, body->begin, count_of(w, s, "{ ", ""));
    }
}

static void close_body(walk *w, const clc_node *body) {
    if (!is(body, "CompoundStmt") && !w->e->status) insert(w, statement_end(w, body), " }");
}

// ---- expressions ------------------------------------------------------------------------------------
static void find_calls(walk *w, const clc_node *n, int32_t s) {
    if (!n || !n->kind || w->nesting > 400) return;
    w->nesting++;
    if (is(n, "CallExpr") && n->ninner) {
        const clc_node *f = n->inner[0];
        while (f && f->kind && !is(f, "DeclRefExpr") && f->ninner) f = f->inner[0];
        if (is(f, "DeclRefExpr") && f->name) *ORR_PUSH(&w->calls) = (call){f->name, s, n};
    }
    if (is(n, "StmtExpr")) refuse(w, n, "a statement stands in an expression");
    for (uint32_t i = 0; i < n->ninner; i++) find_calls(w, n->inner[i], s);
    w->nesting--;
}

static void expression(walk *w, const clc_node *n, int32_t s) {
    if (!n || !n->kind) return;
    paint(w, n, s);
    find_calls(w, n, s);
}

// ---- statements -------------------------------------------------------------------------------------
static void statement(walk *w, const clc_node *n, int32_t *s);

static void body(walk *w, const clc_node *n, int32_t s) {
    paint(w, n, s);
    statement(w, n, &s);
}

static void walk_if(walk *w, const clc_node *n, int32_t s) {
    uint32_t at = n->ninner - (n->has_else ? 3 : 2);
    if (n->ninner < (n->has_else ? 3u : 2u)) return;
    expression(w, n->inner[at], s);
    int32_t then = segment(w, n->inner[at + 1], s, true);
    count_body(w, n, n->inner[at + 1], then);
    body(w, n->inner[at + 1], then);
    close_body(w, n->inner[at + 1]);
    if (!n->has_else || w->e->status) return;
    int32_t other = segment(w, n->inner[at + 2], s, false);
    term(w, other, s, true);
    term(w, other, then, false);
    body(w, n->inner[at + 2], other);
}

// What is in a loop: its body has a counter; its condition runs once more for each time it is entered.
static void control(orr_source_loop *l, const clc_node *n) {
    if (!n || !n->kind || n->end < n->begin) return;
    if (!l->to || n->begin < l->from) l->from = (uint32_t)n->begin;
    if (n->end > l->to) l->to = (uint32_t)n->end;
}

static void walk_loop(walk *w, const clc_node *n, int32_t s) {
    bool is_for = is(n, "ForStmt"), is_do = is(n, "DoStmt");
    if (n->ninner < 2 || (is_for && n->ninner < 5)) return;
    const clc_node *inside = is_do ? n->inner[0] : n->inner[n->ninner - 1];
    const clc_node *cond = is_do ? n->inner[n->ninner - 1] : is_for ? n->inner[2] : n->inner[n->ninner - 2];
    if (is_for) expression(w, n->inner[0], s);
    size_t breaks = w->breaks.n, continues = w->continues.n;
    int32_t outer = w->loop;
    w->loop = (int32_t)w->loops.n;
    w->depth++;
    *ORR_PUSH(&w->loops) = (orr_source_loop){.before = s, .outer = outer};
    int32_t in = segment(w, inside, s, true), head = in;
    w->loops.at[w->loop].body = in;
    if (!is_do) {
        head = segment(w, cond && cond->kind ? cond : inside, s, false);
        w->segments.at[head].head = true;
        term(w, head, s, true);
        term(w, head, in, true);
    }
    expression(w, cond, head);
    if (is_for) expression(w, n->inner[3], in);
    control(&w->loops.at[w->loop], cond);
    if (is_for) control(&w->loops.at[w->loop], n->inner[3]);
    count_body(w, n, inside, in);
    body(w, inside, in);
    close_body(w, inside);
    w->depth--;
    w->loop = outer;
    w->breaks.n = breaks;
    w->continues.n = continues;
}

static void walk_case(walk *w, const clc_node *n, int32_t *s) {
    const clc_node *sub = n->ninner ? n->inner[n->ninner - 1] : NULL;
    if (!sub || !sub->kind) return;
    if (is(sub, "CaseStmt") || is(sub, "DefaultStmt")) { // case 1: case 2:
        statement(w, sub, s);
        return;
    }
    if (!sub->here) {
        refuse(w, sub, "a case comes out of a macro");
        return;
    }
    *s = segment(w, sub, w->segments.at[*s].parent >= 0 ? w->segments.at[*s].parent : *s, true);
    insert(w, sub->begin, count_of(w, *s, "", ""));
    paint(w, sub, *s);
    statement(w, sub, s);
}

static void walk_switch(walk *w, const clc_node *n, int32_t s) {
    if (n->ninner < 2) return;
    expression(w, n->inner[n->ninner - 2], s);
    size_t breaks = w->breaks.n;
    int32_t in = segment(w, n, s, false); // before the first case: nothing
    body(w, n->inner[n->ninner - 1], in);
    w->breaks.n = breaks;
}

static void walk_return(walk *w, const clc_node *n, int32_t s) {
    expression(w, n, s);
    *ORR_PUSH(&w->returns) = s;
    if (!w->functions.at[w->function].kernel) return;
    if (!n->here) {
        refuse(w, n, "a return comes out of a macro");
        return;
    }
    insert(w, n->begin, "{ ORR_FLUSH ");
    insert(w, semicolon(w, n->end), " }");
}

// After it, what follows is another segment if some have left.
static void leave(walk *w, const clc_node *n, int32_t *s, const size_t before[3]) {
    const list *lists[3] = {&w->returns, &w->breaks, &w->continues};
    size_t gone = 0;
    for (int i = 0; i < 3; i++) gone += lists[i]->n > before[i] ? lists[i]->n - before[i] : 0;
    if (!gone || w->e->status) return;
    if (gone + 1 > ORR_SEGMENT_TERMS) {
        refuse(w, n, "more ways lead out of a statement than can be followed");
        return;
    }
    int32_t after = segment(w, n, w->segments.at[*s].parent, false);
    w->segments.at[after].line = line_of(w->a, n->end);
    term(w, after, *s, true);
    for (int i = 0; i < 3; i++)
        for (size_t k = before[i]; k < lists[i]->n; k++) term(w, after, lists[i]->at[k], false);
    *s = after;
}

static void statement(walk *w, const clc_node *n, int32_t *s) {
    if (!n || !n->kind || w->e->status) return;
    if (++w->nesting > 200) {
        refuse(w, n, "statements are nested more than 200 deep");
        return;
    }
    size_t before[3] = {w->returns.n, w->breaks.n, w->continues.n};
    if (is(n, "CompoundStmt")) {
        for (uint32_t i = 0; i < n->ninner; i++) {
            paint(w, n->inner[i], *s);
            statement(w, n->inner[i], s);
        }
        w->nesting--;
        return; // its statements have said what leaves
    }
    if (is(n, "IfStmt"))
        walk_if(w, n, *s);
    else if (is(n, "ForStmt") || is(n, "WhileStmt") || is(n, "DoStmt"))
        walk_loop(w, n, *s);
    else if (is(n, "SwitchStmt"))
        walk_switch(w, n, *s);
    else if (is(n, "AttributedStmt") && n->ninner)
        statement(w, n->inner[n->ninner - 1], s);
    else if (is(n, "ReturnStmt"))
        walk_return(w, n, *s);
    else if (is(n, "BreakStmt"))
        *ORR_PUSH(&w->breaks) = *s;
    else if (is(n, "ContinueStmt"))
        *ORR_PUSH(&w->continues) = *s;
    else if (is(n, "GotoStmt") || is(n, "LabelStmt"))
        refuse(w, n, "there is a goto");
    else if (!is(n, "CaseStmt") && !is(n, "DefaultStmt"))
        expression(w, n, *s);
    w->nesting--;
    if (is(n, "CaseStmt") || is(n, "DefaultStmt")) {
        walk_case(w, n, s); // its own statement says what leaves
        return;
    }
    leave(w, n, s, before);
}

// ---- functions --------------------------------------------------------------------------------------
static const clc_node *body_of(const clc_node *f) {
    for (uint32_t i = 0; i < f->ninner; i++)
        if (is(f->inner[i], "CompoundStmt")) return f->inner[i];
    return NULL;
}

static bool has(const clc_node *n, const char *kind) {
    for (uint32_t i = 0; i < n->ninner; i++)
        if (is(n->inner[i], kind)) return true;
    return false;
}

static bool defined(const walk *w, const char *name, bool kernels) {
    for (size_t i = 0; i < w->functions.n; i++)
        if (!strcmp(w->functions.at[i].name, name) && (kernels || !w->functions.at[i].kernel)) return true;
    return false;
}

// One parameter more, behind the others.
static void parameter(walk *w, const clc_node *f, uint32_t close, const char *what) {
    if (close >= w->a->bytes) return; // no such tree comes from clang
    while (close && w->text[close] != ')') close--;
    if (has(f, "ParmVarDecl")) {
        insert(w, close, orr_arena_printf(&w->a->arena, ", %s", what));
        return;
    }
    uint32_t open = close;
    while (open && w->text[open] != '(') open--;
    *ORR_PUSH(&w->edits) = (edit){open + 1, close > open ? close - open - 1 : 0, (uint32_t)w->edits.n, what};
}

static void function(walk *w, const clc_node *f, bool kernel) {
    const clc_node *b = body_of(f);
    w->function = (uint32_t)w->functions.n;
    *ORR_PUSH(&w->functions) = (orr_source_function){.name = f->name ? f->name : "", .kernel = kernel};
    w->loop = -1;
    w->depth = 0;
    w->returns.n = w->breaks.n = w->continues.n = 0;
    size_t calls = w->calls.n;
    int32_t first = segment(w, f, -1, false), s = first;
    w->functions.at[w->function].first = first;
    body(w, b, s);
    for (size_t i = calls; i < w->calls.n; i++)
        w->functions.at[w->function].calls |= defined(w, w->calls.at[i].callee, false);
}

// A kernel counts in an array of its own; functions get it from their callers.
static void finish_kernel(walk *w, const clc_node *f) {
    const clc_node *b = body_of(f);
    orr_source_function *x = &w->functions.at[w->function];
    x->ncounters = w->counters;
    parameter(w, f, b->begin, "__global uint *" ORR_COUNTS_PARAMETER);
    const char *n = orr_arena_printf(&w->a->arena, "%u", w->counters ? w->counters : 1);
    // in front of what the body's own counters say: the edit is the first at its place
    *ORR_PUSH(&w->edits) =
        (edit){b->begin + 1, 0, 0,
               orr_arena_printf(&w->a->arena, " __private uint orr_c[%s] = {0}; enum { ORR_N = %u };", n,
                                w->counters)};
    insert(w, b->end - 1, " ORR_FLUSH ");
}

// What a kernel has counted goes to its work-item's places. One statement for each counter: PoCL 3.1
// miscompiles a loop over them in kernels with a barrier in a branch (Rodinia's streamcluster). Beyond so
// many it is a loop.
#define STRAIGHT 64
static void write_head(const walk *w, orr_text *t) {
    orr_text_add(
        t, "%s",
        "#define ORR_FLUSH { size_t orr_s = get_local_size(0) * get_local_size(1) * get_local_size(2), "
        "orr_t = ((get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + "
        "get_group_id(0)) * orr_s + (get_local_id(2) * get_local_size(1) + get_local_id(1)) * "
        "get_local_size(0) + get_local_id(0), orr_a = orr_s * get_num_groups(0) * get_num_groups(1) * "
        "get_num_groups(2);");
    uint32_t most = 0;
    for (size_t i = 0; i < w->functions.n; i++)
        if (w->functions.at[i].kernel && w->functions.at[i].ncounters > most)
            most = w->functions.at[i].ncounters;
    for (uint32_t k = 0; k < most && k < STRAIGHT; k++)
        orr_text_add(t, " if (%u < ORR_N) orr_counts[%u * orr_a + orr_t] = orr_c[%u < ORR_N ? %u : 0];", k, k,
                     k, k);
    if (most > STRAIGHT)
        orr_text_add(t,
                     " for (uint orr_i = %d; orr_i < ORR_N; orr_i++) orr_counts[orr_i * orr_a + orr_t] = "
                     "orr_c[orr_i];",
                     STRAIGHT);
    orr_text_add(t, " }\n");
}

static int by_place(const void *a, const void *b) {
    const edit *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void assemble(walk *w, const char *path) {
    orr_text t = {0};
    if (w->edits.n) qsort(w->edits.at, w->edits.n, sizeof *w->edits.at, by_place);
    write_head(w, &t);
    orr_text_add(&t, "#line 1 \"%s\"\n", path);
    uint32_t at = 0;
    for (size_t i = 0; i < w->edits.n; i++) {
        const edit *x = &w->edits.at[i];
        if (x->at < at || x->at > w->a->bytes) continue;
        orr_text_addn(&t, w->text + at, x->at - at);
        orr_text_add(&t, "%s", x->text);
        at = x->at + x->remove;
    }
    if (at < w->a->bytes) orr_text_addn(&t, w->text + at, w->a->bytes - at);
    w->a->text = t.s;
    w->a->n = t.n;
}

// Functions first: their counters come first in every kernel that calls any.
static void walk_all(walk *w, const clc_node *top) {
    uint32_t shared = 0;
    for (int kernels = 0; kernels < 2 && !w->e->status; kernels++) {
        for (uint32_t i = 0; i < top->ninner && !w->e->status; i++) {
            const clc_node *f = top->inner[i];
            bool kernel = has(f, "OpenCLKernelAttr");
            if (!is(f, "FunctionDecl") || !f->here || !body_of(f) || kernel != (kernels == 1)) continue;
            if (kernel) {
                size_t calls = w->calls.n;
                find_calls(w, body_of(f), 0); // does it call any? Only then has it their counters.
                bool any = false;
                for (size_t k = calls; k < w->calls.n; k++) any |= defined(w, w->calls.at[k].callee, false);
                w->calls.n = calls;
                w->counters = any ? shared : 0;
            }
            function(w, f, kernel);
            if (kernel) finish_kernel(w, f);
        }
        if (!kernels) shared = w->counters;
    }
    // Who calls a function, how often; and the array that is handed on.
    for (size_t i = 0; i < w->calls.n && !w->e->status; i++) {
        const call *c = &w->calls.at[i];
        for (size_t k = 0; k < w->functions.n; k++) {
            if (strcmp(w->functions.at[k].name, c->callee) != 0) continue;
            term(w, w->functions.at[k].first, c->segment, true);
            if (!shared || w->functions.at[k].kernel) continue;
            if (!c->node->here)
                refuse(w, c->node, "a function with branches is called in a macro");
            else
                insert(w, c->node->end - 1, c->node->ninner > 1 ? ", orr_c" : "orr_c");
        }
    }
    for (uint32_t i = 0; i < top->ninner && shared && !w->e->status; i++) {
        const clc_node *f = top->inner[i];
        if (!is(f, "FunctionDecl") || !f->here || has(f, "OpenCLKernelAttr") || !f->name ||
            !defined(w, f->name, false))
            continue;
        parameter(w, f, body_of(f) ? body_of(f)->begin : f->end - 1, "__private uint *orr_c");
    }
}

// ---- all of it --------------------------------------------------------------------------------------
static void find_lines(orr_annotated *a, const char *text) {
    uint32_t n = 1;
    for (uint32_t i = 0; i < a->bytes; i++) n += text[i] == '\n';
    a->line_at = orr_arena_alloc(&a->arena, (n + 1) * sizeof *a->line_at);
    a->nlines = n;
    n = 1;
    for (uint32_t i = 0; i < a->bytes; i++)
        if (text[i] == '\n') a->line_at[n++] = i + 1;
    a->line_at[a->nlines] = a->bytes;
}

static void *kept(orr_arena *a, const void *at, size_t n, size_t size) {
    void *out = orr_arena_alloc(a, (n + 1) * size);
    if (n) memcpy(out, at, n * size);
    return out;
}

bool orr_annotate_tree(const orr_clc_source *s, const char *json, size_t njson, orr_annotated *a,
                       orr_err *e) {
    *a = (orr_annotated){.bytes = (uint32_t)s->n};
    walk w = {.a = a, .text = s->text, .e = e};
    a->of_byte = orr_arena_alloc(&a->arena, (s->n + 1) * sizeof *a->of_byte);
    find_lines(a, s->text);
    const clc_node *top = clc_read_ast(json, njson, s->path, &a->arena, e);
    if (top) walk_all(&w, top);
    if (!e->status) assemble(&w, s->path);
    a->segments = kept(&a->arena, w.segments.at, w.segments.n, sizeof *a->segments);
    a->nsegments = (uint32_t)w.segments.n;
    a->loops = kept(&a->arena, w.loops.at, w.loops.n, sizeof *a->loops);
    a->nloops = (uint32_t)w.loops.n;
    a->functions = kept(&a->arena, w.functions.at, w.functions.n, sizeof *a->functions);
    a->nfunctions = (uint32_t)w.functions.n;
    void *all[] = {w.segments.at, w.loops.at,   w.functions.at, w.edits.at,
                   w.calls.at,    w.returns.at, w.breaks.at,    w.continues.at};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    return !e->status;
}

void orr_annotated_free(orr_annotated *a) {
    free(a->text);
    orr_arena_free(&a->arena);
    *a = (orr_annotated){0};
}

bool orr_clc_annotate(const orr_clc_source *s, orr_annotated *a, orr_err *e) {
    enum { MOST = 16 << 20, MOST_TREE = 512 << 20 };
    *a = (orr_annotated){0};
    orr_clc_source named = {.text = s->text, .n = s->n};
    char *own = s->path ? orr_read_file(s->path, MOST, &named.n, e) : NULL;
    if (s->path && !own) return false;
    if (own) named.text = own;
    size_t njson = 0;
    char *file = NULL, *json = orr_clc_tree(s, &file, &njson, e);
    named.path = file;
    bool ok = json && named.n < MOST && orr_annotate_tree(&named, json, njson, a, e);
    free(own);
    free(json);
    free(file);
    return ok;
}

uint32_t orr_place_at(const orr_annotated *a, uint32_t line, uint32_t column) {
    if (!line || line > a->nlines) return 0;
    uint32_t at = a->line_at[line - 1] + (column ? column - 1 : 0);
    return at < a->bytes && at < a->line_at[line] ? at + 1 : 0;
}

uint32_t orr_place_line(const orr_annotated *a, uint32_t place) {
    uint32_t low = 0, high = place && place <= a->bytes ? a->nlines : 0; // lines that begin before it
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->line_at[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int32_t orr_segment_at(const orr_annotated *a, uint32_t place) {
    return place && place <= a->bytes ? (int32_t)a->of_byte[place - 1] - 1 : -1;
}

void orr_place_lines(const orr_annotated *a, char **ptx, size_t *bytes) {
    orr_text t = {0};
    orr_text_add(&t, "%s", "");
    const char *stop = *ptx + *bytes;
    for (const char *s = *ptx; s < stop;) {
        const char *nl = memchr(s, '\n', (size_t)(stop - s));
        size_t line = nl ? (size_t)(nl - s) + 1 : (size_t)(stop - s);
        unsigned f, l, c;
        if (line > 6 && !memcmp(s, "\t.loc\t", 6) && sscanf(s + 6, "%u %u %u", &f, &l, &c) == 3)
            orr_text_add(&t, "\t.loc\t%u %u 0\n", f, orr_place_at(a, l, c));
        else
            orr_text_addn(&t, s, line);
        s += line;
    }
    free(*ptx);
    *ptx = t.s;
    *bytes = t.n;
}

const orr_source_function *orr_annotated_kernel(const orr_annotated *a, const char *name) {
    for (uint32_t i = 0; i < a->nfunctions; i++)
        if (a->functions[i].kernel && !strcmp(a->functions[i].name, name)) return &a->functions[i];
    return NULL;
}
