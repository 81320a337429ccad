"""The whole library on random graphs of every kind of op: rewriting ends, types stay, values stay.

Values are compared where the graph as written gives finite numbers. RANDOM_GRAPHS=5000 in the environment tries that
many.
"""

import os
import warnings

import numpy as np
import pytest

import termgraph.tensor as T
from termgraph import db
from termgraph.terms.errors import ShapeError
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.shaping import shape_i
from termgraph.terms.traverse import children_first
from tests.rulelib.support import LIBRARY

N = int(os.environ.get("RANDOM_GRAPHS", "150"))
ROWS = 3
LEAVES = {
    "x": T.dmatrix("x"), "y": T.dmatrix("y"), "v": T.dvector("v"), "s": T.dscalar("s"),
    "r": T.drow("r"), "c": T.dcol("c"),
    "k": T.tensor("k", dtype="float64", shape=(3, 3)), "i": T.lmatrix("i"), "j": T.lvector("j"), "f": T.fmatrix("f"),
    "p": T.tensor("p", dtype="bool", shape=(None, None)), "q": T.tensor("q", dtype="bool", shape=(None,)),
}  # fmt: skip


def unary(rng):
    return [
        T.exp, T.log, T.sqrt, T.tanh, T.sin, T.neg, abs, T.sqr, T.sigmoid, T.floor, T.sgn, T.log1p, T.expm1,
        lambda a: 1 / a, lambda a: a**2, lambda a: a**3, lambda a: -a, lambda a: a * 1, lambda a: a + 0,
        lambda a: T.cast(a, "float64"), lambda a: T.cast(a, "int64"), lambda a: T.cast(a, "float32"), lambda a: a * 2,
        lambda a: a - 1.5, lambda a: 3 - a, lambda a: a / 2, lambda a: T.maximum(a, 0), lambda a: T.clip(a, -1, 1),
        lambda a: a > 0, lambda a: T.eq(a, a), lambda a: T.isnan(a), T.invert,
    ][rng.integers(32)]  # fmt: skip


def binary(rng):
    return [
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, T.maximum, T.minimum,
        lambda a, b: a < b, lambda a, b: a >= b, T.eq, T.neq, lambda a, b: a * b / b, lambda a, b: (a + b) - b,
        lambda a, b: T.switch(a > b, a, b), lambda a, b: T.and_(a > 0, b > 0), lambda a, b: T.or_(T.eq(a, 0), b < 0),
        lambda a, b: T.switch(a, b, b), lambda a, b: -a * b, lambda a, b: a + -b,
    ][rng.integers(18)]  # fmt: skip


# NumPy rounds these differently at different places of an array
VECTORIZED = ("exp", "expm1", "log", "log1p", "tanh", "sin", "sigmoid", "softmax", "pow")
PARTS = (0, 1, -1, slice(1, None), slice(None, -1), slice(None, None, -1), slice(None), slice(0, 2))


def reshaping(rng, a):
    n = a.ndim
    choice = rng.integers(16)
    axis = int(rng.integers(n)) if n else 0
    index = tuple(PARTS[rng.integers(len(PARTS))] for _ in range(int(rng.integers(n + 1))))
    if choice < 5:
        return a[index]
    if choice < 7:
        order = [int(d) for d in rng.permutation(n)]
        for _ in range(int(rng.integers(2))):
            order.insert(int(rng.integers(len(order) + 1)), "x")
        return dimshuffle(a, order=tuple(order))
    reduce_ = [T.sum, T.max, T.min, T.prod, T.any, T.all, T.mean, T.sum][rng.integers(8)]
    if choice < 11 and n:
        return reduce_(a, axis=axis, keepdims=bool(rng.integers(2)))
    if choice == 11:
        return reduce_(a)
    if choice == 12:
        return (T.zeros_like, T.ones_like, copies)[rng.integers(3)](a)
    if choice == 13 and n:
        return [T.cumsum, T.sort, T.argmax, T.argmin, T.softmax][rng.integers(5)](a, axis=axis)
    if choice == 14 and index:
        part = a[index]
        return (T.set_subtensor if rng.integers(2) else T.inc_subtensor)(part, part * 2 if rng.integers(2) else 1)
    return a.reshape((-1,)) if n else a.reshape((1, 1))


def copies(a):
    value = T.cast(LEAVES["s"], a.dtype) if a.dtype != "bool" else T.constant(True)
    return T.alloc(value, *[shape_i(a, axis=d) for d in range(a.ndim)])


def joining(rng, a, b):
    axis = int(rng.integers(a.ndim))
    return [lambda: T.concatenate([a, b], axis=axis), lambda: T.stack([a, b]), lambda: T.dot(a, b),
            lambda: T.concatenate([a, a[:1], b], axis=0)][rng.integers(4)]()  # fmt: skip


def step(rng, kind, a, b):
    if kind < 0.3:
        return unary(rng)(a)
    if kind < 0.6:
        return binary(rng)(a, b)
    return reshaping(rng, a) if kind < 0.93 else joining(rng, a, b)


def grown(rng, size):
    pool = list(LEAVES.values())
    while len(pool) < len(LEAVES) + size:
        a, b = (pool[max(int(i), 0)] for i in len(pool) - 1 - np.minimum(rng.geometric(0.15, 2), len(pool) - 1))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                new = step(rng, rng.random(), a, b)
        except (TypeError, ValueError, IndexError):
            continue
        if new.type.dtype in ("float64", "float32", "int64", "bool", "int32") and new.ndim < 4:
            pool.append(new)
    return pool[len(LEAVES) :]


def values(rng):
    out = {}
    for leaf in LEAVES.values():
        a = rng.normal(size=[ROWS if n is None else n for n in leaf.type.shape]) * 1.5
        kind = leaf.type.np_dtype.kind
        out[leaf.term] = a > 0 if kind == "b" else np.asarray(np.rint(a) if kind == "i" else a).astype(leaf.dtype)
    return out


def agree(old, new, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            (want,) = evaluate([old], given)
        except (ShapeError, IndexError, ValueError):
            return None  # lengths that do not fit at run time
        (got,) = evaluate([new], given)
    assert got.dtype == want.dtype and got.shape == want.shape, f"{want.dtype}{want.shape}, {got.dtype}{got.shape}"
    if want.dtype.kind != "f":
        return bool(np.array_equal(want, got))
    sane = np.isfinite(want) & (np.abs(want) < 1e6)
    tolerance = 1e-6 if want.dtype == np.float64 else 1e-3
    return bool(np.allclose(want[sane], got[sane], rtol=tolerance, atol=tolerance))


def smooth(t):
    """Nothing under this term is close to where rounding decides (0 / 0, ties), infinite or NaN."""
    given = values(np.random.default_rng(5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a in children_first([t]):
            if a.args and a.op.kind != "length":
                try:
                    (v,) = evaluate([a], given)
                except (ShapeError, IndexError, ValueError):
                    return False
                if v.dtype.kind == "f" and not (np.isfinite(v).all() and (np.abs(v) < 1e6).all()):
                    return False
                if a.op.name in ("sub", "add") and v.dtype.kind == "f" and (np.abs(v) < 1e-6).any():
                    return False
    return True


@pytest.mark.parametrize("seed", range(3))
def test_rewriting_ends_and_keeps_types_and_values(seed):
    rng = np.random.default_rng(seed)
    fired = set()
    compared = 0
    given = values(np.random.default_rng(5))
    for _ in range(N // 3):
        terms = [t.term for t in grown(rng, 12)][-3:]
        new = terms
        for stage in ("canonicalize", "stabilize", "canonicalize", "specialize"):
            before = new
            new, trace = db.query("+fast_run", f"&{stage}").rewrite_traced(before, strict=True)
            fired |= set(trace.counts)
            for b, a in zip(before, new):
                assert b.type.accepts(a.type), f"{b!r} of {b.type} became {a!r} of {a.type}: {list(trace.counts)}"
        for t, n in zip(terms, new):
            if smooth(t):
                same = agree(t, n, given)
                compared += same is not None
                assert same is not False, f"seed {seed}\n{t!r}\n->\n{n!r}"
    assert compared > N // 6
    assert len(fired & set(LIBRARY)) > 40


def test_nothing_changes_a_bit_when_nothing_is_taken_on_trust():
    rng = np.random.default_rng(7)
    exact = db.query("+fast_run", "&canonicalize", assume=[])
    given = values(np.random.default_rng(5))
    compared = 0
    for _ in range(N):
        old = grown(rng, 12)[-1].term
        if any(t.op.name in VECTORIZED for t in children_first([old])):
            continue
        new = exact.rewrite(old, strict=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                (want,) = evaluate([old], given)
            except (ShapeError, IndexError, ValueError):
                continue
            (got,) = evaluate([new], given)
        compared += 1
        assert got.dtype == want.dtype, f"{old!r} -> {new!r}"
        assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f"), f"{old!r} -> {new!r}"
        if want.dtype.kind == "f":
            known = ~np.isnan(want)
            assert np.array_equal(np.signbit(got)[known], np.signbit(want)[known]), f"{old!r} -> {new!r}"
    assert compared > N // 4
