// SPIR-V in: llvm-spirv makes LLVM's SPIR of it, whose text becomes that of the NVPTX target.
//
// Functions have the same names in both (SPIR 2.0, 3.8.1), so that the device library and libclc link as they
// do with OpenCL C. What differs: address spaces (constant is 2 in SPIR and 4 in NVPTX, generic 4 and 0),
// also in the names of functions that take pointers and of intrinsics; calling conventions; the layout of
// data; that NVPTX is told of kernels by metadata; and calls of printf (spirv_printf.c).
#include "clc/clc.h"
#include "clc/tools.h"

#include <stdlib.h>
#include <string.h>

typedef struct line {
    const char *at, *end;
} line;

static bool at(const line *l, const char *s, const char *word) {
    size_t n = strlen(word);
    return (size_t)(l->end - s) >= n && !memcmp(s, word, n);
}

static bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// What the text at s becomes, and how long it is; 0: it stays.
static size_t instead(const line *l, const char *s, bool in_name, bool intrinsic, const char **put) {
    static const struct {
        const char *from, *to;
        bool name, intrinsic;
    } rules[] = {
        {" addrspace(4)", "", false, false},
        {"addrspace(4) ", "", false, false},
        {"addrspace(2)", "addrspace(4)", false, false},
        {"spir_func ", "", false, false},
        {"U3AS4", "", true, false},
        {"U3AS2", "U3AS4", true, false},
        {".p4", ".p0", true, true},
        {".p2", ".p4", true, true},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].name != in_name || (rules[i].intrinsic && !intrinsic) || !at(l, s, rules[i].from))
            continue;
        *put = rules[i].to;
        return strlen(rules[i].from);
    }
    return 0;
}

// A cast from private to generic memory is one from 0 to 0, which is none.
static void casts(char *s) {
    static const char cast[] = "addrspacecast ";
    for (char *c = s; (c = strstr(c, cast)); c++) {
        const char *from = c + sizeof cast - 1 + (c[sizeof cast - 1] == '(');
        if (strncmp(from, "ptr ", 4) != 0 || !strncmp(from, "ptr addrspace(", 14)) continue;
        const char *to = strstr(from, " to ptr");
        if (!to || !strncmp(to + 7, " addrspace(", 11)) continue;
        memcpy(c, "bitcast      ", sizeof cast - 2); // of the same length
    }
}

typedef struct output {
    orr_text text, functions; // functions: one for each call of printf
    unsigned calls;           // of printf
} output;

static void change(const line *l, output *o) {
    orr_text t = {0};
    bool in_name = false, intrinsic = false, quoted = false;
    orr_text_add(&t, "%s", "");
    for (const char *s = l->at; s < l->end;) {
        if (*s == '"') quoted = !quoted;
        if (*s == '@') {
            in_name = true;
            intrinsic = at(l, s, "@llvm.");
        } else if (in_name && !name_char(*s)) {
            in_name = false;
        }
        const char *put = NULL;
        size_t n = quoted ? 0 : instead(l, s, in_name, intrinsic, &put);
        if (n)
            orr_text_addn(&t, put, strlen(put));
        else
            orr_text_addn(&t, s, n = 1);
        s += n;
    }
    casts(t.s);
    if (clc_spirv_printf(t.s, t.n, o->calls, &o->text, &o->functions))
        o->calls++;
    else
        orr_text_addn(&o->text, t.s, t.n);
    orr_text_addn(&o->text, "\n", 1);
    free(t.s);
}

// "define spir_kernel void @scale(" to its name; NULL: the line is none.
static const char *kernel_of(const line *l, size_t *n) {
    if (!at(l, l->at, "define ")) return NULL;
    const char *kernel = memmem(l->at, (size_t)(l->end - l->at), "spir_kernel ", 12);
    const char *name = kernel ? memchr(kernel, '@', (size_t)(l->end - kernel)) : NULL;
    const char *stop = name ? memchr(name, '(', (size_t)(l->end - name)) : NULL;
    if (!stop) return NULL;
    *n = (size_t)(stop - name);
    return name;
}

char *clc_from_spir(const char *text, size_t n, size_t *bytes) {
    output out = {0};
    orr_text kernels = {0}, list = {0};
    uint64_t node = 0, first = 0;
    orr_text_add(&out.text, "target datalayout = \"e-i64:64-i128:128-v16:16-v32:32-n16:32:64\"\n"
                            "target triple = \"nvptx64-nvidia-nvcl\"\n");
    for (const char *s = text, *end = text + n; s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        line l = {s, stop ? stop : end};
        s = l.end + 1;
        if (at(&l, l.at, "target ")) continue;
        if (l.at < l.end && *l.at == '!' && l.at + 1 < l.end && l.at[1] >= '0' && l.at[1] <= '9') {
            uint64_t k = 0;
            for (const char *c = l.at + 1; c < l.end && *c >= '0' && *c <= '9' && k < 1u << 30; c++)
                k = k * 10 + (uint64_t)(*c - '0');
            if (k >= node) node = k + 1;
        }
        change(&l, &out);
    }
    first = node;
    for (const char *s = text, *end = text + n; s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        line l = {s, stop ? stop : end};
        s = l.end + 1;
        size_t len;
        const char *name = kernel_of(&l, &len);
        if (!name) continue;
        orr_text_add(&kernels, "!%llu = !{ptr %.*s, !\"kernel\", i32 1}\n", (unsigned long long)node,
                     (int)len, name);
        orr_text_add(&list, "%s!%llu", node > first ? ", " : "", (unsigned long long)node);
        node++;
    }
    if (out.calls) orr_text_addn(&out.text, out.functions.s, out.functions.n);
    if (node > first) orr_text_add(&out.text, "%s!nvvm.annotations = !{%s}\n", kernels.s, list.s);
    free(kernels.s);
    free(list.s);
    free(out.functions.s);
    *bytes = out.text.n;
    return out.text.s;
}
