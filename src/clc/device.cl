// What OpenCL C calls and libclc's nvptx64 library does not have (LLVM 16): the work size that only the host
// knows, printf, images and samplers in software, sub-groups, 64-bit and C11 atomics, half precision.
//
// It is compiled once (tools.c) and linked in front of libclc, so that what is defined here wins.
#define OVER __attribute__((overloadable, always_inline))
#undef printf

// ---- the work size ----------------------------------------------------------------------------------
// Written by the host before a launch: work_dim (0: as many as the launch has), then the global offset.
__asm__(".visible .const .align 8 .b8 __orrery_env[32];");

OVER size_t get_global_offset(uint d) {
    ulong x = 0;
    switch (d) {
    case 0: __asm__("ld.const.u64 %0, [__orrery_env+8];" : "=l"(x)); break;
    case 1: __asm__("ld.const.u64 %0, [__orrery_env+16];" : "=l"(x)); break;
    case 2: __asm__("ld.const.u64 %0, [__orrery_env+24];" : "=l"(x)); break;
    }
    return x;
}
OVER uint get_work_dim(void) {
    uint x;
    __asm__("ld.const.u32 %0, [__orrery_env];" : "=r"(x));
    return x ? x : get_global_size(2) > 1 ? 3 : get_global_size(1) > 1 ? 2 : 1;
}
OVER size_t get_local_size(uint d) {
    return d == 0 ? __nvvm_read_ptx_sreg_ntid_x() : d == 1 ? __nvvm_read_ptx_sreg_ntid_y()
         : d == 2 ? __nvvm_read_ptx_sreg_ntid_z() : 1;
}
OVER size_t get_num_groups(uint d) {
    return d == 0 ? __nvvm_read_ptx_sreg_nctaid_x() : d == 1 ? __nvvm_read_ptx_sreg_nctaid_y()
         : d == 2 ? __nvvm_read_ptx_sreg_nctaid_z() : 1;
}
OVER size_t get_global_size(uint d) { return get_num_groups(d) * get_local_size(d); }
OVER size_t get_global_id(uint d) {
    return d > 2 ? 0 : (uint)get_group_id(d) * (ulong)(uint)get_local_size(d) + get_local_id(d) + get_global_offset(d);
}
OVER size_t get_enqueued_local_size(uint d) { return get_local_size(d); }
OVER size_t get_local_linear_id(void) {
    return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}
OVER size_t get_global_linear_id(void) {
    size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1),
           z = get_global_id(2) - get_global_offset(2);
    return (z * get_global_size(1) + y) * get_global_size(0) + x;
}
OVER void work_group_barrier(cl_mem_fence_flags f) { barrier(f); }
OVER void work_group_barrier(cl_mem_fence_flags f, memory_scope s) { barrier(f); }
OVER void atomic_work_item_fence(cl_mem_fence_flags f, memory_order o, memory_scope s) { mem_fence(f); }

// ---- printf -----------------------------------------------------------------------------------------
// In machine code constant memory is a bank: vprintf takes addresses that are good everywhere.
__attribute__((always_inline)) ulong __orr_generic(const __constant void *p) {
    ulong x;
    __asm__("cvta.const.u64 %0, %1;" : "=l"(x) : "l"(p));
    return x;
}
#define PUT(T, C)                                                                                            \
    OVER uint __orr_put(__private char *b, uint at, T v) {                                                   \
        at = (at + sizeof(C) - 1) / sizeof(C) * sizeof(C);                                                   \
        *(__private C *)(b + at) = (C)v;                                                                     \
        return at + sizeof(C);                                                                               \
    }
#define PUTV(T, n)                                                                                           \
    OVER uint __orr_put(__private char *b, uint at, T##n v) {                                                \
        for (int i = 0; i < n; i++) at = __orr_put(b, at, v[i]);                                             \
        return at;                                                                                           \
    }
#define PUTS(T, C) PUT(T, C) PUTV(T, 2) PUTV(T, 3) PUTV(T, 4) PUTV(T, 8) PUTV(T, 16)
PUTS(char, int)
PUTS(uchar, uint)
PUTS(short, int)
PUTS(ushort, uint)
PUTS(int, int)
PUTS(uint, uint)
PUTS(long, long)
PUTS(ulong, ulong)
PUTS(float, double)
PUTS(double, double)
PUTS(half, double)
PUT(const __global void *, ulong)
PUT(const __local void *, ulong)
PUT(const __private void *, ulong)
OVER uint __orr_put(__private char *b, uint at, const __constant void *v) {
    return __orr_put(b, at, __orr_generic(v));
}

// ---- images -----------------------------------------------------------------------------------------
// An image is the address of its description, a sampler the bits of its initialiser. Addressing, filtering and
// conversion follow the OpenCL specification, sections 8.1 to 8.3. They are ordinary instructions here; a GPU
// has texture units for them.
typedef struct image {
    __global uchar *data;
    int width, height, depth, layers; // layers 0: not an array
    uint row, slice;                  // bytes
    uint order, type, bytes;          // cl_channel_order, cl_channel_type; bytes of a pixel
    uint dims;
} image;
__global image *orr_same_image(__global image *p) __asm("orr_same_image");
__global image *orr_same_image(__global image *p) { return p; }
ulong orr_sampler_bits(__constant void *p) __asm("orr_sampler_bits");
ulong orr_sampler_bits(__constant void *p) { return (ulong)p; }
__constant void *__translate_sampler_initializer(int x) { return (__constant void *)(ulong)(uint)x; }
uint bits(sampler_t s) __asm("orr_sampler_bits32");
uint orr_sampler_bits32(__constant void *p) __asm("orr_sampler_bits32");
uint orr_sampler_bits32(__constant void *p) { return (uint)(ulong)p; }

enum { NORMALIZED = 1, TO_EDGE = 2, CLAMP = 4, REPEAT = 6, MIRRORED = 8, ADDRESSING = 14, LINEAR = 0x20 };
enum {
    CL_R = 0x10B0, CL_A, CL_RG, CL_RA, CL_RGB, CL_RGBA, CL_BGRA, CL_ARGB, CL_INTENSITY, CL_LUMINANCE, CL_Rx, CL_RGx,
    CL_RGBx, CL_DEPTH, CL_ABGR = 0x10C3
};
enum {
    CL_SNORM8 = 0x10D0, CL_SNORM16, CL_UNORM8, CL_UNORM16, CL_UNORM565, CL_UNORM555, CL_UNORM101010, CL_S8, CL_S16,
    CL_S32, CL_U8, CL_U16, CL_U32, CL_HALF, CL_FLOAT
};

static float channel_f(const __global uchar *p, uint type, int i) {
    switch (type) {
    case CL_SNORM8: return fmax(((const __global char *)p)[i] / 127.0f, -1.0f);
    case CL_SNORM16: return fmax(((const __global short *)p)[i] / 32767.0f, -1.0f);
    case CL_UNORM8: return p[i] / 255.0f;
    case CL_UNORM16: return ((const __global ushort *)p)[i] / 65535.0f;
    case CL_HALF: return vload_half(i, (const __global half *)p);
    default: return ((const __global float *)p)[i];
    }
}
static int channel_i(const __global uchar *p, uint type, int i) {
    switch (type) {
    case CL_S8: return ((const __global char *)p)[i];
    case CL_S16: return ((const __global short *)p)[i];
    case CL_U8: return p[i];
    case CL_U16: return ((const __global ushort *)p)[i];
    default: return ((const __global int *)p)[i];
    }
}
#define ORDER(V, get, zero, one)                                                                             \
    switch (m->order) {                                                                                      \
    case CL_R: case CL_Rx: return (V)(get(0), zero, zero, one);                                              \
    case CL_A: return (V)(zero, zero, zero, get(0));                                                         \
    case CL_RG: case CL_RGx: return (V)(get(0), get(1), zero, one);                                          \
    case CL_RA: return (V)(get(0), zero, zero, get(1));                                                      \
    case CL_RGB: case CL_RGBx: return (V)(get(0), get(1), get(2), one);                                      \
    case CL_BGRA: return (V)(get(2), get(1), get(0), get(3));                                                \
    case CL_ARGB: return (V)(get(1), get(2), get(3), get(0));                                                \
    case CL_ABGR: return (V)(get(3), get(2), get(1), get(0));                                                \
    case CL_INTENSITY: return (V)(get(0), get(0), get(0), get(0));                                           \
    case CL_LUMINANCE: return (V)(get(0), get(0), get(0), one);                                              \
    case CL_DEPTH: return (V)(get(0), zero, zero, one);                                                      \
    default: return (V)(get(0), get(1), get(2), get(3));                                                     \
    }
static __global uchar *texel(__global image *m, int x, int y, int z) {
    return m->data + (ulong)z * m->slice + (ulong)y * m->row + (ulong)x * m->bytes;
}
static float4 fetch_f(__global image *m, int x, int y, int z) {
    const __global uchar *p = texel(m, x, y, z);
#define GET(i) channel_f(p, m->type, i)
    if (m->type == CL_UNORM565) {
        uint v = *(const __global ushort *)p;
        return (float4)((v >> 11) / 31.0f, (v >> 5 & 63) / 63.0f, (v & 31) / 31.0f, 1);
    }
    if (m->type == CL_UNORM555) {
        uint v = *(const __global ushort *)p;
        return (float4)((v >> 10 & 31) / 31.0f, (v >> 5 & 31) / 31.0f, (v & 31) / 31.0f, 1);
    }
    if (m->type == CL_UNORM101010) {
        uint v = *(const __global uint *)p;
        return (float4)((v >> 20 & 1023) / 1023.0f, (v >> 10 & 1023) / 1023.0f, (v & 1023) / 1023.0f, 1);
    }
    ORDER(float4, GET, 0.0f, 1.0f)
#undef GET
}
static int4 fetch_i(__global image *m, int x, int y, int z) {
    const __global uchar *p = texel(m, x, y, z);
#define GET(i) channel_i(p, m->type, i)
    ORDER(int4, GET, 0, 1)
#undef GET
}
static float4 border_f(__global image *m) {
    bool opaque = m->order == CL_R || m->order == CL_RG || m->order == CL_RGB || m->order == CL_LUMINANCE ||
                  m->order == CL_DEPTH;
    return (float4)(0, 0, 0, opaque ? 1 : 0);
}
static bool inside(__global image *m, int x, int y, int z) {
    return (uint)x < (uint)m->width && (uint)y < (uint)m->height && (uint)z < (uint)(m->layers ? m->layers : m->depth);
}
static float4 read_f(__global image *m, int x, int y, int z) {
    return inside(m, x, y, z) ? fetch_f(m, x, y, z) : border_f(m);
}
static int4 read_i(__global image *m, int x, int y, int z) {
    return inside(m, x, y, z) ? fetch_i(m, x, y, z) : convert_int4(border_f(m));
}

// One coordinate to the index of a texel; CLAMP leaves it outside, where the border is.
static int wrap(int i, int n, uint mode) {
    switch (mode) {
    case TO_EDGE: return clamp(i, 0, n - 1);
    case CLAMP: return clamp(i, -1, n);
    case REPEAT: i %= n; return i < 0 ? i + n : i;
    case MIRRORED: i = i < 0 ? -1 - i : i; i %= 2 * n; return i >= n ? 2 * n - 1 - i : i;
    default: return i;
    }
}
static float scale(float c, int n, uint s) {
    if (!(s & NORMALIZED)) return c;
    uint mode = s & ADDRESSING;
    if (mode == REPEAT) return (c - floor(c)) * n;
    if (mode == MIRRORED) return fabs(c - 2.0f * rint(0.5f * c)) * n;
    return c * n;
}
static int nearest(float c, int n, uint s) { return wrap((int)floor(scale(c, n, s)), n, s & ADDRESSING); }

static int layer(__global image *m, float4 c) { return clamp((int)rint(m->dims == 1 ? c.y : c.z), 0, m->layers - 1); }
static int4 place(__global image *m, uint s, float4 c) {
    int4 p = (int4)(nearest(c.x, m->width, s), 0, 0, 0);
    if (m->dims > 1) p.y = nearest(c.y, m->height, s);
    if (m->dims > 2) p.z = nearest(c.z, m->depth, s);
    if (m->layers) p.z = layer(m, c);
    return p;
}
static float4 sample_f(__global image *m, uint s, float4 c) {
    if (!(s & LINEAR)) {
        int4 p = place(m, s, c);
        return read_f(m, p.x, p.y, p.z);
    }
    uint mode = s & ADDRESSING;
    float u = scale(c.x, m->width, s) - 0.5f, v = m->dims > 1 ? scale(c.y, m->height, s) - 0.5f : 0,
          w = m->dims > 2 ? scale(c.z, m->depth, s) - 0.5f : 0;
    float fu = floor(u), fv = floor(v), fw = floor(w);
    float a = u - fu, b = v - fv, g = w - fw;
    int z = m->layers ? layer(m, c) : 0;
    float4 sum = 0;
    for (int k = 0; k < (m->dims > 2 ? 2 : 1); k++)
        for (int j = 0; j < (m->dims > 1 ? 2 : 1); j++)
            for (int i = 0; i < 2; i++) {
                float f = (i ? a : 1 - a) * (m->dims > 1 ? (j ? b : 1 - b) : 1) * (m->dims > 2 ? (k ? g : 1 - g) : 1);
                int x = wrap((int)fu + i, m->width, mode);
                int y = m->dims > 1 ? wrap((int)fv + j, m->height, mode) : 0;
                int q = m->dims > 2 ? wrap((int)fw + k, m->depth, mode) : z;
                sum += f * read_f(m, x, y, q);
            }
    return sum;
}
static int4 sample_i(__global image *m, uint s, float4 c) {
    int4 p = place(m, s, c);
    return read_i(m, p.x, p.y, p.z);
}
// Integer coordinates are exact texels; a layer is a number already.
static int4 whole(__global image *m, uint s, int4 c) {
    uint mode = s & ADDRESSING;
    int4 p = (int4)(wrap(c.x, m->width, mode), 0, 0, 0);
    if (m->dims > 1) p.y = wrap(c.y, m->height, mode);
    if (m->dims > 2) p.z = wrap(c.z, m->depth, mode);
    if (m->layers) p.z = clamp(m->dims == 1 ? c.y : c.z, 0, m->layers - 1);
    return p;
}
static int4 spot(__global image *m, int4 c) {
    return (int4)(c.x, m->dims > 1 ? c.y : 0, m->layers && m->dims == 1 ? c.y : m->dims > 2 || m->layers ? c.z : 0, 0);
}

static void put_f(__global uchar *p, uint type, int i, float v) {
    switch (type) {
    case CL_SNORM8: ((__global char *)p)[i] = convert_char_sat_rte(v * 127.0f); break;
    case CL_SNORM16: ((__global short *)p)[i] = convert_short_sat_rte(v * 32767.0f); break;
    case CL_UNORM8: p[i] = convert_uchar_sat_rte(v * 255.0f); break;
    case CL_UNORM16: ((__global ushort *)p)[i] = convert_ushort_sat_rte(v * 65535.0f); break;
    case CL_HALF: vstore_half_rte(v, i, (__global half *)p); break;
    default: ((__global float *)p)[i] = v; break;
    }
}
static void put_i(__global uchar *p, uint type, int i, int v) {
    switch (type) {
    case CL_S8: ((__global char *)p)[i] = convert_char_sat(v); break;
    case CL_S16: ((__global short *)p)[i] = convert_short_sat(v); break;
    case CL_U8: p[i] = convert_uchar_sat((uint)v); break;
    case CL_U16: ((__global ushort *)p)[i] = convert_ushort_sat((uint)v); break;
    default: ((__global int *)p)[i] = v; break;
    }
}
#define WRITE(V, S, put)                                                                                     \
    static void write_##put(__global image *m, int4 c, V v) {                                                \
        int4 q = spot(m, c);                                                                                 \
        if (!inside(m, q.x, q.y, q.z)) return;                                                               \
        __global uchar *p = texel(m, q.x, q.y, q.z);                                                         \
        switch (m->order) {                                                                                  \
        case CL_A: put(p, m->type, 0, v.w); break;                                                           \
        case CL_RA: put(p, m->type, 0, v.x), put(p, m->type, 1, v.w); break;                                 \
        case CL_RG: case CL_RGx: put(p, m->type, 0, v.x), put(p, m->type, 1, v.y); break;                    \
        case CL_R: case CL_Rx: case CL_INTENSITY: case CL_LUMINANCE: case CL_DEPTH: put(p, m->type, 0, v.x); break; \
        case CL_BGRA: v = v.zyxw; for (int i = 0; i < 4; i++) put(p, m->type, i, v[i]); break;               \
        case CL_ARGB: v = v.wxyz; for (int i = 0; i < 4; i++) put(p, m->type, i, v[i]); break;               \
        case CL_ABGR: v = v.wzyx; for (int i = 0; i < 4; i++) put(p, m->type, i, v[i]); break;               \
        default: for (int i = 0; i < 4; i++) put(p, m->type, i, v[i]); break;                                \
        }                                                                                                    \
    }
WRITE(float4, float, put_f)
WRITE(int4, int, put_i)
static void write_pixel(__global image *m, int4 c, float4 v) {
    int4 q = spot(m, c);
    if (m->type != CL_UNORM565 && m->type != CL_UNORM555 && m->type != CL_UNORM101010) {
        write_put_f(m, c, v);
        return;
    }
    if (!inside(m, q.x, q.y, q.z)) return;
    __global uchar *p = texel(m, q.x, q.y, q.z);
    v = clamp(v, 0.0f, 1.0f);
    if (m->type == CL_UNORM565)
        *(__global ushort *)p = (ushort)((uint)rint(v.x * 31) << 11 | (uint)rint(v.y * 63) << 5 | (uint)rint(v.z * 31));
    else if (m->type == CL_UNORM555)
        *(__global ushort *)p = (ushort)((uint)rint(v.x * 31) << 10 | (uint)rint(v.y * 31) << 5 | (uint)rint(v.z * 31));
    else
        *(__global uint *)p = (uint)rint(v.x * 1023) << 20 | (uint)rint(v.y * 1023) << 10 | (uint)rint(v.z * 1023);
}

#define C1(T, c) (T)(c, 0, 0, 0)
#define C2(T, c) (T)((c).x, (c).y, 0, 0)
#define C4(T, c) (c)
#define SAME(A, I) __attribute__((overloadable)) __global image *same(A I) __asm("orr_same_image");
#define READ_WITH(I, Ti, Tf, C)                                                                              \
    OVER float4 read_imagef(read_only I m, sampler_t s, Tf c) { return sample_f(same(m), bits(s), C(float4, c)); } \
    OVER int4 read_imagei(read_only I m, sampler_t s, Tf c) { return sample_i(same(m), bits(s), C(float4, c)); } \
    OVER uint4 read_imageui(read_only I m, sampler_t s, Tf c) {                                              \
        return as_uint4(sample_i(same(m), bits(s), C(float4, c)));                                           \
    }                                                                                                        \
    OVER float4 read_imagef(read_only I m, sampler_t s, Ti c) {                                              \
        int4 p = whole(same(m), bits(s), C(int4, c));                                                        \
        return read_f(same(m), p.x, p.y, p.z);                                                               \
    }                                                                                                        \
    OVER int4 read_imagei(read_only I m, sampler_t s, Ti c) {                                                \
        int4 p = whole(same(m), bits(s), C(int4, c));                                                        \
        return read_i(same(m), p.x, p.y, p.z);                                                               \
    }                                                                                                        \
    OVER uint4 read_imageui(read_only I m, sampler_t s, Ti c) {                                              \
        int4 p = whole(same(m), bits(s), C(int4, c));                                                        \
        return as_uint4(read_i(same(m), p.x, p.y, p.z));                                                     \
    }
#define READ_PLAIN(A, I, Ti, C)                                                                              \
    OVER float4 read_imagef(A I m, Ti c) {                                                                   \
        int4 p = spot(same(m), C(int4, c));                                                                  \
        return read_f(same(m), p.x, p.y, p.z);                                                               \
    }                                                                                                        \
    OVER int4 read_imagei(A I m, Ti c) {                                                                     \
        int4 p = spot(same(m), C(int4, c));                                                                  \
        return read_i(same(m), p.x, p.y, p.z);                                                               \
    }                                                                                                        \
    OVER uint4 read_imageui(A I m, Ti c) {                                                                   \
        int4 p = spot(same(m), C(int4, c));                                                                  \
        return as_uint4(read_i(same(m), p.x, p.y, p.z));                                                     \
    }
#define WRITES(A, I, Ti, C)                                                                                  \
    OVER void write_imagef(A I m, Ti c, float4 v) { write_pixel(same(m), C(int4, c), v); }                   \
    OVER void write_imagei(A I m, Ti c, int4 v) { write_put_i(same(m), C(int4, c), v); }                     \
    OVER void write_imageui(A I m, Ti c, uint4 v) { write_put_i(same(m), C(int4, c), as_int4(v)); }
#define ASK(A, I)                                                                                            \
    OVER int get_image_width(A I m) { return same(m)->width; }                                               \
    OVER int get_image_channel_data_type(A I m) { return same(m)->type; }                                    \
    OVER int get_image_channel_order(A I m) { return same(m)->order; }
#define ASK2(A, I)                                                                                           \
    OVER int get_image_height(A I m) { return same(m)->height; }                                             \
    OVER int2 get_image_dim(A I m) { return (int2)(same(m)->width, same(m)->height); }
#define ASK3(A, I)                                                                                           \
    OVER int get_image_height(A I m) { return same(m)->height; }                                             \
    OVER int get_image_depth(A I m) { return same(m)->depth; }                                               \
    OVER int4 get_image_dim(A I m) { return (int4)(same(m)->width, same(m)->height, same(m)->depth, 0); }
#define ASKN(A, I) OVER size_t get_image_array_size(A I m) { return same(m)->layers; }
#define NONE(A, I)
#define KIND(I, Ti, Tf, C, more, layers)                                                                     \
    SAME(read_only, I) SAME(write_only, I) SAME(read_write, I)                                               \
    ASK(read_only, I) ASK(write_only, I) ASK(read_write, I)                                                  \
    more(read_only, I) more(write_only, I) more(read_write, I)                                               \
    layers(read_only, I) layers(write_only, I) layers(read_write, I)                                         \
    READ_PLAIN(read_only, I, Ti, C) READ_PLAIN(read_write, I, Ti, C)                                         \
    WRITES(write_only, I, Ti, C) WRITES(read_write, I, Ti, C)
KIND(image1d_t, int, float, C1, NONE, NONE)
KIND(image1d_buffer_t, int, float, C1, NONE, NONE)
KIND(image1d_array_t, int2, float2, C2, NONE, ASKN)
KIND(image2d_t, int2, float2, C2, ASK2, NONE)
KIND(image2d_array_t, int4, float4, C4, ASK2, ASKN)
KIND(image3d_t, int4, float4, C4, ASK3, NONE)
READ_WITH(image1d_t, int, float, C1)
READ_WITH(image1d_array_t, int2, float2, C2)
READ_WITH(image2d_t, int2, float2, C2)
READ_WITH(image2d_array_t, int4, float4, C4)
READ_WITH(image3d_t, int4, float4, C4)

// ---- fast functions ---------------------------------------------------------------------------------
// libclc leaves them to LLVM, whose back end has no instructions for most. Here they are those of the GPU.
#define FAST1(f, e)                                                                                          \
    static float orr_##f(float x) { return e; }                                                              \
    OVER float f(float x) { return e; }                                                                      \
    FASTV1(f, 2) FASTV1(f, 3) FASTV1(f, 4) FASTV1(f, 8) FASTV1(f, 16)
#define FASTV1(f, n)                                                                                         \
    OVER float##n f(float##n x) {                                                                            \
        for (int i = 0; i < n; i++) x[i] = orr_##f(x[i]);                                                    \
        return x;                                                                                            \
    }
#define FAST2(f, e)                                                                                          \
    static float orr_##f(float x, float y) { return e; }                                                     \
    OVER float f(float x, float y) { return e; }                                                             \
    FASTV2(f, 2) FASTV2(f, 3) FASTV2(f, 4) FASTV2(f, 8) FASTV2(f, 16)
#define FASTV2(f, n)                                                                                         \
    OVER float##n f(float##n x, float##n y) {                                                                \
        for (int i = 0; i < n; i++) x[i] = orr_##f(x[i], y[i]);                                              \
        return x;                                                                                            \
    }
#define FASTS(pre)                                                                                           \
    FAST1(pre##_exp2, __nvvm_ex2_approx_f(x))                                                                \
    FAST1(pre##_exp, __nvvm_ex2_approx_f(x * M_LOG2E_F))                                                     \
    FAST1(pre##_exp10, __nvvm_ex2_approx_f(x * (M_LN10_F * M_LOG2E_F)))                                      \
    FAST1(pre##_log2, __nvvm_lg2_approx_f(x))                                                                \
    FAST1(pre##_log, __nvvm_lg2_approx_f(x) * M_LN2_F)                                                       \
    FAST1(pre##_log10, __nvvm_lg2_approx_f(x) * (M_LN2_F * M_LOG10E_F))                                      \
    FAST1(pre##_sin, __nvvm_sin_approx_f(x))                                                                 \
    FAST1(pre##_cos, __nvvm_cos_approx_f(x))                                                                 \
    FAST1(pre##_tan, __nvvm_div_approx_f(__nvvm_sin_approx_f(x), __nvvm_cos_approx_f(x)))                    \
    FAST1(pre##_sqrt, __nvvm_sqrt_approx_f(x))                                                               \
    FAST1(pre##_rsqrt, __nvvm_rsqrt_approx_f(x))                                                             \
    FAST1(pre##_recip, __nvvm_div_approx_f(1.0f, x))                                                         \
    FAST2(pre##_divide, __nvvm_div_approx_f(x, y))                                                           \
    FAST2(pre##_powr, __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)))
FASTS(native)
// half_sin and its like may be off by 8192 ulp, but must know large arguments: the full functions do.
#define FULL1(f) FULLV(f, ) FULLV(f, 2) FULLV(f, 3) FULLV(f, 4) FULLV(f, 8) FULLV(f, 16)
#define FULLV(f, n) OVER float##n half_##f(float##n x) { return f(x); }
FULL1(sin) FULL1(cos) FULL1(tan) FULL1(exp) FULL1(exp2) FULL1(exp10) FULL1(log) FULL1(log2) FULL1(log10)
FULL1(sqrt) FULL1(rsqrt)
FAST1(half_recip, 1.0f / x)
FAST2(half_divide, x / y)
#define FULL2(f, n) OVER float##n half_powr(float##n x, float##n y) { return powr(x, y); }
FULL2(powr, ) FULL2(powr, 2) FULL2(powr, 3) FULL2(powr, 4) FULL2(powr, 8) FULL2(powr, 16)

// ---- atomics ----------------------------------------------------------------------------------------
// clang makes calls of a library that is nowhere of its built-in atomics for this target, so they are instructions
// of the GPU here.
#define RMW64(S, space, T, A, f, op)                                                                         \
    OVER T f(volatile S A *p, T v) {                                                                         \
        T old;                                                                                               \
        __asm__ volatile("atom" space op " %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");          \
        return old;                                                                                          \
    }
#define CAS64(S, space, T, A)                                                                                \
    OVER T orr_cas(volatile S A *p, T c, T v) {                                                              \
        ulong old;                                                                                           \
        __asm__ volatile("atom" space ".cas.b64 %0, [%1], %2, %3;"                                           \
                         : "=l"(old)                                                                         \
                         : "l"(p), "l"(as_ulong(c)), "l"(as_ulong(v))                                        \
                         : "memory");                                                                        \
        return as_##T(old);                                                                                  \
    }                                                                                                        \
    OVER T orr_exchange(volatile S A *p, T v) {                                                              \
        ulong old;                                                                                           \
        __asm__ volatile("atom" space ".exch.b64 %0, [%1], %2;"                                              \
                         : "=l"(old)                                                                         \
                         : "l"(p), "l"(as_ulong(v))                                                          \
                         : "memory");                                                                        \
        return as_##T(old);                                                                                  \
    }                                                                                                        \
    OVER T orr_load(volatile S A *p) { return *(volatile S T *)p; }                                          \
    OVER void orr_store(volatile S A *p, T v) { *(volatile S T *)p = v; }
#define ALL64(S, space, T, A, t)                                                                             \
    CAS64(S, space, T, A)                                                                                    \
    RMW64(S, space, T, A, orr_add, ".add.u64")                                                               \
    RMW64(S, space, T, A, orr_and, ".and.b64")                                                               \
    RMW64(S, space, T, A, orr_or, ".or.b64")                                                                 \
    RMW64(S, space, T, A, orr_xor, ".xor.b64")                                                               \
    RMW64(S, space, T, A, orr_min, ".min." t)                                                                \
    RMW64(S, space, T, A, orr_max, ".max." t)                                                                \
    OVER T orr_sub(volatile S A *p, T v) { return orr_add(p, (T)-v); }
#define SPACE64(S, space)                                                                                    \
    ALL64(S, space, long, long, "s64")                                                                       \
    ALL64(S, space, ulong, ulong, "u64")                                                                     \
    ALL64(S, space, long, atomic_long, "s64")                                                                \
    ALL64(S, space, ulong, atomic_ulong, "u64")                                                              \
    CAS64(S, space, double, atomic_double)
SPACE64(__global, ".global")
SPACE64(__local, ".shared")
SPACE64(__generic, "")
#define RMW32(S, space, T, f, op)                                                                            \
    OVER T f(volatile S atomic_##T *p, T v) {                                                                \
        T old;                                                                                               \
        __asm__ volatile("atom" space op " %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");          \
        return old;                                                                                          \
    }
#define ANY32(S, space, T)                                                                                   \
    OVER T orr_cas(volatile S atomic_##T *p, T c, T v) {                                                     \
        uint old;                                                                                            \
        __asm__ volatile("atom" space ".cas.b32 %0, [%1], %2, %3;"                                           \
                         : "=r"(old)                                                                         \
                         : "l"(p), "r"(as_uint(c)), "r"(as_uint(v))                                          \
                         : "memory");                                                                        \
        return as_##T(old);                                                                                  \
    }                                                                                                        \
    OVER T orr_exchange(volatile S atomic_##T *p, T v) {                                                     \
        uint old;                                                                                            \
        __asm__ volatile("atom" space ".exch.b32 %0, [%1], %2;"                                              \
                         : "=r"(old)                                                                         \
                         : "l"(p), "r"(as_uint(v))                                                           \
                         : "memory");                                                                        \
        return as_##T(old);                                                                                  \
    }                                                                                                        \
    OVER T orr_load(volatile S atomic_##T *p) { return *(volatile S T *)p; }                                 \
    OVER void orr_store(volatile S atomic_##T *p, T v) { *(volatile S T *)p = v; }
#define ALL32(S, space, T, t)                                                                                \
    ANY32(S, space, T)                                                                                       \
    RMW32(S, space, T, orr_add, ".add.u32")                                                                  \
    RMW32(S, space, T, orr_and, ".and.b32")                                                                  \
    RMW32(S, space, T, orr_or, ".or.b32")                                                                    \
    RMW32(S, space, T, orr_xor, ".xor.b32")                                                                  \
    RMW32(S, space, T, orr_min, ".min." t)                                                                   \
    RMW32(S, space, T, orr_max, ".max." t)                                                                   \
    OVER T orr_sub(volatile S atomic_##T *p, T v) { return orr_add(p, (T)-v); }
#define SPACE32(S, space) ALL32(S, space, int, "s32") ALL32(S, space, uint, "u32") ANY32(S, space, float)
SPACE32(__global, ".global")
SPACE32(__local, ".shared")
SPACE32(__generic, "")

// cl_khr_int64_base_atomics and cl_khr_int64_extended_atomics
#define ATOM(S, T)                                                                                           \
    OVER T atom_add(volatile S T *p, T v) { return orr_add(p, v); }                                          \
    OVER T atom_sub(volatile S T *p, T v) { return orr_sub(p, v); }                                          \
    OVER T atom_inc(volatile S T *p) { return orr_add(p, (T)1); }                                            \
    OVER T atom_dec(volatile S T *p) { return orr_sub(p, (T)1); }                                            \
    OVER T atom_xchg(volatile S T *p, T v) { return orr_exchange(p, v); }                                    \
    OVER T atom_min(volatile S T *p, T v) { return orr_min(p, v); }                                          \
    OVER T atom_max(volatile S T *p, T v) { return orr_max(p, v); }                                          \
    OVER T atom_and(volatile S T *p, T v) { return orr_and(p, v); }                                          \
    OVER T atom_or(volatile S T *p, T v) { return orr_or(p, v); }                                            \
    OVER T atom_xor(volatile S T *p, T v) { return orr_xor(p, v); }                                          \
    OVER T atom_cmpxchg(volatile S T *p, T c, T v) { return orr_cas(p, c, v); }
ATOM(__global, long)
ATOM(__global, ulong)
ATOM(__local, long)
ATOM(__local, ulong)

#define SAME_BITS(T, U) OVER bool orr_same(T a, T b) { return as_##U(a) == as_##U(b); }
SAME_BITS(int, uint) SAME_BITS(uint, uint) SAME_BITS(float, uint)
SAME_BITS(long, ulong) SAME_BITS(ulong, ulong) SAME_BITS(double, ulong)

// OpenCL C 2.0's. All are executed in one order that everyone sees, which any order that is asked for allows.
#define A20(S, T)                                                                                            \
    OVER void atomic_init(volatile S atomic_##T *p, T v) { orr_store(p, v); }              \
    OVER T atomic_load(volatile S atomic_##T *p) { return orr_load(p); }                   \
    OVER T atomic_load_explicit(volatile S atomic_##T *p, memory_order o) { return orr_load(p); } \
    OVER T atomic_load_explicit(volatile S atomic_##T *p, memory_order o, memory_scope s) {                  \
        return orr_load(p);                                                                \
    }                                                                                                        \
    OVER void atomic_store(volatile S atomic_##T *p, T v) { orr_store(p, v); }             \
    OVER void atomic_store_explicit(volatile S atomic_##T *p, T v, memory_order o) {                         \
        orr_store(p, v);                                                                   \
    }                                                                                                        \
    OVER void atomic_store_explicit(volatile S atomic_##T *p, T v, memory_order o, memory_scope s) {         \
        orr_store(p, v);                                                                   \
    }                                                                                                        \
    A20F(S, T, atomic_exchange, orr_exchange)                                                    \
    A20C(S, T, strong) A20C(S, T, weak)
#define A20F(S, T, name, f)                                                                                  \
    OVER T name(volatile S atomic_##T *p, T v) { return f(p, v); }                                     \
    OVER T name##_explicit(volatile S atomic_##T *p, T v, memory_order o) { return f(p, v); }          \
    OVER T name##_explicit(volatile S atomic_##T *p, T v, memory_order o, memory_scope s) { return f(p, v); }
#define A20D(S, T, E, how)                                                                                   \
    OVER bool atomic_compare_exchange_##how(volatile S atomic_##T *p, E T *e, T v) {                         \
        T was = *e, is = orr_cas(p, was, v);                                                                 \
        *e = is;                                                                                             \
        return orr_same(is, was);                                                                            \
    }                                                                                                        \
    OVER bool atomic_compare_exchange_##how##_explicit(volatile S atomic_##T *p, E T *e, T v, memory_order o, \
                                                       memory_order f) {                                     \
        return atomic_compare_exchange_##how(p, e, v);                                                       \
    }                                                                                                        \
    OVER bool atomic_compare_exchange_##how##_explicit(volatile S atomic_##T *p, E T *e, T v, memory_order o, \
                                                       memory_order f, memory_scope s) {                     \
        return atomic_compare_exchange_##how(p, e, v);                                                       \
    }
#define A20C(S, T, how) A20D(S, T, __private, how) A20D(S, T, __global, how) A20D(S, T, __local, how)
#define A20I(S, T)                                                                                           \
    A20(S, T)                                                                                                \
    A20F(S, T, atomic_fetch_add, orr_add) A20F(S, T, atomic_fetch_sub, orr_sub) \
    A20F(S, T, atomic_fetch_or, orr_or) A20F(S, T, atomic_fetch_xor, orr_xor) \
    A20F(S, T, atomic_fetch_and, orr_and) A20F(S, T, atomic_fetch_min, orr_min) \
    A20F(S, T, atomic_fetch_max, orr_max)
#define A20S(S)                                                                                              \
    A20I(S, int) A20I(S, uint) A20I(S, long) A20I(S, ulong) A20(S, float) A20(S, double)                     \
    OVER bool atomic_flag_test_and_set(volatile S atomic_flag *p) { return orr_exchange(p, 1); } \
    OVER bool atomic_flag_test_and_set_explicit(volatile S atomic_flag *p, memory_order o) {                 \
        return orr_exchange(p, 1);                                                         \
    }                                                                                                        \
    OVER bool atomic_flag_test_and_set_explicit(volatile S atomic_flag *p, memory_order o, memory_scope s) { \
        return orr_exchange(p, 1);                                                         \
    }                                                                                                        \
    OVER void atomic_flag_clear(volatile S atomic_flag *p) { orr_store(p, 0); }            \
    OVER void atomic_flag_clear_explicit(volatile S atomic_flag *p, memory_order o) { orr_store(p, 0); } \
    OVER void atomic_flag_clear_explicit(volatile S atomic_flag *p, memory_order o, memory_scope s) {        \
        orr_store(p, 0);                                                                   \
    }
A20S(__global)
A20S(__local)
A20S(__generic)

// ---- sub-groups -------------------------------------------------------------------------------------
// A sub-group is a warp: work-items in the order of their local linear id, 32 at a time.
#define LANES 32
static uint group_items(void) { return (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2)); }
OVER uint get_sub_group_local_id(void) { return (uint)get_local_linear_id() % LANES; }
OVER uint get_sub_group_id(void) { return (uint)get_local_linear_id() / LANES; }
OVER uint get_num_sub_groups(void) { return (group_items() + LANES - 1) / LANES; }
OVER uint get_enqueued_num_sub_groups(void) { return get_num_sub_groups(); }
OVER uint get_max_sub_group_size(void) { return min(group_items(), (uint)LANES); }
OVER uint get_sub_group_size(void) { return min((uint)LANES, group_items() - get_sub_group_id() * LANES); }
static uint everyone(void) {
    uint n = get_sub_group_size();
    return n == 32 ? ~0u : (1u << n) - 1;
}
OVER void sub_group_barrier(cl_mem_fence_flags f) {
    __asm__ volatile("bar.warp.sync %0;" ::"r"(everyone()) : "memory");
}
OVER void sub_group_barrier(cl_mem_fence_flags f, memory_scope s) { sub_group_barrier(f); }
static uint shuffle(uint v, uint lane) {
    uint x;
    __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;" : "=r"(x) : "r"(v), "r"(lane), "r"(everyone()));
    return x;
}
static int pick(int v, uint lane) { return (int)shuffle((uint)v, lane); }
#define PICK32(T) OVER T from_lane(T v, uint lane) { return as_##T(shuffle(as_uint(v), lane)); }
#define PICK64(T)                                                                                            \
    OVER T from_lane(T v, uint lane) {                                                                       \
        uint2 x = as_uint2(v);                                                                               \
        return as_##T((uint2)(shuffle(x.x, lane), shuffle(x.y, lane)));                                      \
    }
PICK32(int)
PICK32(uint)
PICK32(float)
PICK64(long)
PICK64(ulong)
PICK64(double)
OVER half from_lane(half v, uint lane) { return as_half((ushort)shuffle(as_ushort(v), lane)); }
#define SCAN(T, name, op, zero)                                                                              \
    OVER T sub_group_scan_inclusive_##name(T v) {                                                            \
        uint me = get_sub_group_local_id();                                                                  \
        for (uint d = 1; d < LANES; d *= 2) {                                                                \
            T other = from_lane(v, me >= d ? me - d : me);                                                   \
            if (me >= d) v = op(other, v);                                                                   \
        }                                                                                                    \
        return v;                                                                                            \
    }                                                                                                        \
    OVER T sub_group_scan_exclusive_##name(T v) {                                                            \
        uint me = get_sub_group_local_id();                                                                  \
        T all = sub_group_scan_inclusive_##name(v), x = from_lane(all, me ? me - 1 : 0);                     \
        return me ? x : (T)zero;                                                                             \
    }                                                                                                        \
    OVER T sub_group_reduce_##name(T v) {                                                                    \
        return from_lane(sub_group_scan_inclusive_##name(v), get_sub_group_size() - 1);                      \
    }
#define PLUS(a, b) ((a) + (b))
#define LESS(a, b) ((b) < (a) ? (b) : (a))
#define MORE(a, b) ((a) < (b) ? (b) : (a))
#define SUB(T, lowest, highest)                                                                              \
    OVER T sub_group_broadcast(T v, uint lane) { return from_lane(v, lane); }                                \
    SCAN(T, add, PLUS, 0) SCAN(T, min, LESS, highest) SCAN(T, max, MORE, lowest)
SUB(int, INT_MIN, INT_MAX)
SUB(uint, 0, UINT_MAX)
SUB(long, LONG_MIN, LONG_MAX)
SUB(ulong, 0, ULONG_MAX)
SUB(float, -INFINITY, INFINITY)
SUB(double, -INFINITY, INFINITY)
SUB(half, -INFINITY, INFINITY)
OVER int sub_group_all(int v) { return sub_group_scan_inclusive_min(v != 0) && sub_group_reduce_min((int)(v != 0)); }
OVER int sub_group_any(int v) { return sub_group_reduce_max((int)(v != 0)); }

// ---- work-group functions ---------------------------------------------------------------------------
// Each sub-group works by itself, its last work-item says what came out, and all look at what those before have.
// The place for that is in local memory, once for all work-group functions of a kernel.
__attribute__((noinline)) static __local ulong *group_place(void) {
    ulong p;
    __asm__ volatile("{ .shared .align 8 .b8 __orrery_group[264]; mov.u64 %0, __orrery_group; }" : "=l"(p));
    return (__local ulong *)p;
}
#define GROUP_SCAN(T, name, op, zero)                                                                        \
    OVER T work_group_scan_inclusive_##name(T v) {                                                           \
        __local T *all = (__local T *)group_place();                                                         \
        uint me = get_sub_group_id(), last = get_sub_group_size() - 1;                                       \
        v = sub_group_scan_inclusive_##name(v);                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        if (get_sub_group_local_id() == last) all[me] = v;                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        T before = (T)zero;                                                                                  \
        for (uint i = 0; i < me; i++) before = op(before, all[i]);                                           \
        return op(before, v);                                                                                \
    }                                                                                                        \
    OVER T work_group_scan_exclusive_##name(T v) {                                                           \
        __local T *all = (__local T *)group_place();                                                         \
        uint me = get_sub_group_id(), last = get_sub_group_size() - 1;                                       \
        T mine = sub_group_scan_exclusive_##name(v);                                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        if (get_sub_group_local_id() == last) all[me] = op(mine, v);                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        T before = (T)zero;                                                                                  \
        for (uint i = 0; i < me; i++) before = op(before, all[i]);                                           \
        return op(before, mine);                                                                             \
    }                                                                                                        \
    OVER T work_group_reduce_##name(T v) {                                                                   \
        __local T *all = (__local T *)group_place();                                                         \
        v = sub_group_reduce_##name(v);                                                                      \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        if (get_sub_group_local_id() == 0) all[get_sub_group_id()] = v;                                      \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        T sum = (T)zero;                                                                                     \
        for (uint i = 0; i < get_num_sub_groups(); i++) sum = op(sum, all[i]);                               \
        return sum;                                                                                          \
    }
#define GROUP(T, lowest, highest)                                                                            \
    static T group_broadcast_##T(T v, bool mine) {                                                           \
        __local T *place = (__local T *)group_place();                                                       \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        if (mine) *place = v;                                                                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        return *place;                                                                                       \
    }                                                                                                        \
    OVER T work_group_broadcast(T v, size_t x) { return group_broadcast_##T(v, get_local_id(0) == x); }      \
    OVER T work_group_broadcast(T v, size_t x, size_t y) {                                                   \
        return group_broadcast_##T(v, get_local_id(0) == x && get_local_id(1) == y);                         \
    }                                                                                                        \
    OVER T work_group_broadcast(T v, size_t x, size_t y, size_t z) {                                         \
        return group_broadcast_##T(v, get_local_id(0) == x && get_local_id(1) == y && get_local_id(2) == z); \
    }                                                                                                        \
    GROUP_SCAN(T, add, PLUS, 0) GROUP_SCAN(T, min, LESS, highest) GROUP_SCAN(T, max, MORE, lowest)
GROUP(int, INT_MIN, INT_MAX)
GROUP(uint, 0, UINT_MAX)
GROUP(long, LONG_MIN, LONG_MAX)
GROUP(ulong, 0, ULONG_MAX)
GROUP(float, -INFINITY, INFINITY)
GROUP(double, -INFINITY, INFINITY)
GROUP(half, -INFINITY, INFINITY)
OVER int work_group_all(int v) { return work_group_reduce_min((int)(v != 0)); }
OVER int work_group_any(int v) { return work_group_reduce_max((int)(v != 0)); }

// ---- half precision ---------------------------------------------------------------------------------
// Computed in single precision and rounded, which is more exact than cl_khr_fp16 asks for.
// The functions that these call must be declared: clang declares a built-in function by itself only as long
// as the program has none of that name.
#define EACH(M, f) M(f, ) M(f, 2) M(f, 3) M(f, 4) M(f, 8) M(f, 16)
#define H1(f) EACH(D1, f) EACH(HV1, f)
#define H2(f) EACH(D2, f) EACH(HV2, f)
#define H3(f) EACH(D3, f) EACH(HV3, f)
#define DECL __attribute__((overloadable, const))
#define D1(f, n) DECL float##n f(float##n);
#define D2(f, n) DECL float##n f(float##n, float##n);
#define D3(f, n) DECL float##n f(float##n, float##n, float##n);
#define HV1(f, n) OVER half##n f(half##n x) { return hcv##n(f(fcv##n(x))); }
#define HV2(f, n) OVER half##n f(half##n x, half##n y) { return hcv##n(f(fcv##n(x), fcv##n(y))); }
#define HV3(f, n)                                                                                            \
    OVER half##n f(half##n x, half##n y, half##n z) { return hcv##n(f(fcv##n(x), fcv##n(y), fcv##n(z))); }
static float fcv(half x) { return (float)x; }
static half hcv(float x) { return (half)x; }
#define CVS(n)                                                                                               \
    static float##n fcv##n(half##n x) { return __builtin_convertvector(x, float##n); }                       \
    static half##n hcv##n(float##n x) { return __builtin_convertvector(x, half##n); }
CVS(2)
CVS(3)
CVS(4)
CVS(8)
CVS(16)
H1(acos) H1(acosh) H1(acospi) H1(asin) H1(asinh) H1(asinpi) H1(atan) H1(atanh) H1(atanpi) H1(cbrt) H1(ceil)
H1(cos) H1(cosh) H1(cospi) H1(degrees) H1(erf) H1(erfc) H1(exp) H1(exp10) H1(exp2) H1(expm1) H1(fabs) H1(floor)
H1(lgamma) H1(log) H1(log10) H1(log1p) H1(log2) H1(radians) H1(rint) H1(round) H1(rsqrt) H1(sign) H1(sin)
H1(sinh) H1(sinpi) H1(sqrt) H1(tan) H1(tanh) H1(tanpi) H1(tgamma) H1(trunc)
H2(atan2) H2(copysign) H2(fdim) H2(fmax) H2(fmin) H2(fmod) H2(hypot) H2(max) H2(min) H2(pow) H2(powr)
H2(remainder) H2(step)
H3(clamp) H3(mix) H3(smoothstep)
// A GPU that has halves has an instruction for fma of one and of two, which round once.
static half fma1(half x, half y, half z) { return __builtin_fmaf16(x, y, z); }
static half2 fma2(half2 x, half2 y, half2 z) {
    uint v;
    __asm__("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(as_uint(x)), "r"(as_uint(y)), "r"(as_uint(z)));
    return as_half2(v);
}
static half3 fma3(half3 x, half3 y, half3 z) { return (half3)(fma2(x.xy, y.xy, z.xy), fma1(x.z, y.z, z.z)); }
#define HALVES(n, m)                                                                                         \
    static half##n fma##n(half##n x, half##n y, half##n z) {                                                 \
        return (half##n)(fma##m(x.lo, y.lo, z.lo), fma##m(x.hi, y.hi, z.hi));                                \
    }
HALVES(4, 2) HALVES(8, 4) HALVES(16, 8)
#define HFMA(n, m)                                                                                           \
    OVER half##n fma(half##n x, half##n y, half##n z) { return fma##m(x, y, z); }                            \
    OVER half##n mad(half##n x, half##n y, half##n z) { return fma##m(x, y, z); }
HFMA(, 1) HFMA(2, 2) HFMA(3, 3) HFMA(4, 4) HFMA(8, 8) HFMA(16, 16)
OVER half dot(half x, half y) { return x * y; }
#define HCONV(T)                                                                                             \
    HCONVN(T, ) HCONVN(T, 2) HCONVN(T, 3) HCONVN(T, 4) HCONVN(T, 8) HCONVN(T, 16)
#define HCONVN(T, n)                                                                                         \
    OVER half##n convert_half##n(T##n x) { return CAST##n(half, x); }                                        \
    OVER half##n convert_half##n##_rte(T##n x) { return CAST##n(half, x); }                                  \
    OVER T##n convert_##T##n(half##n x) { return CAST##n(T, x); }
#define CAST(T, x) ((T)(x))
#define CAST2(T, x) __builtin_convertvector(x, T##2)
#define CAST3(T, x) __builtin_convertvector(x, T##3)
#define CAST4(T, x) __builtin_convertvector(x, T##4)
#define CAST8(T, x) __builtin_convertvector(x, T##8)
#define CAST16(T, x) __builtin_convertvector(x, T##16)
HCONV(char)
HCONV(uchar)
HCONV(short)
HCONV(ushort)
HCONV(int)
HCONV(uint)
HCONV(long)
HCONV(ulong)
HCONV(float)
HCONV(double)
#define HH(n) OVER half##n convert_half##n(half##n x) { return x; }
HH() HH(2) HH(3) HH(4) HH(8) HH(16)
#define HLOAD(S, n)                                                                                          \
    OVER half##n vload##n(size_t i, const S half *p) {                                                       \
        half##n v;                                                                                           \
        for (int k = 0; k < n; k++) v[k] = p[i * n + k];                                                     \
        return v;                                                                                            \
    }
#define HSTORE(S, n)                                                                                         \
    OVER void vstore##n(half##n v, size_t i, S half *p) {                                                    \
        for (int k = 0; k < n; k++) p[i * n + k] = v[k];                                                     \
    }
#define HMEM(S) HLOAD(S, 2) HLOAD(S, 3) HLOAD(S, 4) HLOAD(S, 8) HLOAD(S, 16) HSTORES(S)
#define HSTORES(S) HSTORE(S, 2) HSTORE(S, 3) HSTORE(S, 4) HSTORE(S, 8) HSTORE(S, 16)
HMEM(__global)
HMEM(__local)
HMEM(__private)
HLOAD(__constant, 2) HLOAD(__constant, 3) HLOAD(__constant, 4) HLOAD(__constant, 8) HLOAD(__constant, 16)

// ---- copies of work-groups --------------------------------------------------------------------------
// libclc has them for other types.
#define GROUP_COPY(T)                                                                                        \
    OVER event_t async_work_group_copy(__local T *to, const __global T *from, size_t n, event_t e) {         \
        for (size_t i = get_local_linear_id(); i < n; i += group_items()) to[i] = from[i];                   \
        return e;                                                                                            \
    }                                                                                                        \
    OVER event_t async_work_group_copy(__global T *to, const __local T *from, size_t n, event_t e) {         \
        for (size_t i = get_local_linear_id(); i < n; i += group_items()) to[i] = from[i];                   \
        return e;                                                                                            \
    }                                                                                                        \
    OVER event_t async_work_group_strided_copy(__local T *to, const __global T *from, size_t n, size_t step, \
                                               event_t e) {                                                  \
        for (size_t i = get_local_linear_id(); i < n; i += group_items()) to[i] = from[i * step];            \
        return e;                                                                                            \
    }                                                                                                        \
    OVER event_t async_work_group_strided_copy(__global T *to, const __local T *from, size_t n, size_t step, \
                                               event_t e) {                                                  \
        for (size_t i = get_local_linear_id(); i < n; i += group_items()) to[i * step] = from[i];            \
        return e;                                                                                            \
    }                                                                                                        \
    OVER void prefetch(const __global T *p, size_t n) {}
GROUP_COPY(char3) GROUP_COPY(uchar3) GROUP_COPY(short3) GROUP_COPY(ushort3) GROUP_COPY(int3) GROUP_COPY(uint3)
GROUP_COPY(long3) GROUP_COPY(ulong3) GROUP_COPY(float3) GROUP_COPY(double3)
GROUP_COPY(half) GROUP_COPY(half2) GROUP_COPY(half3) GROUP_COPY(half4) GROUP_COPY(half8) GROUP_COPY(half16)
