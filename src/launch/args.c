// A launch from the command line's options instead of a script:
//   --kernel saxpy --grid 4096 --block 256 --arg i32:1048576 --arg f32:2.5 --arg buf:f32:1048576:random
// It becomes the text of a script, which is then read like any other, so that both mean the same.
#include "launch/script.h"

#include <stdlib.h>
#include <string.h>

// Only characters that a number, a name or an expression is made of: what is pasted into the script
// stays on its line and is what the user meant.
static bool plain(const char *s, size_t n) {
    for (size_t k = 0; k < n; k++) {
        char c = s[k];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                    c == '$';
        if (!c || (!word && !strchr(".+-*/%()<>&|^~!=?,[] ", c))) return false;
    }
    return n > 0;
}

static void quote(orr_text *t, const char *s) {
    orr_text_add(t, "\"");
    for (; *s; s++) orr_text_add(t, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    orr_text_add(t, "\"");
}

static const char usage[] =
    "it should be TYPE:VALUE, local:BYTES or buf:TYPE:COUNT:FILL with FILL one of zero, value:V, "
    "random[:LO:HI[:SEED]], iota[:START[:STEP]], list:V,V,..., file:NAME, each optionally with :print";

// buf:TYPE:COUNT:FILL[:print] to `buffer argN TYPE[COUNT] FILL`, and `print argN` in `after`.
static bool buffer_arg(orr_text *t, orr_text *after, const char *arg, int index, orr_err *e) {
    const char *type = arg + 4, *count = strchr(type, ':');
    if (!count || orr_elem_type(type, (size_t)(count - type)) == ORR_T_NONE)
        return orr_fail(e, ORR_BAD_INPUT, "--arg %s: %s", arg, usage);
    size_t ntype = (size_t)(count - type);
    const char *fill = strchr(++count, ':');
    size_t ncount = fill ? (size_t)(fill - count) : strlen(count);
    if (!plain(count, ncount)) return orr_fail(e, ORR_BAD_INPUT, "--arg %s: %s", arg, usage);
    orr_text_add(t, "buffer arg%d %.*s[%.*s] ", index, (int)ntype, type, (int)ncount, count);
    fill = fill ? fill + 1 : "zero";
    size_t n = strlen(fill);
    if (n >= 6 && !strcmp(fill + n - 6, ":print")) {
        n -= 6;
        orr_text_add(after, "print arg%d\n", index);
    } else if (!strcmp(fill, "print")) {
        orr_text_add(after, "print arg%d\n", index);
        fill = "zero";
        n = 4;
    }
    if (n > 5 && !memcmp(fill, "file:", 5)) {
        char *name = strndup(fill + 5, n - 5);
        orr_text_add(t, "file ");
        quote(t, name);
        free(name);
    } else {
        int colons = 0; // of random: lo, hi, seed
        bool random = n >= 6 && !memcmp(fill, "random", 6);
        for (size_t k = 0; k < n; k++) {
            if (fill[k] != ':') {
                if (!plain(fill + k, 1)) return orr_fail(e, ORR_BAD_INPUT, "--arg %s: %s", arg, usage);
                orr_text_addn(t, fill + k, 1);
                continue;
            }
            colons++;
            orr_text_add(t, "%s", random && colons == 3 ? " seed " : random && colons == 2 ? ", " : " ");
        }
    }
    orr_text_add(t, "\n");
    return true;
}

static bool one_arg(orr_text *t, orr_text *after, orr_text *args, const char *arg, int index, orr_err *e) {
    orr_text_add(args, "%s", index ? ", " : " ");
    if (!strncmp(arg, "buf:", 4)) {
        orr_text_add(args, "arg%d", index);
        return buffer_arg(t, after, arg, index, e);
    }
    if (*arg == '{' && strspn(arg, "{}abcdefghijklmnopqrstuvwxyz0123456789_:,.+-* ") == strlen(arg)) {
        orr_text_add(args, "%s", arg); // a structure, or a vector of OpenCL: {f32:1, f32:2}
        return true;
    }
    const char *colon = strchr(arg, ':');
    size_t n = colon ? (size_t)(colon - arg) : 0;
    bool local = n == 5 && !memcmp(arg, "local", 5); // of OpenCL: bytes of shared memory
    if (!colon || (!local && orr_elem_type(arg, n) == ORR_T_NONE) || !plain(colon + 1, strlen(colon + 1)) ||
        strchr(colon + 1, ',')) {
        return orr_fail(e, ORR_BAD_INPUT, "--arg %s: %s", arg, usage);
    }
    orr_text_add(args, "%s", arg);
    return true;
}

// One to `most` numbers with commas between them. What a number may be, the script says.
static bool option(const orr_direct *d, const char *name, const char *value, int most, orr_err *e) {
    if (!value)
        return orr_fail(e, ORR_BAD_INPUT, "%s: %s is needed to launch a kernel without a script", d->module,
                        name);
    int numbers = 1, depth = 0;
    bool empty = true, ok = plain(value, strlen(value));
    for (const char *s = value; *s && ok; s++) {
        depth += (*s == '(') - (*s == ')');
        if (*s == ',' && depth == 0) {
            numbers++;
            ok = !empty;
            empty = true;
        } else if (*s != ' ') {
            empty = false;
        }
    }
    if (ok && !empty && depth == 0 && numbers <= most) return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s %s: it should be %s", name, value,
                    most == 1 ? "a number" : "one to three numbers, as in 64 or 16,16");
}

// --global and --local are OpenCL's way of saying --grid and --block: in work-items, not in thread blocks.
static bool three(const char *s, unsigned long long v[3], int *n) {
    int at = 0;
    *n = 0;
    v[0] = v[1] = v[2] = 1;
    while (*n < 3 && sscanf(s, "%llu%n", &v[*n], &at) == 1 && *s >= '0' && *s <= '9') {
        s += at;
        ++*n;
        if (*s != ',') break;
        s++;
    }
    return *n > 0 && !*s;
}

static bool work_size(const orr_direct *d, char grid[100], char block[100], orr_err *e) {
    unsigned long long global[3], local[3];
    int ng, nl;
    if (!d->global || !d->local || d->grid || d->block)
        return orr_fail(e, ORR_BAD_INPUT,
                        "--global and --local go together, and stand for --grid and --block");
    if (!three(d->global, global, &ng) || !three(d->local, local, &nl) || ng != nl)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "--global %.60s --local %.60s: each is one to three numbers, as many of one as of the other",
            d->global, d->local);
    for (int i = 0; i < 3; i++)
        if (!local[i] || !global[i] || global[i] % local[i])
            return orr_fail(e, ORR_BAD_INPUT, "--local %.60s does not divide --global %.60s", d->local,
                            d->global);
    snprintf(grid, 100, "%llu,%llu,%llu", global[0] / local[0], global[1] / local[1], global[2] / local[2]);
    snprintf(block, 100, "%llu,%llu,%llu", local[0], local[1], local[2]);
    return true;
}

orr_script *orr_script_from_args(const orr_direct *asked, orr_err *e) {
    char grid[100], block[100];
    orr_direct own = *asked, *d = &own;
    if (d->global || d->local) {
        if (!work_size(asked, grid, block, e)) return NULL;
        d->grid = grid;
        d->block = block;
    }
    orr_text t = {0}, after = {0}, args = {0};
    orr_script *s = NULL;
    bool ok = option(d, "--grid", d->grid, 3, e) && option(d, "--block", d->block, 3, e) &&
              (!d->shared || option(d, "--shared", d->shared, 1, e));
    orr_text_add(&t, "module ");
    quote(&t, d->module);
    if (d->build) {
        orr_text_add(&t, " build ");
        quote(&t, d->build);
    }
    orr_text_add(&t, "\n");
    orr_text_add(&args, "%s", "");
    orr_text_add(&after, "%s", "");
    for (int k = 0; ok && k < d->nargs; k++) ok = one_arg(&t, &after, &args, d->args[k], k, e);
    if (ok) {
        orr_text_add(&t, "launch ");
        quote(&t, d->kernel ? d->kernel : "");
        orr_text_add(&t, " grid %s block %s", d->grid, d->block);
        if (d->shared) orr_text_add(&t, " shared %s", d->shared);
        if (d->nargs) orr_text_add(&t, " args%s", args.s);
        orr_text_add(&t, "\n%s", after.s);
        s = orr_script_parse(&(orr_script_text){.path = "command line", .text = t.s, .n = t.n, .plain = true},
                             e);
    }
    free(t.s);
    free(after.s);
    free(args.s);
    return s;
}
