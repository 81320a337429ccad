"""Which rule sets have an image: those of the predefined modes and `tg.rewrite`.

Sets that a user's rules or facts take part in have none. Where they are kept is in `image_files`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from termgraph import _installed, _rulelib
from termgraph.db.image_files import ROOMS, changed, find, key_now, make
from termgraph.db.queries import EVERYTHING, TRUSTED, Query
from termgraph.rules.image import Image, image_from, make_image, write_image

_SETS = (frozenset(("fast_run",)), frozenset(("fast_compile",)), frozenset(("fast_run", "unsafe")))
_STAGES = ("canonicalize", "stabilize", "specialize", "scan")
_TRUST = {TRUSTED: "", frozenset(): "-strict", TRUSTED | {EVERYTHING}: ""}


def usable(asked: Query) -> bool:
    """Whether a query has an image, and everything is as it was when termgraph was installed."""
    usual = asked.include in _SETS and not asked.exclude and len(asked.require) == 1 and asked.require <= {*_STAGES}
    return usual and asked.assume in _TRUST and not changed()


def image_of(asked: Query, select: Callable[[], Any]) -> Image | None:
    """The image of a usual query, made of the rule set that `select` gives if there is none yet.

    None if it fits nowhere: making one would then be in vain, since it takes longer than this process gains. Also None
    if this process has perhaps read other files than there are now, or if ops of the user have facts.
    """
    if _installed.changed_since_import(*ROOMS):
        return None
    name = _file_name(asked)
    key = key_now(name)
    content = find(name, key)
    if content is not None:
        _read_knowledge()
        image = image_from(*content)
    else:
        image = make(name, key, lambda ops: make_image(select(), ops), write_image)
    return image if image is not None and image.fits_facts() else None


def _file_name(asked: Query) -> str:
    """Each version of Python has its own, as for bytecode."""
    words = "-".join([*sorted(asked.include), *asked.require]) + _TRUST[asked.assume]
    return f"{words}.{sys.implementation.cache_tag}.rules"


@functools.cache
def _read_knowledge() -> None:
    """Read the files that say what facts follow from others: rules that come from an image use them too."""
    _rulelib.package()
    for path in _rulelib.files():
        if path.name.startswith("_facts_"):
            import_module(_rulelib.module_name(path))
