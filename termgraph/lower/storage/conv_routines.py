"""Routines for convolutions: all images at once, since tiles count places through all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from termgraph.lower.lengths.index import ONE, Poly, divide
from termgraph.lower.lengths.shapes import Lengths
from termgraph.lower.storage.routine_table import AS_STORED, READS, SIZES, SPECS, Core, Spec
from termgraph.terms.dtypes import HALVES
from termgraph.terms.term import AnyTerm

if TYPE_CHECKING:
    Cores = Callable[[int], Core]  # the names of an operand's lengths, by its spatial dimensions

# What routines compute in: other whole numbers are computed modulo the range of these, which holds theirs.
WORKING = {
    **dict.fromkeys(("float32", *HALVES), "float32"), "float64": "float64",
    **dict.fromkeys(("int8", "uint8", "int16", "uint16", "int32", "uint32"), "int32"),
    **dict.fromkeys(("int64", "uint64"), "int64"),
}  # fmt: skip


def _image(n: int) -> tuple[str, ...]:
    return ("batch", "channels", *[f"n{d}" for d in range(n)])


def _filters(n: int) -> tuple[str, ...]:
    return ("filters", "each", *[f"k{d}" for d in range(n)])


def _result(n: int) -> tuple[str, ...]:
    return ("batch", "filters", *[f"o{d}" for d in range(n)])


def _spec(text: str, first: Cores, second: Cores, out: Cores) -> Callable[[AnyTerm], Spec | None]:
    """A rule for the table."""

    def rule(t: AnyTerm) -> Spec | None:
        n = len(t.op.params["stride"])
        if n > 3 or t.type.dtype not in WORKING:
            return None
        return Spec(text, (), (first(n), second(n), *[()] * (len(t.args) - 2)), (out(n),))

    return rule


def _reads(t: AnyTerm) -> tuple[str, ...]:
    """Both arrays in the dtype to compute in; lengths."""
    wide = WORKING[t.type.dtype]
    return (wide, wide, *["int64"] * (len(t.args) - 2))


def _as_stored(t: AnyTerm) -> tuple[str, ...]:
    """Both arrays in the dtype of the result; lengths."""
    return (t.type.dtype, t.type.dtype, *["int64"] * (len(t.args) - 2))


def _sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    """The lengths of the result, and what the others must agree in."""
    p, name, family = t.op.params, t.op.name, t.op.family.name
    groups, forward = p["groups"], family not in ("conv_taps", "conv_spread")
    if family == "conv_spread":
        sizes["channels"] = sizes["each"] * groups
        sizes.update({f"n{d}": s.as_length(n, t) for d, n in enumerate(t.args[2:])})
    elif forward:
        text = f"{name}: the image has {{0}} channels, the filters read {{1}}"
        s.equal(t, sizes["channels"], sizes["each"] * groups, text)
    else:
        sizes["each"] = divide(sizes["channels"], groups)[0]
        sizes.update({f"k{d}": s.as_length(k, t) for d, k in enumerate(t.args[2:])})
    for what in ("filters",) if family != "conv_taps" else ("filters", "channels"):
        text = f"{name}: {{1}} {what} cannot be divided into {groups} groups"
        s.require(t, "ge", divide(sizes[what], groups)[0] * groups, sizes[what], text)
    for d, (stride, (before, after), e) in enumerate(zip(p["stride"], p["border"], p["dilation"])):
        room, reach = sizes[f"n{d}"] + before + after, (sizes[f"k{d}"] - 1) * e + 1
        text = f"a window over {{1}} elements does not fit into spatial dimension {d} of length {{0}}, padding included"
        s.require(
            t, "ge", sizes[f"k{d}"], ONE, f"filters need at least one tap in spatial dimension {d}, there are {{0}}"
        )
        s.require(t, "ge", room, reach, text)
        places = divide(room - reach, stride)[0] + 1
        if not forward:
            text = f"{name}: a convolution gives {{0}} places in spatial dimension {d}, the array like it has {{1}}"
            places = s.equal(t, places, sizes[f"o{d}"], text)
        sizes[f"o{d}"] = places


def _lines(t: AnyTerm) -> Spec | None:
    return Spec(t.op.name, (), (("n",), ("k",)), (("places",),)) if t.type.dtype not in HALVES else None


def _all_places(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    for name, what in (("n", "first"), ("k", "second")):
        s.require(t, "ge", sizes[name], ONE, f"convolve: the {what} vector has no elements")
    sizes["places"] = sizes["n"] + sizes["k"] - 1


def _places_inside(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    s.require(t, "ge", sizes["k"], ONE, "correlate_lines: the second vector has no elements")
    s.require(t, "ge", sizes["n"], sizes["k"], "correlate_lines: a window of {1} elements does not fit into {0}")
    sizes["places"] = sizes["n"] - sizes["k"] + 1


SPECS.update(dict.fromkeys(("convolve_lines", "correlate_lines"), _lines))
READS.update(dict.fromkeys(("convolve_lines", "correlate_lines"), lambda t: (t.type.dtype,) * 2))
SIZES.update(convolve_lines=_all_places, correlate_lines=_places_inside)
SPECS.update({name: _spec(name, _image, _filters, _result) for name in ("conv_panels", "conv_winograd")})
SPECS.update(conv_taps=_spec("conv_taps", _image, _result, _filters))
SPECS.update(conv_spread=_spec("conv_spread", _filters, _result, _image))
NAMES = ("conv_panels", "conv_spread", "conv_taps", "conv_winograd")
READS.update(dict.fromkeys(NAMES, _reads))
AS_STORED.update(dict.fromkeys(NAMES, _as_stored))
SIZES.update(dict.fromkeys(NAMES, _sizes))
