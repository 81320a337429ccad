"""The stage `halves` (`storage=`): arrays that wait for the backward pass are kept in 16 bits.

Lowering says which arrays are stored, and which statements read them. What the forward pass stores and the backward
pass reads much later is stored a second time, as `stored_as(x)`, and the backward pass is written over these. Terms
that costs and other results without gradients are made of stay as they are, and so do their values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph._records import record, replace
from termgraph.compile.decisions import Narrowed
from termgraph.rules.trace import Trace
from termgraph.terms.traverse import children_first

if TYPE_CHECKING:
    from termgraph.compile.capture import Passes
    from termgraph.compile.values import Rewritten
    from termgraph.lower import lowering
    from termgraph.lower.lengths import checks, index
    from termgraph.lower.loops import tree
    from termgraph.lower.memory import plan
    from termgraph.lower.push.kernel import Buf
    from termgraph.terms.term import AnyTerm
else:
    checks = lazy("termgraph.lower.lengths.checks")
    index = lazy("termgraph.lower.lengths.index")
    lowering = lazy("termgraph.lower.lowering")
    plan = lazy("termgraph.lower.memory.plan")
    tree = lazy("termgraph.lower.loops.tree")

WIDE = ("float32", "float64")
LARGE = 64  # an array is kept in 16 bits if it has no less than one part in so many of the largest one's elements
UNKNOWN = 64  # what a length counts as that is not known
PAUSE = 2  # more statements than that lie between its last use in the forward pass and the first in the backward pass


def halves(value: Rewritten) -> Rewritten:
    """Let the backward pass read what it reads of the forward one from arrays of 16 bits."""
    passes, dtype = value.captured.passes, value.options.storage
    if passes is None or dtype is None or value.body is not None:
        return value
    roots = value.roots[: passes.count]
    backward = [k for k in range(passes.count) if k not in passes.forward]
    found = _waiting(value, passes) if backward else _Waiting()
    made = Narrowed([roots[k] for k in backward], found.large, found.stored, found.made, dtype)
    new = list(roots)
    for k, t in zip(backward, made.roots):
        new[k] = t
    trace = Trace(roots, [_Rule()], "halves")
    trace.steps = [(0, t, u) for t, u in made.kept.items()]
    trace.moved = [t for k in backward for t in (roots[k], new[k])]
    return replace(value, roots=tuple(new), traces=(*value.traces, trace))


class _Rule:
    """What the trace names."""

    name, where = "storage", "the option storage= of the function"


@record
class _Waiting:
    """Stored terms: `large` ones of the forward pass that wait, its others, and those of the backward pass."""

    large: list[Any] = field(default_factory=list)
    stored: list[Any] = field(default_factory=list)
    made: set[Any] = field(default_factory=set)


def _waiting(value: Rewritten, passes: Passes) -> _Waiting:
    """What a plain program of the graph stores, and what of it waits for the backward pass; none: nothing."""
    args = value.captured.args
    known = tuple([(args[i], lengths) for i, lengths in passes.present if len(lengths) == args[i].type.ndim])
    try:
        region = lowering.Region(value.roots, lowering.Target(rows_in_loops=True, whole_vectors=True), known=known)
        lowered = lowering.planted(lowering.stored(lowering.measured(lowering.expanded(region))))
    except checks.NotLowerable:
        return _Waiting()
    every = lowered.statements.stored
    every = every | {b: lowered.outputs[k] for k, b in lowering.targets_of(lowered).items()}
    forward = set(children_first([lowered.outputs[k] for k in passes.forward]))
    inside = set(children_first([value.roots[k] for k in passes.forward]))
    first = {b: t for b, t in every.items() if t in forward}
    original = {b: lowered.origin.get(t, t) for b, t in every.items()}
    pausing = _pausing(lowered.nodes, {b for b in first if b.kind == "temp"}, first)
    waits = [b for b in pausing if _is_wide(original[b], b) and original[b] in inside and not _is_of_sums(original[b])]
    least = max(map(_elements, waits), default=0) / LARGE
    large = dict.fromkeys(original[b] for b in waits if _elements(b) >= least)
    return _Waiting(
        list(large),
        [original[b] for b in first if original[b] in inside and original[b] not in large],
        {t for b, t in original.items() if b not in first},
    )


def _is_wide(t: AnyTerm, b: Buf) -> bool:
    """Whether 16 bits are fewer; `b` holds the term itself, not a part of what it stands for."""
    return b.dtype in WIDE and t.type.dtype == b.dtype and t.type.ndim == len(b.shape)


def _is_of_sums(t: AnyTerm) -> bool:
    """Whether a term is computed of sums alone, and weights: small, and all elements of other arrays depend on it."""
    while t.args and t.op.kind in ("elementwise", "shape"):
        t = max(t.args, key=lambda a: (a.type.ndim, bool(a.args)))
    return bool(t.args) and t.op.kind == "reduce"


def _pausing(nodes: Sequence[Any], asked: Collection[Buf], forward: Collection[Buf]) -> Iterator[Buf]:
    """Buffers that the forward pass is done with some statements before the backward pass begins to read them.

    What a loop over steps reads it reads whole.
    """
    last: dict[Buf, int] = {}
    first: dict[Buf, int] = {}
    loops: set[Buf] = set()
    end = max((k for k, n in enumerate(nodes) if any(b in forward for b in plan.writes(n))), default=0)
    for k, n in enumerate(nodes):
        written = plan.writes(n)
        backward = any(b not in forward for b in written)
        turn = end - PAUSE <= k <= end  # loops of both passes, such as those that sum up a cost, stay as they are
        for b in dict.fromkeys([*written, *[b for b, _ in plan.loads(n)]]):
            if b not in asked:
                continue
            if backward and b not in written:
                first.setdefault(b, k)
                loops |= {b} if isinstance(n, tree.Repeat) else set()
            if turn or not backward or b in written:
                last[b] = k
    return (b for b, k in first.items() if b not in loops and k - last.get(b, k) > PAUSE)


def _elements(b: Buf) -> int:
    """About how many elements a buffer has."""
    return int(index.evaluate(index.product(b.shape), _Nominal()))


class _Nominal(dict[Any, int]):
    """Lengths that are not known."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: object) -> int:
        return UNKNOWN
