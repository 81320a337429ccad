"""What convolutions are expected to cost by each algorithm that has a routine, in multiply-adds of a tile.

Rules choose by it, and users ask for it. The weights were fitted to 74 convolutions, each measured by both algorithms
with vectors of 32 and of 64 bytes, those of panels to 89 more. They are the same for both: what differs is how much of
a vector a short row fills.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from termgraph.terms.leaves import Arg, Const
from termgraph.terms.ops.convolution import padding
from termgraph.terms.term import AnyTerm

# A product in Winograd's algorithm (they are short), and transforms of 4x4 numbers (of 6x6 as many times
# more as there are products): of a window, to 2x2 places, of a filter (read across memory, written to fresh memory;
# where all of them do not stay in a cache at their points, they are written to main memory and read from there).
OF_PRODUCT, OF_WINDOW, OF_PLACES, OF_FILTER, OF_FAR_FILTER = 1.1, 250.0, 100.0, 1000.0, 1700.0
KEPT = 1 << 21  # numbers that stay in a large cache
WINOGRAD = {(3, 3): 16, (5, 5): 49}  # products for 2x2 places
VECTORS = (32, 64)  # bytes of a vector; where they are not known, the mean of both is taken
NUMBER = 4  # bytes
# A product of panels. A panel is used for all filters: with few of them packing it costs as much as the products.
OF_PANELS, OF_PACKING = 1.2, 6.0
# Where many taps lie outside of the image, these are left out: such a product, and places for which a filter laid out
# anew costs as much; not where sums of few products are put down.
OF_INSIDE, OF_LAID_OUT, MOST_INSIDE, FEWEST = 1.15, 20.0, 0.95, 120


def fits_winograd(p: dict[str, Any], x: Arg | AnyTerm, w: Const | AnyTerm) -> bool:
    """Whether the routine knows this convolution: filters of 3x3 or 5x5 that move by one."""
    return _has_winograd(p, w.type.shape[2:]) and x.type.kind == w.type.kind == "f"


def _has_winograd(p: dict[str, Any], taps: Sequence[Any]) -> bool:
    by_one = p["groups"] == 1 and tuple(p["stride"]) == (1, 1) == tuple(p["dilation"])
    return by_one and tuple(taps) in WINOGRAD


def prices(p: dict[str, Any], image: Sequence[Any], filters: Sequence[Any], result: Sequence[Any]) -> dict[str, float]:
    """The expected cost by each routine that knows a convolution; empty where its lengths are not known."""
    if None in (*image, *filters, *result):
        return {}
    batch, taps = result[0], 1
    for k in filters[2:]:
        taps *= k
    places = batch
    for n in result[2:]:
        places *= n
    f, c = filters[0], filters[1]
    packed = OF_PANELS * places * (f + OF_PACKING * p["groups"])
    inside = _without_zeros(p, image, filters, result, places) if taps * c >= FEWEST else inf
    out = {"panels": taps * c * min(packed, inside)}
    if _has_winograd(p, filters[2:]):
        rows, columns, products = batch * -(-result[2] // 2), -(-result[3] // 2), WINOGRAD[tuple(filters[2:])]
        brought = rows * _filled(columns, p)  # windows of a row are brought to points by vectors
        windows = rows * columns
        of_filter = OF_FILTER if products * f * c <= KEPT else OF_FAR_FILTER
        transforms = products / 16 * (brought * OF_WINDOW * c + of_filter * f * c)
        out["winograd"] = windows * products * OF_PRODUCT * f * c + brought * OF_PLACES * f + transforms
    return out


def _filled(n: int, p: dict[str, Any]) -> float:
    """How many numbers the vectors have that hold n numbers."""
    lanes = [size // NUMBER for size in (VECTORS if p["vectors"] is None else (p["vectors"],))]
    return sum([-(-n // lane) * lane for lane in lanes]) / len(lanes)


def _without_zeros(
    p: dict[str, Any], image: Sequence[int], filters: Sequence[int], result: Sequence[int], places: int
) -> float:
    """What a tap of all filters costs where those outside of the image are left out; infinite where few are."""
    share = 1.0
    for d, (n, k, m) in enumerate(zip(image[2:], filters[2:], result[2:])):
        stride, dilation = p["stride"][d], p["dilation"][d]
        before, _ = padding(p["border"], d, n, k, stride, dilation)
        inside = [0 <= i * stride - before + j * dilation < n for i in range(m) for j in range(k)]
        share *= sum(inside) / max(len(inside), 1)
    apart = filters[-1] > 1 < p["dilation"][-1]  # columns that are not beside each other
    if len(image) != 4 or p["groups"] > 1 or apart or share > MOST_INSIDE:
        return inf
    return _filled(filters[0], p) * (places * share * OF_INSIDE + OF_LAID_OUT) + places * OF_PACKING
