"""Graphs alone, there and back: `from_pytensor`, `to_pytensor`, and our rules for PyTensor's graphs: `rewrite`."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import graph_inputs, toposort

import termgraph as tg
from termgraph.pytensor.conversion import BridgeError, Conversion, variable_for
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import variable_of_term
from termgraph.terms.op import CONST, INPUT
from termgraph.terms.term import AnyTerm, as_term
from termgraph.terms.traverse import children_first


# ---------------------------------------------------------------------- in
def from_pytensor(given: Any, names: MutableMapping | None = None, strict: bool = False) -> Any:
    """The variable of termgraph for one of PyTensor; a list gives a list.

    Inputs, shared variables among them, become inputs of the same type and name. `names`, if given, is a dictionary
    that receives PyTensor's input -> ours, and what it holds already is used: `to_pytensor` takes it to come back.
    Variables keep the user's line, so that `f.trace` and errors name it.

    >>> import pytensor.tensor as pt
    >>> x = pt.dvector("x")
    >>> from_pytensor(pt.log(1 + pt.exp(x))).term
    log(add(cast(dimshuffle{order=('x',)}(1)), exp(x)))
    """
    several = isinstance(given, (list, tuple))
    outputs = list(given) if several else [given]
    names = {} if names is None else names
    for v in graph_inputs(outputs):
        if not isinstance(v, Constant) and v not in names:
            names[v] = variable_for(v.type, v.name)
    made = Conversion(strict).graph(toposort(outputs), outputs, dict(names))
    return made if several else made[0]


# ---------------------------------------------------------------------- out
_ALIKE = """
add mul sub true_div mod pow neg abs sign sqr sqrt reciprocal maximum minimum floor ceil trunc exp exp2 expm1
log log2 log10 log1p logaddexp sigmoid softplus log1mexp sin cos tan arcsin arccos arctan arctan2 sinh cosh
tanh arcsinh arccosh arctanh deg2rad rad2deg erf erfc erfcx erfinv erfcinv gamma gammaln gammainc gammaincc j0
j1 jv i0 i1 iv lt gt le ge eq neq isnan isinf invert switch clip complex real imag conj dot matmul
"""

SAME = {  # ours -> PyTensor's, with the same operands
    **{name: name for name in _ALIKE.split()},
    "floor_div": "int_div", "round": "round", "digamma": "psi", "polygamma": "polygamma",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
}  # fmt: skip


def _logical(f: Callable) -> Callable:
    return lambda t, *xs: f(*[x if x.type.dtype == "bool" else pt.neq(x, 0) for x in xs])


def _read(t: AnyTerm, x: TensorVariable, *operands: TensorVariable) -> Any:
    return x[_index(t, operands)]


def _written(change: Callable) -> Callable:
    return lambda t, x, y, *operands: change(x[_index(t, operands)], y)


def _index(t: AnyTerm, operands: tuple) -> tuple:
    """The index of a term as Python writes it."""
    given = iter(operands)

    def part(p: TensorLike) -> Any:
        return next(given) if p in ("?", "a") else p

    return tuple([slice(*map(part, e[1:])) if isinstance(e, tuple) else part(e) for e in t.op.params["index"]])


def _all_axes(f: Callable) -> Callable:
    return lambda t, x: f(x, axis=tuple(t.op.params["axis"]))


def _one_axis(f: Callable) -> Callable:
    def made(t: AnyTerm, x: TensorLike) -> Any:
        axis = t.op.params["axis"]
        axes = tuple(axis) if isinstance(axis, tuple) else (axis,)
        return f(x, axis=None if len(axes) != 1 else axes[0])

    return made


def _specified(t: AnyTerm, x: object, *lengths: TensorVariable) -> Any:
    given = iter(lengths)
    return pt.specify_shape(x, tuple([next(given) if known else None for known in t.op.params["known"]]))


OUTWARD: dict[str, Callable] = {  # ours -> a function of the term and PyTensor's operands
    "cast": lambda t, x: pt.cast(x, t.op.params["dtype"]),
    "logical_and": _logical(lambda *xs: pt.and_(*xs)), "logical_or": _logical(lambda *xs: pt.or_(*xs)),
    "logical_xor": _logical(lambda a, b: pt.neq(a, b)), "logical_not": _logical(pt.invert),
    "left_shift": lambda t, a, b: a * 2**b, "right_shift": lambda t, a, b: a // 2**b,
    "fma": lambda t, a, b, c: a * b + c, "xlogy": lambda t, a, b: pt.switch(pt.eq(a, 0), 0, a * pt.log(b)),
    "isfinite": lambda t, x: pt.invert(pt.isnan(x) | pt.isinf(x)),
    "dimshuffle": lambda t, x: x.dimshuffle(*t.op.params["order"]),
    "reshape": lambda t, x, *lengths: x.reshape(tuple(lengths), ndim=len(lengths)),
    "alloc": lambda t, x, *lengths: pt.alloc(x, *lengths),
    "shape_i": lambda t, x: x.shape[t.op.params["axis"]],
    "make_vector": lambda t, *xs: pt.stack(xs).astype(t.op.params["dtype"]),
    "join": lambda t, *xs: pt.concatenate(xs, axis=t.op.params["axis"]),
    "arange": lambda t, *xs: pt.arange(*xs, dtype=t.op.params["dtype"]),
    "eye": lambda t, *xs: pt.eye(*xs, dtype=t.op.params["dtype"]),
    "diagonal": lambda t, x: pt.diagonal(x, t.op.params["offset"], x.ndim - 2, x.ndim - 1),
    "alloc_diag": lambda t, x: pt.basic.alloc_diag(x, t.op.params["offset"], x.ndim - 1, x.ndim),
    "specify_shape": _specified, "unbroadcast": lambda t, x: pt.unbroadcast(x, *t.op.params["axis"]),
    "sum": lambda t, x: pt.sum(x, axis=t.op.params["axis"], dtype=t.op.params["dtype"]),
    "prod": lambda t, x: pt.prod(x, axis=t.op.params["axis"], dtype=t.op.params["dtype"]),
    "max": _all_axes(pt.max), "min": _all_axes(pt.min), "any": _all_axes(pt.any), "all": _all_axes(pt.all),
    "argmax": _one_axis(pt.argmax), "argmin": _one_axis(pt.argmin), "logsumexp": _all_axes(pt.logsumexp),
    "cumsum": _one_axis(pt.cumsum), "cumprod": _one_axis(pt.cumprod), "sort": _one_axis(pt.sort),
    "argsort": _one_axis(pt.argsort), "softmax": _one_axis(pt.special.softmax),
    "log_softmax": _one_axis(pt.special.log_softmax),
    "subtensor": _read, "gather": _read, "set_subtensor": _written(pt.set_subtensor),
    "inc_subtensor": _written(pt.inc_subtensor), "scatter_set": _written(pt.set_subtensor),
    "scatter_add": _written(pt.inc_subtensor),
    "cholesky": lambda t, a: pt.linalg.cholesky(a, lower=t.op.params["lower"]),
    "solve_triangular": lambda t, a, b: pt.linalg.solve_triangular(
        a, b, b_ndim=2, **{k: t.op.params[k] for k in ("lower", "trans", "unit_diagonal")}
    ),
    "solve": lambda t, a, b: pt.linalg.solve(a, b, assume_a=t.op.params["assume_a"], b_ndim=2),
    "inv": lambda t, a: pt.linalg.inv(a), "det": lambda t, a: pt.linalg.det(a),
    "slogdet": lambda t, a: list(pt.linalg.slogdet(a)), "nth": lambda t, several: several[t.op.params["i"]],
}  # fmt: skip


def to_pytensor(given: Any, names: MutableMapping | None = None) -> Any:
    """The variable of PyTensor for a variable or a term of termgraph; a list gives a list.

    `names` says which of PyTensor's inputs are which of ours, as `from_pytensor` left it; other inputs are made, and
    added. An op that PyTensor lacks, a loop among them, is a BridgeError that names it.

    >>> import pytensor.tensor as pt, termgraph as tg
    >>> x, names = pt.dvector("x"), {}
    >>> back = to_pytensor(tg.rewrite(from_pytensor(pt.log(1 + pt.exp(x)), names)), names)
    >>> back.owner.op.scalar_op.__class__.__name__, back.owner.inputs[0] is x
    ('Softplus', True)
    """
    several = isinstance(given, (list, tuple)) and not hasattr(given, "op")
    terms = [as_term(v) for v in (given if several else [given])]
    names = {} if names is None else names
    made: dict[Any, Any] = {as_term(ours): theirs for theirs, ours in names.items()}
    for t in children_first(terms):
        if t not in made:
            made[t] = _out(t, [made[a] for a in t.args], names)
    found = [made[t] for t in terms]
    return found if several else found[0]


def _out(t: Any, operands: list[Any], names: MutableMapping) -> Any:
    if t.op is CONST:
        return pt.constant(t.value, dtype=t.type.dtype)
    if t.op is INPUT:
        v = pt.tensor(t.name, dtype=t.type.dtype, shape=t.type.shape)
        names[v] = variable_of_term(t)
        return v
    name = t.op.family.name
    if name in SAME:
        r = getattr(pt, SAME[name])(*operands)
    elif name in OUTWARD:
        r = OUTWARD[name](t, *operands)
    else:
        raise BridgeError(f"PyTensor has no counterpart of termgraph's {name}: {t!r:.200}")
    dtype = getattr(t.type, "dtype", None)
    return r if dtype is None or isinstance(r, list) or r.type.dtype == dtype else pt.cast(r, dtype)


def rewrite(given: Any, *query: str) -> Any:
    """A variable of PyTensor (or a list) rewritten by our rules alone, as `tg.rewrite` takes them: "+canonicalize", ...

    >>> import pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> rewrite(pt.exp(pt.log(pt.exp(x)) * 1)).owner.op.scalar_op.name
    'exp'
    """
    names: dict = {}
    return to_pytensor(tg.rewrite(from_pytensor(given, names), *query), names)
