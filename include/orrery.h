// Orrery: simulate GPUs from a C program.
#ifndef ORRERY_H
#define ORRERY_H

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_VERSION "0.1.0"
#define ORR_API     __attribute__((visibility("default")))

ORR_API const char *orr_version(void); // of the library that runs; ORR_VERSION is that of this header

#ifdef __cplusplus
}
#endif

#endif
