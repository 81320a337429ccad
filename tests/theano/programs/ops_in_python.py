"""Ops of one's own in Python: make_node, perform, infer_shape, grad and R_op, tested by Theano's helpers."""

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano.compile.ops import as_op
from termgraph.theano.tests import unittest_tools


class DoubleOp(theano.Op):
    __props__ = ()

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        z = output_storage[0]
        z[0] = inputs[0] * 2

    def infer_shape(self, node, i0_shapes):
        return i0_shapes

    def grad(self, inputs, output_grads):
        return [output_grads[0] * 2]

    def R_op(self, inputs, eval_points):
        if eval_points[0] is None:
            return eval_points
        return self.grad(inputs, eval_points)


x = T.matrix("x")
y = DoubleOp()(x)
assert isinstance(y.owner.op, theano.Op) and DoubleOp() == DoubleOp()
a = np.random.RandomState(0).rand(5, 4)
assert np.allclose(theano.function([x], y)(a), 2 * a)
unittest_tools.verify_grad(DoubleOp(), [a], rng=np.random.RandomState(1))
assert np.allclose(theano.function([x], T.Rop(y, x, x))(a), 2 * a)
assert theano.function([x], y.shape)(a).tolist() == [5, 4]


class AXPB(theano.gof.Op):
    """a * x + b, with a and b told apart as properties."""

    __props__ = ("a", "b")
    itypes, otypes = [T.dmatrix], [T.dmatrix]

    def __init__(self, a, b):
        self.a, self.b = a, b

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.a * inputs[0] + self.b

    def grad(self, inputs, output_grads):
        return [self.a * output_grads[0]]


m = T.dmatrix("m")
f = theano.function([m], [AXPB(4, 1)(m), AXPB(2, 3)(m), AXPB(4, 1)(m)])
assert [float(v.sum()) for v in f(np.ones((1, 1)))] == [5, 5, 5]
assert np.allclose(theano.function([m], T.grad(AXPB(4, 1)(m).sum(), m))(np.ones((1, 2))), 4)


class SumDiff(theano.Op):
    """Two results, inputs made by make_node itself."""

    __props__ = ()

    def make_node(self, x, y):
        x, y = T.as_tensor_variable(x), T.as_tensor_variable(y)
        return theano.Apply(self, [T.cast(x, "float64"), T.cast(y, "float64")], [T.dvector(), T.dvector()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0], output_storage[1][0] = inputs[0] + inputs[1], inputs[0] - inputs[1]


total, rest = SumDiff()(T.ivector("i"), [1, 2])
found = theano.function([total.owner.inputs[0].owner.inputs[0]], [total, rest])([5, 5])
assert [v.tolist() for v in found] == [[6, 7], [4, 3]]


@as_op(itypes=[T.dmatrix, T.dmatrix], otypes=[T.dmatrix])
def numpy_dot(a, b):
    return np.dot(a, b)


p, q = T.dmatrices("p", "q")
assert theano.function([p, q], numpy_dot(p, q))(np.eye(2), np.ones((2, 2))).tolist() == [[1, 1], [1, 1]]
