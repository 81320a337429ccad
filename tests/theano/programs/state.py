"""Shared variables: an accumulator, replacing a part of a graph, copies of functions with other memory."""

import numpy

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano import function, shared

state = shared(0)
step = T.iscalar("step")
accumulate = function([step], state, updates=[(state, state + step)])
assert accumulate(1) == 0 and accumulate(300) == 1 and state.get_value() == 301
state.set_value(-1)
assert accumulate(3) == -1 and state.get_value() == 2

decrement = function([step], state, updates=[(state, state - step)])
decrement(2)
assert state.get_value() == 0
assert function([], updates=[(state, state + 1)])() == [] and state.get_value() == 1

foo = T.scalar(dtype=state.dtype)
without = function([step, foo], state * 2 + step, givens=[(state, foo)])
assert without(1, 3) == 7 and state.get_value() == 1

other = theano.shared(0)
elsewhere = accumulate.copy(swap={state: other})
elsewhere(100)
assert other.get_value() == 100 and state.get_value() == 1
still = accumulate.copy(delete_updates=True)
still(9)
assert state.get_value() == 1

w = theano.shared(numpy.ones((2, 2)), name="w")
inside = w.get_value(borrow=True)
inside *= 3
assert w.get_value().tolist() == [[3, 3], [3, 3]]
assert isinstance(w, theano.compile.SharedVariable) and isinstance(w, T.sharedvar.TensorSharedVariable)
w.zero()
assert not w.get_value().any()
