"""The derivative rules of one operator as a matcher, from an image of all of them: a gradient reads no rule file, nor
anything that compiles rules.

Where rules or facts are not those of the installation, or nothing can be kept, matchers are compiled from the rules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from termgraph import _installed
from termgraph._lazy import lazy
from termgraph.db import image_files
from termgraph.rules.pieces import REWRITING, Context, Shelf, Span, write_content
from termgraph.terms.op import OPS, Op
from termgraph.terms.ops.derivative import pullback, pushforward

if TYPE_CHECKING:
    from termgraph.db import database, queries
    from termgraph.rules import image, tree
    from termgraph.rules.compiled import RuleSet
    from termgraph.rules.forms import Instance
else:
    database, queries = lazy("termgraph.db.database"), lazy("termgraph.db.queries")
    image, tree = lazy("termgraph.rules.image"), lazy("termgraph.rules.tree")

Matcher = Callable[[Any], Any]  # from `pullback(y, g)` or its kin to (right side, number among all derivative rules)
Places = dict[str, dict[str, Span]]  # by the name of pullback or pushforward and that of the operator it is of

STABLE = "stable"

_CONTEXT = Context()
_rows: dict[Op, tuple[RuleSet, dict[Op | None, list[tuple[Instance, int]]]]] = {}
_index: tuple[Places, Shelf] | None = None


def matcher_of(head: Op, family: Op) -> Matcher | None:
    """By what `head` (pullback or pushforward) of an operator is worked out; None without a rule."""
    return _matcher(head.name, family, lambda: _compiled(head, family))


def kept(made: Callable[[], tuple[Places, Shelf]]) -> tuple[Places, Shelf] | None:
    """The image of derivative rules, which `made` gives if there is none yet.

    None where there would be no image. The caller has seen that rules and facts are those of the installation.
    """
    global _index
    if _index is None and not _installed.changed_since_import(*image_files.ROOMS):
        name = f"derivatives.{sys.implementation.cache_tag}.rules"
        key = image_files.key_now(name)
        _index = image_files.find(name, key) or image_files.make(name, key, lambda ops: made(), _write)
    return _index


def stable_matcher_of(family: Op) -> Matcher | None:
    """By what an application of an operator gets the form that is differentiated, (term, number of the rule)."""
    return _matcher(STABLE, family, lambda: _compiled_stable(family))


def _matcher(place: str, family: Op, compiled: Callable[[], Matcher | None]) -> Matcher | None:
    """The matcher of an operator at a place of the image; compiled from the rules where there is no image."""
    with REWRITING:
        index = None if image_files.changed() else kept(_made)
        if index is None:
            return compiled()
        places, shelf = index
        span = places[place].get(family.name) if OPS.get(family.name) is family else None
        return None if span is None else shelf.run(span, _CONTEXT)["match"]


def by_root(rules: RuleSet) -> dict[Op, list[tuple[Instance, int]]]:
    """Forms of rules by the operator at the root of their left sides, each with the number of its rule."""
    rows: dict[Op, list[tuple[Instance, int]]] = {}
    for number, rule in enumerate(rules):
        for instance in rule.instances():
            rows.setdefault(instance.lhs.op.family, []).append((instance, number))
    return rows


def by_family(head: Op, rules: RuleSet) -> dict[Op | None, list[tuple[Instance, int]]]:
    """Forms of rules with this head by the operator they differentiate, each with the number of its rule.

    Under None are those of rules for whatever operator it is.
    """
    rows: dict[Op | None, list[tuple[Instance, int]]] = {}
    for number, rule in enumerate(rules):
        for instance in rule.instances():
            if instance.lhs.op is head:
                of = getattr(instance.lhs.args[0], "op", None)
                rows.setdefault(getattr(of, "family", None), []).append((instance, number))
    return rows


def _compiled(head: Op, family: Op) -> Matcher | None:
    rules = database.query("+grad")
    if head not in _rows or _rows[head][0] is not rules:
        _rows[head] = rules, by_family(head, rules)
    rows = sorted([*_rows[head][1].get(family, ()), *_rows[head][1].get(None, ())], key=lambda row: row[1])
    return tree.matcher(head, rows, rules.assume, rules.context)[0] if rows else None


def _compiled_stable(family: Op) -> Matcher | None:
    rules = database.query(include=queries.STABLE_RULES)
    rows = by_root(rules).get(family)
    return tree.matcher(family, rows, rules.assume, rules.context)[0] if rows else None


def _made() -> tuple[Places, Shelf]:
    """The image: a matcher for each operator that has rules."""
    rules, stable, shelf = database.query("+grad"), database.query(include=queries.STABLE_RULES), Shelf()

    def span(head: Op, rows: list[tuple[Instance, int]], of: RuleSet) -> Span:
        return shelf.add(image.piece_of(tree.write_matcher(head, rows, of.assume, of.context), of.context))

    places = {
        head.name: {
            family.name: span(head, rows, rules)
            for family, rows in by_family(head, rules).items()
            if family is not None  # of no rule of the library
        }
        for head in (pullback, pushforward)
    }
    places[STABLE] = {family.name: span(family, rows, stable) for family, rows in by_root(stable).items()}
    return places, shelf


def _write(path: str, key: bytes, made: tuple[Places, Shelf]) -> None:
    write_content(path, key, *made)
