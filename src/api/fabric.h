// Platforms of SimGrid's that `orrery cluster` is given as a file (--platform my.xml).
#ifndef ORR_API_FABRIC_H
#define ORR_API_FABRIC_H

#include "api/api.h"

bool orr_fabric_put(const char *path, const orr_text *t, orr_err *e);
// The first `most` names of a platform's hosts, in the order of the file.
void orr_fabric_hosts(orr_arena *a, const char *xml, int most, orr_words *names);
// SimGrid reads it, and has a way between these hosts: what it says of a bad one becomes our message. It
// would abort in the middle of the run.
bool orr_fabric_check(const orr_options *o, const char *temp, const char *path, const orr_words *names,
                      orr_err *e);

#endif
