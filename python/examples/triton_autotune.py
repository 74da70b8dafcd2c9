"""Autotuning without a GPU: the best of 20 configurations of a matrix product, as predicted for an H200. Where there
is a GPU, also what each takes there, and the rank of the choice."""

import os
import sys

import numpy as np
import triton
import triton.language as tl

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import orrery.triton


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
        y = tl.load(b + (k + depth)[:, None] * N + columns[None, :])
        sums += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


SIZE = int(os.environ.get("SIZE", "512"))
CONFIGS = [
    {"BM": m, "BN": n, "BK": k, "num_warps": w, "num_stages": s}
    for m, n in ((32, 32), (64, 32), (64, 64), (128, 64), (128, 128))
    for k, w, s in ((32, 4, 2), (32, 8, 3), (64, 4, 3), (64, 8, 2))
]


def grid(meta):
    return (SIZE // meta["BM"], SIZE // meta["BN"])


def measured(arrays, config):
    """Microseconds on the GPU of this machine."""
    import torch

    a, b, c = (torch.from_numpy(x).cuda() for x in arrays)
    constants = {k: v for k, v in config.items() if k.startswith("B")}
    run = lambda: matmul[grid(config)](a, b, c, SIZE, SIZE, SIZE, **constants, num_warps=config["num_warps"],
                                       num_stages=config["num_stages"])
    return 1000 * triton.testing.do_bench(run)


def main():
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((SIZE, SIZE)).astype("f2") for _ in "ab"] + [np.zeros((SIZE, SIZE), "f4")]
    ranked = orrery.triton.best(matmul, grid, arrays + [SIZE, SIZE, SIZE], CONFIGS, gpu="h200",
                                model=os.environ.get("MODEL", "cycle"))
    for time, config in ranked:
        print(f"{time / 1e3:9.2f} us  {config}")
    try:
        import torch

        there = torch.cuda.is_available()
    except ImportError:
        there = False
    if there:
        real = sorted((measured(arrays, config), str(config)) for config in CONFIGS)
        rank = [config for _, config in real].index(str(ranked[0][1]))
        print(f"on this GPU the choice is number {rank + 1} of {len(real)}: {real[rank][0]:.2f} us, the best takes "
              f"{real[0][0]:.2f} us")


if __name__ == "__main__":
    main()
