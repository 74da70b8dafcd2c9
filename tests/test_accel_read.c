// Reading Accel-Sim's traces. What a line means is the tracer's documentation and source put in words in
// docs/guides/accel-sim.md; addresses, counts and registers here are worked out by hand from that.
#include "accel_rig.h"
#include "model/model.h"

#include <math.h>

static void no_close(orr_source *s) { (void)s; }

typedef struct opened {
    orr_source *s;
    events ev;
} opened;

static opened open_text(const char *text) {
    orr_err e = {0};
    opened o = {.s = orr_accel_from_text(text, strlen(text), "t", &e)};
    if (!o.s) fail_msg("%s", e.text);
    if (collect(o.s, &o.ev, &e) != 0) fail_msg("%s", e.text);
    return o;
}

static void shut(opened *o) {
    free(o->ev.list.at);
    o->s->close(o->s);
}

static const char *name_of(const opened *o, const event *v) {
    return o->s->info.kernel->names[v->inst->name];
}

// ---- header -------------------------------------------------------------------------------------
static void header(void **state) {
    (void)state;
    static const char text[] =
        "-kernel name = _Z6matmulPKfS0_Pfi\n-kernel id = 7\n-grid dim = ( 2 , 1, 1 )\n-block dim = 16,3, 1\n"
        "-shmem = 2048\n-nregs = 40\n-binary version = 90\n-cuda stream id = 12\n-something new = 5\n"
        "-accelsim tracer version = 5\n-enable lineinfo = 0\n\n#traces format = x\n\n\n"
        "#BEGIN_TB\nthread block = 0,0,0\nwarp = 1\ninsts = 1\n0000 0000ffff 0 EXIT 0 0 0 \n"
        "\nwarp = 0\ninsts = 2\n0000 ffffffff 0 NOP 0 0 0 \n\n0010 ffffffff 0 EXIT 0 0 0 \n#END_TB\n"
        "#BEGIN_TB\nthread block = 1,0,0\nwarp = 0\ninsts = 0\nwarp = 1\ninsts = 1\n"
        "0000 0000ffff 0 EXIT 0 0 0\n#END_TB"; // no newline at the end, and none of the usual blanks
    opened o = open_text(text);
    const orr_launch_info *i = &o.s->info;
    const orr_kernel *k = i->kernel;
    assert_string_equal(k->name, "_Z6matmulPKfS0_Pfi");
    assert_int_equal(i->grid[0], 2);
    assert_int_equal(i->block[0], 16);
    assert_int_equal(i->block[1], 3);
    assert_int_equal(i->dynamic_shared, 0);
    assert_int_equal(k->shared_bytes, 2048);
    assert_int_equal(k->regs, 40);
    assert_int_equal(k->module->target, 90);
    assert_string_equal(k->module->source, "sass");
    assert_true(k->machine && k->grows && !k->control);
    assert_int_equal(o.ev.blocks, 2);
    assert_int_equal(o.ev.list.n, 4); // 2 + 1 of block 0, 0 + 1 of block 1
    assert_int_equal(o.ev.list.at[0].warp, 0);
    assert_int_equal(o.ev.list.at[0].inst->sass, ORR_SASS_NOP);
    assert_int_equal(o.ev.list.at[1].inst->line, 0x10);
    assert_int_equal(o.ev.list.at[2].warp, 1);
    assert_int_equal(o.ev.list.at[2].mask, 0xffff);
    assert_int_equal(o.ev.list.at[3].block, 1);
    shut(&o);
}

// The format line may be missing; registers that cannot be are replaced; the name is the file's when there is
// none.
static void header_gaps(void **state) {
    (void)state;
    opened o = open_text("-grid dim = (1,1,1)\n-block dim = (1,1,1)\n-nregs = 21955\n"
                         "-accelsim tracer version = 5\n" ONE(1, "0000 00000001 0 EXIT 0 0 0 \n"));
    assert_int_equal(o.s->info.kernel->regs, 32);
    assert_int_equal(o.s->info.kernel->shared_bytes, 0);
    assert_string_equal(o.s->info.kernel->name, "t");
    assert_int_equal(o.ev.list.n, 1);
    shut(&o);
}

// ---- addresses ----------------------------------------------------------------------------------
static void check_lanes(const event *v, uint32_t mask, const uint64_t *want) { // want: by active lane
    assert_true(v->mem);
    assert_int_equal(v->a.mask, mask);
    for (uint32_t m = mask; m; m &= m - 1) {
        int lane = orr_ffs(m);
        if (v->a.addr[lane] != *want)
            fail_msg("lane %d: %llx, not %llx", lane, (unsigned long long)v->a.addr[lane],
                     (unsigned long long)*want);
        want++;
    }
}

static void address_forms(void **state) {
    (void)state;
    // lanes 4..7 at 0x1000, 0x1010, ...; in each of the three ways
    opened o = open_text(HEAD(V5) ONE(
        11, "0000 000000f0 1 R2 LDG.E 1 R4 4 1 0x1000 16 0 \n"
            "0010 000000f0 1 R2 LDG.E 1 R4 4 0 0x0000000000001000 0x0000000000001010 0x1020 0x1030 0 \n"
            "0020 000000f0 1 R2 LDG.E 1 R4 4 2 0x1000 16 16 16 0 \n"
            "0030 000000f0 1 R2 LDG.E 1 R4 4 1 0x1000 -16 0 \n"
            "0040 80000001 1 R2 LDG.E 1 R4 4 2 0x7f5803869ed0 -43470720 0 \n"
            "0050 00000400 1 R2 LDG.E 1 R4 4 2 0x20 0 \n"    // one lane: no difference, then the immediate
            "0060 00000400 1 R2 LDG.E 1 R4 4 2 0x20\n"       // the same without an immediate
            "0070 00000000 1 R2 LDG.E 1 R4 4 1 0x0 0 0 \n"   // nobody
            "0080 80000001 1 R2 LDG.E 1 R4 4 1 0x100 8 0 \n" // a gap: from active lane to active lane
            "0090 0000000f 1 R2 LDG.E 1 R4 4 2 0xffffffffffffffff 1 -1 2 0 \n"
            "00a0 ffffffff 0 EXIT 0 0 0 \n"));
    const event *v = o.ev.list.at;
    assert_int_equal(o.ev.list.n, 11);
    check_lanes(&v[0], 0xf0, (uint64_t[]){0x1000, 0x1010, 0x1020, 0x1030});
    check_lanes(&v[1], 0xf0, (uint64_t[]){0x1000, 0x1010, 0x1020, 0x1030});
    check_lanes(&v[2], 0xf0, (uint64_t[]){0x1000, 0x1010, 0x1020, 0x1030});
    check_lanes(&v[3], 0xf0, (uint64_t[]){0x1000, 0xff0, 0xfe0, 0xfd0});
    check_lanes(&v[4], 0x80000001, (uint64_t[]){0x7f5803869ed0, 0x7f5803869ed0 - 43470720});
    check_lanes(&v[5], 0x400, (uint64_t[]){0x20});
    check_lanes(&v[6], 0x400, (uint64_t[]){0x20});
    check_lanes(&v[7], 0, NULL);
    check_lanes(&v[8], 0x80000001, (uint64_t[]){0x100, 0x108});
    check_lanes(&v[9], 0xf, (uint64_t[]){UINT64_MAX, 0, UINT64_MAX, 1});
    shut(&o);
}

// The header of these traces: shared memory from 7f0000000000, local memory from 7f0002000000.
static void spaces(void **state) {
    (void)state;
    opened o = open_text(HEAD(V5) ONE(
        10, "0000 00000001 1 R2 LD.E 1 R4 4 1 0x7f0000000040 0 0 \n"
            "0010 00000001 1 R2 LD.E 1 R4 4 1 0x7f0002000010 0 0 \n"
            "0020 00000003 1 R2 LD.E 1 R4 4 2 0x7e0000000000 1099511627776 0 \n" // lane 1: shared
            "0030 00000001 1 R2 LDS 1 R4 4 1 0x80 0 0 \n"
            "0040 00000001 1 R2 LDS 1 R4 4 1 0x7f0000000080 0 0 \n" // by its window
            "0050 00000003 0 STL 2 R4 R5 4 1 0xfffcb0 0 0 \n"
            "0060 00000001 1 R2 LDC 1 R4 4 1 0x160 0 0 \n"
            "0070 00000001 1 R2 LDC 1 R4 0 0 \n"                     // a constant load without an address
            "0080 00000003 0 ST.E 2 R4 R5 4 1 0x100000000000 4 0 \n" // global, where our windows are
            "0090 00000001 0 EXIT 0 0 0 \n"));
    const event *v = o.ev.list.at;
    static const uint8_t space[] = {ORR_SPACE_GENERIC, ORR_SPACE_GENERIC, ORR_SPACE_GENERIC, ORR_SPACE_SHARED,
                                    ORR_SPACE_SHARED,  ORR_SPACE_LOCAL,   ORR_SPACE_CONST};
    for (int i = 0; i < 7; i++) assert_int_equal(v[i].inst->space, space[i]);
    check_lanes(&v[0], 1, (uint64_t[]){ORR_SHARED_WINDOW + 0x40});
    check_lanes(&v[1], 1, (uint64_t[]){ORR_LOCAL_WINDOW + 0x10});
    check_lanes(&v[2], 3, (uint64_t[]){0x7e0000000000, ORR_SHARED_WINDOW});
    check_lanes(&v[3], 1, (uint64_t[]){0x80});
    check_lanes(&v[4], 1, (uint64_t[]){0x80});
    check_lanes(&v[5], 3, (uint64_t[]){0xfffcb0, 0xfffcb0});
    check_lanes(&v[6], 1, (uint64_t[]){0x160});
    assert_false(v[7].mem);
    assert_int_equal(v[7].inst->tclass, ORR_TC_CONST);
    assert_int_equal(v[7].inst->tkind, ORR_TK_ALU);
    assert_true(v[8].a.addr[0] - ORR_SHARED_WINDOW >= ORR_WINDOW_BYTES); // not mistaken for shared memory
    assert_int_equal(v[8].a.addr[1] - v[8].a.addr[0], 4);
    shut(&o);
    // Without bases everything generic is global.
    o = open_text("-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-nregs = 8\n" V5
                  "#x\n" ONE(1, "0000 00000001 1 R2 LD.E 1 R4 4 1 0x40 0 0 \n"));
    check_lanes(&o.ev.list.at[0], 1, (uint64_t[]){0x40});
    shut(&o);
}

// ---- tracer versions ----------------------------------------------------------------------------
static void versions(void **state) {
    (void)state;
    static const char *const same[] = {
        HEAD(V5) ONE(1, "00a0 ffffffff 1 R12 LDG.E.128.SYS 1 R2 16 1 0x7f580face400 16 0 \n"),
        HEAD("-accelsim tracer version = 3\n")
            ONE(1, "00a0 ffffffff 1 R12 LDG.E.128.SYS 1 R2 16 1 0x7f580face400 16 \n"),
        HEAD("-accelsim tracer version = 1.2\n")
            ONE(1, "0 0 0 0 00a0 ffffffff 1 R12 LDG.E.128.SYS 1 R2 16 1 0x7f580face400 16 \n"),
        HEAD("") ONE(1, "0 0 0 0 00a0 ffffffff 1 R12 LDG.E.128.SYS 1 R2 16 1 0x7f580face400 16 \n"),
        HEAD("") ONE(1, "00a0 ffffffff 1 R12 LDG.E.128.SYS 1 R2 16 1 0x7f580face400 16 \n"),
        HEAD("-accelsim tracer version = 4\n-enable lineinfo = 1\n")
            ONE(1, "42 00a0 ffffffff 1 R12 LDG.E.128.SYS 1 R2 16 1 0x7f580face400 16 \n"),
        HEAD("-enable lineinfo = 1\n")
            ONE(1, "42 00a0 ffffffff 1 R12 LDG.E.128.SYS 1 R2 16 1 0x7f580face400 16 \n"),
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        opened o = open_text(same[i]);
        assert_int_equal(o.ev.list.n, 1);
        const event *v = o.ev.list.at;
        assert_int_equal(v->inst->line, 0xa0);
        assert_int_equal(v->inst->source.line, i < 5 ? 0 : 42);
        assert_int_equal(v->mask, 0xffffffff);
        assert_string_equal(name_of(&o, v), "LDG.E.128.SYS");
        for (int l = 0; l < 32; l++) assert_true(v->a.addr[l] == 0x7f580face400 + 16 * (uint64_t)l);
        shut(&o);
    }
}

// ---- instructions -------------------------------------------------------------------------------
typedef struct sample {
    const char *text; // after the mask
    uint16_t sass, op;
    uint8_t space, bytes, kind;
    int ndst, nsrc;
    int regs[16]; // destinations, sources
} sample;

static void instructions(void **state) {
    (void)state;
    enum { G = ORR_SPACE_GLOBAL, S = ORR_SPACE_SHARED, GEN = ORR_SPACE_GENERIC, NO = ORR_SPACE_NONE };
#define I(sass, op) ORR_SASS_##sass, ORR_OP_##op
#define MEM         ORR_TK_MEM
#define ALU         ORR_TK_ALU
    static const sample samples[] = {
        // loads: as many registers as bytes; a 64-bit address (.E) is two
        {"1 R8 LDG.E.SYS 1 R2 4 1 0x0 4 0", I(LDG, LD), G, 4, MEM, 1, 2, {8, 2, 3}},
        {"1 R8 LDG.E.64 1 R2 8 1 0x0 8 0", I(LDG, LD), G, 8, MEM, 2, 2, {8, 9, 2, 3}},
        {"1 R8 LDG.E.LTC128B.128.CONSTANT 1 R2 16 1 0x0 16 0",
         I(LDG, LD),
         G,
         16,
         MEM,
         4,
         2,
         {8, 9, 10, 11, 2, 3}},
        {"1 R8 LDG.E.U8 1 R2 1 1 0x0 1 0", I(LDG, LD), G, 1, MEM, 1, 2, {8, 2, 3}},
        {"1 R8 LDG.E.S16 1 R2 2 1 0x0 2 0", I(LDG, LD), G, 2, MEM, 1, 2, {8, 2, 3}},
        {"1 R255 LDG.E 1 R255 4 1 0x0 2 0", I(LDG, LD), G, 4, MEM, 0, 0, {0}},
        {"1 R12 LDS.U.128 1 R25 16 1 0x0 16 0", I(LDS, LD), S, 16, MEM, 4, 1, {12, 13, 14, 15, 25}},
        {"1 R4 LDSM.16.M88.4 1 R25 16 1 0x0 16 0", I(LDSM, LDMATRIX), S, 16, MEM, 4, 1, {4, 5, 6, 7, 25}},
        {"1 R4 LDSM.16.M88 1 R25 16 1 0x0 16 0", I(LDSM, LDMATRIX), S, 16, MEM, 1, 1, {4, 25}},
        // stores: address, then data
        {"0 STG.E.128 2 R8 R12 16 1 0x0 16 0", I(STG, ST), G, 16, MEM, 0, 6, {8, 9, 12, 13, 14, 15}},
        {"0 STG.E 1 R12 4 1 0x0 4 0", I(STG, ST), G, 4, MEM, 0, 1, {12}}, // [UR4], R12
        {"0 STG.E 2 R8 R255 4 1 0x0 4 0", I(STG, ST), G, 4, MEM, 0, 2, {8, 9}},
        {"0 STS.64 2 R24 R10 8 1 0x0 8 0", I(STS, ST), S, 8, MEM, 0, 3, {24, 10, 11}},
        {"0 ST.E 2 R24 R10 4 1 0x0 8 0", I(ST, ST), GEN, 4, MEM, 0, 3, {24, 25, 10}},
        {"0 LDGSTS.E.BYPASS.128 2 R7 R2 16 1 0x0 16 0", I(LDGSTS, CPASYNC), G, 16, MEM, 0, 3, {7, 2, 3}},
        // atomics: the predicate that may be operand 0 hides the destination
        {"1 R3 ATOMG.E.ADD.STRONG.GPU 2 R2 R5 4 1 0x0 0 0", I(ATOMG, ATOM), G, 4, MEM, 1, 3, {3, 2, 3, 5}},
        {"0 ATOMG.E.ADD.STRONG.GPU 3 R9 R2 R5 4 1 0x0 0 0", I(ATOMG, ATOM), G, 4, MEM, 1, 3, {9, 2, 3, 5}},
        {"0 ATOMG.E.CAS.64.STRONG.GPU 4 R8 R2 R4 R6 8 1 0x0 0 0",
         I(ATOMG, ATOM),
         G,
         8,
         MEM,
         2,
         6,
         {8, 9, 2, 3, 4, 5, 6, 7}},
        {"0 RED.E.ADD.STRONG.GPU 2 R14 R16 4 1 0x0 0 0", I(RED, RED), GEN, 4, MEM, 0, 3, {14, 15, 16}},
        {"1 R255 ATOMS.ADD 2 R2 R5 4 1 0x0 0 0", I(ATOMS, ATOM), S, 4, MEM, 0, 2, {2, 5}},
        // arithmetic
        {"1 R7 FFMA 3 R2 R7 R255 0 0", I(FFMA, FMA), NO, 0, ALU, 1, 2, {7, 2, 7}},
        {"1 R2 IMAD.WIDE 2 R4 R5 0 0", I(IMAD, MAD), NO, 0, ALU, 2, 2, {2, 3, 4, 5}},
        {"1 R2 IMAD.WIDE.U32 3 R4 R5 R6 0 0", I(IMAD, MAD), NO, 0, ALU, 2, 4, {2, 3, 4, 5, 6, 7}},
        {"1 R2 IMAD 3 R4 R5 R6 0 0", I(IMAD, MAD), NO, 0, ALU, 1, 3, {2, 4, 5, 6}},
        {"1 R2 DFMA 3 R4 R6 R8 0 0", I(DFMA, FMA), NO, 0, ALU, 2, 6, {2, 3, 4, 5, 6, 7, 8, 9}},
        {"0 DSETP.GT.AND 2 R4 R6 0 0", I(DSETP, SETP), NO, 0, ALU, 0, 4, {4, 5, 6, 7}},
        {"1 R2 F2F.F64.F32 1 R4 0 0", I(F2F, CVT), NO, 0, ALU, 2, 1, {2, 3, 4}},
        {"1 R2 F2F.F32.F64 1 R4 0 0", I(F2F, CVT), NO, 0, ALU, 1, 2, {2, 4, 5}},
        {"1 R2 I2F.F64.S64 1 R4 0 0", I(I2F, CVT), NO, 0, ALU, 2, 2, {2, 3, 4, 5}},
        {"1 R2 CS2R 0 0 0", I(CS2R, SREG), NO, 0, ALU, 2, 0, {2, 3}},
        {"1 R2 CS2R.32 0 0 0", I(CS2R, SREG), NO, 0, ALU, 1, 0, {2}},
        {"0 SHFL.DOWN 2 R5 R4 0 16", I(SHFL, SHFL), NO, 0, ALU, 1, 1, {5, 4}},
        {"1 R4 HMMA.16816.F32 3 R8 R12 R4 0 0",
         I(HMMA, MMA),
         NO,
         0,
         ALU,
         4,
         10,
         {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 4, 5, 6, 7}},
        {"1 R4 HMMA.1688.F16 3 R8 R12 R4 0 0", I(HMMA, MMA), NO, 0, ALU, 2, 5, {4, 5, 8, 9, 12, 4, 5}},
        {"1 R4 IMMA.16816.S8.S8 3 R8 R12 R4 0 0",
         I(IMMA, MMA),
         NO,
         0,
         ALU,
         4,
         7,
         {4, 5, 6, 7, 8, 9, 12, 4, 5, 6, 7}},
        // what the core does with them
        {"0 DEPBAR.LE 0 0 2", I(DEPBAR, CPWAIT), NO, 0, ORR_TK_WAIT_GROUP, 0, 0, {0}},
        {"0 LDGDEPBAR 0 0 0", I(LDGDEPBAR, CPCOMMIT), NO, 0, ORR_TK_GROUP, 0, 0, {0}},
        {"0 MEMBAR.SC.GPU 0 0 0", I(MEMBAR, MEMBAR), NO, 0, ORR_TK_FENCE, 0, 0, {0}},
        {"0 BAR.SYNC 0 0 0", I(BAR, BAR), NO, 0, ORR_TK_BARRIER, 0, 0, {0}},
        {"0 BRA 0 0 528", I(BRA, BRX), NO, 0, ORR_TK_BRANCH, 0, 0, {0}},
        {"0 EXIT 0 0 0", I(EXIT, EXIT), NO, 0, ORR_TK_EXIT, 0, 0, {0}},
        // addresses that nobody wants, and names that nobody knows
        {"0 CCTL.IVALL 1 R2 4 1 0x0 0 0", I(CCTL, NOP), NO, 0, ALU, 0, 1, {2}},
        {"1 R2 FZZZ.NEW 1 R4 0 0", I(NONE, NOP), NO, 0, ALU, 1, 1, {2, 4}},
        {"1 R2 LDX.64 1 R4 8 1 0x0 0 0", I(NONE, LD), GEN, 8, MEM, 2, 1, {2, 3, 4}},
        {"1 R253 LDG.128 1 R4 16 1 0x0 0 0", I(LDG, LD), G, 16, MEM, 2, 1, {253, 254, 4}},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const sample *s = &samples[i];
        char text[2000];
        snprintf(text, sizeof text, HEAD(V5) ONE(1, "0040 ffffffff %s \n"), s->text);
        opened o = open_text(text);
        const event *v = o.ev.list.at;
        const orr_inst *in = v->inst;
        assert_int_equal(o.ev.list.n, 1);
        if (in->sass != s->sass || in->op != s->op || in->space != s->space || in->tkind != s->kind ||
            in->width * in->vec != s->bytes || in->ndst != s->ndst || in->nsrc != s->nsrc)
            fail_msg("%s: sass %d op %d space %d kind %d bytes %d registers %d <- %d", s->text, in->sass,
                     in->op, in->space, in->tkind, in->width * in->vec, in->ndst, in->nsrc);
        for (int r = 0; r < s->ndst + s->nsrc; r++) {
            const orr_operand *op = &o.s->info.kernel->operands[in->first + (uint32_t)r];
            assert_int_equal(op->kind, ORR_K_REG);
            assert_int_equal(op->cls, ORR_W);
            if ((int)op->reg != s->regs[r]) fail_msg("%s: register %d is R%u", s->text, r, op->reg);
        }
        if (s->sass == ORR_SASS_DEPBAR) assert_int_equal(in->imm, 2);
        shut(&o);
    }
}

static void cache_operators(void **state) {
    (void)state;
    opened o = open_text(HEAD(V5) ONE(4, "0000 00000001 1 R2 LDG.E.STRONG.GPU 1 R4 4 1 0x40 0 0 \n"
                                         "0010 00000001 1 R2 LDG.E.EF 1 R4 4 1 0x40 0 0 \n"
                                         "0020 00000001 1 R2 LDG.E.CONSTANT.SYS 1 R4 4 1 0x40 0 0 \n"
                                         "0030 00000001 1 R2 LDG.E.STRONG.SM 1 R4 4 1 0x40 0 0 \n"));
    assert_true(o.ev.list.at[0].inst->mods & ORR_M_VOLATILE);
    assert_int_equal(o.ev.list.at[1].inst->cache, ORR_CACHE_CS);
    assert_true(o.ev.list.at[2].inst->mods & ORR_M_NC);
    assert_false(o.ev.list.at[2].inst->mods & ORR_M_VOLATILE);
    assert_false(o.ev.list.at[3].inst->mods & ORR_M_VOLATILE);
    shut(&o);
}

// ---- blocks -------------------------------------------------------------------------------------
static void blocks_of_code(void **state) {
    (void)state;
    orr_text t = {0};
    orr_text_add(&t, "%s",
                 "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (128,1,1)\n-nregs = 8\n" V5 "#x\n");
    orr_text_add(&t, "#BEGIN_TB\nthread block = 0,0,0\n");
    for (int w = 0; w < 4; w++)
        orr_text_add(
            &t,
            "warp = %d\ninsts = 9\n0000 ffffffff 0 NOP 0 0 0 \n0010 ffffffff 0 NOP 0 0 0 \n" // block 0
            "0020 0000000%d 0 NOP 0 0 0 \n"                                                  // block 1
            "0030 ffffffff 0 BRA 0 0 0 \n"                                                   // block 2
            "0000 ffffffff 0 NOP 0 0 0 \n0010 ffffffff 0 NOP 0 0 0 \n"                       // block 0
            "0020 00000001 0 NOP 0 0 0 \n0040 00000001 0 BAR.SYNC 0 0 0 \n"                  // block 3
            "0050 00000001 0 EXIT 0 0 0 \n",                                                 // block 4
            w, w + 1);
    orr_text_add(&t, "#END_TB\n");
    opened o = open_text(t.s);
    const orr_kernel *k = o.s->info.kernel;
    static const uint32_t code[] = {0, 0, 1, 2, 0, 0, 3, 3, 4}, count[] = {2, 1, 1, 2, 1};
    assert_int_equal(k->nblocks, 5);
    assert_int_equal(k->ninsts, 7);
    for (int b = 0; b < 5; b++) assert_int_equal(k->blocks[b].count, count[b]);
    assert_int_equal(o.ev.list.n, 4 * 9);
    for (size_t i = 0; i < o.ev.list.n; i++) {
        assert_int_equal(o.ev.list.at[i].code, code[i % 9]);
        if (i % 9 == 2) assert_int_equal(o.ev.list.at[i].mask, i / 9 + 1);
    }
    shut(&o);
    free(t.s);
}

static void long_blocks_are_cut(void **state) {
    (void)state;
    orr_text t = {0};
    orr_text_add(&t, "%s", HEAD(V5) "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 1000\n");
    for (int i = 0; i < 1000; i++)
        orr_text_add(&t, "%04x ffffffff 1 R%d MOV 0 0 0 \n", i % 100 * 16, i % 100);
    orr_text_add(&t, "#END_TB\n");
    opened o = open_text(t.s);
    assert_int_equal(o.ev.list.n, 1000);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(o.ev.list.at[i].inst->line, i % 100 * 16);
        assert_true(o.s->info.kernel->blocks[o.ev.list.at[i].code].count <= 64);
    }
    shut(&o);
    free(t.s);
}

// ---- what is read is what was written -----------------------------------------------------------
// A random program of loops and parting lanes, written down as it is made up. Repeated often enough for every
// short way through the text; in blank-rich and in plain form; larger than one piece of input.
typedef struct maker {
    orr_text t;
    ORR_VEC(event) want;
    ORR_VEC(uint32_t) pc;
    uint64_t seed;
    bool untidy;
} maker;

static uint32_t rnd(maker *m, uint32_t n) {
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->seed >> 33) % n;
}

static void make_access(maker *m, uint32_t mask, int kind, event *v, orr_text *line) {
    uint64_t base = kind == 2 ? rnd(m, 1000) * 4 : 0x7f5800000000 + rnd(m, 1 << 20) * 4, at = base;
    int mode = (int)rnd(m, 3), odd = (int)rnd(m, 3);
    int64_t stride = (int64_t)rnd(m, 9) * 4 - 16;
    bool first = true;
    v->a.mask = mask;
    if (!mask) {
        orr_text_add(line, "1 0x0 0 ");
        return;
    }
    orr_text_add(line, "%d ", mode);
    if (mode) orr_text_add(line, "0x%llx ", (unsigned long long)base);
    if (mode == 1) orr_text_add(line, "%lld ", (long long)stride);
    for (uint32_t left = mask; left; left &= left - 1) {
        int lane = orr_ffs(left);
        int64_t step = mode == 1   ? stride
                       : odd == 0  ? (int64_t)rnd(m, 1u << 30) - (1 << 29)
                       : lane % 16 ? 4
                                   : 964;
        if (!first) at += (uint64_t)step;
        if (mode == 2 && !first) orr_text_add(line, "%lld ", (long long)step);
        if (mode == 0) orr_text_add(line, "0x%016llx ", (unsigned long long)at);
        v->a.addr[lane] = at;
        first = false;
    }
}

static void make_line(maker *m, uint32_t pc, uint32_t mask) {
    event *v = ORR_PUSH(&m->want);
    *v = (event){.mask = mask};
    *ORR_PUSH(&m->pc) = pc;
    int kind = (int)(pc / 16 * 7 % 5); // of the instruction: fixed by its place
    orr_text_add(&m->t, "%04x %08x ", pc, mask);
    if (m->untidy && !rnd(m, 4)) orr_text_add(&m->t, "  ");
    if (kind == 0 || kind == 3) {
        orr_text_add(&m->t, "1 R%u FFMA 2 R%u R255 0 %u ", pc / 16 % 200, pc / 16 % 100, pc);
    } else if (kind == 4) {
        orr_text_add(&m->t, "0 %s 0 0 0 ", pc % 160 == 64 ? "BAR.SYNC" : "BRA");
    } else {
        v->mem = true;
        orr_text_add(&m->t, kind == 1 ? "1 R4 LDG.E.SYS 1 R2 4 " : "0 STS 2 R4 R6 4 ");
        make_access(m, mask, kind, v, &m->t);
        orr_text_add(&m->t, "0 ");
    }
    if (m->untidy && !rnd(m, 50)) orr_text_add(&m->t, "\n");
    orr_text_add(&m->t, "\n");
}

static void make_warp(maker *m, uint32_t w) {
    orr_text body = m->t;
    m->t = (orr_text){0};
    size_t before = m->want.n;
    uint32_t mask = 0xffffffff, trips = rnd(m, 3) ? 4 : rnd(m, 8), split = rnd(m, 4);
    for (uint32_t pc = 0; pc < 20 * 16; pc += 16) make_line(m, pc, mask);
    for (uint32_t i = 0; i < trips; i++) {
        for (uint32_t pc = 320; pc < 45 * 16; pc += 16) make_line(m, pc, mask);
        uint32_t part = split == 0 ? (uint32_t)(m->seed >> 20) : split == 1 ? 0xffff : split == 2 ? 0 : mask;
        for (uint32_t pc = 45 * 16; pc < 52 * 16; pc += 16) make_line(m, pc, part);
    }
    orr_text_add(&body, "%swarp = %u\ninsts = %zu\n", m->untidy ? "\n \n" : "\n", w, m->want.n - before);
    orr_text_addn(&body, m->t.s ? m->t.s : "", m->t.n);
    free(m->t.s);
    m->t = body;
}

static void random_traces(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        maker m = {.seed = seed, .untidy = seed % 2};
        enum { BLOCKS = 60, WARPS = 4 };
        orr_text_add(&m.t,
                     "-kernel name = k\n-grid dim = (%d,1,1)\n-block dim = (%d,1,1)\n-nregs = 8\n%s#x\n",
                     BLOCKS, WARPS * 32, V5);
        for (uint32_t b = 0; b < BLOCKS; b++) {
            orr_text_add(&m.t, "\n#BEGIN_TB\n\nthread block = %u,0,0\n", b);
            for (uint32_t w = 0; w < WARPS; w++) make_warp(&m, w);
            orr_text_add(&m.t, "\n#END_TB\n");
        }
        assert_true(m.t.n > 3 << 20); // more than the reader holds at once
        opened o = open_text(m.t.s);
        assert_int_equal(o.ev.blocks, BLOCKS);
        assert_int_equal(o.ev.list.n, m.want.n);
        for (size_t i = 0; i < m.want.n; i++) {
            const event *v = &o.ev.list.at[i], *w = &m.want.at[i];
            if (v->inst->line != m.pc.at[i] || v->mask != w->mask || v->mem != w->mem)
                fail_msg("seed %d, instruction %zu: PC %x mask %x, not %x %x", (int)seed, i, v->inst->line,
                         v->mask, m.pc.at[i], w->mask);
            if (!v->mem) continue;
            assert_int_equal(v->a.mask, w->a.mask);
            for (uint32_t left = w->a.mask; left; left &= left - 1)
                assert_true(v->a.addr[orr_ffs(left)] == w->a.addr[orr_ffs(left)]);
        }
        shut(&o);
        free(m.t.s);
        free(m.want.at);
        free(m.pc.at);
    }
}

// ---- counts -------------------------------------------------------------------------------------
// saxpy of 4096 blocks of 256 threads as Accel-Sim counts it (its own output): 458752 warp and 13631488
// thread instructions, 262144 sectors read and 131072 written.
static void counts_of_saxpy(void **state) {
    (void)state;
    orr_text t = {0};
    orr_text_add(
        &t, "-kernel name = saxpy\n-grid dim = (4096,1,1)\n-block dim = (256,1,1)\n-nregs = 16\n%s#x\n", V5);
    for (unsigned b = 0; b < 4096; b++) {
        orr_text_add(&t, "\n#BEGIN_TB\n\nthread block = %u,0,0\n", b);
        for (unsigned w = 0; w < 8; w++) {
            unsigned long long at = (b * 256ull + w * 32) * 4, x = 0x7f5800000000 + at,
                               y = 0x7f5801000000 + at;
            orr_text_add(&t, "\nwarp = %u\ninsts = 14\n", w);
            orr_text_add(&t, "%s",
                         "0000 ffffffff 1 R1 MOV 0 0 0 \n0010 ffffffff 1 R4 S2R 0 0 0 \n"
                         "0020 ffffffff 1 R3 S2R 0 0 0 \n0030 ffffffff 1 R4 IMAD 2 R4 R3 0 0 \n"
                         "0040 ffffffff 0 ISETP.GE.AND 1 R4 0 1048576 \n0050 00000000 0 EXIT 0 0 0 \n"
                         "0060 ffffffff 1 R5 MOV 0 0 4 \n0070 ffffffff 1 R2 IMAD.WIDE 2 R4 R5 0 0 \n"
                         "0080 ffffffff 1 R4 IMAD.WIDE 2 R4 R5 0 0 \n");
            orr_text_add(&t, "0090 ffffffff 1 R2 LDG.E.SYS 1 R2 4 1 0x%llx 4 0 \n", x);
            orr_text_add(&t, "00a0 ffffffff 1 R7 LDG.E.SYS 1 R4 4 1 0x%llx 4 0 \n", y);
            orr_text_add(&t, "00b0 ffffffff 1 R7 FFMA 2 R2 R7 0 0 \n");
            orr_text_add(
                &t, "00c0 ffffffff 0 STG.E.SYS 2 R4 R7 4 1 0x%llx 4 0 \n00d0 ffffffff 0 EXIT 0 0 0 \n", y);
        }
        orr_text_add(&t, "\n#END_TB\n");
    }
    orr_err e = {0};
    orr_source *s = orr_accel_from_text(t.s, t.n, "saxpy", &e);
    assert_non_null(s);
    void (*close)(orr_source *) = s->close;
    s->close = no_close; // the result refers to the kernel
    orr_result r = {.source = "trace"};
    orr_work w = {.info = s->info, .source = s, .threads = 1};
    assert_true(orr_model_functional.run(NULL, &w, &r, &e));
    const orr_launch_result *l = &r.launches.at[0];
    assert_int_equal(l->warp_insts, 458752);
    assert_int_equal(l->thread_insts, 13631488);
    assert_true(l->counters[ORR_C_GLOBAL_LD_SECT] == 262144);
    assert_true(l->counters[ORR_C_GLOBAL_ST_SECT] == 131072);
    assert_true(l->counters[ORR_C_FFMA] == 4096 * 256);
    assert_true(isnan(l->counters[ORR_C_BRANCHES]));
    orr_result_free(&r);
    close(s);
    free(t.s);
}

// ---- what is wrong is said ------------------------------------------------------------------------
static void errors(void **state) {
    (void)state;
#define BODY(text) HEAD(V5) "#BEGIN_TB\n" text
#define L          "0000 ffffffff 0 NOP 0 0 0 \n"
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "is this a trace?"},
        {"hello\n", "t:1: expected a line of the header"},
        {"-kernel name = k\n", "ends in its header"},
        {"-block dim = (1,1,1)\n#x\n", "no -grid dim"},
        {"-grid dim = (1,1,1)\n#x\n", "no -block dim"},
        {"-grid dim = (0,1,1)\n", "t:1: -grid dim must be"},
        {"-grid dim = (1,1)\n", "t:1: -grid dim must be"},
        {"\n-block dim = (32,33,1)\n", "t:2: -block dim must be"},
        {"-block dim = (1,-1,1)\n", "t:1: -block dim must be"},
        {"-block dim = (4294967296,1,1)\n", "t:1: -block dim must be"},
        {"-shmem = many\n", "t:1: -shmem must be"},
        {"-nregs = -1\n", "t:1: -nregs must be"},
        {"-shmem base_addr = here\n", "t:1: expected an address"},
        {"-accelsim tracer version = new\n", "t:1: -accelsim tracer version"},
        {"-enable lineinfo = 2\n", "t:1: -enable lineinfo"},
        {HEAD(V5), "ends after 0 of 1 thread blocks"},
        {HEAD(V5) "0000 ffffffff\n", "t:16: expected \"#BEGIN_TB\""},
        {BODY(""), "the file ends in thread block 1 of 1"},
        {BODY("thread block = 1,0,0\n"), "t:17: \"thread block = 1,0,0\""},
        {BODY("warp = 1\n"), "t:17: \"warp = 1\": a thread block has warps 0 to 0"},
        {BODY("warp = x\n"), "t:17: \"warp = x\""},
        {BODY("insts = 1\n" L), "t:17: \"insts\" without a \"warp\""},
        {BODY("warp = 0\ninsts = 2147483648\n"), "t:18: \"insts = 2147483648\""},
        {BODY("warp = 0\ninsts = 2\n" L "#END_TB\n"),
         "t:20: 1 more instructions of this warp expected, found #END_TB"},
        {BODY("warp = 0\ninsts = 2\n" L),
         "t:20: 1 more instructions of this warp expected, found the end of the file"},
        {BODY("warp = 0\ninsts = 1\n" L L "#END_TB\n"), "t:20: expected \"warp\", \"insts\" or \"#END_TB\""},
        {BODY("warp = 0\ninsts = 1\n" L "warp = 0\n"), "t:20: warp 0 comes twice"},
        {BODY("#END_TB\n"), "t:17: the thread block ends without its warp 0"},
        {BODY("warp = 0\ninsts = 1\n" L "#END_TB\n#BEGIN_TB\n"), "t:21: more thread blocks than the 1"},
        {BODY("warp = 0\ninsts = 1\n" L "#END_TB\nmore\n"), "t:21: expected \"#BEGIN_TB\""},
        {BODY("warp = 0\ninsts = 1\nxyz\n"), "t:19: expected an instruction"},
        {BODY("warp = 0\ninsts = 1\n0000\n"), "t:19: expected an instruction"},
        {BODY("warp = 0\ninsts = 1\n0000 fffffffff 0 NOP 0 0 0 \n"), "t:19: expected an instruction"},
        {BODY("warp = 0\ninsts = 1\n0000 ffffffff 9 NOP 0 0 0 \n"),
         "t:19: expected the number of destination"},
        {BODY("warp = 0\ninsts = 1\n0000 ffffffff 1 NOP 0 0 0 \n"), "t:19: expected 1 destination registers"},
        {BODY("warp = 0\ninsts = 1\n0000 ffffffff 1 R256 NOP 0 0 0 \n"),
         "t:19: expected 1 destination registers"},
        {BODY("warp = 0\ninsts = 1\n0000 ffffffff 0 !? 0 0 0 \n"), "t:19: expected an instruction's name"},
        {BODY("warp = 0\ninsts = 1\n0000 ffffffff 0 NOP 2 R1 0 0 \n"), "t:19: expected 2 source registers"},
        {BODY("warp = 0\ninsts = 1\n0000 ffffffff 0 NOP 0\n"), "t:19: expected the bytes that NOP touches"},
        {BODY("warp = 0\ninsts = 1\n0000 ffffffff 0 NOP 0 0 0 1\n"),
         "t:19: NOP touches 0 bytes, but something"},
        {BODY("warp = 0\ninsts = 1\n0000 00000003 0 STG 0 4\n"), "t:19: STG: expected how its addresses"},
        {BODY("warp = 0\ninsts = 1\n0000 00000003 0 STG 0 4 3 0x0 0\n"),
         "t:19: STG: expected how its addresses"},
        {BODY("warp = 0\ninsts = 1\n0000 00000003 0 STG 0 4 0 0x10 \n"),
         "t:19: STG: expected addresses, one for each of"},
        {BODY("warp = 0\ninsts = 1\n0000 00000003 0 STG 0 4 1 0x10 \n"),
         "t:19: STG: expected an address and a stride"},
        {BODY("warp = 0\ninsts = 1\n0000 00000007 0 STG 0 4 2 0x10 4\n"),
         "t:19: STG: expected an address and differences"},
        {BODY("warp = 0\ninsts = 1\n0000 00000003 0 STG 0 4 2 0x10 4 4 4\n"),
         "t:19: STG: expected an address and diff"},
        {BODY("warp = 0\ninsts = 1\n0000 00000003 0 STG 0 4 1 0x10000000000000000 4\n"),
         "t:19: STG: expected an address"},
        {HEAD("-accelsim tracer version = 1\n") ONE(1, L),
         "t:22: expected an instruction (block, warp, PC, mask"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        orr_err e = {0};
        events ev = {0};
        orr_source *s = orr_accel_from_text(bad[i].text, strlen(bad[i].text), "t", &e);
        int end = s ? collect(s, &ev, &e) : -1;
        if (end != -1 || e.status != ORR_BAD_INPUT || !strstr(e.text, bad[i].message))
            fail_msg("wanted \"%s\", got %d \"%s\"", bad[i].message, end, e.text);
        free(ev.list.at);
        if (s) s->close(s);
    }
}

// Cut anywhere, and with any byte of it changed: an error or a trace, nothing else.
static void cut_and_bent(void **state) {
    (void)state;
    static const char text[] = HEAD(V5)
        ONE(5, "0000 000000f0 1 R2 LDG.E 1 R4 4 1 0x1000 16 0 \n0010 000000f0 1 R2 LD.E 1 R4 4 0 0x1000 "
               "0x0000000000001010 0x1020 0x1030 0 \n0020 000000f0 1 R2 LDG.E 1 R4 4 2 0x1000 16 16 16 0 \n"
               "0030 ffffffff 0 BRA 0 0 0 \n0040 ffffffff 0 EXIT 0 0 0 \n");
    for (size_t n = 0; n < 2 * sizeof text; n++) {
        size_t len = n < sizeof text ? n : sizeof text - 1;
        char *copy = malloc(len + 1);
        memcpy(copy, text, len);
        if (n >= sizeof text) copy[n - sizeof text] ^= (char)(1 + n % 127);
        orr_err e = {0};
        events ev = {0};
        orr_source *s = orr_accel_from_text(copy, len, "t", &e);
        int end = s ? collect(s, &ev, &e) : -1;
        assert_int_equal(end == 0, e.status == 0);
        if (n < sizeof text - 2) assert_int_equal(end, -1);
        free(ev.list.at);
        if (s) s->close(s);
        free(copy);
    }
}

// Machine code in the header: what lines leave out comes from there. LDC R1, c[0x0][0x28]; ISETP.GE.AND P0,
// PT, R3, R0, PT; IMAD.WIDE R10, R3, 0x4, R10, as cuobjdump has them for sm_90.
#define CODE_1 "00000a00ff017b82 000fe20000000800"
#define CODE_2 "000000000300720c 002fda0003f06270"
#define CODE_3 "00000004030a7825 001fd400078e020a"
static void code_in_the_header(void **state) {
    (void)state;
    static const char text[] =
        "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-nregs = 16\n-accelsim tracer version "
        "= 5\n"
        "-orrery code = 90 0000 " CODE_1 " " CODE_2 "\n-orrery code = 90 0020 " CODE_3 "\n#x\n#BEGIN_TB\n"
        "thread block = 0,0,0\nwarp = 0\ninsts = 5\n"
        "0000 ffffffff 1 R1 LDC 0 0 0 \n0010 ffffffff 0 ISETP.GE.AND 2 R3 R0 0 0 \n"
        "0020 ffffffff 1 R10 IMAD.WIDE 2 R3 R10 0 0 \n"
        "0010 ffffffff 1 R2 LDG.E 1 R4 4 1 0x700000000000 4 0 \n" // not what the code has there
        "0030 ffffffff 0 EXIT 0 0 0 \n#END_TB\n";
    orr_err e = {0};
    events ev;
    orr_source *s = orr_accel_from_text(text, sizeof text - 1, "t", &e);
    if (!s) fail_msg("%s", e.text);
    const orr_kernel *k = s->info.kernel;
    assert_true(k->control);
    assert_int_equal(collect(s, &ev, &e), 0);
    assert_int_equal(ev.list.n, 5);
    const orr_inst *load = ev.list.at[0].inst, *set = ev.list.at[1].inst, *wide = ev.list.at[2].inst;
    assert_int_equal(load->encoding.constant, 0 << 16 | 0x28 / 64 | 1); // bank 0, the first 64 bytes, + 1
    assert_int_equal(set->ndst, 1);                                     // P0
    assert_int_equal(orr_dst(k, set, 0)->cls, ORR_P);
    assert_int_equal(wide->nsrc, 3); // R3, and both halves of the addend
    assert_int_equal(orr_src(k, wide, 2)->reg, 11);
    assert_int_equal(ORR_CTRL_WBAR(wide->encoding.ctrl), 7);
    const orr_inst *other = ev.list.at[3].inst, *end = ev.list.at[4].inst;
    assert_int_equal(other->op, ORR_OP_LD);
    assert_int_equal(ORR_CTRL_WAIT(other->encoding.ctrl), 63); // nothing is known: it waits for everything
    assert_int_equal(ORR_CTRL_WAIT(end->encoding.ctrl), 63);
    free(ev.list.at);
    s->close(s);
    static const char *const wrong[] = {"90",
                                        "90 0000 12",
                                        "90 0010 " CODE_1,
                                        "12 0000 " CODE_1,
                                        "90 0000 " CODE_1 " x",
                                        "90 0000 00000a00ff017b820 0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char bad[400];
        snprintf(bad, sizeof bad,
                 "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-orrery code = %s\n#x\n",
                 wrong[i]);
        e = (orr_err){0};
        assert_null(orr_accel_from_text(bad, strlen(bad), "t", &e));
        if (!strstr(e.text, "-orrery code must be")) fail_msg("%s: %s", wrong[i], e.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header),
        cmocka_unit_test(header_gaps),
        cmocka_unit_test(address_forms),
        cmocka_unit_test(spaces),
        cmocka_unit_test(versions),
        cmocka_unit_test(instructions),
        cmocka_unit_test(code_in_the_header),
        cmocka_unit_test(cache_operators),
        cmocka_unit_test(blocks_of_code),
        cmocka_unit_test(long_blocks_are_cut),
        cmocka_unit_test(random_traces),
        cmocka_unit_test(counts_of_saxpy),
        cmocka_unit_test(errors),
        cmocka_unit_test(cut_and_bent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
