"""Whether a dialect has a text for an element-wise op, asked by writing it."""

from __future__ import annotations

import functools
from collections.abc import Callable

from termgraph.backends.c.text.dialect import CDialect, NotInC
from termgraph.lower.lengths.index import ZERO, poly
from termgraph.lower.push.kernel import Buf, Scalars
from termgraph.terms.op import CONST, Op
from termgraph.terms.term import AnyTerm


def elementwise_text(dialect: Callable[[], CDialect], op: Op, t: AnyTerm, constants: bool = True) -> bool:
    """Whether there is a text for an op on the operands of a term, the casts of its loop included."""
    scalar = tuple([a if constants and a.op is CONST and a.type.ndim == 0 else None for a in t.args])
    return _written(dialect, op, tuple([a.type.dtype for a in t.args]), scalar)


@functools.lru_cache(maxsize=8192)
def _written(dialect: Callable[[], CDialect], op: Op, dtypes: tuple[str, ...], constants: tuple) -> bool:
    s, d = Scalars(), dialect()
    args = [
        c if c is not None else s.load(Buf(f"x{i}", dtype, (poly(1),), "input"), ZERO)
        for i, (dtype, c) in enumerate(zip(dtypes, constants))
    ]
    try:
        t = s.elementwise(op, tuple(args))
        for node in (t, *t.args):
            if node.args:
                d.expression(node, ["x"] * len(node.args))
    except (NotInC, TypeError):
        return False
    return True
