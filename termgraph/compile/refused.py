"""A C compiler that fails on a function:
told at the user's line, and what then happens instead, if the flags say so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.config import config
from termgraph.tensor.trace import placed
from termgraph.vm.failures import reworded, shown

if TYPE_CHECKING:
    from termgraph.backends.c.build import compilers
else:
    compilers = lazy("termgraph.backends.c.build.compilers")

SHORT = 100  # characters of an expression


def in_users_words(error: Any, lookup: Callable[[Any], tuple], terms: Sequence[Any] = ()) -> Any:
    """The same CompileError, whose message now begins with the user's line and the expression."""
    terms = terms or error.terms
    if not terms or getattr(error, "_termgraph_explained", False):
        return error
    term = next((t for t in terms if lookup(t)[1]), terms[0])
    name, site = lookup(term)
    label = f"{name} = " if name else ""
    return reworded(error, placed(site, f"{label}{shown(term, lookup, SHORT)} cannot be compiled: {error}"))


def react(error: Any, insists: bool) -> None:
    """Raise the error, or warn and return: then the function runs on the virtual machine."""
    if insists or config.on_compile_error == "raise":
        raise error
    warnings.warn(
        f"{error}\n  on_compile_error=warn: the function runs on the Python virtual machine, with the same results",
        compilers.CompilerWarning,
        stacklevel=2,
    )
