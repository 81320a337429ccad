"""theano.scalar: ops for one number, and those that users write. Here numbers are arrays without dimensions.

May import the tensor language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import termgraph.tensor as T
from termgraph.config import config
from termgraph.function.cop import COp
from termgraph.tensor.likes import DTypeLike, Operand, TensorLike
from termgraph.tensor.variable import Apply, TensorVariable, Variable
from termgraph.terms.op import Op
from termgraph.terms.types import TensorType, Type
from termgraph.theano.standins import Made, stand_in
from termgraph.theano.tools import MethodNotDefined
from termgraph.theano.walking import io_toposort


class ComplexError(NotImplementedError):
    """An operation that complex numbers do not have."""


class IntegerDivisionError(Exception):
    """A division of whole numbers that the flags forbid."""


# ---------------------------------------------------------------------- types and variables
def _scalar(dtype: DTypeLike) -> TensorType:
    return TensorType(config.floatX if dtype == "floatX" else dtype, ())


def _is_scalar(t: Type) -> bool:
    return isinstance(t, TensorType) and t.ndim == 0


Scalar = stand_in("Scalar", _is_scalar, _scalar, "The type of one number.")
ScalarVariable = stand_in("ScalarVariable", lambda v: isinstance(v, T.TensorVariable) and v.ndim == 0)
ScalarConstant = stand_in("ScalarConstant", lambda v: isinstance(v, T.Constant) and v.ndim == 0)
bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, complex64, complex128 = (
    _scalar(d)
    for d in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
              "float64", "complex64", "complex128")
)  # fmt: skip
int_types, uint_types = (int8, int16, int32, int64), (uint8, uint16, uint32, uint64)
float_types, complex_types = (float16, float32, float64), (complex64, complex128)
integer_types = int_types + uint_types
discrete_types, continuous_types = (bool_, *integer_types), float_types + complex_types
all_types = discrete_types + continuous_types


def get_scalar_type(dtype: DTypeLike) -> TensorType:
    """The type of a number of a dtype."""
    return _scalar(dtype)


def _several(type_: TensorType) -> Callable[..., Any]:
    def make(*names: str) -> Any:
        listed = names[0] if len(names) == 1 else names
        made = [type_(n) for n in listed]
        return made[0] if len(made) == 1 else made

    return make


ints, floats, complexs, complexs64, complexs128 = map(_several, (int64, float64, complex128, complex64, complex128))


def as_scalar(x: TensorLike, name: str | None = None) -> Any:
    """A variable for a number."""
    found = T.as_tensor(x, name=name)
    if found.ndim:
        raise TypeError(f"expected a number, {found} has {found.ndim} dimensions")
    return found


def constant(x: TensorLike, name: str | None = None, dtype: DTypeLike = None) -> Any:
    """A number that is known."""
    return T.constant(x, name=name, dtype=dtype)


def convert(x: TensorLike, dtype: DTypeLike = None) -> Any:
    """A number as NumPy holds it."""
    return np.asarray(x, dtype=dtype)


def upcast(*dtypes: Any) -> str:
    """The dtype that holds all of these."""
    return np.result_type(*[getattr(d, "dtype", d) for d in dtypes]).name


def as_common_dtype(*variables: Variable) -> tuple:
    """The variables in the dtype that holds all of them."""
    dtype = upcast(*variables)
    return tuple([T.cast(v, dtype) for v in variables])


# ---------------------------------------------------------------------- types of results
def upcast_out(*types: Type) -> tuple:
    """The dtype that holds all operands."""
    return (_scalar(upcast(*types)),)


upcast_out_no_complex = upcast_out_nobool = upcast_out_min8 = upcast_out


def upgrade_to_float(*types: TensorType) -> list:
    """Floats for whole numbers: float32 for those of up to 16 bits, else float64."""
    found = []
    for t in types:
        small = np.dtype(t.dtype).itemsize <= 2
        found.append(t if t.kind in "fc" else _scalar("float32" if small else "float64"))
    return [_scalar(upcast(*found))]


upgrade_to_float_no_complex = upgrade_to_float


def upgrade_to_float64(*types: Type) -> list:
    """float64."""
    return [float64]


def same_out(type: Type) -> list:
    """The type of the operand."""
    return [type]


same_out_nobool = same_out_min8 = same_out_float_only = same_out_nocomplex = same_out


def int_out(*types: Type) -> tuple:
    """int64."""
    return (int64,)


def float_out(*types: Type) -> tuple:
    """float64."""
    return (float64,)


int_out_nocomplex, float_out_nocomplex = int_out, float_out


def real_out(type: TensorType) -> list:
    """The type of the real part."""
    return [_scalar({"complex64": "float32", "complex128": "float64"}.get(type.dtype, type.dtype))]


class transfer_type:
    """Results of the types of some operands, by number, or of given types."""

    def __init__(self, *transfer: int | TensorType | None) -> None:
        self.transfer = transfer

    def __call__(self, *types: TensorType) -> list:
        return [upcast_out(*types)[0] if i is None else types[i] if isinstance(i, int) else i for i in self.transfer]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, transfer_type) and self.transfer == other.transfer

    def __hash__(self) -> int:
        return hash(self.transfer)


class specific_out(transfer_type):
    """Results of given types."""

    def __call__(self, *types: TensorType) -> list:
        return list(self.transfer)


class unary_out_lookup(specific_out):
    """Results by a table from types."""

    def __init__(self, *table: Any) -> None:
        super().__init__(*table)
        self.table = dict(*table)

    def __call__(self, *types: TensorType) -> list:
        return [self.table[types[0]]]


# ---------------------------------------------------------------------- ops that users write
class ScalarOp:
    """An op for numbers: `impl(*values)` computes; `grad` or `L_op`, `c_code` and `output_types` may be there too.

    `Elemwise(op)` is the op for arrays. With C code it is computed within the loops of compiled functions.
    """

    nin = -1
    nout = 1

    def __init__(self, output_types_preference: Callable | None = None, name: str | None = None) -> None:
        self.name = name or type(self).__name__
        if output_types_preference is not None:
            self.output_types_preference = output_types_preference

    output_types_preference: Callable = staticmethod(upcast_out)

    def output_types(self, types: Sequence[Any]) -> list:
        """The types of results."""
        return list(self.output_types_preference(*types))

    def impl(self, *inputs: TensorLike) -> Any:
        """The result on numbers."""
        raise MethodNotDefined(f"{type(self).__name__} defines no impl")

    def __call__(self, *inputs: Operand, **_: object) -> Any:
        return self.for_arrays()(*inputs)

    def make_node(self, *inputs: Operand) -> Any:
        """The Apply on variables."""
        return self(*inputs).owner

    def for_arrays(self, name: str | None = None) -> Made:
        """The op for arrays."""
        made = Made(lambda *inputs: _applied(self, inputs))
        made.scalar_op, made.name = self, name or self.name  # type: ignore[attr-defined]
        return made

    def _key(self) -> tuple:
        return type(self), getattr(self, "output_types_preference", None), tuple(
            [getattr(self, p) for p in getattr(self, "__props__", ())]
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, ScalarOp) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key()[0])

    def __repr__(self) -> str:
        return self.name


class UnaryScalarOp(ScalarOp):
    """An op of one number."""

    nin = 1


class BinaryScalarOp(ScalarOp):
    """An op of two numbers."""

    nin = 2
    commutative = associative = False


class LogicalComparison(BinaryScalarOp):
    """An op of two numbers whose result is true or false."""

    def output_types(self, types: Sequence[Any]) -> list:
        """Truth values."""
        return [bool_]


FixedLogicalComparison = LogicalComparison
UnaryBitOp, BinaryBitOp = UnaryScalarOp, BinaryScalarOp


def _applied(scalar_op: ScalarOp, inputs: Sequence[Any]) -> TensorVariable:
    variables = [T.as_tensor(v) for v in inputs]
    types = [_scalar(v.dtype) for v in variables]
    outs = tuple([t.dtype for t in scalar_op.output_types(types)])
    expression = _expression(scalar_op, types, outs)
    made = _InC(scalar_op, outs, expression) if expression else _InPython(scalar_op, outs)
    return made(*variables)


def _expression(op: ScalarOp, types: Sequence[Any], outs: tuple) -> str | None:
    """The C code of an op for numbers as one expression; None if it has none."""
    if len(outs) != 1 or not hasattr(op, "c_code") or any(t.kind not in "fiu" for t in types):
        return None
    names = [f"x{i}" for i in range(len(types))]
    try:
        code = op.c_code(_Node(types, outs), "node_0", names, ["z"], {"fail": "TG_THEANO_FAIL"})
    except (MethodNotDefined, NotImplementedError):
        return None
    if "TG_THEANO_FAIL" in code or any(hasattr(op, m) for m in ("c_support_code", "c_support_code_apply")):
        return None
    c_type = {"float32": "float", "float64": "double"}.get(outs[0], f"{outs[0]}_t" if outs[0] != "bool" else "_Bool")
    return f"({{ {c_type} z; {code} z; }})"


class _Node:
    """What `c_code` may ask of its application: types of inputs and outputs."""

    def __init__(self, types: Sequence[Any], outs: tuple) -> None:
        self.inputs, self.outputs = [t() for t in types], [_scalar(d)() for d in outs]


class _Elementwise:
    """What ops for arrays have in common, in Python and in C."""

    theano_classes = ("Elemwise",)
    scalar_op: ScalarOp
    outs: tuple

    def make_node(self, *inputs: TensorLike) -> Any:
        """Operands of one rank, results of the broadcast shape."""
        variables = [T.as_tensor(v) for v in inputs]
        ndim = max(v.ndim for v in variables)
        variables = [T.as_tensor(v, ndim=ndim) for v in variables]
        lengths = [{v.type.shape[d] for v in variables} for d in range(ndim)]
        shape = tuple([1 if n == {1} else next((k for k in n if k not in (1, None)), None) for n in lengths])
        return T.Apply(self, variables, [TensorType(d, shape)() for d in self.outs])

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list:
        """The broadcast shape of the operands."""
        ndim = node.outputs[0].ndim
        lengths = [[s[d] for v, s in zip(node.inputs, shapes) if not v.broadcastable[d]] for d in range(ndim)]
        return [tuple([n[0] if n else 1 for n in lengths])] * len(self.outs)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], gs: Sequence[Any]) -> list:
        """The gradient of the op for numbers, on arrays."""
        if hasattr(self.scalar_op, "L_op"):
            found = self.scalar_op.L_op(inputs, outputs, gs)
        elif hasattr(self.scalar_op, "grad"):
            found = self.scalar_op.grad(inputs, gs)
        else:
            raise NotImplementedError(f"{self.scalar_op} defines no gradient")
        return [g if g is None else _summed(T.as_tensor(g), v) for g, v in zip(found, inputs, strict=True)]

    def __str__(self) -> str:
        return f"Elemwise{{{self.scalar_op},no_inplace}}"


def _summed(g: TensorVariable, v: TensorVariable) -> TensorVariable:
    """A gradient summed over the dimensions in which its variable was spread."""
    axes = [d for d in range(v.ndim) if v.broadcastable[d] and not g.broadcastable[d]] if g.ndim == v.ndim else []
    return g.sum(axis=tuple(axes), keepdims=True) if axes else g


class _InPython(_Elementwise, Op):
    """An op for arrays that calls `impl` for each element."""

    __props__ = ("scalar_op", "outs")

    def __init__(self, scalar_op: ScalarOp, outs: tuple) -> None:
        self.scalar_op, self.outs = scalar_op, outs

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list) -> None:
        """Call `impl`."""
        results = np.frompyfunc(self.scalar_op.impl, len(inputs), len(output_storage))(*inputs)
        results = results if len(output_storage) > 1 else (results,)
        for cell, value, dtype in zip(output_storage, results, self.outs):
            cell[0] = np.asarray(value).astype(dtype)


class _InC(_Elementwise, COp):
    """An op for arrays whose C code compiled functions take into their own loops."""

    __props__ = ("scalar_op", "outs", "c_element")

    def __init__(self, scalar_op: ScalarOp, outs: tuple, c_element: str) -> None:
        self.scalar_op, self.outs, self.c_element = scalar_op, outs, c_element


# ---------------------------------------------------------------------- several ops as one
class Composite(ScalarOp):
    """An expression of numbers as one op."""

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        super().__init__(name="Composite")
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.nin, self.nout = len(self.inputs), len(self.outputs)

    def for_arrays(self, name: str | None = None) -> Made:
        """The expression on arrays."""
        return Made(self._on_arrays)

    def _on_arrays(self, *arrays: TensorLike) -> Any:
        known: dict[Any, Any] = dict(zip(self.inputs, map(T.as_tensor, arrays), strict=True))
        for node in io_toposort(self.inputs, self.outputs):
            found = node.op(*[known.get(v, v) for v in node.inputs])
            known.update(zip(node.outputs, found if isinstance(found, list) else [found], strict=True))
        made = [known.get(o, o) for o in self.outputs]
        return made[0] if len(made) == 1 else made

    def impl(self, *inputs: TensorLike) -> Any:
        """The expression on numbers."""
        return [o.eval(dict(zip(self.inputs, inputs))) for o in self.outputs]


def _caster(dtype: str) -> Callable[[Any], Any]:
    return lambda x: T.cast(x, dtype)


convert_to_bool, convert_to_int8, convert_to_int16, convert_to_int32, convert_to_int64, convert_to_uint8 = map(
    _caster, ("bool", "int8", "int16", "int32", "int64", "uint8")
)
convert_to_uint16, convert_to_uint32, convert_to_uint64, convert_to_float16, convert_to_float32 = map(
    _caster, ("uint16", "uint32", "uint64", "float16", "float32")
)
convert_to_float64, convert_to_complex64, convert_to_complex128 = map(_caster, ("float64", "complex64", "complex128"))


def identity(x: TensorLike) -> Any:
    """The number itself."""
    return x


def second(a: TensorLike, b: TensorLike) -> Any:
    """The second of two numbers."""
    return T.as_tensor(b)


def inrange(x: Operand, low: Operand, high: Operand) -> Any:
    """Whether a number lies between two others, the bounds among it."""
    return T.and_(T.ge(x, low), T.le(x, high))


def inopenrange(x: Operand, low: Operand, high: Operand) -> Any:
    """Whether a number lies between two others, the bounds excluded."""
    return T.and_(T.gt(x, low), T.lt(x, high))


inclosedrange = inrange
