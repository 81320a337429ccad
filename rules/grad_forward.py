"""Forward derivatives where they are simpler than what follows from the pullbacks.

`pushforward(y, *tangents)` is the tangent of y, given one tangent per argument (None where an argument has none).
Element-wise ops need no line here: their pullback rule says it all, unless complex conjugates are involved.
"""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_forward import (
    at_first_places, from_partitioned_places, from_sorted_places, in_sorted_order,
)
from termgraph.rulelib._goals_grad_forward import both, or_zero, or_zeros, product_rule
from termgraph.rules import Complex, head, param, rule, ruleset, seg
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.derivative import pushforward
from termgraph.terms.ops.elementwise import abs_, complex_, conj, eq, imag, real, sign, switch
from termgraph.terms.ops.fft import fft, ifft, irfft, rfft
from termgraph.terms.ops.indexing import (
    gather, inc_subtensor, scatter_add, scatter_set, set_subtensor, subtensor,
)
from termgraph.terms.ops.linalg import dot, inv, matmul, solve
from termgraph.terms.ops.reduce import cumsum, sum_
from termgraph.terms.ops.shaping import (
    alloc, alloc_diag, diagonal, join, make_vector, reshape, specify_shape, unbroadcast,
)
from termgraph.terms.ops.sorting import order_statistics, partition, sort, unique
from termgraph.terms.ops.transfer import to_device
from termgraph.terms.ops.triangles import pack_triangle, unpack_triangle


@ruleset("grad")
def forward_linear(x, y, c, t, u, v, r, w, a: param, b: param, xs: seg, ns: seg, ts: seg, us: seg, rs: seg,
                   f: head[sum_, cumsum, dimshuffle, unbroadcast, diagonal, alloc_diag, pack_triangle, fft, ifft, rfft,
                           irfft, real, imag, conj, to_device],
                   m: head[reshape, alloc, subtensor, gather, unpack_triangle], j: head[join, make_vector],
                   s: head[inc_subtensor, set_subtensor, scatter_add], p: head[dot, matmul]):
    yield rule("linear",    pushforward(f(x), t),                        f(t))
    yield rule("moves",     pushforward(m(x, *ns), t, *us),              m(t, *ns))
    yield rule("specify",   pushforward(specify_shape(x, *ns, known=a, told=b), t, *us),
                            specify_shape(t, *ns, known=a, told=b))
    yield rule("joins",     pushforward(j(*xs), *ts),                    j(*rs),
                            or_zeros(xs, ts, rs))
    yield rule("writes",    pushforward(s(x, y, *ns), t, u, *us),        s(v, w, *ns),
                            or_zero(x, t, v), or_zero(y, u, w))
    yield rule("scatter",   pushforward(scatter_set(x, y, *ns, index=a), t, u, *us),  scatter_set(v, w, *ns, index=a),
                            or_zero(x, t, v), or_zero(y, u, w))
    yield rule("switch",    pushforward(switch(c, x, y), r, t, u),       switch(c, v, w),
                            or_zero(x, t, v), or_zero(y, u, w))
    yield rule("product",   pushforward(p(x, y), t, u),                  v,
                            both(x, y, xs), both(t, u, ts), product_rule(p, xs, ts, v))
    yield rule("sort",      pushforward(sort(x, axis=a), t),             in_sorted_order(x, t, a))
    yield rule("order_statistics", pushforward(order_statistics(x, y), t, u), from_sorted_places(x, y, t))
    yield rule("partition", pushforward(partition(x, y), t, u),          from_partitioned_places(x, y, t))
    yield rule("unique",    pushforward(unique(x, axis=a, equal_nan=b), t), at_first_places(x, t, a, b))


@ruleset("grad")
def forward_complex(x, y, t, u, v, w, z: Complex):
    yield rule("complex",   pushforward(complex_(x, y), t, u),           complex_(v, w),
                            or_zero(x, t, v), or_zero(y, u, w))
    yield rule("abs",       pushforward(abs_(z), t),
                            real(conj(z) * t) / switch(eq(z, 0), 1, abs_(z)))
    yield rule("sign",      pushforward(sign(z), t),
                            (t - sign(z) * real(conj(sign(z)) * t)) / abs_(z))


@ruleset("grad")
def forward_linalg(x, y, t, u, v, w, a: param, b: param):
    yield rule("inv",       pushforward(inv(x), t),                      -matmul(inv(x), matmul(t, inv(x))))
    yield rule("solve",     pushforward(solve(x, y, assume_a=a, on_error=b), t, u),
                            solve(x, w - matmul(v, solve(x, y, assume_a=a, on_error=b)), assume_a=a, on_error=b),
                            or_zero(x, t, v), or_zero(y, u, w))
