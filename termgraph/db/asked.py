"""What users have in hand when they ask for rules about an operator: an op, a function, a name, an expression.

`T.log`, `T.sum`, `T.linalg.det`, `np.exp`, `"log"`, `"T.softmax"` and `T.log(x)` all name one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from termgraph import tensor as T
from termgraph._lazy import lazy
from termgraph.tensor.variable import Variable
from termgraph.terms.op import OPS, Op
from termgraph.terms.term import AnyTerm, Term

difflib = lazy("difflib")
_OTHER_NAMES = {
    "absolute": "abs", "amax": "max", "amin": "min", "power": "pow", "divide": "true_div", "true_divide": "true_div",
    "multiply": "mul", "subtract": "sub", "negative": "neg", "square": "sqr", "not_equal": "neq", "equal": "eq",
    "less": "lt", "greater": "gt", "less_equal": "le", "greater_equal": "ge", "remainder": "mod", "where": "switch",
    "floor_divide": "floor_div", "transpose": "dimshuffle", "concatenate": "join", "invert": "invert", "sqrt": "sqrt",
    "arcsin": "arcsin", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "lgamma": "gammaln", "+": "add",
    "-": "sub", "*": "mul", "/": "true_div", "//": "floor_div", "%": "mod", "**": "pow", "@": "dot", "<": "lt",
    "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "neq",
}  # fmt: skip
_PREFIXES = ("T.", "np.", "numpy.", "tt.", "termgraph.tensor.", "pt.")


def family_of(asked: Any) -> Op:
    """The operator that somebody means; LookupError with near names where there is none.

    >>> import numpy as np
    >>> family_of("T.linalg.det"), family_of(T.sum), family_of(np.exp)
    (det, sum, exp)
    """
    if isinstance(asked, Op):
        return asked.family
    if isinstance(asked, str):
        return _named(asked)
    term = asked.term if isinstance(asked, Variable) else asked
    if term.__class__ is Term:
        return term.op.family
    name = getattr(asked, "__name__", None)
    if not callable(asked) or not isinstance(name, str):
        raise TypeError(
            f"expected an operator: T.log, np.exp, 'log', or an expression whose root it is; got {asked!r:.60}"
        )
    return _known(name) or _made_by(asked) or _unknown(name)


def _named(text: str) -> Op:
    name = text.strip()
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return _known(name) or _known(name.rpartition(".")[2]) or _made_by(_function(name)) or _unknown(text)


def _known(name: str) -> Op | None:
    return OPS.get(_OTHER_NAMES.get(name, name))


def _function(name: str) -> Any:
    """The function of the language with that name, `linalg.norm` among them."""
    found: Any = T
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _made_by(function: Any) -> Op | None:
    """The operator at the root of what a function of the language makes."""
    if not callable(function):
        return None
    for operands in _operands():
        try:
            made = function(*operands)
        except Exception:  # functions refuse operands in their own way
            continue
        term = getattr(made, "term", None)
        if term.__class__ is Term:
            return _telling(term)
    return None


def _operands() -> Iterator[tuple]:
    x, y = T.matrix("x"), T.matrix("y")
    yield (x,)
    yield (T.vector("v"),)
    yield (x, y)
    yield (x, y, T.matrix("z"))
    yield (T.vector("v"), T.vector("w"))


def _telling(term: AnyTerm) -> Op:
    """The root; below casts and moved dimensions, which say nothing."""
    while term.op.name in ("cast", "dimshuffle", "nth") and term.args and term.args[0].args:
        term = term.args[0]
    return term.op.family


def _unknown(name: str) -> Op:
    short = name.rpartition(".")[2]
    if callable(_function(short)):
        raise LookupError(
            f"{name} is made of several operators, which depend on what it is given: ask with an expression, "
            f"such as T.{short}(...), whose root counts"
        )
    known = {*OPS, *_OTHER_NAMES, *[n for n in dir(T) if not n.startswith("_")], *dir(T.linalg)}
    close = difflib.get_close_matches(short, known, 3)
    raise LookupError(f"no operator is called {name!r}" + (f"; did you mean {' or '.join(close)}?" if close else ""))
