"""Arguments that a function does not have: the error says which one was probably meant, and what it takes.

The words of PyTorch, JAX and older NumPy that stand for ours are in `WORDS`; misspelt ones are found by likeness.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from termgraph._lazy import lazy

difflib = lazy("difflib")

F = TypeVar("F", bound=Callable)

# A word of another library -> ours, the first of which a function has.
WORDS: dict[str, tuple[str, ...]] = {
    "dim": ("axis", "axes"),
    "dims": ("axis", "axes", "shape"),
    "axes": ("axis",),
    "keepdim": ("keepdims",),
    "keep_dims": ("keepdims",),
    "unbiased": ("ddof",),
    "correction": ("ddof",),
    "type": ("dtype",),
    "k": ("kth",),
    "p": ("ord",),
    "dilation": ("filter_dilation",),
    "stride": ("subsample", "strides"),
    "strides": ("subsample", "stride"),
    "padding": ("border_mode", "pad", "pad_width"),
    "groups": ("num_groups",),
    "kernel_size": ("ws", "ds"),
    "shape": ("size", "newshape"),
    "size": ("shape",),
    "lr": ("learning_rate",),
    "betas": ("beta1",),
    "x": ("a", "y"),
    "a": ("x",),
    "input": ("x", "a"),
    "other": ("y", "b"),
    "init": ("outputs_info", "carry"),
    "length": ("n_steps",),
    "reverse": ("go_backwards",),
    "argnums": ("wrt",),
}


def meant(function: Callable, error: TypeError, given: Iterable[str], called: str = "") -> TypeError:
    """The error to raise where a call failed: one that helps, if the function has no argument of some name."""
    if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
        return error  # it comes from within
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return error
    names = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != "self"]
    for name in given:
        if name not in names:
            hint = suggestion(name, names)
            takes = ", ".join(_shown(p) for p in parameters if p.name != "self")
            advice = f"write {hint}=. It" if hint else "it"
            return TypeError(f"{called or function.__name__}() has no argument {name!r}; {advice} takes {takes}")
    return error


def suggestion(name: str, names: list[str]) -> str | None:
    """The argument that a word stands for, if one is likely."""
    known = next((ours for ours in WORDS.get(name, ()) if ours in names), None)
    return known or next(iter(difflib.get_close_matches(name, names, 1, 0.6)), None)


def _shown(p: inspect.Parameter) -> str:
    if p.kind is p.VAR_POSITIONAL:
        return f"*{p.name}"
    return p.name if p.default is p.empty else f"{p.name}={p.default!r}"


def named(function: F) -> F:
    """Let a function say which argument was meant, where it is called with one that it does not have."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if (found := meant(function, error, kwargs)) is not error:
                raise found from None
            raise

    return checked  # type: ignore[return-value]
