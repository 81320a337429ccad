"""Building the library of a program, also of one that comes from the cache: what that needs must stay little."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.backends.c.build.library import Library, build_plain, package_text
from termgraph.backends.c.cprogram import CProgram
from termgraph.backends.c.run import blas as blas_module
from termgraph.backends.c.run import glue

if TYPE_CHECKING:
    from termgraph.backends.c.build import compiler_errors
    from termgraph.backends.c.run import numpy_loops
    from termgraph.vm.partition import Refusal
else:
    compiler_errors = lazy("termgraph.backends.c.build.compiler_errors")
    numpy_loops = lazy("termgraph.backends.c.run.numpy_loops")

Again = Callable[[], "CProgram | Refusal"]


def built(program: CProgram, name: str, note: str | None = None, again: Again | None = None) -> Library:
    """The library of a program. A CompileError gets the `.terms` that the text it complains of computes."""
    options = {"needs_blas": program.needs_blas, "flags": program.flags, "libraries": program.libraries}
    try:
        return build_library(program.source, name, note=note, **options)  # type: ignore[arg-type]
    except compiler_errors.CompileError as error:
        error.terms = with_terms(program, again).terms_at(error.line)
        raise


def with_terms(program: CProgram, again: Again | None) -> CProgram:
    """The program with its terms; one that came from the cache, which does not hold them, is made once more."""
    if program.lowered is None and again is not None:
        made = again()
        if isinstance(made, CProgram) and made.source == program.source:
            return made
    return program


# -- with run-time services --------------------------------------------------------------------


def program_header(needs_blas: bool = False) -> str:
    """What stands in front of every generated source: the ABI, the services and, if needed, the BLAS table."""
    text = package_text("abi.h") + package_text("bind.h") + package_text("veclib.h")
    return text + (blas_module.header(blas_module.load().wide) if needs_blas else "")


def build_library(
    sources: str | Sequence[str],
    name: str,
    *,
    needs_blas: bool = False,
    flags: Sequence[str] = (),
    libraries: Sequence[str] = ("-lm",),
    parts: Mapping[str, Any] | None = None,
    note: str | None = None,
) -> Library:
    """As `build_plain`, and give the library the run-time services.

    Errors: those of `build_plain`, and BlasError.
    """
    texts = (sources,) if isinstance(sources, str) else tuple(sources)
    header = program_header(needs_blas)
    library = build_plain(
        texts, name, header=header, flags=flags, libraries=libraries, parts=parts, note=note, bare=True
    )
    calls_lapack = any(f"TG_NATIVE_{module}__" in text for module in ("linalg", "lapack") for text in texts)
    _bind(library, needs_blas, calls_lapack)
    for text in texts:
        if "TG_NATIVE_" in text:
            numpy_loops.fill(library.handle, text)
    return library


class _Runtime(ctypes.Structure):
    """tg_runtime of abi.h."""

    _fields_ = [
        ("abi", ctypes.c_int64),
        ("parallel_for", ctypes.c_void_p),
        ("parts", ctypes.c_void_p),
        ("clock_ns", ctypes.c_void_p),
        ("relayout", ctypes.c_void_p),
        ("blas", ctypes.c_void_p),
        ("take_cores", ctypes.c_void_p),
        ("give_cores", ctypes.c_void_p),
        ("libraries", (ctypes.c_void_p * 3) * 2),
    ]


OURS, NUMPYS = 0, 1  # places in `libraries`


def _bind(library: Library, needs_blas: bool, needs_lapack: bool) -> None:
    glue.use_threads()
    address = glue.provider().runtime()
    runtime = _Runtime.from_address(address)
    if needs_blas:
        runtime.blas = ctypes.addressof(blas_module.load().table)
        _share_cores(runtime, OURS, blas_module.load())
    if needs_lapack:
        _share_cores(runtime, NUMPYS, blas_module.numpys())
    library.handle.tg_bind(ctypes.c_void_p(address))


def _share_cores(runtime: _Runtime, place: int, library: blas_module.Blas | None) -> None:
    """The team keeps a library to one thread while it works."""
    functions = library and library.thread_functions()
    if functions:
        runtime.libraries[place][:2] = functions
