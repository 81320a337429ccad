"""Element-wise ops about which nobody has written a row: compared with their own meaning, on positive numbers."""

import numpy as np

import termgraph.tensor as T
from termgraph.terms.ops.elementwise import ElementwiseOp

from ..draw import FLOATING, INTEGERS
from ..table import ROWS, params, row


def enter() -> list[str]:
    """Rows of the public ops that have none; their names."""
    known = {id(getattr(T, name.partition(" (")[0], None)) for name in ROWS}
    missing = {id(op): name for name, op in vars(T).items() if isinstance(op, ElementwiseOp) and id(op) not in known}
    for name in missing.values():
        op = getattr(T, name)
        row(name, op, _meaning(op), params(_operands(op.arity or 2)), dtypes=("bool", *INTEGERS, *FLOATING), loose=20)
    return sorted(missing.values())


def _operands(count):
    def draw(c):
        c.x(0.1, 4)
        for _ in range(count - 1):
            c.partner(0.1, 4, dtype=c.dtype)

    return draw


def _meaning(op):
    """What the table says that the op is, on operands of the dtypes that it computes in."""

    def reference(*values):
        *inside, out = op.dtype_rule(*[v.dtype for v in values])
        return np.asarray(op.meaning(*[v.astype(d) for v, d in zip(values, inside)])).astype(out)

    return reference
