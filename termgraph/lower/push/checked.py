"""Element-wise ops that refuse some values. The check is an index into one element: it is made as that of any index."""

from __future__ import annotations

from typing import Any

from termgraph.lower.lengths.index import ONE
from termgraph.lower.push.driver import Index, Push, Steps, pushes
from termgraph.terms.op import Op
from termgraph.terms.ops import random
from termgraph.terms.ops.elementwise import add, cast, ge, le, logical_and, logical_not, lt
from termgraph.terms.term import AnyTerm, Const


@pushes("poisson_draw")
def _poisson(p: Push, t: AnyTerm, i: Index) -> Steps:
    """The draw; the mean is checked."""
    *bits, mean = yield from _operands(p, t, i)
    fine = _all(p, (ge, mean, Const(0.0)), (lt, mean, Const(random.MOST_POISSON)))
    return p.scalars.elementwise(t.op, (*bits, _checked(p, t, mean, fine, random.POISSON_REFUSES)))


@pushes("binomial_draw")
def _binomial(p: Push, t: AnyTerm, i: Index) -> Steps:
    """The draw; the number of trials and the probability are checked."""
    *bits, n, share = yield from _operands(p, t, i)
    zero = Const(0.0)
    most = Const(random.MOST_POISSON)
    fine = _all(p, (ge, n, zero), (lt, n, most), (ge, share, zero), (le, share, Const(1.0)))
    return p.scalars.elementwise(t.op, (*bits, _checked(p, t, n, fine, random.BINOMIAL_REFUSES), share))


@pushes("required")
def _required(p: Push, t: AnyTerm, i: Index) -> Steps:
    """The first operand; the second says whether it is fine."""
    value, fine = yield from _read(p, t, i)
    return _checked(p, t, value, fine, t.op.params["message"])


def _read(p: Push, t: AnyTerm, i: Index) -> Any:
    found = []
    for a in t.args:
        found.append((yield a, p.read_at(a, i)))
    return found


def _operands(p: Push, t: AnyTerm, i: Index) -> Any:
    """Key, step and index, and the parameters in float64."""
    bits = yield from _read(p, t, i)
    return [value if k < 3 else p.scalars.cast(value, "float64") for k, value in enumerate(bits)]


def _all(p: Push, *tests: tuple[Op, AnyTerm, AnyTerm]) -> AnyTerm:
    return p.scalars.make(logical_and, tuple([p.scalars.elementwise(op, (a, b)) for op, a, b in tests]))


def _checked(p: Push, t: AnyTerm, value: AnyTerm, fine: AnyTerm, text: str) -> AnyTerm:
    """The value and 0, which is an index into one element; where something is wrong the index is 1."""
    wrong = p.scalars.make(cast.bind(dtype="int64"), (p.scalars.elementwise(logical_not, (fine,)),))
    zero = p.scalars.number(p.scalars.index(wrong, ONE, p.lengths.site(t, text)), value.type.dtype)
    return p.scalars.elementwise(add, (value, zero))
