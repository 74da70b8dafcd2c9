// The functions that ptxas calls for quotients and roots which the short way cannot do, in PTX, and the text
// that calls them. They follow the machine code of ptxas 13.0 (sm_90) arm by arm, so that lanes part where
// they do there. What they compute is not used: the instruction itself has the result already.
#include "ptx/longways.h"

#include <stdlib.h>
#include <string.h>

// clang-format off
static const char div_f32[] =
    ".func (.param .b32 r) orr_long_div_f32(.param .b32 a, .param .b32 b) "
    "{ "
    ".reg .pred p, q, s, o; "
    ".reg .b32 x, y, xx, yy, ea, eb, da, db, k, e, t, u, v, w, g; "
    ".reg .f32 fx, fy, ax, ay, sx, sy, m, y0, c, q0, q1, e0, e1, rz, rm, rp; "
    "ld.param.b32 x, [a]; "
    "ld.param.b32 y, [b]; "
    "shr.u32 eb, y, 23; "
    "and.b32 eb, eb, 255; "
    "shr.u32 ea, x, 23; "
    "and.b32 ea, ea, 255; "
    "add.s32 db, eb, -1; "
    "add.s32 da, ea, -1; "
    "mov.b32 xx, x; "
    "mov.b32 yy, y; "
    "mov.b32 k, 0; "
    "setp.gt.u32 q, db, 253; "
    "setp.gt.or.u32 p, da, 253, q; "
    "@!p bra $scaled; "
    "mov.b32 fx, x; "
    "mov.b32 fy, y; "
    "abs.ftz.f32 ax, fx; "
    "abs.ftz.f32 ay, fy; "
    "setp.gtu.ftz.f32 p, ax, 0f7F800000; "
    "setp.gtu.ftz.f32 q, ay, 0f7F800000; "
    "or.pred p, p, q; "
    "@p bra $nan; "
    "or.b32 t, x, y; "
    "and.b32 t, t, 0x7fffffff; "
    "setp.eq.s32 p, t, 0; "
    "@p bra $invalid; "
    "setp.neu.ftz.f32 s, ax, 0f7F800000; "
    "setp.neu.ftz.f32 q, ay, 0f7F800000; "
    "or.pred o, s, q; "
    "@!o bra $invalid; "
    "and.b32 t, x, 0x7fffffff; "
    "setp.eq.s32 p, t, 0; "
    "not.pred q, q; "
    "or.pred p, p, q; "
    "@p bra $zero; "
    "and.b32 t, y, 0x7fffffff; "
    "setp.eq.s32 p, t, 0; "
    "not.pred s, s; "
    "or.pred p, p, s; "
    "@p bra $infinite; "
    "setp.ge.s32 p, da, 0; "
    "setp.ge.s32 q, db, 0; "
    "@!p fma.rn.f32 sx, fx, 0f5F800000, 0f00000000; "
    "@!p mov.b32 xx, sx; "
    "@!p mov.b32 k, -64; "
    "@!q fma.rn.f32 sy, fy, 0f5F800000, 0f00000000; "
    "@!q mov.b32 yy, sy; "
    "@!q add.s32 k, k, 64; "
    "$scaled: "
    "shl.b32 t, eb, 23; "
    "add.s32 t, t, 0xc0800000; "
    "sub.s32 t, yy, t; "
    "add.s32 u, ea, -127; "
    "sub.s32 e, u, eb; "
    "add.s32 e, e, 127; "
    "mad.lo.s32 v, u, -8388608, xx; "
    "add.s32 e, e, k; "
    "mov.b32 fx, v; "
    "mov.b32 fy, t; "
    "rcp.approx.ftz.f32 y0, fy; "
    "sub.ftz.f32 m, 0f80000000, fy; "
    "fma.rn.f32 c, y0, m, 0f3F800000; "
    "fma.rn.f32 c, y0, c, y0; "
    "fma.rn.f32 q0, fx, c, 0f00000000; "
    "fma.rn.f32 e0, m, q0, fx; "
    "fma.rn.f32 q1, c, e0, q0; "
    "fma.rn.f32 e1, m, q1, fx; "
    "fma.rn.f32 rz, c, e1, q1; "
    "mov.b32 g, rz; "
    "shr.u32 t, g, 23; "
    "and.b32 t, t, 255; "
    "add.s32 w, t, e; "
    "add.s32 t, w, -1; "
    "setp.ge.u32 p, t, 254; "
    "@!p bra $fits; "
    "setp.gt.s32 p, w, 254; "
    "@p bra $over; "
    "setp.ge.s32 p, w, 1; "
    "@p bra $done; "
    "setp.ge.s32 p, w, -24; "
    "and.b32 g, g, 0x80000000; "
    "@!p bra $done; "
    "fma.rz.f32 rz, c, e1, q1; "
    "fma.rm.f32 rm, c, e1, q1; "
    "fma.rp.f32 rp, c, e1, q1; "
    "mov.b32 t, rz; "
    "and.b32 t, t, 0x7fffff; "
    "or.b32 t, t, 0x800000; "
    "add.s32 u, w, 32; "
    "neg.s32 v, w; "
    "setp.neu.ftz.f32 p, rp, rm; "
    "shl.b32 u, t, u; "
    "setp.ne.s32 s, w, 0; "
    "selp.b32 v, v, 0, s; "
    "setp.ne.and.s32 q, u, 0, s; "
    "shr.u32 v, t, v; "
    "or.pred p, p, q; "
    "shr.u32 u, v, 1; "
    "selp.b32 t, 1, 0, p; "
    "and.b32 w, u, 1; "
    "or.b32 t, t, w; "
    "and.b32 t, t, v; "
    "add.s32 t, u, t; "
    "or.b32 g, t, g; "
    "bra $done; "
    "$over: "
    "and.b32 g, g, 0x80000000; "
    "or.b32 g, g, 0x7f800000; "
    "bra $done; "
    "$fits: "
    "shl.b32 t, e, 23; "
    "add.s32 g, t, g; "
    "$done: "
    "bra $end; "
    "$infinite: "
    "xor.b32 g, x, y; "
    "and.b32 g, g, 0x80000000; "
    "or.b32 g, g, 0x7f800000; "
    "bra $end; "
    "$zero: "
    "xor.b32 g, x, y; "
    "and.b32 g, g, 0x80000000; "
    "bra $end; "
    "$invalid: "
    "rsqrt.approx.ftz.f32 rz, 0fFFFFFFFF; "
    "mov.b32 g, rz; "
    "bra $end; "
    "$nan: "
    "add.ftz.f32 rz, fx, fy; "
    "mov.b32 g, rz; "
    "$end: "
    "st.param.b32 [r], g; "
    "ret; "
    "} ";
static const char rcp_f32[] =
    ".func (.param .b32 r) orr_long_rcp_f32(.param .b32 a) "
    "{ "
    ".reg .pred p, q, s, o; "
    ".reg .b32 x, t, e, k, u, v, w, g, h; "
    ".reg .f32 fx, f, y0, c, rm, rp; "
    "ld.param.b32 x, [a]; "
    "mov.b32 fx, x; "
    "shl.b32 t, x, 1; "
    "shr.u32 e, t, 24; "
    "setp.ne.u32 p, e, 0; "
    "@p bra $normal; "
    "shl.b32 t, x, 1; "
    "setp.ne.s32 q, t, 0; "
    "@q fma.rn.f32 f, fx, 0f5F800000, 0f00000000; "
    "@!q rcp.approx.ftz.f32 c, fx; "
    "@q rcp.approx.ftz.f32 y0, f; "
    "@q fma.rn.f32 f, f, y0, 0fBF800000; "
    "@q sub.ftz.f32 f, 0f80000000, f; "
    "@q fma.rn.f32 f, y0, f, y0; "
    "@q fma.rn.f32 c, f, 0f5F800000, 0f00000000; "
    "mov.b32 g, c; "
    "bra $end; "
    "$normal: "
    "add.s32 k, e, -253; "
    "setp.gt.u32 p, k, 1; "
    "@p bra $other; "
    "and.b32 u, x, 0x7fffff; "
    "or.b32 u, u, 0x3f800000; "
    "mov.b32 f, u; "
    "shl.b32 h, 3, k; "
    "rcp.approx.ftz.f32 y0, f; "
    "fma.rn.f32 f, f, y0, 0fBF800000; "
    "sub.ftz.f32 f, 0f80000000, f; "
    "fma.rm.f32 rm, y0, f, y0; "
    "fma.rp.f32 rp, y0, f, y0; "
    "mov.b32 v, rm; "
    "and.b32 v, v, 0x7fffff; "
    "setp.neu.ftz.f32 p, rm, rp; "
    "or.b32 v, v, 0x800000; "
    "selp.b32 w, -1, 0, p; "
    "and.b32 u, h, v; "
    "neg.s32 w, w; "
    "shr.u32 u, u, k; "
    "and.b32 t, k, v; "
    "or.b32 t, w, t; "
    "setp.ne.s32 q, t, 0; "
    "and.b32 t, u, 1; "
    "setp.ne.s32 s, t, 0; "
    "and.b32 t, u, 2; "
    "setp.ne.s32 o, t, 0; "
    "or.pred q, q, o; "
    "and.pred s, s, q; "
    "selp.b32 t, 1, 0, s; "
    "neg.s32 t, t; "
    "setp.ge.s32 p, t, 0; "
    "add.s32 t, e, -252; "
    "shr.u32 g, v, t; "
    "@!p add.s32 g, g, 1; "
    "and.b32 t, x, 0x7fffff; "
    "setp.ne.s32 q, t, 0; "
    "@!q shl.b32 g, g, 1; "
    "and.b32 t, x, 0x80000000; "
    "or.b32 g, g, t; "
    "bra $end; "
    "$other: "
    "rcp.approx.ftz.f32 c, fx; "
    "mov.b32 g, c; "
    "$end: "
    "st.param.b32 [r], g; "
    "ret; "
    "} ";
static const char sqrt_f32[] =
    ".func (.param .b32 r) orr_long_sqrt_f32(.param .b32 a) "
    "{ "
    ".reg .pred p; "
    ".reg .b32 x, t, g; "
    ".reg .f32 fx, ax, f, y0, h, m, n, c; "
    "ld.param.b32 x, [a]; "
    "mov.b32 fx, x; "
    "mov.b32 g, x; "
    "and.b32 t, x, 0x7fffffff; "
    "setp.eq.s32 p, t, 0; "
    "@p bra $end; "
    "setp.geu.ftz.f32 p, fx, 0f00000000; "
    "mov.b32 g, 0x7fffffff; "
    "@!p bra $end; "
    "abs.ftz.f32 ax, fx; "
    "setp.gtu.ftz.f32 p, ax, 0f7F800000; "
    "@p add.ftz.f32 c, fx, 0f3F800000; "
    "@p mov.b32 g, c; "
    "@p bra $end; "
    "setp.neu.ftz.f32 p, ax, 0f7F800000; "
    "mov.b32 c, x; "
    "@p fma.rn.f32 f, fx, 0f5F800000, 0f00000000; "
    "@p rsqrt.approx.ftz.f32 y0, f; "
    "@p mul.ftz.f32 m, f, y0; "
    "@p mul.ftz.f32 h, y0, 0f3F000000; "
    "@p sub.ftz.f32 n, 0f80000000, m; "
    "@p fma.rn.f32 n, m, n, f; "
    "@p fma.rn.f32 n, n, h, m; "
    "@p mul.ftz.f32 c, n, 0f2F800000; "
    "mov.b32 g, c; "
    "$end: "
    "st.param.b32 [r], g; "
    "ret; "
    "} ";
static const char div_f64[] =
    ".func (.param .b64 r) orr_long_div_f64(.param .b64 a, .param .b64 b) "
    "{ "
    ".reg .pred p, q, s, o, z; "
    ".reg .b32 xl, xh, yl, yh, ea, eb, ca, cb, t, u, v, w, gl, gh, k; "
    ".reg .f32 fxh, fyh, fh, f2, ax, ay; "
    ".reg .f64 x, y, m, n, i, c, d, e, g, h; "
    ".reg .b64 l; "
    "ld.param.f64 x, [a]; "
    "ld.param.f64 y, [b]; "
    "mov.b64 {xl, xh}, x; "
    "mov.b64 {yl, yh}, y; "
    "mov.b32 fyh, yh; "
    "mov.b32 fxh, xh; "
    "abs.f32 ay, fyh; "
    "abs.f32 ax, fxh; "
    "setp.geu.f32 p, ay, 0f00100000; "
    "setp.geu.f32 z, ax, 0f00100000; "
    "and.b32 t, yh, 0x800fffff; "
    "or.b32 t, t, 0x3ff00000; "
    "and.b32 ea, xh, 0x7ff00000; "
    "and.b32 eb, yh, 0x7ff00000; "
    "mov.b64 m, {yl, t}; "
    "@!p mul.f64 m, y, 0d7FE0000000000000; "
    "setp.ge.u32 q, ea, eb; "
    "selp.b32 k, 0x1ca00000, 0x63400000, q; "
    "and.b32 u, xh, 0x800fffff; "
    "or.b32 u, u, k; "
    "mov.b64 n, {xl, u}; "
    "@!z and.b32 v, yh, 0x7ff00000; "
    "@!z setp.ge.u32 s, ea, v; "
    "@!z selp.b32 w, 0x1ca00000, 0x63400000, s; "
    "@!z and.b32 t, xh, 0x80000000; "
    "@!z or.b32 w, w, t; "
    "@!z or.b32 w, w, 0x100000; "
    "@!z mov.b64 h, {0, w}; "
    "@!z neg.f64 h, h; "
    "@!z fma.rn.f64 n, n, 0d4000000000000000, h; "
    "rcp.approx.ftz.f64 i, m; "
    "neg.f64 e, m; "
    "fma.rn.f64 d, i, e, 0d3FF0000000000000; "
    "fma.rn.f64 d, d, d, d; "
    "fma.rn.f64 i, i, d, i; "
    "fma.rn.f64 d, i, e, 0d3FF0000000000000; "
    "fma.rn.f64 i, i, d, i; "
    "mov.b32 ca, ea; "
    "mov.b32 cb, eb; "
    "mov.b64 {t, u}, m; "
    "@!p and.b32 cb, u, 0x7ff00000; "
    "mov.b64 {t, u}, n; "
    "@!z and.b32 ca, u, 0x7ff00000; "
    "mul.f64 c, i, n; "
    "add.s32 t, cb, -1; "
    "add.s32 u, ca, -1; "
    "fma.rn.f64 g, c, e, n; "
    "setp.gt.u32 s, u, 0x7feffffe; "
    "setp.gt.or.u32 s, t, 0x7feffffe, s; "
    "fma.rn.f64 g, i, g, c; "
    "@s bra $special; "
    "and.b32 t, yh, 0x7ff00000; "
    "sub.s32 u, ea, t; "
    "max.s32 u, u, 0xb9600000; "
    "setp.ge.u32 p, ea, t; "
    "min.s32 u, u, 0x46a00000; "
    "selp.b32 k, 0x1ca00000, 0x63400000, p; "
    "sub.s32 k, u, k; "
    "add.s32 v, k, 0x7fe00000; "
    "mov.b64 h, {0, v}; "
    "mul.f64 c, g, h; "
    "mov.b64 {gl, gh}, c; "
    "mov.b32 fh, gh; "
    "abs.f32 fh, fh; "
    "setp.gtu.f32 p, fh, 0f00100000; "
    "@p bra $end; "
    "fma.rn.f64 d, g, e, n; "
    "mov.b64 {t, u}, d; "
    "mov.b32 fh, u; "
    "setp.neu.f32 p, fh, 0f00000000; "
    "xor.b32 w, u, yh; "
    "and.b32 w, w, 0x80000000; "
    "or.b32 v, w, v; "
    "@!p bra $end; "
    "neg.s32 t, k; "
    "mov.b64 h, {0, v}; "
    "mul.rp.f64 h, g, h; "
    "mov.b64 d, {0, t}; "
    "sub.s32 u, 0xbcd00000, k; "
    "neg.f64 d, d; "
    "fma.rn.f64 d, c, d, g; "
    "mov.b64 {t, v}, h; "
    "xor.b32 w, v, w; "
    "mov.b64 {v, k}, d; "
    "mov.b32 fh, k; "
    "abs.f32 fh, fh; "
    "mov.b32 f2, u; "
    "setp.neu.f32 p, fh, f2; "
    "selp.b32 gl, gl, t, p; "
    "selp.b32 gh, gh, w, p; "
    "bra $end; "
    "$special: "
    "setp.nan.f64 p, x, x; "
    "@p bra $nanx; "
    "setp.nan.f64 p, y, y; "
    "@p bra $nany; "
    "setp.ne.s32 p, ca, cb; "
    "mov.b32 gl, 0; "
    "mov.b32 gh, 0xfff80000; "
    "@!p bra $end; "
    "xor.b32 t, xh, yh; "
    "and.b32 t, t, 0x80000000; "
    "setp.eq.s32 p, ca, 0x7ff00000; "
    "setp.eq.or.s32 p, cb, 0, p; "
    "mov.b32 gh, t; "
    "@p or.b32 gh, t, 0x7ff00000; "
    "mov.b32 gl, 0; "
    "bra $end; "
    "$nany: "
    "or.b32 gh, yh, 0x80000; "
    "mov.b32 gl, yl; "
    "bra $end; "
    "$nanx: "
    "or.b32 gh, xh, 0x80000; "
    "mov.b32 gl, xl; "
    "$end: "
    "mov.b64 l, {gl, gh}; "
    "st.param.b64 [r], l; "
    "ret; "
    "} ";
static const char rcp_f64[] =
    ".func (.param .b64 r) orr_long_rcp_f64(.param .b64 a) "
    "{ "
    ".reg .pred p; "
    ".reg .b32 xl, xh, t, u, gl, gh; "
    ".reg .f64 x, ax, m, e, i, d, g; "
    ".reg .b64 l; "
    "ld.param.f64 x, [a]; "
    "mov.b64 {xl, xh}, x; "
    "abs.f64 ax, x; "
    "setp.gtu.f64 p, ax, 0d7FF0000000000000; "
    "@p bra $nan; "
    "and.b32 t, xh, 0x7fffffff; "
    "add.s32 u, t, -1; "
    "setp.ge.u32 p, u, 0x7fefffff; "
    "xor.b32 gh, xh, 0x7ff00000; "
    "mov.b32 gl, 0; "
    "@p bra $end; "
    "setp.ge.u32 p, t, 0x1000001; "
    "@!p bra $small; "
    "add.s32 t, xh, 0xc0200000; "
    "mov.b64 m, {xl, t}; "
    "rcp.approx.ftz.f64 i, m; "
    "neg.f64 e, m; "
    "fma.rn.f64 d, e, i, 0d3FF0000000000000; "
    "fma.rn.f64 d, d, d, d; "
    "fma.rn.f64 d, i, d, i; "
    "fma.rn.f64 g, e, d, 0d3FF0000000000000; "
    "fma.rn.f64 g, d, g, d; "
    "mul.f64 g, g, 0d0010000000000000; "
    "neg.f64 e, x; "
    "fma.rn.f64 d, e, g, 0d3FF0000000000000; "
    "fma.rn.f64 d, d, d, d; "
    "fma.rn.f64 g, g, d, g; "
    "mov.b64 {gl, gh}, g; "
    "bra $end; "
    "$small: "
    "mul.f64 m, x, 0d4690000000000000; "
    "rcp.approx.ftz.f64 i, m; "
    "neg.f64 e, m; "
    "fma.rn.f64 d, e, i, 0d3FF0000000000000; "
    "fma.rn.f64 d, d, d, d; "
    "fma.rn.f64 d, i, d, i; "
    "fma.rn.f64 g, e, d, 0d3FF0000000000000; "
    "fma.rn.f64 g, d, g, d; "
    "mul.f64 g, g, 0d4690000000000000; "
    "mov.b64 {gl, gh}, g; "
    "bra $end; "
    "$nan: "
    "or.b32 gh, xh, 0x80000; "
    "mov.b32 gl, xl; "
    "$end: "
    "mov.b64 l, {gl, gh}; "
    "st.param.b64 [r], l; "
    "ret; "
    "} ";
static const char sqrt_f64[] =
    ".func (.param .b64 r) orr_long_sqrt_f64(.param .b64 a) "
    "{ "
    ".reg .pred p; "
    ".reg .b32 xl, xh, t, u; "
    ".reg .f64 x, m, i, j, d, h, g, n; "
    ".reg .b64 l; "
    "ld.param.f64 x, [a]; "
    "mov.b64 {xl, xh}, x; "
    "setp.ne.f64 p, x, 0d0000000000000000; "
    "@!p bra $same; "
    "setp.ge.s32 p, xh, 0; "
    "mov.b64 g, 0dFFF8000000000000; "
    "@!p bra $end; "
    "setp.gt.s32 p, xh, 0x7fefffff; "
    "@p bra $same; "
    "mul.f64 m, x, 0d4690000000000000; "
    "rsqrt.approx.ftz.f64 i, m; "
    "mul.f64 d, i, i; "
    "neg.f64 d, d; "
    "fma.rn.f64 d, m, d, 0d3FF0000000000000; "
    "fma.rn.f64 h, d, 0d3FD8000000000000, 0d3FE0000000000000; "
    "mul.f64 d, i, d; "
    "fma.rn.f64 i, h, d, i; "
    "mul.f64 g, m, i; "
    "mov.b64 {t, u}, i; "
    "add.s32 u, u, -1048576; "
    "mov.b64 j, {t, u}; "
    "neg.f64 n, g; "
    "fma.rn.f64 d, g, n, m; "
    "fma.rn.f64 g, j, d, g; "
    "mov.b64 {t, u}, g; "
    "add.s32 u, u, 0xfcb00000; "
    "mov.b64 g, {t, u}; "
    "bra $end; "
    "$same: "
    "add.f64 g, x, x; "
    "$end: "
    "st.param.f64 [r], g; "
    "ret; "
    "} ";
static const char rsqrt_f64[] =
    ".func (.param .b64 r) orr_long_rsqrt_f64(.param .b64 a) "
    "{ "
    ".reg .pred p; "
    ".reg .b32 xl, xh, t, gl, gh; "
    ".reg .f64 x, ax, m, i, d, h, g; "
    ".reg .b64 l; "
    "ld.param.f64 x, [a]; "
    "mov.b64 {xl, xh}, x; "
    "setp.neu.f64 p, x, 0d0000000000000000; "
    "and.b32 t, xh, 0x80000000; "
    "@!p bra $zero; "
    "abs.f64 ax, x; "
    "setp.gtu.f64 p, ax, 0d7FF0000000000000; "
    "@p bra $nan; "
    "setp.ne.s32 p, t, 0; "
    "mov.b32 gl, 0; "
    "mov.b32 gh, 0xfff80000; "
    "@p bra $end; "
    "setp.neu.f64 p, ax, 0d7FF0000000000000; "
    "mov.b32 gl, 0; "
    "mov.b32 gh, 0; "
    "@!p bra $end; "
    "mul.f64 m, x, 0d4350000000000000; "
    "rsqrt.approx.ftz.f64 i, m; "
    "mul.f64 d, i, i; "
    "neg.f64 d, d; "
    "fma.rn.f64 d, m, d, 0d3FF0000000000000; "
    "fma.rn.f64 h, d, 0d3FD8000000000000, 0d3FE0000000000000; "
    "mul.f64 d, i, d; "
    "fma.rn.f64 g, h, d, i; "
    "mul.f64 g, g, 0d41A0000000000000; "
    "mov.b64 {gl, gh}, g; "
    "bra $end; "
    "$nan: "
    "add.f64 g, x, x; "
    "mov.b64 {gl, gh}, g; "
    "bra $end; "
    "$zero: "
    "or.b32 gh, t, 0x7ff00000; "
    "mov.b32 gl, 0; "
    "$end: "
    "mov.b64 l, {gl, gh}; "
    "st.param.b64 [r], l; "
    "ret; "
    "} ";
// clang-format on

static const struct way {
    const char *spelling, *name, *type, *bits; // as it is written; of the function and the test; of arguments
    int sources;
    const char *function;
} ways[] = {
    {"div.rn.f32", "div", "f32", "b32", 2, div_f32},
    {"div.rn.f64", "div", "f64", "b64", 2, div_f64},
    {"rcp.rn.f32", "rcp", "f32", "b32", 1, rcp_f32},
    {"rcp.rn.f64", "rcp", "f64", "b64", 1, rcp_f64},
    {"sqrt.rn.f32", "sqrt", "f32", "b32", 1, sqrt_f32},
    {"sqrt.rn.f64", "sqrt", "f64", "b64", 1, sqrt_f64},
    {"rsqrt.approx.f64", "rsqrt", "f64", "b64", 1, rsqrt_f64},
};
enum { WAYS = sizeof ways / sizeof *ways };

static bool blank(char c) { return c == ' ' || c == '\t'; }

typedef struct piece {
    const char *s;
    int n;
} piece;

// The operands of a statement that begins at s and ends in front of `end`; 0: it has none of the usual form.
static int operands(const char *s, const char *end, piece *out, int most) {
    int n = 0;
    while (s < end) {
        while (s < end && blank(*s)) s++;
        const char *from = s;
        while (s < end && *s != ',') {
            if (*s == '\n' || *s == '/' || *s == '{') return 0;
            s++;
        }
        const char *to = s;
        while (to > from && blank(to[-1])) to--;
        if (to == from || n == most) return 0;
        out[n++] = (piece){from, (int)(to - from)};
        if (s < end) s++;
    }
    return n;
}

static bool same(piece a, piece b) { return a.n == b.n && memcmp(a.s, b.s, (size_t)a.n) == 0; }

// The statement at s, on a line of its own as compilers write it, without a guard. Returns its end, and adds
// to `out` what is in its place; or s.
static const char *statement(const char *s, const char *end, uint32_t number, orr_text *out, uint32_t *used) {
    for (uint32_t k = 0; k < WAYS; k++) {
        const struct way *w = &ways[k];
        size_t n = strlen(w->spelling);
        if ((size_t)(end - s) <= n || memcmp(s, w->spelling, n) != 0 || !blank(s[n])) continue;
        const char *semi = memchr(s, ';', (size_t)(end - s));
        piece o[4] = {0};
        if (!semi || operands(s + n, semi, o, 4) != 1 + w->sources) return s;
        for (int i = 1; i <= w->sources; i++)
            if (same(o[0], o[i])) return s;         // what it reads is gone before the function could have it
        const char *dot = strchr(w->spelling, '.'); // "div" and ".rn.f32"
        orr_text_add(out, "%.*s.apart%s", (int)(dot - w->spelling), w->spelling, dot);
        orr_text_addn(out, s + n, (size_t)(semi + 1 - s) - n);
        orr_text_add(out, " { .reg .pred %%orr_p; long%s.%s %%orr_p, %.*s, ", w->name, w->type, o[0].n,
                     o[0].s);
        orr_text_add(out, "%.*s", o[1].n, o[1].s);
        if (w->sources == 2) orr_text_add(out, ", %.*s", o[2].n, o[2].s);
        orr_text_add(out, "; @!%%orr_p bra $orr_%u; { .param .%s orr_r; ", number, w->bits);
        for (int i = 1; i <= w->sources; i++)
            orr_text_add(out, ".param .%s orr_%d; st.param.%s [orr_%d], %.*s; ", w->bits, i, w->type, i,
                         o[i].n, o[i].s);
        orr_text_add(out, "call.uni (orr_r), orr_long_%s_%s, (orr_1%s); } $orr_%u: }", w->name, w->type,
                     w->sources == 2 ? ", orr_2" : "", number);
        *used |= 1u << k;
        return semi + 1;
    }
    return s;
}

// Where the module's first variable or function begins: the start of that line.
static size_t first_item(const char *text, size_t n) {
    static const char *const heads[] = {".version", ".target", ".address_size", "//"};
    for (size_t at = 0; at < n;) {
        const char *s = text + at, *nl = memchr(s, '\n', n - at);
        size_t next = nl ? (size_t)(nl - text) + 1 : n, skip = at;
        while (skip < next && (blank(text[skip]) || text[skip] == '\r')) skip++;
        bool head = skip + 1 >= next;
        for (size_t k = 0; k < sizeof heads / sizeof *heads && !head; k++)
            head = n - skip > strlen(heads[k]) && memcmp(text + skip, heads[k], strlen(heads[k])) == 0;
        if (!head) return at;
        at = next;
    }
    return n;
}

bool ptx_long_ways(const char *text, size_t n, orr_text *out) {
    orr_text body = {0};
    uint32_t used = 0, number = 0;
    size_t first = first_item(text, n), from = first;
    const char *end = text + n;
    for (size_t at = first; at < n;) {
        const char *nl = memchr(text + at, '\n', n - at);
        size_t next = nl ? (size_t)(nl - text) + 1 : n;
        while (at < next && blank(text[at])) at++;
        char c = at < next ? text[at] : 0;
        if (c == 'd' || c == 'r' || c == 's') {
            orr_text_addn(&body, text + from, at - from);
            const char *to = statement(text + at, end, number, &body, &used);
            from = (size_t)(to - text);
            if (from != at) number++, next = from > next ? from : next;
        }
        at = next;
    }
    if (used) {
        orr_text_addn(&body, text + from, n - from);
        orr_text_addn(out, text, first);
        for (uint32_t k = 0; k < WAYS; k++)
            if (used >> k & 1) orr_text_add(out, "%s", ways[k].function);
        orr_text_addn(out, body.s, body.n);
    }
    free(body.s);
    return used != 0;
}
