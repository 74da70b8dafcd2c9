#!/usr/bin/env python3
"""Writes PTX for sm_90a: one small kernel for each instruction of the PTX manual, in each of its types and modifiers.

usage: manual.py [PTXAS [KEEP]]

With the path of ptxas it assembles them, leaves out those that ptxas refuses for sm_90a (by the lines that it names) until the
others pass, and leaves KEEP.ptx and KEEP.cubin (default: manual). Without it prints all of them. What only Hopper has is in
corpus.py; `orrery show` says which of the kernels do not load.
"""
import itertools, re, subprocess, sys
kernels = []
REG = {"b8": "h", "u8": "h", "s8": "h", "b16": "h", "u16": "h", "s16": "h", "f16": "h", "bf16": "h", "b32": "r", "u32": "r", "s32": "r", "f16x2": "r", "bf16x2": "r", "u16x2": "r", "s16x2": "r",
       "tf32": "r", "e4m3x2": "h", "e5m2x2": "h", "b64": "d", "u64": "d", "s64": "d", "f32": "f", "f64": "x", "pred": "p"}
WIDE = {"h": 16, "r": 32, "d": 64, "f": 32, "x": 64}
count = {}


def kernel(name, body):
    name = re.sub(r"[^A-Za-z0-9_]", "_", name)
    count[name] = count.get(name, 0) + 1
    kernels.append(("%s_%d" % (name, count[name]) if count[name] > 1 else name, body))


def load(t, i, at):
    r = REG[t]
    if r == "p":
        return "ld.global.u32 %%r30, [%%data+%d]; setp.ne.u32 %%p%d, %%r30, 0;" % (at, i)
    return "ld.global.b%d %%%s%d, [%%data+%d];" % (WIDE[r], r, i, at)


def store(t, i=0, at=0):
    r = REG[t]
    if r == "p":
        return "selp.u32 %%r30, 1, 0, %%p%d; st.global.u32 [%%data+%d], %%r30;" % (i, at)
    return "st.global.b%d [%%data+%d], %%%s%d;" % (WIDE[r], at, r, i)


def op(inst, d, *s, tail=""):
    """d = inst(s...): register 0 is the result, 1 and up are the sources."""
    args = ["%%%s0" % REG[d]] + ["%%%s%d" % (REG[t], i + 1) for i, t in enumerate(s)]
    kernel(inst, "\n".join([load(t, i + 1, 16 * (i + 1)) for i, t in enumerate(s)] + ["%s %s%s;" % (inst, ", ".join(args), tail), store(d)]))


def text(name, *lines):
    kernel(name, "\n".join(lines))


INT = ("u16", "s16", "u32", "s32", "u64", "s64")
HALF = ("f16", "f16x2", "bf16", "bf16x2")
RND = ("rn", "rz", "rm", "rp")


def integers():
    for t in INT + ("u16x2", "s16x2"):
        for i in ("add", "sub", "min", "max"): op("%s.%s" % (i, t), t, t, t)
        if t[0] == "s": op("min.relu.%s" % t, t, t, t), op("max.relu.%s" % t, t, t, t)
    op("add.sat.s32", "s32", "s32", "s32"), op("sub.sat.s32", "s32", "s32", "s32")
    for t in INT:
        for i in ("div", "rem"): op("%s.%s" % (i, t), t, t, t)
        for h in ("hi", "lo"): op("mul.%s.%s" % (h, t), t, t, t), op("mad.%s.%s" % (h, t), t, t, t, t)
        op("sad.%s" % t, t, t, t, t)
        if t[0] == "s": op("abs.%s" % t, t, t), op("neg.%s" % t, t, t)
        if t[1:] != "64":
            w = t[0] + {"16": "32", "32": "64"}[t[1:]]
            op("mul.wide.%s" % t, w, t, t), op("mad.wide.%s" % t, w, t, t, w)
    op("mad.hi.sat.s32", "s32", "s32", "s32", "s32")
    for t in ("u32", "s32"):
        for h in ("hi", "lo"): op("mul24.%s.%s" % (h, t), t, t, t), op("mad24.%s.%s" % (h, t), t, t, t, t)
    op("mad24.hi.sat.s32", "s32", "s32", "s32", "s32")
    for t in ("u32", "s32", "u64", "s64"):
        for a in ("add.cc", "sub.cc"): text("%s.%s" % (a, t), load(t, 1, 16), load(t, 2, 32), "%s.%s %%%s0, %%%s1, %%%s2;" % (a, t, REG[t], REG[t], REG[t]), "%s.%s %%%s3, %%%s1, %%%s1;" % (a[:3] + "c", t, REG[t], REG[t], REG[t]), store(t), store(t, 3, 8))
        text("addc.cc.%s" % t, load(t, 1, 16), "add.cc.%s %%%s0, %%%s1, %%%s1;" % ((t,) + (REG[t],) * 3), "addc.cc.%s %%%s2, %%%s1, %%%s1;" % ((t,) + (REG[t],) * 3), "subc.cc.%s %%%s3, %%%s1, %%%s2;" % ((t,) + (REG[t],) * 3), "subc.%s %%%s4, %%%s1, %%%s2;" % ((t,) + (REG[t],) * 3), store(t), store(t, 2, 8), store(t, 3, 16), store(t, 4, 24))
        for h in ("hi", "lo"): text("mad.%s.cc.%s" % (h, t), load(t, 1, 16), "mad.%s.cc.%s %%%s0, %%%s1, %%%s1, %%%s1;" % ((h, t) + (REG[t],) * 4), "madc.%s.cc.%s %%%s2, %%%s1, %%%s1, %%%s1;" % ((h, t) + (REG[t],) * 4), "madc.%s.%s %%%s3, %%%s1, %%%s1, %%%s1;" % ((h, t) + (REG[t],) * 4), store(t), store(t, 2, 8), store(t, 3, 16))
        op("bfind.%s" % t, "u32", t), op("bfind.shiftamt.%s" % t, "u32", t)
        op("bfe.%s" % t, t, t, "u32", "u32")
    for t in ("b32", "b64"):
        op("popc.%s" % t, "u32", t), op("clz.%s" % t, "u32", t), op("brev.%s" % t, t, t), op("bfi.%s" % t, t, t, t, "u32", "u32")
    op("fns.b32", "b32", "b32", "b32", "s32")
    for m in ("clamp", "wrap"): op("szext.%s.s32" % m, "s32", "s32", "u32"), op("szext.%s.u32" % m, "u32", "u32", "u32"), op("bmsk.%s.b32" % m, "b32", "u32", "u32")
    for a, b in itertools.product(("u32", "s32"), ("u32", "s32")):
        op("dp4a.%s.%s" % (a, b), "s32", "b32", "b32", "s32")
        for h in ("lo", "hi"): op("dp2a.%s.%s.%s" % (h, a, b), "s32", "b32", "b32", "s32")


def floats():
    for p in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        for t in ("f32", "f64"): op("testp.%s.%s" % (p, t), "pred", t)
    for t in ("f32", "f64"): op("copysign.%s" % t, t, t, t), op("abs.%s" % t, t, t), op("neg.%s" % t, t, t), op("min.%s" % t, t, t, t), op("max.%s" % t, t, t, t)
    op("abs.ftz.f32", "f32", "f32"), op("neg.ftz.f32", "f32", "f32")
    for i, f, n, x in itertools.product(("min", "max"), ("", ".ftz"), ("", ".NaN"), ("", ".xorsign.abs")): op("%s%s%s%s.f32" % (i, f, n, x), "f32", "f32", "f32")
    for r in RND:
        for f, s in itertools.product(("", ".ftz"), ("", ".sat")):
            for i in ("add", "sub", "mul"): op("%s.%s%s%s.f32" % (i, r, f, s), "f32", "f32", "f32")
            op("fma.%s%s%s.f32" % (r, f, s), "f32", "f32", "f32", "f32"), op("mad.%s%s%s.f32" % (r, f, s), "f32", "f32", "f32", "f32")
        for i in ("add", "sub", "mul", "div"): op("%s.%s.f64" % (i, r), "f64", "f64", "f64")
        op("fma.%s.f64" % r, "f64", "f64", "f64", "f64"), op("mad.%s.f64" % r, "f64", "f64", "f64", "f64")
        for f in ("", ".ftz"):
            op("div.%s%s.f32" % (r, f), "f32", "f32", "f32")
            for i in ("rcp", "sqrt"): op("%s.%s%s.f32" % (i, r, f), "f32", "f32")
        for i in ("rcp", "sqrt"): op("%s.%s.f64" % (i, r), "f64", "f64")
    for f in ("", ".ftz"):
        for i in ("div.approx", "div.full"): op("%s%s.f32" % (i, f), "f32", "f32", "f32")
        for i in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"): op("%s.approx%s.f32" % (i, f), "f32", "f32")
    op("rsqrt.approx.f64", "f64", "f64"), op("rcp.approx.ftz.f64", "f64", "f64"), op("rsqrt.approx.ftz.f64", "f64", "f64"), op("tanh.approx.f32", "f32", "f32")
    for t in HALF:
        ftz = ("", ".ftz") if t[0] == "f" else ("",)
        for f in ftz:
            for s in ("", ".sat") if t[0] == "f" else ("",):
                for r in ("", ".rn"):
                    for i in ("add", "sub", "mul"): op("%s%s%s%s.%s" % (i, r, f, s, t), t, t, t)
                op("fma.rn%s%s.%s" % (f, s, t), t, t, t, t)
            op("fma.rn%s.relu.%s" % (f, t), t, t, t, t), op("neg%s.%s" % (f, t), t, t), op("abs%s.%s" % (f, t), t, t)
            for i, n, x in itertools.product(("min", "max"), ("", ".NaN"), ("", ".xorsign.abs")): op("%s%s%s%s.%s" % (i, f, n, x, t), t, t, t)
        op("fma.rn.oob.%s" % t, t, t, t, t), op("fma.rn.oob.relu.%s" % t, t, t, t, t), op("tanh.approx.%s" % t, t, t), op("ex2.approx.%s%s" % ("ftz." if t[0] == "b" else "", t), t, t)


CMP = {"s": ("eq", "ne", "lt", "le", "gt", "ge"), "u": ("eq", "ne", "lo", "ls", "hi", "hs", "lt", "ge"), "b": ("eq", "ne"), "f": ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")}


def compares():
    for t in INT + ("b16", "b32", "b64", "f32", "f64"):
        for c in CMP[t[0]]:
            op("setp.%s.%s" % (c, t), "pred", t, t)
            for d in ("u32", "s32", "f32"): op("set.%s.%s.%s" % (c, d, t), d, t, t)
        for b in ("and", "or", "xor"):
            text("setp.%s.%s" % (b, t), load(t, 1, 16), load(t, 2, 32), load("pred", 3, 48), "setp.%s.%s.%s %%p0|%%p1, %%%s1, %%%s2, !%%p3;" % (CMP[t[0]][1], b, t, REG[t], REG[t]), store("pred"), store("pred", 1, 4))
            text("set.%s.%s" % (b, t), load(t, 1, 16), load(t, 2, 32), load("pred", 3, 48), "set.%s.%s.u32.%s %%r0, %%%s1, %%%s2, %%p3;" % (CMP[t[0]][1], b, t, REG[t], REG[t]), store("u32"))
        op("selp.%s" % t, t, t, t, "pred"), op("slct.%s.s32" % t, t, t, t, "s32"), op("slct.%s.f32" % t, t, t, t, "f32"), op("slct.ftz.%s.f32" % t, t, t, t, "f32")
    op("setp.lt.ftz.f32", "pred", "f32", "f32")
    for t in ("f16", "bf16"):
        for c in CMP["f"]:
            op("setp.%s.%s" % (c, t), "pred", t, t), op("setp.%s.ftz.%s" % (c, t), "pred", t, t)
            x = t + "x2"
            text("setp.%s.%s" % (c, x), load(x, 1, 16), load(x, 2, 32), "setp.%s.%s %%p0|%%p1, %%r1, %%r2;" % (c, x), store("pred"), store("pred", 1, 4))
            for d in (t, "u16", "s16", "u32", "s32"): op("set.%s.%s.%s" % (c, d, t), d, t, t)
            op("set.%s.%s.%s" % (c, x, x), x, x, x), op("set.%s.u32.%s" % (c, x), "u32", x, x)


def logic():
    for t in ("pred", "b16", "b32", "b64"):
        for i in ("and", "or", "xor"): op("%s.%s" % (i, t), t, t, t)
        op("not.%s" % t, t, t)
        if t != "pred": op("cnot.%s" % t, t, t), op("shl.%s" % t, t, t, "u32"), op("shr.%s" % t, t, t, "u32")
    for t in INT: op("shr.%s" % t, t, t, "u32")
    for v in (0x80, 0x96, 0xe8, 0x01, 0x3a): op("lop3.b32", "b32", "b32", "b32", "b32", tail=", 0x%x" % v)
    for b in ("or", "and"): text("lop3.%s" % b, load("b32", 1, 16), load("b32", 2, 32), load("pred", 3, 48), "lop3.%s.b32 %%r0|%%p0, %%r1, %%r2, %%r1, 0x3c, %%p3;" % b, store("b32"), store("pred", 0, 8))
    for d, m in itertools.product("lr", ("clamp", "wrap")): op("shf.%s.%s.b32" % (d, m), "b32", "b32", "b32", "u32")
    for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"): op("prmt.b32%s" % m, "b32", "b32", "b32", "b32")


def conversions():
    ints = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
    for d, s in itertools.product(ints, ints):
        for sat in ("", ".sat"): op("cvt%s.%s.%s" % (sat, d, s), d, s)
    for f, i in itertools.product(("f16", "bf16", "f32", "f64"), ints):
        for r in RND: op("cvt.%s.%s.%s" % (r, f, i), f, i)
        for r in ("rni", "rzi", "rmi", "rpi"): op("cvt.%s.%s.%s" % (r, i, f), i, f), op("cvt.%s.sat.%s.%s" % (r, i, f), i, f)
        op("cvt.rzi.ftz.%s.%s" % (i, f), i, f)
    fl = ("f16", "bf16", "f32", "f64")
    for d, s in itertools.product(fl, fl):
        for r in ("",) + RND + ("rni", "rzi", "rmi", "rpi"):
            for m in ("", ".ftz", ".sat", ".relu"): op("cvt%s%s.%s.%s" % ("." + r if r else "", m, d, s), d, s)
    for d, s, c in itertools.product(("u16", "s16", "u8", "s8"), ("s32",), (None, "b32")):
        op("cvt.pack.sat.%s.%s%s" % (d, s, ".b32" if c else ""), "u32", *(["s32", "s32"] + (["b32"] if c else [])))
    for a in ("const", "global", "local", "shared", "shared::cta", "shared::cluster", "param"):
        op("cvta.%s.u64" % a, "u64", "u64"), op("cvta.to.%s.u64" % a, "u64", "u64"), op("isspacep.%s" % a, "pred", "u64")


def memory():
    for t in ("b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        for v in ("", ".v2", ".v4"):
            n = {"": 1, ".v2": 2, ".v4": 4}[v]
            r = "{" + ", ".join("%%%s%d" % (REG[t], i) for i in range(n)) + "}" if n > 1 else "%%%s0" % REG[t]
            for space, a in (("global", "%data"), ("shared", "%s0"), ("", "%data"), ("local", "stack"), ("const", "table"), ("param", "p3")):
                sp = "." + space if space else ""
                st = "st.global%s.%s [%%data+64], %s;" % (v, t, r)
                text("ld%s%s.%s" % (sp, v, t), "ld%s%s.%s %s, [%s+16];" % (sp, v, t, r, a), st)
                if space not in ("const", "param"): text("st%s%s.%s" % (sp, v, t), "ld.global%s.%s %s, [%%data];" % (v, t, r), "st%s%s.%s [%s+32], %s;" % (sp, v, t, a, r))
    for c in ("ca", "cg", "cs", "lu", "cv", "nc", "ca.nc", "nc.L1::no_allocate", "L1::evict_last", "L1::evict_first", "L1::evict_unchanged", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B", "L1::no_allocate.L2::128B", "nc.L1::no_allocate.L2::256B"):
        w = c.startswith("nc") or c == "ca.nc"
        for v in ("", ".v4"):
            r = "{%r0, %r1, %r2, %r3}" if v else "%r0"
            text("ld.%s%s" % (c, v), "ld.global.%s%s.b32 %s, [%%data];" % (c, v, r), "st.global%s.b32 [%%data+32], %s;" % (v, r))
            text("ld.hint.%s%s" % (c, v), "ld.global.%s.L2::cache_hint%s.b32 %s, [%%data], %%map;" % (c, v, r), "st.global%s.b32 [%%data+32], %s;" % (v, r))
    for c in ("wb", "cg", "cs", "wt", "L1::evict_last", "L1::no_allocate"): text("st." + c, "st.global.%s.b32 [%%data], %%n;" % c, "st.global.%s.L2::cache_hint.v4.b32 [%%data], {%%n, %%n, %%n, %%n}, %%map;" % c)
    for sem, sc, t, sp in itertools.product(("weak", "volatile", "relaxed", "acquire", "release", "mmio.relaxed"), ("cta", "cluster", "gpu", "sys", ""), ("u8", "b16", "b32", "b64", "b128"), ("global", "shared", "")):
        q = "%s%s" % (sem, "." + sc if sc else "")
        a = "%s0" if sp == "shared" else "%data"
        s = "." + sp if sp else ""
        r = "%%%s0" % REG.get(t, "q")
        first = ".reg .b128 %q<2>;" if t == "b128" else ""
        if sem != "release": text("ld.%s.%s.%s" % (q, sp, t), first, "ld.%s%s.%s %s, [%s];" % (q, s, t, r, a), "st.global.%s [%%data+16], %s;" % (t, r))
        if sem != "acquire": text("st.%s.%s.%s" % (q, sp, t), first, "ld.global.%s %s, [%%data+16];" % (t, r), "st.%s%s.%s [%s], %s;" % (q, s, t, a, r))
    for l, sp in itertools.product(("L1", "L2"), (".global", ".local", "")): text("prefetch%s.%s" % (sp, l), "prefetch%s.%s [%s];" % (sp, l, "stack" if sp == ".local" else "%data"))
    for l in ("L2::evict_last", "L2::evict_normal"): text("prefetch." + l, "prefetch.global.%s [%%data];" % l)
    text("prefetchu", "prefetchu.L1 [%data];")
    for b, c, x in itertools.product((4, 8, 16), ("ca", "cg"), ("", ".L2::64B", ".L2::128B", ".L2::256B", ".L2::cache_hint", ", %n", ", %p1")):
        m, tail = (x, "") if x.startswith(".") else ("", x)
        tail = ", %map" if x == ".L2::cache_hint" else tail
        text("cp.async", load("pred", 1, 8), "cp.async.%s.shared.global%s [%%s0], [%%data], %d%s;" % (c, m, b, tail), "cp.async.commit_group;", "cp.async.wait_group 0;", "cp.async.wait_all;", "ld.shared.b32 %r0, [%s0];", store("b32"))
    text("ldu", "ldu.global.v2.f32 {%f0, %f1}, [%data];", store("f32"))
    for n, t in ((2, "b8"), (4, "b8"), (2, "b16"), (4, "b16"), (2, "b32")):
        if t == "b8": continue
        big = {(2, "b16"): "b32", (4, "b16"): "b64", (2, "b32"): "b64"}[(n, t)]
        r = "{" + ", ".join("%%%s%d" % (REG[t], i + 1) for i in range(n)) + "}"
        text("mov.unpack.%s" % big, load(big, 0, 16), "mov.%s %s, %%%s0;" % (big, r, REG[big]), "mov.%s %%%s0, %s;" % (big, REG[big], r), store(big))


def atomics():
    ints = {"add": ("u32", "s32", "u64"), "min": ("u32", "s32", "u64", "s64"), "max": ("u32", "s32", "u64", "s64"), "inc": ("u32",), "dec": ("u32",), "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"), "exch": ("b32", "b64"), "cas": ("b16", "b32", "b64")}
    floats_ = {"add": ("f32", "f64"), "add.noftz": HALF}
    for table in (ints, floats_):
        for o, types in table.items():
            for t, (sp, a) in itertools.product(types, ((".global", "%data"), (".shared", "%s0"), ("", "%data"))):
                for sem in ("",) if o not in ("add", "cas") else ("", ".relaxed.gpu", ".acquire.cta", ".release.sys", ".acq_rel.cluster", ".cta", ".sys"):
                    src = "%%%s1" % REG[t] + (", %%%s2" % REG[t] if o == "cas" else "")
                    text("atom%s%s.%s.%s" % (sem, sp, o, t), load(t, 1, 16), load(t, 2, 32), "atom%s%s.%s.%s %%%s0, [%s], %s;" % (sem, sp, o, t, REG[t], a, src), store(t, 0, 64))
                    if o not in ("exch", "cas"): text("red%s%s.%s.%s" % (sem, sp, o, t), load(t, 1, 16), "red%s%s.%s.%s [%s], %%%s1;" % (sem, sp, o, t, a, REG[t]))
    for v, t, n in ((".v2", "f32", 2), (".v4", "f32", 4), (".v2", "f16x2", 2), (".v4", "f16x2", 4), (".v2", "bf16x2", 2), (".v4", "bf16x2", 4), (".v2", "f16", 2), (".v4", "f16", 4), (".v8", "f16", 8), (".v8", "bf16", 8)):
        r = lambda k: "{" + ", ".join("%%%s%d" % (REG[t], k + i) for i in range(n)) + "}"
        for o in ("add", "min", "max") if t != "f32" else ("add",):
            z = ".noftz" if o == "add" and t != "f32" else ""
            text("red%s.%s.%s" % (v, o, t), *[load(t, i, 16 + 8 * i) for i in range(n)], "red.global%s.%s.%s%s [%%data], %s;" % (v, t, o, z, r(0)))
            text("atom%s.%s.%s" % (v, o, t), *[load(t, i, 16 + 8 * i) for i in range(n)], "atom.global%s.%s.%s%s %s, [%%data], %s;" % (v, t, o, z, r(8), r(0)), store(t, 8, 64))
    text("atom.cas.b128", ".reg .b128 %q<3>;", "ld.global.b128 %q1, [%data];", "atom.global.cas.b128 %q0, [%data], %q1, %q1;", "st.global.b128 [%data], %q0;")


def warps():
    for m, c in (("up", "0"), ("down", "31"), ("bfly", "31"), ("idx", "31")):
        op("shfl.sync.%s.b32" % m, "b32", "b32", "b32", tail=", %s, 0xffffffff" % c)
        text("shfl.p.%s" % m, load("b32", 1, 16), "shfl.sync.%s.b32 %%r0|%%p0, %%r1, %%n, %s, %%n;" % (m, c), store("b32"), store("pred", 0, 8))
    for m in ("all", "any", "uni"): op("vote.sync.%s.pred" % m, "pred", "pred", tail=", 0xffffffff"), op("vote.sync.%s.pred" % m, "pred", "pred", "b32")
    op("vote.sync.ballot.b32", "b32", "pred", tail=", 0xffffffff")
    for t in ("b32", "b64"):
        op("match.any.sync.%s" % t, "b32", t, tail=", 0xffffffff")
        text("match.all.%s" % t, load(t, 1, 16), "match.all.sync.%s %%r0|%%p0, %%%s1, %%n;" % (t, REG[t]), store("b32"), store("pred", 0, 8))
    text("activemask", "activemask.b32 %r0;", store("b32"))
    for o, t in [(o, t) for o in ("add", "min", "max") for t in ("u32", "s32")] + [(o, "b32") for o in ("and", "or", "xor")]: op("redux.sync.%s.%s" % (o, t), t, t, "b32")
    for i in ("0", "3", "%n"):
        for n in ("", ", 64", ", %n"):
            text("bar.sync", "bar.sync %s%s;" % (i, n), "barrier.sync %s%s;" % (i, n), "barrier.sync.aligned %s%s;" % (i, n))
            if n: text("bar.arrive", "bar.arrive %s%s;" % (i, n), "barrier.arrive %s%s;" % (i, n))
            text("bar.red.popc", load("pred", 1, 8), "bar.red.popc.u32 %%r0, %s%s, %%p1;" % (i, n), store("b32"))
            for o in ("and", "or"): text("bar.red." + o, load("pred", 1, 8), "bar.red.%s.pred %%p0, %s%s, !%%p1;" % (o, i, n), store("pred"))
    text("bar.warp", "bar.warp.sync %n;", "bar.warp.sync 0xffffffff;")
    for f in ["membar." + s for s in ("cta", "gl", "sys")] + ["fence.%s.%s" % (m, s) for m in ("sc", "acq_rel", "acquire", "release") for s in ("cta", "cluster", "gpu", "sys")]: text(f, "st.global.b32 [%data], %n;", f + ";", "st.global.b32 [%data+4], %n;")
    for t, n in (("x1", 1), ("x2", 2), ("x4", 4)):
        for tr in ("", ".trans"):
            r = "{" + ", ".join("%%r%d" % i for i in range(n)) + "}"
            text("ldmatrix", "ldmatrix.sync.aligned.m8n8.%s%s.shared.b16 %s, [%%s0];" % (t, tr, r), store("b32"))
    op("movmatrix.sync.aligned.m8n8.trans.b16", "b32", "b32")


def registers():
    for r in ("tid", "ntid", "ctaid", "nctaid"): text(r, *["mov.u32 %%r0, %%%s.%s; st.global.u32 [%%data+%d], %%r0;" % (r, c, 4 * i) for i, c in enumerate("xyz")])
    for r in ("laneid", "warpid", "nwarpid", "smid", "nsmid", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "clock", "clock_hi", "dynamic_smem_size", "total_smem_size", "aggr_smem_size", "globaltimer_lo", "globaltimer_hi", "pm0", "envreg3", "reserved_smem_offset_begin", "reserved_smem_offset_end", "reserved_smem_offset_cap", "current_graph_exec_lo"):
        text(r, "mov.u32 %%r0, %%%s;" % r, store("b32"))
    for r in ("gridid", "clock64", "globaltimer", "current_graph_exec", "pm0_64"): text(r, "mov.u64 %%d0, %%%s;" % r, store("b64"))


def matrices():
    def mma(name, d, a, b, c, dt, at, bt, ct):
        def v(t, n, k): return "{" + ", ".join("%%%s%d" % (REG[t], k + i) for i in range(n)) + "}"
        lines = [load(t, k + i, 10 * k - 64 + 8 * i) for t, n, k in ((at, a, 8), (bt, b, 16), (ct, c, 24)) for i in range(n)]
        text(name, *lines, "%s %s, %s, %s, %s;" % (name, v(dt, d, 0), v(at, a, 8), v(bt, b, 16), v(ct, c, 24)), *[store(dt, i, 256 + 8 * i) for i in range(d)])
    p = "mma.sync.aligned."
    for d, c in itertools.product(("f16", "f32"), ("f16", "f32")):
        x, y = ("b32" if d == "f16" else "f32"), ("b32" if c == "f16" else "f32")
        for sh, a, b in (("m16n8k8", 2, 1), ("m16n8k16", 4, 2)): mma(p + "%s.row.col.%s.f16.f16.%s" % (sh, d, c), 2 if d == "f16" else 4, a, b, 2 if c == "f16" else 4, x, "b32", "b32", y)
        for l1, l2 in itertools.product(("row", "col"), ("row", "col")): mma(p + "m8n8k4.%s.%s.%s.f16.f16.%s" % (l1, l2, d, c), 4 if d == "f16" else 8, 2, 2, 4 if c == "f16" else 8, x, "b32", "b32", y)
    for sh, a, b in (("m16n8k8", 2, 1), ("m16n8k16", 4, 2)): mma(p + sh + ".row.col.f32.bf16.bf16.f32", 4, a, b, 4, "f32", "b32", "b32", "f32")
    for sh, a, b in (("m16n8k4", 2, 1), ("m16n8k8", 4, 2)): mma(p + sh + ".row.col.f32.tf32.tf32.f32", 4, a, b, 4, "f32", "b32", "b32", "f32")
    for sh, a, b, d in (("m8n8k4", 1, 1, 2), ("m16n8k4", 2, 1, 4), ("m16n8k8", 4, 2, 4), ("m16n8k16", 8, 4, 4)): mma(p + sh + ".row.col.f64.f64.f64.f64", d, a, b, d, "f64", "f64", "f64", "f64")
    for sat in ("", ".satfinite"):
        for x, y in itertools.product(("u8", "s8"), ("u8", "s8")):
            for sh, a, b, d in (("m8n8k16", 1, 1, 2), ("m16n8k16", 2, 1, 4), ("m16n8k32", 4, 2, 4)): mma(p + "%s.row.col%s.s32.%s.%s.s32" % (sh, sat, x, y), d, a, b, d, "s32", "b32", "b32", "s32")
        for x, y in itertools.product(("u4", "s4"), ("u4", "s4")):
            for sh, a, b, d in (("m8n8k32", 1, 1, 2), ("m16n8k32", 2, 1, 4), ("m16n8k64", 4, 2, 4)): mma(p + "%s.row.col%s.s32.%s.%s.s32" % (sh, sat, x, y), d, a, b, d, "s32", "b32", "b32", "s32")
    for o in ("xor", "and"):
        for sh, a, b, d in (("m8n8k128", 1, 1, 2), ("m16n8k128", 2, 1, 4), ("m16n8k256", 4, 2, 4)): mma(p + "%s.row.col.s32.b1.b1.s32.%s.popc" % (sh, o), d, a, b, d, "s32", "b32", "b32", "s32")
    for x, y, d in itertools.product(("e4m3", "e5m2"), ("e4m3", "e5m2"), ("f32", "f16")):
        for sh, a, b in (("m16n8k16", 2, 1), ("m16n8k32", 4, 2)): mma(p + "%s.row.col.%s.%s.%s.%s" % (sh, d, x, y, d), 4 if d == "f32" else 2, a, b, 4 if d == "f32" else 2, d if d == "f32" else "b32", "b32", "b32", d if d == "f32" else "b32")
    def sparse(sh, tail, d, a, b, dt, sel):
        def v(t, n, k): return "{" + ", ".join("%%%s%d" % (REG[t], k + i) for i in range(n)) + "}"
        for o in ("mma.sp.sync.aligned.", "mma.sp::ordered_metadata.sync.aligned."):
            lines = [load(t, k + i, 10 * k - 64 + 8 * i) for t, n, k in (("b32", a, 8), ("b32", b, 16), (dt, d, 24)) for i in range(n)]
            text(o + sh + tail, *lines, "%s%s.row.col%s %s, %s, %s, %s, %%n, %d;" % (o, sh, tail, v(dt, d, 0), v("b32", a, 8), v("b32", b, 16), v(dt, d, 24), sel), *[store(dt, i, 256 + 8 * i) for i in range(d)])
    for t in ("f16", "bf16"):
        for sel in (0, 1): sparse("m16n8k16", ".f32.%s.%s.f32" % (t, t), 4, 2, 2, "f32", sel), sparse("m16n8k32", ".f32.%s.%s.f32" % (t, t), 4, 4, 4, "f32", sel)
    sparse("m16n8k16", ".f16.f16.f16.f16", 2, 2, 2, "b32", 0), sparse("m16n8k32", ".f16.f16.f16.f16", 2, 4, 4, "b32", 0)
    sparse("m16n8k8", ".f32.tf32.tf32.f32", 4, 2, 2, "f32", 0), sparse("m16n8k16", ".f32.tf32.tf32.f32", 4, 4, 4, "f32", 0)
    for x, y in itertools.product(("u8", "s8"), ("u8", "s8")): sparse("m16n8k32", ".s32.%s.%s.s32" % (x, y), 4, 2, 2, "s32", 0), sparse("m16n8k64", ".satfinite.s32.%s.%s.s32" % (x, y), 4, 4, 4, "s32", 0)
    for x, y in itertools.product(("u4", "s4"), ("u4", "s4")): sparse("m16n8k64", ".s32.%s.%s.s32" % (x, y), 4, 2, 2, "s32", 0), sparse("m16n8k128", ".s32.%s.%s.s32" % (x, y), 4, 4, 4, "s32", 0)
    for x, y in itertools.product(("e4m3", "e5m2"), ("e4m3", "e5m2")): sparse("m16n8k64", ".f32.%s.%s.f32" % (x, y), 4, 4, 4, "f32", 0)
    def wmma(sh, a, b, c, d, na, nb, nc, nd, rt, ra, l1="row", l2="col", tail=""):
        def v(t, n, k): return "{" + ", ".join("%%%s%d" % (REG[t], k + i) for i in range(n)) + "}"
        rc = {"f16": "b32", "f32": "f32", "s32": "s32", "f64": "f64"}[c]
        rd = {"f16": "b32", "f32": "f32", "s32": "s32", "f64": "f64"}[d]
        text("wmma.%s.%s.%s.%s.%s.%s" % (sh, a, c, d, l1, l2), "wmma.load.a.sync.aligned.%s.%s.global.%s %s, [%%base], %%n;" % (l1, sh, a, v(ra, na, 0)), "wmma.load.b.sync.aligned.%s.%s.shared.%s %s, [%%s1];" % (l2, sh, b, v(ra, nb, 8)), "wmma.load.c.sync.aligned.row.%s.global.%s %s, [%%base+4096];" % (sh, c, v(rc, nc, 16)),
             "wmma.mma.%ssync.aligned.%s.%s.%s.%s %s, %s, %s, %s;" % (tail, l1, l2, sh, {"f16": "%s.%s" % (d, c), "f32": "%s.%s" % (d, c)}.get(a if a in ("f16",) else "", "%s.%s.%s.%s" % (d, a, b, c)), v(rd, nd, 24), v(ra, na, 0), v(ra, nb, 8), v(rc, nc, 16)), "wmma.store.d.sync.aligned.row.%s.global.%s [%%base+8192], %s;" % (sh, d, v(rd, nd, 24)))
    for sh, l1, l2 in itertools.product(("m16n16k16", "m32n8k16", "m8n32k16"), ("row", "col"), ("row", "col")):
        for d, c in itertools.product(("f16", "f32"), ("f16", "f32")): wmma(sh, "f16", "f16", c, d, 8, 8, 4 if c == "f16" else 8, 4 if d == "f16" else 8, d, "b32", l1, l2)
        na, nb = {"m16n16k16": (4, 4), "m32n8k16": (8, 2), "m8n32k16": (2, 8)}[sh]
        wmma(sh, "bf16", "bf16", "f32", "f32", na, nb, 8, 8, "f32", "b32", l1, l2)
        ni = {"m16n16k16": (2, 2), "m32n8k16": (4, 1), "m8n32k16": (1, 4)}[sh]
        for t in ("u8", "s8"): wmma(sh, t, t, "s32", "s32", ni[0], ni[1], 8, 8, "s32", "b32", l1, l2)
    wmma("m16n16k8", "tf32", "tf32", "f32", "f32", 4, 4, 8, 8, "f32", "b32"), wmma("m8n8k4", "f64", "f64", "f64", "f64", 1, 1, 2, 2, "f64", "f64")
    for t in ("u4", "s4"): wmma("m8n8k32", t, t, "s32", "s32", 1, 1, 2, 2, "s32", "b32")
    wmma("m8n8k128", "b1", "b1", "s32", "s32", 1, 1, 2, 2, "s32", "b32", tail="xor.popc."), wmma("m8n8k128", "b1", "b1", "s32", "s32", 1, 1, 2, 2, "s32", "b32", tail="and.popc.")


def video():
    for i in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        for d, a, b in itertools.product(("u32", "s32"), repeat=3):
            for s in ("", ".sat"): op("%s.%s.%s.%s%s" % (i, d, a, b, s), d, a, b)
            text("%s.sel" % i, load("u32", 1, 16), load("u32", 2, 32), "%s.%s.%s.%s %%r0, %%r1.b1, %%r2.h1;" % (i, d, a, b), store("u32"))
            for o in ("add", "min", "max"): text("%s.%s" % (i, o), load("u32", 1, 16), load("u32", 2, 32), load("u32", 3, 48), "%s.%s.%s.%s.%s %%r0, %%r1, %%r2, %%r3;" % (i, d, a, b, o), store("u32"))
            text("%s.merge" % i, load("u32", 1, 16), load("u32", 2, 32), load("u32", 3, 48), "%s.%s.%s.%s %%r0.b2, %%r1, %%r2, %%r3;" % (i, d, a, b), store("u32"))
    for i, m in itertools.product(("vshl", "vshr"), ("clamp", "wrap")): op("%s.u32.u32.u32.%s" % (i, m), "u32", "u32", "u32"), op("%s.s32.s32.u32.sat.%s" % (i, m), "s32", "s32", "u32")
    for x in ("", ".sat", ".shr7", ".shr15"): op("vmad.s32.s32.s32%s" % x, "s32", "s32", "s32", "s32"), op("vmad.u32.u32.u32%s" % x, "u32", "u32", "u32", "u32")
    for c in ("eq", "ne", "lt", "le", "gt", "ge"): op("vset.s32.u32.%s" % c, "u32", "s32", "u32")
    for i, n in itertools.product(("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"), "24"):
        for t in ("u32", "s32"): op("%s%s.%s.%s.%s" % (i, n, t, t, t), t, t, t, t), op("%s%s.%s.%s.%s.sat" % (i, n, t, t, t), t, t, t, t), op("%s%s.%s.%s.%s.add" % (i, n, t, t, t), t, t, t, t)
    for n, c in itertools.product("24", ("eq", "ne", "lt", "le", "gt", "ge")): op("vset%s.u32.u32.%s" % (n, c), "u32", "u32", "u32", "u32"), op("vset%s.s32.s32.%s.add" % (n, c), "u32", "u32", "u32", "u32")


def others():
    for i in ("trap", "brkpt", "exit", "pmevent 3", "pmevent.mask 0xff", "nanosleep.u32 %n", "griddepcontrol.wait", "griddepcontrol.launch_dependents"): text(i, "st.global.b32 [%data], %n;", i + ";")
    text("alloca", ".reg .u64 %old;", "stacksave.u64 %old;", "alloca.u64 %d0, %map, 16;", "st.local.b32 [%d0], %n;", "ld.local.b32 %r0, [%d0];", "stackrestore.u64 %old;", store("b32"))
    text("brx", "tab: .branchtargets one, two;", "brx.idx %n, tab;", "one: st.global.b32 [%data], 1;", "two: st.global.b32 [%data+4], %n;")
    text("call", "call (%r0), helper, (%n);", store("b32"))
    text("call.indirect", "proto: .callprototype (.param .b32 _) _ (.param .b32 _);", "mov.u64 %d0, helper2;", "{ .param .b32 in; .param .b32 back; st.param.b32 [in], %n; call (back), %d0, (in), proto; ld.param.b32 %r0, [back]; }", store("b32"))
    for g in ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube"):
        n = {"1d": 1, "2d": 2, "3d": 4, "a1d": 2, "a2d": 4, "cube": 4, "acube": 4}[g]
        c = "{" + ", ".join("%%f%d" % i for i in range(n)) + "}" if n > 1 else "{%f0}"
        if g in ("a1d", "a2d", "acube"): c = "{%n, " + ", ".join("%%f%d" % i for i in range(n - 1)) + "}"
        for t in ("f32", "s32", "u32"):
            r = "{" + ", ".join("%%%s%d" % (REG[t], 8 + i) for i in range(4)) + "}"
            text("tex.%s" % g, "tex.%s.v4.%s.f32 %s, [%%map, %s];" % (g, t, r, c), store(t, 8))
            text("tex.level.%s" % g, "tex.level.%s.v4.%s.f32 %s, [%%map, %s], %%f5;" % (g, t, r, c), store(t, 8))
        if g in ("2d", "a2d", "cube", "acube"):
            for k in "rgba": text("tld4.%s.%s" % (k, g), "tld4.%s.%s.v4.f32.f32 {%%f8, %%f9, %%f10, %%f11}, [%%map, %s];" % (k, g, c), store("f32", 8))
    text("tex.grad", "tex.grad.2d.v4.f32.f32 {%f8, %f9, %f10, %f11}, [%map, {%f0, %f1}], {%f2, %f3}, {%f4, %f5};", store("f32", 8))
    for q in ("width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords", "array_size", "num_mipmap_levels"): text("txq." + q, "txq.%s.b32 %%r0, [%%map];" % q, store("b32"))
    for g, c in (("1d", "{%n}"), ("2d", "{%n, %n}"), ("3d", "{%n, %n, %n, %n}"), ("a1d", "{%n, %n}"), ("a2d", "{%n, %n, %n, %n}")):
        for t, k in itertools.product(("b8", "b16", "b32", "b64"), ("trap", "clamp", "zero")):
            text("suld.%s" % g, "suld.b.%s.%s.%s {%%%s0}, [%%map, %s];" % (g, t, k, REG[t], c), store(t)), text("sust.%s" % g, load(t, 0, 16), "sust.b.%s.%s.%s [%%map, %s], {%%%s0};" % (g, t, k, c, REG[t]))
        for t in ("b32", "b64"): text("suld.v2.%s" % g, "suld.b.%s.v2.%s.trap {%%%s0, %%%s1}, [%%map, %s];" % (g, t, REG[t], REG[t], c), store(t))
        for o, t in (("add", "u32"), ("min", "s32"), ("max", "u64"), ("and", "b32"), ("or", "b64")): text("sured.%s" % g, load(t, 0, 16), "sured.b.%s.%s.%s.trap [%%map, %s], %%%s0;" % (o, g, t, c, REG[t]))
    for q in ("width", "height", "depth", "channel_data_type", "channel_order", "array_size", "memory_layout"): text("suq." + q, "suq.%s.b32 %%r0, [%%map];" % q, store("b32"))


def textures():
    r4="{%f8, %f9, %f10, %f11}"
    # textures
    for q in ("filter_mode","addr_mode_0","addr_mode_1","addr_mode_2","force_unnormalized_coords","num_samples"): text("txq."+q,"txq.%s.b32 %%r0, [%%map];"%q,store("b32"))
    text("txq.level","txq.level.width.b32 %r0, [%map], 1;",store("b32"))
    text("txq.level.h","txq.level.height.b32 %r0, [%map], %n;",store("b32"))
    for g,c in (("1d","{%f0}"),("2d","{%f0, %f1}"),("3d","{%f0, %f1, %f2, %f3}"),("a1d","{%n, %f1}"),("a2d","{%n, %f1, %f2, %f3}")):
        e={"1d":"%n","a1d":"%n","2d":"{%n, %n}","a2d":"{%n, %n}","3d":"{%n, %n, %n, %n}"}[g]
        for lv in ("",".base",".level"):
            l=", %f5" if lv==".level" else ""
            text("tex.offset","tex%s.%s.v4.f32.f32 %s, [%%map, %s]%s, %s;"%(lv,g,r4,c,l,e),store("f32",8))
            if g!="3d": text("tex.depth","tex%s.%s.v4.f32.f32 %s, [%%map, %s]%s, %%f6;"%(lv,g,r4,c,l),store("f32",8))
            if g!="3d": text("tex.depth.off","tex%s.%s.v4.f32.f32 %s, [%%map, %s]%s, %s, %%f6;"%(lv,g,r4,c,l,e),store("f32",8))
            text("tex.s32coord","tex%s.%s.v4.f32.s32 %s, [%%map, %s]%s;"%(lv,g,r4,c.replace("%f","%r"),l.replace("%f","%r")),store("f32",8))
            text("tex.f16x2","tex%s.%s.v2.f16x2.f32 {%%r8, %%r9}, [%%map, %s]%s;"%(lv,g,c,l),store("b32",8))
            text("tex.v4.f16","tex%s.%s.v4.f16.f32 {%%h8, %%h9, %%h10, %%h11}, [%%map, %s]%s;"%(lv,g,c,l),store("f16",8))
            text("tex.p","tex%s.%s.v4.f32.f32 %s|%%p0, [%%map, %s]%s;"%(lv,g,r4,c,l),store("f32",8),store("pred",0,8))
        gr={"1d":"{%f2}","a1d":"{%f2}","2d":"{%f2, %f3}","a2d":"{%f2, %f3}","3d":"{%f2, %f3, %f4, %f5}"}[g]
        text("tex.grad","tex.grad.%s.v4.f32.f32 %s, [%%map, %s], %s, %s;"%(g,r4,c,gr,gr),store("f32",8))
        text("tex.grad.off","tex.grad.%s.v4.f32.f32 %s, [%%map, %s], %s, %s, %s;"%(g,r4,c,gr,gr,e),store("f32",8))
        text("tex.grad.dc","tex.grad.%s.v4.f32.f32 %s, [%%map, %s], %s, %s, %%f6;"%(g,r4,c,gr,gr),store("f32",8))
    for g in ("cube","acube"):
        c="{%f0, %f1, %f2, %f3}" if g=="cube" else "{%n, %f1, %f2, %f3}"
        text("tex.cube.dc","tex.%s.v4.f32.f32 %s, [%%map, %s], %%f6;"%(g,r4,c),store("f32",8))
        text("tex.cube.grad","tex.grad.%s.v4.f32.f32 %s, [%%map, %s], {%%f2,%%f3,%%f4,%%f5}, {%%f2,%%f3,%%f4,%%f5};"%(g,r4,c),store("f32",8))
    for g in ("2dms","a2dms"):
        text("tex."+g,"tex.base.%s.v4.f32.s32 %s, [%%map, {%%n, %%n, %%n, %%n}];"%(g,r4),store("f32",8))
    for g,c in (("2d","{%f0, %f1}"),("a2d","{%n, %f1, %f2, %f3}")):
        text("tld4.off","tld4.r.%s.v4.f32.f32 %s, [%%map, %s], {%%n, %%n};"%(g,r4,c),store("f32",8))
        text("tld4.dc","tld4.r.%s.v4.f32.f32 %s, [%%map, %s], %%f6;"%(g,r4,c),store("f32",8))
        for t in ("s32","u32"): text("tld4.t","tld4.g.%s.v4.%s.f32 {%%r8, %%r9, %%r10, %%r11}, [%%map, %s];"%(g,t,c),store("b32",8))
        text("tld4.p","tld4.r.%s.v4.f32.f32 %s|%%p0, [%%map, %s];"%(g,r4,c),store("f32",8),store("pred",0,8))
    # surfaces
    for g,c in (("1d","{%n}"),("2d","{%n, %n}"),("3d","{%n, %n, %n, %n}"),("a1d","{%n, %n}"),("a2d","{%n, %n, %n, %n}")):
        for cop in ("ca","cg","cs","cv"): text("suld.cop","suld.b.%s.%s.b32.trap {%%r0}, [%%map, %s];"%(g,cop,c),store("b32"))
        for cop in ("wb","cg","cs","wt"): text("sust.cop","sust.b.%s.%s.b32.trap [%%map, %s], {%%n};"%(g,cop,c))
        for t in ("b8","b16","b32"): 
            r=REG[t]
            text("suld.v4","suld.b.%s.v4.%s.zero {%%%s0, %%%s1, %%%s2, %%%s3}, [%%map, %s];"%(g,t,r,r,r,r,c),store(t))
            text("sust.v4","sust.b.%s.v4.%s.zero [%%map, %s], {%%%s0, %%%s1, %%%s2, %%%s3};"%(g,t,c,r,r,r,r))
            text("sust.v2","sust.b.%s.v2.%s.clamp [%%map, %s], {%%%s0, %%%s1};"%(g,t,c,r,r))
        text("sust.p","sust.p.%s.v4.b32.trap [%%map, %s], {%%r0, %%r1, %%r2, %%r3};"%(g,c)); text("sust.p1","sust.p.%s.b32.zero [%%map, %s], {%%r0};"%(g,c)); text("sust.p2","sust.p.%s.v2.b32.clamp [%%map, %s], {%%r0, %%r1};"%(g,c))
        for o,t in (("add","u32"),("min","s32"),("max","u32"),("and","b32"),("or","b32"),("add","u64"),("min","u64"),("max","s64"),("and","b64")):
            text("sured.b","sured.b.%s.%s.%s.clamp [%%map, %s], %%%s0;"%(o,g,t,c,REG[t]))
            if t[1:]=="32": text("sured.p","sured.p.%s.%s.%s.trap [%%map, %s], %%%s0;"%(o,g,t,c,REG[t]))
    for x in ("texref","samplerref","surfref"): text("istypep."+x,"istypep.%s %%p0, %%map;"%x,store("pred"))


def more():
    # atomics with hints and scopes
    for t,o in (("u32","add"),("b64","exch"),("f32","add"),("b32","cas")):
        s="%%%s1"%REG[t]+(", %%%s2"%REG[t] if o=="cas" else "")
        text("atom.hint",load(t,1,16),load(t,2,32),"atom.global.%s.L2::cache_hint.%s %%%s0, [%%data], %s, %%map;"%(o,t,REG[t],s),store(t,0,64))
        if o=="add": text("red.hint",load(t,1,16),"red.global.%s.L2::cache_hint.%s [%%data], %s, %%map;"%(o,t,s))
        for sp,a in (("shared::cta","%s0"),("shared::cluster","%s0")): text("atom."+sp,load(t,1,16),load(t,2,32),"atom.%s.%s.%s %%%s0, [%s], %s;"%(sp,o,t,REG[t],a,s),store(t,0,64))
    for v,t,n in ((".v2","f32",2),(".v4","f32",4)):
        r="{"+", ".join("%%f%d"%i for i in range(n))+"}"
        text("atom.vhint",*[load("f32",i,16+8*i) for i in range(n)],"atom.relaxed.gpu.global%s.L2::cache_hint.f32.add %s, [%%data], %s, %%map;"%(v,r,r)); text("red.vhint",*[load("f32",i,16+8*i) for i in range(n)],"red.relaxed.gpu.global%s.L2::cache_hint.f32.add [%%data], %s, %%map;"%(v,r))
    for o in ("min","max"):
        for t in ("f16","f16x2","bf16","bf16x2"):
            text("atom.minmax","ld.global.b32 %r1, [%data+16];","atom.global.%s.%s %%r0, [%%data], %%r1;"%(o,t)); 
    for o,t in (("and","b128"),("exch","b128"),("cas","b128")):
        text("atom.b128",".reg .b128 %q<3>;","ld.global.b128 %q1, [%data];","atom.shared.%s.b128 %%q0, [%%s0], %%q1%s;"%(o,", %q1" if o=="cas" else ""),"st.global.b128 [%data], %q0;")
    # barriers' other names
    for i in ("bar.cta.sync 0;","barrier.cta.sync 0;","barrier.cta.sync.aligned 1, 32;","barrier.cta.arrive 2, 64;","bar.cta.arrive 2, 64;","bar.cta.red.popc.u32 %r0, 0, %p1;","barrier.cta.red.popc.aligned.u32 %r0, 0, %p1;","barrier.red.and.pred %p0, 0, %p1;","barrier.red.or.aligned.pred %p0, 3, 32, %p1;"):
        text("barrier.x",load("pred",1,8),i,store("b32") if "r0" in i else "")
    # rounding of f64 products, wmma's saturation
    for rd in ("rn","rz","rm","rp"):
        text("wmma.f64."+rd,"wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%x0}, [%base], 8;","wmma.load.b.sync.aligned.col.m8n8k4.global.f64 {%x1}, [%base+1024], 8;","wmma.load.c.sync.aligned.row.m8n8k4.global.f64 {%x2, %x3}, [%base+2048];","wmma.mma.sync.aligned.row.col.m8n8k4.%s.f64.f64.f64.f64 {%%x4, %%x5}, {%%x0}, {%%x1}, {%%x2, %%x3};"%rd,"wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [%base+4096], {%x4, %x5};")
        text("mma.f64."+rd,load("f64",8,16),load("f64",16,96),load("f64",24,176),load("f64",25,184),"mma.sync.aligned.m8n8k4.row.col.%s.f64.f64.f64.f64 {%%x0, %%x1}, {%%x8}, {%%x16}, {%%x24, %%x25};"%rd,store("f64",0,256),store("f64",1,264))
    for sh,na,nb in (("m16n16k16",2,2),):
        for t in ("u8","s8"):
            v=lambda n,k:"{"+", ".join("%%r%d"%(k+i) for i in range(n))+"}"
            text("wmma.sat","wmma.load.a.sync.aligned.row.%s.global.%s %s, [%%base];"%(sh,t,v(na,0)),"wmma.load.b.sync.aligned.col.%s.shared::cta.%s %s, [%%s1];"%(sh,t,v(nb,8)),"wmma.load.c.sync.aligned.col.%s.global.s32 %s, [%%base+4096], 16;"%(sh,v(8,16)),"wmma.mma.sync.aligned.row.col.%s.s32.%s.%s.s32.satfinite %s, %s, %s, %s;"%(sh,t,t,v(8,24),v(na,0),v(nb,8),v(8,16)),"wmma.store.d.sync.aligned.col.%s.shared.s32 [%%s1], %s;"%(sh,v(8,24)))
    for dd in ("f16","f32"):
        v=lambda p,n,k:"{"+", ".join("%%%s%d"%(p,k+i) for i in range(n))+"}"
        p,n=("r",4) if dd=="f16" else ("f",8)
        text("wmma.f16sat","wmma.load.a.sync.aligned.col.m16n16k16.global.f16 %s, [%%base];"%v("r",8,0),"wmma.load.b.sync.aligned.row.m16n16k16.f16 %s, [%%base+1024], 24;"%v("r",8,8),"wmma.load.c.sync.aligned.row.m16n16k16.global.%s %s, [%%base+4096];"%(dd,v(p,n,16)),"wmma.mma.sync.aligned.col.row.m16n16k16.%s.%s.satfinite %s, %s, %s, %s;"%(dd,dd,v(p,n,24),v("r",8,0),v("r",8,8),v(p,n,16)),"wmma.store.d.sync.aligned.col.m16n16k16.global.%s [%%base+8192], %s;"%(dd,v(p,n,24)))
    for t in ("x1","x2","x4"):
        n=int(t[1]); r="{"+", ".join("%%r%d"%i for i in range(n))+"}"
        text("ldmatrix.cta","ldmatrix.sync.aligned.m8n8.%s.shared::cta.b16 %s, [%%s0];"%(t,r),store("b32")); text("ldmatrix.generic","cvta.shared.u64 %d0, smem;","ldmatrix.sync.aligned.m8n8.%s.b16 %s, [%%d0];"%(t,r),store("b32"))
        text("stmatrix.gen","cvta.shared.u64 %d0, smem;",*[load("b32",i,16+4*i) for i in range(n)],"stmatrix.sync.aligned.m8n8.%s.trans.b16 [%%d0], %s;"%(t,r))
    # moves
    text("mov.fn","mov.u64 %d0, helper;",store("b64")); text("mov.var","mov.u64 %d0, table;","cvta.const.u64 %d0, %d0;","ld.u8 %r0, [%d0+5];",store("b32"))
    text("mov.b128",".reg .b128 %q<2>;",load("b64",0,16),load("b64",1,24),"mov.b128 %q0, {%d0, %d1};","mov.b128 {%d2, %d3}, %q0;",store("b64",2),store("b64",3,8))
    text("mov.pred","mov.pred %p0, 1;",store("pred")); text("mov.f16","mov.b16 %h0, 0x3c00;",store("f16")); text("mov.sink",load("b64",0,16),"mov.b64 {%r0, _}, %d0;",store("b32"))
    text("mov.v8",load("b32",1,16),"mov.b32 {%h0, %h1}, %r1;","mov.b32 %r0, {%h1, %h0};",store("b32"))
    text("mov.b8x4",".reg .b8 %b<8>;",load("b32",1,16),"mov.b32 {%b0, %b1, %b2, %b3}, %r1;","mov.b32 %r0, {%b3, %b1, %b2, %b0};",store("b32"))
    # control
    text("bra.uni","setp.lt.u32 %p0, %n, 3;","@%p0 bra.uni over;","st.global.u32 [%data], 1;","over:"); text("ret.uni","setp.lt.u32 %p0, %n, 3;","@%p0 ret.uni;","st.global.u32 [%data], 1;")
    text("brx.uni","tab: .branchtargets one, two;","brx.idx.uni %n, tab;","one: st.global.b32 [%data], 1;","two: st.global.b32 [%data+4], %n;")
    text("call.uni","call.uni (%r0), helper, (%n);",store("b32"))
    text("calltargets","tab: .calltargets helper2;","mov.u64 %d0, helper2;","{ .param .b32 in; .param .b32 back; st.param.b32 [in], %n; call (back), %d0, (in), tab; ld.param.b32 %r0, [back]; }",store("b32"))
    # loads and stores of other kinds
    for sp,a in (("shared::cta","%s0"),("shared::cluster","%s0"),("param::entry","p3")):
        text("ld."+sp,"ld.%s.b32 %%r0, [%s+4];"%(sp,a),store("b32"))
    for m in ("weak.global.unified","global.unified","relaxed.gpu.global.L1::no_allocate","volatile.global.v4","relaxed.sys.global.v2","acquire.gpu.global.v4"):
        v=4 if "v4" in m else 2 if "v2" in m else 1
        r="{"+", ".join("%%r%d"%i for i in range(v))+"}" if v>1 else "%r0"
        text("ld."+m,"ld.%s.b32 %s, [%%data];"%(m,r),store("b32",0,32))
    for m in ("L1::evict_first","L1::evict_unchanged","relaxed.gpu.global.L1::no_allocate","volatile.global.v4","release.gpu.global.v2"):
        v=4 if "v4" in m else 2 if "v2" in m else 1
        g="" if "global" in m else "global."
        r="{"+", ".join("%%r%d"%i for i in range(v))+"}" if v>1 else "%r0"
        text("st."+m,*[load("b32",i,16+4*i) for i in range(v)],"st.%s%s.b32 [%%data], %s;"%(g,m,r))
    for t in ("f16","f16x2","bf16","bf16x2"):
        text("ld."+t,"ld.global.%s %%%s0, [%%data+16];"%({"f16":"b16","bf16":"b16"}.get(t,"b32"),REG[t]),store(t))
    text("ld.s8","ld.global.s8 %h0, [%data+16];","ld.global.u8 %d0, [%data+17];",store("b16"),store("b64",0,8)); text("ld.b16.r32","ld.global.u16 %r0, [%data+16];",store("b32"))
    text("ldu64","ldu.global.b64 %d0, [%data+16];",store("b64"),"ldu.global.v4.u32 {%r0, %r1, %r2, %r3}, [%data+32];",store("b32",3,8))
    for p in ("prefetch.global.L2::evict_last [%data+64];","prefetchu.L1 [%data+64];","prefetch.tensormap [%map];","prefetch.const.tensormap [table];"): text("pf",p)
    text("discard","discard.L2 [%data], 128;"); text("applyprio","applypriority.L2::evict_normal [%data], 128;")
    for p in ("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d0, 0.5;","createpolicy.fractional.L2::evict_normal.b64 %d0;","createpolicy.fractional.L2::evict_unchanged.L2::evict_first.b64 %d0, 0.25;","createpolicy.range.L2::evict_last.b64 %d0, [%data], %n, 4096;","createpolicy.cvt.L2.b64 %d0, %map;"): text("policy",p,store("b64"))
    for f in ("fence.proxy.alias;","fence.proxy.async.shared::cta;","fence.cta;","fence.gpu;","fence.sys;","fence.cluster;","fence.mbarrier_init.release.cluster;","fence.proxy.tensormap::generic.release.gpu;"): text("fence.x",f)
    # conversions not in the tables
    for t in ("e4m3x2","e5m2x2"):
        text("cvt.bf16x2."+t,load("b16",1,16),"cvt.rn.bf16x2.%s %%r0, %%h1;"%t,store("b32"))
        text("cvt."+t+".bf16x2",load("b32",1,16),"cvt.rn.satfinite.%s.bf16x2 %%h0, %%r1;"%t,store("b16"))
    for d in ("f16","bf16"):
        for r in ("rn","rz"):
            for m in ("",".relu",".satfinite",".relu.satfinite"): text("cvt."+d,load("f32",1,16),"cvt.%s%s.%s.f32 %%h0, %%f1;"%(r,m,d),store("b16")); text("cvt.%sx2"%d,load("f32",1,16),load("f32",2,32),"cvt.%s%s.%sx2.f32 %%r0, %%f1, %%f2;"%(r,m,d),store("b32"))
    for r in ("rna","rn","rz"):
        for m in ("",".relu",".satfinite",".relu.satfinite"): text("cvt.tf32",load("f32",1,16),"cvt.%s%s.tf32.f32 %%r0, %%f1;"%(r,m),store("b32"))
    for t in ("s4","u4","s2","u2"): text("cvt.pack."+t,load("s32",1,16),load("s32",2,32),load("b32",3,48),"cvt.pack.sat.%s.s32.b32 %%r0, %%r1, %%r2, %%r3;"%t,store("b32"))
    text("cvt.bf16.u","ld.global.u8 %h1, [%data+16];","cvt.u16.u8 %h0, %h1;",store("b16"))
    # three-way and mixed forms of newer manuals (refused for sm_90)
    text("mbar.generic", "cvta.shared.u64 %d0, smem;", "mbarrier.init.b64 [%d0], 4;", "mbarrier.arrive.b64 %d1, [%d0], 2;","mbarrier.arrive.release.cta.b64 %d1, [%d0];","mbarrier.test_wait.parity.acquire.cta.b64 %p0, [%d0], 0;",store("pred"),"mbarrier.expect_tx.relaxed.cta.b64 [%d0], 16;","mbarrier.complete_tx.relaxed.cta.b64 [%d0], 16;","mbarrier.try_wait.b64 %p1, [%d0], %d1, 100;",store("pred",1,8),"mbarrier.inval.b64 [%d0];")
    text("pragma", '.pragma "nounroll";', "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%data];", store("b32"))
    text("bmask","vadd4.u32.u32.u32.add %r0.b20, %n, %n, %n;",store("b32")); text("vmask","vadd2.u32.u32.u32 %r0.h1, %n.h10, %n.h32, %n;",store("b32")); text("vneg","vmad.s32.s32.s32.shr7 %r0, -%n.b1, %n.h0, %n;",store("b32")); text("vpo","vmad.u32.u32.u32.po %r0, %n, %n, %n;",store("b32"))
    text("lop3.p",load("b32",1,16),load("b32",2,32),"lop3.or.b32 _|%p0, %r1, %r2, %n, 0x3c, %p1;",store("pred"))
    for t in ("u32","s32","u64","s64"):
        for x in ("madc.lo.cc","madc.hi.cc","subc.cc","addc.cc"):
            n=3 if "mad" in x else 2
            text(x,*[load(t,i+1,16+16*i) for i in range(3)],"add.cc.%s %%%s5, %%%s1, %%%s2;"%((t,)+(REG[t],)*3),"%s.%s %%%s0, %s;"%(x,t,REG[t],", ".join("%%%s%d"%(REG[t],i+1) for i in range(n))),"addc.%s %%%s4, %%%s1, 0;"%(t,REG[t],REG[t]),store(t),store(t,4,8))


HEAD = """.version 9.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 smem[16384];
.const .align 16 .b8 table[64] = {11, 48, 85, 122, 159, 196, 233, 14, 51, 88, 125, 162, 199, 236, 17, 54, 91, 128, 165, 202, 239, 20, 57, 94, 131, 168, 205, 242, 23, 60, 97, 134, 171, 208, 245, 26, 63, 100, 137, 174, 211, 248, 29, 66, 103, 140, 177, 214, 251, 32, 69, 106, 143, 180, 217, 254, 35, 72, 109, 146, 183, 220, 1, 38};
.func (.reg .b32 r) helper(.reg .b32 a) { add.u32 r, a, 1; ret; }
.func (.param .b32 r) helper2(.param .b32 a) { .reg .b32 %t; ld.param.b32 %t, [a]; add.u32 %t, %t, 1; st.param.b32 [r], %t; ret; }
"""
REGS = """.reg .b64 %data, %base, %map, %d<40>; .reg .b32 %n, %r<40>, %s<4>, %lane; .reg .b16 %h<40>; .reg .f32 %f<40>; .reg .f64 %x<40>; .reg .pred %p<8>; .local .align 16 .b8 stack[64];
ld.param.u64 %base, [p0]; ld.param.u64 %map, [p1]; ld.param.u32 %n, [p2]; mov.u32 %s1, smem; mov.u32 %lane, %tid.x;
mad.wide.u32 %data, %lane, 512, %base; mad.lo.u32 %s0, %lane, 64, %s1;
"""


# Shared memory and the stack begin as copies of what the threads have in global memory, 512 bytes each.
SHARED = """{ .reg .b32 %i, %to, %w<4>; .reg .b64 %from; .reg .pred %more;
mad.lo.u32 %to, %lane, 512, %s1; mov.u64 %from, %data; mov.u32 %i, 32;
fill: ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%from]; st.shared.v4.u32 [%to], {%w0, %w1, %w2, %w3};
add.u32 %to, %to, 16; add.u64 %from, %from, 16; sub.u32 %i, %i, 1; setp.ne.u32 %more, %i, 0;
@%more bra fill; bar.warp.sync 0xffffffff; }
"""
LOCAL = "{ .reg .b32 %w<4>;\n" + "".join("ld.global.v4.u32 {%%w0, %%w1, %%w2, %%w3}, [%%data+%d]; st.local.v4.u32 [stack+%d], {%%w0, %%w1, %%w2, %%w3};\n" % (i + 128, i) for i in (0, 16, 32, 48)) + "}\n"


def ptx(chosen):
    """The text, and the kernel of each of its lines."""
    out, of = [HEAD], [None] * HEAD.count("\n")
    for k in chosen:
        t = ".visible .entry %s(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .align 16 .b8 p3[64])\n{\n%s%s\nret;\n}\n" % (k[0], REGS + (SHARED if "%s" in k[1] else "") + (LOCAL if "stack" in k[1] else ""), k[1])
        out.append(t)
        of += [k] * t.count("\n")
    return "".join(out), of


for part in (integers, floats, compares, logic, conversions, memory, atomics, warps, registers, matrices, video, others, textures, more): part()
if len(sys.argv) < 2:
    print(ptx(kernels)[0], end="")
    sys.exit()
name = sys.argv[2] if len(sys.argv) > 2 else "manual"
chosen = kernels
while True:
    body, of = ptx(chosen)
    open(name + ".ptx", "w").write(body)
    r = subprocess.run([sys.argv[1], "-arch=sm_90a", "-O1", name + ".ptx", "-o", name + ".cubin"], capture_output=True, text=True)
    bad = {id(of[int(n) - 1]) for n in re.findall(r"line (\d+); (?:error|fatal)", r.stdout + r.stderr) if of[int(n) - 1]}
    if r.returncode == 0: break
    if not bad: sys.exit(r.stderr)
    chosen = [k for k in chosen if id(k) not in bad]
print("%d kernels, of %d that were tried" % (len(chosen), len(kernels)))
