"""Ops that a compiled routine computes as a whole: what it takes and gives, in which dtype, and how it can fail.

`spec_of(t)` is None where there is no routine: the op then runs by its NumPy meaning. `functions` are names for the
backend: `module__function__types`, with dtypes as NumPy's letters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from termgraph._records import record
from termgraph.lower.lengths.index import Poly, poly
from termgraph.terms.dtypes import HALVES, promote, working_name
from termgraph.terms.ops.linalg import NOT_FINITE, NOT_FINITE_LSTSQ, lapack_dtype
from termgraph.terms.ops.precision import DOUBLE, LETTERS, NO_EIGENVALUES, NO_SVD, NOT_FINITE_EIG, UNITARY, computed_in
from termgraph.terms.ops.sorting import AT_PLACES, too_few
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TupleType

Core = tuple[str, ...]  # names of lengths; equal names are equal lengths
NameOf = Callable[[Mapping[str, Any]], str]  # a routine's name by the op's parameters

# What NumPy and SciPy say.
SINGULAR, NOT_POSITIVE = "Singular matrix", "Matrix is not positive definite"
NO_LEAST_SQUARES = f"{NO_SVD} in Linear Least Squares"
ZERO_ON_DIAGONAL = "singular matrix: resolution failed at diagonal {0}"


@record(frozen=True)
class Spec:
    """A routine. `ins` and `outs` name the lengths it works on; all others are batches, over which it is repeated.

    The lengths are those of the last dimensions or, with `axis`, of that one. `text` says which C text it gets, `fails`
    what the user is told when it reports a failure, `finite` the same if operands must be finite and are not.
    """

    text: str
    functions: tuple[str, ...]
    ins: tuple[Core, ...]
    outs: tuple[Core, ...]
    axis: int | None = None
    fails: str = ""
    finite: str = ""
    broken: str = ""  # what the user is told of operands that do not fit together


# Texts of routines that check nothing and need no memory, or have plain loops for when there is none.
SURE = frozenset((
    "conv_panels", "conv_spread", "conv_taps", "conv_winograd", "pool", "pool_max_grad", "pool_sum_grad",
    "running", "searchsorted",
))  # fmt: skip
# Of linear algebra, those computed in the dtype of their matrix, as SciPy does, not in double as NumPy does.
IN_ITS_OWN = frozenset(("solve_triangular", "solve_banded", "solveh_banded", "solve_toeplitz"))
SPECS: dict[str, Callable[[Any], Spec | None]] = {}
READS: dict[
    str, Callable[[Any], tuple[str, ...]]
] = {}  # dtypes of operands, where they are not those of linear algebra
AS_STORED: dict[str, Callable[[Any], tuple[str, ...]]] = {}  # the same where kernels widen elements as they read them
SIZES: dict[
    str, Callable[[Any, AnyTerm, dict[str, Poly]], None]
] = {}  # by text: adds the lengths that operands do not have as they are
UNEQUAL: dict[str, str] = {}  # by the name of a length: what the user is told if two operands differ in it


def spec_of(t: AnyTerm) -> Spec | None:
    """The routine for a term, or None."""
    rule = SPECS.get(t.op.family.name) if t.args else None
    return rule(t) if rule is not None else None


def operand_dtypes(t: AnyTerm, calls: Collection[str] = ()) -> tuple[str, ...] | None:
    """The dtypes in which the operands of a routine are read; None if `t` is no such term.

    `calls` are the ops that the backend has kernels of its own for.
    """
    if spec_of(t) is None:
        return None
    name, types = t.op.family.name, [a.type for a in t.args]
    if name in calls and name in AS_STORED:
        return AS_STORED[name](t)
    if name in READS:
        return READS[name](t)
    if name in ("sort", "argsort", "argtopk"):
        return (types[0].dtype,)
    if name in LOOPED:
        return (t.type.dtype,)
    if name == "searchsorted":
        return (promote(*[x.np_dtype for x in types]).name,) * 2
    if t.op.kind == "fft":
        return (_transformed(t),)
    dtype = lapack_dtype(name, *types)
    return (dtype if name in IN_ITS_OWN else computed_in(name, dtype),) * len(types)


# ---------------------------------------------------------------------- linear algebra
_MATRIX, _SQUARE = ("m", "n"), ("m", "m")


def _letters(t: AnyTerm) -> tuple[str, str]:
    """What a routine of linear algebra reads, and what it makes, as NumPy's letters."""
    name = t.op.family.name
    read = lapack_dtype(name, *[a.type for a in t.args])
    double = computed_in(name, read) != read
    types = t.type.types if isinstance(t.type, TupleType) else (t.type,)
    made = [DOUBLE.get(str(x.dtype), str(x.dtype)) if double else str(x.dtype) for x in types]
    return np.dtype(computed_in(name, read)).char, "".join([np.dtype(x).char for x in made])


def _read(t: AnyTerm) -> str:
    return _letters(t)[0]


def _declare(
    name: str, function: NameOf | str, ins: tuple[Core, ...], outs: tuple[Core, ...], fails: str = "", finite: str = ""
) -> None:
    """One of NumPy's routines of linear algebra, whose result dtypes are those of the op."""

    def rule(t: AnyTerm) -> Spec:
        called = function if isinstance(function, str) else function(t.op.params)
        return Spec(
            "loop", (f"linalg__{called}__{'_'.join(_letters(t))}",), ins, outs, None, unless_nan(t, fails), finite
        )

    SPECS[name] = rule


def unless_nan(t: AnyTerm, fails: str) -> str:
    """What the user is told of a failure: nothing if NaN was asked for, which is what the routines then leave."""
    return "" if t.op.params.get("on_error") == "nan" else fails


def _side(name: str) -> NameOf:
    return lambda params: f"{name}_{'lo' if params['lower'] else 'up'}"


_declare("inv", "inv", (_SQUARE,), (_SQUARE,), SINGULAR)
_declare("det", "det", (_SQUARE,), ((),))
_declare("slogdet", "slogdet", (_SQUARE,), ((), ()))
_declare("cholesky", _side("cholesky"), (_SQUARE,), (_SQUARE,), NOT_POSITIVE)
_declare("eigh", _side("eigh"), (_SQUARE,), (("m",), _SQUARE), NO_EIGENVALUES)
_declare("eigvalsh", _side("eigvalsh"), (_SQUARE,), (("m",),), NO_EIGENVALUES)
_declare("svdvals", "svd", (_MATRIX,), (("p",),), NO_SVD, NOT_FINITE)
_declare("eig", "eig", (_SQUARE,), (("m",), _SQUARE), NO_EIGENVALUES, NOT_FINITE_EIG)
_declare("eigvals", "eigvals", (_SQUARE,), (("m",),), NO_EIGENVALUES, NOT_FINITE_EIG)


def _lstsq(t: AnyTerm) -> Spec:
    """The residuals have no place: how many there are depends on the rank."""
    x = _read(t)
    names = (f"linalg__lstsq__{x}{x}d_{x}did",)
    outs = (("n", "k"), ("k",), (), ("p",))
    return Spec("lstsq", names, (_MATRIX, ("m", "k")), outs, None, NO_LEAST_SQUARES, NOT_FINITE_LSTSQ)


def _solve(t: AnyTerm) -> Spec | None:
    if t.op.params["assume_a"] != "gen":
        return None
    x = _read(t)
    return Spec("loop", (f"linalg__solve__{x}{x}_{x}",), (_SQUARE, _MATRIX), (_MATRIX,), None, unless_nan(t, SINGULAR))


def _svd(t: AnyTerm) -> Spec:
    full = t.op.params["full_matrices"]
    outs = (_SQUARE, ("p",), ("n", "n")) if full else (("m", "p"), ("p",), ("p", "n"))
    name = f"linalg__svd_{'f' if full else 's'}__{'_'.join(_letters(t))}"
    return Spec("loop", (name,), (_MATRIX,), outs, None, NO_SVD, NOT_FINITE)


def _qr(t: AnyTerm) -> Spec:
    x, complete = np.dtype(_read(t)), t.op.params["mode"] == "complete"
    names = tuple([f"lapack__{LETTERS[x.char]}{name}__" for name in ("geqrf", UNITARY[x.kind])])
    outs = (_SQUARE, _MATRIX) if complete else (("m", "p"), ("p", "n"))
    return Spec("qr", names, (_MATRIX,), outs)


def _solve_triangular(t: AnyTerm) -> Spec:
    return Spec("trsm", (), (_SQUARE, _MATRIX), (_MATRIX,), None, unless_nan(t, ZERO_ON_DIAGONAL))


def _lu_columns(t: AnyTerm) -> Spec:
    return Spec("lu_columns", (f"lapack__{LETTERS[_read(t)]}gesv__",), (_SQUARE,), (_SQUARE, ("m",)))


def _lu_solve(t: AnyTerm) -> Spec:
    name = f"lapack__{LETTERS[t.type.np_dtype.char]}getrs__"
    return Spec("lu_solve", (name,), (_SQUARE, ("m",), _MATRIX), (_MATRIX,), None, unless_nan(t, SINGULAR))


READS["lu_solve"] = lambda t: (t.type.dtype, "int64", t.type.dtype)
SPECS.update(lu_columns=_lu_columns, lu_solve=_lu_solve)
SPECS.update(lstsq=_lstsq, solve=_solve, svd=_svd, qr=_qr, solve_triangular=_solve_triangular)


# ---------------------------------------------------------------------- transforms
def _transformed(t: AnyTerm) -> str:
    """The dtype that the routine reads."""
    real = t.op.family.name == "rfft"
    single = t.type.dtype in ("complex64", "float32")
    return ("float32" if single else "float64") if real else ("complex64" if single else "complex128")


def _transform(t: AnyTerm) -> Spec | None:
    if t.type.dtype in HALVES or t.args[0].type.dtype in HALVES:
        return None
    name, axis = t.op.family.name, t.op.params["axis"]
    x = np.dtype(_transformed(t)).char
    types = f"{x}{x.lower()}_{t.type.np_dtype.char}"
    called = ("rfft_n_even", "rfft_n_odd") if name == "rfft" else (name,)
    return Spec("fft", tuple([f"fft__{c}__{types}" for c in called]), (("n",),), (("points",),), axis)


SPECS.update(dict.fromkeys(("fft", "ifft", "rfft", "irfft"), _transform))


# ---------------------------------------------------------------------- order
def _sorting(t: AnyTerm) -> Spec:
    name, dtype = t.op.family.name, t.args[0].type.dtype
    dtype = "float32" if dtype == "bfloat16" else dtype  # NumPy has no functions for it; `expand` widens the operand
    keys = name == "sort" and dtype == "float16"  # sorted as unsigned numbers
    functions = [f"sort__{name}__{'uint16' if keys else dtype}_"]
    if name == "argsort" and t.args[0].type.kind != "c":  # places are sorted with the elements, as one number
        functions.append("sort__sort__uint64_")
    return Spec(name, tuple(functions), (("n",),), (("n",),), t.op.params["axis"])


def _topmost(t: AnyTerm) -> Spec | None:
    x = t.args[0].type
    return (
        None if x.kind == "c" else Spec("argtopk", ("sort__sort__uint64_",), (("n",),), (("k",),), t.op.params["axis"])
    )


def _at_places(t: AnyTerm) -> Spec | None:
    """Rows, and places in them where an element is asked for."""
    x, name = t.args[0].type, t.op.family.name
    if x.kind == "c":
        return None
    told = f"index {{0}} is out of bounds for axis {x.ndim - 1} with size {{1}}"
    length = "k" if name == "order_statistics" else "n"
    sorting = f"sort__sort__{working_name(x.dtype)}_"  # `expand` widens floats of 16 bits
    return Spec(name, (sorting,), (("n",), ("k",)), ((length,),), fails=told)


def _enough(s: Any, t: AnyTerm, sizes: dict[str, Poly]) -> None:
    k = t.op.params["k"]
    sizes["k"] = poly(abs(k))
    s.require(t, "ge", sizes["n"], sizes["k"], too_few("{0}", k))


def _running(t: AnyTerm) -> Spec | None:
    """Running sums and their kin along the last axis: each waits for the one before, so rows go side by side."""
    x, axis = t.args[0].type, t.op.params["axis"]
    if axis != x.ndim - 1 or t.type.kind not in "iuf" or {t.type.dtype, x.dtype} & {*HALVES}:
        return None
    return Spec("running", (), (("n",),), (("n",),), axis)


def _searchsorted(t: AnyTerm) -> Spec | None:
    dtype = promote(*[a.type.np_dtype for a in t.args])
    if dtype.kind == "c" or dtype.name in HALVES:
        return None
    return Spec("searchsorted", (), (("n",), ()), ((),))


def _isin(t: AnyTerm) -> Spec | None:
    dtype = t.args[0].type.np_dtype
    if dtype.kind not in "iuf" or dtype.name in HALVES or t.type.ndim == 0:
        return None
    return Spec("isin", (), (("whole",), ("n",)), (("whole",),))


SPECS.update(sort=_sorting, argsort=_sorting, argtopk=_topmost, searchsorted=_searchsorted)
SPECS.update(dict.fromkeys(AT_PLACES, _at_places))
READS.update(dict.fromkeys(AT_PLACES, lambda t: (t.args[0].type.dtype, "int64")))
SIZES["argtopk"] = _enough
SPECS["isin"] = _isin
READS["isin"] = lambda t: (t.args[0].type.dtype,) * 2
# With a routine for some operands, and a loop for the others.
LOOPED = dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), _running)
SPECS.update(LOOPED)
