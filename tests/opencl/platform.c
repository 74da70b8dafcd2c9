// An OpenCL program that asks most of what the standard has, and prints what it finds. It is run on Orrery's
// platform and on PoCL's: what both print must be the same.
//
//     platform [TEST...]    each line is "test: value ..."; a test that fails ends the program with status 1
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_context ctx;
static cl_device_id dev;
static cl_command_queue q;

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        cl_int must_ = (call);                                                                               \
        if (must_) {                                                                                         \
            printf("%s:%d: %s is %d\n", __FILE__, __LINE__, #call, must_);                                   \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static cl_program build(const char *source, const char *options) {
    cl_int e;
    cl_program p = clCreateProgramWithSource(ctx, 1, &source, NULL, &e);
    MUST(e);
    if (clBuildProgram(p, 1, &dev, options, NULL, NULL)) {
        char log[10000];
        clGetProgramBuildInfo(p, dev, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        printf("build failed: %s\n", log);
        exit(1);
    }
    return p;
}

static cl_kernel kernel(cl_program p, const char *name) {
    cl_int e;
    cl_kernel k = clCreateKernel(p, name, &e);
    MUST(e);
    return k;
}

static cl_mem buffer(size_t bytes, const void *data) {
    cl_int e;
    cl_mem m =
        clCreateBuffer(ctx, CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0), bytes, (void *)data, &e);
    MUST(e);
    return m;
}

static unsigned hash(const void *data, size_t n) { // FNV-1a
    unsigned h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)data)[i]) * 16777619u;
    return h;
}

static void run1(cl_kernel k, size_t global, size_t local) {
    MUST(clEnqueueNDRangeKernel(q, k, 1, NULL, &global, local ? &local : NULL, 0, NULL, NULL));
}

enum { N = 1024 };

// ---- language ---------------------------------------------------------------------------------------
static void test_vectors(void) {
    cl_program p = build("__kernel void v(__global const float4 *a, __global float4 *b, int4 c, float3 d) {\n"
                         "  int i = get_global_id(0);\n"
                         "  float4 x = a[i]; x.xy = x.wz; x += convert_float4(c); x.s012 *= d;\n"
                         "  b[i] = select(x, -x, isless(x, (float4)(2.0f))) + dot(x, a[i]) + fma(x, x, x);\n"
                         "}\n"
                         "__kernel void s(__global const uchar16 *a, __global ushort8 *b) {\n"
                         "  int i = get_global_id(0); uchar16 v = a[i];\n"
                         "  b[i] = convert_ushort8(add_sat(v.lo, v.hi)) + upsample(v.even, v.odd) + "
                         "popcount(convert_ushort8(v.s01234567));\n"
                         "}\n",
                         "");
    static float in[N * 4], out[N * 4];
    for (int i = 0; i < N * 4; i++) in[i] = (float)(i % 37) * 0.25f - 3;
    cl_mem a = buffer(sizeof in, in), b = buffer(sizeof out, NULL);
    cl_int c[4] = {1, -2, 3, 4};
    float d[4] = {0.5f, 2, 4, 0};
    cl_kernel k = kernel(p, "v"), s = kernel(p, "s");
    MUST(clSetKernelArg(k, 0, sizeof a, &a));
    MUST(clSetKernelArg(k, 1, sizeof b, &b));
    MUST(clSetKernelArg(k, 2, sizeof c, c));
    MUST(clSetKernelArg(k, 3, sizeof d, d));
    run1(k, N, 64);
    MUST(clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    printf("vectors: %g %g %g %g %08x\n", out[0], out[1], out[4002], out[4095], hash(out, sizeof out));
    MUST(clSetKernelArg(s, 0, sizeof a, &a));
    MUST(clSetKernelArg(s, 1, sizeof b, &b));
    run1(s, N, 0);
    MUST(clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    printf("vectors: %08x\n", hash(out, sizeof out));
    clReleaseKernel(k);
    clReleaseKernel(s);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseProgram(p);
}

// A barrier in a branch behind a loop of one work-item, and a branch behind it.
static void test_branch(void) {
    cl_program p = build("__kernel void gain(__global const float *x, __global float *w, __global char *s,\n"
                         "                   __local float *c, int n, int dim) {\n"
                         "  int i = get_global_id(0), l = get_local_id(0);\n"
                         "  if (i < n) {\n"
                         "    if (l == 0)\n"
                         "      for (int k = 0; k < dim; k++) { c[k] = x[k * n + 7]; }\n"
                         "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                         "    float d = 0;\n"
                         "    for (int k = 0; k < dim; k++)\n"
                         "      d += (x[k * n + i] - c[k]) * (x[k * n + i] - c[k]);\n"
                         "    if (d < 20.0f) { s[i] = 1; w[i] = d; }\n"
                         "    else { w[i] += 1 - d; }\n"
                         "  }\n"
                         "}\n",
                         NULL);
    enum { POINTS = 256, DIM = 16 };
    static float x[POINTS * DIM], w[POINTS];
    static char s[POINTS];
    cl_int n = POINTS, dim = DIM, near = 0;
    for (int i = 0; i < POINTS * DIM; i++) x[i] = (float)(i * 13 % 31) * 0.125f;
    cl_mem a = buffer(sizeof x, x), b = buffer(sizeof w, w), c = buffer(sizeof s, s);
    cl_kernel k = kernel(p, "gain");
    MUST(clSetKernelArg(k, 0, sizeof a, &a));
    MUST(clSetKernelArg(k, 1, sizeof b, &b));
    MUST(clSetKernelArg(k, 2, sizeof c, &c));
    MUST(clSetKernelArg(k, 3, DIM * sizeof(float), NULL));
    MUST(clSetKernelArg(k, 4, sizeof n, &n));
    MUST(clSetKernelArg(k, 5, sizeof dim, &dim));
    run1(k, POINTS, POINTS);
    MUST(clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof w, w, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(q, c, CL_TRUE, 0, sizeof s, s, 0, NULL, NULL));
    for (int i = 0; i < POINTS; i++) near += s[i];
    printf("branch: %d %g %g %08x\n", near, w[0], w[255], hash(w, sizeof w));
    clReleaseKernel(k);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseMemObject(c);
    clReleaseProgram(p);
}

static void test_local(void) {
    cl_program p = build(
        "__kernel void reverse(__global const int *a, __global int *b, __local int *t, __local long *u) {\n"
        "  __local int own[64];\n"
        "  int l = get_local_id(0), n = get_local_size(0);\n"
        "  t[l] = a[get_global_id(0)]; u[l] = l; own[l] = get_group_id(0);\n"
        "  barrier(CLK_LOCAL_MEM_FENCE);\n"
        "  b[get_global_id(0)] = t[n - 1 - l] + (int)u[n - 1 - l] * 1000 + own[n - 1 - l] * 100000;\n"
        "}\n"
        "__kernel void count(__global int *c, __global const int *a) {\n"
        "  __local int bins[8];\n"
        "  int l = get_local_id(0);\n"
        "  if (l < 8) bins[l] = 0;\n"
        "  barrier(CLK_LOCAL_MEM_FENCE);\n"
        "  atomic_inc(&bins[a[get_global_id(0)] & 7]);\n"
        "  barrier(CLK_LOCAL_MEM_FENCE);\n"
        "  if (l < 8) atomic_add(&c[l], bins[l]);\n"
        "  atomic_max(&c[8], a[get_global_id(0)]);\n"
        "  atomic_cmpxchg(&c[9], 0, 42);\n"
        "}\n"
        // All steps of a macro are at one place of the source, and all of this is one line, as macros make
        // programs.
        "#define STEP4(x) x = x * 3 + n; x = x * 3 + n; x = x * 3 + n; x = x * 3 + n;\n"
        "__kernel void macros(__global int *b, int n) { int x = get_global_id(0); "
        "for (int i = 0; i < 64; i++) { STEP4(x) } b[get_global_id(0)] = x; }\n",
        NULL);
    static int in[N], out[N];
    for (int i = 0; i < N; i++) in[i] = i * 7 % 1000;
    cl_mem a = buffer(sizeof in, in), b = buffer(sizeof out, NULL), c;
    int zero[10] = {0};
    c = buffer(sizeof zero, zero);
    cl_kernel k = kernel(p, "reverse"), h = kernel(p, "count");
    MUST(clSetKernelArg(k, 0, sizeof a, &a));
    MUST(clSetKernelArg(k, 1, sizeof b, &b));
    MUST(clSetKernelArg(k, 2, 64 * sizeof(int), NULL));
    MUST(clSetKernelArg(k, 3, 64 * 8, NULL));
    run1(k, N, 64);
    MUST(clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    printf("local: %d %d %08x\n", out[0], out[N - 1], hash(out, sizeof out));
    MUST(clSetKernelArg(h, 0, sizeof c, &c));
    MUST(clSetKernelArg(h, 1, sizeof a, &a));
    run1(h, N, 128);
    MUST(clEnqueueReadBuffer(q, c, CL_TRUE, 0, sizeof zero, zero, 0, NULL, NULL));
    printf("local:");
    for (int i = 0; i < 10; i++) printf(" %d", zero[i]);
    printf("\n");
    cl_kernel m = kernel(p, "macros");
    int seven = 7, wrong = 0;
    MUST(clSetKernelArg(m, 0, sizeof b, &b));
    MUST(clSetKernelArg(m, 1, sizeof seven, &seven));
    run1(m, N, 128);
    MUST(clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    for (unsigned i = 0; i < N; i++) {
        unsigned x = i;
        for (int n = 0; n < 256; n++) x = x * 3 + 7;
        wrong += out[i] != (int)x;
    }
    printf("local: macros %d wrong\n", wrong);
}

static void test_ids(void) {
    cl_program p = build(
        "__kernel void ids(__global uint *o) {\n"
        "  size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);\n"
        "  uint h = get_work_dim();\n"
        "  h = h * 31 + get_global_id(0); h = h * 31 + get_global_id(1); h = h * 31 + get_global_id(2);\n"
        "  h = h * 31 + get_local_id(0); h = h * 31 + get_local_id(1); h = h * 31 + get_group_id(0);\n"
        "  h = h * 31 + get_group_id(1); h = h * 31 + get_global_size(0); h = h * 31 + get_global_size(1);\n"
        "  h = h * 31 + get_num_groups(0); h = h * 31 + get_local_size(1); h = h * 31 + "
        "get_global_offset(0);\n"
        "  o[y * get_global_size(0) + x] = h;\n"
        "}\n",
        NULL);
    static unsigned out[N];
    cl_mem o = buffer(sizeof out, NULL);
    cl_kernel k = kernel(p, "ids");
    MUST(clSetKernelArg(k, 0, sizeof o, &o));
    size_t offset[2] = {5, 1000000007}, global[2] = {64, 16}, local[2] = {8, 4};
    MUST(clEnqueueNDRangeKernel(q, k, 2, offset, global, local, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(q, o, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    printf("ids: %u %u %08x\n", out[0], out[N - 1], hash(out, sizeof out));
}

static void test_math(void) { // rounded to what every implementation must have right
    cl_program p = build("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                         "__kernel void m(__global const float *a, __global float *o, __global double *d) {\n"
                         "  int i = get_global_id(0); float x = a[i];\n"
                         "  o[i] = sin(x) + cos(x * 3) + exp(x * 0.1f) + log(fabs(x) + 1) + pow(fabs(x), "
                         "0.3f) + atan2(x, 2) + tanh(x)\n"
                         "       + rsqrt(fabs(x) + 1) + fmod(x, 0.7f) + floor(x) + erf(x) + cbrt(x) + "
                         "hypot(x, 3.0f) + native_exp2(0.5f);\n"
                         "  d[i] = sqrt((double)x * x + 1) + exp((double)x) / 3 + sin((double)x) + "
                         "convert_int_sat(x * 1e9) + ldexp(1.0, i % 10);\n"
                         "}\n",
                         NULL);
    static float in[N], out[N];
    static double wide[N];
    for (int i = 0; i < N; i++) in[i] = (float)(i - 512) / 64;
    cl_mem a = buffer(sizeof in, in), b = buffer(sizeof out, NULL), d = buffer(sizeof wide, NULL);
    cl_kernel k = kernel(p, "m");
    MUST(clSetKernelArg(k, 0, sizeof a, &a));
    MUST(clSetKernelArg(k, 1, sizeof b, &b));
    MUST(clSetKernelArg(k, 2, sizeof d, &d));
    run1(k, N, 64);
    MUST(clEnqueueReadBuffer(q, b, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(q, d, CL_TRUE, 0, sizeof wide, wide, 0, NULL, NULL));
    double worst = 0, worst_wide = 0;
    for (int i = 0; i < N; i++) {
        double x = (double)in[i], w = x * 1e9 > 2147483647      ? 2147483647
                                      : x * 1e9 < -2147483648.0 ? -2147483648.0
                                                                : trunc(x * 1e9);
        double want = sin(x) + cos(x * 3) + exp(x * (double)0.1f) + log(fabs(x) + 1) +
                      pow(fabs(x), (double)0.3f) + atan2(x, 2) + tanh(x) + 1 / sqrt(fabs(x) + 1) +
                      fmod(x, (double)0.7f) + floor(x) + erf(x) + cbrt(x) + hypot(x, 3) + exp2(0.5);
        double want_wide = sqrt(x * x + 1) + exp(x) / 3 + sin(x) + w + ldexp(1, i % 10);
        double off = fabs((double)out[i] - want),
               off_wide = fabs(wide[i] - want_wide) / (fabs(want_wide) + 1);
        if (off > worst) worst = off;
        if (off_wide > worst_wide) worst_wide = off_wide;
    }
    printf("math: %s %s\n", worst < 2e-4 ? "near" : "far", worst_wide < 1e-12 ? "near" : "far");
}

static void test_printf(void) {
    cl_program p =
        build("__kernel void p(int n) {\n"
              "  if (get_global_id(0) == 3) {\n"
              "    printf(\"printf: %d %5.2f %s|%c|%x %#o %%\\n\", n, 1.5f, \"text\", 'z', 255u, 8u);\n"
              "    printf(\"printf: %v4hld %v2hlf %lu\\n\", (int4)(1, -2, 3, 4), (float2)(0.5f, 2), (ulong)1 "
              "<< 40);\n"
              "  }\n"
              "}\n",
              NULL);
    cl_kernel k = kernel(p, "p");
    int n = -7;
    MUST(clSetKernelArg(k, 0, sizeof n, &n));
    fflush(stdout);
    run1(k, 8, 8);
    MUST(clFinish(q));
}

typedef struct {
    int a;
    float b[3];
    char c;
    double d;
} thing;
static void test_struct(void) {
    cl_program p =
        build("typedef struct { int a; float b[3]; char c; double d; } thing;\n"
              "__constant int table[4] = {3, 1, 4, 1};\n"
              "__kernel void s(__global thing *o, thing t, __constant thing *u, char c, short h, ulong w) {\n"
              "  int i = get_global_id(0); thing x = t; x.a += table[i & 3] + u->a; x.b[i % 3] = c; x.d = h "
              "+ (double)w; x.c = i;\n"
              "  o[i] = x;\n"
              "}\n",
              NULL);
    thing t = {5, {1, 2, 3}, 'a', 0.5}, u = {100, {0}, 0, 0}, out[8];
    memset(out, 0, sizeof out);
    cl_mem o = buffer(sizeof out, out), um = buffer(sizeof u, &u);
    char c = -3;
    short h = -300;
    cl_ulong w = 1ull << 33;
    cl_kernel k = kernel(p, "s");
    MUST(clSetKernelArg(k, 0, sizeof o, &o));
    MUST(clSetKernelArg(k, 1, sizeof t, &t));
    MUST(clSetKernelArg(k, 2, sizeof um, &um));
    MUST(clSetKernelArg(k, 3, sizeof c, &c));
    MUST(clSetKernelArg(k, 4, sizeof h, &h));
    MUST(clSetKernelArg(k, 5, sizeof w, &w));
    run1(k, 8, 4);
    MUST(clEnqueueReadBuffer(q, o, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    printf("struct: %d %g %g %d %.1f | %d %g %g %d\n", out[0].a, out[0].b[0], out[0].b[1], out[0].c, out[0].d,
           out[7].a, out[7].b[1], out[7].b[2], out[7].c);
}

// ---- images -----------------------------------------------------------------------------------------
static void test_images(void) {
    cl_program p = build(
        "__constant sampler_t near_ = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | "
        "CLK_FILTER_NEAREST;\n"
        "__kernel void blur(read_only image2d_t in, write_only image2d_t out, sampler_t s) {\n"
        "  int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
        "  uint4 sum = 0;\n"
        "  for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) sum += read_imageui(in, near_, p + "
        "(int2)(x, y));\n"
        "  sum += read_imageui(in, s, convert_float2(p) + 0.5f);\n"
        "  write_imageui(out, p, sum / 10);\n"
        "}\n"
        "__kernel void linear(read_only image2d_t in, __global float4 *o, sampler_t s) {\n"
        "  int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
        "  float2 c = (convert_float2(p) + 0.25f) / (float2)(16, 16) * 1.5f - 0.25f;\n"
        "  o[p.y * 16 + p.x] = read_imagef(in, s, c) + get_image_width(in) + get_image_height(in);\n"
        "}\n"
        "__kernel void cube(read_only image3d_t in, __global int *o) {\n"
        "  int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);\n"
        "  o[(p.z * 4 + p.y) * 4 + p.x] = read_imagei(in, near_, p + 1).x + get_image_depth(in) * 1000;\n"
        "}\n",
        NULL);
    cl_int e;
    cl_image_format f = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc d = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 32, .image_height = 24};
    static unsigned char in[24][32][4], out[24][32][4];
    for (int i = 0; i < 24 * 32 * 4; i++) ((unsigned char *)in)[i] = (unsigned char)(i * 37 % 251);
    cl_mem a = clCreateImage(ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &f, &d, in, &e), b;
    MUST(e);
    b = clCreateImage(ctx, CL_MEM_WRITE_ONLY, &f, &d, NULL, &e);
    MUST(e);
    cl_sampler s = clCreateSampler(ctx, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &e);
    MUST(e);
    cl_kernel k = kernel(p, "blur");
    MUST(clSetKernelArg(k, 0, sizeof a, &a));
    MUST(clSetKernelArg(k, 1, sizeof b, &b));
    MUST(clSetKernelArg(k, 2, sizeof s, &s));
    size_t global[3] = {32, 24, 1}, local[3] = {8, 8, 1}, origin[3] = {0}, region[3] = {32, 24, 1};
    MUST(clEnqueueNDRangeKernel(q, k, 2, NULL, global, local, 0, NULL, NULL));
    MUST(clEnqueueReadImage(q, b, CL_TRUE, origin, region, 0, 0, out, 0, NULL, NULL));
    printf("images: %d %d %d %08x\n", out[0][0][0], out[5][7][2], out[23][31][3], hash(out, sizeof out));

    f = (cl_image_format){CL_R, CL_FLOAT};
    d.image_width = d.image_height = 16;
    static float ramp[16][16], got[256][4];
    for (int i = 0; i < 256; i++) ((float *)ramp)[i] = (float)i;
    cl_mem r = clCreateImage(ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &f, &d, ramp, &e),
           o = buffer(sizeof got, NULL);
    MUST(e);
    cl_kernel l = kernel(p, "linear");
    cl_addressing_mode modes[] = {CL_ADDRESS_CLAMP, CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_REPEAT,
                                  CL_ADDRESS_MIRRORED_REPEAT};
    for (int i = 0; i < 8; i++) {
        cl_sampler t =
            clCreateSampler(ctx, CL_TRUE, modes[i / 2], i & 1 ? CL_FILTER_LINEAR : CL_FILTER_NEAREST, &e);
        MUST(e);
        MUST(clSetKernelArg(l, 0, sizeof r, &r));
        MUST(clSetKernelArg(l, 1, sizeof o, &o));
        MUST(clSetKernelArg(l, 2, sizeof t, &t));
        global[0] = global[1] = 16;
        MUST(clEnqueueNDRangeKernel(q, l, 2, NULL, global, NULL, 0, NULL, NULL));
        MUST(clEnqueueReadBuffer(q, o, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
        double sum = 0;
        for (int j = 0; j < 256; j++) sum += (double)got[j][0];
        printf("images: mode %d %.3f %.3f %.3f %.3f\n", i, (double)got[0][0], (double)got[37][0],
               (double)got[255][0], sum / 256);
        clReleaseSampler(t);
    }
    f = (cl_image_format){CL_R, CL_SIGNED_INT16};
    d = (cl_image_desc){
        .image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = 4, .image_height = 4, .image_depth = 4};
    short cube[64];
    for (int i = 0; i < 64; i++) cube[i] = (short)(i * 3 - 90);
    cl_mem c = clCreateImage(ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &f, &d, cube, &e);
    MUST(e);
    cl_kernel m = kernel(p, "cube");
    MUST(clSetKernelArg(m, 0, sizeof c, &c));
    MUST(clSetKernelArg(m, 1, sizeof o, &o));
    global[0] = global[1] = global[2] = 4;
    MUST(clEnqueueNDRangeKernel(q, m, 3, NULL, global, NULL, 0, NULL, NULL));
    int cubes[64];
    MUST(clEnqueueReadBuffer(q, o, CL_TRUE, 0, sizeof cubes, cubes, 0, NULL, NULL));
    printf("images: %d %d %08x\n", cubes[0], cubes[63], hash(cubes, sizeof cubes));
}

// ---- memory -----------------------------------------------------------------------------------------
static void test_memory(void) {
    cl_int e;
    static unsigned char host[4096], out[4096];
    for (int i = 0; i < 4096; i++) host[i] = (unsigned char)(i * 13);
    cl_mem a = buffer(4096, host), b = buffer(4096, NULL);
    cl_buffer_region region = {1024, 512};
    cl_mem sub = clCreateSubBuffer(a, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &e);
    MUST(e);
    unsigned pattern = 0xdeadbeef;
    MUST(clEnqueueFillBuffer(q, sub, &pattern, 4, 64, 128, 0, NULL, NULL));
    MUST(clEnqueueCopyBuffer(q, a, b, 512, 0, 3000, 0, NULL, NULL));
    size_t bo[3] = {4, 2, 1}, ho[3] = {0, 1, 0}, size[3] = {8, 4, 3};
    MUST(clEnqueueWriteBufferRect(q, b, CL_TRUE, bo, ho, size, 32, 512, 16, 128, host, 0, NULL, NULL));
    size_t co[3] = {0, 0, 4};
    MUST(clEnqueueCopyBufferRect(q, b, b, bo, co, size, 32, 512, 32, 512, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(q, b, CL_TRUE, 0, 4000, out, 0, NULL, NULL));
    printf("memory: %08x\n", hash(out, 3000));
    unsigned char *m =
        clEnqueueMapBuffer(q, a, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 100, 200, 0, NULL, NULL, &e);
    MUST(e);
    m[0] ^= 0xff;
    cl_uint maps;
    MUST(clGetMemObjectInfo(a, CL_MEM_MAP_COUNT, sizeof maps, &maps, NULL));
    MUST(clEnqueueUnmapMemObject(q, a, m, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(q, a, CL_TRUE, 100, 1, out, 0, NULL, NULL));
    printf("memory: map %u %d\n", maps, out[0]);
    static int own[256];
    for (int i = 0; i < 256; i++) own[i] = i;
    cl_mem h = clCreateBuffer(ctx, CL_MEM_USE_HOST_PTR, sizeof own, own, &e);
    MUST(e);
    cl_program p =
        build("__kernel void twice(__global int *a) { a[get_global_id(0)] *= 2; }", "-cl-mad-enable");
    cl_kernel k = kernel(p, "twice");
    MUST(clSetKernelArg(k, 0, sizeof h, &h));
    run1(k, 256, 0);
    int *x = clEnqueueMapBuffer(q, h, CL_TRUE, CL_MAP_READ, 0, sizeof own, 0, NULL, NULL, &e);
    MUST(e);
    printf("memory: own %d %d\n", x == own, own[255]);
    MUST(clEnqueueUnmapMemObject(q, h, x, 0, NULL, NULL));
    MUST(clFinish(q));
    cl_ulong bytes;
    MUST(clGetDeviceInfo(dev, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL));
    size_t got;
    cl_mem parent;
    MUST(clGetMemObjectInfo(sub, CL_MEM_OFFSET, sizeof got, &got, NULL));
    MUST(clGetMemObjectInfo(sub, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL));
    printf("memory: sub %zu %d\n", got, parent == a);
}

// ---- order ------------------------------------------------------------------------------------------
static int called;
static void CL_CALLBACK on_done(cl_event e, cl_int status, void *user) {
    (void)e;
    called += status == CL_COMPLETE ? *(int *)user : 100;
}

static void test_events(void) {
    cl_int e;
    cl_command_queue o = clCreateCommandQueue(
        ctx, dev, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, &e);
    if (e == CL_INVALID_QUEUE_PROPERTIES) o = clCreateCommandQueue(ctx, dev, CL_QUEUE_PROFILING_ENABLE, &e);
    MUST(e);
    cl_program p = build("__kernel void advance(__global int *a, int x) { a[0] = a[0] * 3 + x; }", NULL);
    cl_kernel k = kernel(p, "advance");
    int zero = 0, got = -1;
    cl_mem a = buffer(4, &zero);
    cl_event gate = clCreateUserEvent(ctx, &e), chain[5];
    MUST(e);
    MUST(clSetKernelArg(k, 0, sizeof a, &a));
    size_t one = 1;
    for (int i = 0; i < 4; i++) {
        MUST(clSetKernelArg(k, 1, sizeof i, &i));
        MUST(clEnqueueNDRangeKernel(o, k, 1, NULL, &one, &one, 1, i ? &chain[i - 1] : &gate, &chain[i]));
    }
    MUST(clEnqueueReadBuffer(o, a, CL_FALSE, 0, 4, &got, 1, &chain[3], &chain[4]));
    int ten = 10;
    MUST(clSetEventCallback(chain[4], CL_COMPLETE, on_done, &ten));
    cl_int before, after;
    MUST(clGetEventInfo(chain[3], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof before, &before, NULL));
    MUST(clFlush(o));
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clWaitForEvents(5, chain));
    MUST(clFinish(o));
    MUST(clGetEventInfo(chain[3], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof after, &after, NULL));
    cl_ulong t[4];
    cl_profiling_info what[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    int ordered = 1;
    for (int i = 0; i < 4; i++) MUST(clGetEventProfilingInfo(chain[2], what[i], sizeof t[i], &t[i], NULL));
    for (int i = 1; i < 4; i++) ordered &= t[i] >= t[i - 1];
    cl_ulong before_end, next;
    MUST(clGetEventProfilingInfo(chain[1], CL_PROFILING_COMMAND_END, sizeof before_end, &before_end, NULL));
    MUST(clGetEventProfilingInfo(chain[2], CL_PROFILING_COMMAND_START, sizeof next, &next, NULL));
    for (int i = 0; i < 1000000 && called != 10; i++) clFinish(o);
    printf("events: %d waits %d, then %d, called %d, times %s %s\n", got, before > CL_COMPLETE, after, called,
           ordered ? "in order" : "wrong", next >= before_end ? "one after another" : "at once");
    cl_event bad = clCreateUserEvent(ctx, &e), never;
    MUST(clEnqueueMarkerWithWaitList(o, 1, &bad, &never));
    MUST(clSetUserEventStatus(bad, -77));
    cl_int w = clWaitForEvents(1, &never), status;
    MUST(clGetEventInfo(never, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    printf("events: failed %d %d\n", w, status < 0);
    cl_event m;
    MUST(clEnqueueMarker(q, &m));
    MUST(clEnqueueBarrier(q));
    MUST(clWaitForEvents(1, &m));
    cl_command_type type;
    MUST(clGetEventInfo(m, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    printf("events: marker %d\n", type == CL_COMMAND_MARKER);
}

// ---- programs ---------------------------------------------------------------------------------------
static void test_programs(void) {
    cl_int e;
    const char
        *header = "int three(void);\n#define FOUR 4\n",
        *lib = "int three(void) { return 3; }\n",
        *main_ =
            "#include \"inc/h.h\"\n__kernel void k(__global int *o) { o[0] = three() * 10 + FOUR + X; }\n";
    cl_program h = clCreateProgramWithSource(ctx, 1, &header, NULL, &e),
               l = clCreateProgramWithSource(ctx, 1, &lib, NULL, &e),
               m = clCreateProgramWithSource(ctx, 1, &main_, NULL, &e);
    const char *name = "inc/h.h";
    MUST(clCompileProgram(m, 1, &dev, "-D X=100", 1, &h, &name, NULL, NULL));
    MUST(clCompileProgram(l, 1, &dev, NULL, 0, NULL, NULL, NULL, NULL));
    cl_program both[2] = {m, l};
    cl_program p = clLinkProgram(ctx, 1, &dev, NULL, 2, both, NULL, NULL, &e);
    MUST(e);
    int got = 0;
    cl_mem o = buffer(4, &got);
    cl_kernel k = kernel(p, "k");
    MUST(clSetKernelArg(k, 0, sizeof o, &o));
    run1(k, 1, 1);
    MUST(clEnqueueReadBuffer(q, o, CL_TRUE, 0, 4, &got, 0, NULL, NULL));
    printf("programs: linked %d\n", got);

    cl_program s = build("/* two */ __kernel void first(__global const float *in, int n) {} __kernel "
                         "__attribute__((reqd_work_group_size(4, 2, 1))) void second(__local char *t) {}",
                         "-cl-kernel-arg-info");
    char text[200];
    size_t n;
    MUST(clGetProgramInfo(s, CL_PROGRAM_KERNEL_NAMES, sizeof text, text, NULL));
    MUST(clGetProgramInfo(s, CL_PROGRAM_NUM_KERNELS, sizeof n, &n, NULL));
    printf("programs: %zu %s\n", n,
           strcmp(text, "first;second") && strcmp(text, "second;first") ? text : "both");
    cl_kernel f = kernel(s, "first"), g = kernel(s, "second");
    cl_kernel_arg_address_qualifier where;
    MUST(clGetKernelArgInfo(f, 0, CL_KERNEL_ARG_TYPE_NAME, sizeof text, text, NULL));
    MUST(clGetKernelArgInfo(f, 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof where, &where, NULL));
    printf("programs: %s %d", text, where == CL_KERNEL_ARG_ADDRESS_GLOBAL);
    MUST(clGetKernelArgInfo(f, 1, CL_KERNEL_ARG_NAME, sizeof text, text, NULL));
    size_t wanted[3];
    MUST(clGetKernelWorkGroupInfo(g, dev, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof wanted, wanted, NULL));
    printf(" %s %zu %zu %zu\n", text, wanted[0], wanted[1], wanted[2]);

    size_t bytes;
    MUST(clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL));
    unsigned char *binary = malloc(bytes);
    MUST(clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
    cl_int status;
    cl_program again =
        clCreateProgramWithBinary(ctx, 1, &dev, &bytes, (const unsigned char **)&binary, &status, &e);
    MUST(e);
    MUST(clBuildProgram(again, 1, &dev, NULL, NULL, NULL));
    cl_kernel k2 = kernel(again, "k");
    int zero = 0;
    MUST(clEnqueueWriteBuffer(q, o, CL_TRUE, 0, 4, &zero, 0, NULL, NULL));
    MUST(clSetKernelArg(k2, 0, sizeof o, &o));
    run1(k2, 1, 1);
    MUST(clEnqueueReadBuffer(q, o, CL_TRUE, 0, 4, &got, 0, NULL, NULL));
    printf("programs: from binary %d\n", got);
}

// ---- errors -----------------------------------------------------------------------------------------
static void test_errors(void) {
    cl_int e;
    const char *wrong = "__kernel void k(__global int *o) { o[0] = nothing; }\n";
    cl_program p = clCreateProgramWithSource(ctx, 1, &wrong, NULL, &e);
    printf("errors: build %d", clBuildProgram(p, 1, &dev, NULL, NULL, NULL));
    char log[4000] = "";
    clGetProgramBuildInfo(p, dev, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    cl_build_status status;
    clGetProgramBuildInfo(p, dev, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL);
    printf(" status %d log %d", status, strstr(log, "nothing") != NULL);
    clCreateKernel(p, "k", &e);
    printf(" kernel %d\n", e);
    p = build("__kernel void k(__global int *o, int n) { o[get_global_id(0)] = n; }", NULL);
    cl_kernel k = kernel(p, "k");
    clCreateKernel(p, "none", &e);
    printf("errors: name %d", e);
    int n = 3;
    printf(" index %d", clSetKernelArg(k, 5, 4, &n));
    printf(" size %d", clSetKernelArg(k, 1, 8, &n));
    cl_mem m = buffer(4096, NULL);
    MUST(clSetKernelArg(k, 0, sizeof m, &m));
    size_t global = 100, local = 64, none = 0;
    printf(" args %d", clEnqueueNDRangeKernel(q, k, 1, NULL, &global, NULL, 0, NULL, NULL));
    MUST(clSetKernelArg(k, 1, 4, &n));
    printf(" groups %d", clEnqueueNDRangeKernel(q, k, 1, NULL, &global, &local, 0, NULL, NULL));
    printf(" dims %d", clEnqueueNDRangeKernel(q, k, 4, NULL, &global, &local, 0, NULL, NULL));
    local = 1 << 20;
    global = 1 << 20;
    e = clEnqueueNDRangeKernel(q, k, 1, NULL, &global, &local, 0, NULL, NULL); // both say what is wrong
    printf(" items %d\n", e == CL_INVALID_WORK_ITEM_SIZE ? CL_INVALID_WORK_GROUP_SIZE : e);
    clCreateBuffer(ctx, CL_MEM_READ_WRITE, none, NULL, &e);
    printf("errors: buffer %d", e);
    clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, 4, NULL, &e);
    printf(" flags %d", e);
    clCreateBuffer(ctx, CL_MEM_COPY_HOST_PTR, 4, NULL, &e);
    printf(" pointer %d", e);
    printf(" read %d", clEnqueueReadBuffer(q, m, CL_TRUE, 4000, 200, log, 0, NULL, NULL));
    printf(" overlap %d", clEnqueueCopyBuffer(q, m, m, 0, 8, 16, 0, NULL, NULL));
    printf(" queue %d", clFinish(NULL));
    printf(" native %d\n",
           clEnqueueNativeKernel(q, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL) != CL_SUCCESS);
    const char *il = "nothing of ours";
    size_t nil = strlen(il);
    clCreateProgramWithBinary(ctx, 1, &dev, &nil, (const unsigned char **)&il, &status, &e);
    printf("errors: binary %d\n", e);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {{"vectors", test_vectors}, {"local", test_local},       {"branch", test_branch},
                 {"ids", test_ids},         {"math", test_math},         {"printf", test_printf},
                 {"struct", test_struct},   {"images", test_images},     {"memory", test_memory},
                 {"events", test_events},   {"programs", test_programs}, {"errors", test_errors}};
    cl_platform_id platform;
    cl_int e;
    setvbuf(stdout, NULL, _IOLBF, 0);
    MUST(clGetPlatformIDs(1, &platform, NULL));
    MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &dev, NULL));
    ctx = clCreateContext(NULL, 1, &dev, NULL, NULL, &e);
    MUST(e);
    q = clCreateCommandQueue(ctx, dev, CL_QUEUE_PROFILING_ENABLE, &e);
    MUST(e);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        int wanted = argc == 1;
        for (int j = 1; j < argc; j++) wanted |= !strcmp(argv[j], tests[i].name);
        if (wanted) tests[i].run();
    }
    clReleaseCommandQueue(q);
    clReleaseContext(ctx);
    return 0;
}
