"""What the tests of the rule library share: its rule sets, and a check of structure and value at once."""

import functools
import importlib
import warnings

import numpy as np

from termgraph import _rulelib
from termgraph.rules import RuleSet
from termgraph.rules.defined import DEFINED
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import CONST, INPUT
from termgraph.terms.traverse import children_first

_rulelib.package()
for _path in _rulelib.files():
    importlib.import_module(_rulelib.module_name(_path))
LIBRARY = {n: r for n, r in DEFINED.items() if str(_rulelib.folder()) in r.where}
SPELLING = {"algebra.fold", "axes.broadcast", "casts.constants"}  # how numbers are written, not what is computed
TRUST = ("domain", "finite", "nonzero")


def topic(name):
    return [r for r in LIBRARY.values() if r.topic == name]


@functools.cache
def rules(*names, trust=True):
    """The rules of some topics, or of everything tagged canonicalize."""
    usual = [r for r in LIBRARY.values() if "canonicalize" in r.tags and "unsafe" not in r.tags]
    chosen = [r for r in LIBRARY.values() if r.topic in names] if names else usual
    return RuleSet(chosen, TRUST if trust else ())


@functools.cache
def by_itself(name):
    """The rules of one topic, with those that spell numbers."""
    return RuleSet([r for r in LIBRARY.values() if r.topic == name or r.name in SPELLING], TRUST)


def term(x):
    return getattr(x, "term", x)


def value_for(leaf, rng, length=3):
    """A random array for an input; unknown lengths become `length`, values are small and never special."""
    shape = tuple(length if n is None else n for n in leaf.type.shape)
    dtype = leaf.type.np_dtype
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -3, 4, shape).astype(dtype)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.kind == "c" else 0)
    return np.asarray(x + 0.0).astype(dtype)


def given_for(roots, rng, length=3, **fixed):
    leaves = [t for t in children_first(list(map(term, roots))) if t.op is INPUT]
    return {t: fixed.get(t.name) if t.name in fixed else value_for(t, rng, length) for t in leaves}


def same(old, new, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (want,), (got,) = evaluate([old], given), evaluate([new], given)
    for a, b in zip(*((v,) if not isinstance(v, tuple) else v for v in (want, got)), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{old!r} -> {new!r}: {a.dtype}{a.shape} {b.dtype}{b.shape}"
        tolerance = {"float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}.get(a.dtype.name, 1e-9)
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance, err_msg=f"{old!r} -> {new!r}")


def becomes(expr, expected, by=None, rs=None, length=3, **fixed):
    """`expr` is rewritten to `expected` (both as the user writes them), by the rule named, and keeps its value."""
    old = term(expr)
    new, trace = (rs or rules()).rewrite_traced(old, strict=True)
    uniform = isinstance(expected, (bool, int, float))
    want = None if uniform else (rs or rules()).rewrite(term(expected), strict=True)
    assert new.type.accepts(old.type) or old.type.accepts(new.type), f"{old.type} became {new.type}"
    same(old, new, given_for([old, new], np.random.default_rng(0), length, **fixed))
    if uniform:
        value = new.args[0] if new.op.name == "alloc" else new
        assert value.op is CONST and value.scalar == expected, f"{old!r} became {new!r}"
    assert uniform or new is want, f"\n{old!r}\nbecame {new!r}\n  want {want!r}\n{[r.rule for r in trace]}"
    if by is not None:
        alone = () if by in trace.counts else by_itself(by.partition(".")[0]).rewrite_traced(old, strict=True)[1].counts
        assert by in trace.counts or by in alone, f"{by} did not fire: {list(trace.counts)}"


def stays(expr, *names, rs=None):
    """No rule (of those named) changes the expression."""
    _, trace = (rs or rules()).rewrite_traced(term(expr), strict=True)
    fired = set(trace.counts) & set(names) if names else set(trace.counts) - SPELLING
    assert not fired, f"{expr} was changed by {fired}"
