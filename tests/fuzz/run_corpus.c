// Replays a fuzzer's corpus without libFuzzer: every file of the folders given, in order of name, so that
// what was once found stays found with any compiler. An empty input comes first.
#include "base/base.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int replay(const char *path) {
    orr_err e = {0};
    size_t n;
    char *s = orr_read_file(path, 64u << 20, &n, &e);
    if (!s) {
        fprintf(stderr, "%s\n", e.text);
        return -1;
    }
    uint8_t *exact = malloc(n ? n : 1); // its own block, so that reading one byte too far is seen
    if (n) memcpy(exact, s, n);
    free(s);
    fprintf(stderr, "%s\n", path); // the last one named is the culprit
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    return 0;
}

int main(int argc, char **argv) {
    uint8_t nothing = 0;
    LLVMFuzzerTestOneInput(&nothing, 0);
    int files = 0;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) != 0) {
            fprintf(stderr, "%s: not there\n", argv[i]);
            return 2;
        }
        if (!S_ISDIR(st.st_mode)) {
            if (replay(argv[i]) < 0) return 2;
            files++;
            continue;
        }
        struct dirent **names;
        int n = scandir(argv[i], &names, NULL, alphasort);
        for (int k = 0; k < n; k++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[i], names[k]->d_name);
            if (names[k]->d_name[0] != '.') {
                if (replay(path) < 0) return 2;
                files++;
            }
            free(names[k]);
        }
        if (n >= 0) free(names);
    }
    printf("%d inputs replayed\n", files);
    return 0;
}
