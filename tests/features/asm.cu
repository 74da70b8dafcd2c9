// PTX written by hand: scopes, register ranges, vectors, predicates, carries, calls, special forms.
#include "check.h"

KERNEL scopes(int *out) {
    int t = thread_index(), bad = 0, r;
    asm volatile("{\n"
                 ".reg .u32 a, b, tmp<4>;\n"
                 ".reg .pred p, q;\n"
                 "mov.u32 a, %1;\n"
                 "{ .reg .u32 a; mov.u32 a, 1000; mov.u32 b, a; { .reg .u32 b; mov.u32 b, 7; } }\n" // inner names hide outer ones
                 "mov.u32 tmp0, 1; mov.u32 tmp3, 3;\n"
                 "add.u32 tmp1, tmp0, tmp3;\n"
                 "setp.lt.and.s32 p|q, a, 10, 1;\n" // p and its complement
                 "@p add.u32 b, b, tmp1;\n"
                 "@!p sub.u32 b, b, tmp1;\n"
                 "@q add.u32 b, b, 100;\n"
                 "mov.u32 %0, b;\n"
                 "}"
                 : "=r"(r)
                 : "r"(t));
    CHECK(r == (t < 10 ? 1004 : 1096));
    // labels and loops
    asm volatile("{\n"
                 ".reg .u32 i, s; .reg .pred p;\n"
                 "mov.u32 i, 0; mov.u32 s, 0;\n"
                 "again: add.u32 s, s, i; add.u32 i, i, 1; setp.le.u32 p, i, %1; @p bra again;\n"
                 "mov.u32 %0, s;\n"
                 "}"
                 : "=r"(r)
                 : "r"(t % 40));
    CHECK(r == t % 40 * (t % 40 + 1) / 2);
    // two alternatives, bra.uni, a label of the same name in another scope
    asm volatile("{\n"
                 ".reg .pred p; setp.eq.u32 p, %1, 0; @p bra again; mov.u32 %0, 5; bra.uni end;\n"
                 "again: mov.u32 %0, 9;\n"
                 "end: }"
                 : "=r"(r)
                 : "r"(t % 3));
    CHECK(r == (t % 3 ? 5 : 9));
    // vectors of registers
    ull d;
    unsigned lo, hi;
    asm("mov.b64 %0, {%1, %2};" : "=l"(d) : "r"(t), "r"(t + 1));
    CHECK(d == ((ull)(t + 1) << 32 | (unsigned)t));
    asm("{ .reg .b16 a, b; mov.b32 {a, b}, %1; mov.b32 %0, {b, a}; }" : "=r"(lo) : "r"(t * 65537 + 3));
    CHECK(lo == ((unsigned)(t * 65537 + 3) >> 16 | (unsigned)(t * 65537 + 3) << 16));
    asm("{ .reg .b32 x; mov.b64 {_, x}, %1; mov.u32 %0, x; }" : "=r"(hi) : "l"(d));
    CHECK(hi == (unsigned)t + 1);
    ull e;
    asm("{ .reg .b128 q; mov.b128 q, {%2, %3}; mov.b128 {%0, %1}, q; }" : "=l"(d), "=l"(e) : "l"((ull)t), "l"((ull)t << 7));
    CHECK(d == (ull)t && e == (ull)t << 7);
    out[t] = bad;
}

KERNEL carries(int *out) {
    int t = thread_index(), bad = 0;
    unsigned a[4], b[4], s[4], d[4];
    for (int i = 0; i < 4; i++) a[i] = mix(t * 4 + i) | (i == 1 ? 0xffff0000u : 0), b[i] = mix(t * 4 + i + 5000);
    asm("add.cc.u32 %0, %4, %8; addc.cc.u32 %1, %5, %9; addc.cc.u32 %2, %6, %10; addc.u32 %3, %7, %11;"
        : "=&r"(s[0]), "=&r"(s[1]), "=&r"(s[2]), "=&r"(s[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    asm("sub.cc.u32 %0, %4, %8; subc.cc.u32 %1, %5, %9; subc.cc.u32 %2, %6, %10; subc.u32 %3, %7, %11;"
        : "=&r"(d[0]), "=&r"(d[1]), "=&r"(d[2]), "=&r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    ull c = 0, w = 0;
    for (int i = 0; i < 4; i++) {
        c += (ull)a[i] + b[i];
        CHECK(s[i] == (unsigned)c);
        c >>= 32;
        ull x = (ull)a[i] - b[i] - w;
        CHECK(d[i] == (unsigned)x);
        w = x >> 63;
    }
    unsigned m0, m1, m2, m3; // 64 x 64 -> 128 by digits
    asm("mul.lo.u32 %0, %4, %6; mul.hi.u32 %1, %4, %6;"
        "mad.lo.cc.u32 %1, %5, %6, %1; madc.hi.u32 %2, %5, %6, 0;"
        "mad.lo.cc.u32 %1, %4, %7, %1; madc.hi.cc.u32 %2, %4, %7, %2; addc.u32 %3, 0, 0;"
        "mad.lo.cc.u32 %2, %5, %7, %2; madc.hi.u32 %3, %5, %7, %3;"
        : "=&r"(m0), "=&r"(m1), "=&r"(m2), "=&r"(m3)
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
    unsigned __int128 p = (unsigned __int128)((ull)a[1] << 32 | a[0]) * ((ull)b[1] << 32 | b[0]);
    CHECK(m0 == (unsigned)p && m1 == (unsigned)(p >> 32) && m2 == (unsigned)(p >> 64) && m3 == (unsigned)(p >> 96));
    out[t] = bad;
}

KERNEL forms(int *out, const unsigned char *bytes) { // bytes[i] = i
    int t = thread_index(), bad = 0;
    unsigned r, p, q;
    int s;
    float f;
    // comparisons
    asm("set.lt.u32.s32 %0, %1, 5;" : "=r"(r) : "r"(t));
    CHECK(r == (t < 5 ? 0xffffffffu : 0));
    asm("set.ge.f32.s32 %0, %1, 5;" : "=f"(f) : "r"(t));
    CHECK(f == (t >= 5 ? 1.0f : 0));
    asm("slct.s32.s32 %0, 7, 8, %1;" : "=r"(s) : "r"(t - 6));
    CHECK(s == (t >= 6 ? 7 : 8));
    asm("slct.f32.f32 %0, 0f3f800000, 0fbf800000, %1;" : "=f"(f) : "f"((float)(6 - t)));
    CHECK(f == (t <= 6 ? 1 : -1));
    asm("{ .reg .pred a, b, c; setp.lt.s32 a, %2, 10; setp.gt.xor.s32 b|c, %2, 3, a; selp.u32 %0, 1, 0, b; selp.u32 %1, 1, 0, c; }" : "=r"(p), "=r"(q) : "r"(t));
    CHECK(p == ((t > 3) != (t < 10)) && q == (!(t > 3) != (t < 10)));
    asm("{ .reg .pred a, b, c; setp.ne.s32 a, %1, 0; setp.lt.s32 b, %1, 9; and.pred c, a, b; not.pred c, c; xor.pred c, c, a; selp.u32 %0, 1, 0, c; }" : "=r"(p) : "r"(t));
    CHECK(p == ((!(t != 0 && t < 9)) != (t != 0)));
    asm("{ .reg .pred a; testp.subnormal.f32 a, %1; selp.u32 %0, 1, 0, a; }" : "=r"(p) : "f"(__uint_as_float(t & 1 ? 5 : 0x3f800000)));
    CHECK(p == (unsigned)(t & 1));
    // narrow loads and stores, sign extension, odd registers
    asm("ld.global.s8 %0, [%1+100];" : "=r"(s) : "l"(bytes + t));
    CHECK(s == (signed char)(t + 100));
    asm("{ .reg .b16 h; ld.global.u8 h, [%1]; cvt.s32.s8 %0, h; }" : "=r"(s) : "l"(bytes + t));
    CHECK(s == (signed char)t);
    asm("{ .reg .b64 w; ld.global.s8 w, [%1]; shr.s64 w, w, 32; cvt.u32.u64 %0, w; }" : "=r"(r) : "l"(bytes + t));
    CHECK(r == ((signed char)t < 0 ? 0xffffffffu : 0));
    asm("{ .reg .b16 a, b, c, d; ld.global.v4.u8 {a, b, c, d}, [%1]; add.u16 a, a, d; cvt.u32.u16 %0, a; }" : "=r"(r) : "l"(bytes + (t & ~3)));
    CHECK(r == (unsigned)((t & ~3) + (((t & ~3) + 3) & 255)));
    // saturation and clamps
    asm("add.sat.s32 %0, %1, 2147483647;" : "=r"(s) : "r"(t - 3));
    CHECK(s == (t >= 3 ? 2147483647 : 2147483647 + (t - 3)));
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(s) : "r"(t * 3 - 30));
    CHECK(s == (t * 3 - 30 < 0 ? 0 : t * 3 - 30 > 255 ? 255 : t * 3 - 30));
    asm("cvt.sat.s8.s32 %0, %1;" : "=r"(s) : "r"(t * 3 - 300));
    CHECK((signed char)s == (t * 3 - 300 < -128 ? -128 : t * 3 - 300 > 127 ? 127 : t * 3 - 300));
    asm("fma.rn.sat.f32 %0, %1, 0f3f000000, 0f00000000;" : "=f"(f) : "f"((float)t * 0.25f));
    CHECK(f == (t > 8 ? 1 : t * 0.125f));
    asm("shl.b32 %0, 1, %1;" : "=r"(r) : "r"(t)); // shifts by 32 and more
    CHECK(r == (t < 32 ? 1u << t : 0));
    asm("shr.s32 %0, -8, %1;" : "=r"(s) : "r"(t));
    CHECK(s == (t < 3 ? -8 >> t : -1));
    asm("szext.clamp.s32 %0, %1, 5;" : "=r"(s) : "r"(t));
    CHECK(s == ((t & 31) ^ 16) - 16);
    asm("bmsk.clamp.b32 %0, %1, 4;" : "=r"(r) : "r"(t % 40));
    CHECK(r == (t % 40 < 32 ? 15u << t % 40 : 0));
    asm("prmt.b32.b4e %0, %1, %2, %3;" : "=r"(r) : "r"(0x33221100), "r"(0x77665544), "r"(t & 3));
    ull pair = 0x7766554433221100ull;
    unsigned want = 0;
    for (int i = 0; i < 4; i++) want |= (unsigned)(pair >> ((t & 3) - i + 8) % 8 * 8 & 255) << 8 * i;
    CHECK(r == want);
    // generic addresses of every space, and back
    __shared__ int shared[128];
    int local[4] = {t, t + 1, t + 2, t + 3};
    shared[threadIdx.x] = t * 3;
    const int *g = hide(t & 1) ? &shared[threadIdx.x] : &local[t & 3];
    CHECK(*g == (t & 1 ? t * 3 : t + (t & 3)));
    CHECK(__isShared(g) == (t & 1) && __isLocal(g) == !(t & 1) && __isGlobal(bytes) && !__isGlobal(g) && !__isConstant(bytes));
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; ld.shared.u32 %0, [a]; }" : "=r"(r) : "l"(&shared[threadIdx.x]));
    CHECK(r == (unsigned)t * 3);
    out[t] = bad;
}

// Instructions that compute nothing, and ways to end.
__device__ __noinline__ void leave(int *at, int v) {
    *at = v;
    asm volatile("exit;");
    *at = -1;
}
KERNEL nothing(int *out) {
    int t = thread_index();
    out[t] = 77;
    asm volatile("pmevent 3; griddepcontrol.wait; griddepcontrol.launch_dependents; .pragma \"nounroll\";");
    if (t % 4 == 1) leave(out + t, 0);
    if (t % 4 == 2) {
        out[t] = 0;
        asm volatile("ret;");
        out[t] = -1;
    }
    int bad = 0;
    unsigned n, rank, id;
    asm volatile("mov.u32 %0, %%nctaid.x; mov.u32 %1, %%cluster_ctarank; mov.u32 %2, %%clusterid.x;" : "=r"(n), "=r"(rank), "=r"(id));
    CHECK(n == gridDim.x && rank == 0 && id == blockIdx.x);
    asm volatile("mov.u32 %0, %%cluster_nctarank; mov.u32 %1, %%nclusterid.x; mov.u32 %2, WARP_SZ;" : "=r"(n), "=r"(rank), "=r"(id));
    CHECK(n == 1 && rank == gridDim.x && id == 32);
    out[t] = bad;
}
