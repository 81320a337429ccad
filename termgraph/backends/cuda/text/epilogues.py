"""What follows a product element by element and can be done where its results are at hand: a bias, relu, gelu.

Read off the loop tree after scheduling: the product takes the place, and the result, of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph._records import NamedTuple, replace
from termgraph.lower.lengths.index import ONE, Poly, Var, poly, product
from termgraph.lower.loops.tree import Call, Kernel, Let, Loop, Node, Write
from termgraph.lower.memory.plan import loads, writes
from termgraph.lower.push.kernel import LOAD, Buf
from termgraph.terms.dtypes import FLOATS
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm

GELU = (1.5957691216057308, 0.044715)  # x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))


class Epilogue(NamedTuple):
    """What is done with each element of a product. `bias` is a vector along its rows; `act` is "", "relu" or "gelu"."""

    bias: tuple[Buf, Poly] | None
    act: str


def join_epilogues(nodes: Sequence[Node]) -> list[Node]:
    """The tree with products that finish their elements themselves."""
    out = list(nodes)
    for call in nodes:
        if not isinstance(call, Call) or not _is_plain(call):
            continue
        users = [n for n in out if n is not call and call.buf in {*writes(n), *[b for b, _ in loads(n)]}]
        found = _epilogue(users[0], call) if len(users) == 1 else None
        if found is not None:
            epilogue, write = found
            operands = [*call.operands, *[(*b, ()) for b in (epilogue.bias,) if b is not None]]
            options = {**call.options, "epilogue": epilogue}
            out[out.index(users[0])] = replace(call, buf=write.buf, operands=operands, options=options)
            out.remove(call)
    return out


def _is_plain(call: Call) -> bool:
    """A product of two matrices that only a loop reads."""
    o = call.options
    simple = call.name == "gemm" and not o["beta"] and not o["batch"] and "alpha" not in o and not call.final
    return simple and call.buf.kind == "temp" and o["dtype"] in FLOATS


def _epilogue(kernel: Node, call: Call) -> tuple[Epilogue, Write] | None:
    """What a loop does with a product, if it is nothing else and something that is known here."""
    nest = _nest(kernel)
    if nest is None:
        return None
    vars_, lets, write = nest
    place = write.offset
    rows, columns = call.sizes[0], call.sizes[1]
    size, flat = (product([v.extent for v in vars_]), vars_[-1])
    fits = size is rows * columns and write.buf.dtype == call.buf.dtype and write.buf.strides is None
    if not fits or product(write.buf.shape) is not size or place is not _number(vars_) or write.mode != "set":
        return None
    if any(let.stored is not None for let in lets) or write.buf in [b for let in lets for b, _ in loads(let)]:
        return None
    act, v = _activation(write.value)
    terms = v.args if v.op.family.name == "add" and len(v.args) == 2 else (v,)
    products = [t for t in terms if _is_load(t, call.buf, place)]
    rest = [t for t in terms if t not in products]
    if len(products) != 1 or len(rest) > 1 or not (act or rest):
        return None
    bias = None
    if rest:
        bias = _bias(rest[0], flat, columns) if len(vars_) == 2 else None
        if bias is None or bias[0].dtype != call.buf.dtype:
            return None
    return Epilogue(bias, act), write


def _nest(kernel: Node) -> tuple[list[Var], list[Let], Write] | None:
    """The loops around a single store, with the values that it needs."""
    if not isinstance(kernel, Kernel) or kernel.final or not kernel.at_once:
        return None
    vars_: list[Var] = []
    lets: list[Let] = []
    node: Node = kernel.node
    while isinstance(node, Loop) and not node.serial:
        vars_.append(node.var)
        lets += [n for n in node.body if isinstance(n, Let)]
        rest = [n for n in node.body if not isinstance(n, Let)]
        if len(rest) != 1:
            return None
        node = rest[0]
    return (vars_, lets, node) if isinstance(node, Write) and 1 <= len(vars_) <= 2 else None


def _number(vars_: Sequence[Var]) -> Poly:
    out = poly(vars_[0])
    for v in vars_[1:]:
        out = out * v.extent + poly(v)
    return out


def _is_load(t: AnyTerm, buf: Buf, place: Poly) -> bool:
    return t.op.family is LOAD and t.op.params["buf"] is buf and t.op.params["offset"] is place


def _bias(t: AnyTerm, column: Var, length: Poly) -> tuple[Buf, Poly] | None:
    """Where a vector along the columns begins."""
    if t.op.family is not LOAD or column.extent is not length or t.op.params["offset"].coefficient(column) is not ONE:
        return None
    base = t.op.params["offset"].without([column])
    return None if base.fv or base + poly(column) is not t.op.params["offset"] else (t.op.params["buf"], base)


# ---------------------------------------------------------------------- activations
def _activation(t: AnyTerm) -> tuple[str, Any]:
    """(the name of an activation, what it is applied to)."""
    if t.op.family.name == "maximum" and len(t.args) == 2:
        for zero, x in (t.args, t.args[::-1]):
            if _is_number(zero, 0.0):
                return "relu", x
    x = _of_gelu(t)
    return ("gelu", x) if x is not None else ("", t)


def _of_gelu(t: AnyTerm) -> Any:
    """x, if t is x * sigmoid(a (x + b x^2 x)) with the numbers of gelu by tanh; in any order of factors."""
    if t.op.family.name != "mul" or len(t.args) != 2:
        return None
    for gate, x in (t.args, t.args[::-1]):
        if gate.op.family.name != "sigmoid":
            continue
        inside = _without_number(gate.args[0], GELU[0])
        if inside is None or inside.op.family.name != "add" or len(inside.args) != 2 or x not in inside.args:
            continue
        cube = _without_number(next(a for a in (*inside.args, None) if a is not x), GELU[1], whole=True)
        if cube is not None and sorted(map(_power_of(x), cube)) == [1, 2]:
            return x
    return None


def _power_of(x: object) -> Any:
    return lambda t: 1 if t is x else 2 if t.op.family.name == "sqr" and t.args[0] is x else 0


def _without_number(t: AnyTerm, number: float, whole: bool = False) -> Any:
    """The other factor (with `whole` all other factors) of a product with this number, or None."""
    if t is None or t.op.family.name != "mul":
        return None
    rest = [a for a in t.args if not _is_number(a, number)]
    if len(rest) != len(t.args) - 1:
        return None
    return rest if whole else rest[0] if len(rest) == 1 else None


def _is_number(t: Any, number: float) -> bool:
    return t.op is CONST and t.scalar is not None and abs(float(t.scalar) - number) <= 1e-3 * abs(number)
