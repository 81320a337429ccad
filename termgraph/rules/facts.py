"""Facts about terms, with all that is known of how one follows from another.

Who asks for a fact imports it from here: `term_facts` has what a fact is, `propagation` fills its tables.
"""

from termgraph.rules import propagation as _propagation  # noqa: F401  fills the tables
from termgraph.rules.term_facts import (
    FACTS,
    UNKNOWN,
    TermFact,
    at_most_one,
    diagonal,
    finite,
    integer,
    knowledge_version,
    lower_triangular,
    negative,
    no_minus_zero,
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

__all__ = [
    "FACTS", "UNKNOWN", "TermFact", "at_most_one", "diagonal", "finite", "integer", "knowledge_version",
    "lower_triangular", "negative", "no_minus_zero", "no_overflow", "nonnegative", "nonpositive", "nonzero",
    "orthogonal", "positive", "positive_definite", "real", "sorted_", "symmetric", "upper_triangular",
]  # fmt: skip
