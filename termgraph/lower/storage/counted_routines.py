"""Routines whose results are as long as all elements of an operand say, which the program's plan reads beforehand.

Places of a mask, the elements that it keeps, and how often whole numbers occur, where no more is known of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.lower.lengths.index import maximum
from termgraph.lower.lengths.shapes import Lengths
from termgraph.lower.push.masks import KEPT
from termgraph.lower.storage.routine_table import READS, SIZES, SPECS, UNEQUAL, Spec
from termgraph.terms.ops.indexing import MASK_LENGTH

if TYPE_CHECKING:
    from termgraph.lower.lengths.index import Poly
    from termgraph.terms.term import AnyTerm

_linear = lazy("termgraph.rules.linear")

OUTSIDE = "index {0} is out of bounds for axis 0 with size {1}"
NEGATIVE = "bincount: values must not be negative, got {0} at position {1}"
NOT_AS_SAID = "bincount: values are said to be from 0 to minlength - 1, got {0} at position {1}"


def _lengths(ndim: int) -> tuple[str, ...]:
    return tuple([f"m{k}" for k in range(ndim)])


def _places(t: AnyTerm) -> Spec | None:
    mask, *lengths = [a.type for a in t.args]
    if mask.dtype != "bool":
        return None
    return Spec("places", (), (_lengths(mask.ndim), *[() for _ in lengths]), (("found",),) * mask.ndim)


def _places_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    for axis, n in enumerate(t.args[1:]):
        text = MASK_LENGTH.format("{0}", "{1}", axis=axis)
        sizes[f"m{axis}"] = s.equal(t, sizes[f"m{axis}"], s.as_length(n, t), text)
    sizes["found"] = s.of_all("count", t.args[0], t)


def _kept(t: AnyTerm) -> Spec:
    """A vector may have more elements than the mask or fewer, if none of these is asked for."""
    lengths = _lengths(t.args[0].type.ndim)
    return Spec("kept", (), (lengths, lengths if t.op.params["same"] else ("whole",)), (("found",),), None, OUTSIDE)


def _kept_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["found"] = s.of_all("count", t.args[0], t)


def _bincount(t: AnyTerm) -> Spec | None:
    if t.args[0].type.dtype in ("bool", "uint64"):
        return None
    failure = NOT_AS_SAID if _linear.are_places(t.args[0], t.args[1]) else NEGATIVE
    return Spec("bincount", (), (("d0",), (), *[("d0",) for _ in t.args[2:]]), (("bins",),), None, failure)


def _bins(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    least = s.as_length(t.args[1], t, "bincount: minlength must not be negative, got {0}")
    known = _linear.are_places(t.args[0], t.args[1])
    sizes["bins"] = least if known else maximum(least, s.of_all("most", t.args[0], t) + 1)


def _as_they_are(t: Any) -> tuple[str, ...]:
    return tuple([a.type.dtype for a in t.args])


SPECS.update(nonzero=_places, bincount=_bincount)
SPECS[KEPT.name] = _kept
SIZES.update(places=_places_sizes, kept=_kept_sizes, bincount=_bins)
READS.update(nonzero=_as_they_are, bincount=lambda t: (*_as_they_are(t)[:2], *["float64" for _ in t.args[2:]]))
READS[KEPT.name] = _as_they_are
UNEQUAL.update({f"m{axis}": MASK_LENGTH.format("{0}", "{1}", axis=axis) for axis in range(32)})
UNEQUAL["d0"] = "bincount: {0} values but {1} weights"
