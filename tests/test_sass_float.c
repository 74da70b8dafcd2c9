// Floating point machine instructions against results worked out by hand: signs and absolute values of
// operands, roundings, flushing, predicates, halves of registers, conversions; and MUFU against answers of an
// H200. What compilers do with them is in test_ops, MUFU at length in test_mufu.
// R11 holds the predicates before, R10 the predicates after (slots.h).
#include "slots.h"

CODES({"FADD R6, R4, R5", 0x504067221, 0x0}, {"FADD R6, -R4, R5", 0x504067221, 0x100},
      {"FADD R6, -R4, -R5", 0x8000000504067221, 0x100}, {"FADD R6, |R4|, -|R5|", 0xc000000504067221, 0x200},
      {"FADD.RM R6, R4, R5", 0x504067221, 0x4000}, {"FADD.RP R6, R4, R5", 0x504067221, 0x8000},
      {"FADD.RZ R6, R4, R5", 0x504067221, 0xc000}, {"FADD.FTZ R6, R4, R5", 0x504067221, 0x10000},
      {"FADD.SAT R6, R4, R5", 0x504067221, 0x2000}, {"FMUL R6, -R4, R5", 0x504067220, 0x400100},
      {"FMUL.D8 R6, R4, R5", 0x504067220, 0x100000}, {"FMUL.M8 R6, -R4, R5", 0x504067220, 0x700100},
      {"FMUL.FTZ.D2 R6, R4, R5", 0x504067220, 0x310000}, {"FMUL.FTZ R6, R4, R5", 0x504067220, 0x410000},
      {"FFMA R6, -R4, R5, -R7", 0x504067223, 0x907}, {"FFMA R6, R4, -R5, R7", 0x8000000504067223, 0x7},
      {"FFMA.RM R6, R4, R5, R7", 0x504067223, 0x4007}, {"FMNMX R6, R4, R5, P0", 0x504067209, 0x0},
      {"FMNMX.NAN R6, R4, -R5, !PT", 0x8000000504067209, 0x7820000},
      {"FMNMX.XORSIGN R6, |R4|, |R5|, PT", 0x4000000504067209, 0x3840200},
      {"FSETP.LT.XOR P3, P4, R4, R5, !P0", 0x50400720b, 0x4461800},
      {"FSETP.GEU.AND P3, PT, |R4|, R5, PT", 0x50400720b, 0x3f6e200},
      {"FSETP.F.OR P3, P4, R4, R5, P0", 0x50400720b, 0x460400},
      {"FSETP.T.XOR P3, P4, R4, R5, P0", 0x50400720b, 0x46f800},
      {"FSETP.NAN.FTZ.AND P3, P4, R4, R5, P0", 0x50400720b, 0x478000},
      {"FSET.BF.GT.AND R6, R4, R5, P0", 0x50406720a, 0x4000},
      {"FSEL.FTZ R6, -R4, |R5|, P0", 0x4000000504067208, 0x10100}, {"FCHK P3, R4, R5", 0x504007302, 0x760000},
      {"MUFU.RCP R6, |R4|", 0x4000000400067308, 0x1000}, {"MUFU.SIN R6, -R4", 0x8000000400067308, 0x400},
      {"MUFU.EX2 R6, R4", 0x400067308, 0x800}, {"MUFU.LG2 R6, R4", 0x400067308, 0xc00},
      {"MUFU.RSQ R6, R4", 0x400067308, 0x1400}, {"MUFU.RCP64H R6, R4", 0x400067308, 0x1800},
      {"MUFU.SQRT R6, R4", 0x400067308, 0x2000}, {"MUFU.TANH.F16 R6, R4.H1", 0x1000000400067308, 0x2500},
      {"DADD R8, R4, -R6", 0x4087229, 0x806}, {"DADD R8, -R4, -R6", 0x4087229, 0x906},
      {"DADD R8, -|R4|, |R6|", 0x4087229, 0x706}, {"DADD.RP R8, R4, R6", 0x4087229, 0x8006},
      {"DMUL R8, R4, -R6", 0x8000000604087228, 0x0}, {"DFMA R8, -R4, R6, R8", 0x60408722b, 0x108},
      {"DSETP.MIN.AND P3, P4, R4, R6, PT", 0x60400722a, 0x3c60000},
      {"DSETP.MAX.AND P3, P4, R4, R6, PT", 0x60400722a, 0x3c6f000},
      {"DSETP.GTU.OR P3, P4, |R4|, R6, P0", 0x60400722a, 0x46c600},
      {"HADD2.F32 R6, -RZ, R4.H1_H1", 0x30000004ff067230, 0x4100},
      {"HADD2.F32 R6, R4.H0_H0, -R5.H1_H1", 0xb000000504067230, 0x4800},
      {"HADD2 R6, |R4|, -R5.H0_H0", 0xa000000504067230, 0x200},
      {"HMUL2 R6, R4.H1_H1, R5", 0x504067232, 0xc00}, {"HFMA2 R6, R4, R5, R7", 0x504067231, 0x7},
      {"HFMA2.RELU R6, R4, R5, R7", 0x504067231, 0x3808007},
      {"HFMA2.BF16_V2 R6, R4, R5.H0_H0, -R7", 0x2000000504067231, 0x300007},
      {"HFMA2.MMA R6, -RZ, RZ, 1.875, 0.0078125", 0x3f802000ff067435, 0x1ff},
      {"HMNMX2 R6, R4, R5, P0", 0x504067240, 0x0}, {"HSET2.BF.GT.AND R6, R4, R5, PT", 0x504067233, 0x3804080},
      {"HSETP2.LT.AND P3, P4, R4, R5, PT", 0x504007234, 0x3c61000},
      {"F2I.TRUNC.NTZ R6, R4", 0x400067305, 0x20f100}, {"F2I.TRUNC R6, R4", 0x400067305, 0x20d100},
      {"F2I.U32.CEIL.NTZ R6, -R4", 0x8000000400067305, 0x20b000},
      {"F2I.S64.NTZ R6, R4", 0x400067311, 0x203900}, {"I2F.U8 R6, R4.B2", 0x2000000400067306, 0x1000},
      {"I2F.S16 R6, R4.H1", 0x1000000400067306, 0x101400}, {"I2FP.F32.U32.RZ R6, R4", 0x400067245, 0x20d000},
      {"FRND.CEIL R6, R4", 0x400067307, 0x208000},
      {"FRND.F16.FLOOR R6, -R4.H1", 0x9000000400067307, 0x104000},
      {"F2F.BF16.F32 R6, R4", 0x400067304, 0x202000}, {"I2I.S8.S32.SAT R6, R4", 0x400067238, 0x1000},
      {"F2FP.F16.F32.PACK_AB.RZ R6, R4, R5", 0x50406723e, 0x180ff},
      {"F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C R6, R4, R5, R7.H1", 0x50406723e, 0x4807107},
      {"F2FP.F16.E5M2.UNPACK_B R6, R4.H1", 0x4ff06723e, 0x30004ff}, {"R2P PR, R11, 0x7f", 0x7f0b007804, 0x0},
      {"P2R R10, PR, RZ, 0x7f", 0x7fff0a7803, 0x0})

// Of R4, R5, R7 and maybe predicates, to R6 and maybe predicates
typedef struct word_row {
    uint32_t r4, r5, r7, p, r6, q;
} word_row;
static void word(const char *line, uint32_t n, const word_row *w) {
    row rows[16];
    assert_true(n <= 16);
    for (uint32_t i = 0; i < n; i++)
        rows[i] = (row){.in = {w[i].r4, w[i].r5, 0x6666, w[i].r7},
                        .p = w[i].p,
                        .out = {w[i].r4, w[i].r5, w[i].r6, w[i].r7},
                        .q = w[i].q};
    check((const char *[]){line, NULL}, rows, (int)n);
}
#define WORD(line, ...)                                                                                      \
    do {                                                                                                     \
        static const word_row r_[] = {__VA_ARGS__};                                                          \
        word(line, sizeof r_ / sizeof *r_, r_);                                                              \
    } while (0)

// Doubles a = R5:R4, b = R7:R6, c = R9:R8 to R9:R8 and maybe predicates
typedef struct wide_row {
    uint64_t a, b, c, r;
    uint32_t p, q;
} wide_row;
static void wide(const char *line, uint32_t n, const wide_row *w) {
    row rows[16];
    assert_true(n <= 16);
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = (row){.p = w[i].p, .q = w[i].q};
        memcpy(rows[i].in, &w[i], 24);
        memcpy(rows[i].out, &w[i], 16);
        memcpy(rows[i].out + 4, &w[i].r, 8);
    }
    check((const char *[]){line, NULL}, rows, (int)n);
}
#define WIDE(line, ...)                                                                                      \
    do {                                                                                                     \
        static const wide_row r_[] = {__VA_ARGS__};                                                          \
        wide(line, sizeof r_ / sizeof *r_, r_);                                                              \
    } while (0)

#define SAME  0x6666 // R6 stays
#define MINUS 0x80000000u
#define NONE  0x7fffffffu // not a number
#define INF   0x7f800000u
#define HALF  0x3f000000u
#define ONE   0x3f800000u
#define TWO   0x40000000u
#define THREE 0x40400000u

static void arithmetic(void **state) {
    (void)state;
    WORD("FADD R6, R4, R5", {ONE, TWO, 0, 0, THREE, 0}, {0x7f800001, ONE, 0, 0, NONE, 0},
         {INF, INF | MINUS, 0, 0, NONE, 0}, {1, 1, 0, 0, 2, 0});
    WORD("FADD R6, -R4, R5", {ONE, ONE, 0, 0, 0, 0}, {THREE, ONE, 0, 0, TWO | MINUS, 0});
    WORD("FADD R6, -R4, -R5", {ONE, TWO, 0, 0, THREE | MINUS, 0}, {0, 0, 0, 0, MINUS, 0});
    WORD("FADD R6, |R4|, -|R5|", {ONE | MINUS, TWO | MINUS, 0, 0, ONE | MINUS, 0});
    // 1 + 2^-24 is between two numbers; 1 - 1 is -0 only when rounded down
    WORD("FADD.RM R6, R4, R5", {ONE, 0x33800000, 0, 0, ONE, 0}, {ONE, ONE | MINUS, 0, 0, MINUS, 0});
    WORD("FADD.RP R6, R4, R5", {ONE, 0x33800000, 0, 0, ONE + 1, 0}, {ONE, ONE | MINUS, 0, 0, 0, 0});
    WORD("FADD.RZ R6, R4, R5", {ONE, 0x33800000, 0, 0, ONE, 0},
         {ONE | MINUS, 0xb3800000, 0, 0, ONE | MINUS, 0});
    WORD("FADD.FTZ R6, R4, R5", {1, 0x800000, 0, 0, 0x800000, 0}, {0x800001, 0x80800000, 0, 0, 0, 0},
         {0x80000001, MINUS, 0, 0, MINUS, 0});
    WORD("FADD.SAT R6, R4, R5", {ONE, ONE, 0, 0, ONE, 0}, {ONE | MINUS, 0, 0, 0, 0, 0}, {NONE, 0, 0, 0, 0, 0},
         {HALF, 0, 0, 0, HALF, 0});
    WORD("FMUL R6, -R4, R5", {TWO, THREE, 0, 0, 0xc0c00000, 0}, {0, ONE, 0, 0, MINUS, 0});
    // (2^24 - 1) 2^-150 has 24 bits: it is below 2^-126 and not rounded to it
    // a product times a power of two: 2 x 3 / 8; 3 x 2^-149 x 0.5 x 8 is 12 x 2^-149, not 16: it is rounded
    // once
    WORD("FMUL.D8 R6, R4, R5", {TWO, THREE, 0, 0, 0x3f400000, 0}, {0x00800001, ONE, 0, 0, 0x00100000, 0});
    WORD("FMUL.M8 R6, -R4, R5", {TWO, THREE, 0, 0, 0xc2400000, 0}, {3, HALF, 0, 0, 0x8000000c, 0});
    WORD("FMUL.FTZ.D2 R6, R4, R5", {0x00800000, ONE, 0, 0, 0, 0}, {0x01000000, ONE, 0, 0, 0x00800000, 0},
         {0x007fffff, TWO, 0, 0, 0, 0});
    WORD("FMUL.FTZ R6, R4, R5", {0x00ffffff, HALF, 0, 0, 0, 0}, {0x80800000, HALF, 0, 0, MINUS, 0},
         {0x01000000, HALF, 0, 0, 0x800000, 0});
    WORD("FFMA R6, -R4, R5, -R7", {TWO, THREE, ONE, 0, 0xc0e00000, 0});
    // (1 + 2^-22) - (1 + 2^-23)^2 = -2^-46, which a rounded product would lose
    WORD("FFMA R6, R4, -R5, R7", {ONE, ONE, ONE, 0, 0, 0}, {ONE + 1, ONE + 1, ONE + 2, 0, 0xa8800000, 0},
         {INF, 0, ONE, 0, NONE, 0});
    WORD("FFMA.RM R6, R4, R5, R7", {ONE, ONE, 0x33800000, 0, ONE, 0},
         {ONE | MINUS, ONE, 0xb3800000, 0, (ONE | MINUS) + 1, 0});
}

static void choices(void **state) {
    (void)state;
    WORD("FMNMX R6, R4, R5, P0", {ONE, TWO, 0, 1, ONE, 1}, {ONE, TWO, 0, 0, TWO, 0},
         {MINUS, 0, 0, 1, MINUS, 1}, {MINUS, 0, 0, 0, 0, 0}, {NONE, ONE, 0, 1, ONE, 1},
         {ONE, NONE, 0, 0, ONE, 0});
    WORD("FMNMX.NAN R6, R4, -R5, !PT", {ONE, TWO | MINUS, 0, 0, TWO, 0}, {ONE, NONE, 0, 0, NONE, 0});
    WORD("FMNMX.XORSIGN R6, |R4|, |R5|, PT", {ONE | MINUS, TWO, 0, 0, ONE | MINUS, 0},
         {ONE | MINUS, TWO | MINUS, 0, 0, ONE, 0});
    WORD("FSEL.FTZ R6, -R4, |R5|, P0", {1, 0, 0, 1, MINUS, 1}, {0, ONE | MINUS, 0, 0, ONE, 0});
    WORD("FSET.BF.GT.AND R6, R4, R5, P0", {TWO, ONE, 0, 1, ONE, 1}, {TWO, ONE, 0, 0, 0, 0},
         {ONE, ONE, 0, 1, 0, 1});
    // P3 is bit 3 of the predicates, P4 bit 4
    WORD("FSETP.LT.XOR P3, P4, R4, R5, !P0", {ONE, TWO, 0, 1, SAME, 9}, {ONE, TWO, 0, 0, SAME, 0x10},
         {NONE, TWO, 0, 1, SAME, 0x11});
    WORD("FSETP.GEU.AND P3, PT, |R4|, R5, PT", {TWO | MINUS, ONE, 0, 0, SAME, 8}, {NONE, ONE, 0, 0, SAME, 8},
         {HALF, ONE, 0, 8, SAME, 0});
    WORD("FSETP.F.OR P3, P4, R4, R5, P0", {ONE, ONE, 0, 0, SAME, 0x10}, {ONE, ONE, 0, 1, SAME, 0x19});
    WORD("FSETP.T.XOR P3, P4, R4, R5, P0", {ONE, ONE, 0, 0, SAME, 8}, {ONE, ONE, 0, 1, SAME, 0x11});
    WORD("FSETP.NAN.FTZ.AND P3, P4, R4, R5, P0", {NONE, 0, 0, 1, SAME, 9}, {ONE, ONE, 0, 1, SAME, 0x11},
         {NONE, 0, 0, 0, SAME, 0});
}

// 25 to 254 over 2 to 251, at most 126 more and 124 less: the exponents that an H200 divides the short way
static void division_check(void **state) {
    (void)state;
#define E(n) ((uint32_t)(n) << 23)
    WORD("FCHK P3, R4, R5", {ONE, THREE, 0, 8, SAME, 0}, {E(25), E(2) | MINUS, 0, 8, SAME, 0},
         {E(24), E(2), 0, 0, SAME, 8}, {E(25), E(1), 0, 0, SAME, 8}, {E(140), E(14), 0, 8, SAME, 0},
         {E(140), E(13) + 0x7fffff, 0, 0, SAME, 8}, {E(25), E(149), 0, 8, SAME, 0},
         {E(25), E(150), 0, 0, SAME, 8}, {E(200), E(251), 0, 8, SAME, 0}, {E(200), E(252), 0, 0, SAME, 8},
         {INF, ONE, 0, 0, SAME, 8}, {ONE, 0, 0, 0, SAME, 8}, {0, ONE, 0, 0, SAME, 8},
         {E(254), E(128), 0, 8, SAME, 0});
}

// Exact ones by arithmetic, the others as an H200 answers
static void functions(void **state) {
    (void)state;
    WORD("MUFU.RCP R6, |R4|", {TWO | MINUS, 0, 0, 0, HALF, 0}, {MINUS, 0, 0, 0, INF, 0}, {INF, 0, 0, 0, 0, 0},
         {0x7f000000, 0, 0, 0, 0, 0}, {1, 0, 0, 0, INF, 0}, {THREE, 0, 0, 0, 0x3eaaaaab, 0},
         {NONE, 0, 0, 0, NONE, 0});
    WORD("MUFU.RSQ R6, R4", {0x40800000, 0, 0, 0, HALF, 0}, {MINUS, 0, 0, 0, INF | MINUS, 0},
         {ONE | MINUS, 0, 0, 0, NONE, 0}, {TWO, 0, 0, 0, 0x3f3504f2, 0}, {INF, 0, 0, 0, 0, 0});
    WORD("MUFU.SQRT R6, R4", {0x40800000, 0, 0, 0, TWO, 0}, {MINUS, 0, 0, 0, MINUS, 0},
         {TWO, 0, 0, 0, 0x3fb504f3, 0});
    WORD("MUFU.EX2 R6, R4", {THREE, 0, 0, 0, 0x41000000, 0}, {0xc3000000, 0, 0, 0, 0, 0},
         {0x43000000, 0, 0, 0, INF, 0}, {HALF, 0, 0, 0, 0x3fb504f3, 0},
         {HALF | MINUS, 0, 0, 0, 0x3f3504f2, 0});
    WORD("MUFU.LG2 R6, R4", {0x41000000, 0, 0, 0, THREE, 0}, {ONE, 0, 0, 0, 0, 0},
         {0, 0, 0, 0, INF | MINUS, 0}, {ONE | MINUS, 0, 0, 0, NONE, 0}, {HALF, 0, 0, 0, 0xbf7ffffe, 0},
         {0x3fc00000, 0, 0, 0, 0x3f15c01b, 0});
    WORD("MUFU.SIN R6, -R4", {0, 0, 0, 0, MINUS, 0}, {0x3e800000, 0, 0, 0, ONE | MINUS, 0},
         {INF, 0, 0, 0, NONE, 0});
    WORD("MUFU.RCP64H R6, R4", {0x40000000, 0, 0, 0, 0x3fe00000, 0}, {0x40080000, 0, 0, 0, 0x3fd55555, 0},
         {0x7ff00000, 0, 0, 0, 0, 0}, {0x80000000, 0, 0, 0, 0xfff00000, 0});
    WORD("MUFU.TANH.F16 R6, R4.H1", {0x48003c00, 0, 0, 0, 0x3c00, 0}, {0x38000000, 0, 0, 0, 0x3764, 0},
         {0x80010000, 0, 0, 0, 0x8001, 0});
}

static void doubles(void **state) {
    (void)state;
#define D1 0x3ff0000000000000ull
#define D2 0x4000000000000000ull
#define D3 0x4008000000000000ull
#define DM 0x8000000000000000ull
#define DI 0x7ff0000000000000ull
#define DN 0x7ff8000000000001ull
    WIDE("DADD R8, R4, -R6", {D1, D2, 0, D1 | DM, 0, 0}, {0x7ff0000000000001ull, D1, 0, DN, 0, 0},
         {DI, DI, 0, 0xfff8000000000000ull, 0, 0});
    // a NaN is handed on with the sign it had, the second before the first
    WIDE("DADD R8, -R4, -R6", {D1, D2, 0, D3 | DM, 0, 0},
         {DN, 0xfff0000000000005ull, 0, 0xfff8000000000005ull, 0, 0}, {0, 0, 0, DM, 0, 0});
    WIDE("DADD R8, -|R4|, |R6|", {D1 | DM, D3 | DM, 0, D2, 0, 0}, {DN | DM, D1, 0, DN | DM, 0, 0});
    WIDE("DADD.RP R8, R4, R6", {D1, 0x3c30000000000000ull, 0, D1 + 1, 0, 0});
    WIDE("DMUL R8, R4, -R6", {D2, D3, 0, 0xc018000000000000ull, 0, 0});
    WIDE("DFMA R8, -R4, R6, R8", {D2, D3, 0x401c000000000000ull, D1, 0, 0}, {D1, D1, DN, DN, 0, 0});
    WIDE("DSETP.MIN.AND P3, P4, R4, R6, PT", {D1, D2, 7, 7, 0, 8}, {D2, D1, 7, 7, 0, 0}, {DN, D1, 7, 7, 0, 0},
         {D1, DN, 7, 7, 0, 8}, {DN, DN, 7, 7, 0, 0x10}, {DM, 0, 7, 7, 0, 8}, {0, DM, 7, 7, 0, 0});
    WIDE("DSETP.MAX.AND P3, P4, R4, R6, PT", {D1, D2, 7, 7, 0, 0}, {D2, D1, 7, 7, 0, 8}, {0, DM, 7, 7, 0, 8},
         {DN, D1, 7, 7, 0, 0});
    WIDE("DSETP.GTU.OR P3, P4, |R4|, R6, P0", {D2 | DM, D1, 7, 7, 0, 8}, {DN, D1, 7, 7, 0, 8},
         {D1, D2, 7, 7, 0, 0x10}, {D1, D2, 7, 7, 1, 0x19});
}

static void halves(void **state) { // 3c00 is 1, 4000 is 2, 4200 is 3, 4600 is 6; bf16: 3f80, 4000, 4040, 40c0
    (void)state;
    WORD("HADD2.F32 R6, -RZ, R4.H1_H1", {0x3c004000, 0, 0, 0, ONE, 0}, {0x80000000, 0, 0, 0, MINUS, 0},
         {0x7e010000, 0, 0, 0, NONE, 0}, {0x00010000, 0, 0, 0, 0x33800000, 0});
    WORD("HADD2.F32 R6, R4.H0_H0, -R5.H1_H1", {0x3c00, 0x40000000, 0, 0, ONE | MINUS, 0});
    WORD("HADD2 R6, |R4|, -R5.H0_H0", {0xbc00c000, 0x3c00, 0, 0, 0x3c00, 0},
         {0x7d003c00, 0x3c00, 0, 0, 0x7fff0000, 0});
    WORD("HMUL2 R6, R4.H1_H1, R5", {0x40000000, 0x3c004200, 0, 0, 0x40004600, 0});
    WORD("HFMA2 R6, R4, R5, R7", {0x3c004000, 0x40004000, 0x3c00c500, 0, 0x4200bc00, 0});
    WORD("HFMA2.RELU R6, R4, R5, R7", {0x3c004000, 0x40004000, 0x3c00c500, 0, 0x42000000, 0});
    WORD("HFMA2.BF16_V2 R6, R4, R5.H0_H0, -R7", {0x3f804000, 0x4040, 0x3f8040c0, 0, 0x40000000, 0});
    WORD("HFMA2.MMA R6, -RZ, RZ, 1.875, 0.0078125", {0, 0, 0, 0, 0x3f802000, 0});
    WORD("HMNMX2 R6, R4, R5, P0", {0x3c00c000, 0x4000bc00, 0, 1, 0x3c00c000, 1},
         {0x3c00c000, 0x4000bc00, 0, 0, 0x4000bc00, 0});
    WORD("HSET2.BF.GT.AND R6, R4, R5, PT", {0x4000bc00, 0x3c00c000, 0, 0, 0x3c003c00, 0},
         {0x4000c000, 0x3c00bc00, 0, 0, 0x3c000000, 0});
    WORD("HSETP2.LT.AND P3, P4, R4, R5, PT", {0x3c00c000, 0x4000c200, 0, 0, SAME, 0x10});
}

static void conversions(void **state) {
    (void)state;
    WORD("F2I.TRUNC.NTZ R6, R4", {0xc0200000, 0, 0, 0, 0xfffffffe, 0}, {NONE, 0, 0, 0, 0, 0},
         {0x4f000000, 0, 0, 0, 0x7fffffff, 0});
    WORD("F2I.TRUNC R6, R4", {0xc0200000, 0, 0, 0, 0xfffffffe, 0}, {NONE, 0, 0, 0, 0x80000000, 0});
    WORD("F2I.U32.CEIL.NTZ R6, -R4", {0xbfc00000, 0, 0, 0, 2, 0}, {ONE, 0, 0, 0, 0, 0});
    static const row wide[] = {{{0xc0200000}, 0, {0xc0200000, 0, 0xfffffffe, 0xffffffff}, 0},
                               {{NONE}, 0, {NONE}, 0}};
    check((const char *[]){"F2I.S64.NTZ R6, R4", NULL}, wide, 2);
    WORD("I2F.U8 R6, R4.B2", {0x00ff0000, 0, 0, 0, 0x437f0000, 0});
    WORD("I2F.S16 R6, R4.H1", {0x80000000, 0, 0, 0, 0xc7000000, 0});
    WORD("I2FP.F32.U32.RZ R6, R4", {0xffffffff, 0, 0, 0, 0x4f7fffff, 0});
    WORD("FRND.CEIL R6, R4", {0x3fa00000, 0, 0, 0, TWO, 0}, {HALF | MINUS, 0, 0, 0, MINUS, 0});
    WORD("FRND.F16.FLOOR R6, -R4.H1", {0x3e000000, 0, 0, 0, 0xc000, 0});
    WORD("F2F.BF16.F32 R6, R4", {0x3f808000, 0, 0, 0, 0x3f80, 0}, {0x3f818000, 0, 0, 0, 0x3f82, 0});
    WORD("I2I.S8.S32.SAT R6, R4", {200, 0, 0, 0, 0x7f, 0}, {0xffffff38, 0, 0, 0, 0xffffff80, 0});
    WORD("F2FP.F16.F32.PACK_AB.RZ R6, R4, R5", {0x3f801fff, 0x477fffff, 0, 0, 0x3c007bff, 0});
    WORD("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C R6, R4, R5, R7.H1",
         {ONE, 0x447a0000, 0xabcd1234, 0, 0xabcd387e, 0});
    WORD("F2FP.F16.E5M2.UNPACK_B R6, R4.H1", {0x3c000000, 0, 0, 0, 0x3c000000, 0});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits_and_text), cmocka_unit_test(arithmetic),
                                       cmocka_unit_test(choices),       cmocka_unit_test(division_check),
                                       cmocka_unit_test(functions),     cmocka_unit_test(doubles),
                                       cmocka_unit_test(halves),        cmocka_unit_test(conversions)};
    return cmocka_run_group_tests(tests, set_codes, NULL);
}
