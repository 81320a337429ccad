"""Which routines solve systems whose matrix has a structure and filter between rates, and their lengths."""

from __future__ import annotations

from typing import Any

from termgraph.lower.lengths.index import ONE, ZERO, Poly, divide, maximum, poly
from termgraph.lower.storage.routine_table import READS, SINGULAR, SIZES, SPECS, UNEQUAL, Spec, unless_nan
from termgraph.terms.ops.resampling import NO_FILTER
from termgraph.terms.ops.structured import BANDS, NO_BANDS, NOT_POSITIVE, ROWS, SINGULAR_MINOR, UNLIKE
from termgraph.terms.term import AnyTerm

_CORES = (("bands", "side"), ("side", "n"))


def _banded(t: AnyTerm) -> Spec:
    return Spec("solve_banded", (), _CORES, (("side", "n"),), None, unless_nan(t, SINGULAR))


def _hermitian(t: AnyTerm) -> Spec:
    return Spec("solveh_banded", (), _CORES, (("side", "n"),), None, unless_nan(t, NOT_POSITIVE))


def _toeplitz(t: AnyTerm) -> Spec:
    cores = (("line",), ("line",), ("line", "n"))
    return Spec("solve_toeplitz", (), cores, (("line", "n"),), None, unless_nan(t, SINGULAR_MINOR))


def _bands(s: Any, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    wanted = t.op.params["lower"] + t.op.params["upper"] + 1
    sizes["bands"] = s.equal(t, sizes["bands"], poly(wanted), BANDS["solve_banded"])


def _at_least_one(s: Any, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    s.require(t, "ge", sizes["bands"], ONE, NO_BANDS)


def _upfirdn(t: AnyTerm) -> Spec:
    return Spec("upfirdn", (), (("n",), ("k",)), (("places",),))


def _places(s: Any, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    s.require(t, "ge", sizes["k"], ONE, NO_FILTER)
    up, down = t.op.params["up"], t.op.params["down"]
    sizes["places"] = divide(maximum(sizes["n"] * up + sizes["k"] + (down - up - 1), ZERO), down)[0]


def _upfirdn_slope(t: AnyTerm) -> Spec:
    return Spec("upfirdn_slope", (), (("n",), ("places",), ("k",)), (("k",),))


SPECS.update(upfirdn=_upfirdn, upfirdn_slope=_upfirdn_slope)
SIZES["upfirdn"] = _places
READS["upfirdn"] = lambda t: (t.type.dtype,) * 2
READS["upfirdn_slope"] = lambda t: (t.type.dtype, t.type.dtype, t.args[2].type.dtype)
SPECS.update(solve_banded=_banded, solveh_banded=_hermitian, solve_toeplitz=_toeplitz)
SIZES.update(solve_banded=_bands, solveh_banded=_at_least_one)
UNEQUAL.update(side=ROWS, line=UNLIKE)
