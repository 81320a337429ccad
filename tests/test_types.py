"""How much of the package is typed: the share of parameters that are `Any`, or say nothing, only falls."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "termgraph"
MOST = 0.09  # of all parameters; lower it when you type some
MOST_IN = {  # by room
    "terms": 0.085, "rules": 0.067, "lower": 0.045, "function": 0.075, "tensor": 0.11, "theano": 0.15, "pytensor": 0.07,
}  # fmt: skip


def untyped(annotation):
    return annotation is None or (isinstance(annotation, ast.Name) and annotation.id == "Any")


def counted(source):
    """(untyped parameters, all parameters) of a module; `self` and `cls` are none."""
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    found = [
        p for n in nodes for p in (*n.args.posonlyargs, *n.args.args, *n.args.kwonlyargs, n.args.vararg, n.args.kwarg)
    ]
    found = [p for p in found if p is not None and p.arg not in ("self", "cls")]
    return sum(untyped(p.annotation) for p in found), len(found)


def share(room):
    counts = [counted(path.read_text(encoding="utf-8")) for path in (PACKAGE / room).rglob("*.py")]
    return sum(c[0] for c in counts) / sum(c[1] for c in counts)


@pytest.mark.parametrize(("room", "most"), [(".", MOST), *MOST_IN.items()])
def test_most_parameters_have_a_type(room, most):
    assert share(room) <= most, f"{room}: {share(room):.4f} of the parameters are Any or have no type"


def test_the_count_itself():
    assert counted("def f(self, a, b: Any, c: int, *d, e: object = None, **g: str): lambda x: x") == (3, 6)
