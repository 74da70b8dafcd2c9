// Blocks of code whose text was seen before: a shorter way through most of a trace.
//
// Warps of a kernel execute the same lines again and again, differing in addresses only. The text of a run of
// lines is kept in pieces, from one memory instruction's addresses to the next, together with the block it
// became. Where a trace goes on with the same bytes it is the same block, and comparing bytes is the fastest
// thing there is to do with text; only addresses are read. Text is looked for by its first 16 bytes (PC and
// mask), and kept when those are seen the second time, so that masks that never come back are not. What is
// kept is bounded; any of it may be forgotten.
#include "accel/reader.h"

#include <stdlib.h>
#include <string.h>

enum { SETS = 1 << 11, WAYS = 4, TEXT_MAX = 16 << 10 };

typedef struct run {
    uint32_t block, mask, count, npieces;
    bool open; // its last line does not end it: what follows must have another mask
    const char *text;
    struct {
        uint32_t n;    // bytes
        uint32_t line; // whose addresses follow, NONE for the last piece
    } piece[];
} run;

struct known_runs {
    run *ways[SETS][WAYS]; // used last first
    uint32_t seen[SETS];
};

static void forget(struct known_runs *k) {
    for (int s = 0; s < SETS; s++)
        for (int w = 0; w < WAYS; w++) free(k->ways[s][w]);
    memset(k, 0, sizeof *k);
}

memo *memo_new(void) {
    memo *m = orr_calloc(1, sizeof *m);
    m->runs = orr_calloc(1, sizeof *m->runs);
    return m;
}

void memo_turn(memo *m, const code *of) {
    if (m->of == of) return;
    m->of = of;
    memset(m->near, 0xff, sizeof m->near);
    forget(m->runs);
    deltas_forget(m->deltas);
}

void memo_free(memo *m) {
    if (!m) return;
    forget(m->runs);
    free(m->runs);
    free(m->deltas);
    free(m);
}

static uint64_t hash_at(const char *p) {
    uint64_t a, b;
    memcpy(&a, p, 8);
    memcpy(&b, p + 8, 8);
    uint64_t h = (a ^ (b << 29 | b >> 35)) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 32;
}

// Is the text at in->at this run? Its events are written as it is read, and taken back if it is not.
static bool match(reader *r, const run *k, uint64_t n) {
    const char *p = r->in.at, *end = r->in.end, *text = k->text;
    if (k->count > n || (size_t)(end - p) < k->piece[0].n || memcmp(p, text, k->piece[0].n) != 0)
        return false;
    size_t was = r->out.n;
    uint32_t mask = r->out.mask;
    orr_trace_put_block(&r->out, k->block, k->mask);
    for (uint32_t i = 0;; i++) {
        p += k->piece[i].n;
        text += k->piece[i].n;
        if (i + 1 == k->npieces) break;
        p = line_access(r, &r->code->lines.at[k->piece[i].line], p, k->mask, &r->out, NULL);
        if (!p || (size_t)(end - p) < k->piece[i + 1].n || memcmp(p, text, k->piece[i + 1].n) != 0) goto no;
    }
    if (k->open && k->count < n) {
        uint32_t pc, srcline, next;
        const char *q = p;
        if (!line_head(r, &q, &pc, &srcline, &next) || next == k->mask) goto no;
    }
    r->in.at = p;
    r->in.line += k->count;
    return true;
no:
    r->out.n = was;
    r->out.mask = mask;
    return false;
}

uint64_t known_run(reader *r, uint64_t n) {
    run **ways = r->memo->runs->ways[hash_at(r->in.at) & (SETS - 1)];
    for (int w = 0; w < WAYS && ways[w]; w++) {
        run *k = ways[w];
        if (!match(r, k, n)) continue;
        for (; w; w--) ways[w] = ways[w - 1];
        ways[0] = k;
        return k->count;
    }
    return 0;
}

void known_add(reader *r, const seen_run *s, uint32_t block, uint32_t mask, bool open) {
    size_t total = 0;
    uint64_t h = hash_at(s->piece[0].text);
    struct known_runs *known = r->memo->runs;
    uint32_t *seen = &known->seen[h & (SETS - 1)], tag = (uint32_t)(h >> 32) | 1;
    if (*seen != tag) {
        *seen = tag;
        return;
    }
    for (uint32_t i = 0; i < s->npieces; i++) total += s->piece[i].n;
    if (total > TEXT_MAX) return;
    run *k = orr_malloc(sizeof *k + s->npieces * sizeof k->piece[0] + total);
    char *text = (char *)&k->piece[s->npieces];
    *k = (run){
        .block = block, .mask = mask, .count = s->count, .npieces = s->npieces, .open = open, .text = text};
    for (uint32_t i = 0; i < s->npieces; i++) {
        memcpy(text, s->piece[i].text, s->piece[i].n);
        text += s->piece[i].n;
        k->piece[i].n = s->piece[i].n;
        k->piece[i].line = s->piece[i].line;
    }
    run **ways = known->ways[h & (SETS - 1)];
    free(ways[WAYS - 1]);
    memmove(ways + 1, ways, (WAYS - 1) * sizeof *ways);
    ways[0] = k;
}
