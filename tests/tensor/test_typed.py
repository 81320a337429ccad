"""What type checkers are told of the language is what it is: names, methods, and types of whole expressions."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import termgraph.tensor as T
from scripts.reference.names import attached_by_theano

ROOT = Path(T.__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
import termgraph.tensor as T

x = T.dmatrix("x")
reveal_type(x)
reveal_type(T.exp(x))
reveal_type(x + 1)
reveal_type(2.0 * x @ x.T)
reveal_type(x.sum(axis=0))
reveal_type(np.ones(3) + T.sin(x[0]))
reveal_type(x > 0)
reveal_type(T.maximum(x, 0))
reveal_type(T.pi)
reveal_type(x.eval({x: np.zeros((2, 2))}))
"""
EXPECTED = ["TensorVariable"] * 8 + ["float", "ndarray"]


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


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_checker_knows_expressions(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--follow-imports=silent"]
    command += ["--ignore-missing-imports", "--config-file=", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    found = [text.partition('Revealed type is "')[2] for text in done.stdout.splitlines() if "Revealed" in text]
    assert len(found) == len(EXPECTED), done.stdout
    for revealed, expected in zip(found, EXPECTED):
        assert expected in revealed.partition("[")[0], done.stdout
    assert "error" not in done.stdout, done.stdout
