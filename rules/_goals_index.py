"""Goals about indices that are moved to all operands of an op, or of a join to those that they read."""

from __future__ import annotations

from typing import Any

from termgraph.rulelib._goals_joins import alone
from termgraph.rules import goal
from termgraph.rules.clients import used_once
from termgraph.rules.indices import drops, is_full, is_slice, is_static, opened, read
from termgraph.terms.ops.indexing import FULL
from termgraph.terms.ops.shaping import join
from termgraph.terms.term import mk, mk1

OVERLAP = 2  # slices may overlap: what goes through them may cost that many multiplications


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


@goal("iiiio")
def index_of_join(xs: tuple, a: int, ks: tuple, i: tuple) -> Any:
    """`join(*xs, axis=a)[i]`: the one operand that is read, or a join of what is read of each."""
    entries = opened(i, ks, xs[0].type.ndim)
    e = entries[a]
    if is_full(e):
        axis = sum(not drops(q) for q in entries[:a])
        return mk(join.bind(axis=axis), tuple([read(x, entries) for x in xs]))
    if not is_static(e):
        return None
    start = 0
    for k, x in enumerate(xs):
        n = x.type.shape[a]
        if n is None:
            return None
        part = _inside(e, start, start + n)
        if part is not None:
            return read(alone(xs, a, k), [*entries[:a], part, *entries[a + 1 :]])
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
