#!/usr/bin/env python3
"""Writes PTX for sm_90a: one small kernel for each instruction that Hopper added, in every form that ptxas takes.

usage: corpus.py > corpus.ptx; ptxas -arch=sm_90a corpus.ptx -o corpus.cubin

Each kernel has the parameters (.u64 data, .u64 map, .u32 n); its name says what it holds. A thread has 1,024 bytes of data;
`map` is a tensor map, or for wgmma what shared memory holds. `orrery show` says which of them do not load;
micro/hopper/every.cc runs those that leave something.
"""
import itertools, re

kernels = []


def kernel(name, body, regs="", attrs=""):
    kernels.append((name, body, regs, attrs))


HEAD = """\t.reg .b64 %data, %map, %d<16>;
\t.reg .b32 %n, %r<32>, %s<8>;
\t.reg .b16 %h<8>;
\t.reg .f32 %f<16>;
\t.reg .pred %p<4>;
"""
BODY = """\tld.param.u64 %data, [p0];
\tld.param.u64 %map, [p1];
\tld.param.u32 %n, [p2];
\tcvta.to.global.u64 %data, %data;
\tmov.u32 %s7, %tid.x;
\tmad.wide.u32 %data, %s7, 1024, %data;
\tmov.u32 %s0, smem;
\tmov.u32 %s1, bar;
"""
# Shared memory begins as what `map` holds (wgmma), or as a copy of the first 512 bytes of each thread's data.
FILL = """\t{ .reg .b32 %to, %w<4>; .reg .b64 %from; .reg .pred %more;
\tshl.b32 %to, %s7, 4; cvt.u64.u32 %from, %to; add.u64 %from, %from, %map; add.u32 %to, %to, %s0;
fill: ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%from]; st.shared.v4.u32 [%to], {%w0, %w1, %w2, %w3};
\tadd.u32 %to, %to, 2048; add.u64 %from, %from, 2048; sub.u32 %w0, %to, %s0; setp.lt.u32 %more, %w0, 40960;
\t@%more bra fill; fence.proxy.async; bar.sync 0; }
"""
COPY = """\t{ .reg .b32 %i, %to, %w<4>; .reg .b64 %from; .reg .pred %more;
\tmad.lo.u32 %to, %s7, 512, %s0; mov.u64 %from, %data; mov.u32 %i, 32;
fill: ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%from]; st.shared.v4.u32 [%to], {%w0, %w1, %w2, %w3};
\tadd.u32 %to, %to, 16; add.u64 %from, %from, 16; sub.u32 %i, %i, 1; setp.ne.u32 %more, %i, 0;
\t@%more bra fill; fence.proxy.async; bar.warp.sync 0xffffffff; }
"""
INIT = "\tmbarrier.init.shared::cta.b64 [%s1], 64;\n"


def before(name):
    if name.startswith("wgmma"): return FILL
    if name.startswith("mbar_") and name != "mbar_init": return INIT
    return COPY if re.match("bulk_(s2g|red)|dsmem|tensor_(st|red)|stmatrix", name) else ""



def regs(prefix, first, count):
    return "{" + ", ".join("%%%s%d" % (prefix, first + i) for i in range(count)) + "}"


# Descriptors are given as if shared memory began at 0.
BASE = "\tshr.u32 %s2, %s0, 4;\n\tcvt.u64.u32 %d2, %s2;\n\tadd.u64 %d0, %d0, %d2;\n\tadd.u64 %d1, %d1, %d2;"


# ---- wgmma -------------------------------------------------------------------------------------
def wgmma(name, inst, nd, dtype, tail, a_regs=0, sparse=None):
    """One product; the accumulator is loaded before it and stored behind it."""
    pre = "f" if dtype == "f32" else "r"
    decl = "\t.reg .%s %%acc<%d>;\n\t.reg .b32 %%a<8>;\n" % ("f32" if pre == "f" else "b32", nd)
    t = "f32" if pre == "f" else "b32"
    body = ["\tld.global.u64 %d0, [%data+8];", "\tld.global.u64 %d1, [%data+16];", "\tld.global.u32 %r0, [%data+24];",
            "\tsetp.ne.u32 %p0, %r0, 0;", BASE]
    body += ["\tld.global.%s %%acc%d, [%%data+%d];" % (t, i, 64 + 4 * i) for i in range(nd)]
    body += ["\tld.global.b32 %%a%d, [%%data+%d];" % (i, 32 + 4 * i) for i in range(5)]
    body.append("\twgmma.fence.sync.aligned;")
    a = regs("a", 0, a_regs) if a_regs else "%d0"
    sp = ", %%a4, %s" % sparse if sparse is not None else ""
    body.append("\twgmma.mma_async%s.sync.aligned.%s %s, %s, %%d1%s, %%p0%s;" %
                (".sp" if sparse is not None else "", inst, regs("acc", 0, nd), a, sp, tail))
    body += ["\twgmma.commit_group.sync.aligned;", "\twgmma.wait_group.sync.aligned 0;"]
    body += ["\tst.global.%s [%%data+%d], %%acc%d;" % (t, 64 + 4 * i, i) for i in range(nd)]
    kernel("wgmma_" + name, "\n".join(body), decl)


def all_wgmma():
    for n in range(8, 257, 8):
        wgmma("f32_f16_n%d" % n, "m64n%dk16.f32.f16.f16" % n, n // 2, "f32", ", 1, 1, 0, 0")
    for n in (8, 24, 128, 256):
        wgmma("f16_f16_n%d" % n, "m64n%dk16.f16.f16.f16" % n, n // 4, "f16", ", 1, 1, 0, 0")
        wgmma("f32_bf16_n%d" % n, "m64n%dk16.f32.bf16.bf16" % n, n // 2, "f32", ", 1, 1, 0, 0")
        wgmma("f32_tf32_n%d" % n, "m64n%dk8.f32.tf32.tf32" % n, n // 2, "f32", ", 1, 1")
        for a, b, d in itertools.product(("e4m3", "e5m2"), ("e4m3", "e5m2"), ("f16", "f32")):
            wgmma("%s_%s_%s_n%d" % (d, a, b, n), "m64n%dk32.%s.%s.%s" % (n, d, a, b), n // (2 if d == "f32" else 4), d, ", 1, 1")
    for n in (8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256):
        wgmma("s32_s8_n%d" % n, "m64n%dk32.s32.s8.s8" % n, n // 2, "s32", "")
    for a, b in itertools.product(("s8", "u8"), ("s8", "u8")):
        wgmma("s32_%s_%s" % (a, b), "m64n16k32.s32.%s.%s" % (a, b), 8, "s32", "")
        wgmma("s32_%s_%s_sat" % (a, b), "m64n16k32.s32.%s.%s.satfinite" % (a, b), 8, "s32", "")
        wgmma("s32_%s_%s_ra" % (a, b), "m64n16k32.s32.%s.%s" % (a, b), 8, "s32", "", 4)
        wgmma("sp_s32_%s_%s" % (a, b), "m64n16k64.s32.%s.%s" % (a, b), 8, "s32", "", 0, "0")
        wgmma("sp_s32_%s_%s_sat" % (a, b), "m64n16k64.s32.%s.%s.satfinite" % (a, b), 8, "s32", "", 4, "0")
    for n in (8, 64, 256):
        wgmma("b1_n%d" % n, "m64n%dk256.s32.b1.b1.and.popc" % n, n // 2, "s32", "")
    wgmma("b1_ra", "m64n8k256.s32.b1.b1.and.popc", 4, "s32", "", 4)
    for sa, sb, ta, tb in itertools.product((1, -1), (1, -1), (0, 1), (0, 1)):
        m = lambda v: "m" if v < 0 else "p"
        wgmma("f16_%s%s_t%d%d" % (m(sa), m(sb), ta, tb), "m64n16k16.f32.f16.f16", 8, "f32", ", %d, %d, %d, %d" % (sa, sb, ta, tb))
        wgmma("bf16_%s%s_t%d%d" % (m(sa), m(sb), ta, tb), "m64n16k16.f32.bf16.bf16", 8, "f32", ", %d, %d, %d, %d" % (sa, sb, ta, tb))
        if not ta:
            wgmma("f16_ra_%s%s_t%d" % (m(sa), m(sb), tb), "m64n16k16.f32.f16.f16", 8, "f32", ", %d, %d, %d" % (sa, sb, tb), 4)
            wgmma("f16f16_ra_%s%s_t%d" % (m(sa), m(sb), tb), "m64n16k16.f16.f16.f16", 4, "f16", ", %d, %d, %d" % (sa, sb, tb), 4)
            wgmma("sp_f16_ra_%s%s_t%d" % (m(sa), m(sb), tb), "m64n16k32.f32.f16.f16", 8, "f32", ", %d, %d, %d" % (sa, sb, tb), 4, "1")
        wgmma("sp_f16_%s%s_t%d%d" % (m(sa), m(sb), ta, tb), "m64n16k32.f32.f16.f16", 8, "f32", ", %d, %d, %d, %d" % (sa, sb, ta, tb), 0, "0")
        if not ta and not tb:
            for d, a, b in itertools.product(("f16", "f32"), ("e4m3", "e5m2"), ("e4m3", "e5m2")):
                nd = 8 if d == "f32" else 4
                wgmma("%s_%s_%s_%s%s" % (d, a, b, m(sa), m(sb)), "m64n16k32.%s.%s.%s" % (d, a, b), nd, d, ", %d, %d" % (sa, sb))
                wgmma("%s_%s_%s_ra_%s%s" % (d, a, b, m(sa), m(sb)), "m64n16k32.%s.%s.%s" % (d, a, b), nd, d, ", %d, %d" % (sa, sb), 4)
                wgmma("sp_%s_%s_%s_%s%s" % (d, a, b, m(sa), m(sb)), "m64n16k64.%s.%s.%s" % (d, a, b), nd, d, ", %d, %d" % (sa, sb), 0, "0")
                wgmma("sp_%s_%s_%s_ra_%s%s" % (d, a, b, m(sa), m(sb)), "m64n16k64.%s.%s.%s" % (d, a, b), nd, d, ", %d, %d" % (sa, sb), 4, "0")
            wgmma("tf32_%s%s" % (m(sa), m(sb)), "m64n16k8.f32.tf32.tf32", 8, "f32", ", %d, %d" % (sa, sb))
            wgmma("tf32_ra_%s%s" % (m(sa), m(sb)), "m64n16k8.f32.tf32.tf32", 8, "f32", ", %d, %d" % (sa, sb), 4)
            wgmma("sp_tf32_%s%s" % (m(sa), m(sb)), "m64n16k16.f32.tf32.tf32", 8, "f32", ", %d, %d" % (sa, sb), 0, "1")
            wgmma("sp_tf32_ra_%s%s" % (m(sa), m(sb)), "m64n16k16.f32.tf32.tf32", 8, "f32", ", %d, %d" % (sa, sb), 4, "0")
            wgmma("sp_bf16_%s%s" % (m(sa), m(sb)), "m64n16k32.f32.bf16.bf16", 8, "f32", ", %d, %d, 0, 1" % (sa, sb), 0, "1")
    # Several products one behind the other, two groups under way.
    decl = "\t.reg .f32 %acc<16>;\n"
    one = "\twgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 %s, %%d0, %%d1, 1, 1, 1, 0, 0;"
    kernel("wgmma_two_groups", "\n".join(["\tld.global.u64 %d0, [%data+8];", "\tld.global.u64 %d1, [%data+16];", BASE] +
           ["\tld.global.f32 %%acc%d, [%%data+%d];" % (i, 64 + 4 * i) for i in range(16)] + ["\twgmma.fence.sync.aligned;", one % regs("acc", 0, 8),
            one % regs("acc", 0, 8), "\twgmma.commit_group.sync.aligned;", one % regs("acc", 8, 8), "\twgmma.commit_group.sync.aligned;",
            "\twgmma.wait_group.sync.aligned 1;"] + ["\tst.global.f32 [%%data+%d], %%acc%d;" % (64 + 4 * i, i) for i in range(8)] +
           ["\twgmma.wait_group.sync.aligned 0;"] + ["\tst.global.f32 [%%data+%d], %%acc%d;" % (64 + 4 * i, i) for i in range(8, 16)]), decl)


# ---- bulk copies ---------------------------------------------------------------------------------
COORD = {r: "{" + ", ".join("%%r%d" % i for i in range(r)) + "}" for r in range(1, 6)}
OFFS = {r: "{" + ", ".join("%%h%d" % i for i in range(r - 2)) + "}" for r in range(3, 6)}
COORDS = "\n".join(["\tld.global.u32 %%r%d, [%%data+%d];" % (i, 4 * i) for i in range(5)] +
                   ["\tld.global.u16 %%h%d, [%%data+%d];" % (i, 32 + 2 * i) for i in range(4)] +
                   ["\tld.global.u64 %d9, [%data+40];", "\tld.global.u32 %r9, [%data+48];"])


def bulk():
    pre = "\tmov.b64 %d9, 0x12f0000000000000;\n\tld.global.u16 %h0, [%data+4];\n\tld.global.u32 %r9, [%data];\n"
    end = "\n\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\n\tcp.async.bulk.wait_group.read 1;"
    for hint in (0, 1):
        h, o = (".L2::cache_hint", ", %d9") if hint else ("", "")
        s = "_hint" if hint else ""
        kernel("bulk_g2s" + s, pre + "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes%s [%%s0], [%%data], %%r9, [%%s1]%s;" % (h, o))
        kernel("bulk_g2s_cta" + s, pre + "\tcp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes%s [%%s0], [%%data], %%r9, [%%s1]%s;" % (h, o))
        kernel("bulk_g2s_multicast" + s, pre + "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster%s [%%s0], [%%data], %%r9, [%%s1], %%h0%s;" % (h, o))
        kernel("bulk_s2g" + s, pre + "\tcp.async.bulk.global.shared::cta.bulk_group%s [%%data], [%%s0], %%r9%s;" % (h, o) + end)
        kernel("bulk_prefetch" + s, pre + "\tcp.async.bulk.prefetch.L2.global%s [%%data], %%r9%s;" % (h, o))
        for op, t in [(op, t) for t in ("u32", "s32", "u64") for op in ("add", "min", "max")] + [("add", "f32"), ("add", "f64"), ("inc", "u32"), ("dec", "u32"), ("min", "s64"),
                     ("max", "s64")] + [(op, t) for t in ("b32", "b64") for op in ("and", "or", "xor")] + [(op, t) for t in ("f16", "bf16") for op in ("min", "max")] + [("add.noftz", "f16"), ("add.noftz", "bf16")]:
            kernel("bulk_red_%s_%s%s" % (op.replace(".", "_"), t, s), pre + "\tcp.reduce.async.bulk.global.shared::cta.bulk_group%s.%s.%s [%%data], [%%s0], %%r9%s;" % (h, op, t, o) + end)
    kernel("bulk_s2s", pre + "\tmapa.shared::cluster.u32 %s2, %s0, %r9;\n\tmapa.shared::cluster.u32 %s3, %s1, %r9;\n\tcp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%s2], [%s0], 64, [%s3];")
    for op, t in [(op, t) for t in ("u32", "s32") for op in ("add", "min", "max")] + [("inc", "u32"), ("dec", "u32"), ("add", "u64"), ("and", "b32"), ("or", "b32"), ("xor", "b32")]:
        kernel("bulk_red_s2s_%s_%s" % (op, t), pre + "\tmapa.shared::cluster.u32 %%s2, %%s0, %%r9;\n\tmapa.shared::cluster.u32 %%s3, %%s1, %%r9;\n\tcp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.%s.%s [%%s2], [%%s0], 64, [%%s3];" % (op, t))


def tensor():
    end = "\n\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;"
    for r in range(1, 6):
        for hint, multi in itertools.product((0, 1), (0, 1)):
            h = (".multicast::cluster" if multi else "") + (".L2::cache_hint" if hint else "")
            o = (", %h3" if multi else "") + (", %d9" if hint else "")
            s = ("_multicast" if multi else "") + ("_hint" if hint else "")
            kernel("tensor_ld_%dd%s" % (r, s), COORDS + "\n\tcp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes%s [%%s0], [%%map, %s], [%%s1]%s;" % (r, h, COORD[r], o))
            if r > 2:
                kernel("tensor_ld_im2col_%dd%s" % (r, s), COORDS + "\n\tcp.async.bulk.tensor.%dd.shared::cluster.global.im2col.mbarrier::complete_tx::bytes%s [%%s0], [%%map, %s], [%%s1], %s%s;" % (r, h, COORD[r], OFFS[r], o))
        for hint in (0, 1):
            h, o = (".L2::cache_hint", ", %d9") if hint else ("", "")
            s = "_hint" if hint else ""
            kernel("tensor_st_%dd%s" % (r, s), COORDS + "\n\tcp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group%s [%%map, %s], [%%s0]%s;" % (r, h, COORD[r], o) + end)
            kernel("tensor_prefetch_%dd%s" % (r, s), COORDS + "\n\tcp.async.bulk.prefetch.tensor.%dd.L2.global.tile%s [%%map, %s]%s;" % (r, h, COORD[r], o))
            for op in ("add", "min", "max", "inc", "dec", "and", "or", "xor"):
                kernel("tensor_red_%s_%dd%s" % (op, r, s), COORDS + "\n\tcp.reduce.async.bulk.tensor.%dd.global.shared::cta.%s.tile.bulk_group%s [%%map, %s], [%%s0]%s;" % (r, op, h, COORD[r], o) + end)
            if r > 2:
                kernel("tensor_st_im2col_%dd%s" % (r, s), COORDS + "\n\tcp.async.bulk.tensor.%dd.global.shared::cta.im2col_no_offs.bulk_group%s [%%map, %s], [%%s0]%s;" % (r, h, COORD[r], o) + end)
                kernel("tensor_prefetch_im2col_%dd%s" % (r, s), COORDS + "\n\tcp.async.bulk.prefetch.tensor.%dd.L2.global.im2col%s [%%map, %s], %s%s;" % (r, h, COORD[r], OFFS[r], o))
                kernel("tensor_red_im2col_%dd%s" % (r, s), COORDS + "\n\tcp.reduce.async.bulk.tensor.%dd.global.shared::cta.add.im2col_no_offs.bulk_group%s [%%map, %s], [%%s0]%s;" % (r, h, COORD[r], o) + end)


def tensormap():
    fields = [("global_address", "b64", "%d9")] + [("rank", "b32", "%r9")] + \
        [("%s" % f, "b32", "%d, %%r9" % i) for f in ("box_dim", "global_dim", "element_stride") for i in range(5)] + \
        [("global_stride", "b64", "%d, %%d9" % i) for i in range(4)] + \
        [("elemtype", "b32", str(i)) for i in range(13)] + [("interleave_layout", "b32", str(i)) for i in range(3)] + \
        [("swizzle_mode", "b32", str(i)) for i in range(4)] + [("fill_mode", "b32", str(i)) for i in range(2)]
    for f, t, v in fields:
        name = f + "_" + v.replace(", ", "_").replace("%", "")
        pre = "\tld.global.u64 %d9, [%data+40];\n\tld.global.u32 %r9, [%data+48];\n"
        kernel("tensormap_global_" + name, pre + "\ttensormap.replace.tile.%s.global.b1024.%s [%%data], %s;" % (f, t, v))
        kernel("tensormap_shared_" + name, pre + "\ttensormap.replace.tile.%s.shared::cta.b1024.%s [%%s0], %s;" % (f, t, v))
    kernel("tensormap_cp_fenceproxy", "\ttensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%data], [%s0], 128;")
    for scope in ("cta", "cluster", "gpu", "sys"):
        kernel("fence_tensormap_release_" + scope, "\tfence.proxy.tensormap::generic.release.%s;" % scope)
        kernel("fence_tensormap_acquire_" + scope, "\tfence.proxy.tensormap::generic.acquire.%s [%%map], 128;" % scope)
    kernel("prefetch_tensormap", "\tprefetch.tensormap [%map];")
    kernel("prefetch_tensormap_param", "\tprefetch.param.tensormap [p0];")


# ---- mbarrier ------------------------------------------------------------------------------------
def mbarrier():
    kernel("mbar_init", "\tmbarrier.init.shared::cta.b64 [%s1], %n;\n\tmbarrier.inval.shared::cta.b64 [%s1];")
    for op in ("arrive", "arrive_drop"):
        kernel("mbar_%s" % op, "\tmbarrier.%s.shared::cta.b64 %%d0, [%%s1];\n\tst.global.u64 [%%data], %%d0;" % op)
        kernel("mbar_%s_count" % op, "\tmbarrier.%s.shared::cta.b64 %%d0, [%%s1], %%n;\n\tst.global.u64 [%%data], %%d0;" % op)
        kernel("mbar_%s_nocomplete" % op, "\tmbarrier.%s.noComplete.shared::cta.b64 %%d0, [%%s1], %%n;\n\tst.global.u64 [%%data], %%d0;" % op)
        kernel("mbar_%s_expect" % op, "\tmbarrier.%s.expect_tx.shared::cta.b64 %%d0, [%%s1], %%n;\n\tst.global.u64 [%%data], %%d0;" % op)
        remote = "\tmapa.shared::cluster.u32 %s2, %s1, %n;\n"
        kernel("mbar_%s_remote" % op, remote + "\tmbarrier.%s.release.cluster.shared::cluster.b64 _, [%%s2];" % op)
        kernel("mbar_%s_remote_count" % op, remote + "\tmbarrier.%s.release.cluster.shared::cluster.b64 _, [%%s2], %%n;" % op)
        kernel("mbar_%s_remote_expect" % op, remote + "\tmbarrier.%s.expect_tx.release.cluster.shared::cluster.b64 _, [%%s2], %%n;" % op)
        kernel("mbar_%s_relaxed" % op, "\tmbarrier.%s.relaxed.cluster.shared::cta.b64 _, [%%s1];" % op)
    one = "\tsetp.eq.u32 %p1, %s7, 0;\n\t@%p1 mbarrier.init.shared::cta.b64 [%s1], 1000;\n\tbar.warp.sync 0xffffffff;\n"
    for op in ("arrive", "arrive_drop"):
        for c in ("3", "%n"):
            kernel("nocomplete_%s_%s" % (op, c.strip("%")), one + "\tmbarrier.%s.noComplete.shared::cta.b64 %%d0, [%%s1], %s;\n\tmbarrier.pending_count.b64 %%r0, %%d0;\n\tst.global.u64 [%%data], %%d0;\n\tst.global.u32 [%%data+8], %%r0;" % (op, c))
    for space, a in (("shared::cta", "%s1"), ("shared::cluster", "%s2")):
        pre = "\tmapa.shared::cluster.u32 %s2, %s1, %n;\n"
        s = space[8:]
        kernel("mbar_expect_tx_" + s, pre + "\tmbarrier.expect_tx.relaxed.cluster.%s.b64 [%s], %%n;" % (space, a))
        kernel("mbar_complete_tx_" + s, pre + "\tmbarrier.complete_tx.relaxed.cluster.%s.b64 [%s], %%n;" % (space, a))
    for w, parity, hint in itertools.product(("test_wait", "try_wait"), (0, 1), (0, 1)):
        if hint and w == "test_wait":
            continue
        op = "\tmbarrier.%s%s.shared::cta.b64 %%p0, [%%s1], %s%s;" % (w, ".parity" if parity else "", "%n" if parity else "%d0", ", 1000" if hint else "")
        kernel("mbar_%s%s%s" % (w, "_parity" if parity else "", "_hint" if hint else ""), "\tld.global.u64 %d0, [%data];\n" + op + "\n\tselp.u32 %r0, 1, 0, %p0;\n\tst.global.u32 [%data], %r0;")
        for sem in ("acquire", "relaxed"):
            for sc in ("cta", "cluster"):
                kernel("mbar_%s%s%s_%s_%s" % (w, "_parity" if parity else "", "_hint" if hint else "", sem, sc), "\tld.global.u64 %d0, [%data];\n" + op.replace(".shared::cta", ".%s.%s.shared::cta" % (sem, sc)) + "\n\tselp.u32 %r0, 1, 0, %p0;\n\tst.global.u32 [%data], %r0;")
    kernel("mbar_pending", "\tld.global.u64 %d0, [%data];\n\tmbarrier.pending_count.b64 %r0, %d0;\n\tst.global.u32 [%data], %r0;")
    kernel("mbar_generic", "\tcvta.shared.u64 %d1, bar;\n\tmbarrier.init.b64 [%d1], 4;\n\tmbarrier.arrive.b64 %d0, [%d1];\n\tmbarrier.test_wait.b64 %p0, [%d1], %d0;\n\tselp.u32 %r0, 1, 0, %p0;\n\tst.global.u32 [%data], %r0;")
    kernel("cp_async_mbar", "\tcp.async.ca.shared.global [%s0], [%data], 16;\n\tcp.async.mbarrier.arrive.shared::cta.b64 [%s1];\n\tcp.async.mbarrier.arrive.noinc.shared::cta.b64 [%s1];")


# ---- clusters --------------------------------------------------------------------------------------
def clusters():
    for r in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"):
        kernel("sreg_" + r, "\n".join("\tmov.u32 %%r0, %%%s.%s;\n\tst.global.u32 [%%data+%d], %%r0;" % (r, c, 4 * i) for i, c in enumerate("xyz")))
    for r in ("cluster_ctarank", "cluster_nctarank"):
        kernel("sreg_" + r, "\tmov.u32 %%r0, %%%s;\n\tst.global.u32 [%%data], %%r0;" % r)
    kernel("sreg_is_explicit", "\tmov.pred %p0, %is_explicit_cluster;\n\tselp.u32 %r0, 1, 0, %p0;\n\tst.global.u32 [%data], %r0;")
    kernel("reqnctapercluster", "\tmov.u32 %r0, %cluster_ctarank;\n\tst.global.u32 [%data], %r0;", "", ".reqnctapercluster 2, 1, 1")
    kernel("explicitcluster", "\tmov.u32 %r0, %cluster_ctarank;\n\tst.global.u32 [%data], %r0;", "", ".explicitcluster .maxclusterrank 8")
    for a in ("", ".aligned"):
        for sem in ("", ".release", ".relaxed"):
            for acq in ("", ".acquire"):
                kernel("barrier_cluster%s%s%s" % (a.replace(".", "_"), sem.replace(".", "_"), acq.replace(".", "_")), "\tbarrier.cluster.arrive%s%s;\n\tbarrier.cluster.wait%s%s;" % (sem, a, acq, a))
    kernel("mapa_u32", "\tmapa.shared::cluster.u32 %r0, %s0, %n;\n\tst.global.u32 [%data], %r0;")
    kernel("mapa_var", "\tmapa.shared::cluster.u32 %r0, smem, 1;\n\tst.global.u32 [%data], %r0;")
    kernel("mapa_u64", "\tcvta.shared.u64 %d0, smem;\n\tmapa.u64 %d1, %d0, %n;\n\tst.global.u64 [%data], %d1;")
    kernel("mapa_shared_u64", "\tmov.u64 %d0, smem;\n\tmapa.shared::cluster.u64 %d1, %d0, %n;\n\tst.global.u64 [%data], %d1;")
    kernel("getctarank_u32", "\tmapa.shared::cluster.u32 %s2, %s0, %n;\n\tgetctarank.shared::cluster.u32 %r0, %s2;\n\tst.global.u32 [%data], %r0;")
    kernel("getctarank_u64", "\tcvta.shared.u64 %d0, smem;\n\tmapa.u64 %d1, %d0, %n;\n\tgetctarank.u64 %r0, %d1;\n\tst.global.u32 [%data], %r0;")
    pre = "\tmapa.shared::cluster.u32 %s2, %s0, %n;\n\tmapa.shared::cluster.u32 %s3, %s1, %n;\n\tld.global.u32 %r1, [%data];\n\tld.global.u64 %d1, [%data];\n\tld.global.f32 %f1, [%data];\n"
    for t, r in (("u8", "r"), ("b16", "h"), ("b32", "r"), ("b64", "d")):
        if r == "h":
            kernel("dsmem_ld_b16", pre + "\tld.shared::cluster.b16 %h0, [%s2+8];\n\tst.global.b16 [%data], %h0;")
            continue
        kernel("dsmem_ld_" + t, pre + "\tld.shared::cluster.%s %%%s0, [%%s2+8];\n\tst.global.%s [%%data], %%%s0;" % (t, r, t, r))
        kernel("dsmem_st_" + t, pre + "\tst.shared::cluster.%s [%%s2+8], %%%s1;" % (t, r))
    kernel("dsmem_ld_v4", pre + "\tld.shared::cluster.v4.b32 {%r0, %r1, %r2, %r3}, [%s2];\n\tst.global.v4.b32 [%data], {%r0, %r1, %r2, %r3};")
    kernel("dsmem_st_v4", pre + "\tst.shared::cluster.v4.b32 [%s2], {%r1, %r1, %r1, %r1};")
    kernel("dsmem_ld_generic", pre + "\tcvta.shared::cluster.u64 %d3, %d1;\n\tld.u32 %r0, [%d3];\n\tst.global.u32 [%data], %r0;")
    kernel("dsmem_isspacep", pre + "\tcvta.shared.u64 %d3, smem;\n\tmapa.u64 %d4, %d3, %n;\n\tisspacep.shared::cluster %p0, %d4;\n\tisspacep.shared::cta %p1, %d4;\n\tselp.u32 %r0, 1, 0, %p0;\n\tselp.u32 %r2, 1, 0, %p1;\n\tst.global.u32 [%data], %r0;\n\tst.global.u32 [%data+4], %r2;")
    for op, t in [(o, t) for o in ("add", "min", "max") for t in ("u32", "s32", "u64", "s64") if not (o == "add" and t == "s64")] + [(o, t) for o in ("and", "or", "xor") for t in ("b32", "b64")] + \
            [("exch", "b32"), ("exch", "b64"), ("inc", "u32"), ("dec", "u32"), ("add", "f32"), ("add", "f64"), ("add.noftz", "f16x2"), ("add.noftz", "bf16x2")]:
        r = "d" if t.endswith("64") else "f" if t == "f32" else "r"
        if t == "f64":
            kernel("dsmem_atom_add_f64", pre + "\t.reg .f64 %x<2>;\n\tld.global.f64 %x1, [%data];\n\tatom.shared::cluster.add.f64 %x0, [%s2], %x1;\n\tst.global.f64 [%data], %x0;")
            continue
        st = t if t not in ("f16x2", "bf16x2") else "b32"
        kernel("dsmem_atom_%s_%s" % (op.replace(".", "_"), t), pre + "\tatom.shared::cluster.%s.%s %%%s0, [%%s2], %%%s1;\n\tst.global.%s [%%data], %%%s0;" % (op, t, r, r, st, r))
        if op != "exch":
            kernel("dsmem_red_%s_%s" % (op.replace(".", "_"), t), pre + "\tred.shared::cluster.%s.%s [%%s2], %%%s1;" % (op, t, r))
    kernel("dsmem_atom_cas_b32", pre + "\tatom.shared::cluster.cas.b32 %r0, [%s2], %r1, %n;\n\tst.global.b32 [%data], %r0;")
    kernel("dsmem_atom_cas_b64", pre + "\tatom.shared::cluster.cas.b64 %d0, [%s2], %d1, %map;\n\tst.global.b64 [%data], %d0;")
    for t, r in (("b32", "r"), ("b64", "d"), ("u32", "r"), ("s64", "d"), ("f32", "f")):
        kernel("st_async_" + t, pre + "\tst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.%s [%%s2], %%%s1, [%%s3];" % (t, r))
        kernel("st_async_v2_" + t, pre + "\tst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.%s [%%s2], {%%%s1, %%%s1}, [%%s3];" % (t, r, r))
    kernel("st_async_v4_b32", pre + "\tst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%s2], {%r1, %r1, %r1, %r1}, [%s3];")
    for op, t in [(o, t) for o in ("add", "min", "max") for t in ("u32", "s32")] + [("inc", "u32"), ("dec", "u32"), ("add", "u64"), ("and", "b32"), ("or", "b32"), ("xor", "b32")]:
        r = "d" if t == "u64" else "r"
        kernel("red_async_%s_%s" % (op, t), pre + "\tred.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%s.%s [%%s2], %%%s1, [%%s3];" % (op, t, r))


# ---- the rest ---------------------------------------------------------------------------------------
def others():
    for d, n in (("inc", 232), ("dec", 40), ("inc", 160), ("dec", 24)):
        kernel("setmaxnreg_%s_%d" % (d, n), "\tsetmaxnreg.%s.sync.aligned.u32 %d;" % (d, n), "", ".maxntid 384, 1, 1 .minnctapersm 1")
    kernel("elect", "\telect.sync %r0|%p0, 0xffffffff;\n\tselp.u32 %r1, 1, 0, %p0;\n\tst.global.u32 [%data], %r0;\n\tst.global.u32 [%data+4], %r1;")
    kernel("elect_mask", "\telect.sync _|%p0, %n;\n\tselp.u32 %r1, 1, 0, %p0;\n\tst.global.u32 [%data+4], %r1;")
    for x in ("x1", "x2", "x4"):
        v = {"x1": "{%r0}", "x2": "{%r0, %r1}", "x4": "{%r0, %r1, %r2, %r3}"}[x]
        for tr in ("", ".trans"):
            kernel("stmatrix_%s%s" % (x, tr.replace(".", "_")), "\tld.global.v4.u32 {%%r0, %%r1, %%r2, %%r3}, [%%data];\n\tstmatrix.sync.aligned.m8n8.%s%s.shared.b16 [%%s0], %s;" % (x, tr, v))
    kernel("griddep_wait", "\tgriddepcontrol.wait;")
    kernel("griddep_launch", "\tgriddepcontrol.launch_dependents;")
    for f in ("fence.proxy.async", "fence.proxy.async.global", "fence.proxy.async.shared::cta", "fence.proxy.async.shared::cluster", "fence.proxy.alias", "fence.mbarrier_init.release.cluster",
              "fence.acq_rel.cluster", "fence.sc.cluster", "fence.acq_rel.gpu", "fence.acquire.sync_restrict::shared::cluster.cluster", "fence.release.sync_restrict::shared::cta.cluster",
              "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster"):
        kernel(f.replace(".", "_").replace("::", "_"), "\t%s;" % f)
    for t in ("s32", "u32"):
        for op in ("add", "min", "max"):
            kernel("redux_%s_%s" % (op, t), "\tredux.sync.%s.%s %%r0, %%n, 0xffffffff;\n\tst.global.u32 [%%data], %%r0;" % (op, t))
    for op in ("and", "or", "xor"):
        kernel("redux_%s_b32" % op, "\tredux.sync.%s.b32 %%r0, %%n, 0xffffffff;\n\tst.global.u32 [%%data], %%r0;" % op)
    pre = "\tld.global.f32 %f0, [%data];\n\tld.global.f32 %f1, [%data+4];\n\tld.global.b32 %r1, [%data+8];\n\tld.global.b16 %h1, [%data+12];\n"
    for t in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            kernel("cvt_%s_f32%s" % (t, relu.replace(".", "_")), pre + "\tcvt.rn.satfinite%s.%s.f32 %%h0, %%f0, %%f1;\n\tst.global.b16 [%%data], %%h0;" % (relu, t))
            kernel("cvt_%s_f16x2%s" % (t, relu.replace(".", "_")), pre + "\tcvt.rn.satfinite%s.%s.f16x2 %%h0, %%r1;\n\tst.global.b16 [%%data], %%h0;" % (relu, t))
            kernel("cvt_f16x2_%s%s" % (t, relu.replace(".", "_")), pre + "\tcvt.rn%s.f16x2.%s %%r0, %%h1;\n\tst.global.b32 [%%data], %%r0;" % (relu, t))
    for t in ("f16x2", "bf16x2"):
        for rnd in ("rn", "rz"):
            for relu in ("", ".relu"):
                kernel("cvt_%s_f32_%s%s" % (t, rnd, relu.replace(".", "_")), pre + "\tcvt.%s%s.%s.f32 %%r0, %%f0, %%f1;\n\tst.global.b32 [%%data], %%r0;" % (rnd, relu, t))
    for rnd in ("rna", "rn", "rz", "rn.relu", "rz.relu", "rna.satfinite"):
        kernel("cvt_tf32_" + rnd.replace(".", "_"), pre + "\tcvt.%s.tf32.f32 %%r0, %%f0;\n\tst.global.b32 [%%data], %%r0;" % rnd)
    for op, t in itertools.product(("min", "max"), ("s16x2", "u16x2", "s32", "u32")):
        for relu in ("", ".relu") if t[0] == "s" else ("",):
            o = ("%s%s.%s" if t != "s32" or not relu else "%s%s.%s") % (op, relu, t)
            kernel("dpx_%s%s_%s" % (op, relu.replace(".", "_"), t), pre + "\t%s %%r0, %%r1, %%n;\n\tst.global.b32 [%%data], %%r0;" % o)
    for op, t in itertools.product(("add", "min", "max"), ("f16x2", "bf16x2")):
        kernel("half2_%s_%s" % (op, t), pre + "\t%s.%s %%r0, %%r1, %%n;\n\tst.global.b32 [%%data], %%r0;" % (op, t))
    # DPX proper: what ptxas makes of these chains
    for name, chain in (("viaddmax_s32", ("add.s32 %r2, %r1, %n", "max.s32 %r0, %r2, %r3")), ("viaddmin_s32", ("add.s32 %r2, %r1, %n", "min.s32 %r0, %r2, %r3")), ("vimax3_s32", ("max.s32 %r2, %r1, %n", "max.s32 %r0, %r2, %r3")),
                        ("vimin3_u32", ("min.u32 %r2, %r1, %n", "min.u32 %r0, %r2, %r3")), ("vimax3_s16x2", ("max.s16x2 %r2, %r1, %n", "max.s16x2 %r0, %r2, %r3")), ("viaddmax_s16x2", ("add.s16x2 %r2, %r1, %n", "max.s16x2 %r0, %r2, %r3")),
                        ("viaddmax_relu", ("add.s32 %r2, %r1, %n", "max.s32 %r4, %r2, %r3", "max.s32 %r0, %r4, 0")), ("viaddmax_u16x2", ("add.u16x2 %r2, %r1, %n", "max.u16x2 %r0, %r2, %r3"))):
        kernel("dpx_" + name, pre + "\tld.global.b32 %r3, [%data+16];\n" + "\n".join("\t%s;" % c for c in chain) + "\n\tst.global.b32 [%data], %r0;")
    for op, t in (("add", "f32"), ("min", "u32"), ("max", "s64"), ("and", "b32"), ("add", "f16x2"), ("add", "bf16x2")):
        r = {"f32": "f", "u32": "r", "s64": "d", "b32": "r", "f16x2": "r", "bf16x2": "r"}[t]
        st = "b32" if r in "rf" else "b64"
        kernel("multimem_ld_%s_%s" % (op, t), pre + "\tmultimem.ld_reduce.weak.global.%s.%s %%%s0, [%%data];\n\tst.global.%s [%%data], %%%s0;" % (op, t, r, st, r))
        kernel("multimem_red_%s_%s" % (op, t), pre + "\tmultimem.red.relaxed.gpu.global.%s.%s [%%data], %%%s1;" % (op, t, r))
    kernel("multimem_ld_v4", pre + "\tmultimem.ld_reduce.weak.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%data];\n\tst.global.v4.f32 [%data], {%f0, %f1, %f2, %f3};")
    kernel("multimem_st", pre + "\tmultimem.st.weak.global.f32 [%data], %f0;\n\tmultimem.st.release.sys.global.v4.f32 [%data], {%f0, %f1, %f0, %f1};")
    kernel("atom_v4_f32", pre + "\tatom.global.v4.f32.add {%f2, %f3, %f4, %f5}, [%data], {%f0, %f1, %f0, %f1};\n\tst.global.v4.f32 [%data], {%f2, %f3, %f4, %f5};")
    kernel("red_v8_f16", pre + "\tred.global.v8.f16.add.noftz [%data], {%h1, %h1, %h1, %h1, %h1, %h1, %h1, %h1};")
    kernel("atom_b128", "\t.reg .b128 %q<3>;\n\tld.global.b128 %q1, [%data];\n\tatom.global.exch.b128 %q0, [%data], %q1;\n\tst.global.b128 [%data], %q0;")
    kernel("applypriority", "\tapplypriority.global.L2::evict_normal [%data], 128;\n\tdiscard.global.L2 [%data], 128;")
    kernel("createpolicy", "\tcreatepolicy.fractional.L2::evict_first.b64 %d0, 1.0;\n\tld.global.L2::cache_hint.u32 %r0, [%data], %d0;\n\tst.global.u32 [%data], %r0;")
    kernel("createpolicy_range", "\tcreatepolicy.range.global.L2::evict_last.L2::evict_first.b64 %d0, [%data], 4096, 8192;\n\tld.global.L2::cache_hint.u32 %r0, [%data], %d0;\n\tst.global.u32 [%data], %r0;")
    kernel("nanosleep", "\tnanosleep.u32 100;")
    kernel("mma_fp8", "\tld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%data];\n\tld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%data];\n\tmma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r0, %r1}, {%f0, %f1, %f2, %f3};\n\tst.global.v4.f32 [%data], {%f0, %f1, %f2, %f3};")
    kernel("mma_f64_k16", "\t.reg .f64 %x<16>;\n" + "\n".join("\tld.global.f64 %%x%d, [%%data+%d];" % (i, 8 * i) for i in range(16)) + "\n\tmma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%x0, %x1, %x2, %x3}, {%x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11}, {%x12, %x13, %x14, %x15}, {%x0, %x1, %x2, %x3};\n\tst.global.f64 [%data], %x0;\n\tst.global.f64 [%data+8], %x1;")


all_wgmma()
bulk()
tensor()
tensormap()
mbarrier()
clusters()
others()

print(".version 9.0\n.target sm_90a\n.address_size 64\n")
print(".shared .align 1024 .b8 smem[40960];\n.shared .align 8 .b64 bar;\n")
for name, body, more, attrs in kernels:
    print(".visible .entry %s(.param .u64 p0, .param .u64 p1, .param .u32 p2) %s\n{\n%s%s%s%s\n\tret;\n}\n" % (name, attrs, HEAD, more, BODY + before(name), body))
