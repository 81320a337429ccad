"""Parts and facts about indices: what `x[i]` becomes when it is read through other ops, and how long it is.

Operands `ks` and the parameter `i` are one index; opened (see `indices`), it is a list of entries, one a dimension.
"""

from __future__ import annotations

from typing import Any

from termgraph.rules.goals import goal
from termgraph.rules.indices import (
    composed_entry,
    drops,
    is_full,
    is_slice,
    is_static,
    length,
    may_touch,
    opened,
    packed,
    plain_entry,
    read,
)
from termgraph.rules.kinds import SegVar, param
from termgraph.rules.length_parts import is_one, number
from termgraph.rules.parts import part_of
from termgraph.terms.op import CONST
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.indexing import FULL, indexed_shape
from termgraph.terms.ops.shaping import arange
from termgraph.terms.term import AnyTerm, Const

Terms = tuple[Any, ...]
Index = tuple[Any, ...]
Entries = tuple[Any, ...]


@part_of(None)
def at(x: AnyTerm, entries: Entries) -> Any:
    """`x` read at an open index; `x` itself if all of it is taken."""
    return read(x, entries)


@part_of(param)
def plain(x: AnyTerm, ks: Terms, i: Index) -> Any:
    """An index of `x` with constants written into it, counted from the front where lengths are known."""
    entries = [plain_entry(e, n) for e, n in zip(opened(i, ks, x.type.ndim), x.type.shape)]
    return None if packed(entries)[0] == i else tuple(entries)


@part_of(param)
def of_scalars(i: Index, ks: Terms) -> Any:
    """An advanced index whose arrays have no dimensions, as a basic one."""
    if "a" not in i:
        return None
    values = iter(ks)
    for e in i:
        for p in e[1:] if isinstance(e, tuple) else (e,):
            if p in ("?", "a") and next(values).type.ndim and p == "a":
                return None
    return tuple(["?" if e == "a" else e for e in i])


@part_of(param)
def composed(x: AnyTerm, ks: Terms, i: Index, ms: Terms, j: Index) -> Any:
    """One index that takes what `x[i][j]` takes; no answer if that would need the lengths at run time."""
    first = opened(i, ks, x.type.ndim)
    second = iter(opened(j, ms, sum(not drops(e) for e in first)))
    out = [e if drops(e) else composed_entry(e, next(second), n) for e, n in zip(first, x.type.shape)]
    return None if any(e is None for e in out) else tuple(out)


@part_of(param)
def joined_index(i: Index, j: Index, a: int) -> Any:
    """The index that takes what two static slices take that meet along axis `a` (of the result), and else agree."""
    ndim = max(len(i), len(j), a + 1)
    first, second = opened(i, (), ndim), opened(j, (), ndim)
    if not all(is_static(e) for e in (*first, *second)):
        return None
    axes = [d for d, e in enumerate(first) if is_slice(e)]
    if a >= len(axes) or any(e != f for d, (e, f) in enumerate(zip(first, second)) if d != axes[a]):
        return None
    p, q = first[axes[a]], second[axes[a]]
    if not is_slice(q) or p[3] not in (None, 1) or q[3] not in (None, 1) or p[2] is None or p[2] != q[1]:
        return None
    low, middle, high = p[1] or 0, p[2], q[2]
    if low < 0 or middle < low or (high is not None and high < middle):
        return None
    first[axes[a]] = ("s", p[1], q[2], None)
    return packed(first)[0]


@part_of(param)
def cut_along(i: Index, j: Index) -> Any:
    """The axis along which index `i` takes all up to a place and `j` all from there; of the other axes both take all.

    Whatever the place is, also one that counts from the end or lies outside: the two slices are the array, cut in two.
    """
    if len(i) != len(j) or not i or any(e != FULL for e in (*i[:-1], *j[:-1])):
        return None
    before, after = i[-1], j[-1]
    if not is_slice(before) or not is_slice(after) or before[2] is None or before[2] != after[1]:
        return None
    whole = before[1] in (None, 0) and after[2] is None and before[3] in (None, 1) and after[3] in (None, 1)
    return len(i) - 1 if whole else None


# ---------------------------------------------------------------------- through other ops
@part_of(param)
def before_order(x: AnyTerm, order: Index, ks: Terms, i: Index) -> Any:
    """What `dimshuffle(x, order=order)[i]` reads of `x`."""
    inner: list[Any] = [FULL] * x.type.ndim
    for e, d in zip(opened(i, ks, len(order)), order):
        if d != "x":
            inner[d] = e
        elif not is_full(e) and not (isinstance(e, int) and e in (0, -1)):
            return None
    return tuple(inner)


@part_of(param)
def order_after(order: Index, entries: Entries, ks: Terms, i: Index) -> Any:
    """The order of the dimensions that are left of `dimshuffle(x, order=order)[i]`, when `x` is read at `entries`."""
    place = {d: k for k, d in enumerate(d for d, e in enumerate(entries) if not drops(e))}
    outer = opened(i, ks, len(order))
    return tuple(["x" if d == "x" else place[d] for e, d in zip(outer, order) if not drops(e)])


@part_of(param)
def of_rows(x: AnyTerm, y: AnyTerm, ks: Terms, i: Index) -> Any:
    """What `dot(x, y)[i]` reads of `x`; only with an index that drops a dimension.

    Several slices of one product (the gates of an LSTM) would become several products.
    """
    rows = x.type.ndim - 1
    entries = opened(i, ks, rows + y.type.ndim - 1)
    return (*entries[:rows], FULL) if any(map(drops, entries)) else None


@part_of(param)
def of_columns(x: AnyTerm, y: AnyTerm, ks: Terms, i: Index) -> Any:
    """What `dot(x, y)[i]` reads of `y`."""
    rows = x.type.ndim - 1
    return (FULL, *opened(i, ks, rows + y.type.ndim - 1)[rows:]) if y.type.ndim == 2 else (FULL,)


@part_of(param)
def of_value(v: AnyTerm, ns: Terms, ks: Terms, i: Index) -> Any:
    """What `alloc(v, *ns)[i]` reads of `v`. Lengths must be known, except those that are taken whole."""
    lead, inner = len(ns) - v.type.ndim, []
    for d, (e, n) in enumerate(zip(opened(i, ks, len(ns)), ns)):
        known = int(n.scalar) if n.op is CONST else None
        if not _lies_within(e, known):
            return None
        if d >= lead:
            spread = v.type.shape[d - lead] == 1
            inner.append((0 if drops(e) else FULL) if spread else e)
    return inner


def _lies_within(e: object, n: int | None) -> bool:
    if drops(e):
        return isinstance(e, int) and n is not None and -n <= e < n
    return is_full(e) or (is_static(e) and n is not None)


@part_of(None, SegVar)
def lengths_at(ns: Terms, ks: Terms, i: Index) -> Any:
    """The lengths of a part of an array of these lengths, which are known where the part does not take all."""
    kept = [(e, n) for e, n in zip(opened(i, ks, len(ns)), ns) if not drops(e)]
    if not all(_lies_within(e, int(n.scalar) if n.op is CONST else None) for e, n in kept):
        return None
    return tuple([n if is_full(e) else _count(e, n) for e, n in kept])


def _count(e: Terms, n: Const) -> Any:
    return number(len(range(int(n.scalar))[e[1] : e[2] : e[3]]))


@part_of(None)
def item_at(xs: Terms, i: Index) -> Any:
    """The operand that a static index takes of a list of them."""
    k = i[0] if len(i) == 1 else None
    return xs[k] if isinstance(k, int) and -len(xs) <= k < len(xs) else None


@part_of(None, SegVar)
def items_at(xs: Terms, i: Index) -> Any:
    """The operands, at least one, that a static slice takes of a list of them."""
    e: Any = i[0] if len(i) == 1 else None
    return xs[e[1] : e[2] : e[3]] or None if is_slice(e) and is_static(e) else None


# ---------------------------------------------------------------------- lengths
@part_of(None)
def indexed_length(x: AnyTerm, ks: Terms, i: Index, a: int) -> Any:
    """The length of `x[i]` along an axis; slices with unit steps or `::-1`, array indices as their own lengths."""
    kept = [(d, e) for d, e in enumerate(opened(i, ks, x.type.ndim)) if isinstance(e, tuple)]
    if a >= len(kept):
        return None
    d, e = kept[a]
    return _slice_length(e, length(x, d)) if e[0] == "s" else None


def _slice_length(e: Terms, n: AnyTerm) -> Any:
    start, stop, step = e[1:]
    if (start, stop) == (None, None) and step in (None, 1, -1):
        return n
    if not is_static(e) or step not in (None, 1):
        return None
    zero = number(0)
    low = start or 0
    if low >= 0 and stop is None:
        return ew.maximum(ew.sub(n, number(low)), zero)
    if low >= 0 and stop >= 0:
        return ew.minimum(number(max(stop - low, 0)), ew.maximum(ew.sub(n, number(low)), zero))
    if low >= 0 and stop < 0:
        return ew.maximum(ew.sub(n, number(low - stop)), zero)
    if stop is None:
        return ew.minimum(n, number(-low))
    if stop < 0:
        return ew.maximum(ew.sub(ew.minimum(n, number(-low)), number(-stop)), zero)
    return None


@part_of(None)
def gathered_length(x: AnyTerm, us: Terms, i: Index, a: int) -> Any:
    """The length of `gather(x, *us, index=i)` with arrays side by side and whole dimensions besides."""
    n = i.count("a")
    if len(us) != n or not n or any(e not in ("a", FULL) for e in i):
        return None
    at, ndim = i.index("a"), max([u.type.ndim for u in us])
    if any(e != "a" for e in i[at : at + n]):
        return None
    if at <= a < at + ndim:
        return _common_length(us, ndim, a - at)
    return length(x, a if a < at else a - ndim + n)


def _common_length(us: Terms, ndim: int, a: int) -> Any:
    """The length of index arrays that broadcast together: one that is given, rather than one that must be counted."""
    found = [length(u, a - (ndim - u.type.ndim)) for u in us if u.type.ndim >= ndim - a]
    long = [n for n in found if not is_one(n)]
    known = [n for n in long if not n.args or n.args[0].op.family is not arange]
    return (known or long or found)[0]


# ---------------------------------------------------------------------- facts
@goal("iii", fact=True)
def fills(x: AnyTerm, y: AnyTerm, i: Index) -> bool:
    """`y` is as large as `x[i]`: nothing of it is repeated when it is written there."""
    if any("?" in (e if isinstance(e, tuple) else (e,)) or e == "a" for e in i):
        target = [None] * sum(isinstance(e, tuple) for e in i) + list(x.type.shape[len(i) :])
        if "a" in i:
            return False
    else:
        target = list(indexed_shape("subtensor", x.type, i, ()))
    have = y.type.shape
    return len(have) == len(target) and all(h == t or h != 1 for h, t in zip(have, target))


@goal("iii", fact=True)
def disjoint(x: AnyTerm, i: Index, j: Index) -> bool:
    """Two static indices share no element, whatever the length."""
    return any(is_static(e) and is_static(f) and not may_touch(e, f, n) for e, f, n in zip(i, j, x.type.shape))
