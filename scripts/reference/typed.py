"""Whether a type checker knows what a public name gives: read from signatures and stubs, as a checker does."""

from __future__ import annotations

import ast
import functools
import inspect
from pathlib import Path
from typing import Any, get_overloads

import termgraph.tensor as T

NOTHING = ("", "Any", "Callable", "Callable[..., Any]")  # annotations that say nothing of a result
HERE = Path(T.__file__).parent


def is_typed(name: str, found: Any) -> bool:
    """Whether the result of calling it, or the value of a property or constant, has a type other than Any."""
    space, _, short = name.rpartition(".")
    if space == "Variable" and short in methods():
        return methods()[short] not in NOTHING
    if space == "T" and short in constants():
        return constants()[short] not in NOTHING
    if isinstance(found, property):
        return written(getattr(found.fget, "__annotations__", {}).get("return")) not in NOTHING
    if inspect.isfunction(found):
        return bool(get_overloads(found)) or written(found.__annotations__.get("return")) not in NOTHING
    return True  # a class, an object of one, a number


def written(annotation: Any) -> str:
    """An annotation as text."""
    return (
        annotation.strip("'\"")
        if isinstance(annotation, str)
        else getattr(annotation, "__name__", str(annotation or ""))
    )


@functools.cache
def methods() -> dict[str, str]:
    """What the methods and properties of variables give, by the stub that checkers read."""
    tree = ast.parse((HERE / "typed.pyi").read_text(encoding="utf-8"))
    functions = [n for c in tree.body if isinstance(c, ast.ClassDef) for n in c.body if isinstance(n, ast.FunctionDef)]
    return {n.name: ast.unparse(n.returns) if n.returns else "" for n in functions}


@functools.cache
def constants() -> dict[str, str]:
    """The names that the stub of `T` declares, others are imported there; an operation has the class that it says."""
    tree = ast.parse((HERE / "__init__.pyi").read_text(encoding="utf-8"))
    declared = [n for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
    return {n.target.id: ast.unparse(n.annotation) for n in declared if isinstance(n.target, ast.Name)}
