"""`from_sympy` and `lambdify`: expressions of SymPy as variables and as compiled functions.

The same reader makes patterns of rules, from symbols that stand for metavariables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from termgraph.config import config
from termgraph.function.jit import jit
from termgraph.rules.pattern import Pattern
from termgraph.sympy.table import CONSTANTS, readers, require_sympy
from termgraph.terms.traverse import work_out
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from sympy import Basic

    from termgraph.tensor.variable import TensorVariable

T: Any = import_module("termgraph.tensor")
_OWN = ("Piecewise", "ExprCondPair")  # read by this module, not by the table
_POSTPONED = ("Integral", "Derivative", "Sum", "Product", "Limit")


def from_sympy(expr: Basic, symbols: Mapping | None = None, *, dtype: str | None = None) -> Any:
    """The variable that an expression of SymPy stands for; lists and matrices are read element by element.

    `symbols` says which variable a symbol (or a symbol of this name) is; other symbols become new scalars, of
    `dtype` or, if that is not given, integers where the symbol is one and `config.floatX` otherwise.

    >>> import sympy, termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> a, b = sympy.symbols("x b")
    >>> tg.pp(tg.sympy.from_sympy(sympy.expand((a + b) ** 2), {"x": x}))
    'b ** 2 + x ** 2 + 2 * b * x'
    """
    sympy = require_sympy()
    names = {str(k) if not isinstance(k, str) else k: v for k, v in (symbols or {}).items()}

    def leaf(symbol: Basic) -> Any:
        if symbol.name not in names:
            names[symbol.name] = TensorType.of(_dtype(symbol, dtype), ()).make_variable(symbol.name)
        return names[symbol.name]

    return read(sympy.sympify(expr), leaf, T.as_tensor)


def lambdify(args: Any, expr: Basic, *, mode: Any = None) -> Callable:
    """A function of arrays, as `sympy.lambdify` makes one, simplified and compiled by termgraph.

    Arrays of any rank and dtype may be given; each new combination is compiled once. `expr` may be a list or a
    matrix; a list of expressions gives a list of arrays.

    >>> import numpy as np, sympy, termgraph as tg
    >>> x, y = sympy.symbols("x y")
    >>> f = tg.sympy.lambdify([x, y], sympy.diff(sympy.sin(x * y), x))
    >>> f(np.zeros(2), np.array([1.0, 3.0]))
    array([1., 3.])
    """
    sympy = require_sympy()
    names: list[Any] = [args] if isinstance(args, sympy.Symbol) else list(args)
    wrong = [a for a in names if not isinstance(a, sympy.Symbol)]
    if wrong:
        raise TypeError(f"lambdify takes symbols and an expression of them; {wrong[0]!r} is no symbol")
    expr = sympy.sympify(expr)
    _complain_of_unbound(expr, names)

    def traced(*variables: TensorVariable) -> Any:
        return from_sympy(expr, {a.name: T.as_tensor(v) for a, v in zip(names, variables, strict=True)})

    traced.__name__ = "lambdified"
    return jit(traced, mode=mode, at_once=False)


def _complain_of_unbound(expr: Basic, names: Sequence) -> None:
    parts = expr if isinstance(expr, (list, tuple)) else [expr]
    free = {s for e in parts for s in getattr(e, "free_symbols", ())}
    missing = sorted(s.name for s in free if s.name not in {a.name for a in names})
    if missing:
        raise ValueError(f"the expression contains {', '.join(missing)}, which lambdify's arguments do not name")


def _dtype(symbol: Basic, dtype: str | None) -> str:
    if dtype is not None:
        return dtype
    return "int64" if symbol.is_integer else "complex128" if symbol.is_real is False else config.floatX


# ---------------------------------------------------------------------- the reader
def read(expr: Basic, leaf: Callable[[Any], Any], wrap: Callable[[Any], Any] = lambda v: v) -> Any:
    """What an expression stands for; `leaf` gives what its symbols stand for, `wrap` what a mere number becomes."""
    if isinstance(expr, (list, tuple)) or type(expr).__name__ == "Tuple":
        return [read(e, leaf, wrap) for e in expr]
    if getattr(expr, "is_Matrix", False):
        rows = expr.tolist()
        return T.stack([T.stack([read(e, leaf, wrap) for e in row]) for row in rows])
    made = _read_all(expr, leaf)
    return wrap(made) if isinstance(made, (bool, int, float, complex)) else made


def _read_all(expr: Basic, leaf: Callable) -> TensorVariable:
    done: dict[Any, Any] = {}
    return work_out(done, expr, _operands, lambda e: _one(e, done, leaf))


def _operands(e: Basic) -> tuple:
    """The operands that are read before: of a power by a number and of a quotient only what is left of them."""
    if e.is_Mul:
        return tuple([part for factor in e.args for part in _split(factor)[0]])
    if e.is_Add:
        return tuple([_term(a)[0] for a in e.args])
    if e.is_Pow and e.exp.is_Number:
        return (e.base,)
    if not e.is_Atom and not e.is_Pow and _reader(e) is None and type(e).__name__ not in _OWN:
        name = type(e).__name__
        hint = "; call .doit() on it first" if name in _POSTPONED else ""
        raise TypeError(f"termgraph has no counterpart of SymPy's {name}, in {e}{hint}")
    return () if e.is_Atom else e.args


def _reader(e: Basic) -> Callable | None:
    return readers().get((type(e).__name__, len(e.args))) or readers().get((type(e).__name__, None))


def _split(factor: Basic) -> tuple[tuple, bool]:
    """What is read of a factor, and whether it stands below the line: `x**-2` is `x**2` there."""
    if factor.is_Number:
        return (), False
    if factor.is_Pow and factor.exp.is_Number and factor.exp.is_negative:
        return (factor.base**-factor.exp,), True
    return (factor,), False


def _one(e: Basic, done: dict, leaf: Callable) -> Any:
    name = type(e).__name__
    if e.is_Symbol:
        return leaf(e)
    if name in CONSTANTS:
        return CONSTANTS[name]
    if getattr(e, "is_Number", False):
        return _number(e)
    if e.is_Mul:
        return _product(e, done)
    if e.is_Pow and e.exp.is_Number:
        return _power(done[e.base], e.exp)
    if e.is_Add:
        return _sum(e, done)
    args = [done[a] for a in e.args]
    if name == "Piecewise":
        return _choice(e, args)
    return args if name == "ExprCondPair" else _function(e, name, args)


def _number(e: Basic) -> float:
    if e.is_Integer:
        return int(e)
    return int(e.p) / int(e.q) if e.is_Rational else float(e)


def _term(a: Basic) -> tuple[Any, bool]:
    """What is read of a term of a sum, and whether it is subtracted."""
    coefficient = a if a.is_Number else a.args[0] if a.is_Mul else None
    negative = coefficient is not None and coefficient.is_Number and bool(coefficient.is_negative)
    return (-a, True) if negative else (a, False)


def _sum(e: Basic, done: dict) -> Any:
    """Terms with a minus sign are subtracted from the others, which come first."""
    terms = sorted(map(_term, e.args), key=lambda pair: pair[1])
    total = -done[terms[0][0]] if terms[0][1] else done[terms[0][0]]
    for a, subtracted in terms[1:]:
        total = total - done[a] if subtracted else total + done[a]
    return total


def _product(e: Basic, done: dict) -> Any:
    above: list[Any] = []
    below: list[Any] = []
    coefficient: Any = 1
    for factor in e.args:
        if factor.is_Number:
            coefficient = factor * coefficient
            continue
        (part,), is_below = _split(factor)
        (below if is_below else above).append(done[part])
    return _quotient(coefficient, above, below)


def _quotient(coefficient: Basic, above: list, below: list) -> Any:
    """`2*x*y/3` as one writes it: the numerator and the denominator of the coefficient where they are whole."""
    times = functools.partial(functools.reduce, lambda p, q: p * q)
    sign = 1
    if coefficient != 1 and coefficient.is_negative:
        sign, coefficient = -1, -coefficient
    if coefficient != 1:
        rational = coefficient.is_Rational and not coefficient.is_Integer and abs(coefficient.q) < 2**53
        numerator, denominator = (int(coefficient.p), int(coefficient.q)) if rational else (_number(coefficient), 1)
        above = [numerator, *above] if numerator != 1 else above
        below = [denominator, *below] if denominator != 1 else below
    value = times(above) if above else 1
    value = value / times(below) if below else value
    return -value if sign < 0 else value


def _power(base: Basic, exponent: Basic) -> TensorVariable:
    if exponent.is_negative:
        return 1 / _power(base, -exponent)
    if exponent == 1:
        return base
    if exponent == 2 and isinstance(base, Pattern):
        return T.sqr(base)  # as canonicalize writes it
    if exponent.is_Rational and exponent.q == 2 and exponent.p == 1:
        return T.sqrt(base)
    return base ** _number(exponent)


def _choice(e: Basic, pairs: list) -> TensorVariable:
    """Conditions are asked in order; where none holds the value is NaN, as in SymPy."""
    value: Any = float("nan")
    for a, condition in reversed(pairs):
        value = a if condition is True else T.switch(condition, a, value)
    return value


def _function(e: Basic, name: str, args: list) -> TensorVariable:
    found = _reader(e)
    assert found is not None  # `_operands` has asked
    if name in ("Max", "Min", "And", "Or", "Xor") and len(args) != 2:
        return functools.reduce(found, args)
    return found(*args)
