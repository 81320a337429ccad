"""Rows of shapes, and of arrays made, joined and taken apart. References are NumPy's functions."""

import functools

import numpy as np

import termgraph.tensor as T

from ..table import one, params, row
from .reductions import along, moved


# ---------------------------------------------------------------------- shapes
def some_axis(c):
    c.x()
    return {"axis": c.axis()}


moved("ravel", one)
moved("matrix_transpose", one, lambda x: np.swapaxes(x, -1, -2), ranks=(2, 3, 4))
moved("flipud", one, ranks=(1, 2, 3, 4))
moved("fliplr", one, ranks=(2, 3, 4))
moved("atleast_1d", one)
moved("atleast_2d", one)
moved("atleast_3d", one)
moved("size", one, lambda x: np.asarray(x.size))
moved("shape", one, lambda x: np.asarray(x.shape, "int64"))
moved("flip", along)
moved("shape_i", some_axis, lambda x, axis: np.asarray(x.shape[axis]), ranks=(1, 2, 3, 4))


moved("ravel (order)", one, lambda x: np.ravel(x, "F"), lambda x: T.ravel(x, "F"))


def _flatten(c):
    c.x()
    return {"ndim": c.structure.randint(1, max(c.rank, 1))}


moved("flatten", _flatten, lambda x, ndim: x.reshape((*x.shape[: ndim - 1], int(np.prod(x.shape[ndim - 1 :])))))


def _transpose(c):
    c.x()
    order = list(range(c.rank))
    c.structure.shuffle(order)
    return {"axes": c.pick(None, tuple(order))}


moved("transpose", _transpose, lambda x, axes: np.transpose(x, axes), lambda x, axes: T.transpose(x, *(axes or ())))


def _dimshuffle(c):
    c.x()
    order = [*range(c.rank), "x"]
    c.structure.shuffle(order)
    return {"order": tuple(order)}


def _dimshuffled(x, order):
    moved_ = np.transpose(x, [k for k in order if k != "x"])
    return moved_[tuple(None if k == "x" else slice(None) for k in order)]


moved("dimshuffle", _dimshuffle, _dimshuffled, lambda x, order: T.dimshuffle(x, *order), ranks=(0, 1, 2, 3))


def _two_axes(c):
    c.x()
    return {"a": c.axis(), "b": c.axis()}


moved("swapaxes", _two_axes, lambda x, a, b: np.swapaxes(x, a, b), lambda x, a, b: T.swapaxes(x, a, b), ranks=(1, 2, 3, 4))
moved("moveaxis", _two_axes, lambda x, a, b: np.moveaxis(x, a, b), lambda x, a, b: T.moveaxis(x, a, b), ranks=(1, 2, 3, 4))
moved("rollaxis", _two_axes, lambda x, a, b: np.rollaxis(x, a, b), lambda x, a, b: T.rollaxis(x, a, b), ranks=(1, 2, 3, 4))
moved("expand_dims", some_axis, ranks=(1, 2, 3, 4))
moved("shape_padaxis", some_axis, np.expand_dims, ranks=(1, 2, 3, 4))
moved("shape_padleft", one, lambda x: x[None])
moved("shape_padright", one, lambda x: x[..., None])


def _squeeze(c):
    at = c.structure.randrange(c.rank + 1)
    shape = c.shape()
    c.x(shape=(*shape[:at], 1, *shape[at:]), known=(*[None] * at, 1, *[None] * (c.rank - at)))
    return {"axis": at}


moved("squeeze", _squeeze, ranks=(0, 1, 2, 3))


def _reshape(c):
    """Two neighbours become one dimension, or one is taken apart by a length that fits."""
    if c.rank > 1 and c.flip():
        c.x()
        at = c.structure.randrange(c.rank - 1)
        return {"how": "join", "at": at}
    at = c.structure.randrange(c.rank) if c.rank else 0
    shape = list(c.shape())
    if shape:
        shape[at] *= 3
    c.x(shape=shape)
    return {"how": "part", "at": at} if shape else {"how": "lift", "at": 0}


def _reshaped(reshape):
    def run(x, how, at):
        shape = [x.shape[k] for k in range(x.ndim)]
        if how == "join":
            return reshape(x, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]))
        if how == "part":
            return reshape(x, (*shape[:at], shape[at] // 3, 3, *shape[at + 1 :]))
        return reshape(x, (1, -1))

    return run


moved("reshape", _reshape, _reshaped(np.reshape), _reshaped(T.reshape))
moved("reshape (order)", _reshape, *(_reshaped(functools.partial(f, order="F")) for f in (np.reshape, T.reshape)))


def _broadcast_to(c):
    n, shape = 3, c.shape()
    c.x(shape=(*shape[:1], 1, *shape[1:]), known=(*(None,) * min(c.rank, 1), 1, *(None,) * max(c.rank - 1, 0)))
    return {"front": 2, "n": n}


def _stretched(broadcast_to):
    return lambda x, front, n: broadcast_to(x, (front, *(n if k == min(x.ndim - 1, 1) else x.shape[k] for k in range(x.ndim))))


moved("broadcast_to", _broadcast_to, _stretched(np.broadcast_to), _stretched(T.broadcast_to), ranks=(0, 1, 2, 3))


def _broadcasting(c):
    c.x()
    c.partner()


moved("broadcast_arrays", _broadcasting, lambda *xs: list(np.broadcast_arrays(*xs)))
moved("broadcast_shape", _broadcasting, lambda x, y: list(np.broadcast_shapes(x.shape, y.shape)),
      lambda x, y: T.broadcast_shape(x, y), ranks=(1, 2, 3), smooth=False)  # fmt: skip
moved("specify_shape", one, lambda x: x, lambda x: T.specify_shape(x, *(None,) * x.ndim) * T.as_tensor(1, dtype="bool"),
      smooth=False)  # fmt: skip


def _one_length(c):
    shape = c.shape()
    c.x(shape=(1, *shape[1:]))


moved("addbroadcast", _one_length, lambda x: x, lambda x: T.addbroadcast(x, 0), ranks=(1, 2, 3, 4))
moved("patternbroadcast", _one_length, lambda x: x, lambda x: T.patternbroadcast(x, (True, *(False,) * (x.ndim - 1))),
      ranks=(1, 2, 3, 4))  # fmt: skip
moved("unbroadcast", lambda c: c.x(shape=(1, *c.shape()), known=(1, *(None,) * c.rank)), lambda x: x,
      lambda x: T.unbroadcast(x, 0), ranks=(0, 1, 2, 3))  # fmt: skip


# ---------------------------------------------------------------------- made, joined, taken apart
def _like(name):
    moved(f"{name}_like", params(one, dtype=lambda c: c.pick(None, "float32", "int8", "complex64")),
          smooth=False)  # fmt: skip


_like("zeros")
_like("ones")
moved("empty_like", one, lambda x: np.asarray(x.shape, "int64"), lambda x: T.shape(T.empty_like(x)), smooth=False)
moved("full_like", params(lambda c: c.x(), fill_value=lambda c: c.pick(0, 1, 3)), smooth=False)


def _filled(c):
    return {"shape": tuple(c.structure.randrange(4) for _ in range(c.rank)), "dtype": c.dtype}


def _of_dtype(f):
    def run(dtype, **params):
        made = f(**params, dtype="float32" if dtype == "bfloat16" else dtype)
        return made.astype(np.dtype("float32")) if dtype == "bfloat16" else made

    return run


for name in ["zeros", "ones"]:
    moved(name, _filled, _of_dtype(getattr(np, name)), special=False, smooth=False)
moved("empty", _filled, lambda shape, dtype: np.asarray(shape, "int64"), lambda shape, dtype: T.shape(T.empty(shape, dtype)),
      special=False, smooth=False)  # fmt: skip
moved("full", lambda c: {**_filled(c), "fill_value": c.pick(0, 1, 3)}, _of_dtype(np.full), special=False, smooth=False)


def _alloc(c):
    c.x()
    c.given(np.asarray(c.values.integers(0, 4), "int64"))


moved("alloc", _alloc, lambda x, n: np.broadcast_to(x, (int(n), 2, *x.shape)),
      lambda x, n: T.alloc(x, n, 2, *(x.shape[k] for k in range(x.ndim))), ranks=(0, 1, 2))  # fmt: skip


def _range(c):
    c.x(-3, 3, special=False)
    return {"length": c.structure.randint(1, 5), "dtype": None if c.flip() else c.pick("float32", "int64")}


SCALARS = {"ranks": (0,), "special": False}
WHOLE = ("int8", "int16", "int32", "int64", "float32", "float64")
moved("arange", lambda c: [c.x(-2, 3, integral=True), c.x(3, 7, integral=True)], lambda a, b: np.arange(a, b),
      lambda a, b: T.arange(a, b), dtypes=WHOLE, smooth=False, **SCALARS)  # fmt: skip
moved("arange (step)", lambda c: c.x(1, 6, integral=True), lambda n: np.arange(3, -n, -2), lambda n: T.arange(3, -n, -2),
      dtypes=WHOLE, smooth=False, **SCALARS)  # fmt: skip


def _spaced(c):
    c.x(1, 3)
    c.x(4, 6)
    return {"num": c.structure.randint(0, 6), "endpoint": c.flip()}


for name in ["linspace", "logspace", "geomspace"]:
    moved(name, _spaced, loose=30, dtypes=("int32", "float32", "float64") if name != "geomspace" else ("int32", "float64"), ranks=(0, 1), special=False, scaled=True)


def _meshed(c):
    for _ in range(c.structure.randint(1, 3)):
        c.x(shape=(c.n(c.structure.random()),), known=(None,))
    return {"indexing": c.pick("xy", "ij"), "sparse": c.flip(0.3)}


moved("meshgrid", _meshed, lambda *xs, **params: list(np.meshgrid(*xs, **params)), ranks=(1,))


def _square_numbers(c):
    return {"n": c.structure.randint(0, 4), "m": c.structure.randint(0, 4), "k": c.structure.randint(-2, 2), "dtype": c.dtype}


EYES = {"ranks": (2,), "special": False, "smooth": False}
moved("eye", _square_numbers, _of_dtype(lambda n, m, k, dtype: np.eye(n, m, k, dtype)), **EYES)
moved("tri", _square_numbers, _of_dtype(lambda n, m, k, dtype: np.tri(n, m, k, dtype)), **EYES)
moved("identity", lambda c: {"n": c.structure.randint(0, 4), "dtype": c.dtype}, _of_dtype(np.identity), **EYES)
moved("identity_like", one, lambda x: np.eye(*x.shape, dtype=x.dtype), ranks=(2,), smooth=False)


def _with_k(c):
    c.x()
    return {"k": c.structure.randint(-2, 2)}


moved("tril", _with_k, ranks=(2, 3, 4))
moved("triu", _with_k, ranks=(2, 3, 4))
moved("diag", _with_k, ranks=(1, 2))


def _diagonal(c):
    c.x()
    a, b = c.structure.sample(range(c.rank), 2)
    return {"offset": c.structure.randint(-1, 1), "axis1": a, "axis2": b}


moved("diagonal", _diagonal, ranks=(2, 3, 4))
moved("extract_diag", _diagonal, np.diagonal, ranks=(2, 3, 4))
row("trace", T.trace, np.trace, _diagonal, ranks=(2, 3, 4), scaled=True, loose=20, special=False)


def _fill_diagonal(c):
    if c.rank > 2:
        n = c.n(0)
        c.x(shape=(n,) * c.rank)
    else:
        c.x()
    return {"value": c.pick(0, 1, 5)}


def _diagonal_filled(x, value):
    x = np.array(x)
    np.fill_diagonal(x, value)
    return x


moved("fill_diagonal", _fill_diagonal, _diagonal_filled, ranks=(2, 3))


def _joined(c):
    """Three arrays that differ in length along one axis, the second of another dtype now and then."""
    axis = c.structure.randrange(c.rank)
    shape = c.shape()
    for k in range(3):
        other = c.other_dtype() if k == 1 else c.dtype
        c.x(dtype=other, shape=(*shape[:axis], c.n(("joined", k)), *shape[axis + 1 :]))
    return {"axis": axis}


moved("concatenate", _joined, lambda *xs, axis: np.concatenate(xs, axis), lambda *xs, axis: T.concatenate(xs, axis),
      ranks=(1, 2, 3, 4))  # fmt: skip
moved("join", _joined, lambda *xs, axis: np.concatenate(xs, axis), lambda *xs, axis: T.join(axis, *xs), ranks=(1, 2, 3, 4))


def _pile(c):
    c.x()
    c.x(dtype=c.other_dtype())
    return {}


moved("stack", lambda c: {**_pile(c), "axis": c.structure.randint(-1, c.rank)}, lambda *xs, axis: np.stack(xs, axis),
      lambda *xs, axis: T.stack(xs, axis=axis), ranks=(0, 1, 2, 3))  # fmt: skip
for name in ["vstack", "hstack", "dstack"]:
    moved(name, _pile, lambda *xs, f=getattr(np, name): f(xs), lambda *xs, f=getattr(T, name): f(xs))
moved("column_stack", _pile, lambda *xs: np.column_stack(xs), lambda *xs: T.column_stack(xs), ranks=(1, 2, 3))
moved("unstack", params(lambda c: c.x(shape=(3, *c.shape()[1:]), known=(3, *(None,) * (c.rank - 1))), axis=lambda c: 0),
      lambda x, axis: list(np.moveaxis(x, axis, 0)), ranks=(1, 2, 3, 4))  # fmt: skip


def _in_parts(c):
    axis = c.structure.randrange(c.rank)
    shape = list(c.shape())
    shape[axis] *= 3
    c.x(shape=shape)
    return {"indices_or_sections": c.pick(3, [1, 2], [0, 5]), "axis": axis}


moved("split", _in_parts, ranks=(1, 2, 3, 4))


def _in_unequal_parts(c):
    c.x()
    return {"indices_or_sections": c.pick(2, 3, [1, 2]), "axis": c.structure.randrange(c.rank)}


moved("array_split", _in_unequal_parts, ranks=(1, 2, 3, 4))


def _in_halves(axis):
    def draw(c):
        shape = list(c.shape())
        shape[min(axis, c.rank - 1)] *= 2
        c.x(shape=shape)
        return {"indices_or_sections": 2}

    return draw


moved("vsplit", _in_halves(0), ranks=(2, 3, 4))
moved("hsplit", _in_halves(1), ranks=(1, 2, 3, 4))
moved("dsplit", _in_halves(2), ranks=(3, 4))


def _tile(c):
    c.x()
    return {"reps": tuple(c.structure.randint(0, 3) for _ in range(c.structure.randint(1, 3)))}


moved("tile", _tile, ranks=(0, 1, 2, 3))


def _repeat(c):
    c.x()
    return {"repeats": c.structure.randint(0, 3), "axis": None if not c.rank or c.flip(0.3) else c.axis()}


moved("repeat", _repeat)


def _repeat_each(c):
    axis = c.axis()
    x = c.x()
    c.given(c.values.integers(0, 3, x.shape[axis]))
    return {"axis": axis}


moved("repeat (each)", _repeat_each, lambda x, n, axis: np.repeat(x, n, axis), lambda x, n, axis: T.repeat(x, n, axis),
      ranks=(1, 2, 3))  # fmt: skip


def _roll(c):
    c.x()
    return {"shift": c.structure.randint(-3, 7), "axis": None if not c.rank or c.flip(0.3) else c.axis()}


moved("roll", _roll)


def _rot90(c):
    c.x()
    return {"k": c.structure.randint(-2, 4), "axes": tuple(c.structure.sample(range(c.rank), 2))}


moved("rot90", _rot90, ranks=(2, 3, 4))


def _padded(c):
    c.at_least(2, False).x()
    return {"pad_width": [(c.structure.randint(0, 3), c.structure.randint(0, 3)) for _ in range(c.rank)],
            "mode": c.pick("constant", "edge", "wrap", "symmetric", "reflect")}  # fmt: skip


moved("pad", _padded, ranks=(1, 2, 3))
moved("pad (ramp)", lambda c: {**_padded(c), "mode": "linear_ramp"}, np.pad, T.pad, ranks=(1, 2), special=False, scaled=True,
      dtypes=("float32", "float64"))  # fmt: skip
moved("pad (odd)", lambda c: {**_padded(c), "mode": c.pick("reflect", "symmetric"), "reflect_type": "odd"}, np.pad, T.pad,
      ranks=(1, 2), special=False, scaled=True, dtypes=("float64", "int16"))  # fmt: skip
moved("pad (statistics)", lambda c: {**_padded(c), "mode": c.pick("maximum", "mean", "minimum"), "stat_length": c.pick(None, 1, 2)},
      np.pad, T.pad, ranks=(1, 2), special=False, scaled=True, smooth=False, dtypes=("float64",))  # fmt: skip
