// Evidence of values: how a comment says it, what inheriting makes of it, and that every value of the bundled
// descriptions has some; what they call measured has its microbenchmark in micro/ (or tests/) and its result
// in hardware/.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu/gpu.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static orr_gpu *parse(const char *path, const char *text) {
    orr_err e = {0};
    orr_gpu *g = orr_gpu_parse(path, text, strlen(text), NULL, 0, &e);
    if (!g) fail_msg("%s", e.text);
    return g;
}

static orr_gpu_value value(const orr_gpu *g, const char *key) {
    orr_gpu_values all = {0};
    orr_gpu_value v = {0};
    orr_gpu_all_values(g, &all);
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(all.at[i].key, key) == 0) v = all.at[i];
    free(all.at);
    return v;
}

static void check(const orr_gpu *g, const char *key, int evidence, const char *source) {
    orr_gpu_value v = value(g, key);
    if (!v.origin) fail_msg("%s is not there", key);
    assert_int_equal(v.evidence, evidence);
    assert_string_equal(v.origin->source, source);
}

static void words(void **state) {
    (void)state;
    orr_gpu *g = parse("mine.conf", "inherit = \"h200\"\n"
                                    "l1.latency = 30 cycles # published: a paper: with a colon\n"
                                    "l2.latency = 300 cycles # measured:   micro/l2\n"
                                    "l1.mshrs = 7 lines # chosen: by a sum among 1, 7\n"
                                    "l1.mshr_merges = 7 requests # assumed: as before\n"
                                    "l2.ways = 16 ways # inherited from h100: the same chip\n"
                                    "l2.mshrs = 5 lines # inherited from h100\n"
                                    "sm.count = 7 SMs # a guess\n"
                                    "gpc.count = 1 GPCs # published:\n"
                                    "tpc.count = 1 TPCs # inherited: from nobody\n");
    check(g, "l1.latency", ORR_PUBLISHED, "a paper: with a colon");
    check(g, "l2.latency", ORR_MEASURED, "micro/l2");
    check(g, "l1.mshrs", ORR_CHOSEN, "by a sum among 1, 7");
    check(g, "l1.mshr_merges", ORR_ASSUMED, "as before");
    check(g, "l2.ways", ORR_INHERITED, "the same chip");
    assert_string_equal(value(g, "l2.ways").origin->chip, "h100");
    check(g, "l2.mshrs", ORR_INHERITED, "");
    check(g, "sm.count", ORR_NO_EVIDENCE, "");
    check(g, "gpc.count", ORR_NO_EVIDENCE, ""); // a word without a source is none
    check(g, "tpc.count", ORR_NO_EVIDENCE, "");
    orr_gpu_free(g);
}

// A line of its own holds up to the next blank line, or the next such line, where values do not say
// otherwise.
static void blocks(void **state) {
    (void)state;
    orr_gpu *g = parse("mine.conf", "inherit = \"h200\"\n"
                                    "# published: a table\n"
                                    "dram.trcd = 11 clocks\n"
                                    "# a remark\n"
                                    "dram.trp = 12 clocks # rounded\n"
                                    "dram.tras = 13 clocks # assumed: as others\n"
                                    "dram.trc = 14 clocks\n"
                                    "# chosen: by a sum\n"
                                    "dram.tcl = 15 clocks\n"
                                    "\n"
                                    "dram.twl = 16 clocks\n");
    check(g, "dram.trcd", ORR_PUBLISHED, "a table");
    check(g, "dram.trp", ORR_PUBLISHED, "a table");
    assert_string_equal(value(g, "dram.trp").origin->note, "rounded");
    check(g, "dram.tras", ORR_ASSUMED, "as others");
    check(g, "dram.trc", ORR_PUBLISHED, "a table");
    check(g, "dram.tcl", ORR_CHOSEN, "by a sum");
    check(g, "dram.twl", ORR_NO_EVIDENCE, "");
    orr_gpu_free(g);
}

// What was measured on an H200 is inherited by whoever is not one; what was published stays so; --set has no
// evidence.
static void inheriting(void **state) {
    (void)state;
    orr_err e = {0};
    const char *const sets[] = {"l1.mshrs=77"};
    orr_gpu *h200 = orr_gpu_load("h200", sets, 1, &e), *h100 = orr_gpu_load("h100", NULL, 0, &e);
    orr_gpu *mine = parse("mine.conf", "inherit = \"h200\"\n");
    if (!h200 || !h100) fail_msg("%s", e.text);
    assert_int_equal(value(h200, "shared.latency").evidence, ORR_MEASURED); // family/hopper, measured_on h200
    assert_int_equal(value(h100, "shared.latency").evidence, ORR_INHERITED);
    assert_string_equal(value(h100, "shared.latency").origin->chip, "h200");
    assert_int_equal(value(h200, "limit.sm_warps").evidence, ORR_PUBLISHED);
    assert_int_equal(value(h100, "limit.sm_warps").evidence, ORR_PUBLISHED);
    assert_int_equal(value(h200, "l2.latency").evidence, ORR_MEASURED); // h200.conf
    assert_int_equal(value(mine, "l2.latency").evidence, ORR_INHERITED);
    assert_int_equal(value(h200, "l1.mshrs").evidence, ORR_NO_EVIDENCE);
    orr_gpu_free(h200);
    orr_gpu_free(h100);
    orr_gpu_free(mine);
}

static void mistakes(void **state) {
    (void)state;
    static const char *const bad[] = {
        "inherit = \"h200\"\nmeasured_on = \"\"\n", "inherit = \"h200\"\nmeasured_on = \"a b\"\n",
        "inherit = \"h200\"\nsm.count = 7\nl1.misses = 4\nmeasured_on = \"h200\"\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        orr_err e = {0};
        assert_null(orr_gpu_parse("mine.conf", bad[i], strlen(bad[i]), NULL, 0, &e));
        if (!strstr(e.text, "measured_on must name")) fail_msg("%s", e.text);
    }
}

// ---- the bundled descriptions -----------------------------------------------------------------

static bool file_exists(const char *path) {
    char full[600];
    snprintf(full, sizeof full, "%s/%s", ORRERY_SOURCE_DIR, path);
    return access(full, R_OK) == 0;
}

static bool line_begins(const char *path, const char *name) {
    char line[400];
    size_t n = strlen(name);
    FILE *f = fopen(path, "r");
    bool found = false, start = true;
    while (f && !found && fgets(line, sizeof line, f)) {
        if (start && strncmp(line, name, n) == 0)
            found = line[n] == ',' || line[n] == '/' || strncmp(line + n, ".launch,", 8) == 0;
        start = strchr(line, '\n') != NULL;
    }
    if (f) fclose(f);
    return found;
}

// Some table of hardware/CHIP has rows of `name`, or of its last part; or a whole table is of a folder
// micro/NAME: NAME_micro.csv.
static bool has_result(const char *chip, const char *name) {
    char folder[600], path[900];
    snprintf(folder, sizeof folder, "%s/hardware/%s", ORRERY_SOURCE_DIR, chip);
    DIR *d = opendir(folder);
    bool found = false;
    for (struct dirent *f; d && !found && (f = readdir(d)) != NULL;) {
        if (!strstr(f->d_name, ".csv")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        found = line_begins(path, name) || (strncmp(name, "micro/", 6) == 0 && line_begins(path, name + 6));
    }
    if (d) closedir(d);
    if (found || strncmp(name, "micro/", 6) != 0) return found;
    snprintf(path, sizeof path, "hardware/%s/%s_micro.csv", chip, name + 6);
    return file_exists(path);
}

static void check_measured(const orr_gpu *g, const orr_gpu_value *v) {
    char name[200], script[256];
    const char *chip = v->origin->chip ? v->origin->chip : g->name;
    size_t n = strcspn(v->origin->source, ", ;:");
    if (n == 0 || n >= sizeof name) fail_msg("%s %s: measured by what?", g->name, v->key);
    memcpy(name, v->origin->source, n);
    name[n] = 0;
    if (strncmp(name, "hardware/", 9) == 0) {
        if (!file_exists(name)) fail_msg("%s %s: there is no %s", g->name, v->key, name);
        return;
    }
    snprintf(script, sizeof script, "%s%s", name, strncmp(name, "micro/", 6) == 0 ? ".launch" : "");
    if (!file_exists(script) && !file_exists(name))
        fail_msg("%s %s: there is no %s", g->name, v->key, script);
    if (!has_result(chip, name))
        fail_msg("%s %s: hardware/%s has no result of %s", g->name, v->key, chip, name);
}

#ifdef __SANITIZE_ADDRESS__
enum { EACH = 6 }; // where memory is checked some of the GPUs do: the code is the same for all
#else
enum { EACH = 1 };
#endif

static void bundled(void **state) {
    (void)state;
    int n;
    char **names = orr_gpu_list(&n);
    assert_true(n > 10);
    for (int i = 0; i < n; i += EACH) {
        orr_err e = {0};
        orr_gpu *g = orr_gpu_load(names[i], NULL, 0, &e);
        if (!g) fail_msg("%s", e.text);
        orr_gpu_values all = {0};
        orr_gpu_all_values(g, &all);
        for (size_t k = 0; k < all.n; k++) {
            const orr_gpu_value *v = &all.at[k];
            if (v->evidence == ORR_NO_EVIDENCE)
                fail_msg("%s:%d: %s has no evidence: begin its comment with published:, measured:, chosen:, "
                         "assumed: or "
                         "inherited from NAME:",
                         v->origin->file, v->origin->line, v->key);
            if (v->origin->evidence == ORR_MEASURED) check_measured(g, v);
        }
        free(all.at);
        orr_gpu_free(g);
    }
    orr_gpu_list_free(names, n);
}

// A mechanism belongs to a family: what one GPU's own file switches on, another of the same compute
// capability has too, from the family or with a value of its own. Older ones than Volta are left out:
// among them are machines that papers simulated, which stand by themselves.
static bool has_key(const orr_gpu_values *all, const char *key) {
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->at[i].key, key) == 0) return true;
    return false;
}

static void mechanisms_of_a_family(void **state) {
    (void)state;
    int n, pairs = 0;
    char **names = orr_gpu_list(&n);
    orr_gpu **g = calloc((size_t)n, sizeof *g);
    orr_gpu_values *all = calloc((size_t)n, sizeof *all);
    for (int i = 0; i < n; i++) {
        orr_err e = {0};
        g[i] = orr_gpu_load(names[i], NULL, 0, &e);
        if (!g[i]) fail_msg("%s", e.text);
        orr_gpu_all_values(g[i], &all[i]);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (i == j || g[i]->cc_major != g[j]->cc_major || g[i]->cc_minor != g[j]->cc_minor) continue;
            if (g[i]->cc_major < 7) continue;
            pairs++;
            for (size_t k = 0; k < all[i].n; k++)
                if (!has_key(&all[j], all[i].at[k].key))
                    fail_msg("%s has %s (%s:%d) and %s, of the same family, does not", names[i],
                             all[i].at[k].key, all[i].at[k].origin->file, all[i].at[k].origin->line,
                             names[j]);
        }
    assert_true(pairs >= 2);
    for (int i = 0; i < n; i++) {
        free(all[i].at);
        orr_gpu_free(g[i]);
    }
    free(all);
    free(g);
    orr_gpu_list_free(names, n);
}

// The counts of `orrery gpu show --evidence --json` are of the values that follow.
static void counts(void **state) {
    (void)state;
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("h100", NULL, 0, &e);
    if (!g) fail_msg("%s", e.text);
    orr_text t = {0};
    orr_gpu_json_evidence(g, NULL, &t);
    for (int kind = ORR_PUBLISHED; kind < ORR_EVIDENCE_KINDS; kind++) {
        char count[40], each[60];
        snprintf(count, sizeof count, "\"%s\": ", orr_evidence_name[kind]);
        snprintf(each, sizeof each, "\"evidence\": \"%s\"", orr_evidence_name[kind]);
        const char *at = strstr(t.s, count);
        assert_non_null(at);
        int said = atoi(at + strlen(count)), found = 0;
        for (const char *p = t.s; (p = strstr(p, each)) != NULL; p += strlen(each)) found++;
        assert_int_equal(said, found);
    }
    assert_non_null(strstr(t.s, "\"none\": 0"));
    assert_null(strstr(t.s, "\"evidence\": \"measured\"")); // nothing was measured on an H100 here
    free(t.s);
    orr_gpu_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(blocks),
        cmocka_unit_test(inheriting),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(bundled),
        cmocka_unit_test(counts),
        cmocka_unit_test(mechanisms_of_a_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
