"""`import termgraph` is quick: what most programs never use is imported when it is first asked for."""

import ast
import importlib
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


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache in which the images of rules are already, for which all rules are read, and a program of a layer."""
    folder = tmp_path_factory.mktemp("cache")
    layer = (
        "import numpy as np, termgraph as tg, termgraph.tensor as T;"
        "x, w = T.fmatrix(), tg.shared(np.ones((5, 4), 'f4'));"
        "loss = (T.tanh(x @ w) ** 2).mean(); f = tg.function([x], [loss, tg.grad(loss, w)]); f(np.ones((2, 5), 'f4'))"
    )
    modules_after(layer, folder)
    return folder


def test_importing_leaves_rules_gradients_and_tools_alone():
    there = modules_after("import termgraph, termgraph.tensor")
    assert "termgraph.function.api" in there
    later = {"kanren", "scipy", *(f"termgraph.{m}" for m in ("rules", "db", "rulelib", "lower", "loops", "viz"))}
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


def test_a_compile_reads_neither_what_makes_matchers_nor_the_texts_of_other_programs(cache):
    """Images have the matchers; a dense layer draws no numbers and calls no routine."""
    code = """
import numpy as np, termgraph as tg, termgraph.tensor as T
x, w = T.fmatrix("x"), tg.shared(np.ones((4, 4), "float32"))
loss = (T.tanh(x @ w) ** 2).mean()
f = tg.function([x], [loss, tg.grad(loss, w)])
f(np.ones((2, w.get_value().shape[0]), "float32"))
"""
    there = modules_after(code, cache)
    assert "termgraph.backends.c.generate" in there
    making = {f"termgraph.rules.{m}" for m in ("definition", "tree", "emit", "stage", "interpret", "saturation")}
    texts = {"routines", "convolution", "pooling", "transforms", "draws", "timers"}
    texts |= {"gammas", "bessel", "special", "integrals"}
    assert not there & (making | {f"termgraph.backends.c.text.{m}" for m in texts} | {"difflib", "traceback"})


def test_importing_reads_no_metadata_and_no_paths_of_the_standard_library():
    """What only versions of other packages, saved files and numbers that are quotients need comes with these."""
    later = {"importlib.metadata", "email", "socket", "zipfile", "csv", "packaging.version"}
    later |= {"pathlib", "urllib", "ipaddress", "fractions", "decimal", "base64"}
    program = """
import termgraph as tg, termgraph.tensor as T
x = T.dmatrix("x")
tg.function([x], tg.grad((T.exp(x) ** 2).sum(), x))([[1.0]])
"""
    before = modules_after("import numpy")
    assert not (later - before) & modules_after("import numpy, termgraph")
    modules_after(program)  # makes images, where there are none
    assert not (later - before) & modules_after(f"import numpy{program}")


def test_namespaces_of_nets_signals_and_transforms_come_when_they_are_asked_for():
    names = ("nnet", "signal", "fft", "ndimage", "stats")
    there = modules_after("import termgraph.tensor as T")
    assert not there & {f"termgraph.tensor.{n}" for n in (*names, "layers", "losses", "pools", "resampling", "filters")}
    code = f"""
import termgraph.tensor as T
from termgraph.terms.op import OPS
ops = set(OPS)
for name in {names}:
    space = getattr(T, name)
    assert name in dir(T) and any(public in vars(space) for public in dir(space))
    assert set(OPS) == ops  # ops of the library that came later would be taken for a user's
for name in {names}:
    try:
        getattr(T, name).no_such_name
    except AttributeError as error:
        assert f"termgraph.tensor.{{name}}' has no attribute" in str(error)
"""
    modules_after(code)


def test_versions_of_packages_are_what_their_metadata_says():
    code = """
import termgraph, cons, etuples, unification
from termgraph.terms.logic import installed_version
told = [(p.__version__, installed_version(n)) for p, n in
        ((cons, "cons"), (etuples, "etuples"), (unification, "logical-unification"))]
assert installed_version("no-such-package") is None
import importlib.metadata, packaging.version, sys
assert sys.modules["importlib.metadata"] is importlib.metadata and hasattr(packaging.version, "Version")
real = [importlib.metadata.version(n) for n in ("cons", "etuples", "logical-unification")]
assert [told[i][0] for i in range(3)] == real and all(t in (None, r) for (_, t), r in zip(told, real)), (told, real)
"""
    modules_after(code)


def test_who_asks_the_stand_in_of_a_module_for_more_gets_the_module():
    code = """
import sys
from termgraph.terms.logic import _StandIn
import importlib
for name in [m for m in sys.modules if m.startswith("importlib.metadata")]:
    del sys.modules[name]
importlib.metadata = sys.modules["importlib.metadata"] = _StandIn("importlib.metadata", "version", lambda name: None)
from importlib.metadata import version
assert version("numpy")[0].isdigit()  # it had no answer
import importlib.metadata
assert importlib.metadata.entry_points is sys.modules["importlib.metadata"].entry_points
"""
    modules_after(code)


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


@pytest.mark.parametrize("package", ["rules", "db"])
def test_names_that_are_imported_late_are_those_that_type_checkers_see(package):
    made = importlib.import_module(f"termgraph.{package}")
    stub = ast.parse(Path(made.__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
    homes = {a.name: n.module for n in stub.body if isinstance(n, ast.ImportFrom) for a in n.names}
    later = {name: module for module, names in made._LATER.items() for name in names.split()}
    assert {name: home for name, home in homes.items() if home != "typing"}.items() <= later.items()
    assert later.keys() == set(made.__all__) == set(dir(made))
    kinds = {n.target.id for n in stub.body if isinstance(n, ast.AnnAssign)}
    assert later.keys() == homes.keys() - {"Any", "TypeAlias"} | kinds
    assert all(getattr(made, name) is not None for name in later)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        made.nothing


def test_who_asks_for_a_fact_gets_what_facts_follow_from():
    """`term_facts` alone knows facts without the rules that prove them."""
    package = Path(termgraph.__file__).parent
    text = {p.relative_to(package).as_posix(): p.read_text(encoding="utf-8") for p in package.rglob("*.py")}
    assert {name for name, t in text.items() if "rules.term_facts" in t} == {"rules/facts.py", "rules/propagation.py"}
    assert "termgraph.rules.propagation" in modules_after("from termgraph.rules import positive")
    assert "termgraph.rules.propagation" in modules_after("import termgraph.rules.shape_facts")


def test_a_warm_start_with_a_gradient_reads_no_rules_and_nothing_that_compiles_them(cache):
    made = (
        "import numpy as np, termgraph as tg, termgraph.tensor as T; x = T.dvector('x');"
        "y = T.log(1 + T.exp(x)).sum() + T.maximum(x, 0).mean() + T.softmax(x * x).max();"
        "f = tg.function([x], tg.grad(y, x)[::-1]); f(np.ones(3))"
    )
    assert "termgraph.rules.compiled" in modules_after(made, cache)
    there = {m.removeprefix("termgraph.") for m in modules_after(made, cache) if m.startswith("termgraph.")}
    engine = {m for m in there if m.partition(".")[0] in ("rules", "rulelib", "db", "lower")}
    read = {
        "defined",
        "fit",
        "formulas",
        "goals",
        "kinds",
        "parts",
        "pattern",
        "pieces",
        "stdgoals",
        "stored_names",
        "text",
    }
    assert engine <= {"rules", "db", "db.derivatives", "db.image_files", *(f"rules.{m}" for m in read)} | {
        m for m in there if m.startswith("rulelib")
    }
    assert all(m.rpartition(".")[2].startswith("_") for m in there if m.startswith("rulelib."))
    compiling = ("apart", "build.calling", "build.compiling", "build.compiler_errors", "run.numpy_loops")
    assert "backends.c.build.compilers" in there and "grad.reverse" in there
    assert not there & {"grad.user_defined", *(f"backends.c.{m}" for m in compiling)}


def test_a_warm_start_of_gradients_alone_makes_none(cache):
    made = (
        "import numpy as np, termgraph as tg, termgraph.tensor as T; x = T.dvector('x');"
        "y = T.log(1 + T.exp(x)).sum() + T.maximum(x, 0).mean() + T.softmax(x * x, axis=0).max();"
        "f = tg.function([x], [y, tg.grad(y, x)]); f(np.ones(3))"
    )
    assert "termgraph.grad.reverse" in modules_after(made, cache)
    there = {m.removeprefix("termgraph.") for m in modules_after(made, cache) if m.startswith("termgraph.")}
    assert {m for m in there if m.startswith("grad.")} == {"grad.api", "grad.checks", "grad.waiting"}
    assert not [m for m in there if m.partition(".")[0] in ("rules", "rulelib", "db", "lower")]


def test_a_warm_start_of_a_step_with_updates_makes_no_gradient(cache):
    made = (
        "import numpy as np, termgraph as tg, termgraph.tensor as T; x, w = T.dvector('x'), tg.shared(np.ones(3));"
        "y = T.tanh(w * x).sum(); f = tg.function([x], y, updates=tg.optim.adam(1e-3)(y, [w])); f(np.ones(3))"
    )
    assert "termgraph.grad.reverse" in modules_after(made, cache)
    there = {m.removeprefix("termgraph.") for m in modules_after(made, cache) if m.startswith("termgraph.")}
    assert {m for m in there if m.startswith("grad.")} == {"grad.api", "grad.checks", "grad.formed", "grad.waiting"}
    assert not [m for m in there if m.partition(".")[0] in ("rules", "rulelib", "db", "lower")]


def test_a_warm_start_with_a_gradient_compiles_hardly_any_text(cache):
    """Classes whose functions are made from text, and annotations that are read as text, take 0.1 ms each."""
    watched = (
        "import sys, numpy as np, termgraph as tg, termgraph.tensor as T; n = [];"
        "sys.addaudithook(lambda e, a: n.append(a[0]) if e == 'compile' and a[1] == '<string>' else None);"
        "x = T.dvector('x'); f = tg.function([x], tg.grad((T.tanh(x) * x).sum(), x) + 1); f(np.ones(3)); k = len(n);"
        "import typing; typing.NamedTuple('Seen', [('a', 'int')]);"
        "sys.modules[f'texts.{k}'] = sys.modules[f'then.{len(n)}'] = sys"
    )
    modules_after(watched, cache)
    there = modules_after(watched, cache)
    texts, then = (next(int(m.split(".")[1]) for m in there if m.startswith(f"{w}.")) for w in ("texts", "then"))
    assert texts <= 1 < then  # what `typing` makes is seen


def test_a_compile_needs_no_prover_and_no_linter(cache):
    """They are a package of their own, and nothing on the way to a call imports it."""
    compiled = (
        "import termgraph as tg, termgraph.tensor as T; x = T.dvector('x');"
        "f = tg.function([x], tg.grad(T.log(1 + T.exp(x)).sum(), x)); f([1.0])"
    )
    there = modules_after(compiled, cache)
    assert "termgraph.rules.compiled" in there and "termgraph.db.database" in there
    assert not [name for name in there if name.startswith("termgraph.rules.checking")]


def test_a_dense_step_needs_no_loops_no_timing_of_convolutions_and_no_limit_of_memory(cache):
    compiled = (
        "import numpy as np, termgraph as tg, termgraph.tensor as T; w = tg.shared(np.eye(4)); x = T.dmatrix('x');"
        "f = tg.function([x], tg.grad(T.tanh(3 * x @ w).sum(), w), mode=tg.Mode(linker='c')); f(np.eye(4))"
    )
    there = modules_after(compiled, cache)
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
