"""What is known of a compiled function beside its graph: where its time went, what is written over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from termgraph._records import record
from termgraph.stages import Table
from termgraph.terms.text import html_table
from termgraph.terms.traverse import children_first

if TYPE_CHECKING:
    from termgraph.compile.compilation import Compilation
    from termgraph.function.maker import FunctionMaker


@record
class Measured:
    """`seconds` and `share` of the part (kernel, library call, instruction) that computes a term, `part` its text;
    `overwritten` has pairs: the new value of a shared variable, and the argument whose memory it takes."""

    seconds: dict[Any, float] = field(default_factory=dict)
    share: dict[Any, float] = field(default_factory=dict)
    part: dict[Any, str] = field(default_factory=dict)
    overwritten: set[tuple[Any, Any]] = field(default_factory=set)
    shared: frozenset = frozenset()  # arguments that are shared variables
    inside: dict[Any, Measured] = field(default_factory=dict)  # by loop op: what is known of its steps


def measured(obj: object) -> Measured:
    """What is known of an object; nothing, unless it is a compiled function."""
    maker = getattr(obj, "maker", None)
    work = getattr(maker, "work", None)
    if maker is None or work is None:
        return Measured()
    found = Measured(overwritten=_overwritten(obj, maker, work))
    found.shared = frozenset(a for a, item in zip(work.args, maker.inputs) if item.shared)
    if maker.profile.running and maker.profile.calls:
        _add_times(found, maker.profile.by_terms(), work.roots)
        found.inside = _inside(maker.profile)
    return found


def _inside(profile: Any) -> dict[Any, Measured]:
    """The times in the steps of loops, where the virtual machine ran them one by one."""
    made: dict[Any, Measured] = {}
    for op, inner in profile.steps():
        made[op] = Measured(inside=_inside(inner))
        _add_times(made[op], inner.by_terms(), op.params["body"])
    return made


def _add_times(found: Measured, parts: Sequence[tuple[float, str, Sequence[Any]]], roots: Iterable[Any]) -> None:
    """Each term gets the time of the part that computes it: its own, or that of what it is computed for."""
    own = {t: (seconds, text) for seconds, text, terms in parts for t in terms}
    total = sum(seconds for seconds, _, _ in parts) or 1.0
    order = children_first(roots)
    for t in reversed(order):  # users first
        if t in own:
            found.seconds[t], found.part[t] = own[t]
        if t not in found.seconds:
            continue
        found.share[t] = found.seconds[t] / total
        for a in t.args:
            if a not in own and a not in found.seconds:
                found.seconds[a], found.part[a] = found.seconds[t], found.part[t]


def _overwritten(f: Any, maker: FunctionMaker, work: Compilation) -> set[tuple[Any, Any]]:
    """The updates that are written into the memory of the old value."""
    updated = [i for i, item in enumerate(maker.inputs) if item.update is not None] if maker.keeps_updates else []
    deferred = {d.update for d in f.__dict__.get("_deferred", ())}
    for code, _ in work.native.values():
        deferred |= {u.cell for u in code.signature.updates if u.mode != "fresh"}
    news = work.roots[len(maker.outputs) :]
    return {(news[k], work.args[updated[k]]) for k in deferred if k < len(updated)}


def stages_table(obj: object) -> str:
    """The stages of a compiled function with what each took, as HTML; nothing for other objects."""
    stages = getattr(obj, "stages", None)
    if not isinstance(stages, Table):
        return ""
    whole = sum(r.seconds for r in stages) or 1.0
    sizes = [["" if n is None else str(n) for n in (r.nodes, r.kernels, r.bytes)] for r in stages]
    rows = [(r.seconds / whole, r.stage, f"{1e3 * r.seconds:.3f}", *size, r.note) for r, size in zip(stages, sizes)]
    head = ("", "stage", "ms", "nodes", "kernels", "bytes", "")
    return f"<section class='stages'><h2>how it was compiled</h2>{html_table(head, rows)}</section>"
