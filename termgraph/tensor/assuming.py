"""`assume`: what the user knows about a value and the compiler may use."""

from __future__ import annotations

from typing import Any

from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops.assume import KNOWN
from termgraph.terms.ops.assume import assume as assume_op
from termgraph.terms.ops.assume import between as between_op


def assume(
    x: TensorLike, *, between: tuple[Any, Any] | None = None, multiple_of: int | None = None, **facts: bool
) -> TensorVariable:
    """The same value, with facts the compiler may rely on. A wrong fact may give wrong results.

    >>> import termgraph.tensor as T
    >>> x = T.assume(T.dvector("x"), positive=True)
    >>> x.owner.op
    assume{facts=('positive',)}

    Facts: at_most_one, diagonal, finite, integer, lower_triangular, negative, no_minus_zero, nonnegative, nonpositive,
    nonzero, orthogonal, positive, positive_definite, real, sorted, symmetric, upper_triangular.

    Whole numbers may be known to lie `between` two others, as in `range(low, high)`, which are numbers or scalars of
    the graph, and to be multiples of a number:

    >>> from termgraph import db
    >>> i, n = T.lscalar("i"), T.lscalar("n")
    >>> db.rewrite(T.minimum(T.assume(i, between=(0, n)), n - 1), "+canonicalize").term
    between(i, 0, n)
    >>> db.rewrite(T.assume(n, multiple_of=4) % 4, "+canonicalize").term
    0
    """
    if not facts and between is None and multiple_of is None:
        raise TypeError("assume() needs at least one fact, for example assume(x, positive=True)")
    for name, value in facts.items():
        if name not in KNOWN:
            hint = ", ".join((*KNOWN, "between", "multiple_of"))
            raise TypeError(f"assume() knows no fact {name!r}; it knows {hint}")
        if value is not True:
            raise TypeError(f"assume(..., {name}={value!r}): only True can be assumed")
    x = as_tensor(x)
    if between is not None or multiple_of is not None:
        _require_integers(x)
    if between is not None:
        x = between_op(x, *_limits(between))
    if facts or multiple_of is not None:
        x = assume_op(x, facts=tuple(sorted(facts)), multiple_of=_step(multiple_of))
    return x


def _require_integers(x: TensorVariable) -> None:
    if x.type.dtype is None or x.type.kind not in "iu":
        raise TypeError(
            f"assume(): between and multiple_of are about whole numbers, got {x} of type {x.type}; "
            "of floating-point numbers a sign can be assumed, and tg.accurate takes ranges="
        )


def _limits(between: tuple[Any, Any]) -> list[TensorVariable]:
    if not isinstance(between, (tuple, list)) or len(between) != 2:
        raise TypeError(f"assume(between={between!r}): give a pair (low, high), as in range(low, high)")
    ends = [as_tensor(end) for end in between]
    for end in ends:
        if end.type.ndim != 0 or end.type.kind not in "iu":
            raise TypeError(
                f"assume(between=...): both ends are whole numbers without dimensions, got {end} of {end.type}"
            )
    low, high = [getattr(end.term, "scalar", None) for end in ends]
    if low is not None and high is not None and low >= high:
        raise ValueError(f"assume(between=({low}, {high})): no number is at least {low} and below {high}")
    return ends


def _step(multiple_of: int | None) -> int:
    if multiple_of is None:
        return 1
    if isinstance(multiple_of, bool) or not hasattr(multiple_of, "__index__") or multiple_of.__index__() < 1:
        raise ValueError(f"assume(multiple_of={multiple_of!r}): give a whole number from 1 on")
    return multiple_of.__index__()


__all__ = ["assume"]
