"""Systems of equations whose matrix others have too, in later steps or beside them: factored once, with equal bits.

Factoring fails for no matrix: that one is singular is told by the first system that is solved by its factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from termgraph.loops.loop_term import LoopView, change_loops
from termgraph.terms.build import in_dtype
from termgraph.terms.moved import note_moved, rebuild_moved
from termgraph.terms.ops.basic import dimshuffle, nth
from termgraph.terms.ops.factors import lu_columns, lu_solve
from termgraph.terms.ops.linalg import cholesky, solve, solve_triangular
from termgraph.terms.ops.precision import DOUBLE
from termgraph.terms.term import AnyTerm, mk, mk1
from termgraph.terms.traverse import children_first, grouped, substitute

_TURNED = dimshuffle.bind(order=(1, 0))


def shared_factors(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Factor a matrix once for all systems that have it, or have it transposed: those of a gradient do."""
    return _shared(roots, turned=True)


def equal_factors(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Factor a matrix once for all systems that have it as it is: their values keep all bits."""
    return _shared(roots, turned=False)


def _shared(roots: Sequence[Any], turned: bool) -> tuple[list[Any], int]:
    found = list(_systems(children_first(roots), turned))
    by_matrix = grouped((_matrix_of(t.args[0], turned)[0], t) for t in found)
    chosen: dict[Any, tuple[AnyTerm, str]] = {}
    for systems in by_matrix.values():
        if len(systems) > 1 or systems[0].args[1].type.ndim > 2:
            one = all(t.args[0] is systems[0].args[0] for t in systems)
            chosen.update((t, _matrix_of(t.args[0], turned and not one)) for t in systems)
    if not chosen:
        return list(roots), 0

    def visit(t: AnyTerm, args: tuple) -> Any:
        if t in chosen:
            a, trans = chosen[t]
            a = args[0].args[0] if trans == "T" else args[0]
            return _solved(t, *_factors(a, t), args[1], trans)
        return t if all(a is b for a, b in zip(args, t.args)) else mk(t.op, args)

    return rebuild_moved(roots, visit), len(chosen)


def shared_factors_before(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Factor a matrix that no step changes once, before the loop; the transposed one by the factors of the other."""
    return change_loops(roots, lambda t, used: _factored_before(t, turned=True))


def equal_factors_before(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Factor a matrix that no step changes once, before the loop: values keep all bits."""
    return change_loops(roots, lambda t, used: _factored_before(t, turned=False))


def _factored_before(t: AnyTerm, turned: bool) -> Sequence[Any] | None:
    view = LoopView(t)
    order = children_first(view.roots)
    changing = set(view.xs) | {c[0] for c in view.carries}
    for term in order:
        if any(a in changing for a in term.args):
            changing.add(term)
    found = [s for s in _systems(order, turned) if s in changing and s.args[0] not in changing]
    if not found:
        return None
    matrices = substitute([s.args[0] for s in found], view.consts)
    leaves: dict[Any, Any] = {}
    solved = {}
    for s, a in zip(found, matrices):
        a, trans = _matrix_of(view.moved(a, s.args[0]), turned)
        columns, pivots = _factors(a, s, view)
        for factor in (columns, pivots):
            leaves.setdefault(factor, view.leaf(factor.type))
        solved[s] = _solved(s, leaves[columns], leaves[pivots], s.args[1], trans, view)
    view.consts.update((leaf, factor) for factor, leaf in leaves.items())
    view.replace(solved)
    return view.results()


def cholesky_factors(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Systems of matrices that are said to be positive definite: by Cholesky's factor, which all of a matrix share.

    The upper triangle is read, as SciPy does.
    """
    found = [t for t in children_first(roots) if t.op.family is solve and t.op.params["assume_a"] == "pos"]

    def visit(t: AnyTerm, args: tuple) -> Any:
        if t.op.family is not solve or t.op.params["assume_a"] != "pos":
            return t if all(a is b for a, b in zip(args, t.args)) else mk(t.op, args)
        failing = {"lower": False, "on_error": t.op.params["on_error"]}
        factor = mk1(cholesky.bind(**failing), args[0])
        note_moved(factor, None, t)
        trans = "C" if args[0].type.kind == "c" else "T"
        first = mk(solve_triangular.bind(trans=trans, **failing), (factor, args[1]))
        return mk(solve_triangular.bind(**failing), (factor, first))

    return (rebuild_moved(roots, visit), len(found)) if found else (list(roots), 0)


# ---------------------------------------------------------------------- pieces
def _systems(terms: Iterable[Any], turned: bool) -> Iterable[Any]:
    """Those of single matrices: many short ones, in a batch, are solved side by side.

    Complex ones only where bits may change: with a hundred rows and more LAPACK's own gesv takes other ways.
    """
    for t in terms:
        if t.op.family is solve and t.op.params["assume_a"] == "gen" and t.args[0].type.ndim == 2:
            if turned or t.type.kind != "c":
                yield t


def _matrix_of(a: AnyTerm, turned: bool) -> tuple[AnyTerm, str]:
    """The matrix that is factored for systems of `a`, and whether they have it transposed."""
    return (a.args[0], "T") if turned and a.op is _TURNED else (a, "N")


def _factors(a: AnyTerm, system: AnyTerm, view: LoopView | None = None) -> tuple[AnyTerm, AnyTerm]:
    both = mk1(lu_columns, _as_solved(a, system))
    note_moved(both, None if view is None else view.source, system)
    return mk1(nth.bind(i=0), both), mk1(nth.bind(i=1), both)


def _as_solved(a: AnyTerm, system: AnyTerm) -> AnyTerm:
    """An operand in the dtype that NumPy solves in: double precision, whatever it gives back."""
    dtype = DOUBLE.get(system.type.dtype, system.type.dtype)
    return in_dtype(a, dtype)


def _solved(
    system: AnyTerm, columns: AnyTerm, pivots: AnyTerm, b: AnyTerm, trans: str, view: LoopView | None = None
) -> AnyTerm:
    op = lu_solve.bind(trans=trans, on_error=system.op.params["on_error"])
    found = mk(op, (columns, pivots, _as_solved(b, system)))
    if view is None:
        note_moved(found, None, system)
    else:
        view.stand_ins[found] = system
    return in_dtype(found, system.type.dtype)
