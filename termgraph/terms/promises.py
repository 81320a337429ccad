"""What was promised by the rules as they are: it is worked out before somebody's rules change them.

Gradients wait until they are looked at (`grad/waiting.py`); a rule that is defined meanwhile is not theirs.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol
from weakref import WeakSet


class Promise(Protocol):
    def settle(self) -> None: ...


PROMISED: WeakSet[Promise] = WeakSet()


def keep_promises() -> None:
    """Work out all that waits. What fails here is no fault of whoever defines a rule: it fails when it is looked at."""
    for promise in list(PROMISED):
        with suppress(Exception):
            promise.settle()
