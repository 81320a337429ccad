"""Element-wise ops that refuse some values. The check is an index into one element: it is made as that of any index."""

from __future__ import annotations

from typing import Any

from termgraph.lower.lengths.index import ONE
from termgraph.lower.push.driver import Index, Push, Steps, pushes
from termgraph.terms.ops import random
from termgraph.terms.ops.elementwise import add, cast, ge, le, logical_and, logical_not, lt
from termgraph.terms.term import Const


@pushes("poisson_quantile")
def _poisson(p: Push, t: Any, i: Index) -> Steps:
    """The quantile; the mean is checked."""
    u, mean = (yield t.args[0], p.read_at(t.args[0], i)), (yield t.args[1], p.read_at(t.args[1], i))
    mean = p.scalars.cast(mean, "float64")
    fine = _all(p, (ge, mean, Const(0.0)), (lt, mean, Const(random.MOST_POISSON)))
    return p.scalars.elementwise(t.op, (u, _checked(p, t, mean, fine, random.POISSON_REFUSES)))


@pushes("binomial_quantile")
def _binomial(p: Push, t: Any, i: Index) -> Steps:
    """The quantile; the number of trials and the probability are checked."""
    operands = []
    for a in t.args:
        operands.append(p.scalars.cast((yield a, p.read_at(a, i)), "float64"))
    u, n, share = operands
    zero = Const(0.0)
    fine = _all(p, (ge, n, zero), (ge, share, zero), (le, share, Const(1.0)))
    return p.scalars.elementwise(t.op, (u, _checked(p, t, n, fine, random.BINOMIAL_REFUSES), share))


def _all(p: Push, *tests: tuple) -> Any:
    return p.scalars.make(logical_and, tuple([p.scalars.elementwise(op, (a, b)) for op, a, b in tests]))


def _checked(p: Push, t: Any, value: Any, fine: Any, text: str) -> Any:
    """The value and 0, which is an index into one element; where something is wrong the index is 1."""
    wrong = p.scalars.make(cast.bind(dtype="int64"), (p.scalars.elementwise(logical_not, (fine,)),))
    zero = p.scalars.number(p.scalars.index(wrong, ONE, p.lengths.site(t, text)), "float64")
    return p.scalars.elementwise(add, (value, zero))
