"""Loops: powers, polynomials, recurrences with taps, stopping early, updates and gradients through a loop."""

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T

k, A = T.iscalar("k"), T.vector("A")
result, updates = theano.scan(fn=lambda prior, A: prior * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k)
power = theano.function([A, k], result[-1], updates=updates)
assert power(range(10), 2).tolist() == [i**2 for i in range(10)]

c, x = T.vector("coefficients"), T.scalar("x")
terms, _ = theano.scan(
    fn=lambda c, p, x: c * (x**p), outputs_info=None, sequences=[c, T.arange(10000)], non_sequences=x
)
assert theano.function([c, x], terms.sum())(np.asarray([1, 0, 2.0]), 3) == 19.0

upto = T.lscalar("upto")
total, _ = theano.scan(
    fn=lambda v, total: total + v, outputs_info=T.as_tensor_variable(np.asarray(0, upto.dtype)),
    sequences=T.arange(upto),
)  # fmt: skip
assert theano.function([upto], total)(5).tolist() == [0, 1, 3, 6, 10]

X, W, b = T.matrix("X"), T.matrix("W"), T.vector("b")
states, _ = theano.scan(lambda v: T.tanh(T.dot(v, W) + b), sequences=X)
got = theano.function([X, W, b], states)(np.eye(2), np.ones((2, 2)), np.zeros(2))
assert np.allclose(got, np.tanh(np.ones((2, 2))))

taps, _ = theano.scan(
    lambda a, b: a + b, outputs_info=[{"initial": T.as_tensor_variable(np.array([0, 1])), "taps": [-2, -1]}], n_steps=8
)
assert theano.function([], taps)().tolist() == [1, 2, 3, 5, 8, 13, 21, 34]


def doubled(previous, limit):
    return previous * 2, theano.scan_module.until(previous * 2 > limit)


limit = T.scalar("limit")
values, _ = theano.scan(doubled, outputs_info=T.constant(1.0), non_sequences=limit, n_steps=1024)
assert theano.function([limit], values)(45).tolist() == [2, 4, 8, 16, 32, 64]

count = theano.shared(0)
_, updates = theano.scan(lambda: {count: count + 1}, n_steps=k)
theano.function([k], [], updates=updates)(7)
assert count.get_value() == 7

steps = theano.scan(lambda h, w: T.tanh(h * w), outputs_info=x, non_sequences=limit, n_steps=5)[0]
slope = theano.function([x, limit], T.grad(steps[-1], limit))
h = 1e-6
numeric = theano.function([x, limit], steps[-1])
assert np.isclose(slope(0.3, 0.9), (numeric(0.3, 0.9 + h) - numeric(0.3, 0.9 - h)) / (2 * h), rtol=1e-5)
assert isinstance(steps.owner.op, theano.scan_module.scan_op.Scan)
assert theano.function([A], theano.map(lambda v: v * 2, A)[0])([1.0, 2.0]).tolist() == [2, 4]
assert theano.function([A], theano.reduce(lambda v, s: s + v, A, T.zeros(()))[0])([1.0, 2.0]) == 3
