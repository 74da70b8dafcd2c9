// Templates: what a rule of rules.def says an instruction becomes, expanded with the operands at hand.
//
// A template is a list of machine instructions; rules.def has the notation. Of an instruction's sources one
// need not be in a vector register: an immediate, a uniform register or, before Hopper, a place in the
// constant bank. Of several that could be it the best is kept (read_items), and the others are brought into
// registers first.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lower/pass.h"

// ---- one instruction of a template ---------------------------------------------------------------
typedef struct item {
    source s;
    bool vector; // must be
    int other;   // 0: registers; 1 immediate, 2 uniform register, 3 constant
} item;

static int other_kind(const lower *l, const source *s) {
    int worst = 0;
    for (int p = 0; p < s->n; p++) {
        int k = 0;
        switch (s->leaf[p].kind) {
        case LEAF_IMM: k = s->leaf[p].v != 0; break;
        case LEAF_CONST: k = 3; break;
        case LEAF_SHARED: k = l->cc >= 90 ? 2 : 1; break;
        case LEAF_REG: k = l->vregs.at[s->leaf[p].v].file == FILE_U ? 2 : 0; break;
        default: break;
        }
        if (k > worst) worst = k;
    }
    return worst;
}

// The one operand that need not be a vector register.
static void read_other(lower *l, const item *t) {
    const source *s = &t->s;
    if (t->other == 1) {
        if (s->n == 2 && s->leaf[0].kind == LEAF_IMM && s->leaf[1].kind == LEAF_IMM && s->leaf[0].v) {
            uint64_t bits = (uint64_t)s->leaf[1].v << 32 | s->leaf[0].v; // only the upper half fits
            uint32_t v = lower_hold(l, LEAF_IMM, bits, l->cc >= 90 ? FILE_U : FILE_R, 2);
            lower_src(l, v);
            lower_src(l, v + 1);
            return;
        }
        for (int p = 0; p < s->n; p++)
            if (s->leaf[p].kind == LEAF_REG) lower_src(l, s->leaf[p].v);
        return;
    }
    for (int p = 0; p < s->n; p++) {
        leaf f = s->leaf[p];
        if (f.kind == LEAF_REG)
            lower_src(l, f.v);
        else if (f.kind == LEAF_CONST && l->cc >= 90)
            lower_src(l, lower_hold_leaf(l, f, FILE_U));
        else if (f.kind == LEAF_SHARED)
            lower_src(l, lower_window(l, f.v));
    }
}

// On the uniform datapath everything is in uniform registers, but for one immediate.
static void read_uniform(lower *l, const item *t, bool *immediate) {
    for (int p = 0; p < t->s.n; p++) {
        leaf f = t->s.leaf[p];
        if (f.kind == LEAF_REG) lower_src(l, f.v);
        if (f.kind == LEAF_CONST) lower_src(l, lower_hold_leaf(l, f, FILE_U));
        if (f.kind == LEAF_SHARED) lower_src(l, lower_window(l, f.v));
        if (f.kind != LEAF_IMM || !f.v) continue;
        if (*immediate) lower_src(l, lower_hold(l, LEAF_IMM, f.v, FILE_U, 1));
        *immediate = true;
    }
}

static void read_items(lower *l, item *t, int n) {
    if (l->select.todo[l->at.inst] & DO_UNIFORM) {
        bool immediate = false;
        for (int i = 0; i < n; i++) read_uniform(l, &t[i], &immediate);
        return;
    }
    static const int rank_new[] = {0, 3, 2, 1}, rank_old[] = {0, 1, 2, 3}; // which of several stays
    const int *rank = l->cc >= 90 ? rank_new : rank_old;
    int keep = -1;
    for (int i = 0; i < n; i++) {
        t[i].other = other_kind(l, &t[i].s);
        if (t[i].other && !t[i].vector && (keep < 0 || rank[t[i].other] > rank[t[keep].other])) keep = i;
    }
    for (int i = 0; i < n; i++) {
        if (i == keep)
            read_other(l, &t[i]);
        else
            lower_vector(l, &t[i].s);
    }
}

// ---- templates -----------------------------------------------------------------------------------
typedef struct temps {
    uint32_t one[26], two[26], pred[26]; // + 1
} temps;

static bool is_word(char c) { return c && c != ' ' && c != ';' && c != '=' && c != '{' && c != '}'; }

static source part_of(source s, char digit) {
    if (digit < '0' || digit > '3') return s;
    int p = digit - '0';
    source one = {.n = p < s.n, .neg = s.neg};
    if (p < s.n) one.leaf[0] = s.leaf[p];
    return one;
}

// A name of the template that is a destination or a temporary: its registers.
static source target(lower *l, temps *t, const char *w, size_t n) {
    if (w[0] == 'k' || w[0] == 'm') // of a quotient: what is known of the divisor
        return (source){.n = 1, .leaf = {{LEAF_REG, 0, l->division.divisor + (w[0] == 'm')}}};
    const orr_inst *i = &l->k->insts[l->at.inst];
    uint8_t file = l->select.todo[l->at.inst] & DO_UNIFORM ? FILE_U : FILE_R;
    source s = {0};
    char c = w[0];
    if (c == 'd' || c == 'e') {
        int which = c - 'd';
        if (which >= i->ndst || orr_dst(l->k, i, which)->kind != ORR_K_REG) return s;
        uint32_t v = l->of[i->first + (uint32_t)which];
        if (v == NONE || (!l->values.at[v].live && which)) return s;
        s.n = lower_parts_of[l->values.at[v].cls];
        uint32_t r = lower_vreg(l, v);
        for (uint32_t p = 0; p < 4 && p < s.n; p++) s.leaf[p] = (leaf){LEAF_REG, 0, r + p};
    } else if (c >= 'p' && c <= 's') {
        if (!t->pred[c - 'a']) t->pred[c - 'a'] = lower_temp(l, file == FILE_U ? FILE_UP : FILE_P, 1) + 1;
        s = (source){.n = 1, .leaf = {{LEAF_REG, 0, t->pred[c - 'a'] - 1}}};
    } else if (c >= 't' && c <= 'z') {
        if (!t->one[c - 'a']) t->one[c - 'a'] = lower_temp(l, file, 1) + 1;
        s = (source){.n = 1, .leaf = {{LEAF_REG, 0, t->one[c - 'a'] - 1}}};
    } else if (c >= 'T' && c <= 'Z') {
        if (!t->two[c - 'A']) t->two[c - 'A'] = lower_temp(l, file, 2) + 1;
        uint32_t r = t->two[c - 'A'] - 1;
        s = (source){.n = 2, .leaf = {{LEAF_REG, 0, r}, {LEAF_REG, 0, r + 1}}};
    }
    return part_of(s, n > 1 ? w[1] : 0);
}

static source operand(lower *l, temps *t, const char *w, size_t n) {
    static const char names[] = "abcf";
    const char *at = strchr(names, w[0]);
    if (!at) return target(l, t, w, n);
    return part_of(lower_source(l, lower_ref(l, l->at.inst, (int)(at - names))), n > 1 ? w[1] : 0);
}

// The mnemonic: of two, the one whose pipe has less to do; the uniform datapath's own where it runs there.
static const char *pick_name(lower *l, const char *w, size_t n) {
    const char *bar = memchr(w, '|', n);
    if (bar) {
        size_t first = (size_t)(bar - w);
        bool fma = l->at.pressure[1] < l->at.pressure[0];
        bool heavy = memcmp(bar + 1, "IMAD", n - first > 4 ? 4 : 0) == 0 ||
                     memcmp(bar + 1, "VIADD", n - first > 5 ? 5 : 0) == 0;
        if (fma == heavy && !(l->select.todo[l->at.inst] & DO_UNIFORM)) {
            w = bar + 1;
            n -= first + 1;
        } else {
            n = first;
        }
    }
    if (l->select.todo[l->at.inst] & DO_UNIFORM) {
        char u[40];
        int k = snprintf(u, sizeof u, "U%.*s", (int)n, w);
        return lower_mnemonic(l, u, (size_t)k);
    }
    return lower_mnemonic(l, w, n);
}

static const char *expand_one(lower *l, temps *t, const char *at) {
    item items[8];
    int nitems = 0;
    uint32_t guard = NONE;
    source to[4];
    int nto = 0;
    if (*at == '@') {
        source g = operand(l, t, at + 1, 1);
        if (g.n) guard = g.leaf[0].v;
        at += 2;
        while (*at == ' ') at++;
    }
    const char *name = at;
    while (is_word(*at)) at++;
    name = pick_name(l, name, (size_t)(at - name));
    bool sources = false;
    while (*at && *at != ';' && *at != '}') {
        if (*at == ' ' || *at == '=') {
            sources |= *at++ == '=';
            continue;
        }
        bool vector = *at == '$';
        if (vector) at++;
        const char *w = at;
        while (is_word(*at)) at++;
        if (sources && nitems < 8)
            items[nitems++] = (item){.s = operand(l, t, w, (size_t)(at - w)), .vector = vector};
        else if (!sources && nto < 4)
            to[nto++] = target(l, t, w, (size_t)(at - w));
        if (at == w) at++; // cannot be, in a table that is right
    }
    lower_begin(l, name);
    read_items(l, items, nitems);
    l->next.name = name; // a copy of a uniform register may have come first
    if (guard != NONE) {
        lower_src(l, guard);
        l->next.guards = 1;
    }
    for (int d = 0; d < nto; d++)
        for (int p = 0; p < to[d].n; p++) lower_dst(l, to[d].leaf[p].v);
    lower_done(l);
    return at;
}

static const char *expand(lower *l, temps *t, const char *at) {
    while (*at && *at != '}') {
        if (*at == ' ' || *at == ';') {
            at++;
        } else if (*at == '{') {
            int times = atoi(at + 1);
            at++;
            while (isdigit((unsigned char)*at)) at++;
            const char *end = at;
            for (int r = 0; r < times; r++) end = expand(l, t, at);
            at = *end ? end + 1 : end;
        } else {
            at = expand_one(l, t, at);
        }
    }
    return at;
}

void lower_template(lower *l, const char *text) {
    temps t = {0};
    expand(l, &t, text);
}
