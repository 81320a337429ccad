"""Rules found by machine, domain by domain, and how much of the library is found again when a topic is left out.

python benchmarks/discover.py              what is new      (time, terms, pairs that nothing joins, rules proved)
python benchmarks/discover.py --again      what is found again of the topics of a domain, when these are left out
python benchmarks/discover.py trigonometry --show     one domain, with the rules as a file
"""

import argparse
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from unification import Var

from termgraph import db
from termgraph.db.discovering import library
from termgraph.rules.checking.directions import DATA, kind_of_rule
from termgraph.rules.compiled import RuleSet
from termgraph.rules.definition import Rule
from termgraph.rules.discovery.known import Known
from termgraph.rules.discovery.report import Discovery
from termgraph.rules.discovery.vocabulary import ALONG, SYMBOLS
from termgraph.rules.facts import TermFact, no_overflow
from termgraph.rules.kinds import SegVar
from termgraph.rules.stage import Instance
from termgraph.terms.op import CONST, Op
from termgraph.terms.ops.assume import assume
from termgraph.terms.term import Const, Input, Lit, Term, mk
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType

_inputs: dict[tuple, Any] = {}  # by metavariable and dtype


class Search(NamedTuple):
    """One search: operators, size of terms, what is left to say."""

    ops: str
    size: int
    options: dict[str, Any] = {}


class Domain(NamedTuple):
    """Searches, and the topics whose rules they are about."""

    topics: tuple[str, ...]
    searches: tuple[Search, ...]


ONE: dict[str, Any] = {"variables": 1}
TWO: dict[str, Any] = {"variables": 2}
INTEGERS: dict[str, Any] = {"dtype": "int64", "numbers": (0,)}
LOGS = ("logs", "sigmoids", "softplus", "exponentials")

DOMAINS = {
    "arithmetic": Domain(
        ("algebra", "negation", "collect"),  # what collects sums and products would join nearly all that is left out
        (
            Search("+ - * / neg", 5, {"numbers": (0, 1, -1)}),
            Search("* / neg", 5, TWO | {"facts": "nonzero finite"}),
            Search("abs sign * neg", 4, ONE),
            Search("abs sign * neg", 4, ONE | {"facts": "nonnegative"}),
            Search("abs sign * neg", 4, ONE | {"facts": "nonpositive"}),
            Search("abs sign * neg", 4, ONE | {"facts": "positive negative"}),
        ),
    ),
    "exponents": Domain(
        ("exponentials", "logs", "roots"),
        (
            Search("exp log sqrt sqr * /", 5, TWO),
            Search("exp ** *", 4, TWO | {"numbers": ()}),
            Search("exp log sqrt ** * /", 5, TWO | {"facts": "positive", "numbers": (1, 2)}),
        ),
    ),
    "near one": Domain(
        LOGS, (Search("exp expm1 log log1p sigmoid softplus log1mexp neg + - /", 5, ONE | {"numbers": (1,)}),)
    ),
    "trigonometry": Domain(("trigonometry",), (Search("sin cos tan sqr + - * /", 7, ONE | {"numbers": (1,)}),)),
    "hyperbolic": Domain(
        ("hyperbolic", "trigonometry"),
        (
            Search("sinh cosh tanh exp sqr neg + - /", 7, ONE | {"numbers": ()}),
            Search("sinh cosh sqr + -", 7, ONE | {"numbers": (1,)}),
        ),
    ),
    "bounds": Domain(
        ("bounds",),
        (
            Search("min max abs neg", 6, TWO | {"numbers": (0, 1)}),
            Search("min max abs neg", 4, TWO | {"numbers": (0, 1), "facts": "nonnegative"}),
            Search("min max abs neg", 4, TWO | {"numbers": (0, 1), "facts": "nonpositive"}),
        ),
    ),
    "choices": Domain(("switch", "choices"), (Search("where not < max min", 5, TWO | {"numbers": (0, 1)}),)),
    "integers": Domain(
        ("quotients", "remainders", "order"),
        (
            Search("// % + * -", 6, TWO | INTEGERS | {"facts": "no_overflow nonzero"}),
            Search("// % + *", 7, INTEGERS | {"numbers": (), "facts": "no_overflow positive"}),
            Search("min max +", 7, INTEGERS | {"numbers": (), "facts": "no_overflow"}),
            Search("< +", 7, INTEGERS | {"facts": "no_overflow"}),
            Search("< *", 7, INTEGERS | {"facts": "no_overflow positive"}),
        ),
    ),
    "comparisons": Domain(
        ("comparisons",),
        (
            Search("< <= > >= == != not neg", 5, TWO | {"numbers": (0,)}),
            Search("== != not", 4, {"dtype": "bool"}),
            Search("< <= > >= == !=", 4, TWO | {"numbers": (0,), "facts": "nonnegative"}),
            Search("< <= > >= == !=", 4, TWO | {"numbers": (0,), "facts": "positive"}),
            Search("< <= > >= == !=", 4, TWO | {"numbers": (0,), "facts": "negative"}),
        ),
    ),
    "logic": Domain(("logic",), (Search("and or not logical_xor ^ & |", 5, {"dtype": "bool"}),)),
    "reductions": Domain(
        ("reductions",),
        (
            Search("sum prod max_ min_ * neg exp", 4, TWO | {"numbers": (2,)}),
            Search("any all max_ min_ not", 4, ONE | {"dtype": "bool"}),
            Search("any all max_ min_ not !=", 4, ONE | {"numbers": (0,)}),
        ),
    ),
    "matrices": Domain(("dots", "matrix_inverses"), (Search("dot T inv neg", 6, TWO | {"numbers": ()}),)),
}


def main() -> None:
    """One line for each domain."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("domains", nargs="*", default=list(DOMAINS), help="of " + ", ".join(DOMAINS))
    words.add_argument("--again", action="store_true", help="leave out the topics of a domain, and look for them")
    words.add_argument("--seconds", type=float, default=120.0, help="for each domain (%(default)s)")
    words.add_argument("--show", action="store_true", help="print the rules found")
    words.add_argument("--progress", action="store_true", help="say after each size how far a search is")
    given = words.parse_args()
    warnings.simplefilter("ignore")
    for name in given.domains:
        topics, searches = DOMAINS[name]
        found: list[Discovery] = []
        for n, search in enumerate(searches):  # what one search leaves of the time is there for the others
            share = (given.seconds - sum(f.seconds for f in found)) / (len(searches) - n)
            found.append(
                db.discover(
                    search.ops, search.size, without=topics if given.again else (), seconds=share,
                    report=say if given.progress else str, **search.options,
                )
            )  # fmt: skip
            print(f"{name:14} {search.ops} {search.options.get('facts', '')}: {found[-1].summary}", flush=True)
            if given.show:
                print(found[-1].text(), flush=True)
        if given.again:
            print(f"{name:14} {found_again(topics, found)}", flush=True)


def say(line: str) -> None:
    """Where output goes to a file, too, a line is seen at once."""
    print("   ", line, flush=True)


# ---------------------------------------------------------------------- found again
class Again(NamedTuple):
    """Of the data rules of some topics: how many are within reach of a search, how many were found, and which not."""

    data: int
    within_reach: int
    found: int
    missing: list[str]

    def __str__(self) -> str:
        missing = f"; missing: {'; '.join(self.missing)}" if self.missing else ""
        return f"left out {self.within_reach} rules within reach (of {self.data}), {self.found} found again{missing}"


def found_again(topics: tuple[str, ...], found: list[Discovery]) -> Again:
    """Which rules of the topics join with what was found, and did not without."""
    facts = {f for one in found for f in one.words.facts}
    both_ways = db.query("+saturate").rules  # what follows from others by these was left out of what was found
    without = library(topics, facts)
    by_found = [_with(library(topics, facts), one.rules) for one in found]  # rules of two searches may not go together
    data, reach, met, missing = 0, 0, 0, []
    for rule in (r for r in db.all_rules() if r.topic in topics and is_data(r)):
        data += 1
        tried = (grounded(rule, i, one) for one in found for i in rule.instances() if i.main)
        alone = RuleSet([rule], without.stages[0].assume)  # guards such as "a unit matrix" hold for no input
        sides = next((made for s in tried if s is not None and (made := _by_rule(alone, *s))), None)
        if sides is None or without.joins(*sides) or without.saturates(*sides, both_ways):
            continue
        reach += 1
        if any(known.joins(*sides) or known.saturates(*sides, both_ways) for known in by_found):
            met += 1
        else:
            missing.append(f"{rule.before} -> {rule.after}")
    return Again(data, reach, met, missing)


def _by_rule(alone: RuleSet, left: Any, right: Any) -> tuple[Any, Any] | None:
    """The left side and what the rule makes of it; None where it does not apply, or folds other axes than a search."""
    made = alone.rewrite_terms([left])[0][0]
    folds = [t for t in children_first([made]) if t.args and t.op.kind == "reduce"]
    searched = all(t.op.params.get("axis") == (0,) for t in folds)
    return (left, made) if made is not left and made.type is right.type and searched else None


def _with(known: Known, rules: Iterable[Rule]) -> Known:
    for r in rules:
        known.add(r)
    return known


def is_data(rule: Rule) -> bool:
    """Whether both sides are patterns, and all conditions kinds of parts, or facts about operands or operators."""
    facts = all(isinstance(g.goal, TermFact) or g.over_operators or g in rule.typed for g in rule.goals)
    return facts or kind_of_rule(rule) in DATA


def grounded(rule: Rule, instance: Instance, found: Discovery) -> tuple[Any, Any] | None:
    """Both sides about inputs; None where other operators, numbers or longer terms are needed than were searched."""
    told = [g for g in rule.goals if isinstance(g.goal, TermFact) and g.goal is not no_overflow]
    facts = {v: g.goal.name for g in told for v in g.variables()}
    first = found.words.leaves[0].type
    truths = {v for side in (instance.lhs, instance.rhs) for v in _conditions(side)}
    try:
        left, right = (_ground(p, rule, facts, first, truths) for p in (instance.lhs, instance.rhs))
    except (LookupError, TypeError, ValueError):  # operators that are not for this dtype, or this rank
        return None
    if any(t.op.kind == "elementwise" and _mixed(t) for t in children_first([left, right]) if t.args):
        return None
    if any(t.op.kind == "reduce" and t.op.params.get("axis") == () for t in children_first([left]) if t.args):
        return None
    ops = {t.op.name for t in children_first([left, right]) if t.args} - {"assume"}
    numbers = {t.value.item() for t in children_first([left, right]) if t.op is CONST and t.type.dtype != "bool"}
    said = {SYMBOLS.get(w.name, ALONG.get(w.name, w.name)) for w in found.words.words}
    said |= {"dimshuffle"} if "T" in said else set()
    known = {n.value.item() for n in found.words.numbers if n.type.dtype != "bool"}
    assumed = set(facts.values()) <= set(found.words.facts)
    return (left, right) if assumed and ops <= said and numbers <= known and _size(left) <= found.size else None


def _mixed(t: Any) -> bool:
    """Whether a term computes with truth values and numbers: those that are searched do so in choices only."""
    return t.op.name not in ("switch", "assume") and len({a.type.dtype for a in t.args}) > 1


def _conditions(p: Any, asked: bool = False) -> set[Any]:
    """Metavariables and numbers that a choice asks: those that are searched are truth values there."""
    if p.__class__ is not Term:
        return {p} if asked and isinstance(p, (Var, Lit)) else set()
    switch, negated = getattr(p.op, "name", "") == "switch", getattr(p.op, "name", "") == "logical_not"
    return {v for i, a in enumerate(p.args) for v in _conditions(a, (switch and i == 0) or (negated and asked))}


def _ground(p: Any, rule: Rule, facts: dict, first: TensorType, truths: set) -> Any:
    if p.__class__ is SegVar:
        raise LookupError
    if isinstance(p, Var):
        guard = repr(rule.guards.get(p, ""))
        dtype = "bool" if "Bool" in guard or p in truths else first.dtype
        made = _inputs.setdefault((p, dtype), Input(str(p.token), TensorType.of(dtype, first.shape)))
        return mk(assume.bind(facts=(facts[p],)), (made,)) if p in facts else made
    if p.__class__ is Lit:
        return Const(np.asarray(p.value, "bool" if isinstance(p.value, bool) or p in truths else first.dtype))
    if p.__class__ is not Term:
        return p
    if not isinstance(p.op, Op):
        raise LookupError
    params = {k: {"axis": (0,), "dtype": first.dtype}.get(k) for k, v in p.op.params.items() if isinstance(v, Var)}
    if None in params.values():
        raise LookupError
    op = p.op.family.bind(**{**p.op.params, **params}) if params else p.op
    return mk(op, tuple([_ground(a, rule, facts, first, truths) for a in p.args]))


def _size(t: Any) -> int:
    if not t.args or t.op.name == "assume":
        return 1
    return 1 + sum(map(_size, t.args))


if __name__ == "__main__":
    main()
