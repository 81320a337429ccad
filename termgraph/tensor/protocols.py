"""What Python and NumPy ask of variables: to become arrays, the array namespace, names that do not exist."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.tensor.likes import DTypeLike
from termgraph.tensor.variable import Constant, TensorVariable, set_meeting

difflib, elsewhere = lazy("difflib"), lazy("termgraph.tensor.elsewhere")
einops_backend = lazy("termgraph.tensor.einops_backend")
ABOVE: dict[str, Callable[[], object]] = {}  # names of T whose functions stand above this room; termgraph fills it
PLACES = ("", "linalg.", "nnet.", "fft.", "signal.", "ndimage.", "stats.")


# ---------------------------------------------------------------------- names that do not exist
class NoSuchName(AttributeError):
    """The name that was meant is looked for when the message is read: most such errors are questions of `hasattr`."""

    def __init__(self, text: str, name: str, obj: object, candidates: Any, table: str) -> None:
        super().__init__(text, name=name, obj=obj)
        self.candidates, self.table = candidates, table

    def __str__(self) -> str:
        text = str(self.args[0])
        written = getattr(elsewhere, self.table).get(self.name)
        if written:
            return f"{text}; write {written}"
        known = self.candidates()
        meant = [full for full, short in known.items() if short == self.name][:2]
        if not meant:
            least = 0.75 if len(str(self.name)) > 3 else 0.6  # two letters that changed places are much of a short name
            close = difflib.get_close_matches(self.name, [*dict.fromkeys(known.values())], n=2, cutoff=least)
            meant = [next(full for full, short in known.items() if short == c) for c in close]
        return f"{text}; did you mean {' or '.join(meant)}?" if meant else text


def no_such_name(self: Any, name: str) -> Any:
    """Called where a variable has no attribute of a name."""
    text = f"a {type(self).__name__} has no attribute {name!r}"
    if name.startswith("_"):
        raise AttributeError(text, name=name, obj=self)
    raise NoSuchName(text, name, self, lambda: names_of_methods(type(self)), "METHODS")


def names_of_methods(cls: type) -> dict[str, str]:
    """Methods as `.sum`, then functions that are none, as `T.softmax(x)`."""
    known = {f".{n}": n for n in dir(cls) if not n.startswith("_")}
    return known | {f"T.{place}{short}(x)": short for place, short in names_of_functions()}


def names_of_functions() -> list[tuple[str, str]]:
    """(`linalg.`, `solve`) for every public function of the language."""
    home: Any = import_module("termgraph.tensor")
    found = []
    for place in PLACES:
        space = getattr(home, place[:-1]) if place else home
        names = [n for n in dir(space) if not n.startswith("_")]
        found += [(place, n) for n in names if not isinstance(getattr(space, n), ModuleType)]
    return found


def no_such_function(name: str, space: str = "") -> AttributeError:
    """The error for `T.name`, or `T.space.name`, which says what was meant."""
    home = import_module(f"termgraph.tensor{space}")
    text = f"module {home.__name__!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(text, name=name, obj=home)
    known = lambda: {f"T.{place}{short}": short for place, short in names_of_functions()}  # noqa: E731
    return NoSuchName(text, name, home, known, "FUNCTIONS")


def refuse_in(space: str) -> Callable[[str], Any]:
    """The `__getattr__` of a namespace: `refuse_in(".nnet")`."""

    def refuse(name: str) -> Any:
        raise no_such_function(name, space)

    return refuse


# ---------------------------------------------------------------------- NumPy
def to_array(self: Any, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray:
    """The value of a constant; anything else has none yet, and lists of such are stacked by T.stack."""
    if isinstance(self, Constant):
        return np.array(self.data, dtype=dtype)
    if hasattr(self, "get_value"):
        raise TypeError(f"NumPy asked for the numbers in {self!s}, a shared variable: write {self!s}.get_value()")
    raise TypeError(
        f"NumPy asked for the numbers in {self!s}, which has none before it is computed: write T.stack([a, b]) to put "
        "variables into one array, or x.eval({...}) to compute one; T.dot(a, x) for a @ x of pandas"
    )


def array_namespace(self: Any, api_version: str | None = None) -> ModuleType:
    """The module whose functions take this variable: the array API's way to write code for any library."""
    return import_module("termgraph.tensor")


def copy(self: Any) -> TensorVariable:
    """The variable itself: nothing can change it, so it needs no copy."""
    return self


def _meet_guests() -> None:
    """Make variables known to einops, once it is there: it asks for classes, not for protocols."""
    if "einops" in sys.modules:
        einops_backend.introduce()


set_meeting(_meet_guests)
METHODS = {"__array__": to_array, "__array_namespace__": array_namespace, "__getattr__": no_such_name, "copy": copy}
