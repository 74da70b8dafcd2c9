#!/usr/bin/env python3
"""Gives the FMAs of the kernels bank_* and half_* in a cubin the registers, and the kind, that the benchmark is about.

ptxas avoids bank conflicts, so they cannot be had from PTX. An instruction has 128 bits: opcode in bits 0-11 (with
three registers FFMA: 0x223, HFMA2: 0x231, HFMA2.MMA: 0x235), destination in 16-23, sources in 24-31, 32-39 and 64-71,
bits 105-108 are the stall count, and bits 122-124 say which sources are kept for the next instruction
(docs/how/sass.md)."""
import struct
import sys

# kernel: list of (d, a, b, c, reuse) taken in turn. R4-R7 are accumulators, R8-R15 operands.
PLANS = {
    "bank_one": [(4, 8, 8, 8, 0), (6, 10, 10, 10, 0)],          # one register, three times
    "bank_two_same": [(4, 8, 8, 4, 0), (6, 10, 10, 6, 0)],      # two, both even
    "bank_two_other": [(4, 9, 9, 4, 0), (6, 11, 11, 6, 0)],     # two, even and odd
    "bank_three_same": [(4, 8, 12, 4, 0), (6, 10, 14, 6, 0)],   # three, all even
    "bank_three_other": [(4, 9, 12, 4, 0), (6, 11, 14, 6, 0)],  # three, two even
    "bank_three_turn": [(4, 9, 12, 4, 0), (7, 10, 15, 7, 0)],   # three, two even, then two odd
    "bank_three_mod4": [(4, 9, 14, 4, 0), (7, 8, 13, 7, 0)],    # three, all differ modulo four
    "bank_reuse_one": [(4, 8, 12, 4, 1), (6, 8, 14, 6, 1)],     # three, all even, one kept
    "bank_reuse_two": [(4, 8, 12, 4, 3), (6, 8, 12, 6, 3)],     # three, all even, two kept
}
F, H, M = 0x223, 0x231, 0x235
# kernel: list of (opcode, d, a, b, c, reuse). The next one never waits.
HALVES = {
    "half_mma": [(M, 4, 8, 8, 8, 0), (M, 6, 10, 10, 10, 0)],
    "half_fma": [(H, 4, 8, 8, 8, 0), (H, 6, 10, 10, 10, 0)],
    "half_turn": [(M, 4, 8, 8, 8, 0), (H, 6, 10, 10, 10, 0)],
    "half_turn_odd": [(M, 4, 8, 8, 8, 0), (H, 7, 11, 11, 11, 0)],
    "half_pairs": [(M, 4, 8, 8, 8, 0), (M, 5, 9, 9, 9, 0), (H, 6, 10, 10, 10, 0), (H, 7, 11, 11, 11, 0)],
    "half_mma_two": [(M, 4, 8, 12, 8, 0), (M, 6, 10, 14, 10, 0)],
    "half_fma_two": [(H, 4, 8, 12, 8, 0), (H, 6, 10, 14, 10, 0)],
    "half_turn_two": [(M, 4, 8, 9, 8, 0), (H, 6, 10, 11, 10, 0)],
    "half_turn_same": [(M, 4, 8, 12, 8, 0), (H, 6, 10, 14, 10, 0)],
    "half_mma_kept": [(M, 4, 8, 12, 8, 2), (M, 6, 10, 12, 10, 2)],
    "half_turn_kept": [(M, 4, 8, 12, 8, 2), (H, 6, 10, 12, 10, 2)],
    "half_mma_ffma": [(M, 4, 8, 8, 8, 0), (F, 6, 10, 10, 10, 0)],
    "half_fma_ffma": [(H, 4, 8, 8, 8, 0), (F, 6, 10, 10, 10, 0)],
}


def main(path):
    data = bytearray(open(path, "rb").read())
    shoff, = struct.unpack_from("<Q", data, 40)
    shentsize, shnum, shstrndx = struct.unpack_from("<HHH", data, 58)
    header = lambda k: struct.unpack_from("<IIQQQQIIQQ", data, shoff + k * shentsize)
    names = header(shstrndx)[4]
    for k in range(shnum):
        h = header(k)
        at = names + h[0]
        name = data[at:data.index(0, at)].decode()
        kernel = name.removeprefix(".text.") if name.startswith(".text.") else ""
        plan = HALVES.get(kernel) or [(F, *p) for p in PLANS.get(kernel, [])]
        if not plan:
            continue
        half = kernel in HALVES
        n = 0
        for p in range(h[4], h[4] + h[5], 16):
            lo, hi = struct.unpack_from("<QQ", data, p)
            if lo & 0xFFF not in ((H, M) if half else (F,)):
                continue
            op, d, a, b, c, reuse = plan[n % len(plan)]
            n += 1
            lo = (lo & ~0xFFF & ~(0xFFFFFF << 16) & ~(0xFF << 32)) | op | d << 16 | a << 24 | b << 32
            hi = (hi & ~0xFF & ~(0xF << 58)) | c | reuse << 58
            if half:
                hi = (hi & ~(0x1F << 41)) | 0x11 << 41  # one cycle, and no other warp is asked for
            struct.pack_into("<QQ", data, p, lo, hi)
        print(f"{name}: {n} instructions")
        assert n == 128, name
    open(path, "wb").write(data)


main(sys.argv[1])
