"""Writes the stubs of `termgraph.tensor`, `termgraph.rules` and `termgraph.db`: what checkers and editors are told.

The first collects its names when it is imported, the others import theirs when they are first asked for; a checker
reads them here. `python scripts/make_stubs.py` after a name was added; with --check it says whether the files are up
to date, as a test does.
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

import termgraph.db
import termgraph.rules
import termgraph.tensor as T
from termgraph.rules.kinds import Kind
from termgraph.tensor.constructors import SEVERAL, SHAPES
from termgraph.terms.ops.elementwise import ElementwiseOp
from termgraph.terms.types import Type

LATER_HEAD = '"""What `{}` imports later, as type checkers see it. Made by scripts/make_stubs.py: do not edit."""\n'
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


def later_text(package: Any) -> str:
    """The stub of a package of `names_later`. A kind is written where a type stands, for any expression."""
    imports, kinds = [], []
    for module, names in package._LATER.items():
        for name in names.split():
            kind = isinstance(getattr(package, name), Kind)
            (kinds if kind else imports).append(
                f"{name}: TypeAlias = Any" if kind else f"from {module} import {name} as {name}"
            )
    kinds = ["", *sorted(kinds)] if kinds else []
    imports += ["from typing import Any, TypeAlias"] if kinds else []
    return "\n".join([LATER_HEAD.format(package.__name__), *sorted(imports), *kinds]) + "\n"


def stubs() -> dict[Path, str]:
    """What is to stand in each file."""
    texts = {T: text(), **{package: later_text(package) for package in (termgraph.db, termgraph.rules)}}
    return {Path(str(package.__file__)).with_name("__init__.pyi"): found for package, found in texts.items()}


def text() -> str:
    """The whole stub of the language."""
    names = sorted(n for n in dir(T) if not n.startswith("_"))
    lines = [line(n, getattr(T, n)) for n in names]
    imports = sorted({*TYPES, *[entry for entry in lines if entry.startswith("from ")]})
    return HEAD + "\n".join(imports) + CLASSES + "\n".join([n for n in lines if not n.startswith("from ")]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file is out of date")
    check, differences = parser.parse_args().check, []
    for path, wanted in stubs().items():
        if not check:
            path.write_text(wanted, encoding="utf-8")
            continue
        old = path.read_text(encoding="utf-8") if path.is_file() else ""
        differences += difflib.unified_diff(
            old.splitlines(), wanted.splitlines(), str(path), "wanted", lineterm="", n=0
        )
    print(*differences, sep="\n", end="\n" if differences else "")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
