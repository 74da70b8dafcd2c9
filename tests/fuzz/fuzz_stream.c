// Any bytes as a stream file, in two ways chosen by the first byte:
//   0-127    the rest is the file as it is: heads, hashes, truncation
//   128-255  the rest is a list of sections (type, 2 bytes of length, contents), wrapped with right numbers
//            and hashes, so that the contents themselves are tried: kernels, frames, traces
// Whatever can be opened is replayed through the functional model and reported.
#include "model/model.h"
#include "report/report.h"
#include "stream/file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void add_section(orr_text *file, packer *p, uint32_t type, uint32_t number, const uint8_t *raw,
                        size_t n) {
    size_t cap = pack_bound(n);
    uint8_t *packed = orr_malloc(cap), head[STREAM_HEAD];
    size_t size = pack(p, raw, n, packed, cap);
    put_u32(head, type);
    put_u32(head + 4, number);
    put_u64(head + 8, n);
    put_u64(head + 16, size);
    put_u64(head + 24, orr_hash64(packed, size, STREAM_SEED));
    put_u64(head + 32, orr_hash64(head, 32, STREAM_SEED));
    orr_text_addn(file, (char *)head, sizeof head);
    orr_text_addn(file, (char *)packed, size);
    free(packed);
}

// Type 0 is the table of names as it should be, since no fuzzer would ever find it.
static void wrap(orr_text *file, const uint8_t *data, size_t n) {
    static const uint32_t types[] = {SECTION_NAMES, SECTION_KERNEL, SECTION_LAUNCH,
                                     SECTION_FRAME, SECTION_DONE,   SECTION_END};
    uint8_t h[STREAM_HEADER];
    memcpy(h, STREAM_MAGIC, 8);
    put_u32(h + 8, STREAM_VERSION);
    put_u32(h + 12, (uint32_t)orr_hash64(h, 12, STREAM_SEED));
    orr_text_addn(file, (char *)h, sizeof h);
    packer *p = packer_new();
    uint32_t number = 0;
    while (n >= 3) {
        uint8_t type = data[0];
        size_t len = (size_t)data[1] | (size_t)data[2] << 8;
        data += 3;
        n -= 3;
        if (len > n) len = n;
        if (type == 0) {
            orr_text names = {0};
            names_write(&names);
            add_section(file, p, SECTION_NAMES, number++, (uint8_t *)names.s, names.n);
            free(names.s);
        } else {
            add_section(file, p, types[type % 6], number++, data, len);
        }
        data += len;
        n -= len;
    }
    packer_free(p);
}

static void replay(const void *bytes, size_t n) {
    FILE *file = fmemopen((void *)(uintptr_t)bytes, n, "rb");
    if (!file) return;
    orr_err e = {0};
    orr_result r = {.gpu = "none", .model = "functional", .source = "trace", .input = "fuzz"};
    orr_stream_file *f = orr_stream_from(file, "fuzz", &e);
    orr_source *s;
    bool ok = true;
    while (f && ok && (s = orr_stream_next_launch(f, &e))) {
        orr_work w = {.info = s->info, .source = s, .threads = 1};
        ok = orr_model_functional.run(NULL, &w, &r, &e);
        orr_text listing = {0};
        orr_kernel_print(s->info.kernel, &listing);
        free(listing.s);
    }
    if ((!f || !ok) && (!e.status || !e.text[0])) abort(); // refused without a reason
    orr_text out = {0};
    orr_report_options o = {.lines = true};
    orr_result_text(&r, &o, &out);
    orr_result_json(&r, &o, &out);
    free(out.s);
    orr_result_free(&r);
    orr_stream_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 2) return 0;
    if (data[0] < 128) {
        replay(data + 1, n - 1);
        return 0;
    }
    orr_text file = {0};
    wrap(&file, data + 1, n - 1);
    if (file.n) replay(file.s, file.n);
    free(file.s);
    return 0;
}
