"""Choices: element by element, and of which only one side is computed."""

import numpy

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano.ifelse import IfElse, ifelse

a, b = T.scalars("a", "b")
x, y = T.matrices("x", "y")
z_switch = T.switch(T.lt(a, b), T.mean(x), T.mean(y))
z_lazy = ifelse(T.lt(a, b), T.mean(x), T.mean(y))
f_switch = theano.function([a, b, x, y], z_switch, mode=theano.Mode(linker="vm"))
f_lazy = theano.function([a, b, x, y], z_lazy, mode=theano.Mode(linker="vm"))
big1, big2 = numpy.ones((100, 100)), numpy.zeros((100, 100))
assert f_switch(0.0, 1.0, big1, big2) == f_lazy(0.0, 1.0, big1, big2) == 1
assert f_switch(1.0, 0.0, big1, big2) == f_lazy(1.0, 0.0, big1, big2) == 0
assert isinstance(z_lazy.owner.op, IfElse) and not isinstance(z_switch.owner.op, IfElse)

never = theano.tensor.opt.Assert("this side must not be computed")
guarded = ifelse(T.gt(a, 0), a, never(a, T.gt(a, 0)))
f = theano.function([a], guarded)
assert f(2.0) == 2.0
try:
    f(-1.0)
except AssertionError:
    pass
else:
    raise RuntimeError("the other side was not computed")

first, second = ifelse(T.lt(a, b), (a, b), (b, a))
assert [float(v) for v in theano.function([a, b], [first, second])(3.0, 1.0)] == [1.0, 3.0]
