"""Gradients that wait: a function that is found in the cache needs their names only, not the graphs they are.

`grad` gives such variables where no derivative can turn out to be missing. Whatever is asked of one but its dtype and
rank makes its graph. What is computed from them element by element waits as well (`grad/formed.py`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from termgraph.grad.checks import can_move
from termgraph.tensor.variable import TensorVariable, Variable, bare
from termgraph.terms.op import ARG, CONST, INPUT
from termgraph.terms.ops.basic import nth
from termgraph.terms.promises import PROMISED
from termgraph.terms.term import Input, untrack
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
_PARTS: dict[str, Any] = {name: Variable.__dict__[name] for name in ("term", "_a", "_b", "index", "_owner")}
_CLASS: Any = object.__dict__["__class__"]

# By how many variables gradients are, at most, where what is computed from them waits. Ops are applied twice then,
# which from a thousand on takes longer than making the gradients.
MOST = 64

Make = Callable[[Variable, Sequence[Variable], tuple], list[Variable]]  # of a cost, by variables, at a user's line


class Held:
    """What a variable waits in: `shadow(v)` is what stands for it, `settle(v)` makes it, and maybe others with it."""

    __slots__ = ()

    def shadow(self, v: Variable) -> Any:
        raise NotImplementedError

    def settle(self, v: Any = None) -> None:
        raise NotImplementedError


class Later(Held):
    """The gradients of a cost by some variables, which `make` makes when one of them is looked at."""

    def __init__(self, cost: Variable, wrt: Sequence[Variable], site: tuple, make: Make) -> None:
        self.cost, self.wrt = cost, list(wrt)
        self._site, self._make, self._guard = site, make, threading.RLock()
        self._handles: list[weakref.ref[Waiting]] = []
        self.places: dict[int, int] = {}  # which one a variable is, by its identity: also when it waits no more
        self.settled = False

    def variables(self) -> list[Any]:
        """One for each gradient."""
        out = []
        for _ in self.wrt:
            out.append(wait_in(self, self._site))
        self.places = {id(v): k for k, v in enumerate(out)}
        self._handles = [weakref.ref(v) for v in out]
        PROMISED.add(self)
        return out

    def shadow(self, v: Variable) -> Any:
        """A variable that stands for a gradient in what is computed from it; None if that shall not wait.

        Its lengths are open: those of the gradient may say more than those of what it is by, or less.
        """
        with self._guard:
            if self.settled or len(self.wrt) > MOST:
                return None
            found = _PARTS["_a"].__get__(v)
            if found is None:
                place = self.places[id(v)]
                like = self.wrt[place].type
                leaf = Input(None, TensorType(like.dtype, (None,) * like.ndim))
                STANDING[leaf] = self, place
                found = bare(TensorVariable, leaf, None, v.site)
                _PARTS["_a"].__set__(v, found)
            return found

    def settle(self, v: Any = None) -> None:
        """Make all of them variables like any other."""
        with self._guard:
            if self.settled:
                return
            handles = [ref() for ref in self._handles]
            made = self._make(self.cost, self.wrt, self._site)
            for v, m in zip(handles, made):
                if v is not None:
                    become(v, m)
            self.settled, self._handles = True, []
            PROMISED.discard(self)


# The leaves that stand for gradients: what each waits in, and the number it has there.
STANDING: weakref.WeakKeyDictionary[Any, tuple[Later, int]] = weakref.WeakKeyDictionary()


def become(v: Variable, made: Any) -> None:
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
        held = held_by(v)
        if held is not None:
            held.settle(v)
        return _PARTS[name].__get__(v)

    return property(part)


def held_by(v: Variable) -> Held | None:
    """What makes a variable that waits; None for other variables, and for one that another thread has just made."""
    found = _PARTS["_owner"].__get__(v) if v.waits else None
    return found if isinstance(found, Held) else None


def wait_in(held: Held, site: tuple) -> Any:
    """A variable that `held` makes when somebody looks at it."""
    v: Any = object.__new__(Waiting)
    v.name = v._tag = None
    v.site = site
    _PARTS["_a"].__set__(v, None)
    _PARTS["_owner"].__set__(v, held)
    untrack(v)
    return v


def shadow_of(v: Variable) -> Any:
    """The same computed from stand-ins for gradients; None if it has none."""
    held = held_by(v)
    return None if held is None else held.shadow(v)


class Waiting(TensorVariable):
    """A gradient that nobody has looked at, or what is computed from some. When somebody does, it becomes a variable of
    the usual class.
    """

    __slots__ = ()
    waits = True
    term, _a, _b, index, _owner = (_settled(name) for name in _PARTS)

    @property
    def dtype(self) -> str:
        shadow = shadow_of(self)
        return (self if shadow is None else shadow).term.type.dtype

    @property
    def ndim(self) -> int:
        shadow = shadow_of(self)
        return (self if shadow is None else shadow).term.type.ndim

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
    """The outputs of a function, some of which wait: those that are `made`, the `costs` whose gradients are meant
    where these are no outputs, `wrt`, by what gradients are taken, what is `formed` of gradients, with the variables
    that `stand` for these in it, and a text that says what each output is.
    """

    def __init__(self, outputs: Sequence[Variable]) -> None:
        found = [(v, held_by(v)) for v in outputs]  # asked once: other threads may look at a gradient meanwhile
        self.made = [v for v, held in found if held is None]
        self.costs: list[Variable] = []
        self.wrt: list[Variable] = []
        self.formed = [held.shadow(v) for v, held in found if held is not None and held.__class__ is not Later]
        self.settled = False  # whether one of the gradients waits no more
        self._places = {v.term: k for k, v in reversed([*enumerate(self.made)])}
        self._groups: dict[int, str] = {}
        made, computed = count(), count()
        words = []
        for v, held in found:
            if held is None:
                words.append(f"out{next(made)}")
            elif isinstance(held, Later):
                words.append(self._word(held, held.places[id(v)]))
            else:
                words.append(f"e{next(computed)}")
        leaves = [t for t in free_inputs([v.term for v in self.formed]) if t in STANDING]
        self.stand = [bare(TensorVariable, t, None, ()) for t in leaves]
        words += [f"s{k} is {self._word(*STANDING[t])}" for k, t in enumerate(leaves)]
        self.text = f"{' '.join(words)} where {', '.join(self._groups.values())}"

    def _word(self, later: Later, place: int) -> str:
        """A gradient by the number of its group and its place there."""
        if id(later) not in self._groups:
            self.settled = self.settled or later.settled
            term = later.cost.term
            if term not in self._places:
                self._places[term] = len(self.made) + len(self.costs)
                self.costs.append(later.cost)
            self.wrt += later.wrt
            self._groups[id(later)] = f"d{len(self._groups)} is of {self._places[term]} by {len(later.wrt)}"
        return f"d{list(self._groups).index(id(later))}.{place}"


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
    return found if found.wrt and sure and not found.settled else None
