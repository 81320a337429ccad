"""Dtype rules of element-wise ops: in which dtypes a loop computes, and in which the result is. They are NumPy 2's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from termgraph.terms.dtypes import is_bfloat16, kind_of, loaded, numpy_dtype, promote

OperandDtype: TypeAlias = "np.dtype | type"  # or int, float, complex, for weak numbers
LoopDtypes = tuple[np.dtype, ...]  # the dtypes in which a loop computes, results last
DtypeRule = Callable[..., LoopDtypes]  # from dtypes of operands


def ufunc_rule(ufunc: np.ufunc, out: str | None = None) -> DtypeRule:
    """The loop NumPy's ufunc would choose; `out` overrides the result dtype."""

    def rule(*dtypes: OperandDtype) -> LoopDtypes:
        chosen = _loop(ufunc, dtypes)
        return (*chosen[:-1], np.dtype(out)) if out else chosen

    return rule


def exponent_rule(dtype: OperandDtype) -> LoopDtypes:
    return (_loop(np.frexp, (dtype,))[0], np.dtype("int32"))


def mantissa_rule(dtype: OperandDtype) -> LoopDtypes:
    return _loop(np.frexp, (dtype,))[:2]


def scaling_rule(x: OperandDtype, n: OperandDtype) -> LoopDtypes:
    """A float, and a whole number that stays one."""
    brain = isinstance(x, np.dtype) and is_bfloat16(x)
    loop = np.ldexp.resolve_dtypes((np.dtype("float32") if brain else x, n, None))
    return (x, loop[1], x) if brain else tuple(loop)  # type: ignore[return-value]


def like_rule(ufunc: np.ufunc) -> DtypeRule:
    """For functions that are not ufuncs: as `ufunc` of the common dtype."""

    def rule(*dtypes: OperandDtype) -> LoopDtypes:
        chosen = _loop(ufunc, (common_dtype(dtypes),))
        return (*(chosen[0],) * len(dtypes), chosen[1])

    return rule


def _loop(ufunc: np.ufunc, dtypes: tuple[OperandDtype, ...]) -> LoopDtypes:
    """The dtypes of the ufunc's loop, results last. That of bfloat16 is the loop of float32 with rounded results."""
    common = common_dtype(dtypes) if loaded else None
    if common is not None and is_bfloat16(common):
        loop = ufunc.resolve_dtypes((*(np.dtype("float32"),) * ufunc.nin, *(None,) * ufunc.nout))
        return tuple([common if d == np.float32 else d for d in loop])
    if common is not None:  # NumPy does not know what becomes of bfloat16 beside other dtypes
        dtypes = tuple([common if isinstance(d, np.dtype) and is_bfloat16(d) else d for d in dtypes])
    return tuple(ufunc.resolve_dtypes((*dtypes, *(None,) * ufunc.nout)))


def common_dtype(dtypes: tuple[OperandDtype, ...]) -> np.dtype:
    if any(not isinstance(d, np.dtype) for d in dtypes):
        return promote(*[d if isinstance(d, np.dtype) else d(0) for d in dtypes])
    return promote(*dtypes)


def same_rule(*dtypes: OperandDtype) -> LoopDtypes:
    """Operands and result share the common dtype."""
    common = common_dtype(dtypes)
    return (common,) * (len(dtypes) + 1)


def rounding_rule(dtype: OperandDtype) -> LoopDtypes:
    dtype = common_dtype((dtype,))
    if kind_of(dtype) == "c":
        raise TypeError("complex numbers have no order to round by")
    return (dtype, dtype)


def nearest_rule(dtype: OperandDtype) -> LoopDtypes:
    dtype = common_dtype((dtype,))
    return (dtype, np.dtype("float16") if dtype.kind == "b" else dtype)


def special_rule(*dtypes: OperandDtype) -> LoopDtypes:
    """Functions NumPy lacks: floats keep their precision, integers become float64; real numbers only."""
    common = common_dtype(dtypes)
    if common.kind == "c":
        raise TypeError("defined for real numbers only")
    out = common if kind_of(common) == "f" else np.dtype("float64")
    return (out,) * (len(dtypes) + 1)


def real_part_rule(dtype: OperandDtype) -> LoopDtypes:
    dtype = common_dtype((dtype,))
    return (dtype, np.dtype(f"float{dtype.itemsize * 4}") if dtype.kind == "c" else dtype)


def switch_rule(cond: OperandDtype, a: OperandDtype, b: OperandDtype) -> LoopDtypes:
    common = common_dtype((a, b))
    return (np.dtype(bool), common, common, common)


def complex_rule(re: OperandDtype, im: OperandDtype) -> LoopDtypes:
    common = promote(common_dtype((re, im)), np.float32)
    if kind_of(common) == "c":
        raise TypeError("complex(re, im) takes two real operands")
    return (common, common, np.dtype("complex64" if common == np.float32 else "complex128"))


def cast_rule(dtype: OperandDtype, *, to: str) -> LoopDtypes:
    return (common_dtype((dtype,)), numpy_dtype(to))


def nary_loop(rule: DtypeRule, dtypes: tuple[OperandDtype, ...]) -> LoopDtypes:
    if len(dtypes) > 2 and any(isinstance(d, np.dtype) and is_bfloat16(d) for d in dtypes):
        dtypes = (promote(*dtypes),) * len(dtypes)  # in pairs the order of whole numbers and floats would decide
    out: Any = dtypes[0]
    for d in dtypes[1:]:
        out = rule(out, d)[-1]
    if len(dtypes) == 1:
        out = rule(out, out)[-1]
    return (out,) * (len(dtypes) + 1)
