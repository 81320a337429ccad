"""Ops for one number, applied to arrays element by element: with Python code, with C code, with a gradient."""

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano import scalar


class XLogX(scalar.UnaryScalarOp):
    """x * log(x), and 0 at 0."""

    def impl(self, x):
        return 0.0 if x == 0.0 else x * np.log(x)

    def grad(self, inputs, grads):
        (x,), (gz,) = inputs, grads
        return [gz * (1 + scalar.log(x))]

    def c_code(self, node, name, inputs, outputs, sub):
        (x,), (z,) = inputs, outputs
        if node.inputs[0].type in (scalar.float32, scalar.float64):
            return "%(z)s = %(x)s == 0.0 ? 0.0 : %(x)s * log(%(x)s);" % locals()
        raise NotImplementedError("only floats")


xlogx = T.Elemwise(XLogX(scalar.upgrade_to_float, name="scalar_xlogx"), name="xlogx")
m, v = T.dmatrix("m"), T.dvector("v")
y = xlogx(m)
assert isinstance(y.owner.op, T.Elemwise)
assert np.allclose(theano.function([m], y.sum())([[0.0, 2.0]]), 2 * np.log(2))
assert np.allclose(theano.function([m], T.grad(y.sum(), m))([[1.0, 2.0]]), [[1, 1 + np.log(2)]])


class Hypotenuse(scalar.BinaryScalarOp):
    def impl(self, x, y):
        return np.sqrt(x * x + y * y)


hypotenuse = T.Elemwise(Hypotenuse(scalar.upgrade_to_float))
assert np.allclose(theano.function([m, v], hypotenuse(m, v))([[3.0, 6.0]], [4.0, 8.0]), [[5, 10]])
i = T.ivector("i")
assert hypotenuse(i, i).dtype == "float64"

a, b = scalar.floats("ab")
both = T.Elemwise(scalar.Composite([a, b], [a * b + scalar.exp(a)]))
assert np.allclose(theano.function([m, v], both(m, v))([[0.0, 1.0]], [2.0, 3.0]), [[1, 3 + np.e]])
assert T.Elemwise(scalar.add)(m, v).owner.op is (m + v).owner.op
assert isinstance((m * v).owner.op.scalar_op, scalar.Mul)
