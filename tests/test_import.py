"""`import termgraph` is quick: what most programs never use is imported when it is first asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import termgraph


def modules_after(code, cache=None):
    """The modules that a fresh interpreter holds after running some code, with a cache of its own if one is given."""
    shown = f"import sys\n{code}\nprint(*sys.modules)"
    env = os.environ | ({"XDG_CACHE_HOME": str(cache)} if cache else {})
    done = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True, timeout=120, env=env
    )
    return set(done.stdout.split())


def test_importing_leaves_rules_gradients_and_tools_alone():
    there = modules_after("import termgraph, termgraph.tensor")
    assert "termgraph.function.api" in there
    later = {
        "kanren",
        "scipy",
        *(f"termgraph.{m}" for m in ("rules", "db", "rulelib", "lower", "loops", "viz")),
    }
    assert not later & there


def test_importing_wakes_no_collector_and_leaves_it_on():
    code = """
import gc, numpy
passes = []
gc.callbacks.append(lambda phase, info: passes.append(phase))
import termgraph, termgraph.tensor
assert len(passes) < 6, len(passes)  # forty and more of both phases without the pause
assert gc.isenabled()
"""
    assert "termgraph.tensor" in modules_after(code)


def test_every_public_name_is_there():
    assert all(getattr(termgraph, name) is not None for name in termgraph.__all__)
    assert set(termgraph.__all__) <= set(dir(termgraph))
    with pytest.raises(AttributeError, match="no attribute 'gradient'"):
        termgraph.gradient


@pytest.mark.parametrize("first", ["termgraph.grad.reverse", "termgraph.grad", "termgraph.function.native"])
def test_a_room_never_takes_the_place_of_the_function_of_its_name(first):
    code = f"import {first}\nimport termgraph as tg\nassert callable(tg.grad) and callable(tg.function)"
    assert first in modules_after(code)


def test_graph_passes_come_with_the_rule_library():
    code = "import termgraph.db\nassert any(p.name == 'scan.merge' for p in termgraph.db.query('+fast_run').passes)"
    assert "termgraph.loops.passes" in modules_after(code)


def test_a_compile_needs_no_prover_and_no_linter():
    """They are a package of their own, and nothing on the way to a call imports it."""
    compiled = (
        "import termgraph as tg, termgraph.tensor as T; x = T.dvector('x');"
        "f = tg.function([x], tg.grad(T.log(1 + T.exp(x)).sum(), x)); f([1.0])"
    )
    there = modules_after(compiled)
    assert "termgraph.rules.compiled" in there and "termgraph.db.database" in there
    assert not [name for name in there if name.startswith("termgraph.rules.checking")]


def test_a_dense_step_needs_no_loops_no_timing_of_convolutions_and_no_limit_of_memory(tmp_path):
    compiled = (
        "import numpy as np, termgraph as tg, termgraph.tensor as T; w = tg.shared(np.eye(4)); x = T.dmatrix('x');"
        "f = tg.function([x], tg.grad(T.tanh({} * x @ w).sum(), w), mode=tg.Mode(linker='c')); f(np.eye(4))"
    )
    modules_after(compiled.format(2), tmp_path)  # makes the images of rules, for which all of them are read
    there = modules_after(compiled.format(3), tmp_path)
    assert "termgraph.lower.lowering" in there
    later = ("loops.passes", "compile.conv_timing", "lower.memory.limit", "lower.memory.arena")
    assert not [name for name in later if f"termgraph.{name}" in there]


def test_only_what_checks_rules_imports_the_prover():
    """The doors in `termgraph.rules` and the commands aside, nobody does, not even inside a function."""
    package = Path(termgraph.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if ("rules.checking" in (text := path.read_text(encoding="utf-8")) or "rules.discovery" in text)
        and path.parent.name not in ("checking", "discovery")
    }
    commands = {"db/rules_cli.py", "db/catalogue.py"}  # the pages of the rules are made by a command
    assert users <= {"rules/__init__.py", "db/checking.py", "db/discovering.py", *commands}
