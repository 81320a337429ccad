"""LaTeX of an expression, as notebooks show it: fractions, roots, sums, cases and the signs of mathematics.

Large expressions are written from the top down and the rest is left out as dots, so that what stands there is whole.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

import numpy as np

from termgraph.tensor.variable import Variable
from termgraph.terms.op import CONST, Op, index_text
from termgraph.terms.term import Term
from termgraph.viz.infix import names_above

LIMIT = 150  # terms that are written out
_SMALL = 9  # entries of a constant that is written with its numbers
# how strongly a way of writing binds
_COMPARE, _OR, _AND, _ADD, _BIG, _MUL, _MATMUL, _POW, _INDEXED, _ATOM = range(1, 11)

_SIGNS = {
    "lt": (" < ", _COMPARE), "gt": (" > ", _COMPARE), "le": (r" \le ", _COMPARE), "ge": (r" \ge ", _COMPARE),
    "eq": (" = ", _COMPARE), "neq": (r" \ne ", _COMPARE), "bitwise_or": (r" \lor ", _OR),
    "logical_or": (r" \lor ", _OR), "bitwise_and": (r" \land ", _AND), "logical_and": (r" \land ", _AND),
    "add": (" + ", _ADD), "sub": (" - ", _ADD), "mod": (r" \bmod ", _MUL), "matmul": (r" \, ", _MATMUL),
}  # fmt: skip
_LEAVES_ORDER_OPEN = frozenset(("add", "bitwise_or", "logical_or", "bitwise_and", "logical_and"))
# what stands around all operands
_AROUND = {
    "sqrt": (r"\sqrt{", "}"), "reciprocal": (r"\frac{1}{", "}"), "conj": (r"\overline{", "}"),
    "abs": (r"\left|", r"\right|"), "floor": (r"\left\lfloor ", r"\right\rfloor"),
    "ceil": (r"\left\lceil ", r"\right\rceil"), "true_div": (r"\frac{", "}"),
    "floor_div": (r"\left\lfloor\frac{", r"}\right\rfloor"),
}  # fmt: skip
_BEFORE = {"neg": "-", "logical_not": r"\lnot ", "invert": r"\lnot "}
_RAISED = {"sqr": "2", "inv": "-1"}
_BIG_SIGNS = {"sum": r"\sum", "prod": r"\prod"}
_NAMED = {
    **{n: f"\\{n}" for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "log", "det")},
    **{n: f"\\{n}" for n in ("max", "min")}, "maximum": r"\max", "minimum": r"\min", "log2": r"\log_{2}",
    "log10": r"\log_{10}",
    "shape_i": r"\operatorname{shape}", "gamma": r"\Gamma", "gammaln": r"\log\Gamma", "psi": r"\psi",
}  # fmt: skip
_GREEK = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi",
    "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
))  # fmt: skip
_SPECIAL = {c: f"\\{c}" for c in "#$%&_{}"} | {"\\": r"\backslash ", "^": r"\hat{}", "~": r"\sim "}

Pieces = tuple[list[Any], int]  # strings and (term, binding strength of the context); how strongly it binds itself


def latex(obj: object, limit: int = LIMIT) -> str:
    r"""The expression as LaTeX, without the dollar signs.

    >>> import termgraph.tensor as T
    >>> x, alpha = T.dvector("x"), T.dscalar("alpha")
    >>> print(latex(T.exp(-alpha * x) / T.sqrt(x)))
    \frac{e^{-\alpha x}}{\sqrt{x}}
    """
    names = names_above(obj) if isinstance(obj, Variable) else {}
    whole: list[Any] = []
    waiting = deque([(whole, obj.term if isinstance(obj, Variable) else obj, 0)])
    written = 0
    while waiting:  # level by level: what has no room any more is deep inside
        place, term, outer = waiting.popleft()
        written += 1
        if written > limit:
            place.append(r"\cdots ")
            continue
        pieces, strength = _pieces(term, outer, names)
        for p in [r"\left(", *pieces, r"\right)"] if strength < outer else pieces:
            place.append(p if isinstance(p, str) else [])
            if not isinstance(p, str):
                waiting.append((place[-1], *p))
    return _flat(whole)


def _flat(nested: list[Any]) -> str:
    out: list[str] = []
    stack: list[Any] = [nested]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        else:
            stack.extend(reversed(item))
    return "".join(out)


# ---------------------------------------------------------------------- terms
def _pieces(t: Any, outer: int, names: dict[Any, str]) -> Pieces:
    if t in names:
        return _name(names[t])
    if t.__class__ is not Term:
        return _constant(t) if t.op is CONST else _name(repr(t))
    op, args = t.op, t.args
    if op.name == "subtensor" and not op.params["index"]:
        return [(args[0], outer)], _ATOM
    if op.name in _ARRANGED:
        return _ARRANGED[op.name](op, args)
    if op.name in _SIGNS and len(args) > 1 and _is_clear(op, t):
        return _operator(op.name, args)
    if op.name in _BEFORE and _is_clear(op, t):
        return [_BEFORE[op.name], (args[0], _BIG if op.name == "neg" else _ATOM)], _ADD if op.name == "neg" else _POW
    if op.name in _RAISED:
        return [(args[0], _INDEXED), f"^{{{_RAISED[op.name]}}}"], _POW
    if op.name in _AROUND and len(args) < 3:
        before, after = _AROUND[op.name]
        return [before, *_listed(args, "}{"), after], _POW if "frac" in before else _ATOM
    if op.name == "dimshuffle":
        return _axes(op.params["order"], args[0], outer)
    if op.name in _BIG_SIGNS:
        return [_BIG_SIGNS[op.name] + _axis(op, args), " ", (args[0], _MUL)], _BIG
    return _call(op, args)


def _is_clear(op: Op, t: Any) -> bool:
    """Logic's signs are for truth values; what works on the bits of numbers is called by its name."""
    return not op.name.startswith(("bitwise", "invert")) or t.type.dtype == "bool"


def _listed(args: tuple, between: str = ", ") -> list[Any]:
    pieces: list[Any] = []
    for i, a in enumerate(args):
        pieces += [between] * (i > 0) + [(a, 0)]
    return pieces


def _operator(name: str, args: tuple) -> Pieces:
    sign, strength = _SIGNS[name]
    pieces: list[Any] = []
    for i, a in enumerate(args):
        tight = (i > 0 and (name not in _LEAVES_ORDER_OPEN or _starts_with_minus(a))) or strength == _COMPARE
        pieces += [sign] * (i > 0) + [(a, strength + tight)]
    return pieces, strength


def _starts_with_minus(t: Any) -> bool:
    while t.__class__ is Term and t.op.name in ("dimshuffle", "mul"):
        t = t.args[0]
    return t.op.name == "neg" or (t.op is CONST and t.type.ndim == 0 and str(t.scalar).startswith("-"))


def _product(op: Op, args: tuple) -> Pieces:
    """Of scalars side by side; of arrays element by element, which has a sign of its own."""
    pieces: list[Any] = []
    minus = _starts_with_minus(args[0])
    for i, a in enumerate(args):
        both = _is_array(a) and any(_is_array(b) for b in args[:i])
        sign = r" \odot " if both else r" \cdot " if _is_number(a) else " "
        pieces += [sign] * (i > 0) + [(a, _ADD if minus and i == 0 else _MUL)]
    return pieces, _ADD if minus else _MUL


def _is_array(t: Any) -> bool:
    return not all(getattr(t.type, "broadcastable", ()))


def _is_number(t: Any) -> bool:
    while t.__class__ is Term and t.op.name == "dimshuffle":
        t = t.args[0]
    return t.op is CONST and not _is_array(t)


def _dot(op: Op, args: tuple) -> Pieces:
    vectors = all(getattr(a.type, "ndim", 2) == 1 for a in args)
    return [(args[0], _MATMUL), r" \cdot " if vectors else r" \, ", (args[1], _POW)], _MATMUL


def _power(op: Op, args: tuple) -> Pieces:
    return [(args[0], _INDEXED), "^{", (args[1], 0), "}"], _POW


def _exp(op: Op, args: tuple) -> Pieces:
    return ["e^{", (args[0], 0), "}"], _POW


def _cases(op: Op, args: tuple) -> Pieces:
    """Choices in choices stand one below the other."""
    pieces: list[Any] = [r"\begin{cases} "]
    test, then, otherwise = args
    pieces += [(then, 0), r" & \text{if } ", (test, 0), r" \\ "]
    while otherwise.__class__ is Term and otherwise.op is op:
        test, then, otherwise = otherwise.args
        pieces += [(then, 0), r" & \text{if } ", (test, 0), r" \\ "]
    return [*pieces, (otherwise, 0), r" & \text{otherwise} \end{cases}"], _BIG


def _element(op: Op, args: tuple) -> Pieces:
    """An index stands below; where it is not known before the call, its expression does."""
    inside = str(op.params["i"]) if op.name == "nth" else index_text(op.params["index"])
    first, *others = inside.split("?")
    pieces: list[Any] = [(args[0], _ATOM), "_{", first]
    for a, text in zip(args[1:], others, strict=True):
        pieces += [(a, 0), text]
    return [*pieces, "}"], _INDEXED


def _cast(op: Op, args: tuple) -> Pieces:
    return [rf"\operatorname{{{op.params['dtype']}}}\left(", (args[0], 0), r"\right)"], _ATOM


def _axes(order: tuple, x: Any, outer: int) -> Pieces:
    """New dimensions in front are understood, others an index as NumPy has it; a transposition has its sign."""
    kept = [d for d in order if d != "x"]
    if kept == sorted(kept) and "x" not in order[len(order) - len(kept) :]:
        return [(x, outer)], _ATOM
    if kept == list(range(x.type.ndim)):
        index = ", ".join(r"\text{None}" if d == "x" else ":" for d in order)
        return [(x, _ATOM), f"_{{{index}}}"], _INDEXED
    if order == (1, 0):
        return [(x, _INDEXED), r"^{\mathsf{T}}"], _POW
    places = ", ".join(map(str, order))
    return [rf"\operatorname{{transpose}}_{{{places}}}\left(", (x, 0), r"\right)"], _ATOM


def _call(op: Op, args: tuple) -> Pieces:
    name = _NAMED.get(op.name) or rf"\operatorname{{{_escaped(op.name)}}}"
    return [name + _axis(op, args), r"\left(", *_listed(args), r"\right)"], _ATOM


def _axis(op: Op, args: tuple) -> str:
    axis = op.params.get("axis")
    if axis is None or (op.kind == "reduce" and args and len(axis) >= args[0].type.ndim):
        return ""
    return f"_{{{', '.join(map(str, axis)) if isinstance(axis, tuple) else axis}}}"


_ARRANGED = {
    "mul": _product, "dot": _dot, "pow": _power, "exp": _exp, "switch": _cases, "subtensor": _element,
    "nth": _element, "cast": _cast,
}  # fmt: skip


# ---------------------------------------------------------------------- leaves
def _constant(t: Any) -> Pieces:
    if t.type.ndim == 0:
        return _number(t.scalar)
    value = np.asarray(t.value)
    if value.ndim > 2 or value.size > _SMALL or value.size == 0:
        return [rf"\text{{array of shape }} {value.shape}"], _ADD
    rows = [" & ".join(_number(n)[0][0] for n in row) for row in np.atleast_2d(value).tolist()]
    return [r"\begin{bmatrix} " + r" \\ ".join(rows) + r" \end{bmatrix}"], _ATOM


def _number(value: Any) -> Pieces:
    if isinstance(value, (complex, np.complexfloating)):
        return [_escaped(str(complex(value)).strip("()")).replace("j", "i")], _COMPARE
    if isinstance(value, (bool, np.bool_)):
        return [rf"\mathrm{{{bool(value)}}}"], _ATOM
    text = str(value).removesuffix(".0").replace("inf", r"\infty").replace("nan", r"\mathrm{nan}")
    base, _, power = text.partition("e")
    if power:
        text = base.removesuffix("1") if base in ("1", "-1") else rf"{base} \cdot "
        text += f"10^{{{int(power)}}}"
    return [text], _ADD if text.startswith("-") else _MUL if power else _ATOM


def _name(name: str) -> Pieces:
    r"""A name as it is set: `w_hidden` with its index below, `sigma2` as a Greek letter, words upright."""
    parts = re.fullmatch(r"([^\W\d_]+)_?(\w*?)_*", name)
    if parts is None:
        return [rf"\text{{{_escaped(name)}}}"], _ATOM
    letters, index = parts.groups()
    head = f"\\{letters}" if letters in _GREEK else letters if len(letters) == 1 else rf"\mathrm{{{letters}}}"
    if not index:
        return [head], _ATOM
    return [f"{head}_{{{index}}}" if index.isdigit() else rf"{head}_{{\mathrm{{{_escaped(index)}}}}}"], _INDEXED


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(c, c) for c in text)
