// Seen by every OpenCL C program before its first line (clang -include).
//
// printf: the NVPTX back end of LLVM 16 packs variable arguments without regard to their alignment. So the
// arguments are put into a buffer here, each as C promotes it and at its natural alignment, and handed to
// vprintf, the function of CUDA's device runtime that the executor knows. Elements of a vector follow each
// other.
#define __IMAGE_SUPPORT__  1
#define __OPENCL_VERSION__ 300
#if __OPENCL_C_VERSION__ >= 300 // what clang knows of such a device by its header alone
#define __opencl_c_work_group_collective_functions 1
#define __opencl_c_atomic_scope_device             1
#define __opencl_c_atomic_scope_all_devices        1
#define __opencl_c_int64                           1
#endif
#define __ORR_OVER    __attribute__((overloadable))
#define __ORR_PUT1(T) __ORR_OVER uint __orr_put(__private char *b, uint at, T v);
#define __ORR_PUTS(T)                                                                                        \
    __ORR_PUT1(T) __ORR_PUT1(T##2) __ORR_PUT1(T##3) __ORR_PUT1(T##4) __ORR_PUT1(T##8) __ORR_PUT1(T##16)
__ORR_PUTS(char)
__ORR_PUTS(uchar)
__ORR_PUTS(short)
__ORR_PUTS(ushort)
__ORR_PUTS(int)
__ORR_PUTS(uint)
__ORR_PUTS(long)
__ORR_PUTS(ulong)
__ORR_PUTS(float)
__ORR_PUTS(double)
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__ORR_PUTS(half)
#endif
__ORR_PUT1(const __global void *)
__ORR_PUT1(const __local void *)
__ORR_PUT1(const __constant void *)
__ORR_PUT1(const __private void *)
ulong __orr_generic(const __constant void *p);
int vprintf(ulong format, const __private void *arguments);

#define __ORR_A0()
#define __ORR_A1(x)                                                          __orr_at = __orr_put(__orr_b, __orr_at, x);
#define __ORR_A2(x, ...)                                                     __ORR_A1(x) __ORR_A1(__VA_ARGS__)
#define __ORR_A3(x, ...)                                                     __ORR_A1(x) __ORR_A2(__VA_ARGS__)
#define __ORR_A4(x, ...)                                                     __ORR_A1(x) __ORR_A3(__VA_ARGS__)
#define __ORR_A5(x, ...)                                                     __ORR_A1(x) __ORR_A4(__VA_ARGS__)
#define __ORR_A6(x, ...)                                                     __ORR_A1(x) __ORR_A5(__VA_ARGS__)
#define __ORR_A7(x, ...)                                                     __ORR_A1(x) __ORR_A6(__VA_ARGS__)
#define __ORR_A8(x, ...)                                                     __ORR_A1(x) __ORR_A7(__VA_ARGS__)
#define __ORR_A9(x, ...)                                                     __ORR_A1(x) __ORR_A8(__VA_ARGS__)
#define __ORR_A10(x, ...)                                                    __ORR_A1(x) __ORR_A9(__VA_ARGS__)
#define __ORR_A11(x, ...)                                                    __ORR_A1(x) __ORR_A10(__VA_ARGS__)
#define __ORR_A12(x, ...)                                                    __ORR_A1(x) __ORR_A11(__VA_ARGS__)
#define __ORR_A13(x, ...)                                                    __ORR_A1(x) __ORR_A12(__VA_ARGS__)
#define __ORR_A14(x, ...)                                                    __ORR_A1(x) __ORR_A13(__VA_ARGS__)
#define __ORR_A15(x, ...)                                                    __ORR_A1(x) __ORR_A14(__VA_ARGS__)
#define __ORR_A16(x, ...)                                                    __ORR_A1(x) __ORR_A15(__VA_ARGS__)
#define __ORR_NTH(f, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, x, ...) x
#define __ORR_COUNT(...)                                                     __ORR_NTH(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define __ORR_JOIN2(a, b)                                                    a##b
#define __ORR_JOIN(a, b)                                                     __ORR_JOIN2(a, b)
#define __ORR_FIRST(f, ...)                                                  f
#define printf(...)                                                                                          \
    __extension__({                                                                                          \
        __private long __orr_buffer[16 * __ORR_COUNT(__VA_ARGS__) + 1];                                      \
        __private char *__orr_b = (__private char *)__orr_buffer;                                            \
        __private uint __orr_at = 0;                                                                         \
        __ORR_PRINT(__ORR_COUNT(__VA_ARGS__), __VA_ARGS__)                                                   \
        vprintf(__orr_generic(__ORR_FIRST(__VA_ARGS__, 0)), __orr_buffer);                                   \
    })
#define __ORR_PRINT(n, f, ...) __ORR_JOIN(__ORR_A, n)(__VA_ARGS__)
