"""Is a stabilized form at least as accurate? Both sides in single precision against the left side in double."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.rules.checking.draw import Retry
from termgraph.rules.checking.examples import Examples, RuleRaised
from termgraph.rules.checking.values import Special
from termgraph.terms.errors import GraphError
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import CONST
from termgraph.terms.term import Const, Input, mk
from termgraph.terms.traverse import free_inputs, rebuild
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from termgraph.rules.definition import Rule

_ULPS, _WORST = 4.0, 1e6
_AGREE = 1e-7  # where both sides differ more than this in double precision, the left one is no measure
_GROUPS = ((), (), (710.0, -745.0), (40.0, -40.0), (9.0, -9.0), (3e19, -2e-20), (1e-4, -1e-3), (1e-12, -1e-12))
_SPECIALS = tuple([tuple([Special(value, "") for value in group]) for group in _GROUPS])
_BAD = (ArithmeticError, ValueError, TypeError, IndexError, GraphError)


def no_less_accurate(rule: Rule, samples: int = 16) -> bool:
    """Whether the right side's errors are smaller than the left side's, on average and at the worst, or all the same,

    which they are where a processor's own functions compute both sides by one formula: nothing speaks against it.
    """
    maker = Examples(rule, 1, dtypes=("float64",))
    judged = 0
    lefts: list[float] = []
    rights: list[float] = []
    instances = rule.instances()
    for i in range(samples):
        try:
            found = maker.draw(instances[i % len(instances)])[:1]
        except RuleRaised:
            return False
        for example in found:
            if example.before.type.dtype == "float64":
                pairs = [(min(left, _WORST), min(right, _WORST)) for left, right in _errors(example)]
                judged += len(pairs)
                lefts += [left for left, right in pairs if left != right]
                rights += [right for left, right in pairs if left != right]
    if not lefts:
        return judged > 0
    better = np.mean(lefts) > 0.05 and np.mean(rights) <= 0.85 * np.mean(lefts)
    return bool(better and max(rights) <= max(1.1 * max(lefts), _ULPS))


def _errors(example: Any) -> Iterator[tuple[float, float]]:
    """Errors of both sides in units of the last place of single precision, for each choice of values."""
    before, after = example.before, example.after
    narrow = {leaf: _narrow(leaf) for leaf in free_inputs([before])}
    try:
        sides = rebuild([before, after], lambda t, args: _in_single(t, args, narrow))
    except _BAD:
        return
    for specials in _SPECIALS:
        try:
            values = {k: v for k, v in example.draw.values(specials).items() if k in narrow}
            small = {narrow[k]: _as_single(v, narrow[k].type.np_dtype) for k, v in values.items()}
            exact = {k: small[narrow[k]].astype(k.type.np_dtype) for k in values}
            with np.errstate(all="ignore"):
                truth, check = evaluate([before, after], exact)
                left, right = evaluate(sides, small)
        except (*_BAD, Retry):
            continue
        if left.dtype == np.float32 and right.dtype == np.float32:
            with np.errstate(all="ignore"):
                sure = np.abs(check - truth) <= _AGREE * np.abs(truth)
            yield _ulps(left, truth, sure), _ulps(right, truth, sure)


def _as_single(v: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Values that mean in single precision what they mean in double: the thresholds of exp among them."""
    if dtype != np.float32:
        return v.astype(dtype)
    return np.where(v == 710.0, 89.0, np.where(v == -745.0, -104.0, v)).astype(dtype)


def _narrow(leaf: Any) -> Any:
    if leaf.type.dtype != "float64":
        return leaf
    return Input(leaf.name, TensorType.of("float32", leaf.type.shape))


def _in_single(t: Any, args: tuple[Any, ...], narrow: dict[Any, Any]) -> Any:
    if t in narrow:
        return narrow[t]
    if t.op is CONST:
        return Const(t.value.astype(np.float32)) if t.value.dtype == np.float64 else t
    if not args:
        return t
    op = t.op
    if op.params.get("dtype") == "float64":
        op = op.bind(dtype="float32")
    return mk(op, args)


def _ulps(got: np.ndarray, exact: np.ndarray, sure: np.ndarray) -> float:
    """The largest error in units of the last place, where the exact value is known and fits single precision."""
    got, exact, sure = np.broadcast_arrays(got, exact, sure)  # a side may lack a broadcast that fitting would restore
    with np.errstate(all="ignore"):
        fine = sure & np.isfinite(exact.astype(np.float32))
        if not fine.any():
            return 0.0
        unit = np.spacing(np.maximum(np.abs(exact[fine]), 1e-30).astype(np.float32)).astype(np.float64)
        errors = np.abs(got[fine].astype(np.float64) - exact[fine]) / unit
    return float(np.max(np.nan_to_num(errors, nan=_WORST, posinf=_WORST)))
