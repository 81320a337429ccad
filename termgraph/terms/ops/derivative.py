"""Ops that only derivative rules speak of: pullback, pushforward, tuples of gradients.

`pullback(y, g)` is what a cotangent g of y contributes to each argument of y; `pushforward(y, *tangents)` is the
tangent of y. Both exist only between the two sides of a rule: no graph that is compiled contains them.
"""

from __future__ import annotations

import functools
from typing import Any

from termgraph.terms.errors import GraphError
from termgraph.terms.op import define
from termgraph.terms.term import AnyTerm, mk
from termgraph.terms.types import Type


class GradientsType(Type):
    """The type of `pullback`: any tuple of gradients. The gradient driver fits each one to its argument."""

    __slots__ = ()

    def accepts(self, other: Type) -> bool:
        return True

    def __repr__(self) -> str:
        return "GradientsType()"


GRADIENTS = GradientsType()


def _never(*_: object, **__: object) -> Any:
    raise GraphError("derivative ops are rewritten away before anything runs")


_marker = functools.partial(define, meaning=_never, kind="derivative")

pullback = _marker(
    "pullback",
    infer=lambda *types: GRADIENTS,
    doc="pullback(y, g): what a cotangent g of y contributes to each argument of y; one g per result of y.",
)

pushforward = _marker(
    "pushforward",
    infer=lambda y, *tangents: y,
    doc="pushforward(y, *tangents): the tangent of y, given one tangent per argument.",
)

tup = _marker("tup", infer=lambda *types: GRADIENTS, doc="Several terms as one: the right side of a derivative rule.")

no_gradient = _marker(
    "no_gradient",
    infer=lambda: GRADIENTS,
    doc="The argument does not influence the result continuously (an index, a length, a condition): nothing flows.",
)
NOTHING = mk(no_gradient, ())

undefined_gradient = _marker(
    "undefined_gradient",
    infer=lambda *, reason: GRADIENTS,
    params={"reason": ""},
    doc="The derivative does not exist mathematically; asking for it is an error.",
)

missing_gradient = _marker(
    "missing_gradient",
    infer=lambda *, reason: GRADIENTS,
    params={"reason": ""},
    doc="The derivative exists but nobody has written it; asking for it is an error.",
)


def undefined(reason: str) -> AnyTerm:
    """What a rule gives for an argument where the derivative does not exist mathematically."""
    return mk(undefined_gradient.bind(reason=reason), ())


def missing(reason: str) -> AnyTerm:
    """What a rule gives for an argument whose derivative nobody has written."""
    return mk(missing_gradient.bind(reason=reason), ())
