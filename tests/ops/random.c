// Made-up sequences of integer instructions. A single PTX instruction shows ptxas little to work with:
// sequences make it fuse (LEA, three-input adds and logic, multiply-adds), carry over words, and keep
// predicates. Every value made on the way goes into the result, so that nothing is dropped.
//
// Not here, because of ptxas 13.0: a negation, of which it is taken for granted that it does not overflow,
// and a bit field of a uniform value at a place that is not uniform, whose result is taken for uniform. (A
// LOP3 with a source named twice and an AND after it goes wrong as well; that is rare enough for other
// seeds.)
//
// The choice is pseudo-random and the same everywhere: machine code compiled from it stays valid.
#include <stdlib.h>
#include <string.h>

#include "ops.h"

typedef struct gen {
    orr_text *t;
    uint64_t state;
    int w, d, p; // values so far
} gen;

static uint32_t below(gen *g, uint32_t n) {
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->state >> 33) % n;
}

// Templates: %w %d %p a value, %W %D %P a new one, %i an immediate, %n a shift, %l a table of LOP3, %s a
// selector, %v a value or an immediate of 32 bits, %u the same of 64.
static const char *const templates[] = {
    "add.s32 %W, %w, %v",
    "add.s32 %W, %w, %v",
    "sub.s32 %W, %w, %w",
    "sub.s32 %W, %i, %w",
    "mul.lo.s32 %W, %w, %v",
    "mad.lo.s32 %W, %w, %v, %w",
    "mad.hi.s32 %W, %w, %w, %w",
    "mad.hi.u32 %W, %w, %v, %w",
    "mul.hi.u32 %W, %w, %v",
    "mul.wide.u32 %D, %w, %v",
    "mul.wide.s32 %D, %w, %v",
    "mad.wide.u32 %D, %w, %w, %d",
    "mad.wide.s32 %D, %w, %v, %d",
    "add.s64 %D, %d, %u",
    "sub.s64 %D, %d, %d",
    "mul.lo.s64 %D, %d, %d",
    "mul.hi.u64 %D, %d, %d",
    "mul.hi.s64 %D, %d, %d",
    "mad.lo.s64 %D, %d, %u, %d",
    "neg.s64 %D, %d",
    "abs.s64 %D, %d",

    "abs.s32 %W, %w",
    "sad.u32 %W, %w, %w, %w",
    "sad.s32 %W, %w, %w, %w",
    "add.cc.u32 %W, %w, %w;addc.cc.u32 %W, %w, %w;addc.u32 %W, %w, %w",
    "sub.cc.u32 %W, %w, %w;subc.cc.u32 %W, %w, %w;subc.u32 %W, %w, %v",
    "mad.lo.cc.u32 %W, %w, %w, %w;madc.hi.u32 %W, %w, %w, %w",
    "add.cc.u64 %D, %d, %d;addc.u64 %D, %d, %d",
    "sub.cc.u64 %D, %d, %d;subc.u64 %D, %d, %d",
    "mad.lo.cc.u64 %D, %d, %d, %d;madc.hi.u64 %D, %d, %d, %d",
    "and.b32 %W, %w, %v",
    "or.b32 %W, %w, %v",
    "xor.b32 %W, %w, %v",
    "not.b32 %W, %w",
    "and.b64 %D, %d, %u",
    "or.b64 %D, %d, %d",
    "xor.b64 %D, %d, %d",
    "lop3.b32 %W, %w, %w, %w, %l",
    "lop3.b32 %W, %w, %v, %w, %l",
    "lop3.b32 %W, %w, %w, %w, %l",
    "cnot.b32 %W, %w",
    "shl.b32 %W, %w, %n",
    "shl.b32 %W, %w, %w",
    "shr.u32 %W, %w, %n",
    "shr.s32 %W, %w, %w",
    "shr.u32 %W, %w, %w",
    "shr.s32 %W, %w, %n",
    "shl.b64 %D, %d, %n",
    "shl.b64 %D, %d, %w",
    "shr.u64 %D, %d, %n",
    "shr.s64 %D, %d, %n",
    "shr.s64 %D, %d, %w",
    "shr.u64 %D, %d, %w",
    "shf.l.wrap.b32 %W, %w, %w, %n",
    "shf.r.wrap.b32 %W, %w, %w, %w",
    "shf.l.clamp.b32 %W, %w, %w, %w",
    "shf.r.clamp.b32 %W, %w, %w, %n",
    "bfe.u32 %W, %w, %n, 7",
    "bfe.s32 %W, %w, 5, %n",

    "bfi.b32 %W, %w, %w, %n, 9",
    "bfi.b32 %W, %w, %w, %w, %w",
    "prmt.b32 %W, %w, %w, %s",
    "prmt.b32 %W, %w, %w, %w",
    "prmt.b32 %W, %w, %i, %s",
    "popc.b32 %W, %w",
    "clz.b32 %W, %w",
    "brev.b32 %W, %w",
    "bfind.u32 %W, %w",
    "bfind.s32 %W, %w",
    "bfind.shiftamt.u32 %W, %w",
    "popc.b64 %W, %d",
    "clz.b64 %W, %d",
    "min.s32 %W, %w, %v",
    "max.s32 %W, %w, %w",
    "min.u32 %W, %w, %w",
    "max.u32 %W, %w, %v",
    "min.s64 %D, %d, %d",
    "max.u64 %D, %d, %d",
    "min.s16x2 %W, %w, %w",
    "max.u16x2 %W, %w, %w",
    "max.relu.s32 %W, %w, %w",
    "min.relu.s16x2 %W, %w, %w",
    "add.u16x2 %W, %w, %w",
    "add.s32 %W, %w, %w;max.s32 %W, %0, %w",
    "add.s32 %W, %w, %w;min.u32 %W, %0, %w",
    "max.s32 %W, %w, %w;max.s32 %W, %0, %w",
    "min.u32 %W, %w, %w;min.u32 %W, %0, %w",
    "add.u16x2 %W, %w, %w;max.s16x2 %W, %0, %w",
    "shl.b32 %W, %w, %n;add.s32 %W, %0, %w",
    "shl.b32 %W, %w, 3;sub.s32 %W, %w, %0",
    "shl.b32 %W, %w, 4;sub.s32 %W, %0, %w",
    "shl.b64 %D, %d, 3;add.s64 %D, %^, %d",
    "shl.b64 %D, %d, 5;sub.s64 %D, %d, %^",
    "shl.b64 %D, %d, 2;sub.s64 %D, %^, %d",
    "add.s32 %W, %w, %w;add.s32 %W, %0, %w",
    "add.s32 %W, %w, %w;sub.s32 %W, %0, %w",
    "sub.s32 %W, %w, %w;sub.s32 %W, %0, %w",
    "mul.lo.s32 %W, %w, %w;sub.s32 %W, %0, %w",
    "setp.lt.s32 %P, %w, %v",
    "setp.ge.u32 %P, %w, %w",
    "setp.eq.s32 %P, %w, %v",
    "setp.ne.s64 %P, %d, %d",
    "setp.lt.s64 %P, %d, %d",
    "setp.ge.u64 %P, %d, %d",
    "setp.le.s64 %P, %d, %u",
    "setp.gt.u64 %P, %d, %u",
    "setp.lt.and.s32 %P|%P, %w, %w, %p",
    "setp.gt.or.u32 %P|%P, %w, %w, !%p",
    "setp.le.xor.s32 %P, %w, %w, %p",
    "setp.lt.or.s64 %P|%P, %d, %d, %p",
    "setp.ge.xor.u64 %P, %d, %d, !%p",
    "and.pred %P, %p, %p",
    "or.pred %P, %p, %p",
    "xor.pred %P, %p, %p",
    "not.pred %P, %p",
    "selp.b32 %W, %w, %v, %p",
    "selp.b64 %D, %d, %d, %p",
    "selp.b32 %W, %i, %w, %p",
    "and.b32 %W, %w, %i;setp.ne.s32 %P, %0, 0",
    "or.b32 %W, %w, %w;setp.eq.s32 %P, %0, 0",
    "xor.b32 %W, %w, %w;setp.ne.and.s32 %P, %0, 0, %p",
    "set.lt.u32.s32 %W, %w, %w",
    "slct.s32.s32 %W, %w, %w, %w",
    "cvt.s64.s32 %D, %w",
    "cvt.u64.u32 %D, %w",
    "cvt.u32.u64 %W, %d",
    "cvt.s32.s8 %W, %w",
    "cvt.u32.u8 %W, %w",
    "cvt.s32.s16 %W, %w",
    "mov.b64 %D, {%w, %w}",
    "mov.b64 {%W, %W}, %d",
    "div.u32 %W, %w, 7",
    "rem.s32 %W, %w, 10",
    "div.s32 %W, %w, 16",
    "rem.u32 %W, %w, %w",
    "div.s64 %D, %d, 1000",
    "div.u64 %D, %d, 3",
    "dp4a.s32.s32 %W, %w, %w, %w",
    "dp4a.u32.s32 %W, %w, %w, %w",
    "dp2a.lo.s32.u32 %W, %w, %w, %w",
    "dp2a.hi.u32.u32 %W, %w, %w, %w",
    "vabsdiff4.u32.u32.u32.add %W, %w, %w, %w",
    "vabsdiff.s32.u32.u32 %W, %w, %w",
    "szext.clamp.s32 %W, %w, %w",
    "szext.wrap.u32 %W, %w, %n",
    "bmsk.clamp.b32 %W, %w, %w",
    "bmsk.wrap.b32 %W, %n, %w",
    "mul24.lo.s32 %W, %w, %w",
    "mad24.lo.u32 %W, %w, %w, %w",
    "@%p add.s32 %w, %w, %v",
    "@!%p xor.b32 %w, %w, %w",
    "@%p mov.b64 %d, %d",
    "@!%p shl.b32 %w, %w, %n",
    "@%p sub.s64 %d, %d, %d",
    "@%p setp.lt.s32 %p, %w, %w",
    "@!%p mad.lo.s32 %w, %w, %w, %w",
};

static uint32_t immediate(gen *g) {
    static const uint32_t some[] = {0,       1,          2,          3,          4,          8,
                                    16,      31,         32,         255,        256,        0xffff,
                                    0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff8, 0xff00ff00};
    return below(g, 2) ? some[below(g, sizeof some / sizeof *some)] : below(g, 0x7fffffff) * 2654435761u;
}

static void step(gen *g, const char *s) {
    int first = g->w, wide = g->d; // what %0 and %^ name: the first new values of the step
    int w = g->w, d = g->d, p = g->p;
    int fresh_w = 0, fresh_d = 0, fresh_p = 0;
    for (; *s; s++) {
        if (*s == ';') { // the next instruction sees what this one made
            w = g->w + fresh_w, d = g->d + fresh_d, p = g->p + fresh_p;
            orr_text_add(g->t, ";\n");
            continue;
        }
        if (*s != '%') {
            orr_text_add(g->t, "%c", *s);
            continue;
        }
        switch (*++s) {
        case 'W': orr_text_add(g->t, "%%w%d", g->w + fresh_w++); break;
        case 'D': orr_text_add(g->t, "%%d%d", g->d + fresh_d++); break;
        case 'P': orr_text_add(g->t, "%%p%d", g->p + fresh_p++); break;
        case '0': orr_text_add(g->t, "%%w%d", first); break;
        case '^': orr_text_add(g->t, "%%d%d", wide); break;
        case 'w': orr_text_add(g->t, "%%w%u", below(g, (uint32_t)w)); break;
        case 'd': orr_text_add(g->t, "%%d%u", below(g, (uint32_t)d)); break;
        case 'p': orr_text_add(g->t, "%%p%u", below(g, (uint32_t)p)); break;
        case 'i': orr_text_add(g->t, "%u", immediate(g)); break;
        case 'n': orr_text_add(g->t, "%u", below(g, 32)); break;
        case 'l': orr_text_add(g->t, "%u", below(g, 256)); break;
        case 's': orr_text_add(g->t, "%u", below(g, 0x10000)); break;
        case 'v':
            if (below(g, 2))
                orr_text_add(g->t, "%%w%u", below(g, (uint32_t)w));
            else
                orr_text_add(g->t, "%u", immediate(g));
            break;
        default: // u
            if (below(g, 2))
                orr_text_add(g->t, "%%d%u", below(g, (uint32_t)d));
            else
                orr_text_add(g->t, "%d", (int32_t)immediate(g));
        }
    }
    orr_text_add(g->t, ";\n");
    g->w += fresh_w;
    g->d += fresh_d;
    g->p += fresh_p;
}

static void kernel(orr_text *t, int n, int seed) {
    gen g = {
        .t = t, .state = (uint64_t)(n + 100000 * seed) * 0x9e3779b97f4a7c15u + 12345, .w = 8, .d = 3, .p = 2};
    for (int i = 0; i < 4; i++) below(&g, 2);
    orr_text_add(
        t,
        ".visible .entry op%d(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %%d<40>; .reg .b32 %%w<60>; "
        ".reg .pred %%p<30>; .reg .b64 %%a<4>; .reg .b32 %%t<4>;\n",
        n);
    orr_text_add(
        t, "mov.u32 %%t0, %%ctaid.x; mov.u32 %%t1, %%ntid.x; mov.u32 %%t2, %%tid.x; mad.lo.s32 %%t3, %%t0, "
           "%%t1, %%t2;\nmul.wide.u32 %%a0, %%t3, 8; ld.param.u64 %%a1, [in]; add.s64 %%a1, %%a1, %%a0; "
           "ld.param.u64 %%a2, [out]; add.s64 %%a2, %%a2, %%a0;\n");
    for (int i = 0; i < 3; i++) // the integers of sources 0, 1, 2
        orr_text_add(t, "ld.global.u64 %%d%d, [%%a1+%d];\nmov.b64 {%%w%d, %%w%d}, %%d%d;\n", i,
                     i * 6 * OPS_N * 8, 2 * i, 2 * i + 1, i);
    // The same in every lane: the uniform data path.
    orr_text_add(t, "mul.lo.s32 %%w6, %%t0, -1640531527; mad.lo.s32 %%w7, %%t1, %%t0, 77;\n"
                    "setp.lt.u32 %%p0, %%w0, %%w2; setp.gt.s32 %%p1, %%w6, 5;\n");
    int steps = 12 + (int)below(&g, 14);
    for (int i = 0; i < steps && g.w < 50 && g.d < 34 && g.p < 26; i++)
        step(&g, templates[below(&g, sizeof templates / sizeof *templates)]);
    orr_text_add(t, "mov.u64 %%a3, 0;\n");
    for (int i = 0; i < g.w; i++)
        orr_text_add(
            t,
            "mul.wide.u32 %%a0, %%w%d, %d; xor.b64 %%a3, %%a3, %%a0; shf.l.wrap.b32 %%t0, %%w%d, %%w%d, 7; "
            "cvt.u64.u32 %%a0, %%t0; add.s64 %%a3, %%a3, %%a0;\n",
            i, 2 * i + 3, i, i);
    for (int i = 0; i < g.d; i++)
        orr_text_add(
            t,
            "shl.b64 %%a0, %%d%d, %d; add.s64 %%a3, %%a3, %%a0; shr.u64 %%a0, %%d%d, %d; xor.b64 %%a3, "
            "%%a3, %%a0;\n",
            i, i % 13, i, 64 - i % 13 - 9);
    for (int i = 0; i < g.p; i++)
        orr_text_add(t, "selp.b64 %%a0, %d, 0, %%p%d; xor.b64 %%a3, %%a3, %%a0;\n", 1 << (i % 31), i);
    orr_text_add(t, "st.global.u64 [%%a2], %%a3;\nret;\n}\n");
}

void ops_random(orr_text *t, int seed) {
    orr_text_add(t, ".version 8.4\n.target sm_90\n.address_size 64\n");
    for (int n = 0; n < OPS_RANDOM; n++) kernel(t, n, seed);
}
