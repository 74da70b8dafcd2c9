// Any bytes as what OpenCL programs hand over: build options, LLVM's text of kernels, a binary; as a program
// and clang's syntax tree of it, a 0 between them; as LLVM's text of SPIR-V; as SPIR-V with the number of a
// constant. The first byte says which.
#include "clc/annotate.h"
#include "clc/clc.h"
#include "clc/tools.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void options(const char *text) {
    orr_arena a = {0};
    orr_err e = {0};
    orr_clc_options o;
    bool ok = orr_clc_parse_options(text, &a, &o, &e);
    if (ok == (e.status != 0)) abort();
    // Whatever goes to clang is one of the options that OpenCL has.
    for (size_t i = 0; ok && i < o.words.n; i++)
        if (strncmp(o.words.at[i], "-D", 2) != 0 && strncmp(o.words.at[i], "-I", 2) != 0 &&
            strncmp(o.words.at[i], "-cl-", 4) != 0 && strcmp(o.words.at[i], "-w") != 0 &&
            strcmp(o.words.at[i], "-Werror") != 0)
            abort();
    free(o.words.at);
    orr_arena_free(&a);
}

static void kernels(const char *text, size_t n) {
    orr_arena a = {0};
    orr_clc_kernels k = orr_clc_read_kernels(text, n, &a);
    for (uint32_t i = 0; i < k.n; i++) {
        if (!k.at[i].name || !k.at[i].attributes) abort();
        for (uint32_t j = 0; j < k.at[i].nargs; j++)
            if (!k.at[i].args[j].name || k.at[i].args[j].space > ORR_CLC_LOCAL) abort();
    }
    orr_arena_free(&a);
}

static void binary(const uint8_t *data, size_t n) {
    orr_clc_binary b;
    if (!orr_clc_read_binary(data, n, &b)) return;
    size_t again;
    uint8_t *same = orr_clc_write_binary(&b, &again);
    if (again != n || memcmp(same, data, n) != 0) abort();
    free(same);
    kernels(b.ir, b.nir);
}

static void tree(const char *text, size_t n) {
    size_t own = strlen(text);
    if (own >= n) return;
    orr_annotated a;
    orr_err e = {0};
    const orr_clc_source s = {.path = "k.cl", .text = text, .n = own};
    bool ok = orr_annotate_tree(&s, text + own + 1, n - own - 1, &a, &e);
    if (ok == (e.status != 0)) abort();
    for (uint32_t i = 0; ok && i < a.nsegments; i++) {
        const orr_segment *s = &a.segments[i];
        if (s->function >= a.nfunctions || s->nterms > ORR_SEGMENT_TERMS || s->parent >= (int32_t)a.nsegments)
            abort();
        for (uint32_t k = 0; k < s->nterms; k++)
            if (!s->term[k] || (s->term[k] > 0 ? s->term[k] : -s->term[k]) > (int32_t)a.nsegments) abort();
    }
    for (uint32_t line = 0; ok && line <= a.nlines + 1; line++) {
        uint32_t place = orr_place_at(&a, line, line);
        orr_segment_at(&a, place);
        if (orr_place_line(&a, place) != (place ? line : 0)) abort();
    }
    orr_annotated_free(&a);
}

static void spir(const char *text, size_t n) {
    size_t bytes;
    char *out = clc_from_spir(text, n, &bytes);
    if (!out || strlen(out) > bytes) abort();
    kernels(out, bytes);
    free(out);
}

// A constant's new value changes no other, and nothing of its size.
static void words(const uint8_t *data, size_t n) {
    if (n < 4 || !orr_clc_is_spirv(data + 4, n - 4)) return;
    uint32_t id, *w = orr_clc_spirv_words(data + 4, n - 4);
    memcpy(&id, data, 4);
    size_t bytes = orr_clc_special_bytes(w, n - 4, id);
    if (bytes > 8 || (bytes & (bytes - 1))) abort();
    uint64_t value = ~0ull;
    uint32_t *was = orr_malloc(n - 4);
    memcpy(was, w, n - 4);
    orr_clc_specialize(w, n - 4, id, &value);
    size_t changed = 0;
    for (size_t i = 0; i < n / 4 - 1; i++) changed += w[i] != was[i];
    if (changed > (bytes == 8 ? 2 : bytes ? 1 : 0)) abort();
    if (orr_clc_special_bytes(w, n - 4, id) != bytes) abort();
    free(was);
    free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (!n) return 0;
    char *text = orr_calloc(1, n);
    memcpy(text, data + 1, n - 1);
    switch (data[0] % 6) {
    case 0: options(text); break;
    case 1: kernels(text, n - 1); break;
    case 3: tree(text, n - 1); break;
    case 4: spir(text, n - 1); break;
    case 5: words((const uint8_t *)text, n - 1); break;
    default: binary((const uint8_t *)text, n - 1); break;
    }
    free(text);
    return 0;
}
