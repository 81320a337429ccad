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


# What each routine takes and gives, by the lengths of these; dtypes of operands by letter; what the user is told; and
# whether it adds or multiplies elements. Letters: d the first operand's elements, i places, n a number, b truth values.
ROUTINES = {
    "csm_majors": ("entries pointers", "entries", "ii", NOT_COUNTED, ""),
    "csm_switch": ("entries pointers -", "entries entries turned", "iin", OUTSIDE, NOT_COUNTED),
    "csm_switched": ("entries entries pointers -", "entries entries turned", "diin", OUTSIDE, NOT_COUNTED),
    "csm_sorted": ("entries pointers -", "entries entries", "iin", OUTSIDE, NOT_COUNTED),
    "csm_ordered": ("entries entries pointers -", "entries entries", "diin", OUTSIDE, NOT_COUNTED),
    "csm_merged": ("entries pointers more pointers -", "entries more room pointers", "iiiin", OUTSIDE, NOT_COUNTED),
    "csm_beside": ("entries entries beside more more beside -", "room room", "diidiin", NOT_COUNTED, ""),
    "csm_joined": (
        "entries entries pointers more more pointers -", "room room pointers", "diidiin", OUTSIDE, NOT_COUNTED,
    ),
    "csm_multiplied": (
        "entries entries pointers more more inner - -", "room room pointers", "diidiinn", OUTSIDE, NOT_COUNTED,
    ),
    "csm_kept": ("entries entries entries pointers", "entries entries pointers", "bdii", NOT_COUNTED, ""),
    "csm_dense": ("entries entries pointers - -", "rows,columns", "diinn", OUTSIDE, NOT_COUNTED),
    "csm_diagonal": ("entries entries pointers -", "n", "diin", NOT_COUNTED, ""),
}  # fmt: skip
ARITHMETIC = ("csm_joined", "csm_multiplied")  # truth values are no numbers to them
LETTERS = {"i": INDEX, "n": "int64", "b": "bool"}


def _rows(name: str) -> None:
    takes, gives, dtypes, fails, broken = ROUTINES[name]
    ins, outs = [tuple([() if x == "-" else tuple(x.split(",")) for x in text.split()]) for text in (takes, gives)]
    spec = Spec(name, (), ins, outs, None, fails, "", broken)

    def elements(t: AnyTerm) -> Any:
        return t.args[dtypes.index("d")].type.dtype

    def spec_of(t: AnyTerm) -> Spec | None:
        refused = "d" in dtypes and (elements(t) in HALVES or (elements(t) == "bool" and name in ARITHMETIC))
        return None if refused else spec

    SPECS[name] = spec_of
    READS[name] = lambda t: tuple([elements(t) if x == "d" else LETTERS[x] for x in dtypes])


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


def _switch_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["turned"] = s.as_length(t.args[-1], t) + 1


def _sorted_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["minor"] = s.as_length(t.args[-1], t)


def _merged_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["minor"] = s.as_length(t.args[-1], t)
    sizes["room"] = sizes["entries"] if t.op.params["both"] else sizes["entries"] + sizes["more"]


def _beside_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["width"], sizes["room"] = s.as_length(t.args[-1], t), sizes["entries"] + sizes["more"]


def _multiplied_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["minor"], sizes["room"] = s.as_length(t.args[6], t), s.as_length(t.args[7], t)


def _dense_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["rows"], sizes["columns"] = s.as_length(t.args[3], t), s.as_length(t.args[4], t)
    major = sizes["rows" if t.op.params["format"] == "csr" else "columns"]
    s.equal(t, sizes["pointers"], major + 1, "a sparse matrix with {0} in indptr, which has to be {1}")


def _diagonal_sizes(s: Lengths, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    sizes["n"] = s.as_length(t.args[3], t)


for name in ROUTINES:
    _rows(name)
SPECS["csm_dot"] = _product
READS["csm_dot"] = lambda t: (t.type.dtype, INDEX, INDEX, "int64", t.type.dtype)
SIZES.update(csm_dot=_product_sizes, csm_dense=_dense_sizes, csm_diagonal=_diagonal_sizes, csm_beside=_beside_sizes)
SIZES.update(csm_switch=_switch_sizes, csm_switched=_switch_sizes, csm_sorted=_sorted_sizes, csm_ordered=_sorted_sizes)
SIZES.update(csm_merged=_merged_sizes, csm_joined=_merged_sizes, csm_multiplied=_multiplied_sizes)
