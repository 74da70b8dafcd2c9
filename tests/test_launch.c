// Launch scripts: the language, fills, loops, expectations, and what is said when they fail. Scripts
// run against a small backend of host memory whose "kernels" are C functions, so that nothing here
// depends on PTX or the executor.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launch/launch.h"
#include "launch/script.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- a module and a backend of our own ------------------------------------------------------
static orr_param scale_params[] = {
    {"p", ORR_T_U64, 8, true, 0, 8}, {"n", ORR_T_U32, 4, false, 8, 4}, {"a", ORR_T_F32, 4, false, 12, 4}};
static orr_param count_params[] = {{"flag", ORR_T_U64, 8, true, 0, 8}};
static orr_param mixed_params[] = {{"s", ORR_T_B8, 8, false, 0, 24},
                                   {"b", ORR_T_B32, 4, false, 24, 4},
                                   {"h", ORR_T_U16, 2, false, 28, 2},
                                   {"d", ORR_T_F64, 8, false, 32, 8},
                                   {"l", ORR_T_S64, 8, false, 40, 8}};
static orr_kernel kernels[] = {{.name = "scale", .params = scale_params, .nparams = 3, .param_bytes = 16},
                               {.name = "countdown", .params = count_params, .nparams = 1, .param_bytes = 8},
                               {.name = "mixed", .params = mixed_params, .nparams = 5, .param_bytes = 48},
                               {.name = "none"}};
static const char *kernel_names[] = {"scale", "countdown", "mixed", "none"};
static orr_var vars[] = {{.name = "table", .space = ORR_SPACE_CONST, .bytes = 16}};
static uint32_t table[4];
static int modules_open;

static orr_kernel *fake_load(orr_module *m, const char *name, orr_err *e) {
    for (uint32_t k = 0; k < m->nkernels; k++) {
        if (!strcmp(name, kernels[k].name)) return &kernels[k];
    }
    orr_fail(e, ORR_BAD_INPUT, "no kernel");
    return NULL;
}

static void fake_free(orr_module *m) {
    free(m);
    modules_open--;
}

static orr_module *fake_open(const char *path, orr_err *e) {
    if (strcmp(path, "dir/m.ptx") && strcmp(path, "m.ptx")) {
        orr_fail(e, ORR_BAD_INPUT, "%s: no such file", path);
        return NULL;
    }
    orr_module *m = calloc(1, sizeof *m);
    *m = (orr_module){.path = "m.ptx",
                      .kernel_names = kernel_names,
                      .nkernels = 4,
                      .vars = vars,
                      .nvars = 1,
                      .load = fake_load,
                      .free = fake_free};
    modules_open++;
    return m;
}

typedef struct fake {
    void *blocks[64];
    int n;
    uint8_t params[64];
    uint32_t grid[3], block[3], shared, launches;
    char log[256];
} fake;

static bool f_load(void *self, int module, orr_module *m, orr_err *e) {
    return (void)self, (void)module, (void)m, (void)e, true;
}
static uint64_t f_alloc(void *self, const char *name, uint64_t bytes, orr_err *e) {
    fake *f = self;
    (void)name;
    if (f->n >= 64 || bytes > 64 << 20) return orr_fail(e, ORR_BAD_INPUT, "no room"), 0;
    f->blocks[f->n] = calloc(1, bytes);
    return (uint64_t)(uintptr_t)f->blocks[f->n++];
}
static bool f_write(void *self, uint64_t a, const void *d, uint64_t n, orr_err *e) {
    (void)self, (void)e;
    memcpy((void *)(uintptr_t)a, d, n);
    return true;
}
static bool f_read(void *self, uint64_t a, void *d, uint64_t n, orr_err *e) {
    (void)self, (void)e;
    memcpy(d, (void *)(uintptr_t)a, n);
    return true;
}
static bool f_symbol(void *self, int module, const char *name, uint64_t *addr, uint64_t *bytes, orr_err *e) {
    (void)self, (void)module, (void)name, (void)e;
    *addr = (uint64_t)(uintptr_t)table;
    *bytes = sizeof table;
    return true;
}
static bool f_launch(void *self, const orr_call *c, orr_err *e) {
    fake *f = self;
    (void)e;
    memcpy(f->params, c->params, c->kernel->param_bytes);
    memcpy(f->grid, c->grid, sizeof f->grid);
    memcpy(f->block, c->block, sizeof f->block);
    f->shared = c->dynamic_shared;
    assert_int_equal(c->index, f->launches);
    f->launches++;
    uint64_t p;
    memcpy(&p, c->params, 8);
    if (!strcmp(c->kernel->name, "scale")) {
        float *x = (float *)(uintptr_t)p, a;
        uint32_t n;
        memcpy(&n, c->params + 8, 4);
        memcpy(&a, c->params + 12, 4);
        for (uint32_t k = 0; k < n; k++) x[k] *= a;
    }
    if (!strcmp(c->kernel->name, "countdown")) --*(int32_t *)(uintptr_t)p;
    return true;
}

static orr_backend fake_backend(fake *f) {
    return (orr_backend){.self = f,
                         .load = f_load,
                         .alloc = f_alloc,
                         .write = f_write,
                         .read = f_read,
                         .symbol = f_symbol,
                         .launch = f_launch};
}

// Runs a script; leaves the backend's memory in *f (fake_end frees it) and the error in *e.
static bool run_text(const char *text, const char *size, fake *f, orr_script_stats *st, orr_err *e) {
    *f = (fake){0};
    *e = (orr_err){0};
    orr_script *s = orr_script_parse(
        &(orr_script_text){.path = "dir/t.launch", .text = text, .n = strlen(text), .size = size}, e);
    if (!s) return false;
    orr_script_opener(s, fake_open);
    orr_backend b = fake_backend(f);
    bool ok = orr_script_run(s, &b, true, st, e);
    assert_int_equal(ok, e->status == 0);
    orr_script_free(s);
    return ok;
}

static void fake_end(fake *f) {
    for (int k = 0; k < f->n; k++) free(f->blocks[k]);
    f->n = 0;
}

static void good(const char *text) {
    fake f;
    orr_err e;
    if (!run_text(text, NULL, &f, NULL, &e)) fail_msg("%s\n%s", e.text, text);
    fake_end(&f);
}

static void fails(int status, const char *text, const char *message) {
    fake f;
    orr_err e;
    if (run_text(text, NULL, &f, NULL, &e)) fail_msg("this should have failed:\n%s", text);
    fake_end(&f);
    if (e.status != status || !strstr(e.text, message))
        fail_msg("status %d '%s'\nwanted %d '%s'", e.status, e.text, status, message);
}

// An integer or float expression, by way of a buffer that is checked against it bit for bit.
static void is_int(const char *expression, const char *want) {
    char text[400];
    snprintf(text, sizeof text,
             "let n = 10\nlet f = 2.5\nbuffer b s32[4] list 7, -3, 0, 9\nbuffer x s64[1] value %s\nexpect "
             "x[0] == %s\n",
             expression, want);
    good(text);
}
static void is_float(const char *expression, double want) {
    fake f;
    orr_err e;
    char text[400];
    snprintf(text, sizeof text, "let n = 10\nlet f = 2.5\nbuffer x f64[1] value %s\n", expression);
    if (!run_text(text, NULL, &f, NULL, &e)) fail_msg("%s", e.text);
    assert_memory_equal(f.blocks[0], &want, 8);
    fake_end(&f);
}

// ---- expressions ----------------------------------------------------------------------------
static void test_expressions(void **state) {
    (void)state;
    is_int("1 + 2 * 3", "7");
    is_int("(1 + 2) * 3", "9");
    is_int("7 / 2", "3");
    is_int("-7 / 2", "-3");
    is_int("-7 % 3", "-1");
    is_int("1 << 4 | 3", "19");
    is_int("0xff & ~0xf ^ 1", "241");
    is_int("0b101", "5");
    is_int("2 < 3 && 3 <= 3 || 1 / 0", "1"); // || does not look at its right side
    is_int("n > 5 ? 1 : 1 / 0", "1");
    is_int("1 ? 2 : 0 ? 3 : 4", "2");
    is_int("!0 + !5", "1");
    is_int("-16 >> 2", "-4");
    is_int("min(3, n, 2) + max(1, 4)", "6");
    is_int("abs(-5)", "5");
    is_int("ceildiv(n, 3)", "4");
    is_int("ceildiv(9, 3)", "3");
    is_int("log2(1023) * 100 + log2(1024)", "910");
    is_int("log2(0.25)", "-2");
    is_int("int(f * 3)", "7");
    is_int("b[0] + b[1] * 10 + b[n - 7]", "-14");
    is_int("9223372036854775807 + 1", "0x8000000000000000"); // wraps
    is_int("-9223372036854775808 / -1", "-9223372036854775808");
    is_int("-9223372036854775808 % -1", "0");
    is_int("2 == 2.0", "1");
    is_int("1 + \\\n 2", "3");
    is_int("hash(5)", "3567305580077179309"); // splitmix64(5) >> 1
    is_float("f", 2.5);
    is_float("7 / 2.0", 3.5);
    is_float("n", 10);
    is_float("sqrt(2)", 0x1.6a09e667f3bcdp+0);
    is_float("1e-3", 1e-3);
    is_float(".5 + 2.", 2.5);
    is_float("float(7) / 2", 3.5);
    is_float("max(1, f)", 2.5);
    fails(2, "let a = 1 / 0", "dir/t.launch:1: division by zero");
    fails(2, "let a = 1 % 0", "division by zero");
    fails(2, "\n\nlet a = 1 << 64", "dir/t.launch:3: a shift by 64");
    fails(2, "let a = 1.5 % 2", "use int(...)");
    fails(2, "let a = m + 1", "'m' is not defined");
    fails(2, "let a = 1 +", "is needed, not the end of the script");
    fails(2, "let a = (1", "')' is needed");
    fails(2, "let a = 18446744073709551616", "does not fit 64 bits");
    fails(2, "let a = 12x", "'12x' is not a number");
    fails(2, "let a = foo(1)", "no function 'foo'");
    fails(2, "let a = int(1e300)", "does not fit");
    fails(2, "let a = sqrt(-1)", "sqrt of -1");
    fails(2, "let a = log2(0)", "log2 of 0");
    fails(2, "buffer x s32[4]\nlet a = x[4]", "x[4] is outside the buffer, which has 4");
    fails(2, "buffer x s32[4]\nlet a = x", "cannot hold a buffer");
    fails(2, "buffer x s32[4]\nlet a = x * 2", "a buffer stands where a number is needed");
}

// ---- fills ----------------------------------------------------------------------------------
static void fill_is(const char *text, const void *bytes, size_t n) {
    fake f;
    orr_err e;
    if (!run_text(text, NULL, &f, NULL, &e)) fail_msg("%s\n%s", e.text, text);
    assert_memory_equal(f.blocks[0], bytes, n);
    fake_end(&f);
}

static void test_fills(void **state) {
    (void)state;
    // The published outputs of splitmix64 for the seed 1234567.
    static const uint64_t z[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                 4593380528125082431u, 16408922859458223821u};
    fill_is("buffer x u64[5] random 0 0xffffffffffffffff seed 1234567", z, sizeof z);
    // floor(z * 100 / 2^64), floor(z * 7 / 2^64) - 3
    fill_is("buffer x u8[5] random 0 99 seed 1234567", (uint8_t[]){35, 17, 53, 24, 88}, 5);
    fill_is("buffer x s32[5] random -3 3 seed 1234567", (int32_t[]){-1, -2, 0, -2, 3}, 20);
    // -1 + 2 * (z >> 11) / 2^53, computed elsewhere
    fill_is("buffer x f64[5] random -1 1 seed 1234567",
            (double[]){-0x1.33097f4027b84p-2, -0x1.4e303dee9eafep-1, 0x1.07d79cb47e4f0p-4,
                       -0x1.010422fc5ba22p-1, 0x1.8ee0d19c232d6p-1},
            40);
    fill_is("buffer x f32[5] random -1 1 seed 1234567",
            (uint32_t[]){3197732032u, 3207010335u, 1032055758u, 3204481553u, 1061646441u}, 20);
    fill_is("buffer x f16[5] random -1 1 seed 1234567", (uint16_t[]){0xb4cc, 0xb939, 0x2c1f, 0xb804, 0x3a3c},
            10);
    // the seed of 'x' is FNV-1a of the name, 0xaf63f54c86021707; without bounds integers are 0 to 100
    fill_is("buffer x u32[3] random", (uint32_t[]){20, 81, 64}, 12);
    fill_is("buffer x s16[4] iota", (int16_t[]){0, 1, 2, 3}, 8);
    fill_is("buffer x s16[4] iota 10 -3", (int16_t[]){10, 7, 4, 1}, 8);
    fill_is("buffer x f32[3] iota 0.5 0.25", (float[]){0.5f, 0.75f, 1.0f}, 12);
    fill_is("let n = 5\nbuffer x s32[n] expr (i*7) % n == 0 ? -1 : i", (int32_t[]){-1, 1, 2, 3, 4}, 20);
    fill_is("buffer x u8[] list 1, 2,\n  0xff, -1", (uint8_t[]){1, 2, 255, 255}, 4);
    fill_is("buffer x f32[2] value 1e40", (uint32_t[]){0x7f800000, 0x7f800000}, 8);
    fill_is("buffer x f32[2] list inf, -inf", (uint32_t[]){0x7f800000, 0xff800000}, 8);
    fill_is("let i = 3\nbuffer x s8[2] expr i", (int8_t[]){0, 1}, 2);
    fill_is("buffer x u16[2] expr i - 1", (uint16_t[]){0xffff, 0}, 4);
    // What is the same for all elements is worked out before them, but for what could fail: nobody may ask
    // for it.
    fill_is("let n = 70\nbuffer x s32[3] expr i < n - 66 ? max(2, n - 69) * 2 + i : 1 << n",
            (int32_t[]){4, 5, 6}, 12);
    fill_is("let n = 70\nbuffer x s32[3] expr (n & 3) << (n >> 5) | !n | (n > 1 && 0.5) + i * -n",
            (int32_t[]){9, -69, -131}, 12);
    // IEEE 754 half: the largest, its tie with infinity, subnormals and their ties to even
    fill_is("buffer x f16[] list 65504, 65519, 65520, 1.0/3, 1.0/16777216, 1.0/33554432, 1.5/33554432, -2",
            (uint16_t[]){0x7bff, 0x7bff, 0x7c00, 0x3555, 0x0001, 0x0000, 0x0001, 0xc000}, 16);
    fill_is("buffer x bf16[] list 1.0/3, 1.00390625, 1.01171875, 3.5e38",
            (uint16_t[]){0x3eab, 0x3f80, 0x3f82, 0x7f80}, 8);
    good("buffer x f16[3] list 0.1, 1.0/16777216, -65504\nexpect x[0] == 0.0999755859375\nexpect x[1] == "
         "5.9604644775390625e-08\nexpect x[2] == -65504");
    good("buffer x bf16[1] value 0.1\nlet v = x[0]\nbuffer y f64[1] value v\nexpect y[0] == 0.10009765625");

    fails(2, "buffer x u8[2] list 1, 256", "256 does not fit the element type u8");
    fails(2, "buffer x u8[2] value nan", "does not fit");
    fails(2, "let n = 70\nbuffer x s32[3] expr i < 2 ? i : 1 << n", "dir/t.launch:2: a shift by 70");
    fails(2, "buffer x s32[3] list 1, 2", "the list has 2 values and 'x' has 3 elements");
    fails(2, "buffer x s32[0]", "the number of elements is 0");
    fails(2, "buffer x s32[1 << 62]", "must be 1 to");
    fails(2, "buffer x u8[30*(1<<30)]\nbuffer y u8[2]", "no room");
    fails(2, "buffer x f32[2] random 1 0", "must not be above");
    fails(2, "buffer x u8[2] random 0 256", "the most of random is 256");
    fails(2, "buffer x f32[2] file \"no-such-file\"", "dir/t.launch:1: ");
    fails(2, "buffer x f32[2] rnadom 0 1", "'rnadom' is not a fill");
    fails(2, "buffer x f33[2]", "'f33' is not a type");
    fails(2, "buffer x f32[2]\nbuffer x f32[2]", "dir/t.launch:2: buffer 'x' was made already");
    fails(2, "let x = 1\nbuffer x f32[2]", "'x' is a variable already");
}

// A random float never reaches its upper bound, nor leaves the lower, in any type.
static void test_random_bounds(void **state) {
    (void)state;
    static const char *const types[] = {"f16", "bf16", "f32", "f64"};
    static const int codes[] = {ORR_T_F16, ORR_T_BF16, ORR_T_F32, ORR_T_F64};
    for (int t = 0; t < 4; t++) {
        fake f;
        orr_err e;
        char text[200];
        snprintf(text, sizeof text, "buffer x %s[200000] random -2 -1 seed 3\nbuffer y %s[200000] random 0 1",
                 types[t], types[t]);
        assert_true(run_text(text, NULL, &f, NULL, &e));
        double sum = 0;
        for (int k = 0; k < 200000; k++) {
            double x = orr_elem_double(codes[t], (char *)f.blocks[0] + k * orr_elem_bytes(codes[t]));
            double y = orr_elem_double(codes[t], (char *)f.blocks[1] + k * orr_elem_bytes(codes[t]));
            assert_true(x >= -2 && x < -1);
            assert_true(y >= 0 && y < 1);
            sum += y;
        }
        assert_true(sum > 99000 && sum < 101000); // 1/2 each, five standard deviations are 650
        fake_end(&f);
    }
}

// ---- statements -----------------------------------------------------------------------------
static void test_statements(void **state) {
    (void)state;
    good("let s = 0\nfor k = 1 to 10\n  let s = s + k\nend\nbuffer x s32[1] value s\nexpect x[0] == 55");
    good("let s = 0\nfor k = 10 to 1 step -3\n  let s = s * 10 + k\nend\nbuffer x s32[1] value s\nexpect "
         "x[0] == 10741");
    good("let s = 0\nfor k = 5 to 4\n  let s = 1\nend\nbuffer x s32[1] value s\nexpect x[0] == 0");
    good("for k = 9223372036854775806 to 9223372036854775807\nend");
    good("let k = 2\nif k == 1\n  let r = 10\nelse if k == 2\n  let r = 20\nelse\n  let r = 30\nend\nbuffer "
         "x s32[1] value r\nexpect x[0] == 20");
    good("buffer x s32[3]\nset x = 5\nset x[1] = -1\nexpect x list 5, -1, 5");
    good("buffer x s32[2] value 1\nbuffer y s32[2] value 2\nswap x y\nexpect x all 2\nexpect y all 1\ncopy "
         "x, y\nexpect x equal y");
    good("let r = 0\nrepeat max 5\n  let r = r + 1\nuntil r == 5");
    good("let grid = 3 # words are only special where they are expected\nlet step = 2\nfor k = 0 to grid "
         "step step\nend");
    fails(1, "let r = 0\nrepeat max 4\n  let r = r + 1\nuntil r == 5", "dir/t.launch:2: after 4 rounds");
    fails(2, "for k = 1 to 3\nlet a = 1",
          "'end' is needed, not the end of the script, to close the 'for' of line 1");
    fails(2, "end", "no statement 'end'");
    fails(2, "let a = 1 2", "the line should end before '2'");
    fails(2, "for k = 1 to 3 step 0\nend", "a step of 0");
    fails(2, "for k = 1 to 100000000\nend", "more than 10000000 statements");
    fails(2, "buffer x s32[3]\nbuffer y s32[4]\ncopy x y", "different sizes");
    fails(2, "buffer x s32[3]\nbuffer y f32[3]\nswap x y", "same type and length");
    fails(2, "if 0\nlet a = 1\nend\nlet b = a", "'a' has no value here");
    fails(2, "if 0\nbuffer x s32[1]\nend\nset x = 1", "was not made before this line");
    fails(2, "launch scale grid 1 block 1", "needs a module");
    fails(2, "module \"nothing.ptx\"", "dir/nothing.ptx: no such file");
    fails(2, "module \"nothing", "without its closing");
    fails(2, "@", "'@' means nothing here");
    fails(2, "\x01", "the byte 0x01");
}

static void test_nesting_is_bounded(void **state) {
    (void)state;
    char *text = calloc(1, 1 << 21);
    for (int k = 0; k < 70; k++) strcat(text, "if 1\n");
    fails(2, text, "dir/t.launch:65: statements are nested more than 64 deep");
    strcpy(text, "let a = ");
    memset(text + 8, '(', 100000);
    fails(2, text, "nested more than 64 deep");
    strcpy(text, "let a = ");
    memset(text + 8, '-', 100000);
    text[100008] = 0;
    fails(2, text, "nested more than 64 deep");
    strcpy(text, "let a = 1");
    for (char *p = text + 9; p < text + 200000; p += 2) memcpy(p, "+1", 3);
    fails(2, text, "the expression is too long");
    memset(text, ' ', (1 << 20) + 1);
    text[(1 << 20) + 1] = 0;
    fails(2, text, "1 MiB");
    free(text);
}

static void test_sizes(void **state) {
    (void)state;
    static const char text[] = "size small n = 4, m = n * 2\nsize big n = 8, m = 3\nbuffer x s32[n]\nbuffer "
                               "y s32[m]\nexpect x all 0";
    fake f;
    orr_err e = {0};
    orr_script_stats st;
    assert_true(run_text(text, NULL, &f, &st, &e));
    fake_end(&f);
    assert_int_equal(st.buffer_bytes, 4 * 12);
    assert_int_equal(st.buffers, 2);
    assert_int_equal(st.checked, 1);
    assert_true(run_text(text, "big", &f, &st, &e));
    fake_end(&f);
    assert_int_equal(st.buffer_bytes, 4 * 11);
    assert_false(run_text(text, "huge", &f, &st, &e));
    assert_string_equal(e.text, "dir/t.launch: there is no size 'huge'; there are small big");

    e = (orr_err){0};
    const char *sets[] = {"n=100"};
    orr_script *s = orr_script_parse(
        &(orr_script_text){.path = "t", .text = text, .n = strlen(text), .sets = sets, .nsets = 1}, &e);
    assert_non_null(s);
    const char *const *names;
    assert_int_equal(orr_script_sizes(s, &names), 2);
    assert_string_equal(names[1], "big");
    assert_string_equal(orr_script_size(s), "small");
    f = (fake){0};
    orr_backend b = fake_backend(&f);
    assert_true(orr_script_run(s, &b, true, &st, &e));
    assert_int_equal(st.buffer_bytes, 4 * 300); // m = n * 2 follows
    fake_end(&f);
    orr_script_free(s);
    static const char *const wrong[] = {"n", "n=", "n=x", "k=1", "x=2"};
    for (int k = 0; k < 5; k++) {
        e = (orr_err){0};
        assert_null(orr_script_parse(
            &(orr_script_text){.path = "t", .text = text, .n = strlen(text), .sets = &wrong[k], .nsets = 1},
            &e));
        assert_int_equal(e.status, 2);
        assert_non_null(strstr(e.text, "--set"));
    }
}

// ---- launches -------------------------------------------------------------------------------
static void test_launches(void **state) {
    (void)state;
    fake f;
    orr_err e;
    orr_script_stats st;
    assert_true(run_text("module \"m.ptx\"\nlet n = 3\nbuffer x f32[4] value 3\nlaunch scale grid ceildiv(n, "
                         "2), 5 block 32, 2, 3 shared 1024 \\\n args x + 1, n, 2\n"
                         "expect x list 3, 6, 6, 6\nexpect x[0] == 3 rtol 1e-6",
                         NULL, &f, &st, &e));
    assert_memory_equal(f.grid, ((uint32_t[]){2, 5, 1}), 12);
    assert_memory_equal(f.block, ((uint32_t[]){32, 2, 3}), 12);
    assert_int_equal(f.shared, 1024);
    assert_int_equal(st.launches, 1);
    assert_int_equal(st.checked, 2);
    fake_end(&f);

    good("module \"m.ptx\"\nbuffer flag s32[1] value 7\nlet r = 0\nrepeat max 100\n let r = r + 1\n launch "
         "countdown grid 1 block 1 args flag\nuntil flag[0] == 0\n"
         "buffer n s32[1] value r\nexpect n all 7");
    good("module \"m.ptx\"\nlaunch none grid 1 block 1\nlaunch \"none\" grid 1 block 1 args");

    // a structure of {f32, s32, u8, (pad) address}, .b32 with a float, u16, f64 from an integer, s64
    assert_true(run_text("module \"m.ptx\"\nbuffer x f32[4]\nlaunch mixed grid 1 block 1 args {f32:1.5, "
                         "s32:-2, u8:7, x + 2}, f32:0.5, 65535, 3, -1",
                         NULL, &f, NULL, &e));
    uint8_t want[48] = {0};
    float f1 = 1.5f, f2 = 0.5f;
    double d = 3;
    int32_t i = -2;
    uint64_t addr = (uint64_t)(uintptr_t)f.blocks[0] + 8;
    memcpy(want, &f1, 4);
    memcpy(want + 4, &i, 4);
    want[8] = 7;
    memcpy(want + 16, &addr, 8);
    memcpy(want + 24, &f2, 4);
    want[28] = want[29] = 0xff;
    memcpy(want + 32, &d, 8);
    memset(want + 40, 0xff, 8);
    assert_memory_equal(f.params, want, 48);
    fake_end(&f);

    table[3] = 9;
    good("module \"m.ptx\"\nsymbol table u32[3] list 5, 6, 7\nsymbol table u32[3] list 5, 6, 8\nexpect table "
         "list 5, 6, 8");
    assert_memory_equal(table, ((uint32_t[]){5, 6, 8, 9}), 16);
    good("module \"m.ptx\"\nsymbol table u32[4]\nexpect table[3] == 9");

#define M "module \"m.ptx\"\nbuffer x f32[4]\n"
    fails(2, M "launch scael grid 1 block 1",
          "dir/t.launch:3: no module has a kernel 'scael'; did you mean 'scale'?");
    fails(2, M "launch other grid 1 block 1",
          "dir/t.launch:3: no module has a kernel 'other'; there are: scale countdown mixed none");
    fails(2, M "launch scale grid 1 block 1 args x, f32:4, 1",
          "argument 2 (n) is u32 in the module and is given as f32");
    fails(2, M "launch scale grid 1 block 1 args x, 4, s32:1",
          "argument 3 (a) is f32 in the module and is given as s32");
    fails(2, M "launch scale grid 1 block 1 args x, 4",
          "dir/t.launch:3: kernel 'scale' takes 3 arguments (u64, u32, f32) and 2 are given");
    fails(2, M "launch scale grid 1 block 1 args x, 2.5, 1", "argument 2 (n) is an integer and gets 2.5");
    fails(2, M "launch scale grid 1 block 1 args x, 1 << 33, 1", "8589934592 does not fit argument 2 (n)");
    fails(2, M "launch scale grid 1 block 1 args x, x, 1", "argument 2 (n) takes 4 bytes and buffer 'x'");
    fails(2, M "launch scale grid 1 block 1 args x + 5, 1, 1", "points outside buffer 'x'");
    fails(2, M "launch scale grid 1 block 1 args x, f64:1, 1", "takes 4 bytes");
    fails(2, M "launch scale grid 0 block 1 args x, 1, 1", "a grid's size is 0");
    fails(2, M "launch scale grid 1 block 2000 args x, 1, 1", "a block's size is 2000");
    fails(2, M "launch scale block 1", "needs its grid");
    fails(2, M "launch scale grid 1 grid 2 block 1", "each once");
    fails(2, M "launch mixed grid 1 block 1 args {x}, 0.5, 1, 1, 1", "argument 2 (b) has no type");
    fails(2, M "launch mixed grid 1 block 1 args 5, 1, 1, 1, 1", "structure of 24 bytes");
    fails(2, M "launch mixed grid 1 block 1 args {x, x, x, x}, 1, 1, 1, 1",
          "field 4 of argument 1 (s) does not fit");
    fails(2, M "launch mixed grid 1 block 1 args {1}, 1, 1, 1, 1", "needs its type");
    fails(2, M "symbol tabel u32[1]", "no module has a variable 'tabel'");
    fails(2, M "symbol table u32[5]", "'table' has 16 bytes in the module and 20 here");
    assert_int_equal(modules_open, 0);
}

// ---- expectations ---------------------------------------------------------------------------
static void test_checks(void **state) {
    (void)state;
    good("buffer x f32[3] list 1, 2, 3\nexpect x sorted\nexpect x iota 1\nexpect x expr i + 1.0000001 rtol "
         "1e-6\nexpect x[2] == 3.1 atol 0.2");
    good("buffer x f32[2] list nan, inf\nexpect x list nan, inf rtol 1e-3");
    good("buffer x u64[2] list 1, 0xffffffffffffffff\nexpect x sorted");
    good("buffer x s64[2] list 1, 0xffffffffffffffff\nexpect x sorted descending");
    fails(1, "buffer x s32[300000]\nset x[299999] = 4\nexpect x all 0",
          "dir/t.launch:3: buffer x, element 299999: it holds 4 and should hold 0");
    fails(1, "buffer x f32[2] value -0.0\nexpect x all 0",
          "it holds -0 (0x80000000) and should hold 0 (0x00000000)");
    fails(1, "buffer x f32[2] list 1, 2\nexpect x list 1, 2.1 rtol 0.01",
          "element 1: it holds 2 and should hold 2.0999999");
    fails(1, "buffer x f32[2] list 1, nan\nexpect x list 1, 2 rtol 10", "element 1: it holds nan");
    fails(1, "buffer x f32[2] list 1, inf\nexpect x list 1, 2 rtol 10", "element 1: it holds inf");
    fails(1, "buffer x s32[3] list 1, 3, 2\nexpect x sorted", "element 1 holds 3 and element 2 holds 2");
    fails(1, "buffer x s32[3]\nbuffer y s32[3] value 1\nexpect x equal y", "holds 0 and should hold 1");
    fails(2, "buffer x s32[3]\nexpect y all 1", "'y' is not a buffer");
    fails(2, "buffer x s32[3]\nexpect x any 1", "'any' is not a check");
    fails(2, "buffer x s32[3]\nexpect x all 1 rtol -1", "must not be negative");
    fails(2, "buffer x s32[3]\nexpect x from \"none.expect\"", "workloads/reference");
}

static void double_all(orr_ref *r) { // what the launches of the script below do to x and y
    uint64_t n, m;
    float *x = orr_ref_buffer(r, "x", &n);
    int32_t *y = orr_ref_buffer(r, "y", &m);
    assert_int_equal(n, orr_ref_int(r, "n"));
    assert_int_equal(m, 100000);
    assert_true(orr_ref_float(r, "a") == 2.0);
    for (uint64_t k = 0; k < n; k++) x[k] *= 8;
    y[0] = 4;
}

static void nothing(orr_ref *r) { (void)r; }

// Without modules a symbol has memory of its own, and does not outgrow it.
static void test_reference_symbols(void **state) {
    (void)state;
    static const char *const texts[] = {
        "symbol t f32[4] iota\nsymbol t f32[3] value 2\nexpect t list 2, 2, 2",
        "symbol t f32[4] iota\nsymbol t f32[5] value 2"};
    for (int k = 0; k < 2; k++) {
        orr_err e = {0};
        orr_script *s = orr_script_parse(
            &(orr_script_text){.path = "t.launch", .text = texts[k], .n = strlen(texts[k])}, &e);
        assert_non_null(s);
        assert_int_equal(orr_script_reference(s, nothing, false, &e), k == 0);
        if (k) assert_string_equal(e.text, "t.launch:2: 't' has 16 bytes in the module and 20 here");
        orr_script_free(s);
    }
}

static void replace_in(const char *path, const char *from, const char *to) {
    orr_err e = {0};
    size_t n;
    char *text = orr_read_file(path, 1 << 24, &n, &e), *at = text ? strstr(text, from) : NULL;
    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
    FILE *f = fopen(path, "wb");
    fwrite(text, 1, n, f);
    fclose(f);
    free(text);
}

static void test_reference(void **state) {
    (void)state;
    char dir[] = "/tmp/orrery-test-XXXXXX", path[100], file[100];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/m.launch", dir);
    snprintf(file, sizeof file, "%s/m.expect", dir);
    static const char text[] = "module \"missing.ptx\"\nsize small n = 1000\nsize large n = 40000\nlet a = "
                               "2.0\nbuffer x f32[n] random 0 1\nbuffer y s32[100000] iota\n"
                               "buffer z f32[1]\nfor k = 1 to 3\n  launch scale grid 1 block 1 args x, n, "
                               "a\nend\nset y[0] = %d\nset x[n - 1] = x[n - 1] * %s\n"
                               "expect x from \"m.expect\" rtol 1e-6\nexpect y from \"m.expect\"\n";
    // with the file made: right; a wrong integer; a wrong float; a float within the tolerance
    static const struct {
        int y;
        const char *x, *message;
    } cases[] = {{4, "1", NULL},
                 {5, "1", "m.launch:14: buffer y, element 0: it holds 5 and should hold 4"},
                 {4, "0", "their sum is"},
                 {4, "1.0000001", NULL}};
    for (int size = 0; size < 2; size++) {
        for (int c = 0; c < 4; c++) {
            char script[1000];
            orr_err e = {0};
            snprintf(script, sizeof script, text, cases[c].y, cases[c].x);
            orr_script *s = orr_script_parse(
                &(orr_script_text){
                    .path = path, .text = script, .n = strlen(script), .size = size ? "large" : "small"},
                &e);
            assert_non_null(s);
            if (c == 0) {
                if (size == 1) assert_false(orr_script_reference(s, double_all, false, &e)); // not made yet
                e = (orr_err){0};
                if (!orr_script_reference(s, double_all, true, &e)) fail_msg("%s", e.text);
                if (!orr_script_reference(s, double_all, false, &e)) fail_msg("%s", e.text);
            }
            orr_script_free(s);
            // now the launches, with a module that has the kernel: 2^3 times
            char *missing = strstr(script, "missing");
            memcpy(missing, "       ", 7);
            fake f = {0};
            orr_backend b = fake_backend(&f);
            s = orr_script_parse(
                &(orr_script_text){
                    .path = path, .text = script, .n = strlen(script), .size = size ? "large" : "small"},
                &e);
            assert_non_null(s);
            s->modules.at[0].path = "m.ptx";
            orr_script_opener(s, fake_open);
            bool ok = orr_script_run(s, &b, true, NULL, &e);
            if (ok != !cases[c].message) fail_msg("case %d: %s", c, e.text);
            if (!ok && !strstr(e.text, cases[c].message)) fail_msg("case %d: %s", c, e.text);
            if (!ok) assert_int_equal(e.status, 1);
            orr_script_free(s);
            fake_end(&f);
        }
    }
    // a damaged file is said to be one
    char script[1000];
    snprintf(script, sizeof script, text, 4, "1");
    static const struct {
        const char *from, *to, *message;
    } damage[] = {{"count 1000 ", "count  999 ", "is for f32[999] and buffer x is f32[1000]"},
                  {"near chunks 125\n", "near chunks 121\n", "is damaged"},
                  {"expectations 1", "expectations 2", "no file of expectations of version 1"}};
    for (int c = 0; c < 3; c++) {
        replace_in(file, damage[c].from, damage[c].to);
        orr_err e = {0};
        orr_script *s = orr_script_parse(
            &(orr_script_text){.path = path, .text = script, .n = strlen(script), .size = "small"}, &e);
        assert_false(orr_script_reference(s, double_all, false, &e));
        assert_int_equal(e.status, 2);
        if (!strstr(e.text, damage[c].message)) fail_msg("%s", e.text);
        orr_script_free(s);
        replace_in(file, damage[c].to, damage[c].from);
    }
    unlink(file);
    rmdir(dir);
}

// ---- the command line's form ----------------------------------------------------------------
static bool direct(const char *kernel, const char *const *args, int nargs, fake *f, orr_err *e) {
    orr_direct d = {.module = "m.ptx",
                    .kernel = kernel,
                    .grid = "4,2",
                    .block = "64",
                    .shared = "128",
                    .args = args,
                    .nargs = nargs};
    *f = (fake){0};
    *e = (orr_err){0};
    orr_script *s = orr_script_from_args(&d, e);
    if (!s) return false;
    orr_script_opener(s, fake_open);
    orr_backend b = fake_backend(f);
    bool ok = orr_script_run(s, &b, true, NULL, e);
    orr_script_free(s);
    return ok;
}

static void test_from_args(void **state) {
    (void)state;
    fake f;
    orr_err e;
    const char *args[] = {"buf:f32:8:iota:1:0.5", "i32:3", "f32:2"};
    if (!direct("scale", args, 3, &f, &e)) fail_msg("%s", e.text);
    assert_memory_equal(f.blocks[0], ((float[]){2, 3, 4, 2.5f}), 16);
    assert_memory_equal(f.grid, ((uint32_t[]){4, 2, 1}), 12);
    assert_int_equal(f.block[0], 64);
    assert_int_equal(f.shared, 128);
    fake_end(&f);
    static const char *const fills[] = {
        "buf:u8:5:random:0:99:1234567", "buf:u8:5",      "buf:u8:5:value:7",
        "buf:u8:5:list:1,2,3,4,5",      "buf:u8:5:zero", "buf:u8:4+1:iota:-1"};
    static const uint8_t want[][5] = {{35, 17, 53, 24, 88}, {0}, {7, 7, 7, 7, 7},
                                      {1, 2, 3, 4, 5},      {0}, {255, 0, 1, 2, 3}};
    for (int k = 0; k < 6; k++) {
        args[0] = fills[k];
        args[1] = "i32:0";
        if (!direct("scale", args, 3, &f, &e)) fail_msg("%s", e.text);
        assert_memory_equal(f.blocks[0], want[k], 5);
        fake_end(&f);
    }
    static const struct {
        const char *arg, *message;
    } bad_args[] = {{"7", "it should be TYPE:VALUE"},
                    {"i33:7", "it should be TYPE:VALUE"},
                    {"i32:", "it should be TYPE:VALUE"},
                    {"i32:7,8", "it should be TYPE:VALUE"},
                    {"buf:f32", "it should be TYPE:VALUE"},
                    {"buf:f32:8:nothing", "'nothing' is not a fill"},
                    {"buf:f32:8:zero\nlet", "it should be TYPE:VALUE"},
                    {"f32:2.5", "takes 8 bytes"}};
    for (int k = 0; k < 8; k++) {
        args[0] = bad_args[k].arg;
        assert_false(direct("scale", args, 3, &f, &e));
        fake_end(&f);
        assert_int_equal(e.status, 2);
        if (!strstr(e.text, bad_args[k].message)) fail_msg("'%s' for %s", e.text, bad_args[k].arg);
    }
    assert_false(direct("scale", NULL, 0, &f, &e));
    assert_string_equal(e.text,
                        "command line: kernel 'scale' takes 3 arguments (u64, u32, f32) and 0 are given");
    assert_false(direct(NULL, NULL, 0, &f, &e));
    assert_string_equal(e.text, "command line: say which kernel; there are: scale countdown mixed none");
    orr_direct d = {.module = "m.ptx", .kernel = "none", .block = "64"};
    e = (orr_err){0};
    assert_null(orr_script_from_args(&d, &e));
    assert_non_null(strstr(e.text, "m.ptx: --grid is needed"));
    static const char *const bad_grids[] = {"", "1,", ",1", "1,,1", "1,1,1,1", "(1", "1,abc", "1\n"};
    for (size_t k = 0; k < sizeof bad_grids / sizeof bad_grids[0]; k++) {
        e = (orr_err){0};
        d.grid = bad_grids[k];
        assert_null(orr_script_from_args(&d, &e));
        assert_int_equal(e.status, 2);
        assert_non_null(
            strstr(e.text, strchr(d.grid, 'a') ? "'abc' is not a number" : "it should be one to three"));
    }
    d.grid = "max(1, 2), 2*3"; // a comma in parentheses is a function's
    e = (orr_err){0};
    orr_script *s = orr_script_from_args(&d, &e);
    assert_non_null(s);
    orr_script_free(s);
    d.shared = "1,2";
    assert_null(orr_script_from_args(&d, &e));
    assert_non_null(strstr(e.text, "--shared 1,2: it should be a number"));
    assert_int_equal(modules_open, 0);
}

// Memory that the machine does not have is refused, not touched until the system ends the process.
static void test_cpu_memory(void **state) {
    (void)state;
    orr_err e = {0};
    orr_cpu *cpu = orr_cpu_new(NULL, NULL, &e);
    orr_backend b = orr_cpu_backend(cpu);
    assert_int_equal(b.alloc(b.self, "large", orr_host_memory() + 1, &e), 0);
    assert_int_equal(e.status, ORR_BAD_INPUT);
    assert_non_null(strstr(e.text, "'large' has "));
    e = (orr_err){0};
    assert_true(b.alloc(b.self, "small", 4096, &e) != 0);
    orr_cpu_delete(cpu);
}

// ---- bundled workloads ----------------------------------------------------------------------
static void test_find(void **state) {
    (void)state;
    char dir[] = "/tmp/orrery-test-XXXXXX", path[400];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path,
             "mkdir -p %s/workloads/b %s/workloads/a %s/workloads/empty && touch %s/workloads/b/b.launch "
             "%s/workloads/a/a.launch",
             dir, dir, dir, dir, dir);
    assert_int_equal(system(path), 0);
    setenv("ORRERY_DATA", dir, 1);
    orr_arena a = {0};
    orr_err e = {0};
    int n;
    const char *const *names = orr_list_workloads(&a, &n);
    assert_int_equal(n, 2);
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "b");
    snprintf(path, sizeof path, "%s/workloads/a/a.launch", dir);
    assert_string_equal(orr_find_workload(&a, "a", &e), path);
    assert_string_equal(orr_find_workload(&a, path, &e), path);
    assert_null(orr_find_workload(&a, "c", &e));
    assert_non_null(strstr(e.text, "c: there is no such file and no such workload"));
    e = (orr_err){0};
    assert_null(orr_find_workload(&a, dir, &e));
    assert_non_null(strstr(e.text, "is a folder"));
    e = (orr_err){0};
    assert_null(orr_find_workload(&a, "/dev/null", &e));
    assert_non_null(strstr(e.text, "/dev/null: is not a regular file"));
    e = (orr_err){0};
    assert_null(orr_script_load(path, NULL, NULL, 0, &e)); // touch made it empty
    assert_non_null(strstr(e.text, "a.launch: there is nothing in this launch script"));
    unsetenv("ORRERY_DATA");
    e = (orr_err){0};
    assert_null(orr_find_workload(&a, "saxpi", &e));
    assert_non_null(strstr(e.text, "did you mean 'saxpy'?"));
    orr_arena_free(&a);
    snprintf(path, sizeof path, "rm -r %s", dir);
    assert_int_equal(system(path), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),        cmocka_unit_test(test_fills),
        cmocka_unit_test(test_random_bounds),      cmocka_unit_test(test_statements),
        cmocka_unit_test(test_nesting_is_bounded), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_launches),           cmocka_unit_test(test_checks),
        cmocka_unit_test(test_reference),          cmocka_unit_test(test_from_args),
        cmocka_unit_test(test_cpu_memory),         cmocka_unit_test(test_find),
        cmocka_unit_test(test_reference_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
