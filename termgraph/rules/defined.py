"""All rules that are defined, by name, and how often that has changed: what asks whether rules are still the same reads
no more than this.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from termgraph.rules.definition import Rule

DEFINED: dict[str, Rule] = {}  # every rule by name; the database reads it
_generation = _of_library = 0


def define(rule: Rule) -> None:
    """Add a rule, or put it in the place of the one of its name."""
    global _generation
    DEFINED[rule.name] = rule
    _generation += 1


def forget(names: Iterable[str]) -> None:
    """Remove rules by name (tests, and files that are loaded again)."""
    global _generation
    for name in list(names):
        DEFINED.pop(name, None)
    _generation += 1


def changes() -> int:
    """How often the table of rules was changed by others than the library."""
    return _generation - _of_library


def count_as_library(before: int) -> None:
    """All changes since there were `before` of others are those that loading the library made."""
    global _of_library
    _of_library += changes() - before
