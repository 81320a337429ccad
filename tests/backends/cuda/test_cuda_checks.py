"""The checks of `scripts/gpu_check.py`: what fails is told, and the others are looked at all the same."""

import warnings

import numpy as np

import termgraph.tensor as T
from gpucheck import checks
from termgraph.backends.cuda import generate
from termgraph.backends.cuda.run import device, executor
from termgraph.terms.evaluate import evaluate


class Broken:
    """A device whose compiler refuses one op."""

    def __init__(self, program, *_):
        self.args, self.terms = program

    def __call__(self, *values):
        if any(t.op.name == "exp" for t in self.terms):
            raise RuntimeError("refused")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return evaluate(self.terms, dict(zip(self.args, values)))


def test_an_op_that_fails_is_alone_in_failing(monkeypatch, capsys):
    monkeypatch.setattr(generate, "generate", lambda args, terms: (args, terms))
    monkeypatch.setattr(device, "current", lambda: None)
    monkeypatch.setattr(executor, "Executable", Broken)
    found = list(checks.elementwise_checks(("float32",)))
    assert len(found) > 80 and [what for what, error, limit in found if error > limit] == ["exp of float32"]
    assert "exp of float32: RuntimeError: refused" in capsys.readouterr().out


def test_a_program_that_fails_is_an_infinite_error(capsys):
    x = T.fvector("x")
    assert checks.worst([x], [T.Assert("never")(x, T.eq(x.sum(), 1))], [np.zeros(3, "float32")]) == np.inf
    assert "Error" in capsys.readouterr().out
