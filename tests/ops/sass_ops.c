// sass_ops: the same instructions as PTX and as the machine code that ptxas makes of it, both on the
// executor; says what differs, bit for bit. PTX's results are those of a real H200 (test_ops), so a
// difference is the machine code's fault, or its translation's.
//
//   sass_ops ptx SET
//       writes PTX: of ops.def's instructions (SET: ops), or of made-up sequences of integer instructions
//       (SET: a number, the seed; random.c)
//   ptxas -arch=sm_90 ops.ptx -o ops.cubin
//       makes the machine code; or with -O1, for another architecture, ...
//   sass_ops compare SET ops.cubin [TEXT]
//       runs both and shows the first elements that differ, of instructions whose text has TEXT in it, or of
//       made-up kernel TEXT. SET may also be a PTX file, made of such a set by leaving things out.
//
// make sass_ops builds it. The machine code that test_ops runs is made so, and with SET 0 as random.fatbin
// (with a second image, of sm_120):
//   sass_ops ptx ops > ops.ptx; ptxas -arch=sm_90 ops.ptx -o ops.cubin
//   fatbinary --64 --compress-all --create=ops.fatbin --image3=kind=elf,sm=90,file=ops.cubin
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "ptx/ptx.h"
#include "sass/module.h"

static bool execute(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    (void)arg;
    (void)c;
    return orr_exec_run(l, 1, NULL, NULL, e);
}

typedef struct side { // a module and where it runs
    orr_module *m;
    orr_cpu *cpu;
    orr_backend b;
    ops_memory mem;
} side;

static bool begin(side *s, orr_module *m, orr_err *e) {
    s->m = m;
    s->cpu = m ? orr_cpu_new(execute, NULL, e) : NULL;
    if (!s->cpu) return false;
    s->b = orr_cpu_backend(s->cpu);
    return ops_load(&s->b, m, &s->mem, e);
}

static void show(const ops_case *c, int n, uint64_t ptx, uint64_t sass) {
    printf("  [%4d]", n);
    for (int s = 0; c && s + 1 < (int)strlen(c->signature); s++) printf(" %" PRIx64, ops_input(c, s, n));
    printf(" -> PTX %" PRIx64 ", machine code %" PRIx64 "\n", ptx, sass);
}

static void text_of(const char *set, orr_text *t) {
    size_t n;
    orr_err e = {0};
    char *file = strstr(set, ".ptx") ? orr_read_file(set, 1 << 26, &n, &e) : NULL;
    if (e.status) {
        fprintf(stderr, "sass_ops: %s\n", e.text);
        exit(2);
    }
    if (file)
        orr_text_add(t, "%s", file);
    else if (strcmp(set, "ops"))
        ops_random(t, atoi(set));
    else
        ops_module(t);
    free(file);
}

static int compare(const char *set, const char *cubin, const char *only) {
    orr_err e = {0};
    orr_text ptx = {0};
    bool random = strcmp(set, "ops") != 0;
    text_of(set, &ptx);
    side a = {0}, b = {0};
    if (!begin(&a, orr_ptx_parse("ops.ptx", ptx.s, ptx.n, &e), &e) ||
        !begin(&b, orr_sass_open(cubin, 0, &e), &e)) {
        fprintf(stderr, "sass_ops: %s\n", e.text);
        return 2;
    }
    static uint64_t x[OPS_N], y[OPS_N];
    int same = 0, differ = 0, cannot = 0;
    for (int n = 0; n < (random ? OPS_RANDOM : ops_count); n++) {
        const ops_case *c = random ? NULL : &ops_cases[n];
        char name[24];
        snprintf(name, sizeof name, "random %d", n);
        const char *text = c ? c->text : name;
        if (only && !(c ? strstr(text, only) != NULL : atoi(only) == n)) continue;
        orr_err bad = {0};
        bool mat = c && c->matrix[0];
        if (!ops_run_one(&a.b, a.m, &a.mem, n, mat, x, &bad) ||
            !ops_run_one(&b.b, b.m, &b.mem, n, mat, y, &bad)) {
            printf("op%d %s: %s\n", n, text, bad.text);
            cannot++;
            continue;
        }
        int wrong = 0;
        uint64_t most = 0;
        for (int i = 0; i < OPS_N; i++) {
            if (x[i] == y[i]) continue;
            uint64_t d = c && c->approx ? ops_distance(c, x[i], y[i]) : 0;
            most = d > most ? d : most;
            if (!wrong++) printf("op%d %s differs\n", n, text);
            if (wrong <= 4) show(c, i, x[i], y[i]);
        }
        if (wrong) printf("  %d of %d differ", wrong, OPS_N);
        if (wrong && most) printf(", by at most %" PRIu64 " ulp", most);
        if (wrong) printf("\n");
        differ += wrong != 0;
        same += !wrong;
    }
    printf("sass_ops: %d the same, %d differ, %d cannot be run\n", same, differ, cannot);
    free(ptx.s);
    return differ || cannot;
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "ptx")) {
        orr_text t = {0};
        text_of(argv[2], &t);
        fwrite(t.s, 1, t.n, stdout);
        free(t.s);
        return 0;
    }
    if (argc >= 4 && !strcmp(argv[1], "compare")) return compare(argv[2], argv[3], argc > 4 ? argv[4] : NULL);
    fprintf(stderr, "usage: sass_ops ptx ops|SEED | sass_ops compare ops|SEED FILE.cubin [TEXT]\n");
    return 2;
}
