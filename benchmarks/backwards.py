"""Every rule from right to left: whether what it took apart is found again, and what forbids it where it is not.

python benchmarks/backwards.py            counts
python benchmarks/backwards.py --each     also the rules that do not run backwards, with the reason
python benchmarks/backwards.py --engine   a graph of each rule, by kanren and by compiled rules: how many are equal
"""

import argparse
import warnings
from collections import Counter, defaultdict
from itertools import islice
from typing import Any, NamedTuple

import kanren
from unification import var

from termgraph import db
from termgraph.db.database import STAGES
from termgraph.rules import RuleSet, relational
from termgraph.rules.checking.examples import examples
from termgraph.rules.definition import Rule
from termgraph.rules.goals import Goal
from termgraph.rules.interpret import Matcher
from termgraph.rules.kinds import SegVar
from termgraph.rules.pattern import free_variables
from termgraph.terms.term import is_term

EXAMPLES, ANSWERS = 4, 40
FOUND, OPEN = "finds the left side", "finds a left side with unknowns, of which it is one"


def verdict(rule: Rule) -> str:
    """What asking for the left side gives, at its best over some examples."""
    best = "no example was drawn"
    for e in examples(rule, EXAMPLES):
        before = var()
        try:
            answers = list(islice(kanren.run(None, before, rule.relation(before, e.after)), ANSWERS))
        except Exception as err:
            best = f"raises {type(err).__name__}"
            continue
        if e.before in answers:
            return FOUND
        if any(_covers(a, e.before) for a in answers):
            best = OPEN
        elif best != OPEN:
            best = _reason(rule, bool(answers))
    return best


def _covers(answer: Any, before: Any) -> bool:
    """Whether an answer with unknowns, read as a pattern, matches: of sums, maxima and their kin in any order."""
    open_ = not is_term(answer) or getattr(answer, "lvars", None)
    return bool(open_) and next(Matcher({}).match(answer, before, {}), None) is not None


def _reason(rule: Rule, answered: bool) -> str:
    lost = free_variables(rule.lhs) - free_variables(rule.rhs)
    if any(v.__class__ is SegVar for v in lost):
        return "any number of operands on the left is not on the right: no finite answer"
    computed = [g.name for g in rule.goals if isinstance(g.goal, Goal) and "i" * g.goal.arity not in g.goal.modes]
    if computed:
        return f"goal {computed[0]} computes in one direction only"
    if any(rule.kinds[v].name == "param" for v in lost if v in rule.kinds):
        return "a parameter on the left is not on the right: no operator without it"
    return (
        "gives another left side"
        if answered
        else "the right side as it was made does not match it: a cast, a broadcast, a fold"
    )


class Both(NamedTuple):
    """Graphs rewritten by both engines: how many there were, how many came out equal by the same steps, their steps."""

    graphs: int
    equal: int
    rewritten: int
    steps: int

    def __str__(self) -> str:
        return (
            f"{self.graphs} graphs, {self.equal} equal by the same steps; {self.rewritten} of them are rewritten, "
            f"in {self.steps} steps"
        )


def by_both_engines(rules: list[Rule]) -> Both:
    """One graph of each rule, through all stages of the default mode, in both engines."""
    sets = [db.query("+fast_run", f"&{name}") for name in STAGES]
    compiled = [s if s.merges_commuted else RuleSet(s.rules, s.assume) for s in sets]
    engines = compiled, [relational.relational(s) for s in compiled]
    graphs = [e.before for r in rules for e in examples(r, 1)]
    taken = [[_rewritten(g, engine) for engine in engines] for g in graphs]
    equal = [fast[1] for fast, slow in taken if fast == slow]
    return Both(len(graphs), len(equal), sum(map(bool, equal)), sum(map(len, equal)))


def _rewritten(graph: Any, sets: list[RuleSet]) -> tuple[Any, list[Any]]:
    steps: list[Any] = []
    for rules in sets:
        (graph, *_), trace = rules.rewrite_terms([graph])
        steps += [(s.rule, s.before, s.after) for s in trace]
    return graph, steps


def main() -> None:
    """The table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--each", action="store_true", help="name the rules that do not run backwards")
    words.add_argument("--engine", action="store_true", help="compare the engines instead")
    words.add_argument("--topics", nargs="*", help="only these")
    given = words.parse_args()
    warnings.simplefilter("ignore")
    rules = [r for r in db.all_rules() if "grad" not in r.tags and (not given.topics or r.topic in given.topics)]
    if given.engine:
        print(by_both_engines(rules))
        return
    by: dict[str, list[str]] = defaultdict(list)
    for r in rules:
        by[verdict(r)].append(r.name)
    kinds = Counter({k: len(v) for k, v in by.items()})
    for kind, count in kinds.most_common():
        print(f"{count:4}  {kind}")
        if given.each and kind not in (FOUND, OPEN):
            print("      " + ", ".join(by[kind]))
    print(f"{len(rules):4}  rules, those of derivatives left out")


if __name__ == "__main__":
    main()
