"""Formulas: parts of right sides in the tensor language. For operands of given types each is a term with holes."""

import itertools

import kanren
import pytest
from unification import var

import termgraph.tensor as T
from termgraph.rules import RuleSet, param, rule, ruleset, seg
from termgraph.rules.checking.directions import forbids, kind_of_rule
from termgraph.rules.checking.examples import examples, loose_examples
from termgraph.rules.formulas import Formula, formula
from termgraph.terms.op import CONST, INPUT
from termgraph.terms.ops.elementwise import cbrt, exp, log, sqr
from termgraph.terms.ops.shaping import join
from termgraph.terms.term import is_term
from termgraph.terms.traverse import substitute
from termgraph.terms.types import TensorType
from tests.rulelib.support import LIBRARY

x, m = T.dvector("x"), T.dmatrix("m")
q = var()


@formula
def shared(x, y):
    """Needs the rank of an operand."""
    return x / y.sum(axis=tuple(range(y.ndim)), keepdims=True)


@formula
def of_itself(x):
    """A formula of another one."""
    return shared(x, x) * x.shape[0]


@formula(gives=seg)
def shares(xs, k):
    """As many results as operands."""
    return [x * k for x in xs]


@ruleset()
def written(x, y, k: param, xs: seg):
    yield rule("one", exp(log(x)), shared(x, sqr(x)))
    yield rule("two", cbrt(x), of_itself(x))
    yield rule("many", join(*xs, axis=k), join(*shares(xs, 2.0), axis=k))


def test_a_formula_is_traced_with_what_was_matched():
    alone = RuleSet(written)
    assert alone.rewrite(T.exp(T.log(m)).term) is (m / T.sqr(m).sum(axis=(0, 1), keepdims=True)).term
    assert alone.rewrite(T.cbrt(x).term) is (x / x.sum(keepdims=True) * x.shape[0]).term
    made = kanren.run(0, q, written["many"].relation(T.concatenate([x, x]).term, q))
    assert made == (T.concatenate([x * 2.0, x * 2.0]).term,)


def test_it_is_printed_where_it_stands_and_says_that_it_computes():
    assert repr(written["one"]) == "written.one: exp(log(x)) -> shared(x, sqr(x))"
    assert kind_of_rule(written["one"]) == "formula" and forbids(written["one"]) == "shared computes"


# ---------------------------------------------------------------------- those of the library
NOT_DRAWN = {
    f"grad_sparse.{name}" for name in ("beside", "dense", "dot", "joined", "kept", "multiplied", "ordered", "switched")
}  # no sparse matrices


def formulas_of(r):
    return [g for g in r.goals if isinstance(g.goal, Formula)]


WRITTEN = [r for r in LIBRARY.values() if formulas_of(r)]


def traced(r, monkeypatch):
    """What the formulas of a rule were given and what they made of it, on examples of the rule."""
    calls = []
    for g in formulas_of(r):
        mode, was = next(iter(g.goal.modes.items()))

        def watched(*operands, was=was):
            made = was(*operands)
            calls.append((was, operands, made))
            return made

        monkeypatch.setitem(g.goal.modes, mode, watched)
    for e in itertools.islice(itertools.chain(examples(r, 3), loose_examples(r, 60)), 6):
        RuleSet([r], ("finite", "reassoc", "nonzero", "domain")).rewrite(e.before)
    monkeypatch.undo()
    return calls


def fresh(t, others):
    """Another term of the same type, about which nothing else is known."""
    if not is_term(t) or t.op is CONST or not isinstance(t.type, TensorType):
        return t
    return others.setdefault(t, T.tensor(f"v{len(others)}", dtype=t.type.dtype, shape=t.type.shape).term)


@pytest.mark.parametrize("r", WRITTEN, ids=lambda r: r.name)
def test_formulas_see_types_only(r, monkeypatch):
    calls = traced(r, monkeypatch)
    assert calls or r.name in NOT_DRAWN
    for formula_, operands, made in calls:
        others = {}
        holes = [tuple([fresh(t, others) for t in o]) if isinstance(o, tuple) else fresh(o, others) for o in operands]
        again = formula_(*holes)
        back = {v: k for k, v in others.items()}
        assert all(v.op is INPUT for v in back)
        many = isinstance(made, tuple)
        assert substitute(again if many else [again], back) == list(made if many else [made]), r.name
