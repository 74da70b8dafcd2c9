// Any bytes as an Accel-Sim trace. The first byte chooses:
//   0-127    the rest is the whole file
//   128-255  the rest is what follows a header that is right: bits 0-1 the tracer's version, bit 2 lines of
//   the source,
//            bit 3 a grid of two blocks, bit 4 a block of two warps, bit 5: the body twice
// Whatever is read goes through the functional model.
#include "accel/accel.h"
#include "model/model.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void stay(orr_source *s) { (void)s; }

static void replay(const char *text, size_t n) {
    orr_err e = {0};
    orr_source *s = orr_accel_from_text(text, n, "fuzz", &e);
    if (!s) {
        if (!e.status || !e.text[0]) abort(); // refused without a reason
        return;
    }
    void (*close)(orr_source *) = s->close;
    s->close = stay; // the result refers to its kernel
    orr_result r = {.gpu = "none", .model = "functional", .source = "trace", .input = "fuzz"};
    orr_work w = {.info = s->info, .source = s, .threads = 1};
    if (!orr_model_functional.run(NULL, &w, &r, &e)) {
        if (!e.status || !e.text[0]) abort();
        if (strncmp(e.text, "fuzz", 4) != 0) abort(); // not the reader's words: what it writes can be read
    }
    orr_text out = {0};
    orr_report_options o = {.lines = true};
    orr_result_text(&r, &o, &out);
    orr_result_json(&r, &o, &out);
    orr_kernel_print(s->info.kernel, &out);
    free(out.s);
    orr_result_free(&r);
    close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 1) return 0;
    if (data[0] < 128) {
        replay((const char *)data + 1, n - 1);
        return 0;
    }
    static const int version[] = {2, 3, 4, 5};
    uint8_t c = data[0];
    orr_text t = {0};
    orr_text_add(&t,
                 "-kernel name = k\n-grid dim = (%d,1,1)\n-block dim = (%d,1,1)\n-shmem = 64\n-nregs = 8\n"
                 "-shmem base_addr = 0x7f0000000000\n-local mem base_addr = 0x7f0002000000\n"
                 "-accelsim tracer version = %d\n-enable lineinfo = %d\n#traces format\n",
                 c & 8 ? 2 : 1, c & 16 ? 64 : 32, version[c & 3], c >> 2 & 1);
    for (int i = 0; i <= (c >> 5 & 1); i++) orr_text_addn(&t, (const char *)data + 1, n - 1);
    replay(t.s, t.n);
    free(t.s);
    return 0;
}
