"""For each op, how many examples at once are computed: usually by the same op with its axes moved by one.

A rule takes the term, its operands as `Lifted` (at least one is) and the number of lanes, and gives a `Lifted`, or a
list of them for an op with several results. What has no rule is computed lane by lane, in a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from termgraph._lazy import lazy
from termgraph.batching.indices import read, written
from termgraph.batching.lanes import Lifted, aligned, count, length, numbered, own_length, refuse, reorder, spread
from termgraph.terms.build import in_dtype
from termgraph.terms.leaves import Input
from termgraph.terms.ops import convolution
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.indexing import SCATTERS, scatter_add
from termgraph.terms.ops.linalg import matmul
from termgraph.terms.ops.loop import projections
from termgraph.terms.ops.reduce import all_
from termgraph.terms.ops.reduce import sum_ as sum_op
from termgraph.terms.ops.shaping import alloc, join, reshape, shape_i, specify_shape
from termgraph.terms.term import AnyTerm, mk, mk1, mk2
from termgraph.terms.types import TupleType

_linear = lazy("termgraph.rules.linear")

Rule = Callable[[Any, list[Lifted], Any], Any]


def all_results(t: AnyTerm, new: AnyTerm) -> Any:
    """The results of a new term, all lifted."""
    if isinstance(t.type, TupleType):
        return [Lifted(x, True) for x in projections(new)]
    return Lifted(new, True)


# ---------------------------------------------------------------------- element by element, and along axes
def _elementwise(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    return Lifted(mk(t.op, tuple([aligned(a, t.type.ndim) for a in args])), True)


def _assume(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    facts = tuple([f for f in t.op.params["facts"] if f in _OF_ELEMENTS])
    return Lifted(mk1(t.op.bind(facts=facts), args[0].term) if facts else args[0].term, True)


_OF_ELEMENTS = frozenset((
    "at_most_one", "finite", "integer", "negative", "no_minus_zero", "nonnegative", "nonpositive", "nonzero",
    "positive", "real",
))  # fmt: skip


def _same_op(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    return all_results(t, mk(t.op, tuple([a.term for a in args])))


def _axis(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    axis = t.op.params["axis"]
    moved = tuple([a + 1 for a in axis]) if isinstance(axis, tuple) else axis + 1
    return Lifted(mk1(t.op.bind(axis=moved), args[0].term), True)


def _position(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    axis, x = t.op.params["axis"], args[0]
    if len(axis) == 1:
        return _axis(t, args, n)
    total = count(1)
    for d in range(1, x.ndim + 1):
        total = mk2(ew.mul, total, length(x.term, d))
    return Lifted(mk1(t.op.bind(axis=(1,)), mk(reshape, (x.term, n, total))), True)


# ---------------------------------------------------------------------- shapes
def _dimshuffle(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    order = (0, *["x" if d == "x" else d + 1 for d in t.op.params["order"]])
    return Lifted(reorder(args[0].term, order), True)


def _plain(t: AnyTerm, lengths: list[Lifted]) -> list[Any]:
    if any(v.lifted for v in lengths):
        own_length(t, "its lengths depend on the example, so that the results would not fit one array; pad them")
    return [v.term for v in lengths]


def _reshape(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    return Lifted(mk(reshape, (spread(args[0], n), n, *_plain(t, args[1:]))), True)


def _alloc(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    return Lifted(mk(alloc, (aligned(args[0], t.type.ndim), n, *_plain(t, args[1:]))), True)


def _specify_shape(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    op = t.op.bind(known=(False, *t.op.params["known"]))
    return Lifted(mk(op, (spread(args[0], n), *_plain(t, args[1:]))), True)


def _length(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    return Lifted(mk1(shape_i.bind(axis=t.op.params["axis"] + 1), args[0].term), False)


def _fixed_size(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    own_length(t, "its length depends on the example, so that the results would not fit one array; use a mask instead")


_FEWER = "bincount: {1} values but {0} weights"


def _bincount(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted | None:
    """Counts of all lanes, added up in one array: where numbers are known to be below `minlength`, their number is."""
    x, least, *weights = args
    if least.lifted or not _linear.are_places(t.args[0], t.args[1]):
        own_length(
            t,
            "its length depends on the example, so that the results would not fit one array; "
            "numbers known to be below minlength have as many counts: T.clip(x, 0, 9) with minlength=10",
        )
    many = length(x.term, x.term.type.ndim - 1)
    if weights:  # one weight would go with any number of values
        last = (*[False] * (weights[0].term.type.ndim - 1), True)
        ones = mk(specify_shape.bind(known=last, told=_FEWER), (weights[0].term, many))
    else:
        ones = mk(alloc, (count(1), many))
    counts = mk(alloc, (in_dtype(count(0), t.type.dtype), n, in_dtype(least.term, "int64")))
    places = numbered(n, 1), aligned(Lifted(in_dtype(x.term, "int64"), x.lifted), 1)
    return Lifted(mk(scatter_add.bind(index=("a", "a")), (counts, in_dtype(ones, t.type.dtype), *places)), True)


def _make_vector(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    dtype = t.op.params["dtype"]
    columns = [in_dtype(reorder(spread(a, n), (0, "x")), dtype) for a in args]
    return Lifted(mk(join.bind(axis=1), tuple(columns)), True)


def _join(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    op = t.op.bind(axis=t.op.params["axis"] + 1)
    return Lifted(mk(op, tuple([spread(a, n) for a in args])), True)


# ---------------------------------------------------------------------- products and decompositions
def _dot(t: AnyTerm, args: list[Lifted], n: Input | AnyTerm) -> Lifted:
    a, b = args
    if not b.lifted and a.ndim == 1:
        return Lifted(mk2(t.op, a.term, b.term), True)  # one matrix product, or a matrix times a vector
    if not a.lifted and b.ndim == 1:
        return Lifted(mk2(t.op, b.term, reorder(a.term, range(a.ndim)[::-1])), True)
    if a.ndim == 1 and b.ndim == 1:
        product = mk2(ew.mul, a.term, b.term)
        return Lifted(mk1(sum_op.bind(axis=(1,), dtype=product.type.dtype), product), True)
    x, y = aligned(a, a.ndim), aligned(b, b.ndim)
    if a.ndim == 1:
        x = reorder(x, (0, "x", 1) if a.lifted else ("x", 0))
    if b.ndim == 1:
        y = reorder(y, (0, 1, "x") if b.lifted else (0, "x"))
    product = mk2(_matmul(), x, y)
    kept = [0, *[1] * (a.ndim == 2), *[2] * (b.ndim == 2)]
    return Lifted(reorder(product, kept), True)


def _matmul() -> Any:
    return matmul


def stacked(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Any:
    """An op on the last dimensions, whose leading ones broadcast."""
    lead = max([a.ndim - c for a, c in zip(args, t.op.core, strict=True)])
    operands = [aligned(a, lead + c) for a, c in zip(args, t.op.core, strict=True)]
    return all_results(t, mk(t.op, tuple(operands)))


def _one_by_one(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> None:
    """An op that takes one matrix at a time, as NumPy's does."""


def _isin(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted | None:
    return None if args[1].lifted else _same_op(t, args, n)


def _searchsorted(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted | None:
    return None if args[0].lifted else _same_op(t, args, n)


def _images(place: int) -> Rule:
    """Convolutions take a batch of images anyway: that of each example, one after the other. Filters are shared."""

    def rule(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted | None:
        if any(a.lifted for i, a in enumerate(args) if i != place):
            return None
        x = args[place].term
        many, *rest = [length(x, d) for d in range(1, x.type.ndim)]
        operands = [a.term for a in args]
        operands[place] = mk(reshape, (x, mk2(ew.mul, n, many), *rest))
        new = mk(t.op, tuple(operands))
        return Lifted(mk(reshape, (new, n, many, *[length(new, d) for d in range(1, new.type.ndim)])), True)

    return rule


# ---------------------------------------------------------------------- control
def _ifelse(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Any:
    """One condition chooses for all lanes; conditions that differ compute both sides and choose by element."""
    condition, k = args[0], t.op.params["n"]
    pairs = list(zip(args[1 : 1 + k], args[1 + k :], strict=True))
    if condition.lifted:
        found = [_switch(condition, a, b) for a, b in pairs]
    else:
        wide = [a.lifted or b.lifted for a, b in pairs]
        sides = [[spread(v, n) if w else v.term for v, w in zip(side, wide)] for side in zip(*pairs)]
        new = mk(t.op, (condition.term, *sides[0], *sides[1]))
        found = [Lifted(x, w) for x, w in zip([new] if k == 1 else projections(new), wide)]
    return found[0] if k == 1 else found


def _switch(condition: Lifted, a: Lifted, b: Lifted) -> Lifted:
    ndim = max(a.ndim, b.ndim)
    return Lifted(mk(ew.switch, (aligned(condition, ndim), aligned(a, ndim), aligned(b, ndim))), True)


def _check(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    conditions = [mk1(all_.bind(axis=(0,)), c.term) if c.lifted else c.term for c in args[1:]]
    return Lifted(mk(t.op, (args[0].term, *conditions)), args[0].lifted)


def _first(t: Any, args: list[Lifted], n: AnyTerm) -> Lifted:
    return Lifted(mk(t.op, tuple([a.term for a in args])), args[0].lifted)


def _derivative(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Lifted:
    refuse(t, "a derivative that is not worked out yet; take tg.grad of the result of vmap instead")


BY_KIND: dict[str, Rule] = {
    "elementwise": _elementwise,
    "reduce": _axis,
    "cumulative": _axis,
    "transfer": _first,
    "derivative": _derivative,
}
BY_NAME: dict[str, Rule] = {
    "assume": _assume,
    "argmax": _position, "argmin": _position, "sort": _axis, "argsort": _axis, "argtopk": _axis,
    "searchsorted": _searchsorted, "isin": _isin, "lstsq": _one_by_one,
    "fft": _axis, "ifft": _axis, "rfft": _axis, "irfft": _axis, "unbroadcast": _axis,
    "dimshuffle": _dimshuffle, "reshape": _reshape, "alloc": _alloc, "specify_shape": _specify_shape,
    "shape_i": _length, "diagonal": _same_op, "pack_triangle": _same_op,
    "unpack_triangle": _same_op, "make_vector": _make_vector, "join": _join,
    "arange": _fixed_size, "eye": _fixed_size, "nonzero": _fixed_size, "unique": _fixed_size,
    "unique_all": _fixed_size, "unique_counts": _fixed_size, "unique_inverse": _fixed_size, "bincount": _bincount,
    "subtensor": read, "gather": read,
    "set_subtensor": written, "inc_subtensor": written, **dict.fromkeys(SCATTERS, written),
    convolution.FORWARD: _images(0), convolution.INPUTS: _images(1),
    "dot": _dot, "ifelse": _ifelse, "check": _check, "print": _first, "later": _first,
}  # fmt: skip


def rule_for(t: AnyTerm) -> Rule | None:
    """The rule for a term's op, or None."""
    found = BY_NAME.get(t.op.family.name) or BY_KIND.get(t.op.kind)
    return found or (stacked if getattr(t.op, "core", None) else None)
