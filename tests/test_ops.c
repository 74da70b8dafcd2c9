// Every instruction of ops/ops.def against what an H200 computed for the same inputs, from PTX and from the
// machine code that ptxas 13.0 makes of it for sm_90. The results of the real GPU are kept as one hash for
// each instruction in hardware/h200/ops.txt, made by the program hw_ops on such a machine. And sequences of
// instructions (ops/random.c): there the machine code must do what the PTX does. ops/sass_ops.c says how the
// machine code was made, and shows what differs.
#include "round_trip.h"

#include "ops/ops.h"
#include "sass/module.h"

// Where the H200 does not do what the PTX manual says, the manual counts for PTX. A scaled vmad of unsigned
// operands shifts in copies of bit 31 there instead of zeros.
static const char *const departs[] = {"vmad.u32.u32.u32.shr7"};

static bool by_the_manual(const char *text) {
    for (size_t n = 0; n < sizeof departs / sizeof *departs; n++)
        if (!strcmp(text, departs[n])) return true;
    return false;
}

static bool execute(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    (void)arg;
    (void)c;
    return orr_exec_run(l, 1, NULL, NULL, e);
}

static orr_module *ptx_of(orr_text *ptx) {
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("ops.ptx", ptx->s, ptx->n, &e);
    free(ptx->s);
    if (!m) fail_msg("%s", e.text);
    free(round_trip(m));
    return m;
}

static orr_module *machine_code(const char *path, unsigned sm) {
    orr_err e = {0};
    orr_module *m = orr_sass_open(path, sm, &e);
    if (!m) fail_msg("%s", e.text);
    return m;
}

static uint64_t *run_all(orr_module *m) {
    orr_err e = {0};
    orr_cpu *cpu = orr_cpu_new(execute, NULL, &e);
    orr_backend b = orr_cpu_backend(cpu);
    uint64_t *results = orr_calloc((size_t)ops_count * OPS_N, 8);
    if (!ops_run(&b, m, results, &e)) fail_msg("%s", e.text);
    orr_cpu_delete(cpu);
    m->free(m);
    return results;
}

static void compare(const uint64_t *results, bool manual) {
    orr_err e = {0};
    char *file = orr_read_file(ORRERY_SOURCE_DIR "/hardware/h200/ops.txt", 1 << 20, &(size_t){0}, &e);
    if (!file) fail_msg("%s", e.text);
    int compared = 0, wrong = 0;
    for (char *line = strtok(file, "\n"); line; line = strtok(NULL, "\n")) {
        char text[128];
        unsigned long long hash;
        int n;
        if (line[0] == '#') continue;
        if (sscanf(line, "%d %llx %127s", &n, &hash, text) != 3) fail_msg("cannot read '%s'", line);
        assert_in_range(n, 0, ops_count - 1);
        assert_string_equal(text, ops_cases[n].text); // else ops.def has changed: run hw_ops again
        if (manual && by_the_manual(text)) continue;
        compared++;
        if (orr_hash64(results + (size_t)n * OPS_N, OPS_N * 8, 0) != hash) {
            print_error("%s differs from the H200\n", text);
            wrong++;
        }
    }
    assert_true(compared > 400);
    assert_int_equal(wrong, 0);
    free(file);
}

static void instructions_as_on_the_h200(void **state) {
    (void)state;
    orr_text ptx = {0};
    ops_module(&ptx);
    uint64_t *results = run_all(ptx_of(&ptx));
    compare(results, true);
    free(results);
}

static void machine_code_as_on_the_h200(void **state) {
    (void)state;
    uint64_t *results = run_all(machine_code(ORRERY_SOURCE_DIR "/tests/ops/ops.fatbin", 90));
    compare(results, false);
    free(results);
}

static void sequences_for(unsigned sm) {
    static uint64_t x[OPS_N], y[OPS_N];
    orr_err e = {0};
    orr_text ptx = {0};
    ops_random(&ptx, 0);
    orr_module *m[2] = {ptx_of(&ptx), machine_code(ORRERY_SOURCE_DIR "/tests/ops/random.fatbin", sm)};
    orr_cpu *cpu[2] = {orr_cpu_new(execute, NULL, &e), orr_cpu_new(execute, NULL, &e)};
    orr_backend b[2] = {orr_cpu_backend(cpu[0]), orr_cpu_backend(cpu[1])};
    ops_memory mem[2];
    for (int i = 0; i < 2; i++)
        if (!ops_load(&b[i], m[i], &mem[i], &e)) fail_msg("%s", e.text);
    int wrong = 0;
    for (int n = 0; n < OPS_RANDOM; n++) {
        if (!ops_run_one(&b[0], m[0], &mem[0], n, false, x, &e) ||
            !ops_run_one(&b[1], m[1], &mem[1], n, false, y, &e))
            fail_msg("%s", e.text);
        if (!memcmp(x, y, sizeof x)) continue;
        print_error("op%d of the machine code for sm_%u differs\n", n, sm);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    for (int i = 0; i < 2; i++) {
        orr_cpu_delete(cpu[i]);
        m[i]->free(m[i]);
    }
}

static void sequences(void **state) { // sm_120 has instructions of its own for 64 bits and for bytes
    (void)state;
    sequences_for(90);
    sequences_for(120);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(instructions_as_on_the_h200),
                                       cmocka_unit_test(machine_code_as_on_the_h200),
                                       cmocka_unit_test(sequences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
