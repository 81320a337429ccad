"""`tg.vmap`: a function of one example, applied to many without a loop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from termgraph.batching.lanes import length, reorder, spread, to_front
from termgraph.batching.lift import lifted_terms
from termgraph.loops.keep_last import last_step
from termgraph.tensor.bipartite import ancestors, variables_of
from termgraph.tensor.nested import flatten, unflatten
from termgraph.tensor.testvalues import note_test_value, stand_in
from termgraph.tensor.variable import Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.shaping import specify_shape
from termgraph.terms.traverse import region
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from termgraph.tensor.likes import AxisLike, TensorLike
    from termgraph.terms.term import AnyTerm

R = TypeVar("R")


def vmap(fn: Callable[..., R], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., R]:
    """A function that applies `fn` to each slice of its arguments along `in_axes`, and stacks the results.

    `fn` takes and gives variables (or nested tuples, lists and dictionaries of them) for one example; it is called
    once, and what it builds is turned into the same operations with one more dimension. `in_axes` says along which
    dimension the examples lie: one number for all arguments or one for each; None for those that all examples share.
    Results are stacked along `out_axes`, also one number or one for each result. Calls may be nested.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> W, x = T.dmatrix("W"), T.dmatrix("x")
    >>> layer = lambda v: T.tanh(W @ v).sum()
    >>> losses = tg.vmap(layer)(x)
    >>> slopes = tg.vmap(lambda v: tg.grad(layer(v), v))(x)
    >>> f = tg.function([W, x], [losses, slopes])
    >>> [a.shape for a in f(np.ones((2, 3)), np.ones((5, 3)))]
    [(5,), (5, 3)]
    """
    if not callable(fn):
        raise TypeError(f"vmap takes a function, got {fn!r:.60}")

    @functools.wraps(fn)
    def mapped(*args: TensorLike) -> Any:
        return _Mapping(fn, args, in_axes, out_axes).result()

    return mapped


class _Mapping:
    """One call of a mapped function."""

    def __init__(self, fn: Callable, args: tuple, in_axes: Any, out_axes: Any) -> None:
        self.fn, self.out_axes = fn, out_axes
        leaves, self.form = flatten(args)
        self.args = [v if isinstance(v, Variable) else as_tensor(v) for _, v in leaves]
        axes = _axes_of(args, in_axes)
        labels = [f"argument {path[1:].replace(']', '', 1)}" for path, _ in leaves]
        self.axes = [_checked(axis, v, what) for axis, v, what in zip(axes, self.args, labels)]
        self.lifted = [(v, a, what) for v, a, what in zip(self.args, self.axes, labels) if a is not None]
        if not self.lifted:
            raise ValueError("vmap: no argument has examples to map over: each of in_axes is None")
        _same_number(self.lifted)
        alone = next((what for v, a, what in self.lifted if v.type.shape[a] == 1), None)
        if alone is not None:
            self.args = [_one(v, a, what, alone) for v, a, what in zip(self.args, self.axes, labels)]

    def result(self) -> Any:
        """What the mapped function returns."""
        inner = [_example(v, a) for v, a in zip(self.args, self.axes)]
        returned, form = flatten(self.fn(*unflatten(self.form, inner)))
        outs = [v if isinstance(v, Variable) else as_tensor(v) for _, v in returned]
        n = _number(self.lifted)
        given = {new.term: to_front(v.term, a) for v, a, new in zip(self.args, self.axes, inner) if a is not None}
        made: dict[Any, Any] = {}
        # what is read in the last row only is a final value, which there is also where examples end at different steps
        terms, _ = last_step(inline_calls([v.term for v in outs]))
        lifted = lifted_terms(terms, given, n, made)
        axes = _axes_of(unflatten(form, outs) if form is not None else (), self.out_axes, single=True)
        terms = [_placed(spread(v, n), axis) for v, axis in zip(lifted, axes)]
        found = self._variables(terms, outs, made)
        note_test_value(found)
        return unflatten(form, found)

    def _variables(self, terms: list[Any], outs: list[Variable], made: dict) -> list[Variable]:
        """Variables for the new terms; each knows the line of `fn` that it comes from."""
        old = {v.term: v for v in ancestors(outs)}
        leaves = {v.term: v for v in ancestors(self.args)} | {t: v for t, v in old.items() if not t.args}
        sites = {new: old[t].site for new, t in made.items() if t in old}
        for new, site in list(sites.items()):  # a product of rows became a product and a sum: both are from that line
            parts, _ = region(new.args, lambda t: t.args and not (t in sites or t in made or t in leaves))
            sites.update(dict.fromkeys(parts, site))
        return variables_of(terms, leaves, sites=sites)


def _axes_of(value: object, axes: AxisLike, single: bool = False) -> list[int | None]:
    """The axis of each leaf: one for all, or one for each argument (or result)."""
    leaves, _ = flatten(value)
    if axes is None or isinstance(axes, int):
        return [axes] * len(leaves)
    what = "out_axes" if single else "in_axes"
    items = (
        list(value.values())
        if isinstance(value, dict)
        else list(value)
        if isinstance(value, (tuple, list))
        else [value]
    )
    if not isinstance(axes, Sequence) or len(axes) != len(items):
        raise ValueError(f"vmap: {what} must be a number, None, or one for each of the {len(items)}, got {axes!r}")
    return [axis for item, axis in zip(items, axes) for _ in flatten(item)[0]]


def _checked(axis: int | None, v: Variable, what: str) -> int | None:
    if axis is None:
        return None
    if not isinstance(v.type, TensorType):
        raise TypeError(f"vmap: {what} is no array but a {v.type}; give it None in in_axes")
    if not -v.type.ndim <= axis < v.type.ndim:
        raise ValueError(
            f"vmap: {what} has {v.type.ndim} dimensions ({v.type}), so there is no axis {axis}; in_axes=None is for "
            "arguments that all examples share"
        )
    return axis % v.type.ndim


def _same_number(lifted: list[tuple[Variable, int, str]]) -> None:
    known = [(v.type.shape[a], what, a) for v, a, what in lifted if v.type.shape[a] is not None]
    for n, what, a in known[1:]:
        if n != known[0][0]:
            first = known[0]
            raise ShapeError(f"vmap: {first[1]} has {first[0]} examples (axis {first[2]}), {what} has {n} (axis {a})")


def _one(v: Variable, axis: int | None, what: str, alone: str) -> Any:
    """An argument that must have one example, because another has: a length of 1 would go with any number of them."""
    if axis is None or v.type.shape[axis] is not None:
        return v
    told = f"vmap: {what} has {{0}} examples (axis {axis}), {alone} has {{1}}"
    return specify_shape(v, 1, known=tuple([d == axis for d in range(v.type.ndim)]), told=told)


def _number(lifted: list[tuple[Variable, int, str]]) -> AnyTerm:
    """The number of examples: a known one if there is one."""
    v, a, _ = next((x for x in lifted if x[0].type.shape[x[1]] is not None), lifted[0])
    return length(v.term, a)


def _example(v: Variable, axis: int | None) -> Variable:
    if axis is None:
        return v
    shape = v.type.shape[:axis] + v.type.shape[axis + 1 :]
    return stand_in(TensorType.of(v.type.dtype, shape).make_variable(v.name), v, axis)


def _placed(x: Any, axis: int | None) -> Any:
    """The lanes where `out_axes` wants them."""
    if axis is None:
        raise ValueError("vmap: out_axes=None is not supported; take one of the equal results instead: result[0]")
    ndim = x.type.ndim
    if not -ndim <= axis < ndim:
        raise ValueError(f"vmap: a result has {ndim} dimensions, so out_axes={axis} is out of range")
    axis %= ndim
    order = list(range(1, ndim))
    order.insert(axis, 0)
    return reorder(x, order)
