// Scopes: what a name means inside a function.
//
// One map from names to the innermost declaration, which points to the one it shadows. Closing a
// scope puts the shadowed ones back, so a lookup is one probe however deep the nesting. A register of
// a range (.reg .b32 %r<100>) becomes an entry of its own when it is first used: unused ones cost
// nothing. Labels may be used before they appear, so references to unknown names wait until the
// scope they are in closes.
#include <stdlib.h>
#include <string.h>

#include "ptx/ast.h"

void ptx_scope_open(ptx_parser *p) {
    if (p->scope >= MAX_NESTING) ptx_error(p, p->t.line, "nested deeper than %d levels", MAX_NESTING);
    p->scopes[++p->scope] = (ptx_scope){.frame = p->frame, .refs = p->refs.n};
}

static bool is_range(const ptx_entry *e) { return e->kind == O_REG && e->value == UINT64_MAX; }

void ptx_scope_close(ptx_parser *p) {
    ptx_scope *s = &p->scopes[p->scope];
    size_t kept = s->refs;
    for (size_t i = s->refs; i < p->refs.n; i++) {
        ptx_opd *o = &p->f->opds.at[p->refs.at[i]];
        ptx_entry *e = orr_map_getn(&p->names, o->name, o->n);
        if (e && e->depth == p->scope && (e->kind == O_LABEL || e->kind == O_TABLE || e->kind == O_PROTO)) {
            o->kind = e->kind;
            o->value = e->value;
            if (e->kind == O_LABEL) o->n = e->count;
        } else {
            p->refs.at[kept++] = p->refs.at[i];
        }
    }
    p->refs.n = kept;
    for (ptx_entry *e = s->entries; e; e = e->next)
        orr_map_putn(is_range(e) ? &p->ranges : &p->names, e->key, e->key_n, e->shadowed);
    if (s->high > p->frame) p->frame = s->high;
    p->scope--;
    if (p->frame > p->scopes[p->scope].high) p->scopes[p->scope].high = p->frame;
    p->frame = s->frame;
}

void ptx_scope_reset(ptx_parser *p) {
    orr_map_free(&p->names);
    orr_map_free(&p->ranges);
    orr_arena_free(&p->scratch);
    memset(&p->names, 0, sizeof p->names);
    memset(&p->ranges, 0, sizeof p->ranges);
    memset(&p->scratch, 0, sizeof p->scratch);
    p->scope = 0;
    p->scopes[0] = (ptx_scope){0};
    p->frame = 0;
    p->refs.n = 0;
    p->reg_type.n = 0;
    p->regs.n = 0;
    memset(p->declared.ranged, 0, sizeof p->declared.ranged);
    p->declared.singles = 0;
    p->labels.n = 0;
}

static ptx_entry *add(ptx_parser *p, orr_map *map, const char *key, uint32_t n, uint32_t depth) {
    ptx_entry *e = orr_arena_alloc(&p->scratch, sizeof *e);
    e->key = key;
    e->key_n = n;
    e->depth = depth;
    e->shadowed = orr_map_getn(map, key, n);
    e->next = p->scopes[depth].entries;
    p->scopes[depth].entries = e;
    orr_map_putn(map, key, n, e);
    return e;
}

ptx_entry *ptx_declare(ptx_parser *p, token name, uint8_t kind) {
    ptx_entry *old = orr_map_getn(&p->names, name.s, name.n);
    if (old && old->depth == p->scope)
        ptx_error(p, name.line, "'%.*s' is declared twice", name.n > 200 ? 200 : (int)name.n, name.s);
    ptx_entry *e = add(p, &p->names, name.s, name.n, p->scope);
    e->kind = kind;
    e->count = 1;
    return e;
}

void ptx_declare_range(ptx_parser *p, token name, uint8_t type, uint32_t count) {
    ptx_entry *old = orr_map_getn(&p->ranges, name.s, name.n);
    if (old && old->depth == p->scope)
        ptx_error(p, name.line, "'%.*s<>' is declared twice", name.n > 200 ? 200 : (int)name.n, name.s);
    ptx_entry *e = add(p, &p->ranges, name.s, name.n, p->scope);
    e->kind = O_REG;
    e->value = UINT64_MAX;
    e->type = type;
    e->count = count;
}

uint32_t ptx_new_registers(ptx_parser *p, uint8_t type, uint32_t n, uint8_t how) {
    uint32_t first = (uint32_t)p->reg_type.n;
    uint32_t number = how == REG_RANGE    ? ++p->declared.ranged[type]
                      : how == REG_SINGLE ? ++p->declared.singles
                                          : 0;
    for (uint32_t i = 0; i < n; i++) {
        *ORR_PUSH(&p->reg_type) = type;
        *ORR_PUSH(&p->regs) = (ptx_reg){number, how, (uint8_t)n, (uint8_t)i};
    }
    return first;
}

ptx_entry *ptx_lookup(ptx_parser *p, const char *s, size_t n) {
    ptx_entry *e = orr_map_getn(&p->names, s, n);
    if (e && e->depth == p->scope) return e;
    // A range further in wins. The digits at the end may split in more than one way.
    uint64_t number = 0, unit = 1;
    for (size_t digits = 1; digits < n && digits <= 7; digits++) {
        char c = s[n - digits];
        if (c < '0' || c > '9') break;
        number += unit * (uint64_t)(c - '0');
        unit *= 10;
        if (c == '0' && digits > 1) continue; // numbers have no leading zeros
        ptx_entry *r = orr_map_getn(&p->ranges, s, n - digits);
        if (!r || number >= r->count || (e && e->depth >= r->depth)) continue;
        ptx_entry *made = add(p, &p->names, s, (uint32_t)n, r->depth);
        made->kind = O_REG;
        made->type = r->type;
        made->count = 1;
        made->value = ptx_new_registers(p, r->type, 1, REG_RANGE);
        return made;
    }
    return e;
}
