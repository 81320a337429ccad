"""The goals every rule author needs: literals, evaluation, dtype and shape questions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from termgraph.rules.goals import goal
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm, Const, infer_type
from termgraph.terms.types import TensorType

LARGEST_FOLD = 1 << 16  # elements; larger results stay computations, so that compiled functions stay small


@goal("i", each="{0}.op is CONST")
def literals(xs: tuple[Any, ...]) -> bool:
    """All operands are constants."""
    for x in xs:  # a loop, since this is asked of every node
        if x.op is not CONST:
            return False
    return bool(xs)


@goal("iio")
def evaluate(f: Any, xs: tuple[Any, ...]) -> Any:
    """The value of `f(*xs)` on constants; no answer where evaluation fails or the result is large."""
    if f.nout != 1 or f.kind in ("random", "effect", "tuple") or not getattr(f, "foldable", True):
        return None
    values = [x.value for x in xs]
    plain = f.kind == "elementwise" and all(v.dtype.kind != "c" for v in values)  # never warns
    with nullcontext() if plain else _quiet():
        try:
            type_ = infer_type(f, xs)
            if isinstance(type_, TensorType) and _too_large(type_, values):
                return None
            result = f.meaning(*values)
        except (ArithmeticError, ValueError, TypeError, NotImplementedError, np.linalg.LinAlgError):
            return None  # what fails now fails when the function runs, with the user's line
    return Const(np.asarray(result)) if isinstance(type_, TensorType) else None


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _too_large(type_: TensorType, values: list[Any]) -> bool:
    if None in type_.shape:
        return False
    size = math.prod([n or 0 for n in type_.shape])
    return size > LARGEST_FOLD and size > sum(np.size(v) for v in values)


@goal("io")
def dtype_of(x: AnyTerm) -> str:
    """The dtype of a term, for an operator's `dtype` parameter."""
    dtype: str = x.type.dtype
    return dtype


dtype_of.inline = "{0}.type.dtype"


@goal("io")
def ndim_of(x: AnyTerm) -> Any:
    """The number of dimensions of a term."""
    return x.type.ndim


@goal("i", worth=True)
def large(x: AnyTerm) -> bool:
    """A constant or array known to have many elements."""
    shape = x.type.shape
    return None not in shape and math.prod(shape) > LARGEST_FOLD


_RINGS = frozenset(("add", "sub", "mul", "neg", "sqr", "pow", "dot", "matmul", "sum", "prod", "cumsum", "dimshuffle"))
_ARITHMETIC = frozenset(("elementwise", "reduce", "scan", "linalg"))


@goal("i")
def within_limits(t: AnyTerm) -> bool:
    """Whether `t` and its operands compute no integers, or only sums and products of one dtype: these may wrap, since
    they are the same modulo a power of two however they are arranged.
    """
    if len(t.args) > 2:  # the signature does not tell all operands apart
        return _no_integers(t) or _wraps_alike(t)
    found = t.sig.no_integers
    if found is None:
        found = t.sig.no_integers = _no_integers(t)
    return found or _wraps_alike(t)


def _no_integers(t: AnyTerm) -> bool:
    return not any(u.args and u.type.__class__ is TensorType and u.type.kind in "iu" for u in (t, *t.args))


def _wraps_alike(t: AnyTerm) -> bool:
    dtype = t.type.dtype
    parts = [
        u for u in (t, *t.args)
        if u.args and isinstance(u.type, TensorType) and u.type.kind in "iu" and u.op.kind in _ARITHMETIC
    ]  # fmt: skip
    operands = [a for u in (t, *parts) for a in u.args] if parts else []
    return all(u.op.family.name in _RINGS and u.type.dtype == dtype for u in parts) and all(
        a.op is CONST or a.type.dtype == dtype for a in operands
    )
