"""What a search for rules found: counts, a table, and the text of a rule file."""

from __future__ import annotations

import re
import sys
from typing import Any

from termgraph.rules.checking.report import Table
from termgraph.rules.definition import Rule
from termgraph.rules.discovery.generalise import TOPIC, Finding
from termgraph.rules.discovery.operators import about_operators
from termgraph.rules.discovery.vocabulary import Vocabulary
from termgraph.rules.goals import KINDS
from termgraph.rules.kinds import Guard, PatternTerm, head
from termgraph.rules.pattern import inner_terms
from termgraph.rules.text import pattern_text
from termgraph.terms.op import OPS, Op, is_var
from termgraph.terms.traverse import grouped

_RESERVED = ("abs", "sum", "max", "min", "any", "all", "round", "pow", "complex")
_PARAMETERS = ("a", "d")  # metavariables for an axis and a dtype


class Discovery:
    """What was found: `rules`, the most used first, and how the search went."""

    def __init__(self, words: Vocabulary, size: int) -> None:
        self.words, self.size = words, size
        self.findings: list[Finding] = []
        self.both_ways: list[tuple[Any, Any]] = []  # equal terms neither of which is cheaper
        self.uses: dict[str, int] = {}
        self.terms = self.candidates = self.arithmetic = self.refused = self.derivable = 0
        self.seconds = 0.0
        self.stopped = ""

    @property
    def rules(self) -> list[Rule]:
        """The rules, the most used first."""
        return [f.rule for f in self.findings]

    def __iter__(self) -> Any:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def summary(self) -> str:
        """The search in a line."""
        parts = [
            f"{self.terms} terms", f"{self.candidates} pairs of equal values that no rule joined",
            f"{self.arithmetic} more by arithmetic alone", f"{len(self)} rules",
            f"{self.derivable} more that follow from others",
            f"{self.refused} pairs without a rule, {len(self.both_ways)} of them equally cheap",
            f"{self.seconds:.1f} s",
        ]  # fmt: skip
        return "; ".join([*parts, self.stopped] if self.stopped else parts)

    def __str__(self) -> str:
        rows = [
            (str(self.uses.get(f.rule.name, 0)), f.verdict.text, f"{f.rule.before} -> {f.rule.after}",
             ", ".join(f.rule.conditions()), ", ".join(sorted(f.rule.assumes)))
            for f in self.findings
        ]  # fmt: skip
        table = Table(("uses", "verdict", "says", "if", "assumes"), rows).text() if rows else "no rules"
        return f"{table}\n\n{self.summary}"

    def text(self, topic: str = TOPIC, tag: str = "stabilize") -> str:
        """The rules as a rule file."""
        if not self.findings:
            return ""
        ops = sorted({op for r in self.rules for op in _ops_of(r)}, key=lambda op: op.name)
        lines = ['"""Rules found by machine."""', ""]
        lines.append(f"from termgraph.rules import {', '.join(sorted(_words_of(self.rules)))}")
        lines += _imports(ops)
        groups = grouped((_signature(f.rule), f) for f in self.findings)
        for number, (signature, found) in enumerate(groups.items()):
            name = topic if not number else f"{topic}_{number + 1}"
            lines += ["", "", f'@ruleset("{tag}")', f"def {name}({signature}):"]
            lines += [_line(f.rule) for f in found]
        return "\n".join([*lines, ""])


def _words_of(rules: list[Rule]) -> set[str]:
    """What rule files import from `termgraph.rules` for these rules."""
    goals = {str(g.goal.name) for r in rules for g in r.goals}
    guards = {name for r in rules for g in r.guards.values() for name in repr(g).split(" & ")}
    open_parameters = any(v.token in _PARAMETERS for r in rules for v in _variables(r))
    kinds = [*(["param"] if open_parameters else []), *(["head"] if any(map(about_operators, rules)) else [])]
    return {"rule", "ruleset", *goals, *guards, *kinds}


def _variables(r: Rule) -> list[Any]:
    left: frozenset[Any] = getattr(r.lhs, "lvars", frozenset())
    return sorted(left, key=lambda v: str(v.token))


def _signature(r: Rule) -> str:
    parts = []
    for v in _variables(r):
        guard: Guard | None = r.guards.get(v)
        kind = repr(guard) if guard is not None else "param" if v.token in _PARAMETERS else _head(r, v)
        parts.append(f"{v.token}: {kind}" if kind else str(v.token))
    return ", ".join(parts)


def _head(r: Rule, v: Any) -> str:
    return head.name if r.kinds.get(v) is head else ""


def _line(r: Rule) -> str:
    short = r.name.partition(".")[2]
    kinds: dict[str, list[str]] = {}  # what a metavariable is stands in the pattern
    for g in r.goals:
        if KINDS.get(g.name) is g.goal and is_var(g.args[0]):
            kinds.setdefault(str(g.args[0].token), []).append(g.name)
    left = _source(r.lhs)
    for name, said in kinds.items():
        left = re.sub(rf"\b{name}\b", f"{name}[{', '.join(said)}]", left, count=1)
    goals = "".join([f", {g!r}" for g in r.goals if KINDS.get(g.name) is not g.goal or not is_var(g.args[0])])
    trust = f", assumes=[{', '.join(repr(a) for a in sorted(r.assumes))}]" if r.assumes else ""
    trust = trust.replace("'", '"')
    return f'    yield rule("{short}", {left}, {_source(r.rhs)}{goals}{trust})'


def _source(pattern: PatternTerm) -> str:
    """A pattern as Python text."""
    return re.sub(rf"\b({'|'.join(_RESERVED)})\(", r"\1_(", pattern_text(pattern))


def _ops_of(r: Rule) -> set[Op]:
    written = _source(r.lhs) + " " + _source(r.rhs)
    called = {name.removesuffix("_") for name in re.findall(r"(\w+)\(", written)}
    heads = [p.op for side in (r.lhs, r.rhs) for p in inner_terms(side)]
    return {OPS[op.name] for op in heads if isinstance(op, Op) and op.name in called}


def _imports(ops: list[Op]) -> list[str]:
    """Where the operators are to be imported from."""
    where: dict[str, list[str]] = {}
    for op in ops:
        for module in sorted(m for m in sys.modules if m.startswith("termgraph.terms.ops.")):
            name = op.name + "_" if op.name in _RESERVED else op.name
            if getattr(sys.modules[module], name, None) is op:
                where.setdefault(module, []).append(name)
                break
    return [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(where.items())]
