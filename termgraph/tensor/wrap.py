"""Turning what users write (numbers, arrays, lists) into operands: constants, with explicit broadcasting dimensions.

A Python number becomes an int64 or float64 constant, unless that would change the result's dtype (NumPy 2: Python
numbers are weak).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.config import config
from termgraph.tensor.bipartite import variables_of
from termgraph.tensor.likes import DTypeLike, TensorLike
from termgraph.tensor.testvalues import note_test_value
from termgraph.tensor.trace import user_site
from termgraph.tensor.variable import (
    Constant,
    TensorConstant,
    TensorVariable,
    Variable,
    bare,
    is_plain_number,
    result,
    results,
    warn_of_answer,
)
from termgraph.terms import promises
from termgraph.terms.dtypes import kind_of, promote
from termgraph.terms.op import Lift, Op, set_plain_lifter
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import cast, loop_dtypes
from termgraph.terms.ops.shaping import join, make_vector
from termgraph.terms.term import Const, is_term, mk1
from termgraph.terms.types import dtype_name, from_others

_COMPARISONS = frozenset(("lt", "gt", "le", "ge", "eq", "neq"))
REDUCED = {"maximum": "max", "minimum": "min"}  # by what one array is reduced, not two compared
_weak_cache: dict[tuple, tuple] = {}
_pad_cache: dict[tuple[int, int], Op] = {}


def constant(value: TensorLike, name: str | None = None, dtype: DTypeLike = None) -> TensorConstant:
    """A constant array or number. Python integers are int64, Python floats float64.

    >>> import termgraph.tensor as T
    >>> T.constant([1.0, 2.0]).type
    TensorType(float64, (2,))
    """
    if isinstance(value, Constant):
        return value  # type: ignore[return-value]
    if isinstance(value, Variable):
        raise TypeError(f"constant() takes a value, got the symbolic variable {value}")
    try:
        array = np.asarray(from_others(value), dtype=None if dtype is None else dtype_name(dtype))
    except (ValueError, TypeError) as err:
        raise TypeError(f"cannot make a constant of {type(value).__name__} {value!r:.60}: {err}") from None
    if hasattr(value, "indptr"):
        raise TypeError(
            f"a {type(value).__name__} of SciPy is no array; make it a variable, sparse.constant(value), or an array, "
            "value.toarray()"
        )
    if kind_of(array.dtype) not in "biufc":
        raise TypeError(
            f"cannot make a constant of {type(value).__name__} {value!r:.60}: expected a number, an array of numbers "
            f"or a symbolic variable, got dtype {array.dtype}"
        )
    if array.dtype.name not in ("bool",) and array.dtype.itemsize > 16:
        raise TypeError(f"dtype {array.dtype} is not supported; convert to float64 or complex128 first")
    site = user_site()
    if isinstance(value, bool):
        warn_of_answer(site)
    return bare(TensorConstant, Const(array), name, site)


def as_tensor(value: Any, name: str | None = None, ndim: int | None = None, dtype: DTypeLike = None) -> TensorVariable:
    """A variable for whatever may stand for an array: a variable, a number, an array, a list of variables.

    `ndim` pads with leading dimensions of length 1.
    """
    v: Any
    if isinstance(value, Variable):
        v = value
    elif is_term(value):
        v = variable_of_term(value, name)
    elif isinstance(value, (list, tuple)) and _has_variable(value):
        v = side_by_side([as_tensor(item) for item in value])
    else:
        # xarray keeps its labels around `data_array + x`; an array's own `data` is memory, which 16 bits do not show
        inside = None if isinstance(value, (np.ndarray, np.generic)) else getattr(value, "data", None)
        v = inside if isinstance(inside, Variable) else constant(value, name)
    if dtype is not None and v.type.dtype != dtype_name(dtype):
        if isinstance(v, TensorConstant):
            v = constant(v.data.astype(dtype_name(dtype)), name)
        else:
            v = cast(v, dtype=dtype_name(dtype))
    if ndim is not None and v.type.ndim != ndim:
        if v.type.ndim > ndim:
            raise ValueError(f"expected at most {ndim} dimensions, got {v.type.ndim} ({v})")
        v = pad_rank(v, ndim)
    return v


def _has_variable(items: Sequence[Any]) -> bool:
    return any(isinstance(i, Variable) or (isinstance(i, (list, tuple)) and _has_variable(i)) for i in items)


def variable_of_term(term: Any, name: str | None = None) -> Any:
    """A variable on an existing term; its owner chain is rebuilt from the term."""
    return variables_of([term], names={term: name} if name else None)[0]


def pad_rank(v: Any, ndim: int) -> Any:
    """`v` with leading dimensions of length 1, as an explicit dimshuffle."""
    have = v.term.type.ndim
    if have == ndim:
        return v
    op = _pad_cache.get((have, ndim))
    if op is None:
        op = _pad_cache[have, ndim] = dimshuffle.bind(order=("x",) * (ndim - have) + tuple(range(have)))
    return result(mk1(op, v.term), op, (v,), v.site)


def side_by_side(arrays: Sequence[Variable], axis: int = 0) -> TensorVariable:
    """Variables of one rank along a new axis, in the dtype that holds them all."""
    ndim, common = arrays[0].ndim, promote(*[a.type.np_dtype for a in arrays]).name
    if [a for a in arrays if a.ndim != ndim]:
        raise ValueError(f"stack: arrays must have the same rank, got {[a.ndim for a in arrays]}")
    alike: list[Any] = [a if a.dtype == common else cast(a, dtype=common) for a in arrays]
    if ndim == 0:
        return make_vector(*alike, dtype=common)
    order = (*range(axis), "x", *range(axis, ndim))
    rows = [dimshuffle(a, order=order) for a in alike]
    return join(*rows, axis=axis) if len(rows) > 1 else rows[0]


def wrap_operands(op: Op, args: Sequence[Any]) -> tuple:
    """The operands of `op` as variables; for element-wise ops with equal ranks and weak numbers resolved."""
    if op.kind == "elementwise":
        return _wrap_elementwise(op, args)
    return tuple([a if isinstance(a, Variable) else as_tensor(a) for a in args])


def _wrap_elementwise(op: Op, args: Sequence[Any]) -> tuple:
    if len(args) == 1 and op.name in REDUCED:
        reduced = f"T.{REDUCED[op.name]}(x, axis=...)"
        raise TypeError(f"T.{op.name} takes two arrays, element by element; of the elements of one it is {reduced}")
    operands: list[Any] = []
    weak = []
    for i, a in enumerate(args):
        if isinstance(a, Variable):
            if not isinstance(a, TensorVariable):
                raise TypeError(f"operand {i} of {op.name} must be an array, got {a} of type {a.type}")
            operands.append(a)
        elif is_plain_number(a):
            weak.append(i)
            operands.append(a)
        else:
            operands.append(as_tensor(a))
    if weak:
        _resolve_weak(op, operands, weak)
    ndim = max([v.term.type.ndim for v in operands]) if operands else 0
    return tuple([v if v.term.type.ndim == ndim else pad_rank(v, ndim) for v in operands])


def _resolve_weak(op: Op, operands: list, weak: list[int]) -> None:
    kinds = tuple([_python_kind(v) if i in weak else v.term.type.dtype for i, v in enumerate(operands)])
    key = (op, kinds)
    dtypes = _weak_cache.get(key)
    if dtypes is None:
        dtypes = _weak_cache[key] = _weak_dtypes(op, kinds)
    for i, dtype in zip(weak, dtypes, strict=True):
        operands[i] = _number(op, operands[i], dtype)


def _number(op: Op, value: complex | float, dtype: str) -> TensorConstant:
    if isinstance(value, bool):
        warn_of_answer(user_site())
    try:
        array = np.asarray(value, dtype=dtype)
    except OverflowError:
        if op.name not in _COMPARISONS:
            raise OverflowError(
                f"the Python number {value} does not fit {dtype}, the dtype of the other operand"
            ) from None
        array = np.asarray(value)
        if array.dtype == object:
            raise OverflowError(f"the Python number {value} does not fit any supported integer dtype") from None
    return bare(TensorConstant, Const(array), None, ())


def _weak_dtypes(op: Op, kinds: tuple) -> tuple:
    """The dtype of each weak number: its default if that leaves the loop unchanged, else the loop's own."""
    asked = tuple([_weak_kind(k) if isinstance(k, type) else np.dtype(k) for k in kinds])
    default = tuple([np.asarray(k(0)).dtype if isinstance(k, type) else np.dtype(k) for k in kinds])
    if all(isinstance(k, type) for k in kinds):
        return tuple([d.name for d in default])
    loop = loop_dtypes(op, asked)
    if loop == _loop_if_any(op, default):
        return tuple([d.name for d, k in zip(default, kinds, strict=True) if isinstance(k, type)])
    return tuple([d.name for d, k in zip(loop[:-1], kinds, strict=True) if isinstance(k, type)])


def _loop_if_any(op: Op, dtypes: tuple) -> tuple | None:
    """The loop for these dtypes; None where there is none, as for `&` of uint64 and a number that is an int64."""
    try:
        return loop_dtypes(op, dtypes)
    except TypeError:
        return None


def _python_kind(value: complex | float) -> type:
    return next(kind for kind in (bool, int, float, complex) if isinstance(value, kind))


def _weak_kind(python_type: type) -> Any:
    return np.dtype(bool) if python_type is bool else python_type


def apply_op(op: Op, args: tuple) -> Any:
    """An op applied to variables and plain values: one variable, or a list when there are several results."""
    if promises.PROMISED and [a for a in args if isinstance(a, Variable) and a.waits]:  # gradients
        found = promises.applied(op, args)
        if found is not None:
            return found
    try:
        inputs = wrap_operands(op, args)
        outputs = results(op, inputs, user_site())
    except OverflowError as err:
        raise OverflowError(f"{op.name}: {err}; use an array of a wider dtype") from None
    if config.compute_test_value != "off":
        note_test_value(outputs)
    return outputs[0] if op.nout == 1 else outputs


Variable.apply_op = Lift(2, apply_op)  # type: ignore[attr-defined]
set_plain_lifter(apply_op)
as_tensor_variable = as_tensor  # Theano's name

__all__ = ["as_tensor", "as_tensor_variable", "constant"]
