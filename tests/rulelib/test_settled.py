"""What all stages have made of a term is settled: going through them once more makes nothing cheaper."""

import pytest

import termgraph.tensor as T
from termgraph import db
from termgraph.db.database import STAGES
from termgraph.rules.checking.examples import Examples
from termgraph.rules.discovery.known import cost_of_term
from termgraph.terms.op import CONST
from termgraph.terms.traverse import children_first, free_inputs, substitute

STAGES_OF_ALL = [db.query("+fast_run", f"&{s}") for s in STAGES]
BEFORE_THE_OTHERS = ("conv",)  # topics that come first on the road: what they leave is tidied by all that follows


def through_all(term):
    for rules in STAGES_OF_ALL:
        (term,), _ = rules.rewrite_terms([term])
    return term


def price(term):
    return cost_of_term(term)[0]


def of_one_operand(term):
    """The term with all operands of a type the same: what a stage puts side by side may be equal."""
    first = {}
    return substitute([term], {t: first.setdefault(t.type, t) for t in free_inputs([term])})[0]


def unsettled(rule):
    """Terms that the rule applies to, and that become cheaper in a second round."""
    maker = Examples(rule, 1)
    drawn = [e.before for i in [i for i in rule.instances() if i.main][:3] for e in maker.draw(i)]
    for term in [*drawn, *map(of_one_operand, drawn)]:
        if any(t.op is CONST and t.value.ndim for t in children_first([term])):
            continue  # a length of 1 that only a constant has is dropped late, and what that shows is left
        once = through_all(term)
        if price(through_all(once)) < price(once):
            yield term, once


@pytest.mark.parametrize("topic", sorted({r.topic for r in db.query("+specialize", "-grad", "-gpu", "-scan")}))
def test_a_second_round_makes_nothing_cheaper(topic):
    if topic.startswith(BEFORE_THE_OTHERS):
        pytest.skip("comes before the other stages")
    rules = [r for r in db.query("+specialize", "-grad", "-gpu", "-scan") if r.topic == topic]
    assert not [found for r in rules for found in unsettled(r)]


def test_masks_of_one_operand_are_the_operand():
    p, x = T.tensor("p", dtype="bool", shape=(None,)), T.dvector("x")
    assert through_all((T.where(p, x, 0) + T.where(p, 0, x)).term) is x.term
