"""Random graphs of every dtype, drawn by hypothesis.

Any mode gives the value that no rewriting gives, as far as the rules that fired assume. A mode that takes nothing on
trust does not change a bit, except towards the exact value.
"""

import accuracy
import numpy as np
import pytest
from accuracy import mp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import termgraph.tensor as T
from termgraph import db
from termgraph.rules.checking.compare import WRONG, compare
from termgraph.terms.errors import GraphError
from termgraph.terms.evaluate import apply_meaning, evaluate
from termgraph.terms.traverse import children_first

STAGES = ("canonicalize", "stabilize", "canonicalize", "specialize")
LEAVES = [
    T.dmatrix("x"), T.dmatrix("y"), T.dvector("v"), T.dscalar("s"), T.fmatrix("f"), T.fvector("g"), T.lmatrix("i"),
    T.lvector("j"), T.lscalar("k"), T.zmatrix("z"), T.zvector("w"), T.tensor("p", dtype="bool", shape=(None, None)),
    T.tensor("q", dtype="bool", shape=(None,)), T.tensor("h", dtype="float32", shape=(3, 3)),
]  # fmt: skip
ONE = [
    T.neg, T.abs, T.sqr, T.exp, T.tanh, T.sin, T.cos, T.sigmoid, T.conj, T.invert, T.sgn, T.log1p, T.expm1,
    lambda a: a * 1, lambda a: a + 0, lambda a: 2 * a, lambda a: a - 1, lambda a: 1 - a, lambda a: a / 2,
    lambda a: a**2, lambda a: a**3, lambda a: T.neg(-a), lambda a: a.T, lambda a: a[::-1], lambda a: a[1:],
    lambda a: a[0],
    lambda a: a[None], lambda a: T.sum(a, axis=0), lambda a: T.sum(a), lambda a: T.max(a, axis=-1),
    lambda a: T.mean(a, axis=0, keepdims=True), lambda a: T.cast(a, "float32"), lambda a: T.cast(a, "float64"),
    lambda a: T.cast(a, "complex128"), lambda a: T.log(1 + T.exp(a)), lambda a: T.log(1 + T.sqr(a)),
    lambda a: 1 / (1 + T.exp(-a)), lambda a: T.sqrt(T.sqr(a)), lambda a: T.exp(a) - 1, lambda a: T.softmax(a, axis=-1),
    lambda a: T.log(T.sum(T.exp(a), axis=-1)), lambda a: T.zeros_like(a) + a, lambda a: T.real(a), lambda a: T.imag(a),
]  # fmt: skip
TWO = [
    T.add, T.sub, T.mul, T.true_div, T.maximum, T.minimum, T.dot, lambda a, b: a * b / b, lambda a, b: (a + b) - b,
    lambda a, b: T.switch(T.gt(a, b), a, b), lambda a, b: a < b, lambda a, b: T.and_(a, b), lambda a, b: T.or_(a, ~b),
    lambda a, b: T.exp(a) * T.exp(b), lambda a, b: a * b + a, lambda a, b: T.concatenate([a, b], axis=0),
    lambda a, b: T.switch(a, b, b + 1), lambda a, b: a - b - a, lambda a, b: T.log(T.exp(a) + T.exp(b)),
]  # fmt: skip
EXACT_ONE = [T.neg, T.abs, T.sgn, *ONE[13:30], T.conj, T.real, T.imag]  # NumPy gives them the same bits in any layout
EXACT_TWO = [f for n, f in enumerate(TWO) if n not in (6, 13, 18)]
STABLE = [
    lambda a: T.log(1 + T.exp(a)), lambda a: T.log(1 + a), lambda a: T.exp(a) - 1, lambda a: 1 / (1 + T.exp(-a)),
    lambda a: T.log(1 - T.exp(a)), lambda a: 1 - T.tanh(a), T.neg, lambda a: a * 3, T.sqr,
    lambda a: T.log(T.sigmoid(a)),
    lambda a: T.sqrt(1 + T.sqr(a)), lambda a: T.log(T.sqr(a)), lambda a: T.log(T.exp(a)), lambda a: 1 - T.sigmoid(a),
]  # fmt: skip
BAD = (TypeError, ValueError, IndexError, GraphError, AttributeError, OverflowError, NotImplementedError)


def steps(most):
    return st.lists(st.tuples(st.integers(0, 200), st.integers(0, 6), st.integers(0, 20)), min_size=2, max_size=most)


def grown(chosen, one, two, leaves=LEAVES):
    """The last term of a graph of the operations chosen; what types or shapes forbid is left out."""
    pool = list(leaves)
    for what, first, second in chosen:
        a, b = (pool[-1 - n % len(pool)] for n in (first if len(pool) > len(leaves) else second, second))
        try:
            n = what % (len(one) + len(two))
            new = one[n](a) if n < len(one) else two[n - len(one)](a, b)
        except BAD:
            continue
        if hasattr(new, "term") and new.ndim < 4 and new.type.dtype is not None:
            pool.append(new)
    return pool[-1].term


def values(seed, leaves=LEAVES):
    rng = np.random.default_rng(seed)
    out = {}
    for leaf in leaves:
        shape = [3 if n is None else n for n in leaf.type.shape]
        a, b = rng.normal(size=shape) * 1.5, rng.normal(size=shape)
        found = {"c": a + 1j * b, "i": np.rint(a * 2), "b": a > 0, "f": a}[leaf.type.np_dtype.kind]
        out[leaf.term] = np.asarray(found).astype(leaf.dtype)
    return out


def all_values(t, given_values):
    """The values of all terms under `t`, `t` last; None if its lengths or numbers do not fit."""
    try:
        with np.errstate(all="ignore"):
            return evaluate(list(children_first([t])), given_values)
    except BAD:
        return None


def moved(t, given_values, seen):
    """How far the value of `t` moves when every number on the way moves by some roundings."""
    rng = np.random.default_rng(0)
    total = np.zeros(np.shape(seen))
    for _ in range(24):
        found = dict(given_values)
        for u in children_first([t]):
            if u not in found:
                v = np.asarray(apply_meaning(u, [found[a] for a in u.args]) if u.args else u.value)
                if v.dtype.kind in "fc":
                    v = (v * (1 + 4 * np.finfo(v.dtype).eps * rng.uniform(-1, 1, v.shape))).astype(v.dtype)
                found[u] = v
        total = np.maximum(total, np.nan_to_num(np.abs(found[t].astype(complex) - seen), posinf=1e300))
    return total


def rewritten(t, tag, assume=None):
    fired = []
    for stage in STAGES:
        t, trace = db.query(tag, f"&{stage}", assume=assume).rewrite_traced(t, strict=True)
        fired += trace.counts
    return t, fired


def check_modes(chosen, seed):
    t = grown(chosen, ONE, TWO)
    given_values = values(seed)
    was = all_values(t, given_values)
    for tag in ("+fast_run", "+fast_compile"):
        new, fired = rewritten(t, tag)
        assert new.type.accepts(t.type) or t.type.accepts(new.type), f"{t.type} became {new.type} by {fired}"
        if was is None:
            continue
        now = all_values(new, given_values)
        assert now is not None, f"{t!r} -> {new!r} fails, by {fired}"
        with np.errstate(all="ignore"):
            usual = all(np.isfinite(v).all() and (np.abs(v) < 1e8).all() for v in was if v.dtype.kind in "fci")
            if usual:  # the assumptions of default modes hold
                found = compare(was[-1], now[-1], [*was, *now], frozenset(), lambda: moved(t, given_values, was[-1]))
                assert found.kind != WRONG, f"{t!r}\n{was[-1]}\n->\n{new!r}\n{now[-1]}\nby {fired}"


def check_bits(chosen, seed):
    t = grown(chosen, EXACT_ONE, EXACT_TWO)
    given_values = values(seed)
    was = all_values(t, given_values)
    if was is None:
        return
    new, trace = db.query("+fast_run", "&canonicalize", assume=()).rewrite_traced(t, strict=True)
    now = all_values(new, given_values)
    assert now is not None and now[-1].dtype == was[-1].dtype and now[-1].shape == was[-1].shape
    same = (
        now[-1].tobytes() == was[-1].tobytes()
        or np.array_equal(np.isnan(now[-1]), np.isnan(was[-1]))
        and np.all((now[-1] == was[-1]) & (np.signbit(now[-1].real) == np.signbit(was[-1].real)) | np.isnan(was[-1]))
    )
    assert same, f"{t!r}\n{was[-1]}\n->\n{new!r}\n{now[-1]}\nby {list(trace.counts)}"


def check_accuracy(chosen, points):
    """Without trust a value moves only towards the exact one."""
    x = T.dvector("x")
    t = grown(chosen, STABLE, [T.add, T.mul], [x])
    new, fired = rewritten(t, "+fast_run", assume=())
    given_values = {x.term: np.asarray(points)}
    with np.errstate(all="ignore"):
        was, now = evaluate([t, new], given_values)
    if was.tobytes() == now.tobytes():
        return
    truth = np.broadcast_to(accuracy.exact(t, given_values), was.shape)
    for place in np.ndindex(was.shape):
        if was[place] == now[place] or mp.isnan(truth[place]) or np.isnan(was[place]):
            continue
        before, after = (accuracy.error(v[place], truth[place], "float64", 1e-300) for v in (was, now))
        # Where a result is ill-conditioned, half an ulp somewhere inside decides on thousands at the end, either way.
        assert after <= max(8.0, 4 * before), f"{t!r} -> {new!r} by {fired} at {points}: {before} -> {after} ulps"


POINTS = st.lists(
    st.sampled_from([0.0, 1e-20, -1e-12, 1e-5, 0.3, -0.4, 0.9, 1.5, -2.5, 8.0, -9.0, 35.0, -40.0, 300.0, -650.0]),
    min_size=1, max_size=4,
)  # fmt: skip
FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=700, deadline=None, suppress_health_check=list(HealthCheck))


@FEW
@given(steps(9), st.integers(0, 9))
def test_modes_agree(chosen, seed):
    check_modes(chosen, seed)


@pytest.mark.slow
@MANY
@given(steps(12), st.integers(0, 99))
def test_modes_agree_on_many(chosen, seed):
    check_modes(chosen, seed)


@FEW
@given(steps(9), st.integers(0, 9))
def test_without_trust_no_bit_changes(chosen, seed):
    check_bits(chosen, seed)


@pytest.mark.slow
@MANY
@given(steps(12), st.integers(0, 99))
def test_without_trust_no_bit_changes_in_many(chosen, seed):
    check_bits(chosen, seed)


@FEW
@given(steps(4), POINTS)
def test_without_trust_values_move_towards_the_exact_one(chosen, points):
    check_accuracy(chosen, points)


@pytest.mark.slow
@MANY
@given(steps(5), POINTS)
def test_without_trust_values_move_towards_the_exact_one_in_many(chosen, points):
    check_accuracy(chosen, points)
