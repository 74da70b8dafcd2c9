// What a warp's next instruction waits for: registers, barriers of the control bits, groups of copies.
//
// Code with control bits (machine code since Volta) says itself what it waits for: each instruction may
// raise one of six barriers until its result is there, another until its operands have been read, and wait
// for any of them. Code without them has a scoreboard: an instruction waits for the registers that it reads
// and for those that it writes. Asynchronous copies are counted by groups, which are waited for in order.
//
// Invariants: a barrier is down when `open`, the answers that raised it and have not come, is 0, and its
// time has passed; a register is NEVER ready until its load has been answered; of groups the last MAX_GROUPS
// are told apart.
//
// The component knows the operands of instructions and the reasons for waiting (stalls.def); who answers is
// not its concern.
#ifndef ORR_CORE_SCOREBOARD_H
#define ORR_CORE_SCOREBOARD_H

#include "core/core.h"
#include "core/stalls.h"
#include "program/program.h"

#define MAX_GROUPS 16 // of asynchronous copies that a warp can have open
#define BARRIERS   6

typedef struct scoreboard { // of a warp
    uint64_t *reg;          // [places] when a register can be used, and the reason to wait (scoreboard_due)
    uint64_t ready[BARRIERS];
    uint16_t open[BARRIERS];
    uint8_t why[BARRIERS];           // enum orr_stall
    uint32_t group;                  // number of the group of copies that is being filled
    uint16_t group_open[MAX_GROUPS]; // copies of group n % MAX_GROUPS on their way
    uint64_t group_ready[MAX_GROUPS];
} scoreboard;

// A time and the reason to wait for it in one word, so that a register takes eight bytes.
static inline uint64_t scoreboard_due(uint64_t when, uint8_t why) { return when << 8 | why; }
static inline uint64_t scoreboard_when(uint64_t due) { return due >> 8 == NEVER >> 8 ? NEVER : due >> 8; }
// When barrier b is down.
static inline uint64_t scoreboard_down(const scoreboard *b, uint32_t bar) {
    return b->open[bar] ? NEVER : b->ready[bar];
}

void scoreboard_reset(scoreboard *b, uint32_t places); // of a warp that starts
// The instruction's result is there at `ready`.
void scoreboard_result(scoreboard *b, const orr_program *p, const orr_tinst *i, uint64_t ready);
// It will be there when scoreboard_complete says so.
void scoreboard_expect(scoreboard *b, const orr_program *p, const orr_tinst *i, enum orr_stall why);
void scoreboard_complete(scoreboard *b, const orr_program *p, const orr_tinst *i, uint64_t ready);
// A memory instruction has read its operands at `when`, or will have when scoreboard_has_read says so.
void scoreboard_reads(scoreboard *b, const orr_program *p, const orr_tinst *i, uint64_t when);
void scoreboard_will_read(scoreboard *b, const orr_program *p, const orr_tinst *i);
void scoreboard_has_read(scoreboard *b, const orr_program *p, const orr_tinst *i, uint64_t when);
// A copy of a group is on its way; it is there.
static inline uint8_t scoreboard_copy(scoreboard *b) {
    uint8_t group = (uint8_t)(b->group % MAX_GROUPS);
    b->group_open[group]++;
    return group;
}
static inline void scoreboard_copied(scoreboard *b, uint8_t group, uint64_t ready) {
    b->group_open[group]--;
    b->group_ready[group] = latest(b->group_ready[group], ready);
}
// When all groups but the newest `left` are done.
uint64_t scoreboard_groups(const scoreboard *b, uint32_t left);
// When what the instruction depends on is there; `*why` is the reason if that is later than `t`, which is
// returned otherwise.
static inline uint64_t scoreboard_wait(const scoreboard *b, const orr_program *p, const orr_tinst *i,
                                       uint64_t t, uint8_t *why) {
    if (p->control) {
        for (uint32_t m = ORR_CTRL_WAIT(i->ctrl); m; m &= m - 1) {
            uint32_t bar = (uint32_t)orr_ffs(m);
            uint64_t at = scoreboard_down(b, bar);
            if (at <= t) continue;
            t = at;
            *why = b->why[bar];
        }
        return t;
    }
    const uint16_t *r = p->regs + i->regs;
    uint64_t last = scoreboard_due(t, *why);
    for (int n = i->nsrc + i->ndst; n > 0; n--, r++) last = b->reg[*r] >> 8 > last >> 8 ? b->reg[*r] : last;
    *why = (uint8_t)last;
    return scoreboard_when(last);
}

#endif
