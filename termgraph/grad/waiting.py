"""Gradients that wait: a function that is found in the cache needs their names only, not the graphs they are.

`grad` gives such variables where no derivative can turn out to be missing. Whatever is asked of one makes its graph.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from termgraph.grad.checks import can_move
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.op import ARG, CONST, INPUT
from termgraph.terms.ops.basic import nth
from termgraph.terms.promises import PROMISED
from termgraph.terms.traverse import children_first, free_inputs
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
        self.places: dict[int, int] = {}  # which one a variable is, by its identity: also when it waits no more

    def variables(self) -> list[Any]:
        """One for each gradient."""
        out = []
        for _ in self.wrt:
            v: Any = object.__new__(Waiting)
            v.name = v._tag = None
            v.site = self._site
            _PARTS["_owner"].__set__(v, self)
            out.append(v)
        self.places = {id(v): k for k, v in enumerate(out)}
        self._handles = [weakref.ref(v) for v in out]
        PROMISED.add(self)
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
            PROMISED.discard(self)


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
    op = t.op
    if t.args and op.kind == "loop":  # as sure as one step
        return all(map(_sure, children_first(op.params["body"])))
    if t.type.__class__ is not TensorType or t.type.kind == "c":
        return False
    if t.args:
        return op.family.name in SURE or op.family is nth and t.args[0].op.kind == "loop"
    return op is CONST or op is ARG or (op is INPUT and t.bound is None)


# ---------------------------------------------------------------------- what a function is told
class Named:
    """The outputs of a function, some of which wait: those that are `made`, the `costs` whose gradients the others are
    where these are no outputs, `wrt`, by what gradients are taken, and a text that says what each output is.
    """

    def __init__(self, outputs: Sequence[Variable]) -> None:
        found = [(v, _later_of(v)) for v in outputs]  # asked once: other threads may look at a gradient meanwhile
        self.made = [v for v, later in found if later is None]
        self.costs: list[Variable] = []
        self.wrt: list[Variable] = []
        self._places = {v.term: k for k, v in reversed([*enumerate(self.made)])}
        self._groups: dict[int, str] = {}
        number = count()
        words = [f"out{next(number)}" if later is None else self._word(v, later) for v, later in found]
        self.text = f"{' '.join(words)} where {', '.join(self._groups.values())}"

    def _word(self, v: Variable, later: Later) -> str:
        """A gradient by the number of its group and its place there."""
        if id(later) not in self._groups:
            term = later.cost.term
            if term not in self._places:
                self._places[term] = len(self.made) + len(self.costs)
                self.costs.append(later.cost)
            self.wrt += later.wrt
            self._groups[id(later)] = f"d{len(self._groups)} is of {self._places[term]} by {len(later.wrt)}"
        return f"d{list(self._groups).index(id(later))}.{later.places[id(v)]}"


def named(outputs: Sequence[Variable], inputs: Sequence[Variable]) -> Named | None:
    """How to name outputs some of which wait; None where their graphs have to be made first.

    That is where an input is computed, above which a gradient may go on, and where a cost that is no output needs more
    than the inputs, which its gradient may not need.
    """
    if not any(v.waits for v in outputs) or any(v.waits or v._owner is not None for v in inputs):
        return None
    found = Named(outputs)
    given = {v.term for v in inputs}
    sure = all(leaf in given for leaf in free_inputs([v.term for v in found.costs]))
    return found if found.wrt and sure else None
