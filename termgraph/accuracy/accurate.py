"""`tg.accurate`: each element-wise part of a graph in the form that loses fewest bits on stated ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from termgraph.accuracy.exact import library
from termgraph.accuracy.forms import Tidy, steps
from termgraph.accuracy.islands import Island, islands
from termgraph.accuracy.regions import Branches, branches
from termgraph.accuracy.report import Part, RegionLost, Report
from termgraph.accuracy.search import Points, Search, measured
from termgraph.rules.exprs import unwrap
from termgraph.rules.fit import fit
from termgraph.rules.trace import Trace, Traces
from termgraph.terms.traverse import children_first, free_inputs, substitute

if TYPE_CHECKING:
    from termgraph.tensor.variable import TensorVariable, Variable
    from termgraph.terms.term import AnyTerm

POINTS, HELD_OUT, FEWEST = 256, 384, 24
GAIN = 0.25  # bits on average that are worth another form


@overload
def accurate(
    expr: Variable,
    ranges: Mapping[Any, tuple[float, float]] | None = None,
    *,
    report: Literal[False] = False,
    seed: int = 0,
) -> TensorVariable: ...
@overload
def accurate(
    expr: Sequence[Variable],
    ranges: Mapping[Any, tuple[float, float]] | None = None,
    *,
    report: Literal[False] = False,
    seed: int = 0,
) -> list[TensorVariable]: ...
@overload
def accurate(
    expr: Any, ranges: Mapping[Any, tuple[float, float]] | None = None, *, report: Literal[True], seed: int = 0
) -> tuple[Any, Report]: ...
def accurate(
    expr: Any, ranges: Mapping[Any, tuple[float, float]] | None = None, *, report: bool = False, seed: int = 0
) -> Any:
    """The expression (or list of expressions) in the form that loses fewest bits to rounding.

    Forms that rules give, read in both directions, and series around 0 and infinity are compared with values of many
    digits at points of the ranges; where no form is best everywhere, `switch` chooses by range. `ranges` says for
    inputs between which numbers they lie: `{x: (0, 1)}`; of other inputs all numbers are tried, within what
    `T.assume` says. `report=True` also gives a report: bits lost before and after, by region, with a picture.
    It needs mpmath (`pip install 'termgraph[accuracy]'`), and seconds.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dscalar("x")
    >>> new, report = tg.accurate(T.sqrt(x + 1) - T.sqrt(x), ranges={x: (0, 1e300)}, report=True)
    >>> new.term
    true_div(1.0, add(sqrt(add(x, 1.0)), sqrt(x)))
    >>> report.before > 10, report.after < 1
    (True, True)
    """
    library()
    terms, wrap = unwrap(expr)
    stated = checked_ranges(ranges or {}, terms)
    found, traces, parts = improved(terms, stated, seed)
    new = wrap(found, Traces(traces))
    return (new, Report(parts)) if report else new


def checked_ranges(ranges: Mapping[Any, Any], terms: Sequence[Any]) -> dict[Any, tuple[float, float]]:
    """The ranges by term; ValueError or TypeError for what is no range of an input."""
    inputs = free_inputs(terms)
    out = {}
    for key, value in ranges.items():
        term = getattr(key, "term", key)
        if isinstance(key, str):
            term = next((t for t in inputs if getattr(t, "name", None) == key), None)
        if term not in inputs:
            names = ", ".join([str(getattr(t, "name", None) or t) for t in inputs])
            raise ValueError(f"ranges: {key!r} is no input of the expression; its inputs are {names}")
        try:
            low, high = (float(v) for v in value)
        except (TypeError, ValueError):
            raise TypeError(f"ranges: expected (lowest, highest) for {key!r}, got {value!r}") from None
        if not low <= high:
            raise ValueError(f"ranges: {key!r} has no number between {low!r} and {high!r}")
        out[term] = (low, high)
    return out


def improved(
    terms: Sequence[Any], ranges: Mapping[Any, tuple[float, float]], seed: int = 0
) -> tuple[list[Any], list[Trace], list[Part]]:
    """The terms with each part in its best form, the traces of what was replaced, and what is to be said of it."""
    rewriting = Tidy(trusting=False)
    roots, tidied = rewriting.sets[0].rewrite_terms(list(terms))
    tidied.stage = "canonicalize"
    parts: list[Part] = []
    for island in islands(roots, ranges):
        part = _look(island, rewriting, np.random.default_rng(seed))
        if part is not None:
            parts.append(part)
    replaced = {p.old: p.new for p in parts if p.new is not p.old}
    if not replaced:
        return list(roots), [tidied], parts
    return substitute(roots, replaced), [tidied, _trace(roots, parts)], parts


class Reason(NamedTuple):
    """What stands for a rule in the trace: the rules that led to a form, and where the first of them is."""

    name: str
    where: str


def _trace(roots: list[Any], parts: Sequence[Part]) -> Trace:
    where = {r.name: r.where for r in steps().rules}
    changed = [p for p in parts if p.new is not p.old]
    reasons = [Reason("+".join(p.rules) or "tidy", where.get((*p.rules, "")[0], "")) for p in changed]
    trace = Trace(roots, reasons, "accurate")
    trace.steps += [(i, p.old, p.new) for i, p in enumerate(changed)]
    return trace


def _look(island: Island, rewriting: Tidy, rng: np.random.Generator) -> Part | None:
    """The best form of a part, checked at points that had no say in it; None where too few points have values."""
    problem = island.problem
    points = problem.points(POINTS, rng)
    if len(points) < FEWEST:
        return None
    search = Search(problem, points)
    found = branches(problem, points, search.run(), rng)
    new = rewriting([found.term()])[0]
    held_out = problem.points(HELD_OUT, rng)
    before, after = measured(problem.root, held_out), measured(new, held_out)
    fitted = _back(island, new, [r.form.term for r in found.regions])
    if fitted is None or before.mean() - after.mean() < GAIN:
        new, after, fitted = problem.root, before, island.root
    regions = _regions(island, found, held_out, before, after) if fitted is not island.root else ()
    rules = tuple(dict.fromkeys([name for r in found.regions for name in r.form.rules]))
    axes = {_name(t): held_out.at[s] for t, s in zip(island.leaves, problem.leaves, strict=True)}
    return Part(island.root, fitted, float(before.mean()), float(after.mean()), regions, rules, axes, before, after)


def _back(island: Island, new: AnyTerm, forms: Sequence[Any]) -> Any:
    """The new form in terms of the graph; None for one that is not element by element, or of another type."""
    if any(t.args and t.op.kind != "elementwise" for t in children_first([new, *forms])):
        return None
    made = island.back(new)
    return made if made.type is island.root.type else fit(made, island.root, "accurate")


def _regions(
    island: Island, found: Branches, points: Points, before: np.ndarray, after: np.ndarray
) -> tuple[RegionLost, ...]:
    values = np.abs(points.at[found.leaf]) if found.absolute else points.at[found.leaf]
    name = _name(island.back(found.leaf))
    name = f"abs({name})" if found.absolute else name
    out, low = [], -np.inf
    for region in found.regions:
        here = (values >= low) & (values < region.below)
        where = "everywhere" if len(found.regions) == 1 else _between(low, name, region.below)
        means = [float(losses[here].mean()) if here.any() else 0.0 for losses in (before, after)]
        out.append(RegionLost(where, island.back(region.form.term), *means))
        low = region.below
    return tuple(out)


def _between(low: float, name: str, high: float) -> str:
    first = f"{low:.3g} <= " if np.isfinite(low) else ""
    return first + name + (f" < {high:.3g}" if np.isfinite(high) else "")


def _name(t: AnyTerm) -> str:
    while t.op.name == "assume":
        t = t.args[0]
    text = str(getattr(t, "name", None) or t)
    return text if len(text) <= 24 else text[:23] + "…"
