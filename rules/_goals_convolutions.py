"""Goals about convolutions: which ways to compute a placeholder are open, and its padding in numbers.

All are about placeholders whose filters are not turned (`flip=False`). What is asked of an image or of filters is asked
of an array, or of the lengths that stand for one.
"""

from __future__ import annotations

from typing import Any

from termgraph.rules import goal
from termgraph.terms.op import CONST
from termgraph.terms.ops.conv_prices import fits_winograd, prices
from termgraph.terms.ops.convolution import padding, reach
from termgraph.terms.term import mk, mk2

ROUTINES = ("panels", "winograd", "cudnn")  # ways that are routines of compiled code
ON_GPU = ("device", "cudnn")  # where panels are kernels of their own
ELSEWHERE = (*ON_GPU, "host")  # outside of C, where there are none or others
FEW = 16  # taps, if so many are known, whose gradient has a routine of its own


@goal("ii")
def by(f: Any, way: str) -> bool:
    """A placeholder may be computed this way.

    Where there are no routines for convolutions, the algorithm of those that do not name one is "host"; on a GPU it is
    "device": kernels for what panels know, as is what "cudnn" does not know. What Winograd's algorithm does not know,
    as the gradient of filters, is computed by panels. The library is used by name only.
    """
    named = f.params["algo"]
    fits = named == way or (named is None and way != "cudnn") or (way == "panels" and named in ("winograd", *ON_GPU))
    fits = fits or (named in ELSEWHERE and way not in ROUTINES)
    return bool(fits and not f.params["flip"])


def _spatial(of: Any) -> list[int | None]:
    """The lengths of the spatial dimensions, as far as they are known."""
    if isinstance(of, tuple):
        return [int(n.scalar) if n.op is CONST else None for n in of]
    return list(of.type.shape[2:])


# ---------------------------------------------------------------------- padding
def _pads(border: Any, image: Any, taps: Any, stride: tuple, dilation: tuple) -> tuple | None:
    """How many zeros go before and after each spatial dimension; None where it follows from unknown lengths."""
    image, taps = _spatial(image), _spatial(taps)
    needed = {"same": image + taps, "half": taps, "full": taps}.get(border, []) if isinstance(border, str) else []
    if None in needed:
        return None
    return tuple([padding(border, d, *g) for d, g in enumerate(zip(image, taps, stride, dilation))])


@goal("iii")
def fixed_padding(f: Any, image: Any, taps: Any) -> bool:
    """The padding is known in numbers, and routines of compiled code know so many dimensions."""
    p = f.params
    return len(p["stride"]) <= 3 and _pads(p["border"], image, taps, p["stride"], p["dilation"]) is not None


@goal("iii")
def open_padding(f: Any, image: Any, taps: Any) -> bool:
    """The padding follows from unknown lengths, and there are at most three dimensions."""
    return len(f.params["stride"]) <= 3 and not fixed_padding.modes["iii"](f, image, taps)


@goal("ii")
def narrow_padding(f: Any, w: Any) -> bool:
    """No padding is wider than what lies beyond the first place of a filter."""
    p, taps = f.params, _spatial(w)
    if None in taps or p["border"] == "same":
        return False
    pads = _pads(p["border"], w, w, p["stride"], p["dilation"]) or ()
    return all(max(a) < reach(k or 0, e) for a, k, e in zip(pads, taps, p["dilation"]))


# ---------------------------------------------------------------------- steps and lengths
@goal("i")
def moves_by_one(f: Any) -> bool:
    """The filters move by one element along all dimensions."""
    return all(s == 1 for s in f.params["stride"])


@goal("i")
def steps_without_gaps(f: Any) -> bool:
    """The filters move by more than one somewhere, but nowhere where they have gaps. A GPU's kernels know any steps."""
    if f.params["algo"] in ON_GPU:
        return True
    steps = list(zip(f.params["dilation"], f.params["stride"]))
    return any(s != 1 for _, s in steps) and not any(e != 1 and s != 1 for e, s in steps)


@goal("i")
def known_lengths(of: Any) -> bool:
    """All spatial lengths are known."""
    return None not in _spatial(of)


@goal("i")
def has_places(g: Any) -> bool:
    """An array like a result that has elements along each spatial dimension."""
    return 0 not in _spatial(g)


@goal("iii")
def quicker_by_winograd(f: Any, x: Any, w: Any) -> bool:
    """Filters of 3x3 and 5x5 for which Winograd's algorithm is expected to be faster, or asked for."""
    if not fits_winograd(f.params, x, w):
        return False
    price = prices(f.params, x.type.shape, w.type.shape, mk2(f, x, w).type.shape)
    return f.params["algo"] is not None or min(price, key=price.__getitem__, default=None) == "winograd"


# ---------------------------------------------------------------------- lines
@goal("iii")
def of_lines(f: Any, x: Any, w: Any) -> bool:
    """The placeholder is about one line and one filter at all places, and may be computed on vectors here.

    Windows of two long vectors would be more memory than there is: these are routines that know vectors only.
    """
    p = f.params
    fits = p["algo"] == "host" or (p["algo"] not in ON_GPU and by.modes["ii"](f, "panels"))
    whole = p["border"] == "full" and p["stride"] == p["dilation"] == (1,) and not p["flip"]
    return fits and whole and all(a.type.shape[:2] == (1, 1) and a.type.kind in "fiuc" for a in (x, w))


@goal("iiii")
def long_filter(f: Any, x: Any, g: Any, ks: tuple) -> bool:
    """The filter's gradient has more elements than the routine for short filters is for."""
    known = mk(f, (x, g, *ks)).type.shape[2]
    return known is None or known > FEW or f.params["algo"] == "host"
