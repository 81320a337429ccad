"""The table of names: entries resolve, refusals say why, modules are lazy, `install()` gives them Theano's name."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import termgraph.theano as theano
from termgraph.theano.modules import RefusedName, names_of
from termgraph.theano.names import MODULES, REFUSALS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import theano_names

sys.path.pop(0)


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("module", MODULES)
def test_every_entry_resolves(module):
    there = importlib.import_module(f"termgraph.theano.{module}".rstrip("."))
    for name, entry in names_of(module).items():
        if name == "*":
            continue
        if entry.refused:
            assert not hasattr(there, name) or hasattr(there, "__path__")
        else:
            assert getattr(there, name, entry) is not entry, f"theano.{module}.{name}"


def test_coverage_of_theanos_public_names():
    found = theano_names.table()
    counts = {s: sum(len(states[s]) for states in found.values()) for s in ("present", "refused", "absent")}
    absent = [n for states in found.values() for n in states["absent"]]
    assert not absent, absent
    inside = [n for states in found.values() for n in states["refused"] if theano_names.is_internal(n)]
    assert counts["present"] / (sum(counts.values()) - len(inside)) >= 0.95 and sum(counts.values()) > 2000
    assert len(inside) < 120 and counts["present"] > 2100


def test_refusals_give_their_reason():
    with pytest.raises(RefusedName, match="config.device = 'cuda'"):
        theano.gpuarray.GpuArrayType
    with pytest.raises(ImportError, match="config.device = 'cuda'"):
        importlib.import_module("termgraph.theano.sandbox.cuda.dnn.GpuDnnConv")
    with pytest.raises(ImportError, match=r"docs/rules\.md"):
        exec("from termgraph.theano.tensor.nnet import softmax_simplifier")
    with pytest.raises(AttributeError, match="'theano.tensor' has no attribute 'sinus'"):
        theano.tensor.sinus
    with pytest.raises(ImportError):
        exec("from termgraph.theano.tensor import sinus")
    assert not hasattr(theano.tensor.nnet, "softmax_simplifier")
    used = {entry.refused for m in MODULES for entry in names_of(m).values() if entry.refused}
    assert used == set(REFUSALS.values()), "a reason that nothing is refused for"


def test_modules_and_functions_of_one_name():
    from termgraph.theano.compile.function import function_dump
    from termgraph.theano.tensor.shared_randomstreams import RandomStreams
    from termgraph.theano.tensor.var import TensorVariable

    T = theano.tensor
    assert callable(T.var) and callable(T.sort) and callable(theano.compile.function) and callable(function_dump)
    assert TensorVariable is T.TensorVariable and RandomStreams is T.shared_randomstreams.RandomStreams
    assert callable(theano.config.change_flags) and theano.tensor.nnet.nnet.relu is T.nnet.relu
    assert "relu" in dir(T.nnet) and "bn" in dir(T.nnet)


def test_star_import():
    space = {}
    exec("from termgraph.theano.tensor import *", space)
    assert {"dmatrix", "exp", "grad", "Elemwise", "switch", "DimShuffle"} <= set(space)


def test_importing_is_quick_and_leaves_everything_for_later():
    code = "import sys, termgraph.theano as theano; import termgraph.theano.tensor as T; print(*sys.modules)"
    there = python(code)
    own = {m for m in there if m.startswith("termgraph.theano.")}
    assert own <= {f"termgraph.theano.{m}" for m in ("modules", "names", "names_language", "tensor")}
    assert "scipy" not in there and "termgraph.db" not in there


def test_install_answers_plain_imports():
    code = """
import termgraph.theano
termgraph.theano.install("theano", "aesara")
import theano, theano.tensor as T, aesara
from theano.sandbox.rng_mrg import MRG_RandomStreams
import theano.tensor.nnet.bn
import theano.tensor.signal.pool as pool
from theano.tensor.nnet import conv2d, bn
assert theano is termgraph.theano is aesara and T is termgraph.theano.tensor
assert bn is theano.tensor.nnet.bn and pool.pool_2d and theano.__spec__ is not None
x = T.dscalar("x")
print(theano.function([x], x * 2)(4.0))
try:
    import theano.nothing
except ImportError as error:
    print("refused")
"""
    assert python(code) == ["8.0", "refused"]


def test_install_refuses_to_come_too_late():
    code = """
import sys, types
sys.modules["theano"] = types.ModuleType("theano")
import termgraph.theano
try:
    termgraph.theano.install()
except ImportError as error:
    print("late" if "before" in str(error) else error)
"""
    assert python(code) == ["late"]
