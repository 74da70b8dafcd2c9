// What a memory instruction touches: from the bytes of its trace to lines, sectors, passes, and cycles of the
// unit.
//
// Most warps touch memory in the same pattern as those before them, at another place: what was worked out is
// kept for the last patterns of each instruction. Lanes without any pattern are coalesced and counted in one
// loop.
#include "model/abstract/abstract.h"

#include <string.h>

#include "exec/exec.h"
#include "stream/trace.h"

int abt_access_kind(const orr_tinst *i) {
    return i->flags & ORR_TF_ATOMIC ? ORR_L1_ATOMIC : i->flags & ORR_TF_STORE ? ORR_L1_STORE : ORR_L1_LOAD;
}

// ---- what it touches ---------------------------------------------------------------------------------
static orr_l1_access access_at_l1(const machine *m, const orr_tinst *i, bool local) {
    return (orr_l1_access){.lanes = &m->inst.access,
                           .lines = &m->inst.lines,
                           .bytes = i->bytes,
                           .loads = i->flags & ORR_TF_LOAD,
                           .stores = i->flags & ORR_TF_STORE,
                           .local = local,
                           .copies = i->flags & ORR_TF_ASYNC,
                           .bypasses = i->flags & ORR_TF_BYPASS};
}

static void set_cost(const machine *m, access *k, orr_l1_cost c) {
    k->cost = c.cycles;
    k->lag = c.lag;
    k->passes = m->l1.spec.words && c.conflicts ? (uint16_t)c.passes : 0;
}

// How long L1 is busy with the access at hand. Its lines are taken to be spread evenly over tag banks: what
// is kept of a pattern holds wherever it lies.
static void cost_at_l1(const machine *m, access *k, bool local) {
    orr_l1_access a = access_at_l1(m, k->i, local);
    set_cost(m, k, orr_l1_cost_of(&m->l1.spec, &a, NULL));
    if (!m->l1.spec.words || !orr_copies_past_l1(&m->l1.spec, &a)) return;
    uint32_t misses = orr_copy_miss_cycles(&m->inst.lines, (uint32_t)m->gpu->l1_miss_interval);
    if (k->cost < misses) k->cost = misses;
}

// The same of lanes that take so many passes over banks of words.
static void cost_of_words(const machine *m, access *k, uint32_t passes, uint32_t packed) {
    orr_l1_access a = access_at_l1(m, k->i, false);
    uint32_t lookups = (m->inst.lines.lines + m->l1.spec.banks - 1) / m->l1.spec.banks;
    set_cost(m, k, orr_l1_word_cost(&m->l1.spec, &a, passes, packed, lookups));
}

// Sectors of each line that a store writes whole, and lanes in it.
static void look_at_lanes(mem_inst *k, const orr_access *a, uint32_t bytes, bool local) {
    const orr_coalesced *x = &k->lines;
    for (uint32_t n = 0; n < x->lines; n++) {
        if (local) {
            k->whole[n] = x->line[n].sectors;
            k->lanes[n] = 1;
            continue;
        }
        uint64_t first = x->line[n].line * ORR_LINE;
        uint32_t lanes = 0;
        unsigned __int128 set = 0;
        for (uint32_t m = a->mask; m; m &= m - 1) {
            uint64_t from = a->addr[orr_ffs(m)] - first, to = from + bytes;
            lanes += from < ORR_LINE;
            if (from >= ORR_LINE && to - 1 >= ORR_LINE) continue; // not in this line
            if (from >= ORR_LINE) from = 0;
            if (to > ORR_LINE) to = ORR_LINE;
            unsigned __int128 ones =
                to - from >= 128 ? ~(unsigned __int128)0 : ((unsigned __int128)1 << (to - from)) - 1;
            set |= ones << from;
        }
        k->lanes[n] = (uint8_t)(lanes ? lanes : 1);
        k->whole[n] = 0;
        for (uint32_t s = 0; s < 4; s++)
            k->whole[n] |= (uint8_t)(((uint32_t)(set >> 32 * s) == UINT32_MAX) << s);
    }
}

// How long a slice works on an atomic (l2.atomic_words), in its operations: its passes one after the other.
static void count_passes(machine *m, const orr_tinst *i) {
    orr_atomic_spec s = orr_atomic_spec_of(m->gpu);
    for (uint32_t n = 0; n < m->inst.lines.lines; n++) {
        uint32_t quarters =
            orr_atomic_quarters(&s, &m->inst.access, i->bytes, i->atomic, m->inst.lines.line[n].line);
        m->inst.lanes[n] = (uint8_t)(quarters / 4 > 255 ? 255 : quarters > 4 ? quarters / 4 : 1);
    }
}

// Passes over banks of words: no more than there are lanes on the bank that most of them want, those side by
// side on one word together. Where that is less than looking lines up takes, it does not matter how many.
static uint32_t passes_of(const machine *m, const orr_tinst *i) {
    const orr_access *a = &m->inst.access;
    uint8_t bank[32] = {0}, most = 0;
    uint64_t last = 0;
    for (uint32_t left = a->mask; left; left &= left - 1) {
        uint64_t word = a->addr[orr_ffs(left)] / 4 + 1;
        if (word != last && ++bank[word % 32] > most) most++;
        last = word;
    }
    uint32_t lookups = (m->inst.lines.lines + m->l1.spec.banks - 1) / m->l1.spec.banks;
    if (most <= lookups) return most;
    orr_l1_access x = access_at_l1(m, i, false);
    return orr_l1_word_passes(&x);
}

// Lanes all over the place, loads and stores of global memory whose lanes do not cross sectors: what
// orr_coalesce finds.
static bool scattered(machine *m, access *k) {
    const orr_access *a = &m->inst.access;
    const orr_tinst *i = k->i;
    orr_coalesced *x = &m->inst.lines;
    uint8_t table[64] = {0}, place[ORR_WARP];
    uint32_t n = 0, lanes = 0, bytes = i->bytes;
    uint64_t odd = 0;
    for (uint32_t left = a->mask; left; left &= left - 1) {
        uint64_t addr = a->addr[orr_ffs(left)], line = addr / ORR_LINE;
        uint32_t at = line & 63, which;
        while ((which = table[at]) && x->line[which - 1].line != line) at = (at + 1) & 63;
        if (!which) {
            x->line[n].line = line;
            x->line[n].sectors = 0;
            which = ++n;
            table[at] = (uint8_t)n;
        }
        x->line[which - 1].sectors |= (uint8_t)(1u << addr / ORR_SECTOR % 4);
        place[lanes++] = (uint8_t)(which - 1);
        odd |= addr;
    }
    if (odd & (bytes - 1)) return false;
    x->lines = n;
    x->sectors = 0;
    for (uint32_t j = 0; j < n; j++) x->sectors += orr_sectors_in(x->line[j].sectors);
    if (i->flags & ORR_TF_STORE) {
        memset(m->inst.lanes, 0, n);
        for (uint32_t j = 0; j < lanes; j++) m->inst.lanes[place[j]]++;
        for (uint32_t j = 0; j < n; j++) {
            uint8_t of = x->line[j].sectors;
            m->inst.whole[j] = m->inst.lanes[j] * bytes >= ORR_SECTOR * orr_sectors_in(of) ? of : 0;
        }
    }
    uint32_t packed = orr_packed_passes(a, bytes);
    if (m->l1.spec.words)
        cost_of_words(m, k, n <= packed ? packed : passes_of(m, i), packed);
    else
        cost_at_l1(m, k, false);
    return true;
}

// The whole work: lanes to addresses, addresses to lines or passes. False: the trace is damaged.
static bool decode(const acore *s, uint32_t id, orr_trace *t, access *k) {
    machine *m = s->m;
    orr_access *a = &m->inst.access;
    const orr_tinst *i = k->i;
    orr_coalesced *x = &m->inst.lines;
    if (!orr_trace_access(t, a)) return false;
    x->lines = x->sectors = 0;
    k->cost = 1;
    k->space = ORR_SPACE_CONST; // no lane: as one that is there
    a->mask = orr_tinst_lanes(i, a->mask);
    if (!a->mask) return true;
    uint64_t at = a->addr[orr_ffs(a->mask)];
    k->space = orr_space_of(i->space, at);
    uint64_t more = i->offset;
    if (i->space == ORR_SPACE_GENERIC && k->space != ORR_SPACE_CONST) more -= orr_space_window(k->space);
    if (more)
        for (uint32_t n = a->mask; n; n &= n - 1) a->addr[orr_ffs(n)] += more;
    int kind = abt_access_kind(i);
    if (k->space == ORR_SPACE_CONST) return true;
    if (k->space == ORR_SPACE_SHARED) {
        const orr_shared_spec *spec = &m->c->core.shared.cost;
        orr_banked b = orr_bank_conflicts(a, i->bytes, orr_shared_kind(spec, i));
        orr_shared_cost cost = orr_shared_cost_of(spec, i, b);
        k->each = (uint16_t)cost.each;
        k->cost = cost.cycles;
        k->lag = cost.lag;
        return true;
    }
    bool local = k->space == ORR_SPACE_LOCAL;
    if (k->scattered && !local && kind != ORR_L1_ATOMIC && m->c->core.lsu.coalesce == ORR_WHOLE_WARP &&
        !(i->flags & ORR_TF_ASYNC) && i->bytes && i->bytes <= 16 && !(i->bytes & (i->bytes - 1)) &&
        scattered(m, k))
        return true;
    x->lines = x->sectors = 0;
    orr_coalesce_inst(i, a, local, (enum orr_coalescing)m->c->core.lsu.coalesce, x);
    cost_at_l1(m, k, local);
    if (kind != ORR_L1_LOAD) look_at_lanes(&m->inst, a, i->bytes, local);
    if (kind == ORR_L1_ATOMIC && m->gpu->l2_atomic_words && !local) count_passes(m, i);
    if (local) {
        uint64_t warp = ((uint64_t)m->net.numbers[s->id] * m->per_sched + id % m->per_sched) * m->nsched +
                        id / m->per_sched;
        for (uint32_t n = 0; n < x->lines; n++)
            x->line[n].line = orr_local_line(m->local_frame, warp, x->line[n].line);
    }
    return true;
}

// ---- the same again ----------------------------------------------------------------------------------
static bool is_like(machine *m, const amemo *e, orr_trace *t, access *k) {
    const uint8_t *p = t->at;
    size_t left = (size_t)(t->end - p);
    if (!e->n || e->mask != t->mask || left < e->n || *p != e->bytes[0]) return false;
    uint64_t at;
    memcpy(&at, p + e->base, 8);
    if ((at & 127) != e->low) return false;
    if (e->base > 1 && memcmp(p + 1, e->bytes + 1, 4) != 0) return false;
    uint32_t from = e->base + 8u, n = e->n - from; // what follows the address: a stride has one or two bytes
    if (n && p[from] != e->bytes[from]) return false;
    if (n > 1 && memcmp(p + from, e->bytes + from, n) != 0) return false;
    if (orr_space_of(k->i->space, at) != e->space) return false;
    t->at += e->n;
    k->cost = e->cost;
    k->lag = e->lag;
    k->each = e->each;
    k->passes = e->passes;
    k->space = e->space;
    orr_coalesced *x = &m->inst.lines;
    x->lines = e->nlines;
    x->sectors = e->sectors;
    if (e->space == ORR_SPACE_SHARED || m->perfect) return true;
    for (uint32_t n = 0; n < x->lines; n++) {
        x->line[n] = (orr_line_access){at / ORR_LINE + (uint64_t)(int64_t)e->at[n].line, e->at[n].sectors};
        m->inst.whole[n] = e->at[n].whole;
        m->inst.lanes[n] = e->at[n].lanes;
    }
    return true;
}

static bool remembered(machine *m, const amemos *e, orr_trace *t, access *k) {
    for (uint32_t n = 0; n < MEMOS; n++)
        if (is_like(m, &e->memo[n], t, k)) return true;
    return false;
}

// Patterns move with their address as long as its last 7 bits stay: banks, sectors and lines repeat after
// 128.
static void remember(const machine *m, amemos *all, const uint8_t *p, size_t n, uint32_t mask,
                     const access *k) {
    const orr_coalesced *x = &m->inst.lines;
    if (n > MEMO_BYTES || !(*p & 7) || x->lines > MEMO_LINES) return;
    if (!m->l1.spec.words && (m->l1.spec.banks > 4 || 4 % m->l1.spec.banks)) return;
    if (k->space != ORR_SPACE_SHARED && k->space != ORR_SPACE_GLOBAL) return;
    amemo *e = &all->memo[all->next++ % MEMOS];
    e->n = 0;
    uint64_t at;
    e->base = *p & 8 ? 5 : 1;
    memcpy(&at, p + e->base, 8);
    e->mask = mask;
    e->low = at & 127;
    e->space = k->space;
    e->each = k->each;
    e->passes = k->passes;
    e->nlines = (uint16_t)x->lines;
    e->sectors = (uint16_t)x->sectors;
    e->cost = (uint16_t)(k->cost < UINT16_MAX ? k->cost : UINT16_MAX);
    e->lag = (uint16_t)(k->lag < UINT16_MAX ? k->lag : UINT16_MAX);
    for (uint32_t i = 0; i < x->lines; i++) {
        int64_t line = (int64_t)(x->line[i].line - at / ORR_LINE);
        if (line != (int32_t)line) return;
        e->at[i].line = (int32_t)line;
        e->at[i].sectors = x->line[i].sectors;
        e->at[i].whole = m->inst.whole[i];
        e->at[i].lanes = m->inst.lanes[i];
    }
    memcpy(e->bytes, p, n);
    e->n = (uint8_t)n;
}

// ---- one unbroken run of bytes -----------------------------------------------------------------------
// A store of the bytes from `first` to before `end`: sectors that it writes whole.
static void whole_of_run(machine *m, uint64_t first, uint64_t end) {
    uint64_t from = (first + ORR_SECTOR - 1) / ORR_SECTOR, to = end / ORR_SECTOR;
    for (uint32_t n = 0; n < m->inst.lines.lines; n++) {
        m->inst.whole[n] = 0;
        for (uint64_t at = m->inst.lines.line[n].line * 4, k = 0; k < 4; k++)
            m->inst.whole[n] |= (uint8_t)((at + k >= from && at + k < to) << k);
    }
}

// Lanes no more than a sector apart, which is what most accesses are: what decode() would find, without
// looking at lanes. False: it is something else.
static bool is_run(machine *m, orr_trace *t, const amem *x, access *k) {
    const uint8_t *p = t->at;
    size_t left = (size_t)(t->end - p), base = left && *p & 8 ? 5 : 1;
    if (!x->runs || left < base + 9) return false;
    uint32_t form = *p & 7, mask = t->mask, bytes = x->bytes, stride = 0;
    if (form != 1 && form != 2) return false;
    if (base > 1) memcpy(&mask, p + 1, 4);
    if (form == 2) {
        stride = p[base + 8];
        if (stride & 1 || stride > 2 * ORR_SECTOR) return false; // zigzag: falls, or is too wide
        stride /= 2;
    }
    uint64_t first;
    memcpy(&first, p + base, 8);
    k->space = orr_space_of(k->i->space, first);
    if (k->space != ORR_SPACE_GLOBAL && k->space != ORR_SPACE_SHARED) return false;
    if (k->i->space == ORR_SPACE_GENERIC && k->space == ORR_SPACE_SHARED) return false;
    first += k->i->offset;
    uint32_t n = mask == 0xffffffffu ? ORR_WARP : (uint32_t)orr_popc(mask), span = (n - 1) * stride + bytes;
    orr_coalesced *c = &m->inst.lines;
    c->lines = c->sectors = 0;
    if (k->space == ORR_SPACE_SHARED) {
        if (bytes != 4 || stride & 3 || first & 3 || span > 128) return false;
        k->each = (uint16_t)m->c->core.shared.cost.pass_cycles;
        k->cost = k->each;
        k->lag = 0;
    } else {
        uint64_t last = first + span - 1, sector = first / ORR_SECTOR, end = last / ORR_SECTOR;
        if (last < first) return false;

        c->sectors = (uint32_t)(end - sector + 1);
        for (uint64_t line = sector / 4; line <= end / 4; line++) {
            uint32_t lo = line == sector / 4 ? sector % 4 : 0, hi = line == end / 4 ? end % 4 : 3;
            c->line[c->lines++] = (orr_line_access){line, (uint8_t)(0xf >> (3 - hi) & 0xf << lo)};
        }
        if (x->kind == ORR_L1_STORE) whole_of_run(m, first, stride == bytes || n == 1 ? last + 1 : first);
        uint32_t packed = (n * bytes + 127) / 128;
        if (m->l1.spec.words) {
            if (c->lines > packed && (stride != bytes || first & 3))
                return false; // banks have to be looked at
            cost_of_words(m, k, packed, packed);
        } else {
            k->cost = orr_l1_run_cycles(&m->l1.spec, c->sectors);
            k->lag = k->cost - 1;
        }
    }
    t->at += base + 8 + (form == 2);
    return true;
}

// The pattern of is_run is kept, and found again when nothing but the address differs, by whole lines.
static void keep_row(const machine *m, arow *r, const uint8_t *p, uint32_t mask, const access *k) {
    const orr_coalesced *c = &m->inst.lines;
    uint64_t at;
    r->nlines = 0;
    if (*p & 8 || k->space != ORR_SPACE_GLOBAL || !c->lines) return;
    memcpy(&at, p + 1, 8);
    uint32_t last = c->lines - 1;
    *r = (arow){.mask = mask, .head = *p, .stride = p[9], .low = at & 127, .space = k->space};
    r->first = c->line[0].sectors;
    r->last = c->line[last].sectors;
    r->whole_first = m->inst.whole[0];
    r->whole_last = m->inst.whole[last];
    r->whole = last > 1 ? m->inst.whole[1] : 0;
    r->cost = (uint16_t)k->cost;
    r->lag = (uint16_t)k->lag;
    r->each = k->each;
    r->sectors = (uint16_t)c->sectors;
    r->nlines = (uint8_t)c->lines;
}

static inline bool same_row(machine *m, orr_trace *t, const arow *r, access *k) {
    const uint8_t *p = t->at;
    uint64_t at;
    if (t->end - p < 10) return false;
    memcpy(&at, p + 1, 8);
    uint32_t differ = (p[0] ^ r->head) | (t->mask ^ r->mask) | ((at & 127) ^ r->low);
    if (p[0] == 2) differ |= p[9] ^ r->stride;
    if (differ || !r->nlines ||
        (k->i->space == ORR_SPACE_GENERIC && orr_space_of(k->i->space, at) != r->space))
        return false;
    orr_coalesced *c = &m->inst.lines;
    uint32_t n = r->nlines, last = n - 1;
    at = (at + k->i->offset) / ORR_LINE;
    t->at += p[0] == 2 ? 10 : 9;
    k->cost = r->cost;
    k->lag = r->lag;
    k->each = r->each;
    k->passes = 0;
    k->space = r->space;
    c->lines = n;
    c->sectors = r->sectors;
    for (uint32_t i = 1; i < last; i++) {
        c->line[i].line = at + i;
        c->line[i].sectors = 15;
        m->inst.whole[i] = r->whole;
    }
    c->line[last].line = at + last;
    c->line[last].sectors = r->last;
    m->inst.whole[last] = r->whole_last;
    c->line[0].line = at;
    c->line[0].sectors = r->first;
    m->inst.whole[0] = r->whole_first;
    return true;
}

// ---- from outside
orr_trace abt_access_at(const acore *s, const awarp *w, const amem *x) {
    orr_trace at = w->trace;
    if (!s->m->code->in_order) {
        at.at = w->base + w->access[x->access];
        at.mask = w->mask;
    }
    return at;
}

bool abt_access(acore *s, uint32_t id, orr_trace *at, const amem *x, access *k) {
    machine *m = s->m;
    acode *code = m->code;
    amemos *memo = &code->memo[x->memo];
    k->i = &code->program->insts[x->inst];
    k->scattered = false;
    k->row = true;
    if (same_row(m, at, &memo->row, k)) return true;
    *k = (access){.i = k->i};
    const uint8_t *row = at->at;
    if (is_run(m, at, x, k)) {
        k->row = true;
        keep_row(m, &memo->row, row, at->mask, k);
        return true;
    }
    k->scattered = at->at < at->end && (*at->at & 7) == 3 && k->i->space != ORR_SPACE_SHARED;
    if (k->scattered || x->strong || !remembered(m, memo, at, k)) {
        const uint8_t *from = at->at;
        if (!decode(s, id, at, k)) {
            s->bad_trace = true;
            return false;
        }
        if (!k->scattered) remember(m, memo, from, (size_t)(at->at - from), at->mask, k);
    }
    return true;
}

bool abt_access_row(machine *m, orr_trace *at, const amem *x, access *k) {
    *k = (access){.i = &m->code->program->insts[x->inst], .row = true};
    return same_row(m, at, &m->code->memo[x->memo].row, k);
}

// Past one access; as orr_trace_skip, which is for those near the end of a trace.
bool abt_access_skip(orr_trace *t) {
    static const uint8_t bytes[4] = {0, 2, 4, 8};
    const uint8_t *p = t->at;
    if (t->end - p < ORR_TRACE_MAX_EVENT || *p & (ORR_TRACE_VERSIONED | ORR_TRACE_FIELDS))
        return orr_trace_skip(t);
    uint8_t head = *p++, form = head & 7;
    uint32_t mask = t->mask;
    if (head & 8) {
        memcpy(&mask, p, 4);
        p += 4;
    }
    if (form > 4) return false;
    if (form) p += 8;
    if (form == 3 && mask) p += (uint32_t)(orr_popc(mask) - 1) * bytes[head >> 4 & 3];
    if (form == 4) p++;
    for (int varints = form == 2 ? 1 : form == 4 ? 2 : 0; varints; varints--) {
        const uint8_t *from = p;
        while (*p++ & 128)
            if (p - from > 10) return false;
    }
    t->at = p;
    return true;
}
