"""How much work a loop tree is, as a polynomial: what decides whether threads are worth while.

The unit is one cheap vector operation, roughly a third of a nanosecond.
"""

from __future__ import annotations

from collections.abc import Sequence

from termgraph.lower.lengths.index import ONE, ZERO, Poly, Var, divide, product, substitute
from termgraph.lower.loops.tree import (
    Branch,
    Call,
    Choice,
    Columns,
    Kernel,
    Let,
    Loop,
    Node,
    Reduce,
    Repeat,
    Routine,
    Sweep,
    Tiles,
    Write,
)
from termgraph.lower.push.kernel import own_cost
from termgraph.terms.ops.sorting import AT_PLACES


def work(nodes: Sequence[Node]) -> Poly:
    """Work of statements, loops included."""
    total, simple = ZERO, 0
    for n in nodes:
        if isinstance(n, Let):
            simple += max(1, own_cost(n.term))
        else:
            total = total + _work(n)
    return total + simple


def _work(n: Node) -> Poly:
    if isinstance(n, Write):
        return ONE
    if isinstance(n, (Loop, Reduce, Columns, Tiles)):
        return n.var.extent * per_iteration(n)
    if isinstance(n, Sweep):
        inside = work(n.body)
        return inside if n.var is None else n.var.extent * _in_the_middle(n.var, inside)
    if isinstance(n, Kernel):
        return _work(n.node)
    if isinstance(n, Branch):
        return work(n.then) + work(n.orelse) + 2
    if isinstance(n, Repeat):
        return n.steps * (work([*n.body, *[a.product for a in n.ahead]]) + 30)
    if isinstance(n, Routine):
        return product(n.batch) * routine_work(n) + work(n.then)
    if isinstance(n, Choice):
        return work(n.then) + work(n.orelse) + 30
    if isinstance(n, Call):
        out = ONE
        for size in n.sizes:
            out = out * size
        return out
    return ZERO


def _in_the_middle(v: Var | None, work: Poly) -> Poly:
    """Work of an iteration: where loops inside are longer in some than in others, of the one in the middle."""
    return substitute(work, {v: divide(v.extent, 2)[0]}) if v is not None and v in work.fv else work


def routine_work(n: Routine) -> Poly:
    """Work of one item of a routine's batch, roughly."""
    sizes = [size for name, size in n.sizes.items() if name != "p"]
    if n.spec.text == "convolve_lines":
        return n.sizes["n"] * n.sizes["k"] + 100
    if n.spec.text == "correlate_lines":
        return n.sizes["places"] * n.sizes["k"] + 100
    if n.spec.text.startswith("conv"):
        return divide(product([size for name, size in n.sizes.items() if name[0] in "bfeko"]), 8)[0] + 100
    if n.spec.text.startswith("pool"):
        return 2 * product([n.sizes[name] for name in ("d", "h", "w") if name in n.sizes]) + 100
    if n.spec.text in ("loop", "qr", "trsm", "lstsq", "lu_columns", "lu_solve"):
        square = sizes[0] * sizes[0]
        return square * (product(sizes[1:]) if len(sizes) > 1 else sizes[0]) + 300
    if n.spec.text == "solve_toeplitz":
        return n.sizes["line"] * n.sizes["line"] * (n.sizes["n"] + 2) + 300
    if n.spec.text in ("upfirdn", "upfirdn_slope"):
        return divide(n.sizes["n"] * n.sizes["k"], n.term.op.params["down"])[0] + 100
    if n.spec.text == "fft":
        return n.sizes["whole"] * 12 + 100
    if n.spec.text in ("places", "kept", "bincount"):
        return 2 * product([size for name, size in n.sizes.items() if name[0] in "dm"]) + 100
    if n.spec.text == "isin":
        return 4 * n.sizes["whole"] + 8 * n.sizes["n"] + 100
    if n.spec.text in AT_PLACES:
        return 4 * n.sizes["n"] + 100
    if n.spec.text == "argtopk":
        return 4 * n.sizes["n"] + 30 * n.sizes["k"] + 100
    if n.spec.text == "searchsorted":
        return ZERO + 40
    return product(sizes) * (3 if n.spec.text == "running" else 30) + 100


def per_iteration(n: Node) -> Poly:
    """Work of one iteration of a loop."""
    inside = ZERO
    for body in n.children():
        inside = inside + work(body)
    return _in_the_middle(getattr(n, "var", None), inside + 1)
