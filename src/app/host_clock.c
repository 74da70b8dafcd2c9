// The program's own clock, for preload/clock.c.
//
// A program that measures with the host's clock would measure this simulator. With --clock simulated
// clock_gettime, gettimeofday and time tell the time at which the program first used the GPU, and what the
// simulated host has waited and launched since (clock.h tells when that is), so that they agree with events.
// The host's own work still takes no time; asking what time it is takes CALL, about what it takes a CPU, so
// that a program that waits for the clock to move goes on. Code of Orrery's own asks the system itself
// (orr_clock).
#include "app/app.h"
#include "base/base.h"

#include <time.h>

static const double CALL = 25; // ns

static struct timespec began[3]; // CLOCK_REALTIME, CLOCK_MONOTONIC; [2] says that they are known

static bool simulated(clockid_t which) {
    const app *a = &the_app;
    return a->open && a->asked.host_clock && !app_in_cluster() &&
           (which == CLOCK_REALTIME || which == CLOCK_MONOTONIC || which == CLOCK_MONOTONIC_RAW ||
            which == CLOCK_REALTIME_COARSE || which == CLOCK_MONOTONIC_COARSE || which == CLOCK_BOOTTIME);
}

static void now(clockid_t which, struct timespec *t) {
    app_enter();
    if (!began[2].tv_sec) {
        orr_clock(CLOCK_REALTIME, &began[0]);
        orr_clock(CLOCK_MONOTONIC, &began[1]);
        began[2].tv_sec = 1;
    }
    the_app.host += CALL;
    uint64_t ns = (uint64_t)the_app.host;
    *t = began[which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE];
    app_leave_driver(E_OK);
    ns += (uint64_t)t->tv_nsec;
    t->tv_sec += (time_t)(ns / 1000000000);
    t->tv_nsec = (long)(ns % 1000000000);
}

// Called by preload/clock.c. False: the system's own.
API bool __cudaOrreryClock(int which, struct timespec *t);
API bool __cudaOrreryClock(int which, struct timespec *t) {
    if (!simulated(which)) return false;
    now(which, t);
    return true;
}
