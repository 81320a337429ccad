"""`assume`: what the user knows about a value and the compiler may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops.assume import KNOWN
from termgraph.terms.ops.assume import assume as assume_op

if TYPE_CHECKING:
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable


def assume(x: TensorLike, **facts: bool) -> TensorVariable:
    """The same value, with facts the compiler may rely on. A wrong fact may give wrong results.

    >>> import termgraph.tensor as T
    >>> x = T.assume(T.dvector("x"), positive=True)
    >>> x.owner.op
    assume{facts=('positive',)}

    Facts: at_most_one, diagonal, finite, integer, lower_triangular, negative, nonnegative, nonpositive, nonzero,
    orthogonal, positive, positive_definite, real, sorted, symmetric, upper_triangular.
    """
    if not facts:
        raise TypeError("assume() needs at least one fact, for example assume(x, positive=True)")
    for name, value in facts.items():
        if name not in KNOWN:
            raise TypeError(f"assume() knows no fact {name!r}; it knows {', '.join(KNOWN)}")
        if value is not True:
            raise TypeError(f"assume(..., {name}={value!r}): only True can be assumed")
    return assume_op(as_tensor(x), facts=tuple(sorted(facts)))


__all__ = ["assume"]
