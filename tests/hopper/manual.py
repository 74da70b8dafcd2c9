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
        lines = [load(t, k + i, 16 + 8 * i) for t, n, k in ((at, a, 8), (bt, b, 16), (ct, c, 24)) for i in range(n)]
        text(name, *lines, "%s %s, %s, %s, %s;" % (name, v(dt, d, 0), v(at, a, 8), v(bt, b, 16), v(ct, c, 24)), store(dt))
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
            lines = [load(t, k + i, 16 + 8 * i) for t, n, k in (("b32", a, 8), ("b32", b, 16), (dt, d, 24)) for i in range(n)]
            text(o + sh + tail, *lines, "%s%s.row.col%s %s, %s, %s, %s, %%n, %d;" % (o, sh, tail, v(dt, d, 0), v("b32", a, 8), v("b32", b, 16), v(dt, d, 24), sel), store(dt))
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
        text("wmma.%s.%s.%s.%s.%s.%s" % (sh, a, c, d, l1, l2), "wmma.load.a.sync.aligned.%s.%s.global.%s %s, [%%data], %%n;" % (l1, sh, a, v(ra, na, 0)), "wmma.load.b.sync.aligned.%s.%s.shared.%s %s, [%%s0];" % (l2, sh, b, v(ra, nb, 8)), "wmma.load.c.sync.aligned.row.%s.global.%s %s, [%%data];" % (sh, c, v(rc, nc, 16)),
             "wmma.mma.%ssync.aligned.%s.%s.%s.%s %s, %s, %s, %s;" % (tail, l1, l2, sh, {"f16": "%s.%s" % (d, c), "f32": "%s.%s" % (d, c)}.get(a if a in ("f16",) else "", "%s.%s.%s.%s" % (d, a, b, c)), v(rd, nd, 24), v(ra, na, 0), v(ra, nb, 8), v(rc, nc, 16)), "wmma.store.d.sync.aligned.row.%s.global.%s [%%data], %s;" % (sh, d, v(rd, nd, 24)))
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
    text("istypep", "istypep.texref %p0, %map;", store("pred"))


HEAD = """.version 9.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 smem[16384];
.const .align 16 .b8 table[256];
.func (.reg .b32 r) helper(.reg .b32 a) { add.u32 r, a, 1; ret; }
.func (.param .b32 r) helper2(.param .b32 a) { .reg .b32 %t; ld.param.b32 %t, [a]; add.u32 %t, %t, 1; st.param.b32 [r], %t; ret; }
"""
REGS = """.reg .b64 %data, %map, %d<40>; .reg .b32 %n, %r<40>, %s<4>; .reg .b16 %h<40>; .reg .f32 %f<40>; .reg .f64 %x<40>; .reg .pred %p<8>; .local .align 16 .b8 stack[64];
ld.param.u64 %data, [p0]; ld.param.u64 %map, [p1]; ld.param.u32 %n, [p2]; mov.u32 %s0, smem;
"""


def ptx(chosen):
    """The text, and the kernel of each of its lines."""
    out, of = [HEAD], [None] * HEAD.count("\n")
    for k in chosen:
        t = ".visible .entry %s(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .align 16 .b8 p3[64])\n{\n%s%s\nret;\n}\n" % (k[0], REGS, k[1])
        out.append(t)
        of += [k] * t.count("\n")
    return "".join(out), of


for part in (integers, floats, compares, logic, conversions, memory, atomics, warps, registers, matrices, video, others): part()
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
