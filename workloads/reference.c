// workloads/reference: makes, or with --check compares, the expectation files of the bundled workloads.
//
//   reference [--check] [--size SIZE] [--root DIR] NAME... | --all
//
// For each workload it loads DIR/NAME/NAME.launch (of hopper/NAME DIR/hopper/NAME/NAME.launch), fills the
// buffers as the script says, and calls the plain C function ref_NAME in place of the launches. What the
// buffers then hold is what every run of the script, on the CPU or on a GPU, is compared with.
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *folder, *name;
    void (*fn)(orr_ref *r);
} references[] = {
#define W(name) {"", #name, ref_##name},
#include "list.def"
#undef W
#define W(name) {"hopper/", #name, ref_##name},
#include "hopper/list.def"
#undef W
};
#define REFERENCES (sizeof references / sizeof *references)

void *ref_buffer(orr_ref *r, const char *name) {
    uint64_t count = 0;
    void *p = orr_ref_buffer(r, name, &count);
    if (!p) {
        fprintf(stderr, "reference: the script has no buffer '%s'\n", name);
        exit(2);
    }
    return p;
}

float ref_from_half(uint16_t h) {
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    float v = exponent == 0    ? ldexpf((float)mantissa, -24)
              : exponent == 31 ? (mantissa ? NAN : INFINITY)
                               : ldexpf((float)(mantissa + 1024), exponent - 25);
    return h & 0x8000 ? -v : v;
}

// Scale so that one unit is one step of the result, and let rint() round to nearest even.
uint16_t ref_to_half(double v) {
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double a = fabs(v);
    if (isnan(v)) return 0x7fff;
    if (a >= 65520.0) return sign | 0x7c00;
    int e;
    frexp(a, &e);         // a = m * 2^e with m in [0.5, 1)
    if (e < -13) e = -13; // subnormal: steps of 2^-24
    uint32_t steps = (uint32_t)rint(ldexp(a, 11 - e));
    // For normal numbers `steps` is 1024 .. 2048: its leading bit adds one to the exponent field.
    return sign | (uint16_t)(((uint32_t)(e + 13) << 10) + steps);
}

float ref_from_bf16(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

uint16_t ref_to_bf16(float v) { // finite numbers
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void ref_gemm(int64_t m, int64_t n, int64_t k, double alpha, const float *a, const float *b, double beta,
              float *c) {
    double *row = SCRATCH(double, n);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) row[j] = 0;
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++) row[j] += (double)a[i * k + l] * b[l * n + j];
        for (int64_t j = 0; j < n; j++) c[i * n + j] = (float)(alpha * row[j] + beta * c[i * n + j]);
    }
    free(row);
}

void ref_gemm_turned(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c) {
    float *turned = SCRATCH(float, n *k);
    for (int64_t j = 0; j < n; j++)
        for (int64_t l = 0; l < k; l++) turned[l * n + j] = b[j * k + l];
    for (int64_t i = 0; i < m * n; i++) c[i] = 0;
    ref_gemm(m, n, k, 1, a, turned, 0, c);
    free(turned);
}

static bool one(const char *root, size_t k, const char *only, bool check) {
    char path[4096];
    const char *folder = references[k].folder, *name = references[k].name;
    if (snprintf(path, sizeof path, "%s/%s%s/%s.launch", root, folder, name, name) >= (int)sizeof path) {
        fprintf(stderr, "reference: %s: the path is too long\n", root);
        return false;
    }
    orr_err e = {0};
    orr_script *s = orr_script_load(path, NULL, NULL, 0, &e);
    if (!s) {
        fprintf(stderr, "reference: %s\n", e.text);
        return false;
    }
    const char *const *names;
    int n = orr_script_sizes(s, &names);
    bool good = true;
    for (int i = 0; i < (n ? n : 1); i++) {
        const char *size = n ? names[i] : NULL;
        if (only && (!size || strcmp(only, size) != 0)) continue;
        double start = orr_seconds();
        orr_script *t = orr_script_load(path, size, NULL, 0, &e);
        bool ok = t && orr_script_reference(t, references[k].fn, !check, &e);
        orr_script_free(t);
        if (ok)
            printf("%s%-18s %-7s %s  %.2f s\n", folder, name, size ? size : "-", check ? "agrees" : "written",
                   orr_seconds() - start);
        else
            fprintf(stderr, "reference: %s\n", e.text);
        fflush(stdout);
        good = good && ok;
        e = (orr_err){0};
    }
    orr_script_free(s);
    return good;
}

// "NAME", or "hopper/NAME"
static bool is_name(size_t k, const char *given) {
    size_t n = strlen(references[k].folder);
    return !strncmp(given, references[k].folder, n) && !strcmp(given + n, references[k].name);
}

static int usage(FILE *f) {
    fputs("usage: reference [--check] [--size SIZE] [--root DIR] NAME... | --all\n", f);
    return f == stdout ? 0 : 2;
}

int main(int argc, char **argv) {
    const char *root = "workloads", *size = NULL;
    bool check = false, all = false, good = true;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--check"))
            check = true;
        else if (!strcmp(argv[i], "--all"))
            all = true;
        else if (!strcmp(argv[i], "--size") && i + 1 < argc)
            size = argv[++i];
        else if (!strcmp(argv[i], "--root") && i + 1 < argc)
            root = argv[++i];
        else
            return usage(strcmp(argv[i], "--help") ? stderr : stdout);
    }
    if (all == (i < argc)) return usage(stderr);
    for (size_t k = 0; all && k < REFERENCES; k++) good = one(root, k, size, check) && good;
    for (; i < argc; i++) {
        size_t k = 0;
        while (k < REFERENCES && !is_name(k, argv[i])) k++;
        if (k == REFERENCES) {
            fprintf(stderr, "reference: %s: no such workload\n", argv[i]);
            good = false;
        } else {
            good = one(root, k, size, check) && good;
        }
    }
    return good ? 0 : 1;
}
