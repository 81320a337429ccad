"""Query: which rules, by tag or name, and what they may take on trust. A frozen value."""

from __future__ import annotations

import re
from collections.abc import Iterable

from termgraph._lazy import lazy
from termgraph._records import NamedTuple

words = lazy("termgraph.rules.words")

# What default queries take on trust, as Theano does: no inf or nan among operands, no division by zero, rounding and
# the sign of a zero may change, functions are used inside their domain. That integers do not overflow is not among it:
# rules that assume it are used where no integers are computed with (see `within_limits`).
TRUSTED = frozenset(("domain", "finite", "nonzero", "reassoc", "signed_zero"))
OVERFLOW = "overflow"
PLUS_ZERO = "plus_zero"  # a zero is 0.0 before and may be -0.0 after: admitted with `signed_zero`, else 0.0 is added
EVERYTHING = "everything"  # what the tag `unsafe` admits

STABLE_RULES = frozenset((  # what costs are rewritten with before they are differentiated: formulas of functions
    "logs.log1p", "logs.log1p_neg", "logs.log1p_exp", "logs.log_sigmoid", "logs.log_sigmoid_neg",
    "logs.log1p_sigmoid", "logs.log1p_sigmoid_neg", "logaddexps.two", "logsumexp.log_sum_exp", "logsumexp.mean",
    "sigmoids.sigmoid", "sigmoids.sigmoid_neg", "sigmoids.sigmoid_exp", "sigmoids.sigmoid_exp_neg",
    "sigmoids.one_minus", "sigmoids.one_minus_neg", "sigmoids.scaled", "sigmoids.scaled_neg", "sigmoids.scaled_exp",
    "softmax.quotient", "log_softmaxes.log_softmax", "hyperbolic.tanh",
))  # fmt: skip
FILES_OF = {  # queries that a gradient asks, with the beginnings of the names of the files they are answered from
    frozenset(("grad",)): ("grad",),
    STABLE_RULES: ("exponentials.", "logs.", "logsumexp.", "sigmoids.", "softmax."),
}


class Query(NamedTuple):
    """Tags (or names of rules and topics) to include, exclude and require; assumptions to admit.

    >>> Query.parse("+fast_run -inplace", "&stabilize").text
    '+fast_run -inplace &stabilize'
    """

    include: frozenset[str]
    exclude: frozenset[str]
    require: frozenset[str]
    assume: frozenset[str]

    @classmethod
    def parse(
        cls,
        *spec: str,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        require: Iterable[str] = (),
        assume: Iterable[str] | None = None,
    ) -> Query:
        """From words with signs (`+tag` include, `-tag` exclude, `&tag` require) and keyword lists."""
        parts: dict[str, set[str]] = {"+": set(include), "-": set(exclude), "&": set(require)}
        for text in spec:
            if isinstance(text, Query):
                parts["+"] |= text.include
                parts["-"] |= text.exclude
                parts["&"] |= text.require
                assume = text.assume if assume is None else assume
                continue
            if not isinstance(text, str):
                raise TypeError(f"a query takes words such as '+fast_run' or '-inplace', got {text!r:.60}")
            for word in re.split(r"[\s,]+", text.strip()):
                if word:
                    sign, tag = (word[0], word[1:]) if word[0] in parts else ("+", word)
                    parts[sign].add(tag)
        trusted = TRUSTED if assume is None else frozenset((assume,) if isinstance(assume, str) else assume)
        if assume is not None and trusted != TRUSTED:
            words.refuse_unknown_assumptions(trusted - {EVERYTHING})
        if "unsafe" in parts["+"]:
            trusted |= {EVERYTHING}
        return cls(frozenset(parts["+"]), frozenset(parts["-"]), frozenset(parts["&"]), trusted)

    @property
    def text(self) -> str:
        """The query as words."""
        words = [
            sign + tag
            for sign, tags in (("+", self.include), ("-", self.exclude), ("&", self.require))
            for tag in sorted(tags)
        ]
        return " ".join(words)

    def selects(self, tags: Iterable[str]) -> bool:
        """Whether something with these tags (its own name among them) is selected."""
        tags = frozenset(tags)
        return bool(tags & self.include) and not tags & self.exclude and self.require <= tags

    def admits(self, assumes: frozenset[str]) -> bool:
        """Whether the query takes on trust what a rule assumes."""
        if EVERYTHING in self.assume or assumes <= self.assume:
            return True
        return PLUS_ZERO in assumes and "signed_zero" in self.assume and self.admits(assumes - {PLUS_ZERO})

    def admits_with_zeros(self, assumes: frozenset[str]) -> bool:
        """Whether it does so once 0.0 is added to what the rule makes."""
        return PLUS_ZERO in assumes and self.admits(assumes - {PLUS_ZERO})

    def admits_on_floats(self, assumes: frozenset[str]) -> bool:
        """Whether it does so but for integers, which might overflow."""
        return OVERFLOW in assumes and bool(self.assume) and self.admits(assumes - {OVERFLOW})
