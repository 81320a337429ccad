"""Random streams: draws, seeds of one and of all, carrying the state of one graph to another."""

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano import function
from termgraph.theano.sandbox.rng_mrg import MRG_RandomStreams
from termgraph.theano.tensor.shared_randomstreams import RandomStreams

srng = RandomStreams(seed=234)
rv_u, rv_n = srng.uniform((2, 2)), srng.normal((2, 2))
f = function([], rv_u)
g = function([], rv_n, no_default_updates=True)
nearly_zeros = function([], rv_u + rv_u - 2 * rv_u)
assert (f() != f()).any() and (g() == g()).all() and np.allclose(nearly_zeros(), 0)

one = rv_u.rng.get_value(borrow=True)
one.seed(89234)
rv_u.rng.set_value(one, borrow=True)
first = f()
srng.seed(902340)
second = f()
srng.seed(902340)
assert (f() == second).all() and (first != second).any()

state = rv_u.rng.get_value().get_state()
nearly_zeros()
later = f()
kept = rv_u.rng.get_value(borrow=True)
kept.set_state(state)
rv_u.rng.set_value(kept, borrow=True)
nearly_zeros()
assert (f() == later).all()


class Graph:
    def __init__(self, seed=123):
        self.rng = RandomStreams(seed)
        self.y = self.rng.uniform(size=(1,))


g1, g2 = Graph(seed=123), Graph(seed=987)
f1, f2 = theano.function([], g1.y), theano.function([], g2.y)
assert f1() != f2()
for (ours, _), (theirs, _) in zip(g1.rng.state_updates, g2.rng.state_updates):
    theirs.set_value(ours.get_value())
assert f1() == f2()

mrg = MRG_RandomStreams(7)
x = T.matrix("x")
dropped = x * mrg.binomial(size=x.shape, n=1, p=0.8, dtype=theano.config.floatX) / 0.8
out = theano.function([x], dropped)(np.ones((300, 300)))
assert set(np.unique(out).tolist()) == {0.0, 1.25} and abs(out.mean() - 1) < 0.02
