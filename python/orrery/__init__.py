"""Orrery: simulate GPUs from Python.

    import numpy as np, orrery

    run = orrery.run("saxpy", gpu="h200", model="cycle")      # a bundled workload, a launch script, a module, a trace
    run.time_ns, run["launches"][0]["cycles"]                 # the JSON of `orrery run --json`
    run                                                       # in Jupyter: the page of `orrery run --html`

    x, y = np.random.rand(4096).astype("f4"), np.zeros(4096, "f4")
    run = orrery.launch("saxpy.ptx", "saxpy", grid=16, block=256, args=[4096, np.float32(2.5), x, y])
    y                                                         # what the kernel left there

    orrery.explain("transpose_naive").advice                  # what would help
    orrery.sweep("saxpy", vary={"sm.count": "66,132"}).frame()

Options are those of the command by their long names (`orrery help run`), with _ for -. A list is an option that is
given several times, a dict is KEY=VALUE. Everything that goes wrong is an OrreryError with the command's words.
"""

from __future__ import annotations

import ctypes
import html as _html
import json as _json
import os
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _library as _c
from ._library import OrreryError

__all__ = [
    "OrreryError", "Report", "Run", "Comparison", "Sweep", "Explanation", "Difference", "Correlation", "Device",
    "run", "launch", "compare", "sweep", "explain", "diff", "correlate", "workloads", "gpus", "describe", "page", "version",
]

Path = Union[str, "os.PathLike[str]"]


# ---- reports ----------------------------------------------------------------------------------------
class Report(Mapping[str, Any]):
    """What a job found: the JSON as a mapping, and every other form the job has."""

    table_key: Optional[str] = None  # of the JSON: what `table` is of

    def __init__(self, forms: Dict[int, Optional[str]]):
        self._forms = forms
        self.data: Any = _json.loads(forms.get(_c.JSON) or "{}")

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    @property
    def text(self) -> str:
        """As the command prints it."""
        return self._forms.get(_c.TEXT) or ""

    @property
    def csv(self) -> Optional[str]:
        return self._forms.get(_c.CSV)

    @property
    def html(self) -> Optional[str]:
        """A page for the browser that needs no other file; None: this job has none."""
        return self._forms.get(_c.HTML)

    def table(self) -> List[Dict[str, Any]]:
        """Its rows, flat: a launch, a point, an ideal each."""
        rows = self.data.get(self.table_key, []) if self.table_key and isinstance(self.data, dict) else self.data
        return [_flat(row) for row in rows]

    def frame(self) -> Any:
        """The table as a pandas.DataFrame."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("orrery: frame() needs pandas; table() has the same as a list of dicts") from error
        return pandas.DataFrame(self.table())

    def __repr__(self) -> str:
        return f"<orrery.{type(self).__name__}>\n{self.text}"

    def _repr_html_(self) -> str:
        if self.html:
            return f'<iframe srcdoc="{_html.escape(self.html)}" style="width:100%;height:640px;border:0"></iframe>'
        return f"<pre>{_html.escape(self.text)}</pre>"


def _flat(row: Any, before: str = "") -> Dict[str, Any]:
    """{"set": {"sm.count": 66}} becomes {"set.sm.count": 66}; lists stay."""
    out: Dict[str, Any] = {}
    for key, value in row.items() if isinstance(row, dict) else [("value", row)]:
        if isinstance(value, dict):
            out.update(_flat(value, f"{before}{key}."))
        else:
            out[before + key] = value
    return out


class Run(Report):
    """Launches through a model (docs/how/design.md, section 6, has the JSON)."""

    table_key = "launches"

    @property
    def launches(self) -> List[dict]:
        return self.data["launches"]

    @property
    def kernels(self) -> List[dict]:
        return self.data.get("kernels", [])

    @property
    def cycles(self) -> Optional[float]:
        return self.data["totals"].get("cycles")

    @property
    def time_ns(self) -> Optional[float]:
        """None: the model does not predict time."""
        return self.data["totals"].get("time_ns")


class Comparison(Report):
    """All models on inputs, side by side."""

    def table(self) -> List[Dict[str, Any]]:
        """A row for each input, kernel and model."""
        rows = []
        for one in self.data["inputs"]:
            for kernel in one.get("kernels", []):
                about = {"input": one["input"], "kernel": kernel["kernel"], "launches": kernel["launches"],
                         "hardware_cycles": kernel.get("hardware_cycles")}
                rows += [{**about, **model} for model in kernel["models"]]
        return rows


class Sweep(Report):
    """An input on a grid of descriptions."""

    table_key = "points"

    @property
    def points(self) -> List[dict]:
        return self.data["points"]

    @property
    def best(self) -> Optional[dict]:
        n = self.data.get("best")
        return None if n is None else self.points[int(n)]


class Explanation(Report):
    """What would help (docs/guides/explain.md)."""

    table_key = "ideals"

    @property
    def advice(self) -> List[str]:
        return [f"{a['text']}: {a['do']}" for a in self.data["advice"]]

    @property
    def ideals(self) -> List[dict]:
        return self.data["ideals"]


class Difference(Report):
    """Where the time of two runs went."""

    table_key = "causes"

    @property
    def percent(self) -> float:
        """How much longer the second takes."""
        return self.data["percent"]


class Correlation(Report):
    """A model against measurements."""


# ---- jobs -------------------------------------------------------------------------------------------
_FORMS = {
    Run: (_c.TEXT, _c.JSON, _c.HTML),
    Comparison: (_c.TEXT, _c.JSON, _c.CSV, _c.HTML),
    Sweep: (_c.TEXT, _c.JSON, _c.CSV, _c.HTML),
    Explanation: (_c.TEXT, _c.JSON, _c.HTML),
    Difference: (_c.TEXT, _c.JSON, _c.HTML),
    Correlation: (_c.TEXT, _c.JSON, _c.CSV, _c.HTML),
    Report: (_c.TEXT, _c.JSON),
}


def _take(kind: Any, handle: Any) -> Any:
    """A report of the library as an object, and freed there."""
    lib = _c.library()
    try:
        forms = {}
        for form in _FORMS[kind]:
            text = lib.orr_report_as(handle, form)
            forms[form] = text.decode(errors="replace") if text is not None else None
        return kind(forms)
    finally:
        lib.orr_report_free(handle)


def _job(kind: Any, call: Callable[[Any, Any], Any], options: Dict[str, Any]) -> Any:
    watch, notes = options.pop("watch", None), options.pop("notes", None)
    o = _c.Options(options, watch, notes)
    err = _c.Err()
    try:
        handle = _c.in_thread(lambda: call(o.handle, ctypes.byref(err)), o.stop)
    finally:
        o.close()
    report = _take(kind, handle) if handle else None
    _c.check(err, report)
    return report


def run(input: Path, *, gpu: Optional[str] = None, model: str = "cycle", lines: bool = True,
        args: Optional[Sequence[Any]] = None, **options: Any) -> Run:
    """An input's launches through a model, as `orrery run`: a bundled workload, a launch script, a recorded stream, a
    trace, a task list; a module (PTX, cubin) with kernel=, grid=, block= and args=, where an array (NumPy's, or one of
    the module array) is a buffer that has afterwards what the kernel left in it."""
    if args is not None:
        kernel, grid, block = options.pop("kernel"), options.pop("grid", 1), options.pop("block", 1)
        return launch(input, kernel, grid, block, args, gpu=gpu, model=model, **options)
    options.update(gpu=gpu, model=model, lines=lines)
    name = os.fspath(input).encode()
    return _job(Run, lambda o, e: _c.library().orr_run(name, o, e), options)


def compare(*inputs: Path, **options: Any) -> Comparison:
    """Every model that predicts time (or those that model="cycle,analytic" lists) on each input."""
    names, n = _c.strings(inputs)
    return _job(Comparison, lambda o, e: _c.library().orr_compare(names, n, o, e), options)


def sweep(input: Path, vary: Union[Mapping[str, Any], Sequence[str]], **options: Any) -> Sweep:
    """An input on all combinations: vary={"sm.count": "66:132:6", "core.policy": ["gto", "lrr"]}."""
    if isinstance(vary, Mapping):
        vary = [f"{k}={','.join(map(str, v)) if isinstance(v, (list, tuple)) else v}" for k, v in vary.items()]
    options["vary"] = [vary] if isinstance(vary, str) else list(vary)
    name = os.fspath(input).encode()
    return _job(Sweep, lambda o, e: _c.library().orr_sweep(name, o, e), options)


def explain(input: Path, **options: Any) -> Explanation:
    """What would help: one thing ideal at a time, and advice that names the line."""
    name = os.fspath(input).encode()
    return _job(Explanation, lambda o, e: _c.library().orr_explain(name, o, e), options)


def diff(a: Union[Path, Run], b: Union[Path, Run], second: Optional[Mapping[str, Any]] = None,
         **options: Any) -> Difference:
    """Two inputs or runs: where the time went, by cause and by line. second={"gpu": "v100"}: of the second alone."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for n, one in enumerate((a, b)):
            if isinstance(one, Run):
                path = os.path.join(folder, f"{n}.json")
                with open(path, "w") as out:
                    _json.dump(one.data, out)
                one = path
            names.append(os.fspath(one).encode())
        options["second"] = dict(second) if second else None
        return _job(Difference, lambda o, e: _c.library().orr_diff(names[0], names[1], o, e), options)


def correlate(*files: Path, **options: Any) -> Correlation:
    """A model against files of measurements (`orrery hw profile`)."""
    names, n = _c.strings(files)
    return _job(Correlation, lambda o, e: _c.library().orr_correlate(names, n, o, e), options)


def workloads() -> List[dict]:
    """The bundled workloads."""
    return _job(Report, lambda o, e: _c.library().orr_workloads(e), {}).data


def gpus() -> List[dict]:
    """The GPUs that come with Orrery."""
    return _job(Report, lambda o, e: _c.library().orr_gpus(o, e), {}).data


def describe(gpu: str, **options: Any) -> dict:
    """All values of a GPU's description, by key."""
    return _job(Report, lambda o, e: _c.library().orr_gpu_describe(gpu.encode(), o, e), options).data


def page(*runs: Run) -> str:
    """One page of several runs, next to each other (HTML)."""
    lib, err = _c.library(), _c.Err()
    texts = [_json.dumps(r.data).encode() for r in runs]
    handle = lib.orr_page((ctypes.c_char_p * len(texts))(*texts), len(texts), ctypes.byref(err))
    _c.check(err)
    try:
        return lib.orr_report_as(handle, _c.HTML).decode(errors="replace")
    finally:
        lib.orr_report_free(handle)


def version() -> str:
    """Of the library that runs."""
    return _c.library().orr_version().decode()


# ---- a device ---------------------------------------------------------------------------------------
_SCALARS = {bool: ctypes.c_uint8, int: ctypes.c_int32, float: ctypes.c_float}


def _three(value: Union[int, Sequence[int]]) -> Any:
    values = [value] if isinstance(value, int) else list(value)
    return (ctypes.c_uint32 * 3)(*[int(v) for v in (values + [1, 1, 1])[:3]])


def _view_of(value: Any) -> Optional[memoryview]:
    """The memory of an array (NumPy's, array.array, bytearray); None: it is no array."""
    if isinstance(value, ctypes._SimpleCData) or getattr(value, "ndim", 1) == 0:
        return None
    try:
        view = memoryview(value)
    except (TypeError, ValueError):
        return None
    if not view.c_contiguous:
        raise ValueError("orrery: an array argument must be contiguous (numpy.ascontiguousarray)")
    return view


class Device:
    """Memory, modules and launches under the caller's control.

        with orrery.Device(gpu="h200", model="cycle") as d:
            m = d.load("saxpy.cubin")
            d.launch(m, "saxpy", 16, 256, [4096, np.float32(2.5), x, y])
            d.report().time_ns
    """

    def __init__(self, gpu: Optional[str] = None, model: str = "cycle", **options: Any):
        self._lib = _c.library()
        watch, notes = options.pop("watch", None), options.pop("notes", None)
        self._options = _c.Options(dict(options, gpu=gpu, model=model), watch, notes)
        err = _c.Err()
        self._handle = self._lib.orr_device_open(self._options.handle, ctypes.byref(err))
        if not self._handle:
            self._options.close()
        _c.check(err)

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        if self._handle:
            self._lib.orr_device_close(self._handle)
            self._options.close()
            self._handle = None

    def load(self, module: Path) -> Any:
        """PTX, a cubin, a fatbin, a program."""
        err = _c.Err()
        m = self._lib.orr_device_load(self._handle, os.fspath(module).encode(), ctypes.byref(err))
        _c.check(err)
        return m

    def parse(self, ptx: Union[str, bytes], name: str = "module.ptx") -> Any:
        """PTX that is there as text."""
        err, text = _c.Err(), ptx.encode() if isinstance(ptx, str) else ptx
        m = self._lib.orr_device_parse(self._handle, name.encode(), text, len(text), ctypes.byref(err))
        _c.check(err)
        return m

    def kernels(self, module: Any) -> List[str]:
        n = self._lib.orr_device_kernels(module)
        return [self._lib.orr_device_kernel(module, i).decode() for i in range(n)]

    def facts(self, module: Any, kernel: str) -> Any:
        """registers, shared_bytes, param_bytes, params, ..."""
        facts, err = _c.KernelFacts(), _c.Err()
        self._lib.orr_device_facts(module, kernel.encode(), ctypes.byref(facts), ctypes.byref(err))
        _c.check(err)
        return facts

    def _buffer(self, view: memoryview) -> int:
        err, bytes_ = _c.Err(), view.tobytes()
        addr = self._lib.orr_device_alloc(self._handle, max(len(bytes_), 1), ctypes.byref(err))
        if addr:
            self._lib.orr_device_write(self._handle, addr, bytes_, len(bytes_), ctypes.byref(err))
        _c.check(err)
        return addr

    def _read_back(self, view: memoryview, addr: int, err: Any) -> None:
        if view.readonly or err.status:
            return
        copy = ctypes.create_string_buffer(max(view.nbytes, 1))
        if self._lib.orr_device_read(self._handle, addr, copy, view.nbytes, ctypes.byref(err)):
            view.cast("B")[:] = copy.raw[: view.nbytes]

    def _argument(self, value: Any, buffers: List[Any]) -> Any:
        if hasattr(value, "data_ptr") and hasattr(value, "numpy"):  # a torch tensor on the CPU shares its memory
            value = value.detach().numpy()
        view = _view_of(value)
        if view is not None:
            addr = next((a for v, _, a in buffers if v is value), None)
            if addr is None:
                addr = self._buffer(view)
                buffers.append((value, view, addr))
            return ctypes.c_uint64(addr)
        if hasattr(value, "tobytes") and hasattr(value, "nbytes"):  # a NumPy scalar has a width of its own
            return (ctypes.c_uint8 * int(value.nbytes)).from_buffer_copy(value.tobytes())
        if value is None:
            return ctypes.c_uint64(0)
        if isinstance(value, ctypes._SimpleCData):
            return value
        kind = _SCALARS.get(type(value))
        if kind is None:
            raise TypeError(f"orrery: {type(value).__name__} cannot be a kernel's argument")
        if kind is ctypes.c_int32 and not -(2**31) <= value < 2**32:
            kind = ctypes.c_int64
        return kind(value)

    def launch(self, module: Any, kernel: str, grid: Union[int, Sequence[int]], block: Union[int, Sequence[int]],
               args: Sequence[Any] = (), shared: int = 0) -> float:
        """Returns the cycles (nan: the model does not predict them). Arrays have afterwards what the kernel left in
        them. A Python int is 32 bits wide and a float is a float; NumPy scalars have their own width."""
        buffers: List[Any] = []
        values = [self._argument(a, buffers) for a in args]
        values += [ctypes.c_uint64(0)] * (int(self.facts(module, kernel).params) - len(values))
        pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(v) for v in values])
        config = _c.LaunchConfig(_three(grid), _three(block), shared, pointers, len(values))
        facts, err = _c.LaunchFacts(), _c.Err()
        _c.in_thread(lambda: self._lib.orr_device_launch(module, kernel.encode(), ctypes.byref(config),
                                                         ctypes.byref(facts), ctypes.byref(err)), self._options.stop)
        for _, view, addr in buffers:
            self._read_back(view, addr, err)
            self._lib.orr_device_free(self._handle, addr, ctypes.byref(_c.Err()))
        _c.check(err)
        return facts.cycles

    def report(self) -> Run:
        """What all launches so far did."""
        err = _c.Err()
        handle = self._lib.orr_device_report(self._handle, ctypes.byref(err))
        _c.check(err)
        return _take(Run, handle)


def launch(module: Union[Path, bytes], kernel: str, grid: Union[int, Sequence[int]], block: Union[int, Sequence[int]],
           args: Sequence[Any] = (), *, shared: int = 0, gpu: Optional[str] = None, model: str = "cycle",
           **options: Any) -> Run:
    """One launch of a module's kernel: a file (PTX, cubin), or PTX or a cubin as bytes. Arrays among the arguments
    have afterwards what the kernel left in them."""
    with Device(gpu, model, **options) as d:
        if isinstance(module, bytes) and module[:4] == b"\x7fELF":
            with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
                file.write(module)
                file.flush()
                m = d.load(file.name)
        elif isinstance(module, bytes):
            m = d.parse(module)
        else:
            m = d.load(module)
        d.launch(m, kernel, grid, block, args, shared)
        return d.report()
