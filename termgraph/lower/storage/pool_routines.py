"""Routines over the planes of images: pooling and its gradients. All dimensions before the pooled ones are batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from termgraph.lower.lengths.index import Poly, divide, maximum, poly
from termgraph.lower.lengths.shapes import Lengths
from termgraph.lower.storage.routine_table import AS_STORED, READS, SIZES, SPECS, Spec
from termgraph.terms.dtypes import HALVES
from termgraph.terms.ops.pooling import MAX_GRAD, POOL, SUM_GRAD, window_places
from termgraph.terms.term import AnyTerm

IMAGE, PLACES = ("d", "h", "w"), ("od", "oh", "ow")  # the last one to three of them


def _spec(text: str, ins: str, out: str) -> Callable[..., Any]:
    """A rule for the table: `x` stands for the image's dimensions, `y` for those of the windows, `n` for a length."""

    def rule(t: AnyTerm) -> Spec | None:
        n = len(t.op.params["size"])
        if not 1 <= n <= 3 or "c" in [a.type.kind for a in t.args]:
            return None
        core = {"x": IMAGE[-n:], "y": PLACES[-n:], "n": ()}
        named = ins + "n" * (len(t.args) - len(ins))
        return Spec(text, (), tuple([core[c] for c in named]), (core[out],))

    return rule


def _reads(t: AnyTerm) -> tuple[str, ...]:
    """Floats of 16 bits are widened, truth values are small numbers."""
    names = [a.type.dtype for a in t.args if a.type.ndim]
    narrow = {**dict.fromkeys(HALVES, "float32"), "bool": "uint8"}
    wide = [narrow.get(d, d) for d in names]
    return (*wide, *["int64"] * (len(t.args) - len(wide)))


def _as_stored(t: AnyTerm) -> tuple[str, ...]:
    """Every array as it is."""
    return tuple([a.type.dtype if a.type.ndim else "int64" for a in t.args])


def _sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    """How many windows there are, or how long the image is that they were taken of."""
    p, n = t.op.params, len(t.op.params["size"])
    for d, (image, place) in enumerate(zip(IMAGE[-n:], PLACES[-n:])):
        if t.op.family.name == SUM_GRAD:
            sizes[image] = s.as_length(t.args[1 + d], t)
            continue
        k, stride, pad = (p[name][d] for name in ("size", "stride", "pad"))
        if p["ignore_border"] and not p["short"]:
            text = (
                f"a window over {{1}} elements does not fit into pooled dimension {d} of length {{0}}, padding included"
            )
            s.require(t, "ge", sizes[image] + 2 * pad, poly(k), text)
        count = window_places(sizes[image], k, stride, pad, p["ignore_border"], maximum, _quotient)
        count = maximum(count, 0) if p["short"] else count
        text = f"{t.op.family.name}: there are {{0}} windows, and {{1}} elements for them"
        sizes[place] = s.equal(t, count, sizes[place], text) if place in sizes else count


def _quotient(a: Poly, b: int) -> Poly:
    return divide(a, b)[0]


SPECS.update({POOL: _spec("pool", "x", "y"), MAX_GRAD: _spec("pool_max_grad", "xyy", "x")})
SPECS[SUM_GRAD] = _spec("pool_sum_grad", "y", "x")
READS.update(dict.fromkeys((POOL, MAX_GRAD, SUM_GRAD), _reads))
AS_STORED.update(dict.fromkeys((POOL, MAX_GRAD, SUM_GRAD), _as_stored))
SIZES.update(dict.fromkeys(("pool", "pool_max_grad", "pool_sum_grad"), _sizes))
