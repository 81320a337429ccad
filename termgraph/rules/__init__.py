"""The rule engine: what a rule author imports, and how rules are compiled, run and asked.

from termgraph.rules import rule, ruleset, goal, seg, head, param, fact, Float, nonzero

Names are imported when they are first used: running compiled rules needs few of the modules behind them.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any
from typing import TypeAlias as _TypeAlias

from termgraph._lazy import names_later as _names_later

if _TYPE_CHECKING:
    from termgraph.rules.authoring import RuleTable, ruleset
    from termgraph.rules.collecting import collected_sum
    from termgraph.rules.collecting_products import collected_product
    from termgraph.rules.compiled import RuleSet
    from termgraph.rules.definition import Rule, rule
    from termgraph.rules.facts import (
        UNKNOWN,
        TermFact,
        at_most_one,
        diagonal,
        finite,
        integer,
        lower_triangular,
        negative,
        no_overflow,
        nonnegative,
        nonpositive,
        nonzero,
        orthogonal,
        positive,
        positive_definite,
        real,
        sorted_,
        symmetric,
        upper_triangular,
    )
    from termgraph.rules.goals import goal
    from termgraph.rules.kinds import Guard
    from termgraph.rules.pattern import this
    from termgraph.rules.range_facts import apart, at_most, below, divides
    from termgraph.rules.stdgoals import dtype_of, evaluate, large, literals, ndim_of
    from termgraph.rules.type_facts import (
        agree,
        each_once,
        exact_in,
        needed_once,
        of_integers,
        rounds,
        same_dtype,
        same_rank,
        same_shape,
        same_type,
        wraps,
    )
    from termgraph.terms.facts import (
        absorbing,
        associative,
        commutative,
        complement,
        distributes,
        dual,
        elementwise,
        even,
        fact,
        idempotent,
        identity,
        injective,
        inverse,
        left_identity,
        monotone,
        odd,
        projection,
        reduction,
        right_identity,
        swapped,
    )

    # a kind is written where a type stands, and the metavariable stands for any expression
    Bool: _TypeAlias = _Any
    Complex: _TypeAlias = _Any
    Constant: _TypeAlias = _Any
    Float: _TypeAlias = _Any
    Half: _TypeAlias = _Any
    Inexact: _TypeAlias = _Any
    Integer: _TypeAlias = _Any
    Matrix: _TypeAlias = _Any
    NonConst: _TypeAlias = _Any
    Real: _TypeAlias = _Any
    Scalar: _TypeAlias = _Any
    SingleUse: _TypeAlias = _Any
    Static: _TypeAlias = _Any
    Uniform: _TypeAlias = _Any
    Unsigned: _TypeAlias = _Any
    Vector: _TypeAlias = _Any
    head: _TypeAlias = _Any
    param: _TypeAlias = _Any
    seg: _TypeAlias = _Any

__getattr__ = _names_later(__name__, {
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
})  # fmt: skip


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "UNKNOWN", "Bool", "Complex", "Constant", "Float", "Guard", "Half", "Inexact", "Integer", "Matrix", "NonConst",
    "Real", "Rule", "RuleSet", "RuleTable", "Scalar", "SingleUse", "Static", "TermFact", "Uniform", "Unsigned",
    "Vector", "absorbing", "agree", "apart", "associative", "at_most", "at_most_one", "below", "collected_product",
    "collected_sum", "commutative", "complement", "diagonal", "distributes", "divides", "dtype_of", "dual", "each_once",
    "elementwise", "evaluate", "even", "exact_in", "fact", "finite", "goal", "head", "idempotent", "identity",
    "injective", "integer", "inverse", "large", "left_identity", "lint", "literals", "lower_triangular", "monotone",
    "ndim_of", "needed_once", "negative", "no_minus_zero", "no_overflow", "nonnegative", "nonpositive", "nonzero",
    "odd", "of_integers", "orthogonal", "param", "positive", "positive_definite", "projection", "prove", "real",
    "reduction", "right_identity", "rounds", "rule", "ruleset", "same_dtype", "same_rank", "same_shape", "same_type",
    "seg", "sorted_", "swapped", "symmetric", "this", "upper_triangular", "wraps",
]  # fmt: skip
