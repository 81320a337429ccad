"""BLAS for compiled programs: a table of function pointers, filled when a program first needs it.

May touch: shared libraries of the installed packages scipy-openblas32 and numpy. Nothing is loaded before `load()`. No
path of a BLAS library enters compiled code, so a cached program survives a moved environment.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from collections.abc import Iterable, Iterator
from dataclasses import field

from termgraph._records import record
from termgraph.backends.c.run.cores import blas_thread_count
from termgraph.terms.brought_libraries import first_library, numpys_path

_REAL, _COMPLEX = (("s", "float"), ("d", "double")), (("c", "void"), ("z", "void"))
_TRIANGLE = "int layout, int side, int uplo, int trans, int diag, tg_int m, tg_int n"


def _functions() -> list[tuple[str, str]]:
    """(name, C declaration with %s for the name) of every entry of the table, in its order."""
    table: list[tuple[str, str]] = []
    for letter, c in (*_REAL, *_COMPLEX):
        number = f"{c} " if c != "void" else "const void *"  # complex numbers go by address
        ptr, out = f"const {c} *", f"{c} *"
        add = table.append
        add(
            (
                f"{letter}gemm",
                f"void (*%s)(int layout, int transa, int transb, tg_int m, tg_int n, tg_int k, {number}alpha, "
                f"{ptr}a, tg_int lda, {ptr}b, tg_int ldb, {number}beta, {out}c, tg_int ldc)",
            )
        )
        add(
            (
                f"{letter}gemv",
                f"void (*%s)(int layout, int trans, tg_int m, tg_int n, {number}alpha, {ptr}a, tg_int lda, "
                f"{ptr}x, tg_int incx, {number}beta, {out}y, tg_int incy)",
            )
        )
        rank_one = "ger" if c != "void" else "geru"
        add(
            (
                letter + rank_one,
                f"void (*%s)(int layout, tg_int m, tg_int n, {number}alpha, {ptr}x, tg_int incx, "
                f"{ptr}y, tg_int incy, {out}a, tg_int lda)",
            )
        )
        if c != "void":
            add((f"{letter}dot", f"{c} (*%s)(tg_int n, {ptr}x, tg_int incx, {ptr}y, tg_int incy)"))
        else:
            add((f"{letter}dotu_sub", f"void (*%s)(tg_int n, {ptr}x, tg_int incx, {ptr}y, tg_int incy, void *result)"))
        add((f"{letter}axpy", f"void (*%s)(tg_int n, {number}alpha, {ptr}x, tg_int incx, {out}y, tg_int incy)"))
        add((f"{letter}scal", f"void (*%s)(tg_int n, {number}alpha, {out}x, tg_int incx)"))
        add(
            (
                f"{letter}syrk",
                f"void (*%s)(int layout, int uplo, int trans, tg_int n, tg_int k, {number}alpha, {ptr}a, tg_int lda, "
                f"{number}beta, {out}c, tg_int ldc)",
            )
        )
        add((f"{letter}trsm", f"void (*%s)({_TRIANGLE}, {number}alpha, {ptr}a, tg_int lda, {out}b, tg_int ldb)"))
    return table


FUNCTIONS = _functions()


def header(wide: bool) -> str:
    """The C text that declares the table; `wide`: the library counts in 64 bits. Use it as `TG_BLAS->dgemm(...)`."""
    lines = [f"    {declaration % name};" for name, declaration in FUNCTIONS]
    return "\n".join(
        [
            "/* The functions of CBLAS, handed over when the library is loaded. */",
            f"typedef {'int64_t' if wide else 'int32_t'} tg_int;",
            "enum { TG_ROWS = 101, TG_COLUMNS = 102, TG_PLAIN = 111, TG_TRANS = 112, TG_CONJ = 113 };",
            "enum { TG_UPPER = 121, TG_LOWER = 122, TG_NONUNIT = 131, TG_UNIT = 132, TG_LEFT = 141, TG_RIGHT = 142 };",
            "typedef struct tg_blas {",
            *lines,
            "} tg_blas;",
            "#define TG_BLAS ((const tg_blas *)tg_rt->blas)",
            "",
        ]
    )


class BlasError(RuntimeError):
    """A program needs BLAS and none can be loaded."""


@record
class Blas:
    """A loaded BLAS: where it came from and the table of its functions."""

    provider: str
    path: str
    wide: bool
    library: ctypes.CDLL = field(repr=False)
    prefix: str = "scipy_"
    suffix: str = ""
    table: ctypes.Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        addresses = [self.address(f"cblas_{name}") for name, _ in FUNCTIONS]
        self.table = (ctypes.c_void_p * len(addresses))(*addresses)

    def address(self, name: str) -> int:
        """The address of a function: `address("cblas_dgemm")`."""
        function = getattr(self.library, self.prefix + name + self.suffix)
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def thread_functions(self) -> tuple[int, int] | None:
        """Addresses of the functions that say how many threads one call uses, and that set it; None without them."""
        names = [f"{self.prefix}openblas_{what}_num_threads{self.suffix}" for what in ("get", "set")]
        if not all(hasattr(self.library, name) for name in names):
            return None
        get, set_ = [ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0 for name in names]
        return get, set_

    def set_threads(self, count: int) -> None:
        """Threads of one call. NumPy's own library is left as it is: it is not ours."""
        if self.provider == "scipy-openblas32":
            getattr(self.library, f"{self.prefix}openblas_set_num_threads")(ctypes.c_int(count))


def load() -> Blas:
    """The BLAS to use, loaded on first call, with the number of threads that the flag `blas.threads` says now."""
    blas, tried = _load()
    if blas is None:
        raise BlasError("no BLAS library can be loaded: " + "; ".join(tried) + ". pip install scipy-openblas32")
    blas.set_threads(blas_thread_count())
    return blas


def available() -> tuple[Blas | None, list[str]]:
    """What `load` would use, and what was found wrong with the others."""
    return _load()


@functools.cache
def numpys() -> Blas | None:
    """The library that NumPy's linear algebra calls, if it came with NumPy."""
    return _opened([found for found in _candidates() if found[0] == "numpy"])[0]


@functools.cache
def _load() -> tuple[Blas | None, list[str]]:
    return _opened(_candidates())


def _opened(candidates: Iterable[tuple[str, str | None, bool]]) -> tuple[Blas | None, list[str]]:
    tried: list[str] = []
    for provider, path, wide in candidates:
        if path is None:
            tried.append(f"{provider}: not installed")
            continue
        try:
            return Blas(provider, path, wide, _library(path), suffix="64_" if wide else ""), tried
        except (OSError, AttributeError) as error:
            tried.append(f"{provider}: {error}")
    return None, tried


def _library(path: str) -> ctypes.CDLL:
    """A library that finds what it calls when it calls it: finding all 2,000 functions first takes half a millisecond.

    `CDLL` by itself always finds them first; it is also who says what is wrong.
    """
    try:
        opened = ctypes.pythonapi["dlopen"]
    except AttributeError:  # not on Windows
        return ctypes.CDLL(path)
    opened.restype, opened.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    return ctypes.CDLL(path, handle=opened(os.fsencode(path), os.RTLD_LAZY))


def _candidates() -> Iterator[tuple[str, str | None, bool]]:
    """Where BLAS may be: (provider, path or None, counts in 64 bits). The packages are found, not imported."""
    found = importlib.util.find_spec("scipy_openblas32")
    ours = first_library(os.path.dirname(found.origin) if found and found.origin else None, "lib", "libscipy_openblas.")
    yield "scipy-openblas32", ours, False
    yield "numpy", numpys_path(), True
