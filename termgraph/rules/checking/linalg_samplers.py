"""Samplers of products and matrix functions."""

from __future__ import annotations

from typing import Any

from unification import Var

from termgraph.rules.checking.draw import Draw, Head, Retry, Want
from termgraph.rules.checking.families import sampler
from termgraph.terms.ops import linalg

FLOATING = ("float64", "float64", "float64", "float32", "complex128")


def _dtype(d: Draw, want: Want) -> str:
    return want.dtype or (d.dtype if d.chance(0.8) else "float64")


def _beside(d: Draw, dtype: str, want: Want) -> str:
    """The dtype of the other operand: where dtypes meet, often another one."""
    return dtype if want.dtype is not None or not d.meeting else d.some_dtype()


@sampler("dot")
def _dot(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    k = d.length()
    dtype = _dtype(d, want)
    ranks = {0: [(1, 1)], 1: [(2, 1), (1, 2)], 2: [(2, 2)]}
    options = ranks.get(len(want.shape), []) if want.shape is not None else [(1, 1), (2, 1), (1, 2), (2, 2), (2, 2)]
    if not options:
        raise Retry
    left, right = d.rng.choice(options)
    outer = list(want.shape or ())
    if want.shape is None:
        outer = [d.length() for _ in range((left == 2) + (right == 2))]
    rows = outer[:1] if left == 2 else []
    columns = outer[len(rows) :] if right == 2 else []
    a = d.make(args[0], Want((*rows, k), dtype))
    if a.type.ndim not in (1, 2):
        raise Retry
    k = a.type.shape[-1]
    return [a, d.make(args[1], Want((k, *columns), _beside(d, dtype, want)))]


@sampler("matmul")
def _matmul(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    if want.shape is not None and len(want.shape) < 2:
        raise Retry
    shape = want.shape or (*d.rng.choice(((), (2,), (2,), (1, 2))), d.length(), d.length())
    batch, (n, m), k, dtype = shape[:-2], shape[-2:], d.length(), _dtype(d, want)
    a = d.make(args[0], Want((*d.narrowed(batch), n, k), dtype))
    if a.type.ndim < 2:
        raise Retry
    return [a, d.make(args[1], Want((*batch, a.type.shape[-1], m), _beside(d, dtype, want)))]


def _square(d: Draw, want: Want) -> Want:
    n = d.rng.choice((1, 2, 3, 3))
    batch: tuple[Any, ...] = ()
    if want.shape is not None and len(want.shape) >= 2:
        batch, n = want.shape[:-2], want.shape[-1]
    elif d.chance(0.15):
        batch = (2,)
    return Want((*batch, n, n), want.dtype or d.rng.choice(FLOATING))


@sampler("inv", "det", "slogdet", "expm", "eig", "eigvals")
def _of_square(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    return d.fill(args, [_square(d, want if h.family.name in ("inv", "expm") else Want())])


@sampler("cholesky", "eigh", "eigvalsh", "sqrtm")
def _of_definite(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    """Mostly A A^T: anything else has no Cholesky factor."""
    if "lower" in h.family.defaults:
        h.settle("lower", lambda: True)
    if h.family is linalg.cholesky:
        h.settle("on_error", lambda: d.rng.choice(("raise", "nan")))
    w = _square(d, want)
    pattern = args[0]
    if isinstance(pattern, Var) and pattern not in d.env:
        names = frozenset(("positive_definite",)) | d.facts.get(pattern, frozenset())
        t = d.leaf(Want(w.shape, d.rng.choice(("float64", "float32"))), names)
        guard = d.guards.get(pattern)
        if guard is not None and not guard.test(t):
            raise Retry
        d.env[pattern] = t
        return [t]
    return d.fill(args, [w])


@sampler("qr", "svd", "svdvals", "pinv")
def _of_any_matrix(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    if "full_matrices" in h.family.defaults:
        h.settle("full_matrices", lambda: d.chance(0.5))
    return d.fill(args, [Want((d.length(), d.length()), d.rng.choice(FLOATING))])


@sampler("solve", "solve_triangular", "lstsq")
def _solve(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    w = _square(d, Want())
    dtype = w.dtype
    columns = want.shape[-1] if want.shape and len(want.shape) >= 2 else d.length()
    a = d.make(args[0], w)
    if h.family is not linalg.lstsq:
        h.settle("on_error", lambda: d.rng.choice(("raise", "nan")))
    if h.family is linalg.solve_triangular:
        h.settle("lower", lambda: d.chance(0.5))
        h.settle("trans", lambda: d.rng.choice(("N", "T", "C")))
        h.settle("unit_diagonal", lambda: d.chance(0.3))
    if a.type.ndim < 2:
        raise Retry
    return [a, d.make(args[1], Want((*a.type.shape[:-1], columns), dtype))]
