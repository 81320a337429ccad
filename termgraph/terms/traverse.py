"""Walking and rebuilding graphs without recursion: of terms, and of anything that is made of parts.

Every function takes the roots of a graph, and visits each shared node once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, TypeVar

from termgraph.terms.errors import GraphError
from termgraph.terms.op import ARG, INPUT
from termgraph.terms.term import AnyTerm, Arg, Term, mk, mk2

T = TypeVar("T")
V = TypeVar("V")
ARGS = attrgetter("args")  # what terms are made of


# ---------------------------------------------------------------------- graphs of anything
def users_first(roots: Iterable[T], parts: Callable[[T], Iterable[T]]) -> list[T]:
    """The roots and all that they are made of, each once, before its `parts`: depth first, from left to right."""
    found: dict[T, None] = {}
    stack = [*roots][::-1]
    while stack:
        x = stack.pop()
        if x not in found:
            found[x] = None
            stack += [*parts(x)][::-1]
    return list(found)


def parts_first(roots: Iterable[T], parts: Callable[[T], Iterable[T]]) -> list[T]:
    """The roots and all that they are made of, each once, after its `parts`: depth first, from left to right."""
    seen: set[T] = set()
    order: list[T] = []
    stack: list[Any] = [*roots][::-1]
    while stack:
        x = stack.pop()
        if x is None:
            order.append(stack.pop())
        elif x not in seen:
            seen.add(x)
            stack += (x, None, *[*parts(x)][::-1])
    return order


def region(
    roots: Iterable[T], is_inside: Callable[[T], Any], parts: Callable[[T], Iterable[T]] = ARGS
) -> tuple[list[T], list[T]]:
    """What there is from the roots down to where it `is_inside` no more, and this edge: users first."""
    inside: dict[T, None] = {}
    edge: dict[T, None] = {}
    stack = [*roots][::-1]
    while stack:
        x = stack.pop()
        if x in inside or x in edge:
            continue
        if is_inside(x):
            inside[x] = None
            stack += [*parts(x)][::-1]
        else:
            edge[x] = None
    return list(inside), list(edge)


def work_out(known: dict[T, V], root: T, parts: Callable[[T], Iterable[T]], rule: Callable[[T], V]) -> V:
    """The value of a root by a rule that needs those of its `parts`; each is worked out once."""
    stack = [root]
    while stack:
        x = stack[-1]
        missing = [p for p in parts(x) if p not in known] if x not in known else []
        if missing:
            stack += missing
            continue
        if x not in known:
            known[x] = rule(x)
        stack.pop()
    return known[root]


def path_down(roots: Iterable[T], is_end: Callable[[T], bool], parts: Callable[[T], Iterable[T]]) -> list[T]:
    """One chain from a root down to an end (both included), or [] if there is none."""
    user: dict[T, T | None] = dict.fromkeys(roots)
    stack = list(user)
    while stack:
        x: T | None = stack.pop()
        if is_end(x):  # type: ignore[arg-type]
            chain = []
            while x is not None:
                chain.append(x)
                x = user[x]
            return chain[::-1]
        new = [p for p in parts(x) if p not in user]  # type: ignore[arg-type]
        user.update(dict.fromkeys(new, x))
        stack += new
    return []


def grouped(pairs: Iterable[tuple[T, V]]) -> dict[T, list[V]]:
    """What belongs to each key, in the order of the pairs."""
    found: dict[T, list[V]] = {}
    for key, x in pairs:
        found.setdefault(key, []).append(x)
    return found


# ---------------------------------------------------------------------- terms
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
    done: dict[Any, Any] = {}

    def parts(t: Any) -> Any:
        return (t.bound,) if t.op is INPUT and t.bound is not None else t.args

    def resolved(t: Any) -> Any:
        new = tuple([done[a] for a in parts(t)])
        if t.op is INPUT:
            return new[0] if new else t
        return t if all(a is b for a, b in zip(new, t.args)) else mk(t.op, new) if new else t

    return [work_out(done, r, parts, resolved) for r in roots]


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
    return path_down([root], lambda t: t is leaf, ARGS)


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
