// What orr_info says of a capture's folder (private to api/).
#ifndef ORR_INFO_CAPTURE_H
#define ORR_INFO_CAPTURE_H

#include "base/base.h"

bool orr_inform_capture(const char *path, orr_text *text, orr_text *json, orr_err *e);

#endif
