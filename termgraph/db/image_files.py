"""Where images of rules are kept, when they are made anew, and what they are made from.

Beside the rule files, in `__pycache__`, if Python would keep bytecode there; else in termgraph's cache folder. May
touch these two folders. Finding one imports nothing of rules but what reads it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from termgraph import _installed, _rulelib
from termgraph._blake import blake2b
from termgraph._folders import make_private, why_not_trusted
from termgraph._lazy import lazy
from termgraph.config import config
from termgraph.rules.defined import changes
from termgraph.rules.pieces import Damaged, read_content
from termgraph.rules.stored_names import Nameless
from termgraph.terms import facts
from termgraph.terms.errors import RuleWarning
from termgraph.terms.op import OPS, Op

pkgutil = lazy("pkgutil")

ROOMS = ("terms", "tensor", "rules", "db")  # what images are made from, beside the rule files
_reported: set[str] = set()


def changed() -> bool:
    """Whether rules or facts are not those that termgraph was installed with."""
    added = config.rules.path or (config.plugins and _rulelib.plugins())
    return bool(added) or changes() != 0 or facts.changed()


def find(name: str, key: bytes) -> Any:
    """What one of the folders has under a name."""
    found = (_read(os.path.join(folder, name), key) for folder in _folders())
    return next((content for content in found if content is not None), None)


def make(name: str, key: bytes, made: Callable[[list[Op]], Any], write: Callable[[str, bytes, Any], None]) -> Any:
    """What `made` gives for all ops of termgraph, after it was kept; None if it fits nowhere."""
    place = next((f for f in _folders() if _writable(f)), None)
    if place is None:
        return None
    ops = _own_ops()
    if not facts.declared() <= {op.name for op in ops}:
        return None
    try:
        value = made(ops)
        write(os.path.join(place, name), key, value)
    except (Nameless, OSError) as error:
        _report(place, f"the image of rules {name} cannot be kept in {place}: {error}")
        return None
    return value


def key_now(name: str) -> bytes:
    """What an image is, and made from: its name, the files of termgraph and its rules, Python and NumPy."""
    magic = importlib.util.MAGIC_NUMBER.hex()
    text = f"{name} {_installed.files_digest(*ROOMS)} {_installed.versions()} {magic}"
    return blake2b(text.encode(), digest_size=20).digest()


# ---------------------------------------------------------------------- where
def _folders() -> Iterator[str]:
    """Where an image may be, the best place first."""
    here = _rulelib.where()
    try:
        yield os.path.dirname(importlib.util.cache_from_source(os.path.join(here, "__init__.py")))
    except NotImplementedError:  # a Python without bytecode files
        pass
    installation = blake2b(here.encode(), digest_size=6).hexdigest()
    yield os.path.join(str(config.cache.dir), "rules", installation)


def _is_within_cache(path: str) -> bool:
    return path.startswith(os.path.join(str(config.cache.dir), ""))


def _is_beside_rules(folder: str) -> bool:
    return not _is_within_cache(folder)


def _writable(folder: str) -> bool:
    """Whether an image can be put there; the folder is made, for its owner alone."""
    if _is_beside_rules(folder) and sys.dont_write_bytecode:
        return False
    try:
        if _is_beside_rules(folder):
            os.makedirs(folder, exist_ok=True)
        else:
            make_private(folder)
    except OSError:  # a read-only installation, or a disk that is full
        return False
    return os.access(folder, os.W_OK) and _trusted(folder)


def _trusted(path: str) -> bool:
    """Whether only its owner, who is this user or the system's, can have put it there."""
    if _is_beside_rules(path):
        return True  # whoever can write beside the rules can write the rules
    above = os.path.dirname(path)
    for place in (str(config.cache.dir), *((above,) if _is_within_cache(above) else ()), path):
        why = why_not_trusted(place, follow=place == str(config.cache.dir))
        if why is not None:
            _report(place, f"{why}: what it holds is not used; repair it with: chmod -R go-w {config.cache.dir}")
            return False
    return True


def _read(path: str, key: bytes) -> Any:
    if not os.path.exists(path) or not (_trusted(os.path.dirname(path)) and _trusted(path)):
        return None
    try:
        return read_content(path, key)
    except Damaged as fault:
        _report(path, f"the image of rules {path} is damaged ({fault}); it is made again")
        return None


def _report(about: str, message: str) -> None:
    if about not in _reported:
        _reported.add(about)
        warnings.warn(RuleWarning(message), stacklevel=6)


def _own_ops() -> list[Op]:
    """The ops that come with termgraph, also those that are defined when a part of it is first used.

    Not those of users: another process may give an op of the same name another meaning.
    """
    package = import_module("termgraph.terms.ops")
    modules = [import_module(f"{package.__name__}.{module.name}") for module in pkgutil.iter_modules(package.__path__)]
    defined = {id(value) for module in modules for value in vars(module).values() if isinstance(value, Op)}
    return [op for op in OPS.values() if id(op) in defined]
