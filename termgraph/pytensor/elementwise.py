"""Element-wise ops: PyTensor's scalar ops by the name of their class, as one table, and the graphs made of them.

PyTensor's dtypes are its own: operands are cast to the dtype of the result first (comparisons: to the common one), so
that termgraph's promotion never decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph.pytensor.conversion import Conversion, cast, converts

if TYPE_CHECKING:
    from pytensor.graph.basic import Apply
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.op import Op

    from termgraph.tensor.variable import TensorVariable

# Operands are cast to the dtype of the result.
ARITHMETIC: dict[str, Callable] = {
    "Add": T.add, "Mul": T.mul, "Sub": T.sub, "TrueDiv": T.true_div, "IntDiv": T.floor_div, "Mod": T.mod,
    "Pow": T.power,
    "Neg": T.neg, "Reciprocal": T.reciprocal, "Sqr": T.sqr, "Sqrt": T.sqrt, "Sign": T.sign, "Identity": lambda x: x,
    "Exp": T.exp, "Exp2": T.exp2, "Expm1": T.expm1, "Log": T.log, "Log2": T.log2, "Log10": T.log10, "Log1p": T.log1p,
    "Log1mexp": T.log1mexp, "Sigmoid": T.sigmoid, "Softplus": T.softplus, "Deg2Rad": T.deg2rad, "Rad2Deg": T.rad2deg,
    "Sin": T.sin, "Cos": T.cos, "Tan": T.tan, "ArcSin": T.arcsin, "ArcCos": T.arccos, "ArcTan": T.arctan,
    "ArcTan2": T.arctan2, "Sinh": T.sinh, "Cosh": T.cosh, "Tanh": T.tanh, "ArcSinh": T.arcsinh, "ArcCosh": T.arccosh,
    "ArcTanh": T.arctanh, "Ceil": T.ceil, "Floor": T.floor, "Trunc": T.trunc, "RoundHalfToEven": T.round_half_to_even,
    "RoundHalfAwayFromZero": lambda x: T.sign(x) * T.floor(T.abs(x) + 0.5),
    "Maximum": T.maximum, "Minimum": T.minimum, "Clip": lambda x, low, high: clipped(x, low, high), "Conj": T.conj,
    "Erf": T.erf, "Erfc": T.erfc, "Erfcx": T.erfcx, "Erfinv": T.erfinv, "Erfcinv": T.erfcinv,
    "Gamma": T.gamma, "GammaLn": T.gammaln, "Psi": T.digamma,
    "TriGamma": lambda x: T.polygamma(T.constant(np.int64(1)), x),
    "XlogX": lambda x: T.xlogy(x, x), "XlogY0": T.xlogy,
    "GammaInc": T.gammainc, "GammaIncC": T.gammaincc, "BetaInc": T.betainc,
    "GammaL": T.gammal, "GammaU": T.gammau,
    "GammaIncInv": T.gammaincinv, "GammaIncCInv": T.gammainccinv, "BetaIncInv": T.betaincinv, "Hyp2F1": T.hyp2f1,
    "Owens_t": T.owens_t, "Ive": T.ive, "Kve": T.kve,
    "J0": T.j0, "J1": T.j1, "Jv": T.jv, "I0": T.i0, "I1": T.i1,
    "Iv": T.iv, "MulWithoutZeros": lambda x, y: T.switch(T.eq(x, 0), y, T.switch(T.eq(y, 0), x, x * y)),
}  # fmt: skip

# Operands are cast to their common dtype.
COMPARISONS: dict[str, Callable] = {
    "LT": T.lt, "GT": T.gt, "LE": T.le, "GE": T.ge, "EQ": T.eq, "NEQ": T.not_equal, "IsNan": T.isnan, "IsInf": T.isinf,
}  # fmt: skip

BITS: dict[str, Callable] = {
    "AND": T.bitwise_and, "OR": T.bitwise_or, "XOR": T.bitwise_xor, "Invert": T.invert,
}  # fmt: skip

# Operands stay as they are.
AS_THEY_ARE: dict[str, Callable] = {
    "Real": T.real, "Imag": T.imag, "Angle": T.angle, "Complex": T.complex,
    "ComplexFromPolar": lambda r, angle: T.complex(r * T.cos(angle), r * T.sin(angle)), "Abs": T.abs,
    "PolyGamma": T.polygamma, "Cast": lambda x: x,
}  # fmt: skip


def scalar(op: Op, xs: list[Any], dtype: str) -> Any:
    """A scalar op on arrays of termgraph; NotImplemented if there is none like it."""
    name = type(op).__name__
    if name in ARITHMETIC:
        return cast(ARITHMETIC[name](*[cast(x, dtype) for x in xs]), dtype)
    if name in COMPARISONS:
        common = np.result_type(*[np.dtype(x.type.dtype) for x in xs]).name
        return COMPARISONS[name](*[cast(x, common) for x in xs])
    if name == "Switch":
        return T.switch(xs[0], cast(xs[1], dtype), cast(xs[2], dtype))
    if name == "Second":
        return filled(xs[0], cast(xs[1], dtype))
    if name in BITS:
        return BITS[name](*[cast(x, dtype) for x in xs])
    if name in AS_THEY_ARE:
        return cast(AS_THEY_ARE[name](*xs), dtype)
    return NotImplemented


def clipped(x: TensorVariable, low: TensorVariable, high: TensorVariable) -> Any:
    """Between two bounds. PyTensor looks at the lower one first, which shows where it is above the other."""
    if isinstance(low, tg.Constant) and isinstance(high, tg.Constant) and np.all(low.data <= high.data):
        return T.clip(x, low, high)
    return T.switch(T.lt(x, low), low, T.minimum(x, high))


def filled(x: TensorVariable, y: TensorVariable) -> Any:
    """y, repeated to the shape that it has together with x."""
    if x.type.ndim == 0:
        return y
    wide = [x if n == 1 else y for n in y.type.shape]
    return T.alloc(y, *[v.shape[d] if v.type.shape[d] is None else v.type.shape[d] for d, v in enumerate(wide)])


def scalar_graph(c: Conversion, fgraph: FunctionGraph, xs: list[Any]) -> list[Any]:
    """The outputs of a graph of scalar ops on arrays; [NotImplemented] if there is one without counterpart."""
    found = dict(zip(fgraph.inputs, xs))
    for node in fgraph.toposort():
        operands = [c.value(v, found) for v in node.inputs]
        if type(node.op).__name__ == "Composite":
            made = scalar_graph(c, node.op.fgraph, operands)
        else:
            made = [scalar(node.op, operands, node.outputs[0].type.dtype)]
        if any(m is NotImplemented for m in made):
            return [NotImplemented]
        found.update(zip(node.outputs, made))
    return [c.value(v, found) for v in fgraph.outputs]


def elementwise(c: Conversion, node: Apply, scalar_op: Op, xs: tuple) -> Any:
    """One scalar op, or a fused graph of them."""
    if type(scalar_op).__name__ == "Composite":
        made = scalar_graph(c, scalar_op.fgraph, list(xs))
        return NotImplemented if any(m is NotImplemented for m in made) else made
    return scalar(scalar_op, list(xs), node.outputs[0].type.dtype)


@converts("Elemwise", reads="scalar_op")
def _elemwise(c: Conversion, node: Apply, *xs: TensorVariable) -> Any:
    if type(node.op.scalar_op).__name__ == "ScalarLoop":
        return scalar_loop(c, node.op.scalar_op, list(xs))
    return elementwise(c, node, node.op.scalar_op, xs)


def scalar_loop(c: Conversion, loop: Any, xs: list[Any]) -> Any:
    """A loop that each element runs for itself: one loop over arrays, in which elements that are done stay."""
    steps, *given = T.broadcast_arrays(*xs)
    ends = bool(getattr(loop, "is_while", False))
    n = len(loop.fgraph.outputs) - ends
    states, constants = [cast(x, v.type.dtype) for x, v in zip(given[:n], loop.fgraph.outputs)], given[n:]
    found: list[Any] = []

    def step(carry: dict, _: object) -> tuple:
        found[:] = scalar_graph(c, loop.fgraph, [*carry["states"], *constants])
        if found[0] is NotImplemented:
            return carry, None, tg.until(T.constant(True))
        runs = T.logical_and(T.logical_not(carry["done"]), T.lt(carry["at"], steps))
        after = [T.switch(runs, new, old) for new, old in zip(found, carry["states"])]
        done = T.switch(runs, found[n], carry["done"]) if ends else carry["done"]
        at = carry["at"] + 1
        still = T.any(T.logical_and(T.logical_not(done), T.lt(at, steps)))
        return {"at": at, "states": after, "done": done}, None, tg.until(T.logical_not(still))

    nothing_to_do = T.le(steps, 0) if ends else T.zeros_like(steps, dtype="bool")
    start = {"at": T.constant(np.int64(0)), "states": states, "done": nothing_to_do}
    most = T.max(T.concatenate([T.ravel(cast(steps, "int64")), T.zeros((1,), dtype="int64")]))
    last, _ = tg.loop(step, start, length=most)
    if found and found[0] is NotImplemented:
        return NotImplemented
    return [*last["states"], last["done"]] if ends else last["states"]


@converts("ScalarOp Composite", reads="fgraph")
def _scalar(c: Conversion, node: Apply, *xs: TensorVariable) -> Any:
    return elementwise(c, node, node.op, xs)
