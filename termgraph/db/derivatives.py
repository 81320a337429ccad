"""The derivative rules of one operator, read from the files that have some: an index kept beside the images says which.

Where rules or facts are not those of the installation, or nothing can be kept, all derivative rules are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from termgraph.db import database, images, loading
from termgraph.db.query import Query
from termgraph.rules import authoring
from termgraph.rules.compiled import REWRITING, RuleSet
from termgraph.rules.definition import Rule
from termgraph.terms.op import Op

Index = dict[str, dict[str, list[str]]]  # by pullback or pushforward and by the op it is of ("": any): names of files

_sets: dict[frozenset[str], RuleSet] = {}


def rules_of(head: Op, family: Op) -> RuleSet:
    """Derivative rules, all among them by which `head` (pullback or pushforward) of an operator is worked out."""
    if database.is_loaded() or images.changed():
        return database.query("+grad")
    with REWRITING:
        index = images.derivatives(_indexed)
        if index is None:
            return database.query("+grad")
        known = index.get(head.name, {})
        files = frozenset((*known.get("", ()), *known.get(family.name, ())))
        if files not in _sets:
            loading.load_files(*files)
            rules = [r for r in authoring.DEFINED.values() if _file(r) in files]
            _sets[files] = database.selected(rules, Query.parse("+grad"))
        return _sets[files]


def by_family(head: Op, rules: Iterable[Rule]) -> dict[Op | None, list[tuple[Rule, int]]]:
    """Those with this head by the operator they differentiate (None: any), each with its number."""
    rows: dict[Op | None, list[tuple[Rule, int]]] = {}
    for number, rule in enumerate(rules):
        for instance in rule.instances():
            if instance.lhs.op is head:
                family = getattr(instance.lhs.args[0].op, "family", None)
                rows.setdefault(family, []).append((instance, number))
    return rows


def _indexed() -> Index:
    rules = list(database.query("+grad"))
    index: Index = {}
    for head in (database.pullback, database.pushforward):
        rows = by_family(head, rules)
        index[head.name] = {
            "" if family is None else family.name: sorted({_file(rules[number]) for _, number in found})
            for family, found in rows.items()
        }
    return index


def _file(rule: Rule) -> str:
    """The beginning of the name of its file; rules from elsewhere have none that the library has."""
    return os.path.basename(rule.where.rpartition(":")[0])


__all__ = ["by_family", "rules_of"]
