// Whether the hosts of a platform can reach each other: asked before a simulation, which SimGrid would end in
// the middle where there is no way between two of them.
#include "mpi/play.h"

#include <stdlib.h>
#include <string.h>

enum { ALL_PAIRS = 512 }; // hosts of which every pair is looked at; of more, those 1, 2, 4, ... apart

typedef struct routes {
    ORR_VEC(const char *) names;
    ORR_VEC(void *) hosts;
    double (*bandwidth)(const void *, const void *);
    orr_text said;
} routes;

// A way without a link has the bandwidth -1.
static bool reached(routes *r, size_t from, size_t to) {
    if (r->bandwidth(r->hosts.at[from], r->hosts.at[to]) > 0) return true;
    orr_text_add(&r->said, "no way from host %s to host %s; a <route> is missing\n", r->names.at[from],
                 r->names.at[to]);
    return false;
}

static bool all_reached(routes *r) {
    size_t n = r->hosts.n;
    for (size_t from = 0; from < n; from++)
        for (size_t by = 1; by < n; by = n <= ALL_PAIRS ? by + 1 : by * 2)
            if (!reached(r, from, (from + by) % n)) return false;
    return true;
}

// The file has the names of hosts, a line each, and gets what is to be said of them, "ok" when all is well.
API int orr_play_routes(void) {
    const char *path = getenv("ORRERY_APP_ROUTES");
    void *(*by_name)(const char *);
    routes r = {0};
    orr_err e = {0};
    size_t n;
    *(void **)&by_name = mpi_original("sg_host_by_name");
    *(void **)&r.bandwidth = mpi_original("sg_host_get_route_bandwidth");
    char *text = orr_read_file(path ? path : "", 1 << 28, &n, &e), *rest = text;
    if (!text || !by_name || !r.bandwidth) return 2;
    bool ok = true;
    for (char *name; ok && (name = strtok_r(rest, "\n", &rest));) {
        *ORR_PUSH(&r.names) = name;
        *ORR_PUSH(&r.hosts) = by_name(name);
        ok = r.hosts.at[r.hosts.n - 1] != NULL;
        if (!ok) orr_text_add(&r.said, "no host has the name %s\n", name);
    }
    if (ok && all_reached(&r)) orr_text_add(&r.said, "ok\n");
    FILE *f = fopen(path, "w");
    if (f) fputs(r.said.s, f);
    ok = f && !fclose(f);
    free(r.said.s);
    free(r.names.at);
    free(r.hosts.at);
    free(text);
    return ok ? 0 : 2;
}
