"""Facts about types, and about how often terms are used: what the engine knows without looking at values."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from termgraph.rules.clients import used_once
from termgraph.rules.goals import goal
from termgraph.terms.dtypes import HALVES, can_cast, finfo, kind_of, numpy_dtype, promote

if TYPE_CHECKING:
    from termgraph.terms.op import Op
    from termgraph.terms.term import AnyTerm


@goal("ii", fact=True, source="{0}.type.dtype == {1}.type.dtype", worth=True)
def same_dtype(x: AnyTerm, y: AnyTerm) -> bool:
    """Both have the same dtype."""
    return bool(x.type.dtype == y.type.dtype)


@goal("iii", fact=True)
def meet_in(x: AnyTerm, y: AnyTerm, t: AnyTerm) -> bool:
    """The product of two operands has the dtype of `t`: it neither wraps around nor loses digits before `t` does."""
    have, other, want = x.type.dtype, y.type.dtype, t.type.dtype
    return bool(have == other == want or promote(x.type.np_dtype, y.type.np_dtype) == t.type.np_dtype)


@goal("ii", fact=True, source="{0}.type is {1}.type", worth=True)
def same_type(x: AnyTerm, y: AnyTerm) -> bool:
    """Both have the same dtype and static shape."""
    return x.type is y.type


@goal("i", fact=True, kind=True, source="{0}.type.kind in 'iu'", worth=True)
def of_integers(x: AnyTerm) -> bool:
    """It consists of integers. Not all that is made of integers does: uint64 and int64 meet in float64."""
    return bool(x.type.kind in "iu")


@goal("i", fact=True, kind=True, source="{0}.type.kind == 'i'", worth=True)
def wraps(x: AnyTerm) -> bool:
    """Signed integers, which wrap around: every order of a sum or product gives the same bits."""
    return bool(x.type.kind == "i")


@goal("i", fact=True, kind=True, source="{0}.type.kind in 'fc'", worth=True)
def rounds(x: AnyTerm) -> bool:
    """Floating point: sums in another order are rounded differently."""
    return bool(x.type.kind in "fc")


@goal("ii", fact=True, worth=True)
def same_shape(x: AnyTerm, y: AnyTerm) -> bool | None:
    """Both are known to have the same shape."""
    if x.type.shape != y.type.shape:
        return False if None not in x.type.shape + y.type.shape else None
    return True if None not in x.type.shape else None


@goal("ii", fact=True)
def same_rank(x: AnyTerm, y: AnyTerm) -> bool:
    """Both have as many dimensions."""
    return bool(x.type.ndim == y.type.ndim)


@goal("iiii", fact=True)
def agree(x: AnyTerm, d: int, y: AnyTerm, e: int) -> bool:
    """Neither of two dimensions is broadcast along the other."""
    return bool((x.type.shape[d] == 1) == (y.type.shape[e] == 1))


@functools.cache
def holds_all(have: str, want: str) -> bool:
    """Whether every value of one dtype is a value of the other."""
    a, b = numpy_dtype(have), numpy_dtype(want)
    kind, wanted = kind_of(a), kind_of(b)
    if a == b or kind == "b":
        return True
    if wanted == "b" or kind in "fc" and wanted in "iu" or kind == "c" and wanted != "c":
        return False
    if kind in "iu" and wanted in "fc":
        digits = finfo(b).nmant + 1
        return a.itemsize * 8 - (kind == "i") <= digits and b.name not in HALVES
    return can_cast(a, b, "safe")


@goal("ii", fact=True)
def exact_in(x: AnyTerm, d: str) -> bool:
    """Every value of the dtype of `x` is kept by a cast to `d`."""
    return holds_all(x.type.dtype, d)


@goal("ii", fact=True)
def has_dtype(x: AnyTerm, d: str) -> bool:
    """It has this dtype."""
    return bool(x.type.dtype == d)


@goal("iii", fact=True)
def needless(x: AnyTerm, a: str, b: str) -> bool:
    """A cast to `a` on the way from `x` to `b` changes nothing."""
    if not holds_all(x.type.dtype, a):
        return False
    have, through, want = x.type.kind, kind_of(a), kind_of(b)
    if have == "f" and through == "c" and want in "iu":  # infinities become other integers
        return False
    return not (have in "iu" and through in "fc" and want in "iu") or holds_all(x.type.dtype, b)


@goal("ii", fact=True, source="{0}.name not in ('add', 'sub') or {1}.type.kind in 'biu'")
def keeps_zeros(f: Op, x: AnyTerm) -> bool:
    """The sign of a zero comes through: -0.0 + 0 is 0.0, everything else is as it was."""
    return f.name not in ("add", "sub") or x.type.kind in "biu"


@goal("i", fact=True)
def is_difference(t: AnyTerm) -> bool:
    """Written with a minus: x - 0 keeps the sign of a zero, which its other spelling x + 0 does not."""
    return bool(t.op.name == "sub")


@goal("i", fact=True, kind=True)
def needed_once(x: AnyTerm) -> bool:
    """Used in one place only: what is computed anyway need not be avoided."""
    return used_once(x)


needed_once.counts_clients = True


@goal("i", fact=True)
def each_once(xs: tuple[AnyTerm, ...]) -> bool:
    """Each is used in one place only: none of them has to be computed anyway."""
    return all(used_once(x) for x in xs)


each_once.counts_clients = True

for _fact in (
    same_dtype, meet_in, same_type, of_integers, wraps, rounds, same_shape, same_rank, agree, exact_in, has_dtype,
    needless, keeps_zeros,
):  # fmt: skip
    _fact.of_types = True
