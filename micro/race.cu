// Threads that race: loops around a compare and swap, in shared and in global memory, made by hand and by the
// compiler; locks; lanes of a warp that wait for each other; recursion in which lanes part.
//
//   swap_shared, swap_global   every lane below `lanes` of every warp adds one to a word by compare and swap, until it has
//   sum_shared                 every lane adds a double to a word of shared memory: the compiler's own loop (ATOMS.CAST.SPIN)
//   add64_shared, max64_shared the same of 64-bit integers
//   swap_16, swap_128          compare and swap of 16 and of 128 bits in global memory
//   lock_shared                every lane takes a lock in shared memory, in the loop that is usual for it
//   chain_*                    atomics in shared memory, one after the other
//   watch                      a warp looks at a word until another has written it; out: how often
//   look_min                   every thread looks at a word, and takes the minimum if it has a smaller number
//   turn                       lanes of a warp go on in the order of their numbers: each looks until it is its turn
//   box                        lane 0 hands a word to each of the others, which look for it in another loop
//   rounds                     lane 0 and the others hand a word to and fro, `n` times: each side looks in a loop of its own
//   sides                      `k` lanes go one way and the others another; out: when each has been there
//   fib, hanoi, ack, evens     recursion: lane t has t % m for its argument
// How often a loop goes round depends on chance; what is added does not. To be timed from outside.
#include "micro.h"

KERNEL swap_shared(u32 *out, u32 lanes, u32 n) {
    __shared__ u32 word;
    if (threadIdx.x == 0) word = 0;
    __syncthreads();
    if (threadIdx.x % 32 < lanes)
        for (u32 j = 0; j < n; j++) {
            u32 old = *(volatile u32 *)&word, was;
            do {
                was = old;
                old = atomicCAS(&word, was, was + 3);
            } while (old != was);
        }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = word;
}

KERNEL swap_global(u32 *word, u32 lanes, u32 n) {
    if (threadIdx.x % 32 < lanes)
        for (u32 j = 0; j < n; j++) {
            u32 old = *(volatile u32 *)word, was;
            do {
                was = old;
                old = atomicCAS(word, was, was + 3);
            } while (old != was);
        }
}

// The same with the time of each success, and how many tries it took.
KERNEL when_shared(u32 *out, u32 lanes) {
    __shared__ u32 word;
    if (threadIdx.x == 0) word = 0;
    __syncthreads();
    u32 tries = 0, t0 = (u32)now(), t1 = t0;
    if (threadIdx.x % 32 < lanes) {
        u32 old = *(volatile u32 *)&word, was;
        do {
            was = old;
            old = atomicCAS(&word, was, was + 3);
            tries++;
        } while (old != was);
        t1 = (u32)now();
    }
    __syncthreads();
    out[threadIdx.x] = (t1 - t0) | tries << 20;
}
KERNEL when_global(u32 *out, u32 *word, u32 lanes) {
    __syncthreads();
    u32 tries = 0, t0 = (u32)now(), t1 = t0;
    if (threadIdx.x % 32 < lanes) {
        u32 old = *(volatile u32 *)word, was;
        do {
            was = old;
            old = atomicCAS(word, was, was + 3);
            tries++;
        } while (old != was);
        t1 = (u32)now();
    }
    __syncthreads();
    out[threadIdx.x + blockIdx.x * blockDim.x] = (t1 - t0) | tries << 20;
}

KERNEL sum_shared(double *out, u32 words) {
    __shared__ double sum[32];
    if (threadIdx.x < 32) sum[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&sum[threadIdx.x % words], (double)threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = sum[0];
}
KERNEL add64_shared(u64 *out, u32 words) {
    __shared__ u64 sum[32];
    if (threadIdx.x < 32) sum[threadIdx.x] = 0;
    __syncthreads();
    u64 old = atomicAdd(&sum[threadIdx.x % words], (u64)threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = old + sum[0];
}
KERNEL max64_shared(u64 *out, u32 words) {
    __shared__ u64 sum[32];
    if (threadIdx.x < 32) sum[threadIdx.x] = 0;
    __syncthreads();
    atomicMax(&sum[threadIdx.x % words], (u64)mixed(threadIdx.x) << 8);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = sum[0];
}

KERNEL swap_16(unsigned short *word, u32 lanes) {
    if (threadIdx.x % 32 < lanes)
        for (unsigned short v = *(volatile unsigned short *)(word + 1);;) {
            unsigned short r = atomicCAS(word + 1, v, (unsigned short)(v + 5));
            if (r == v) break;
            v = r;
        }
}
struct alignas(16) pair_of {
    u64 lo, hi;
};
KERNEL swap_128(pair_of *p, u32 lanes) {
    if (threadIdx.x % 32 < lanes)
        for (pair_of v = *p;;) {
            pair_of w = {v.lo + 1, v.hi - 1};
            pair_of r = atomicCAS(p, v, w);
            if (r.lo == v.lo && r.hi == v.hi) break;
            v = r;
        }
}

KERNEL lock_shared(u32 *out, u32 lanes) {
    __shared__ u32 lock, data;
    if (threadIdx.x == 0) lock = 0, data = 0;
    __syncthreads();
    if (threadIdx.x % 32 < lanes)
        for (bool done = false; !done;)
            if (atomicCAS(&lock, 0, 1) == 0) {
                *(volatile u32 *)&data += 1;
                __threadfence_block();
                atomicExch(&lock, 0);
                done = true;
            }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = data;
}

// One atomic in shared memory after the other, by `lanes` lanes of each warp on one word, each of which needs the one before.
#define CHAIN(name, call)                                                                                    \
    KERNEL name(u32 *out, u32 lanes, u32 n) {                                                                \
        __shared__ u32 word;                                                                                 \
        u32 x = threadIdx.x;                                                                                 \
        if (threadIdx.x == 0) word = 0;                                                                      \
        __syncthreads();                                                                                     \
        if (threadIdx.x % 32 < lanes) {                                                                      \
            _Pragma("unroll 4") for (u32 j = 0; j < n; j++) x = call;                                        \
        }                                                                                                    \
        __syncthreads();                                                                                     \
        out[threadIdx.x] = x;                                                                                \
    }
__device__ __forceinline__ u32 add(u32 *p, u32 x) { // not what the compiler makes of lanes that meet
    asm volatile("atom.shared.add.u32 %0, [%1], %0;" : "+r"(x) : "r"((u32)__cvta_generic_to_shared(p)) : "memory");
    return x;
}
CHAIN(chain_add, add(&word, x))
CHAIN(chain_exch, atomicExch(&word, x))
CHAIN(chain_cas, atomicCAS(&word, x, x + 1))

// All lanes of a warp, or one, look at a word until another warp has written it, after some time: how often?
KERNEL watch(u32 *out, u32 lanes, u32 time) {
    __shared__ volatile u32 flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    u32 looks = 0;
    if (threadIdx.x >= 32) {
        linger(time);
        if (threadIdx.x == 32) flag = 1;
    } else if (threadIdx.x < lanes) {
        while (flag == 0) looks++;
    }
    out[threadIdx.x] = looks;
}

// A look in front of a reduction: who looks before others have changed the word reduces in vain.
KERNEL look_min(u32 *word, u32 words, u32 apart) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, x = mixed(t + apart), *p = word + t % words;
    if (x < *p) atomicMin(p, x);
}

KERNEL turn(u32 *out, u32 lanes) {
    __shared__ volatile u32 next;
    __shared__ u32 when[32];
    u32 t = threadIdx.x;
    if (t == 0) next = lanes - 1;
    __syncwarp();
    if (t < lanes) {
        while (next != t) {
        }
        when[t] = (u32)now();
        next = t - 1;
    }
    __syncwarp();
    out[t] = when[t];
}

KERNEL box(u32 *out, u32 lanes) {
    __shared__ volatile u32 boxes[32];
    u32 t = threadIdx.x;
    boxes[t] = 0;
    __syncwarp();
    if (t == 0) {
        for (u32 i = 1; i < lanes; i++) {
            boxes[i] = i * i;
            while (boxes[i] != ~i) {
            }
        }
    } else if (t < lanes) {
        u32 v;
        while ((v = boxes[t]) == 0) {
        }
        if (v != t * t) out[0] = t;
        boxes[t] = ~t;
    }
    __syncwarp();
    out[t] = boxes[t];
}

KERNEL rounds(u32 *out, u32 lanes, u32 n) {
    __shared__ volatile u32 ball;
    u32 t = threadIdx.x;
    if (t == 0) ball = 0;
    __syncwarp();
    if (t == 0) {
        for (u32 i = 0; i < n; i++) {
            ball = 2 * i + 1;
            while (ball != 2 * i + 2) {
            }
        }
    } else if (t < lanes) {
        for (u32 i = 0; i < n; i++) {
            while (ball != 2 * i + 1) {
            }
            if (t == 1) ball = 2 * i + 2;
        }
    }
    __syncwarp();
    out[t] = ball;
}

KERNEL sides(u32 *out, u32 k, u32 first, u32 n) {
    u32 t = threadIdx.x, x = t, a = 0;
    for (int i = 0; i < 2; i++) { // the second time code is there
        __syncwarp();
        u32 t0 = (u32)now();
        if (first ? t < k : t >= k) {
#pragma unroll 1
            for (u32 j = 0; j < n; j++) asm volatile("mad.lo.u32 %0, %0, 3, %1;" : "+r"(x) : "r"(j) : "memory");
            a = (u32)now() - t0;
        } else {
#pragma unroll 1
            for (u32 j = 0; j < n; j++) asm volatile("xor.b32 %0, %0, %1;" : "+r"(x) : "r"(j) : "memory");
            a = (u32)now() - t0;
        }
        __syncwarp();
    }
    out[t] = a;
    if (x == 123456789) out[0] = x;
}

// Four groups of lanes, by masks, each with a loop of its own: out: when each has been there.
#define LOOP_OF(op)                                                                                                      \
    _Pragma("unroll 1") for (u32 j = 0; j < n; j++) asm volatile(op " %0, %0, %1;" : "+r"(x) : "r"(j) : "memory");    \
    a = (u32)now() - t0;
KERNEL ways(u32 *out, u32 m0, u32 m1, u32 m2, u32 n) {
    u32 t = threadIdx.x, x = t, a = 0;
    for (int i = 0; i < 2; i++) {
        __syncwarp();
        u32 t0 = (u32)now();
        if (m0 >> t & 1) {
            LOOP_OF("add.u32")
        } else if (m1 >> t & 1) {
            LOOP_OF("xor.b32")
        } else if (m2 >> t & 1) {
            LOOP_OF("and.b32")
        } else {
            LOOP_OF("or.b32")
        }
        __syncwarp();
    }
    out[t] = a;
    if (x == 123456789) out[0] = x;
}
// Three groups of lanes hand a word round, each with a loop of its own to look in.
KERNEL three(u32 *out, u32 m0, u32 m1, u32 m2, u32 n) {
    __shared__ volatile u32 ball;
    u32 t = threadIdx.x;
    if (t == 0) ball = 0;
    __syncwarp();
    if (m0 >> t & 1) {
        for (u32 i = 0; i < n; i++) {
            while (ball != 3 * i) {
            }
            if (t == 0) ball = 3 * i + 1;
        }
    } else if (m1 >> t & 1) {
        for (u32 i = 0; i < n; i++) {
            while (ball != 3 * i + 1) {
            }
            if (t == 1) ball = 3 * i + 2;
        }
    } else if (m2 >> t & 1) {
        for (u32 i = 0; i < n; i++) {
            while (ball != 3 * i + 2) {
            }
            if (t == 2) ball = 3 * i + 3;
        }
    }
    __syncwarp();
    out[t] = ball;
}
// `turn`, n times over.
KERNEL turns(u32 *out, u32 lanes, u32 n) {
    __shared__ volatile u32 next;
    u32 t = threadIdx.x;
    for (u32 i = 0; i < n; i++) {
        __syncwarp();
        if (t == 0) next = lanes - 1;
        __syncwarp();
        if (t < lanes) {
            while (next != t) {
            }
            next = t - 1;
        }
    }
    __syncwarp();
    out[t] = next;
}

__device__ __noinline__ u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL fib(u32 *out, u32 least, u32 m) { out[threadIdx.x] = fibonacci(least + threadIdx.x % m); }

__device__ __noinline__ u32 towers(u32 n, u32 from, u32 to, u32 *moves) {
    if (n == 0) return 0;
    u32 via = 3 - from - to, deepest = towers(n - 1, from, via, moves);
    moves[0]++, moves[1] += from * 3 + to;
    towers(n - 1, via, to, moves);
    return deepest + 1;
}
KERNEL hanoi(u32 *out, u32 least, u32 m) {
    u32 moves[2] = {0, 0};
    u32 r = towers(least + threadIdx.x % m, 0, 2, moves);
    out[threadIdx.x] = r + moves[0] + moves[1];
}

__device__ __noinline__ u32 ackermann(u32 m, u32 n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
KERNEL ack(u32 *out, u32 a, u32 b) { out[threadIdx.x] = ackermann(threadIdx.x % a, threadIdx.x % b); }

__device__ __noinline__ bool is_odd(u32 n);
__device__ __noinline__ bool is_even(u32 n) { return n == 0 || is_odd(n - 1); }
__device__ __noinline__ bool is_odd(u32 n) { return n && is_even(n - 1); }
KERNEL evens(u32 *out, u32 m) { out[threadIdx.x] = is_even(threadIdx.x % m); }

// One way down that only some take: lanes that return at once wait for the others, or go on.
__device__ __noinline__ u32 down(u32 n, u32 x) {
    if (n == 0) return x;
    u32 y = down(n - 1, x * 3 + n);
    return y * 5 + n;
}
KERNEL depth(u32 *out, u32 least, u32 m) {
    u32 x = 0;
#pragma unroll 1
    for (u32 i = 0; i < 4; i++) x = down(least + (threadIdx.x + i) % m, x);
    out[threadIdx.x] = x;
}
