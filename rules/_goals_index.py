"""Goals about indices: opening an index into one entry per dimension, moving it through other ops, merging two.

An open entry is an int, a scalar term, ("s", start, stop, step) with ints, terms and None, or ("a", array term).
"""

from __future__ import annotations

from typing import Any

from termgraph.rules import goal
from termgraph.rules.clients import used_once
from termgraph.rules.fit import length_of as traced_length
from termgraph.terms.op import CONST
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.indexing import FULL, subtensor
from termgraph.terms.ops.shaping import shape_i
from termgraph.terms.term import Const, mk, mk1

OVERLAP = 2  # slices may overlap: what goes through them may cost that many multiplications


# ---------------------------------------------------------------------- open indices
def opened(index: tuple, operands: tuple, ndim: int) -> list:
    """One entry per dimension, operands in place."""
    values = iter(operands)

    def part(p: Any) -> Any:
        return next(values) if p == "?" else p

    out: list[Any] = []
    for e in index:
        if isinstance(e, tuple):
            out.append(("s", part(e[1]), part(e[2]), part(e[3])))
        else:
            out.append(("a", next(values)) if e == "a" else part(e))
    return out + [FULL] * (ndim - len(index))


def packed(entries: list) -> tuple[tuple, tuple]:
    """The `index` parameter and the operands of open entries; whole dimensions at the end are left out."""
    entries = list(entries)
    while entries and is_full(entries[-1]):
        entries.pop()
    operands: list[Any] = []

    def part(p: Any) -> Any:
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


def is_slice(e: Any) -> bool:
    """Whether an entry is a slice."""
    return isinstance(e, tuple) and e[0] == "s"


def is_full(e: Any) -> bool:
    """Whether an entry takes the whole dimension."""
    return isinstance(e, tuple) and e == FULL


def drops(e: Any) -> bool:
    """Whether an entry takes one element and drops the dimension."""
    return not isinstance(e, tuple)


def is_static(e: Any) -> bool:
    """Whether an entry has no operands."""
    return isinstance(e, int) or (is_slice(e) and all(p is None or isinstance(p, int) for p in e[1:]))


def read(x: Any, entries: list) -> Any:
    """`x[entries]`, or `x` itself if all of it is taken."""
    index, operands = packed(entries)
    return mk(subtensor.bind(index=index), (x, *operands)) if index else x


def length(t: Any, axis: int) -> Any:
    """The length of a dimension as a term, traced to where it comes from."""
    found = traced_length(t, axis)
    return mk1(shape_i.bind(axis=axis), t) if found is None else found


def same_length(n: Any, t: Any, axis: int) -> bool:
    """Whether a length term is known to be the length of `t` along an axis."""
    known = t.type.shape[axis]
    if n.op is CONST:
        return known is not None and int(n.scalar) == known
    return known is None and length(t, axis) is n


# ---------------------------------------------------------------------- plain forms
@goal("iiioo")
def plain_index(x: Any, ks: tuple, i: tuple) -> Any:
    """The index with constants written into it, counted from the front where the length is known."""
    entries = [_plain(e, n) for e, n in zip(opened(i, ks, x.type.ndim), x.type.shape)]
    index, operands = packed(entries)
    return None if index == i else (operands, index)


def _plain(e: Any, n: int | None) -> Any:
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


def _slice_of(r: range, n: int) -> tuple:
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


def _known(p: Any) -> Any:
    """A constant operand as an int."""
    return p if p is None or isinstance(p, int) else int(p.scalar) if p.op is CONST else p


# ---------------------------------------------------------------------- index of index
@goal("iiiiioo")
def merged_index(x: Any, ks: tuple, i: tuple, ms: tuple, j: tuple) -> Any:
    """One index that takes what `x[i][j]` takes; no answer if that would need the lengths at run time."""
    first = opened(i, ks, x.type.ndim)
    second = iter(opened(j, ms, sum(not drops(e) for e in first)))
    out = []
    for e, n in zip(first, x.type.shape):
        e = e if drops(e) else _merge(e, next(second), n)
        if e is None:
            return None
        out.append(e)
    index, operands = packed(out)
    return operands, index


def _merge(p: tuple, q: Any, n: int | None) -> Any:
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


def _merge_int(p: tuple, q: int) -> Any:
    start, stop, step = p[1] or 0, p[2], 1 if p[3] is None else p[3]
    if p == ("s", None, None, -1):
        return -1 - q
    if q >= 0 and start >= 0 and step > 0:
        at = start + q * step
        return at if stop is None or 0 <= at < stop else None
    if q < 0 and stop is None and start < 0 and step == 1:
        return q if q >= start else None
    return None


def _merge_slices(p: tuple, q: tuple) -> Any:
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


def _merge_from_the_end(a: Any, b: Any, c: Any, d: Any) -> Any:
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


# ---------------------------------------------------------------------- through element-wise ops
@goal("iiiio")
def indexed_operands(f: Any, xs: tuple, ks: tuple, i: tuple) -> Any:
    """The operands indexed instead of the result; slices go through cheap ops only, since slices may overlap.

    Several slices of what is computed of computed arrays stay: neighbours of neighbours would make a graph of their
    own for each distance.
    """
    ndim = max([x.type.ndim for x in xs])
    entries = opened(i, ks, ndim)
    if f.name == "assume" or not any(map(drops, entries)) and (f.family.cost > OVERLAP or _is_shared(f, xs)):
        return None
    out_shape = [_common_length(xs, ndim, d) for d in range(ndim)]
    out = tuple([read(x, _for_operand(x, entries, out_shape)) for x in xs])
    return out if f.infer(*[x.type for x in out]).ndim == sum(not drops(e) for e in entries) else None


indexed_operands.counts_clients = True


def _is_shared(f: Any, xs: tuple) -> bool:
    """Whether several places use what is computed of arrays that are computed themselves."""
    return any(x.args for x in xs) and not used_once(mk(f, xs))


def _common_length(xs: tuple, ndim: int, d: int) -> int | None:
    known = [x.type.shape[d - ndim] for x in xs if x.type.ndim >= ndim - d]
    return 1 if all(n == 1 for n in known) else next((n for n in known if n not in (1, None)), None)


def _for_operand(x: Any, entries: list, out_shape: list) -> list:
    lead = len(entries) - x.type.ndim
    out = []
    for e, n, m in zip(entries[lead:], x.type.shape, out_shape[lead:]):
        broadcast = n == 1 and m != 1
        out.append((0 if drops(e) else FULL) if broadcast else e)
    return out


# ---------------------------------------------------------------------- through moves of dimensions
@goal("iiiio")
def index_before_order(x: Any, o: tuple, ks: tuple, i: tuple) -> Any:
    """`dimshuffle(x, order=o)[i]` with the index taken first."""
    inner: list[Any] = [FULL] * x.type.ndim
    entries = opened(i, ks, len(o))
    for e, d in zip(entries, o):
        if d != "x":
            inner[d] = e
        elif not is_full(e) and not (isinstance(e, int) and e in (0, -1)):
            return None
    place = {d: k for k, d in enumerate(d for d, e in enumerate(inner) if not drops(e))}
    order = tuple(["x" if d == "x" else place[d] for e, d in zip(entries, o) if not drops(e)])
    return mk1(dimshuffle.bind(order=order), read(x, inner))


@goal("iiiio")
def index_before_reduction(r: Any, x: Any, ks: tuple, i: tuple) -> Any:
    """`r(x)[i]` with the index taken first; only indices that drop dimensions, so that nothing is computed twice."""
    axis = r.params["axis"]
    entries = iter(opened(i, ks, x.type.ndim - len(axis)))
    inner = [FULL if d in axis else next(entries) for d in range(x.type.ndim)]
    if not any(map(drops, inner)) or any(is_slice(e) and not is_full(e) for e in inner):
        return None
    place = {d: k for k, d in enumerate(d for d, e in enumerate(inner) if not drops(e))}
    return mk1(r.bind(axis=tuple([place[d] for d in axis])), read(x, inner))


@goal("iiiioo")
def index_of_product(x: Any, y: Any, ks: tuple, i: tuple) -> Any:
    """`dot(x, y)[i]`: rows of x and columns of y; only with an index that drops a dimension.

    Several slices of one product (the gates of an LSTM) would become several products.
    """
    rows = x.type.ndim - 1
    entries = opened(i, ks, rows + y.type.ndim - 1)
    if not any(map(drops, entries)):
        return None
    left = read(x, [*entries[:rows], FULL])
    return left, read(y, [FULL, *entries[rows:]] if y.type.ndim == 2 else [FULL])


@goal("iiiio")
def index_of_alloc(v: Any, ns: tuple, ks: tuple, i: tuple) -> Any:
    """A part of an array of one value: a smaller one. Lengths must be known, except those taken whole."""
    from termgraph.terms.ops.shaping import alloc

    lead = len(ns) - v.type.ndim
    entries = opened(i, ks, len(ns))
    lengths, inner = [], []
    for d, (e, n) in enumerate(zip(entries, ns)):
        spread = d < lead or v.type.shape[d - lead] == 1
        known = int(n.scalar) if n.op is CONST else None
        if drops(e):
            if not (isinstance(e, int) and known is not None and -known <= e < known):
                return None
            e_inner = 0 if spread else e
        elif is_full(e):
            lengths.append(n)
            e_inner = FULL
        elif is_static(e) and known is not None:
            lengths.append(Const(len(range(known)[e[1] : e[2] : e[3]]), dtype="int64"))
            e_inner = FULL if spread else e
        else:
            return None
        if d >= lead:
            inner.append(e_inner)
    return mk(alloc, (read(v, inner), *lengths))


# ---------------------------------------------------------------------- of joins and lists
@goal("iiiio")
def index_of_join(xs: tuple, a: int, ks: tuple, i: tuple) -> Any:
    """`join(*xs, axis=a)[i]`: the one operand that is read, or a join of what is read of each."""
    from termgraph.terms.ops.shaping import join

    entries = opened(i, ks, xs[0].type.ndim)
    e = entries[a]
    if is_full(e):
        axis = sum(not drops(q) for q in entries[:a])
        return mk(join.bind(axis=axis), tuple([read(x, entries) for x in xs]))
    if not is_static(e):
        return None
    start = 0
    for x in xs:
        n = x.type.shape[a]
        if n is None:
            return None
        part = _inside(e, start, start + n)
        if part is not None:
            return read(x, [*entries[:a], part, *entries[a + 1 :]])
        start += n
    return None


def _inside(e: Any, start: int, stop: int) -> Any:
    """The entry relative to the operand that lies at start..stop, if it reads nothing else. All counted from 0."""
    if isinstance(e, int):
        return e - start if start <= e < stop else None
    low, high, step = e[1] or 0, e[2], e[3]
    if high is None or step not in (None, 1) or low < start or high < low or high > stop or low == high:
        return None
    return ("s", low - start, high - start, None)


@goal("iiio")
def index_of_list(xs: tuple, i: tuple, d: str) -> Any:
    """`make_vector(*xs)[i]` for a static index."""
    from termgraph.terms.ops.shaping import make_vector

    e = i[0] if len(i) == 1 else None
    if e is None or not is_static(e):
        return None
    if isinstance(e, int):
        return mk1(ew.cast.bind(dtype=d), xs[e]) if -len(xs) <= e < len(xs) else None
    part = xs[e[1] : e[2] : e[3]]
    return mk(make_vector.bind(dtype=d), part) if part else None


# ---------------------------------------------------------------------- reading what was written
@goal("iii")
def fills(x: Any, y: Any, i: tuple) -> bool:
    """`y` is as large as `x[i]`: nothing of it is repeated when it is written there."""
    from termgraph.terms.ops.indexing import indexed_shape

    if any("?" in (e if isinstance(e, tuple) else (e,)) or e == "a" for e in i):
        target = [None] * sum(isinstance(e, tuple) for e in i) + list(x.type.shape[len(i) :])
        if "a" in i:
            return False
    else:
        target = list(indexed_shape("subtensor", x.type, i, ()))
    have = y.type.shape
    return len(have) == len(target) and all(h == t or h != 1 for h, t in zip(have, target))


@goal("iii")
def disjoint(x: Any, i: tuple, j: tuple) -> bool:
    """Two static indices share no element, whatever the length."""
    return any(is_static(e) and is_static(f) and not _touch(e, f, n) for e, f, n in zip(i, j, x.type.shape))


def _touch(e: Any, f: Any, n: int | None) -> bool:
    if n is not None:
        a, b = (range(n)[q : q + 1 or None] if isinstance(q, int) else range(n)[q[1] : q[2] : q[3]] for q in (e, f))
        return bool(set(a) & set(b)) if len(a) < 100 and len(b) < 100 else True
    if isinstance(e, int) and isinstance(f, int):
        return e == f or (e < 0) != (f < 0)
    if isinstance(f, int):
        e, f = f, e
    if isinstance(e, int):
        low, high, step = f[1] or 0, f[2], f[3] or 1
        before = low >= 0 and step > 0 and 0 <= e < low
        after = high is not None and high >= 0 and step > 0 and low >= 0 and e >= high
        return not (before or after)
    (a, b, s), (c, d, t) = e[1:], f[1:]
    if (s or 1) < 0 or (t or 1) < 0 or any(v is not None and v < 0 for v in (a, b, c, d)):
        return True
    return not ((b is not None and (c or 0) >= b) or (d is not None and (a or 0) >= d))


@goal("iioo")
def from_scalars(i: tuple, ks: tuple) -> Any:
    """An advanced index whose arrays have no dimensions, as a basic one."""
    if "a" not in i:
        return None
    values = iter(ks)
    for e in i:
        for p in e[1:] if isinstance(e, tuple) else (e,):
            if p in ("?", "a") and next(values).type.ndim and p == "a":
                return None
    return tuple(["?" if e == "a" else e for e in i]), ks
