#!/usr/bin/env python3
"""Writes PTX for sm_90a: the rarer forms of textures, a kernel each.

usage: textures.py plain|slopes|queries|independent|names

Comparisons of depth, textures of several samples, samplers of their own, slopes that a function of the driver makes levels of,
queries of every field, references by name. A kernel's name begins with what textures.cc gives it: the texture's shape, or `ind`
(two textures, one of them for its sampler), `txq`, `suq`, `name`. textures.cc runs them.
"""
import sys
COORDINATES = {"1d": "{%f0}", "2d": "{%f0, %f1}", "3d": "{%f0, %f1, %f2, %f2}", "a1d": "{%n0, %f0}", "a2d": "{%n0, %f0, %f1, %f1}",
               "cube": "{%f0, %f1, %f2, %f2}", "acube": "{%n0, %f0, %f1, %f2}"}
OFFSETS = {"1d": "{%n1}", "a1d": "{%n1}", "2d": "{%n1, %n2}", "a2d": "{%n1, %n2}", "3d": "{%n1, %n2, %n3, %n3}"}
SLOPES = {"1d": ("{%f4}", "{%f5}"), "a1d": ("{%f4}", "{%f5}"), "2d": ("{%f4, %f5}", "{%f5, %f6}"), "a2d": ("{%f4, %f5}", "{%f5, %f6}")}
SOLID = ("{%f4, %f5, %f6, %f6}", "{%f5, %f6, %f4, %f4}")
FOUR = {"f32": "{%f8, %f9, %f10, %f11}", "u32": "{%r8, %r9, %r10, %r11}", "s32": "{%r8, %r9, %r10, %r11}"}
FIELDS = ("width", "height", "depth", "array_size", "num_mipmap_levels", "num_samples", "channel_data_type", "channel_order", "normalized_coords")
SAMPLER = ("filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2")
HEAD = """.version 9.0
.target sm_90a%s
.address_size 64
%s"""
# A thread has 12 words: three coordinates, what depth is compared with, three of a slope, a level; layer and two offsets, a sample.
KERNEL = """.visible .entry %s(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)
{
.reg .b64 %%out, %%in, %%tex, %%samp, %%at; .reg .b32 %%lane, %%n<4>, %%r<12>; .reg .f32 %%f<12>; .reg .b16 %%h<4>;
ld.param.u64 %%out, [p0]; ld.param.u64 %%in, [p1]; ld.param.u64 %%tex, [p2]; ld.param.u64 %%samp, [p3];
mov.u32 %%lane, %%tid.x; mul.wide.u32 %%at, %%lane, 48; add.u64 %%in, %%in, %%at; mul.wide.u32 %%at, %%lane, 16; add.u64 %%out, %%out, %%at;
ld.global.v4.f32 {%%f0, %%f1, %%f2, %%f3}, [%%in]; ld.global.v4.f32 {%%f4, %%f5, %%f6, %%f7}, [%%in+16]; ld.global.v4.b32 {%%n0, %%n1, %%n2, %%n3}, [%%in+32];
%s
ret;
}
"""
kernels = []


def kernel(name, inst, kind="f32"):
    kernels.append(KERNEL % (("" if name.startswith(("ind", "name")) else "t") + name, inst + "\nst.global.v4.b32 [%out], " + FOUR[kind] + ";"))


def query(name, inst):
    kernels.append(KERNEL % (name, inst + "\nst.global.b32 [%out], %r0;"))


def plain():
    for g in ("1d", "2d", "a1d", "a2d", "cube", "acube"):
        c = COORDINATES[g]
        for level in ("", ".level", ".base"):
            l, called = ", %f7" if level == ".level" else "", level.replace(".", "_")
            kernel("%s_depth%s" % (g, called), "tex%s.%s.v4.f32.f32 %s, [%%tex, %s]%s, %%f3;" % (level, g, FOUR["f32"], c, l))
            if g in OFFSETS: kernel("%s_depth_offset%s" % (g, called), "tex%s.%s.v4.f32.f32 %s, [%%tex, %s]%s, %s, %%f3;" % (level, g, FOUR["f32"], c, l, OFFSETS[g]))
    for t in ("u32", "s32"): kernel("2d_depth_%s" % t, "tex.2d.v4.%s.f32 %s, [%%tex, {%%f0, %%f1}], %%f3;" % (t, FOUR[t]), t)
    for g in ("1d", "2d", "3d", "a1d", "a2d"):
        kernel("%s_offset" % g, "tex.%s.v4.f32.f32 %s, [%%tex, %s], %s;" % (g, FOUR["f32"], COORDINATES[g], OFFSETS[g]))
        kernel("%s_offset_level" % g, "tex.level.%s.v4.f32.f32 %s, [%%tex, %s], %%f7, %s;" % (g, FOUR["f32"], COORDINATES[g], OFFSETS[g]))
    for g in ("2d", "a2d", "cube", "acube"):
        for k in "rg": kernel("%s_gather_depth_%s" % (g, k), "tld4.%s.%s.v4.f32.f32 %s, [%%tex, %s], %%f3;" % (k, g, FOUR["f32"], COORDINATES[g]))
        if g not in OFFSETS: continue
        kernel("%s_gather_depth_offset" % g, "tld4.r.%s.v4.f32.f32 %s, [%%tex, %s], %s, %%f3;" % (g, FOUR["f32"], COORDINATES[g], OFFSETS[g]))
        kernel("%s_gather_offset" % g, "tld4.r.%s.v4.f32.f32 %s, [%%tex, %s], %s;" % (g, FOUR["f32"], COORDINATES[g], OFFSETS[g]))
    whole = "cvt.rni.s32.f32 %r4, %f0; cvt.rni.s32.f32 %r5, %f1;\n"
    for t in ("f32", "u32"):
        kernel("2d_samples_%s" % t, whole + "tex.base.2dms.v4.%s.s32 %s, [%%tex, {%%n3, %%r4, %%r5, %%r5}];" % (t, FOUR[t]), t)
        kernel("a2d_samples_%s" % t, whole + "tex.base.a2dms.v4.%s.s32 %s, [%%tex, {%%n3, %%n0, %%r4, %%r5}];" % (t, FOUR[t]), t)
    kernel("2d_samples_offset", whole + "tex.base.2dms.v4.f32.s32 %s, [%%tex, {%%n3, %%r4, %%r5, %%r5}], {%%n1, %%n2};" % FOUR["f32"])
    kernel("a2d_samples_offset", whole + "tex.base.a2dms.v4.f32.s32 %s, [%%tex, {%%n3, %%n0, %%r4, %%r5}], {%%n1, %%n2};" % FOUR["f32"])


def slopes():
    for g in COORDINATES:
        tex = "tex.grad.%s.v4.f32.f32 %s, [%%tex, %s], %s, %s" % (g, FOUR["f32"], COORDINATES[g], *SLOPES.get(g, SOLID))
        kernel("%s_slope" % g, tex + ";")
        if g != "3d": kernel("%s_slope_depth" % g, tex + ", %f3;")
        if g in OFFSETS: kernel("%s_slope_offset" % g, tex + ", %s;" % OFFSETS[g])
        if g in OFFSETS and g != "3d": kernel("%s_slope_offset_depth" % g, tex + ", %s, %%f3;" % OFFSETS[g])


def queries():
    for f in FIELDS + SAMPLER: query("txq_" + f, "txq.%s.b32 %%r0, [%%tex];" % f)
    for f in ("width", "height", "depth"): query("txq_level_" + f, "txq.level.%s.b32 %%r0, [%%tex], %%n0;" % f)
    for f in ("width", "height", "depth", "array_size", "channel_data_type", "channel_order", "memory_layout"): query("suq_" + f, "suq.%s.b32 %%r0, [%%samp];" % f)


def independent():
    for g in COORDINATES: kernel("ind_" + g, "tex.%s.v4.f32.f32 %s, [%%tex, %%samp, %s];" % (g, FOUR["f32"], COORDINATES[g]))
    kernel("ind_2d_level", "tex.level.2d.v4.f32.f32 %s, [%%tex, %%samp, {%%f0, %%f1}], %%f7;" % FOUR["f32"])
    kernel("ind_2d_slope", "tex.grad.2d.v4.f32.f32 %s, [%%tex, %%samp, {%%f0, %%f1}], %s, %s;" % (FOUR["f32"], *SLOPES["2d"]))
    kernel("ind_2d_gather", "tld4.r.2d.v4.f32.f32 %s, [%%tex, %%samp, {%%f0, %%f1}];" % FOUR["f32"])
    kernel("ind_2d_depth", "tex.2d.v4.f32.f32 %s, [%%tex, %%samp, {%%f0, %%f1}], %%f3;" % FOUR["f32"])
    for f in ("width", "height", "channel_data_type", "channel_order", "num_mipmap_levels", "num_samples"): query("txq_ind_" + f, "txq.%s.b32 %%r0, [%%tex];" % f)
    for f in SAMPLER + ("force_unnormalized_coords",): query("txq_ind_" + f, "txq.%s.b32 %%r0, [%%samp];" % f)


def names():
    kernel("name_tex", "tex.2d.v4.f32.f32 %s, [T, {%%f0, %%f1}];" % FOUR["f32"])
    kernel("name_set", "tex.2d.v4.f32.f32 %s, [W, {%%f0, %%f1}];" % FOUR["f32"])
    kernel("name_address", "mov.u64 %%tex, T; tex.2d.v4.f32.f32 %s, [%%tex, {%%f0, %%f1}];" % FOUR["f32"])
    for f in ("width", "filter_mode", "addr_mode_0", "channel_data_type", "channel_order", "normalized_coords"): query("name_txq_" + f, "txq.%s.b32 %%r0, [T];" % f)
    query("name_surf", "suld.b.2d.b32.zero {%r0}, [S, {0, 0}];")
    for f in ("width", "channel_data_type"): query("name_suq_" + f, "suq.%s.b32 %%r0, [S];" % f)


NAMED = ".global .texref T;\n.global .texref W = { filter_mode = linear, normalized_coords = 1, addr_mode_0 = wrap };\n.global .surfref S;\n"
PARTS = {"plain": (plain, "", ""), "slopes": (slopes, "", ""), "queries": (queries, "", ""), "independent": (independent, ", texmode_independent", ""), "names": (names, "", NAMED)}
if len(sys.argv) != 2 or sys.argv[1] not in PARTS: sys.exit(__doc__.split("\n\n")[1])
part, mode, declared = PARTS[sys.argv[1]]
part()
print(HEAD % (mode, declared) + "".join(kernels), end="")
