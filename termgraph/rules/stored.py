"""StoredRuleSet: a rule set whose matchers come from an image. Its rules are read when somebody asks for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.rules.compiled import RuleSet
from termgraph.rules.facts import knowledge_version
from termgraph.rules.image import Image, Named, named_rules
from termgraph.terms.op import Op

if TYPE_CHECKING:
    from termgraph.rules.definition import Rule
    from termgraph.rules.pattern import PatternHead
    from termgraph.terms.term import AnyTerm

patterns, stage = lazy("termgraph.rules.pattern"), lazy("termgraph.rules.stage")


class StoredRuleSet(RuleSet):
    """As the rule set that its image was made from. `read` gives the rules, in their order.

    All rules are active from the start. When operators get facts that the image does not know, its matchers are made
    anew from the rules, as in any other set.
    """

    def __init__(self, image: Image, read: Callable[[], Sequence[Rule]], assume: Iterable[str], name: str) -> None:
        self.image, self._read = image, read
        self.counts_clients, self.merges_commuted = image.counts_clients, image.merges_commuted
        self.from_image = True
        self._begin(assume, name)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules; a rule's number is its place here."""
        return tuple(self._read())

    @cached_property
    def named(self) -> Sequence[Named]:
        """What has the name and the place in a file of each rule, by number."""
        return named_rules(self.image)

    def __len__(self) -> int:
        return len(self.image.rules)

    def prepare(self) -> None:
        """Take notice of new facts about operators."""
        if self._version == knowledge_version():
            return
        self.from_image = self.image.fits_facts()
        if not self.from_image:
            super().prepare()
            return
        self._version, self.stamp = knowledge_version(), object()
        self.matchers.clear()
        self._verdicts.clear()
        self._candidates.clear()

    def meet(self, new: Iterable[Any]) -> None:
        """In an image all rules are active."""
        if not self.from_image:
            super().meet(new)

    def _wake(self, t: AnyTerm) -> None:
        if not self.from_image:
            super()._wake(t)

    @property
    def is_new(self) -> bool:
        """Whether there are rules that may have to be woken."""
        self.prepare()
        return not self.from_image and super().is_new

    def find_matcher(self, op: Op) -> Any:
        """The matcher of a bound op; False if no rule has this head."""
        if not self.from_image:
            return super().find_matcher(op)
        family = op.family
        found = self.matchers.get(family)
        if found is None:
            found = self.matchers[family] = self._from_image(family) if self.image.knows(family) else self._made(family)
        self.matchers[op] = found
        return found

    def _from_image(self, family: Op) -> Any:
        started = time.perf_counter()
        found = self.image.matcher(family, self.context)
        self.compile_seconds += time.perf_counter() - started
        return found

    def _made(self, family: PatternHead) -> Any:
        rows = self._general(family)
        return self._compile(family, rows) if rows else False

    def _general(self, family: Any) -> list[Any]:
        """The forms of rules that match any operator, for one that the image does not know, such as a user's."""
        forms = [
            (settled, number)
            for number, rule in enumerate(self.rules)
            if not isinstance(rule.lhs.op, (Op, patterns.Captured))
            for i in rule.instances()
            if not isinstance(i.lhs.op, (Op, patterns.Captured))
            and (settled := stage.for_family(i, family)) is not None
        ]
        return sorted(forms, key=lambda row: (row[1], row[0].place))

    def source(self, op: Op) -> str:
        """The Python source of the matcher for an op, for reading."""
        return self._plain.source(op)

    @cached_property
    def _plain(self) -> RuleSet:
        return RuleSet(self.rules, self.assume, self.name)
