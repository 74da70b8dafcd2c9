// Paths of NVTX ranges ("step/layer 3/aten::addmm") against a pattern of the shell.
#include "capture/capture.h"

#include <fnmatch.h>
#include <string.h>

bool orr_range_matches(const char *pattern, const char *path) {
    char to[2000], *part = to;
    size_t n = strlen(path);
    if (n >= sizeof to) return false;
    memcpy(to, path, n + 1);
    for (char *end = to; part; part = end ? end + 1 : NULL) {
        end = strchr(part, '/');
        if (end) *end = 0;
        if (fnmatch(pattern, part, 0) == 0 || fnmatch(pattern, to, 0) == 0) return true;
        if (end) *end = '/';
    }
    return false;
}
