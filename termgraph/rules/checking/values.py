"""Values for the inputs of drawn terms: ordinary numbers, special ones, and values that have the facts asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from termgraph.terms.dtypes import kind_of, numpy_dtype


class Special(NamedTuple):
    """A special number, and what kind of trouble it stands for."""

    value: float
    kind: str  # "inf", "nan", "zero", "huge", "tiny", "int limits"


FLOAT_SPECIALS = (
    (Special(0.0, "zero"), Special(-0.0, "zero")),
    (Special(np.inf, "inf"), Special(-np.inf, "inf")),
    (Special(np.nan, "nan"), Special(1.0, "ordinary")),
    (Special(1e300, "huge"), Special(-1e300, "huge"), Special(1e-300, "tiny")),
    (Special(710.0, "huge"), Special(-745.0, "huge")),
    (Special(-0.0, "zero"), Special(np.inf, "inf"), Special(-1.0, "ordinary")),
)
INTEGER_SPECIALS: tuple[tuple[tuple[str, int], ...], ...] = (
    (("min", 0), ("max", 0)),
    (("zero", 0), ("zero", 0)),
    (("min", 1), ("max", 0), ("zero", 1)),
)
MATRIX_FACTS = frozenset(
    ("symmetric", "lower_triangular", "upper_triangular", "diagonal", "orthogonal", "positive_definite")
)


def ordinary(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype | str, far: bool = False) -> np.ndarray:
    """Everyday numbers of a dtype: moderate, of both signs, whole ones among them; integers up to 100 if `far`."""
    dtype = numpy_dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return _integers(rng, shape, dtype.kind == "i", far).astype(dtype)
    found = _reals(rng, shape)
    if dtype.kind == "c":
        found = found + 1j * _reals(rng, shape)
    return np.asarray(found, dtype=dtype)


def _integers(rng: np.random.Generator, shape: tuple[int, ...], signed: bool, far: bool) -> np.ndarray:
    """Numbers that meet each other; if `far`, mostly ones that tell quotients and remainders apart."""
    least, most = (-100, 100) if far and rng.integers(4) else (-5, 6)
    return rng.integers(least if signed else 0, most + 1, shape)


def _reals(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    style = rng.integers(5)
    if style == 0:
        return rng.uniform(-1, 1, shape)
    if style == 1:
        return rng.uniform(0.1, 4, shape)
    if style == 2:
        return rng.integers(-3, 4, shape).astype(float)
    return rng.normal(size=shape) * 2


def specials_for(dtype: np.dtype, turn: int) -> list[Special]:
    """Special numbers to mix into a trial: the turn goes through the groups."""
    dtype = numpy_dtype(dtype)
    if kind_of(dtype) in "fc":
        return list(FLOAT_SPECIALS[turn % len(FLOAT_SPECIALS)])
    if dtype.kind == "b":
        return []
    info = np.iinfo(dtype)
    base = {"min": info.min, "max": info.max, "zero": 0}
    group = INTEGER_SPECIALS[turn % len(INTEGER_SPECIALS)]
    return [Special(base[name] + n, "zero" if (name, n) == ("zero", 0) else "int limits") for name, n in group]


def mixed(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, specials: Iterable[Special], far: bool = False
) -> np.ndarray:
    """Everyday numbers with some of the specials among them."""
    found = ordinary(rng, shape, dtype, far)
    chosen = list(specials)
    if not chosen or kind_of(found.dtype) == "b":
        return found
    with np.errstate(all="ignore"):
        for s in chosen:
            found = np.where(rng.random(shape) < 0.45, _as(s.value, found.dtype), found).astype(found.dtype)
    return found


def _as(value: Any, dtype: np.dtype) -> np.ndarray:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.asarray(value if info.min <= value <= info.max else info.max, dtype=dtype)
    if dtype == np.complex64 or dtype.name in ("bfloat16", "float32"):  # of the same range
        value = {1e300: 1e36, -1e300: -1e36, 1e-300: 1e-36, 710.0: 89.0, -745.0: -104.0}.get(value, value)
    if dtype == np.float16:
        value = {1e300: 6e4, -1e300: -6e4, 1e-300: 1e-7, 710.0: 12.0, -745.0: -18.0}.get(value, value)
    return np.asarray(float(value) if kind_of(dtype) == "f" else value).astype(dtype)


def with_facts(x: np.ndarray, facts: Iterable[str]) -> np.ndarray | None:
    """The nearest values that have the facts; None if there are none of this shape."""
    wanted = frozenset(facts)
    if wanted & MATRIX_FACTS and (x.ndim < 2 or x.shape[-1] != x.shape[-2]):
        return None
    if wanted & _IMPOSSIBLE.get(kind_of(x.dtype), frozenset()):
        return None
    with np.errstate(all="ignore"):
        for fact in _ORDER:
            if fact in wanted:
                x = np.asarray(_MAKE[fact](x)).astype(x.dtype, copy=False)
    return x


def _orthogonal(x: np.ndarray) -> Any:
    if kind_of(x.dtype) not in "fc":
        return np.broadcast_to(np.eye(x.shape[-1]), x.shape)
    return np.linalg.qr(np.nan_to_num(x.astype(np.promote_types(x.dtype, np.float32))))[0]


def _positive_definite(x: np.ndarray) -> Any:
    x = np.clip(np.nan_to_num(x), -9, 9) if kind_of(x.dtype) != "c" else np.nan_to_num(x)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + x.shape[-1] * np.eye(x.shape[-1])


def _finite(x: np.ndarray) -> Any:
    return np.where(np.isfinite(x), x, 0.5)


_IMPOSSIBLE = {
    "b": frozenset(("positive", "negative", "nonpositive", "orthogonal", "positive_definite")),
    "u": frozenset(("negative", "nonpositive", "orthogonal")),
    "i": frozenset(("orthogonal",)),
    "c": frozenset(("positive", "negative", "nonnegative", "nonpositive", "at_most_one", "sorted")),
}
_MAKE: dict[str, Any] = {
    "real": np.real,
    "finite": _finite,
    "integer": np.round,
    "at_most_one": lambda x: np.where(x > 1, 1, x),
    "nonnegative": lambda x: x if kind_of(x.dtype) in "bu" else np.where(x < 0, np.where(x < -1e30, 1, -x), x),
    "nonpositive": lambda x: np.where(x > 0, np.where(x > 1e30, -1, -x), x),
    "positive": lambda x: np.where(x < 0, np.where(x < -1e30, 1, -x), np.where(x == 0, 1, x)),
    "negative": lambda x: np.where(x > 0, np.where(x > 1e30, -1, -x), np.where(x == 0, -1, x)),
    "nonzero": lambda x: np.where(x == 0, 1, x),
    "no_minus_zero": lambda x: np.where(x == 0, np.abs(x), x),
    "sorted": lambda x: np.sort(x, axis=-1) if x.ndim else x,
    "symmetric": lambda x: np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2),
    "lower_triangular": np.tril,
    "upper_triangular": np.triu,
    "diagonal": lambda x: np.where(np.eye(x.shape[-1], dtype=bool), x, 0),
    "orthogonal": _orthogonal,
    "positive_definite": _positive_definite,
}
_ORDER = (
    "orthogonal", "positive_definite", "real", "finite", "integer", "at_most_one", "nonnegative", "nonpositive",
    "nonzero", "no_minus_zero", "positive", "negative", "sorted", "symmetric", "lower_triangular", "upper_triangular",
    "diagonal",
)  # fmt: skip


def fact_holds(name: str, fact: Any, value: np.ndarray) -> bool:
    """Whether a value has a fact, as far as numbers can tell."""
    if name == "orthogonal":
        n = value.shape[-1]
        return bool(np.allclose(value @ np.conj(np.swapaxes(value, -1, -2)), np.eye(n), atol=1e-4))
    if name == "positive_definite":
        if not np.allclose(value, np.conj(np.swapaxes(value, -1, -2)), rtol=1e-5):
            return False  # a Cholesky factor is made of one triangle only
        try:
            np.linalg.cholesky(value)
        except np.linalg.LinAlgError:
            return False
        return True
    try:
        return bool(fact.of_value(value))
    except (TypeError, ValueError):
        return False
