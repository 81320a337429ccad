"""Sums of products along the rows of small matrices, of which a batch has many: a few columns stay in registers.

The loop over all columns of a row touches memory for each partial result, which pays only where there are many of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from termgraph.lower.loops.tree import Accumulate, Columns, Let, Sweep
from termgraph.lower.push.kernel import LOAD

LANES = (8, 4, 2)  # the last ones begin earlier where they would go beyond the end
NARROW = 16  # columns: with two whole vectors of them partial results in memory are as fast


def may_be_narrow(n: Columns) -> bool:
    """Whether a loop over an unknown number of columns adds up products of two elements, then uses the sums."""
    if len(n.body) != 2:
        return False
    rows, after = n.body
    return rows.var is not None and after.var is None and not rows.outer and _adds_products(rows)


def _adds_products(rows: Sweep) -> bool:
    if len(rows.folds) != 1 or not all(isinstance(x, (Let, Accumulate)) for x in rows.body):
        return False
    (f,) = rows.folds
    t = f.args[0]
    loads = all(x.term is t or x.term.op.family is LOAD for x in rows.body if isinstance(x, Let))
    product = t.op.family.name == "mul" and all(a.op.family is LOAD for a in t.args)
    return f.op.params["kind"] == "sum" and f.type.kind == "f" and product and loads


def write(p: Any, n: Columns, otherwise: Callable[[], None]) -> None:
    """The text for few columns, and for many; `p` is the printer."""
    end, base = p.poly(n.var.extent), p.names.new("b")
    with p.block(f"if ({end} > 1 && {end} < {NARROW})"):
        p.add(f"int64_t {base} = 0;")
        for lanes in LANES:
            with p.block(f"for (; {base} < {end} && {lanes} <= {end}; {base} += {lanes})"):
                p.add(f"if ({base} > {end} - {lanes}) {base} = {end} - {lanes};")
                for sweep in n.body:
                    _sweep(p, sweep, f"i{n.var.level}", base, lanes)
    with p.block("else"):
        otherwise()


def _sweep(p: Any, s: Sweep, i: str, base: str, lanes: int) -> None:
    each = f"for (int64_t u = 0; u < {lanes}; u++)"
    if s.var is None:
        p.lane_loop(each, s.body, i, base)
        return
    for f in s.folds:
        acc = p.names.new("a")
        p.declare_lanes(f, acc, lanes)
        p.text["acc", f] = p.text[f] = f"{acc}_lane[u]"
    with p.block(p.for_head(s.var)):
        p.lane_loop(each, s.body, i, base)
