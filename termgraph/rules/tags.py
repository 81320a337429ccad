"""Words that select rules, and the sets that the tag of a stage brings along. Who asks for rules needs no more."""

from __future__ import annotations

from collections.abc import Iterable

SET_TAGS = frozenset(("fast_run", "fast_compile", "unsafe"))
STAGE_SETS = {
    "canonicalize": ("fast_run", "fast_compile"),
    "stabilize": ("fast_run", "fast_compile"),
    "specialize": ("fast_run",),
    "scan": ("fast_run",),
    "fuse": ("fast_run",),
    "inplace": ("fast_run",),
}
WORDS = frozenset((*STAGE_SETS, *SET_TAGS))


def all_tags(tags: Iterable[str]) -> frozenset[str]:
    """The tags with the set tags that stages bring along: canonicalize and stabilize belong to fast_run and
    fast_compile, later stages to fast_run. Naming a set tag oneself replaces the automatic ones."""
    given = frozenset(tags)
    if given & SET_TAGS:
        return given
    return given.union(*[STAGE_SETS.get(t, ()) for t in given]) if given else given
