"""Writes termgraph/tensor/__init__.pyi: what type checkers and editors are told of `termgraph.tensor`.

The package collects its names when it is imported; a checker reads them here. `python scripts/make_stubs.py` after a
name was added; with --check it says whether the file is up to date, as a test does.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import termgraph.tensor as T
from termgraph.tensor.constructors import SEVERAL, SHAPES
from termgraph.terms.ops.elementwise import ElementwiseOp
from termgraph.terms.types import Type

STUB = Path(T.__file__).with_name("__init__.pyi")
HEAD = '''"""The NumPy-like language, as type checkers see it. Made by scripts/make_stubs.py: do not edit."""

from typing import Any

'''
CLASSES = """
class _Unary(ElementwiseOp):
    def __call__(self, x: ArrayLike, /, **params: Any) -> TensorVariable: ...

class _Binary(ElementwiseOp):
    def __call__(self, x: ArrayLike, y: ArrayLike, /, **params: Any) -> TensorVariable: ...

class _Ternary(ElementwiseOp):
    def __call__(
        self, x: ArrayLike, y: ArrayLike, z: ArrayLike, /, **params: Any
    ) -> TensorVariable: ...

class _Nary(ElementwiseOp):
    def __call__(self, *xs: ArrayLike, **params: Any) -> TensorVariable: ...

class _MakesAny:
    def __call__(self, name: str | None = None, dtype: DTypeLike = None) -> TensorVariable: ...

class _MakesSeveral:
    def __call__(self, *names: str | int) -> list[TensorVariable]: ...

class _MakesInput(TensorType):
    def __call__(self, name: str | None = None) -> TensorVariable: ...

"""
TYPES = {
    "from termgraph.tensor.typed import ArrayLike as ArrayLike",
    "from termgraph.tensor.likes import DTypeLike",
    "from termgraph.terms.ops.elementwise import ElementwiseOp",
}
ARITIES = {1: "_Unary", 2: "_Binary", 3: "_Ternary"}


def line(name: str, value: Any) -> str:
    """The stub's line for one public name."""
    if isinstance(value, float):
        return f"{name}: float"
    if isinstance(value, str):
        return f"{name}: str"
    if value is None:
        return f"{name}: None"
    if isinstance(value, ModuleType):
        inside = value.__name__.rpartition(".")[2]
        return f"from termgraph.tensor import {inside} as {name}"
    if isinstance(value, ElementwiseOp):
        return f"{name}: {ARITIES.get(value.arity or 0, '_Nary')}"
    if isinstance(value, Type):
        return f"{name}: _MakesInput"
    if isinstance(value, type) or callable(value):
        home, original = getattr(value, "__module__", ""), getattr(value, "__qualname__", name)
        written = original in defined(home)
        if written:
            return f"from {home} import {original} as {name}"
        made = {**dict.fromkeys(SHAPES, "_MakesAny"), **dict.fromkeys(SEVERAL, "_MakesSeveral")}
        return f"{name}: {made.get(name) or class_of(value)}"
    return f"{name}: {class_of(value)}"


def class_of(value: Any) -> str:
    """The class of an object that is public itself."""
    cls = type(value)
    if not cls.__module__.startswith("termgraph."):
        raise TypeError(f"say in scripts/make_stubs.py what the type of {value!r} is")
    TYPES.add(f"from {cls.__module__} import {cls.__name__} as _{cls.__name__}")
    return f"_{cls.__name__}"


@functools.cache
def defined(module: str) -> set[str]:
    """Functions and classes that a module's source defines by name; others are made when it is imported."""
    source = getattr(sys.modules.get(module), "__file__", None)
    tree = ast.parse(Path(source).read_text(encoding="utf-8")) if source else ast.Module([], [])
    return {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def text() -> str:
    """The whole stub."""
    names = sorted(n for n in dir(T) if not n.startswith("_"))
    lines = [line(n, getattr(T, n)) for n in names]
    imports = sorted({*TYPES, *[entry for entry in lines if entry.startswith("from ")]})
    return HEAD + "\n".join(imports) + CLASSES + "\n".join([n for n in lines if not n.startswith("from ")]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file is out of date")
    if not parser.parse_args().check:
        STUB.write_text(text(), encoding="utf-8")
        return 0
    old = STUB.read_text(encoding="utf-8") if STUB.is_file() else ""
    difference = list(difflib.unified_diff(old.splitlines(), text().splitlines(), "now", "wanted", lineterm="", n=0))
    print("\n".join(difference))
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
