"""Element-wise ops that no row names have one that follows from the op table: the op of positive matrices.

Only our own process can read that table; the case tells the others how many operands there are (`of_op`).
"""

from __future__ import annotations

from .table import ROWS, Row, operand

NAMES = "xyzuvw"


def of_op(name: str, arity: int, grad: bool = False) -> Row:
    """The row of an element-wise op, by its public name."""
    operands = tuple(operand(f"{letter}:p[n,m]") for letter in NAMES[:arity])
    return Row(name, f"T.{name}({', '.join(o.name for o in operands)})", operands, grad=grad)


def derived() -> dict[str, Row]:
    """Rows of the public ops that have none, timed with their gradients where they have derivative rules."""
    import termgraph.tensor as T
    from termgraph.terms.ops.elementwise import ElementwiseOp

    known = {id(getattr(T, name.partition(" (")[0], None)) for name in ROWS}
    missing = {id(op): name for name, op in vars(T).items() if isinstance(op, ElementwiseOp) and id(op) not in known}
    return {name: of_op(name, getattr(T, name).arity or 2, _has_gradient(name)) for name in sorted(missing.values())}


def _has_gradient(name: str) -> bool:
    """Whether rules say the derivative by each operand."""
    import termgraph as tg
    import termgraph.tensor as T

    op = getattr(T, name)
    operands = T.dmatrices(op.arity or 2)
    try:
        tg.grad(op(*operands).sum(), operands)
    except (NotImplementedError, TypeError):  # no rule, or no real number to differentiate
        return False
    return True
