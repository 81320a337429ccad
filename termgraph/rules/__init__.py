"""The rule engine: what a rule author imports, and how rules are compiled, run and asked.

from termgraph.rules import rule, ruleset, goal, seg, head, param, fact, Float, nonzero

Names are imported when they are first used: running compiled rules needs few of the modules behind them.
"""

from termgraph._lazy import names_later as _names_later

_LATER = {
    "termgraph.db.checking": "lint prove",
    "termgraph.db.discovering": "discover",
    "termgraph.rules.authoring": "RuleTable ruleset",
    "termgraph.rules.collecting": "collected_sum",
    "termgraph.rules.collecting_products": "collected_product",
    "termgraph.rules.compiled": "RuleSet",
    "termgraph.rules.definition": "Rule rule",
    "termgraph.rules.facts":
        "UNKNOWN TermFact at_most_one diagonal finite integer lower_triangular negative no_minus_zero no_overflow "
        "nonnegative nonpositive nonzero orthogonal positive positive_definite real sorted_ symmetric upper_triangular",
    "termgraph.rules.goals": "goal",
    "termgraph.rules.kinds":
        "Guard Bool Complex Constant Float Half Inexact Integer Matrix NonConst Real Scalar SingleUse Static Uniform "
        "Unsigned Vector head param seg",
    "termgraph.rules.pattern": "this",
    "termgraph.rules.range_facts": "apart at_most below divides",
    "termgraph.rules.stdgoals": "dtype_of evaluate large literals ndim_of",
    "termgraph.rules.type_facts":
        "agree each_once exact_in needed_once of_integers rounds same_dtype same_rank same_shape same_type wraps",
    "termgraph.terms.facts":
        "absorbing associative commutative complement distributes dual elementwise even fact idempotent identity "
        "injective inverse left_identity monotone odd projection reduction right_identity swapped",
}  # fmt: skip
__getattr__, __all__ = _names_later(__name__, _LATER)


def __dir__() -> list[str]:
    return __all__
