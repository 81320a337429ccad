"""Gradients, jacobians, hessians, and products with them."""

import numpy

import termgraph.theano as theano
import termgraph.theano.tensor as T

x = T.dscalar("x")
assert theano.function([x], T.grad(x**2, x))(94.2) == 188.4

m = T.dmatrix("m")
s = T.sum(1 / (1 + T.exp(-m)))
dlogistic = theano.function([m], T.grad(s, m))
assert numpy.allclose(dlogistic([[0, 1], [-1, -2]]), [[0.25, 0.19661193], [0.19661193, 0.10499359]])

v = T.dvector("v")
squares = v**2
J, updates = theano.scan(
    lambda i, y, v: T.grad(y[i], v), sequences=T.arange(squares.shape[0]), non_sequences=[squares, v]
)
assert theano.function([v], J, updates=updates)([4, 4]).tolist() == [[8, 0], [0, 8]]
assert theano.function([v], theano.gradient.jacobian(squares, v))([4, 4]).tolist() == [[8, 0], [0, 8]]

gv = T.grad(squares.sum(), v)
H, updates = theano.scan(lambda i, gv, v: T.grad(gv[i], v), sequences=T.arange(gv.shape[0]), non_sequences=[gv, v])
assert theano.function([v], H, updates=updates)([4, 4]).tolist() == [[2, 0], [0, 2]]
assert theano.function([v], theano.gradient.hessian(squares.sum(), v))([4, 4]).tolist() == [[2, 0], [0, 2]]

W, V = T.dmatrix("W"), T.dmatrix("V")
y = T.dot(v, W)
assert theano.function([W, V, v], T.Rop(y, W, V))([[1, 1], [1, 1]], [[2, 2], [2, 2]], [0, 1]).tolist() == [2, 2]
d = T.dvector("d")
assert theano.function([d, v], T.Lop(y, W, d))([2, 2], [0, 1]).tolist() == [[0, 0], [2, 2]]

y = T.sum(v**2)
vH = T.grad(T.sum(T.grad(y, v) * d), v)
assert theano.function([v, d], vH)([4, 4], [2, 2]).tolist() == [4, 4]
assert theano.function([v, d], T.Rop(T.grad(y, v), v, d))([4, 4], [2, 2]).tolist() == [4, 4]

n = T.iscalar("n")
assert theano.function([n, x], T.grad(n * x, n))(3, 5.0) == 5.0
both = T.grad(x**3, (x,))
assert isinstance(both, tuple) and isinstance(T.jacobian(squares, [v]), list)
clipped = theano.function([x], T.grad(theano.gradient.grad_clip(x, -1, 1) ** 2, x))
assert clipped(10.0) == 1.0
