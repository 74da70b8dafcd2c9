"""The C interface (include/orrery.h) through ctypes. No compiler is needed; everything else is in __init__.py."""

from __future__ import annotations

import ctypes
import ctypes.util
import glob
import os
import threading
from typing import Any, Callable, Iterable, Optional

TEXT, JSON, CSV, HTML, SVG, LOG, TERMINAL, ACCELSIM, PAGE_DATA = range(9)  # enum orr_format


class OrreryError(Exception):
    """What the `orrery` command would print. `status`: 1 the simulated program failed, 2 bad input, 3 stopped,
    4 slower than `fail_if` allows. `report` is there where some of a job was done all the same."""

    def __init__(self, status: int, text: str, report: Any = None):
        super().__init__(text)
        self.status = status
        self.report = report


class Err(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 1000)]


class Status(ctypes.Structure):
    _fields_ = [
        ("what", ctypes.c_char_p),
        ("units", ctypes.c_char_p),
        ("done", ctypes.c_uint64),
        ("total", ctypes.c_uint64),
        ("part_units", ctypes.c_char_p),
        ("part", ctypes.c_uint64),
        ("parts", ctypes.c_uint64),
        ("seconds", ctypes.c_double),
        ("ended", ctypes.c_bool),
        ("begun", ctypes.c_double),
    ]


class LaunchConfig(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("dynamic_shared", ctypes.c_uint32),
        ("args", ctypes.POINTER(ctypes.c_void_p)),
        ("nargs", ctypes.c_int),
    ]


class LaunchFacts(ctypes.Structure):
    _fields_ = [
        ("warp_insts", ctypes.c_uint64),
        ("thread_insts", ctypes.c_uint64),
        ("occupancy", ctypes.c_double),
        ("cycles", ctypes.c_double),
    ]


class KernelFacts(ctypes.Structure):
    _fields_ = [
        ("registers", ctypes.c_uint32),
        ("shared_bytes", ctypes.c_uint32),
        ("param_bytes", ctypes.c_uint32),
        ("params", ctypes.c_uint32),
        ("blocks", ctypes.c_uint32),
        ("instructions", ctypes.c_uint32),
        ("max_threads", ctypes.c_uint32),
    ]


WATCH = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(Status))
READER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


def _candidates() -> Iterable[str]:
    """Where the library may be: as told, in the source tree this file is in, in the prefix it is installed in."""
    told = os.environ.get("ORRERY_LIBRARY")
    if told:
        yield told
        return
    here = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(here, "..", "..", "build", "liborrery.so")
    prefix = here
    for _ in range(5):
        prefix = os.path.dirname(prefix)
        for pattern in ("lib/liborrery.so*", "lib/*/liborrery.so*", "lib64/liborrery.so*", "liborrery.so*"):
            yield from sorted(glob.glob(os.path.join(prefix, pattern)))
    found = ctypes.util.find_library("orrery")
    if found:
        yield found


def _declare(lib: ctypes.CDLL) -> ctypes.CDLL:
    p, s, err, i = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(Err), ctypes.c_int
    u64, size, strings = ctypes.c_uint64, ctypes.c_size_t, ctypes.POINTER(ctypes.c_char_p)
    table = {
        "orr_version": (s, []),
        "orr_options_new": (p, []),
        "orr_options_free": (None, [p]),
        "orr_options_set": (ctypes.c_bool, [p, s, s, err]),
        "orr_options_watch": (None, [p, WATCH, p]),
        "orr_options_notes": (None, [p, READER, p]),
        "orr_report_as": (s, [p, i]),
        "orr_report_free": (None, [p]),
        "orr_run": (p, [s, p, err]),
        "orr_explain": (p, [s, p, err]),
        "orr_diff": (p, [s, s, p, err]),
        "orr_sweep": (p, [s, p, err]),
        "orr_compare": (p, [strings, i, p, err]),
        "orr_correlate": (p, [strings, i, p, err]),
        "orr_page": (p, [strings, i, err]),
        "orr_workloads": (p, [err]),
        "orr_gpus": (p, [p, err]),
        "orr_gpu_describe": (p, [s, p, err]),
        "orr_device_open": (p, [p, err]),
        "orr_device_close": (None, [p]),
        "orr_device_alloc": (u64, [p, u64, err]),
        "orr_device_free": (ctypes.c_bool, [p, u64, err]),
        "orr_device_write": (ctypes.c_bool, [p, u64, p, u64, err]),
        "orr_device_read": (ctypes.c_bool, [p, u64, p, u64, err]),
        "orr_device_load": (p, [p, s, err]),
        "orr_device_parse": (p, [p, s, s, size, err]),
        "orr_device_kernels": (i, [p]),
        "orr_device_kernel": (s, [p, i]),
        "orr_device_facts": (ctypes.c_bool, [p, s, ctypes.POINTER(KernelFacts), err]),
        "orr_device_launch": (
            ctypes.c_bool,
            [p, s, ctypes.POINTER(LaunchConfig), ctypes.POINTER(LaunchFacts), err],
        ),
        "orr_device_report": (p, [p, err]),
    }
    for name, (result, arguments) in table.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
    return lib


def _find_data(path: str) -> None:
    """An installed tree may have been moved: its data are beside its library. ORRERY_DATA knows better."""
    folder = os.path.dirname(os.path.abspath(path)) if os.sep in path else "/"
    while "ORRERY_DATA" not in os.environ and folder != "/":
        data = os.path.join(folder, "share", "orrery")
        if os.path.isdir(data):
            os.environ["ORRERY_DATA"] = data
        folder = os.path.dirname(folder)


_loaded: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """The library, loaded when it is first needed."""
    global _loaded
    if _loaded is None:
        tried = []
        for path in _candidates():
            if os.sep in path and not os.path.exists(path):
                tried.append(os.path.normpath(path))
                continue
            _find_data(path)
            _loaded = _declare(ctypes.CDLL(path))
            break
        else:
            raise ImportError(
                "orrery: liborrery.so was not found (" + ", ".join(tried[:3]) + "); build it with ./run build, "
                "or name it with ORRERY_LIBRARY"
            )
    return _loaded


class Options:
    """orr_options of Python values: a list is given several times, a dict as KEY=VALUE, True and False as yes, no."""

    def __init__(self, values: dict, watch: Optional[Callable] = None, notes: Optional[Callable] = None):
        self._lib = library()
        self._handle = self._lib.orr_options_new()
        self.stop = threading.Event()
        self._watch = WATCH(self._on_status(watch))
        self._lib.orr_options_watch(self._handle, self._watch, None)
        if notes:
            self._notes = READER(lambda _, line: notes(line.decode(errors="replace")))
            self._lib.orr_options_notes(self._handle, self._notes, None)
        try:
            for name, value in values.items():
                self._set(name.replace("_", "-"), value)
        except BaseException:
            self.close()
            raise

    def _on_status(self, watch: Optional[Callable]) -> Callable:
        def on_status(_: Any, status: Any) -> bool:
            if self.stop.is_set():
                return False
            return watch is None or watch(status.contents) is not False

        return on_status

    def _set(self, name: str, value: Any) -> None:
        if value is None:
            return
        if isinstance(value, dict):
            value = [f"{k}={v}" for k, v in value.items()]
        if isinstance(value, (list, tuple)):
            for one in value:
                self._set(name, one)
            return
        if isinstance(value, bool):
            value = "yes" if value else "no"
        err = Err()
        self._lib.orr_options_set(self._handle, name.encode(), str(value).encode(), ctypes.byref(err))
        check(err)

    @property
    def handle(self) -> Any:
        return self._handle

    def close(self) -> None:
        if self._handle:
            self._lib.orr_options_free(self._handle)
            self._handle = None


def check(err: Err, report: Any = None) -> None:
    if err.status:
        raise OrreryError(err.status, err.text.decode(errors="replace"), report)


def in_thread(work: Callable[[], Any], stop: threading.Event) -> Any:
    """Runs a job on a thread of its own, so that Ctrl-C reaches the caller, who then has it stopped."""
    result: list = []

    def run() -> None:
        try:
            result.append((True, work()))
        except BaseException as error:  # handed to the caller
            result.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)
    except KeyboardInterrupt:
        stop.set()
        thread.join()
        raise
    ok, value = result[0]
    if not ok:
        raise value
    return value


def strings(values: Iterable[Any]) -> Any:
    values = [os.fspath(v).encode() for v in values]
    return (ctypes.c_char_p * len(values))(*values), len(values)
