// Loads and stores of words whose lanes are not side by side, or not all active, with AVX-512: all addresses
// are checked at once against the allocation that the instruction touched last.
//
// Compiled blocks call these. Whatever they do not know (another allocation, lanes far apart, an address that
// is none) is left to the handler. Words are loaded one by one: a gather takes longer on many processors
// (Xeon 8259CL: 34 ns for 32 lanes, 22 ns so). Scatters do not.
#include <string.h>

#include "exec/jit/compile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDE   __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define WITHIN static inline __attribute__((always_inline)) WIDE

enum { FEW_LANES = 8 }; // up to which it is faster to look at one after the other

typedef struct lanes_at { // where the lanes of both halves of a warp are
    uint8_t *at;          // of offset 0
    uint64_t address;     // the device's
    __m512i offset[2];    // in bytes, below 2^31
} lanes_at;

// 16 words of a row. A handler may have stored them a moment ago, 32 bytes at a time, and a processor that
// loads 64 would wait until they are in its cache.
WITHIN __m512i row_at(const void *row) {
    const char *at = row;
    __m256i low = _mm256_loadu_si256((const void *)at), high = _mm256_loadu_si256((const void *)(at + 32));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

WITHIN __mmask16 half_of(uint32_t mask, int half) { return (__mmask16)(mask >> 16 * half); }

// Which of these lanes are not at `first` + [0, most]: rows of 32-bit words, or of words and of high words.
WITHIN __mmask16 outside(__mmask16 k, const uint32_t *lo, const uint32_t *hi, uint64_t first, uint32_t most,
                         __m512i *offset) {
    __m512i words = row_at(lo), low = _mm512_set1_epi32((int)first);
    *offset = _mm512_sub_epi32(words, low);
    __mmask16 bad = _mm512_mask_cmpgt_epu32_mask(k, *offset, _mm512_set1_epi32((int)most));
    if (!hi) return bad;
    __mmask16 borrow = _mm512_cmplt_epu32_mask(words, low);
    __m512i high = _mm512_sub_epi32(row_at(hi), _mm512_set1_epi32((int)(first >> 32)));
    high = _mm512_mask_sub_epi32(high, borrow, high, _mm512_set1_epi32(1));
    return bad | _mm512_mask_test_epi32_mask(k, high, high);
}

// The same of a row of doublewords.
WITHIN __mmask16 outside64(__mmask16 k, const uint64_t *row, uint64_t first, uint32_t most, __m512i *offset) {
    __m512i from = _mm512_set1_epi64((long long)first), end = _mm512_set1_epi64(most);
    __m512i a = _mm512_sub_epi64(row_at(row), from);
    __m512i b = _mm512_sub_epi64(row_at(row + 8), from);
    unsigned bad = _mm512_mask_cmpgt_epu64_mask((__mmask8)k, a, end);
    bad |= (unsigned)_mm512_mask_cmpgt_epu64_mask((__mmask8)(k >> 8), b, end) << 8;
    *offset =
        _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(a)), _mm512_cvtepi64_epi32(b), 1);
    return (__mmask16)bad;
}

// False: the handler is to look.
WITHIN bool place_lanes(warp *w, const uop *u, uint32_t mask, uint32_t bytes, lanes_at *p) {
    bool shared = u->way == WAY_SHARED;
    const tblock *tb = w->tb;
    if (shared && (tb->flights.n || tb->cluster)) return false;
    range r = shared ? (range){tb->tag, tb->prog->shared_bytes} : w->worker->range[u->mem];
    if (r.size < bytes) return false;
    uint64_t first = r.lo - (uint64_t)(int64_t)u->disp;
    uint32_t most = r.size - bytes < INT32_MAX ? (uint32_t)(r.size - bytes) : INT32_MAX;
    const uint32_t *hi = u->pair ? SRC_N(w, u, u->nsrc - 1, uint32_t) : NULL;
    __m512i low = _mm512_set1_epi32((int)r.lo), align = _mm512_set1_epi32((int)bytes - 1);
    __mmask16 bad = 0;
    for (int h = 0; h < 2; h++) {
        __mmask16 k = half_of(mask, h);
        if (u->way == WAY_WIDE)
            bad |= outside64(k, SRC_A(w, u, uint64_t) + 16 * h, first, most, &p->offset[h]);
        else
            bad |= outside(k, SRC_A(w, u, uint32_t) + 16 * h, hi ? hi + 16 * h : NULL, first, most,
                           &p->offset[h]);
        bad |= _mm512_mask_test_epi32_mask(k, _mm512_add_epi32(p->offset[h], low), align);
    }
    p->address = r.lo;
    p->at = shared ? tb->shared : (uint8_t *)(w->worker->memory + (uintptr_t)r.lo);
    return !bad;
}

static WIDE __attribute__((noinline)) void note(warp *w, uint32_t mask, const lanes_at *p) {
    uint32_t offset[ORR_WARP];
    uint64_t addr[ORR_WARP];
    _mm512_storeu_si512(offset, p->offset[0]);
    _mm512_storeu_si512(offset + 16, p->offset[1]);
    for (int i = 0; i < ORR_WARP; i++) addr[i] = p->address + offset[i];
    orr_trace_put_access(w->trace, mask, addr);
}

// The lanes that do it, where they are, and what a stream is told; 0: nothing is left to be done.
WITHIN uint32_t begin(warp *w, const uop *u, uint32_t bytes, lanes_at *p) {
    uint32_t mask = guarded(w, u, w->exec);
    bool told = w->trace && u->traced;
    if (!mask && !told) return 0;
    // How all lanes lie a stream is told in the handler's words.
    if (orr_popc(mask) <= FEW_LANES || (told && mask == FULL) || !place_lanes(w, u, mask, bytes, p)) {
        jit_guarded_call(w, u);
        return 0;
    }
    if (told) note(w, mask, p);
    return mask;
}

// Do these lanes lie so many bytes from lane to lane? Then lane 0 is, or would be, at *first.
WITHIN bool in_steps(__mmask16 k, __m512i offset, int step, int32_t *first) {
    __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i from = _mm512_sub_epi32(offset, _mm512_mullo_epi32(lane, _mm512_set1_epi32(step)));
    __m512i one = _mm512_permutexvar_epi32(_mm512_set1_epi32(__builtin_ctz(k)), from);
    *first = _mm512_cvtsi512_si32(one);
    return !_mm512_mask_cmpneq_epi32_mask(k, from, one);
}

WITHIN void load_half(__mmask16 k, uint32_t *d, const uint8_t *at, __m512i offset) {
    uint32_t each[16];
    int32_t first;
    if (k & (k - 1)) {
        if (in_steps(k, offset, 4, &first)) {
            const uint8_t *from = (const uint8_t *)((uintptr_t)at + (uintptr_t)(intptr_t)first);
            _mm512_storeu_si512(d, _mm512_mask_loadu_epi32(row_at(d), k, from));
            return;
        }
        if (in_steps(k, offset, 0, &first)) {
            uint32_t v;
            memcpy(&v, at + first, sizeof v);
            _mm512_mask_storeu_epi32(d, k, _mm512_set1_epi32((int)v));
            return;
        }
    }
    _mm512_storeu_si512(each, offset);
    __m512i row = row_at(d);
    for (uint32_t m = k; m; m &= m - 1) {
        int32_t v;
        memcpy(&v, at + each[__builtin_ctz(m)], sizeof v);
        row = _mm512_mask_set1_epi32(row, (__mmask16)(m & -m), v);
    }
    _mm512_storeu_si512(d, row);
}

WITHIN void load(warp *w, const uop *u, int n) {
    lanes_at p;
    uint32_t mask = begin(w, u, 4 * (uint32_t)n, &p);
    for (int h = 0; mask && h < 2; h++)
        for (int e = 0; half_of(mask, h) && e < n; e++)
            load_half(half_of(mask, h), (e ? DST_N(w, u, e, uint32_t) : DST(w, u, uint32_t)) + 16 * h,
                      p.at + 4 * e, p.offset[h]);
}

// Of lanes that store to one place the last one wins: a scatter writes lane after lane.
WITHIN void store_half(__mmask16 k, const uint32_t *s, uint8_t *at, __m512i offset) {
    int32_t first;
    __m512i v = row_at(s);
    if (in_steps(k, offset, 4, &first))
        _mm512_mask_storeu_epi32((void *)((uintptr_t)at + (uintptr_t)(intptr_t)first), k, v);
    else
        _mm512_mask_i32scatter_epi32(at, k, offset, v, 1);
}

WITHIN void store(warp *w, const uop *u, int n) {
    lanes_at p;
    uint32_t mask = begin(w, u, 4 * (uint32_t)n, &p);
    for (int h = 0; mask && h < 2; h++)
        for (int e = 0; half_of(mask, h) && e < n; e++)
            store_half(half_of(mask, h), SRC_N(w, u, 1 + e, uint32_t) + 16 * h, p.at + 4 * e, p.offset[h]);
}

static WIDE void load1(warp *w, const uop *u) { load(w, u, 1); }
static WIDE void load2(warp *w, const uop *u) { load(w, u, 2); }
static WIDE void load4(warp *w, const uop *u) { load(w, u, 4); }
static WIDE void store1(warp *w, const uop *u) { store(w, u, 1); }
static WIDE void store2(warp *w, const uop *u) { store(w, u, 2); }
static WIDE void store4(warp *w, const uop *u) { store(w, u, 4); }

uop_fn *jit_lanes(const uop *u) {
    static uop_fn *const loads[] = {[1] = load1, [2] = load2, [4] = load4},
                         *const stores[] = {[1] = store1, [2] = store2, [4] = store4};
    const lanewise_rule *r = jit_rule(u);
    bool is_load = r && r->lane == LANE_LOAD, is_store = r && r->lane == LANE_STORE;
    if ((!is_load && !is_store) || r->arg > 4 || u->way == WAY_LONG) return NULL;
    for (int n = 0; n < r->arg; n++) {
        oper o = is_load ? u->all[n] : u->all[u->ndst + 1 + n];
        if (o.cls != ORR_W || o.none) return NULL;
    }
    return (is_load ? loads : stores)[r->arg];
}

#else
uop_fn *jit_lanes(const uop *u) {
    (void)u;
    return NULL;
}
#endif
