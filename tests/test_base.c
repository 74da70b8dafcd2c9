// The base library. Expected hashes are the published XXH64 test vectors; the rest is by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-test-XXXXXX";

static int make_dir(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
    (void)state;
    return rmdir(dir); // fails when a test left a file behind
}

static int files_in_dir(void) {
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *f; (f = readdir(d));) n += f->d_name[0] != '.';
    closedir(d);
    return n;
}

static char *in_dir(const char *name) {
    static char path[4][200];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[0], "%s/%s", dir, name);
    return path[turn];
}

static void first_error_wins(void **state) {
    (void)state;
    orr_err e = {0};
    assert_false(orr_fail(&e, ORR_PROGRAM_FAILED, "a.ptx:%d: trap", 7));
    assert_false(orr_fail(&e, ORR_BAD_INPUT, "later"));
    assert_int_equal(e.status, ORR_PROGRAM_FAILED);
    assert_string_equal(e.text, "a.ptx:7: trap");
    orr_err cut = {0};
    char *big = orr_malloc(5000);
    memset(big, 'x', 4999);
    big[4999] = 0;
    orr_fail(&cut, ORR_BAD_INPUT, "%s", big);
    assert_int_equal(strlen(cut.text), sizeof cut.text - 1);
    free(big);
    orr_err odd = {0}; // a name from a hostile file: one line, no escape sequence, UTF-8 as it is
    orr_fail(&odd, ORR_BAD_INPUT, "%s", "a\n\033[31m\177\xc3\xa9.ptx: b");
    assert_string_equal(odd.text, "a??[31m?\xc3\xa9.ptx: b");
}

static const char *nearest(const char *to, const char *const *words) {
    orr_nearest n = {.to = to};
    for (; *words; words++) orr_consider(&n, *words);
    return orr_is_near(&n) ? n.best : "";
}

static void near_words_are_found(void **state) {
    (void)state;
    static const char *const words[] = {"dgemm", "sgemm_naive", "sgemm_tiled", "saxpy", "nn", NULL};
    assert_string_equal(nearest("saxpi", words), "saxpy");       // one letter
    assert_string_equal(nearest("sxapy", words), "saxpy");       // two swapped
    assert_string_equal(nearest("sgemm", words), "sgemm_naive"); // a beginning, though dgemm is nearer
    assert_string_equal(nearest("xy", words), "");               // two edits of two letters are another word
    assert_string_equal(nearest("", words), "");
    assert_string_equal(nearest("histogram", words), "");
    assert_string_equal(nearest("saxpy", (const char *const[]){NULL}), "");
    char longest[200];
    memset(longest, 'x', 199);
    longest[199] = 0;
    assert_string_equal(nearest(longest, words), "");
}

static void arena_is_zeroed_and_aligned(void **state) {
    (void)state;
    orr_arena a = {0};
    static const size_t sizes[] = {1, 15, 16, 17, 0, 4000, 5000, 300000, 3, 2000000, 8};
    char *at[11];
    for (int i = 0; i < 11; i++) {
        at[i] = orr_arena_alloc(&a, sizes[i]);
        assert_int_equal((uintptr_t)at[i] % 16, 0);
        for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(at[i][k], 0);
        memset(at[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < 11; i++) // nothing overlaps
        for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(at[i][k], i + 1);
    assert_true(a.total >= 2000000 + 300000);
    assert_string_equal(orr_arena_strndup(&a, "abcdef", 3), "abc");
    assert_string_equal(orr_arena_strdup(&a, ""), "");
    assert_string_equal(orr_arena_printf(&a, "%s-%d", "sm", 90), "sm-90");
    orr_arena_free(&a);
    assert_null(a.chunk);
}

static void vectors_grow(void **state) {
    (void)state;
    ORR_VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) {
        int *p = ORR_PUSH(&v);
        assert_int_equal(*p, 0);
        *p = i;
    }
    assert_int_equal(v.n, 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(v.at[i], i);
    free(v.at);
}

static void maps_find_what_was_put(void **state) {
    (void)state;
    orr_map m = {0};
    static int values[2000];
    assert_null(orr_map_get(&m, "nothing"));
    for (int i = 0; i < 2000; i++) {
        char key[32];
        snprintf(key, sizeof key, "%%r%d", i);
        assert_true(orr_map_put(&m, key, &values[i]));
    }
    assert_int_equal(m.n, 2000);
    for (int i = 0; i < 2000; i++) {
        char key[32];
        snprintf(key, sizeof key, "%%r%d", i);
        assert_ptr_equal(orr_map_get(&m, key), &values[i]);
    }
    assert_null(orr_map_get(&m, "%r2000"));
    assert_ptr_equal(orr_map_getn(&m, "%r17xyz", 4), &values[17]);
    assert_false(orr_map_put(&m, "%r17", &values[3])); // there already: replaced
    assert_ptr_equal(orr_map_get(&m, "%r17"), &values[3]);
    assert_true(orr_map_putn(&m, "a\0b", 3, &values[1])); // keys are bytes
    assert_null(orr_map_get(&m, "a"));
    assert_true(orr_map_put(&m, "", &values[2])); // the empty key is a key
    assert_ptr_equal(orr_map_get(&m, ""), &values[2]);
    orr_map_free(&m);
}

static void text_is_built(void **state) {
    (void)state;
    orr_text t = {0};
    for (int i = 0; i < 100; i++) orr_text_add(&t, "%d,", i % 10);
    assert_int_equal(t.n, 200);
    assert_int_equal(strlen(t.s), 200);
    orr_text_addn(&t, "end", 2);
    assert_string_equal(t.s + 198, "9,en");
    free(t.s);
}

static void json_string(const char *in, const char *out) {
    orr_text t = {0};
    orr_text_json(&t, in);
    assert_string_equal(t.s, out);
    free(t.s);
}

static void json_strings_are_escaped(void **state) {
    (void)state;
    json_string("", "\"\"");
    json_string("a\"b\\c\n\t\x01/", "\"a\\\"b\\\\c\\n\\t\\u0001/\"");
    json_string("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
    json_string("\xff|\xc3|\xc0\x80", "\"\\ufffd|\\ufffd|\\ufffd\\ufffd\""); // never a start, cut, overlong
    json_string("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");                // a surrogate
    json_string("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");     // past U+10FFFF
    json_string("\xe0\x9f\xbf \xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd\\ufffd\"");
}

static void numbers_for_people(void **state) {
    (void)state;
    char b[32];
    assert_string_equal(orr_commas(b, 0), "0");
    assert_string_equal(orr_commas(b, 999), "999");
    assert_string_equal(orr_commas(b, 1000), "1,000");
    assert_string_equal(orr_commas(b, 1234567), "1,234,567");
    assert_string_equal(orr_commas(b, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(orr_si(b, 0), "0");
    assert_string_equal(orr_si(b, 12), "12");
    assert_string_equal(orr_si(b, 0.25), "0.25");
    assert_string_equal(orr_si(b, 1.5e9), "1.50 G");
    assert_string_equal(orr_si(b, 15e9), "15.0 G");
    assert_string_equal(orr_si(b, 150e3), "150 k");
    assert_string_equal(orr_si(b, 999.4), "999");
    assert_string_equal(orr_si(b, 999.6), "1.00 k");
    assert_string_equal(orr_si(b, 999600), "1.00 M");
    assert_string_equal(orr_si(b, -2e6), "-2.00 M");
}

static void hash_is_xxh64(void **state) {
    (void)state;
    assert_true(orr_hash64("", 0, 0) == 0xEF46DB3751D8E999ull);
    assert_true(orr_hash64("a", 1, 0) == 0xD24EC4F1A98C6E5Bull);
    assert_true(orr_hash64("abc", 3, 0) == 0x44BC2CF5AD770999ull);
    assert_true(orr_hash64("abc", 3, 1) != 0x44BC2CF5AD770999ull);
    // The specification's sanity buffer: byte i is the high byte of a generator stepped by squaring.
    uint8_t buffer[2367];
    uint64_t g = 2654435761u;
    for (size_t i = 0; i < sizeof buffer; i++) {
        buffer[i] = (uint8_t)(g >> 56);
        g *= 11400714785074694797ull;
    }
    assert_true(orr_hash64(buffer, 1, 0) == 0xE934A84ADB052768ull);
    assert_true(orr_hash64(buffer, 1, 2654435761u) == 0x5014607643A9B4C3ull);
    assert_true(orr_hash64(buffer, 14, 0) == 0x8282DCC4994E35C8ull);
    assert_true(orr_hash64(buffer, 222, 0) == 0xB641AE8CB691C174ull);
    assert_true(orr_hash64(buffer, 222, 2654435761u) == 0x20CB8AB7AE10C14Aull);
}

static void files_are_read_whole(void **state) {
    (void)state;
    orr_err e = {0};
    size_t n = 77;
    assert_null(orr_read_file(in_dir("missing"), 100, &n, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    assert_non_null(strstr(e.text, "missing: cannot open: No such file"));
    e = (orr_err){0};
    assert_null(orr_read_file(dir, 100, &n, &e)); // a folder
    assert_int_equal(e.status, ORR_BAD_INPUT);

    FILE *f = fopen(in_dir("ten"), "w");
    fputs("0123456789", f);
    fclose(f);
    e = (orr_err){0};
    char *s = orr_read_file(in_dir("ten"), 10, &n, &e);
    assert_non_null(s);
    assert_int_equal(n, 10);
    assert_string_equal(s, "0123456789");
    free(s);
    assert_null(orr_read_file(in_dir("ten"), 9, &n, &e));
    assert_non_null(strstr(e.text, "larger than the limit of 9 bytes"));
    unlink(in_dir("ten"));
    e = (orr_err){0};
    assert_null(orr_read_file("/dev/zero", 100000, &n, &e)); // no size, no end
    assert_int_equal(e.status, ORR_BAD_INPUT);
}

static void output_appears_when_committed(void **state) {
    (void)state;
    orr_err e = {0};
    orr_out o;
    char *path = in_dir("out"), *link = in_dir("link");
    assert_true(orr_out_open(&o, path, &e));
    fputs("first", o.f);
    assert_int_equal(access(path, F_OK), -1);
    assert_true(orr_out_commit(&o, &e));
    assert_int_equal(files_in_dir(), 1);

    assert_int_equal(symlink("out", link), 0); // the link stays, what it points to is replaced
    assert_true(orr_out_open(&o, link, &e));
    fputs("second", o.f);
    assert_true(orr_out_commit(&o, &e));
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    char *s = orr_read_file(path, 100, NULL, &e);
    assert_string_equal(s, "second");
    free(s);

    assert_true(orr_out_open(&o, path, &e));
    fputs("third", o.f);
    orr_out_abort(&o);
    s = orr_read_file(path, 100, NULL, &e);
    assert_string_equal(s, "second");
    free(s);
    assert_int_equal(files_in_dir(), 2);

    assert_true(orr_out_open(&o, "/dev/null", &e)); // stays a device
    assert_true(orr_out_commit(&o, &e));
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_false(orr_out_open(&o, in_dir("no/such/folder"), &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    e = (orr_err){0};
    assert_false(orr_out_open(&o, "", &e));
    assert_non_null(strstr(e.text, "empty"));
    unlink(path);
    unlink(link);
}

static void full_disk_is_reported(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0) skip();
    orr_err e = {0};
    orr_out o;
    assert_true(orr_out_open(&o, "/dev/full", &e));
    fputs("something", o.f);
    assert_false(orr_out_commit(&o, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    assert_non_null(strstr(e.text, "No space left"));
}

static void abort_all_removes_temporaries(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) { // a process that dies of a signal leaves nothing
        orr_err e = {0};
        orr_out a, b;
        if (!orr_out_open(&a, in_dir("one"), &e) || !orr_out_open(&b, in_dir("two"), &e)) _exit(9);
        orr_out_abort_all();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(files_in_dir(), 0);
    // Opened and closed more often than the table has places.
    for (int i = 0; i < 100; i++) {
        orr_err e = {0};
        orr_out o;
        assert_true(orr_out_open(&o, in_dir("again"), &e));
        orr_out_abort(&o);
    }
    assert_int_equal(files_in_dir(), 0);
}

static atomic_int visits[8];
static void visit(void *arg, int worker) {
    assert_ptr_equal(arg, visits);
    visits[worker]++;
}

static void parallel_runs_every_worker_once(void **state) {
    (void)state;
    orr_parallel(8, visit, visits);
    for (int i = 0; i < 8; i++) assert_int_equal(visits[i], 1);
    orr_parallel(1, visit, visits);
    assert_int_equal(visits[0], 2);
}

static void host_is_sane(void **state) {
    (void)state;
    assert_true(orr_host_threads() >= 1);
    assert_true(orr_peak_rss() > 100000);
    assert_true(orr_host_memory() > orr_peak_rss());
    double a = orr_seconds();
    assert_true(orr_seconds() >= a);
    assert_int_equal(orr_popc(0xf0f0f0f0u), 16);
    assert_int_equal(orr_ffs(0x80000000u), 31);
}

// Pieces of all sizes, some of a chunk of their own: all are zero, at host cache lines and apart, and what
// was given back is zero again when it comes back.
static void test_pages(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 24, 64, 1000, 1 << 20, 3 << 20, 9 << 20};
    enum { N = 3 * sizeof sizes / sizeof *sizes };
    uint8_t *at[N];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            size_t n = sizes[i % (N / 3)];
            at[i] = orr_pages(n, 1);
            assert_int_equal((uintptr_t)at[i] % 64, 0);
            for (size_t k = 0; k < n; k += 997) assert_int_equal(at[i][k], 0);
            assert_int_equal(at[i][n - 1], 0);
            memset(at[i], i + 1, n);
        }
        for (int i = 0; i < N; i++) {
            size_t n = sizes[i % (N / 3)];
            assert_int_equal(at[i][0], i + 1);
            assert_int_equal(at[i][n - 1], i + 1);
        }
        for (int i = 0; i < N; i++) orr_pages_free(at[(i * 5) % N]);
    }
    orr_pages_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error_wins),
        cmocka_unit_test(near_words_are_found),
        cmocka_unit_test(arena_is_zeroed_and_aligned),
        cmocka_unit_test(vectors_grow),
        cmocka_unit_test(maps_find_what_was_put),
        cmocka_unit_test(text_is_built),
        cmocka_unit_test(json_strings_are_escaped),
        cmocka_unit_test(numbers_for_people),
        cmocka_unit_test(hash_is_xxh64),
        cmocka_unit_test(files_are_read_whole),
        cmocka_unit_test(output_appears_when_committed),
        cmocka_unit_test(full_disk_is_reported),
        cmocka_unit_test(abort_all_removes_temporaries),
        cmocka_unit_test(parallel_runs_every_worker_once),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(host_is_sane),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
