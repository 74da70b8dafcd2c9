// wgmma: products of matrices by a group of four warps. The first factor comes from registers or from shared
// memory, the second from shared memory.
//
// Warp w of a group has rows 16 w to 16 w + 15 of A and D: each warp does its part when it executes the
// instruction. That the parts belong together shows where they are waited for: wgmma.wait_group
// (WARPGROUP.DEPBAR) holds a warp until the other three have executed as many products as it has (arrive.c),
// so that shared memory is not given back before all have read it. WARPGROUP.ARRIVE (wgmma.fence), which all
// four execute, counts as one, and WARPGROUP.WAIT waits likewise: together they are a barrier of the four
// warps, with which kernels of cuBLAS part what they write to shared memory from its copy.
//
// Floats are added up as mma.c says, all products of an instruction in one step: 16 of f16 and bf16, 8 of
// tf32, with 25 bits below the largest exponent. Of 8-bit floats it is 32 products with 13 bits, and a sum
// that goes to f32 keeps 13 bits below its first. Measured on an H200: 14 combinations of types, 81,920 sums
// of each (subnormals, infinities, NaNs, sums that cancel), all bits equal.
//
// A matrix descriptor (PTX ISA, "Matrix Descriptor Format") says where a matrix is in shared memory:
//   bits  0 to 13   its address / 16
//   bits 16 to 29   leading dimension byte offset / 16, LBO
//   bits 32 to 45   stride dimension byte offset / 16, SBO
//   bits 49 to 51   base offset: 128-byte rows from the begin of the swizzle's pattern to the matrix
//   bits 62 to 63   swizzle: none, 128, 64, 32 bytes
// How bytes follow from that was read off an H200 (224 descriptors of every swizzle, both majors, odd
// starts):
//                     K-major: row r, 16-byte chunk c           MN-major (16-bit elements): place p, k
//   no swizzle        r/8 SBO + r%8 16 + c LBO                  p/8 SBO + p%8 2 + k%8 16 + k/8 LBO
//   rows of s bytes   r/8 SBO + r%8 s + c%(s/16) 16             p/(s/2) LBO + p%(s/2) 2 + k%8 s + k/8 SBO
//                     + c/(s/16) LBO
// and with a swizzle of s bytes, s/16 16-byte chunks change places: the chunk's number in the address is
// XORed with ((address / 128) - base offset) modulo s/16.
#include "exec/ops/wgmma.h"

#include <stdlib.h>
#include <string.h>

#include "exec/block.h"
#include "exec/ops/mma.h"
#include "exec/ops/sums.h"

enum { ROWS = 16, N_MAX = 256, K_MAX = 64, CHUNK = 16, ROW_BYTES = 64 };

// ---- descriptors ------------------------------------------------------------------------------
typedef struct gdesc {
    uint32_t start, lbo, sbo, base, span; // span: bytes of the swizzle's rows, 16: none
} gdesc;

static gdesc open_desc(uint64_t d) {
    static const uint32_t spans[4] = {16, 128, 64, 32};
    return (gdesc){.start = (uint32_t)(d & 0x3fff) << 4,
                   .lbo = (uint32_t)(d >> 16 & 0x3fff) << 4,
                   .sbo = (uint32_t)(d >> 32 & 0x3fff) << 4,
                   .base = (uint32_t)(d >> 49 & 7),
                   .span = spans[d >> 62]};
}

static uint32_t swizzled(const gdesc *g, uint32_t at) {
    return g->span == 16 ? at : at ^ (((at >> 7) - g->base) & (g->span / 16 - 1)) << 4;
}

static uint32_t chunk_at(const gdesc *g, uint32_t r, uint32_t c) { // K-major
    uint32_t at = g->start + r / 8 * g->sbo;
    if (g->span == 16) return at + r % 8 * 16 + c * g->lbo;
    uint32_t n = g->span / 16;
    return swizzled(g, at + r % 8 * g->span + c % n * 16 + c / n * g->lbo);
}

static uint32_t half_at(const gdesc *g, uint32_t p, uint32_t k) { // MN-major
    uint32_t n = g->span / 2;
    if (g->span == 16) return g->start + p / 8 * g->sbo + p % 8 * 2 + k % 8 * 16 + k / 8 * g->lbo;
    return swizzled(g, g->start + p / n * g->lbo + p % n * 2 + k % 8 * g->span + k / 8 * g->sbo);
}

// What reads a matrix. A first pass reads; if a bulk copy may be under way where it has been, a second one is
// exact about that.
typedef struct reader {
    warp *w;
    const uop *u;
    char which; // A or B
    bool exact;
    uint32_t least, most;  // of what was read: [least, most)
    uint32_t *marks, mark; // of what products read (run/flights.c)
} reader;

// The 16 bytes at `at`, or NULL after a fault: outside of shared memory, where a bulk copy is under way, or,
// in strict memory, where nobody has written since the block began (ORR_UNSET).
static const uint8_t *chunk_of(reader *r, uint32_t at) {
    const tblock *tb = r->w->tb;
    uint32_t all = tb->prog->shared_bytes;
    int lane = orr_ffs(r->w->exec);
    if (at > all || CHUNK > all - at) {
        orr_fault_as(
            ORR_FAULT_ADDRESS, r->w, r->u, lane,
            "the descriptor of %c leads to 0x%x in shared memory, which is out of bounds: the block has "
            "%u bytes",
            r->which, at, all);
        return NULL;
    }
    const flight *f = r->exact ? orr_copy_over(tb, at, at + CHUNK) : NULL;
    if (f) {
        orr_fault(
            r->w, r->u, lane,
            "a race: the descriptor of %c leads to 0x%x in shared memory, where a bulk copy is under way: "
            "nobody has waited for its mbarrier at 0x%x",
            r->which, at, f->mbar);
        return NULL;
    }
    uint64_t x[2];
    memcpy(x, tb->shared + at, CHUNK);
    if (x[0] == ORR_UNSET && x[1] == ORR_UNSET) {
        orr_fault(
            r->w, r->u, lane,
            "the descriptor of %c leads to 0x%x in shared memory, where nothing has been written since the "
            "block began",
            r->which, at);
        return NULL;
    }
    r->least = at < r->least ? at : r->least;
    r->most = at + CHUNK > r->most ? at + CHUNK : r->most;
    if (r->marks) r->marks[at / CHUNK] = r->mark;
    return tb->shared + at;
}

// Rows [first, first + rows) of a matrix by columns, eight places of 2 bytes at a time.
static bool read_columns(reader *d, const gdesc *g, uint32_t first, uint32_t rows, uint32_t bytes,
                         uint8_t *out) {
    for (uint32_t k = 0; k < bytes / 2; k++)
        for (uint32_t r = 0; r < rows; r += 8) {
            const uint8_t *from = chunk_of(d, half_at(g, first + r, k));
            if (!from) return false;
            for (uint32_t x = 0; x < 8; x++) memcpy(out + (r + x) * bytes + k * 2, from + x * 2, 2);
        }
    return true;
}

static bool read_rows(reader *d, const gdesc *g, uint32_t first, uint32_t rows, uint32_t bytes,
                      uint8_t *out) {
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < bytes / CHUNK; c++) {
            const uint8_t *from = chunk_of(d, chunk_at(g, first + r, c));
            if (!from) return false;
            memcpy(out + r * bytes + c * CHUNK, from, CHUNK);
        }
    return true;
}

// Of A the warp's rows, of B all; `bytes` of each, to out [row][bytes]. False after a fault.
static bool read_matrix(reader *d, uint64_t desc, uint32_t rows, uint32_t bytes, uint8_t *out) {
    gdesc g = open_desc(desc);
    bool (*read)(reader *, const gdesc *, uint32_t, uint32_t, uint32_t, uint8_t *) = read_rows;
    if (d->u->inst->mods & (d->which == 'A' ? ORR_M_A_COL : ORR_M_TRANS)) read = read_columns;
    uint32_t first = d->which == 'A' ? d->w->index % 4 * ROWS : 0;
    d->least = UINT32_MAX;
    d->marks = orr_product_reads(d->w, &d->mark);
    if (!read(d, &g, first, rows, bytes, out)) return false;
    d->exact = orr_copy_over(d->w->tb, d->least, d->most) != NULL;
    return !d->exact || read(d, &g, first, rows, bytes, out);
}

// ---- the product ------------------------------------------------------------------------------
typedef struct wg {
    int n, k, kc; // kc: columns of A that are stored
    uint8_t dtype, atype, btype;
    bool sparse, saturates, negate_a, negate_b;
    uint8_t a[ROWS * 32], b[N_MAX * ROW_BYTES]; // as they are in memory, rows of A, columns of B
    uint8_t place[ROWS * 32];                   // sparse: the row of B each column of A meets
    uint32_t c[ROWS * N_MAX];                   // C, then D: bits
} wg;

static bool special_sum(const wg *p, const uint32_t *a, const uint32_t *b, int i, int j, uint32_t *c) {
    double s = f32_of(*c);
    bool odd = (*c & 0x7f800000) == 0x7f800000;
    for (int k = 0; k < p->kc; k++) {
        uint32_t x = a[i * p->kc + k], y = b[(p->sparse ? p->place[i * p->kc + k] : k) * p->n + j];
        if ((x & 0x7f800000) != 0x7f800000 && (y & 0x7f800000) != 0x7f800000) continue;
        odd = true;
        s += (double)f32_of(x) * (double)f32_of(y);
    }
    if (odd) *c = s == s ? bits32((float)s) : NAN32;
    return odd;
}

static void negate(uint32_t *f, int n) {
    for (int i = 0; i < n; i++) f[i] ^= 0x80000000u;
}

// B as floats, [k][n]. The warps of a group, and other groups, multiply by the same B: those of late are
// kept, and one is used again when the bytes in shared memory are still the same.
typedef struct second {
    uint8_t raw[N_MAX * ROW_BYTES];
    uint32_t f[N_MAX * K_MAX];
    int16_t e[N_MAX * K_MAX];
    int n, k;
    uint8_t type;
    bool negated, usual;
} second;
enum { KEPT = 8 };

static const second *second_of(worker *k, const wg *p, uint64_t desc) {
    if (!k->products) k->products = orr_calloc(KEPT, sizeof(second));
    second *b = (second *)k->products + ((uint32_t)desc * 2654435761u >> 29);
    uint32_t bytes = (uint32_t)p->n * (p->sparse ? 64 : 32);
    if (b->n == p->n && b->k == p->k && b->type == p->btype && b->negated == p->negate_b &&
        !memcmp(b->raw, p->b, bytes))
        return b;
    static _Thread_local uint32_t t[N_MAX * K_MAX];
    memcpy(b->raw, p->b, bytes);
    b->n = p->n, b->k = p->k, b->type = p->btype, b->negated = p->negate_b;
    orr_mma_to_f32(p->btype, p->b, p->n * p->k, t);
    for (int kk = 0; kk < p->k; kk++)
        for (int j = 0; j < p->n; j++) b->f[kk * p->n + j] = t[j * p->k + kk];
    if (p->negate_b) negate(b->f, p->n * p->k);
    b->usual = orr_sums_exponents(p->btype, b->f, p->n * p->k, b->e);
    return b;
}

// What is not usual: any numbers, a sparse A, sums of 16 bits. Columns [from, to) of row i.
typedef struct split_of { // a matrix as factors of powers of two
    float s[N_MAX * K_MAX];
    int32_t e[N_MAX * K_MAX];
    bool odd; // there are infinities or NaNs
} split_of;
typedef struct slow {
    const uint32_t *fa, *fb;
    split_of a, b;
    bool ready;
} slow;

static void multiply_slowly(wg *p, slow *z, int i, int from, int to) {
    int n = p->n, kc = p->kc;
    bool half = p->dtype == ORR_T_F16, f8 = orr_matrix_bits(p->atype) == 8;
    if (!z->ready) {
        z->a.odd = orr_mma_split(p->atype, ROWS * kc, z->fa, z->a.s, z->a.e);
        z->b.odd = orr_mma_split(p->btype, n * p->k, z->fb, z->b.s, z->b.e);
        z->ready = true;
    }
    mma_step how = {.sa = z->a.s + i * kc,
                    .ea = z->a.e + i * kc,
                    .n = n,
                    .len = kc,
                    .guard = f8 ? 13 : MMA_GUARD,
                    .keep = f8 && !half ? 13 : 0,
                    .place = p->sparse ? p->place + i * kc : NULL,
                    .narrow = half,
                    .half = half};
    for (int j = from; j < to; j += FOUR) {
        double acc[FOUR];
        uint32_t c[FOUR];
        for (int x = 0; x < FOUR; x++) {
            uint32_t v = p->c[i * n + j + x];
            c[x] = half ? f32_from_f16((uint16_t)v) : v;
            acc[x] = (c[x] & 0x7f800000) == 0x7f800000 ? 0 : f32_of(c[x]);
        }
        how.sb = z->b.s + j, how.eb = z->b.e + j;
        orr_mma_step(how, acc);
        for (int x = 0; x < FOUR; x++) {
            bool found = z->a.odd || z->b.odd || (c[x] & 0x7f800000) == 0x7f800000;
            uint32_t r = bits32((float)acc[x]);
            if (found && special_sum(p, z->fa, z->fb, i, j + x, &c[x])) r = c[x];
            p->c[i * n + j + x] = half ? f16_from_f32(r) : r;
        }
    }
}

static void multiply_floats(worker *k, wg *p, uint64_t desc) {
    static _Thread_local slow z;
    uint32_t a[ROWS * 32];
    int16_t ea[ROWS * 32];
    int n = p->n, kc = p->kc;
    bool f8 = orr_matrix_bits(p->atype) == 8;
    orr_mma_to_f32(p->atype, p->a, ROWS * kc, a);
    if (p->negate_a) negate(a, ROWS * kc);
    const second *b = second_of(k, p, desc);
    bool usual =
        orr_sums_exponents(p->atype, a, ROWS * kc, ea) && b->usual && !p->sparse && p->dtype == ORR_T_F32;
    z.fa = a, z.fb = b->f, z.ready = false;
    sums r = {.fb = b->f, .eb = b->e, .n = n, .len = kc, .guard = f8 ? 13 : MMA_GUARD, .keep = f8 ? 13 : 0};
    for (int i = 0; i < ROWS; i++) {
        r.fa = a + i * kc, r.ea = ea + i * kc;
        if (!usual) multiply_slowly(p, &z, i, 0, n);
        for (int j = 0; usual && j < n; j += SUMS_COLUMNS)
            if (!orr_sums(&r, j, p->c + i * n)) multiply_slowly(p, &z, i, j, j + SUMS_COLUMNS);
    }
}

static int32_t byte_of(uint8_t type, uint8_t x) { return type == ORR_T_S8 ? (int8_t)x : x; }

static void multiply_ints(wg *p) {
    static _Thread_local int32_t b[N_MAX * K_MAX]; // [k][n]
    int n = p->n;
    for (int j = 0; j < n; j++)
        for (int k = 0; k < p->k; k++) b[k * n + j] = byte_of(p->btype, p->b[j * p->k + k]);
    for (int i = 0; i < ROWS; i++) {
        int32_t sum[N_MAX] = {0};
        for (int k = 0; k < p->kc; k++) {
            int32_t x = byte_of(p->atype, p->a[i * p->kc + k]);
            const int32_t *y = b + (p->sparse ? p->place[i * p->kc + k] : k) * n;
            for (int j = 0; j < n; j++) sum[j] += x * y[j];
        }
        for (int j = 0; j < n; j++) {
            int64_t v = (int64_t)sum[j] + (int32_t)p->c[i * n + j];
            if (p->saturates) v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
            p->c[i * n + j] = (uint32_t)v;
        }
    }
}

static void multiply_bits(wg *p) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < p->n; j++) {
            uint32_t s = p->c[i * p->n + j];
            for (int k = 0; k < 32; k++) s += (uint32_t)orr_popc(p->a[i * 32 + k] & p->b[j * 32 + k]);
            p->c[i * p->n + j] = s;
        }
}

// ---- registers ----------------------------------------------------------------------------------
// Register e of D holds columns 8 (e/4) + 2 t and the next of row g or g + 8, of lane 4 g + t; two of f16
// share a register.
typedef uint32_t words __attribute__((vector_size(16)));

static void read_d(const warp *w, const oper *regs, wg *p) {
    if (p->dtype == ORR_T_F16) {
        for (int e = 0; e < p->n / 2; e++)
            for (int i = 0; i < ORR_WARP; i++)
                p->c[((i >> 2) + (e & 2) * 4) * p->n + e / 4 * 8 + (i & 3) * 2 + (e & 1)] =
                    OPER(w, regs[e / 2], uint32_t)[i] >> (e & 1) * 16 & 0xffff;
        return;
    }
    for (int e = 0; e < p->n / 2; e += 2) { // four lanes have eight columns of a row
        const uint32_t *even = OPER(w, regs[e], uint32_t), *odd = OPER(w, regs[e + 1], uint32_t);
        uint32_t *to = p->c + (e & 2) * 4 * p->n + e / 4 * 8;
        for (int g = 0; g < 8; g++, to += p->n) {
            words x, y, v[2];
            memcpy(&x, even + g * 4, sizeof x);
            memcpy(&y, odd + g * 4, sizeof y);
            v[0] = __builtin_shufflevector(x, y, 0, 4, 1, 5);
            v[1] = __builtin_shufflevector(x, y, 2, 6, 3, 7);
            memcpy(to, v, sizeof v);
        }
    }
}
static void write_d(warp *w, const oper *regs, const wg *p) {
    if (p->dtype == ORR_T_F16) {
        for (int e = 0; e < p->n / 2; e++)
            for (int i = 0; i < ORR_WARP; i++)
                ((uint16_t *)OPER(w, regs[e / 2], uint32_t))[i * 2 + (e & 1)] =
                    (uint16_t)p->c[((i >> 2) + (e & 2) * 4) * p->n + e / 4 * 8 + (i & 3) * 2 + (e & 1)];
        return;
    }
    for (int e = 0; e < p->n / 2; e += 2) {
        uint32_t *even = OPER(w, regs[e], uint32_t), *odd = OPER(w, regs[e + 1], uint32_t);
        const uint32_t *from = p->c + (e & 2) * 4 * p->n + e / 4 * 8;
        for (int g = 0; g < 8; g++, from += p->n) {
            words v[2], x, y;
            memcpy(v, from, sizeof v);
            x = __builtin_shufflevector(v[0], v[1], 0, 2, 4, 6);
            y = __builtin_shufflevector(v[0], v[1], 1, 3, 5, 7);
            memcpy(even + g * 4, &x, sizeof x);
            memcpy(odd + g * 4, &y, sizeof y);
        }
    }
}

static void group_ends(warp *w) {
    warp_products *p = &w->products;
    p->ends[p->groups++ % (sizeof p->ends / sizeof *p->ends)] = p->n;
}

// ---- the handler ----------------------------------------------------------------------------------
// Destinations: D. Sources: D as it was; four registers of A, or its descriptor; B's descriptor; the
// predicate scale-d, false: D as it was counts as zero; of a sparse A its metadata and the selector.
static void wgmma(warp *w, const uop *u) {
    static _Thread_local wg p;
    const orr_inst *i = u->inst;
    p.n = (int)(u->imm & 0xffff), p.k = (int)(u->imm >> 16);
    p.dtype = i->type, p.atype = i->stype, p.btype = i->sub;
    p.sparse = i->vec == 1;
    p.kc = p.sparse ? p.k / 2 : p.k;
    p.saturates = i->mods & ORR_M_SATFINITE;
    p.negate_a = i->disp & ORR_WG_NEGATE_A, p.negate_b = i->disp & ORR_WG_NEGATE_B;
    const oper *src = u->all + u->ndst + u->ndst;
    uint32_t brow = p.sparse ? 64 : 32, lane = (uint32_t)orr_ffs(w->exec);
    if (i->boolop) { // A from registers
        orr_mma_gather(w, src, 4, ROWS, 4, p.a);
        src += 4;
    } else {
        uint64_t desc = OPER(w, *src, uint64_t)[lane];
        src++;
        if (!read_matrix(&(reader){.w = w, .u = u, .which = 'A'}, desc, ROWS, 32, p.a)) return;
    }
    uint64_t desc = OPER(w, *src, uint64_t)[lane];
    src++;
    if (!read_matrix(&(reader){.w = w, .u = u, .which = 'B'}, desc, (uint32_t)p.n, brow, p.b)) return;
    if (pred_of(w, *src++) >> lane & 1)
        read_d(w, u->all + u->ndst, &p);
    else
        memset(p.c, 0, (size_t)(ROWS * p.n) * sizeof *p.c);
    if (p.sparse)
        orr_mma_places(OPER(w, src[0], uint32_t), *OPER(w, src[1], uint32_t), p.atype, ROWS, p.kc, p.place);
    if (p.atype == ORR_T_B1)
        multiply_bits(&p);
    else if (p.dtype == ORR_T_S32)
        multiply_ints(&p);
    else
        multiply_floats(w->tb->worker, &p, desc);
    write_d(w, u->all, &p);
    w->products.n++;
    if (i->disp & ORR_WG_ENDS) group_ends(w);
    orr_mbar_recheck(w->tb);
}

// Has every warp of the group executed as many products? Lanes that have ended do not count.
bool orr_wgmma_holds(const warp *w) {
    const tblock *tb = w->tb;
    uint32_t first = w->index & ~3u;
    for (uint32_t n = first; n < first + 4 && n < tb->prog->nwarps; n++)
        if (tb->warps[n].live && tb->warps[n].products.n < w->products.n) return true;
    return false;
}

static void group_sync(warp *w, const uop *u) {
    switch (u->inst->sub) {
    case ORR_WG_COMMIT: group_ends(w); return;
    case ORR_WG_WAIT: orr_products_over(w, (uint32_t)u->inst->imm); return;
    default: break;
    }
    w->products.n++;
    orr_mbar_recheck(w->tb);
}

// ---- picking ----------------------------------------------------------------------------------------
static bool types_known(const orr_inst *i) {
    uint8_t a = i->stype, b = i->sub, d = i->type;
    bool f16f32 = d == ORR_T_F16 || d == ORR_T_F32;
    switch (a) {
    case ORR_T_F16: return b == a && f16f32;
    case ORR_T_BF16:
    case ORR_T_TF32: return b == a && d == ORR_T_F32;
    case ORR_T_E4M3:
    case ORR_T_E5M2: return (b == ORR_T_E4M3 || b == ORR_T_E5M2) && f16f32;
    case ORR_T_U8:
    case ORR_T_S8: return (b == ORR_T_U8 || b == ORR_T_S8) && d == ORR_T_S32;
    case ORR_T_B1: return b == a && d == ORR_T_S32 && i->vec != 1;
    default: return false;
    }
}

handlers orr_pick_wgmma(const orr_kernel *k, const orr_inst *i, const char **why) {
    if (i->op == ORR_OP_WGSYNC) return (handlers){group_sync, group_sync};
    if (i->op != ORR_OP_WGMMA) return (handlers){0};
    uint32_t n = i->imm & 0xffff, kk = i->imm >> 16;
    bool sparse = i->vec == 1, halves = orr_matrix_bits(i->stype) == 16;
    bool ok = types_known(i) && n >= 8 && n <= N_MAX && n % 8 == 0;
    ok = ok && kk * (uint32_t)orr_matrix_bits(i->stype) == (sparse ? 512 : 256);
    ok = ok && (halves || !(i->mods & (ORR_M_A_COL | ORR_M_TRANS)));
    uint32_t d = n / (i->type == ORR_T_F16 ? 4 : 2), rest = (i->boolop ? 4 : 1) + 2 + (sparse ? 2 : 0);
    ok = ok && i->ndst == d && i->nsrc == d + rest;
    for (uint32_t x = 0; ok && x < 2 * d + rest; x++) {
        uint32_t s = x - 2 * d, a = i->boolop ? 4 : 1;
        uint8_t cls = x < 2 * d || (i->boolop && s < 4) || s > a + 1 ? ORR_W : s == a + 1 ? ORR_P : ORR_D;
        const orr_operand *o = &k->operands[i->first + x];
        ok = o->kind != ORR_K_NONE && o->cls == cls;
    }
    if (!ok) {
        *why = "this shape, type or operand of wgmma";
        return (handlers){0};
    }
    return (handlers){wgmma, orr_mma_parted};
}
