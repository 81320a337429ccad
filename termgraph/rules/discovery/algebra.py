"""Whether arithmetic alone makes two terms equal, whatever the functions in them are: such pairs say nothing of these.

Terms are compared as fractions of polynomials of what is not arithmetic in them, by values in a field of integers. Of a
function it is known there that equal operands give equal values, and of some that they are odd or even.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from termgraph.rules.discovery.vocabulary import Vocabulary
from termgraph.terms import facts
from termgraph.terms.dtypes import kind_of
from termgraph.terms.op import CONST, OPS, Op
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first

_PRIME = 2**61 - 1
_STEPS: dict[str, Callable[..., int]] = {
    "add": lambda *v: sum(v), "sub": lambda a, b: a - b, "neg": lambda a: -a, "sqr": lambda a: a * a,
    "mul": lambda *v: _product(v), "true_div": lambda a, b: a * pow(b, -1, _PRIME),
}  # fmt: skip


class Arithmetic:
    """Values of terms in a field, in which what is not arithmetic has a value drawn at random.

    `signs` tells of which functions that are declared odd or even this counts as known: without a rule that says so,
    `abs(-x)` and `abs(x)` are no more equal by arithmetic than `exp(log(x))` and `x`.
    """

    def __init__(self, seed: int = 0, signs: Callable[[Op], bool] = lambda op: True) -> None:
        self._signs = signs
        self._random = Random(seed)
        self._values: dict[Any, int | None] = {}
        self._applied: dict[tuple[Any, ...], int] = {}  # values of functions, by their operands' values

    def joins(self, a: AnyTerm, b: AnyTerm) -> bool:
        """Whether two terms are the same fraction of polynomials."""
        left, right = self._of(a), self._of(b)
        return left is not None and left == right

    def _of(self, root: AnyTerm) -> int | None:
        if root not in self._values:
            for t in children_first([root]):
                if t not in self._values:
                    self._values[t] = self._one(t)
        return self._values[root]

    def _one(self, t: Any) -> int | None:
        if t.op is CONST:
            return _number(t)
        operands = [self._values[a] for a in t.args]
        if None in operands or not operands:
            return None if operands else self._random.randrange(_PRIME)
        try:
            step = _STEPS.get(t.op.name)
            return step(*operands) % _PRIME if step else self._function(t, operands)
        except ValueError:  # a division by 0
            return None

    def _function(self, t: Any, operands: list[Any]) -> int:
        """The value of what is no arithmetic: any number, but always the same of the same operands."""
        above = len(operands) == 1 and operands[0] > _PRIME // 2
        odd, even = (above and t.op in declared and self._signs(t.op) for declared in (facts.odd, facts.even))
        if odd or even:
            operands = [_PRIME - operands[0]]
        value = self._applied.setdefault((t.op, t.type, *operands), self._random.randrange(1, _PRIME))
        return _PRIME - value if odd else value


def only_arithmetic(words: Vocabulary) -> bool:
    """Whether there is nothing but arithmetic in a vocabulary, so that its identities are what is looked for."""
    return all(name in _STEPS or OPS[name].arity != 1 for name in words.names if name in OPS)


def _number(t: Any) -> int | None:
    values = np.unique(t.value)
    if values.size != 1 or kind_of(values.dtype) not in "fiu" or not np.isfinite(values[0]):
        return None
    number = Fraction(values[0].item())
    return number.numerator * pow(number.denominator, -1, _PRIME) % _PRIME


def _product(values: tuple[int, ...]) -> int:
    out = 1
    for v in values:
        out = out * v % _PRIME
    return out
