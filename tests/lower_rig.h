// For tests of PTX lowered to machine instructions: a kernel of some lines, and what its program has.
#ifndef LOWER_RIG_H
#define LOWER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx/ptx.h"
#include "lower/pass.h"
#include "program/program.h"

static inline orr_gpu *gpu(const char *name) {
    static struct {
        const char *name;
        orr_gpu *g;
    } known[8];
    for (int i = 0; i < 8; i++) {
        if (known[i].name && strcmp(known[i].name, name) == 0) return known[i].g;
        if (known[i].name) continue;
        orr_err e = {0};
        known[i].name = name;
        known[i].g = orr_gpu_load(name, NULL, 0, &e);
        assert_non_null(known[i].g);
        return known[i].g;
    }
    fail();
    return NULL;
}

typedef struct made {
    orr_module *m;
    orr_program *p;
} made;

static inline made lower_text(const char *text, const char *on) {
    orr_err e = {0};
    made x = {.m = orr_ptx_parse("test.ptx", text, strlen(text), &e)};
    if (!x.m) fail_msg("%s", e.text);
    orr_kernel *k = x.m->load(x.m, x.m->kernel_names[0], &e);
    if (!k) fail_msg("%s", e.text);
    x.p = orr_program_new(k, gpu(on), &e);
    assert_non_null(x.p);
    return x;
}

static inline void done(made *x) {
    orr_program_free(x->p);
    x->m->free(x->m);
}

// A kernel with pointers a, b and an integer n; `body` may use them as %a, %b, %n.
static inline made lower_body(const char *body, const char *on) {
    orr_text t = {0};
    orr_text_add(&t,
                 ".version 8.0\n.target sm_70\n.address_size 64\n"
                 ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u32 pn)\n{\n"
                 ".reg .pred %%p<9>; .reg .b16 %%h<9>; .reg .b32 %%r<40>; .reg .f32 %%f<40>; .reg .b64 "
                 "%%d<40>; .reg .f64 "
                 "%%e<9>; .reg .b64 %%a, %%b; .reg .b32 %%n;\n.shared .align 16 .b8 sm[1024];\n"
                 "ld.param.u64 %%a, [pa]; ld.param.u64 %%b, [pb]; ld.param.u32 %%n, [pn];\n"
                 "cvta.to.global.u64 %%a, %%a; cvta.to.global.u64 %%b, %%b;\n%s\nret;\n}\n",
                 body);
    made x = lower_text(t.s, on);
    free(t.s);
    return x;
}

static inline const char *name_of(const orr_program *p, uint32_t i) { return p->names[p->insts[i].name]; }

// How many instructions have a mnemonic that starts so, up to a point or the end.
static inline int count(const orr_program *p, const char *name) {
    size_t n = strlen(name);
    int c = 0;
    for (uint32_t i = 0; i < p->ninsts; i++)
        c += strncmp(name_of(p, i), name, n) == 0 && (name_of(p, i)[n] == 0 || name_of(p, i)[n] == '.');
    return c;
}

static inline int count_from(const orr_program *p, uint16_t op) { // instructions that came from one operation
    int c = 0;
    for (uint32_t i = 0; i < p->ninsts; i++) c += p->kernel->insts[p->insts[i].inst].op == op;
    return c;
}

static const char saxpy[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) {\n"
    ".reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %d<8>;\n"
    "ld.param.u32 %r2, [n]; ld.param.f32 %f1, [a]; ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];\n"
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    "mad.lo.s32 %r1, %r3, %r4, %r5; setp.ge.s32 %p1, %r1, %r2; @%p1 bra DONE;\n"
    "cvta.to.global.u64 %d3, %d2; cvta.to.global.u64 %d4, %d1; mul.wide.s32 %d5, %r1, 4;\n"
    "add.s64 %d6, %d4, %d5; ld.global.f32 %f2, [%d6]; add.s64 %d7, %d3, %d5; ld.global.f32 %f3, [%d7];\n"
    "fma.rn.f32 %f4, %f2, %f1, %f3; st.global.f32 [%d7], %f4;\nDONE: ret;\n}\n";

#endif
