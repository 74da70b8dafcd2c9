// The options of clBuildProgram, as the specification lists them ("Compiler Options"), to words for clang.
#include "clc/clc.h"

#include <string.h>

// Splits at spaces; quotes and backslashes as a shell has them. NULL: at the end, or *bad.
static char *next_word(const char **text, orr_arena *a, bool *bad) {
    const char *s = *text + strspn(*text, " \t\r\n");
    if (!*s) return NULL;
    char *out = orr_arena_alloc(a, strlen(s) + 1), *o = out;
    char quote = 0;
    for (; *s && (quote || !strchr(" \t\r\n", *s)); s++) {
        if (*s == quote)
            quote = 0;
        else if (!quote && (*s == '"' || *s == '\''))
            quote = *s;
        else if (*s == '\\' && s[1] && quote != '\'')
            *o++ = *++s;
        else
            *o++ = *s;
    }
    *bad |= quote != 0;
    *text = s;
    *o = 0;
    return out;
}

static bool one_of(const char *word, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(word, *list)) return true;
    return false;
}

// Those that clang knows by the same name, those that it has no use for, and those that it lacks.
static const char *const same[] = {"-cl-single-precision-constant",
                                   "-cl-denorms-are-zero",
                                   "-cl-fp32-correctly-rounded-divide-sqrt",
                                   "-cl-opt-disable",
                                   "-cl-mad-enable",
                                   "-cl-no-signed-zeros",
                                   "-cl-unsafe-math-optimizations",
                                   "-cl-finite-math-only",
                                   "-cl-fast-relaxed-math",
                                   "-cl-uniform-work-group-size",
                                   "-cl-strict-aliasing",
                                   "-w",
                                   "-Werror",
                                   NULL};
static const char *const ignored[] = {"-cl-no-subgroup-ifp", "-g", "-enable-link-options",
                                      "-cl-nv-verbose",      "-s", NULL};

static bool standard(const char *word, orr_clc_options *o, orr_err *e) {
    static const char *const known[] = {"CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0", NULL};
    if (!one_of(word, known))
        return orr_fail(e, ORR_BAD_INPUT, "-cl-std=%.40s: it is CL1.0, CL1.1, CL1.2, CL2.0 or CL3.0", word);
    o->standard = word;
    return true;
}

bool orr_clc_parse_options(const char *text, orr_arena *a, orr_clc_options *o, orr_err *e) {
    enum { MOST = 4096 };
    *o = (orr_clc_options){0};
    bool bad = false;
    for (char *word; text && !bad && (word = next_word(&text, a, &bad));) {
        if (o->words.n > MOST) return orr_fail(e, ORR_BAD_INPUT, "more than %d build options", MOST);
        if (!strncmp(word, "-D", 2) || !strncmp(word, "-I", 2)) {
            const char *value = word[2] ? word + 2 : next_word(&text, a, &bad);
            if (!value || !*value)
                return orr_fail(e, ORR_BAD_INPUT, "%.2s needs a %s behind it", word,
                                word[1] == 'D' ? "name" : "folder");
            *ORR_PUSH(&o->words) = orr_arena_printf(a, "%.2s%s", word, value);
        } else if (!strncmp(word, "-cl-std=", 8)) {
            if (!standard(word + 8, o, e)) return false;
        } else if (!strcmp(word, "-cl-kernel-arg-info")) {
            o->lists_info = true;
        } else if (!strcmp(word, "-create-library")) {
            o->library = true;
        } else if (one_of(word, same)) {
            *ORR_PUSH(&o->words) = word;
        } else if (!strncmp(word, "-cl-nv-", 7)) { // NVIDIA's: limits of registers and the like
            continue;
        } else if (!one_of(word, ignored)) {
            return orr_fail(
                e, ORR_BAD_INPUT,
                "\"%.60s\" is not a build option of OpenCL; there are -D, -I, -w, -Werror and -cl-...", word);
        }
    }
    return !bad || orr_fail(e, ORR_BAD_INPUT, "a quote in the build options is not closed");
}
