"""What type checkers are told of the language is what it is: names and methods."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import termgraph.tensor as T
from scripts.reference.names import attached_by_theano

ROOT = Path(T.__file__).resolve().parents[2]


def test_the_stub_has_every_public_name():
    if not (ROOT / "scripts/make_stubs.py").is_file():
        pytest.skip("only in a checkout")
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/make_stubs.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, f"run python scripts/make_stubs.py\n{done.stdout}{done.stderr}"


def test_the_methods_that_are_typed_are_those_that_are_there():
    stub = ast.parse(Path(T.__file__).with_name("typed.pyi").read_text(encoding="utf-8"))
    (declared,) = [node for node in stub.body if isinstance(node, ast.ClassDef)]
    typed = {node.name for node in declared.body if isinstance(node, ast.FunctionDef)}
    assert [name for name in typed if not hasattr(T.TensorVariable, name)] == []
    members = vars(T.TensorVariable).items()
    attached = {n for n, m in members if not n.startswith("_") and n not in ("apply_op",) and not attached_by_theano(m)}
    assert sorted(attached - typed) == []
