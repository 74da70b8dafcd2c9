// The public interface (include/orrery.h) in terms of the folders' doors.
#include "orrery.h"

const char *orr_version(void) { return ORR_VERSION; }
