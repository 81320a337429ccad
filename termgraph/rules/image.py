"""The image of a rule set: its compiled matchers in a file, so that a process neither reads rules nor compiles them.

An image is to a rule set what a .pyc file is to a module. May touch: the folder it is told of.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from termgraph import _rulelib
from termgraph._lazy import lazy
from termgraph._records import NamedTuple, record
from termgraph.rules.pieces import Context, Piece, Shelf, Span, write_content
from termgraph.rules.stored_names import named
from termgraph.terms import facts
from termgraph.terms.op import OPS, Op

if TYPE_CHECKING:
    from termgraph.rules.compiled import RuleSet
    from termgraph.rules.source import Source
    from termgraph.terms.term import AnyTerm

forms, tree = lazy("termgraph.rules.forms"), lazy("termgraph.rules.tree")  # for making images only


class Named(NamedTuple):
    """What a trace needs to know of a rule."""

    name: str
    where: str


@record
class Image:
    """The matchers of one rule set by operator, and what the driver asks of its rules."""

    rules: list[tuple[str, str, int]]  # name, file and line, by number
    counts_clients: bool
    merges_commuted: bool
    declared: list[str]  # the operators that facts speak of
    pieces: dict[str, tuple[Span, Span | None] | None]  # by operator; None: no rule has this head
    shelf: Shelf

    def knows(self, family: Op) -> bool:
        """Whether it was made with this operator in view."""
        return family.name in self.pieces and OPS.get(family.name) is family

    def fits_facts(self) -> bool:
        """Whether operators have no facts that were not there when it was made."""
        return not facts.changed() and facts.declared() <= set(self.declared)

    def matcher(self, family: Op, context: Context) -> Any:
        """The matcher of an operator that it knows; False if no rule has this head."""
        pieces = self.pieces[family.name]
        if pieces is None:
            return False
        env = self.shelf.run(pieces[0], context)
        match = env["match"]
        match.screen = env.get("screen")
        more = pieces[1]
        if more is not None:

            def many(t: AnyTerm) -> Any:
                env["many"] = self.shelf.run(more, context)["many"]
                return env["many"](t)

            env["many"] = many
        return match


# ---------------------------------------------------------------------- making one
def make_image(rs: RuleSet, families: Iterable[Any]) -> Image:
    """The image of a rule set for these operators: all rules are active in it. Nameless if something has no name."""
    rs.prepare()
    families = list(dict.fromkeys(families))
    rs.meet_everything(families)
    known: dict[str, CodeType] = {}  # most operators meet the general rules only, and so have the same code
    shelf = Shelf()
    pieces = {f.name: _pieces(rs, f, known, shelf) for f in families}
    folder = _rulelib.where()
    places = [(r.name, *_place(r.where, folder)) for r in rs.rules]
    return Image(places, rs.counts_clients, rs.merges_commuted, sorted(facts.declared()), pieces, shelf)


def _pieces(rs: RuleSet, family: Op, known: dict[str, CodeType], shelf: Shelf) -> tuple[Span, Span | None] | None:
    rows = rs.rows(family)
    if not rows:
        return None
    given = (family, rows, rs.assume, rs.context)
    main = shelf.add(piece_of(tree.write_matcher(*given), rs.context, known))
    return main, shelf.add(piece_of(tree.write_many(*given), rs.context, known)) if forms.is_nary(family) else None


def piece_of(source: Source, context: Context, known: dict[str, CodeType] | None = None) -> Piece:
    """The code of a source and what it refers to; `known` are codes by their texts."""
    text, known = source.text(), {} if known is None else known
    code = known.get(text)
    if code is None:
        code = known[text] = compile(text, "<rules>", "exec")
    return marshal.dumps(code), named(source.refs, context)


def _place(where: str, folder: str) -> tuple[str, int]:
    file, _, line = where.rpartition(":")
    return os.path.relpath(file, folder), int(line)


# ---------------------------------------------------------------------- files
def write_image(path: str, key: bytes, image: Image) -> None:
    """Write an image in one step; see `write_content`."""
    content = (image.rules, image.counts_clients, image.merges_commuted, image.declared, image.pieces)
    write_content(path, key, content, image.shelf)


def image_from(value: Any, shelf: Shelf) -> Image:
    """The image of what a file holds."""
    rules, counts_clients, merges_commuted, known, pieces = value
    return Image(rules, counts_clients, merges_commuted, known, pieces, shelf)


def named_rules(image: Image) -> Sequence[Named]:
    """The names and places of the rules of an image."""
    folder = _rulelib.where()
    return [Named(name, f"{os.path.join(folder, file)}:{line}") for name, file, line in image.rules]
