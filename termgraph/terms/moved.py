"""Which terms those stand for that passes over whole graphs made, so that errors find the line of the user.

Rewriting by rules keeps this in its traces; here is what takes work out of loops, or puts it together anew around them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from termgraph.terms.traverse import rebuild

if TYPE_CHECKING:
    from termgraph.terms.op import Op
    from termgraph.terms.term import AnyTerm

_moved: weakref.WeakKeyDictionary[Any, tuple[Any, Any]] = weakref.WeakKeyDictionary()


def note_moved(new: AnyTerm, op: Op | None, old: AnyTerm) -> None:
    """Remember that a term stands for `old`: a term in the body of the loop op, or of the graph if `op` is None."""
    if new.args and new is not old:
        _moved[new] = op, old


def moved_from(t: AnyTerm) -> tuple[Any, Any] | None:
    """What a term stands for, as `note_moved` was told; None if it was not."""
    return _moved.get(t) if t.args else None


def rebuild_moved(roots: Sequence[Any], change: Callable[[Any, tuple[Any, ...]], Any]) -> list[Any]:
    """`rebuild`, after which each new term knows the one it replaced."""

    def noted(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
        new: AnyTerm = change(t, args)
        if new is not None and new is not t and new.args:
            _moved.setdefault(new, (None, t))
        return new

    return rebuild(roots, noted)
