// One instruction line of a trace:
//
//   [bx by bz warp] [line] PC mask ndst [Rd] OPCODE nsrc [Rs ...] width [mode addresses] [immediate]
//
// What is the same each time an instruction is executed (PC, registers, opcode, width, the immediate) makes
// it one of the kernel's instructions; it is taken apart once. A line whose text was seen before at its PC is
// that instruction again, found by comparing bytes. Mask and addresses are read each time.
#include "accel/reader.h"

#include "exec/exec.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 1 << 19, TEXT_MAX = 400, DST_MAX = 8, SRC_MAX = 16, NAME_MAX = 80 };
enum { DELTAS = 512, DELTAS_TEXT = 440 };
#define WINDOW (16ull << 20) // shared and local memory have 16 MiB of generic addresses each

bool line_fail(const reader *r, orr_err *e, const char *fmt, ...) {
    if (!e) return false;
    char what[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return orr_fail(e, ORR_BAD_INPUT, "%s:%llu: %s", r->in.name, (unsigned long long)r->in.line, what);
}

// ---- numbers ----------------------------------------------------------------------------------
// Up to eight hexadecimal digits at once: bytes of one word (the first digit is the lowest byte). How many
// there are.
static inline int hex_word(const char *p, uint64_t *v) {
    const uint64_t ones = 0x0101010101010101u, high = 0x80 * ones;
    uint64_t x;
    memcpy(&x, p, 8);
    uint64_t up = x | high, low = x | high | 0x20 * ones; // a subtraction does not reach into the next byte
    uint64_t digit = (up - '0' * ones) & ~(up - ':' * ones);
    uint64_t letter = (low - 'a' * ones) & ~(low - 'g' * ones);
    uint64_t bad = ~((digit | letter) & ~x) & high;
    int n = bad ? __builtin_ctzll(bad) / 8 : 8;
    if (!n) return 0;
    x <<= 64 - 8 * n; // in front of the digits: zeros
    x = (x & 0x0f * ones) + 9 * (x >> 6 & ones);
    x = (x << 4 | x >> 8) & 0x00ff00ff00ff00ffu;
    x = (x << 8 | x >> 16) & 0x0000ffff0000ffffu;
    *v = (x << 16 | x >> 32) & 0xffffffffu;
    return n;
}

// Digits up to the first that is none. NULL: there is none, or more than `max`, which is 8 or 16. What is
// behind the text may be looked at (input.c).
static inline const char *get_hex(const char *p, int max, uint64_t *v) {
    uint64_t x = 0, y = 0;
    *v = 0;
    int n = hex_word(p, &x);
    if (!n) return NULL;
    if (n == 8 && max == 16) {
        int m = hex_word(p + 8, &y);
        x = x << 4 * m | y;
        n += m;
    }
    uint64_t more;
    if (n == max && hex_word(p + n, &more)) return NULL;
    *v = x;
    return p + n;
}

static const char *get_uint(const char *p, uint64_t *v) {
    uint64_t x = 0;
    int n = 0;
    *v = 0;
    for (; (unsigned char)(*p - '0') < 10; p++) {
        if (n++ == 18) return NULL;
        x = x * 10 + (uint64_t)(*p - '0');
    }
    *v = x;
    return n ? p : NULL;
}

static const char *get_int(const char *p, int64_t *v) {
    bool minus = *p == '-';
    uint64_t x;
    p = get_uint(p + minus, &x);
    *v = minus ? -(int64_t)x : (int64_t)x;
    return p;
}

static const char *get_address(const char *p, uint64_t *v) {
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) p += 2;
    return get_hex(p, 16, v);
}

// A field ends at a blank or with the line.
static bool ended(const reader *r, const char *p) {
    return is_blank(*p) || *p == '\n' || (p == r->in.end && r->in.last);
}

static const char *next_field(const reader *r, const char *p) {
    return p && ended(r, p) ? skip_blanks(p) : NULL;
}

// ---- PC and mask ------------------------------------------------------------------------------
// A trace that does not say its version: a mask has eight digits, and a block's y coordinate never has.
static void find_prefix(reader *r, const char *p) {
    for (int i = r->head.lineinfo ? 2 : 1; i; i--) {
        while (*p && !is_blank(*p) && *p != '\n') p++;
        p = skip_blanks(p);
    }
    uint64_t v;
    const char *q = get_hex(p, 8, &v);
    r->head.prefix = !(q && q - p == 8 && is_blank(*q));
}

bool line_head(reader *r, const char **at, uint32_t *pc, uint32_t *srcline, uint32_t *mask) {
    const char *p = skip_blanks(*at);
    uint64_t v;
    if (r->head.prefix) {
        if (r->head.prefix < 0) find_prefix(r, p);
        for (int i = 0; r->head.prefix && i < 4; i++)
            if (!(p = next_field(r, get_uint(p, &v)))) return false;
    }
    *srcline = 0;
    if (r->head.lineinfo) {
        if (!(p = next_field(r, get_uint(p, &v)))) return false;
        *srcline = (uint32_t)v;
    }
    if (!(p = next_field(r, get_hex(p, 8, &v)))) return false;
    *pc = (uint32_t)v;
    if (!(p = next_field(r, get_hex(p, 8, &v)))) return false;
    *mask = (uint32_t)v;
    *at = p;
    return true;
}

// ---- the static part --------------------------------------------------------------------------
typedef struct fields {
    uint16_t dst[DST_MAX], src[SRC_MAX];
    uint32_t ndst, nsrc, width;
    int64_t imm;
    uint32_t name_n;
    char name[NAME_MAX];
} fields;

typedef struct reg_list {
    const char *what;
    uint16_t *at;
    uint32_t *n, max;
} reg_list;

static const char *get_regs(reader *r, const char *p, const reg_list *to, orr_err *e) {
    uint64_t v;
    const char *q = next_field(r, get_uint(p, &v));
    if (!q || v > to->max) {
        line_fail(r, e, "expected the number of %s registers (0 to %u), found \"%.20s\"", to->what, to->max,
                  p);
        return NULL;
    }
    *to->n = (uint32_t)v;
    for (uint32_t i = 0; i < *to->n; i++) {
        p = q;
        q = *p == 'R' ? next_field(r, get_uint(p + 1, &v)) : NULL;
        if (!q || v > 255) {
            line_fail(r, e, "expected %u %s registers (R0 to R255), found \"%.20s\"", *to->n, to->what, p);
            return NULL;
        }
        to->at[i] = (uint16_t)v;
    }
    return q;
}

static bool is_name(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
}

// The end of the line, after an immediate if there is one: right behind the newline.
static const char *get_tail(const reader *r, const char *p, int64_t *imm) {
    *imm = 0;
    if (*p != '\n' && p != r->in.end) {
        uint64_t v;
        if (p[0] == '0' && p[1] == 'x') {
            p = get_address(p, &v);
            *imm = (int64_t)v;
        } else {
            p = get_int(p, imm);
        }
        p = next_field(r, p);
    }
    if (!p) return NULL;
    return *p == '\n' ? p + 1 : p == r->in.end && r->in.last ? p : NULL;
}

// Returns where the static part ends: behind the line, or behind the blank after the width.
static const char *get_fields(reader *r, const char *p, fields *f, orr_err *e) {
    memset(f, 0, sizeof *f);
    if (!(p = get_regs(r, p, &(reg_list){"destination", f->dst, &f->ndst, DST_MAX}, e))) return NULL;
    const char *q = p;
    while (is_name(*q)) q++;
    f->name_n = (uint32_t)(q - p);
    if (q == p || f->name_n >= NAME_MAX || !ended(r, q) || !(*p >= 'A' && *p <= 'Z')) {
        line_fail(r, e, "expected an instruction's name, found \"%.30s\"", p);
        return NULL;
    }
    memcpy(f->name, p, f->name_n);
    if (!(p = get_regs(r, skip_blanks(q), &(reg_list){"source", f->src, &f->nsrc, SRC_MAX}, e))) return NULL;
    uint64_t v;
    q = get_uint(p, &v);
    if (!q || !ended(r, q) || v > 1024) {
        line_fail(r, e, "expected the bytes that %.*s touches, found \"%.20s\"", (int)f->name_n, f->name, p);
        return NULL;
    }
    f->width = (uint32_t)v;
    if (v) return is_blank(*q) ? q + 1 : q;
    if (!(p = get_tail(r, skip_blanks(q), &f->imm)))
        line_fail(r, e, "%.*s touches 0 bytes, but something follows: \"%.20s\"", (int)f->name_n, f->name,
                  skip_blanks(q));
    return p;
}

static uint32_t line_add(reader *r, uint32_t pc, uint32_t srcline, const fields *f, orr_err *e) {
    code *c = r->code;
    if (c->lines.n >= LINES_MAX) {
        line_fail(r, e, "more than %d different instructions in one kernel; this is no trace of a kernel",
                  LINES_MAX);
        return NONE;
    }
    line *l = ORR_PUSH(&c->lines);
    *l = (line){.pc = pc, .srcline = srcline, .n = UINT32_MAX};
    traced_inst t = {.name = f->name,
                     .n = f->name_n,
                     .dst = f->dst,
                     .ndst = (int)f->ndst,
                     .src = f->src,
                     .nsrc = (int)f->nsrc,
                     .width = (int)f->width,
                     .imm = f->imm};
    bool known = decode_inst(&c->kernel, &c->operands_cap, &l->inst, &t);
    words_inst(&c->words, &c->kernel, &c->operands_cap, &l->inst, pc);
    l->inst.line = pc;
    l->inst.source.line = srcline;
    l->inst.name = code_name(c, f->name, f->name_n);
    l->how = !f->width ? LINE_PLAIN : orr_inst_traced(&l->inst) ? LINE_ACCESS : LINE_DROP;
    l->ends =
        l->inst.tkind == ORR_TK_BRANCH || l->inst.tkind == ORR_TK_EXIT || l->inst.tkind == ORR_TK_BARRIER;
    if (!known && r->notes.say) {
        size_t n = strcspn(f->name, ".");
        if (!orr_map_getn(r->warned, f->name, n)) {
            orr_map_putn(r->warned, f->name, n, r);
            orr_note(&r->notes, "%s:%llu: no instruction %.*s is known; timed as \"%s\"", r->in.name,
                     (unsigned long long)r->in.line, (int)n, f->name, orr_tclass_name[l->inst.tclass]);
        }
    }
    return (uint32_t)(c->lines.n - 1);
}

static uint32_t line_parse(reader *r, uint32_t pc, uint32_t srcline, const char **p, orr_err *e) {
    code *c = r->code;
    struct {
        uint32_t pc, srcline;
        fields f;
    } key = {.pc = pc, .srcline = srcline};
    const char *end = get_fields(r, *p, &key.f, e);
    if (!end) return NONE;
    size_t n = sizeof key - NAME_MAX + key.f.name_n;
    size_t at = (size_t)orr_map_getn(&c->by_text, (const char *)&key, n);
    if (!at) {
        uint32_t made = line_add(r, pc, srcline, &key.f, e);
        if (made == NONE) return NONE;
        line *l = &c->lines.at[at = made];
        if (end - *p <= TEXT_MAX) {
            l->n = (uint32_t)(end - *p);
            l->text = orr_arena_strndup(&c->kernel.arena, *p, l->n);
        }
        orr_map_putn(&c->by_text, (const char *)&key, n, (void *)++at);
    }
    *p = end;
    return (uint32_t)at - 1;
}

uint32_t line_read(reader *r, const char **at, uint32_t *mask, orr_err *e) {
    code *c = r->code;
    uint32_t pc, srcline;
    const char *p = *at;
    if (!line_head(r, &p, &pc, &srcline, mask)) {
        size_t n = strcspn(*at, "\n");
        line_fail(r, e, "expected an instruction (%s%sPC, mask, ...), found \"%.*s\"",
                  r->head.prefix > 0 ? "block, warp, " : "", r->head.lineinfo ? "line, " : "",
                  n > 60 ? 60 : (int)n, *at);
        return NONE;
    }
    uint32_t *near = r->memo->near[(pc >> 4 ^ pc >> 17) & (NEAR - 1)];
    size_t left = (size_t)(r->in.end - p);
    for (int way = 0; way < 2 && near[way] != NONE; way++) {
        const line *l = &c->lines.at[near[way]];
        if (l->pc != pc || l->srcline != srcline || l->n > left || memcmp(l->text, p, l->n) != 0) continue;
        *at = p + l->n;
        return near[way];
    }
    uint32_t found = line_parse(r, pc, srcline, &p, e);
    if (found == NONE) return NONE;
    near[1] = near[0];
    near[0] = found;
    *at = p;
    return found;
}

// ---- addresses --------------------------------------------------------------------------------
// Where an address leads: shared and local memory count from their start in a stream, and generic addresses
// go through the executor's windows (exec.h). Without bases in the header everything generic is global
// memory.
static uint64_t translate(const reader *r, uint8_t space, uint64_t a) {
    const trace_head *h = &r->head;
    bool shared = h->shared_base && a - h->shared_base < WINDOW,
         local = h->local_base && a - h->local_base < WINDOW;
    if (space == ORR_SPACE_SHARED) return shared ? a - h->shared_base : a;
    if (space == ORR_SPACE_LOCAL) return local ? a - h->local_base : a;
    if (shared) return a - h->shared_base + ORR_SHARED_WINDOW;
    if (local) return a - h->local_base + ORR_LOCAL_WINDOW;
    return orr_generic_space(a) == ORR_SPACE_GLOBAL
               ? a
               : a | 1ull << 60; // global memory that lies where our windows are
}

static bool plain_space(const line *l) {
    return l->inst.space == ORR_SPACE_GLOBAL || l->inst.space == ORR_SPACE_CONST;
}

static void put_list(const reader *r, const line *l, uint32_t mask, uint64_t addr[32], orr_trace_out *out) {
    if (l->how == LINE_DROP) return;
    if (!plain_space(l))
        for (uint32_t m = mask; m; m &= m - 1)
            addr[orr_ffs(m)] = translate(r, l->inst.space, addr[orr_ffs(m)]);
    orr_trace_put_access(out, mask, addr);
}

static void put_regular(const reader *r, const line *l, uint32_t mask, uint64_t base, int64_t stride,
                        orr_trace_out *out) {
    if (l->how == LINE_DROP) return;
    uint64_t last = base + (uint64_t)(orr_popc(mask) - 1) * (uint64_t)stride, move = 0;
    if (!plain_space(l)) {
        move = translate(r, l->inst.space, base) - base;
        if (move != translate(r, l->inst.space, last) - last) { // not all lanes to one place
            uint64_t addr[32];
            for (uint32_t m = mask; m; m &= m - 1, base += (uint64_t)stride) addr[orr_ffs(m)] = base;
            put_list(r, l, mask, addr, out);
            return;
        }
    }
    orr_trace_put_regular(out, mask, base + move, orr_popc(mask) > 1 ? (uint64_t)stride : 0);
}

// ---- lists of differences -----------------------------------------------------------------------
// An instruction often has the same differences from lane to lane every time (rows of a tile), so that only
// the base is new: their text is kept with the bytes they become.
struct deltas {
    uint32_t line, mask;
    uint32_t text_n, tail_n;
    int64_t low, high; // of the addresses, seen from the first lane's
    uint8_t head;
    uint8_t tail[ORR_TRACE_MAX_EVENT]; // of the event, what follows the address
    char text[DELTAS_TEXT];            // to the end of the line
};

void deltas_forget(struct deltas *d) {
    for (int i = 0; d && i < DELTAS; i++) d[i].line = NONE;
}

static const char *same_deltas(const reader *r, const line *l, const struct deltas *d, const char *p,
                               uint64_t base, orr_trace_out *out) {
    uint32_t mask = d->mask;
    if ((size_t)(r->in.end - p) < d->text_n || memcmp(p, d->text, d->text_n) != 0) return NULL;
    uint64_t move = 0;
    if (!plain_space(l)) { // all lanes must lead to one place
        uint64_t low = base + (uint64_t)d->low, high = base + (uint64_t)d->high;
        move = translate(r, l->inst.space, low) - low;
        if (d->high - d->low >= (int64_t)WINDOW || move != translate(r, l->inst.space, high) - high)
            return NULL;
    }
    orr_trace_room(out);
    uint8_t *to = out->bytes + out->n;
    bool differs = mask != out->mask;
    *to++ = d->head | (differs ? 8 : 0);
    if (differs) {
        memcpy(to, &mask, 4);
        to += 4;
    }
    base += move;
    memcpy(to, &base, 8);
    memcpy(to + 8, d->tail, d->tail_n);
    out->n = (size_t)(to + 8 + d->tail_n - out->bytes);
    return p + d->text_n;
}

// Keeps what was just written: the event at `event`, of the lanes d->mask.
static void keep_event(struct deltas *d, const uint64_t addr[32], const orr_trace_out *out, size_t event) {
    const uint8_t *from = out->bytes + event;
    uint64_t base = addr[orr_ffs(d->mask)];
    d->head = *from & ~8;
    for (uint32_t m = d->mask; m; m &= m - 1) {
        int64_t off = (int64_t)(addr[orr_ffs(m)] - base);
        if (off < d->low) d->low = off;
        if (off > d->high) d->high = off;
    }
    from += *from & 8 ? 13 : 9;
    d->tail_n = (uint32_t)(out->bytes + out->n - from);
    memcpy(d->tail, from, d->tail_n);
}

static const char *get_deltas(reader *r, const line *l, const char *p, uint64_t base, uint32_t mask,
                              orr_trace_out *out) {
    uint32_t id = (uint32_t)(l - r->code->lines.at);
    if (!r->memo->deltas) {
        r->memo->deltas = orr_calloc(DELTAS, sizeof *r->memo->deltas);
        deltas_forget(r->memo->deltas);
    }
    struct deltas *d = &r->memo->deltas[id % DELTAS];
    const char *q, *from = p;
    if (d->line == id && d->mask == mask && (q = same_deltas(r, l, d, p, base, out))) return q;
    uint64_t addr[32], moved[32];
    int64_t step, imm;
    for (uint32_t m = mask; m; m &= m - 1) {
        addr[orr_ffs(m)] = base;
        if (!(m & (m - 1))) break;
        if (!(p = next_field(r, get_int(p, &step)))) return NULL;
        base += (uint64_t)step;
    }
    if (!(p = get_tail(r, p, &imm))) return NULL;
    memcpy(moved, addr, sizeof addr);
    size_t event = out->n;
    put_list(r, l, mask, moved, out);
    if (l->how == LINE_ACCESS && p - from <= DELTAS_TEXT) {
        *d = (struct deltas){.line = id, .mask = mask, .text_n = (uint32_t)(p - from)};
        memcpy(d->text, from, d->text_n);
        keep_event(d, addr, out, event);
    }
    return p;
}

// ---- all that follows the width -----------------------------------------------------------------
const char *line_access(reader *r, const line *l, const char *p, uint32_t mask, orr_trace_out *out,
                        orr_err *e) {
    uint64_t mode, base, addr[32];
    int64_t step, imm;
    int lanes = orr_popc(mask);
    const char *name = r->code->kernel.names[l->inst.name];
    p = skip_blanks(p);
    const char *q = next_field(r, get_uint(p, &mode));
    if (!q || mode > 2) {
        line_fail(r, e, "%s: expected how its addresses are written (0, 1 or 2), found \"%.20s\"", name, p);
        return NULL;
    }
    p = q;
    if (!lanes && l->how == LINE_ACCESS) orr_trace_put_access(out, 0, addr);
    if (mode == 0) {
        for (uint32_t m = mask; m; m &= m - 1)
            if (!(p = next_field(r, get_address(p, &addr[orr_ffs(m)])))) goto bad;
        if (lanes) put_list(r, l, mask, addr, out);
    } else {
        if (!(p = next_field(r, get_address(p, &base)))) goto bad;
        if (mode == 2 && lanes) {
            if ((p = get_deltas(r, l, p, base, mask, out))) return p;
            goto bad;
        }
        if (mode == 1) {
            if (!(p = next_field(r, get_int(p, &step)))) goto bad;
            if (lanes) put_regular(r, l, mask, base, step, out);
        }
    }
    if ((p = get_tail(r, p, &imm))) return p;
bad:
    line_fail(r, e, "%s: expected %s, one for each of its %d active lanes and no more, found \"%.*s\"", name,
              mode == 0   ? "addresses"
              : mode == 1 ? "an address and a stride"
                          : "an address and differences",
              lanes, (int)strcspn(q, "\n"), q);
    return NULL;
}
