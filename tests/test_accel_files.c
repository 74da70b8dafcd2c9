// Lists of Accel-Sim's traces, single files and compressed ones: in which order they come, and what is said
// of those that cannot be read (docs/guides/accel-sim.md).
#include "accel_rig.h"

#include <limits.h>
#include <unistd.h>

#if defined __has_include
#if __has_include(<lzma.h>)
#include <lzma.h>
#define HAVE_LZMA 1
#endif
#endif

static char dir[64];

static void write_bytes(const char *name, const void *bytes, size_t n) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_text(const char *name, const char *text) { write_bytes(name, text, strlen(text)); }

static int make_dir(void **state) {
    (void)state;
    strcpy(dir, "/tmp/orrery-accel-XXXXXX");
    return mkdtemp(dir) ? 0 : 1;
}

static int remove_dir(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command);
}

static void write_note(void *arg, const char *text) { fprintf(arg, "%s\n", text); }

static orr_accel_file *open_list(const char *name, FILE *warn, orr_err *e) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    orr_accel_file *f = orr_accel_open(path, e);
    if (f && warn) orr_accel_notes(f, (orr_notes){write_note, warn});
    return f;
}

static const char simple[] =
    HEAD(V5) ONE(2, "0000 ffffffff 1 R2 FNEW.X 0 0 0 \n0010 ffffffff 0 EXIT 0 0 0 \n");
static const char again[] =
    HEAD(V5) ONE(2, "0000 ffffffff 1 R2 FNEW.Y 0 0 0 \n0010 ffffffff 0 EXIT 0 0 0 \n");

static void a_list(void **state) {
    (void)state;
    write_text("kernelslist.g", "MemcpyHtoD,0x00007f5800000000,4194304\n\nkernel-1.traceg\nMemcpyDtoH,0x0,4\n"
                                "what\nkernel-2.traceg\nMemcpyHtoD,40,8\n");
    write_text("kernel-1.traceg", simple);
    write_text("kernel-2.traceg", again);
    char *said = NULL;
    size_t n = 0;
    FILE *warn = open_memstream(&said, &n);
    orr_err e = {0};
    orr_accel_file *f = open_list("kernelslist.g", warn, &e);
    assert_non_null(f);
    orr_accel_item i;
    assert_true(orr_accel_next(f, &i, &e));
    assert_int_equal(i.kind, ORR_ACCEL_COPY);
    assert_true(i.addr == 0x7f5800000000 && i.bytes == 4194304);
    assert_true(orr_accel_next(f, &i, &e));
    assert_int_equal(i.kind, ORR_ACCEL_KERNEL);
    assert_int_equal(i.source->info.index, 0);
    assert_int_equal(i.id, 3);
    assert_int_equal(i.binary, 70);
    assert_int_equal(i.version, 5);
    const orr_kernel *first = i.source->info.kernel;
    events ev;
    assert_int_equal(collect(i.source, &ev, &e), 0);
    free(ev.list.at);
    assert_int_equal(first->nblocks, 1);
    assert_true(orr_accel_next(f, &i, &e));
    assert_int_equal(i.kind, ORR_ACCEL_KERNEL);
    assert_int_equal(i.source->info.index, 1);
    assert_ptr_equal(i.source->info.kernel, first); // the same name: the same kernel, which grows
    assert_int_equal(collect(i.source, &ev, &e), 0);
    free(ev.list.at);
    assert_int_equal(first->nblocks, 2);
    assert_true(orr_accel_next(f, &i, &e));
    assert_int_equal(i.kind, ORR_ACCEL_COPY);
    assert_true(i.addr == 0x40 && i.bytes == 8);
    assert_true(orr_accel_next(f, &i, &e));
    assert_int_equal(i.kind, ORR_ACCEL_END);
    assert_true(orr_accel_next(f, &i, &e));
    assert_int_equal(i.kind, ORR_ACCEL_END);
    orr_accel_close(f);
    fclose(warn);
    // One note about lines left out, one warning about FNEW however often and in which form it comes.
    const char *where = strstr(said, "kernelslist.g:4: ");
    assert_non_null(where);
    assert_null(strstr(where + 1, "kernelslist.g:5: "));
    assert_non_null(strstr(said, "kernel-1.traceg:23: no instruction FNEW is known; timed as \"fp32\""));
    assert_null(strstr(said, "kernel-2.traceg"));
    free(said);
}

static void list_errors(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"kernel-9.traceg\n", "kernel-9.traceg: cannot open"},
        {"kernel-1.trace\n", "a raw trace"},
        {"MemcpyHtoD,0x10\n", "list.g:1: expected MemcpyHtoD"},
        {"\nMemcpyHtoD,0x10,-4\n", "list.g:2: expected MemcpyHtoD"},
        {"MemcpyHtoD,0xffffffffffffffff,4\n", "list.g:1: expected MemcpyHtoD"},
        {"MemcpyHtoD,zzz,4\n", "list.g:1: expected MemcpyHtoD"},
        {"MemcpyHtoD,0x10,4,4\n", "list.g:1: expected MemcpyHtoD"},
    };
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
        write_text("list.g", bad[b].text);
        orr_err e = {0};
        orr_accel_item i;
        orr_accel_file *f = open_list("list.g", NULL, &e);
        assert_non_null(f);
        if (orr_accel_next(f, &i, &e) || !strstr(e.text, bad[b].message)) fail_msg("%s", e.text);
        orr_accel_close(f);
    }
    orr_err e = {0};
    assert_null(orr_accel_open("/nowhere/kernelslist.g", &e));
    assert_non_null(strstr(e.text, "/nowhere/kernelslist.g: cannot open"));
    e.status = 0;
    assert_null(orr_accel_open("kernel-1.trace.xz", &e));
    assert_non_null(strstr(e.text, "post-traces-processing"));
}

static void single_files(void **state) {
    (void)state;
    write_text("kernel-1.traceg", simple);
    write_text("other.txt", simple);
    static const char *const names[] = {"kernel-1.traceg", "other.txt"};
    for (int n = 0; n < 2; n++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", dir, names[n]);
        assert_true(orr_accel_probe(path));
        orr_err e = {0};
        orr_accel_item i;
        events ev;
        orr_accel_file *f = open_list(names[n], NULL, &e);
        assert_true(orr_accel_next(f, &i, &e));
        assert_int_equal(i.kind, ORR_ACCEL_KERNEL);
        assert_int_equal(collect(i.source, &ev, &e), 0);
        assert_int_equal(ev.list.n, 2);
        free(ev.list.at);
        assert_true(orr_accel_next(f, &i, &e));
        assert_int_equal(i.kind, ORR_ACCEL_END);
        orr_accel_close(f);
    }
    write_text("else.ptx", ".version 8.0\n");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/else.ptx", dir);
    assert_false(orr_accel_probe(path));
}

#ifdef HAVE_LZMA
static size_t pack(const char *text, uint8_t *to, size_t cap) {
    size_t n = 0;
    assert_int_equal(
        lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, strlen(text), to, &n, cap),
        LZMA_OK);
    return n;
}

static void compressed(void **state) {
    (void)state;
    uint8_t packed[4000];
    size_t n = pack(simple, packed, sizeof packed);
    write_bytes("kernel-1.traceg.xz", packed, n);
    write_text("kernelslist.g", "kernel-1.traceg.xz\n");
    orr_err e = {0};
    orr_accel_item i;
    events ev;
    orr_accel_file *f = open_list("kernelslist.g", NULL, &e);
    assert_true(orr_accel_next(f, &i, &e));
    assert_int_equal(collect(i.source, &ev, &e), 0);
    assert_int_equal(ev.list.n, 2);
    free(ev.list.at);
    orr_accel_close(f);

    // cut off, damaged, something else
    for (int kind = 0; kind < 3; kind++) {
        uint8_t bad[4000];
        memcpy(bad, packed, n);
        if (kind == 1) bad[n / 2] ^= 0x55;
        if (kind == 2) memcpy(bad, "not xz", 6);
        write_bytes("kernel-1.traceg.xz", bad, kind == 0 ? n - 30 : n);
        f = open_list("kernelslist.g", NULL, &e);
        bool ok = orr_accel_next(f, &i, &e) && collect(i.source, &ev, &e) == 0;
        assert_false(ok);
        assert_non_null(strstr(e.text, "cannot decompress: "));
        e.status = 0;
        orr_accel_close(f);
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list),
        cmocka_unit_test(list_errors),
        cmocka_unit_test(single_files),
#ifdef HAVE_LZMA
        cmocka_unit_test(compressed),
#endif
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
