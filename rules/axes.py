"""Orders of dimensions: they meet, vanish where broadcasting supplies them, and move outwards past computations."""

from termgraph.rulelib._goals_shapes import common_order, elemwise, stripped
from termgraph.rules import Constant, Matrix, Scalar, head, param, rule, ruleset, seg, this
from termgraph.rules.parts import after, minus, unmoved
from termgraph.rules.shape_facts import spreads
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.shaping import alloc_diag, diagonal, eye

AGAIN = ["specialize"]  # tidies up after the rules of that stage as well


@ruleset("canonicalize")
def axes(x, y, n, m, k, f: head, xs: seg, ys: seg, a: param, b: param, c: param, d: param, o: param, v: Matrix,
         u: Constant & Scalar):
    yield rule("twice",          dimshuffle(dimshuffle(x, order=a), order=b),    dimshuffle(x, order=after(b, a)),
                                 tags=AGAIN)
    yield rule("identity",       dimshuffle(x, order=unmoved(x)),                x, tags=AGAIN)

    # an array without needless dimensions meets every other rule: x * 1, not x * dimshuffle(1)
    yield rule("broadcast",      f(*xs),                                         f(*ys),
                                 elemwise(f), stripped(xs, ys))
    yield rule("scale_inwards",  u * y * dimshuffle(x[this.dtype], order=o),     y * dimshuffle(u * x, order=o),
                                 spreads(o), assumes=["reassoc"])
    yield rule("outwards",       f(*xs),                                         dimshuffle(f(*ys), order=o),
                                 elemwise(f), common_order(xs, ys, o))

    # transposes of matrices with a diagonal
    yield rule("transposed_eye", dimshuffle(eye(n, m, k, dtype=d), order=(1, 0)), eye(m, n, -k, dtype=d))
    yield rule("diagonal",       diagonal(dimshuffle(v, order=(1, 0)), offset=a), diagonal(v, offset=minus(a)))
    yield rule("alloc_diag",     dimshuffle(alloc_diag(x, offset=a), order=(1, 0)), alloc_diag(x, offset=minus(a)))
    yield rule("of_diagonal",    diagonal(alloc_diag(x, offset=a), offset=a),    x)
