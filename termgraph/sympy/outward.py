"""`to_sympy`: an element-wise expression as an expression of SymPy.

Broadcasting is implicit in SymPy's scalars, so leading dimensions that are only repeated are left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, MutableMapping
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any

from unification import Var

from termgraph.rules.facts import FACTS
from termgraph.sympy.table import LOGIC, TRUTHS, require_sympy, writers
from termgraph.tensor.graph import ancestors
from termgraph.tensor.variable import Variable
from termgraph.tensor.wrap import variable_of_term
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm, as_term, is_term
from termgraph.terms.traverse import parts_first
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from sympy import Basic

    from termgraph.terms.leaves import Input

_LARGEST_DENOMINATOR = 1 << 10  # 0.375 is 3/8; other floats stay floats


def to_sympy(expr: Basic, symbols: MutableMapping | None = None, *, evaluate: bool = True) -> Any:
    """The expression in SymPy; a list gives a list.

    Variables become symbols of the same name, real, integer or complex as their dtype is. `symbols`, if given, is a
    dictionary that receives symbol -> variable, as `from_sympy` takes it; then parts that SymPy has no function for
    (products of matrices, sums, indexing, ...) stand as symbols of their own. `evaluate=False` keeps SymPy from
    simplifying while the expression is built.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x, y = T.dscalars("xy")
    >>> tg.sympy.to_sympy(T.log1p(x) * y / 2)
    y*log(x + 1)/2
    """
    sympy = require_sympy()
    many = isinstance(expr, (list, tuple)) and not is_term(expr)
    given = list(expr) if many else [expr]
    leaves = _Leaves(sympy, _handles(given), symbols)
    with contextlib.nullcontext() if evaluate else sympy.evaluate(False):
        made = write(sympy, [as_term(e) for e in given], leaves)
    return made if many else made[0]


def write(sympy: ModuleType, terms: list, leaf: Callable[[Any], Any]) -> list:
    """The SymPy expressions of terms; `leaf` gives those of variables and of what has no counterpart."""
    done: dict[int, Any] = {}
    for t in _needed(terms):
        done[id(t)] = _one(sympy, t, done, leaf)
    return [done[id(t)] for t in terms]


def _needed(terms: list) -> list:
    """The terms to write, operands first; what is below a term without counterpart is not looked at."""
    return parts_first(terms, lambda t: [a for a in t.args if not isinstance(a, Var)] if _known(t) else ())


def _known(t: Any) -> bool:
    if not getattr(t, "args", ()):
        return True
    name = getattr(t.op, "name", None)
    return name in writers() or name == "cast" or (name == "dimshuffle" and _only_repeats(t))


def _only_repeats(t: AnyTerm) -> bool:
    """Whether a dimshuffle only adds leading dimensions, as broadcasting does by itself."""
    order = t.op.params["order"]
    kept = [d for d in order if d != "x"]
    return kept == list(range(len(kept))) and order[len(order) - len(kept) :] == tuple(kept)


def _one(sympy: ModuleType, t: Any, done: dict[int, Any], leaf: Callable) -> Any:
    if getattr(t, "op", None) is CONST:
        value = t.value if t.type is None else t.scalar
        return leaf(t) if value is None or (t.type and any(n != 1 for n in t.type.shape)) else number(sympy, value)
    if not t.args or not _known(t):
        return leaf(t)
    args = [leaf(a) if isinstance(a, Var) else done[id(a)] for a in t.args]
    name = t.op.name
    if name == "dimshuffle":
        return args[0]
    if name == "cast":
        return _cast(sympy, args[0], t.args[0], t.op.params["dtype"])
    return writers()[name](*_operands(sympy, name, t.args, args))


def _operands(sympy: ModuleType, name: str, terms: tuple, args: list) -> Iterable:
    """Truth values count as 0 and 1 in arithmetic; numbers as truth values in logic and choices."""
    if name == "switch":
        return [_truth(sympy, terms[0], args[0]), *args[1:]]
    if name in LOGIC:
        if name in ("eq", "neq") and not all(map(_is_truth, terms)):
            return [_count(sympy, t, a) for t, a in zip(terms, args)]
        return [_truth(sympy, t, a) for t, a in zip(terms, args)]
    return [_count(sympy, t, a) for t, a in zip(terms, args)]


def _is_truth(t: Any) -> bool:
    if getattr(getattr(t, "op", None), "name", None) in TRUTHS:
        return True
    return getattr(getattr(t, "type", None), "dtype", None) == "bool"


def _count(sympy: ModuleType, t: Any, e: Basic) -> Any:
    return sympy.Piecewise((1, e), (0, True)) if _is_truth(t) else e


def _truth(sympy: ModuleType, t: Any, e: Basic) -> Any:
    return e if _is_truth(t) or isinstance(t, Var) else sympy.Ne(e, 0)


def _cast(sympy: ModuleType, e: Basic, t: AnyTerm, dtype: str) -> Any:
    """A change of precision is none in exact arithmetic; whole numbers are cut off, truth values counted."""
    if dtype == "bool":
        return _truth(sympy, t, e)
    if _is_truth(t):
        return _count(sympy, t, e)
    was = t.type.dtype if t.type is not None else dtype
    if "int" in dtype and "int" not in was:
        return writers()["trunc"](e)
    return sympy.re(e) if was.startswith("complex") and not dtype.startswith("complex") else e


def number(sympy: Any, value: Any) -> Any:
    """A number exactly: fractions with small denominators as such, so that 0.5 is one half."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if isinstance(value, complex):
        return number(sympy, value.real) + sympy.I * number(sympy, value.imag)
    if isinstance(value, int):
        return sympy.Integer(value)
    if value != value or value in (float("inf"), float("-inf")):
        return sympy.nan if value != value else sympy.oo if value > 0 else -sympy.oo
    exact = Fraction(value)
    if exact.denominator <= _LARGEST_DENOMINATOR and abs(value) < 1e15:
        return sympy.Rational(exact.numerator, exact.denominator)
    return sympy.Float(value, precision=53)


# ---------------------------------------------------------------------- symbols
def _handles(given: list) -> dict[Any, Variable]:
    """The user's variables by their terms."""
    return {v.term: v for v in ancestors([e for e in given if isinstance(e, Variable)])}


class _Leaves:
    """Names of variables and of parts without counterpart: each its own symbol."""

    def __init__(self, sympy: Any, handles: dict, symbols: MutableMapping | None) -> None:
        self.sympy, self.handles, self.symbols = sympy, handles, symbols
        self.made: dict[Any, Any] = {}
        for symbol, v in (symbols or {}).items():
            self.made[as_term(v)] = symbol
        self.names = {s.name for s in self.made.values()}

    def __call__(self, t: Any) -> Any:
        if t not in self.made:
            self.made[t] = self._symbol(t)
        return self.made[t]

    def _symbol(self, t: Input) -> Any:
        if self.symbols is None and (t.args or t.op is CONST):
            what = f"{t.op.name} of {t.type}" if t.args else f"the constant {t!r:.60}"
            raise TypeError(
                f"SymPy has no counterpart of {what}; pass a dictionary, to_sympy(expr, symbols), "
                "and such parts become symbols whose meaning it keeps"
            )
        v = self.handles.get(t) or variable_of_term(t)
        wanted = v.name or (t.op.name if t.args else "constant" if t.op is CONST else "x")
        symbol = self.sympy.Symbol(self._unused(wanted), **_assumptions(t))
        if self.symbols is not None:
            self.symbols[symbol] = v
        return symbol

    def _unused(self, wanted: str) -> str:
        name, n = wanted, 0
        while name in self.names:
            n += 1
            name = f"{wanted}_{n}"
        self.names.add(name)
        return name


def _assumptions(t: Input) -> dict[str, bool]:
    """What the dtype says, and what `T.assume` or the operator let prove of the term."""
    dtype = t.type.dtype if isinstance(t.type, TensorType) else None
    if dtype is None or dtype == "bool":
        return {}
    kind = {"complex": True} if dtype.startswith("complex") else {"integer": True} if "int" in dtype else {"real": True}
    for name in ("positive", "negative", "nonnegative", "nonpositive", "nonzero"):
        if FACTS[name].proved(t):
            return kind | {name: True}
    return kind
