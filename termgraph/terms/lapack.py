"""LAPACK's factors of matrices, by the library that NumPy's own linear algebra calls: equal bits.

SciPy brings another build of it, whose last bits differ. May touch: shared libraries of the installed package numpy.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from termgraph._records import NamedTuple
from termgraph.terms.brought_libraries import numpys_path
from termgraph.terms.ops.precision import LETTERS, UNITARY


class Library(NamedTuple):
    """A loaded LAPACK: its functions are called `prefix + name + suffix`; `wide` if it counts in 64 bits."""

    handle: Any
    prefix: str
    suffix: str
    wide: bool

    def function(self, name: str) -> Any:
        """A function of Fortran's, all of whose operands are addresses: `function("dgetrf")`."""
        return getattr(self.handle, f"{self.prefix}{name}_{self.suffix}")


@functools.cache
def numpys() -> Library | None:
    """The library that NumPy's linear algebra calls, if it came with NumPy."""
    path = numpys_path()
    try:
        found = Library(ctypes.CDLL(path), "scipy_", "64_", True) if path else None
        return found if found is None or found.function("dgetrs") else None
    except (OSError, AttributeError):
        return None


_lock, _inside, _before = threading.Lock(), 0, 1


def _counts() -> Any:
    """How the library's count of threads is asked for and set; nothing if there is no such library."""
    library = numpys()
    handle = library and library.handle
    found = [getattr(handle, f"scipy_openblas_{to}_num_threads64_", None) for to in ("get", "set")]
    return None if None in found else found


def _in_child() -> None:
    """A forked child has none of the threads that were inside."""
    global _inside
    if _inside and _before > 1:
        _counts()[1](_before)
    _inside = 0
    _lock.release()


if hasattr(os, "register_at_fork"):  # not in the middle of a change, for which the library holds a lock
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_in_child)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """NumPy's library computes in one thread meanwhile: how many there are would be seen in the last bits."""
    global _inside, _before
    counts = _counts()
    if counts is None:
        yield
        return
    get, put = counts
    with _lock:
        _inside += 1
        if _inside == 1:
            _before = get()
            if _before > 1:
                put(1)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside and _before > 1:
                put(_before)


def factor(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What gesv makes of a square matrix: the columns of L and U as rows, and pivots that count from one.

    Not getrf, which has several threads from another length on.
    """
    columns = np.array(a.T, order="C")  # always a copy
    pivots, n = np.zeros(len(a), np.int64), ctypes.c_int64(len(a))
    called, zeros = _function("gesv", a.dtype), np.zeros(len(a), a.dtype)
    if not columns.size:
        return columns, pivots
    if called is None:
        made, swaps, _ = _scipys("getrf", a)(a)
        return np.ascontiguousarray(made.T), swaps.astype(np.int64) + 1
    n_, info = ctypes.byref(n), ctypes.byref(ctypes.c_int64())
    called(n_, ctypes.byref(ctypes.c_int64(1)), _at(columns), n_, _at(pivots), _at(zeros), n_, info)
    return columns, pivots


def solve_by(columns: np.ndarray, pivots: np.ndarray, b: np.ndarray, trans: str) -> np.ndarray:
    """What getrs makes of the factors and the columns of b.

    One of complex numbers goes twice: getrs has a way for one column that gesv does not take.
    """
    twice = b.shape[1] == 1 and b.dtype.kind == "c"
    right = np.array(np.repeat(b.T, 2, axis=0) if twice else b.T, order="C")
    called = _function("getrs", b.dtype)
    if not right.size:
        return np.zeros_like(b)
    if called is None:
        return np.asarray(_scipys("getrs", b)(columns.T, pivots - 1, b, trans={"N": 0, "T": 1, "C": 2}[trans])[0])
    columns, pivots = np.ascontiguousarray(columns), np.ascontiguousarray(pivots)
    n, k = ctypes.c_int64(len(pivots)), ctypes.c_int64(len(right))
    sizes = (ctypes.byref(n), _at(pivots), _at(right), ctypes.byref(n), ctypes.byref(ctypes.c_int64()))
    called(ctypes.c_char_p(trans.encode()), *map(ctypes.byref, (n, k)), _at(columns), *sizes)
    return right[:1].T if twice else right.T


def qr(a: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Q and R of matrices, as `np.linalg.qr` finds them, in their own precision."""
    if numpys() is None:
        return _scipys_qr(a, mode)
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    width = m if mode == "complete" else min(m, n)
    q, r = np.zeros((*batch, m, width), a.dtype), np.zeros((*batch, width, n), a.dtype)
    for at in np.ndindex(batch):
        columns = np.zeros((max(n, width), m), a.dtype)
        columns[:n] = a[at].T
        tau = np.zeros(min(m, n), a.dtype)
        if tau.size:
            _in_room("geqrf", a.dtype, (m, n), columns, tau)
        r[at] = np.triu(columns[:n].T[:width])
        if q.size:
            _in_room(UNITARY[a.dtype.kind], a.dtype, (m, width, len(tau)), columns, tau)
        q[at] = columns[:width].T
    return q, r


def _scipys_qr(a: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    from scipy.linalg import qr

    batch, how = a.shape[:-2], "full" if mode == "complete" else "economic"
    found = [qr(a[at], mode=how) for at in np.ndindex(batch)]
    q, r = (np.array([f[k] for f in found]) for k in (0, 1))
    return q.reshape(*batch, *q.shape[1:]), r.reshape(*batch, *r.shape[1:])


def _in_room(name: str, dtype: np.dtype, sizes: tuple[int, ...], columns: np.ndarray, tau: np.ndarray) -> None:
    """A function of LAPACK's that wants room to work in, and says how much."""
    called = _function(name, dtype)
    room, info = np.zeros(1, dtype), ctypes.byref(ctypes.c_int64())
    given = [ctypes.byref(ctypes.c_int64(n)) for n in sizes]
    given += [_at(columns), ctypes.byref(ctypes.c_int64(sizes[0])), _at(tau)]
    called(*given, _at(room), ctypes.byref(ctypes.c_int64(-1)), info)
    room = np.zeros(int(room[0].real), dtype)
    called(*given, _at(room), ctypes.byref(ctypes.c_int64(len(room))), info)


def _function(name: str, dtype: np.dtype) -> Any:
    library = numpys()
    return library and library.function(LETTERS[dtype.char] + name)


def _scipys(name: str, a: np.ndarray) -> Any:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(name, (a,))


def _at(a: np.ndarray) -> Any:
    return a.ctypes.data_as(ctypes.c_void_p)
