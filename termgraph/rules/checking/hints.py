"""Terms for rules that random drawing hardly ever meets: parts of one array side by side, exact counts of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.config import config
from termgraph.rules.checking.draw import Draw
from termgraph.tensor.bipartite import variables_of
from termgraph.tensor.variable import Apply
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.op import OPS, Op
from termgraph.terms.ops.convolution import INPUTS
from termgraph.terms.term import Const, mk
from termgraph.terms.types import TensorType


def _op(name: str, **params: Any) -> Any:
    return OPS[name].bind(**params) if params else OPS[name]


def _slices_side_by_side(d: Draw) -> Any:
    """`join(x[:k], x[k:m])` along one axis."""
    x = d.input(d.rng.choice(((4,), (4, 2), (2, 5))), d.some_dtype())
    axis = d.rng.randrange(x.type.ndim)
    n = x.type.shape[axis]
    middle = d.rng.randint(1, n - 1)
    last = d.rng.choice((None, n))
    before = (("s", None, None, None),) * axis
    parts = [
        mk(_op("subtensor", index=(*before, ("s", low, high, None))), (x,))
        for low, high in ((d.rng.choice((None, 0)), middle), (middle, last))
    ]
    return mk(_op("join", axis=axis), tuple(parts))


def _negative_power(d: Draw) -> Any:
    """`x ** -3`, of an array that is no constant."""
    x = d.input(d.rng.choice(((), (3,), (2, 3))), d.rng.choice(("float64", "float32")))
    return mk(_op("pow"), (x, Const(np.asarray(d.rng.choice((-2, -3, -4)), x.type.dtype))))


def _negative_sum(d: Draw) -> Any:
    """`-(x + (y + 3))` of whole numbers."""
    x, y = (d.input((2,), "int64") for _ in range(2))
    return mk(_op("neg"), (mk(_op("add"), (x, mk(_op("add"), (y, Const(np.asarray(3)))))),))


def _all_items(d: Draw) -> Any:
    """`make_vector(x[0], x[1], x[2])`."""
    x = d.input((d.rng.choice((1, 2, 3)),), d.some_dtype())
    items = [mk(_op("subtensor", index=(k,)), (x,)) for k in range(x.type.shape[0])]
    return mk(_op("make_vector", dtype=x.type.dtype), tuple(items))


def _variance(d: Draw) -> Any:
    """`sum(x**2) / n - (sum(x) / n)**2`."""
    x = d.input(d.rng.choice(((4,), (3, 4), (2, 5))), d.rng.choice(("float64", "float32")))
    axis = d.rng.choice([(a,) for a in range(x.type.ndim)] + [tuple(range(x.type.ndim))])
    n = Const(np.asarray(np.prod([x.type.shape[a] for a in axis]), dtype=x.type.dtype))
    total = _op("sum", axis=axis, dtype=x.type.dtype)
    divide, square = _op("true_div"), _op("sqr")
    squares = divide(mk(total, (mk(square, (x,)),)), n)
    return mk(_op("sub"), (squares, mk(square, (divide(mk(total, (x,)), n),))))


def _deviations(name: str) -> Callable[[Draw], Any]:
    """The sum of `x - mean(x)` and something else."""

    def made(d: Draw) -> Any:
        dtype = d.rng.choice(("float64", "float32"))
        x, z = d.input((3, 4), dtype), d.input((3, 4), dtype)
        axis = d.rng.choice((0, 1))
        total = _op("sum", axis=(axis,), dtype=dtype)
        mean = _op("true_div")(mk(total, (x,)), Const(np.asarray(x.type.shape[axis], dtype)))
        spread = mk(_op("dimshuffle", order=("x", 0) if axis == 0 else (0, "x")), (mean,))
        scaled = mk(_op("mul"), (d.input((), dtype), mk(_op("sub"), (x, spread))))
        return mk(total, (mk(_op(name), (scaled, z)),))

    return made


def _masked(name: str) -> Callable[[Draw], Any]:
    """Elements that a mask picks: written over, added to, or added up."""

    def made(d: Draw) -> Any:
        dtype = d.rng.choice(("float64", "float32"))
        x = d.input(d.rng.choice(((4,), (3, 4))), dtype)
        mask = d.input(x.type.shape, "bool")
        n = x.type.ndim
        found = mk(_op("nonzero"), (mask,))
        places = tuple([mk(_op("nth", i=k), (found,)) for k in range(n)])
        index = _op(name, index=("a",) * n)
        if name == "gather":
            return mk(_op("sum", axis=(0,), dtype=dtype), (mk(index, (x, *places)),))
        return mk(index, (x, d.input((), dtype), *places))

    return made


def _scattered_rows(d: Draw) -> Any:
    """The row sums of numbers scattered into zeros, one in each row."""
    dtype = d.rng.choice(("float64", "float32"))
    ends = Const(np.asarray(0)), Const(np.asarray(3)), Const(np.asarray(1))
    at = mk(_op("arange", dtype="int64"), ends), d.input((3,), "int64", (0, 3))
    zeros, y = Const(np.zeros((3, 4), dtype)), d.input((3,), dtype)
    scattered = mk(_op("scatter_add", index=("a", "a")), (zeros, y, *at))
    return mk(_op("sum", axis=(1,), dtype=dtype), (scattered,))


def _at_labels(sign: int, beside: str = "") -> Callable[[Draw], Any]:
    """`y * scatter_add(0, z / y[rows, labels], rows, labels)`, with something beside the sum."""

    def made(d: Draw) -> Any:
        dtype = d.rng.choice(("float64", "float32"))
        y = d.input((3, 4), dtype, None, d.rng.choice((frozenset(), frozenset(("nonzero",)))))
        z, w = d.input((3,), dtype), d.input((3, 4), dtype)
        at = (Const(np.arange(3)), d.input((3,), "int64", (0, 3)))
        index = ("a", "a")
        over = _op("true_div")(z, mk(_op("gather", index=index), (y, *at)))
        over = over if sign > 0 else mk(_op("neg"), (over,))
        total = mk(_op("scatter_add", index=index), (Const(np.zeros((3, 4), dtype)), over, *at))
        return mk(_op("mul"), (y, mk(_op(beside), (total, w)) if beside else total))

    return made


def _whole_range(d: Draw) -> Any:
    """`x[arange(x.shape[0])]`."""
    x = d.input(d.rng.choice(((4,), (3, 2))), d.some_dtype())
    x, _ = d.weakened(x)
    d.slots[x] = d.slots.pop(next(iter(d.slots)))
    ends = Const(np.asarray(0)), mk(_op("shape_i", axis=0), (x,)), Const(np.asarray(1))
    return mk(_op("gather", index=("a",)), (x, mk(_op("arange", dtype="int64"), ends)))


def _joined_numbers(d: Draw) -> Any:
    """`join([a, b], [c])`."""
    dtype = d.some_dtype()
    parts = [mk(_op("make_vector", dtype=dtype), tuple([d.input((), dtype) for _ in range(n)])) for n in (2, 1)]
    return mk(_op("join", axis=0), tuple(parts))


def _added_zeros(d: Draw) -> Any:
    """`x` with zeros added to a part of it."""
    x = d.input((4, 2), d.some_dtype())
    return mk(_op("inc_subtensor", index=(1,)), (x, Const(np.zeros(d.rng.choice(((), (2,))), x.type.dtype))))


def _scattered_zeros(d: Draw) -> Any:
    """`x` with zeros added at some places."""
    x, at = d.input((4, 2), d.some_dtype()), d.input((3,), "int64", (0, 3))
    return mk(_op("scatter_add", index=("a",)), (x, Const(np.zeros(d.rng.choice(((), (3, 2))), x.type.dtype)), at))


def _added_to_zeros(d: Draw) -> Any:
    """An array added to a part of zeros."""
    dtype = d.some_dtype()
    return mk(_op("inc_subtensor", index=(1,)), (Const(np.zeros((4, 2), dtype)), d.input((2,), dtype)))


def _two_parts(inner: str, outer: str, back: bool = False) -> Callable[[Draw], Any]:
    """What is written up to a place and from there on, or the other way round."""

    def made(d: Draw) -> Any:
        dtype, at = d.rng.choice(("float64", "float32")), d.rng.choice((1, 2, -1))
        parts = [(("s", None, at, None), at % 4), (("s", at, None, None), 4 - at % 4)]
        (first, n), (second, m) = parts[::-1] if back else parts
        x = Const(np.zeros((4, 2), dtype)) if inner != outer else d.input((4, 2), dtype)
        written = mk(_op(inner, index=(first,)), (x, d.input((n, 2), dtype)))
        return mk(_op(outer, index=(second,)), (written, d.input((m, 2), dtype)))

    return made


def _written_beside(name: str, write: str, last: bool = False) -> Callable[[Draw], Any]:
    """Something written into zeros, added to an array of the same type or less it."""

    def made(d: Draw) -> Any:
        dtype = d.rng.choice(("float64", "float32"))
        x, zeros = d.input((4, 2), dtype), Const(np.zeros((4, 2), dtype))
        if write == "scatter_add":
            part = d.input((3, 2), dtype), d.input((3,), "int64", (0, 3))
            written = mk(_op(write, index=("a",)), (zeros, *part))
        else:
            written = mk(_op(write, index=(1,)), (zeros, d.input((2,), dtype)))
        return mk(_op(name), (x, written) if last else (written, x))

    return made


def _of_unit_matrix(name: str, **params: Any) -> Callable[[Draw], Any]:
    """A function of `eye(n)`, of a length that is not known when the graph is made."""

    def made(d: Draw) -> Any:
        n = d.input((), "int64", (3, 3))
        dtype = d.rng.choice(("float64", "float32"))
        return mk(_op(name, **params), (mk(_op("eye", dtype=dtype), (n, n, Const(np.asarray(0)))),))

    return made


def _by_power_of_two(name: str) -> Callable[[Draw], Any]:
    """`x // 4` or `x % 4` of integers."""

    def made(d: Draw) -> Any:
        x = d.input(d.shape(), d.rng.choice(("int64", "int32", "int8")))
        return mk(_op(name), (x, Const(np.asarray(d.rng.choice((2, 4, 8)), x.type.dtype))))

    return made


def _between_devices(d: Draw) -> Any:
    """An array on one device, copied to another through the host."""
    x = d.input(d.shape(), d.some_dtype())
    return mk(_op("gpu_from_host", device=0), (mk(_op("host_from_gpu", device=1), (x,)),))


def _sparse_arrays(d: Draw) -> tuple[Any, ...]:
    """The arrays of a sparse matrix of three rows and four columns, with an empty row."""
    rest = (np.asarray([1, 3, 0], "int32"), np.asarray([0, 2, 2, 3], "int32"), np.asarray([3, 4]))
    return (d.input((3,), d.rng.choice(("float64", "float32", "int64"))), *map(Const, rest))


def _of_sparse(name: str) -> Callable[[Draw], Any]:
    """A part of a sparse matrix made of arrays."""
    return lambda d: mk(_op(name), (mk(_op("csm", format="csr"), _sparse_arrays(d)),))


def _length_of_sparse(name: str, axis: int = 0) -> Callable[[Draw], Any]:
    """The length of what is computed of the arrays of a sparse matrix."""

    def made(d: Draw) -> Any:
        data, indices, indptr, _ = _sparse_arrays(d)
        if name == "csm_dot":
            x = d.input(d.rng.choice(((4,), (4, 2))), data.type.dtype)
            return mk(_op("shape_i", axis=0), (mk(_op(name, format="csr"), (data, indices, indptr, Const(3), x)),))
        if name == "csm_sample":
            rows = Const(np.asarray([0, 0, 2], "int32"))
            x, y = d.input((3,), data.type.dtype), d.input((4,), data.type.dtype)
            return mk(_op("shape_i", axis=0), (mk(_op(name), (rows, indices, x, y)),))
        if name == "csm_dense":
            whole = mk(_op(name, format="csr"), (data, indices, indptr, Const(3), Const(4)))
            return mk(_op("shape_i", axis=axis), (whole,))
        if name == "csm_diagonal":
            return mk(_op("shape_i", axis=0), (mk(_op(name), (data, indices, indptr, Const(2))),))
        return mk(_op("shape_i", axis=0), (mk(_op(name), (d.input((3,), "int32"), indptr)),))

    return made


def _common_factor(d: Draw) -> Any:
    """`(x * y) / (y * z)`, or numbers above and below the line: all that quotients are rewritten for."""
    dtype = d.rng.choice(("float64", "float32"))
    x, y, z = (d.input((3,), dtype) for _ in range(3))
    if d.rng.random() < 0.5:
        x, y, z = x, Const(np.asarray([2.0], dtype)), mk(_op("mul"), (Const(np.asarray([4.0], dtype)), z))
    return mk(_op("true_div"), (mk(_op("mul"), (x, y)), mk(_op("mul"), (y, z))))


def _rest_below_divisor(d: Draw) -> Any:
    """`(i * c + k) // d`: d is a multiple of c, and k below c."""
    c, times = d.rng.choice((2, 3, 4, 12)), d.rng.choice((1, 2, 3))

    def number(n: int) -> Any:
        return Const(np.int64(n))

    def within(least: int, most: int) -> Any:
        return mk(_op("between"), (d.input((3,), "int64", (least, most)), number(least), number(most)))

    total = mk(_op("add"), (mk(_op("mul"), (within(-50, 50), number(c))), within(0, c - 1)))
    return mk(_op("floor_div"), (total, number(c * times)))


class _Padded(Op):
    """An op of a user that says how long its result is: one element more than its argument."""

    __props__ = ()

    def make_node(self, x: object) -> Apply:
        x = as_tensor(x)
        return Apply(self, [x], [TensorType(x.type.dtype, (None,))()])

    def perform(self, node: Apply, inputs: list[Any], outputs: list[Any]) -> None:
        outputs[0][0] = np.append(inputs[0], inputs[0][:1] * 0) if len(inputs[0]) else np.zeros(1, inputs[0].dtype)

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return [(shapes[0][0] + 1,)]


def _declared_length(d: Draw) -> Any:
    """The length of what an op of a user gives that says it."""
    x = d.input((d.rng.choice((1, 3)),), d.rng.choice(("float64", "float32", "int64")))
    with config.change_flags({"traceback.limit": 0, "compute_test_value": "off"}):
        (v,) = variables_of([x])
        return mk(_op("shape_i", axis=0), (_Padded()(v).term,))


def _by_cut_filters(d: Draw) -> Any:
    """The images' gradient of a convolution whose filters are cut to a number of taps that is computed."""
    groups, channels, taps, places, e = map(d.rng.choice, ((1, 2), (1, 2), (1, 2, 3), (1, 3), (1, 2)))
    dtype, whole = d.rng.choice(("float64", "float32")), ("s", None, None, None)
    wide, k = d.input((2 * groups, channels, 4), dtype), d.input((), "int64", (taps, taps))
    w = mk(_op("subtensor", index=(whole, whole, ("s", None, "?", None))), (wide, k))
    border: Any = d.rng.choice(("valid", ((0, 0),), ((1, 0),), ((0, 2),)))
    n = d.input((), "int64", (places + (taps - 1) * e - (0 if border == "valid" else sum(border[0])),) * 2)
    how = {"stride": (1,), "dilation": (e,), "border": border, "groups": groups, "flip": False}
    return mk(_op(INPUTS, **how), (w, d.input((2, 2 * groups, places), dtype), n))


HINTS: dict[str, Callable[[Draw], Any]] = {
    **{f"sparse.{part}": _of_sparse(f"csm_{part}") for part in ("data", "indices", "indptr", "shape")},
    "shapes.declared": _declared_length,
    "collect.quotient": _common_factor,
    "collect.integer_negation": _negative_sum,
    "quotients.drop": _rest_below_divisor,
    "sparse.length_majors": _length_of_sparse("csm_majors"),
    "sparse.length_dot": _length_of_sparse("csm_dot"),
    "sparse.length_sample": _length_of_sparse("csm_sample"),
    "sparse.rows_dense": _length_of_sparse("csm_dense"),
    "sparse.columns_dense": _length_of_sparse("csm_dense", axis=1),
    "sparse.length_diagonal": _length_of_sparse("csm_diagonal"),
    "conv_by_panels.inputs_stride_1": _by_cut_filters,
    "joins.of_slices": _slices_side_by_side,
    "joins.of_items": _all_items,
    "joins.of_numbers": _joined_numbers,
    "indexing.gather_range": _whole_range,
    "writes.inc_zero": _added_zeros,
    "writes.add_zero": _scattered_zeros,
    "writes.inc_zeros": _added_to_zeros,
    "writes.set_front": _two_parts("set_subtensor", "set_subtensor"),
    "writes.set_back": _two_parts("set_subtensor", "set_subtensor", back=True),
    "writes.inc_front": _two_parts("inc_subtensor", "inc_subtensor"),
    "writes.inc_back": _two_parts("inc_subtensor", "inc_subtensor", back=True),
    "writes.zeros_front": _two_parts("set_subtensor", "inc_subtensor"),
    "writes.zeros_back": _two_parts("set_subtensor", "inc_subtensor", back=True),
    "writes.add_set": _written_beside("add", "set_subtensor"),
    "masks.set": _masked("scatter_set"),
    "masks.add": _masked("scatter_add"),
    "masks.sum": _masked("gather"),
    "writes.add_scatter": _written_beside("add", "scatter_add"),
    "writes.minus_scatter": _written_beside("sub", "scatter_add", last=True),
    "writes.scatter_minus": _written_beside("sub", "scatter_add"),
    "determinants.unit": _of_unit_matrix("det"),
    "matrix_inverses.unit": _of_unit_matrix("inv"),
    "factorizations.cholesky_unit": _of_unit_matrix("cholesky", lower=True),
    "small_powers.negative": _negative_power,
    "divisions.floor_div": _by_power_of_two("floor_div"),
    "divisions.mod": _by_power_of_two("mod"),
    "moments.variance": _variance,
    "placement.across": _between_devices,
    "deviations.vanish": _deviations("add"),
    "deviations.vanish_from": _deviations("sub"),
    "writes.sum_scatter": _scattered_rows,
    "cancellations.labels": _at_labels(1),
    "cancellations.labels_neg": _at_labels(-1),
    "cancellations.labels_minus": _at_labels(1, "sub"),
    "cancellations.labels_neg_minus": _at_labels(-1, "sub"),
    "cancellations.labels_plus": _at_labels(1, "add"),
    "cancellations.labels_neg_plus": _at_labels(-1, "add"),
}
