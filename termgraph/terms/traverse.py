"""Walking and rebuilding graphs without recursion.

Every function takes one term or a sequence of them, and visits each shared node once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from termgraph.terms.errors import GraphError
from termgraph.terms.op import ARG, INPUT
from termgraph.terms.term import AnyTerm, Arg, Term, mk, mk2


class _Kept(threading.local):
    """The orders of large graphs, by the identities of their roots, while `orders_kept`; each holds its roots."""

    orders: dict[tuple[int, ...], list[Any]] | None = None


_KEPT = _Kept()
_LARGE = 64  # nodes: smaller graphs are walked as soon as they are looked up
_MOST = 8  # orders that are kept


@contextmanager
def orders_kept() -> Iterator[None]:
    """Inside, `children_first` of the same roots is worked out once: a dozen readers ask for that of one graph."""
    before, _KEPT.orders = _KEPT.orders, {}
    try:
        yield
    finally:
        _KEPT.orders = before


def children_first(roots: Iterable[Any]) -> list[Any]:
    """All nodes under the roots, each once, arguments before users."""
    kept = _KEPT.orders
    if kept is None:
        return _children_first(roots)
    roots = list(roots)
    key = tuple(map(id, roots))
    order = kept.get(key)
    if order is None:
        order = _children_first(roots)
        if len(order) < _LARGE:
            return order
        if len(kept) >= _MOST:
            del kept[next(iter(kept))]
        kept[key] = order
    return list(order)


def _children_first(roots: Iterable[Any]) -> list[Any]:
    seen: set[int] = set()
    order: list[Any] = []
    stack = list(roots)
    stack.reverse()
    while stack:
        t = stack.pop()
        if t is None:
            order.append(stack.pop())
            continue
        key = id(t)
        if key in seen:
            continue
        seen.add(key)
        args = t.args
        if args:
            stack += (t, None, args[0]) if len(args) == 1 else (t, None, *args[::-1])
        else:
            order.append(t)
    return order


def subterms(roots: Iterable[Any]) -> Iterator[Any]:
    """All nodes under the roots, each once, users before arguments along any path walked."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        t = stack.pop()
        if id(t) in seen:
            continue
        seen.add(id(t))
        yield t
        stack.extend(t.args)


def free_inputs(roots: Iterable[Any]) -> list[Any]:
    """The `Input` leaves of the graph, in order of first use."""
    return [t for t in children_first(roots) if t.op is INPUT]


def free_args(roots: Iterable[Any]) -> list[Arg]:
    """The `Arg` leaves of the graph, by index."""
    return sorted((t for t in children_first(roots) if t.op is ARG), key=lambda t: t.index)


def rebuild(roots: Sequence[Any], change: Callable[[Any, tuple[Any, ...]], Any]) -> list[Any]:
    """Map the graph bottom-up: `change(old, new_args)` gives the replacement of each node."""
    done: dict[int, Any] = {}
    for t in children_first(roots):
        done[id(t)] = change(t, tuple([done[id(a)] for a in t.args]))
    return [done[id(r)] for r in roots]


def resolve_bound(roots: list[Any]) -> list[Any]:
    """The graph with placeholders that `Apply(op, inputs, outputs)` bound later replaced by what they are bound to."""
    leaves = free_inputs(roots)
    if not any(leaf.bound is not None for leaf in leaves):
        return roots
    done: dict[int, Any] = {}
    stack = list(roots)
    while stack:
        t = stack[-1]
        if id(t) in done:
            stack.pop()
            continue
        needs = (t.bound,) if t.op is INPUT and t.bound is not None else t.args
        missing = [a for a in needs if id(a) not in done]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        new = tuple([done[id(a)] for a in needs])
        if t.op is INPUT:
            done[id(t)] = new[0] if new else t
        else:
            done[id(t)] = t if all(a is b for a, b in zip(new, t.args)) else mk(t.op, new) if new else t
    return [done[id(r)] for r in roots]


def substitute(roots: Sequence[Any], replace: Mapping[Any, Any]) -> list[Any]:
    """The graph with terms replaced, everywhere they occur. Replacements are not searched again."""
    done: dict[int, Any] = {id(k): v for k, v in replace.items()}
    if all(k is v for k, v in replace.items()):
        return list(roots)
    for t in children_first_until(roots, done):
        args = t.args
        if len(args) == 2:  # as most terms have: written out
            a, b = args
            x, y = done[id(a)], done[id(b)]
            done[id(t)] = t if x is a and y is b else mk2(t.op, x, y)
            continue
        for a in args:
            if done[id(a)] is not a:
                done[id(t)] = mk(t.op, tuple([done[id(b)] for b in args]))
                break
        else:
            done[id(t)] = t
    return [done[id(r)] for r in roots]


def children_first_until(roots: Iterable[Any], stop: Mapping[int, Any]) -> Iterator[Any]:
    """Nodes above the stopping ones, arguments first."""
    seen = set(stop)
    stack = list(roots)
    while stack:
        t = stack.pop()
        if t is None:
            yield stack.pop()
            continue
        if id(t) in seen:
            continue
        seen.add(id(t))
        stack.append(t)
        stack.append(None)
        stack.extend(t.args)


def depends_on(root: AnyTerm, leaf: AnyTerm) -> bool:
    """Whether `leaf` occurs in `root`."""
    return any(t is leaf for t in subterms([root]))


def path_to(root: AnyTerm, leaf: AnyTerm) -> list[Any]:
    """One chain of terms from `root` down to `leaf` (both included), or [] if it does not occur."""
    parent: dict[int, Any] = {id(root): None}
    stack = [root]
    while stack:
        t = stack.pop()
        if t is leaf:
            chain = []
            while t is not None:
                chain.append(t)
                t = parent[id(t)]
            return chain[::-1]
        for a in t.args:
            if id(a) not in parent:
                parent[id(a)] = t
                stack.append(a)
    return []


def client_map(roots: Iterable[Any]) -> dict[Any, list[tuple[Any, int]]]:
    """For each node the places that use it: `(term, position)`, and `("output", i)` for roots."""
    roots = list(roots)
    clients: dict[Any, list[tuple[Any, int]]] = {}
    for t in children_first(roots):
        clients.setdefault(t, [])
        for i, a in enumerate(t.args):
            clients[a].append((t, i))
    for i, r in enumerate(roots):
        clients[r].append(("output", i))
    return clients


def equal_up_to_inputs(
    xs: Sequence[Any], ys: Sequence[Any], xs_in: Sequence[Any] = (), ys_in: Sequence[Any] = ()
) -> bool:
    """Whether two graphs are the same when the i-th input of one stands for the i-th of the other."""
    if len(xs) != len(ys) or len(xs_in) != len(ys_in):
        return False
    if any(a.type is not b.type for a, b in zip(xs_in, ys_in, strict=True)):
        return False
    try:
        renamed = substitute(list(xs), dict(zip(xs_in, ys_in, strict=True)))
    except (TypeError, GraphError):
        return False
    return all(a is b for a, b in zip(renamed, ys, strict=True))


def count_nodes(roots: Iterable[Any]) -> int:
    """How many distinct interior terms the graph has."""
    return sum(1 for t in subterms(roots) if t.__class__ is Term)
