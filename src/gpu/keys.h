// What is known of a description's keys without a description.
#ifndef ORR_GPU_KEYS_H
#define ORR_GPU_KEYS_H

// The unit that a key's values have when they say none: "cycles", "B"; "" where it has none, or for a key
// that there is not. Of keys that change together ("a+b") the first counts.
const char *orr_gpu_key_unit(const char *key);

#endif
