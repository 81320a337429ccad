"""Values of terms at chosen points, keys that group terms of equal values, and the closer look at two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from termgraph.rules.discovery.vocabulary import COMPARISONS, Vocabulary, input_of
from termgraph.terms.dtypes import kind_of
from termgraph.terms.evaluate import apply_meaning
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType

_ENOUGH = 0.25  # share of the core points at which terms are numbers that are looked at
_CORE, _AROUND = 48, 64  # points where most functions are defined, and points of all signs
_MATRICES = 3  # worlds of each sort, where terms are computed from whole matrices
_TRUTHS = 12  # worlds of truth values: few of them tell little
_TIES = 0.15  # share of the places at which an input has the value of the first one
_LARGE = 100  # half of the whole numbers are below: quotients and remainders of small ones are hardly ever large
_NOWHERE = 0.1  # share of the places around the core that are NaN
_OFFSETS = (0.0, -4.0, 4.0)  # matrices of numbers of all signs, and such of one sign
_ODD = 0.7310585786300049  # no value that terms usually have is a round number times this
_CLOSE, _TINY = 1e-8, 1e-11
EQUAL, INSIDE, OUTSIDE, DIFFERENT = "equal", "inside", "outside", "different"
_SIGNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "positive": lambda v: np.abs(v) + (v == 0), "nonnegative": np.abs, "negative": lambda v: -np.abs(v) - (v == 0),
    "nonpositive": lambda v: -np.abs(v), "nonzero": lambda v: v + (v == 0),
}  # fmt: skip


class Values:
    """What a term is worth at the points: arrays of each world, the first of which are the core."""

    __slots__ = ("around", "core")

    def __init__(self, core: tuple[Any, ...], around: tuple[Any, ...]) -> None:
        self.core, self.around = core, around


class Points:
    """The worlds: choices of values for all inputs. In the core all numbers are positive, around it they are not."""

    def __init__(
        self, vocabulary: Vocabulary, seed: int = 0, facts: Mapping[Any, Sequence[str]] = MappingProxyType({})
    ) -> None:
        """`facts` of single inputs are in place of those of the vocabulary."""
        self.facts = {input_of(t): facts.get(input_of(t), vocabulary.facts) for t in vocabulary.leaves}
        rng = np.random.default_rng(seed)
        self.inputs = [input_of(t) for t in vocabulary.leaves]
        self.decides = not {"any", "all"}.isdisjoint(vocabulary.names)
        self.compares = not COMPARISONS.isdisjoint(vocabulary.names)
        truths = self.decides or any(kind_of(x.type.np_dtype) == "b" for x in self.inputs)
        worlds = 1 if vocabulary.elementwise else _TRUTHS if truths else _MATRICES
        self.core = [self._world(rng, _CORE, True) for _ in range(worlds)]
        self.around = [self._world(rng, _AROUND, False, _OFFSETS[i % len(_OFFSETS)]) for i in range(worlds)]

    def _world(self, rng: np.random.Generator, n: int, core: bool, offset: float = 0.0) -> dict[Any, Any]:
        share = rng.uniform(0.05, 0.95)
        drawn = {x: self._drawn(rng, x, n, core, offset, share) for x in self.inputs}
        first = drawn[self.inputs[0]]
        for x, v in drawn.items():
            if not core and v is not first and v.dtype == first.dtype and v.shape == first.shape:
                drawn[x] = np.where(rng.random(v.shape) < _TIES, first, v)
        return drawn

    def _drawn(
        self, rng: np.random.Generator, x: AnyTerm, n: int, core: bool, offset: float, share: float
    ) -> np.ndarray:
        type_: TensorType = x.type
        matrices = any(i.type.ndim > 1 for i in self.inputs)
        shape = (3,) * type_.ndim if matrices else (n,) * type_.ndim
        kind = kind_of(type_.np_dtype)
        if kind == "b":
            return rng.random(shape) < (share if matrices else 0.5)
        if kind in "iu":
            low = 1 if core else 0 if kind == "u" else -9
            small, large = rng.integers(low, 10, shape), rng.integers(low, _LARGE, shape)
            return self._with_facts(x, np.where(rng.random(shape) < 0.5, small, large)).astype(type_.np_dtype)
        if core:
            return self._with_facts(x, rng.uniform(0.1, 3.0, shape)).astype(type_.np_dtype)
        mixed = np.where(rng.random(shape) < 0.4, rng.uniform(-1, 1, shape), rng.normal(size=shape) * 2)
        whole = rng.integers(-3 if offset <= 0 else 0, 4 if offset >= 0 else 1, shape).astype(float)
        found = np.where(rng.random(shape) < 0.2, whole, mixed + offset)
        if self.decides:  # where few numbers are zero, some number of a row is not, and hardly ever all are
            found = np.where(rng.random(shape) < share, 0.0, found)
        if self.compares:  # comparisons answer for NaN, too
            found = np.where(rng.random(shape) < _NOWHERE, np.nan, found)
        return self._with_facts(x, found).astype(type_.np_dtype)

    def _with_facts(self, x: AnyTerm, v: np.ndarray) -> np.ndarray:
        for fact in self.facts[x]:
            v = _SIGNS[fact](v) if fact in _SIGNS else v
        return v

    def of(self, t: AnyTerm, args: tuple[Values, ...]) -> Values | None:
        """The values of a term from those of its operands; None if it cannot be computed."""
        try:
            with np.errstate(all="ignore"):
                return Values(
                    tuple([self._one(t, w, [a.core[i] for a in args]) for i, w in enumerate(self.core)]),
                    tuple([self._one(t, w, [a.around[i] for a in args]) for i, w in enumerate(self.around)]),
                )
        except Exception:  # an op refuses values in its own way, such as a singular matrix
            return None

    def _one(self, t: Any, world: dict[Any, Any], args: list[Any]) -> Any:
        if t.op is CONST:
            return t.value
        return apply_meaning(t, args) if args else world[t]

    def leaf(self, t: AnyTerm) -> Values:
        """The values of an input, a number, or an input of which something is assumed."""
        made = self.of(input_of(t), ())
        assert made is not None
        return made


def key_of(t: AnyTerm, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """What terms of (nearly) the same values have in common."""
    return (t.type, *[_rounded(v) for v in arrays])


def _rounded(v: np.ndarray) -> bytes:
    if kind_of(v.dtype) not in "fc":
        return v.tobytes()
    with np.errstate(all="ignore"):
        scaled = np.where(np.abs(v) < 1e-10, 0.0, v) * _ODD
        part, power = np.frexp(scaled)
        number = np.isfinite(v)  # of others frexp gives any power
        text: bytes = np.where(number, np.round(part * 2**22), 0).astype(np.int64).tobytes()
        text += np.where(number, power, 0).tobytes()
    infinite: np.ndarray = np.where(np.isinf(v), np.sign(v), 0)  # no sign of a NaN, which functions set as they like
    nowhere: np.ndarray = np.isnan(v)
    return text + nowhere.tobytes() + infinite.tobytes()


def same_everywhere(values: Values, operands: Sequence[Values] = ()) -> float | None:
    """The number that a term is at all points, if it is one; differences of large operands are less exact."""
    arrays = [*values.core, *values.around]
    if kind_of(arrays[0].dtype) == "c":
        return None
    scales = [_scale(v, [[*o.core, *o.around][i] for o in operands]) for i, v in enumerate(arrays)]
    with np.errstate(all="ignore"):
        first = float(arrays[0].flat[int(np.argmin(scales[0]))]) if arrays[0].size else np.nan
        if not np.isfinite(first):
            return None
        near = all(np.all(np.isnan(v) | (np.abs(v - first) <= _TINY * s)) for v, s in zip(arrays, scales, strict=True))
    return (round(first) if abs(first - round(first)) <= _TINY else first) if near else None


def _scale(value: np.ndarray, operands: list[np.ndarray]) -> np.ndarray:
    """How large the operands are, element by element, and 1 at least."""
    out = np.ones(value.shape)
    for v in operands:
        if v.shape in (value.shape, ()) and kind_of(v.dtype) in "fiu":
            out = np.fmax(out, np.minimum(np.abs(v.astype(np.float64)), 1e6))
    return out


def mostly_finite(values: Values) -> bool:
    """Whether a term is a number at enough of the core points: elsewhere nothing can be learned from it."""
    with np.errstate(all="ignore"):
        return all(kind_of(v.dtype) not in "fc" or np.isfinite(v).mean() >= _ENOUGH for v in values.core)


def agreement(left: Values, right: Values) -> str:
    """EQUAL; INSIDE: equal where the left side is a number; OUTSIDE: where the right one is; else DIFFERENT."""
    pairs = [*zip(left.core, right.core, strict=True), *zip(left.around, right.around, strict=True)]
    found = {_agree(a, b) for a, b in pairs} - {EQUAL}
    return EQUAL if not found else found.pop() if len(found) == 1 else DIFFERENT


def _agree(a: np.ndarray, b: np.ndarray) -> str:
    if a.dtype != b.dtype or a.shape != b.shape:
        return DIFFERENT
    if kind_of(a.dtype) not in "fc":
        return EQUAL if np.array_equal(a, b) else DIFFERENT
    lost, gained = np.isnan(a), np.isnan(b)
    both = ~(lost | gained)
    x, y = a[both], b[both]
    with np.errstate(all="ignore"):
        scale = float(np.max(np.abs(x[np.isfinite(x)]), initial=0.0))
        near = (x == y) | (np.abs(x - y) <= _CLOSE * np.abs(x) + _TINY * max(scale, 1.0))
    if not both.any() or not near.all():
        return DIFFERENT
    if (lost & ~gained).any():
        return DIFFERENT if (gained & ~lost).any() else INSIDE
    return OUTSIDE if (gained & ~lost).any() else EQUAL
