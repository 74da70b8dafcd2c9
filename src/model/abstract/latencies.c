// Reading and writing pre-characterised kernels: a text file, a few lines a kernel.
//
//   orrery latencies 1
//   kernel 0123456789abcdef insts 3 registers 20 shared 0 name
//   0:22 0:26 1:0
//
// The number after `kernel` names code and pipeline (orr_precharacterise_key); then for each instruction its
// kind and its latency, sixteen to a line. Whoever wrote the file is not trusted: counts are checked before
// memory is taken for them, and a kernel is only used for the code that its key names.
#include "model/abstract/latencies.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isa/isa.h"

#define HEAD       "orrery latencies 1"
#define MAX_FILE   (256u << 20)
#define MAX_INSTS  (1u << 22)
#define MAX_CYCLES 1000000000u
#define PER_LINE   16

typedef struct reader {
    const char *at, *end, *path;
    unsigned line;
    orr_err *e;
} reader;

static bool bad(const reader *r, const char *what) {
    return orr_fail(r->e, ORR_BAD_INPUT, "%s:%u: %s; delete the file and it is made again", r->path, r->line,
                    what);
}

// A number that ends before `stop`; leaves r->at behind that.
static bool number(reader *r, char stop, uint64_t most, uint64_t *v) {
    const char *from = r->at;
    for (*v = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        *v = *v * 10 + (uint64_t)(*r->at - '0');
        if (*v > most) return bad(r, "a number is too large");
    }
    if (r->at == from) return bad(r, "a number is missing");
    if (r->at == r->end || *r->at != stop)
        return bad(r, "something follows a number that does not belong there");
    r->at++;
    return true;
}

static bool word(reader *r, const char *w) {
    size_t n = strlen(w);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, w, n) != 0) return false;
    r->at += n;
    return true;
}

static bool key(reader *r, uint64_t *k) {
    *k = 0;
    for (int n = 0; n < 16; n++, r->at++) {
        char c = r->at < r->end ? *r->at : 0;
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return bad(r, "a kernel's key has 16 digits of 0-9 and a-f");
        *k = *k << 4 | (uint64_t)digit;
    }
    return true;
}

static bool instructions(reader *r, orr_latencies_kernel *k) {
    for (uint32_t n = 0; n < k->ninsts; n++) {
        uint64_t kind, cycles;
        bool last = n + 1 == k->ninsts || n % PER_LINE == PER_LINE - 1;
        if (!number(r, ':', UINT8_MAX, &kind) || !number(r, last ? '\n' : ' ', MAX_CYCLES, &cycles))
            return false;
        k->inst[n] = (orr_latency){(uint32_t)cycles, (uint8_t)kind};
        r->line += last;
    }
    return true;
}

static char *copy_of(const char *s, size_t n) {
    char *c = orr_malloc(n + 1);
    memcpy(c, s, n);
    c[n] = 0;
    return c;
}

static bool kernel(reader *r, orr_latencies *l) {
    uint64_t k, insts, registers, shared;
    if (!word(r, "kernel ")) return bad(r, "expected \"kernel\"");
    if (!key(r, &k)) return false;
    if (!word(r, " insts ") || !number(r, ' ', MAX_INSTS, &insts))
        return bad(r, "expected \"insts\" and a number");
    if (!word(r, "registers ") || !number(r, ' ', UINT16_MAX, &registers))
        return bad(r, "expected \"registers\" and a number");
    if (!word(r, "shared ") || !number(r, ' ', UINT32_MAX, &shared))
        return bad(r, "expected \"shared\" and a number");
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!end) return bad(r, "the file ends within a kernel");
    // Each instruction takes at least four bytes of the file.
    if (insts > (uint64_t)(r->end - end) / 4 + 1)
        return bad(r, "the file has fewer instructions than it says");
    char *name = copy_of(r->at, (size_t)(end - r->at));
    orr_latencies_kernel *x = orr_latencies_add(l, k, name, (uint32_t)insts);
    free(name);
    x->registers = (uint32_t)registers;
    x->shared = (uint32_t)shared;
    r->at = end + 1;
    r->line++;
    return instructions(r, x);
}

orr_latencies *orr_latencies_parse(const char *text, size_t n, const char *path, orr_err *e) {
    orr_latencies *l = orr_calloc(1, sizeof *l);
    reader r = {text, text + n, path, 1, e};
    bool ok = word(&r, HEAD "\n") || bad(&r, "this is no file of latencies (its first line is \"" HEAD "\")");
    for (r.line = 2; ok && r.at < r.end;) ok = kernel(&r, l);
    if (ok) return l;
    orr_latencies_free(l);
    return NULL;
}

orr_latencies *orr_latencies_read(const char *path, orr_err *e) {
    if (access(path, F_OK) != 0 && errno == ENOENT) return orr_calloc(1, sizeof(orr_latencies));
    size_t n;
    char *text = orr_read_file(path, MAX_FILE, &n, e);
    if (!text) return NULL;
    orr_latencies *l = orr_latencies_parse(text, n, path, e);
    free(text);
    return l;
}

void orr_latencies_free(orr_latencies *l) {
    if (!l) return;
    for (size_t n = 0; n < l->kernels.n; n++) {
        free(l->kernels.at[n].name);
        free(l->kernels.at[n].inst);
    }
    free(l->kernels.at);
    free(l);
}

const orr_latencies_kernel *orr_latencies_find(const orr_latencies *l, uint64_t k, uint32_t ninsts) {
    for (size_t n = 0; n < l->kernels.n; n++)
        if (l->kernels.at[n].key == k && l->kernels.at[n].ninsts == ninsts) return &l->kernels.at[n];
    return NULL;
}

orr_latencies_kernel *orr_latencies_add(orr_latencies *l, uint64_t k, const char *name, uint32_t ninsts) {
    orr_latencies_kernel *x = ORR_PUSH(&l->kernels);
    *x = (orr_latencies_kernel){.key = k, .ninsts = ninsts};
    x->name = copy_of(name, strlen(name));
    x->inst = orr_calloc((size_t)ninsts + 1, sizeof *x->inst);
    return x;
}

void orr_latencies_print(const orr_latencies *l, orr_text *out) {
    orr_text_add(out, HEAD "\n");
    for (size_t n = 0; n < l->kernels.n; n++) {
        const orr_latencies_kernel *k = &l->kernels.at[n];
        orr_text_add(out, "kernel %016" PRIx64 " insts %u registers %u shared %u %s\n", k->key, k->ninsts,
                     k->registers, k->shared, k->name);
        for (uint32_t i = 0; i < k->ninsts; i++) {
            bool last = i + 1 == k->ninsts || i % PER_LINE == PER_LINE - 1;
            orr_text_add(out, "%u:%u%c", k->inst[i].kind, k->inst[i].cycles, last ? '\n' : ' ');
        }
    }
}

bool orr_latencies_write(const orr_latencies *l, const char *path, orr_err *e) {
    orr_text text = {0};
    orr_out out;
    orr_latencies_print(l, &text);
    bool ok = orr_out_open(&out, path, e);
    if (ok) {
        fwrite(text.s, 1, text.n, out.f); // an error shows when it is committed
        ok = orr_out_commit(&out, e);
    }
    free(text.s);
    return ok;
}
