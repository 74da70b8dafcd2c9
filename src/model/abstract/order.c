// Warps that wait for others through memory: a flag, a lock, a word that others change too.
//
// The rule is the cycle model's (cycle/order.c): it is handed what the SMs have sent in a window and says
// what of it has happened and when, and what has to wait. Here a request is answered when it is asked for;
// one that may have to wait is not: its warp stands still, and goes on when the rule has let it.
#include "model/abstract/abstract.h"

#include <stdlib.h>

// The machine as the rule sees it: the SMs and what they have sent.
static void make_view(machine *m) {
    if (m->view) return;
    m->view = orr_malloc(sizeof *m->view);
    *m->view = *m->c;
    m->view->nsms = m->ncores;
    m->view->core.port.gpcs = orr_topology_of(m->gpu);
    m->view->sms = orr_calloc(m->ncores, sizeof *m->view->sms);
}

order *abt_order_new(machine *m, const orr_kernel *k, bool whole) {
    if (m->perfect) return NULL;
    make_view(m);
    return cyc_order_new(k, m->view, whole);
}

void abt_order_open(machine *m, bool whole) {
    m->order = m->code->ordered ? abt_order_new(m, m->kernel, whole) : NULL;
    for (uint32_t n = 0; m->order && n < m->ncores; n++) {
        sm *s = &m->view->sms[n];
        s->port.out.n = s->port.observed_words.n = 0;
    }
}

void abt_order_close(machine *m) {
    cyc_order_free(m->order);
    m->order = NULL;
}

void abt_order_free(machine *m) {
    for (uint32_t n = 0; m->view && n < m->ncores; n++) {
        free(m->view->sms[n].port.out.at);
        free(m->view->sms[n].port.observed_words.at);
    }
    if (m->view) free(m->view->sms);
    free(m->view);
}

bool abt_order_note(acore *s, orr_request *r) {
    const machine *m = s->m;
    const orr_access *a = &m->access;
    awarp *w = m->warp;
    sm *to = &m->view->sms[s->id];
    uint8_t kind = m->mem->order;
    bool waits = kind & ORDER_WAITS;
    const tbuf *b = s->blocks[w->block].buf;
    const uint32_t *needs = waits && b->planned ? b->needs + w->need : NULL;
    uint32_t k = 0;
    r->norder = 0;
    for (uint32_t left = a->mask; left; left &= left - 1, k++) {
        uint64_t addr = a->addr[orr_ffs(left)];
        if (addr / ORR_LINE != r->line) continue;
        *ORR_PUSH(&to->port.observed_words) =
            (observed_word){addr / 4, needs ? needs[k] : 0, (uint16_t)(w - s->warps), kind, w->block};
        if (!r->norder++) r->order = (uint32_t)to->port.observed_words.n;
    }
    if (!r->norder) return false; // a line that had to make room
    r->partition = (uint32_t)orr_memsys_partition_of(m->c->mem, r->line);
    r->token = waits ? (uint32_t)(w - s->warps) : NOBODY;
    *ORR_PUSH(&to->port.out) = *r;
    if (!waits) return false;
    if (!w->asked++) w->answer = 0;
    w->for_ = m->mem;
    return true;
}

// What has been let go is answered.
static void answer(machine *m) {
    for (uint32_t n = 0; n < m->ncores; n++) {
        sm *from = &m->view->sms[n];
        acore *s = &m->cores[n];
        for (size_t i = 0; i < from->port.out.n; i++) {
            orr_request r = from->port.out.at[i];
            if (r.partition == UINT32_MAX || r.token == NOBODY) continue; // it waits; or is done already
            orr_fast_place p = orr_fast_find(m->memory, r.line, n, r.kind == ORR_REQ_READ);
            uint64_t done = r.kind == ORR_REQ_READ
                                ? orr_fast_load(m->memory, &p, r.sectors, r.from, r.time).done
                                : orr_fast_change(m->memory, &p, &r, 0).done;
            if (r.kind == ORR_REQ_REDUCE) continue; // somebody looks in vain
            awarp *w = &s->warps[r.token];
            uint64_t ready = abt_memory_answer(s, r.sectors, done), *when = &s->when[r.token];
            if (ready > w->answer) w->answer = ready;
            if (--w->asked) continue;
            abt_memory_done(w, w->for_, w->answer);
            *when &= ~WAITS;
            if (*when < s->next) s->next = *when;
        }
        from->port.out.n = 0;
    }
}

void abt_order_settle(machine *m, uint64_t now) {
    cyc_order_requests(m->order, m->view, now * ORR_TICKS);
    answer(m);
}

bool abt_order_release(machine *m, uint64_t now) {
    if (!m->order || !cyc_order_release(m->order, m->view, now * ORR_TICKS)) return false;
    answer(m);
    return true;
}
