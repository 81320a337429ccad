"""The algebra of indices: opened into one entry per dimension, composed, spelled in one way, written back.

An open entry is an int, a scalar term, ("s", start, stop, step) with ints, terms and None, or ("a", array term).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from termgraph.rules.fit import length_of
from termgraph.terms import build
from termgraph.terms.ops.indexing import FULL, subtensor
from termgraph.terms.term import AnyTerm, Const, mk

if TYPE_CHECKING:
    Slice: TypeAlias = tuple[Any, ...]


# ---------------------------------------------------------------------- open indices
def opened(index: tuple[Any, ...], operands: tuple[Any, ...], ndim: int) -> list[Any]:
    """One entry per dimension, operands in place."""
    values = iter(operands)

    def part(p: object) -> Any:
        return next(values) if p == "?" else p

    out: list[Any] = []
    for e in index:
        if isinstance(e, tuple):
            out.append(("s", part(e[1]), part(e[2]), part(e[3])))
        else:
            out.append(("a", next(values)) if e == "a" else part(e))
    return out + [FULL] * (ndim - len(index))


def packed(entries: Iterable[object]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The `index` parameter and the operands of open entries; whole dimensions at the end are left out."""
    entries = list(entries)
    while entries and is_full(entries[-1]):
        entries.pop()
    operands: list[Any] = []

    def part(p: object) -> Any:
        if p is None or isinstance(p, int):
            return p
        operands.append(p)
        return "?"

    index = []
    for e in entries:
        if not isinstance(e, tuple):
            index.append(part(e))
        elif e[0] == "a":
            operands.append(e[1])
            index.append("a")
        else:
            index.append(("s", part(e[1]), part(e[2]), part(e[3])))
    return tuple(index), tuple(operands)


def is_slice(e: object) -> TypeGuard[Slice]:
    """Whether an entry is a slice."""
    return isinstance(e, tuple) and e[0] == "s"


def is_full(e: object) -> bool:
    """Whether an entry takes the whole dimension."""
    return isinstance(e, tuple) and e == FULL


def drops(e: object) -> bool:
    """Whether an entry takes one element and drops the dimension."""
    return not isinstance(e, tuple)


def is_static(e: object) -> bool:
    """Whether an entry has no operands."""
    return isinstance(e, int) or (is_slice(e) and all(p is None or isinstance(p, int) for p in e[1:]))


def read(x: AnyTerm, entries: Iterable[object]) -> Any:
    """`x[entries]`, or `x` itself if all of it is taken."""
    index, operands = packed(entries)
    return mk(subtensor.bind(index=index), (x, *operands)) if index else x


def length(t: AnyTerm, axis: int) -> Any:
    """The length of a dimension as a term, traced to where it comes from."""
    found = length_of(t, axis)
    return build.length(t, axis) if found is None else found


def is_length(n: AnyTerm, t: AnyTerm, axis: int) -> bool:
    """Whether a length term is known to be the length of `t` along an axis."""
    known = t.type.shape[axis]
    if isinstance(n, Const):
        return known is not None and int(n.scalar) == known
    return known is None and length(t, axis) is n


# ---------------------------------------------------------------------- one spelling
def plain_entry(e: object, n: int | None) -> Any:
    """An entry with constants written into it, counted from the front where the length n is known."""
    if isinstance(e, tuple) and e[0] == "a":
        return e
    if not isinstance(e, tuple):
        e = _known(e)
        return e + n if isinstance(e, int) and n is not None and -n <= e < 0 else e
    start, stop, step = map(_known, e[1:])
    step = None if step == 1 else step
    if not all(p is None or isinstance(p, int) for p in (start, stop, step)):
        return ("s", start, stop, step)
    if step is None or step > 0:
        start = None if start == 0 else start
        if n is not None and step != 0:
            return _slice_of(range(n)[start:stop:step], n)
    return ("s", start, stop, step)


def _slice_of(r: range, n: int) -> tuple[Any, ...]:
    """The slice that takes a range of positions of a dimension of length n, in one spelling."""
    if not r:
        return ("s", 0, 0, None)
    step = None if r.step == 1 or len(r) == 1 else r.step
    last = r[-1]
    if len(r) == n and r.step == 1:
        return FULL
    if r.step > 0 or len(r) == 1:
        end: int | None = last + 1
        return ("s", r[0] or None, None if end == n or (step and last + r.step >= n) else end, step)
    return ("s", None if r[0] == n - 1 else r[0], None if last + r.step < 0 else last - 1, step)


def _known(p: object) -> Any:
    """A constant operand as an int."""
    return int(p.scalar) if isinstance(p, Const) else p


# ---------------------------------------------------------------------- one index after another
def composed_entry(p: tuple[Any, ...], q: Any, n: int | None) -> Any:
    """The entry that takes of a dimension of length n what `p` and then `q` takes; None if that takes its length."""
    if is_full(p):
        return q
    if is_full(q):
        return p
    if not is_static(p) or not is_static(q):
        return None
    if n is not None:
        r = range(n)[p[1] : p[2] : p[3]]
        if drops(q):
            return r[q] if -len(r) <= q < len(r) else None
        return _slice_of(r[q[1] : q[2] : q[3]], n)
    return _merge_int(p, q) if drops(q) else _merge_slices(p, q)


def _merge_int(p: tuple[Any, ...], q: int) -> Any:
    start, stop, step = p[1] or 0, p[2], 1 if p[3] is None else p[3]
    if p == ("s", None, None, -1):
        return -1 - q
    if q >= 0 and start >= 0 and step > 0:
        at = start + q * step
        return at if stop is None or 0 <= at < stop else None
    if q < 0 and stop is None and start < 0 and step == 1:
        return q if q >= start else None
    return None


def _merge_slices(p: tuple[Any, ...], q: tuple[Any, ...]) -> Any:
    (a, b, s), (c, d, t) = p[1:], q[1:]
    s, t = s or 1, t or 1
    if (a, b, s) == (None, None, -1):
        if (c, d, t) == (None, None, -1):
            return FULL
        return ("s", -1 - c, None, -1) if c is not None and c >= 0 and d is None and t == 1 else None
    if s < 1 or t < 1:
        return None
    if all(v is None or v >= 0 for v in (a, b, c, d)):
        ends = [v for v in (b, None if d is None else (a or 0) + d * s) if v is not None]
        start, step = (a or 0) + (c or 0) * s, s * t
        return ("s", start or None, min(ends) if ends else None, None if step == 1 else step)
    if s == t == 1:
        return _merge_from_the_end(a, b, c, d)
    return None


def _merge_from_the_end(a: int | None, b: int | None, c: int | None, d: int | None) -> Any:
    """Unit steps, where some bound counts from the end; exact for every length."""
    if b is None and c is None and d is not None and d < 0 and (a is None or a >= 0):
        return ("s", a, d, None)  # x[a:][:-d]
    if a is None and b is not None and b < 0 and d is None and c is not None and c >= 0:
        return ("s", c or None, b, None)  # x[:-b][c:]
    if a is None and c is None and b is not None and d is not None and b < 0 and d < 0:
        return ("s", None, b + d, None)  # x[:-b][:-d]
    if b is None and d is None and a is not None and c is not None and a < 0 and c < 0:
        return ("s", max(a, c), None, None)  # x[-a:][-c:]
    return None


# ---------------------------------------------------------------------- two indices beside each other
def may_touch(e: Any, f: Any, n: int | None) -> bool:
    """Whether two static entries may take one element of a dimension of length n."""
    if n is not None:
        a, b = (range(n)[q : q + 1 or None] if isinstance(q, int) else range(n)[q[1] : q[2] : q[3]] for q in (e, f))
        return bool(set(a) & set(b)) if len(a) < 100 and len(b) < 100 else True
    if isinstance(e, int) and isinstance(f, int):
        return e == f or (e < 0) != (f < 0)
    one, other = (f, e) if isinstance(f, int) else (e, f)
    if isinstance(one, int):
        low, high, step = other[1] or 0, other[2], other[3] or 1
        before = low >= 0 and step > 0 and 0 <= one < low
        after = high is not None and high >= 0 and step > 0 and low >= 0 and one >= high
        return not (before or after)
    (a, b, s), (c, d, t) = e[1:], f[1:]
    if (s or 1) < 0 or (t or 1) < 0 or any(v is not None and v < 0 for v in (a, b, c, d)):
        return True
    return not ((b is not None and (c or 0) >= b) or (d is not None and (a or 0) >= d))
