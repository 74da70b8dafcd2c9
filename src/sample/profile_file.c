// The profile as a file: kept beside a program's input and read for every GPU it is simulated on.
//
//   "orrery sampling profile 2\n"
//   digest (8 bytes, little-endian), kernels, launches
//   kernel: length of its name, the name, basic blocks
//   launch: kernel, thread blocks, thread instructions, lines first touched, cov (8 bytes, IEEE 754),
//           runs, then for each: blocks, warp instructions of each, memory requests of each
//           for each basic block of the kernel: warp instructions
//   hash of all before it (8 bytes)
// Numbers without a size are varints: seven bits a byte, low ones first. Sums are not written: they are made
// when it is read, so they cannot be wrong.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/sample.h"

static const char magic[] = "orrery sampling profile 2\n";
#define MAX_FILE    (1u << 30)
#define MAX_NAME    4096
#define MAX_KERNELS 65536
#define MAX_CODE    (1u << 22)
#define MAX_BLOCKS  (1ull << 40)
#define MAX_COUNT   (1ull << 56) // of anything in a block: sums of a launch stay below 2^64

// ---- writing ------------------------------------------------------------------------------------
static void put(orr_text *t, uint64_t v) {
    char b[10];
    size_t n = 0;
    for (; v >= 128; v >>= 7) b[n++] = (char)(v | 128);
    b[n++] = (char)v;
    orr_text_addn(t, b, n);
}

static void put8(orr_text *t, uint64_t v) {
    char b[8];
    for (int k = 0; k < 8; k++) b[k] = (char)(v >> 8 * k);
    orr_text_addn(t, b, 8);
}

static void put_launch(orr_text *t, const orr_sampling_profile *p, const orr_sp_launch *l) {
    uint64_t cov;
    memcpy(&cov, &l->cov, 8);
    put(t, l->kernel);
    put(t, l->blocks);
    put(t, l->thread_insts);
    put(t, l->first);
    put8(t, cov);
    put(t, l->nruns);
    for (uint32_t r = 0; r < l->nruns; r++) {
        put(t, l->runs[r].count);
        put(t, l->runs[r].insts);
        put(t, l->runs[r].requests);
    }
    for (uint32_t b = 0; b < p->kernels.at[l->kernel].ncode; b++) put(t, l->vector[b]);
}

bool orr_sp_write(const orr_sampling_profile *p, const char *path, orr_err *e) {
    orr_text t = {0};
    orr_text_addn(&t, magic, sizeof magic - 1);
    put8(&t, p->digest);
    put(&t, p->kernels.n);
    for (size_t k = 0; k < p->kernels.n; k++) {
        size_t n = strlen(p->kernels.at[k].name);
        put(&t, n < MAX_NAME ? n : MAX_NAME);
        orr_text_addn(&t, p->kernels.at[k].name, n < MAX_NAME ? n : MAX_NAME);
        put(&t, p->kernels.at[k].ncode);
    }
    put(&t, p->launches.n);
    for (size_t l = 0; l < p->launches.n; l++) put_launch(&t, p, &p->launches.at[l]);
    put8(&t, orr_hash64(t.s, t.n, 0));
    orr_out o;
    bool ok = orr_out_open(&o, path, e);
    if (ok) {
        fwrite(t.s, 1, t.n, o.f);
        ok = orr_out_commit(&o, e);
    }
    free(t.s);
    return ok;
}

// ---- reading ------------------------------------------------------------------------------------
typedef struct in {
    const uint8_t *at, *end;
    const char *name;
    bool bad;
} in;

static uint64_t get(in *i, uint64_t most) {
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && i->at < i->end; shift += 7) {
        uint8_t b = *i->at++;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128) {
            if (v > most || (shift == 63 && b > 1)) i->bad = true;
            return i->bad ? 0 : v;
        }
    }
    i->bad = true;
    return 0;
}

static uint64_t get8(in *i) {
    uint64_t v = 0;
    if (i->end - i->at < 8) {
        i->bad = true;
        return 0;
    }
    for (int k = 0; k < 8; k++) v |= (uint64_t)*i->at++ << 8 * k;
    return v;
}

static void get_kernel(in *i, orr_sampling_profile *p) {
    uint64_t n = get(i, MAX_NAME);
    if (i->bad || (uint64_t)(i->end - i->at) < n) {
        i->bad = true;
        return;
    }
    const char *name = orr_arena_strndup(&p->arena, (const char *)i->at, n);
    i->at += n;
    *ORR_PUSH(&p->kernels) = (orr_sp_kernel){name, (uint32_t)get(i, MAX_CODE)};
}

static void get_launch(in *i, orr_sampling_profile *p) {
    orr_sp_launch l = {0};
    l.kernel = (uint32_t)get(i, p->kernels.n - 1);
    l.blocks = get(i, MAX_BLOCKS);
    l.thread_insts = get(i, UINT64_MAX);
    l.first = get(i, UINT64_MAX);
    uint64_t cov = get8(i);
    memcpy(&l.cov, &cov, 8);
    // Each run takes three bytes and each count one, so what does not fit the file is refused before it is
    // made.
    l.nruns = (uint32_t)get(i, (uint64_t)(i->end - i->at) / 3);
    if (i->bad || !isfinite(l.cov) || l.cov < 0) {
        i->bad = true;
        return;
    }
    l.runs = orr_arena_alloc(&p->arena, (l.nruns + 1) * sizeof *l.runs);
    uint64_t blocks = 0;
    for (uint32_t r = 0; r < l.nruns && !i->bad; r++) {
        orr_sp_run *x = &l.runs[r];
        *x = (orr_sp_run){get(i, l.blocks - blocks), get(i, MAX_COUNT), get(i, MAX_COUNT)};
        uint64_t warp, requests;
        if (!x->count || __builtin_mul_overflow(x->count, x->insts, &warp) ||
            __builtin_mul_overflow(x->count, x->requests, &requests) ||
            __builtin_add_overflow(l.warp_insts, warp, &l.warp_insts) ||
            __builtin_add_overflow(l.requests, requests, &l.requests))
            i->bad = true;
        blocks += x->count;
    }
    uint32_t ncode = i->bad ? 0 : p->kernels.at[l.kernel].ncode;
    if (blocks != l.blocks || ncode > (uint64_t)(i->end - i->at)) {
        i->bad = true;
        return;
    }
    l.vector = orr_arena_alloc(&p->arena, ((size_t)ncode + 1) * sizeof *l.vector);
    for (uint32_t b = 0; b < ncode; b++) l.vector[b] = get(i, UINT64_MAX);
    *ORR_PUSH(&p->launches) = l;
}

bool orr_sp_parse(orr_sampling_profile *p, const uint8_t *bytes, size_t n, const char *name, orr_err *e) {
    if (n < sizeof magic - 1 || memcmp(bytes, magic, sizeof magic - 1) != 0)
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: is no sampling profile of this version; remove it to have it made", name);
    in i = {bytes + sizeof magic - 1, bytes + n, name, n < sizeof magic - 1 + 8};
    if (!i.bad) {
        in sum = {bytes + n - 8, bytes + n, name, false};
        i.end -= 8;
        i.bad = get8(&sum) != orr_hash64(bytes, n - 8, 0);
    }
    p->digest = get8(&i);
    uint64_t kernels = get(&i, MAX_KERNELS);
    for (uint64_t k = 0; k < kernels && !i.bad; k++) get_kernel(&i, p);
    uint64_t launches = get(&i, kernels ? (uint64_t)(i.end - i.at) / 13 : 0);
    for (uint64_t l = 0; l < launches && !i.bad; l++) get_launch(&i, p);
    if (!i.bad && i.at == i.end) return true;
    orr_sp_free(p);
    return orr_fail(e, ORR_BAD_INPUT, "%s: the sampling profile is damaged; remove it to have it made again",
                    name);
}

bool orr_sp_read(orr_sampling_profile *p, const char *path, orr_err *e) {
    size_t n;
    char *bytes = orr_read_file(path, MAX_FILE, &n, e);
    bool ok = bytes && orr_sp_parse(p, (const uint8_t *)bytes, n, path, e);
    free(bytes);
    return ok;
}
