// The table: encoding.def's rows, and the macros they are written with.
#include "sass/table.h"

// clang-format off
// architectures
#define ANY         70, 255
#define FROM(a)     (a), 255
#define UPTO(a)     70, (a)
#define BETWEEN(a, b) (a), (b)
// forms
#define F1     0x02
#define F2     0x04
#define F3     0x08
#define F4     0x10
#define F5     0x20
#define F6     0x40
#define F7     0x80
#define F14    (F1 | F4)
#define F23    (F2 | F3)
#define F46    (F4 | F6)
#define F67    (F6 | F7)
#define F124   (F1 | F2 | F4)
#define F146   (F1 | F4 | F6)
#define F156   (F1 | F5 | F6)
#define F1235  (F1 | F2 | F3 | F5)
#define F1237  (F1 | F2 | F3 | F7)
#define F37    (F3 | F7)
#define F1456  (F1 | F4 | F5 | F6)
#define F12456 (F1 | F2 | F4 | F5 | F6)
#define F12467 (F1 | F2 | F4 | F6 | F7)
#define FALL   0xfe
#define UNI    (ROW_U | ROW_UP)
// conditions
#define WHEN(...)          {__VA_ARGS__}
#define EQ(bit, width, v)  {WHEN_EQ, bit, width, v}
#define NE(bit, width, v)  {WHEN_NE, bit, width, v}
#define POW2(bit, width)   {WHEN_POW2, bit, width, 0}
#define PLAIN_C            {WHEN_PLAIN_C, 0, 0, 0}
// modifiers
#define MODS(...)                        {__VA_ARGS__}
#define MOD(kind, bit, width)            {ORR_SM_##kind, bit, width, 0, 0, 0, 0}
#define MODH(kind, bit, width, h)        {ORR_SM_##kind, bit, width, 0, 0, 0, (h) + 1}
#define MOD2(kind, b, w, b2, w2)         {ORR_SM_##kind, b, w, b2, w2, 0, 0}
#define MOD2H(kind, b, w, b2, w2, h)     {ORR_SM_##kind, b, w, b2, w2, 0, (h) + 1}
#define MODF(kind, bit, width, v)        {ORR_SM_##kind, bit, width, 0, 0, 1, 0} // a flag, set where the bit is v = 0
#define FIX(kind, v)                     {ORR_SM_##kind, 0, 0, 0, 0, v, 0}
// operands
#define ARGS(...)       {__VA_ARGS__}
#define NONE            {.kind = SLOT_NONE}
#define DST             SLOT_DST
#define R_(b, ...)      {.kind = SLOT_R, .bit = (b), __VA_ARGS__}
#define RD              {.kind = SLOT_R, .bit = 16, .flags = SLOT_DST}
#define RDx             {.kind = SLOT_R, .bit = 16, .flags = SLOT_DST | SLOT_HIDE}
#define R(b)            {.kind = SLOT_R, .bit = (b)}
#define R2(b)           {.kind = SLOT_R, .bit = (b), .shift = 2}
#define RA              {.kind = SLOT_R, .bit = 24}
#define RAx             {.kind = SLOT_R, .bit = 24, .flags = SLOT_HIDE}
#define RAn             {.kind = SLOT_R, .bit = 24, .neg = 72}
#define RAi             {.kind = SLOT_R, .bit = 24, .neg = 72, .flags = SLOT_INV}
#define RAna            {.kind = SLOT_R, .bit = 24, .neg = 72, .abs = 73}
#define RAbyte          {.kind = SLOT_R, .bit = 24, .sub = ORR_SM_BYTE, .subbit = 76, .subwidth = 2}
#define Rneg(b, n)      {.kind = SLOT_R, .bit = (b), .neg = (n)}
#define Rna(b, n, a)    {.kind = SLOT_R, .bit = (b), .neg = (n), .abs = (a)}
#define Rrow(b, s)      {.kind = SLOT_R, .bit = (b), .sub = ORR_SM_ROW, .subbit = (s), .subwidth = 1}
#define Rrown(b, s, n)  {.kind = SLOT_R, .bit = (b), .neg = (n), .sub = ORR_SM_ROW, .subbit = (s), .subwidth = 1}
#define Rsign(b)        {.kind = SLOT_R, .bit = (b), .sub = ORR_SM_SIGN1}
#define UR_(b, f)       {.kind = SLOT_UR, .bit = (b), .flags = (f)}
#define URinv(b, n)     {.kind = SLOT_UR, .bit = (b), .neg = (n), .flags = SLOT_INV}
#define URx(b)          {.kind = SLOT_UR, .bit = (b), .flags = SLOT_DST | SLOT_HIDE}
#define PD(b)           {.kind = SLOT_P, .bit = (b), .flags = SLOT_DST}
#define PDo(b)          {.kind = SLOT_P, .bit = (b), .flags = SLOT_DST | SLOT_OPT}
#define PDx(b)          {.kind = SLOT_P, .bit = (b), .flags = SLOT_DST | SLOT_HIDE}
#define UPD(b)          {.kind = SLOT_UP, .bit = (b), .flags = SLOT_DST}
#define PS(b, n)        {.kind = SLOT_P, .bit = (b), .neg = (n)}
#define PSo(b, n)       {.kind = SLOT_P, .bit = (b), .neg = (n), .flags = SLOT_OPT}
#define PSx(b, n)       {.kind = SLOT_P, .bit = (b), .neg = (n), .flags = SLOT_HIDE}
#define PSr(b, n)       {.kind = SLOT_P, .bit = (b), .neg = (n), .flags = SLOT_OPT | SLOT_REV}
#define PU(b, n)        {.kind = SLOT_PU, .bit = (b), .neg = (n)}
#define UPS(b, n)       {.kind = SLOT_UP, .bit = (b), .neg = (n)}
#define UPSr(b, n)      {.kind = SLOT_UP, .bit = (b), .neg = (n), .flags = SLOT_OPT | SLOT_REV}
#define UPSo(b, n)      {.kind = SLOT_UP, .bit = (b), .neg = (n), .flags = SLOT_OPT}
#define BAR(b, w, f)    {.kind = SLOT_BAR, .bit = (b), .width = (w), .flags = (f)}
#define SB(b)           {.kind = SLOT_SB, .bit = (b)}
#define V_(s, ...)      {.kind = SLOT_V, .style = IMM_##s, __VA_ARGS__}
#define V(s)            V_(s, .neg = 0)
#define Vx(s)           V_(s, .flags = SLOT_HIDE)
#define Vn(s)           V_(s, .neg = 1)
#define Vi(s)           V_(s, .neg = 1, .flags = SLOT_INV)
#define Vna(s)          V_(s, .neg = 1, .abs = 1)
#define Vsign           V_(U, .sub = ORR_SM_SIGN1)
#define Vcvt            V_(F32, .neg = 1, .abs = 1, .sub = ORR_SM_H1, .subbit = 60, .subwidth = 2)
#define Vbyte           V_(U, .sub = ORR_SM_BYTE, .subbit = 60, .subwidth = 2)
#define Vmufu           V_(F32, .neg = 1, .abs = 1, .sub = ORR_SM_H1, .subbit = 60, .subwidth = 2)
#define V16             V_(U, .width = 16)
#define B_(s, ...)      {.kind = SLOT_B, .style = IMM_##s, __VA_ARGS__}
#define B(s)            B_(s, .neg = 0)
#define Bn(s)           B_(s, .neg = 1)
#define Bi(s)           B_(s, .neg = 1, .flags = SLOT_INV)
#define Bna(s)          B_(s, .neg = 1, .abs = 1)
#define C_(s, ...)      {.kind = SLOT_C, .style = IMM_##s, __VA_ARGS__}
#define C(s)            C_(s, .neg = 0)
#define Cx(s)           C_(s, .flags = SLOT_HIDE)
#define Cn(s)           C_(s, .neg = 1)
#define Ci(s)           C_(s, .neg = 1, .flags = SLOT_INV)
#define Cna(s)          C_(s, .neg = 1, .abs = 1)
#define Chx             C_(F32, .flags = SLOT_HIDE, .sub = ORR_SM_H1, .subbit = 72, .subwidth = 1)
#define Bh1             B_(F32, .sub = ORR_SM_H1, .subbit = 88, .subwidth = 1)
#define Ch1             C_(F32, .sub = ORR_SM_H1, .subbit = 72, .subwidth = 1)
#define HA              {.kind = SLOT_HA, .sub = ORR_SM_SWZ, .subwidth = 2}
#define HAn             {.kind = SLOT_HA, .sub = ORR_SM_SWZ, .subwidth = 2, .style = 1} // no absolute value
#define HVs             {.kind = SLOT_HV, .sub = ORR_SM_SWZ, .subwidth = 2, .style = 1} // an immediate is one half
#define HV              {.kind = SLOT_HV, .sub = ORR_SM_SWZ, .subwidth = 2}
#define HB              {.kind = SLOT_HB, .sub = ORR_SM_SWZ, .subwidth = 2}
#define HC              {.kind = SLOT_HC, .sub = ORR_SM_SWZ, .subwidth = 2}
#define HAp             {.kind = SLOT_HA}
#define HBp             {.kind = SLOT_HB}
#define HCp             {.kind = SLOT_HC}
#define INT(b, w, s)    {.kind = SLOT_INT, .bit = (b), .width = (w), .style = IMM_##s}
#define INTo(b, w)      {.kind = SLOT_INT, .bit = (b), .width = (w), .flags = SLOT_OPT}
#define INTdef(b, w)    {.kind = SLOT_INT, .bit = (b), .width = (w), .flags = SLOT_OPT | SLOT_TRUE} // all ones
#define INT2(b, b2, w2) {.kind = SLOT_INT2, .bit = (b), .subbit = (b2), .subwidth = (w2)}
#define LDC             {.kind = SLOT_LDC}
#define LDCX            {.kind = SLOT_LDCX}
#define ULDC            {.kind = SLOT_ULDC}
#define ULDCI           {.kind = SLOT_ULDCI}
#define MEM             {.kind = SLOT_MEM}
#define MEMwide         {.kind = SLOT_MEM, .width = 32}
#define MEMx            {.kind = SLOT_MEM, .sub = ORR_SM_XSCALE, .subbit = 78, .subwidth = 2}
#define MEMU32          {.kind = SLOT_MEMU32}
#define MEMU32x         {.kind = SLOT_MEMU32, .sub = ORR_SM_XSCALE, .subbit = 78, .subwidth = 2}
#define MEMU64          {.kind = SLOT_MEMU64}
#define MEMU64x         {.kind = SLOT_MEMU64, .sub = ORR_SM_XSCALE, .subbit = 78, .subwidth = 2}
#define GLOBAL32        {.kind = SLOT_GLOBAL, .bit = 32, .neg = 76, .abs = 90, .subbit = 91}
#define GLOBAL32t       {.kind = SLOT_GLOBAL, .bit = 32, .abs = 90, .subbit = 91}
#define GLOBAL64t       {.kind = SLOT_GLOBAL, .bit = 64, .abs = 90, .subbit = 91}
#define GLOBAL64        {.kind = SLOT_GLOBAL, .bit = 64, .neg = 76, .abs = 90, .subbit = 91}
#define ATOM            {.kind = SLOT_GLOBAL, .bit = 64, .neg = 71, .abs = 70}
#define ATOM_(desc)     {.kind = SLOT_GLOBAL, .bit = 64, .neg = (desc), .abs = 63, .width = 23}
#define LDGMC_          {.kind = SLOT_GLOBAL, .bit = 64, .neg = 82, .abs = 81}
#define RED_            {.kind = SLOT_GLOBAL, .bit = 64, .neg = 81, .abs = 90, .subbit = 91}
#define RED             {.kind = SLOT_GLOBAL, .bit = 64, .neg = 71, .abs = 90, .subbit = 91}
#define STASMEM         {.kind = SLOT_GLOBAL, .bit = 64, .abs = 90, .shift = 1}
#define LDCU            {.kind = SLOT_LDCU}
#define TMEM(b, w)      {.kind = SLOT_TMEM, .bit = (b), .width = (w)}
#define IDESC(b)        {.kind = SLOT_IDESC, .bit = (b)}
#define UOPT(b)         {.kind = SLOT_UOPT, .bit = (b)}
#define LONG            {.kind = SLOT_LONG}
#define Rpair(b, n, a, s) {.kind = SLOT_R, .bit = (b), .neg = (n), .abs = (a), .sub = ORR_SM_PAIR, .subbit = (s), .subwidth = 3}
#define RDopt(b)        {.kind = SLOT_P, .bit = (b), .flags = SLOT_DST}
#define UMEM            {.kind = SLOT_UMEM}
#define BRACKET(b)      {.kind = SLOT_BRACKET, .bit = (b)}
#define Ropt(b)         {.kind = SLOT_R, .bit = (b), .flags = SLOT_OPT}
#define UBR(b)          {.kind = SLOT_UBRACKET, .bit = (b)}
#define UBR1(b)         {.kind = SLOT_UBRACKET, .bit = (b), .shift = 1}
#define UDESC(b)        {.kind = SLOT_UDESC, .bit = (b)}
#define ASYNC_DST       {.kind = SLOT_ASYNC_DST}
#define ASYNC_SRC       {.kind = SLOT_ASYNC_SRC}
#define SREG(b)         {.kind = SLOT_SREG, .bit = (b)}
#define REL             {.kind = SLOT_REL}
#define REL24           {.kind = SLOT_REL24}
#define REL32           {.kind = SLOT_REL32}
#define ABS             {.kind = SLOT_ABS}
#define RREL            {.kind = SLOT_RREL, .bit = 24}
#define RABS            {.kind = SLOT_RABS, .bit = 24}
#define RABS0           {.kind = SLOT_RABS, .bit = 24, .width = 1}
#define URREL           {.kind = SLOT_RREL, .bit = 24, .width = 6}
#define URABS           {.kind = SLOT_RABS, .bit = 24, .shift = 6}
#define URABS0          {.kind = SLOT_RABS, .bit = 24, .width = 1, .shift = 6}
#define ROFF            {.kind = SLOT_ROFF, .bit = 24}
#define UROFF           {.kind = SLOT_ROFF, .bit = 24, .width = 6}
#define WORD(k, b, w)   {.kind = SLOT_WORD, .sub = ORR_SM_##k, .bit = (b), .width = (w)}
#define WORDo(k, b, w)  {.kind = SLOT_WORD, .sub = ORR_SM_##k, .bit = (b), .width = (w), .flags = SLOT_OPT}
#define MASK(b, w)      {.kind = SLOT_MASK, .bit = (b), .width = (w), .flags = SLOT_OPT}
#define NAME(n)         {.kind = SLOT_FIXED, .bit = ORR_SV_FIXED_##n}
#define GDESC(b)        {.kind = SLOT_GDESC, .bit = (b)}
#define SWZADD(b)       {.kind = SLOT_SWZADD, .bit = (b)}
// clang-format on

#define ROW(name, ...) {ORR_SASS_##name, __VA_ARGS__},

const sass_row sass_rows[] = {
#include "sass/encoding.def"
};
const unsigned sass_nrows = sizeof sass_rows / sizeof sass_rows[0];
