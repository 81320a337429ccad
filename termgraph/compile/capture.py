"""Capture: from the user's variables to closed terms over numbered arguments. The user's graph is only read.

Rules and code see `Arg(0), Arg(1), ...`, so that equal graphs compile to equal code whatever their inputs are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from termgraph._lazy import lazy
from termgraph._records import record
from termgraph.tensor.bipartite import ancestors, inputs_of
from termgraph.tensor.display_names import apply_text
from termgraph.tensor.likes import Pairs
from termgraph.tensor.origins import differentiated
from termgraph.tensor.sharedvar import label
from termgraph.tensor.trace import placed
from termgraph.tensor.variable import Constant, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.digest import graph_digest
from termgraph.terms.errors import MissingInputError, TypeMismatch
from termgraph.terms.term import AnyTerm, Arg
from termgraph.terms.text import one_line
from termgraph.terms.traverse import (
    children_first,
    children_first_until,
    free_inputs,
    path_down,
    resolve_bound,
    substitute,
)
from termgraph.terms.types import TensorType, fits

if TYPE_CHECKING:
    from termgraph.grad import waiting
else:
    waiting = lazy("termgraph.grad.waiting")  # loaded already where a variable waits

Lengths: TypeAlias = "Mapping[int, Sequence[int | None]]"  # of arguments by number: what is known of them
NONE: Mapping[Any, Any] = {}


@record(frozen=True)
class Passes:
    """Which results are made without gradients (`forward`, numbers of roots), and `present` lengths of arguments.

    From the root of number `count` on roots are no results: costs, of which only the gradients are asked for. They
    are rewritten with the others, so that it is known what becomes of them.
    """

    forward: tuple[int, ...]
    count: int
    present: tuple[tuple[int, tuple[int | None, ...]], ...] = ()  # by the number of the argument


class Captured:
    """A closed graph: `roots` are terms over `args`, one per input. `lookup(term)` gives the user's name and place.

    `lengths` are those of arguments that hold in all calls, whether or not their types promise them. Where it matters
    what only gradients read, `passes` says it.
    """

    def __init__(
        self,
        args: list[Arg],
        roots: list[Any],
        sources: Sources | None = None,
        lengths: Mapping[Any, Sequence[int | None]] | None = None,
        passes: Passes | None = None,
    ) -> None:
        self.args, self.roots, self.passes = args, roots, passes
        self.sources = sources
        self.lengths = lengths or {}

    def __str__(self) -> str:
        return "\n".join(f"out{k} = {one_line(t)}" for k, t in enumerate(self.roots))

    @property
    def made(self) -> list[Any]:
        """The roots that are there; in place of those that wait costs, and what is computed from stand-ins."""
        return self.roots

    def digest(self) -> str:
        """A name that no other graph has; NoName if that cannot be said."""
        return graph_digest(self.roots)

    def sizes(self) -> dict[str, int]:
        """How many terms it has."""
        return {"nodes": len(children_first(self.roots))}

    def lookup(self, term: AnyTerm) -> tuple[str | None, tuple]:
        """(name, site) of the user's variable that a captured term came from; (None, ()) if there is none."""
        return (None, ()) if self.sources is None else self.sources.lookup(term)


def capture(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    givens: Mapping[Variable, Any],
    passes: bool = False,
    known: Lengths | None = None,
) -> Captured:
    """Close the graph of `outputs` over `inputs`, with some variables replaced; `passes`: note what was differentiated.

    An input may be any variable: what computes it is cut off. MissingInputError if a leaf is left over. Where it gains
    by them, and nothing is replaced, the graph is closed over the lengths that are `known` of inputs, as by
    `with_lengths`: large graphs are made once then, not twice.
    """
    roots = resolve_bound([v.term for v in outputs])
    leaves, types = resolve_bound([v.term for v in inputs]), [v.type for v in inputs]
    if known and not givens and _gains_by_lengths(children_first_until(roots, {id(t): t for t in leaves})):
        lengths = _fitting(known, types)
        with suppress(TypeError, ValueError):
            return _closed(roots, leaves, _all_narrowed(types, lengths), inputs, outputs, passes, lengths)
    return _closed(roots, leaves, types, inputs, outputs, passes, {}, givens)


class Unmade(Captured):
    """A closed graph some roots of which are gradients that wait, or computed from some: its name is that of the costs,
    of what they are differentiated by, and of what is computed. `roots` and `sources` are made when somebody asks.
    """

    def __init__(self, forward: Captured, named: waiting.Named, whole: Callable[[], Captured]) -> None:
        self.args = forward.args[: len(forward.args) - len(named.stand)]
        self.lengths, self.passes = forward.lengths, None
        self._forward, self._named, self._whole = forward.roots, named, whole

    def __getattr__(self, name: str) -> Any:
        if name not in ("roots", "sources"):
            raise AttributeError(name)
        whole = self._whole()
        self.roots, self.sources = whole.roots, whole.sources
        return getattr(self, name)

    @property
    def made(self) -> list[Any]:
        return self._forward[: len(self._forward) - len(self._named.wrt)]

    def digest(self) -> str:
        return f"{graph_digest(self._forward)}: {self._named.text}"


def unmade(inputs: Sequence[Variable], outputs: Sequence[Variable], known: Lengths | None) -> Captured | None:
    """Outputs of which some are gradients that wait, closed over inputs; None where all are made, or have to be."""
    named = waiting.named(outputs, inputs) if any(v.waits for v in outputs) else None
    if named is None:
        return None
    try:
        forward = capture(
            [*inputs, *named.stand], [*named.made, *named.costs, *named.formed, *named.wrt], {}, False, known
        )
    except MissingInputError:  # which is said of the outputs themselves
        return None
    return Unmade(forward, named, partial(_made, inputs, outputs, forward))


def _made(inputs: Sequence[Variable], outputs: Sequence[Variable], like: Captured) -> Captured:
    """The whole graph over the arguments of a part of it."""
    roots, leaves = (resolve_bound([v.term for v in variables]) for variables in (outputs, inputs))
    lengths = {a.index: n for a, n in like.lengths.items()}
    return _closed(roots, leaves, [a.type for a in like.args[: len(inputs)]], inputs, outputs, False, lengths)


def _closed(
    roots: list[Any], leaves: list[Any], types: Sequence[Any], inputs: Sequence[Variable],
    outputs: Sequence[Variable], passes: bool, lengths: Lengths, givens: Mapping[Variable, Any] = NONE,
) -> Captured:  # fmt: skip
    """The graph over arguments of these types."""
    args = [Arg(i, type_) for i, type_ in enumerate(types)]
    replace = dict(zip(leaves, args))
    if givens:
        keys = resolve_bound([v.term for v in givens])
        values = substitute(resolve_bound([v.term for v in givens.values()]), replace)
        replace |= dict(zip(keys, values))  # also of shared variables: what replaces one may mention it
    captured = substitute(roots, replace)
    _refuse_missing(captured, inputs, outputs, givens)
    sources = Sources([*outputs, *givens.values()], replace, inputs, args)
    told = {args[i]: n for i, n in lengths.items()}
    if not passes:
        return Captured(args, captured, sources, told)
    roots, found = _with_costs(captured, outputs, replace)
    return Captured(args, roots, sources, told, found)


def _with_costs(
    roots: list[Any], variables: Sequence[Variable], replace: Mapping[Any, Any]
) -> tuple[list[Any], Passes]:
    """The roots, with those costs behind them that no root without gradients is computed from."""
    with_gradients, made_from = differentiated(variables)
    forward = [k for k, backward in enumerate(with_gradients) if not backward]
    costs = substitute(resolve_bound([v.term for v in made_from]), replace)
    known = uses([roots[k] for k in forward])
    more = [t for t in dict.fromkeys(costs) if t.args and t not in known and not free_inputs([t])]
    below = uses([a for t in more for a in t.args])
    more = [t for t in more if t not in below]
    return [*roots, *more], Passes((*forward, *range(len(roots), len(roots) + len(more))), len(roots))


def checked_givens(givens: Pairs, inputs: Sequence[Variable], rebuild_strict: bool) -> dict[Variable, Variable]:
    """`givens` as a dictionary from variables to variables of a type that fits."""
    pairs = list(givens.items() if isinstance(givens, Mapping) else givens or ())
    checked: dict[Variable, Variable] = {}
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"givens: expected a dictionary or pairs (variable, replacement), got {pair!r:.80}")
        old, new = pair
        if not isinstance(old, Variable):
            raise TypeError(f"givens: can only replace symbolic variables, got {type(old).__name__} {old!r:.60}")
        if any(old is v for v in inputs):
            raise RuntimeError(
                f"givens: {label(old)} is an input of the function, which gets its value from the call; "
                "leave it out of the inputs or out of givens"
            )
        if old in checked:
            raise ValueError(f"givens: {label(old)} is replaced twice")
        if not isinstance(new, Variable):
            new = as_tensor(new, dtype=old.type.dtype if isinstance(new, (bool, int, float, complex)) else None)
        checked[old] = _fitted(old, new, rebuild_strict)
    return checked


def _fitted(old: Variable, new: Variable, strict: bool) -> Variable:
    if fits(old.type, new.type) or not strict:
        return new
    raise TypeMismatch(
        f"givens: {label(old)} has type {old.type}, its replacement {new} has type {new.type}; "
        "convert the replacement, or pass rebuild_strict=False to rebuild the graph with the new type"
    )


# ---------------------------------------------------------------------- what is missing
def _refuse_missing(
    captured: Sequence[Any], inputs: Sequence[Variable], outputs: Sequence[Variable], givens: Mapping[Variable, Any]
) -> None:
    left = free_inputs(captured)
    if not left:
        return
    stop = {v.term for v in (*inputs, *givens)}
    leaf = left[0]
    chain = variable_path([*outputs, *givens.values()], leaf, stop)
    shown = chain[-1].name if chain and chain[-1].name else repr(leaf)
    lines = [f"the graph needs the input {shown} of type {leaf.type}, which was not given a value."]
    if len(left) > 1:
        lines[0] += f" (Also missing: {', '.join(repr(other) for other in left[1:6])}.)"
    if leaf.inner:
        lines[0] = f"the graph needs {shown} of type {leaf.type}, which only a function that was given it knows."
        what = "Return what is needed from that function (the step of a loop, or what is mapped or differentiated)"
        lines.append(f"{what}, do not put it aside there. It is used like this:")
    else:
        lines.append("Add it to the inputs of the function, or replace it with givens=. It is used like this:")
    lines += _chain_text(chain)
    raise MissingInputError(placed(chain[-1].site if chain else (), "\n".join(lines)))


def _chain_text(chain: Sequence[Variable], limit: int = 12) -> list[str]:
    """From the input to the output, one variable a line, with the line of the user's program that made it."""
    steps = list(reversed(chain))
    if len(steps) > limit:
        cut = len(steps) - limit
        steps = [*steps[: limit // 2], None, *steps[-limit // 2 :]]
    lines = []
    for i, v in enumerate(steps):
        if v is None:
            lines.append(f"  ... {cut} more ...")
            continue
        arrow = "  " if i == 0 else "  -> "
        made = f"   ({v.where})" if v.where else ""
        lines.append(f"{arrow}{describe(v)}{made}")
    return lines


def describe(v: Variable) -> str:
    """A variable by its name, or by the application that makes it."""
    if v.name:
        return v.name
    return apply_text(v.owner) if v.owner is not None else f"<{v.type}>"


def variable_path(roots: Iterable[Variable], leaf: AnyTerm, stop: Iterable[Any] = ()) -> list[Variable]:
    """One chain of variables from a root down to the variable whose term is `leaf`, not through terms in `stop`."""
    stop = set(stop)
    return path_down(roots, lambda v: v.term is leaf, lambda v: () if v.term in stop else inputs_of(v))


# ---------------------------------------------------------------------- where terms came from
class Sources:
    """The user's names and lines for captured terms, worked out only when an error or a printout asks."""

    def __init__(
        self, variables: Sequence[Variable], replace: Mapping[Any, Any], inputs: Sequence[Variable], args: Sequence[Arg]
    ) -> None:
        self._variables, self._replace = list(variables), dict(replace)
        self._inputs = list(zip(args, inputs))
        self._table: dict[Any, tuple[str | None, tuple]] | None = None

    def lookup(self, term: AnyTerm) -> tuple[str | None, tuple]:
        """(name, site) of a captured term."""
        return self.table().get(term, (None, ()))

    def table(self) -> dict[Any, tuple[str | None, tuple]]:
        """All that is known: captured term -> (name, site)."""
        if self._table is None:
            self._table = self._build()
        return self._table

    def fill(self, table: dict[Any, tuple[str | None, tuple]]) -> None:
        """Set what is known, instead of working it out from variables."""
        self._table = table

    def _build(self) -> dict[Any, tuple[str | None, tuple]]:
        table: dict[Any, tuple[str | None, tuple]] = {}
        variables = ancestors(self._variables)
        terms = [v.term for v in variables]
        for v, t in zip(variables, substitute(resolve_bound(terms), self._replace)):
            _note(table, t, v)
        for arg, v in self._inputs:
            table[arg] = (v.name, v.site)
        return table


class MovedSources(Sources):
    """What is known of a graph, for the same graph over arguments of other types."""

    def __init__(self, base: Sources, replace: Mapping[Any, Any]) -> None:
        super().__init__([], replace, [], [])
        self._base = base

    def _build(self) -> dict[Any, tuple[str | None, tuple]]:
        known = self._base.table()
        return dict(zip(substitute(list(known), self._replace), known.values()))


def _note(table: dict, term: AnyTerm, v: Variable) -> None:
    """The first variable of a term gives its place; the first named one its name."""
    name, site = table.get(term, (None, ()))
    if isinstance(v, Constant) and not v.name:
        return
    table[term] = (name or v.name, site or v.site)


def uses(roots: Sequence[Any]) -> set[Any]:
    """All terms of a graph."""
    return set(children_first(roots))


# ---------------------------------------------------------------------- lengths of shared variables
# As facts for the rules: a graph is closed over the lengths that shared variables have at present. A program of such a
# graph compares lengths when it is called, and is made anew for others. Only graphs that gain by it are closed like
# that: of convolutions, whose ways depend on the lengths of filters.
def _gains_by_lengths(order: Iterable[Any]) -> bool:
    """Whether the rules can do more with a graph of these terms if its shared variables have known lengths."""
    return any(_open(t) for t in order if t.args and t.op.kind == "conv")


def _open(t: AnyTerm) -> bool:
    return any(None in a.type.shape for a in t.args)


def _narrowed(type_: Any, lengths: Sequence[int | None]) -> Any:
    """A type with lengths that it left open, but for a 1: one that is promised would be stretched."""
    if not isinstance(type_, TensorType) or len(lengths) != type_.ndim:
        return type_
    shape = tuple([m if m is not None or n is None or n < 2 else n for m, n in zip(type_.shape, lengths)])
    return type_ if shape == type_.shape else TensorType(type_.dtype, shape)


def with_lengths(captured: Captured, types: Sequence[Any], known: Lengths) -> Captured:
    """A graph over arguments of these types, some of which have known lengths; itself, if it is that already.

    Lengths that contradict each other are an error of the call that meets them, not of compiling.
    """
    if known and (captured.lengths or _gains_by_lengths(children_first(captured.roots))):
        lengths = _fitting(known, types)
        with suppress(TypeError, ValueError):
            return _over(captured, _all_narrowed(types, lengths), lengths)
    return _over(captured, types, {})


def _fitting(known: Lengths, types: Sequence[Any]) -> Lengths:
    """What is known of arguments that have as many axes."""
    return {i: tuple(n) for i, n in known.items() if len(n) == getattr(types[i], "ndim", -1)}


def _all_narrowed(types: Sequence[Any], lengths: Lengths) -> list[Any]:
    return [_narrowed(type_, lengths.get(i, ())) for i, type_ in enumerate(types)]


def _over(captured: Captured, types: Sequence[Any], lengths: Lengths) -> Captured:
    """The graph over arguments of these types."""
    args = [a if a.type == type_ else Arg(a.index, type_) for a, type_ in zip(captured.args, types, strict=True)]
    replace = {old: new for old, new in zip(captured.args, args) if new is not old}
    told = {args[i]: n for i, n in lengths.items()}
    if not replace and told == captured.lengths:
        return captured
    sources = None if captured.sources is None else MovedSources(captured.sources, replace)
    return Captured(args, substitute(captured.roots, replace), sources, told, captured.passes)
