// Any bytes as the code that a program carries, the way the CUDA library of `orrery app` takes it: nvcc's
// wrapper, the fatbin behind it, a module for a GPU, its variables in memory, its kernels, their parameters,
// and a small launch of each. The last byte chooses the GPU's architecture and --source.
#include "app/abi.h"
#include "app/open.h"
#include "exec/exec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void launch(const orr_kernel *k, const orr_image *image, orr_mem *mem) {
    static uint8_t zeros[1 << 16];
    if (k->param_bytes > sizeof zeros || k->nparams > 4096) return;
    uint8_t *params = orr_calloc(1, (size_t)k->param_bytes + 1);
    void **args = orr_calloc((size_t)k->nparams + 1, sizeof *args);
    for (uint32_t i = 0; i < k->nparams; i++) args[i] = zeros;
    if (app_pack_params(k, args, params)) {
        int fault = ORR_FAULT_NONE;
        orr_err e = {0};
        orr_launch l = {.kernel = k,
                        .image = image,
                        .mem = mem,
                        .grid = {2, 1, 1},
                        .block = {33, 1, 1},
                        .params = params,
                        .max_insts = 300,
                        .print = fopen("/dev/null", "w"),
                        .fault = &fault};
        if (orr_launch_check(&l, 100 << 10, &e)) {
            bool ok = orr_exec_run(&l, 1, NULL, NULL, &e);
            if (!ok && (!e.status || !e.text[0])) abort(); // refused without a reason
            if (ok && fault != ORR_FAULT_NONE) abort();
        }
        if (l.print) fclose(l.print);
    }
    free(args);
    free(params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const uint8_t sm[] = {75, 80, 86, 89, 90, 100, 120};
    static const char *const sources[] = {NULL, NULL, "ptx", "sass"};
    if (n < 64) return 0; // a program's image has at least a header
    uint8_t choice = data[n - 1];
    char *own = orr_calloc(1, n + 1); // PTX ends in 0
    memcpy(own, data, n);
    const fat_wrapper wrapper = {FAT_WRAPPER_MAGIC, 1, own, NULL};
    const void *image = app_image_of(&wrapper);
    size_t bytes = app_image_bytes(image);
    if (bytes > n) bytes = n; // a program that lies about its own memory is beyond help
    orr_err e = {0};
    orr_module *m = app_image_open(image, bytes, "fuzz", sm[choice % 7], sources[choice / 7 % 4], &e);
    if (!m && (!e.status || !e.text[0])) abort();
    orr_mem *mem = m ? orr_mem_new(&e) : NULL;
    uint64_t all = 0;
    for (uint32_t v = 0; m && v < m->nvars; v++) all += m->vars[v].bytes;
    orr_image *vars = mem && all < 16 << 20 ? orr_image_load(mem, m, &e) : NULL;
    for (uint32_t i = 0; vars && i < m->nkernels && i < 8; i++) {
        orr_err why = {0};
        const orr_kernel *k = m->load(m, m->kernel_names[i], &why);
        if (!k && (!why.status || !why.text[0])) abort();
        if (k && k->stack_bytes < 1 << 16 && k->shared_bytes < 1 << 17) launch(k, vars, mem);
    }
    if (vars) orr_image_free(mem, vars);
    if (mem) orr_mem_delete(mem);
    if (m) m->free(m);
    free(own);
    return 0;
}
