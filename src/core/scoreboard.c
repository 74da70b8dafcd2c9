// What a warp's next instruction waits for (scoreboard.h).
#include "core/scoreboard.h"

#include <string.h>

void scoreboard_reset(scoreboard *b, uint32_t places) {
    *b = (scoreboard){.reg = b->reg};
    if (places) memset(b->reg, 0, places * sizeof *b->reg);
}

// The reason of a wait for a register, by the class of the instruction that writes it; mbarriers count as
// memory.
static uint8_t wait_of(const orr_tinst *i) {
    static const uint8_t other[256] = {
        [ORR_TC_SFU] = ORR_STALL_SHORT,   [ORR_TC_CONV] = ORR_STALL_SHORT, [ORR_TC_BITS] = ORR_STALL_SHORT,
        [ORR_TC_SREG] = ORR_STALL_SHORT,  [ORR_TC_SHFL] = ORR_STALL_SHORT, [ORR_TC_TEX] = ORR_STALL_LONG,
        [ORR_TC_CONST] = ORR_STALL_SHORT,
    };
    if (i->kind == ORR_TK_SYNCS) return ORR_STALL_LONG;
    return other[i->tclass] ? other[i->tclass] : ORR_STALL_WAIT;
}

static bool write_barrier(const orr_program *p, const orr_tinst *i, uint32_t *bar) {
    *bar = ORR_CTRL_WBAR(i->ctrl);
    return p->control && *bar < BARRIERS;
}

// A barrier is raised for a reason. One that several instructions have raised is waited for because of
// memory, as long as an answer from there is open (Nsight Compute's long scoreboard), else because of the
// last.
static void raise_for(scoreboard *b, uint32_t bar, uint8_t why) {
    if (!b->open[bar] || b->why[bar] != ORR_STALL_LONG) b->why[bar] = why;
}

// Code with control bits waits for barriers, and nobody looks at its registers.
static void set_registers(scoreboard *b, const orr_program *p, const orr_tinst *i, uint64_t due) {
    const uint16_t *r = p->regs + i->regs + i->nsrc;
    for (int d = 0; !p->control && d < i->ndst; d++) b->reg[r[d]] = due;
}

void scoreboard_result(scoreboard *b, const orr_program *p, const orr_tinst *i, uint64_t ready) {
    uint8_t why = wait_of(i);
    uint32_t bar;
    set_registers(b, p, i, scoreboard_due(ready, why));
    if (!write_barrier(p, i, &bar)) return;
    if (b->ready[bar] < ready) b->ready[bar] = ready;
    raise_for(b, bar, why == ORR_STALL_WAIT ? ORR_STALL_SHORT : why); // MATCH, for instance
}

void scoreboard_expect(scoreboard *b, const orr_program *p, const orr_tinst *i, enum orr_stall why) {
    uint32_t bar;
    set_registers(b, p, i, scoreboard_due(NEVER, (uint8_t)why));
    if (!write_barrier(p, i, &bar)) return;
    raise_for(b, bar, (uint8_t)why);
    b->open[bar]++;
}

void scoreboard_complete(scoreboard *b, const orr_program *p, const orr_tinst *i, uint64_t ready) {
    const uint16_t *r = p->regs + i->regs + i->nsrc;
    uint32_t bar;
    for (int d = 0; !p->control && d < i->ndst; d++)
        if (scoreboard_when(b->reg[r[d]]) == NEVER)
            b->reg[r[d]] = scoreboard_due(ready, (uint8_t)b->reg[r[d]]);
    if (!write_barrier(p, i, &bar)) return;
    b->open[bar]--;
    if (b->ready[bar] < ready) b->ready[bar] = ready;
}

// ---- operands of memory instructions --------------------------------------------------------------
// A memory instruction reads its operands when it leaves the queue: a read barrier is up until then.
static bool read_barrier(const orr_program *p, const orr_tinst *i, uint32_t *bar) {
    *bar = ORR_CTRL_RBAR(i->ctrl);
    return p->control && *bar < BARRIERS;
}

// What a wait for it is counted as.
static uint8_t read_why(const orr_tinst *i) {
    return i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_CONST ? ORR_STALL_SHORT : ORR_STALL_LONG;
}

void scoreboard_reads(scoreboard *b, const orr_program *p, const orr_tinst *i, uint64_t when) {
    uint32_t bar;
    if (!read_barrier(p, i, &bar)) return;
    if (b->ready[bar] < when) b->ready[bar] = when;
    raise_for(b, bar, read_why(i));
}

void scoreboard_will_read(scoreboard *b, const orr_program *p, const orr_tinst *i) {
    uint32_t bar;
    if (!read_barrier(p, i, &bar)) return;
    raise_for(b, bar, read_why(i));
    b->open[bar]++;
}

void scoreboard_has_read(scoreboard *b, const orr_program *p, const orr_tinst *i, uint64_t when) {
    uint32_t bar;
    if (read_barrier(p, i, &bar)) b->open[bar]--;
    scoreboard_reads(b, p, i, when);
}

// ---- waiting --------------------------------------------------------------------------------------
uint64_t scoreboard_groups(const scoreboard *b, uint32_t left) {
    uint64_t t = 0;
    for (uint32_t back = left + 1; back < MAX_GROUPS && back <= b->group; back++) {
        uint32_t n = (b->group - back) % MAX_GROUPS;
        if (b->group_open[n]) return NEVER;
        if (b->group_ready[n] > t) t = b->group_ready[n];
    }
    return t;
}
