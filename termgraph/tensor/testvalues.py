"""Test values: expressions computed while they are built, so that a wrong shape shows at the line that made it.

Off unless `config.compute_test_value` says otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.config import config
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import Apply, Constant, Variable
from termgraph.terms.evaluate import apply_meaning
from termgraph.terms.op import CONST
from termgraph.terms.traverse import parts_first


class MissingTestValue(AttributeError):
    """A variable that a test value is computed from has none itself."""


def get_test_value(v: Any) -> np.ndarray:
    """The test value of a variable: given in `v.tag.test_value`, or computed from those of its inputs.

    >>> import termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> x.tag.test_value = [1.0, 2.0]
    >>> get_test_value(x * 2)
    array([2., 4.])
    """
    if not isinstance(v, Variable):
        return v
    for u in parts_first([v], lambda u: () if _known(u) else _inputs(u)):
        if not _known(u):
            _compute(u)
    return _value(v)


def note_test_value(outputs: list) -> None:
    """Compute the test values of variables just made, and react as the flag says where something is missing."""
    reaction = config.compute_test_value
    if reaction == "off":
        return
    try:
        for v in outputs:
            get_test_value(v)
    except MissingTestValue as err:
        _react(err, reaction)


def _react(err: MissingTestValue, reaction: str) -> None:
    if reaction == "raise":
        raise err
    if reaction == "warn":
        warnings.warn(str(err), stacklevel=5)


def stand_in(leaf: Variable, source: Any, axis: int | None = None) -> Any:
    """What a body sees, with the test value of what it stands for; with `axis`, of the first entry along that axis."""
    leaf.term.inner = True
    reaction = config.compute_test_value
    if reaction == "off" or _known(leaf):
        return leaf
    try:
        value = get_test_value(source)
    except MissingTestValue as err:
        _react(err, reaction)
        return leaf
    leaf.tag.test_value = value if axis is None else _first(value, axis)
    return leaf


def _first(value: Any, axis: int) -> Any:
    """The first entry along an axis; zeros where there is none."""
    return np.take(value, 0, axis) if value.shape[axis] else np.zeros(np.delete(value.shape, axis), value.dtype)


def _known(v: Variable) -> bool:
    return isinstance(v, Constant) or v.term.op is CONST or _container(v) is not None or _tagged(v)


def _tagged(v: Variable) -> bool:
    return v._tag is not None and getattr(v._tag, "test_value", None) is not None


def _container(v: TensorLike) -> Any:
    return getattr(v, "container", None)


def _value(v: Any) -> np.ndarray:
    if _tagged(v):
        return v.type.filter(v.tag.test_value, allow_downcast=True)
    container = _container(v)
    return container.value if container is not None else v.term.value


def _inputs(v: Variable) -> Sequence[Variable]:
    owner = v._owner
    if owner is None:
        name = v.name or f"<{v.type}>"
        raise MissingTestValue(
            f"no test value for {name} (made at {v.where}): set {v.name or 'variable'}.tag.test_value, or "
            "config.compute_test_value = 'off'"
        )
    if owner.__class__ is Apply or getattr(v, "_a", None) is None:  # a view of a term makes its Apply when asked
        return v.owner.inputs
    return v._a if v._b is None else (v._a, v._b)


def _compute(v: Any) -> None:
    """Apply the op that makes a variable to the test values of its inputs."""
    own = v.owner if getattr(v, "_a", None) is None else v._owner
    op = own.op if own.__class__ is Apply else own
    whole = v.term if v.term.op is op else v.term.args[0]  # one of several results is a projection of the whole
    # Numbers are computed with as they stand in the term, without the dimensions that their variables have.
    values = [t.value if t.op is CONST else _value(i) for t, i in zip(whole.args, _inputs(v), strict=True)]
    result = apply_meaning(whole, values)
    v.tag.test_value = result if whole is v.term else result[v.index]


__all__ = ["get_test_value"]
