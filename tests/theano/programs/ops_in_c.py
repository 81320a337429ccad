"""Ops of one's own in C, as Theano compiles them: over NumPy's arrays, with support code, failures and files."""

import os
import tempfile

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano import gof


class VectorTimesScalar(gof.Op):
    __props__ = ()

    def make_node(self, x, y):
        x, y = T.as_tensor_variable(x), T.as_tensor_variable(y)
        if x.type.ndim != 1 or y.type.ndim != 0:
            raise TypeError("a vector and a number")
        return gof.Apply(self, [x, y], [T.TensorType(theano.scalar.upcast(x.dtype, y.dtype), [False])()])

    def c_code_cache_version(self):
        return (1, 0)

    def c_support_code(self):
        return """
        static int same_length(npy_intp n, PyArrayObject *z) { return z != NULL && PyArray_DIMS(z)[0] == n; }
        """

    def c_code(self, node, name, inp, out, sub):
        x, y = inp
        (z,) = out
        typenum = node.outputs[0].type.dtype_specs()[2]
        fail = sub["fail"]
        return """
        npy_intp n = PyArray_DIMS(%(x)s)[0];
        if (n == 0) { PyErr_SetString(PyExc_ValueError, "an empty vector"); %(fail)s }
        if (!same_length(n, %(z)s)) {
            Py_XDECREF(%(z)s);
            %(z)s = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS(%(x)s), %(typenum)s, 0);
            if (!%(z)s) { %(fail)s }
        }
        dtype_%(y)s factor = ((dtype_%(y)s *)PyArray_DATA(%(y)s))[0];
        for (npy_intp i = 0; i < n; i++)
            ((dtype_%(z)s *)PyArray_DATA(%(z)s))[i] = *(dtype_%(x)s *)PyArray_GETPTR1(%(x)s, i) * factor;
        """ % locals()


x, y = T.dvector("x"), T.dscalar("y")
f = theano.function([x, y], VectorTimesScalar()(x, y) + 1)
assert f([1, 2, 3], 4).tolist() == [5, 9, 13]
assert theano.function([x, y], VectorTimesScalar()(x[::2], y))([1, 9, 3], 2).tolist() == [2, 6]
try:
    f([], 1.0)
except ValueError as error:
    assert "an empty vector" in str(error)
else:
    raise RuntimeError("the C code should have failed")
i = T.TensorType("float32", [False])("i")
assert theano.function([i, y], VectorTimesScalar()(i, y))(np.ones(2, "float32"), 3).tolist() == [3, 3]

CODE = """
#section support_code_apply

int APPLY_SPECIFIC(add_one)(PyArrayObject *x, PyArrayObject **z)
{
    npy_intp n = PyArray_SIZE(x);
    Py_XDECREF(*z);
    *z = (PyArrayObject *)PyArray_EMPTY(1, &n, TYPENUM_OUTPUT_0, 0);
    if (!*z) return 1;
    for (npy_intp i = 0; i < n; i++)
        ((DTYPE_OUTPUT_0 *)PyArray_DATA(*z))[i] = ((DTYPE_INPUT_0 *)PyArray_DATA(x))[i] + 1;
    return 0;
}
"""
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "add_one.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(CODE)

    class AddOne(gof.COp):
        __props__ = ()

        def __init__(self):
            super().__init__([path], "APPLY_SPECIFIC(add_one)")

        def make_node(self, x):
            return gof.Apply(self, [x], [x.type()])

    assert theano.function([x], AddOne()(x))([1, 2]).tolist() == [2, 3]
