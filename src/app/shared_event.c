// Events that several processes see: who records one tells the others, who waits for one looks. How processes
// come by them is in rt_ipc.c.
#include "app/app.h"

void app_event_tell(app_event *ev) {
    if (!ev->shared) return;
    __atomic_store(&ev->shared->when, &ev->when, __ATOMIC_RELAXED);
    __atomic_fetch_add(&ev->shared->recorded, 1, __ATOMIC_RELEASE);
}

void app_event_look(app_event *ev) {
    if (!ev->shared) return;
    ev->recorded = __atomic_load_n(&ev->shared->recorded, __ATOMIC_ACQUIRE) > 0;
    __atomic_load(&ev->shared->when, &ev->when, __ATOMIC_RELAXED);
}
