"""How many places of the graph being rewritten use a term. Set by the driver. Imports nothing."""

from __future__ import annotations

from typing import Any

COUNTS: dict[int, int] = {}  # by id of the term; filled by the driver, which holds the compile lock


def used_once(t: Any) -> bool:
    """Whether at most one place of the graph uses the term."""
    return COUNTS.get(id(t), 1) <= 1
