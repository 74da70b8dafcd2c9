// What `orrery cluster` runs where there is no program: what is in a file, by the library that takes CUDA's
// place.
#include <stdlib.h>

int orr_play_tasks(void);
int orr_play_trace(void);
int orr_play_routes(void);

int main(void) {
    const char *trace = getenv("ORRERY_APP_TRACE"), *routes = getenv("ORRERY_APP_ROUTES");
    if (routes && *routes) return orr_play_routes();
    return trace && *trace ? orr_play_trace() : orr_play_tasks();
}
