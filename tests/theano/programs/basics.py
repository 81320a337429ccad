"""Adding numbers and matrices, looking at expressions, several results, arguments with defaults."""

import numpy

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano import In, function, pp

x, y = T.dscalar("x"), T.dscalar("y")
z = x + y
add = function([x, y], z)
assert add(2, 3) == 5.0 and numpy.allclose(add(16.3, 12.1), 28.4)
assert pp(z) == "(x + y)" and numpy.allclose(z.eval({x: 16.3, y: 12.1}), 28.4)
assert isinstance(x, T.TensorVariable) and x.type is T.dscalar and T.dscalar.ndim == 0

a, b = T.dmatrices("a", "b")
both = function([a, b], a + b)
assert (both([[1, 2], [3, 4]], numpy.array([[10, 20], [30, 40]])) == [[11, 22], [33, 44]]).all()

u, v = T.vector(), T.vector()
square = theano.function([u, v], u**2 + v**2 + 2 * u * v)
assert square([0, 1], [2, 3]).tolist() == [4.0, 16.0]

m = T.dmatrix("m")
logistic = theano.function([m], 1 / (1 + T.exp(-m)))
same = theano.function([m], (1 + T.tanh(m / 2)) / 2)
assert numpy.allclose(logistic([[0, 1], [-1, -2]]), same([[0, 1], [-1, -2]]))

difference, distance, squared = theano.function([a, b], [a - b, abs(a - b), (a - b) ** 2])(
    [[1, 1], [1, 1]], [[0, 1], [2, 3]]
)
assert squared.tolist() == [[1, 0], [1, 4]] and distance.tolist() == abs(difference).tolist()

w = T.dscalar("w")
f = function([x, In(y, value=1), In(w, value=2, name="w_by_name")], (x + y) * w)
assert [float(f(33)), float(f(33, 2)), float(f(33, 0, 1)), float(f(33, w_by_name=1))] == [68.0, 70.0, 33.0, 34.0]
