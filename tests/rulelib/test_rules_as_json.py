"""What counts as data holds no Python: each such rule is written as JSON, and read again it is the same rule.

The reader knows names only: of operators, of relations over them, of parts, and of kinds.
"""

import importlib
import itertools
import json
import pkgutil
import re
from functools import reduce

import kanren
import pytest
from unification import Var, var

import termgraph.rules
from termgraph.rules.checking.directions import DATA, forbids, kind_of_rule
from termgraph.rules.checking.examples import examples
from termgraph.rules.definition import finish, rule
from termgraph.rules.goals import IN_PLACE, KINDS, GoalCall
from termgraph.rules.kinds import GUARDS, Guard, HeadKind, SegVar, head, order, param, seg
from termgraph.rules.parts import Part
from termgraph.rules.pattern import HeadWith, Pattern, free_variables
from termgraph.rules.relation import rule_relation
from termgraph.rules.stdgoals import dtype_of
from termgraph.rules.type_facts import same_dtype
from termgraph.terms.facts import FACTS as RELATIONS
from termgraph.terms.op import OPS, Op
from termgraph.terms.term import Lit, Term, mk
from tests.rulelib.support import LIBRARY

RULES = {n: r for n, r in LIBRARY.items() if kind_of_rule(r) in DATA}
MODULES = [importlib.import_module(m.name) for m in pkgutil.iter_modules(termgraph.rules.__path__, "termgraph.rules.")]
PARTS = {g.name: g for m in MODULES for g in vars(m).values() if isinstance(g, Part)}
KIND_NAMES = {**KINDS, "same_dtype": same_dtype}
PLAIN = {"head": head, "param": param, "seg": seg}


# ---------------------------------------------------------------------- writing
def written(r):
    said = [g for g in r.goals if not g.in_place and not g.over_operators]
    used = {v for p in (r.lhs, r.rhs, *[a for g in r.goals for a in g.args]) for v in free_variables(p)}
    assert {g.name for g in said} <= KIND_NAMES.keys() and set(said) == set(r.typed)
    return {
        "name": r.name, "before": side(r.lhs), "after": side(r.rhs),
        "metavariables": {v.token: kind(k) for v, k in r.kinds.items() if v in used},
        "kinds": [[g.name, *map(side, g.args)] for g in said],
        "facts": [[g.name, *map(side, g.args)] for g in r.goals if g.over_operators],
        "assumes": sorted(r.assumes), "tags": sorted(r.tags),
    }  # fmt: skip


def side(t):
    """A term with holes, or the value of a parameter."""
    if isinstance(t, Var):
        if t in IN_PLACE:
            return ["part", IN_PLACE[t].name, *map(side, IN_PLACE[t].args[:-1])]
        return ["segment" if t.__class__ is SegVar else "hole", t.token]
    if isinstance(t, Lit):
        return ["number", type(t.value).__name__, repr(t.value)]
    if t.__class__ is Term:
        return ["term", operator(t.op), *map(side, t.args)]
    if isinstance(t, Op):
        return operator(t)
    return ["tuple", *map(side, t)] if isinstance(t, tuple) else ["value", t]


def operator(op):
    if isinstance(op, Var):
        return ["operator", op.token]
    if isinstance(op, HeadWith):
        return ["operator", op.var.token, {k: side(v) for k, v in op.params}]
    return ["op", op.family.name, {k: side(v) for k, v in op.params.items()}]


def kind(k):
    if isinstance(k, HeadKind) and k.families:
        return [op.name for op in k.families]
    return "order" if k is order else k.name


# ---------------------------------------------------------------------- reading
def read(d):
    goals = [GoalCall(RELATIONS[name], tuple(map(term, args))) for name, *args in d["facts"]]
    goals = [GoalCall(KIND_NAMES[name], tuple(map(term, args))) for name, *args in d["kinds"]] + goals
    topic, _, short = d["name"].partition(".")
    kinds = {(SegVar if k == "seg" else Var)(token): kind_named(k) for token, k in d["metavariables"].items()}
    return finish(
        rule(short, term(d["before"]), term(d["after"]), *goals, assumes=d["assumes"]), topic, d["tags"], kinds, ()
    )


def term(d):
    what, *rest = d
    if what in ("hole", "segment", "operator") and len(rest) == 1:
        return (SegVar if what == "segment" else Var)(rest[0])
    if what == "operator":
        return HeadWith.of(Var(rest[0]), {k: term(v) for k, v in rest[1].items()})
    if what == "part":
        args = [Pattern(t) if isinstance(t, (Term, Var)) else t for t in map(term, rest[1:])]
        return args[0].dtype.term if rest[0] == dtype_of.name else PARTS[rest[0]](*args).term
    if what == "op":
        return OPS[rest[0]].bind(**{k: term(v) for k, v in rest[1].items()})
    if what == "term":
        return mk(term(rest[0]), tuple(map(term, rest[1:])))
    if what == "number":
        return Lit({"bool": "True".__eq__, "int": int, "float": float, "complex": complex}[rest[0]](rest[1]))
    return tuple(map(term, rest)) if what == "tuple" else rest[0]


def kind_named(k):
    if isinstance(k, list):
        return head[tuple(OPS[name] for name in k)]
    if k in PLAIN or k == "order":
        return PLAIN.get(k, order)
    k, left_out = re.fullmatch(r"(.*?)(?: \| ([01]))?", k).groups()
    made = reduce(Guard.__and__, [~GUARDS[w[1:]] if w[0] == "~" else GUARDS[w] for w in k.split(" & ")])
    return made | int(left_out) if left_out else made


def again(r):
    return read(json.loads(json.dumps(written(r), allow_nan=False)))


def said(goals):
    """What goals say; they are the same objects, and so are terms with the same operators and operands."""
    return {(g.goal, g.args) for g in goals}


@pytest.mark.parametrize("topic", sorted({r.topic for r in RULES.values()}))
def test_a_rule_that_is_data_is_the_same_when_it_comes_from_json(topic):
    for r in RULES.values():
        if r.topic == topic:
            back = again(r)
            assert back.lhs is r.lhs and back.rhs is r.rhs and said(back.goals) == said(r.goals), r.name
            assert {v: (g.name, g.source) for v, g in back.guards.items()} == {
                v: (g.name, g.source) for v, g in r.guards.items()
            }, r.name
            assert (back.name, back.tags, back.assumes) == (r.name, r.tags, r.assumes)


@pytest.mark.parametrize("name", sorted(RULES)[7::40])
def test_it_runs_both_ways(name):
    r, q = RULES[name], var()
    back = again(r)
    for e in itertools.islice(examples(r, 2), 2):
        assert answers(rule_relation(back, e.before, q), q) == answers(rule_relation(r, e.before, q), q)
        if not forbids(r):
            assert answers(rule_relation(back, q, e.after), q) == answers(rule_relation(r, q, e.after), q)


def answers(goal, q):
    """Printed, without the numbers of what stays unknown."""
    return [re.sub(r"~_\d+", "~", str(a)) for a in kanren.run(20, q, goal)]


def test_what_is_said_of_one_part_stands_in_the_pattern():
    """A fact about one part of the left side is its kind: it does not stand beside the rule."""
    beside = {
        r.name: repr(g)
        for r in LIBRARY.values()
        for g in r.goals
        if KINDS.get(g.name) is g.goal and g not in r.typed and g.args[0] in parts_of(r.lhs)
    }
    assert beside == {}


def parts_of(p):
    return {p}.union(*map(parts_of, p.args)) if p.__class__ is Term else {p}
