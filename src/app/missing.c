// Functions of libcudart that are not here: each says so by its name and returns cudaErrorNotSupported.
#include "app/rt.h"

#define MISSING(name)                                                                                        \
    RT(name)(void) {                                                                                         \
        app_enter();                                                                                         \
        return app_leave(app_missing(#name));                                                                \
    }
#include "app/missing.def"

// The same for libcuda, whose functions have no versions.
#define MISSING_DRIVER(name)                                                                                 \
    API int name(void) {                                                                                     \
        app_enter();                                                                                         \
        return app_leave_driver(app_missing(#name));                                                         \
    }
#include "app/missing_driver.def"
