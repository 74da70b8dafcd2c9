// Names of C++ as people write them, and patterns that match either form.
//
// The demangler is the C++ runtime's own (__cxa_demangle of the Itanium ABI), which is loaded when it is
// first needed; where there is none, names stay as they are. What follows a name in demangled form is taken
// apart here: "void app::reduce<int>(int*, int)" is also "app::reduce<int>" and "app::reduce".
#include <dlfcn.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define MAX_NAME 4000 // bytes: a longer one comes from a damaged file more likely than from a compiler

typedef char *demangler(const char *name, char *buffer, size_t *length, int *status);
static demangler *demangle;

static void find(void) {
    static const char *const files[] = {"libstdc++.so.6", "libc++abi.so.1"};
    for (size_t i = 0; i < sizeof files / sizeof *files && !demangle; i++) {
        void *lib = dlopen(files[i], RTLD_LAZY | RTLD_LOCAL);
        void *at = lib ? dlsym(lib, "__cxa_demangle") : NULL;
        memcpy(&demangle, &at, sizeof at); // ISO C has no cast from an object to a function
    }
}

char *orr_demangle(const char *name) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int status = 0;
    if (strncmp(name, "_Z", 2) != 0 || strlen(name) > MAX_NAME) return NULL;
    pthread_once(&once, find);
    return demangle ? demangle(name, NULL, NULL, &status) : NULL;
}

// Where the function's own name begins and ends: behind the return type, which only templates have, and
// before the parameters. Blanks and parentheses inside <> belong to the name.
#define NAMELESS "(anonymous namespace)" // of a namespace without a name; what follows is "::"
static void own_name(const char *s, size_t *from, size_t *to) {
    int depth = 0;
    *from = 0;
    *to = strlen(s);
    for (size_t i = 0; s[i]; i++) {
        if (!strncmp(s + i, NAMELESS, strlen(NAMELESS))) i += strlen(NAMELESS);
        if (s[i] == '<') depth++;
        if (s[i] == '>' && depth) depth--;
        if (depth) continue;
        if (s[i] == ' ') *from = i + 1;
        if (s[i] == '(') {
            *to = i;
            return;
        }
    }
}

typedef bool same(const char *wanted, const char *name);

// Is any form of the name the same as what is wanted?
static bool any_form(const char *wanted, const char *name, same *is) {
    if (is(wanted, name)) return true;
    char *full = orr_demangle(name);
    if (!full) return false;
    size_t from, to;
    own_name(full, &from, &to);
    bool found = is(wanted, full);
    full[to] = 0;
    found = found || is(wanted, full + from);
    char *arguments = strchr(full + from, '<');
    if (arguments) *arguments = 0;
    found = found || is(wanted, full + from);
    free(full);
    return found;
}

static bool matches(const char *pattern, const char *name) { return fnmatch(pattern, name, 0) == 0; }
static bool equals(const char *wanted, const char *name) { return strcmp(wanted, name) == 0; }

bool orr_name_matches(const char *pattern, const char *name) { return any_form(pattern, name, matches); }
bool orr_name_is(const char *wanted, const char *name) { return any_form(wanted, name, equals); }
