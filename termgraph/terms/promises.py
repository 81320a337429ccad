"""What was promised by the rules as they are: it is worked out before somebody's rules change them.

Gradients wait until they are looked at (`grad/waiting.py`); a rule that is defined meanwhile is not theirs. What an op
makes of them may wait, too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol
from weakref import WeakSet


class Promise(Protocol):
    def settle(self) -> None: ...


PROMISED: WeakSet[Promise] = WeakSet()


def _applied(op: Any, args: tuple[Any, ...]) -> Any:
    """An op on operands some of which wait: a variable that waits too, or None where their graphs have to be made."""
    return None


applied: Callable[[Any, tuple[Any, ...]], Any] = _applied


def apply_by(function: Callable[[Any, tuple[Any, ...]], Any]) -> None:
    """Say who applies ops to what waits."""
    global applied
    applied = function


def keep_promises() -> None:
    """Work out all that waits. What fails here is no fault of whoever defines a rule: it fails when it is looked at."""
    for promise in list(PROMISED):
        with suppress(Exception):
            promise.settle()
