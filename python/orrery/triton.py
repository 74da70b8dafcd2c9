"""Triton kernels on a simulated GPU: compiled for the target without a GPU, and predicted.

    import orrery.triton
    t = orrery.triton.predict(add_kernel, grid=(128,), args=[x, y, out, n], constants={"BLOCK": 1024}, gpu="h200")
    t.time_ns

Triton compiles for the target by itself (its own ptxas), so that no GPU and no driver is needed. `x`, `y` and `out`
are NumPy arrays or torch tensors on the CPU; they have afterwards what the kernel computed. Written against Triton
3.0 to 3.6, whose ways to name constants and divisible arguments differ.
"""

from __future__ import annotations

import inspect
import tempfile
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import Device, OrreryError, Run, describe

__all__ = ["compile", "predict", "best"]

_TYPES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
}


def _type_of(value: Any) -> str:
    """As a Triton signature has it: "*fp32", "i32"."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        name = _TYPES.get(str(dtype).split(".")[-1])
        if name is None:
            raise TypeError(f"orrery.triton: no Triton type for {dtype}")
        return "*" + name if getattr(value, "ndim", 0) > 0 else name
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    if isinstance(value, float):
        return "fp32"
    raise TypeError(f"orrery.triton: {type(value).__name__} cannot be an argument")


def _divisible(value: Any) -> bool:
    """Buffers are aligned on the device; integers as they are. Triton makes wider accesses of it."""
    if getattr(value, "ndim", 0) > 0:
        return True
    return isinstance(value, int) and not isinstance(value, bool) and value % 16 == 0


def _names(kernel: Any) -> List[str]:
    return list(getattr(kernel, "arg_names", None) or inspect.signature(kernel.fn).parameters)


def _bind(kernel: Any, args: Union[Sequence[Any], Mapping[str, Any]], constants: Mapping[str, Any]) -> Dict[str, Any]:
    """Every parameter that is no constant, in order."""
    names = [n for n in _names(kernel) if n not in constants]
    values = dict(args) if isinstance(args, Mapping) else dict(zip(names, args))
    missing = [n for n in names if n not in values]
    if missing or len(values) != len(names):
        raise TypeError(f"orrery.triton: {_names(kernel)} takes arguments {names}; missing: {missing or 'none'}")
    return {n: values[n] for n in names}


def _capability(gpu: str) -> int:
    """sm_90 is 90."""
    values = describe(gpu)["parameters"]
    return int(values["cc.major"]["value"]) * 10 + int(values["cc.minor"]["value"])


def _source(kernel: Any, bound: Mapping[str, Any], constants: Mapping[str, Any]) -> Any:
    """An ASTSource, in the way of the Triton that is installed."""
    from triton.compiler import ASTSource

    names = _names(kernel)
    takes = inspect.signature(ASTSource.__init__).parameters
    if "constexprs" in takes:  # 3.2 and later
        signature = {n: "constexpr" if n in constants else _type_of(bound[n]) for n in names}
        attrs = {(names.index(n),): [["tt.divisibility", 16]] for n, v in bound.items() if _divisible(v)}
        constexprs = {(names.index(n),): v for n, v in constants.items()}
        return ASTSource(fn=kernel, signature=signature, constexprs=constexprs, attrs=attrs)
    signature = {n: _type_of(v) for n, v in bound.items()}
    attrs = None
    try:  # 3.0 and 3.1
        from triton.compiler import AttrsDescriptor

        attrs = AttrsDescriptor(divisible_by_16=tuple(names.index(n) for n, v in bound.items() if _divisible(v)),
                                equal_to_1=())
    except (ImportError, TypeError):
        pass
    return ASTSource(fn=kernel, signature=signature, constants=dict(constants), attrs=attrs)


def compile(kernel: Any, args: Union[Sequence[Any], Mapping[str, Any]], constants: Optional[Mapping[str, Any]] = None,
            gpu: str = "h200", **options: Any) -> Any:
    """The kernel as Triton compiles it for the GPU; options are Triton's (num_warps, num_stages)."""
    import triton
    from triton.backends.compiler import GPUTarget

    constants = dict(constants or {})
    source = _source(kernel, _bind(kernel, args, constants), constants)
    return triton.compile(source, target=GPUTarget("cuda", _capability(gpu), 32), options=options or None)


def _metadata(compiled: Any, name: str, otherwise: Any = None) -> Any:
    data = compiled.metadata
    return data.get(name, otherwise) if isinstance(data, dict) else getattr(data, name, otherwise)


def predict(kernel: Any, grid: Union[Tuple[int, ...], int, Callable[[Mapping[str, Any]], Tuple[int, ...]]],
            args: Union[Sequence[Any], Mapping[str, Any]], constants: Optional[Mapping[str, Any]] = None, *,
            gpu: str = "h200", model: str = "cycle", source: str = "cubin",
            num_warps: int = 4, num_stages: int = 3, simulate: Optional[Mapping[str, Any]] = None) -> Run:
    """How long a @triton.jit kernel takes on `gpu`. `constants` are its tl.constexpr parameters; `grid` may be a
    function of them. source="ptx" takes Triton's PTX instead of its machine code."""
    constants = dict(constants or {})
    compiled = compile(kernel, args, constants, gpu, num_warps=num_warps, num_stages=num_stages)
    shape = grid(constants) if callable(grid) else grid
    code = compiled.asm["cubin" if source == "cubin" and "cubin" in compiled.asm else "ptx"]
    name = _metadata(compiled, "name") or compiled.name
    values = list(_bind(kernel, args, constants).values())
    warps = int(_metadata(compiled, "num_warps", num_warps))
    with Device(gpu, model, **dict(simulate or {})) as d:
        if isinstance(code, bytes):
            with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
                file.write(code)
                file.flush()
                module = d.load(file.name)
        else:
            module = d.parse(code)
        d.launch(module, name, shape, 32 * warps, values, int(_metadata(compiled, "shared", 0)))
        return d.report()


def best(kernel: Any, grid: Any, args: Any, configs: Iterable[Mapping[str, Any]], *, gpu: str = "h200",
         model: str = "cycle", **options: Any) -> List[Tuple[float, Mapping[str, Any]]]:
    """Autotuning without a GPU: (time_ns, config) for each configuration, the fastest first. A config is constants and
    num_warps, num_stages: {"BLOCK": 1024, "num_warps": 8}. One that cannot be launched there has time inf."""
    times = []
    for config in configs:
        constants = {k: v for k, v in config.items() if k not in ("num_warps", "num_stages")}
        tuned = {k: v for k, v in config.items() if k in ("num_warps", "num_stages")}
        try:
            time = predict(kernel, grid, args, constants, gpu=gpu, model=model, **tuned, **options).time_ns
        except OrreryError:
            time = float("inf")
        times.append((time if time is not None else float("inf"), config))
    return sorted(times, key=lambda t: t[0])
