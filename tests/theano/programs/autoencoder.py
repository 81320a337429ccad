"""A denoising autoencoder with tied weights."""

import numpy as np

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano.tensor.shared_randomstreams import RandomStreams


class dA:
    def __init__(self, numpy_rng, n_visible, n_hidden, input=None):
        self.theano_rng = RandomStreams(numpy_rng.randint(2**30))
        bound = 4 * np.sqrt(6.0 / (n_hidden + n_visible))
        initial = np.asarray(numpy_rng.uniform(-bound, bound, (n_visible, n_hidden)), dtype=theano.config.floatX)
        self.W = theano.shared(value=initial, name="W", borrow=True)
        self.b = theano.shared(value=np.zeros(n_hidden, dtype=theano.config.floatX), name="b", borrow=True)
        self.b_prime = theano.shared(value=np.zeros(n_visible, dtype=theano.config.floatX), borrow=True)
        self.W_prime = self.W.T
        self.x = T.dmatrix(name="input") if input is None else input
        self.params = [self.W, self.b, self.b_prime]

    def get_corrupted_input(self, input, level):
        kept = self.theano_rng.binomial(size=input.shape, n=1, p=1 - level, dtype=theano.config.floatX)
        return kept * input

    def get_cost_updates(self, level, learning_rate):
        tilde_x = self.get_corrupted_input(self.x, level)
        y = T.nnet.sigmoid(T.dot(tilde_x, self.W) + self.b)
        z = T.nnet.sigmoid(T.dot(y, self.W_prime) + self.b_prime)
        L = -T.sum(self.x * T.log(z) + (1 - self.x) * T.log(1 - z), axis=1)
        cost = T.mean(L)
        updates = [(p, p - learning_rate * g) for p, g in zip(self.params, T.grad(cost, self.params))]
        return cost, updates


rng = np.random.RandomState(123)
data = (rng.rand(5, 24) > 0.5)[rng.randint(0, 5, 100)].astype(theano.config.floatX)
shared_x = theano.shared(data, borrow=True)
index, x = T.lscalar(), T.matrix("x")
da = dA(numpy_rng=rng, input=x, n_visible=24, n_hidden=12)
cost, updates = da.get_cost_updates(level=0.2, learning_rate=0.1)
train = theano.function([index], cost, updates=updates, givens={x: shared_x[index * 20 : (index + 1) * 20]})
costs = [np.mean([train(i) for i in range(5)]) for _ in range(40)]
assert costs[-1] < 0.6 * costs[0]
