// Makes the expectations of the scripts of this folder (tests/unseen/build --expect): NAME.expect, all sizes.
#include "reference.h"

#include <stdio.h>

static const struct {
    const char *name;
    void (*fn)(orr_ref *r);
} references[] = {
#define W(name) {#name, ref_##name},
#include <list.def>
#undef W
};

void *ref_buffer(orr_ref *r, const char *name) {
    uint64_t count = 0;
    void *p = orr_ref_buffer(r, name, &count);
    if (!p) {
        fprintf(stderr, "reference: the script has no buffer '%s'\n", name);
        exit(2);
    }
    return p;
}

int main(int argc, char **argv) {
    static const char *const sizes[] = {"small", "medium"};
    int bad = 0;
    for (size_t k = 0; k < sizeof references / sizeof *references; k++) {
        int wanted = argc < 2;
        for (int i = 1; i < argc; i++) wanted |= !strcmp(argv[i], references[k].name);
        for (int i = 0; wanted && i < 2; i++) {
            char path[64];
            orr_err e = {0};
            snprintf(path, sizeof path, "%s.launch", references[k].name);
            orr_script *s = orr_script_load(path, sizes[i], NULL, 0, &e);
            if (!s || !orr_script_reference(s, references[k].fn, true, &e))
                bad = 1, fprintf(stderr, "reference: %s\n", e.text);
            orr_script_free(s);
        }
    }
    return bad;
}
