"""What `termgraph.rules` imports later, as type checkers see it. Made by scripts/make_stubs.py: do not edit."""

from termgraph.db.checking import lint as lint
from termgraph.db.checking import prove as prove
from termgraph.db.discovering import discover as discover
from termgraph.rules.authoring import RuleTable as RuleTable
from termgraph.rules.authoring import ruleset as ruleset
from termgraph.rules.collecting import collected_sum as collected_sum
from termgraph.rules.collecting_products import collected_product as collected_product
from termgraph.rules.compiled import RuleSet as RuleSet
from termgraph.rules.definition import Rule as Rule
from termgraph.rules.definition import rule as rule
from termgraph.rules.facts import TermFact as TermFact
from termgraph.rules.facts import UNKNOWN as UNKNOWN
from termgraph.rules.facts import at_most_one as at_most_one
from termgraph.rules.facts import diagonal as diagonal
from termgraph.rules.facts import finite as finite
from termgraph.rules.facts import integer as integer
from termgraph.rules.facts import lower_triangular as lower_triangular
from termgraph.rules.facts import negative as negative
from termgraph.rules.facts import no_minus_zero as no_minus_zero
from termgraph.rules.facts import no_overflow as no_overflow
from termgraph.rules.facts import nonnegative as nonnegative
from termgraph.rules.facts import nonpositive as nonpositive
from termgraph.rules.facts import nonzero as nonzero
from termgraph.rules.facts import orthogonal as orthogonal
from termgraph.rules.facts import positive as positive
from termgraph.rules.facts import positive_definite as positive_definite
from termgraph.rules.facts import real as real
from termgraph.rules.facts import sorted_ as sorted_
from termgraph.rules.facts import symmetric as symmetric
from termgraph.rules.facts import upper_triangular as upper_triangular
from termgraph.rules.goals import goal as goal
from termgraph.rules.kinds import Guard as Guard
from termgraph.rules.pattern import this as this
from termgraph.rules.range_facts import apart as apart
from termgraph.rules.range_facts import at_most as at_most
from termgraph.rules.range_facts import below as below
from termgraph.rules.range_facts import divides as divides
from termgraph.rules.stdgoals import dtype_of as dtype_of
from termgraph.rules.stdgoals import evaluate as evaluate
from termgraph.rules.stdgoals import large as large
from termgraph.rules.stdgoals import literals as literals
from termgraph.rules.stdgoals import ndim_of as ndim_of
from termgraph.rules.type_facts import agree as agree
from termgraph.rules.type_facts import each_once as each_once
from termgraph.rules.type_facts import exact_in as exact_in
from termgraph.rules.type_facts import needed_once as needed_once
from termgraph.rules.type_facts import of_integers as of_integers
from termgraph.rules.type_facts import rounds as rounds
from termgraph.rules.type_facts import same_dtype as same_dtype
from termgraph.rules.type_facts import same_rank as same_rank
from termgraph.rules.type_facts import same_shape as same_shape
from termgraph.rules.type_facts import same_type as same_type
from termgraph.rules.type_facts import wraps as wraps
from termgraph.terms.facts import absorbing as absorbing
from termgraph.terms.facts import associative as associative
from termgraph.terms.facts import commutative as commutative
from termgraph.terms.facts import complement as complement
from termgraph.terms.facts import distributes as distributes
from termgraph.terms.facts import dual as dual
from termgraph.terms.facts import elementwise as elementwise
from termgraph.terms.facts import even as even
from termgraph.terms.facts import fact as fact
from termgraph.terms.facts import idempotent as idempotent
from termgraph.terms.facts import identity as identity
from termgraph.terms.facts import injective as injective
from termgraph.terms.facts import inverse as inverse
from termgraph.terms.facts import left_identity as left_identity
from termgraph.terms.facts import monotone as monotone
from termgraph.terms.facts import odd as odd
from termgraph.terms.facts import projection as projection
from termgraph.terms.facts import reduction as reduction
from termgraph.terms.facts import right_identity as right_identity
from termgraph.terms.facts import swapped as swapped
from typing import Any, TypeAlias

Bool: TypeAlias = Any
Complex: TypeAlias = Any
Constant: TypeAlias = Any
Float: TypeAlias = Any
Half: TypeAlias = Any
Inexact: TypeAlias = Any
Integer: TypeAlias = Any
Matrix: TypeAlias = Any
NonConst: TypeAlias = Any
Real: TypeAlias = Any
Scalar: TypeAlias = Any
SingleUse: TypeAlias = Any
Static: TypeAlias = Any
Uniform: TypeAlias = Any
Unsigned: TypeAlias = Any
Vector: TypeAlias = Any
head: TypeAlias = Any
param: TypeAlias = Any
seg: TypeAlias = Any
