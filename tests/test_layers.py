"""Imports point downwards only: a room may import the rooms listed above it in ORDER, and itself.

Imports are read from the source text, so those inside functions and those made with
importlib.import_module("...") or lazy("...") count as well. A new room or top-level module needs a place in ORDER.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# From the ground up: each room may import those before it.
ORDER = [
    "_lazy",  # modules imported when they are first used
    "_rulelib",  # where the rule files are
    "_blake",  # the hash function of digests
    "_collector",  # when cycles are looked for
    "_records",  # classes of named fields
    "_files",  # files that are whole or not there
    "_folders",  # folders whose content is run
    "_arguments",  # what was meant by an argument that a function does not have
    "_installed",  # which files and versions these are
    "_flags",  # the table of flags
    "_logs",  # loggers
    "config",  # flags
    "progress",  # the line that shows long work
    "stages",  # named steps, timed and counted
    "terms",  # Term, types, ops, constants, traversal
    "tensor",  # the NumPy-like language
    "sparse",  # sparse matrices, in that language
    "rules",  # the rule engine
    "db",  # the rule database
    "accuracy",  # forms that lose fewer bits
    "batching",  # graphs of one example made graphs of many
    "grad",
    "loops",
    "optim",  # optimizers: updates from gradients
    "lower",
    "vm",
    "backends",
    "compile",  # the road from a graph to a program
    "function",  # what users call
    "train",  # first values, batches, the loop around a step
    "dist",  # training on many workers
    "debug",
    "viz",
    "sympy",  # exchange with SymPy
    "printing",  # the public names of viz
    "graph",  # graph classes under PyTensor's module name
    "gof",  # and under Theano's
    "__init__",  # the public names
    "theano",  # the door for programs written for Theano
    "pytensor",  # the door for PyTensor's programs, and for PyMC's
    "config_cli",
    "bench_cli",  # starts the scripts of benchmarks/
    "fuzz_cli",  # starts the random programs of tests/fuzz/
    "cli",
    "doctor",  # checks the installation, room by room
    "__main__",
]

# Rooms that are lower in the house, but still none of your business.
FORBIDDEN = {"backends": {"db", "rules"}}

# The rule library states what is true, not how it is used.
ALLOWED_TO_RULE_FILES = {"terms", "tensor", "rules"}


def room_of(module: str) -> str:
    """The room of a dotted module name: termgraph.backends.c.build -> backends."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imported_modules(source: str, package: str) -> Iterator[tuple[int, str]]:
    """(line, dotted name) for everything `source` imports; `package` is what relative imports start from."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node.module, node.level, package)
            if base == "termgraph":
                yield from ((node.lineno, f"termgraph.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, base
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__", "lazy") and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value


def absolute(module: str | None, level: int, package: str) -> str:
    if not level:
        return module or ""
    base = package.split(".")
    base = base[: len(base) - level + 1]
    return ".".join([*base, module] if module else base)


def imported_rooms(source: str, package: str) -> Iterator[tuple[int, str]]:
    """(line, room) for every import of termgraph. A public name taken from the top counts as the top."""
    for line, name in imported_modules(source, package):
        if name == "termgraph" or name.startswith("termgraph."):
            room = room_of(name)
            yield line, room if room in ORDER or room == "rulelib" else "__init__"


def violations(source: str, package: str, room: str) -> list[str]:
    found = []
    for line, imported in imported_rooms(source, package):
        if imported == room:
            continue
        below = imported in ORDER[: ORDER.index(room)] or imported == "rulelib"
        if not below or imported in FORBIDDEN.get(room, ()):
            found.append(f"line {line}: {room} imports {imported}")
    return found


def rule_file_violations(source: str) -> list[str]:
    rooms = imported_rooms(source, "termgraph.rulelib")
    return [f"line {line}: imports {room}" for line, room in rooms if room not in ALLOWED_TO_RULE_FILES | {"rulelib"}]


def modules() -> list[Path]:
    return sorted((ROOT / "termgraph").rglob("*.py"))


def dotted(path: Path) -> list[str]:
    return list(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path):
    parts = dotted(path)
    room = parts[1]
    assert room in ORDER, f"{path}: give the room {room!r} a place in ORDER (tests/test_layers.py)"
    package = ".".join(parts[:-1])
    wrong = violations(path.read_text(encoding="utf-8"), package, room)
    assert not wrong, (
        f"{path.relative_to(ROOT)} imports upwards: {'; '.join(wrong)}. Move the code up, "
        "or let the upper room register itself with the lower one."
    )


@pytest.mark.parametrize("path", sorted((ROOT / "rules").rglob("*.py")), ids=lambda path: path.name)
def test_rule_files_import_only_the_language(path):
    wrong = rule_file_violations(path.read_text(encoding="utf-8"))
    assert not wrong, f"{path.relative_to(ROOT)}: {wrong}; allowed: {sorted(ALLOWED_TO_RULE_FILES)}"


@pytest.mark.parametrize(
    ("source", "package", "room", "wrong"),
    [
        ("from termgraph.db import query", "termgraph.terms", "terms", True),
        ("def f():\n    import termgraph.function", "termgraph.tensor", "tensor", True),
        ("from ..db import query", "termgraph.backends", "backends", True),
        ("from ... import rules", "termgraph.backends.c", "backends", True),
        ("import importlib\nimportlib.import_module('termgraph.vm')", "termgraph.lower", "lower", True),
        ("import termgraph as tg", "termgraph.grad", "grad", True),
        ("from termgraph import function", "termgraph.grad", "grad", True),
        ("from termgraph import config", "termgraph.terms", "terms", False),
        ("from . import sibling\nfrom .types import TensorType", "termgraph.terms", "terms", False),
        ("from ..terms import mk\nimport numpy", "termgraph.tensor", "tensor", False),
        ("from termgraph.rulelib import lower", "termgraph.lower", "lower", False),
    ],
)
def test_the_check_itself(source, package, room, wrong):
    assert bool(violations(source, package, room)) is wrong


def test_only_the_bridge_imports_pytensor_and_nothing_imports_pymc():
    found = {
        (room_of(".".join(dotted(path))), name.partition(".")[0])
        for path in modules()
        for _, name in imported_modules(path.read_text(encoding="utf-8"), ".".join(dotted(path)[:-1]))
    }
    assert {room for room, name in found if name == "pytensor"} == {"pytensor"}
    assert not {room for room, name in found if name == "pymc"}


def test_the_rule_file_check_itself():
    assert not rule_file_violations("import termgraph.tensor as T\nfrom termgraph.rules import rule, ruleset")
    assert rule_file_violations("from termgraph import db")
    assert rule_file_violations("def f():\n    from termgraph.lower import plan")


# What may be imported inside a function: heavy or optional packages, and modules that not every system has. For what
# else should come late there is `lazy` at the top of a module.
MAY_COME_LATE = {
    "cloudpickle", "cuda", "fcntl", "kanren", "ml_dtypes", "mpmath", "nvmath", "packaging", "pwd", "pycuda", "ray",
    "scipy", "sympy", "unification",
}  # fmt: skip
MOST_LATE = 30  # how many such imports there are at most: lower it when you take some away


def imported_files() -> dict[str, set[str]]:
    """For each module of the package the modules whose files it imports, wherever the import stands."""
    files = {".".join(p for p in dotted(path) if p != "__init__"): path for path in modules()}
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        wanted = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = absolute(node.module, node.level, package)
                for alias in node.names:
                    wanted.add(f"{base}.{alias.name}" if f"{base}.{alias.name}" in files else base)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazy":
                wanted |= {a.value for a in node.args if isinstance(a, ast.Constant)}
        found[module] = (wanted & files.keys()) - {module}
    return found


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """The sets of modules of which each imports, directly or not, all the others."""
    reach: dict[str, set[str]] = {}
    for module in imports:
        seen: set[str] = set()
        todo = [module]
        while todo:
            for other in imports[todo.pop()] - seen:
                seen.add(other)
                todo.append(other)
        reach[module] = seen
    found: list[set[str]] = []
    for module in imports:
        if module in reach[module] and not any(module in circle for circle in found):
            found.append({other for other in reach[module] if module in reach[other]})
    return found


def test_no_files_import_each_other_in_a_circle():
    found = [sorted(circle) for circle in circles(imported_files())]
    assert not found, f"files that import each other: {found}; the lower one must not know the upper one"


def test_the_check_for_circles_itself():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == [{"b", "c"}]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def late_imports(source: str) -> list[tuple[int, str]]:
    """(line, package) for what is imported inside functions."""
    functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    nodes = {n for f in functions for n in ast.walk(f) if isinstance(n, (ast.Import, ast.ImportFrom))}
    names = {n: n.module or "." if isinstance(n, ast.ImportFrom) else n.names[0].name for n in nodes}
    return sorted((n.lineno, name.partition(".")[0]) for n, name in names.items())


def test_only_optional_packages_are_imported_inside_functions():
    found = [(p, *late) for p in modules() for late in late_imports(p.read_text(encoding="utf-8"))]
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}" for path, line, name in found if name not in MAY_COME_LATE
    ]
    assert not wrong, f"{wrong}: import it at the top; for what comes late on purpose there is termgraph._lazy"
    assert len(found) <= MOST_LATE


def test_the_check_for_late_imports_itself():
    source = "import numpy\ndef f():\n    def g():\n        import scipy.linalg\n    from termgraph import db"
    assert late_imports(source) == [(4, "scipy"), (5, "termgraph")]


def test_files_are_short():
    """A file of more than 500 lines holds more than one idea: split it."""
    long = {str(p.relative_to(ROOT)): n for p in modules() if (n := p.read_text(encoding="utf-8").count("\n")) > 500}
    assert not long, f"longer than 500 lines: {long}"
