"""Goals about choices, checks and promises."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules import goal
from termgraph.rules.clients import used_once
from termgraph.rules.indices import is_length
from termgraph.terms.op import CONST
from termgraph.terms.term import mk1


@goal("iiiio")
def chosen_item(k: Any, xs: tuple, n: int, i: int) -> Any:
    """Value `i` of a choice between `n` values each, whose condition is known."""
    return xs[i] if k.value.item() else xs[n + i]


@goal("iiio")
def equal_item(xs: tuple, n: int, i: int) -> Any:
    """Value `i` of a choice, if it is the same in both branches."""
    return xs[i] if xs[i] is xs[n + i] else None


@goal("iiii")
def alone_in_arms(t: Any, f: Any, x: Any, y: Any) -> bool:
    """Nothing but the choice `t` needs `f(x)` and `f(y)`, and they are no smaller than what is chosen."""
    ones = [n == 1 for n in t.type.shape]
    of_full_size = any([n == 1 for n in a.type.shape] == ones for a in (x, y))
    return of_full_size and used_once(mk1(f, x)) and used_once(mk1(f, y))


alone_in_arms.counts_clients = True


@goal("io")
def failing(xs: tuple) -> Any:
    """The conditions that may fail; no answer if that is all of them."""
    kept = tuple([x for x in xs if not (x.op is CONST and bool(np.all(x.value)))])
    return None if len(kept) == len(xs) else kept


@goal("iii")
def kept_promises(x: Any, ns: tuple, w: tuple) -> bool:
    """`x` has the promised lengths already."""
    return all(is_length(n, x, d) for n, d in zip(ns, [d for d, flag in enumerate(w) if flag]))


