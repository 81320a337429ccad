"""Names for what generated matchers refer to, so that another process finds the same operators, constants and goals.

Operators and constants are pickled as everywhere; functions of goals, facts and guards go by the name they have in
their module, which is checked when they are named.
"""

from __future__ import annotations

import io
import pickle
import sys
from importlib import import_module
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from termgraph import _rulelib
from termgraph._lazy import lazy
from termgraph.rules.goals import Goal
from termgraph.rules.kinds import Guard

if TYPE_CHECKING:
    from collections.abc import Callable

    from termgraph.rules import facts
else:
    facts = lazy("termgraph.rules.facts")  # few matchers ask for one

_CONTEXT = "context"


class Nameless(Exception):
    """What a matcher refers to and another process could not find."""


def named(refs: dict[str, Any], context: object) -> bytes:
    """The objects that generated code refers to, as bytes; `context` is what it shares with its rule set."""
    out = io.BytesIO()
    namer = _Namer(out, protocol=5)
    namer.context = context
    try:
        namer.dump(refs)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Nameless(str(error)) from error
    return out.getvalue()


def found(names: bytes, context: object) -> dict[str, Any]:
    """The objects behind `named` bytes in this process. Imports the modules of the goals among them."""
    finder = _Finder(io.BytesIO(names))
    finder.context = context
    objects: dict[str, Any] = finder.load()
    return objects


class _Namer(pickle.Pickler):
    context: Any

    def persistent_id(self, obj: object) -> Any:
        if obj is self.context:
            return _CONTEXT
        if isinstance(obj, FunctionType):
            return ("function", obj.__module__, *_place_of(obj))
        if isinstance(obj, MethodType) and isinstance(obj.__self__, facts.TermFact):
            return ("fact", obj.__self__.name, obj.__name__)
        if isinstance(obj, (FunctionType, MethodType, Goal, Guard)):
            raise Nameless(f"{obj!r} has no name that another process could look up")
        return None


class _Finder(pickle.Unpickler):
    context: Any

    def persistent_load(self, pid: Any) -> Any:
        if pid == _CONTEXT:
            return self.context
        kind, *where = pid
        return _function(*where) if kind == "function" else getattr(facts.FACTS[where[0]], where[1])


def _place_of(function: FunctionType) -> tuple[str, str | None]:
    """The attribute of the module that holds a function, and which direction of a goal it is, or "test" of a guard."""
    owner = vars(sys.modules[function.__module__])
    name = function.__name__
    for attribute in (name, *owner) if name in owner else owner:
        held = owner[attribute]
        if held is function:
            return attribute, None
        if isinstance(held, Goal):
            for mode, made in held.modes.items():
                if made is function:
                    return attribute, mode
        if isinstance(held, Guard) and held.test is function:
            return attribute, "test"
    raise Nameless(f"{function.__module__}.{function.__qualname__} is not to be found in its module")


def _function(module: str, attribute: str, part: str | None) -> Callable[..., Any]:
    held = getattr(sys.modules.get(module), attribute, None)
    if held is None:  # not imported yet, or not to the end
        if module.startswith(_rulelib.PACKAGE):
            _rulelib.package()
        held = getattr(import_module(module), attribute)
    function: Callable[..., Any] = held if part is None else held.test if part == "test" else held.modes[part]
    return function
