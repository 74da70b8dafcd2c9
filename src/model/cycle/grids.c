// Several kernels on one machine at a time (grids.h).
#include "model/cycle/grids.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/dispatch.h"

// ---- whose turn it is, and where ----------------------------------------------------------------
// The grid whose block is placed next, of those that can be before `until`; NULL: none has any left.
static grid *head(const grids *all, uint64_t until) {
    grid *first = NULL;
    for (uint32_t n = 0; n < all->n; n++) {
        grid *g = &all->at[n];
        if (g->from >= until || g->placed == g->blocks) continue;
        if (!first || g->priority < first->priority ||
            (g->priority == first->priority && g->from < first->from))
            first = g;
    }
    return first;
}

uint64_t cyc_grids_next(const grids *all, uint64_t now) {
    uint64_t t = NEVER;
    for (uint32_t n = 0; n < all->n; n++)
        if (all->at[n].from >= now && all->at[n].from < t) t = all->at[n].from;
    return t;
}

bool cyc_grid_fits(const cycle *c, const grid *g, const sm_use *use) {
    const orr_gpu *d = c->gpu;
    const sm_use *need = &g->need;
    if (!use->blocks) return true;
    return use->blocks < (uint32_t)d->limit_sm_blocks &&
           use->warps + need->warps <= (uint32_t)d->limit_sm_warps &&
           use->registers + need->registers <= d->limit_sm_registers && use->carveout >= g->least &&
           use->shared + need->shared <= use->carveout;
}

// Of the SMs with room the one with the fewest warps, the first in its order.
static sm *place(const cycle *c, const grid *g) {
    sm *best = NULL;
    for (uint32_t n = 0; n < c->nsms; n++) {
        sm *s = &c->sms[g->order[n]];
        bool better = !best || s->tb.planned.warps < best->tb.planned.warps;
        if (better && cyc_grid_fits(c, g, &s->tb.planned)) best = s;
    }
    return best;
}

// ---- thread blocks ------------------------------------------------------------------------------
// `now`: it is sent out in this window, when the dispatcher comes to it; else it is in stock.
static bool hand_out(engine *x, grid *g, sm *s, bool now) {
    const orr_gpu *d = x->c->gpu;
    grids *all = x->c->grids;
    if (!g->supply) g->supply = cyc_supply_open(g->source, x->threads, true);
    block_traces *b = cyc_supply_take(g->supply);
    if (!b) { // its source has ended, or failed: cyc_grids_close says
        g->blocks = g->placed;
        return false;
    }
    b->grid = g;
    b->earliest = g->from;
    if (now) {
        uint64_t from = x->from > g->from ? x->from : g->from;
        if (x->clock < from * 256) x->clock = from * 256;
        if (all->last && all->last != g) x->clock += (uint64_t)(d->launch_next_grid * 256);
        b->earliest = x->clock / 256;
        double fill = d->launch_fill_interval;
        x->clock += (uint64_t)((fill > 0 && !g->filled ? fill : d->launch_block_interval) * 256);
        all->last = g;
    }
    cyc_use_add(&s->tb.planned, g);
    g->placed++;
    *s->tb.stock_end = b;
    s->tb.stock_end = &b->next;
    s->tb.stocked++;
    return true;
}

void cyc_grids_deal(engine *x) {
    cycle *c = x->c;
    grid *g;
    sm *s = NULL;
    uint64_t until = x->from + c->window;
    while ((g = head(c->grids, until)) && (s = place(c, g))) hand_out(x, g, s, true);
    if (g) g->filled = true;
    for (uint32_t n = 0; n < c->nsms; n++)
        if (c->sms[x->first_order[n]].tb.stock) cyc_block_start(&c->sms[x->first_order[n]], x->from);
    cyc_share_out(x);
    for (bool some = true; some;) { // in stock, as many as it may need
        some = false;
        for (uint32_t n = 0; n < c->nsms && (g = head(c->grids, until)); n++) {
            s = &c->sms[x->refill_order[n]];
            uint32_t want = s->tb.started_last + 3;
            if (s->tb.stocked < want) some |= hand_out(x, g, s, false);
        }
    }
    x->no_more_blocks = !head(c->grids, until);
    for (uint32_t n = 0; n < c->nsms; n++) c->sms[n].tb.started = 0;
}

void cyc_grids_feed(engine *x, uint32_t n) {
    cycle *c = x->c;
    grid *g;
    for (bool some = true; some;) {
        some = false;
        for (uint32_t i = 0; i < n && (g = head(c->grids, x->until)); i++) {
            sm *s = &c->sms[x->busy[i]];
            if (s->tb.stocked <= s->tb.started && cyc_grid_fits(c, g, &s->tb.planned))
                some |= hand_out(x, g, s, false);
        }
    }
    x->no_more_blocks = !head(c->grids, x->until);
}

void cyc_grids_return(sm *s) {
    while (s->tb.stock) {
        block_traces *b = s->tb.stock;
        s->tb.stock = b->next;
        b->next = NULL;
        cyc_use_remove(&s->tb.planned, b->grid);
        b->grid->placed--;
        cyc_supply_return(b->grid->supply, b);
    }
}

void cyc_grids_done(block_traces *list) {
    while (list) {
        block_traces *b = list;
        grid *g = b->grid;
        list = b->next;
        b->next = NULL;
        if (!g->done++ || b->started < g->first) g->first = b->started;
        uint64_t said = b->allows_next ? b->allows_next : b->ended;
        if (said > g->allows_next) g->allows_next = said;
        if (b->ended > g->last) g->last = b->ended;
        cyc_supply_done(g->supply, b);
    }
}

// ---- ends ---------------------------------------------------------------------------------------
static double ns_of(const cycle *c, uint64_t cycles) { return (double)cycles * 1e3 / c->gpu->clock_sm; }

// When all blocks of a grid have said that the next one may start, or have ended; NEVER: not yet.
static uint64_t all_said(const cycle *c, const grid *g) {
    uint64_t n = g->done, when = g->allows_next;
    if (n < g->blocks && g->placed < g->blocks) return NEVER;
    for (uint32_t i = 0; i < c->nsms && n < g->blocks; i++)
        for (uint32_t k = 0; k < c->sms[i].tb.n; k++) {
            const block_traces *b = c->sms[i].tb.slot[k].buf;
            if (!b || b->grid != g || !b->allows_next) continue;
            n++;
            when = b->allows_next > when ? b->allows_next : when;
        }
    return n < g->blocks ? NEVER : when;
}

// Members that have been launched, as their caller says, and may start.
static void take_launches(const cycle *c, grids *all) {
    for (uint32_t n = 0; n < all->n; n++) {
        grid *g = &all->at[n];
        if (g->from != NEVER || !isfinite(g->member->launched)) continue;
        uint64_t from = (uint64_t)llround(g->member->launched * c->gpu->clock_sm / 1e3) +
                        (uint64_t)c->gpu->launch_overhead;
        uint64_t said = g->predecessor ? all_said(c, g->predecessor) : 0;
        if (said == NEVER) continue;
        if (g->predecessor) said += (uint64_t)c->gpu->launch_early;
        g->from = said > from ? said : from;
    }
}

// ---- kernels that start before the one ahead has ended --------------------------------------------
bool cyc_grid_waits(const cycle *c, const grid *g, uint64_t *until) {
    *until = 0;
    if (!g || !g->predecessor) return false;
    *until =
        g->predecessor->ended == NEVER ? NEVER : g->predecessor->ended + (uint64_t)c->gpu->launch_early_wait;
    return g->predecessor->ended == NEVER;
}

// Warps go on that have waited for the grid to end.
static void wake(engine *x, const grid *ended) {
    cycle *c = x->c;
    uint64_t until = ended->ended + (uint64_t)c->gpu->launch_early_wait;
    for (uint32_t i = 0; i < c->nsms; i++) {
        sm *s = &c->sms[i];
        for (uint32_t n = 0; n < s->tb.n; n++) {
            const block *b = &s->tb.slot[n];
            if (!b->buf || b->buf->grid->predecessor != ended) continue;
            for (uint32_t k = 0; k < b->nwarps; k++) {
                warp *w = b->warp[k] == NOBODY ? NULL : warp_of(s, b->warp[k]);
                if (!w || !w->waits_for_grid) continue;
                w->waits_for_grid = false;
                w->front_end_ready = until > s->clock.now ? until : s->clock.now;
                cyc_warp_update(s, w);
            }
        }
    }
}

// A grid is over when its blocks have ended and the one that it came after is: *end. Who waits for it goes
// on.
static void set_over(engine *x, grid *g, uint64_t end) {
    grids *all = x->c->grids;
    g->ended = g->predecessor && g->predecessor->ended > end ? g->predecessor->ended : end;
    if (g->ended == NEVER) return;
    wake(x, g);
    for (uint32_t n = 0; n < all->n; n++) { // those behind it that have ended already
        grid *next = &all->at[n];
        if (next->predecessor == g && next->member->ran && next->ended == NEVER)
            set_over(x, next, next->last);
    }
}

void cyc_grids_end(engine *x) {
    cycle *c = x->c;
    grids *all = c->grids;
    uint64_t overhead = (uint64_t)c->gpu->launch_overhead;
    for (uint32_t n = 0; n < all->n; n++) {
        grid *g = &all->at[n];
        if (!g->supply || g->done < g->blocks) continue;
        uint64_t end = g->last > x->end_noticed / 256 ? g->last : x->end_noticed / 256;
        if (!c->perfect && c->gpu->launch_drain > 0)
            end += (uint64_t)c->gpu->launch_drain + orr_memsys_barriers(c->mem) / ORR_TICKS;
        orr_err e = {0};
        if (!cyc_supply_close(g->supply, &e) && !all->err.status) all->err = e;
        g->supply = NULL;
        g->member->ran = true;
        uint64_t before =
            g->predecessor ? 0 : overhead; // that of one which started early is somebody else's time
        g->member->from = ns_of(c, g->first > before ? g->first - before : 0);
        g->member->end = ns_of(c, end);
        g->last = end;
        set_over(x, g, end);
        if (all->group->ended) all->group->ended(all->group, g->member);
    }
    take_launches(c, all);
}

bool cyc_grids_close(grids *all, orr_err *e) {
    for (uint32_t n = 0; n < all->n; n++) {
        grid *g = &all->at[n];
        orr_err read = {0};
        if (g->supply && !cyc_supply_close(g->supply, &read) && !all->err.status) all->err = read;
        g->supply = NULL;
    }
    return !all->err.status || orr_fail(e, all->err.status, "%s", all->err.text);
}

// ---- the set ------------------------------------------------------------------------------------
bool cyc_grids_warm(const cycle *c, uint64_t lines) {
    for (uint32_t n = 0; n < c->grids->n; n++) {
        const orr_program_part *p = &c->grids->at[n].code;
        uint64_t last = 0;
        for (uint32_t i = p->first_inst; i < p->first_inst + p->ninsts; i++)
            if (c->program->insts[i].pc > last) last = c->program->insts[i].pc;
        uint64_t first = p->ninsts ? c->program->insts[p->first_inst].pc : 0;
        if ((last - first) / c->core.fetch.line + 1 > lines) return false;
    }
    return true;
}

grids *cyc_grids_new(orr_launch_group *group, uint32_t n) {
    grids *all = orr_calloc(1, sizeof *all);
    all->at = orr_calloc(n + 1, sizeof *all->at);
    all->group = group;
    return all;
}

grid *cyc_grids_add(const cycle *c, grids *all, orr_member *m) {
    grid *g = &all->at[all->n++];
    const orr_launch_info *i = &m->work.info;
    g->member = m;
    g->priority = m->priority;
    g->from = g->ended = NEVER;
    for (uint32_t n = 0; m->after && n + 1 < all->n; n++)
        if (all->at[n].member == &all->group->at[m->after - 1])
            g->predecessor = &all->at[n], all->early = true;
    g->blocks = (uint64_t)i->grid[0] * i->grid[1] * i->grid[2];
    g->order = orr_dispatch_order(c->gpu, c->nsms, g->blocks);
    take_launches(c, all);
    return g;
}

bool cyc_grids_has(const grids *all, uint32_t member) {
    for (uint32_t n = 0; n < all->n; n++)
        if (all->at[n].member == &all->group->at[member - 1]) return true;
    return false;
}

void cyc_grids_free(grids *all) {
    if (!all) return;
    for (uint32_t n = 0; n < all->n; n++) free(all->at[n].order);
    free(all->at);
    free(all);
}
