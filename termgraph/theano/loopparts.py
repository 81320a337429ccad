"""theano.scan_module.scan_utils: helpers of those who write loops of their own. May import loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import termgraph.tensor as T
from termgraph.loops.step_results import sort_returned
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.updates import OrderedUpdates
from termgraph.theano import walking


class DEPRECATED_ARG:
    """Marks an argument that is not used any more."""


def get_updates_and_outputs(ls: Any) -> tuple:
    """What a step function returned as (condition, outputs, updates)."""
    outputs, updates, stop = sort_returned(get_updates_and_outputs, ls, None)
    return stop, outputs, OrderedUpdates(updates)


def isNaN_or_Inf_or_None(x: Any) -> bool:
    """Whether a value stands for an unknown number of steps."""
    if x is None:
        return True
    value = getattr(x, "data", x)
    return not isinstance(value, (str, T.Variable)) and bool(np.size(value) == 1 and not np.isfinite(value))


def expand_empty(tensor_var: TensorLike, size: Any) -> Any:
    """The array with so many rows of zeros more."""
    x = T.as_tensor(tensor_var)
    if isinstance(size, int) and size == 0:
        return x
    return T.concatenate([x, T.zeros([size, *[x.shape[d] for d in range(1, x.ndim)]], dtype=x.dtype)])


def reconstruct_graph(inputs: Sequence[Any], outputs: Sequence[Any], tag: str = "") -> tuple[list, list]:
    """A copy of a graph on inputs of its own."""
    fresh = [walking.safe_new(v, tag) for v in inputs]
    return fresh, T.clone(list(outputs), list(zip(inputs, fresh, strict=True)))


def forced_replace(out: Any, x: TensorLike, y: TensorLike) -> Any:
    """The expression with y in place of x."""
    return None if out is None else T.clone(out, [(x, y)], strict=False)


def infer_shape(outs: Sequence[Any], inputs: Sequence[Any], input_shapes: Sequence[Any]) -> list:
    """The lengths of expressions, with those of inputs put in."""
    pairs = [(v.shape, T.stack(list(s))) for v, s in zip(inputs, input_shapes, strict=True) if s is not None]
    return [T.clone(o.shape, pairs, strict=False) for o in outs]
