// Loads and stores of words whose lanes are not side by side, or not all active; compiled blocks call these.
//
// A few lanes are looked at one after the other. With AVX-512 all others are checked at once against the
// allocation that the instruction touched last, and gathered or scattered. Whatever is not known here
// (another allocation, lanes far apart, an address that is none) is left to the handler.
#include <string.h>

#include "exec/jit/compile.h"

enum { FEW_LANES = 10 }; // up to which they are looked at one after the other

typedef struct few_lanes { // where they are
    uint8_t *at;           // of offset 0
    uint64_t address;      // the device's
    uint64_t offset[FEW_LANES];
} few_lanes;

// What the instruction touched last; of shared memory the block's.
static inline range known_range(const warp *w, const uop *u) {
    bool shared = u->way == WAY_SHARED;
    return shared ? (range){w->tb->tag, w->tb->prog->shared_bytes} : w->worker->range[u->mem];
}
static inline uint8_t *host_of(const warp *w, const uop *u, range r) {
    return u->way == WAY_SHARED ? w->tb->shared : (uint8_t *)(w->worker->memory + (uintptr_t)r.lo);
}
// Bulk copies may be under way to shared memory, or it is that of several blocks: the handler knows.
static inline bool is_shared_with(const warp *w, const uop *u) {
    return u->way == WAY_SHARED && (w->tb->flights.n || w->tb->cluster);
}

static inline bool find_few(const warp *w, const uop *u, uint32_t mask, uint32_t bytes, few_lanes *p) {
    range r = known_range(w, u);
    if (is_shared_with(w, u) || r.size < bytes) return false;
    const uint32_t *lo = SRC_A(w, u, uint32_t), *hi = u->pair ? SRC_N(w, u, u->nsrc - 1, uint32_t) : NULL;
    const uint64_t *wide = u->way == WAY_WIDE ? SRC_A(w, u, uint64_t) : NULL;
    uint64_t disp = (uint64_t)(int64_t)u->disp, most = r.size - bytes, bad = 0;
    int n = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        int i = orr_ffs(m);
        uint64_t at = wide ? wide[i] + disp
                      : hi ? ((uint64_t)hi[i] << 32 | lo[i]) + disp
                           : (uint32_t)(lo[i] + (uint32_t)disp);
        bad |= (at - r.lo > most ? 1u : 0u) | (at & (bytes - 1));
        p->offset[n++] = at - r.lo;
    }
    p->at = host_of(w, u, r);
    p->address = r.lo;
    return !bad;
}

static void note_few(warp *w, uint32_t mask, const few_lanes *p) {
    uint64_t addr[ORR_WARP];
    int n = 0;
    for (uint32_t m = mask; m; m &= m - 1) addr[orr_ffs(m)] = p->address + p->offset[n++];
    orr_trace_put_access(w->trace, mask, addr);
}

static inline bool load_few(warp *w, const uop *u, uint32_t mask, int words) {
    few_lanes p;
    if (!find_few(w, u, mask, 4 * (uint32_t)words, &p)) return false;
    if (w->trace && u->traced) note_few(w, mask, &p);
    for (int e = 0, n = 0; e < words; e++, n = 0) {
        uint32_t *d = e ? DST_N(w, u, e, uint32_t) : DST(w, u, uint32_t);
        for (uint32_t m = mask; m; m &= m - 1) memcpy(&d[orr_ffs(m)], p.at + p.offset[n++] + 4 * e, 4);
    }
    return true;
}

static inline bool store_few(warp *w, const uop *u, uint32_t mask, int words) {
    few_lanes p;
    if (!find_few(w, u, mask, 4 * (uint32_t)words, &p)) return false;
    if (w->trace && u->traced) note_few(w, mask, &p);
    for (int e = 0, n = 0; e < words; e++, n = 0) {
        const uint32_t *s = SRC_N(w, u, 1 + e, uint32_t);
        for (uint32_t m = mask; m; m &= m - 1) memcpy(p.at + p.offset[n++] + 4 * e, &s[orr_ffs(m)], 4);
    }
    return true;
}

// Without AVX-512: few lanes, else the handler.
#define FEW(name, does, words)                                                                               \
    static void name(warp *w, const uop *u) {                                                                \
        uint32_t mask = guarded(w, u, w->exec);                                                              \
        if (!mask || orr_popc(mask) > FEW_LANES || !does(w, u, mask, words)) jit_guarded_call(w, u);         \
    }
FEW(few_load1, load_few, 1)
FEW(few_load2, load_few, 2)
FEW(few_load4, load_few, 4)
FEW(few_store1, store_few, 1)
FEW(few_store2, store_few, 2)
FEW(few_store4, store_few, 4)
static uop_fn *const few_loads[] = {[1] = few_load1, [2] = few_load2, [4] = few_load4};
static uop_fn *const few_stores[] = {[1] = few_store1, [2] = few_store2, [4] = few_store4};

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDE   __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define WITHIN static inline __attribute__((always_inline)) WIDE

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
    range r = known_range(w, u);
    if (is_shared_with(w, u) || r.size < bytes) return false;
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
    p->at = host_of(w, u, r);
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

// All lanes of PTX are nearly always side by side or at one place, which the handler sees in less time.
WITHIN bool looks_plain(const warp *w, const uop *u, uint32_t bytes) {
    if (u->way != WAY_WIDE) return false;
    const uint64_t *row = SRC_A(w, u, uint64_t);
    uint64_t step = row[1] - row[0];
    return (step == 0 || step == bytes) && row[ORR_WARP - 1] - row[0] == (ORR_WARP - 1) * step;
}

// The lanes that are left to be done, and where they are; a stream has been told.
WITHIN uint32_t begin(warp *w, const uop *u, uint32_t mask, uint32_t bytes, lanes_at *p) {
    bool told = w->trace && u->traced;
    // How all lanes lie a stream is told in the handler's words.
    bool by_handler = !mask || (mask == FULL && (told || looks_plain(w, u, bytes)));
    if (by_handler || !place_lanes(w, u, mask, bytes, p)) {
        jit_guarded_call(w, u);
        return 0;
    }
    if (told) note(w, mask, p);
    return mask;
}

// Are the words of these lanes side by side? Then lane 0's is, or would be, at *first.
WITHIN bool side_by_side(__mmask16 k, __m512i offset, int32_t *first) {
    __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i from = _mm512_sub_epi32(offset, _mm512_slli_epi32(lane, 2));
    __m512i one = _mm512_permutexvar_epi32(_mm512_set1_epi32(__builtin_ctz(k)), from);
    *first = _mm512_cvtsi512_si32(one);
    return !_mm512_mask_cmpneq_epi32_mask(k, from, one);
}

WITHIN void load_half(__mmask16 k, uint32_t *d, const uint8_t *at, __m512i offset) {
    int32_t first;
    __m512i row = row_at(d);
    if (side_by_side(k, offset, &first))
        row = _mm512_mask_loadu_epi32(row, k, (const void *)((uintptr_t)at + (uintptr_t)(intptr_t)first));
    else
        row = _mm512_mask_i32gather_epi32(row, k, offset, at, 1);
    _mm512_storeu_si512(d, row);
}

WITHIN void load(warp *w, const uop *u, int n) {
    lanes_at p;
    uint32_t mask = guarded(w, u, w->exec);
    if (mask && orr_popc(mask) <= FEW_LANES && load_few(w, u, mask, n)) return;
    mask = begin(w, u, mask, 4 * (uint32_t)n, &p);
    for (int h = 0; mask && h < 2; h++)
        for (int e = 0; half_of(mask, h) && e < n; e++)
            load_half(half_of(mask, h), (e ? DST_N(w, u, e, uint32_t) : DST(w, u, uint32_t)) + 16 * h,
                      p.at + 4 * e, p.offset[h]);
}

// Of lanes that store to one place the last one wins: a scatter writes lane after lane.
WITHIN void store_half(__mmask16 k, const uint32_t *s, uint8_t *at, __m512i offset) {
    int32_t first;
    __m512i v = row_at(s);
    if (side_by_side(k, offset, &first))
        _mm512_mask_storeu_epi32((void *)((uintptr_t)at + (uintptr_t)(intptr_t)first), k, v);
    else
        _mm512_mask_i32scatter_epi32(at, k, offset, v, 1);
}

WITHIN void store(warp *w, const uop *u, int n) {
    lanes_at p;
    uint32_t mask = guarded(w, u, w->exec);
    if (mask && orr_popc(mask) <= FEW_LANES && store_few(w, u, mask, n)) return;
    mask = begin(w, u, mask, 4 * (uint32_t)n, &p);
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

static uop_fn *const wide_loads[] = {[1] = load1, [2] = load2, [4] = load4};
static uop_fn *const wide_stores[] = {[1] = store1, [2] = store2, [4] = store4};
#else
#define wide_loads  few_loads
#define wide_stores few_stores
#endif

uop_fn *jit_lanes(const uop *u, bool wide) {
    const lanewise_rule *r = jit_rule(u);
    bool is_load = r && r->lane == LANE_LOAD, is_store = r && r->lane == LANE_STORE;
    if ((!is_load && !is_store) || r->arg > 4 || u->way == WAY_LONG) return NULL;
    for (int n = 0; n < r->arg; n++) {
        oper o = is_load ? u->all[n] : u->all[u->ndst + 1 + n];
        if (o.cls != ORR_W || o.none) return NULL;
    }
    if (is_load) return (wide ? wide_loads : few_loads)[r->arg];
    return (wide ? wide_stores : few_stores)[r->arg];
}
