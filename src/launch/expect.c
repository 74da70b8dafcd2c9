// Checks of what a buffer holds, against contents the script itself can state. Expectation files are
// in expectfile.c. Without a tolerance, bytes are compared; with one, an element may differ from what
// it should be by atol + rtol * |what it should be|, and NaN matches NaN.
#include "launch/script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool orr_near(double got, double want, double rtol, double atol) {
    if (got == want) return true;
    if (got != got || want != want) return got != got && want != want;
    double off = got < want ? want - got : got - want;
    return off <= atol + rtol * (want < 0 ? -want : want) && off - off == 0; // an infinity is near nothing
}

typedef struct tolerance {
    bool exact;
    double rtol, atol;
} tolerance;

static tolerance tolerance_of(run *r, const check *c) {
    tolerance t = {.exact = !c->rtol && !c->atol};
    if (c->rtol) t.rtol = orr_eval_double(r, c->rtol);
    if (c->atol) t.atol = orr_eval_double(r, c->atol);
    if (!(t.rtol >= 0) || !(t.atol >= 0))
        stop(r, ORR_BAD_INPUT, c->fill.line, "a tolerance must not be negative");
    return t;
}

static bool same(int type, const uint8_t *got, const uint8_t *want, const tolerance *t) {
    if (t->exact) return !memcmp(got, want, orr_elem_bytes(type));
    return orr_near(orr_elem_double(type, got), orr_elem_double(type, want), t->rtol, t->atol);
}

typedef struct pair { // of elements, the first of which is element `at` of its buffer
    int type;
    uint64_t at;
    const uint8_t *got, *want;
} pair;

static _Noreturn void wrong(run *r, const stmt *st, const pair *x, const tolerance *t) {
    char a[80], b[80];
    orr_elem_text(x->type, x->got, t->exact, a);
    orr_elem_text(x->type, x->want, t->exact, b);
    if (!strcmp(a, b)) { // a tolerance so small that nine digits do not show the difference
        orr_elem_text(x->type, x->got, true, a);
        orr_elem_text(x->type, x->want, true, b);
    }
    stop(r, ORR_PROGRAM_FAILED, st->line, "buffer %s, element %" PRIu64 ": it holds %s and should hold %s",
         r->s->names.at[st->slot].text, x->at, a, b);
}

// Compares n elements from `x` on.
static void compare(run *r, const stmt *st, pair x, uint64_t n, const tolerance *t) {
    uint32_t size = orr_elem_bytes(x.type);
    if (!memcmp(x.got, x.want, n * size)) return;
    for (; n; n--, x.at++, x.got += size, x.want += size)
        if (!same(x.type, x.got, x.want, t)) wrong(r, st, &x, t);
}

static void check_fill(run *r, const stmt *st, const tolerance *t) {
    const buffer *b = orr_buffer(r, st->slot, st->line);
    maker m;
    orr_maker_start(r, &m, &st->check->fill, b->type, b->count, r->s->names.at[st->slot].text);
    uint64_t per = BLOCK_BYTES / orr_elem_bytes(b->type);
    for (uint64_t at = 0; at < b->count; at += per) {
        uint64_t n = b->count - at < per ? b->count - at : per;
        orr_buffer_read(r, b, at, n, r->block, st->line);
        orr_maker_make(r, &m, at, n, r->block2);
        compare(r, st, (pair){b->type, at, r->block, r->block2}, n, t);
    }
    free(r->file);
    r->file = NULL;
}

static void check_equal(run *r, const stmt *st, const tolerance *t) {
    const buffer *b = orr_buffer(r, st->slot, st->line), *o = orr_buffer(r, st->check->other, st->line);
    if (b->type != o->type || b->count != o->count) {
        stop(r, ORR_BAD_INPUT, st->line, "'%s' and '%s' have different types or lengths",
             r->s->names.at[st->slot].text, r->s->names.at[st->check->other].text);
    }
    uint64_t per = BLOCK_BYTES / orr_elem_bytes(b->type);
    for (uint64_t at = 0; at < b->count; at += per) {
        uint64_t n = b->count - at < per ? b->count - at : per;
        orr_buffer_read(r, b, at, n, r->block, st->line);
        orr_buffer_read(r, o, at, n, r->block2, st->line);
        compare(r, st, (pair){b->type, at, r->block, r->block2}, n, t);
    }
}

static void check_element(run *r, const stmt *st, const tolerance *t) {
    const buffer *b = orr_buffer(r, st->slot, st->line);
    uint8_t got[8], want[8];
    char buf[80];
    uint64_t at = (uint64_t)orr_eval_int(r, st->check->index, "the index", 0, (int64_t)b->count - 1);
    value v = orr_eval(r, st->check->v);
    if (v.kind == V_BUF || !orr_elem_store(b->type, v, false, want)) {
        stop(r, ORR_BAD_INPUT, st->line, "%s does not fit the element type %s", orr_value_text(v, buf),
             orr_elem_name(b->type));
    }
    orr_buffer_read(r, b, at, 1, got, st->line);
    compare(r, st, (pair){b->type, at, got, want}, 1, t);
}

// Is b allowed to come after a? NaN is never in order.
static bool in_order(int type, const uint8_t *a, const uint8_t *b, bool descending) {
    if (descending) {
        const uint8_t *t = a;
        a = b;
        b = t;
    }
    if (orr_elem_float(type)) return orr_elem_double(type, a) <= orr_elem_double(type, b);
    int64_t x = orr_elem_load(type, a).i, y = orr_elem_load(type, b).i;
    return type == ORR_T_U64 ? (uint64_t)x <= (uint64_t)y : x <= y;
}

static void check_sorted(run *r, const stmt *st) {
    const buffer *b = orr_buffer(r, st->slot, st->line);
    uint32_t size = orr_elem_bytes(b->type);
    uint64_t per = BLOCK_BYTES / size - 1; // blocks share an element
    for (uint64_t at = 0; at + 1 < b->count; at += per) {
        uint64_t n = b->count - at < per + 1 ? b->count - at : per + 1;
        orr_buffer_read(r, b, at, n, r->block, st->line);
        for (uint64_t k = 0; k + 1 < n; k++) {
            const uint8_t *p = r->block + k * size;
            if (in_order(b->type, p, p + size, st->check->descending)) continue;
            char x[80], y[80];
            stop(r, ORR_PROGRAM_FAILED, st->line,
                 "buffer %s is not sorted: element %" PRIu64 " holds %s and element %" PRIu64 " holds %s",
                 r->s->names.at[st->slot].text, at + k, orr_elem_text(b->type, p, false, x), at + k + 1,
                 orr_elem_text(b->type, p + size, false, y));
        }
    }
}

void orr_check(run *r, const stmt *st) {
    const check *c = st->check;
    tolerance t = tolerance_of(r, c);
    switch (c->kind) {
    case CHECK_FILL: check_fill(r, st, &t); break;
    case CHECK_ELEMENT: check_element(r, st, &t); break;
    case CHECK_EQUAL: check_equal(r, st, &t); break;
    case CHECK_SORTED: check_sorted(r, st); break;
    default:
        if (r->s->replaced) {
            r->stats.unchecked++;
            return;
        }
        if (r->write)
            orr_expect_write(r, st, c->file, t.exact);
        else
            orr_expect_compare(r, st, c->file, t.rtol, t.atol, t.exact);
    }
    r->stats.checked++;
}
