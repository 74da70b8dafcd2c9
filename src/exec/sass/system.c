// What machine code finds around it: the driver's part of constant bank 0, special registers, and the
// functions of the device runtime.
//
// Constant bank 0 begins with what the driver fills in for each launch, then come the kernel's parameters.
// Where things are was read from the code that ptxas 13.0 makes of PTX's special registers, of cvta and
// isspacep, for each architecture (sm_70 is as sm_75, by ptxas 11.8):
//
//                        sm_75   sm_80 to 89  sm_90   sm_100, 120
//   blockDim (3 words)   0x0     0x0          0x0     0x360
//   gridDim (3 words)    0xc     0xc          0xc     0x370
//   window of shared     0x18    0x18         -       -            64 bits; else SR_SWINHI is its upper half
//   window of local      0x20    0x20         0x20    0x2f8        64 bits
//   top of the stack     0x28    0x28         0x28    0x37c        what R1 begins with
//   dynamic shared       0x2c    0x2c         0x2c    0x2ac
//   %gridid              0x30    0x30         0x30    0x140        64 bits
//   bank 0 itself        0x40    0x40         0xc0    -            generic address, for __grid_constant__
//   (sm_90's
//                                                                  was read from kernels of cuBLAS 13)
//   parameters           -       -            0x198   0x348        the same of the parameters
//   and their last byte  0x114   0x12c        0x1a0   0x350        (sm_75 to 89: 32 bits, offset in the bank)
//   __constant__ (c[3])  0x50    0x50         0xd0    0x120        generic address
//   %envreg0             0x88    0x88         0x40    0x250
//   %nsmid               0x10c   0x10c        0x10c   0x2d0
//   system's shared      -       0x114        0x114   0x16c        bytes of it in SR_SMEMSZ
//   its end, second part -       0x120        0x68    0x278        2 words
//   memory descriptor    -       0x118        0x208   0x358        64 bits, goes to desc[UR]
//   cluster: explicit    -       -            0x140   0x36c
//     its blocks x y z   -       -            0x144   0x2a0        3 words
//     1/x 1/y 1/z        -       -            0x150   0x2b0        3 floats
//     largest shared     -       -            0x13c   0x2bc
//     clusters x y z     -       -            0x15c   0x2c0        3 words
//     its blocks         -       -            0x188   0x2cc
//
// Shared memory of sm_90 and later begins with 1024 bytes of the system's, so that the kernel's own variables
// begin at 0x400; before, they are behind everything else. In bits 24 and up of a shared address is the
// block's rank in its cluster (SR_CgaCtaId).
#include <math.h>
#include <string.h>

#include "exec/sass/memory.h"

// ---- constant bank 0 ------------------------------------------------------------------------
typedef struct bank0 {
    uint8_t *at;
    uint32_t bytes;
} bank0;

static void put32(bank0 b, uint32_t offset, uint32_t value) {
    if (offset <= b.bytes && b.bytes - offset >= 4) memcpy(b.at + offset, &value, 4);
}
static void put64(bank0 b, uint32_t offset, uint64_t value) {
    put32(b, offset, (uint32_t)value);
    put32(b, offset + 4, (uint32_t)(value >> 32));
}
static void put3(bank0 b, uint32_t offset, const uint32_t v[3]) {
    for (uint32_t n = 0; n < 3; n++) put32(b, offset + 4 * n, v[n]);
}

// Shared memory of a block as the machine counts it, and where the system's part begins.
static uint32_t shared_size(const orr_launch *l, unsigned sm, uint32_t *system) {
    uint64_t own =
        ((uint64_t)l->kernel->shared_base + l->kernel->shared_bytes + 15) / 16 * 16 + l->dynamic_shared;
    *system = 0;
    if (sm >= 90) return (uint32_t)((own < RESERVED ? RESERVED : own) + 127) & ~127u;
    own = (own + 127) & ~127ull;
    *system = (uint32_t)own;
    return (uint32_t)own + (sm >= 80 ? RESERVED : 0);
}

// A constant of bank 0 between two offsets is among the instruction's operands.
static bool reads_bank0(const orr_code *c, int64_t from, int64_t to) {
    for (int a = 0; a < c->nargs; a++)
        if (c->args[a].kind == ORR_ARG_CONST && !c->args[a].bank && c->args[a].value >= from &&
            c->args[a].value < to)
            return true;
    return false;
}
void orr_sass_sizes(decoded *p) {
    const orr_kernel *k = p->kernel;
    unsigned sm = k->ninsts ? k->code.insts[0].sm : 90;
    bool system = false;
    for (uint32_t n = 0; sm >= 80 && sm < 90 && n < k->ninsts; n++) // 0x118: the memory descriptor
        system |=
            reads_bank0(&k->code.insts[n], 0x114, 0x118) || reads_bank0(&k->code.insts[n], 0x120, 0x128);
    if (system) p->shared_bytes = shared_size(p->launch, sm, &p->reserved_at);
}

static void put_cluster(bank0 b, const orr_launch *l, uint32_t shape, uint32_t inverse, uint32_t grid,
                        uint32_t rank) {
    uint32_t c[3], inv[3], n[3];
    for (int d = 0; d < 3; d++) {
        c[d] = l->cluster[d] ? l->cluster[d] : 1;
        float f =
            1.0f / (float)c[d]; // rounded up if not exact: block index times this, cut, is the cluster's
        if ((double)f * c[d] < 1) f = nextafterf(f, 2);
        memcpy(&inv[d], &f, 4);
        n[d] = l->grid[d] / c[d];
    }
    put3(b, shape, c);
    put3(b, inverse, inv);
    put3(b, grid, n);
    put32(b, rank, orr_cluster_size(l));
}

void orr_sass_bank0(uint8_t *bank, uint32_t bytes, unsigned sm, const orr_launch *l, uint32_t local_bytes) {
    bank0 b = {bank, bytes};
    const orr_kernel *k = l->kernel;
    uint32_t system, shared = shared_size(l, sm, &system), last = k->param_bytes ? k->param_bytes - 1 : 0;
    uint32_t stack = local_bytes & ~15u, sms = l->sm_count ? l->sm_count : 1, var = k->code.bank_var[3];
    uint64_t grid = (uint64_t)l->index + 1, constants = var && l->image ? l->image->var_addr[var - 1] : 0;
    uint32_t envreg = sm >= 100 ? 0x250 : sm >= 90 ? 0x40 : 0x88;
    put32(b, envreg + 4,
          (uint32_t)(l->workspace >> 32)); // as cooperative_groups finds it: %envreg1, %envreg2
    put32(b, envreg + 8, (uint32_t)l->workspace);
    if (sm >= 100) {
        put3(b, 0x360, l->block);
        put3(b, 0x370, l->grid);
        put64(b, 0x2f8, ORR_LOCAL_WINDOW);
        put32(b, 0x37c, stack);
        put32(b, 0x2ac, l->dynamic_shared);
        put64(b, 0x140, grid);
        put64(b, 0x348, ORR_PARAM_WINDOW);
        put64(b, 0x350, ORR_PARAM_WINDOW + last);
        put64(b, 0x120, constants);
        put32(b, 0x2d0, sms);
        put32(b, 0x16c, RESERVED);
        put32(b, 0x278, RESERVED);
        put32(b, 0x27c, RESERVED / 2);
        put32(b, 0x2bc, shared);
        put_cluster(b, l, 0x2a0, 0x2b0, 0x2c0, 0x2cc);
        return;
    }
    put3(b, 0x0, l->block);
    put3(b, 0xc, l->grid);
    put64(b, 0x20, ORR_LOCAL_WINDOW);
    put32(b, 0x28, stack);
    put32(b, 0x2c, l->dynamic_shared);
    put64(b, 0x30, grid);
    put32(b, 0x10c, sms);
    if (sm >= 90) {
        put64(b, 0xc0, ORR_PARAM_WINDOW - k->code.param_base);
        put64(b, 0x198, ORR_PARAM_WINDOW);
        put64(b, 0x1a0, ORR_PARAM_WINDOW + last);
        put64(b, 0xd0, constants);
        put32(b, 0x114, RESERVED);
        put32(b, 0x68, RESERVED);
        put32(b, 0x6c, RESERVED / 2);
        put32(b, 0x13c, shared);
        put32(b, 0x140, l->cluster[0] != 0); // %is_explicit_cluster
        put_cluster(b, l, 0x144, 0x150, 0x15c, 0x188);
        return;
    }
    put64(b, 0x18, ORR_SHARED_WINDOW);
    put64(b, 0x40, ORR_PARAM_WINDOW - k->code.param_base);
    put64(b, 0x50, constants);
    put32(b, sm >= 80 ? 0x12c : 0x114, k->code.param_base + last);
    if (sm < 80) return;
    put32(b, 0x114, RESERVED);
    put32(b, 0x120, system + RESERVED);
    put32(b, 0x124, system + RESERVED / 2);
}

// ---- special registers ------------------------------------------------------------------------
static int ptx_sreg(unsigned sr) {
    switch (sr) {
    case ORR_SV_SREG_LANEID: return ORR_SREG_LANEID;
    case ORR_SV_SREG_TID_X: return ORR_SREG_TID_X;
    case ORR_SV_SREG_TID_Y: return ORR_SREG_TID_Y;
    case ORR_SV_SREG_TID_Z: return ORR_SREG_TID_Z;
    case ORR_SV_SREG_CGACTAID: return ORR_SREG_CLUSTER_CTARANK;
    case ORR_SV_SREG_CTAID_X: return ORR_SREG_CTAID_X;
    case ORR_SV_SREG_CTAID_Y: return ORR_SREG_CTAID_Y;
    case ORR_SV_SREG_CTAID_Z: return ORR_SREG_CTAID_Z;
    case ORR_SV_SREG_EQMASK: return ORR_SREG_LANEMASK_EQ;
    case ORR_SV_SREG_LTMASK: return ORR_SREG_LANEMASK_LT;
    case ORR_SV_SREG_LEMASK: return ORR_SREG_LANEMASK_LE;
    case ORR_SV_SREG_GTMASK: return ORR_SREG_LANEMASK_GT;
    case ORR_SV_SREG_GEMASK: return ORR_SREG_LANEMASK_GE;
    case ORR_SV_SREG_VIRTUALSMID: return ORR_SREG_SMID;
    case ORR_SV_SREG_CLOCK:
    case ORR_SV_SREG_CLOCKLO: return ORR_SREG_CLOCK;
    case ORR_SV_SREG_CLOCKHI: return ORR_SREG_CLOCK_HI;
    case ORR_SV_SREG_GLOBALTIMERLO: return ORR_SREG_GLOBALTIMER_LO;
    case ORR_SV_SREG_GLOBALTIMERHI: return ORR_SREG_GLOBALTIMER_HI;
    default: return -1;
    }
}

// Special registers whose value is known when the launch begins.
static bool fixed_sreg(const translator *m, unsigned sr, uint32_t *v) {
    uint32_t system;
    *v = 0;
    switch (sr) {
    case ORR_SV_SREG_SWINHI: *v = (uint32_t)(ORR_SHARED_WINDOW >> 32); return true;
    case ORR_SV_SREG_LWINHI: *v = (uint32_t)(ORR_LOCAL_WINDOW >> 32); return true;
    case ORR_SV_SREG_SMEMSZ: *v = shared_size(m->p->launch, m->c->sm, &system); return true;
    case ORR_SV_SREG_VIRTCFG: *v = 64u << 8; return true; // %nwarpid is in bits 8 to 15
    case ORR_SV_SREG_SWINLO:
    case ORR_SV_SREG_LWINLO:
    case ORR_SV_SREG_LMEMHIOFF: // where the stack ends: -G code traps below it
    case ORR_SV_SREG_ZERO: return true;
    default:
        if (sr == 138 && m->c->sm >= 100)
            return true; // SR_CgaSize, which the code makes an index of bank 0 of
        return sr >= ORR_SV_SREG_PM0 && sr <= ORR_SV_SREG_SNAP_PM_HI7; // performance counters
    }
}

static void virtual_id(warp *w, const uop *u) { // %warpid is in bits 8 to 14
    uint32_t *d = DST(w, u, uint32_t), v = w->index << 8;
    for (uint32_t m = w->exec; m; m &= m - 1) d[orr_ffs(m)] = v;
}
static void packed_tid(warp *w, const uop *u) {
    uint32_t *d = DST(w, u, uint32_t);
    const uint32_t *t = w->tb->prog->tid + (size_t)w->index * 3 * ORR_WARP;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        d[i] = t[i] | t[ORR_WARP + i] << 16 | t[2 * ORR_WARP + i] << 26;
    }
}

// A word of special register sr to row d, for the active lanes.
static bool read_word(translator *m, oper d, unsigned sr) {
    int ptx = ptx_sreg(sr);
    uint32_t v;
    if (ptx >= 0)
        return m_ptx(m, (orr_inst){.op = ORR_OP_SREG, .type = ORR_T_U32, .imm = (uint32_t)ptx}, 1, 0,
                     OPERS(d));
    if (fixed_sreg(m, sr, &v))
        return m_ptx(m, (orr_inst){.op = ORR_OP_MOV, .type = ORR_T_B32}, 1, 1, OPERS(d, m_imm(m, ORR_W, v)));
    if (sr == ORR_SV_SREG_VIRTID)
        return m_emit(m, (handlers){virtual_id, virtual_id}, 1, 0, OPERS(d)) != NULL;
    if (sr == ORR_SV_SREG_TID) return m_emit(m, (handlers){packed_tid, packed_tid}, 1, 0, OPERS(d)) != NULL;
    return m_no(m, "this special register is not known");
}

static bool read_pair(translator *m, unsigned sr) {
    uint32_t v;
    bool clock = sr == ORR_SV_SREG_CLOCKLO || sr == ORR_SV_SREG_GLOBALTIMERLO;
    if (!clock && !fixed_sreg(m, sr, &v)) return m_no(m, "this special register is not known as 64 bits");
    oper row = m_imm(m, ORR_D, 0);
    if (clock) {
        row = m_tmp(m, ORR_D);
        orr_inst like = {.op = ORR_OP_SREG, .type = ORR_T_U64, .imm = ORR_SREG_CLOCK64};
        if (sr == ORR_SV_SREG_GLOBALTIMERLO) like.imm = ORR_SREG_GLOBALTIMER;
        if (!m_ptx(m, like, 1, 0, OPERS(row))) return false;
        m_active(m);
    }
    m_unpack(m, m_dst(m, 0, 0), m_dst(m, 0, 1), row);
    return true;
}

bool orr_sass_sreg(translator *m) {
    const orr_arg *a = &m->c->args[1];
    switch (m->c->op) {
    case ORR_SASS_S2R:
    case ORR_SASS_S2UR:
    case ORR_SASS_CS2R:
    case ORR_SASS_CS2UR: break;
    default: return false;
    }
    if (m->c->nargs < 2 || a->kind != ORR_ARG_SREG) return m_no(m, "it names no special register");
    unsigned sr = (unsigned)a->value;
    bool uniform = m_is(m, 0, ORR_ARG_UR);
    if ((m->c->op == ORR_SASS_CS2R || m->c->op == ORR_SASS_CS2UR) && !m_mod(m, ORR_SM_CS32)) {
        if (uniform) return m_no(m, "CS2UR of 64 bits is not executed");
        return read_pair(m, sr);
    }
    if (!uniform) return read_word(m, m_dst(m, 0, 0), sr);
    oper each = m_tmp(m, ORR_W);
    if (!read_word(m, each, sr)) return false;
    m_active(m);
    m_spread(m, m_dst(m, 0, 0), each);
    return true;
}

// ---- the device runtime -------------------------------------------------------------------------
// The calling convention as ptxas has it: arguments from R4 on, of 64 bits in even pairs, and the result in
// R4. The return address is in R20 and R21.
static uint32_t *reg(const warp *w, unsigned n) {
    return (uint32_t *)(void *)(w->bank[BANK_W] + n * reg_bytes(ORR_W));
}

bool orr_sass_syscall(warp *w, const uop *u, uint32_t lanes, unsigned which) {
    for (uint32_t m = lanes; m && !w->tb->faulted; m &= m - 1) {
        int lane = orr_ffs(m);
        uint32_t arg[ORR_SYSCALL_WORDS], bytes = orr_syscall_result(which);
        for (unsigned i = 0; i < ORR_SYSCALL_WORDS; i++) arg[i] = reg(w, 4 + i)[lane];
        uint64_t v = orr_system_call(w, u, lane, which, arg);
        if (bytes >= 4) reg(w, 4)[lane] = (uint32_t)v;
        if (bytes == 8) reg(w, 5)[lane] = (uint32_t)(v >> 32);
    }
    return !w->tb->faulted;
}
