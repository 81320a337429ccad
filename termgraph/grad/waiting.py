"""Gradients that wait: a function that is found in the cache needs their names only, not the graphs they are.

`grad` gives such variables where no derivative can turn out to be missing. Whatever is asked of one makes its graph.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from termgraph.grad.checks import can_move
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.op import CONST, INPUT
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType

# Ops whose derivative rules hold for all arrays: none says that a derivative is missing or not defined.
_NAMES = """
    abs add alloc AbstractConv2d cast cos dimshuffle dot eq erf exp expm1 ge gt join le log log1p lt matmul max maximum
    minimum mul neg neq pool pow reshape shape_i sigmoid sin softmax softplus sqr sqrt sub subtensor sum switch tanh
    true_div
"""
SURE = frozenset(_NAMES.split())

# Where a variable has its parts; of a gradient that waits they are properties that make it.
_PARTS: dict[str, Any] = {name: Variable.__dict__[name] for name in ("term", "_owner", "_a", "_b", "index")}
_CLASS: Any = object.__dict__["__class__"]

Make = Callable[[Variable, Sequence[Variable], tuple], list[Variable]]  # of a cost, by variables, at a user's line


class Later:
    """The gradients of a cost by some variables, which `make` makes when one of them is looked at."""

    def __init__(self, cost: Variable, wrt: Sequence[Variable], site: tuple, make: Make) -> None:
        self.cost, self.wrt = cost, list(wrt)
        self._site, self._make, self._guard = site, make, threading.RLock()
        self._handles: list[weakref.ref[Waiting]] = []

    def variables(self) -> list[Any]:
        """One for each gradient."""
        out = []
        for k in range(len(self.wrt)):
            v: Any = object.__new__(Waiting)
            v.name = v._tag = None
            v.site = self._site
            _PARTS["_owner"].__set__(v, self)
            _PARTS["index"].__set__(v, k)
            out.append(v)
        self._handles = [weakref.ref(v) for v in out]
        return out

    def settle(self) -> None:
        """Make all of them variables like any other."""
        with self._guard:
            handles = [ref() for ref in self._handles]
            if not handles:
                return
            made = self._make(self.cost, self.wrt, self._site)
            for v, m in zip(handles, made):
                if v is not None:
                    _become(v, m)
            self._handles = []


def _become(v: Waiting, made: Any) -> None:
    """Take the place of a variable that was made for it."""
    for name, part in _PARTS.items():
        if hasattr(made, name):
            part.__set__(v, getattr(made, name))
    known = getattr(made._owner, "made", None)  # a view of a large graph, in which `made` would be another variable
    if known is not None and known.get(made.term) is made:
        known[made.term] = v
    _CLASS.__set__(v, made.__class__)


def _settled(name: str) -> property:
    def part(v: Waiting) -> Any:
        later = _later_of(v)
        if later is not None:
            later.settle()
        return _PARTS[name].__get__(v)

    return property(part)


def _later_of(v: Variable) -> Later | None:
    """What a gradient waits in; None for other variables, and for one that another thread has just made."""
    found = _PARTS["_owner"].__get__(v) if v.waits else None
    return found if found.__class__ is Later else None


class Waiting(TensorVariable):
    """A gradient that nobody has looked at. When somebody does, it becomes a variable of the usual class."""

    __slots__ = ()
    waits = True
    term, _owner, _a, _b, index = (_settled(name) for name in _PARTS)

    def clone(self, name: str | None = None) -> Variable:
        _ = self.term
        return self.clone(name)  # that of the class it has now


# ---------------------------------------------------------------------- which can wait
def can_wait(cost: Variable, wrt: Sequence[Variable]) -> bool:
    """Whether all gradients are sure to be there: then their graphs can be made later, without a word."""
    order = children_first([cost.term])
    if not all(map(_sure, order)) or not all(v.type.__class__ is TensorType and can_move(v.term) for v in wrt):
        return False
    reached, known = {cost.term}, set(order)
    for t in reversed(order):
        if t in reached and t.op.kind != "length":
            reached.update(t.args)
    return all(v.term in known and v.term in reached for v in wrt)


def _sure(t: Any) -> bool:
    if t.type.__class__ is not TensorType or t.type.kind == "c":
        return False
    return t.op.family.name in SURE if t.args else t.op is CONST or (t.op is INPUT and t.bound is None)


# ---------------------------------------------------------------------- what a function is told
class Named:
    """The outputs of a function, some of which wait: those that are `made`, what gradients are by, and a text that says
    which of these each output is.
    """

    def __init__(self, outputs: Sequence[Variable]) -> None:
        places: dict[Any, int] = {}
        self.made: list[Variable] = []
        for v in outputs:
            if _later_of(v) is None:
                places.setdefault(v.term, len(self.made))
                self.made.append(v)
        groups: dict[int, tuple[int, Later]] = {}
        words, number = [], 0
        self.whole = True  # whether the costs are among the outputs
        for v in outputs:
            later = _later_of(v)
            if later is None:
                words.append(f"out{number}")
                number += 1
                continue
            group, _ = groups.setdefault(id(later), (len(groups), later))
            self.whole = self.whole and later.cost.term in places
            words.append(f"d{group}.{_PARTS['index'].__get__(v)}")
        laters = [later for _, later in groups.values()]
        self.wrt = [v for later in laters for v in later.wrt]
        costs = [f"out{places.get(later.cost.term)} by {len(later.wrt)}" for later in laters]
        self.text = f"{' '.join(words)} where d is of {', '.join(costs)}"


def named(outputs: Sequence[Variable], inputs: Sequence[Variable]) -> Named | None:
    """How to name outputs some of which wait; None where their graphs have to be made first.

    That is where a cost is no output, whose inputs would not be known, and where an input is computed, above which a
    gradient may go on.
    """
    if not any(v.waits for v in outputs) or any(v.waits or v._owner is not None for v in inputs):
        return None
    found = Named(outputs)
    return found if found.wrt and found.whole else None
