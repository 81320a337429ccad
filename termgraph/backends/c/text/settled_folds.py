"""Folds that nothing can change any more: `any` that has met a true element, `all` that has met a false one.

Such a loop may end early, if nobody can tell: it writes nothing, and no index from data has to be checked in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from termgraph.lower.loops.tree import Accumulate, Let, Loop, Reduce, walk
from termgraph.lower.push.kernel import ARG_FOLDS, INDEX

STEPS = 4096  # of a loop over elements, after which it is asked: asking in each would keep it from being a vector loop
GLANCE = 64  # the steps after which it is asked first: what differs mostly does so at once
FEW = 16
TRUE, FALSE = ("any", "max", "sum", "argmax"), ("all", "min", "prod", "argmin")  # what settles folds of truth values


def can_settle(n: Reduce) -> bool:
    """Whether all folds of a loop have an element that nothing changes, and nothing else happens in it."""
    inside = list(walk(list(n.body)))
    quiet = all(
        isinstance(x, (Accumulate, Loop, Reduce)) or (isinstance(x, Let) and x.term.op.family is not INDEX)
        for x in inside
    )
    return quiet and all(f.args[0].type.dtype == "bool" and f.op.params["kind"] in (*TRUE, *FALSE) for f in n.folds)


def is_flat(n: Reduce) -> bool:
    """Whether a step is short: loops inside are of few steps, and compilers write them out."""
    lengths = [x.var.extent.const for x in walk(list(n.body)) if isinstance(x, (Loop, Reduce))]
    return all(known is not None and known <= FEW for known in lengths)


def same_fold_of_rows(n: Reduce) -> Reduce | None:
    """The fold along rows of which a loop over rows is the same fold, as in `all` of a matrix: then elements may be
    folded twice, and some of a row first.
    """
    if len(n.body) != 2 or not isinstance(n.body[0], Reduce) or not isinstance(n.body[1], Accumulate):
        return None
    row, (f, *more) = n.body[0], n.folds
    kinds = {f.op.params["kind"], *[x.op.params["kind"] for x in row.folds]}
    same = any(kinds <= set(of) - set(ARG_FOLDS) for of in (TRUE, FALSE))
    return row if same and not more and list(row.folds) == [f.args[0]] and can_settle(row) else None


def settled(folds: dict[Any, str]) -> str:
    """The condition that these folds, of which each has a variable, are settled."""
    parts = []
    for f, acc in folds.items():
        kind = f.op.params["kind"]
        value = f"{acc}_best" if kind in ARG_FOLDS else acc
        parts.append(value if kind in TRUE else f"!{value}")
    return " && ".join(parts)


def bounds_of_part(n: str, parts: int | None, length: int | None) -> list[str]:
    """The steps of a part of a fold of n, where all parts have one `length` if it is known."""
    if parts == 1:
        return [f"const int64_t from = 0, to = {n};"]
    if length is not None:
        return [f"const int64_t from = part * {length}, to = from + {length};"]
    of = "c->parts" if parts is None else parts
    begin = f"({n}) / {of} * part + ({n}) % {of} * part / {of}"
    end = f"({n}) / {of} * (part + 1) + ({n}) % {of} * (part + 1) / {of}"
    return [f"const int64_t from = {begin};", f"const int64_t to = {end};"]


def results_of_part(folds: dict[Any, str], ctype: Callable[[str], str]) -> dict[str, str]:
    """Where parts keep the results of folds, behind them extremes whose places are looked for, and what has them."""
    found = {f"(({ctype(f.type.dtype)} *)c->partial[{k}])": acc for k, (f, acc) in enumerate(folds.items())}
    for k, (f, acc) in enumerate(folds.items()):
        if f.op.params["kind"] in ARG_FOLDS:
            found[f"(({ctype(f.args[0].type.dtype)} *)c->partial[{len(folds) + k}])"] = f"{acc}_best"
    return found


def skipped_parts(folds: dict[Any, str], results: Iterable[str]) -> list[str]:
    """What stands behind a part of folds: those that follow have its results if they are settled."""
    copied = " ".join(f"{kept}[part + 1] = {kept}[part];" for kept in results)
    return [f"if ({settled(folds)})", f"    for (; part + 1 < end; part++) {{ {copied} }}"]
