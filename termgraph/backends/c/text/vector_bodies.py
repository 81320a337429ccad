"""Which bodies of folds can be written with vector types: arithmetic of one dtype on elements at equal distances.

Of folds over few elements also choices by truth values, which then are masks of that dtype.
"""

from __future__ import annotations

from typing import Any

from termgraph.backends.c.text.vector_loops import place_of
from termgraph.lower.lengths.index import ONE, poly
from termgraph.lower.loops.tree import Accumulate, Let, Reduce, Write
from termgraph.lower.push.kernel import ARG_FOLDS
from termgraph.terms.dtypes import working_dtype
from termgraph.terms.op import CONST
from termgraph.terms.ops.elementwise import cast, switch
from termgraph.terms.term import AnyTerm

STEPS = {"sum": "{acc} += {value};", "prod": "{acc} *= {value};"}
COMPARED = ("max", "min")
STEPS |= {kind: "{acc} = tg_vector_" + kind + "_{n}({value}, {acc});" for kind in COMPARED}
INFIX = {"add": " + ", "sub": " - ", "mul": " * ", "true_div": " / "}
FLOATING, WHOLE = ("neg", "sqr", "abs", *INFIX), ("neg", "sqr", "add", "sub", "mul")
# Which folds there are of vectors; sums and products of whole numbers are made vectors by compilers.
FOLDED = {dtype: set(STEPS) for dtype in ("float64", "float32", "float16")}
FOLDED |= {dtype: set(COMPARED) for dtype in ("int64", "int32")}
INTS = {"float64": "int64_t", "float32": "int32_t"}  # of which masks are made
SIGNS = {"eq": "==", "neq": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
JOINED = {"logical_and": "&", "logical_or": "|", "bitwise_and": "&", "bitwise_or": "|"}
OPPOSITE = ("logical_not", "invert")


def has_nan(t: AnyTerm) -> bool:
    return t.type.np_dtype.kind == "f"


def size_of(dtype: str) -> int:
    """The bytes of a number that folds of vectors are made of."""
    return 8 if dtype in ("float64", "int64") else 4


def width_of(t: AnyTerm) -> int:
    """The bytes of the widest operand that a truth value is computed from."""
    seen: set[Any] = set()
    stack, width = [t], 1
    while stack:
        t = stack.pop()
        if t not in seen:
            seen.add(t)
            if t.type.dtype == "bool":
                stack.extend(t.args)
            else:
                width = max(width, working_dtype(t.type.np_dtype).itemsize)
    return min(width, 8)


def vector_dtype(n: Reduce, writes: bool = False) -> str | None:
    """The dtype in which the whole body is computed, if vector types can express it, with what it writes or without."""
    folded = {f.type.dtype for f in n.folds}
    inside = {t.term.type.dtype for t in n.body if isinstance(t, Let)}
    dtypes = folded | (inside - {"float16"} if folded == {"float32"} else inside)
    dtype = dtypes.pop()
    kinds = {f.op.params["kind"] for f in n.folds}
    if dtypes or dtype not in FOLDED or not kinds <= FOLDED[dtype]:
        return None
    known: set[Any] = set()
    for x in n.body:
        if isinstance(x, Let):
            if not _is_vector(x, n, known):
                return None
            known.add(x.term)
        elif isinstance(x, Write) and writes:
            if not (x.value in known or x.value.op is CONST) or not _is_put(x, n, dtype):
                return None
        elif not isinstance(x, Accumulate) or x.fold.args[0] not in known:
            return None
    return dtype


def _is_put(x: Write, n: Reduce, dtype: str) -> bool:
    """Whether a vector is stored side by side, where nothing in the loop is read from."""
    rest = x.offset.without([n.var])
    beside = x.offset.coefficient(n.var) is ONE and n.var not in rest.fv
    places = [place_of(y) for y in n.body if isinstance(y, Let)]
    apart = all(place is None or place[0] is not x.buf for place in places)
    return beside and apart and x.mode == "set" and x.buf.dtype == dtype and dtype in ("float64", "float32")


def _is_vector(x: Let, n: Reduce, inside: set[Any]) -> bool:
    """Whether a value is a vector of elements at equal distances, or arithmetic on such vectors."""
    place = place_of(x)
    if place is not None:
        buf, offset = place
        step, rest = offset.coefficient(n.var), offset.without([n.var])
        own = n.var not in step.fv and n.var not in rest.fv and rest + step * poly(n.var) is offset
        own = own and (step is ONE or buf.dtype != "float16")
        return own and buf.dtype == x.term.type.dtype
    if x.term.op.family is cast:  # both are computed in float
        return x.term.type.dtype == "float32" and x.term.args[0].type.dtype == "float16" and x.term.args[0] in inside
    same = all(a.type.dtype == x.term.type.dtype for a in x.term.args)
    dtype = x.term.type.dtype  # results of 16 bits would have to be rounded
    known = x.term.op.family.name in (("neg", "abs") if dtype == "float16" else WHOLE if dtype[0] == "i" else FLOATING)
    return known and same and any(a in inside for a in x.term.args)


def finds_places(n: Reduce) -> bool:
    """Whether all that a loop does is to find where extremes are, of numbers of which whole vectors can be compared."""
    if not all(isinstance(x, (Let, Accumulate)) for x in n.body):
        return False
    known = all(t.kind in "biu" or t.dtype in ("float32", "float64") for t in (f.args[0].type for f in n.folds))
    return known and all(f.op.params["kind"] in ARG_FOLDS for f in n.folds)


# ---------------------------------------------------------------------- truth values
def masked_dtype(n: Reduce) -> str | None:
    """The dtype of a body that has truth values as well: of elements in memory, of comparisons, in choices."""
    folded = {f.type.dtype for f in n.folds}
    dtype = folded.pop()
    added = all(f.op.params["kind"] in ("sum", "prod") for f in n.folds)
    if folded or dtype not in INTS or not added or not all(isinstance(x, (Let, Accumulate)) for x in n.body):
        return None
    known: set[Any] = set()
    for x in n.body:
        if isinstance(x, Let):
            if not (_is_mask(x, n, dtype, known) or (x.term.type.dtype == dtype and _is_number(x, n, known))):
                return None
            known.add(x.term)
        elif isinstance(x, Accumulate) and x.fold.args[0] not in known:
            return None
    return dtype


def _is_mask(x: Let, n: Reduce, dtype: str, inside: set[Any]) -> bool:
    if x.term.type.dtype != "bool":
        return False
    place = place_of(x)
    if place is not None:
        return place[0].dtype == "bool" and place[1].coefficient(n.var) is ONE and _is_vector(x, n, inside)
    name, args = x.term.op.family.name, x.term.args
    kinds = {"bool"} if name in JOINED or name in OPPOSITE else {dtype} if name in SIGNS else set()
    return {a.type.dtype for a in args} == kinds and any(a in inside for a in args)


def _is_number(x: Let, n: Reduce, inside: set[Any]) -> bool:
    t = x.term
    if place_of(x) is None and t.op.family is switch:
        return t.args[0] in inside and {a.type.dtype for a in t.args[1:]} == {t.type.dtype}
    return _is_vector(x, n, inside)


def mask_text(t: AnyTerm, args: list[str], inside: list[bool], dtype: str, short: str) -> str:
    """A truth value computed from others or by comparing numbers; `inside` says which operands are vectors."""
    name, mask = t.op.family.name, f"tg_mask_{short}"
    if name in SIGNS:
        return f"({mask})({f' {SIGNS[name]} '.join(args)})"
    spread = [a if known else f"(({mask}){{0}} - ({INTS[dtype]})({a}))" for a, known in zip(args, inside)]
    return f"~{spread[0]}" if name in OPPOSITE else f" {JOINED[name]} ".join(spread)
