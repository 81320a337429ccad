"""What signatures say of ranges: never less than is true, and so little that most terms are asked nothing."""

import itertools

import numpy as np
import pytest

import termgraph.tensor as T
from termgraph import db
from termgraph.rules import intervals, linear, range_facts
from termgraph.terms.op import OPS
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.signature import GREATEST, LEAST
from termgraph.terms.term import Const, mk
from termgraph.terms.traverse import children_first

BINARY = [
    T.add, T.sub, T.mul, T.maximum, T.minimum, T.bitwise_and, T.bitwise_or, T.bitwise_xor, T.left_shift, T.right_shift,
    T.floor_div, T.mod, lambda i, j: T.clip(i, j, 7), lambda i, j: T.where(i < j, i, j),
    lambda i, j: T.concatenate([i, j])[2:6], lambda i, j: T.assume(i, between=(0, j)),
    lambda i, j: i + T.argmax(j), lambda i, j: T.set_subtensor(i[1:3], 2),
]  # fmt: skip
UNARY = [
    T.neg, T.abs, T.sqr, T.invert, T.sign, lambda i: i[::-1], lambda i: i + 3, lambda i: T.assume(i, "nonnegative"),
    lambda i: T.cast(i, "int64"), lambda i: T.cast(i, "uint16"), lambda i: i.reshape((2, 2)).ravel(),
    lambda i: i.max() + i, lambda i: T.assume(i, "finite"), lambda i: T.minimum(i, i.sum()), lambda i: i[i % 3],
    lambda i: T.cast(T.exp(i), "int32"),    lambda i: T.arange(4) * i, lambda i: T.stack([i.shape[0], i[0]])[0] + i,
]  # fmt: skip


def grown(rng, n):
    """Random vectors of integers by every operator that has to do with ranges."""
    pool = [T.tensor(d, dtype=d, shape=(4,)) for d in ("int64", "int32", "uint8", "int8", "bool")]
    while len(pool) < n:
        i, j = (pool[k] for k in rng.integers(0, len(pool), 2))
        build = BINARY if rng.random() < 0.6 else UNARY
        try:
            made = build[rng.integers(len(build))](*((i, j) if build is BINARY else (i,)))
        except (TypeError, ValueError):
            continue  # no such operator for truth values
        if made.type.kind in "iub" and made.type.shape == (4,):
            pool.append(made)
    return [t.term for t in pool]


def found_without_signatures(roots):
    """The ranges of all terms below, each worked out from those of its operands."""
    found = {}
    for t in children_first(roots):
        around = intervals.limits(t)
        operands = t.args if t.op.family in intervals._FROM_OPERANDS else ()
        found[t] = None if around is None else intervals._work_out(t, [found[a] for a in operands], around)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_range_is_known_only_where_the_signature_says_so_and_is_the_same(seed):
    for t, f in found_without_signatures(grown(np.random.default_rng(seed), 120)).items():
        if f is not None and not t.sig.kind.known:
            assert not f.told, t
            assert not f.stated, t
        if f is not None:
            around = intervals.limits(t)
            assert t.sig.kind.known & LEAST or f.range[0] == around[0], t
            assert t.sig.kind.known & GREATEST or f.range[1] == around[1], t
        assert intervals.range_of(t) == (f and f.range), t
        assert intervals.stays_within(t) == bool(f and f.exact) or not t.sig.kind.known, t  # such as `-1 - x`
        assert intervals.stays_within(t) <= bool(f and f.exact), t


def test_every_operator_with_a_range_says_what_it_comes_from():
    assert {op for op in intervals.COMPUTED if not op.range_from} == set()
    assert {op for op in OPS.values() if op.range_from} == set(intervals.COMPUTED)


def test_constants_are_known_and_arguments_are_not():
    i, three = T.lvector("i").term, Const(3)
    assert three.sig.kind.known
    assert not i.sig.kind.known
    assert not mk(ew.bitwise_xor, (i, mk(ew.maximum, (i, three)))).sig.kind.known
    assert mk(ew.maximum, (i, three)).sig is not mk(ew.maximum, (i, mk(ew.add, (i, three)))).sig


def test_few_of_many_maxima_are_asked_about(monkeypatch):
    asked = []
    ask = range_facts.not_above
    monkeypatch.setattr(range_facts, "not_above", lambda *args: asked.append(args) or ask(*args))
    rng = np.random.default_rng(3)
    pool = [T.tensor(f"x{k}", dtype="int64", shape=(4, 4)).term for k in range(8)]
    pool.append(mk(ew.bitwise_xor, (pool[0], pool[0])))  # 0: a range is known
    while len(pool) < 2000:
        i, j = (pool[k] for k in sorted(rng.choice(np.arange(max(0, len(pool) - 200), len(pool)), 2, replace=False)))
        pool.append(mk([ew.maximum, ew.bitwise_xor][rng.integers(2)], (i, j)))
    rules = db.query("+fast_run", "&canonicalize")
    new, trace = rules.rewrite_terms(pool)
    maxima = sum(t.op is ew.maximum for t in children_first(new))
    assert maxima > 900
    assert 0 < len(asked) < maxima / 2  # of two questions each
    assert trace.visited < 1.1 * len(children_first(pool))


def test_of_pairs_of_which_nothing_is_known_none_is_looked_up(monkeypatch):
    quiet = [t for t in grown(np.random.default_rng(1), 200) if not t.sig.kind.known][:40]
    monkeypatch.setattr(intervals, "_work_out", None)
    assert all(intervals.known_ranges(i, j) is None for i, j in itertools.product(quiet, quiet))


@pytest.mark.parametrize("seed", range(6))
def test_what_signatures_rule_out_no_range_would_show(seed, monkeypatch):
    terms = [t for t in grown(np.random.default_rng(seed), 60) if t.type.dtype == "int64"][:30]
    terms += [mk(ew.maximum, (terms[0], Const(3))), mk(ew.minimum, (terms[1], terms[2])), Const(3)]
    quick = {(i, j, by): linear.not_above(i, j, by) for i, j in itertools.product(terms, terms) for by in (0, 1)}
    monkeypatch.setattr(linear, "decides", lambda i, j: True)
    assert {k: linear.not_above(*k) for k in quick} == quick
    assert any(quick.values())


def test_a_maximum_with_a_number_is_known_from_below_only(monkeypatch):
    i, j, three = T.lvector("i").term, T.lvector("j").term, Const(3)
    above, below = mk(ew.maximum, (i, three)), mk(ew.minimum, (i, three))
    assert (above.sig.kind.known, below.sig.kind.known, three.sig.kind.known) == (LEAST, GREATEST, LEAST | GREATEST)
    assert mk(ew.maximum, (above, j)).sig.kind.known == LEAST
    assert linear.not_above(below, three)
    assert linear.not_above(three, above)
    assert linear.not_above(j, mk(ew.maximum, (above, j)))
    monkeypatch.setattr(intervals, "_work_out", None)  # of these nothing is worked out
    assert not linear.not_above(mk(ew.maximum, (j, three)), j)
    assert not linear.not_above(j, mk(ew.maximum, (mk(ew.neg, (i,)), above)))
