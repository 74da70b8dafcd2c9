// Any bytes as PTX, and then run: every kernel of the module that loads is launched on one small grid with
// pointers into one small buffer for arguments, bounded in instructions. Whatever it does, it must end in a
// result or in an error that says why, and in the same whether blocks are interpreted or compiled.
#include "exec/exec.h"
#include "exec/texture.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MAX_KERNELS 4
#define BUFFER      4096

// The result, or the error, goes into *digest.
static void run_kernel(const orr_image *image, const char *name, const orr_launch *like, uint64_t *digest) {
    orr_err e = {0};
    orr_module *m = image->module;
    uint64_t buffer = like->workspace;
    const orr_kernel *k = m->load(m, name, &e);
    if (!k) {
        if (!e.status || !e.text[0]) abort(); // refused without a reason
        return;
    }
    if (k->param_bytes > 65536 || k->shared_bytes > 65536) return;
    uint8_t *params = orr_calloc(1, k->param_bytes + 1);
    for (uint32_t i = 0; i < k->nparams; i++) {
        if (k->params[i].bytes == 8)
            memcpy(params + k->params[i].offset, &buffer, 8);
        else if (k->params[i].bytes)
            params[k->params[i].offset] = 40; // a small count
    }
    orr_launch l = {.kernel = k,
                    .image = image,
                    .mem = like->mem,
                    .jit = like->jit,
                    .grid = {2, 1, 1},
                    .block = {40, 1, 1},
                    .dynamic_shared = 256,
                    .params = params,
                    .max_insts = 4000,
                    .print = like->print};
    if (k->bounds.reqntid[0]) {
        l.block[0] = k->bounds.reqntid[0];
        l.block[1] = k->bounds.reqntid[1] ? k->bounds.reqntid[1] : 1;
        l.block[2] = k->bounds.reqntid[2] ? k->bounds.reqntid[2] : 1;
    }
    orr_exec_counts counts = {0};
    bool ok = orr_launch_check(&l, 98304, &e) && orr_exec_run(&l, 1, NULL, &counts, &e);
    if (ok != !e.status || (!ok && !e.text[0])) abort();
    *digest = orr_hash64(e.text, strlen(e.text), *digest + counts.thread_insts);
    *digest = orr_hash64(orr_mem_host(like->mem, buffer, BUFFER), BUFFER, *digest);
    free(params);
}

// Handles 1 and up: textures of every shape and format over the buffer, filtered and not.
static void make_textures(orr_mem *mem, uint64_t buffer) {
    static const uint8_t shapes[] = {ORR_TEX_1D,  ORR_TEX_2D,  ORR_TEX_3D,   ORR_TEX_CUBE,
                                     ORR_TEX_A1D, ORR_TEX_A2D, ORR_TEX_ACUBE};
    for (unsigned n = 0; n < 7 * ORR_TEX_FORMATS; n++) {
        orr_texture t = {
            .at = buffer, .shape = shapes[n % 7], .format = (uint8_t)(n / 7), .channels = n & 8 ? 4 : 1};
        bool cube = t.shape == ORR_TEX_CUBE || t.shape == ORR_TEX_ACUBE, whole = t.format == ORR_TEX_U32;
        t.layers = cube ? 6 : t.shape > ORR_TEX_CUBE ? 2 : 0;
        t.linear = n & 1 && !whole && t.format != ORR_TEX_S32;
        t.normalized_read = t.format < ORR_TEX_U32;
        t.normalized = n & 2;
        for (int k = 0; k < 3; k++) t.address[k] = n % 4;
        if (!orr_tex_lay_out(&t, cube ? 3 : 5, 3, 2, 1) || t.bytes > BUFFER) continue;
        if (!orr_tex_sound(&t)) abort();
        orr_mem_texture_new(mem, &t);
    }
}

static uint64_t run_module(orr_module *m, uint8_t jit, FILE *print) {
    orr_err e = {0};
    orr_mem *mem = orr_mem_new(&e);
    if (!mem) abort();
    uint64_t total = 0, digest = 0; // a module may ask for more memory than a fuzzer should touch
    for (uint32_t i = 0; i < m->nvars; i++) total += m->vars[i].bytes < 1 << 24 ? m->vars[i].bytes : 1 << 24;
    orr_image *image = total < 1 << 24 ? orr_image_load(mem, m, &e) : NULL;
    uint64_t buffer = image ? orr_mem_alloc(mem, BUFFER, "buffer", &e) : 0;
    if (buffer) make_textures(mem, buffer);
    orr_launch like = {.mem = mem, .jit = jit, .print = print, .workspace = buffer};
    for (uint32_t i = 0; buffer && i < m->nkernels && i < MAX_KERNELS; i++)
        run_kernel(image, m->kernel_names[i], &like, &digest);
    if (image) orr_image_free(mem, image);
    orr_mem_delete(mem);
    return digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static FILE *print;
    if (!print) print = fopen("/dev/null", "w");
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("fuzz.ptx", (const char *)data, n, &e);
    if (!m) return 0;
    uint64_t digest = run_module(m, ORR_JIT_OFF, print);
    if (digest != run_module(m, ORR_JIT_ON, print)) abort();
    if (digest != run_module(m, ORR_JIT_AVX2, print)) abort(); // without AVX-512
    m->free(m);
    return 0;
}
