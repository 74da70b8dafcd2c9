// hw_ops: runs ops.def's instructions on the executor and on this machine's GPU, says which differ, and
// writes the GPU's results as hashes for test_ops (standard output is the file).
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw/hw.h"
#include "ops.h"
#include "ptx/ptx.h"

static bool execute(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    (void)arg;
    (void)c;
    return orr_exec_run(l, 1, NULL, NULL, e);
}

static void show(const ops_case *c, int n, uint64_t ours, uint64_t theirs) {
    fprintf(stderr, "  %-44s [%4d]", c->text, n);
    for (int s = 0; s + 1 < (int)strlen(c->signature); s++) fprintf(stderr, " %" PRIx64, ops_input(c, s, n));
    fprintf(stderr, " -> ours %" PRIx64 ", GPU %" PRIx64 "\n", ours, theirs);
}

int main(void) {
    orr_err e = {0};
    orr_text ptx = {0};
    ops_module(&ptx);
    char path[] = "/tmp/hw_ops.XXXXXX"; // the driver reads the module from its file
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, ptx.s, ptx.n) != (ssize_t)ptx.n || close(fd)) {
        fprintf(stderr, "hw_ops: cannot write %s\n", path);
        return 2;
    }
    orr_module *m = orr_ptx_open(path, &e);
    orr_cpu *cpu = m ? orr_cpu_new(execute, NULL, &e) : NULL;
    orr_hw *hw = cpu ? orr_hw_open(&e) : NULL;
    size_t total = (size_t)ops_count * OPS_N;
    uint64_t *ours = orr_calloc(total, 8), *theirs = orr_calloc(total, 8);
    bool ok = false;
    if (hw) {
        orr_backend a = orr_cpu_backend(cpu), b = orr_hw_backend(hw);
        ok = ops_run(&a, m, ours, &e) && ops_run(&b, m, theirs, &e);
    }
    unlink(path);
    if (!ok) {
        fprintf(stderr, "hw_ops: %s\n", e.text);
        return 2;
    }
    printf("# Results of tests/ops/ops.def on a real H200, made by hw_ops: number, hash, instruction.\n");
    int wrong = 0, exact = 0;
    for (int op = 0; op < ops_count; op++) {
        const ops_case *c = &ops_cases[op];
        const uint64_t *x = ours + (size_t)op * OPS_N, *y = theirs + (size_t)op * OPS_N;
        if (c->approx) {
            uint64_t most = 0, differ = 0;
            int at = 0;
            for (int n = 0; n < OPS_N; n++) {
                uint64_t d = ops_distance(c, x[n], y[n]);
                differ += d != 0;
                if (d > most) most = d, at = n;
            }
            fprintf(stderr, "approximation %-30s at most %" PRIu64 " ulp apart, %" PRIu64 " of %d differ\n",
                    c->text, most, differ, OPS_N);
            if (most > 2) show(c, at, x[at], y[at]);
            continue;
        }
        int differ = 0;
        for (int n = 0; n < OPS_N; n++)
            if (x[n] != y[n] && differ++ < 4) show(c, n, x[n], y[n]);
        if (differ) fprintf(stderr, "%s: %d of %d differ\n", c->text, differ, OPS_N);
        wrong += differ != 0;
        exact += !differ;
        printf("%d %016" PRIx64 " %s\n", op, orr_hash64(y, OPS_N * 8, 0), c->text);
    }
    fprintf(stderr, "hw_ops: %d instructions as on the GPU, %d not\n", exact, wrong);
    orr_hw_close(hw);
    orr_cpu_delete(cpu);
    m->free(m);
    free(ours);
    free(theirs);
    free(ptx.s);
    return wrong != 0;
}
