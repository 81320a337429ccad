"""Indexing as in NumPy: `x[...]` with every kind of index, and replacing or incrementing the indexed part.

An index is parsed into items (new axis, integer, slice, array), then becomes one `subtensor` or `gather`, followed by a
`dimshuffle` for new axes.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from termgraph.tensor.lengths import item_of_shape, length, length_operands
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import Constant, TensorVariable, Variable, is_plain_number
from termgraph.tensor.wrap import apply_op, as_tensor, constant, pad_rank
from termgraph.terms.dtypes import can_cast, kind_of
from termgraph.terms.errors import ShapeError
from termgraph.terms.op import Op
from termgraph.terms.ops import indexing as ops
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import cast
from termgraph.terms.ops.shapes import broadcast_shapes
from termgraph.terms.types import shape_text

NEW = "new"
WHOLE = ("slice", (None, None, None))
_WRITERS: dict[Op, tuple[Op, Op]] = {
    ops.subtensor: (ops.set_subtensor, ops.inc_subtensor),
    ops.gather: (ops.scatter_set, ops.scatter_add),
}


class Item(NamedTuple):
    """One parsed entry of an index: its kind ("new", "int", "slice", "array", "gap") and its operands.

    A gap is an Ellipsis that stands for no dimension: it takes nothing, but it separates array indices.
    """

    kind: str
    parts: tuple = ()


# ---------------------------------------------------------------------- parsing
def parse_index(x: Any, key: object) -> list[Item]:
    """The items of an index, Ellipsis expanded and masks turned into index arrays; trailing dimensions left out."""
    if isinstance(key, list) and any(e is None or e is Ellipsis or isinstance(e, slice) for e in key):
        key = tuple(key)  # as in Theano: such a list can only be meant as an index
    entries = [e if e.__class__ is int else _classify(e) for e in (key if isinstance(key, tuple) else (key,))]
    used = sum(_consumes(e) for e in entries)
    _check_rank(x, used)
    if sum(e is Ellipsis for e in entries) > 1:
        raise IndexError("an index can have only one Ellipsis ('...')")
    items: list[Item] = []
    axis = 0
    for entry in entries:
        if entry is Ellipsis:
            items += [Item(*WHOLE)] * (x.type.ndim - used) or [Item("gap")]
            axis += x.type.ndim - used
        elif entry is None:
            items.append(Item(NEW))
        elif entry.__class__ is int:
            ops.check_static_index(entry, axis, x.type.shape[axis])
            items.append(Item("int", (entry,)))
            axis += 1
        elif isinstance(entry, slice):
            items.append(Item("slice", (_bound(entry.start), _bound(entry.stop), _bound(entry.step))))
            axis += 1
        else:
            items.extend(_array_items(x, entry, axis))
            axis += _consumes(entry)
    return items


def _check_rank(x: Any, used: int) -> None:
    if used > x.type.ndim:
        raise IndexError(f"too many indices: {x} has {x.type.ndim} dimensions, {used} are indexed")


def _classify(entry: object) -> Any:
    """Ellipsis, None and slices as they are; anything else as a variable of integers or booleans."""
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return entry
    if isinstance(entry, (str, bytes, float, complex)) or (isinstance(entry, np.ndarray) and entry.dtype == object):
        raise IndexError(_not_an_index(entry))
    if isinstance(entry, (list, tuple)) and not _holds_variables(entry):
        entry = np.asarray(entry)
        if entry.size == 0 and kind_of(entry.dtype) == "f":
            entry = entry.astype(np.int64)  # an empty list selects nothing
    v = as_tensor(entry)
    kind = v.type.kind if isinstance(v, TensorVariable) else ""
    if kind not in "iub" or not kind:
        raise IndexError(_not_an_index(v))
    if kind == "b" and v.type.ndim == 0:
        raise IndexError(
            f"a single truth value ({v}) cannot be an index; use T.switch(cond, a, b) to choose between arrays"
        )
    return v


def _holds_variables(items: Any) -> bool:
    return any(isinstance(i, Variable) or (isinstance(i, (list, tuple)) and _holds_variables(i)) for i in items)


def _not_an_index(entry: object) -> str:
    given = f"{entry} of type {entry.type}" if isinstance(entry, Variable) else f"{type(entry).__name__} {entry!r:.40}"
    return (
        "only integers, slices, '...', None, integer or boolean arrays and symbolic integers are indices, "
        f"got {given}; use T.cast(index, 'int64') if a number is meant"
    )


def _consumes(entry: object) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return entry.type.ndim if isinstance(entry, Variable) and entry.type.dtype == "bool" else 1


def _bound(value: TensorVariable | int | None) -> Any:
    """A slice bound: None, an int, or a symbolic integer scalar."""
    if value is None:
        return None
    if isinstance(value, Variable):
        if not isinstance(value, TensorVariable) or value.type.ndim or value.type.kind not in "iu":
            what = (
                "; // divides integers, T.cast(x, 'int64') cuts off" if getattr(value.type, "kind", "") == "f" else ""
            )
            given = f"{value} of type {value.type}"
            raise TypeError(f"a slice bound must be an integer without dimensions, got {given}{what}")
        return int(value.data) if isinstance(value, Constant) else value
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"a slice bound must be an integer, got {type(value).__name__} {value!r:.40}")
    return value.__index__()


def _array_items(x: Any, v: Any, axis: int) -> list[Item]:
    """Items for an integer, an integer array or a mask that starts at dimension `axis`."""
    if v.type.dtype == "bool":
        return [Item("array", (i,)) for i in _mask_indices(x, v, axis)]
    if isinstance(v, Constant):
        _check_range(v.data, axis, x.type.shape[axis])
    if v.type.ndim:
        return [Item("array", (v,))]
    return [Item("int", (int(v.data) if isinstance(v, Constant) else v,))]


def _check_range(values: np.ndarray, axis: int, length: int | None) -> None:
    if length is not None and values.size:
        for i in (values.min(), values.max()):
            ops.check_static_index(int(i), axis, length)


def _mask_indices(x: Any, mask: Any, axis: int) -> list:
    """The index arrays of a mask; its lengths are checked now where they are known, else when it runs."""
    lengths = x.type.shape[axis : axis + mask.type.ndim]
    for k, (m, n) in enumerate(zip(mask.type.shape, lengths, strict=True)):
        if m is not None and n is not None and m != n:
            raise IndexError(
                f"boolean index of shape {shape_text(mask.type.shape)} does not match axis {axis + k} of {x}: "
                f"length {m} against {n}"
            )
    if None not in lengths and mask.type.shape == lengths:
        if isinstance(mask, Constant):
            return [constant(i) for i in mask.data.nonzero()]
        return ops.nonzero(mask)
    return ops.nonzero(mask, *length_operands([length(x, axis + k) for k in range(mask.type.ndim)]))


_spread: WeakSet = WeakSet()  # arrays with dimensions that stand for truth values of an index


@functools.lru_cache(maxsize=1024)
def bound(op: Op, index: tuple) -> Op:
    """The op with its index; kept for a while, since programs use few different ones again and again."""
    return op.bind(index=index)


def shuffle(x: TensorLike, order: tuple) -> TensorVariable:
    """`x` with its dimensions in another order."""
    return apply_op(_shuffle_op(order), (x,))


@functools.lru_cache(maxsize=1024)
def _shuffle_op(order: tuple) -> Op:
    return dimshuffle.bind(order=order)


# ---------------------------------------------------------------------- reading
def getitem(x: TensorLike, key: object) -> TensorVariable:
    """`x[key]`, as NumPy reads it; integers, bounds, index arrays and masks may be symbolic."""
    known = item_of_shape(x, key)
    if known is not None:
        return known
    if _is_truth(key) or isinstance(key, tuple) and any(_is_truth(e) for e in key):
        return _under_truths(x, key if isinstance(key, tuple) else (key,))
    items = parse_index(x, key)
    if any(item.kind == "array" for item in items):
        return _advanced(x, items)
    index, operands = _spec(items, arrays=False)
    found = apply_op(bound(ops.subtensor, index), (x, *operands))
    if not any(item.kind == NEW for item in items):
        return found
    axes = iter(range(found.type.ndim))
    order = ["x" if item.kind == NEW else next(axes) for item in items if item.kind in (NEW, "slice")]
    return shuffle(found, (*order, *axes))


def _is_truth(entry: object) -> bool:
    plain = isinstance(entry, (bool, np.bool_))
    return plain or isinstance(entry, np.ndarray) and entry.ndim == 0 and entry.dtype == bool


def _under_truths(x: Any, entries: tuple) -> TensorVariable:
    """`x[True, ...]`: a mask without dimensions keeps or drops the one element of a new dimension, as in NumPy."""
    used = sum(_consumes(_classify(e)) for e in entries if not _is_truth(e))
    _check_rank(x, used)
    order: list[int | str] = []
    axis = 0
    for e in entries:
        taken = x.type.ndim - used if e is Ellipsis else 0 if _is_truth(e) else _consumes(_classify(e))
        order += ["x"] if _is_truth(e) else range(axis, axis + taken)
        axis += taken
    spread = shuffle(as_tensor(x), (*order, *range(axis, x.type.ndim)))
    _spread.add(spread)
    return getitem(spread, tuple([np.array([bool(e)]) if _is_truth(e) else e for e in entries]))


def _spec(items: list[Item], arrays: bool) -> tuple[tuple, list]:
    """The op's `index` parameter and its operands."""
    index: list[Any] = []
    operands: list[Any] = []

    def part(p: TensorLike | None) -> Any:
        if not isinstance(p, Variable):
            return p
        operands.append(p)
        return "?"

    for item in items:
        if item.kind == "slice":
            index.append(("s", *[part(p) for p in item.parts]))
        elif item.kind == "array" or (item.kind == "int" and arrays):
            index.append("a")
            operands.append(as_tensor(item.parts[0]))
        elif item.kind == "int":
            index.append(part(item.parts[0]))
    while index and index[-1] == ops.FULL:
        index.pop()
    return tuple(index), operands


def _advanced(x: Any, items: list[Item]) -> TensorVariable:
    index, operands = _spec(items, arrays=True)
    found = apply_op(bound(ops.gather, index), (x, *operands))
    rank = len(broadcast_shapes([v.type.shape for v, e in _array_operands(index, operands) if e], "index arrays"))
    wanted = _layout(items, rank, x.type.ndim)
    have = _layout([item for item in items if item.kind not in (NEW, "gap")], rank, x.type.ndim)
    places = {token: i for i, token in enumerate(have)}
    order = tuple(["x" if token == NEW else places[token] for token in wanted])
    return found if order == tuple(range(found.type.ndim)) else shuffle(found, order)


def _array_operands(index: tuple, operands: list) -> list:
    """Each operand with whether it is an index array (and not a slice bound)."""
    kinds: list[bool] = []
    for entry in index:
        kinds += [True] if entry == "a" else [False] * sum(p == "?" for p in entry[1:])
    return list(zip(operands, kinds, strict=True))


def _layout(items: list[Item], rank: int, ndim: int) -> list:
    """The dimensions of an advanced indexing result in order, each by where it comes from."""
    tokens: list[Any] = []
    axis, place, last, together = 0, -1, -1, True
    for i, item in enumerate(items):
        if item.kind in ("int", "array"):
            if place < 0:
                place = len(tokens)
            elif last != i - 1:
                together = False
            last = i
            axis += 1
        elif item.kind == NEW:
            tokens.append(NEW)
        elif item.kind == "slice":
            tokens.append(("axis", axis))
            axis += 1
    tokens += [("axis", k) for k in range(axis, ndim)]
    at = place if together else 0
    tokens[at:at] = [("index", k) for k in range(rank)]
    return tokens


# ---------------------------------------------------------------------- replacing
def set_subtensor(
    x: TensorLike, y: TensorLike, inplace: bool = False, tolerate_inplace_aliasing: bool = False
) -> TensorVariable:
    """The whole array with the indexed part replaced; `x` is an indexing result.

    The original is not changed; use the result, for example as an update of a shared variable. The two flags of older
    programs have no effect: whether memory is reused is decided when compiling.

    >>> import termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> T.set_subtensor(x[1:3], 0.0).type
    TensorType(float64, (?,))
    """
    return _write(x, y, 0, "set_subtensor")


def inc_subtensor(
    x: TensorLike,
    y: TensorLike,
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    tolerate_inplace_aliasing: bool = False,
) -> TensorVariable:
    """The whole array with `y` added to the indexed part; repeated places in an index array add up.

    >>> import termgraph.tensor as T
    >>> x, i = T.dvector("x"), T.lvector("i")
    >>> T.inc_subtensor(x[i], 1.0).owner.op.name
    'scatter_add'
    """
    return _write(x, y, 0 if set_instead_of_inc else 1, "inc_subtensor")


def _write(part: Any, y: TensorLike, which: int, name: str) -> TensorVariable:
    source, y = part, as_values(y, part, name)
    while _family(source) is dimshuffle:
        y = _through_dimshuffle(y, source.owner.op.params["order"], source.owner.inputs[0])
        source = source.owner.inputs[0]
    writers = _WRITERS.get(_family(source))  # type: ignore[arg-type]
    if writers is None:
        raise TypeError(
            f"{name}(x[index], y): the first argument must be the result of indexing, got {part}"
            f"{f' (made by {part.owner.op.name})' if isinstance(part, Variable) and part.owner else ''}; "
            "write x[index], or x[...] for the whole array"
        )
    base, *operands = source.owner.inputs
    if base in _spread:
        return _under_new_dimensions(base, writers[which], y, source)
    op = bound(writers[which], source.owner.op.params["index"])
    return apply_op(op, (base, y, *operands))


def _under_new_dimensions(base: Any, writer: Op, y: TensorLike, source: Any) -> TensorVariable:
    """What is written through truth values of an index, without the dimensions of length 1 that stand for them."""
    changed = apply_op(bound(writer, source.owner.op.params["index"]), (base, y, *source.owner.inputs[1:]))
    return shuffle(changed, tuple([d for d, e in enumerate(base.owner.op.params["order"]) if e != "x"]))


def _family(v: TensorVariable) -> Op | None:
    return v.owner.op.family if isinstance(v, Variable) and v.owner is not None else None


def as_values(y: Any, part: object, name: str) -> TensorVariable:
    """`y` with the dtype of the part it goes to; a conversion that loses more than precision is refused."""
    if not isinstance(part, TensorVariable):
        raise TypeError(f"{name}(x[index], y): the first argument must be the result of indexing, got {part!r:.60}")
    weak = is_plain_number(y)
    y = as_tensor(y)
    if y.type.dtype != part.type.dtype:
        exact = weak and _survives(y.term.value, part.type.np_dtype)
        if not exact and not can_cast(y.type.np_dtype, part.type.np_dtype, "same_kind"):
            raise TypeError(
                f"{name}: values of dtype {y.type.dtype} do not fit {part} of dtype {part.type.dtype} without loss; "
                f"cast them explicitly: T.cast(values, {part.type.dtype!r})"
            )
        y = _number(y, part.type.dtype, name) if weak else cast(y, dtype=part.type.dtype)
    while y.type.ndim > part.type.ndim and y.type.shape[0] == 1:
        y = shuffle(y, tuple(range(1, y.type.ndim)))
    ops.check_fits(name, y.type.shape, part.type.shape)
    return y


def _survives(value: np.ndarray, dtype: np.dtype) -> bool:
    """Whether a Python number is the same number in the dtype of the array: 1 is True, 2.0 is 2."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # infinity to integer, complex to real
        return bool(value.astype(dtype) == value)


def _number(y: Any, dtype: str, name: str) -> Any:
    try:
        return constant(np.array(y.data.item(), dtype=dtype))
    except OverflowError:
        raise OverflowError(f"{name}: the number {y.data} does not fit dtype {dtype}") from None


def _through_dimshuffle(y: TensorLike, order: tuple, inner: Variable) -> Any:
    """Values for `inner.dimshuffle(order)`, arranged for `inner` itself."""
    y = pad_rank(y, len(order))
    rank = inner.type.ndim
    if order == tuple(range(rank)):
        return y
    for place, d in enumerate(order):
        if d == "x" and y.type.shape[place] not in (1, None):
            raise ShapeError(
                f"values of shape {shape_text(y.type.shape)} do not fit: dimension {place} of the indexed part is a "
                "new axis of length 1"
            )
    return shuffle(y, tuple([order.index(d) if d in order else "x" for d in range(rank)]))


def _method(function: Callable) -> Callable:
    def method(self: Any, y: TensorLike) -> TensorVariable:
        return function(self, y)

    method.__doc__ = (function.__doc__ or "").partition("\n")[0]
    return method


def _no_assignment(self: Any, key: object, value: object) -> None:
    raise TypeError(
        f"{self} is symbolic and cannot be changed in place; x = T.set_subtensor(x[index], value) makes the changed "
        "array, T.inc_subtensor(x[index], value) adds to it"
    )


def _no_deletion(self: Any, key: object) -> None:
    raise TypeError(
        f"{self} is symbolic and cannot be changed in place; T.delete(x, index, axis) makes a shorter array"
    )


METHODS = {
    "__delitem__": _no_deletion,
    "__getitem__": getitem,
    "__setitem__": _no_assignment,
    "set": _method(set_subtensor),
    "inc": _method(inc_subtensor),
}
__all__ = ["inc_subtensor", "set_subtensor"]
