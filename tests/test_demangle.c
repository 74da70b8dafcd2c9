// Names of C++ in the forms that people write (base/demangle.c). What a mangled name means is the Itanium C++
// ABI's to say; the names here were mangled by hand after its section 5.1.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/base.h"

static void forms(void **state) {
    (void)state;
    const char *name = "_Z6reduceIiEvPT_PKS0_i"; // template <typename T> void reduce(T *, const T *, int)
    char *written = orr_demangle(name);
    if (!written) skip(); // no C++ runtime on this machine
    assert_string_equal(written, "void reduce<int>(int*, int const*, int)");
    free(written);
    assert_true(orr_name_is("reduce", name));
    assert_true(orr_name_is("reduce<int>", name));
    assert_true(orr_name_is(name, name));
    assert_false(orr_name_is("void", name));
    assert_false(orr_name_is("reduc", name));
    assert_true(orr_name_matches("red*", name));
    assert_true(orr_name_matches("*int const**", name));
    assert_false(orr_name_matches("int*", name));
    assert_true(orr_name_is("app::other", "_ZN3app5otherEPf"));
    assert_true(orr_name_is("(anonymous namespace)::other", "_ZN12_GLOBAL__N_15otherEPf"));
}

static void plain_names(void **state) {
    (void)state;
    assert_null(orr_demangle("saxpy"));
    assert_null(orr_demangle("_Zbroken"));
    assert_true(orr_name_is("saxpy", "saxpy"));
    assert_false(orr_name_is("saxpy", "saxpy2"));
    assert_true(orr_name_matches("sax?y*", "saxpy2"));
    char *huge = orr_malloc(10001);
    for (int i = 0; i < 10000; i++) huge[i] = 'P';
    huge[0] = '_';
    huge[1] = 'Z';
    huge[10000] = 0;
    assert_null(orr_demangle(huge));
    free(huge);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(plain_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
