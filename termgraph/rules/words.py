"""The words that a rule's definition may use: what it takes on trust (`assumes=`), and tags that name a stage.

A misspelt word would leave a rule out of every query without a message, so it is refused where it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from termgraph._lazy import lazy
from termgraph.rules.goals import KINDS
from termgraph.terms.errors import RuleError

difflib = lazy("difflib")

# What a rule may take on trust with `assumes=`, and what that excuses.
ASSUMPTIONS = {
    "finite": "no operand or intermediate result is infinite or NaN",
    "nonzero": "nothing that is divided by is zero",
    "domain": "functions are used where they are defined (elsewhere the left side is NaN)",
    "reassoc": "rounding may change",
    "signed_zero": "0.0 and -0.0 are the same",
    "plus_zero": "where the left side is 0.0, the right one may be -0.0; who does not admit it gets 0.0 added",
    "overflow": "integers stay within the limits of their dtype",
}
_ALIKE = 0.85  # `stabilise` for `stabilize`; any other tag is the user's own
_own: set[str] = set()  # tags that were found to be like no stage


def refuse_unknown_assumptions(assumes: Iterable[str]) -> None:
    """RuleError for a word of `assumes=` that is neither an assumption nor a fact."""
    for word in assumes:
        if word not in ASSUMPTIONS and word not in KINDS:
            close = difflib.get_close_matches(word, ASSUMPTIONS, 1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(ASSUMPTIONS)}"
            raise RuleError(f"unknown assumption {word!r}{hint}")


def refuse_misspelt_tags(tags: Iterable[str], stages: Collection[str]) -> None:
    """RuleError for a tag that is the name of a stage but for a letter."""
    for tag in tags:
        if tag in stages or tag in _own:
            continue
        close = difflib.get_close_matches(tag, stages, 1, _ALIKE)
        if close:
            raise RuleError(f"tag {tag!r} is no stage, so no function would use the rule; did you mean {close[0]!r}?")
        _own.add(tag)
