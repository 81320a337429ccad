"""Goals about dtypes and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules import goal
from termgraph.rules.shape_facts import increasing_ops
from termgraph.terms.dtypes import is_bfloat16
from termgraph.terms.op import CONST
from termgraph.terms.ops.elementwise import cast, loop_dtypes
from termgraph.terms.term import Const


@goal("iio", some="{0}.op is CONST")
def constants_in_loop_dtype(f: Any, xs: tuple) -> Any:
    """The operands with constants in the dtype in which the operator computes, so that x * 2 and x * 2.0 are one."""
    first = xs[0].type.dtype
    for x in xs:
        if x.type.dtype != first:
            break
    else:
        return None
    if f.family is cast or not any(x.op is CONST for x in xs):
        return None
    dtypes = tuple([x.type.np_dtype for x in xs])
    loop = loop_dtypes(f, dtypes)
    out = tuple([_converted(x, d) for x, d in zip(xs, loop)])
    if out == xs or loop_dtypes(f, tuple([x.type.np_dtype for x in out])) != loop:
        return None
    return out


def _converted(x: Any, dtype: np.dtype) -> Any:
    if x.op is not CONST or x.type.np_dtype == dtype or dtype.kind == "b":
        return x
    with np.errstate(all="ignore"):
        value = x.value.astype(dtype)
        back = value.astype(x.value.dtype) if is_bfloat16(dtype) else value  # NumPy cannot compare it with integers
    return Const(value) if np.array_equal(back, x.value) else x


# ---------------------------------------------------------------------- increasing functions
def _one_function(xs: tuple) -> bool:
    return xs[0].op in increasing_ops() and all(x.op is xs[0].op for x in xs)


@goal("ioo", some="{0}.op.kind == 'elementwise'", worth=_one_function)
def one_increasing(xs: tuple) -> Any:
    """All operands are values of one increasing function of real numbers: the function, and what it was applied to."""
    f = xs[0].op
    for x in xs:
        if x.op is not f:
            return None
    if f not in increasing_ops():
        return None
    ys = tuple([x.args[0] for x in xs])
    dtypes = {y.type.np_dtype for y in ys}  # f of another dtype may overflow sooner or later
    return (f, ys) if len(dtypes) == 1 and ys[0].type.kind == "f" else None
