// The thread blocks that the partial model looks at: a few dozen of any grid. They are executed, or read from
// a stream, in rising order, and copies of their streams are kept by number, since every step of the model
// asks for some of them again.
#include "model/partial/partial.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

const kept_block *kept_find(const kept *k, uint64_t index) {
    size_t lo = 0, hi = k->at.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (k->at.at[mid].index < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < k->at.n && k->at.at[lo].index == index ? &k->at.at[lo] : NULL;
}

static void keep(kept *k, const orr_tb *tb) {
    size_t bytes = 0;
    for (uint32_t w = 0; w < tb->nwarps; w++) bytes += tb->warps[w].n;
    kept_block b = {.index = tb->index, .nwarps = tb->nwarps};
    b.bytes = orr_malloc(bytes + 1);
    b.warps = orr_malloc((tb->nwarps + 1) * sizeof *b.warps);
    uint8_t *at = b.bytes;
    for (uint32_t w = 0; w < tb->nwarps; w++) {
        if (tb->warps[w].n) memcpy(at, tb->warps[w].bytes, tb->warps[w].n);
        b.warps[w] = (orr_warp_trace){at, tb->warps[w].n};
        at += tb->warps[w].n;
    }
    k->bytes += bytes;
    (void)ORR_PUSH(&k->at);
    size_t i = k->at.n - 1;
    for (; i && k->at.at[i - 1].index > b.index; i--) k->at.at[i] = k->at.at[i - 1];
    k->at.at[i] = b;
}

bool kept_pull(kept *k, const orr_work *w, const uint64_t *list, uint64_t n, bool whole, orr_err *e) {
    if (k->all) return true;
    uint64_t *want = orr_malloc((n + 1) * sizeof *want), left = 0;
    for (uint64_t i = 0; i < n; i++)
        if (!kept_find(k, list[i]) && (!left || want[left - 1] != list[i])) want[left++] = list[i];
    bool ok = true, part = w->launch && !whole;
    if (left || (whole && w->launch)) {
        orr_source *s = part ? orr_exec_source_of(w->launch, want, left, NULL, e) : orr_work_open(w, NULL, e);
        if (s && part && w->rewritten) s = orr_rewritten_source(w->rewritten, s);
        ok = s != NULL;
        orr_tb tb;
        uint64_t at = 0;
        int r = 1;
        // a launch is executed to its end, a file is read as far as needed
        while (ok && (part || w->launch || at < left)) {
            if (!w->launch && s->seek) s->seek(s, want[at]);
            if ((r = s->next(s, &tb, e)) <= 0) break;
            k->executed++;
            while (at < left && want[at] < tb.index) at++;
            if (at < left && want[at] == tb.index) {
                keep(k, &tb);
                at++;
            }
        }
        if (r < 0) ok = false;
        if (s && w->launch) s->close(s);
    }
    free(want);
    return ok;
}

bool kept_pull_all(kept *k, const orr_work *w, orr_err *e) {
    orr_source *s = orr_work_open(w, NULL, e);
    orr_tb tb;
    int r = s ? 1 : -1;
    while (s && (r = s->next(s, &tb, e)) > 0) {
        k->executed++;
        if (k->bytes < KEPT_BYTES) keep(k, &tb);
    }
    if (s && w->launch) s->close(s);
    k->all = true;
    return r == 0;
}

void kept_free(kept *k) {
    for (size_t i = 0; i < k->at.n; i++) {
        free(k->at.at[i].warps);
        free(k->at.at[i].bytes);
    }
    free(k->at.at);
    memset(k, 0, sizeof *k);
}

// ---- as a source ---------------------------------------------------------------------------------
typedef struct kept_reader {
    orr_source base;
    const kept *k;
    plan p;
    uint64_t next, of;
} kept_reader;

static int reader_next(orr_source *base, orr_tb *tb, orr_err *e) {
    kept_reader *r = (kept_reader *)base;
    (void)e;
    while (r->next < r->of) {
        const kept_block *b = kept_find(r->k, plan_block(&r->p, r->next++, r->of));
        if (!b) continue; // a file that ended early
        *tb = (orr_tb){.index = b->index, .nwarps = b->nwarps, .warps = b->warps};
        return 1;
    }
    return 0;
}

static void reader_close(orr_source *base) { free(base); }

orr_source *kept_source(const kept *k, const plan *p, uint64_t of, const orr_launch_info *info) {
    kept_reader *r = orr_calloc(1, sizeof *r);
    r->base = (orr_source){.info = *info, .next = reader_next, .close = reader_close};
    r->k = k;
    r->p = *p;
    r->of = of;
    return &r->base;
}
