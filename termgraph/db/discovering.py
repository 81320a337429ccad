"""`db.discover`: rules that the library has not, found by trying all terms of some operators, and proved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from termgraph.db.database import query
from termgraph.db.queries import TRUSTED
from termgraph.rules.discovery.known import Known
from termgraph.rules.discovery.report import Discovery
from termgraph.rules.discovery.search import discover as search
from termgraph.rules.discovery.vocabulary import NO_OVERFLOW
from termgraph.terms.term import as_term


def discover(
    ops: str | Sequence[str],
    size: int = 5,
    *,
    facts: str | Sequence[str] = (),
    dtype: str = "float64",
    numbers: Sequence[float] | None = None,
    variables: int = 3,
    without: Iterable[str] = (),
    corpus: Sequence[Any] = (),
    seconds: float = 60.0,
    report: Callable[[str], None] = lambda line: None,
) -> Discovery:
    """Rules about some operators that the library has not: found by machine, and proved.

    All terms of up to `size` operations and inputs are made of the operators `ops` ("exp log + *"), the `numbers` and
    up to `variables` inputs of one `dtype`, of which `facts` are known ("positive"). Terms that have equal values at
    random points and that the rules of the library do not bring to the same form become a rule: from the dearer to the
    cheaper one, for as general operands as the prover accepts, with what has to be assumed. Rules that follow from
    others are left out. The rules come in the order in which they were of most use on the `corpus`, a list of
    expressions, or else on the terms that were made. `without` names topics of the library that are taken for unknown.
    `seconds` of the processor bound the search; `report` is called with a line for each size.

    >>> from termgraph import db
    >>> found = db.discover("exp sinh cosh + -", 5, variables=1, numbers=[], without=["hyperbolic"])
    >>> print(found.rules[0])
    found.add_cosh_sinh: cosh(x) + sinh(x) -> exp(x)

    `print(found)` shows a table, `found.text()` is a file of rules, to be read, and pasted from.
    """
    if numbers is None:
        numbers = (0, 1, 2)
    chosen = [ops] if isinstance(ops, str) else list(ops)
    given = tuple(facts.split()) if isinstance(facts, str) else tuple(facts)
    terms = [as_term(e) for e in corpus]
    return search(
        chosen, size, library(without, given), facts=given, dtype=dtype, numbers=numbers, variables=variables,
        seconds=seconds, corpus=terms, both_ways=query("+saturate").rules, report=report,
    )  # fmt: skip


def library(without: Iterable[str] = (), facts: Iterable[str] = ()) -> Known:
    """What the library knows, but for some topics; that whole numbers do not wrap around is taken on trust if asked."""
    left_out = [f"-{name}" for name in without]
    trusted = TRUSTED | ({NO_OVERFLOW} & set(facts))
    canonical, stable, cheap = (
        query("+fast_run -unsafe", f"&{stage}", *left_out, assume=trusted)
        for stage in ("canonicalize", "stabilize", "specialize")
    )
    return Known([canonical, stable, canonical], [cheap])
