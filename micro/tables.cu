// Threads that take what others may have taken already, and threads that read what others write without waiting for it.
//
//   put_break     each thread puts its key into a table, at its place or the next that is free, and counts there; lanes that have one wait for the others
//   put_return    64 bits, and whoever has a place ends
//   take          each thread takes one of `locks` locks, adds to two words and gives it back: `while (swap)`
//   take_done     the same, in the loop where who has the lock gives it back inside
//   read_past     each thread reads a word past L1, and writes another, `n` times
//   read_plain    the same with loads that L1 may answer
//   least_past    each thread looks at `n` words past L1 and takes the least of them to its own
//   root_past     each thread follows words, past L1, until one leads to itself, and writes it to its own
// How often a loop goes round depends on chance; what is in the end does not (but for read_*). To be timed from outside.
#include "micro.h"

#define FREE 0xffffffffu

KERNEL put_break(const u32 *key, u32 *table, u32 *count, u32 mask) {
    u32 k = key[blockIdx.x * blockDim.x + threadIdx.x], at = mixed(k) & mask;
    for (;; at = (at + 1) & mask) {
        u32 seen = atomicCAS(table + at, FREE, k);
        if (seen == FREE || seen == k) break;
    }
    atomicAdd(count + at, 1);
}

KERNEL put_return(const u32 *key, u64 *table, u32 *count, u32 mask) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, k = key[t];
    u64 entry = (u64)k << 32 | t;
    for (u32 at = mixed(k) & mask;; at = (at + 1) & mask) {
        u64 seen = atomicCAS(table + at, ~0ull, entry);
        if (seen == ~0ull) return;
        if ((u32)(seen >> 32) == k) {
            atomicAdd(count + at, 1);
            return;
        }
    }
}

KERNEL take(u32 *lock, u32 *data, u32 locks) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, b = mixed(t) % locks;
    volatile u32 *x = data + 2 * b;
    while (atomicCAS(lock + b, 0, 1) != 0) {
    }
    __threadfence();
    x[0] = x[0] + 1;
    x[1] = x[1] ^ t;
    __threadfence();
    atomicExch(lock + b, 0);
}

KERNEL take_done(u32 *lock, u32 *data, u32 locks) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, b = mixed(t) % locks;
    volatile u32 *x = data + 2 * b;
    for (bool done = false; !done;)
        if (atomicCAS(lock + b, 0, 1) == 0) {
            x[0] = x[0] + 1;
            x[1] = x[1] ^ t;
            __threadfence();
            atomicExch(lock + b, 0);
            done = true;
        }
}

KERNEL read_past(u32 *p, u32 words, u32 n) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, x = t;
#pragma unroll 1
    for (u32 j = 0; j < n; j++) {
        x = mixed(x + j);
        u32 y = __ldcg(p + x % words);
        __stcg(p + mixed(y ^ x) % words, x);
    }
}

KERNEL read_plain(u32 *p, u32 words, u32 n) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, x = t;
#pragma unroll 1
    for (u32 j = 0; j < n; j++) {
        x = mixed(x + j);
        u32 y = p[x % words];
        p[mixed(y ^ x) % words] = x;
    }
}

KERNEL least_past(u32 *p, u32 words, u32 n) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, own = __ldcg(p + t), least = own;
#pragma unroll 1
    for (u32 j = 0; j < n; j++) least = min(least, __ldcg(p + mixed(t * n + j) % words));
    if (least < own) atomicMin(p + t, least);
}

KERNEL root_past(u32 *p) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, at = __ldcg(p + t), next;
    while ((next = __ldcg(p + at)) != at) at = next;
    __stcg(p + t, at);
}
