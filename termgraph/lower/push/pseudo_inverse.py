"""`pinv` as what NumPy makes it of: singular values and a product, in double as all of NumPy's linear algebra."""

from __future__ import annotations

import numpy as np

from termgraph.terms.build import in_dtype
from termgraph.terms.dtypes import promote
from termgraph.terms.ops.basic import dimshuffle, nth
from termgraph.terms.ops.elementwise import conj, gt, mul, switch, true_div
from termgraph.terms.ops.linalg import lapack_dtype, matmul, svd
from termgraph.terms.ops.reduce import max_or_lowest
from termgraph.terms.term import AnyTerm, Const, mk

RCOND = 1e-15  # NumPy's, where none is given


def singular_values(a: AnyTerm) -> AnyTerm:
    """The term of which `pinv` of `a` is made."""
    dtype = promote(lapack_dtype("pinv", a.type), "float64")
    a = in_dtype(a, np.dtype(dtype).name)
    return mk(svd.bind(full_matrices=False), (mk(conj, (a,)) if a.type.kind == "c" else a,))


def pseudo_inverse(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
    """`vh.T @ ((1 / s)[:, None] * u.T)` without the singular values that count as 0."""
    if t.op.params["hermitian"]:
        return t if args[0] is t.args[0] else mk(t.op, args)
    parts = singular_values(args[0])
    u, s, vh = (mk(nth.bind(i=i), (parts,)) for i in range(3))
    batch = tuple(range(s.type.ndim - 1))
    turned = dimshuffle.bind(order=(*batch, len(batch) + 1, len(batch)))
    largest = mk(max_or_lowest.bind(axis=(len(batch),)), (s,))
    rcond = t.op.params["rcond"]
    bound = Const(np.float64(RCOND if rcond is None else rcond))
    least = mk(mul, (mk(dimshuffle.bind(order=(*batch, "x")), (largest,)), bound))
    inverse = mk(switch, (mk(gt, (s, least)), mk(true_div, (Const(np.float64(1)), s)), Const(np.float64(0))))
    column = in_dtype(mk(dimshuffle.bind(order=(*batch, len(batch), "x")), (inverse,)), u.type.dtype)
    product = mk(matmul, (mk(turned, (vh,)), mk(mul, (column, mk(turned, (u,))))))
    return in_dtype(product, t.type.dtype)
