"""Derivatives of the ops of sparse matrices. The cotangent of a sparse matrix is that of its stored elements, a vector.

No gradient reaches elements that are not stored, and none changes which ones are.
"""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_sparse import (
    beside_back, columns_of, dense_back, diagonal_back, joined_back, kept_back, multiplied_back, ordered_back, rows_of,
    spread_back, switched_back,
)
from termgraph.rulelib._goals_grad import other_format
from termgraph.rulelib._goals_grad_forward import product_rule
from termgraph.rules import head, param, rule, ruleset, seg
from termgraph.rules.parts import length
from termgraph.terms.ops.derivative import pullback, pushforward
from termgraph.terms.ops.indexing import gather
from termgraph.terms.ops.sparse import (
    csm, csm_beside, csm_data, csm_dense, csm_diagonal, csm_dot, csm_joined, csm_kept, csm_multiplied, csm_ordered,
    csm_sample, csm_switched,
)


# ---------------------------------------------------------------------- rules
@ruleset("grad")
def grad_sparse(s, d, i, j, p, h, k, n, r, c, x, y, g, f: param, b: param):
    yield rule("apart",    pullback(csm_data(s), g),                         (g,))
    yield rule("together", pullback(csm(d, i, p, h, format=f), g),           (g, None, None, None))
    yield rule("dot",      pullback(csm_dot(d, i, p, n, x, format=f), g),
                           (csm_sample(rows_of(i, p, f), columns_of(i, p, f), g, x), None, None, None,
                               csm_dot(d, i, p, length(x, 0), g, format=b)),
                           other_format(f, b))
    yield rule("sample",   pullback(csm_sample(i, j, x, y), g),
                           (None, None, spread_back(x, i, g, gather(y, j, index=("a",))),
                               spread_back(y, j, g, gather(x, i, index=("a",)))))
    yield rule("ordered",  pullback(csm_ordered(d, i, p, n), g, h),        (ordered_back(i, p, n, g), None, None, None))
    yield rule("switched", pullback(csm_switched(d, i, p, n), g, h, k),   (switched_back(i, p, n, g), None, None, None))
    yield rule("kept",     pullback(csm_kept(s, d, i, p), g, h, k),          (None, kept_back(s, g), None, None))
    yield rule("beside",   pullback(csm_beside(d, i, p, x, j, c, n), g, h),
                           (beside_back(0, i, p, j, c, g), None, None, beside_back(1, i, p, j, c, g), None, None, None))
    yield rule("dense",    pullback(csm_dense(d, i, p, n, h, format=f), g),
                           (dense_back(i, p, g, f), None, None, None, None))
    yield rule("diagonal", pullback(csm_diagonal(d, i, p, n), g),
                           (diagonal_back(i, p, n, g), None, None, None))
    yield rule("joined",   pullback(csm_joined(d, i, p, x, j, c, n, both=b), g, h, k),
                           (joined_back(0, d, i, p, x, j, c, n, g, b), None, None,
                               joined_back(1, d, i, p, x, j, c, n, g, b), None, None, None))
    yield rule("multiplied", pullback(csm_multiplied(d, i, p, x, j, c, n, r), g, h, k),
                           (multiplied_back(0, d, i, p, x, j, c, n, g), None, None,
                               multiplied_back(1, d, i, p, x, j, c, n, g), None, None, None, None))


@ruleset("grad")
def forward_sparse(s, d, i, p, h, n, t, u, v, w, x, g, xs: seg, ts: seg, f: param, m: head[csm_dot, csm_sample]):
    yield rule("apart",    pushforward(csm_data(s), t),                             t)
    yield rule("together", pushforward(csm(d, i, p, h, format=f), t, u, v, w),      t)
    yield rule("dense",    pushforward(csm_dense(d, i, p, n, h, format=f), t, u, v, w, x),
                           csm_dense(t, i, p, n, h, format=f))
    yield rule("diagonal", pushforward(csm_diagonal(d, i, p, n), t, u, v, w),       csm_diagonal(t, i, p, n))
    yield rule("products", pushforward(m(*xs), *ts),                                g, product_rule(m, xs, ts, g))
