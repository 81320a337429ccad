"""The backward pass over arrays of 16 bits, with the decisions of the forward pass: rounding must not turn one round.

A gradient flows where an element was positive, or the largest of its window. Numbers that are rounded a little would
send it elsewhere, and the error would be as large as the gradient. So signs are taken from what keeps them, other truth
values are kept themselves, and arrays in which something larger is decided stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from termgraph.terms.op import CONST
from termgraph.terms.ops.barrier import stored_as
from termgraph.terms.ops.elementwise import (
    cast,
    ceil,
    floor,
    floor_div,
    fmod,
    ge,
    gt,
    heaviside,
    le,
    lt,
    maximum,
    mod,
    round_,
    sign,
    trunc,
)
from termgraph.terms.ops.pooling import MAX_GRAD
from termgraph.terms.ops.pooling import pool_max_grad as max_grad
from termgraph.terms.term import AnyTerm, mk, mk1
from termgraph.terms.traverse import children_first_until, substitute

JUMPS = frozenset((MAX_GRAD, *[op.name for op in (ceil, floor, floor_div, fmod, heaviside, mod, round_, sign, trunc)]))
MOVES = ("dimshuffle", "reshape", "subtensor", "unbroadcast", "specify_shape")


class Narrowed:
    """`roots` written over `large` terms in 16 bits. `kept` are terms with what stands for them."""

    def __init__(
        self, roots: Sequence[Any], large: Collection[Any], stored: Collection[Any], made: Collection[Any], dtype: str
    ) -> None:
        """`stored` are other terms that are read from memory, `made` those of the backward pass that are stored."""
        self.before, self.made, self.dtype = list(roots), made, dtype
        self.large = set(large)
        self.stops = {t: t for t in (*stored, *large)}
        while True:
            self.masks: dict[Any, Any] = {}
            self.exact: set[Any] = set()
            self._look()
            if not self.exact:
                break
            self.large -= self.exact
        self.kept = {t: self._wide(t) for t in large if t in self.large} | self.masks
        self.roots = substitute(self.before, self.stops | self.kept) if self.kept else self.before

    def _wide(self, t: AnyTerm) -> Any:
        return mk1(cast.bind(dtype=t.type.dtype), mk1(stored_as.bind(dtype=self.dtype), t))

    # ------------------------------------------------------------------ what is decided of rounded numbers
    def _look(self) -> None:
        """Find masks, and arrays that have to stay `exact`."""
        stops = {id(t): t for t in self.stops}
        self.read: dict[Any, set[Any]] = {t: {t} for t in self.large}  # of terms computed where they are needed
        for t in children_first_until(self.before, stops):
            if not t.args or t.op.kind == "length":
                continue
            read = set().union(*[self.read.get(a, ()) for a in (t.args[:2] if t.op.family is max_grad else t.args)])
            if read and self._jumps(t):
                self._decide(t, read)
            elif read and t not in self.made:
                self.read[t] = read

    def _jumps(self, t: AnyTerm) -> bool:
        """Whether a small change of an operand may be a large one of the result."""
        kind = getattr(t.type, "kind", "")
        return t.op.family.name in JUMPS or (kind in "biu" and any(getattr(a.type, "kind", "") == "f" for a in t.args))

    def _decide(self, t: AnyTerm, read: set[Any]) -> None:
        if t.op in (gt, lt, ge, le):
            zero = [k for k, a in enumerate(t.args) if a.op is CONST and a.scalar == 0]
            if zero:
                other = t.args[1 - zero[0]]
                if self._keeps_sign(other):
                    return
                bounded = mk(maximum, (other, t.args[zero[0]]))
                if t.op is (gt if zero[0] else lt) and bounded in self.large:
                    wide = self._wide(bounded)
                    self.masks[t] = mk(t.op, tuple([wide if a is other else a for a in t.args]))
                    return
        if t.op is sign and self._keeps_sign(t.args[0]):
            return
        if t.type.dtype == "bool" and t not in self.made:
            self.masks[t] = mk1(stored_as.bind(dtype="bool"), t)
        else:
            self.exact |= read

    def _keeps_sign(self, t: AnyTerm) -> bool:
        """Whether a number is positive, zero or negative as what it was rounded from."""
        while t not in self.large:
            if t.op is maximum and any(a.op is CONST and a.scalar == 0 for a in t.args):
                t = next(a for a in t.args if a.op is not CONST)
            elif t.op.family.name in MOVES and t.args:
                t = t.args[0]
            else:
                return False
        return True
