"""Lifting a graph: each of its terms computed for many examples at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from termgraph.batching.lanes import Lifted, OwnLength, reorder, spread
from termgraph.batching.table import rule_for
from termgraph.terms.errors import GraphError
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.loop import Parts, loop, make_loop, projections
from termgraph.terms.term import AnyTerm, Input, Term, mk
from termgraph.terms.traverse import children_first, children_first_until, substitute
from termgraph.terms.types import TensorType, TupleType, Type


def lifted_terms(roots: Sequence[Any], given: Mapping[Any, Any], n: Any, made: dict | None = None) -> list[Lifted]:
    """The roots when the leaves in `given` have lanes: `n` of them. `made` notes which new term an old one became."""
    values: dict[Any, Any] = {t: Lifted(x, True) for t, x in given.items()}
    order = children_first(roots)
    ragged: set[Any] = set()  # what has a length of its own for each example, and what is made of it
    own: dict[Any, OwnLength] = {}  # those of them whose own length is as long
    for t in order:
        if t in values or t in ragged:
            continue
        if not ragged.isdisjoint(t.args):
            ragged.add(t)
            if t.op.kind in ("elementwise", "cumulative") or t.op.family.name in _AS_LONG:
                own.update((t, own[a]) for a in t.args if a in own)
            continue
        args = [values[a] for a in t.args]
        if t.op.family is nth and isinstance(args[0], list):
            values[t] = args[0][t.op.params["i"]]
        elif t.__class__ is Term and any(isinstance(a, list) or a.lifted for a in args):
            try:
                found = _lifted(t, args, n)
            except OwnLength as error:
                own[t], found = error, None
            if found is None:
                if t.op.family is loop:
                    values |= _ends(t, order, values, n, ragged)
                else:
                    ragged.add(t)
                continue
            values[t] = found
        else:
            values[t] = Lifted(_rebuilt(t, args), False)
        if made is not None and isinstance(values[t], Lifted):
            made.setdefault(values[t].term, t)
    late = [r for r in dict.fromkeys(roots) if r in ragged]
    if not own.keys().isdisjoint(late):
        raise GraphError(str(next(own[r] for r in late if r in own)))
    if late:
        values |= zip(late, _by_lane(late, values, n), strict=True)
        if made is not None:
            for r in late:
                made.setdefault(values[r].term, r)
    return [values[r] for r in roots]


# ---------------------------------------------------------------------- a length for each example
_AS_LONG = frozenset(("nth", "gather", "dimshuffle", "sort", "argsort"))  # ops of results as long as operands


def _ends(t: Any, order: Sequence[Any], values: Mapping[Any, Any], n: Any, ragged: set[Any]) -> dict[Any, Lifted]:
    """The last carries of a loop, the number of its steps, and single steps that are read, of each example.

    Examples make different numbers of steps. The stacked results become ragged: they have no place in one array, so
    what is made of them is computed with them.
    """
    c, stacks = t.op.n_carry, t.op.n_carry + t.op.n_ys
    found, read = [], []
    for u in order:
        if u.op.family is nth and u.args[0] is t:
            if c <= u.op.params["i"] < stacks:
                ragged.add(u)
            else:
                found.append(u)
        elif u.op.family is subtensor and len(u.args) == 1 and isinstance((*u.op.params["index"], None)[0], int):
            read.append(u)
    found += [u for u in read if u.args[0] in ragged and u.args[0].op.family is nth and u.args[0].args[0] is t]
    return dict(zip(found, _by_lane(found, values, n), strict=True))


def _is_own_part(t: Any, args: list[Lifted]) -> bool:
    """As many elements as each example says: `x[:n]`, but not a window `x[i : i + 3]`, which has one length for all."""
    if t.op.family is not subtensor or not any(a.lifted for a in args[1:]):
        return False
    slices = [entry[1:3] for entry in t.op.params["index"] if isinstance(entry, tuple)]
    return any((start == "?") != (stop == "?") for start, stop in slices)


def _by_lane(roots: Sequence[Any], values: Mapping[Any, Any], n: Any) -> list[Lifted]:
    """The roots in one loop over the examples, from what has a value. Its gradient keeps nothing of what is inside."""
    if not roots:
        return []
    known = {id(t): t for t in values}
    leaves: dict[Any, Any] = {}
    for t in children_first_until(roots, known):
        for a in t.args:
            if a in values and a not in leaves:
                v = values[a]
                leaves[a] = v.term if not v.lifted and v.term.op is CONST else Input(None, a.type)
    consts = [(x, values[a].term) for a, x in leaves.items() if not values[a].lifted and x.op is not CONST]
    rows = [(x, values[a].term) for a, x in leaves.items() if values[a].lifted]
    found = projections(make_loop(n, consts, [], rows, substitute(roots, leaves), recompute=True))
    return [Lifted(x, True) for x in found]


def _rebuilt(t: AnyTerm, args: list[Lifted]) -> AnyTerm:
    """The term on new operands that are the same for all examples: lengths, mostly."""
    if all(a.term is old for a, old in zip(args, t.args)):
        return t
    return mk(t.op, tuple([a.term for a in args]))


def _lifted(t: Any, args: list[Lifted], n: Any) -> Any:
    rule = _loop if t.op.family is loop else rule_for(t)
    found = rule(t, args, n) if rule is not None else None
    if found is None and (t.op.family is loop and t.op.n_ys or _is_own_part(t, args) or not _stackable(t.type)):
        return None  # as many results as the example makes steps, or says; or matrices that no array holds
    return lane_by_lane(t, args, n) if found is None else found


def _stackable(type_: Type) -> bool:
    """Whether values of many examples fit one array: sparse matrices do not."""
    return all(isinstance(part, TensorType) for part in (type_.types if isinstance(type_, TupleType) else (type_,)))


def lane_by_lane(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> Any:
    """A loop over the examples: right for every op, whatever it does."""
    leaves: list[Any] = [
        a.term if not a.lifted and a.term.op is CONST else Input(None, old.type) for a, old in zip(args, t.args)
    ]
    consts = [(leaf, a.term) for leaf, a in zip(leaves, args) if not a.lifted and leaf.op is not CONST]
    rows = [(leaf, a.term) for leaf, a in zip(leaves, args) if a.lifted]
    body = mk(t.op, tuple(leaves))
    ys = projections(body) if isinstance(t.type, TupleType) else [body]
    found = projections(make_loop(n, consts, [], rows, ys))
    lifted = [Lifted(x, True) for x in found]
    return lifted if isinstance(t.type, TupleType) else lifted[0]


# ---------------------------------------------------------------------- loops
def _loop(t: AnyTerm, args: list[Lifted], n: AnyTerm) -> list[Lifted] | None:
    """One loop whose body works on all lanes; no answer where the examples need different numbers of steps."""
    op, parts = t.op, Parts(t.op, args)
    if parts.n.lifted:
        return None
    body = _Body(op, parts, n)
    while body.settle():
        pass
    return None if body.stop is not None and body.stop.lifted else body.results()


class _Body:
    """The body of a loop, lifted: a carry is, once its start or its next value is."""

    def __init__(self, op: Any, parts: Parts, n: Any) -> None:
        self.op, self.parts, self.n = op, parts, n
        self.lanes = n if n.op is CONST else Input(None, n.type)  # their number, inside
        self.wide = [a.lifted for a in (*parts.consts, *parts.inits, *parts.xs)]

    def settle(self) -> bool:
        """Lift the body once; whether another carry turned out to be lifted."""
        op = self.op
        self.leaves = [_leaf(old.type, self.lanes, wide) for old, wide in zip(op.leaves, self.wide)]
        given = {old: new for old, new, wide in zip(op.leaves, self.leaves, self.wide) if wide}
        plain = {old: new for old, new, wide in zip(op.leaves, self.leaves, self.wide) if not wide}
        roots = substitute(op.params["body"], plain)
        found = lifted_terms(roots, given, self.lanes)
        self.nexts, self.ys = found[: op.n_carry], found[op.n_carry : op.n_carry + op.n_ys]
        self.stop = found[-1] if op.params["until"] else None
        before = list(self.wide)
        for i, new in enumerate(self.nexts):
            self.wide[op.n_consts + i] |= new.lifted
        return self.wide != before

    def results(self) -> list[Lifted]:
        """The results of the new loop."""
        op, parts, c = self.op, self.parts, self.op.n_consts
        s = c + op.n_carry
        consts = [(leaf, a.term) for leaf, a in zip(self.leaves, parts.consts)]
        if self.lanes is not self.n:
            consts.append((self.lanes, self.n))
        wide = self.wide[c:s]
        carries = [
            (leaf, spread(init, self.n) if w else init.term, spread(new, self.lanes) if w else new.term)
            for leaf, init, new, w in zip(self.leaves[c:s], parts.inits, self.nexts, wide)
        ]
        xs = [
            (leaf, reorder(a.term, _swapped(a.term)) if a.lifted else a.term)
            for leaf, a in zip(self.leaves[s:], parts.xs)
        ]
        stop = None if self.stop is None else self.stop.term
        new = projections(make_loop(parts.n.term, consts, carries, xs, [y.term for y in self.ys], stop, source=op))
        finals = [Lifted(x, w) for x, w in zip(new, wide)]
        stacks = [
            Lifted(reorder(x, _swapped(x)), True) if y.lifted else Lifted(x, False)
            for x, y in zip(new[op.n_carry :], self.ys)
        ]
        return [*finals, *stacks, *[Lifted(x, False) for x in new[op.n_carry + op.n_ys :]]]


def _leaf(type_: TensorType, lanes: Any, wide: bool) -> Any:
    if not wide:
        return Input(None, type_)
    n = int(lanes.scalar) if lanes.op is CONST else None
    return Input(None, TensorType.of(type_.dtype, (n, *type_.shape)))


def _swapped(x: Input | AnyTerm) -> tuple:
    """Steps before lanes, or back."""
    return (1, 0, *range(2, x.type.ndim))
