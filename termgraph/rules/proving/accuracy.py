"""Is a stabilized form at least as accurate? Both sides in single precision against the left side in double.

May import terms and the drawing tools.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules.proving.draw import Retry
from termgraph.rules.proving.examples import Examples, RuleRaised
from termgraph.rules.proving.values import Special
from termgraph.terms.errors import GraphError
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import CONST
from termgraph.terms.term import Const, Input, mk
from termgraph.terms.traverse import free_inputs, rebuild
from termgraph.terms.types import TensorType

_ULPS, _WORST = 4.0, 1e6
_SPECIALS: tuple = ((), (), (Special(710.0, "huge"), Special(-745.0, "huge")), (Special(30.0, ""), Special(-30.0, "")))
_BAD = (ArithmeticError, ValueError, TypeError, IndexError, GraphError)


def no_less_accurate(rule: Any, samples: int = 40) -> bool:
    """Whether the right side's errors are smaller than the left side's, on average and at the worst."""
    maker = Examples(rule, 1)
    lefts: list[float] = []
    rights: list[float] = []
    instances = rule.instances()
    for i in range(samples):
        try:
            found = maker.draw(instances[i % len(instances)])[:1]
        except RuleRaised:
            return False
        for example in found:
            for specials in _SPECIALS:
                errors = _errors(example, specials)
                if errors is not None:
                    lefts.append(min(errors[0], _WORST))
                    rights.append(min(errors[1], _WORST))
    if not lefts:
        return False
    better = np.mean(lefts) > 0.05 and np.mean(rights) <= 0.85 * np.mean(lefts)
    return bool(better and max(rights) <= max(max(lefts), _ULPS))


def _errors(example: Any, specials: tuple) -> tuple[float, float] | None:
    """Errors of both sides in units of the last place of single precision."""
    before, after = example.before, example.after
    if before.type.dtype != "float64":
        return None
    narrow = {leaf: _narrow(leaf) for leaf in free_inputs([before])}
    try:
        values = {k: v for k, v in example.draw.values(specials).items() if k in narrow}
        small = {narrow[k]: _as_single(v, narrow[k].type.np_dtype) for k, v in values.items()}
        exact = {k: small[narrow[k]].astype(k.type.np_dtype) for k in values}
        wide_left = evaluate([before], exact)[0]
        left32, right32 = rebuild([before, after], lambda t, args: _in_single(t, args, narrow))
        with np.errstate(all="ignore"):
            left, right = evaluate([left32, right32], small)
    except (*_BAD, Retry):
        return None
    if left.dtype != np.float32 or right.dtype != np.float32:
        return None
    return _ulps(left, wide_left), _ulps(right, wide_left)


def _as_single(v: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Values that mean in single precision what they mean in double: the thresholds of exp among them."""
    if dtype != np.float32:
        return v.astype(dtype)
    return np.where(v == 710.0, 89.0, np.where(v == -745.0, -104.0, v)).astype(dtype)


def _narrow(leaf: Any) -> Any:
    if leaf.type.dtype != "float64":
        return leaf
    return Input(leaf.name, TensorType.of("float32", leaf.type.shape))


def _in_single(t: Any, args: tuple, narrow: dict) -> Any:
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


def _ulps(got: np.ndarray, exact: np.ndarray) -> float:
    """The largest error in units of the last place, where the exact value fits single precision."""
    with np.errstate(all="ignore"):
        fine = np.isfinite(exact.astype(np.float32))
        if not fine.any():
            return 0.0
        unit = np.spacing(np.maximum(np.abs(exact[fine]), 1e-30).astype(np.float32)).astype(np.float64)
        errors = np.abs(got[fine].astype(np.float64) - exact[fine]) / unit
    return float(np.max(np.nan_to_num(errors, nan=_WORST, posinf=_WORST)))


__all__ = ["no_less_accurate"]
