"""`pp`: an expression on one line, the way a person writes it.

Operators are infix with as few parentheses as they need; everything else looks like a call. Bounded in size.
"""

from __future__ import annotations

from typing import Any

from termgraph.config import config
from termgraph.tensor.variable import Variable
from termgraph.terms.leaves import Const
from termgraph.terms.op import CONST, Op, index_text
from termgraph.terms.term import AnyTerm, Term

# symbol and Python's binding strength of the infix operators
_INFIX = {
    "lt": (" < ", 1), "gt": (" > ", 1), "le": (" <= ", 1), "ge": (" >= ", 1), "eq": (" == ", 1), "neq": (" != ", 1),
    "bitwise_or": (" | ", 2), "bitwise_xor": (" ^ ", 3), "bitwise_and": (" & ", 4),
    "left_shift": (" << ", 5), "right_shift": (" >> ", 5), "add": (" + ", 6), "sub": (" - ", 6),
    "mul": (" * ", 7), "true_div": (" / ", 7), "floor_div": (" // ", 7), "mod": (" % ", 7), "dot": (" @ ", 7),
    "matmul": (" @ ", 7), "pow": (" ** ", 9),
}  # fmt: skip
_NEG = 8
_TIGHT_RIGHT = frozenset(("sub", "true_div", "floor_div", "mod", "left_shift", "right_shift", "dot", "matmul"))
_ATOM = 10


def pp(obj: object, limit: int | None = None) -> str:
    """The expression as text.

    >>> import termgraph.tensor as T
    >>> x, y = T.dmatrices("xy")
    >>> pp((x + 2 * y) * T.exp(-x))
    '(x + 2 * y) * exp(-x)'
    """
    names: dict[Any, str] = {}
    root = obj
    if isinstance(obj, Variable):
        root = obj.term
        names = names_above(obj)
    return _write(root, names, limit or config.dprint.limit * 20)


def names_above(v: Variable) -> dict[Any, str]:
    """Names the user gave to inputs; a name given to the expression itself is not used, it would say nothing."""
    names: dict[Any, str] = {}
    seen, stack = {v}, [v]
    while stack and len(seen) < 10_000:
        u = stack.pop()
        if u.owner is None:
            if u.name:
                names[u.term] = u.name
            continue
        for i in u.owner.inputs:
            if i not in seen:
                seen.add(i)
                stack.append(i)
    return names


def _write(root: Any, names: dict[Any, str], limit: int) -> str:
    out: list[str] = []
    size = 0
    stack: list[Any] = [(root, 0)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            size += len(item)
            if limit and size > limit:
                return "".join(out) + " ..."
            continue
        t, outer = item
        pieces, strength = _pieces(t, outer, names)
        stack.extend(reversed(["(", *pieces, ")"] if strength < outer else pieces))
    return "".join(out)


Pieces = tuple[list[Any], int]  # strings and (term, binding strength of the context); how strongly it binds itself


def _pieces(t: Any, outer: int, names: dict[Any, str]) -> Pieces:
    """What to write for a term."""
    if t in names:
        return [names[t]], _ATOM
    if t.__class__ is not Term:
        return [_number(t) if t.op is CONST else repr(t)], _ATOM
    op, args = t.op, t.args
    if op.name in _INFIX and len(args) > 1:
        return _operator(op.name, args)
    if op.name == "neg":
        return ["-", (args[0], _NEG)], _NEG
    if op.name == "dimshuffle":
        return _axes(op.params["order"], args[0], outer), _ATOM
    if op.name == "subtensor":
        return [(args[0], _ATOM), f"[{index_text(op.params['index'])}]"], _ATOM
    if op.name == "nth":
        return [(args[0], _ATOM), f"[{op.params['i']}]"], _ATOM
    return _call(op, args), _ATOM


def form_of(t: AnyTerm) -> tuple[int, list[Any]]:
    """How a term is written without its operands, for programs that put them in.

    How strongly it binds, and its pieces: strings, and [number of an operand, how strongly it is held there]. New
    dimensions, which `pp` leaves out, are written as in NumPy.
    """
    pieces, strength = _pieces(t, 0, {})
    order = t.op.params["order"] if t.__class__ is Term and t.op.name == "dimshuffle" else ()
    if "x" in order and [d for d in order if d != "x"] == list(range(t.args[0].type.ndim)):
        index = ", ".join("None" if d == "x" else ":" for d in order)
        pieces = [(t.args[0], _ATOM), f"[{index}]"]
    place = iter(range(len(pieces)))
    return strength, [p if isinstance(p, str) else [next(place), p[1]] for p in pieces]


def _operator(name: str, args: tuple) -> Pieces:
    symbol, strength = _INFIX[name]
    pieces: list[Any] = []
    for i, a in enumerate(args):
        tight = (i > 0 and name in _TIGHT_RIGHT) or (i == 0 and name == "pow") or strength == 1
        pieces += [symbol] * (i > 0) + [(a, strength + tight)]
    return pieces, strength


def _axes(order: tuple, x: Const, outer: int) -> list[Any]:
    """Broadcasting dimensions are understood; a transposition is `.T`, anything else a call."""
    kept = [d for d in order if d != "x"]
    if kept == sorted(kept) and "x" in order and order[-len(kept) or len(order) :] == tuple(kept):
        return [(x, outer)]
    if order == tuple(range(x.type.ndim))[::-1] and "x" not in order:
        return [(x, _ATOM), ".T"]
    return ["dimshuffle(", (x, 0), f", ({', '.join(map(str, order))}))"]


def _call(op: Op, args: tuple) -> list[Any]:
    pieces: list[Any] = [op.name, "("]
    for i, a in enumerate(args):
        pieces += [", "] * (i > 0) + [(a, 0)]
    axis = op.params.get("axis")
    if axis is not None and op.kind == "reduce" and args and len(axis) < args[0].type.ndim:
        pieces.append(f", axis={axis[0] if len(axis) == 1 else axis}")
    elif axis is not None and op.kind != "reduce":
        pieces.append(f", axis={axis}")
    elif op.name == "cast":
        pieces.append(f", {op.params['dtype']!r}")
    return [*pieces, ")"]


def _number(t: Const) -> str:
    return repr(t.scalar) if t.type.ndim == 0 else repr(t)
