"""Derivatives of Python functions of variables, with JAX's names: jvp, vjp, linearize; and eval_shape.

A function is called once, on variables that stand for its arguments, so that an argument which it also uses from
outside, or which is given twice, is held constant there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from termgraph.grad.api import grad
from termgraph.grad.checks import can_move
from termgraph.grad.products import Lop, Rop
from termgraph.tensor.graph import clone
from termgraph.tensor.nested import LEAF, described, flatten, unflatten
from termgraph.tensor.testvalues import stand_in
from termgraph.tensor.variable import Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.types import TensorType, Type


class Called:
    """A function with the variables it was called on, and what it gave."""

    def __init__(self, who: str, fun: Callable[..., Any], args: Sequence[Any], **kwargs: Any) -> None:
        if not callable(fun) or isinstance(fun, Variable):
            raise TypeError(f"{who} takes a function of variables, got {fun!r:.60}")
        self.who = who
        leaves, self.form = flatten(tuple(args))
        self.given = [as_tensor(v) for _, v in leaves]
        self.inner = [stand_in(v.type.make_variable(v.name), v) for v in self.given]
        found, self.result_form = flatten(fun(*unflatten(self.form, self.inner), **kwargs))
        self.outputs = [as_tensor(v) for _, v in found]

    def placed(self, inner: list[Any]) -> list[Any]:
        """What was made of the variables inside, made of the arguments."""
        return clone(inner, replace=list(zip(self.inner, self.given)), strict=False)

    def value(self) -> Any:
        """What the function gives."""
        return unflatten(self.result_form, self.placed(self.outputs))

    def along(self, directions: Any) -> Any:
        """How the results change when the arguments move so."""
        points = self._points("tangents", directions, self.form)
        moved = [(v, p) for v, p in zip(self.inner, points) if can_move(v.term)]  # whole numbers have no neighbours
        wrt, along = map(list, zip(*moved)) if moved else ([], [])
        found = Rop(self.outputs, wrt, along, disconnected_outputs="ignore")
        return unflatten(self.result_form, self.placed(found))

    def back(self, weights: Any) -> Any:
        """The gradients of the sum of all results, each weighted so: one for each argument, None for whole numbers."""
        points = self._points("cotangents", weights, self.result_form)
        pairs = [(y, p) for y, p in zip(self.outputs, points) if can_move(y.term)]
        outputs, weights = map(list, zip(*pairs)) if pairs else ([], [])
        asked = [v for v in self.inner if can_move(v.term)]
        made = iter(self.placed(Lop(outputs, asked, weights, disconnected_inputs="ignore")))
        return unflatten(self.form, [next(made) if can_move(v.term) else None for v in self.inner])

    def gradients(self) -> Any:
        """The gradients of the number that the function gives: one for each argument."""
        if self.result_form is not LEAF:
            raise TypeError(f"{self.who}: the function must give one number, got {described(self.result_form)}")
        return unflatten(self.form, self.placed(grad(self.outputs[0], self.inner)))

    def _points(self, what: str, values: Any, form: Any) -> list[Any]:
        leaves, given = flatten(values)
        if described(given) != described(form):
            raise TypeError(f"{self.who}: {what} must be nested as {described(form)}, got {described(given)}")
        return [v for _, v in leaves]


def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """`(fun(*primals), how that changes when the primals move by the tangents)`, as `jax.jvp`; see also `tg.Rop`.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x, v = T.dvectors("x", "v")
    >>> y, change = tg.jvp(lambda x: x ** 2, (x,), (v,))
    >>> change.eval({x: [1.0, 2.0], v: [1.0, 0.0]})
    array([2., 0.])
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp: primals and tangents are tuples, of one value for each argument: tg.jvp(f, (x,), (v,))")
    called = Called("jvp", fun, primals)
    return called.value(), called.along(tuple(tangents))


def vjp(fun: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`(fun(*primals), back)`; `back(weights)` gives a gradient for each argument, as `jax.vjp`; see also `tg.Lop`.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x, u = T.dvectors("x", "u")
    >>> y, back = tg.vjp(lambda x: x ** 2, x)
    >>> back(u)[0].eval({x: [1.0, 2.0], u: [1.0, 10.0]})
    array([ 2., 40.])
    """
    called = Called("vjp", fun, primals)
    return called.value(), called.back


def linearize(fun: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """`(fun(*primals), along)`, where `along(*tangents)` is the linear function nearest to `fun`, as `jax.linearize`.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dscalar("x")
    >>> y, along = tg.linearize(T.sin, x)
    >>> float(along(2.0).eval({x: 0.0}))
    2.0
    """
    called = Called("linearize", fun, primals)
    return called.value(), lambda *tangents: called.along(tangents)


@overload
def eval_shape(fun: Callable[..., Variable], *args: Any, **kwargs: Any) -> TensorType: ...
@overload
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The types of what a function gives for such arguments, as `jax.eval_shape`; nothing is computed.

    Arguments are variables, types, arrays or numbers, nested as `fun` takes them.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> tg.eval_shape(T.dot, T.fmatrix("x"), np.zeros((3, 4), "float32"))
    TensorType(float32, (?, 4))
    """
    leaves, form = flatten(args)
    values = [v.make_variable() if isinstance(v, Type) else v for _, v in leaves]
    found, result_form = flatten(fun(*unflatten(form, values), **kwargs))
    types = [as_tensor(v).type for _, v in found]
    return types[0] if result_form is LEAF else unflatten(result_form, types)
