// Machine instructions that compilers seldom make, against results worked out by hand: carries at their
// limits, tables of predicates, all predicates at once, the uniform data path. What compilers do make is in
// test_ops.
// R11 holds the predicates before, R10 the predicates after (slots.h).
#include "slots.h"

CODES({"IADD3 R6, P0, P1, R4, R5, R7", 0x504067210, 0x791e007},
      {"IADD3 R6, P0, -R4, -R5, RZ", 0x8000000504067210, 0x7f1e1ff},
      {"IADD3.X R6, P0, P1, R4, ~R5, R7, P0, P1", 0x8000000504067210, 0x102407},
      {"IADD3 R6, -R4, -R5, RZ", 0x8000000504067210, 0x7ffe1ff},
      {"IADD3 R6, R4, -R5, -R7", 0x8000000504067210, 0x7ffe807}, {"P2R R6, PR, R5, 0x7f", 0x7f05067803, 0x0},
      {"R2P PR, R4, 0x7f", 0x7f04007804, 0x0}, {"R2P PR, R4.B1, 0x3", 0x304007804, 0x1000},
      {"R2P PR, R4, 0x55", 0x5504007804, 0x0}, {"LEA R6, P0, -R4, R5, 0x4", 0x504067211, 0x78021ff},
      {"LEA.X R6, ~R4, R5, 0x4, P0", 0x504067211, 0xe25ff},
      {"LEA.HI R6, R4, R5, R7, 0x4", 0x504067211, 0x78f2007},
      {"LEA.HI.SX32 R6, R4, R5, 0x4", 0x504067211, 0x78f22ff},
      {"LEA.HI.SX32 R6, R4, R5, 0x0", 0x504067211, 0x78f02ff},
      {"LEA R6, P0, R4, R5, 0x1f", 0x504067211, 0x780f8ff},
      {"LEA.HI.X R6, R4, ~R5, R7, 0x4, P0", 0x8000000504067211, 0xf2407},
      {"PLOP3.LUT P3, P4, P0, P1, P2, 0xca, 0x96", 0x96781c, 0x463922},
      {"PLOP3.LUT P3, PT, P0, P1, PT, 0x40, 0x0", 0x781c, 0x762870},
      {"PLOP3.LUT P3, PT, P0, !P1, !P2, 0xfe, 0x0", 0x781c, 0x773fa6},
      {"SHF.R.S64 R6, R4, R5, R7", 0x504067219, 0x1007}, {"SHF.R.W.U64 R6, R4, R5, R7", 0x504067219, 0x1a07},
      {"SHF.L.U64.HI R6, R4, R5, R7", 0x504067219, 0x10207},
      {"SHF.L.W.U32.HI R6, R4, R5, R7", 0x504067219, 0x10e07},
      {"SHF.R.S32.HI R6, R4, R5, R7", 0x504067219, 0x11407}, {"SHF.L.U32 R6, R4, R5, R7", 0x504067219, 0x607},
      {"POPC R6, ~R4", 0x8000000400067309, 0x0}, {"FLO.U32 R6, ~R4", 0x8000000400067300, 0xe0000},
      {"FLO.SH R6, R4", 0x400067300, 0xe0600},
      {"LOP3.LUT P3, R6, R4, R5, R7, 0x1b, !PT", 0x504067212, 0x7861b07},
      {"LOP3.LUT P3, RZ, R4, R5, RZ, 0xc0, !PT", 0x504ff7212, 0x786c0ff},
      {"LOP3.LUT.PAND P3, RZ, R4, R5, RZ, 0xc0, P0", 0x504ff7212, 0x7c0ff},
      {"LOP3.LUT P3, RZ, R4, R5, RZ, 0xc0, P0", 0x504ff7212, 0x6c0ff},
      {"LOP3.LUT R6, R4, R5, RZ, 0x3, !PT", 0x504067212, 0x78e03ff},
      {"LOP3.LUT R6, R4, R5, RZ, 0xf3, !PT", 0x504067212, 0x78ef3ff}, {"R2UR UR8, R4", 0x40872ca, 0xe0000},
      {"R2UR UR9, R5", 0x50972ca, 0xe0000}, {"R2UR UR10, R6", 0x60a72ca, 0xe0000},
      {"R2UR UR11, R7", 0x70b72ca, 0xe0000}, {"R2UR UR12, R8", 0x80c72ca, 0xe0000},
      {"R2UR UR13, R9", 0x90d72ca, 0xe0000}, {"UIADD3.64 UR14, UP0, UR8, UR10, URZ", 0xa080e7297, 0x7f1e03f},
      {"UIADD3.64 UR14, UR8, -UR10, UR12", 0x8000000a080e7297, 0x7ffe00c},
      {"MOV R6, UR14", 0xe00067c02, 0xf00}, {"MOV R7, UR15", 0xf00077c02, 0xf00},
      {"IMAD.WIDE.U32 R8, P0, R4, R5, R6", 0x504087225, 0x7800006},
      {"IMAD.WIDE R8, P0, R4, R5, -R6", 0x504087225, 0x7800a06},
      {"IMAD.WIDE.U32.X R8, R4, R5, ~R6, P0", 0x504087225, 0xe0c06},
      {"IMAD.HI R8, R4, R5, R6", 0x504087227, 0x78e0206},
      {"IMAD.HI.U32 R8, P0, R4, R5, R6", 0x504087227, 0x7800006},
      {"ISETP.LT.AND P3, P4, R4, R5, P0", 0x50400720c, 0x4612f0},
      {"ISETP.LT.U32.XOR P3, P4, R4, R5, !P0", 0x50400720c, 0x44618f0},
      {"ISETP.GE.OR.EX P3, P4, R4, R5, P0, P1", 0x50400720c, 0x466710},
      {"ISETP.F.AND P3, P4, R4, R5, PT", 0x50400720c, 0x3c602f0},
      {"ISETP.T.AND P3, P4, R4, R5, P0", 0x50400720c, 0x4672f0},
      {"VIMNMX.S16x2 R6, P3, P4, R4, R5, P0", 0x504067248, 0x460300},
      {"IDP.4A.S8.U8 R6, R4, R5, -R7", 0x504067226, 0xa07}, {"IMNMX R6, R4, R5, P0", 0x504067217, 0x200},
      {"VIADD.16x2 R6, R4, -R5", 0x8000000504067236, 0x200},
      {"VIADDMNMX R6, R4, -R5, R7, !PT", 0x8000000504067246, 0x7800107},
      {"R2P PR, R11, 0x7f", 0x7f0b007804, 0x0}, {"P2R R10, PR, RZ, 0x7f", 0x7fff0a7803, 0x0})

// One instruction of R4, R5, R7, and maybe predicates, that writes R6 and maybe predicates.
typedef struct word_row {
    uint32_t r4, r5, r7, p, r6, q;
} word_row;
static void word(const char *line, int n, const word_row *w) {
    row rows[8];
    for (int i = 0; i < n; i++)
        rows[i] = (row){.in = {w[i].r4, w[i].r5, 0x6666, w[i].r7},
                        .p = w[i].p,
                        .out = {w[i].r4, w[i].r5, w[i].r6, w[i].r7},
                        .q = w[i].q};
    check((const char *[]){line, NULL}, rows, n);
}
#define WORD(line, ...)                                                                                      \
    do {                                                                                                     \
        static const word_row r_[] = {__VA_ARGS__};                                                          \
        word(line, (int)(sizeof r_ / sizeof *r_), r_);                                                       \
    } while (0)
#define ONES 0xffffffffu
#define SAME 0x6666 // R6 stays

static void sums(void **state) {
    (void)state;
    WORD("IADD3 R6, P0, P1, R4, R5, R7", {ONES, ONES, ONES, 0, ONES - 2, 3}, {1, 2, 3, 3, 6, 0},
         {ONES, 1, 0, 2, 0, 1});
    // -x is ~x + 1, and -0 carries
    WORD("IADD3 R6, P0, -R4, -R5, RZ", {0, 0, 0, 0, 0, 1}, {1, 1, 0, 0, ONES - 1, 1},
         {0, 5, 0, 0, ONES - 4, 1}, {ONES, ONES, 0, 1, 2, 0});
    WORD("IADD3.X R6, P0, P1, R4, ~R5, R7, P0, P1", {5, 3, 0, 1, 2, 1}, {ONES, 0, ONES, 3, ONES, 3},
         {0, ONES, 0, 0, 0, 0}, {5, 3, 0, 0, 1, 1});
    WORD("IADD3 R6, -R4, -R5, RZ", {1, 2, 0, 0, ONES - 2, 0});
    WORD("IADD3 R6, R4, -R5, -R7", {10, 3, 4, 0, 3, 0});
    WORD("VIADD.16x2 R6, R4, -R5", {0x10000, 0x10001, 0, 0, 0xffff, 0});
    WORD("VIADDMNMX R6, R4, -R5, R7, !PT", {5, 7, ONES - 2, 0, ONES - 1, 0}, {5, 7, 1, 0, 1, 0});
    WORD("IDP.4A.S8.U8 R6, R4, R5, -R7", {0xff, 0xff, 1, 0, ONES - 0xff, 0});
}

static void shifted_sums(void **state) {
    (void)state;
    WORD("LEA R6, P0, -R4, R5, 0x4", {1, 0x10, 0, 0, 0, 1}, {1, 5, 0, 1, ONES - 10, 0},
         {0x10000000, 7, 0, 0, 7, 1}); // what is shifted out is not there to be negated
    WORD("LEA.X R6, ~R4, R5, 0x4, P0", {1, 0x10, 0, 1, 0, 1}, {1, 0x10, 0, 0, ONES, 0});
    WORD("LEA.HI R6, R4, R5, R7, 0x4", {0xf0000000, 0x100, 1, 0, 0x11f, 0});
    WORD("LEA.HI.SX32 R6, R4, R5, 0x4", {0x80000000, 8, 0, 0, 0, 0}, {0x70000000, 1, 0, 0, 8, 0});
    WORD("LEA.HI.SX32 R6, R4, R5, 0x0", {0x80000000, 1, 0, 0, 0, 0}, {0x70000000, 1, 0, 0, 1, 0});
    WORD("LEA R6, P0, R4, R5, 0x1f", {1, 0x80000000, 0, 0, 0, 1}, {2, 0x80000000, 0, 1, 0x80000000, 0});
    WORD("LEA.HI.X R6, R4, ~R5, R7, 0x4, P0", {0xf0000000, 0xf, 0, 1, 0, 1}, {0xf0000000, 0xf, 1, 0, 0xf, 0});
}

static void products(void **state) {
    (void)state;
    // {R9:R8} = R4 * R5 + {R7:R6}
    static const row unsigned_out[] = {{{ONES, ONES, ONES, 1, 7, 7}, 0, {ONES, ONES, ONES, 1, 0, 0}, 1},
                                       {{ONES, ONES, 0, 0, 7, 7}, 1, {ONES, ONES, 0, 0, 1, ONES - 1}, 0}};
    check((const char *[]){"IMAD.WIDE.U32 R8, P0, R4, R5, R6", NULL}, unsigned_out, 2);
    static const row negated[] = {{{2, 3, 6, 0, 7, 7}, 0, {2, 3, 6, 0, 0, 0}, 1},
                                  {{2, 3, 7, 0, 7, 7}, 1, {2, 3, 7, 0, ONES, ONES}, 0}};
    check((const char *[]){"IMAD.WIDE R8, P0, R4, R5, -R6", NULL}, negated, 2);
    static const row inverted[] = {{{2, 3, 5, 0, 7, 7}, 1, {2, 3, 5, 0, 1, 0}, 1},
                                   {{2, 3, 5, 0, 7, 7}, 0, {2, 3, 5, 0, 0, 0}, 0}};
    check((const char *[]){"IMAD.WIDE.U32.X R8, R4, R5, ~R6, P0", NULL}, inverted, 2);
    // .HI adds a pair too: the lower words carry
    static const row high[] = {{{ONES, 1, 1, 5, 7, 7}, 0, {ONES, 1, 1, 5, 5, 7}, 0},
                               {{ONES, 1, 0, 5, 7, 7}, 0, {ONES, 1, 0, 5, 4, 7}, 0}};
    check((const char *[]){"IMAD.HI R8, R4, R5, R6", NULL}, high, 2);
    static const row high_out[] = {{{ONES, ONES, ONES, 1, 7, 7}, 0, {ONES, ONES, ONES, 1, 0, 7}, 1}};
    check((const char *[]){"IMAD.HI.U32 R8, P0, R4, R5, R6", NULL}, high_out, 1);
}

static void uniform(void **state) {
    (void)state;
    static const row sum[] = {{{ONES, ONES, 1, 0, 7, 7}, 0, {ONES, ONES, 0, 0, 7, 7}, 0}};
    check((const char *[]){"R2UR UR8, R4", "R2UR UR9, R5", "R2UR UR10, R6", "R2UR UR11, R7",
                           "UIADD3.64 UR14, UP0, UR8, UR10, URZ", "MOV R6, UR14", "MOV R7, UR15", NULL},
          sum, 1);
    static const row less[] = {{{0, 5, 1, 2, 10, 20}, 0, {0, 5, 9, 23, 10, 20}, 0}}; // 5:0 - 2:1 + 20:10
    check((const char *[]){"R2UR UR8, R4", "R2UR UR9, R5", "R2UR UR10, R6", "R2UR UR11, R7", "R2UR UR12, R8",
                           "R2UR UR13, R9", "UIADD3.64 UR14, UR8, -UR10, UR12", "MOV R6, UR14",
                           "MOV R7, UR15", NULL},
          less, 1);
}

static void comparisons(void **state) {
    (void)state;
    WORD("ISETP.LT.AND P3, P4, R4, R5, P0", {ONES, 0, 0, 0x11, SAME, 0x09}, {ONES, 0, 0, 0x18, SAME, 0},
         {1, 0, 0, 0x09, SAME, 0x11});
    WORD("ISETP.LT.U32.XOR P3, P4, R4, R5, !P0", {ONES, 0, 0, 0, SAME, 0x08}, {ONES, 0, 0, 1, SAME, 0x11});
    // where the words are the same the lower ones have decided: P1
    WORD("ISETP.GE.OR.EX P3, P4, R4, R5, P0, P1", {5, 5, 0, 2, SAME, 0x0a}, {5, 5, 0, 0, SAME, 0x10},
         {6, 5, 0, 0, SAME, 0x08}, {4, 5, 0, 2, SAME, 0x12}, {4, 5, 0, 1, SAME, 0x19});
    WORD("ISETP.F.AND P3, P4, R4, R5, PT", {1, 2, 0, 0x08, SAME, 0x10});
    WORD("ISETP.T.AND P3, P4, R4, R5, P0", {1, 2, 0, 0x11, SAME, 0x09}, {1, 2, 0, 0x18, SAME, 0});
    WORD("IMNMX R6, R4, R5, P0", {ONES, 1, 0, 1, ONES, 1}, {ONES, 1, 0, 0, 1, 0});
    WORD("VIMNMX.S16x2 R6, P3, P4, R4, R5, P0", {0x0001ffff, 0xffff0001, 0, 0x11, 0xffffffff, 0x09},
         {0x0001ffff, 0xffff0001, 0, 0x08, 0x00010001, 0x10});
}

static void predicates(void **state) {
    (void)state;
    WORD("PLOP3.LUT P3, P4, P0, P1, P2, 0xca, 0x96", {0, 0, 0, 3, SAME, 0x0b}, {0, 0, 0, 0x1d, SAME, 0x05},
         {0, 0, 0, 4, SAME, 0x1c}); // P0 ? P1 : P2, and the parity of the three
    WORD("PLOP3.LUT P3, PT, P0, P1, PT, 0x40, 0x0", {0, 0, 0, 0x0b, SAME, 3});
    WORD("PLOP3.LUT P3, PT, P0, !P1, !P2, 0xfe, 0x0", {0, 0, 0, 0x0e, SAME, 6}, {0, 0, 0, 2, SAME, 0x0a});
    WORD("P2R R6, PR, R5, 0x7f", {0, 0xabcdef80, 0, 0x2a, 0xabcdefaa, 0x2a});
    WORD("R2P PR, R4.B1, 0x3", {0x200, 0, 0, 0x7d, SAME, 0x7e});
    WORD("R2P PR, R4, 0x55", {0x0f, 0, 0, 0x70, SAME, 0x25});
}

static void bits(void **state) {
    (void)state;
    WORD("SHF.R.S64 R6, R4, R5, R7", {0, 60, 0x80000000, 0, 0xfffffff8, 0}, {0, 100, 0x80000000, 0, ONES, 0},
         {0, 4, 0x80000000, 0, 0, 0}, {0x12345678, 0, ONES, 0, 0x12345678, 0});
    WORD("SHF.R.W.U64 R6, R4, R5, R7", {0x10, 68, 0xf, 0, 0xf0000001, 0}, {0x10, 36, 0xff, 0, 0xf, 0});
    WORD("SHF.L.U64.HI R6, R4, R5, R7", {0xff, 36, 1, 0, 0xff0, 0}, {0xff, 64, 1, 0, 0, 0},
         {0x80000000, 1, 1, 0, 3, 0});
    WORD("SHF.L.W.U32.HI R6, R4, R5, R7", {0x80000000, 33, 0x40000000, 0, 0x80000001, 0});
    WORD("SHF.R.S32.HI R6, R4, R5, R7", {0, 40, 0x80000000, 0, ONES, 0},
         {ONES, 4, 0x80000000, 0, 0xf8000000, 0});
    WORD("SHF.L.U32 R6, R4, R5, R7", {1, 32, ONES, 0, 0, 0}, {1, 31, ONES, 0, 0x80000000, 0});
    WORD("POPC R6, ~R4", {0xffff0000, 0, 0, 0, 16, 0});
    WORD("FLO.U32 R6, ~R4", {ONES, 0, 0, 0, ONES, 0}, {ONES - 1, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 31, 0});
    WORD("FLO.SH R6, R4", {0xfffffff0, 0, 0, 0, 28, 0}, {0, 0, 0, 0, ONES, 0});
    // With f0, cc, aa for a, b, c the result is the table itself; above them bit 0 of it.
    WORD("LOP3.LUT P3, R6, R4, R5, R7, 0x1b, !PT", {0xf0, 0xcc, 0xaa, 0, 0xffffff1b, 8},
         {ONES, ONES, ONES, 8, 0, 0});
    WORD("LOP3.LUT P3, RZ, R4, R5, RZ, 0xc0, !PT", {6, 3, 0, 0, SAME, 8}, {6, 9, 0, 8, SAME, 0});
    WORD("LOP3.LUT.PAND P3, RZ, R4, R5, RZ, 0xc0, P0", {6, 3, 0, 1, SAME, 9}, {6, 3, 0, 8, SAME, 0},
         {6, 9, 0, 1, SAME, 1});
    WORD("LOP3.LUT P3, RZ, R4, R5, RZ, 0xc0, P0", {6, 9, 0, 1, SAME, 9}, {6, 9, 0, 8, SAME, 0},
         {6, 3, 0, 0, SAME, 8});
    WORD("LOP3.LUT R6, R4, R5, RZ, 0x3, !PT", {0xf0, 0x0f, 0, 0, 0xffffff00, 0});
    WORD("LOP3.LUT R6, R4, R5, RZ, 0xf3, !PT", {0x0f, 0xff, 0, 0, 0xffffff0f, 0});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits_and_text), cmocka_unit_test(sums),
                                       cmocka_unit_test(shifted_sums),  cmocka_unit_test(products),
                                       cmocka_unit_test(uniform),       cmocka_unit_test(comparisons),
                                       cmocka_unit_test(predicates),    cmocka_unit_test(bits)};
    return cmocka_run_group_tests(tests, set_codes, NULL);
}
