// printf in SPIR-V: calls with any number of arguments, which NVPTX does not pass as the executor wants them.
//
// Each call becomes one of a function of its own, which puts the arguments one after the other, as C promotes
// them and each at its natural alignment, into memory of the work-item and calls vprintf, as prelude.h does
// for OpenCL C. Elements of a vector follow each other, at the alignment of one. The text is LLVM's, of the
// NVPTX target (spirv.c).
#include "clc/tools.h"

#include <stdlib.h>
#include <string.h>

typedef struct type {
    const char *name; // as the text has it, "<4 x i8>"
    size_t n;
    const char *element; // "i8"
    size_t nelement;
    unsigned elements; // 0: no vector
} type;

static bool word_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

static bool is(const type *t, const char *element) {
    return t->nelement == strlen(element) && !memcmp(t->element, element, t->nelement);
}

static bool pointer(const type *t) { return t->nelement >= 3 && !memcmp(t->element, "ptr", 3); }

// The type that an argument begins with.
static bool read_type(const char *s, const char *end, type *t) {
    *t = (type){.name = s};
    if (s < end && *s == '<') {
        char *behind;
        unsigned long n = strtoul(s + 1, &behind, 10);
        const char *close = memchr(s, '>', (size_t)(end - s));
        if (!close || behind + 3 >= close || memcmp(behind, " x ", 3) != 0 || n < 1 || n > 16) return false;
        t->elements = (unsigned)n;
        t->element = behind + 3;
        t->nelement = (size_t)(close - t->element);
        t->n = (size_t)(close + 1 - s);
    } else {
        static const char space[] = "ptr addrspace(";
        while (s + t->n < end && word_char(s[t->n])) t->n++;
        if ((size_t)(end - s) > sizeof space && !memcmp(s, space, sizeof space - 1) && s[sizeof space] == ')')
            t->n = sizeof space + 1;
        t->element = s;
        t->nelement = t->n;
    }
    static const char *const known[] = {"i8", "i16", "i32", "i64", "half", "float", "double"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is(t, known[i])) return true;
    return pointer(t) && !t->elements;
}

// Behind the argument that begins at s: at a comma or the parenthesis that closes the call. NULL: neither.
static const char *behind(const char *s, const char *end) {
    for (int depth = 0; s < end; s++) {
        if (strchr("([{<", *s)) depth++;
        if (depth == 0 && (*s == ',' || *s == ')')) return s;
        if (strchr(")]}>", *s) && --depth < 0) return NULL;
    }
    return NULL;
}

// What is stored of an argument: its elements promoted.
static const char *promoted(const type *t) {
    if (pointer(t)) return "ptr";
    if (is(t, "i64")) return "i64";
    return *t->element == 'i' ? "i32" : "double";
}

static void member(orr_text *s, const type *t) {
    if (t->elements)
        orr_text_add(s, "[%u x %s]", t->elements, promoted(t));
    else
        orr_text_add(s, "%s", promoted(t));
}

// %a3 as it is promoted, to its place in %b.
static void store(orr_text *out, const type *t, unsigned i, const char *structure) {
    char to[32];
    const char *as = promoted(t);
    if (t->elements)
        snprintf(to, sizeof to, "<%u x %s>", t->elements, as);
    else
        snprintf(to, sizeof to, "%s", as);
    bool changes = !is(t, as);
    if (changes)
        orr_text_add(out, "  %%v%u = %s %.*s %%a%u to %s\n", i,
                     pointer(t)           ? "addrspacecast"
                     : *t->element == 'i' ? "sext"
                                          : "fpext",
                     (int)t->n, t->name, i, to);
    orr_text_add(out, "  %%p%u = getelementptr %s, ptr %%b, i32 0, i32 %u\n", i, structure, i);
    orr_text_add(out, "  store %s %%%c%u, ptr %%p%u, align %u\n", to, changes ? 'v' : 'a', i, i,
                 strcmp(as, "i32") != 0 ? 8 : 4);
}

static void define(orr_text *out, unsigned number, const type *t, unsigned n) {
    orr_text structure = {0};
    orr_text_add(&structure, "{ ");
    for (unsigned i = 0; i < n; i++) {
        orr_text_add(&structure, "%s", i ? ", " : "");
        member(&structure, &t[i]);
    }
    orr_text_add(&structure, n ? " }" : "i64 }");
    orr_text_add(out, "define internal i32 @orr.printf.%u(ptr addrspace(4) %%f", number);
    for (unsigned i = 0; i < n; i++) orr_text_add(out, ", %.*s %%a%u", (int)t[i].n, t[i].name, i);
    orr_text_add(out, ") alwaysinline {\n  %%b = alloca %s, align 8\n", structure.s);
    for (unsigned i = 0; i < n; i++) store(out, &t[i], i, structure.s);
    orr_text_add(out, "  %%g = addrspacecast ptr addrspace(4) %%f to ptr\n"
                      "  %%i = ptrtoint ptr %%g to i64\n"
                      "  %%r = call i32 @vprintf(i64 %%i, ptr %%b)\n  ret i32 %%r\n}\n");
    free(structure.s);
}

bool clc_spirv_printf(const char *line, size_t n, unsigned number, orr_text *out, orr_text *functions) {
    static const char call[] = "call i32 (ptr addrspace(4), ...) @printf(ptr addrspace(4) ";
    enum { MOST = 64 };
    type types[MOST];
    unsigned ntypes = 0;
    const char *end = line + n, *at = memmem(line, n, call, sizeof call - 1);
    const char *arguments = at ? at + sizeof call - 1 - strlen("ptr addrspace(4) ") : NULL;
    const char *s = at ? behind(arguments, end) : NULL;
    for (; s && *s == ','; s = behind(s + 2, end))
        if (ntypes == MOST || s + 2 >= end || !read_type(s + 2, end, &types[ntypes++])) return false;
    if (!s) return false;
    if (number == 0) orr_text_add(functions, "declare i32 @vprintf(i64, ptr)\n");
    define(functions, number, types, ntypes);
    orr_text_addn(out, line, (size_t)(at - line));
    orr_text_add(out, "call i32 @orr.printf.%u(", number);
    orr_text_addn(out, arguments, (size_t)(end - arguments));
    return true;
}
