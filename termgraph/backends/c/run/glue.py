"""The callable that runs a compiled program: built once per installation, or ctypes where that fails.

May touch: the cache directory and the folder of bytecode, the compiler, shared libraries. `bind` makes a callable of a
library and a signature; `provider` is the module behind it, either the C glue or `fallback`, which do the same.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.backends.c.build.cache import installation_cache
from termgraph.backends.c.build.library import Library, build_plain, package_text, package_times
from termgraph.backends.c.run.cores import thread_count
from termgraph.backends.c.signature import MODES, NO_DEFAULT, RETURNS, Input, Signature
from termgraph.progress import Steps
from termgraph.terms.dtypes import can_cast, kind_of, numpy_dtype

if TYPE_CHECKING:
    from termgraph.backends.c.build import compiler_errors
    from termgraph.backends.c.run import ctypes_glue
    from termgraph.tensor.sharedvar import Container
else:
    compiler_errors = lazy("termgraph.backends.c.build.compiler_errors")
    ctypes_glue = lazy("termgraph.backends.c.run.ctypes_glue")

_PARTS = ("abi.h", "pool.c", "team.c", "past.c", "python.h", "cells.c", "looks.c", "glue.c", "files.c", "module.c")
_RARE = ("pool.c", "team.c", "past.c", "files.c")  # run for large arrays only: not worth the compiler's time
_ACCEPT = {"float": 1, "int": 2}
_HOLDS = {"b": "biufc", "i": "iufc", "u": "iufc", "f": "fc", "c": "c"}  # kinds of dtype for kinds of Python number


class GlueWarning(UserWarning):
    """The fast way of calling compiled code is not available; calls are slower, results the same."""


# -- getting it ---------------------------------------------------------------------------------


_guard = threading.RLock()
_provider: Any = None


def provider() -> Any:
    """What runs compiled programs here: the C glue, or the ctypes fallback with one warning saying why."""
    global _provider
    if _provider is None:
        with _guard:
            if _provider is None:
                _provider = _choose()
    return _provider


_threads = 0


def use_threads() -> None:
    """Give the team of threads, which all programs share, the size that the flag `threads` says now."""
    global _threads
    count = thread_count()
    if count != _threads:
        provider().set_threads(count)
        _threads = count


def _choose() -> Any:
    try:
        return load_glue()
    except (compiler_errors.CompileError, OSError, RuntimeError, ImportError) as error:
        reason = f"{type(error).__name__}: {error}"
    warnings.warn(
        f"compiled code is called through ctypes, which costs some microseconds more: {reason}", GlueWarning, 2
    )
    return load_fallback()


@functools.cache
def load_glue() -> Any:
    """Build the extension module if there is none beside the bytecode or in the cache, and connect it to NumPy."""
    if not _python_is_known():
        raise RuntimeError(f"the glue knows CPython 3.11 and later with a GIL, this is {sys.version}")
    library = build_plain(
        lambda: ["#define _GNU_SOURCE\n" + "\n".join(map(_part, _PARTS))],
        "_glue",
        known_by=package_times(_PARTS),
        flags=("-fno-tree-vectorize", "-fvisibility=hidden"),
        libraries=("-lpthread",),
        defined=False,
        load=False,
        cache=installation_cache(),
    )
    module = _import_extension("_glue", library.path)
    module.start(_numpy_api(), np.arange(6, dtype="f4").reshape(2, 3).T, np.float64(1.5), np.bool_(True))
    module.configure(_pool_limit(), -1, -1)
    module.watch(Steps)
    return module


def _part(name: str) -> str:
    text = f'#line 1 "{name}"\n{package_text(name)}'
    quickly = '#pragma GCC push_options\n#pragma GCC optimize("O0")'
    return f"{quickly}\n{text}\n#pragma GCC pop_options" if name in _RARE else text


@functools.cache
def load_fallback() -> Any:
    """The same in Python, over a small library that holds only the team of threads."""
    source = "#define _GNU_SOURCE\n" + "".join(map(package_text, ("abi.h", "team.c", "past.c")))
    ctypes_glue.start(build_plain([source], "_team", libraries=("-lpthread",)))
    return ctypes_glue


def _python_is_known() -> bool:
    free_threaded = "t" in sys.abiflags or "d" in sys.abiflags
    return sys.implementation.name == "cpython" and sys.version_info >= (3, 11) and not free_threaded


def _import_extension(name: str, path: str) -> Any:
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _numpy_api() -> Any:
    return importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API


def _pool_limit() -> int:
    """At most an eighth of the memory, and at most 1 GiB, is kept for the next big result."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        memory = 8 << 30
    return min(1 << 30, memory // 8)


# -- binding ------------------------------------------------------------------------------------


def cell(value: np.ndarray) -> Any:
    """Storage for a shared variable: `.value` is the array; programs swap or change it as a whole.

    >>> c = cell(np.zeros(3))               # doctest: +SKIP
    >>> c.value = np.ones(3)                # doctest: +SKIP
    """
    return provider().Cell(value)


def attach(container: Container) -> Any:
    """The cell behind a container, an object with `storage` (a list of one array) and `lock` (a re-entrant lock).

    The first call makes a cell and puts it in the place of both, so programs and Python see one value and one lock.
    """
    kind = provider().Cell
    with container.lock:
        if not isinstance(container.storage, kind):
            value = container.storage[0]
            value = value.to_host() if hasattr(value, "to_host") else value  # it may live on a GPU
            container.storage = container.lock = kind(value)
        return container.storage


def callable_type(base: type | None = None, *, module: Any = None) -> type:
    """The type of what `bind` makes or, with a mixin class `base`, a subclass of both that is just as fast to call.

    The mixin may add methods and properties, but neither `__call__` nor `__init__`.
    """
    return _callable_type(base, module or provider())


@functools.cache
def _callable_type(base: type | None, module: Any) -> type:
    if base is None:
        return module.Callable
    for name in ("__call__", "__init__", "__new__"):
        if any(name in vars(cls) for cls in base.__mro__ if cls is not object):
            raise TypeError(f"{base.__qualname__} cannot be mixed into a compiled function: it defines {name}")
    made = type(base.__name__, (base, module.Callable), {"__module__": base.__module__, "__doc__": base.__doc__})
    module.allow_vectorcall(made)
    return made


def bind(
    library: Library,
    signature: Signature,
    *,
    name: str = "f",
    cells: Sequence[Any] = (),
    constants: Sequence[np.ndarray] = (),
    filter: Callable[[int, Any], np.ndarray] | None = None,
    fail: Callable[..., Any] | None = None,
    wrap: Callable[[tuple], Any] | None = None,
    cls: type | None = None,
    module: Any = None,
) -> Any:
    """A callable for a library that exports `tg_plan` and `tg_run`.

    `filter(i, value)` is asked for arguments that do not fit as they are: it returns an array that fits or raises.
    `fail(code, op, v0, v1, v2, v3)` turns what a failed program reports into an exception and raises it.
    `wrap(results)` makes the answer where the signature says "wrapped". `cls` comes from `callable_type`.
    """
    module = module or provider()
    _check_counts(signature, cells, constants)
    made = cls or module.Callable
    names = [port.name or f"argument {i + 1}" for i, port in enumerate(signature.inputs)]
    numbers = (
        RETURNS.index(signature.returns),
        len(signature.inputs),
        len(signature.outputs),
        len(signature.updates),
        signature.workspaces,
        signature.env_size,
        signature.workspace_env(0),
        signature.work_env,
    )
    return made(
        name,
        ", ".join(names) or "none",
        library.address("tg_plan"),
        library.address("tg_run"),
        _ports(signature),
        tuple(cells),
        tuple(np.ascontiguousarray(c) if c.ndim else c for c in constants),
        _outs(signature),
        numbers,
        filter or functools.partial(conform, signature, name),
        fail or functools.partial(raise_failure, name),
        wrap,
        library,
    )


def _check_counts(signature: Signature, cells: Sequence, constants: Sequence) -> None:
    if len(cells) != len(signature.cells):
        raise ValueError(f"the program uses {len(signature.cells)} cells, got {len(cells)}")
    if len(constants) != signature.constants:
        raise ValueError(f"the program uses {signature.constants} constants, got {len(constants)}")


def _ports(signature: Signature) -> tuple:
    made = []
    for i, port in enumerate(signature.inputs):
        lengths = tuple(-1 if n is None else n for n in port.shape)
        accept = sum(_ACCEPT[kind] for kind in port.accepted())
        dtype, has_default = numpy_dtype(port.dtype), port.default is not NO_DEFAULT
        name = sys.intern(port.name) if port.name else None
        shift = dtype.itemsize.bit_length() - 1
        default = port.default if has_default else None
        made.append((name, dtype, lengths, signature.input_env(i), shift, accept, has_default, default))
    for i, shared in enumerate(signature.cells):
        lengths, dtype = tuple(-1 if n is None else n for n in shared.shape), numpy_dtype(shared.dtype)
        made.append((None, dtype, lengths, signature.cell_env(i), dtype.itemsize.bit_length() - 1, 0, False, None))
    return tuple(made)


def _outs(signature: Signature) -> tuple:
    made = []
    for i, out in enumerate(signature.outputs):
        dtype, donor = numpy_dtype(out.dtype), -1 if out.donor is None else out.donor
        made.append(
            (dtype, out.ndim, signature.output_env(i), int(out.scalar), -1, 0, donor, dtype.itemsize, _axes(out.order))
        )
    for i, update in enumerate(signature.updates):
        dtype, mode = numpy_dtype(update.dtype), MODES.index(update.mode)
        made.append((dtype, update.ndim, signature.update_env(i), 0, update.cell, mode, -1, dtype.itemsize, None))
    return tuple(made)


def _axes(order: Sequence[int] | None) -> str | None:
    """The axes of a result in the order of memory, a character of ASCII each: C reads bytes."""
    return None if order is None else "".join([chr(ord("0") + d) for d in order])


# -- what stands in where nothing better is given ----------------------------------------------------


def conform(signature: Signature, name: str, i: int, value: object) -> np.ndarray:
    """An array for argument `i` made of anything NumPy can convert without loss, or a TypeError or ValueError."""
    port: Input = signature.inputs[i]
    label = f"{name}(): argument {i + 1}" + (f" ({port.name})" if port.name else "")
    given = np.asarray(value)
    dtype = numpy_dtype(port.dtype)
    weak = type(value) in (int, float, complex, bool)
    fine = kind_of(dtype) in _HOLDS.get(kind_of(given.dtype), "") if weak else can_cast(given.dtype, dtype, "safe")
    if not fine:
        raise TypeError(f"{label} has dtype {given.dtype}, expected {dtype}; convert it with .astype({dtype.name!r})")
    if given.ndim != port.ndim:
        raise TypeError(f"{label} has {given.ndim} dimensions, expected {port.ndim}")
    for axis, (length, wanted) in enumerate(zip(given.shape, port.shape)):
        if wanted is not None and length != wanted:
            raise ValueError(f"{label} has length {length} along axis {axis}, expected {wanted}")
    with np.errstate(over="raise"):
        converted = np.array(given, dtype=dtype, order="C", copy=True, subok=False)
    if weak and kind_of(converted.dtype) in "biu" and converted[()] != value:
        raise TypeError(f"{label} is {value!r}, which {dtype} cannot hold")
    return converted


def raise_failure(name: str, code: int, op: int, v0: int, v1: int, v2: int, v3: int) -> None:
    """Raise what a status means when the generator has no better words for it."""
    if code == -2:
        raise MemoryError(f"{name}(): {v0 / 1e9:.3g} GB of memory cannot be had")
    if code == -3:
        raise TypeError(f"{name}(): the value of shared variable {v0} no longer has the type it was compiled for")
    if code == -4:
        raise ValueError(f"{name}(): output {v0} would have length {v2} along axis {v1}")
    raise RuntimeError(f"{name}() failed with code {code} in operation {op}: {v0}, {v1}, {v2}, {v3}")
