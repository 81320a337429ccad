"""Routines on the patterns of sparse matrices, and for products with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from termgraph.lower.lengths.shapes import Lengths
from termgraph.lower.storage.routine_table import READS, SIZES, SPECS, UNEQUAL, Spec
from termgraph.terms.dtypes import HALVES
from termgraph.terms.sparse import INDEX

if TYPE_CHECKING:
    from termgraph.lower.lengths.index import Poly
    from termgraph.terms.term import AnyTerm

OUTSIDE = "a sparse matrix has an element at index {0}, which is out of bounds"
NOT_COUNTED = "the indptr of a sparse matrix does not count its {0} elements"
UNEQUAL.update(
    entries="data and indices of a sparse matrix have lengths {0} and {1}",
    beside="matrices side by side must have as many rows (CSC: columns): their indptr have lengths {0} and {1}",
    pointers="the matrices must have the same shape: their indptr have lengths {0} and {1}",
)


def _product(t: AnyTerm) -> Spec | None:
    if t.type.dtype == "bool":
        return None
    width = ("width",) * (t.type.ndim - 1)
    ins = (("entries",), ("entries",), ("pointers",), (), ("columns", *width))
    return Spec("csm_dot", (), ins, (("rows", *width),), None, OUTSIDE)


def _product_sizes(s: Lengths, t: Any, sizes: dict[str, Poly]) -> None:
    sizes["rows"] = rows = s.as_length(t.args[3], t)
    by_rows = t.op.params["format"] == "csr"
    text = "a sparse matrix with {0} in indptr, which has to be {1}: one more than it has " + (
        "rows" if by_rows else "columns, or the right operand rows"
    )
    s.equal(t, sizes["pointers"], (rows if by_rows else sizes["columns"]) + 1, text)


def _majors(t: AnyTerm) -> Spec:
    return Spec("csm_majors", (), (("entries",), ("pointers",)), (("entries",),), None, NOT_COUNTED)


def _switch(t: AnyTerm) -> Spec:
    outs = (("entries",), ("entries",), ("turned",))
    return Spec("csm_switch", (), (("entries",), ("pointers",), ()), outs, None, OUTSIDE, "", NOT_COUNTED)


def _switched(t: AnyTerm) -> Spec | None:
    if t.args[0].type.dtype in HALVES:
        return None
    ins, outs = (("entries",), ("entries",), ("pointers",), ()), (("entries",), ("entries",), ("turned",))
    return Spec("csm_switched", (), ins, outs, None, OUTSIDE, "", NOT_COUNTED)


def _switch_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["turned"] = s.as_length(t.args[-1], t) + 1


def _sorted(t: AnyTerm) -> Spec:
    ins, outs = (("entries",), ("pointers",), ()), (("entries",), ("entries",))
    return Spec("csm_sorted", (), ins, outs, None, OUTSIDE, "", NOT_COUNTED)


def _ordered(t: AnyTerm) -> Spec | None:
    if t.args[0].type.dtype in HALVES:
        return None
    ins = (("entries",), ("entries",), ("pointers",), ())
    return Spec("csm_ordered", (), ins, (("entries",), ("entries",)), None, OUTSIDE, "", NOT_COUNTED)


def _sorted_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["minor"] = s.as_length(t.args[-1], t)


def _merged(t: AnyTerm) -> Spec:
    ins = (("entries",), ("pointers",), ("more",), ("pointers",), ())
    outs = (("entries",), ("more",), ("room",), ("pointers",))
    return Spec("csm_merged", (), ins, outs, None, OUTSIDE, "", NOT_COUNTED)


def _merged_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["minor"] = s.as_length(t.args[-1], t)
    sizes["room"] = sizes["entries"] if t.op.params["both"] else sizes["entries"] + sizes["more"]


def _beside(t: AnyTerm) -> Spec | None:
    if t.args[0].type.dtype in HALVES:
        return None
    ins = (("entries",), ("entries",), ("beside",), ("more",), ("more",), ("beside",), ())
    return Spec("csm_beside", (), ins, (("room",), ("room",)), None, NOT_COUNTED)


def _beside_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["width"], sizes["room"] = s.as_length(t.args[-1], t), sizes["entries"] + sizes["more"]


def _joined(t: AnyTerm) -> Spec | None:
    if t.args[0].type.dtype == "bool" or t.args[0].type.dtype in HALVES:
        return None
    ins = (("entries",), ("entries",), ("pointers",), ("more",), ("more",), ("pointers",), ())
    return Spec("csm_joined", (), ins, (("room",), ("room",), ("pointers",)), None, OUTSIDE, "", NOT_COUNTED)


def _multiplied(t: AnyTerm) -> Spec | None:
    if t.args[0].type.dtype == "bool" or t.args[0].type.dtype in HALVES:
        return None
    ins = (("entries",), ("entries",), ("pointers",), ("more",), ("more",), ("inner",), (), ())
    return Spec("csm_multiplied", (), ins, (("room",), ("room",), ("pointers",)), None, OUTSIDE, "", NOT_COUNTED)


def _multiplied_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["minor"], sizes["room"] = s.as_length(t.args[6], t), s.as_length(t.args[7], t)


def _kept(t: AnyTerm) -> Spec | None:
    if t.args[1].type.dtype in HALVES:
        return None
    ins = (("entries",), ("entries",), ("entries",), ("pointers",))
    return Spec("csm_kept", (), ins, (("entries",), ("entries",), ("pointers",)), None, NOT_COUNTED)


def _dense(t: AnyTerm) -> Spec | None:
    if t.type.dtype in HALVES:
        return None
    ins = (("entries",), ("entries",), ("pointers",), (), ())
    return Spec("csm_dense", (), ins, (("rows", "columns"),), None, OUTSIDE, "", NOT_COUNTED)


def _dense_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["rows"], sizes["columns"] = s.as_length(t.args[3], t), s.as_length(t.args[4], t)
    major = sizes["rows" if t.op.params["format"] == "csr" else "columns"]
    s.equal(t, sizes["pointers"], major + 1, "a sparse matrix with {0} in indptr, which has to be {1}")


def _diagonal(t: AnyTerm) -> Spec | None:
    if t.type.dtype in HALVES:
        return None
    return Spec("csm_diagonal", (), (("entries",), ("entries",), ("pointers",), ()), (("n",),), None, NOT_COUNTED)


def _diagonal_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["n"] = s.as_length(t.args[3], t)


SPECS.update(csm_dense=_dense, csm_diagonal=_diagonal)
SIZES.update(csm_dense=_dense_sizes, csm_diagonal=_diagonal_sizes)
SPECS.update(csm_dot=_product, csm_majors=_majors, csm_switch=_switch, csm_switched=_switched)
SPECS.update(csm_sorted=_sorted, csm_ordered=_ordered)
SPECS.update(csm_merged=_merged, csm_joined=_joined, csm_multiplied=_multiplied, csm_kept=_kept)
SIZES.update(csm_dot=_product_sizes, csm_switch=_switch_sizes, csm_sorted=_sorted_sizes, csm_merged=_merged_sizes)
SPECS.update(csm_beside=_beside)
SIZES.update(csm_ordered=_sorted_sizes, csm_beside=_beside_sizes, csm_switched=_switch_sizes)
SIZES.update(csm_joined=_merged_sizes, csm_multiplied=_multiplied_sizes)
READS.update(
    csm_dense=lambda t: (t.type.dtype, INDEX, INDEX, "int64", "int64"),
    csm_diagonal=lambda t: (t.type.dtype, INDEX, INDEX, "int64"),
    csm_dot=lambda t: (t.type.dtype, INDEX, INDEX, "int64", t.type.dtype),
    csm_majors=lambda t: (INDEX, INDEX),
    csm_switch=lambda t: (INDEX, INDEX, "int64"),
    csm_switched=lambda t: (t.args[0].type.dtype, INDEX, INDEX, "int64"),
    csm_sorted=lambda t: (INDEX, INDEX, "int64"),
    csm_ordered=lambda t: (t.args[0].type.dtype, INDEX, INDEX, "int64"),
    csm_merged=lambda t: (INDEX, INDEX, INDEX, INDEX, "int64"),
    csm_beside=lambda t: (*(t.args[0].type.dtype, INDEX, INDEX) * 2, "int64"),
    csm_joined=lambda t: (*(t.args[0].type.dtype, INDEX, INDEX) * 2, "int64"),
    csm_multiplied=lambda t: (*(t.args[0].type.dtype, INDEX, INDEX) * 2, "int64", "int64"),
    csm_kept=lambda t: ("bool", t.args[1].type.dtype, INDEX, INDEX),
)
