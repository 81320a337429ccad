"""value_and_grad: a cost together with its gradients, of a graph or of a Python function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

from termgraph.grad.api import grad
from termgraph.grad.functions import Called
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import TensorVariable, Variable


@overload
def value_and_grad(cost: Variable, wrt: Variable) -> tuple[TensorVariable, TensorVariable]: ...
@overload
def value_and_grad(cost: Variable, wrt: Sequence[Variable]) -> tuple[TensorVariable, list[TensorVariable]]: ...
@overload
def value_and_grad(cost: Callable[..., Any], wrt: int | Sequence[int] = 0) -> Callable[..., tuple[Variable, Any]]: ...
def value_and_grad(cost: Any, wrt: Any = 0) -> Any:
    """`(cost, gradients)` of a scalar; of a function, the function that gives both.

    `cost` is a variable and `wrt` a variable or a list of them, as for `tg.grad`:

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> f = tg.function([x], tg.value_and_grad((x ** 2).sum(), x))
    >>> f(np.array([1.0, 2.0]))
    [array(5.), array([2., 4.])]

    Or `cost` is a Python function of variables and `wrt` says which arguments: a number, or several. Under `tg.jit` it
    takes and gives arrays.

    >>> both = tg.jit(tg.value_and_grad(lambda w, x: ((w * x) ** 2).sum()))
    >>> both(np.array([1.0, 2.0]), np.array([3.0, 1.0]))
    (array(13.), array([18.,  4.]))

    An argument may be a dictionary, tuple or list of variables; so is its gradient then.
    """
    if isinstance(cost, Variable):
        return cost, grad(cost, wrt)
    if not callable(cost):
        raise TypeError(f"value_and_grad takes a scalar variable or a function that gives one, got {cost!r:.60}")
    return _of_function(cost, wrt)


def _of_function(fun: Callable, wrt: int | Sequence[int]) -> Callable:
    numbers = [wrt] if isinstance(wrt, int) else list(wrt)
    if not numbers or not all(isinstance(i, int) for i in numbers):
        raise TypeError(f"value_and_grad of a function: wrt is the number of an argument, or several, got {wrt!r:.60}")

    @functools.wraps(fun)
    def both(*args: TensorLike, **kwargs: Any) -> tuple[Variable, Any]:
        missing = [i for i in numbers if not -len(args) <= i < len(args)]
        if missing:
            raise TypeError(
                f"value_and_grad: argument {missing[0]} is asked for, but the function was called with {len(args)} "
                "positional arguments"
            )
        chosen = {i % len(args): args[i] for i in numbers}
        called = Called("value_and_grad", lambda *new: fun(*_replaced(args, chosen, new), **kwargs), [*chosen.values()])
        found = dict(zip(chosen, called.gradients()))
        gradients = [found[i % len(args)] for i in numbers]
        return called.value(), gradients[0] if isinstance(wrt, int) else gradients

    return both


def _replaced(args: Sequence[Any], chosen: Iterable[int], new: Sequence[Any]) -> list[Any]:
    """The arguments with the chosen ones replaced."""
    instead = dict(zip(chosen, new))
    return [instead.get(i, a) for i, a in enumerate(args)]
