// Data of every kind and in every place: structures by value, unions, bit fields, constants, initialised
// globals that point to each other, static and dynamic shared memory, local arrays, vectors, volatile.
#include <new>

#include "check.h"

// ---- arguments --------------------------------------------------------------------------------
struct Odd { // 1 + pad, 2, 4, 8, 3 ...
    char c;
    short s;
    char d[3];
    double x;
    char e;
};
struct __align__(16) Aligned {
    float f[3];
    unsigned char b;
};
struct Empty {};
struct Big {
    int v[100];
};

__device__ __noinline__ Odd swap_ends(Odd o) {
    char c = o.c;
    o.c = o.e, o.e = c, o.x = -o.x;
    return o;
}
__device__ __noinline__ int sum(Big b) {
    int s = 0;
#pragma unroll 1
    for (int i = 0; i < 100; i++) s += b.v[i];
    return s;
}
__device__ __noinline__ Aligned shift(Aligned a, Empty, char by) {
    for (int i = 0; i < 3; i++) a.f[i] += by;
    a.b += by;
    return a;
}

KERNEL arguments(int *out, signed char c, Odd o, Aligned a, short s, ull u, float f, double d, Big big, bool yes, int3 v) {
    int t = thread_index(), bad = 0;
    CHECK(c == -5 && s == -300 && u == 0x123456789abcdefull && f == 2.5f && d == -1e100 && yes);
    CHECK(o.c == 7 && o.s == -2 && o.d[0] == 1 && o.d[1] == 2 && o.d[2] == 3 && o.x == 0.125 && o.e == 9);
    CHECK(a.f[0] == 1 && a.f[1] == 2 && a.f[2] == 3 && a.b == 200 && v.x == 1 && v.y == -2 && v.z == 3);
    CHECK(big.v[t % 100] == 77 && sum(big) == 7700);
    o.c = (char)t;
    Odd r = swap_ends(o);
    CHECK(r.c == 9 && r.e == (char)t && r.x == -0.125 && r.d[1] == 2 && r.s == -2);
    a = shift(a, Empty(), 10);
    CHECK(a.f[0] == 11 && a.f[2] == 13 && a.b == 210);
    big.v[t % 100] = 0; // a copy of the parameter in local memory
    CHECK(sum(big) == 7623);
    out[t] = bad;
}

// ---- layout -----------------------------------------------------------------------------------
union Bits {
    float f;
    unsigned u;
    unsigned char b[4];
    struct {
        unsigned mantissa : 23, exponent : 8, sign : 1;
    } part;
};
struct Fields {
    int a : 3;
    unsigned b : 7;
    int c : 13;
    ll d : 40;
    unsigned char e : 1, f : 4;
};
struct Node {
    Node *next;
    int value;
};

KERNEL layout(int *out, Fields *mem) {
    int t = thread_index(), bad = 0;
    Bits x;
    x.f = -(float)(t + 1);
    unsigned top = 31 - __clz(t + 1);
    CHECK(x.part.sign == 1 && x.part.exponent == 127 + top && x.part.mantissa == ((t + 1 - (1u << top)) << (23 - top)));
    CHECK(x.b[3] == (x.u >> 24) && x.b[2] == (x.u >> 16 & 255));
    x.part.sign = 0, x.part.exponent++;
    CHECK(x.f == 2.0f * (t + 1));
    Fields f = {};
    f.a = t, f.b = t * 5, f.c = -t, f.d = (ll)t * -123456789, f.e = t, f.f = t;
    mem[t] = f;
    Fields g = mem[t];
    CHECK(g.a == ((t & 7) ^ 4) - 4 && g.b == (t * 5 & 127) && g.c == -t && g.d == (ll)t * -123456789);
    CHECK(g.e == (t & 1) && g.f == (t & 15));
    // a list in local memory
    Node n[8];
    for (int i = 0; i < 8; i++) n[i].next = i < 7 ? &n[i + 1] : nullptr, n[i].value = i * t;
    int s = 0, count = 0;
    for (Node *p = &n[t % 8]; p; p = p->next) s += p->value, count++;
    int k = t % 8;
    CHECK(count == 8 - k && s == t * (28 - k * (k - 1) / 2));
    out[t] = bad;
}

// ---- variables --------------------------------------------------------------------------------
__constant__ int filled[64];                      // by the script
__constant__ float table[8] = {1, 2.5f, -3, 1e10f, 0, 6, 7, 8};
__constant__ struct {
    char c;
    double d;
    short s[3];
} mixed = {'x', 1.0 / 3, {1, -2, 3}};
__device__ int scalar = 42;
__device__ int numbers[10] = {9, 8, 7, 6, 5};     // the rest is zero
__device__ const char *text = "a string\tin global memory";
__device__ short narrow[5] = {-1, 2, -3, 4, -5};
extern __device__ Node second;
__device__ Node first = {&second, 1};
__device__ Node third = {nullptr, 3};
__device__ Node second = {&third, 2};
__device__ int *inside = &numbers[3];
__constant__ int *const through = numbers + 4;
__device__ Node *ways[3] = {&third, &first, &second};
__device__ ull wide = 0xfedcba9876543210ull;
__device__ double pi = 3.141592653589793;
__device__ volatile int spun;

KERNEL variables(int *out) {
    int t = thread_index(), bad = 0;
    CHECK(filled[t % 64] == (t % 64) * 3 - 7 && filled[63 - t % 64] == (63 - t % 64) * 3 - 7);
    const float want[] = {1, 2.5f, -3, 1e10f, 0, 6, 7, 8};
    CHECK(table[t % 8] == want[t % 8] && mixed.c == 'x' && mixed.d == 1.0 / 3 && mixed.s[1] == -2);
    CHECK(scalar == 42 && numbers[t % 10] == (t % 10 < 5 ? 9 - t % 10 : 0) && narrow[t % 5] == (t % 5 % 2 ? t % 5 + 1 : -(t % 5) - 1));
    const char *copy = "a string\tin global memory";
    int n = 0;
    while (text[n] && text[n] == copy[n]) n++;
    CHECK(n == 25 && copy[n] == 0);
    int s = 0;
    for (Node *p = &first; p; p = p->next) s = s * 10 + p->value;
    CHECK(s == 123);
    CHECK(*inside == 6 && inside[1] == 5 && *through == 5 && wide == 0xfedcba9876543210ull && pi == 3.141592653589793);
    CHECK(ways[t % 3]->value == (t % 3 == 0 ? 3 : t % 3));
    out[t] = bad;
}
KERNEL change(int *out) { // what one launch leaves the next one finds
    numbers[threadIdx.x] += 100;
    if (threadIdx.x == 0) scalar = 43, first.next = &third, spun = 5;
    out[threadIdx.x] = 0;
}
KERNEL changed(int *out) {
    int t = threadIdx.x, bad = 0;
    CHECK(scalar == 43 && numbers[t] == (t < 5 ? 109 - t : 100) && first.next->value == 3 && spun == 5);
    out[t] = bad;
}

// ---- shared -----------------------------------------------------------------------------------
__device__ __noinline__ int *own(int i) { // static shared memory of a function: one for all callers
    __shared__ int kept[64];
    return &kept[i];
}
template <int N> __device__ int separate(int t) { // one for each instance
    __shared__ int kept[64];
    kept[t] = t * N;
    __syncthreads();
    return kept[63 - t];
}
KERNEL shared_static(int *out) {
    __shared__ double d[64];
    __shared__ char bytes[67];
    __shared__ struct {
        short s;
        ll l;
    } mixed_up[64];
    int t = threadIdx.x, bad = 0;
    *own(t) = t + 5;
    d[t] = t / 4.0, bytes[t] = (char)(t * 5), mixed_up[t] = {(short)-t, (ll)t << 40};
    __syncthreads();
    CHECK(*own(63 - t) == 68 - t && d[63 - t] == (63 - t) / 4.0 && bytes[63 - t] == (char)((63 - t) * 5));
    CHECK(mixed_up[63 - t].s == t - 63 && mixed_up[63 - t].l == (ll)(63 - t) << 40);
    CHECK(separate<3>(t) == (63 - t) * 3 && separate<5>(t) == (63 - t) * 5 && separate<3>(t) == (63 - t) * 3);
    out[t] = bad;
}

extern __shared__ __align__(16) unsigned char dynamic[];
KERNEL shared_dynamic(int *out, int bytes) { // all of it, past 48 KiB
    __shared__ int before[32];
    int t = threadIdx.x, bad = 0, n = bytes / 4;
    int *w = (int *)dynamic;
    before[t % 32] = t % 32;
#pragma unroll 1
    for (int i = t; i < n; i += blockDim.x) w[i] = i ^ (int)blockIdx.x;
    __syncthreads();
#pragma unroll 1
    for (int i = t; i < n; i += blockDim.x) CHECK(w[n - 1 - i] == ((n - 1 - i) ^ (int)blockIdx.x));
    unsigned size;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    CHECK(size == (unsigned)bytes && before[t % 32] == t % 32);
    // several arrays in one
    __syncthreads();
    double *d = (double *)dynamic;
    short *s = (short *)(d + 256);
    d[t] = t, s[t] = (short)-t;
    __syncthreads();
    CHECK(d[255 - t] == 255 - t && s[255 - t] == t - 255);
    out[blockIdx.x * blockDim.x + t] = bad;
}

// ---- local ------------------------------------------------------------------------------------
KERNEL local(int *out) {
    int t = thread_index(), bad = 0;
    int a[64];
#pragma unroll 1
    for (int i = 0; i < 64; i++) a[i] = (int)mix(t + i);
#pragma unroll 1
    for (int i = 0; i < 200; i++) { // indices only known at run time
        int x = (int)(mix(i + t) % 64), y = (int)(mix(i * 7 + t) % 64), z = a[x];
        a[x] = a[y], a[y] = z;
    }
    unsigned sum = 0, want = 0;
#pragma unroll 1
    for (int i = 0; i < 64; i++) sum += a[i], want += mix(t + i);
    CHECK(sum == want);
    unsigned char bytes[13][3];
#pragma unroll 1
    for (int i = 0; i < 39; i++) bytes[i / 3][i % 3] = (unsigned char)(i * t);
    CHECK(bytes[t % 13][t % 3] == (unsigned char)((t % 13 * 3 + t % 3) * t));
    double d[5] = {1, 2, 3, 4, 5};
    d[t % 5] = t;
    CHECK(d[0] + d[1] + d[2] + d[3] + d[4] == 15 - (t % 5 + 1) + t);
    volatile int v = t;
    v += 1;
    CHECK(v == t + 1);
    // alloca: each thread the same size, and one that differs
    int *p = (int *)__builtin_alloca(40), n = t % 7 + 1, *q = (int *)__builtin_alloca(4 * n);
    for (int i = 0; i < 10; i++) p[i] = i * t;
    for (int i = 0; i < n; i++) q[i] = -i - t;
    sum = 0;
    for (int i = 0; i < 10; i++) sum += p[i];
    CHECK((int)sum == 45 * t && q[n - 1] == 1 - n - t);
    out[t] = bad;
}

// ---- vectors ----------------------------------------------------------------------------------
template <class V> __device__ int round_trip(char *mem, V v, int t) {
    int bad = 0;
    V *p = (V *)mem;
    p[t] = v;
    V r = p[t];
    const unsigned char *a = (const unsigned char *)&v, *b = (const unsigned char *)&r;
#pragma unroll 1
    for (int i = 0; i < (int)sizeof(V); i++) CHECK(a[i] == b[i]);
    __syncthreads();
    return bad;
}
struct alignas(32) Wide {
    double4_16a d;
};
KERNEL vectors(int *out, char *mem) {
    int t = threadIdx.x, bad = 0;
    char c = (char)t;
    short s = (short)(t * 300);
    ll l = (ll)t << 35;
    float f = t * 1.5f;
    if (!bad) bad = round_trip(mem, make_char2(c, -c), t);
    if (!bad) bad = round_trip(mem, make_char3(c, -c, c + 1), t);
    if (!bad) bad = round_trip(mem, make_char4(c, -c, c + 1, c + 2), t);
    if (!bad) bad = round_trip(mem, make_uchar4(c, -c, c + 1, c + 2), t);
    if (!bad) bad = round_trip(mem, make_short2(s, -s), t);
    if (!bad) bad = round_trip(mem, make_short4(s, -s, s + 1, s + 2), t);
    if (!bad) bad = round_trip(mem, make_ushort3(s, -s, s + 1), t);
    if (!bad) bad = round_trip(mem, make_int2(t, -t), t);
    if (!bad) bad = round_trip(mem, make_int3(t, -t, t * t), t);
    if (!bad) bad = round_trip(mem, make_uint4(t, -t, t * t, 1), t);
    if (!bad) bad = round_trip(mem, make_longlong2(l, -l), t);
    if (!bad) bad = round_trip(mem, make_ulonglong2(l, -l), t);
    if (!bad) bad = round_trip(mem, make_float2(f, -f), t);
    if (!bad) bad = round_trip(mem, make_float3(f, -f, f + 1), t);
    if (!bad) bad = round_trip(mem, make_float4(f, -f, f + 1, f + 2), t);
    if (!bad) bad = round_trip(mem, make_double2(f, -f), t);
    Wide w;
    w.d.x = f, w.d.y = -f, w.d.z = f + 1, w.d.w = f + 2;
    if (!bad) bad = round_trip(mem, w, t);
    // elements of vectors from memory filled by the script: element i is 3 i
    const int4 *v = (const int4 *)(mem + 4096);
    CHECK(v[t].x == 12 * t && v[t].y == 12 * t + 3 && v[t].z == 12 * t + 6 && v[t].w == 12 * t + 9);
    const int2 *v2 = (const int2 *)(mem + 4096);
    CHECK(v2[t].y == 6 * t + 3);
    out[t] = bad;
}

// ---- grids ------------------------------------------------------------------------------------
KERNEL grids(int *out, int *seen) { // 3-D in all ways, with warps that are not full
    int t = thread_index(), bad = 0;
    unsigned lane, warp, n = blockDim.x * blockDim.y * blockDim.z;
    unsigned flat = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    CHECK(lane == flat % 32);
    CHECK(threadIdx.x < blockDim.x && threadIdx.y < blockDim.y && threadIdx.z < blockDim.z);
    CHECK(blockIdx.x < gridDim.x && blockIdx.y < gridDim.y && blockIdx.z < gridDim.z);
    CHECK(gridDim.x == 3 && gridDim.y == 4 && gridDim.z == 2 && n == 105 && warpSize == 32);
    CHECK(__popc(__activemask()) == (flat / 32 < n / 32 ? 32 : (int)(n % 32)));
    (void)warp;
    seen[t] += 1;
    out[t] = bad;
}

KERNEL __launch_bounds__(96, 4) bounded(int *out) { out[threadIdx.x] = blockDim.x > 96; }
