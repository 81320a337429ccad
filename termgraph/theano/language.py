"""theano.tensor where it is not termgraph.tensor: names that only Theano has, and behaviour that is Theano's.

May import the tensor language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import termgraph.tensor as T
from termgraph._lazy import lazy
from termgraph.config import config
from termgraph.function.api import function
from termgraph.tensor.checks import CheckAndRaise
from termgraph.tensor.reductions import axes_of
from termgraph.tensor.sharedvar import is_shared, shared
from termgraph.tensor.testvalues import get_test_value
from termgraph.tensor.updates import OrderedUpdates
from termgraph.tensor.variable import Apply, Constant, Variable, bare, is_plain_number
from termgraph.terms import types
from termgraph.terms.ops import elementwise as ew
from termgraph.theano.standins import stand_in

if TYPE_CHECKING:
    import numpy.typing as npt

    from termgraph.function.fgraph import FunctionGraph
    from termgraph.tensor.likes import AxisLike, DTypeLike, Operand, ShapeLike, TensorLike

db = lazy("termgraph.db")  # brings the rules

# ---------------------------------------------------------------------- dtypes, as lists
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
int_dtypes = ["int8", "int16", "int32", "int64"]
float_dtypes = ["float16", "float32", "float64"]
complex_dtypes = ["complex64", "complex128"]
integer_dtypes = int_dtypes + uint_dtypes
continuous_dtypes = float_dtypes + complex_dtypes
discrete_dtypes = ["bool", *integer_dtypes]
all_dtypes = discrete_dtypes + continuous_dtypes

python_complex, python_any, python_all = complex, any, all
PY3, has_handlers = True, True
rpath: list[str] = []
__version__, git_revision = "1.0.5", "unknown"


def _types(letters: str, shape: tuple) -> tuple:
    return tuple([types.TensorType(np.dtype(d), shape) for d in letters])


int_types = int_scalar_types = _types("bhil", ())
float_types = float_scalar_types = _types("fd", ())
complex_types = complex_scalar_types = _types("FD", ())
int_vector_types, float_vector_types, complex_vector_types = (_types(d, (None,)) for d in ("bhil", "fd", "FD"))
int_matrix_types, float_matrix_types, complex_matrix_types = (_types(d, (None, None)) for d in ("bhil", "fd", "FD"))


class AsTensorError(TypeError):
    """What is given cannot be made a tensor."""


class NotScalarConstantError(Exception):
    """A variable has no constant value that is one number."""


class EmptyConstantError(NotScalarConstantError):
    """A constant has no elements."""


# ---------------------------------------------------------------------- types and variables
def _tensor_type(
    dtype: str,
    broadcastable: Sequence | None = None,
    name: str | None = None,
    sparse_grad: bool = False,
    shape: tuple[int | None, ...] | None = None,
) -> types.TensorType:
    """A type from a dtype and one flag per dimension; the name is for Theano's printouts and has no effect here."""
    if shape is not None:
        return types.TensorType(dtype, shape)
    if broadcastable is None:
        raise TypeError("TensorType(dtype, broadcastable): say for each dimension whether its length is 1")
    return types.TensorType(dtype, tuple([1 if flag else None for flag in broadcastable]))


TensorType = stand_in("TensorType", lambda t: isinstance(t, types.TensorType), _tensor_type)
TensorConstantSignature = tuple


def _is_plain(v: TensorLike) -> bool:
    """Theano's TensorVariable is neither shared nor constant; termgraph's is the base class of these."""
    return isinstance(v, T.TensorVariable) and not is_shared(v) and not isinstance(v, Constant)


TensorVariable = stand_in("TensorVariable", _is_plain, lambda *args, **options: Variable(*args, **options))


def tensor(*args: Any, **options: Any) -> Any:
    """A variable of the type that TensorType makes of the arguments."""
    name = options.pop("name", None)
    return _tensor_type(*args, **options)(name=name)


def as_tensor_variable(x: TensorLike | Apply, name: str | None = None, ndim: int | None = None) -> Any:
    """A variable for a value, a list of variables, or an Apply with one output."""
    outputs = getattr(x, "outputs", None)
    if isinstance(x, T.Apply):
        if len(x.outputs) != 1 and getattr(x.op, "default_output", None) is None:
            raise ValueError("an Apply with several outputs is no tensor; give one of them", x)
        x = x.out if outputs is not None else x
    if isinstance(x, Variable) and not isinstance(x, T.TensorVariable):
        raise AsTensorError(f"{x} of type {x.type} is no tensor")
    if ndim is not None and isinstance(x, Variable) and x.ndim > ndim:
        extra = x.ndim - ndim
        if not all(x.broadcastable[:extra]):
            raise ValueError(f"{x} has {x.ndim} dimensions, which cannot be made {ndim}")
        x = T.squeeze(x, axis=tuple(range(extra)))
    try:
        return T.as_tensor(x, name=name, ndim=ndim)
    except TypeError as err:
        raise AsTensorError(str(err)) from None


def constant(x: TensorLike, name: str | None = None, ndim: int | None = None, dtype: str | None = None) -> Any:
    """A constant; Python numbers are int8 to int64 by size, and `config.floatX`, as Theano casts them."""
    found = T.constant(x, name=name, dtype=dtype or _python_dtype(x))
    if isinstance(x, int) and not isinstance(x, bool):
        found = bare(WholeNumber, found.term, found.name, found.site)
    return found if ndim is None else T.as_tensor(found, ndim=ndim)


class WholeNumber(T.TensorConstant):
    """A constant that was a Python integer: a Python float beside it is a `constant`, so `one - 0.9` may be float32."""

    __slots__ = ()


def _beside_floats(name: str) -> Callable[[Any, Any], Any]:
    plain = getattr(T.TensorConstant, name)

    def method(self: Any, other: Any) -> Any:
        return plain(self, constant(other) if isinstance(other, float) and is_plain_number(other) else other)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _side in ("", "r"):
        setattr(WholeNumber, f"__{_side}{_name}__", _beside_floats(f"__{_side}{_name}__"))


def _python_dtype(x: TensorLike) -> str | None:
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        return None
    if isinstance(x, int):
        return next((d for d in int_dtypes if np.iinfo(d).min <= x <= np.iinfo(d).max), None)
    return "float32" if config.floatX == "float32" or float(np.float32(x)) == x else "float64"


def tensor_copy(x: TensorLike) -> Any:
    """The same value as a variable of its own."""
    return T.as_tensor(x) + 0 if not isinstance(x, Variable) else T.specify_shape(x, *x.type.shape)


def shape(x: TensorLike) -> Any:
    """The lengths of an array as a vector."""
    return T.as_tensor(x).shape


def shape_i(x: TensorLike, i: int, fgraph: FunctionGraph | None = None) -> Any:
    """One length of an array."""
    return T.as_tensor(x).shape[i]


def specify_shape(x: TensorLike, shape: ShapeLike) -> Any:
    """The array with the promise of its lengths, which is checked when it runs."""
    return T.specify_shape(x, shape)


def _same(x: object) -> Any:
    return x


view_op = deep_copy_op = expandable_types = load_back = _same


def load_shared_variable(val: TensorLike) -> Any:
    """A shared variable of a value, for pickles of old versions."""
    return shared(val)


# ---------------------------------------------------------------------- numbers that are known
def get_scalar_constant_value(
    v: TensorLike | None, elemwise: bool = True, only_process_constants: bool = False, max_recur: int = 10
) -> Any:
    """The one number that a variable is known to be; NotScalarConstantError if there is none."""
    if v is None:
        raise NotScalarConstantError("None has no value")
    if not isinstance(v, Variable):
        found = np.asarray(v)
    elif isinstance(v, Constant):
        found = np.asarray(v.data)
    elif only_process_constants or is_shared(v):
        raise NotScalarConstantError(f"{v} is not a constant")
    else:
        found = _folded(v)
    if found.size == 0:
        raise EmptyConstantError("a constant without elements")
    if found.ndim and not (found == found.flat[0]).all():
        raise NotScalarConstantError(f"{v} has elements that differ")
    return found.flat[0].reshape(()) if hasattr(found.flat[0], "reshape") else found.flat[0]


def _folded(v: Variable) -> Any:
    found = db.rewrite(v, "+canonicalize")
    if not isinstance(found, Constant):
        raise NotScalarConstantError(f"{v} is not known while the graph is built")
    return np.asarray(found.data)


def extract_constant(x: TensorLike, elemwise: bool = True, only_process_constants: bool = False) -> Any:
    """The number that a variable is known to be, or the variable itself."""
    try:
        return get_scalar_constant_value(x, elemwise, only_process_constants)
    except NotScalarConstantError:
        return x


def get_vector_length(v: TensorLike) -> int:
    """The length of a vector, if it is known while the graph is built."""
    v = T.as_tensor(v)
    if v.ndim != 1:
        raise TypeError(f"expected a vector, {v} has {v.ndim} dimensions")
    if v.type.shape[0] is None:
        raise ValueError(f"the length of {v} is not known while the graph is built")
    return v.type.shape[0]


def numpy_scalar(data: npt.ArrayLike) -> Any:
    """The value of a 0-d array, as a NumPy scalar."""
    if np.ndim(data):
        raise NotScalarConstantError(f"expected a number, got an array of shape {np.shape(data)}")
    return np.asarray(data)[()]


def check_equal_numpy(x: npt.ArrayLike, y: npt.ArrayLike) -> bool:
    """Whether two values are the same array."""
    return np.shape(x) == np.shape(y) and np.asarray(x).dtype == np.asarray(y).dtype and bool(np.all(x == y))


def check_and_normalize_axes(x: TensorLike, axis: AxisLike) -> list[int]:
    """Axes as a sorted list of numbers from 0."""
    return [] if axis is None else sorted(axes_of(axis, T.as_tensor(x).ndim))


class NumpyAutocaster:
    """Casts Python numbers to the first dtype of a list that holds them."""

    def __init__(self, dtypes: Sequence[str]) -> None:
        self.dtypes = tuple(dtypes)

    def __call__(self, x: Any) -> Any:
        fits = [np.asarray(x).astype(d) for d in self.dtypes]
        return next((v for v in fits if v == x), fits[-1])


# ---------------------------------------------------------------------- arrays from arrays
def fill(model: TensorLike, value: TensorLike) -> Any:
    """The value, spread over the shape of the model."""
    model, value = T.as_tensor(model), T.as_tensor(value)
    n = max(model.ndim, value.ndim)
    return T.broadcast_arrays(T.as_tensor(model, ndim=n), T.as_tensor(value, ndim=n))[1]


second = fill


def alloc(value: TensorLike, *shape: int | Variable) -> Any:
    """The value spread over a shape, whose lengths are arguments of their own."""
    return T.alloc(value, *shape)


def allocempty(dtype: DTypeLike) -> Callable[..., Any]:
    """What makes an array of a shape whose elements do not matter."""
    return lambda *shape: T.zeros(shape, dtype)


def stack(*tensors: Any, **options: Any) -> Any:
    """Arrays joined along a new axis: `stack([a, b], axis=0)`, or as in old programs `stack(a, b)`."""
    if tensors and isinstance(tensors[0], (list, tuple)):
        return T.stack(list(tensors[0]), *tensors[1:], **options)
    if len(tensors) == 1 and isinstance(tensors[0], Variable) and not options:
        return T.stack(tensors[0]) if tensors[0].ndim else T.stack([tensors[0]])
    return T.stack(list(tensors), **options) if tensors else T.stack(options.pop("tensors"), **options)


def stacklists(arg: TensorLike) -> Any:
    """Nested lists of variables as one array, a dimension for each level of lists.

    >>> a, b, c, d = T.dscalars("abcd")
    >>> stacklists([[a, b], [c, d]]).ndim
    2
    """
    return T.stack([stacklists(item) for item in arg]) if isinstance(arg, (tuple, list)) else T.as_tensor(arg)


def inv(a: TensorLike) -> Any:
    """1 / a, of whole numbers too."""
    a = T.as_tensor(a)
    return T.reciprocal(a if a.type.kind in "fc" else T.cast(a, config.floatX))


def complex_from_polar(abs: Variable, angle: Variable) -> Any:
    """The complex number of this absolute value and angle."""
    return T.complex(abs * T.cos(angle), abs * T.sin(angle))


def round_half_away_from_zero(a: TensorLike) -> Any:
    """The nearest whole number, halves away from zero."""
    a = T.as_tensor(a)
    return T.sgn(a) * T.floor(T.abs_(a) + 0.5)


def xlogx(x: TensorLike) -> Any:
    """x * log(x), and 0 at 0."""
    x = T.as_tensor(x)
    return T.switch(T.eq(x, 0), T.zeros_like(x), x * T.log(x))


def xlogy0(x: Operand, y: Operand) -> Any:
    """x * log(y), and 0 where x is 0."""
    x = T.as_tensor(x)
    return T.switch(T.eq(x, 0), T.zeros_like(x * T.log(y)), x * T.log(y))


def isnan_(x: Operand) -> Any:
    """Where elements are NaN; never for whole numbers."""
    return T.isnan(x)


isinf_ = T.isinf


def ceil_intdiv(a: TensorLike, b: TensorLike) -> Any:
    """a / b rounded up, for whole numbers too."""
    a, b = T.as_tensor(a), T.as_tensor(b)
    quotient = T.floor_div(a, b)
    return quotient + T.cast(T.neq(T.mod(a, b), 0), quotient.dtype)


def divmod(x: Operand, y: Operand) -> list:
    """Quotient rounded down, and what remains."""
    return [T.floor_div(x, y), T.mod(x, y)]


div_proxy, mod_check = T.true_div, T.mod


def smallest(*args: Operand) -> Any:
    """The smallest of some arrays, element by element."""
    return args[0] if len(args) == 1 else T.minimum(*args)


def largest(*args: Operand) -> Any:
    """The largest of some arrays, element by element."""
    return args[0] if len(args) == 1 else T.maximum(*args)


def default(x: TensorLike, alternative: TensorLike | None) -> Any:
    """The first, unless it is None."""
    return alternative if x is None else x


setdefault = default


def permute_row_elements(x: TensorLike, y: TensorLike, inverse: Operand = 0) -> Any:
    """The elements of each row of x in the order that y says, or put back from it with `inverse=1`."""
    x, y = T.as_tensor(x), T.as_tensor(y)
    order = T.switch(T.neq(inverse, 0), T.argsort(y, axis=-1), T.cast(y, "int64"))
    lengths = [x.shape[d] for d in range(x.ndim)]
    return T.take_along_axis(x, T.broadcast_to(order, lengths) if order.ndim < x.ndim else order, -1)


def is_flat(var: Variable, ndim: int | None = None, outdim: int | None = None) -> bool:
    """Whether an array has so many dimensions."""
    return var.ndim == (ndim or outdim or 1)


def makeKeepDims(x: TensorLike, y: TensorLike, axis: AxisLike) -> Any:
    """The result y of a reduction of x, with the reduced axes back as lengths of 1."""
    x, y = T.as_tensor(x), T.as_tensor(y)
    gone = set(range(x.ndim)) if axis is None else set(axes_of(axis, x.ndim))
    left = iter(range(y.ndim))
    return T.dimshuffle(y, *["x" if d in gone else next(left) for d in range(x.ndim)])


def tensor_from_scalar(x: TensorLike) -> Any:
    """A number as a tensor without dimensions: here they are the same."""
    return T.as_tensor(x)


scalar_from_tensor = tensor_from_scalar
numpy_diagonal_return_view = True


def bartlett(M: Operand) -> Any:
    """The Bartlett window of M points."""
    n = T.arange(M, dtype="float64")
    half = (T.as_tensor(M) - 1) / 2.0
    return T.switch(T.le(M, 1), T.ones_like(n), 1 - T.abs_(n - half) / T.maximum(half, 0.5))


def fill_diagonal_offset(a: TensorLike, val: TensorLike, offset: Operand) -> Any:
    """The matrix with a value on the diagonal that lies `offset` to the right of the main one."""
    a = T.as_tensor(a)
    rows, columns = T.arange(a.shape[0]), T.arange(a.shape[1])
    there = T.eq(T.dimshuffle(columns, "x", 0) - T.dimshuffle(rows, 0, "x"), offset)
    return T.switch(there, T.cast(val, a.dtype), a)


def cpu_contiguous(x: TensorLike) -> Any:
    """The array in row-major order: how arrays lie is decided when the graph is compiled, so this is the array."""
    return x


def dot(l: TensorLike, r: TensorLike) -> Any:
    """The product of two arrays, dense or sparse."""
    return T.dot(l, r)


def register_transfer(fn: Callable[..., Any]) -> None:
    """Accepted: where arrays are is decided when the graph is compiled."""


def shape_of_variables(fgraph: FunctionGraph, input_shapes: dict) -> dict:
    """The shapes of all variables of a graph, for inputs of these shapes."""
    variables = [v for v in _inputs_first(fgraph) if isinstance(v, T.TensorVariable)]
    shapes = function(list(fgraph.inputs), [v.shape for v in variables], on_unused_input="ignore")
    values = [np.zeros(input_shapes[v], v.dtype) for v in fgraph.inputs]
    return {v: tuple(map(int, s)) for v, s in zip(variables, shapes(*values), strict=True)}


def _inputs_first(fgraph: FunctionGraph) -> list:
    return [*fgraph.inputs, *[v for node in fgraph.toposort() for v in node.outputs]]


# ---------------------------------------------------------------------- checks and test values
class Raise(CheckAndRaise):
    """Raises an exception when it is computed."""

    def __init__(self, msg: str = "", exc: type[Exception] = NotImplementedError) -> None:
        super().__init__(exc, msg)

    def __call__(self, x: Any, *conditions: Any) -> Any:
        return super().__call__(x, *(conditions or (T.constant(False),)))


def get_debug_values(*args: object) -> Iterator[tuple]:
    """The test values of variables, once, if `compute_test_value` asks for them."""
    if config.compute_test_value == "off":
        return
    try:
        yield tuple([get_test_value(a) for a in args])
    except AttributeError as err:
        if config.compute_test_value == "raise":
            raise ValueError(missing_test_message(str(err))) from None


def debug_error_message(msg: str) -> None:
    """Raise or print, as `compute_test_value` says."""
    if config.compute_test_value == "raise":
        raise ValueError(msg)


def debug_assert(condition: TensorLike, msg: str = "debug_assert failed") -> None:
    """Report a condition on test values that does not hold."""
    if not condition:
        debug_error_message(msg)


def missing_test_message(msg: str) -> str:
    """The text about a test value that is missing."""
    return msg


__all__ = ["OrderedUpdates", "ew"]
