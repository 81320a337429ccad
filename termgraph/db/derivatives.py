"""The derivative rules of one operator as a matcher, from an image of all of them: no rule file is read for a gradient.

Where rules or facts are not those of the installation, or nothing can be kept, matchers are compiled from the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from termgraph.db import database, images
from termgraph.rules.compiled import REWRITING, Context, RuleSet
from termgraph.rules.forms import Instance
from termgraph.rules.image import Piece, piece_of, run_piece
from termgraph.rules.tree import matcher, write_matcher
from termgraph.terms.op import OPS, Op

Matcher = Callable[[Any], Any]  # from `pullback(y, g)` or its kin to (right side, number among all derivative rules)
Pieces = dict[str, dict[str, Piece]]  # by the name of pullback or pushforward and that of the operator it is of

_CONTEXT = Context()
_rows: dict[Op, tuple[RuleSet, dict[Op | None, list[tuple[Instance, int]]]]] = {}


def matcher_of(head: Op, family: Op) -> Matcher | None:
    """By what `head` (pullback or pushforward) of an operator is worked out; None without a rule."""
    with REWRITING:
        pieces = None if images.changed() else images.derivatives(_made)
        if pieces is None:
            return _compiled(head, family)
        piece = pieces[head.name].get(family.name) if OPS.get(family.name) is family else None
        return None if piece is None else run_piece(piece, _CONTEXT)["match"]


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
    return matcher(head, rows, rules.assume, rules.context)[0] if rows else None


def _made() -> Pieces:
    """The image: a matcher for each operator that has rules."""
    rules = database.query("+grad")
    return {
        head.name: {
            family.name: piece_of(write_matcher(head, rows, rules.assume, rules.context), rules.context)
            for family, rows in by_family(head, rules).items()
            if family is not None  # of no rule of the library
        }
        for head in (database.pullback, database.pushforward)
    }


__all__ = ["by_family", "matcher_of"]
