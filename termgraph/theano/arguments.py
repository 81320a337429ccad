"""theano.tensor functions whose arguments have other names or another order there: `T.sum(input=x)`, `T.var(x, 0, 1)`.

May import the tensor language.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import termgraph.tensor as T
from termgraph.config import config
from termgraph.tensor.variable import is_plain_number
from termgraph.theano.language import round_half_away_from_zero

if TYPE_CHECKING:
    from termgraph.tensor.likes import AxisLike, DTypeLike, Operand, TensorLike
    from termgraph.tensor.variable import Variable


def _said(function: Callable[..., Any], without: str = "", **words: str) -> Callable[..., Any]:
    """A function that is called in Theano's words as well; those in `without` are hints, or may be None only."""
    left_out = dict.fromkeys(without.split())

    @functools.wraps(function)
    def called(*args: Any, **given: Any) -> Any:
        for theirs in [k for k in given if k in words or (k in left_out and (k in _HINTS or given[k] is None))]:
            value = given.pop(theirs)
            if theirs in words:
                given[words[theirs]] = value
        return function(*args, **given)

    return called


_HINTS = ("idx_dtype", "no_zeros_in_input", "opt")  # how, or in which copy, not what

sum = _said(T.sum, input="x")
prod = _said(T.prod, "no_zeros_in_input", input="x")
max_and_argmax = _said(T.max_and_argmax, a="x")
ptp = _said(T.ptp, a="x")
topk = _said(T.topk, "idx_dtype")
sort, argsort = _said(T.sort, "order"), _said(T.argsort, "order")
concatenate = _said(T.concatenate, tensor_list="arrays")
split = _said(T.split, splits_size="indices_or_sections")
ones_like, zeros_like = _said(T.ones_like, "opt", model="x"), _said(T.zeros_like, "opt", model="x")
tri, tril, triu = _said(T.tri, N="n"), _said(T.tril, m="x"), _said(T.triu, m="x")
diag, diagonal = _said(T.diag, v="x"), _said(T.diagonal, a="x")
outer = _said(T.outer, x="a", y="b")
flatten = _said(T.flatten, outdim="ndim")
shape_padleft, shape_padright = _said(T.shape_padleft, t="x"), _said(T.shape_padright, t="x")
shape_padaxis = _said(T.shape_padaxis, t="x")
swapaxes = _said(T.swapaxes, y="x")
compress = _said(T.compress, x="a")
searchsorted = _said(T.searchsorted, x="a")


def mean(
    input: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    op: bool = False,
    keepdims: bool = False,
    acc_dtype: DTypeLike = None,
) -> Variable:
    """The mean over some axes, or all."""
    return T.mean(input, axis, dtype, keepdims, acc_dtype)


def var(
    input: TensorLike, axis: AxisLike = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False
) -> Variable:
    """The variance over some axes, or all; its rounding is corrected in any case."""
    return T.var(input, axis, ddof=ddof, keepdims=keepdims)


def std(
    input: TensorLike, axis: AxisLike = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False
) -> Variable:
    """The standard deviation over some axes, or all."""
    return T.std(input, axis, ddof=ddof, keepdims=keepdims)


def choose(a: TensorLike, choices: Any, out: None = None, mode: str = "raise") -> Variable:
    """An array whose elements are those of the `a`-th choice."""
    if out is not None:
        raise TypeError("choose: out must be None; the result is an array of its own")
    return T.choose(a, choices, mode)


def round(a: TensorLike, mode: str | None = None) -> Variable:
    """The nearest whole number; where two are as near, the even one, or with mode="half_away_from_zero" the larger.

    >>> x = T.dvector("x")
    >>> round(x, "half_away_from_zero").eval({x: [0.5, -2.5, 3.5]})
    array([ 1., -3.,  4.])
    """
    if mode not in (None, "half_to_even", "half_away_from_zero"):
        raise ValueError(f"round: mode is 'half_to_even' or 'half_away_from_zero', not {mode!r}")
    return round_half_away_from_zero(a) if mode == "half_away_from_zero" else T.round(a)


def iround(a: TensorLike, mode: str | None = None) -> Variable:
    """`round`, as int64."""
    return T.cast(round(a, mode), "int64")


def switch(cond: Operand, ift: Operand, iff: Operand) -> Variable:
    """Elements of `ift` where the condition holds, of `iff` elsewhere; of two Python floats in the dtype `floatX`."""
    if all(isinstance(v, float) and is_plain_number(v) for v in (ift, iff)):
        ift, iff = np.asarray(ift, config.floatX), np.asarray(iff, config.floatX)
    return T.switch(cond, ift, iff)


def vertical_stack(*args: TensorLike) -> Variable:
    """Arrays one below the other: joined along the first axis."""
    return T.concatenate(_at_least_two("vertical_stack", args), axis=0)


def horizontal_stack(*args: TensorLike) -> Variable:
    """Matrices side by side: joined along the second axis."""
    return T.concatenate(_at_least_two("horizontal_stack", args), axis=1)


def _at_least_two(name: str, args: tuple[TensorLike, ...]) -> list[TensorLike]:
    if len(args) < 2:
        raise TypeError(f"{name} takes two arrays or more, one argument each, got {len(args)}")
    return list(args)
