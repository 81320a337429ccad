"""Expressions and rules from SymPy and to SymPy, which is imported when something here is first used.

    e = tg.sympy.to_sympy(z, names)          # a SymPy expression; `names` remembers which symbol is which variable
    z = tg.sympy.from_sympy(e, names)        # and back
    f = tg.sympy.lambdify([x, y], e)         # SymPy symbols and expression to a compiled function on arrays
    tg.sympy.rules_to_sympy(rules)           # rules as SymPy patterns
    tg.sympy.rules_from_sympy({...}, "mine") # SymPy identities as rules of the database

`table.py` says what corresponds to what.
"""

from termgraph.sympy.identities import Identities, Identity, rules_to_sympy
from termgraph.sympy.inward import from_sympy, lambdify
from termgraph.sympy.learning import rules_from_sympy
from termgraph.sympy.outward import to_sympy

__all__ = ["Identities", "Identity", "from_sympy", "lambdify", "rules_from_sympy", "rules_to_sympy", "to_sympy"]


def __dir__() -> list[str]:
    return __all__
