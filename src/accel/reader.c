// One trace file as a source of thread blocks (docs/guides/accel-sim.md): its header, then for each thread
// block and warp a count and that many instruction lines. Blocks come in file order, which is the order they
// are dispatched in.
//
// A warp's lines are cut into blocks of code: consecutive instructions under one mask, up to a branch, an
// exit or a barrier. A stream names a block before its addresses, so those wait in `part` until the end of
// the block is seen.
#include "accel/reader.h"

#include <stdlib.h>
#include <string.h>

#define INSTS_LIMIT (1ull << 31)  // of a warp
#define BYTES_LIMIT (16ull << 30) // of a thread block's streams

// ---- header -----------------------------------------------------------------------------------
// A message about the line that input_line gave last.
static bool fail_at(const input *in, orr_err *e, const char *fmt, ...) {
    char what[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return orr_fail(e, ORR_BAD_INPUT, "%s:%llu: %s", in->name, (unsigned long long)in->line - 1, what);
}

static bool starts(const char **s, size_t *n, const char *with) {
    size_t m = strlen(with);
    if (*n < m || memcmp(*s, with, m) != 0) return false;
    *s += m;
    *n -= m;
    return true;
}

// "  = value": what follows the sign. The text after it ends at a newline or a 0.
static bool value_of(const char **s, size_t *n) {
    while (*n && is_blank(**s)) ++*s, --*n;
    if (!*n || **s != '=') return false;
    ++*s, --*n;
    while (*n && is_blank(**s)) ++*s, --*n;
    return true;
}

static bool number(const char *s, size_t n, int base, uint64_t max, uint64_t *v) {
    char digits[24], *end;
    if (!n || n >= sizeof digits || s[0] == '-' || s[0] == '+') return false;
    memcpy(digits, s, n);
    digits[n] = 0;
    *v = strtoull(digits, &end, base);
    return end == digits + n && *v <= max;
}

// "(x,y,z)" or "x,y,z".
static bool triple(const char *s, size_t n, uint32_t v[3]) {
    const char *end = s + n;
    if (n > 1 && *s == '(' && end[-1] == ')') s++, end--;
    for (int i = 0; i < 3; i++) {
        const char *to = i < 2 ? memchr(s, ',', (size_t)(end - s)) : end, *last = to;
        uint64_t x;
        if (!to) return false;
        while (s < last && is_blank(*s)) s++;
        while (last > s && is_blank(last[-1])) last--;
        if (!number(s, (size_t)(last - s), 10, UINT32_MAX, &x)) return false;
        v[i] = (uint32_t)x;
        s = to + 1;
    }
    return true;
}

static bool set_key(input *in, trace_head *h, const char *s, size_t n, const orr_notes *notes, orr_err *e) {
    const char *v = s;
    size_t left = n;
    uint64_t x;
#define KEY(key) (v = s, left = n, starts(&v, &left, key) && value_of(&v, &left))
    if (KEY("-kernel name")) {
        free(h->name);
        h->name = orr_calloc(1, left + 1);
        for (size_t i = 0; i < left; i++) h->name[i] = (unsigned char)v[i] < 32 || v[i] == 127 ? '?' : v[i];
        return true;
    }
    if (KEY("-kernel id")) {
        h->id = number(v, left, 10, UINT32_MAX, &x) ? (uint32_t)x : 0;
        return true;
    }
    if (KEY("-grid dim")) {
        if (triple(v, left, h->grid) && h->grid[0] - 1 < INT32_MAX && h->grid[1] - 1 < 65535 &&
            h->grid[2] - 1 < 65535)
            return true;
        return fail_at(in, e,
                       "-grid dim must be (x,y,z), each at least 1, x below 2^31, y and z below 65536");
    }
    if (KEY("-block dim")) {
        if (triple(v, left, h->block) && h->block[0] - 1 < 1024 && h->block[1] - 1 < 1024 &&
            h->block[2] - 1 < 1024 && h->block[0] * h->block[1] * h->block[2] <= 1024)
            return true;
        return fail_at(in, e, "-block dim must be (x,y,z) of 1 to 1024 threads together");
    }
    if (KEY("-shmem base_addr") || KEY("-local mem base_addr")) {
        if (!number(v, left, 16, UINT64_MAX, &x)) return fail_at(in, e, "expected an address in hexadecimal");
        *(s[1] == 's' ? &h->shared_base : &h->local_base) = x;
        return true;
    }
    if (KEY("-shmem")) {
        if (!number(v, left, 10, 1u << 30, &x))
            return fail_at(in, e, "-shmem must be a number of bytes, up to 2^30");
        h->shared = (uint32_t)x;
        return true;
    }
    if (KEY("-nregs")) {
        if (!number(v, left, 10, INT32_MAX, &x))
            return fail_at(in, e, "-nregs must be a number of registers");
        h->regs = (uint32_t)x;
        if (x < 1 || x > 255)
            orr_note(notes, "%s:%llu: no thread has %llu registers; going on with 32", in->name,
                     (unsigned long long)in->line - 1, (unsigned long long)x);
        if (x < 1 || x > 255) h->regs = 32;
        return true;
    }
    if (KEY("-binary version")) {
        h->binary = number(v, left, 10, 100000, &x) ? (uint32_t)x : 0;
        return true;
    }
    if (KEY("-cuda stream id")) {
        h->stream = number(v, left, 10, UINT64_MAX, &x) ? x : 0;
        return true;
    }
    if (KEY("-accelsim tracer version")) { // 1.2 is 1
        const char *point = memchr(v, '.', left);
        if (!number(v, point ? (size_t)(point - v) : left, 10, 1000000, &x))
            return fail_at(in, e, "-accelsim tracer version must be a number");
        h->version = (int)x;
        h->prefix = x < 3;
        return true;
    }
    if (KEY("-enable lineinfo")) {
        if (!number(v, left, 10, 1, &x)) return fail_at(in, e, "-enable lineinfo must be 0 or 1");
        h->lineinfo = x == 1;
        return true;
    }
    if (KEY("-orrery code")) {
        if (words_add(&h->words, v, left)) return true;
        return fail_at(
            in, e,
            "-orrery code must be an architecture (75 to 121), the PC that follows the code before, "
            "and two words of 64 bits for each instruction, in hexadecimal");
    }
#undef KEY
    return true; // others are of no use here
}

static bool read_header(input *in, trace_head *h, const orr_notes *notes, orr_err *e) {
    *h = (trace_head){.version = -1, .prefix = -1};
    bool any = false;
    for (;;) {
        const char *start, *s;
        size_t n;
        uint64_t line = in->line;
        if (!input_room(in, e)) return false;
        start = in->at;
        int got = input_line(in, &s, &n, e);
        if (got < 0) return false;
        if (!got)
            return orr_fail(e, ORR_BAD_INPUT, "%s: ends in its header: no thread blocks%s", in->name,
                            any ? "" : "; is this a trace?");
        if (*s == '#') {
            // The line "#traces format" ends the header. If it is missing, a thread block does, and is read
            // again.
            if (starts(&s, &n, "#BEGIN_TB")) {
                if (start >= in->buf && start < in->at) in->at = start, in->line = line;
            }
            break;
        }
        if (*s != '-') {
            return fail_at(
                in, e, "expected a line of the header (-key = value) or \"#traces format\", found \"%.*s\"%s",
                n > 40 ? 40 : (int)n, s, any ? "" : "; is this a trace?");
        }
        any = true;
        if (!set_key(in, h, s, n, notes, e)) return false;
    }
    if (!h->grid[0]) return orr_fail(e, ORR_BAD_INPUT, "%s: the header has no -grid dim", in->name);
    if (!h->block[0]) return orr_fail(e, ORR_BAD_INPUT, "%s: the header has no -block dim", in->name);
    if (!h->regs) {
        h->regs = 32;
        orr_note(notes, "%s: the header has no -nregs; going on with 32 registers a thread", in->name);
    }
    if (!h->name || !*h->name) {
        const char *slash = strrchr(in->name, '/');
        free(h->name);
        h->name = strdup(slash ? slash + 1 : in->name);
    }
    return true;
}

// ---- a warp -----------------------------------------------------------------------------------
static void append(orr_trace_out *to, const orr_trace_out *from) {
    while (to->cap - to->n < from->n) {
        to->cap *= 2;
        to->bytes = orr_realloc(to->bytes, to->cap);
    }
    if (from->n) memcpy(to->bytes + to->n, from->bytes, from->n);
    to->n += from->n;
}

// One block of code from at most n lines: how many it took, 0 on error.
static uint64_t read_run(reader *r, uint64_t n, orr_err *e) {
    code *c = r->code;
    input *in = &r->in;
    seen_run *s = &r->seen;
    uint32_t run = 0, mask = 0, count = 0;
    uint64_t moves = in->moves;
    bool odd = r->head.prefix != 0, ended = false; // odd: not to be known by its text
    const char *from = in->at;
    s->npieces = 0;
    r->part.n = 0;
    while (count < n && count < BLOCK_MAX && !ended) {
        if (!input_room(in, e)) return 0;
        const char *p = skip_blanks(in->at);
        if (*p == '\n') {
            in->at = p + 1;
            in->line++;
            odd = true;
            continue;
        }
        if (p == in->end || *p == '#' || *p == 'w' || *p == 'i' || *p == 't') {
            line_fail(r, e, "%llu more instructions of this warp expected, found %.*s",
                      (unsigned long long)(n - count), p == in->end ? 20 : (int)strcspn(p, "\n"),
                      p == in->end ? "the end of the file" : p);
            return 0;
        }
        uint32_t lanes, id = line_read(r, &p, &lanes, e);
        if (id == NONE) return 0;
        if (count && lanes != mask) break;
        uint32_t next = code_step(c, run, id);
        if (next == NONE) break;
        const line *l = &c->lines.at[id];
        r->part.mask = mask = lanes;
        if (l->how != LINE_PLAIN) {
            s->piece[s->npieces].text = from;
            s->piece[s->npieces].n = (uint32_t)(p - from);
            s->piece[s->npieces++].line = id;
            if (!(p = line_access(r, l, p, mask, &r->part, e))) return 0;
            from = p;
        }
        in->at = p;
        in->line++;
        run = next;
        count++;
        ended = l->ends;
    }
    uint32_t block = code_block(c, run);
    orr_trace_put_block(&r->out, block, mask);
    append(&r->out, &r->part);
    if (!odd && in->moves == moves) {
        s->piece[s->npieces].text = from;
        s->piece[s->npieces].n = (uint32_t)(in->at - from);
        s->piece[s->npieces++].line = NONE;
        s->count = count;
        known_add(r, s, block, mask, !ended && count < BLOCK_MAX);
    }
    return count;
}

static bool read_warp(reader *r, uint32_t w, uint64_t n, orr_err *e) {
    r->out.mask = 0;
    r->warp[w].at = r->out.n;
    for (uint64_t left = n; left;) {
        if (!input_room(&r->in, e)) return false;
        uint64_t took = known_run(r, left);
        if (!took) took = read_run(r, left, e);
        if (!took) return false;
        left -= took;
        if (r->out.n > BYTES_LIMIT) return line_fail(r, e, "a thread block of more than 16 GiB; too large");
    }
    r->warp[w].n = r->out.n - r->warp[w].at;
    return true;
}

// ---- a thread block ---------------------------------------------------------------------------
static bool block_place(reader *r, const char *s, size_t n, orr_err *e) {
    uint32_t at[3];
    const uint32_t *g = r->head.grid;
    if (triple(s, n, at) && at[0] < g[0] && at[1] < g[1] && at[2] < g[2]) return true;
    return fail_at(&r->in, e, "\"thread block = %.*s\" is not x,y,z in a grid of %u,%u,%u",
                   n > 40 ? 40 : (int)n, s, g[0], g[1], g[2]);
}

static bool read_block(reader *r, orr_err *e) {
    input *in = &r->in;
    uint32_t warp = NONE, seen = 0;
    for (uint32_t w = 0; w < r->nwarps; w++) r->warp[w].seen = false;
    for (;;) {
        const char *s;
        size_t n;
        uint64_t v;
        int got = input_line(in, &s, &n, e);
        if (got < 0) return false;
        if (!got)
            return orr_fail(e, ORR_BAD_INPUT, "%s: the file ends in thread block %llu of %llu; it is cut off",
                            in->name, (unsigned long long)r->done + 1, (unsigned long long)r->blocks);
        if (starts(&s, &n, "#END_TB")) break;
        if (starts(&s, &n, "thread block") && value_of(&s, &n)) {
            if (!block_place(r, s, n, e)) return false;
        } else if (starts(&s, &n, "warp") && value_of(&s, &n)) {
            if (!number(s, n, 10, r->nwarps - 1, &v))
                return fail_at(in, e, "\"warp = %.*s\": a thread block has warps 0 to %u",
                               n > 20 ? 20 : (int)n, s, r->nwarps - 1);
            warp = (uint32_t)v;
            if (r->warp[warp].seen) return fail_at(in, e, "warp %u comes twice in its thread block", warp);
        } else if (starts(&s, &n, "insts") && value_of(&s, &n)) {
            if (warp == NONE) return fail_at(in, e, "\"insts\" without a \"warp\" before it");
            if (!number(s, n, 10, INSTS_LIMIT - 1, &v))
                return fail_at(in, e, "\"insts = %.*s\" is not a number below 2^31", n > 20 ? 20 : (int)n, s);
            if (!read_warp(r, warp, v, e)) return false;
            r->warp[warp].seen = true;
            seen++;
            warp = NONE;
        } else {
            return fail_at(
                in, e,
                "expected \"warp\", \"insts\" or \"#END_TB\", found \"%.*s\"; has the warp before more "
                "instructions than its \"insts\" says?",
                n > 30 ? 30 : (int)n, s);
        }
    }
    if (seen == r->nwarps) return true;
    for (uint32_t w = 0; w < r->nwarps; w++)
        if (!r->warp[w].seen)
            return fail_at(in, e, "the thread block ends without its warp %u (%u threads are %u warps)", w,
                           r->head.block[0] * r->head.block[1] * r->head.block[2], r->nwarps);
    return true;
}

static int next(orr_source *s, orr_tb *tb, orr_err *e) {
    reader *r = (reader *)s;
    const char *text;
    size_t n;
    int got = input_line(&r->in, &text, &n, e);
    if (got < 0) return -1;
    if (!got) {
        if (r->done == r->blocks) return 0;
        orr_fail(e, ORR_BAD_INPUT, "%s: the file ends after %llu of %llu thread blocks; it is cut off",
                 r->in.name, (unsigned long long)r->done, (unsigned long long)r->blocks);
        return -1;
    }
    if (!starts(&text, &n, "#BEGIN_TB")) {
        fail_at(&r->in, e, "expected \"#BEGIN_TB\", found \"%.*s\"", n > 40 ? 40 : (int)n, text);
        return -1;
    }
    if (r->done == r->blocks) {
        fail_at(&r->in, e, "more thread blocks than the %llu of the grid", (unsigned long long)r->blocks);
        return -1;
    }
    r->out.n = 0;
    if (!read_block(r, e)) return -1;
    for (uint32_t w = 0; w < r->nwarps; w++)
        r->warps[w] = (orr_warp_trace){r->out.bytes + r->warp[w].at, r->warp[w].n};
    *tb = (orr_tb){r->done++, r->nwarps, r->warps};
    return 1;
}

// ---- the door of the folder -------------------------------------------------------------------
static void close_nothing(orr_source *s) { (void)s; } // a file's source stays the file's
static void close_reader(orr_source *s) { reader_close((reader *)s); }

reader *reader_open(input *in, code **codes, memo *m, orr_notes notes, orr_map *warned, orr_err *e) {
    trace_head h;
    if (!read_header(in, &h, &notes, e)) {
        free(h.name);
        free(h.words.at);
        input_close(in);
        return NULL;
    }
    reader *r = orr_calloc(1, sizeof *r);
    r->in = *in;
    r->head = h;
    r->notes = notes;
    r->warned = warned;
    for (r->code = codes ? *codes : NULL; r->code; r->code = r->code->next)
        if (code_fits(r->code, &h)) break;
    if (!r->code) {
        r->code = code_new(&r->head, in->name);
        if (codes) {
            r->code->next = *codes;
            *codes = r->code;
        }
    }
    r->own = !codes;
    r->memo = codes ? m : memo_new();
    memo_turn(r->memo, r->code);
    r->blocks = (uint64_t)h.grid[0] * h.grid[1] * h.grid[2];
    r->nwarps = (h.block[0] * h.block[1] * h.block[2] + ORR_WARP - 1) / ORR_WARP;
    r->warp = orr_calloc(r->nwarps, sizeof *r->warp);
    r->warps = orr_calloc(r->nwarps, sizeof *r->warps);
    orr_trace_room(&r->out);
    r->source = (orr_source){.next = next, .close = codes ? close_nothing : close_reader};
    r->source.info.kernel = &r->code->kernel;
    memcpy(r->source.info.grid, h.grid, sizeof h.grid);
    memcpy(r->source.info.block, h.block, sizeof h.block);
    return r;
}

void reader_close(reader *r) {
    if (!r) return;
    input_close(&r->in);
    if (r->own) {
        code_free(r->code);
        memo_free(r->memo);
    }
    free(r->head.name);
    free(r->head.words.at);
    free(r->out.bytes);
    free(r->part.bytes);
    free(r->warp);
    free(r->warps);
    free(r);
}

orr_source *orr_accel_from_text(const char *text, size_t n, const char *name, orr_err *e) {
    input in;
    input_text(&in, text, n, name);
    reader *r = reader_open(&in, NULL, NULL, (orr_notes){0}, NULL, e);
    return r ? &r->source : NULL;
}
