// Cubins as modules and kernels. What is expected can be read off the sources of the kernels
// (tests/corpus/cubin, tests/features, workloads) and in nvdisasm's and readelf's output for the committed
// cubins.
#include "exec/exec.h"
#include "gpu/gpu.h"
#include "program/named.h"
#include "program/program.h"
#include "sass/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY      ORRERY_SOURCE_DIR "/tests/corpus/cubin/"
#define FEATURES  ORRERY_SOURCE_DIR "/tests/features/"
#define WORKLOADS ORRERY_SOURCE_DIR "/workloads/"

static orr_module *open_module(const char *path, unsigned sm) {
    orr_err e = {0};
    orr_module *m = orr_sass_open(path, sm, &e);
    if (!m && strstr(e.text, "no libelf")) skip();
    if (!m) print_error("%s\n", e.text);
    assert_non_null(m);
    assert_string_equal(m->source, "sass");
    return m;
}

static orr_kernel *load(orr_module *m, const char *name) {
    orr_err e = {0};
    orr_kernel *k = m->load(m, name, &e);
    if (!k) print_error("%s\n", e.text);
    assert_non_null(k);
    assert_ptr_equal(k, m->load(m, name, &e)); // once
    return k;
}

// What holds for every kernel.
static void check_kernel(const orr_kernel *k) {
    assert_true(k->machine && k->control);
    assert_non_null(k->code.insts);
    uint32_t inst = 0;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        const orr_block *x = &k->blocks[b];
        assert_int_equal(x->first, inst);
        assert_true(x->count > 0);
        uint32_t mem = 0;
        for (uint32_t n = inst; n < inst + x->count; n++) {
            mem += orr_inst_traced(&k->insts[n]);
            if (n + 1 < inst + x->count) assert_false(orr_code_ends_block(&k->code.insts[n]));
            assert_int_equal(k->insts[n].line, k->code.insts[n].address);
            assert_int_equal(k->insts[n].sass, k->code.insts[n].op);
        }
        assert_int_equal(x->nmem, mem);
        inst += x->count;
        assert_true(x->next == -1 || x->next == (int32_t)b + 1);
    }
    assert_int_equal(inst, k->ninsts);
    for (uint32_t f = 0; f < k->nfuncs; f++) {
        assert_true(k->funcs[f].address >= ORR_CODE_BASE && k->funcs[f].address % 16 == 0);
        assert_int_equal(k->blocks[k->funcs[f].entry].first, k->funcs[f].first_inst);
    }
}

// Does a block begin at this address of the kernel's function f?
static bool begins(const orr_kernel *k, uint32_t f, uint32_t address) {
    for (uint32_t b = k->funcs[f].first_block; b < k->funcs[f].first_block + k->funcs[f].nblocks; b++)
        if (k->blocks[b].first == k->funcs[f].first_inst + address / 16) return true;
    return false;
}

// The n-th instruction (from 0) whose mnemonic begins so.
static const orr_inst *find(const orr_kernel *k, const char *name, int n) {
    for (uint32_t i = 0; i < k->ninsts; i++)
        if (strncmp(k->names[k->insts[i].name], name, strlen(name)) == 0 && n-- == 0) return &k->insts[i];
    return NULL;
}

static void kernels(void **state) {
    (void)state;
    static const struct {
        const char *file;
        unsigned sm;
        uint32_t base, shared_base;
    } made[] = {{TINY "tiny75.cubin", 75, 0x160, 0}, {TINY "tiny90.cubin", 90, 0x210, 1024}};
    for (int i = 0; i < 2; i++) {
        orr_module *m = open_module(made[i].file, 0);
        assert_int_equal(m->target, made[i].sm);
        assert_int_equal(m->nkernels, 2);
        orr_kernel *k = load(m, "mix"); // (float *p, int n, short s, double d), 256 bytes shared, one barrier
        check_kernel(k);
        static const uint32_t offset[] = {0, 8, 12, 16}, bytes[] = {8, 4, 2, 8};
        assert_int_equal(k->nparams, 4);
        for (int p = 0; p < 4; p++) {
            assert_int_equal(k->params[p].offset, offset[p]);
            assert_int_equal(k->params[p].bytes, bytes[p]);
            assert_int_equal(k->params[p].pointer, bytes[p] == 8);
        }
        assert_int_equal(k->param_bytes, 24);
        assert_int_equal(k->code.param_base, made[i].base);
        assert_int_equal(k->code.bank0_bytes, made[i].base + 24);
        assert_int_equal(k->shared_bytes, 256);
        assert_int_equal(k->shared_base, made[i].shared_base);
        assert_int_equal(k->barriers, 1);
        assert_int_equal(k->bounds.maxntid[0], 128);
        assert_true(k->effects.atomics); // atomicAdd(&count, 1)
        assert_true(k->code.bank_var[3] && k->code.bank_var[4] && !k->code.bank_var[2]);
        const orr_inst *bar = find(k, "BAR.SYNC", 0);
        assert_non_null(bar);
        assert_int_equal(bar->imm, 0);
        assert_int_equal(bar->sub, ORR_BAR_SYNC);
        assert_null(find(k, "BAR", 1));
        assert_int_equal(find(k, "STS", 0)->space, ORR_SPACE_SHARED);
        assert_int_equal(find(k, "LDG.E", 0)->space, ORR_SPACE_GLOBAL);

        k = load(m, "divide"); // the slow path of the division is called
        check_kernel(k);
        assert_int_equal(k->nfuncs, 1);
        assert_false(k->recursive);
        assert_int_equal(k->stack_bytes, 0);
        assert_true(begins(k, 0, 0x160)); // $__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath
        const orr_inst *call = find(k, "CALL.REL", 0);
        assert_non_null(call);
        assert_true(begins(k, 0, call->line + 16));
        m->free(m);
    }
    orr_module *m = open_module(TINY "tiny90.cubin", 0);
    orr_kernel *k = load(m, "divide");
    const orr_inst *bra = find(k, "BRA", 0); // @!P0 BRA 0x130
    assert_int_equal(bra->line, 0xf0);
    assert_int_equal(bra->op, ORR_OP_BRA);
    assert_int_equal(bra->guard, 0);
    assert_int_equal(bra->guard_neg, 1);
    assert_int_equal(k->blocks[bra->target].first, 0x130 / 16);
    const orr_inst *wide = find(k, "IMAD.WIDE.U32", 0); // R4, R3, 0x4, R4: {R4, R5} <- R3, {R4, R5}
    assert_int_equal(wide->ndst, 2);
    assert_int_equal(wide->nsrc, 3);
    static const uint32_t regs[] = {4, 5, 3, 4, 5};
    for (int i = 0; i < 5; i++) assert_int_equal(k->operands[wide->first + (uint32_t)i].reg, regs[i]);
    assert_int_equal(orr_src(k, wide, 0)->value, 1); // A
    assert_int_equal(orr_src(k, wide, 1)->value, 3); // C
    orr_err e = {0};
    assert_null(m->load(m, "divid", &e));
    assert_non_null(strstr(e.text, "did you mean 'divide'"));
    m->free(m);
}

static void variables(void **state) {
    (void)state;
    orr_module *m = open_module(TINY "tiny90.cubin", 0);
    orr_err e = {0};
    orr_mem *mem = orr_mem_new(&e);
    orr_image *image = orr_image_load(mem, m, &e);
    assert_non_null(image);
    uint64_t at = 0, bytes = 0, count = 0;
    assert_true(orr_image_symbol(image, "table", &at, &bytes)); // __constant__ float table[4] = {1, 2, 3, 4}
    assert_int_equal(bytes, 16);
    const float *table = orr_mem_host(mem, at, bytes);
    for (int i = 0; i < 4; i++) assert_true(table[i] == (float)(i + 1));
    assert_true(orr_image_symbol(image, "count", &count, &bytes)); // __device__ int count
    assert_int_equal(bytes, 4);
    assert_false(orr_image_symbol(image, "nothing", &at, &bytes));
    // bank 4 is where the kernel finds its address
    const orr_kernel *k = load(m, "mix");
    uint32_t bank4 = k->code.bank_var[4] - 1;
    assert_int_equal(m->vars[bank4].space, ORR_SPACE_CONST);
    assert_int_equal(m->vars[bank4].bytes, 8);
    uint64_t held;
    memcpy(&held, orr_mem_host(mem, image->var_addr[bank4], 8), 8);
    assert_int_equal(held, count);
    orr_image_free(mem, image);
    orr_mem_delete(mem);
    m->free(m);
}

// tests/corpus/cubin/calls.cu: functions and variables that are relocations in the code.
static void linked(void **state) {
    (void)state;
    orr_module *m = open_module(TINY "calls.cubin", 0);
    orr_kernel *k = load(m, "calls");
    check_kernel(k);
    assert_int_equal(k->nfuncs, 3); // twice is called, the address of thrice is in a variable
    assert_string_equal(k->funcs[0].name, "calls");
    uint32_t twice = strcmp(k->funcs[1].name, "_Z5twicei") == 0 ? 1 : 2, thrice = 3 - twice;
    assert_string_equal(k->funcs[thrice].name, "_Z6thricei");
    assert_true(k->recursive); // a call through a pointer
    const orr_inst *call = find(k, "CALL.ABS", 0);
    assert_int_equal(call->line, 0x60);
    assert_int_equal(call->target, twice);
    assert_int_equal(k->code.insts[6].args[1].value, k->funcs[twice].address);
    // 0x40 and 0x50 make the return address, calls+0x70
    assert_true(begins(k, 0, 0x70) && begins(k, 0, 0x110));
    assert_int_equal(k->code.insts[4].args[1].value, k->funcs[0].address + 0x70);
    assert_int_equal(k->code.insts[5].args[1].value, 0);

    orr_err e = {0};
    orr_mem *mem = orr_mem_new(&e);
    orr_image *image = orr_image_load(mem, m, &e);
    uint64_t chosen = 0, total = 0, bytes = 0, held;
    assert_true(orr_image_symbol(image, "chosen", &chosen, &bytes));
    memcpy(&held, orr_mem_host(mem, chosen, 8), 8);
    assert_int_equal(held, k->funcs[thrice].address);
    assert_true(orr_image_symbol(image, "total", &total, &bytes));
    assert_int_equal(*(int *)orr_mem_host(mem, total, 4), 40);
    // 0x70, 0x80: UMOV UR4, 32@lo(chosen); UMOV UR5, 32@hi(chosen)
    orr_code buf;
    assert_ptr_equal(orr_code_placed(k, 6, image->var_addr, &buf), &k->code.insts[6]);
    const orr_code *c = orr_code_placed(k, 7, image->var_addr, &buf);
    assert_int_equal(c->op, ORR_SASS_UMOV);
    assert_int_equal((uint32_t)c->args[1].value, (uint32_t)chosen);
    c = orr_code_placed(k, 8, image->var_addr, &buf);
    assert_int_equal((uint32_t)c->args[1].value, (uint32_t)(chosen >> 32));
    orr_image_free(mem, image);
    orr_mem_delete(mem);
    m->free(m);
}

// Whole-program code has its functions in the kernel's section and function pointers as offsets into its own
// bank 2, which has their addresses in the section.
static void pointers(void **state) {
    (void)state;
    orr_module *m = open_module(FEATURES "control.cubin", 0);
    orr_kernel *k = load(m, "pointers");
    check_kernel(k);
    assert_true(k->code.bank_var[2] != 0);
    const orr_var *bank = &m->vars[k->code.bank_var[2] - 1];
    assert_string_equal(bank->name, ".nv.constant2.pointers");
    assert_int_equal(bank->bytes, 0xb8);
    for (uint32_t at = 8; at < bank->bytes; at += 8) { // the first entry is no function
        uint64_t address;
        memcpy(&address, bank->init + at, 8);
        assert_true(begins(k, 0, (uint32_t)address));
    }
    assert_true(k->recursive);
    k = load(m, "tables"); // switches: 4-byte addresses in its bank 2
    bank = &m->vars[k->code.bank_var[2] - 1];
    assert_string_equal(bank->name, ".nv.constant2.tables");
    for (uint32_t at = 0; at < bank->bytes; at += 4) {
        uint32_t address;
        memcpy(&address, bank->init + at, 4);
        assert_true(begins(k, 0, address));
    }
    assert_true(load(m, "recursion")->recursive);
    assert_string_equal(orr_sass_missing(m, ORR_CODE_SYSTEM(ORR_SYS_FREE)), "free");
    assert_null(orr_sass_missing(m, ORR_CODE_BASE));
    m->free(m);
}

// Registers an instruction reads and writes: sizes from the PTX manual's fragments and the width of accesses.
static void spans(void **state) {
    (void)state;
    orr_module *m = open_module(WORKLOADS "hgemm_tensor/hgemm_tensor.cubin", 0);
    orr_kernel *k = load(m, m->kernel_names[0]);
    check_kernel(k);
    const orr_inst *i = find(k, "HMMA.16816.F32", 1);
    assert_non_null(i);
    assert_int_equal(i->ndst, 4);               // D: 16 x 8 floats over 32 lanes
    assert_true(i->nsrc == 10 || i->nsrc == 6); // A: 4, B: 2, C: 4, or RZ
    i = find(k, "LDSM.16.M88.4", 0);
    if (!i) i = find(k, "LDSM.16.MT88.4", 0);
    assert_non_null(i);
    assert_int_equal(i->ndst, 4);
    assert_int_equal(i->space, ORR_SPACE_SHARED);
    assert_int_equal(i->imm, 4);
    i = find(k, "LDGSTS.E", 0); // LDGSTS.E.BYPASS.128 [R], desc[UR][R.64]
    assert_non_null(i);
    assert_int_equal(i->op, ORR_OP_CPASYNC);
    assert_int_equal(i->ndst, 0);
    assert_int_equal(i->width * i->vec, 16);
    i = find(k, "LDGDEPBAR", 0);
    assert_int_equal(i->tkind, ORR_TK_GROUP);
    i = find(k, "DEPBAR.LE", 0);
    assert_int_equal(i->tkind, ORR_TK_WAIT_GROUP);
    m->free(m);

    m = open_module(WORKLOADS "triad/triad.cubin", 0); // doubles, 16-byte loads
    k = load(m, "triad");
    i = find(k, "LDG.E.128", 0);
    assert_non_null(i);
    assert_int_equal(i->ndst, 4);
    assert_int_equal(i->width * i->vec, 16);
    assert_int_equal(i->nsrc, 4); // a pair of registers, and the descriptor's pair of uniform ones
    i = find(k, "DFMA", 0);
    assert_int_equal(i->ndst, 2);
    assert_int_equal(i->nsrc, 6);
    i = find(k, "STG.E.128", 0);
    assert_int_equal(i->nsrc, 8);
    m->free(m);
}

static void choice(void **state) {
    (void)state;
    static const struct {
        unsigned sm, gets; // of sm_80 and sm_90
    } made[] = {{0, 90}, {100, 90}, {90, 90}, {89, 80}, {80, 80}, {75, 0}};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        orr_err e = {0};
        orr_module *m = orr_sass_open(TINY "tiny_zstd.fatbin", made[i].sm, &e);
        if (!m && (strstr(e.text, "no libelf") || strstr(e.text, "no zstd"))) skip();
        if (made[i].gets) {
            assert_non_null(m);
            assert_int_equal(m->target, made[i].gets);
            m->free(m);
        } else {
            assert_null(m);
            assert_int_equal(e.status, ORR_BAD_INPUT);
            assert_non_null(strstr(e.text, "no machine code for sm_75"));
        }
    }
    orr_module *m = open_module(TINY "tiny.elf", 90); // an executable with sm_86
    assert_int_equal(m->target, 86);
    check_kernel(load(m, "mix"));
    m->free(m);
    assert_true(orr_sass_probe(TINY "tiny.elf") && orr_sass_probe(TINY "tiny_lz4.fatbin"));
    assert_false(orr_sass_probe(TINY "tiny.cu"));
    assert_false(orr_sass_probe(TINY "nothing"));
}

static void refused(void **state) {
    (void)state;
    orr_err e = {0};
    size_t n;
    uint8_t *b = (uint8_t *)orr_read_file(TINY "tiny90.cubin", 1 << 20, &n, &e);
    assert_non_null(b);
    b[16] = 1; // ET_REL
    assert_null(orr_sass_read(b, n, "object", 0, &e));
    if (!strstr(e.text, "no libelf")) assert_non_null(strstr(e.text, "link it"));
    free(b);
}

// mix's last parameter has 8 bytes at 16 of 24 (EIATTR_KPARAM_INFO: 04 17, 12 bytes, ordinal 3 at 16). At 17
// it would reach beyond the end of what is copied at a launch.
static void parameter_outside(void **state) {
    (void)state;
    orr_err e = {0};
    size_t n;
    uint8_t *b = (uint8_t *)orr_read_file(TINY "tiny90.cubin", 1 << 20, &n, &e);
    assert_non_null(b);
    int changed = 0;
    for (size_t i = 0; i + 16 <= n; i++) {
        static const uint8_t head[] = {4, 0x17, 12, 0}, place[] = {3, 0, 16, 0};
        if (memcmp(b + i, head, 4) || memcmp(b + i + 8, place, 4)) continue;
        b[i + 10] = 17;
        changed++;
    }
    assert_int_equal(changed, 1);
    orr_module *m = orr_sass_read(b, n, "moved", 0, &e);
    if (!m && strstr(e.text, "no libelf")) skip();
    assert_non_null(m);
    assert_null(m->load(m, "mix", &e));
    assert_string_equal(e.text, "moved: parameter 4 of 'mix' is 8 bytes at 17 of 24: the file is damaged");
    m->free(m);
    free(b);
}

// BAR.SYNC 1, 0x80 in a kernel with products of groups: each group of four warps has a barrier of its own.
static void barriers_of_groups(void **state) {
    (void)state;
    orr_err e = {0};
    orr_module *m = open_module(ORRERY_SOURCE_DIR "/tests/hopper/new/streamk.cubin", 0);
    const orr_kernel *k = m->load(m, "streamk", &e);
    orr_gpu *g = orr_gpu_load("h200", NULL, 0, &e);
    orr_program *p = k && g ? orr_program_new(k, g, &e) : NULL;
    assert_non_null(p);
    uint32_t found = 0;
    for (uint32_t n = 0; n < p->ninsts; n++) {
        const orr_tinst *i = &p->insts[n];
        if (i->kind != ORR_TK_BARRIER || i->warps != 4) continue;
        found++;
        assert_true(orr_barrier_known(i));
        assert_int_equal(orr_barrier_number(i, 0), orr_barrier_number(i, 3));
        assert_int_equal(orr_barrier_number(i, 4), orr_barrier_number(i, 7));
        assert_int_not_equal(orr_barrier_number(i, 0), orr_barrier_number(i, 4));
    }
    assert_int_equal(found, 2);
    orr_program_free(p);
    orr_gpu_free(g);
    m->free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels),
        cmocka_unit_test(variables),
        cmocka_unit_test(linked),
        cmocka_unit_test(pointers),
        cmocka_unit_test(spans),
        cmocka_unit_test(choice),
        cmocka_unit_test(refused),
        cmocka_unit_test(parameter_outside),
        cmocka_unit_test(barriers_of_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
