"""`T.apply_along_axis` and `T.vectorize`: functions of rows or of numbers, mapped over arrays by `vmap`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection
from typing import Any, TypeVar, overload

from termgraph.loops.vmap import vmap
from termgraph.tensor.creation import zeros
from termgraph.tensor.lengths import lengths
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.nested import flatten, unflatten
from termgraph.tensor.shaping import broadcast_shape, broadcast_to, moveaxis
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops.shapes import normal_axis

R = TypeVar("R")
CORE = re.compile(r"\(\s*((?:\w+\s*,\s*)*\w+)?\s*,?\s*\)")


def apply_along_axis(func1d: Callable, axis: int, arr: TensorLike, *args: Any, **kwargs: Any) -> TensorVariable:
    """What a function makes of each vector along an axis: its result's dimensions stand where the axis was.

    `func1d` is called once, with a vector variable and the other arguments.

    >>> import termgraph.tensor as T
    >>> T.apply_along_axis(lambda v: v - v.mean(), 0, [[1.0, 2.0], [3.0, 6.0]]).eval()
    array([[-1., -2.],
           [ 1.,  2.]])
    """
    x = as_tensor(arr)
    if not callable(func1d):
        raise TypeError(f"apply_along_axis takes a function of vectors, got {func1d!r:.60}")
    if not x.ndim:
        raise ValueError("apply_along_axis: an array of no dimensions has no axis")
    axis = normal_axis(axis, x.ndim)
    mapped: Callable = lambda v: as_tensor(func1d(v, *args, **kwargs))  # noqa: E731
    for _ in range(x.ndim - 1):
        mapped = vmap(mapped)
    found = mapped(moveaxis(x, axis, -1))
    own = range(x.ndim - 1, found.ndim)
    return moveaxis(found, list(own), [axis + i for i in range(len(own))])


@overload
def vectorize(
    pyfunc: Callable[..., R], signature: str | None = None, *, excluded: Collection[int | str] = ()
) -> Callable[..., R]: ...
@overload
def vectorize(
    pyfunc: None = None, signature: str | None = None, *, excluded: Collection[int | str] = ()
) -> Callable[[Callable[..., R]], Callable[..., R]]: ...
def vectorize(
    pyfunc: Callable | None = None, signature: str | None = None, *, excluded: Collection[int | str] = ()
) -> Callable:
    """A function of numbers made one of arrays: arguments broadcast, and `pyfunc` is applied to each of their elements.

    With a `signature` such as "(n,m),(m)->(n)" it is a function of arrays of these dimensions, the last ones of each
    argument. Arguments whose number or name is in `excluded` are given as they are. Without `pyfunc` a decorator.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> dot = T.vectorize(lambda a, b: T.dot(a, b), signature="(n),(n)->()")
    >>> dot(T.ones((2, 1, 3)), T.ones((4, 3))).eval().shape
    (2, 4)
    """
    if pyfunc is None:
        return functools.partial(vectorize, signature=signature, excluded=excluded)
    if not callable(pyfunc):
        raise TypeError(f"vectorize takes a function, got {pyfunc!r:.60}")
    cores = None if signature is None else _cores(signature)

    @functools.wraps(pyfunc)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        whole = {k: v for k, v in kwargs.items() if k in excluded}
        named = [k for k in kwargs if k not in excluded]
        open_ = [i for i in range(len(args)) if i not in excluded]
        given = [args[i] for i in open_] + [kwargs[k] for k in named]

        def call(*values: Any) -> Any:
            every = list(args)
            for i, v in zip(open_, values):
                every[i] = v
            return pyfunc(*every, **dict(zip(named, values[len(open_) :])), **whole)

        return _each(call, given, cores[0] if cores else [()] * len(given), cores[1] if cores else None)

    return mapped


def _cores(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The names of the dimensions of each argument, and of each result."""
    sides = signature.split("->")
    found = [[tuple(re.findall(r"\w+", core)) for core in CORE.findall(side)] for side in sides]
    spelled = [",".join(["(" + ",".join(core) + ")" for core in side]) for side in found]
    if len(sides) != 2 or spelled != [re.sub(r"\s", "", side) for side in sides]:
        raise ValueError(f"vectorize: a signature reads like (n,m),(m)->(n), got {signature!r}")
    return found[0], found[1]


def _each(call: Callable, given: list[Any], cores: list[tuple[str, ...]], results: list | None) -> Any:
    """`call` mapped over what stands before the last dimensions of its arguments."""
    values = [as_tensor(v) for v in given]
    if len(values) != len(cores):
        raise TypeError(f"vectorize: the signature has {len(cores)} arguments, {len(values)} are given")
    for i, (v, core) in enumerate(zip(values, cores)):
        if v.ndim < len(core):
            raise ValueError(f"vectorize: argument {i} must have the dimensions ({', '.join(core)}), got {v.type}")
    outer = [lengths(v)[: v.ndim - len(core)] for v, core in zip(values, cores)]
    if not any(outer):
        return _checked(call(*values), results)
    around = broadcast_shape(*[zeros(o) for o in outer if o])
    alike = [broadcast_to(v, [*around, *lengths(v)[len(o) :]]) if o else v for v, o in zip(values, outer)]
    mapped = call
    for _ in around:
        mapped = vmap(mapped, in_axes=tuple(0 if o else None for o in outer))
    found = mapped(*alike)
    return _checked(found, results, len(around))


def _checked(found: Any, results: list | None, around: int = 0) -> Any:
    """The results, which must have the dimensions that the signature says."""
    leaves, form = flatten(found)
    outs = [as_tensor(v) for _, v in leaves]
    if results is not None and [v.ndim - around for v in outs] != [len(core) for core in results]:
        told = ", ".join(f"({','.join(core)})" for core in results)
        raise ValueError(
            f"vectorize: the signature says {told} of the results, which have "
            f"{', '.join(str(v.ndim - around) for v in outs)} dimensions"
        )
    return unflatten(form, outs)
