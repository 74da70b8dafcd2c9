#include <stdlib.h>
#include <string.h>

#include "ops.h"

enum { MAT_INT, MAT_F16, MAT_BF16, MAT_F32, MAT_F64, MAT_F8, MAT_KINDS };

const ops_case ops_cases[] = {
#define I(t, s) {.text = t, .signature = s},
#define A(t, s) {.text = t, .signature = s, .approx = true},
#define M(t, d, a, b, c, w, ab, cc)                                                                          \
    {.text = t, .signature = "w", .matrix = {d, a, b, c}, .width = w, .in_ab = ab, .in_c = cc},
#include "ops.def"
};
const int ops_count = sizeof ops_cases / sizeof *ops_cases;

// ---- inputs ---------------------------------------------------------------------------------
enum { IN_INT, IN_F32, IN_F64, IN_F16, IN_BF16, IN_SMALL, IN_KINDS };

static const uint64_t ints[] = {
    0,
    1,
    2,
    3,
    5,
    31,
    32,
    33,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xffffffffffffffff,
    0xfffffffffffffff9,
    0x123456789abcdef0,
};
static const uint64_t f32s[] = {
    0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,   0x80800000, 0x3f800000,
    0xbf800000, 0x3fc00000, 0x40490fdb, 0x3f000000, 0x4b000000, 0x4f000000, 0xcf000000, 0x5f000000,
    0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffa00001,
};
static const uint64_t f64s[] = {
    0,
    0x8000000000000000,
    1,
    0x800fffffffffffff,
    0x10000000000000,
    0x3ff0000000000000,
    0xbff0000000000000,
    0x3ff8000000000000,
    0x3fe0000000000000,
    0x400921fb54442d18,
    0x41dfffffffc00000,
    0x41e0000000000000,
    0xc1e0000000200000,
    0x43e0000000000000,
    0x47efffffe0000000,
    0x47effffff0000000,
    0x36a0000000000000,
    0x7fefffffffffffff,
    0x7ff0000000000000,
    0xfff0000000000000,
    0x7ff8000000000000,
    0xfff4000000000001,
};
static const uint64_t f16s[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x8400, 0x3c00,
                                0xbc00, 0x3e00, 0x4248, 0x3800, 0x6400, 0x7bff, 0xfbff, 0x7c00,
                                0xfc00, 0x7e00, 0xfd01, 0x3555, 0x0001, 0x77ff};
static const uint64_t bf16s[] = {0,      0x8000, 1,      0x8001, 0x7f,   0x80,   0x8080, 0x3f80,
                                 0xbf80, 0x3fc0, 0x4049, 0x3f00, 0x4b00, 0x7f7f, 0xff7f, 0x7f80,
                                 0xff80, 0x7fc0, 0xffa1, 0x3eab, 0x0001, 0x7e7f};
#define SPECIALS 22

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// The first elements go through all pairs of special values; then random bits; then random numbers
// of ordinary size, which is where arithmetic rounds.
static uint64_t input(int kind, int source, int element) {
    static const uint64_t *const specials[] = {ints, f32s, f64s, f16s, bf16s};
    uint64_t r = mix((uint64_t)kind << 40 ^ (uint64_t)source << 32 ^ (uint64_t)element);
    if (kind == IN_SMALL) return r & 63;
    if (element < SPECIALS * SPECIALS) {
        int at = source == 0   ? element % SPECIALS
                 : source == 1 ? element / SPECIALS
                               : (element * 7 + source) % SPECIALS;
        uint64_t v = specials[kind][at];
        if (kind == IN_F16 || kind == IN_BF16) v |= specials[kind][(at * 5 + 3) % SPECIALS] << 16;
        return v;
    }
    if (element < 760 || kind == IN_INT) return r;
    switch (kind) {
    case IN_F32: return (r & 0x807fffff) | (uint64_t)(0x3f800000 + ((int64_t)(r >> 32 & 7) - 4) * 0x800000);
    case IN_F64:
        return (r & 0x800fffffffffffff) | (0x3ff0000000000000 + ((r >> 53 & 7) - 4) * 0x10000000000000);
    case IN_F16: return (r & 0x83ff83ff) | 0x3c003c00;
    default: return (r & 0x807f807f) | 0x3f803f80;
    }
}

static int kind_of(const ops_case *c, char letter) {
    switch (letter) {
    case 'f': return IN_F32;
    case 'e': return IN_F64;
    case 'x':
    case 'y': return strstr(c->text, "bf16") ? IN_BF16 : IN_F16;
    case 'n':
    case 'm': return IN_SMALL;
    default: return IN_INT;
    }
}

uint64_t ops_input(const ops_case *c, int source, int element) {
    return source + 1 < (int)strlen(c->signature)
               ? input(kind_of(c, c->signature[source + 1]), source, element)
               : 0;
}

// Matrices get numbers of ordinary size: the corners are the arithmetic's, not the matrix's.
#define MAT_N 4096 // words of each kind
static uint64_t matrix_input(int kind, int element) {
    uint64_t r = mix((uint64_t)kind << 48 ^ 0x5bd1e995u ^ (uint64_t)element), s = mix(r);
    switch (kind) {
    case MAT_F16: return (r & 0x83ff83ff) | (0x38003800 + (s & 0x0c000c00));
    case MAT_BF16: return (r & 0x807f807f) | (0x3f003f00 + (s & 0x01800180));
    case MAT_F32: return (r & 0x807fffff) | (0x3f000000 + (s & 0x01800000));
    case MAT_F64: return (r & 0x800fffffffffffff) | (0x3fe0000000000000 + (s & 0x0030000000000000));
    case MAT_F8: return r & 0xbfbfbfbf;
    default: return r;
    }
}

// ---- kernels --------------------------------------------------------------------------------
static char width(char letter) {
    return strchr("hx", letter) ? 'h' : strchr("de", letter) ? 'd' : letter == 'p' ? 'p' : 'w';
}

static void kernel(orr_text *t, int n) {
    const ops_case *c = &ops_cases[n];
    orr_text_add(t, ".visible .entry op%d(.param .u64 in, .param .u64 out)\n{\n", n);
    orr_text_add(t, ".reg .b64 %%d<8>; .reg .b32 %%w<8>; .reg .b16 %%h<8>; .reg .pred %%p<2>; .reg .b64 "
                    "%%a<8>; .reg .b32 %%t<4>;\n");
    orr_text_add(t, "mov.u32 %%t0, %%ctaid.x; mov.u32 %%t1, %%ntid.x; mov.u32 %%t2, %%tid.x; mad.lo.s32 "
                    "%%t0, %%t0, %%t1, %%t2;\n"
                    "mul.wide.u32 %%a0, %%t0, 8; ld.param.u64 %%a1, [in]; add.s64 %%a1, %%a1, %%a0; "
                    "ld.param.u64 %%a2, [out]; add.s64 %%a2, %%a2, %%a0;\n");
    int nsrc = 0;
    char operands[200] = "";
    for (const char *s = c->signature + 1; *s; s++, nsrc++) {
        char one[16];
        if (*s == '3') {
            strcat(operands, ", 0xca");
            break;
        }
        size_t offset = ((size_t)nsrc * IN_KINDS + (size_t)kind_of(c, *s)) * OPS_N * 8;
        orr_text_add(t, "ld.global.u64 %%d%d, [%%a1+%zu];\n", nsrc + 1, offset);
        if (*s == 'm') orr_text_add(t, "and.b64 %%d%d, %%d%d, 31;\n", nsrc + 1, nsrc + 1);
        if (width(*s) == 'w') orr_text_add(t, "cvt.u32.u64 %%w%d, %%d%d;\n", nsrc + 1, nsrc + 1);
        if (width(*s) == 'h') orr_text_add(t, "cvt.u16.u64 %%h%d, %%d%d;\n", nsrc + 1, nsrc + 1);
        snprintf(one, sizeof one, ", %%%c%d", width(*s), nsrc + 1);
        strcat(operands, one);
    }
    char d = width(c->signature[0]);
    orr_text_add(t, "%s %%%c0%s;\n", c->text, d, operands);
    if (d == 'p') orr_text_add(t, "selp.b64 %%d0, 1, 0, %%p0;\n");
    if (d == 'w') orr_text_add(t, "cvt.u64.u32 %%d0, %%w0;\n");
    if (d == 'h') orr_text_add(t, "cvt.u64.u16 %%d0, %%h0;\n");
    orr_text_add(t, "st.global.u64 [%%a2], %%d0;\nret;\n}\n");
}

// 128 threads; thread t's register r of an operand is word first + r * 128 + t of its kind.
static void registers(orr_text *t, char w, char name, int n) {
    orr_text_add(t, ", {");
    for (int r = 0; r < n; r++) orr_text_add(t, "%s%%%c%c%d", r ? ", " : "", name, w, r);
    orr_text_add(t, "}");
}

static void matrix_kernel(orr_text *t, int n) {
    const ops_case *c = &ops_cases[n];
    const char *reg = c->width == 'd' ? "b64" : "b32";
    orr_text_add(
        t, ".visible .entry op%d(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %%x<8>; .reg .b32 %%t<2>;\n",
        n);
    for (const char *o = "dabc"; *o; o++) orr_text_add(t, ".reg .%s %%%c%c<8>;\n", reg, *o, c->width);
    orr_text_add(t, "mov.u32 %%t0, %%tid.x; mul.wide.u32 %%x0, %%t0, 8; ld.param.u64 %%x1, [in]; add.s64 "
                    "%%x1, %%x1, %%x0;\n"
                    "ld.param.u64 %%x2, [out]; add.s64 %%x2, %%x2, %%x0;\n");
    int first = 0;
    for (int o = 1; o < 4; o++) {
        size_t kind = o == 3 ? c->in_c : c->in_ab;
        for (int r = 0; r < c->matrix[o]; r++) {
            size_t offset = ((size_t)4 * IN_KINDS * OPS_N + kind * MAT_N + (size_t)(first + r) * 128) * 8;
            orr_text_add(t, "ld.global.%s %%%c%c%d, [%%x1+%zu];\n", reg, "dabc"[o], c -> width, r, offset);
        }
        first += c->matrix[o];
    }
    orr_text_add(t, "%s {", c->text);
    for (int r = 0; r < c->matrix[0]; r++) orr_text_add(t, "%s%%d%c%d", r ? ", " : "", c->width, r);
    orr_text_add(t, "}");
    for (int o = 1; o < 4; o++) registers(t, c->width, "dabc"[o], c -> matrix[o]);
    orr_text_add(t, ";\n");
    for (int r = 0; r < c->matrix[0]; r++) {
        orr_text_add(t, "%s %%x3, %%d%c%d;\n", c->width == 'd' ? "mov.b64" : "cvt.u64.u32", c->width, r);
        orr_text_add(t, "st.global.u64 [%%x2+%d], %%x3;\n", r * 128 * 8);
    }
    orr_text_add(t, "ret;\n}\n");
}

void ops_module(orr_text *t) {
    orr_text_add(t, ".version 8.4\n.target sm_90\n.address_size 64\n");
    for (int n = 0; n < ops_count; n++) {
        if (ops_cases[n].matrix[0])
            matrix_kernel(t, n);
        else
            kernel(t, n);
    }
}

bool ops_load(const orr_backend *b, orr_module *m, ops_memory *mem, orr_err *e) {
    size_t scalars = (size_t)4 * IN_KINDS * OPS_N, n = scalars + (size_t)MAT_KINDS * MAT_N;
    uint64_t *in = orr_malloc(n * 8);
    for (size_t i = scalars; i < n; i++)
        in[i] = matrix_input((int)((i - scalars) / MAT_N), (int)((i - scalars) % MAT_N));
    for (size_t i = 0; i < scalars; i++)
        in[i] = input((int)(i / OPS_N % IN_KINDS), (int)(i / OPS_N / IN_KINDS), (int)(i % OPS_N));
    bool ok = b->load(b->self, 0, m, e);
    mem->in = ok ? b->alloc(b->self, "in", n * 8, e) : 0;
    mem->out = mem->in ? b->alloc(b->self, "out", OPS_N * 8, e) : 0;
    ok = mem->out && b->write(b->self, mem->in, in, n * 8, e);
    free(in);
    return ok;
}

bool ops_run_one(const orr_backend *b, orr_module *m, const ops_memory *mem, int n, bool mat,
                 uint64_t *results, orr_err *e) {
    static const uint64_t zero[OPS_N];
    char name[16];
    snprintf(name, sizeof name, "op%d", n);
    uint64_t params[2] = {mem->in, mem->out};
    const orr_kernel *k = m->load(m, name, e);
    if (!k || !b->write(b->self, mem->out, zero, sizeof zero, e)) return false;
    orr_call c = {.kernel = k,
                  .grid = {mat ? 1 : OPS_N / 256, 1, 1},
                  .block = {mat ? 128 : 256, 1, 1},
                  .params = (const uint8_t *)params,
                  .index = (uint32_t)n};
    return b->launch(b->self, &c, e) && b->read(b->self, mem->out, results, OPS_N * 8, e);
}

bool ops_run(const orr_backend *b, orr_module *m, uint64_t *results, orr_err *e) {
    ops_memory mem;
    if (!ops_load(b, m, &mem, e)) return false;
    for (int n = 0; n < ops_count; n++)
        if (!ops_run_one(b, m, &mem, n, ops_cases[n].matrix[0], results + (size_t)n * OPS_N, e)) return false;
    return true;
}

// ---- comparing approximations ---------------------------------------------------------------
static uint64_t apart(uint64_t a, uint64_t b, int bits, uint64_t inf) {
    uint64_t sign = 1ull << (bits - 1), ma = a & (sign - 1), mb = b & (sign - 1);
    if (ma > inf || mb > inf) return ma > inf && mb > inf ? 0 : UINT64_MAX;
    if (ma == inf || mb == inf) return a == b ? 0 : UINT64_MAX;
    int64_t x = a & sign ? -(int64_t)ma : (int64_t)ma, y = b & sign ? -(int64_t)mb : (int64_t)mb;
    return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

uint64_t ops_distance(const ops_case *c, uint64_t a, uint64_t b) {
    uint64_t inf16 = strstr(c->text, "bf16") ? 0x7f80 : 0x7c00, lo, hi;
    switch (c->signature[0]) {
    case 'e': return apart(a, b, 64, 0x7ff0000000000000);
    case 'x': return apart(a & 0xffff, b & 0xffff, 16, inf16);
    case 'y':
        lo = apart(a & 0xffff, b & 0xffff, 16, inf16);
        hi = apart(a >> 16 & 0xffff, b >> 16 & 0xffff, 16, inf16);
        return lo > hi ? lo : hi;
    default: return apart(a & 0xffffffff, b & 0xffffffff, 32, 0x7f800000);
    }
}
